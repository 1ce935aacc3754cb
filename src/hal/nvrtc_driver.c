/* Which NVRTC makes code that a driver loads, and what to install where there is none.
 *
 * Code for the device's own architecture (a cubin) loads into every driver of NVRTC's major version
 * and into newer ones; PTX, which the driver compiles itself, only into a driver that is no older
 * than NVRTC (docs.nvidia.com/deploy/cuda-compatibility, "Minor Version Compatibility").  */
#include "hal/device.h"
#include "hal/nvrtc_library.h"

/* Versions are major * 100 + minor.  */
static int hundreds(int driver) { return driver / 1000 * 100 + driver % 1000 / 10; }

/* The last minor version (-1: there will be more), the wheel.  */
static const struct {
    int major, last;
    const char *wheel;
} families[] = {
    {11, 8, "nvidia-cuda-nvrtc-cu11"},
    {12, 9, "nvidia-cuda-nvrtc-cu12"},
    {13, -1, "nvidia-cuda-nvrtc"},
};

/* NVRTC versions that know an architecture; last 0: still known.  */
static const struct {
    int sm, first, last;
} known[] = {
    {50, 1100, 1209}, {52, 1100, 1209}, {53, 1100, 1209}, {60, 1100, 1209}, {61, 1100, 1209},
    {62, 1100, 1209}, {70, 1100, 1209}, {72, 1100, 1209}, {75, 1100, 0},    {80, 1100, 0},
    {86, 1101, 0},    {87, 1104, 0},    {88, 1300, 0},    {89, 1108, 0},    {90, 1108, 0},
    {100, 1208, 0},   {101, 1208, 1209}, {103, 1209, 0},  {110, 1300, 0},   {120, 1208, 0},
    {121, 1209, 0},
};

/* False: no version is known to target it.  */
static bool range_of(const char *arch, int *first, int *last) {
    int sm;
    char suffix;
    *first = *last = 0;
    if (!arch) return true;
    if (!hal_arch(arch, &sm, &suffix)) return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].sm != sm) continue;
        *first = known[i].first;
        *last = known[i].last;
        if (suffix == 'a' && *first < 1200) *first = 1200;
        if (suffix == 'f' && *first < 1209) *first = 1209;
        return true;
    }
    return false;
}

const char *nvrtc_needs(Arena *a, const char *arch) {
    int sm, first, last;
    char suffix;
    if (!hal_arch(arch, &sm, &suffix))
        return arena_printf(a, "\"%.32s\" is no architecture", arch);
    if (!range_of(arch, &first, &last))
        return arena_printf(a, "no known version of NVRTC targets %s", arch);
    if (last)
        return arena_printf(a, "%s needs NVRTC %d.%d or older", arch, last / 100, last % 100);
    return arena_printf(a, "%s needs NVRTC %d.%d or newer", arch, first / 100, first % 100);
}

bool nvrtc_loads(const NvrtcOptions *o, int major, int minor) {
    if (!o) return true;
    if (o->below && major * 100 + minor >= o->below) return false;
    if (!o->driver) return true;
    return o->jit ? major * 100 + minor <= hundreds(o->driver) : major <= o->driver / 1000;
}

const char *nvrtc_driver_name(Arena *a, const NvrtcOptions *o) {
    int v = hundreds(o->driver);
    return arena_printf(a, "the driver, which is for CUDA %d.%d%s", v / 100, v % 100,
                        o->jit ? " and has to compile PTX for this device" : "");
}

/* The newest version that targets arch and that the driver loads; 0: there is none.  */
static int newest_that_fits(const NvrtcOptions *o, const char *arch) {
    int first, last, driver = o ? hundreds(o->driver) : 0, best = 0;
    if (!range_of(arch, &first, &last)) return 0;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        int major = families[i].major, open = driver / 100 == major ? driver % 100 : 0;
        int v = major * 100 + (families[i].last >= 0 ? families[i].last : open);
        if (o && o->driver && o->jit && v > driver && v / 100 == driver / 100) v = driver;
        if (last && v > last && v / 100 == last / 100) v = last;
        if (v >= first && (!last || v <= last) &&
            nvrtc_loads(&(NvrtcOptions){.driver = o ? o->driver : 0, .jit = o && o->jit}, v / 100,
                        v % 100))
            best = v;
    }
    return best;
}

static void hint_architectures(Diag *d) {
    Buf b = buf_new(d->arena);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) buf_printf(&b, " sm_%d", known[i].sm);
    diag_hint(d, "versions of NVRTC are known for%s: gpu.arch of the profile names one; "
                 "ROLLER_NVRTC names a libnvrtc.so.N by its full path", buf_str(&b));
}

void nvrtc_advise(Diag *d, const NvrtcOptions *o, const char *arch) {
    int v = newest_that_fits(o, arch), first, last;
    range_of(arch, &first, &last);
    if (!v && o && o->driver && first) {
        diag_hint(d, "update the driver to one for CUDA %d.%d or newer, as nvidia-smi prints it",
                  first / 100, o->jit ? first % 100 : 0);
        return;
    }
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (families[i].major != v / 100) continue;
        diag_hint(d, "NVRTC %d.%d fits: pip install \"%s==%d.%d.*\", or the package "
                     "cuda-nvrtc-%d-%d of NVIDIA's apt and dnf repositories; ROLLER_NVRTC names "
                     "another by its full path", v / 100, v % 100, families[i].wheel, v / 100,
                  v % 100, v / 100, v % 100);
        return;
    }
    hint_architectures(d);
}
