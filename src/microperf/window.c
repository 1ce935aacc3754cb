/* The estimate of the window skeleton.
 *
 * A patch of TM x TN outputs loads each of its (TM-1)*step + (R-1)*dil + 1 input rows once, ceil of
 * ((TN-1)*step + (S-1)*dil + 1 + shift) / vec loads each.  Blocks read halos of each other again:
 * L2 = bytes * (rows*step + span - step)/(rows*step) for the rows that a block's patches cover, and
 * the same along columns; DRAM sees each input once.  A store has one place of 32 patches: TN
 * outputs lie between what neighbours store, and a sector is stored to by several requests unless
 * the vector fills it.  A load costs 1.5 instructions, with tests one more and half a one for each
 * register of what stands for elements outside; a row one; narrow types one for each element that
 * is needed; an element of a filter one, as it is narrow one more; a store 3.  Outputs alike, as of
 * several filters, share these loads, not the filters' elements, each a pass of a warp or one for
 * each word; those of other blocks fetch the source again.  From shared memory: the fill costs 18
 * instructions per element (position, tests, address, load, store; 6 more for several planes), in
 * rounds of 8 loads under way, each of a DRAM latency; reads of the rows take wavefronts, whose
 * conflicts follow from the distance between patches; blocks that compute have nothing under way,
 * so bytes in flight count by the share of the fill.  One block on its own loads and then works:
 * its chain ends with the clocks that its instructions, or its passes, take it.  Registers:
 * accumulators + row + at most 32 taps + 22, fitted to compiled kernels.
 *
 * Stencils.  A map that reads a tensor at several shifts is a window of its taps.  Each tensor that
 * it reads so (in three dimensions each plane) is a source with a halo of its own; other reads are
 * made for each vector of outputs.  A patch has all its rows before its first output, so registers
 * hold what its taps need, at most 128 words (three quarters of them at a time, as compiled kernels
 * do), and loads that no tap needs are left out (corners of a cross), as the compiler does, which
 * also narrows those of which one element is needed.  L2 sends each source with its halo, and what
 * other reads ask for.  */
#include "microperf/sectors.h"
#include "microperf/views.h"

/* How often inputs are fetched by different blocks: a block's inputs, with the halo, over those
 * of its outputs alone.  */
static double halo(double outputs, double step, double span) {
    double read = greater(outputs * step + span - step, span);
    return read / greater(outputs * step, span < step ? span : 1);
}

/* The area of the tensor that the patches of one block cover.  */
typedef struct {
    double rows, columns;     /* outputs */
    double in_row;            /* patches beside each other in a row of outputs, lanes included */
} Area;

static Area area_of(const Problem *p, const RProg *r) {
    const WindowView *v = &p->window;
    double tm = r->thread.extent[AX_M], tn = r->thread.extent[AX_N];
    double lanes = v->lane < 0 ? 1 : (double)p->te->stmt[p->group->root].index[v->lane].hi.value;
    double beside = greater((double)v->extent_q / tn, 1), deep = greater(lanes / r->vec_n, 1);
    if (v->lane < 0) deep = 1;
    Area a = {.in_row = beside * deep};
    if (r->keep == KEEP_SHARED) {
        a.rows = lesser(r->block.extent[AX_M], (double)v->extent_p);
        a.columns = lesser(r->block.extent[AX_N], (double)v->extent_q);
        return a;
    }
    double threads = r->threads;
    a.columns = lesser(greater(threads / deep, 1), beside) * tn;
    a.rows = lesser(greater(threads / a.in_row, 1) * tm, (double)v->extent_p);
    return a;
}

/* Instructions of one thread.  */
typedef struct {
    double loads, taps, ops;
    double filters;           /* passes of a warp's loads of filters through L1 */
} Thread;

static bool is_guarded(const Problem *p, const RProg *r, int source) {
    const WindowView *v = &p->window;
    const WindowSource *x = &v->source[source];
    if (rprog_window_tiled(r, source)) return false;
    return v->extent_q % r->thread.extent[AX_N] || v->extent_p % r->thread.extent[AX_M] ||
           x->access.guard[x->dim_n] || (x->dim_m >= 0 && x->access.guard[x->dim_m]);
}

/* Registers that what stands for an element outside takes: zeros do so as they lie in memory.  */
static double words_outside(const Problem *p, const RProg *r, int source) {
    const WindowSource *x = &p->window.source[source];
    if (!x->zeros) return greater(x->value_bytes / 4, 1);
    return greater(x->bytes, 4.0 / rprog_window_width(p, r, source)) / 4;
}

/* Instructions of a thread's loads of a source: a test and what stands for elements that may be
 * outside, what lands narrow as values.  Counted in compiled kernels.  */
static double load_ops(const Problem *p, const RProg *r, int source) {
    double loads = (double)rprog_window_used(p, r, source, true);
    double elements = (double)rprog_window_used(p, r, source, false);
    double ops = loads * 1.5 + (double)rprog_window_rows(p, r, source);
    if (is_guarded(p, r, source)) ops += loads + elements * words_outside(p, r, source) / 2;
    bool narrow = p->window.source[source].bytes < 4 && !rprog_window_tiled(r, source);
    return narrow ? ops + elements : ops;
}

/* Of its outputs, and of its beginning.  */
static double ending_ops(const Problem *p, const RProg *r) {
    double outputs = rprog_window_outputs(p, r);
    return outputs / r->store_vec * 3 + outputs * p->epilogue_ops + 40;
}

/* A map's: its sources, and what other reads take.  */
static Thread map_thread(const Model *m, const RProg *r) {
    const Problem *p = m->p;
    const WindowView *v = &p->window;
    double outputs = rprog_window_outputs(p, r);
    Thread t = {.taps = outputs * greater(p->body_ops, 1)};
    t.ops = t.taps * m->slots + ending_ops(p, r);
    for (int k = 0; k < v->n_source; k++) {
        t.loads += (double)rprog_window_used(p, r, k, true);
        t.ops += load_ops(p, r, k);
    }
    double others = mp_map_requests(v->others, r->store_vec) * outputs;
    t.loads += others;
    t.ops += others * 3;
    return t;
}

static Thread thread_of(const Model *m, const RProg *r) {
    const Problem *p = m->p;
    const WindowView *v = &p->window;
    const WindowSource *x = &v->source[0];
    if (v->map) return map_thread(m, r);
    double lanes = rprog_window_lanes(p, r), outputs = rprog_window_outputs(p, r);
    double others = greater(p->n_reads - 1, 0);
    double tap = p->con.product ? 1 : p->contraction ? 1 + p->body_ops : greater(p->body_ops, 1);
    double window = (double)x->extent_r * (double)x->extent_s, rest = (double)v->rest;
    Thread t = {.taps = outputs * window * rest * tap};
    t.loads = rest * (double)rprog_window_used(p, r, 0, true);
    /* Filters: once per tap and lane, shared by the places of the patch.  */
    double filters = rest * window * others * r->thread.extent[AX_K];
    t.ops = t.taps * m->slots + rest * load_ops(p, r, 0) +
            filters * (1 + (x->bytes < 4 ? lanes : 0)) + ending_ops(p, r);
    if (!rprog_window_unrolls(p, r)) t.ops += rest * (double)x->extent_r * 10;
    /* One element for all lanes, or another vector for each.  */
    t.filters = filters * (v->lane < 0 ? 1 : greater(r->vec_n * x->bytes / 4.0, 1));
    return t;
}

/* Filling the shared tiles of the whole grid.  */
typedef struct {
    double warps, ops, wavefronts, trips;
} Fill;

static Fill fill_of(const Problem *p, const RProg *r) {
    enum { UNROLLED = 8 };
    const WindowView *v = &p->window;
    WindowTile t = rprog_window_tile(p, r);
    double elements = (double)t.planes * (double)t.rows * (double)t.columns * (double)v->rest;
    double each = elements / r->threads, blocks = (double)rprog_blocks(p, r);
    Fill f = {.warps = blocks * elements / WARP};
    f.trips = (double)(int64_t)(each / UNROLLED + 1);
    /* Position, tests, address, load, conversion, store.  */
    f.ops = f.warps * (18 + (v->source[0].bytes < 4 ? 1 : 0) + (t.planes > 1 ? 6 : 0));
    double breaks = WARP / (double)t.columns;
    f.wavefronts = f.warps * (1 + greater(1, v->source[0].bytes / 4.0) + lesser(breaks, 2) * 0.5);
    return f;
}

/* Passes of one read of the sliding rows by a warp.  */
static double shared_passes(const Problem *p, const RProg *r) {
    const WindowSource *x = &p->window.source[0];
    WindowTile t = rprog_window_tile(p, r);
    double bytes = x->value_bytes, step = (double)(r->thread.extent[AX_N] * x->step_n) * bytes;
    double down = (double)(r->thread.extent[AX_M] * x->step_m * t.pitch) * bytes;
    return mp_view_passes(r->vec_n * bytes, step, (double)t.across, down);
}

/* Where tiles in shared memory take the place of direct loads.  */
static void price_tiles(const Model *m, const RProg *r, const Thread *t, ViewWork *w) {
    int bytes = m->p->window.source[0].bytes;
    Fill f = fill_of(m->p, r);
    double threads = w->blocks * r->threads, strip = r->thread.extent[AX_N];
    double stores = r->thread.extent[AX_M] * strip / r->store_vec;
    double passes = mp_view_passes(r->store_vec * bytes, strip * bytes,
                                   (double)rprog_window_tile(m->p, r).across, 0);
    w->ops += f.ops;
    w->wavefronts = f.wavefronts +
                    threads / WARP *
                        (t->loads * shared_passes(m->p, r) + t->filters + stores * passes);
    double resident = lesser(r->blocks_per_sm, greater(w->blocks / m->sms, 1));
    /* Blocks that compute have nothing under way: half of the others compute beside them.  */
    double issue = t->ops * resident * r->threads / WARP / m->issue / 2;
    double waits = f.trips * m->dram_latency;
    w->chain = m->block_start + waits + 2 * m->smem_latency;
    double flying = lesser(f.warps * WARP / threads, 8) * bytes;
    w->flying = flying * waits / (m->block_start + waits + issue);
}

/* How often a reduction's source is fetched for what is alike: by each thread that has a part of
 * it, but threads of a block find it in L1.  */
static double again_alike(const Problem *p, const RProg *r) {
    double groups = (double)p->window.extent_alike / r->thread.extent[AX_K];
    double patches = (double)rprog_window_patches(p, r) / (double)p->window.outer / groups;
    double together = r->keep == KEEP_SHARED ? 1 : greater(r->threads / patches, 1);
    return greater(groups / together, 1);
}

/* Bytes between L2 and the SMs, outputs left out: sources with their halos.  */
static double traffic(const Model *m, const RProg *r, double reads) {
    const Problem *p = m->p;
    const WindowView *v = &p->window;
    Area a = area_of(p, r);
    double swept = 0, outputs = (double)rprog_window_patches(p, r) * rprog_window_outputs(p, r);
    for (int k = 0; k < v->n_source; k++) {
        const WindowSource *x = &v->source[k];
        double again = halo(a.columns, (double)x->step_n,
                            (double)((x->extent_s - 1) * x->dil_n + 1));
        if (x->dim_m >= 0)
            again *= halo(a.rows, (double)x->step_m, (double)((x->extent_r - 1) * x->dil_m + 1));
        if (!v->map) return reads * again * again_alike(p, r);
        swept += outputs * (double)x->step_n * greater((double)x->step_m, 1) * x->bytes * again;
    }
    return greater(reads, swept + outputs * v->others_bytes);
}

/* Bytes from the place of a patch in a source to that of the patch below it, which is of the next
 * plane where patches are as high as one; 0: they do not lie by rows.  */
static double pitch_of(const Problem *p, const RProg *r, const WindowSource *x) {
    const TeTensor *t = &p->te->tensor[x->access.tensor];
    bool high = p->window.extent_p <= r->thread.extent[AX_M];
    if (!p->window.along || x->dim_m < 0) return 0;
    double row = x->bytes * (high ? (double)t->shape[x->dim_m].value
                                  : (double)(r->thread.extent[AX_M] * x->step_m));
    for (int d = x->dim_m + 1; d < t->rank; d++) row *= (double)t->shape[d].value;
    return row;
}

/* The share of `loaded` places that are among n, where one patch has them all: what is there for no
 * thread takes no pass.  */
static double inside(bool whole, double n, double loaded) {
    return whole ? lesser(n / loaded, 1) : 1;
}

/* Of the loads from a source, of the stores for source < 0.  */
static double there(const Problem *p, const RProg *r, int source) {
    const WindowView *v = &p->window;
    double tm = r->thread.extent[AX_M], tn = r->thread.extent[AX_N];
    double high = (double)v->extent_p, wide = (double)v->extent_q;
    bool rows = v->p >= 0 && high <= tm, columns = v->along && wide <= tn;
    if (source < 0) return inside(rows, high, tm) * inside(columns, wide, tn);
    const WindowSource *x = &v->source[source];
    const TeTensor *t = &p->te->tensor[x->access.tensor];
    double loaded = (double)rprog_window_loads(p, r, source) * rprog_window_width(p, r, source);
    double share = inside(columns, (double)t->shape[x->dim_n].value, loaded);
    if (!rows || x->dim_m < 0) return share;
    return share * inside(rows, (double)t->shape[x->dim_m].value,
                          (double)rprog_window_rows(p, r, source));
}

/* Bytes between what neighbouring threads read, in the mean, where those of several filters side by
 * side read the same.  */
static double step_beside(const Problem *p, const RProg *r) {
    const WindowSource *x = &p->window.source[0];
    const TeStmt *s = &p->te->stmt[p->group->root];
    double stride = (double)p->te->tensor[x->access.tensor].stride[x->dim_n].value;
    double sharing = (double)s->index[p->window.lane].hi.value / r->vec_n;
    return (double)(r->thread.extent[AX_N] * x->step_n) * stride * x->bytes / sharing;
}

/* Passes of a thread's loads through L1.  */
static double load_passes(const Problem *p, const RProg *r, const Thread *t, double run) {
    const WindowView *v = &p->window;
    double passes = 0, left = t->loads;
    for (int k = 0; k < v->n_source; k++) {
        const WindowSource *x = &v->source[k];
        double width = rprog_window_width(p, r, k) * x->bytes, step = width;
        if (v->along) step = (double)(r->thread.extent[AX_N] * x->step_n) * x->bytes;
        else if (v->beside) step = step_beside(p, r);
        else if (v->lane < 0) step = SECTOR;
        double pitch = pitch_of(p, r, x);
        if (!v->map)
            return t->loads * there(p, r, k) * mp_view_passes(width, step, run, pitch) + t->filters;
        double loads = (double)rprog_window_used(p, r, k, true);
        passes += loads * mp_view_passes(width, step, run, pitch);
        left -= loads;
    }
    double vector = r->store_vec * p->op[0].bytes;
    return passes + left * mp_view_passes(vector, vector, run, 0);
}

/* Sectors of a warp's stores of one vector each.  Threads beside each other store a patch apart;
 * patches of one row that fill the rows of outputs follow each other from row to row.  */
static double store_sectors(const Problem *p, const RProg *r, int64_t bytes) {
    const WindowView *v = &p->window;
    int64_t tn = r->thread.extent[AX_N], width = r->store_vec * bytes, step = width, row = SECTOR;
    double run = 1;
    if (v->along) {
        step = tn * bytes;
        row = v->extent_q * bytes;
        run = greater(area_of(p, r).columns / (double)tn, 1);
        if (r->keep != KEEP_SHARED && r->thread.extent[AX_M] == 1 && v->extent_q % tn == 0)
            run = WARP;
    } else if (v->lane >= 0) {
        row = p->te->stmt[p->group->root].index[v->lane].hi.value * bytes;
        run = greater((double)row / (double)width, 1);
        if (tn == 1 && row % width == 0) run = WARP;
    }
    int64_t lanes = (int64_t)lesser(run, WARP), grain = mp_grain(row);
    if (mp_grain(lanes * step) < grain) grain = mp_grain(lanes * step);
    return WARP / (double)lanes * mp_mean_sectors(lanes, step, width, grain);
}

void mp_estimate_window(const Model *m, const RProg *r, Estimate *out) {
    const Problem *p = m->p;
    const WindowView *v = &p->window;
    double patches = (double)rprog_window_patches(p, r);
    double warps = patches / WARP, tn = r->thread.extent[AX_N], each = rprog_window_outputs(p, r);
    Thread t = thread_of(m, r);
    ViewWork w = {.blocks = (double)rprog_blocks(p, r), .writes = m->out_bytes};
    w.reads = m->total_unique + (double)p->epilogue_bytes;
    w.compute = warps * t.taps;
    w.products = !v->map && p->con.product ? w.compute : 0;
    w.ops = warps * t.ops;
    w.l2 = traffic(m, r, w.reads);

    double width = r->vec_n * v->source[0].bytes, run = whole(area_of(p, r).in_row);
    double store_width = (double)r->store_vec * p->op[0].bytes;
    double store_step = v->along ? tn * v->source[0].bytes : width;
    double below = lesser(r->thread.extent[AX_M], (double)v->extent_p);
    double pitch = v->along ? (double)v->extent_q * below * p->op[0].bytes : 0;
    double outputs = 1;
    const TeStmt *s = &p->te->stmt[p->group->root];
    for (int i = 0; i < s->n_left; i++) outputs *= (double)s->index[i].hi.value;
    int64_t bytes = (int64_t)greater(w.writes / greater(outputs, 1), 1);
    double stores = each / r->store_vec * there(p, r, -1);
    w.sent = warps * stores * store_sectors(p, r, bytes) * SECTOR;
    w.wavefronts = warps * (load_passes(p, r, &t, run) +
                            stores * mp_view_passes(store_width, store_step, run, pitch));

    /* The rows of a patch are under way together where they are unrolled.  */
    double loops = (double)v->rest *
                   (rprog_window_unrolls(p, r) ? 1 : (double)v->source[0].extent_r);
    double waits = loops * m->dram_latency;
    w.chain = m->block_start + waits;
    w.flying = w.reads / patches / loops * waits / (m->block_start + waits);
    if (r->keep == KEEP_SHARED) {
        double idle = w.blocks * r->threads / greater(patches, 1);
        w.ops *= idle;
        price_tiles(m, r, &t, &w);
    }
    /* What a block has to do when its inputs are there.  */
    double work = greater(w.ops / m->issue, w.wavefronts / m->smem_rate) / w.blocks;
    w.chain += greater(work, t.ops);
    mp_view_terms(m, r, &w, out);
    double computed = patches * each;
    out->padding_waste = outputs > 0 ? computed / outputs - 1 : 0;
    mp_finish(out);
}
