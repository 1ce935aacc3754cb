/* Emptying the L2 cache.  */
#include "hal/cuda_api.h"

extern const char cuda_flush_ptx[];       /* flush.ptx */

Status cuda_flush_create(CudaContext *x, Arena *a, Diag *d, bool reads, CudaFlush *out) {
    enum { UNKNOWN_L2 = 64 << 20 };
    int l2 = x->info.attribute[CUDA_ATTR_L2_BYTES];
    CudaModule *module;
    *out = (CudaFlush){.bytes = 2 * (size_t)(l2 > 0 ? l2 : UNKNOWN_L2)};
    Status s = cuda_alloc(x, a, d, out->bytes, &out->written);
    if (s || !reads) return s;
    CudaKernel *reader = ARENA_NEW(a, CudaKernel);
    s = cuda_alloc(x, a, d, out->bytes, &out->read);
    if (!s) s = cuda_load(x, a, d, &(CudaImage){.ptx = cuda_flush_ptx}, &module);
    if (!s) s = cuda_kernel(module, d, "roller_flush", reader);
    if (!s) out->reader = reader;
    return s;
}

Status cuda_flush(CudaContext *x, Diag *d, CudaStream s, CudaFlush *f) {
    enum { THREADS = 64, BLOCKS_PER_SM = 16, VECTOR = 16 };
    Status st = cuda_fill(x, d, s, f->written, f->value++, f->bytes);
    if (st || !f->reader) return st;
    uint32_t n = (uint32_t)(f->bytes / VECTOR);
    CudaLaunch l = {.grid = {BLOCKS_PER_SM * x->info.attribute[CUDA_ATTR_SM_COUNT], 1, 1},
                    .block = {THREADS, 1, 1}};
    return cuda_launch(f->reader, d, &l, (void *[]){&f->read, &n}, s);
}
