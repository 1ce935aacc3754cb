/* Modules and their functions; libraries and their kernels.  */
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

/* Fills the log buffers among the options; other options change nothing here.  */
static CUresult give_logs(const Driver *d, CUresult r, unsigned n, const int *options,
                          void **values) {
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

/* Takes over the reference to the image, also when it fails.  */
static CUresult module_new(Driver *d, Context *ctx, Image *image, const Library *library,
                           Module **out) {
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

static CUresult load(Call *c, CUmodule *module, const void *bytes) {
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
    return driver_leave(&c, load(&c, module, image));
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, int *options,
                            void **values) {
    Call c;
    if (!driver_enter(&c, FN_cuModuleLoadDataEx)) return c.result;
    if (n && (!options || !values)) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    CUresult r = load(&c, module, image);
    return driver_leave(&c, give_logs(c.driver, r, n, options, values));
}

/* Functions of the module go with it, once their launches have run.  */
static CUresult unload(Driver *d, Module *m) {
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
    return driver_leave(&c, owned ? unload(c.driver, m) : CUDA_ERROR_INVALID_HANDLE);
}

/* The function of that name: always the same one.  `settings` NULL: its own.  */
static CUresult module_function(Driver *d, Module *m, const char *name, Settings *settings,
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

CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes, CUmodule module, const char *name) {
    Call c;
    if (!driver_enter(&c, FN_cuModuleGetGlobal_v2)) return c.result;
    const Module *m = GET(&c, Module, module, KIND_MODULE);
    if (!m) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!name) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    Variable v = {.gpu = m->o.ctx->gpu, .module = m, .name = name};
    if (!arena_try(v.gpu->arena, find_variable, &v)) {
        return driver_leave(&c, CUDA_ERROR_OUT_OF_MEMORY);
    }
    if (!v.found) return driver_leave(&c, CUDA_ERROR_NOT_FOUND);
    if (at) *at = v.at;
    if (bytes) *bytes = (size_t)v.bytes;
    return driver_leave(&c, CUDA_SUCCESS);
}

/* ---- libraries ---- */

static CUresult open_library(Driver *d, CUlibrary *library, const void *code) {
    Image *image;
    CUresult r = image_open(d, code, &image);
    if (r != CUDA_SUCCESS) return r;
    Library *l = host_alloc(sizeof *l);
    if (!l || !handle_new(d, &l->o, KIND_LIBRARY, NULL)) {
        free(l);
        image_release(image);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    l->image = image;
    *library = HANDLE(CUlibrary, l);
    return CUDA_SUCCESS;
}

/* Library options (how a host's copy of the image is kept) change nothing here.  */
CUresult cuLibraryLoadData(CUlibrary *library, const void *code, int *options, void **values,
                           unsigned n, int *library_options, void **library_values,
                           unsigned n_library) {
    Call c;
    if (!driver_enter(&c, FN_cuLibraryLoadData)) return c.result;
    if (!library || (n && (!options || !values)) || (n_library && !library_options)) {
        return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    }
    (void)library_values;
    CUresult r = open_library(c.driver, library, code);
    return driver_leave(&c, give_logs(c.driver, r, n, options, values));
}

CUresult cuLibraryUnload(CUlibrary library) {
    Call c;
    if (!driver_enter(&c, FN_cuLibraryUnload)) return c.result;
    Library *l = GET(&c, Library, library, KIND_LIBRARY);
    if (!l) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    Driver *d = c.driver;
    size_t at = 0;
    for (Context *ctx; (ctx = NEXT(d, Context, &at, KIND_CONTEXT, NULL));) {
        size_t from = 0;
        for (Module *m; (m = NEXT(d, Module, &from, KIND_MODULE, ctx));) {
            if (m->library == l) unload(d, m);
        }
    }
    at = 0;
    for (Kernel *k; (k = NEXT(d, Kernel, &at, KIND_KERNEL, NULL));) {
        if (k->library == l) object_free(d, &k->o);
    }
    object_free(d, &l->o);
    return driver_leave(&c, CUDA_SUCCESS);
}

static CUresult get_kernel(Call *c, CUkernel *kernel, Library *l, const char *name) {
    size_t at = 0;
    for (Kernel *k; (k = NEXT(c->driver, Kernel, &at, KIND_KERNEL, NULL));) {
        *kernel = HANDLE(CUkernel, k);
        if (k->library == l && !strcmp(k->name, name)) return CUDA_SUCCESS;
    }
    for (int n = 0; n < sim_kernel_count(l->image->code); n++) {
        const char *own = sim_kernel_name(l->image->code, n);
        if (strcmp(own, name)) continue;
        Kernel *k = host_alloc(sizeof *k);
        if (!k || !handle_new(c->driver, &k->o, KIND_KERNEL, NULL)) {
            free(k);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        k->library = l;
        k->name = own;
        for (int dev = 0; dev < MAX_GPUS; dev++) k->settings[dev].carveout = NO_PREFERENCE;
        *kernel = HANDLE(CUkernel, k);
        return CUDA_SUCCESS;
    }
    *kernel = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
    Call c;
    if (!driver_enter(&c, FN_cuLibraryGetKernel)) return c.result;
    Library *l = GET(&c, Library, library, KIND_LIBRARY);
    if (!l) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!kernel || !name) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    return driver_leave(&c, get_kernel(&c, kernel, l, name));
}

/* The library's form in the current context, made when it is first asked for.  */
static CUresult library_module(Call *c, const Library *l, Module **out) {
    size_t at = 0;
    while ((*out = NEXT(c->driver, Module, &at, KIND_MODULE, c->ctx))) {
        if ((*out)->library == l) return CUDA_SUCCESS;
    }
    l->image->refs++;
    return module_new(c->driver, c->ctx, l->image, l, out);
}

CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library) {
    Call c;
    Module *m;
    if (!driver_enter(&c, FN_cuLibraryGetModule)) return c.result;
    const Library *l = GET(&c, Library, library, KIND_LIBRARY);
    if (!l) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!module) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    CUresult r = library_module(&c, l, &m);
    if (r == CUDA_SUCCESS) *module = HANDLE(CUmodule, m);
    return driver_leave(&c, r);
}

static CUresult kernel_function(Call *c, Kernel *k, Function **out) {
    Module *m;
    CUresult r = library_module(c, k->library, &m);
    if (r != CUDA_SUCCESS) return r;
    return module_function(c->driver, m, k->name, &k->settings[c->ctx->gpu->ordinal], out);
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel) {
    Call c;
    Function *f;
    if (!driver_enter(&c, FN_cuKernelGetFunction)) return c.result;
    Kernel *k = GET(&c, Kernel, kernel, KIND_KERNEL);
    if (!k) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!function) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    CUresult r = kernel_function(&c, k, &f);
    if (r == CUDA_SUCCESS) *function = HANDLE(CUfunction, f);
    return driver_leave(&c, r);
}

CUresult function_get(Call *c, const void *handle, Function **out) {
    Kernel *k = GET(c, Kernel, handle, KIND_KERNEL);
    if (k) return kernel_function(c, k, out);
    *out = GET(c, Function, handle, KIND_FUNCTION);
    if (!*out) return CUDA_ERROR_INVALID_HANDLE;
    return (*out)->o.ctx == c->ctx ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
