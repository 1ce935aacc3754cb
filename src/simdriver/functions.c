/* The table of all functions, and the bodies of those that are forms of others or none of ours.  */
#include "simdriver/state.h"

const FunctionRow simdriver_functions[FN_COUNT] = {
#define X(name, symbol, since, needs, parameters) {#name, #symbol, since, NEEDS_##needs},
    SIMDRIVER_FUNCTIONS(X)
#undef X
#define X(name, symbol, since, needs, parameters, base, arguments)                                 \
    {#name, #symbol, since, NEEDS_##needs},
    SIMDRIVER_PER_THREAD(X)
#undef X
#define X(name, symbol, since) {#name, #symbol, since, NEEDS_INIT},
    SIMDRIVER_UNSUPPORTED(X)
#undef X
};

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
