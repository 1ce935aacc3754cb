#include "driver/check/sample.h"
#include "rprogram/derived.h"
#include "te/tree/arith.h"
#include <stdlib.h>

/* Is the block at an end of every axis?  */
static bool is_corner(const IndexMap *m, int64_t x) {
    IndexBox box;
    if (m->each > 1) return x == 0 || x + 1 == index_blocks(m);
    index_box(m, x, &box);
    for (int i = 0; i < m->n_axis; i++)
        if (box.lo[i] != 0 && box.hi[i] != m->axis[i].extent) return false;
    return true;
}

static int by_value(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

int sample_launched(int64_t *id, int n, int64_t across, bool snake) {
    int count = 0;
    for (int i = 0; i < n; i++) id[i] = rprog_block_with(id[i], across, snake);
    qsort(id, (size_t)n, sizeof *id, by_value);
    for (int i = 0; i < n; i++) {
        if (i == 0 || id[i] != id[i - 1]) id[count++] = id[i];
    }
    return count;
}

static bool add_block(int64_t *id, int *n, int64_t x) {
    for (int i = 0; i < *n; i++)
        if (id[i] == x) return false;
    id[(*n)++] = x;
    return true;
}

int sample_blocks(Arena *a, const IndexMap *m, int want, uint64_t seed, const SampleEnds *ends,
                  int64_t **out) {
    int64_t total = index_blocks(m);
    if (want > total) want = (int)total;
    int64_t *id = ARENA_ARRAY(a, int64_t, want + 1);
    int n = 0;
    if (want == total) {
        while (n < want) id[n] = n, n++;
        *out = id;
        return n;
    }
    int corners = want > 1 ? want - want / 4 : 0;         /* leaves some for the inside */
    int more = want > 1 && ends->n > 0 ? 1 + want / 4 : 0;
    if (corners > want - more) corners = want - more;
    for (int64_t x = 0; x < total && n < corners; x++) {
        if (is_corner(m, x)) id[n++] = x;
    }
    if (n && want > 1) id[n - 1] = total - 1;
    for (int i = 0; i < ends->n && more > 0; i++) {
        const BlockPoint *at = &ends->at[i];
        int rest = ends->n - ends->n_low; /* of other seeds other ones */
        if (i >= ends->n_low) at = &ends->at[ends->n_low + (i + (int)(seed % 1024)) % rest];
        more -= add_block(id, &n, index_number(m, at->at) / m->each);
    }
    Rng rng = {seed};
    for (int tries = 0; n < want && tries < 64 * want; tries++)
        add_block(id, &n, (int64_t)(rng_next(&rng) % (uint64_t)total));
    qsort(id, (size_t)n, sizeof *id, by_value);
    *out = id;
    return n;
}

/* A part of a line along the last axis; `row` counts lines through all boxes of a block.  */
typedef struct {
    int64_t row, from, run;
} Line;

/* Adds the points of a line that box x has.  */
static int add_line(const IndexMap *m, int64_t x, const int64_t *size, const Line *line,
                    BlockPoint *out) {
    int last = m->n_axis - 1, n = 0;
    IndexBox box;
    BlockPoint p;
    int64_t lines = 1, row = line->row, end = line->from + line->run;
    for (int i = 0; i < last; i++) lines *= size[i];
    index_box(m, x * m->each + row / lines, &box);
    row %= lines;
    for (int i = last - 1; i >= 0; i--) {
        p.at[i] = box.lo[i] + row % size[i];
        row /= size[i];
        if (p.at[i] >= box.hi[i]) return 0;
    }
    for (int64_t k = line->from; k < end && box.lo[last] + k < box.hi[last]; k++) {
        p.at[last] = box.lo[last] + k;
        out[n++] = p;
    }
    return n;
}

/* Lines of a quarter of the points at most: the first and the last one of the block, and some.  */
int sample_points(Arena *a, const IndexMap *m, int64_t x, int want, Rng *rng, BlockPoint **out) {
    enum { LINES = 4 };
    int last = m->n_axis - 1, n = 0;
    int64_t size[INDEX_AXES], lines = index_boxes(m, x), total;
    IndexBox box;
    index_box(m, x * m->each, &box);
    for (int i = 0; i <= last; i++) {
        size[i] = m->each > 1 ? m->axis[i].tile : box.hi[i] - box.lo[i];
        if (i < last) lines *= size[i];
    }
    total = lines * size[last];
    bool all = total <= want;
    int64_t most = (want + LINES - 1) / LINES;
    int64_t run = all || size[last] < most ? size[last] : most;
    int64_t rows = all ? lines : want / run;
    *out = ARENA_ARRAY(a, BlockPoint, rows * run + 1);
    for (int64_t i = 0; i < rows; i++) {
        int64_t row = all || i == 0 ? i
                      : i == 1      ? lines - 1
                                    : (int64_t)(rng_next(rng) % (uint64_t)lines);
        int64_t room = size[last] - run;
        int64_t from = i % 3 == 0   ? 0
                       : i % 3 == 1 ? room
                                    : (int64_t)(rng_next(rng) % (uint64_t)(room + 1));
        n += add_line(m, x, size, &(Line){row, from, run}, *out + n);
    }
    return n;
}

typedef struct {
    int64_t lo, end;
} Range;

/* Ranges of the indices of axis i in a box: those inside of one that changes take all values.  */
static void box_ranges(const IndexMap *m, int i, const IndexBox *b, Range *of) {
    const IndexAxis *x = &m->axis[i];
    int64_t inner = 1;
    if (b->hi[i] <= b->lo[i] || !x->extent) return;       /* some index has no values */
    for (int k = x->n - 1; k >= 0; k--) {
        int64_t extent = m->root->index[x->index[k]].hi.value;
        int64_t lo = b->lo[i] / inner, last = (b->hi[i] - 1) / inner;
        bool wraps = lo / extent != last / extent;
        of[x->index[k]] = wraps ? (Range){0, extent} : (Range){lo % extent, last % extent + 1};
        inner *= extent;
    }
}

/* Of each of the root's indices, in a box.  */
typedef struct {
    Range of[TE_MAX_INDICES];
} BoxRanges;

static void add_box(const IndexMap *m, int64_t number, bool first, BoxRanges *all) {
    IndexBox box;
    BoxRanges one = *all;
    index_box(m, number, &box);
    for (int i = 0; i < m->n_axis; i++) box_ranges(m, i, &box, one.of);
    for (int i = 0; i < m->root->n_index && !first; i++) {
        if (all->of[i].lo < one.of[i].lo) one.of[i].lo = all->of[i].lo;
        if (all->of[i].end > one.of[i].end) one.of[i].end = all->of[i].end;
    }
    *all = one;
}

static double distinct(const BoxRanges *x, int n, int index) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        bool seen = false;
        for (int k = 0; k < i && !seen; k++)
            seen = x[k].of[index].lo == x[i].of[index].lo &&
                   x[k].of[index].end == x[i].of[index].end;
        if (!seen) sum += (double)(x[i].of[index].end - x[i].of[index].lo);
    }
    return sum;
}

void sample_extents(Arena *a, const Sample *s, double *n) {
    const IndexMap *m = &s->map;
    int64_t total = index_blocks(m), across = s->across > 0 ? s->across : total;
    BoxRanges *x = ARENA_ARRAY(a, BoxRanges, s->n_block * ceil_div(total, across) + 1);
    int count = 0, n_index = m->root->n_index;
    for (int b = 0; b < s->n_block; b++) {
        int64_t tile = rprog_block_with(s->block[b], across, s->snake);
        for (; tile < total; tile = rprog_tile_behind(tile, across, s->snake)) {
            for (int i = 0; i < n_index; i++)
                x[count].of[i] = (Range){0, te_index_extent(&m->root->index[i])};
            for (int64_t k = 0; k < index_boxes(m, tile); k++)
                add_box(m, tile * m->each + k, k == 0, &x[count]);
            count++;
        }
    }
    for (int i = 0; i < n_index; i++) n[i] = distinct(x, count, i);
}

int sample_strips(Arena *a, const Sample *s, int64_t span, int64_t **out) {
    const IndexMap *m = &s->map;
    int n = s->n_block;
    IndexBox *strip = ARENA_ARRAY(a, IndexBox, n + 1), block;
    int64_t total = index_blocks(m), last = -1;
    size_t cap = 0;
    int count = 0;
    *out = NULL;
    for (int i = 0; i < n; i++) index_box(m, s->block[i], &strip[i]);
    for (int64_t id = 0; id < total; id++) {
        bool wanted = false;
        index_box(m, id, &block);
        for (int i = 0; i < n; i++)
            wanted |= strip[i].lo[AX_B] == block.lo[AX_B] && strip[i].lo[AX_M] == block.lo[AX_M];
        if (!wanted || (span && block.lo[AX_N] > 0)) continue;
        int64_t row = block.lo[AX_B] * m->axis[AX_M].extent;
        int64_t from = span ? (row + block.lo[AX_M]) / span : id;
        int64_t to = span ? (row + block.hi[AX_M] - 1) / span : id;
        if (from <= last) from = last + 1;                /* strips come in order of their rows */
        for (int64_t k = from; k <= to; k++) {
            *out = arena_grow(a, *out, &cap, (size_t)count + 1, sizeof **out);
            (*out)[count++] = last = k;
        }
    }
    return count;
}

/* Position of a point in the flattened domain.  */
static int64_t flat_of(const IndexMap *m, const BlockPoint *at) {
    int64_t flat = 0;
    for (int i = 0; i < m->n_axis; i++) flat = flat * m->axis[i].extent + at->at[i];
    return flat;
}

int sample_adding(Arena *a, const Sample *s, int64_t span, int64_t **out) {
    int64_t *id = ARENA_ARRAY(a, int64_t, s->n_point + 1);
    int count = 0;
    for (int i = 0; i < s->n_point; i++) {
        int64_t x = flat_of(&s->map, &s->point[i]) / span;
        bool seen = false;
        for (int k = count - 1; k >= 0 && !seen; k--) seen = id[k] == x;
        if (!seen) id[count++] = x;
    }
    *out = id;
    return count;
}

int sample_tail(Arena *a, const Problem *p, const RProg *r, const Sample *s, int64_t span,
                int64_t **out) {
    int64_t full = rprog_blocks(p, r) - r->tail, adders = span ? rprog_tail_adders(r, span) : 0;
    int64_t most = adders > r->tail_blocks ? adders : r->tail_blocks;
    int64_t *id = *out = ARENA_ARRAY(a, int64_t, s->n_block * most + 1);
    int count = 0;
    for (int i = 0; i < s->n_block; i++) {
        int64_t first = s->block[i], last = first, t = first - full;
        if (t < 0 && span) continue;
        if (span) {
            first = t * adders;
            last = first + adders - 1;
        } else if (t >= 0) {
            rprog_tail_blocks(p, r, t, &first, &last);
            first += full;
            last += full;
        }
        if (count > 0 && id[count - 1] == first) first++;
        while (first <= last) id[count++] = first++;
    }
    return count;
}
