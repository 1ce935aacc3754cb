/* Tensor maps, in the encoding of the simulator.
 *
 * A map may lie anywhere in the host's memory.  The documentation wants a multiple of 64, but those
 * of cuda.bindings lie at multiples of 16, and programs with them run on real drivers.  */
#include "sim/async/tensormap.h"
#include "simdriver/state.h"

#include <string.h>

typedef struct {
    int type;
    uint32_t rank;
    const void *address;
    const uint64_t *dim, *stride;
    const uint32_t *element_stride;
    int interleave, swizzle, promotion, fill;
} Common;

static bool describe(const Common *k, TensorMap *out) {
    if (k->rank < 1 || k->rank > TM_RANK || !k->address || !k->dim || !k->element_stride ||
        (k->rank > 1 && !k->stride) || k->type < 0 || k->type >= TM_TYPE_COUNT) {
        return false;
    }
    *out = (TensorMap){.type = (TmType)k->type, .rank = (int)k->rank,
                          .address = (uint64_t)(uintptr_t)k->address,
                          .interleave = k->interleave, .swizzle = k->swizzle,
                          .promotion = k->promotion, .fill = k->fill};
    for (uint32_t i = 0; i < k->rank; i++) {
        out->dim[i] = k->dim[i];
        out->element_stride[i] = k->element_stride[i];
        if (i + 1 < k->rank) out->stride[i] = k->stride[i];
    }
    return true;
}

static CUresult encode(Driver *d, const TensorMap *map, CUtensorMap *out) {
    uint8_t bytes[TM_BYTES];
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    const char *why = sim_tensormap_encode(map, bytes);
    if (why) {
        driver_say(d, "tensor map: %s", why);
        return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(out->opaque, bytes, sizeof out->opaque);
    return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, int type, uint32_t rank, void *address,
                                const uint64_t *dim, const uint64_t *stride, const uint32_t *box,
                                const uint32_t *element_stride, int interleave, int swizzle,
                                int promotion, int fill) {
    Call c;
    TensorMap m;
    if (!driver_enter(&c, FN_cuTensorMapEncodeTiled)) return c.result;
    Common k = {type, rank, address, dim, stride, element_stride, interleave, swizzle, promotion,
                fill};
    if (!box || !describe(&k, &m)) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    memcpy(m.box, box, rank * sizeof *box);
    return driver_leave(&c, encode(c.driver, &m, map));
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, int type, uint32_t rank, void *address,
                                 const uint64_t *dim, const uint64_t *stride, const int *lower,
                                 const int *upper, uint32_t channels, uint32_t pixels,
                                 const uint32_t *element_stride, int interleave, int swizzle,
                                 int promotion, int fill) {
    Call c;
    TensorMap m;
    if (!driver_enter(&c, FN_cuTensorMapEncodeIm2col)) return c.result;
    Common k = {type, rank, address, dim, stride, element_stride, interleave, swizzle, promotion,
                fill};
    if (!lower || !upper || rank < 3 || !describe(&k, &m)) {
        return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    }
    m.im2col = true;
    m.channels = channels;
    m.pixels = pixels;
    memcpy(m.lower, lower, (rank - 2) * sizeof *lower);
    memcpy(m.upper, upper, (rank - 2) * sizeof *upper);
    return driver_leave(&c, encode(c.driver, &m, map));
}
