/* Libraries, which belong to no context, and their kernels.  */
#include "simdriver/work.h"

#include <stdlib.h>
#include <string.h>

CUresult library_open(Driver *d, CUlibrary *library, const void *code) {
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
    CUresult r = library_open(c.driver, library, code);
    return driver_leave(&c, code_logs(c.driver, r, n, options, values));
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
            if (m->library == l) module_unload(d, m);
        }
    }
    at = 0;
    for (Kernel *k; (k = NEXT(d, Kernel, &at, KIND_KERNEL, NULL));) {
        if (k->library == l) object_free(d, &k->o);
    }
    object_free(d, &l->o);
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult library_kernel(Call *c, CUkernel *kernel, Library *l, const char *name) {
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
    return driver_leave(&c, library_kernel(&c, kernel, l, name));
}

CUresult library_module(Call *c, const Library *l, Module **out) {
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

/* ---- questions ---- */

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *file, int *options, void **values,
                               unsigned n, int *library_options, void **library_values,
                               unsigned n_library) {
    Call c;
    char *bytes;
    if (!driver_enter(&c, FN_cuLibraryLoadFromFile)) return c.result;
    if (!library || (n && (!options || !values)) || (n_library && !library_options)) {
        return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    }
    (void)library_values;
    CUresult r = code_read(c.driver, file, &bytes, NULL);
    if (r == CUDA_SUCCESS) {
        r = library_open(c.driver, library, bytes);
        free(bytes);
    }
    return driver_leave(&c, code_logs(c.driver, r, n, options, values));
}

CUresult cuLibraryGetGlobal(CUdeviceptr *at, size_t *bytes, CUlibrary library, const char *name) {
    Call c;
    Module *m;
    if (!driver_enter(&c, FN_cuLibraryGetGlobal)) return c.result;
    const Library *l = GET(&c, Library, library, KIND_LIBRARY);
    if (!l) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    CUresult r = library_module(&c, l, &m);
    return driver_leave(&c, r == CUDA_SUCCESS ? module_variable(m, at, bytes, name) : r);
}

CUresult cuLibraryGetKernelCount(unsigned *n, CUlibrary library) {
    Call c;
    if (!driver_enter(&c, FN_cuLibraryGetKernelCount)) return c.result;
    const Library *l = GET(&c, Library, library, KIND_LIBRARY);
    if (!l) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!n) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *n = (unsigned)sim_kernel_count(l->image->code);
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned n, CUlibrary library) {
    Call c;
    if (!driver_enter(&c, FN_cuLibraryEnumerateKernels)) return c.result;
    Library *l = GET(&c, Library, library, KIND_LIBRARY);
    if (!l) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!kernels || !n) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    unsigned count = (unsigned)sim_kernel_count(l->image->code);
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; r == CUDA_SUCCESS && k < n && k < count; k++) {
        r = library_kernel(&c, &kernels[k], l, sim_kernel_name(l->image->code, (int)k));
    }
    return driver_leave(&c, r);
}

CUresult cuKernelGetName(const char **name, CUkernel kernel) {
    Call c;
    if (!driver_enter(&c, FN_cuKernelGetName)) return c.result;
    const Kernel *k = GET(&c, Kernel, kernel, KIND_KERNEL);
    if (!k) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!name) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *name = k->name;
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel) {
    Call c;
    if (!driver_enter(&c, FN_cuKernelGetLibrary)) return c.result;
    const Kernel *k = GET(&c, Kernel, kernel, KIND_KERNEL);
    if (!k) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!library) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *library = HANDLE(CUlibrary, k->library);
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size) {
    Call c;
    if (!driver_enter(&c, FN_cuKernelGetParamInfo)) return c.result;
    const Kernel *k = GET(&c, Kernel, kernel, KIND_KERNEL);
    if (!k) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    return driver_leave(&c, code_param(k->library->image, k->name, index, offset, size));
}
