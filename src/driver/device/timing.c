#include "driver/device/timing.h"
#include "base/clock.h"
#include "base/stats.h"
#include "hal/nvml.h"


enum {
    FEWEST = 5, MOST = 51,    /* samples of a series */
    SHORT_US = 50,            /* programs shorter than this are repeated in two graphs ... */
    GRAPH_US = 100,           /* ... that differ by about this time */
    MOST_REPEATS = 50
};
static const double hopeless = 3, steady = 0.002, default_budget_s = 1;

/* ---- one sample ---- */
typedef struct {
    Run *run;
    Arena *arena;
    Diag *d;
    const TimingOptions *o;
    CudaContext *context;
    CudaStream stream;
    CudaEvent begin, middle, end;
    CudaFlush flush;
    CudaGraph once, more;     /* NULL: launch the kernels one by one */
    int repeats;              /* of the program in `more`, beyond the one in `once` */
} Timer;

static Status submit(Timer *t) {
    Status s = ST_OK;
    for (int i = 0; i < t->run->build->program.n_kernel && !s; i++)
        s = run_submit(t->run, t->d, i, t->stream);
    return s;
}

static void waits(const Timer *t, bool waiting) {
    const RunPlace *p = &t->run->place;
    if (p->waits) p->waits(p->user, waiting);
}

/* From the beginning of the first kernel to the end of the last.  */
static Status activity_us(Timer *t, double *us) {
    const CuptiKernel *k;
    int n, want = run_kernels(t->run);
    Status s = cupti_kernels(t->o->cupti, t->d, &k, &n);
    if (s) return s;
    if (n != want)
        return diag_error(t->d, ST_CUDA, "cupti", DIAG_NOWHERE, "CUPTI saw %d kernels, not %d", n,
                          want);
    uint64_t end = 0;
    for (int i = 0; i < n; i++)
        if (k[i].end_ns > end) end = k[i].end_ns;
    *us = (double)(end - k[0].begin_ns) * 1e-3;
    return ST_OK;
}

/* The flush keeps the device busy while the host submits what is timed, so that no gap is.  */
static Status take_sample(Timer *t, bool cold, double *us) {
    Status s = t->o->cupti ? cupti_reset(t->o->cupti, t->d) : ST_OK;
    if (!s && cold) s = cuda_flush(t->context, t->d, t->stream, &t->flush);
    if (!s) s = cuda_event_record(t->context, t->d, t->begin, t->stream);
    if (!s) s = submit(t);
    if (!s) s = cuda_event_record(t->context, t->d, t->end, t->stream);
    if (!s) s = cuda_event_wait(t->context, t->d, t->end);
    if (s) return s;
    if (t->o->cupti) return activity_us(t, us);
    return cuda_elapsed_us(t->context, t->d, t->begin, t->end, us);
}

/* Of a short program, by the difference of two graphs: what it takes to begin and end one, and to
 * record events, is the same for both, as long as the device is busy when the first one comes.  */
static Status take_difference(Timer *t, double *us) {
    double once, more;
    Status s = cuda_graph_launch(t->context, t->d, t->more, t->stream);
    if (!s) s = cuda_event_record(t->context, t->d, t->begin, t->stream);
    if (!s) s = cuda_graph_launch(t->context, t->d, t->once, t->stream);
    if (!s) s = cuda_event_record(t->context, t->d, t->middle, t->stream);
    if (!s) s = cuda_graph_launch(t->context, t->d, t->more, t->stream);
    if (!s) s = cuda_event_record(t->context, t->d, t->end, t->stream);
    if (!s) s = cuda_event_wait(t->context, t->d, t->end);
    if (!s) s = cuda_elapsed_us(t->context, t->d, t->begin, t->middle, &once);
    if (!s) s = cuda_elapsed_us(t->context, t->d, t->middle, t->end, &more);
    if (!s) *us = more > once ? (more - once) / t->repeats : more / (t->repeats + 1);
    return s;
}

static Status sample(Timer *t, bool cold, double *us) {
    waits(t, true);
    Status s = t->more && !cold ? take_difference(t, us) : take_sample(t, cold, us);
    waits(t, false);
    return s;
}

/* ---- a series of samples ---- */
static bool enough(const Timer *t, double *us, int n, double begun) {
    double best = t->o->best_us;
    if (n >= 2 && best > 0) {
        double least = us[0];
        for (int i = 1; i < n; i++)
            if (us[i] < least) least = us[i];
        if (least > hopeless * best) return true;
    }
    if (n < FEWEST) return false;
    double sorted[MOST];
    for (int i = 0; i < n; i++) sorted[i] = us[i];
    stats_sort(sorted, n);
    double budget = t->o->budget_s > 0 ? t->o->budget_s : default_budget_s;
    return stats_spread(sorted, n) <= steady || clock_now_s() - begun > budget;
}

/* A median of samples whose spread has settled, or of as many as there is time for.  */
static Status series(Timer *t, bool cold, double us[MOST], int *n) {
    double begun = clock_now_s(), first;
    *n = 0;
    Status s = sample(t, cold, &first);   /* warms up, and is not counted */
    while (!s && *n < MOST) {
        s = sample(t, cold, &us[*n]);
        if (s) return s;
        ++*n;
        if (enough(t, us, *n, begun)) break;
    }
    stats_sort(us, *n);
    return s;
}

static Status capture(Timer *t, int times, CudaGraph *out) {
    waits(t, true);
    Status s = cuda_graph_begin(t->context, t->d, t->stream), done;
    for (int i = 0; i < times && !s; i++) s = submit(t);
    done = cuda_graph_end(t->context, t->arena, t->d, t->stream, out);
    waits(t, false);
    return s ? s : done;
}

/* A short program is repeated often enough to be long beside what an event tells.  Those of the
 * simulated driver are exact.  */
static Status capture_both(Timer *t, double us) {
    if (t->o->cupti || us >= SHORT_US) return ST_OK;
    bool exact = cuda_simulated(cuda_context_driver(t->context));
    double want = exact ? 0 : us > 0 ? GRAPH_US / us : MOST_REPEATS;
    CudaGraph more;
    t->repeats = want > MOST_REPEATS ? MOST_REPEATS : (int)want + 1;
    Status s = capture(t, 1, &t->once);
    if (!s) s = capture(t, 1 + t->repeats, &more);
    if (!s) t->more = more;
    return s;
}

static double clock_mhz(const Nvml *n, const CudaDeviceInfo *info) {
    NvmlState now = nvml_state(n);
    return now.clock_sm_mhz ? now.clock_sm_mhz : info->attribute[CUDA_ATTR_CLOCK_KHZ] * 1e-3;
}

/* What the simulated driver counts leaves nothing to be written behind.  */
static Status prepare(Timer *t) {
    bool reads = !cuda_simulated(cuda_context_driver(t->context));
    waits(t, true);
    Status s = cuda_stream(t->context, t->arena, t->d, &t->stream);
    if (!s) s = cuda_event(t->context, t->arena, t->d, &t->begin);
    if (!s) s = cuda_event(t->context, t->arena, t->d, &t->middle);
    if (!s) s = cuda_event(t->context, t->arena, t->d, &t->end);
    if (!s) s = cuda_flush_create(t->context, t->arena, t->d, reads, &t->flush);
    waits(t, false);
    return s;
}

Status timing_measure(Run *r, Arena *a, Diag *d, const TimingOptions *o, Timing *out) {
    CudaContext *x = r->place.context;
    const CudaDeviceInfo *info = cuda_context_device(x);
    Timer t = {.run = r, .arena = a, .d = d, .o = o, .context = x, .repeats = 1};
    double us[MOST];
    int n;
    *out = (Timing){.by_events = !o->cupti};
    Status s = prepare(&t);
    if (!s) s = series(&t, true, us, &n);
    if (s) return s;
    out->clock_mhz = clock_mhz(cuda_simulated(cuda_context_driver(x)) ? NULL
                                                                      : nvml_open(a, info->uuid),
                               info);
    out->cold_us = stats_median(us, n);
    out->spread = stats_spread(us, n);
    out->samples = n;
    s = capture_both(&t, out->cold_us);
    if (!s) s = series(&t, false, us, &n);
    if (!s) out->warm_us = stats_median(us, n);
    return s;
}
