/* Rows of a convolution by blocks of pixels, where it is decided so: places p and q of an image
 * become those of a block and places in it, so that rows of a product that follow each other are a
 * block's.  What their windows share is more than that of as many pixels of a line: 10 x 10 pixels
 * are all that a window of 3 x 3 reads for a block of 8 x 8.
 *
 * The result is cut in place, and so is all that is made of it point by point; it lies in memory as
 * before.  Holds for all data: no term changes, nor their order.  */
#include "te/tree/arith.h"
#include "te/edit/cut.h"
#include "te/normal/normalize.h"
#include <string.h>

enum { NARROWEST = 8, WIDEST = 16 };      /* pixels: a block of 8 x 8 is a warpgroup's 64 rows */

typedef struct {
    int index[2];             /* of the statement: rows of pixels, pixels of a row */
    int64_t side[2];          /* of a block */
} Image;

/* The largest block that divides the extent; 0: none, or it is all there is.  */
static int64_t side_of(const TeIndex *x) {
    int64_t side = WIDEST, n = x->hi.value;
    while (side >= NARROWEST && (n % side || n == side)) side /= 2;
    return x->hi.expr || side < NARROWEST ? 0 : side;
}

/* The only index from `first` to `end` - 1 that moves the subscript, and forward; -1: none, -2:
 * there are several.  */
static int moved_by(const Affine *f, int first, int end) {
    int found = -1;
    for (int i = first; i < end; i++) {
        if (f->coef[i] == 0) continue;
        if (found >= 0 || f->coef[i] < 0) return -2;
        found = i;
    }
    return found;
}

/* Adds the place that slides along a subscript, if one does: neighbours read some elements both.
 * False: what moves it is neither such a place nor a single index.  */
static bool add_place(const TeStmt *s, const Affine *f, int *n, Image *x) {
    int own = moved_by(f, 0, s->n_left), k = moved_by(f, s->n_left, s->n_index);
    if (own == -2 || k == -2) return false;
    if (own < 0 || k < 0) return true;
    int64_t reach = f->coef[k] * (te_index_extent(&s->index[k]) - 1);
    int64_t side = side_of(&s->index[own]);
    if (reach < f->coef[own] || side == 0 || *n == 2) return false;
    x->index[*n] = own;
    x->side[(*n)++] = side;
    return true;
}

/* An image whose channels are last: lines of other images are what lies side by side.  */
static bool is_image(const Te *te, const TeStmt *s, const TeExpr *read, Image *x) {
    const TeTensor *t = &te->tensor[read->v.ref];
    int n = 0;
    bool fits = true;
    for (int d = 0; d < t->rank && fits; d++) {
        Affine f;
        fits = access_affine(te, s, read->args[d], &f) && add_place(s, &f, &n, x);
        if (d == t->rank - 1) fits &= moved_by(&f, 0, s->n_left) == -1 && !t->stride[d].expr;
    }
    return fits && n == 2 && x->index[0] < x->index[1] && t->stride[t->rank - 1].value == 1;
}

/* A sum of products whose results are an image each: of more than a block in a line.  */
static bool find_image(const Te *te, const TeStmt *s, Image *x) {
    uint32_t left = (1u << s->n_left) - 1;
    if (s->rhs->kind != TE_REDUCE || s->rhs->red != TE_RED_SUM ||
        !access_is_product(s->rhs->args[0], left))
        return false;
    ReadList reads = access_reads(s->rhs);
    for (int i = 0; i < reads.n; i++)
        if (is_image(te, s, reads.at[i], x)) return true;
    return false;
}

static bool may_cut(const Te *te, int k, const Image *x) {
    Cut c;
    bool fits = true;
    for (int i = 0; i < 2 && fits; i++) {
        c = (Cut){.n_digit = 1, .radix = {x->side[i]}, .by = x->side[i]};
        fits = cut_spread(te, k, x->index[i], &c);
        for (int t = 0; t < te->n_tensor && fits; t++)
            fits = !c.dims[t] || te->tensor[t].rank + 2 <= TE_MAX_RANK;
    }
    return fits;
}

static void cut_image(Norm *n, int k, const Image *x) {
    Cut *c = ARENA_NEW(n->a, Cut);
    for (int i = 1; i >= 0; i--) {        /* the later index first: the other keeps its number */
        *c = (Cut){.n_digit = 1, .radix = {x->side[i]}, .by = x->side[i], .places = true};
        if (cut_spread(n->te, k, x->index[i], c)) cut_apply(n, c);
    }
}

void normalize_block(Norm *n) {
    Te *te = n->te;
    for (int k = 0; k < te->n_stmt; k++) {
        Image x;
        const TeStmt *s = &te->stmt[k];
        if (!find_image(te, s, &x) || !may_cut(te, k, &x) || !te_takes(te, s, TE_BLOCKED)) continue;
        cut_image(n, k, &x);
        normalize_note(n, TE_MADE_BLOCKS, true);
    }
}
