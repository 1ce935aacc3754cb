/* How a product of warpgroups names its sums, and its operands in shared memory.  */
#include "codegen/multiply/multiply.h"
#include "codegen/prelude/prelude.h"
#include "codegen/block/product.h"

void wgmma_begin(Kernel *k) {
    ir_sync_of(k->cg, &(IrSyncOf){.scope = SYNC_PRODUCTS, .op = SYNC_INIT});
}

Ir wgmma_sums(const Kernel *k, Ir i, Ir j) {
    Ir all = k->c.matrix.promotes ? k->part : k->sum;
    return ir_element(k->cg, ir_element(k->cg, all, i), j);
}

/* Boxes of less than a step's row lie one behind the other.  */
Ir wgmma_slice(const Kernel *k, const Side *s, Ir kk) {
    enum { UNIT = 16 };
    const Cg *cg = k->cg;
    Ir at = ir_name(cg, ir_type(IR_U32), product_name(cg, s, "at"));
    Ir slice = ir_div(cg, kk, product_size(k, 'T', AX_K));
    if (!s->inner_k || s->boxes == 1)
        return ir_add(cg, at, ir_mul(cg, slice, ir_int(cg, s->on / UNIT)));
    Ir around = ir_int(cg, s->span / s->elem), chunk = ir_int(cg, UNIT / s->elem);
    Ir box = ir_mul(cg, ir_div(cg, kk, around), ir_int(cg, s->box_bytes / UNIT));
    return ir_add(cg, ir_add(cg, at, box), ir_div(cg, ir_rem(cg, kk, around), chunk));
}

/* Sums of a step that join others begin with its first slice.  Products of zeros can make -0 of
 * them where 0 + -0 were +0, which is the same to the sums they join: these begin with +0.  */
static Ir adds(const Kernel *k, Ir kk) {
    const Cg *cg = k->cg;
    return k->c.matrix.promotes ? ir_lt(cg, ir_int(cg, 0), kk) : ir_bool(cg, true);
}

/* Its form: orders of operands of 16 bits, and how they lie where that is not the usual way.  */
IrUnit wgmma_unit(const Kernel *k, const Side *a, const Side *b, Ir kk, int form[WGMMA_FORMS]) {
    enum { USUAL = 128 };
    const ComputeUnit *u = k->c.matrix.unit;
    int n = 0;
    bool two = te_dtype_bytes(u->a) == 2, usual = (!a || a->span == USUAL) && b->span == USUAL;
    if (two && a) form[n++] = !a->inner_k;
    if (two) form[n++] = !b->inner_k;
    if (!usual && a) form[n++] = (int)prelude_high(a->span);
    if (!usual) form[n++] = (int)prelude_high(b->span);
    const char *name = arena_printf(k->cg->arena, "rl_wgmma_m64n%dk%d_%s_%s%s", b->thread,
                                    u->k.from, prelude_operand(u), te_dtype_name(u->acc),
                                    a ? "" : PRELUDE_MADE);
    return (IrUnit){name, form, n, adds(k, kk)};
}
