#include "codegen/kernel_map.h"

/* At the smallest or the largest sizes; of address and strides something that divides them all.  */
static TensorMap map_at_end(const KernelMap *m, int align, bool most) {
#define END(e) ((e).expr && !most ? (e).min : (e).value)
    TensorMap t = m->fixed;
    t.address = (uint64_t)(align + te_extent_divisor(&m->offset));
    for (int i = 0; i < TM_RANK; i++) {
        int64_t dim = END(m->dim[i]);
        t.dim[i] = dim > 0 ? (uint64_t)dim : 1;               /* of 0 there is no map */
        if (i + 1 < TM_RANK) t.stride[i] = (uint64_t)te_extent_divisor(&m->stride[i]);
    }
    for (int i = 0; i < 3; i++) {
        t.lower[i] = (int)END(m->lower[i]);
        t.upper[i] = (int)END(m->upper[i]);
    }
#undef END
    return t;
}

const char *kernel_map_wrong(const KernelMap *m, int align) {
    TensorMap least = map_at_end(m, align, false), most = map_at_end(m, align, true);
    const char *why = tensor_map_wrong(&least);
    if (!why) why = tensor_map_wrong(&most);
    for (int i = 0; i + 1 < TM_RANK; i++) most.stride[i] = (uint64_t)m->stride[i].value;
    return why ? why : tensor_map_wrong(&most);
}

bool kernel_map_at(const Te *te, const KernelMap *m, uint64_t base, const int64_t *size,
                   TensorMap *out) {
    *out = m->fixed;
    out->address = base + (uint64_t)te_extent_eval(te, &m->offset, size);
    for (int i = 0; i < out->rank; i++) {
        int64_t dim = te_extent_eval(te, &m->dim[i], size);
        if (dim <= 0) return false;
        out->dim[i] = (uint64_t)dim;
        if (i + 1 < out->rank)
            out->stride[i] = (uint64_t)te_extent_eval(te, &m->stride[i], size);
    }
    for (int i = 0; out->im2col && i < out->rank - 2; i++) {
        out->lower[i] = (int)te_extent_eval(te, &m->lower[i], size);
        out->upper[i] = (int)te_extent_eval(te, &m->upper[i], size);
    }
    return true;
}
