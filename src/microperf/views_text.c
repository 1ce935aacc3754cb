/* Column and window programs in the words of a kernel engineer.  */
#include "microperf/views.h"

static const char *plural(int64_t n) { return n == 1 ? "" : "s"; }

static void column_summary(const RProg *r, Buf *out) {
    int groups = rprog_threads_along(r, AX_K);
    buf_printf(out, "column, %d threads x %d columns, %d row group%s of %d in flight",
               rprog_threads_along(r, AX_M), (int)r->thread.extent[AX_M], groups, plural(groups),
               (int)r->thread.extent[AX_K]);
    if (r->split > 1) buf_printf(out, ", rows split by %d", (int)r->split);
}

void mp_view_summary(const Problem *p, const RProg *r, Buf *out) {
    if (r->skeleton == SK_COLUMN) {
        column_summary(r, out);
        return;
    }
    buf_printf(out, "window, %d threads, patches of %dx%d", r->threads,
               (int)r->thread.extent[AX_M], (int)r->thread.extent[AX_N]);
    int lanes = rprog_window_lanes(p, r);
    if (lanes > 1) buf_printf(out, " of %d neighbours", lanes);
    buf_printf(out, ", loads of %d, stores of %d", r->vec_n, r->store_vec);
    if (r->keep != KEEP_SHARED) return;
    WindowTile t = rprog_window_tile(p, r);
    buf_printf(out, ", inputs of %dx%d in shared memory", (int)t.rows, (int)t.columns);
    if (t.planes > 1) buf_printf(out, " for %d planes", t.planes);
}

static void explain_column(const Problem *p, const RProg *r, Buf *out) {
    const ColumnView *v = &p->column;
    int along = rprog_threads_along(r, AX_M), groups = rprog_threads_along(r, AX_K);
    buf_printf(out, "  columns: %lld outputs in runs of %lld elements; a thread reads %d bytes at "
               "once, %d threads side by side %d bytes\n", (long long)v->out.extent,
               (long long)v->run, (int)r->thread.extent[AX_M] * v->bytes, along,
               (int)r->block.extent[AX_M] * v->bytes);
    buf_printf(out, "  rows: %lld, every %d. by the same group; %d row%s of a thread in flight",
               (long long)v->red.extent, groups, (int)r->thread.extent[AX_K],
               plural(r->thread.extent[AX_K]));
    if (groups > 1) buf_printf(out, "; groups meet in %d bytes of shared memory", (int)r->smem);
    buf_putc(out, '\n');
    if (v->n_sum > 1) {
        buf_puts(out, "  one pass:");
        mp_pass_explain(p->te, p->group->columns, 0, out);
        buf_putc(out, '\n');
    }
    if (r->split > 1) {
        long long blocks = (long long)rprog_blocks(p, r);
        buf_printf(out, "  grid: rows in %d slices, because %lld block%s would leave SMs idle; ",
                   (int)r->split, blocks, plural(blocks));
        buf_printf(out, "%lld bytes of partial results\n", (long long)rprog_workspace(p, r));
    }
}

/* Elements that a patch reads of a source.  */
static double loaded(const Problem *p, const RProg *r, int source) {
    return (double)rprog_window_used(p, r, source, false) * rprog_window_lanes(p, r);
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
    double outputs = (double)r->thread.extent[AX_M] * r->thread.extent[AX_N] * lanes;
    long long rows = (long long)rprog_window_rows(p, r, source);
    buf_puts(out, "  window: ");
    if (v->map) buf_printf(out, "%d taps in ", taps);
    buf_printf(out, "%lldx%lld%s, step %lld,%lld, dilation %lld,%lld\n", (long long)x->extent_r,
               (long long)x->extent_s, v->map ? "" : " taps", (long long)x->step_m,
               (long long)x->step_n, (long long)x->dil_m, (long long)x->dil_n);
    buf_printf(out, "  patch: %dx%dx%d outputs; %lld row%s of %lld loads, ",
               (int)r->thread.extent[AX_M], (int)r->thread.extent[AX_N], lanes, rows, plural(rows),
               (long long)rprog_window_loads(p, r, source));
    mp_fixed(out, loaded(p, r, source) / outputs, 2);
    buf_printf(out, " elements read for each output where %d taps would be; %s\n", taps,
               rprog_window_unrolls(p, r) ? "taps unrolled" : "a loop over its rows");
    if (rprog_window_tiled(r, source))
        buf_printf(out, "  tile: %d bytes of shared memory hold the block's inputs with their "
                   "halo; reads of %d bytes\n", (int)r->smem, r->vec_n * x->value_bytes);
    else if (v->along)
        buf_printf(out, "  loads: %d bytes from multiples of their width, %d element%s before the "
                   "first that is needed\n", rprog_window_width(p, r, source) * x->bytes,
                   rprog_window_shift(p, r, source), plural(rprog_window_shift(p, r, source)));
    else
        buf_printf(out, "  loads: %d bytes\n", r->vec_n * x->bytes);
}

void mp_view_grid(const RProg *r, const Estimate *e, Buf *out) {
    buf_printf(out, "  grid: %lld blocks of %d threads, %d per SM, ", (long long)e->blocks,
               r->threads, e->blocks_per_sm);
    mp_fixed(out, e->waves, 2);
    buf_puts(out, " waves; ");
    mp_fixed(out, e->dram_bytes / 1e6, 2);
    buf_puts(out, " MB of DRAM, ");
    mp_fixed(out, (double)e->load_sectors * SECTOR / 1e6, 2);
    buf_puts(out, " MB read through L2\n");
}

void mp_view_explain(const Problem *p, const RProg *r, const Estimate *e, Buf *out) {
    if (r->skeleton == SK_COLUMN) explain_column(p, r, out);
    for (int i = 0; r->skeleton == SK_WINDOW && i < p->window.n_source; i++)
        explain_source(p, r, i, out);
    mp_view_grid(r, e, out);
}
