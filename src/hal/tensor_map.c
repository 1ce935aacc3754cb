/* The rules of tensor maps (CUDA Driver API, Tensor Map Object Management).  */
#include "hal/tensor_map.h"

#include <stddef.h>

static const struct {
    int bytes;
    bool real;
} types[] = {
#define X(id, bytes, real) {bytes, real},
    TM_TYPES(X)
#undef X
};

int tensor_map_element(const TensorMap *m) { return types[m->type].bytes; }

int tensor_map_span(TmSwizzle swizzle) {
    return 16 << (swizzle > TM_SWIZZLE_128 ? TM_SWIZZLE_128 : swizzle);
}

int tensor_map_atom(TmSwizzle swizzle) { return swizzle == TM_SWIZZLE_128_ATOM_32 ? 32 : 16; }

TmType tensor_map_type(TeDtype storage, bool tf32) {
    switch (storage) {
    case TE_F64: return TM_F64;
    case TE_F32: return tf32 ? TM_TF32 : TM_F32;
    case TE_F16: return TM_F16;
    case TE_BF16: return TM_BF16;
    case TE_I64: return TM_S64;
    case TE_I32: return TM_S32;
    case TE_I16: return TM_U16;
    default: return TM_U8;
    }
}

static const char *wrong_tensor(const TensorMap *m) {
    uint64_t unit = m->interleave == 2 ? 32 : 16;
    int least = m->im2col || m->interleave ? 3 : 1;
    if ((unsigned)m->type >= TM_TYPE_COUNT) return "its element type is none of the driver's";
    if (m->rank < least || m->rank > TM_RANK)
        return least > 1 ? "its rank is not 3 to 5" : "its rank is not 1 to 5";
    if ((unsigned)m->interleave > 2 || (unsigned)m->swizzle > TM_SWIZZLE_128_ATOM_32 ||
        (unsigned)m->promotion > 3 || (unsigned)m->fill > TM_FILL_NAN) {
        return "interleave, swizzle, L2 promotion or fill is not a value of its enumeration";
    }
    if (m->address == 0 || m->address % unit)
        return "its address is not aligned to 16 bytes (32 with an interleave of 32)";
    for (int i = 0; i < m->rank; i++) {
        if (m->dim[i] == 0 || m->dim[i] > (uint64_t)1 << 32) return "an extent is not 1 to 2^32";
        if (m->element_stride[i] < 1 || m->element_stride[i] > 8)
            return "an element stride is not 1 to 8";
    }
    for (int i = 0; i + 1 < m->rank; i++) {
        if (m->stride[i] % unit || m->stride[i] == 0 || m->stride[i] >> 40)
            return "a stride is not a multiple of 16 bytes (32 with an interleave of 32) below "
                   "2^40";
    }
    if (m->interleave == 2 && m->swizzle != TM_SWIZZLE_32)
        return "an interleave of 32 bytes needs a swizzle of 32 bytes";
    if (m->fill == TM_FILL_NAN && !types[m->type].real) return "integers are not filled with NaN";
    return NULL;
}

static const char *wrong_column(const TensorMap *m) {
    int spatial = m->rank - 2, limit = 1 << (spatial == 1 ? 15 : spatial == 2 ? 7 : 4);
    for (int i = 0; i < spatial; i++) {
        if (m->lower[i] < -limit || m->lower[i] >= limit || m->upper[i] < -limit ||
            m->upper[i] >= limit) {
            return "a corner of the pixels' box is more than 16 bits, with 2 such axes 8 bits, "
                   "with 3 5 bits";
        }
    }
    if (m->channels < 1 || m->channels > 256) return "the channels of a pixel are not 1 to 256";
    if (m->pixels < 1 || m->pixels > 1024) return "the pixels of a column are not 1 to 1024";
    return NULL;
}

const char *tensor_map_wrong(const TensorMap *m) {
    const char *why = wrong_tensor(m);
    if (!why && m->im2col) why = wrong_column(m);
    if (why) return why;
    for (int i = 0; i < m->rank && !m->im2col; i++) {
        if (m->box[i] < 1 || m->box[i] > 256) return "an extent of the box is not 1 to 256";
    }
    if (m->interleave) return NULL;
    uint32_t row = (m->im2col ? m->channels : m->box[0]) * (uint32_t)tensor_map_element(m);
    if (row % 16) return "the box's innermost rows are not multiples of 16 bytes";
    if (m->swizzle && row > (uint32_t)tensor_map_span((TmSwizzle)m->swizzle))
        return "the box's innermost rows are longer than the swizzle";
    return NULL;
}
