/* The estimate of the scan skeleton, and its words.
 *
 * Priced as column by its bytes, requests and instructions: each element is read once and each
 * output written once.  A thread has the elements of a step in registers.  Each costs its term, two
 * folds (with the one before it, with what comes before all) and what follows; a vector of them 8
 * instructions and 3 for each read.  Where lanes share a result, a vector takes 3 instructions for
 * each of log2(lanes) shuffles and 6 more, and as many wavefronts of shared memory (shuffles go
 * through its pipe); several warps of a result 3 log2(warps) + 12 once a step.  Groups of rows read
 * what all others left: 3 instructions for each group and result.  A block on its own waits in each
 * step for DRAM, for its shuffles (24 clk each) and for two barriers where warps or groups meet;
 * held * element bytes are under way for the share of that time that is the wait for DRAM.
 *
 * With split > 1 a kernel before it reduces the slices.  SPLIT = launch + all reads at DRAM's rate
 * by the SMs that its blocks fill + its start + the latency of the partial results that a slice
 * reads, 4 at once.  What L2 holds of the reads then comes from there the second time.  */
#include "microperf/sectors.h"
#include "microperf/story.h"
#include "microperf/views.h"

/* Warp instructions: of a vector beside its accesses, of a level of shuffles, of a step.  */
enum { VECTOR = 8, LEVEL = 3, STEP = 24 };

static double levels(double n) {
    double count = 0;
    for (double x = 1; x < n; x *= 2) count++;
    return count;
}

/* What the threads of a result cost in one step: of a warp, and on the block's way.  */
typedef struct {
    double ops, wavefronts, clocks;
} Meets;

static Meets meets_of(const Model *m, const RProg *r, double vectors, double words) {
    const Problem *p = m->p;
    double lanes = rprog_scan_lanes(p, r), meets = rprog_scan_meets(p, r);
    double levels_within = levels(lanes), warps = levels(meets), vec = r->store_vec;
    Meets x = {.clocks = 2 * m->smem_latency};
    if (p->scan.down) {
        if (meets == 1) return x;
        x.ops = meets * vec * 3 * words;
        x.wavefronts = (2 * meets + 1) * vec * words;
        x.clocks += 2 * mp_barrier(m, r) + m->smem_latency + meets * 2 * vec;
        return x;
    }
    x.ops = vectors * (LEVEL * levels_within + 6) * words;
    x.wavefronts = vectors * (levels_within + 2) * words;
    x.clocks += (levels_within + 2) * SHUFFLE + vectors * 8;
    if (meets == 1) return x;
    x.ops += (LEVEL * warps + 12) * words;
    x.wavefronts += (warps + 4) * words;
    x.clocks += 2 * mp_barrier(m, r) + m->smem_latency + (warps + 2) * SHUFFLE;
    return x;
}

/* The kernel that reduces slices: it reads all there is.  */
static double slices_us(const Model *m, const RProg *r, double reads) {
    if (r->split <= 1) return 0;
    double blocks = (double)rprog_blocks(m->p, r) * r->split, partials = r->split / 2.0;
    double us = reads / m->dram_read * MP_US * whole(blocks / m->sms) * m->sms / blocks;
    double each = rprog_threads_along(r, AX_N);
    double trips = whole(partials / (m->p->scan.down ? 1 / each : each) / RPROG_PARTIALS);
    return m->launch_us + us +
           (m->block_start + m->dram_latency + trips * m->l2_latency) * MP_US / m->clock;
}

static void estimate(const Model *m, const RProg *r, CountMemo *memo, Estimate *out) {
    (void)memo;
    const Problem *p = m->p;
    const ScanView *v = &p->scan;
    double vec = r->store_vec, items = (double)r->thread.extent[AX_M] * r->thread.extent[AX_N];
    double vectors = items / vec, steps = (double)rprog_scan_steps(p, r);
    double blocks = (double)rprog_blocks(p, r), elements = (double)v->out.extent *
                                                            (double)v->extent;
    double reads = m->total_unique + (double)p->epilogue_bytes, spare = m->l2_capacity / reads;
    double words = hal_words(rprog_partial_bytes(p->te->stmt[p->group->root].rhs));
    double all = blocks * (double)((v->extent + r->block.extent[AX_N] - 1) /
                                   r->block.extent[AX_N]);
    double warps = all * r->threads / WARP, bytes = reads / elements;
    Meets meets = meets_of(m, r, vectors, words);
    double requests = mp_map_requests(v->widths, r->store_vec) * vec;

    ViewWork w = {.blocks = blocks * r->split, .reads = reads, .writes = m->out_bytes};
    if (r->split > 1) w.reads = spare >= 1 ? 0 : reads * (1 - spare);
    w.l2 = reads;
    w.compute = warps * items * (v->term_ops + 2);
    w.ops = warps * (items * (v->term_ops + 2 * words + p->epilogue_ops) + meets.ops +
                     vectors * (VECTOR + 3 * requests) + STEP) +
            w.blocks * r->threads / WARP * 40;
    double run = v->down ? lesser(rprog_threads_along(r, AX_M), WARP)
                         : lesser(rprog_threads_along(r, AX_N), WARP);
    double passes = mp_view_passes(vec * bytes, vec * bytes, run, 0);
    double each = w.writes / elements, row = (double)(v->down ? v->out.extent : v->extent);
    w.sent = mp_sent(w.writes, run, vec * each, row * each);
    w.wavefronts = warps * (vectors * passes * (requests + 1) + meets.wavefronts);
    if (v->down && r->block.extent[AX_M] < v->out.extent)
        w.run = (double)r->block.extent[AX_M] * bytes;
    double waits = steps * m->dram_latency;
    w.chain = m->block_start + waits + steps * meets.clocks;
    double met = all * r->block.extent[AX_M] * r->block.extent[AX_N];
    w.flying = items * bytes * (elements / met) * waits / w.chain;
    mp_view_terms(m, r, &w, out);
    out->padding_waste = met / elements - 1;
    out->term[MP_SPLIT] = slices_us(m, r, reads);
    mp_finish(out);
}

/* ---- words ---- */

static void summary(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    (void)dev;
    int along = rprog_threads_along(r, AX_N), across = rprog_threads_along(r, AX_M);
    if (p->scan.down)
        buf_printf(out, "scan, %d threads x %d columns, %d group%s of %d rows", across,
                   r->store_vec, along, mp_plural(along), (int)r->thread.extent[AX_N]);
    else
        buf_printf(out, "scan, %d thread%s per row, %d row%s per block, %d elements per thread, "
                   "%d at once", along, mp_plural(along), across, mp_plural(across),
                   (int)r->thread.extent[AX_N], r->store_vec);
    if (r->split > 1) buf_printf(out, ", split by %d", (int)r->split);
}

static void explain(const Story *s) {
    const Problem *p = s->p;
    const RProg *r = &s->best->prog;
    Buf *out = s->out;
    const ScanView *v = &p->scan;
    int meets = rprog_scan_meets(p, r);
    long long steps = (long long)rprog_scan_steps(p, r);
    buf_printf(out, "  walk: %lld elements %s, %s%s, of %lld results; each is read once\n",
               (long long)v->extent, v->down ? "that lie apart" : "side by side",
               v->of.reversed ? "down" : "up", v->of.exclusive ? ", its own left out" : "",
               (long long)v->out.extent);
    buf_printf(out, "  steps: %lld of %d elements; a thread has %d of %d result%s in registers",
               steps, (int)r->block.extent[AX_N], (int)r->thread.extent[AX_N],
               (int)r->thread.extent[AX_M], mp_plural(r->thread.extent[AX_M]));
    if (rprog_scan_lanes(p, r) > 1) buf_printf(out, "; %d lanes meet", rprog_scan_lanes(p, r));
    if (meets > 1)
        buf_printf(out, "; %d %s meet in %d bytes of shared memory", meets,
                   v->down ? "groups" : "warps", (int)r->smem);
    buf_putc(out, '\n');
    if (r->split > 1) {
        long long blocks = (long long)rprog_blocks(p, r);
        buf_printf(out, "  grid: %d slices, because %lld block%s would leave SMs idle; a kernel "
                   "before reduces them to %lld bytes\n", (int)r->split, blocks, mp_plural(blocks),
                   (long long)rprog_workspace(p, r));
    }
    mp_view_words(s);
    mp_flight_words(s);
}

const ModelRow mp_scan = {.estimate = estimate, .compare = mp_wider_stores,
                          .alike = mp_same_stores, .summary = summary, .explain = explain};
