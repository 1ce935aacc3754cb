/* Copies and fills, of rows of bytes or of boxes of them.
 *
 * From pageable host memory a copy takes its bytes at the call; to pageable host memory it has
 * arrived when the call returns.  With page-locked memory both happen when the work runs, so its
 * contents must stay until then.  Copies within device memory and fills never wait.  */
#include "simdriver/work.h"

#include <string.h>

/* ---- boxes ---- */

static bool is_host(const End *e) { return e->at == 0; }

static bool end_valid(Driver *d, const Box *b, const End *e) {
    size_t span = box_span(b, e);
    return span && (is_host(e) ? e->host != NULL : memory_gpu(d, e->at, span) != NULL);
}

/* The caller's memory may change, or must not, as soon as the call returns.  */
static bool is_pageable(const Call *c, const Box *b, const End *e) {
    return is_host(e) && !context_pinned(c->ctx, e->host, box_span(b, e));
}

CUresult work_of_copy(Call *c, const Box *b, Work **out) {
    bool valid = end_valid(c->driver, b, &b->to) && end_valid(c->driver, b, &b->from);
    if (!valid) return CUDA_ERROR_INVALID_VALUE;
    *out = work_new(WORK_COPY);
    if (!*out) return CUDA_ERROR_OUT_OF_MEMORY;
    (*out)->box = *b;
    return CUDA_SUCCESS;
}

/* The bytes of a copy from the host that must not change after the call.  */
static bool stage(Work *w) {
    Box *b = &w->box;
    unsigned char *own = host_alloc(box_bytes(b)), *to = own;
    if (!own) return false;
    for (size_t z = 0; z < b->depth; z++) {
        for (size_t y = 0; y < b->height; y++, to += b->width) {
            memcpy(to, b->from.host + z * b->from.slice + y * b->from.pitch, b->width);
        }
    }
    b->from = (End){.host = own, .pitch = b->width, .slice = b->width * b->height};
    w->buffered = true;
    return true;
}

static CUresult submit_and_wait(Driver *d, Stream *s, Work *w) {
    Context *ctx = s->o.ctx;
    w->refs++;
    CUresult r = work_submit(d, s, w);
    if (r == CUDA_SUCCESS) r = work_finish(d, ctx, w);
    work_release(w);
    return r;
}

/* `wait`: the call is one that returns when all is done, as far as the host takes part.  */
static CUresult copy(Call *c, CUstream stream, const Box *b, bool wait) {
    Work *w;
    Stream *s = stream_get(c, stream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (!b->width || !b->height || !b->depth) return CUDA_SUCCESS;
    CUresult r = work_of_copy(c, b, &w);
    if (r != CUDA_SUCCESS) return r;
    if (s->capture && wait) {
        s->capture->invalid = true;
        work_release(w);
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (s->capture) return work_submit(c->driver, s, w);
    wait &= is_host(&b->to) || is_host(&b->from);
    wait |= is_pageable(c, b, &b->to);
    if (!wait && is_pageable(c, b, &b->from) && !stage(w)) {
        work_release(w);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return wait ? submit_and_wait(c->driver, s, w) : work_submit(c->driver, s, w);
}

/* ---- rows ---- */

static End device_end(CUdeviceptr at) { return (End){.at = at}; }

static End host_end(const void *host) { return (End){.host = (unsigned char *)(uintptr_t)host}; }

static CUresult copy_row(Call *c, CUstream stream, End to, End from, size_t bytes, bool wait) {
    return copy(c, stream, &(Box){to, from, bytes, 1, 1}, wait);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpyHtoD_v2)) return c.result;
    return driver_leave(&c, copy_row(&c, NULL, device_end(to), host_end(from), bytes, true));
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpyDtoH_v2)) return c.result;
    return driver_leave(&c, copy_row(&c, NULL, host_end(to), device_end(from), bytes, true));
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpyDtoD_v2)) return c.result;
    return driver_leave(&c, copy_row(&c, NULL, device_end(to), device_end(from), bytes, false));
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpyHtoDAsync_v2)) return c.result;
    return driver_leave(&c, copy_row(&c, stream, device_end(to), host_end(from), bytes, false));
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpyDtoHAsync_v2)) return c.result;
    return driver_leave(&c, copy_row(&c, stream, host_end(to), device_end(from), bytes, false));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpyDtoDAsync_v2)) return c.result;
    return driver_leave(&c, copy_row(&c, stream, device_end(to), device_end(from), bytes, false));
}

/* ---- addresses that say by themselves where they lie ---- */

static End any_end(Call *c, CUdeviceptr at) {
    return memory_gpu(c->driver, at, 1) ? device_end(at) : host_end((void *)(uintptr_t)at);
}

static CUresult copy_any(Call *c, CUstream stream, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                         bool wait) {
    return copy_row(c, stream, any_end(c, to), any_end(c, from), bytes, wait);
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpy)) return c.result;
    return driver_leave(&c, copy_any(&c, NULL, to, from, bytes, true));
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpyAsync)) return c.result;
    return driver_leave(&c, copy_any(&c, stream, to, from, bytes, false));
}

static bool contexts(Call *c, CUcontext one, CUcontext other) {
    return GET(c, Context, one, KIND_CONTEXT) && GET(c, Context, other, KIND_CONTEXT);
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from, CUcontext from_ctx,
                      size_t bytes) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpyPeer)) return c.result;
    if (!contexts(&c, to_ctx, from_ctx)) return driver_leave(&c, CUDA_ERROR_INVALID_CONTEXT);
    return driver_leave(&c, copy_row(&c, NULL, device_end(to), device_end(from), bytes, false));
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from, CUcontext from_ctx,
                           size_t bytes, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpyPeerAsync)) return c.result;
    if (!contexts(&c, to_ctx, from_ctx)) return driver_leave(&c, CUDA_ERROR_INVALID_CONTEXT);
    return driver_leave(&c, copy_row(&c, stream, device_end(to), device_end(from), bytes, false));
}

/* ---- boxes as calls describe them ---- */

typedef struct {
    int type;
    CUdeviceptr device;
    const void *host;
    size_t x, y, z, pitch, height;
} Side;

/* The first byte of the box; false for arrays, which there are none of.  */
static bool side_end(Call *c, const Side *s, End *out) {
    size_t slice = s->pitch * s->height, offset = s->z * slice + s->y * s->pitch + s->x;
    if (s->type == CU_MEMORYTYPE_HOST) *out = host_end(s->host);
    else if (s->type == CU_MEMORYTYPE_DEVICE) *out = device_end(s->device);
    else if (s->type == CU_MEMORYTYPE_UNIFIED) *out = any_end(c, s->device);
    else return false;
    if (is_host(out)) out->host += offset;
    else out->at += offset;
    out->pitch = s->pitch;
    out->slice = slice;
    return true;
}

static CUresult read_box(Call *c, const CUDA_MEMCPY3D *k, Box *out) {
    if (!k) return CUDA_ERROR_INVALID_VALUE;
    Side to = {k->dstMemoryType, k->dstDevice, k->dstHost, k->dstXInBytes, k->dstY, k->dstZ,
               k->dstPitch ? k->dstPitch : k->WidthInBytes + k->dstXInBytes,
               k->dstHeight ? k->dstHeight : k->Height + k->dstY};
    Side from = {k->srcMemoryType, k->srcDevice, k->srcHost, k->srcXInBytes, k->srcY, k->srcZ,
                 k->srcPitch ? k->srcPitch : k->WidthInBytes + k->srcXInBytes,
                 k->srcHeight ? k->srcHeight : k->Height + k->srcY};
    *out = (Box){.width = k->WidthInBytes, .height = k->Height, .depth = k->Depth};
    if (to.type == CU_MEMORYTYPE_ARRAY || from.type == CU_MEMORYTYPE_ARRAY) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    bool known = side_end(c, &to, &out->to) && side_end(c, &from, &out->from);
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult work_of_box(Call *c, const CUDA_MEMCPY3D *k, Work **out) {
    Box b;
    CUresult r = read_box(c, k, &b);
    return r == CUDA_SUCCESS ? work_of_copy(c, &b, out) : r;
}

static CUresult copy_box(Call *c, CUstream stream, const CUDA_MEMCPY3D *k, bool wait) {
    Box b;
    CUresult r = read_box(c, k, &b);
    return r == CUDA_SUCCESS ? copy(c, stream, &b, wait) : r;
}

static CUresult copy_plane(Call *c, CUstream stream, const CUDA_MEMCPY2D *k, bool wait) {
    if (!k) return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D box = {
        .srcXInBytes = k->srcXInBytes, .srcY = k->srcY, .srcMemoryType = k->srcMemoryType,
        .srcHost = k->srcHost, .srcDevice = k->srcDevice, .srcPitch = k->srcPitch,
        .dstXInBytes = k->dstXInBytes, .dstY = k->dstY, .dstMemoryType = k->dstMemoryType,
        .dstHost = k->dstHost, .dstDevice = k->dstDevice, .dstPitch = k->dstPitch,
        .WidthInBytes = k->WidthInBytes, .Height = k->Height, .Depth = 1,
    };
    return copy_box(c, stream, &box, wait);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *plane) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpy2D_v2)) return c.result;
    return driver_leave(&c, copy_plane(&c, NULL, plane, true));
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *plane) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpy2DUnaligned_v2)) return c.result;
    return driver_leave(&c, copy_plane(&c, NULL, plane, true));
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *plane, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpy2DAsync_v2)) return c.result;
    return driver_leave(&c, copy_plane(&c, stream, plane, false));
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *box) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpy3D_v2)) return c.result;
    return driver_leave(&c, copy_box(&c, NULL, box, true));
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *box, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemcpy3DAsync_v2)) return c.result;
    return driver_leave(&c, copy_box(&c, stream, box, false));
}
