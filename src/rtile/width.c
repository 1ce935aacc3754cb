/* How wide an access may be: what its tensor promises, and whether its address is a multiple.
 *
 * All who choose widths ask here: an access of v elements needs a tensor whose beginning is aligned
 * to it (rtile_widest), an address that is a multiple of v wherever a vector begins
 * (rtile_aligned), and tests that say the same of all its elements (rtile_tested_as_one).  */
#include "rtile/rtile.h"

int rtile_widest(const TeTensor *t, int align) {
    enum { TEMP_ALIGN = 256 };            /* temporaries lie in the workspace at multiples of it */
    int most = t->role == TE_TEMP ? TEMP_ALIGN : align, bytes = te_dtype_bytes(t->dtype), v = 1;
    if (most > RTILE_ACCESS) most = RTILE_ACCESS;
    while (2 * v * bytes <= most) v *= 2;
    return v;
}

bool rtile_aligned(const TeStmt *s, const int64_t *divisor, int64_t c_divisor, uint32_t covered,
                   int64_t v) {
    if (c_divisor % v) return false;
    for (int i = 0; i < s->n_index; i++) {
        bool fixed = te_index_extent(&s->index[i]) <= 1;
        if (!fixed && !(covered >> i & 1) && divisor[i] % v) return false;
    }
    return true;
}

bool rtile_tested_as_one(const TeStmt *s, const Affine *f, int index, int64_t bound, int64_t v) {
    if (f->coef[index] == 0) return true;
    if (f->coef[index] != 1 || bound % v) return false;
    return rtile_aligned(s, f->coef, f->c, 1u << index, v);
}

/* Do the neighbours lie side by side at all sizes?  *covered: the indices along which they do.  */
static bool side_by_side(const Neighbours *n, const Access *x, uint32_t *covered) {
    int64_t run = 1;
    *covered = 0;
    for (int i = 0; i < n->n_order && run % n->count; i++) {
        int index = n->order[i];
        const TeExtent *along = &n->root->index[index].hi;
        if (x->offset.coef[index] != run || (x->varies >> index & 1)) return false;
        run *= te_extent_divisor(along);
        *covered |= 1u << index;
        if (along->expr) break;
    }
    return run % n->count == 0;
}

int rtile_unclipped(const TeTensor *t, int width) {
    bool split = false;
    for (int c = 0; c < t->n_clip; c++) split |= t->clip[c].weight[t->rank - 1] != 0;
    if (split) return 1;
    while (t->n_clip > 0 && te_extent_divisor(&t->shape[t->rank - 1]) % width) width /= 2;
    return width;
}

int rtile_neighbour_width(const Te *te, const Neighbours *n, const Access *x, int align) {
    int width = n->count, most = rtile_widest(&te->tensor[x->tensor], align);
    uint32_t covered = UINT32_MAX;
    if (!x->affine || (!n->flat && !side_by_side(n, x, &covered))) return 1;
    while (width > 1 &&
           (width > most || !rtile_aligned(n->root, x->divisor, x->c_divisor, covered, width)))
        width /= 2;
    return rtile_unclipped(&te->tensor[x->tensor], width);
}
