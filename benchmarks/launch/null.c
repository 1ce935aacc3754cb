/* A CUDA driver that does nothing, at once: what is left of a launch is what the caller costs.  */
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

static int here;

EXPORT int cuInit(unsigned flags) { return (int)flags; }
EXPORT int cuCtxGetCurrent(void **context) { return *context = &here, 0; }
EXPORT int cuCtxGetDevice(int *device) { return *device = 0, 0; }
EXPORT int cuModuleLoadData(void **module, const void *image) {
    *module = &here;
    return image == NULL;
}
EXPORT int cuModuleUnload(void *module) { return module != &here; }
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name) {
    *function = &here;
    return module != &here || !name;
}
EXPORT int cuFuncSetAttribute(void *function, int attribute, int value) {
    return function != &here || attribute != 8 || value < 0;
}
EXPORT int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
EXPORT int cuLaunchKernelEx(const unsigned *config, void *function, void **params, void **extra) {
    (void)extra;
    return function != &here || !params[0] || config[0] * config[3] == 0;
}
EXPORT int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address) {
    (void)type;
    return !map || !rank || !address;
}
EXPORT int cuTensorMapEncodeIm2col(void *map, int type, unsigned rank, void *address) {
    (void)type;
    return !map || !rank || !address;
}
/* An H200, whatever else is asked.  */
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 75 ? 9 : 0;
    return device != 0;
}
EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned smem, void *stream, void **params,
                          void **extra) {
    (void)smem, (void)stream, (void)extra;
    return function != &here || !params[0] || gx * gy * gz * bx * by * bz == 0;
}
