/* The `stream` skeleton: threads, elements per thread and vector width by rule.
 *
 * Accesses of 16 bytes where the output allows, and enough of them per thread that the loads of the
 * resident threads cover the memory latency.  */
#include "rprogram/skeleton.h"

static bool takes(const Problem *p) { return !p->row && !p->contraction; }

/* Values of the thread's elements, or a map's vectors that it has read and has yet to store; single
 * elements come and go one after the other.  */
static int64_t words_of(const Problem *p, const RProg *r) {
    int64_t values = (int64_t)r->thread.extent[AX_M] * 2 * hal_words(te_dtype_bytes(p->type));
    int64_t vectors = hal_words((int64_t)(p->element_bytes * r->store_vec));
    return values > vectors || r->store_vec == 1 ? values : vectors;
}

static int64_t registers(const Problem *p, const Device *dev, const RProg *r) {
    enum { FIXED = 22 };      /* fitted as those of contract_registers */
    (void)dev;
    return FIXED + words_of(p, r);
}

static const char *check(const Problem *p, const Device *dev, const RProg *r) {
    int threads = count_along(&r->block, &r->thread, AX_M);
    if (p->column.n_sum > 1) return "a stream program has one reduction";
    if (!rprog_whole_warps(dev, threads)) return rprog_no_whole_warps;
    for (int axis = AX_N; axis <= AX_K; axis++) {
        if (r->block.extent[axis] != 1 || r->thread.extent[axis] != 1) {
            return "a stream program tiles its domain only";
        }
    }
    if (r->thread.extent[AX_M] > 64) return "the thread tile is too large";
    if (!power_of_two(r->store_vec) || r->thread.extent[AX_M] % r->store_vec ||
        r->store_vec > p->flat_vec) {
        return "store_vec does not fit the thread's elements or the output";
    }
    if (r->split != 1) return "a stream program has no split";
    return NULL;
}

static int64_t threads(const Device *dev, RProg *r) {
    (void)dev;
    r->warp = r->thread;
    r->warp.extent[AX_M] *= WARP;
    return count_along(&r->block, &r->thread, AX_M);
}

static void map(const Problem *p, const RProg *r, int64_t span, IndexMap *m) {
    index_add_dealt(m, (IndexAxis){index_all, m->root ? m->root->n_left : 0, p->extent[AX_M],
                                   p->multiple[AX_M], span ? span : r->block.extent[AX_M]});
}

static void candidates(Keeper *k) {
    enum { MANY = 128, VECTORS = 4, ITEMS = 32 };  /* threads of a block; at once, of one */
    const Problem *p = k->p;
    const DeviceLimits *limit = &k->dev->limits;
    RProg r = rprog_base(SK_STREAM);
    if (p->column.n_sum > 1 || rprog_units(p, k->dev, &r.unit, 1) < 1) return;
    bool many = (double)p->extent[AX_M] >= limit->sm_count.value * limit->threads_per_sm.value;
    int most = rprog_most_threads(k->dev);
    for (int threads = many ? MANY : WARP; threads <= most; threads *= 2) {
        for (int vec = p->flat_vec; vec >= 1; vec /= 2) {
            for (int items = vec; items <= vec * VECTORS && items <= ITEMS; items *= 2) {
                r.thread.extent[AX_M] = items;
                r.block.extent[AX_M] = items * threads;
                r.store_vec = (uint8_t)vec;
                rprog_keep(k, r);
            }
        }
    }
}

const SkeletonRow rprog_stream = {
    .keys = 1 << KEY_BLOCK | 1 << KEY_THREAD,
    .clips = true,
    .takes = takes,
    .candidates = candidates,
    .check = check,
    .threads = threads,
    .registers = registers,
    .map = map,
};
