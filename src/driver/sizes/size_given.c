#include "driver/sizes/size_given.h"
#include "te/normal/normalize.h"
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

/* A sum over this size alone, which may be short?  */
static bool is_sum_over(const TeStmt *s, int size) {
    const TeExpr *e = s->rhs;
    if (e->kind != TE_REDUCE || e->red != TE_RED_SUM || e->n_index != 1) return false;
    const TeExtent *hi = &s->index[e->index[0]].hi;
    return hi->expr && hi->expr->kind == TE_SIZE && hi->expr->v.ref == size &&
           hi->min <= TE_MOST_TERMS && hi->value > TE_MOST_TERMS;
}

/* Is what the statement adds made by another one?  */
static bool adds_made(const Te *te, const TeStmt *s) {
    const TeExpr *term = s->rhs->args[0];
    return term->kind == TE_READ && te_is_passing(&te->tensor[term->v.ref]);
}

/* Is a sum of partial ones over this size?  */
static bool may_be_few(const PlanSet *usual, int n, int size) {
    bool few = false;
    for (int k = 0; k < n; k++) {
        const Te *te = usual[k].normal;
        for (int i = 0; i < te->n_stmt; i++)
            few |= is_sum_over(&te->stmt[i], size) && adds_made(te, &te->stmt[i]);
    }
    return few;
}

/* The op with something else known of one size.  */
static Te *given_but(Arena *a, const Te *te, TeGiven *given, int size, TeGiven other) {
    TeGiven was = given[size];
    given[size] = other;
    Te *out = te_given(a, te, given);
    given[size] = was;
    return out;
}

Te **size_given(Arena *a, const PlanSet *usual, int n_usual, const RSelector *axes, int *n) {
    const Te *te = usual->te;
    TeGiven *given = ARENA_ARRAY(a, TeGiven, te->n_size + 1);
    TeGiven *none = ARENA_ARRAY(a, TeGiven, te->n_size + 1);
    Te **out = ARENA_ARRAY(a, Te *, 5 * te->n_size + 1);
    int some = find_multiples(a, te, widest(usual->dev), given);
    *n = 0;
    if (some > 0) out[(*n)++] = te_given(a, te, given);
    for (int i = 0; i < te->n_size && some > 1; i++)
        if (given[i].multiple > 1) out[(*n)++] = given_but(a, te, given, i, (TeGiven){0});
    for (int i = 0; i < te->n_size; i++) {
        const TeGiven most[] = {{.most = 1}, {.most = TE_MOST_TERMS}};
        const bool may[] = {may_leave_axis(te, axes, i), may_be_few(usual, n_usual, i)};
        for (int k = 0; k < 2; k++) {
            if (!may[k]) continue;
            out[(*n)++] = given_but(a, te, none, i, most[k]);
            if (some > (given[i].multiple > 1)) out[(*n)++] = given_but(a, te, given, i, most[k]);
        }
    }
    return out;
}

/* The most of a size that is known to be few; 0: of none.  */
static int64_t few_of(const Te *op, const Te *te) {
    int64_t most = 0;
    for (int i = 0; i < te->n_size; i++)
        if (rplan_given(op, te, i).most > most) most = rplan_given(op, te, i).most;
    return most;
}

static bool writes_sums(const Te *te) {
    bool any = false;
    for (int i = 0; i < te->decisions->n; i++)
        any |= te_taken(te->decisions, i) >> TE_UNROLLED & 1;
    return any;
}

bool size_given_helps(const PlanSet *set, const PlanSet *usual, int n) {
    int64_t few = few_of(usual->te, set->te);
    if (few > 0) return few == 1 || writes_sums(set->normal);
    for (int k = 0; k < n; k++)
        if (te_same_decisions(set->normal, usual[k].normal))
            return whole_in_memory(set) > whole_in_memory(&usual[k]);
    return true;
}
