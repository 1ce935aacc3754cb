/* Clusters: how many are resident, and the shared memory of other blocks.  */
#include "profiler/mover.h"
#include "profiler/unit.h"

enum { LOADS = 8, THREADS = 512 };

/* Both blocks of a cluster of two read the other's shared memory, VECTOR words at a time, at places
 * that change: compilers take what is read again and again out of a loop.  */
static const char read_source[] =
    "struct Words { unsigned w[VECTOR]; };\n"
    "__device__ __forceinline__ Words get(unsigned at) {\n"
    "    Words v;\n"
    "    LOAD;\n"
    "    return v;\n"
    "}\n"
    "__device__ __forceinline__ void meet() {\n"
    "    asm volatile(\"barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\"\n"
    "                 ::: \"memory\");\n"
    "}\n"
    /* Fills the block's words and returns the address of this thread's in the other block.  */
    "__device__ __forceinline__ unsigned other(unsigned char *shared, int bytes) {\n"
    "    fill(shared, bytes);\n"
    "    meet();\n"
    "    const unsigned own = (unsigned)__cvta_generic_to_shared(shared);\n"
    "    unsigned at, rank;\n"
    "    asm volatile(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(rank));\n"
    "    asm volatile(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(at) : \"r\"(own),\n"
    "                 \"r\"(rank ^ 1));\n"
    "    return at + threadIdx.x * 4 * VECTOR;\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(THREADS)\n"
    "rate(const unsigned *in, unsigned *out, u64 *clocks, int n, unsigned never) {\n"
    "    extern __shared__ __align__(1024) unsigned char shared[];\n"
    "    const unsigned at = other(shared, THREADS * 4 * VECTOR);\n"
    "    Words x[LOADS] = {};\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        Words v[LOADS];\n"
    "        #pragma unroll\n"
    "        for (int k = 0; k < LOADS; k++) v[k] = get(at ^ (i + k) % LOADS * 128);\n"
    "        #pragma unroll\n"
    "        for (int k = 0; k < LOADS; k++) {\n"
    "            for (int w = 0; w < VECTOR; w++) x[k].w[w] ^= v[k].w[w];\n"
    "        }\n"
    "    }\n"
    "    unsigned all = 0;\n"
    "    for (int k = 0; k < LOADS; k++) {\n"
    "        for (int w = 0; w < VECTOR; w++) all ^= x[k].w[w];\n"
    "    }\n"
    "    if (all == never) out[threadIdx.x] = all;\n"
    "    meet();\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(32)\n"
    "burst(const unsigned *in, unsigned *out, u64 *clocks, int n, unsigned never) {\n"
    "    extern __shared__ __align__(1024) unsigned char shared[];\n"
    "    const unsigned at = other(shared, BURST * 128 * VECTOR);\n"
    "    u64 sum = 0;\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        Words v[BURST];\n"
    "        unsigned from[BURST];\n"
    "        for (int k = 0; k < BURST; k++)\n"
    "            from[k] = ready((at ^ i % 2 * 64) + k * 128 * VECTOR);\n"
    "        const u64 begin = (u64)clock64();\n"
    "        __syncwarp();\n"
    "        #pragma unroll\n"
    "        for (int k = 0; k < BURST; k++) v[k] = get(from[k]);\n"
    "        __syncwarp();\n"
    "        sum += (u64)clock64() - begin;\n"
    "        if (v[BURST - 1].w[0] == never) {\n"
    "            for (int k = 0; k < BURST * VECTOR; k++) out[k] = v[k / VECTOR].w[k % VECTOR];\n"
    "        }\n"
    "    }\n"
    "    if (blockIdx.x == 0 && threadIdx.x == 0) clocks[0] += sum;\n"
    "    meet();\n"
    "}\n";

/* A chain of loads: each word holds the place of the next one.  */
static const char chase_source[] =
    "__device__ __forceinline__ void meet() {\n"
    "    asm volatile(\"barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\"\n"
    "                 ::: \"memory\");\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(32)\n"
    "chase(unsigned *out, u64 *clocks, int n, unsigned never) {\n"
    "    __shared__ unsigned words[1024];\n"
    "    for (int i = threadIdx.x; i < 1024; i += 32) words[i] = (i + 33) % 1024 * 4;\n"
    "    meet();\n"
    "    unsigned base, at = 0, rank;\n"
    "    asm volatile(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(rank));\n"
    "    asm volatile(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(base)\n"
    "                 : \"r\"((unsigned)__cvta_generic_to_shared(words)), \"r\"(rank ^ 1));\n"
    "    const u64 begin = (u64)clock64();\n"
    "    if (rank == 0 && threadIdx.x == 0) {\n"
    "        #pragma unroll 1\n"
    "        for (int i = 0; i < n; i++) {\n"
    "            #pragma unroll\n"
    "            for (int k = 0; k < LOADS; k++) {\n"
    "                asm volatile(\"ld.shared::cluster.u32 %0, [%1];\" : \"=r\"(at)\n"
    "                             : \"r\"(base + at) : \"memory\");\n"
    "            }\n"
    "        }\n"
    "        clocks[0] += (u64)clock64() - begin;\n"
    "        if (at == never) out[0] = at;\n"
    "    }\n"
    "    __syncwarp();\n"
    "    meet();\n"
    "}\n";

static Status rate(Bench *b, int vector, const char *name, Figure *per_sm, Figure *cost) {
    enum { BYTES = 1 << 16 };
    static const char one[] =
        "LOAD asm volatile(\"ld.shared::cluster.u32 %0, [%1];\" : \"=r\"(v.w[0]) : \"r\"(at) : "
        "\"memory\")";
    static const char four[] =
        "LOAD asm volatile(\"ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];\" : \"=r\"(v.w[0]), "
        "\"=r\"(v.w[1]), \"=r\"(v.w[2]), \"=r\"(v.w[3]) : \"r\"(at) : \"memory\")";
    Arena *a = bench_arena(b);
    MoverKernel k = {.name = name, .rate = cost ? "rate" : "per_sm_max",
                     .source = arena_printf(a, "%s%s", unit_prelude, read_source),
                     .macros = {vector == 4 ? four : one, arena_printf(a, "VECTOR %d", vector),
                                arena_printf(a, "LOADS %d", LOADS),
                                arena_printf(a, "THREADS %d", THREADS)},
                     .threads = THREADS, .burst_threads = 32, .blocks = 2, .smem = THREADS * 16,
                     .buffer = BYTES, .bytes = (double)LOADS * THREADS * 4 * vector};
    return mover_measure(b, &k, per_sm, cost);
}

static Status latency(Bench *b, MemoryLevel *m) {
    enum { BYTES = 4096, FEW = 1, MANY = 5 };
    const char *macros[] = {arena_printf(bench_arena(b), "LOADS %d", LOADS), NULL};
    CudaAddress out, clocks;
    Sample clk;
    int n;
    unsigned never = 0x7fedcba9;
    BenchLaunch l = {.launch = {.grid = {2, 1, 1}, .block = {32, 1, 1}, .cluster = {2, 1, 1}},
                     .param = {&out, &clocks, &n, &never}};
    Status s = bench_buffer(b, BYTES, &out);
    if (!s) s = bench_buffer(b, sizeof(uint64_t), &clocks);
    const char *text = arena_printf(bench_arena(b), "%s%s", unit_prelude, chase_source);
    if (!s) s = bench_kernel(b, text, "chase", macros, &l.kernel);
    l.clocks = clocks;
    if (!s) s = bench_clocks(b, &l, &n, FEW, MANY, &clk);
    if (!s) bench_figure(b, &m->latency, &clk, 1.0 / LOADS);
    return s;
}

/* Clusters of blocks that fill an SM each, so that a cluster of n takes n SMs.  */
static Status resident(Bench *b, Device *dev) {
    enum { MOST = 8 };
    double x[MOST];
    Sample y[MOST];
    int n = 0, most = (int)dev->limits.cluster_max.value;
    CudaKernel k;
    int64_t smem = (int64_t)dev->limits.smem_per_block_optin.value;
    const char *text = "extern \"C\" __global__ void empty() {}\n";
    Status s = bench_kernel(b, text, "empty", NULL, &k);
    if (!s) s = cuda_kernel_smem(&k, bench_diag(b), smem);
    for (int size = 1; size <= most && n < MOST && !s; size *= 2) {
        CudaLaunch l = {.grid = {size * bench_sms(b), 1, 1}, .block = {128, 1, 1},
                        .cluster = {size, 1, 1}, .dynamic_smem = smem};
        int clusters = 0;
        Diag refused = diag_new(bench_arena(b));         /* a size that this device has not */
        if (cuda_clusters(&k, &refused, &l, &clusters) || clusters < 1) continue;
        x[n] = size;
        y[n++] = (Sample){clusters, 0, 1, false};
    }
    if (!s && n > 1)
        bench_member_curve(b, &dev->limits.clusters_resident, "clusters_resident", "1",
                           &(BenchPoints){x, y, n});
    return s;
}

Status bench_clusters(Bench *b, Device *dev) {
    MemoryLevel *m = &dev->memory[LEVEL_DSMEM];
    Mover *mover = NULL;
    if (bench_device(b)->cc_major < 9 || dev->limits.cluster_max.value < 2) return ST_OK;
    for (int i = 0; i < dev->n_mover; i++) {
        if (dev->mover[i].from == PLACE_DSMEM && dev->mover[i].to == PLACE_REG)
            mover = &dev->mover[i];
    }
    Status s = ST_OK;
    if (bench_try(b, "clusters_resident")) s = bench_tried(b, resident(b, dev));
    if (!s && mover) s = rate(b, 1, mover->name, &mover->rate, &mover->cost);
    if (!s && m->present) s = rate(b, 4, "dsmem", &m->per_sm_max, NULL);
    if (!s && m->present && bench_try(b, "dsmem.latency")) s = bench_tried(b, latency(b, m));
    return s;
}
