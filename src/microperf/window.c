/* The estimate of the `window` skeleton.  */
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
} Thread;

static double outputs_of(const Problem *p, const RProg *r) {
    return (double)r->thread.extent[AX_M] * r->thread.extent[AX_N] * rprog_window_lanes(p, r);
}

static bool is_guarded(const Problem *p, const RProg *r, int source) {
    const WindowView *v = &p->window;
    const WindowSource *x = &v->source[source];
    if (rprog_window_tiled(r, source)) return false;
    return v->extent_q % r->thread.extent[AX_N] || v->extent_p % r->thread.extent[AX_M] ||
           x->access.guard[x->dim_n] || (x->dim_m >= 0 && x->access.guard[x->dim_m]);
}

/* Instructions around a load of a source: its address, its tests, the values where it is outside,
 * what lands narrow as values.  */
static double load_ops(const Problem *p, const RProg *r, int source) {
    const WindowSource *x = &p->window.source[source];
    double width = rprog_window_width(p, r, source), words = greater(x->value_bytes / 4, 1);
    if (rprog_window_tiled(r, source)) return 1;
    bool guarded = is_guarded(p, r, source);
    return 2 + (guarded ? 2 + width * words : 0) + (x->bytes < 4 ? width : 0);
}

/* A map's: loads of its sources, a test and zeros for what may be outside, what lands narrow as
 * values; what other reads take.  Counted in compiled kernels.  */
static Thread map_thread(const Problem *p, const RProg *r) {
    const WindowView *v = &p->window;
    double outputs = outputs_of(p, r), words = greater(v->sum_bytes / 4, 1);
    Thread t = {.taps = outputs * greater(p->body_ops, 1) * words};
    t.ops = t.taps + outputs / r->store_vec * 3 + outputs * p->epilogue_ops + 40;
    for (int k = 0; k < v->n_source; k++) {
        const WindowSource *x = &v->source[k];
        double loads = (double)rprog_window_used(p, r, k, true);
        double elements = (double)rprog_window_used(p, r, k, false) * rprog_window_lanes(p, r);
        t.loads += loads;
        t.ops += loads * 1.5 + (double)rprog_window_rows(p, r, k);
        if (is_guarded(p, r, k)) t.ops += loads + elements * greater(x->value_bytes / 4, 1) / 2;
        if (x->bytes < 4 && !rprog_window_tiled(r, k)) t.ops += elements;
    }
    double others = mp_map_requests(v->others, r->store_vec) * outputs;
    t.loads += others;
    t.ops += others * 3;
    return t;
}

static Thread thread_of(const Problem *p, const RProg *r) {
    const WindowView *v = &p->window;
    const WindowSource *x = &v->source[0];
    if (v->map) return map_thread(p, r);
    double lanes = rprog_window_lanes(p, r), outputs = outputs_of(p, r);
    double words = greater(v->sum_bytes / 4, 1), others = greater(p->n_reads - 1, 0);
    double tap = p->con.product ? 1 : p->contraction ? 1 + p->body_ops : greater(p->body_ops, 1);
    double window = (double)x->extent_r * (double)x->extent_s, rest = (double)v->rest;
    Thread t = {.taps = outputs * window * rest * tap * words};
    t.loads = rest * (double)rprog_window_rows(p, r, 0) * (double)rprog_window_loads(p, r, 0);
    /* Filters: once per tap and lane, shared by the outputs of the patch.  */
    double filters = rest * window * others;
    double stores = outputs / r->store_vec;
    t.ops = t.taps + t.loads * load_ops(p, r, 0) +
            filters * (2 + (x->bytes < 4 ? lanes : 0)) + stores * 4 +
            outputs * (p->epilogue_ops + 1) + 40;
    if (!rprog_window_unrolls(p, r)) t.ops += rest * (double)x->extent_r * 10;
    t.loads += filters / (v->lane < 0 ? WARP : 1);
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

/* Wavefronts of one read of the sliding rows by a warp.  */
static double shared_lines(const Problem *p, const RProg *r) {
    const WindowSource *x = &p->window.source[0];
    double width = r->vec_n * x->value_bytes;
    double step = (double)(r->thread.extent[AX_N] * x->step_n) * x->value_bytes;
    double apart = greater(step / width, 1);
    return greater(WARP * width / 128, 1) * lesser(apart, 16 / greater(width / 4, 1));
}

/* Where tiles in shared memory take the place of direct loads.  */
static void price_tiles(const Model *m, const RProg *r, const Thread *t, ViewWork *w) {
    int bytes = m->p->window.source[0].bytes;
    Fill f = fill_of(m->p, r);
    double threads = w->blocks * r->threads, strip = r->thread.extent[AX_N];
    double stores = r->thread.extent[AX_M] * strip / r->store_vec;
    double lines = mp_view_lines(r->store_vec * bytes, strip * bytes, WARP);
    w->ops += f.ops;
    w->wavefronts = f.wavefronts +
                    threads / WARP * (t->loads * shared_lines(m->p, r) + stores * lines);
    double resident = lesser(r->blocks_per_sm, greater(w->blocks / m->sms, 1));
    /* Blocks that compute have nothing under way: half of the others compute beside them.  */
    double issue = t->ops * resident * r->threads / WARP / m->issue / 2;
    double waits = f.trips * m->dram_latency;
    w->chain = m->block_start + waits + 2 * m->smem_latency + t->ops;
    double flying = lesser(f.warps * WARP / threads, 8) * bytes;
    w->flying = flying * waits / (m->block_start + waits + issue);
}

/* Bytes between L2 and the SMs, outputs left out: sources with their halos.  */
static double traffic(const Model *m, const RProg *r, double reads) {
    const Problem *p = m->p;
    const WindowView *v = &p->window;
    Area a = area_of(p, r);
    double swept = 0, outputs = (double)rprog_window_patches(p, r) * outputs_of(p, r);
    for (int k = 0; k < v->n_source; k++) {
        const WindowSource *x = &v->source[k];
        double again = halo(a.columns, (double)x->step_n,
                            (double)((x->extent_s - 1) * x->dil_n + 1));
        if (x->dim_m >= 0)
            again *= halo(a.rows, (double)x->step_m, (double)((x->extent_r - 1) * x->dil_m + 1));
        if (!v->map) return reads * again;
        swept += outputs * (double)x->step_n * greater((double)x->step_m, 1) * x->bytes * again;
    }
    return greater(reads, swept + outputs * v->others_bytes);
}

/* Lines that a thread's loads ask for.  */
static double lines_of(const Problem *p, const RProg *r, const Thread *t, double run) {
    const WindowView *v = &p->window;
    double lines = 0, left = t->loads;
    for (int k = 0; k < v->n_source; k++) {
        const WindowSource *x = &v->source[k];
        double width = rprog_window_width(p, r, k) * x->bytes, step = width;
        if (v->along) step = (double)(r->thread.extent[AX_N] * x->step_n) * x->bytes;
        else if (v->lane < 0) step = SECTOR;
        if (!v->map) return t->loads * mp_view_lines(width, step, run);
        double loads = (double)rprog_window_used(p, r, k, true);
        lines += loads * mp_view_lines(width, step, run);
        left -= loads;
    }
    return lines + left * mp_view_lines(r->store_vec * p->op[0].bytes,
                                        r->store_vec * p->op[0].bytes, run);
}

void mp_estimate_window(const Model *m, const RProg *r, Estimate *out) {
    const Problem *p = m->p;
    const WindowView *v = &p->window;
    double patches = (double)rprog_window_patches(p, r);
    double warps = patches / WARP, tn = r->thread.extent[AX_N], each = outputs_of(p, r);
    Thread t = thread_of(p, r);
    ViewWork w = {.blocks = (double)rprog_blocks(p, r), .writes = m->out_bytes};
    w.reads = m->total_unique + (double)p->epilogue_bytes;
    w.compute = warps * t.taps;
    w.ops = warps * t.ops;
    w.l2 = traffic(m, r, w.reads) + w.writes;

    double width = r->vec_n * v->source[0].bytes, run = area_of(p, r).in_row;
    double store_width = (double)r->store_vec * p->op[0].bytes;
    double store_step = v->along ? tn * v->source[0].bytes : width;
    w.wavefronts = warps * (lines_of(p, r, &t, run) +
                            each / r->store_vec * mp_view_lines(store_width, store_step, run));

    /* The rows of a patch are under way together where they are unrolled.  */
    double loops = (double)v->rest *
                   (rprog_window_unrolls(p, r) ? 1 : (double)v->source[0].extent_r);
    double waits = loops * m->dram_latency;
    w.chain = m->block_start + waits + t.ops;
    w.flying = w.reads / patches / loops * waits / (m->block_start + waits);
    if (r->keep == KEEP_SHARED) {
        double idle = w.blocks * r->threads / greater(patches, 1);
        w.ops *= idle;
        price_tiles(m, r, &t, &w);
    }
    mp_view_terms(m, r, &w, out);
    double computed = patches * each, outputs = 1;
    const TeStmt *s = &p->te->stmt[p->group->root];
    for (int i = 0; i < s->n_left; i++) outputs *= (double)s->index[i].hi.value;
    out->padding_waste = outputs > 0 ? computed / outputs - 1 : 0;
    mp_finish(out);
}
