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

enum { SCORES, RESULTS };                 /* the products */

typedef struct {
    FormBuilder *b;
    const Lowered *l;
    const Contract *c[2];
    bool parted;              /* a mask or slices decide on the turns of a block: at least one */
    int64_t least;            /* turns that every block has */
    bool rows;                /* reductions of the scores' rows stand between the products */
} Make;

static const Ring *ring_of(const Make *m, int product) { return contract_turns(m->c[product]); }

/* Nodes from here on are about that product.  */
static void about(const Make *m, int product) { m->b->product = product; }

/* ---- loads ---- */

static bool is_staged(const Side *s) { return !rprog_copies_chunks(s->l); }

/* A tile to its slot, or to registers that wait for it.  */
static void add_load(const Make *m, const Side *s) {
    Node *n = form_add(m->b, NODE_COPY, 0);
    n->of = s->side;
    n->mover = s->l->mover;
    n->done = s->room->filled;
    Use *u = form_writes(m->b, n, is_staged(s) ? ROOM_STAGED : ROOM_STAGE, s->room->of);
    u->data = s->stays ? OF_ANY : OF_NEXT;
    u->late = n->done != DONE_AT_ONCE;
    if (is_staged(s)) u->share = SHARE_THREAD;
}

/* What waits in registers, to its slot.  */
static void add_keep(const Make *m, const Side *s) {
    Node *n = form_add(m->b, NODE_COPY, 0);
    n->of = s->side;
    n->to = 1;
    n->mover = s->l->mover;
    form_reads(m->b, n, ROOM_STAGED, s->room->of)->share = SHARE_THREAD;
    form_writes(m->b, n, ROOM_STAGE, s->room->of)->data = OF_KEPT;
}

static bool is_async(const Make *m) { return m->c[SCORES]->async || m->c[RESULTS]->async; }

static void add_commit(const Make *m) {
    if (is_async(m)) form_sync(m->b, SYNC_COPIES, SYNC_COMMIT, 0);
}

/* Rows of B or of V some turns ahead of `turn` (NULL: the first), if there are such.  */
typedef struct {
    int product;
    const char *turn;
    int ahead;
} Rows;

static const Side *side_of(const Make *m, const Rows *x) { return &m->c[x->product]->side[1]; }

static bool is_sure(const Make *m, const Rows *x) {
    return !x->turn && x->ahead < m->least;
}

static void open_rows(const Make *m, const Rows *x) {
    about(m, x->product);
    form_if(m->b, is_sure(m, x) ? WHEN_ALWAYS : WHEN_LEFT, x->ahead)->name = x->turn;
}

/* Begins to copy them, as a group.  */
static void begin_rows(const Make *m, const Rows *x) {
    open_rows(m, x);
    add_load(m, side_of(m, x));
    form_add(m->b, NODE_VALUES, VALUES_NEXT_K);
    form_close(m->b);
    add_commit(m);
}

/* Those that wait in registers come to their slot; the next ones have the next.  */
static void end_rows(const Make *m, const Rows *x) {
    if (is_staged(side_of(m, x))) {
        open_rows(m, x);
        add_keep(m, side_of(m, x));
        form_close(m->b);
    }
    about(m, x->product);
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
    about(m, SCORES);
    add_load(m, &m->c[SCORES]->side[0]);
    if (is_staged(&m->c[SCORES]->side[0])) add_keep(m, &m->c[SCORES]->side[0]);
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
    const Contract *c = m->c[product];
    about(m, product);
    Node *n = form_add(m->b, NODE_COMPUTE, 0);
    n->to = c->r->unroll;
    for (int i = 0; i < c->n_side; i++) {
        const Side *s = &c->side[i];
        bool kept = s->stays && c->r->keep == KEEP_REGISTERS;
        if (s->made || kept) continue;
        form_reads(m->b, n, ROOM_STAGE, s->room->of)->data = s->stays ? OF_ANY : OF_STEP;
    }
}

static void add_take(const Make *m, int product) {
    about(m, product);
    if (ring_of(m, product)->slots > 1)
        form_add(m->b, NODE_VALUES, VALUES_TAKE);
}

static void add_turn(const Make *m) {
    int scores = ring_of(m, SCORES)->slots, results = ring_of(m, RESULTS)->slots;
    Rows v = {RESULTS, "step", ring_of(m, RESULTS)->ahead};
    Rows b = {SCORES, "step", ring_of(m, SCORES)->ahead};
    add_wait(m, 2 * (scores - 1), "wait: rows of the turn");
    begin_rows(m, &v);
    about(m, SCORES);
    form_add(m->b, NODE_VALUES, VALUES_CLEAR)->from = CLEAR_SUMS;
    add_products(m, SCORES);
    add_take(m, SCORES);
    end_rows(m, &v);
    add_wait(m, 2 * (results - 1), "wait: rows of the second product");
    begin_rows(m, &b);
    about(m, SCORES);
    form_add(m->b, NODE_REDUCE, REDUCE_SCORES)->name = "step";
    form_add(m->b, NODE_VALUES, VALUES_OPERAND);
    add_products(m, RESULTS);
    add_take(m, RESULTS);
    end_rows(m, &b);
}

/* Fragments of A are read once.  */
static void add_kept(const Make *m) {
    if (m->c[SCORES]->r->keep != KEEP_REGISTERS) return;
    int groups = ring_of(m, SCORES)->ahead + ring_of(m, RESULTS)->ahead;
    add_wait(m, groups - 1, "wait: the operand that stays");
    about(m, SCORES);
    Node *n = form_add(m->b, NODE_VALUES, VALUES_KEEP);
    form_reads(m->b, n, ROOM_STAGE, 0);
}

static void add_turns(const Make *m) {
    Node *n = form_open(m->b, NODE_LOOP, LOOP_STEPS);
    n->loop = (Loop){.var = "step", .count = m->c[RESULTS]->slice, .by = 1, .unroll = 1};
    add_turn(m);
    form_close(m->b);
}

static void add_address(const Make *m, int product, int side) {
    about(m, product);
    form_add(m->b, NODE_VALUES, VALUES_ADDRESS)->of = side;
}

static void add_place(const Make *m) {
    about(m, RESULTS);
    form_add(m->b, NODE_VALUES, VALUES_PLACE);
    about(m, SCORES);
    if (m->parted && !m->c[SCORES]->stays) form_add(m->b, NODE_VALUES, VALUES_COLUMNS);
    form_add(m->b, NODE_VALUES, VALUES_PLACE);
}

static void add_begin(const Make *m) {
    add_address(m, SCORES, 0);
    add_address(m, SCORES, 1);
    add_address(m, RESULTS, 1);
    form_add(m->b, NODE_VALUES, VALUES_CLEAR);
    about(m, SCORES);
    form_add(m->b, NODE_VALUES, VALUES_CLEAR)->from = CLEAR_OPERANDS;
    if (m->rows) form_add(m->b, NODE_VALUES, VALUES_ROWS);
}

/* ---- the kernel ---- */

/* Where k is streamed: the first product as `contract` has it, of whole rows, then the second, for
 * which V is loaded before all.  */
static void add_stream(const Make *m) {
    const Side *v = &m->c[RESULTS]->side[1];
    add_address(m, RESULTS, 1);
    form_add(m->b, NODE_VALUES, VALUES_CLEAR)->from = CLEAR_OPERANDS;
    add_load(m, v);
    if (is_staged(v)) add_keep(m, v);
    add_commit(m);
    about(m, SCORES);
    if (m->rows) form_add(m->b, NODE_VALUES, VALUES_ROWS);
    lower_stages(m->b, m->l, m->c[SCORES]);
    if (!m->c[SCORES]->async) add_wait(m, 0, "wait: rows of the second product");
    about(m, RESULTS);
    form_add(m->b, NODE_VALUES, VALUES_CLEAR)->from = CLEAR_SUMS;
    about(m, SCORES);
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

static void lower_turns(FormBuilder *b, Lowered *l) {
    const Contract *c = l->layout->product, *last = &c[RESULTS];
    lower_grid(b, l, KERNEL_CONTRACT);
    if (lower_empty(l->p)) return;
    const ColumnBounds *x = &l->p->group->chain->bounds;
    if (c->ring) ring_maps(b->arena, l, &l->launch);
    bool bounded = x->n_from > 0 || x->n_to > 0;
    l->task = lower_tasks(b, l);
    bool parted = bounded || l->r->split > 1;
    int64_t least = parted || last->varying_k ? 1 : last->steps;
    Make make = {b, l, {c, last}, parted, least,
                 l->p->group->chain->rows != NULL}, *m = &make;
    l->form->steps = last->slice;
    l->form->least = least;
    bool roles = last->ring, streams = rprog_chain_streams(l->p, l->r);
    if (streams) lower_count_steps(l->form, c);
    add_place(m);
    if (streams && roles) {
        lower_ring(b, l, c, last);
        lower_chain_behind(b, l, last);
    } else if (last->matrix.tensor) {
        lower_chain_tensor(b, l, last);
    } else if (roles) {
        double by;
        lower_chain_roles(b, l, last, chain_scales(l->p->te, l->p->group, &by));
    } else if (streams) {
        add_stream(m);
    } else {
        add_begin(m);
        add_fill(m);
        add_kept(m);
        add_turns(m);
    }
    about(m, SCORES);
    if (m->rows) form_add(b, NODE_VALUES, VALUES_FINISH);
    if (m->rows && l->r->split > 1) form_add(b, NODE_STORE, STORE_LEAVE);
    about(m, RESULTS);
    lower_results(b, l, last);
    if (last->stays && rprog_overlaps_between(l->r)) lower_computing_sync(b, last);
    if (last->stays) lower_close_tiles(b, last);
    if (roles) form_close(b);
    lower_free_tensor(b, last);
}

/* Slices meet at the second product's results.  */
static void lower_slices(FormBuilder *b, Lowered *l) {
    const Contract *last = &l->layout->product[RESULTS];
    Task *t = l->task;
    *t = (Task){.p = last->p, .r = last->r};
    index_map(t->p, t->r, 0, &t->map);
    lower_sums(b, l);
}

static int kernels(const Problem *p, const RProg *r) {
    (void)p;
    return r->split > 1 ? 2 : 1;
}

static void kernel(FormBuilder *b, Lowered *l, int number) {
    if (number == 0) lower_turns(b, l);
    else lower_slices(b, l);
}

const LowerRow lower_chain = {.kernels = kernels, .kernel = kernel};
