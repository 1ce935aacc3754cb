#include "codegen/block/product.h"
#include "codegen/emit/emit.h"

/* Nodes become statements, each kind in one place.  What an attribute says is made here; for the
 * rest the building block of what the node is about is asked.  */

static void make_nodes(Kernel *k, const Node *first);

const KernelRow *kernel_row_of(KernelKind kind) {
    static const KernelRow *const rows[] = {
#define X(id, name, text) &kernel_##name,
        KERNEL_KINDS(X)
#undef X
    };
    return rows[kind];
}

static const KernelRow *row_of(const Kernel *k) { return kernel_row_of(k->l->kind); }

/* ---- loops, conditions, roles ---- */

/* Each team has a turn in each step.  */
static void take_turns(Kernel *k, Ir step, Ir steps) {
    Cg *cg = k->cg;
    Teams *t = &k->teams;
    Ir last = ir_number(cg, IR_U32, t->n - 1);
    t->again = ir_binary(cg, IR_EITHER, ir_binary(cg, IR_GT, step, ir_int(cg, 0)),
                         ir_binary(cg, IR_GT, t->own, ir_number(cg, IR_U32, 0)));
    t->follows = ir_binary(cg, IR_EITHER, ir_lt(cg, ir_add_n(cg, step, 1), steps),
                           ir_lt(cg, t->own, last));
}

/* Tested at its end: where a test stands at the beginning, too, the front end forgets that short
 * loops are not to be unrolled.  */
static void make_steps(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    if (n->loop.unroll == IR_UNROLL_ALL) {
        k->var.step = ir_count(cg, n->loop.var, n->loop.count, IR_UNROLL_ALL);
        make_nodes(k, n->child);
        ir_close(cg);
        return;
    }
    Ir step = k->var.step = ir_variable(cg, IR_I32, n->loop.var, ir_int(cg, 0));
    Ir steps = k->var.steps;
    if (n->loop.less) steps = ir_sub(cg, steps, ir_int(cg, n->loop.less));
    ir_until_begin(cg, 1);
    if (n->loop.in_turn) take_turns(k, step, steps);
    make_nodes(k, n->child);
    ir_until_count(cg, step, steps);
}

static void make_counted(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    const Loop *l = &n->loop;
    Ir end = l->warp_k ? product_size(k, 'W', AX_K) : ir_int(cg, l->count * l->by);
    Ir var = ir_for(cg, l->var, ir_int(cg, 0), end, l->by, l->unroll);
    *(l->of == TURNS_STEPS ? &k->var.step : &k->var.body) = var;
    make_nodes(k, n->child);
    ir_close(cg);
}

static void make_rows(Kernel *k, const Node *n) {
    int open = mma_open_rows(k, n->from);
    make_nodes(k, n->child);
    for (; open > 0; open--) ir_close(k->cg);
}

static void make_outer(Kernel *k, const Node *n) {
    int loops = window_open_outer(k);
    make_nodes(k, n->child);
    for (; loops > 0; loops--) ir_close(k->cg);
}

static void make_teams(Kernel *k, const Node *n) {
    Teams before = k->teams;
    int teams = (int)n->loop.count;
    k->teams = (Teams){.n = teams, .own = ir_count(k->cg, "team", teams, IR_UNROLL_ALL)};
    make_nodes(k, n->child);
    ir_close(k->cg);
    k->teams = before;
}

/* What a tile defines is known to it alone.  */
static void make_tiles(Kernel *k, const Node *n) {
    const Variables before = k->var;
    if (n->from) reduce_tail_stays(k);
    else ring_open_tiles(k, n);
    make_nodes(k, n->child);
    if (n->from) ir_close(k->cg);
    else ring_close_tiles(k, n);
    k->var = before;
}

/* Likewise a turn along columns.  */
static void make_columns(Kernel *k, const Node *n) {
    const Variables before = k->var;
    const Teams teams = k->teams;
    ring_open_columns(k, n);
    make_nodes(k, n->child);
    ring_close_columns(k);
    k->var = before;
    k->teams = teams;
}

/* What is done at outputs, of a row in its loops.  */
static void make_elements(Kernel *k, const void *of) {
    const Node *n = of;
    int outer = k->at.open;
    bool in_row = k->at.in_row;
    if (in_row) elements_open_row(k);
    make_nodes(k, n->child);
    for (; k->at.open > outer; k->at.open--) ir_close(k->cg);
    k->at.in_row = in_row;
}

static void make_loop(Kernel *k, const Node *n) {
    switch ((LoopWhat)n->what) {
    case LOOP_COUNTED: make_counted(k, n); return;
    case LOOP_STEPS: make_steps(k, n); return;
    case LOOP_ROWS: make_rows(k, n); return;
    case LOOP_FOLD: row_of(k)->fold(k); return;
    case LOOP_TEAMS: make_teams(k, n); return;
    case LOOP_OUTER: make_outer(k, n); return;
    case LOOP_WALK: row_of(k)->walk(k, n); return;
    case LOOP_COLUMNS: make_columns(k, n); return;
    case LOOP_TILES:
        make_tiles(k, n);
        return;
    case LOOP_SCAN:
        scan_open_steps(k);
        make_nodes(k, n->child);
        ir_close(k->cg);
        return;
    case LOOP_SEGMENTS:
        reduce_tail_segments(k);
        make_nodes(k, n->child);
        ir_close(k->cg);
        return;
    case LOOP_OUTPUTS: row_of(k)->elements(k, n); break;
    case LOOP_VECTORS: mma_open_vectors(k, n->from); break;
    case LOOP_COUNT: return;
    }
    divide_either(k, k->at.in_row ? k->at.divides : NULL, k->at.inverses, make_elements, n);
    k->at.in_row = false;
    elements_end(k);
}

/* The test that step + ahead of the block's steps is there.  */
static Ir left(const Kernel *k, const Node *n) {
    const Cg *cg = k->cg;
    Ir at = n->name ? k->var.step : ir_int(cg, 0);
    return ir_lt(cg, ir_add_n(cg, at, n->ahead), k->var.steps);
}

/* One thread of a warp.  */
static Ir elected(const Kernel *k, int warp) {
    const Cg *cg = k->cg;
    Ir own = ir_binary(cg, IR_EQ, k->var.warp,
                       ir_number(cg, IR_U32, warp));
    return ir_both(cg, own, ir_call(cg, ir_type(IR_BOOL), "rl_elect", 0));
}

static Ir condition(const Kernel *k, const Node *n) {
    const Cg *cg = k->cg;
    Ir zero = ir_int(cg, 0);
    switch (n->when) {
    case WHEN_STEPS: return ir_binary(cg, IR_GT, k->var.steps, zero);
    case WHEN_LEFT: return left(k, n);
    case WHEN_MORE: return k->more;
    case WHEN_LAST: return ir_binary(cg, IR_EQ, k->var.next, product_size(k, 'W', AX_K));
    case WHEN_CUT: return chain_turn_cut(k, n);
    case WHEN_WHOLE: return ir_binary(cg, IR_EQ, k->var.steps, ir_int(cg, k->c->steps));
    case WHEN_PARTIAL: return ir_binary(cg, IR_LT, k->var.steps, ir_int(cg, k->c->steps));
    case WHEN_UPPER: return ir_binary(cg, IR_GT, k->var.k_warp, zero);
    case WHEN_LATER: return ir_binary(cg, IR_GT, n->name ? k->var.step : k->var.i, zero);
    case WHEN_HALF:
        return ir_binary(cg, IR_EQ, k->var.step, ir_div(cg, k->var.steps, ir_int(cg, 2)));
    case WHEN_FIRST: return ir_binary(cg, IR_EQ, k->var.number, ir_block(cg, 0));
    case WHEN_LEADS:
        return ir_binary(cg, IR_EQ, ir_call(cg, ir_type(IR_I32), "rl_cluster_rank", 0), zero);
    case WHEN_ONE: return elected(k, n->from);
    default: return NULL;
    }
}

static void make_if(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    Ir next = NULL;
    if (n->when == WHEN_LAST)
        next = k->var.next = ir_variable(cg, IR_I32, "next",
                                         ir_add_n(cg, k->var.body, k->task->r->unroll));
    Ir test = condition(k, n);
    if (test) ir_if(cg, test);
    else ir_scope(cg);
    if (n->leaves) ir_simple(cg, IR_STMT_RETURN);
    if (next) ir_set(cg, next, ir_int(cg, 0));
    make_nodes(k, n->child);
    ir_close(cg);
}

/* What a role defines is known to it alone.  */
static void make_role(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    const Role *r = &n->role;
    const Variables before = k->var;
    Ir warp = k->var.warp;
    Ir first = ir_number(cg, IR_U32, r->first), warps = ir_number(cg, IR_U32, r->warps);
    bool last = r->first > 0 && r->first + r->warps == k->l->form->warps;
    ir_if(cg, last ? ir_binary(cg, IR_GE, warp, first) : ir_lt(cg, ir_sub(cg, warp, first), warps));
    if (r->registers) ir_registers(cg, r->registers, r->fewer);
    k->teams = (Teams){.n = r->teams, .warps = r->warps / r->teams};
    if (r->teams > 1) place_team(k);
    make_nodes(k, n->child);
    ir_close(cg);
    k->var = before;
}

/* ---- leaves ---- */

static void make_compute(Kernel *k, const Node *n) {
    if (k->c->ring && n->what == COMPUTE_SLICE) made_products(k);
    else if (k->c->ring) compute_wgmma(k, n);
    else if (k->c->matrix.used) compute_mma(k, n);
    else if (k->c->packed) compute_dp4a(k, n);
    else compute_simt(k, n);
}

static void make_meeting(Kernel *k, const Node *n,
                         void (*make)(Kernel *k, const ThreadMap *m, const Node *n)) {
    ThreadMap m = row_of(k)->map(k, n);
    make(k, &m, n);
}

static void make_reduce(Kernel *k, const Node *n) {
    switch ((ReduceWhat)n->what) {
    case REDUCE_SLICES: reduce_slices(k); break;
    case REDUCE_SCAN: scan_meet(k); break;
    case REDUCE_LANES: make_meeting(k, n, meeting_lanes); break;
    case REDUCE_WARPS: make_meeting(k, n, meeting_take); break;
    case REDUCE_SCORES: chain_fold(k, n); break;
    }
}

static void make_store(Kernel *k, const Node *n) {
    switch ((StoreWhat)n->what) {
    case STORE_OUTPUTS: store_direct(k); break;
    case STORE_SLICES: reduce_slices_put(k); break;
    case STORE_STAGING: mma_write_staging(k); break;
    case STORE_WARPS: make_meeting(k, n, meeting_put); break;
    case STORE_PARTIAL: sums_store(k); break;
    case STORE_LEAVE:
        if (product_chains(k)) chain_leave(k);
        else make_meeting(k, n, meeting_leave);
        break;
    }
}

/* The next slot.  */
static void make_next(Kernel *k, const Node *n) {
    if (k->c->ring) ring_next(k, n->ring);
    else if (n->what == VALUES_PUT) load_put(k, n->ring);
    else load_take(k, n->ring, n->when == WHEN_FETCH);
}

static void make_values(Kernel *k, const Node *n) {
    switch ((ValuesWhat)n->what) {
    case VALUES_PLACE: row_of(k)->place(k); break;
    case VALUES_TILE: place_next(k, n->from); break;
    case VALUES_TURN: place_turn(k, n->from); break;
    case VALUES_ADDRESS: address_thread(k, &k->c->side[n->of]); break;
    case VALUES_TABLE: table_next(k); break;
    case VALUES_CLEAR: row_of(k)->clear(k, n); break;
    case VALUES_PARTIAL: mma_partial(k); break;
    case VALUES_K_NOW: place_k_now(k); break;
    case VALUES_BESIDE: made_beside(k, n->from); break;
    case VALUES_SCALES:
        if (k->c->matrix.scales) sum_scales_staged(k, n);
        else if (n->from == SCALES_STAGE) tensor_scales_stage(k, n->ring);
        else if (n->from == SCALES_TURN) scales_turn(k);
        else scales_load(k, n->from == SCALES_FIRST);
        break;
    case VALUES_MORE: load_more(k); break;
    case VALUES_NEXT_K: load_next(k, n->from); break;
    case VALUES_RING: ring_begin(k, n); break;
    case VALUES_PUT:
    case VALUES_TAKE: make_next(k, n); break;
    case VALUES_MAPS: ring_fetch(k, n); break;
    case VALUES_PROMOTE: mma_promote(k); break;
    case VALUES_STAGE: wgmma_stage(k, n->from); break;
    case VALUES_SETTLE: wgmma_settle(k, n->from); break;
    case VALUES_SUMS: mma_finish(k); break;
    case VALUES_SLICES: reduce_slices_place(k); break;
    case VALUES_OUTPUTS:
        if (n->from) (k->task->r->tail > 0 ? reduce_tail_sums : reduce_split_sums)(k);
        else elements_begin(k);
        break;
    case VALUES_RESTS: stats_clear_rests(k); break;
    case VALUES_KEEP: fragment_mma_keep(k); break;
    case VALUES_MOVE: chain_move(k); break;
    case VALUES_TERMS: chain_declare(k); break;
    case VALUES_OPERAND: chain_operand(k); break;
    case VALUES_COLUMNS: chain_columns(k); break;
    case VALUES_CUT: chain_clear_cut(k, n); break;
    case VALUES_ROWS: row_of(k)->rows(k, n); break;
    case VALUES_FINISH: row_of(k)->finish(k, n); break;
    case VALUES_COMBINE:
        if (k->l->kind == KERNEL_STATS) stats_combine(k, n->from);
        else make_meeting(k, n, meeting_combine);
        break;
    case VALUES_GATHER: row_of(k)->gather(k); break;
    case VALUES_TENSOR: tensor_make(k, n->from); break;
    case VALUES_STATEMENT: store_statement(k, n->of); break;
    case VALUES_COUNT: break;
    }
}

/* ---- the tree ---- */

static void make_node(Kernel *k, const Node *n) {
    product_select(k, n->product);
    if (n->note && n->kind != NODE_SYNC) ir_note(k->cg, "%s", n->note);
    switch (n->kind) {
    case NODE_SEQUENCE: make_nodes(k, n->child); break;
    case NODE_LOOP: make_loop(k, n); break;
    case NODE_IF: make_if(k, n); break;
    case NODE_ROLE: make_role(k, n); break;
    case NODE_COPY: row_of(k)->copy(k, n); break;
    case NODE_COMPUTE: make_compute(k, n); break;
    case NODE_REDUCE: make_reduce(k, n); break;
    case NODE_SYNC: sync_make(k, n); break;
    case NODE_STORE: make_store(k, n); break;
    case NODE_VALUES: make_values(k, n); break;
    case NODE_COUNT: break;
    }
    if (n->blank) ir_simple(k->cg, IR_STMT_BLANK);
}

static void make_nodes(Kernel *k, const Node *first) {
    for (const Node *n = first; n; n = n->next) make_node(k, n);
}

void form_emit(Kernel *k) { make_nodes(k, k->l->form->root->child); }
