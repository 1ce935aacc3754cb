/* Units of warpgroups: a k-step of a ring of stages, and such plans in words.
 *
 * Both operands stay in shared memory (wgmma), so there are no fragments.  With T instructions of a
 * warpgroup along M and G warpgroups, a k-step reads T*G*(64 + n)*BK*e bytes there: each m64nNk
 * instruction reads 64 rows of one operand and n of the other (the law of the measured rates for
 * narrow n, arXiv 2402.13499), at 128 bytes a clock.  What TMA writes there is one pass more.  The
 * unit is busy for 2*BM*BN*BK / rate clocks; on random data wgmma reaches 87.9 % of the peak, which
 * the profile has as the clock that power leaves (clock.c): all else in the SM slows down with it.
 * A step has no tax of its own where the ring has two stages or more: its barrier is waited for
 * while the products of the step before are under way.  Filling waits for one stage only, since
 * each has its own barrier.  Sums of a step that join others (8-bit floats) take one addition each:
 * the step's first product reads no sums, so nothing is cleared. They wait for the products, the
 * next products for them: COMPUTE, per step: at least 2*BM*BN*BK / rate / G + 4 * WM*WN/128 /
 * issue, so that one warpgroup alone leaves the unit idle.  What a copy by TMA takes beyond a load
 * is not in it: 105 clk on H800, in L2 (369 against 264) as from DRAM (750 against 645;
 * HPMLL/NVIDIA-Hopper-Benchmark, tma_lat_random/h800_tma.txt, h800_pcie.txt), 0.06 us of a kernel;
 * nor the first read of a tensor map, for which nothing is published.
 *
 * A row of a box is asked of L2 for itself, as 64 bytes at least: 16 of them were measured to take
 * as long (Neroued/ninfer, pull request 160), which is what columns of pixels with few channels
 * pay.  Rows of the boxes that outputs leave by have the same price, which is inferred: only copies
 * into shared memory were measured.  Rows of 32 bytes, which tiles of 80, 112 or 176 16-bit columns
 * have, cost twice theirs.  128 bytes of a row that begins anywhere lie in five sectors, not four
 * (RLoad.modulo); whether such boxes take TMA longer for another reason has not been measured.  The
 * copying lane takes 20 instructions for each box of pixels, 10 for each of rows modulo a number
 * (compiled kernels), one behind the other, 4 clk each (Jia et al.); a step takes no less.
 *
 * Blocks of a cluster share an operand: each reads its part from L2, and all get it, so that its L2
 * bytes are divided by their number; they meet twice (cluster_barrier), and waves have as many SMs
 * as clusters_resident says: the fewest that a board of the name holds, so that a plan whose last
 * cluster waits where one GPC is short does not win by the little that it gains elsewhere (4096^3
 * in bf16: clusters of 4 gain 0.7 % over those of 2 where 32 fit, and take 23 % longer where 31
 * do). Launches ask the board at hand, and one that holds more has no more waves.  Clusters are
 * worth a try, with a block for each tile and with blocks that stay, where L2 gives so many blocks
 * less than their ports take: blocks * port > L2 rate, from 78 blocks on on H100. Outputs leave the
 * block at the write rate of L2, and their way to DRAM counts in the term of DRAM.
 *
 * Sums in Tensor Memory (tcgen05): one thread issues all products, so that the end of a tile runs
 * beside the products of the next one as soon as these have accumulators.  With two sets of them
 * they have them at once; with one behind the last product (136 clk from its end until who waits
 * for the commit knows, SemiAnalysis, umma_latency) and loads of all sums at the profile's rate
 * (tcgen05.ld).  The latency of such a load is not known, and left out.
 *
 * Scales of blocks (tcgen05): one warp reads and writes them, and the unit copies them once more,
 * 512 bytes for 128 rows and four blocks each, at the profile's rate (tcgen05.cp).  Products take
 * as long as without them (SemiAnalysis, umma_throughput and umma_latency, mxf8: the same interval,
 * 1 to 5 clk later).
 *
 * An instruction of tcgen05 takes N/2 clocks for 128 rows of a block, alone or in a pair, unless
 * its operands take longer: each block reads its 128 rows and the N columns, or its half of them,
 * at 128 bytes a clock (SemiAnalysis, umma_throughput: 264 configurations, within 1 % for one
 * block; of pairs those of less than 128 columns take 7 to 12 % longer).
 *
 * A first operand that is made in registers (raw):
 *   registers of a slice, per lane: R = WM/64 * 16 * TK * bytes / 128 (the unit's); WN where
 *       swapped
 *   wavefronts of the operand, per step: 4 warps * slices * R * (those of one read: the lanes'
 *       places in swizzled rows), for each warpgroup; the unit reads the other operand only
 *   instructions of a warp, per slice: c = R * (1 + per * each); per: elements in a register; each:
 *       as in a chunk for bytes that are copies, + 1/4; else 1 + operations + 1/per, + 1 below four
 *       bytes
 *   COMPUTE, per step: at least the shared-memory latency + slices * (c + 28): a warp's own
 *       instructions follow each other
 *
 * Of a region that boxes bring (region.c), once for each tile, ldmatrix loads these:
 *   wavefronts of the operand, per step: those of all rows of the tile, eight at a time, in their
 *       swizzled places, for each 16 bytes of k
 *   c = 7 * WM/64: a load of four matrices, its place, and a register of each that is moved
 *   copies, loads from L2: planes of lines, without what is outside of the tensor; a share of each
 *       step, and the first tile's in FILL  */
#include "microperf/matrix.h"
#include "microperf/sectors.h"
#include "microperf/step.h"

enum { LINE = MP_WAVEFRONT };

/* Operand `side` is made in registers: of these a warp has so many in a slice.  */
static double made_registers(const Model *m, const RProg *r, int side) {
    Fragment f = rprog_raw_fragment(m->dev, r);
    double tiles = (double)r->warp.extent[mp_own_axis(side)] / r->thread.extent[mp_own_axis(side)];
    return tiles * fragment_slots(&f, FRAG_DIMS) / f.per_register;
}

/* Instructions of a warp that reads them, and makes them of what it has read: counted in compiled
 * kernels.  */
static double made_issue(const Model *m, const RProg *r, int side) {
    enum { WORD = 4 };
    enum { MATRICES = 7 };    /* a load of four, of which a register each is moved; its place */
    RRaw x;
    TeDtype type = m->dev->unit[r->unit].a;
    if (r->load[side].region)
        return (double)r->warp.extent[mp_own_axis(side)] / r->thread.extent[mp_own_axis(side)] *
               MATRICES;
    int per = rprog_raw_fragment(m->dev, r).per_register;
    if (!rprog_raw(m->p, side, r->block.extent[AX_K], &x)) return 0;
    bool part = te_dtype_bytes(x.storage) < WORD;
    bool alone = te_dtype_bytes(type) == 1 && te_dtype_class(type) != TE_CLASS_INT;   /* rounded */
    double each = x.n == 0 && m->p->op[side].affine ? mp_widened(m->dev, x.storage, type) : 0;
    if (each > 0) each += 1.0 / WORD;     /* pairs that are joined */
    else each = 1 + m->p->op[side].ops + part + alone + 1.0 / per;
    return made_registers(m, r, side) * (1 + per * each);
}

static int made_side(const RProg *r) {
    return rprog_by_lanes(&r->load[0]) ? 0 : rprog_by_lanes(&r->load[1]) ? 1 : -1;
}

/* A warp makes the registers of a slice while products of those before are under way; its own
 * instructions follow each other.  */
double mp_made_clocks(const Model *m, const RProg *r, const Step *s) {
    enum { CHAIN = 28 };      /* clocks from what is read of an element to its product */
    int side = made_side(r);
    if (side < 0) return 0;
    return m->smem_latency + s->groups * (made_issue(m, r, side) + CHAIN);
}

/* Wavefronts by which the unit reads an operand in a k-step of one warpgroup: each instruction
 * reads both whole.  */
static double operand_reads(const Model *m, const RProg *r, const StepCounts *c, int side) {
    double tiles = (double)r->warp.extent[AX_M] / r->thread.extent[AX_M];
    double bytes = (double)r->warp.extent[AX_K] * rprog_elem(m->p, m->dev, r, side);
    if (m->p->op[side].made) return 0;
    if (r->load[side].region) return rprog_team(m->dev, r) * c->of[side].fragment_wavefronts;
    if (r->load[side].raw) {  /* of the lanes of its warps */
        double slices = (double)r->warp.extent[AX_K] / r->thread.extent[AX_K];
        RRaw x;
        if (!rprog_raw(m->p, side, r->block.extent[AX_K], &x)) return 0;
        return rprog_team(m->dev, r) * slices * made_registers(m, r, side) *
               rprog_raw_wavefronts(m->dev, r, side, x.pack);
    }
    double columns = r->thread.extent[r->swapped ? AX_M : AX_N];
    bool first = rprog_unit_side(r, side) == 0;           /* is read once for all columns */
    double share = first ? columns / rprog_issued_columns(m->dev, r)
                         : rprog_apart(m->dev, r, side) ? 1.0 / rprog_unit_blocks(m->dev, r) : 1;
    return tiles * r->thread.extent[mp_own_axis(side)] * bytes * share / LINE;
}

/* Those that compute a step together.  */
static double warpgroups(const Model *m, const RProg *r) {
    return rprog_computing(m->dev, r) / WARP / rprog_team(m->dev, r) / rprog_in_turn(r);
}

/* A row of a box is asked of L2 for itself: one of 16 bytes takes as long as one of 64 (measured by
 * github.com/Neroued/ninfer, pull request 160: 16.7 % more bytes, as such rows, took 73 % more
 * time, with 64-byte rows the others).  */
static double asked_bytes(double bytes, int row) {
    enum { LEAST = 64 };
    return row < LEAST ? bytes / row * LEAST : bytes;
}

double mp_boxes_sectors(double sectors, int row) {
    return asked_bytes(sectors * SECTOR, row) / SECTOR;
}

double mp_boxes_asked(const Model *m, const RProg *r, double bytes) {
    return r->via == VIA_BOXES ? asked_bytes(bytes, rprog_box_row(m->p, r)) : bytes;
}

/* Sectors that rows of the boxes of a stage are in, which begin anywhere in one where rows of the
 * tensor do.  */
static double asked_sectors(const Model *m, const RProg *r, int side, int64_t bytes) {
    const ROperand *op = &m->p->op[side];
    int span = rprog_box_span(&r->load[side].layout);
    if (!r->load[side].modulo) return asked_bytes((double)bytes, span) / SECTOR;
    int64_t grain = mp_grain(op->stride_mn * op->bytes);
    return (double)bytes / span * mp_mean_sectors(1, span, span, grain);
}

OperandCounts mp_ring_counts(const Model *m, const RProg *r, int side) {
    int64_t bytes = rprog_tile_bytes(m->p, m->dev, r, side);
    bool apart = rprog_apart(m->dev, r, side);
    int own = r->block.extent[mp_own_axis(side)], along = r->load[side].along;
    if (apart) own /= rprog_unit_blocks(m->dev, r);
    int lines = along == AX_K ? own : r->block.extent[AX_K];
    int sharing = side == rprog_cluster_side(r) && !apart ? rprog_cluster(r) : 1;
    int span = rprog_box_span(&r->load[side].layout);
    int maps = r->load[side].modulo ? r->load[side].modulo : 1;
    return (OperandCounts){.sectors = asked_sectors(m, r, side, bytes) / sharing,
                           .store_wavefronts = bytes / LINE,
                           .requests = maps * (int)(bytes / ((int64_t)lines * span))};
}

/* Instructions of the lane that copies, counted in compiled kernels: for each box of pixels, which
 * has places of its own, and for each of rows modulo a number, which has a map of its own.  */
static double boxes_issue(const Model *m, const RProg *r, const StepCounts *c) {
    enum { BOX_ISSUE = 20, MODULO_ISSUE = 10 };
    double boxes = c->region_requests / greater((double)rprog_tiles(m->p, r, AX_K), 1), rows = 0;
    if (c->region_made > 0) boxes = 0;
    for (int side = 0; side < CONTRACTION_OPERANDS; side++) {
        if (r->load[side].kind == LOAD_PIXELS) boxes += (double)c->of[side].requests;
        if (r->load[side].modulo) rows += (double)c->of[side].requests;
    }
    return boxes * BOX_ISSUE + rows * MODULO_ISSUE;
}

/* One lane issues them, one behind the other, as fast as each may use what the one before has made
 * (Jia et al., Dissecting the Volta GPU architecture: 4 clocks).  */
double mp_copying_clocks(const Model *m, const RProg *r, const Step *s) {
    enum { DEPENDENT = 4 };
    return DEPENDENT * boxes_issue(m, r, s->counts) + mp_team_clocks(m, r, s->counts);
}

/* A warpgroup's products of a step and then its sums of it, which join others.  */
double mp_joining_clocks(const Model *m, const RProg *r, double rate) {
    if (!rprog_promotes(m->p, m->dev, r)) return 0;
    double adds = rprog_team(m->dev, r) * (mp_lane_sums(m, r) + mp_scaled_sums(m, r));
    return mp_ring_clocks(m, r, rate) / warpgroups(m, r) + adds / m->issue;
}

/* Clocks until a commit is known.  */
enum { COMMIT = 136 };

/* Of Tensor Memory, B/clk and SM; where the profile does not know, as fast as shared memory.  */
static double tensor_rate(const Model *m, const char *mover) {
    const Mover *x = hal_mover(m->dev, mover);
    return x ? x->rate.value : m->dev->memory[LEVEL_SMEM].per_sm_max.value;
}

double mp_moved_clocks(const Model *m, double loaded, double stored) {
    return TENSOR_LANES * TENSOR_CELL * (loaded / tensor_rate(m, "tcgen05.ld") +
                                         stored / tensor_rate(m, "tcgen05.st"));
}

double mp_sums_clocks(const Model *m, const RProg *r) {
    return rprog_tensor(m->dev, r) ? COMMIT + mp_moved_clocks(m, rprog_tensor_tile(r), 0) : 0;
}

/* They are written to shared memory, and read there, by copies that may take longer.  */
static void add_tensor_scales(const Model *m, const RProg *r, Step *s) {
    enum { COLUMN = 4 * 32 }; /* bytes of a column, of one of its four parts */
    mp_add_scales(m, r, 1, s);
    for (int side = 0; side < m->p->n_operand; side++) {
        double bytes = (double)rprog_tensor_scales(m->dev, r, side) * COLUMN;
        s->stored += bytes / LINE;
        s->wavefronts += bytes / tensor_rate(m, "tcgen05.cp") * m->smem_rate;
    }
}

/* A region that is copied once for a tile: its part of each step.  */
static void add_region(const Model *m, const RProg *r, const StepCounts *c, Step *s) {
    double steps = greater((double)rprog_tiles(m->p, r, AX_K), 1);
    s->stored += c->region_stores / steps;
    s->sectors += c->region_sectors / steps;
    s->region = c->region_sectors * SECTOR;
    s->passes += c->region_passes / steps;
    if (c->region_made <= 0) return;
    int team = r->load[0].team | r->load[1].team;
    s->filling = c->region_made / team;
    s->trips = whole(c->region_rounds / team);
}

Step mp_ring_step(const Model *m, const RProg *r, const StepCounts *c) {
    /* Instructions of a warp, counted in compiled kernels: to wait for a stage, free one and move
     * on; of a product; of the warp that copies.  */
    enum { STEP_ISSUE = 24, PRODUCT_ISSUE = 4, COPY_ISSUE = 24 };
    Step s = {.counts = c, .warps = warpgroups(m, r) * rprog_team(m->dev, r), .teams = 1};
    double tiles = (double)r->warp.extent[AX_M] / r->thread.extent[AX_M];
    s.groups = (double)r->warp.extent[AX_K] / r->thread.extent[AX_K];
    s.group_fma = tiles;
    s.fma = s.warps * s.groups * tiles;
    s.group_issue = tiles * PRODUCT_ISSUE;
    if (made_side(r) >= 0) s.group_issue += made_issue(m, r, made_side(r));
    s.own_issue = s.warps * (STEP_ISSUE + s.groups * s.group_issue);
    s.issue = s.own_issue + COPY_ISSUE;
    for (int side = 0; side < m->p->n_operand; side++) {
        s.stored += (double)c->of[side].store_wavefronts;
        s.wavefronts += warpgroups(m, r) * operand_reads(m, r, c, side);
        s.sectors += c->of[side].sectors;
        if (!r->load[side].team) s.issue += (double)c->of[side].requests;
        else s.passes += mp_load_passes(&r->load[side], (double)c->of[side].passes,
                                        (double)c->of[side].store_wavefronts);
    }
    s.issue += boxes_issue(m, r, c) + mp_team_issue(m, r, c);
    add_region(m, r, c, &s);
    add_tensor_scales(m, r, &s);
    if (rprog_promotes(m->p, m->dev, r))
        s.issue += s.warps * (mp_lane_sums(m, r) + mp_scaled_sums(m, r));
    mp_add_sum_scales(m, r, &s);
    s.wavefronts += s.stored;
    s.bytes = s.sectors * SECTOR;
    return s;
}

double mp_ring_clocks(const Model *m, const RProg *r, double rate) {
    double flops = 2.0 * r->block.extent[AX_M] * r->block.extent[AX_N] * r->block.extent[AX_K];
    return flops * te_dtype_values(m->dev->unit[r->unit].a) / rate;
}

/* Who fills the ring.  */
static void tell_copies(const RProg *r, const StepCounts *c, Buf *out) {
    int boxes = 0, team = 0;
    for (int side = 0; side < CONTRACTION_OPERANDS; side++) {
        if (r->load[side].team > 0) team = r->load[side].team;
        else boxes += (int)c->of[side].requests;
    }
    const char *stages = r->stages > 1 ? "stages" : "stage";
    if (team > 0)
        buf_printf(out, "  %d warps more copy chunks to a ring of %d %s, by places of their own; "
                   "one thread of them copies %d boxes by tensor maps in a k-step\n", team,
                   r->stages, stages, boxes);
    else
        buf_printf(out, "  one warp more copies boxes by tensor maps, %d to a k-step, into a ring "
                   "of %d %s\n", boxes, r->stages, stages);
}

void mp_ring_explain(const Model *m, const RProg *r, const StepCounts *c, Buf *out) {
    const ComputeUnit *u = &m->dev->unit[r->unit];
    Step s = mp_ring_step(m, r, c);
    double rate = hal_sustained(m->dev, u);
    int teams = (int)warpgroups(m, r);
    buf_printf(out, "  %d warpgroup%s of %dx%d: %d accumulators per lane, about %d registers; a "
               "k-step is %d %s of n %d each\n", teams, teams > 1 ? "s" : "",
               (int)r->warp.extent[AX_M], (int)r->warp.extent[AX_N], (int)mp_lane_sums(m, r),
               r->registers, (int)(s.group_fma * s.groups), u->name,
               rprog_issued_columns(m->dev, r));
    if (made_side(r) >= 0) {
        buf_printf(out, "  registers of operand %c are made of what lies in shared memory, ",
                   "ab"[made_side(r)]);
        mp_fixed(out, made_issue(m, r, made_side(r)), 0);
        buf_puts(out, " instructions of a warp for a slice, while products of others are under "
                 "way\n");
    }
    tell_copies(r, c, out);
    if (rprog_persistent(r))
        buf_printf(out, "  %lld blocks stay for all tiles; stages of the next tile fill while "
                   "outputs of this one are stored%s\n", (long long)rprog_launched(m->p, m->dev, r),
                   r->grid == GRID_PINGPONG ? ", and the other warpgroup computes it" : "");
    bool two = rprog_tensor_slots(m->dev, r) > 1;
    if (rprog_tensor(m->dev, r))
        buf_printf(out, "  one thread issues all products, sums lie in %d columns of Tensor "
                   "Memory%s\n", rprog_tensor_columns(m->dev, r),
                   two ? ", of two tiles: one is stored beside the other's products" : "");
    int scales = rprog_tensor_scales(m->dev, r, 0) + rprog_tensor_scales(m->dev, r, 1);
    if (scales > 0)
        buf_printf(out, "  another warp brings scales, which the unit copies to %d of these columns"
                   " in each step\n", scales);
    if (rprog_unit_blocks(m->dev, r) > 1)
        buf_printf(out, "  pairs of blocks multiply together: each copies its part of %c for "
                   "both\n", "ab"[rprog_cluster_side(r)]);
    else if (r->cluster > 1)
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
