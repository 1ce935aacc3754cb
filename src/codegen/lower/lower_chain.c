/* The kernel of a `chain` program.
 *
 * A turn has a tile of B's rows, the columns of the scores, and the same columns of V:
 *     wait for B, sync; copies of a later V begin
 *     scores = A B
 *     wait for V, sync; copies of a later B begin
 *     fold the scores into their rows; what they become is the second product's operand
 *     results += operand V
 * Behind the first sync all have read the V of the turn before, behind the second one B: there the
 * slots are free.  Each copy is a group of its own, an empty one too, so that the number of groups
 * behind the one that is waited for is the same in every turn.
 *
 * Where k is streamed there is one turn, whose scores are those of a `contract` kernel's steps.  */
#include "codegen/lower/lower.h"
#include "te/tree/arith.h"
#include <string.h>

static const Ring *ring_of(const Make *m, int product) { return contract_turns(&m->c[product]); }

/* Do a mask or slices decide on the turns of a block?  Then it has at least one.  */
static bool is_parted(const Make *m) { return lower_chain_cuts(m->l) || m->l->r->split > 1; }

/* ---- loads ---- */

static bool is_staged(const Side *s) { return !rprog_copies_chunks(s->l); }

static bool is_async(const Make *m) { return m->c[SCORES].async || m->c[RESULTS].async; }

static void add_commit(const Make *m) {
    if (is_async(m)) form_sync(m->b, SYNC_COPIES, SYNC_COMMIT, 0);
}

/* Rows of B or of V some turns ahead of `turn` (NULL: the first), if there are such.  */
typedef struct {
    int product;
    const char *turn;
    int ahead;
} Rows;

static const Side *side_of(const Make *m, const Rows *x) { return &m->c[x->product].side[1]; }

static bool is_sure(const Make *m, const Rows *x) {
    return !x->turn && x->ahead < m->l->form->least;
}

static void open_rows(const Make *m, const Rows *x) {
    lower_about(m, x->product);
    form_if(m->b, is_sure(m, x) ? WHEN_ALWAYS : WHEN_LEFT, x->ahead)->name = x->turn;
}

/* Begins to copy them, as a group.  */
static void begin_rows(const Make *m, const Rows *x) {
    open_rows(m, x);
    lower_load(m->b, side_of(m, x), false);
    form_add(m->b, NODE_VALUES, VALUES_NEXT_K);
    form_close(m->b);
    add_commit(m);
}

/* Those that wait in registers come to their slot; the next ones have the next.  */
static void end_rows(const Make *m, const Rows *x) {
    if (is_staged(side_of(m, x))) {
        open_rows(m, x);
        lower_keep(m->b, side_of(m, x));
        form_close(m->b);
    }
    lower_about(m, x->product);
    if (ring_of(m, x->product)->slots > 1)
        form_add(m->b, NODE_VALUES, VALUES_PUT);
}

static void add_rows(const Make *m, int product, int ahead) {
    Rows x = {product, NULL, ahead};
    begin_rows(m, &x);
    end_rows(m, &x);
}

/* What the turns before the first one would have begun.  */
static void add_fill(const Make *m) {
    int scores = ring_of(m, SCORES)->ahead, results = ring_of(m, RESULTS)->ahead;
    Node *node = form_sequence(m->b, "fill");
    node->note = "fill: the first turns";
    node->blank = true;
    lower_about(m, SCORES);
    lower_load(m->b, &m->c[SCORES].side[0], false);
    if (is_staged(&m->c[SCORES].side[0])) lower_keep(m->b, &m->c[SCORES].side[0]);
    for (int i = 0; i < scores; i++) {
        int turn = i - scores + results;
        if (turn >= 0) add_rows(m, RESULTS, turn);
        add_rows(m, SCORES, i);
    }
    form_close(m->b);
}

/* Copies of the turn are there, and all have read what those may write that begin now.  */
static void add_wait(const Make *m, int groups, const char *note) {
    form_sequence(m->b, "wait")->note = note;
    if (is_async(m)) form_sync(m->b, SYNC_COPIES, SYNC_WAIT, groups);
    form_block_sync(m->b);
    form_close(m->b);
}

/* ---- a turn ---- */

static void add_products(const Make *m, int product) {
    const Contract *c = &m->c[product];
    lower_about(m, product);
    Node *n = form_add(m->b, NODE_COMPUTE, 0);
    n->to = c->r->unroll;
    for (const Side *s = c->side; s < c->end; s++) {
        bool kept = s->stays && c->r->keep == KEEP_REGISTERS;
        if (s->made || kept) continue;
        form_reads(m->b, n, ROOM_STAGE, s->room->of)->data = s->stays ? OF_ANY : OF_STEP;
    }
}

static void add_take(const Make *m, int product) {
    lower_about(m, product);
    if (ring_of(m, product)->slots > 1)
        form_add(m->b, NODE_VALUES, VALUES_TAKE);
}

static void add_turn(const Make *m) {
    int scores = ring_of(m, SCORES)->slots, results = ring_of(m, RESULTS)->slots;
    Rows v = {RESULTS, "step", ring_of(m, RESULTS)->ahead};
    Rows b = {SCORES, "step", ring_of(m, SCORES)->ahead};
    add_wait(m, 2 * (scores - 1), "wait: rows of the turn");
    begin_rows(m, &v);
    lower_about(m, SCORES);
    form_add(m->b, NODE_VALUES, VALUES_CLEAR)->from = CLEAR_SUMS;
    add_products(m, SCORES);
    add_take(m, SCORES);
    end_rows(m, &v);
    add_wait(m, 2 * (results - 1), "wait: rows of the second product");
    begin_rows(m, &b);
    lower_about(m, SCORES);
    form_add(m->b, NODE_REDUCE, REDUCE_SCORES)->name = "step";
    form_add(m->b, NODE_VALUES, VALUES_OPERAND);
    add_products(m, RESULTS);
    add_take(m, RESULTS);
    end_rows(m, &b);
}

/* Fragments of A are read once.  */
static void add_kept(const Make *m) {
    if (m->c[SCORES].r->keep != KEEP_REGISTERS) return;
    int groups = ring_of(m, SCORES)->ahead + ring_of(m, RESULTS)->ahead;
    add_wait(m, groups - 1, "wait: the operand that stays");
    lower_about(m, SCORES);
    Node *n = form_add(m->b, NODE_VALUES, VALUES_KEEP);
    form_reads(m->b, n, ROOM_STAGE, 0);
}

static void add_turns(const Make *m) {
    lower_open_turns(m->b, &m->c[RESULTS], "step");
    add_turn(m);
    form_close(m->b);
}

static void add_address(const Make *m, int product, int side) {
    lower_about(m, product);
    form_add(m->b, NODE_VALUES, VALUES_ADDRESS)->of = side;
}

static void add_place(const Make *m) {
    lower_about(m, RESULTS);
    form_add(m->b, NODE_VALUES, VALUES_PLACE);
    lower_about(m, SCORES);
    if (is_parted(m) && !m->c[SCORES].stays) {
        if (m->c[RESULTS].ring) lower_wait(m);       /* a mask may read what was just made */
        form_add(m->b, NODE_VALUES, VALUES_COLUMNS);
    }
    form_add(m->b, NODE_VALUES, VALUES_PLACE);
}

static void add_begin(const Make *m) {
    add_address(m, SCORES, 0);
    add_address(m, SCORES, 1);
    add_address(m, RESULTS, 1);
    form_add(m->b, NODE_VALUES, VALUES_CLEAR);
    lower_about(m, SCORES);
    form_add(m->b, NODE_VALUES, VALUES_CLEAR)->from = CLEAR_OPERANDS;
    if (lower_chain_rows(m)) form_add(m->b, NODE_VALUES, VALUES_ROWS);
}

/* ---- the kernel ---- */

/* Where k is streamed: the first product as `contract` has it, of whole rows, then the second, for
 * which V is loaded before all.  */
static void add_stream(const Make *m) {
    const Side *v = &m->c[RESULTS].side[1];
    add_address(m, RESULTS, 1);
    form_add(m->b, NODE_VALUES, VALUES_CLEAR)->from = CLEAR_OPERANDS;
    lower_load(m->b, v, false);
    if (is_staged(v)) lower_keep(m->b, v);
    add_commit(m);
    lower_about(m, SCORES);
    if (lower_chain_rows(m)) form_add(m->b, NODE_VALUES, VALUES_ROWS);
    lower_stages(m);
    if (!m->c[SCORES].async) add_wait(m, 0, "wait: rows of the second product");
    lower_about(m, RESULTS);
    form_add(m->b, NODE_VALUES, VALUES_CLEAR)->from = CLEAR_SUMS;
    lower_about(m, SCORES);
    form_add(m->b, NODE_REDUCE, REDUCE_SCORES);
    form_add(m->b, NODE_VALUES, VALUES_OPERAND);
    add_products(m, RESULTS);
}

/* What each product computes.  Tiles of the last one are in the chain's order.  */
static Task *lower_tasks(FormBuilder *b, const Lowered *l) {
    Task *of = ARENA_ARRAY(b->arena, Task, l->layout->n_product);
    for (int i = 0; i < l->layout->n_product; i++) {
        const Contract *c = &l->layout->product[i];
        of[i] = (Task){.p = c->p, .r = c->r, .vec = c->r->store_vec};
        index_map(c->p, c->r, 0, &of[i].map);
    }
    IndexMap *map = &of[l->layout->n_product - 1].map;
    const IndexMap *chain = &l->task->map;
    memcpy(map->grid, chain->grid, sizeof map->grid);
    map->n_grid = chain->n_grid;
    map->down = chain->down;
    return of;
}

/* From the scores to the results.  */
static void add_kernel(const Make *m) {
    bool roles = m->c[RESULTS].ring, streams = rprog_chain_streams(m->l->p, m->l->r);
    if (streams) lower_count_steps(m->l->form, m->c);
    add_place(m);
    if (streams && roles) {
        lower_ring(m);
        lower_chain_behind(m);
    } else if (m->c[RESULTS].matrix.tensor) {
        lower_chain_tensor(m);
    } else if (roles) {
        lower_chain_roles(m);
    } else if (streams) {
        add_stream(m);
    } else {
        add_begin(m);
        add_fill(m);
        add_kept(m);
        add_turns(m);
    }
}

static void lower_turns(FormBuilder *b, Lowered *l) {
    const Contract *c = l->layout->product, *last = &c[RESULTS];
    Make make = {b, l, c}, *m = &make;
    lower_grid(b, l, KERNEL_CONTRACT);
    if (lower_empty(l->p)) return;
    if (c->ring) ring_maps(b->arena, l, &l->launch);
    l->task = lower_tasks(b, l);
    l->form->steps = last->slice;
    l->form->least = is_parted(m) || last->varying_k ? 1 : last->steps;
    add_kernel(m);
    lower_about(m, SCORES);
    if (lower_chain_rows(m)) form_add(b, NODE_VALUES, VALUES_FINISH);
    if (lower_chain_rows(m) && l->r->split > 1) form_add(b, NODE_STORE, STORE_LEAVE);
    lower_about(m, RESULTS);
    lower_results(b, l, last);
    if (last->stays && rprog_overlaps_between(l->r)) lower_computing_sync(b, last);
    lower_close_tiles(b, l, last);
    if (last->ring) form_close(b);
    lower_free_tensor(b, last);
    lower_part_blocks(b, c);
}

/* Slices meet at the second product's results.  */
static void lower_slices(FormBuilder *b, Lowered *l) {
    const Contract *last = &l->layout->product[RESULTS];
    Task *t = l->task;
    *t = (Task){.p = last->p, .r = last->r};
    index_map(t->p, t->r, 0, &t->map);
    lower_sums(b, l);
}

static void kernel(FormBuilder *b, Lowered *l, int number) {
    if (number == 0) lower_turns(b, l);
    else lower_slices(b, l);
}

const LowerRow lower_chain = {.kernel = kernel};
