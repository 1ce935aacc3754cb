#include "codegen/lower/lower.h"

/* Chains on units of warpgroups: some warps copy by boxes, the tile that stays once, those of B and
 * of V to rings of their own, and each warpgroup of the others has rows of its own:
 *     scores = A B; fold
 *     turns: wait for the results of the turn before, whose V is free
 *            results move to the bases of their rows; operand
 *            begin the next scores; begin results += operand V
 *            wait for the scores, whose B is free; fold, beside the products of V
 *     the same without other scores
 * A turn ends where the fold does: waits that stand behind it are made before its powers by ptxas,
 * which knows of no order between them.  Or, where scores do not run ahead,
 *     turns: scores = A B; fold; results move; operand; results += operand V
 * Where warpgroups take turns, one begins its products behind the other's, so that one multiplies
 * while the other folds.  */

static int ring_of(const Make *m, int product) { return m->c[product].turns; }

/* That of the operand that stays; are there several tiles of it?  */
static int ring_of_a(const Make *m) { return m->c[SCORES].side[0].ring; }

static bool stays(const Make *m) { return m->c[RESULTS].stays; }

/* ---- copies ---- */

/* The next rows of B, of V.  The slot of the first ones is free: that of A was, and it is free when
 * no rows are read any more.  */
static void add_rows(const Make *m, int product, bool first) {
    lower_about(m, product);
    lower_fill_turn(m->b, first);
}

/* Rings of copies.  */
static void add_rings(const Make *m, bool uses) {
    const Layout *l = m->l->layout;
    for (int i = 0; i < l->n_ring; i++) {
        bool sums = l->ring[i].turn == TURN_TILES && i != ring_of_a(m);
        if (l->ring[i].arrivals[RING_FULL] == 0 || sums) continue;
        Node *n = lower_slots(m->b, i, uses);
        n->to = uses && i == ring_of(m, RESULTS) && rprog_overlaps_within(m->l->r);
    }
}

static Loop *open_turns(const Make *m, const char *var) {
    return &lower_open_turns(m->b, &m->c[RESULTS], var)->loop;
}

/* The tile that stays, where the one before is free.  */
static void add_a(const Make *m) {
    lower_about(m, SCORES);
    lower_fill(m->b, ring_of_a(m));
    if (stays(m)) lower_put(m->b, ring_of_a(m));
}

void lower_chain_tiles(const Make *m, bool uses) {
    if (!stays(m)) return;
    lower_about(m, RESULTS);
    lower_open_tiles(m->b, m->l);
    form_add(m->b, NODE_VALUES, VALUES_TILE)->from = uses;
    lower_about(m, SCORES);
    if (rprog_chain_parted(m->l->p, m->l->r)) form_add(m->b, NODE_VALUES, VALUES_COLUMNS);
    form_add(m->b, NODE_VALUES, VALUES_TILE);
}

/* In the order in which they are used: scores may run ahead by one turn.  */
void lower_chain_copies(const Make *m) {
    bool ahead = rprog_overlaps_within(m->l->r);
    form_if(m->b, WHEN_ONE, 0)->from = m->l->layout->ring[0].fill.first;
    form_add(m->b, NODE_VALUES, VALUES_MAPS);
    add_rings(m, false);
    lower_chain_tiles(m, false);
    add_a(m);
    if (ahead) add_rows(m, SCORES, true);
    open_turns(m, "done");
    if (ahead) form_if(m->b, WHEN_LEFT, 1)->name = "done";
    add_rows(m, SCORES, false);
    if (ahead) form_close(m->b);
    add_rows(m, RESULTS, false);
    form_close(m->b);
    if (stays(m)) form_close(m->b);
    form_close(m->b);
}

/* ---- products ---- */

/* Do scores begin with their first products?  */
static bool begins(const Make *m) {
    return m->l->p->chain->multiple > 0;
}

/* Begins those of the turn that the ring of the product has come to.  */
static void begin_products(const Make *m, int product) {
    bool first = product == SCORES && begins(m);
    lower_about(m, product);
    if (product == SCORES) {
        Node *n = form_add(m->b, NODE_VALUES, VALUES_CLEAR);
        n->from = CLEAR_SUMS;
        n->begins = first;
        if (!first) form_add(m->b, NODE_VALUES, VALUES_SETTLE);
    }
    lower_wait_stage(m->b);
    lower_multiply(m->b)->begins = first;
    form_sync(m->b, SYNC_PRODUCTS, SYNC_COMMIT, 0);
}

/* They are done, but for so many groups begun behind them: those of the turn that uses have come
 * to, or of the one before.  */
static void wait_products(const Make *m, int product, int behind, DataOf turn) {
    lower_about(m, product);
    form_sync(m->b, SYNC_PRODUCTS, SYNC_WAIT, behind);
    Node *n = form_add(m->b, NODE_VALUES, VALUES_SETTLE);
    lower_own(form_reads(m->b, n, ROOM_SUMS, product))->data = turn;
}

/* A slot that they have read is free, of the turn at hand or `lag` before.  */
static Node *free_rows(const Make *m, int product, int lag) {
    return lower_free(m->b, ring_of(m, product), lag);
}

static void take_rows(const Make *m, int product) { lower_take(m->b, ring_of(m, product)); }

static void end_products(const Make *m, int product, int behind) {
    wait_products(m, product, behind, OF_TAKEN);
    free_rows(m, product, 0);
}

/* Scores of the turn `turn` + ahead join their rows.  */
static void add_fold(const Make *m, const char *turn, int ahead) {
    lower_about(m, SCORES);
    Node *n = form_add(m->b, NODE_REDUCE, REDUCE_SCORES);
    n->name = turn;
    n->ahead = ahead;
    lower_own(form_reads(m->b, n, ROOM_SUMS, SCORES))->data = OF_TAKEN;
    take_rows(m, SCORES);
}

static void add_move(const Make *m) {
    if (!lower_chain_rows(m)) return;
    lower_about(m, RESULTS);
    Node *n = form_add(m->b, NODE_VALUES, VALUES_MOVE);
    lower_own(form_reads(m->b, n, ROOM_SUMS, RESULTS))->data = OF_BEFORE;
    lower_own(form_writes(m->b, n, ROOM_SUMS, RESULTS))->data = OF_KEPT;
}

static void add_operand(const Make *m) {
    lower_about(m, RESULTS);
    Node *n = form_add(m->b, NODE_VALUES, VALUES_OPERAND);
    lower_own(form_writes(m->b, n, ROOM_FRAGMENTS, m->c[RESULTS].side[0].number))->data = OF_TAKEN;
    form_add(m->b, NODE_VALUES, VALUES_SETTLE)->from = true;
}

bool lower_chain_cuts(const Lowered *l) {
    const ColumnBounds *x = &l->p->group->chain->bounds;
    return x->n_from + x->n_to > 0;
}

/* All warps that compute meet, so no turn of a team is under way.  */
void lower_chain_cut(const Make *m, bool end) {
    if (!lower_chain_cuts(m->l)) return;
    int v = m->c[RESULTS].side[1].number;
    lower_about(m, RESULTS);
    form_if(m->b, WHEN_CUT, 0)->to = end;
    lower_barrier(m->b, SYNC_WAIT, ring_of(m, RESULTS), RING_FULL);
    Node *n = form_add(m->b, NODE_VALUES, VALUES_CUT);
    n->to = end;
    lower_own(form_reads(m->b, n, ROOM_STAGE, v))->data = OF_TAKEN;
    lower_own(form_writes(m->b, n, ROOM_STAGE, v))->data = OF_TAKEN;
    form_sync(m->b, SYNC_PROXY, SYNC_BOTH, 0);
    lower_computing_sync(m->b, m->c);
    form_close(m->b);
}

/* All products of the tile that have read A have ended.  */
static void free_a(const Make *m) {
    if (!stays(m)) return;
    lower_about(m, SCORES);
    lower_free(m->b, ring_of_a(m), 0);
    lower_take(m->b, ring_of_a(m));
}

/* Warpgroups begin the products of a turn one behind the other.  */
static void add_turn(const Make *m, SyncOp op) {
    if (rprog_overlaps_between(m->l->r)) lower_turn(m->b, m->l, op);
}

static void add_turns_alone(const Make *m) {
    open_turns(m, "step")->in_turn = rprog_overlaps_between(m->l->r);
    add_turn(m, SYNC_BOTH);
    begin_products(m, SCORES);
    add_turn(m, SYNC_ARRIVE);
    end_products(m, SCORES, 0);
    add_fold(m, "step", 0);
    add_operand(m);
    lower_chain_cut(m, false);
    begin_products(m, RESULTS);
    end_products(m, RESULTS, 0);
    take_rows(m, RESULTS);
    form_close(m->b);
    free_a(m);
}

/* Results of the turn before are there, and terms become the operand.  */
static void add_behind(const Make *m) {
    wait_products(m, RESULTS, 0, OF_BEFORE);
    add_move(m);
    add_operand(m);
}

static void add_turns_ahead(const Make *m) {
    form_add(m->b, NODE_VALUES, VALUES_TERMS);
    form_if(m->b, WHEN_ALWAYS, 0);
    begin_products(m, SCORES);
    end_products(m, SCORES, 0);
    add_fold(m, NULL, 0);
    form_close(m->b);
    form_if(m->b, WHEN_LEFT, 1);
    Loop *loop = open_turns(m, "step");
    loop->less = 1;
    loop->count -= 1;
    loop->in_turn = rprog_overlaps_between(m->l->r);
    add_behind(m);
    free_rows(m, RESULTS, 1)->when = WHEN_LATER;
    lower_chain_cut(m, false);
    add_turn(m, SYNC_BOTH);
    begin_products(m, SCORES);
    begin_products(m, RESULTS);
    take_rows(m, RESULTS);
    add_turn(m, SYNC_ARRIVE);
    end_products(m, SCORES, 1);
    add_fold(m, "step", 1);
    form_close(m->b);
    wait_products(m, RESULTS, 0, OF_BEFORE);
    if (m->l->r->stages == 1 || stays(m)) free_rows(m, RESULTS, 1);     /* for the last ones */
    form_close(m->b);
    free_a(m);
    form_if(m->b, WHEN_ALWAYS, 0);
    add_move(m);
    add_operand(m);
    lower_chain_cut(m, true);
    begin_products(m, RESULTS);
    wait_products(m, RESULTS, 0, OF_TAKEN);
    if (stays(m)) free_rows(m, RESULTS, 0);
    if (stays(m)) take_rows(m, RESULTS);
    form_close(m->b);
}

/* What there is of a thread before all turns.  */
static void add_begin(const Make *m) {
    add_rings(m, true);
    lower_chain_tiles(m, true);
    lower_about(m, SCORES);
    Node *n = form_add(m->b, NODE_VALUES, VALUES_CLEAR);
    n->from = CLEAR_OPERANDS;
    form_add(m->b, NODE_VALUES, VALUES_STAGE)->from = true;
    lower_about(m, RESULTS);
    n = form_add(m->b, NODE_VALUES, VALUES_CLEAR);
    lower_own(form_writes(m->b, n, ROOM_SUMS, RESULTS))->data = OF_BEFORE;
    lower_about(m, SCORES);
    if (lower_chain_rows(m)) form_add(m->b, NODE_VALUES, VALUES_ROWS);
    lower_barrier(m->b, SYNC_WAIT, ring_of_a(m), RING_FULL);
}

static void add_all(const Make *m) {
    add_begin(m);
    if (rprog_overlaps_within(m->l->r)) add_turns_ahead(m);
    else add_turns_alone(m);
}

void lower_chain_behind(const Make *m) {
    lower_slots(m->b, ring_of(m, RESULTS), true);
    lower_about(m, RESULTS);
    lower_own(form_writes(m->b, form_add(m->b, NODE_VALUES, VALUES_CLEAR), ROOM_SUMS, RESULTS));
    form_add(m->b, NODE_VALUES, VALUES_STAGE)->from = true;
    lower_about(m, SCORES);
    form_add(m->b, NODE_REDUCE, REDUCE_SCORES);
    add_operand(m);
    begin_products(m, RESULTS);
    wait_products(m, RESULTS, 0, OF_TAKEN);
}

void lower_chain_roles(const Make *m) {
    static const Roles roles = {.copies = lower_chain_copies, .results = add_all};
    lower_roles(m, &roles, rprog_overlaps_between(m->l->r) ? m->c[RESULTS].warps[AX_M] : 1);
}
