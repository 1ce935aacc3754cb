/* The floor of an op's time, against bytes and operations counted by hand.  */
#include "roller.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
    assert_int_equal(roller_parse(f->ctx, te, strlen(te), "t", NULL, &op), ROLLER_OK);
    assert_int_equal(roller_plan(f->ctx, op, f->profile, NULL, &plans), ROLLER_OK);
    roller_plan_estimate(roller_plans_get(plans, 0), &e);
    roller_plans_destroy(plans);
    roller_op_destroy(op);
    return e;
}

/* Of profiles/h200.json.  */
#define READ_RATE 3.888e12
#define WRITE_RATE 3.898e12

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
    assert_near(e.floor_dram_us, bytes / READ_RATE * 1e6 + bytes / WRITE_RATE * 1e6);
    assert_near(e.floor_us, e.floor_dram_us);
    assert_true(e.us >= e.floor_us);
}

/* A broadcast input counts once, not for every row.  */
static void test_broadcast(void **state) {
    RollerEstimate e = estimate_of(*state, "op b(A: f32[4096,8192], B: f32[8192]) -> "
                                           "S: f32[4096,8192] {\n  S[i,j] = A[i,j] + B[j];\n}\n");
    double bytes = 4096.0 * 8192 * 4;
    assert_near(e.floor_dram_us,
                (bytes + 8192 * 4) / READ_RATE * 1e6 + bytes / WRITE_RATE * 1e6);
}

static void test_matrix_unit(void **state) {
    RollerEstimate e = estimate_of(*state, "op g(A: bf16[4096,4096], B: bf16[4096,4096]) -> "
                                           "C: bf16[4096,4096] {\n"
                                           "  C[i,j] += A[i,k] * B[k,j];\n}\n");
    double flops = 2.0 * 4096 * 4096 * 4096;
    assert_true(e.floor_compute_us > flops / 990e12 * 1e6);
    assert_true(e.floor_compute_us < flops / 400e12 * 1e6);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_once),
        cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_matrix_unit),
        cmocka_unit_test(test_launch),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
