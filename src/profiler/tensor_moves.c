/* What moves between Tensor Memory and registers or shared memory: tcgen05.ld, .st and .cp.
 *
 * A block of four warps, which reach all lanes, loads or stores 16 columns a time, and waits in
 * each iteration; columns are written before any is read.  Or one thread copies rows of scales to
 * all lanes and commits once an iteration, in which it waits for the commit of the last one: the
 * unit never runs dry.  The cost of a move is that of its issue.  */
#include "codegen/prelude/prelude.h"
#include "profiler/mover.h"
#include "profiler/unit.h"

#include <string.h>

enum { THREADS = 128, LANES = 32, COLUMNS = 16, CHUNK = 512, CHUNKS = 8 };

static const char steps[] =
    "enum { COLUMNS = 16, CHUNK = 512, CHUNKS = 8 };\n"
    "struct Place {\n"
    "    unsigned at, from, bar, commits;\n"
    "};\n"
    "__device__ __forceinline__ void load(unsigned *v, unsigned at) {\n"
    "    asm volatile(\"tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0, %1, %2, %3, %4, %5, %6, \"\n"
    "                 \"%7, %8, %9, %10, %11, %12, %13, %14, %15}, [%16];\"\n"
    "                 : \"=r\"(v[0]), \"=r\"(v[1]), \"=r\"(v[2]), \"=r\"(v[3]), \"=r\"(v[4]),\n"
    "                   \"=r\"(v[5]), \"=r\"(v[6]), \"=r\"(v[7]), \"=r\"(v[8]), \"=r\"(v[9]),\n"
    "                   \"=r\"(v[10]), \"=r\"(v[11]), \"=r\"(v[12]), \"=r\"(v[13]),\n"
    "                   \"=r\"(v[14]), \"=r\"(v[15]) : \"r\"(at) : \"memory\");\n"
    "}\n"
    "__device__ __forceinline__ void store(const unsigned *v, unsigned at) {\n"
    "    asm volatile(\"tcgen05.st.sync.aligned.32x32b.x16.b32 [%16], {%0, %1, %2, %3, %4, %5, \"\n"
    "                 \"%6, %7, %8, %9, %10, %11, %12, %13, %14, %15};\"\n"
    "                 :: \"r\"(v[0]), \"r\"(v[1]), \"r\"(v[2]), \"r\"(v[3]), \"r\"(v[4]),\n"
    "                   \"r\"(v[5]), \"r\"(v[6]), \"r\"(v[7]), \"r\"(v[8]), \"r\"(v[9]),\n"
    "                   \"r\"(v[10]), \"r\"(v[11]), \"r\"(v[12]), \"r\"(v[13]), \"r\"(v[14]),\n"
    "                   \"r\"(v[15]), \"r\"(at) : \"memory\");\n"
    "}\n"
    "__device__ __forceinline__ void loaded() {\n"
    "    asm volatile(\"tcgen05.wait::ld.sync.aligned;\" ::: \"memory\");\n"
    "}\n"
    "__device__ __forceinline__ void meet() {\n"
    "    rl_tcgen05_before();\n"
    "    __syncthreads();\n"
    "    rl_tcgen05_after();\n"
    "}\n"
    /* Takes all columns and writes them.  */
    "__device__ __forceinline__ Place begin(unsigned char *shared, u64 *done, unsigned *taken) {\n"
    "    const unsigned to = (unsigned)__cvta_generic_to_shared(taken);\n"
    "    Place p = {0, (unsigned)__cvta_generic_to_shared(shared),\n"
    "               (unsigned)__cvta_generic_to_shared(done), 0};\n"
    "    unsigned v[COLUMNS];\n"
    "    fill(shared, CHUNK * CHUNKS);\n"
    "    for (int i = 0; i < COLUMNS; i++) v[i] = ready(threadIdx.x + i);\n"
    "    if (threadIdx.x == 0) rl_barrier_init(p.bar, 1);\n"
    "    if (threadIdx.x < 32) rl_tcgen05_take<512>(to);\n"
    "    rl_fence_proxy();\n"
    "    meet();\n"
    "    p.at = rl_tcgen05_find(to);\n"
    "    for (int c = 0; c < 512; c += COLUMNS) store(v, p.at + (threadIdx.x / 32 << 21) + c);\n"
    "    rl_tcgen05_stored();\n"
    "    meet();\n"
    "    return p;\n"
    "}\n"
    "__device__ __forceinline__ void told(const Place &p) {\n"
    "    if (p.commits > 0) rl_barrier_wait(p.bar, p.commits - 1 & 1);\n"
    "}\n"
    "__device__ __forceinline__ void copied(Place &p) {\n"
    "    told(p);\n"
    "    rl_tcgen05_commit(p.bar);\n"
    "    p.commits++;\n"
    "}\n"
    "__device__ __forceinline__ void end(const Place &p) {\n"
    "    told(p);\n"
    "    __syncwarp();\n"
    "    meet();\n"
    "    if (threadIdx.x < 32) rl_tcgen05_free<512>(p.at);\n"
    "}\n";

/* A thread's words of K moves of 16 columns; results that could be needed.  */
static const char kernels[] =
    "#define OPEN(K)                                                                       \\\n"
    "    extern __shared__ __align__(16) unsigned char shared[];                           \\\n"
    "    __shared__ u64 done;                                                              \\\n"
    "    __shared__ unsigned taken;                                                        \\\n"
    "    Place p = begin(shared, &done, &taken);                                           \\\n"
    "    const unsigned own = p.at + (threadIdx.x / 32 << 21);                             \\\n"
    "    unsigned v[(K) * COLUMNS];                                                          \\\n"
    "    for (int k = 0; k < (K) * COLUMNS; k++) v[k] = in[(threadIdx.x + k) % 4096]\n"
    "#define KEEP(K)                                                                       \\\n"
    "    if (v[(K) * COLUMNS - 1] == never)                                                  \\\n"
    "        for (int k = 0; k < (K) * COLUMNS; k++) out[k] = v[k]\n"
    "extern \"C\" __global__ void __launch_bounds__(128, 1)\n"
    "rate(const unsigned *in, unsigned *out, u64 *clocks, int n, unsigned never) {\n"
    "    OPEN(WORDS);\n"
    "    if (ALL || (threadIdx.x < 32 && rl_elect())) {\n"
    "        #pragma unroll 1\n"
    "        for (int i = 0; i < n; i++) {\n"
    "            #pragma unroll\n"
    "            for (int k = 0; k < STEPS; k++) MOVE;\n"
    "            SETTLE;\n"
    "            KEEP(WORDS);\n"
    "        }\n"
    "    }\n"
    "    end(p);\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(128, 1)\n"
    "burst(const unsigned *in, unsigned *out, u64 *clocks, int n, unsigned never) {\n"
    "    OPEN(ALL ? BURST : 1);\n"
    "    u64 sum = 0;\n"
    "    if (threadIdx.x < 32 && (ALL || rl_elect())) {\n"
    "        #pragma unroll 1\n"
    "        for (int i = 0; i < n; i++) {\n"
    "            const u64 from = (u64)clock64();\n"
    "            #pragma unroll\n"
    "            for (int k = 0; k < BURST; k++) MOVE;\n"
    "            sum += (u64)clock64() - from;\n"
    "            SETTLE;\n"
    "            KEEP(ALL ? BURST : 1);\n"
    "        }\n"
    "        if (sum) clocks[0] += sum;\n"
    "    }\n"
    "    end(p);\n"
    "}\n";

typedef struct {
    const char *name, *move, *settle;
    bool all;                 /* threads; else one of them */
    int steps, bytes;         /* of an iteration; of a move of a warp, or of that thread */
} Move;

static const Move moves[] = {
    {"tcgen05.ld", "load(v + COLUMNS * k, own + COLUMNS * k)", "loaded()", true, 8,
     4 * LANES * COLUMNS},
    {"tcgen05.st", "store(v + COLUMNS * k, own + COLUMNS * k)", "rl_tcgen05_stored()", true, 8,
     4 * LANES * COLUMNS},
    {"tcgen05.cp", "rl_tcgen05_copy_scales(p.at + 4 * k, p.from + CHUNK * (k % CHUNKS))",
     "copied(p)", false, 64, CHUNK},
};
enum { MOVES = sizeof moves / sizeof *moves };

static const Move *move_of(const char *name) {
    for (int i = 0; i < MOVES; i++)
        if (!strcmp(moves[i].name, name)) return &moves[i];
    return NULL;
}

/* With the definitions of what it calls; NULL: the device has none of them.  */
static const char *text_of(Arena *a, const Device *dev, const Move *x) {
    const char *own = arena_printf(a, "#define MOVE %s\n#define SETTLE %s\n%s%s", x->move,
                                   x->settle, steps, kernels);
    Buf t = buf_new(a);
    int least;
    if (prelude_print(a, own, dev, &least, &t)) return NULL;
    buf_printf(&t, "%s%s", unit_prelude, own);
    return buf_str(&t);
}

static MoverKernel kernel(Bench *b, const Move *x, const char *text) {
    Arena *a = bench_arena(b);
    return (MoverKernel){.name = x->name, .source = text,
                         .macros = {arena_printf(a, "STEPS %d", x->steps),
                                    arena_printf(a, "WORDS %d", x->all ? x->steps : 1),
                                    arena_printf(a, "ALL %d", x->all)},
                         .threads = THREADS, .burst_threads = THREADS, .blocks = 1,
                         .smem = CHUNKS * CHUNK, .buffer = 4 * 4096,
                         .bytes = (double)x->steps * x->bytes * (x->all ? THREADS / LANES : 1)};
}

Status tensor_moves(Bench *b, Device *dev) {
    MoverKernel k[MOVES] = {0};
    Mover *mover[MOVES] = {0};
    int n = 0;
    for (int i = 0; i < dev->n_mover; i++) {
        const Move *x = move_of(dev->mover[i].name);
        const char *text = x ? text_of(bench_arena(b), dev, x) : NULL;
        if (!text || n == MOVES) continue;
        mover[n] = &dev->mover[i];
        k[n++] = kernel(b, x, text);
    }
    Status s = mover_compile(b, k, n);
    for (int i = 0; i < n && !s; i++) s = mover_measure(b, &k[i], &mover[i]->rate, &mover[i]->cost);
    return s;
}
