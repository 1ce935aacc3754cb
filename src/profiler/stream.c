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
    "#define TILES(BODY)                                                           \\\n"
    "    int step = blockDim.x * UNROLL;                                           \\\n"
    "    int tiles = (int)(n / step) * units;                                      \\\n"
    "    p += n * units; q += n * units;                                           \\\n"
    "    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {                     \\\n"
    "        long long at = (long long)t * step + threadIdx.x;                     \\\n"
    "        BODY                                                                  \\\n"
    "    }\n"
    "#define LOAD V v[UNROLL];                                                     \\\n"
    "    _Pragma(\"unroll\") for (int u = 0; u < UNROLL; u++)                       \\\n"
    "        v[u] = get(p + at + u * blockDim.x);\n"
    "#define USE                                                                   \\\n"
    "    _Pragma(\"unroll\") for (int u = 0; u < UNROLL; u++)                       \\\n"
    "        acc ^= v[u].x ^ v[u].y ^ v[u].z ^ v[u].w;\n"
    "#define ARGS V *p, V *q, long long n, int units, unsigned never\n"
    "extern \"C\" __global__ void __launch_bounds__(1024) read(ARGS) {\n"
    "    unsigned acc = 0;\n"
    "    TILES(LOAD USE)\n"
    "    if (acc == never) q->x = acc;\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(1024) write(ARGS) {\n"
    "    V v = {0x38013903u ^ threadIdx.x, 0x39053807u + blockIdx.x, 0x3b113a13u, never};\n"
    "    TILES(_Pragma(\"unroll\") for (int u = 0; u < UNROLL; u++)\n"
    "              put(p + at + u * blockDim.x, v);)\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(1024) copy(ARGS) {\n"
    "    TILES(LOAD _Pragma(\"unroll\") for (int u = 0; u < UNROLL; u++)\n"
    "              put(q + at + u * blockDim.x, v[u]);)\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(1024) reread(ARGS) {\n"
    "    int step = blockDim.x * UNROLL, tiles = (int)(n / step), t = blockIdx.x % tiles;\n"
    "    unsigned acc = 0;\n"
    "    for (int i = 0; i < units; i++) {\n"
    "        long long at = (long long)t * step + threadIdx.x;\n"
    "        LOAD USE\n"
    "        t += gridDim.x % tiles + 1;\n"
    "        while (t >= tiles) t -= tiles;\n"
    "    }\n"
    "    if (acc == never) q->x = acc;\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(1024) rewrite(ARGS) {\n"
    "    int step = blockDim.x * UNROLL, tiles = (int)(n / step), t = blockIdx.x;\n"
    "    V v = {0x38013903u ^ threadIdx.x, 0x39053807u + blockIdx.x, 0x3b113a13u, never};\n"
    "    for (int i = 0; i < units; i++) {\n"
    "        long long at = (long long)t * step + threadIdx.x;\n"
    "        _Pragma(\"unroll\") for (int u = 0; u < UNROLL; u++)\n"
    "            put(p + at + u * blockDim.x, v);\n"
    "        t += gridDim.x;\n"
    "        if (t >= tiles) t -= tiles / gridDim.x * gridDim.x;\n"
    "    }\n"
    "}\n";

static const char *const names[] = {
#define X(id, name) name,
    STREAM_KINDS(X)
#undef X
};

/* Whole tiles, and as many for each block if they are to be even and there are enough of them.  */
static long long in_tiles(double bytes, long long tile, int64_t blocks, bool even) {
    long long tiles = (long long)(bytes / STREAM_VECTOR) / tile;
    if (even && tiles > blocks) tiles -= tiles % blocks;
    return tiles ? tiles * tile : tile;
}

/* Blocks that wait for others to end would leave SMs idle at the end.  */
static Status resident(Bench *b, const CudaKernel *k, const StreamShape *shape, int64_t *blocks) {
    int64_t most;
    Status s = bench_resident(b, k, shape->threads, 0, &most);
    *blocks = s || shape->blocks < most ? shape->blocks : most;
    return s;
}

Status stream_compile(Bench *b) {
    static const char *const one[] = {"UNROLL 1", NULL}, *const two[] = {"UNROLL 2", NULL};
    static const char *const four[] = {"UNROLL 4", NULL};
    const BenchSource all[] = {{source, one}, {source, two}, {source, four}};
    return bench_compile(b, all, (int)(sizeof all / sizeof *all));
}

Status stream_open(Bench *b, StreamKind kind, StreamMemory memory, const StreamShape *shape,
                   Stream *out) {
    const char *unrolled = arena_printf(bench_arena(b), "UNROLL %d", shape->unroll);
    long long tile = (long long)shape->threads * shape->unroll;
    bool shared = kind == STREAM_REREAD;
    int64_t blocks;
    *out = (Stream){
        .p = memory.p, .q = memory.q ? memory.q : memory.p, .units = 1, .never = 0x12345678};
    Status s = bench_kernel(b, source, names[kind], (const char *const[]){unrolled, NULL},
                            &out->l.kernel);
    if (!s) s = resident(b, &out->l.kernel, shape, &blocks);
    if (s) return s;
    out->vectors = in_tiles(memory.bytes, tile, blocks, !shared && !shape->uneven);
    int64_t tiles = out->vectors / tile;
    if (!shared && blocks > tiles) blocks = tiles;
    out->again = shared || kind == STREAM_REWRITE;
    out->bytes = (double)out->vectors * STREAM_VECTOR;
    out->moved = kind == STREAM_COPY ? 2 * out->bytes
                 : out->again ? (double)blocks * (double)tile * STREAM_VECTOR : out->bytes;
    out->l.launch = (CudaLaunch){.grid = {blocks, 1, 1}, .block = {shape->threads, 1, 1}};
    void *const param[] = {&out->p, &out->q, &out->vectors, &out->units, &out->never};
    for (size_t i = 0; i < sizeof param / sizeof *param; i++) out->l.param[i] = param[i];
    return ST_OK;
}

/* The simulator tells apart what comes again in 128ths of a warp's instructions: the longest
 * launch, of 4 times as many turns as the shortest, gets 32 where a turn touches all there is.  */
Status stream_rate(Bench *b, Stream *s, Sample *rate) {
    enum { FEW = 16, SIMULATED = 8 };
    int least = bench_simulated(b) ? SIMULATED : FEW;
    int all = 2 * (int)(s->bytes / s->moved), few = all > least ? all : least;
    Sample us;
    Status st = s->again ? bench_slope(b, &s->l, &s->units, few, 4 * few, &us)
                         : bench_difference(b, &s->l, &s->units, 1, 3, &us);
    if (!st) *rate = sample_over(s->moved, &us);
    return st;
}

/* ---- shapes ---- */
enum { MOST_THREADS = 1024 };

StreamShape stream_shape(const Bench *b, double bytes) {
    StreamShape s = {.blocks = bench_sms(b), .threads = WARP, .unroll = 1};
    int most = bench_threads(b, MOST_THREADS);
    while (s.threads < most && s.threads * 1.5 * STREAM_VECTOR < bytes) s.threads *= 2;
    while (s.unroll < STREAM_MOST_UNROLL && s.threads * s.unroll * 1.5 * STREAM_VECTOR < bytes)
        s.unroll *= 2;
    return s;
}

StreamShape stream_full(const Bench *b) {
    enum { UNROLL = 4 };
    int threads = bench_threads(b, MOST_THREADS) / 2;
    int blocks = bench_device(b)->attribute[CUDA_ATTR_THREADS_PER_SM] / threads;
    if (bench_simulated(b)) blocks = 1;
    return (StreamShape){.blocks = bench_sms(b) * blocks, .threads = threads, .unroll = UNROLL};
}

void stream_refine(StreamShape *s, double bytes) {
    enum { LEAST = 64, TILES = 64 };
    while (s->threads > LEAST && bytes / (s->threads * s->unroll * STREAM_VECTOR) < TILES) {
        s->threads /= 2;
        s->blocks *= 2;
    }
}
