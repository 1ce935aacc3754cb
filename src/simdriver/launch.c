/* Launches and occupancy.  */
#include "simdriver/work.h"

#include <string.h>

typedef struct {
    uint64_t grid[3], block[3], cluster[3];               /* cluster 0: none asked for */
    unsigned smem;
    bool cooperative, overlaps;
} Shape;

static uint64_t volume(const uint64_t n[3]) { return n[0] * n[1] * n[2]; }

static CUresult read_attributes(const CUlaunchConfig *k, Shape *out) {
    if (k->numAttrs && !k->attrs) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned n = 0; n < k->numAttrs; n++) {
        const CUlaunchAttribute *a = &k->attrs[n];
        switch (a->id) {
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: out->cooperative = a->value.number != 0; break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            out->cluster[0] = a->value.cluster.x;
            out->cluster[1] = a->value.cluster.y;
            out->cluster[2] = a->value.cluster.z;
            if (!volume(out->cluster)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
            break;
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
            out->overlaps = a->value.number != 0;
            break;
        case CU_LAUNCH_ATTRIBUTE_IGNORE:
        case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: break;
        default: return CUDA_ERROR_NOT_SUPPORTED;
        }
    }
    return CUDA_SUCCESS;
}

static CUresult read_config(const CUlaunchConfig *k, Shape *out) {
    *out = (Shape){.grid = {k->gridDimX, k->gridDimY, k->gridDimZ},
                   .block = {k->blockDimX, k->blockDimY, k->blockDimZ},
                   .smem = k->sharedMemBytes};
    return read_attributes(k, out);
}

/* A cluster is the one asked for, else the one the kernel was compiled with.  */
static CUresult check_cluster(const Function *f, const Device *dev, Shape *s) {
    bool asked = volume(s->cluster) != 0, compiled = f->info.cluster[0] > 0;
    for (int k = 0; compiled && k < 3; k++) {
        uint64_t own = (uint64_t)f->info.cluster[k];
        if (asked && s->cluster[k] != own) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        s->cluster[k] = own;
    }
    if (!asked && !compiled) {
        return f->info.explicit_cluster ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
    }
    for (int k = 0; k < 3; k++) {
        bool divides = s->cluster[k] <= 64 && s->grid[k] % s->cluster[k] == 0;
        if (!divides) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
    uint64_t size = volume(s->cluster), most = (uint64_t)dev->limits.cluster_max.value;
    if (size > 1 && most <= 1) return CUDA_ERROR_NOT_SUPPORTED;
    return size <= most ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

static CUresult check_shape(const Function *f, const Device *dev, Shape *s) {
    const DeviceLimits *l = &dev->limits;
    const double grid_most[3] = {l->grid_max.value, 65535, 65535};
    const double block_most[3] = {l->threads_per_block.value, l->threads_per_block.value, 64};
    for (int k = 0; k < 3; k++) {
        if (s->grid[k] == 0 || (double)s->grid[k] > grid_most[k] || s->block[k] == 0 ||
            (double)s->block[k] > block_most[k]) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (f->info.block[0] && s->block[k] != (uint64_t)f->info.block[k]) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    uint64_t threads = volume(s->block);
    if ((double)threads > l->threads_per_block.value) return CUDA_ERROR_INVALID_VALUE;
    if ((int64_t)s->smem > function_most_dynamic(f, dev)) return CUDA_ERROR_INVALID_VALUE;
    if (f->info.max_threads > 0 && threads > (uint64_t)f->info.max_threads) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult r = check_cluster(f, dev, s);
    if (r != CUDA_SUCCESS) return r;
    int per_sm = function_blocks_per_sm(f, dev, (int)threads, s->smem);
    if (per_sm == 0) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    uint64_t resident = (uint64_t)per_sm * (uint64_t)l->sm_count.value;
    return s->cooperative && volume(s->grid) > resident ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
                                                        : CUDA_SUCCESS;
}

/* ---- parameters ---- */

/* The buffer among the `extra` arguments.  */
static CUresult find_buffer(void **extra, const void **buffer, size_t *bytes) {
    *buffer = NULL;
    *bytes = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) *buffer = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) *bytes = *(const size_t *)extra[1];
        else return CUDA_ERROR_INVALID_VALUE;
    }
    return *buffer ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult gather(const SimParam *p, int n, void **params, void **extra, size_t need,
                       unsigned char *out) {
    if (params && extra) return CUDA_ERROR_INVALID_VALUE;
    if (extra) {
        const void *buffer;
        size_t bytes;
        CUresult r = find_buffer(extra, &buffer, &bytes);
        if (r != CUDA_SUCCESS || bytes < need) return CUDA_ERROR_INVALID_VALUE;
        memcpy(out, buffer, need);
        return CUDA_SUCCESS;
    }
    for (int k = 0; k < n; k++) {
        if (!params || !params[k]) return CUDA_ERROR_INVALID_VALUE;
        memcpy(out + p[k].offset, params[k], (size_t)p[k].bytes);
    }
    return CUDA_SUCCESS;
}

static CUresult take_params(const Function *f, void **params, void **extra, SimLaunch *out) {
    const SimParam *p;
    int n = sim_kernel_params(f->module->image->code, f->name, &p);
    size_t need = 0;
    for (int k = 0; k < n; k++) {
        size_t end = (size_t)p[k].offset + (size_t)p[k].bytes;
        if (end > need) need = end;
    }
    unsigned char *bytes = host_alloc(need + 1);
    if (!bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    out->params = bytes;
    out->params_bytes = need;
    return gather(p, n, params, extra, need, bytes);
}

/* ---- calls ---- */

CUresult work_of_launch(Call *c, const CUlaunchConfig *config, CUfunction function, void **params,
                        void **extra, Work **out) {
    Function *f;
    Shape shape;
    CUresult r = function_get(c, function, &f);
    if (r != CUDA_SUCCESS) return r;
    r = read_config(config, &shape);
    if (r == CUDA_SUCCESS) r = check_shape(f, c->ctx->gpu->dev, &shape);
    if (r != CUDA_SUCCESS) return r;
    Work *w = work_new(WORK_KERNEL);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    SimLaunch *l = &w->launch.launch;
    for (int k = 0; k < 3; k++) {
        l->grid[k] = (uint32_t)shape.grid[k];
        l->block[k] = (uint32_t)shape.block[k];
        l->cluster[k] = (uint32_t)shape.cluster[k];
    }
    l->dynamic_smem = shape.smem;
    l->registers = f->registers;
    l->overlaps = shape.overlaps && c->ctx->gpu->dev->cc_major >= 9;
    l->module = f->module->image->code;
    l->kernel = f->name;
    w->launch.image = f->module->image;
    w->launch.image->refs++;
    r = take_params(f, params, extra, l);
    *out = w;
    if (r != CUDA_SUCCESS) work_release(w);
    return r;
}

static CUresult launch(Call *c, const CUlaunchConfig *config, CUfunction function, void **params,
                       void **extra) {
    Work *w;
    CUresult r = work_of_launch(c, config, function, params, extra, &w);
    if (r != CUDA_SUCCESS) return r;
    Stream *s = stream_get(c, config->hStream);
    driver_log_launch(&w->launch.launch);
    if (s && !s->capture) {               /* what the host has seen end is over */
        const Work *last = s->last;
        w->launch.launch.overlaps &= last && last->kind == WORK_KERNEL && !last->done;
    }
    if (s) return work_submit(c->driver, s, w);
    work_release(w);
    return CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned smem, CUstream stream, void **params,
                        void **extra) {
    Call c;
    if (!driver_enter(&c, FN_cuLaunchKernel)) return c.result;
    CUlaunchConfig config = {gx, gy, gz, bx, by, bz, smem, stream, NULL, 0};
    return driver_leave(&c, launch(&c, &config, function, params, extra));
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                   unsigned bx, unsigned by, unsigned bz, unsigned smem,
                                   CUstream stream, void **params) {
    Call c;
    if (!driver_enter(&c, FN_cuLaunchCooperativeKernel)) return c.result;
    CUlaunchAttribute together = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.number = 1};
    CUlaunchConfig config = {gx, gy, gz, bx, by, bz, smem, stream, &together, 1};
    return driver_leave(&c, launch(&c, &config, function, params, NULL));
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
                          void **extra) {
    Call c;
    if (!driver_enter(&c, FN_cuLaunchKernelEx)) return c.result;
    if (!config) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    return driver_leave(&c, launch(&c, config, function, params, extra));
}

/* Clusters that fit with one block per SM, times the blocks of an SM.  */
static CUresult count_clusters(const Function *f, const Device *dev, Shape *s, int *out) {
    if (!volume(s->block) || (double)volume(s->block) > dev->limits.threads_per_block.value) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult r = check_cluster(f, dev, s);
    if (r != CUDA_SUCCESS) return r;
    uint64_t size = volume(s->cluster);
    double fit = dev->limits.sm_count.value;
    if (size > 1) fit = hal_curve(&dev->limits.clusters_resident, (double)size);
    *out = (int)fit * function_blocks_per_sm(f, dev, (int)volume(s->block), s->smem);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction function,
                                      const CUlaunchConfig *config) {
    Call c;
    Function *f;
    Shape shape;
    if (!driver_enter(&c, FN_cuOccupancyMaxActiveClusters)) return c.result;
    if (!clusters || !config) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    CUresult r = function_get(&c, function, &f);
    if (r == CUDA_SUCCESS) r = read_config(config, &shape);
    if (r == CUDA_SUCCESS) r = count_clusters(f, c.ctx->gpu->dev, &shape, clusters);
    return driver_leave(&c, r);
}
