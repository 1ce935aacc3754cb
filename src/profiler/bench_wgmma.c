/* Matrix units of warpgroups: wgmma with both operands in shared memory, at the widest n of the
 * row.
 *
 * Each warpgroup has its own two tiles of A and shares two tiles of B, all of 128 bytes along k,
 * k-major, in the 128-byte swizzle.  An iteration starts from zero sums, walks over the tiles
 * several times and waits once: warpgroups hide each other's waits.  */
#include "profiler/unit.h"

#include <string.h>

enum { ROW = 128, TILES = 2, M = 64 };

static const char *type_name(const ComputeUnit *u, TeDtype t) {
    switch (t) {
    case TE_F16: return "f16";
    case TE_BF16: return "bf16";
    case TE_F32: return u->tf32 ? "tf32" : "f32";
    case TE_F8E4M3: return "e4m3";
    case TE_F8E5M2: return "e5m2";
    case TE_I8: return "s8";
    case TE_U8: return "u8";
    default: return "s32";
    }
}

/* Operands behind the descriptors: whether sums are kept, signs, orders (16-bit types only).  */
static const char *suffix(const ComputeUnit *u) {
    if (u->acc == TE_I32) return "p";
    return te_dtype_bytes(u->a) == 2 ? "p, 1, 1, 0, 0" : "p, 1, 1";
}

/* One iteration: d = the sum of so many products, waited for at the end or (`alone`) each.  It is
 * a single statement, since compilers take long over hundreds of operands.  */
static const char *iteration(Bench *b, const ComputeUnit *u, int sums, int steps, bool alone) {
    const char *x = type_name(u, u->a), *y = type_name(u, u->b);
    const char *acc = u->acc == TE_F32 ? "f32" : type_name(u, u->acc);
    const char *constraint = u->acc == TE_F32 ? "f" : "r";
    Buf t = buf_new(bench_arena(b));
    buf_printf(&t,
               "typedef %s Sum;\nenum { N = %d, SUMS = %d };\n"
               "__device__ __forceinline__ void iteration(Sum *d, u64 a, u64 b) {\n"
               "    asm volatile(\"{ .reg .pred p; .reg .b64 a, b;\\n\"\n",
               u->acc == TE_F32 ? "float" : "unsigned", u->n.to, sums);
    for (int s = 0; s < steps; s++) {
        int in_a = s / 4 % TILES * (ROW * M >> 4) + s % 4 * 2;
        int in_b = s / 4 % TILES * (ROW * u->n.to >> 4) + s % 4 * 2;
        if (s == 0 || alone) buf_puts(&t, "        \"wgmma.fence.sync.aligned;\\n\"\n");
        buf_printf(&t, "        \"setp.ne.b32 p, %d, 0; add.u64 a, %%%d, %d; add.u64 b, %%%d, %d;"
                   "\\n\"\n", s > 0, sums, in_a, sums + 1, in_b);
        buf_printf(&t, "        \"wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s {", u->n.to,
                   u->k.to, acc, x, y);
        for (int i = 0; i < sums; i++) buf_printf(&t, "%s%%%d", i ? ", " : "", i);
        buf_printf(&t, "}, a, b, %s;\\n\"\n", suffix(u));
        if (s == steps - 1 || alone)
            buf_puts(&t, "        \"wgmma.commit_group.sync.aligned;\\n"
                         "wgmma.wait_group.sync.aligned 0;\\n\"\n");
    }
    buf_puts(&t, "        \"}\" : ");
    for (int i = 0; i < sums; i++) buf_printf(&t, "%s\"+%s\"(d[%d])", i ? ", " : "", constraint, i);
    buf_puts(&t, "\n        : \"l\"(a), \"l\"(b) : \"memory\");\n}\n");
    return buf_str(&t);
}

static const char source[] =
    "enum { ROW = 128, TILES = 2, A_TILE = 64 * ROW, B_TILE = N * ROW };\n"
    "__device__ __forceinline__ u64 tile(unsigned at) {\n"
    "    return (at >> 4 & 0x3fff) | 1ull << 16 | (u64)(8 * ROW >> 4) << 32 | 1ull << 62;\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(384, 1)\n"
    "unit(const unsigned *in, unsigned *out, u64 *clocks, int n, unsigned never) {\n"
    "    extern __shared__ __align__(1024) unsigned char tiles[];\n"
    "    const unsigned start = (unsigned)__cvta_generic_to_shared(tiles);\n"
    "    const unsigned base = (start + 1023) / 1024 * 1024;\n"
    "    fill(tiles + (base - start), TILES * (B_TILE + blockDim.x / 128 * A_TILE));\n"
    "    asm volatile(\"fence.proxy.async;\" ::: \"memory\");\n"
    "    __syncthreads();\n"
    "    const u64 b = tile(base);\n"
    "    const u64 a = tile(base + TILES * (B_TILE + threadIdx.x / 128 * A_TILE));\n"
    "    Sum d[SUMS];\n"
    "    for (int i = 0; i < SUMS; i++) d[i] = 0;\n"
    "    BEGIN\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) iteration(d, a, b);\n"
    "    END\n"
    "    unsigned all = 0;\n"
    "    for (int i = 0; i < SUMS; i++) all ^= bits(d[i]);\n"
    "    if (all == never) out[threadIdx.x] = all;\n"
    "}\n";

/* Warpgroups that share a unit end their turns together, so that a turn costs a wait, about 20
 * clocks: narrow products, of 5 clocks and less, need many to a turn.  */
static UnitKernel kernel(Bench *b, const ComputeUnit *u) {
    enum { STEPS = 8, NARROW_STEPS = 128, NARROW = 64, ONE_CHAIN = 4, SIMULATED_STEPS = 4 };
    Arena *a = bench_arena(b);
    int sums = M * u->n.to / (4 * 32) / (u->acc == TE_F16 ? 2 : 1);
    int steps = u->n.to < NARROW ? NARROW_STEPS : STEPS, alone = ONE_CHAIN;
    if (bench_simulated(b)) {
        if (steps == STEPS) steps = SIMULATED_STEPS;
        alone = 1;
    }
    return (UnitKernel){
        .rate_source = arena_printf(a, "%s%s%s", unit_prelude,
                                    iteration(b, u, sums, steps, false), source),
        .latency_source = arena_printf(a, "%s%s%s", unit_prelude,
                                       iteration(b, u, sums, alone, true), source),
        .rate_steps = steps, .latency_steps = alone, .copies = 1, .warps = 4, .most_warps = 12,
        .smem = 8 * ROW + TILES * ROW * u->n.to, .smem_per_part = TILES * ROW * M};
}

Status bench_wgmma(Bench *b, Device *dev) {
    UnitKernel *k = ARENA_ARRAY(bench_arena(b), UnitKernel, dev->n_unit + 1);
    ComputeUnit **unit = ARENA_ARRAY(bench_arena(b), ComputeUnit *, dev->n_unit + 1);
    int n = 0;
    if (strcmp(bench_device(b)->arch, "sm_90a") != 0) return ST_OK;
    for (int i = 0; i < dev->n_unit; i++) {
        if (strncmp(dev->unit[i].name, "wgmma.", 6) != 0) continue;
        unit[n] = &dev->unit[i];
        k[n++] = kernel(b, &dev->unit[i]);
    }
    return unit_measure(b, dev, unit, k, n);
}
