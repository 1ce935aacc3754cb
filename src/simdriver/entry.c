/* Calls that need no device: initialisation, versions, symbols, error texts.  */
#include "simdriver/state.h"

#include <string.h>

CUresult cuInit(unsigned flags) {
    Call c;
    if (!driver_enter(&c, FN_cuInit)) return c.result;
    return driver_leave(&c, flags ? CUDA_ERROR_INVALID_VALUE : driver_init(c.driver));
}

CUresult cuDriverGetVersion(int *version) {
    Call c;
    if (!driver_enter(&c, FN_cuDriverGetVersion)) return c.result;
    if (!version) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *version = driver_version(c.driver);
    return driver_leave(&c, CUDA_SUCCESS);
}

typedef void AnyFunction(void);
static AnyFunction *const addresses[FN_COUNT] = {
#define X(name, symbol, since, needs, parameters) (AnyFunction *)symbol,
    SIMDRIVER_FUNCTIONS(X)
#undef X
#define X(name, symbol, since, needs, parameters, base, arguments) (AnyFunction *)symbol,
    SIMDRIVER_PER_THREAD(X)
#undef X
#define X(name, symbol, since) (AnyFunction *)symbol,
    SIMDRIVER_UNSUPPORTED(X)
#undef X
};

typedef struct {
    int version;              /* that the caller asks for */
    FunctionId best;          /* FN_COUNT: none yet */
    int since;
    bool newer;               /* there are only newer ones */
} Search;

static void consider(const Driver *d, Search *s, FunctionId f, int since) {
    if (since > driver_version(d) || faults_missing(&d->faults, &simdriver_functions[f])) return;
    if (since > s->version) {
        s->newer = true;
    } else if (s->best == FN_COUNT || since > s->since) {
        s->best = f;
        s->since = since;
    }
}

static bool for_thread(const FunctionRow *row) {
    size_t len = strlen(row->symbol);
    return len > 5 && (!strcmp(row->symbol + len - 5, "_ptsz") ||
                       !strcmp(row->symbol + len - 5, "_ptds"));
}

static void search(const Driver *d, const char *name, bool per_thread, Search *s) {
    for (int f = 0; f < FN_COUNT; f++) {
        const FunctionRow *row = &simdriver_functions[f];
        if (!strcmp(row->name, name) && for_thread(row) == per_thread) {
            consider(d, s, (FunctionId)f, row->since);
        }
    }
#define X(alias, symbol, since)                                                                    \
    if (!per_thread && !strcmp(#alias, name)) consider(d, s, FN_##symbol, since);
    SIMDRIVER_ALIASES(X)
#undef X
}

/* The newest function of that name that is not newer than `version`; with `per_thread` the form for
 * the thread's own stream, where there is one.  */
static CUresult find(Driver *d, const char *name, int version, bool per_thread, void **at,
                     int *status) {
    Search s = {.version = version, .best = FN_COUNT};
    if (per_thread) search(d, name, true, &s);
    if (s.best == FN_COUNT) search(d, name, false, &s);
    *at = NULL;
    if (s.best == FN_COUNT) {
        *status = s.newer ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                          : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
        driver_say(d, "there is no %s of version %d", name, version);
        return CUDA_ERROR_NOT_FOUND;
    }
    memcpy(at, &addresses[s.best], sizeof *at);
    *status = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_SUCCESS;
}

static CUresult get_address(Driver *d, const char *name, void **at, int version,
                            uint64_t flags, int *status) {
    if (!name || !at || version < 0) return CUDA_ERROR_INVALID_VALUE;
    if (flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
    bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    return find(d, name, version, per_thread, at, status);
}

CUresult cuGetProcAddress(const char *symbol, void **at, int version, uint64_t flags) {
    Call c;
    int status;
    if (!driver_enter(&c, FN_cuGetProcAddress)) return c.result;
    return driver_leave(&c, get_address(c.driver, symbol, at, version, flags, &status));
}

/* What is not found is CUDA_SUCCESS with a status if the caller takes one.  */
CUresult cuGetProcAddress_v2(const char *symbol, void **at, int version, uint64_t flags,
                             int *status) {
    Call c;
    int mine;
    if (!driver_enter(&c, FN_cuGetProcAddress_v2)) return c.result;
    CUresult r = get_address(c.driver, symbol, at, version, flags, status ? status : &mine);
    if (r == CUDA_ERROR_NOT_FOUND && status) r = CUDA_SUCCESS;
    return driver_leave(&c, r);
}

static const struct {
    CUresult code;
    const char *name, *text;
} results[] = {
#define X(name, code, text) {name, #name, text},
    SIMDRIVER_RESULTS(X)
#undef X
};

CUresult cuGetErrorName(CUresult error, const char **name) {
    Call c;
    if (!driver_enter(&c, FN_cuGetErrorName)) return c.result;
    CUresult r = CUDA_ERROR_INVALID_VALUE;
    if (name) *name = NULL;
    for (size_t k = 0; name && k < sizeof results / sizeof *results; k++) {
        if (results[k].code != error) continue;
        *name = results[k].name;
        r = CUDA_SUCCESS;
    }
    return driver_leave(&c, r);
}

CUresult cuGetErrorString(CUresult error, const char **text) {
    Call c;
    if (!driver_enter(&c, FN_cuGetErrorString)) return c.result;
    CUresult r = CUDA_ERROR_INVALID_VALUE;
    if (text) *text = NULL;
    for (size_t k = 0; text && k < sizeof results / sizeof *results; k++) {
        if (results[k].code != error) continue;
        *text = results[k].text;
        r = CUDA_SUCCESS;
    }
    return driver_leave(&c, r);
}

/* Tables of functions that no document describes.  */
CUresult cuGetExportTable(const void **table, const CUuuid *id) {
    Call c;
    if (!driver_enter(&c, FN_cuGetExportTable)) return c.result;
    if (table) *table = NULL;
    return driver_leave(&c, table && id ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE);
}

/* There is no profiler to start.  */
CUresult cuProfilerStart(void) {
    Call c;
    if (!driver_enter(&c, FN_cuProfilerStart)) return c.result;
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuProfilerStop(void) {
    Call c;
    if (!driver_enter(&c, FN_cuProfilerStop)) return c.result;
    return driver_leave(&c, CUDA_SUCCESS);
}
