/* The estimate of the contract skeleton.  Every term is summed over the phases of the grid
 * (phases.c).
 *
 *   COMPUTE: g * max(v * max(f_g / u, G), f_g' ) + tax; v = ceil(r * w / schedulers) warps on the
 *       busiest scheduler; f_g / u: the group's unit instructions at the unit's rate; f_g' = one
 *       warp alone: max(.., latency) if fragments are fetched one k ahead, else .. + latency of
 *       shared memory; tax: the waits of step.c; issue share as in step.c; warps hide latency
 *   ISSUE: v * I * schedulers / (w * issue) + tax; one warp instruction per scheduler and clock
 *   SMEM: r * (wavefronts + passes of the loads) + tax; 128 B per SM and clock (profile:
 *       smem.per_sm_max)
 *   L2: r * sectors * 32 / min(port, L2 rate / active); roof of a tile: FLOP per L2 byte = 2*BM*BN
 *       / ((BM+BN) * e)
 *   LATENCY: (l + r * sectors * 32 / share) / ahead; l = l2.latency + miss * (dram.latency -
 *       l2.latency), miss = min(1, 4 * DRAM bytes / L2 bytes): one miss among the blocks that share
 *       a line holds all of them; Little's law
 *   DRAM: read bytes / read rate + written bytes / write rate (once for the kernel); dram.c
 *
 * LATENCY is also at least DRAM bytes / rate(bytes in flight), with the profile's curve of DRAM
 * rate over bytes in flight per SM: in flight = min(R, blocks per SM) * bytes of a stage *
 * min(ahead, n).
 *
 * - FILL: block_start + dram.latency + min(S-1, n) * r * stage bytes / share for each phase.  What
 *   a chain loads for its second product comes before, on units of warpgroups when half of the
 *   steps are begun: r * bytes / share beyond the unit's clocks for the other half.
 * - EPILOGUE: r * (sectors stored * 32 / store share + sums of slices + output elements * (epilogue
 *   operations + 4) / issue) + l2.latency; store share = min(port, L2 write rate / active): a block
 *   ends as soon as L2, which writes back, has its outputs; their way to DRAM is in DRAM. L1 writes
 *   through, so L2 gets each store's sectors (sectors.c): one that several stores fill takes as
 *   many slots.
 *   Of n boxes of a warp all but the first are filled while those before leave: less (n - 1) / n of
 *   the sectors or of that work, whichever is shorter.
 * - Both are exposed once for the last wave; the other waves expose 1/r of them, since resident
 *   blocks hide each other's ends, as far as they leave it L2 and shared memory: the last block's
 *   end comes behind L2 and all other stores one after the other, and behind SMEM and the
 *   wavefronts of all other ends.  EPILOGUE is reported as what it adds to max(steady, DRAM): a
 *   kernel that DRAM limits already counts its stores there.
 * - SPLIT: the second kernel of a split reduction: kernel_floor + dram.latency + l2.latency +
 *   workspace bytes / (L2 rate, or DRAM rate where they exceed C) + output bytes / write rate.
 *   Slices are added in order, so results are the same each time.
 * - LAUNCH: kernel_floor of the profile less block_start: the floor includes the start of the first
 *   block, which FILL counts.  Kernels of a program that begin before those before them have ended
 *   (programmatic dependent launch) are priced like others: no public measurement by which to say
 *   what that saves is in a profile.
 *
 * Time = max(DRAM .. LATENCY) + OVERLAP + FILL + EPILOGUE + SPLIT + LAUNCH.
 *
 * A tail (stream-K):
 *   FILL of the tail's blocks: the pipeline is filled ceil(partial tiles / blocks) times
 *   EPILOGUE of the tail's blocks: partial tiles * BM * BN sums stored, outputs passed through
 *       shared memory once for each
 *   DRAM, writes: outputs * (1 - tail / tiles) + sums
 *   SPLIT: as above, with these sums, and the outputs of the tail
 *
 * Blocks that stay:
 *   tile by tile: work + sent, of all waves, as above
 *   persistent: work
 *   pingpong: max((work + own - steps) / 2, 0): while one warpgroup ends its tile, the other
 *       computes the next one; own: by what a warpgroup is longer at its steps than `steps`.  It is
 *       0 unless all steps are kept: tiles are computed side by side then, half a tile apart, and
 *       registers are made for two at a time (warpgroup.c); the last tile takes `own` more
 *   LATENCY at least (steps of a tile + l + region / share) / slots of the region  */
#include "microperf/ending.h"
#include "microperf/matrix.h"
#include "microperf/phases.h"
#include "microperf/sectors.h"
#include "microperf/step.h"

/* A slower clock makes a kernel longer, and a longer kernel the clock slower: of so many
 * iterations the last one changes little.  */
enum { CLOCK_ITERATIONS = 4 };

/* Clocks of a step if no other team has products beside it.  */
static double alone_clocks(const Model *m, const RProg *r, const Step *s, double blocks) {
    Step alone = *s;
    alone.teams = 1;
    return mp_unit_clocks(m, r, &alone, blocks);
}

/* Of blocks that stay: a region's slot is filled again when the products of a tile have read it.
 */
static double region_clocks(const Model *m, const RProg *r, const Step *s, const Phase *ph,
                            double latency, double share) {
    double bytes = ph->resident * s->counts->region_sectors * SECTOR;
    if (!rprog_persistent(r) || r->region_slots == 0 || bytes <= 0) return 0;
    double load = (greater(s->trips, 1) * latency + s->filling + bytes / share) / ph->steps;
    double each = (alone_clocks(m, r, s, ph->resident) + load) / r->region_slots;
    return s->trips > 0 ? greater(each, load) : each;     /* a team fills one after the other */
}

/* Adds the times of a phase, in clocks, to the steady terms.  */
static void add_phase(const Model *m, const RProg *r, const Step *s, const Phase *ph, double miss,
                      double clocks[MP_COUNT]) {
    double n = ph->times * ph->steps, blocks = ph->resident;
    double busiest = whole(blocks * s->warps / m->schedulers) * m->schedulers / s->warps;
    double l2_share = lesser(m->l2_port, m->l2_rate / m->clock / ph->active);
    double ahead = rprog_steps_ahead(m->p, r);
    double wait = mp_step_waits(m, r, s, blocks), queue = mp_queue_waits(m, r, s);
    double latency = m->l2_latency + miss * (m->dram_latency - m->l2_latency);
    clocks[MP_L2] += n * blocks * s->bytes / l2_share;
    clocks[MP_SMEM] += n * (blocks * (s->wavefronts + s->passes) / m->smem_rate + queue);
    clocks[MP_COMPUTE] += n * (mp_unit_clocks(m, r, s, blocks) + wait);
    clocks[MP_ISSUE] += n * (busiest * s->issue / m->issue + wait);
    clocks[MP_LATENCY] += n * greater((latency + blocks * s->bytes / l2_share) / ahead,
                                      region_clocks(m, r, s, ph, latency, l2_share));
}

/* Clocks before the first and after the last step of the blocks of a phase.  */
static double fill_clocks(const Model *m, const RProg *r, const Step *s, const Phase *ph) {
    double share = lesser(m->l2_port, m->l2_rate / m->clock / ph->active);
    double filled = lesser(greater(r->stages - 1, 1), ph->steps);
    if (m->dev->unit[r->unit].b_smem) filled = 1;          /* each has a barrier of its own */
    double steps = ph->steps * mp_tiles_of_block(m, r);
    double region = steps > 0 ? s->region / steps : 0;    /* of a step */
    double bytes = filled * (s->bytes - region) + s->region;
    double met = r->cluster > 1 ? 2 * m->dev->overheads.cluster_barrier.value : 0;
    double beside = ph->steps / 2 * mp_unit_clocks(m, r, s, ph->resident);
    double late = greater(ph->resident * s->behind / share - beside, 0);
    return m->block_start + met + late +
           ph->partials * (greater(s->trips, 1) * m->dram_latency +
                           ph->resident * (bytes / share + s->filling));
}

/* Instructions that a block issues for its outputs, in clocks, or what their functions take.  */
static double output_clocks(const Model *m, const RProg *r, const Ending *e) {
    double outputs = (double)r->block.extent[AX_M] * r->block.extent[AX_N];
    if (e->elements > 0) outputs = e->elements;
    double functions = m->functions > 0 ? outputs * e->functions / m->functions : 0;
    return greater(outputs * e->ops / (m->issue * WARP), functions) + e->meeting / m->issue;
}

/* Clocks behind the last step of the blocks of a phase: for the threads that compute, of these for
 * shared memory, of L2 for what they store, and until L2 has it.  */
typedef struct {
    double work, smem, stored, sent;
} EndClocks;

double mp_through_clocks(const Leaving *x, double *smem) {
    const Model *m = x->m;
    const RProg *r = x->r;
    bool meet = r->warp.extent[AX_K] < r->block.extent[AX_K];
    double rounds = (double)r->warp.extent[AX_M] / r->thread.extent[AX_M];
    double warps = rprog_computing(m->dev, r) / WARP / rprog_in_turn(r);
    double all = warps * (double)(x->counts->staging_stores + x->counts->staging_loads);
    double wait = meet ? m->step_tax + m->smem_latency : 2 * m->smem_latency;
    if (r->via == VIA_BOXES) wait *= (rprog_box_count(m->p, r) + r->box_slots - 1) / r->box_slots;
    *smem = rounds * all / m->smem_rate;
    return *smem + rounds * wait;
}

double mp_beside_clocks(const Leaving *x, double made, double sent) {
    const RProg *r = x->r;
    double rounds = (double)r->warp.extent[AX_M] / r->thread.extent[AX_M];
    if (r->via != VIA_BOXES) return 0;
    return (1 - 1 / (rounds * rprog_box_count(x->m->p, r))) * lesser(made, sent);
}

static EndClocks end_clocks(const Model *m, const RProg *r, const Ending *e, const Phase *ph) {
    const Problem *p = m->p;
    double outputs = (double)r->block.extent[AX_M] * r->block.extent[AX_N];
    /* A block ends as soon as L2 has its outputs; their way to DRAM is in the term of that.  */
    double share = m->l2_write / m->clock / ph->active;
    double port = lesser(m->l2_port, share);
    double slices = r->block.extent[AX_K] / r->warp.extent[AX_K];
    double out = output_clocks(m, r, e), ops = out + e->unit, sums = 0;
    double smem = e->wavefronts / m->smem_rate;
    double through = 0, accesses = 0;
    if (e->leaving.r->via != VIA_DIRECT) {                /* where the sums of slices meet, too */
        through = mp_through_clocks(&e->leaving, &accesses) * (1 - e->stays);
        accesses *= 1 - e->stays;
        smem += accesses;
    } else if (slices > 1) {
        sums = (slices - 1) * outputs * p->acc_bytes * 2 / (WARP * 4);
        sums += m->step_tax + 2 * m->smem_latency;
    }
    sums += mp_sums_clocks(m, r);
    double made = ph->resident * ph->partials * (out - e->meeting / m->issue + through);
    double stored = ph->resident * ph->bytes / port;
    double sent = stored - mp_beside_clocks(&e->leaving, made, stored);
    return (EndClocks){ph->resident * (sums + ph->partials * (ops + through)) + e->wait,
                       ph->resident * ph->partials * smem, stored, sent + m->l2_latency};
}

/* Share of the outputs that the computing kernel stores itself; the second one stores the rest.  */
static double direct_share(const Model *m, const RProg *r) {
    if (r->split > 1) return 0;
    return 1 - (double)r->tail / greater((double)rprog_blocks(m->p, r), 1);
}

double mp_split_us(const Model *m, const RProg *r, double stored) {
    if (r->split <= 1 && r->tail == 0) return 0;
    double bytes = mp_sum_bytes(m->p, r);
    double rate = bytes <= m->l2_capacity ? m->l2_rate : m->dram_read;
    return m->floor_us + (m->dram_latency + m->l2_latency) / m->clock * 1e6 +
           (bytes / rate + stored / m->dram_write) * 1e6;
}

/* Fetches of a step's fragments, per tile: the last step of each part of it fetches the first slice
 * once more where fragments are fetched ahead.  */
static double fetches(const Model *m, const RProg *r, double steps, double partials) {
    if (!rprog_matrix(m->dev, r) || !rprog_fetched_ahead(m->dev, r, 0)) return steps;
    return steps + partials * r->thread.extent[AX_K] / r->warp.extent[AX_K];
}

/* Stores of operands to their stages, per tile.  */
static double operand_stores(const Model *m, const RProg *r, const StepCounts *c, double steps,
                             double partials) {
    bool always = rprog_stores_always(m->p, m->dev, r);
    double sum = 0;
    for (int side = 0; side < m->p->n_operand; side++) {
        bool waits = rprog_waits(&r->load[side]);
        double times = always && waits ? steps + partials : steps;
        sum += times * (double)c->of[side].store_wavefronts;
    }
    return sum;
}

static void fill_counts(const Model *m, const RProg *r, const Step *s, const Ending *e,
                        double tiles, Estimate *out) {
    const Problem *p = m->p;
    const Leaving *of = &e->leaving;
    const StepCounts *c = s->counts;
    double steps = (double)rprog_tiles(p, r, AX_K), sectors = 0;
    bool matrix = rprog_matrix(m->dev, r);
    for (int side = 0; side < p->n_operand; side++) {
        int axis = mp_own_axis(side);
        double inside = 1;                /* share of the stages inside the tensor */
        const int axes[] = {axis, AX_K};
        for (int i = 0; i < 2; i++) {
            double padded = (double)(rprog_tiles(p, r, axes[i]) * r->block.extent[axes[i]]);
            if (padded > 0) inside *= (double)p->extent[axes[i]] / padded;
        }
        sectors += c->of[side].sectors * inside;
    }
    double slices = r->block.extent[AX_K] / r->warp.extent[AX_K];
    double words = (p->acc_bytes + 3) / 4;
    double sums = (slices - 1) * s->warps / slices * mp_lane_sums(m, r) * words;
    double through[2] = {0, 0};            /* wavefronts of stores that go through shared memory */
    double partials = r->split;           /* per tile */
    if (r->tail > 0) partials += (double)(rprog_tail_partials(p, r) - r->tail) / tiles;
    if (of->r->via != VIA_DIRECT) {
        double rounds = s->warps * r->warp.extent[AX_M] / r->thread.extent[AX_M];
        rounds *= 1 - e->stays;
        sums = 0;                         /* of slices: they meet there */
        through[0] = rounds * (double)of->counts->staging_loads * partials;
        through[1] = rounds * (double)of->counts->staging_stores * partials;
    }
    double wavefronts = 0;
    for (int side = 0; side < p->n_operand; side++) {
        wavefronts += s->warps * c->of[side].fragment_wavefronts;
    }
    out->load_sectors = (int64_t)(tiles * (steps * sectors + c->region_sectors) + 0.5);
    out->load_passes = (int64_t)(tiles * steps * (double)(c->of[0].passes + c->of[1].passes));
    double added = sums * r->split;
    out->smem_load_wavefronts = (int64_t)(
        tiles * (fetches(m, r, steps, partials) * wavefronts + added + through[0]) + 0.5);
    out->smem_store_wavefronts =
        (int64_t)(tiles * (operand_stores(m, r, c, steps, partials) + added + through[1] +
                           c->region_stores) + 0.5);
    bool real = te_dtype_class(p->con.acc) == TE_CLASS_REAL && !matrix;
    double adds = real ? sums / words * r->split : 0;
    out->fma = (int64_t)(tiles * (steps * s->fma + adds));
}

/* What the phases of the grid take, one behind the other, in clocks.  */
typedef struct {
    double term[MP_COUNT];
    double fill, epilogue;    /* as far as no other block hides them */
    double issued, unit;      /* by the ends, hidden or not; of the unit for them */
    double staged, stored;    /* what they take of shared memory and L2, but that of ... */
    double last;              /* ... the last block, which ends so long behind its steps */
    double busy;              /* k-steps for which SMs are held */
    double in_flight_us;      /* least time by what is under way from DRAM */
    double miss;              /* of loads in L2, as a copy feels it */
    Phase first;
    double turns;             /* of all phases */
} Course;

/* Until the products of the next tile may begin; of two sets of accumulators one is free.  */
static double sums_clocks(const Model *m, const RProg *r) {
    return rprog_tensor_slots(m->dev, r) > 1 ? 0 : mp_sums_clocks(m, r);
}

/* Clocks of a tile's steps.  */
static double tile_clocks(const Model *m, const RProg *r, const Step *s, const Phase *ph) {
    Phase once = *ph;
    double clocks[MP_COUNT] = {0}, tile = 0;
    once.times = 1;
    add_phase(m, r, s, &once, 0, clocks);
    for (MpTerm i = MP_L2; i <= MP_ISSUE; i++) tile = greater(tile, clocks[i]);
    return tile;
}

/* Clocks by which a team is longer at its steps than blocks go on by tiles: teams that multiply at
 * the same time have several of them.  */
static double own_clocks(const Model *m, const RProg *r, const Step *s, const Phase *ph) {
    double own = ph->steps * alone_clocks(m, r, s, ph->resident);
    return greater(own - tile_clocks(m, r, s, ph), 0);
}

/* Clocks by which threads of a block that stays are longer at a tile than its steps take.  What it
 * stores leaves while it computes the next one; in pingpong the other warpgroup computes while one
 * ends a tile, with Tensor Memory another thread.  */
static double between_tiles(const Model *m, const RProg *r, const Step *s, const Phase *ph,
                            const EndClocks *end) {
    double tile = tile_clocks(m, r, s, ph), work = end->work;
    double longer = greater(end->work + own_clocks(m, r, s, ph) - tile, 0);
    if (r->grid == GRID_PINGPONG) work = longer / 2;
    if (rprog_tensor(m->dev, r)) work = greater(longer, ph->resident * sums_clocks(m, r));
    return work / ph->resident;
}

static Course course_of(const Model *m, const RProg *r, const Step *s, const Ending *e,
                        const Phases *phases, double miss) {
    Course t = {.miss = miss, .first = phases->at[0]};
    int n = phases->n;
    for (int i = 0; i < n; i++) {
        const Phase *ph = &phases->at[i];
        bool last = i == n - 1;
        /* Resident blocks hide each other's ends, except those of the last wave.  */
        double exposed = last ? (ph->times - 1) / ph->resident + 1 : ph->times / ph->resident;
        EndClocks end = end_clocks(m, r, e, ph);
        add_phase(m, r, s, ph, miss, t.term);
        if (rprog_persistent(r)) {
            if (i == 0) t.fill = fill_clocks(m, r, s, ph);
            t.epilogue += (ph->times - last) * between_tiles(m, r, s, ph, &end) +
                          last * (end.work + end.sent + own_clocks(m, r, s, ph));
        } else {
            t.fill += (last && n > 1 ? exposed : exposed + (1 - 1 / ph->resident)) *
                      fill_clocks(m, r, s, ph);
            t.epilogue += exposed * (end.work + end.sent);
        }
        if (e->rows) t.issued += ph->times * ph->resident * output_clocks(m, r, e);
        t.unit += ph->times * ph->resident * e->unit;
        double others = ph->times - last / ph->resident;
        t.staged += others * end.smem;
        t.stored += others * end.stored;
        t.last = (end.work + end.sent) / ph->resident;
        t.turns += ph->times * ph->steps;
        t.busy += ph->times * ph->resident * ph->steps * m->sms;
    }
    return t;
}

/* Least time for `reads` bytes of DRAM with the bytes in flight that the blocks keep there.  */
static double in_flight_us(const Model *m, const RProg *r, const Step *s, double reads,
                           double blocks, double steps) {
    double resident = lesser(r->blocks_per_sm, whole(blocks / m->sms));
    double in_flight = resident * s->bytes * lesser(rprog_steps_ahead(m->p, r), steps);
    return m->in_flight ? reads / hal_curve(m->in_flight, in_flight) * 1e6 : 0;
}

/* Time of the epilogue beyond the longest of the other terms.  */
static double epilogue_us(const Ending *e, const Course *t, const Estimate *x, double to_us) {
    double core = 0;
    for (MpTerm i = MP_L2; i <= MP_LATENCY; i++) core = greater(core, x->term[i]);
    double end = greater(core + t->epilogue * to_us, x->term[MP_DRAM]);
    /* Other blocks and tiles hide an end as far as they leave it pipes, and slots to issue it.  */
    end = greater(end, x->term[MP_L2] + (t->stored + t->last) * to_us);
    end = greater(end, x->term[MP_SMEM] + (t->staged + t->last) * to_us);
    if (e->rows) end = greater(end, x->term[MP_ISSUE] + t->issued * to_us);
    end = greater(end, x->term[MP_COMPUTE] + t->unit * to_us);
    return end - greater(core, x->term[MP_DRAM]);
}

/* Share of the outputs in tiles that lie outside of the tensor.  */
static double padding_of(const Problem *p, const RProg *r) {
    double padded = 1, inside = 1;
    for (int axis = AX_M; axis <= AX_N; axis++) {
        padded *= (double)(rprog_tiles(p, r, axis) * r->block.extent[axis]);
        inside *= (double)p->extent[axis];
    }
    return inside > 0 ? padded / inside - 1 : 0;
}

/* Groups of fragments that warps of an SM fetch or compute at the same time: each has one, or two
 * where it fetches ahead.  */
static double turns_of(const Model *m, const RProg *r, const Estimate *e) {
    double blocks = lesser(r->blocks_per_sm, whole((double)e->blocks / m->sms));
    bool ahead = rprog_fetched_ahead(m->dev, r, 0) && rprog_fetched_ahead(m->dev, r, 1);
    return blocks * r->threads / WARP * (ahead ? 2 : 1);
}

/* Terms and time if the SMs have this clock.  DRAM has its own.  */
static void time_course(const Model *m, const RProg *r, const Ending *e, const Course *t,
                        double clock, Estimate *out) {
    double to_us = 1e6 / clock;
    out->clock = clock;
    for (MpTerm i = MP_L2; i <= MP_LATENCY; i++) out->term[i] = t->term[i] * to_us;
    out->term[MP_LATENCY] = greater(out->term[MP_LATENCY], t->in_flight_us);
    out->term[MP_FILL] = t->fill * to_us + m->ramp_us;
    out->term[MP_EPILOGUE] = epilogue_us(e, t, out, to_us);
    if (m->dev->unit[r->unit].b_smem) mp_finish_ring(out, rprog_steps_ahead(m->p, r));
    else mp_finish_turns(out, turns_of(m, r, out));
}

/* A turn of the first phase, in clocks (1e6 us a second).  The terms of DRAM and OVERLAP are shared
 * out evenly.  */
static MpTurn turn_of(const Model *m, const RProg *r, const Step *s, const Ending *e,
                      const Course *t, const Estimate *x) {
    const Phase *first = &t->first;
    Phase one = *first;
    double clocks[MP_COUNT] = {0}, each = t->turns > 0 ? x->clock / 1e6 / t->turns : 0;
    one.times = one.steps = 1;
    add_phase(m, r, s, &one, t->miss, clocks);
    EndClocks end = end_clocks(m, r, e, first);
    double met = r->cluster > 1 ? 2 * m->dev->overheads.cluster_barrier.value : 0;
    double computed = greater(clocks[MP_COMPUTE], greater(clocks[MP_SMEM], clocks[MP_ISSUE]));
    double dram = greater(x->term[MP_DRAM], t->in_flight_us) * each;
    return (MpTurn){.turns = first->steps,
                    .tiles = rprog_persistent(r) ? whole(first->times)
                                                 : (double)rprog_stats_turns(m->p, r),
                    .first = m->block_start + met + m->dram_latency,
                    .latency = m->l2_latency + t->miss * (m->dram_latency - m->l2_latency),
                    .copy = {greater(clocks[MP_L2], dram)},
                    .product = {computed},
                    .wait = x->term[MP_OVERLAP] * each,
                    .end = end.work,
                    .apart = rprog_tensor(m->dev, r) ? sums_clocks(m, r) : end.work,
                    .sent = end.sent};
}

/* Of what a block copies once, the share of one of its tiles.  */
static void share_copies(double tiles, OperandCounts *c) {
    c->sectors /= tiles;
    c->store_wavefronts = (int64_t)((double)c->store_wavefronts / tiles);
    c->requests = (int64_t)((double)c->requests / tiles);
}

void mp_estimate_product(const Model *m, const RProg *r, CountMemo *memo, const Ending *of,
                         Estimate *out) {
    const Problem *p = m->p;
    StepCounts c;
    Ending own = *of, *e = &own;
    mp_step_counts(m, r, memo, &c);
    if (e->kept) share_copies(mp_tiles_of_block(m, r), &c.of[1]);
    if (!own.leaving.r) own.leaving = (Leaving){m, r, &c};
    Step s = mp_step(m, r, &c);
    double turns = (double)rprog_stats_turns(p, r), tiles = (double)rprog_blocks(p, r) * turns;
    double blocks = tiles / turns * r->split - r->tail + r->tail_blocks;
    double all_steps = (double)rprog_tiles(p, r, AX_K);
    if (e->kept) s.teams = rprog_in_turn(r);
    *(m->dev->unit[r->unit].b_smem ? &s.behind : &s.region) += e->loads;
    if (e->loads > 0) s.bytes += e->loads / (all_steps * mp_tiles_of_block(m, r));
    *out = (Estimate){.blocks = (int64_t)blocks, .blocks_per_sm = r->blocks_per_sm};
    fill_counts(m, r, &s, e, tiles, out);

    out->store_sectors = (int64_t)(e->sectors + 0.5);
    double reads = mp_dram_reads(m, r) + e->reads, writes = e->writes, stored = writes;
    double l2_bytes = tiles * all_steps * s.bytes;
    double miss = l2_bytes > 0 ? lesser(1, 4 * reads / l2_bytes) : 1;
    /* Parts of sectors cost as much as whole ones, narrow rows of boxes more.  */
    stored = greater(stored, (double)out->store_sectors * SECTOR);
    double direct = m->out_bytes * direct_share(m, r);
    stored += mp_boxes_asked(e->leaving.m, e->leaving.r, direct) - direct;
    Phases phases;
    mp_grid_phases(m, r, stored, &phases);
    Course t = course_of(m, r, &s, e, &phases, miss);
    double read_rate = lesser(m->dram_read, lesser(blocks, m->sms) * m->dram_port);
    t.in_flight_us = in_flight_us(m, r, &s, reads, blocks, phases.at[0].steps);
    const ComputeUnit *u = &m->dev->unit[r->unit];
    out->dram_bytes = reads + writes;
    out->term[MP_DRAM] = mp_dram_us(m, reads, read_rate, writes, m->dram_write);
    out->term[MP_SPLIT] = mp_split_us(m, r, m->out_bytes * (1 - direct_share(m, r)));
    out->term[MP_LAUNCH] = m->launch_us;
    time_course(m, r, e, &t, m->clock, out);
    for (int i = 0; i < CLOCK_ITERATIONS && hal_slows(m->dev, u); i++)
        time_course(m, r, e, &t, mp_allowed_clock(m, u, out), out);
    double work = r->tail > 0 ? tiles * all_steps : blocks * turns * phases.at[0].steps;
    if (m->wants_turn) out->turn = turn_of(m, r, &s, e, &t, out);
    out->waves = blocks / (mp_filled_sms(m, r) * r->blocks_per_sm);
    out->wave_efficiency = t.busy > 0 ? work / t.busy : 0;
    out->padding_waste = padding_of(p, r);
}

void mp_estimate_contract(const Model *m, const RProg *r, CountMemo *memo, Estimate *out) {
    const Problem *p = m->p;
    Ending e = {.reads = (double)p->epilogue_bytes,
                .writes = mp_sum_bytes(p, r) + m->out_bytes * direct_share(m, r),
                .sectors = mp_store_sectors(m, r, memo), .ops = p->epilogue_ops + MP_STORED,
                .functions = p->epilogue_functions};
    mp_estimate_product(m, r, memo, &e, out);
}
