/* Devices and contexts.  */
#include "hal/cuda_api.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

int cuda_device_count(const Cuda *c) { return c->n_device; }

/* A part of a GPU has its profile in its name ("NVIDIA A100-SXM4-40GB MIG 1g.5gb") and a number of
 * its own, as nvidia-smi lists them.  */
static void put_uuid(const CudaDeviceInfo *info, const unsigned char b[16], char *out,
                     size_t size) {
    snprintf(out, size,
             "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             strstr(info->name, " MIG ") ? "MIG" : "GPU", b[0],
             b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}

static Status attributes(const Cuda *c, Diag *d, int dev, CudaDeviceInfo *out) {
    static const int number[] = {
#define X(name, id) id,
        CUDA_ATTRIBUTES(X)
#undef X
    };
    enum { UNKNOWN_ATTRIBUTE = 1 };
    for (int i = 0; i < CUDA_ATTR_COUNT; i++) {
        int code = c->cuDeviceGetAttribute(&out->attribute[i], number[i], dev);
        if (code == UNKNOWN_ATTRIBUTE && i != CUDA_ATTR_CC_MAJOR) out->attribute[i] = 0;
        else if (code) return cuda_check(c, d, code, "cuDeviceGetAttribute");
    }
    return ST_OK;
}

Status cuda_device_info(Cuda *c, Diag *d, int index, CudaDeviceInfo *out) {
    *out = (CudaDeviceInfo){.index = index};
    int dev;
    unsigned char uuid[16];
    size_t bytes;
    Status s = CUDA_CALL(c, d, cuDeviceGet, &dev, index);
    if (!s) s = CUDA_CALL(c, d, cuDeviceGetName, out->name, (int)sizeof out->name, dev);
    if (!s) s = CUDA_CALL(c, d, cuDeviceGetUuid, uuid, dev);
    if (!s) s = CUDA_CALL(c, d, cuDeviceTotalMem, &bytes, dev);
    if (!s) s = attributes(c, d, dev, out);
    if (s) return s;
    out->name[sizeof out->name - 1] = 0;
    out->memory_bytes = bytes;
    put_uuid(out, uuid, out->uuid, sizeof out->uuid);
    out->cc_major = out->attribute[CUDA_ATTR_CC_MAJOR];
    out->cc_minor = out->attribute[CUDA_ATTR_CC_MINOR];
    snprintf(out->arch, sizeof out->arch, "sm_%d%d%s", out->cc_major, out->cc_minor,
             out->cc_major >= 9 ? "a" : "");
    return ST_OK;
}

static bool begins(const char *whole, const char *part) {
    for (; *part; whole++, part++)
        if (tolower((unsigned char)*whole) != tolower((unsigned char)*part)) return false;
    return true;
}

/* As in nvidia-smi, with or without the "GPU-".  */
static bool is_uuid(const CudaDeviceInfo *info, const char *which) {
    return *which && (begins(info->uuid, which) || begins(info->uuid + 4, which));
}

static int as_number(const char *s) {
    int n = 0;
    const char *p = s;
    for (; *p >= '0' && *p <= '9' && n < 100000; p++) n = n * 10 + (*p - '0');
    return p == s || *p ? -1 : n;
}

Status cuda_device_find(Cuda *c, Arena *a, Diag *d, const char *which, CudaDeviceInfo *out) {
    int index = as_number(which), found = 0;
    Buf seen = buf_new(a);
    if (index >= 0 && index < c->n_device) return cuda_device_info(c, d, index, out);
    for (int i = 0; i < c->n_device; i++) {
        CudaDeviceInfo info;
        Status s = cuda_device_info(c, d, i, &info);
        if (s) return s;
        buf_printf(&seen, "%s%d: %s (%s, %s)", i ? "; " : "", i, info.name, info.arch, info.uuid);
        if (index < 0 && is_uuid(&info, which) && !found++) *out = info;
    }
    if (found == 1) return ST_OK;
    diag_error(d, ST_DEVICE, "cuda", DIAG_NOWHERE,
               found ? "'%.80s' is more than one device" : "there is no device '%.80s'", which);
    diag_hint(d, "the driver sees %s", c->n_device ? buf_str(&seen) : "none");
    return ST_DEVICE;
}

void cuda_limits(const CudaDeviceInfo *info, DeviceLimits *out) {
    static const struct {
        size_t at;
        CudaAttribute attribute;
        double scale;
    } row[] = {
        {offsetof(DeviceLimits, sm_count), CUDA_ATTR_SM_COUNT, 1},
        {offsetof(DeviceLimits, warp_size), CUDA_ATTR_WARP_SIZE, 1},
        {offsetof(DeviceLimits, threads_per_block), CUDA_ATTR_THREADS_PER_BLOCK, 1},
        {offsetof(DeviceLimits, threads_per_sm), CUDA_ATTR_THREADS_PER_SM, 1},
        {offsetof(DeviceLimits, blocks_per_sm), CUDA_ATTR_BLOCKS_PER_SM, 1},
        {offsetof(DeviceLimits, registers_per_sm), CUDA_ATTR_REGISTERS_PER_SM, 1},
        {offsetof(DeviceLimits, registers_per_block), CUDA_ATTR_REGISTERS_PER_BLOCK, 1},
        {offsetof(DeviceLimits, smem_per_sm), CUDA_ATTR_SMEM_PER_SM, 1},
        {offsetof(DeviceLimits, smem_per_block), CUDA_ATTR_SMEM_PER_BLOCK, 1},
        {offsetof(DeviceLimits, smem_per_block_optin), CUDA_ATTR_SMEM_PER_BLOCK_OPTIN, 1},
        {offsetof(DeviceLimits, smem_reserved), CUDA_ATTR_SMEM_RESERVED, 1},
        {offsetof(DeviceLimits, grid_max), CUDA_ATTR_GRID_X, 1},
        {offsetof(DeviceLimits, clock_sm), CUDA_ATTR_CLOCK_KHZ, 1e-3},
    };
    *out = (DeviceLimits){0};
#define X(name, units, ...) out->name.unit = units;
    HAL_LIMITS(X)
#undef X
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Figure *f = (Figure *)(void *)((char *)out + row[i].at);
        f->value = info->attribute[row[i].attribute] * row[i].scale;
        f->origin = ORIGIN_DRIVER;
    }
    if (!info->attribute[CUDA_ATTR_CLUSTER_LAUNCH]) {
        out->cluster_max.value = 1;
        out->cluster_max.origin = ORIGIN_DRIVER;
    }
}

/* ---- contexts ---- */
static void release_context(void *p) {
    const CudaContext *x = p;
    if (x->handle) x->cuda->cuDevicePrimaryCtxRelease(x->dev);
}

Status cuda_context(Cuda *c, Arena *a, Diag *d, int index, CudaContext **out) {
    CudaContext *x = ARENA_NEW(a, CudaContext);
    x->cuda = c;
    Status s = cuda_device_info(c, d, index, &x->info);
    if (!s) s = CUDA_CALL(c, d, cuDeviceGet, &x->dev, index);
    if (s) return s;
    arena_defer(a, release_context, x);
    s = CUDA_CALL(c, d, cuDevicePrimaryCtxRetain, &x->handle, x->dev);
    if (s) x->handle = NULL;
    *out = x;
    return s;
}

static void leave(void *p) {
    void *was;
    CudaContext **x = p;
    if (*x) (*x)->cuda->cuCtxPopCurrent(&was);
}

Status cuda_enter(CudaContext *x, Arena *a, Diag *d) {
    CudaContext **entered = ARENA_NEW(a, CudaContext *);
    arena_defer(a, leave, entered);
    Status s = CUDA_CALL(x->cuda, d, cuCtxPushCurrent, x->handle);
    if (!s) *entered = x;
    return s;
}

typedef struct {
    Cuda *cuda;               /* NULL: nothing was exchanged */
    int was;
} CaptureMode;

static void exchange_back(void *p) {
    CaptureMode *m = p;
    if (m->cuda) m->cuda->cuThreadExchangeStreamCaptureMode(&m->was);
}

Status cuda_spare_captures(Cuda *c, Arena *a, Diag *d) {
    CaptureMode *m = ARENA_NEW(a, CaptureMode);
    arena_defer(a, exchange_back, m);
    m->was = CUDA_CAPTURE_RELAXED;
    Status s = CUDA_CALL(c, d, cuThreadExchangeStreamCaptureMode, &m->was);
    if (!s) m->cuda = c;
    return s;
}

bool cuda_here(const CudaContext *x) {
    int dev;
    return x->cuda->cuCtxGetDevice(&dev) == 0 && dev == x->dev;
}

Status cuda_synchronize(CudaContext *x, Diag *d) {
    return cuda_check(x->cuda, d, x->cuda->cuCtxSynchronize(), "cuCtxSynchronize");
}

const CudaDeviceInfo *cuda_context_device(const CudaContext *x) { return &x->info; }

Cuda *cuda_context_driver(const CudaContext *x) { return x->cuda; }

/* ---- what an arena owns ---- */
static void destroy(const Cuda *c, const CudaOwned *o) {
    switch (o->kind) {
    case OWN_MEMORY: c->cuMemFree(o->at); break;
    case OWN_STREAM: c->cuStreamDestroy(o->handle); break;
    case OWN_EVENT: c->cuEventDestroy(o->handle); break;
    case OWN_GRAPH: c->cuGraphExecDestroy(o->handle); break;
    case OWN_MODULE: c->cuModuleUnload(o->handle); break;
    case OWN_LIBRARY: c->cuLibraryUnload(o->handle); break;
    }
}

/* The arena may go when another context is current, or none.  */
static void give_back(void *p) {
    const CudaOwned *o = p;
    const Cuda *c = o->context->cuda;
    void *was;
    if (!o->handle && !o->at) return;
    bool entered = c->cuCtxPushCurrent(o->context->handle) == 0;
    destroy(c, o);
    if (entered) c->cuCtxPopCurrent(&was);
}

CudaOwned *cuda_owned(CudaContext *x, Arena *a, CudaOwnedKind kind) {
    CudaOwned *o = ARENA_NEW(a, CudaOwned);
    o->context = x;
    o->kind = kind;
    arena_defer(a, give_back, o);
    return o;
}
