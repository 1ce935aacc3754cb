/* Rooms and rings of loads.  */
#include "rprogram/contract.h"
#include "rprogram/matrix.h"

void loads_add(Loads *x, Load load) {
    x->ring[load.ring].bytes += load.bytes;
    x->load[x->n++] = load;
}

static void list_rings(RoomWalk *w, const Loads *x) {
    for (int i = 0; w->out && i < x->n_ring; i++) {
        const Ring *ring = &x->ring[i];
        int number = layout_ring(w, ring->turn, ring->slots, ring->bytes);
        w->out->ring[number].ahead = ring->ahead;
    }
}

DoneBy loads_filled_by(const RLoad *l) {
    if (!rprog_load_facts(l->kind).chunks) return DONE_BARRIER;
    return rprog_copies_chunks(l) ? DONE_COPIES : DONE_AT_ONCE;
}

/* Bytes from row to row: rows lie along the inner axis, or are those of boxes.  */
static int64_t row_bytes(const Device *dev, const Load *x) {
    const RLoad *l = &x->r->load[x->side];
    bool by_k = l->layout.inner == AX_K, boxes = l->team || !rprog_load_facts(l->kind).chunks;
    int64_t extent = x->r->block.extent[by_k ? AX_K : own_axis(x->side)];
    if (boxes) return BOX_SPAN;
    return (extent + l->layout.pad) * rprog_elem(x->p, dev, x->r, x->side);
}

void loads_wait(RoomWalk *w, const RLoad *l, int number) {
    if (w->out && (rprog_waits(l) || rprog_by_lanes(l)))
        layout_add(w, layout_one(ROOM_STAGED, number, 0, 0));
}

static void add_tile(RoomWalk *w, const Load *x, const Ring *ring, int64_t at) {
    const RLoad *l = &x->r->load[x->side];
    Room room = layout_one(ROOM_STAGE, x->number, at, x->bytes);
    room.slots = ring->slots;
    room.apart = ring->bytes;
    room.ring = x->ring;
    room.row = row_bytes(w->dev, x);
    room.filled = loads_filled_by(l);
    layout_add(w, room);
    loads_wait(w, l, x->number);
}

/* Tiles have no bytes but those of their rings.  */
void loads_rooms(RoomWalk *w, const Loads *x) {
    int64_t at = 0;
    list_rings(w, x);
    for (const Load *l = x->load; l < x->load + x->n; l++) {
        const Ring *ring = &x->ring[l->ring];
        bool beside = l > x->load && l[-1].ring == l->ring;
        at = beside ? at + l[-1].bytes : w->end;
        if (!beside) w->end += ring->slots * ring->bytes;
        if (w->out) add_tile(w, l, ring, at);
    }
}

/* Does one block alone have what goes by the ring?  */
static bool is_own(const Loads *x, int ring) {
    bool own = false;
    for (const Load *l = x->load; l < x->load + x->n; l++)
        own |= l->ring == ring && rprog_region_boxes(&l->r->load[l->side]);
    return own;
}

/* Arrivals that say a slot is full: of each block of a pair, whose copies bring its parts of boxes,
 * and of all threads that copy chunks to it.  */
static int filled(const Loads *x, int ring, int pair) {
    int boxes = 0, threads = 0;
    for (const Load *l = x->load; l < x->load + x->n; l++) {
        const RLoad *load = &l->r->load[l->side];
        if (l->ring != ring) continue;
        if (load->team) threads = load->team * WARP;
        else boxes = pair;
    }
    return boxes + threads;
}

void loads_barriers(RoomWalk *w, const Loads *x, int warps) {
    bool tensor = rprog_tensor(w->dev, w->r);
    int users = tensor ? 1 : warps / rprog_in_turn(w->r);     /* one thread issues all */
    int pair = rprog_unit_blocks(w->dev, w->r);
    int arrivals = users * rprog_cluster(w->r) / pair;    /* one of them issues for both */
    for (int i = 0; i < x->n_ring; i++) {
        const Ring *ring = &x->ring[i];
        int emptied = is_own(x, i) ? users : arrivals;
        layout_barriers(w, i, ring->slots, warps, ring_refills(ring) ? emptied : 0);
        if (w->out) w->out->ring[i].arrivals[RING_FULL] = filled(x, i, pair);
    }
}
