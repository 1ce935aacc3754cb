/* Scales of blocks that a matrix unit takes from registers, or from Tensor Memory: which a warp
 * holds of a step.  Which units take them, or have their sums multiplied by them.  */
#include "rprogram/matrix.h"

int matrix_scales_width(const Problem *p, const TeExpr *read, int block, int k) {
    const TeStmt *s = &p->te->stmt[p->con.stmt];
    for (int n = RTILE_ACCESS; n > 1; n /= 2) {
        if (k % (n * block)) continue;
        ChunkReads x = rtile_chunk_reads(p->te, s, read, &p->con.axis[AX_K], n * block, p->align);
        if (x.n == 1 && x.width[0] == n) return n;
    }
    return 1;
}

/* Groups of rows whose registers one access has: the rows of a lane lie a group apart.  */
static int rows_of(const Problem *p, const TeExpr *read, int side, int own) {
    const TeStmt *s = &p->te->stmt[p->con.stmt];
    int most = rtile_widest(&p->te->tensor[read->v.ref], p->align) / FRAG_SCALES;
    for (int n = most < FRAG_SCALES ? most : FRAG_SCALES; n > 1; n /= 2) {
        Spread at = {n, FRAG_SCALE_ROWS};
        if (own % (n * FRAG_SCALE_ROWS)) continue;
        if (rtile_beside(p->te, s, read, &p->con.axis[own_axis(side)], at, FRAG_SCALES)) return n;
    }
    return 1;
}

static int words_of(const ComputeUnit *u, int k) {
    return (int)ceil_div(k, FRAG_SCALES * u->scale_k);
}

bool rprog_scales(const Problem *p, const Device *dev, const RProg *r, int side, RScales *out) {
    const ComputeUnit *u = &dev->unit[r->unit];
    const TeExpr *read = p->con.operand[side].scale;
    *out = (RScales){.block = u->scale_k};
    if (!rprog_matrix(dev, r) || u->scale_k == 0 || !read) return false;
    int own = (u->tmem ? &r->block : &r->warp)->extent[own_axis(side)], k = r->warp.extent[AX_K];
    out->read = read;
    out->groups = (int)ceil_div(own, FRAG_SCALE_ROWS);
    out->words = words_of(u, k);
    out->width = matrix_scales_width(p, read, u->scale_k, k);
    out->rows = out->width == FRAG_SCALES ? rows_of(p, read, side, own) : 1;
    return true;
}

int rprog_scale_words(const Device *dev, const RProg *r) {
    const ComputeUnit *u = &dev->unit[r->unit];
    return u->scale_k > 0 ? words_of(u, r->block.extent[AX_K]) : 1;
}

int rprog_tensor_scales(const Device *dev, const RProg *r, int side) {
    const ComputeUnit *u = &dev->unit[r->unit];
    if (!rprog_tensor(dev, r) || u->scale_k == 0) return 0;
    int64_t lanes = ceil_div(r->block.extent[own_axis(side)], TENSOR_LANES);
    return (int)lanes * TENSOR_SCALE_COLUMNS * rprog_scale_words(dev, r);
}

/* Has each row one scale for any `k` of the sum, from multiples of that on?  */
static bool same_for(const Problem *p, int k) {
    const TeStmt *s = p->te ? &p->te->stmt[p->con.stmt] : NULL;
    for (int side = 0; side < p->n_operand; side++) {
        const TeExpr *read = p->con.operand[side].scale;
        if (read && !rtile_same_along(s, read, &p->con.axis[AX_K], k)) return false;
    }
    return true;
}

bool matrix_scales_sums(const Problem *p, const ComputeUnit *u) {
    return rtile_scaled(p) && u->scale_k == 0;
}

bool matrix_scales(const Problem *p, const ComputeUnit *u) {
    if (!rtile_scaled(p)) return true;
    if (matrix_scales_sums(p, u)) return !u->tmem && same_for(p, u->k.from);
    for (int side = 0; side < p->n_operand; side++) {
        const TeExpr *read = p->con.operand[side].scale;
        if (read && read->store != u->scale) return false;
    }
    return same_for(p, u->scale_k);
}

const char *matrix_check_scales(const Problem *p, const Device *dev, const RProg *r) {
    bool sums = matrix_scales_sums(p, &dev->unit[r->unit]);
    return sums && !same_for(p, r->warp.extent[AX_K]) ? "a step of a row has several scales" : NULL;
}
