#include "codegen/lower/lower.h"
#include "te/tree/arith.h"

/* Kernels in which some warps fill rings by boxes, and the others use what is in them.  A slot has
 * two barriers in shared memory: FULL, which its copies complete, and EMPTY, at which every warp
 * that computes arrives when its products of the slot are done.  */

/* Named barriers: of the warps that compute; of those that take turns, the first one's.  */
enum { COMPUTING = 1, TURN = 2 };

static RingWarps using(const Contract *c) { return c->layout->ring[c->sums].use; }

Sync *lower_barrier(FormBuilder *b, SyncOp op, int ring, int id) {
    Sync *s = &form_sync(b, SYNC_BARRIER, op, 0)->sync;
    s->ring = ring;
    s->id = id;
    return s;
}

void lower_open_tiles(FormBuilder *b, const Lowered *l) {
    Node *n = form_open(b, NODE_LOOP, LOOP_TILES);
    n->loop = (Loop){.count = ceil_div(rprog_blocks(l->p, l->r), l->launch.grid[0]),
                     .in_turn = rprog_in_turn(l->r) > 1};
    n->from = l->r->tail > 0;
    n->to = l->p->chain && rprog_chain_parted(l->p, l->r);
}

int lower_pair(const Contract *c) { return c->matrix.blocks > 1 ? c->matrix.blocks : 0; }

void lower_fill(FormBuilder *b, const Contract *c, int ring) {
    Sync *full = lower_barrier(b, SYNC_ARRIVE, ring, RING_FULL);
    full->bytes = b->layout->ring[ring].bytes;
    full->pair = lower_pair(c);
    for (int side = 0; side < c->n_side; side++) {
        const Side *s = &c->side[side];
        if (s->made || s->ring != ring) continue;
        Node *n = form_add(b, NODE_COPY, 0);
        n->of = side;
        n->mover = s->l->mover;
        n->done = s->room->filled;
        n->ring = ring;
        n->bytes = s->room->bytes;
        Use *u = form_writes(b, n, ROOM_STAGE, s->room->of);
        u->data = !s->stays ? OF_NEXT : ring_counts(&b->layout->ring[ring]) ? OF_PUT : OF_ANY;
        u->late = true;
    }
}

Node *lower_computing_sync(FormBuilder *b, const Contract *c) {
    Node *n = form_sync(b, SYNC_NAMED, SYNC_BOTH, using(c).warps * 32);
    n->sync.id = COMPUTING;
    return n;
}

void lower_barriers(FormBuilder *b, const Lowered *l) {
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

void lower_open_filling(FormBuilder *b, const Lowered *l) {
    int first = using(l->layout->product).warps;
    open_role(b, l, (Role){.name = "copies", .first = first, .warps = l->r->threads / WARP - first,
                           .teams = 1, .fewer = true});
}

void lower_open_part(FormBuilder *b, const char *name, RingWarps of) {
    form_open(b, NODE_ROLE, 0)->role =
        (Role){.name = name, .first = of.first, .warps = of.warps, .teams = 1};
}

void lower_open_using(FormBuilder *b, const Lowered *l, int teams) {
    const Contract *c = l->layout->product;
    RingWarps use = using(c);
    const char *name = c->matrix.tensor ? "results" : "products";
    open_role(b, l, (Role){.name = name, .first = use.first, .warps = use.warps,
                           .teams = teams});
}

void lower_turn(FormBuilder *b, const Lowered *l, SyncOp op) {
    int two = 2 * rprog_team(l->dev, l->r) * WARP;        /* who waits, and the one before */
    Node *n = form_sync(b, SYNC_NAMED, op, two);
    n->sync.id = TURN;
    n->sync.team = op == SYNC_BOTH ? TEAM_OWN : TEAM_OTHER;
    n->when = op == SYNC_BOTH ? WHEN_AGAIN : WHEN_FOLLOWED;
}
