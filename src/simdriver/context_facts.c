/* What may be asked of a context and set in it without changing what runs there.  */
#include "simdriver/work.h"

/* 0 is the current context.  */
static const Context *context_of(Call *c, CUcontext ctx) {
    return GET(c, Context, ctx ? ctx : context_current(), KIND_CONTEXT);
}

enum { API_VERSION = 3020, CACHE_CONFIGS = 4 };

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned *version) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxGetApiVersion)) return c.result;
    if (!version) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    if (!context_of(&c, ctx)) return driver_leave(&c, CUDA_ERROR_INVALID_CONTEXT);
    *version = API_VERSION;
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long *id) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxGetId)) return c.result;
    const Context *own = context_of(&c, ctx);
    if (!id) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    if (!own) return driver_leave(&c, CUDA_ERROR_INVALID_CONTEXT);
    *id = own->o.handle;
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuCtxGetFlags(unsigned *flags) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxGetFlags)) return c.result;
    if (!flags) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *flags = c.ctx->flags;
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuCtxSetFlags(unsigned flags) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxSetFlags)) return c.result;
    c.ctx->flags = flags;
    return driver_leave(&c, CUDA_SUCCESS);
}

static bool limit_known(int limit) {
    return limit >= CU_LIMIT_STACK_SIZE && limit < CU_LIMIT_COUNT;
}

CUresult cuCtxGetLimit(size_t *value, int limit) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxGetLimit)) return c.result;
    if (!value) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    if (!limit_known(limit)) return driver_leave(&c, CUDA_ERROR_UNSUPPORTED_LIMIT);
    *value = c.ctx->limit[limit];
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuCtxSetLimit(int limit, size_t value) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxSetLimit)) return c.result;
    if (!limit_known(limit)) return driver_leave(&c, CUDA_ERROR_UNSUPPORTED_LIMIT);
    c.ctx->limit[limit] = value;
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuCtxGetCacheConfig(int *config) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxGetCacheConfig)) return c.result;
    if (!config) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *config = c.ctx->cache_config;
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuCtxSetCacheConfig(int config) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxSetCacheConfig)) return c.result;
    if (config < 0 || config >= CACHE_CONFIGS) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    c.ctx->cache_config = config;
    return driver_leave(&c, CUDA_SUCCESS);
}

/* There is one priority.  */
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    Call c;
    if (!driver_enter(&c, FN_cuCtxGetStreamPriorityRange)) return c.result;
    if (least) *least = 0;
    if (greatest) *greatest = 0;
    return driver_leave(&c, CUDA_SUCCESS);
}
