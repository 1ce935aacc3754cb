/* Load-to-use latencies: one thread follows pointers, each of which is the address of the next.
 *
 * The places are a full cycle in a scattered order (a linear congruential sequence), one to each
 * line of 128 bytes.  DRAM: the cycle is several times as large as L2 and a launch goes on where
 * the last one stopped, so no line is in a cache.  L2: the cycle is small and loads go past L1.
 * Shared memory: a cycle of words in the block's own memory.  The method of pointer chasing is
 * that of Saavedra and Smith; its use on these devices that of arXiv 1804.06826.  */
#include "profiler/bench.h"

static const char source[] =
    "enum { LINE = 16, STEPS = 16 };\n"                /* words of 8 bytes; loads per iteration */
    "typedef unsigned long long U64;\n"
    /* a full cycle for every power of two */
    "__device__ unsigned next(unsigned i, int n) { return (i * 1664525u + 1) & (n - 1); }\n"
    "extern \"C\" __global__ void link(U64 *at, U64 *state, int n) {\n"
    "    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)\n"
    "        at[(U64)i * LINE] = (U64)&at[(U64)next(i, n) * LINE];\n"
    "    if (blockIdx.x == 0 && threadIdx.x == 0) *state = (U64)at;\n"
    "}\n"
    "extern \"C\" __global__ void chase(U64 *state, U64 *clocks, int n) {\n"
    "    U64 p = *state;\n"
    "    long long begin = clock64();\n"
    "    for (int i = 0; i < n; i++) {\n"
    "#pragma unroll\n"
    "        for (int k = 0; k < STEPS; k++)\n"
    "            asm volatile(\"ld.global.cg.u64 %0, [%0];\" : \"+l\"(p) :: \"memory\");\n"
    "    }\n"
    "    *state = p;\n"
    "    *clocks += clock64() - begin;\n"
    "}\n"
    "extern \"C\" __global__ void chase_shared(U64 *state, U64 *clocks, int n) {\n"
    "    enum { WORDS = 64 };\n"
    "    __shared__ unsigned at[WORDS];\n"
    "    unsigned base = (unsigned)__cvta_generic_to_shared(at), p = base;\n"
    "    for (int i = 0; i < WORDS; i++) at[i] = base + 4 * next(i, WORDS);\n"
    "    long long begin = clock64();\n"
    "    for (int i = 0; i < n; i++) {\n"
    "#pragma unroll\n"
    "        for (int k = 0; k < STEPS; k++)\n"
    "            asm volatile(\"ld.shared.u32 %0, [%0];\" : \"+r\"(p) :: \"memory\");\n"
    "    }\n"
    "    *state = p;\n"
    "    *clocks += clock64() - begin;\n"
    "}\n";
enum { LINE_BYTES = 128, STEPS = 16, FEW = 2, MANY = 6, LEAST_PLACES = 16, MOST_PLACES = 1 << 24 };
enum { OVER_L2 = 8, L2_BYTES = 1 << 16 };


/* A chase over a cycle, ready to be launched.  It stays where it is.  */
typedef struct {
    CudaAddress at, state, clocks;
    int places, n;
    BenchLaunch l;
} Chase;

static Status open_chase(Bench *b, const char *symbol, Chase *c) {
    Status s = bench_buffer(b, sizeof(uint64_t), &c->state);
    if (!s) s = bench_buffer(b, sizeof(uint64_t), &c->clocks);
    if (!s) s = bench_kernel(b, source, symbol, NULL, &c->l.kernel);
    c->l.launch = (CudaLaunch){.grid = {1, 1, 1}, .block = {1, 1, 1}};
    c->l.param[0] = &c->state;
    c->l.param[1] = &c->clocks;
    c->l.param[2] = &c->n;
    return s;
}

/* Links a cycle of `bytes`, rounded down to a power of two of lines.  */
static Status link_cycle(Bench *b, int64_t bytes, Chase *c) {
    BenchLaunch l = {.launch = {.grid = {4 * bench_sms(b), 1, 1}, .block = {64, 1, 1}},
                     .param = {&c->at, &c->state, &c->places}};
    c->places = LEAST_PLACES;
    while ((int64_t)c->places * 2 * LINE_BYTES <= bytes && c->places < MOST_PLACES) c->places *= 2;
    Status s = bench_buffer(b, (size_t)c->places * LINE_BYTES, &c->at);
    if (!s) s = bench_kernel(b, source, "link", NULL, &l.kernel);
    return s ? s : bench_run(b, &l);
}

static Status measure(Bench *b, Chase *c, double scale, Figure *out) {
    Sample clk;
    c->l.clocks = c->clocks;
    Status s = bench_clocks(b, &c->l, &c->n, FEW, MANY, &clk);
    if (!s) bench_figure(b, out, &clk, scale / STEPS);
    return s;
}

/* DRAM takes its time whatever the clock of the SMs.  One busy SM has counted its own, faster
 * clocks; profiles count sustained ones.  */
static double in_sustained_clocks(const Bench *b) { return bench_hz(b) / bench_light_hz(b); }

static Status of_dram(Bench *b, Figure *f) {
    Chase dram = {0};
    CudaAddress pushed;
    int64_t cache = bench_l2_bytes(b);
    Status s = open_chase(b, "chase", &dram);
    if (!s) s = link_cycle(b, OVER_L2 * cache, &dram);
    if (!s) s = bench_buffer(b, (size_t)(2 * cache), &pushed);       /* drives the cycle out */
    return s ? s : measure(b, &dram, in_sustained_clocks(b), f);
}

static Status of_l2(Bench *b, Figure *f) {
    Chase l2 = {0};
    int64_t cache = bench_l2_bytes(b);
    Status s = open_chase(b, "chase", &l2);
    if (!s) s = link_cycle(b, cache < L2_BYTES * 4 ? cache / 4 : L2_BYTES, &l2);
    return s ? s : measure(b, &l2, 1, f);
}

static Status of_smem(Bench *b, Figure *f) {
    Chase smem = {0};
    Status s = open_chase(b, "chase_shared", &smem);
    return s ? s : measure(b, &smem, 1, f);
}

Status bench_latency(Bench *b, Device *dev) {
    MemoryLevel *m = dev->memory;
    Status s = ST_OK;
    if (bench_try(b, "dram.latency")) s = bench_tried(b, of_dram(b, &m[LEVEL_DRAM].latency));
    if (!s && bench_try(b, "l2.latency")) s = bench_tried(b, of_l2(b, &m[LEVEL_L2].latency));
    if (!s && bench_try(b, "smem.latency")) s = bench_tried(b, of_smem(b, &m[LEVEL_SMEM].latency));
    return s;
}
