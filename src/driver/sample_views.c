#include "driver/sample.h"
#include "rprogram/derived.h"
#include "te/arith.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Patches of a block.  */
static int64_t patches_of(const Problem *p, const RProg *r) {
    if (r->keep != KEEP_SHARED) return r->threads;
    WindowTile t = rprog_window_tile(p, r);
    return (int64_t)t.down * t.across * t.planes;
}

/* Columns along M, in the order of the view; a window's patches along M and what each holds
 * along N; the points of boxes, box by box, along M.  */
void sample_view_extents(const Problem *p, const RProg *r, int64_t extent[AX_CLASSES]) {
    for (int c = 0; c < AX_CLASSES; c++) extent[c] = 1;
    if (r->skeleton == SK_COLUMN) {
        extent[AX_M] = p->column.out.extent;
        return;
    }
    if (r->skeleton == SK_PERMUTE) {
        extent[AX_M] = rprog_blocks(p, r) * rprog_permute_points(p, r);
        return;
    }
    extent[AX_M] = r->keep == KEEP_SHARED ? rprog_blocks(p, r) * patches_of(p, r)
                                          : rprog_window_patches(p, r);
    extent[AX_N] = (int64_t)r->thread.extent[AX_M] * r->thread.extent[AX_N] *
                   rprog_window_lanes(p, r);
}

void sample_view_range(const Problem *p, const RProg *r, int64_t x, BlockRange *out) {
    int64_t extent[AX_CLASSES], span;
    span = r->skeleton == SK_COLUMN    ? r->block.extent[AX_M]
           : r->skeleton == SK_PERMUTE ? rprog_permute_points(p, r)
                                       : patches_of(p, r);
    sample_view_extents(p, r, extent);
    for (int c = 0; c < AX_CLASSES; c++) {
        out->lo[c] = 0;
        out->hi[c] = extent[c];
    }
    out->lo[AX_M] = x * span;
    out->hi[AX_M] = least((x + 1) * span, extent[AX_M]);
}

/* The outer indices from their number; false if there is none.  */
static bool outer_indices(const Problem *p, int64_t flat, int64_t *index) {
    const WindowView *v = &p->window;
    const TeStmt *s = &p->te->stmt[p->group->root];
    for (int k = s->n_left - 1; k >= 0; k--) {
        if (k == v->q || k == v->p || k == v->lane) continue;
        index[k] = flat % s->index[k].hi.value;
        flat /= s->index[k].hi.value;
    }
    return flat == 0;
}

/* Patches of shared tiles: block by block, in it by plane, down, across.  */
static bool tile_indices(const Problem *p, const RProg *r, const BlockPoint *at, int64_t *index) {
    const WindowView *v = &p->window;
    WindowTile t = rprog_window_tile(p, r);
    int64_t each = patches_of(p, r), block = at->at[AX_M] / each, patch = at->at[AX_M] % each;
    int64_t strip = r->thread.extent[AX_N], inside = at->at[AX_N];
    index[v->q] = block % t.tiles_n * r->block.extent[AX_N] + patch % t.across * strip +
                  inside % strip;
    int64_t row = block / t.tiles_n % t.tiles_m * r->block.extent[AX_M] +
                  patch / t.across % t.down * r->thread.extent[AX_M] + inside / strip;
    if (v->p >= 0) index[v->p] = row;
    int64_t plane = block / t.tiles_n / t.tiles_m * t.planes + patch / t.across / t.down;
    return outer_indices(p, plane, index) && index[v->q] < v->extent_q && row < v->extent_p;
}

static bool patch_indices(const Problem *p, const RProg *r, const BlockPoint *at, int64_t *index) {
    const WindowView *v = &p->window;
    const TeStmt *s = &p->te->stmt[p->group->root];
    int64_t lanes = rprog_window_lanes(p, r);
    int64_t strip = r->thread.extent[AX_N], rows = r->thread.extent[AX_M];
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
    outer_indices(p, patch / down, index);
    return index[v->q] < v->extent_q && (v->p < 0 || index[v->p] < v->extent_p);
}

/* False beyond the domain.  */
static bool box_indices(const Problem *p, const RProg *r, const BlockPoint *at, int64_t *index) {
    const FusedAxis *out = &p->permute.out;
    const TeStmt *s = &p->te->stmt[p->group->root];
    int64_t points = rprog_permute_points(p, r);
    int64_t box = at->at[AX_M] / points, point = at->at[AX_M] % points;
    for (int a = out->n_digit - 1; a >= 0; a--) {
        const AxisDigit *d = &out->digit[a];
        int64_t tile = r->block.extent[a], boxes = ceil_div(d->extent, tile);
        int64_t x = box % boxes * tile + point % tile;
        box /= boxes;
        point /= tile;
        if (x >= d->extent) return false;
        for (int i = d->first + d->n - 1; i >= d->first; i--) {
            int64_t n = s->index[out->index[i]].hi.value;
            index[out->index[i]] = x % n;
            x /= n;
        }
    }
    return true;
}

bool sample_view_indices(const Problem *p, const RProg *r, const BlockPoint *at, int64_t *index) {
    if (r->skeleton == SK_WINDOW && r->keep == KEEP_SHARED) return tile_indices(p, r, at, index);
    if (r->skeleton == SK_WINDOW) return patch_indices(p, r, at, index);
    if (r->skeleton == SK_PERMUTE) return box_indices(p, r, at, index);
    const FusedAxis *out = &p->column.out;
    int64_t flat = at->at[AX_M];
    for (int i = out->n - 1; i >= 0; i--) {
        index[out->index[i]] = flat % out->digit[i].extent;
        flat /= out->digit[i].extent;
    }
    return true;
}
