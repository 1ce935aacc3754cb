/* What a real expression can be, where it is not NaN: signs and bounds that hold by its form.  */
#include "te/tree.h"

#include <math.h>

static const TeRealRange ANY = {-INFINITY, INFINITY};

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

static TeRealRange add(TeRealRange x, TeRealRange y) {
    return (TeRealRange){x.lo + y.lo, x.hi + y.hi};
}

static TeRealRange negated(TeRealRange x) { return (TeRealRange){-x.hi, -x.lo}; }

static TeRealRange join(TeRealRange x, TeRealRange y) {
    return (TeRealRange){fmin(x.lo, y.lo), fmax(x.hi, y.hi)};
}

/* A zero times what has no bound is no more than a zero, or NaN.  */
static double product(double x, double y) { return x == 0 || y == 0 ? 0 : x * y; }

static TeRealRange multiply(TeRealRange x, TeRealRange y) {
    double a = product(x.lo, y.lo), b = product(x.lo, y.hi);
    double c = product(x.hi, y.lo), d = product(x.hi, y.hi);
    return (TeRealRange){fmin(fmin(a, b), fmin(c, d)), fmax(fmax(a, b), fmax(c, d))};
}

/* Signs alone.  */
static TeRealRange divide(TeRealRange x, TeRealRange y) {
    TeRealRange sign = {y.lo < 0 ? -1 : 0, y.hi > 0 ? 1 : 0};
    TeRealRange r = multiply(x, sign);
    return (TeRealRange){r.lo < 0 ? -INFINITY : 0, r.hi > 0 ? INFINITY : 0};
}

static TeRealRange call(const Te *te, const TeStmt *s, const TeExpr *e) {
    TeRealRange x = te_real_range(te, s, e->args[0]);
    enum { SLACK = 2 };       /* above any error of an intrinsic */
    switch (e->v.fn) {
    case TE_FN_EXP: return (TeRealRange){0, x.hi <= 0 ? SLACK : SLACK * exp(x.hi)};
    case TE_FN_EXP2: return (TeRealRange){0, x.hi <= 0 ? SLACK : SLACK * exp2(x.hi)};
    case TE_FN_SQRT: case TE_FN_RSQRT: return (TeRealRange){0, INFINITY};
    case TE_FN_ABS: return (TeRealRange){0, fmax(fabs(x.lo), fabs(x.hi))};
    case TE_FN_TANH: case TE_FN_ERF: case TE_FN_SIN: case TE_FN_COS:
        return (TeRealRange){-SLACK, SLACK};
    case TE_FN_MAX: case TE_FN_MIN:
        for (int i = 1; i < e->n_args; i++) {
            TeRealRange y = te_real_range(te, s, e->args[i]);
            bool max = e->v.fn == TE_FN_MAX;
            x.lo = max ? fmax(x.lo, y.lo) : fmin(x.lo, y.lo);
            x.hi = max ? fmax(x.hi, y.hi) : fmin(x.hi, y.hi);
        }
        return x;
    default: return ANY;
    }
}

TeRealRange te_real_range(const Te *te, const TeStmt *s, const TeExpr *e) {
    TeRealRange x, y;
    if (te_dtype_class(e->type) != TE_CLASS_REAL) return ANY;
    if (e->kind == TE_REAL) return isnan(e->v.r) ? ANY : (TeRealRange){e->v.r, e->v.r};
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
    case TE_MUL:
        if (te_expr_same(e->args[0], e->args[1])) return (TeRealRange){0, INFINITY};
        return multiply(x, y);
    case TE_DIV: return divide(x, y);
    default: break;
    }
    if (is_below_maximum(te, s, e->args[0], e->args[1])) return (TeRealRange){-INFINITY, 0};
    return add(x, negated(y));
}
