/* Copies and fills.
 *
 * From pageable host memory a copy takes its bytes at the call; to pageable host memory it has
 * arrived when the call returns.  With page-locked memory both happen when the work runs, so its
 * contents must stay until then.  Copies within device memory and fills never wait.  */
#include "simdriver/work.h"

#include <string.h>

static CUresult submit_and_wait(Driver *d, Stream *s, Work *w) {
    Context *ctx = s->o.ctx;
    w->refs++;
    CUresult r = work_submit(d, s, w);
    if (r == CUDA_SUCCESS) r = work_finish(d, ctx, w);
    work_release(w);
    return r;
}

/* The bytes of a copy from the host that must not change after the call.  */
static bool stage(Work *w, const void *from) {
    w->host = host_alloc(w->bytes);
    if (!w->host) return false;
    memcpy(w->host, from, w->bytes);
    w->staged = true;
    return true;
}

typedef struct {
    CUdeviceptr to, from;
    void *host_to;
    const void *host_from;
    size_t bytes;
    bool wait;                /* the call has no stream */
} Copy;

static bool copy_valid(Driver *d, const Copy *k) {
    if (!k->host_to && !memory_at(d, k->to, k->bytes, NULL)) return false;
    return k->host_from || memory_at(d, k->from, k->bytes, NULL);
}

static CUresult copy(Call *c, CUstream stream, const Copy *k) {
    Stream *s = stream_get(c, stream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (k->bytes == 0) return CUDA_SUCCESS;
    if (!copy_valid(c->driver, k)) return CUDA_ERROR_INVALID_VALUE;
    const void *host = k->host_to ? k->host_to : k->host_from;
    bool pageable = host && !context_pinned(c->ctx, host, k->bytes) && !s->capture;
    Work *w = work_new(WORK_COPY);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->to = k->to;
    w->from = k->from;
    w->bytes = k->bytes;
    w->host = (void *)(uintptr_t)host;
    if (k->host_from && pageable && !k->wait && !stage(w, host)) {
        w->host = NULL;
        work_release(w);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    bool wait = host && (k->wait || (k->host_to && pageable));
    return wait ? submit_and_wait(c->driver, s, w) : work_submit(c->driver, s, w);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpyHtoD_v2)) return c.result;
    if (!from && bytes) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    return driver_leave(&c, copy(&c, NULL, &(Copy){.to = to, .host_from = from, .bytes = bytes,
                                                  .wait = true}));
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpyDtoH_v2)) return c.result;
    if (!to && bytes) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    return driver_leave(&c, copy(&c, NULL, &(Copy){.from = from, .host_to = to, .bytes = bytes,
                                                  .wait = true}));
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpyDtoD_v2)) return c.result;
    return driver_leave(&c, copy(&c, NULL, &(Copy){.to = to, .from = from, .bytes = bytes}));
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpyHtoDAsync_v2)) return c.result;
    if (!from && bytes) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    return driver_leave(&c, copy(&c, stream, &(Copy){.to = to, .host_from = from,
                                                    .bytes = bytes}));
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpyDtoHAsync_v2)) return c.result;
    if (!to && bytes) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    return driver_leave(&c, copy(&c, stream, &(Copy){.from = from, .host_to = to,
                                                    .bytes = bytes}));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpyDtoDAsync_v2)) return c.result;
    return driver_leave(&c, copy(&c, stream, &(Copy){.to = to, .from = from, .bytes = bytes}));
}

/* ---- fills ---- */

static CUresult fill(Call *c, CUstream stream, CUdeviceptr to, const void *value, int width,
                     size_t n) {
    Stream *s = stream_get(c, stream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (n == 0) return CUDA_SUCCESS;
    if (n > SIZE_MAX / (size_t)width || to % (unsigned)width ||
        !memory_at(c->driver, to, n * (size_t)width, NULL)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    Work *w = work_new(WORK_FILL);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->to = to;
    w->bytes = n * (size_t)width;
    w->width = width;
    memcpy(w->pattern, value, (size_t)width);
    return work_submit(c->driver, s, w);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n) {
    Call c;
    if (!driver_enter(&c, FN_cuMemsetD8_v2)) return c.result;
    return driver_leave(&c, fill(&c, NULL, to, &value, 1, n));
}

CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t n) {
    Call c;
    if (!driver_enter(&c, FN_cuMemsetD16_v2)) return c.result;
    return driver_leave(&c, fill(&c, NULL, to, &value, 2, n));
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t n) {
    Call c;
    if (!driver_enter(&c, FN_cuMemsetD32_v2)) return c.result;
    return driver_leave(&c, fill(&c, NULL, to, &value, 4, n));
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemsetD8Async)) return c.result;
    return driver_leave(&c, fill(&c, stream, to, &value, 1, n));
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t n, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemsetD16Async)) return c.result;
    return driver_leave(&c, fill(&c, stream, to, &value, 2, n));
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemsetD32Async)) return c.result;
    return driver_leave(&c, fill(&c, stream, to, &value, 4, n));
}
