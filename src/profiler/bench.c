/* Surroundings of the rows, and data.  */
#include "base/clock.h"
#include "profiler/harness.h"

enum { LIKELY_L2 = 64 << 20, LIKELY_KHZ = 1500000 };

Arena *bench_arena(Bench *b) { return b->row; }
Arena *bench_result(Bench *b) { return b->result; }
Diag *bench_diag(Bench *b) { return b->d; }
CudaContext *bench_context(Bench *b) { return b->x; }
bool bench_quick(const Bench *b) { return b->o->quick; }
const CudaDeviceInfo *bench_device(const Bench *b) { return b->info; }
bool bench_simulated(const Bench *b) { return b->simulated; }
int64_t bench_sms(const Bench *b) { return b->info->attribute[CUDA_ATTR_SM_COUNT]; }

int bench_threads(const Bench *b, int most) {
    int limit = b->info->attribute[CUDA_ATTR_THREADS_PER_BLOCK];
    return limit < most ? limit : most;
}

int64_t bench_l2_bytes(const Bench *b) {
    int bytes = b->info->attribute[CUDA_ATTR_L2_BYTES];
    return bytes > 0 ? bytes : LIKELY_L2;
}

double bench_hz(const Bench *b) { return b->hz; }
double bench_light_hz(const Bench *b) { return b->light_hz; }

Status bench_open(Bench *b) {
    b->info = cuda_context_device(b->x);
    b->simulated = cuda_simulated(cuda_context_driver(b->x));
    int khz = b->info->attribute[CUDA_ATTR_CLOCK_KHZ];
    b->hz = b->light_hz = (khz > 0 ? khz : LIKELY_KHZ) * 1e3;
    Status s = cuda_stream(b->x, b->work, b->d, &b->stream);
    if (!s) s = cuda_event(b->x, b->work, b->d, &b->begin);
    if (!s) s = cuda_event(b->x, b->work, b->d, &b->end);
    return s;
}

Status bench_stopped(const Bench *b) {
    if (watch_ended(b->o->watch))
        return diag_error(b->d, ST_CANCELLED, NULL, DIAG_NOWHERE, "the measurement was cancelled");
    if (b->deadline_s > 0 && clock_now_s() > b->deadline_s)
        return diag_error(b->d, ST_CUDA, NULL, DIAG_NOWHERE, "the time for it was over");
    return ST_OK;
}

Status bench_resident(Bench *b, const CudaKernel *k, int threads, int64_t smem, int64_t *out) {
    int per_sm = 0;
    *out = 0;
    Status s = cuda_blocks_per_sm(k, b->d, threads, smem, &per_sm);
    if (s) return s;
    if (per_sm < 1)
        return diag_error(b->d, ST_CUDA, NULL, DIAG_NOWHERE,
                          "no block of %d threads and %lld bytes of shared memory fits on an SM",
                          threads, (long long)smem);
    *out = per_sm * bench_sms(b);
    return ST_OK;
}

/* ---- data ---- */
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
