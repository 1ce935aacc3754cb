/* Fills of device memory, of rows of elements or of planes of them.  */
#include "simdriver/work.h"

#include <string.h>

CUresult work_of_fill(Call *c, const Box *b, Pattern p, Work **out) {
    int element = p.bytes;
    size_t span = box_span(b, &b->to);
    bool valid = span && b->to.at % (unsigned)element == 0 &&
                 (b->height == 1 || b->to.pitch % (unsigned)element == 0) &&
                 memory_gpu(c->driver, b->to.at, span);
    if (!valid) return CUDA_ERROR_INVALID_VALUE;
    Work *w = work_new(WORK_FILL);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->box = *b;
    w->element = element;
    memcpy(w->pattern, p.value, (size_t)element);
    *out = w;
    return CUDA_SUCCESS;
}

/* `width` elements in each of `height` rows.  */
static CUresult fill(Call *c, CUstream stream, End to, Pattern p, size_t width, size_t height) {
    Work *w;
    Stream *s = stream_get(c, stream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (!width || !height) return CUDA_SUCCESS;
    if (width > SIZE_MAX / (size_t)p.bytes) return CUDA_ERROR_INVALID_VALUE;
    Box b = {.to = to, .width = width * (size_t)p.bytes, .height = height, .depth = 1};
    CUresult r = work_of_fill(c, &b, p, &w);
    return r == CUDA_SUCCESS ? work_submit(c->driver, s, w) : r;
}

static End row(CUdeviceptr at) { return (End){.at = at}; }

static End rows(CUdeviceptr at, size_t pitch) { return (End){.at = at, .pitch = pitch}; }

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n) {
    Call c;
    if (!driver_enter(&c, FN_cuMemsetD8_v2)) return c.result;
    return driver_leave(&c, fill(&c, NULL, row(to), (Pattern){&value, 1}, n, 1));
}

CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t n) {
    Call c;
    if (!driver_enter(&c, FN_cuMemsetD16_v2)) return c.result;
    return driver_leave(&c, fill(&c, NULL, row(to), (Pattern){&value, 2}, n, 1));
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t n) {
    Call c;
    if (!driver_enter(&c, FN_cuMemsetD32_v2)) return c.result;
    return driver_leave(&c, fill(&c, NULL, row(to), (Pattern){&value, 4}, n, 1));
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemsetD8Async)) return c.result;
    return driver_leave(&c, fill(&c, stream, row(to), (Pattern){&value, 1}, n, 1));
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t n, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemsetD16Async)) return c.result;
    return driver_leave(&c, fill(&c, stream, row(to), (Pattern){&value, 2}, n, 1));
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemsetD32Async)) return c.result;
    return driver_leave(&c, fill(&c, stream, row(to), (Pattern){&value, 4}, n, 1));
}

CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                         size_t height) {
    Call c;
    if (!driver_enter(&c, FN_cuMemsetD2D8_v2)) return c.result;
    return driver_leave(&c, fill(&c, NULL, rows(to, pitch), (Pattern){&value, 1}, width, height));
}

CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                         size_t height) {
    Call c;
    if (!driver_enter(&c, FN_cuMemsetD2D16_v2)) return c.result;
    return driver_leave(&c, fill(&c, NULL, rows(to, pitch), (Pattern){&value, 2}, width, height));
}

CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value, size_t width,
                         size_t height) {
    Call c;
    if (!driver_enter(&c, FN_cuMemsetD2D32_v2)) return c.result;
    return driver_leave(&c, fill(&c, NULL, rows(to, pitch), (Pattern){&value, 4}, width, height));
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                         size_t height, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemsetD2D8Async)) return c.result;
    return driver_leave(&c, fill(&c, stream, rows(to, pitch), (Pattern){&value, 1}, width, height));
}

CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                         size_t height, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemsetD2D16Async)) return c.result;
    return driver_leave(&c, fill(&c, stream, rows(to, pitch), (Pattern){&value, 2}, width, height));
}

CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width,
                         size_t height, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuMemsetD2D32Async)) return c.result;
    return driver_leave(&c, fill(&c, stream, rows(to, pitch), (Pattern){&value, 4}, width, height));
}
