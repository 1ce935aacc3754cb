/* links: sim */
/* What passes over a row share, and what takes the place of e^x and of division by a row's value:
 * against te_eval, and against the host's own arithmetic bit for bit or by ulps.  */
#include "base/hash.h"
#include "base/numeric.h"
#include "effort.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static struct {
    Arena *arena;
    const Device *dev;
    Nvrtc *nvrtc;
} target;

static void open_target(const char *profile) {
    target.arena = arena_create(NULL);
    assert_non_null(target.arena);
    target.dev = fixture_device(target.arena, profile);
    Diag d = diag_new(target.arena);
    if (nvrtc_open(target.arena, &d, NULL, target.dev->arch, &target.nvrtc))
        fail_msg("%s", d.messages[0].message);
}

static void need(const KernelCase *c, const char *name, const char *wrong) {
    if (wrong) fail_msg("%s", kernel_report((KernelCase *)c, name, wrong));
}

/* The model's choice for a text, as code.  */
static void make(KernelCase *c, const char *name, const char *text) {
    const char *wrong = kernel_open(c, target.arena, target.dev, text, NULL);
    if (!wrong) wrong = kernel_pick(c, 0);
    if (!wrong) wrong = kernel_emit(c);
    if (!wrong) wrong = kernel_compile(c, target.nvrtc, false);
    need(c, name, wrong);
}

static double unit(Rng *r) { return (double)(rng_next(r) >> 11) * 0x1p-53; }

static int count(const char *text, const char *what) {
    int n = 0;
    for (const char *s = strstr(text, "__launch_bounds__"); s && (s = strstr(s, what)); n++)
        s += strlen(what);
    return n;
}

/* ---- values that passes share ---- */

static const struct {
    const char *name, *text, *call;
    int calls;                /* in the source of a kernel that keeps rows in registers */
} shared[] = {
    {"softmax", "op f(X: f16[3,1024]) -> Y: f16[3,1024] { m[n] = max[c](X[n,c]);"
     " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }",
     "rl_exp_term(", 1},
    {"softmax by name", "op f(X: f16[3,1024]) -> Y: f16[3,1024] { m[n] = max[c](X[n,c]);"
     " e[n,c] = exp(X[n,c] - m[n]); z[n] = sum[c](e[n,c]); Y[n,c] = e[n,c] / z[n]; }",
     "rl_exp_term(", 1},
    {"softmax odd", "op f(X: f32[3,257]) -> Y: f32[3,257] { m[n] = max[c](X[n,c]);"
     " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }",
     "rl_exp_low(", 1},
    {"scaled", "op f(X: bf16[3,512], s: f32) -> Y: bf16[3,512] { m[n] = max[c](X[n,c] * s);"
     " z[n] = sum[c](exp(X[n,c] * s - m[n])); Y[n,c] = exp(X[n,c] * s - m[n]) / z[n]; }",
     "rl_exp_low(", 1},
    {"gelu norm", "op f(X: f16[3,512]) -> Y: f16[3,512] {"
     " u[n,c] = X[n,c] * (1.0 + erf(X[n,c] * 0.70710678)); s[n] = sum[c](u[n,c] * u[n,c]);"
     " Y[n,c] = u[n,c] * rsqrt(s[n] + 1.0); }", "erff(", 1},
    {"two sums", "op f(X: f32[3,512]) -> (S: f32[3], Y: f32[3,512]) {"
     " a[n] = sum[c](tanh(X[n,c])); S[n] = sum[c](tanh(X[n,c]) * a[n]);"
     " Y[n,c] = tanh(X[n,c]) - S[n]; }", "tanhf(", 1},
    /* Another value, and one that the first pass makes only under a condition.  */
    {"other", "op f(X: f32[3,512]) -> Y: f32[3,512] { s[n] = sum[c](tanh(X[n,c]));"
     " Y[n,c] = tanh(X[n,c] * 2.0) - s[n]; }", "tanhf(", 2},
    {"on condition", "op f(X: f32[3,512]) -> Y: f32[3,512] {"
     " s[n] = sum[c](X[n,c] > 0.0 ? tanh(X[n,c]) : 0.0); Y[n,c] = tanh(X[n,c]) - s[n]; }",
     "tanhf(", 2},
};

static void test_shared(void **state) {
    (void)state;
    static const char *const profiles[] = {"a100", "t4"};
    for (int d = 0; d < 2; d++) {
        open_target(profiles[d]);
        for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
            KernelCase c;
            make(&c, shared[i].name, shared[i].text);
            const RProg *r = &c.plan.prog[c.plan.n - 1];
            bool ends = rprog_row_ends(&c.plan.problem[c.plan.n - 1], r);
            int calls = shared[i].calls * (ends ? 2 : 1);     /* and once for the ends of rows */
            if (rprog_row_keeps_values(r))
                need(&c, shared[i].name, count(c.program.source, shared[i].call) == calls
                                             ? NULL : "other calls than expected");
            need(&c, shared[i].name, kernel_prove(&c, i + 1));
        }
        arena_destroy(target.arena);
    }
}

/* ---- e^x where x is not positive ---- */

enum { EXP_ROWS = 4, EXP_COLUMNS = 4096 };

/* Row 0: the whole range, row 1: near 0, row 2: results that are subnormal; all with a 0, so that
 * their maximum is 0.  */
static float exponent(int row, int i, Rng *r) {
    static const float at[] = {0, -0.0f, -INFINITY, -104, -103.97208f, -103.2789f, -87.33654f,
                               -88, -1e-30f, -1e-45f, -3.4e38f, -0.34657359f, -0.6931472f, -64};
    if (i < (int)(sizeof at / sizeof *at)) return at[i];
    double x = unit(r);
    return (float)(row == 0 ? -105 * x : row == 1 ? -exp2(-24 * x) : -86 - 19 * x);
}

static double ulps_between(float got, double want) {
    double ulp = fmax(exp2(floor(log2(want)) - 23), 0x1p-149);
    return want == 0 ? got != 0 : fabs(got - want) / ulp;
}

static void test_exponentials(void **state) {
    (void)state;
    open_target("a100");
    KernelCase c;
    make(&c, "exp", "op f(X: f32[4,4096]) -> Y: f32[4,4096] { m[n] = max[c](X[n,c]);"
         " Y[n,c] = exp(X[n,c] - m[n]); }");
    assert_non_null(strstr(c.program.source, "rl_exp_low("));
    assert_int_equal(count(c.program.source, "expf("), 0);
    float *x = arena_calloc(target.arena, EXP_ROWS * EXP_COLUMNS, sizeof *x);
    Rng r = {11};
    for (int n = 0; n < EXP_ROWS; n++) {
        for (int i = 0; i < EXP_COLUMNS; i++)
            x[n * EXP_COLUMNS + i] = exponent(n, i, &r);
    }
    for (int i = 0; i < EXP_COLUMNS; i++) x[3 * EXP_COLUMNS + i] = i % 2 ? NAN : -INFINITY;
    TeData in = {x, EXP_ROWS * EXP_COLUMNS * sizeof *x};
    TeValue *got = arena_calloc(target.arena, EXP_ROWS * EXP_COLUMNS, sizeof *got);
    c.in = &in;
    c.got = &got;
    need(&c, "exp", kernel_run(&c, TE_FILL_REALS, 1, false));
    double worst = 0;
    for (int i = 0; i < 3 * EXP_COLUMNS; i++)
        worst = fmax(worst, ulps_between((float)got[i].v, exp((double)x[i])));
    /* The simulator rounds ex2 once; the instruction is off by another ulp at most.  */
    assert_true(worst <= 1.0);
    for (int i = 0; i < EXP_COLUMNS; i++) assert_true(isnan(got[3 * EXP_COLUMNS + i].v));
    arena_destroy(target.arena);
}

/* Which e^x are terms of sums of many, and may be off by what rounding x does.  */
static void test_terms(void **state) {
    (void)state;
#define ROWS(type, n) "op f(X: " type "[3," n "]) -> Y: " type "[3," n "] { m[n] = max[c](X[n,c]); "
#define SUM "z[n] = sum[c](exp(X[n,c] - m[n])); "
    static const struct {
        const char *name, *text;
        bool term;
    } op[] = {
        {"f32", ROWS("f32", "1024") SUM "Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }", true},
        {"few", ROWS("f32", "1023") SUM "Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }", false},
        {"a sum alone", "op f(X: f32[3,2048]) -> Y: f32[3] { m[n] = max[c](X[n,c]);"
         " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n] = log(z[n]) + m[n]; }", true},
        {"squares", "op f(X: f32[3,2048]) -> Y: f32[3] { Y[n] = sum[c](exp(-(X[n,c] * X[n,c]))); }",
         true},
        {"for itself", ROWS("f32", "1024") SUM "Y[n,c] = exp(X[n,c] - m[n]) + z[n]; }", false},
        {"another one", ROWS("f32", "1024") SUM "Y[n,c] = exp(-abs(X[n,c])) / z[n]; }", false},
        {"weighted", ROWS("f32", "1024") "z[n] = sum[c](exp(X[n,c] - m[n]) * X[n,c]);"
         " Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }", false},
        {"in f64", "op f(X: f32[3,2048]) -> Y: f32[3] { m[n] = max[c](X[n,c]);"
         " z[n] = sum[c](exp(X[n,c] - m[n])) @accum(f64); Y[n] = z[n]; }", false},
    };
    open_target("a100");
    for (size_t i = 0; i < sizeof op / sizeof *op; i++) {
        KernelCase c;
        make(&c, op[i].name, op[i].text);
        bool term = strstr(c.program.source, "rl_exp_term(");
        bool low = strstr(c.program.source, "rl_exp_low(");
        if (term != op[i].term || low == op[i].term) fail_msg("%s: %d, %d", op[i].name, term, low);
        need(&c, op[i].name, kernel_prove(&c, i + 1));
    }
    arena_destroy(target.arena);
}

/* The bound of docs/numerics.md: what the host's own e^x says of x log2(e), rounded, in f64.  */
static void test_rounded_exponents(void **state) {
    (void)state;
    Rng r = {13};
    for (int i = 0; i < 200000; i++) {
        float x = (float)(-104 * unit(&r)), t = x * 1.442695041f;
        double off = fabs(exp2((double)t) / exp((double)x) - 1);
        if (off > 1.25 * fabs((double)x) * 0x1p-24) fail_msg("%a: off by %g", (double)x, off);
    }
}

/* ---- division by a row's value ---- */

enum { DIV_ROWS = 64, DIV_COLUMNS = 1024 };

static float row_divisor(int row, Rng *r) {
    static const float at[] = {1, 1.9999999f, 1.9999998f, 1.0000001f, 0x1p-64f, 0x1p-65f, 0x1p64f,
                               0x1.8p64f, 0x1.fffffep127f, 1e-40f, INFINITY, 0, 3, 1023, 0x1p-24f};
    if (row < (int)(sizeof at / sizeof *at)) return at[row];
    return (float)((1 + unit(r)) * exp2((double)rng_below(r, 100) - 50));
}

/* What divided by y lies on either side of where f16 rounds, a few steps away from it; else
 * anything from 0 to y.  */
static float dividend(float y, int i, Rng *r) {
    double to = ldexp(1 + (rng_below(r, 1024) + 0.5) / 1024, -1 - (int)rng_below(r, 16));
    float x = i % 4 ? (float)(to * (double)y) : (float)(unit(r) * (double)y);
    for (int steps = (int)rng_below(r, 5) - 2; steps != 0; steps += steps < 0 ? 1 : -1)
        x = nextafterf(x, steps < 0 ? 0 : y);
    return i == 0 ? y : i == 1 ? 0 : i == 2 ? 1e-45f : i == 3 ? 0x1p-103f : fabsf(x);
}

static void test_division(void **state) {
    (void)state;
    open_target("a100");
    KernelCase c;
    make(&c, "division", "op f(X: f32[64,1024]) -> Y: f16[64,1024] { s[n] = max[c](X[n,c]);"
         " Y[n,c] = min(abs(X[n,c]), 1000000000000.0) / s[n]; }");
    assert_int_equal(count(c.program.source, "rl_div_by("), 1);
    float *x = arena_calloc(target.arena, DIV_ROWS * DIV_COLUMNS, sizeof *x);
    Rng r = {12};
    for (int n = 0; n < DIV_ROWS; n++) {
        float y = row_divisor(n, &r);
        for (int i = 0; i < DIV_COLUMNS; i++)
            x[n * DIV_COLUMNS + i] = isfinite(y) ? dividend(y, i, &r) : y;
    }
    TeData in = {x, DIV_ROWS * DIV_COLUMNS * sizeof *x};
    TeValue *got = arena_calloc(target.arena, DIV_ROWS * DIV_COLUMNS, sizeof *got);
    c.in = &in;
    c.got = &got;
    need(&c, "division", kernel_run(&c, TE_FILL_REALS, 1, false));
    for (int i = 0; i < DIV_ROWS * DIV_COLUMNS; i++) {
        float y = 0;
        for (int k = 0; k < DIV_COLUMNS; k++) y = fmaxf(y, x[i / DIV_COLUMNS * DIV_COLUMNS + k]);
        float want = fminf(fabsf(x[i]), 1e12f) / y;
        uint16_t bits = num_f16_encode((double)want, ROUND_NEAREST_EVEN, false);
        bool same = isnan(want) ? isnan(got[i].v)
                                : bits == num_f16_encode(got[i].v, ROUND_NEAREST_EVEN, false);
        if (!same) fail_msg("%a / %a: %a, not %a", (double)x[i], (double)y, got[i].v,
                            (double)want);
    }
    arena_destroy(target.arena);
}

/* The argument of docs/numerics.md, on every pair of significands of a short format: p bits, the
 * quotient by the reciprocal is the quotient as it is rounded.  All steps are exact in f64.  */
static double rounded(double v, int p) {
    int e;
    double m = frexp(v, &e);
    return ldexp(nearbyint(ldexp(m, p)), e - p);
}

static void test_short_formats(void **state) {
    (void)state;
    for (int p = 3; p <= (effort_long() ? 12 : 9); p++) {
        int from = 1 << (p - 1), to = 1 << p;
        for (int y = from; y < to; y++) {
            double r = rounded(1.0 / y, p);
            for (int x = from; x < to; x++) {
                double q = rounded(x * r, p);
                double left = rounded(x - q * y, p);
                double by = rounded(q + left * r, p);
                if (by != rounded((double)x / y, p))
                    fail_msg("%d bits: %d / %d is %a", p, x, y, by);
            }
        }
    }
    /* The one pair of f32 that the argument leaves: 2 - 2^-22 and 2 - 2^-23.  */
    float x = 0x1.fffffcp0f, y = 0x1.fffffep0f, r = 1 / y, q = x * r;
    assert_true(fmaf(fmaf(q, -y, x), r, q) == x / y);
}

/* ---- instructions ---- */

/* Executed warp instructions of 32 elements of rows on an A100.  Rows that made e^x twice took 42,
 * a norm that widened its row in each pass 31.  */
static void test_instructions(void **state) {
    (void)state;
#define SOFTMAX(type, m, n) "op f(X: " type "[" m "," n "]) -> Y: " type "[" m "," n "] " \
        "{ m[n] = max[c](X[n,c]); z[n] = sum[c](exp(X[n,c] - m[n]));" \
        " Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }"
    static const struct {
        const char *name, *text;
        double elements, most;
    } row[] = {
        {"softmax", SOFTMAX("f16", "512", "1024"), 512 * 1024, 16},
        {"softmax, long rows", SOFTMAX("f16", "1024", "4096"), 1024 * 4096, 14.4},
        {"layernorm", "op f(X: f16[512,1024], g: f16[1024], b: f16[1024], eps: f32)"
         " -> Y: f16[512,1024] { mu[n] = sum[c](X[n,c]) / 1024;"
         " var[n] = sum[c]((X[n,c] - mu[n]) * (X[n,c] - mu[n])) / 1024;"
         " Y[n,c] = (X[n,c] - mu[n]) * rsqrt(var[n] + eps) * g[c] + b[c]; }", 512 * 1024, 24},
        /* LONG=1 */
        {"softmax bf16", SOFTMAX("bf16", "1024", "4096"), 1024 * 4096, 14.6},
        {"softmax f32", SOFTMAX("f32", "1024", "4096"), 1024 * 4096, 11},
    };
    open_target("a100");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        KernelCase c;
        if (i >= 3 && !effort_long()) break;
        make(&c, row[i].name, row[i].text);
        need(&c, row[i].name, kernel_run(&c, TE_FILL_REALS, 1, false));
        double each = (double)c.counted.instructions / (row[i].elements / 32);
        if (each > row[i].most) fail_msg("%s: %g instructions for 32 elements", row[i].name, each);
    }
    arena_destroy(target.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared),      cmocka_unit_test(test_exponentials),
        cmocka_unit_test(test_division),    cmocka_unit_test(test_short_formats),
        cmocka_unit_test(test_terms),       cmocka_unit_test(test_rounded_exponents),
        cmocka_unit_test(test_instructions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
