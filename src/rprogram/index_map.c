/* What each skeleton deals to blocks and threads (rprog.h, skeletons.h), as digits.  */
#include "rprogram/index_map.h"
#include "rprogram/internal.h"

/* ---- the maps of the skeletons ---- */

static const uint8_t all_indices[TE_MAX_INDICES] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                    8, 9, 10, 11, 12, 13, 14, 15};

static int64_t at_least_one(int64_t n) { return n > 0 ? n : 1; }

static int add_axis(IndexMap *m, const uint8_t *index, int n, int64_t extent, int64_t divisor,
                    int64_t tile) {
    m->axis[m->n_axis] = (IndexAxis){index, n, extent, divisor, at_least_one(tile)};
    return m->n_axis++;
}

/* As many values as cover the axis (count 0), or so many.  */
static void deal_grid(IndexMap *m, int axis, int64_t stride, int64_t count) {
    m->grid[m->n_grid++] = (IndexDigit){axis, stride, count};
}

static void deal_thread(IndexMap *m, int axis, int64_t stride, int64_t count) {
    m->thread[m->n_thread++] = (IndexDigit){axis, stride, count};
}

/* An axis whose boxes the grid counts.  */
static int add_dealt(IndexMap *m, const uint8_t *index, int n, int64_t extent, int64_t divisor,
                     int64_t tile) {
    int axis = add_axis(m, index, n, extent, divisor, tile);
    deal_grid(m, axis, m->axis[axis].tile, 0);
    return axis;
}

static int add_class(IndexMap *m, const Problem *p, const RProg *r, AxisClass c) {
    const FusedAxis *f = &p->con.axis[c];
    return add_axis(m, f->index, f->n, p->extent[c], p->multiple[c], r->block.extent[c]);
}

/* The order of tiles: groups of tile rows, each of which goes along all columns, rows first.  */
static void contract_map(const Problem *p, const RProg *r, IndexMap *m) {
    for (int c = AX_B; c <= AX_K; c++) add_class(m, p, r, (AxisClass)c);
    m->n_axis = AX_K;
    int64_t rows = rprog_raster_rows(p, r), tile = m->axis[AX_M].tile;
    int64_t tiles = ceil_div(p->extent[AX_M], tile);
    deal_grid(m, AX_B, m->axis[AX_B].tile, 0);
    if (rows < tiles || rows == 1) deal_grid(m, AX_M, rows * tile, 0);
    deal_grid(m, AX_N, m->axis[AX_N].tile, 0);
    if (rows > 1) deal_grid(m, AX_M, tile, rows < tiles ? rows : 0);
}

static void stream_map(const Problem *p, const RProg *r, int64_t span, IndexMap *m) {
    add_dealt(m, all_indices, m->root ? m->root->n_left : 0, p->extent[AX_M], p->multiple[AX_M],
              span ? span : r->block.extent[AX_M]);
}

static void row_map(const Problem *p, const RProg *r, IndexMap *m) {
    int left = m->root->n_left, n = m->root->n_index;
    int rows = add_dealt(m, all_indices, left, p->extent[AX_M], p->multiple[AX_M],
                         r->block.extent[AX_M]);
    add_axis(m, all_indices + left, n - left, p->extent[AX_N], p->multiple[AX_N],
             r->block.extent[AX_N]);
    deal_thread(m, rows, 1, r->block.extent[AX_M]);
}

static void column_map(const Problem *p, const RProg *r, IndexMap *m) {
    const ColumnView *v = &p->column;
    int out = add_dealt(m, v->out.index, v->out.n, v->out.extent, v->divisor,
                        r->block.extent[AX_M]);
    int red = add_axis(m, v->red.index, v->red.n, v->red.extent, v->red_divisor,
                       r->block.extent[AX_K]);
    m->n_axis = red;
    deal_thread(m, red, 1, count_along(&r->block, &r->thread, AX_K));
    deal_thread(m, out, r->thread.extent[AX_M], count_along(&r->block, &r->thread, AX_M));
}

static void scan_map(const Problem *p, const RProg *r, IndexMap *m) {
    const ScanView *v = &p->scan;
    int out = add_dealt(m, v->out.index, v->out.n, v->out.extent, v->out_divisor,
                        r->block.extent[AX_M]);
    int walk = add_axis(m, &all_indices[v->of.index], 1, v->extent, v->divisor,
                        r->block.extent[AX_N]);
    if (v->down) deal_thread(m, walk, r->thread.extent[AX_N], count_along(&r->block, &r->thread,
                                                                          AX_N));
    deal_thread(m, out, r->thread.extent[AX_M], count_along(&r->block, &r->thread, AX_M));
}

static void permute_map(const Problem *p, const RProg *r, IndexMap *m) {
    const PermuteView *v = &p->permute;
    for (int a = 0; a < v->out.n_digit; a++) {
        const AxisDigit *d = &v->out.digit[a];
        add_dealt(m, v->out.index + d->first, d->n, d->extent, v->divisor[a], r->block.extent[a]);
    }
}

static int64_t divisor_of(const TeStmt *s, const uint8_t *index, int n) {
    int64_t divisor = 1;
    for (int i = 0; i < n; i++) divisor *= te_extent_divisor(&s->index[index[i]].hi);
    return divisor;
}

/* Blocks are tiles of the window's indices and of planes, threads their patches; or patches are
 * numbered through.  */
static void window_map(const Problem *p, const RProg *r, IndexMap *m) {
    const WindowView *v = &p->window;
    bool shared = r->keep == KEEP_SHARED;
    const RTile *tile = shared ? &r->block : &r->thread;
    int down = -1, planes = add_dealt(m, v->other, v->n_other, v->outer,
                                      divisor_of(m->root, v->other, v->n_other),
                                      shared ? r->block.extent[AX_K] : 1);
    if (v->p >= 0)
        down = add_dealt(m, &all_indices[v->p], 1, v->extent_p, v->divisor_p, tile->extent[AX_M]);
    int across = add_dealt(m, &all_indices[v->q], 1, v->extent_q, v->divisor_q, tile->extent[AX_N]);
    if (v->lane >= 0)
        add_dealt(m, &all_indices[v->lane], 1, m->root->index[v->lane].hi.value,
                  te_extent_divisor(&m->root->index[v->lane].hi), r->vec_n);
    if (!shared) {
        m->each = at_least_one(count_along(&r->block, &r->thread, AX_M));
        return;
    }
    deal_thread(m, planes, 1, r->block.extent[AX_K]);
    if (down >= 0) deal_thread(m, down, r->thread.extent[AX_M], count_along(&r->block, &r->thread,
                                                                            AX_M));
    deal_thread(m, across, r->thread.extent[AX_N], count_along(&r->block, &r->thread, AX_N));
}

void index_map(const Problem *p, const RProg *r, int64_t span, IndexMap *out) {
    out->root = p->te ? &p->te->stmt[p->group->root] : NULL;
    out->n_axis = out->n_grid = out->n_thread = 0;
    out->each = 1;
    switch (r->skeleton) {
    case SK_STREAM: stream_map(p, r, span, out); return;
    case SK_ROW: row_map(p, r, out); return;
    case SK_COLUMN: column_map(p, r, out); return;
    case SK_WINDOW: window_map(p, r, out); return;
    case SK_PERMUTE: permute_map(p, r, out); return;
    case SK_SCAN: scan_map(p, r, out); return;
    default: contract_map(p, r, out);
    }
}

/* ---- counts ---- */

bool index_dealt(const IndexMap *m, int axis) {
    for (int i = 0; i < m->n_grid; i++) {
        if (m->grid[i].axis == axis) return true;
    }
    return false;
}

bool index_ragged(const IndexMap *m, int axis) {
    return m->axis[axis].divisor % m->axis[axis].tile != 0;
}

static int64_t all_boxes(const IndexMap *m) {
    int64_t n = 1;
    for (int i = 0; i < m->n_axis; i++) {
        const IndexAxis *x = &m->axis[i];
        if (index_dealt(m, i)) n *= at_least_one(ceil_div(x->extent, x->tile));
    }
    return n;
}

int64_t index_blocks(const IndexMap *m) { return ceil_div(all_boxes(m), m->each); }

int64_t index_boxes(const IndexMap *m, int64_t block) {
    int64_t left = all_boxes(m) - block * m->each;
    return left < m->each ? left : m->each;
}

TeExtent index_extent(Arena *a, const IndexMap *m, int axis) {
    return size_product(a, m->root, m->axis[axis].index, m->axis[axis].n);
}

/* A static axis without positions has a box all the same: the grid cannot be empty.  */
static TeExtent boxes(Arena *a, const IndexMap *m, int axis, int64_t tile) {
    TeExtent n = size_ceil_div(a, index_extent(a, m, axis), tile);
    return !n.expr && n.value == 0 ? size_number(1) : n;
}

TeExtent index_tiles(Arena *a, const IndexMap *m, int axis) {
    return boxes(a, m, axis, m->axis[axis].tile);
}

TeExtent index_count(Arena *a, const IndexMap *m, const IndexDigit *d) {
    return d->count ? size_number(d->count) : boxes(a, m, d->axis, d->stride);
}

TeExtent index_total(Arena *a, const IndexMap *m) {
    TeExtent n = size_number(1);
    for (int i = 0; i < m->n_axis; i++) n = size_times(a, n, index_extent(a, m, i));
    return n;
}

TeExtent index_numbers(Arena *a, const IndexMap *m) {
    TeExtent n = size_number(1);
    for (int i = 0; i < m->n_axis; i++)
        if (index_dealt(m, i)) n = size_times(a, n, index_tiles(a, m, i));
    return n;
}

TeExtent index_grid(Arena *a, const IndexMap *m) {
    return size_ceil_div(a, index_numbers(a, m), m->each);
}

bool index_rest(Arena *a, const IndexMap *m) {
    TeExtent n = index_numbers(a, m);
    return te_extent_divisor(&n) % m->each != 0;
}

TeExtent index_slice_steps(Arena *a, const IndexMap *m, int axis, int64_t n) {
    return size_ceil_div(a, size_ceil_div(a, index_extent(a, m, axis), m->axis[axis].tile), n);
}

TeExtent index_slice(Arena *a, const IndexMap *m, int axis, int64_t n) {
    return size_times(a, index_slice_steps(a, m, axis, n), size_number(m->axis[axis].tile));
}

/* ---- the inverse ---- */

/* Numbers to a step of digit d: the boxes that inner digits make of axes which those further out
 * have brought to `lo`.  */
static int64_t numbers_below(const IndexMap *m, int d, const int64_t *lo) {
    int64_t below = 1;
    uint32_t seen = 0;
    for (int i = d + 1; i < m->n_grid; i++) {
        const IndexDigit *x = &m->grid[i];
        int64_t left = m->axis[x->axis].extent - lo[x->axis];
        int64_t boxes = at_least_one(ceil_div(left, m->axis[x->axis].tile));
        if (!(seen >> x->axis & 1)) below *= x->count && x->count < boxes ? x->count : boxes;
        seen |= 1u << x->axis;
    }
    return below;
}

void index_box(const IndexMap *m, int64_t number, IndexBox *out) {
    for (int i = 0; i < m->n_axis; i++) out->lo[i] = 0;
    for (int i = 0; i < m->n_grid; i++) {
        int64_t below = numbers_below(m, i, out->lo);
        out->lo[m->grid[i].axis] += number / below * m->grid[i].stride;
        number %= below;
    }
    for (int i = 0; i < m->n_axis; i++) {
        const IndexAxis *x = &m->axis[i];
        int64_t end = out->lo[i] + x->tile;
        out->hi[i] = end < x->extent && index_dealt(m, i) ? end : x->extent;
    }
}

int64_t index_number(const IndexMap *m, const int64_t *at) {
    int64_t lo[INDEX_AXES] = {0}, number = 0;
    for (int i = 0; i < m->n_grid; i++) {
        const IndexDigit *d = &m->grid[i];
        int64_t digit = (at[d->axis] - lo[d->axis]) / d->stride;
        number += digit * numbers_below(m, i, lo);
        lo[d->axis] += digit * d->stride;
    }
    return number;
}

void index_point(const IndexMap *m, const int64_t *at, int64_t *index) {
    for (int i = 0; i < m->n_axis; i++) {
        int64_t left = at[i];
        for (int k = m->axis[i].n - 1; k >= 0; k--) {
            int x = m->axis[i].index[k];
            index[x] = left % m->root->index[x].hi.value;
            left /= m->root->index[x].hi.value;
        }
    }
}
