/* The bodies of functions that are forms of others or none of ours.  */
#include "simdriver/state.h"

#define X(name, symbol, since, needs, parameters, base, arguments)                                 \
    CUresult symbol parameters {                                                                   \
        driver_via(FN_##symbol);                                                                   \
        return base arguments;                                                                     \
    }
SIMDRIVER_PER_THREAD(X)
#undef X

static CUresult not_supported(FunctionId f) {
    Call c;
    if (!driver_enter(&c, f)) return c.result;
    return driver_leave(&c, CUDA_ERROR_NOT_SUPPORTED);
}

/* They read none of their arguments, so they are declared with none; a caller does not notice.  */
#define X(name, symbol, since)                                                                     \
    CUresult symbol(void) { return not_supported(FN_##symbol); }
SIMDRIVER_UNSUPPORTED(X)
#undef X
