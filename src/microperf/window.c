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

static Thread thread_of(const Problem *p, const RProg *r) {
    const WindowView *v = &p->window;
    double tm = r->thread.extent[AX_M], tn = r->thread.extent[AX_N];
    double lanes = v->lane < 0 ? 1 : r->vec_n, outputs = tm * tn * lanes;
    double words = greater(v->sum_bytes / 4, 1), others = greater(p->n_reads - 1, 0);
    double tap = p->con.product ? 1 : p->contraction ? 1 + p->body_ops : greater(p->body_ops, 1);
    double window = (double)v->extent_r * (double)v->extent_s, rest = (double)v->rest;
    bool shared = r->keep == KEEP_SHARED;
    bool ragged = v->extent_q % r->thread.extent[AX_N] || v->extent_p % r->thread.extent[AX_M];
    bool guarded = !shared && (ragged || v->access.guard[v->dim_n] ||
                               (v->dim_m >= 0 && v->access.guard[v->dim_m]));
    double decode = v->bytes < 4 && !shared ? r->vec_n : 0;
    Thread t = {.taps = outputs * window * rest * tap * words};
    t.loads = rest * (double)rprog_window_rows(p, r) * (double)rprog_window_loads(p, r);
    /* Filters: once per tap and lane, shared by the outputs of the patch.  */
    double filters = rest * window * others;
    double stores = outputs / r->store_vec;
    t.ops = t.taps + t.loads * ((shared ? 1 : 2) + (guarded ? 2 + r->vec_n * words : 0) + decode) +
            filters * (2 + (v->bytes < 4 ? lanes : 0)) + stores * 4 +
            outputs * (p->epilogue_ops + 1) + 40;
    if (!rprog_window_unrolls(p, r)) t.ops += rest * (double)v->extent_r * 10;
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
    f.ops = f.warps * (18 + (v->bytes < 4 ? 1 : 0) + (t.planes > 1 ? 6 : 0));
    double breaks = WARP / (double)t.columns;
    f.wavefronts = f.warps * (1 + greater(1, v->bytes / 4.0) + lesser(breaks, 2) * 0.5);
    return f;
}

/* Wavefronts of one read of the sliding rows by a warp.  */
static double shared_lines(const Problem *p, const RProg *r) {
    double width = r->vec_n * p->window.value_bytes;
    double step = (double)(r->thread.extent[AX_N] * p->window.step_n) * p->window.value_bytes;
    double apart = greater(step / width, 1);
    return greater(WARP * width / 128, 1) * lesser(apart, 16 / greater(width / 4, 1));
}

/* Where tiles in shared memory take the place of direct loads.  */
static void price_tiles(const Model *m, const RProg *r, const Thread *t, ViewWork *w) {
    const WindowView *v = &m->p->window;
    Fill f = fill_of(m->p, r);
    double threads = w->blocks * r->threads, strip = r->thread.extent[AX_N];
    double stores = r->thread.extent[AX_M] * strip / r->store_vec;
    double lines = mp_view_lines(r->store_vec * v->bytes, strip * v->bytes, WARP);
    w->ops += f.ops;
    w->wavefronts = f.wavefronts +
                    threads / WARP * (t->loads * shared_lines(m->p, r) + stores * lines);
    double resident = lesser(r->blocks_per_sm, greater(w->blocks / m->sms, 1));
    /* Blocks that compute have nothing under way: half of the others compute beside them.  */
    double issue = t->ops * resident * r->threads / WARP / m->issue / 2;
    double waits = f.trips * m->dram_latency;
    w->chain = m->block_start + waits + 2 * m->smem_latency + t->ops;
    double flying = lesser(f.warps * WARP / threads, 8) * v->bytes;
    w->flying = flying * waits / (m->block_start + waits + issue);
}

void mp_estimate_window(const Model *m, const RProg *r, Estimate *out) {
    const Problem *p = m->p;
    const WindowView *v = &p->window;
    double patches = (double)rprog_window_patches(p, r);
    double warps = patches / WARP, tm = r->thread.extent[AX_M], tn = r->thread.extent[AX_N];
    Thread t = thread_of(p, r);
    Area a = area_of(p, r);
    ViewWork w = {.blocks = (double)rprog_blocks(p, r), .writes = m->out_bytes};
    w.reads = m->total_unique + (double)p->epilogue_bytes;
    w.compute = warps * t.taps;
    w.ops = warps * t.ops;

    double span_m = (double)((v->extent_r - 1) * v->dil_m + 1);
    double span_n = (double)((v->extent_s - 1) * v->dil_n + 1);
    double again = halo(a.columns, (double)v->step_n, span_n);
    if (v->dim_m >= 0) again *= halo(a.rows, (double)v->step_m, span_m);
    w.l2 = w.reads * again + w.writes;

    double width = r->vec_n * v->bytes, step = width, run = a.in_row;
    if (v->along) step = tn * (double)v->step_n * v->bytes;
    else if (v->lane < 0) step = SECTOR;
    double store_width = (double)r->store_vec * p->op[0].bytes;
    w.wavefronts = warps * (t.loads * mp_view_lines(width, step, run) +
                            tm * tn * (v->lane < 0 ? 1 : r->vec_n) / r->store_vec *
                                mp_view_lines(store_width, v->along ? tn * v->bytes : width, run));

    /* The rows of a patch are under way together where they are unrolled.  */
    double loops = (double)v->rest * (rprog_window_unrolls(p, r) ? 1 : (double)v->extent_r);
    double waits = loops * m->dram_latency;
    w.chain = m->block_start + waits + t.ops;
    w.flying = w.reads / patches / loops * waits / (m->block_start + waits);
    if (r->keep == KEEP_SHARED) {
        double idle = w.blocks * r->threads / greater(patches, 1);
        w.ops *= idle;
        price_tiles(m, r, &t, &w);
    }
    mp_view_terms(m, r, &w, out);
    double computed = patches * tm * tn * (v->lane < 0 ? 1 : r->vec_n), outputs = 1;
    const TeStmt *s = &p->te->stmt[p->group->root];
    for (int i = 0; i < s->n_left; i++) outputs *= (double)s->index[i].hi.value;
    out->padding_waste = outputs > 0 ? computed / outputs - 1 : 0;
    mp_finish(out);
}
