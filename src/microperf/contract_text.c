/* Programs of products in the words of a kernel engineer; their row.  */
#include "microperf/ending.h"
#include "microperf/matrix.h"
#include "microperf/story.h"

/* ---- one line ---- */

/* What the copies are made with: the mover of each operand that is there, once if they agree.  */
static void print_movers(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    const RLoad *l = r->load;
    int n = 0;
    bool same = p->n_operand > 1 && l[0].mover == l[1].mover && l[0].region == l[1].region;
    for (int side = 0; side < (same ? 1 : p->n_operand); side++) {
        buf_printf(out, "%s%s%s", n++ ? " + " : " ", dev->mover[l[side].mover].name,
                   l[side].region ? " of the region" : "");
    }
}

static void summary(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    bool matrix = rprog_matrix(dev, r);
    const char *by = hal_scope_names[dev->unit[r->unit].scope];
    const RTile *own = matrix ? &r->warp : &r->thread;
    buf_printf(out, "%dx%dx%d, %dx%d per %s, %d threads, %d stage%s", (int)r->block.extent[AX_M],
               (int)r->block.extent[AX_N], (int)r->block.extent[AX_K], (int)own->extent[AX_M],
               (int)own->extent[AX_N], by, r->threads, r->stages,
               r->stages == 1 ? "" : "s");
    print_movers(p, dev, r, out);
    buf_printf(out, ", %s%s", dev->unit[r->unit].name, r->swapped ? " swapped" : "");
    int slices = r->block.extent[AX_K] / r->warp.extent[AX_K];
    if (slices > 1) buf_printf(out, ", %d warps along k", slices);
    if (r->split > 1) buf_printf(out, ", k split by %d", (int)r->split);
    if (r->tail > 0)
        buf_printf(out, ", last %d tiles by %d blocks", (int)r->tail, (int)r->tail_blocks);
    if (r->grid != GRID_TILES)
        buf_printf(out, ", %s", rprog_grid_name[r->grid]);
    if (r->cluster > 1) buf_printf(out, ", clusters of %d", r->cluster);
    if (r->group > 0) buf_printf(out, ", groups of %d tile rows", r->group);
}

/* ---- why this shape ---- */

static const char *const axis_name[AX_CLASSES] = {"B", "M", "N", "K"};

static int count_along(const RTile *outer, const RTile *inner, int axis) {
    return outer->extent[axis] / inner->extent[axis];
}

static void tell_registers(const Story *s) {
    const RProg *r = &s->best->prog;
    const char *refusal = rprog_refusal(s->out->arena, s->p, s->dev);
    if (refusal) buf_printf(s->out, "  no matrix unit: %s\n", refusal);
    StepCounts c;
    mp_step_counts(&s->m, r, NULL, &c);
    int tm = r->thread.extent[AX_M], tn = r->thread.extent[AX_N], tk = r->thread.extent[AX_K];
    int packed = rprog_packed(s->dev, r) ? RPROG_PACKED : 1;
    double groups = (double)r->warp.extent[AX_K] / tk;
    double fma = (double)tm * tn * tk / packed;
    double reads = (double)(c.of[0].reads + c.of[1].reads) / groups;
    buf_printf(s->out, "  thread tile %dx%d: %d accumulators; ", tm, tn, tm * tn);
    mp_fixed(s->out, reads, 0);
    buf_puts(s->out, " shared loads feed ");
    mp_fixed(s->out, fma, 0);
    buf_printf(s->out, " %s, so ", s->dev->unit[r->unit].name);
    mp_percent(s->out, fma / (fma + reads));
    buf_printf(s->out, " of the inner loop's issue slots compute; about %d of %d registers\n",
               r->registers, (int)s->dev->limits.registers_per_thread.value);
    buf_printf(s->out, "  warp tile %dx%d: %dx%d lanes, dealt so that neighbours broadcast\n",
               (int)r->warp.extent[AX_M], (int)r->warp.extent[AX_N],
               count_along(&r->warp, &r->thread, AX_M), count_along(&r->warp, &r->thread, AX_N));
}

static void tell_stores(const Story *s) {
    const Problem *p = s->p;
    const RProg *r = &s->best->prog;
    Buf *out = s->out;
    if (r->swapped) {
        buf_printf(out, "  %s: the unit's %d rows take N, its %d columns M\n",
                   r->load[1].raw ? "registers are the unit's first operand" : "M is small",
                   (int)r->thread.extent[AX_N], (int)r->thread.extent[AX_M]);
    }
    double share = r->split > 1 ? 0 : 1 - r->tail / (double)rprog_blocks(p, r);
    double sums = r->tail > 0 ? (double)(rprog_tail_partials(p, r) * rprog_tail_slot(p, r))
                              : (double)rprog_workspace(p, r);
    double least = (sums + (double)p->out_bytes * share) / SECTOR;
    buf_printf(out, "  stores: %d element%s at once, ", r->store_vec, r->store_vec > 1 ? "s" : "");
    buf_puts(out, r->via == VIA_SHARED  ? "rows collected in shared memory"
                  : r->via == VIA_BOXES ? "collected in boxes that TMA stores"
                                        : "as the lanes hold them");
    if (least > 0) {
        buf_puts(out, ", ");
        mp_fixed(out, mp_store_sectors(&s->m, r, NULL) / least, 2);
        buf_puts(out, " times the sectors they fill");
    }
    buf_putc(out, '\n');
}

static void tell_matrix(const Story *s) {
    const RProg *r = &s->best->prog;
    StepCounts c;
    mp_step_counts(&s->m, r, NULL, &c);
    if (s->dev->unit[r->unit].b_smem) {
        mp_ring_explain(&s->m, r, &c, s->out);
    } else {
        const char *refusal = rprog_ring_refusal(s->out->arena, s->p, s->dev);
        if (refusal) buf_printf(s->out, "  no unit of warpgroups: %s\n", refusal);
        mp_fragments_explain(&s->m, r, &c, s->out);
    }
    tell_stores(s);
}

/* What a block tile of half the size along N (or M) would cost: the reuse that this one buys.  */
static void tell_smaller(const Story *s) {
    RTile half = s->best->prog.block;
    int axis = half.extent[AX_N] >= half.extent[AX_M] ? AX_N : AX_M;
    if (half.extent[axis] < 2) return;
    double now = rtile_traffic(s->p, &half);
    half.extent[axis] /= 2;
    buf_printf(s->out, "; half of it along %s would move ", axis_name[axis]);
    mp_fixed(s->out, rtile_traffic(s->p, &half) / now, 2);
    buf_puts(s->out, " times as much");
}

/* Are enough bytes under way to cover the memory latency?  */
static void tell_stages(const Story *s) {
    const RProg *r = &s->best->prog;
    const Estimate *e = &s->best->estimate;
    buf_printf(s->out, "  k-step %d in %d stages: %d bytes of shared memory a block",
               (int)r->block.extent[AX_K], r->stages, (int)r->smem);
    int slices = count_along(&r->block, &r->warp, AX_K);
    if (slices > 1) buf_printf(s->out, ", each step shared by %d warps", slices);
    bool async = !rprog_through_registers(&r->load[0]) || !rprog_through_registers(&r->load[1]);
    double steps = (double)(rprog_tiles(s->p, r, AX_K) * rprog_stats_turns(s->p, r)) *
                   (double)rprog_blocks(s->p, r);
    double ahead = async ? r->stages - 1 : 1;
    if (steps > 0) {
        double stage = (double)e->load_sectors * SECTOR / steps;
        double resident = (double)e->blocks / s->m.sms;
        if (resident > r->blocks_per_sm) resident = r->blocks_per_sm;
        buf_puts(s->out, "; ");
        mp_fixed(s->out, stage * ahead * (resident > 1 ? resident : 1) / 1024, 0);
        buf_puts(s->out, " KB under way per SM");
        const Curve *c = s->m.in_flight;
        if (c) {
            buf_puts(s->out, ", DRAM is at its full rate from ");
            mp_fixed(s->out, c->px[c->n - 1] / 1024, 0);
            buf_puts(s->out, " KB");
        }
    }
    buf_putc(s->out, '\n');
}

static void tell_block(const Story *s) {
    const RProg *r = &s->best->prog;
    const Estimate *e = &s->best->estimate;
    double bytes = (double)e->load_sectors * SECTOR;
    buf_printf(s->out, "  block tile %dx%d: ", (int)r->block.extent[AX_M],
               (int)r->block.extent[AX_N]);
    mp_megabytes(s->out, bytes);
    buf_puts(s->out, " through L2");
    if (bytes > 0) {
        buf_puts(s->out, ", ");
        mp_fixed(s->out, s->p->flops / bytes, 1);
        buf_puts(s->out, " FLOP per byte");
    }
    tell_smaller(s);
    buf_puts(s->out, "; padding of the tensor ");
    mp_percent(s->out, e->padding_waste);
    buf_puts(s->out, " (allowed per axis ");
    mp_percent(s->out, s->set->epsilon);
    buf_puts(s->out, rprog_team(s->dev, r) > 1 ? ", of a warpgroup's rows a third)\n" : ")\n");
    tell_stages(s);
}

/* An operand of which a block loads all that it reads before the first step.  */
static void tell_region(const Story *s, int side) {
    const RProg *r = &s->best->prog;
    const RLoad *l = &r->load[side];
    RRegion x;
    if (!rprog_region(s->p, r, side, &x)) return;
    double tile = (double)r->block.extent[side ? AX_N : AX_M] * (double)s->p->extent[AX_K];
    buf_printf(s->out,
               "  operand %s: %s, %d element%s at once; all that a block reads, %d lines of "
               "%d elements, once: 1 for ", side ? "b" : "a", s->dev->mover[l->mover].name, l->vec,
               l->vec == 1 ? "" : "s", (int)x.lines, (int)x.row);
    mp_fixed(s->out, tile / ((double)x.lines * x.row), 1);
    if (rprog_ldmatrix(s->p, s->dev, r, side))
        buf_puts(s->out, " of the tile, loaded as matrices\n");
    else
        buf_printf(s->out, " of the tile, gathered %d at a time\n", x.pair);
}

static void tell_load(const Story *s, int side) {
    const RProg *r = &s->best->prog;
    const RLoad *l = &r->load[side];
    if (l->region) {
        tell_region(s, side);
        return;
    }
    bool matrix = rprog_matrix(s->dev, r) && !s->dev->unit[r->unit].b_smem &&
                  rprog_ldmatrix(s->p, s->dev, r, side);
    StepCounts c;
    mp_step_counts(&s->m, r, NULL, &c);
    buf_printf(s->out, "  operand %s: %s, %d element%s along %s", side ? "b" : "a",
               s->dev->mover[l->mover].name, l->vec, l->vec == 1 ? "" : "s",
               l->along == AX_K ? "K" : side ? "N" : "M");
    if (rprog_through_registers(l)) {
        buf_puts(s->out, rprog_copyable(s->p, s->dev, r, side) ? ", through registers"
                                                               : ", converted on the way");
    }
    if (l->bytes) buf_puts(s->out, ", bytes until fragments are read and converted");
    if (l->raw) buf_puts(s->out, ", as it lies in memory until registers are made of it");
    if (l->modulo) buf_printf(s->out, ", boxes of rows modulo %d", l->modulo);
    buf_printf(s->out, "; tile rows along %s, ", l->layout.inner == AX_K ? "K" : side ? "N" : "M");
    if (l->layout.bits) {
        buf_printf(s->out, "%d-byte chunks XORed with row bits %d..%d",
                   RTILE_ACCESS << l->layout.base, l->layout.shift,
                   l->layout.shift + l->layout.bits - 1);
    } else if (l->layout.pad) {
        buf_printf(s->out, "padded by %d element%s", l->layout.pad, l->layout.pad == 1 ? "" : "s");
    } else {
        buf_puts(s->out, "plain");
    }
    buf_printf(s->out, ": %d wavefront%s per %s, %lld to store a stage\n",
               (int)c.of[side].read_wavefronts, c.of[side].read_wavefronts == 1 ? "" : "s",
               matrix ? "8x8 matrix" : "read", (long long)c.of[side].store_wavefronts);
}

static void tell_grid(const Story *s) {
    const RProg *r = &s->best->prog;
    const Estimate *e = &s->best->estimate;
    buf_printf(s->out, "  grid: %lld blocks, %d per SM, ", (long long)e->blocks, e->blocks_per_sm);
    mp_fixed(s->out, e->waves, 2);
    buf_puts(s->out, " waves, SMs busy ");
    mp_percent(s->out, e->wave_efficiency);
    if (r->split > 1) {
        long long tiles = (long long)rprog_blocks(s->p, r);
        buf_printf(s->out, "; K in %d slices, because %lld tile%s would leave SMs idle",
                   (int)r->split, tiles, tiles == 1 ? "" : "s");
    }
    if (r->tail > 0) {
        long long tiles = (long long)rprog_blocks(s->p, r);
        buf_printf(s->out, "; of %lld tiles the last %d would fill a part of a wave, so their "
                   "k-steps are dealt out to %d blocks, %lld to each", tiles, (int)r->tail,
                   (int)r->tail_blocks, (long long)rprog_tail_steps(s->p, r));
    }
    if (r->group > 0) {
        buf_printf(s->out, "; tiles in groups of %d rows, so that a wave shares panels in L2",
                   r->group);
    }
    buf_puts(s->out, "\n  DRAM: ");
    mp_megabytes(s->out, e->dram_bytes);
    buf_puts(s->out, " moved, ");
    mp_megabytes(s->out, s->m.total_unique + s->m.out_bytes);
    buf_puts(s->out, " at the least\n");
}

/* Where statements over rows of the results are computed.  */
static void tell_rows(const Story *s) {
    const RProg *r = &s->best->prog;
    if (!r->stats) return;
    const StatFacts *f = rprog_stats_facts(s->p, r);
    int reductions = 0;
    for (int pass = 0; pass < f->group->n_pass; pass++) reductions += f->reduces[pass];
    buf_printf(s->out, "  rows: %d reduction%s over N behind the k-steps; ", reductions,
               reductions == 1 ? "" : "s");
    if (r->stats == STATS_WHOLE) {
        buf_puts(s->out, "blocks have whole rows, which meet in shared memory\n");
        return;
    }
    if (r->stats == STATS_TURNS)
        buf_printf(s->out, "a block goes along its rows in %lld turns, %d time%s",
                   (long long)rprog_tiles(s->p, r, AX_N), f->group->n_pass,
                   f->group->n_pass == 1 ? "" : "s");
    else
        buf_printf(s->out, "a row lies in %lld blocks, which leave parts; %d kernels",
                   (long long)rprog_tiles(s->p, r, AX_N), rprog_stats_kernels(s->p, r));
    if (f->group->n_pass > 1) buf_puts(s->out, ", the product is computed again, not stored");
    buf_putc(s->out, '\n');
}

static void tell_rules(const Story *s) {
    buf_puts(s->out, "\nrules every candidate kept\n");
    for (RTileRule rule = 0; rule < RTILE_RULE_COUNT; rule++) {
        buf_printf(s->out, "  %s\n", rtile_rule_text(rule));
    }
}

static void explain(const Story *s) {
    if (rprog_matrix(s->dev, &s->best->prog)) tell_matrix(s);
    else tell_registers(s);
    tell_block(s);
    for (int side = 0; side < s->p->n_operand; side++) tell_load(s, side);
    tell_grid(s);
    tell_rows(s);
    tell_rules(s);
}

static void estimate(const Model *m, const RProg *r, CountMemo *memo, Estimate *out) {
    if (m->p->stats) mp_estimate_stats(m, r, memo, out);
    else mp_estimate_contract(m, r, memo, out);
}

const ModelRow mp_contract = {.estimate = estimate, .order = mp_choose_raster,
                              .meeting_us = mp_stats_values_us, .summary = summary,
                              .explain = explain};
