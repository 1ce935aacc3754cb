#include "codegen/reduction.h"
#include "codegen/sizes.h"

/* Rows whose columns lie in several blocks: what a block leaves of them, and the kernel that makes
 * their values of it.  Parts meet as slices of a row do.  */

static const StatFacts *facts(const Kernel *k) { return rprog_stats_facts(k->l->p, k->l->r); }

static const TeStmt *statement(const Kernel *k, int i) {
    return &k->cg->te->stmt[facts(k)->group->stmt[i]];
}

static int tensor_of(const Kernel *k, int i) { return statement(k, i)->tensor; }

/* Rows over all batches.  */
static TeExtent count_rows(Arena *a, const IndexMap *m) {
    return size_times(a, index_extent(a, m, AX_B), index_extent(a, m, AX_M));
}

static TeExtent rows_of(const Kernel *k) { return count_rows(k->cg->arena, &k->l->map); }

static const char *rows_text(const Kernel *k) {
    TeExtent rows = rows_of(k);
    return rows.expr ? "ROWS" : cg_text(k->cg, "%lldll", (long long)rows.value);
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
    TeExtent rows = rows_of(k), partials = partials_room(k->cg->arena, &k->l->map);
    if (rows.expr) cg_line(k->cg, "const long long ROWS = %s;", text_number(k->cg, rows));
    if (partials.expr) cg_line(k->cg, "const long long PARTS = %s;", text_number(k->cg, partials));
}

void stats_place_left(Kernel *k, const char *name, int i, bool partial) {
    Cg *cg = k->cg;
    TeExtent room = partials_room(cg->arena, &k->l->map);
    TeExtent row_room = room_for(cg->arena, rows_of(k));
    int64_t partials, values, at = 0;
    int t = tensor_of(k, i);
    TeDtype type = partial ? statement(k, i)->rhs->type
                        : te_dtype_compute(cg->te->tensor[t].dtype);
    rprog_stats_at(k->l->p, k->l->r, i, !partial, &partials, &values);
    if (!room.expr) at += partials * room.value;
    if (!row_room.expr) at += values * row_room.value;
    const char *more = room.expr && partials > 0 ? cg_text(cg, " + PARTS * %lld",
                                                           (long long)partials)
                                              : "";
    if (row_room.expr && values > 0)
        more = cg_text(cg, "%s + %s * %lld", more, text_number(cg, row_room), (long long)values);
    cg_line(cg, "%s *const %s = reinterpret_cast<%s *>(%s + %lldll%s);", cg_type(type),
            cg_name(cg, name, t), cg_type(type), text_partials(cg), (long long)at, more);
}

/* ---- what a block leaves ---- */

void stats_leave(Kernel *k, int pass, bool online, const char *row) {
    Cg *cg = k->cg;
    Partials p = monoid_pass(cg, facts(k)->group, pass, "acc", NULL);
    Partials mine = monoid_select(&p, online);
    reduce_put(cg, &mine, 0, NULL, (ReduceArrays){"left", IR_GLOBAL},
               text_index(cg, cg_text(cg, "tile_n * %s + %s", rows_text(k), row), true));
    for (int i = 0; i < p.n && !online; i++) {
        const Partial *x = &p.at[i];
        bool second = false;
        for (int j = 0; j < i; j++) second |= p.at[j].follow && p.at[j].center == x->center;
        if (!x->follow || second) continue;
        cg_line(cg, "%s[at] = %s;", cg_name(cg, "base", x->center),
                text_of(cg, monoid_center(cg, x, p.at[x->leader].value,
                                          text_index(cg, "min((long long)BN, (long long)N - n0)",
                                                     true))));
    }
}

/* ---- the values of rows ---- */

/* The row of the thread and its neighbours; those beyond the last one take that as theirs.  */
static void place_row(Kernel *k, int lanes, bool shifts) {
    Cg *cg = k->cg;
    TeExtent rows = rows_of(k), m = index_extent(cg->arena, &k->l->map, AX_M);
    TeExtent n = index_extent(cg->arena, &k->l->map, AX_N);
    const char *type = place_type(place_wide(rows.value, k->l->launch.block[0]));
    if (shifts)
        cg_line(cg, "%s long long N = %s;", n.expr ? "const" : "constexpr", text_number(cg, n));
    cg_line(cg, "const int lane = threadIdx.x %% %du;", (unsigned)lanes);
    cg_line(cg, "const %s id = (%s)blockIdx.x * %d + threadIdx.x / %du;", type, type,
            k->l->launch.block[0] / lanes, (unsigned)lanes);
    cg_line(cg, "const %s row = min(id, (%s)%s);", type, type,
            rows.expr ? "(ROWS - 1)" : cg_text(cg, "%lld", (long long)rows.value - 1));
    if (m.expr) cg_line(cg, "const %s M = %s;", type, text_number(cg, m));
    const char *by = m.expr ? "M" : cg_text(cg, "%lld", (long long)m.value);
    cg_line(cg, "const %s b = row / %s, m = row %% %s;", type, by, by);
    bool wide = place_wide(rows.value, 0);
    place_axis(k, AX_B, text_index(cg, "b", wide), wide, k->at.index, k->at.wide);
    place_axis(k, AX_M, text_index(cg, "m", wide), wide, k->at.index, k->at.wide);
}

static Ir word(const Kernel *k, const char *text) { return text_index(k->cg, text, true); }

ThreadMap stats_map(const Kernel *k) {
    int wide = k->l->r->block.extent[AX_N];
    TeExtent tiles = index_tiles(k->cg->arena, &k->l->map, AX_N);
    const char *count = cg_text(k->cg, "min(%dll, (long long)N - s * %dll)", wide, wide);
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
                       .total = word(k, "N"),
                       .rank = word(k, "lane"),
                       .n_partial = size_value(k->cg, tiles),
                       .at = word(k, cg_text(k->cg, "s * %s + row", rows_text(k))),
                       .elements = word(k, count)};
}

void stats_combine(Kernel *k, int pass) {
    Cg *cg = k->cg;
    const RowGroup *g = facts(k)->group;
    ThreadMap map = stats_map(k);
    cg_line(cg, "// combine: the parts of pass %d, %d threads to a row", pass, map.threads);
    Partials p = reduction_partials(k, &map, pass);
    stats_count(k);
    place_row(k, map.threads, monoid_counts(&p));
    for (int i = 0; i < g->n; i++) {
        if (g->role[i] == ROW_REDUCE && g->pass[i] == pass) stats_place_left(k, "left", i, true);
        if (g->role[i] == ROW_MAP || g->pass[i] > pass + (g->role[i] == ROW_SCALAR)) continue;
        stats_place_left(k, "value", i, false);
        int t = tensor_of(k, i);
        if (stats_known(k, i))
            k->at.made[t] = text_value(cg, te_dtype_compute(cg->te->tensor[t].dtype),
                                       cg_text(cg, "%s[row]", cg_name(cg, "value", t)));
    }
    reduction_combine(k, &map, &p);
    /* Hidden: a pointer that the loops have moved would stand for the places of the values, and one
     * compiler (NVRTC 13.0) takes it for moved less than it is.  */
    cg_line(cg, "const int at = rl_hidden((int)row);");
    TeExtent rows = rows_of(k);
    const char *end = rows.expr ? "ROWS" : cg_text(cg, "%lld", (long long)rows.value);
    reduction_values(k, g, pass, word(k, cg_text(cg, "lane == 0 && id < %s", end)),
                     &(ReductionKept){IR_GLOBAL, ir_name(cg, ir_type(IR_I32), "at")}, true);
}
