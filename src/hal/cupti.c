#include "hal/cupti_api.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#ifdef RTLD_NODELETE
enum { STAY = RTLD_NODELETE };
#else
enum { STAY = 0 };
#endif

enum { NEWEST = 19, OLDEST = 11, MAX_KERNELS = 65536, BUFFER_BYTES = 1 << 20 };

struct Cupti {
    void *library;
#define X(name, parameters) int(*name) parameters;
    CUPTI_API(X)
#undef X
    CuptiKernel *kernel;
    int n;
    bool lost;                /* more kernels than there is room for, or no memory for a buffer */
};

/* For whom the callbacks work: they are given nothing else to know it by.  */
static Cupti *listener;

static void request(uint8_t **buffer, size_t *size, size_t *max_records) {
    *max_records = 0;
    *buffer = malloc(BUFFER_BYTES);       /* aligned for any type */
    *size = *buffer ? BUFFER_BYTES : 0;
    if (!*buffer && listener) listener->lost = true;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    (void)context, (void)stream, (void)size;
    Cupti *c = listener;
    void *record = NULL;
    while (c && valid && c->cuptiActivityGetNextRecord(buffer, valid, &record) == 0) {
        CuptiKernelRecord k;
        memcpy(&k, record, sizeof k);
        if (k.kind != CUPTI_KERNEL && k.kind != CUPTI_CONCURRENT_KERNEL) continue;
        if (c->n == MAX_KERNELS) c->lost = true;
        else c->kernel[c->n++] = (CuptiKernel){k.start, k.end};
    }
    free(buffer);
}

static Status check(const Cupti *c, Diag *d, int result, const char *call) {
    const char *text = NULL;
    if (!result) return ST_OK;
    if (c->cuptiGetResultString(result, &text) || !text) text = "unknown";
    return diag_error(d, ST_CUDA, "cupti", DIAG_NOWHERE, "%s failed: %s (%d)", call, text, result);
}
#define CUPTI_CALL(c, d, name, ...) check((c), (d), (c)->name(__VA_ARGS__), #name)

void *cupti_library(Arena *a, bool ignore_environment) {
    const char *toolkit = ignore_environment ? NULL : getenv("CUDA_PATH");
    if (!toolkit || *toolkit != '/') toolkit = "/usr/local/cuda";
    static const char *const folder[] = {"extras/CUPTI/lib64", "lib64"};
    for (int major = NEWEST; major >= OLDEST; major--) {
        const char *name = arena_printf(a, "libcupti.so.%d", major);
        void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | STAY);
        for (int i = 0; i < 2 && !library; i++)
            library = dlopen(arena_printf(a, "%s/%s/%s", toolkit, folder[i], name),
                             RTLD_NOW | RTLD_LOCAL | STAY);
        if (library) return library;
    }
    return NULL;
}

static const char *resolve(Cupti *c) {
    static const char *const name[] = {
#define X(symbol, parameters) #symbol,
        CUPTI_API(X)
#undef X
    };
    void **const at[] = {
#define X(symbol, parameters) (void **)&c->symbol,
        CUPTI_API(X)
#undef X
    };
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (!(*at[i] = dlsym(c->library, name[i]))) return name[i];
    return NULL;
}

static void stop(void *p) {
    Cupti *c = p;
    if (listener != c) return;
    c->cuptiActivityDisable(CUPTI_CONCURRENT_KERNEL);
    c->cuptiActivityFlushAll(CUPTI_FLUSH_FORCED);
    listener = NULL;
}

Status cupti_open(Arena *a, Diag *d, bool ignore_environment, Cupti **out) {
    *out = NULL;
    if (listener)
        return diag_error(d, ST_CUDA, "cupti", DIAG_NOWHERE, "CUPTI is in use in this process");
    Cupti *c = ARENA_NEW(a, Cupti);
    c->kernel = ARENA_ARRAY(a, CuptiKernel, MAX_KERNELS);
    c->library = cupti_library(a, ignore_environment);
    if (!c->library)
        return diag_error(d, ST_CUDA, "cupti", DIAG_NOWHERE, "CUPTI was not found");
    const char *missing = resolve(c);
    if (missing)
        return diag_error(d, ST_CUDA, "cupti", DIAG_NOWHERE, "CUPTI has no function %s", missing);
    arena_defer(a, stop, c);
    listener = c;
    Status s = CUPTI_CALL(c, d, cuptiActivityRegisterCallbacks, request, complete);
    if (!s) s = CUPTI_CALL(c, d, cuptiActivityEnable, CUPTI_CONCURRENT_KERNEL);
    if (!s) *out = c;
    else listener = NULL;
    return s;
}

Status cupti_reset(Cupti *c, Diag *d) {
    Status s = CUPTI_CALL(c, d, cuptiActivityFlushAll, CUPTI_FLUSH_FORCED);
    c->n = 0;
    c->lost = false;
    return s;
}

static int by_begin(const void *x, const void *y) {
    const CuptiKernel *a = x, *b = y;
    if (a->begin_ns != b->begin_ns) return a->begin_ns < b->begin_ns ? -1 : 1;
    return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

Status cupti_kernels(Cupti *c, Diag *d, const CuptiKernel **out, int *n) {
    Status s = CUPTI_CALL(c, d, cuptiActivityFlushAll, CUPTI_FLUSH_FORCED);
    if (s) return s;
    if (c->lost) return diag_error(d, ST_CUDA, "cupti", DIAG_NOWHERE, "CUPTI lost records");
    if (c->n) qsort(c->kernel, (size_t)c->n, sizeof *c->kernel, by_begin);
    *out = c->kernel;
    *n = c->n;
    return ST_OK;
}
