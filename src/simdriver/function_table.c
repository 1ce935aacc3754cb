/* The table of all functions.  */
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
