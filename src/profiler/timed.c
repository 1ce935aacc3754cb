/* Timed launches.  */
#include "base/clock.h"
#include "base/stats.h"
#include "profiler/harness.h"

#include <limits.h>
#include <math.h>

enum {
    FEWEST = 5, MOST = 31,    /* samples of a series */
    FEWEST_EXACT = 2,         /* where equal work takes equal time */
    ATTEMPTS = 3,             /* series of a figure that stays noisy */
    MOST_REPEATS = 1000       /* launches in one graph */
};
static const double steady = 0.003, noisy = 0.05;
/* What is timed takes at least this long: events resolve half a microsecond, and the gaps around
 * them differ by about as much.  */
static const double quick_us = 100, full_us = 300, longest_us = 2e4, least_clocks = 20e3;
static const double spin_us = 30;
static const double quick_budget_s = 0.01, full_budget_s = 0.04;

/* ---- one launch, or several ---- */
typedef struct {
    const BenchLaunch *l;
    int repeats;
    CudaGraph graph;          /* NULL: submitted one by one */
    bool spins;               /* a thread that waits keeps the device busy meanwhile */
    const BenchLaunch *before;            /* these do instead */
    int n_before;
    CudaAddress clocks;       /* 0: microseconds by events; else clocks, from this word */
    int *count;               /* NULL: one launch is the sample; else a slope */
    int few, many;
    bool fixed;               /* these and no multiples */
} Timed;

static Status launch(Bench *b, const BenchLaunch *l) {
    return cuda_launch(&l->kernel, b->d, &l->launch, (void *const *)l->param, b->stream);
}

/* One thread that waits.  */
static const char spin_source[] =
    "extern \"C\" __global__ void spin(long long clocks) {\n"
    "    long long begin = clock64();\n"
    "    while (clock64() - begin < clocks) { }\n"
    "}\n";

static Status spin(Bench *b, int64_t blocks, double us) {
    long long clocks = (long long)(us * 1e-6 * b->hz);
    BenchLaunch l = {.param = {&clocks}, .launch = {.grid = {blocks, 1, 1}, .block = {1, 1, 1}}};
    Status s = bench_kernel(b, spin_source, "spin", NULL, &l.kernel);
    return s ? s : launch(b, &l);
}

static Status submit(Bench *b, const Timed *t) {
    Status s = ST_OK;
    for (int i = 0; i < t->repeats && !s; i++) s = launch(b, t->l);
    return s;
}

static Status take_us(Bench *b, const Timed *t, double *us) {
    Status s = t->spins ? spin(b, 1, spin_us) : ST_OK;
    for (int i = 0; i < t->n_before && !s; i++) s = launch(b, &t->before[i]);
    if (!s) s = cuda_event_record(b->x, b->d, b->begin, b->stream);
    if (!s) s = t->graph ? cuda_graph_launch(b->x, b->d, t->graph, b->stream) : submit(b, t);
    if (!s) s = cuda_event_record(b->x, b->d, b->end, b->stream);
    if (!s) s = cuda_event_wait(b->x, b->d, b->end);
    if (!s) s = cuda_elapsed_us(b->x, b->d, b->begin, b->end, us);
    if (t->repeats) *us /= t->repeats;
    return s;
}

static Status take_clocks(Bench *b, const Timed *t, double *clocks) {
    uint64_t word = 0;
    double us;
    Status s = cuda_write(b->x, b->d, t->clocks, &word, sizeof word);
    if (!s) s = take_us(b, t, &us);
    if (!s) s = cuda_read(b->x, b->d, &word, t->clocks, sizeof word);
    *clocks = (double)word;
    return s;
}

/* Clocks fall while the host compiles: a device that had nothing to do is woken first.  */
static Status wake(Bench *b) {
    static const double idle_s = 0.05, wake_us = 3e4;
    if (b->simulated || clock_now_s() - b->busy_s < idle_s) return ST_OK;
    return spin(b, bench_sms(b), wake_us);
}

static Status take_once(Bench *b, const Timed *t, double *v) {
    *v = 0;
    Status s = bench_stopped(b);
    if (!s) s = wake(b);
    if (!s) s = t->clocks ? take_clocks(b, t, v) : take_us(b, t, v);
    b->busy_s = clock_now_s();
    return s;
}

static Status take_ends(Bench *b, const Timed *t, double *few, double *many) {
    *t->count = t->few;
    Status s = take_once(b, t, few);
    *t->count = t->many;
    return s ? s : take_once(b, t, many);
}

static Status take(Bench *b, const Timed *t, double *v) {
    if (!t->count) return take_once(b, t, v);
    double few, many;
    Status s = take_ends(b, t, &few, &many);
    *v = (many - few) / (t->many - t->few);
    return s;
}

/* ---- series ---- */
static Status series(Bench *b, const Timed *t, Sample *out) {
    double v[MOST], sorted[MOST], begun = clock_now_s();
    double budget = b->o->quick ? quick_budget_s : full_budget_s;
    int n = 0;
    while (n < MOST) {
        Status s = take(b, t, &v[n]);
        if (s) return s;
        n++;
        for (int i = 0; i < n; i++) sorted[i] = v[i];
        stats_sort(sorted, n);
        if (n < (b->simulated ? FEWEST_EXACT : FEWEST)) continue;
        if (stats_median(sorted, n) > 0 && stats_spread(sorted, n) <= steady) break;
        /* Figures of a simulated device do not depend on how fast its host is.  */
        if (n >= FEWEST && (b->simulated || clock_now_s() - begun > budget)) break;
    }
    double spread = stats_spread(sorted, n), value = stats_median(sorted, n);
    *out = (Sample){value, spread, n, spread > noisy || (t->count && value <= 0)};
    return ST_OK;
}

/* More iterations, as far as an int and patience reach.  */
static void lengthen(Timed *t, double by, double longest) {
    double most = (double)(INT_MAX / 2) / t->many;
    if (by > longest) by = longest;
    if (by > most) by = most;
    if (by < 2) return;
    t->few *= (int)by;
    t->many *= (int)by;
}

/* Multiplies the iterations until they last long enough, which warms up as well.  */
static Status scale(Bench *b, Timed *t) {
    enum { ROUNDS = 6, BLIND = 16 };
    double want = t->clocks ? least_clocks : b->o->quick ? quick_us : full_us;
    double longest = t->clocks ? 100 * least_clocks : longest_us;
    for (int i = 0; i < ROUNDS; i++) {
        double few, many;
        Status s = take_ends(b, t, &few, &many);
        if (s || b->simulated || (i > 0 && many - few >= want)) return s;
        double gain = many - few > 0 ? want * 1.2 / (many - few) : BLIND;
        lengthen(t, gain > BLIND ? BLIND : gain + 1, longest / (many > 1 ? many : 1));
    }
    return ST_OK;
}

/* Time grows with work: a slope that does not is noise, however calm.  */
static bool better(const Sample *x, const Sample *y) {
    if ((x->value > 0) != (y->value > 0)) return x->value > 0;
    return x->spread < y->spread;
}

Status bench_positive(Bench *b, const Sample *s) {
    if (s->value > 0) return ST_OK;
    diag_error(b->d, ST_CUDA, NULL, DIAG_NOWHERE, "a time does not grow with the work");
    diag_hint(b->d, "is another program using the device?");
    return ST_CUDA;
}

Status bench_whole(Bench *b, const Sample *s) {
    static const double off = 0.3;
    if (s->value >= 1 - off && fabs(s->value - round(s->value)) <= off) return ST_OK;
    return diag_error(b->d, ST_CUDA, NULL, DIAG_NOWHERE, "%.2f is far from a whole number",
                      s->value);
}

/* The best of several series, until one is calm.  */
static Status measure(Bench *b, Timed *t, Sample *out) {
    Status s = ST_OK;
    for (int i = 0; i < ATTEMPTS && !s; i++) {
        Sample now;
        s = series(b, t, &now);
        if (!s && (i == 0 || better(&now, out))) *out = now;
        if (s || !out->noisy) break;
        if (t->count && !t->fixed) lengthen(t, 2, 2);
    }
    return s || !t->count ? s : bench_positive(b, out);
}

static Status capture(Bench *b, Timed *t) {
    CudaGraph graph = NULL;
    Status s = cuda_graph_begin(b->x, b->d, b->stream);
    if (s) return s;
    s = submit(b, t);
    Status ended = cuda_graph_end(b->x, b->row, b->d, b->stream, &graph);
    t->graph = graph;
    return s ? s : ended;
}

Status bench_repeat(Bench *b, const BenchLaunch *l, int repeats, bool graph, Sample *us) {
    Timed t = {.l = l, .repeats = repeats, .spins = graph};
    double warm;
    Status s = take(b, &t, &warm);
    if (!s && graph && repeats) s = capture(b, &t);
    if (!s && t.graph) s = take(b, &t, &warm);
    return s ? s : measure(b, &t, us);
}

Status bench_run(Bench *b, const BenchLaunch *l) {
    Status s = bench_stopped(b);
    if (!s) s = launch(b, l);
    return s ? s : cuda_stream_wait(b->x, b->d, b->stream);
}

Status bench_after(Bench *b, const BenchLaunch *before, int n, const BenchLaunch *l, Sample *us) {
    Timed t = {.l = l, .repeats = 1, .before = before, .n_before = n};
    double warm;
    Status s = take(b, &t, &warm);
    return s ? s : measure(b, &t, us);
}

Status bench_time(Bench *b, const BenchLaunch *l, Sample *us) {
    Timed t = {.l = l, .repeats = 1, .spins = true};
    double first, second, want = b->o->quick ? quick_us : full_us;
    Status s = take(b, &t, &first);
    if (!s) s = take(b, &t, &second);
    if (s) return s;
    if (b->simulated || second >= want) return measure(b, &t, us);
    double repeats = second > 0 ? want / second + 1 : MOST_REPEATS;
    return bench_repeat(b, l, repeats > MOST_REPEATS ? MOST_REPEATS : (int)repeats, true, us);
}

Status bench_slope(Bench *b, const BenchLaunch *l, int *count, int few, int many, Sample *us) {
    Timed t = {.l = l, .repeats = 1, .count = count, .few = few, .many = many,
               .spins = !b->simulated};
    Status s = scale(b, &t);
    return s ? s : measure(b, &t, us);
}

Status bench_difference(Bench *b, const BenchLaunch *l, int *count, int few, int many,
                        Sample *us) {
    Timed t = {.l = l, .repeats = 1, .count = count, .few = few, .many = many, .fixed = true,
               .spins = !b->simulated};
    double first, second;
    Status s = take_ends(b, &t, &first, &second);
    return s ? s : measure(b, &t, us);
}

Status bench_clocks(Bench *b, const BenchLaunch *l, int *count, int few, int many, Sample *clk) {
    Timed t = {.l = l, .repeats = 1, .count = count, .few = few, .many = many,
               .clocks = l->clocks};
    Status s = scale(b, &t);
    return s ? s : measure(b, &t, clk);
}
