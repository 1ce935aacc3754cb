/* Matrix units of Tensor Memory: tcgen05.mma with both operands in shared memory, by one block or
 * by a pair, at the widest n of the row and, for the curve over n, at narrower ones.
 *
 * A block has two tiles of A and two of B (of a pair each its half of B), of 128 bytes along k,
 * k-major, in the 128-byte swizzle; scales are all 1.  One thread issues: an iteration starts from
 * zero sums, walks over the tiles several times and commits once to one of two barriers, on which
 * it waits in the next iteration but one: the unit never runs dry.  For the latency each product is
 * committed and waited for, which is what a kernel sees.  The functions are those of kernels.  The
 * thread is the one that elect.sync names: of any other choice compilers do not see that it is one,
 * and make a loop over threads of each product.  */
#include "codegen/prelude/prelude.h"
#include "profiler/mover.h"
#include "profiler/unit.h"

#include <string.h>

enum { ROW = 128, TILES = 2, M = 128, COLUMNS = 512, SCALES = 512, ALIGN = 1024 };

static const char source[] =
    "enum { ROW = 128, TILES = 2, A_TILE = 128 * ROW, B_TILE = N / BLOCKS * ROW,\n"
    "       A_SCALES = 256, B_SCALES = 260 };\n"
    "__device__ __forceinline__ unsigned tile(unsigned at) {\n"
    "    return (at >> 4 & 0x3fff) | 1u << 16;\n"
    "}\n"
    "__device__ __forceinline__ void meet() {\n"
    "    rl_tcgen05_before();\n"
    "    MEET();\n"
    "    rl_tcgen05_after();\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(128, 1)\n"
    "unit(const unsigned *in, unsigned *out, u64 *clocks, int n, unsigned never) {\n"
    "    extern __shared__ __align__(1024) unsigned char tiles[];\n"
    "    __shared__ u64 done[2];\n"
    "    __shared__ unsigned taken;\n"
    "    const unsigned start = (unsigned)__cvta_generic_to_shared(tiles);\n"
    "    const unsigned a = (start + 1023) / 1024 * 1024, b = a + TILES * A_TILE;\n"
    "    const unsigned scales = b + TILES * B_TILE;\n"
    "    const unsigned bar = (unsigned)__cvta_generic_to_shared(done);\n"
    "    const unsigned at = (unsigned)__cvta_generic_to_shared(&taken);\n"
    "    fill(tiles + (a - start), TILES * (A_TILE + B_TILE));\n"
    "    if (threadIdx.x < 32)\n"
    "        rl_tcgen05_put_scales(scales + 16 * threadIdx.x, ONES, ONES, ONES, ONES);\n"
    "    if (threadIdx.x == 0) {\n"
    "        rl_barrier_init(bar, 1);\n"
    "        rl_barrier_init(bar + 8, 1);\n"
    "    }\n"
    "    if (threadIdx.x < 32) TAKE<512>(at);\n"
    "    rl_fence_proxy();\n"
    "    meet();\n"
    "    const unsigned d = rl_tcgen05_find(at);\n"
    "    BEGIN\n"
    "    if (threadIdx.x < 32 && rl_cluster_rank() == 0 && rl_elect()) {\n"
    "        COPY;\n"
    "        #pragma unroll 1\n"
    "        for (int i = 0; i < n; i++) {\n"
    "            const unsigned own = bar + i % 2 * 8;\n"
    "            if (i > 1) rl_barrier_wait(own, i / 2 - 1 & 1);\n"
    "            #pragma unroll\n"
    "            for (int s = 0; s < STEPS; s++) {\n"
    "                const unsigned in_a = s / 4 % TILES * (A_TILE >> 4) + s % 4 * 2;\n"
    "                const unsigned in_b = s / 4 % TILES * (B_TILE >> 4) + s % 4 * 2;\n"
    "                PRODUCT(d, tile(a) + in_a, tile(b) + in_b, s > 0 SCALED);\n"
    "            }\n"
    "            COMMIT(own);\n"
    "            if (ALONE) rl_barrier_wait(own, i / 2 & 1);\n"
    "        }\n"
    "        for (int i = n < 2 ? 0 : n - 2; i < n && !ALONE; i++)\n"
    "            rl_barrier_wait(bar + i % 2 * 8, i / 2 & 1);\n"
    "    }\n"
    "    __syncwarp();\n"
    "    END\n"
    "    meet();\n"
    "    if (threadIdx.x < 32) FREE<512>(d);\n"
    "    if (n == (int)never) out[threadIdx.x] = in[threadIdx.x];\n"
    "}\n";

/* The names by which the source calls what a pair does otherwise, and the product.  */
static const char *names(Arena *a, const ComputeUnit *u, int n) {
    bool pair = u->blocks > 1, orders = prelude_orders(u, true);
    Buf t = buf_new(a);
    buf_printf(&t, "#define BLOCKS %d\n#define MEET() %s()\n#define TAKE rl_tcgen05_take%s\n"
               "#define FREE rl_tcgen05_free%s\n", pair ? 2 : 1,
               pair ? "rl_cluster_sync" : "__syncthreads", pair ? "_pair" : "",
               pair ? "_pair" : "");
    buf_printf(&t, "#define COMMIT(bar) rl_tcgen05_commit%s)\n", pair ? "_pair(bar, 1" : "(bar");
    buf_printf(&t, "#define PRODUCT " PRELUDE_TENSOR "%dn%dk%d_%s<%s>\n", M * (pair ? 2 : 1), n,
               u->k.to, prelude_types(a, u), orders ? "0, 0" : "");
    if (u->scale_k == 0) {
        buf_puts(&t, "#define ONES 0\n#define COPY\n#define SCALED\n");
        return buf_str(&t);
    }
    const char *copy = arena_printf(a, "rl_tcgen05_copy_scales%s", pair ? "_pair" : "");
    buf_printf(&t, "#define ONES %s\n", unit_ones(u));
    buf_printf(&t, "#define COPY %s(d + A_SCALES, scales); %s(d + B_SCALES, scales); "
               "%s(d + B_SCALES + 4, scales)\n", copy, copy, copy);
    buf_puts(&t, "#define SCALED , d + A_SCALES, d + B_SCALES, 0\n");
    return buf_str(&t);
}

/* With the definitions of what it calls; NULL: there is no such product.  */
static const char *text_of(Arena *a, const Device *dev, const ComputeUnit *u, int n) {
    const char *own = arena_printf(a, "%s%s", names(a, u, n), source);
    Buf t = buf_new(a);
    int least;
    if (prelude_print(a, own, dev, &least, &t)) return NULL;
    buf_printf(&t, "%s%s", unit_prelude, own);
    return buf_str(&t);
}

static const char *const *macros(Arena *a, int n, int steps, bool alone) {
    const char **out = ARENA_ARRAY(a, const char *, 4);
    out[0] = arena_printf(a, "N %d", n);
    out[1] = arena_printf(a, "STEPS %d", steps);
    out[2] = arena_printf(a, "ALONE %d", alone);
    return out;
}

/* With n columns; false: there is no such product.  */
static bool kernel_of(Bench *b, const Device *dev, const ComputeUnit *u, int n, UnitKernel *k) {
    enum { STEPS = 16, SIMULATED_STEPS = 4 };
    Arena *a = bench_arena(b);
    int steps = (bench_simulated(b) ? SIMULATED_STEPS : STEPS) * u->n.to / n;
    int blocks = u->blocks > 1 ? 2 : 1;
    const char *text = text_of(a, dev, u, n);
    *k = (UnitKernel){.rate_source = text, .latency_source = text,
                      .rate_macros = macros(a, n, steps, false),
                      .latency_macros = macros(a, n, 1, true),
                      .rate_steps = steps, .latency_steps = 1, .copies = 1, .warps = 4,
                      .most_warps = 4, .cluster = blocks, .columns = n,
                      .smem = ALIGN + TILES * ROW * (M + n / blocks) + SCALES};
    return text != NULL;
}

static const int narrower[] = {64, 128};
enum { NARROWER = sizeof narrower / sizeof *narrower };

/* Rows that are narrow throughout have no kernel: operands limit them, and what the unit can do is
 * that of the same types in wider rows.  */
static bool kernel(Bench *b, const Device *dev, const ComputeUnit *u, UnitKernel *k) {
    UnitKernel *less = ARENA_ARRAY(bench_arena(b), UnitKernel, NARROWER);
    if (!u->tmem || u->n.to <= narrower[NARROWER - 1]) return false;
    for (int i = 0; i < NARROWER; i++)
        if (!kernel_of(b, dev, u, narrower[i], &less[i])) return false;
    if (!kernel_of(b, dev, u, u->n.to, k)) return false;
    k->narrower = less;
    k->n_narrower = NARROWER;
    return true;
}

Status bench_tcgen05(Bench *b, Device *dev) {
    UnitKernel *k = ARENA_ARRAY(bench_arena(b), UnitKernel, dev->n_unit + 1);
    ComputeUnit **unit = ARENA_ARRAY(bench_arena(b), ComputeUnit *, dev->n_unit + 1);
    int n = 0;
    for (int i = 0; i < dev->n_unit; i++) {
        unit[n] = &dev->unit[i];
        if (kernel(b, dev, unit[n], &k[n])) n++;
    }
    Status s = unit_measure(b, dev, unit, k, n);
    return s ? s : tensor_moves(b, dev);
}
