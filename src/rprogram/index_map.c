/* Index maps: how they are made, what they count, and their inverse.  */
#include "rprogram/skeleton.h"

/* ---- making ---- */

/* Index i is the i-th.  */
const uint8_t index_all[TE_MAX_INDICES] = {0, 1, 2,  3,  4,  5,  6,  7,
                                           8, 9, 10, 11, 12, 13, 14, 15};

static int64_t at_least_one(int64_t n) { return n > 0 ? n : 1; }

int index_add(IndexMap *m, IndexAxis axis) {
    axis.tile = at_least_one(axis.tile);
    m->axis[m->n_axis] = axis;
    return m->n_axis++;
}

void index_deal_grid(IndexMap *m, IndexDigit d) { m->grid[m->n_grid++] = d; }

void index_deal_thread(IndexMap *m, IndexDigit d) { m->thread[m->n_thread++] = d; }

int index_add_dealt(IndexMap *m, IndexAxis axis) {
    int number = index_add(m, axis);
    index_deal_grid(m, (IndexDigit){number, m->axis[number].tile, 0});
    return number;
}

/* ---- counts ---- */

bool index_dealt(const IndexMap *m, int axis) {
    for (int i = 0; i < m->n_grid; i++) {
        if (m->grid[i].axis == axis) return true;
    }
    return false;
}

static int64_t together(const IndexMap *m, int axis) {
    return axis == m->shared ? m->together : 1;
}

bool index_ragged(const IndexMap *m, int axis) {
    return m->axis[axis].divisor % (m->axis[axis].tile * together(m, axis)) != 0;
}

bool index_spare(const IndexMap *m, int axis) {
    const IndexAxis *x = &m->axis[axis];
    int64_t n = together(m, axis);
    if (x->divisor == x->extent) return ceil_div(x->extent, x->tile) % n != 0;
    return n > 1 && index_ragged(m, axis);
}

/* Of so many positions.  */
static int64_t boxes_of(const IndexMap *m, int axis, int64_t positions) {
    int64_t n = together(m, axis);
    return at_least_one(ceil_div(positions, m->axis[axis].tile * n)) * n;
}

static int64_t all_boxes(const IndexMap *m) {
    int64_t n = 1;
    for (int i = 0; i < m->n_axis; i++) {
        if (index_dealt(m, i)) n *= boxes_of(m, i, m->axis[i].extent);
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
    int64_t n = together(m, axis);
    return size_times(a, boxes(a, m, axis, m->axis[axis].tile * n), size_number(n));
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
        int64_t boxes = boxes_of(m, x->axis, left);
        if (!(seen >> x->axis & 1)) below *= x->count && x->count < boxes ? x->count : boxes;
        seen |= 1u << x->axis;
    }
    return below;
}

/* A value of digit d in the order of the grid, and back.  */
static int64_t in_order(const IndexMap *m, int d, int64_t value) {
    int axis = m->grid[d].axis;
    return m->down >> d & 1 ? boxes_of(m, axis, m->axis[axis].extent) - 1 - value : value;
}

/* Those of an axis; one where nothing is reduced, since that has a result, too.  */
static int64_t positions(const IndexMap *m, const IndexAxis *x) {
    bool reduced = x->n > 0 && x->index[0] >= m->root->n_left;
    return reduced ? at_least_one(x->extent) : x->extent;
}

void index_box(const IndexMap *m, int64_t number, IndexBox *out) {
    for (int i = 0; i < m->n_axis; i++) out->lo[i] = 0;
    for (int i = 0; i < m->n_grid; i++) {
        int64_t below = numbers_below(m, i, out->lo);
        out->lo[m->grid[i].axis] += in_order(m, i, number / below) * m->grid[i].stride;
        number %= below;
    }
    for (int i = 0; i < m->n_axis; i++) {
        const IndexAxis *x = &m->axis[i];
        int64_t end = out->lo[i] + x->tile, all = positions(m, x);
        out->hi[i] = end < all && index_dealt(m, i) ? end : all;
        if (out->lo[i] > out->hi[i]) out->lo[i] = out->hi[i];     /* an empty one */
    }
}

int64_t index_number(const IndexMap *m, const int64_t *at) {
    int64_t lo[INDEX_AXES] = {0}, number = 0;
    for (int i = 0; i < m->n_grid; i++) {
        const IndexDigit *d = &m->grid[i];
        int64_t digit = (at[d->axis] - lo[d->axis]) / d->stride;
        number += in_order(m, i, digit) * numbers_below(m, i, lo);
        lo[d->axis] += digit * d->stride;
    }
    return number;
}

void index_point(const IndexMap *m, const int64_t *at, int64_t *index) {
    for (int i = 0; i < m->n_axis; i++) {
        int64_t left = at[i];
        for (int k = m->axis[i].n - 1; k >= 0; k--) {
            int x = m->axis[i].index[k];
            int64_t extent = at_least_one(m->root->index[x].hi.value);
            index[x] = left % extent;
            left /= extent;
        }
    }
}
