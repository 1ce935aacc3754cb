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

enum { SCORES, RESULTS };                 /* the products */

typedef struct {
    FormBuilder *b;
    const Lowered *l;
    const Contract *c[2];
    bool begins;              /* scores begin with their first products */
    bool rows;                /* reductions of the scores' rows stand between the products */
    bool stays;               /* blocks stay for several tiles of as many turns */
} Make;

static int ring_of(const Make *m, int product) { return m->c[product]->turns; }

/* That of the operand that stays.  */
static int ring_of_a(const Make *m) { return m->c[SCORES]->side[0].ring; }

static void about(const Make *m, int product) { m->b->product = product; }

/* ---- copies ---- */

/* The next rows of B, of V.  The slot of the first ones is free: that of A was, and it is free when
 * no rows are read any more.  */
static void add_rows(const Make *m, int product, bool first) {
    about(m, product);
    int ring = ring_of(m, product);
    if (!first) lower_barrier(m->b, SYNC_WAIT, ring, RING_EMPTY)->primed = true;
    lower_fill(m->b, m->c[product], ring);
    form_add(m->b, NODE_VALUES, VALUES_NEXT_K);
    form_add(m->b, NODE_VALUES, VALUES_PUT);
}

/* Rings of copies.  */
static void add_rings(const Make *m, bool uses) {
    const Layout *l = m->l->layout;
    for (int i = 0; i < l->n_ring; i++) {
        bool sums = l->ring[i].turn == TURN_TILES && i != ring_of_a(m);
        if (l->ring[i].arrivals[RING_FULL] == 0 || sums) continue;
        Node *n = form_add(m->b, NODE_VALUES, VALUES_RING);
        n->ring = i;
        n->from = uses;
        n->to = uses && i == ring_of(m, RESULTS) && rprog_overlaps_within(m->l->r);
    }
}

static void open_turns(const Make *m, const char *var, int less, bool teams) {
    Node *n = form_open(m->b, NODE_LOOP, LOOP_STEPS);
    n->loop = (Loop){.var = var, .count = m->c[RESULTS]->steps - less, .by = 1, .unroll = 1,
                     .less = less, .in_turn = teams};
}

/* The tile that stays, where the one before is free.  */
static void add_a(const Make *m) {
    int ring = ring_of_a(m);
    about(m, SCORES);
    if (m->stays) lower_barrier(m->b, SYNC_WAIT, ring, RING_EMPTY)->primed = true;
    lower_fill(m->b, m->c[SCORES], ring);
    if (m->stays) form_add(m->b, NODE_VALUES, VALUES_PUT)->ring = ring;
}

void lower_chain_tiles(FormBuilder *b, const Lowered *l, const Contract *last, bool uses) {
    if (!last->stays) return;
    b->product = RESULTS;
    lower_open_tiles(b, l);
    form_add(b, NODE_VALUES, VALUES_TILE)->from = uses;
    b->product = SCORES;
    if (rprog_chain_parted(l->p, l->r)) form_add(b, NODE_VALUES, VALUES_COLUMNS);
    form_add(b, NODE_VALUES, VALUES_TILE);
}

static void open_tiles(const Make *m, bool uses) {
    lower_chain_tiles(m->b, m->l, m->c[RESULTS], uses);
}

/* In the order in which they are used: scores may run ahead by one turn.  */
static void add_copies(const Make *m) {
    bool ahead = rprog_overlaps_within(m->l->r);
    form_if(m->b, WHEN_ONE, 0)->from = m->l->layout->ring[0].fill.first;
    form_add(m->b, NODE_VALUES, VALUES_MAPS);
    add_rings(m, false);
    open_tiles(m, false);
    add_a(m);
    if (ahead) add_rows(m, SCORES, true);
    open_turns(m, "done", 0, false);
    if (ahead) form_if(m->b, WHEN_LEFT, 1)->name = "done";
    add_rows(m, SCORES, false);
    if (ahead) form_close(m->b);
    add_rows(m, RESULTS, false);
    form_close(m->b);
    if (m->stays) form_close(m->b);
    form_close(m->b);
}

/* ---- products ---- */

static Use *own(Use *u) {
    u->share = SHARE_THREAD;
    return u;
}

static void late(Use *u, DataOf data) {
    u->data = data;
    u->late = true;
}

/* Begins those of the turn that the ring of the product has come to.  */
static void begin_products(const Make *m, int product) {
    about(m, product);
    if (product == SCORES) {
        Node *n = form_add(m->b, NODE_VALUES, VALUES_CLEAR);
        n->from = CLEAR_SUMS;
        n->begins = m->begins;
        if (!m->begins) form_add(m->b, NODE_VALUES, VALUES_SETTLE);
    }
    form_add(m->b, NODE_VALUES, VALUES_STAGE);
    lower_barrier(m->b, SYNC_WAIT, ring_of(m, product), RING_FULL);
    Node *n = form_add(m->b, NODE_COMPUTE, COMPUTE_STEP);
    n->to = m->c[product]->r->unroll;
    n->done = DONE_PRODUCTS;
    n->begins = product == SCORES && m->begins;
    if (product == SCORES) {
        late(form_reads(m->b, n, ROOM_STAGE, 0), m->stays ? OF_TAKEN : OF_ANY);
    } else {
        late(own(form_reads(m->b, n, ROOM_FRAGMENTS, m->c[RESULTS]->side[0].number)), OF_TAKEN);
        late(own(form_reads(m->b, n, ROOM_SUMS, RESULTS)), OF_BEFORE);
    }
    const Side *s = &m->c[product]->side[1];
    late(form_reads(m->b, n, ROOM_STAGE, s->number), s->stays ? OF_ANY : OF_TAKEN);
    late(own(form_writes(m->b, n, ROOM_SUMS, product)), OF_TAKEN);
    form_sync(m->b, SYNC_PRODUCTS, SYNC_COMMIT, 0);
}

/* They are done, but for so many groups begun behind them: those of the turn that uses have come
 * to, or of the one before.  */
static void wait_products(const Make *m, int product, int behind, DataOf turn) {
    about(m, product);
    form_sync(m->b, SYNC_PRODUCTS, SYNC_WAIT, behind);
    Node *n = form_add(m->b, NODE_VALUES, VALUES_SETTLE);
    own(form_reads(m->b, n, ROOM_SUMS, product))->data = turn;
}

/* A slot that they have read is free, of the turn at hand or `lag` before.  */
static Node *free_ring(const Make *m, int ring, int lag) {
    Node *n = form_sync(m->b, SYNC_BARRIER, SYNC_ARRIVE, 0);
    n->sync = (Sync){.scope = SYNC_BARRIER, .op = SYNC_ARRIVE, .ring = ring,
                     .id = RING_EMPTY, .by = BY_WARPS, .lag = lag};
    return n;
}

static Node *free_rows(const Make *m, int product, int lag) {
    return free_ring(m, ring_of(m, product), lag);
}

static void take_ring(const Make *m, int ring) {
    form_add(m->b, NODE_VALUES, VALUES_TAKE)->ring = ring;
}

static void take_rows(const Make *m, int product) { take_ring(m, ring_of(m, product)); }

static void end_products(const Make *m, int product, int behind) {
    wait_products(m, product, behind, OF_TAKEN);
    free_rows(m, product, 0);
}

/* Scores of the turn `turn` + ahead join their rows.  */
static void add_fold(const Make *m, const char *turn, int ahead) {
    about(m, SCORES);
    Node *n = form_add(m->b, NODE_REDUCE, REDUCE_SCORES);
    n->name = turn;
    n->ahead = ahead;
    own(form_reads(m->b, n, ROOM_SUMS, SCORES))->data = OF_TAKEN;
    take_rows(m, SCORES);
}

static void add_move(const Make *m) {
    if (!m->rows) return;
    about(m, RESULTS);
    Node *n = form_add(m->b, NODE_VALUES, VALUES_MOVE);
    own(form_reads(m->b, n, ROOM_SUMS, RESULTS))->data = OF_BEFORE;
    own(form_writes(m->b, n, ROOM_SUMS, RESULTS))->data = OF_KEPT;
}

static void add_operand(const Make *m) {
    about(m, RESULTS);
    Node *n = form_add(m->b, NODE_VALUES, VALUES_OPERAND);
    own(form_writes(m->b, n, ROOM_FRAGMENTS, m->c[RESULTS]->side[0].number))->data = OF_TAKEN;
    form_add(m->b, NODE_VALUES, VALUES_SETTLE)->from = true;
}

bool lower_chain_cuts(const Lowered *l) {
    const ColumnBounds *x = &l->p->group->chain->bounds;
    return x->n_from + x->n_to > 0;
}

/* All warps that compute meet, so no turn of a team is under way.  */
void lower_chain_cut(FormBuilder *b, const Lowered *l, const Contract *last, bool end) {
    if (!lower_chain_cuts(l)) return;
    b->product = RESULTS;
    Node *n = form_if(b, WHEN_CUT, 0);
    n->to = end;
    lower_barrier(b, SYNC_WAIT, last->turns, RING_FULL);
    n = form_add(b, NODE_VALUES, VALUES_CUT);
    n->to = end;
    int v = last->side[1].number;
    own(form_reads(b, n, ROOM_STAGE, v))->data = OF_TAKEN;
    own(form_writes(b, n, ROOM_STAGE, v))->data = OF_TAKEN;
    form_sync(b, SYNC_PROXY, SYNC_BOTH, 0);
    lower_computing_sync(b, l->layout->product);
    form_close(b);
}

static void add_cut(const Make *m, bool end) {
    lower_chain_cut(m->b, m->l, m->c[RESULTS], end);
}

/* All products of the tile that have read A have ended.  */
static void free_a(const Make *m) {
    if (!m->stays) return;
    about(m, SCORES);
    free_ring(m, ring_of_a(m), 0);
    take_ring(m, ring_of_a(m));
}

/* Warpgroups begin the products of a turn one behind the other.  */
static void add_turn(const Make *m, SyncOp op) {
    if (rprog_overlaps_between(m->l->r)) lower_turn(m->b, m->l, op);
}

static void add_turns_alone(const Make *m) {
    open_turns(m, "step", 0, rprog_overlaps_between(m->l->r));
    add_turn(m, SYNC_BOTH);
    begin_products(m, SCORES);
    add_turn(m, SYNC_ARRIVE);
    end_products(m, SCORES, 0);
    add_fold(m, "step", 0);
    add_operand(m);
    add_cut(m, false);
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
    open_turns(m, "step", 1, rprog_overlaps_between(m->l->r));
    add_behind(m);
    free_rows(m, RESULTS, 1)->when = WHEN_LATER;
    add_cut(m, false);
    add_turn(m, SYNC_BOTH);
    begin_products(m, SCORES);
    begin_products(m, RESULTS);
    take_rows(m, RESULTS);
    add_turn(m, SYNC_ARRIVE);
    end_products(m, SCORES, 1);
    add_fold(m, "step", 1);
    form_close(m->b);
    wait_products(m, RESULTS, 0, OF_BEFORE);
    if (m->l->r->stages == 1 || m->stays) free_rows(m, RESULTS, 1);     /* for the last ones */
    form_close(m->b);
    free_a(m);
    form_if(m->b, WHEN_ALWAYS, 0);
    add_move(m);
    add_operand(m);
    add_cut(m, true);
    begin_products(m, RESULTS);
    wait_products(m, RESULTS, 0, OF_TAKEN);
    if (m->stays) free_rows(m, RESULTS, 0);
    if (m->stays) take_rows(m, RESULTS);
    form_close(m->b);
}

/* What there is of a thread before all turns.  */
static void add_begin(const Make *m) {
    add_rings(m, true);
    open_tiles(m, true);
    about(m, SCORES);
    Node *n = form_add(m->b, NODE_VALUES, VALUES_CLEAR);
    n->from = CLEAR_OPERANDS;
    form_add(m->b, NODE_VALUES, VALUES_STAGE)->from = true;
    about(m, RESULTS);
    n = form_add(m->b, NODE_VALUES, VALUES_CLEAR);
    own(form_writes(m->b, n, ROOM_SUMS, RESULTS))->data = OF_BEFORE;
    about(m, SCORES);
    if (m->rows) form_add(m->b, NODE_VALUES, VALUES_ROWS);
    lower_barrier(m->b, SYNC_WAIT, ring_of_a(m), RING_FULL);
}

void lower_chain_copies(FormBuilder *b, const Lowered *l, const Contract *last) {
    add_copies(&(Make){.b = b, .l = l, .c = {l->layout->product, last}, .stays = last->stays});
}

void lower_chain_behind(FormBuilder *b, const Lowered *l, const Contract *last) {
    bool rows = l->p->group->chain->rows != NULL;
    Make make = {.b = b, .l = l, .c = {l->layout->product, last}, .rows = rows}, *m = &make;
    Node *ring = form_add(b, NODE_VALUES, VALUES_RING);
    ring->ring = ring_of(m, RESULTS);
    ring->from = true;
    about(m, RESULTS);
    own(form_writes(m->b, form_add(m->b, NODE_VALUES, VALUES_CLEAR), ROOM_SUMS, RESULTS));
    form_add(m->b, NODE_VALUES, VALUES_STAGE)->from = true;
    about(m, SCORES);
    form_add(b, NODE_REDUCE, REDUCE_SCORES);
    add_operand(m);
    begin_products(m, RESULTS);
    wait_products(m, RESULTS, 0, OF_TAKEN);
}

void lower_chain_roles(FormBuilder *b, const Lowered *l, const Contract *last, bool begins) {
    bool rows = l->p->group->chain->rows != NULL, between = rprog_overlaps_between(l->r);
    Make make = {b, l, {l->layout->product, last}, begins, rows, last->stays}, *m = &make;
    lower_barriers(b, l);
    lower_open_filling(b, l);
    add_copies(m);
    form_close(b);
    lower_open_using(b, l, between ? last->warps[AX_M] : 1);
    add_begin(m);
    if (rprog_overlaps_within(l->r)) add_turns_ahead(m);
    else add_turns_alone(m);
}
