/* Accesses of a map that lie in memory as its domain does: accesses to neighbours may be wide at
 * every multiple of them, and only the end of the domain is no whole one.  */
#include "rtile/facts.h"
#include "te/tree/tree.h"

/* Is the subscript index i itself?  */
static bool is_index(const Affine *f, int i) {
    for (int j = 0; j < TE_MAX_INDICES; j++) {
        if (f->coef[j] != (j == i)) return false;
    }
    return f->c == 0;
}

/* Are the subscripts of a dense tensor the root's indices in order, extents included?  */
static bool by_subscripts(const Te *te, const TeStmt *root, const Access *x) {
    const TeTensor *t = &te->tensor[x->tensor];
    int i = root->n_left - 1;
    if (t->strided) return false;
    for (int d = te_own_rank(t) - 1; d >= 0; d--) {
        if (te_extent_is_one(&t->shape[d])) continue;
        while (i >= 0 && te_extent_is_one(&root->index[i].hi)) i--;
        if (i < 0 || !is_index(&x->sub[d], i) ||
            !te_extent_same(&t->shape[d], &root->index[i].hi))
            return false;
        i--;
    }
    while (i >= 0 && te_extent_is_one(&root->index[i].hi)) i--;
    return i < 0;
}

bool rtile_is_flat(const Te *te, const TeStmt *root, const Access *x) {
    int64_t run = 1;
    bool known = true;                    /* run is the same at all sizes */
    if (!x->affine) return false;
    for (int i = root->n_left; i < TE_MAX_INDICES; i++) {
        if (x->offset.coef[i]) return false;
    }
    for (int i = root->n_left - 1; i >= 0; i--) {
        const TeExtent *n = &root->index[i].hi;
        if (te_extent_is_one(n)) continue;
        if (!known || (x->varies >> i & 1) || x->offset.coef[i] != run)
            return by_subscripts(te, root, x);
        known = !n->expr;
        run *= n->value;
    }
    return true;
}

int flat_vector(const Te *te, const TeStmt *root, const Access *x, int align) {
    int most = rtile_widest(&te->tensor[x->tensor], align), v = 1;
    bool clipped = te->tensor[x->tensor].n_clip > 0;
    if (clipped || access_guarded(te, x) || !rtile_is_flat(te, root, x)) return 1;
    while (2 * v <= most && x->c_divisor % (2 * v) == 0) v *= 2;
    return v;
}
