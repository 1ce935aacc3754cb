/* L2: its rate, what one SM takes of it, its rate over footprint, its effective capacity and its
 * lines.
 *
 * All SMs read the same data again and again, past L1; over the passes each SM reads all of it, so
 * that a cache in several parts holds a copy in each.  The rate is the slope over passes.  The
 * effective capacity is the footprint at which the rate has fallen by a twentieth from that of a
 * small one, found by bisection, whose steps become points of the curve.  In the manner of
 * te42kyfo/gpu-benches (gpu-l2-cache).
 *
 * Lines: a word takes a line of its own if no other is as near as that.  Words are read by all SMs,
 * as above, after other memory was, and then some of them by one thread, one after another: if all
 * lines are held it waits for L2 alone.  With words 2 x + 32 bytes apart, as many as lines of x
 * bytes take 0.7 of the effective capacity, they are held unless a line is larger than x, in which
 * case they take 1.4 of it or more.  All x reach over about as much memory, so that the translation
 * of addresses costs the same, and over odd numbers of sectors, so that no part of the cache is
 * left out.  */
#include "profiler/stream.h"

#include <string.h>

enum { MOST_POINTS = 24 };
static const double knee = 0.95;

typedef struct {
    Bench *b;
    MemoryLevel *l2;
    CudaAddress p;
    double x[MOST_POINTS];
    Sample y[MOST_POINTS];    /* bytes per microsecond */
    int n;
} Cache;

static Status rate(const Cache *m, StreamKind kind, double bytes, Sample *out, double *actual) {
    StreamShape shape = stream_full(m->b);
    Stream s;
    if (kind == STREAM_REWRITE) shape.unroll = 1;
    stream_refine(&shape, bytes);
    Status st = stream_open(m->b, kind, (StreamMemory){m->p, 0, bytes}, &shape, &s);
    if (!st) st = stream_rate(m->b, &s, out);
    if (actual) *actual = s.bytes;
    return st;
}

/* Adds a point, in its place; *bytes become those really read.  */
static Status point(Cache *m, double *bytes, Sample *out) {
    Sample y;
    Status s = rate(m, STREAM_REREAD, *bytes, &y, bytes);
    if (s) return s;
    *out = y;
    int at = 0;
    while (at < m->n && m->x[at] < *bytes) at++;
    if (m->n == MOST_POINTS || (at < m->n && m->x[at] == *bytes)) return ST_OK;
    memmove(m->x + at + 1, m->x + at, (size_t)(m->n - at) * sizeof *m->x);
    memmove(m->y + at + 1, m->y + at, (size_t)(m->n - at) * sizeof *m->y);
    m->x[at] = *bytes;
    m->y[at] = y;
    m->n++;
    return ST_OK;
}

/* Footprint at which the rate falls below `least`: between points that lie on either side.  */
static Status find_knee(Cache *m, double good, double bad, double least, Sample *out) {
    int steps = bench_quick(m->b) ? 4 : 5;
    Sample y;
    for (int i = 0; i < steps; i++) {
        double middle = 0.5 * (good + bad);
        Status s = point(m, &middle, &y);
        if (s) return s;
        if (middle <= good) break;
        if (y.value >= least) good = middle;
        else bad = middle;
    }
    *out = y;
    out->value = good;
    return ST_OK;
}

static Status footprints(Cache *m, double capacity) {
    static const double full[] = {0.0625, 0.125, 0.25, 0.5, 0.625, 0.75, 0.875, 1,
                                  1.125, 1.25, 1.5, 2, 4};
    static const double quick[] = {0.125, 0.25, 0.5, 0.75, 1, 1.5, 4};
    bool is_quick = bench_quick(m->b);
    int n = is_quick ? (int)(sizeof quick / sizeof *quick) : (int)(sizeof full / sizeof *full);
    double good = 0, bad = 0, least = 0;
    Sample y, size;
    for (int i = 0; i < n; i++) {
        double share = is_quick ? quick[i] : full[i], bytes = share * capacity;
        Status s = point(m, &bytes, &y);
        if (s) return s;
        if (share <= 0.25) least = knee * y.value;
        if (bad > 0) continue;
        if (y.value >= least) good = bytes;
        else bad = bytes;
    }
    if (bad <= 0 || good <= 0) return ST_OK;
    Status s = find_knee(m, good, bad, least, &size);
    if (s) return s;
    if (size.value > m->l2->capacity.value) size.value = m->l2->capacity.value;
    bench_figure(m->b, &m->l2->effective_capacity, &size, 1);
    return ST_OK;
}

static Status put_footprints(Cache *m) {
    for (int i = 0; i < m->n; i++) m->y[i] = sample_times(&m->y[i], 1e6);
    bench_level_curve(m->b, m->l2, LEVEL_L2, "read", "footprint", &(BenchPoints){m->x, m->y, m->n});
    m->n = 0;
    return ST_OK;
}

/* ---- lines ---- */
static const char line_source[] =
    "__device__ __forceinline__ unsigned get(const char *p, int i, int apart) {\n"
    "    unsigned v;\n"
    "    asm volatile(\"ld.global.cg.u32 %0, [%1];\"\n"
    "                 : \"=r\"(v) : \"l\"(p + (long long)i * apart));\n"
    "    return v;\n"
    "}\n"
    "#define ARGS const char *p, unsigned *out, int n, int apart, int hop, int loads, \\\n"
    "             unsigned never\n"
    /* every block reads all words, and begins with others */
    "extern \"C\" __global__ void __launch_bounds__(1024) touch(ARGS) {\n"
    "    int first = (int)((long long)n * blockIdx.x / gridDim.x);\n"
    "    unsigned all = 0;\n"
    "    #pragma unroll 1\n"
    "    for (int i = threadIdx.x; i < n; i += blockDim.x)\n"
    "        all ^= get(p, i < n - first ? first + i : first + i - n, apart);\n"
    "    if (all == never) *out = all;\n"
    "}\n"
    "extern \"C\" __global__ void probe(ARGS) {\n"
    "    int at = 0;\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < loads; i++) {\n"
    "        at += hop + (get(p, at, apart) == never);\n"
    "        if (at >= n) at -= n;\n"
    "    }\n"
    "    if (at == (int)never) *out = at;\n"
    "}\n";

static int common_divisor(int a, int b) { return b ? common_divisor(b, a % b) : a; }

enum { LARGEST_LINE = 1024 };

/* Words in memory, read by a kernel of the above.  What the launch points to lies in it: it stays
 * where it is.  */
typedef struct {
    BenchLaunch l;
    CudaAddress p, out;
    int n, apart, hop, loads;
    unsigned never;
} Words;

static Status words(const Cache *m, const char *symbol, CudaAddress p, double n, int apart,
                    Words *w) {
    enum { MOST_THREADS = 1024, EXACT_LOADS = 64, LOADS = 4096 };
    Bench *b = m->b;
    bool probe = !strcmp(symbol, "probe");
    int threads = bench_threads(b, MOST_THREADS);
    *w = (Words){.p = p, .n = (int)n, .apart = apart, .hop = (int)(0.618 * n), .never = 0x7fedcba9};
    w->loads = bench_simulated(b) ? EXACT_LOADS : LOADS;
    while (w->hop > 1 && common_divisor(w->n, w->hop) > 1) w->hop--;
    /* A simulated cache is in one part.  */
    int64_t blocks = probe || bench_simulated(b) ? 1 : bench_sms(b);
    w->l.launch = (CudaLaunch){.grid = {blocks, 1, 1},
                               .block = {probe ? 1 : threads, 1, 1}};
    void *const param[] = {&w->p, &w->out, &w->n, &w->apart, &w->hop, &w->loads, &w->never};
    for (size_t i = 0; i < sizeof param / sizeof *param; i++) w->l.param[i] = param[i];
    Status s = bench_buffer(b, sizeof w->never, &w->out);
    return s ? s : bench_kernel(b, line_source, symbol, NULL, &w->l.kernel);
}

/* Microseconds until a word is there, of as many as 0.7 of the effective capacity has lines of `x`
 * bytes, after other memory has driven them out and all SMs have read them again.  */
static Status wait_for_word(const Cache *m, int x, Sample *us) {
    double capacity = (double)bench_l2_bytes(m->b), n = 0.7 * m->l2->effective_capacity.value / x;
    int apart = 2 * x + SECTOR;
    size_t room = (size_t)(n * apart) / SECTOR * SECTOR + SECTOR;
    Words other, all, some;
    Status s = words(m, "touch", m->p + room, (4 * capacity - (double)room) / SECTOR, SECTOR,
                     &other);
    if (!s) s = words(m, "touch", m->p, n, apart, &all);
    if (!s) s = words(m, "probe", m->p, n, apart, &some);
    if (s) return s;
    const BenchLaunch before[] = {other.l, all.l};
    s = bench_after(m->b, before, 2, &some.l, us);
    if (!s) *us = sample_times(us, 1.0 / some.loads);
    return s;
}

/* The least that fits.  Of words that do not, a quarter and more come from DRAM.  */
static Status lines(const Cache *m, const Device *dev) {
    static const double missing = 0.12;
    double dram_us = dev->memory[LEVEL_DRAM].latency.value / bench_hz(m->b) * 1e6;
    double l2_us = m->l2->latency.value / bench_light_hz(m->b) * 1e6;
    Sample held, now;
    Status s = wait_for_word(m, LARGEST_LINE, &held);
    Sample line = held;
    line.value = LARGEST_LINE;
    for (int x = LARGEST_LINE / 2; x >= SECTOR && !s; x /= 2) {
        s = wait_for_word(m, x, &now);
        if (s || now.value - held.value > missing * (dram_us - l2_us)) break;
        line.value = x;
    }
    if (!s) bench_figure(m->b, &m->l2->line, &line, 1);
    return s;
}

/* One block on each of some SMs: several would be spread over more.  */
static Status active_sms(Cache *m, double bytes) {
    enum { IN_FLIGHT = 65536 };
    int64_t all = bench_sms(m->b);
    for (int64_t sms = 1; m->n < MOST_POINTS; sms *= bench_quick(m->b) ? 4 : 2) {
        StreamShape shape = stream_shape(m->b, IN_FLIGHT);
        Stream stream;
        if (sms > all) sms = all;
        shape.blocks = sms;
        Status s =
            stream_open(m->b, STREAM_REREAD, (StreamMemory){m->p, 0, bytes}, &shape, &stream);
        if (!s) s = stream_rate(m->b, &stream, &m->y[m->n]);
        if (s) return s;
        m->x[m->n] = (double)sms;
        m->y[m->n] = sample_times(&m->y[m->n], 1e6);
        m->n++;
        if (sms == all) break;
    }
    bench_figure(m->b, &m->l2->per_sm_max, &m->y[0], 1 / bench_light_hz(m->b));
    if (m->n >= 2)
        bench_level_curve(m->b, m->l2, LEVEL_L2, "read", "active_sms",
                          &(BenchPoints){m->x, m->y, m->n});
    return ST_OK;
}

static Status plain(const Cache *m, StreamKind kind, double bytes, Figure *f) {
    Sample y;
    Status s = rate(m, kind, bytes, &y, NULL);
    if (!s) bench_figure(m->b, f, &y, 1e6);
    return s;
}

static Status over_footprint(Cache *m, double capacity) {
    Status s = footprints(m, capacity);
    return s ? s : put_footprints(m);
}

Status bench_l2(Bench *b, Device *dev) {
    Cache m = {.b = b, .l2 = &dev->memory[LEVEL_L2]};
    double capacity = (double)bench_l2_bytes(b);
    Status s = stream_compile(b);
    if (!s) s = bench_buffer(b, (size_t)(4 * capacity), &m.p);
    if (!s && bench_try(b, "l2.read"))
        s = bench_tried(b, plain(&m, STREAM_REREAD, 0.375 * capacity, &m.l2->read));
    if (!s && bench_try(b, "l2.write"))
        s = bench_tried(b, plain(&m, STREAM_REWRITE, 0.5 * capacity, &m.l2->write));
    if (!s && bench_try(b, "l2.read over footprint"))
        s = bench_tried(b, over_footprint(&m, capacity));
    if (!s && bench_try(b, "l2.line")) s = bench_tried(b, lines(&m, dev));
    m.n = 0;
    if (!s && bench_try(b, "l2.read over active_sms"))
        s = bench_tried(b, active_sms(&m, 0.25 * capacity));
    return s;
}
