/* Modules and their functions.  */
#include "simdriver/work.h"

#include <stdlib.h>
#include <string.h>

static void put_log(char *buffer, void **size, const char *text) {
    size_t cap = (size_t)(uintptr_t)*size, len = strlen(text);
    if (!buffer || cap == 0) return;
    if (len > cap - 1) len = cap - 1;
    memcpy(buffer, text, len);
    buffer[len] = 0;
    *size = (void *)(uintptr_t)(len + 1);
}

CUresult code_logs(const Driver *d, CUresult r, unsigned n, const int *options, void **values) {
    char *buffer[2] = {0};
    void **size[2] = {0};
    for (unsigned k = 0; k < n; k++) {
        switch (options[k]) {
        case CU_JIT_INFO_LOG_BUFFER: buffer[0] = values[k]; break;
        case CU_JIT_ERROR_LOG_BUFFER: buffer[1] = values[k]; break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: size[0] = &values[k]; break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: size[1] = &values[k]; break;
        default: break;
        }
    }
    if (size[0]) put_log(buffer[0], size[0], "");
    if (size[1]) put_log(buffer[1], size[1], r == CUDA_SUCCESS ? "" : d->message);
    return r;
}

/* ---- modules ---- */

CUresult module_new(Driver *d, Context *ctx, Image *image, const Library *library, Module **out) {
    CUresult r = image_fits(image, ctx->gpu->dev);
    Module *m = r == CUDA_SUCCESS ? host_alloc(sizeof *m) : NULL;
    if (m && handle_new(d, &m->o, KIND_MODULE, ctx)) {
        m->image = image;
        m->library = library;
        *out = m;
        return CUDA_SUCCESS;
    }
    free(m);
    image_release(image);
    return r == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : r;
}

CUresult module_load(Call *c, CUmodule *module, const void *bytes) {
    Image *image;
    Module *m;
    if (!module) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = capture_forbids(c->driver, c->ctx, true);
    if (r == CUDA_SUCCESS) r = image_open(c->driver, bytes, &image);
    if (r == CUDA_SUCCESS) r = module_new(c->driver, c->ctx, image, NULL, &m);
    if (r == CUDA_SUCCESS) *module = HANDLE(CUmodule, m);
    return r;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    Call c;
    if (!driver_enter(&c, FN_cuModuleLoadData)) return c.result;
    return driver_leave(&c, module_load(&c, module, image));
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, int *options,
                            void **values) {
    Call c;
    if (!driver_enter(&c, FN_cuModuleLoadDataEx)) return c.result;
    if (n && (!options || !values)) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    CUresult r = module_load(&c, module, image);
    return driver_leave(&c, code_logs(c.driver, r, n, options, values));
}

CUresult module_unload(Driver *d, Module *m) {
    CUresult r = context_finish(d, m->o.ctx);
    if (r == CUDA_ERROR_CONTEXT_IS_DESTROYED) return r;
    size_t at = 0;
    for (Function *f; (f = NEXT(d, Function, &at, KIND_FUNCTION, m->o.ctx));) {
        if (f->module == m) object_free(d, &f->o);
    }
    object_free(d, &m->o);
    return r;
}

CUresult cuModuleUnload(CUmodule module) {
    Call c;
    if (!driver_enter(&c, FN_cuModuleUnload)) return c.result;
    Module *m = GET(&c, Module, module, KIND_MODULE);
    bool owned = m && !m->library;
    return driver_leave(&c, owned ? module_unload(c.driver, m) : CUDA_ERROR_INVALID_HANDLE);
}

CUresult module_function(Driver *d, Module *m, const char *name, Settings *settings,
                         Function **out) {
    Context *ctx = m->o.ctx;
    size_t at = 0;
    while ((*out = NEXT(d, Function, &at, KIND_FUNCTION, ctx))) {
        if ((*out)->module == m && !strcmp((*out)->name, name)) return CUDA_SUCCESS;
    }
    Function *f = host_alloc(sizeof *f);
    if (!f) return CUDA_ERROR_OUT_OF_MEMORY;
    bool found = function_describe(m->image, name, ctx->gpu->dev, f);
    if (!found || !handle_new(d, &f->o, KIND_FUNCTION, ctx)) {
        free(f);
        return found ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_NOT_FOUND;
    }
    f->module = m;
    f->own.carveout = NO_PREFERENCE;
    f->settings = settings ? settings : &f->own;
    *out = f;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    Call c;
    Function *f;
    if (!driver_enter(&c, FN_cuModuleGetFunction)) return c.result;
    Module *m = GET(&c, Module, module, KIND_MODULE);
    if (!m) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!function || !name) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    CUresult r = module_function(c.driver, m, name, NULL, &f);
    if (r == CUDA_SUCCESS) *function = HANDLE(CUfunction, f);
    return driver_leave(&c, r);
}

typedef struct {
    Gpu *gpu;
    const Module *module;
    const char *name;
    uint64_t at, bytes;
    bool found;
} Variable;

static void find_variable(void *user) {
    Variable *v = user;
    v->found = sim_variable(v->gpu->sim, v->module->image->code, v->name, &v->at, &v->bytes);
}

CUresult module_variable(const Module *m, CUdeviceptr *at, size_t *bytes, const char *name) {
    Variable v = {.gpu = m->o.ctx->gpu, .module = m, .name = name};
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    if (!arena_try(v.gpu->arena, find_variable, &v)) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!v.found) return CUDA_ERROR_NOT_FOUND;
    if (at) *at = v.at;
    if (bytes) *bytes = (size_t)v.bytes;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes, CUmodule module, const char *name) {
    Call c;
    if (!driver_enter(&c, FN_cuModuleGetGlobal_v2)) return c.result;
    const Module *m = GET(&c, Module, module, KIND_MODULE);
    if (!m) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    return driver_leave(&c, module_variable(m, at, bytes, name));
}

CUresult cuModuleLoad(CUmodule *module, const char *file) {
    Call c;
    char *bytes;
    if (!driver_enter(&c, FN_cuModuleLoad)) return c.result;
    CUresult r = code_read(c.driver, file, &bytes, NULL);
    if (r != CUDA_SUCCESS) return driver_leave(&c, r);
    r = module_load(&c, module, bytes);
    free(bytes);
    return driver_leave(&c, r);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) {
    Call c;
    if (!driver_enter(&c, FN_cuModuleLoadFatBinary)) return c.result;
    return driver_leave(&c, module_load(&c, module, image));
}

/* Nothing is loaded lazily here.  */
CUresult cuModuleGetLoadingMode(int *mode) {
    Call c;
    enum { EAGER = 1 };
    if (!driver_enter(&c, FN_cuModuleGetLoadingMode)) return c.result;
    if (!mode) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *mode = EAGER;
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuModuleGetFunctionCount(unsigned *n, CUmodule module) {
    Call c;
    if (!driver_enter(&c, FN_cuModuleGetFunctionCount)) return c.result;
    const Module *m = GET(&c, Module, module, KIND_MODULE);
    if (!m) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!n) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *n = (unsigned)sim_kernel_count(m->image->code);
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned n, CUmodule module) {
    Call c;
    if (!driver_enter(&c, FN_cuModuleEnumerateFunctions)) return c.result;
    Module *m = GET(&c, Module, module, KIND_MODULE);
    if (!m) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!functions || !n) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; r == CUDA_SUCCESS && k < n; k++) {
        Function *f;
        if (k >= (unsigned)sim_kernel_count(m->image->code)) break;
        r = module_function(c.driver, m, sim_kernel_name(m->image->code, (int)k), NULL, &f);
        if (r == CUDA_SUCCESS) functions[k] = HANDLE(CUfunction, f);
    }
    return driver_leave(&c, r);
}
