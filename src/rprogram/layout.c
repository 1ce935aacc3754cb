/* The walk over the rooms of a program, in the order in which they lie.  */
#include "rprogram/matrix.h"
#include "te/arith.h"

/* ---- `contract` ---- */

BlockBytes rprog_block_bytes(const Problem *p, const Device *dev, const RProg *r) {
    BlockBytes b = {.warps = rprog_computing(dev, r) / WARP, .ring = rprog_warpgroups(dev, r)};
    for (int side = 0; side < 2; side++) {
        b.tile[side] = rprog_tile_bytes(p, dev, r, side);
        b.region[side] = rprog_region_bytes(p, dev, r, side, &b.places[side]);
    }
    b.box = rprog_box_bytes(p, dev, r);
    b.slots = b.box > 0 ? rprog_box_slots(p, r) : 0;  /* units of warpgroups alone */
    return b;
}

/* Rows of its tile lie along the inner axis.  */
static int64_t tile_row(const RoomWalk *w, int side) {
    const RLayout *y = &w->r->load[side].layout;
    int64_t extent = w->r->block.extent[y->inner == AX_K ? AX_K : own_axis(side)];
    return (extent + y->pad) * rprog_elem(w->p, w->dev, w->r, side);
}

static void operands(RoomWalk *w, const BlockBytes *b) {
    for (int side = 0; side < 2; side++) {
        Room x = layout_one(ROOM_STAGE, side, side ? b->tile[0] : 0, b->tile[side]);
        x.slots = w->r->stages;
        x.apart = b->tile[0] + b->tile[1];
        if (w->out) x.row = tile_row(w, side);
        if (x.bytes > 0) layout_room(w, x);
    }
    for (int side = 0; side < 2; side++) {
        int64_t places = b->places[side];
        if (b->region[side] == 0) continue;
        layout_room(w, layout_one(ROOM_REGION, side, w->end, places));
        layout_room(w, layout_one(ROOM_PLACES, side, w->end, b->region[side] - places));
    }
}

/* Sums on their way out.  Those of blocks that stay lie behind the stages, which fill meanwhile.
 * False: there are more than can be counted.  */
static bool results(RoomWalk *w, const BlockBytes *b) {
    const RProg *r = w->r;
    int64_t slices = count_along(&r->block, &r->warp, AX_K);
    int64_t tile = (int64_t)r->block.extent[AX_M] * r->block.extent[AX_N];
    bool stays = rprog_persistent(r);
    Room x = layout_one(stays ? ROOM_OUTPUTS : ROOM_STAGING, 0, stays ? w->end : 0, 0);
    if (slices > WARP || tile > INT32_MAX) return false;
    if (r->via == VIA_SHARED) {
        x.bytes = x.share = b->vec == r->store_vec ? b->staging
                                                   : rprog_staging_bytes(w->p, w->dev, r);
        x.slots = rprog_staging_buffers(r);
        x.apart = b->warps * x.share;
        x.shares = b->warps;
    } else if (r->via == VIA_BOXES) {
        x.bytes = x.apart = b->box;
        x.slots = b->slots;
        x.share = b->slots * b->box;
        x.shares = b->warps;
    } else if (slices > 1) {
        x.kind = ROOM_COPIES;
        x.bytes = (slices - 1) * tile * w->p->acc_bytes;
    }
    if (x.bytes > 0) layout_room(w, x);
    return true;
}

/* Barriers of the stages.  */
static void ring(RoomWalk *w, const BlockBytes *b) {
    const RProg *r = w->r;
    int64_t full = w->end, all = (int64_t)r->stages * RING_BARRIER;
    if (b->ring) w->end += 2 * all;
    if (!w->out) return;
    Ring *x = &w->out->ring;
    *x = (Ring){.slots = r->stages, .ahead = rprog_steps_ahead(w->p, r), .full = -1, .empty = -1,
                .bytes = b->tile[0] + b->tile[1]};
    if (!b->ring) return;
    x->full = full;
    x->empty = full + all;
    x->fills = 1;
    x->frees = b->warps / rprog_in_turn(r) * rprog_cluster(r);
}

/* Of both operands: two for the k of a step, in turn, then one for the rows.  */
static void tables(RoomWalk *w) {
    for (int side = 0; side < 2; side++) {
        if (!w->r->load[side].table) continue;
        RTable t = rprog_table(w->r, side);
        Room x = layout_one(ROOM_TABLE, side, w->end, (int64_t)t.k_entries * RTABLE_ENTRY);
        x.slots = 2;
        x.apart = x.bytes;
        layout_room(w, x);
        x = layout_one(ROOM_ROW_TABLE, side, w->end, (int64_t)t.row_entries * RTABLE_ENTRY);
        if (x.bytes > 0) layout_room(w, x);
        w->end = ceil_div(w->end, RTILE_ACCESS) * RTILE_ACCESS;
    }
}

static void contract_rooms(RoomWalk *w, const BlockBytes *b) {
    operands(w, b);
    if (!results(w, b)) w->end = INT32_MAX;
    else if (w->r->stats) rprog_stats_rooms(w);
    ring(w, b);
    tables(w);
}

/* ---- all ---- */

static void rooms(RoomWalk *w) {
    BlockBytes b;
    switch (w->r->skeleton) {
    case SK_ROW: rprog_row_rooms(w); return;
    case SK_COLUMN: rprog_column_rooms(w); return;
    case SK_SCAN: rprog_scan_rooms(w); return;
    case SK_WINDOW: rprog_window_rooms(w); return;
    case SK_PERMUTE: rprog_permute_rooms(w); return;
    case SK_CONTRACT:
        b = rprog_block_bytes(w->p, w->dev, w->r);
        contract_rooms(w, &b);
        return;
    default: return;
    }
}

int64_t rprog_shared(const Problem *p, const Device *dev, const RProg *r, const BlockBytes *b) {
    RoomWalk w = {.p = p, .dev = dev, .r = r};
    if (b) contract_rooms(&w, b);
    else rooms(&w);
    return w.end;
}

int64_t rprog_block_smem(const Problem *p, const Device *dev, const RProg *r) {
    RoomWalk w = {.p = p, .dev = dev, .r = r};
    rooms(&w);
    return w.end + w.declared;
}

const Layout *rprog_layout(Arena *a, const Problem *p, const Device *dev, const RProg *r) {
    Layout *l = ARENA_NEW(a, Layout);
    RoomWalk w = {.p = p, .dev = dev, .r = r, .arena = a, .out = l};
    *l = (Layout){.ring = {.slots = 1, .full = -1, .empty = -1}};
    rooms(&w);
    l->shared = w.end;
    l->declared = w.declared;
    return l;
}
