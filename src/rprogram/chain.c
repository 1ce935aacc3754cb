/* The `chain` skeleton: rooms, products and the grid of its programs, its row.  */
#include "rprogram/chain.h"
#include "rprogram/contract.h"
#include "rprogram/matrix.h"
#include "rprogram/product.h"

static bool takes(const Problem *p) { return p->next != NULL; }

/* Beside the warpgroups that compute there is one that copies.  */
static int64_t threads(const Device *dev, RProg *r) {
    int64_t teams = (int64_t)count_along(&r->block, &r->warp, AX_M) * rprog_in_turn(r);
    return WARP * rprog_team(dev, r) * teams + rprog_filling(dev, r);
}

/* ---- rooms ---- */

/* The walk goes on within a product, as a program of its own, and comes back from it.  */
static void within(RoomWalk *w, int number, const RProg *own,
                   void (*walk)(RoomWalk *w, const BlockBytes *b)) {
    RoomWalk of = *w;
    of.p = chain_problem(w->p, number);
    of.r = own;
    BlockBytes bytes = rprog_block_bytes(of.p, of.dev, own);
    walk(&of, &bytes);
    of.p = w->p;
    of.r = w->r;
    *w = of;
}

/* Columns of Tensor Memory behind those that there are, so many of each team.  */
static void add_columns(RoomWalk *w, Room x, int64_t columns, int64_t *at) {
    x.at = *at;
    x.share = columns;
    *at += x.shares * columns;
    layout_add(w, x);
}

/* A ring of one slot for each team, at whose barriers so many warps of a team arrive, and what it
 * goes round.  */
static Room add_ring(RoomWalk *w, RoomKind kind, int teams, int emptied) {
    int warps = rprog_computing(w->dev, w->r) / WARP;
    Room x = layout_one(kind, 0, 0, 0);
    x.shares = teams;
    x.ring = layout_ring(w, TURN_TILES, 1, 0);
    layout_barriers(w, x.ring, teams, warps, emptied);
    if (w->out) w->out->ring[x.ring].shares = teams;
    return x;
}

/* Scores and results in Tensor Memory, and terms between them, of each warpgroup: behind the warps
 * that fold one fills the slots of the loads, and the next one multiplies.  Scores are free when
 * all warps have loaded them, terms when their products have ended, so that results are there, too.
 * Where warps may make zeros of rows of V, the thread that issues tells by itself, too, that these
 * are free, since it has waited for them: a commit tells of what the unit has read, not of what
 * threads wrote.  */
static void tensor(RoomWalk *w, int warps) {
    enum { RING_V = 1 };
    const ColumnBounds *bounds = &w->p->chain->chain->bounds;
    const int32_t *block = w->r->block.extent;
    RingWarps folds = {0, warps}, copies = {warps, 1}, products = {warps + 1, 1};
    int team = rprog_team(w->dev, w->r), teams = warps / team;
    Room scores = add_ring(w, ROOM_ACCUMULATORS, teams, team);
    Room terms = add_ring(w, ROOM_TERMS, teams, 1), results = scores;
    int64_t at = 0;
    if (!w->out) return;
    Ring *x = w->out->ring;
    for (int i = 0; i < scores.ring; i++) x[i].fill = copies;
    for (int i = 0; i < scores.ring; i++) x[i].use = products;
    x[scores.ring].fill = x[terms.ring].use = products;
    x[terms.ring].fill = folds;
    x[terms.ring].arrivals[RING_FULL] = team;
    if (bounds->n_from + bounds->n_to > 0) x[RING_V].arrivals[RING_EMPTY]++;
    results.of = 1;
    add_columns(w, results, block[AX_E], &at);
    add_columns(w, scores, block[AX_N], &at);
    add_columns(w, terms, rprog_chain_terms(w->dev, w->r), &at);
}

/* What products that are under way read and write of a thread's, turn by turn.  */
static void registers(RoomWalk *w) {
    layout_add(w, layout_one(ROOM_FRAGMENTS, CHAIN_PRODUCTS, 0, 0));
    for (int i = rprog_chain_streams(w->p, w->r); i < CHAIN_PRODUCTS; i++)
        layout_add(w, layout_one(ROOM_SUMS, i, 0, 0));
}

/* Rings of the first product's turns, of the second one's, of the operand that stays: A for a tile,
 * or V for all where k is streamed, and then of A's region if boxes bring that.  Units of warps
 * begin to copy V behind the barrier at which all have read that of the turn before.  */
static Loads rings_of(const RoomWalk *w, const RProg *first) {
    bool streams = rprog_chain_streams(w->p, w->r);
    int slots = w->r->stages, ahead = streams ? rprog_steps_ahead(w->p, first) : slots;
    RingTurn tiles = rprog_persistent(w->r) ? TURN_TILES : TURN_ONCE;
    Ring once = {.turn = streams ? TURN_ONCE : tiles, .slots = 1};
    Ring region = {.turn = tiles, .slots = w->regions};
    Ring b = {.turn = TURN_STEPS, .slots = slots, .ahead = ahead}, v = b;
    if (rprog_keeps_steps(w->p, w->r)) b.turn = TURN_KEPT;
    v.ahead = slots - !w->dev->unit[w->r->unit].b_smem;
    bool apart = rprog_region_boxes(&w->r->load[LOAD_A]);
    if (streams) return (Loads){.ring = {b, once, region}, .n_ring = CHAIN_PRODUCTS + apart};
    return (Loads){.ring = {b, v, once}, .n_ring = CHAIN_PRODUCTS + 1};
}

static Loads loads_of(const RoomWalk *w, const RProg *own) {
    /* k is whole, is streamed, and A's region lies behind all.  */
    static const int ring[][RPROG_LOADED] = {{2, 0, 1}, {0, 0, 1}, {2, 0, 1}};
    bool region = rprog_region_boxes(&w->r->load[LOAD_A]);
    Loads x = rings_of(w, own);
    for (int n = 0; n < RPROG_LOADED; n++) {
        int i = region ? (n + 1) % RPROG_LOADED : n;
        int product = rprog_load_product(i), side = rprog_load_side(i);
        const Problem *p = chain_problem(w->p, product);
        const RProg *r = &own[product];
        Load load = {p, r, side, side + CONTRACTION_OPERANDS * product,
                     ring[rprog_chain_streams(w->p, w->r) + region][i],
                     rprog_tile_bytes(p, w->dev, r, side)};
        if (load.bytes > 0) loads_add(&x, load);
    }
    return x;
}

static void add_rooms(RoomWalk *w) {
    const RProg own[CHAIN_PRODUCTS] = {rprog_product(w->dev, w->r, 0),
                                       rprog_product(w->dev, w->r, 1)};
    Loads x = loads_of(w, own);
    loads_rooms(w, &x);
    if (w->r->load[LOAD_A].region) within(w, 0, &own[0], contract_regions);
    if (w->out && rprog_chain_streams(w->p, w->r)) within(w, 0, &own[0], contract_fragments);
    within(w, 1, &own[1], contract_results);
    if (!w->dev->unit[w->r->unit].b_smem) return;
    int warps = rprog_computing(w->dev, w->r) / WARP;
    contract_tensor(w);
    loads_barriers(w, &x, warps);
    if (rprog_tensor(w->dev, w->r)) tensor(w, warps);
    else if (w->out) registers(w);
}

/* That of the next tile is copied while this one is read.  Where warpgroups in turn have all else,
 * the same of each, as far as shared memory has room.  */
static int region_slots(const RoomWalk *w) {
    int slots = rprog_persistent(w->r) ? 2 : 1, fit = slots, most = slots * rprog_in_turn(w->r);
    if (most == slots || !rprog_keeps_steps(w->p, w->r)) return slots;
    while (slots <= most) {
        RoomWalk of = {.p = w->p, .dev = w->dev, .r = w->r, .regions = slots};
        add_rooms(&of);
        if ((double)of.end > w->dev->limits.smem_per_block_optin.value) break;
        fit = slots++;
    }
    return fit;
}

static void rooms(RoomWalk *w) {
    w->regions = region_slots(w);
    add_rooms(w);
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

/* Rows of the second operand are the columns of the results.  */
static void order_columns(const Device *dev, const RProg *r, Contract *c) {
    Matrix *x = &c->matrix;
    Side *s = &c->side[1];
    FragOrder order;
    x->order = chain_order(dev, r);
    s->places = fragment_places(&x->order);
    if (!c->ring || !fragment_parts(&x->order, &s->beside, &s->every)) return;
    chain_units_order(&dev->unit[r->unit], &dev->unit[r->unit_v], &order);
    x->own = fragment_spread_lane(&order, r->block.extent[AX_N]);
}

static void join(const Problem *p, const Device *dev, const RProg *r, Contract *c) {
    c[0].sliced = c[1].sliced = false;    /* of turns: they begin where a mask lets them */
    order_columns(dev, r, c);
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
    int64_t batch = m->axis[AX_B].tile, group = r->group > 1 ? r->group : 1;
    index_deal_grid(m, (IndexDigit){AX_B, batch * group, 0});
    if (rprog_chain_grows(p)) m->down = 1u << m->n_grid;
    index_deal_grid(m, (IndexDigit){AX_M, m->axis[AX_M].tile, 0});
    if (group > 1) index_deal_grid(m, (IndexDigit){AX_B, batch, group});
}

enum {
    KEYS = 1 << KEY_BLOCK | 1 << KEY_WARP | 1 << KEY_THREAD | 1 << KEY_VEC | 1 << KEY_STAGES |
           1 << KEY_LOAD_A | 1 << KEY_LOAD_B | 1 << KEY_LOAD_V | 1 << KEY_RASTER | 1 << KEY_SPLIT |
           1 << KEY_KEEP
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
    .rooms = rooms,
    .join = join,
    .map = map,
    .workspace = workspace,
    .partials = partials,
};
