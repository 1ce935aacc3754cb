#include "codegen/elements/chain.h"

/* The second product's operand of a turn of a chain: made of registers that the lane has.  */

/* The slot of a lane's results that is at a place of its tile.  */
static int slot_at(const Fragment *results, int row, int col) {
    int slots = fragment_slots(results, FRAG_DIMS), at[FRAG_DIMS];
    for (int slot = 0; slot < slots; slot++) {
        fragment_at(results, 0, slot, at);
        if (at[FRAG_ROW] == row && at[FRAG_COL] == col) return slot;
    }
    return 0;
}

/* What is in slot `slot` of the operand's tile i of slice q.  */
static Ir passed(const Kernel *k, Ir i, Ir q, int slot) {
    const Cg *cg = k->cg;
    const Side *s = &k->other->c.side[0];
    int wide = k->c.r->thread.extent[AX_N], at[FRAG_DIMS];
    int each = k->other->c.r->thread.extent[AX_K] / wide;
    fragment_at(&s->fragment, 0, slot, at);
    Ir j = ir_add_n(cg, ir_mul_n(cg, q, each), at[FRAG_COL] / wide);
    Ir tile = ir_element(cg, ir_element(cg, k->score, i), j);
    int from = slot_at(&k->c.matrix.results, at[FRAG_ROW], at[FRAG_COL] % wide);
    return ir_element(cg, tile, ir_int(cg, from));
}

void chain_operand(Kernel *k) {
    Cg *cg = k->cg;
    const Contract *to = &k->other->c;
    const Side *s = &to->side[0];
    const char *pair = ir_joined(cg, "rl_f32x2_to_", te_dtype_name(to->matrix.unit->a));
    ir_note(cg, "operand %c: registers of the terms", s->id);
    Ir q = ir_count(cg, "q", to->matrix.tiles[AX_K], IR_UNROLL_ALL);
    Ir i = ir_count(cg, "i", to->matrix.tiles[AX_M], IR_UNROLL_ALL);
    for (int r = 0; r < s->registers; r++) {
        Ir at = ir_add_n(cg, ir_mul_n(cg, i, s->registers), r);
        ir_set(cg, ir_element(cg, ir_element(cg, k->other->frag[0], q), at),
               ir_call(cg, ir_type(IR_U32), pair, 2, passed(k, i, q, 2 * r),
                       passed(k, i, q, 2 * r + 1)));
    }
    ir_close(cg);
    ir_close(cg);
}
