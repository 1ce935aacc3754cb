#include "codegen/multiply/multiply.h"
#include "codegen/prelude/prelude.h"
#include "codegen/block/product.h"

/* Products of warpgroups that take their first operand from registers, which are made of what lies
 * in the stage as in memory: a lane reads all that it has of a step, and evaluates the operand's
 * expression slice by slice, while products of the slices before are under way.
 *
 * Of side x, by its letter: x_lane, the byte in a tile where the lane begins; x_o<j>[i][h], what
 * the expression reads beside at row h of the lane in instruction tile i; x_raw[slice][i][f], what
 * register f is made of; x_made[slice][i][f], the register.  */

static const Side *side_of(const Kernel *k) { return &k->c->side[k->c->r->swapped]; }

static int tiles_of(const Kernel *k) { return k->c->matrix.tiles[side_of(k)->own]; }

static int registers_of(const Side *s) {
    return fragment_slots(&s->fragment, FRAG_DIMS) / s->fragment.per_register;
}

static int slices_of(const Kernel *k) {
    return k->c->r->block.extent[AX_K] / k->c->r->thread.extent[AX_K];
}

/* What register f adds along a side.  */
static Ir register_place(const Kernel *k, const Side *s, FragDim dim, Ir f) {
    const Fragment *x = &s->fragment;
    Ir slot = ir_mul(k->cg, f, ir_int(k->cg, x->per_register));
    return fragment_place_of(k->cg, x, dim, slot, x->per_register, 1);
}

static Ir at(const Cg *cg, Ir all, Ir slice, Ir i, Ir f) {
    return ir_element(cg, ir_element(cg, ir_element(cg, all, slice), i), f);
}

/* Of the slice at kk.  */
static Ir slice_at(const Kernel *k) {
    return ir_div(k->cg, k->var.body, product_size(k, 'T', AX_K));
}

static Ir lane_of(const Kernel *k, const Side *s) {
    return s->side ? k->var.lane_n : k->var.lane_m;
}

/* Rows of the tile where the warp's part of the first instruction, and the lane in it, begin.  */
static Ir lane_row(const Kernel *k, const Side *s) {
    return ir_add(k->cg, product_place(k, s), lane_of(k, s));
}

void made_tile(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const RLayout *y = &s->l->layout;
    Ir column = fragment_lane_place(k, &s->fragment, FRAG_COL, s->elem), moved = lane_of(k, s);
    column = ir_div(cg, column, ir_int(cg, s->raw.pack));
    if (y->shift) moved = ir_binary(cg, IR_SHR, moved, ir_int(cg, y->shift));
    moved = ir_binary(cg, IR_AND, moved, ir_int(cg, (1 << y->bits) - 1));
    moved = ir_binary(cg, IR_XOR, column, ir_binary(cg, IR_SHL, moved, ir_int(cg, 4)));
    Ir row = ir_mul(cg, lane_row(k, s), ir_int(cg, s->span));
    operand_at(k, s)->lane =
        ir_let_as(cg, IR_I32, product_name(cg, s, "lane"), ir_add(cg, row, moved));
}

void made_declare(Kernel *k, const Side *s) {
    operand_at(k, s)->made = ir_array(k->cg, ir_type(IR_U32), product_name(k->cg, s, "made"),
                                      slices_of(k), tiles_of(k), registers_of(s));
}

/* ---- what is read beside ---- */

static bool moves(const Kernel *k, const TeExpr *read) {
    const FusedAxis *x = &k->c->p->con.axis[AX_K];
    uint32_t indices = 0;
    for (int i = 0; i < x->n; i++) indices |= 1u << x->index[i];
    return (access_uses(read) & indices) != 0;
}

/* The first k of the step.  */
static Ir first_k(const Kernel *k) {
    const Cg *cg = k->cg;
    Ir step = k->var.step;
    if (k->c->sliced) step = ir_add(cg, k->var.first, step);
    return ir_mul(cg, step, product_size(k, 'B', AX_K));
}

/* The value of a read at the lane's row `at_own`, at the first k of the step.  */
static Ir beside_value(Kernel *k, const Side *s, const TeExpr *read, Ir at_own) {
    Cg *cg = k->cg;
    CgPoint p = {.cg = cg, .stmt = k->c->root};
    bool wide = place_wide(s->whole, s->extent), wide_k = place_wide(k->c->p->extent[AX_K], 0);
    place_axis(k, AX_B, k->var.b, false, p.index, p.wide);
    place_axis(k, (int)s->own, at_own, wide, p.index, p.wide);
    if (moves(k, read)) {
        Ir at_k = ir_let_as(cg, place_base(wide_k), "at_k", first_k(k));
        place_axis(k, AX_K, at_k, wide_k, p.index, p.wide);
    }
    return cg_expr(&p, read, read->type);
}

static Ir beside_row(Kernel *k, const Side *s, Ir i, Ir h) {
    Cg *cg = k->cg;
    bool wide = place_wide(s->whole, s->extent);
    Ir row = ir_add_parts(cg, product_first(k, s->own), lane_row(k, s));
    row = ir_add(cg, row, ir_mul(cg, i, ir_int(cg, s->thread)));
    row = ir_add_parts(cg, row, fragment_slot_place(cg, &s->fragment, FRAG_ROW, h));
    return ir_let_as(cg, place_base(wide), "at_own", row);
}

static void read_beside(Kernel *k, const Side *s, int j) {
    Cg *cg = k->cg;
    const TeExpr *read = s->raw.other[j];
    int rows = fragment_slots(&s->fragment, FRAG_ROW);
    bool tested = s->ragged;
    const char *word = product_name(cg, s, ir_numbered(cg, "o", j));
    Ir all = ir_array(cg, ir_type(ir_compute(read->type)), word, tiles_of(k), rows, 0);
    operand_at(k, s)->read[j] = all;
    Ir i = ir_count_of(cg, k->var.i, tiles_of(k), IR_UNROLL_ALL);
    Ir h = ir_count(cg, "h", rows, IR_UNROLL_ALL);
    Ir to = ir_element(cg, ir_element(cg, all, i), h), at_own = beside_row(k, s, i, h);
    if (tested) {
        ir_set(cg, to, ir_int(cg, 0));
        ir_if(cg, ir_lt(cg, at_own, product_extent(k, s->own)));
    }
    ir_set(cg, to, beside_value(k, s, read, at_own));
    if (tested) ir_close(cg);
    ir_close(cg);
    ir_close(cg);
}

void made_beside(Kernel *k, bool of_step) {
    const Side *s = side_of(k);
    if (s->l->region && !of_step) region_place(k, s);
    for (int j = 0; j < s->raw.n && s->l->raw; j++)
        if (moves(k, s->raw.other[j]) == of_step) read_beside(k, s, j);
}

/* ---- a step ---- */

/* Bytes as they are become two registers at once, k and k of the other half.  */
static bool widens(const Kernel *k, const Side *s) {
    return s->o->read && cg_widen(k->cg, k->c->matrix.unit->a, s->raw.storage) != NULL;
}

/* Where the lane reads register f of slice kk, behind `from`.  */
static Ir raw_place(const Kernel *k, const Side *s, Ir from, const Ir at[3]) {
    const Cg *cg = k->cg;
    Ir around = ir_int(cg, s->span / s->elem);
    Ir along = ir_mul(cg, at[0], product_size(k, 'T', AX_K));
    along = ir_add_parts(cg, along, register_place(k, s, FRAG_COL, at[2]));
    along = ir_div(cg, along, ir_int(cg, s->raw.pack));
    Ir down = ir_mul(cg, at[1], ir_int(cg, s->thread));
    down = ir_add_parts(cg, down, register_place(k, s, FRAG_ROW, at[2]));
    Ir byte = ir_mul(cg, ir_rem(cg, along, around), ir_int(cg, s->elem));
    Ir x = ir_add(cg, from, ir_binary(cg, IR_XOR, operand_at(k, s)->lane, byte));
    x = ir_add(cg, x, ir_mul(cg, down, ir_int(cg, s->span)));
    if (s->boxes == 1) return x;
    return ir_add(cg, x, ir_mul(cg, ir_div(cg, along, around), ir_int(cg, s->span * s->extent)));
}

/* The operand's tile in the stage.  */
static Ir raw_tile(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    Ir smem = k->var.smem;
    Ir stage = ir_mul(cg, operand_ring(k, s)->slot, operand_ring(k, s)->bytes);
    Ir tile = ir_add(cg, ir_add(cg, smem, stage), operand_at(k, s)->tile);
    return ir_let(cg, product_name(cg, s, "from"), ir_const(cg, tile));
}

/* The matrices of a region, which are the registers.  */
static void read_region(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    Ir slot = ir_mul(cg, k->ring[s->ring].slot, k->ring[s->ring].bytes);
    Ir from = ir_add(cg, k->var.shared, operand_at(k, s)->tile);
    if (k->c->layout->ring[s->ring].slots > 1) from = ir_add(cg, from, slot);
    operand_at(k, s)->raw = ir_array(cg, ir_type(IR_U32), product_name(cg, s, "raw"), slices_of(k),
                                     tiles_of(k), registers_of(s));
    region_read(k, s, ir_let(cg, product_name(cg, s, "from"), from), operand_at(k, s)->raw);
}

/* Products of the step before have read their registers until here: the matrices of this one, which
 * are loaded already, lie in others.  The compiler must not make one of both, and does not see that
 * they are copied.  */
static void take(Kernel *k, const Side *s, Ir i) {
    Cg *cg = k->cg;
    Ir made = ir_element(cg, ir_element(cg, operand_at(k, s)->made, slice_at(k)), i);
    ir_settle(cg, made);
    Ir f = ir_count_of(cg, k->var.f, registers_of(s), IR_UNROLL_ALL);
    Ir raw = at(cg, operand_at(k, s)->raw, slice_at(k), i, f);
    ir_set(cg, ir_element(cg, made, f), ir_hidden(cg, IR_U32, raw));
    ir_close(cg);
    ir_settle(cg, made);
}

void made_read(Kernel *k) {
    Cg *cg = k->cg;
    const Side *s = side_of(k);
    if (s->l->region) {
        read_region(k, s);
        return;
    }
    bool words = widens(k, s);
    int per = words ? 1 : s->fragment.per_register / s->raw.pack;
    IrBase base = words ? IR_U16 : ir_storage(s->raw.storage);
    ir_note(cg, "read: what the operand is made of");
    Ir from = raw_tile(k, s);
    operand_at(k, s)->raw = ir_array(cg, ir_vector(base, per), product_name(cg, s, "raw"),
                                     slices_of(k), tiles_of(k), registers_of(s));
    Ir kk = ir_count(cg, "kk", slices_of(k), IR_UNROLL_ALL);
    Ir i = ir_count_of(cg, k->var.i, tiles_of(k), IR_UNROLL_ALL);
    Ir f = ir_count_of(cg, k->var.f, registers_of(s), IR_UNROLL_ALL);
    Ir x = raw_place(k, s, from, (const Ir[]){kk, i, f});
    x = ir_view(cg, ir_pointer(base, IR_SHARED, true), x);
    ir_set(cg, at(cg, operand_at(k, s)->raw, kk, i, f),
           per > 1 ? ir_load(cg, x, per) : ir_element(cg, x, ir_int(cg, 0)));
    for (int open = 0; open < 3; open++) ir_close(cg);
}

/* Four bytes, of two registers, become two registers.  */
static void widen(Kernel *k, const Side *s, Ir i) {
    Cg *cg = k->cg;
    int half = registers_of(s) / 2;
    Ir slice = slice_at(k), f = ir_count_of(cg, k->var.f, half, IR_UNROLL_ALL);
    Ir x = ir_array(cg, ir_type(IR_U32), "x", 2, 0, 0), behind = ir_add(cg, f, ir_int(cg, half));
    Ir high = ir_cast(cg, IR_U32, at(cg, operand_at(k, s)->raw, slice, i, behind));
    Ir four = ir_binary(cg, IR_OR, at(cg, operand_at(k, s)->raw, slice, i, f),
                        ir_binary(cg, IR_SHL, high, ir_int(cg, 16)));
    ir_do(cg,
          ir_call_in_place(cg, cg_widen(cg, k->c->matrix.unit->a, s->raw.storage), 1, 2, x, four));
    ir_set(cg, at(cg, operand_at(k, s)->made, slice, i, f), ir_element(cg, x, ir_int(cg, 0)));
    ir_set(cg, at(cg, operand_at(k, s)->made, slice, i, behind), ir_element(cg, x, ir_int(cg, 1)));
    ir_close(cg);
}

/* What register f of instruction tile i is made of, at its element v.  */
static void give_reads(const Kernel *k, const Side *s, const Ir place[3], CgGiven *given) {
    const Cg *cg = k->cg;
    int rows = fragment_slots(&s->fragment, FRAG_ROW);
    Ir x = at(cg, operand_at(k, s)->raw, slice_at(k), place[0], place[1]);
    if (x->type.lanes > 1) x = ir_lane(cg, x, ir_div(cg, place[2], ir_int(cg, s->raw.pack)));
    given[0] = (CgGiven){s->raw.read, cg_decode(cg, s->raw.storage, x)};
    for (int j = 0; j < s->raw.n; j++) {
        Ir row = ir_element(cg, operand_at(k, s)->read[j], place[0]);
        given[j + 1] = (CgGiven){s->raw.other[j],
                                 ir_element(cg, row, ir_rem(cg, place[1], ir_int(cg, rows)))};
    }
}

/* The elements x of a register in one.  */
static Ir joined(const Kernel *k, Ir x, int per) {
    const Cg *cg = k->cg;
    Ir first = ir_element(cg, x, ir_int(cg, 0));
    const char *type = te_dtype_name(k->c->matrix.unit->a);
    if (per == 2)
        return ir_call(cg, ir_type(IR_U32), arena_printf(cg->arena, "rl_f32x2_to_%s", type), 2,
                       first, ir_element(cg, x, ir_int(cg, 1)));
    if (per == 4) return ir_call(cg, ir_type(IR_U32), "rl_bytes", 1, x);
    return ir_call(cg, ir_type(IR_U32), "__float_as_uint", 1, first);
}

static void evaluate(Kernel *k, const Side *s, Ir i) {
    Cg *cg = k->cg;
    CgGiven given[RTILE_CHUNK_READS + 1];
    CgPoint p = {.cg = cg, .stmt = k->c->root, .given = given, .n_given = s->raw.n + 1};
    int per = s->fragment.per_register;
    TeDtype type = k->c->matrix.unit->a;
    const FusedAxis *along = &k->c->p->con.axis[AX_K];
    const TeExpr *e = s->o->expr;
    bool real = te_dtype_class(type) != TE_CLASS_INT, pairs = per == 2;
    if (real && e->kind == TE_CAST && e->store == type) e = e->args[0];       /* rounded below */
    Ir f = ir_count_of(cg, k->var.f, registers_of(s), IR_UNROLL_ALL);
    Ir x = ir_array(cg, ir_type(cg_waiting(type, pairs)), "x", per, 0, 0);
    Ir v = ir_count(cg, "v", per, IR_UNROLL_ALL);
    p.index[along->index[along->n - 1]] = v;  /* among those that share an element */
    give_reads(k, s, (const Ir[]){i, f, v}, given);
    ir_set(cg, ir_element(cg, x, v), cg_wait(cg, type, pairs, e->type, cg_expr(&p, e, e->type)));
    ir_close(cg);
    ir_set(cg, at(cg, operand_at(k, s)->made, slice_at(k), i, f), joined(k, x, per));
    ir_close(cg);
}

void made_make(Kernel *k) {
    const Side *s = side_of(k);
    Ir i = ir_count_of(k->cg, k->var.i, tiles_of(k), IR_UNROLL_ALL);
    (s->l->region ? take : widens(k, s) ? widen : evaluate)(k, s, i);
    ir_close(k->cg);
}

void made_products(Kernel *k) {
    wgmma_begin(k);
    wgmma_multiply(k, k->var.body, k->c->matrix.promotes);
}
