#include "codegen/lower/lower.h"

/* Chains on units whose sums lie in Tensor Memory.  One warp copies by boxes, as those of other
 * warpgroups do, a thread of the next one issues all products, and warpgroups fold, each its own
 * rows, with scores, terms and results of its own:
 *     products: the first scores
 *         turns: the next scores of each, when the last ones have been loaded; results += terms V
 *         of each, when its terms are there
 *     folds: turns: load scores, whose place is free; fold
 *            wait for the products of the terms before: results move to the bases of their rows
 *            terms to Tensor Memory
 *         results are there with the last products
 * Of a block that stays these are those of a tile; its results are loaded before terms of the next
 * one are stored, so that its products may begin them anew.
 * So scores of the next turn and results of the one before are made while a turn is folded, and
 * one warpgroup's powers are beside another one's other work.  Rows of B and of V are free when
 * their products have ended, and these threads wait for nothing but full slots, loaded scores and
 * stored terms.  */

static int ring_of(const Make *m, int product) { return m->c[product].turns; }

static int ring_of_scores(const Make *m) { return m->c[SCORES].sums; }

static int ring_of_terms(const Make *m) { return rprog_room(m->l->layout, ROOM_TERMS, 0)->ring; }

/* Warpgroups that fold.  */
static int teams(const Make *m) { return m->c[RESULTS].warps[AX_M]; }

/* ---- the thread that issues ---- */

static void open_teams(const Make *m) {
    form_open(m->b, NODE_LOOP, LOOP_TEAMS)->loop = (Loop){.var = "team", .count = teams(m)};
}

/* What products of a turn have read is free when they have ended.  */
static void free_turn(const Make *m, int product) {
    lower_commit(m->b, ring_of(m, product), RING_EMPTY, 0);
}

/* The place of the first ones is free: terms of the tile before were made of what was there.  */
static void issue_scores(const Make *m, bool first) {
    int scores = ring_of_scores(m);
    lower_about(m, SCORES);
    lower_wait_stage(m->b);
    open_teams(m);
    if (!first) lower_wait_tensor(m->b, scores, RING_EMPTY);
    lower_multiply(m->b)->begins = true;
    lower_commit(m->b, scores, RING_FULL, 0);
    form_close(m->b);
    free_turn(m, SCORES);
    lower_take(m->b, ring_of(m, SCORES));
    lower_put(m->b, scores);
}

static void issue_results(const Make *m) {
    int v = ring_of(m, RESULTS), terms = ring_of_terms(m);
    lower_about(m, RESULTS);
    lower_wait_stage(m->b);
    open_teams(m);
    lower_wait_tensor(m->b, terms, RING_FULL);
    lower_multiply(m->b);
    lower_commit(m->b, terms, RING_EMPTY, 0);
    form_close(m->b);
    free_turn(m, RESULTS);
    if (lower_chain_cuts(m->l)) lower_barrier(m->b, SYNC_ARRIVE, v, RING_EMPTY)->by = BY_THREADS;
    lower_take(m->b, v);
    lower_take(m->b, terms);
}

static void begin_product(const Make *m, int product) {
    lower_about(m, product);
    form_add(m->b, NODE_VALUES, VALUES_CLEAR)->from = CLEAR_OPERANDS;
    lower_slots(m->b, ring_of(m, product), true);
}

/* The products of a tile.  */
static void issue_tile(const Make *m) {
    int a = m->c[SCORES].side[0].ring;
    lower_about(m, SCORES);
    form_add(m->b, NODE_VALUES, VALUES_STAGE)->from = true;
    lower_barrier(m->b, SYNC_WAIT, a, RING_FULL);
    form_if(m->b, WHEN_ALWAYS, 0);
    issue_scores(m, true);
    form_close(m->b);
    lower_open_turns(m->b, &m->c[RESULTS], "step");
    form_if(m->b, WHEN_LEFT, 1)->name = "step";
    issue_scores(m, false);
    form_close(m->b);
    issue_results(m);
    form_close(m->b);
    if (!m->c[RESULTS].stays) return;
    lower_about(m, SCORES);
    lower_commit(m->b, a, RING_EMPTY, 0);
    lower_take(m->b, a);
}

static void add_issued(const Make *m) {
    bool stays = m->c[RESULTS].stays;
    form_if(m->b, WHEN_ONE, 0)->from = contract_turns(m->c)->use.first;
    begin_product(m, RESULTS);
    begin_product(m, SCORES);
    lower_slots(m->b, ring_of_scores(m), false);
    lower_slots(m->b, ring_of_terms(m), true);
    lower_slots(m->b, m->c[SCORES].side[0].ring, true);
    lower_chain_tiles(m, false);
    issue_tile(m);
    if (stays) form_close(m->b);
    form_close(m->b);
}

/* ---- a warpgroup that folds ---- */

/* Sums of a product come to registers, when it is told of them.  */
static void load_sums(const Make *m, int product, DataOf data) {
    lower_about(m, product);
    Node *n = form_add(m->b, NODE_VALUES, VALUES_CLEAR);
    n->from = CLEAR_SUMS;
    n->begins = true;
    lower_load_sums(m->b, data);
}

static void add_scores(const Make *m) {
    int scores = ring_of_scores(m);
    lower_wait_tensor(m->b, scores, RING_FULL);
    load_sums(m, SCORES, OF_TAKEN);
    lower_arrive_warps(m->b, scores, RING_EMPTY);
    lower_take(m->b, scores);
}

/* Results move when the products of the turn before have ended.  */
static void add_move(const Make *m) {
    if (!lower_chain_rows(m)) return;
    form_if(m->b, WHEN_LATER, 0)->name = "step";
    Node *n = lower_tensor(m->b, TENSOR_MOVE);
    form_reads(m->b, n, ROOM_ACCUMULATORS, RESULTS)->data = OF_ANY;
    form_writes(m->b, n, ROOM_ACCUMULATORS, RESULTS)->data = OF_ANY;
    form_close(m->b);
}

static void add_turn(const Make *m) {
    int terms = ring_of_terms(m);
    add_scores(m);
    form_add(m->b, NODE_REDUCE, REDUCE_SCORES)->name = "step";
    lower_about(m, RESULTS);
    form_add(m->b, NODE_VALUES, VALUES_OPERAND);
    lower_wait_tensor(m->b, terms, RING_EMPTY);
    add_move(m);
    form_writes(m->b, lower_tensor(m->b, TENSOR_STORE), ROOM_TERMS, 0)->data = OF_PUT;
    lower_chain_cut(m, false);
    form_sync(m->b, SYNC_TENSOR, SYNC_ARRIVE, 0);
    lower_arrive_warps(m->b, terms, RING_FULL);
    lower_put(m->b, terms);
    if (lower_chain_cuts(m->l)) lower_take(m->b, ring_of(m, RESULTS));
}

static void add_folds(const Make *m) {
    lower_slots(m->b, ring_of_scores(m), true);
    lower_slots(m->b, ring_of_terms(m), false);
    if (lower_chain_cuts(m->l)) lower_slots(m->b, ring_of(m, RESULTS), true);
    lower_chain_tiles(m, true);
    lower_about(m, SCORES);
    if (lower_chain_rows(m)) form_add(m->b, NODE_VALUES, VALUES_ROWS);
    form_add(m->b, NODE_VALUES, VALUES_TERMS);
    lower_open_turns(m->b, &m->c[RESULTS], "step");
    add_turn(m);
    form_close(m->b);
    lower_wait_tensor(m->b, ring_of_terms(m), RING_EMPTY);
    load_sums(m, RESULTS, OF_ANY);
}

void lower_chain_tensor(const Make *m) {
    static const Roles roles = {.copies = lower_chain_copies, .products = add_issued,
                                .results = add_folds};
    lower_roles(m, &roles, teams(m));
}
