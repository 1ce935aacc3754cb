/* A CUPTI for tests: the functions that counting and timing call, and what they insist on.
 *
 * Counter i of one run is 1000 (i + 1).  Each flush tells of FAKE_KERNELS kernels (2), the last one
 * first: kernel i runs from 100 (i + 1) ns for i + 1 ns.  FAKE_CUPTI="FUNCTION=CODE,..."
 * makes functions fail, "lacks=N" has no counter N, "lost" loses a range, "endless" never has
 * enough passes.  Built by
 * tests/counters.sh.  */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    INVALID = 1, WRONG_ORDER = 2, WRONG_SIZE = 3,
    PASSES = 3, CONFIG_BYTES = 40, DATA_BYTES = 64
};

static struct {
    int initialized, host, added, enabled, image, configured, started, pushed, stopped, decoded;
    size_t metrics, asked, number[64];    /* number: which counter each of the metrics is */
} state;
static char host_object, range_object;

static int fails(const char *name) {
    size_t len = strlen(name);
    for (const char *rule = getenv("FAKE_CUPTI"); rule; rule = strchr(rule, ',')) {
        if (*rule == ',') rule++;
        if (strncmp(rule, name, len) == 0 && rule[len] == '=') return atoi(rule + len + 1);
    }
    return 0;
}

static int rule_is(const char *text) {
    const char *rule = getenv("FAKE_CUPTI");
    return rule && strcmp(rule, text) == 0;
}

#define EXPORT __attribute__((visibility("default")))
/* Begins a function: the injected failure, the size of the parameters, and their reserved word.  */
#define ENTER(bytes)                                                                               \
    if (fails(__func__)) return fails(__func__);                                                   \
    if (*(const size_t *)p != (bytes) || ((void *const *)p)[1]) return WRONG_SIZE;
#define AFTER(condition)                                                                           \
    if (!(condition)) return WRONG_ORDER;

EXPORT int cuptiGetResultString(int code, const char **text) {
    if (fails(__func__)) return fails(__func__);
    *text = code == WRONG_ORDER ? "FAKE_WRONG_ORDER" : code == WRONG_SIZE ? "FAKE_WRONG_SIZE"
                                                                          : "FAKE_ERROR";
    return 0;
}

EXPORT int cuptiProfilerInitialize(void *p) {
    ENTER(16)
    state.initialized = 1;
    return 0;
}
EXPORT int cuptiProfilerDeInitialize(void *p) {
    ENTER(16)
    AFTER(state.initialized && !state.enabled && !state.host)
    return 0;
}

EXPORT int cuptiDeviceGetChipName(void *p) {
    struct { size_t size; void *reserved; size_t device; const char *chip; } *x = p;
    ENTER(32)
    AFTER(state.initialized)
    x->chip = "GX100";
    return x->device ? INVALID : 0;
}

EXPORT int cuptiProfilerGetCounterAvailability(void *p) {
    struct { size_t size; void *reserved, *context; size_t bytes; uint8_t *image; } *x = p;
    ENTER(40)
    if (!x->context) return INVALID;
    if (x->image && x->bytes != 5) return INVALID;
    if (x->image) memcpy(x->image, "there", 5);
    x->bytes = 5;
    return 0;
}

EXPORT int cuptiProfilerHostInitialize(void *p) {
    struct { size_t size; void *reserved; int type; const char *chip; const uint8_t *image;
             void *host; } *x = p;
    ENTER(48)
    if (x->type != 0 || strcmp(x->chip, "GX100") != 0 || memcmp(x->image, "there", 5) != 0)
        return INVALID;
    x->host = &host_object;
    state.host = 1;
    return 0;
}
EXPORT int cuptiProfilerHostDeinitialize(void *p) {
    ENTER(24)
    AFTER(state.host && ((void **)p)[2] == &host_object)
    state.host = 0;
    return 0;
}

EXPORT int cuptiProfilerHostConfigAddMetrics(void *p) {
    struct { size_t size; void *reserved, *host; const char **metric; size_t n; } *x = p;
    ENTER(40)
    AFTER(state.host && x->host == &host_object)
    if (x->n != 1 || !strstr(*x->metric, "__") || !strstr(*x->metric, ".sum")) return INVALID;
    size_t number = state.asked++;
    if (getenv("FAKE_CUPTI") && fails("lacks") == (int)number + 1) return INVALID;
    state.number[state.metrics++] = number;
    return 0;
}

EXPORT int cuptiProfilerHostGetConfigImageSize(void *p) {
    struct { size_t size; void *reserved, *host; size_t bytes; } *x = p;
    ENTER(32)
    AFTER(state.metrics)
    x->bytes = CONFIG_BYTES;
    return 0;
}
EXPORT int cuptiProfilerHostGetConfigImage(void *p) {
    struct { size_t size; void *reserved, *host; size_t bytes; uint8_t *image; } *x = p;
    ENTER(40)
    if (x->bytes != CONFIG_BYTES) return INVALID;
    memset(x->image, 7, CONFIG_BYTES);
    return 0;
}

EXPORT int cuptiRangeProfilerEnable(void *p) {
    struct { size_t size; void *reserved, *context, *ranges; } *x = p;
    ENTER(32)
    if (!x->context) return INVALID;
    x->ranges = &range_object;
    state.enabled = 1;
    return 0;
}
EXPORT int cuptiRangeProfilerDisable(void *p) {
    ENTER(24)
    AFTER(state.enabled && ((void **)p)[2] == &range_object)
    state.enabled = 0;
    return 0;
}

EXPORT int cuptiRangeProfilerGetCounterDataSize(void *p) {
    struct { size_t size; void *reserved, *ranges; const char **metric; size_t n, ranges_most;
             uint32_t nodes; size_t bytes; } *x = p;
    ENTER(64)
    AFTER(state.enabled && x->ranges == &range_object && x->n == state.metrics)
    if (x->ranges_most != 1 || x->nodes < x->ranges_most) return INVALID;
    x->bytes = DATA_BYTES;
    return 0;
}
EXPORT int cuptiRangeProfilerCounterDataImageInitialize(void *p) {
    struct { size_t size; void *reserved, *ranges; size_t bytes; uint8_t *data; } *x = p;
    ENTER(40)
    if (x->bytes != DATA_BYTES) return INVALID;
    memset(x->data, 0, DATA_BYTES);
    state.image = 1;
    return 0;
}

EXPORT int cuptiRangeProfilerSetConfig(void *p) {
    struct { size_t size; void *reserved, *ranges; size_t config_bytes; const uint8_t *config;
             size_t data_bytes; uint8_t *data; int range, replay; size_t most;
             uint16_t levels, least; size_t pass; uint16_t target; } *x = p;
    ENTER(90)
    AFTER(state.image && x->ranges == &range_object)
    if (x->config_bytes != CONFIG_BYTES || x->config[0] != 7 || x->data_bytes != DATA_BYTES ||
        x->range != 2 || x->replay != 3 || x->most != 1 || x->levels != 1 || x->least != 1 ||
        x->pass != 0 || x->target != 1)
        return INVALID;
    state.configured = 1;
    return 0;
}

EXPORT int cuptiRangeProfilerStart(void *p) {
    ENTER(24)
    AFTER(state.configured && !state.started)
    state.started = 1;
    return 0;
}
EXPORT int cuptiRangeProfilerPushRange(void *p) {
    ENTER(32)
    AFTER(state.started && !state.pushed && ((void **)p)[3])
    state.pushed = 1;
    return 0;
}
EXPORT int cuptiRangeProfilerPopRange(void *p) {
    ENTER(24)
    AFTER(state.pushed)
    state.pushed = 0;
    return 0;
}
EXPORT int cuptiRangeProfilerStop(void *p) {
    struct { size_t size; void *reserved, *ranges; size_t pass, level; uint8_t all; } *x = p;
    ENTER(41)
    AFTER(state.started && !state.pushed)
    state.started = 0;
    state.stopped++;
    x->all = state.stopped == PASSES && !rule_is("endless");
    return 0;
}

EXPORT int cuptiRangeProfilerDecodeData(void *p) {
    struct { size_t size; void *reserved, *ranges; size_t dropped; } *x = p;
    ENTER(32)
    AFTER(state.stopped == PASSES)
    x->dropped = rule_is("lost");
    state.decoded = 1;
    return 0;
}
EXPORT int cuptiProfilerHostEvaluateToGpuValues(void *p) {
    struct { size_t size; void *reserved, *host; const uint8_t *data; size_t bytes, range;
             const char **metric; size_t n; double *value; } *x = p;
    ENTER(72)
    AFTER(state.decoded && x->host == &host_object && x->n == state.metrics)
    if (x->bytes != DATA_BYTES || x->range != 0) return INVALID;
    for (size_t i = 0; i < x->n; i++) x->value[i] = 1000.0 * (double)(state.number[i] + 1);
    return 0;
}

/* ---- records of kernels ---- */
enum { RECORD_BYTES = 64, KERNEL = 10, OTHER = 3000, NO_MORE = 12 };
typedef void Request(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void Complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
static Request *on_request;
static Complete *on_complete;
static int recording;

EXPORT int cuptiActivityRegisterCallbacks(Request *request, Complete *complete) {
    if (fails(__func__)) return fails(__func__);
    on_request = request;
    on_complete = complete;
    return 0;
}
EXPORT int cuptiActivityEnable(int kind) {
    if (fails(__func__)) return fails(__func__);
    AFTER(on_request && on_complete)
    recording = kind == KERNEL;
    return recording ? 0 : INVALID;
}
EXPORT int cuptiActivityDisable(int kind) {
    if (fails(__func__)) return fails(__func__);
    recording = 0;
    return kind == KERNEL ? 0 : INVALID;
}

static void put_record(uint8_t *at, uint32_t kind, uint64_t i) {
    uint64_t begin = 100 * (i + 1), end = begin + i + 1;
    memset(at, 0, RECORD_BYTES);
    memcpy(at, &kind, sizeof kind);
    memcpy(at + 16, &begin, sizeof begin);
    memcpy(at + 24, &end, sizeof end);
}

/* Each buffer begins with a record of another kind.  */
EXPORT int cuptiActivityFlushAll(uint32_t flag) {
    if (fails(__func__)) return fails(__func__);
    const char *text = getenv("FAKE_KERNELS");
    uint64_t left = !recording ? 0 : text ? strtoull(text, NULL, 10) : 2;
    while (left && flag == 1) {
        uint8_t *buffer;
        size_t size, most, at = 0;
        on_request(&buffer, &size, &most);
        if (!buffer) return INVALID;
        put_record(buffer, OTHER, 0);
        for (at = RECORD_BYTES; left && at + RECORD_BYTES <= size; at += RECORD_BYTES)
            put_record(buffer + at, KERNEL, --left);
        on_complete(NULL, 0, buffer, size, at);
    }
    return 0;
}
EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record) {
    if (fails(__func__)) return fails(__func__);
    uint8_t *next = *record ? (uint8_t *)*record + RECORD_BYTES : buffer;
    if (next + RECORD_BYTES > buffer + valid) return NO_MORE;
    *record = next;
    return 0;
}
