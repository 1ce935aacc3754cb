/* Movers of threads and warps: loads, stores, asynchronous copies, atomics, matrices of shared
 * memory.
 *
 * One SM moves what L2 holds and L1 does not.  A move is up to three statements: GET fills the
 * words of v or starts a copy, PUT takes them away, SETTLE waits for what was started.  A barrier
 * of the warp keeps the moves of a burst between the clocks: compilers put loads behind them.  */
#include "profiler/mover.h"
#include "profiler/unit.h"

#include <string.h>

enum { STAGES = 2 };

static const char source[] =
    "struct Words { unsigned w[WORDS]; };\n"
    /* Waits for the last words; all could be needed.  */
    "template <int N> __device__ __forceinline__ void\n"
    "keep(const Words *v, unsigned *out, unsigned never) {\n"
    "    if (v[N - 1].w[0] != never) return;\n"
    "    for (int k = 0; k < N * WORDS; k++) out[k] = v[k / WORDS].w[k % WORDS];\n"
    "}\n"
    "enum { STAGE = STEPS * THREADS * SPAN };\n"
    "__device__ __forceinline__ unsigned begin(unsigned char *shared, int bytes) {\n"
    "    fill(shared, bytes);\n"
    "    __syncthreads();\n"
    "    return (unsigned)__cvta_generic_to_shared(shared) + threadIdx.x * SPAN;\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(THREADS)\n"
    "rate(const unsigned *in, unsigned *out, u64 *clocks, int n, unsigned never) {\n"
    "    extern __shared__ __align__(16) unsigned char shared[];\n"
    "    const unsigned base = begin(shared, STAGES * STAGE);\n"
    "    const u64 from = (u64)in + threadIdx.x * WIDTH, to = (u64)out + threadIdx.x * WIDTH;\n"
    "    Words v[STEPS];\n"
    "    for (int k = 0; k < STEPS; k++) {\n"
    "        for (int w = 0; w < WORDS; w++) v[k].w[w] = in[threadIdx.x + 32 * (WORDS * k + w)];\n"
    "    }\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        const u64 at = (u64)i * (STEPS * THREADS * WIDTH) % REGION;\n"
    "        const unsigned stage = base + i % STAGES * STAGE;\n"
    "        #pragma unroll\n"
    "        for (int k = 0; k < STEPS; k++) {\n"
    "            const u64 g = from + at + k * (THREADS * WIDTH);\n"
    "            const unsigned s = stage + k * (THREADS * SPAN);\n"
    "            GET;\n"
    "        }\n"
    "        #pragma unroll\n"
    "        for (int k = 0; k < STEPS; k++) {\n"
    "            const u64 g = to + at + k * (THREADS * WIDTH);\n"
    "            const unsigned s = stage + k * (THREADS * SPAN);\n"
    "            PUT;\n"
    "        }\n"
    "        SETTLE(STAGES - 1);\n"
    "        keep<STEPS>(v, out, never);\n"
    "    }\n"
    "    SETTLE(0);\n"
    "    __syncthreads();\n"
    "    if (SPAN && *(unsigned *)shared == never) out[threadIdx.x] = never;\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(32)\n"
    "burst(const unsigned *in, unsigned *out, u64 *clocks, int n, unsigned never) {\n"
    "    extern __shared__ __align__(16) unsigned char shared[];\n"
    "    const unsigned base = begin(shared, PLACES * 32 * SPAN);\n"
    "    const u64 from = (u64)in + threadIdx.x * WIDTH, to = (u64)out + threadIdx.x * WIDTH;\n"
    "    Words v[BURST];\n"
    "    u64 sum = 0, source[BURST], target[BURST];\n"
    "    unsigned place[BURST];\n"
    "    for (int k = 0; k < BURST; k++) {\n"
    "        source[k] = ready(from + k * (32 * WIDTH));\n"
    "        target[k] = ready(to + k * (32 * WIDTH));\n"
    "        place[k] = ready(base + k % PLACES * (32 * SPAN));\n"
    "    }\n"
    "    for (int k = 0; k < BURST; k++) {\n"
    "        for (int w = 0; w < WORDS; w++) v[k].w[w] = in[threadIdx.x + 32 * (WORDS * k + w)];\n"
    "    }\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        const u64 begin = (u64)clock64();\n"
    "        __syncwarp();\n"
    "        #pragma unroll\n"
    "        for (int k = 0; k < BURST; k++) {\n"
    "            const u64 g = source[k];\n"
    "            const unsigned s = place[k];\n"
    "            GET;\n"
    "        }\n"
    "        #pragma unroll\n"
    "        for (int k = 0; k < BURST; k++) {\n"
    "            const u64 g = target[k];\n"
    "            const unsigned s = place[k];\n"
    "            PUT;\n"
    "        }\n"
    "        __syncwarp();\n"
    "        sum += (u64)clock64() - begin;\n"
    "        SETTLE(0);\n"
    "        QUIET;\n"
    "        keep<BURST>(v, out, never);\n"
    "    }\n"
    "    if (threadIdx.x == 0) clocks[0] += sum;\n"
    "}\n";

/* ---- statements ---- */
typedef struct {
    const char *get, *put, *settle, *quiet;
    int width, span;          /* bytes of a thread in global and in shared memory */
} Move;

#define NOTHING "(void)(g + s)"
#define SETTLED "(void)0"
#define FENCE   "__threadfence()"
#define WORDS_OUT "\"=r\"(v[k].w[0]), \"=r\"(v[k].w[1]), \"=r\"(v[k].w[2]), \"=r\"(v[k].w[3])"
#define WORDS_IN  "\"r\"(v[k].w[0]), \"r\"(v[k].w[1]), \"r\"(v[k].w[2]), \"r\"(v[k].w[3])"

/* An access of `width` bytes: opcode, space, address operand.  */
static const char *load_text(Arena *a, int width) {
    switch (width) {
    case 8:
        return "asm volatile(\"ld.global.v2.u32 {%0, %1}, [%2];\" : \"=r\"(v[k].w[0]), "
               "\"=r\"(v[k].w[1]) : \"l\"(g))";
    case 16:
        return "asm volatile(\"ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\" : " WORDS_OUT
               " : \"l\"(g))";
    default:
        return arena_printf(a, "asm volatile(\"ld.global.u%d %%0, [%%1];\" : \"=r\"(v[k].w[0]) : "
                            "\"l\"(g))", 8 * width);
    }
}

static const char *store_text(Arena *a, const char *space, const char *at, int width) {
    switch (width) {
    case 8:
        return arena_printf(a, "asm volatile(\"st.%s.v2.u32 [%%0], {%%1, %%2};\" :: %s, "
                            "\"r\"(v[k].w[0]), \"r\"(v[k].w[1]) : \"memory\")", space, at);
    case 16:
        return arena_printf(a, "asm volatile(\"st.%s.v4.u32 [%%0], {%%1, %%2, %%3, %%4};\" :: %s, "
                            WORDS_IN " : \"memory\")", space, at);
    default:
        return arena_printf(a, "asm volatile(\"st.%s.u%d [%%0], %%1;\" :: %s, \"r\"(v[k].w[0]) : "
                            "\"memory\")", space, 8 * width, at);
    }
}

static const char *copy_text(Arena *a, int width) {
    return arena_printf(a, "asm volatile(\"cp.async.%s.shared.global [%%0], [%%1], %d;\" :: "
                        "\"r\"(s), \"l\"(g) : \"memory\")", width == 16 ? "cg" : "ca", width);
}

/* The width in a name behind its last point; 0: it is another mover's name.  */
static int width_of(const char *name, const char *kind, int unit) {
    size_t len = strlen(kind);
    if (strncmp(name, kind, len)) return 0;
    int v = 0;
    for (const char *c = name + len; *c; c++) {
        if (*c < '0' || *c > '9' || v > 1000) return 0;
        v = 10 * v + *c - '0';
    }
    int width = v / unit;
    return width == 1 || width == 2 || width == 4 || width == 8 || width == 16 ? width : 0;
}

/* How a mover of the profile moves; false for those of other rows.  */
static bool move_of(Arena *a, const char *name, Move *m) {
    int w;
    *m = (Move){NOTHING, NOTHING, SETTLED, SETTLED, 0, 0};
    if ((w = width_of(name, "ldg.", 8)) > 0) {
        m->get = load_text(a, w);
    } else if ((w = width_of(name, "stg.", 8)) > 0) {
        m->put = store_text(a, "global", "\"l\"(g)", w);
        m->quiet = FENCE;
    } else if ((w = width_of(name, "ldg_sts.", 1)) > 0) {
        m->get = load_text(a, w);
        m->put = store_text(a, "shared", "\"r\"(s)", w);
    } else if ((w = width_of(name, "cp.async.", 1)) > 0) {
        m->get = copy_text(a, w);
        m->settle = "asm volatile(\"cp.async.commit_group; cp.async.wait_group %0;\" :: "
                    "\"n\"(pending) : \"memory\")";
    } else if (!strcmp(name, "red")) {
        w = 4;
        m->put = "asm volatile(\"red.global.add.f32 [%0], %1;\" :: \"l\"(g), "
                 "\"f\"(__uint_as_float(v[k].w[0])) : \"memory\")";
        m->quiet = FENCE;
    } else if (!strcmp(name, "atom")) {
        w = 4;
        m->put = "asm volatile(\"atom.global.add.u32 %0, [%1], %2;\" : \"=r\"(v[k].w[0]) : "
                 "\"l\"(g), \"r\"(k + 1) : \"memory\")";
        m->quiet = FENCE;
    } else if (!strcmp(name, "ldmatrix")) {
        w = 16;
        m->get = "asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\""
                 " : " WORDS_OUT " : \"r\"(s))";
    } else if (!strcmp(name, "stmatrix")) {
        w = 16;
        m->put = "asm volatile(\"stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};\""
                 " :: \"r\"(s), " WORDS_IN " : \"memory\")";
    }
    m->width = w;
    if (strstr(m->get, "shared") || strstr(m->put, "shared")) m->span = w;
    return w > 0;
}

/* How much a block moves at once: enough under way, as far as threads and shared memory go.  */
typedef struct {
    int threads, steps, places;           /* of the burst's moves in shared memory */
    int64_t smem;
} Size;

static Size size_of(const Bench *b, const Move *m) {
    enum { MOST_PLACES = 16 };
    int64_t most = bench_device(b)->attribute[CUDA_ATTR_SMEM_PER_BLOCK_OPTIN];
    int64_t least = bench_device(b)->attribute[CUDA_ATTR_SMEM_PER_BLOCK];
    if (most < least) most = least;
    Size s = {.threads = bench_threads(b, m->span ? 512 : 1024),
              .steps = m->width == 16 ? 4 : m->width == 8 ? 8 : 16, .places = MOST_PLACES};
    while (STAGES * s.steps * s.threads * m->span > most && s.steps > 1) s.steps /= 2;
    while (STAGES * s.steps * s.threads * m->span > most && s.threads > 32) s.threads /= 2;
    while (s.places * 32 * m->span > most && s.places > 1) s.places /= 2;
    s.smem = (int64_t)STAGES * s.steps * s.threads * m->span;
    if (s.smem < s.places * 32 * m->span) s.smem = s.places * 32 * m->span;
    return s;
}

static MoverKernel kernel(Bench *b, const Move *m) {
    Arena *a = bench_arena(b);
    size_t region = mover_region(b);
    Size size = size_of(b, m);
    return (MoverKernel){
        .source = arena_printf(a, "%s%s", unit_prelude, source),
        .macros = {arena_printf(a, "GET %s", m->get), arena_printf(a, "PUT %s", m->put),
                   arena_printf(a, "SETTLE(pending) %s", m->settle),
                   arena_printf(a, "QUIET %s", m->quiet), arena_printf(a, "WIDTH %d", m->width),
                   arena_printf(a, "SPAN %d", m->span),
                   arena_printf(a, "WORDS %d", m->width < 4 ? 1 : m->width / 4),
                   arena_printf(a, "THREADS %d", size.threads),
                   arena_printf(a, "STEPS %d", size.steps),
                   arena_printf(a, "STAGES %d", STAGES), arena_printf(a, "REGION %zuu", region),
                   arena_printf(a, "PLACES %d", size.places)},
        .threads = size.threads, .burst_threads = 32, .blocks = 1, .smem = size.smem,
        .buffer = region, .bytes = (double)size.steps * size.threads * m->width};
}

Status bench_movers(Bench *b, Device *dev) {
    MoverKernel *k = ARENA_ARRAY(bench_arena(b), MoverKernel, dev->n_mover + 1);
    Mover **mover = ARENA_ARRAY(bench_arena(b), Mover *, dev->n_mover + 1);
    int n = 0;
    for (int i = 0; i < dev->n_mover; i++) {
        Move m;
        if (!move_of(bench_arena(b), dev->mover[i].name, &m)) continue;
        mover[n] = &dev->mover[i];
        k[n] = kernel(b, &m);
        k[n++].name = dev->mover[i].name;
    }
    Status s = mover_compile(b, k, n);
    for (int i = 0; i < n && !s; i++) s = mover_measure(b, &k[i], &mover[i]->rate, &mover[i]->cost);
    return s;
}
