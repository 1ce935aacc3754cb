/* Units of single threads, shuffles and reductions of a warp.
 *
 * Accumulator c of a thread takes operands a[c % 4] and b[c / 4], as the threads of a matrix
 * product do; units of one operand apply themselves to their result.  The instruction is written in
 * PTX, so that no compiler replaces or merges it.  */
#include "profiler/unit.h"

#include <string.h>

static const char source[] =
    "extern \"C\" __global__ void __launch_bounds__(1024)\n"
    "unit(const unsigned *in, unsigned *out, u64 *clocks, int n, unsigned never) {\n"
    "    const TYPE *from = (const TYPE *)in + threadIdx.x % 512;\n"
    "    TYPE x[CHAINS], a[4], b[4];\n"
    "    for (int c = 0; c < 4; c++) { a[c] = from[32 * c]; b[c] = from[1024 + 32 * c]; }\n"
    "    for (int c = 0; c < CHAINS; c++) x[c] = a[c % 4];\n"
    "    unsigned all = 0;\n"
    "    for (int c = 0; c < 4; c++) all ^= bits(a[c]) ^ bits(b[c]);\n"
    "    if (__syncthreads_or(all == never)) return;\n"
    "    BEGIN\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        #pragma unroll\n"
    "        for (int s = 0; s < STEPS; s++) {\n"
    "            const int c = s % CHAINS;\n"
    "            asm volatile(OP : \"+\" CONSTRAINT(x[c])\n"
    "                            : CONSTRAINT(a[c % 4]), CONSTRAINT(b[c / 4 % 4]));\n"
    "            BETWEEN(x[(c + CHAINS / 2) % CHAINS]);\n"
    "        }\n"
    "    }\n"
    "    END\n"
    "    for (int c = 0; c < CHAINS; c++) all ^= bits(x[c]);\n"
    "    if (all == never) out[threadIdx.x] = all;\n"
    "}\n";

#define MULTIPLY(op) op " %0, %1, %2, %0;"
#define APPLY(op)    op " %0, %0;"
#define DP4A(types)  "dp4a." types " %0, %1, %2, %0;"
static const struct {
    const char *unit, *type, *constraint, *op;
    /* Compilers drop the reciprocal of a reciprocal: an addition stands between those of a chain,
     * half a round of chains later, so that it waits for nothing.  */
    bool adds;
} rows[] = {
    {"ffma", "float", "f", MULTIPLY("fma.rn.f32"), false},
    {"dfma", "double", "d", MULTIPLY("fma.rn.f64"), false},
    {"hfma2", "unsigned", "r", MULTIPLY("fma.rn.f16x2"), false},
    {"bfma2", "unsigned", "r", MULTIPLY("fma.rn.bf16x2"), false},
    {"imad", "unsigned", "r", MULTIPLY("mad.lo.s32"), false},
    {"dp4a", "unsigned", "r", DP4A("s32.s32"), false},
    {"dp4a.u8", "unsigned", "r", DP4A("u32.u32"), false},
    {"mufu.ex2", "float", "f", APPLY("ex2.approx.ftz.f32"), false},
    {"mufu.lg2", "float", "f", APPLY("lg2.approx.ftz.f32"), false},
    {"mufu.rcp", "float", "f", APPLY("rcp.approx.ftz.f32"), true},
    {"mufu.rsq", "float", "f", APPLY("rsqrt.approx.ftz.f32"), false},
    {"mufu.sqrt", "float", "f", APPLY("sqrt.approx.ftz.f32"), false},
    {"mufu.sin", "float", "f", APPLY("sin.approx.ftz.f32"), false},
    {"mufu.cos", "float", "f", APPLY("cos.approx.ftz.f32"), false},
    {"mufu.tanh", "float", "f", APPLY("tanh.approx.f32"), false},
    {"shfl", "unsigned", "r", "shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;", false},
    {"redux", "unsigned", "r", "redux.sync.add.s32 %0, %0, 0xffffffff;", false},
};

/* Where a unit takes all that schedulers issue, the three instructions of the loop take their
 * share: half a percent.  8 KB of code fit into a subpartition's cache of 12 (arXiv 1804.06826).
 */
static UnitKernel kernel(Bench *b, const Device *dev, size_t row) {
    enum { STEPS = 512, SIMULATED_STEPS = 32, ONE_CHAIN = 32, MACROS = 6 };
    Arena *a = bench_arena(b);
    int steps = bench_simulated(b) ? SIMULATED_STEPS : STEPS;
    const char **rate = ARENA_ARRAY(a, const char *, MACROS + 1);
    const char **latency = ARENA_ARRAY(a, const char *, MACROS + 1);
    rate[0] = latency[0] = arena_printf(a, "TYPE %s", rows[row].type);
    rate[1] = latency[1] = arena_printf(a, "CONSTRAINT \"%s\"", rows[row].constraint);
    rate[2] = latency[2] = arena_printf(a, "OP \"%s\"", rows[row].op);
    rate[3] = "CHAINS 16";
    latency[3] = "CHAINS 1";
    rate[4] = arena_printf(a, "STEPS %d", steps);
    latency[4] = arena_printf(a, "STEPS %d", ONE_CHAIN);
    rate[5] = latency[5] = rows[row].adds
                               ? "BETWEEN(x) asm volatile(\"add.ftz.f32 %0, %0, %1;\" : "
                                 "\"+f\"(x) : \"f\"(a[0]))"
                               : "BETWEEN(x) (void)0";
    const ComputeUnit *ffma = hal_unit(dev, "ffma");
    const char *text = arena_printf(a, "%s%s", unit_prelude, source);
    UnitKernel k = {.rate_source = text, .latency_source = text, .rate_macros = rate,
                    .latency_macros = latency, .rate_steps = steps, .latency_steps = ONE_CHAIN,
                    .copies = 1, .warps = 1, .most_warps = 32};
    if (rows[row].adds && ffma) k.latency_less = &ffma->latency;
    return k;
}

Status bench_simt(Bench *b, Device *dev) {
    UnitKernel *k = ARENA_ARRAY(bench_arena(b), UnitKernel, dev->n_unit + 1);
    ComputeUnit **unit = ARENA_ARRAY(bench_arena(b), ComputeUnit *, dev->n_unit + 1);
    int n = 0;
    for (int i = 0; i < dev->n_unit; i++) {
        for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
            if (strcmp(dev->unit[i].name, rows[row].unit) != 0) continue;
            unit[n] = &dev->unit[i];
            k[n++] = kernel(b, dev, row);
        }
    }
    return unit_measure(b, dev, unit, k, n);
}
