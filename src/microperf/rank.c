/* The best programs of a set.  */
#include "microperf/model.h"

#include <math.h>
#include <string.h>

/* Predicted time and a hundredth of what pipes are asked for, so that of programs as fast as each
 * other, as far as the model can tell, the one comes first that asks for less.  */
static double ranked_us(const Estimate *e) {
    double work = greater(e->term[MP_COMPUTE], e->term[MP_ISSUE]);
    return e->us + (work + e->term[MP_DRAM] + e->term[MP_L2] + e->term[MP_SMEM]) / 100;
}

/* In steps of 0.1 ns: differences below are ties, the same on every machine.  */
static int64_t ticks(const Estimate *e) {
    double t = ranked_us(e) * 1e4 + 0.5;
    return t < 9e18 ? (int64_t)t : INT64_MAX;
}

static int compare_int(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int compare_tiles(const RProg *a, const RProg *b) {
    const RTile *x[] = {&a->block, &a->warp, &a->thread}, *y[] = {&b->block, &b->warp, &b->thread};
    int c = 0;
    for (int i = 0; i < 3 && !c; i++) {
        for (int axis = 0; axis < RT_AXES && !c; axis++) {
            c = compare_int(x[i]->extent[axis], y[i]->extent[axis]);
        }
    }
    return c;
}

static int compare_loads(const RLoad *a, const RLoad *b) {
    int c = compare_int(a->kind, b->kind);
    if (!c) c = compare_int(a->region, b->region);
    if (!c) c = compare_int(a->layout.inner, b->layout.inner);
    if (!c) c = compare_int(a->along, b->along);
    if (!c) c = compare_int(a->vec, b->vec);
    if (!c) c = compare_int(a->layout.pad, b->layout.pad);
    if (!c) c = compare_int(a->layout.bits, b->layout.bits);
    if (!c) c = compare_int(a->layout.shift, b->layout.shift);
    if (!c) c = compare_int(a->layout.base, b->layout.base);
    if (!c) c = compare_int(a->bytes, b->bytes);
    if (!c) c = compare_int(a->table, b->table);
    return c;
}

/* Wide accesses, then blocks of about 128 threads, then registers before shared memory.  */
static int compare_rows(const RProg *a, const RProg *b) {
    enum { USUAL = 128 };
    int off_a = a->threads > USUAL ? a->threads / USUAL : USUAL / a->threads;
    int off_b = b->threads > USUAL ? b->threads / USUAL : USUAL / b->threads;
    int c = compare_int(b->store_vec, a->store_vec);
    if (!c) c = compare_int(off_a, off_b);
    return c ? c : compare_int(a->keep, b->keep);
}

/* Among equals: less shared memory, fewer registers, then field by field.  */
static int compare_programs(const RProg *a, const RProg *b) {
    int c = compare_int(a->skeleton, b->skeleton);
    if (!c) c = compare_int(a->split, b->split);
    if (!c) c = compare_int(a->tail, b->tail);
    if (!c && a->skeleton == SK_STREAM) c = compare_int(b->threads == 256, a->threads == 256);
    if (!c && a->skeleton == SK_ROW) c = compare_rows(a, b);
    if (!c && (a->skeleton == SK_PERMUTE || a->skeleton == SK_SCAN))
        c = compare_int(b->store_vec, a->store_vec);
    if (!c) c = compare_int(a->smem, b->smem);
    if (!c) c = compare_int(a->registers, b->registers);
    if (!c) c = compare_int(a->threads, b->threads);
    if (!c) c = compare_tiles(a, b);
    if (!c) c = compare_int(a->stages, b->stages);
    if (!c) c = compare_int(a->unit, b->unit);
    if (!c) c = compare_loads(&a->load[0], &b->load[0]);
    if (!c) c = compare_loads(&a->load[1], &b->load[1]);
    if (!c) c = compare_int(a->vec_m, b->vec_m);
    if (!c) c = compare_int(a->vec_n, b->vec_n);
    if (!c) c = compare_int(a->late, b->late);
    if (!c) c = compare_int(a->lanes, b->lanes);
    if (!c) c = compare_int(a->raster, b->raster);
    return c ? c : compare_int(a->group, b->group);
}

static bool same_tile(const RTile *a, const RTile *b) {
    for (int axis = AX_M; axis <= AX_N; axis++) {
        if (a->extent[axis] != b->extent[axis]) return false;
    }
    return true;
}

/* Near-duplicates differ in what hardly changes their speed: lanes, stages, raster.  */
static bool alike(const RProg *a, const RProg *b) {
    if (a->skeleton != b->skeleton) return false;
    if (a->skeleton == SK_WINDOW && a->vec_n != b->vec_n) return false;
    if (a->skeleton == SK_PERMUTE &&
        memcmp(a->block.extent, b->block.extent, sizeof a->block.extent) != 0) return false;
    return same_tile(&a->block, &b->block) && same_tile(&a->thread, &b->thread) &&
           a->swapped == b->swapped &&
           a->block.extent[AX_K] == b->block.extent[AX_K] && a->split == b->split &&
           (a->tail > 0) == (b->tail > 0) &&
           a->unit == b->unit && a->threads == b->threads && a->keep == b->keep &&
           ((a->skeleton != SK_ROW && a->skeleton != SK_SCAN) || a->store_vec == b->store_vec) &&
           a->load[0].region == b->load[0].region && a->load[1].region == b->load[1].region &&
           a->load[0].layout.inner == b->load[0].layout.inner &&
           a->load[1].layout.inner == b->load[1].layout.inner;
}

static bool better(const Ranked *a, const Ranked *b) {
    int c = compare_int(ticks(&a->estimate), ticks(&b->estimate));
    return c ? c < 0 : compare_programs(&a->prog, &b->prog) < 0;
}

/* Puts x among the n best so far, dropping a worse one of its kind; returns the new n.  */
static int insert(Ranked *best, int n, int k, const Ranked *x) {
    int kind = -1;
    for (int i = 0; i < n && kind < 0; i++) {
        if (alike(&best[i].prog, &x->prog)) kind = i;
    }
    if (kind >= 0 && !better(x, &best[kind])) return n;
    if (kind < 0 && n == k && !better(x, &best[n - 1])) return n;
    int hole = kind >= 0 ? kind : n < k ? n++ : n - 1;
    while (hole > 0 && better(x, &best[hole - 1])) {
        best[hole] = best[hole - 1];
        hole--;
    }
    best[hole] = *x;
    return n;
}

int mp_rank(Arena *a, const Problem *p, const Device *dev, const RProgSet *set, int k,
            Ranked **out) {
    if (k < 1) k = 1;
    *out = ARENA_ARRAY(a, Ranked, k);
    int n = 0;
    Model m = mp_model(p, dev);
    CountMemo *memo = mp_count_memo(a);
    for (int i = 0; i < set->n; i++) {
        Ranked x = {.prog = set->prog[i]};
        mp_choose_raster(&m, &x.prog);
        mp_choose_lanes(&m, &x.prog);
        mp_estimate_program(&m, &x.prog, memo, &x.estimate);
        if (n == k && ranked_us(&x.estimate) > ranked_us(&(*out)[k - 1].estimate) + 1e-3) continue;
        n = insert(*out, n, k, &x);
    }
    return n;
}
