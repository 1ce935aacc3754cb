/* The estimate of the chain skeleton.  What a turn takes is in chain_turn.c; r: resident blocks of
 * an SM; 1e6 us a second.
 *
 *   COMPUTE: products, folds and powers as they overlap, with their waits
 *   ISSUE: all instructions / issue
 *   SMEM: r * wavefronts of fragments of b and V by all warps, of a unless registers keep it, and
 *       of the copies; units of warpgroups read b and V once for each warpgroup, and a
 *   L2: sectors of b's and V's tiles
 *   LATENCY: (latency of L2 + r * bytes / share) / (slots - 0.5): a fill begins so many turns
 *       before its use; at least DRAM bytes / rate(bytes in flight), the profile's curve over bytes
 *       that an SM has under way: r * tiles of b and V * (slots - 0.5), by the share of SMs at work
 *   DRAM: a, b, V and the outputs once.  b and V of a batch are read by all of its blocks, which
 *       run side by side; where those of the batches that run at the same time exceed L2, once by
 *       each block
 *   FILL: block_start + DRAM latency + a's and b's first tiles, the ramp of DRAM, and
 *       what overlaps with nothing there
 *   SPLIT: slices of the turns are blocks of their own, and store results and values of rows to the
 *       workspace; a second kernel merges them (contract.c)
 *   EPILOGUE: r * (outputs * (operations + 4) / issue + sectors / share) + l2.latency
 *   OVERLAP: of units of warps, of shared memory and the rest (model.c); of warpgroups, of the
 *       rings' slots, as of a contract program's
 *
 * Blocks that stay: FILL is that of their first tile, and for each tile what overlaps with nothing;
 * a's next tile comes while the last turn's results are multiplied and stored (in Tensor Memory:
 * are stored), of which the instructions count, and beyond that where it is longer.
 *
 * A program that streams k is the first product's contract program with another end (ending.h):
 * the folds' instructions, the second product's clocks of the unit, wavefronts and outputs, and V,
 * which a block loads before its steps, one of warpgroups half way.
 *
 * Blocks run in waves (phases.c); blocks that visit fewer turns (ColumnBounds) fill each other's
 * gaps, longest first, so that all take their mean.  */
#include "microperf/chain.h"
#include "microperf/phases.h"
#include "microperf/sectors.h"
#include "microperf/story.h"

/* Turns from the begin of a fill to its use.  A slot is free when the products of a turn have read
 * it, half a turn before or behind where the turn `stages` on needs it (Ring.ahead counts in the
 * order of the program: b's is one more than V's).  */
static double ahead(const RProg *r) { return r->stages - 0.5; }

static double blocks_of(const Model *m, const RProg *r) {
    return (double)rprog_blocks(m->p, r) * r->split;
}

/* Blocks that differ in length, longest first, fill the SMs evenly: at the least for as long as the
 * longest one.  */
static void phases_of(const Model *m, const RProg *r, double stored, double turns, Phases *out) {
    double all = (double)rprog_chain_turns(m->p, r);
    double each = r->split > 1 ? whole(turns / r->split) : turns;
    mp_grid_phases(m, r, stored, out);
    for (int i = 0; i < out->n; i++) out->at[i].steps = each;
    if (turns >= all || turns <= 0) return;
    double blocks = blocks_of(m, r), slots = m->sms * r->blocks_per_sm;
    double longest = rprog_chain_parted(m->p, r)
                         ? (double)rprog_chain_longest(m->p, r, rprog_launched(m->p, m->dev, r))
                         : 0;
    out->n = 1;
    out->at[0].active = lesser(blocks, m->sms);
    out->at[0].resident = lesser(whole(blocks / m->sms), r->blocks_per_sm);
    out->at[0].times = greater(blocks / slots, (longest > 0 ? longest : all) / turns);
}

static void add_phase(const Model *m, const RProg *r, const ChainTurn *t, const Phase *ph,
                      double clocks[MP_COUNT]) {
    double n = ph->times * ph->steps, blocks = ph->resident;
    double share = lesser(m->l2_port, m->l2_rate / m->clock / ph->active);
    double wait = m->dev->unit[r->unit].b_smem ? 0 : 2 * blocks * m->step_tax;
    ChainClocks c = mp_chain_clocks(m, r, t, blocks);
    double issued = t->step[0].issue + t->step[1].issue + t->folds + t->power_issue;
    clocks[MP_L2] += n * blocks * t->bytes / share;
    clocks[MP_SMEM] += n * blocks * t->wavefronts / m->smem_rate;
    clocks[MP_COMPUTE] += n * c.all;
    clocks[MP_ISSUE] += n * (blocks * issued / m->issue + wait);
    clocks[MP_LATENCY] += n * (m->l2_latency + blocks * t->bytes / share) / ahead(r);
}

/* Clocks until these bytes of each block are there.  */
static double fetch_clocks(const Model *m, const Phase *ph, double bytes) {
    double share = lesser(m->l2_port, m->l2_rate / m->clock / ph->active);
    return m->dram_latency + ph->resident * bytes / share;
}

/* Clocks before the first turn of the blocks of a phase.  */
static double fill_clocks(const Model *m, const RProg *r, const ChainTurn *t, const Phase *ph) {
    double bytes = t->a_bytes + t->counts[0].of[1].sectors * SECTOR;
    double ends = mp_chain_clocks(m, r, t, ph->resident).ends;
    return m->block_start + fetch_clocks(m, ph, bytes) + ends;
}

/* Clocks behind the last turn: of the threads that compute, and until L2 has what they store.  */
typedef struct {
    double work, sent;
} EndClocks;

static Leaving leaving(const ChainTurn *t) {
    return (Leaving){&t->of[1], &t->prog[1], &t->counts[1]};
}

static EndClocks end_clocks(const Model *m, const RProg *r, const ChainTurn *t, const Phase *ph) {
    double outputs = (double)r->block.extent[AX_M] * r->block.extent[AX_E], smem;
    double port = lesser(m->l2_port, m->l2_write / m->clock / ph->active), through = 0;
    Leaving x = leaving(t);
    if (r->via != VIA_DIRECT) through = mp_through_clocks(&x, &smem);
    double ops = MP_STORED + (r->split > 1 ? 0 : m->p->next->epilogue_ops);
    double work = outputs * ops / (m->issue * WARP) + through, sent = ph->bytes / port;
    sent -= mp_beside_clocks(&x, work, sent);
    return (EndClocks){ph->resident * work, ph->resident * sent + m->l2_latency};
}

/* Clocks between the turns of a tile and those of the next one, of blocks that stay.  */
static double between_tiles(const Model *m, const RProg *r, const ChainTurn *t, const Phase *ph) {
    ChainClocks c = mp_chain_clocks(m, r, t, ph->resident);
    double work = end_clocks(m, r, t, ph).work;
    double beside = t->apart ? work : c.unit[1] + work;
    double late = fetch_clocks(m, ph, t->a_bytes) - beside;
    return work + greater(late, 0) + c.ends;
}

/* What blocks of a phase take before and behind their turns.  */
static void add_ends(const Model *m, const RProg *r, const ChainTurn *t, const Phases *phases,
                     int i, double clocks[MP_COUNT]) {
    const Phase *ph = &phases->at[i];
    bool last = i == phases->n - 1, stays = rprog_persistent(r);
    /* Resident blocks hide each other's ends, except those of the last wave.  */
    double exposed = ph->times / ph->resident + last * (1 - 1 / ph->resident);
    EndClocks end = end_clocks(m, r, t, ph);
    if (!stays || i == 0) clocks[MP_FILL] += (stays ? 1 : exposed) * fill_clocks(m, r, t, ph);
    if (!stays || last) clocks[MP_EPILOGUE] += (stays ? 1 : exposed) * (end.work + end.sent);
    if (stays) clocks[MP_EPILOGUE] += (exposed - last) * between_tiles(m, r, t, ph);
}

/* Bytes that come from DRAM.  */
static double dram_reads(const Model *m, const RProg *r) {
    const Problem *p = m->p;
    const ROperand *v = &p->next->op[1];
    double batches = greater((double)p->extent[AX_B], 1), tiles = (double)rprog_tiles(p, r, AX_M);
    double shared = m->unique[1] + (double)v->unique * v->bytes;
    double at_once = lesser(whole(m->sms * r->blocks_per_sm / tiles), batches);
    if (r->group > 0) at_once = lesser(r->group, batches);
    double times = shared / batches * at_once > m->l2_capacity ? tiles : 1;
    return m->unique[0] + (double)p->next->epilogue_bytes + shared * times;
}

/* Least time for so many bytes of DRAM with what the blocks have under way, in us.  */
static double in_flight_us(const Model *m, const RProg *r, const ChainTurn *t, double reads,
                           double blocks) {
    double resident = lesser(r->blocks_per_sm, whole(blocks / m->sms));
    double under_way = resident * t->bytes * ahead(r) * lesser(blocks / m->sms, 1);
    return m->in_flight ? reads / hal_curve(m->in_flight, under_way) * 1e6 : 0;
}

static void time_course(const Model *m, const RProg *r, const double clocks[MP_COUNT],
                        double in_flight, double hz, Estimate *out) {
    out->clock = hz;
    for (MpTerm i = MP_L2; i < MP_COUNT; i++)
        if (i != MP_LAUNCH && i != MP_SPLIT && i != MP_OVERLAP)
            out->term[i] = clocks[i] * 1e6 / hz;
    out->term[MP_LATENCY] = greater(out->term[MP_LATENCY], in_flight);
    if (m->dev->unit[r->unit].b_smem) mp_finish_ring(out, ahead(r));
    else mp_finish_turns(out, greater(out->blocks_per_sm * r->threads / WARP, 1));
}

static void fill_counts(const ChainTurn *t, double blocks, double turns, Estimate *out) {
    double stores = 0, reads = 0;
    for (int i = 0; i < MP_PRODUCTS; i++) {
        stores += t->step[i].stored;
        reads += t->step[i].wavefronts - t->step[i].stored;
        out->fma += (int64_t)(blocks * turns * t->step[i].fma);
    }
    out->load_sectors = (int64_t)(blocks * (turns * t->bytes + t->a_bytes) / SECTOR);
    out->smem_load_wavefronts = (int64_t)(blocks * (turns * reads + t->a_reads));
    out->smem_store_wavefronts = (int64_t)(blocks * (turns * stores + t->a_stores));
}

/* A turn of the first of the phases.  The terms of DRAM and OVERLAP are shared out evenly; what a
 * turn takes beyond what overlaps in it, its parts wait for each other.  */
static MpTurn turn_of(const Model *m, const RProg *r, const ChainTurn *t, const Phases *phases,
                      double in_flight_us, const Estimate *x) {
    const Phase *first = &phases->at[0];
    Phase one = *first;
    double clocks[MP_COUNT] = {0}, turns = 0;
    for (int i = 0; i < phases->n; i++) turns += phases->at[i].times * phases->at[i].steps;
    double each = turns > 0 ? x->clock / 1e6 / turns : 0;
    one.times = one.steps = 1;
    add_phase(m, r, t, &one, clocks);
    ChainClocks c = mp_chain_clocks(m, r, t, first->resident);
    double share = lesser(m->l2_port, m->l2_rate / m->clock / first->active);
    double powers = c.folds + c.powers, steady = clocks[MP_ISSUE];
    EndClocks end = end_clocks(m, r, t, first);
    double dram = greater(x->term[MP_DRAM], in_flight_us) * each;
    steady = greater(steady, greater(clocks[MP_COMPUTE], clocks[MP_SMEM]));
    MpTurn out = {.turns = whole(first->steps),
                  .tiles = 1,
                  .first = m->block_start + m->dram_latency + first->resident * t->a_bytes / share,
                  .latency = m->l2_latency,
                  .powers = powers,
                  .wait = greater(steady - mp_chain_busy(r, &c), 0) + x->term[MP_OVERLAP] * each,
                  .sent = end.work + end.sent};
    for (int i = 0; i < MP_PRODUCTS; i++) {
        double bytes = t->step[i].bytes, part = t->bytes > 0 ? bytes / t->bytes : 0;
        out.copy[i] = greater(first->resident * bytes / share, dram * part);
        out.product[i] = c.unit[i];
    }
    return out;
}

/* Where k is streamed: the first product as a contract program, whose ending is all else.  */
static void estimate_stream(const Model *m, const RProg *r, CountMemo *memo, Estimate *out) {
    ChainTurn t;
    mp_chain_turn(m, r, memo, &t);
    ChainClocks c = mp_chain_clocks(m, r, &t, 1);
    const Step *last = &t.step[1];
    double reads = last->wavefronts - last->stored;
    double stored = last->stored / mp_tiles_of_block(m, r);               /* V, once a block */
    Ending e = {.reads = (double)m->p->next->epilogue_bytes,
                .writes = m->out_bytes,
                .sectors = mp_store_sectors(&t.of[1], &t.prog[1], mp_count_product(memo, 1)),
                .elements = (double)r->block.extent[AX_M] * r->block.extent[AX_E],
                .ops = m->p->next->epilogue_ops + MP_STORED,
                .meeting = t.folds + t.power_issue,
                .rows = true,
                .kept = rprog_keeps_steps(m->p, r),
                .loads = last->bytes,
                .unit = c.unit[1],
                .wavefronts = reads + stored,
                .leaving = leaving(&t)};
    e.reads += (double)m->p->next->op[1].unique * m->p->next->op[1].bytes;
    mp_estimate_product(m, &t.prog[0], memo, &e, out);
    double blocks = blocks_of(m, r);
    out->fma += (int64_t)(blocks * last->fma);
    out->smem_load_wavefronts += (int64_t)(blocks * reads);
    out->smem_store_wavefronts += (int64_t)(blocks * stored);
    out->load_sectors += (int64_t)(blocks / mp_tiles_of_block(m, r) * last->bytes / SECTOR);
}

static void estimate(const Model *m, const RProg *r, CountMemo *memo, Estimate *out) {
    enum { CLOCK_ITERATIONS = 4 };
    if (rprog_chain_streams(m->p, r)) {
        estimate_stream(m, r, memo, out);
        return;
    }
    const ComputeUnit *u = &m->dev->unit[r->unit];
    ChainTurn t;
    mp_chain_turn(m, r, memo, &t);
    double clocks[MP_COUNT] = {0}, blocks = blocks_of(m, r);
    double turns = mp_chain_turns(m, r), sums = mp_sum_bytes(m->p, r);
    double written = r->split > 1 ? sums : m->out_bytes;
    double sectors = mp_store_sectors(&t.of[1], &t.prog[1], mp_count_product(memo, 1));
    Phases phases;
    *out = (Estimate){.blocks = (int64_t)blocks, .blocks_per_sm = r->blocks_per_sm};
    out->store_sectors = (int64_t)(sectors + 0.5);
    phases_of(m, r, greater(sectors * SECTOR, written), turns, &phases);
    for (int i = 0; i < phases.n; i++) {
        add_phase(m, r, &t, &phases.at[i], clocks);
        add_ends(m, r, &t, &phases, i, clocks);
    }
    clocks[MP_FILL] += m->ramp_us * m->clock / 1e6;
    fill_counts(&t, blocks, turns / r->split, out);
    double reads = dram_reads(m, r);
    out->dram_bytes = reads + written;
    double in_flight = in_flight_us(m, r, &t, reads, blocks);
    double read_rate = lesser(m->dram_read, lesser(blocks, m->sms) * m->dram_port);
    out->term[MP_DRAM] = mp_dram_us(m, reads, read_rate, written, m->dram_write);
    out->term[MP_SPLIT] = mp_split_us(m, r, m->out_bytes);
    out->term[MP_LAUNCH] = m->launch_us;
    time_course(m, r, clocks, in_flight, m->clock, out);
    for (int i = 0; i < CLOCK_ITERATIONS && hal_slows(m->dev, u); i++)
        time_course(m, r, clocks, in_flight, mp_allowed_clock(m, u, out), out);
    if (m->wants_turn) out->turn = turn_of(m, r, &t, &phases, in_flight, out);
    out->waves = blocks / (m->sms * r->blocks_per_sm);
    out->wave_efficiency = out->waves > 0 ? out->waves / whole(out->waves) : 0;
}

/* Among equals: fewer threads, fewer slots, wider stores.  */
static int compare(const RProg *a, const RProg *b) {
    int c = mp_compare(a->stages, b->stages);
    if (!c) c = mp_wider_stores(a, b);
    return c ? c : mp_compare(a->threads, b->threads);
}

static bool alike(const RProg *a, const RProg *b) {
    return a->keep == b->keep && a->overlap == b->overlap && a->grid == b->grid &&
           mp_same_stores(a, b);
}

static void explain(const Story *s) {
    const RProg *r = &s->best->prog;
    double us[OVERLAP_COUNT] = {0};
    for (Overlap i = OVERLAP_NONE; i < OVERLAP_COUNT && s->dev->unit[r->unit].b_smem; i++) {
        Estimate e;
        RProg x = *r;
        x.overlap = i;
        rprog_derive(s->p, s->dev, &x);
        if (i == r->overlap || rprog_check(s->p, s->dev, &x)) continue;
        estimate(&s->m, &x, NULL, &e);
        us[i] = e.us;
    }
    mp_chain_explain(s, us);
}

const ModelRow mp_chain = {.estimate = estimate, .compare = compare, .alike = alike,
                           .summary = mp_chain_summary, .explain = explain};
