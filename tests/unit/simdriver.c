/* links: sim */
#include "simdriver.h"
#include "simulated.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

SimDriver cu;
static Arena *arena;
static CUcontext context;

static void *loaded;

void *simdriver_symbol(const char *name) { return dlsym(loaded, name); }

static bool find(void *library, const char *symbol, void *to) {
    void *at = dlsym(library, symbol);
    memcpy(to, &at, sizeof at);
    if (!at) print_error("no symbol %s\n", symbol);
    return at != NULL;
}

bool simdriver_load(void) {
    char path[4096];
    simulated_path("simdriver/libcuda.so.1", path, sizeof path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        print_error("%s\n", dlerror());
        return false;
    }
    loaded = library;
    bool all = find(library, "roller_sim_driver_control", &cu.control) &&
               find(library, "roller_sim_driver_message", &cu.message) &&
               find(library, "roller_sim_driver_ptx", &cu.ptx);
#define X(name, symbol, since, needs, parameters) all &= find(library, #symbol, &cu.symbol);
    SIMDRIVER_FUNCTIONS(X)
#undef X
    return all;
}

void simdriver_expect(CUresult got, CUresult want, const char *call, const char *file, int line) {
    if (got == want) return;
    char message[1024];
    cu.message(message, sizeof message);
    print_error("%s gave %d, not %d (%s)\n", call, got, want, message);
    _fail(file, line);
}

int simdriver_setup(void **state) {
    (void)state;
    arena = arena_create(NULL);
    setenv("ROLLER_SIM_PROFILE", "profiles/h200.json,profiles/a100.json,profiles/tiny.json", 1);
    setenv("ROLLER_SIM_MEMORY", "67108864", 1);
    setenv("ROLLER_SIM_MAX_INSTRUCTIONS", "200000", 1);
    return arena && simdriver_load() && cu.cuInit(0) == CUDA_SUCCESS ? simdriver_fresh(state) : -1;
}

int simdriver_teardown(void **state) {
    (void)state;
    if (context) {
        cu.control(NULL);
        cu.cuDevicePrimaryCtxRelease_v2(0);
    }
    context = NULL;
    arena_destroy(arena);
    return 0;
}

int simdriver_fresh(void **state) {
    (void)state;
    cu.control(NULL);
    if (context) cu.cuDevicePrimaryCtxRelease_v2(0);
    context = NULL;
    if (cu.cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS) return -1;
    return cu.cuCtxSetCurrent(context) == CUDA_SUCCESS ? 0 : -1;
}

CUcontext simdriver_context(void) { return context; }

static const DiagMessage *first(const Diag *d) {
    static const DiagMessage none = {.message = "no message"};
    const DiagMessage *m = diag_first_error(d);
    return m ? m : &none;
}

NvrtcOutput simdriver_compile_as(const char *source, const char *arch,
                                 const NvrtcRequest *request) {
    Diag d = diag_new(arena);
    Nvrtc *nvrtc;
    NvrtcOutput out = {0};
    if (nvrtc_open(arena, &d, NULL, arch, &nvrtc) != ST_OK ||
        nvrtc_compile(nvrtc, arena, &d, source, arch, request, &out) != ST_OK) {
        fail_msg("%s", first(&d)->message);
    }
    return out;
}

NvrtcOutput simdriver_compile(const char *source, const char *arch) {
    return simdriver_compile_as(source, arch, &(NvrtcRequest){.ptx = true, .cubin = true});
}

CUmodule simdriver_module(const char *source, const char *arch) {
    CUmodule m;
    OK(cu.cuModuleLoadData(&m, simdriver_compile(source, arch).ptx));
    return m;
}

CUfunction simdriver_function(CUmodule m, const char *name) {
    CUfunction f;
    OK(cu.cuModuleGetFunction(&f, m, name));
    return f;
}

const Device *simdriver_profile(const char *name) {
    Diag d = diag_new(arena);
    Device *dev;
    if (hal_profile_find(arena, &d, name, "profiles", NULL, &dev) != ST_OK) {
        fail_msg("%s", first(&d)->message);
    }
    return dev;
}

CUdeviceptr simdriver_alloc(size_t bytes) {
    CUdeviceptr at;
    OK(cu.cuMemAlloc_v2(&at, bytes));
    return at;
}
