/* A product of warpgroups: its sums, its operands in registers and in shared memory.  */
#include "codegen/multiply/multiply.h"
#include "codegen/prelude/prelude.h"
#include "codegen/block/product.h"

bool wgmma_has_registers(const Side *s) { return s->made || s->l->raw; }

void wgmma_begin(Kernel *k) {
    ir_sync_of(k->cg, &(IrSyncOf){.scope = SYNC_PRODUCTS, .op = SYNC_INIT});
}

Ir wgmma_sums(const Kernel *k, Ir i, Ir j) {
    Ir all = k->c->matrix.promotes ? k->own->part : k->own->sum;
    return ir_element(k->cg, ir_element(k->cg, all, i), j);
}

/* Boxes of less than a step's row lie one behind the other.  */
static Ir slice_at(const Kernel *k, const Side *s, Ir kk) {
    enum { UNIT = 16 };
    const Cg *cg = k->cg;
    Ir at = operand_at(k, s)->descriptor;
    Ir slice = ir_div(cg, kk, product_size(k, 'T', AX_K));
    if (!s->inner_k || s->boxes == 1)
        return ir_add(cg, at, ir_mul(cg, slice, ir_int(cg, s->on / UNIT)));
    Ir around = ir_int(cg, s->span / s->elem), chunk = ir_int(cg, UNIT / s->elem);
    Ir box = ir_mul(cg, ir_div(cg, kk, around), ir_int(cg, s->box_bytes / UNIT));
    return ir_add(cg, ir_add(cg, at, box), ir_div(cg, ir_rem(cg, kk, around), chunk));
}

enum { FORMS = 4 };

/* The instruction, and its form: orders of operands of 16 bits, and how they lie where that is not
 * the usual way.  */
static IrUnit unit_of(const Kernel *k, const Side *a, const Side *b, int form[FORMS]) {
    enum { USUAL = 128 };
    const ComputeUnit *u = k->c->matrix.unit;
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
    return (IrUnit){.instruction = name, .form = form, .forms = n, .adds = ir_bool(k->cg, true)};
}

Ir made_registers(const Kernel *k, const Side *s, Ir kk, Ir i) {
    Ir slice = ir_div(k->cg, kk, product_size(k, 'T', AX_K));
    return ir_element(k->cg, ir_element(k->cg, operand_at(k, s)->made, slice), i);
}

/* Registers of the slice at kk, or its descriptor, of instruction i.  */
static Ir operand(const Kernel *k, const Side *s, Ir kk, Ir i) {
    const Cg *cg = k->cg;
    if (wgmma_has_registers(s)) return made_registers(k, s, kk, i);
    Ir at = slice_at(k, s, kk);
    if (k->c->matrix.tiles[s->own] == 1) return at;
    return ir_add(cg, at, ir_mul(cg, i, ir_int(cg, s->down / 16)));
}

void wgmma_multiply(Kernel *k, Ir kk, bool begins) {
    Cg *cg = k->cg;
    bool swapped = k->c->r->swapped;
    const Side *a = &k->c->side[swapped], *b = &k->c->side[!swapped];
    int form[FORMS];
    IrUnit unit = unit_of(k, a, b, form);
    if (begins) unit.adds = ir_lt(cg, ir_int(cg, 0), kk);
    Ir i = ir_count_of(cg, k->var.i, k->c->matrix.tiles[AX_M], IR_UNROLL_ALL);
    ir_multiply(cg, &unit, wgmma_sums(k, i, ir_int(cg, 0)), operand(k, a, kk, i),
                operand(k, b, kk, i));
    ir_close(cg);
}
