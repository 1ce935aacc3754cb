#include "codegen/multiply/multiply.h"
#include "codegen/operand/address.h"
#include "codegen/block/product.h"

Ir place_taken(Kernel *k, IrBase base, Ir at) {
    Cg *cg = k->cg;
    Ir none = ir_hidden(cg, IR_I32, ir_int(cg, 0));
    return ir_let_as(cg, base, "take", ir_add(cg, at, none));
}

/* Short bodies of matrix units are unrolled as often as the compiler knows they run at most, told
 * not to or not.  */
static bool hides_steps(const Contract *c, int64_t most) { return c->matrix.used && most > 1; }

static Ir constant(Kernel *k, const char *name, int64_t n) {
    return ir_constant(k->cg, name, ir_int(k->cg, n));
}

/* Points along the axes.  */
static void extents(Kernel *k) {
    static const char *const name[] = {[AX_B] = "B", [AX_M] = "M", [AX_N] = "N", [AX_K] = "K"};
    Cg *cg = k->cg;
    for (int axis = AX_M; axis <= AX_K; axis++) {
        TeExtent e = index_extent(cg->arena, &k->task->map, axis);
        IrBase base = place_base(k->c->p->extent[axis] > INT32_MAX);
        k->own->extent[axis] =
            ir_constant(cg, product_word(k, name[axis]), ir_as(cg, base, size_value(cg, e)));
    }
}

static void tile_constants(Kernel *k, char letter, const RTile *t) {
    for (int axis = AX_M; axis <= AX_K; axis++)
        product_put_size(k, letter, (AxisClass)axis, t->extent[axis]);
}

static void constants_along(Kernel *k, char letter, int64_t m, int64_t n) {
    product_put_size(k, letter, AX_M, m);
    product_put_size(k, letter, AX_N, n);
}

/* Tiles of a block in one k-step, of a warp, of an instruction or a thread; instructions, or lanes,
 * of a warp; neighbouring rows and columns of a thread.  */
static void tiles_of_levels(Kernel *k) {
    const Contract *c = k->c;
    const RProg *r = c->r;
    tile_constants(k, 'B', &r->block);
    tile_constants(k, 'W', &r->warp);
    tile_constants(k, 'T', &r->thread);
    if (c->matrix.used) {
        constants_along(k, 'I', c->matrix.tiles[AX_M], c->matrix.tiles[AX_N]);
        return;
    }
    constants_along(k, 'L', c->lanes[AX_M], c->lanes[AX_N]);
    constants_along(k, 'V', r->vec_m, r->vec_n);
}

static void side_constants(Kernel *k, const Side *s) {
    if (s->made) return;
    if (s->l->region && !rprog_region_boxes(s->l)) {
        region_constants(k, s);
        return;
    }
    OperandAt *x = operand_at(k, s);
    x->tile = constant(k, product_constant_name(k->cg, s, "TILE"), s->room->at);
    x->row = constant(k, product_constant_name(k->cg, s, "ROW"), s->row);
    if (s->table) table_constants(k, s);
}

/* Of the whole reduction, a number or a name.  */
static Ir all_steps(const Kernel *k) {
    const Cg *cg = k->cg;
    Ir kk = product_extent(k, AX_K), tile = product_size(k, 'B', AX_K);
    if (!k->c->varying_k) return ir_int(cg, k->c->steps);
    return ir_div(cg, ir_sub(cg, ir_add(cg, kk, tile), ir_int(cg, 1)), tile);
}

static void steps_constant(Kernel *k) {
    const Contract *c = k->c;
    Cg *cg = k->cg;
    Ir all = all_steps(k);
    if (c->sliced || !product_counts(k) || product_parted(k)) return;
    if (!c->varying_k && hides_steps(c, c->steps))
        all = ir_hidden(cg, IR_I32, all);
    k->var.steps = ir_constant(cg, "steps", ir_as(cg, IR_I32, all));
}

/* Of blocks that stay: how many there are, each of which goes on by so many tiles.  */
static void grid_constants(Kernel *k) {
    Cg *cg = k->cg;
    TeExtent all = index_grid(cg->arena, &k->l->task[k->c->layout->n_product - 1].map);
    k->var.grid = ir_let_as(cg, IR_U32, "GRID", ir_blocks(cg));
    k->var.tiles = ir_number(cg, IR_U32, all.value);
    if (all.expr) k->var.tiles = ir_let_as(cg, IR_U32, "all_tiles", size_value(cg, all));
}

/* Those of the product at hand.  */
static void product_constants(Kernel *k) {
    extents(k);
    tiles_of_levels(k);
    if (k->c->number == 0) k->var.threads = constant(k, "THREADS", k->c->r->threads);
    product_ring_at(k)->slots = constant(k, product_word(k, "STAGES"), contract_turns(k->c)->slots);
    product_ring_at(k)->bytes = constant(k, product_word(k, "STAGE"), contract_turns(k->c)->bytes);
    for (const Side *s = k->c->side; s < k->c->end; s++) side_constants(k, s);
    steps_constant(k);
}

/* Of rings that a role fills; slots of those that are no product's.  */
static void barrier_constants(Kernel *k) {
    const Layout *l = k->c->layout;
    for (int i = 0; i < l->n_ring; i++) {
        const Ring *x = &l->ring[i];
        if (x->arrivals[RING_FULL] == 0) continue;
        RingAt *to = &k->ring[i];
        if (!to->slots) to->slots = constant(k, product_ring_word(k, i, "STAGES"), x->slots);
        if (!to->bytes && x->bytes > 0)
            to->bytes = constant(k, product_ring_word(k, i, "STAGE"), x->bytes);
        to->barriers = constant(k, product_ring_word(k, i, "BARRIERS"), x->at[RING_FULL]);
    }
}

void place_constants(Kernel *k) {
    const Contract *c = k->c;
    for (int i = k->c->layout->n_product - 1; i >= 0; i--) {
        product_select(k, i);
        product_constants(k);
    }
    if (c->ring) barrier_constants(k);
    if (c->stays) grid_constants(k);
    kernel_smem(k, c->ring ? 1024 : 128);
    ir_simple(k->cg, IR_STMT_BLANK);
}

static Ir unsigned_number(const Kernel *k, int64_t n) { return ir_number(k->cg, IR_U32, n); }

/* A count of tiles: a number, or a name for what is known at run time.  */
static Ir count_of(Kernel *k, const char *name, TeExtent n) {
    if (!n.expr) return unsigned_number(k, n.value);
    return ir_let_as(k->cg, IR_U32, name, size_value(k->cg, n));
}

/* Tiles along M and N, by their number or as values.  */
typedef struct {
    TeExtent count[2];
    Ir n[2];
} Tiles;

/* The tile of number `number` in its plane; defines the batch.  */
static Ir tile_in_plane(Kernel *k, Ir number, const Tiles *x) {
    Cg *cg = k->cg;
    TeExtent batch = index_tiles(cg->arena, &k->task->map, AX_B);
    if (!batch.expr && batch.value == 1) return ir_let_as(cg, IR_U32, "tile", number);
    Ir plane = ir_mul(cg, x->n[0], x->n[1]);
    Ir tile = ir_let_as(cg, IR_U32, "tile", ir_rem(cg, number, plane));
    k->var.b = ir_let_as(cg, IR_I32, "b", ir_div(cg, number, plane));
    return tile;
}

/* Groups of `group` tile rows, of which the last may have fewer.  */
static void tile_in_group(Kernel *k, Ir tile, int64_t group, const Tiles *x, Ir at[2]) {
    Cg *cg = k->cg;
    Ir size = unsigned_number(k, group), all = ir_mul(cg, size, x->n[1]);
    bool whole = !x->count[0].expr && x->count[0].value % group == 0;
    Ir top = ir_let(cg, "top", ir_mul(cg, ir_div(cg, tile, all), size));
    Ir in_group = ir_let(cg, "in_group", ir_rem(cg, tile, all));
    Ir rows = whole ? size : ir_min(cg, ir_sub(cg, x->n[0], top), size);
    rows = ir_constant(cg, "rows", rows);
    at[0] = ir_add(cg, top, ir_rem(cg, in_group, rows));
    at[1] = ir_div(cg, in_group, rows);
}

static void first_of_tile(Kernel *k, AxisClass axis, Ir tile) {
    Cg *cg = k->cg;
    IrBase base = place_along_base(k, axis);
    *(axis == AX_N ? &k->own->n0 : &k->var.m0) =
        ir_let_as(cg, base, axis == AX_N ? product_word(k, "n0") : "m0",
                  ir_mul(cg, ir_cast(cg, base, tile), product_size(k, 'B', axis)));
}

/* Teams that go along the same columns have rows of their own.  */
static void first_of_rows(Kernel *k) {
    const Cg *cg = k->cg;
    const RProg *r = k->task->r;
    int beside = rprog_grid_rows(r) / r->block.extent[AX_M];
    Ir tile = k->var.tile_m;
    if (beside > 1) tile = ir_add(cg, ir_mul_n(cg, tile, beside), k->teams.own);
    first_of_tile(k, AX_M, tile);
}

/* The tile of number `number` in groups of batches, whose planes have one column; defines the
 * batch.  */
static void tile_of_batches(Kernel *k, Ir number, int64_t group, const Tiles *x, Ir at[2]) {
    Cg *cg = k->cg;
    Tiles y = {.count = {index_tiles(cg->arena, &k->task->map, AX_B), x->count[0]}};
    Ir in[2];
    y.n[0] = count_of(k, "batches", y.count[0]);
    y.n[1] = x->n[0];
    tile_in_group(k, number, group, &y, in);
    k->var.b = ir_let_as(cg, IR_I32, "b", in[0]);
    at[0] = in[1];
    at[1] = unsigned_number(k, 0);
}

void place_tile(Kernel *k, Ir number) {
    const IndexMap *map = &k->task->map;
    Cg *cg = k->cg;
    const IndexDigit *last = &map->grid[map->n_grid - 1];
    bool turns = k->l->form->passes > 0;
    Tiles x = {.count = {index_tiles(cg->arena, map, AX_M),
                         turns ? size_number(1) : index_tiles(cg->arena, map, AX_N)}};
    bool batches = last->axis == AX_B && last->count > 0;
    Ir at[2];
    x.n[0] = count_of(k, "tiles_m", x.count[0]);
    x.n[1] = count_of(k, "tiles_n", x.count[1]);
    Ir tile = batches ? number : tile_in_plane(k, number, &x);
    if (batches) {
        tile_of_batches(k, number, last->count, &x, at);
    } else if (map->n_grid > AX_K) {
        tile_in_group(k, tile, last->count, &x, at);
    } else {
        int fast = last->axis == AX_N;
        at[!fast] = ir_div(cg, tile, x.n[fast]);
        at[fast] = ir_rem(cg, tile, x.n[fast]);
    }
    for (int i = 0; i < map->n_grid; i++)
        if ((map->down >> i & 1) && map->grid[i].axis == AX_M)
            at[0] = ir_sub(cg, ir_sub(cg, x.n[0], unsigned_number(k, 1)), at[0]);
    for (int i = 0; i < 2 - turns; i++)
        at[i] = ir_let_as(cg, IR_U32, i ? "tile_n" : "tile_m", at[i]);
    k->var.tile_m = at[0];
    k->var.tile_n = at[1];
    if (!turns || rprog_in_turn(k->task->r) == 1 || k->teams.own) first_of_rows(k);
    if (!turns) first_of_tile(k, AX_N, at[1]);
}

/* The bits of a lane id that make its position along one side.  */
static Ir lane_bits(const Kernel *k, FragDim side) {
    enum { LANE_BITS = 5 };
    const Cg *cg = k->cg;
    Ir sum = NULL, lane = k->var.lane;
    Fragment f = rprog_results(cg->dev, k->c->r);
    for (int bit = 0, out = 0; bit < LANE_BITS; bit++) {
        if (!(fragment_lane_bits(&f, side) >> bit & 1)) continue;
        Ir moved = bit > out ? ir_binary(cg, IR_SHR, lane, ir_int(cg, bit - out)) : lane;
        Ir term = ir_binary(cg, IR_AND, moved, ir_int(cg, 1 << out));
        sum = sum ? ir_binary(cg, IR_OR, sum, term) : term;
        out++;
    }
    return sum ? sum : ir_int(cg, 0);
}

/* The warp's place along an axis among those of the block, as an int.  */
Ir place_warp(const Kernel *k, int axis) {
    const Cg *cg = k->cg;
    const int *w = k->c->warps;
    int below = axis == AX_N ? 1 : axis == AX_M ? w[AX_N] : w[AX_N] * w[AX_M];
    Ir warp = k->var.warp;
    below *= rprog_team(cg->dev, k->c->r);
    if (w[axis] == 1) return ir_int(cg, 0);
    Ir x = ir_div(cg, warp, unsigned_number(k, below));
    return ir_cast(cg, IR_I32, axis == AX_K ? x : ir_rem(cg, x, unsigned_number(k, w[axis])));
}

/* Where the warp is along an axis.  */
static Ir warp_place(const Kernel *k, AxisClass axis) {
    return ir_mul(k->cg, place_warp(k, (int)axis), product_size(k, 'W', axis));
}

/* Rows (or columns, where operands are swapped) of a warp of a ring among its warpgroup's.  */
static Ir share_place(const Kernel *k) {
    enum { WARPS = 4 };
    const Cg *cg = k->cg;
    int part = k->c->r->swapped ? rprog_staging_columns(cg->dev, k->c->r)
                                : rprog_staging_rows(cg->dev, k->c->r);
    Ir warp = k->var.warp;
    Ir at = ir_cast(cg, IR_I32, ir_rem(cg, warp, unsigned_number(k, WARPS)));
    return ir_mul(cg, at, ir_int(cg, part));
}

static void thread_place(Kernel *k, Ir thread) {
    Cg *cg = k->cg;
    bool matrix = k->c->matrix.used;
    Variables *x = &k->var;
    Ir tid = x->tid = ir_let_as(cg, IR_I32, "tid", thread);
    x->lane = ir_let_as(cg, IR_I32, "lane", ir_rem(cg, tid, unsigned_number(k, WARP)));
    x->warp = ir_let_as(cg, IR_U32, "warp", ir_div(cg, tid, unsigned_number(k, WARP)));
    for (int i = 0; i < 2; i++) {
        FragDim dim = i ? FRAG_COL : FRAG_ROW;
        Ir at = matrix ? fragment_lane_place(k, &k->c->matrix.results, dim, 1) : lane_bits(k, dim);
        *(i ? &x->lane_n : &x->lane_m) = ir_let_as(cg, IR_I32, i ? "lane_n" : "lane_m", at);
    }
    for (int i = 0; i < 2; i++) {
        AxisClass axis = i ? AX_N : AX_M;
        Ir at = warp_place(k, axis);
        Ir lane = i ? x->lane_n : x->lane_m;
        if (!matrix) at = ir_add(cg, at, ir_mul(cg, lane, product_size(k, 'V', axis)));
        if (k->c->ring && i == k->c->r->swapped) at = ir_add(cg, at, share_place(k));
        if (k->c->ring) at = fragment_column_at(cg, &k->c->side[i].order, at);
        *(i ? &x->col : &x->row) = ir_let_as(cg, IR_I32, i ? "col" : "row", at);
    }
    if (k->c->warps[AX_K] > 1) x->k_warp = ir_let_as(cg, IR_I32, "k_warp", warp_place(k, AX_K));
}

/* Of a slice of the grid: its first step, and how many it has.  */
static Ir slice_steps(Kernel *k) {
    const Contract *c = k->c;
    Cg *cg = k->cg;
    Ir steps = all_steps(k), slice = ir_int(cg, c->slice), split = ir_int(cg, c->r->split);
    if (c->varying_k) {
        steps = ir_let_as(cg, IR_I32, "all_steps", steps);
        Ir above = ir_add(cg, steps, ir_int(cg, c->r->split - 1));
        slice = ir_let(cg, "slice", ir_div(cg, above, split));
    }
    Ir first = k->var.first = ir_let_as(cg, IR_I32, "first", ir_mul(cg, ir_block(cg, 1), slice));
    if (hides_steps(c, c->slice)) slice = ir_hidden(cg, IR_I32, slice);
    Ir own = ir_min(cg, ir_sub(cg, steps, first), slice);
    if (c->may_be_empty) own = ir_max(cg, own, ir_int(cg, 0));
    k->var.steps = ir_let_as(cg, IR_I32, "steps", own);
    return first;
}

static void slice_place(Kernel *k) {
    Cg *cg = k->cg;
    bool wide = place_wide(k->task->p->extent[AX_K], 2 * (int64_t)k->task->r->block.extent[AX_K]);
    IrBase base = place_base(wide);
    Ir first = NULL;
    if (k->c->sliced && k->c->r->tail == 0) first = slice_steps(k);
    else if (k->c->sliced) first = k->var.first; /* the segment's */
    Ir at = ir_int(cg, 0);
    if (first) at = ir_mul(cg, ir_as(cg, base, first), product_size(k, 'B', AX_K));
    k->own->k_next = ir_variable(cg, base, product_word(k, "k_next"), at);
}

/* Of a product that another one is made of: its columns are those of a turn, or all.  */
static void turns_place(Kernel *k) {
    Ir from = ir_int(k->cg, 0);
    if (product_parted(k))
        from = ir_mul(k->cg, k->var.turn_first, product_size(k, 'B', AX_N));
    if (product_moves(k) == AX_K) k->own->n0 = from;
    else
        k->own->n_next =
            ir_variable(k->cg, place_along_base(k, AX_N), product_word(k, "n_next"), from);
    slice_place(k);
}

static void stages_place(Kernel *k) {
    if (contract_turns(k->c)->slots == 1 || k->c->ring) return;
    RingAt *x = product_ring_at(k);
    x->put = ir_variable(k->cg, IR_I32, product_word(k, "put"), ir_int(k->cg, 0));
    x->take = ir_variable(k->cg, IR_I32, product_word(k, "take"), ir_int(k->cg, 0));
}

void place_turn(Kernel *k, bool anew) {
    ir_simple(k->cg, IR_STMT_BLANK);
    if (!k->var.m0) first_of_rows(k);
    first_of_tile(k, AX_N, k->var.tile_n);
    slice_place(k);
    if (anew) stages_place(k);
    if (anew && k->c->tables) k->var.turn = ir_variable(k->cg, IR_I32, "turn", ir_int(k->cg, 0));
    ir_simple(k->cg, IR_STMT_BLANK);
}

/* Of a product whose operand stays for all tiles: all of its columns.  */
static void resident_place(Kernel *k) {
    k->own->n0 = ir_int(k->cg, 0);
    slice_place(k);
}

void place_thread(Kernel *k) {
    Cg *cg = k->cg;
    if (product_feeds(k)) {
        if (!k->c->stays) turns_place(k);
        else if (k->c->kept) resident_place(k);
        stages_place(k);
        return;
    }
    static const char *const raster[] = {"n fastest", "m fastest",
                                         "groups of tile rows, m fastest"};
    ir_note(cg, "place: tiles of the grid with %s", raster[k->c->r->raster]);
    if (!k->c->stays) place_tile(k, k->c->r->tail > 0 ? k->var.number : ir_block(cg, 0));
    thread_place(k, ir_thread(k->cg));
    if (k->l->form->passes) return;
    if (!k->c->stays) slice_place(k);
    else if (product_chains(k) && !product_turns(k)) resident_place(k);
    stages_place(k);
    if (k->c->tables) k->var.turn = ir_variable(cg, IR_I32, "turn", ir_int(cg, 0));
    ir_simple(cg, IR_STMT_BLANK);
}

void place_team(Kernel *k) {
    Cg *cg = k->cg;
    Ir warps = ir_number(cg, IR_U32, k->teams.warps);
    k->teams.own = ir_let_as(cg, IR_U32, "team", ir_div(cg, k->var.warp, warps));
}

void place_next(Kernel *k, bool anew) {
    if (anew) thread_place(k, ir_hidden(k->cg, IR_I32, ir_thread(k->cg)));
    if (anew && k->teams.own) place_team(k);
    if (product_turns(k) && product_feeds(k)) {
        turns_place(k);
    } else {
        place_tile(k, k->var.number);
        if (!k->l->form->passes) slice_place(k);
    }
    ir_simple(k->cg, IR_STMT_BLANK);
}

void place_k_now(Kernel *k) {
    Cg *cg = k->cg;
    bool wide = place_wide(k->c->p->extent[AX_K], k->c->r->block.extent[AX_K]);
    Ir step = k->var.step;
    if (k->c->sliced) step = ir_add(cg, k->var.first, step);
    k->var.k_now = ir_let_as(cg, place_base(wide), "k_now",
              ir_mul(cg, ir_as(cg, place_base(wide), step), product_size(k, 'B', AX_K)));
}

/* Bytes between the end of a tile and the next one, which no load writes.  The compiler joins reads
 * of narrow neighbours, and then reads these too.  */
static void clear_padding(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const RTile *t = &k->c->r->block;
    int64_t rows = s->inner_k ? s->extent : t->extent[AX_K], bytes = rows * s->room->row;
    int rest = (int)(-bytes & 15);
    if (rest == 0 || s->elem >= 4) return;
    Ir stages = s->stays ? ir_int(cg, 1) : operand_ring(k, s)->slots;
    Ir stage = ir_for(cg, "s", ir_int(cg, 0), stages, 1, IR_UNROLL_ALL);
    Ir tid = k->var.tid;
    Ir at = ir_add(cg, ir_mul(cg, stage, operand_ring(k, s)->bytes), operand_at(k, s)->tile);
    ir_if(cg, ir_lt(cg, tid, ir_int(cg, rest)));
    ir_set(cg, ir_element(cg, k->var.smem, ir_add(cg, ir_add(cg, at, ir_int(cg, bytes)), tid)),
           ir_int(cg, 0));
    ir_close(cg);
    ir_close(cg);
}

static void clear_sums(Kernel *k) {
    const Contraction *con = &k->c->p->con;
    const int32_t *own = k->c->r->thread.extent;
    if (k->c->matrix.used) mma_clear(k, false);
    else product_clear(k, con->red, con->acc, own[AX_M], own[AX_N]);
}

static void clear_operands(Kernel *k) {
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        if (!s->made && rprog_waits(s->l)) load_staged_declare(k, s);
    }
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        if (!s->made && !s->l->region) clear_padding(k, s);
    }
    if (k->c->matrix.used) fragment_mma_declare(k);
    else fragment_declare(k);
    ir_simple(k->cg, IR_STMT_BLANK);
}

void clear_accumulators(Kernel *k, const Node *n) {
    if (k->c->ring) {
        if (n->from != CLEAR_SUMS) wgmma_tiles(k);
        if (n->from != CLEAR_OPERANDS) mma_clear(k, n->begins);
        return;
    }
    if (n->from != CLEAR_OPERANDS) clear_sums(k);
    if (n->from != CLEAR_SUMS) clear_operands(k);
}
