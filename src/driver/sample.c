#include "driver/sample.h"
#include "rprogram/derived.h"
#include <stdlib.h>

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static bool is_view(const RProg *r) {
    return r->skeleton == SK_COLUMN || r->skeleton == SK_WINDOW || r->skeleton == SK_PERMUTE;
}

/* Of the axes that the program's blocks tile.  */
static void extents_of(const Problem *p, const RProg *r, int64_t extent[AX_CLASSES]) {
    for (int c = 0; c < AX_CLASSES; c++) extent[c] = p->extent[c];
    if (is_view(r)) sample_view_extents(p, r, extent);
}

void sample_range(const Problem *p, const RProg *r, int64_t span, int64_t x, BlockRange *out) {
    if (is_view(r)) {
        sample_view_range(p, r, x, out);
        return;
    }
    for (int c = 0; c < AX_CLASSES; c++) {
        out->lo[c] = 0;
        out->hi[c] = p->extent[c];
    }
    if (r->skeleton == SK_STREAM) {
        out->lo[AX_M] = x * span;
        out->hi[AX_M] = least((x + 1) * span, p->extent[AX_M]);
        return;
    }
    if (r->skeleton == SK_ROW) {
        out->lo[AX_M] = x * r->block.extent[AX_M];
        out->hi[AX_M] = least(out->lo[AX_M] + r->block.extent[AX_M], p->extent[AX_M]);
        return;
    }
    int64_t tile[AX_CLASSES];
    rprog_tile_at(p, r, x, tile);
    for (int c = AX_B; c <= AX_N; c++) {
        out->lo[c] = tile[c] * r->block.extent[c];
        out->hi[c] = least(out->lo[c] + r->block.extent[c], p->extent[c]);
    }
}

/* Is every coordinate of the block at an end of its axis?  */
static bool is_corner(const int64_t extent[AX_CLASSES], const BlockRange *r) {
    for (int c = AX_B; c <= AX_N; c++)
        if (r->lo[c] != 0 && r->hi[c] != extent[c]) return false;
    return true;
}

static int by_value(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

int sample_blocks(Arena *a, const Problem *p, const RProg *r, int64_t span, int want,
                  uint64_t seed, int64_t **out) {
    int64_t total = r->skeleton == SK_STREAM ? (p->extent[AX_M] + span - 1) / span
                                             : rprog_blocks(p, r);
    if (want > total) want = (int)total;
    int64_t *id = ARENA_ARRAY(a, int64_t, want + 1);
    int n = 0;
    if (want == total) {
        while (n < want) id[n] = n, n++;
        *out = id;
        return n;
    }
    int64_t extent[AX_CLASSES];
    extents_of(p, r, extent);
    int corners = want > 1 ? want - want / 4 : 0;         /* leaves some for the inside */
    for (int64_t x = 0; x < total && n < corners; x++) {
        BlockRange range;
        sample_range(p, r, span, x, &range);
        if (is_corner(extent, &range)) id[n++] = x;
    }
    if (n && want > 1) id[n - 1] = total - 1;
    Rng rng = {seed};
    for (int tries = 0; n < want && tries < 64 * want; tries++) {
        int64_t x = (int64_t)(rng_next(&rng) % (uint64_t)total);
        bool seen = false;
        for (int i = 0; i < n; i++) seen |= id[i] == x;
        if (!seen) id[n++] = x;
    }
    qsort(id, (size_t)n, sizeof *id, by_value);
    *out = id;
    return n;
}

int sample_points(Arena *a, const BlockRange *range, int want, Rng *rng, BlockPoint **out) {
    int64_t size[AX_CLASSES], total = 1;
    for (int c = AX_B; c <= AX_N; c++) {
        size[c] = range->hi[c] - range->lo[c];
        total *= size[c];
    }
    bool all = total <= want;
    int64_t run = size[AX_N] < want ? size[AX_N] : want;
    int64_t rows = all ? size[AX_B] * size[AX_M] : (want + run - 1) / run;
    BlockPoint *at = ARENA_ARRAY(a, BlockPoint, rows * run + 1);
    int n = 0;
    for (int64_t i = 0; i < rows; i++) {
        int64_t last = size[AX_B] * size[AX_M] - 1;
        int64_t row = all || i == 0 ? i
                      : i == 1      ? last
                                    : (int64_t)(rng_next(rng) % (uint64_t)(last + 1));
        int64_t first = run == size[AX_N] ? 0
                        : i % 3 == 0      ? 0
                        : i % 3 == 1      ? size[AX_N] - run
                                          : (int64_t)rng_below(rng, (uint32_t)least(
                                                size[AX_N] - run + 1, UINT32_MAX));
        for (int64_t k = 0; k < run; k++) {
            at[n].at[AX_B] = range->lo[AX_B] + row / size[AX_M];
            at[n].at[AX_M] = range->lo[AX_M] + row % size[AX_M];
            at[n].at[AX_N] = range->lo[AX_N] + first + k;
            n++;
        }
    }
    *out = at;
    return n;
}

int sample_strips(Arena *a, const Problem *p, const RProg *r, const int64_t *x, int n, int64_t span,
                  int64_t **out) {
    BlockRange *strip = ARENA_ARRAY(a, BlockRange, n + 1), block;
    int64_t total = rprog_blocks(p, r), last = -1;
    size_t cap = 0;
    int count = 0;
    *out = NULL;
    for (int i = 0; i < n; i++) sample_range(p, r, 0, x[i], &strip[i]);
    for (int64_t id = 0; id < total; id++) {
        bool wanted = false;
        sample_range(p, r, 0, id, &block);
        for (int i = 0; i < n; i++)
            wanted |= strip[i].lo[AX_B] == block.lo[AX_B] && strip[i].lo[AX_M] == block.lo[AX_M];
        if (!wanted || (span && block.lo[AX_N] > 0)) continue;
        int64_t row = block.lo[AX_B] * p->extent[AX_M];
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

static void unflatten(const TeStmt *s, const FusedAxis *f, int64_t at, int64_t *index) {
    for (int i = f->n - 1; i >= 0; i--) {
        const TeIndex *x = &s->index[f->index[i]];
        int64_t extent = x->hi.value - x->lo.value;
        index[f->index[i]] = x->lo.value + at % extent;
        at /= extent;
    }
}

/* Indices first..end-1 of s from their row-major position.  */
static void unflatten_range(const TeStmt *s, int first, int end, int64_t flat, int64_t *index) {
    for (int i = end - 1; i >= first; i--) {
        int64_t extent = s->index[i].hi.value - s->index[i].lo.value;
        index[i] = s->index[i].lo.value + flat % extent;
        flat /= extent;
    }
}

bool sample_indices(const Problem *p, const RProg *r, const BlockPoint *at, int64_t *index) {
    if (is_view(r)) return sample_view_indices(p, r, at, index);
    const TeStmt *s = &p->te->stmt[p->group->root];
    if (p->row) {
        unflatten_range(s, 0, s->n_left, at->at[AX_M], index);
        unflatten_range(s, s->n_left, s->n_index, at->at[AX_N], index);
        return true;
    }
    if (p->contraction) {
        for (int c = AX_B; c <= AX_N; c++) unflatten(s, &p->con.axis[c], at->at[c], index);
        return true;
    }
    unflatten_range(s, 0, s->n_left, at->at[AX_M], index);
    return true;
}

/* Position of a point in the flattened domain [B][M][N].  */
static int64_t flat_of(const Problem *p, const RProg *r, const BlockPoint *at) {
    int64_t extent[AX_CLASSES];
    extents_of(p, r, extent);
    return (at->at[AX_B] * extent[AX_M] + at->at[AX_M]) * extent[AX_N] + at->at[AX_N];
}

int sample_adding(Arena *a, const Problem *p, const RProg *r, const BlockPoint *at, int n,
                  int64_t span, int64_t **out) {
    int64_t *id = ARENA_ARRAY(a, int64_t, n + 1);
    int count = 0;
    for (int i = 0; i < n; i++) {
        int64_t x = flat_of(p, r, &at[i]) / span;
        bool seen = false;
        for (int k = count - 1; k >= 0 && !seen; k--) seen = id[k] == x;
        if (!seen) id[count++] = x;
    }
    *out = id;
    return count;
}

int sample_tail(Arena *a, const Problem *p, const RProg *r, const int64_t *tile, int n,
                int64_t span, int64_t **out) {
    int64_t full = rprog_blocks(p, r) - r->tail, pieces = span ? rprog_tail_pieces(r, span) : 0;
    int64_t *id = *out = ARENA_ARRAY(a, int64_t, n * (pieces > r->units ? pieces : r->units) + 1);
    int count = 0;
    for (int i = 0; i < n; i++) {
        int64_t first = tile[i], last = first, t = tile[i] - full;
        if (t < 0 && span) continue;
        if (span) {
            first = t * pieces;
            last = first + pieces - 1;
        } else if (t >= 0) {
            rprog_tail_units(p, r, t, &first, &last);
            first += full;
            last += full;
        }
        if (count > 0 && id[count - 1] == first) first++;
        while (first <= last) id[count++] = first++;
    }
    return count;
}
