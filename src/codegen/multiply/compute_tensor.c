#include "codegen/multiply/multiply.h"
#include "codegen/prelude/prelude.h"
#include "codegen/block/product.h"

/* Tensor Memory: who takes it, and sums of tiles in registers.  */

/* The axes that the instruction's rows and columns lie along.  */
static AxisClass rows_of(const Kernel *k) { return k->c->r->swapped ? AX_N : AX_M; }
static AxisClass columns_of(const Kernel *k) { return k->c->r->swapped ? AX_M : AX_N; }

static Ir address_at(const Kernel *k) {
    return ir_add(k->cg, k->var.shared, ir_int(k->cg, rprog_room_at(k->c->layout, ROOM_TENSOR, 0)));
}

/* The block's first warp.  */
static void open_first(Kernel *k) {
    ir_if(k->cg, ir_binary(k->cg, IR_EQ, k->var.warp, ir_number(k->cg, IR_U32, 0)));
}

/* Its warp's lanes at an address.  */
static Ir own_lanes(const Kernel *k, Ir at) {
    enum { LANES = 32 << 16, WARPS = 4 };
    const Cg *cg = k->cg;
    Ir own = ir_rem(cg, k->var.warp, ir_number(cg, IR_U32, WARPS));
    return ir_add(cg, at, ir_mul(cg, own, ir_number(cg, IR_U32, LANES)));
}

/* A thread's sums of its warpgroup's tiles, from its warp's lanes.  */
static void load_sums(Kernel *k) {
    Cg *cg = k->cg;
    AxisClass rows = rows_of(k), columns = columns_of(k);
    Ir i = ir_count_of(cg, k->var.i, k->c->matrix.tiles[rows], IR_UNROLL_ALL);
    Ir tiles = ir_int(cg, k->c->matrix.tiles[rows]);
    Ir row = k->teams.own ? i : ir_add(cg, ir_mul(cg, place_warp(k, (int)rows), tiles), i);
    Ir at = own_lanes(k, tensor_tile(k, row, place_warp(k, (int)columns)));
    Ir sums = rows == AX_M ? wgmma_sums(k, i, ir_int(cg, 0)) : wgmma_sums(k, ir_int(cg, 0), i);
    int width = k->c->r->thread.extent[columns];
    const char *type = te_dtype_name(k->c->matrix.unit->acc);
    const char *name = arena_printf(cg->arena, PRELUDE_TENSOR_LOAD "%d_%s", width, type);
    ir_do(cg, ir_call(cg, ir_type(IR_VOID), name, 2, sums, at));
    ir_close(cg);
}

/* A chain's terms, in the registers of its second product's operand, slice by slice.  */
static void store_terms(Kernel *k) {
    Cg *cg = k->cg;
    const Side *s = &k->c->side[0];
    Ir to = ir_let(cg, "terms", own_lanes(k, tensor_room(k, ROOM_TERMS, 0)));
    int cells = k->c->r->thread.extent[AX_K] * s->elem / TENSOR_CELL;
    Ir q = ir_count(cg, "q", k->c->matrix.tiles[AX_K], IR_UNROLL_ALL);
    Ir from = ir_element(cg, ir_element(cg, operand_at(k, s)->made, q), ir_int(cg, 0));
    ir_do(cg, ir_call(cg, ir_type(IR_VOID), "rl_tcgen05_store", 2,
                      ir_add(cg, to, ir_mul_n(cg, q, cells)), from));
    ir_close(cg);
    ir_do(cg, ir_call(cg, ir_type(IR_VOID), "rl_tcgen05_stored", 0));
}

/* The warp's results of a chain, where the bases of its rows have moved.  */
static void move_results(Kernel *k) {
    Cg *cg = k->cg;
    int width = k->c->r->thread.extent[AX_N];
    Ir at = own_lanes(k, tensor_room(k, ROOM_ACCUMULATORS, k->c->number));
    ir_if(cg, k->moved);
    ir_do(cg, ir_call(cg, ir_type(IR_VOID),
                      arena_printf(cg->arena, PRELUDE_TENSOR_SCALE "%d", width), 2, at,
                      k->rows.scale));
    ir_close(cg);
}

/* Columns are taken or given back by the first warp.  */
static void by_first(Kernel *k, const char *name, int columns, Ir at) {
    open_first(k);
    ir_do(k->cg, ir_call_n(k->cg, ir_type(IR_VOID), tensor_function(k, name), columns, 1, at));
    ir_close(k->cg);
}

void tensor_make(Kernel *k, int part) {
    Cg *cg = k->cg;
    int columns = rprog_tensor_columns(cg->dev, k->l->r);
    switch (part) {
    case TENSOR_TAKE:
        by_first(k, "rl_tcgen05_take", columns, address_at(k));
        break;
    case TENSOR_FIND:
        k->var.tensor = ir_let(cg, "tensor", ir_call(cg, ir_type(IR_U32), "rl_tcgen05_find", 1,
                                                     address_at(k)));
        break;
    case TENSOR_LOAD: load_sums(k); break;
    case TENSOR_STORE: store_terms(k); break;
    case TENSOR_MOVE: move_results(k); break;
    default:
        by_first(k, "rl_tcgen05_free", columns, k->var.tensor);
    }
}
