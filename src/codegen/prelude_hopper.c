#include "codegen/prelude.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Rows of the prelude for rings of stages: barriers in shared memory, copies of boxes by tensor
 * maps, and products of warpgroups, which read shared memory by descriptors.  */

#define FN "__device__ __forceinline__ "

/* A box of a tensor to shared memory, at coordinates x; the barrier counts its bytes.  To all
 * blocks of `mask`: to the same place of each, and its barrier counts them.  */
#define BOX(rank, to, more, list, op, inputs, last)                                                \
    {                                                                                              \
        "rl_tile_" rank to, 90,                                                                    \
            FN "void rl_tile_" rank to "(unsigned to, const rl_map *map, unsigned bar, " more list \
               ") {\n"                                                                             \
               "    asm volatile(\"cp.async.bulk.tensor." rank "d.shared::cluster.global.tile"     \
               ".mbarrier::complete_tx::bytes" op "\"\n"                                           \
               "                 \" [%0], [%1, {" inputs ", \"r\"(bar)" last " : \"memory\");\n"   \
               "}\n"                                                                               \
    }
#define TILE(rank, list, numbers, at, mask, inputs)                                                \
    BOX(rank, "", "", list, "", numbers "}], [" at "];\"\n                 :: " inputs, ""),       \
        BOX(rank, "_all", "int mask, ", list, ".multicast::cluster",                               \
            numbers "}], [" at "], " mask ";\"\n                 :: " inputs,                      \
            ", \"h\"((short)mask)")
#define X2 "int x0, int x1"
#define X3 X2 ", int x2"
#define X4 X3 ", int x3"
#define X5 X4 ", int x4"
#define R2 "\"r\"(to), \"l\"(map), \"r\"(x0), \"r\"(x1)"
#define R3 R2 ", \"r\"(x2)"
#define R4 R3 ", \"r\"(x3)"
#define R5 R4 ", \"r\"(x4)"

const PreludeRow prelude_hopper[] = {
    /* Barriers of shared memory.  What threads write there is made known to copies and products
     * that read it by themselves, barriers that they count on too.  */
    {"rl_barrier_init", 80,
     FN "void rl_barrier_init(unsigned bar, int count) {\n"
        "    asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\"\n"
        "                 :: \"r\"(bar), \"r\"(count) : \"memory\");\n"
        "}\n"},
    {"rl_fence_proxy", 90,
     FN "void rl_fence_proxy() {\n"
        "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
        "}\n"},
    {"rl_barrier_expect", 90,
     FN "void rl_barrier_expect(unsigned bar, int bytes) {\n"
        "    asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\"\n"
        "                 :: \"r\"(bar), \"r\"(bytes) : \"memory\");\n"
        "}\n"},
    {"rl_barrier_arrive", 80,
     FN "void rl_barrier_arrive(unsigned bar) {\n"
        "    asm volatile(\"mbarrier.arrive.shared::cta.b64 _, [%0];\"\n"
        "                 :: \"r\"(bar) : \"memory\");\n"
        "}\n"},
    /* The same barrier of block `rank` of the cluster.  */
    {"rl_barrier_arrive_at", 90,
     FN "void rl_barrier_arrive_at(unsigned bar, int rank) {\n"
        "    asm volatile(\"{ .reg .b32 at; mapa.shared::cluster.u32 at, %0, %1;\"\n"
        "                 \" mbarrier.arrive.release.cluster.shared::cluster.b64 _, [at]; }\"\n"
        "                 :: \"r\"(bar), \"r\"(rank) : \"memory\");\n"
        "}\n"},
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
    {"rl_map_fetch", 90,
     FN "void rl_map_fetch(const rl_map *map) {\n"
        "    asm volatile(\"prefetch.tensormap [%0];\" :: \"l\"(map) : \"memory\");\n"
        "}\n"},
    TILE("2", X2, "%2, %3", "%4", "%5", R2),
    TILE("3", X3, "%2, %3, %4", "%5", "%6", R3),
    TILE("4", X4, "%2, %3, %4, %5", "%6", "%7", R4),
    TILE("5", X5, "%2, %3, %4, %5, %6", "%7", "%8", R5),

    /* A tile in the 128-byte swizzle at `at`, with the byte offsets that its order takes.  */
    {"rl_wgmma_tile", 90,
     "template <int LEADING, int STRIDE> " FN "unsigned long long rl_wgmma_tile(unsigned at) {\n"
     "    const unsigned leading = LEADING >> 4, stride = STRIDE >> 4 | 1u << 30;\n"
     "    return (unsigned long long)stride << 32 | (leading << 16 | (at >> 4 & 0x3fffu));\n"
     "}\n"},
    {"rl_wgmma_begin", 90,
     FN "void rl_wgmma_begin() {\n"
        "    asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
        "}\n"},
    {"rl_wgmma_commit", 90,
     FN "void rl_wgmma_commit() {\n"
        "    asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n"
        "}\n"},
    {"rl_wgmma_wait", 90,
     "template <int N> " FN "void rl_wgmma_wait() {\n"
     "    asm volatile(\"wgmma.wait_group.sync.aligned %0;\" :: \"n\"(N) : \"memory\");\n"
     "}\n"},
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

/* ---- products of warpgroups: d += a * b ---- */

/* Types of operands and sums, by their names and by those of the instruction.  */
static const struct {
    int k;
    const char *type, *acc, *op_type, *op_acc;
} product[] = {
    {16, "f16", "f32", "f16", "f32"},   {16, "bf16", "f32", "bf16", "f32"},
    {16, "f16", "f16", "f16", "f16"},   {8, "tf32", "f32", "tf32", "f32"},
    {32, "e4m3", "f32", "e4m3", "f32"}, {32, "e5m2", "f32", "e5m2", "f32"},
    {32, "e4m3", "f16", "e4m3", "f16"}, {32, "e5m2", "f16", "e5m2", "f16"},
    {32, "i8", "i32", "s8", "s32"},     {32, "u8", "i32", "u8", "s32"},
};
enum { TYPES = sizeof product / sizeof *product, MOST_N = 256, N_STEP = 8 };

/* rl_wgmma_m64nNkK_TYPE_ACC: which types, TYPES if it is no such name; *n: columns.  */
static int read_product(const char *name, size_t len, int *n) {
    const size_t stem = strlen(PRELUDE_PRODUCT);
    char own[PRELUDE_NAME];
    *n = 0;
    if (len < stem || memcmp(name, PRELUDE_PRODUCT, stem) != 0) return TYPES;
    for (size_t i = stem; i < len && name[i] >= '0' && name[i] <= '9' && *n <= MOST_N; i++)
        *n = *n * 10 + (name[i] - '0');
    if (*n < N_STEP || *n > MOST_N || *n % N_STEP) return TYPES;
    for (int i = 0; i < TYPES; i++) {
        int used = snprintf(own, sizeof own, PRELUDE_PRODUCT "%dk%d_%s_%s", *n, product[i].k,
                            product[i].type, product[i].acc);
        if ((size_t)used == len && memcmp(own, name, len) == 0) return i;
    }
    return TYPES;
}

typedef struct {
    char *text;
    size_t len;
} Text;

__attribute__((format(printf, 2, 3))) static void put(Text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->text + t->len, PRELUDE_TEXT - t->len, format, args);
    va_end(args);
    t->len += (size_t)n;
}

/* Operands of 16 bits lie in either order.  */
size_t prelude_product(const char *name, size_t len, char text[PRELUDE_TEXT]) {
    Text t = {text, 0};
    int n, which = read_product(name, len, &n);
    if (which == TYPES) return 0;
    const char *acc = product[which].op_acc, *type = product[which].op_type;
    bool whole = strcmp(acc, "s32") == 0, half = strcmp(acc, "f16") == 0;
    bool orders = product[which].k == 16;
    const char *kind = whole || half ? "r" : "f";
    int sums = n / (half ? 4 : 2);
    if (orders) put(&t, "template <int A_TURNED, int B_TURNED>\n");
    put(&t, FN "void %.*s(%s *d, unsigned long long a, unsigned long long b) {\n", (int)len, name,
        whole ? "int" : half ? "unsigned" : "float");
    put(&t, "    asm volatile(\"wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s {\"\n", n,
        product[which].k, acc, type, type);
    for (int i = 0; i < sums; i++) {
        bool first = i % 16 == 0, last = i + 1 == sums;
        put(&t, "%s%%%d%s", first ? "                 \"" : "", i, last ? "}, \"\n" : ", ");
        if (i % 16 == 15 && !last) put(&t, "\"\n");
    }
    put(&t, "                 \"%%%d, %%%d, 1%s", sums, sums + 1, whole ? "" : ", 1, 1");
    if (orders) put(&t, ", %%%d, %%%d", sums + 2, sums + 3);
    for (int i = 0; i < sums; i++)
        put(&t, "%s\"+%s\"(d[%d])", i == 0 ? ";\"\n                 : "
                                   : i % 8 ? ", " : ",\n                   ", kind, i);
    put(&t, "\n                 : \"l\"(a), \"l\"(b)%s);\n}\n",
        orders ? ", \"n\"(A_TURNED), \"n\"(B_TURNED)" : "");
    return t.len;
}
