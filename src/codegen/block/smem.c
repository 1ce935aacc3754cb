/* A kernel's shared memory: how it is declared, where a stage begins, what fills it.  */
#include "codegen/block/block.h"
#include "codegen/block/product.h"
#include <string.h>

Ir kernel_smem(Kernel *k, int align) {
    return ir_room(k->cg, "smem", align,
                   k->cg->static_smem ? k->l->launch.dynamic_smem : -1);
}

Ir kernel_room(const Kernel *k, Ir smem, IrBase base, int64_t at) {
    const Cg *cg = k->cg;
    return ir_view(cg, ir_pointer(base, IR_SHARED, false), ir_add(cg, smem, ir_int(cg, at)));
}

/* Of a ring it is hidden from the compiler, which would make it again in every step.  */
void smem_address(Kernel *k) {
    Cg *cg = k->cg;
    Ir at = ir_call(cg, ir_type(IR_U32), "rl_shared", 1, product_smem(cg));
    if (k->c.ring) at = ir_call(cg, ir_type(IR_U32), "rl_hidden", 1, at);
    ir_let(cg, "shared", at);
}

Ir smem_at(const Cg *cg, IrBase base, bool constant, Ir byte) {
    return ir_view(cg, ir_pointer(base, IR_SHARED, constant), ir_add(cg, product_smem(cg), byte));
}

static Ir stage_of(const Kernel *k, const Side *s, Ir first, const char *turn) {
    bool moves = k->c.r->stages > 1 && !product_resident(s);
    return moves ? ir_add(k->cg, first, product_of(k, turn)) : first;
}

Ir smem_stage(const Kernel *k, const Side *s, const char *turn) {
    return stage_of(k, s, product_smem(k->cg), turn);
}

Ir smem_stage_at(const Kernel *k, const Side *s, const char *turn) {
    return stage_of(k, s, ir_name(k->cg, ir_type(IR_U32), "shared"), turn);
}

const char *load_function(const Kernel *k, const Side *s) {
    char *name = arena_printf(k->cg->arena, "rl_%s", k->cg->dev->mover[s->l->mover].name);
    for (char *at = name; (at = strchr(at, '.'));) *at = '_';
    return name;
}
