/* An NVML for tests: one device, whose state is fixed.  FAKE_NVML="FUNCTION=CODE" makes a function
 * fail.  Built by tests/loaded.sh; -DWITHOUT_INIT leaves a function out.  */
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
static int device;

static int fails(const char *name) {
    const char *rule = getenv("FAKE_NVML");
    size_t len = strlen(name);
    if (!rule || strncmp(rule, name, len) != 0 || rule[len] != '=') return 0;
    return atoi(rule + len + 1);
}

#ifndef WITHOUT_INIT
EXPORT int nvmlInit_v2(void) { return fails(__func__); }
#endif
EXPORT int nvmlShutdown(void) { return fails(__func__); }
EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **out) {
    *out = &device;
    return strcmp(uuid, "GPU-1") != 0 ? 6 : fails(__func__);
}
EXPORT int nvmlDeviceGetClockInfo(void *at, int type, unsigned *mhz) {
    *mhz = type == 1 ? 1830 : 2619;
    return at != &device ? 2 : fails(__func__);
}
EXPORT int nvmlDeviceGetTemperature(void *at, int sensor, unsigned *celsius) {
    *celsius = 45;
    return at != &device || sensor ? 2 : fails(__func__);
}
EXPORT int nvmlDeviceGetPowerUsage(void *at, unsigned *milliwatts) {
    *milliwatts = 345678;
    return at != &device ? 2 : fails(__func__);
}
