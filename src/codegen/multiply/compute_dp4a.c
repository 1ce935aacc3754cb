#include "codegen/multiply/multiply.h"
#include "codegen/block/product.h"

/* Four byte products and a sum per instruction; a fragment holds words of four k.  */
void compute_dp4a(Kernel *k, const Node *n) {
    static const char *const dp4a[2][2] = {{"rl_dp4a_ss", "rl_dp4a_su"},
                                           {"rl_dp4a_us", "rl_dp4a_uu"}};
    Cg *cg = k->cg;
    const Side *a = &k->c->side[0], *b = &k->c->side[1];
    const int32_t *own = k->c->r->thread.extent;
    Ir body = k->c->bodies > 1 ? k->var.body : NULL;
    ir_note(cg, "compute: %d k, four at a time", n->to);
    Ir kk = ir_for(cg, "kk", ir_int(cg, 0), ir_int(cg, n->to), own[AX_K], IR_UNROLL_ALL);
    fragment_fetch(k, a, body, kk, ir_int(cg, 0));
    fragment_fetch(k, b, body, kk, ir_int(cg, 0));
    Ir f = ir_count_of(cg, k->var.f, own[AX_K] / 4, IR_UNROLL_ALL);
    Ir i = ir_count_of(cg, k->var.i, own[AX_M], IR_UNROLL_ALL);
    Ir j = ir_count_of(cg, k->var.j, own[AX_N], IR_UNROLL_ALL);
    Ir sum = product_sum(k, i, j),
       x = ir_element(cg, ir_element(cg, k->own->operand[0].frag, f), i),
       y = ir_element(cg, ir_element(cg, k->own->operand[1].frag, f), j);
    const char *product = dp4a[a->tile == TE_U8][b->tile == TE_U8];
    ir_set(cg, sum, ir_call(cg, ir_type(IR_I32), product, 3, x, y, sum));
    for (int open = 0; open < 4; open++) ir_close(cg);
}
