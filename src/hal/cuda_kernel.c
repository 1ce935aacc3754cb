/* Modules, kernels, launches, occupancy, tensor maps.  */
#include "base/elf.h"
#include "hal/cuda_api.h"

#include <string.h>

/* ---- images ---- */
struct CudaModule {
    CudaContext *context;
    CudaOwned *owned;         /* a library where the driver has them, else a module */
    const void *cubin;        /* its image; NULL: PTX */
    size_t len;
    int code;                 /* that loading ended with */
    CudaModule *next;         /* of the cubin's next image */
};

static bool has_libraries(const Cuda *c) {
    return c->cuLibraryLoadData && c->cuLibraryUnload && c->cuLibraryGetKernel &&
           c->cuKernelGetFunction && c->cuKernelSetAttribute;
}

enum { JIT_LOG = 4096 };

static int load(CudaContext *x, bool library, const void *image, char *log, void **out) {
    const Cuda *c = x->cuda;
    int option[] = {CUDA_JIT_ERROR_LOG, CUDA_JIT_ERROR_LOG_BYTES};
    void *value[] = {log, (void *)(uintptr_t)JIT_LOG};
    return library ? c->cuLibraryLoadData(out, image, option, value, 2, NULL, NULL, 0)
                   : c->cuModuleLoadDataEx(out, image, 2, option, value);
}

static Status load_one(CudaContext *x, Arena *a, Diag *d, const CudaImage *image,
                       CudaModule **out) {
    Cuda *c = x->cuda;
    bool library = has_libraries(c);
    CudaModule *m = ARENA_NEW(a, CudaModule);
    m->context = x;
    m->cubin = image->cubin;
    m->len = image->cubin_len;
    m->owned = cuda_owned(x, a, library ? OWN_LIBRARY : OWN_MODULE);
    *out = m;
    Status s = ST_OK;
    if (c->sim_ptx && image->cubin && image->ptx)
        s = cuda_check(c, d, c->sim_ptx(image->cubin, image->cubin_len, image->ptx),
                       "roller_sim_driver_ptx");
    if (s) return s;
    char log[JIT_LOG] = "";
    void *handle = NULL;
    int code = m->code = load(x, library, image->cubin ? image->cubin : image->ptx, log, &handle);
    if (!code) {
        m->owned->handle = handle;
        return ST_OK;
    }
    log[JIT_LOG - 1] = 0;
    log[strcspn(log, "\n")] = 0;
    const char *call = library ? "cuLibraryLoadData" : "cuModuleLoadDataEx";
    if (*log && !c->sim_ptx) call = arena_printf(a, "%s (%s)", call, log);
    return cuda_check(c, d, code, call);
}

/* On failure *out is what was not loaded.  */
Status cuda_load(CudaContext *x, Arena *a, Diag *d, const CudaImage *image, CudaModule **out) {
    const char *cubin = image->cubin;
    CudaModule *rest = NULL;
    size_t size, at = cubin ? elf_step(cubin, image->cubin_len, 0, &size) : 0, step;
    if (!at || at == image->cubin_len) return load_one(x, a, d, image, out);
    for (at = 0; (step = elf_step(cubin, image->cubin_len, at, &size)); at += step) {
        CudaImage one = {.cubin = cubin + at, .cubin_len = size, .ptx = image->ptx};
        Status s = load_one(x, a, d, &one, out);
        if (s) return s;
        (*out)->next = rest;
        rest = *out;
    }
    return ST_OK;
}

bool cuda_refused(const CudaModule *m) {
    enum { INVALID_IMAGE = 200, NO_BINARY_FOR_GPU = 209, UNSUPPORTED_PTX_VERSION = 222 };
    return m->code == INVALID_IMAGE || m->code == NO_BINARY_FOR_GPU ||
           m->code == UNSUPPORTED_PTX_VERSION;
}

static Status attribute(const Cuda *c, Diag *d, void *function, int id, int *out) {
    return CUDA_CALL(c, d, cuFuncGetAttribute, out, id, function);
}

/* The module whose image has a kernel; where none has, the driver says so.  */
static CudaModule *module_of(CudaModule *m, const char *symbol) {
    ElfSection text;
    for (CudaModule *x = m; x && x->cubin; x = x->next)
        if (elf_section(x->cubin, x->len, ".text.", symbol, &text)) return x;
    return m;
}

/* Asking for the function in a context loads it there, even where loading is lazy.  */
static Status get_function(CudaModule *m, Diag *d, const char *symbol, CudaKernel *out,
                           void **function) {
    Cuda *c = m->context->cuda;
    m = module_of(m, symbol);
    out->context = m->context;
    out->library = m->owned->kind == OWN_LIBRARY;
    Status s;
    if (out->library) {
        s = CUDA_CALL(c, d, cuLibraryGetKernel, &out->handle, m->owned->handle, symbol);
        if (!s) s = CUDA_CALL(c, d, cuKernelGetFunction, function, out->handle);
    } else {
        s = CUDA_CALL(c, d, cuModuleGetFunction, function, m->owned->handle, symbol);
        out->handle = *function;
    }
    return !s && c->cuFuncLoad ? CUDA_CALL(c, d, cuFuncLoad, *function) : s;
}

Status cuda_kernel(CudaModule *m, Diag *d, const char *symbol, CudaKernel *out) {
    *out = (CudaKernel){0};
    Cuda *c = m->context->cuda;
    void *function = NULL;
    int smem = 0, local = 0;
    Status s = get_function(m, d, symbol, out, &function);
    if (!s) s = attribute(c, d, function, CUDA_FUNC_REGISTERS, &out->registers);
    if (!s) s = attribute(c, d, function, CUDA_FUNC_MAX_THREADS, &out->max_threads);
    if (!s) s = attribute(c, d, function, CUDA_FUNC_STATIC_SMEM, &smem);
    if (!s) s = attribute(c, d, function, CUDA_FUNC_LOCAL_BYTES, &local);
    out->static_smem = smem;
    out->local_bytes = local;
    return s;
}

Status cuda_kernel_preload(const CudaKernel *k, Diag *d) {
    const Cuda *c = k->context->cuda;
    void *function;
    if (!k->library || !cuda_here(k->context)) return ST_OK;
    return CUDA_CALL(c, d, cuKernelGetFunction, &function, k->handle);
}

static Status set_attribute(const CudaKernel *k, Diag *d, int id, int value) {
    const Cuda *c = k->context->cuda;
    return k->library
               ? CUDA_CALL(c, d, cuKernelSetAttribute, id, value, k->handle, k->context->dev)
               : CUDA_CALL(c, d, cuFuncSetAttribute, k->handle, id, value);
}

Status cuda_kernel_smem(const CudaKernel *k, Diag *d, int64_t bytes) {
    int64_t free_of_charge = k->context->info.attribute[CUDA_ATTR_SMEM_PER_BLOCK];
    if (bytes + k->static_smem <= free_of_charge) return ST_OK;
    int64_t most = k->context->info.attribute[CUDA_ATTR_SMEM_PER_BLOCK_OPTIN];
    if (bytes + k->static_smem > most)
        return diag_error(d, ST_CUDA, "cuda", DIAG_NOWHERE,
                          "the kernel needs %lld bytes of shared memory; a block of %s has %lld",
                          (long long)(bytes + k->static_smem), k->context->info.name,
                          (long long)most);
    return set_attribute(k, d, CUDA_FUNC_DYNAMIC_SMEM, (int)bytes);
}

/* ---- launches ---- */
/* Streams that are captured take overlapping launches since CUDA 12.3.  */
enum { MOST_ATTRIBUTES = 2, CUDA_NEEDS_NEWER_DRIVER = 36, CUDA_OVERLAPS = 12030 };

static bool overlaps(const Cuda *c, const CudaLaunch *l) {
    return l->overlap && c->version >= CUDA_OVERLAPS && c->cuLaunchKernelEx;
}

static bool clustered(const CudaLaunch *l) {
    return (int64_t)l->cluster[0] * l->cluster[1] * l->cluster[2] > 1;
}

static CudaLaunchConfig config_of(const Cuda *c, const CudaLaunch *l,
                                  CudaLaunchAttribute at[MOST_ATTRIBUTES], CudaStream s) {
    CudaLaunchConfig config = {.smem = (unsigned)l->dynamic_smem, .stream = s, .attribute = at};
    for (int i = 0; i < 3; i++) {
        config.grid[i] = (unsigned)l->grid[i];
        config.block[i] = (unsigned)l->block[i];
    }
    if (clustered(l)) {
        CudaLaunchAttribute *a = &at[config.n_attribute++];
        *a = (CudaLaunchAttribute){.id = CUDA_LAUNCH_CLUSTER};
        for (int i = 0; i < 3; i++) a->value.cluster[i] = (unsigned)l->cluster[i];
    }
    if (overlaps(c, l)) {
        CudaLaunchAttribute *a = &at[config.n_attribute++];
        *a = (CudaLaunchAttribute){.id = CUDA_LAUNCH_OVERLAP};
        a->value.number = 1;
    }
    return config;
}

int cuda_launch_code(const CudaKernel *k, const CudaLaunch *l, void *const *params, CudaStream s) {
    const Cuda *c = k->context->cuda;
    void **given = (void **)(uintptr_t)params;
    if (c->cuLaunchKernelEx && (clustered(l) || overlaps(c, l))) {
        CudaLaunchAttribute at[MOST_ATTRIBUTES];
        CudaLaunchConfig config = config_of(c, l, at, s);
        return c->cuLaunchKernelEx(&config, k->handle, given, NULL);
    }
    if (clustered(l)) return CUDA_NEEDS_NEWER_DRIVER;
    return c->cuLaunchKernel(k->handle, (unsigned)l->grid[0], (unsigned)l->grid[1],
                             (unsigned)l->grid[2], (unsigned)l->block[0], (unsigned)l->block[1],
                             (unsigned)l->block[2], (unsigned)l->dynamic_smem, s, given, NULL);
}

Status cuda_launch(const CudaKernel *k, Diag *d, const CudaLaunch *l, void *const *params,
                   CudaStream s) {
    const Cuda *c = k->context->cuda;
    bool extended = clustered(l) || overlaps(c, l);
    Status st = cuda_need(c, d, c->cuLaunchKernelEx || !clustered(l), "cuLaunchKernelEx",
                          "launches clusters");
    if (st) return st;
    return cuda_check(c, d, cuda_launch_code(k, l, params, s),
                      extended && c->cuLaunchKernelEx ? "cuLaunchKernelEx" : "cuLaunchKernel");
}

Status cuda_blocks_per_sm(const CudaKernel *k, Diag *d, int threads, int64_t smem, int *out) {
    return CUDA_CALL(k->context->cuda, d, cuOccupancyMaxActiveBlocksPerMultiprocessor, out,
                     k->handle, threads, (size_t)smem);
}

Status cuda_clusters(const CudaKernel *k, Diag *d, const CudaLaunch *l, int *out) {
    const Cuda *c = k->context->cuda;
    Status s = cuda_need(c, d, c->cuOccupancyMaxActiveClusters != NULL,
                         "cuOccupancyMaxActiveClusters", "counts resident clusters");
    if (s) return s;
    CudaLaunchAttribute at[MOST_ATTRIBUTES];
    CudaLaunchConfig config = config_of(c, l, at, NULL);
    return CUDA_CALL(c, d, cuOccupancyMaxActiveClusters, out, k->handle, &config);
}

int64_t cuda_resident(const CudaKernel *k, const CudaLaunch *l) {
    const Cuda *c = k->context->cuda;
    CudaLaunchAttribute at[MOST_ATTRIBUTES];
    int n = 0, threads = l->block[0] * l->block[1] * l->block[2];
    if (!clustered(l)) {
        int code = c->cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, k->handle, threads,
                                                                  (size_t)l->dynamic_smem);
        return code ? 0 : (int64_t)n * k->context->info.attribute[CUDA_ATTR_SM_COUNT];
    }
    CudaLaunchConfig config = config_of(c, l, at, NULL);
    if (!c->cuOccupancyMaxActiveClusters ||
        c->cuOccupancyMaxActiveClusters(&n, k->handle, &config))
        return 0;
    return (int64_t)n * l->cluster[0] * l->cluster[1] * l->cluster[2];
}

/* ---- tensor maps ---- */
Status cuda_makes_maps(const Cuda *c, Diag *d) {
    static const char what[] = "makes tensor maps";
    Status s = cuda_need(c, d, c->cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled", what);
    return s ? s
             : cuda_need(c, d, c->cuTensorMapEncodeIm2col, "cuTensorMapEncodeIm2col", what);
}

CudaEncoders cuda_encoders(const Cuda *c) {
    return (CudaEncoders){c->cuTensorMapEncodeTiled, c->cuTensorMapEncodeIm2col};
}

int cuda_tensor_map_code(const CudaEncoders *by, const TensorMap *m, CudaTensorMap *out) {
    void *address = (void *)(uintptr_t)m->address;
    if (m->im2col)
        return by->im2col(out->bytes, (int)m->type, (uint32_t)m->rank, address, m->dim, m->stride,
                          m->lower, m->upper, m->channels, m->pixels, m->element_stride,
                          m->interleave, m->swizzle, m->promotion, m->fill);
    return by->tiled(out->bytes, (int)m->type, (uint32_t)m->rank, address, m->dim, m->stride,
                     m->box, m->element_stride, m->interleave, m->swizzle, m->promotion, m->fill);
}

Status cuda_tensor_map(const Cuda *c, Diag *d, const TensorMap *m, CudaTensorMap *out) {
    Status s = cuda_makes_maps(c, d);
    if (s) return s;
    const char *why = tensor_map_wrong(m);
    if (why)
        return diag_error(d, ST_CUDA, "cuda", DIAG_NOWHERE, "no driver takes the tensor map: %s",
                          why);
    const CudaEncoders by = cuda_encoders(c);
    return cuda_check(c, d, cuda_tensor_map_code(&by, m, out),
                      m->im2col ? "cuTensorMapEncodeIm2col" : "cuTensorMapEncodeTiled");
}
