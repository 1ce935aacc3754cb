#include "driver/sample.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t lanes_of(const Problem *p, const RProg *r) {
    return p->window.lane < 0 ? 1 : r->vec_n;
}

/* Columns along M, in the order of the view; a window's patches along M and what each holds along N.  */
void sample_view_extents(const Problem *p, const RProg *r, int64_t extent[AX_CLASSES]) {
    for (int c = 0; c < AX_CLASSES; c++) extent[c] = 1;
    if (r->skeleton == SK_COLUMN) {
        extent[AX_M] = p->column.out.extent;
        return;
    }
    extent[AX_M] = rprog_window_patches(p, r);
    extent[AX_N] = (int64_t)r->thread.extent[AX_M] * r->thread.extent[AX_N] * lanes_of(p, r);
}

void sample_view_range(const Problem *p, const RProg *r, int64_t x, BlockRange *out) {
    int64_t extent[AX_CLASSES], span = r->skeleton == SK_COLUMN ? r->block.extent[AX_M] : r->threads;
    sample_view_extents(p, r, extent);
    for (int c = 0; c < AX_CLASSES; c++) {
        out->lo[c] = 0;
        out->hi[c] = extent[c];
    }
    out->lo[AX_M] = x * span;
    out->hi[AX_M] = least((x + 1) * span, extent[AX_M]);
}

static bool patch_indices(const Problem *p, const RProg *r, const BlockPoint *at, int64_t *index) {
    const WindowView *v = &p->window;
    const TeStmt *s = &p->te->stmt[p->group->root];
    int64_t lanes = lanes_of(p, r), strip = r->thread.extent[AX_N], rows = r->thread.extent[AX_M];
    int64_t inside = at->at[AX_N], patch = at->at[AX_M];
    int64_t lane = inside % lanes, j = inside / lanes % strip, i = inside / lanes / strip;
    if (v->lane >= 0) {
        int64_t n = ceil_div(s->index[v->lane].hi.value, lanes);
        index[v->lane] = patch % n * lanes + lane;
        patch /= n;
    }
    int64_t across = ceil_div(v->extent_q, strip), down = ceil_div(v->extent_p, rows);
    index[v->q] = patch % across * strip + j;
    patch /= across;
    if (v->p >= 0) index[v->p] = patch % down * rows + i;
    patch /= down;
    for (int k = s->n_left - 1; k >= 0; k--) {
        if (k == v->q || k == v->p || k == v->lane) continue;
        index[k] = patch % s->index[k].hi.value;
        patch /= s->index[k].hi.value;
    }
    return index[v->q] < v->extent_q && (v->p < 0 || index[v->p] < v->extent_p);
}

bool sample_view_indices(const Problem *p, const RProg *r, const BlockPoint *at, int64_t *index) {
    if (r->skeleton == SK_WINDOW) return patch_indices(p, r, at, index);
    const FusedAxis *out = &p->column.out;
    int64_t flat = at->at[AX_M];
    for (int i = out->n - 1; i >= 0; i--) {
        index[out->index[i]] = flat % out->digit[i].extent;
        flat /= out->digit[i].extent;
    }
    return true;
}
