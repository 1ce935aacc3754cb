/* Shared memory: what one SM reads, its banks and their width, and the cost of conflicts.
 *
 * One block on each SM; every thread keeps 8 independent loads under way.  The rate is that of
 * loads of 16 bytes side by side.  Conflicts: lane l reads the word l * stride, for strides that
 * are powers of two: a row of the banks holds as many words as the stride from which on the time
 * does not grow any more, when all lanes meet in one bank.  Width: each lane reads a byte of a row
 * of its own, all in one bank but that odd lanes read so many bytes further on: when these are in
 * another bank the time is half.  A row has as many banks as fit.  Slopes over iterations; clocks
 * of one SM.  Nothing but loads is in the loop: what else works beside them disturbs them.  In the
 * manner of arXiv 1804.06826, section 3.5.  */
#include "profiler/bench.h"

static const char source[] =
    "enum { UNROLL = 8 };\n"
    "extern __shared__ unsigned at[];\n"
    "__device__ __forceinline__ unsigned begin(int bytes) {\n"
    "    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) at[i] = 0x38013901u + i;\n"
    "    __syncthreads();\n"
    "    return (unsigned)__cvta_generic_to_shared(at);\n"
    "}\n"
    /* LOAD: of v[u] from p */
    "#define READ(name, LOAD)                                                         \\\n"
    "    extern \"C\" __global__ void __launch_bounds__(1024) name(unsigned *out,       \\\n"
    "            int n, int stride, int further, int bytes, unsigned never) {         \\\n"
    "        const unsigned lane = threadIdx.x % 32;                                  \\\n"
    "        unsigned p = begin(bytes) + lane * stride + lane % 2 * further;          \\\n"
    "        unsigned acc = 0, v[UNROLL] = {};                                        \\\n"
    "        for (int i = 0; i < n; i++) {                                            \\\n"
    "            _Pragma(\"unroll\") for (int u = 0; u < UNROLL; u++) LOAD;             \\\n"
    "        }                                                                        \\\n"
    "        for (int u = 0; u < UNROLL; u++) acc ^= v[u];                            \\\n"
    "        if (acc == never) *out = acc;                                            \\\n"
    "    }\n"
    "READ(words, asm volatile(\"ld.volatile.shared.u32 %0, [%1];\" : \"=r\"(v[u]) : \"r\"(p)))\n"
    "READ(octets, asm volatile(\"ld.volatile.shared.u8 %0, [%1];\" : \"=r\"(v[u]) : \"r\"(p)))\n"
    "extern \"C\" __global__ void __launch_bounds__(1024) vectors(unsigned *out, int n,\n"
    "        int stride, int further, int bytes, unsigned never) {\n"
    "    unsigned p = begin(bytes) + threadIdx.x % 32 * stride;\n"
    "    unsigned acc = 0, x[UNROLL] = {}, y[UNROLL] = {}, z[UNROLL] = {}, w[UNROLL] = {};\n"
    "    for (int i = 0; i < n; i++) {\n"
    "#pragma unroll\n"
    "        for (int u = 0; u < UNROLL; u++)\n"
    "            asm volatile(\"ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];\"\n"
    "                         : \"=r\"(x[u]), \"=r\"(y[u]), \"=r\"(z[u]), \"=r\"(w[u])\n"
    "                         : \"r\"(p));\n"
    "    }\n"
    "    for (int u = 0; u < UNROLL; u++) acc ^= x[u] ^ y[u] ^ z[u] ^ w[u];\n"
    "    if (acc == never) *out = acc;\n"
    "}\n";
enum { UNROLL = 8, LANES = WARP, WORD = 4, MOST_POINTS = 8 };

typedef struct {
    Bench *b;
    CudaAddress out;
    int threads, warps;
} Shared;

/* Clocks of a load of a warp, with all the warps of a block: lanes `stride` bytes apart, odd ones
 * so much further.  */
static Status clocks(const Shared *m, const char *symbol, int stride, int further, int bytes,
                     Sample *clk) {
    Shared own = *m;
    int n;
    unsigned never = 0x12345678;
    int64_t sms = bench_simulated(m->b) ? 1 : bench_sms(m->b);
    BenchLaunch l = {.param = {&own.out, &n, &stride, &further, &bytes, &never},
                     .launch = {.grid = {sms, 1, 1}, .block = {m->threads, 1, 1},
                                .dynamic_smem = bytes}};
    Status s = bench_kernel(m->b, source, symbol, NULL, &l.kernel);
    if (!s) s = bench_slope(m->b, &l, &n, 12, 36, clk);
    if (!s) *clk = sample_times(clk, 1e-6 * bench_hz(m->b) / (UNROLL * m->warps));
    return s;
}

static const double grows = 1.4;

/* Times at strides of a word, two, four, ...; *row: the bytes of a row of the banks, if there is
 * room to see them.  */
static Status strides(const Shared *m, Sample *y, int *n, int *row) {
    int most = bench_device(m->b)->attribute[CUDA_ATTR_SMEM_PER_BLOCK];
    for (*n = 0; *n < MOST_POINTS; ++*n) {
        int stride = WORD << *n, bytes = (LANES - 1) * stride + WORD;
        if (bytes > most) return ST_OK;
        Status s = clocks(m, "words", stride, 0, bytes, &y[*n]);
        if (s) return s;
        if (*n == 0 || y[*n].value >= grows * y[*n - 1].value) continue;
        *row = stride / 2;
        return ST_OK;
    }
    return ST_OK;
}

/* How far odd lanes have to go to find another bank.  */
static Status width(const Shared *m, int row, Figure *out) {
    Sample same, now;
    int bytes = LANES * row;
    Status s = clocks(m, "octets", row, 0, bytes, &same);
    for (int further = 1; further < row && !s; further *= 2) {
        s = clocks(m, "octets", row, further, bytes, &now);
        if (s || now.value * grows > same.value) continue;
        now.value = further;
        bench_figure(m->b, out, &now, 1);
        return ST_OK;
    }
    return s;
}

/* Times over strides as a curve: the rate over how many times the fewest rows a bank is hit in.  */
static void put_conflicts(const Shared *m, int row, const Sample *clk, int n, MemoryLevel *smem) {
    int wide = (int)smem->bank_width.value, points = 0;
    double x[MOST_POINTS];
    Sample y[MOST_POINTS];
    for (int i = 0; i < n; i++) {
        int stride = WORD << i, apart = stride > wide ? stride : wide;
        int units = LANES * stride < LANES * wide ? LANES * stride / wide : LANES;
        int met = row / apart > 1 ? row / apart : 1, fewest = (units * wide + row - 1) / row;
        x[points] = (double)((units + met - 1) / met) / fewest;
        if (points && x[points] <= x[points - 1]) continue;
        y[points++] = sample_over(fewest * row, &clk[i]);
    }
    if (points >= 2)
        bench_level_curve(m->b, smem, LEVEL_SMEM, "read", "conflict_ways",
                          &(BenchPoints){x, y, points});
}

static Status conflicts(const Shared *m, MemoryLevel *smem) {
    Sample clk[MOST_POINTS];
    int n, row = 0;
    Status s = strides(m, clk, &n, &row);
    if (!s && row > 0) {
        s = width(m, row, &smem->bank_width);
        Sample banks = clk[n];
        banks.value = row / smem->bank_width.value;
        bench_figure(m->b, &smem->banks, &banks, 1);
    }
    if (row == 0) row = (int)(smem->banks.value * smem->bank_width.value);
    if (!s) put_conflicts(m, row, clk, n, smem);
    return s;
}

static Status wide(const Shared *m, Figure *per_sm_max) {
    enum { VECTOR = 16 };
    Sample clk;
    Status s = clocks(m, "vectors", VECTOR, 0, LANES * VECTOR, &clk);
    if (!s) bench_rate(m->b, per_sm_max, &clk, LANES * VECTOR);
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
