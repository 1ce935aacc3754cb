/* Streams.  */
#include "simdriver/work.h"

#include <stdlib.h>

Stream *stream_new(Driver *d, Context *ctx, bool blocking) {
    Stream *s = host_alloc(sizeof *s);
    if (!s) return NULL;
    s->blocking = blocking;
    if (handle_new(d, &s->o, KIND_STREAM, ctx)) return s;
    free(s);
    return NULL;
}

CUresult stream_finish(Driver *d, Stream *s) {
    return s->last ? work_finish(d, s->o.ctx, s->last) : s->o.ctx->failed;
}

static CUresult create(Call *c, CUstream *stream, unsigned flags) {
    if (!stream || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    Stream *s = stream_new(c->driver, c->ctx, flags != CU_STREAM_NON_BLOCKING);
    if (!s) return CUDA_ERROR_OUT_OF_MEMORY;
    *stream = HANDLE(CUstream, s);
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    Call c;
    if (!driver_enter(&c, FN_cuStreamCreate)) return c.result;
    return driver_leave(&c, create(&c, stream, flags));
}

/* There is one priority; others are brought into its range.  */
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
    Call c;
    (void)priority;
    if (!driver_enter(&c, FN_cuStreamCreateWithPriority)) return c.result;
    return driver_leave(&c, create(&c, stream, flags));
}

/* Work that is queued still runs.  */
CUresult cuStreamDestroy_v2(CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuStreamDestroy_v2)) return c.result;
    Stream *s = GET(&c, Stream, stream, KIND_STREAM);
    if (!s || s == s->o.ctx->legacy || s == s->o.ctx->per_thread) {
        return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    }
    if (s->capture) capture_drop(c.driver, s->capture);
    CUresult r = stream_finish(c.driver, s);
    if (r != CUDA_ERROR_CONTEXT_IS_DESTROYED) object_free(c.driver, &s->o);
    return driver_leave(&c, r);
}

/* A call that looks at a stream's progress spoils its capture.  */
static CUresult outside_capture(Driver *d, Stream *s) {
    if (s == s->o.ctx->legacy) {
        CUresult r = capture_forbids(d, s->o.ctx, false);
        return r == CUDA_SUCCESS ? r : CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (!s->capture) return CUDA_SUCCESS;
    s->capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult cuStreamSynchronize(CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuStreamSynchronize)) return c.result;
    Stream *s = stream_get(&c, stream);
    CUresult r = s ? outside_capture(c.driver, s) : CUDA_ERROR_INVALID_HANDLE;
    if (r != CUDA_SUCCESS) return driver_leave(&c, r);
    return driver_leave(&c, stream_finish(c.driver, s));
}

/* Every question lets one piece of work run, so that asking again and again ends.  */
CUresult cuStreamQuery(CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuStreamQuery)) return c.result;
    Stream *s = stream_get(&c, stream);
    CUresult r = s ? outside_capture(c.driver, s) : CUDA_ERROR_INVALID_HANDLE;
    if (r != CUDA_SUCCESS) return driver_leave(&c, r);
    Work *last = s->last;
    if (!last || last->done) return driver_leave(&c, CUDA_SUCCESS);
    work_advance(c.driver, last);
    if (c.ctx->failed != CUDA_SUCCESS) return driver_leave(&c, c.ctx->failed);
    return driver_leave(&c, last->done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

/* ---- facts ---- */

CUresult cuStreamGetPriority(CUstream stream, int *priority) {
    Call c;
    if (!driver_enter(&c, FN_cuStreamGetPriority)) return c.result;
    if (!stream_get(&c, stream)) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!priority) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *priority = 0;
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuStreamGetFlags(CUstream stream, unsigned *flags) {
    Call c;
    if (!driver_enter(&c, FN_cuStreamGetFlags)) return c.result;
    const Stream *s = stream_get(&c, stream);
    if (!s) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!flags) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *flags = s->blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuStreamGetId(CUstream stream, unsigned long long *id) {
    Call c;
    if (!driver_enter(&c, FN_cuStreamGetId)) return c.result;
    const Stream *s = stream_get(&c, stream);
    if (!s) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!id) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *id = s->o.handle;
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *ctx) {
    Call c;
    if (!driver_enter(&c, FN_cuStreamGetCtx)) return c.result;
    if (!stream_get(&c, stream)) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!ctx) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *ctx = HANDLE(CUcontext, c.ctx);
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice *dev) {
    Call c;
    if (!driver_enter(&c, FN_cuStreamGetDevice)) return c.result;
    if (!stream_get(&c, stream)) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!dev) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *dev = c.ctx->gpu->ordinal;
    return driver_leave(&c, CUDA_SUCCESS);
}

/* ---- functions of the host ---- */

static CUresult call_host(Call *c, CUstream stream, Work from) {
    Stream *s = stream_get(c, stream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (!from.fn && !from.callback) return CUDA_ERROR_INVALID_VALUE;
    Work *w = work_new(WORK_HOST);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->fn = from.fn;
    w->callback = from.callback;
    w->user = from.user;
    return work_submit(c->driver, s, w);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *user) {
    Call c;
    if (!driver_enter(&c, FN_cuLaunchHostFunc)) return c.result;
    return driver_leave(&c, call_host(&c, stream, (Work){.fn = fn, .user = user}));
}

/* A callback cannot be captured.  */
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *user,
                             unsigned flags) {
    Call c;
    if (!driver_enter(&c, FN_cuStreamAddCallback)) return c.result;
    Stream *s = stream_get(&c, stream);
    if (flags) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    CUresult r = s ? outside_capture(c.driver, s) : CUDA_ERROR_INVALID_HANDLE;
    if (r != CUDA_SUCCESS) return driver_leave(&c, r);
    return driver_leave(&c, call_host(&c, stream, (Work){.callback = callback, .user = user}));
}
