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

enum { SCORES, RESULTS };                 /* the products */

typedef struct {
    FormBuilder *b;
    const Lowered *l;
    const Contract *c[2];
    int scores, terms;        /* rings */
    int teams;                /* warpgroups that fold */
} Make;

static int ring_of(const Make *m, int product) { return m->c[product]->turns; }

static void about(const Make *m, int product) { m->b->product = product; }

static void turn(const Make *m, int what, int ring) {
    form_add(m->b, NODE_VALUES, what)->ring = ring;
}

static void open_turns(const Make *m) {
    Node *n = form_open(m->b, NODE_LOOP, LOOP_STEPS);
    n->loop = (Loop){.var = "step", .count = m->c[RESULTS]->steps, .by = 1, .unroll = 1};
}

/* What others did with Tensor Memory before they arrived comes before what follows.  */
static void wait_tensor(const Make *m, int ring, int id) {
    lower_barrier(m->b, SYNC_WAIT, ring, id)->primed = id == RING_EMPTY;
    form_sync(m->b, SYNC_TENSOR, SYNC_WAIT, 0);
}

/* A lane of each warp tells of what all lanes have done there.  */
static void arrive_tensor(const Make *m, int ring, int id) {
    form_sync(m->b, SYNC_TENSOR, SYNC_ARRIVE, 0);
    form_sync(m->b, SYNC_WARP, SYNC_BOTH, 0);
    lower_barrier(m->b, SYNC_ARRIVE, ring, id)->by = BY_WARPS;
}

static Use *late(Use *u, DataOf data) {
    u->data = data;
    u->late = true;
    return u;
}

/* ---- the thread that issues ---- */

static void open_teams(const Make *m) {
    form_open(m->b, NODE_LOOP, LOOP_TEAMS)->loop = (Loop){.var = "team", .count = m->teams};
}

static Node *add_products(const Make *m, int product) {
    Node *n = form_add(m->b, NODE_COMPUTE, COMPUTE_STEP);
    n->to = m->c[product]->r->unroll;
    n->done = DONE_PRODUCTS;
    n->begins = product == SCORES;
    late(form_reads(m->b, n, ROOM_STAGE, m->c[product]->side[1].number), OF_TAKEN);
    return n;
}

/* The place of the first ones is free: terms of the tile before were made of what was there.  */
static void issue_scores(const Make *m, bool first) {
    const Contract *c = m->c[SCORES];
    about(m, SCORES);
    form_add(m->b, NODE_VALUES, VALUES_STAGE);
    lower_barrier(m->b, SYNC_WAIT, ring_of(m, SCORES), RING_FULL);
    open_teams(m);
    if (!first) wait_tensor(m, m->scores, RING_EMPTY);
    Node *n = add_products(m, SCORES);
    late(form_reads(m->b, n, ROOM_STAGE, c->side[0].number), c->stays ? OF_TAKEN : OF_ANY);
    late(form_writes(m->b, n, ROOM_ACCUMULATORS, SCORES), OF_PUT);
    lower_commit(m->b, c, m->scores, RING_FULL, 0);
    form_close(m->b);
    lower_commit(m->b, c, ring_of(m, SCORES), RING_EMPTY, 0);
    turn(m, VALUES_TAKE, ring_of(m, SCORES));
    turn(m, VALUES_PUT, m->scores);
}

static void issue_results(const Make *m) {
    const Contract *c = m->c[RESULTS];
    about(m, RESULTS);
    form_add(m->b, NODE_VALUES, VALUES_STAGE);
    lower_barrier(m->b, SYNC_WAIT, ring_of(m, RESULTS), RING_FULL);
    open_teams(m);
    wait_tensor(m, m->terms, RING_FULL);
    Node *n = add_products(m, RESULTS);
    late(form_reads(m->b, n, ROOM_TERMS, 0), OF_TAKEN);
    late(form_writes(m->b, n, ROOM_ACCUMULATORS, RESULTS), OF_ANY);
    lower_commit(m->b, c, m->terms, RING_EMPTY, 0);
    form_close(m->b);
    lower_commit(m->b, c, ring_of(m, RESULTS), RING_EMPTY, 0);
    if (lower_chain_cuts(m->l))
        lower_barrier(m->b, SYNC_ARRIVE, ring_of(m, RESULTS), RING_EMPTY)->by = BY_THREADS;
    turn(m, VALUES_TAKE, ring_of(m, RESULTS));
    turn(m, VALUES_TAKE, m->terms);
}

static void use_ring(const Make *m, int ring) {
    Node *n = form_add(m->b, NODE_VALUES, VALUES_RING);
    n->ring = ring;
    n->from = true;
}

static void begin_product(const Make *m, int product) {
    about(m, product);
    form_add(m->b, NODE_VALUES, VALUES_CLEAR)->from = CLEAR_OPERANDS;
    use_ring(m, ring_of(m, product));
}

/* The products of a tile.  */
static void issue_tile(const Make *m, bool stays) {
    int a = m->c[SCORES]->side[0].ring;
    about(m, SCORES);
    form_add(m->b, NODE_VALUES, VALUES_STAGE)->from = true;
    lower_barrier(m->b, SYNC_WAIT, a, RING_FULL);
    form_if(m->b, WHEN_ALWAYS, 0);
    issue_scores(m, true);
    form_close(m->b);
    open_turns(m);
    form_if(m->b, WHEN_LEFT, 1)->name = "step";
    issue_scores(m, false);
    form_close(m->b);
    issue_results(m);
    form_close(m->b);
    if (!stays) return;
    about(m, SCORES);
    lower_commit(m->b, m->c[SCORES], a, RING_EMPTY, 0);
    turn(m, VALUES_TAKE, a);
}

static void add_issued(const Make *m) {
    const Contract *c = m->c[SCORES], *last = m->c[RESULTS];
    form_if(m->b, WHEN_ONE, 0)->from = contract_turns(c)->use.first;
    begin_product(m, RESULTS);
    begin_product(m, SCORES);
    turn(m, VALUES_RING, m->scores);
    use_ring(m, m->terms);
    use_ring(m, c->side[0].ring);
    lower_chain_tiles(m->b, m->l, last, false);
    issue_tile(m, last->stays);
    if (last->stays) form_close(m->b);
    form_close(m->b);
}

/* ---- a warpgroup that folds ---- */

/* Sums of a product come to registers.  */
static void load_sums(const Make *m, int product, DataOf data) {
    about(m, product);
    Node *n = form_add(m->b, NODE_VALUES, VALUES_CLEAR);
    n->from = CLEAR_SUMS;
    n->begins = true;
    form_reads(m->b, lower_tensor(m->b, TENSOR_LOAD), ROOM_ACCUMULATORS, product)->data = data;
}

static void add_scores(const Make *m) {
    wait_tensor(m, m->scores, RING_FULL);
    load_sums(m, SCORES, OF_TAKEN);
    arrive_tensor(m, m->scores, RING_EMPTY);
    turn(m, VALUES_TAKE, m->scores);
}

/* Results move when the products of the turn before have ended.  */
static void add_move(const Make *m) {
    if (!m->l->p->group->chain->rows) return;
    form_if(m->b, WHEN_LATER, 0)->name = "step";
    Node *n = lower_tensor(m->b, TENSOR_MOVE);
    form_reads(m->b, n, ROOM_ACCUMULATORS, RESULTS)->data = OF_ANY;
    form_writes(m->b, n, ROOM_ACCUMULATORS, RESULTS)->data = OF_ANY;
    form_close(m->b);
}

static void add_turn(const Make *m) {
    add_scores(m);
    Node *n = form_add(m->b, NODE_REDUCE, REDUCE_SCORES);
    n->name = "step";
    about(m, RESULTS);
    form_add(m->b, NODE_VALUES, VALUES_OPERAND);
    wait_tensor(m, m->terms, RING_EMPTY);
    add_move(m);
    form_writes(m->b, lower_tensor(m->b, TENSOR_STORE), ROOM_TERMS, 0)->data = OF_PUT;
    lower_chain_cut(m->b, m->l, m->c[RESULTS], false);
    arrive_tensor(m, m->terms, RING_FULL);
    turn(m, VALUES_PUT, m->terms);
    if (lower_chain_cuts(m->l)) turn(m, VALUES_TAKE, ring_of(m, RESULTS));
}

static void add_folds(const Make *m) {
    use_ring(m, m->scores);
    turn(m, VALUES_RING, m->terms);
    if (lower_chain_cuts(m->l)) use_ring(m, ring_of(m, RESULTS));
    lower_chain_tiles(m->b, m->l, m->c[RESULTS], true);
    about(m, SCORES);
    if (m->l->p->group->chain->rows) form_add(m->b, NODE_VALUES, VALUES_ROWS);
    form_add(m->b, NODE_VALUES, VALUES_TERMS);
    open_turns(m);
    add_turn(m);
    form_close(m->b);
    wait_tensor(m, m->terms, RING_EMPTY);
    load_sums(m, RESULTS, OF_ANY);
    form_sync(m->b, SYNC_TENSOR, SYNC_ARRIVE, 0);
}

void lower_chain_tensor(FormBuilder *b, const Lowered *l, const Contract *last) {
    const Contract *first = l->layout->product;
    int terms = rprog_room(l->layout, ROOM_TERMS, 0)->ring;
    Make make = {b, l, {first, last}, first->sums, terms, last->warps[AX_M]}, *m = &make;
    lower_tensor(b, TENSOR_TAKE);
    lower_barriers(b, l);
    lower_tensor(b, TENSOR_FIND);
    lower_open_filling(b, l);
    lower_open_part(b, "boxes", contract_turns(first)->fill);
    lower_chain_copies(b, l, last);
    form_close(b);
    lower_open_part(b, "products", contract_turns(first)->use);
    add_issued(m);
    form_close(b);
    form_close(b);
    lower_open_using(b, l, m->teams);
    add_folds(m);
}
