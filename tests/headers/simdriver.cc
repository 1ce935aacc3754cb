/* The simulated driver's functions, results, enumerations and structures against cuda.h.
 * ENUMERATORS lists the names CU_... that ours gives values to.  */
#include "alike.h"

#include <stdlib.h>

namespace ours {
#include "simdriver/attributes.h"
#include "simdriver/driver_api.h"
#define X(name) constexpr long long value_##name = (long long)name;
ENUMERATORS(X)
#undef X
}
#undef CU_STREAM_LEGACY
#undef CU_STREAM_PER_THREAD
#undef CU_LAUNCH_PARAM_END
#undef CU_LAUNCH_PARAM_BUFFER_POINTER
#undef CU_LAUNCH_PARAM_BUFFER_SIZE

/* What the header declares hides the name behind it.  */
namespace behind {
#define X(name, symbol, since, needs, parameters) constexpr Absent symbol{};
SIMDRIVER_FUNCTIONS(X)
#undef X
#define X(name, code, text) constexpr Absent name{};
SIMDRIVER_RESULTS(X)
#undef X
#define X(name, code, value) constexpr Absent CU_DEVICE_ATTRIBUTE_##name{};
SIMDRIVER_ATTRIBUTES(X)
#undef X
#define X(name) constexpr Absent name{};
ENUMERATORS(X)
#undef X
namespace installed {
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

void functions() {
#define X(name, symbol, since, needs, parameters)                                                  \
    compare<decltype(ours::symbol), decltype(symbol)>(#symbol);
    SIMDRIVER_FUNCTIONS(X)
#undef X
}
void values() {
#define X(name, code, text) compare(#name, code, name);
    SIMDRIVER_RESULTS(X)
#undef X
#define X(name, code, value) compare(#name, code, CU_DEVICE_ATTRIBUTE_##name);
    SIMDRIVER_ATTRIBUTES(X)
#undef X
#define X(name) compare(#name, ours::value_##name, name);
    ENUMERATORS(X)
#undef X
}
void layouts() {
#define FIELD(type, field)                                                                         \
    compare(#type "." #field, offsetof(ours::type, field), offsetof(type, field));                 \
    compare<decltype(ours::type::field), decltype(type::field)>(#type "." #field);
#define SIZE(type) compare(#type, sizeof(ours::type), sizeof(type));
    SIZE(CUuuid) SIZE(CUtensorMap)
    SIZE(CUlaunchAttributeValue)
    SIZE(CUlaunchAttribute) FIELD(CUlaunchAttribute, id) FIELD(CUlaunchAttribute, value)
    SIZE(CUlaunchConfig) FIELD(CUlaunchConfig, gridDimX) FIELD(CUlaunchConfig, gridDimY)
    FIELD(CUlaunchConfig, gridDimZ) FIELD(CUlaunchConfig, blockDimX)
    FIELD(CUlaunchConfig, blockDimY) FIELD(CUlaunchConfig, blockDimZ)
    FIELD(CUlaunchConfig, sharedMemBytes) FIELD(CUlaunchConfig, hStream)
    FIELD(CUlaunchConfig, attrs) FIELD(CUlaunchConfig, numAttrs)
}
}
}

int main() {
    behind::installed::functions();
    behind::installed::values();
    behind::installed::layouts();
    return close("the simulated driver and cuda.h");
}
