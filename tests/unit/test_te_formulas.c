/* links: te */
#include "base/hash.h"
#include "base/numeric.h"
#include "te_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Formulas of one element: whatever f32 arithmetic gives is right; where it may jump, either
 * side.  */

static float to_f32(double v) { return num_f32_encode(v, ROUND_NEAREST_EVEN); }
static float to_f16(double v) {
    return (float)num_f16_decode(num_f16_encode(v, ROUND_NEAREST_EVEN, false));
}

typedef struct {
    int right, wrong, undecided;
} Count;

static void tally(Count *c, TeVerdict v) {
    c->right += v == TE_RIGHT;
    c->wrong += v == TE_WRONG;
    c->undecided += v == TE_UNDECIDED;
}

static const double ulps_of[] = {
#define X(id, name, n, ulp) ulp,
    TE_INTRINSICS(X)
#undef X
};

/* A function's value with an error of nearly as many units in the last place of f32.  */
static float sloppy(Rng *r, double exact, double ulps) {
    if (!isfinite(exact) || exact == 0) return (float)exact;
    double push = ((double)rng_below(r, 2001) / 1000 - 1) * fmax(ulps - 0.55, 0);
    return to_f32(exact + push * num_ulp(exact, 23, -126));
}

static float interpret(Rng *r, const TeExpr *e, const float *in);

static float call(Rng *r, const TeExpr *e, const float *in) {
    double x = (double)interpret(r, e->args[0], in);
    double y = e->n_args > 1 ? (double)interpret(r, e->args[1], in) : 0;
    double u = ulps_of[e->v.fn];
    switch (e->v.fn) {
    case TE_FN_EXP: return sloppy(r, exp(x), u);
    case TE_FN_LOG: return sloppy(r, log(x), u);
    case TE_FN_SQRT: return sloppy(r, sqrt(x), u);
    case TE_FN_RSQRT: return sloppy(r, 1 / sqrt(x), u);
    case TE_FN_TANH: return sloppy(r, tanh(x), u);
    case TE_FN_ERF: return sloppy(r, erf(x), u);
    case TE_FN_SIN: return sloppy(r, sin(x), u);
    case TE_FN_FLOOR: return (float)floor(x);
    case TE_FN_ABS: return (float)fabs(x);
    case TE_FN_POW: return sloppy(r, pow(x, y), u);
    case TE_FN_MAX: return (float)(isnan(x) || isnan(y) ? NAN : fmax(x, y));
    default: return (float)(isnan(x) || isnan(y) ? NAN : fmin(x, y));
    }
}

static float interpret(Rng *r, const TeExpr *e, const float *in) {
    if (e->kind == TE_CALL) return call(r, e, in);
    if (e->kind == TE_SCALAR) return in[e->v.ref];
    if (e->kind == TE_REAL) return (float)e->v.r;
    if (e->kind == TE_SELECT) {
        const TeExpr *c = e->args[0];
        bool less = interpret(r, c->args[0], in) < interpret(r, c->args[1], in);
        return interpret(r, e->args[less ? 1 : 2], in);
    }
    float x = interpret(r, e->args[0], in), y = e->n_args > 1 ? interpret(r, e->args[1], in) : 0;
    switch (e->kind) {
    case TE_NEG: return -x;
    case TE_ADD: return x + y;
    case TE_SUB: return x - y;
    case TE_MUL: return x * y;
    case TE_DIV: return x / y;
    default: return to_f16((double)x);     /* TE_CAST to f16 */
    }
}

static void make_expr(Rng *r, Buf *out, int depth) {
    static const char *const leaf[] = {"a", "b", "c", "0.3", "2.0", "1.5"};
    static const char *const binary[] = {"+", "-", "*", "/"};
    static const char *const fn[] = {"exp", "log", "sqrt", "rsqrt", "tanh", "erf", "sin", "floor",
                                     "abs", "f16"};
    uint32_t kind = depth > 0 ? rng_below(r, 8) : 7;
    if (kind < 4) {
        buf_puts(out, "(");
        make_expr(r, out, depth - 1);
        buf_printf(out, " %s ", binary[rng_below(r, 4)]);
        make_expr(r, out, depth - 1);
        buf_puts(out, ")");
    } else if (kind == 4) {
        buf_printf(out, "%s(", fn[rng_below(r, 10)]);
        make_expr(r, out, depth - 1);
        buf_puts(out, ")");
    } else if (kind == 5) {
        static const char *const two[] = {"pow", "max", "min"};
        buf_printf(out, "%s(", two[rng_below(r, 3)]);
        make_expr(r, out, depth - 1);
        buf_puts(out, ", ");
        make_expr(r, out, depth - 1);
        buf_puts(out, ")");
    } else if (kind == 6) {
        static const char *const part[] = {"(", " < ", " ? ", " : ", ")"};
        for (int i = 0; i < 4; i++) {
            buf_puts(out, part[i]);
            make_expr(r, out, depth - 1);
        }
        buf_puts(out, part[4]);
    } else {
        buf_puts(out, leaf[rng_below(r, 6)]);
    }
}

static void random_formulas_are_right(void **state) {
    (void)state;
    Count c = {0};
    for (uint64_t seed = 0; seed < 3000; seed++) {
        Arena *a = arena_create(NULL);
        Rng rng = {seed};
        Buf b = buf_new(a);
        buf_puts(&b, "op f(a: f32, b: f32, c: f32) -> Y: f32 { Y[] = a * 1.0 + ");
        make_expr(&rng, &b, 1 + (int)rng_below(&rng, 5));
        buf_puts(&b, "; }");
        Te *te = fixture_te(a, buf_str(&b));
        float in[3];
        for (int i = 0; i < 3; i++) in[i] = (float)rng_normal(&rng);
        const void *data[] = {&in[0], &in[1], &in[2]};
        TeValue want = *fixture_run(a, buf_str(&b), data);
        for (int trial = 0; trial < 4; trial++) {
            float got = interpret(&rng, te->stmt[0].rhs, in);
            TeVerdict v = te_judge(TE_F32, &got, &want, false);
            tally(&c, v);
            if (v == TE_WRONG)
                fail_msg("%s\na %a b %a c %a: %.9g, not %.17g within %g", buf_str(&b), in[0], in[1],
                         in[2], got, want.v, want.bound);
        }
        arena_destroy(a);
    }
    assert_true(c.right > 9 * c.undecided);
}

/* -- jumps, ranges, signs ---------------------------------------------------------------------- */

static TeValue value_of(Arena *a, const char *type, const char *expr, float x, float y) {
    const void *in[] = {&x, &y};
    const char *text = arena_printf(a, "op f(x: f32, y: f32) -> Y: %s { Y[] = %s; }", type, expr);
    return *fixture_run(a, text, in);
}

static void jumps_leave_both_sides_right(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    /* 0.1f * 10 is 1 up to rounding: on which side is open.  */
    static const char *const open[] = {"i32(x * 10)", "i32(x * 10 - 1 < 0.00000001)",
                                       "i32(floor(x * 10))"};
    for (int i = 0; i < 3; i++) assert_true(value_of(a, "i32", open[i], 0.1f, 0).undecided);
    TeValue v = value_of(a, "f32", "floor(x * 10)", 0.1f, 0);
    float lower = 0, upper = 1, beyond = 2;
    assert_int_equal(te_judge(TE_F32, &lower, &v, false), TE_RIGHT);
    assert_int_equal(te_judge(TE_F32, &upper, &v, false), TE_RIGHT);
    assert_int_equal(te_judge(TE_F32, &beyond, &v, false), TE_WRONG);
    v = value_of(a, "f32", "x * 10 < 1 ? 5.0 : 7.0", 0.1f, 0);
    lower = 5;
    upper = 7;
    beyond = 8;
    assert_int_equal(te_judge(TE_F32, &lower, &v, false), TE_RIGHT);
    assert_int_equal(te_judge(TE_F32, &upper, &v, false), TE_RIGHT);
    assert_int_equal(te_judge(TE_F32, &beyond, &v, false), TE_WRONG);
    /* One operand that decides makes the other's openness harmless.  */
    assert_false(value_of(a, "bool", "x * 10 < 1 && y > 0", 0.1f, -1).undecided);
    assert_false(value_of(a, "bool", "y < 0 || x * 10 < 1", 0.1f, -1).undecided);
    assert_true(value_of(a, "bool", "y > 0 || x * 10 < 1", 0.1f, -1).undecided);
    /* Exact comparisons are never open.  */
    assert_false(value_of(a, "bool", "x == y", 0.1f, 0.1f).undecided);
    arena_destroy(a);
}

/* The smaller candidate's rounding may make it the larger: 1.02 + 2^24 - 2^24 is 2 in f32.  */
static void extremes_cover_every_candidate(void **state) {
    (void)state;
    static const char *const up[] = {"max(x, y + 16777216.0 - 16777216.0)",
                                     "max[i](i == 0 ? x : y + 16777216.0 - 16777216.0)"};
    static const char *const down[] = {"min(-x, -y - 16777216.0 + 16777216.0)",
                                       "min[i](i == 0 ? -x : -y - 16777216.0 + 16777216.0)"};
    Arena *a = arena_create(NULL);
    for (int i = 0; i < 2; i++) {
        const char *where = i ? "f32[1] { Y[j] = %s where i in 2; }" : "f32[1] { Y[j] = %s; }";
        for (int sign = -1; sign <= 1; sign += 2) {
            float x = 1.5f, y = 1.02f, got = (float)sign * 2, off = (float)sign * 6;
            const void *in[] = {&x, &y};
            const char *body = arena_printf(a, where, sign > 0 ? up[i] : down[i]);
            TeValue v = *fixture_run(a, arena_printf(a, "op f(x: f32, y: f32) -> Y: %s", body), in);
            assert_int_equal(te_judge(TE_F32, &got, &v, false), TE_RIGHT);
            assert_int_equal(te_judge(TE_F32, &off, &v, false), TE_WRONG);
        }
    }
    arena_destroy(a);
}

static void close_candidates_leave_argmax_open(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    static const struct {
        const char *expr;
        float x[3];
        bool open;
        int64_t at;
    } cases[] = {
        {"argmax[i](X[i])", {1, 1, 0}, false, 0}, {"argmax[i](X[i] / 3)", {1, 1, 0}, true, 0},
        {"argmax[i](X[i] / 3)", {1, 1.1f, 0}, false, 1},
        {"argmin[i](X[i] / 3)", {2, 2, 1}, false, 2},
        {"argmin[i](X[i] / 3)", {2, 1, 1}, true, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const void *in[] = {cases[i].x};
        TeValue v = *fixture_run(
            a, arena_printf(a, "op f(X: f32[3]) -> Y: i32 { Y[] = %s; }", cases[i].expr), in);
        assert_int_equal(v.undecided, cases[i].open);
        assert_int_equal(v.i, cases[i].at);
    }
    arena_destroy(a);
}

static void leaving_the_range_is_open(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    static const char *const open[] = {"exp(x * 100)", "x * 1e38 * 10", "x * 1e38 * 10 / 1e38",
                                       "1 / (x - x * 1.1 / 1.1)", "sqrt(x * 1.1 / 1.1 - x)"};
    for (int i = 0; i < 5; i++) {
        if (!value_of(a, "f32", open[i], 3, 0).undecided) fail_msg("%s is decided", open[i]);
    }
    /* A sum that ends inside may leave it on the way.  */
    const float large[3] = {3e38f, 3e38f, -3e38f};
    const void *in[] = {large};
    assert_true(fixture_run(a, "op f(X: f32[3]) -> Y: f32 { Y[] += X[k]; }", in)->undecided);
    assert_false(fixture_run(a, "op f(X: f32[3]) -> Y: f32 { Y[] += X[k] @accum(f64); }",
                             in)->undecided);
    /* Infinite for certain, and just inside.  */
    TeValue v = value_of(a, "f32", "x / y", 1, 0);
    assert_true(isinf(v.v) && !v.undecided);
    assert_false(value_of(a, "f32", "x * 1e38 * 3", 1, 0).undecided);
    /* Subnormals are kept: half of the smallest is the most that may be lost.  */
    v = value_of(a, "f32", "x * 1e-30 * 1e-12", 1, 0);
    assert_true(fabs(v.v - 1e-42) < 1e-48 && v.bound < 3e-45);
    arena_destroy(a);
}

/* A term that padding makes 0 may be left out even if its factor is infinite.  */
static void padding_meets_infinity(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const float x[2] = {1, 2}, w[2] = {3, INFINITY};
    const void *in[] = {x, w};
    TeValue *v = fixture_run(a, "op f(X: f32[2], W: f32[2]) -> Y: f32[3] {"
                                " Y[i] = sum[k]((X[i+k-1] else 0) * W[k]); }", in);
    assert_true(!v[0].undecided && isinf(v[0].v));
    assert_true(!v[1].undecided && isinf(v[1].v));
    assert_true(v[2].undecided);
    arena_destroy(a);
}

static void exact_sums_have_no_bound(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    static const struct {
        const char *body;
        bool exact;
    } cases[] = {
        {"sum[k](X[k] * X[k])", true}, {"sum[k](X[k] * 0.25)", true}, {"sum[k](X[k] * 0.1)", false},
        {"sum[k](X[k] * 16777216)", false}, {"sum[k](X[k]) / 4", true}, {"sum[k](X[k]) / 7", false},
        {"prod[k](X[k])", true}, {"prod[k](X[k] * 4096)", false}, {"max[k](X[k] * 0.1)", false},
        {"exp(sum[k](X[k]))", false}, {"max[k](X[k] * 3) + 1", true},
    };
    const float x[4] = {1, -2, 3, 7};
    const void *in[] = {x};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        TeValue v = *fixture_run(
            a, arena_printf(a, "op f(X: f32[4]) -> Y: f32 { Y[] = %s; }", cases[i].body), in);
        if ((v.bound == 0) != cases[i].exact) fail_msg("%s: bound %g", cases[i].body, v.bound);
    }
    arena_destroy(a);
}

static void verdicts_on_single_elements(void **state) {
    (void)state;
    const TeValue one = {.v = 1}, zero = {.v = 0, .any_zero = true}, plus = {.v = 0};
    const TeValue nan = {.v = NAN}, inf = {.v = INFINITY}, close = {.v = 1, .bound = 1e-3};
    const TeValue big = {.v = 65519, .bound = 2}, open = {.undecided = true}, int_7 = {.i = 7};
    const float f[] = {1, 1.0000001f, -0.0f, 0, NAN, INFINITY, -INFINITY, 1.001f, 1.0011f};
    const struct {
        const float *got;
        const TeValue *want;
        bool exact;
        TeVerdict verdict;
    } cases[] = {
        {&f[0], &one, true, TE_RIGHT}, {&f[1], &one, true, TE_WRONG},
        {&f[2], &zero, true, TE_RIGHT},
        {&f[2], &plus, true, TE_WRONG}, {&f[2], &plus, false, TE_RIGHT},
        {&f[3], &plus, true, TE_RIGHT},
        {&f[4], &nan, true, TE_RIGHT}, {&f[4], &one, false, TE_WRONG},
        {&f[0], &nan, false, TE_WRONG},
        {&f[5], &inf, true, TE_RIGHT}, {&f[6], &inf, false, TE_WRONG},
        {&f[0], &inf, false, TE_WRONG},
        {&f[7], &close, false, TE_RIGHT}, {&f[8], &close, false, TE_WRONG},
        {&f[7], &close, true, TE_RIGHT}, {&f[4], &open, true, TE_UNDECIDED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(te_judge(TE_F32, cases[i].got, cases[i].want, cases[i].exact),
                         cases[i].verdict);
    /* Where the bound straddles the range of the stored type, both are right.  */
    uint16_t most = 0x7bff, infinite = 0x7c00, less = 0x7bfe;
    assert_int_equal(te_judge(TE_F16, &most, &big, false), TE_RIGHT);
    assert_int_equal(te_judge(TE_F16, &infinite, &big, false), TE_RIGHT);
    assert_int_equal(te_judge(TE_F16, &less, &big, false), TE_WRONG);
    int8_t c = 7, d = 8;
    assert_int_equal(te_judge(TE_I8, &c, &int_7, true), TE_RIGHT);
    assert_int_equal(te_judge(TE_I8, &d, &int_7, false), TE_WRONG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_formulas_are_right),
        cmocka_unit_test(jumps_leave_both_sides_right),
        cmocka_unit_test(extremes_cover_every_candidate),
        cmocka_unit_test(close_candidates_leave_argmax_open),
        cmocka_unit_test(leaving_the_range_is_open),
        cmocka_unit_test(padding_meets_infinity),
        cmocka_unit_test(exact_sums_have_no_bound),
        cmocka_unit_test(verdicts_on_single_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
