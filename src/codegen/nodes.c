#include "codegen/row.h"
#include <string.h>

/* The printers: one for each kind of node.  What an attribute says is printed here; for the rest
 * the building block of what the node is about is asked.  */

static void print_nodes(Kernel *k, const Node *first);

/* ---- loops, conditions, roles ---- */

/* Tested at its end: where a test stands at the beginning, too, the front end forgets that short
 * loops are not to be unrolled.  */
static void print_steps(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    bool ring = k->l->kind == KERNEL_CONTRACT && k->c.ring, uses = n->loop.moves == MOVES_USES;
    if (ring) ring_begin(k, uses);
    cg_line(cg, "int %s = 0;", n->loop.var);
    ir_until_begin(cg, 1);
    print_nodes(k, n->child);
    if (ring) ring_next(k, uses);
    ir_until_end(cg, ir_text(cg, ir_type(IR_BOOL), cg_text(cg, "++%s < steps", n->loop.var)));
}

static void print_counted(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    const Loop *l = &n->loop;
    const char *end = l->end ? l->end : cg_text(cg, "%lld", (long long)(l->count * l->by));
    const char *next = l->by == 1 ? cg_text(cg, "%s++", l->var)
                                  : cg_text(cg, "%s += %lld", l->var, (long long)l->by);
    cg_line(cg, "#pragma unroll%s", l->unroll ? cg_text(cg, " %d", l->unroll) : "");
    cg_open(cg, "for (int %s = 0; %s < %s; %s)", l->var, l->var, end, next);
    print_nodes(k, n->child);
    cg_close(cg);
}

/* Loops over the elements that statements are evaluated at.  */
static void open_outputs(Kernel *k, const Node *n) {
    switch (k->l->kind) {
    case KERNEL_CONTRACT:
        if (n->from) sums_open(k);
        else elements_contract(k);
        break;
    case KERNEL_SUMS:
        (k->l->r->tail > 0 ? reduce_tail_elements : reduce_split_elements)(k);
        break;
    case KERNEL_COLUMN: column_elements(k); break;
    case KERNEL_COLUMN_SUMS: column_sums_elements(k); break;
    case KERNEL_WINDOW: window_elements(k); break;
    case KERNEL_PERMUTE: permute_elements(k); break;
    case KERNEL_SCAN: scan_elements(k); break;
    default: stream_elements(k, n->rest); break;
    }
}

static void print_rows(Kernel *k, const Node *n) {
    int open = mma_open_rows(k, n->from);
    print_nodes(k, n->child);
    for (; open > 0; open--) cg_close(k->cg);
}

static void print_outer(Kernel *k, const Node *n) {
    int loops = window_open_outer(k);
    print_nodes(k, n->child);
    for (; loops > 0; loops--) cg_close(k->cg);
}

static void print_fold(Kernel *k) {
    if (k->l->kind == KERNEL_COLUMN) column_fold(k);
    else if (k->l->kind == KERNEL_WINDOW) window_fold(k);
    else if (kernel_scans(k)) scan_fold(k);
    else stream_fold(k);
}

static void print_loop(Kernel *k, const Node *n) {
    switch ((LoopWhat)n->what) {
    case LOOP_COUNTED: print_counted(k, n); return;
    case LOOP_STEPS: print_steps(k, n); return;
    case LOOP_ROWS: print_rows(k, n); return;
    case LOOP_FOLD: print_fold(k); return;
    case LOOP_OUTER: print_outer(k, n); return;
    case LOOP_HALVES:
        column_groups_halves(k);
        print_nodes(k, n->child);
        cg_close(k->cg);
        return;
    case LOOP_WALK:
        if (k->l->r->stats) stats_walk(k, n->from, n->to);
        else row_walk(k, n->from);
        return;
    case LOOP_TILES:
        if (n->from) reduce_tail_stays(k);
        else ring_open_tiles(k, k->in_turn);
        print_nodes(k, n->child);
        cg_close(k->cg);
        return;
    case LOOP_SCAN:
        scan_open_steps(k);
        print_nodes(k, n->child);
        cg_close(k->cg);
        return;
    case LOOP_SEGMENTS:
        reduce_tail_segments(k);
        print_nodes(k, n->child);
        cg_close(k->cg);
        return;
    case LOOP_OUTPUTS: open_outputs(k, n); break;
    case LOOP_VECTORS: mma_open_vectors(k, n->from); break;
    case LOOP_COUNT: return;
    }
    print_nodes(k, n->child);
    elements_end(k);
}

/* The test that step + ahead of the block's steps is there.  */
static const char *left(const Kernel *k, const Node *n) {
    const char *at = n->name ? n->name : "0";
    if (strcmp(at, "more") == 0) return at;
    if (n->ahead > 0) at = cg_text(k->cg, "%s + %d", at, n->ahead);
    return cg_text(k->cg, "%s < steps", at);
}

static const char *condition(const Kernel *k, const Node *n) {
    switch (n->when) {
    case WHEN_STEPS: return "steps > 0";
    case WHEN_LEFT: return left(k, n);
    case WHEN_LAST: return "next == WK";
    case WHEN_WHOLE: return cg_text(k->cg, "steps == %lld", (long long)k->c.steps);
    case WHEN_PARTIAL: return cg_text(k->cg, "steps < %lld", (long long)k->c.steps);
    case WHEN_UPPER: return "k_warp > 0";
    case WHEN_LATER: return "i > 0";
    case WHEN_ONE: return cg_text(k->cg, "warp == %du && rl_elect()", n->from);
    case WHEN_SOME:
    case WHEN_OTHERS: return n->name;
    default: return NULL;
    }
}

static void print_if(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    const char *test = condition(k, n);
    if (n->leaves) {
        cg_line(cg, "if (%s) return;", test);
        return;
    }
    if (n->when == WHEN_LAST) cg_line(cg, "int next = kb + %d;", (int)k->l->r->unroll);
    if (test) cg_open(cg, "if (%s)", test);
    else cg_scope(cg);
    if (n->when == WHEN_LAST) cg_line(cg, "next = 0;");
    print_nodes(k, n->child);
    cg_close(cg);
}

static void print_role(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    const Role *r = &n->role;
    if (r->first == 0) cg_open(cg, "if (warp < %du)", r->warps);
    else if (r->first + r->warps == k->l->form->warps) cg_open(cg, "if (warp >= %du)", r->first);
    else cg_open(cg, "if (warp - %du < %du)", r->first, r->warps);
    if (r->registers)
        cg_line(cg, "rl_registers_%s<%d>();", r->fewer ? "leave" : "take", r->registers);
    k->in_turn = r->teams > 1;
    print_nodes(k, n->child);
    cg_close(cg);
}

/* ---- leaves ---- */

static RoomKind room_written(const Node *n) {
    for (int i = 0; i < n->n_use; i++) {
        if (n->use[i].writes) return n->use[i].room->kind;
    }
    return ROOM_NONE;
}

static void print_copy(Kernel *k, const Node *n) {
    switch (k->l->kind) {
    case KERNEL_PERMUTE: permute_fill(k, n->of); return;
    case KERNEL_ROW: row_hold(k, n); return;
    case KERNEL_WINDOW: window_tile_fill(k); return;
    default: break;
    }
    if (k->l->kind == KERNEL_CONTRACT && k->c.ring) {
        if (n->of < 0) ring_put(k);
        else if (room_written(n) == ROOM_STAGED) made_read(k);
        else if (room_written(n) == ROOM_FRAGMENTS) made_make(k);
        else ring_copy(k, n->of);
        return;
    }
    switch (room_written(n)) {
    case ROOM_REGION: region_load(k, &k->c.side[n->of]); break;
    case ROOM_FRAGMENTS:
        if (k->c.matrix.used) fragment_mma_fetch(k, "0", "0");
        else fragment_first(k);
        break;
    default: load_copy(k, n);
    }
}

static void print_compute(Kernel *k, const Node *n) {
    if (k->c.ring && n->what == COMPUTE_SLICE) made_products(k);
    else if (k->c.ring) compute_wgmma(k);
    else if (k->c.matrix.used) compute_mma(k, n);
    else if (k->c.packed) compute_dp4a(k, n);
    else compute_simt(k, n);
}

static void print_reduce(Kernel *k, const Node *n) {
    switch ((ReduceWhat)n->what) {
    case REDUCE_SLICES: reduce_slices(k); break;
    case REDUCE_GROUPS: column_groups_add(k, n->from); break;
    case REDUCE_SCAN: scan_meet(k); break;
    case REDUCE_THREADS:
        if (kernel_scans(k)) scan_meet_slice(k);
        else row_meet(k, n->from);
        break;
    case REDUCE_LANES: stats_lanes(k, n->from, n->to); break;
    }
}

static void print_store(Kernel *k, const Node *n) {
    switch ((StoreWhat)n->what) {
    case STORE_OUTPUTS: store_direct(k); break;
    case STORE_SLICES: reduce_slices_put(k); break;
    case STORE_STAGING: mma_write_staging(k); break;
    case STORE_GROUPS: column_groups_put(k, n->from); break;
    case STORE_WARPS: stats_put(k, n->from, n->to); break;
    case STORE_PARTIAL:
        if (k->l->kind == KERNEL_COLUMN) column_partial(k);
        else sums_store(k);
        break;
    case STORE_LEAVE:
        if (kernel_scans(k)) scan_leave(k);
        else row_leave(k, n->from);
        break;
    }
}

static void print_place(Kernel *k) {
    switch (k->l->kind) {
    case KERNEL_COLUMN: column_place(k); break;
    case KERNEL_WINDOW: window_place(k); break;
    case KERNEL_PERMUTE: permute_place(k); break;
    case KERNEL_SCAN:
    case KERNEL_SCAN_SUMS: scan_place(k); break;
    default: place_thread(k); break;
    }
}

static void print_gather(Kernel *k) {
    if (k->l->kind == KERNEL_COLUMN_SUMS) column_sums_gather(k);
    else (k->l->r->tail > 0 ? reduce_tail_gather : reduce_split_gather)(k);
}

static void print_row_values(Kernel *k, const Node *n) {
    bool stats = k->l->r->stats;
    if (n->what == VALUES_ROWS && stats) stats_place(k);
    else if (n->what == VALUES_ROWS) row_place(k, n->to);
    else if (n->what == VALUES_FINISH && stats) stats_finish(k, n->from, n->to);
    else if (n->what == VALUES_FINISH) row_finish(k, n->from);
    else if (stats) stats_combine(k, n->from);
    else if (kernel_scans(k)) scan_combine(k);
    else row_combine(k, n->from, n->to);
}

static void print_values(Kernel *k, const Node *n) {
    switch ((ValuesWhat)n->what) {
    case VALUES_PLACE: print_place(k); break;
    case VALUES_TILE: place_next(k); break;
    case VALUES_ADDRESS: address_thread(k, &k->c.side[n->of]); break;
    case VALUES_TABLE: table_next(k); break;
    case VALUES_CLEAR:
        if (k->l->kind == KERNEL_WINDOW) window_clear(k);
        else if (kernel_scans(k)) scan_clear(k);
        else clear_accumulators(k);
        break;
    case VALUES_PARTIAL: mma_partial(k); break;
    case VALUES_K_NOW: place_k_now(k); break;
    case VALUES_BESIDE: made_beside(k, n->from); break;
    case VALUES_MORE: load_more(k); break;
    case VALUES_NEXT_K: load_next(k, n->from); break;
    case VALUES_PUT: load_put(k); break;
    case VALUES_TAKE: load_take(k, n->when == WHEN_FETCH); break;
    case VALUES_MAPS: ring_fetch(k, n); break;
    case VALUES_PROMOTE: mma_promote(k); break;
    case VALUES_STAGE: wgmma_stage(k); break;
    case VALUES_SETTLE: wgmma_settle(k); break;
    case VALUES_SUMS: mma_finish(k); break;
    case VALUES_SLICES: reduce_slices_place(k); break;
    case VALUES_GROUPS: column_groups_place(k); break;
    case VALUES_OUTPUTS:
        if (n->from) (k->l->r->tail > 0 ? reduce_tail_sums : reduce_split_sums)(k);
        else elements_begin(k);
        break;
    case VALUES_ROWS:
    case VALUES_FINISH:
    case VALUES_COMBINE: print_row_values(k, n); break;
    case VALUES_GATHER: print_gather(k); break;
    case VALUES_STATEMENT: store_statement(k, n->of); break;
    case VALUES_COUNT: break;
    }
}

/* ---- the tree ---- */

static void print_node(Kernel *k, const Node *n) {
    if (n->note && n->kind != NODE_SYNC) cg_line(k->cg, "// %s", n->note);
    switch (n->kind) {
    case NODE_SEQUENCE: print_nodes(k, n->child); break;
    case NODE_LOOP: print_loop(k, n); break;
    case NODE_IF: print_if(k, n); break;
    case NODE_ROLE: print_role(k, n); break;
    case NODE_COPY: print_copy(k, n); break;
    case NODE_COMPUTE: print_compute(k, n); break;
    case NODE_REDUCE: print_reduce(k, n); break;
    case NODE_SYNC: sync_print(k, n); break;
    case NODE_STORE: print_store(k, n); break;
    case NODE_VALUES: print_values(k, n); break;
    case NODE_COUNT: break;
    }
    if (n->blank) cg_blank(k->cg);
}

static void print_nodes(Kernel *k, const Node *first) {
    for (const Node *n = first; n; n = n->next) print_node(k, n);
}

void form_emit(Kernel *k) { print_nodes(k, k->l->form->root->child); }
