/* Shared memory: what one SM reads, the number of its banks, and the cost of conflicts.
 *
 * One block on each SM; every thread keeps 8 independent loads under way.  The rate is that of
 * loads of 16 bytes side by side.  Conflicts: lane l reads the word l * stride, for strides that
 * are powers of two: with B banks, the lanes meet in max(1, B / stride) of them.  The stride from
 * which on the time does not grow any more is the number of banks.  Slopes over iterations; clocks
 * of one SM.  In the manner of arXiv 1804.06826, section 3.5.  */
#include "profiler/bench.h"

#include <math.h>

static const char source[] =
    "enum { UNROLL = 8 };\n"
    "extern __shared__ unsigned at[];\n"
    "extern \"C\" __global__ void __launch_bounds__(1024) words(unsigned *out, int n,\n"
    "        int stride, int bytes, unsigned never) {\n"
    "    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) at[i] = 0x38013901u + i;\n"
    "    __syncthreads();\n"
    "    unsigned p = (unsigned)__cvta_generic_to_shared(at) + threadIdx.x % 32 * stride * 4;\n"
    "    unsigned acc = 0, v[UNROLL];\n"
    "    for (int i = 0; i < n; i++) {\n"
    "#pragma unroll\n"
    "        for (int u = 0; u < UNROLL; u++)\n"
    "            asm volatile(\"ld.volatile.shared.u32 %0, [%1];\" : \"=r\"(v[u]) : \"r\"(p));\n"
    "#pragma unroll\n"
    "        for (int u = 0; u < UNROLL; u++) acc ^= v[u];\n"
    "    }\n"
    "    if (acc == never) *out = acc;\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(1024) vectors(unsigned *out, int n,\n"
    "        int stride, int bytes, unsigned never) {\n"
    "    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) at[i] = 0x38013901u + i;\n"
    "    __syncthreads();\n"
    "    unsigned p = (unsigned)__cvta_generic_to_shared(at) + threadIdx.x % 32 * 16;\n"
    "    unsigned acc = 0, x[UNROLL], y[UNROLL], z[UNROLL], w[UNROLL];\n"
    "    for (int i = 0; i < n; i++) {\n"
    "#pragma unroll\n"
    "        for (int u = 0; u < UNROLL; u++)\n"
    "            asm volatile(\"ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];\"\n"
    "                         : \"=r\"(x[u]), \"=r\"(y[u]), \"=r\"(z[u]), \"=r\"(w[u])\n"
    "                         : \"r\"(p));\n"
    "#pragma unroll\n"
    "        for (int u = 0; u < UNROLL; u++) acc ^= x[u] ^ y[u] ^ z[u] ^ w[u];\n"
    "    }\n"
    "    if (acc == never) *out = acc;\n"
    "}\n";
enum { UNROLL = 8, LANES = 32, WORD = 4, MOST_STRIDE = 64, MOST_POINTS = 8 };

typedef struct {
    Bench *b;
    CudaAddress out;
    int threads, warps;
} Shared;

/* Clocks of a load of a warp, with all the warps of a block.  */
static Status clocks(const Shared *m, const char *symbol, int stride, int bytes, Sample *clk) {
    Shared own = *m;
    int n;
    unsigned never = 0x12345678;
    int64_t sms = bench_simulated(m->b) ? 1 : bench_sms(m->b);
    BenchLaunch l = {.param = {&own.out, &n, &stride, &bytes, &never},
                     .launch = {.grid = {sms, 1, 1}, .block = {m->threads, 1, 1},
                                .dynamic_smem = bytes}};
    Status s = bench_kernel(m->b, source, symbol, NULL, &l.kernel);
    if (!s) s = bench_slope(m->b, &l, &n, 12, 36, clk);
    if (!s) *clk = sample_times(clk, 1e-6 * bench_hz(m->b) / (UNROLL * m->warps));
    return s;
}

/* Time over stride: the banks, and the rate over how many times the fewest rows a bank is hit
 * in.  */
static Status conflicts(const Shared *m, MemoryLevel *smem) {
    static const double grows = 1.4;
    int most = bench_device(m->b)->attribute[CUDA_ATTR_SMEM_PER_BLOCK], n = 0, points = 0;
    double x[MOST_POINTS];
    Sample y[MOST_POINTS];
    for (int stride = 1; stride <= MOST_STRIDE; stride *= 2, n++) {
        int bytes = ((LANES - 1) * stride + 1) * WORD;
        if (bytes > most) break;
        Status s = clocks(m, "words", stride, bytes, &y[n]);
        if (s) return s;
        if (n > 0 && y[n].value < grows * y[n - 1].value) {
            bench_figure(&smem->banks, &(Sample){stride / 2, y[n].spread, y[n].samples, false}, 1);
            break;
        }
    }
    int banks = (int)smem->banks.value;
    for (int i = 0; i < n && points < MOST_POINTS; i++) {
        int meeting = banks >> i > 0 ? banks >> i : 1;
        if (meeting > LANES) meeting = LANES;
        x[points] = (double)(banks < LANES ? banks : LANES) / meeting;
        if (points && x[points] <= x[points - 1]) continue;
        y[points] = sample_over(LANES * WORD, &y[i]);
        points++;
    }
    if (points >= 2)
        bench_level_curve(m->b, smem, LEVEL_SMEM, "read", "conflict_ways", x, y, points);
    return ST_OK;
}

static Status wide(const Shared *m, Figure *per_sm_max) {
    enum { VECTOR = 16 };
    Sample clk;
    Status s = clocks(m, "vectors", 0, LANES * VECTOR, &clk);
    if (!s) bench_rate(per_sm_max, &clk, LANES * VECTOR);
    return s;
}

Status bench_smem(Bench *b, Device *dev) {
    enum { ENOUGH = 1024 };
    MemoryLevel *smem = &dev->memory[LEVEL_SMEM];
    Shared m = {.b = b, .threads = bench_threads(b, ENOUGH)};
    m.warps = m.threads / LANES;
    Status s = bench_buffer(b, sizeof(unsigned), &m.out);
    if (!s && bench_try(b, "smem.per_sm_max")) s = bench_tried(b, wide(&m, &smem->per_sm_max));
    if (!s && bench_try(b, "smem.read over conflict_ways"))
        s = bench_tried(b, conflicts(&m, smem));
    return s;
}
