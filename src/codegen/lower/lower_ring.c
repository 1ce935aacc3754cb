#include "codegen/lower/lower.h"

/* The form of `contract` kernels whose stages some warps of their own fill (lower_roles.c).  */

/* Tiles of a block that stays, and what there is only where they have steps.  */
static void open_tiles(const Make *m) {
    if (!m->c->stays) return;
    lower_open_tiles(m->b, m->l);
    form_add(m->b, NODE_VALUES, VALUES_TILE);
}

static void open_some(const Make *m) {
    if (m->c->may_be_empty) form_if(m->b, WHEN_STEPS, 0);
}

static void close_some(const Make *m) {
    if (m->c->may_be_empty) form_close(m->b);
}

/* What is done for each tile that has steps, along columns in all passes.  */
static void for_tiles(const Make *m, void (*tile)(const Make *m)) {
    int passes = lower_passes(m->l->p, m->l->r), teams = rprog_in_turn(m->l->r);
    open_tiles(m);
    for (int pass = 0; pass < (passes ? passes : 1); pass++) {
        if (passes) lower_open_columns(m, pass, teams);
        open_some(m);
        tile(m);
        close_some(m);
        if (passes) form_close(m->b);
    }
    if (m->c->stays) form_close(m->b);
}

static void open_steps(const Make *m, bool fills) {
    lower_slots(m->b, m->c->turns, !fills);
    lower_open_turns(m->b, m->c, fills ? "done" : "taken");
}

/* Of a block that stays, in its first tile alone.  */
static void open_first(const Make *m) {
    if (m->c->stays) form_if(m->b, WHEN_FIRST, 0);
}

static void close_first(const Make *m) {
    if (m->c->stays) form_close(m->b);
}

/* The operand of the next product that the block has to its end.  */
static void add_resident(const Make *m) {
    const Contract *next = &m->c[1];
    m->b->product = next->number;
    lower_slots(m->b, next->turns, false);
    lower_fill(m->b, next->turns);
    m->b->product = m->c->number;
}

/* What is read behind all steps is copied when half of theirs are begun: before, the first steps
 * would wait for it.  */
static void add_resident_half_way(const Make *m) {
    form_if(m->b, WHEN_HALF, 0);
    if (!m->c->kept) open_first(m);
    add_resident(m);
    if (!m->c->kept) close_first(m);
    form_close(m->b);
}

static void add_steps(const Make *m) {
    bool chain = m->l->layout->n_product > 1;
    open_steps(m, true);
    lower_fill_turn(m->b, false);
    if (chain && !m->c->may_be_empty) add_resident_half_way(m);
    form_close(m->b);
}

/* Those that stay are copied once, behind the first tile's region.  */
static void add_all_steps(const Make *m) {
    if (m->c->kept) open_first(m);
    add_steps(m);
    if (m->c->kept) close_first(m);
}

/* The ring of an operand's region, a tile each; -1: there is none.  */
static int region_ring(const Contract *c) {
    for (const Side *s = c->side; s < c->end; s++)
        if (rprog_region_boxes(s->l)) return s->ring;
    return -1;
}

static void add_region(const Make *m) {
    int ring = region_ring(m->c);
    if (ring < 0) return;
    lower_fill(m->b, ring);
    if (m->c->stays) lower_put(m->b, ring);
}

/* Places of the chunks that a thread copies.  */
static void add_places(const Make *m) {
    for (const Side *s = m->c->side; s < m->c->end; s++)
        if (s->l->team > 0 && !s->l->region)
            form_add(m->b, NODE_VALUES, VALUES_ADDRESS)->of = s->side;
}

static void copy_tile(const Make *m) {
    add_places(m);
    add_region(m);
    add_all_steps(m);
}

/* By one thread, or by a team, one of whose threads issues boxes.  */
static void add_copies(const Make *m) {
    bool team = m->c->async;
    if (!team) form_if(m->b, WHEN_ONE, 0)->from = contract_turns(m->c)->fill.first;
    form_add(m->b, NODE_VALUES, VALUES_MAPS)->to = m->l->waits;
    if (m->l->layout->n_product > 1 && m->c->may_be_empty) add_resident(m);
    if (region_ring(m->c) >= 0) lower_slots(m->b, region_ring(m->c), false);
    for_tiles(m, copy_tile);
    if (!team) form_close(m->b);
}

/* Warpgroups in turn: the products of a tile follow those of the one before, by the other's
 * threads.  Without that a stage's parity could be that of the round before.  */
static void add_turn(const Make *m, SyncOp op) {
    if (rprog_in_turn(m->l->r) > 1) lower_turn(m->b, m->l, op);
}

/* Where all steps are kept, tiles have nothing but slots of their region in turn: the other begins
 * half way, so that each ends a tile, and waits for its own loads, while the other multiplies.  */
static void add_half_turn(const Make *m) {
    if (!m->c->kept || rprog_in_turn(m->l->r) == 1) return;
    form_if(m->b, WHEN_HALF, 0);
    add_turn(m, SYNC_ARRIVE);
    form_close(m->b);
}

static Node *copy_made(const Make *m, int made) {
    Node *n = form_add(m->b, NODE_COPY, 0);
    n->of = made;
    return n;
}

/* A step whose first operand is made in registers, slice by slice: those of a slice are made again
 * when its products of the step before are done.  */
static void add_slices(const Make *m, int made) {
    const Contract *c = m->c;
    int tk = c->r->thread.extent[AX_K], slices = c->r->block.extent[AX_K] / tk;
    Node *n = copy_made(m, made);
    bool counts = ring_counts(&c->layout->ring[c->side[made].ring]);
    form_reads(m->b, n, ROOM_STAGE, made)->data = counts ? OF_TAKEN : OF_ANY;
    lower_own(form_writes(m->b, n, ROOM_STAGED, made))->data = OF_TAKEN;
    n = form_open(m->b, NODE_LOOP, LOOP_COUNTED);
    n->loop = (Loop){.var = "kk", .warp_k = true, .of = TURNS_BODIES, .count = slices, .by = tk};
    n = copy_made(m, made);
    lower_own(form_reads(m->b, n, ROOM_STAGED, made))->data = OF_TAKEN;
    lower_own(form_writes(m->b, n, ROOM_FRAGMENTS, made))->data = OF_TAKEN;
    n = form_add(m->b, NODE_COMPUTE, COMPUTE_SLICE);
    n->to = tk;
    n->done = DONE_PRODUCTS;
    lower_late(lower_own(form_reads(m->b, n, ROOM_FRAGMENTS, made)), OF_TAKEN);
    lower_late(form_reads(m->b, n, ROOM_STAGE, !made), OF_TAKEN);
    form_sync(m->b, SYNC_PRODUCTS, SYNC_COMMIT, 0);
    form_sync(m->b, SYNC_PRODUCTS, SYNC_WAIT, slices - 1);
    form_close(m->b);
    m->l->form->bodies = slices;
}

/* A warp reads scales of blocks from global memory, those of a step while it waits for a slot of
 * the step before, and writes them where the unit finds them.  */
static void scale_tile(const Make *m) {
    const Contract *c = m->c;
    form_add(m->b, NODE_VALUES, VALUES_SCALES)->from = SCALES_FIRST;
    open_steps(m, true);
    form_add(m->b, NODE_VALUES, VALUES_SCALES)->from = SCALES_NEXT;
    lower_barrier(m->b, SYNC_WAIT, c->turns, RING_EMPTY);
    Node *n = form_add(m->b, NODE_VALUES, VALUES_SCALES);
    n->from = SCALES_STAGE;
    for (const Side *s = c->side; s < c->end; s++)
        form_writes(m->b, n, ROOM_SCALES, s->number)->data = OF_PUT;
    form_sync(m->b, SYNC_PROXY, SYNC_BOTH, 0);
    lower_arrive_warps(m->b, c->turns, RING_FULL);
    form_add(m->b, NODE_VALUES, VALUES_SCALES)->from = SCALES_TURN;
    lower_put(m->b, c->turns);
    form_close(m->b);
}

static void add_scales(const Make *m) { for_tiles(m, scale_tile); }

/* The same of scales by which sums are multiplied: those of the next step are on their way while
 * its slot is waited for.  */
static void scale_sums_of_tile(const Make *m) {
    const Contract *c = m->c;
    lower_scales(m->b, SCALES_FIRST, 0, NULL);
    open_steps(m, true);
    lower_barrier(m->b, SYNC_WAIT, c->turns, RING_EMPTY);
    lower_stage_scales(m->b, 0, "done", OF_PUT);
    lower_arrive_warps(m->b, c->turns, RING_FULL);
    lower_scales(m->b, SCALES_NEXT, 1, "done");
    lower_put(m->b, c->turns);
    form_close(m->b);
}

static void add_sum_scales(const Make *m) { for_tiles(m, scale_sums_of_tile); }

/* One thread issues the products of all warpgroups, whose sums lie in Tensor Memory, of both blocks
 * of a pair.  It waits for stages that are full and for accumulators that are empty, and for
 * nothing else: its products free a stage, and fill accumulators, when they end.  */
static void issue_tile(const Make *m) {
    const Contract *c = m->c;
    if (c->stays) lower_barrier(m->b, SYNC_WAIT, c->sums, RING_EMPTY);
    form_sync(m->b, SYNC_TENSOR, SYNC_WAIT, 0);
    open_steps(m, false);
    lower_wait_stage(m->b);
    lower_multiply(m->b);
    lower_commit(m->b, c->turns, RING_EMPTY, c->r->cluster);
    lower_take(m->b, c->turns);
    form_close(m->b);
    lower_commit(m->b, c->sums, RING_FULL, lower_pair(c));
    lower_put(m->b, c->sums);
}

static void add_issued(const Make *m) {
    int pair = lower_pair(m->c);
    if (pair) form_if(m->b, WHEN_LEADS, 0);
    form_if(m->b, WHEN_ONE, 0)->from = contract_turns(m->c)->use.first;
    form_add(m->b, NODE_VALUES, VALUES_CLEAR)->from = CLEAR_OPERANDS;
    lower_slots(m->b, m->c->sums, false);
    for_tiles(m, issue_tile);
    form_close(m->b);
    if (pair) form_close(m->b);
}

/* Sums of a tile come to registers, and others may take their place.  */
static void sum_tile(const Make *m) {
    const Contract *c = m->c;
    Node *n = form_add(m->b, NODE_VALUES, VALUES_CLEAR);
    n->from = CLEAR_SUMS;
    n->begins = !c->may_be_empty;
    open_some(m);
    lower_wait_tensor(m->b, c->sums, RING_FULL);
    lower_load_sums(m->b, OF_TAKEN);
    if (c->stays) {
        lower_arrive_warps(m->b, c->sums, RING_EMPTY);
        lower_take(m->b, c->sums);
    }
    close_some(m);
}

static void add_sums(const Make *m) {
    lower_slots(m->b, m->c->sums, true);
    open_tiles(m);
    if (!lower_passes(m->l->p, m->l->r)) sum_tile(m);
}

void lower_free_tensor(FormBuilder *b, const Contract *c) {
    if (!c->matrix.tensor) return;
    if (c->r->cluster > 1) form_sync(b, SYNC_CLUSTER, SYNC_BOTH, 0);
    else form_block_sync(b);
    form_sync(b, SYNC_TENSOR, SYNC_WAIT, 0);
    lower_tensor(b, TENSOR_FREE);
}

/* No block ends while others write to it, or arrive at its barriers.  */
void lower_part_blocks(FormBuilder *b, const Contract *c) {
    if (c->r->cluster > 1 && !c->matrix.tensor) form_sync(b, SYNC_CLUSTER, SYNC_BOTH, 0);
}

/* The operand whose registers are made of what lies in its stage; -1: none.  */
static int made_of(const Contract *c) {
    return rprog_by_lanes(c->side[0].l) ? 0 : rprog_by_lanes(c->side[1].l) ? 1 : -1;
}

/* One lane tells of what all have read.  */
static void meet(const Make *m) { form_sync(m->b, SYNC_WARP, SYNC_BOTH, 0); }

/* Products of a step, all but those of `under_way` steps done at its end.  */
static void add_step(const Make *m, int under_way) {
    bool promotes = m->c->matrix.promotes, scales = m->c->matrix.stages_scales;
    int made = made_of(m->c);
    if (promotes) form_add(m->b, NODE_VALUES, VALUES_PARTIAL);
    if (made >= 0) form_add(m->b, NODE_VALUES, VALUES_BESIDE)->from = true;
    lower_wait_stage(m->b);
    if (made >= 0) {
        if (scales) lower_take_scales(m->b, OF_TAKEN);
        add_slices(m, made);
        if (!m->c->kept) meet(m);
        if (!under_way) form_sync(m->b, SYNC_PRODUCTS, SYNC_WAIT, 0);
    } else {
        lower_multiply(m->b);
        form_sync(m->b, SYNC_PRODUCTS, SYNC_COMMIT, 0);
        if (scales) lower_take_scales(m->b, OF_TAKEN);
        form_sync(m->b, SYNC_PRODUCTS, SYNC_WAIT, under_way);
        if (scales) meet(m);
    }
    Node *freed = lower_free(m->b, m->c->turns, under_way);
    if (freed && under_way) freed->when = WHEN_LATER;
    if (promotes) {
        form_add(m->b, NODE_VALUES, VALUES_SETTLE);
        form_add(m->b, NODE_VALUES, VALUES_PROMOTE);
    }
    lower_take(m->b, m->c->turns);
}

/* Steps that are kept are known, and so are their slots and the places of their rows: nobody
 * computes them where the code of all is short.  */
static void open_taken(const Contract *c, Node *n) {
    enum { SHORT = 64 };      /* products, of some 20 instructions each */
    if (c->kept && c->steps * c->matrix.tiles[AX_K] <= SHORT) n->loop.unroll = 0;
}

/* Products of one step are under way while the next stage is waited for; then the stage of those
 * is free.  With one stage it has to be before, and where the sums of a step join others.  */
static void multiply_tile(const Make *m) {
    const Contract *c = m->c;
    bool promotes = c->matrix.promotes;
    int under_way = c->r->stages > 1 && !promotes, region = region_ring(c);
    bool chain = m->l->layout->n_product > 1;
    if (chain && lower_chain_rows(m)) form_add(m->b, NODE_VALUES, VALUES_ROWS);
    form_add(m->b, NODE_VALUES, VALUES_CLEAR);
    if (made_of(c) >= 0) form_add(m->b, NODE_VALUES, VALUES_BESIDE);
    if (!promotes) form_add(m->b, NODE_VALUES, VALUES_SETTLE);
    open_some(m);
    add_turn(m, SYNC_BOTH);
    lower_slots(m->b, c->turns, true)->to = under_way && !c->kept;
    if (region >= 0) lower_barrier(m->b, SYNC_WAIT, region, RING_FULL);
    open_taken(c, lower_open_turns(m->b, c, "taken"));
    add_half_turn(m);
    add_step(m, under_way);
    form_close(m->b);
    if (region >= 0 && c->stays) {        /* all lanes have loaded what they need of it */
        if (c->kept) meet(m);
        lower_free(m->b, region, 0)->sync.blocks = 0;
        lower_take(m->b, region);
    }
    if (!c->kept) add_turn(m, SYNC_ARRIVE);
    if (under_way) form_sync(m->b, SYNC_PRODUCTS, SYNC_WAIT, 0);
    if (under_way && c->stays) lower_free(m->b, c->turns, under_way);
    close_some(m);
    if (!promotes) form_add(m->b, NODE_VALUES, VALUES_SETTLE);
}

static void add_products(const Make *m) {
    int region = region_ring(m->c);
    if (region >= 0) lower_slots(m->b, region, true);
    open_tiles(m);
    if (!lower_passes(m->l->p, m->l->r)) multiply_tile(m);
}

void lower_ring_tile(const Make *m) { (m->c->matrix.tensor ? sum_tile : multiply_tile)(m); }

void lower_ring(const Make *m) {
    static const Roles tensor = {add_copies, add_issued, add_scales, add_sums};
    static const Roles registers = {
        .copies = add_copies, .scales = add_sum_scales, .results = add_products};
    lower_roles(m, m->c->matrix.tensor ? &tensor : &registers, rprog_in_turn(m->c->r));
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
    int all = c->matrix.tiles[AX_M] * c->boxes, slots = c->out_room->slots;
    form_add(b, NODE_VALUES, VALUES_OUTPUTS);
    if (c->stays && all % slots > 0) add_bulk(b, SYNC_WAIT, 0);
    form_open(b, NODE_LOOP, LOOP_ROWS)->loop = (Loop){.count = all, .of = TURNS_ALL};
    if (c->stays || all > slots) {
        add_bulk(b, SYNC_WAIT, slots - 1);
        form_sync(b, SYNC_WARP, SYNC_BOTH, 0);
    }
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
void lower_close_tiles(FormBuilder *b, const Lowered *l, const Contract *c) {
    if (c->stays) form_close(b);
    if (c->r->via == VIA_BOXES && lower_stores(l, c)) add_bulk(b, SYNC_WAIT, 0);
}
