#include "codegen/lower/lower.h"

/* The form of `contract` kernels whose stages some warps of their own fill.  A stage has two
 * barriers in shared memory: FULL, which its copies complete, and EMPTY, at which every warp that
 * computes arrives when its products of the stage are done.  */

/* Tiles of a block that stays.  */
static void open_tiles(FormBuilder *b, const Lowered *l, const Contract *c) {
    if (!c->stays) return;
    lower_open_tiles(b, l);
    form_add(b, NODE_VALUES, VALUES_TILE);
}

/* What there is only where there are steps.  */
static void open_some(FormBuilder *b, const Contract *c) {
    if (c->may_be_empty) form_if(b, WHEN_STEPS, 0);
}

/* Stages that are used are freed `lag` steps behind.  */
static void open_steps(FormBuilder *b, const Contract *c, bool fills, int lag) {
    Node *n = form_add(b, NODE_VALUES, VALUES_RING);
    n->from = !fills;
    n->to = lag;
    form_open(b, NODE_LOOP, LOOP_STEPS)->loop =
        (Loop){.var = fills ? "done" : "taken", .count = c->slice, .by = 1, .unroll = 1};
}

/* The operand of the next product that the block has from its begin to its end.  */
static void add_resident(FormBuilder *b, const Contract *next) {
    int product = b->product;
    b->product = next->number;
    form_add(b, NODE_VALUES, VALUES_RING)->ring = next->turns;
    lower_fill(b, next, next->turns);
    b->product = product;
}

static void add_copies(FormBuilder *b, const Lowered *l, const Contract *c,
                       const Contract *next) {
    form_if(b, WHEN_ONE, 0)->from = contract_turns(c)->fill.first;
    form_add(b, NODE_VALUES, VALUES_MAPS)->to = l->waits;
    if (next) add_resident(b, next);
    open_tiles(b, l, c);
    open_some(b, c);
    open_steps(b, c, true, 0);
    lower_barrier(b, SYNC_WAIT, c->turns, RING_EMPTY)->primed = true;
    lower_fill(b, c, c->turns);
    form_add(b, NODE_VALUES, VALUES_NEXT_K);
    form_add(b, NODE_VALUES, VALUES_PUT);
    form_close(b);
    if (c->may_be_empty) form_close(b);
    if (c->stays) form_close(b);
    form_close(b);
}

/* The stage of the step before the last one, or of the last one, is free.  */
static Node *add_free(FormBuilder *b, const Contract *c, int lag) {
    Node *n = form_sync(b, SYNC_BARRIER, SYNC_ARRIVE, 0);
    n->sync.id = RING_EMPTY;
    n->sync.ring = c->turns;
    n->sync.by = BY_WARPS;
    n->sync.lag = lag;
    n->sync.blocks = c->r->cluster > 1 ? c->r->cluster : 0;
    return n;
}

/* Warpgroups in turn: the products of a tile follow those of the one before, by the other's
 * threads.  Without that a stage's parity could be that of the round before.  */
static void add_turn(FormBuilder *b, const Lowered *l, SyncOp op) {
    if (rprog_in_turn(l->r) > 1) lower_turn(b, l, op);
}

static void read_slot(FormBuilder *b, Node *n, RoomKind kind, int side, bool late) {
    Use *u = form_reads(b, n, kind, side);
    u->data = OF_TAKEN;
    u->late = late;
}

static void read_stage(FormBuilder *b, Node *n, int side, bool late) {
    read_slot(b, n, ROOM_STAGE, side, late);
}

static Use *own_registers(Use *u) {
    u->data = OF_TAKEN;
    u->share = SHARE_THREAD;
    return u;
}

/* A step whose first operand is made in registers, slice by slice: those of a slice are made again
 * when its products of the step before are done.  */
static void add_slices(FormBuilder *b, const Lowered *l, const Contract *c, int made) {
    int tk = c->r->thread.extent[AX_K], slices = c->r->block.extent[AX_K] / tk;
    Node *n = form_add(b, NODE_COPY, 0);
    n->of = made;
    n->mover = -1;
    read_stage(b, n, made, false);
    own_registers(form_writes(b, n, ROOM_STAGED, made));
    n = form_open(b, NODE_LOOP, LOOP_COUNTED);
    n->loop = (Loop){.var = "kk", .warp_k = true, .of = TURNS_BODIES, .count = slices, .by = tk};
    n = form_add(b, NODE_COPY, 0);
    n->of = made;
    n->mover = -1;
    own_registers(form_reads(b, n, ROOM_STAGED, made));
    own_registers(form_writes(b, n, ROOM_FRAGMENTS, made));
    n = form_add(b, NODE_COMPUTE, COMPUTE_SLICE);
    n->to = tk;
    n->done = DONE_PRODUCTS;
    own_registers(form_reads(b, n, ROOM_FRAGMENTS, made))->late = true;
    read_stage(b, n, !made, true);
    form_sync(b, SYNC_PRODUCTS, SYNC_COMMIT, 0);
    form_sync(b, SYNC_PRODUCTS, SYNC_WAIT, slices - 1);
    form_close(b);
    l->form->bodies = slices;
}

/* Tensor Memory is taken before the block's threads meet, and found behind that.  */
Node *lower_tensor(FormBuilder *b, int part) {
    Node *n = form_add(b, NODE_VALUES, VALUES_TENSOR);
    n->from = part;
    return n;
}

/* A warp reads scales of blocks from global memory, those of a step while it waits for a slot of
 * the step before, and writes them where the unit finds them.  */
static void add_scales(FormBuilder *b, const Lowered *l, const Contract *c) {
    open_tiles(b, l, c);
    open_some(b, c);
    form_add(b, NODE_VALUES, VALUES_SCALES)->from = SCALES_FIRST;
    open_steps(b, c, true, 0);
    form_add(b, NODE_VALUES, VALUES_SCALES)->from = SCALES_NEXT;
    lower_barrier(b, SYNC_WAIT, c->turns, RING_EMPTY)->primed = true;
    Node *n = form_add(b, NODE_VALUES, VALUES_SCALES);
    n->from = SCALES_STAGE;
    for (int side = 0; side < c->n_side; side++)
        form_writes(b, n, ROOM_SCALES, c->side[side].number)->data = OF_PUT;
    form_sync(b, SYNC_PROXY, SYNC_BOTH, 0);
    form_sync(b, SYNC_WARP, SYNC_BOTH, 0);
    Sync *filled = lower_barrier(b, SYNC_ARRIVE, c->turns, RING_FULL);
    filled->by = BY_WARPS;
    filled->pair = lower_pair(c);
    form_add(b, NODE_VALUES, VALUES_SCALES)->from = SCALES_TURN;
    form_add(b, NODE_VALUES, VALUES_PUT);
    form_close(b);
    if (c->may_be_empty) form_close(b);
    if (c->stays) form_close(b);
}

/* What waits for the end of the products that are issued: it is told in all blocks of the unit's
 * pair, or of a cluster.  */
void lower_commit(FormBuilder *b, const Contract *c, int ring, int id, int blocks) {
    Sync *s = lower_barrier(b, SYNC_COMMIT, ring, id);
    s->by = BY_THREADS;
    s->blocks = blocks;
    s->pair = lower_pair(c);
}

/* One thread issues the products of all warpgroups, whose sums lie in Tensor Memory, of both blocks
 * of a pair.  It waits for stages that are full and for accumulators that are empty, and for
 * nothing else: its products free a stage, and fill accumulators, when they end.  */
static void add_issued(FormBuilder *b, const Lowered *l, const Contract *c) {
    int pair = lower_pair(c);
    if (pair) form_if(b, WHEN_LEADS, 0);
    form_if(b, WHEN_ONE, 0)->from = contract_turns(c)->use.first;
    form_add(b, NODE_VALUES, VALUES_CLEAR)->from = CLEAR_OPERANDS;
    form_add(b, NODE_VALUES, VALUES_RING)->ring = c->sums;
    open_tiles(b, l, c);
    open_some(b, c);
    if (c->stays) lower_barrier(b, SYNC_WAIT, c->sums, RING_EMPTY)->primed = true;
    form_sync(b, SYNC_TENSOR, SYNC_WAIT, 0);
    open_steps(b, c, false, 0);
    form_add(b, NODE_VALUES, VALUES_STAGE);
    lower_barrier(b, SYNC_WAIT, c->turns, RING_FULL);
    Node *n = form_add(b, NODE_COMPUTE, COMPUTE_STEP);
    n->to = c->r->unroll;
    n->done = DONE_PRODUCTS;
    for (int side = 0; side < c->n_side; side++) {
        read_stage(b, n, side, true);
        if (c->scaled) read_slot(b, n, ROOM_SCALES, side, true);
    }
    Use *u = form_writes(b, n, ROOM_ACCUMULATORS, 0);
    u->data = OF_PUT;
    u->late = true;
    lower_commit(b, c, c->turns, RING_EMPTY, c->r->cluster);
    form_add(b, NODE_VALUES, VALUES_TAKE);
    form_close(b);
    lower_commit(b, c, c->sums, RING_FULL, pair);
    form_add(b, NODE_VALUES, VALUES_PUT)->ring = c->sums;
    if (c->may_be_empty) form_close(b);
    if (c->stays) form_close(b);
    form_close(b);
    if (pair) form_close(b);
}

/* Sums of a tile come to registers, and others may take their place.  */
static void add_sums(FormBuilder *b, const Lowered *l, const Contract *c) {
    Node *n = form_add(b, NODE_VALUES, VALUES_RING);
    n->ring = c->sums;
    n->from = true;
    open_tiles(b, l, c);
    n = form_add(b, NODE_VALUES, VALUES_CLEAR);
    n->from = CLEAR_SUMS;
    n->begins = !c->may_be_empty;
    open_some(b, c);
    lower_barrier(b, SYNC_WAIT, c->sums, RING_FULL);
    form_sync(b, SYNC_TENSOR, SYNC_WAIT, 0);
    form_reads(b, lower_tensor(b, TENSOR_LOAD), ROOM_ACCUMULATORS, 0)->data = OF_TAKEN;
    form_sync(b, SYNC_TENSOR, SYNC_ARRIVE, 0);
    if (c->stays) {
        form_sync(b, SYNC_WARP, SYNC_BOTH, 0);    /* one lane tells of what all have read */
        Sync *emptied = lower_barrier(b, SYNC_ARRIVE, c->sums, RING_EMPTY);
        emptied->by = BY_WARPS;
        emptied->pair = lower_pair(c);
        form_add(b, NODE_VALUES, VALUES_TAKE)->ring = c->sums;
    }
    if (c->may_be_empty) form_close(b);
}

/* Those that copy are joined by one that multiplies, and by one that brings scales.  */
static void add_parts(FormBuilder *b, const Lowered *l, const Contract *c) {
    lower_open_part(b, "boxes", contract_turns(c)->fill);
    add_copies(b, l, c, NULL);
    form_close(b);
    lower_open_part(b, "products", contract_turns(c)->use);
    add_issued(b, l, c);
    form_close(b);
    if (!c->scaled) return;
    lower_open_part(b, "scales", contract_turns(c)->scales);
    add_scales(b, l, c);
    form_close(b);
}

void lower_free_tensor(FormBuilder *b, const Contract *c) {
    if (!c->matrix.tensor) return;
    if (c->r->cluster > 1) form_sync(b, SYNC_CLUSTER, SYNC_BOTH, 0);
    else form_block_sync(b);
    form_sync(b, SYNC_TENSOR, SYNC_WAIT, 0);
    lower_tensor(b, TENSOR_FREE);
}

/* Products of one step are under way while the next stage is waited for; then the stage of those
 * is free.  With one stage it has to be before, and where the sums of a step join others.  */
static void add_products(FormBuilder *b, const Lowered *l, const Contract *c, bool rows) {
    bool promotes = c->matrix.promotes;
    int under_way = c->r->stages > 1 && !promotes;
    open_tiles(b, l, c);
    if (rows) form_add(b, NODE_VALUES, VALUES_ROWS);
    form_add(b, NODE_VALUES, VALUES_CLEAR);
    if (c->side[0].l->raw || c->side[1].l->raw) form_add(b, NODE_VALUES, VALUES_BESIDE);
    if (!promotes) form_add(b, NODE_VALUES, VALUES_SETTLE);
    open_some(b, c);
    add_turn(b, l, SYNC_BOTH);
    open_steps(b, c, false, under_way);
    if (promotes) form_add(b, NODE_VALUES, VALUES_PARTIAL);
    int made = c->side[0].l->raw ? 0 : c->side[1].l->raw ? 1 : -1;
    if (made >= 0) form_add(b, NODE_VALUES, VALUES_BESIDE)->from = true;
    form_add(b, NODE_VALUES, VALUES_STAGE);
    lower_barrier(b, SYNC_WAIT, c->turns, RING_FULL);
    if (made >= 0) {
        add_slices(b, l, c, made);
        /* One lane tells of what all have read.  */
        form_sync(b, SYNC_WARP, SYNC_BOTH, 0);
        if (!under_way) form_sync(b, SYNC_PRODUCTS, SYNC_WAIT, 0);
    } else {
        Node *n = form_add(b, NODE_COMPUTE, COMPUTE_STEP);
        n->to = c->r->unroll;
        n->done = DONE_PRODUCTS;
        for (int side = 0; side < c->n_side; side++) read_stage(b, n, side, true);
        form_sync(b, SYNC_PRODUCTS, SYNC_COMMIT, 0);
        form_sync(b, SYNC_PRODUCTS, SYNC_WAIT, under_way);
    }
    Node *freed = add_free(b, c, under_way);
    if (under_way) freed->when = WHEN_LATER;
    if (promotes) {
        form_add(b, NODE_VALUES, VALUES_SETTLE);
        form_add(b, NODE_VALUES, VALUES_PROMOTE);
    }
    form_add(b, NODE_VALUES, VALUES_TAKE);
    form_close(b);
    add_turn(b, l, SYNC_ARRIVE);
    if (under_way) form_sync(b, SYNC_PRODUCTS, SYNC_WAIT, 0);
    if (under_way && c->stays) add_free(b, c, under_way);
    if (c->may_be_empty) form_close(b);
    if (!promotes) form_add(b, NODE_VALUES, VALUES_SETTLE);
}

void lower_ring(FormBuilder *b, const Lowered *l, const Contract *c, const Contract *next) {
    if (c->matrix.tensor) lower_tensor(b, TENSOR_TAKE);
    lower_barriers(b, l);
    if (c->matrix.tensor) lower_tensor(b, TENSOR_FIND);
    if (l->waits) {           /* what does not depend on the kernel before goes on meanwhile */
        form_if(b, WHEN_ONE, 0)->from = contract_turns(c)->fill.first;
        form_add(b, NODE_VALUES, VALUES_MAPS)->from = 1;
        form_close(b);
        form_wait(b, l->form);
    }
    lower_open_filling(b, l);
    if (c->matrix.tensor) add_parts(b, l, c);
    else add_copies(b, l, c, next);
    form_close(b);
    lower_open_using(b, l, rprog_in_turn(c->r));
    if (c->matrix.tensor) add_sums(b, l, c);
    else add_products(b, l, c, next && l->p->group->chain->rows);
}

/* ---- outputs that leave by boxes ---- */

static Sync *add_bulk(FormBuilder *b, SyncOp op, int under_way) {
    Node *n = form_sync(b, SYNC_BULK, op, under_way);
    n->by = n->sync.by = BY_WARPS;
    return &n->sync;
}

/* Box by box of a warp's instructions: its slot is free when the store before the last `slots` has
 * read it.  Of an odd number the last one of a tile has the slot of the first of the next.  */
Node *lower_open_boxes(FormBuilder *b, const Contract *c) {
    int all = c->matrix.tiles[AX_M] * c->boxes;
    form_add(b, NODE_VALUES, VALUES_OUTPUTS);
    if (all % c->out_room->slots > 0) add_bulk(b, SYNC_WAIT, 0);
    form_open(b, NODE_LOOP, LOOP_ROWS)->loop = (Loop){.count = all, .of = TURNS_ALL};
    add_bulk(b, SYNC_WAIT, c->out_room->slots - 1);
    form_sync(b, SYNC_WARP, SYNC_BOTH, 0);
    Node *n = form_open(b, NODE_LOOP, LOOP_VECTORS);      /* all of a box at once */
    n->loop = (Loop){.count = 1, .of = TURNS_ALL};
    Use *u = form_writes(b, n, ROOM_OUTPUTS, 0);
    u->share = SHARE_WARP;
    return n;
}

void lower_close_boxes(FormBuilder *b, const Device *dev) {
    form_sync(b, SYNC_PROXY, SYNC_BOTH, 0);
    form_sync(b, SYNC_WARP, SYNC_BOTH, 0);
    Node *n = form_add(b, NODE_COPY, 0);
    n->of = -1;
    n->by = BY_WARPS;
    n->mover = rprog_box_mover(dev);
    n->done = DONE_BULK;
    Use *u = form_reads(b, n, ROOM_OUTPUTS, 0);
    u->share = SHARE_WARP;
    u->late = true;
    add_bulk(b, SYNC_COMMIT, 0);
    form_close(b);
}

/* Shared memory is read to the end before the block leaves it.  */
void lower_close_tiles(FormBuilder *b, const Contract *c) {
    form_close(b);
    if (c->r->via == VIA_BOXES) add_bulk(b, SYNC_WAIT, 0);
}
