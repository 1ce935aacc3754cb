/* Scales of blocks along k by which sums of a step are multiplied as they join the others, for
 * units that know none (rprog_sum_scales): x_scale[i] is that of the i-th part of the warp's tile
 * along the operand's own axis, or of the lane's i-th row or column.  They are read before the
 * products of the step, which hide their latency; sum_scales_stage.c has those that are staged.  */
#include "codegen/multiply/multiply.h"
#include "codegen/block/block.h"
#include "codegen/block/product.h"
#include "codegen/operand/address.h"

static FragDim along(const Side *s) { return s->side ? FRAG_COL : FRAG_ROW; }

static int slots_of(const Kernel *k, const Side *s) {
    return fragment_slots(&k->c->matrix.results, along(s));
}

/* What instruction tile `tile`, and slot `slot` of the lane in it, add.  */
Ir sum_scales_place(const Kernel *k, const Side *s, Ir tile, Ir slot) {
    const Cg *cg = k->cg;
    return ir_add(cg, ir_mul_n(cg, tile, s->thread),
                  fragment_slot_place(cg, &k->c->matrix.results, along(s), slot));
}

/* Row or column of scale i.  */
static Ir own_of(Kernel *k, const Side *s, Ir i) {
    Cg *cg = k->cg;
    int share = s->sum_scales.share;
    Ir first = ir_add(cg, product_first(k, s->own), product_place(k, s));
    if (share) return address_point_own(k, s, ir_add(cg, first, ir_mul_n(cg, i, share)));
    Ir slots = ir_int(cg, slots_of(k, s)), lane = s->side ? k->var.lane_n : k->var.lane_m;
    Ir at = sum_scales_place(k, s, ir_div(cg, i, slots), ir_rem(cg, i, slots));
    return address_point_own(k, s, ir_add_parts(cg, ir_add(cg, first, lane), at));
}

Ir sum_scales_inside(const Kernel *k, const Side *s, Ir own, Ir kk) {
    const Cg *cg = k->cg;
    Ir in = s->ragged ? ir_lt(cg, own, product_extent(k, s->own)) : NULL;
    bool behind = k->c->k_ragged || s->sum_scales.staged;
    return behind ? ir_both(cg, in, ir_lt(cg, kk, product_extent(k, AX_K))) : in;
}

static void load_side(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const RSumScales *x = &s->sum_scales;
    Ir all = ir_array(cg, ir_type(IR_F32), product_name(cg, s, "scale"), x->n, 0, 0);
    operand_at(k, s)->scale = all;
    Ir i = ir_count_of(cg, k->var.i, x->n, IR_UNROLL_ALL), to = ir_element(cg, all, i);
    Ir own = own_of(k, s, i), kk = address_point_k(k, scales_step(k, 0));
    Ir test = sum_scales_inside(k, s, own, kk);
    if (test) {
        ir_set(cg, to, ir_int(cg, 0));
        ir_if(cg, test);
    }
    CgPoint at = address_indices(k, s, own, kk);
    ir_set(cg, to, cg_expr(&at, x->read, TE_F32));
    if (test) ir_close(cg);
    ir_close(cg);
}

void sum_scales_load(Kernel *k) {
    for (const Side *s = k->c->side; s < k->c->end; s++)
        if (s->sum_scales.read && !s->sum_scales.staged) load_side(k, s);
}

/* Those of a slot of an instruction tile.  */
static Ir scale_of(const Kernel *k, const Side *s, Ir tile, Ir slot) {
    const Cg *cg = k->cg;
    int share = s->sum_scales.share;
    Ir at = share ? ir_div(cg, sum_scales_place(k, s, tile, slot), ir_int(cg, share))
                  : ir_add(cg, ir_mul_n(cg, tile, slots_of(k, s)), slot);
    return ir_element(cg, operand_at(k, s)->scale, at);
}

void sum_scales_join(Kernel *k) {
    Cg *cg = k->cg;
    const Fragment *f = &k->c->matrix.results;
    Ir tile[2], slot[2], scale = NULL;
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        const AxisClass own = s->own;
        tile[s->side] = ir_count_of(cg, s->side ? k->var.j : k->var.i, k->c->matrix.tiles[own],
                                    IR_UNROLL_ALL);
        slot[s->side] = ir_count_of(cg, s->side ? k->var.g : k->var.f, slots_of(k, s),
                                    IR_UNROLL_ALL);
    }
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        if (!s->sum_scales.read) continue;
        Ir x = scale_of(k, s, tile[s->side], slot[s->side]);
        scale = scale ? ir_mul(cg, scale, x) : x;
    }
    Ir at = fragment_slot_number(cg, f, slot[0], slot[1]);
    Ir sum = ir_element(cg, ir_element(cg, ir_element(cg, k->own->sum, tile[0]), tile[1]), at);
    Ir part = ir_element(cg, ir_element(cg, ir_element(cg, k->own->part, tile[0]), tile[1]), at);
    part = cg_convert(cg, TE_F32, te_dtype_compute(k->c->matrix.unit->acc), part);
    ir_set(cg, sum, ir_call(cg, ir_type(IR_F32), "fmaf", 3, part, scale, sum));
    for (int i = 0; i < 4; i++) ir_close(cg);
}
