/* Questions about devices.  */
#include "simdriver/attributes.h"
#include "simdriver/state.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>

CUresult cuDeviceGetCount(int *count) {
    Call c;
    if (!driver_enter(&c, FN_cuDeviceGetCount)) return c.result;
    if (!count) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *count = c.driver->n_gpu;
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuDeviceGet(CUdevice *dev, int ordinal) {
    Call c;
    if (!driver_enter(&c, FN_cuDeviceGet)) return c.result;
    if (!dev) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    if (!gpu_get(c.driver, ordinal)) return driver_leave(&c, CUDA_ERROR_INVALID_DEVICE);
    *dev = ordinal;
    return driver_leave(&c, CUDA_SUCCESS);
}

/* CUDA_ERROR_INVALID_VALUE for a text that has no place for any byte.  */
static CUresult put_text(const char *text, char *out, int len) {
    if (!out || len < 1) return CUDA_ERROR_INVALID_VALUE;
    snprintf(out, (size_t)len, "%s", text);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev) {
    Call c;
    if (!driver_enter(&c, FN_cuDeviceGetName)) return c.result;
    const Gpu *g = gpu_get(c.driver, dev);
    return driver_leave(&c, g ? put_text(g->name, name, len) : CUDA_ERROR_INVALID_DEVICE);
}

/* The same in every process: from the profile and the ordinal.  */
static CUresult get_uuid(Driver *d, CUuuid *uuid, CUdevice dev) {
    const Gpu *g = gpu_get(d, dev);
    if (!g) return CUDA_ERROR_INVALID_DEVICE;
    if (!uuid) return CUDA_ERROR_INVALID_VALUE;
    for (uint64_t half = 0; half < 2; half++) {
        uint64_t bits = hash64(g->dev->sha256, sizeof g->dev->sha256,
                               2 * (uint64_t)g->ordinal + half);
        memcpy(uuid->bytes + 8 * half, &bits, 8);
    }
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev) {
    Call c;
    if (!driver_enter(&c, FN_cuDeviceGetUuid)) return c.result;
    return driver_leave(&c, get_uuid(c.driver, uuid, dev));
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev) {
    Call c;
    if (!driver_enter(&c, FN_cuDeviceGetUuid_v2)) return c.result;
    return driver_leave(&c, get_uuid(c.driver, uuid, dev));
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev) {
    Call c;
    if (!driver_enter(&c, FN_cuDeviceTotalMem_v2)) return c.result;
    const Gpu *g = gpu_get(c.driver, dev);
    if (!g) return driver_leave(&c, CUDA_ERROR_INVALID_DEVICE);
    if (!bytes) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *bytes = (size_t)g->dev->memory[LEVEL_DRAM].capacity.value;
    return driver_leave(&c, CUDA_SUCCESS);
}

/* Values are capped to what an int holds.  */
static bool attribute_value(const Gpu *g, int attribute, int *out) {
    const Device *d = g->dev;
    double v;
    switch (attribute) {
#define X(name, number, value)                                                                     \
    case number:                                                                                   \
        v = (double)(value);                                                                       \
        break;
        SIMDRIVER_ATTRIBUTES(X)
#undef X
    default:
        v = 0;
        if (attribute < 1 || attribute > SIMDRIVER_LAST_ATTRIBUTE) return false;
    }
    *out = v > 2147483647.0 ? 2147483647 : (int)v;
    return true;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice dev) {
    Call c;
    if (!driver_enter(&c, FN_cuDeviceGetAttribute)) return c.result;
    const Gpu *g = gpu_get(c.driver, dev);
    if (!g) return driver_leave(&c, CUDA_ERROR_INVALID_DEVICE);
    bool known = value && attribute_value(g, attribute, value);
    if (!known) driver_say(c.driver, "no attribute %d of a device", attribute);
    return driver_leave(&c, known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

enum { BUS_ID = 32 };
static void bus_id(CUdevice dev, char text[BUS_ID]) {
    snprintf(text, BUS_ID, "0000:%02x:00.0", (unsigned)dev + 1);
}

CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice dev) {
    Call c;
    if (!driver_enter(&c, FN_cuDeviceGetPCIBusId)) return c.result;
    if (!gpu_get(c.driver, dev)) return driver_leave(&c, CUDA_ERROR_INVALID_DEVICE);
    char text[BUS_ID];
    bus_id(dev, text);
    return driver_leave(&c, put_text(text, id, len));
}

CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *id) {
    Call c;
    if (!driver_enter(&c, FN_cuDeviceGetByPCIBusId)) return c.result;
    if (!dev || !id) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    for (int k = 0; k < c.driver->n_gpu; k++) {
        char own[BUS_ID];
        bus_id(k, own);
        /* The domain may be left out, as may the function.  */
        if (strncmp(own, id, strlen(own) - 2) && strncmp(own + 5, id, strlen(own) - 7)) continue;
        *dev = k;
        return driver_leave(&c, CUDA_SUCCESS);
    }
    return driver_leave(&c, CUDA_ERROR_INVALID_DEVICE);
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev) {
    Call c;
    if (!driver_enter(&c, FN_cuDeviceComputeCapability)) return c.result;
    const Gpu *g = gpu_get(c.driver, dev);
    if (!g) return driver_leave(&c, CUDA_ERROR_INVALID_DEVICE);
    if (!major || !minor) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *major = g->dev->cc_major;
    *minor = g->dev->cc_minor;
    return driver_leave(&c, CUDA_SUCCESS);
}

/* No device sees another's memory.  */
static CUresult of_two(Call *c, int *value, CUdevice one, CUdevice other) {
    if (!gpu_get(c->driver, one) || !gpu_get(c->driver, other)) return CUDA_ERROR_INVALID_DEVICE;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    *value = 0;
    return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer) {
    Call c;
    if (!driver_enter(&c, FN_cuDeviceCanAccessPeer)) return c.result;
    return driver_leave(&c, of_two(&c, can, dev, peer));
}

CUresult cuDeviceGetP2PAttribute(int *value, int attribute, CUdevice from, CUdevice to) {
    Call c;
    (void)attribute;
    if (!driver_enter(&c, FN_cuDeviceGetP2PAttribute)) return c.result;
    if (from == to) return driver_leave(&c, CUDA_ERROR_INVALID_DEVICE);
    return driver_leave(&c, of_two(&c, value, from, to));
}
