/* What a measured profile starts from, and what it is called.  */
#include "profiler/profiler.h"

#include <ctype.h>
#include <string.h>

/* ---- names ---- */
static bool passed_over(const char *word) {
    static const char *const brand[] = {"nvidia", "geforce", "tesla", "quadro", "gpu", "graphics",
                                        "device", "generation"};
    for (size_t i = 0; i < sizeof brand / sizeof *brand; i++)
        if (!strcmp(word, brand[i])) return true;
    return false;
}

const char *profiler_name(Arena *a, const char *gpu) {
    enum { LONGEST = 48 };
    Buf name = buf_new(a);
    while (*gpu && name.len < LONGEST) {
        char word[LONGEST + 1];
        size_t n = 0;
        while (*gpu && !isalnum((unsigned char)*gpu)) gpu++;
        for (; isalnum((unsigned char)*gpu); gpu++)
            if (n < LONGEST) word[n++] = (char)tolower((unsigned char)*gpu);
        word[n] = 0;
        if (n && !passed_over(word)) buf_puts(&name, word);
    }
    return name.len ? buf_str(&name) : "gpu";
}

const char *profiler_own_name(Arena *a, const CudaDeviceInfo *info, const char *path) {
    const char *name = profiler_name(a, info->name);
    Diag ignored = diag_new(a);
    Device *other;
    bool taken = !hal_profile_find(a, &ignored, name, path, NULL, &other) &&
                 (other->cc_major != info->cc_major || other->cc_minor != info->cc_minor);
    return taken ? arena_printf(a, "%ssm%d%d", name, info->cc_major, info->cc_minor) : name;
}

bool profiler_same_gpu(Arena *a, const char *one, const char *other) {
    return !strcmp(profiler_name(a, hal_gpu_model(a, one)),
                   profiler_name(a, hal_gpu_model(a, other)));
}

/* ---- base ---- */
enum { USUAL_THREADS = 1024 };

/* A GPU made up for tests ends its blocks elsewhere, and is nothing to start from.  */
static bool alike(const CudaDeviceInfo *info, const Device *dev) {
    int told = info->attribute[CUDA_ATTR_THREADS_PER_BLOCK];
    int threads = told > 0 ? told : USUAL_THREADS;
    return threads == (int)dev->limits.threads_per_block.value;
}

/* How well a profile describes the device: 0 not at all.  The GPU itself, then its architecture,
 * then the newest of the older ones; among equals the nearest number of SMs.  What was found in
 * the simulator is nothing that a GPU's profile starts from, and what was measured on another GPU
 * is no figure of this one.  */
static int fitness(Arena *a, const CudaDeviceInfo *info, const Device *dev) {
    enum { SAME_GPU = 10000000, SAME_ARCH = 1000000, ARCH = 1000 };
    int own = info->cc_major * 10 + info->cc_minor, its = dev->cc_major * 10 + dev->cc_minor;
    bool named = profiler_same_gpu(a, dev->gpu, info->name);
    int apart = info->attribute[CUDA_ATTR_SM_COUNT] - (int)dev->limits.sm_count.value;
    if (apart < 0) apart = -apart;
    if (apart >= ARCH) apart = ARCH - 1;
    if (dev->language != LANGUAGE_CUDA || its > own) return 0;
    if (dev->simulated && !hal_gpu_simulated(info->name)) return 0;
    if (its == own && named) return SAME_GPU;
    if (strcmp(dev->mode, "datasheet") != 0) return 0;
    if (!alike(info, dev)) return 0;
    return (its == own ? SAME_ARCH : its * ARCH) - apart;
}

/* An older architecture's profile as one of the device's: without what only that one has.  */
static Status adopt(Arena *a, Diag *d, const CudaDeviceInfo *info, const Device *dev,
                    const Device **out) {
    int own = info->cc_major * 10 + info->cc_minor, its = dev->cc_major * 10 + dev->cc_minor;
    Device *copy = NULL;
    *out = dev;
    if (its == own) return ST_OK;
    Status s = hal_device_for_arch(a, d, dev, arena_printf(a, "sm_%d", its), &copy);
    if (s) return s;
    copy->arch = arena_strdup(a, info->arch);
    copy->cc_major = info->cc_major;
    copy->cc_minor = info->cc_minor;
    *out = copy;
    return ST_OK;
}

Status profiler_base(Arena *a, Diag *d, const CudaDeviceInfo *info, const char *path,
                     const Device **out) {
    const char *const *names;
    int n = hal_profile_list(a, path, &names), best = 0;
    const Device *found = NULL;
    *out = NULL;
    for (int i = 0; i < n; i++) {
        Diag ignored = diag_new(a);
        Device *dev;
        if (hal_profile_find(a, &ignored, names[i], path, NULL, &dev)) continue;
        int fit = fitness(a, info, dev);
        if (fit > best) found = dev;
        if (fit > best) best = fit;
    }
    if (found) return adopt(a, d, info, found, out);
    diag_error(d, ST_PROFILE, "profile", DIAG_NOWHERE,
               "there is no profile of %s or an older architecture to start from in %s",
               info->arch, path);
    diag_hint(d, "a measurement takes the instructions and what it cannot measure from a profile; "
                 "ROLLER_PROFILE_PATH names folders to search");
    return ST_PROFILE;
}
