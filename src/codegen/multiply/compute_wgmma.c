#include "codegen/multiply/multiply.h"
#include "codegen/prelude/prelude.h"
#include "codegen/block/product.h"

/* Products of warpgroups, which read both operands from the stage at hand.  */

/* Descriptor of the warpgroup's part of an operand in the first stage, the lower half; `on` and
 * `down` are what it moves by, in units of 16 bytes.  */
static void define_tile(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    int teams = k->c->matrix.tensor ? 1 : k->c->warps[s->own];
    int extent = k->c->r->warp.extent[s->own];
    int tiles = extent / s->thread, below = rprog_team(cg->dev, k->c->r);
    Ir warp = k->var.warp, shared = k->var.shared;
    Ir at = ir_add(cg, shared, operand_at(k, s)->tile);
    if (s->own == AX_M) below *= k->c->warps[AX_N];
    if (teams > 1) {
        Ir team = ir_rem(cg, ir_div(cg, warp, ir_number(cg, IR_U32, below)),
                         ir_number(cg, IR_U32, teams));
        at = ir_add(cg, at, ir_mul(cg, team, ir_int(cg, tiles * s->down)));
    }
    at = ir_call_n(cg, ir_type(IR_U32), "rl_wgmma_tile", s->leading, 1, at);
    operand_at(k, s)->low = ir_let(cg, product_name(cg, s, "low"), at);
}

void wgmma_tiles(Kernel *k) {
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        if (s->l->raw) made_tile(k, s);
        bool made = wgmma_has_registers(s);
        if (made && !k->c->matrix.tensor) made_declare(k, s);
        if (!made) define_tile(k, s);
    }
}

/* Where the step's operands are, before they are waited for: those that go round a ring, or that
 * stay.  All lanes of a warp have the same descriptors; what the compiler knows to be so it adds to
 * apart from the lanes' registers.  */
void wgmma_stage(Kernel *k, bool stay) {
    enum { UNIT = 16 };
    Cg *cg = k->cg;
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        if (wgmma_has_registers(s) || s->stays != stay) continue;
        Ir at = operand_at(k, s)->low;
        Ir each = ir_div(cg, operand_ring(k, s)->bytes, ir_int(cg, UNIT));
        if (!stay) at = ir_add(cg, at, ir_mul(cg, operand_ring(k, s)->slot, each));
        if (!k->c->matrix.tensor) at = ir_call(cg, ir_type(IR_U32), "rl_uniform", 1, at);
        operand_at(k, s)->descriptor = ir_let(cg, product_name(cg, s, "at"), at);
    }
}

void compute_wgmma(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    int slice = k->c->r->thread.extent[AX_K];
    ir_note(cg, "compute: slices of %d k", slice);
    if (!k->c->matrix.tensor) wgmma_begin(k);
    else if (k->c->scaled) tensor_scales_copy(k);
    Ir kk = ir_for(cg, "kk", ir_int(cg, 0), product_size(k, 'W', AX_K), slice, IR_UNROLL_ALL);
    wgmma_multiply(k, kk, n->begins || k->c->matrix.promotes);
    ir_close(cg);
}

static void settle_operand(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    if (!operand_at(k, s)->made) return;
    Ir kk = ir_for(cg, "kk", ir_int(cg, 0), product_size(k, 'W', AX_K),
                   k->c->r->thread.extent[AX_K], IR_UNROLL_ALL);
    Ir i = ir_count_of(cg, k->var.i, k->c->matrix.tiles[AX_M], IR_UNROLL_ALL);
    ir_settle(cg, made_registers(k, s, kk, i));
    ir_close(cg);
    ir_close(cg);
}

/* Zeros that are there before the first product begins, and sums behind the last.  */
void wgmma_settle(Kernel *k, bool operand) {
    Cg *cg = k->cg;
    if (operand) settle_operand(k, &k->c->side[k->c->r->swapped]);
    Ir i = ir_count_of(cg, k->var.i, k->c->matrix.tiles[AX_M], IR_UNROLL_ALL);
    ir_settle(cg, wgmma_sums(k, i, ir_int(cg, 0)));
    ir_close(cg);
    if (!k->c->matrix.promotes) ir_simple(cg, IR_STMT_BLANK);
}
