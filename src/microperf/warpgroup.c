/* Units of warpgroups: a k-step of a ring of stages, and such plans in words.  docs/model.md.  */
#include "microperf/matrix.h"
#include "microperf/sectors.h"
#include "microperf/step.h"

enum { LINE = 128 };          /* bytes of a wavefront */

/* Wavefronts by which the unit reads an operand in a k-step of one warpgroup: each instruction
 * reads both whole.  */
static double operand_reads(const Model *m, const RProg *r, int side) {
    double tiles = (double)r->warp.extent[AX_M] / r->thread.extent[AX_M];
    double bytes = (double)r->warp.extent[AX_K] * rprog_elem(m->p, m->dev, r, side);
    return tiles * r->thread.extent[mp_own_axis(side)] * bytes / LINE;
}

/* Those that compute a step together.  */
static double warpgroups(const Model *m, const RProg *r) {
    return rprog_computing(m->dev, r) / WARP / rprog_team(m->dev, r) / rprog_in_turn(r);
}

void mp_ring_counts(const Model *m, const RProg *r, int side, StepCounts *out) {
    int64_t bytes = rprog_tile_bytes(m->p, m->dev, r, side);
    int inner = r->block.extent[r->load[side].along], elem = rprog_elem(m->p, m->dev, r, side);
    int sharing = side == rprog_cluster_side(r) ? rprog_cluster(r) : 1;
    out->sectors[side] = (double)bytes / SECTOR / sharing;
    out->store_wavefronts[side] = bytes / LINE;
    out->requests[side] = inner * elem / LINE;
}

Step mp_ring_step(const Model *m, const RProg *r, const StepCounts *c) {
    /* Instructions of a warp, counted in compiled kernels: to wait for a stage, free one and move
     * on; of a product; of the warp that copies.  */
    enum { STEP_ISSUE = 24, PRODUCT_ISSUE = 4, COPY_ISSUE = 24 };
    Step s = {.counts = c, .warps = warpgroups(m, r) * rprog_team(m->dev, r)};
    double tiles = (double)r->warp.extent[AX_M] / r->thread.extent[AX_M];
    s.groups = (double)r->warp.extent[AX_K] / r->thread.extent[AX_K];
    s.group_fma = tiles;
    s.fma = s.warps * s.groups * tiles;
    s.group_issue = tiles * PRODUCT_ISSUE;
    s.issue = s.warps * (STEP_ISSUE + s.groups * s.group_issue) + COPY_ISSUE;
    for (int side = 0; side < 2; side++) {
        s.stored += (double)c->store_wavefronts[side];
        s.wavefronts += warpgroups(m, r) * operand_reads(m, r, side);
        s.sectors += c->sectors[side];
        s.issue += (double)c->requests[side];
    }
    s.wavefronts += s.stored;
    s.bytes = s.sectors * SECTOR;
    return s;
}

double mp_ring_clocks(const Model *m, const RProg *r, double rate) {
    double flops = 2.0 * r->block.extent[AX_M] * r->block.extent[AX_N] * r->block.extent[AX_K];
    (void)m;
    return flops / rate;
}

void mp_ring_explain(const Model *m, const RProg *r, Buf *out) {
    const ComputeUnit *u = &m->dev->unit[r->unit];
    StepCounts c;
    mp_step_counts(m, r, NULL, &c);
    Step s = mp_ring_step(m, r, &c);
    double rate = (hal_has(&u->sustained) ? u->sustained : u->rate).value;
    int teams = (int)warpgroups(m, r);
    buf_printf(out, "  %d warpgroup%s of %dx%d: %d accumulators per lane, about %d registers; a "
               "k-step is %d %s of n %d each\n", teams, teams > 1 ? "s" : "",
               (int)r->warp.extent[AX_M], (int)r->warp.extent[AX_N], (int)mp_lane_sums(m, r),
               r->registers, (int)(s.group_fma * s.groups), u->name,
               (int)r->thread.extent[r->swapped ? AX_M : AX_N]);
    buf_printf(out, "  one warp more copies boxes by tensor maps, %d to a k-step, into a ring of "
               "%d stage%s\n", (int)(c.requests[0] + c.requests[1]), r->stages,
               r->stages > 1 ? "s" : "");
    if (rprog_persistent(r))
        buf_printf(out, "  %lld blocks stay for all tiles; stages of the next tile fill while "
                   "outputs of this one are stored%s\n", (long long)rprog_launched(m->p, m->dev, r),
                   r->grid == GRID_PINGPONG ? ", and the other warpgroup computes it" : "");
    if (r->cluster > 1)
        buf_printf(out, "  clusters of %d blocks: each copies its part of %c to all of them\n",
                   r->cluster, "ab"[rprog_cluster_side(r)]);
    buf_puts(out, "  a block's step keeps the unit busy for ");
    mp_fixed(out, mp_ring_clocks(m, r, rate), 0);
    buf_puts(out, " clk, shared memory for ");
    mp_fixed(out, (s.wavefronts - s.stored) / m->smem_rate, 0);
    buf_puts(out, " with operands and ");
    mp_fixed(out, s.stored / m->smem_rate, 0);
    buf_puts(out, " with copies\n");
}
