/* Bulk and tensor copies: one thread of an SM keeps a ring of boxes under way.
 *
 * Boxes are 32 x 64 elements of f32, 8 KB, as wide as the widest swizzle; the tensor lies in L2.
 * Loads signal an mbarrier for each place of the ring, stores are counted by groups.  */
#include "profiler/mover.h"
#include "profiler/unit.h"

#include <string.h>

enum { BOX = 8192, COLUMNS = 32, ROWS = 64, RING = 12, MOST_BOXES = 16 };

static const char prelude[] =
    "struct __align__(64) Map { u64 v[16]; };\n"
    "__device__ __forceinline__ unsigned ring(unsigned char *shared) {\n"
    "    return ((unsigned)__cvta_generic_to_shared(shared) + 1023) / 1024 * 1024;\n"
    "}\n"
    "__device__ __forceinline__ unsigned *words(unsigned char *shared) {\n"
    "    const unsigned start = (unsigned)__cvta_generic_to_shared(shared);\n"
    "    return (unsigned *)(shared + (ring(shared) - start));\n"
    "}\n"
    "__device__ __forceinline__ void expect(unsigned full, int bytes) {\n"
    "    asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\"\n"
    "                 :: \"r\"(full), \"r\"(bytes) : \"memory\");\n"
    "}\n"
    /* A wait that acquires what the whole cluster wrote empties L1, so only one does.  Copies that
     * do not arrive within two seconds never will: an error then ends the wait.  */
    "#define AWAIT(name, acquire)                                                  \\\n"
    "__device__ __forceinline__ void name(unsigned full, int parity) {             \\\n"
    "    u64 begun = 0;                                                            \\\n"
    "    for (;;) {                                                                \\\n"
    "        unsigned done;                                                        \\\n"
    "        asm volatile(\"{ .reg .pred p; mbarrier.try_wait.parity\" acquire       \\\n"
    "                     \".shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }\" \\\n"
    "                     : \"=r\"(done) : \"r\"(full), \"r\"(parity) : \"memory\");   \\\n"
    "        if (done) return;                                                     \\\n"
    "        if (begun == 0) begun = nanoseconds();                                \\\n"
    "        else if (nanoseconds() - begun > 2000000000ull) __trap();             \\\n"
    "    }                                                                         \\\n"
    "}\n"
    "AWAIT(await, \"\")\n"
    "AWAIT(await_cluster, \".acquire.cluster\")\n"
    "__device__ __forceinline__ void begin(unsigned full, int n, int arrivals) {\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\"\n"
    "                     :: \"r\"(full + 8 * i), \"r\"(arrivals) : \"memory\");\n"
    "    }\n"
    "    asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n"
    "}\n"
    /* Where box i of the tensor begins: `x` and `y` of a tile, image and row of pixels.  */
    "enum { BOXES = REGION / BOX, WIDE = BOXES < 16 ? BOXES : 16 };\n"
    "__device__ __forceinline__ void copy(const unsigned *in, unsigned *out, const Map *map,\n"
    "                                     unsigned s, unsigned full, int i) {\n"
    "    const int box = i % BOXES, x = box % WIDE * 32, y = box / WIDE * 64;\n"
    "    const int pixels = box % 16 * 2, image = box / 16;\n"
    "    const u64 line = (u64)box * BOX;\n"
    "    (void)x; (void)y; (void)pixels; (void)image; (void)line; (void)full;\n"
    "    COPY;\n"
    "}\n";

/* Loads: a place is filled again when its last box has arrived.  */
static const char load_source[] =
    "extern \"C\" __global__ void __launch_bounds__(32)\n"
    "rate(const unsigned *in, unsigned *out, u64 *clocks, int n, unsigned never,\n"
    "     const __grid_constant__ Map map) {\n"
    "    extern __shared__ unsigned char shared[];\n"
    "    const unsigned base = ring(shared), full = base + RING * BOX;\n"
    "    if (threadIdx.x != 0) return;\n"
    "    begin(full, RING, 1);\n"
    "    int at = 0, parity = 1;\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        await(full + 8 * at, parity);\n"
    "        expect(full + 8 * at, BOX);\n"
    "        copy(in, out, &map, base + at * BOX, full + 8 * at, i);\n"
    "        if (++at == RING) { at = 0; parity ^= 1; }\n"
    "    }\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < RING; i++) {\n"
    "        await(full + 8 * at, parity);\n"
    "        if (++at == RING) { at = 0; parity ^= 1; }\n"
    "    }\n"
    "    const unsigned got = words(shared)[0];\n"
    "    if (n > 0 && got == never) out[0] = got;\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(32)\n"
    "burst(const unsigned *in, unsigned *out, u64 *clocks, int n, unsigned never,\n"
    "      const __grid_constant__ Map map) {\n"
    "    extern __shared__ unsigned char shared[];\n"
    "    const unsigned base = ring(shared), full = base + RING * BOX;\n"
    "    if (threadIdx.x != 0) return;\n"
    "    begin(full, 1, 1);\n"
    "    u64 sum = 0;\n"
    "    unsigned at[BURST];\n"
    "    for (int k = 0; k < BURST; k++) at[k] = ready(base + k * BOX );\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        expect(full, BURST * BOX);\n"
    "        const u64 begun = (u64)clock64();\n"
    "        #pragma unroll\n"
    "        for (int k = 0; k < BURST; k++) copy(in, out, &map, at[k], full, k);\n"
    "        sum += (u64)clock64() - begun;\n"
    "        await(full, i & 1);\n"
    "    }\n"
    "    clocks[0] += sum;\n"
    "}\n";

/* Stores: a place is filled again when the copy from it has read it.  */
static const char store_source[] =
    "__device__ __forceinline__ void prepare(unsigned char *shared) {\n"
    "    fill((unsigned char *)words(shared), RING * BOX);\n"
    "    asm volatile(\"fence.proxy.async;\" ::: \"memory\");\n"
    "    __syncthreads();\n"
    "}\n"
    "__device__ __forceinline__ void finish() {\n"
    "    asm volatile(\"cp.async.bulk.wait_group 0;\" ::: \"memory\");\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(128)\n"
    "rate(const unsigned *in, unsigned *out, u64 *clocks, int n, unsigned never,\n"
    "     const __grid_constant__ Map map) {\n"
    "    extern __shared__ unsigned char shared[];\n"
    "    const unsigned base = ring(shared);\n"
    "    prepare(shared);\n"
    "    if (threadIdx.x != 0) return;\n"
    "    int at = 0;\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        copy(in, out, &map, base + at * BOX, 0, i);\n"
    "        asm volatile(\"cp.async.bulk.commit_group; cp.async.bulk.wait_group.read %0;\"\n"
    "                     :: \"n\"(RING - 1) : \"memory\");\n"
    "        if (++at == RING) at = 0;\n"
    "    }\n"
    "    finish();\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(128)\n"
    "burst(const unsigned *in, unsigned *out, u64 *clocks, int n, unsigned never,\n"
    "      const __grid_constant__ Map map) {\n"
    "    extern __shared__ unsigned char shared[];\n"
    "    const unsigned base = ring(shared);\n"
    "    prepare(shared);\n"
    "    if (threadIdx.x != 0) return;\n"
    "    u64 sum = 0;\n"
    "    unsigned at[BURST];\n"
    "    for (int k = 0; k < BURST; k++) at[k] = ready(base + k * BOX );\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        const u64 begun = (u64)clock64();\n"
    "        #pragma unroll\n"
    "        for (int k = 0; k < BURST; k++) copy(in, out, &map, at[k], 0, k);\n"
    "        sum += (u64)clock64() - begun;\n"
    "        asm volatile(\"cp.async.bulk.commit_group;\" ::: \"memory\");\n"
    "        finish();\n"
    "    }\n"
    "    clocks[0] += sum;\n"
    "}\n";

/* A cluster of two: each block loads halves of boxes for both.  A block tells both that a place is
 * free half a ring before either fills it again, so that they wait for data alone.  */
static const char multicast_source[] =
    "__device__ __forceinline__ void release(unsigned empty) {\n"
    "    for (int rank = 0; rank < 2; rank++) {\n"
    "        asm volatile(\"{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1;\\n\"\n"
    "                     \"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote]; }\"\n"
    "                     :: \"r\"(empty), \"r\"(rank) : \"memory\");\n"
    "    }\n"
    "}\n"
    "__device__ __forceinline__ void meet() {\n"
    "    asm volatile(\"barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\"\n"
    "                 ::: \"memory\");\n"
    "}\n"
    "__device__ __forceinline__ unsigned own_rank() {\n"
    "    unsigned rank;\n"
    "    asm volatile(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(rank));\n"
    "    return rank;\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(32)\n"
    "rate(const unsigned *in, unsigned *out, u64 *clocks, int n, unsigned never,\n"
    "     const __grid_constant__ Map map) {\n"
    "    extern __shared__ unsigned char shared[];\n"
    "    const unsigned base = ring(shared), full = base + RING * BOX, empty = full + 8 * RING;\n"
    "    const unsigned rank = own_rank();\n"
    "    if (threadIdx.x == 0) { begin(full, RING, 1); begin(empty, RING, 2); }\n"
    "    meet();\n"
    "    if (threadIdx.x == 0) {\n"
    "        #pragma unroll 1\n"
    "        for (int i = 0; i < n + RING / 2; i++) {\n"
    "            const int seen = i - RING / 2;\n"
    "            if (seen >= 0) {\n"
    "                await(full + seen % RING * 8, seen / RING & 1);\n"
    "                release(empty + seen % RING * 8);\n"
    "            }\n"
    "            if (i < n) {\n"
    "                const int at = i % RING;\n"
    "                await_cluster(empty + at * 8, i / RING & 1 ^ 1);\n"
    "                expect(full + 8 * at, BOX);\n"
    "                copy(in, out, &map, base + at * BOX + rank * (BOX / 2), full + 8 * at,\n"
    "                     2 * i + rank);\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "    __syncwarp();\n"
    "    meet();\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(32)\n"
    "burst(const unsigned *in, unsigned *out, u64 *clocks, int n, unsigned never,\n"
    "      const __grid_constant__ Map map) {\n"
    "    extern __shared__ unsigned char shared[];\n"
    "    const unsigned base = ring(shared), full = base + RING * BOX, rank = own_rank();\n"
    "    if (threadIdx.x == 0) begin(full, 1, 1);\n"
    "    u64 sum = 0;\n"
    "    unsigned at[BURST];\n"
    "    for (int k = 0; k < BURST; k++) at[k] = ready(base + k * BOX + rank * (BOX / 2));\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        if (threadIdx.x == 0) expect(full, BURST * BOX);\n"
    "        __syncwarp();\n"
    "        meet();\n"
    "        if (threadIdx.x == 0) {\n"
    "            const u64 begun = (u64)clock64();\n"
    "            #pragma unroll\n"
    "            for (int k = 0; k < BURST; k++) {\n"
    "                copy(in, out, &map, at[k], full, 2 * k);\n"
    "            }\n"
    "            sum += (u64)clock64() - begun;\n"
    "            await(full, i & 1);\n"
    "        }\n"
    "        __syncwarp();\n"
    "    }\n"
    "    meet();\n"
    "    if (blockIdx.x == 0 && threadIdx.x == 0) clocks[0] += sum;\n"
    "}\n";

#define LOADED "complete_tx::bytes"
static const struct {
    const char *mover, *source, *copy;
    int blocks;
    bool map, im2col;
} rows[] = {
    {"cp.async.bulk", load_source,
     "asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::" LOADED " [%0], [%1], %2, "
     "[%3];\" :: \"r\"(s), \"l\"((u64)in + line), \"r\"(BOX), \"r\"(full) : \"memory\")",
     1, false, false},
    {"tma.tile", load_source,
     "asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::" LOADED
     " [%0], [%1, {%2, %3}], [%4];\" :: \"r\"(s), \"l\"(map), \"r\"(x), \"r\"(y), \"r\"(full) : "
     "\"memory\")",
     1, true, false},
    {"tma.im2col", load_source,
     "asm volatile(\"cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::" LOADED
     " [%0], [%1, {%2, %2, %3, %4}], [%5], {%6, %6};\" :: \"r\"(s), \"l\"(map), \"r\"(0), "
     "\"r\"(pixels), \"r\"(image), \"r\"(full), \"h\"((unsigned short)1) : \"memory\")",
     1, true, true},
    {"tma.multicast", multicast_source,
     "asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::" LOADED
     ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;\" :: \"r\"(s), \"l\"(map), \"r\"(x), "
     "\"r\"(y), \"r\"(full), \"h\"((unsigned short)3) : \"memory\")",
     2, true, false},
    {"tma.store", store_source,
     "asm volatile(\"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], "
     "[%3];\" :: \"l\"(map), \"r\"(x), \"r\"(y), \"r\"(s) : \"memory\")",
     1, true, false},
    {"tma.reduce", store_source,
     "asm volatile(\"cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group "
     "[%0, {%1, %2}], [%3];\" :: \"l\"(map), \"r\"(x), \"r\"(y), \"r\"(s) : \"memory\")",
     1, true, false},
};

/* f32 tensors over a region: rows of boxes, or images of 32 x 32 pixels of 32 channels, a box of
 * which is 64 pixels at one position of a 3x3 filter.  */
static TensorMap map_of(size_t region, int rows_of_box, bool im2col) {
    enum { PROMOTE_256 = 3, SIDE = 32 };
    uint64_t boxes = region / BOX, wide = boxes < MOST_BOXES ? boxes : MOST_BOXES;
    TensorMap m = {.type = TM_F32, .element_stride = {1, 1, 1, 1}, .swizzle = TM_SWIZZLE_128,
                      .promotion = PROMOTE_256};
    if (!im2col) {
        m.rank = 2;
        m.dim[0] = wide * COLUMNS;
        m.dim[1] = boxes / wide * ROWS;
        m.stride[0] = m.dim[0] * 4;
        m.box[0] = COLUMNS;
        m.box[1] = (uint32_t)rows_of_box;
        return m;
    }
    m.rank = 4;
    m.im2col = true;
    m.dim[0] = COLUMNS;
    m.dim[1] = m.dim[2] = SIDE;
    m.dim[3] = region / (SIDE * SIDE * COLUMNS * 4);
    m.stride[0] = COLUMNS * 4;
    m.stride[1] = m.stride[0] * SIDE;
    m.stride[2] = m.stride[1] * SIDE;
    for (int i = 0; i < 2; i++) m.lower[i] = m.upper[i] = -1;
    m.channels = COLUMNS;
    m.pixels = ROWS;
    return m;
}

static MoverKernel kernel(Bench *b, size_t row) {
    Arena *a = bench_arena(b);
    size_t region = mover_region(b);
    TensorMap *map = ARENA_NEW(a, TensorMap);
    *map = map_of(region, ROWS / rows[row].blocks, rows[row].im2col);
    map->address = rows[row].source == store_source;
    int threads = rows[row].source == store_source ? 128 : 32;
    return (MoverKernel){
        .source = arena_printf(a, "%s%s%s", unit_prelude, prelude, rows[row].source),
        .macros = {arena_printf(a, "COPY %s", rows[row].copy), arena_printf(a, "BOX %d", BOX),
                   arena_printf(a, "RING %d", RING), arena_printf(a, "REGION %zu", region)},
        .threads = threads, .burst_threads = threads, .blocks = rows[row].blocks,
        .smem = 1024 + RING * (BOX + 16), .buffer = region, .bytes = BOX,
        .map = rows[row].map ? map : NULL};
}

Status bench_tma(Bench *b, Device *dev) {
    enum { KINDS = (int)(sizeof rows / sizeof *rows) };
    MoverKernel k[KINDS];
    Mover *mover[KINDS];
    int n = 0;
    if (bench_device(b)->cc_major < 9) return ST_OK;
    for (size_t row = 0; row < KINDS; row++) {
        for (int i = 0; i < dev->n_mover; i++) {
            if (n == KINDS || strcmp(dev->mover[i].name, rows[row].mover) != 0) continue;
            mover[n] = &dev->mover[i];
            k[n] = kernel(b, row);
            k[n++].name = rows[row].mover;
        }
    }
    Status s = mover_compile(b, k, n);
    for (int i = 0; i < n && !s; i++) s = mover_measure(b, &k[i], &mover[i]->rate, &mover[i]->cost);
    return s;
}
