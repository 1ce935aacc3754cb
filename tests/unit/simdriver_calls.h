/* A call of every function of the simulated driver; rows are (symbol, arguments).  */
#ifndef TESTS_SIMDRIVER_CALLS_H
#define TESTS_SIMDRIVER_CALLS_H
#include "simdriver.h"

#include <string.h>

/* Every function with arguments that are all 0.  */
#define ZERO_CALLS(X)                                                                              \
    X(cuInit, (1)) X(cuDriverGetVersion, (0)) X(cuGetProcAddress, (0, 0, 0, 0))                    \
    X(cuGetProcAddress_v2, (0, 0, 0, 0, 0)) X(cuGetErrorName, (0, 0)) X(cuGetErrorString, (0, 0))  \
    X(cuDeviceGetCount, (0)) X(cuDeviceGet, (0, 0)) X(cuDeviceGetName, (0, 0, 0))                  \
    X(cuDeviceGetUuid, (0, 0)) X(cuDeviceGetUuid_v2, (0, 0)) X(cuDeviceTotalMem_v2, (0, 0))        \
    X(cuDeviceGetAttribute, (0, 0, 0)) X(cuDeviceGetPCIBusId, (0, 0, 0))                           \
    X(cuDevicePrimaryCtxRetain, (0, 0)) X(cuDevicePrimaryCtxRelease_v2, (99))                      \
    X(cuDevicePrimaryCtxGetState, (0, 0, 0)) X(cuCtxCreate_v2, (0, 0, 0))                          \
    X(cuCtxCreate_v4, (0, 0, 0, 0)) X(cuCtxDestroy_v2, (0)) X(cuCtxGetCurrent, (0))                \
    X(cuCtxPushCurrent_v2, (0)) X(cuCtxGetDevice, (0)) X(cuCtxGetDevice_v2, (0, 0))                \
    X(cuMemAlloc_v2, (0, 0)) X(cuMemAllocHost_v2, (0, 0)) X(cuMemFreeHost, (0))                    \
    X(cuMemGetInfo_v2, (0, 0)) X(cuMemcpyHtoD_v2, (0, 0, 1)) X(cuMemcpyDtoH_v2, (0, 0, 1))         \
    X(cuMemcpyDtoD_v2, (0, 0, 1)) X(cuMemcpyHtoDAsync_v2, (0, 0, 1, 0))                            \
    X(cuMemcpyDtoHAsync_v2, (0, 0, 1, 0)) X(cuMemcpyDtoDAsync_v2, (0, 0, 1, 0))                    \
    X(cuMemsetD8_v2, (0, 0, 1)) X(cuMemsetD16_v2, (0, 0, 1)) X(cuMemsetD32_v2, (0, 0, 1))          \
    X(cuMemsetD8Async, (0, 0, 1, 0)) X(cuMemsetD16Async, (0, 0, 1, 0))                             \
    X(cuMemsetD32Async, (0, 0, 1, 0)) X(cuStreamCreate, (0, 0))                                    \
    X(cuStreamCreateWithPriority, (0, 0, 0)) X(cuStreamDestroy_v2, (0))                            \
    X(cuStreamWaitEvent, (0, 0, 0)) X(cuStreamBeginCapture_v2, (0, 0))                             \
    X(cuStreamEndCapture, (0, 0)) X(cuStreamIsCapturing, (0, 0)) X(cuEventCreate, (0, 0))          \
    X(cuEventDestroy_v2, (0))                                                                      \
    X(cuEventRecord, (0, 0)) X(cuEventQuery, (0)) X(cuEventSynchronize, (0))                       \
    X(cuEventElapsedTime, (0, 0, 0)) X(cuEventElapsedTime_v2, (0, 0, 0))                           \
    X(cuGraphInstantiate_v2, (0, 0, 0, 0, 0)) X(cuGraphInstantiateWithFlags, (0, 0, 0))            \
    X(cuGraphLaunch, (0, 0)) X(cuGraphDestroy, (0)) X(cuGraphExecDestroy, (0))                     \
    X(cuModuleLoadData, (0, 0)) X(cuModuleLoadDataEx, (0, 0, 0, 0, 0)) X(cuModuleUnload, (0))      \
    X(cuModuleGetFunction, (0, 0, 0)) X(cuModuleGetGlobal_v2, (0, 0, 0, 0))                        \
    X(cuLibraryLoadData, (0, 0, 0, 0, 0, 0, 0, 0)) X(cuLibraryUnload, (0))                         \
    X(cuLibraryGetKernel, (0, 0, 0)) X(cuLibraryGetModule, (0, 0)) X(cuKernelGetFunction, (0, 0))  \
    X(cuKernelGetAttribute, (0, 0, 0, 0)) X(cuKernelSetAttribute, (0, 0, 0, 0))                    \
    X(cuFuncGetAttribute, (0, 0, 0)) X(cuFuncSetAttribute, (0, 0, 0))                              \
    X(cuFuncLoad, (0)) X(cuFuncSetCacheConfig, (0, 0))                                             \
    X(cuLaunchKernel, (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))                                           \
    X(cuLaunchKernelEx, (0, 0, 0, 0))                                                              \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, (0, 0, 0, 0))                                   \
    X(cuOccupancyMaxActiveClusters, (0, 0, 0))                                                     \
    X(cuTensorMapEncodeTiled, (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))                                \
    X(cuTensorMapEncodeIm2col, (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
/* These do something sensible with arguments that are 0.  */
#define ZERO_CALLS_THAT_WORK(X)                                                                    \
    X(cuCtxSynchronize, ()) X(cuCtxSynchronize_v2, (0)) X(cuCtxSetCurrent, (0))                    \
    X(cuCtxPopCurrent_v2, (0)) X(cuMemFree_v2, (0)) X(cuStreamSynchronize, (0))                    \
    X(cuStreamQuery, (0))

/* The lists cover every function.  */
enum {
#define X(name, symbol, since, needs, parameters) +1
    ALL = SIMDRIVER_FUNCTIONS(X),
#undef X
#define X(symbol, arguments) +1
    LISTED = ZERO_CALLS(X) ZERO_CALLS_THAT_WORK(X)
#undef X
};
_Static_assert((int)ALL == (int)LISTED, "a function is not called by these tests");

typedef enum { NOTHING, INIT, CONTEXT } Needs;
static inline Needs needs_of(const char *symbol) {
#define X(name, own, since, needs, parameters)                                                     \
    if (!strcmp(#own, symbol)) return needs;
    SIMDRIVER_FUNCTIONS(X)
#undef X
    return NOTHING;
}
#endif
