/* The best programs of a set.  */
#include "microperf/story.h"

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

static int compare_tiles(const RProg *a, const RProg *b) {
    const RTile *x[] = {&a->block, &a->warp, &a->thread}, *y[] = {&b->block, &b->warp, &b->thread};
    int c = 0;
    for (int i = 0; i < 3 && !c; i++) {
        for (int axis = 0; axis < RT_AXES && !c; axis++) {
            c = mp_compare(x[i]->extent[axis], y[i]->extent[axis]);
        }
    }
    return c;
}

static int compare_loads(const RLoad *a, const RLoad *b) {
    int c = mp_compare(a->kind, b->kind);
    if (!c) c = mp_compare(a->region, b->region);
    if (!c) c = mp_compare(a->layout.inner, b->layout.inner);
    if (!c) c = mp_compare(a->along, b->along);
    if (!c) c = mp_compare(a->vec, b->vec);
    if (!c) c = mp_compare(a->layout.pad, b->layout.pad);
    if (!c) c = mp_compare(a->layout.bits, b->layout.bits);
    if (!c) c = mp_compare(a->layout.shift, b->layout.shift);
    if (!c) c = mp_compare(a->layout.base, b->layout.base);
    if (!c) c = mp_compare(a->bytes, b->bytes);
    if (!c) c = mp_compare(a->table, b->table);
    return c;
}

/* Among equals: less shared memory, fewer registers, then field by field.  */
static int compare_programs(const RProg *a, const RProg *b) {
    const ModelRow *own = mp_skeleton(a->skeleton);
    int c = mp_compare(a->skeleton, b->skeleton);
    if (!c) c = mp_compare(a->split, b->split);
    if (!c) c = mp_compare(a->tail, b->tail);
    if (!c && own->compare) c = own->compare(a, b);
    if (!c) c = mp_compare(a->smem, b->smem);
    if (!c) c = mp_compare(a->registers, b->registers);
    if (!c) c = mp_compare(a->threads, b->threads);
    if (!c) c = compare_tiles(a, b);
    if (!c) c = mp_compare(a->stages, b->stages);
    if (!c) c = mp_compare(a->unit, b->unit);
    for (int i = 0; i < RPROG_LOADED && !c; i++) c = compare_loads(&a->load[i], &b->load[i]);
    if (!c) c = mp_compare(a->vec_m, b->vec_m);
    if (!c) c = mp_compare(a->vec_n, b->vec_n);
    if (!c) c = mp_compare(a->lanes, b->lanes);
    if (!c) c = mp_compare(a->raster, b->raster);
    return c ? c : mp_compare(a->group, b->group);
}

static bool same_tile(const RTile *a, const RTile *b) {
    for (int axis = AX_M; axis <= AX_N; axis++) {
        if (a->extent[axis] != b->extent[axis]) return false;
    }
    return true;
}

/* Near-duplicates differ in what hardly changes their speed: lanes, stages, raster.  */
static bool alike(const RProg *a, const RProg *b) {
    const ModelRow *own = mp_skeleton(a->skeleton);
    if (a->skeleton != b->skeleton || (own->alike && !own->alike(a, b))) return false;
    return same_tile(&a->block, &b->block) && same_tile(&a->thread, &b->thread) &&
           a->swapped == b->swapped &&
           a->block.extent[AX_K] == b->block.extent[AX_K] && a->split == b->split &&
           (a->tail > 0) == (b->tail > 0) &&
           a->unit == b->unit && a->threads == b->threads && a->keep == b->keep &&
           a->load[0].region == b->load[0].region && a->load[1].region == b->load[1].region &&
           a->load[0].layout.inner == b->load[0].layout.inner &&
           a->load[1].layout.inner == b->load[1].layout.inner;
}

static bool better(const Ranked *a, const Ranked *b) {
    int c = mp_compare(ticks(&a->estimate), ticks(&b->estimate));
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
        mp_choose(&m, &x.prog);
        mp_estimate_program(&m, &x.prog, memo, &x.estimate);
        if (n == k && ranked_us(&x.estimate) > ranked_us(&(*out)[k - 1].estimate) + 1e-3) continue;
        n = insert(*out, n, k, &x);
    }
    return n;
}
