#include "profiler/stream.h"

static const char source[] =
    "typedef struct { unsigned x, y, z, w; } V;\n"
    "__device__ __forceinline__ V get(const V *p) {\n"
    "    V v;\n"
    "    asm volatile(\"ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];\"\n"
    "                 : \"=r\"(v.x), \"=r\"(v.y), \"=r\"(v.z), \"=r\"(v.w) : \"l\"(p));\n"
    "    return v;\n"
    "}\n"
    "__device__ __forceinline__ void put(V *p, V v) {\n"
    "    asm volatile(\"st.global.v4.u32 [%0], {%1,%2,%3,%4};\"\n"
    "                 :: \"l\"(p), \"r\"(v.x), \"r\"(v.y), \"r\"(v.z), \"r\"(v.w) : \"memory\");\n"
    "}\n"
    "#define PASSES(FIRST, BODY)                                                   \\\n"
    "    int step = blockDim.x * UNROLL;                                           \\\n"
    "    int tiles = (int)(n / step);                                              \\\n"
    "    for (int pass = 0; pass < passes; pass++) {                               \\\n"
    "        for (int t = (FIRST) % gridDim.x; t < tiles; t += gridDim.x) {        \\\n"
    "            long long at = (long long)t * step + threadIdx.x;                 \\\n"
    "            BODY                                                              \\\n"
    "        }                                                                     \\\n"
    "    }\n"
    "extern \"C\" __global__ void read(V *p, V *q, long long n, int passes, unsigned never) {\n"
    "    unsigned acc = 0;\n"
    "    PASSES(blockIdx.x + pass, V v[UNROLL];\n"
    "           _Pragma(\"unroll\") for (int u = 0; u < UNROLL; u++)\n"
    "               v[u] = get(p + at + u * blockDim.x);\n"
    "           _Pragma(\"unroll\") for (int u = 0; u < UNROLL; u++)\n"
    "               acc ^= v[u].x ^ v[u].y ^ v[u].z ^ v[u].w;)\n"
    "    if (acc == never) q->x = acc;\n"
    "}\n"
    "extern \"C\" __global__ void write(V *p, V *q, long long n, int passes, unsigned never) {\n"
    "    V v = {0x38013903u ^ threadIdx.x, 0x39053807u + blockIdx.x, 0x3b113a13u, never};\n"
    "    PASSES(blockIdx.x, _Pragma(\"unroll\") for (int u = 0; u < UNROLL; u++)\n"
    "               put(p + at + u * blockDim.x, v);)\n"
    "}\n"
    "extern \"C\" __global__ void copy(V *p, V *q, long long n, int passes, unsigned never) {\n"
    "    PASSES(blockIdx.x, V v[UNROLL];\n"
    "           _Pragma(\"unroll\") for (int u = 0; u < UNROLL; u++)\n"
    "               v[u] = get(p + at + u * blockDim.x);\n"
    "           _Pragma(\"unroll\") for (int u = 0; u < UNROLL; u++)\n"
    "               put(q + at + u * blockDim.x, v[u]);)\n"
    "}\n";

static const char *const names[] = {
#define X(id, name) name,
    STREAM_KINDS(X)
#undef X
};

Status stream_open(Bench *b, StreamKind kind, CudaAddress p, CudaAddress q, double bytes,
                   int64_t blocks, int threads, int unroll, Stream *out) {
    const char *unrolled = arena_printf(bench_arena(b), "UNROLL %d", unroll);
    long long tile = (long long)threads * unroll;
    *out = (Stream){.p = p, .q = q ? q : p, .passes = 1, .never = 0x12345678};
    out->vectors = (long long)(bytes / STREAM_VECTOR) / tile * tile;
    if (out->vectors == 0) out->vectors = tile;
    if (blocks > out->vectors / tile) blocks = out->vectors / tile;
    out->bytes = (double)out->vectors * STREAM_VECTOR * (kind == STREAM_COPY ? 2 : 1);
    out->l.launch = (CudaLaunch){.grid = {blocks, 1, 1}, .block = {threads, 1, 1}};
    void *const param[] = {&out->p, &out->q, &out->vectors, &out->passes, &out->never};
    for (size_t i = 0; i < sizeof param / sizeof *param; i++) out->l.param[i] = param[i];
    return bench_kernel(b, source, names[kind], (const char *const[]){unrolled, NULL},
                        &out->l.kernel);
}

Status stream_rate(Bench *b, Stream *s, Sample *rate) {
    Sample us;
    Status st = bench_slope(b, &s->l, &s->passes, 1, 3, &us);
    if (!st) *rate = sample_over(s->bytes, &us);
    return st;
}

/* ---- shapes ---- */
static int most_threads(const Bench *b) {
    enum { ENOUGH = 1024 };
    int block = bench_device(b)->attribute[CUDA_ATTR_THREADS_PER_BLOCK];
    return block < ENOUGH ? block : ENOUGH;
}

StreamShape stream_shape(const Bench *b, double bytes) {
    enum { WARP = 32 };
    StreamShape s = {bench_sms(b), WARP, 1};
    while (s.threads < most_threads(b) && s.threads * 1.5 * STREAM_VECTOR < bytes) s.threads *= 2;
    while (s.unroll < STREAM_MOST_UNROLL && s.threads * s.unroll * 1.5 * STREAM_VECTOR < bytes)
        s.unroll *= 2;
    return s;
}

StreamShape stream_full(const Bench *b) {
    enum { UNROLL = 4 };
    int threads = most_threads(b) / 2;
    int sm = bench_device(b)->attribute[CUDA_ATTR_THREADS_PER_SM];
    return (StreamShape){bench_sms(b) * (sm / threads), threads, UNROLL};
}
