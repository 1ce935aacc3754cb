/* The estimate of the chain skeleton.
 *
 * In a turn a warp multiplies BM x BN scores, makes powers of them, and multiplies those: three
 * things one after the other, each of which needs all of the one before.  With BM, BN, K, E the
 * block tile, w its warps, WM = BM / w, s = WM * BN scores of a warp, r the resident blocks of an
 * SM, clocks per turn and SM (1e6 us a second):
 *
 *   unit: the k-step of either product, as of a contract program (step.c): fragments, latency, rate
 *   folds: r * w * (s / 32 * (maps + 1 for the leader) + WM * E / 32 to correct results + 2 * rows
 *       of a lane * log2(lanes of a row) for shuffles and steps) / issue
 *   powers: the larger of r * w * s * powers / rate(mufu.ex2) and their issue: the power's
 *       argument, the power, folds that follow, 0.5 for a conversion of two
 *   COMPUTE: unit + folds + powers + waits.  They are a sum, not the larger one: warps of a
 *       scheduler that run the same program side by side do not fill each other's gaps: of
 *       FlashAttention-2 on H100 SXM5, heads of 64 and 2048 keys, 318 TFLOP/s were published (arXiv
 *       2407.08608, figure of head dimension 64), the sum says 293, the unit alone would allow 642
 *   waits: two barriers a turn, each pipeline_step, of every resident block (step.c)
 *   ISSUE: all instructions / issue
 *   SMEM: r * wavefronts of fragments of b and V by all warps, of a unless registers keep it, and
 *       of the copies
 *   L2: sectors of b's and V's tiles
 *   LATENCY: (latency of L2 + r * bytes / share) / (slots - 0.5): a fill begins so many turns
 *       before its use; at least DRAM bytes / rate(bytes in flight), the profile's curve over bytes
 *       that an SM has under way: r * tiles of b and V * (slots - 0.5), by the share of SMs at work
 *   DRAM: a, b, V and the outputs once.  b and V of a batch are read by all of its blocks, which
 *       run side by side; where those of the batches that run at the same time exceed L2, once by
 *       each block
 *   FILL: block_start + DRAM latency + a's and b's first tiles
 *   EPILOGUE: r * (outputs * (operations + 4) / issue + sectors / share) + l2.latency
 *
 * Blocks run in waves (phases.c); blocks that visit fewer turns (ColumnBounds) fill each other's
 * gaps, longest first, so that all take their mean.
 *
 * With T turns of N / BN this is T_mma = 2 e (K + E) / rate and T_exp = e * powers / mufu rate for
 * e = B M N scores, and what they wait for.  */
#include "microperf/matrix.h"
#include "microperf/phases.h"
#include "microperf/sectors.h"
#include "microperf/story.h"

#include <string.h>

enum { PRODUCTS = 2 };

/* What a block does in one turn.  */
typedef struct {
    RProg prog[PRODUCTS];
    Model of[PRODUCTS];
    StepCounts counts[PRODUCTS];
    Step step[PRODUCTS];
    double warps;
    double folds, powers, power_issue;    /* warp instructions; exponentials; instructions */
    double wavefronts, bytes;             /* of shared memory; from L2 */
    double a_bytes;           /* of operand a before the first turn: from L2; wavefronts, ... */
    double a_reads, a_stores; /* ... reads of fragments that registers keep */
} Turn;

/* What side `side` of a product does not do in a turn.  */
static void leave_out(StepCounts *c, int side, bool reads, bool loads) {
    if (reads) c->reads[side] = c->fragment_wavefronts[side] = 0;
    if (loads) c->store_wavefronts[side] = c->requests[side] = c->passes[side] = 0;
    if (loads) c->sectors[side] = 0;
}

static int log2_of(int n) {
    int bits = 0;
    while (n > 1 << bits) bits++;
    return bits;
}

/* Instructions of all warps between the products.  */
static void count_scores(const Model *m, const RProg *r, Turn *t) {
    const ChainFacts *f = m->p->chain;
    double rows = r->block.extent[AX_M], scores = rows * r->block.extent[AX_N] / WARP;
    Fragment results = rprog_results(m->dev, r);
    int lanes = fragment_lanes(&results, FRAG_COL);
    double shuffles = 2 * rows * lanes / WARP * log2_of(lanes);
    bool follows = f->chain->follow != FOLLOW_NONE;
    double corrected = follows ? rows * r->block.extent[AX_E] / WARP : 0;
    t->powers = scores * WARP * f->powers;
    t->power_issue = scores * (f->powers * (1 + f->power_ops) + 0.5);
    t->folds = scores * f->ops + corrected + (follows ? shuffles : 0);
}

static Turn turn_of(const Model *m, const RProg *r) {
    Turn t = {.warps = (double)r->threads / WARP};
    for (int i = 0; i < PRODUCTS; i++) {
        StepCounts *c = &t.counts[i];
        t.prog[i] = rprog_chain_product(r, i);
        t.of[i] = i ? mp_model(m->p->next, m->dev) : *m;
        mp_step_counts(&t.of[i], &t.prog[i], NULL, c);
        if (i == 0) {
            t.a_bytes = c->sectors[0] * SECTOR;
            t.a_stores = (double)c->store_wavefronts[0];
            if (r->keep == KEEP_REGISTERS)
                t.a_reads = t.warps * (double)c->fragment_wavefronts[0];
        }
        leave_out(c, 0, i > 0 || r->keep == KEEP_REGISTERS, true);
        t.step[i] = mp_step(&t.of[i], &t.prog[i], c);
        t.wavefronts += t.step[i].wavefronts + t.step[i].passes;
        t.bytes += t.step[i].bytes;
    }
    count_scores(m, r, &t);
    return t;
}

static double power_rate(const Device *dev) {
    for (int i = 0; i < dev->n_unit; i++) {
        if (!strcmp(dev->unit[i].name, "mufu.ex2")) return dev->unit[i].rate.value;
    }
    return 0;
}

/* Clocks of a turn of `resident` blocks: of the unit; of folds; of powers.  */
typedef struct {
    double unit, folds, powers;
} TurnClocks;

static TurnClocks turn_clocks(const Model *m, const Turn *t, double resident) {
    TurnClocks c = {.folds = resident * t->folds / m->issue};
    double rate = power_rate(m->dev);
    for (int i = 0; i < PRODUCTS; i++)
        c.unit += mp_unit_clocks(&t->of[i], &t->prog[i], &t->step[i], resident);
    c.powers = resident * t->power_issue / m->issue;
    if (rate > 0) c.powers = greater(c.powers, resident * t->powers / rate);
    return c;
}

/* Turns that blocks visit: the mean, at most all.  */
static double mean_turns(const Model *m, const RProg *r) {
    int64_t tiles = rprog_tiles(m->p, r, AX_M), all = 0;
    for (int64_t i = 0; i < tiles; i++) all += rprog_chain_visited(m->p, r, i);
    return tiles > 0 ? (double)all / (double)tiles : 0;
}

/* Blocks that differ in length, longest first, fill the SMs evenly: at the least for as long as the
 * longest one.  */
static void phases_of(const Model *m, const RProg *r, double stored, double turns, Phases *out) {
    double all = (double)rprog_chain_turns(m->p, r);
    mp_grid_phases(m, r, stored, out);
    for (int i = 0; i < out->n; i++) out->at[i].steps = turns;
    if (turns >= all || turns <= 0) return;
    double blocks = (double)rprog_blocks(m->p, r), slots = m->sms * r->blocks_per_sm;
    out->n = 1;
    out->at[0].active = lesser(blocks, m->sms);
    out->at[0].resident = lesser(whole(blocks / m->sms), r->blocks_per_sm);
    out->at[0].times = greater(blocks / slots, all / turns);
}

static void add_phase(const Model *m, const RProg *r, const Turn *t, const Phase *ph,
                      double clocks[MP_COUNT]) {
    double n = ph->times * ph->steps, blocks = ph->resident;
    double share = lesser(m->l2_port, m->l2_rate / m->clock / ph->active);
    double wait = 2 * blocks * m->step_tax;
    TurnClocks c = turn_clocks(m, t, blocks);
    double issued = t->step[0].issue + t->step[1].issue + t->folds + t->power_issue;
    clocks[MP_L2] += n * blocks * t->bytes / share;
    clocks[MP_SMEM] += n * blocks * t->wavefronts / m->smem_rate;
    clocks[MP_COMPUTE] += n * (c.unit + c.folds + c.powers + wait);
    clocks[MP_ISSUE] += n * (blocks * issued / m->issue + wait);
    clocks[MP_LATENCY] += n * (m->l2_latency + blocks * t->bytes / share) / (r->stages - 0.5);
}

/* Clocks before the first turn of the blocks of a phase, and behind the last.  */
static double fill_clocks(const Model *m, const Turn *t, const Phase *ph) {
    double share = lesser(m->l2_port, m->l2_rate / m->clock / ph->active);
    double bytes = t->a_bytes + t->counts[0].sectors[1] * SECTOR;
    return m->block_start + m->dram_latency + ph->resident * bytes / share;
}

static double end_clocks(const Model *m, const RProg *r, const Turn *t, const Phase *ph) {
    double outputs = (double)r->block.extent[AX_M] * r->block.extent[AX_E];
    double port = lesser(m->l2_port, m->l2_write / m->clock / ph->active), through = 0;
    if (r->via == VIA_SHARED) {
        double rounds = (double)r->warp.extent[AX_M] / r->thread.extent[AX_M];
        const StepCounts *c = &t->counts[1];
        double all = t->warps * (double)(c->staging_stores + c->staging_loads);
        through = rounds * (all / m->smem_rate + 2 * m->smem_latency);
    }
    double work = outputs * (m->p->next->epilogue_ops + 4) / (m->issue * WARP) + through;
    return ph->resident * (work + ph->bytes / port) + m->l2_latency;
}

/* Bytes that come from DRAM.  */
static double dram_reads(const Model *m, const RProg *r) {
    const Problem *p = m->p;
    const ROperand *v = &p->next->op[1];
    double batches = greater((double)p->extent[AX_B], 1), tiles = (double)rprog_tiles(p, r, AX_M);
    double shared = m->unique[1] + (double)v->unique * v->bytes;
    double at_once = lesser(whole(m->sms * r->blocks_per_sm / tiles), batches);
    double times = shared / batches * at_once > m->l2_capacity ? tiles : 1;
    return m->unique[0] + (double)p->next->epilogue_bytes + shared * times;
}

/* Least time for so many bytes of DRAM with what the blocks have under way, in us.  */
static double in_flight_us(const Model *m, const RProg *r, const Turn *t, double reads,
                           double blocks) {
    double resident = lesser(r->blocks_per_sm, whole(blocks / m->sms));
    double under_way = resident * t->bytes * (r->stages - 0.5) * lesser(blocks / m->sms, 1);
    return m->in_flight ? reads / hal_curve(m->in_flight, under_way) * 1e6 : 0;
}

static void time_course(const RProg *r, const double clocks[MP_COUNT],
                        double in_flight, double hz, Estimate *out) {
    out->clock = hz;
    for (MpTerm i = MP_L2; i < MP_COUNT; i++)
        if (i != MP_LAUNCH && i != MP_SPLIT && i != MP_OVERLAP)
            out->term[i] = clocks[i] * 1e6 / hz;
    out->term[MP_LATENCY] = greater(out->term[MP_LATENCY], in_flight);
    mp_finish_turns(out, greater(out->blocks_per_sm * r->threads / WARP, 1));
}

static void fill_counts(const Turn *t, double blocks, double turns, Estimate *out) {
    double stores = 0, reads = 0;
    for (int i = 0; i < PRODUCTS; i++) {
        stores += t->step[i].stored;
        reads += t->step[i].wavefronts - t->step[i].stored;
        out->fma += (int64_t)(blocks * turns * t->step[i].fma);
    }
    out->load_sectors = (int64_t)(blocks * (turns * t->bytes + t->a_bytes) / SECTOR);
    out->smem_load_wavefronts = (int64_t)(blocks * (turns * reads + t->a_reads));
    out->smem_store_wavefronts = (int64_t)(blocks * (turns * stores + t->a_stores));
}

static void estimate(const Model *m, const RProg *r, CountMemo *memo, Estimate *out) {
    enum { CLOCK_ITERATIONS = 4 };
    (void)memo;
    const ComputeUnit *u = &m->dev->unit[r->unit];
    Turn t = turn_of(m, r);
    double clocks[MP_COUNT] = {0}, blocks = (double)rprog_blocks(m->p, r);
    double turns = mean_turns(m, r);
    double sectors = mp_store_sectors(&t.of[1], &t.prog[1], NULL);
    Phases phases;
    *out = (Estimate){.blocks = (int64_t)blocks, .blocks_per_sm = r->blocks_per_sm};
    out->store_sectors = (int64_t)(sectors + 0.5);
    phases_of(m, r, greater(sectors * SECTOR, m->out_bytes), turns, &phases);
    for (int i = 0; i < phases.n; i++) {
        Phase *ph = &phases.at[i];
        bool last = i == phases.n - 1;
        double exposed = last ? (ph->times - 1) / ph->resident + 1 : ph->times / ph->resident;
        add_phase(m, r, &t, ph, clocks);
        clocks[MP_FILL] += exposed * fill_clocks(m, &t, ph);
        clocks[MP_EPILOGUE] += exposed * end_clocks(m, r, &t, ph);
    }
    fill_counts(&t, blocks, turns, out);
    double reads = dram_reads(m, r);
    out->dram_bytes = reads + m->out_bytes;
    double in_flight = in_flight_us(m, r, &t, reads, blocks);
    double read_rate = lesser(m->dram_read, lesser(blocks, m->sms) * m->dram_port);
    out->term[MP_DRAM] = (reads / read_rate + m->out_bytes / m->dram_write) * 1e6;
    out->term[MP_LAUNCH] = m->launch_us;
    time_course(r, clocks, in_flight, m->clock, out);
    for (int i = 0; i < CLOCK_ITERATIONS && u->clock.n > 0; i++)
        time_course(r, clocks, in_flight, mp_allowed_clock(m, u, out), out);
    out->waves = blocks / (m->sms * r->blocks_per_sm);
    out->wave_efficiency = out->waves > 0 ? out->waves / whole(out->waves) : 0;
}

/* ---- words ---- */

static void summary(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    buf_printf(out, "chain, %d rows x %d columns a turn, %d to %d, %d rows per warp, %d threads,"
               " %d slot%s", (int)r->block.extent[AX_M], (int)r->block.extent[AX_N],
               (int)p->extent[AX_K], (int)p->next->extent[AX_N], (int)r->warp.extent[AX_M],
               r->threads, r->stages, mp_plural(r->stages));
    buf_printf(out, ", %s, %s", dev->mover[r->load[LOAD_B].mover].name, dev->unit[r->unit].name);
    buf_puts(out, r->keep == KEEP_REGISTERS ? ", a in registers" : "");
}

static void tell_clocks(Buf *out, const char *what, double clocks, const char *end) {
    buf_puts(out, what);
    mp_fixed(out, clocks, 0);
    buf_puts(out, end);
}

static void explain(const Story *s) {
    const RProg *r = &s->best->prog;
    const Model *m = &s->m;
    Turn t = turn_of(m, r);
    TurnClocks c = turn_clocks(m, &t, 1);
    int64_t turns = rprog_chain_turns(s->p, r);
    buf_printf(s->out, "  chain: scores stay in registers, where they become an operand of the "
               "second product; %lld turn%s of %d columns", (long long)turns, mp_plural(turns),
               (int)r->block.extent[AX_N]);
    double visited = mean_turns(m, r);
    if (visited < (double)turns) {
        buf_puts(s->out, ", of which blocks visit ");
        mp_fixed(s->out, visited, 1);
        buf_puts(s->out, " in the mean");
    }
    tell_clocks(s->out, "\n  a turn of one block: ", c.unit, " clk for the unit, ");
    tell_clocks(s->out, "", c.folds, " to fold rows and correct results, ");
    tell_clocks(s->out, "", c.powers, " for powers, one after the other\n");
    buf_printf(s->out, "  %d of %d registers; %d bytes of shared memory, %d block%s per SM\n",
               r->registers, (int)m->dev->limits.registers_per_thread.value, (int)r->smem,
               r->blocks_per_sm, mp_plural(r->blocks_per_sm));
}

/* Among equals: fewer threads, fewer slots, wider stores.  */
static int compare(const RProg *a, const RProg *b) {
    int c = mp_compare(a->stages, b->stages);
    if (!c) c = mp_wider_stores(a, b);
    return c ? c : mp_compare(a->threads, b->threads);
}

static bool alike(const RProg *a, const RProg *b) {
    return a->keep == b->keep && mp_same_stores(a, b);
}

const ModelRow mp_chain = {.estimate = estimate, .compare = compare, .alike = alike,
                           .summary = summary, .explain = explain};
