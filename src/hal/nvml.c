#include "hal/nvml.h"

#include <dlfcn.h>

enum { CLOCK_SM = 1, CLOCK_MEM = 2, SENSOR_GPU = 0, MILLI = 1000 };

struct Nvml {
    void *library, *device;
    int (*shutdown)(void);
    int (*clock)(void *device, int type, unsigned *mhz);
    int (*temperature)(void *device, int sensor, unsigned *celsius);
    int (*power)(void *device, unsigned *milliwatts);
};

static void stop(void *p) {
    const Nvml *n = p;
    n->shutdown();
    dlclose(n->library);
}

static void unload(void *library) { dlclose(library); }

Nvml *nvml_open(Arena *a, const char *uuid) {
    int (*init)(void), (*by_uuid)(const char *uuid, void **device);
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return NULL;
    Nvml *n = ARENA_NEW(a, Nvml);
    n->library = library;
    *(void **)&init = dlsym(library, "nvmlInit_v2");
    *(void **)&by_uuid = dlsym(library, "nvmlDeviceGetHandleByUUID");
    *(void **)&n->shutdown = dlsym(library, "nvmlShutdown");
    *(void **)&n->clock = dlsym(library, "nvmlDeviceGetClockInfo");
    *(void **)&n->temperature = dlsym(library, "nvmlDeviceGetTemperature");
    *(void **)&n->power = dlsym(library, "nvmlDeviceGetPowerUsage");
    if (!init || !by_uuid || !n->shutdown || init()) {
        unload(library);
        return NULL;
    }
    arena_defer(a, stop, n);
    return by_uuid(uuid, &n->device) ? NULL : n;
}

NvmlState nvml_state(const Nvml *n) {
    NvmlState s = {0};
    unsigned v;
    if (!n) return s;
    if (n->clock && !n->clock(n->device, CLOCK_SM, &v)) s.clock_sm_mhz = (int)v;
    if (n->clock && !n->clock(n->device, CLOCK_MEM, &v)) s.clock_mem_mhz = (int)v;
    if (n->temperature && !n->temperature(n->device, SENSOR_GPU, &v)) s.temperature_c = (int)v;
    if (n->power && !n->power(n->device, &v)) s.power_w = (int)(v / MILLI);
    return s;
}
