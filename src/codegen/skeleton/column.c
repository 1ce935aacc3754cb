#include "codegen/skeleton/column.h"
#include "codegen/elements/reduction.h"
#include "codegen/expr/sizes.h"

/* Reductions by columns: a thread walks down its columns with every `groups`-th row, the row
 * groups of a block meet, slices of the grid in a second kernel.  */

/* ---- the phases ---- */

static void total(Kernel *k) {
    k->walk.results = size_named(k->cg, "TOTAL", reduction_base(k),
                                 index_total(k->cg->arena, &k->task->map));
}

/* Rows of a column, and of a slice.  */
static TeExtent rows_of(const Kernel *k) { return index_extent(k->cg->arena, &k->task->map, 1); }

static TeExtent slice_of(const Kernel *k) {
    return index_slice(k->cg->arena, &k->task->map, 1, k->task->r->split);
}

/* The thread's warp among those with the same columns, and where these meet.  */
static void place_groups(Kernel *k) {
    Cg *cg = k->cg;
    int lanes = rprog_column_lanes(k->task->r);
    Ir row = k->walk.number = k->walk.row;
    if (lanes > 1)
        k->walk.number = ir_let_as(cg, IR_I32, "warp", ir_div(cg, row, ir_int(cg, lanes)));
    if (rprog_column_copies(k->task->r) == 0) return;
    kernel_smem(k, 128);
    reduction_rooms(k, column_group(k), 0);
}

static void column_place(Kernel *k) {
    Cg *cg = k->cg;
    Walk *w = &k->walk;
    const RProg *r = k->task->r;
    int along = rprog_threads_along(r, AX_M), vec = r->thread.extent[AX_M];
    ir_note(cg, "place: %d x %d columns, %d row groups", along, vec, column_groups(k));
    total(k);
    w->length = size_named(cg, "K", IR_I32, rows_of(k));
    reduction_place_across(k, along, vec);
    reduction_place_slice(k);
    place_groups(k);
    reduction_place_elements(k, &column_view(k)->out, vec);
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

/* ---- row groups ---- */

/* Has the thread results?  */
static Ir has_results(const Kernel *k) {
    const Cg *cg = k->cg;
    Ir first = ir_binary(cg, IR_EQ, k->walk.row, ir_int(cg, 0));
    return ir_both(cg, column_groups(k) > 1 ? first : NULL,
                   ir_lt(cg, k->walk.at, k->walk.results));
}

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
static Meeting meeting(const Kernel *k, int lanes) {
    const Cg *cg = k->cg;
    const RProg *r = k->task->r;
    Ir warp = k->walk.number, row = k->walk.row, u = k->walk.u, zero = ir_int(cg, 0), leads = NULL;
    if (rprog_column_copies(r) == 0) return (Meeting){0};
    if (lanes > 1) leads = ir_binary(cg, IR_EQ, ir_rem(cg, row, ir_int(cg, lanes)), zero);
    return (Meeting){.parts = rprog_column_copies(r),
                     .leaves = ir_both(cg, ir_binary(cg, IR_GT, warp, zero), leads),
                     .at = warp_place(k, ir_add_n(cg, warp, -1)),
                     .needs = ir_binary(cg, IR_EQ, row, zero),
                     .part = u,
                     .from = warp_place(k, u),
                     .elements = rows_of_groups(k, ir_mul_n(cg, ir_add_n(cg, u, 1), lanes), lanes),
                     .under_way = rprog_column_under_way(r),
                     .take = {{.into = MONOID_HELD, .end = ir_int(cg, rprog_column_copies(r))}},
                     .n_take = 1};
}

/* Row groups meet: those of a warp by shuffles, warps through shared memory.  The first group has
 * the results then.  */
static void map_groups(const Kernel *k, ThreadMap *m) {
    int lanes = rprog_column_lanes(k->task->r);
    if (column_groups(k) == 1) return;
    m->lanes = WARP - WARP / lanes;
    m->seen = rows_of_groups(k, ir_mul_n(k->cg, k->walk.number, lanes), lanes);
    m->meeting = meeting(k, lanes);
}

static ThreadMap column_map(const Kernel *k, const Node *n) {
    (void)n;
    bool sums = k->l->kind == KERNEL_COLUMN_SUMS;
    const Cg *cg = k->cg;
    TeExtent rows = rows_of(k);
    Ir all = cg_extent(cg, &rows);
    ThreadMap m = {.group = column_group(k),
                   .held = MONOID_HELD,
                   .items = k->at.vec,
                   .lane = column_any(k),
                   .count = IR_I32,
                   .threads = sums ? k->task->r->lanes : 1,
                   .block = k->l->launch.block[0],
                   .seen = all,
                   .live = rows.expr ? ir_binary(cg, IR_GT, all, ir_int(cg, 0)) : NULL,
                   .partials = k->task->r->split * column_view(k)->out.extent,
                   .n_partial = ir_int(cg, k->task->r->split),
                   .rank = k->walk.lane,
                   .under_way = RPROG_PARTIAL_VECTORS};
    if (sums) return m;
    m.own = slice_place(k, ir_block(cg, 1), k->walk.at);
    m.only = has_results(k);
    map_groups(k, &m);
    return m;
}

/* The outputs begin with the root's results.  */
static void take_results(Kernel *k) {
    k->at.root = reduction_column(k, k->task->p->group->root);
    k->at.root_type = kernel_root(k)->rhs->type;
}

static void column_elements(Kernel *k, const Node *n) {
    ir_note(k->cg, "elements: %d columns of the thread", k->at.vec);
    ir_if(k->cg, has_results(k));
    k->at.open = 1;
    ThreadMap m = column_map(k, n);
    Partials p = reduction_partials(k, &m, 0);
    reduction_settle(k, &m, &p);
    take_results(k);
}

/* ---- the adding kernel ---- */

static void column_sums_elements(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    ir_note(cg, "elements: %d at a time", k->task->vec);
    ThreadMap m = column_map(k, n);
    Partials p = reduction_partials(k, &m, 0);
    total(k);
    reduction_left(k, &m, &p);
    int lanes = m.threads;
    if (lanes > 1)
        k->walk.lane = ir_let_as(cg, IR_I32, "lane",
                                 ir_rem(cg, ir_thread(cg), ir_number(cg, IR_U32, lanes)));
    reduction_open_results(k, &m, reduction_base(k));
    reduction_place_elements(k, &column_view(k)->out, k->task->vec);
}

/* Of lanes that share results the first one goes on.  */
static void column_sums_gather(Kernel *k) {
    Cg *cg = k->cg;
    TeExtent rows = rows_of(k), slice = slice_of(k);
    ThreadMap m = column_map(k, NULL);
    Partials p = reduction_partials(k, &m, 0);
    ir_note(cg, m.threads > 1 ? "gather: the slices by the lanes of a warp"
                              : "gather: the slices in order");
    bool counts = monoid_counts(&p);
    k->walk.length = m.seen;
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
    .map = column_map,
    .elements = column_elements,
};
const KernelRow kernel_column_sums = {
    .elements = column_sums_elements,
    .gather = column_sums_gather,
};
