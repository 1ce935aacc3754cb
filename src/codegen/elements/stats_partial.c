#include "codegen/elements/stats.h"
#include "codegen/expr/sizes.h"

/* Rows whose columns lie in several blocks: what a block leaves of them, and the kernel that makes
 * their values of it.  Parts meet as slices of a row do.  */

/* Rows over all batches.  */
static TeExtent count_rows(Arena *a, const IndexMap *m) {
    return size_times(a, index_extent(a, m, AX_B), index_extent(a, m, AX_M));
}

static TeExtent all_rows_of(const Kernel *k) { return count_rows(k->cg->arena, &k->task->map); }

static Ir all_rows(const Kernel *k) { return k->var.rows; }

/* ---- places ---- */

/* Room in the workspace for n parts or values of a statement.  */
static TeExtent room_for(Arena *a, TeExtent n) {
    if (te_extent_divisor(&n) % STATS_ROOM == 0) return n;
    return size_times(a, size_ceil_div(a, n, STATS_ROOM), size_number(STATS_ROOM));
}

static TeExtent partials_room(Arena *a, const IndexMap *m) {
    return room_for(a, size_times(a, count_rows(a, m), index_tiles(a, m, AX_N)));
}

TeExtent stats_bytes(Arena *a, const Problem *p, const RProg *r) {
    int64_t partials, values;
    IndexMap m;
    index_map(p, r, 0, &m);
    rprog_stats_at(p, r, rprog_stats_facts(p, r)->group->n, true, &partials, &values);
    return size_plus(a, size_times(a, partials_room(a, &m), size_number(partials)),
                     size_times(a, room_for(a, count_rows(a, &m)), size_number(values)));
}

void stats_count(Kernel *k) {
    TeExtent rows = all_rows_of(k), partials = partials_room(k->cg->arena, &k->task->map);
    Variables *x = &k->var;
    x->rows = ir_number(k->cg, IR_I64, rows.value);
    if (rows.expr) x->rows = ir_let_as(k->cg, IR_I64, "ROWS", size_value(k->cg, rows));
    if (partials.expr)
        x->parts = ir_let_as(k->cg, IR_I64, "PARTS", size_value(k->cg, partials));
}

void stats_place_left(Kernel *k, MonoidVariable what, int i, bool partial) {
    Cg *cg = k->cg;
    TeExtent room = partials_room(cg->arena, &k->task->map);
    TeExtent row_room = room_for(cg->arena, all_rows_of(k));
    int64_t partials, values, at = 0;
    int t = tensor_of(k, i);
    TeDtype type = partial ? statement(k, i)->rhs->type
                        : te_dtype_compute(cg->te->tensor[t].dtype);
    rprog_stats_at(k->task->p, k->task->r, i, !partial, &partials, &values);
    if (!room.expr) at += partials * room.value;
    if (!row_room.expr) at += values * row_room.value;
    Ir from = ir_add(cg, cg_partials(cg), ir_number(cg, IR_I64, at));
    if (room.expr && partials > 0)
        from = ir_add(cg, from, ir_mul_n(cg, k->var.parts, partials));
    if (row_room.expr && values > 0)
        from = ir_add(cg, from, ir_mul_n(cg, size_value(cg, row_room), values));
    IrType pointer = ir_pointer(ir_compute(type), IR_GLOBAL, false);
    ir_define(cg, monoid_variable(cg, what, t, pointer), ir_view(cg, pointer, from));
}

/* ---- what a block leaves ---- */

/* Columns of the block.  */
static Ir own_columns(const Kernel *k) {
    const Cg *cg = k->cg;
    Ir left = ir_sub(cg, ir_cast(cg, IR_I64, product_extent(k, AX_N)), product_first(k, AX_N));
    return ir_min(cg, ir_number(cg, IR_I64, k->task->r->block.extent[AX_N]), left);
}

void stats_leave(Kernel *k, int pass, bool online, Ir row, Ir at) {
    Cg *cg = k->cg;
    Partials p = monoid_pass(cg, facts(k)->group, pass, MONOID_HELD, NULL);
    Partials mine = monoid_select(&p, online);
    Ir tile = k->var.tile_n;
    reduce_put(cg, &mine, 0, (ReduceArrays){.what = MONOID_LEFT, .space = IR_GLOBAL},
               ir_add_parts(cg, ir_mul(cg, tile, all_rows(k)), row));
    for (int i = 0; i < p.n && !online; i++) {
        const Partial *x = &p.at[i];
        bool second = false;
        for (int j = 0; j < i; j++) second |= p.at[j].follow && p.at[j].center == x->center;
        if (!x->follow || second) continue;
        IrBase type = ir_compute(te_dtype_compute(cg->te->tensor[x->center].dtype));
        Ir base = monoid_variable(cg, MONOID_CENTERS, x->center,
                                  ir_pointer(type, IR_SHARED, false));
        ir_set(cg, ir_element(cg, base, at),
               monoid_center(cg, x, p.at[x->leader].value, own_columns(k)));
    }
}

/* ---- the values of rows ---- */

static IrBase row_base_of(const Kernel *k) {
    return place_base(place_wide(all_rows_of(k).value, k->l->launch.block[0]));
}

/* The row of the thread and its neighbours; those beyond the last one take that as theirs.  */
static Ir place_row(Kernel *k, int lanes) {
    Cg *cg = k->cg;
    IrBase base = row_base_of(k);
    Ir across = ir_number(cg, IR_U32, lanes), thread = ir_thread(cg);
    k->walk.lane = ir_let_as(cg, IR_I32, "lane", ir_rem(cg, thread, across));
    Ir first = ir_mul_n(cg, ir_cast(cg, base, ir_block(cg, 0)), k->l->launch.block[0] / lanes);
    k->walk.at = ir_let_as(cg, base, "id", ir_add(cg, first, ir_div(cg, thread, across)));
    Ir last = ir_cast(cg, base, ir_add_n(cg, all_rows(k), -1));
    return ir_let_as(cg, base, "row", ir_min(cg, k->walk.at, last));
}

/* The indices of a row.  */
static void place_indices(Kernel *k, Ir row) {
    Cg *cg = k->cg;
    TeExtent m = index_extent(cg->arena, &k->task->map, AX_M);
    IrBase base = row_base_of(k);
    Ir by = m.expr ? ir_let_as(cg, base, "M", size_value(cg, m)) : ir_int(cg, m.value);
    Ir batch = ir_let_as(cg, base, "b", ir_div(cg, row, by));
    Ir own = ir_let_as(cg, base, "m", ir_rem(cg, row, by));
    bool wide = place_wide(all_rows_of(k).value, 0);
    place_axis(k, AX_B, batch, wide, k->at.index, k->at.wide);
    place_axis(k, AX_M, own, wide, k->at.index, k->at.wide);
}

static ThreadMap map_of(const Kernel *k) {
    const Cg *cg = k->cg;
    TeExtent tiles = index_tiles(cg->arena, &k->task->map, AX_N);
    Ir columns = product_extent(k, AX_N);
    Ir wide = ir_number(cg, IR_I64, k->task->r->block.extent[AX_N]);
    Ir part = k->var.s;
    return (ThreadMap){.group = facts(k)->group,
                       .held = MONOID_HELD,
                       .count = IR_I32,
                       .threads = k->task->r->lanes,
                       .block = k->l->launch.block[0],
                       .seen = columns,
                       .n_partial = size_value(cg, tiles),
                       .elements = ir_min(cg, wide, ir_sub(cg, columns, ir_mul(cg, part, wide))),
                       .under_way = RPROG_PARTIALS};
}

void stats_combine(Kernel *k, int pass) {
    Cg *cg = k->cg;
    const RowGroup *g = facts(k)->group;
    TeExtent columns = index_extent(cg->arena, &k->task->map, AX_N);
    ir_note(cg, "combine: the parts of pass %d, %d threads to a row", pass, k->task->r->lanes);
    stats_count(k);
    Partials p = monoid_pass(cg, g, pass, MONOID_HELD, NULL);
    k->own->extent[AX_N] = ir_as(cg, IR_I64, size_value(cg, columns));
    if (monoid_counts(&p)) k->own->extent[AX_N] = ir_constant(cg, "N", k->own->extent[AX_N]);
    ThreadMap map = map_of(k);
    p = reduction_partials(k, &map, pass);
    Ir row = place_row(k, map.threads);
    place_indices(k, row);
    map.rank = k->walk.lane;
    map.at = ir_add(cg, ir_mul(cg, k->var.s, all_rows(k)), row);
    for (int i = 0; i < g->n; i++) {
        bool reduced = g->role[i] == ROW_REDUCE && g->pass[i] == pass;
        if (reduced) stats_place_left(k, MONOID_LEFT, i, true);
        if (g->role[i] == ROW_MAP || g->pass[i] > pass + (g->role[i] == ROW_SCALAR)) continue;
        stats_place_left(k, MONOID_VALUES, i, false);
        int t = tensor_of(k, i);
        IrBase base = ir_compute(te_dtype_compute(cg->te->tensor[t].dtype));
        Ir values = monoid_variable(cg, MONOID_VALUES, t,
                                    ir_pointer(base, IR_GLOBAL, false));
        if (stats_known(k, i)) k->at.made[t] = ir_element(cg, values, row);
    }
    reduction_combine(k, &map, &p);
    /* Hidden: a pointer that the loops have moved would stand for the places of the values, and one
     * compiler (NVRTC 13.0) takes it for moved less than it is.  */
    Ir at = ir_let_as(cg, IR_I32, "at", ir_hidden(cg, IR_I32, ir_as(cg, IR_I32, row)));
    TeExtent rows = all_rows_of(k);
    Ir leads = ir_binary(cg, IR_EQ, k->walk.lane, ir_int(cg, 0));
    Ir end = rows.expr ? all_rows(k) : ir_int(cg, rows.value);
    reduction_values(k, g, pass, ir_both(cg, leads, ir_lt(cg, k->walk.at, end)),
                     &(ReductionKept){IR_GLOBAL, at, NULL}, true);
}
