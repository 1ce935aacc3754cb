/* Barriers of blocks, mbarriers, barriers of clusters, and the step of a load pipeline.
 *
 * Each is a loop around what it measures, in clocks of one SM.  */
#include "profiler/bench.h"
#include "profiler/unit.h"

/* SYNC is one barrier.  */
static const char source[] =
    "__device__ __forceinline__ void block_barrier() { __syncthreads(); }\n"
    "__device__ __forceinline__ void cluster_barrier() {\n"
    "    asm volatile(CLUSTER ::: \"memory\");\n"
    "}\n"
    "#if USES_WORD\n"
    "__device__ __forceinline__ void mbarrier_init(unsigned at) {\n"
    "    asm volatile(\"mbarrier.init.shared.b64 [%0], 1;\" :: \"r\"(at) : \"memory\");\n"
    "}\n"
    "__device__ __forceinline__ void mbarrier_meet(unsigned at, int parity) {\n"
    "    asm volatile(\"{ .reg .pred p; .reg .b64 state;\\n\"\n"
    "                 \"mbarrier.arrive.shared.b64 state, [%0];\\n\"\n"
    "                 \"again: mbarrier.\" WAIT \".parity.shared.b64 p, [%0], %1;\\n\"\n"
    "                 \"@!p bra again; }\" :: \"r\"(at), \"r\"(parity) : \"memory\");\n"
    "}\n"
    "#else\n"
    "__device__ __forceinline__ void mbarrier_init(unsigned) {}\n"
    "#endif\n"
    "extern \"C\" __global__ void __launch_bounds__(1024)\n"
    "barrier(u64 *clocks, int n) {\n"
    "    __shared__ u64 word;\n"
    "    const unsigned at = (unsigned)__cvta_generic_to_shared(&word);\n"
    "    if (USES_WORD && threadIdx.x == 0) mbarrier_init(at);\n"
    "    __syncthreads();\n"
    "    u64 begin = (u64)clock64();\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        #pragma unroll\n"
    "        for (int k = 0; k < STEPS; k++) { SYNC; }\n"
    "    }\n"
    "    begin = (u64)clock64() - begin;\n"
    "    if (blockIdx.x == 0 && threadIdx.x == 0) clocks[0] += begin;\n"
    "}\n";

/* A ring of STAGES places as generated kernels keep it: wait for the oldest copies, meet, read a
 * word of what arrived, start the next copies.  The ring is so deep that no step waits for data. */
static const char step_source[] =
    "extern \"C\" __global__ void __launch_bounds__(THREADS)\n"
    "step(const unsigned *in, unsigned *out, u64 *clocks, int n, unsigned never) {\n"
    "    __shared__ __align__(16) uint4 ring[STAGES][THREADS];\n"
    "    const unsigned place = (unsigned)__cvta_generic_to_shared(&ring[0][threadIdx.x]);\n"
    "    const uint4 *from = (const uint4 *)in + threadIdx.x;\n"
    "    uint4 next = from[0];\n"
    "    unsigned all = 0;\n"
    "    for (int k = 0; k < STAGES - 1; k++) { LOAD(k, k); }\n"
    "    const u64 begin = (u64)clock64();\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        WAIT;\n"
    "        __syncthreads();\n"
    "        all ^= ring[i % STAGES][(threadIdx.x + 32) % THREADS].x;\n"
    "        LOAD((i + STAGES - 1) % STAGES, i);\n"
    "    }\n"
    "    const u64 took = (u64)clock64() - begin;\n"
    "    FINISH;\n"
    "    if ((all ^ next.x) == never) out[threadIdx.x] = all;\n"
    "    if (threadIdx.x == 0) clocks[0] += took;\n"
    "}\n";

/* So many that the loop does not show: each of 32 warps issues its counter, comparison and jump,
 * two clocks each, and eight of them share a subpartition.  That is about 50 clocks a turn, and a
 * barrier of 32 warps takes 60 and more.  */
enum { STEPS = 32 };

typedef struct {
    const char *sync, *uses_word;
    int threads, cluster;
} Barrier;

static Status measure(Bench *b, const Barrier *x, CudaAddress clocks, Sample *clk) {
    enum { FEW = 1, MANY = 3 };
    bool clusters = x->cluster > 1;
    Arena *a = bench_arena(b);
    const char *macros[] = {
        arena_printf(a, "SYNC %s", x->sync), x->uses_word, arena_printf(a, "STEPS %d", STEPS),
        bench_device(b)->cc_major >= 9 ? "WAIT \"try_wait\"" : "WAIT \"test_wait\"",
        clusters ? "CLUSTER \"barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\""
                 : "CLUSTER \"\"",
        NULL};
    int n;
    BenchLaunch l = {.launch = {.grid = {clusters ? x->cluster : 1, 1, 1},
                                .block = {x->threads, 1, 1}},
                     .param = {&clocks, &n}};
    if (clusters) {
        l.launch.cluster[0] = x->cluster;
        l.launch.cluster[1] = l.launch.cluster[2] = 1;
    }
    const char *text = arena_printf(a, "typedef unsigned long long u64;\n%s", source);
    Status s = bench_kernel(b, text, "barrier", macros, &l.kernel);
    l.clocks = clocks;
    if (!s) s = bench_clocks(b, &l, &n, FEW, MANY, clk);
    if (!s) *clk = sample_times(clk, 1.0 / STEPS);
    return s;
}

static Status block_barriers(Bench *b, Device *dev, CudaAddress clocks) {
    enum { POINTS = 6 };
    double x[POINTS];
    Sample y[POINTS];
    int n = 0, most = (int)dev->limits.threads_per_block.value;
    for (int threads = 32; threads <= most && threads <= 1024 && n < POINTS; threads *= 2) {
        Barrier at = {"block_barrier()", "USES_WORD 0", threads, 0};
        Status s = measure(b, &at, clocks, &y[n]);
        if (s) return s;
        x[n++] = threads;
    }
    if (n > 1)
        bench_member_curve(b, &dev->overheads.barrier, "barrier", "clk", &(BenchPoints){x, y, n});
    return ST_OK;
}

static Status pipeline_step(Bench *b, Device *dev, CudaAddress clocks) {
    enum { THREADS = 256, BYTES = 1 << 16, FEW = 32, MANY = 96 };
    bool async = bench_device(b)->cc_major >= 8;
    int threads = bench_threads(b, THREADS);
    const char *size = arena_printf(bench_arena(b), "THREADS %d", threads);
    const char *const copies[] = {
        size, "STAGES 12",
        "LOAD(to, i) asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16; "
        "cp.async.commit_group;\" :: \"r\"(place + (to) * THREADS * 16), "
        "\"l\"(from + (i) % 8 * THREADS) : \"memory\")",
        "WAIT asm volatile(\"cp.async.wait_group %0;\" :: \"n\"(STAGES - 2) : \"memory\")",
        "FINISH asm volatile(\"cp.async.wait_all;\" ::: \"memory\")",
        NULL};
    const char *const staged[] = {
        size, "STAGES 2", "LOAD(to, i) (ring[to][threadIdx.x] = next, next.x ^= (i))",
        "WAIT (void)place", "FINISH (void)0", NULL};
    CudaAddress in, out;
    Sample clk;
    int n;
    unsigned never = 0x7fedcba9;
    BenchLaunch l = {.launch = {.grid = {1, 1, 1}, .block = {threads, 1, 1}},
                     .param = {&in, &out, &clocks, &n, &never}};
    Status s = bench_buffer(b, BYTES, &in);
    if (!s) s = bench_buffer(b, BYTES, &out);
    const char *text = arena_printf(bench_arena(b), "typedef unsigned long long u64;\n%s",
                                    step_source);
    if (!s) s = bench_kernel(b, text, "step", async ? copies : staged, &l.kernel);
    l.clocks = clocks;
    if (!s) s = bench_clocks(b, &l, &n, FEW, MANY, &clk);
    if (!s) bench_figure(b, &dev->overheads.pipeline_step, &clk, 1);
    return s;
}

/* One point: an mbarrier of one thread, or a barrier of a cluster of two blocks.  */
static Status point(Bench *b, const Barrier *x, CudaAddress clocks, Figure *f) {
    Sample clk;
    Status s = measure(b, x, clocks, &clk);
    f->unit = "clk";
    if (!s) bench_figure(b, f, &clk, 1);
    return s;
}

Status bench_barriers(Bench *b, Device *dev) {
    static const Barrier mbarrier = {"mbarrier_meet(at, k & 1)", "USES_WORD 1", 1, 0};
    static const Barrier cluster = {"cluster_barrier()", "USES_WORD 0", 256, 2};
    DeviceOverheads *o = &dev->overheads;
    int major = bench_device(b)->cc_major;
    bool clusters = major >= 9 && dev->limits.cluster_max.value > 1;
    CudaAddress clocks;
    Status s = bench_buffer(b, sizeof(uint64_t), &clocks);
    if (!s && bench_try(b, "barrier")) s = bench_tried(b, block_barriers(b, dev, clocks));
    if (!s && major >= 8 && bench_try(b, "mbarrier"))
        s = bench_tried(b, point(b, &mbarrier, clocks, &o->mbarrier));
    if (!s && clusters && bench_try(b, "cluster_barrier"))
        s = bench_tried(b, point(b, &cluster, clocks, &o->cluster_barrier));
    if (!s && bench_try(b, "pipeline_step")) s = bench_tried(b, pipeline_step(b, dev, clocks));
    return s;
}
