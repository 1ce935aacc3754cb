#include "codegen/skeleton/column.h"
#include "codegen/elements/reduction.h"
#include "codegen/expr/sizes.h"

/* Reductions by columns: a thread walks down its columns with every `groups`-th row, the row
 * groups of a block meet, slices of the grid in a second kernel.  */

/* ---- the phases ---- */

static void start_elements(Kernel *k, int vec) {
    Elements *at = &k->at;
    const FusedAxis *out = &column_view(k)->out;
    at->vec = vec;
    at->domain = true;
    at->domain_wide = reduction_wide(k);
    at->at = k->walk.at;
    at->n_order = 0;
    for (int i = out->n - 1; i >= 0; i--) {
        if (out->digit[i].extent != 1) at->order[at->n_order++] = out->index[i];
    }
    place_domain(k, at->at, reduction_wide(k), at->index, at->wide);
}

static void total(Kernel *k) {
    k->walk.results = size_named(k->cg, "TOTAL", reduction_base(k),
                                 index_total(k->cg->arena, &k->task->map));
}

/* Rows of a column, and of a slice.  */
static TeExtent rows_of(const Kernel *k) { return index_extent(k->cg->arena, &k->task->map, 1); }

static TeExtent slice_of(const Kernel *k) {
    return index_slice(k->cg->arena, &k->task->map, 1, k->task->r->split);
}

/* The rows of the block's slice.  */
static void place_slice(Kernel *k) {
    Cg *cg = k->cg;
    Walk *w = &k->walk;
    w->first = ir_int(cg, 0);
    w->end = w->length;
    if (k->task->r->split <= 1) return;
    TeExtent rows = slice_of(k);
    Ir slice = cg_extent(cg, &rows);
    w->first = ir_let_as(cg, IR_I32, "first", ir_mul(cg, ir_block(cg, 1), slice));
    w->end = ir_let_as(cg, IR_I32, "rows", ir_min(cg, ir_add(cg, w->first, slice), w->length));
}

static void column_place(Kernel *k) {
    Cg *cg = k->cg;
    Walk *w = &k->walk;
    const RProg *r = k->task->r;
    int along = rprog_threads_along(r, AX_M), vec = r->thread.extent[AX_M];
    ir_note(cg, "place: %d x %d columns, %d row groups", along, vec, column_groups(k));
    total(k);
    w->length = size_named(cg, "K", IR_I32, rows_of(k));
    w->tid = ir_let(cg, "tid", ir_thread(cg));
    Ir across = ir_number(cg, IR_U32, along);
    w->col = ir_let_as(cg, IR_I32, "col", ir_mul_n(cg, ir_rem(cg, w->tid, across), vec));
    w->row = ir_let_as(cg, IR_I32, "row", ir_div(cg, w->tid, across));
    reduction_place(k, w->col);
    place_slice(k);
    start_elements(k, vec);
}

/* ---- results ---- */

/* Rows of slice s.  */
static Ir rows_of_slice(const Kernel *k) {
    const Cg *cg = k->cg;
    TeExtent rows = slice_of(k);
    Ir slice = rows.expr ? k->walk.piece : cg_extent(cg, &rows);
    Ir s = k->var.s, first = ir_mul(cg, s, slice);
    Ir end = ir_min(cg, ir_mul(cg, ir_add_n(cg, s, 1), slice), k->walk.length);
    return ir_max(cg, ir_sub(cg, end, first), ir_int(cg, 0));
}

/* Slice s of the results, from `at` on.  */
static Ir slice_place(const Kernel *k, Ir slice, Ir at) {
    const Cg *cg = k->cg;
    return ir_add(cg, ir_mul(cg, ir_cast(cg, IR_I64, slice), k->walk.results), at);
}

static ThreadMap column_map(const Kernel *k) {
    const Cg *cg = k->cg;
    TeExtent rows = rows_of(k);
    Ir all = cg_extent(cg, &rows);
    return (ThreadMap){.group = column_group(k),
                       .held = MONOID_HELD,
                       .items = k->at.vec,
                       .lane = column_any(k),
                       .count = IR_I32,
                       .threads = k->task->r->lanes,
                       .block = k->l->launch.block[0],
                       .total = all,
                       .live = rows.expr ? ir_binary(cg, IR_GT, all, ir_int(cg, 0)) : NULL,
                       .partials = k->task->r->split * column_view(k)->out.extent,
                       .n_partial = ir_int(cg, k->task->r->split),
                       .rank = k->walk.lane,
                       .under_way = RPROG_PARTIAL_VECTORS};
}

/* ---- row groups ---- */

/* Rows of the block that n neighbouring groups have, of which the first is number `first`.  */
static Ir rows_of_groups(const Kernel *k, Ir first, int n) {
    const Cg *cg = k->cg;
    Ir groups = ir_int(cg, column_groups(k)), some = ir_int(cg, n);
    Ir rows = ir_max(cg, ir_sub(cg, k->walk.end, k->walk.first), ir_int(cg, 0));
    Ir rest = ir_max(cg, ir_sub(cg, ir_rem(cg, rows, groups), first), ir_int(cg, 0));
    return ir_add(cg, ir_mul(cg, ir_div(cg, rows, groups), some), ir_min(cg, rest, some));
}

/* The place of a warp's results, of those with the same columns the `number`-th.  */
static Ir warp_place(const Kernel *k, Ir number) {
    Ir first = ir_mul_n(k->cg, number, k->task->r->block.extent[AX_M]);
    return ir_add(k->cg, first, k->walk.col);
}

/* The first of the warps that have the same columns adds the results that all others leave.  */
static void meet_warps(Kernel *k, const Partials *p, Ir warp, int lanes) {
    const ReduceArrays part = reduce_block;
    Cg *cg = k->cg;
    int items = k->task->r->thread.extent[AX_M];
    Ir row = k->walk.row, u = k->walk.u, leads = NULL;
    if (lanes > 1)
        leads = ir_binary(cg, IR_EQ, ir_rem(cg, row, ir_int(cg, lanes)), ir_int(cg, 0));
    reduce_rooms(cg, p, k->l->layout, kernel_smem(k, 128));
    reduce_put(cg, p, items, ir_both(cg, ir_binary(cg, IR_GT, warp, ir_int(cg, 0)), leads), part,
               warp_place(k, ir_add_n(cg, warp, -1)));
    ir_sync(cg, IR_SYNC_BLOCK, NULL);
    ir_if(cg, ir_binary(cg, IR_EQ, row, ir_int(cg, 0)));
    Ir first = ir_mul_n(cg, ir_add_n(cg, u, 1), lanes);
    reduce_gather(cg, p, items,
                  &(ReducePartial){part, rows_of_groups(k, first, lanes), warp_place(k, u)},
                  (ReduceRange){u, ir_int(cg, 0), ir_int(cg, rprog_column_copies(k->task->r)), 1,
                                rprog_column_under_way(k->task->r), NULL});
    ir_close(cg);
}

/* Row groups meet: those of a warp by shuffles, warps through shared memory.  The first group has
 * the results then.  */
static void column_meet(Kernel *k, const Node *n) {
    (void)n;
    Cg *cg = k->cg;
    int lanes = rprog_column_lanes(k->task->r);
    ThreadMap m = column_map(k);
    Partials p = reduction_partials(k, &m, 0);
    Ir warp = k->walk.row;
    if (lanes > 1) warp = ir_let_as(cg, IR_I32, "warp", ir_div(cg, warp, ir_int(cg, lanes)));
    Ir rows = rows_of_groups(k, ir_mul_n(cg, warp, lanes), lanes);
    m.threads = 1;
    m.lanes = WARP - WARP / lanes;
    reduction_meet(k, &m, &p, rows);
    if (lanes > 1 && monoid_counts(&p)) ir_set(cg, monoid_counted(cg, MONOID_SEEN, p.count), rows);
    if (rprog_column_copies(k->task->r) > 0) meet_warps(k, &p, warp, lanes);
}

/* Has the thread results?  */
static Ir has_results(const Kernel *k) {
    const Cg *cg = k->cg;
    Ir first = ir_binary(cg, IR_EQ, k->walk.row, ir_int(cg, 0));
    return ir_both(cg, column_groups(k) > 1 ? first : NULL,
                   ir_lt(cg, k->walk.at, k->walk.results));
}

static void column_partial(Kernel *k) {
    ThreadMap m = column_map(k);
    Partials p = reduction_partials(k, &m, 0);
    m.own = slice_place(k, ir_block(k->cg, 1), k->walk.at);
    ir_note(k->cg, "partial: results of this slice to the workspace");
    ir_if(k->cg, has_results(k));
    reduction_leave(k, &m, &p);
    ir_close(k->cg);
}

/* The outputs begin with the root's results.  */
static void take_results(Kernel *k) {
    k->at.root = reduction_column(k, k->task->p->group->root);
    k->at.root_type = kernel_root(k)->rhs->type;
}

static void column_elements(Kernel *k, const Node *n) {
    (void)n;
    ir_note(k->cg, "elements: %d columns of the thread", k->at.vec);
    ir_if(k->cg, has_results(k));
    k->at.open = 1;
    ThreadMap m = column_map(k);
    Partials p = reduction_partials(k, &m, 0);
    reduction_settle(k, &m, &p);
    take_results(k);
}

/* ---- the adding kernel ---- */

static void column_sums_elements(Kernel *k, const Node *n) {
    (void)n;
    Cg *cg = k->cg;
    ir_note(cg, "elements: %d at a time", k->task->vec);
    ThreadMap m = column_map(k);
    Partials p = reduction_partials(k, &m, 0);
    total(k);
    reduction_left(k, &m, &p);
    int lanes = m.threads;
    if (lanes > 1)
        k->walk.lane = ir_let_as(cg, IR_I32, "lane",
                                 ir_rem(cg, ir_thread(cg), ir_number(cg, IR_U32, lanes)));
    reduction_open_results(k, &m, reduction_base(k));
    start_elements(k, k->task->vec);
}

/* Of lanes that share results the first one goes on.  */
static void column_sums_gather(Kernel *k) {
    Cg *cg = k->cg;
    TeExtent rows = rows_of(k), slice = slice_of(k);
    ThreadMap m = column_map(k);
    Partials p = reduction_partials(k, &m, 0);
    ir_note(cg, m.threads > 1 ? "gather: the slices by the lanes of a warp"
                              : "gather: the slices in order");
    bool counts = monoid_counts(&p);
    k->walk.length = m.total;
    if (rows.expr && counts) {
        k->walk.length = size_named(cg, "K", IR_I32, rows);
        k->walk.piece = size_named(cg, "slice", IR_I32, slice);
    }
    if (counts) m.elements = rows_of_slice(k);
    m.at = slice_place(k, k->var.s, place_taken(k, reduction_base(k), k->walk.at));
    reduction_combine(k, &m, &p);
    if (m.threads > 1) {
        ir_if(cg, ir_binary(cg, IR_EQ, k->walk.lane, ir_int(cg, 0)));
        k->at.open++;
    }
    take_results(k);
}

const KernelRow kernel_column = {
    .place = column_place,
    .fold = column_fold,
    .meet = column_meet,
    .elements = column_elements,
    .partial = column_partial,
};
const KernelRow kernel_column_sums = {
    .elements = column_sums_elements,
    .gather = column_sums_gather,
};
