/* How a product of warpgroups names its sums, and its operands in shared memory.  */
#include "codegen/multiply/multiply.h"
#include "codegen/prelude/prelude.h"
#include "codegen/block/product.h"

bool wgmma_has_registers(const Side *s) { return s->made || s->l->raw; }

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
    Ir at = k->tile[s->side];
    Ir slice = ir_div(cg, kk, product_size(k, 'T', AX_K));
    if (!s->inner_k || s->boxes == 1)
        return ir_add(cg, at, ir_mul(cg, slice, ir_int(cg, s->on / UNIT)));
    Ir around = ir_int(cg, s->span / s->elem), chunk = ir_int(cg, UNIT / s->elem);
    Ir box = ir_mul(cg, ir_div(cg, kk, around), ir_int(cg, s->box_bytes / UNIT));
    return ir_add(cg, ir_add(cg, at, box), ir_div(cg, ir_rem(cg, kk, around), chunk));
}

/* Its form: orders of operands of 16 bits, and how they lie where that is not the usual way.  */
IrUnit wgmma_unit(const Kernel *k, const Side *a, const Side *b, int form[WGMMA_FORMS]) {
    enum { USUAL = 128 };
    const ComputeUnit *u = k->c.matrix.unit;
    int n = 0;
    bool made = wgmma_has_registers(a), two = te_dtype_bytes(u->a) == 2;
    bool usual = (made || a->span == USUAL) && b->span == USUAL;
    if (two && !made) form[n++] = !a->inner_k;
    if (two) form[n++] = !b->inner_k;
    if (!usual && !made) form[n++] = (int)prelude_high(a->span);
    if (!usual) form[n++] = (int)prelude_high(b->span);
    const char *name = arena_printf(k->cg->arena, "rl_wgmma_m64n%dk%d_%s_%s%s", b->thread,
                                    u->k.from, prelude_operand(u), te_dtype_name(u->acc),
                                    made ? PRELUDE_MADE : "");
    return (IrUnit){name, form, n, ir_bool(k->cg, true)};
}
