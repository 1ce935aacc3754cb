/* A turn of a chain program: its work, and how long an SM takes for it.
 *
 * In a turn a warp (a warpgroup) multiplies BM x BN scores, makes powers of them, and multiplies
 * those: three things one after the other, each of which needs all of the one before.  With BM, BN,
 * K, E the block tile, w its warps (warpgroups), WM = BM / w, s = WM * BN scores of one, r the
 * resident blocks of an SM, clocks per turn and SM:
 *
 *   unit: the k-step of either product, as of a contract program (step.c): fragments, latency, rate
 *   folds: r * w * (s / 32 * (maps, none where scores are multiples of results, + 1 for the leader
 *       + tests of columns in the share of turns that a mask cuts) + WM * E / 32 to correct results
 *       + 2 * rows of a lane * log2(lanes of a row) for shuffles and steps + of warpgroups what
 *       they issue for both products (warpgroup.c)) / issue
 *   powers: the larger of r * w * s * powers / rate(mufu.ex2) and their issue: the power's
 *       argument, the power, folds that follow, 0.5 for a conversion of two
 *
 * Units of warps: unit + folds + powers + waits.  They are a sum, not the larger one: warps of a
 * scheduler that run the same program side by side do not fill each other's gaps: of
 * FlashAttention-2 on H100 SXM5, heads of 64 and 2048 keys, 318 TFLOP/s were published (arXiv
 * 2407.08608, figure of head dimension 64), the sum says 293, the unit alone would allow 642.
 * waits: two barriers a turn, each pipeline_step, of every resident block (step.c).
 *
 * Units of warpgroups: with x = folds + powers, which follow each other, and for each warpgroup 24
 * clk (shuffle) * 2 for each step of the row's leader from lane to lane,
 *
 *   overlap none: unit + x, as of warps, and 2 * pipeline_step, the waits for two products: the
 *       unit shares itself between warpgroups whose tiles come at the same time, so that all of
 *       them make powers at the same time, too
 *   within: unit of the scores + max(unit of the results, x) + pipeline_step; results are made
 *       while powers are
 *   between: a warpgroup is at the unit or at its powers, and N = r * w go to and fro: larger * (1
 *       + q^N / (1 + q + .. + q^(N-1))) of unit and x, q the smaller over the larger one: a closed
 *       queueing network of two stations (Buzen, CACM 16(9), 1973), the sum where N is 1
 *   both: likewise with N = 2 * r * w, since two turns of each are under way; at least one
 *       warpgroup's turn as within
 *   sums in Tensor Memory: likewise, since another thread issues scores of the next turn and
 *       results of the one before; x has loads of scores, stores of terms, and pipeline_step.
 *       Nothing keeps its warpgroups in step, so that they go to and fro between folds and powers,
 *       too: x is that of two stations and r * w customers
 *
 * A block's first products have no powers beside them and its last ones none: ends = the smaller of
 * a warpgroup's unit and x, where these overlap.
 *
 * With T turns of N / BN this is T_mma = 2 e (K + E) / rate and T_exp = e * powers / mufu rate for
 * e = B M N scores, and what they wait for.  */
#include "microperf/chain.h"

#include <string.h>

/* What the first operand of a product does not do in a turn: loads, and maybe reads.  */
static void leave_out(OperandCounts *c, bool reads) {
    if (reads) c->reads = 0;
    if (reads) c->fragment_wavefronts = 0;
    c->store_wavefronts = c->requests = c->passes = 0;
    c->sectors = 0;
}

static int log2_of(int n) {
    int bits = 0;
    while (n > 1 << bits) bits++;
    return bits;
}

/* Instructions that test the column of a score, on the mean of all turns: a comparison with each
 * end that a row has, a selection.  */
static double cut_ops(const Model *m, const RProg *r) {
    int64_t tiles = rprog_tiles(m->p, r, AX_M);
    double tests = m->p->chain->chain->bounds.n_from > 0 ? 2 : 1, cut = 0, visited = 0;
    for (int64_t i = 0; i < tiles; i++) {
        cut += (double)rprog_chain_cut(m->p, r, i);
        visited += (double)rprog_chain_visited(m->p, r, i);
    }
    return visited > 0 ? (tests + 1) * cut / visited : 0;
}

/* Instructions of all warps between the products.  */
static void count_scores(const Model *m, const RProg *r, ChainTurn *t) {
    const ChainFacts *f = m->p->chain;
    double rows = r->block.extent[AX_M], scores = rows * r->block.extent[AX_N] / WARP;
    Fragment results = rprog_results(m->dev, r);
    int lanes = fragment_lanes(&results, FRAG_COL);
    double shuffles = 2 * rows * lanes / WARP * log2_of(lanes);
    bool follows = f->chain->follow != FOLLOW_NONE;
    double corrected = follows ? rows * r->block.extent[AX_E] / WARP : 0;
    t->powers = scores * WARP * f->powers;
    t->power_issue = scores * (f->powers * (1 + f->power_ops) + 0.5);
    if (t->apart)             /* results are corrected where they lie, now and then */
        t->moves = t->teams *
                   mp_moved_clocks(m, r->block.extent[AX_N], rprog_chain_terms(m->dev, r));
    double ops = f->ops + cut_ops(m, r);
    double issued = t->apart ? 0 : t->step[0].own_issue + t->step[1].own_issue;
    t->folds = scores * ops + issued + (follows ? shuffles : 0) + (t->apart ? 0 : corrected);
    t->meet = follows ? 2 * SHUFFLE * log2_of(lanes) : 0;
}

void mp_chain_turn(const Model *m, const RProg *r, CountMemo *memo, ChainTurn *t) {
    *t = (ChainTurn){.warps = (double)rprog_computing(m->dev, r) / WARP,
                     .apart = rprog_tensor(m->dev, r)};
    t->teams = t->warps / rprog_team(m->dev, r);
    bool kept = r->keep == KEEP_REGISTERS;
    for (int i = 0; i < MP_PRODUCTS; i++) {
        StepCounts *c = &t->counts[i];
        t->prog[i] = rprog_product(m->dev, r, i);
        t->of[i] = i ? mp_model(m->p->next, m->dev) : *m;
        mp_step_counts(&t->of[i], &t->prog[i], mp_count_product(memo, i), c);
        if (i == 0) {
            t->a_bytes = c->of[0].sectors * SECTOR;
            t->a_stores = (double)c->of[0].store_wavefronts;
            if (kept) t->a_reads = t->warps * c->of[0].fragment_wavefronts;
        }
        leave_out(&c->of[0], i > 0 || kept);
        t->step[i] = mp_step(&t->of[i], &t->prog[i], c);
        t->wavefronts += t->step[i].wavefronts + t->step[i].passes;
        t->bytes += t->step[i].bytes;
    }
    count_scores(m, r, t);
}

/* Two stations that so many customers go to and fro between.  */
static double to_and_fro(double a, double b, double customers) {
    double larger = greater(a, b), q = larger > 0 ? lesser(a, b) / larger : 0, power = 1, sum = 0;
    for (int i = 0; i < customers; i++) {
        sum += power;
        power *= q;
    }
    return larger * (1 + power / sum);
}

/* What warpgroups take for products and powers as they overlap.  */
static void overlap(const Model *m, const RProg *r, const ChainTurn *t, double resident,
                    ChainClocks *c) {
    double groups = resident * t->teams;
    double unit = c->unit[0] + c->unit[1], powers = c->folds + c->powers;
    if (t->apart) powers = to_and_fro(c->folds, c->powers, groups);
    double within = c->unit[0] + greater(c->unit[1], powers) + m->step_tax;
    switch (r->overlap) {
    case OVERLAP_WITHIN:
        c->all = t->apart ? to_and_fro(unit, powers + m->step_tax, 2 * groups) : within;
        break;
    case OVERLAP_BETWEEN: c->all = to_and_fro(unit, powers, groups); break;
    case OVERLAP_BOTH:
        c->all = greater(to_and_fro(unit, powers, 2 * groups), within / groups);
        break;
    default: c->all = unit + powers + 2 * m->step_tax; return;
    }
    c->ends = lesser(unit, powers) / groups;
}

ChainClocks mp_chain_clocks(const Model *m, const RProg *r, const ChainTurn *t, double resident) {
    ChainClocks c = {.folds = resident * t->folds / m->issue};
    double rate = m->functions, unit = 0;
    for (int i = 0; i < MP_PRODUCTS; i++) {
        c.unit[i] = mp_unit_clocks(&t->of[i], &t->prog[i], &t->step[i], resident);
        unit += c.unit[i];
    }
    c.powers = resident * t->power_issue / m->issue;
    if (rate > 0) c.powers = greater(c.powers, resident * t->powers / rate);
    c.all = unit + c.folds + c.powers + 2 * resident * m->step_tax;
    if (!m->dev->unit[r->unit].b_smem) return c;
    c.folds += resident * (t->teams * t->meet + t->moves);
    overlap(m, r, t, resident, &c);
    return c;
}

double mp_chain_busy(const RProg *r, const ChainClocks *c) {
    double unit = c->unit[0] + c->unit[1], powers = c->folds + c->powers;
    switch (r->overlap) {
    case OVERLAP_WITHIN: return c->unit[0] + greater(c->unit[1], powers);
    case OVERLAP_BETWEEN:
    case OVERLAP_BOTH: return greater(unit, powers);
    default: return unit + powers;
    }
}

double mp_chain_turns(const Model *m, const RProg *r) {
    int64_t tiles = rprog_tiles(m->p, r, AX_M), all = 0;
    for (int64_t i = 0; i < tiles; i++) all += rprog_chain_visited(m->p, r, i);
    return tiles > 0 ? (double)all / (double)tiles : 0;
}
