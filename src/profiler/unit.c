#include "profiler/unit.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* Numbers in shared memory are like those of bench_buffer: small and normal in every format.  The
 * clock is that of the loop itself: under the load of matrix units it is not that of other
 * kernels.  */
const char unit_prelude[] =
    "typedef unsigned long long u64;\n"
    "__device__ __forceinline__ unsigned bits(unsigned x) { return x; }\n"
    "__device__ __forceinline__ unsigned bits(int x) { return (unsigned)x; }\n"
    "__device__ __forceinline__ unsigned bits(float x) { return __float_as_uint(x); }\n"
    "__device__ __forceinline__ unsigned bits(double x) {\n"
    "    return (unsigned)__double2loint(x) ^ (unsigned)__double2hiint(x);\n"
    "}\n"
    "__device__ __forceinline__ u64 nanoseconds() {\n"
    "    u64 t;\n"
    "    asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(t));\n"
    "    return t;\n"
    "}\n"
    "__device__ __forceinline__ unsigned number(unsigned i) {\n"
    "    i *= 0x9e3779b9u;\n"
    "    return ((i ^ i >> 15) & 0x83778377u) | 0x38013801u;\n"
    "}\n"
    "__device__ __forceinline__ void fill(unsigned char *shared, int bytes) {\n"
    "    #pragma unroll 1\n"
    "    for (int i = threadIdx.x; i < bytes / 16; i += blockDim.x) {\n"
    "        ((uint4 *)shared)[i] = make_uint4(number(i), number(i + 7919), number(i + 15838),\n"
    "                                          number(i + 23757));\n"
    "    }\n"
    "}\n"
    /* Numbers that are in registers when they are needed.  */
    "__device__ __forceinline__ unsigned ready(unsigned x) {\n"
    "    asm(\"mov.u32 %0, %0;\" : \"+r\"(x));\n"
    "    return x;\n"
    "}\n"
    "__device__ __forceinline__ u64 ready(u64 x) {\n"
    "    asm(\"mov.u64 %0, %0;\" : \"+l\"(x));\n"
    "    return x;\n"
    "}\n"
    "#define BEGIN const u64 ns = nanoseconds(), clk = (u64)clock64();\n"
    "#define END                                                     \\\n"
    "    const u64 clk_end = (u64)clock64(), ns_end = nanoseconds(); \\\n"
    "    if (blockIdx.x == 0 && threadIdx.x == 0) {                  \\\n"
    "        clocks[0] += clk_end - clk;                             \\\n"
    "        clocks[1] += ns_end - ns;                               \\\n"
    "    }\n";

const char *unit_ones(const ComputeUnit *u) {
    return u->scale == TE_F8UE8M0 ? "0x7f7f7f7f" : "0x38383838";
}

enum { OPERAND_BYTES = 1 << 16, MOST_POINTS = 8, FEW = 4, MANY = 32 };

/* Iterations of the longer launch; those of a warpgroup are long.  */
static int many_of(const UnitKernel *k) {
    enum { MANY_LONG = 12 };
    return k->warps > 1 ? MANY_LONG : MANY;
}

/* FLOP of one instruction of its scope, or results where the unit does not multiply.  */
static double operations(const ComputeUnit *u) {
    double lanes = u->scope == SCOPE_THREAD ? 32 : 1;
    double per_result = u->b == HAL_NO_DTYPE ? 1 : 2.0 * u->k.to * te_dtype_values(u->a);
    return lanes * u->m.to * u->n.to * per_result;
}

/* What every launch of a unit has; `n` and `never` are parameters of the kernel.  */
typedef struct {
    Bench *b;
    const UnitKernel *k;
    CudaAddress in, out, clocks;
    int n;
    unsigned never;
    double operations;
    int most_warps;           /* of a block that fits on an SM */
} Run;

static Status prepare(Run *r) {
    Status s = bench_buffer(r->b, 2 * sizeof(uint64_t), &r->clocks);
    if (!s) s = bench_buffer(r->b, OPERAND_BYTES, &r->out);
    return s ? s : bench_buffer(r->b, OPERAND_BYTES, &r->in);
}

static Status launch_of(Run *r, bool latency, int warps, int64_t blocks, BenchLaunch *l) {
    const char *source = latency ? r->k->latency_source : r->k->rate_source;
    const char *const *macros = latency ? r->k->latency_macros : r->k->rate_macros;
    int64_t smem = r->k->smem + r->k->smem_per_part * ((warps + 3) / 4);
    int cluster = r->k->cluster > 1 ? r->k->cluster : 1;
    if (blocks < cluster) blocks = cluster;
    *l = (BenchLaunch){.launch = {.grid = {blocks / cluster * cluster, 1, 1},
                                  .block = {32 * warps, 1, 1}, .dynamic_smem = smem},
                       .param = {&r->in, &r->out, &r->clocks, &r->n, &r->never}};
    for (int i = 0; i < 3 && cluster > 1; i++) l->launch.cluster[i] = i ? 1 : cluster;
    Status s = bench_kernel(r->b, source, "unit", macros, &l->kernel);
    return s || smem == 0 ? s : cuda_kernel_smem(&l->kernel, bench_diag(r->b), smem);
}

/* Lowers most_warps until such a block fits.  */
static Status fit(Run *r) {
    for (; r->most_warps > r->k->warps; r->most_warps -= r->k->warps) {
        BenchLaunch l;
        int blocks = 0;
        Status s = launch_of(r, false, r->most_warps, 1, &l);
        if (!s) s = cuda_blocks_per_sm(&l.kernel, bench_diag(r->b), l.launch.block[0],
                                       l.launch.dynamic_smem, &blocks);
        if (s || blocks > 0) return s;
    }
    return ST_OK;
}

/* Beyond these shares of the known clocks the device's timer was too coarse.  */
static const double least_hz = 0.3, most_hz = 1.05;

/* All of them, since the clock goes by the load.  Simulated clocks do not.  */
static int64_t busy_sms(const Bench *b) { return bench_simulated(b) ? 1 : bench_sms(b); }

/* A launch with so many warps on every SM, whose clock is watched from now on.  */
static Status watched(Run *r, int warps, BenchLaunch *l) {
    static const uint64_t zero[2];
    Status s = launch_of(r, false, warps, busy_sms(r->b), l);
    return s ? s : cuda_write(bench_context(r->b), bench_diag(r->b), r->clocks, zero, sizeof zero);
}

/* The mean clock of its runs, from clocks and nanoseconds that they have added up; 0: they took
 * none.  */
static Status watched_hz(Run *r, double *hz) {
    uint64_t took[2] = {0};
    Status s = cuda_read(bench_context(r->b), bench_diag(r->b), took, r->clocks, sizeof took);
    *hz = took[1] ? (double)took[0] / (double)took[1] * 1e9 : 0;
    return s;
}

/* Microseconds of an iteration with so many warps on every SM, and the clock meanwhile.  */
static Status rate_point(Run *r, int warps, int few, int many, Sample *us, double *hz) {
    BenchLaunch l;
    double own = 0;
    Status s = watched(r, warps, &l);
    if (!s) s = bench_slope(r->b, &l, &r->n, few, many, us);
    if (!s) s = watched_hz(r, &own);
    *hz = bench_hz(r->b);
    if (s || bench_simulated(r->b)) return s;
    if (own > least_hz * *hz && own < most_hz * bench_light_hz(r->b)) *hz = own;
    return ST_OK;
}

/* FLOP (or op) per clock and SM is this over the microseconds of an iteration.  */
static double work(const Run *r, int warps, double hz) {
    return r->operations * r->k->rate_steps * (warps / r->k->warps) / (hz * 1e-6);
}

/* Numbers of warps: all powers of two, or the ends and what one warp on each scheduler does.  */
static int points(const Run *r, int *warps) {
    int most = r->most_warps, n = 0;
    for (int w = r->k->warps; w < most; w *= 2) {
        if (!bench_quick(r->b) || w == r->k->warps || w == 4 || w == 8) warps[n++] = w;
    }
    warps[n++] = most;
    return n;
}

static Status measure_rate(Run *r, ComputeUnit *u, double *us_most) {
    int warps[MOST_POINTS], n = points(r, warps), best = 0;
    double x[MOST_POINTS];
    Sample y[MOST_POINTS];
    for (int i = 0; i < n; i++) {
        double hz;
        Sample us;
        Status s = rate_point(r, warps[i], FEW, many_of(r->k), &us, &hz);
        if (s) return s;
        x[i] = warps[i];
        y[i] = sample_over(work(r, warps[i], hz), &us);
        if (y[i].value >= y[best].value) best = i;
        *us_most = us.value;
    }
    bench_figure(r->b, &u->rate, &y[best], 1);
    if (n > 1) bench_member_curve(r->b, &u->warps, "warps", u->rate.unit, &(BenchPoints){x, y, n});
    return ST_OK;
}

static Status measure_columns(Run *r, ComputeUnit *u) {
    int n = r->k->n_narrower;
    double x[MOST_POINTS], hz;
    Sample y[MOST_POINTS], us;
    for (int i = 0; i < n; i++) {
        Run own = *r;
        own.k = &r->k->narrower[i];
        own.operations *= (double)own.k->columns / u->n.to;
        Status s = rate_point(&own, r->most_warps, FEW, many_of(r->k), &us, &hz);
        if (s) return s;
        x[i] = own.k->columns;
        y[i] = sample_over(work(&own, r->most_warps, hz), &us);
    }
    x[n] = u->n.to;
    y[n] = (Sample){u->rate.value, u->rate.spread, u->rate.samples, u->rate.noisy};
    bench_member_curve(r->b, &u->columns, "columns", u->rate.unit, &(BenchPoints){x, y, n + 1});
    return ST_OK;
}

static Status measure_latency(Run *r, ComputeUnit *u) {
    BenchLaunch l;
    Sample clk;
    Status s = launch_of(r, true, r->k->warps, 1, &l);
    l.clocks = r->clocks;
    if (!s) s = bench_clocks(r->b, &l, &r->n, 1, 3, &clk);
    if (s) return s;
    clk = sample_times(&clk, 1.0 / r->k->latency_steps);
    if (r->k->latency_less) clk.value -= r->k->latency_less->value;
    s = bench_positive(r->b, &clk);
    if (s) return s;
    u->latency.unit = "clk";
    bench_figure(r->b, &u->latency, &clk, 1);
    return ST_OK;
}

/* In launches so long that clock and power settle; counted in sustained clocks of the profile, so
 * that this share of the rate times that clock is what the device delivers.  */
static Status measure_sustained(Run *r, Device *dev, double us, ComputeUnit *u) {
    static const double long_us = 2e4;
    double hz, iterations = long_us / us;
    int many = iterations < 1e9 ? (int)iterations : (int)1e9, warps = r->most_warps;
    int least = many_of(r->k);
    if (bench_simulated(r->b) || many < least) many = least;
    Sample slope;
    Status s = rate_point(r, warps, many / least * FEW, many, &slope, &hz);
    if (s) return s;
    Figure *share = &hal_own_family(bench_result(r->b), dev, u)->sustained;
    share->unit = "%";
    bench_rate(r->b, share, &slope, 100 * work(r, warps, hal_clock_hz(dev)) / u->rate.value);
    if (share->value > 100) share->value = 100;
    return ST_OK;
}

static void rest(void) {
    struct timespec left = {.tv_nsec = 50000000};
    while (nanosleep(&left, &left) && errno == EINTR) continue;
}

/* The mean clock of one launch of about `long_us`, by SMs that have rested.  `us`: of an
 * iteration.  */
static Status clock_point(Run *r, double long_us, double us, Sample *mhz) {
    BenchLaunch l;
    double hz = 0;
    Status s = watched(r, r->most_warps, &l);
    r->n = long_us / us < 1e9 ? (int)(long_us / us) + 1 : 1000000000;
    rest();
    if (!s) s = bench_run(r->b, &l);
    if (!s) s = watched_hz(r, &hz);
    *mhz = (Sample){.value = hz * 1e-6, .samples = 1};
    return s ? s : bench_positive(r->b, mhz);
}

/* How the clock falls as the board's power is used up.  */
static Status measure_clock(Run *r, Device *dev, double us, ComputeUnit *u) {
    static const double busy_us[] = {1e3, 1e4, 1e5};
    enum { POINTS = sizeof busy_us / sizeof *busy_us };
    Sample mhz[POINTS];
    for (int i = 0; i < POINTS; i++) {
        Status s = clock_point(r, busy_us[i], us, &mhz[i]);
        if (s) return s;
    }
    Curve *clock = &hal_own_family(bench_result(r->b), dev, u)->clock;
    bench_member_curve(r->b, clock, "clock", "MHz", &(BenchPoints){busy_us, mhz, POINTS});
    return ST_OK;
}

/* Warpgroups' latencies are dear to compile.  */
static bool has_latency(const Bench *b, const UnitKernel *k) {
    return k->warps == 1 || !bench_quick(b) || bench_simulated(b);
}

/* Does unit i speak for its family?  The first one that is measured does.  */
static bool leads(ComputeUnit *const *unit, int i) {
    bool first = true;
    for (int k = 0; k < i && first; k++)
        first = !*unit[i]->family || strcmp(unit[k]->family, unit[i]->family);
    return first;
}

typedef enum { RATE, LATENCY, COLUMNS, SUSTAINED, CLOCK, KINDS } Kind;

static Status measure(Run *r, Device *dev, Kind kind, double *us, ComputeUnit *u) {
    Status s = r->in ? ST_OK : prepare(r);
    if (!s) s = fit(r);
    if (!s && kind >= COLUMNS && *us <= 0)
        s = diag_error(bench_diag(r->b), ST_CUDA, NULL, DIAG_NOWHERE, "the rate is not known");
    if (s) return s;
    switch (kind) {
    case RATE: return measure_rate(r, u, us);
    case LATENCY: return measure_latency(r, u);
    case COLUMNS: return measure_columns(r, u);
    case CLOCK: return measure_clock(r, dev, *us, u);
    default: return measure_sustained(r, dev, *us, u);
    }
}

static Status measure_all(Bench *b, Device *dev, ComputeUnit *u, const UnitKernel *k, bool leads) {
    static const char *const name[] = {"rate", "latency", "rate over n", "sustained",
                                       "clock over busy"};
    Run r = {.b = b, .k = k, .never = 0x7fedcba9, .operations = operations(u) * k->copies,
             .most_warps = k->most_warps};
    double us = 0;
    Status s = ST_OK;
    for (Kind kind = RATE; kind < KINDS && !s; kind++) {
        bool wanted = kind == RATE || (kind == LATENCY ? has_latency(b, k) : !bench_quick(b));
        if (kind == COLUMNS && k->n_narrower == 0) wanted = false;
        if (kind >= SUSTAINED && !leads) wanted = false;
        if (kind == CLOCK && (bench_simulated(b) || u->b == HAL_NO_DTYPE)) wanted = false;
        const char *whose = kind >= SUSTAINED && *u->family ? u->family : u->name;
        const char *figure = arena_printf(bench_arena(b), "%s.%s", whose, name[kind]);
        if (wanted && bench_try(b, figure)) s = bench_tried(b, measure(&r, dev, kind, &us, u));
    }
    return s;
}

Status unit_measure(Bench *b, Device *dev, ComputeUnit *const *unit, const UnitKernel *k,
                    int n) {
    int sources = 0, most = 1;
    for (int i = 0; i < n; i++) most += 2 + k[i].n_narrower;
    BenchSource *source = ARENA_ARRAY(bench_arena(b), BenchSource, most);
    for (int i = 0; i < n; i++) {
        source[sources++] = (BenchSource){k[i].rate_source, k[i].rate_macros};
        if (has_latency(b, &k[i]))
            source[sources++] = (BenchSource){k[i].latency_source, k[i].latency_macros};
        for (int w = 0; w < k[i].n_narrower && !bench_quick(b); w++)
            source[sources++] = (BenchSource){k[i].narrower[w].rate_source,
                                              k[i].narrower[w].rate_macros};
    }
    Status s = bench_compile(b, source, sources);
    for (int i = 0; i < n && !s; i++) s = measure_all(b, dev, unit[i], &k[i], leads(unit, i));
    return s;
}
