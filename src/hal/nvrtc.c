#include "hal/nvrtc_library.h"
#include "base/clock.h"

#include <string.h>

enum { NVRTC_OUT_OF_MEMORY = 1, NVRTC_COMPILATION = 6, NVRTC_BUILTINS = 7 };

typedef struct {
    const Nvrtc *nvrtc;
    NvrtcProgram *program;
} Running;

static void destroy(void *p) {
    Running *r = p;
    if (r->program)
        r->nvrtc->DestroyProgram(&r->program);
}

static Status failed(const Nvrtc *n, Diag *d, int result) {
    Status s = result == NVRTC_OUT_OF_MEMORY ? ST_NOMEM : ST_NVRTC;
    diag_error(d, s, "nvrtc", DIAG_NOWHERE, "NVRTC %d.%d failed: %s", n->major, n->minor,
               n->GetErrorString(result));
    if (result == NVRTC_OUT_OF_MEMORY)
        diag_hint(d, "free some memory or raise its limit (ulimit -v)");
    if (result == NVRTC_BUILTINS)
        diag_hint(d, "libnvrtc-builtins.so.%d.%d has to be beside it, with memory to load it",
                  n->major, n->minor);
    diag_code(d, DIAG_NVRTC, result, n->GetErrorString(result));
    return s;
}

/* A compilation for a real architecture gives PTX and cubin at once; PTX alone spares ptxas.
 * Without --split-compile: with it the machine code of a kernel differs from process to process
 * (NVRTC 13.0; rows in registers: 79 or 80, and 61 without it).  */
static int options(const Nvrtc *n, Arena *a, const char *arch, const NvrtcRequest *request,
                   const char *out[NVRTC_MAX_OPTIONS]) {
    int k = 0;
    out[k++] = arena_printf(a, "--gpu-architecture=%s%s", request->cubin ? "sm_" : "compute_",
                            arch + 3);
    out[k++] = "-default-device";
    if (n->major >= 12)
        out[k++] = "--no-source-include";
    if (n->major * 100 + n->minor >= 1204)                /* no textures, no types of the runtime */
        out[k++] = "--minimal";
    /* Since version 13 results are kept in the driver's cache, which would open the driver.  */
    if (n->major >= 13)
        out[k++] = "--no-cache";
    if (request->cubin)
        out[k++] = "--ptxas-options=-v";
    if (request->cubin && request->level > 0 && request->level != 3)   /* 3 is its own */
        out[k++] = arena_printf(a, "--ptxas-options=-O%d", request->level);
    if (request->line_info)
        out[k++] = "--generate-line-info";
    if (request->max_registers > 0)
        out[k++] = arena_printf(a, "--maxrregcount=%d", request->max_registers);
    return k;
}

typedef int (*GetSize)(NvrtcProgram *p, size_t *size);
typedef int (*GetData)(NvrtcProgram *p, char *data);

/* One result of a program; the copy ends with a NUL of its own.  */
static int fetch(Arena *a, NvrtcProgram *p, GetSize size, GetData data, char **out, size_t *len) {
    int result = size(p, len);
    if (result)
        return result;
    *out = arena_alloc(a, *len + 1);
    return *len ? data(p, *out) : 0;
}

static int results(Nvrtc *n, Arena *a, NvrtcProgram *p, const NvrtcRequest *request,
                   NvrtcOutput *out) {
    char *data = "";
    int result = 0;
    if (request->ptx) {
        result = fetch(a, p, n->GetPTXSize, n->GetPTX, &data, &out->ptx_len);
        out->ptx = data;
        out->ptx_len = result ? 0 : strlen(data);
    }
    if (!result && request->cubin) {
        result = fetch(a, p, n->GetCUBINSize, n->GetCUBIN, &data, &out->cubin_len);
        out->cubin = data;
    }
    return result;
}

static Status judge(Nvrtc *n, Arena *a, Diag *d, const char *arch, int result, const char *log) {
    enum { DECLARED = 48 << 10 };             /* what every architecture takes */
    const KernelResources *k = NULL;
    if (result == NVRTC_COMPILATION && (k = nvrtc_log_declares(a, log, DECLARED))) {
        diag_error(d, ST_COMPILE, "nvrtc", DIAG_NOWHERE,
                   "NVRTC %d.%d refused the source for %s: kernel %s declares %lld bytes of shared "
                   "memory, more than a block there may", n->major, n->minor, arch, k->kernel,
                   (long long)k->static_smem);
        diag_hint(d, "blocks may declare 48 KB on every device; more is `extern __shared__`, and "
                  "asked for at the launch");
        diag_code(d, DIAG_NVRTC, result, n->GetErrorString(result));
        return ST_COMPILE;
    }
    if (result == NVRTC_COMPILATION && nvrtc_log_memory(log))
        return failed(n, d, NVRTC_OUT_OF_MEMORY);
    if (result == NVRTC_COMPILATION) {
        diag_error(d, ST_COMPILE, "nvrtc", DIAG_NOWHERE,
                   "NVRTC %d.%d refused the source for %s: %s", n->major, n->minor, arch,
                   nvrtc_log_errors(a, log));
        diag_code(d, DIAG_NVRTC, result, n->GetErrorString(result));
        return ST_COMPILE;
    }
    if (result)
        return failed(n, d, result);
    const char *unsound = nvrtc_log_unsound(a, log);
    if (unsound)
        return diag_error(d, ST_COMPILE, "nvrtc", DIAG_NOWHERE,
                          "the code for %s is unsound: %s", arch, unsound);
    return ST_OK;
}

Status nvrtc_compile(Nvrtc *n, Arena *a, Diag *d, const char *source, const char *arch,
                     const NvrtcRequest *request, NvrtcOutput *out) {
    *out = (NvrtcOutput){.ptx = "", .log = ""};
    if (!nvrtc_targets(n, arch))
        return diag_error(d, ST_NVRTC, "nvrtc", DIAG_NOWHERE, "%s; %s is %d.%d",
                          nvrtc_needs(a, arch), n->file, n->major, n->minor);
    const char *option[NVRTC_MAX_OPTIONS];
    int n_option = options(n, a, arch, request, option);
    Running *run = ARENA_NEW(a, Running);
    run->nvrtc = n;
    arena_defer(a, destroy, run);
    double start = clock_now_s();
    int result = n->CreateProgram(&run->program, source, "kernel.cu", 0, NULL, NULL);
    if (result)
        return failed(n, d, result);
    result = nvrtc_compile_apart(n, a, run->program, n_option, option, request->watch);
    if (result == NVRTC_STOPPED) {
        run->program = NULL;
        return diag_error(d, ST_CANCELLED, NULL, DIAG_NOWHERE, "stopped while NVRTC compiles");
    }
    out->ms = (clock_now_s() - start) * 1e3;
    char *log = "";
    size_t log_len;
    int logged = fetch(a, run->program, n->GetProgramLogSize, n->GetProgramLog, &log, &log_len);
    if (logged)
        return failed(n, d, logged);
    out->log = nvrtc_log_timeless(a, log);
    Status s = judge(n, a, d, arch, result, log);
    if (s == ST_OK && (result = results(n, a, run->program, request, out)))
        s = failed(n, d, result);
    if (s == ST_OK && request->cubin)
        out->n_kernel = nvrtc_log_resources(a, log, &out->kernel);
    destroy(run);
    run->program = NULL;
    return s;
}
