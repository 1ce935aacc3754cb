/* Integer expressions as polynomials over the indices and sizes of a statement.  What would not be
 * exact (arithmetic that may wrap, data, division by something that may be 0) is opaque: an unknown
 * of its own, the same for the same expression, with the range of its type.  */
#include "te/front/front.h"
#include "te/tree/tree.h"

Interval expr_range(const Op *op, const TeExpr *e) {
    return te_range(op->te, op->cur, e, op->range);
}

static bool is_int(const TeExpr *e) { return te_dtype_class(e->type) == TE_CLASS_INT; }

static bool never_empty(const Op *op, const TeExpr *reduce) {
    for (int i = 0; i < reduce->n_index; i++) {
        const TeIndex *x = &op->cur->index[reduce->index[i]];
        if (x->hi.min <= x->lo.value) return false;
    }
    return true;
}

/* Positions count from 0; a maximum is one of its terms.  */
static void reduction_bounds(Op *op, const TeExpr *e, const Poly **least, const Poly **most) {
    Polys *ps = &op->f->polys;
    const Poly *one = poly_const(ps, 1), *n = one;
    if (!never_empty(op, e)) return;
    if (e->red == TE_RED_MAX || e->red == TE_RED_MIN) value_bounds(op, e->args[0], least, most);
    if (!te_positional(e)) return;
    for (int i = 0; i < e->n_index; i++)
        n = poly_mul(ps, n, extent_poly(op, &op->cur->index[e->index[i]].hi));
    *least = poly_const(ps, 0);
    *most = poly_add(ps, n, one, -1);
}

void read_bounds(const Op *op, const TeExpr *read, const Poly **least, const Poly **most) {
    const TensorInfo *t = &op->tensor[read->v.ref];
    bool as_made = !read->other && read->inside != TE_INSIDE_TESTED;
    *least = as_made ? t->least : NULL;
    *most = as_made ? t->most : NULL;
}

/* Bounds that are numbers belong to the range; others are no further out than it.  */
static void meet_range(Polys *ps, Atom *a) {
    int64_t n;
    if (poly_is_const(a->a, &n)) {
        a->range.lo = n > a->range.lo ? n : a->range.lo;
        a->a = NULL;
    }
    if (poly_is_const(a->b, &n)) {
        a->range.hi = n < a->range.hi ? n : a->range.hi;
        a->b = NULL;
    }
    if (a->a && a->range.lo > INT64_MIN)
        a->a = poly_greatest(ps, a->a, poly_const(ps, a->range.lo));
    if (a->b && a->range.hi < INT64_MAX)
        a->b = poly_least(ps, a->b, poly_const(ps, a->range.hi));
}

static const Poly *opaque(Op *op, const TeExpr *e) {
    Polys *ps = &op->f->polys;
    Atom a = {.kind = ATOM_OPAQUE, .expr = e, .range = expr_range(op, e), .open = true};
    if (e->kind == TE_READ) read_bounds(op, e, &a.a, &a.b);
    if (e->kind == TE_REDUCE) reduction_bounds(op, e, &a.a, &a.b);
    if (e->kind == TE_CAST && te_dtype_class(e->args[0]->type) == TE_CLASS_REAL)
        truncated_bounds(op, e, &a.a, &a.b);
    meet_range(ps, &a);
    return poly_atom(ps, polys_atom(ps, &a), 1);
}

/* Is there an index in p whose range is not known yet?  */
static bool unlimited(const Op *op, const Poly *p) {
    for (int i = 0; p && i < op->cur->n_index; i++) {
        if (op->f->polys.atom[i].range.hi == INT64_MAX && poly_has(p, i)) return true;
    }
    return false;
}

/* p if e's type holds all its values, so that nothing wraps.  */
static const Poly *exact(Op *op, const TeExpr *e, const Poly *p) {
    Interval r = poly_range(&op->f->polys, p);
    bool finite = p && r.lo != INT64_MIN && r.hi != INT64_MAX;
    if (e->type == TE_I64 && op->cur && unlimited(op, p)) return p;
    if (finite && interval_within(r, te_type_range(e->type))) return p;
    return opaque(op, e);
}

/* By what is negative: floor(x / y) = floor(-x / -y) and x % y = -(-x % -y).  */
static const Poly *quotient(Op *op, const TeExpr *e, const Poly *x, const Poly *y) {
    Polys *ps = &op->f->polys;
    const Poly *zero = poly_const(ps, 0), *one = poly_const(ps, 1);
    int64_t d, sign = 1;
    if (poly_is_const(y, &d) && d == 0) return zero;
    if (poly_le(ps, y, poly_const(ps, -1))) {
        sign = -1;
        x = poly_add(ps, zero, x, -1);
        y = poly_add(ps, zero, y, -1);
    }
    if (!poly_le(ps, one, y)) return opaque(op, e);
    if (e->kind == TE_DIV) return exact(op, e, poly_quotient(ps, x, y));
    return poly_add(ps, zero, poly_modulo(ps, x, y), sign);
}

static const Poly *binary(Op *op, const TeExpr *e) {
    Polys *ps = &op->f->polys;
    const Poly *x = expr_poly(op, e->args[0]), *y = expr_poly(op, e->args[1]);
    switch (e->kind) {
    case TE_ADD: return exact(op, e, poly_add(ps, x, y, 1));
    case TE_SUB: return exact(op, e, poly_add(ps, x, y, -1));
    case TE_MUL: return exact(op, e, poly_mul(ps, x, y));
    default: return quotient(op, e, x, y);
    }
}

/* Bits of literals, as arithmetic (te_bits_arithmetic).  */
static const Poly *bitwise(Op *op, const TeExpr *e) {
    Polys *ps = &op->f->polys;
    int64_t by;
    TeKind kind = te_bits_arithmetic(e, &by);
    const Poly *x = expr_poly(op, e->args[0]), *y = poly_const(ps, by);
    switch (kind) {
    case TE_MUL: return exact(op, e, poly_mul(ps, x, y));
    case TE_DIV: return exact(op, e, poly_quotient(ps, x, y));
    case TE_MOD: return poly_modulo(ps, x, y);
    default: return opaque(op, e);
    }
}

static const Poly *call(Op *op, const TeExpr *e) {
    Polys *ps = &op->f->polys;
    if (e->v.fn == TE_FN_PHILOX || e->v.fn == TE_FN_E2M1_CODE) return opaque(op, e);
    const Poly *p = expr_poly(op, e->args[0]);
    if (e->v.fn == TE_FN_ABS) return poly_range(ps, p).lo >= 0 ? p : opaque(op, e);
    for (int i = 1; i < e->n_args; i++) {
        const Poly *q = expr_poly(op, e->args[i]);
        p = e->v.fn == TE_FN_MIN ? poly_least(ps, p, q) : poly_greatest(ps, p, q);
    }
    return p ? p : opaque(op, e);
}

static const Poly *cast(Op *op, const TeExpr *e) {
    const Poly *p = is_int(e->args[0]) ? expr_poly(op, e->args[0]) : NULL;
    bool fits = p && interval_within(poly_range(&op->f->polys, p), te_type_range(e->store));
    return fits ? p : opaque(op, e);
}

const Poly *expr_poly(Op *op, const TeExpr *e) {
    Polys *ps = &op->f->polys;
    if (!is_int(e)) return NULL;
    switch (e->kind) {
    case TE_INT: return poly_const(ps, e->v.i);
    case TE_SIZE: return op->f->value[e->v.ref];
    case TE_INDEX: return poly_atom(ps, e->v.ref, 1);
    case TE_NEG:
        return exact(op, e, poly_add(ps, poly_const(ps, 0), expr_poly(op, e->args[0]), -1));
    case TE_ADD:
    case TE_SUB:
    case TE_MUL:
    case TE_DIV:
    case TE_MOD: return binary(op, e);
    case TE_SHL:
    case TE_SHR:
    case TE_BITAND: return bitwise(op, e);
    case TE_CALL: return call(op, e);
    case TE_CAST: return cast(op, e);
    default: return opaque(op, e);
    }
}

const Poly *extent_poly(Op *op, const TeExtent *e) {
    return e->expr ? expr_poly(op, e->expr) : poly_const(&op->f->polys, e->value);
}

void value_bounds(Op *op, const TeExpr *e, const Poly **least, const Poly **most) {
    const Poly *p = expr_poly(op, e);
    *least = poly_bound(&op->f->polys, p, false);
    *most = poly_bound(&op->f->polys, p, true);
}

/* An index of unknown range is any number from 0 on.  */
void polys_enter(Op *op, int stmt) {
    Polys *ps = &op->f->polys;
    TeStmt *s = op->cur = &op->te->stmt[stmt];
    op->info = &op->stmt[stmt];
    ps->n_atom = op->n_atom;
    for (int i = 0; i < s->n_index; i++) {
        const TeIndex *x = &s->index[i];
        Atom *a = &ps->atom[i];
        *a = (Atom){.kind = ATOM_INDEX, .ref = i, .open = true, .range = {0, INT64_MAX}};
        if (op->info->by[i] == BY_NOTHING) continue;
        a->a = extent_poly(op, &x->lo);
        a->b = poly_add(ps, extent_poly(op, &x->hi), poly_const(ps, 1), -1);
        a->range = (Interval){x->lo.min, x->hi.value - 1};
        if (a->range.hi < a->range.lo) a->range.hi = a->range.lo;
    }
}
