/* Allocations of a context: on devices, and page-locked ones of the host.  */
#include "simdriver/work.h"

#include <stdlib.h>

enum { DEVICE_GRANULE = 512 };

void pool_count(Pool *p, uint64_t bytes, bool came) {
    uint64_t *used = &p->attribute[CU_MEMPOOL_ATTR_USED_MEM_CURRENT];
    uint64_t *high = &p->attribute[CU_MEMPOOL_ATTR_USED_MEM_HIGH];
    *used = came ? *used + bytes : *used - bytes;
    if (*used > *high) *high = *used;
    p->attribute[CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT] = *used;
    if (*used > p->attribute[CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH]) {
        p->attribute[CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH] = *used;
    }
}

Gpu *memory_gpu(Driver *d, CUdeviceptr at, size_t bytes) {
    for (int k = 0; k < d->n_gpu; k++)
        if (sim_has(d->gpu[k].sim, at, bytes)) return &d->gpu[k];
    return NULL;
}

uint64_t memory_rounded(size_t bytes) {
    return ((uint64_t)bytes + DEVICE_GRANULE - 1) / DEVICE_GRANULE * DEVICE_GRANULE;
}

/* The profile's memory, less where a rule or the host gives less.  */
static uint64_t most_bytes(const Driver *d, const Gpu *gpu) {
    uint64_t most = (uint64_t)gpu->dev->memory[LEVEL_DRAM].capacity.value;
    if (d->memory_limit < most) most = d->memory_limit;
    if (d->faults.memory && d->faults.memory < most) most = d->faults.memory;
    return most;
}

uint64_t memory_left(const Driver *d, const Gpu *gpu) {
    uint64_t most = most_bytes(d, gpu);
    return gpu->used < most ? most - gpu->used : 0;
}

void memory_remember(Context *ctx, Memory *m) {
    m->next = ctx->memory;
    ctx->memory = m;
}

void memory_forget(Context *ctx, const Memory *m) {
    Memory **p = &ctx->memory;
    while (*p != m) p = &(*p)->next;
    *p = m->next;
}

Memory *memory_find(Driver *d, CUdeviceptr at, Context **ctx) {
    size_t slot = 0;
    while ((*ctx = NEXT(d, Context, &slot, KIND_CONTEXT, NULL))) {
        for (Memory *m = (*ctx)->memory; m; m = m->next) {
            if (at >= m->at && at - m->at < m->bytes) return m;
        }
    }
    return NULL;
}

void memory_release(Driver *d, Context *ctx, Memory *m) {
    if (m->pool) pool_count(m->pool, m->bytes, false);
    if (m->host) {
        for (int k = 0; k < d->n_gpu; k++) sim_free(d->gpu[k].sim, m->at);
        if (m->kind != MEMORY_REGISTERED) free(m->host);
    } else {
        sim_free(ctx->gpu->sim, m->at);
        ctx->gpu->used -= memory_rounded(m->bytes);
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

CUresult memory_allocate(Driver *d, Context *ctx, size_t bytes, Memory **out) {
    Gpu *gpu = ctx->gpu;
    if (memory_rounded(bytes) < bytes || memory_rounded(bytes) > memory_left(d, gpu)) {
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
    gpu->used += memory_rounded(bytes);
    memory_remember(ctx, m);
    *out = m;
    return CUDA_SUCCESS;
}
