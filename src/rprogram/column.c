/* The `column` skeleton: neighbouring columns per thread, row groups per block, slices of the
 * rows.  */
#include "rprogram/skeleton.h"

enum { ROWS_MAX = 256, IN_FLIGHT = 16 };       /* row groups; loads of a thread at once */

int64_t rprog_column_slice(const Problem *p, const RProg *r) {
    int64_t steps = ceil_div(p->column.red.extent, r->block.extent[AX_K]);
    return ceil_div(steps, r->split) * r->block.extent[AX_K];
}

int rprog_column_lanes(const RProg *r) {
    int along = rprog_threads_along(r, AX_M);
    return along < WARP ? WARP / along : 1;
}

int rprog_column_copies(const RProg *r) {
    return rprog_threads_along(r, AX_K) / rprog_column_lanes(r) - 1;
}

int rprog_column_under_way(const RProg *r) {
    int copies = rprog_column_copies(r), n = RPROG_PARTIAL_VECTORS;
    while (copies % n) n--;
    return n;
}

static void rooms(RoomWalk *w) {
    int64_t copies = rprog_column_copies(w->r);
    if (copies > 0)
        layout_partials(w, 0, w->p->group->columns, copies * w->r->block.extent[AX_M]);
}

static int64_t registers(const Problem *p, const Device *dev, const RProg *r) {
    (void)dev;
    enum { FIXED = 26 };      /* fitted as those of contract_registers */
    const ColumnView *v = &p->column;
    const RowGroup *g = p->group->columns;
    int64_t words = 0;
    for (int i = 0; i < g->n; i++) {
        if (g->role[i] == ROW_REDUCE)
            words += hal_words(rprog_partial_bytes(p->te->stmt[g->stmt[i]].rhs));
    }
    /* What a step has read, as it came, or for reductions with followers as values.  */
    int64_t bytes = v->followers && v->sum_bytes > v->bytes ? v->sum_bytes : v->bytes;
    int64_t landing = (int64_t)hal_words(bytes * r->thread.extent[AX_M]) * r->thread.extent[AX_K];
    int64_t follow = v->followers ? 8 : 0;            /* the leader's value, the factor */
    return FIXED + (words + 1) * r->thread.extent[AX_M] + landing + v->red.n_digit + follow;
}

static const char *check(const Problem *p, const Device *dev, const RProg *r) {
    const ColumnView *v = &p->column;
    int along = rprog_threads_along(r, AX_M), rows = rprog_threads_along(r, AX_K);
    if (!v->fits) return "the statement has no columns";
    if (r->block.extent[AX_N] != 1 || r->thread.extent[AX_N] != 1)
        return "a column program tiles columns and rows only";
    if (!along || !rows || !power_of_two(along) || !power_of_two(rows) || rows > ROWS_MAX)
        return "threads along columns and rows are not powers of two, 256 row groups at most";
    if (!rprog_whole_warps(dev, (int64_t)along * rows)) return rprog_no_whole_warps;
    if (!power_of_two(r->thread.extent[AX_M]) || r->thread.extent[AX_M] > RTILE_ACCESS ||
        v->divisor % r->thread.extent[AX_M])
        return "a thread's columns are not a power of two that divides the columns";
    if (r->thread.extent[AX_K] > IN_FLIGHT) return "too many rows in flight";
    if (r->store_vec != r->thread.extent[AX_M]) return "store_vec is not the thread's columns";
    int64_t steps = ceil_div(v->red.extent, r->block.extent[AX_K]);
    return skeleton_grid_check(&rprog_column, p, dev, r, steps);
}

static const RowGroup *partials(const Problem *p) { return p->group->columns; }

static int64_t left(const Problem *p, const RProg *r) {
    (void)r;
    return p->column.out.extent;
}

static RMeeting meeting(const Problem *p, const RProg *r) {
    return (RMeeting){.parts = r->split, .vec = r->store_vec, .bytes = p->column.sum_bytes,
                      .step = WARP};
}

static int64_t threads(const Device *dev, RProg *r) {
    (void)dev;
    r->warp = r->thread;
    return (int64_t)rprog_threads_along(r, AX_M) * rprog_threads_along(r, AX_K);
}

static void map(const Problem *p, const RProg *r, int64_t span, IndexMap *m) {
    const ColumnView *v = &p->column;
    (void)span;
    int out = index_add_dealt(m, (IndexAxis){v->out.index, v->out.n, v->out.extent, v->divisor,
                                             r->block.extent[AX_M]});
    int red = index_add(m, (IndexAxis){v->red.index, v->red.n, v->red.extent, v->red_divisor,
                                       r->block.extent[AX_K]});
    m->n_axis = red;
    index_deal_thread(m, (IndexDigit){red, 1, count_along(&r->block, &r->thread, AX_K)});
    index_deal_thread(m, (IndexDigit){out, r->thread.extent[AX_M],
                                      count_along(&r->block, &r->thread, AX_M)});
}

/* ---- candidates ---- */

/* Whole rows, and slices of a few steps at least.  */
static void add_slices(Keeper *b, RProg r) {
    enum { FEW_STEPS = 2, FILLED = 8 };   /* steps of a slice; warps of an SM: latency is hidden */
    int64_t steps = ceil_div(b->p->column.red.extent, r.block.extent[AX_K]) / FEW_STEPS;
    r.split = 1;
    rprog_keep(b, r);
    rprog_keep_slices(b, r, steps, FILLED);
}

static void add_blocks(Keeper *b, RProg r, int along) {
    for (int rows = 1; rows <= ROWS_MAX && along * rows <= rprog_most_threads(b->dev); rows *= 2) {
        if (along * rows < WARP * 2) continue;
        for (int deep = 1; deep <= IN_FLIGHT / 2; deep *= 2) {
            r.thread.extent[AX_K] = deep;
            r.block.extent[AX_K] = rows * deep;
            /* Not deeper than the rows go.  */
            if (deep > 1 && (int64_t)rows * deep > b->p->column.red.extent) continue;
            add_slices(b, r);
        }
    }
}

static void candidates(Keeper *b) {
    const Problem *p = b->p;
    RProg r = rprog_base(SK_COLUMN);
    if (!p->column.fits || rprog_units(p, b->dev, &r.unit, 1) < 1) return;
    for (int vec = p->column.vec; vec >= 1; vec /= 2) {
        r.thread.extent[AX_M] = vec;
        r.store_vec = (uint8_t)vec;
        for (int along = 1; along <= ROWS_MAX; along *= 2) {
            r.block.extent[AX_M] = along * vec;
            /* Not wider than twice the columns.  */
            if (along > 1 && (int64_t)along * vec >= 2 * p->column.out.extent) break;
            add_blocks(b, r, along);
        }
    }
}

const SkeletonRow rprog_column = {
    .keys = 1 << KEY_BLOCK | 1 << KEY_THREAD | 1 << KEY_SPLIT,
    .slices_meet = true,
    .takes = skeleton_takes_views,
    .candidates = candidates,
    .check = check,
    .threads = threads,
    .registers = registers,
    .rooms = rooms,
    .map = map,
    .partials = partials,
    .left = left,
    .meeting = meeting,
};
