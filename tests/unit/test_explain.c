/* What --explain says of memory-bound programs: each skeleton its own story, with figures that
 * follow from the shape.  */
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

/* The explanation holds every text of a list that ends with NULL.  */
static void explains(Fixture *f, const char *te, const char *const *says) {
    RollerOp *op;
    RollerPlans *plans;
    const char *text;
    size_t len;
    assert_int_equal(roller_parse(f->ctx, te, strlen(te), "t", NULL, &op), ROLLER_OK);
    assert_int_equal(roller_plan(f->ctx, op, f->profile, NULL, &plans), ROLLER_OK);
    roller_plans_explain(plans, &text, &len);
    for (; *says; says++) {
        if (!strstr(text, *says)) fail_msg("'%s' is not in\n%s", *says, text);
    }
    roller_plans_destroy(plans);
    roller_op_destroy(op);
}

static void test_rows(void **state) {
    explains(*state,
             "op s(X: f32[4096,1024]) -> Y: f32[4096,1024] { m[n] = max[c](X[n,c]);"
             " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }",
             (const char *const[]){"rows: 4096 of 1024 columns", "passes: 3 over each row: m, then",
                                   "a row is 4096 bytes of input", "in flight: ", "KB per SM",
                                   "34 MB moved, 34 MB at the least", NULL});
}

static void test_split_rows(void **state) {
    explains(*state,
             "op s(X: f32[2,1000000]) -> Y: f32[2,1000000] { m[n] = max[c](X[n,c]);"
             " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }",
             (const char *const[]){"passes: 2 over each row: m and z (follows), then Y",
                                   "each pass reads it again", "because 2 blocks would leave SMs "
                                   "idle; 2 kernels", NULL});
}

static void test_short_rows(void **state) {
    explains(*state, "op s(X: f32[1000000,3]) -> (Y: f32[1000000], Z: f32[1000000]) {"
             " Y[n] += X[n,c]; Z[n] = max[c](X[n,c]); }",
             (const char *const[]){"rows: 1000000 of 3 columns", "as one range, 16 bytes at a time",
                                   NULL});
}

static void test_stream(void **state) {
    explains(*state, "op t(A: f16[4096,4096], b: f32[4096]) -> Y: f16[4096,4096] {"
                     " Y[i,j] = max(A[i,j] + b[j], 0); }",
             (const char *const[]){"elements: 16777216; a thread makes", "neighbours 8 at once",
                                   "in flight: ", "67 MB moved, 67 MB at the least", NULL});
}

static void test_columns(void **state) {
    explains(*state, "op t(A: f32[8192,1024]) -> Y: f32[1024] { Y[j] = sum[i](A[i,j]); }",
             (const char *const[]){"columns: 1024 outputs", "in flight: ", NULL});
}

/* Why a product is not for matrix units, and what its author can do.  */
static void test_refusals(void **state) {
    static const struct {
        const char *te, *says;
    } row[] = {
        {"op p(A: f32[512,512], B: f32[512,512]) -> C: f32[512,512] { C[m,n] += A[m,k] * B[k,n]; }",
         "no matrix unit: operand a is f32: `@tf32` or `@fp32x3` after the sum"},
        {"op p(A: f16[512,512], B: i8[512,512], s: f16[512]) -> C: f16[512,512] {"
         " C[m,n] += A[m,k] * (f16(B[n,k]) * s[k]); }",
         "no matrix unit: operand b is computed in f32, which none takes: f16(...) or bf16(...)"},
        {"op p(A: i8[512,512], B: u8[512,512]) -> C: i32[512,512] { C[m,n] += A[m,k] * B[n,k]; }",
         "no matrix unit: none holds both i8 and u8"},
        {"op p(A: i16[512,512], B: i16[512,512]) -> C: i32[512,512] { C[m,n] += A[m,k] * B[n,k]; }",
         "no matrix unit: none takes i16, which operand a is"},
        {"op p(A: f16[512,512], B: f16[512,516]) -> C: f16[512,516] { C[m,n] += A[m,k] * B[k,n]; }",
         "no unit of warpgroups: the neighbours of operand b do not begin at multiples of 16"},
        {"op p(A: f16[512,516], B: f16[512,516]) -> C: f16[512,512] { C[m,n] += A[m,k] * B[n,k]; }",
         "boxes of rows modulo 2; tile rows along K"},
        {"op p(A: i8[512,515], B: i8[512,515]) -> C: i32[512,512] { C[m,n] += A[m,k] * B[n,k]; }",
         "no unit of warpgroups: rows of both operands begin anywhere, which takes too many"},
        {"op p(A: i8[512,512], B: i8[512,512]) -> C: i32[512,512] { C[m,n] += A[m,k] * B[k,n]; }",
         "no unit of warpgroups: operand b lies along N, and wgmma.i8.i32 takes what lies along K"},
        {"op p(X: f16[8,28,28,96], W: f16[8,96,3,3,12]) -> Y: f16[8,28,28,8,96] {"
         " Y[n,p,q,g,f] += (X[n,p+r-1,q+s-1,12*g+c] else 0) * W[g,f,r,s,c]; }",
         "no unit of warpgroups: the neighbours of operand a do not begin at multiples of 16"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        explains(*state, row[i].te, (const char *const[]){row[i].says, NULL});
}

#define SCALED(elements, scales, shape, body) "op p(A: " elements "[64,128], SA: " scales shape \
    ", B: " elements "[64,128]) -> C: f32[64,64] { C[m,n] += " body "; }"

/* What becomes of scales of blocks.  */
static void test_scales(void **state) {
    Fixture own = *(Fixture *)*state;
    assert_int_equal(roller_profile_load(own.ctx, "rtx5090", &own.profile), ROLLER_OK);
    static const struct {
        const char *te, *says;
        bool other;                       /* of h200 */
    } row[] = {
        {SCALED("f8e4m3", "f8ue8m0", "[64,4]", "A[m,k] * SA[m,k/32] * B[n,k]"),
         "scales of blocks: applied by mma.m16n8k32.mxf8f6f4.f8e4m3.f32, from registers\n", false},
        {SCALED("f8e4m3", "f8ue8m0", "[64,4]", "A[m,k] * SA[m,k/32] * B[n,k]"),
         "scales of blocks: converted with their elements: no program of a unit that applies",
         true},
        {"op p(A: f8e4m3[1024,1024], s: f32[1024,8], B: f8e4m3[1024,1024]) -> C: f32[1024,1024] {"
         " C[m,n] += A[m,k] * s[m,k/128] * B[n,k]; }",
         "scales of blocks: multiply the sums of 128 products each as they are added\n", true},
        {SCALED("f8e4m3", "f8ue8m0", "[64,4]", "f16(A[m,k] * SA[m,k/32]) * B[n,k]"),
         "with their elements: a cast to this type may round", false},
        {SCALED("f8e4m3", "f8ue8m0", "[64,8]", "A[m,k] * SA[m,k/16] * B[n,k]"),
         "those of operand a are not known to be the same for each 32 neighbours along K", false},
        {SCALED("f8e4m3", "f8ue4m3", "[64,4]", "A[m,k] * SA[m,k/32] * B[n,k]"),
         "scales of blocks: multiply the sums of 32 products each as they are added\n", false},
        {SCALED("f8e4m3", "f8ue8m0", "[64,4]", "A[m,k] * SA[m,k/32] * B[n,k] @accum(f32)"),
         "scales of blocks: multiply the sums of 32 products each as they are added\n", false},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        explains(row[i].other ? *state : &own, row[i].te, (const char *const[]){row[i].says, NULL});
    roller_profile_destroy(own.profile);
}

#define ATTENTION(p) "op f(Q: bf16[4,256,64], K: bf16[4,256,64], V: bf16[4,256,64]) -> " \
    "O: bf16[4,256,64] { t[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]); m[b,i] = max[j](t[b,i,j]); " \
    "z[b,i] = sum[j](exp(t[b,i,j] - m[b,i])); p[b,i,j] = " p "; " \
    "O[b,i,e] = sum[j](p[b,i,j] * V[b,j,e]); }"

/* Why a second product has a kernel of its own.  */
static void test_apart(void **state) {
    explains(*state, ATTENTION("exp(t[b,i,j] - m[b,i]) / z[b,i] @type(f8e4m3)"),
             (const char *const[]){"not in the kernel of the product whose rows it reads: it "
                                   "depends on values of the row by more than exponentials and "
                                   "divisors", NULL});
    explains(*state, ATTENTION("exp(t[b,i,j]) / z[b,i] @type(bf16)"),
             (const char *const[]){"not in the kernel of the product whose rows it reads: what "
                                   "divides it is no sum of the exponentials of its row", NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),       cmocka_unit_test(test_split_rows),
        cmocka_unit_test(test_short_rows), cmocka_unit_test(test_stream),
        cmocka_unit_test(test_columns),    cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_scales),     cmocka_unit_test(test_apart),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
