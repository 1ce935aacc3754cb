/* What the schedulers of an SM issue per clock, and how many parts it has.
 *
 * Issue: all warps execute additions of f32, alone, in turn with funnel shifts, and in turn with
 * these and additions of pairs of f16.  The three have pipes of their own that take an instruction
 * in every second clock of a scheduler at least (where f32 and f16 share one, it is twice as wide),
 * so together they could do half as many again as is issued: the fastest of the mixes is what is.
 * Each instruction reads one or two registers, so that the register file is no limit.
 *
 * Subpartitions: a warp belongs to one of them for good.  Population counts are done by the unit of
 * the special functions, 4 lanes wide in each part: one warp keeps that of its part busy, as many
 * warps as a block has those of all.  So these are faster than one by the number of parts.  */
#include "profiler/bench.h"

static const char source[] =
    "#define ADD(c)   asm volatile(\"add.f32 %0, %0, 0f3F9D0000;\" : \"+f\"(f[c]));\n"
    "#define SHIFT(c) asm volatile(\"shf.l.wrap.b32 %0, %0, %0, 7;\" : \"+r\"(s[c]));\n"
    "#define HALF(c)  asm volatile(\"add.rn.f16x2 %0, %0, %1;\" : \"+r\"(h[c]) : \"r\"(one));\n"
    "#define COUNT(c) asm volatile(\"popc.b32 %0, %0;\" : \"+r\"(s[c]));\n"
    "enum { CHAINS = 8 };\n"
    "extern \"C\" __global__ void __launch_bounds__(1024)\n"
    "issue(const unsigned *in, unsigned *out, int n, unsigned never) {\n"
    "    const unsigned one = in[threadIdx.x + 32];\n"
    "    float f[CHAINS];\n"
    "    unsigned s[CHAINS], h[CHAINS], all = 0;\n"
    "    for (int c = 0; c < CHAINS; c++) {\n"
    "        s[c] = h[c] = in[threadIdx.x + c];\n"
    "        f[c] = __uint_as_float(s[c]);\n"
    "    }\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        #pragma unroll\n"
    "        for (int step = 0; step < STEPS; step++) {\n"
    "            const int c = step % CHAINS;\n"
    "            MIX(c)\n"
    "        }\n"
    "    }\n"
    "    for (int c = 0; c < CHAINS; c++) all ^= s[c] ^ h[c] ^ __float_as_uint(f[c]);\n"
    "    if (all == never) out[threadIdx.x] = all;\n"
    "}\n";

typedef struct {
    const char *macro;
    int instructions;         /* of a step */
} Mix;
static const Mix mix[] = {
    {"MIX(c) ADD(c)", 1},
    {"MIX(c) ADD(c) SHIFT(c)", 2},
    {"MIX(c) ADD(c) SHIFT(c) HALF(c)", 3},
};
static const Mix counting = {"MIX(c) COUNT(c)", 1};
enum { MIXES = (int)(sizeof mix / sizeof *mix), STEPS = 96, MOST_THREADS = 1024 };

typedef struct {
    Bench *b;
    CudaAddress in, out;
} Issue;

static const char *const *macros_of(Bench *b, const Mix *x) {
    const char **macros = ARENA_ARRAY(bench_arena(b), const char *, 3);
    macros[0] = arena_printf(bench_arena(b), "STEPS %d", STEPS);
    macros[1] = x->macro;
    return macros;
}

/* Instructions of a mix per clock and SM, with so many blocks of so many threads on each.  */
static Status per_clk(const Issue *m, const Mix *x, int threads, int blocks, Sample *out) {
    enum { FEW = 2, MANY = 6 };
    Issue own = *m;
    int n;
    unsigned never = 0x7fedcba9;
    int64_t sms = bench_simulated(m->b) && blocks == 1 ? 1 : bench_sms(m->b);
    BenchLaunch l = {.param = {&own.in, &own.out, &n, &never},
                     .launch = {.grid = {blocks * sms, 1, 1}, .block = {threads, 1, 1}}};
    Sample us;
    Status s = bench_kernel(m->b, source, "issue", macros_of(m->b, x), &l.kernel);
    if (!s) s = bench_slope(m->b, &l, &n, FEW, MANY, &us);
    if (s) return s;
    double clk = bench_hz(m->b) * 1e-6;
    *out = sample_over(STEPS * x->instructions * (threads / WARP) * blocks / clk, &us);
    return ST_OK;
}

/* The same with as many threads as keep every scheduler busy, also where a block has few.  */
static Status per_full_clk(const Issue *m, const Mix *x, Sample *out) {
    int threads = bench_threads(m->b, MOST_THREADS);
    return per_clk(m, x, threads, MOST_THREADS / threads, out);
}

static Status issued(const Issue *m, Figure *f) {
    Sample best = {0};
    for (int i = 0; i < MIXES; i++) {
        Sample now;
        Status s = per_full_clk(m, &mix[i], &now);
        if (s) return s;
        if (now.value > best.value) best = now;
    }
    Status s = bench_whole(m->b, &best);
    if (!s) bench_figure(m->b, f, &best, 1);
    return s;
}

static Status parts(const Issue *m, Figure *f) {
    Sample all, one;
    Status s = per_full_clk(m, &counting, &all);
    if (!s) s = per_clk(m, &counting, WARP, 1, &one);
    if (s) return s;
    Sample ratio = {.value = all.value / one.value, .spread = all.spread + one.spread,
                    .samples = all.samples < one.samples ? all.samples : one.samples,
                    .noisy = all.noisy || one.noisy};
    s = bench_whole(m->b, &ratio);
    if (!s) bench_figure(m->b, f, &ratio, 1);
    return s;
}

static Status compile(Bench *b) {
    BenchSource s[MIXES + 1];
    for (int i = 0; i < MIXES; i++) s[i] = (BenchSource){source, macros_of(b, &mix[i])};
    s[MIXES] = (BenchSource){source, macros_of(b, &counting)};
    return bench_compile(b, s, MIXES + 1);
}

Status bench_issue(Bench *b, Device *dev) {
    enum { WORDS = MOST_THREADS + 64 };
    Issue m = {.b = b};
    Status s = compile(b);
    if (!s) s = bench_buffer(b, WORDS * sizeof(unsigned), &m.in);
    if (!s) s = bench_buffer(b, WORDS * sizeof(unsigned), &m.out);
    if (!s && bench_try(b, "issue_per_clk"))
        s = bench_tried(b, issued(&m, &dev->limits.issue_per_clk));
    if (!s && bench_try(b, "subpartitions"))
        s = bench_tried(b, parts(&m, &dev->limits.subpartitions));
    return s;
}
