/* Buffers of data that no unit or memory finds easy.  */
#include "profiler/harness.h"

/* Every 16-bit half is sign, exponent 0111 0xx, fraction: as f16 0.5 to 1, as bf16, f32 and f64
 * small and normal; every byte as f8 and as an integer small; the low byte never 0.  */
static const char fill_source[] =
    "extern \"C\" __global__ void fill(uint4 *p, long long n, unsigned seed) {\n"
    "    long long step = (long long)gridDim.x * blockDim.x;\n"
    "    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {\n"
    "        unsigned h = ((unsigned)i ^ seed) * 2654435761u + (unsigned)(i >> 32);\n"
    "        unsigned v[4];\n"
    "        for (int k = 0; k < 4; k++) {\n"
    "            h ^= h >> 15; h *= 0x2c1b3c6du; h ^= h >> 12;\n"
    "            v[k] = (h & 0x83778377u) | 0x38013801u;\n"
    "        }\n"
    "        p[i] = make_uint4(v[0], v[1], v[2], v[3]);\n"
    "    }\n"
    "}\n";

Status bench_buffer(Bench *b, size_t bytes, CudaAddress *out) {
    enum { THREADS = 64, VECTOR = 16, BLOCKS_PER_SM = 32, SMALL_BYTE = 0x39 };
    CudaKernel k;
    size_t available;
    long long n = (long long)((bytes + VECTOR - 1) / VECTOR);
    unsigned seed = (unsigned)(b->o->seed * 0x9e3779b9u) + (unsigned)++b->filled;
    Status s = cuda_memory_free(b->x, b->d, &available);
    if (!s && available < (size_t)n * VECTOR) {
        diag_error(b->d, ST_CUDA, NULL, DIAG_NOWHERE,
                   "the measurement needs %.0f MB of device memory, %.0f MB are free",
                   (double)bytes * 1e-6, (double)available * 1e-6);
        diag_hint(b->d, "end what else uses the device");
        return ST_CUDA;
    }
    if (!s) s = cuda_alloc(b->x, b->row, b->d, (size_t)n * VECTOR, out);
    /* A simulated device's times do not depend on the data.  */
    if (!s && b->simulated)
        return cuda_fill(b->x, b->d, b->stream, *out, SMALL_BYTE, (size_t)n * VECTOR);
    if (!s) s = bench_kernel(b, fill_source, "fill", NULL, &k);
    if (s) return s;
    int64_t blocks = (n + THREADS - 1) / THREADS, most = bench_sms(b) * BLOCKS_PER_SM;
    CudaLaunch l = {.grid = {blocks < most ? blocks : most, 1, 1}, .block = {THREADS, 1, 1}};
    void *param[] = {out, &n, &seed};
    s = cuda_launch(&k, b->d, &l, param, b->stream);
    return s ? s : cuda_stream_wait(b->x, b->d, b->stream);
}
