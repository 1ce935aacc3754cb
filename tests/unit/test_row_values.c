/* links: sim */
/* What passes over a row share, and what takes the place of e^x and of division by a row's value:
 * against te_eval, and against the host's own arithmetic bit for bit or by ulps.  */
#include "base/hash.h"
#include "base/numeric.h"
#include "effort.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"
#include "rprogram/derived.h"
#include "stats_case.h"

#include <float.h>
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
    /* 2.5 ulps of the instruction, which the simulator uses up, and half of one.  */
    assert_true(worst > 1 && worst < 3.5);
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

/* The same for f32: next to the middle of two quotients, exponents of all sizes, either sign.  */
static float any_dividend(float y, int i, Rng *r) {
    static const float at[] = {0, -0.0f, 1e-45f, -1e-45f, 0x1p-126f, 0x1p-92f, 0x1.fffffep-93f,
                               0x1p92f, 0x1.000002p92f, -FLT_MAX, FLT_MAX, -INFINITY, 3, -7};
    if (i < (int)(sizeof at / sizeof *at)) return at[i];
    double middle = 1 + (rng_below(r, 1 << 23) + 0.5) * 0x1p-23;
    int exponent = i % 2 ? (int)rng_below(r, 276) - 149 : (int)rng_below(r, 180) - 90;
    float x = (float)ldexp(middle * (double)y, exponent);
    for (int steps = (int)rng_below(r, 3) - 1; steps != 0; steps = 0)
        x = nextafterf(x, steps < 0 ? -INFINITY : INFINITY);
    return rng_below(r, 2) ? x : -x;
}

static uint64_t bits_of(TeDtype t, double v) {
    if (t == TE_F16) return num_f16_encode(v, ROUND_NEAREST_EVEN, false);
    if (t == TE_BF16) return num_bf16_encode(v, ROUND_NEAREST_EVEN, false);
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* What the host divides, with what is divided and what divides as the op says.  */
typedef struct {
    const char *name, *text;
    TeDtype to;
    bool given;               /* S has the divisors; else they are the largest of their rows */
    int signs;                /* -1: as they are, 0: none, and 10^12 at most */
    const char *by;           /* the form */
} Division;

static const Division division[] = {
    {"of few to f16", "op f(X: f32[64,1024]) -> Y: f16[64,1024] { s[n] = max[c](X[n,c]);"
     " Y[n,c] = min(abs(X[n,c]), 1000000000000.0) / s[n]; }", TE_F16, false, 0, "rl_div_by("},
    {"of few to f32", "op f(X: f32[64,1024]) -> Y: f32[64,1024] { s[n] = max[c](X[n,c]);"
     " Y[n,c] = min(abs(X[n,c]), 1000000000000.0) / s[n]; }", TE_F32, false, 0, "rl_div_low("},
    {"of few to bf16", "op f(X: f32[64,1024]) -> Y: bf16[64,1024] { s[n] = max[c](X[n,c]);"
     " Y[n,c] = min(abs(X[n,c]), 1000000000000.0) / s[n]; }", TE_BF16, false, 0, "rl_div_low("},
    {"of all to f32", "op f(X: f32[64,1024], S: f32[64,1024]) -> Y: f32[64,1024] {"
     " s[n] = max[c](S[n,c]); Y[n,c] = X[n,c] / s[n]; }", TE_F32, true, -1, "rl_div_by("},
    {"of all to f16", "op f(X: f32[64,1024], S: f32[64,1024]) -> Y: f16[64,1024] {"
     " s[n] = max[c](S[n,c]); Y[n,c] = X[n,c] / s[n]; }", TE_F16, true, -1, "rl_div_by("},
};

static void compare_quotients(const Division *d, const float *x, const float *by,
                              const TeValue *got) {
    for (int i = 0; i < DIV_ROWS * DIV_COLUMNS; i++) {
        float y = by[i / DIV_COLUMNS];
        float want = (d->signs ? x[i] : fminf(fabsf(x[i]), 1e12f)) / y;
        bool same = isnan(want) ? isnan(got[i].v)
                                : bits_of(d->to, (double)want) == bits_of(d->to, got[i].v);
        if (!same) fail_msg("%s: %a / %a: %a, not %a", d->name, (double)x[i], (double)y, got[i].v,
                            (double)want);
    }
}

static void divide(const Division *d) {
    KernelCase c;
    make(&c, d->name, d->text);
    assert_int_equal(count(c.program.source, d->by), 1);
    assert_int_equal(count(c.program.source, "rl_divides("), d->signs != 0);
    float *x = arena_calloc(target.arena, DIV_ROWS * DIV_COLUMNS, sizeof *x);
    float *other = arena_calloc(target.arena, DIV_ROWS * DIV_COLUMNS, sizeof *x);
    float *by = arena_calloc(target.arena, DIV_ROWS, sizeof *by);
    Rng r = {12};
    for (int n = 0; n < DIV_ROWS; n++) {
        float y = row_divisor(n, &r);
        by[n] = d->given ? y : 0;
        for (int i = 0; i < DIV_COLUMNS; i++) {
            float *to = &x[n * DIV_COLUMNS + i];
            *to = !isfinite(y) ? y : d->to == TE_F16 && !d->given ? dividend(y, i, &r)
                                                                : any_dividend(y, i, &r);
            other[n * DIV_COLUMNS + i] = y;
            if (!d->given) *to = fminf(*to, y);
            if (!d->given && i == DIV_COLUMNS - 1) *to = y;
            if (!d->given) by[n] = fmaxf(by[n], *to);
        }
    }
    size_t bytes = DIV_ROWS * DIV_COLUMNS * sizeof *x;
    TeData in[2] = {{x, bytes}, {other, bytes}};
    TeValue *got = arena_calloc(target.arena, DIV_ROWS * DIV_COLUMNS, sizeof *got);
    c.in = in;
    c.got = &got;
    need(&c, d->name, kernel_run(&c, TE_FILL_REALS, 1, false));
    compare_quotients(d, x, by, got);
}

static void test_division(void **state) {
    (void)state;
    open_target("a100");
    for (size_t i = 0; i < sizeof division / sizeof *division; i++) divide(&division[i]);
    arena_destroy(target.arena);
}

/* ---- the same at the ends of products ---- */

enum { END_ROWS = 64, END_COLUMNS = 128 };

static float hostile_divisor(int row, Rng *r) {
    static const float at[] = {0, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-149f, -0x1p-149f,
                               0x1.fffffcp-127f, 0x1p-126f, 0x1p127f, -0x1p127f, -3, 0x1p32f,
                               0x1.000002p32f, 0x1p-32f, 0x1.fffffep-33f, 0x1.fffffep-33f};
    const int n = (int)(sizeof at / sizeof *at);
    return row < n ? at[row] : row_divisor(row - n, r);
}

/* What the unit multiplies exactly by 1: of bf16 no subnormals.  */
static float end_dividend(bool bf16, float y, int i, Rng *r) {
    float x = isfinite(y) && y != 0 ? any_dividend(y, i + 12, r) : (float)i;
    if (bf16) x = (float)num_bf16_decode(num_bf16_encode((double)x, ROUND_NEAREST_EVEN, false));
    return isnormal(x) || (!bf16 && isfinite(x)) ? x : 0;
}

/* A row of the first operand is a row of the identity, so that the product is the second one.  */
static TeData *end_data(Arena *a, bool bf16, float *x, float *y) {
    TeData *in = ARENA_ARRAY(a, TeData, 3);
    TeDtype type = bf16 ? TE_BF16 : TE_F32;
    const size_t all[] = {END_ROWS * END_ROWS, END_ROWS * END_COLUMNS};
    size_t size = (size_t)te_dtype_bytes(type);
    Rng r = {5};
    for (int side = 0; side < 2; side++)
        in[side] = (TeData){arena_calloc(a, all[side] * size + 16, 1), all[side] * size};
    in[2] = (TeData){y, END_ROWS * sizeof *y};
    for (int m = 0; m < END_ROWS; m++) {
        y[m] = hostile_divisor(m, &r);
        char *one = (char *)in[0].data + (size_t)(m * END_ROWS + m) * size;
        te_store(type, &(TeValue){.v = 1}, one);
        for (int n = 0; n < END_COLUMNS; n++) {
            int at = m * END_COLUMNS + n;
            x[at] = end_dividend(bf16, y[m], n, &r);
            te_store(type, &(TeValue){.v = (double)x[at]}, (char *)in[1].data + (size_t)at * size);
        }
    }
    return in;
}

static const char *compare_ends(Arena *a, TeDtype to, const float *x, const float *y,
                                const TeValue *got) {
    for (int i = 0; i < END_ROWS * END_COLUMNS; i++) {
        float by = y[i / END_COLUMNS], want = fminf(fabsf(x[i]), 1e12f) / by;
        if (isnan(want) ? isnan(got[i].v)
                        : bits_of(to, (double)want) == bits_of(to, got[i].v)) continue;
        return arena_printf(a, "%a / %a: %a, not %a", (double)x[i], (double)by, got[i].v,
                            (double)want);
    }
    return NULL;
}

/* A program of the kind (NULL: one that stores boxes) that divides by reciprocals; false: there is
 * none.  */
static bool pick_inverting(KernelCase *c, const StatsKind *kind) {
    const RProgSet *set = &c->set[0];
    for (int i = 0; i < set->n; i++) {
        const RProg *r = &set->prog[i];
        c->plan.prog[0] = *r;
        bool is = kind ? stats_is_kind(c->dev, r, *kind) : r->via == VIA_BOXES;
        if (is && rprog_stats_inverts(&c->plan.problem[0], c->dev, r)) return true;
    }
    return false;
}

static const char *divide_end(const StatsKind *kind, TeDtype to, bool *ran) {
    static const char text[] =
        "op f(A: %s[64,64], B: %s[64,128], D: f32[64]) -> Y: %s[64,128] {"
        " C[m,n] += A[m,k] * B[k,n]; s[m] = max[n](abs(C[m,n])); d[m] = s[m] < 0 ? s[m] : D[m];"
        " Y[m,n] = min(abs(C[m,n]), 1000000000000.0) / d[m]; }";
    Arena *a = target.arena;
    bool bf16 = !kind || kind->matrix;
    const char *type = bf16 ? "bf16" : "f32";
    KernelCase c = {0};
    float *x = arena_calloc(a, END_ROWS * END_COLUMNS, sizeof *x);
    float *y = arena_calloc(a, END_ROWS, sizeof *y);
    TeValue *got = arena_calloc(a, END_ROWS * END_COLUMNS, sizeof *got);
    const char *whole = arena_printf(a, text, type, type, te_dtype_name(to));
    const char *wrong = kernel_open_decided(&c, a, target.dev, whole, NULL, JOINED);
    if (!wrong && !(*ran = pick_inverting(&c, kind))) return NULL;
    if (!wrong) wrong = kernel_emit(&c);
    if (!wrong && count(c.program.source, to == TE_F16 ? "rl_div_by(" : "rl_div_low(") != 1)
        wrong = "not by a reciprocal";
    if (!wrong) wrong = kernel_compile(&c, target.nvrtc, false);
    c.in = wrong ? NULL : end_data(a, bf16, x, y);
    c.got = &got;
    if (!wrong) wrong = kernel_run(&c, TE_FILL_REALS, 1, false);
    if (!wrong) wrong = compare_ends(a, to, x, y, got);
    return wrong ? kernel_report(&c, te_dtype_name(to), wrong) : NULL;
}

/* Of each kind with results of one type (LONG=1: of all three); how many there were.  */
static int divide_ends(const StatsKind *kind, int number) {
    static const TeDtype to[] = {TE_F32, TE_F16, TE_BF16};
    int n = 0;
    for (int i = 0; i < 3 && (n == 0 || effort_long()); i++) {
        bool ran = false;
        const char *wrong = divide_end(kind, to[(i + number) % 3], &ran);
        if (wrong) fail_msg("kind %d: %s", number, wrong);
        n += ran;
    }
    return n;
}

static void test_ends(void **state) {
    (void)state;
    int kinds = 0;
    open_target("a100");
    for (int i = 0; i < STATS_KINDS; i++) kinds += divide_ends(&stats_kinds[i], i) > 0;
    print_message("%d kinds\n", kinds);
    assert_true(kinds >= STATS_KINDS / 2);
    arena_destroy(target.arena);
    open_target("h200");
    assert_true(divide_ends(NULL, 0) > 0);
    arena_destroy(target.arena);
}

/* The argument of divide.c, on every pair of significands of a short format: p bits, the
 * quotient by the reciprocal is the quotient as it is rounded.  All steps are exact in f64.  */
static double rounded(double v, int p) {
    int e;
    double m = frexp(v, &e);
    return ldexp(nearbyint(ldexp(m, p)), e - p);
}

/* The same where nothing has bits below 2^least.  */
static double stored(double v, int p, int least) {
    int e;
    (void)frexp(v, &e);
    return e - p < least ? ldexp(nearbyint(ldexp(v, -least)), least) : rounded(v, p);
}

static double by_remainder(double x, double y, double r, int p) {
    double q = rounded(x * r, p), left = rounded(x - q * y, p);
    return rounded(q + left * r, p);
}

static double by_scaled(double x, double y, double r, int p, int least) {
    double rest = rounded(rounded(1 - r * y, p) * r, p);
    double q = stored(x * r, p, least), left = rounded(x - q * y, p);
    return stored(q + rounded(left * r + rounded(left * rest, p), p), p, least);
}

static void short_format(int p) {
    int from = 1 << (p - 1), to = 1 << p;
    for (int y = from; y < to; y++) {
        double r = rounded(1.0 / y, p);
        for (int x = from; x < to; x++) {
            double quotient = (double)x / y;
            if (by_remainder(x, y, r, p) != rounded(quotient, p))
                fail_msg("%d bits: %d / %d is %a", p, x, y, by_remainder(x, y, r, p));
            /* From no bit that is missing to all that are.  */
            for (int least = -p - 1; least <= 1 && y < to - 1; least++) {
                double by = by_scaled(x, y, r, p, least);
                if (by != stored(quotient, p, least))
                    fail_msg("%d bits from 2^%d: %d / %d is %a", p, least, x, y, by);
            }
        }
    }
}

static void test_short_formats(void **state) {
    (void)state;
    for (int p = 3; p <= (effort_long() ? 11 : 8); p++) short_format(p);
}

/* What the argument leaves of f32: quotients of two that are near 2, and subnormal ones by the two
 * divisors next to that of ones alone, which is the exception.  */
static float by_low(float x, float y) {
    float r = 1 / y, rest = fmaf(r, -y, 1) * r, q = x * r;
    float left = fmaf(q, -y * 0x1p56f, x * 0x1p56f);
    return fmaf(fmaf(left, r, left * rest), 0x1p-56f, q);
}

static void test_near_two(void **state) {
    (void)state;
    static const float near[] = {0x1.fffffap0f, 0x1.fffffcp0f, 0x1.fffffep0f};
    uint32_t step = effort_long() ? 1 : 509;
    for (int i = 0; i < 3; i++) {
        for (int j = i + 1; j < 3; j++) {
            float r = 1 / near[j], q = near[i] * r;
            assert_true(fmaf(fmaf(q, -near[j], near[i]), r, q) == near[i] / near[j]);
            assert_true(j == 2 || by_low(near[i], near[j]) == near[i] / near[j]);
        }
    }
    for (int exponent = -149; exponent <= -124; exponent++) {
        for (uint32_t bits = 0; bits < 1 << 23; bits += step) {
            float x = ldexpf(1 + (float)bits * 0x1p-23f, exponent);
            for (int i = 0; i < 2; i++) {
                if (by_low(x, near[i]) != x / near[i])
                    fail_msg("%a / %a: %a", (double)x, (double)near[i], (double)by_low(x, near[i]));
            }
        }
    }
}

/* ---- where the forms would be wrong ---- */

/* Roots of -0 are -0, quotients by zeros are infinite, a quotient of -0 has a sign; on extreme data
 * each of these ops meets it.  */
static void test_signs(void **state) {
    (void)state;
#define MAP(e) "op f(X: f32[64,96], Z: f32[64,96]) -> Y: f32[64,96] { Y[n,c] = " e "; }"
#define QUOTIENT(z, e) "op f(X: f32[64,96], Z: f32[64,96]) -> Y: f32[64,96] {" \
        " z[n] = sum[c](" z "); Y[n,c] = (" e ") / z[n]; }"
    static const struct {
        const char *name, *text, *wrong;
    } op[] = {
        {"e to one over a root", MAP("exp(-1.0 / sqrt(X[n,c]))"), "rl_exp_low("},
        {"e to a root in one", MAP("exp(-rsqrt(X[n,c]))"), "rl_exp_low("},
        {"e over a negative root", MAP("exp(abs(X[n,c]) / -sqrt(Z[n,c]))"), "rl_exp_low("},
        {"e to a quotient by 0", MAP("exp(X[n,c] / 0.0)"), "rl_exp_low("},
        {"e to a negative product", MAP("exp(-(abs(X[n,c]) * sqrt(Z[n,c])))"), NULL},
        {"-0 by choice", QUOTIENT("Z[n,c]", "X[n,c] > 0 ? 1.0 : -0.0"), "rl_div_low("},
        {"0 of any sign", QUOTIENT("abs(Z[n,c])", "0.0 * X[n,c]"), "rl_div_low("},
        {"-0 by a factor", QUOTIENT("abs(Z[n,c])", "abs(X[n,c]) * -0.0"), "rl_div_low("},
        {"-0 by underflow", QUOTIENT("abs(Z[n,c])", "max(-1e-30, min(X[n,c], 0.0)) * 1e-30"),
         "rl_div_low("},
        {"-0 of a root", QUOTIENT("abs(Z[n,c])", "min(sqrt(X[n,c]), 4.0)"), "rl_div_low("},
        {"+0", QUOTIENT("abs(Z[n,c])", "min(abs(X[n,c]), 4.0)"), NULL},
    };
    open_target("h200");
    for (size_t i = 0; i < sizeof op / sizeof *op; i++) {
        KernelCase c;
        make(&c, op[i].name, op[i].text);
        if (op[i].wrong && count(c.program.source, op[i].wrong)) fail_msg("%s", op[i].name);
        need(&c, op[i].name, kernel_prove(&c, i + 1));
    }
    arena_destroy(target.arena);
}

/* ---- instructions ---- */

/* Executed warp instructions of 32 elements of rows on an A100.  Rows that made e^x twice took 42,
 * a norm that widened its row in each pass 31.  A division is one instruction in PTX, and ten in
 * machine code, where softmax to bf16 and f32 took 24 and 20 by it.  */
static void test_instructions(void **state) {
    (void)state;
#define SOFTMAX(type, m, n) "op f(X: " type "[" m "," n "]) -> Y: " type "[" m "," n "] " \
        "{ m[n] = max[c](X[n,c]); z[n] = sum[c](exp(X[n,c] - m[n]));" \
        " Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }"
    static const struct {
        const char *name, *text;
        double elements, exps, most;
    } row[] = {
        {"softmax", SOFTMAX("f16", "512", "1024"), 512 * 1024, 1, 16},
        {"softmax, long rows", SOFTMAX("f16", "1024", "4096"), 1024 * 4096, 1, 14.5},
        {"layernorm", "op f(X: f16[512,1024], g: f16[1024], b: f16[1024], eps: f32)"
         " -> Y: f16[512,1024] { mu[n] = sum[c](X[n,c]) / 1024;"
         " var[n] = sum[c]((X[n,c] - mu[n]) * (X[n,c] - mu[n])) / 1024;"
         " Y[n,c] = (X[n,c] - mu[n]) * rsqrt(var[n] + eps) * g[c] + b[c]; }", 512 * 1024, 0, 24},
        /* LONG=1 */
        {"softmax bf16", SOFTMAX("bf16", "1024", "4096"), 1024 * 4096, 1, 19.8},
        {"softmax f32", SOFTMAX("f32", "1024", "4096"), 1024 * 4096, 1, 16},
    };
    open_target("a100");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        KernelCase c;
        if (i >= 3 && !effort_long()) break;
        make(&c, row[i].name, row[i].text);
        need(&c, row[i].name, kernel_run(&c, TE_FILL_REALS, 1, false));
        double vectors = row[i].elements / 32;
        double divisions = (double)c.counted.pipe[SIM_PIPE_MUFU] / vectors - row[i].exps;
        double each = (double)c.counted.instructions / vectors + 9 * divisions;
        if (each > row[i].most) fail_msg("%s: %g instructions for 32 elements", row[i].name, each);
    }
    arena_destroy(target.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared),      cmocka_unit_test(test_exponentials),
        cmocka_unit_test(test_division),    cmocka_unit_test(test_short_formats),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_terms),       cmocka_unit_test(test_rounded_exponents),
        cmocka_unit_test(test_near_two),    cmocka_unit_test(test_signs),
        cmocka_unit_test(test_instructions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
