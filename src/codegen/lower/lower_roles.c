#include "codegen/lower/lower.h"
#include "te/tree/arith.h"

/* Kernels in which some warps fill rings by boxes, and the others use what is in them.  A slot has
 * two barriers in shared memory: FULL, which its copies complete, and EMPTY, at which every warp
 * that computes arrives when its products of the slot are done.  Where results lie in Tensor Memory
 * one thread issues the products of all warps; scales of blocks have a warp of their own.  */

/* Named barriers: of the warps that compute a tile, of which two teams have one each; of those that
 * take turns, the first one's.  */
enum { COMPUTING = 1, TURN = 3 };

static RingWarps using(const Contract *c) { return c->layout->ring[c->sums].use; }

void lower_open_tiles(FormBuilder *b, const Lowered *l) {
    Node *n = form_open(b, NODE_LOOP, LOOP_TILES);
    n->loop = (Loop){.count = ceil_div(rprog_blocks(l->p, l->r), l->launch.grid[0]),
                     .in_turn = rprog_in_turn(l->r) > 1 && !l->form->passes};
    n->from = l->r->tail > 0;
    n->to = l->p->chain && rprog_chain_parted(l->p, l->r);
}

void lower_open_columns(const Make *m, int pass, int teams) {
    Node *n = form_open(m->b, NODE_LOOP, LOOP_COLUMNS);
    n->loop = (Loop){.count = rprog_tiles(m->l->p, m->l->r, AX_N)};
    n->from = pass;
    n->to = teams;
    if (!m->c->ring) form_block_sync(m->b);               /* of the turn before */
    form_add(m->b, NODE_VALUES, VALUES_TURN)->from = !m->c->ring;
}

Node *lower_computing_sync(FormBuilder *b, const Contract *c) {
    int teams = rprog_in_turn(c->r);
    Node *n = form_sync(b, SYNC_NAMED, SYNC_BOTH, using(c).warps / teams * WARP);
    n->sync.id = COMPUTING;
    if (teams > 1) n->sync.team = TEAM_OWN;
    return n;
}

static void add_barriers(FormBuilder *b, const Lowered *l) {
    Node *node = form_sequence(b, "barriers");
    node->note = "barriers: of each slot, for copies that are done and for reads that are";
    node->blank = true;
    for (int r = 0; r < l->layout->n_ring; r++) {
        const Ring *x = &l->layout->ring[r];
        for (int i = 0; i < RING_BARRIERS; i++)
            if (x->arrivals[i] > 0) lower_barrier(b, SYNC_INIT, r, i)->count = x->arrivals[i];
    }
    form_sync(b, SYNC_PROXY, SYNC_BOTH, 0);
    if (l->r->cluster > 1) form_sync(b, SYNC_CLUSTER, SYNC_BOTH, 0);
    else form_block_sync(b);
    form_close(b);
}

/* Registers go from warps that fill to those that use, where these have too few.  */
static void open_role(FormBuilder *b, const Lowered *l, Role role) {
    int few, many;
    bool moved = rprog_ring_registers(l->p, l->dev, l->r, &few, &many);
    if (moved) role.registers = role.fewer ? few : many;
    form_open(b, NODE_ROLE, 0)->role = role;
}

static void add_part(const Make *m, const char *name, RingWarps of, void (*make)(const Make *m)) {
    form_open(m->b, NODE_ROLE, 0)->role =
        (Role){.name = name, .first = of.first, .warps = of.warps, .teams = 1};
    make(m);
    form_close(m->b);
}

/* Those that do not have results.  */
static void add_filling(const Make *m, const Roles *of) {
    const Ring *turns = contract_turns(m->c);
    int first = using(m->c).warps;
    open_role(m->b, m->l, (Role){.name = "copies", .first = first,
                                 .warps = m->l->r->threads / WARP - first, .teams = 1,
                                 .fewer = true});
    bool tensor = m->c->matrix.tensor, scales = m->c->scaled || m->c->matrix.stages_scales;
    if (tensor || scales) {
        add_part(m, "boxes", turns->fill, of->copies);
        if (tensor) add_part(m, "products", turns->use, of->products);
        if (scales) add_part(m, "scales", turns->scales, of->scales);
    } else {
        of->copies(m);
    }
    form_close(m->b);
}

void lower_wait(const Make *m) {
    if (!m->l->waits || m->l->form->wait) return;
    form_if(m->b, WHEN_ONE, 0)->from = contract_turns(m->c)->fill.first;
    form_add(m->b, NODE_VALUES, VALUES_MAPS)->from = 1;
    form_close(m->b);
    form_wait(m->b, m->l->form);
}

void lower_roles(const Make *m, const Roles *of, int teams) {
    bool tensor = m->c->matrix.tensor;
    RingWarps use = using(m->c);
    if (tensor) lower_tensor(m->b, TENSOR_TAKE);
    add_barriers(m->b, m->l);
    if (tensor) lower_tensor(m->b, TENSOR_FIND);
    lower_wait(m);
    add_filling(m, of);
    open_role(m->b, m->l, (Role){.name = tensor ? "results" : "products", .first = use.first,
                                 .warps = use.warps, .teams = teams});
    of->results(m);
}

void lower_turn(FormBuilder *b, const Lowered *l, SyncOp op) {
    int two = 2 * rprog_team(l->dev, l->r) * WARP;        /* who waits, and the one before */
    Node *n = form_sync(b, SYNC_NAMED, op, two);
    n->sync.id = TURN;
    n->sync.team = op == SYNC_BOTH ? TEAM_OWN : TEAM_OTHER;
    n->when = op == SYNC_BOTH ? WHEN_AGAIN : WHEN_FOLLOWED;
}
