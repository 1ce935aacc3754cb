/* links: te */
/* What is said of expressions by their form, against what they are.  Of reals what IEEE 754 makes
 * of them: random trees over zeros of both signs, infinities, NaN, subnormals and the largest
 * numbers, products fused with sums or not.  Of integers all values of their indices, and data up
 * to the ends of its type.  */
#include "base/hash.h"
#include "base/numeric.h"
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

/* What trees are made of; a $ is a tree.  */
typedef struct {
    const char *leaf[16], *inner[32];
} Forms;

static const Forms reals = {
    {"X[i]", "Z[i]", "X[i]", "0.0", "(-0.0)", "1.0", "2.5", "(-3.0)", "inf", "1e-30", "1e30",
     "(-1e-30)", "0.5"},
    {"($ + $)", "($ - $)", "($ * $)", "($ / $)", "(-$)", "exp($)", "exp2($)", "sqrt($)",
     "rsqrt($)", "abs($)", "max($, $)", "min($, $)", "tanh($)", "(X[i] > 0 ? $ : $)", "abs($)",
     "($ * $ + $)", "exp(-abs($))", "(X[i] * X[i])", "(Z[i] * Z[i] + $)", "sin($)", "cos($)",
     "erf($)", "log($)", "floor($)"}};
static const Forms integers = {
    {"i", "j", "i", "j", "0", "1", "3", "7", "(-2)", "100", "T[i]", "B[j]", "M"},
    {"($ + $)", "($ - $)", "($ * $)", "($ / $)", "($ % $)", "(-$)", "abs($)", "min($, $, $)",
     "max($, $)", "($ & $)", "($ | $)", "($ ^ $)", "($ << 3)", "($ >> 2)", "(i < j ? $ : $)",
     "i32($)", "i8($)", "($ / 4)", "($ % 5)", "($ & 15)", "i32(f32($) * 0.3)",
     "i8(f32($))"}};
static const Forms limited = {
    {"X[i]", "Z[i]", "X[i]", "f32(M - 1)", "(M - 1)", "M", "(M / 2)", "f16(min(M - 1, 300))",
     "f16(min(M - 1, 3000))", "0.0", "1.0", "0.5", "3.0"},
    {"min(max($, 0), M - 1)", "min(max($, 0), $)", "min(max($, 0), f32(M) - 1)", "floor($)",
     "min($, $)", "max($, $)", "ceil($)", "round($)", "($ + $)", "($ - $)", "($ * $)",
     "($ * $ + $)", "(-$)", "(X[i] > 0 ? $ : $)", "f16($)", "bf16($)", "f32($)", "abs($)",
     "min(max($, 0), 1) * f32(M - 1)"}};

typedef struct {
    Buf out;
    Rng rng;
} Gen;

static int count(const char *const *form, int most) {
    int n = 0;
    while (n < most && form[n]) n++;
    return n;
}

static void tree(Gen *g, const Forms *f, int depth) {
    bool end = depth == 0 || rng_below(&g->rng, 5) == 0;
    const char *const *form = end ? f->leaf : f->inner;
    const char *text = form[rng_below(&g->rng, (uint32_t)count(form, end ? 16 : 32))];
    for (; *text; text++) {
        if (*text == '$') tree(g, f, depth - 1);
        else buf_putc(&g->out, *text);
    }
}

/* ---- as a machine computes them ---- */

typedef struct {
    float x, z;
    bool fused;
    int64_t m;                /* of the size M */
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
    case TE_FN_CEIL: return ceilf(x);
    case TE_FN_ROUND: return rintf(x);
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

static int64_t wrapped(TeDtype t, int64_t x) {
    return t == TE_I32 ? (int64_t)(int32_t)(uint32_t)x : x;
}

/* Of quotients those of sizes alone.  */
static int64_t whole(const TeExpr *e, const Point *p) {
    if (e->kind == TE_SELECT) return whole(e->args[p->x > 0 ? 1 : 2], p);
    int64_t x = e->n_args > 0 ? whole(e->args[0], p) : 0;
    int64_t y = e->n_args > 1 ? whole(e->args[1], p) : 0;
    switch (e->kind) {
    case TE_INT: return e->v.i;
    case TE_SIZE: return p->m;
    case TE_NEG: return wrapped(e->type, -x);
    case TE_ADD: return wrapped(e->type, x + y);
    case TE_SUB: return wrapped(e->type, x - y);
    case TE_MUL: return wrapped(e->type, x * y);
    case TE_DIV: return x / y;
    case TE_CALL:
        if (e->v.fn == TE_FN_ABS) return wrapped(e->type, x < 0 ? -x : x);
        return (x < y) == (e->v.fn == TE_FN_MIN) ? x : y;
    default: fail_msg("a node of kind %d", (int)e->kind); return 0;
    }
}

static float cast(const TeExpr *e, const Point *p) {
    double x = (double)value(e->args[0], p);
    if (e->store == TE_F16)
        return (float)num_f16_decode(num_f16_encode(x, ROUND_NEAREST_EVEN, false));
    if (e->store == TE_BF16)
        return (float)num_bf16_decode(num_bf16_encode(x, ROUND_NEAREST_EVEN, false));
    return (float)x;
}

static float value(const TeExpr *e, const Point *p) {
    if (te_dtype_class(e->type) == TE_CLASS_INT) return (float)whole(e, p);
    switch (e->kind) {
    case TE_CAST: return cast(e, p);
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
        Point p = {odd[i / 2 % ODD], odd[i / 2 / ODD], i % 2, 0};
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
        tree(&g, &reals, DEPTH);
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
        tree(&g, &integers, DEPTH);
        buf_puts(&g.out, "); }");
        const Te *te = fixture_te(a, buf_str(&g.out));
        Interval r = te_range(te, &te->stmt[0], te->stmt[0].rhs->args[1], NULL);
        check_integers(a, te, r, seed);
        bounded += r.lo > INT32_MIN && r.hi < INT32_MAX;
        arena_destroy(a);
    }
    assert_true(bounded > INTEGER_TREES / 4);             /* it says something */
}

/* ---- subscripts with run-time sizes ---- */

enum { SUBSCRIPTS = 3000 };

/* Of x < 2^31, NaN as 0.  */
static int64_t truncated(float x) {
    if (isnan(x)) return 0;
    return x >= 0x1p31f ? INT32_MAX : x < -0x1p31f ? INT32_MIN : (int64_t)x;
}

static void check_subscript(const TeExpr *e, bool mirrored, int64_t m, const char *text) {
    for (int i = 0; i < 2 * ODD * ODD; i++) {
        Point p = {odd[i / 2 % ODD], odd[i / 2 / ODD], i % 2, m};
        bool real = te_dtype_class(e->type) == TE_CLASS_REAL;
        int64_t at = real ? truncated(value(e, &p)) : wrapped(TE_I32, whole(e, &p));
        if (mirrored) at = m - 1 - at;
        if (at < 0 || at >= m)
            fail_msg("A is read at %lld for M = %lld, X = %a, Z = %a%s\n%s", (long long)at,
                     (long long)m, (double)p.x, (double)p.z, p.fused ? ", fused" : "", text);
    }
}

/* A real by which an axis of run-time size is read, perhaps by the name of a temporary: what is
 * accepted stays inside it for all data.  */
static void subscripts_stay_inside(void **state) {
    static const char *const form[] = {"Y[i] = A[i32(", "Y[i] = A[M - 1 - i32(", "t[i] = "};
    static const char *const end[] = {")];", ")];", "; Y[i] = A[i32(t[i])];"};
    int accepted = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SUBSCRIPTS; seed++) {
        Arena *a = arena_create(NULL);
        Gen g = {buf_new(a), {seed}};
        Diag d = diag_new(a);
        Te *te;
        int which = (int)(seed % 3);
        bool large = seed / 3 % 2;
        buf_printf(&g.out, "param M = 1..%d; op f(X: f32[9], Z: f32[9], A: f32[M]) -> (Y: f32[9], "
                   "W: f32[9]) { W[i] = X[i] * Z[i]; %s",
                   large ? 1 << 25 : 5000, form[which]);
        tree(&g, &limited, 3);
        buf_printf(&g.out, "%s }", end[which]);
        if (te_parse(a, &d, diag_text("x.te", buf_str(&g.out)), NULL, NULL, &te) == ST_OK) {
            static const int64_t size[] = {1, 2, 9, 258, 2050, 4998, 5000, (1 << 24) + 2, 1 << 25};
            const TeExpr *e = te->stmt[1].rhs;
            if (which < 2) e = e->args[0];
            if (which == 1) e = e->args[1];
            if (which < 2) e = e->args[0];
            for (int i = 0; i < (large ? 9 : 7); i++)
                check_subscript(e, which == 1, size[i], buf_str(&g.out));
            accepted++;
        }
        arena_destroy(a);
    }
    assert_true(accepted > SUBSCRIPTS / 10);              /* it says something */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(trees_stay_in_their_ranges),
                                       cmocka_unit_test(integers_stay_in_their_ranges),
                                       cmocka_unit_test(subscripts_stay_inside)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
