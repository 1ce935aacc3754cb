/* The `chain` skeleton: rooms, products and the grid of its programs, its row.  */
#include "rprogram/chain.h"
#include "rprogram/contract.h"
#include "rprogram/matrix.h"
#include "rprogram/product.h"

static bool takes(const Problem *p) { return p->next != NULL; }

/* Beside the warpgroups that compute there is one that copies.  */
static int64_t threads(const Device *dev, RProg *r) {
    int64_t teams = (int64_t)count_along(&r->block, &r->warp, AX_M) * rprog_in_turn(r);
    return WARP * rprog_team(dev, r) * (teams + rprog_warpgroups(dev, r));
}

/* ---- rooms ---- */

/* One operand's tile, a slot for each turn that may be under way; behind what there is.  */
static void operand(RoomWalk *w, int number, int side, int slots, int ring) {
    RProg r = rprog_chain_product(w->dev, w->r, number);
    RoomWalk of = {.p = chain_problem(w->p, number), .dev = w->dev, .r = &r};
    Room x = layout_one(ROOM_STAGE, number * 2 + side, w->end,
                        rprog_tile_bytes(of.p, w->dev, &r, side));
    x.slots = slots;
    x.apart = x.bytes;
    x.ring = ring;
    x.row = rprog_load_facts(r.load[side].kind).chunks ? contract_tile_row(&of, side) : BOX_SPAN;
    x.filled = contract_filled_by(&r.load[side]);
    if (ring >= 0) w->out->ring[ring].bytes = x.bytes;
    layout_room(w, x);
    if (w->out && rprog_waits(&r.load[side])) layout_add(w, layout_one(ROOM_STAGED, x.of, 0, 0));
}

/* The walk goes on within a product, as a program of its own, and comes back from it.  */
static RoomWalk within(const RoomWalk *w, int number, const RProg *own) {
    RoomWalk of = *w;
    of.p = chain_problem(w->p, number);
    of.r = own;
    return of;
}

static void come_back(RoomWalk *w, RoomWalk of) {
    of.p = w->p;
    of.r = w->r;
    *w = of;
}

static void results(RoomWalk *w) {
    RProg second = rprog_chain_product(w->dev, w->r, 1);
    RoomWalk of = within(w, 1, &second);
    BlockBytes bytes = {.warps = rprog_computing(w->dev, w->r) / WARP};
    if (!contract_results(&of, &bytes)) of.end = INT32_MAX;
    come_back(w, of);
}

/* Of both rings, and of operand a, which is filled once: behind all else.  */
static void barriers(RoomWalk *w) {
    int warps = rprog_computing(w->dev, w->r) / WARP;
    if (!rprog_warpgroups(w->dev, w->r)) return;
    for (int i = 0; i < CHAIN_PRODUCTS; i++)
        layout_barriers(w, i, w->r->stages, warps, warps);
    layout_barriers(w, CHAIN_RING_A, 1, warps, 0);
}

/* What products that are under way read and write of a thread's.  */
static void registers(RoomWalk *w) {
    if (!w->out || !rprog_warpgroups(w->dev, w->r)) return;
    layout_add(w, layout_one(ROOM_FRAGMENTS, CHAIN_PRODUCTS, 0, 0));
    for (int i = 0; i < CHAIN_PRODUCTS; i++) layout_add(w, layout_one(ROOM_SUMS, i, 0, 0));
}

/* Stages of both operands of the first product; V behind them.  */
static void streamed(RoomWalk *w) {
    RProg first = rprog_chain_product(w->dev, w->r, 0);
    RoomWalk of = within(w, 0, &first);
    BlockBytes bytes = rprog_block_bytes(of.p, of.dev, of.r);
    int steps = contract_stages(&of, &bytes);
    if (of.out) contract_fragments(&of);
    come_back(w, of);
    int v = layout_ring(w, TURN_STEPS, 1, 0), begin = (int)w->end;
    operand(w, 1, 1, 1, -1);
    if (w->out) w->out->ring[v].bytes = w->end - begin;
    results(w);
    if (!rprog_warpgroups(w->dev, w->r)) return;
    int warps = rprog_computing(w->dev, w->r) / WARP;
    layout_barriers(w, steps, w->r->stages, warps, warps / rprog_in_turn(w->r));
    layout_barriers(w, v, 1, warps, 0);
    registers(w);
}

void chain_rooms(RoomWalk *w) {
    if (rprog_chain_streams(w->p, w->r)) {
        streamed(w);
        return;
    }
    int slots = w->r->stages;
    bool groups = rprog_warpgroups(w->dev, w->r);
    int b = layout_ring(w, TURN_STEPS, slots, 0), v = layout_ring(w, TURN_STEPS, slots, 0);
    if (w->out) {
        w->out->ring[b].ahead = slots;
        w->out->ring[v].ahead = slots - !groups;
    }
    if (groups) layout_ring(w, TURN_STEPS, 1, 0);
    operand(w, 0, 0, 1, -1);
    if (groups && w->out) w->out->ring[CHAIN_RING_A].bytes = w->end;
    operand(w, 0, 1, slots, b);
    operand(w, 1, 1, slots, v);
    results(w);
    barriers(w);
    registers(w);
}

/* ---- the workspace ---- */

int64_t rprog_chain_left(const Problem *p, const RProg *r, int i) {
    const Problem *last = p->next;
    int64_t rows = r->split * p->extent[AX_B] * p->extent[AX_M];
    int64_t results = rows * last->extent[AX_N] * last->acc_bytes;
    return ceil_div(results, RTILE_ACCESS) * RTILE_ACCESS +
           rprog_partials(p->te, p->chain->slices, i, rows);
}

static int64_t workspace(const Problem *p, const RProg *r) {
    return r->split > 1 ? rprog_chain_left(p, r, p->chain->slices->n - 1) : 0;
}

static const RowGroup *partials(const Problem *p) { return p->chain->slices; }

/* ---- products ---- */

/* Loads test the columns that a mask lets through, and that slices have any.  */
static void test_columns(const Problem *p, const RProg *r, Contract *c) {
    const ColumnBounds *b = &p->group->chain->bounds;
    bool bounded = b->n_from > 0 || b->n_to > 0;
    if (!bounded && (r->split == 1 || !c[1].may_be_empty)) return;
    c[0].side[1].ragged = true;
    c[1].k_ragged = true;
}

static void product(Arena *a, const Problem *p, const Device *dev, const RProg *r, Layout *l) {
    Contract *c = ARENA_ARRAY(a, Contract, CHAIN_PRODUCTS);
    l->product = c;
    l->n_product = CHAIN_PRODUCTS;
    for (int i = 0; i < CHAIN_PRODUCTS; i++) {
        RProg *own = ARENA_NEW(a, RProg);
        *own = rprog_chain_product(dev, r, i);
        product_facts(chain_problem(p, i), dev, own, l, &c[i]);
        c[i].turns = i;                   /* of V, too, where it is resident */
        c[i].sliced = false;              /* of turns: they begin where a mask lets them */
    }
    test_columns(p, r, c);
}

/* ---- the grid ---- */

static int add_class(IndexMap *m, const Problem *p, const RTile *block, AxisClass c) {
    const FusedAxis *f = &p->con.axis[c];
    return index_add(m, (IndexAxis){f->index, f->n, p->extent[c], p->multiple[c],
                                    block->extent[c]});
}

/* Points of the second product.  */
static void map(const Problem *p, const RProg *r, int64_t span, IndexMap *m) {
    RTile block = chain_tile(&r->block, 1);
    (void)span;
    for (int c = AX_B; c <= AX_K; c++) add_class(m, p->next, &block, (AxisClass)c);
    m->n_axis = AX_K;
    index_deal_grid(m, (IndexDigit){AX_B, m->axis[AX_B].tile, 0});
    if (rprog_chain_grows(p)) m->down = 1u << m->n_grid;
    index_deal_grid(m, (IndexDigit){AX_M, m->axis[AX_M].tile, 0});
}

enum {
    KEYS = 1 << KEY_SKELETON | 1 << KEY_UNIT | 1 << KEY_BLOCK | 1 << KEY_WARP | 1 << KEY_THREAD |
           1 << KEY_VEC | 1 << KEY_STAGES | 1 << KEY_LOAD_A | 1 << KEY_LOAD_B | 1 << KEY_LOAD_V |
           1 << KEY_STORE | 1 << KEY_RASTER | 1 << KEY_SPLIT | 1 << KEY_KEEP | 1 << KEY_BLOCKS
};

static const char *check(const Problem *p, const Device *dev, const RProg *r) {
    const char *why = chain_check(p, dev, r);
    return why ? why : skeleton_grid_check(&rprog_chain, p, dev, r, rprog_chain_turns(p, r));
}

const SkeletonRow rprog_chain = {
    .keys = KEYS,
    .chains = true,
    .takes = takes,
    .candidates = chain_candidates,
    .check = check,
    .threads = threads,
    .derive = chain_derive_late,
    .registers = chain_registers,
    .computing = chain_computing,
    .rooms = chain_rooms,
    .product = product,
    .map = map,
    .workspace = workspace,
    .partials = partials,
};
