/* DRAM rates over the length of contiguous runs, from whole lines down to scattered words.
 *
 * Runs of 4 bytes to 512, aligned to their length, lie one in each slot of a region of many times
 * L2; slots are several runs wide and their ends stay free, so that no two runs touch.  The slots
 * are visited in a scattered order that is a permutation (odd multiples and shifted exclusive ors
 * modulo a power of two), so nothing is touched twice.  The rate is the slope over the regions of a
 * launch, in which none of the last launches has been.  Lanes of a warp share a run as
 * far as 16 bytes each reach.  The rate counts the useful bytes: what the rest of a sector or line
 * costs is what the curve tells.  Points as in the notes on coalescing of Dao-AILab/quack.  */
#include "profiler/bench.h"

#include <math.h>

static const char source[] =
    "#if WIDTH == 16\n"
    "typedef struct { unsigned x, y, z, w; } V;\n"
    "#elif WIDTH == 8\n"
    "typedef struct { unsigned x, y; } V;\n"
    "#else\n"
    "typedef struct { unsigned x; } V;\n"
    "#endif\n"
    "__device__ __forceinline__ unsigned get(const char *p) {\n"
    "    V v;\n"
    "#if WIDTH == 16\n"
    "    asm volatile(\"ld.global.v4.u32 {%0,%1,%2,%3}, [%4];\"\n"
    "                 : \"=r\"(v.x), \"=r\"(v.y), \"=r\"(v.z), \"=r\"(v.w) : \"l\"(p));\n"
    "    return v.x ^ v.y ^ v.z ^ v.w;\n"
    "#elif WIDTH == 8\n"
    "    asm volatile(\"ld.global.v2.u32 {%0,%1}, [%2];\" : \"=r\"(v.x), \"=r\"(v.y) : \"l\"(p));\n"
    "    return v.x ^ v.y;\n"
    "#else\n"
    "    asm volatile(\"ld.global.u32 %0, [%1];\" : \"=r\"(v.x) : \"l\"(p));\n"
    "    return v.x;\n"
    "#endif\n"
    "}\n"
    "__device__ __forceinline__ void put(char *p, unsigned x) {\n"
    "#if WIDTH == 16\n"
    "    asm volatile(\"st.global.v4.u32 [%0], {%1,%1,%1,%1};\"\n"
    "                 :: \"l\"(p), \"r\"(x) : \"memory\");\n"
    "#elif WIDTH == 8\n"
    "    asm volatile(\"st.global.v2.u32 [%0], {%1,%1};\" :: \"l\"(p), \"r\"(x) : \"memory\");\n"
    "#else\n"
    "    asm volatile(\"st.global.u32 [%0], %1;\" :: \"l\"(p), \"r\"(x) : \"memory\");\n"
    "#endif\n"
    "}\n"
    /* a run ends before the last sector, or the last run, of its slot */
    "enum { LANES = RUN / WIDTH, UNROLL = 4, PLACES = (SLOT - (RUN > 32 ? RUN : 32)) / RUN };\n"
    /* the byte of the slots that lane `i` of the pass touches; `bits` of the number of slots */
    "__device__ __forceinline__ long long place(unsigned i, int bits) {\n"
    "    unsigned mask = (1u << bits) - 1, s = i / LANES & mask, half = (bits + 1) / 2;\n"
    "    s = s * 2654435761u & mask; s ^= s >> half;\n"
    "    s = s * 2246822519u & mask; s ^= s >> half;\n"
    "    unsigned at = s * 3266489917u >> 24;\n"
    "    return (long long)s * SLOT + at % PLACES * RUN + i % LANES * WIDTH;\n"
    "}\n"
    "#define REGIONS(BODY)                                                         \\\n"
    "    unsigned all = LANES << bits, step = gridDim.x * blockDim.x;              \\\n"
    "    p += ((long long)SLOT << bits) * regions;                                 \\\n"
    "    for (int r = 0; r < regions; r++, p += (long long)SLOT << bits)           \\\n"
    "        for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < all;     \\\n"
    "             i += step * UNROLL) { BODY }\n"
    "extern \"C\" __global__ void read(char *p, int bits, int regions, unsigned never) {\n"
    "    unsigned acc = 0;\n"
    "    REGIONS(unsigned v[UNROLL] = {};\n"
    "           _Pragma(\"unroll\") for (int u = 0; u < UNROLL; u++)\n"
    "               if (i + u * step < all) v[u] = get(p + place(i + u * step, bits));\n"
    "           _Pragma(\"unroll\") for (int u = 0; u < UNROLL; u++) acc ^= v[u];)\n"
    "    if (acc == never) *(unsigned *)p = acc;\n"
    "}\n"
    "extern \"C\" __global__ void write(char *p, int bits, int regions, unsigned never) {\n"
    "    unsigned x = threadIdx.x * 2654435761u ^ never;\n"
    "    REGIONS(_Pragma(\"unroll\") for (int u = 0; u < UNROLL; u++)\n"
    "               if (i + u * step < all) put(p + place(i + u * step, bits), x);)\n"
    "}\n";
enum { THREADS = 64, UNROLL = 4, MOST_POINTS = 12 };

typedef struct {
    Bench *b;
    CudaAddress p;
    double bytes;             /* of a region */
    int64_t least;            /* blocks that keep DRAM busy */
} Scatter;

/* Slots are four runs wide, and a line at least.  */
static int slot_of(int run) { return 4 * run > 128 ? 4 * run : 128; }

static const char *const *macros_of(Bench *b, int run) {
    enum { MACROS = 3 };
    Arena *a = bench_arena(b);
    const char **macros = ARENA_ARRAY(a, const char *, MACROS + 1);
    macros[0] = arena_printf(a, "RUN %d", run);
    macros[1] = arena_printf(a, "SLOT %d", slot_of(run));
    macros[2] = arena_printf(a, "WIDTH %d", run < 16 ? run : 16);
    return macros;
}

static Status rate(const Scatter *m, const char *symbol, int run, Sample *out) {
    Bench *b = m->b;
    int slot = slot_of(run), bits = 4, regions;
    unsigned never = 0x12345678;
    CudaAddress p = m->p;
    BenchLaunch l = {.param = {&p, &bits, &regions, &never}};
    int64_t blocks;
    Sample us;
    while (slot * ldexp(2, bits) <= m->bytes && bits < 26) bits++;
    Status s = bench_kernel(b, source, symbol, macros_of(b, run), &l.kernel);
    if (!s) s = bench_resident(b, &l.kernel, THREADS, 0, &blocks);
    if (s) return s;
    if (bench_simulated(b) && m->least < blocks) blocks = m->least;
    l.launch = (CudaLaunch){.grid = {blocks, 1, 1}, .block = {THREADS, 1, 1}};
    s = bench_difference(b, &l, &regions, 1, 2, &us);
    if (!s) *out = sample_over(run * ldexp(1, bits), &us);
    return s;
}

static const int full_runs[] = {4, 8, 16, 32, 64, 128, 256, 512};
static const int quick_runs[] = {4, 16, 32, 64, 512};

static const int *runs_of(const Bench *b, int *n) {
    bool is_quick = bench_quick(b);
    *n = is_quick ? (int)(sizeof quick_runs / sizeof *quick_runs)
             : (int)(sizeof full_runs / sizeof *full_runs);
    return is_quick ? quick_runs : full_runs;
}

static Status compile(Bench *b) {
    BenchSource s[MOST_POINTS];
    int n;
    const int *run = runs_of(b, &n);
    for (int i = 0; i < n; i++) s[i] = (BenchSource){source, macros_of(b, run[i])};
    return bench_compile(b, s, n);
}

static Status curve(const Scatter *m, MemoryLevel *dram, const char *of) {
    double x[MOST_POINTS];
    Sample y[MOST_POINTS];
    int n;
    const int *run = runs_of(m->b, &n);
    for (int i = 0; i < n; i++) {
        x[i] = run[i];
        Status s = rate(m, of, run[i], &y[i]);
        if (s) return s;
        y[i] = sample_times(&y[i], 1e6);
    }
    bench_level_curve(m->b, dram, LEVEL_DRAM, of, "run_length", &(BenchPoints){x, y, n});
    return ST_OK;
}

/* Blocks whose accesses, a sector each, are twice the bytes that DRAM has under way (Little's law).
 */
static int64_t busy_blocks(const Bench *b, const MemoryLevel *dram) {
    enum { AT_LEAST = 8 };
    double under_way = dram->read.value * dram->latency.value / bench_hz(b);
    double blocks = ceil(2 * under_way / (THREADS * UNROLL * SECTOR));
    int64_t least = AT_LEAST * bench_sms(b);
    return blocks > (double)least ? (int64_t)blocks : least;
}

Status bench_granularity(Bench *b, Device *dev) {
    enum { TIMES_L2 = 16, ROUNDS = 4, SLOT = 128, REGIONS = 4 };
    MemoryLevel *dram = &dev->memory[LEVEL_DRAM];
    Scatter m = {.b = b, .bytes = TIMES_L2 * (double)bench_l2_bytes(b),
                 .least = busy_blocks(b, dram)};
    double rounds = (double)(ROUNDS * m.least * THREADS * UNROLL * SLOT);
    size_t available;
    Status s = cuda_memory_free(bench_context(b), bench_diag(b), &available);
    if (m.bytes < rounds) m.bytes = rounds;
    if (!s && m.bytes > 0.8 / REGIONS * (double)available)
        m.bytes = 0.8 / REGIONS * (double)available;
    if (!s) s = bench_buffer(b, (size_t)(REGIONS * m.bytes), &m.p);
    if (!s) s = compile(b);
    if (!s && bench_try(b, "dram.read over run_length"))
        s = bench_tried(b, curve(&m, dram, "read"));
    if (!s && bench_try(b, "dram.write over run_length"))
        s = bench_tried(b, curve(&m, dram, "write"));
    return s;
}
