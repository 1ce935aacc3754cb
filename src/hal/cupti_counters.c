/* Counters by CUPTI's range profiler: one range around the work, replayed pass by pass.
 *
 * Own structures with the layout of cupti_range_profiler.h, cupti_profiler_host.h and
 * cupti_profiler_target.h; each begins with its size.  */
#include "hal/cuda_api.h"
#include "hal/cupti.h"

#include <dlfcn.h>
#include <stddef.h>

enum {
    PROFILER_OF_RANGES = 0, USER_RANGE = 2, USER_REPLAY = 3, MOST_PASSES = 64,
    NOT_PERMITTED = 35, NOT_PERMITTED_HERE = 40
};

typedef struct {
    size_t size;
    void *reserved;
} Plain;
typedef struct {
    size_t size;
    void *reserved;
    size_t device;
    const char *chip;
} ChipName;
typedef struct {
    size_t size;
    void *reserved, *context;
    size_t bytes;
    uint8_t *image;
} Availability;
typedef struct {
    size_t size;
    void *reserved;
    int type;
    const char *chip;
    const uint8_t *availability;
    void *host;
} HostInitialize;
typedef struct {
    size_t size;
    void *reserved, *object;              /* of the host or the range profiler */
} Object;
typedef struct {
    size_t size;
    void *reserved, *host;
    const char *const *metric;
    size_t n;
} AddMetrics;
typedef struct {
    size_t size;
    void *reserved, *host;
    size_t bytes;
} ConfigSize;
typedef struct {
    size_t size;
    void *reserved, *host;
    size_t bytes;
    uint8_t *image;
} ConfigImage;
typedef struct {
    size_t size;
    void *reserved, *context, *ranges;
} Enable;
typedef struct {
    size_t size;
    void *reserved, *ranges;
    const char *const *metric;
    size_t n, max_ranges;
    uint32_t max_nodes;
    size_t bytes;
} DataSize;
typedef struct {
    size_t size;
    void *reserved, *ranges;
    size_t bytes;
    uint8_t *data;
} DataInitialize;
typedef struct {
    size_t size;
    void *reserved, *ranges;
    size_t config_bytes;
    const uint8_t *config;
    size_t data_bytes;
    uint8_t *data;
    int range, replay;
    size_t max_ranges;
    uint16_t nesting_levels, least_level;
    size_t pass;
    uint16_t target_level;
} SetConfig;
typedef struct {
    size_t size;
    void *reserved, *ranges;
    const char *name;
} PushRange;
typedef struct {
    size_t size;
    void *reserved, *ranges;
    size_t pass, target_level;
    uint8_t all_submitted;
} Stop;
typedef struct {
    size_t size;
    void *reserved, *ranges;
    size_t dropped;
} Decode;
typedef struct {
    size_t size;
    void *reserved, *host;
    const uint8_t *data;
    size_t bytes, range;
    const char *const *metric;
    size_t n;
    double *value;
} Evaluate;
_Static_assert(sizeof(SetConfig) == 96 && sizeof(DataSize) == 64 && sizeof(Evaluate) == 72,
               "CUPTI's layout");

/*    name                                          its parameters, less the padding at the end */
#define COUNTER_API(X)                                                                             \
    X(cuptiProfilerInitialize,                      Plain,          reserved)                      \
    X(cuptiDeviceGetChipName,                       ChipName,       chip)                          \
    X(cuptiProfilerGetCounterAvailability,          Availability,   image)                         \
    X(cuptiProfilerHostInitialize,                  HostInitialize, host)                          \
    X(cuptiProfilerHostConfigAddMetrics,            AddMetrics,     n)                             \
    X(cuptiProfilerHostGetConfigImageSize,          ConfigSize,     bytes)                         \
    X(cuptiProfilerHostGetConfigImage,              ConfigImage,    image)                         \
    X(cuptiRangeProfilerEnable,                     Enable,         ranges)                        \
    X(cuptiRangeProfilerGetCounterDataSize,         DataSize,       bytes)                         \
    X(cuptiRangeProfilerCounterDataImageInitialize, DataInitialize, data)                          \
    X(cuptiRangeProfilerSetConfig,                  SetConfig,      target_level)                  \
    X(cuptiRangeProfilerStart,                      Object,         object)                        \
    X(cuptiRangeProfilerPushRange,                  PushRange,      name)                          \
    X(cuptiRangeProfilerPopRange,                   Object,         object)                        \
    X(cuptiRangeProfilerStop,                       Stop,           all_submitted)                 \
    X(cuptiRangeProfilerDecodeData,                 Decode,         dropped)                       \
    X(cuptiProfilerHostEvaluateToGpuValues,         Evaluate,       value)                         \
    X(cuptiRangeProfilerDisable,                    Object,         object)                        \
    X(cuptiProfilerHostDeinitialize,                Object,         object)                        \
    X(cuptiProfilerDeInitialize,                    Plain,          reserved)

typedef struct {
    Arena *a;
    Diag *d;
    CudaContext *context;
#define X(name, parameters, last) int (*name)(parameters *);
    COUNTER_API(X)
#undef X
    int (*cuptiGetResultString)(int result, const char **text);
    const uint8_t *config;
    size_t config_bytes;
    uint8_t *data;
    size_t data_bytes;
    bool initialized;
    void *host, *ranges;
} Counting;

static const char *const metrics[] = {
#define X(id, metric) metric,
    CUPTI_COUNTERS(X)
#undef X
};

#define SIZE_TO(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

static Status refuse(Counting *c, const char *call, int code) {
    const char *text = NULL;
    if (code == NOT_PERMITTED || code == NOT_PERMITTED_HERE) {
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
        p->size = SIZE_TO(parameters, last);                                                       \
        int code = c->name(p);                                                                     \
        return code ? refuse(c, #name, code) : ST_OK;                                              \
    }
COUNTER_API(X)
#undef X

static Status resolve(Counting *c, void *library) {
    static const char *const name[] = {
#define X(symbol, parameters, last) #symbol,
        COUNTER_API(X)
#undef X
        "cuptiGetResultString"
    };
    void **const at[] = {
#define X(symbol, parameters, last) (void **)&c->symbol,
        COUNTER_API(X)
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
static Status choose(Counting *c) {
    ChipName chip = {.device = (size_t)c->context->info.index};
    Availability there = {.context = c->context->handle};
    Status s = call_cuptiDeviceGetChipName(c, &chip);
    if (!s) s = call_cuptiProfilerGetCounterAvailability(c, &there);
    if (s) return s;
    there.image = arena_alloc(c->a, there.bytes + 1);
    s = call_cuptiProfilerGetCounterAvailability(c, &there);
    HostInitialize host = {.type = PROFILER_OF_RANGES, .chip = chip.chip,
                           .availability = there.image};
    if (!s) s = call_cuptiProfilerHostInitialize(c, &host);
    if (s) return s;
    c->host = host.host;
    AddMetrics add = {.host = c->host, .metric = metrics, .n = CUPTI_COUNTER_COUNT};
    ConfigSize size = {.host = c->host};
    s = call_cuptiProfilerHostConfigAddMetrics(c, &add);
    if (!s) s = call_cuptiProfilerHostGetConfigImageSize(c, &size);
    if (s) return s;
    uint8_t *image = arena_alloc(c->a, size.bytes + 1);
    ConfigImage config = {.host = c->host, .bytes = size.bytes, .image = image};
    c->config = image;
    c->config_bytes = size.bytes;
    return call_cuptiProfilerHostGetConfigImage(c, &config);
}

static Status prepare(Counting *c) {
    Enable enable = {.context = c->context->handle};
    Status s = call_cuptiRangeProfilerEnable(c, &enable);
    if (s) return s;
    c->ranges = enable.ranges;
    DataSize size = {.ranges = c->ranges, .metric = metrics, .n = CUPTI_COUNTER_COUNT,
                     .max_ranges = 1, .max_nodes = 1};
    s = call_cuptiRangeProfilerGetCounterDataSize(c, &size);
    if (s) return s;
    c->data_bytes = size.bytes;
    c->data = arena_alloc(c->a, size.bytes + 1);
    DataInitialize data = {.ranges = c->ranges, .bytes = c->data_bytes, .data = c->data};
    SetConfig config = {.ranges = c->ranges, .config_bytes = c->config_bytes, .config = c->config,
                        .data_bytes = c->data_bytes, .data = c->data, .range = USER_RANGE,
                        .replay = USER_REPLAY, .max_ranges = 1, .nesting_levels = 1,
                        .least_level = 1, .target_level = 1};
    s = call_cuptiRangeProfilerCounterDataImageInitialize(c, &data);
    return s ? s : call_cuptiRangeProfilerSetConfig(c, &config);
}

static Status passes(Counting *c, CuptiWork *work, void *user) {
    Stop stop = {.ranges = c->ranges};
    Object ranges = {.object = c->ranges};
    PushRange push = {.ranges = c->ranges, .name = "roller"};
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

static Status read_values(Counting *c, double *value) {
    Decode decode = {.ranges = c->ranges};
    Evaluate evaluate = {.host = c->host, .data = c->data, .bytes = c->data_bytes,
                         .metric = metrics, .n = CUPTI_COUNTER_COUNT, .value = value};
    Status s = call_cuptiRangeProfilerDecodeData(c, &decode);
    if (!s && decode.dropped)
        s = diag_error(c->d, ST_CUDA, "counters", DIAG_NOWHERE, "CUPTI lost %zu ranges",
                       decode.dropped);
    return s ? s : call_cuptiProfilerHostEvaluateToGpuValues(c, &evaluate);
}

/* What was opened is closed, whatever happened between; the first failure is the one reported.  */
static void finish(Counting *c) {
    Diag quiet = diag_new(c->a);
    Object ranges = {.object = c->ranges}, host = {.object = c->host};
    Plain plain = {0};
    c->d = &quiet;
    if (c->ranges) call_cuptiRangeProfilerDisable(c, &ranges);
    if (c->host) call_cuptiProfilerHostDeinitialize(c, &host);
    if (c->initialized) call_cuptiProfilerDeInitialize(c, &plain);
    c->d = NULL;
}

Status cupti_count(CudaContext *x, Arena *a, Diag *d, bool ignore_environment, CuptiWork *work,
                   void *user, double value[CUPTI_COUNTER_COUNT]) {
    Counting c = {.a = a, .d = d, .context = x};
    Plain plain = {0};
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
