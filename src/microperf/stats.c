/* The estimate of programs with statements over rows of a contraction's results.
 *
 *   operations per output: those of everything the kernel's passes evaluate; a map that is held
 *       once; constants none; of a pass that stores no elements none of a store; of quotients by
 *       values of the row by reciprocals 21 for each run of a thread's elements beside
 *   meetings: per reduction: w * (rows of a thread * (3 * log2 lanes of a row + 2) + 24)
 *       instructions
 *   waits: per pass: log2 lanes * 24 + 3 barriers + 4 latencies of shared memory; twice that with
 *       online reductions in parts
 *   EPILOGUE: as in contract.c, with these; at least what keeps issue slots busy: ISSUE + all
 *       blocks' instructions behind their k-steps
 *   writes of a pass: what it stores, and rows * ceil(N / BN) * bytes for each of its reductions
 *   SPLIT of a pass: a launch, its parts at the rate of L2 or DRAM, up to 32 threads to a row where
 *       rows are few, four loads of a thread under way
 *   shared memory: warps along N * BM values per reduction in place of the stages, in blocks that
 *       stay behind them; BM values per reduction and per value of a row behind these; of
 *       warpgroups in turn each its own
 *   wavefronts, whole rows: counted: parts stored by one lane of each row, read by a thread of each
 *       row; values stored, and read by each walk that needs them
 *   registers: 6 + rows of a thread for each reduction of the busiest pass
 *
 * Every term of rows partial is the sum over its kernels.
 *
 * Rows in turns: one kernel with a tile for each turn of each pass.  The end of a tile is the mean
 * of the passes' ends, without parts; meetings and waits come once for a tile of rows, and each
 * turn moves what follows a leader:
 *   + warps * rows of a thread * online reductions * 16 instructions, / passes  */
#include "microperf/ending.h"

/* Those that compute a tile.  */
static double tile_warps(const Model *m, const RProg *r) {
    return rprog_computing(m->dev, r) / WARP / rprog_in_turn(r);
}

/* Quotients of pass i: divided, or by a reciprocal for each run of a thread.  */
static void add_quotients(const Model *m, const RProg *r, int i, Ending *e) {
    enum { INVERT = 21 };     /* instructions of a reciprocal and of the test of its divisor */
    const StatFacts *f = rprog_stats_facts(m->p, r);
    double n = f->quotients[i], run = rprog_stats_run(m->p, m->dev, r);
    bool inverts = rprog_stats_inverts(m->p, m->dev, r);
    e->ops += inverts ? n * INVERT / run : f->divided_ops[i];
    e->functions -= inverts ? n * (1 - 1 / run) : 0;
}

/* The end of the product of pass `pass`; below 0: of whole rows, all passes.  */
static Ending rows_ending(const Model *m, const RProg *r, int pass) {
    const Problem *p = m->p;
    const StatFacts *f = rprog_stats_facts(p, r);
    double rows = (double)p->extent[AX_B] * (double)p->extent[AX_M];
    double elements = 0, all = 0, parts = 0, lanes = 1;   /* bytes stored; all: of all passes */
    double warps = tile_warps(m, r);
    double barrier = mp_barrier(m, r);
    Ending e = {.reads = (double)p->epilogue_bytes, .rows = true};
    for (int bits = rprog_stats_lanes(m->dev, r); bits; bits &= bits - 1) lanes *= 2;
    double steps = 0, evaluated = 0;
    bool walks = false;
    for (double l = 1; l < lanes; l *= 2) steps++;
    for (int i = 0; i < f->group->n_pass; i++) {
        all += (double)f->emit_bytes[i];
        if (pass >= 0 && i != pass) continue;
        double n = f->reduces[i], turns = 1 + (pass >= 0 && p->stats_online != p->stats);
        e.ops += f->fold_ops[i] + f->emit_ops[i];
        e.functions += f->functions[i];
        add_quotients(m, r, i, &e);
        walks |= n > 0;
        if (f->kept >= 0)
            evaluated += (double)((f->folds[f->kept] >> i & 1) + (f->emits[f->kept] >> i & 1));
        elements += (double)f->emit_bytes[i];
        if (n == 0) continue;
        e.meeting += warps * n * (rprog_stats_rows(m->dev, r) * (3 * steps + 2) + 24);
        e.wait += turns * (steps * SHUFFLE + 3 * barrier + 4 * m->smem_latency);
        if (pass >= 0 && r->stats == STATS_PARTIAL)
            parts += rows * (double)rprog_tiles(p, r, AX_N) * n * p->acc_bytes;
    }
    if (walks && evaluated > 1) e.ops -= f->kept_ops * (evaluated - 1);
    e.writes = pass < 0 ? m->out_bytes : elements + parts;
    e.sectors = (e.writes - elements) / SECTOR;
    if (elements > 0) {
        e.ops += MP_STORED;
        e.sectors += elements / all * mp_store_sectors(m, r, NULL);
    }
    return e;
}

/* The kernel that makes values of rows of the parts of pass `pass`.  */
static double values_us(const Model *m, const RProg *r, int pass) {
    enum { FINISH = 100 };
    const Problem *p = m->p;
    double n = rprog_stats_facts(p, r)->reduces[pass];
    double rows = (double)p->extent[AX_B] * (double)p->extent[AX_M];
    double tiles = (double)rprog_tiles(p, r, AX_N), bytes = rows * tiles * n * p->acc_bytes;
    Meeting x = {.results = rows, .partials = tiles, .width = p->acc_bytes, .arrays = n,
                 .under_way = RPROG_PARTIALS,
                 .rate = bytes <= m->l2_capacity ? m->l2_rate : m->dram_read};
    return m->floor_us + (m->dram_latency + n * FINISH) / m->clock * MP_US +
           mp_meeting_us(m, &x, r->lanes);
}

double mp_stats_values_us(const Model *m, const RProg *r) {
    const StatFacts *f = rprog_stats_facts(m->p, r);
    double us = 0;
    for (int pass = 0; pass < f->group->n_pass; pass++)
        us += f->reduces[pass] > 0 ? values_us(m, r, pass) : 0;
    return us;
}

static void add_estimate(Estimate *sum, const Estimate *e) {
    double us = sum->us + e->us;
    for (MpTerm t = 0; t < MP_COUNT; t++) sum->term[t] += e->term[t];
    sum->load_sectors += e->load_sectors;
    sum->store_sectors += e->store_sectors;
    sum->smem_load_wavefronts += e->smem_load_wavefronts;
    sum->smem_store_wavefronts += e->smem_store_wavefronts;
    sum->fma += e->fma;
    sum->dram_bytes += e->dram_bytes;
    mp_finish(sum);
    /* Kernels limited by different terms do not overlap.  */
    sum->term[MP_OVERLAP] += us - sum->us;
    sum->us = us;
}

/* Wavefronts of a request in which the lanes of a warp access values of their rows: `once` for each
 * row, or all.  */
static double row_wavefronts(const Model *m, const RProg *r, bool once) {
    int32_t addr[WARP];
    uint32_t active = 0;
    int lanes = rprog_stats_lanes(m->dev, r);
    Fragment f = rprog_results(m->dev, r);
    int at[WARP][FRAG_DIMS];
    fragment_of_lanes(&f, 0, at);
    for (int lane = 0; lane < WARP; lane++) {
        addr[lane] = at[lane][FRAG_ROW] * m->p->acc_bytes;
        if (!once || !(lane & lanes)) active |= 1u << lane;
    }
    return rtile_wavefronts(addr, active, m->p->acc_bytes);
}

/* Values of rows that the statements of `of` read where they are evaluated.  */
static double values_read(const Model *m, const StatFacts *f, const uint64_t *of, uint64_t passes) {
    const RowGroup *g = f->group;
    const TeStmt *s = m->p->te->stmt;
    double n = 0;
    for (int v = 0; v < g->n; v++) {
        bool read = false;
        for (int i = 0; i < g->n && g->role[v] != ROW_MAP && !read; i++)
            read = (of[i] & passes) && access_reads_tensor(s[g->stmt[i]].rhs, s[g->stmt[v]].tensor);
        n += read;
    }
    return n;
}

/* Adds the meetings of whole rows to the wavefronts of shared memory.  */
static void count_meetings(const Model *m, const RProg *r, Estimate *e) {
    const Problem *p = m->p;
    const StatFacts *f = rprog_stats_facts(p, r);
    const RTile *b = &r->block, *w = &r->warp, *t = &r->thread;
    double warps = tile_warps(m, r), rows = rprog_stats_rows(m->dev, r);
    double loads = 0, stores = 0;
    double lines = whole((double)b->extent[AX_M] / WARP) * (p->acc_bytes > 4 ? 2 : 1);
    double one = rows * warps * row_wavefronts(m, r, false), last = one;
    for (int i = 0; i < f->group->n; i++) stores += (f->group->role[i] != ROW_MAP) * lines;
    for (int pass = 0; pass < f->group->n_pass; pass++) {
        double n = f->reduces[pass];
        stores += n * rows * warps * row_wavefronts(m, r, true);
        loads += n * b->extent[AX_N] / w->extent[AX_N] * lines;
        if (n > 0) loads += one * values_read(m, f, f->folds, (uint64_t)1 << pass);
    }
    if (r->via == VIA_SHARED) {           /* a turn has other rows than those that the lanes hold */
        double vectors = (double)t->extent[AX_M] * w->extent[AX_N] / r->store_vec;
        last = warps * w->extent[AX_M] / t->extent[AX_M] * whole(vectors / WARP);
    }
    loads += last * values_read(m, f, f->emits, UINT64_MAX);
    double tiles = (double)rprog_blocks(p, r);
    e->smem_load_wavefronts += (int64_t)(tiles * loads);
    e->smem_store_wavefronts += (int64_t)(tiles * stores);
}

/* The mean end of a turn: its passes are of as many turns each.  Threads' own sums follow their
 * leaders in each turn, and meet behind the last one.  */
static Ending turns_ending(const Model *m, const RProg *r) {
    enum { FOLLOW = 16 };     /* instructions for a row of a thread: its leader, and what follows */
    const StatFacts *f = rprog_stats_facts(m->p, r);
    double n = f->group->n_pass, turns = (double)rprog_tiles(m->p, r, AX_N), follow = 0;
    Ending sum = {.reads = (double)m->p->epilogue_bytes, .rows = true};
    for (int i = 0; i < f->group->n; i++) follow += f->group->follow[i] != FOLLOW_NONE;
    for (int pass = 0; pass < f->group->n_pass; pass++) {
        Ending e = rows_ending(m, r, pass);
        sum.ops += e.ops / n;
        sum.functions += e.functions / n;
        sum.meeting += e.meeting / (n * turns);
        sum.wait += e.wait / (n * turns);
        sum.writes += (double)f->emit_bytes[pass];
        sum.stays += (f->emit_bytes[pass] == 0) / n;
        if (f->emit_bytes[pass] > 0) sum.sectors += e.sectors;
    }
    sum.meeting += tile_warps(m, r) * follow * rprog_stats_rows(m->dev, r) * FOLLOW / n;
    return sum;
}

void mp_estimate_stats(const Model *m, const RProg *r, CountMemo *memo, Estimate *out) {
    const StatFacts *f = rprog_stats_facts(m->p, r);
    RProg none = *r;          /* nothing leaves a block but parts of rows */
    Estimate values;
    none.via = VIA_DIRECT;
    if (r->stats == STATS_WHOLE) {
        Ending e = rows_ending(m, r, -1);
        mp_estimate_product(m, r, memo, &e, out);
        count_meetings(m, r, out);
        return;
    }
    if (r->stats == STATS_TURNS) {
        Ending e = turns_ending(m, r);
        mp_estimate_product(m, r, memo, &e, out);
        count_meetings(m, r, out);
        return;
    }
    for (int pass = 0; pass < f->group->n_pass; pass++) {
        Ending e = rows_ending(m, r, pass);
        Estimate product;
        if (f->emit_bytes[pass] == 0) e.leaving = (Leaving){m, &none, NULL};
        mp_estimate_product(m, r, memo, &e, &product);
        if (pass == 0) *out = product;
        else add_estimate(out, &product);
        if (f->reduces[pass] == 0) continue;
        values = (Estimate){0};
        values.term[MP_SPLIT] = values_us(m, r, pass);
        mp_finish(&values);
        add_estimate(out, &values);
    }
}
