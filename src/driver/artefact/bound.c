#include "driver/artefact/bound.h"

#include <stdio.h>
#include <string.h>

bool bound_has(const void *workspace, size_t bytes, int64_t need) {
    return need == 0 || (workspace && bytes >= (size_t)need &&
                         (uintptr_t)workspace % (uintptr_t)WORKSPACE_ALIGN == 0);
}

Status bound_workspace(Bound *b, int64_t need, size_t has) {
    const void *at = b->workspace;
    if (bound_has(at, has, need)) return ST_OK;
    snprintf(b->fit.why, sizeof b->fit.why,
             "the workspace needs %lld bytes aligned to %d, not %zu at %p", (long long)need,
             WORKSPACE_ALIGN, has, at);
    return ST_WORKSPACE;
}

static int encode(const Bound *b, const KernelMap *m, CudaTensorMap *out) {
    TensorMap map;
    void *base = m->tensor < 0 ? b->workspace : arguments_data(arguments_at(&b->args, m->tensor));
    *out = (CudaTensorMap){{0}};
    if (!kernel_map_at(b->args.te, m, (uint64_t)(uintptr_t)base, b->fit.size, &map)) return 0;
    return cuda_tensor_map_code(&b->encoders, &map, out);
}

int bound_kernel(const Bound *b, const KernelLaunch *k, const BoundKernel *to) {
    int code = 0;
    for (int i = 0; i < k->n_param && !code; i++) {
        const KernelParam *p = &k->param[i];
        BoundValue *value = &to->value[i];
        to->param[i] = value;
        switch (p->kind) {
        case PARAM_INPUT:
        case PARAM_OUTPUT:
            value->pointer = arguments_data(arguments_at(&b->args, p->ref));
            break;
        case PARAM_SCALAR:
            memcpy(value, arguments_data(arguments_at(&b->args, p->ref)), (size_t)p->bytes);
            break;
        case PARAM_SIZE: value->size = (int32_t)b->fit.size[p->ref]; break;
        case PARAM_WORKSPACE: value->pointer = (char *)b->workspace + p->offset; break;
        case PARAM_MAP:
            to->param[i] = &to->map[p->ref];
            code = encode(b, &k->map[p->ref], &to->map[p->ref]);
        }
    }
    return code;
}
