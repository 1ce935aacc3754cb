/* Matrix units of warps: mma.sync, as kernels have it.
 *
 * Accumulator c of a warp takes fragments a[c % 2] and b[c / 2], as the tiles of a warp do.  */
#include "codegen/prelude/prelude.h"
#include "profiler/unit.h"
#include "rtile/fragment.h"

#include <string.h>

enum { CHAINS = 8 };

static int registers(const ComputeUnit *u, FragRole role) {
    Fragment f = fragment_of(u, role, FRAG_COL);
    return fragment_slots(&f, FRAG_DIMS) / f.per_register;
}

/* Products of the shape that the instruction is called by.  */
static int products(const ComputeUnit *u) {
    FragShape s = fragment_shape(u);
    return s.m * s.n / (u->m.to * u->n.to);
}

/* The definition that kernels have of the product.  */
static const char *definition(Arena *a, const char *name) {
    PreludeText *t = ARENA_NEW(a, PreludeText);
    return prelude_make_mma(name, strlen(name), t) ? t->text : "";
}

static const char source[] =
    "extern \"C\" __global__ void __launch_bounds__(512)\n"
    "unit(const unsigned *in, unsigned *out, u64 *clocks, int n, unsigned never) {\n"
    "    const TYPE *from = (const TYPE *)in + threadIdx.x;\n"
    "    TYPE a[2][NA], b[4][NB];\n"
    "    TYPE_D d[CHAINS][ND];\n"
    "    for (int i = 0; i < 2 * NA; i++) a[i / NA][i % NA] = from[32 * i];\n"
    "    for (int i = 0; i < 4 * NB; i++) b[i / NB][i % NB] = from[256 + 32 * i];\n"
    "    for (int c = 0; c < CHAINS; c++) {\n"
    "        for (int i = 0; i < ND; i++) d[c][i] = 0;\n"
    "    }\n"
    "    unsigned all = 0;\n"
    "    for (int i = 0; i < 2 * NA; i++) all ^= bits(a[i / NA][i % NA]);\n"
    "    for (int i = 0; i < 4 * NB; i++) all ^= bits(b[i / NB][i % NB]);\n"
    "    if (__syncthreads_or(all == never)) return;\n"
    "    BEGIN\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        #pragma unroll\n"
    "        for (int s = 0; s < STEPS; s++) {\n"
    "            PRODUCT(d[s % CHAINS], a[s % 2], b[s % CHAINS / 2] SCALED);\n"
    "            CHANGE(a[s % 2][0]);\n"
    "        }\n"
    "    }\n"
    "    END\n"
    "    for (int c = 0; c < CHAINS; c++) {\n"
    "        for (int i = 0; i < ND; i++) all ^= bits(d[c][i]);\n"
    "    }\n"
    "    if (all == never) out[threadIdx.x] = all;\n"
    "}\n";

/* Where products of f8 become products of f16 and additions (sm_90), compilers make the products of
 * the same operands once: so one operand changes from step to step.  */
static bool emulated(const ComputeUnit *u) { return u->a == TE_F8E4M3 || u->a == TE_F8E5M2; }

/* Of the 128 registers of a thread, addresses, times and what is loaded ahead take a third: fewer
 * chains for products of doubles, whose accumulators are large.  */
static int chains_of(const ComputeUnit *u) {
    enum { ROOM = 88 };
    int words = u->acc == TE_F64 ? 2 : 1, chains = CHAINS;
    int operands = 2 * registers(u, FRAG_A) + 4 * registers(u, FRAG_B);
    int d = registers(u, FRAG_RESULT);
    while (chains > 2 && words * (chains * d + operands) > ROOM) chains /= 2;
    return chains;
}

static UnitKernel kernel(Bench *b, const ComputeUnit *u) {
    enum { STEPS = 32, ONE_CHAIN = 16, MACROS = 10 };
    Arena *a = bench_arena(b);
    const char *name = prelude_mma_name(a, u, fragment_has_orders(u) ? "_along_along" : "");
    int chains = chains_of(u), steps = bench_simulated(b) ? CHAINS : STEPS;
    int alone = bench_simulated(b) ? 4 : ONE_CHAIN;
    const char **rate = ARENA_ARRAY(a, const char *, MACROS + 1);
    const char **latency = ARENA_ARRAY(a, const char *, MACROS + 1);
    rate[0] = arena_printf(a, "TYPE %s", prelude_register(u->a == TE_F64 ? TE_F64 : TE_U8));
    rate[1] = arena_printf(a, "TYPE_D %s", prelude_register(u->acc));
    rate[2] = arena_printf(a, "ND %d", registers(u, FRAG_RESULT));
    rate[3] = arena_printf(a, "NA %d", registers(u, FRAG_A));
    rate[4] = arena_printf(a, "NB %d", registers(u, FRAG_B));
    rate[5] = emulated(u) ? "CHANGE(x) asm volatile(\"add.u32 %0, %0, 0x10001;\" : \"+r\"(x))"
                          : "CHANGE(x) (void)0";
    rate[6] = arena_printf(a, "PRODUCT %s", name);
    rate[7] = u->scale_k == 0 ? "SCALED" : arena_printf(a, "SCALED , %s, %s, 0, 0, 0",
                                                        unit_ones(u), unit_ones(u));
    for (int i = 0; i <= 7; i++) latency[i] = rate[i];
    rate[8] = arena_printf(a, "CHAINS %d", chains);
    latency[8] = "CHAINS 1";
    rate[9] = arena_printf(a, "STEPS %d", steps);
    latency[9] = arena_printf(a, "STEPS %d", alone);
    const char *text = arena_printf(a, "%s%s%s", unit_prelude, definition(a, name), source);
    return (UnitKernel){.rate_source = text, .latency_source = text, .rate_macros = rate,
                        .latency_macros = latency, .rate_steps = steps,
                        .latency_steps = alone, .warps = 1, .most_warps = 16,
                        .copies = products(u)};
}

Status bench_mma(Bench *b, Device *dev) {
    UnitKernel *k = ARENA_ARRAY(bench_arena(b), UnitKernel, dev->n_unit + 1);
    ComputeUnit **unit = ARENA_ARRAY(bench_arena(b), ComputeUnit *, dev->n_unit + 1);
    int n = 0;
    for (int i = 0; i < dev->n_unit; i++) {
        if (strncmp(dev->unit[i].name, "mma.", 4) != 0) continue;
        unit[n] = &dev->unit[i];
        k[n++] = kernel(b, &dev->unit[i]);
    }
    return unit_measure(b, dev, unit, k, n);
}
