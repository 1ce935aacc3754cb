/* Contexts: one primary context per device, others as created.  */
#include "simdriver/work.h"

#include <stdlib.h>

/* Everything that belongs to the context goes with it.  Streams are dropped first: then no work
 * refers to anything.  Who waits for that work looks again.  */
static void drop_context(Driver *d, Context *ctx) {
    static const Kind kinds[] = {KIND_STREAM, KIND_EVENT, KIND_FUNCTION, KIND_MODULE};
    size_t at = 0;
    for (Stream *s; (s = NEXT(d, Stream, &at, KIND_STREAM, ctx));) {
        if (s->capture) capture_drop(d, s->capture);
        stream_drop(s);
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        at = 0;
        for (Object *o; (o = handle_next(d, &at, kinds[k], ctx));) object_free(d, o);
    }
    for (Memory *m = ctx->memory, *next; m; m = next) {
        next = m->next;
        memory_release(d, ctx, m);
    }
    if (ctx->gpu->primary == ctx) ctx->gpu->primary = NULL;
    handle_free(d, &ctx->o);
    free(ctx);
    driver_wake(d);
}

/* Bits 0 to 7: scheduling, blocking synchronisation, mapped host memory, local memory, core dumps,
 * synchronous copies.  */
static bool flags_known(unsigned flags) { return (flags & ~0xffu) == 0; }

/* What a real driver starts with; none of it bounds anything here.  */
static void set_limits(Context *ctx) {
    ctx->limit[CU_LIMIT_STACK_SIZE] = 1024;
    ctx->limit[CU_LIMIT_PRINTF_FIFO_SIZE] = (size_t)1 << 20;
    ctx->limit[CU_LIMIT_MALLOC_HEAP_SIZE] = (size_t)8 << 20;
    ctx->limit[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
}

static CUresult new_context(Driver *d, Gpu *gpu, unsigned flags, Context **out) {
    Context *ctx = host_alloc(sizeof *ctx);
    if (!ctx) return CUDA_ERROR_OUT_OF_MEMORY;
    ctx->gpu = gpu;
    ctx->flags = flags;
    set_limits(ctx);
    if (!handle_new(d, &ctx->o, KIND_CONTEXT, NULL)) {
        free(ctx);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    ctx->legacy = stream_new(d, ctx, true);
    ctx->per_thread = stream_new(d, ctx, true);
    if (ctx->legacy && ctx->per_thread) {
        *out = ctx;
        return CUDA_SUCCESS;
    }
    drop_context(d, ctx);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult context_finish(Driver *d, Context *ctx) {
    CUresult r = ctx->failed;
    size_t at = 0;
    for (Stream *s; (s = NEXT(d, Stream, &at, KIND_STREAM, ctx));) {
        r = stream_finish(d, s);
        if (r == CUDA_ERROR_CONTEXT_IS_DESTROYED) break;
    }
    return r;
}

/* ---- primary contexts ---- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev) {
    Call c;
    if (!driver_enter(&c, FN_cuDevicePrimaryCtxRetain)) return c.result;
    Gpu *g = gpu_get(c.driver, dev);
    if (!g) return driver_leave(&c, CUDA_ERROR_INVALID_DEVICE);
    if (!ctx) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    CUresult r = CUDA_SUCCESS;
    if (!g->primary) r = new_context(c.driver, g, g->primary_flags, &g->primary);
    if (r == CUDA_SUCCESS) {
        g->retained++;
        *ctx = HANDLE(CUcontext, g->primary);
    }
    return driver_leave(&c, r);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
    Call c;
    if (!driver_enter(&c, FN_cuDevicePrimaryCtxRelease_v2)) return c.result;
    Gpu *g = gpu_get(c.driver, dev);
    if (!g) return driver_leave(&c, CUDA_ERROR_INVALID_DEVICE);
    if (g->retained == 0) return driver_leave(&c, CUDA_ERROR_INVALID_CONTEXT);
    if (--g->retained == 0 && g->primary) drop_context(c.driver, g->primary);
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned *flags, int *active) {
    Call c;
    if (!driver_enter(&c, FN_cuDevicePrimaryCtxGetState)) return c.result;
    const Gpu *g = gpu_get(c.driver, dev);
    if (!g) return driver_leave(&c, CUDA_ERROR_INVALID_DEVICE);
    if (!flags || !active) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *flags = g->primary_flags;
    *active = g->primary != NULL;
    return driver_leave(&c, CUDA_SUCCESS);
}

/* Without a primary context the flags are those of the next one.  */
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned flags) {
    Call c;
    if (!driver_enter(&c, FN_cuDevicePrimaryCtxSetFlags_v2)) return c.result;
    Gpu *g = gpu_get(c.driver, dev);
    if (!g) return driver_leave(&c, CUDA_ERROR_INVALID_DEVICE);
    if (!flags_known(flags)) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    g->primary_flags = flags;
    if (g->primary) g->primary->flags = flags;
    return driver_leave(&c, CUDA_SUCCESS);
}

/* All that the context holds goes; who retained it still has to release it.  */
CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
    Call c;
    if (!driver_enter(&c, FN_cuDevicePrimaryCtxReset_v2)) return c.result;
    Gpu *g = gpu_get(c.driver, dev);
    if (!g) return driver_leave(&c, CUDA_ERROR_INVALID_DEVICE);
    if (g->primary) drop_context(c.driver, g->primary);
    return driver_leave(&c, CUDA_SUCCESS);
}

/* ---- other contexts ---- */

static CUresult create(Call *c, CUcontext *ctx, unsigned flags, CUdevice dev) {
    Gpu *g = gpu_get(c->driver, dev);
    Context *made;
    if (!g) return CUDA_ERROR_INVALID_DEVICE;
    if (!ctx || !flags_known(flags)) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = new_context(c->driver, g, flags, &made);
    if (r != CUDA_SUCCESS) return r;
    *ctx = HANDLE(CUcontext, made);
    r = context_push(*ctx);
    if (r != CUDA_SUCCESS) drop_context(c->driver, made);
    return r;
}

CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned flags, CUdevice dev) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxCreate_v2)) return c.result;
    return driver_leave(&c, create(&c, ctx, flags, dev));
}

/* Parameters ask for execution affinity or a graphics client; there is neither.  */
CUresult cuCtxCreate_v4(CUcontext *ctx, void *params, unsigned flags, CUdevice dev) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxCreate_v4)) return c.result;
    if (params) return driver_leave(&c, CUDA_ERROR_NOT_SUPPORTED);
    return driver_leave(&c, create(&c, ctx, flags, dev));
}

CUresult cuCtxCreate_v3(CUcontext *ctx, void *params, int n, unsigned flags, CUdevice dev) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxCreate_v3)) return c.result;
    if (params && n) return driver_leave(&c, CUDA_ERROR_NOT_SUPPORTED);
    return driver_leave(&c, create(&c, ctx, flags, dev));
}

static CUresult destroy(Call *c, CUcontext ctx) {
    Context *own = GET(c, Context, ctx, KIND_CONTEXT);
    if (!own || own->gpu->primary == own) return CUDA_ERROR_INVALID_CONTEXT;
    drop_context(c->driver, own);
    if (context_current() == ctx) context_pop(NULL);
    return CUDA_SUCCESS;
}

CUresult cuCtxDestroy_v2(CUcontext ctx) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxDestroy_v2)) return c.result;
    return driver_leave(&c, destroy(&c, ctx));
}

CUresult cuCtxAttach(CUcontext *ctx, unsigned flags) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxAttach)) return c.result;
    if (!ctx || flags) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    c.ctx->attached++;
    *ctx = HANDLE(CUcontext, c.ctx);
    return driver_leave(&c, CUDA_SUCCESS);
}

/* The last one to detach ends the context.  */
CUresult cuCtxDetach(CUcontext ctx) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxDetach)) return c.result;
    Context *own = GET(&c, Context, ctx, KIND_CONTEXT);
    if (!own || context_current() != ctx) return driver_leave(&c, CUDA_ERROR_INVALID_CONTEXT);
    if (own->attached == 0) return driver_leave(&c, destroy(&c, ctx));
    own->attached--;
    return driver_leave(&c, CUDA_SUCCESS);
}

/* ---- the current context ---- */

CUresult cuCtxGetCurrent(CUcontext *ctx) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxGetCurrent)) return c.result;
    if (!ctx) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *ctx = context_current();
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuCtxSetCurrent(CUcontext ctx) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxSetCurrent)) return c.result;
    if (ctx && !GET(&c, Context, ctx, KIND_CONTEXT)) {
        return driver_leave(&c, CUDA_ERROR_INVALID_CONTEXT);
    }
    if (context_current()) context_pop(NULL);
    return driver_leave(&c, ctx ? context_push(ctx) : CUDA_SUCCESS);
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxPushCurrent_v2)) return c.result;
    bool known = GET(&c, Context, ctx, KIND_CONTEXT) != NULL;
    return driver_leave(&c, known ? context_push(ctx) : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult cuCtxPopCurrent_v2(CUcontext *ctx) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxPopCurrent_v2)) return c.result;
    if (!context_current()) return driver_leave(&c, CUDA_ERROR_INVALID_CONTEXT);
    context_pop(ctx);
    return driver_leave(&c, CUDA_SUCCESS);
}

/* 0 is the current context.  */
static CUresult get_device(Call *c, CUdevice *dev, CUcontext ctx) {
    if (!dev) return CUDA_ERROR_INVALID_VALUE;
    const Context *own = GET(c, Context, ctx ? ctx : context_current(), KIND_CONTEXT);
    if (!own) return CUDA_ERROR_INVALID_CONTEXT;
    *dev = own->gpu->ordinal;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *dev) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxGetDevice)) return c.result;
    return driver_leave(&c, get_device(&c, dev, NULL));
}

CUresult cuCtxGetDevice_v2(CUdevice *dev, CUcontext ctx) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxGetDevice_v2)) return c.result;
    return driver_leave(&c, get_device(&c, dev, ctx));
}

static CUresult synchronize(Call *c, Context *ctx) {
    CUresult r = capture_forbids(c->driver, ctx, false);
    return r == CUDA_SUCCESS ? context_finish(c->driver, ctx) : r;
}

CUresult cuCtxSynchronize(void) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxSynchronize)) return c.result;
    return driver_leave(&c, synchronize(&c, c.ctx));
}

CUresult cuCtxSynchronize_v2(CUcontext ctx) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxSynchronize_v2)) return c.result;
    Context *own = GET(&c, Context, ctx ? ctx : context_current(), KIND_CONTEXT);
    return driver_leave(&c, own ? synchronize(&c, own) : CUDA_ERROR_INVALID_CONTEXT);
}
