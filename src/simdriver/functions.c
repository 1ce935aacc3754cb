#include "simdriver/state.h"

const FunctionRow simdriver_functions[FN_COUNT] = {
#define X(name, symbol, since, needs, parameters) {#name, #symbol, since, NEEDS_##needs},
    SIMDRIVER_FUNCTIONS(X)
#undef X
};
