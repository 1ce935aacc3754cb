/* Sectors and passes through L1 from the addresses of warps.
 *
 * Loads move 32-byte sectors.  A request of 32 chunks is cut into the lines it covers; a line of
 * contiguous chunks from byte a to byte b touches floor(b/32) - floor(a/32) + 1 sectors.  Where
 * rows begin on sector boundaries this is exact; elsewhere the mean over all alignments is taken,
 * and one extra sector for each place where a gather jumps.  An expression read by chunks moves the
 * bytes of its chunks, once: half a byte per point where two weights share one.  Stores are counted
 * the same way from the lanes of a row: each request by itself, a sector that it writes in part as
 * a whole one.  So does Nsight Compute (requests and their sectors: forums.developer.nvidia.com,
 * thread 165293); that a part takes L2 as long as a whole is not published, but times of libraries'
 * f32 tiles agree with it better on every board.  A sector that is stored by itself is priced as
 * one, not as the 64 bytes of a burst of DRAM: L2, which writes back, has its neighbours by then.
 * At 64 bytes to L2, as rows of boxes have (warpgroup.c), batched f32 products on A100
 * (benchmarks/measured, NeuSight) would be predicted 23 % too slow below a GFLOP and 9 % up to 8,
 * not 5 and 4.
 *
 * L1 is the same memory as shared memory, with the same 32 banks: what a request for global memory
 * finds in different lines, but in the same bank, takes a pass each.  Measured on A100 and H200
 * (github.com/te42kyfo/gpu-benches, gpu-strides): 32 neighbouring words 1 clk, two rows of 64 bytes
 * 2, four rows of 32 bytes 4, words 4, 8, 16 apart 4, 8, 16. A warp's accesses pass in parts of 128
 * bytes, as in shared memory.  The rows of an operand usually lie a multiple of 128 bytes apart, so
 * that a k-step of 32 or 64 bytes along k costs four or two times the passes of one of 128. A load
 * through registers adds its passes to the wavefronts of the stores; a copy has one way, and takes
 * the larger of the two.  A40 takes 2 clk for 128 bytes, which the model does not tell apart.  */
#include "microperf/sectors.h"
#include "base/hash.h"
#include <string.h>

/* Sectors of n accesses of `width` bytes, `step` bytes apart, the first `start` bytes behind a
 * boundary.  */
static int64_t run_sectors(int64_t start, int64_t n, int64_t step, int64_t width) {
    if (step > SECTOR) {
        int64_t total = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t at = (start + i * step) % SECTOR;
            total += (at + width - 1) / SECTOR + 1;
        }
        return total;
    }
    return (start + (n - 1) * step + width - 1) / SECTOR - start / SECTOR + 1;
}

double mp_mean_sectors(int64_t n, int64_t step, int64_t width, int64_t grain) {
    int64_t total = 0, starts = 0;
    for (int64_t start = 0; start < SECTOR; start += grain) {
        total += run_sectors(start, n, step, width);
        starts++;
    }
    return (double)total / (double)starts;
}

double mp_sent(double bytes, double lanes, double width, double row) {
    int64_t vector = (int64_t)(greater(width, 1) + 0.5), n = (int64_t)greater(lanes, 1);
    int64_t grain = mp_grain((int64_t)(row + 0.5)), run = mp_grain(n * vector);
    double sectors = mp_mean_sectors(n, vector, vector, run < grain ? run : grain);
    return bytes / (double)(n * vector) * sectors * SECTOR;
}

/* How an operand's stage lies in global memory: lines of chunks.  */
typedef struct {
    int64_t line, chunks;     /* chunks in a line, in the stage */
    int64_t width, step;      /* bytes of a chunk; from chunk to chunk */
    int64_t access;           /* bytes that a lane moves at once: a chunk, or a part of it */
    int64_t line_step;        /* bytes from line to line; 0: all lines are the same */
    int64_t grain;            /* lines begin at multiples of this, modulo a sector */
    double breaks;            /* share of chunks behind which addresses jump */
} Lines;

/* Of operands that are read backwards, as of those that are read forwards: the same places.  */
static int64_t distance(int64_t stride) { return stride < 0 ? -stride : stride; }

static Lines lines_of(const Model *m, const RProg *r, int side) {
    const ROperand *op = &m->p->op[side];
    const RLoad *l = &r->load[side];
    bool by_k = l->along == AX_K;
    int64_t own = r->block.extent[mp_own_axis(side)], k = r->block.extent[AX_K];
    int64_t along = by_k ? k : own, across = by_k ? own : k;
    int64_t stride = distance(by_k ? op->stride_k : op->stride_mn);
    int64_t other = distance(by_k ? op->stride_mn : op->stride_k);
    int64_t run = by_k ? op->run_k : op->run_mn;
    bool loose = by_k ? op->digits_mn > 1 : op->digits_k > 1;
    Lines x = {.line = along / l->vec, .width = (int64_t)l->vec * op->bytes,
               .step = l->vec * (l->vec > 1 ? 1 : stride) * op->bytes,
               .line_step = other * op->bytes};
    x.chunks = x.line * across;
    x.grain = mp_grain(x.line_step);
    int64_t tile = mp_grain(along * (stride ? stride : 1) * op->bytes);
    if (tile < x.grain) x.grain = tile;
    if (loose || op->guarded) x.grain = x.width < SECTOR ? x.width : SECTOR;
    if (!op->affine) x.grain = op->bytes;
    double moved = op->chunk_bytes * l->vec;
    if (l->vec > 1 && moved >= 1) {       /* aligned chunks, maybe of several points to a byte */
        x.step = x.width = (int64_t)(moved + 0.5);
        x.line_step = (int64_t)((double)other * op->chunk_bytes + 0.5);
        int64_t line = mp_grain(x.line * x.step);
        x.grain = mp_grain(x.line_step);
        if (line < x.grain) x.grain = line;
    }
    if (run > 1 && run < along) x.breaks = (double)l->vec / (double)run;
    int64_t moves = m->dev->mover[l->mover].granule;
    x.access = moves < x.width && x.width % moves == 0 ? moves : x.width;
    return x;
}

/* Sectors of one warp request of n chunks from chunk `first` on.  */
static double request_sectors(const Lines *x, int64_t first, int64_t n) {
    bool dense = x->line_step > 0 && x->line_step < SECTOR;
    if (dense && x->line * x->step <= x->line_step) {
        int64_t lines = (n + x->line - 1) / x->line;
        return mp_mean_sectors(lines, x->line_step, x->line * x->width, x->grain);
    }
    double total = 0;
    while (n > 0) {
        int64_t at = first % x->line, part = x->line - at < n ? x->line - at : n;
        int64_t start = at * x->step;
        if (x->grain >= SECTOR) total += (double)run_sectors(start, part, x->step, x->width);
        else total += mp_mean_sectors(part, x->step, x->width, x->grain);
        total += (double)part * x->breaks * (1 - (double)x->width / SECTOR);
        if (x->line_step == 0) break;
        first += part;
        n -= part;
    }
    return total;
}

/* Passes of one warp request through L1, whose data lie in the banks of shared memory: what lies in
 * different lines, but in the same bank, takes a pass each.  */
static int64_t part_passes(const int64_t *place, int64_t n, int64_t access) {
    enum { BANKS = 32, WORD = 4 };
    int64_t words[BANKS] = {0}, last[BANKS], most = 1;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t w = place[i] / WORD; w <= (place[i] + access - 1) / WORD; w++) {
            int64_t *in = &words[w % BANKS];
            if (*in > 0 && last[w % BANKS] == w) continue;
            last[w % BANKS] = w;
            if (++*in > most) most = *in;
        }
    }
    return most;
}

/* Halves and quarters of a warp pass one behind the other where its accesses are wider than 4
 * bytes.  */
int64_t mp_passes(const int64_t *place, int64_t n, int64_t access) {
    enum { ROW = 128, WORD = 4 };         /* bytes of all banks, of each */
    int64_t part = access > WORD ? ROW / access : WARP, total = 0;
    for (int64_t from = 0; from < n; from += part)
        total += part_passes(place + from, from + part < n ? part : n - from, access);
    return total;
}

static double request_passes(const Lines *x, int64_t first, int64_t n) {
    int64_t place[WARP];
    for (int64_t i = 0; i < n; i++) {
        int64_t chunk = first + i;
        place[i] = chunk / x->line * x->line_step + chunk % x->line * x->step;
    }
    return (double)(mp_passes(place, n, x->access) * (x->width / x->access));
}

/* Full requests of a stage, after how many they lie alike again, and chunks of the last one.  */
typedef struct {
    int64_t whole, period, rest;
} Requests;

static Requests requests_of(const Lines *x) {
    int64_t common = x->line & -x->line;
    return (Requests){x->chunks / WARP, x->line / (common < WARP ? common : WARP),
                      x->chunks % WARP};
}

typedef double RequestCost(const Lines *x, int64_t first, int64_t n);

/* Of all requests of a stage; those that lie alike are asked once.  */
static double stage_cost(const Lines *x, RequestCost *cost) {
    Requests q = requests_of(x);
    double all = 0, part = 0;
    for (int64_t i = 0; i < q.period && i < q.whole; i++) {
        if (i == q.whole % q.period) part = all;
        all += cost(x, i * WARP, WARP);
    }
    if (q.whole >= q.period) all = all * (double)(q.whole / q.period) + part;
    return q.rest ? all + cost(x, q.whole * WARP, q.rest) : all;
}

/* The distance of lines that have no word in common, as short as one that has the same banks.  */
static int64_t short_step(const Lines *x) {
    enum { ROW = 128 };       /* bytes of all banks */
    int64_t apart = (x->line * x->step + x->width) / ROW * ROW + ROW;
    int64_t same = apart + x->line_step % ROW;
    return x->line_step > same ? same : x->line_step;
}

static int64_t kept_passes(const Lines *x, StagePasses *kept) {
    PassEntry e = {x->line, x->chunks, x->width, x->step, x->access, short_step(x), 0};
    if (!kept) return (int64_t)stage_cost(x, request_passes);
    PassEntry *at = &kept->entry[hash64(&e, sizeof e, 0) % PASSES_KEPT];
    e.passes = at->passes;
    if (memcmp(at, &e, sizeof e) != 0) {
        e.passes = (int64_t)stage_cost(x, request_passes);
        *at = e;
    }
    return e.passes;
}

StageTraffic mp_stage_traffic(const Model *m, const RProg *r, int side, StagePasses *kept) {
    Lines x = lines_of(m, r, side);
    return (StageTraffic){.sectors = stage_cost(&x, request_sectors),
                          .passes = kept_passes(&x, kept),
                          .requests = (x.chunks + WARP - 1) / WARP * (x.width / x.access)};
}

/* Sectors of a row of the warp's tile that is stored from shared memory: its vectors lie side by
 * side, but a request may end inside the row.  */
static double shared_row_sectors(const Model *m, const RProg *r, int64_t bytes, int64_t step,
                                 int64_t grain) {
    int64_t n = rprog_staging_columns(m->dev, r), vec = r->store_vec, line = n / vec;
    int rows = rprog_staging_rows(m->dev, r);
    if (WARP % line == 0) return mp_mean_sectors(line, step, vec * bytes, grain);
    Lines x = {.line = line, .width = vec * bytes, .step = step, .line_step = SECTOR,
               .grain = grain, .chunks = line * rows};
    double total = 0;
    for (int64_t i = 0; i < x.chunks; i += WARP) {
        total += request_sectors(&x, i, x.chunks - i < WARP ? x.chunks - i : WARP);
    }
    return total / rows;
}

/* Lanes of a warp that store side by side, in a row.  */
static int64_t lanes_along(const Model *m, const RProg *r) {
    if (rprog_matrix(m->dev, r)) return r->swapped ? 8 : 4;
    return r->warp.extent[AX_N] / r->thread.extent[AX_N];
}

/* Columns from the first of a lane to that of the next one.  */
static int64_t lane_step(const Model *m, const RProg *r) {
    Fragment f = rprog_results(m->dev, r);
    for (const FragDigit *d = f.digit; d < f.digit + f.n; d++)
        if (d->from == FRAG_LANE && d->to == FRAG_COL && d->step > 0) return d->step;
    return r->vec_n;
}

static double rows_of(const Problem *p) {
    return (double)p->extent[AX_B] * (double)p->extent[AX_M];
}

/* Lanes of a store that fill a sector together, where rows lie side by side: each has vec_m
 * neighbouring ones, of a matrix unit's results one.  */
static double rows_beside(const Model *m, const RProg *r, int64_t bytes) {
    double lanes = (double)(r->warp.extent[AX_M] / r->thread.extent[AX_M]), apart = r->vec_m;
    if (!m->p->out_across || r->via != VIA_DIRECT) return 1;
    if (rprog_matrix(m->dev, r)) {
        int at[WARP][FRAG_DIMS];
        Fragment f = rprog_results(m->dev, r);
        fragment_of_lanes(&f, 0, at);
        lanes = apart = 1;
        for (int i = 1; i < WARP; i++) lanes += at[i][FRAG_COL] == at[0][FRAG_COL];
    }
    return greater(1, lesser(lanes, SECTOR / (apart * (double)bytes)));
}

/* Each row of a warp is stored by its lanes along N, vec_n columns each, store_vec at a time, or
 * from shared memory as a whole.  */
double mp_output_sectors(const Model *m, const RProg *r, double per, int64_t run, int64_t apart) {
    const Problem *p = m->p;
    int64_t bytes = per < 1 ? 1 : (int64_t)(per + 0.5);
    int64_t lanes = lanes_along(m, r), columns = r->vec_n, next = lane_step(m, r);
    if (r->via == VIA_SHARED) {
        lanes = rprog_staging_columns(m->dev, r) / r->store_vec;
        columns = next = r->store_vec;
    }
    int64_t step = next * apart * bytes, width = r->store_vec * bytes;
    double row;
    if (r->via == VIA_BOXES)              /* of whole sectors, each once */
        return rows_of(p) * (double)p->extent[AX_N] * (double)bytes / SECTOR;
    if (run <= 1 && p->extent[AX_N] > 1) {
        row = (double)(lanes * columns) / rows_beside(m, r, bytes);
    } else {
        int64_t grain = mp_grain(run * apart * bytes);
        int64_t tile = mp_grain(lanes * step);
        if (tile < grain) grain = tile;
        row = r->via == VIA_SHARED ? shared_row_sectors(m, r, bytes, step, grain)
                                   : mp_mean_sectors(lanes, step, width, grain);
        row *= (double)(columns / r->store_vec);
    }
    double groups = (double)p->extent[AX_N] / (double)(lanes * columns);
    return rows_of(p) * groups * row;
}
