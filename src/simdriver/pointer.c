/* What an address belongs to.  */
#include "simdriver/work.h"

#include <string.h>

/* The size of an attribute's value; 0: there is no such attribute.  */
static size_t attribute_bytes(int attribute) {
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return sizeof(int);
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return sizeof(uint64_t);
    default: return 0;
    }
}

enum { READ_AND_WRITE = 3 };

/* As a number of attribute_bytes; false where this memory has no such property.  */
static bool attribute_value(const Memory *m, const Context *ctx, int attribute, CUdeviceptr at,
                            uint64_t *out) {
    bool managed = m->kind == MEMORY_MANAGED, device = !m->host || managed;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: *out = ctx->o.handle; break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *out = device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!m->host) return false;
        *out = at;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *out = at; break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: *out = 0; break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *out = managed; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *out = (uint64_t)ctx->gpu->ordinal; break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *out = m->at; break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *out = m->bytes; break;
    case CU_POINTER_ATTRIBUTE_MAPPED: *out = 1; break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: *out = READ_AND_WRITE; break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *out = m->pool ? m->pool->o.handle : 0; break;
    default: return false;
    }
    return true;
}

static void put(void *value, int attribute, uint64_t v) {
    int narrow = (int)v;
    size_t bytes = attribute_bytes(attribute);
    memcpy(value, bytes == sizeof narrow ? (const void *)&narrow : (const void *)&v, bytes);
}

CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr at) {
    Call c;
    Context *ctx;
    uint64_t v;
    if (!driver_enter(&c, FN_cuPointerGetAttribute)) return c.result;
    const Memory *m = memory_find(c.driver, at, &ctx);
    bool known = value && attribute_bytes(attribute);
    if (!known || !m || !attribute_value(m, ctx, attribute, at, &v)) {
        return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    }
    put(value, attribute, v);
    return driver_leave(&c, CUDA_SUCCESS);
}

/* What cannot be told is 0, and the ordinal -2; only an unknown attribute is an error.  */
CUresult cuPointerGetAttributes(unsigned n, int *attributes, void **values, CUdeviceptr at) {
    Call c;
    Context *ctx;
    if (!driver_enter(&c, FN_cuPointerGetAttributes)) return c.result;
    if (!n || !attributes || !values) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    const Memory *m = memory_find(c.driver, at, &ctx);
    for (unsigned k = 0; k < n; k++) {
        enum { NO_DEVICE = -2 };
        uint64_t v = 0;
        if (!attribute_bytes(attributes[k]) || !values[k]) {
            return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
        }
        if (!m || !attribute_value(m, ctx, attributes[k], at, &v)) {
            bool ordinal = attributes[k] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
            v = ordinal ? (uint64_t)NO_DEVICE : 0;
        }
        put(values[k], attributes[k], v);
    }
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr at) {
    Call c;
    Context *ctx;
    if (!driver_enter(&c, FN_cuMemGetAddressRange_v2)) return c.result;
    const Memory *m = memory_find(c.driver, at, &ctx);
    if (!m) return driver_leave(&c, CUDA_ERROR_NOT_FOUND);
    if (base) *base = m->at;
    if (size) *size = m->bytes;
    return driver_leave(&c, CUDA_SUCCESS);
}

static const Memory *host_at(Call *c, const void *host) {
    Context *ctx;
    const Memory *m = memory_find(c->driver, (CUdeviceptr)(uintptr_t)host, &ctx);
    return m && (m->kind == MEMORY_PINNED || m->kind == MEMORY_REGISTERED) ? m : NULL;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *at, void *host, unsigned flags) {
    Call c;
    if (!driver_enter(&c, FN_cuMemHostGetDevicePointer_v2)) return c.result;
    bool known = at && !flags && host_at(&c, host);
    if (known) *at = (CUdeviceptr)(uintptr_t)host;
    return driver_leave(&c, known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemHostGetFlags(unsigned *flags, void *host) {
    Call c;
    if (!driver_enter(&c, FN_cuMemHostGetFlags)) return c.result;
    const Memory *m = host_at(&c, host);
    if (!flags || !m) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *flags = m->flags;
    return driver_leave(&c, CUDA_SUCCESS);
}
