/* Calls for device memory and page-locked host memory.  */
#include "simdriver/work.h"

#include <stdlib.h>
#include <string.h>

/* An allocation by its first byte.  */
static Memory *find_start(Driver *d, CUdeviceptr at, Context **ctx) {
    Memory *m = memory_find(d, at, ctx);
    return m && m->at == at ? m : NULL;
}

static CUresult allocate(Call *c, CUdeviceptr *at, size_t bytes) {
    Memory *m;
    if (!at || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = capture_forbids(c->driver, c->ctx, true);
    if (r == CUDA_SUCCESS) r = memory_allocate(c->driver, c->ctx, bytes, &m);
    if (r == CUDA_SUCCESS) *at = m->at;
    return r;
}

CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t bytes) {
    Call c;
    if (!driver_enter(&c, FN_cuMemAlloc_v2)) return c.result;
    return driver_leave(&c, allocate(&c, at, bytes));
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *at, size_t *pitch, size_t width, size_t height,
                            unsigned element) {
    Call c;
    if (!driver_enter(&c, FN_cuMemAllocPitch_v2)) return c.result;
    uint64_t row = memory_rounded(width);
    bool sound = at && pitch && width && height && row >= width && row <= SIZE_MAX / height &&
                 (element == 4 || element == 8 || element == 16);
    if (!sound) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    CUresult r = allocate(&c, at, (size_t)row * height);
    if (r == CUDA_SUCCESS) *pitch = (size_t)row;
    return driver_leave(&c, r);
}

/* Waits for what the context has queued, as a device would.  */
static CUresult release(Driver *d, Context *ctx, CUdeviceptr at) {
    CUresult r = context_finish(d, ctx);
    if (r == CUDA_ERROR_CONTEXT_IS_DESTROYED) return r;
    Memory *m = find_start(d, at, &ctx);
    if (!m) return r;
    memory_forget(ctx, m);
    memory_release(d, ctx, m);
    return r;
}

/* The context of a device address may be another than the current one.  */
static CUresult release_device(Call *c, CUdeviceptr at) {
    Context *ctx;
    if (at == 0) return CUDA_SUCCESS;
    const Memory *m = find_start(c->driver, at, &ctx);
    bool ours = m && !m->freed && (m->kind == MEMORY_DEVICE || m->kind == MEMORY_MANAGED);
    if (!ours) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = capture_forbids(c->driver, ctx, true);
    return r == CUDA_SUCCESS ? release(c->driver, ctx, at) : r;
}

CUresult cuMemFree_v2(CUdeviceptr at) {
    Call c;
    if (!driver_enter(&c, FN_cuMemFree_v2)) return c.result;
    return driver_leave(&c, release_device(&c, at));
}

/* ---- memory of the host, which every device sees at the host's addresses ---- */

typedef struct {
    Driver *driver;
    Memory *memory;
    int mapped;
    Status status;
} Mapping;

static void map_body(void *user) {
    Mapping *x = user;
    Gpu *gpu = &x->driver->gpu[x->mapped];
    Diag diag = diag_new(gpu->arena);
    x->status = sim_map(gpu->sim, &diag, x->memory->host, x->memory->bytes);
}

static bool map_everywhere(Driver *d, Memory *m) {
    Mapping x = {.driver = d, .memory = m};
    for (; x.mapped < d->n_gpu; x.mapped++) {
        if (arena_try(d->gpu[x.mapped].arena, map_body, &x) && x.status == ST_OK) continue;
        while (x.mapped-- > 0) sim_free(d->gpu[x.mapped].sim, m->at);
        return false;
    }
    return true;
}

/* `host` NULL: new memory, filled with what was never written.  */
static CUresult take_host(Call *c, MemoryKind kind, void *host, size_t bytes, unsigned flags,
                          Memory **out) {
    size_t whole = (bytes + HOST_PAGE - 1) / HOST_PAGE * HOST_PAGE;
    Memory *m = host_alloc(sizeof *m);
    void *own = !host && whole >= bytes ? host_pages(whole) : NULL;
    if (own) memset(own, 0xff, whole);
    if (m && (host || own)) {
        *m = (Memory){.kind = kind, .host = host ? host : own, .bytes = bytes, .flags = flags};
        m->at = (CUdeviceptr)(uintptr_t)m->host;
        if (map_everywhere(c->driver, m)) {
            memory_remember(c->ctx, m);
            *out = m;
            return CUDA_SUCCESS;
        }
    }
    free(m);
    free(own);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

enum { HOST_ALLOC_FLAGS = 7, HOST_REGISTER_FLAGS = 15, MANAGED_GLOBAL = 1, MANAGED_HOST = 2 };

static CUresult allocate_host(Call *c, MemoryKind kind, size_t bytes, unsigned flags,
                              Memory **out) {
    CUresult r = capture_forbids(c->driver, c->ctx, true);
    return r == CUDA_SUCCESS ? take_host(c, kind, NULL, bytes, flags, out) : r;
}

CUresult cuMemAllocHost_v2(void **at, size_t bytes) {
    Call c;
    Memory *m;
    if (!driver_enter(&c, FN_cuMemAllocHost_v2)) return c.result;
    if (!at || bytes == 0) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    CUresult r = allocate_host(&c, MEMORY_PINNED, bytes, 0, &m);
    if (r == CUDA_SUCCESS) *at = m->host;
    return driver_leave(&c, r);
}

/* Flags: 1 for all contexts, 2 mapped, 4 write-combined; all of it is either so or not told.  */
CUresult cuMemHostAlloc(void **at, size_t bytes, unsigned flags) {
    Call c;
    Memory *m;
    if (!driver_enter(&c, FN_cuMemHostAlloc)) return c.result;
    bool sound = at && bytes && flags <= HOST_ALLOC_FLAGS;
    if (!sound) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    CUresult r = allocate_host(&c, MEMORY_PINNED, bytes, flags, &m);
    if (r == CUDA_SUCCESS) *at = m->host;
    return driver_leave(&c, r);
}

CUresult cuMemAllocManaged(CUdeviceptr *at, size_t bytes, unsigned flags) {
    Call c;
    Memory *m;
    if (!driver_enter(&c, FN_cuMemAllocManaged)) return c.result;
    bool sound = at && bytes && (flags == MANAGED_GLOBAL || flags == MANAGED_HOST);
    if (!sound) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    CUresult r = allocate_host(&c, MEMORY_MANAGED, bytes, flags, &m);
    if (r == CUDA_SUCCESS) *at = m->at;
    return driver_leave(&c, r);
}

/* Page-locked memory of any context, by its first byte.  */
static Memory *find_host(Driver *d, void *host, MemoryKind kind, Context **ctx) {
    Memory *m = find_start(d, (CUdeviceptr)(uintptr_t)host, ctx);
    return m && m->kind == kind ? m : NULL;
}

static CUresult release_host(Call *c, void *host, MemoryKind kind, CUresult unknown) {
    Context *ctx;
    if (!find_host(c->driver, host, kind, &ctx)) return unknown;
    return release(c->driver, ctx, (CUdeviceptr)(uintptr_t)host);
}

CUresult cuMemFreeHost(void *at) {
    Call c;
    if (!driver_enter(&c, FN_cuMemFreeHost)) return c.result;
    return driver_leave(&c, release_host(&c, at, MEMORY_PINNED, CUDA_ERROR_INVALID_VALUE));
}

static bool overlaps(Driver *d, uintptr_t begin, size_t bytes) {
    size_t slot = 0;
    for (Context *ctx; (ctx = NEXT(d, Context, &slot, KIND_CONTEXT, NULL));) {
        for (const Memory *m = ctx->memory; m; m = m->next) {
            if (m->host && m->at < begin + bytes && begin < m->at + m->bytes) return true;
        }
    }
    return false;
}

CUresult cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags) {
    Call c;
    Memory *m;
    if (!driver_enter(&c, FN_cuMemHostRegister_v2)) return c.result;
    uintptr_t begin = (uintptr_t)host;
    bool sound = host && bytes && flags <= HOST_REGISTER_FLAGS && begin + bytes > begin;
    if (!sound) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    if (overlaps(c.driver, begin, bytes)) {
        return driver_leave(&c, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    }
    return driver_leave(&c, take_host(&c, MEMORY_REGISTERED, host, bytes, flags, &m));
}

CUresult cuMemHostUnregister(void *host) {
    Call c;
    if (!driver_enter(&c, FN_cuMemHostUnregister)) return c.result;
    if (!host) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    return driver_leave(&c, release_host(&c, host, MEMORY_REGISTERED,
                                         CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED));
}

CUresult cuMemGetInfo_v2(size_t *available, size_t *total) {
    Call c;
    if (!driver_enter(&c, FN_cuMemGetInfo_v2)) return c.result;
    if (!available || !total) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *available = (size_t)memory_left(c.driver, c.ctx->gpu);
    *total = (size_t)c.ctx->gpu->dev->memory[LEVEL_DRAM].capacity.value;
    return driver_leave(&c, CUDA_SUCCESS);
}
