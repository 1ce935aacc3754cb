#include "codegen/elements/stats.h"

/* Statements over rows of a contraction's results, made from the accumulators of a block that has
 * whole rows (their values stay in shared memory) or a part of their columns (parts of the values
 * go to the workspace, stats_partial.c), or goes along them in turns, whose walks fold rows one by
 * one (stats_turn).
 *
 * Names in the text, by number of the tensor: f what a thread folds, one for each of its rows; part
 * what the warps along N made of their columns, as [warp][row]; value the values of rows, base what
 * the terms of an online reduction are made with in the block, left the parts of values that blocks
 * leave in the workspace; r the value of the row at hand.  */

/* The reductions of a turn of a pass, folded by a thread for its rows.  */
static Partials partials(const Kernel *k, int pass, bool online) {
    Partials all = monoid_pass(k->cg, facts(k)->group, pass, MONOID_ROWS, k->var.x);
    return monoid_select(&all, online);
}

static bool stats_meets(const Kernel *k, int i, int pass, bool online) {
    const RowGroup *g = facts(k)->group;
    return g->role[i] == ROW_REDUCE && g->pass[i] == pass &&
        (g->follow[i] != FOLLOW_NONE) == online;
}

bool stats_any_online(const Problem *p, const RProg *r, int pass) {
    const RowGroup *g = rprog_stats_facts(p, r)->group;
    for (int i = 0; i < g->n; i++) {
        if (g->follow[i] && g->pass[i] == pass) return true;
    }
    return false;
}

/* ---- places ---- */

static void place_smem(Kernel *k, IrBase base, MonoidVariable what, RoomKind kind, int i) {
    const Room *room = rprog_room(k->l->layout, kind, i);
    Ir at = ir_int(k->cg, room->at);
    if (room->shares > 1)
        at = ir_add(k->cg, at, ir_mul(k->cg, k->teams.own, ir_int(k->cg, room->share)));
    Ir to = monoid_variable(k->cg, what, tensor_of(k, i),
                            ir_pointer(base, IR_SHARED, false));
    ir_define(k->cg, to, smem_at(k, base, false, at));
}

void stats_place(Kernel *k) {
    const RowGroup *g = facts(k)->group;
    ir_note(k->cg, "rows: where their values lie");
    if (is_partial(k)) stats_count(k);
    for (int i = 0; i < g->n; i++) {
        int t = tensor_of(k, i);
        if (g->role[i] == ROW_MAP) continue;
        if (g->role[i] == ROW_REDUCE && (!is_partial(k) || g->pass[i] == k->l->pass)) {
            place_smem(k, ir_compute(statement(k, i)->rhs->type), MONOID_PART, ROOM_PARTIALS, i);
            if (is_partial(k)) stats_place_left(k, MONOID_LEFT, i, true);
        }
        if (!is_partial(k)) {
            place_smem(k, value_base(k, t), MONOID_VALUES, ROOM_VALUES, i);
        } else if (stats_known(k, i)) {
            stats_place_left(k, MONOID_VALUES, i, false);
        } else if (stats_online(k, t, k->l->pass) >= 0) {
            place_smem(k, value_base(k, t), MONOID_CENTERS, ROOM_VALUES, i);
        }
    }
    ir_simple(k->cg, IR_STMT_BLANK);
}

/* Threads that have results of the tile, and the number of this one among them.  */
static int tile_threads(const Kernel *k) {
    const RProg *r = k->task->r;
    return k->c->ring ? rprog_computing(k->cg->dev, r) / rprog_in_turn(r) : r->threads;
}

static Ir tile_thread(const Kernel *k) {
    Ir tid = k->var.tid;
    return k->teams.own ? ir_rem(k->cg, tid, ir_int(k->cg, tile_threads(k))) : tid;
}

/* ---- folds ---- */

/* Rows of a thread in an instruction's tile.  */
static int tile_rows(const Kernel *k) { return fragment_slots(&k->c->matrix.results, FRAG_ROW); }

static Ir thread_row(const Kernel *k) {
    Ir i = k->var.i;
    if (!k->c->matrix.used) return i;
    return ir_add(k->cg, ir_mul_n(k->cg, i, tile_rows(k)), k->var.f);
}

/* The row of the block that row x of the thread is.  */
static Ir block_row(const Kernel *k, Ir x) {
    const Cg *cg = k->cg;
    bool matrix = k->c->matrix.used;
    int vec = matrix ? tile_rows(k) : k->task->r->vec_m;
    int from = matrix ? k->task->r->thread.extent[AX_M] : k->c->lanes[AX_M] * vec;
    Ir part = ir_mul_n(cg, ir_div(cg, x, ir_int(cg, vec)), from);
    Ir within = ir_rem(cg, x, ir_int(cg, vec)), row = k->var.row;
    if (matrix) {
        row = ir_add(cg, row, k->var.lane_m);
        within = fragment_slot_place(cg, &k->c->matrix.results, FRAG_ROW, within);
    }
    return ir_add_parts(cg, ir_add(cg, row, part), within);
}

static void at_row(const Kernel *k, Partials *p) {
    for (int i = 0; i < p->n; i++) monoid_at(k->cg, &p->at[i], thread_row(k));
}

/* The statements that a turn of a walk evaluates, but for a map that is held.  */
static uint64_t mask_of(const Kernel *k, int pass, bool online) {
    const RowGroup *g = facts(k)->group;
    uint64_t mask = 0;
    for (int i = 0; i < g->n; i++) {
        bool map = g->role[i] == ROW_MAP;
        if (k->at.kept && (i == facts(k)->kept || (facts(k)->under >> i & 1))) continue;
        if (map ? facts(k)->folds[i] >> pass & 1 : stats_meets(k, i, pass, online))
            mask |= (uint64_t)1 << i;
    }
    return mask;
}

static void fold_elements(Kernel *k, const Partials *all, int pass, bool online) {
    static const Output nowhere[ROW_MAX_STMTS];
    const RowGroup *g = facts(k)->group;
    uint64_t mask = mask_of(k, pass, online);
    int kept = facts(k)->kept, root = k->c->root->tensor;
    for (int i = 0; i < g->n; i++) {
        const TeExpr *e = statement(k, i)->rhs;
        if (mask >> i & 1)
            elements_load_vectors(k, g->stmt[i], g->role[i] == ROW_MAP ? e : e->args[0]);
    }
    elements_open_lanes(k);
    if (k->at.kept) k->at.made[tensor_of(k, kept)] = k->at.root;
    else elements_define(k, root, k->at.root_type, k->at.root);
    elements_statements(k, g, mask, all, nowhere);
    if (kept >= 0 && (mask >> kept & 1))
        ir_set(k->cg, k->at.root, k->at.made[tensor_of(k, kept)]);
    elements_forget(k, g);
    k->at.made[root] = NULL;
    elements_close_lanes(k);
}

/* What an array of n elements leaves of its last 16 bytes: the compiler joins reads of neighbours,
 * and then reads that, too.  */
static void clear_rest(Kernel *k, Ir array, int n) {
    enum { WIDEST = RTILE_ACCESS };
    Cg *cg = k->cg;
    int bytes = ir_bytes((IrBase)array->type.base);
    int rest = (WIDEST - n * bytes % WIDEST) % WIDEST / bytes;
    Ir tid = tile_thread(k);
    if (rest == 0) return;
    ir_if(cg, ir_lt(cg, tid, ir_int(cg, rest)));
    ir_set(cg, ir_element(cg, array, ir_add(cg, ir_int(cg, n), tid)), ir_int(cg, 0));
    ir_close(cg);
}

/* What the warps made of reduction i.  */
static Ir parts_of(const Kernel *k, int i) {
    IrBase base = ir_compute(statement(k, i)->rhs->type);
    return monoid_variable(k->cg, MONOID_PART, tensor_of(k, i),
                           ir_pointer(base, IR_SHARED, false));
}

void stats_clear_rests(Kernel *k) {
    const RowGroup *g = facts(k)->group;
    int rows = rows_of(k);
    for (int i = 0; i < g->n; i++) {
        int t = tensor_of(k, i);
        bool base = is_partial(k) && stats_online(k, t, k->l->pass) >= 0;
        if (g->role[i] == ROW_MAP) continue;
        if (g->role[i] == ROW_REDUCE && (!is_partial(k) || g->pass[i] == k->l->pass))
            clear_rest(k, parts_of(k, i), rows * k->c->warps[AX_N]);
        if (base || !is_partial(k))
            clear_rest(k, values_of(k, base ? MONOID_CENTERS : MONOID_VALUES, IR_SHARED, t), rows);
    }
}

/* Has the walk of this pass put the map that is held in place of the results?  */
static bool holds(const Kernel *k, int pass) {
    int i = facts(k)->kept;
    return i >= 0 && (facts(k)->folds[i] >> pass & 1);
}

/* Neighbours that are folded at a time.  */
static int walk_width(const Kernel *k) {
    int vec = k->task->r->vec_n;
    while (k->task->p->multiple[AX_N] % vec) vec /= 2;
    return vec;
}

void stats_walk(Kernel *k, int pass, bool online) {
    Cg *cg = k->cg;
    Partials p = partials(k, pass, online);
    int rows = rprog_stats_rows(cg->dev, k->task->r);
    ir_note(cg, "pass %d over the rows%s", pass, online ? ", online reductions" : "");
    reduce_clear(cg, &p, rows);
    ir_scope(cg);
    k->at.walk = walk_width(k);
    k->at.online = online;
    elements_begin(k);
    elements_place_outputs(k);
    elements_open_outputs(k);
    elements_indices(k);
    at_row(k, &p);
    fold_elements(k, &p, pass, online);
    elements_end(k);
    k->at.walk = 0;
    k->at.online = false;
    k->at.kept |= holds(k, pass);
    ir_close(cg);
}

/* ---- rows in turns ---- */

static Partials turn_partials(const Kernel *k, int pass) {
    Partials p = monoid_pass(k->cg, facts(k)->group, pass, MONOID_ROWS, k->var.x);
    p.count = IR_I32;
    return p;
}

void stats_clear(Kernel *k, const Node *n) {
    Partials p = turn_partials(k, n->to);
    ir_note(k->cg, "pass %d: what the thread holds of its rows", n->to);
    reduce_clear(k->cg, &p, rprog_stats_rows(k->cg->dev, k->task->r));
}

/* The columns of the row at hand.  */
static void fold_row(Kernel *k, const Partials *p, int pass, bool online) {
    Partials own = monoid_select(p, online);
    int outer = k->at.open;
    if (own.n == 0) return;
    elements_open_columns(k);
    elements_indices(k);
    fold_elements(k, &own, pass, online);
    for (; k->at.open > outer; k->at.open--) ir_close(k->cg);
    k->at.kept |= holds(k, pass);
}

void stats_turn(Kernel *k, int pass) {
    Cg *cg = k->cg;
    Partials p = turn_partials(k, pass);
    int deep = rprog_stats_columns(cg->dev, k->task->r);
    ir_note(cg, "pass %d over the rows: columns of the turn", pass);
    ir_scope(cg);
    k->at.walk = walk_width(k);
    elements_begin(k);
    elements_place_outputs(k);
    elements_open_rows(k);
    at_row(k, &p);
    reduction_step(k, &p, deep, fold_row, pass);
    elements_end(k);
    k->at.walk = 0;
    if (monoid_counts(&p))
        ir_update(cg, IR_ADD, monoid_counted(cg, MONOID_SEEN, p.count), ir_int(cg, deep));
    ir_close(cg);
}

/* ---- meetings ---- */

/* One lane of a row leaves what the warp has made; rows are dealt out to all threads, which add the
 * warps' parts.  */
ThreadMap stats_map(const Kernel *k, const Node *n) {
    (void)n;
    const Cg *cg = k->cg;
    const RProg *r = k->task->r;
    int lanes = rprog_stats_lanes(cg->dev, r);
    Ir own = ir_binary(cg, IR_AND, k->var.lane, ir_int(cg, lanes));
    Ir warp = ir_div(cg, k->var.col, ir_int(cg, r->warp.extent[AX_N]));
    Ir end = ir_int(cg, k->c->warps[AX_N]);
    Ir seen = is_turned(k) ? ir_div(cg, product_extent(k, AX_N), end) : NULL;
    Meeting meeting = {.parts = k->c->warps[AX_N],
                       .leaves = ir_binary(cg, IR_EQ, own, ir_int(cg, 0)),
                       .at = ir_add_parts(cg, ir_mul_n(cg, warp, rows_of(k)),
                                          block_row(k, k->var.x)),
                       .scattered = true,
                       .part = k->var.s,
                       .elements = seen,
                       .from = ir_mul_n(cg, k->var.s, rows_of(k)),
                       .under_way = RPROG_PARTIALS,
                       .take = {{.into = MONOID_HELD, .end = end}},
                       .n_take = 1};
    return (ThreadMap){.group = facts(k)->group,
                       .held = MONOID_ROWS,
                       .items = rprog_stats_rows(cg->dev, r),
                       .lane = k->var.x,
                       .count = IR_I32,
                       .threads = 1,
                       .lanes = lanes,
                       .seen = seen,
                       .apart = !is_turned(k),
                       .meeting = meeting};
}

/* Values of the rows of a block that has all of their columns; one of a cluster that has none makes
 * those of nothing, and leaves none.  */
static void finish_rows(Kernel *k, int pass, Ir row) {
    Cg *cg = k->cg;
    const RowGroup *g = facts(k)->group;
    const Contraction *con = &k->task->p->con;
    Elements *at = &k->at;
    for (int i = 0; i < g->n; i++) {
        int t = tensor_of(k, i);
        if (g->role[i] != ROW_MAP)
            at->made[t] = stats_known(k, i)
                              ? ir_element(cg, values_of(k, MONOID_VALUES, IR_SHARED, t), row)
                              : NULL;
    }
    place_axis(k, AX_B, k->var.b, false, at->index, at->wide);
    bool wide = place_wide(con->axis[AX_M].extent, 0);
    place_axis(k, AX_M, k->var.m, wide, at->index, at->wide);
    ReductionKept kept = {IR_SHARED, row, NULL};
    if (index_spare(&k->task->map, AX_N))
        kept.stores = ir_lt(cg, product_first(k, AX_N), product_extent(k, AX_N));
    reduction_values(k, g, pass, NULL, &kept, true);
}

bool stats_followed(const Problem *p, const RProg *r, int pass, bool online) {
    const StatFacts *f = rprog_stats_facts(p, r);
    if (r->stats == STATS_PARTIAL) return !online && stats_any_online(p, r, pass);
    return pass + 1 < f->group->n_pass || f->any_stored;
}

/* What the warps' parts join; in turns the thread has counted columns of its own before.  */
static void clear_taken(Kernel *k, const Partials *acc) {
    Cg *cg = k->cg;
    if (!is_turned(k) || !monoid_counts(acc)) {
        reduce_clear(cg, acc, 0);
        return;
    }
    for (int i = 0; i < acc->n; i++) monoid_declare(cg, &acc->at[i], 0);
    ir_set(cg, monoid_counted(cg, MONOID_SEEN, acc->count), ir_int(cg, 0));
}

void stats_finish(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    ThreadMap map = stats_map(k, n);
    int pass = n->from;
    bool online = n->to == MEET_ONLINE;
    int rows = rows_of(k);
    Ir at = ir_for(cg, "at", tile_thread(k), ir_int(cg, rows), tile_threads(k), 1);
    Ir m = k->var.m =
        ir_let_as(cg, place_along_base(k, AX_M), "m", ir_add(cg, product_first(k, AX_M), at));
    if (index_ragged(&k->task->map, AX_M)) {
        ir_if(cg, ir_binary(cg, IR_GE, m, product_extent(k, AX_M)));
        ir_simple(cg, IR_STMT_BREAK);
        ir_close(cg);
    }
    Partials all = monoid_pass(cg, map.group, pass, MONOID_HELD, NULL);
    Partials acc = is_turned(k) ? all : monoid_select(&all, online);
    acc.count = map.count;
    clear_taken(k, &acc);
    map.items = 0;
    map.lane = NULL;
    map.meeting.from = ir_add(cg, map.meeting.from, at);
    meeting_take(k, &map, n);
    if (is_turned(k)) reduction_settle(k, &map, &acc);
    if (is_partial(k)) stats_leave(k, pass, online, stats_row(k), at);
    else finish_rows(k, pass, at);
    ir_close(cg);
    k->at.known = is_partial(k) ? pass : pass + 1;
}
