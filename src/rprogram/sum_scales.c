/* Scales of blocks by which sums of a step are multiplied: which a lane reads.  */
#include "rprogram/matrix.h"

/* Are the same slots of all lanes among the same `n` neighbours?  */
static bool lanes_agree(const Fragment *f, FragDim dim, int n) {
    int first[FRAG_DIMS], at[FRAG_DIMS];
    for (int slot = 0; slot < fragment_slots(f, FRAG_DIMS); slot++) {
        fragment_at(f, 0, slot, first);
        for (int lane = 1; lane < WARP; lane++) {
            fragment_at(f, lane, slot, at);
            if (at[dim] / n != first[dim] / n) return false;
        }
    }
    return true;
}

/* Neighbours in the warp's tile that share a scale, if all lanes need all of them: rows of a team's
 * tile are dealt to its warps.  0: there are none.  */
static int shared_by(const Problem *p, const Device *dev, const RProg *r, int side) {
    const TeStmt *s = &p->te->stmt[p->con.stmt];
    const TeExpr *read = p->con.operand[side].scale;
    int axis = own_axis(side);
    bool dealt = rprog_team(dev, r) > 1 && rprog_unit_side(r, side) == 0;
    Fragment f = rprog_results(dev, r);
    for (int n = r->warp.extent[axis]; n > 1; n /= 2) {
        if (r->warp.extent[axis] % n || (dealt && n % r->thread.extent[axis])) return 0;
        if (!lanes_agree(&f, side ? FRAG_COL : FRAG_ROW, n)) return 0;
        if (rtile_same_along(s, read, &p->con.axis[axis], n)) return n;
    }
    return 0;
}

/* Steps of so many k, a power of two of them, have one scale for each row.  */
static int block_of(const Problem *p, const TeExpr *read, int step) {
    const TeStmt *s = &p->te->stmt[p->con.stmt];
    int block = step;
    while (2 * (int64_t)block <= p->extent[AX_K] &&
           rtile_same_along(s, read, &p->con.axis[AX_K], 2 * block))
        block *= 2;
    return block;
}

/* Those who fill, where all of them have the same step and tile.  */
static bool is_staged(const Device *dev, const RProg *r, const RSumScales *x) {
    bool taken = rprog_team(dev, r) > 1 && (r->load[0].team || r->load[1].team);
    bool regions = r->load[0].region || r->load[1].region;
    bool same = r->block.extent[AX_K] == r->warp.extent[AX_K];
    return !x->share && same && !taken && !regions && te_always_inside(x->read);
}

static void stage(const Problem *p, const Device *dev, const RProg *r, int side, RSumScales *x) {
    enum { MOST = 4 };        /* registers of a lane for a row */
    int step = r->block.extent[AX_K], block = block_of(p, x->read, step);
    x->staged = true;
    x->loaders = dev->unit[r->unit].b_smem ? WARP : r->threads;
    x->each = (int)ceil_div(r->block.extent[own_axis(side)], x->loaders);
    x->width = matrix_scales_width(p, x->read, block, MOST * block);
    x->every = x->width * block;
}

bool rprog_sum_scales(const Problem *p, const Device *dev, const RProg *r, int side,
                      RSumScales *out) {
    const TeExpr *read = p->con.operand[side].scale;
    *out = (RSumScales){0};
    if (!read || !rprog_matrix(dev, r) || !matrix_scales_sums(p, &dev->unit[r->unit])) return false;
    int axis = own_axis(side), extent = r->warp.extent[axis];
    Fragment f = rprog_results(dev, r);
    out->read = read;
    out->share = shared_by(p, dev, r, side);
    out->n = out->share ? extent / out->share
                        : extent / r->thread.extent[axis] *
                              fragment_slots(&f, side ? FRAG_COL : FRAG_ROW);
    if (is_staged(dev, r, out)) stage(p, dev, r, side, out);
    return true;
}

int64_t matrix_sum_scale_bytes(const Problem *p, const Device *dev, const RProg *r, int side) {
    RSumScales x;
    if (!rprog_sum_scales(p, dev, r, side, &x) || !x.staged) return 0;
    return (int64_t)r->block.extent[own_axis(side)] * te_dtype_bytes(TE_F32);
}

int64_t matrix_staging_registers(const Problem *p, const Device *dev, const RProg *r) {
    int64_t n = 0;
    for (int side = 0; side < p->n_operand; side++) {
        RSumScales x;
        if (!rprog_sum_scales(p, dev, r, side, &x) || !x.staged) continue;
        int64_t bytes = (int64_t)x.width * te_dtype_bytes(x.read->store);
        n += x.each * ceil_div(bytes, 4);     /* of a register */
    }
    return n;
}

int64_t matrix_scale_registers(const Problem *p, const Device *dev, const RProg *r) {
    int64_t n = dev->unit[r->unit].b_smem ? 0 : matrix_staging_registers(p, dev, r);
    for (int side = 0; side < p->n_operand; side++) {
        RScales x;
        RSumScales y;
        /* Of the step at hand, and of the next one.  */
        if (rprog_scales(p, dev, r, side, &x)) n += (int64_t)2 * x.groups * x.words;
        if (rprog_sum_scales(p, dev, r, side, &y)) n += y.n;
    }
    return n;
}
