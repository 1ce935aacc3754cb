/* The best programs of a set.  */
#include "microperf/compile_cost.h"
#include "microperf/model.h"

#include <math.h>
#include <string.h>

/* Predicted time in steps of 0.1 ns: differences below are ties, the same on every machine.  */
static int64_t ticks(const Estimate *e) {
    double t = e->us * 1e4 + 0.5;
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
    if (!c && a->skeleton == SK_PERMUTE) c = compare_int(b->store_vec, a->store_vec);
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
           (a->skeleton != SK_ROW || a->store_vec == b->store_vec) &&
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

static void estimate(const Model *m, const RProg *r, CountMemo *memo, Estimate *out) {
    if (r->skeleton == SK_STREAM) mp_estimate_stream(m, r, out);
    else if (r->skeleton == SK_ROW) mp_estimate_row(m, r, out);
    else if (r->skeleton == SK_COLUMN) mp_estimate_column(m, r, out);
    else if (r->skeleton == SK_WINDOW) mp_estimate_window(m, r, out);
    else if (r->skeleton == SK_PERMUTE) mp_estimate_permute(m, r, memo, out);
    else mp_estimate_contract(m, r, memo, out);
}

/* An expected time of compilation as far as it matters.  */
static int cost_of(int ms) { return ms < MP_COMPILE_LIMIT ? MP_COMPILE_LIMIT : ms; }

/* May the program need a few registers more than expected?  If not and it does it spills, and is
 * compiled for nothing.  */
static bool has_room(const Problem *p, const Device *dev, const RProg *r) {
    enum { MORE = 8 };
    int registers = r->registers + MORE;
    return registers <= dev->limits.registers_per_thread.value &&
           hal_blocks_per_sm(dev, r->threads, registers, r->smem) >= rprog_resident(p, dev, r);
}

/* The program to put first instead of the fastest one, or -1: of those that are as good, the
 * fastest one of those that are compiled soonest.  Of several kernels the average says whether the
 * fastest program takes too long, the longest how soon another one is done.  time: in ticks.  */
static int as_good(const Problem *p, const Device *dev, const RProgSet *set, const int64_t *time,
                   const Ranked *best) {
    int64_t limit = ticks(&best->estimate);
    int now = cost_of(mp_compile_ms(p, dev, &best->prog)), least = now, found = -1;
    int part = dev->measured ? MP_AS_GOOD_MEASURED : MP_AS_GOOD_PUBLISHED;
    if (limit < INT64_MAX / 2) limit += limit / part;
    for (int i = 0; i < set->n && now >= MP_COMPILE_LIMIT + MP_COMPILE_GAIN; i++) {
        if (time[i] > limit || !has_room(p, dev, &set->prog[i])) continue;
        int ms = cost_of(mp_compile_longest_ms(p, dev, &set->prog[i]));
        if (ms < least) least = ms;
    }
    if (now - least < MP_COMPILE_GAIN) return -1;
    for (int i = 0; i < set->n; i++) {
        if (time[i] > limit || (found >= 0 && time[i] >= time[found])) continue;
        if (!has_room(p, dev, &set->prog[i])) continue;
        int ms = cost_of(mp_compile_longest_ms(p, dev, &set->prog[i]));
        if (ms < least + MP_COMPILE_GAIN) found = i;
    }
    return found;
}

/* Puts x in front of the n best, in place of one of its kind or of the last one.  */
static int put_first(Ranked *best, int n, int k, const Ranked *x) {
    int hole = n < k ? n : k - 1;
    for (int i = 0; i < n; i++) {
        if (!alike(&best[i].prog, &x->prog)) continue;
        hole = i;
        break;
    }
    memmove(best + 1, best, (size_t)hole * sizeof *best);
    best[0] = *x;
    return hole == n ? n + 1 : n;
}

Status mp_rank(Arena *a, Diag *d, const Problem *p, const Device *dev, const RProgSet *set, int k,
               Ranked **out, int *n) {
    if (k < 1) k = 1;
    *out = ARENA_ARRAY(a, Ranked, k);
    *n = 0;
    if (set->n == 0) {
        return diag_error(d, ST_NO_PLAN, "plan", DIAG_NOWHERE, "no program to rank");
    }
    Model m = mp_model(p, dev);
    CountMemo *memo = mp_count_memo(a);
    int64_t *time = ARENA_ARRAY(a, int64_t, set->n);
    for (int i = 0; i < set->n; i++) {
        Ranked x = {.prog = set->prog[i]};
        estimate(&m, &x.prog, memo, &x.estimate);
        time[i] = ticks(&x.estimate);
        if (*n == k && x.estimate.us > (*out)[k - 1].estimate.us + 1e-3) continue;
        *n = insert(*out, *n, k, &x);
    }
    int first = as_good(p, dev, set, time, *out);
    if (first < 0) return ST_OK;
    Ranked x = {.prog = set->prog[first]};
    estimate(&m, &x.prog, memo, &x.estimate);
    *n = put_first(*out, *n, k, &x);
    return ST_OK;
}
