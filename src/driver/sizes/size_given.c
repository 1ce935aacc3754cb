#include "driver/sizes/size_given.h"
#include "te/tree/arith.h"

/* Is the expression made of the size?  */
static bool has_size(const Te *te, const TeExpr *e, int size) {
    bool has = e->kind == TE_SIZE && e->v.ref == size;
    if (e->kind == TE_SIZE && te->size[e->v.ref].kind == TE_SIZE_LET)
        e = te->size[e->v.ref].extent.expr ? te->size[e->v.ref].extent.expr : e;
    for (int i = 0; i < e->n_args && !has; i++) has = has_size(te, e->args[i], size);
    return has;
}

/* Bytes that the beginnings of rows must be multiples of, for any access there is.  */
static int64_t widest(const Device *dev) {
    int64_t bytes = RTILE_ACCESS;
    for (int i = 0; i < dev->n_mover; i++)
        if (dev->mover[i].stride_multiple > bytes)
            bytes = dev->mover[i].stride_multiple;
    return bytes;
}

/* The multiples of the size that all rows would begin well with; 1: it is in no stride, or has them
 * anyway, or never.  */
static int64_t multiple_of(const Te *te, int64_t bytes, int size) {
    const TeExtent *is = &te->size[size].extent;
    int64_t most = 1;
    for (int t = 0; t < te->n_tensor; t++) {
        const TeTensor *x = &te->tensor[t];
        int64_t elements = bytes / te_dtype_bytes(x->dtype);
        for (int k = 0; k < x->rank; k++) {
            const TeExtent *stride = &x->stride[k];
            int64_t lacks = elements / gcd64(elements, stride->multiple);
            if (stride->expr && lacks > most && has_size(te, stride->expr, size)) most = lacks;
        }
    }
    most *= is->multiple;
    return most == is->multiple || is->value < most ? 1 : most;
}

/* Strides of a tensor that are multiples of what the widest access has.  */
static int whole_strides_of(const TeTensor *x, int64_t bytes) {
    int n = 0;
    for (int k = 0; k < x->rank; k++)
        n += te_extent_divisor(&x->stride[k]) % (bytes / te_dtype_bytes(x->dtype)) == 0;
    return n;
}

static int whole_strides(const Te *te, int64_t bytes) {
    int n = 0;
    for (int t = 0; t < te->n_tensor; t++) n += whole_strides_of(&te->tensor[t], bytes);
    return n;
}

/* Of tensors that are in memory.  */
static int whole_in_memory(const PlanSet *set) {
    const Te *te = set->normal;
    int n = 0;
    for (int t = 0; t < te->n_tensor; t++) {
        if (!te_is_passing(&te->tensor[t]) ||
            access_materialized(te, set->group, set->n_group, t))
            n += whole_strides_of(&te->tensor[t], widest(set->dev));
    }
    return n;
}

/* Forgets the multiples without which as many strides are whole: those of H where H*W and W are
 * strides.  */
static void forget_needless(Arena *a, const Te *te, int64_t bytes, TeGiven *given) {
    ArenaMark mark = arena_mark(a);
    int all = whole_strides(te_given(a, te, given), bytes);
    for (int i = 0; i < te->n_size; i++) {
        int64_t q = given[i].multiple;
        given[i].multiple = 1;
        if (q > 1 && whole_strides(te_given(a, te, given), bytes) < all) given[i].multiple = q;
    }
    arena_reset(a, mark);
}

/* What is to be known of all sizes; returns of how many.  */
static int find_multiples(Arena *a, const Te *te, int64_t bytes, TeGiven *given) {
    int some = 0;
    for (int i = 0; i < te->n_size; i++)
        given[i].multiple = rplan_varies(te, i) ? multiple_of(te, bytes, i) : 1;
    forget_needless(a, te, bytes, given);
    for (int i = 0; i < te->n_size; i++) some += given[i].multiple > 1;
    return some;
}

/* Is the size, which may be 1, all that an axis of some kernel has?  */
static bool may_leave_axis(const Te *te, const RSelector *axes, int size) {
    bool axis = false;
    for (int m = 0; m < axes->n_axis; m++) {
        const TeExpr *e = axes->measure[m].expr;
        axis |= e->kind == TE_SIZE && e->v.ref == size;
    }
    const TeExtent *of = &te->size[size].extent;
    return axis && rplan_varies(te, size) && of->min == 1 && of->multiple == 1;
}

/* The op with something else known of one size.  */
static Te *given_but(Arena *a, const Te *te, TeGiven *given, int size, TeGiven other) {
    TeGiven was = given[size];
    given[size] = other;
    Te *out = te_given(a, te, given);
    given[size] = was;
    return out;
}

Te **size_given(Arena *a, const Te *te, const Device *dev, const RSelector *axes, int *n) {
    TeGiven *given = ARENA_ARRAY(a, TeGiven, te->n_size + 1), one = {.most = 1};
    TeGiven *none = ARENA_ARRAY(a, TeGiven, te->n_size + 1);
    Te **out = ARENA_ARRAY(a, Te *, 3 * te->n_size + 1);
    int some = find_multiples(a, te, widest(dev), given);
    *n = 0;
    if (some > 0) out[(*n)++] = te_given(a, te, given);
    for (int i = 0; i < te->n_size && some > 1; i++)
        if (given[i].multiple > 1) out[(*n)++] = given_but(a, te, given, i, (TeGiven){0});
    for (int i = 0; i < te->n_size; i++) {
        if (!may_leave_axis(te, axes, i)) continue;
        out[(*n)++] = given_but(a, te, none, i, one);
        if (some > (given[i].multiple > 1)) out[(*n)++] = given_but(a, te, given, i, one);
    }
    return out;
}

static bool has_ones(const Te *op, const Te *te) {
    bool has = false;
    for (int i = 0; i < te->n_size; i++) has |= rplan_given(op, te, i).most > 0;
    return has;
}

bool size_given_helps(const PlanSet *set, const PlanSet *usual, int n) {
    if (has_ones(usual->te, set->te)) return true;
    for (int k = 0; k < n; k++)
        if (te_same_decisions(set->normal, usual[k].normal))
            return whole_in_memory(set) > whole_in_memory(&usual[k]);
    return true;
}
