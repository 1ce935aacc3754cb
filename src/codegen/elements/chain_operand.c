#include "codegen/elements/chain.h"

/* The second product's operand of a turn of a chain: made of registers that the lane has.  */

static const Side *made_of(const Kernel *k) { return k->c[1].side; }

/* What is at row `row`, column `col` of the lane's in the operand's tile i of slice q: its columns
 * follow each other as the lane's results do (fragment_order), or in another order.  */
static Ir passed(const Kernel *k, Ir i, Ir q, int row, int col) {
    const Cg *cg = k->cg;
    const Fragment *results = &k->c->matrix.results;
    int each = fragment_slots(&made_of(k)->fragment, FRAG_COL);
    Ir wide = ir_int(cg, fragment_slots(results, FRAG_COL));
    Ir at = ir_add_n(cg, ir_mul_n(cg, q, each), col);
    at = fragment_column_at(cg, &k->c->matrix.own, at);
    Ir tile = ir_element(cg, ir_element(cg, k->score, i), ir_div(cg, at, wide));
    return ir_element(cg, tile, fragment_slot_number(cg, results, ir_int(cg, row),
                                                     ir_rem(cg, at, wide)));
}

/* Row or column of the lane's, of those that it has along a side, in a slot.  */
static int slot_along(const Fragment *f, FragDim dim, int slot) {
    int at[FRAG_DIMS], other[FRAG_DIMS], n = 0;
    fragment_at(f, 0, slot, at);
    for (int i = 0; i < fragment_slots(f, FRAG_DIMS); i++) {
        fragment_at(f, 0, i, other);
        n += other[!dim] == at[!dim] && other[dim] < at[dim];
    }
    return n;
}

static Ir passed_slot(const Kernel *k, Ir i, Ir q, int slot) {
    const Fragment *f = &made_of(k)->fragment;
    return passed(k, i, q, slot_along(f, FRAG_ROW, slot), slot_along(f, FRAG_COL, slot));
}

/* Register r of the operand's tile i of slice q.  */
static Ir register_of(const Kernel *k, Ir i, Ir q, int r) {
    const Cg *cg = k->cg;
    const Side *s = made_of(k);
    const OperandAt *x = &product_next(k)->operand[s->side];
    if (x->made)
        return ir_element(cg, ir_element(cg, ir_element(cg, x->made, q), i), ir_int(cg, r));
    return ir_element(cg, ir_element(cg, x->frag, q),
                      ir_add_n(cg, ir_mul_n(cg, i, s->registers), r));
}

/* The values of a register as one.  */
static Ir joined(const Kernel *k, Ir i, Ir q, int r) {
    enum { MOST = 4 };
    const Cg *cg = k->cg;
    int n = made_of(k)->fragment.per_register;
    const char *name = cg_register(cg, k->c[1].matrix.unit->a, n);
    IrType word = ir_type(IR_U32);
    Ir x[MOST];
    for (int v = 0; v < n; v++) x[v] = passed_slot(k, i, q, n * r + v);
    if (!name) return x[0];
    return n == 1   ? ir_call(cg, word, name, 1, x[0])
           : n == 2 ? ir_call(cg, word, name, 2, x[0], x[1])
                    : ir_call(cg, word, name, MOST, x[0], x[1], x[2], x[3]);
}

void chain_operand(Kernel *k) {
    Cg *cg = k->cg;
    product_select(k, 1);
    const Contract *to = k->c;
    const Side *s = to->side;
    if (to->matrix.tensor) made_declare(k, s);        /* of the turn: they do not stay */
    product_select(k, 0);
    ir_note(cg, "operand %c: registers of the terms", s->id);
    Ir q = ir_count(cg, "q", to->matrix.tiles[AX_K], IR_UNROLL_ALL);
    Ir i = ir_count_of(cg, k->var.i, to->matrix.tiles[AX_M], IR_UNROLL_ALL);
    for (int r = 0; r < s->registers; r++)
        ir_set(cg, register_of(k, i, q, r), joined(k, i, q, r));
    ir_close(cg);
    ir_close(cg);
}
