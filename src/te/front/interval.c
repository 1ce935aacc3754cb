/* Integer expressions by interval arithmetic, node by node.  */
#include "te/front/front.h"
#include "te/tree/tree.h"
#include <math.h>

Interval type_range(TeDtype t) {
    switch (t) {
    case TE_I32: return (Interval){INT32_MIN, INT32_MAX};
    case TE_I16: return (Interval){INT16_MIN, INT16_MAX};
    case TE_I8: return (Interval){INT8_MIN, INT8_MAX};
    case TE_F4E2M1X2:
    case TE_U8: return (Interval){0, UINT8_MAX};
    case TE_BOOL: return (Interval){0, 1};
    default: return INTERVAL_ALL;
    }
}

static bool is_int(const TeExpr *e) { return te_dtype_class(e->type) == TE_CLASS_INT; }

/* What may wrap can be anything.  */
static Interval exact(const TeExpr *e, Interval r) {
    return interval_within(r, type_range(e->type)) ? r : type_range(e->type);
}

/* Of an operator.  */
static Interval operation(Op *op, const TeExpr *e) {
    int i = e->kind == TE_SELECT;
    Interval x = expr_range(op, e->args[i]);
    do {
        Interval y = ++i < e->n_args ? expr_range(op, e->args[i]) : x;
        if (!te_operator_range(e, x, y, &x)) return type_range(e->type);
    } while (i + 1 < e->n_args);
    return exact(e, x);
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
    case TE_NEG:
    case TE_SELECT:
    case TE_CALL: return operation(op, e);
    case TE_READ: return read(op, e);
    case TE_CAST: return cast(op, e);
    case TE_REDUCE: return exact(e, reduction(op, e));
    default: return te_is_arithmetic(e->kind) ? operation(op, e) : type_range(e->type);
    }
}
