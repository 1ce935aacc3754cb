#include "codegen/lower/lower.h"

/* A turn of a product, whose operands lie in slots of rings: what is done with a slot, by all
 * threads or by the roles of a kernel.
 *     who fills: wait until it is empty; copies begin
 *     who multiplies: wait until it is full; products begin; when they have ended it is empty
 * Sums are in registers of who multiplies, or in Tensor Memory, where slots of their own are filled
 * by products and emptied by those who load them.  */

static const Contract *at_hand(const FormBuilder *b) { return &b->layout->product[b->product]; }

Sync *lower_barrier(FormBuilder *b, SyncOp op, int ring, int id) {
    Sync *s = &form_sync(b, SYNC_BARRIER, op, 0)->sync;
    s->ring = ring;
    s->id = id;
    return s;
}

int lower_pair(const Contract *c) { return c->matrix.blocks > 1 ? c->matrix.blocks : 0; }

Node *lower_open_turns(FormBuilder *b, const Contract *c, const char *var) {
    Node *n = form_open(b, NODE_LOOP, LOOP_STEPS);
    n->loop = (Loop){.var = var, .count = c->slice, .by = 1, .unroll = 1};
    return n;
}

Node *lower_slots(FormBuilder *b, int ring, bool uses) {
    Node *n = form_add(b, NODE_VALUES, VALUES_RING);
    n->ring = ring;
    n->from = uses;
    return n;
}

void lower_put(FormBuilder *b, int ring) { form_add(b, NODE_VALUES, VALUES_PUT)->ring = ring; }

void lower_take(FormBuilder *b, int ring) { form_add(b, NODE_VALUES, VALUES_TAKE)->ring = ring; }

/* ---- who fills ---- */

static void read_tables(FormBuilder *b, Node *n, const Side *s) {
    if (!s->table) return;
    form_reads(b, n, ROOM_TABLE, s->number)->data = OF_NEXT;
    if (s->row_entries > 0) form_reads(b, n, ROOM_ROW_TABLE, s->number);
}

static Node *copy(FormBuilder *b, const Side *s) {
    Node *n = form_add(b, NODE_COPY, 0);
    n->of = s->side;
    n->mover = s->l->mover;
    return n;
}

void lower_load(FormBuilder *b, const Side *s, bool first) {
    if (s->direct && at_hand(b)->r->stages == 1) return;  /* made where others are kept */
    bool to_slot = rprog_copies_chunks(s->l) || s->direct;
    Node *n = copy(b, s);
    n->from = first;
    n->done = s->room->filled;
    read_tables(b, n, s);
    Use *u = form_writes(b, n, to_slot ? ROOM_STAGE : ROOM_STAGED, s->number);
    u->data = s->stays ? OF_ANY : OF_NEXT;
    u->late = n->done != DONE_AT_ONCE;
    if (!to_slot) u->share = SHARE_THREAD;
}

void lower_keep(FormBuilder *b, const Side *s) {
    Node *n = copy(b, s);
    n->to = 1;
    if (!s->direct) form_reads(b, n, ROOM_STAGED, s->number)->share = SHARE_THREAD;
    form_writes(b, n, ROOM_STAGE, s->number)->data = s->direct ? OF_LAST : OF_KEPT;
}

static bool goes_by(const Side *s, int ring, bool team) {
    return !s->made && s->ring == ring && (s->l->team > 0) == team;
}

static bool has_team(const Contract *c, int ring) {
    bool any = false;
    for (const Side *s = c->side; s < c->end; s++) any |= goes_by(s, ring, true);
    return any;
}

/* What boxes bring to a slot: of a region that is one box, without the lines that fill up a pattern
 * of the swizzle.  */
static int64_t brought(const Side *s) {
    return s->l->region && s->box.pixels == 0
               ? (int64_t)s->boxes * s->region.parts * s->region.read * s->span
               : s->room->bytes;
}

static int64_t box_bytes(const Contract *c, int ring) {
    int64_t bytes = 0;
    for (const Side *s = c->side; s < c->end; s++)
        if (goes_by(s, ring, false)) bytes += brought(s);
    return bytes;
}

/* Operands of the product that go by the ring, to its slot: in boxes, or by chunks of a team.  */
static void copy_to_slot(FormBuilder *b, const Contract *c, int ring, bool team) {
    for (const Side *s = c->side; s < c->end; s++) {
        if (!goes_by(s, ring, team)) continue;
        Node *n = copy(b, s);
        n->done = s->room->filled;
        n->ring = ring;
        n->bytes = team ? s->room->bytes : brought(s);
        Use *u = form_writes(b, n, ROOM_STAGE, s->room->of);
        u->data = !s->stays ? OF_NEXT : ring_counts(&b->layout->ring[ring]) ? OF_PUT : OF_ANY;
        u->late = n->done != DONE_AT_ONCE;
    }
}

/* A thread's stores are done when it says so, its copies tell themselves.  */
static void tell_full(FormBuilder *b, const Contract *c, int ring) {
    bool copies = false;
    for (const Side *s = c->side; s < c->end; s++)
        copies |= goes_by(s, ring, true) && s->room->filled == DONE_COPIES;
    Sync *full = lower_barrier(b, copies ? SYNC_COMMIT : SYNC_ARRIVE, ring, RING_FULL);
    full->by = BY_THREADS;
    if (copies) full->after = DONE_COPIES;
}

static void fill(FormBuilder *b, int ring) {
    const Contract *c = at_hand(b);
    int64_t bytes = box_bytes(c, ring);
    if (c->async) form_if(b, WHEN_ONE, 0)->from = b->layout->ring[ring].fill.first;
    if (bytes > 0) {
        Sync *full = lower_barrier(b, SYNC_ARRIVE, ring, RING_FULL);
        full->bytes = bytes;
        full->pair = lower_pair(c);
        copy_to_slot(b, c, ring, false);
    }
    if (!c->async) return;
    form_close(b);
    if (!has_team(c, ring)) return;
    copy_to_slot(b, c, ring, true);
    tell_full(b, c, ring);
}

void lower_fill(FormBuilder *b, int ring) {
    if (ring_refills(&b->layout->ring[ring])) lower_barrier(b, SYNC_WAIT, ring, RING_EMPTY);
    fill(b, ring);
}

void lower_fill_turn(FormBuilder *b, bool free) {
    int ring = at_hand(b)->turns;
    (free ? fill : lower_fill)(b, ring);
    form_add(b, NODE_VALUES, VALUES_NEXT_K);
    lower_put(b, ring);
}

/* ---- who multiplies ---- */

/* What products that are under way read of an operand: its tile and the scales of its blocks, or
 * what has been made of the results of the product before.  */
static void read_side(FormBuilder *b, Node *n, const Contract *c, const Side *s) {
    const Ring *ring = s->ring < 0 ? NULL : &b->layout->ring[s->ring];
    if (s->made && c->matrix.tensor) lower_late(form_reads(b, n, ROOM_TERMS, 0), OF_TAKEN);
    else if (s->made) lower_late(lower_own(form_reads(b, n, ROOM_FRAGMENTS, s->number)), OF_TAKEN);
    else lower_late(form_reads(b, n, ROOM_STAGE, s->number), ring_counts(ring) ? OF_TAKEN : OF_ANY);
    if (c->scaled) lower_late(form_reads(b, n, ROOM_SCALES, s->number), OF_TAKEN);
}

/* Sums of a chain's second product go on from turn to turn.  */
static void write_sums(FormBuilder *b, Node *n, const Contract *c) {
    bool goes_on = c->number > 0;
    if (c->matrix.tensor) {
        lower_late(form_writes(b, n, ROOM_ACCUMULATORS, c->number), goes_on ? OF_ANY : OF_PUT);
        return;
    }
    if (!rprog_room(b->layout, ROOM_SUMS, c->number)) return;
    if (goes_on) lower_late(lower_own(form_reads(b, n, ROOM_SUMS, c->number)), OF_BEFORE);
    lower_late(lower_own(form_writes(b, n, ROOM_SUMS, c->number)), OF_TAKEN);
}

Node *lower_multiply(FormBuilder *b) {
    const Contract *c = at_hand(b);
    Node *n = form_add(b, NODE_COMPUTE, COMPUTE_STEP);
    n->to = c->r->unroll;
    n->done = DONE_PRODUCTS;
    for (const Side *s = c->side; s < c->end; s++) read_side(b, n, c, s);
    write_sums(b, n, c);
    return n;
}

/* What threads have copied there the unit, which reads it by itself, sees behind a fence.  */
void lower_wait_stage(FormBuilder *b) {
    form_add(b, NODE_VALUES, VALUES_STAGE);
    lower_barrier(b, SYNC_WAIT, at_hand(b)->turns, RING_FULL);
    if (at_hand(b)->async) form_sync(b, SYNC_PROXY, SYNC_BOTH, 0);
}

Node *lower_free(FormBuilder *b, int ring, int lag) {
    const RProg *r = at_hand(b)->r;
    if (!ring_refills(&b->layout->ring[ring])) return NULL;
    Node *n = form_sync(b, SYNC_BARRIER, SYNC_ARRIVE, 0);
    n->sync = (Sync){.scope = SYNC_BARRIER, .op = SYNC_ARRIVE, .ring = ring, .id = RING_EMPTY,
                     .by = BY_WARPS, .lag = lag, .blocks = r->cluster > 1 ? r->cluster : 0};
    return n;
}

/* ---- scales by which sums of steps are multiplied ---- */

Node *lower_scales(FormBuilder *b, int what, int ahead, const char *step) {
    Node *n = form_add(b, NODE_VALUES, VALUES_SCALES);
    n->from = what;
    n->ahead = ahead;
    n->name = step;
    return n;
}

void lower_stage_scales(FormBuilder *b, int ahead, const char *step, DataOf data) {
    const Contract *c = at_hand(b);
    Node *n = lower_scales(b, SCALES_STAGE, ahead, step);
    for (const Side *s = c->side; s < c->end; s++)
        if (s->sum_scales.staged) form_writes(b, n, ROOM_SCALES, s->number)->data = data;
}

void lower_take_scales(FormBuilder *b, DataOf data) {
    const Contract *c = at_hand(b);
    Node *n = lower_scales(b, SCALES_TAKE, 0, NULL);
    for (const Side *s = c->side; s < c->end; s++)
        if (s->sum_scales.staged) form_reads(b, n, ROOM_SCALES, s->number)->data = data;
}

/* ---- Tensor Memory ---- */

Node *lower_tensor(FormBuilder *b, int part) {
    Node *n = form_add(b, NODE_VALUES, VALUES_TENSOR);
    n->from = part;
    return n;
}

void lower_commit(FormBuilder *b, int ring, int id, int blocks) {
    Sync *s = lower_barrier(b, SYNC_COMMIT, ring, id);
    s->by = BY_THREADS;
    s->after = DONE_PRODUCTS;
    s->blocks = blocks;
    s->pair = lower_pair(at_hand(b));
}

void lower_wait_tensor(FormBuilder *b, int ring, int id) {
    lower_barrier(b, SYNC_WAIT, ring, id);
    form_sync(b, SYNC_TENSOR, SYNC_WAIT, 0);
}

void lower_arrive_warps(FormBuilder *b, int ring, int id) {
    form_sync(b, SYNC_WARP, SYNC_BOTH, 0);
    Sync *s = lower_barrier(b, SYNC_ARRIVE, ring, id);
    s->by = BY_WARPS;
    s->pair = lower_pair(at_hand(b));
}

void lower_load_sums(FormBuilder *b, DataOf data) {
    form_reads(b, lower_tensor(b, TENSOR_LOAD), ROOM_ACCUMULATORS, b->product)->data = data;
    form_sync(b, SYNC_TENSOR, SYNC_ARRIVE, 0);
}
