/* Device memory and page-locked host memory.  */
#include "simdriver/work.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICE_GRANULE = 512 };

void *memory_at(Driver *d, CUdeviceptr at, size_t bytes, Gpu **gpu) {
    for (int k = 0; k < d->n_gpu; k++) {
        void *host = sim_host(d->gpu[k].sim, at, bytes);
        if (!host) continue;
        if (gpu) *gpu = &d->gpu[k];
        return host;
    }
    return NULL;
}

static uint64_t rounded(size_t bytes) {
    return ((uint64_t)bytes + DEVICE_GRANULE - 1) / DEVICE_GRANULE * DEVICE_GRANULE;
}

/* The profile's memory, less where a rule or the host gives less.  */
static uint64_t most_bytes(const Driver *d, const Gpu *gpu) {
    uint64_t most = (uint64_t)gpu->dev->memory[LEVEL_DRAM].capacity.value;
    if (d->memory_limit < most) most = d->memory_limit;
    if (d->faults.memory && d->faults.memory < most) most = d->faults.memory;
    return most;
}

static uint64_t bytes_left(const Driver *d, const Gpu *gpu) {
    uint64_t most = most_bytes(d, gpu);
    return gpu->used < most ? most - gpu->used : 0;
}

static void remember(Context *ctx, Memory *m) {
    m->next = ctx->memory;
    ctx->memory = m;
}

/* Takes the record out of the context's list; NULL if there is none.  */
static Memory *forget(Context *ctx, CUdeviceptr at, const void *host) {
    for (Memory **p = &ctx->memory; *p; p = &(*p)->next) {
        Memory *m = *p;
        if (m->at != at || m->host != host) continue;
        *p = m->next;
        return m;
    }
    return NULL;
}

void memory_release(Context *ctx, Memory *m) {
    if (m->host) {
        free(m->host);
    } else {
        sim_free(ctx->gpu->sim, m->at);
        ctx->gpu->used -= rounded(m->bytes);
    }
    free(m);
}

Memory *context_pinned(const Context *ctx, const void *at, size_t bytes) {
    uintptr_t begin = (uintptr_t)at;
    for (Memory *m = ctx->memory; m; m = m->next) {
        uintptr_t host = (uintptr_t)m->host;
        if (m->host && begin >= host && begin - host <= m->bytes &&
            bytes <= m->bytes - (begin - host)) {
            return m;
        }
    }
    return NULL;
}

typedef struct {
    Gpu *gpu;
    Memory *memory;
    Status status;
} Allocating;

static void allocate_body(void *user) {
    Allocating *a = user;
    Diag diag = diag_new(a->gpu->arena);
    uint64_t at = 0;
    a->status = sim_malloc(a->gpu->sim, &diag, a->memory->bytes, &at);
    a->memory->at = at;
}

static CUresult allocate(Call *c, CUdeviceptr *at, size_t bytes) {
    Gpu *gpu = c->ctx->gpu;
    if (!at || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = capture_forbids(c->driver, c->ctx, true);
    if (r != CUDA_SUCCESS) return r;
    if (rounded(bytes) < bytes || rounded(bytes) > bytes_left(c->driver, gpu)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    Memory *m = host_alloc(sizeof *m);
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    m->bytes = bytes;
    Allocating a = {gpu, m, ST_NOMEM};
    if (!arena_try(gpu->arena, allocate_body, &a) || a.status != ST_OK) {
        free(m);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    gpu->used += rounded(bytes);
    remember(c->ctx, m);
    *at = m->at;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t bytes) {
    Call c;
    if (!driver_enter(&c, FN_cuMemAlloc_v2)) return c.result;
    return driver_leave(&c, allocate(&c, at, bytes));
}

/* The context of a device address may be another than the current one.  */
static Context *owner(Driver *d, CUdeviceptr at) {
    size_t slot = 0;
    for (Context *ctx; (ctx = NEXT(d, Context, &slot, KIND_CONTEXT, NULL));) {
        for (const Memory *m = ctx->memory; m; m = m->next) {
            if (!m->host && m->at == at) return ctx;
        }
    }
    return NULL;
}

/* Waits for what the context has queued, as a device would.  */
static CUresult release(Call *c, CUdeviceptr at) {
    if (at == 0) return CUDA_SUCCESS;
    Context *ctx = owner(c->driver, at);
    if (!ctx) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = capture_forbids(c->driver, ctx, true);
    if (r != CUDA_SUCCESS) return r;
    r = context_finish(c->driver, ctx);
    if (r == CUDA_ERROR_CONTEXT_IS_DESTROYED) return r;
    Memory *m = forget(ctx, at, NULL);
    if (m) memory_release(ctx, m);
    return r;
}

CUresult cuMemFree_v2(CUdeviceptr at) {
    Call c;
    if (!driver_enter(&c, FN_cuMemFree_v2)) return c.result;
    return driver_leave(&c, release(&c, at));
}

static CUresult allocate_host(Call *c, void **at, size_t bytes) {
    if (!at || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = capture_forbids(c->driver, c->ctx, true);
    if (r != CUDA_SUCCESS) return r;
    size_t whole = (bytes + HOST_PAGE - 1) / HOST_PAGE * HOST_PAGE;
    Memory *m = host_alloc(sizeof *m);
    void *host = whole >= bytes ? host_pages(whole) : NULL;
    if (!m || !host) {
        free(m);
        free(host);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memset(host, 0xff, whole);
    m->host = host;
    m->bytes = bytes;
    remember(c->ctx, m);
    *at = host;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(void **at, size_t bytes) {
    Call c;
    if (!driver_enter(&c, FN_cuMemAllocHost_v2)) return c.result;
    return driver_leave(&c, allocate_host(&c, at, bytes));
}

CUresult cuMemFreeHost(void *at) {
    Call c;
    if (!driver_enter(&c, FN_cuMemFreeHost)) return c.result;
    if (!at) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    CUresult r = context_finish(c.driver, c.ctx);
    if (r == CUDA_ERROR_CONTEXT_IS_DESTROYED) return driver_leave(&c, r);
    Memory *m = forget(c.ctx, 0, at);
    if (m) memory_release(c.ctx, m);
    return driver_leave(&c, m ? r : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemGetInfo_v2(size_t *available, size_t *total) {
    Call c;
    if (!driver_enter(&c, FN_cuMemGetInfo_v2)) return c.result;
    if (!available || !total) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *available = (size_t)bytes_left(c.driver, c.ctx->gpu);
    *total = (size_t)c.ctx->gpu->dev->memory[LEVEL_DRAM].capacity.value;
    return driver_leave(&c, CUDA_SUCCESS);
}
