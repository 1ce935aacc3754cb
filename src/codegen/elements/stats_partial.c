#include "codegen/elements/stats.h"
#include "codegen/expr/sizes.h"

/* Rows whose columns lie in several blocks: what a block leaves of them, and the kernel that makes
 * their values of it.  Parts meet as slices of a row do.  */

/* Rows over all batches.  */
static TeExtent count_rows(Arena *a, const IndexMap *m) {
    return size_times(a, index_extent(a, m, AX_B), index_extent(a, m, AX_M));
}

static TeExtent all_rows_of(const Kernel *k) { return count_rows(k->cg->arena, &k->l->map); }

static Ir word(const Kernel *k, const char *name) {
    return ir_name(k->cg, ir_type(IR_I64), name);
}

/* Those, by the name that they have where they are known at run time.  */
static Ir all_rows(const Kernel *k) {
    TeExtent rows = all_rows_of(k);
    return rows.expr ? word(k, "ROWS") : ir_number(k->cg, IR_I64, rows.value);
}

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
    TeExtent rows = all_rows_of(k), partials = partials_room(k->cg->arena, &k->l->map);
    if (rows.expr) ir_let_as(k->cg, IR_I64, "ROWS", size_value(k->cg, rows));
    if (partials.expr) ir_let_as(k->cg, IR_I64, "PARTS", size_value(k->cg, partials));
}

void stats_place_left(Kernel *k, const char *name, int i, bool partial) {
    Cg *cg = k->cg;
    TeExtent room = partials_room(cg->arena, &k->l->map);
    TeExtent row_room = room_for(cg->arena, all_rows_of(k));
    int64_t partials, values, at = 0;
    int t = tensor_of(k, i);
    TeDtype type = partial ? statement(k, i)->rhs->type
                        : te_dtype_compute(cg->te->tensor[t].dtype);
    rprog_stats_at(k->l->p, k->l->r, i, !partial, &partials, &values);
    if (!room.expr) at += partials * room.value;
    if (!row_room.expr) at += values * row_room.value;
    Ir from = ir_add(cg, cg_partials(cg), ir_number(cg, IR_I64, at));
    if (room.expr && partials > 0)
        from = ir_add(cg, from, ir_mul_n(cg, word(k, "PARTS"), partials));
    if (row_room.expr && values > 0)
        from = ir_add(cg, from, ir_mul_n(cg, size_value(cg, row_room), values));
    ir_let(cg, cg_name(cg, name, t),
           ir_view(cg, ir_pointer(ir_compute(type), IR_GLOBAL, false), from));
}

/* ---- what a block leaves ---- */

/* Columns of the block.  */
static Ir own_columns(const Kernel *k) {
    const Cg *cg = k->cg;
    Ir columns = ir_name(cg, ir_type(place_base(k->l->p->extent[AX_N] > INT32_MAX)), "N");
    Ir left = ir_sub(cg, ir_cast(cg, IR_I64, columns), product_first(k, AX_N));
    return ir_min(cg, ir_number(cg, IR_I64, k->l->r->block.extent[AX_N]), left);
}

void stats_leave(Kernel *k, int pass, bool online, Ir row, Ir at) {
    Cg *cg = k->cg;
    Partials p = monoid_pass(cg, facts(k)->group, pass, "acc", NULL);
    Partials mine = monoid_select(&p, online);
    Ir tile = ir_name(cg, ir_type(IR_U32), "tile_n");
    reduce_put(cg, &mine, 0, NULL, reduce_named("left", IR_GLOBAL),
               ir_add_parts(cg, ir_mul(cg, tile, all_rows(k)), row));
    for (int i = 0; i < p.n && !online; i++) {
        const Partial *x = &p.at[i];
        bool second = false;
        for (int j = 0; j < i; j++) second |= p.at[j].follow && p.at[j].center == x->center;
        if (!x->follow || second) continue;
        IrBase type = ir_compute(te_dtype_compute(cg->te->tensor[x->center].dtype));
        Ir base = ir_name(cg, ir_pointer(type, IR_SHARED, false), cg_name(cg, "base", x->center));
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
    TeExtent m = index_extent(cg->arena, &k->l->map, AX_M);
    IrBase base = row_base_of(k);
    Ir by = m.expr ? ir_let_as(cg, base, "M", size_value(cg, m)) : ir_int(cg, m.value);
    Ir batch = ir_let_as(cg, base, "b", ir_div(cg, row, by));
    Ir own = ir_let_as(cg, base, "m", ir_rem(cg, row, by));
    bool wide = place_wide(all_rows_of(k).value, 0);
    place_axis(k, AX_B, batch, wide, k->at.index, k->at.wide);
    place_axis(k, AX_M, own, wide, k->at.index, k->at.wide);
}

ThreadMap stats_map(const Kernel *k) {
    const Cg *cg = k->cg;
    TeExtent tiles = index_tiles(cg->arena, &k->l->map, AX_N);
    Ir columns = word(k, "N"), wide = ir_number(cg, IR_I64, k->l->r->block.extent[AX_N]);
    Ir part = reduce_part(cg);
    if (k->l->kind == KERNEL_CONTRACT)
        return (ThreadMap){.group = facts(k)->group,
                           .stem = "f",
                           .items = rprog_stats_rows(k->cg->dev, k->l->r),
                           .lane = ir_name(k->cg, ir_type(IR_I32), "x"),
                           .count = IR_I32,
                           .threads = 1,
                           .lanes = rprog_stats_lanes(k->cg->dev, k->l->r)};
    return (ThreadMap){.group = facts(k)->group,
                       .stem = "acc",
                       .count = IR_I32,
                       .threads = k->l->r->lanes,
                       .block = k->l->launch.block[0],
                       .total = columns,
                       .n_partial = size_value(cg, tiles),
                       .elements = ir_min(cg, wide, ir_sub(cg, columns, ir_mul(cg, part, wide))),
                       .under_way = RPROG_PARTIALS};
}

void stats_combine(Kernel *k, int pass) {
    Cg *cg = k->cg;
    const RowGroup *g = facts(k)->group;
    ThreadMap map = stats_map(k);
    TeExtent columns = index_extent(cg->arena, &k->l->map, AX_N);
    ir_note(cg, "combine: the parts of pass %d, %d threads to a row", pass, map.threads);
    Partials p = reduction_partials(k, &map, pass);
    stats_count(k);
    if (monoid_counts(&p)) ir_constant(cg, "N", ir_as(cg, IR_I64, size_value(cg, columns)));
    Ir row = place_row(k, map.threads);
    place_indices(k, row);
    map.rank = k->walk.lane;
    map.at = ir_add(cg, ir_mul(cg, reduce_part(cg), all_rows(k)), row);
    for (int i = 0; i < g->n; i++) {
        if (g->role[i] == ROW_REDUCE && g->pass[i] == pass) stats_place_left(k, "left", i, true);
        if (g->role[i] == ROW_MAP || g->pass[i] > pass + (g->role[i] == ROW_SCALAR)) continue;
        stats_place_left(k, "value", i, false);
        int t = tensor_of(k, i);
        IrBase base = ir_compute(te_dtype_compute(cg->te->tensor[t].dtype));
        Ir values = ir_name(cg, ir_pointer(base, IR_GLOBAL, false), cg_name(cg, "value", t));
        if (stats_known(k, i)) k->at.made[t] = ir_element(cg, values, row);
    }
    reduction_combine(k, &map, &p);
    /* Hidden: a pointer that the loops have moved would stand for the places of the values, and one
     * compiler (NVRTC 13.0) takes it for moved less than it is.  */
    Ir at = ir_let_as(cg, IR_I32, "at",
                      ir_call(cg, ir_type(IR_I32), "rl_hidden", 1, ir_as(cg, IR_I32, row)));
    TeExtent rows = all_rows_of(k);
    Ir leads = ir_binary(cg, IR_EQ, k->walk.lane, ir_int(cg, 0));
    Ir end = rows.expr ? all_rows(k) : ir_int(cg, rows.value);
    reduction_values(k, g, pass, ir_both(cg, leads, ir_lt(cg, k->walk.at, end)),
                     &(ReductionKept){IR_GLOBAL, at}, true);
}
