/* The `contract` skeleton: the walk over its rooms.  */
#include "rprogram/contract.h"
#include "rprogram/matrix.h"

BlockBytes rprog_block_bytes(const Problem *p, const Device *dev, const RProg *r) {
    BlockBytes b = {.warps = rprog_computing(dev, r) / WARP, .ring = dev->unit[r->unit].b_smem};
    for (int side = 0; side < p->n_operand; side++) {
        b.of[side].scales = (int64_t)rprog_tensor_scales(dev, r, side) * TENSOR_LANES;
        b.of[side].sum_scales = matrix_sum_scale_bytes(p, dev, r, side);
        b.of[side].tile = rprog_tile_bytes(p, dev, r, side);
        b.of[side].region = rprog_region_bytes(p, dev, r, side, &b.of[side].places);
    }
    b.box = rprog_box_bytes(p, dev, r);
    b.boxes = b.box == 0 ? 0 : rprog_box_count(p, r) * (int)count_along(&r->warp, &r->thread, AX_M);
    return b;
}

/* Behind the tiles of a step lie the scales by which its sums are multiplied.  */
static void add_sum_scales(const BlockBytes *b, Ring *x) {
    enum { LINES = 128, ATOMS = BOX_SPAN * BOX_LINES };   /* of banks; that a swizzle repeats in */
    int64_t each = b->ring ? ATOMS : LINES, bytes = b->of[0].sum_scales + b->of[1].sum_scales;
    if (bytes > 0) x->bytes = ceil_div(x->bytes + bytes, each) * each;
}

static void list_loads(const RoomWalk *w, const BlockBytes *b, Loads *x) {
    RingTurn stays = rprog_persistent(w->r) ? TURN_TILES : TURN_ONCE;
    x->n = 0;
    x->n_ring = 1;
    x->ring[0] = (Ring){.turn = TURN_STEPS, .slots = w->r->stages};
    if (w->out) x->ring[0].ahead = rprog_steps_ahead(w->p, w->r);
    x->ring[1] = (Ring){.turn = stays, .slots = w->regions};
    for (int i = 0; i < 2 * w->p->n_operand; i++) {       /* regions behind the stages */
        int side = i % w->p->n_operand, ring = i >= w->p->n_operand;
        Load load = {w->p, w->r, side, side, ring, b->of[side].tile};
        if (rprog_region_boxes(&w->r->load[side]) != ring || load.bytes == 0) continue;
        loads_add(x, load);
        x->n_ring = ring + 1;
    }
    add_sum_scales(b, &x->ring[0]);
}

/* A warp behind the one that fills a ring brings them.  */
static void sum_scales(RoomWalk *w, const Loads *x, int64_t at, const BlockBytes *b) {
    for (const Load *l = x->load; l < x->load + x->n; l++) at += l->ring == 0 ? l->bytes : 0;
    for (int side = 0; side < w->p->n_operand; side++) {
        if (b->of[side].sum_scales == 0) continue;
        Room s = layout_one(ROOM_SCALES, side, at, b->of[side].sum_scales);
        s.slots = w->r->stages;
        s.apart = x->ring[0].bytes;
        s.ring = 0;
        at += s.bytes;
        layout_room(w, s);
    }
}

static void sum_scales_warp(RoomWalk *w, const BlockBytes *b) {
    if (!w->out || b->of[0].sum_scales + b->of[1].sum_scales == 0) return;
    Ring *x = w->out->ring;
    x->fill = (RingWarps){b->warps, 1};
    x->scales = (RingWarps){b->warps + 1, 1};
    x->arrivals[RING_FULL]++;
}

/* Scales of a step on their way to Tensor Memory: once each, for all four parts of its lanes.  They
 * lie where no results do: a commit tells of the unit's reads, not of what threads wrote.  */
static void scales(RoomWalk *w, const BlockBytes *b) {
    for (int side = 0; side < w->p->n_operand; side++) {
        if (b->of[side].scales == 0) continue;
        Room x = layout_one(ROOM_SCALES, side, w->end, b->of[side].scales);
        x.slots = w->r->stages;
        x.apart = x.bytes;
        x.ring = 0;
        layout_room(w, x);
    }
}

void contract_regions(RoomWalk *w, const BlockBytes *b) {
    for (int side = 0; side < w->p->n_operand; side++) {
        if (b->of[side].region == 0) continue;
        Room x = layout_one(ROOM_REGION, side, w->end, b->of[side].places);
        const RLoad *l = &w->r->load[side];
        x.filled = loads_filled_by(l);
        layout_room(w, x);
        loads_wait(w, l, side);
        layout_room(w, layout_one(ROOM_PLACES, side, w->end, b->of[side].region - x.bytes));
    }
}

/* Of an odd number of boxes the second slot is taken where it costs no block of the SM; `w` is
 * behind the stages.  */
static int box_slots(const RoomWalk *w, const BlockBytes *b) {
    int64_t bytes = b->warps * b->box;
    int64_t stage = b->of[0].scales + b->of[1].scales + RING_BARRIERS * RING_BARRIER;
    int64_t one = w->end + bytes + w->r->stages * stage;
    if (b->boxes % 2 == 0 || b->boxes == 1) return 2 - b->boxes % 2;
    int held = hal_blocks_per_sm(w->dev, w->r->threads, 0, one);
    return hal_blocks_per_sm(w->dev, w->r->threads, 0, one + bytes) == held ? 2 : 1;
}

/* Sums on their way out.  Those of blocks that stay lie behind the stages, which fill meanwhile,
 * and boxes, which a warp fills when others are in their last steps.  */
void contract_results(RoomWalk *w, const BlockBytes *b) {
    const RProg *r = w->r;
    int64_t slices = count_along(&r->block, &r->warp, AX_K);
    int64_t tile = (int64_t)r->block.extent[AX_M] * r->block.extent[AX_N];
    bool stays = rprog_persistent(r) || r->via == VIA_BOXES;
    Room x = layout_one(stays ? ROOM_OUTPUTS : ROOM_STAGING, 0, stays ? w->end : 0, 0);
    if (slices > WARP || tile > INT32_MAX) {              /* more than can be counted */
        w->end = INT32_MAX;
        return;
    }
    if (r->via == VIA_SHARED) {
        x.bytes = x.share = b->vec == r->store_vec ? b->staging
                                                   : rprog_staging_bytes(w->p, w->dev, r);
        x.slots = rprog_staging_buffers(r);
        x.apart = b->warps * x.share;
        x.shares = b->warps;
    } else if (r->via == VIA_BOXES) {
        x.bytes = x.apart = b->box;
        x.slots = w->boxes = box_slots(w, b);
        x.share = x.slots * b->box;
        x.shares = b->warps;
    } else if (slices > 1) {
        x.kind = ROOM_COPIES;
        x.bytes = (slices - 1) * tile * w->p->acc_bytes;
    }
    if (x.bytes == 0) return;
    if (x.kind != ROOM_COPIES) x.ring = layout_ring(w, TURN_LOOP, x.slots, x.apart);
    layout_room(w, x);
}

/* Sums in Tensor Memory: behind the warps that go on with them one fills the stages, the next one
 * multiplies, and the one behind that brings scales, which are part of a full stage.  */
static void accumulators(RoomWalk *w, const BlockBytes *b) {
    if (!rprog_tensor(w->dev, w->r)) return;
    int slots = rprog_tensor_slots(w->dev, w->r), ring = layout_ring(w, TURN_TILES, slots, 0);
    int emptied = b->warps * rprog_unit_blocks(w->dev, w->r);
    layout_barriers(w, ring, slots, b->warps, rprog_persistent(w->r) ? emptied : 0);
    if (!w->out) return;
    Ring *x = w->out->ring;
    int team = w->r->load[0].team | w->r->load[1].team;
    x[0].fill = team ? (RingWarps){b->warps + 2, team} : (RingWarps){b->warps, 1};
    x[0].use = x[ring].fill = (RingWarps){b->warps + 1, 1};
    if (b->of[0].scales > 0) {
        x[0].scales = (RingWarps){b->warps + 2, 1};
        x[0].arrivals[RING_FULL] += rprog_unit_blocks(w->dev, w->r);
    }
    Room sums = layout_one(ROOM_ACCUMULATORS, 0, 0, 0);
    sums.slots = slots;
    sums.ring = ring;
    layout_add(w, sums);
}

/* The unit's allocation of Tensor Memory gives its address here.  */
void contract_tensor(RoomWalk *w) {
    enum { ADDRESS = 4 };     /* bytes */
    if (!rprog_tensor(w->dev, w->r)) return;
    layout_room(w, layout_one(ROOM_TENSOR, 0, w->end, ADDRESS));
    w->end = ceil_div(w->end, RTILE_ACCESS) * RTILE_ACCESS;
}

/* Of both operands: two for the k of a step, in turn, then one for the rows.  */
static void tables(RoomWalk *w) {
    for (int side = 0; side < w->p->n_operand; side++) {
        if (!w->r->load[side].table) continue;
        RTable t = rprog_table(w->r, side);
        Room x = layout_one(ROOM_TABLE, side, w->end, (int64_t)t.k_entries * RTABLE_ENTRY);
        x.slots = 2;
        x.apart = x.bytes;
        x.ring = layout_ring(w, TURN_LOADS, x.slots, x.apart);
        layout_room(w, x);
        x = layout_one(ROOM_ROW_TABLE, side, w->end, (int64_t)t.row_entries * RTABLE_ENTRY);
        if (x.bytes > 0) layout_room(w, x);
        w->end = ceil_div(w->end, RTILE_ACCESS) * RTILE_ACCESS;
    }
}

void contract_fragments(RoomWalk *w, const BlockBytes *b) {
    (void)b;
    for (int side = 0; side < w->p->n_operand; side++) {
        const RLoad *l = &w->r->load[side];
        Room x = layout_one(ROOM_FRAGMENTS, side, 0, 0);
        if (rprog_by_lanes(l)) {
            x.slots = w->r->block.extent[AX_K] / w->r->thread.extent[AX_K];
            x.ring = layout_ring(w, TURN_BODIES, x.slots, 0);
        }
        if (rprog_by_lanes(l) || rprog_fetched_ahead(w->dev, w->r, side)) layout_add(w, x);
    }
}

static void rooms_of(RoomWalk *w, const BlockBytes *b) {
    w->regions = rprog_persistent(w->r) ? 2 : 1;
    Loads x;
    list_loads(w, b, &x);
    int64_t first = w->end;
    loads_rooms(w, &x);
    sum_scales(w, &x, first, b);
    contract_regions(w, b);
    contract_results(w, b);
    if (w->r->stats) rprog_stats_rooms(w);
    scales(w, b);
    contract_tensor(w);
    if (b->ring) {
        loads_barriers(w, &x, b->warps);
        sum_scales_warp(w, b);
    }
    accumulators(w, b);
    tables(w);
    if (w->out) contract_fragments(w, b);
}

void contract_rooms(RoomWalk *w) {
    BlockBytes b = rprog_block_bytes(w->p, w->dev, w->r);
    rooms_of(w, &b);
}

void contract_derive_smem(const Problem *p, const Device *dev, const BlockBytes *b, RProg *r) {
    RoomWalk w = {.p = p, .dev = dev, .r = r};
    rooms_of(&w, b);
    derive_smem(&w, r);
}
