/* Counters by CUPTI's range profiler: one range around the work, replayed pass by pass.  */
#include "hal/cuda_api.h"
#include "hal/cupti_api.h"

#include <dlfcn.h>
#include <math.h>
#include <stddef.h>

enum { MOST_PASSES = 64 };

typedef struct {
    Arena *a;
    Diag *d;
    CudaContext *context;
#define X(name, parameters, last) int (*name)(parameters *);
    CUPTI_COUNTER_API(X)
#undef X
    int (*cuptiGetResultString)(int result, const char **text);
    const uint8_t *config;
    size_t config_bytes;
    uint8_t *data;
    size_t data_bytes;
    bool initialized;
    void *host, *ranges;
    const char *metric[CUPTI_COUNTER_COUNT];              /* those that there are, ... */
    int which[CUPTI_COUNTER_COUNT], n;    /* ... and their places among all */
} Counting;

static const char *const metrics[] = {
#define X(id, metric) metric,
    CUPTI_COUNTERS(X)
#undef X
};

static Status refuse(Counting *c, const char *call, int code) {
    const char *text = NULL;
    if (code == CUPTI_NOT_PERMITTED || code == CUPTI_NOT_PERMITTED_HERE) {
        diag_error(c->d, ST_CUDA, "counters", DIAG_NOWHERE,
                   "this user may not read the device's counters (ERR_NVGPUCTRPERM)");
        diag_hint(c->d, "run as root, or load the driver with "
                        "NVreg_RestrictProfilingToAdminUsers=0");
        return ST_CUDA;
    }
    if (c->cuptiGetResultString(code, &text) || !text) text = "unknown";
    return diag_error(c->d, ST_CUDA, "counters", DIAG_NOWHERE, "%s failed: %s (%d)", call, text,
                      code);
}

/* A checked call for each function, which sets the size of its parameters.  */
#define X(name, parameters, last)                                                                  \
    static Status call_##name(Counting *c, parameters *p) {                                        \
        p->size = CUPTI_SIZE_TO(parameters, last);                                                 \
        int code = c->name(p);                                                                     \
        return code ? refuse(c, #name, code) : ST_OK;                                              \
    }
CUPTI_COUNTER_API(X)
#undef X

static Status resolve(Counting *c, void *library) {
    static const char *const name[] = {
#define X(symbol, parameters, last) #symbol,
        CUPTI_COUNTER_API(X)
#undef X
        "cuptiGetResultString"
    };
    void **const at[] = {
#define X(symbol, parameters, last) (void **)&c->symbol,
        CUPTI_COUNTER_API(X)
#undef X
        (void **)&c->cuptiGetResultString
    };
    if (!library)
        return diag_error(c->d, ST_CUDA, "counters", DIAG_NOWHERE, "CUPTI was not found");
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (!(*at[i] = dlsym(library, name[i])))
            return diag_error(c->d, ST_CUDA, "counters", DIAG_NOWHERE,
                              "CUPTI has no function %s: version 12.6 or newer is needed", name[i]);
    return ST_OK;
}

/* ---- which counters, in which passes ---- */
/* One by one: a GPU or a CUPTI that does not know one of them counts the others.  */
static Status add_each(Counting *c) {
    Diag *d = c->d, first = diag_new(c->a);
    Status s = ST_OK;
    for (int i = 0; i < CUPTI_COUNTER_COUNT; i++) {
        Diag own = diag_new(c->a);
        CuptiAddMetrics add = {.host = c->host, .metric = &metrics[i], .n = 1};
        c->d = &own;
        Status one = call_cuptiProfilerHostConfigAddMetrics(c, &add);
        if (!one) {
            c->which[c->n] = i;
            c->metric[c->n++] = metrics[i];
        } else if (!s) {
            s = one;
            first = own;
        }
    }
    c->d = d;
    if (c->n > 0) return ST_OK;
    *d = first;
    return s;
}

static Status choose(Counting *c) {
    CuptiChipName chip = {.device = (size_t)c->context->info.index};
    CuptiAvailability there = {.context = c->context->handle};
    Status s = call_cuptiDeviceGetChipName(c, &chip);
    if (!s) s = call_cuptiProfilerGetCounterAvailability(c, &there);
    if (s) return s;
    there.image = arena_alloc(c->a, there.bytes + 1);
    s = call_cuptiProfilerGetCounterAvailability(c, &there);
    CuptiHostInitialize host = {.type = CUPTI_PROFILER_OF_RANGES, .chip = chip.chip,
                           .availability = there.image};
    if (!s) s = call_cuptiProfilerHostInitialize(c, &host);
    if (s) return s;
    c->host = host.host;
    CuptiConfigSize size = {.host = c->host};
    s = add_each(c);
    if (!s) s = call_cuptiProfilerHostGetConfigImageSize(c, &size);
    if (s) return s;
    uint8_t *image = arena_alloc(c->a, size.bytes + 1);
    CuptiConfigImage config = {.host = c->host, .bytes = size.bytes, .image = image};
    c->config = image;
    c->config_bytes = size.bytes;
    return call_cuptiProfilerHostGetConfigImage(c, &config);
}

static Status prepare(Counting *c) {
    CuptiEnable enable = {.context = c->context->handle};
    Status s = call_cuptiRangeProfilerEnable(c, &enable);
    if (s) return s;
    c->ranges = enable.ranges;
    CuptiDataSize size = {.ranges = c->ranges, .metric = c->metric, .n = (size_t)c->n,
                     .max_ranges = 1, .max_nodes = 1};
    s = call_cuptiRangeProfilerGetCounterDataSize(c, &size);
    if (s) return s;
    c->data_bytes = size.bytes;
    c->data = arena_alloc(c->a, size.bytes + 1);
    CuptiDataInitialize data = {.ranges = c->ranges, .bytes = c->data_bytes, .data = c->data};
    CuptiSetConfig config = {.ranges = c->ranges, .config_bytes = c->config_bytes,
                             .config = c->config, .data_bytes = c->data_bytes, .data = c->data,
                             .range = CUPTI_USER_RANGE, .replay = CUPTI_USER_REPLAY,
                             .max_ranges = 1, .nesting_levels = 1, .least_level = 1,
                             .target_level = 1};
    s = call_cuptiRangeProfilerCounterDataImageInitialize(c, &data);
    return s ? s : call_cuptiRangeProfilerSetConfig(c, &config);
}

static Status passes(Counting *c, CuptiWork *work, void *user) {
    CuptiStop stop = {.ranges = c->ranges};
    CuptiObject ranges = {.object = c->ranges};
    CuptiPushRange push = {.ranges = c->ranges, .name = "roller"};
    Status s = ST_OK;
    for (int n = 0; n < MOST_PASSES && !stop.all_submitted && !s; n++) {
        s = call_cuptiRangeProfilerStart(c, &ranges);
        if (!s) s = call_cuptiRangeProfilerPushRange(c, &push);
        if (!s) s = work(user, c->d);
        if (!s) s = call_cuptiRangeProfilerPopRange(c, &ranges);
        if (!s) s = call_cuptiRangeProfilerStop(c, &stop);
    }
    if (!s && !stop.all_submitted)
        s = diag_error(c->d, ST_CUDA, "counters", DIAG_NOWHERE,
                       "CUPTI asks for more than %d passes", MOST_PASSES);
    return s;
}

/* What is not counted is NAN.  */
static Status read_values(Counting *c, double *value) {
    double counted[CUPTI_COUNTER_COUNT];
    CuptiDecode decode = {.ranges = c->ranges};
    CuptiEvaluate evaluate = {.host = c->host, .data = c->data, .bytes = c->data_bytes,
                         .metric = c->metric, .n = (size_t)c->n, .value = counted};
    Status s = call_cuptiRangeProfilerDecodeData(c, &decode);
    if (!s && decode.dropped)
        s = diag_error(c->d, ST_CUDA, "counters", DIAG_NOWHERE, "CUPTI lost %zu ranges",
                       decode.dropped);
    if (!s) s = call_cuptiProfilerHostEvaluateToGpuValues(c, &evaluate);
    for (int i = 0; i < CUPTI_COUNTER_COUNT && !s; i++) value[i] = NAN;
    for (int i = 0; i < c->n && !s; i++) value[c->which[i]] = counted[i];
    return s;
}

/* What was opened is closed, whatever happened between; the first failure is the one reported.  */
static void finish(Counting *c) {
    Diag quiet = diag_new(c->a);
    CuptiObject ranges = {.object = c->ranges}, host = {.object = c->host};
    CuptiPlain plain = {0};
    c->d = &quiet;
    if (c->ranges) call_cuptiRangeProfilerDisable(c, &ranges);
    if (c->host) call_cuptiProfilerHostDeinitialize(c, &host);
    if (c->initialized) call_cuptiProfilerDeInitialize(c, &plain);
    c->d = NULL;
}

Status cupti_count(CudaContext *x, Arena *a, Diag *d, bool ignore_environment, CuptiWork *work,
                   void *user, double value[CUPTI_COUNTER_COUNT]) {
    Counting c = {.a = a, .d = d, .context = x};
    CuptiPlain plain = {0};
    Status s = resolve(&c, cupti_library(a, ignore_environment));
    if (s) return s;
    s = call_cuptiProfilerInitialize(&c, &plain);
    c.initialized = s == ST_OK;
    if (!s) s = choose(&c);
    if (!s) s = prepare(&c);
    if (!s) s = passes(&c, work, user);
    if (!s) s = read_values(&c, value);
    finish(&c);
    return s;
}
