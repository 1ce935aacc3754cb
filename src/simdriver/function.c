/* What a kernel needs, what may be set of it, and how much of it fits on a device.  */
#include "simdriver/image.h"
#include "simdriver/work.h"

enum { CACHE_CONFIGS = 4, POLICIES = 3 };

static int64_t most_shared(const Settings *s, const SimKernelInfo *info, const Device *dev) {
    if (s->set) return s->max_dynamic;
    int64_t left = (int64_t)dev->limits.smem_per_block.value - (int64_t)info->static_smem;
    return left > 0 ? left : 0;
}

int64_t function_most_dynamic(const Function *f, const Device *dev) {
    return most_shared(f->settings, &f->info, dev);
}

int function_blocks_per_sm(const Function *f, const Device *dev, int threads, int64_t dynamic) {
    return hal_blocks_per_sm(dev, threads, f->registers, (int64_t)f->info.static_smem + dynamic);
}

int function_most_threads(const Function *f, const Device *dev) {
    int most = (int)dev->limits.threads_per_block.value;
    if (f->info.max_threads > 0 && f->info.max_threads < most) most = f->info.max_threads;
    int warp = (int)dev->limits.warp_size.value, fit = most;
    while (fit > warp && function_blocks_per_sm(f, dev, fit, 0) == 0) fit -= warp;
    return fit;
}

static CUresult get_attribute(const Function *f, const Device *dev, int attribute, int *value) {
    const SimKernelInfo *i = &f->info;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = function_most_threads(f, dev); break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)i->static_smem; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = (int)i->const_bytes; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)i->local_bytes; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = f->registers; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = i->target.sm; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = dev->cc_major * 10 + dev->cc_minor; break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = (int)function_most_dynamic(f, dev);
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = f->settings->carveout; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
        *value = i->explicit_cluster && i->cluster[0] == 0;
        break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        *value = i->cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
        break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        *value = f->settings->non_portable;
        break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        *value = f->settings->policy;
        break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult set_attribute(const Function *f, const Device *dev, Settings *settings,
                              int attribute, int value) {
    bool valid = false;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        valid = value >= 0 && (int64_t)value + (int64_t)f->info.static_smem <=
                                  (int64_t)dev->limits.smem_per_block_optin.value;
        if (!valid) break;
        settings->set = true;
        settings->max_dynamic = value;
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        valid = value >= NO_PREFERENCE && value <= 100;
        if (valid) settings->carveout = value;
        break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        valid = value == 0 || value == 1;
        if (valid) settings->non_portable = value;
        break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        valid = value >= 0 && value < POLICIES;
        if (valid) settings->policy = value;
        break;
    default: break;
    }
    return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function) {
    Call c;
    Function *f;
    if (!driver_enter(&c, FN_cuFuncGetAttribute)) return c.result;
    CUresult r = function_get(&c, function, &f);
    if (r == CUDA_SUCCESS) r = get_attribute(f, c.ctx->gpu->dev, attribute, value);
    return driver_leave(&c, r);
}

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
    Call c;
    Function *f;
    if (!driver_enter(&c, FN_cuFuncSetAttribute)) return c.result;
    CUresult r = function_get(&c, function, &f);
    if (r == CUDA_SUCCESS) {
        r = set_attribute(f, c.ctx->gpu->dev, f->settings, attribute, value);
    }
    return driver_leave(&c, r);
}

/* Nothing is loaded lazily here.  */
CUresult cuFuncLoad(CUfunction function) {
    Call c;
    Function *f;
    if (!driver_enter(&c, FN_cuFuncLoad)) return c.result;
    return driver_leave(&c, function_get(&c, function, &f));
}

/* A preference for L1 or shared memory; the simulated device has no use for it.  */
CUresult cuFuncSetCacheConfig(CUfunction function, int config) {
    Call c;
    Function *f;
    if (!driver_enter(&c, FN_cuFuncSetCacheConfig)) return c.result;
    CUresult r = function_get(&c, function, &f);
    if (r == CUDA_SUCCESS && (config < 0 || config >= CACHE_CONFIGS)) r = CUDA_ERROR_INVALID_VALUE;
    return driver_leave(&c, r);
}

/* A library's kernel on a device, without a context.  */
static CUresult describe_kernel(Call *c, CUkernel kernel, CUdevice dev, Function *out) {
    Kernel *k = GET(c, Kernel, kernel, KIND_KERNEL);
    const Gpu *g = gpu_get(c->driver, dev);
    if (!k) return CUDA_ERROR_INVALID_HANDLE;
    if (!g) return CUDA_ERROR_INVALID_DEVICE;
    CUresult r = image_fits(k->library->image, g->dev);
    if (r != CUDA_SUCCESS) return r;
    *out = (Function){.settings = &k->settings[dev]};
    function_describe(k->library->image, k->name, g->dev, out);
    return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int *value, int attribute, CUkernel kernel, CUdevice dev) {
    Call c;
    Function f;
    if (!driver_enter(&c, FN_cuKernelGetAttribute)) return c.result;
    CUresult r = describe_kernel(&c, kernel, dev, &f);
    if (r == CUDA_SUCCESS) {
        r = get_attribute(&f, gpu_get(c.driver, dev)->dev, attribute, value);
    }
    return driver_leave(&c, r);
}

CUresult cuKernelSetAttribute(int attribute, int value, CUkernel kernel, CUdevice dev) {
    Call c;
    Function f;
    if (!driver_enter(&c, FN_cuKernelSetAttribute)) return c.result;
    CUresult r = describe_kernel(&c, kernel, dev, &f);
    if (r == CUDA_SUCCESS) {
        r = set_attribute(&f, gpu_get(c.driver, dev)->dev, f.settings, attribute, value);
    }
    return driver_leave(&c, r);
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, int config, CUdevice dev) {
    Call c;
    Function f;
    if (!driver_enter(&c, FN_cuKernelSetCacheConfig)) return c.result;
    CUresult r = describe_kernel(&c, kernel, dev, &f);
    if (r == CUDA_SUCCESS && (config < 0 || config >= CACHE_CONFIGS)) r = CUDA_ERROR_INVALID_VALUE;
    return driver_leave(&c, r);
}

/* ---- names and parameters ---- */

CUresult cuFuncGetName(const char **name, CUfunction function) {
    Call c;
    Function *f;
    if (!driver_enter(&c, FN_cuFuncGetName)) return c.result;
    CUresult r = function_get(&c, function, &f);
    if (r == CUDA_SUCCESS && !name) r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) *name = f->name;
    return driver_leave(&c, r);
}

CUresult cuFuncGetModule(CUmodule *module, CUfunction function) {
    Call c;
    Function *f;
    if (!driver_enter(&c, FN_cuFuncGetModule)) return c.result;
    CUresult r = function_get(&c, function, &f);
    if (r == CUDA_SUCCESS && !module) r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) *module = HANDLE(CUmodule, f->module);
    return driver_leave(&c, r);
}

CUresult cuFuncIsLoaded(int *state, CUfunction function) {
    Call c;
    Function *f;
    enum { LOADED = 1 };
    if (!driver_enter(&c, FN_cuFuncIsLoaded)) return c.result;
    CUresult r = function_get(&c, function, &f);
    if (r == CUDA_SUCCESS && !state) r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) *state = LOADED;
    return driver_leave(&c, r);
}

/* Banks have one width.  */
CUresult cuFuncSetSharedMemConfig(CUfunction function, int config) {
    Call c;
    Function *f;
    enum { CONFIGS = 3 };
    if (!driver_enter(&c, FN_cuFuncSetSharedMemConfig)) return c.result;
    CUresult r = function_get(&c, function, &f);
    if (r == CUDA_SUCCESS && (config < 0 || config >= CONFIGS)) r = CUDA_ERROR_INVALID_VALUE;
    return driver_leave(&c, r);
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size) {
    Call c;
    Function *f;
    if (!driver_enter(&c, FN_cuFuncGetParamInfo)) return c.result;
    CUresult r = function_get(&c, function, &f);
    if (r != CUDA_SUCCESS) return driver_leave(&c, r);
    return driver_leave(&c, code_param(f->module->image, f->name, index, offset, size));
}

/* ---- what cuLaunch would take, and nothing else: launches say all of it themselves ---- */

CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z) {
    Call c;
    Function *f;
    if (!driver_enter(&c, FN_cuFuncSetBlockShape)) return c.result;
    CUresult r = function_get(&c, function, &f);
    if (r == CUDA_SUCCESS && (x < 1 || y < 1 || z < 1)) r = CUDA_ERROR_INVALID_VALUE;
    return driver_leave(&c, r);
}

CUresult cuFuncSetSharedSize(CUfunction function, unsigned bytes) {
    Call c;
    Function *f;
    (void)bytes;
    if (!driver_enter(&c, FN_cuFuncSetSharedSize)) return c.result;
    return driver_leave(&c, function_get(&c, function, &f));
}
