#include "codegen/elements/elements.h"
#include "codegen/block/product.h"
#include "codegen/expr/sizes.h"
#include "te/tree/arith.h"

/* Blocks that stay for several tiles, and outputs that leave them by boxes: each lane puts what it
 * holds where the store's tensor map expects it, and one lane of the warp has the box stored.  */

/* ---- tiles ---- */

/* Steps of the tiles before tell where the rings are, but in a chain with turns, whose rings go on
 * from tile to tile.  */
static void open_from(Kernel *k, Ir first) {
    Cg *cg = k->cg;
    if (product_turns(k)) return;
    k->var.from = ir_variable(cg, IR_U32, "from", first);
    k->teams.again = ir_binary(cg, IR_GT, k->var.from, ir_int(cg, 0));
}

/* From a tile to that of the same block in the next round, in the other order.  */
static Ir snake(const Kernel *k, Ir number) {
    const Cg *cg = k->cg;
    Ir grid = k->var.grid, round = ir_add_n(cg, ir_div(cg, number, grid), 1);
    Ir end = ir_mul(cg, ir_mul(cg, round, grid), ir_int(cg, 2));
    return ir_sub(cg, ir_sub(cg, end, ir_int(cg, 1)), ir_mul(cg, number, ir_int(cg, 2)));
}

void ring_open_tiles(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    Teams *t = &k->teams;
    Ir grid = k->var.grid, first = ir_block(cg, 0), own = n->loop.in_turn ? t->own : NULL;
    Ir number = k->var.number = ir_name(cg, ir_type(IR_U32), "number");
    bool turns = k->l->form->passes > 0;
    Ir on = n->to ? snake(k, number) : own ? ir_mul(cg, ir_int(cg, t->n), grid) : grid;
    if (own) first = ir_add(cg, first, ir_mul(cg, own, grid));
    Ir team = turns ? t->own : own;
    open_from(k, team ? ir_mul(cg, team, k->var.steps) : ir_int(cg, 0));
    ir_loop(cg, number, first, ir_lt(cg, number, k->var.tiles), (IrNext){IR_ADD, on}, 1);
    t->follows = ir_lt(cg, ir_add(cg, number, grid), k->var.tiles);
}

void ring_close_tiles(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    bool dealt = n->loop.in_turn && k->teams.own;
    Ir steps = k->var.steps, teams = ir_int(cg, k->teams.n);
    if (!product_turns(k) && k->l->form->passes == 0)
        ir_update(cg, IR_ADD, k->var.from, dealt ? ir_mul(cg, teams, steps) : steps);
    ir_close(cg);
}

/* ---- columns of rows in turns ---- */

/* Does another team's turn follow that of this one?  `next`: there is a tile behind this one.  */
static Ir followed(const Kernel *k, const Node *n, Ir turn, Ir count, Ir next) {
    const Cg *cg = k->cg;
    bool more = n->from + 1 < k->l->form->passes;
    Ir before = ir_lt(cg, k->teams.own, ir_number(cg, IR_U32, k->teams.n - 1));
    Ir other = ir_lt(cg, ir_add_n(cg, turn, 1), count);
    return more ? NULL : ir_binary(cg, IR_EITHER, before, ir_binary(cg, IR_EITHER, other, next));
}

void ring_open_columns(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    TeExtent all = index_tiles(cg->arena, &k->task->map, AX_N);
    Ir teams = ir_number(cg, IR_U32, n->to);
    Ir count = ir_mul(cg, ir_as(cg, IR_U32, size_value(cg, all)), teams);
    Ir turn = ir_name(cg, ir_type(IR_U32), n->to > 1 ? "turn" : "tile_n");
    ir_loop(cg, turn, ir_number(cg, IR_U32, 0), ir_lt(cg, turn, count),
            (IrNext){IR_ADD, ir_number(cg, IR_U32, 1)}, 1);
    k->at.pass = n->from;
    k->at.kept = false;
    k->var.tile_n = ir_div(cg, turn, teams);
    if (n->to > 1) k->teams.own = ir_let_as(cg, IR_U32, "team", ir_rem(cg, turn, teams));
    else if (k->teams.n > 1) k->teams.follows = followed(k, n, turn, count, k->teams.follows);
}

void ring_close_columns(Kernel *k) {
    Cg *cg = k->cg;
    Ir steps = k->var.steps, teams = ir_int(cg, k->teams.n);
    if (k->c->ring) ir_update(cg, IR_ADD, k->var.from, ir_mul(cg, teams, steps));
    ir_close(cg);
}

/* ---- boxes ---- */

static int elem_of(const Kernel *k) {
    return te_dtype_bytes(k->cg->te->tensor[k->c->out_tensor].dtype);
}

/* Columns of a box, and how many of them a lane holds.  */
static int columns_of(const Kernel *k) { return k->c->box_row / elem_of(k); }

static int slots_of(const Kernel *k) {
    return fragment_slots(&k->c->matrix.results, FRAG_COL) / k->c->boxes;
}

static void store_map(Arena *a, const Contract *c, KernelMap *map) {
    enum { SPAN = 16 };
    int swizzle = TM_SWIZZLE_NONE, rows = (int)(c->out_room->bytes / c->box_row);
    RBox box;
    Access x;
    rprog_out_box(c->p, &box, &x);
    for (int span = SPAN; span < c->box_row; span *= 2) swizzle++;
    *map = ring_map(a, c->p, &x, &box);
    map->fixed.swizzle = swizzle;
    for (int i = 0; i < c->out.rank; i++) {
        bool of_rows = c->out.dim[i].axis == AX_M;
        map->fixed.box[i] = i == 0    ? (uint32_t)(c->box_row / tensor_map_element(&map->fixed))
                            : of_rows ? (uint32_t)rprog_box_part(&c->out, i, rows)
                                      : 1;
    }
}

void ring_maps(Arena *a, const Lowered *l, KernelLaunch *out) {
    const Layout *x = l->layout;
    const Contract *last = &x->product[x->n_product - 1];
    int n = ring_map_number(x, NULL);
    KernelMap *map = ARENA_ARRAY(a, KernelMap, n + 1);
    out->cluster[0] = rprog_cluster(l->r);
    for (int i = 0; i < x->n_product; i++) {
        const Contract *c = &x->product[i];
        for (const Side *s = c->side; s < c->end; s++) {
            for (int j = 0; j < side_maps(s); j++)
                map[ring_map_number(x, s) + j] = ring_operand_map(a, c, s, j);
        }
    }
    if (last->r->via == VIA_BOXES) store_map(a, last, &map[n++]);
    out->map = map;
    out->n_map = n;
}

/* By how many bytes the swizzle moves the chunks of 16 of a row: by the row's number within 1024
 * bytes, of which rows of 64 bytes share one, ...  Rows without a bit in common move a chunk by the
 * xor of what each of them moves it.  */
static Ir moved_in(const Kernel *k, Ir row) {
    const Cg *cg = k->cg;
    int bytes = k->c->box_row, rows = 128 / bytes, chunks = bytes / 16;
    Ir number = ir_rem(cg, ir_div(cg, row, ir_int(cg, rows)), ir_int(cg, chunks));
    return ir_mul(cg, number, ir_int(cg, 16));
}

/* The lane's place in a box of its first row and column.  */
static Ir lane_place(const Kernel *k) {
    const Cg *cg = k->cg;
    Ir m = k->var.lane_m, column = ir_mul(cg, k->var.lane_n, ir_int(cg, elem_of(k)));
    Ir byte = ir_binary(cg, IR_XOR, moved_in(k, m), column);
    return ir_add(cg, ir_mul(cg, m, ir_int(cg, k->c->box_row)), byte);
}

/* The lane's first row or column.  */
static Ir lane_first(const Kernel *k, AxisClass axis) {
    Ir lane = axis == AX_M ? k->var.lane_m : k->var.lane_n;
    return ir_add(k->cg, product_warp_first(k, axis), lane);
}

/* What row i of instruction tiles, and box c of it, add.  */
static Ir row_of(const Kernel *k) {
    return ir_mul(k->cg, k->var.i, product_size(k, 'T', AX_M));
}
static Ir column_of(const Kernel *k) {
    return ir_mul(k->cg, k->var.c, ir_int(k->cg, columns_of(k)));
}

/* What slot f of the lane's rows, h of its columns in a box, add.  */
static Ir slot_of(const Kernel *k, FragDim dim) {
    Ir x = dim == FRAG_ROW ? k->var.f : k->var.h;
    return fragment_slot_place(k->cg, &k->c->matrix.results, dim, x);
}

void ring_open_boxes(Kernel *k) {
    Cg *cg = k->cg;
    const Contract *c = k->c;
    ir_scope(cg);
    ir_note(cg, "bytes: to boxes, of one, of those of a warp");
    Ir first = ir_constant(cg, "OUTPUTS", ir_int(cg, c->out_room->at));
    Ir size = ir_constant(cg, "BOX", ir_int(cg, c->out_room->bytes));
    Ir all = ir_constant(cg, "BOXES", ir_int(cg, c->out_room->share));
    k->var.lane_at = ir_let_as(cg, IR_I32, "lane_at", lane_place(k));
    Ir warp = ir_cast(cg, IR_I32, k->var.warp);
    Ir box_at = ir_let(cg, "box_at", ir_add(cg, first, ir_mul(cg, warp, all)));
    Ir row = ir_add_parts(cg, row_of(k), slot_of(k, FRAG_ROW));
    Ir column = ir_add_parts(cg, column_of(k), slot_of(k, FRAG_COL));
    store_position(k, AX_M, lane_first(k, AX_M), row);
    store_position(k, AX_N, lane_first(k, AX_N), column);
    Ir i = ir_count_of(cg, k->var.i, c->matrix.tiles[AX_M], IR_UNROLL_ALL);
    Ir each = ir_count_of(cg, k->var.c, c->boxes, IR_UNROLL_ALL);
    Ir number = ir_add(cg, ir_mul(cg, i, ir_int(cg, c->boxes)), each);
    Ir slot = ir_rem(cg, number, ir_int(cg, c->out_room->slots));
    k->var.box = ir_let(cg, "box", ir_add(cg, box_at, ir_mul(cg, slot, size)));
}

static Ir open_loop(Kernel *k, Ir var, int n, int by) {
    k->at.open++;
    return ir_for_of(k->cg, var, ir_int(k->cg, 0), ir_int(k->cg, n), by, IR_UNROLL_ALL);
}

/* What lies outside is not stored; it may not be evaluated either.  */
static void open_inside(Kernel *k, AxisClass axis) {
    store_open_inside(k, axis, index_ragged(&k->task->map, (int)axis));
}

void ring_open_box(Kernel *k) {
    open_loop(k, k->var.f, fragment_slots(&k->c->matrix.results, FRAG_ROW), 1);
    open_inside(k, AX_M);
    stats_rows(k);
    k->at.in_row = true;
}

void ring_open_row(Kernel *k) {
    Cg *cg = k->cg;
    int slots = slots_of(k);
    Ir h = open_loop(k, k->var.h, slots, k->task->vec);
    ir_define(cg, k->var.j, ir_int(cg, 0));
    ir_define(cg, k->var.g, ir_add(cg, ir_mul(cg, k->var.c, ir_int(cg, slots)), h));
    open_inside(k, AX_N);
}

Ir ring_box_place(const Kernel *k, IrBase base) {
    const Cg *cg = k->cg;
    Ir row_slot = slot_of(k, FRAG_ROW);
    Ir down = ir_mul(cg, row_slot, ir_int(cg, k->c->box_row));
    Ir along = ir_mul(cg, slot_of(k, FRAG_COL), ir_int(cg, elem_of(k)));
    along = ir_binary(cg, IR_XOR, moved_in(k, row_slot), along);
    Ir moved = ir_binary(cg, IR_XOR, k->var.lane_at, along);
    Ir smem = k->var.smem;
    Ir row = ir_add(cg, ir_add(cg, smem, k->var.box), down);
    return ir_view(cg, ir_pointer(base, IR_SHARED, false), ir_add(cg, row, moved));
}

/* One lane has the box stored, whose rows and columns outside the tensor are left out.  */
void ring_put(Kernel *k) {
    Cg *cg = k->cg;
    IrBox x = {.map = cg_map(cg, k->l->launch.n_map - 1),
               .shared = ir_add(cg, k->var.shared, k->var.box),
               .rank = k->c->out.rank};
    Ir row = ir_add(cg, product_warp_first(k, AX_M), row_of(k));
    for (int i = 0; i < x.rank; i++) {
        const RBoxDim *d = &k->c->out.dim[i];
        x.at[i] = d->axis == AX_N   ? ir_add(cg, product_warp_first(k, AX_N), column_of(k))
                  : d->axis == AX_M ? ring_digit(k, d, row)
                                    : ring_batch(k, d);
    }
    ir_if(cg, ir_binary(cg, IR_EQ, k->var.lane, ir_int(cg, 0)));
    ir_box(cg, &x);
    ir_close(cg);
}
