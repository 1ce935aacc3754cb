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
static void forget_needless(Arena *a, const Te *te, int64_t bytes, int64_t *multiple) {
    ArenaMark mark = arena_mark(a);
    int all = whole_strides(te_given(a, te, multiple), bytes);
    for (int i = 0; i < te->n_size; i++) {
        int64_t q = multiple[i];
        multiple[i] = 1;
        if (q > 1 && whole_strides(te_given(a, te, multiple), bytes) < all) multiple[i] = q;
    }
    arena_reset(a, mark);
}

Te **size_given(Arena *a, const Te *te, const Device *dev, int *n) {
    int64_t *multiple = ARENA_ARRAY(a, int64_t, te->n_size + 1), bytes = widest(dev);
    Te **out = ARENA_ARRAY(a, Te *, te->n_size + 1);
    int some = 0;
    for (int i = 0; i < te->n_size; i++)
        multiple[i] = rplan_varies(te, i) ? multiple_of(te, bytes, i) : 1;
    forget_needless(a, te, bytes, multiple);
    for (int i = 0; i < te->n_size; i++) some += multiple[i] > 1;
    *n = 0;
    if (some > 0) out[(*n)++] = te_given(a, te, multiple);
    for (int i = 0; i < te->n_size && some > 1; i++) {
        int64_t q = multiple[i];
        if (q == 1) continue;
        multiple[i] = 1;
        out[(*n)++] = te_given(a, te, multiple);
        multiple[i] = q;
    }
    return out;
}

bool size_given_helps(const PlanSet *set, const PlanSet *usual, int n) {
    for (int k = 0; k < n; k++)
        if (te_same_decisions(set->normal, usual[k].normal))
            return whole_in_memory(set) > whole_in_memory(&usual[k]);
    return true;
}
