/* Scales by which sums of a step are multiplied, on their way through the step's slot: those who
 * fill read them, several blocks of a row at once, and put those of the step behind its tiles; a
 * lane takes what it needs from there.  x_waiting[i] is what a lane has read of its i-th row.  */
#include "codegen/multiply/multiply.h"
#include "codegen/block/product.h"
#include "codegen/operand/address.h"

static IrType waiting_type(const RSumScales *x) { return travel_type(x->read->store, x->width); }

/* The lane's i-th row in the block's tile, and whether there is one.  */
static Ir row_of(const Kernel *k, const RSumScales *x, Ir i) {
    const Cg *cg = k->cg;
    Ir lane = ir_as(cg, IR_I32, k->c->ring ? k->var.lane : k->var.tid);
    return ir_add(cg, lane, ir_mul_n(cg, i, x->loaders));
}

static Ir has_row(const Kernel *k, const Side *s, Ir row) {
    bool all = s->extent % s->sum_scales.loaders == 0;
    return all ? NULL : ir_lt(k->cg, row, ir_int(k->cg, s->extent));
}

/* Those of the blocks that are read at once, of which k is one.  */
static void read_side(Kernel *k, const Side *s, Ir kk) {
    Cg *cg = k->cg;
    const RSumScales *x = &s->sum_scales;
    Ir within;
    ir_scope(cg);
    Ir first = ir_let(cg, "first", ir_sub(cg, kk, ir_rem(cg, kk, ir_int(cg, x->every))));
    Ir i = ir_count_of(cg, k->var.i, x->each, IR_UNROLL_ALL), row = row_of(k, x, i);
    Ir own = address_point_own(k, s, ir_add(cg, product_first(k, s->own), row));
    Ir at_k = address_point_k(k, first), to = ir_element(cg, operand_at(k, s)->next_scale, i);
    ir_set(cg, to, ir_zero(cg, waiting_type(x)));
    ir_if(cg, ir_both(cg, has_row(k, s, row), sum_scales_inside(k, s, own, at_k)));
    CgPoint at = address_indices(k, s, own, at_k);
    Ir from = travel_place(&at, x->read, &within);
    ir_set(cg, to, travel_load(cg, x->read->store, x->width, from));
    ir_close(cg);
    ir_close(cg);
    ir_close(cg);
}

/* Every step that begins such blocks reads them.  */
static void read_next(Kernel *k, const Side *s, Ir kk) {
    Cg *cg = k->cg;
    bool each = s->sum_scales.every == k->c->r->block.extent[AX_K];
    if (!each) ir_if(cg, ir_binary(cg, IR_EQ, ir_rem(cg, kk, ir_int(cg, s->sum_scales.every)),
                                   ir_int(cg, 0)));
    read_side(k, s, kk);
    if (!each) ir_close(cg);
}

static void declare(Kernel *k, const Side *s) {
    operand_at(k, s)->next_scale = ir_array(k->cg, waiting_type(&s->sum_scales),
                                            product_name(k->cg, s, "waiting"),
                                            s->sum_scales.each, 0, 0);
}

/* The side's scales in the slot at hand.  */
static Ir slot_of(const Kernel *k, const Side *s, bool puts) {
    const Cg *cg = k->cg;
    const RingAt *x = product_ring_at(k);
    int64_t at = rprog_room_at(k->c->layout, ROOM_SCALES, s->number);
    if (k->c->ring)
        return smem_at(k, IR_F32, !puts,
                       ir_add_n(cg, ir_mul(cg, x->slot, ir_as(cg, IR_U32, x->bytes)), at));
    Ir stage = k->c->r->stages > 1 ? ir_add(cg, k->var.smem, puts ? x->put : x->take) : k->var.smem;
    return ir_view(cg, ir_pointer(IR_F32, IR_SHARED, !puts), ir_add(cg, stage, ir_int(cg, at)));
}

/* That of block `block` among those that were read at once.  */
static Ir value_of(const Kernel *k, const RSumScales *x, Ir waiting, Ir block) {
    const Cg *cg = k->cg;
    TeDtype type = x->read->store;
    Ir all = NULL;
    for (int v = x->width - 1; v >= 0; v--) {
        Ir each = waiting;
        if (x->width > 1) each = travel_element(cg, type, x->width, waiting, ir_int(cg, v));
        each = cg_convert(cg, TE_F32, te_dtype_compute(type), cg_decode(cg, type, each));
        all = all ? ir_select(cg, ir_binary(cg, IR_EQ, block, ir_int(cg, v)), each, all) : each;
    }
    return all;
}

static void put_side(Kernel *k, const Side *s, Ir kk) {
    Cg *cg = k->cg;
    const RSumScales *x = &s->sum_scales;
    ir_scope(cg);
    Ir to = ir_let(cg, "to", slot_of(k, s, true)), block = ir_rem(cg, kk, ir_int(cg, x->every));
    block = ir_let(cg, "block", ir_div(cg, block, ir_int(cg, x->every / x->width)));
    Ir i = ir_count_of(cg, k->var.i, x->each, IR_UNROLL_ALL), row = row_of(k, x, i);
    Ir waiting = ir_element(cg, operand_at(k, s)->next_scale, i), test = has_row(k, s, row);
    if (test) ir_if(cg, test);
    ir_set(cg, ir_element(cg, to, row), value_of(k, x, waiting, block));
    if (test) ir_close(cg);
    ir_close(cg);
    ir_close(cg);
}

/* Neighbours at once.  */
static void take_side(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const Fragment *f = &k->c->matrix.results;
    FragDim dim = s->side ? FRAG_COL : FRAG_ROW;
    int slots = fragment_slots(f, dim), run = fragment_run(f, dim);
    Ir all = ir_array(cg, ir_type(IR_F32), product_name(cg, s, "scale"), s->sum_scales.n, 0, 0);
    operand_at(k, s)->scale = all;
    ir_scope(cg);
    Ir lane = s->side ? k->var.lane_n : k->var.lane_m;
    Ir at = ir_add(cg, slot_of(k, s, false), ir_add(cg, product_place(k, s), lane));
    Ir from = ir_let(cg, "from", at);
    Ir tile = ir_count_of(cg, k->var.i, k->c->matrix.tiles[s->own], IR_UNROLL_ALL);
    Ir slot = ir_for(cg, "f", ir_int(cg, 0), ir_int(cg, slots), run, IR_UNROLL_ALL);
    Ir x = ir_let(cg, "x", ir_load(cg, ir_add(cg, from, sum_scales_place(k, s, tile, slot)), run));
    Ir first = ir_add(cg, ir_mul_n(cg, tile, slots), slot);
    for (int i = 0; i < run; i++)
        ir_set(cg, ir_element(cg, all, ir_add_n(cg, first, i)),
               run > 1 ? ir_lane(cg, x, ir_int(cg, i)) : x);
    ir_close(cg);
    ir_close(cg);
    ir_close(cg);
}

void sum_scales_staged(Kernel *k, const Node *n) {
    const Cg *cg = k->cg;
    Ir step = n->name ? k->var.step : ir_int(cg, 0);
    Ir kk = scales_first(k, ir_add_n(cg, step, n->ahead));
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        if (!s->sum_scales.staged) continue;
        if (n->from == SCALES_FIRST) declare(k, s);
        if (n->from == SCALES_FIRST) read_side(k, s, kk);
        else if (n->from == SCALES_NEXT) read_next(k, s, kk);
        else if (n->from == SCALES_STAGE) put_side(k, s, kk);
        else take_side(k, s);
    }
}
