#include "codegen/reduction.h"

/* Statements over rows of a contraction's results, made from the accumulators of a block that has
 * whole rows (their values stay in shared memory) or a part of their columns (parts of the values
 * go to the workspace, stats_partial.c).
 *
 * Names in the text, by number of the tensor: f what a thread folds, one for each of its rows; part
 * what the warps along N made of their columns, as [warp][row]; value the values of rows, base what
 * the terms of an online reduction are made with in the block, left the parts of values that blocks
 * leave in the workspace; r the value of the row at hand.  */

static const StatFacts *facts(const Kernel *k) { return rprog_stats_facts(k->l->p, k->l->r); }

static const TeStmt *statement(const Kernel *k, int i) {
    return &k->cg->te->stmt[facts(k)->group->stmt[i]];
}

static int tensor_of(const Kernel *k, int i) { return statement(k, i)->tensor; }

static bool is_partial(const Kernel *k) { return k->l->r->stats == STATS_PARTIAL; }

static const char *value_type(const Kernel *k, int i) {
    return cg_type(te_dtype_compute(k->cg->te->tensor[tensor_of(k, i)].dtype));
}

/* The reductions of a turn of a pass, folded by a thread for its rows.  */
static Partials partials(const Kernel *k, int pass, bool online) {
    ThreadMap m = stats_map(k);
    Partials all = reduction_partials(k, &m, pass);
    return monoid_select(&all, online);
}

bool stats_meets(const Kernel *k, int i, int pass, bool online) {
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

/* The online reduction of this pass that is made with tensor t; -1: none.  */
static int online_of(const Kernel *k, int t, int pass) {
    const RowGroup *g = facts(k)->group;
    for (int i = 0; i < g->n; i++) {
        if (g->follow[i] && g->pass[i] == pass && g->center[i] == t) return i;
    }
    return -1;
}

bool stats_emits(const Kernel *k, int stmt) {
    if (!k->l->p->stats || stmt == k->l->p->group->root) return !k->at.kept;
    int i = rtile_stat(facts(k), stmt);
    if (k->at.kept && (facts(k)->under >> i & 1)) return false;
    return facts(k)->emits[i] & (is_partial(k) ? (uint64_t)1 << k->l->pass : UINT64_MAX);
}

bool stats_stores(const Kernel *k, int stmt) {
    int t = k->cg->te->stmt[stmt].tensor;
    if (!elements_in_memory(k, t)) return false;
    if (!k->l->p->stats) return true;
    int i = stmt == k->l->p->group->root ? -1 : rtile_stat(facts(k), stmt);
    if (i >= 0 && facts(k)->group->role[i] != ROW_MAP) return false;
    return !is_partial(k) || k->l->pass == (i < 0 ? 0 : facts(k)->group->pass[i]);
}

/* ---- places ---- */

static void place_smem(Kernel *k, const char *type, const char *name, RoomKind room, int i) {
    cg_line(k->cg, "%s *const %s = reinterpret_cast<%s *>(smem + %d);", type,
            cg_name(k->cg, name, tensor_of(k, i)), type,
            (int)rprog_room_at(k->l->layout, room, i));
}

void stats_place(Kernel *k) {
    const RowGroup *g = facts(k)->group;
    cg_line(k->cg, "// rows: where their values lie");
    if (is_partial(k)) stats_count(k);
    for (int i = 0; i < g->n; i++) {
        int t = tensor_of(k, i);
        if (g->role[i] == ROW_MAP) continue;
        if (g->role[i] == ROW_REDUCE && (!is_partial(k) || g->pass[i] == k->l->pass)) {
            place_smem(k, cg_type(statement(k, i)->rhs->type), "part", ROOM_PARTIALS, i);
            if (is_partial(k)) stats_place_left(k, "left", i, true);
        }
        if (!is_partial(k)) {
            place_smem(k, value_type(k, i), "value", ROOM_VALUES, i);
        } else if (stats_known(k, i)) {
            stats_place_left(k, "value", i, false);
        } else if (online_of(k, t, k->l->pass) >= 0) {
            place_smem(k, value_type(k, i), "base", ROOM_VALUES, i);
        }
    }
    cg_blank(k->cg);
}

bool stats_known(const Kernel *k, int i) {
    const RowGroup *g = facts(k)->group;
    int known = is_partial(k) ? k->l->pass : k->at.known;
    return g->role[i] == ROW_REDUCE ? g->pass[i] < known
                                    : g->role[i] == ROW_SCALAR && g->pass[i] <= known;
}

/* The row's number over all batches.  */
static const char *row_number(const Kernel *k) {
    return k->l->p->extent[AX_B] > 1 ? "((long long)b * M + m)" : "m";
}

static bool is_read(const Kernel *k, int t) {
    const RowGroup *g = facts(k)->group;
    for (int i = 0; i < g->n; i++) {
        if (g->role[i] != ROW_SCALAR && access_reads_tensor(statement(k, i)->rhs, t)) return true;
    }
    return false;
}

void stats_rows(Kernel *k) {
    Cg *cg = k->cg;
    if (!k->l->p->stats) return;
    const RowGroup *g = facts(k)->group;
    for (int i = 0; i < g->n; i++) {
        int t = tensor_of(k, i);
        bool base = k->at.online && online_of(k, t, k->l->pass) >= 0;
        if (g->role[i] == ROW_MAP || !(base || stats_known(k, i)) || !is_read(k, t)) continue;
        k->at.made[t] =
            text_value(cg, te_dtype_compute(cg->te->tensor[t].dtype), cg_name(cg, "r", t));
        cg_line(cg, "const %s %s = %s[%s];", value_type(k, i), cg_name(cg, "r", t),
                cg_name(cg, base ? "base" : "value", t),
                base || !is_partial(k) ? "(int)(m - m0)" : row_number(k));
    }
}

/* ---- folds ---- */

/* Rows of a thread in an instruction's tile.  */
static int tile_rows(const Kernel *k) { return fragment_slots(&k->c.matrix.results, FRAG_ROW); }

static const char *thread_row(const Kernel *k) {
    return k->c.matrix.used ? cg_text(k->cg, "i * %d + f", tile_rows(k)) : "i";
}

/* The row of the block that row x of the thread is.  */
static const char *block_row(const Kernel *k) {
    if (!k->c.matrix.used) return "row + x / VM * (LM * VM) + x % VM";
    int rows = tile_rows(k);
    Ir x = ir_rem(k->cg, ir_name(k->cg, ir_type(IR_I32), "x"), ir_int(k->cg, rows));
    Ir slot = fragment_slot_place(k->cg, &k->c.matrix.results, FRAG_ROW, x);
    return cg_text(k->cg, "row + lane_m + x / %d * TM + %s", rows, ir_string_sum(k->cg, slot));
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

static void fold_elements(Kernel *k, int pass, bool online) {
    static const Output nowhere[ROW_MAX_STMTS];
    const RowGroup *g = facts(k)->group;
    Partials all = partials(k, pass, online);
    uint64_t mask = mask_of(k, pass, online);
    for (int i = 0; i < all.n; i++)
        monoid_at(k->cg, &all.at[i], text_index(k->cg, thread_row(k), false));
    int kept = facts(k)->kept, root = k->c.root->tensor;
    for (int i = 0; i < g->n; i++) {
        const TeExpr *e = statement(k, i)->rhs;
        if (mask >> i & 1)
            elements_load_vectors(k, g->stmt[i], g->role[i] == ROW_MAP ? e : e->args[0]);
    }
    elements_open_lanes(k);
    if (k->at.kept) k->at.made[tensor_of(k, kept)] = k->at.root;
    else elements_define(k, root, k->at.root_type, k->at.root);
    elements_statements(k, g, mask, &all, nowhere);
    if (kept >= 0 && (mask >> kept & 1))
        ir_set(k->cg, k->at.root, text_value(k->cg, k->at.root_type,
                                             cg_name(k->cg, "e", tensor_of(k, kept))));
    k->at.made[root] = NULL;
    elements_close_lanes(k);
}

bool stats_is_kept(const Kernel *k, int stmt) {
    return k->at.kept && rtile_stat(facts(k), stmt) == facts(k)->kept;
}

/* What an array of n elements leaves of its last 16 bytes: the compiler joins reads of neighbours,
 * and then reads that, too.  */
static void clear_rest(Kernel *k, const char *name, int t, int n, int bytes) {
    enum { WIDEST = RTILE_ACCESS };
    int rest = (WIDEST - n * bytes % WIDEST) % WIDEST / bytes;
    if (rest > 0) cg_line(k->cg, "if (tid < %d) %s[%d + tid] = 0;", rest,
                          cg_name(k->cg, name, t), n);
}

static void clear_rests(Kernel *k) {
    const RowGroup *g = facts(k)->group;
    int rows = k->l->r->block.extent[AX_M];
    for (int i = 0; i < g->n; i++) {
        const TeStmt *s = statement(k, i);
        int bytes = te_dtype_bytes(te_dtype_compute(k->cg->te->tensor[s->tensor].dtype));
        bool base = is_partial(k) && online_of(k, s->tensor, k->l->pass) >= 0;
        if (g->role[i] == ROW_MAP) continue;
        if (g->role[i] == ROW_REDUCE && (!is_partial(k) || g->pass[i] == k->l->pass))
            clear_rest(k, "part", s->tensor, rows * k->c.warps[AX_N],
                       te_dtype_bytes(s->rhs->type));
        if (base || !is_partial(k)) clear_rest(k, base ? "base" : "value", s->tensor, rows, bytes);
    }
}

/* Has the walk of this pass put the map that is held in place of the results?  */
static bool holds(const Kernel *k, int pass) {
    int i = facts(k)->kept;
    return i >= 0 && (facts(k)->folds[i] >> pass & 1);
}

void stats_walk(Kernel *k, int pass, bool online) {
    Cg *cg = k->cg;
    Partials p = partials(k, pass, online);
    int rows = rprog_stats_rows(cg->dev, k->l->r), vec = k->l->r->vec_n;
    while (k->l->p->multiple[AX_N] % vec) vec /= 2;
    cg_line(cg, "// pass %d over the rows%s", pass, online ? ", online reductions" : "");
    reduce_clear(cg, &p, rows);
    cg_scope(cg);
    k->at.walk = vec;
    k->at.online = online;
    elements_contract(k);
    fold_elements(k, pass, online);
    elements_end(k);
    k->at.walk = 0;
    k->at.online = false;
    k->at.kept |= holds(k, pass);
    cg_close(cg);
}

/* ---- meetings ---- */

static const ReduceArrays part = {"part", IR_SHARED};

/* One lane of a row leaves what the warp has made.  */
static void leave_warps(Kernel *k, const ThreadMap *m, const Partials *p) {
    Cg *cg = k->cg;
    cg_open(cg, "if ((lane & %d) == 0)", m->lanes);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int x = 0; x < %d; x++)", m->items);
    const char *at = cg_text(cg, "col / WN * BM + %s", block_row(k));
    reduce_put(cg, p, 0, NULL, part, text_index(cg, at, false));
    cg_close(cg);
    cg_close(cg);
}

static Ir value_of(const Cg *cg, int t) {
    return text_value(cg, te_dtype_compute(cg->te->tensor[t].dtype),
                      cg_text(cg, "%s[at]", cg_name(cg, "value", t)));
}

/* Values of the rows of a block that has all of their columns.  */
static void finish_rows(Kernel *k, int pass) {
    Cg *cg = k->cg;
    const RowGroup *g = facts(k)->group;
    const Contraction *con = &k->l->p->con;
    Elements *at = &k->at;
    for (int i = 0; i < g->n; i++) {
        int t = tensor_of(k, i);
        if (g->role[i] != ROW_MAP)
            at->made[t] = stats_known(k, i) ? value_of(cg, t) : NULL;
    }
    place_axis(k, AX_B, text_index(cg, "b", false), false, at->index, at->wide);
    bool wide = place_wide(con->axis[AX_M].extent, 0);
    place_axis(k, AX_M, text_index(cg, "m", wide), wide,
                 at->index, at->wide);
    ReductionKept kept = {IR_SHARED, ir_name(cg, ir_type(IR_I32), "at")};
    reduction_values(k, g, pass, NULL, &kept, true);
}

bool stats_followed(const Problem *p, const RProg *r, int pass, bool online) {
    const StatFacts *f = rprog_stats_facts(p, r);
    if (r->stats == STATS_PARTIAL) return !online && stats_any_online(p, r, pass);
    return pass + 1 < f->group->n_pass || f->any_stored;
}

void stats_lanes(Kernel *k, int pass, bool online) {
    ThreadMap map = stats_map(k);
    Partials mine = partials(k, pass, online);
    reduction_meet(k, &map, &mine, NULL);
}

void stats_put(Kernel *k, int pass, bool online) {
    ThreadMap map = stats_map(k);
    Partials mine = partials(k, pass, online);
    if (!k->at.met) clear_rests(k);
    k->at.met = true;
    leave_warps(k, &map, &mine);
}

/* Those that have results.  */
static const char *all_computing(const Kernel *k) {
    return k->c.ring ? cg_text(k->cg, "%d", rprog_computing(k->cg->dev, k->l->r)) : "THREADS";
}

void stats_finish(Kernel *k, int pass, bool online) {
    Cg *cg = k->cg;
    const Problem *p = k->l->p;
    const char *type = place_type(place_wide(p->extent[AX_M], k->l->r->block.extent[AX_M]));
    ThreadMap map = stats_map(k);
    cg_line(cg, "#pragma unroll 1");
    cg_open(cg, "for (int at = tid; at < BM; at += %s)", all_computing(k));
    cg_line(cg, "const %s m = m0 + at;", type);
    if (index_ragged(&k->l->map, AX_M)) cg_line(cg, "if (m >= M) break;");
    Partials all = monoid_pass(cg, map.group, pass, "acc", NULL), acc = monoid_select(&all, online);
    reduce_clear(cg, &acc, 0);
    reduce_gather(cg, &acc, 0, &(ReducePartial){part, NULL, text_index(cg, "s * BM + at", false)},
                  (ReduceRange){ir_int(cg, 0), ir_int(cg, k->c.warps[AX_N]), 1});
    if (is_partial(k)) stats_leave(k, pass, online, row_number(k));
    else finish_rows(k, pass);
    cg_close(cg);
    k->at.known = is_partial(k) ? pass : pass + 1;
}
