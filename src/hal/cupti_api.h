/* CUPTI's functions, records and parameters, as declarations of our own.  Internal to src/hal.
 *
 * They have the layout of cupti_activity.h, cupti_range_profiler.h, cupti_profiler_host.h and
 * cupti_profiler_target.h.  */
#ifndef ROLLER_HAL_CUPTI_API_H
#define ROLLER_HAL_CUPTI_API_H
#include "hal/cupti.h"
#include <stddef.h>

/* ---- the activity of kernels ---- */
enum { CUPTI_KERNEL = 3, CUPTI_CONCURRENT_KERNEL = 10, CUPTI_FLUSH_FORCED = 1 };

/* The beginning that all versions of a kernel's record share (cupti_activity.h).  */
typedef struct {
    uint32_t kind;
    uint8_t cache, shared;
    uint16_t registers;
    uint32_t requested, executed;
    uint64_t start, end;
} CuptiKernelRecord;
_Static_assert(offsetof(CuptiKernelRecord, start) == 16, "CUPTI's layout");

typedef void CuptiRequest(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void CuptiComplete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                           size_t valid);

/*    name                       parameters */
#define CUPTI_API(X)                                                                               \
    X(cuptiActivityRegisterCallbacks, (CuptiRequest *request, CuptiComplete *complete))            \
    X(cuptiActivityEnable,       (int kind))                                                       \
    X(cuptiActivityDisable,      (int kind))                                                       \
    X(cuptiActivityFlushAll,     (uint32_t flag))                                                  \
    X(cuptiActivityGetNextRecord, (uint8_t *buffer, size_t valid, void **record))                  \
    X(cuptiGetResultString,      (int result, const char **text))

/* ---- counters by the range profiler; parameters begin with their size ---- */
enum {
    CUPTI_PROFILER_OF_RANGES = 0, CUPTI_USER_RANGE = 2, CUPTI_USER_REPLAY = 3,
    CUPTI_NOT_PERMITTED = 35, CUPTI_NOT_PERMITTED_HERE = 40
};

typedef struct {
    size_t size;
    void *reserved;
} CuptiPlain;
typedef struct {
    size_t size;
    void *reserved;
    size_t device;
    const char *chip;
} CuptiChipName;
typedef struct {
    size_t size;
    void *reserved, *context;
    size_t bytes;
    uint8_t *image;
} CuptiAvailability;
typedef struct {
    size_t size;
    void *reserved;
    int type;
    const char *chip;
    const uint8_t *availability;
    void *host;
} CuptiHostInitialize;
typedef struct {
    size_t size;
    void *reserved, *object;              /* of the host or the range profiler */
} CuptiObject;
typedef struct {
    size_t size;
    void *reserved, *host;
    const char *const *metric;
    size_t n;
} CuptiAddMetrics;
typedef struct {
    size_t size;
    void *reserved, *host;
    size_t bytes;
} CuptiConfigSize;
typedef struct {
    size_t size;
    void *reserved, *host;
    size_t bytes;
    uint8_t *image;
} CuptiConfigImage;
typedef struct {
    size_t size;
    void *reserved, *context, *ranges;
} CuptiEnable;
typedef struct {
    size_t size;
    void *reserved, *ranges;
    const char *const *metric;
    size_t n, max_ranges;
    uint32_t max_nodes;
    size_t bytes;
} CuptiDataSize;
typedef struct {
    size_t size;
    void *reserved, *ranges;
    size_t bytes;
    uint8_t *data;
} CuptiDataInitialize;
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
} CuptiSetConfig;
typedef struct {
    size_t size;
    void *reserved, *ranges;
    const char *name;
} CuptiPushRange;
typedef struct {
    size_t size;
    void *reserved, *ranges;
    size_t pass, target_level;
    uint8_t all_submitted;
} CuptiStop;
typedef struct {
    size_t size;
    void *reserved, *ranges;
    size_t dropped;
} CuptiDecode;
typedef struct {
    size_t size;
    void *reserved, *host;
    const uint8_t *data;
    size_t bytes, range;
    const char *const *metric;
    size_t n;
    double *value;
} CuptiEvaluate;
_Static_assert(sizeof(CuptiSetConfig) == 96 && sizeof(CuptiDataSize) == 64 &&
               sizeof(CuptiEvaluate) == 72, "CUPTI's layout");

/*    name                                           its parameters, less the padding at the end */
#define CUPTI_COUNTER_API(X)                                                                       \
    X(cuptiProfilerInitialize,                     CuptiPlain,          reserved)                  \
    X(cuptiDeviceGetChipName,                      CuptiChipName,       chip)                      \
    X(cuptiProfilerGetCounterAvailability,         CuptiAvailability,   image)                     \
    X(cuptiProfilerHostInitialize,                 CuptiHostInitialize, host)                      \
    X(cuptiProfilerHostConfigAddMetrics,           CuptiAddMetrics,     n)                         \
    X(cuptiProfilerHostGetConfigImageSize,         CuptiConfigSize,     bytes)                     \
    X(cuptiProfilerHostGetConfigImage,             CuptiConfigImage,    image)                     \
    X(cuptiRangeProfilerEnable,                    CuptiEnable,         ranges)                    \
    X(cuptiRangeProfilerGetCounterDataSize,        CuptiDataSize,       bytes)                     \
    X(cuptiRangeProfilerCounterDataImageInitialize,CuptiDataInitialize, data)                      \
    X(cuptiRangeProfilerSetConfig,                 CuptiSetConfig,      target_level)              \
    X(cuptiRangeProfilerStart,                     CuptiObject,         object)                    \
    X(cuptiRangeProfilerPushRange,                 CuptiPushRange,      name)                      \
    X(cuptiRangeProfilerPopRange,                  CuptiObject,         object)                    \
    X(cuptiRangeProfilerStop,                      CuptiStop,           all_submitted)             \
    X(cuptiRangeProfilerDecodeData,                CuptiDecode,         dropped)                   \
    X(cuptiProfilerHostEvaluateToGpuValues,        CuptiEvaluate,       value)                     \
    X(cuptiRangeProfilerDisable,                   CuptiObject,         object)                    \
    X(cuptiProfilerHostDeinitialize,               CuptiObject,         object)                    \
    X(cuptiProfilerDeInitialize,                    CuptiPlain,          reserved)
#define CUPTI_SIZE_TO(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))
#endif
