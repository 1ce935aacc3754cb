/* The SM clock under load.
 *
 * One kernel keeps every SM busy with multiply-adds, again and again until clock and power have
 * settled; the first block reads clock64 and globaltimer at its begin and end.  The ratio of the
 * differences is the clock, whatever the launch took.  globaltimer advances in steps of up to a
 * microsecond, so one launch lasts a thousand of them.  The boost clock is what the driver
 * states.  */
#include "base/clock.h"
#include "base/stats.h"
#include "profiler/harness.h"

static const char source[] =
    "extern \"C\" __global__ void spin(unsigned long long *out, float *sink, int n) {\n"
    "    unsigned long long t0, t1;\n"
    "    float a = threadIdx.x * 1e-6f + 1.0f, b = a + 0.25f, c = a + 0.5f, d = a + 0.75f;\n"
    "    long long c0 = clock64();\n"
    "    asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(t0));\n"
    "    for (int i = 0; i < n; i++) {\n"
    "#pragma unroll\n"
    "        for (int k = 0; k < 16; k++) {\n"
    "            a = __fmaf_rn(a, 0.9999f, 0.0001f); b = __fmaf_rn(b, 0.9999f, 0.0001f);\n"
    "            c = __fmaf_rn(c, 0.9999f, 0.0001f); d = __fmaf_rn(d, 0.9999f, 0.0001f);\n"
    "        }\n"
    "    }\n"
    "    long long c1 = clock64();\n"
    "    asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(t1));\n"
    "    if (a + b + c + d == 12345.0f) *sink = a;\n"
    "    if (threadIdx.x == 0 && blockIdx.x == 0) { out[0] = c1 - c0; out[1] = t1 - t0; }\n"
    "}\n";

enum { MOST_THREADS = 512 };

typedef struct {
    BenchLaunch l;
    CudaAddress out, sink;
    int n;
} Spin;

static Status prepare(Bench *b, Spin *s) {
    Status st = bench_kernel(b, source, "spin", NULL, &s->l.kernel);
    if (!st) st = bench_buffer(b, 2 * sizeof(uint64_t), &s->out);
    if (!st) st = bench_buffer(b, sizeof(float), &s->sink);
    s->l.launch = (CudaLaunch){.grid = {b->simulated ? 1 : 2 * bench_sms(b), 1, 1},
                               .block = {bench_threads(b, MOST_THREADS), 1, 1}};
    s->l.param[0] = &s->out;
    s->l.param[1] = &s->sink;
    s->l.param[2] = &s->n;
    return st;
}

/* Clock in Hz from one launch; 0 if the device's timers do not tell it.  */
static Status ratio(Bench *b, const Spin *s, double *hz) {
    uint64_t word[2];
    Status st = bench_stopped(b);
    if (!st)
        st = cuda_launch(&s->l.kernel, b->d, &s->l.launch, (void *const *)s->l.param, b->stream);
    if (!st) st = cuda_stream_wait(b->x, b->d, b->stream);
    if (!st) st = cuda_read(b->x, b->d, word, s->out, sizeof word);
    *hz = !st && word[1] ? (double)word[0] / (double)word[1] * 1e9 : 0;
    return st;
}

/* Samples until the load has lasted; the last of them are the settled clock.  */
static Status settled(Bench *b, const Spin *s, double load_s, Sample *hz) {
    enum { LAST = 15, LAST_EXACT = 3 };
    double v[LAST], begun = clock_now_s();
    int last = b->simulated ? LAST_EXACT : LAST;
    int n = 0;
    while (n < last || (!b->simulated && clock_now_s() - begun < load_s)) {
        Status st = ratio(b, s, &v[n % last]);
        if (st) return st;
        n++;
    }
    stats_sort(v, last);
    *hz = (Sample){.value = stats_median(v, last), .spread = stats_spread(v, last),
                   .samples = last};
    return ST_OK;
}

/* A ratio that is no clock: timers that count something else.  Not every driver states one.  */
static bool plausible(const Bench *b, double hz) {
    static const double least = 1e8, most = 1e10;        /* as a profile may have it */
    double stated = b->info->attribute[CUDA_ATTR_CLOCK_KHZ] * 1e3;
    if (stated <= 0) return hz >= least && hz <= most;
    return hz >= 0.1 * stated && hz <= 1.2 * stated;
}

static Status find_clocks(Bench *b, Sample *hz) {
    Spin s = {.n = b->simulated ? 100 : 5000};
    Sample light;
    Status st = prepare(b, &s);
    if (!st) st = settled(b, &s, bench_quick(b) ? 0.15 : 0.6, hz);
    s.l.launch.grid[0] = 1;
    s.n *= 4;                             /* one block of half the warps is that much faster */
    if (!st && !b->simulated) st = settled(b, &s, 0, &light);
    if (st) return st;
    if (!plausible(b, hz->value))
        return diag_error(b->d, ST_CUDA, NULL, DIAG_NOWHERE,
                          "clock64 over globaltimer is %.0f MHz, which is no clock of this device",
                          hz->value * 1e-6);
    bench_clock_is(b, hz->value);
    if (!b->simulated && plausible(b, light.value)) b->light_hz = light.value;
    return ST_OK;
}

Status bench_warm_up(Bench *b, Sample *hz) {
    Diag *d = b->d, own = diag_new(b->row);
    b->d = &own;
    Status s = find_clocks(b, hz);
    b->d = d;
    const DiagMessage *m = s ? diag_first_error(&own) : NULL;
    if (!m || s == ST_CANCELLED) return s;
    return diag_error(d, s, m->tag, DIAG_NOWHERE, "%s; figures per clock go by %.0f MHz",
                      m->message, b->hz * 1e-6);
}

static Status sustained(Bench *b, DeviceLimits *l) {
    Sample hz = {0};
    Status st = bench_warm_up(b, &hz);
    if (st) return st;
    bench_figure(b, &l->clock_sm_sustained, &hz, 1e-6);
    if (l->clock_sm_sustained.value > l->clock_sm.value)
        l->clock_sm = l->clock_sm_sustained;              /* a GPU may boost above what is stated */
    return ST_OK;
}

Status bench_clock(Bench *b, Device *dev) {
    return bench_try(b, "clock_sm_sustained") ? bench_tried(b, sustained(b, &dev->limits)) : ST_OK;
}
