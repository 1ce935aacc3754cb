/* Every program for a unit of warpgroups.  */
#include "rprogram/build.h"
#include "rprogram/matrix.h"

/* Is there a block with four times the outputs that still gives every SM one, by slices of K if
 * need be?  Such slices cost a second kernel: blocks that are one wave without them are not too
 * small.  Those that are swapped have all rows at most.  */
static bool too_small(const Builder *b, const RProg *r) {
    enum { LARGER = 4, ROWS = 128, COLUMNS = 256 };   /* the largest block of two warpgroups */
    double area = (double)r->block.extent[AX_M] * r->block.extent[AX_N];
    bool few = r->swapped && b->p->extent[AX_M] < COLUMNS;
    double most = ROWS * (few ? (double)b->p->extent[AX_M] : COLUMNS);
    if (b->thorough || (double)rprog_outer_tiles(b->p, r) <= b->sms) return false;
    return area * LARGER <= most && area * LARGER * b->sms <= b->parallel;
}

/* Do blocks waste little of an axis, beside what its smallest tile does?  Of rows there are few
 * sizes: what a larger one saves of reads is worth a tile more to three.  */
static bool divides(const Builder *b, const RProg *r, int axis, int least) {
    const double third = 1 / 3.0;
    bool rows = axis == own_axis(r->swapped);
    double most = rows && b->epsilon < third ? third : b->epsilon;
    int64_t n = ceil_div(b->p->extent[axis], least) * least;
    return rtile_waste(n, r->block.extent[axis]) <= most;
}

static void with_tile(Builder *b, RProg r, int32_t n, int tiles, const int32_t warps[2]) {
    int rows = own_axis(r.swapped), columns = own_axis(!r.swapped);
    r.thread.extent[columns] = r.warp.extent[columns] = n;
    r.warp.extent[rows] = tiles * r.thread.extent[rows];
    r.block.extent[rows] = warps[0] * r.warp.extent[rows];
    r.block.extent[columns] = warps[1] * n;
    Fragment f = rprog_results(b->dev, &r);
    r.vec_m = (uint8_t)fragment_run(&f, FRAG_ROW);
    r.vec_n = (uint8_t)fragment_run(&f, FRAG_COL);
    r.store_vec = (uint8_t)(r.vec_n < b->p->out_vec ? r.vec_n : b->p->out_vec);
    const ComputeUnit *u = &b->dev->unit[r.unit];
    bool fits = divides(b, &r, rows, u->m.from) && divides(b, &r, columns, u->n.from);
    if (u->blocks > 1) {
        r.cluster = (uint8_t)u->blocks;
        fits &= rprog_cluster_order(b->p, b->dev, &r);
    }
    if (!fits || warpgroup_check(b->p, b->dev, &r)) {
        build_reject(b, REJECT_ALIGNMENT);
        return;
    }
    if (too_small(b, &r)) {
        build_reject(b, REJECT_DOMINATED);
        return;
    }
    build_scale_out(b, &r);
}

int32_t warpgroup_step(const Problem *p, const Device *dev, const RProg *r) {
    int side = r->load[1].region;
    if (r->load[side].region) return rprog_region_step(p, side);
    return BOX_SPAN / te_dtype_bytes(dev->unit[r->unit].a);
}

/* Sizes of the unit along n: every one of few, beyond those every second.  */
static void build_sizes(Builder *b, RProg r) {
    enum { FEW = 64 };        /* columns: beyond, neighbours in size differ by a tenth at most */
    static const int32_t blocks[][2] = {{1, 1}, {2, 1}, {1, 2}};
    const ComputeUnit *u = &b->dev->unit[r.unit];
    r.thread.extent[own_axis(r.swapped)] = u->m.from;
    r.thread.extent[AX_K] = u->k.from;
    int32_t k = warpgroup_step(b->p, b->dev, &r);
    r.block.extent[AX_K] = r.warp.extent[AX_K] = k;
    r.unroll = (int16_t)k;
    for (int32_t n = u->n.to, step; n >= u->n.from && !b->full; n -= step) {
        step = n > FEW ? 2 * u->n.step : u->n.step;
        for (int tiles = r.swapped ? 1 : 2; tiles >= 1; tiles--) {
            for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
                with_tile(b, r, n, tiles, blocks[i]);
        }
    }
}

/* Few rows M fill the unit's n side better than its m side; registers are its first operand.
 * Values of rows go with none of these.  */
void build_warpgroups(Builder *b, const RProg *start) {
    bool second = rprog_by_lanes(&start->load[1]), first = rprog_by_lanes(&start->load[0]);
    int most = !b->p->stats &&
               (second || (!first && build_worth_swapping(b, start->unit)));
    for (int swapped = most; swapped >= (int)second; swapped--) {
        RProg r = *start;
        if (!matrix_takes_as(b->p, &b->dev->unit[r.unit], swapped)) continue;
        r.swapped = swapped;
        build_sizes(b, r);
    }
}
