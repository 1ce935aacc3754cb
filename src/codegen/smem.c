/* A kernel's shared memory: how it is declared, where a stage begins, what fills it.  */
#include "codegen/blocks.h"
#include <string.h>

void kernel_smem(Kernel *k, int align) {
    if (k->cg->static_smem)
        cg_line(k->cg, "__shared__ __align__(%d) unsigned char smem[%lld];", align,
                (long long)k->l->launch.dynamic_smem);
    else cg_line(k->cg, "extern __shared__ __align__(%d) unsigned char smem[];", align);
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
