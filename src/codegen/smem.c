/* A kernel's shared memory: how it is declared, where a stage begins, what fills it.  */
#include "codegen/blocks.h"
#include "codegen/product.h"
#include <string.h>

Ir kernel_smem(Kernel *k, int align) {
    return ir_room(k->cg, "smem", align,
                   k->cg->static_smem ? k->l->launch.dynamic_smem : -1);
}

Ir kernel_room(const Kernel *k, Ir smem, IrBase base, int64_t at) {
    const Cg *cg = k->cg;
    return ir_view(cg, ir_pointer(base, IR_SHARED, false), ir_add(cg, smem, ir_int(cg, at)));
}

static Ir whole(const Cg *cg) { return ir_name(cg, ir_pointer(IR_U8, IR_SHARED, false), "smem"); }

Ir smem_at(const Cg *cg, IrBase base, bool constant, Ir byte) {
    return ir_view(cg, ir_pointer(base, IR_SHARED, constant), ir_add(cg, whole(cg), byte));
}

Ir smem_stage(const Kernel *k, const char *turn) {
    Ir smem = whole(k->cg);
    return k->c.r->stages > 1 ? ir_add(k->cg, smem, product_int(k->cg, turn)) : smem;
}

const char *load_stage(const Kernel *k, const char *name) {
    return k->c.r->stages > 1 ? cg_text(k->cg, " + %s", name) : "";
}

const char *load_function(const Kernel *k, const Side *s) {
    char *name = arena_strdup(k->cg->arena, cg_text(k->cg, "rl_%s",
                                                    k->cg->dev->mover[s->l->mover].name));
    for (char *at = name; (at = strchr(at, '.'));) *at = '_';
    return name;
}
