/* NVRTC as a library: finding, loading, what it targets.  Internal to src/hal.  */
#ifndef ROLLER_HAL_NVRTC_LIBRARY_H
#define ROLLER_HAL_NVRTC_LIBRARY_H
#include "hal/nvrtc.h"

typedef struct NvrtcProgram NvrtcProgram;

/* Every function used.   name                 parameters */
#define NVRTC_API(X)                                                                               \
    X(GetErrorString, const char *, (int result))                                                  \
    X(Version, int, (int *major, int *minor))                                                      \
    X(GetNumSupportedArchs, int, (int *count))                                                     \
    X(GetSupportedArchs, int, (int *archs))                                                        \
    X(CreateProgram, int, (NvrtcProgram **p, const char *source, const char *name, int n_headers,  \
                           const char *const *headers, const char *const *include_names))          \
    X(DestroyProgram, int, (NvrtcProgram **p))                                                     \
    X(CompileProgram, int, (NvrtcProgram *p, int n_options, const char *const *options))           \
    X(GetPTXSize, int, (NvrtcProgram *p, size_t *size))                                            \
    X(GetPTX, int, (NvrtcProgram *p, char *ptx))                                                   \
    X(GetCUBINSize, int, (NvrtcProgram *p, size_t *size))                                          \
    X(GetCUBIN, int, (NvrtcProgram *p, char *cubin))                                               \
    X(GetProgramLogSize, int, (NvrtcProgram *p, size_t *size))                                     \
    X(GetProgramLog, int, (NvrtcProgram *p, char *log))

struct Nvrtc {
    void *library, *builtins; /* NULL: none were found beside it */
    const char *file;
    int major, minor;
    const char *const *archs;
#define X(name, type, parameters) type(*name) parameters;
    NVRTC_API(X)
#undef X
    /* Asks now and then whether to end the compilation: nonzero.  Older ones have none: NULL.  */
    int (*SetFlowCallback)(NvrtcProgram *p, int (*asked)(void *user, void *unused), void *user);
};

bool nvrtc_targets(const Nvrtc *n, const char *arch);
/* "sm_70 needs NVRTC 12.9 or older".  */
const char *nvrtc_needs(Arena *a, const char *arch);

typedef struct {
    const char *file;         /* full path, or a name that the loader searches for */
    int major, minor;         /* minor -1: not known before it is loaded */
} NvrtcCandidate;
/* Where NVRTC may be, in the order in which they are tried: newest first.  Returns how many.  */
int nvrtc_candidates(Arena *a, const NvrtcOptions *o, const NvrtcCandidate **out);
/* Does the driver of the options load what this version makes, and is it below what was tried?  */
bool nvrtc_loads(const NvrtcOptions *o, int major, int minor);
/* "the driver, which is for CUDA 12.4".  */
const char *nvrtc_driver_name(Arena *a, const NvrtcOptions *o);
/* Hints at a version that fits, and at the packages that have it.  */
void nvrtc_advise(Diag *d, const NvrtcOptions *o, const char *arch);
/* The path that an option or the environment gives; NULL: it is searched for.  */
const char *nvrtc_given(const NvrtcOptions *o);
bool nvrtc_alone(const NvrtcOptions *o);                   /* without the environment */

/* Keeps a loaded NVRTC from replacing the process's signal handlers, and the end of the process
 * from destroying under its threads what it made on the way.  */
void nvrtc_bind_imports(void *library);
/* From here on the end of the process waits for NVRTC's threads before it runs handlers that were
 * registered before.  */
void nvrtc_await_at_exit(void);

enum { NVRTC_MAX_OPTIONS = 10, NVRTC_STOPPED = -1 };
/* nvrtcCompileProgram with p's source, on a thread of its own in which all signals are blocked: the
 * caller's may take them meanwhile.  Returns its result, or, soon after the watch has ended it,
 * NVRTC_STOPPED: then the thread goes on alone, as shortly as NVRTC allows, and destroys p.  */
int nvrtc_compile_apart(const Nvrtc *n, Arena *a, NvrtcProgram *p, int n_option,
                        const char *const *option, Watch *watch);

/* What ptxas wrote about each kernel; returns how many.  */
int nvrtc_log_resources(Arena *a, const char *log, KernelResources **out);
/* The first line of a warning that makes the code unsound, or NULL.  */
const char *nvrtc_log_unsound(Arena *a, const char *log);
/* The kernel that declares most shared memory, more than `least` bytes, where the log names no
 * error: too much of it is refused without a word.  NULL: there is none.  */
const KernelResources *nvrtc_log_declares(Arena *a, const char *log, int64_t least);
/* Does the log of what was refused mean that there was no memory?  */
bool nvrtc_log_memory(const char *log);
/* The first lines with an error (else the first lines), in one.  */
const char *nvrtc_log_errors(Arena *a, const char *log);
/* The log without the times of ptxas, so that it depends on the source alone.  */
const char *nvrtc_log_timeless(Arena *a, const char *log);
#endif
