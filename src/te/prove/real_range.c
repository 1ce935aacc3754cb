/* What a real expression can be: signs, bounds, infinities, zeros of either sign, NaN.  */
#include "te/tree/tree.h"

#include <math.h>

/* ---- what a reduction reduces ---- */

typedef struct {
    const Te *te;
    const TeStmt *made, *at;  /* the statement of the reduction, and the one that reads it */
    const TeExpr *read;
    const TeExpr *bound[TE_MAX_INDICES];  /* what stands for an index that is reduced */
} Match;

/* An index of the reduction's statement: a subscript of the read, or one that runs where it
 * does.  */
static bool match_index(Match *m, int index, const TeExpr *e) {
    if (index < m->made->n_left) return te_expr_same(m->read->args[index], e);
    if (m->bound[index]) return te_expr_same(m->bound[index], e);
    m->bound[index] = e;
    return e->kind == TE_INDEX &&
           te_extent_same(&m->made->index[index].hi, &m->at->index[e->v.ref].hi);
}

/* Is e a term of the reduction at the point where it is read?  */
static bool match(Match *m, const TeExpr *term, const TeExpr *e) {
    if (term->kind == TE_INDEX) return match_index(m, term->v.ref, e);
    if (term->n_args == 0) return te_expr_same(term, e);
    if (term->kind != e->kind || term->type != e->type || term->store != e->store ||
        term->n_args != e->n_args || term->other || e->other || term->kind == TE_REDUCE)
        return false;
    if (term->kind == TE_READ && (term->v.ref != e->v.ref || term->inside != e->inside))
        return false;
    if (term->kind == TE_CALL && term->v.fn != e->v.fn) return false;
    for (int i = 0; i < e->n_args; i++) {
        if (!match(m, term->args[i], e->args[i])) return false;
    }
    return true;
}

static bool is_below_maximum(const Te *te, const TeStmt *s, const TeExpr *x, const TeExpr *read) {
    if (read->kind != TE_READ || te->tensor[read->v.ref].dtype != x->type) return false;
    for (int i = 0; i < te->n_stmt; i++) {
        const TeStmt *max = &te->stmt[i];
        const TeExpr *rhs = max->rhs;
        if (max->tensor != read->v.ref) continue;
        Match m = {.te = te, .made = max, .at = s, .read = read};
        return rhs->kind == TE_REDUCE && rhs->red == TE_RED_MAX && rhs->type == x->type &&
               max->fast == s->fast && match(&m, rhs->args[0], x);
    }
    return false;
}

/* ---- terms of sums ---- */

/* A sum of so many terms may be off by more than twice what e^x is by rounding its x.  */
enum { MANY_TERMS = 1024 };

/* The statement's whole is a sum of many terms in f32; the term, or NULL.  */
static const TeExpr *term_of_sum(const TeStmt *s) {
    const TeExpr *e = s->rhs;
    if (e->kind != TE_REDUCE || e->red != TE_RED_SUM || e->type != TE_F32 || s->fast) return NULL;
    if (s->accum != TE_DTYPE_COUNT && s->accum != TE_F32) return NULL;
    int64_t n = 1;
    for (int i = 0; i < e->n_index && n < MANY_TERMS; i++) {
        const TeIndex *x = &s->index[e->index[i]];
        if (x->hi.min <= x->lo.value) return NULL;
        n *= x->hi.min - x->lo.value;
    }
    return n >= MANY_TERMS ? e->args[0] : NULL;
}

/* Is x, at s, a term of the sum that is read?  */
static bool is_term(const Te *te, const TeStmt *s, const TeExpr *x, const TeExpr *read) {
    if (read->kind != TE_READ || te->tensor[read->v.ref].dtype != TE_F32) return false;
    for (int i = 0; i < te->n_stmt; i++) {
        const TeStmt *sum = &te->stmt[i];
        const TeExpr *term = sum->tensor == read->v.ref ? term_of_sum(sum) : NULL;
        Match m = {.te = te, .made = sum, .at = s, .read = read};
        if (sum->tensor == read->v.ref) return term && match(&m, term, x);
    }
    return false;
}

static bool has_exp(const TeExpr *e) {
    if (e->kind == TE_CALL && e->v.fn == TE_FN_EXP) return true;
    for (int i = 0; i < e->n_args; i++)
        if (has_exp(e->args[i])) return true;
    return false;
}

/* The e^x that is the term of a sum, or a term divided by its sum.  */
static const TeExpr *summed_exp(const Te *te, const TeStmt *s) {
    const TeExpr *e = term_of_sum(s);
    if (!e && s->rhs->kind == TE_DIV && s->rhs->type == TE_F32 && !s->fast) {
        e = s->rhs->args[0];
        if (!is_term(te, s, e, s->rhs->args[1])) return NULL;
    }
    bool is_exp = e && e->kind == TE_CALL && e->v.fn == TE_FN_EXP && e->type == TE_F32;
    return is_exp && !has_exp(e->args[0]) ? e : NULL;
}

bool te_exps_are_summed(const Te *te) {
    for (int i = 0; i < te->n_stmt; i++)
        if (has_exp(te->stmt[i].rhs) && !summed_exp(te, &te->stmt[i])) return false;
    return true;
}

/* ---- arithmetic ---- */

static const TeRealRange ANY = {-INFINITY, INFINITY, true, true, true};

static bool has_zero(TeRealRange x) { return x.minus_zero || x.plus_zero; }
static bool has_infinity(TeRealRange x) { return isinf(x.lo) || isinf(x.hi); }

/* Can its sign be set, or not?  */
static bool has_minus(TeRealRange x) { return x.lo < 0 || x.minus_zero; }
static bool has_plus(TeRealRange x) { return x.hi > 0 || x.plus_zero; }

/* Values between these bounds as roundings leave them: no more than the largest f32, and some of
 * the least; `minus`, `plus`: those of either sign may have become 0.  */
static TeRealRange rounded(double lo, double hi, bool minus, bool plus) {
    static const double share = 0x1p-20, most = 0x1p120, least = 0x1p-100;
    TeRealRange r = {lo - share * fabs(lo), hi + share * fabs(hi), false, false, false};
    if (r.lo < -most || isnan(r.lo)) r.lo = -INFINITY;
    if (r.hi > most || isnan(r.hi)) r.hi = INFINITY;
    if (r.lo > 0 && r.lo < least) r.lo = 0;
    if (r.hi < 0 && r.hi > -least) r.hi = 0;
    r.minus_zero = minus && r.lo <= 0 && r.hi >= 0;
    r.plus_zero = plus && r.lo <= 0 && r.hi >= 0;
    return r;
}

/* Only -0 and -0 make -0, but for a product below all numbers that a sum takes in.  */
static TeRealRange add(TeRealRange x, TeRealRange y) {
    bool both = x.minus_zero && y.minus_zero, fused = x.lo < 0 || y.lo < 0;
    TeRealRange r = rounded(x.lo + y.lo, x.hi + y.hi, both || fused, true);
    r.nan = x.nan || y.nan || (isinf(x.lo) && isinf(y.hi)) || (isinf(x.hi) && isinf(y.lo));
    return r;
}

static TeRealRange negated(TeRealRange x) {
    return (TeRealRange){-x.hi, -x.lo, x.plus_zero, x.minus_zero, x.nan};
}

static TeRealRange join(TeRealRange x, TeRealRange y) {
    return (TeRealRange){fmin(x.lo, y.lo), fmax(x.hi, y.hi), x.minus_zero || y.minus_zero,
                         x.plus_zero || y.plus_zero, x.nan || y.nan};
}

/* A zero times what has no bound is no more than a zero, or NaN.  */
static double product(double x, double y) { return x == 0 || y == 0 ? 0 : x * y; }

static bool signs_differ(TeRealRange x, TeRealRange y) {
    return (has_minus(x) && has_plus(y)) || (has_plus(x) && has_minus(y));
}

static bool signs_agree(TeRealRange x, TeRealRange y) {
    return (has_minus(x) && has_minus(y)) || (has_plus(x) && has_plus(y));
}

static TeRealRange multiply(TeRealRange x, TeRealRange y) {
    double a = product(x.lo, y.lo), b = product(x.lo, y.hi);
    double c = product(x.hi, y.lo), d = product(x.hi, y.hi);
    TeRealRange r = rounded(fmin(fmin(a, b), fmin(c, d)), fmax(fmax(a, b), fmax(c, d)),
                            signs_differ(x, y), signs_agree(x, y));
    r.nan = x.nan || y.nan || (has_zero(x) && has_infinity(y)) || (has_infinity(x) && has_zero(y));
    return r;
}

static TeRealRange square(TeRealRange x) { return (TeRealRange){0, INFINITY, false, true, x.nan}; }

/* Signs alone.  */
static TeRealRange divide(TeRealRange x, TeRealRange y) {
    bool minus = signs_differ(x, y), plus = signs_agree(x, y);
    return (TeRealRange){minus ? -INFINITY : 0, plus ? INFINITY : 0, minus, plus,
                         x.nan || y.nan || (has_zero(x) && has_zero(y)) ||
                             (has_infinity(x) && has_infinity(y))};
}

enum { SLACK = 2 };           /* above any error of an intrinsic */

static TeRealRange power(TeRealRange x, double most) {
    TeRealRange r = rounded(0, x.hi <= 0 ? SLACK : SLACK * most, false, true);
    r.nan = x.nan;
    return r;
}

/* Of -0 roots are -0, and one over them -inf.  */
static TeRealRange root(TeRealRange x) {
    return (TeRealRange){0, INFINITY, x.minus_zero, true, x.nan || x.lo < 0};
}

static TeRealRange inverse_root(TeRealRange x) {
    return (TeRealRange){x.minus_zero ? -INFINITY : 0, INFINITY, false, true, x.nan || x.lo < 0};
}

static TeRealRange magnitude(TeRealRange x) {
    bool both = x.lo <= 0 && x.hi >= 0;
    return (TeRealRange){both ? 0 : fmin(fabs(x.lo), fabs(x.hi)), fmax(fabs(x.lo), fabs(x.hi)),
                         false, has_zero(x), x.nan};
}

static TeRealRange whole(TeRealRange x, double lo, double hi) {
    bool zero = lo <= 0 && hi >= 0;
    return (TeRealRange){lo, hi, zero, zero, x.nan};
}

/* Integers as reals.  Up to 2^24 an f32 has all of them.  */
static TeRealRange whole_number(const Te *te, const TeStmt *s, const TeExpr *e) {
    int64_t exact = te_last_whole(TE_F32);
    Interval x = te_range(te, s, e, NULL);
    bool zero = x.lo <= 0 && x.hi >= 0;
    if (x.lo < -exact || x.hi > exact) return rounded((double)x.lo, (double)x.hi, false, zero);
    return (TeRealRange){(double)x.lo, (double)x.hi, false, zero, false};
}

/* Of two: a zero within the bounds is that of either.  */
static TeRealRange extreme(bool max, TeRealRange x, TeRealRange y) {
    TeRealRange r = join(x, y);
    r.lo = max ? fmax(x.lo, y.lo) : fmin(x.lo, y.lo);
    r.hi = max ? fmax(x.hi, y.hi) : fmin(x.hi, y.hi);
    r.minus_zero &= r.lo <= 0 && r.hi >= 0;
    r.plus_zero &= r.lo <= 0 && r.hi >= 0;
    return r;
}

static TeRealRange call(const Te *te, const TeStmt *s, const TeExpr *e) {
    TeRealRange x = te_real_range(te, s, e->args[0]);
    switch (e->v.fn) {
    case TE_FN_EXP: return power(x, exp(x.hi));
    case TE_FN_EXP2: return power(x, exp2(x.hi));
    case TE_FN_SQRT: return root(x);
    case TE_FN_RSQRT: return inverse_root(x);
    case TE_FN_ABS: return magnitude(x);
    case TE_FN_FLOOR: return whole(x, floor(x.lo), floor(x.hi));
    case TE_FN_CEIL: return whole(x, ceil(x.lo), ceil(x.hi));
    case TE_FN_ROUND: return whole(x, floor(x.lo), ceil(x.hi));
    case TE_FN_E2M1: return (TeRealRange){-6, 6, true, true, false};
    case TE_FN_TANH: case TE_FN_ERF: case TE_FN_SIN: case TE_FN_COS:
        return (TeRealRange){-SLACK, SLACK, true, true, true};
    case TE_FN_MAX: case TE_FN_MIN:
        for (int i = 1; i < e->n_args; i++)
            x = extreme(e->v.fn == TE_FN_MAX, x, te_real_range(te, s, e->args[i]));
        return x;
    default: return ANY;
    }
}

static TeRealRange literal(double v) {
    if (isnan(v)) return ANY;
    bool exact = (double)(float)v == v;
    TeRealRange r = rounded(v, v, signbit(v), !signbit(v));
    if (exact) r = (TeRealRange){v, v, v == 0 && signbit(v), v == 0 && !signbit(v), false};
    return r;
}

TeRealRange te_real_range(const Te *te, const TeStmt *s, const TeExpr *e) {
    TeRealRange x, y;
    if (te_dtype_class(e->type) == TE_CLASS_INT) return whole_number(te, s, e);
    if (te_dtype_class(e->type) != TE_CLASS_REAL) return ANY;
    if (e->kind == TE_CAST && e->store == e->type) return te_real_range(te, s, e->args[0]);
    if (e->kind == TE_REAL) return literal(e->v.r);
    if (e->kind == TE_CALL) return call(te, s, e);
    if (e->kind == TE_SELECT)
        return join(te_real_range(te, s, e->args[1]), te_real_range(te, s, e->args[2]));
    if (e->kind == TE_NEG) return negated(te_real_range(te, s, e->args[0]));
    if (e->kind != TE_ADD && e->kind != TE_SUB && e->kind != TE_MUL && e->kind != TE_DIV)
        return ANY;
    x = te_real_range(te, s, e->args[0]);
    y = te_real_range(te, s, e->args[1]);
    switch (e->kind) {
    case TE_ADD: return add(x, y);
    case TE_MUL: return te_expr_same(e->args[0], e->args[1]) ? square(x) : multiply(x, y);
    case TE_DIV: return divide(x, y);
    default: break;
    }
    TeRealRange r = add(x, negated(y));
    if (!is_below_maximum(te, s, e->args[0], e->args[1])) return r;
    return (TeRealRange){-INFINITY, 0, true, true, true};
}
