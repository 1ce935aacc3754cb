/* The estimate of the permute skeleton, and its programs in words.
 *
 * A block computes a box of points.  Each source is read in the order of its memory and put down in
 * shared memory in the order of the outputs, which are computed and stored from there.  T threads;
 * P points of a box, of which source i has P_i (axes that do not move it left out); V_i elements of
 * a read, V of a store; a run is what of the box lies together in memory.
 *
 *   DRAM: every byte once; at the rate of the shortest run
 *   L2: run bytes, half a sector more where a run is no whole number of sectors; stored: parts of
 *       32 V elements of a run
 *   wavefronts: stores of single elements, reads of V (at most 16 bytes): counted by
 *       rtile_wavefronts request by request, up to 64 of a kind per source, which of larger boxes
 *       stand for the rest; + passes of global requests
 *   instructions: per read 2 + 3 per axis of the source, per element put down 2.5 (+ 1 below 4
 *       bytes), per output its operations + 1, per store 6 + 3 per axis
 *   chain: block start + DRAM latency + 3 latencies of shared memory + the block's own instructions
 *       and wavefronts
 *   bytes in flight: all reads of a thread inside of the domain, on average, for the share of DRAM
 *       latency in the chain
 *   registers: 32 + the larger of what waits to be put down and the values of the outputs + V  */
#include "microperf/sectors.h"
#include "microperf/story.h"
#include "microperf/views.h"

#include <string.h>

/* Bytes of whole sectors over the bytes of a run that begins anywhere in one.  */
static double sector_factor(double run_bytes) {
    if (run_bytes >= SECTOR && (int64_t)run_bytes % SECTOR == 0) return 1;
    return (run_bytes + SECTOR / 2.0) / run_bytes;
}

/* Bytes of a box in the order of source i, of the outputs for i < 0.  */
static double run_bytes(const Problem *p, const RProg *r, int i) {
    int bytes = i < 0 ? (int)((double)p->out_bytes / (double)p->permute.out.extent)
                      : p->permute.source[i].bytes;
    return (double)rprog_permute_run(p, r, i) * greater(bytes, 1);
}

/* Has source i the same part of a box, laid out in the same way?  */
static bool same_tile(const RProg *x, const RProg *y, int i) {
    const RLayout *a = &x->load[i].layout, *b = &y->load[i].layout;
    return memcmp(&x->block, &y->block, sizeof x->block) == 0 && a->bits == b->bits &&
           a->shift == b->shift && a->base == b->base;
}

/* The wavefronts of the program's box, at the place that is returned.  */
static int count_box(const Problem *p, const RProg *r, BoxCounts *c) {
    int at = c->n++ % BOX_KEPT, known = at < c->n - 1 ? BOX_KEPT : at;
    for (int i = 0; i < p->permute.n_source; i++) {
        double stores = -1, loads = -1;
        for (int j = 0; j < known; j++) {
            if (!same_tile(&c->of[j], r, i)) continue;
            if (c->of[j].load[i].vec == r->load[i].vec) stores = c->stores[j][i];
            if (c->of[j].store_vec == r->store_vec) loads = c->loads[j][i];
        }
        c->stores[at][i] = stores < 0 ? rprog_permute_stores(p, r, i) : stores;
        c->loads[at][i] = loads < 0 ? rprog_permute_loads(p, r, i) : loads;
    }
    c->of[at] = *r;
    return at;
}

/* What one source costs but for shared memory.  */
static void add_source(const Problem *p, const RProg *r, int i, double blocks, ViewWork *w) {
    const PermuteSource *x = &p->permute.source[i];
    double elements = (double)rprog_permute_elements(p, r, i), vec = r->load[i].vec;
    double points = (double)rprog_permute_points(p, r), run = run_bytes(p, r, i);
    double digits = x->n_order, bytes = elements * x->bytes * blocks;
    double width = rprog_permute_width(p, r, i);
    w->l2 += bytes * sector_factor(run);
    double passes = mp_view_passes(vec * x->bytes, vec * x->bytes, run / (vec * x->bytes), 0);
    w->wavefronts += blocks * elements / vec / WARP * passes;
    /* A load and its address; an address and a store for each element; narrow elements are parts
     * of registers.  */
    w->ops += blocks * elements / WARP * ((2 + 3 * digits) / vec + 2.5 + (x->bytes < 4 ? 1 : 0));
    w->ops += blocks * points / WARP * (2 / width + (x->bytes < 4 ? 1 : 0));
    w->flying += elements * x->bytes / r->threads;
    if (w->run == 0 || run < w->run) w->run = run;
}

static void estimate(const Model *m, const RProg *r, CountMemo *memo, Estimate *out) {
    const Problem *p = m->p;
    double blocks = (double)rprog_blocks(p, r), points = (double)rprog_permute_points(p, r);
    double outputs = (double)p->permute.out.extent, stores = 0, loads = 0;
    double vec = r->store_vec, axes = p->permute.out.n_digit;
    if (outputs < 1) {                    /* a size is 0: nothing is launched */
        *out = (Estimate){.term[MP_LAUNCH] = m->floor_us, .us = m->floor_us};
        return;
    }
    ViewWork w = {.blocks = blocks, .writes = m->out_bytes};
    w.reads = (double)p->read_bytes + (double)p->epilogue_bytes;
    BoxCounts local = {0}, *box = memo ? mp_box_counts(memo) : &local;
    int at = count_box(p, r, box);
    for (int i = 0; i < p->permute.n_source; i++) {
        add_source(p, r, i, blocks, &w);
        stores += blocks * box->stores[at][i];
        loads += blocks * box->loads[at][i];
    }
    double written = run_bytes(p, r, -1);
    if (written < w.run) w.run = written;
    w.l2 = greater(w.l2, w.reads);
    double each = m->out_bytes / outputs;
    w.sent = mp_sent(w.writes, lesser(written / (vec * each), WARP), vec * each, written);
    w.wavefronts += stores + loads +
                    blocks * points / vec / WARP *
                        mp_view_passes(vec * each, vec * each, written / (vec * each), 0);
    double elements = blocks * points / WARP;
    w.compute = elements * (p->body_ops + p->epilogue_ops);
    w.ops += w.compute + elements * ((6 + 3 * axes) / vec + 1) + blocks * r->threads / WARP * 40;
    /* All reads of a block are under way at once; then it turns and writes what it got.  */
    double work = w.ops / blocks / m->issue + (stores + loads) / blocks / m->smem_rate;
    w.chain = m->block_start + m->dram_latency + 3 * m->smem_latency + work;
    w.flying *= outputs / (blocks * points) * m->dram_latency / w.chain;
    mp_view_terms(m, r, &w, out);
    out->smem_store_wavefronts = (int64_t)(stores + 0.5);
    out->smem_load_wavefronts = (int64_t)(loads + 0.5);
    out->padding_waste = blocks * points / outputs - 1;
    mp_finish(out);
}

/* ---- in words ---- */

static void print_box(const Problem *p, const RProg *r, Buf *out) {
    for (int a = 0; a < p->permute.out.n_digit; a++)
        buf_printf(out, a ? "x%d" : "%d", (int)r->block.extent[a]);
}

static void summary(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    (void)dev;
    buf_puts(out, "permute, boxes of ");
    print_box(p, r, out);
    buf_printf(out, ", %d threads, reads of %d", r->threads, r->load[0].vec);
    if (p->permute.n_source > 1) buf_printf(out, " and %d", r->load[1].vec);
    buf_printf(out, ", stores of %d", r->store_vec);
}

static void explain_source(const Problem *p, const RProg *r, int i, Buf *out) {
    const PermuteSource *x = &p->permute.source[i];
    const RLayout *l = &r->load[i].layout;
    double elements = (double)rprog_permute_elements(p, r, i) / WARP;
    double points = (double)rprog_permute_points(p, r) / WARP / rprog_permute_width(p, r, i);
    buf_printf(out, "  source: %s is read %d bytes at once in runs of ",
               p->te->tensor[x->access.tensor].name, r->load[i].vec * x->bytes);
    mp_fixed(out, run_bytes(p, r, i), 0);
    buf_puts(out, " bytes; in shared memory rows of ");
    buf_printf(out, "%lld bytes", (long long)rprog_permute_row(p, r, i) * x->bytes);
    if (l->bits) buf_printf(out, ", chunks swizzled by %d bits", l->bits);
    buf_puts(out, ", ");
    mp_fixed(out, rprog_permute_stores(p, r, i) / elements, 2);
    buf_puts(out, " wavefronts for each store of an element, ");
    mp_fixed(out, rprog_permute_loads(p, r, i) / points, 2);
    buf_printf(out, " for each read of %d bytes\n", rprog_permute_width(p, r, i) * x->bytes);
}

static void explain(const Story *s) {
    const Problem *p = s->p;
    const RProg *r = &s->best->prog;
    Buf *out = s->out;
    buf_puts(out, "  box: ");
    print_box(p, r, out);
    buf_puts(out, " of ");
    for (int a = 0; a < p->permute.out.n_digit; a++)
        buf_printf(out, a ? "x%lld" : "%lld", (long long)p->permute.out.digit[a].extent);
    buf_puts(out, " points; outputs are written in runs of ");
    mp_fixed(out, run_bytes(p, r, -1), 0);
    buf_printf(out, " bytes; %d bytes of shared memory\n", (int)r->smem);
    for (int i = 0; i < p->permute.n_source; i++) explain_source(p, r, i, out);
    mp_view_words(s);
}

static bool alike(const RProg *a, const RProg *b) {
    return memcmp(a->block.extent, b->block.extent, sizeof a->block.extent) == 0;
}

const ModelRow mp_permute = {.estimate = estimate, .compare = mp_wider_stores, .alike = alike,
                             .summary = summary, .explain = explain};
