/* A kernel's shared memory: how it is declared, where a stage begins, what fills it.  */
#include "codegen/block/block.h"
#include "codegen/block/product.h"
#include <string.h>

void kernel_names(Kernel *k) {
    Variables *x = &k->var;
    static const char *const word[] = {"i", "j", "f", "g", "c", "h", "s", "x"};
    Ir *const to[] = {&x->i, &x->j, &x->f, &x->g, &x->c, &x->h, &x->s, &x->x};
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        *to[i] = ir_counter(k->cg, IR_I32, word[i]);
    x->u = ir_counter(k->cg, IR_U32, "u");
    k->walk.u = ir_counter(k->cg, IR_I32, "u");
    k->at.v = ir_counter(k->cg, IR_I32, "v");
}

Ir kernel_smem(Kernel *k, int align) {
    return k->var.smem = ir_room(k->cg, "smem", align,
                   k->cg->static_smem ? k->l->launch.dynamic_smem : -1);
}

Ir kernel_room(const Kernel *k, Ir smem, IrBase base, int64_t at) {
    const Cg *cg = k->cg;
    return ir_view(cg, ir_pointer(base, IR_SHARED, false), ir_add(cg, smem, ir_int(cg, at)));
}

/* Of a ring it is hidden from the compiler, which would make it again in every step.  */
void smem_address(Kernel *k) {
    Cg *cg = k->cg;
    Ir at = ir_call(cg, ir_type(IR_U32), "rl_shared", 1, k->var.smem);
    if (k->c->ring) at = ir_hidden(cg, IR_U32, at);
    k->var.shared = ir_let(cg, "shared", at);
}

Ir smem_at(const Kernel *k, IrBase base, bool constant, Ir byte) {
    Ir at = ir_add(k->cg, k->var.smem, byte);
    return ir_view(k->cg, ir_pointer(base, IR_SHARED, constant), at);
}

static Ir stage_of(const Kernel *k, const Side *s, Ir first, Ir turn) {
    bool moves = k->c->r->stages > 1 && !s->stays;
    return moves ? ir_add(k->cg, first, turn) : first;
}

Ir smem_stage(const Kernel *k, const Side *s, Ir turn) {
    return stage_of(k, s, k->var.smem, turn);
}

Ir smem_stage_at(const Kernel *k, const Side *s, Ir turn) {
    return stage_of(k, s, k->var.shared, turn);
}

const char *load_function(const Kernel *k, const Side *s) {
    char *name = arena_printf(k->cg->arena, "rl_%s", k->cg->dev->mover[s->l->mover].name);
    for (char *at = name; (at = strchr(at, '.'));) *at = '_';
    return name;
}
