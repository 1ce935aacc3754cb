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

/* A thread's sums of its warpgroup's tiles, from its warp's lanes.  */
static void load_sums(Kernel *k) {
    enum { LANES = 32 << 16, WARPS = 4 };
    Cg *cg = k->cg;
    AxisClass rows = rows_of(k), columns = columns_of(k);
    Ir warp = k->var.warp, own = ir_rem(cg, warp, ir_number(cg, IR_U32, WARPS));
    Ir lanes = ir_mul(cg, own, ir_number(cg, IR_U32, LANES));
    Ir i = ir_count_of(cg, k->var.i, k->c->matrix.tiles[rows], IR_UNROLL_ALL);
    Ir tiles = ir_int(cg, k->c->matrix.tiles[rows]);
    Ir row = ir_add(cg, ir_mul(cg, place_warp(k, (int)rows), tiles), i);
    Ir at = ir_add(cg, tensor_tile(k, row, place_warp(k, (int)columns)), lanes);
    Ir sums = rows == AX_M ? wgmma_sums(k, i, ir_int(cg, 0)) : wgmma_sums(k, ir_int(cg, 0), i);
    int width = k->c->r->thread.extent[columns];
    const char *type = te_dtype_name(k->c->matrix.unit->acc);
    const char *name = arena_printf(cg->arena, PRELUDE_TENSOR_LOAD "%d_%s", width, type);
    ir_do(cg, ir_call(cg, ir_type(IR_VOID), name, 2, sums, at));
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
    int columns = rprog_tensor_columns(cg->dev, k->c->r);
    switch (part) {
    case TENSOR_TAKE:
        by_first(k, "rl_tcgen05_take", columns, address_at(k));
        break;
    case TENSOR_FIND:
        k->var.tensor = ir_let(cg, "tensor", ir_call(cg, ir_type(IR_U32), "rl_tcgen05_find", 1,
                                                     address_at(k)));
        break;
    case TENSOR_LOAD: load_sums(k); break;
    default:
        by_first(k, "rl_tcgen05_free", columns, k->var.tensor);
    }
}
