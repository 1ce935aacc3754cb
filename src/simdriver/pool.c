/* Memory in the order of a stream: allocations of pools.
 *
 * An allocation is there when the call returns; what is freed goes when the stream gets there, and
 * with it every right to touch it.  A pool keeps nothing back, so its reserve is what is in
 * use.  */
#include "simdriver/work.h"

#include <stdlib.h>

static Pool *pool_new(Driver *d, Gpu *gpu) {
    Pool *p = host_alloc(sizeof *p);
    if (!p) return NULL;
    p->gpu = gpu;
    for (int k = CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES;
         k < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD; k++) {
        p->attribute[k] = 1;
    }
    if (handle_new(d, &p->o, KIND_POOL, NULL)) return p;
    free(p);
    return NULL;
}

/* The device's own pool, made when it is first asked for.  */
static Pool *own_pool(Driver *d, Gpu *gpu) {
    if (!gpu->own_pool) gpu->own_pool = pool_new(d, gpu);
    return gpu->own_pool;
}

static Pool *current_pool(Driver *d, Gpu *gpu) {
    return gpu->pool ? gpu->pool : own_pool(d, gpu);
}

/* ---- pools ---- */

static CUresult give(Call *c, CUmemoryPool *out, CUdevice dev, Pool *(*of)(Driver *d, Gpu *gpu)) {
    Gpu *gpu = gpu_get(c->driver, dev);
    if (!gpu) return CUDA_ERROR_INVALID_DEVICE;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    const Pool *p = of(c->driver, gpu);
    if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = HANDLE(CUmemoryPool, p);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice dev) {
    Call c;
    if (!driver_enter(&c, FN_cuDeviceGetDefaultMemPool)) return c.result;
    return driver_leave(&c, give(&c, pool, dev, own_pool));
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev) {
    Call c;
    if (!driver_enter(&c, FN_cuDeviceGetMemPool)) return c.result;
    return driver_leave(&c, give(&c, pool, dev, current_pool));
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
    Call c;
    if (!driver_enter(&c, FN_cuDeviceSetMemPool)) return c.result;
    Gpu *gpu = gpu_get(c.driver, dev);
    Pool *p = GET(&c, Pool, pool, KIND_POOL);
    if (!gpu) return driver_leave(&c, CUDA_ERROR_INVALID_DEVICE);
    if (!p || p->gpu != gpu) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    gpu->pool = p;
    return driver_leave(&c, CUDA_SUCCESS);
}

/* Memory of one device, shared with no other process.  */
static CUresult create(Call *c, CUmemoryPool *out, const CUmemPoolProps *props) {
    if (!out || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (props->locationType != CU_MEM_LOCATION_TYPE_DEVICE || props->handleTypes) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    Gpu *gpu = gpu_get(c->driver, props->locationId);
    if (!gpu) return CUDA_ERROR_INVALID_DEVICE;
    const Pool *p = pool_new(c->driver, gpu);
    if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = HANDLE(CUmemoryPool, p);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props) {
    Call c;
    if (!driver_enter(&c, FN_cuMemPoolCreate)) return c.result;
    return driver_leave(&c, create(&c, pool, props));
}

/* What was allocated from it stays; a device that used it uses its own again.  */
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    Call c;
    if (!driver_enter(&c, FN_cuMemPoolDestroy)) return c.result;
    Driver *d = c.driver;
    Pool *p = GET(&c, Pool, pool, KIND_POOL);
    if (!p || p == p->gpu->own_pool) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    size_t at = 0;
    for (Context *ctx; (ctx = NEXT(d, Context, &at, KIND_CONTEXT, NULL));) {
        for (Memory *m = ctx->memory; m; m = m->next) {
            if (m->pool == p) m->pool = NULL;
        }
    }
    if (p->gpu->pool == p) p->gpu->pool = NULL;
    object_free(d, &p->o);
    return driver_leave(&c, CUDA_SUCCESS);
}

/* ---- attributes ---- */

static bool is_flag(int attribute) { return attribute < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD; }

static bool attribute_known(int attribute) {
    return attribute >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
           attribute < CU_MEMPOOL_ATTR_COUNT;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value) {
    Call c;
    if (!driver_enter(&c, FN_cuMemPoolGetAttribute)) return c.result;
    const Pool *p = GET(&c, Pool, pool, KIND_POOL);
    bool sound = p && value && attribute_known(attribute);
    if (!sound) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    if (is_flag(attribute)) *(int *)value = (int)p->attribute[attribute];
    else *(uint64_t *)value = p->attribute[attribute];
    return driver_leave(&c, CUDA_SUCCESS);
}

/* The two that say how much there is now cannot be set, their highest values only to 0.  */
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void *value) {
    Call c;
    if (!driver_enter(&c, FN_cuMemPoolSetAttribute)) return c.result;
    Pool *p = GET(&c, Pool, pool, KIND_POOL);
    bool sound = p && value && attribute_known(attribute) &&
                 attribute != CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT &&
                 attribute != CU_MEMPOOL_ATTR_USED_MEM_CURRENT;
    if (!sound) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    uint64_t v = is_flag(attribute) ? (uint64_t)*(const int *)value : *(const uint64_t *)value;
    bool high = attribute > CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    if (high && v) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    p->attribute[attribute] = high ? p->attribute[attribute - 1] : v;
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
    Call c;
    (void)keep;
    if (!driver_enter(&c, FN_cuMemPoolTrimTo)) return c.result;
    bool known = GET(&c, Pool, pool, KIND_POOL) != NULL;
    return driver_leave(&c, known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* ---- allocations ---- */

/* A graph would own what is allocated in its capture; graphs own no memory here.  */
static CUresult outside_capture(Stream *s) {
    if (!s->capture) return CUDA_SUCCESS;
    s->capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

static CUresult allocate(Call *c, CUdeviceptr *at, size_t bytes, Pool *pool, CUstream stream) {
    Stream *s = stream_get(c, stream);
    Memory *m;
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (!pool) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!at || bytes == 0 || pool->gpu != c->ctx->gpu) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = outside_capture(s);
    if (r == CUDA_SUCCESS) r = memory_allocate(c->driver, c->ctx, bytes, &m);
    if (r != CUDA_SUCCESS) return r;
    m->pool = pool;
    pool_count(pool, bytes, true);
    *at = m->at;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr *at, size_t bytes, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemAllocAsync)) return c.result;
    Pool *pool = current_pool(c.driver, c.ctx->gpu);
    return driver_leave(&c, allocate(&c, at, bytes, pool, stream));
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *at, size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemAllocFromPoolAsync)) return c.result;
    Pool *p = GET(&c, Pool, pool, KIND_POOL);
    return driver_leave(&c, p ? allocate(&c, at, bytes, p, stream) : CUDA_ERROR_INVALID_VALUE);
}

static CUresult free_later(Call *c, CUdeviceptr at, CUstream stream) {
    Context *ctx;
    Stream *s = stream_get(c, stream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (at == 0) return CUDA_SUCCESS;
    Memory *m = memory_find(c->driver, at, &ctx);
    if (!m || m->at != at || m->host || m->freed || ctx != c->ctx) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = outside_capture(s);
    if (r != CUDA_SUCCESS) return r;
    Work *w = work_new(WORK_FREE);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->box.to.at = at;
    r = work_submit(c->driver, s, w);
    if (r == CUDA_SUCCESS) m->freed = true;
    return r;
}

CUresult cuMemFreeAsync(CUdeviceptr at, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemFreeAsync)) return c.result;
    return driver_leave(&c, free_later(&c, at, stream));
}
