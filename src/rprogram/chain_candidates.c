/* The `chain` skeleton: every aligned program.
 *
 * The unit's tile grows along the rows of a warp and along the columns of a turn until registers
 * are full, warps along the rows until threads or shared memory are, slots of the rings until
 * shared memory is.  K and the columns of the second product are whole, so nothing else is free but
 * how operands are loaded, where a stays, and how results leave.
 *
 * Of units of warpgroups the instruction grows along the columns instead, and what overlaps is
 * free.
 *
 * Bounds of the search, where none of these ends it before: 3 slots (one turn takes longer than a
 * load), 16 warps or 4 warpgroups (as of `contract`), 8 instructions of rows a warp (they fill the
 * registers), 128 slices (as of `contract`), of two turns at least; where k is streamed 8 slots (as
 * of `contract`) and 2, 4 or 8 instructions along k a step, of warpgroups a box.  Padding of rows
 * is that of `contract`: 0.1, more by 0.1, doubled from 0.5 to 64, until there are 16 programs.  */
#include "rprogram/build.h"
#include "rprogram/chain.h"
#include "rprogram/matrix.h"

enum {
    SLOTS_MAX = 3,
    WARPS_MAX = 16,
    BODY_ROWS = 8,
    GROUPS_MAX = 4,
    SLICES_MAX = 128,
    BODY_SLICES = 8
};

typedef struct {
    Keeper *k;
    Builder of[CHAIN_PRODUCTS];           /* for loads and layouts of each product */
} Chains;

static Builder builder_of(const Keeper *k, const Problem *p) {
    return (Builder){.of = k->of, .arena = k->arena, .p = p, .dev = k->dev,
                     .options = k->options, .set = k->set,
                     .memo = ARENA_ARRAY(k->arena, LayoutMemo, LAYOUT_MEMO),
                     .samples = ARENA_NEW(k->arena, Samples)};
}

/* Loads of whole tiles as they lie, or of the first operand's region.  */
static void ways_of(const Chains *x, const RProg *r, int load, LoadWays *out) {
    int product = rprog_load_product(load);
    LoadWays all;
    build_load_ways(&x->of[product], product ? r->unit_v : r->unit, rprog_load_side(load), &all);
    out->n = 0;
    for (const RLoad *l = all.way; l < all.way + all.n; l++)
        if ((load == LOAD_A || !l->region) && !(l->region && l->team) && !l->bytes && !l->raw)
            out->way[out->n++] = *l;
}

/* Layouts of all tiles, boxes having but one; false: some load does not fit.  */
static bool fit_loads(Chains *x, RProg *r) {
    r->threads = (int16_t)x->k->of->threads(x->k->dev, r);
    for (int i = 0; i < RPROG_LOADED; i++) {
        int product = rprog_load_product(i), side = rprog_load_side(i);
        RProg of = rprog_product(x->k->dev, r, product);
        if (!rprog_load_facts(r->load[i].kind).chunks) continue;
        if (!build_fit_load(&x->of[product], &of, side)) return false;
        r->load[i] = of.load[side];
    }
    return true;
}

/* Slices of the turns, as many as let each SM have one block, two, ... all that fit.  */
static void with_slices(Chains *x, RProg r) {
    const Keeper *k = x->k;
    const Problem *last = k->p->next;
    int64_t turns = rprog_chain_turns(k->p, &r), sms = (int64_t)k->dev->limits.sm_count.value;
    if (k->dev->unit[r.unit].b_smem) return;
    r.via = VIA_DIRECT;
    r.store_vec = r.vec_n;
    while (last->multiple[AX_N] % r.store_vec) r.store_vec /= 2;
    skeleton_derive(k->of, k->p, k->dev, &r);
    int64_t tiles = skeleton_blocks(k->of, k->p, &r);
    for (int blocks = 1, before = 1; blocks <= r.blocks_per_sm && tiles > 0; blocks++) {
        int64_t split = blocks * sms / tiles;
        if (split > turns / 2) split = turns / 2;
        if (split > SLICES_MAX) split = SLICES_MAX;
        if (split < 2) continue;
        split = ceil_div(turns, ceil_div(turns, split));
        if (split <= before) continue;
        r.split = before = (int32_t)split;
        rprog_keep(x->k, r);
    }
}

/* By boxes, of warpgroups; false: results are no boxes.  */
static bool with_boxes(Chains *x, RProg r) {
    RProg second = rprog_product(x->k->dev, &r, 1);
    r.via = second.via = VIA_BOXES;
    r.store_vec = second.store_vec = r.vec_n;
    if (!x->k->dev->unit[r.unit].b_smem) return false;
    if (grid_check(x->k->p->next, x->k->dev, &second)) return false;
    rprog_keep(x->k, r);
    return true;
}

/* As lanes hold results, or by boxes or else through shared memory, where that makes wider stores:
 * through the stages' memory too, where a block has one tile and boxes may find no room.  */
static void with_stores(Chains *x, RProg r) {
    const Problem *last = x->k->p->next;
    r.via = VIA_DIRECT;
    r.store_vec = (uint8_t)(r.vec_n < last->out_vec ? r.vec_n : last->out_vec);
    rprog_keep(x->k, r);
    if (last->out_vec <= r.vec_n || (with_boxes(x, r) && rprog_persistent(&r))) return;
    if (!chain_passes(x->k->p)) return;
    RProg second = rprog_product(x->k->dev, &r, 1);
    int columns = lowest_bit(rprog_staging_columns(x->k->dev, &second));
    r.via = VIA_SHARED;
    r.store_vec = (uint8_t)(columns < last->out_vec ? columns : last->out_vec);
    rprog_keep(x->k, r);
}

/* So many slots of the rings; false: they do not fit.  */
static bool with_depth(Chains *x, RProg r, int64_t slots) {
    const double most = x->k->dev->limits.smem_per_block_optin.value;
    r.stages = (uint8_t)slots;
    if ((double)skeleton_shared(x->k->of, x->k->p, x->k->dev, &r) > most) return false;
    with_stores(x, r);
    with_slices(x, r);
    return true;
}

/* Slots of the rings, while a deeper one fits, and those that keep all steps.  */
static void with_slots(Chains *x, RProg r) {
    bool staged = false, streams = rprog_chain_streams(x->k->p, &r);
    if (!fit_loads(x, &r)) return;
    for (int i = 0; i < (streams ? LOAD_V : RPROG_LOADED); i++) staged |= rprog_waits(&r.load[i]);
    int deepest = streams ? (staged ? 2 : STAGES_MAX) : staged ? 1 : SLOTS_MAX;
    int slots = 1;
    while (slots <= deepest && with_depth(x, r, slots)) slots++;
    int64_t steps = rprog_tiles(x->k->p, &r, AX_K);
    r.stages = (uint8_t)steps;
    if (slots > STAGES_MAX && steps >= slots && steps <= UINT8_MAX &&
        rprog_keeps_steps(x->k->p, &r))
        with_depth(x, r, steps);
}

static bool fits_rows(const Chains *x, const RProg *r) {
    int64_t rows = ceil_div(x->k->p->extent[AX_M], r->thread.extent[AX_M]) *
                   r->thread.extent[AX_M];
    return rtile_broken(rows, r->block.extent[AX_M], r->warp.extent[AX_M], 1,
                        x->k->set->epsilon) == RTILE_RULE_COUNT;
}

/* Registers decide how many rows a warp and columns a turn may have; false: too many.  */
static bool with_columns(Chains *x, RProg r, int32_t columns) {
    const Device *dev = x->k->dev;
    int64_t limit = (int64_t)dev->limits.registers_per_thread.value;
    bool any = false;
    r.block.extent[AX_N] = r.warp.extent[AX_N] = columns;
    for (int keep = rprog_chain_streams(x->k->p, &r); keep < 2; keep++) {
        r.keep = keep ? KEEP_SHARED : KEEP_REGISTERS;
        r.late = true;
        r.block.extent[AX_M] = WARPS_MAX * r.warp.extent[AX_M];         /* share the copies */
        r.threads = (int16_t)x->k->of->threads(dev, &r);
        if (chain_registers(x->k->p, dev, &r) > limit) continue;
        any = true;
        for (int warps = 1; warps <= WARPS_MAX; warps++) {
            r.block.extent[AX_M] = warps * r.warp.extent[AX_M];
            if (fits_rows(x, &r)) with_slots(x, r);
        }
    }
    return any;
}

static void with_unit(Chains *x, RProg r) {
    const Problem *p = x->k->p;
    const int32_t *thread = r.thread.extent;
    int32_t k = x->k->dev->unit[r.unit_v].k.from;
    int32_t step = thread[AX_N] > k ? thread[AX_N] : k;
    int64_t most = ceil_div(p->extent[AX_N], step) * step;
    for (int rows = 1; rows <= BODY_ROWS; rows++) {
        r.warp.extent[AX_M] = rows * thread[AX_M];
        int32_t columns = step;
        while (columns <= most && with_columns(x, r, columns)) columns += step;
        if (columns == step) break;
    }
}

/* Both operands are streamed along k, and a row has all of its columns at once: whole slices of the
 * second product.  */
static int32_t all_columns(const Chains *x, const RProg *r) {
    int32_t k = x->k->dev->unit[r->unit_v].k.from, step = r->thread.extent[AX_N];
    if (x->k->dev->unit[r->unit].b_smem || step < k) step = k;
    return (int32_t)ceil_div(x->k->p->extent[AX_N], step) * step;
}

static bool may_stream(const Chains *x) {
    const ColumnBounds *b = &x->k->p->chain->chain->bounds;
    return b->n_from + b->n_to == 0;
}

static void with_stream(Chains *x, RProg r) {
    const int32_t *thread = r.thread.extent;
    int32_t whole = r.block.extent[AX_K], columns = all_columns(x, &r);
    if (!may_stream(x)) return;
    for (int32_t n = 2 * thread[AX_K]; n < whole && n <= BODY_SLICES * thread[AX_K]; n *= 2) {
        r.block.extent[AX_K] = r.warp.extent[AX_K] = n;
        r.warp.extent[AX_M] = thread[AX_M];
        while (with_columns(x, r, columns)) r.warp.extent[AX_M] += thread[AX_M];
    }
}

static bool may_overlap(const Chains *x, const RProg *r, int groups) {
    bool between = rprog_overlaps_between(r);
    if (rprog_tensor(x->k->dev, r)) return r->overlap == OVERLAP_WITHIN;
    return !between || (groups > 1 && groups <= CHAIN_TURNS);
}

/* Of tiles that differ: from the longest one on, of all batches, or of as many as are two rounds,
 * since operands of fewer batches stay in L2.  */
static void with_orders(Chains *x, RProg r) {
    const Keeper *k = x->k;
    int64_t rows = rprog_tiles(k->p, &r, AX_M), batches = k->p->next->extent[AX_B];
    int64_t rounds = ceil_div(2 * (int64_t)k->dev->limits.sm_count.value, rows > 0 ? rows : 1);
    bool parted = rprog_chain_parted(k->p, &r) && batches > 1;
    for (int all = 0; all <= (parted && rounds < batches); all++) {
        int64_t group = all || rounds > batches ? batches : rounds;
        if (parted) rprog_set_batches(group, &r);
        with_slots(x, r);
    }
}

/* Blocks that stay, too, where some get several tiles.  */
static void with_grids(Chains *x, RProg r) {
    const Keeper *k = x->k;
    bool several = (double)rprog_outer_tiles(k->p, &r) > k->dev->limits.sm_count.value;
    bool alone = r.block.extent[AX_M] == r.warp.extent[AX_M];
    with_slots(x, r);
    for (int grid = GRID_PERSISTENT; several && grid <= GRID_PERSISTENT + alone; grid++) {
        r.grid = (Grid)grid;
        if (!chain_check_stays(k->p, k->dev, &r)) with_orders(x, r);
    }
}

/* Columns of a turn are those of an instruction, and slices of the second product.  */
static void with_groups(Chains *x, RProg r) {
    const Problem *p = x->k->p;
    const ComputeUnit *u = &x->k->dev->unit[r.unit];
    int32_t step = x->k->dev->unit[r.unit_v].k.from;
    int64_t most = ceil_div(p->extent[AX_N], step) * step;
    r.keep = KEEP_SHARED;
    for (int32_t n = step; n <= most && n <= u->n.to; n += step) {
        r.block.extent[AX_N] = r.warp.extent[AX_N] = r.thread.extent[AX_N] = n;
        for (int i = 0; i < GROUPS_MAX * OVERLAP_COUNT; i++) {
            int groups = i / OVERLAP_COUNT + 1;
            r.block.extent[AX_M] = groups * r.warp.extent[AX_M];
            r.overlap = (Overlap)(i % OVERLAP_COUNT);
            if (may_overlap(x, &r, groups) && fits_rows(x, &r)) with_grids(x, r);
        }
    }
    r.overlap = OVERLAP_NONE;
}

/* Blocks alone, or neighbours that share b, if tiles are that many.  */
static void with_clusters(Chains *x, RProg r) {
    enum { LARGEST = 4 };     /* as of `contract` */
    const Device *dev = x->k->dev;
    with_grids(x, r);
    for (int c = 2; c <= LARGEST && c <= dev->limits.cluster_max.value; c *= 2) {
        r.cluster = (uint8_t)c;
        if (rprog_cluster_order(x->k->p, dev, &r)) with_grids(x, r);
    }
}

/* By boxes of a line each.  */
static void with_stream_of_groups(Chains *x, RProg r) {
    int32_t n = all_columns(x, &r);
    const ComputeUnit *u = &x->k->dev->unit[r.unit];
    r.keep = KEEP_SHARED;
    r.block.extent[AX_K] = r.warp.extent[AX_K] = warpgroup_step(x->k->p, x->k->dev, &r);
    if (!may_stream(x) || !rprog_chain_streams(x->k->p, &r) || n > u->n.to || u->tmem) return;
    r.block.extent[AX_N] = r.warp.extent[AX_N] = r.thread.extent[AX_N] = n;
    for (int groups = 1; groups <= GROUPS_MAX; groups++) {
        r.block.extent[AX_M] = groups * r.warp.extent[AX_M];
        if (fits_rows(x, &r)) with_clusters(x, r);
    }
}

/* K and E in whole instructions.  */
static void set_ends(const Problem *p, const ComputeUnit *v, RProg *r) {
    bool groups = v->b_smem;
    int32_t k = r->thread.extent[AX_K];
    int32_t e = groups ? v->n.step : matrix_tile(v, false).extent[AX_N];
    r->block.extent[AX_K] = r->warp.extent[AX_K] = (int32_t)ceil_div(p->extent[AX_K], k) * k;
    e *= (int32_t)ceil_div(p->next->extent[AX_N], e);
    r->block.extent[AX_E] = r->warp.extent[AX_E] = e;
    if (groups) r->thread.extent[AX_E] = e;
    r->warp.extent[AX_M] = r->thread.extent[AX_M];
}

static void with_loads(Chains *x, int16_t unit, int16_t unit_v) {
    const Problem *p = x->k->p;
    const ComputeUnit *u = &x->k->dev->unit[unit];
    LoadWays ways[RPROG_LOADED];
    RProg r = rprog_base(SK_CHAIN);
    r.unit = unit;
    r.unit_v = unit_v;
    r.thread = matrix_tile(u, false);
    Fragment f = rprog_results(x->k->dev, &r);
    r.vec_m = (uint8_t)fragment_run(&f, FRAG_ROW);
    r.vec_n = (uint8_t)fragment_run(&f, FRAG_COL);
    set_ends(p, &x->k->dev->unit[unit_v], &r);
    for (int i = 0; i < RPROG_LOADED; i++) ways_of(x, &r, i, &ways[i]);
    for (int i = 0; build_take_loads(ways, RPROG_LOADED, i, &r); i++) {
        bool turns = !r.load[LOAD_A].region;
        if (turns && u->b_smem) with_groups(x, r);
        else if (turns) with_unit(x, r);
        if (u->b_smem) with_stream_of_groups(x, r);
        else with_stream(x, r);
    }
}

/* Another unit for the second product only where the first one's does not compute it.  */
static void with_first(Chains *x, int16_t u) {
    const Problem *p = x->k->p;
    const ComputeUnit *unit = x->k->dev->unit;
    bool both = matrix_takes_as(p->next, &unit[u], false);
    for (int16_t v = 0; v < x->k->dev->n_unit; v++)
        if ((v == u || !both) && chain_fits(p, &unit[u], &unit[v])) with_loads(x, u, v);
}

void chain_candidates(Keeper *k) {
    enum { LEAST = 16 };
    const Problem *p = k->p;
    Chains x = {k, {builder_of(k, p), builder_of(k, p->next)}};
    if (k->options->no_matrix) return;
    for (double e = 0.1; e < 64 && k->set->n < LEAST; e = e < 0.5 ? e + 0.1 : 2 * e) {
        k->set->epsilon = e;
        k->set->n = 0;
        for (int16_t u = 0; u < k->dev->n_unit; u++) with_first(&x, u);
    }
}
