/* What an integer expression can be: interval arithmetic, node by node.  */
#include "te/tree/tree.h"

typedef struct {
    const Te *te;
    const TeStmt *s;
    const Interval *known;
} Ranges;

static Interval range(const Ranges *x, const TeExpr *e);
static bool is_int(const TeExpr *e) { return te_dtype_class(e->type) == TE_CLASS_INT; }

/* What may wrap can be anything.  */
static Interval exact(const TeExpr *e, Interval r) {
    return interval_within(r, te_type_range(e->type)) ? r : te_type_range(e->type);
}

static Interval operation(const Ranges *x, const TeExpr *e) {
    int i = e->kind == TE_SELECT;
    Interval r = range(x, e->args[i]);
    do {
        Interval y = ++i < e->n_args ? range(x, e->args[i]) : r;
        if (!te_operator_range(e, r, y, &r)) return te_type_range(e->type);
    } while (i + 1 < e->n_args);
    return exact(e, r);
}

static Interval read(const Ranges *x, const TeExpr *e) {
    Interval r = te_type_range(x->te->tensor[e->v.ref].dtype);
    if (x->known && interval_within(x->known[e->v.ref], r)) r = x->known[e->v.ref];
    if (e->inside == TE_INSIDE_TESTED) r = interval_union(r, (Interval){0, 0});
    return e->other ? interval_union(r, range(x, e->other)) : r;
}

static int64_t saturated(double x, Interval to) {
    if (x <= (double)to.lo) return to.lo;
    return x < (double)to.hi ? (int64_t)x : to.hi;
}

/* Toward zero, what is beyond the type at its ends, NaN as 0.  */
static Interval truncated(TeRealRange x, Interval to) {
    Interval r = {saturated(x.lo, to), saturated(x.hi, to)};
    return x.nan ? interval_union(r, (Interval){0, 0}) : r;
}

static Interval cast(const Ranges *x, const TeExpr *e) {
    Interval to = te_type_range(e->store), r;
    if (e->args[0]->type == TE_BOOL) return (Interval){0, 1};
    if (!is_int(e->args[0])) return truncated(te_real_range(x->te, x->s, e->args[0]), to);
    r = range(x, e->args[0]);
    return interval_within(r, to) ? r : to;
}

/* Positions count from 0; a maximum of some terms is one of them.  */
static Interval reduction(const Ranges *x, const TeExpr *e) {
    int64_t n = 1;
    bool some = true;
    for (int i = 0; i < e->n_index; i++) {
        const TeIndex *over = &x->s->index[e->index[i]];
        n = end_mul(n, over->hi.value);
        some &= over->hi.min > over->lo.value;
    }
    if (te_positional(e)) return (Interval){0, some ? n - 1 : INT32_MAX};
    bool extreme = e->red == TE_RED_MAX || e->red == TE_RED_MIN;
    return some && extreme ? range(x, e->args[0]) : te_type_range(e->type);
}

/* One that has no values has any.  */
static Interval index_range(const TeIndex *x) {
    return x->hi.value > x->lo.min ? (Interval){x->lo.min, x->hi.value - 1}
                                   : (Interval){0, INT64_MAX};
}

static Interval range(const Ranges *x, const TeExpr *e) {
    const TeExtent *size;
    if (!is_int(e)) return INTERVAL_ALL;
    switch (e->kind) {
    case TE_INT: return (Interval){e->v.i, e->v.i};
    case TE_SIZE:
        size = &x->te->size[e->v.ref].extent;
        return (Interval){size->min, size->value};
    case TE_INDEX: return index_range(&x->s->index[e->v.ref]);
    case TE_NEG:
    case TE_SELECT:
    case TE_CALL: return operation(x, e);
    case TE_READ: return read(x, e);
    case TE_CAST: return cast(x, e);
    case TE_REDUCE: return exact(e, reduction(x, e));
    default: return te_is_arithmetic(e->kind) ? operation(x, e) : te_type_range(e->type);
    }
}

Interval te_range(const Te *te, const TeStmt *s, const TeExpr *e, const Interval *known) {
    return range(&(Ranges){te, s, known}, e);
}
