/* Rows that begin anywhere in 16 bytes, as rows of an odd length do: vectors that begin at the
 * first aligned column of a row are aligned in all tensors whose rows begin alike.  */
#include "rtile/facts.h"
#include "te/tree/tree.h"

/* Does index i move both by as much at all sizes?  */
static bool moves_alike(const Te *te, const Access *x, const Access *y, int i) {
    const TeTensor *t = &te->tensor[x->tensor], *u = &te->tensor[y->tensor];
    if (t->rank != u->rank) return false;
    for (int d = 0; d < t->rank; d++) {
        int64_t step = x->sub[d].coef[i];
        if (step != y->sub[d].coef[i]) return false;
        if (step && !te_extent_same(&t->stride[d], &u->stride[d])) return false;
    }
    return true;
}

/* Does each row begin at the same element of both, modulo `vec`?  */
static bool begin_alike(const Te *te, const TeStmt *frame, const Access *x, const Access *y,
                        int vec) {
    if (x->c_varies || y->c_varies) {
        if (x->c_divisor % vec || y->c_divisor % vec) return false;
    } else if ((x->offset.c - y->offset.c) % vec) {
        return false;
    }
    for (int i = 0; i < frame->n_left; i++) {
        if (te_index_extent(&frame->index[i]) <= 1) continue;
        if (x->divisor[i] % vec == 0 && y->divisor[i] % vec == 0) continue;
        bool varies = ((x->varies | y->varies) >> i & 1) != 0;
        if (varies ? !moves_alike(te, x, y, i)
                   : (x->offset.coef[i] - y->offset.coef[i]) % vec != 0)
            return false;
    }
    return true;
}

/* In row-major order; 0 also if the columns do not move it.  */
int64_t rtile_row_stride(const Te *te, const TeStmt *frame, const Access *x, int *varies) {
    int64_t step = 1;
    *varies = -1;
    for (int i = frame->n_index - 1, inner = -1; i >= frame->n_left; i--) {
        if (te_index_extent(&frame->index[i]) <= 1) continue;
        if (inner < 0) step = x->offset.coef[i];
        if (inner < 0 && (x->varies >> i & 1)) *varies = i;
        if (!step || (inner >= 0 && !access_as_one(te, frame, x, i, inner))) return 0;
        inner = i;
    }
    return step;
}

int64_t rtile_row_step(const Te *te, const TeStmt *frame, const Access *x) {
    int varies;
    int64_t step = rtile_row_stride(te, frame, x, &varies);
    return varies < 0 ? step : 0;
}

int rtile_peel_vector(const Te *te, const TeStmt *frame, const Access *peel, const Access *x,
                      int align) {
    int most = rtile_widest(&te->tensor[x->tensor], align), vec = 1;
    if (rtile_row_step(te, frame, x) != 1) return 1;
    while (2 * vec <= most && begin_alike(te, frame, peel, x, 2 * vec)) vec *= 2;
    return vec;
}

/* Bytes of a column that need no access of their own where vectors begin as `peel` does.  */
static double spared(const Te *te, const TeStmt *frame, const Access *peel, const Access *const *x,
                     int n, int align) {
    double bytes = 0;
    for (int i = 0; i < n; i++) {
        int vec = rtile_peel_vector(te, frame, peel, x[i], align);
        bytes += te_dtype_bytes(te->tensor[x[i]->tensor].dtype) * (1 - 1.0 / vec);
    }
    return bytes;
}

void rows_peel(const Te *te, RowFacts *f, const Access *const *x, int n, int align) {
    const TeStmt *frame = &te->stmt[f->group->frame];
    double most = 0;
    f->peel_vec = 1;
    for (int i = 0; i < n; i++) {
        double bytes = spared(te, frame, x[i], x, n, align);
        if (bytes > most) f->peel = *x[i];
        if (bytes > most) most = bytes;
    }
    for (int k = 0; k < f->n_source; k++) f->source[k].peel_vec = 1;
    if (most <= 0) return;
    for (int i = 0; i < n; i++) {
        int vec = rtile_peel_vector(te, frame, &f->peel, x[i], align);
        if (vec > f->peel_vec) f->peel_vec = vec;
    }
    for (int k = 0; k < f->n_source; k++)
        f->source[k].peel_vec = rtile_peel_vector(te, frame, &f->peel, &f->source[k].access, align);
}
