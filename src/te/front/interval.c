/* Integer expressions by interval arithmetic, node by node.  */
#include "te/front/front.h"
#include "te/tree/tree.h"
#include <math.h>

Interval type_range(TeDtype t) {
    switch (t) {
    case TE_I32: return (Interval){INT32_MIN, INT32_MAX};
    case TE_I16: return (Interval){INT16_MIN, INT16_MAX};
    case TE_I8: return (Interval){INT8_MIN, INT8_MAX};
    case TE_U8: return (Interval){0, UINT8_MAX};
    case TE_BOOL: return (Interval){0, 1};
    default: return INTERVAL_ALL;
    }
}

static bool is_int(const TeExpr *e) { return te_dtype_class(e->type) == TE_CLASS_INT; }

/* What may wrap can be anything.  */
static Interval exact(const TeExpr *e, Interval r) {
    bool finite = r.lo != INT64_MIN && r.hi != INT64_MAX;
    return finite && interval_within(r, type_range(e->type)) ? r : type_range(e->type);
}

/* Between 0 and the divisor; by 0 it is 0.  */
static Interval modulo(Interval x, Interval y) {
    if (x.lo >= 0 && x.hi < y.lo) return x;
    if (y.lo == INT64_MIN || y.hi == INT64_MAX) return INTERVAL_ALL;
    return (Interval){y.lo < 0 ? y.lo + 1 : 0, y.hi > 0 ? y.hi - 1 : 0};
}

static Interval extreme(Op *op, const TeExpr *e) {
    Interval r = expr_range(op, e->args[0]);
    for (int i = 1; i < e->n_args; i++) {
        Interval x = expr_range(op, e->args[i]);
        bool min = e->v.fn == TE_FN_MIN;
        if (min ? x.lo < r.lo : x.lo > r.lo) r.lo = x.lo;
        if (min ? x.hi < r.hi : x.hi > r.hi) r.hi = x.hi;
    }
    return r;
}

/* The lowest integer is its own magnitude.  */
static Interval magnitude(const TeExpr *e, Interval r) {
    if (r.lo >= 0) return r;
    if (r.lo <= type_range(e->type).lo) return type_range(e->type);
    Interval n = interval_neg(r);
    return (Interval){r.hi < 0 ? n.lo : 0, r.hi > n.hi ? r.hi : n.hi};
}

static Interval binary(Op *op, const TeExpr *e) {
    Interval x = expr_range(op, e->args[0]), y = expr_range(op, e->args[1]);
    switch (e->kind) {
    case TE_ADD: return interval_add(x, y);
    case TE_SUB: return interval_add(x, interval_neg(y));
    case TE_MUL: return interval_mul(x, y);
    case TE_DIV: return y.lo < 1 ? INTERVAL_ALL : interval_div(x, y);
    default: return modulo(x, y);
    }
}

/* Of shifts: by a literal, within the type's width less the sign.  */
static Interval bitwise(Op *op, const TeExpr *e) {
    Interval x = expr_range(op, e->args[0]), y = expr_range(op, e->args[1]);
    int width = e->type == TE_I32 ? 31 : 63;
    bool known = y.lo == y.hi && y.lo >= 0 && y.lo < width;
    switch (e->kind) {
    case TE_SHL:
        return known ? interval_mul(x, (Interval){INT64_C(1) << y.lo, INT64_C(1) << y.lo})
                     : INTERVAL_ALL;
    case TE_SHR: return known ? interval_shr(x, (int)y.lo) : interval_union(x, (Interval){-1, 0});
    default: return interval_bits(x, y, e->kind == TE_BITAND);
    }
}

static Interval read(Op *op, const TeExpr *e) {
    const TensorInfo *t = &op->tensor[e->v.ref];
    Interval r = t->ranged ? t->range : type_range(op->te->tensor[e->v.ref].dtype);
    return e->other ? interval_union(r, expr_range(op, e->other)) : r;
}

/* Toward zero, what is beyond the type at its ends, NaN as 0.  */
static Interval truncated(TeRealRange x, Interval to) {
    Interval r = to;
    if (x.lo > (double)to.lo) r.lo = (int64_t)fmin(x.lo, 0x1p62);
    if (x.hi < (double)to.hi) r.hi = (int64_t)fmax(x.hi, -0x1p62);
    return x.nan ? interval_union(r, (Interval){0, 0}) : r;
}

static Interval cast(Op *op, const TeExpr *e) {
    Interval to = type_range(e->store), r = INTERVAL_ALL;
    if (is_int(e->args[0])) r = expr_range(op, e->args[0]);
    if (te_dtype_class(e->args[0]->type) == TE_CLASS_REAL && op->cur)
        return truncated(te_real_range(op->te, op->cur, e->args[0]), to);
    return interval_within(r, to) ? r : e->args[0]->type == TE_BOOL ? (Interval){0, 1} : to;
}

/* Positions count from 0; a maximum of some terms is one of them.  */
static Interval reduction(Op *op, const TeExpr *e) {
    int64_t n = 1;
    bool some = true;
    for (int i = 0; i < e->n_index; i++) {
        const TeIndex *x = &op->cur->index[e->index[i]];
        n = end_mul(n, x->hi.value);
        some &= x->hi.min > x->lo.value;
    }
    if (te_positional(e)) return (Interval){0, some ? n - 1 : INT32_MAX};
    bool extreme = e->red == TE_RED_MAX || e->red == TE_RED_MIN;
    return some && extreme ? expr_range(op, e->args[0]) : type_range(e->type);
}

Interval expr_range(Op *op, const TeExpr *e) {
    if (!is_int(e)) return INTERVAL_ALL;
    switch (e->kind) {
    case TE_INT: return (Interval){e->v.i, e->v.i};
    case TE_SIZE:
        return (Interval){op->f->size[e->v.ref].extent.min, op->f->size[e->v.ref].extent.value};
    case TE_INDEX: return op->f->polys.atom[e->v.ref].range;
    case TE_NEG: return exact(e, interval_neg(expr_range(op, e->args[0])));
    case TE_ADD:
    case TE_SUB:
    case TE_MUL:
    case TE_DIV:
    case TE_MOD: return exact(e, binary(op, e));
    case TE_SHL:
    case TE_SHR:
    case TE_BITAND:
    case TE_BITXOR:
    case TE_BITOR: return exact(e, bitwise(op, e));
    case TE_CALL:
        if (e->v.fn == TE_FN_PHILOX) return (Interval){0, TE_PHILOX_MAX};
        return e->v.fn == TE_FN_ABS ? magnitude(e, expr_range(op, e->args[0])) : extreme(op, e);
    case TE_READ: return read(op, e);
    case TE_CAST: return cast(op, e);
    case TE_REDUCE: return exact(e, reduction(op, e));
    case TE_SELECT: return interval_union(expr_range(op, e->args[1]), expr_range(op, e->args[2]));
    default: return type_range(e->type);
    }
}
