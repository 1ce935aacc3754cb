/* Reads that are not affine but run along memory with one index: rows that data choose, pages,
 * rolled rows.  Their other subscripts do not depend on that index.  */
#include "hal/device.h"
#include "rtile/facts.h"
#include "te/tree/arith.h"

/* The one subscript that moves with the index, in a dimension whose elements are neighbours; -1:
 * there is none.  */
static int running(const Te *te, const TeExpr *read, int index) {
    const TeTensor *t = &te->tensor[read->v.ref];
    int run = -1;
    for (int d = 0; d < read->n_args; d++) {
        if (!(access_uses(read->args[d]) >> index & 1)) continue;
        if (run >= 0 || t->stride[d].expr || t->stride[d].value != 1) return -1;
        run = d;
    }
    return run;
}

/* In how many pieces e runs along with the index, one by one; 0: it does not.  */
static int pieces(const TeExpr *e, int index) {
    bool first = e->n_args > 0 && (access_uses(e->args[0]) >> index & 1);
    bool second = e->n_args > 1 && (access_uses(e->args[1]) >> index & 1);
    switch (e->kind) {
    case TE_INDEX: return e->v.ref == index;
    case TE_CAST: return te_dtype_class(e->args[0]->type) == TE_CLASS_INT
                             ? pieces(e->args[0], index) : 0;
    case TE_ADD: return first == second ? 0 : pieces(e->args[second], index);
    case TE_SUB: return first && !second ? pieces(e->args[0], index) : 0;
    case TE_MOD: return first && !second ? 2 * pieces(e->args[0], index) : 0;
    default: return 0;
    }
}

int64_t rtile_gathered_run(const Te *te, const TeStmt *s, const TeExpr *read, int index) {
    int run = running(te, read, index), n = run < 0 ? 0 : pieces(read->args[run], index);
    int64_t extent = te_index_extent(&s->index[index]);
    return n > 0 && extent > n ? extent / n : 1;
}

/* Is the distance of rows a multiple of the width?  */
static bool rows_are_aligned(const TeTensor *t, int run, int width) {
    for (int d = 0; d < t->rank; d++) {
        if (d != run && !te_extent_is_one(&t->shape[d]) &&
            te_extent_divisor(&t->stride[d]) % width)
            return false;
    }
    return true;
}

int rtile_gathered_width(const Te *te, const TeStmt *s, const Access *x, int index, int vec,
                         int align) {
    const TeTensor *t = &te->tensor[x->tensor];
    int run = running(te, x->read, index), width = rtile_widest(t, align);
    if (run < 0 || x->guard[run] || t->n_clip > 0) return 1;
    if (te_extent_divisor(&s->index[index].hi) % vec) return 1;
    for (width = width < vec ? width : vec; width > 1; width /= 2) {
        if (rtile_subscript_width(x->read->args[run], index, width) == width &&
            rows_are_aligned(t, run, width))
            return width;
    }
    return 1;
}

/* Whole sectors of the longest runs that its points are made of.  */
int64_t gathered_unique(const Te *te, const TeStmt *s, const Access *a, int64_t all) {
    const TeTensor *t = &te->tensor[a->tensor];
    int64_t points = 1, longest = 1, sector = SECTOR / te_dtype_bytes(t->dtype);
    for (int i = 0; i < s->n_index; i++) {
        if (!(a->uses >> i & 1)) continue;
        int64_t run = rtile_gathered_run(te, s, a->read, i);
        points = end_mul(points, te_index_extent(&s->index[i]));
        if (run > longest) longest = run;
    }
    int64_t touched = end_mul(points / longest, ceil_div(longest, sector) * sector);
    return touched < all ? touched : all;
}
