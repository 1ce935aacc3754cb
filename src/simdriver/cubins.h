/* The functions of NVRTC and nvJitLink that give out cubins, as a client calls them; private to
 * src/simdriver.  */
#ifndef ROLLER_SIMDRIVER_CUBINS_H
#define ROLLER_SIMDRIVER_CUBINS_H
#include "simdriver/state.h"

/* The functions of the two libraries that are of interest; the name each begins with says whose it
 * is.  In the place of some a client gets ours.
 *    name, ours  */
#define CUBINS_FUNCTIONS(X)                                                                        \
    X(nvrtcGetCUBIN,               watched_compile)                                                \
    X(nvrtcGetCUBINSize,           NULL)                                                           \
    X(nvrtcGetPTX,                 NULL)                                                           \
    X(nvrtcGetPTXSize,             NULL)                                                           \
    X(nvJitLinkCreate,             watched_create)                                                 \
    X(nvJitLinkAddData,            watched_data)                                                   \
    X(nvJitLinkAddFile,            watched_file)                                                   \
    X(nvJitLinkComplete,           NULL)                                                           \
    X(nvJitLinkGetLinkedCubin,     watched_link)                                                   \
    X(nvJitLinkGetLinkedCubinSize, NULL)                                                           \
    X(nvJitLinkGetLinkedPtx,       NULL)                                                           \
    X(nvJitLinkGetLinkedPtxSize,   NULL)                                                           \
    X(nvJitLinkDestroy,            watched_destroy)
typedef enum {
#define X(plain, own) CUBINS_##plain,
    CUBINS_FUNCTIONS(X)
#undef X
        CUBINS_COUNT
} CubinsFunction;
typedef void AnyFunction(void);

/* dlsym of the C library, by the versions that its ports gave it; and what that finds under a name,
 * NULL: nothing.  */
typedef void *Lookup(void *handle, const char *name);
Lookup *cubins_lookup(void);
AnyFunction *cubins_real(void *handle, const char *name);
/* What a client gets that asks `handle` for a function under `name`, which has `prefix` before its
 * plain name and `tail` behind it; NULL: the real one.  */
AnyFunction *cubins_ours(CubinsFunction f, void *handle, const char *prefix, const char *tail);
#endif
