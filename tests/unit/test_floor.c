/* The floor of an op's time, against bytes and operations counted by hand.  */
#include "roller.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    RollerCtx *ctx;
    RollerProfile *profile;
} Fixture;

static int setup(void **state) {
    static Fixture f;
    assert_int_equal(roller_ctx_create(NULL, &f.ctx), ROLLER_OK);
    assert_int_equal(roller_profile_load(f.ctx, "h200", &f.profile), ROLLER_OK);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    Fixture *f = *state;
    roller_profile_destroy(f->profile);
    roller_ctx_destroy(f->ctx);
    return 0;
}

static RollerEstimate estimate_of(Fixture *f, const char *te) {
    RollerEstimate e = {.struct_size = sizeof e};
    RollerOp *op;
    RollerPlans *plans;
    if (roller_parse(f->ctx, te, strlen(te), "t", NULL, &op))
        fail_msg("%s", roller_error(f->ctx)->message);
    assert_int_equal(roller_plan(f->ctx, op, f->profile, NULL, &plans), ROLLER_OK);
    roller_plan_estimate(roller_plans_get(plans, 0), &e);
    roller_plans_destroy(plans);
    roller_op_destroy(op);
    return e;
}

/* Of profiles/h200.json.  */
#define BUS 4.8e12
#define SM 132
#define CLOCK 1.98e9
#define MATRIX 4096.0                     /* FLOP per clock and SM, of f16 */
#define MUFU 16.0                         /* results per clock and SM */

static void assert_near(double x, double y) {
    if (x < y * 0.999 || x > y * 1.001) fail_msg("%g is not %g", x, y);
}

/* One read of the input and one write of the output, though the sum stays in between.  */
static void test_bytes_once(void **state) {
    RollerEstimate e = estimate_of(*state, "op s(A: f32[4096,8192]) -> S: f32[4096,8192] {\n"
                                           "  m[i] = max[j](A[i,j]);\n"
                                           "  z[i] = sum[j](exp(A[i,j] - m[i]));\n"
                                           "  S[i,j] = exp(A[i,j] - m[i]) / z[i];\n}\n");
    double bytes = 4096.0 * 8192 * 4;
    assert_near(e.floor_dram_us, 2 * bytes / BUS * 1e6);
    assert_near(e.floor_us, e.floor_dram_us);
    assert_true(e.us >= e.floor_us);
}

/* A broadcast input counts once, not for every row.  */
static void test_broadcast(void **state) {
    RollerEstimate e = estimate_of(*state, "op b(A: f32[4096,8192], B: f32[8192]) -> "
                                           "S: f32[4096,8192] {\n  S[i,j] = A[i,j] + B[j];\n}\n");
    double bytes = 4096.0 * 8192 * 4;
    assert_near(e.floor_dram_us, (2 * bytes + 8192 * 4) / BUS * 1e6);
}

static void test_matrix_unit(void **state) {
    RollerEstimate e = estimate_of(*state, "op g(A: bf16[4096,4096], B: bf16[4096,4096]) -> "
                                           "C: bf16[4096,4096] {\n"
                                           "  C[i,j] += A[i,k] * B[k,j];\n}\n");
    double flops = 2.0 * 4096 * 4096 * 4096;
    assert_near(e.floor_compute_us, flops / (SM * MATRIX * CLOCK) * 1e6);
    assert_near(e.floor_us, e.floor_compute_us);
    assert_true(e.us >= e.floor_us);
}

static void test_launch(void **state) {
    RollerEstimate e = estimate_of(*state, "op t(A: f32[16]) -> B: f32[16] {\n"
                                           "  B[i] = A[i] + 1.0;\n}\n");
    assert_near(e.floor_launch_us, 1.3);
    assert_near(e.floor_us, 1.3);
    assert_true(e.us >= e.floor_us);
}

static RollerEstimate attention(Fixture *f, const char *mask, int d) {
    char te[640];
    snprintf(te, sizeof te,
             "op a(Q: f16[16,4096,%d], K: f16[16,4096,%d], V: f16[16,4096,%d]) ->\n"
             "    O: f16[16,4096,%d] {\n"
             "  s[h,m,n] += Q[h,m,d] * K[h,n,d];\n"
             "  t[h,m,n] = %s;\n"
             "  w[h,m] max= t[h,m,n];\n"
             "  z[h,m] = sum[n](exp(t[h,m,n] - w[h,m]));\n"
             "  O[h,m,d] = sum[n](f16(exp(t[h,m,n] - w[h,m])) * V[h,n,d]) / z[h,m];\n}\n",
             d, d, d, d, mask);
    return estimate_of(f, te);
}

/* Products and functions are side by side, each exp once, and where a mask is there is nothing to
 * compute.  FlashAttention-3 reaches 648 TFLOP/s on an H100, whose SMs are those of the H200, 616
 * of the half that a causal mask leaves (arXiv 2407.08608, head dim 128, sequences of 16k).  */
static void test_attention(void **state) {
    double scores = 16.0 * 4096 * 4096, left = 4097.0 / 8192;
    RollerEstimate e = attention(*state, "s[h,m,n] * 0.125", 128);
    double us = scores * 4 * 128 / (SM * MATRIX * CLOCK) * 1e6;
    assert_near(e.floor_compute_us, us);
    assert_true(e.floor_compute_us < scores * 4 * 128 / 648e12 * 1e6);
    e = attention(*state, "n <= m ? s[h,m,n] * 0.125 : -inf", 128);
    assert_near(e.floor_compute_us, us * left);
    assert_true(e.floor_compute_us < scores * 4 * 128 / 2 / 616e12 * 1e6);
    e = attention(*state, "s[h,m,n] * 0.125", 32);
    assert_near(e.floor_compute_us, scores / (SM * MUFU * CLOCK) * 1e6);
    assert_true(e.us >= e.floor_us);
}

/* Zeros around the images are no terms: of 7 places by 3 taps 19 are inside.  */
static void test_padding(void **state) {
    RollerEstimate e = estimate_of(*state, "op c(X: f16[256,7,7,512], K: f16[512,3,3,512]) ->\n"
                                           "    Y: f16[256,7,7,512] {\n"
                                           "  Y[n,p,q,f] = sum[r,s,c]((X[n,p+r-1,q+s-1,c]\n"
                                           "      else 0) * K[f,r,s,c]);\n}\n");
    double flops = 2.0 * 256 * 49 * 512 * 9 * 512, left = 1 - 2 * 2.0 / 21;
    assert_near(e.floor_compute_us, flops * left / (SM * MATRIX * CLOCK) * 1e6);
}

/* Which rows are read, and how many, the data say.  */
static void test_gather(void **state) {
    RollerEstimate e = estimate_of(*state, "op g(T: f32[1000000,64], I: i32[4096]) ->\n"
                                           "    Y: f32[4096,64] {\n"
                                           "  Y[i,j] = (T[I[i],j] else 0) + 1.0;\n}\n");
    assert_near(e.floor_dram_us, (64 * 4 + 4096 * 4 + 4096 * 64 * 4.0) / BUS * 1e6);
}

/* No plan of any shipped GPU is predicted to beat it.  */
static void test_predictions(void **state) {
    static const char *const gpu[] = {"v100", "t4", "rtx2080ti", "a100", "a10", "l4", "rtx4090",
                                      "h100", "h200", "b200", "rtx5090", "gb10", "tiny"};
    static const char *const op[] = {
        "op g(A: f32[512,640], B: f32[640,384]) -> C: f32[512,384] {\n"
        "  C[i,j] += A[i,k] * B[k,j];\n}\n",
        "op h(A: f16[2048,1024], B: f16[1024,2048]) -> C: f16[2048,2048] {\n"
        "  C[i,j] += A[i,k] * B[k,j];\n}\n",
        "op v(A: f16[8192,4096], x: f16[4096]) -> y: f16[8192] {\n  y[i] += A[i,k] * x[k];\n}\n",
        "op c(X: f32[8,58,58,64], K: f32[64,3,3,64]) -> Y: f32[8,58,58,64] {\n"
        "  Y[n,p,q,f] = sum[r,s,c]((X[n,p+r-1,q+s-1,c] else 0) * K[f,r,s,c]);\n}\n",
        "op e(A: f32[999,777]) -> B: f32[999,777] {\n  B[i,j] = exp(A[i,j]) + 1;\n}\n",
        "op s(A: f32[777,1025]) -> S: f32[777,1025] {\n  m[i] = max[j](A[i,j]);\n"
        "  z[i] = sum[j](exp(A[i,j] - m[i]));\n  S[i,j] = exp(A[i,j] - m[i]) / z[i];\n}\n",
        "op t(A: f16[1023,2049]) -> B: f16[2049,1023] {\n  B[j,i] = A[i,j];\n}\n"};
    Fixture f = *(Fixture *)*state;
    for (size_t g = 0; g < sizeof gpu / sizeof *gpu; g++) {
        assert_int_equal(roller_profile_load(f.ctx, gpu[g], &f.profile), ROLLER_OK);
        for (size_t i = 0; i < sizeof op / sizeof *op; i++) {
            RollerEstimate e = estimate_of(&f, op[i]);
            if (!(e.us >= e.floor_us) || !(e.floor_us > 0))
                fail_msg("%s on %s: %g us, floor %g", op[i], gpu[g], e.us, e.floor_us);
        }
        roller_profile_destroy(f.profile);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_once),
        cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_matrix_unit),
        cmocka_unit_test(test_launch),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_padding),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_predictions),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
