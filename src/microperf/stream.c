/* The estimate of the stream skeleton: bytes, latency and issue.
 *
 * Elements of the domain are spread over threads, items per thread, vec at once.  DRAM is bytes /
 * rate, with whole sectors of accesses whose neighbours lie apart, and of each row of what is
 * gathered by rows; L2 = min(sector, stride *
 * element) bytes per element and trip, at most twice the unique bytes in a loop whose windows
 * overlap, and of a map that reads at several shifts again min(1, shift / elements of a block) of
 * them for each shift; ISSUE of a map has what it computes, 1.5 instructions per request of each
 * read, as wide as neighbours and alignment let it be, and for each vector 3, and 4 for each
 * division of the element's number (a tensor that lies as the outputs do needs none, neighbouring
 * indices that all treat as one need none); SMEM counts L1 wavefronts (L1 and shared memory are
 * one pipe); a block on its own takes max(trips/4, 1) * dram.latency + block_start; terms as in
 * views.c. Where the elements of a map are no whole number of vectors and all outputs lie as its
 * domain does, vec is what alignment alone allows: threads take whole vectors, and the block at
 * the end has a thread for each of the less than vec elements that are left, one warp's requests
 * in all, which cost nothing here.  Reads that lie as the domain does are as wide, at run-time
 * sizes too.  Where a map reads beyond an edge, or one of several tensors (padding, concatenation,
 * the outer taps of a stencil), vectors that lie inside or outside as a whole are read whole,
 * under one test.  */
#include "microperf/sectors.h"
#include "microperf/story.h"
#include "microperf/views.h"

/* Requests and wavefronts of the loads of 32 elements on one trip, and the bytes that L2 sends for
 * one element.  */
typedef struct {
    double requests, wavefronts, bytes;
} Loads;

static int reads_of(const ReadWidths *w) {
    int n = 0;
    for (int i = 0; i < READ_WIDTHS; i++) n += w->of[i];
    return n;
}

/* Of a map every read counts by its width: where a vector is loaded by one or two elements, each
 * request touches the lines of all.  The widest one may stride, the others coalesce.  What is read
 * at several shifts comes again from L2 as far as it lies beyond the block's elements.  */
static Loads map_loads(const Problem *p, const RProg *r, double step) {
    enum { NARROW = 2 };
    const ROperand *op = &p->op[0];
    double vec = r->store_vec, width = lesser(op->vec_mn, vec);
    double lines = lesser(greater(vec * op->bytes * WARP / 128, 1), WARP);
    double spread = lesser(greater(step * vec * op->bytes * WARP / 128, 1), WARP);
    Loads l = {.requests = mp_map_requests(p->map.widths, r->store_vec),
               .wavefronts = reads_of(&p->map.widths) * op->bytes / 4.0};
    for (int i = 0; i < NARROW && 1 << i < r->store_vec; i++)
        l.wavefronts += p->map.widths.of[i] * greater(lines / (1 << i) - op->bytes / 4.0, 0);
    l.wavefronts += greater(spread - lines, 0) / width;
    for (int i = 0; i < p->map.n_shift; i++)
        l.bytes += lesser(p->map.shift[i] / r->block.extent[AX_M], 1) * p->map.bytes[i];
    return l;
}

/* A reduction's widest read stands for itself, the others coalesce.  */
static Loads trip_loads(const Problem *p, const RProg *r, double step) {
    const ROperand *op = &p->op[0];
    double vec = r->store_vec, reads = greater(p->n_reads, p->n_operand);
    bool whole_vectors = op->affine && op->vec_mn >= r->store_vec;
    Loads l = {.requests = reads / vec, .wavefronts = reads * op->bytes / 4};
    if (whole_vectors) return l;
    double spread = lesser(greater(step * vec * op->bytes * WARP / 128, 1), WARP);
    l.requests = (reads - 1) / vec + 1;
    l.wavefronts = greater(reads - 1, 0) + spread;
    return l;
}

/* Bytes that L2 sends for an element of the widest read: of what is gathered whole sectors of each
 * run.  */
static double widest_bytes(const ROperand *op, double step) {
    if (op->affine || op->run_mn <= 1)
        return lesser(greater(step, op->affine ? 0 : SECTOR) * op->bytes, SECTOR);
    double sectors = mp_mean_sectors(op->run_mn, op->bytes, op->bytes,
                                     mp_grain(op->vec_mn * op->bytes));
    return sectors * SECTOR / (double)op->run_mn;
}

static Loads loads_of(const Model *m, const RProg *r) {
    const Problem *p = m->p;
    const ROperand *op = &p->op[0];
    bool map = reads_of(&p->map.widths) > 0;
    double step = op->stride_mn < 0 ? (double)-op->stride_mn : (double)op->stride_mn;
    Loads l = map ? map_loads(p, r, step) : trip_loads(p, r, step);
    l.bytes += widest_bytes(op, step);
    return l;
}

/* Warp instructions of so many warps' worth of elements on all trips, and of a thread's own.  */
static double issue_of(const Problem *p, const Loads *l, const RProg *r, double elements,
                       double warps) {
    double test = p->op[0].guarded ? 3 : 0, steps = elements * greater((double)p->extent[AX_K], 1);
    if (reads_of(&p->map.widths) > 0)
        return steps * (greater(p->body_ops, 1) + test + 1.5 * l->requests) +
               elements * (p->epilogue_ops + (3 + 4.0 * p->map.divisions) / r->store_vec) +
               warps * 20;
    return steps * (1 + p->body_ops + test + 3 * l->requests) +
           elements * (p->epilogue_ops + 6.0 / r->store_vec) + warps * 30;
}

static void estimate(const Model *m, const RProg *r, CountMemo *memo, Estimate *out) {
    (void)memo;
    const Problem *p = m->p;
    Loads l = loads_of(m, r);
    double outputs = greater((double)p->extent[AX_M], 1);
    double trips = greater((double)p->extent[AX_K], 1), sent = outputs * trips * l.bytes;
    ViewWork w = {.blocks = (double)rprog_blocks(p, r)};
    double elements = w.blocks * r->block.extent[AX_M] / WARP;
    w.reads = m->total_unique + (double)p->epilogue_bytes + p->gap_reads;
    w.writes = w.sent = m->out_bytes + p->gap_writes;
    /* Windows overlap in L1.  */
    w.l2 = greater(trips > 1 ? lesser(sent, 2 * w.reads) : sent, w.reads);
    w.wavefronts = elements * (trips * l.wavefronts + 1);
    w.compute = elements * trips * (1 + p->body_ops);
    w.ops = issue_of(p, &l, r, elements, w.blocks * r->threads / WARP);
    /* A loop keeps a few trips under way; a block's loads are not under way while it starts.  */
    double waits = greater(trips / 4, 1) * m->dram_latency;
    w.chain = waits + m->block_start;
    w.flying = r->thread.extent[AX_M] * w.reads / (outputs * trips) * lesser(trips, 4) *
               (waits / w.chain);
    mp_view_terms(m, r, &w, out);
    out->padding_waste = w.blocks * r->block.extent[AX_M] / outputs - 1;
    out->load_sectors = (int64_t)(sent / SECTOR);
    mp_finish(out);
}

/* ---- in words ---- */

static void summary(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    (void)p, (void)dev;
    buf_printf(out, "stream, %d threads, %d elements per thread, %d at once", r->threads,
               (int)r->thread.extent[AX_M], r->store_vec);
}

static int lesser_width(const ROperand *op, const RProg *r) {
    return op->vec_mn < r->store_vec ? op->vec_mn : r->store_vec;
}

static void explain(const Story *s) {
    const Problem *p = s->p;
    const RProg *r = &s->best->prog;
    Buf *out = s->out;
    const ROperand *op = &p->op[0];
    buf_printf(out, "  elements: %lld; a thread makes %d, %d at once", (long long)p->extent[AX_M],
               (int)r->thread.extent[AX_M], r->store_vec);
    if (p->extent[AX_K] > 1)
        buf_printf(out, ", each from a loop of %lld", (long long)p->extent[AX_K]);
    if (rprog_stream_rest(p, r))
        buf_printf(out, "; of the last ones less than %d are left, which come one by one",
                   r->store_vec);
    buf_putc(out, '\n');
    if (p->n_operand > 0) {
        buf_printf(out, "  widest read: %d bytes an element, ", op->bytes);
        if (!op->affine && op->run_mn > 1)
            buf_printf(out, "gathered in rows of %lld, neighbours %d at once\n",
                       (long long)op->run_mn, lesser_width(op, r));
        else if (!op->affine) buf_puts(out, "gathered\n");
        else if (op->stride_mn == 1)
            buf_printf(out, "neighbours %d at once\n", lesser_width(op, r));
        else
            buf_printf(out, "%lld elements from one to the next\n", (long long)op->stride_mn);
    }
    mp_flight_words(s);
    mp_wave_words(s);
}

static int compare(const RProg *a, const RProg *b) {
    enum { USUAL = 256 };
    return mp_compare(b->threads == USUAL, a->threads == USUAL);
}

const ModelRow mp_stream = {.estimate = estimate, .compare = compare, .summary = summary,
                            .explain = explain};
