/* Bounds of real expressions, in sizes: x >= least and x <= most wherever x is no NaN.
 *
 * The bounds are integers.  Rounding keeps order, so a bound that a type holds (te_last_whole)
 * is one of the rounded value, too, however precisely the value is computed: hence what is rounded
 * keeps no bound that may be larger than that.  */
#include "te/front/front.h"
#include "te/tree/tree.h"

#include <math.h>

typedef struct {
    const Poly *least, *most; /* NULL: none is known */
} Ends;

static bool is_int(const TeExpr *e) { return te_dtype_class(e->type) == TE_CLASS_INT; }

static const Poly *held(const Polys *ps, const Poly *p, TeDtype t) {
    int64_t n = te_last_whole(t);
    return p && n && interval_within(poly_range(ps, p), (Interval){-n, n}) ? p : NULL;
}

static Ends rounded(const Polys *ps, Ends x, TeDtype t) {
    return (Ends){held(ps, x.least, t), held(ps, x.most, t)};
}

static const Poly *whole(Polys *ps, double v) {
    return fabs(v) < 0x1p53 ? poly_const(ps, (int64_t)v) : NULL;
}

/* What its form tells (te_real_range).  */
static Ends by_form(Op *op, const TeExpr *e) {
    TeRealRange x = te_real_range(op->te, op->cur, e);
    return (Ends){whole(&op->f->polys, floor(x.lo)), whole(&op->f->polys, ceil(x.hi))};
}

/* An integer that becomes a real of type `as`.  */
static Ends integer(Op *op, const TeExpr *e, TeDtype as) {
    Ends form = by_form(op, e), x;
    value_bounds(op, e, &x.least, &x.most);
    x = rounded(&op->f->polys, x, as);
    return (Ends){x.least ? x.least : form.least, x.most ? x.most : form.most};
}

/* Of two bounds the lower or the higher one; `both`: only if there are two.  */
static const Poly *pick(Polys *ps, bool low, bool both, const Poly *x, const Poly *y) {
    if (!x || !y) return both ? NULL : x ? x : y;
    return low ? poly_least(ps, x, y) : poly_greatest(ps, x, y);
}

static Ends ends(Op *op, const TeExpr *e, TeDtype as);

/* Of min, max and the sides of a choice: no bound is further out than both, and one may do.  */
static Ends one_of(Op *op, const TeExpr *e) {
    Polys *ps = &op->f->polys;
    bool max = e->kind == TE_CALL && e->v.fn == TE_FN_MAX;
    bool min = e->kind == TE_CALL && !max;
    int i = e->kind == TE_SELECT;
    Ends x = ends(op, e->args[i], e->type);
    while (++i < e->n_args) {
        Ends y = ends(op, e->args[i], e->type);
        x.least = pick(ps, !max, !max, x.least, y.least);
        x.most = pick(ps, min, !min, x.most, y.most);
    }
    return x;
}

static Ends negated(Polys *ps, Ends x) {
    const Poly *zero = poly_const(ps, 0);
    return (Ends){poly_add(ps, zero, x.most, -1), poly_add(ps, zero, x.least, -1)};
}

static Ends sum(Op *op, const TeExpr *e) {
    Polys *ps = &op->f->polys;
    Ends x = ends(op, e->args[0], e->type), y = ends(op, e->args[1], e->type);
    if (e->kind == TE_SUB) y = negated(ps, y);
    x = (Ends){poly_add(ps, x.least, y.least, 1), poly_add(ps, x.most, y.most, 1)};
    return rounded(ps, x, e->type);
}

/* Of what is not negative.  */
static Ends product(Op *op, const TeExpr *e) {
    Polys *ps = &op->f->polys;
    Ends x = ends(op, e->args[0], e->type), y = ends(op, e->args[1], e->type);
    if (!poly_ge0(ps, x.least) || !poly_ge0(ps, y.least)) return (Ends){NULL, NULL};
    Ends r = {poly_mul(ps, x.least, y.least), poly_mul(ps, x.most, y.most)};
    return rounded(ps, r, e->type);
}

static Ends call(Op *op, const TeExpr *e) {
    switch (e->v.fn) {
    case TE_FN_FLOOR:
    case TE_FN_CEIL:
    case TE_FN_ROUND: return ends(op, e->args[0], e->type);
    case TE_FN_MAX:
    case TE_FN_MIN: return one_of(op, e);
    default: return by_form(op, e);
    }
}

/* `as`: the type that an integer becomes.  */
static Ends ends(Op *op, const TeExpr *e, TeDtype as) {
    Polys *ps = &op->f->polys;
    Ends x;
    if (is_int(e)) return integer(op, e, as);
    switch (e->kind) {
    case TE_CAST: return rounded(ps, ends(op, e->args[0], e->store), e->store);
    case TE_NEG: return negated(ps, ends(op, e->args[0], e->type));
    case TE_ADD:
    case TE_SUB: return sum(op, e);
    case TE_MUL: return product(op, e);
    case TE_SELECT: return one_of(op, e);
    case TE_CALL: return call(op, e);
    case TE_READ:
        read_bounds(op, e, &x.least, &x.most);
        return x;
    default: return by_form(op, e);
    }
}

void real_bounds(Op *op, const TeExpr *e, TeDtype to, const Poly **least, const Poly **most) {
    Ends x = rounded(&op->f->polys, ends(op, e, to), to);
    *least = x.least;
    *most = x.most;
}

/* The integer may be below or above the type: then its end is of no use.  NaN becomes 0.  */
void truncated_bounds(Op *op, const TeExpr *e, const Poly **least, const Poly **most) {
    Polys *ps = &op->f->polys;
    const Poly *zero = poly_const(ps, 0);
    Interval to = te_type_range(e->store);
    Ends x = ends(op, e->args[0], e->store);
    if (x.least && poly_range(ps, x.least).hi > to.hi) x.least = NULL;
    if (x.most && poly_range(ps, x.most).lo < to.lo) x.most = NULL;
    bool nan = te_real_range(op->te, op->cur, e->args[0]).nan;
    *least = x.least && nan ? poly_least(ps, x.least, zero) : x.least;
    *most = x.most && nan ? poly_greatest(ps, x.most, zero) : x.most;
}

/* Is the integer x, of which something is known, an operand of e that rounding may move?  */
static bool inexact(const Op *op, const TeExpr *e, const TeExpr *x, TeDtype as) {
    int64_t n = te_last_whole(as);
    bool real = te_dtype_class(e->type) == TE_CLASS_REAL && e->kind != TE_READ;
    if (!real || !is_int(x) || te_dtype_class(as) != TE_CLASS_REAL) return false;
    Interval r = expr_range(op, x);
    return !interval_within(r, (Interval){-n, n}) && !interval_within(te_type_range(x->type), r);
}

const TeExpr *real_inexact(const Op *op, const TeExpr *e, TeDtype *as) {
    for (int i = 0; i < e->n_args; i++) {
        const TeExpr *x = e->args[i];
        *as = e->kind == TE_CAST ? e->store : e->kind == TE_CALL ? te_operand_type(e, i) : e->type;
        if (!inexact(op, e, x, *as)) x = real_inexact(op, x, as);
        if (x) return x;
    }
    return NULL;
}
