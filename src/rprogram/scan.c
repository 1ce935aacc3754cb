/* The `scan` skeleton: threads along the walk and beside it, elements of each, slices.  */
#include "rprogram/skeleton.h"

enum { ITEMS_MAX = 64, GROUPS_MAX = 32 };     /* of a thread in registers; that a warp adds up */

int rprog_scan_lanes(const Problem *p, const RProg *r) {
    int threads = rprog_threads_along(r, AX_N);
    return p->scan.down ? 1 : threads < WARP ? threads : WARP;
}

int rprog_scan_meets(const Problem *p, const RProg *r) {
    return rprog_threads_along(r, AX_N) / rprog_scan_lanes(p, r);
}

int64_t rprog_scan_steps(const Problem *p, const RProg *r) {
    return ceil_div(ceil_div(p->scan.extent, r->block.extent[AX_N]), r->split);
}

int rprog_scan_partials(const Problem *p, const RProg *r) {
    return p->scan.down ? rprog_threads_along(r, AX_N) : 1;
}

static void rooms(RoomWalk *w) {
    int64_t meets = rprog_scan_meets(w->p, w->r);
    if (meets > 1)
        layout_partials(w, 0, w->p->group->columns, meets * w->r->block.extent[AX_M]);
}

static int64_t left(const Problem *p, const RProg *r) {
    return rprog_scan_partials(p, r) * p->scan.out.extent;
}

static int64_t registers(const Problem *p, const Device *dev, const RProg *r) {
    (void)dev;
    enum { FIXED = 28 };      /* fitted as those of contract_registers */
    const TeExpr *e = p->te->stmt[p->group->root].rhs;
    int64_t words = hal_words(rprog_partial_bytes(e)), vec = r->store_vec;
    int64_t items = (int64_t)r->thread.extent[AX_M] * r->thread.extent[AX_N];
    /* Of each vector its sum and what comes before; or of each result.  */
    int64_t vectors = p->scan.down ? r->thread.extent[AX_M] : items / vec;
    return FIXED + words * (items + 2 * vectors + 2) + 2 * vec + p->scan.out.n_digit;
}

static const char *check(const Problem *p, const Device *dev, const RProg *r) {
    const ScanView *v = &p->scan;
    int across = rprog_threads_along(r, AX_M), along = rprog_threads_along(r, AX_N);
    int64_t steps = ceil_div(v->extent, r->block.extent[AX_N]);
    if (!v->fits) return "the statement is no scan";
    if (v->of.factor && r->split > 1) return "the slices of a recurrence have an order";
    if (r->block.extent[AX_K] != 1 || r->thread.extent[AX_K] != 1)
        return "a scan program tiles its results and the walk only";
    if (!power_of_two(across) || !power_of_two(along))
        return "threads along an axis are not a power of two";
    if (!rprog_whole_warps(dev, (int64_t)across * along)) return rprog_no_whole_warps;
    if (!power_of_two(r->store_vec) || v->vec % r->store_vec)
        return "store_vec does not fit the outputs";
    if (r->thread.extent[AX_M] != (v->down ? r->store_vec : 1) ||
        (!v->down && r->thread.extent[AX_N] % r->store_vec))
        return "a thread's elements are no whole vectors";
    if (r->thread.extent[AX_M] * r->thread.extent[AX_N] > ITEMS_MAX ||
        (v->down && along > GROUPS_MAX))
        return "the thread tile is too large, or there are more than 32 groups";
    return skeleton_grid_check(&rprog_scan, p, dev, r, steps);
}

static int64_t evaluations(const Problem *p, const RProg *r) {
    (void)p;
    return r->split > 1 ? 2 : 1;
}

static const RowGroup *partials(const Problem *p) { return p->group->columns; }

static int64_t threads(const Device *dev, RProg *r) {
    (void)dev;
    r->warp = r->thread;
    return (int64_t)rprog_threads_along(r, AX_M) * rprog_threads_along(r, AX_N);
}

static void map(const Problem *p, const RProg *r, int64_t span, IndexMap *m) {
    const ScanView *v = &p->scan;
    (void)span;
    int out = index_add_dealt(m, (IndexAxis){v->out.index, v->out.n, v->out.extent,
                                             v->out_divisor, r->block.extent[AX_M]});
    int walk = index_add(m, (IndexAxis){&index_all[v->of.index], 1, v->extent, v->divisor,
                                        r->block.extent[AX_N]});
    if (v->down)
        index_deal_thread(m, (IndexDigit){walk, r->thread.extent[AX_N],
                                          count_along(&r->block, &r->thread, AX_N)});
    index_deal_thread(m, (IndexDigit){out, r->thread.extent[AX_M],
                                      count_along(&r->block, &r->thread, AX_M)});
}

/* ---- candidates ---- */

static void add_slices(Keeper *b, RProg r) {
    enum { FEW_STEPS = 2, FILLED = 2 };
    int64_t steps = ceil_div(b->p->scan.extent, r.block.extent[AX_N]) / FEW_STEPS;
    r.split = 1;
    rprog_keep(b, r);
    if (!b->p->scan.of.factor) rprog_keep_slices(b, r, steps, FILLED);
}

/* Whole rows where they are short, steps of long ones.  */
static void add_along(Keeper *b, RProg r, int threads) {
    enum { VECTORS = 16, ITEMS = 32, BLOCK = 512 };       /* of a thread; threads of several rows */
    int64_t n = b->p->scan.extent, most = b->p->scan.out.extent;
    for (int vectors = 1; vectors <= VECTORS && vectors * r.store_vec <= ITEMS; vectors *= 2) {
        int64_t step = (int64_t)threads * vectors * r.store_vec;
        if (vectors > 1 && step >= 2 * n) return;
        r.thread.extent[AX_N] = vectors * r.store_vec;
        r.block.extent[AX_N] = (int32_t)step;
        for (int rows = 1; rows * threads <= (threads > BLOCK ? threads : BLOCK); rows *= 2) {
            if (rows * threads < WARP || (rows > 1 && rows >= 2 * most)) continue;
            r.block.extent[AX_M] = rows;
            add_slices(b, r);
        }
    }
}

static void add_down(Keeper *b, RProg r, int across) {
    enum { DEEP = 16, ITEMS = 32 };       /* neighbours of a thread along the walk; elements */
    int64_t n = b->p->scan.extent;
    r.block.extent[AX_M] = across * r.store_vec;
    r.thread.extent[AX_M] = r.store_vec;
    int most = rprog_most_threads(b->dev);
    for (int groups = 1; groups <= GROUPS_MAX && groups * across <= most; groups *= 2) {
        if (groups * across < WARP || (groups > 1 && groups >= 2 * n)) continue;
        for (int deep = 1; deep <= DEEP && deep * r.store_vec <= ITEMS; deep *= 2) {
            if (deep > 1 && (int64_t)groups * deep >= 2 * n) break;
            r.thread.extent[AX_N] = deep;
            r.block.extent[AX_N] = groups * deep;
            add_slices(b, r);
        }
    }
}

static void candidates(Keeper *b) {
    const ScanView *v = &b->p->scan;
    RProg r = rprog_base(SK_SCAN);
    if (!v->fits || rprog_units(b->p, b->dev, &r.unit, 1) < 1) return;
    for (int vec = v->vec; vec >= 1; vec /= 2) {
        r.store_vec = (uint8_t)vec;
        for (int threads = 1; threads <= rprog_most_threads(b->dev) && !v->down; threads *= 2) {
            if (threads > 1 && (int64_t)threads * vec >= 2 * v->extent) break;
            add_along(b, r, threads);
        }
        for (int across = 1; across <= 256 && v->down; across *= 2) {
            if (across > 1 && (int64_t)across * vec >= 2 * v->out.extent) break;
            add_down(b, r, across);
        }
    }
}

const SkeletonRow rprog_scan = {
    .keys = 1 << KEY_BLOCK | 1 << KEY_THREAD | 1 << KEY_SPLIT,
    .takes = skeleton_takes_views,
    .candidates = candidates,
    .check = check,
    .threads = threads,
    .registers = registers,
    .rooms = rooms,
    .map = map,
    .partials = partials,
    .left = left,
    .evaluations = evaluations,
};
