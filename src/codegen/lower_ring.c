#include "codegen/blocks.h"

/* The form of `contract` kernels whose stages some warps of their own fill.  A stage has two
 * barriers in shared memory: FULL, which its copies complete, and EMPTY, at which every warp that
 * computes arrives when its products of the stage are done.  */

enum { FULL, EMPTY };
enum { COMPUTING = 1 };       /* the named barrier of the warps that do */

static int computing(const Lowered *l) { return rprog_computing(l->dev, l->r) / 32; }

static Sync *add_barrier(FormBuilder *b, SyncOp op, int id, RoomAt at) {
    Sync *s = &form_sync(b, SYNC_BARRIER, op, 0)->sync;
    s->id = id;
    s->at = at;
    return s;
}

void lower_computing_sync(FormBuilder *b, const Lowered *l) {
    form_sync(b, SYNC_NAMED, SYNC_BOTH, computing(l) * 32)->sync.id = COMPUTING;
}

static void open_role(FormBuilder *b, const char *name, int first, int warps, int registers,
                      bool fewer) {
    form_open(b, NODE_ROLE, 0)->role =
        (Role){.name = name, .first = first, .warps = warps, .registers = registers,
               .fewer = fewer};
}

static void open_steps(FormBuilder *b, const Contract *c, const char *var) {
    if (c->may_be_empty) form_if(b, WHEN_STEPS, 0);
    form_open(b, NODE_LOOP, LOOP_STEPS)->loop =
        (Loop){.var = var, .count = c->slice, .by = 1, .unroll = 1};
}

static void close_steps(FormBuilder *b, const Contract *c) {
    form_close(b);
    if (c->may_be_empty) form_close(b);
}

static void add_copies(FormBuilder *b, const Lowered *l) {
    const Contract *c = l->contract;
    form_if(b, WHEN_ONE, 0)->from = computing(l);
    form_add(b, NODE_VALUES, VALUES_MAPS);
    open_steps(b, c, "done");
    add_barrier(b, SYNC_WAIT, EMPTY, AT_PUT)->primed = true;
    add_barrier(b, SYNC_ARRIVE, FULL, AT_PUT)->bytes = c->stage;
    for (int side = 0; side < 2; side++) {
        Node *n = form_add(b, NODE_COPY, 0);
        n->of = side;
        n->mover = l->r->load[side].mover;
        n->done = DONE_BARRIER;
        n->barrier = FULL;
        n->bytes = rprog_tile_bytes(l->p, l->dev, l->r, side);
        Use *u = form_writes(b, n, ROOM_STAGE, side);
        u->at = AT_PUT;
        u->data = OF_STEP;
        u->late = true;
    }
    form_add(b, NODE_VALUES, VALUES_NEXT_K);
    close_steps(b, c);
    form_close(b);
}

/* Products of one step are under way while the next stage is waited for; then the stage of those
 * is free.  With one stage it has to be before, and where the sums of a step join others.  */
static void add_products(FormBuilder *b, const Lowered *l) {
    const Contract *c = l->contract;
    bool promotes = c->matrix.promotes;
    int under_way = l->r->stages > 1 && !promotes;
    form_add(b, NODE_VALUES, VALUES_CLEAR);
    if (!promotes) form_add(b, NODE_VALUES, VALUES_SETTLE);
    open_steps(b, c, "taken");
    if (promotes) {
        form_add(b, NODE_VALUES, VALUES_PARTIAL);
        form_add(b, NODE_VALUES, VALUES_SETTLE);
    }
    add_barrier(b, SYNC_WAIT, FULL, AT_TAKE);
    Node *n = form_add(b, NODE_COMPUTE, 0);
    n->to = l->r->unroll;
    n->done = DONE_PRODUCTS;
    for (int side = 0; side < 2; side++) {
        Use *u = form_reads(b, n, ROOM_STAGE, side);
        u->at = AT_TAKE;
        u->data = OF_STEP;
        u->late = true;
    }
    form_sync(b, SYNC_PRODUCTS, SYNC_COMMIT, 0);
    form_sync(b, SYNC_PRODUCTS, SYNC_WAIT, under_way);
    Sync *s = add_barrier(b, SYNC_ARRIVE, EMPTY, AT_TAKE);
    s->by = BY_WARPS;
    s->lag = under_way;
    s->blocks = l->r->cluster > 1 ? l->r->cluster : 0;
    if (promotes) {
        form_add(b, NODE_VALUES, VALUES_SETTLE);
        form_add(b, NODE_VALUES, VALUES_PROMOTE);
    }
    close_steps(b, c);
    if (under_way) form_sync(b, SYNC_PRODUCTS, SYNC_WAIT, 0);
    if (!promotes) form_add(b, NODE_VALUES, VALUES_SETTLE);
}

void lower_ring(FormBuilder *b, Lowered *l) {
    int few, many, warps = computing(l), all = l->r->threads / 32;
    bool moved = rprog_ring_registers(l->p, l->dev, l->r, &few, &many);
    ring_maps(b->arena, l->contract, &l->launch);
    Node *part = form_part(b, "barriers");
    part->note = "barriers: of each stage, for copies that are done and for reads that are";
    part->blank = true;
    add_barrier(b, SYNC_INIT, FULL, AT_ONLY)->count = 1;
    add_barrier(b, SYNC_INIT, EMPTY, AT_ONLY)->count = warps * rprog_cluster(l->r);
    form_sync(b, SYNC_PROXY, SYNC_BOTH, 0);
    if (l->r->cluster > 1) form_sync(b, SYNC_CLUSTER, SYNC_BOTH, 0);
    else form_block_sync(b);
    form_close(b);
    open_role(b, "copies", warps, all - warps, moved ? few : 0, true);
    add_copies(b, l);
    form_close(b);
    open_role(b, "products", 0, warps, moved ? many : 0, false);
    add_products(b, l);
}
