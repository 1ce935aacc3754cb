/* links: te */
/* What is said of expressions by their form, against what they are.  Of reals what IEEE 754 makes
 * of them: random trees over zeros of both signs, infinities, NaN, subnormals and the largest
 * numbers, products fused with sums or not.  Of integers all values of their indices, and data up
 * to the ends of its type.  */
#include "base/hash.h"
#include "te/tree/tree.h"
#include "te_adverse.h"
#include "te_fixture.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* ---- trees as text ---- */

typedef struct {
    Buf out;
    Rng rng;
} Gen;

static void tree(Gen *g, int depth);

static void form(Gen *g, const char *text, int depth) {
    for (; *text; text++) {
        if (*text == '$') tree(g, depth - 1);
        else buf_putc(&g->out, *text);
    }
}

static void tree(Gen *g, int depth) {
    static const char *const leaf[] = {"X[i]", "Z[i]", "X[i]", "0.0", "(-0.0)", "1.0", "2.5",
                                       "(-3.0)", "inf", "1e-30", "1e30", "(-1e-30)", "0.5"};
    static const char *const inner[] = {
        "($ + $)", "($ - $)", "($ * $)", "($ / $)", "(-$)", "exp($)", "exp2($)", "sqrt($)",
        "rsqrt($)", "abs($)", "max($, $)", "min($, $)", "tanh($)", "(X[i] > 0 ? $ : $)", "abs($)",
        "($ * $ + $)", "exp(-abs($))", "(X[i] * X[i])", "(Z[i] * Z[i] + $)", "sin($)", "cos($)",
        "erf($)", "log($)", "floor($)"};
    enum { LEAVES = sizeof leaf / sizeof *leaf, INNER = sizeof inner / sizeof *inner };
    if (depth == 0 || rng_below(&g->rng, 5) == 0)
        buf_puts(&g->out, leaf[rng_below(&g->rng, LEAVES)]);
    else form(g, inner[rng_below(&g->rng, INNER)], depth);
}

/* ---- as a machine computes them ---- */

typedef struct {
    float x, z;
    bool fused;
} Point;

static float value(const TeExpr *e, const Point *p);

static float call(const TeExpr *e, const Point *p) {
    float x = value(e->args[0], p), y = e->n_args > 1 ? value(e->args[1], p) : 0;
    switch (e->v.fn) {
    case TE_FN_EXP: return expf(x);
    case TE_FN_EXP2: return exp2f(x);
    case TE_FN_SQRT: return sqrtf(x);
    case TE_FN_RSQRT: return 1 / sqrtf(x);
    case TE_FN_ABS: return fabsf(x);
    case TE_FN_MAX: return isnan(x) || isnan(y) ? NAN : x > y ? x : y;
    case TE_FN_MIN: return isnan(x) || isnan(y) ? NAN : x < y ? x : y;
    case TE_FN_TANH: return tanhf(x);
    case TE_FN_ERF: return erff(x);
    case TE_FN_SIN: return sinf(x);
    case TE_FN_COS: return cosf(x);
    case TE_FN_LOG: return logf(x);
    default: return floorf(x);
    }
}

static float sum(const TeExpr *e, const Point *p) {
    const TeExpr *a = e->args[0], *b = e->args[1];
    float sign = e->kind == TE_SUB ? -1 : 1;
    if (p->fused && a->kind == TE_MUL)
        return fmaf(value(a->args[0], p), value(a->args[1], p), sign * value(b, p));
    if (p->fused && b->kind == TE_MUL)
        return fmaf(sign * value(b->args[0], p), value(b->args[1], p), value(a, p));
    return value(a, p) + sign * value(b, p);
}

static float value(const TeExpr *e, const Point *p) {
    switch (e->kind) {
    case TE_INT: return (float)e->v.i;
    case TE_REAL: return (float)e->v.r;
    case TE_READ: return e->v.ref ? p->z : p->x;
    case TE_NEG: return -value(e->args[0], p);
    case TE_ADD:
    case TE_SUB: return sum(e, p);
    case TE_MUL: return value(e->args[0], p) * value(e->args[1], p);
    case TE_DIV: return value(e->args[0], p) / value(e->args[1], p);
    case TE_SELECT: return value(e->args[p->x > 0 ? 1 : 2], p);
    case TE_CALL: return call(e, p);
    default: fail_msg("a node of kind %d", (int)e->kind); return 0;
    }
}

/* ---- what is said of them ---- */

static bool holds(const TeRealRange *r, float v) {
    if (isnan(v)) return r->nan;
    if (v == 0 && !(signbit(v) ? r->minus_zero : r->plus_zero)) return false;
    return r->lo <= (double)v && (double)v <= r->hi;
}

static const float odd[] = {0.0f,    -0.0f,    INFINITY, -INFINITY, NAN,      1,       -1,
                            1e-45f,  -1e-45f,  1e-38f,   -1e-38f,   FLT_MAX,  -FLT_MAX, 0.3f,
                            -2.75f,  1e-20f,   -1e20f,   88.8f,     -104.5f,  3e10f};
enum { ODD = sizeof odd / sizeof *odd, TREES = 6000, DEPTH = 4 };

static void check(const TeRealRange *r, const TeExpr *e, const char *text) {
    for (int i = 0; i < 2 * ODD * ODD; i++) {
        Point p = {odd[i / 2 % ODD], odd[i / 2 / ODD], i % 2};
        float v = value(e, &p);
        if (!holds(r, v))
            fail_msg("%a for X = %a, Z = %a%s is not in %g..%g%s%s%s\n%s", (double)v, (double)p.x,
                     (double)p.z, p.fused ? ", fused" : "", r->lo, r->hi,
                     r->minus_zero ? ", -0" : "", r->plus_zero ? ", +0" : "", r->nan ? ", NaN" : "",
                     text);
    }
}

static void trees_stay_in_their_ranges(void **state) {
    int low = 0, high = 0, unsigned_zero = 0, no_nan = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= TREES; seed++) {
        Arena *a = arena_create(NULL);
        Gen g = {buf_new(a), {seed}};
        buf_puts(&g.out, "op f(X: f32[4], Z: f32[4]) -> Y: f32[4] { Y[i] = X[i] * 0 + Z[i] * 0 + ");
        tree(&g, DEPTH);
        buf_puts(&g.out, "; }");
        const Te *te = fixture_te(a, buf_str(&g.out));
        const TeExpr *e = te->stmt[0].rhs->args[1];
        TeRealRange r = te_real_range(te, &te->stmt[0], e);
        if (e->kind != TE_INT && e->kind != TE_REAL) check(&r, e, buf_str(&g.out));
        low += r.hi <= 0;
        high += r.lo >= 0;
        unsigned_zero += !r.minus_zero;
        no_nan += !r.nan;
        arena_destroy(a);
    }
    /* It says something.  */
    assert_true(low > TREES / 50 && high > TREES / 10);
    assert_true(unsigned_zero > TREES / 10 && no_nan > TREES / 50);
}

/* ---- integers ---- */

enum { INTEGER_TREES = 2000 };

static void integer(Gen *g, int depth) {
    static const char *const leaf[] = {"i", "j", "i", "j", "0", "1", "3", "7", "(-2)", "100",
                                       "T[i]", "B[j]", "M"};
    static const char *const inner[] = {
        "($ + $)", "($ - $)", "($ * $)", "($ / $)", "($ % $)", "(-$)", "abs($)", "min($, $, $)",
        "max($, $)", "($ & $)", "($ | $)", "($ ^ $)", "($ << 3)", "($ >> 2)", "(i < j ? $ : $)",
        "i32($)", "i8($)", "($ / 4)", "($ % 5)", "($ & 15)", "i32(f32($) * 0.3)"};
    enum { LEAVES = sizeof leaf / sizeof *leaf, INNER = sizeof inner / sizeof *inner };
    const char *text = inner[rng_below(&g->rng, INNER)];
    if (depth == 0 || rng_below(&g->rng, 6) == 0)
        text = leaf[rng_below(&g->rng, LEAVES)];
    for (; *text; text++) {
        if (*text == '$') integer(g, depth - 1);
        else buf_putc(&g->out, *text);
    }
}

/* All elements of the output; an undecided one may be any of several.  */
static void check_integers(Arena *a, const Te *te, Interval r, uint64_t seed) {
    enum { ROWS = 5, COLUMNS = 6 };
    Diag d = diag_new(a);
    TeEval *eval;
    TeValue v[COLUMNS];
    assert_int_equal(te_eval_create(a, &d, te, adverse_inputs(a, te, seed), &eval), ST_OK);
    for (int64_t i = 0; i < ROWS; i++) {
        assert_int_equal(te_eval_row(eval, te->n_in, (const int64_t[]){i, 0}, COLUMNS, v), ST_OK);
        for (int j = 0; j < COLUMNS; j++)
            if (!v[j].undecided && (v[j].i < r.lo || v[j].i > r.hi))
                fail_msg("%lld is not in %lld..%lld\n%s", (long long)v[j].i, (long long)r.lo,
                         (long long)r.hi, te->text);
    }
}

static void integers_stay_in_their_ranges(void **state) {
    int bounded = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= INTEGER_TREES; seed++) {
        Arena *a = arena_create(NULL);
        Gen g = {buf_new(a), {seed}};
        buf_puts(&g.out, "param M = 9; op f(T: i32[5], B: i8[6]) -> Y: i64[5,6] {"
                         " Y[i,j] = (T[i] + B[j] + M) * 0 + i64(");
        integer(&g, DEPTH);
        buf_puts(&g.out, "); }");
        const Te *te = fixture_te(a, buf_str(&g.out));
        Interval r = te_range(te, &te->stmt[0], te->stmt[0].rhs->args[1], NULL);
        check_integers(a, te, r, seed);
        bounded += r.lo > INT32_MIN && r.hi < INT32_MAX;
        arena_destroy(a);
    }
    assert_true(bounded > INTEGER_TREES / 4);             /* it says something */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(trees_stay_in_their_ranges),
                                       cmocka_unit_test(integers_stay_in_their_ranges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
