/* A product of warpgroups: its sums, its operands in registers and in shared memory.  */
#include "codegen/multiply/multiply.h"
#include "codegen/prelude/prelude.h"
#include "codegen/block/product.h"

bool wgmma_has_registers(const Side *s) { return s->made || rprog_by_lanes(s->l); }

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

static bool is_usual(const Side *s) {
    enum { SPAN = 128, ATOM = 16 };
    return s->span == SPAN && s->atom == ATOM;
}

/* The instruction, and its form: orders of operands where the unit takes both, and how they lie
 * where that is not the usual way.  */
static IrUnit unit_of(const Kernel *k, const Side *a, const Side *b, int form[FORMS]) {
    const ComputeUnit *u = k->c->matrix.unit;
    int n = 0;
    bool made = wgmma_has_registers(a), orders = prelude_orders(u, k->c->matrix.tensor);
    bool usual = (made || is_usual(a)) && is_usual(b);
    if (orders && !made) form[n++] = !a->inner_k;
    if (orders) form[n++] = !b->inner_k;
    if (!usual && !made) form[n++] = (int)prelude_high(a->span, a->atom);
    if (!usual) form[n++] = (int)prelude_high(b->span, b->atom);
    const char *stem = k->c->matrix.tensor ? PRELUDE_TENSOR : PRELUDE_WGMMA;
    const Matrix *m = &k->c->matrix;
    const char *name = arena_printf(k->cg->arena, "%s%dn%dk%d_%s%s", stem, u->m.from * m->blocks,
                                    m->columns, u->k.from, prelude_types(k->cg->arena, u),
                                    made ? PRELUDE_MADE : "");
    return (IrUnit){.instruction = name, .form = form, .forms = n, .adds = ir_bool(k->cg, true)};
}

Ir made_registers(const Kernel *k, const Side *s, Ir kk, Ir i) {
    Ir slice = ir_div(k->cg, kk, product_size(k, 'T', AX_K));
    return ir_element(k->cg, ir_element(k->cg, operand_at(k, s)->made, slice), i);
}

/* The descriptor of the slice at kk of tile i.  */
static Ir tile_at(const Kernel *k, const Side *s, Ir kk, Ir i) {
    const Cg *cg = k->cg;
    return ir_add(cg, slice_at(k, s, kk), ir_mul(cg, i, ir_int(cg, s->down / 16)));
}

/* Registers of the slice at kk, or its descriptor, of instruction i.  */
static Ir operand(const Kernel *k, const Side *s, Ir kk, Ir i) {
    if (wgmma_has_registers(s)) return made_registers(k, s, kk, i);
    return k->c->matrix.tiles[s->own] == 1 ? slice_at(k, s, kk) : tile_at(k, s, kk, i);
}

Ir tensor_room(const Kernel *k, RoomKind kind, int of) {
    const Cg *cg = k->cg;
    const Room *x = rprog_room(k->c->layout, kind, of);
    Ir at = ir_add_n(cg, k->var.tensor, (int)x->at);
    return x->shares > 1 ? ir_add(cg, at, ir_mul(cg, k->teams.own, ir_int(cg, x->share))) : at;
}

/* A tile of an instruction has 128 lanes of Tensor Memory, 32 of each warp of its warpgroup, and a
 * column for each of its own; those of the tile at hand of the block, or of a team, lie side by
 * side, its columns fastest.  */
Ir tensor_tile(const Kernel *k, Ir row, Ir column) {
    const Cg *cg = k->cg;
    AxisClass columns = k->c->r->swapped ? AX_M : AX_N;
    Ir number = ir_add(cg, ir_mul(cg, row, ir_int(cg, k->c->warps[columns])), column);
    Ir width = ir_int(cg, k->c->r->thread.extent[columns]);
    Ir at = tensor_room(k, ROOM_ACCUMULATORS, k->c->number);
    if (k->c->layout->ring[k->c->sums].slots > 1)
        at = ir_add(cg, at, ir_mul(cg, k->ring[k->c->sums].slot,
                                   ir_int(cg, rprog_tensor_tile(k->c->r))));
    return ir_add(cg, at, ir_mul(cg, number, width));
}

/* Terms of a chain, by slices of the second product; else the descriptor of the first operand.  */
static Ir first_at(const Kernel *k, const Side *a, Ir kk, Ir i) {
    const Cg *cg = k->cg;
    if (!a->made) return tile_at(k, a, kk, i);
    Ir cells = ir_div(cg, ir_mul(cg, kk, ir_int(cg, a->elem)), ir_int(cg, TENSOR_CELL));
    return ir_add(cg, tensor_room(k, ROOM_TERMS, 0), cells);
}

/* One thread issues the products of all tiles of the block, or of the team at hand; the first ones
 * begin the sums: of a step, or of all.  */
static void multiply_all(Kernel *k, Ir kk, IrUnit *unit, bool begins) {
    bool swapped = k->c->r->swapped;
    const Side *a = &k->c->side[swapped], *b = &k->c->side[!swapped];
    Cg *cg = k->cg;
    int teams = k->teams.own ? k->teams.n : 1;
    int rows = k->c->warps[a->own] * k->c->matrix.tiles[a->own] / teams;
    int columns = k->c->r->block.extent[b->own] / k->c->matrix.columns;
    unit->adds = ir_lt(cg, ir_int(cg, 0), begins ? kk : ir_add(cg, k->var.step, kk));
    Ir i = ir_count_of(cg, k->var.i, rows, IR_UNROLL_ALL);
    Ir j = ir_count_of(cg, k->var.j, columns, IR_UNROLL_ALL);
    Ir scale[IR_TENSOR_SCALES], row = i;
    if (teams > 1) row = ir_add(cg, ir_mul(cg, k->teams.own, ir_int(cg, rows)), i);
    if (k->c->scaled) {
        tensor_scales_of(k, i, j, ir_div(cg, kk, product_size(k, 'T', AX_K)), scale);
        unit->scale = scale;
        unit->scales = IR_TENSOR_SCALES;
    }
    ir_multiply(cg, unit, tensor_tile(k, i, j), first_at(k, a, kk, row), tile_at(k, b, kk, j));
    ir_close(cg);
    ir_close(cg);
}

void wgmma_multiply(Kernel *k, Ir kk, bool begins) {
    Cg *cg = k->cg;
    bool swapped = k->c->r->swapped;
    const Side *a = &k->c->side[swapped], *b = &k->c->side[!swapped];
    int form[FORMS];
    IrUnit unit = unit_of(k, a, b, form);
    if (k->c->matrix.tensor) {
        multiply_all(k, kk, &unit, begins);
        return;
    }
    if (begins) unit.adds = ir_lt(cg, ir_int(cg, 0), kk);
    Ir i = ir_count_of(cg, k->var.i, k->c->matrix.tiles[AX_M], IR_UNROLL_ALL);
    ir_multiply(cg, &unit, wgmma_sums(k, i, ir_int(cg, 0)), operand(k, a, kk, i),
                operand(k, b, kk, i));
    ir_close(cg);
}
