/* Window programs in the words of a kernel engineer; their row.  */
#include "microperf/story.h"

static void summary(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    (void)dev;
    buf_printf(out, "window, %d threads, patches of %dx%d", r->threads,
               (int)r->thread.extent[AX_M], (int)r->thread.extent[AX_N]);
    int lanes = rprog_window_lanes(p, r);
    if (lanes > 1) buf_printf(out, " of %d neighbours", lanes);
    if (r->thread.extent[AX_K] > 1) buf_printf(out, " for %d", (int)r->thread.extent[AX_K]);
    buf_printf(out, ", loads of %d, stores of %d", r->vec_n, r->store_vec);
    if (r->keep != KEEP_SHARED) return;
    WindowTile t = rprog_window_tile(p, r);
    buf_printf(out, ", inputs of %dx%d in shared memory", (int)t.rows, (int)t.columns);
    if (t.planes > 1) buf_printf(out, " for %d planes", t.planes);
}

/* Elements that a patch reads of a source.  */
static double loaded(const Problem *p, const RProg *r, int source) {
    return (double)rprog_window_used(p, r, source, false);
}

static int taps_of(const WindowView *v, int source) {
    int taps = 0;
    if (!v->map) return (int)(v->source[source].extent_r * v->source[source].extent_s);
    for (int i = 0; i < v->n_tap; i++) taps += v->tap[i].source == source;
    return taps;
}

static void explain_source(const Problem *p, const RProg *r, int source, Buf *out) {
    const WindowView *v = &p->window;
    const WindowSource *x = &v->source[source];
    int lanes = rprog_window_lanes(p, r), taps = taps_of(v, source);
    double outputs = rprog_window_outputs(p, r);
    long long rows = (long long)rprog_window_rows(p, r, source);
    buf_puts(out, "  window: ");
    if (v->map) buf_printf(out, "%d taps in ", taps);
    buf_printf(out, "%lldx%lld%s, step %lld,%lld, dilation %lld,%lld\n", (long long)x->extent_r,
               (long long)x->extent_s, v->map ? "" : " taps", (long long)x->step_m,
               (long long)x->step_n, (long long)x->dil_m, (long long)x->dil_n);
    buf_printf(out, "  patch: %dx%dx%d outputs; %lld row%s of %lld loads, ",
               (int)r->thread.extent[AX_M], (int)r->thread.extent[AX_N], lanes, rows,
               mp_plural(rows), (long long)rprog_window_loads(p, r, source));
    mp_fixed(out, loaded(p, r, source) / outputs, 2);
    buf_printf(out, " elements read for each output where %d taps would be; %s\n", taps,
               rprog_window_unrolls(p, r) ? "taps unrolled" : "a loop over its rows");
    if (rprog_window_tiled(r, source))
        buf_printf(out, "  tile: %d bytes of shared memory hold the block's inputs with their "
                   "halo; reads of %d bytes\n", (int)r->smem, r->vec_n * x->value_bytes);
    else if (v->along)
        buf_printf(out, "  loads: %d bytes from multiples of their width, %d element%s before the "
                   "first that is needed\n", rprog_window_width(p, r, source) * x->bytes,
                   rprog_window_shift(p, r, source), mp_plural(rprog_window_shift(p, r, source)));
    else
        buf_printf(out, "  loads: %d bytes\n", rprog_window_width(p, r, source) * x->bytes);
}

static void explain(const Story *s) {
    for (int i = 0; i < s->p->window.n_source; i++)
        explain_source(s->p, &s->best->prog, i, s->out);
    mp_view_words(s);
    mp_flight_words(s);
}

static void estimate(const Model *m, const RProg *r, CountMemo *memo, Estimate *out) {
    (void)memo;
    mp_estimate_window(m, r, out);
}

static bool alike(const RProg *a, const RProg *b) { return a->vec_n == b->vec_n; }

const ModelRow mp_window = {.estimate = estimate, .alike = alike, .summary = summary,
                            .explain = explain};
