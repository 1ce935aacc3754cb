#include "codegen/skeleton/column.h"
#include "codegen/elements/reduction.h"
#include "codegen/expr/sizes.h"

/* Reductions by columns: a thread walks down its columns with every `groups`-th row, the row
 * groups of a block meet in shared memory, slices of the grid in a second kernel.  */

static bool is_wide(const Kernel *k) {
    return place_wide(column_view(k)->out.extent, k->task->r->block.extent[AX_M]);
}

static IrBase base_of(const Kernel *k) { return place_base(is_wide(k)); }

/* ---- the phases ---- */

static void start_elements(Kernel *k, int vec) {
    Elements *at = &k->at;
    const FusedAxis *out = &column_view(k)->out;
    at->vec = vec;
    at->domain = true;
    at->domain_wide = is_wide(k);
    at->at = k->walk.at;
    at->n_order = 0;
    for (int i = out->n - 1; i >= 0; i--) {
        if (out->digit[i].extent != 1) at->order[at->n_order++] = out->index[i];
    }
    place_domain(k, at->at, is_wide(k), at->index, at->wide);
}

/* An extent by a name.  */
static Ir named(Kernel *k, const char *name, IrBase base, TeExtent e) {
    return ir_constant(k->cg, name, ir_as(k->cg, base, cg_extent(k->cg, &e)));
}

static void total(Kernel *k) {
    k->walk.results = named(k, "TOTAL", base_of(k), index_total(k->cg->arena, &k->task->map));
}

static Ir block_first(const Kernel *k, int64_t columns) {
    const Cg *cg = k->cg;
    return ir_mul(cg, ir_as(cg, base_of(k), ir_block(cg, 0)), ir_int(cg, columns));
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
    w->length = named(k, "K", IR_I32, rows_of(k));
    w->tid = ir_let(cg, "tid", ir_thread(cg));
    Ir across = ir_number(cg, IR_U32, along);
    w->col = ir_let_as(cg, IR_I32, "col", ir_mul_n(cg, ir_rem(cg, w->tid, across), vec));
    w->row = ir_let_as(cg, IR_I32, "row", ir_div(cg, w->tid, across));
    w->at = ir_let_as(cg, base_of(k), "at",
                      ir_add(cg, block_first(k, r->block.extent[AX_M]), w->col));
    place_slice(k);
    start_elements(k, vec);
}

/* ---- row groups ---- */

static const ReduceArrays part = {.what = MONOID_PART, .space = IR_SHARED};

/* Row groups meet in shared memory: all give their results to the first one, or, where that has no
 * room for as many, the upper half of those that are left gives them to the lower one.  */
void column_groups_place(Kernel *k) {
    Partials p = column_partials(k, column_any(k));
    ir_note(k->cg, "reduce: the row groups");
    reduce_rooms(k->cg, &p, part, k->l->layout, kernel_smem(k, 128));
}

/* The row group at hand of a loop over them.  */
static Ir group_of(const Kernel *k) { return k->walk.u; }

void column_groups_halves(Kernel *k) {
    Cg *cg = k->cg;
    Ir u = group_of(k);
    ir_loop(cg, u, ir_int(cg, column_groups(k) / 2), ir_binary(cg, IR_GT, u, ir_int(cg, 0)),
            (IrNext){IR_DIV, ir_int(cg, 2)}, 1);
}

Ir column_groups_take(const Kernel *k) { return ir_lt(k->cg, k->walk.row, group_of(k)); }

Ir column_groups_give(const Kernel *k, bool half) {
    const Cg *cg = k->cg;
    Ir row = k->walk.row, u = group_of(k);
    if (!half) return ir_binary(cg, IR_GT, row, ir_int(cg, 0));
    return ir_both(cg, ir_binary(cg, IR_GE, row, u),
                   ir_lt(cg, row, ir_mul(cg, ir_int(cg, 2), u)));
}

/* The place of a group's results.  */
static Ir group_place(const Kernel *k, Ir group) {
    Ir first = ir_mul_n(k->cg, group, k->task->r->block.extent[AX_M]);
    return ir_add(k->cg, first, k->walk.col);
}

void column_groups_put(Kernel *k, bool half) {
    Cg *cg = k->cg;
    Partials p = column_partials(k, column_any(k));
    Ir less = half ? group_of(k) : ir_int(cg, 1);
    reduce_put(cg, &p, k->task->r->thread.extent[AX_M], NULL, part,
               group_place(k, ir_sub(cg, k->walk.row, less)));
}

/* Rows of the block, and `more`.  */
static Ir rows_and(const Kernel *k, Ir more) {
    const Cg *cg = k->cg;
    Ir rows = ir_sub(cg, k->walk.end, k->walk.first);
    return ir_add(cg, ir_max(cg, rows, ir_int(cg, 0)), more);
}

static void add_half(Kernel *k, const Partials *p) {
    Cg *cg = k->cg;
    Ir u = group_of(k), row = k->walk.row;
    Ir behind = ir_sub(cg, ir_add_n(cg, u, -1), row);
    Ir rows = ir_div(cg, rows_and(k, behind), ir_mul(cg, ir_int(cg, 2), u));
    reduce_partial(cg, p, k->task->r->thread.extent[AX_M],
                   &(ReducePartial){part, rows, group_place(k, row)});
}

void column_groups_add(Kernel *k, bool half) {
    Cg *cg = k->cg;
    int groups = column_groups(k);
    Partials p = column_partials(k, column_any(k));
    if (half) {
        add_half(k, &p);
        return;
    }
    Ir u = ir_count_of(cg, k->walk.u, groups - 1, 1);
    Ir rows = ir_div(cg, rows_and(k, ir_sub(cg, ir_int(cg, groups - 2), u)), ir_int(cg, groups));
    reduce_partial(cg, &p, k->task->r->thread.extent[AX_M],
                   &(ReducePartial){part, rows, group_place(k, u)});
    ir_close(cg);
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

static Ir is_result(const Kernel *k) { return ir_lt(k->cg, k->walk.at, k->walk.results); }

static void column_partial(Kernel *k) {
    ThreadMap m = column_map(k);
    Partials p = reduction_partials(k, &m, 0);
    m.own = slice_place(k, ir_block(k->cg, 1), k->walk.at);
    ir_note(k->cg, "partial: results of this slice to the workspace");
    ir_if(k->cg, is_result(k));
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
    ir_if(k->cg, is_result(k));
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
    reduction_open_results(k, &m, base_of(k));
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
        k->walk.length = named(k, "K", IR_I32, rows);
        k->walk.piece = named(k, "slice", IR_I32, slice);
    }
    if (counts) m.elements = rows_of_slice(k);
    m.at = slice_place(k, k->var.s, place_taken(k, base_of(k), k->walk.at));
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
    .elements = column_elements,
    .partial = column_partial,
};
const KernelRow kernel_column_sums = {
    .elements = column_sums_elements,
    .gather = column_sums_gather,
};
