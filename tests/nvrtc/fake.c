/* An NVRTC for tests: the one in $REAL_NVRTC, but FAKE_NVRTC="FUNCTION=CODE" makes a function fail.
 * Built by tests/nvrtc.sh; -DWITHOUT_VERSION leaves a function out.  */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static void *real(const char *name) {
    static void *library;
    if (!library) library = dlopen(getenv("REAL_NVRTC"), RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, name) : NULL;
}

static int fails(const char *name) {
    const char *rule = getenv("FAKE_NVRTC");
    size_t len = strlen(name);
    if (!rule || strncmp(rule, name, len) != 0 || rule[len] != '=') return 0;
    return atoi(rule + len + 1);
}

#define FORWARD(name, parameters, arguments)                                                       \
    EXPORT int name parameters {                                                                   \
        int(*next) parameters;                                                                     \
        if (fails(#name)) return fails(#name);                                                     \
        *(void **)&next = real(#name);                                                             \
        return next ? next arguments : 11;                                                         \
    }

#ifndef WITHOUT_VERSION
FORWARD(nvrtcVersion, (int *major, int *minor), (major, minor))
#endif
FORWARD(nvrtcGetNumSupportedArchs, (int *n), (n))
FORWARD(nvrtcGetSupportedArchs, (int *archs), (archs))
FORWARD(nvrtcCreateProgram, (void **p, const char *source, const char *name, int n,
                             const char *const *headers, const char *const *names),
        (p, source, name, n, headers, names))
FORWARD(nvrtcDestroyProgram, (void **p), (p))
FORWARD(nvrtcCompileProgram, (void *p, int n, const char *const *options), (p, n, options))
FORWARD(nvrtcGetPTXSize, (void *p, size_t *size), (p, size))
FORWARD(nvrtcGetPTX, (void *p, char *text), (p, text))
FORWARD(nvrtcGetCUBINSize, (void *p, size_t *size), (p, size))
FORWARD(nvrtcGetCUBIN, (void *p, char *data), (p, data))
FORWARD(nvrtcGetProgramLogSize, (void *p, size_t *size), (p, size))
FORWARD(nvrtcGetProgramLog, (void *p, char *log), (p, log))

EXPORT const char *nvrtcGetErrorString(int code) {
    const char *(*next)(int);
    *(void **)&next = real("nvrtcGetErrorString");
    return next ? next(code) : "FAKE_ERROR";
}
