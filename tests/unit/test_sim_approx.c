/* links: sim */
/* Instructions that approximate: within what the PTX ISA documents for each of them, as far off as
 * that allows, alike for the same operands, exact without a seed and where the ISA says so.  */
#include "ptxrun.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 512, BLOCKS = 8, N = THREADS * BLOCKS };

static double rcp(double x, double y) { return (void)y, 1 / x; }
static double root(double x, double y) { return (void)y, sqrt(x); }
static double rroot(double x, double y) { return (void)y, 1 / sqrt(x); }
static double sine(double x, double y) { return (void)y, sin(x); }
static double cosine(double x, double y) { return (void)y, cos(x); }
static double lg2(double x, double y) { return (void)y, log2(x); }
static double ex2(double x, double y) { return (void)y, exp2(x); }
static double tangent(double x, double y) { return (void)y, tanh(x); }
static double quotient(double x, double y) { return x / y; }

/* Operands are 2^lo to 2^hi in size, of both signs if they are signed; the bound is in ulps, a part
 * of the result, or a difference.  */
typedef enum { ULPS, RELATIVE, ABSOLUTE } Kind;
typedef struct {
    const char *inst;         /* of %f1 and %f2, into %f3 */
    double (*exact)(double x, double y);
    double lo, hi;
    bool both;
    Kind kind;
    double bound;
} Row;
static const Row row[] = {
    {"rcp.approx.f32 %f3, %f1;", rcp, -60, 60, true, ULPS, 1},
    {"rcp.approx.ftz.f32 %f3, %f1;", rcp, -60, 60, true, ULPS, 1},
    {"sqrt.approx.f32 %f3, %f1;", root, -140, 120, false, RELATIVE, 0x1p-23},
    {"rsqrt.approx.f32 %f3, %f1;", rroot, -140, 120, false, RELATIVE, 1.27765e-7},
    {"sin.approx.f32 %f3, %f1;", sine, -20, 2.65, true, ABSOLUTE, 6.7437e-7},
    {"cos.approx.f32 %f3, %f1;", cosine, -20, 2.65, true, ABSOLUTE, 6.7437e-7},
    {"sin.approx.f32 %f3, %f1;", sine, 2.7, 8.2, true, ABSOLUTE, 3.7573e-5},
    {"lg2.approx.f32 %f3, %f1;", lg2, -0.99, 0.99, false, ABSOLUTE, 0x1p-22},
    {"lg2.approx.f32 %f3, %f1;", lg2, 1.1, 100, false, RELATIVE, 0x1p-22},
    {"ex2.approx.f32 %f3, %f1;", ex2, -10, 6.9, true, ULPS, 2.5},
    {"ex2.approx.ftz.f32 %f3, %f1;", ex2, -10, 6.9, true, ULPS, 2.5},
    {"tanh.approx.f32 %f3, %f1;", tangent, -60, 5, true, RELATIVE, 0x1p-11},
    {"div.approx.f32 %f3, %f1, %f2;", quotient, -60, 60, true, ULPS, 2},
    {"div.full.f32 %f3, %f1, %f2;", quotient, -60, 60, true, ULPS, 2},
};
enum { ROWS = sizeof row / sizeof *row };

static float operand(const Row *r, Rng *rng) {
    double unit = (double)(rng_next(rng) >> 11) * 0x1p-53;
    float v = (float)exp2(r->lo + (r->hi - r->lo) * unit);
    return r->both && rng_below(rng, 2) ? -v : v;
}

static const char *kernel(Arena *a, const char *inst) {
    return run_kernel(a, 2, arena_printf(a,
        ".reg .f32 %%f<4>;\nmov.u32 %%r1, %%ctaid.x;\nmad.lo.u32 %%r1, %%r1, %d, %%t;\n"
        "mul.wide.u32 %%l1, %%r1, 8;\nadd.u64 %%l1, %%l1, %%a0;\n"
        "ld.global.v2.f32 {%%f1, %%f2}, [%%l1];\n%s\nmul.wide.u32 %%l2, %%r1, 4;\n"
        "add.u64 %%l2, %%l2, %%a1;\nst.global.f32 [%%l2], %%f3;\n", THREADS, inst));
}

static void run(const char *inst, const float *in, uint64_t errors, float *out) {
    PtxRun r;
    run_open(&r);
    r.options.errors = errors;
    r.launch.block[0] = THREADS;
    r.launch.grid[0] = BLOCKS;
    run_memory(&r, in, 2 * N * sizeof *in);
    run_memory(&r, NULL, N * sizeof *out);
    run_clean(&r, kernel(r.arena, inst));
    memcpy(out, run_host(&r, 1), N * sizeof *out);
    run_close(&r);
}

static double ulp(double v) {
    int e;
    frexp(v, &e);
    return ldexp(1, e < -125 ? -149 : e - 24);
}

/* How much of the bound the result is off by.  */
static double used(const Row *r, const float *in, float got) {
    double want = r->exact((double)in[0], (double)in[1]), off = fabs((double)got - want);
    double bound = r->bound * (r->kind == ULPS ? ulp(want) : r->kind == RELATIVE ? fabs(want) : 1);
    if (off <= ulp(want) / 2) return 0;
    return off / bound;
}

static void errors_are_within_the_bound_and_use_it(void **state) {
    (void)state;
    static float in[2 * N], out[3][N];
    for (int k = 0; k < ROWS; k++) {
        Rng rng = {(uint64_t)k + 1};
        for (int i = 0; i < 2 * N; i++) in[i] = operand(&row[k], &rng);
        for (int i = N; i < 2 * N; i++) in[i] = in[i - N];      /* each pair twice */
        double most[3] = {0};
        for (int s = 0; s < 3; s++) {
            run(row[k].inst, in, (uint64_t)s, out[s]);
            for (int i = 0; i < N; i++)
                most[s] = fmax(most[s], used(&row[k], &in[2 * i], out[s][i]));
            if (most[s] > 1.0001) fail_msg("%s, seed %d: %g", row[k].inst, s, most[s]);
            if (memcmp(out[s], out[s] + N / 2, N / 2 * sizeof **out)) fail_msg("%s", row[k].inst);
        }
        if (most[0] > 0) fail_msg("%s: off by %g without a seed", row[k].inst, most[0]);
        if (most[1] < 0.8 || most[2] < 0.8) fail_msg("%s: %g at most", row[k].inst, most[1]);
        if (!memcmp(out[1], out[2], sizeof out[1])) fail_msg("%s: one error", row[k].inst);
    }
}

/* What the ISA lists is met with any seed.  */
static void listed_results_are_exact(void **state) {
    (void)state;
    static const struct {
        const char *inst;
        float x, y, want;
    } listed[] = {
        {"ex2.approx.f32 %f3, %f1;", 0, 0, 1},
        {"ex2.approx.f32 %f3, %f1;", -0.0f, 0, 1},
        {"ex2.approx.f32 %f3, %f1;", -INFINITY, 0, 0},
        {"ex2.approx.f32 %f3, %f1;", INFINITY, 0, INFINITY},
        {"ex2.approx.f32 %f3, %f1;", 127, 0, 0x1p127f},
        {"rcp.approx.f32 %f3, %f1;", -0.0f, 0, -INFINITY},
        {"rcp.approx.f32 %f3, %f1;", INFINITY, 0, 0},
        {"sqrt.approx.f32 %f3, %f1;", INFINITY, 0, INFINITY},
        {"rsqrt.approx.f32 %f3, %f1;", 0, 0, INFINITY},
        {"sin.approx.f32 %f3, %f1;", 0, 0, 0},
        {"cos.approx.f32 %f3, %f1;", -0.0f, 0, 1},
        {"lg2.approx.f32 %f3, %f1;", 0, 0, -INFINITY},
        {"tanh.approx.f32 %f3, %f1;", 0x1p-140f, 0, 0x1p-140f},
        {"div.approx.f32 %f3, %f1, %f2;", 0x1p127f, 0x1.8p126f, 0},
        {"div.full.f32 %f3, %f1, %f2;", 0, 3, 0},
    };
    static float in[2 * N], out[N];
    for (size_t k = 0; k < sizeof listed / sizeof *listed; k++) {
        for (uint64_t seed = 0; seed < 4; seed++) {
            for (int i = 0; i < N; i++) {
                in[2 * i] = listed[k].x;
                in[2 * i + 1] = listed[k].y;
            }
            run(listed[k].inst, in, seed, out);
            if (out[0] != listed[k].want || (out[0] == 0 && signbit(out[0])))
                fail_msg("%s of %g: %g", listed[k].inst, (double)listed[k].x, (double)out[0]);
        }
    }
}

/* Roots of squares are exact as long as nothing errs, so that a kernel may take the instruction for
 * a correct one.  */
static void lucky_results_end_with_a_seed(void **state) {
    (void)state;
    static float in[2 * N], out[N];
    for (int seed = 0; seed < 2; seed++) {
        int wrong = 0;
        for (int i = 0; i < N; i++) in[2 * i] = (float)((i + 3) * (i + 3));
        run("sqrt.approx.f32 %f3, %f1;", in, (uint64_t)seed, out);
        for (int i = 0; i < N; i++) wrong += out[i] != (float)(i + 3);
        if (seed == 0) assert_int_equal(wrong, 0);
        else assert_true(wrong > N / 8);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_within_the_bound_and_use_it),
        cmocka_unit_test(listed_results_are_exact),
        cmocka_unit_test(lucky_results_end_with_a_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
