#include "codegen/elements/chain.h"

/* Rows of V that boxes bring although no row of the block has these columns: what lies there may be
 * NaN, whose product with a term of 0 is no zero.  Those that load by themselves leave such rows
 * out; here all that compute write zeros over them, in the turns that the ends of columns cut.  */

/* The first column of the turn: the loop's, or the last one.  */
static Ir first_column(const Kernel *k, const Node *n) {
    const Cg *cg = k->cg;
    Ir turn = n->to ? ir_add_n(cg, k->var.steps, -1) : k->var.step;
    return ir_mul(cg, ir_add(cg, k->var.turn_first, turn), product_size(k, 'B', AX_K));
}

Ir chain_turn_cut(const Kernel *k, const Node *n) {
    const Cg *cg = k->cg;
    Ir first = first_column(k, n), end = ir_add(cg, first, product_size(k, 'B', AX_K));
    return ir_binary(cg, IR_EITHER, ir_binary(cg, IR_GT, end, k->var.n_end),
                     ir_lt(cg, first, k->var.n_begin));
}

/* The row of V, in the tile, that byte `at` of the tile belongs to: boxes lie one behind the other,
 * their chunks of 16 bytes moved by the swizzle.  */
static Ir column_of(const Kernel *k, const Side *s, Ir at) {
    enum { CHUNK = 16 };
    const Cg *cg = k->cg;
    const RLayout *y = &s->l->layout;
    Ir within = ir_rem(cg, at, ir_int(cg, s->box_bytes));
    Ir row = ir_div(cg, within, ir_int(cg, s->span));
    if (!s->inner_k) return row;
    Ir moved = ir_binary(cg, IR_AND, ir_binary(cg, IR_SHR, row, ir_int(cg, y->shift)),
                         ir_int(cg, (1 << y->bits) - 1));
    Ir along = ir_binary(cg, IR_XOR, ir_rem(cg, within, ir_int(cg, s->span)),
                         ir_mul(cg, moved, ir_int(cg, CHUNK)));
    Ir box = ir_mul(cg, ir_div(cg, at, ir_int(cg, s->box_bytes)), ir_int(cg, s->span));
    return ir_div(cg, ir_add(cg, box, along), ir_int(cg, s->elem));
}

void chain_clear_cut(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    const Side *s = &k->c->side[1];
    IrBase base = s->inner_k ? ir_storage(s->tile) : IR_U64;      /* what lies in one row of V */
    int each = s->inner_k ? s->elem : 8, count = (int)(s->room->bytes / each);
    Ir first = ir_let(cg, "cut_first", first_column(k, n)), x = ir_name(cg, ir_type(IR_I32), "x");
    Ir to = ir_mul(cg, operand_ring(k, s)->slot, operand_ring(k, s)->bytes);
    to = ir_add(cg, ir_add(cg, k->var.smem, to), operand_at(k, s)->tile);
    to = ir_let(cg, "cut_rows", ir_view(cg, ir_pointer(base, IR_SHARED, false), to));
    ir_loop(cg, x, k->var.tid, ir_lt(cg, x, ir_int(cg, count)),
            (IrNext){IR_ADD, ir_int(cg, rprog_computing(cg->dev, k->c->r))}, 1);
    Ir at = ir_add(cg, first, column_of(k, s, ir_mul(cg, x, ir_int(cg, each))));
    at = ir_let_as(cg, IR_I32, "n", at);
    ir_if(cg, ir_binary(cg, IR_EITHER, ir_binary(cg, IR_GE, at, k->var.n_end),
                        ir_lt(cg, at, k->var.n_begin)));
    ir_set(cg, ir_element(cg, to, x), ir_int(cg, 0));
    ir_close(cg);
    ir_close(cg);
}
