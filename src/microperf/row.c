/* The estimate of the row skeleton: passes over rows, where what they need again comes from.
 *
 * A row group walks over the N columns of M rows in P passes; T threads share a row, a step is BN
 * columns, TN of them a thread's, VN at once.  keep says where what several passes read is in
 * between (src/rprogram/skeletons.h). rtile_problem lists the sources: every read at neighbouring
 * columns, with element size e, the passes that read it, and whether it differs from row to row.
 *
 *   reads of a source: kept in registers or shared memory: 1; else one for each pass; a map of the
 *       group that is read back: 0 or its passes
 *   live bytes between passes: rows under way (SMs * R * BM, or all rows if split) * N * bytes of
 *       an element in all sources and outputs
 *   bytes read again from DRAM: (reads - 1) * e * M * N * max(0, 1 - L2 capacity / live)
 *   touches of a source's sector: 32 / (T * VN * e), or 32 / (part * e) where a vector is loaded in
 *       parts; at least 1, at most what is left of the row
 *   DRAM: (unique bytes + bytes read again) / read rate + outputs / write rate; either rate at most
 *       busy SMs * clock * dram per_sm_max
 *   L2: sum over sources of reads * e * M * N * touches, for those without rows once per block;
 *       stored by each map: runs of min(T, 32) * VN columns, of 32 * VN where T * VN is the row; of
 *       columns that lie apart, read or stored: the sectors that a warp touches, one element a lane
 *   wavefronts: lines of 128 bytes that a request covers; rows in shared memory: one store and one
 *       load for each pass
 *   work: per element and pass: the statements evaluated in it, one that does not stay again; calls
 *       and divisions 8 (1 by a power of two), + 3 per access; without what earlier passes keep.
 *       An e4m3 becomes f32 by itself: 7, from sm_89 on one conversion, of which an SM makes 16 a
 *       clock, as a bound of COMPUTE
 *   values of a row: 3 per reduction and level of the tree, log2 T levels; across warps + 10 and a
 *       barrier
 *   time of a block alone: block start + for each pass that loads steps * latency (DRAM first, then
 *       L2) + 24 clk per level of the tree + its instructions
 *   bytes in flight of an SM: resident threads * columns under way * e of the first pass * share of
 *       the block's time that waits for loads
 *   latency: max(waves * time of a block alone, bytes read / rate at the bytes in flight)
 *   split: for each kernel but the first: waves * (ceil(slices / T / 4) * L2 latency + the tree) +
 *       blocks * slices * values so far / L2 rate
 *   launch, fill: once for each kernel: 1, or with slices P, + 1 if the last pass reduces
 *
 * Ends.  Rows of an odd length begin anywhere in 16 bytes.  Vectors may then begin at the first
 * column of each row that is aligned in one tensor of the rows (the one with which most bytes are);
 * tensors whose rows begin alike modulo the vector, at all sizes, have the same accesses, others
 * narrower ones.  The columns before and behind, at most 2 * (VN - 1), are a row's ends: E = ceil(2
 * * (VN - 1) / T) of a thread, at most 4, one by one.  They are fetched before the vectors of a
 * pass and used behind them, so they wait for nothing of their own, except between passes over
 * shared memory, which does not hold them: one L2 latency each.  A row adds E * min(T, 32) / 32
 * requests per pass and source and per output, 2 wavefronts, a sector that it shares with its
 * neighbours, half a sector for each T * VN columns, since requests begin anywhere in one, and E *
 * min(T, 32) / 32 * (work + 12) instructions per pass.
 *
 * Strips (RowGroup.strips).  Lanes stand along BM rows first: a request's lines and sectors are
 * those of 32 / min(BM, 32) runs of min(BM, 32) neighbours, where these are so in memory, else
 * those that its lanes touch.  In the tree of a row's values the levels are those of the lanes that
 * share a row, then each thread reads its share of the parts in shared memory, and these lanes
 * meet.
 *
 * Reads alone must be in flight: stores wait for nobody, so a kernel that writes as much as it
 * reads needs half the bytes in flight of a pure read.  */
#include "microperf/sectors.h"

enum {
    STEP_OPS = 8,             /* instructions of a loop over steps */
    END_OPS = 12,             /* to find a column of a row's ends */
    FOLLOW_OPS = 24,          /* of the correction of an online reduction behind a step */
    SOFT_OPS = 7              /* to make f32 of an e4m3 where no instruction does */
};

typedef struct {
    const Model *m;
    const RProg *r;
    const RowFacts *f;
    double threads, vectors, steps;       /* of a row; of a thread and step; of a slice */
    double elements;          /* rows * columns */
    double blocks, per_sm, resident;      /* of one kernel */
    double kernels;
} Row;

static Row row_of(const Model *m, const RProg *r) {
    const Problem *p = m->p;
    Row x = {.m = m, .r = r, .f = rprog_row_facts(p, r), .threads = rprog_row_threads(r),
             .vectors = (double)r->thread.extent[AX_N] / r->store_vec,
             .steps = greater((double)rprog_row_steps(p, r), 1),
             .elements = (double)p->row->rows * (double)p->row->columns,
             .kernels = rprog_row_kernels(p, r)};
    x.blocks = greater((double)rprog_blocks(p, r), 1) * r->split;
    x.per_sm = whole(x.blocks / m->sms);
    x.resident = lesser(r->blocks_per_sm, x.per_sm);
    return x;
}

static int count_bits(uint64_t v) {
    int n = 0;
    for (; v; v &= v - 1) n++;
    return n;
}

/* How often global memory is read for a source: once if it is kept on chip.  */
static double reads_of(const Row *x, const RowSource *s) {
    int passes = count_bits(s->passes);
    if (!rprog_row_rereads(x->r) && s->kept) return s->made ? 0 : 1;
    return passes;
}

/* Bytes that come back from DRAM because L2 did not hold them from one pass to the next.  */
static double read_again(const Row *x, const RowSource *s, double live) {
    double times = reads_of(x, s) - (s->made ? 0 : 1), spare = x->m->l2_capacity / live;
    double missed = spare >= 1 ? 0 : 1 - spare;
    return times > 0 ? times * missed * (double)s->bytes * x->elements : 0;
}

/* How many e4m3 become f32, one by one.  */
static double converted(const Row *x) {
    const Te *te = x->m->p->te;
    double n = 0;
    for (int k = 0; k < x->f->n_source; k++) {
        const RowSource *s = &x->f->source[k];
        bool once = !rprog_row_rereads(x->r) && s->kept;
        if (te->tensor[s->tensor].dtype == TE_F8E4M3) n += once ? 1 : count_bits(s->passes);
    }
    return n * x->elements;
}

typedef struct {
    double requests, wavefronts, bytes;   /* of 32 elements in all passes */
} Traffic;

static void add(Traffic *t, double times, double vec, double wavefronts, double bytes) {
    t->requests += times / vec;
    t->wavefronts += times * wavefronts / vec;
    t->bytes += times * bytes;
}

/* Are elements accessed one by one, lane by lane: those of strips, or of columns apart?  */
static bool is_apart(const Row *x, const RowSteps *at) {
    return rprog_row_strips(x->m->p) || at->step != 1;
}

/* Pieces of `size` bytes that a request of a warp touches, one element a lane.  Lanes of strips
 * stand along rows before they stand along columns, others the other way round.  */
static double pieces(const Row *x, const RowSteps *at, int bytes, int size) {
    bool strips = rprog_row_strips(x->m->p);
    int rows = x->r->block.extent[AX_M] < WARP ? x->r->block.extent[AX_M] : WARP, n = 0;
    int columns = x->threads < WARP ? (int)x->threads : WARP;
    int64_t seen[WARP], step = at->step ? at->step : INT32_MAX;
    for (int lane = 0; lane < WARP; lane++) {
        int row = strips ? lane % rows : lane / columns;
        int column = strips ? lane / rows : lane % columns * x->r->store_vec;
        int64_t piece = (column * step + row * at->beside) * bytes / size;
        int i = 0;
        while (i < n && seen[i] != piece) i++;
        if (i == n) seen[n++] = piece;
    }
    return n;
}

/* Bytes of the sectors of all elements that are accessed one by one: of runs of neighbouring rows,
 * or of a request.  */
static double bytes_apart(const Row *x, const RowSteps *at, int bytes) {
    double rows = lesser(x->r->block.extent[AX_M], WARP);
    if (rprog_row_strips(x->m->p) && at->beside == 1)
        return mp_sent(bytes * x->elements, rows, bytes, (double)at->side * bytes);
    return SECTOR * x->elements * pieces(x, at, bytes, SECTOR) / WARP;
}

/* A source whose elements are read one by one: lines of a request, sectors of all.  */
static void add_apart(const Row *x, const RowSource *s, double times, Traffic *t, double *l2) {
    double part = bytes_apart(x, &s->at, s->bytes);
    if (!s->by_row) part = (double)s->bytes * (double)x->f->columns * x->blocks / x->r->split;
    add(t, times, 1, pieces(x, &s->at, s->bytes, 128), WARP * s->bytes);
    *l2 += times * part;
}

/* Lines of 128 bytes that a request of a warp touches; lanes of one row are neighbours.  */
static double lines(const Row *x, int bytes, bool by_row) {
    double lanes = lesser(x->threads, WARP), vec = x->r->store_vec, run = lanes * vec * bytes;
    double rows = by_row ? WARP / lanes : 1, row = (double)x->f->columns * bytes;
    /* Rows that follow each other in memory share lines.  */
    return lesser(greater(rows * lesser(run, row) / 128, 1) + (run < row ? rows - 1 : 0), WARP);
}

/* How often requests touch a sector: an access of a row's threads that covers less than one leaves
 * the rest to others.  `width`: elements that a thread accesses at once.  */
static double touches(const Row *x, double width, double bytes) {
    double vec = x->r->store_vec, run = width < vec ? width * bytes : x->threads * vec * bytes;
    double others = width < vec ? vec / width : (double)x->f->columns / (x->threads * vec);
    return greater(lesser(SECTOR / run, others), 1);
}

/* Wavefronts of a request that reads rows which follow each other in shared memory.  */
static double flat_wavefronts(const Row *x, const RowSource *s) {
    int32_t addr[WARP];
    int threads = (int)x->threads, vec = x->r->store_vec;
    int width = rprog_row_width(x->m->p, x->r, s) * s->bytes;
    for (int lane = 0; lane < WARP; lane++)
        addr[lane] = (int32_t)((lane / threads * x->f->columns + lane % threads * vec) * s->bytes);
    return rtile_wavefronts(addr, UINT32_MAX, width);
}

/* Requests that a row makes for its ends, of each source and output and in each pass.  */
static double end_requests(const Row *x) {
    return rprog_row_end_columns(x->m->p, x->r) * lesser(x->threads, WARP) / WARP;
}

/* What the ends add for one source or output: requests for two pieces of a row; bytes of sectors
 * that neighbouring rows share.  */
static double add_ends(const Row *x, Traffic *t, double times) {
    if (!rprog_row_ends(x->m->p, x->r)) return 0;
    double per = WARP / (double)x->f->columns;
    t->requests += times * end_requests(x) * per;
    t->wavefronts += times * 2 * per;
    return times * (double)x->f->rows * SECTOR;
}

/* Sectors of what a map stores, in bytes: threads of a row side by side, and rows where no thread
 * has more than one vector.  */
static double sent_of(const Row *x, const RowStore *s) {
    double row = (double)x->f->columns, width = x->r->store_vec, bytes = s->bytes;
    bool one = row == x->threads * width;
    return mp_sent(bytes * x->elements, one ? WARP : lesser(x->threads, WARP), width * bytes,
                   rprog_row_ends(x->m->p, x->r) ? width * bytes : row * bytes);
}

/* What maps store.  */
static void add_stores(const Row *x, Traffic *t, double *sent) {
    for (int i = 0; i < x->f->n_store; i++) {
        const RowStore *s = &x->f->store[i];
        double vec = x->r->store_vec;
        if (is_apart(x, &s->at)) {
            add(t, 1, 1, pieces(x, &s->at, s->bytes, 128), WARP * s->bytes);
            *sent += bytes_apart(x, &s->at, s->bytes);
        } else {
            add(t, 1, vec, greater(s->bytes * vec / 4, 1), WARP * s->bytes);
            *sent += sent_of(x, s);
        }
    }
    if (x->f->n_store > 0) *sent += add_ends(x, t, 1);
}

/* What 32 elements cost the load and store unit; bytes from L2 and to it.  */
static Traffic traffic_of(const Row *x, double *l2, double *sent) {
    Traffic t = {0};
    *l2 = *sent = 0;
    for (int k = 0; k < x->f->n_source; k++) {
        const RowSource *s = &x->f->source[k];
        double vec = rprog_row_width(x->m->p, x->r, s), times = reads_of(x, s);
        if (is_apart(x, &s->at)) {
            add_apart(x, s, times, &t, l2);
            if (rprog_row_holds(x->r, s)) add(&t, count_bits(s->passes) + 1, 1, 1, 0);
            continue;
        }
        double wave = lines(x, s->bytes, s->by_row);
        bool flat = x->r->keep == KEEP_FLAT && s->by_row;
        if (flat) add(&t, times, 16.0 / s->bytes, 2 * 4, WARP * s->bytes);
        else add(&t, times, vec, wave * vec / x->r->store_vec, WARP * s->bytes);
        if (flat) *l2 += times * s->bytes * x->elements;
        else if (s->by_row) *l2 += times * s->bytes * x->elements * touches(x, vec, s->bytes);
        else *l2 += times * s->bytes * (double)x->f->columns * x->blocks / x->r->split;
        double passes_over = count_bits(s->passes);
        if (s->by_row) *l2 += add_ends(x, &t, passes_over);
        /* The threads of a row begin and end within a sector.  */
        if (s->by_row && rprog_row_ends(x->m->p, x->r))
            *l2 += passes_over * x->elements / (x->threads * x->r->store_vec) / 2 * SECTOR;
        if (!rprog_row_holds(x->r, s)) continue;
        if (x->r->keep == KEEP_FLAT) add(&t, passes_over, vec, flat_wavefronts(x, s), 0);
        else add(&t, passes_over + 1, vec, greater(vec * s->bytes / 4, 1), 0);
    }
    add_stores(x, &t, sent);
    return t;
}

/* Lanes that share a row of a strip; parts that a thread takes.  */
static double strip_lanes(const Row *x) {
    return greater(lesser(WARP / (double)x->r->block.extent[AX_M], x->threads), 1);
}
static double strip_rounds(const Row *x) {
    const Problem *p = x->m->p;
    int parts = rprog_row_strips(p) ? rprog_row_parts(p, x->r) : 1;
    return parts > 1 ? (double)parts / rprog_row_takers(p, x->r) : 0;
}

static double combine_strips(const Row *x, double n) {
    double clocks = 0, takers = rprog_row_takers(x->m->p, x->r), rounds = strip_rounds(x);
    for (double d = 1; d < strip_lanes(x); d *= 2) clocks += SHUFFLE + 2 * n;
    if (rounds == 0) return clocks;
    clocks += 2 * x->m->smem_latency + mp_barrier(x->m, x->r) + 2 * n * rounds;
    for (double d = 1; d < takers; d *= 2) clocks += SHUFFLE + 2 * n;
    return clocks;
}

/* Clocks from the loads of a pass to its value per row: shuffles, then shared memory and a barrier
 * between the warps of a row.  */
static double combine(const Row *x, int pass) {
    double n = x->f->reduces[pass], lanes = lesser(x->threads, WARP), clocks = 0;
    if (n == 0) return 0;
    if (rprog_row_strips(x->m->p)) return combine_strips(x, n);
    for (double d = 1; d < lanes; d *= 2) clocks += SHUFFLE + 2 * n;
    if (x->threads > WARP) {
        clocks += 2 * x->m->smem_latency + mp_barrier(x->m, x->r);
        for (double d = 1; d < x->threads / WARP; d *= 2) clocks += SHUFFLE + 2 * n;
    }
    return clocks;
}

/* Shuffles and adds of one warp for a pass.  */
static double combine_ops(const Row *x, int pass) {
    const Problem *p = x->m->p;
    double n = x->f->reduces[pass], ops = 0, lanes = x->threads;
    bool warps = rprog_row_parts(p, x->r) > 1;
    if (rprog_row_strips(p)) lanes = strip_lanes(x) * (warps ? rprog_row_takers(p, x->r) : 1);
    for (double d = 1; d < lanes; d *= 2) ops += 3 * n;
    return ops + (warps ? 10 * n : 0) + 2 * n * strip_rounds(x);
}

/* Clocks of a block on its own, from its start to its end, and the share in which it has loads
 * under way.  */
static double block_clocks(const Row *x, double per_warp_ops, double *loading) {
    double clocks = x->m->block_start, waits = 0;
    int passes = x->f->group->n_pass;
    for (int pass = 0; pass < passes; pass++) {
        bool fresh = pass == 0 || rprog_row_rereads(x->r);
        double latency = pass == 0 ? x->m->dram_latency : x->m->l2_latency;
        bool whole_row = x->r->keep == KEEP_SHARED || x->r->keep == KEEP_FLAT;
        if (fresh) waits += (whole_row ? 1 : x->steps) * latency;
        else clocks += 30 * x->steps;
        bool ends = rprog_row_ends(x->m->p, x->r);      /* are never in shared memory */
        if (pass > 0 && ends && x->r->keep == KEEP_SHARED) waits += latency;
        clocks += combine(x, pass);
    }
    *loading = waits / (waits + clocks + per_warp_ops);
    return waits + clocks + per_warp_ops;
}

static void latency_terms(const Row *x, double reads, double ops, double to_us, Estimate *out) {
    const RProg *r = x->r;
    double loading, warps = x->blocks * r->threads / WARP, bytes = 0;
    double alone = block_clocks(x, ops / warps, &loading);
    if (x->kernels > 1) {
        loading = 0.8;
        alone = x->m->block_start + x->steps * x->m->dram_latency + ops / warps / x->kernels;
    }
    for (int k = 0; k < x->f->n_source; k++) {
        const RowSource *s = &x->f->source[k];
        if (s->by_row && !s->made && (s->passes & 1)) bytes += s->bytes;
    }
    bool all = r->keep == KEEP_SHARED || r->keep == KEEP_FLAT;
    double columns = all ? (double)x->f->columns / x->threads : (double)r->thread.extent[AX_N];
    columns = lesser(columns, (double)x->f->columns / x->threads);
    double in_flight = x->resident * r->threads * columns * bytes * loading;
    out->in_flight = in_flight;
    out->term[MP_LATENCY] = x->kernels * whole(out->waves) * alone * to_us;
    if (x->m->in_flight && in_flight > 0 && bytes > 0) {
        double us = reads / hal_curve(x->m->in_flight, in_flight) * MP_US;
        out->term[MP_LATENCY] = greater(out->term[MP_LATENCY], us);
    }
}

/* Every kernel but the first combines the slices' values of all passes before it.  */
static double combine_slices(const Row *x, double waves, double to_us) {
    const RProg *r = x->r;
    double clocks = 0, bytes = 0, values = 0;
    for (int kernel = 1; kernel < (int)x->kernels; kernel++) {
        values += x->f->reduces[kernel - 1];
        double trips = whole(whole((double)r->split / x->threads) / RPROG_PARTIALS);
        clocks += whole(waves) * (trips * x->m->l2_latency + combine(x, kernel - 1));
        bytes += x->blocks * (double)r->split * values * x->m->p->acc_bytes;
    }
    return clocks * to_us + bytes / x->m->l2_rate * MP_US;
}

void mp_estimate_row(const Model *m, const RProg *r, Estimate *out) {
    Row x = row_of(m, r);
    const RowFacts *f = x.f;
    double slots = m->sms * r->blocks_per_sm, live = 0, again = 0, l2, sent;
    double to_us = MP_US / m->clock, busy = lesser(x.blocks, m->sms);
    *out = (Estimate){.blocks = (int64_t)x.blocks, .blocks_per_sm = r->blocks_per_sm,
                      .waves = x.blocks / slots};
    out->wave_efficiency = x.blocks / (x.per_sm * m->sms);
    double covered = whole((double)f->columns / r->block.extent[AX_N]) * r->block.extent[AX_N];
    out->padding_waste = f->columns > 0 ? covered / (double)f->columns - 1 : 0;

    /* Between passes L2 must hold the rows that are under way, or all of them across kernels.  */
    double rows = r->split > 1 ? (double)f->rows
                               : lesser((double)f->rows, slots * r->block.extent[AX_M]);
    for (int k = 0; k < f->n_source; k++) {
        if (f->source[k].by_row) live += rows * (double)f->columns * f->source[k].bytes;
    }
    live += rows * (double)f->columns * f->element_bytes;
    for (int k = 0; k < f->n_source; k++) again += read_again(&x, &f->source[k], live);
    double reads = m->total_unique + again;
    out->dram_bytes = reads + m->out_bytes;

    Traffic t = traffic_of(&x, &l2, &sent);
    double warps_of_elements = x.elements * (1 + out->padding_waste) / WARP, ops = 0;
    for (int pass = 0; pass < f->group->n_pass; pass++) {
        ops += warps_of_elements * rprog_row_ops(m->p, r, pass);
        ops += x.blocks * r->threads / WARP * combine_ops(&x, pass);
        ops += (double)f->rows * end_requests(&x) * (rprog_row_ops(m->p, r, pass) + END_OPS);
    }
    bool soft = !hal_widens_e4m3(m->dev);
    double narrow = converted(&x), pipe = soft ? 0 : narrow / CONVERSIONS;
    if (soft) ops += narrow / WARP * SOFT_OPS;
    double compute = ops, warps = x.blocks * r->threads / WARP;
    ops = compute * m->slots + warps_of_elements * 3 * t.requests + warps * 40 * x.kernels;
    if (x.steps > 1) ops += warps * x.steps * f->group->n_pass * STEP_OPS;
    if (r->keep == KEEP_ONLINE) ops += warps * x.steps * f->followers * FOLLOW_OPS;
    /* Per SM: the one with most blocks has per_sm of them.  */
    double share = x.per_sm / x.blocks;
    double sm_rate = m->dram_port * busy;
    double rate = lesser(m->dram_read, sm_rate), write = lesser(m->dram_write, sm_rate);
    out->term[MP_DRAM] = mp_dram_us(m, reads, rate, m->out_bytes, write);
    out->term[MP_L2] = mp_l2_clocks(m, busy, l2 * share, sent * share) * to_us;
    out->term[MP_SMEM] = warps_of_elements * t.wavefronts * share / m->smem_rate * to_us;
    out->term[MP_COMPUTE] = greater(compute / m->arithmetic, pipe) * share * to_us;
    out->term[MP_ISSUE] = ops * share / m->issue * to_us;
    latency_terms(&x, reads, ops, to_us, out);
    out->term[MP_SPLIT] = combine_slices(&x, out->waves, to_us);
    out->term[MP_FILL] = x.kernels * (m->block_start + m->dram_latency) * to_us + m->ramp_us;
    out->term[MP_LAUNCH] = x.kernels * m->launch_us;
    out->load_sectors = (int64_t)(l2 / SECTOR);
    out->store_sectors = (int64_t)(sent / SECTOR);
    mp_finish(out);
}
