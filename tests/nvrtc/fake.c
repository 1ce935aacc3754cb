/* An NVRTC for tests: the one in $REAL_NVRTC, but FAKE_NVRTC="FUNCTION=CODE" makes a function fail,
 * and FAKE_NVRTC_LOG is what programs have for a log.
 * Built by tests/nvrtc*.sh; -DWITHOUT_VERSION leaves a function out, -DMAJOR=12 -DMINOR=4
 * -DISA="8.4" makes it another version, which marks what it makes as the real one does: in PTX the
 * ISA, in cubins of version 12 and older the ABI's version 7 and the toolkit's.  */
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

#ifdef MAJOR
EXPORT int nvrtcVersion(int *major, int *minor) {
    *major = MAJOR;
    *minor = MINOR;
    return 0;
}

EXPORT int nvrtcGetPTX(void *p, char *text) {
    int (*next)(void *, char *);
    *(void **)&next = real("nvrtcGetPTX");
    int result = next ? next(p, text) : 11;
    char *at = result ? NULL : strstr(text, ".version ");
    if (at) memcpy(at + 9, ISA, 3);
    return result;
}

EXPORT int nvrtcGetCUBIN(void *p, char *data) {
    int (*next)(void *, char *);
    *(void **)&next = real("nvrtcGetCUBIN");
    int result = next ? next(p, data) : 11;
    if (!result && MAJOR < 13) {
        data[8] = 7;
        data[20] = (char)(MAJOR * 10 + MINOR);
    }
    return result;
}
/* The real one keeps no results in the driver's cache, though only version 13 would.  */
EXPORT int nvrtcCompileProgram(void *p, int n, const char *const *options) {
    int (*next)(void *, int, const char *const *);
    const char *own[32] = {"--no-cache"};
    *(void **)&next = real("nvrtcCompileProgram");
    if (!next || n > 31) return 11;
    memcpy(own + 1, options, (size_t)n * sizeof *own);
    return MAJOR < 13 ? next(p, n + 1, own) : next(p, n, options);
}
#else
FORWARD(nvrtcCompileProgram, (void *p, int n, const char *const *options), (p, n, options))
FORWARD(nvrtcGetPTX, (void *p, char *text), (p, text))
FORWARD(nvrtcGetCUBIN, (void *p, char *data), (p, data))
#ifndef WITHOUT_VERSION
FORWARD(nvrtcVersion, (int *major, int *minor), (major, minor))
#endif
#endif
FORWARD(nvrtcGetNumSupportedArchs, (int *n), (n))
FORWARD(nvrtcGetSupportedArchs, (int *archs), (archs))
FORWARD(nvrtcCreateProgram, (void **p, const char *source, const char *name, int n,
                             const char *const *headers, const char *const *names),
        (p, source, name, n, headers, names))
FORWARD(nvrtcDestroyProgram, (void **p), (p))
FORWARD(nvrtcGetPTXSize, (void *p, size_t *size), (p, size))
FORWARD(nvrtcGetCUBINSize, (void *p, size_t *size), (p, size))

EXPORT int nvrtcGetProgramLogSize(void *p, size_t *size) {
    int (*next)(void *, size_t *);
    const char *log = getenv("FAKE_NVRTC_LOG");
    int failed = fails("nvrtcGetProgramLogSize");
    *(void **)&next = real("nvrtcGetProgramLogSize");
    if (failed || !log) return failed ? failed : next ? next(p, size) : 11;
    *size = strlen(log) + 1;
    return 0;
}

EXPORT int nvrtcGetProgramLog(void *p, char *text) {
    int (*next)(void *, char *);
    const char *log = getenv("FAKE_NVRTC_LOG");
    int failed = fails("nvrtcGetProgramLog");
    *(void **)&next = real("nvrtcGetProgramLog");
    if (failed || !log) return failed ? failed : next ? next(p, text) : 11;
    memcpy(text, log, strlen(log) + 1);
    return 0;
}

EXPORT const char *nvrtcGetErrorString(int code) {
    const char *(*next)(int);
    *(void **)&next = real("nvrtcGetErrorString");
    return next ? next(code) : "FAKE_ERROR";
}
