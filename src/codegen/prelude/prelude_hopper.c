#include "codegen/prelude/prelude_cuda.h"

/* Rows of the prelude for rings of stages: barriers in shared memory, copies of boxes by tensor
 * maps, and what stands around products of warpgroups.  */

/* A box of a tensor to shared memory, at coordinates x; the barrier counts its bytes.  To all
 * blocks of `mask`: to the same place of each, and its barrier counts them.  Of a pair: the barrier
 * may be the other block's.  Pixels: channels from x0 on, at base pixels from the other coordinates
 * on, moved by offsets d, which stand behind the barrier.  */
#define BOX(name, form, rank, to, since, more, list, op, inputs, last)                             \
    {                                                                                              \
        "rl_" name rank to, since,                                                                 \
            FN "void rl_" name rank to "(unsigned to, const rl_map *map, unsigned bar, " more list \
               ") {\n"                                                                             \
               "    asm volatile(\"cp.async.bulk.tensor." rank "d.shared::cluster.global." form    \
               ".mbarrier::complete_tx::bytes" op "\"\n"                                           \
               "                 \" [%0], [%1, {" inputs ", \"r\"(bar)" last " : \"memory\");\n"   \
               "}\n"                                                                               \
    }
#define BOXES(name, form, rank, list, at, mask, inputs, shorts)                                    \
    BOX(name, form, rank, "", 90, "", list, "",                                                    \
        at ";\"\n                 :: " inputs, shorts),                                            \
        BOX(name, form, rank, "_pair", 100, "", list, ".cta_group::2",                             \
            at ";\"\n                 :: " inputs, shorts),                                        \
        BOX(name, form, rank, "_all", 90, "int mask, ", list, ".multicast::cluster",               \
            at ", " mask ";\"\n                 :: " inputs, shorts ", \"h\"((short)mask)")
#define TILE(rank, list, numbers, at, mask, inputs)                                                \
    BOXES("tile_", "tile", rank, list, numbers "}], [" at "]", mask, inputs, "")
#define PIXELS(rank, list, numbers, at, offsets, mask, inputs, shorts)                             \
    BOXES("pixels_", "im2col", rank, list, numbers "}], [" at "], {" offsets "}", mask, inputs,    \
          shorts)
#define PUT(rank, list, numbers, inputs)                                                           \
    {                                                                                              \
        "rl_box_put_" rank, 90,                                                                    \
            FN "void rl_box_put_" rank "(const rl_map *map, unsigned to, " list ") {\n"            \
               "    asm volatile(\"cp.async.bulk.tensor." rank "d.global.shared::cta.tile"         \
               ".bulk_group\"\n"                                                                   \
               "                 \" [%1, {" numbers "}], [%0];\"\n"                                \
               "                 :: " inputs " : \"memory\");\n"                                   \
               "}\n"                                                                               \
    }
#define X2 "int x0, int x1"
#define X3 X2 ", int x2"
#define X4 X3 ", int x3"
#define X5 X4 ", int x4"
#define D1 ", int d0"
#define D2 D1 ", int d1"
#define D3 D2 ", int d2"
#define H1 ", \"h\"((short)d0)"
#define H2 H1 ", \"h\"((short)d1)"
#define H3 H2 ", \"h\"((short)d2)"
#define R2 "\"r\"(to), \"l\"(map), \"r\"(x0), \"r\"(x1)"
#define R3 R2 ", \"r\"(x2)"
#define R4 R3 ", \"r\"(x3)"
#define R5 R4 ", \"r\"(x4)"

const PreludeRow prelude_hopper[] = {
    /* Barriers of shared memory.  What threads write there is made known to copies and products
     * that read it by themselves, barriers that they count on too.  */
    DO_WITH("rl_barrier_init", 80, "unsigned bar, int count",
            "mbarrier.init.shared::cta.b64 [%0], %1", "\"r\"(bar), \"r\"(count)"),
    DO("rl_fence_proxy", 90, "fence.proxy.async.shared::cta"),
    DO_WITH("rl_barrier_expect", 90, "unsigned bar, int bytes",
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1",
            "\"r\"(bar), \"r\"(bytes)"),
    DO_WITH("rl_barrier_arrive", 80, "unsigned bar", "mbarrier.arrive.shared::cta.b64 _, [%0]",
            "\"r\"(bar)"),
    /* The same barrier of block `rank` of the cluster.  What it tells of are reads that are over,
     * no writes: a release for the cluster would be a fence for the whole device.  */
    {"rl_barrier_arrive_at", 90,
     FN "void rl_barrier_arrive_at(unsigned bar, int rank) {\n"
        "    asm volatile(\"{ .reg .b32 at; mapa.shared::cluster.u32 at, %0, %1;\"\n"
        "                 \" mbarrier.arrive.shared::cluster.b64 _, [at]; }\"\n"
        "                 :: \"r\"(bar), \"r\"(rank) : \"memory\");\n"
        "}\n"},
    /* A barrier of the first block of the cluster, and bytes that are to come there besides.  */
    {"rl_leading", 90,
     FN "unsigned rl_leading(unsigned bar) {\n"
        "    unsigned at;\n"
        "    asm(\"mapa.shared::cluster.u32 %0, %1, 0;\" : \"=r\"(at) : \"r\"(bar));\n"
        "    return at;\n"
        "}\n"},
    DO_WITH("rl_barrier_expect_at", 90, "unsigned bar, int bytes",
            "mbarrier.arrive.expect_tx.shared::cluster.b64 _, [%0], %1",
            "\"r\"(bar), \"r\"(bytes)"),
    {"rl_cluster_rank", 90,
     FN "int rl_cluster_rank() {\n"
        "    int rank;\n"
        "    asm(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(rank));\n"
        "    return rank;\n"
        "}\n"},
    {"rl_cluster_sync", 90,
     FN "void rl_cluster_sync() {\n"
        "    asm volatile(\"barrier.cluster.arrive.release;\"\n"
        "                 \" barrier.cluster.wait.acquire;\" ::: \"memory\");\n"
        "}\n"},
    {"rl_barrier_over", 90,
     FN "bool rl_barrier_over(unsigned bar, unsigned phase) {\n"
        "    int over;\n"
        "    asm volatile(\"{ .reg .pred p;\"\n"
        "                 \" mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\"\n"
        "                 \" selp.b32 %0, 1, 0, p; }\"\n"
        "                 : \"=r\"(over) : \"r\"(bar), \"r\"(phase) : \"memory\");\n"
        "    return over;\n"
        "}\n"},
    {"rl_barrier_wait", 90,
     FN "void rl_barrier_wait(unsigned bar, unsigned phase) {\n"
        "    while (!rl_barrier_over(bar, phase)) continue;\n"
        "}\n"},
    /* A barrier of some warps of the block.  */
    {"rl_bar_sync", 0,
     "template <int BAR, int THREADS> " FN "void rl_bar_sync() {\n"
     "    asm volatile(\"bar.sync %0, %1;\" :: \"n\"(BAR), \"n\"(THREADS) : \"memory\");\n"
     "}\n"},
    {"rl_bar_sync_at", 0,
     "template <int THREADS> " FN "void rl_bar_sync_at(unsigned bar) {\n"
     "    asm volatile(\"bar.sync %0, %1;\" :: \"r\"(bar), \"n\"(THREADS) : \"memory\");\n"
     "}\n"},
    {"rl_bar_arrive_at", 0,
     "template <int THREADS> " FN "void rl_bar_arrive_at(unsigned bar) {\n"
     "    asm volatile(\"bar.arrive %0, %1;\" :: \"r\"(bar), \"n\"(THREADS) : \"memory\");\n"
     "}\n"},
    /* One lane of the warp.  */
    {"rl_elect", 90,
     FN "bool rl_elect() {\n"
        "    int one;\n"
        "    asm volatile(\"{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }\"\n"
        "                 : \"=r\"(one) :: \"memory\");\n"
        "    return one;\n"
        "}\n"},
    /* Registers of a thread from here on; all four warps say so.  */
    {"rl_registers_leave", 90,
     "template <int N> " FN "void rl_registers_leave() {\n"
     "    asm volatile(\"setmaxnreg.dec.sync.aligned.u32 %0;\" :: \"n\"(N));\n"
     "}\n"},
    {"rl_registers_take", 90,
     "template <int N> " FN "void rl_registers_take() {\n"
     "    asm volatile(\"setmaxnreg.inc.sync.aligned.u32 %0;\" :: \"n\"(N));\n"
     "}\n"},
    /* Until the kernel launched before has ended, and what it wrote is there; the next one may be
     * launched when all blocks have said so; a pointer of which nothing is known before.  */
    DO("rl_previous_wait", 90, "griddepcontrol.wait"),
    DO("rl_next_may_begin", 90, "griddepcontrol.launch_dependents"),
    {"rl_behind", 0,
     "template <typename T> " FN "T *rl_behind(T *p) {\n"
     "    asm volatile(\"\" : \"+l\"(p) :: \"memory\");\n"
     "    return p;\n"
     "}\n"},
    {"rl_map_fetch", 90,
     FN "void rl_map_fetch(const rl_map *map) {\n"
        "    asm volatile(\"prefetch.tensormap [%0];\" :: \"l\"(map) : \"memory\");\n"
        "}\n"},
    TILE("2", X2, "%2, %3", "%4", "%5", R2),
    TILE("3", X3, "%2, %3, %4", "%5", "%6", R3),
    TILE("4", X4, "%2, %3, %4, %5", "%6", "%7", R4),
    TILE("5", X5, "%2, %3, %4, %5, %6", "%7", "%8", R5),
    PIXELS("3", X3 D1, "%2, %3, %4", "%5", "%6", "%7", R3, H1),
    PIXELS("4", X4 D2, "%2, %3, %4, %5", "%6", "%7, %8", "%9", R4, H2),
    PIXELS("5", X5 D3, "%2, %3, %4, %5, %6", "%7", "%8, %9, %10", "%11", R5, H3),

    /* A box of shared memory to a tensor, and what waits until shared memory has been read.  */
    PUT("2", X2, "%2, %3", R2),
    PUT("3", X3, "%2, %3, %4", R3),
    PUT("4", X4, "%2, %3, %4, %5", R4),
    PUT("5", X5, "%2, %3, %4, %5, %6", R5),
    DO("rl_bulk_commit", 90, "cp.async.bulk.commit_group"),
    DO_N("rl_bulk_wait", 90, "cp.async.bulk.wait_group.read"),

    /* Four bytes in one register.  */
    {"rl_bytes", 0,
     "template <typename T> " FN "unsigned rl_bytes(const T (&x)[4]) {\n"
     "    return (unsigned char)x[0] | (unsigned)(unsigned char)x[1] << 8 |\n"
     "           (unsigned)(unsigned char)x[2] << 16 | (unsigned)(unsigned char)x[3] << 24;\n"
     "}\n"},
    /* What all lanes of a warp have alike, said so that the compiler knows.  */
    {"rl_uniform", 0,
     FN "unsigned rl_uniform(unsigned x) {\n"
        "    return __shfl_sync(0xffffffffu, x, 0);\n"
        "}\n"},
    /* The lower half of the descriptor of a tile in the 128-byte swizzle at `at`, with the offset
     * in bytes that its order takes.  What is added to it moves the tile by as often 16 bytes.  */
    {"rl_wgmma_tile", 90,
     "template <int LEADING> " FN "unsigned rl_wgmma_tile(unsigned at) {\n"
     "    return LEADING >> 4 << 16 | at >> 4;\n"
     "}\n"},
    DO("rl_wgmma_begin", 90, "wgmma.fence.sync.aligned"),
    DO("rl_wgmma_commit", 90, "wgmma.commit_group.sync.aligned"),
    DO_N("rl_wgmma_wait", 90, "wgmma.wait_group.sync.aligned"),
    /* No use of the sums is moved before what stands here.  */
    {"rl_wgmma_settle", 90,
     "template <int N> " FN "void rl_wgmma_settle(float (&d)[N]) {\n"
     "    #pragma unroll\n"
     "    for (int i = 0; i < N; i++) asm volatile(\"\" : \"+f\"(d[i]) :: \"memory\");\n"
     "}\n"
     "template <typename T, int N> " FN "void rl_wgmma_settle(T (&d)[N]) {\n"
     "    #pragma unroll\n"
     "    for (int i = 0; i < N; i++) asm volatile(\"\" : \"+r\"(d[i]) :: \"memory\");\n"
     "}\n"},
};
const int prelude_hopper_rows = sizeof prelude_hopper / sizeof *prelude_hopper;
