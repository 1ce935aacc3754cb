/* A call of every function of the simulated driver; rows are (symbol, arguments).  */
#ifndef TESTS_SIMDRIVER_CALLS_H
#define TESTS_SIMDRIVER_CALLS_H
#include "simdriver.h"

#include <string.h>

/* Every function with arguments that are all 0, or as near to that as nothing can be done with.  */
#define ZERO_CALLS_OF_CLIENTS(X)                                                                   \
    X(cuCtxAttach, (0, 0)) X(cuCtxDetach, (0)) X(cuFuncSetBlockShape, (0, 0, 0, 0))                \
    X(cuFuncSetSharedSize, (0, 0))                                                                 \
    X(cuUserObjectCreate, (0, 0, 0, 0, 0)) X(cuUserObjectRetain, (0, 0))                           \
    X(cuUserObjectRelease, (0, 0)) X(cuGraphRetainUserObject, (0, 0, 0, 0))                        \
    X(cuGraphReleaseUserObject, (0, 0, 0))                                                         \
    X(cuDeviceComputeCapability, (0, 0, 0)) X(cuDeviceGetByPCIBusId, (0, 0))                       \
    X(cuDeviceCanAccessPeer, (0, 0, 0)) X(cuDeviceGetP2PAttribute, (0, 0, 0, 0))                   \
    X(cuDevicePrimaryCtxSetFlags_v2, (99, 0)) X(cuDevicePrimaryCtxReset_v2, (99))                  \
    X(cuDeviceGetDefaultMemPool, (0, 0)) X(cuDeviceGetMemPool, (0, 0))                             \
    X(cuDeviceSetMemPool, (0, 0)) X(cuCtxCreate_v3, (0, 0, 0, 0, 0)) X(cuCtxGetApiVersion, (0, 0)) \
    X(cuCtxGetId, (0, 0)) X(cuCtxGetFlags, (0)) X(cuCtxGetLimit, (0, 0)) X(cuCtxSetLimit, (99, 0)) \
    X(cuCtxGetCacheConfig, (0)) X(cuCtxSetCacheConfig, (99))                                       \
    X(cuMemAllocPitch_v2, (0, 0, 0, 0, 0)) X(cuMemAllocManaged, (0, 0, 0))                         \
    X(cuMemHostAlloc, (0, 0, 0)) X(cuMemHostGetDevicePointer_v2, (0, 0, 0))                        \
    X(cuMemHostGetFlags, (0, 0)) X(cuMemHostRegister_v2, (0, 0, 0)) X(cuMemHostUnregister, (0))    \
    X(cuMemGetAddressRange_v2, (0, 0, 0)) X(cuPointerGetAttribute, (0, 0, 0))                      \
    X(cuPointerGetAttributes, (0, 0, 0, 0)) X(cuMemAllocAsync, (0, 0, 0))                          \
    X(cuMemAllocFromPoolAsync, (0, 0, 0, 0)) X(cuMemFreeAsync, (1, 0)) X(cuMemPoolCreate, (0, 0))  \
    X(cuMemPoolDestroy, (0)) X(cuMemPoolGetAttribute, (0, 0, 0))                                   \
    X(cuMemPoolSetAttribute, (0, 0, 0)) X(cuMemPoolTrimTo, (0, 0)) X(cuMemcpy, (0, 0, 1))          \
    X(cuMemcpyAsync, (0, 0, 1, 0)) X(cuMemcpyPeer, (0, 0, 0, 0, 0))                                \
    X(cuMemcpyPeerAsync, (0, 0, 0, 0, 0, 0)) X(cuMemcpy2D_v2, (0)) X(cuMemcpy2DUnaligned_v2, (0))  \
    X(cuMemcpy2DAsync_v2, (0, 0)) X(cuMemcpy3D_v2, (0)) X(cuMemcpy3DAsync_v2, (0, 0))              \
    X(cuMemsetD2D8_v2, (0, 0, 0, 1, 1)) X(cuMemsetD2D16_v2, (0, 0, 0, 1, 1))                       \
    X(cuMemsetD2D32_v2, (0, 0, 0, 1, 1)) X(cuMemsetD2D8Async, (0, 0, 0, 1, 1, 0))                  \
    X(cuMemsetD2D16Async, (0, 0, 0, 1, 1, 0)) X(cuMemsetD2D32Async, (0, 0, 0, 1, 1, 0))            \
    X(cuStreamGetPriority, (0, 0)) X(cuStreamGetFlags, (0, 0)) X(cuStreamGetId, (0, 0))            \
    X(cuStreamGetCtx, (0, 0)) X(cuStreamGetDevice, (0, 0))                                         \
    X(cuStreamGetCaptureInfo_v2, (0, 0, 0, 0, 0, 0))                                               \
    X(cuStreamGetCaptureInfo_v3, (0, 0, 0, 0, 0, 0, 0)) X(cuThreadExchangeStreamCaptureMode, (0))  \
    X(cuStreamAddCallback, (0, 0, 0, 0)) X(cuLaunchHostFunc, (0, 0, 0))                            \
    X(cuEventRecordWithFlags, (0, 0, 0)) X(cuGraphCreate, (0, 0)) X(cuGraphClone, (0, 0))          \
    X(cuGraphAddKernelNode, (0, 0, 0, 0, 0)) X(cuGraphAddKernelNode_v2, (0, 0, 0, 0, 0))           \
    X(cuGraphAddMemcpyNode, (0, 0, 0, 0, 0, 0)) X(cuGraphAddMemsetNode, (0, 0, 0, 0, 0, 0))        \
    X(cuGraphAddHostNode, (0, 0, 0, 0, 0)) X(cuGraphAddChildGraphNode, (0, 0, 0, 0, 0))            \
    X(cuGraphAddEmptyNode, (0, 0, 0, 0)) X(cuGraphAddDependencies, (0, 0, 0, 0))                   \
    X(cuGraphAddDependencies_v2, (0, 0, 0, 0, 0)) X(cuGraphGetNodes, (0, 0, 0))                    \
    X(cuGraphGetRootNodes, (0, 0, 0)) X(cuGraphGetEdges, (0, 0, 0, 0))                             \
    X(cuGraphGetEdges_v2, (0, 0, 0, 0, 0)) X(cuGraphNodeGetDependencies, (0, 0, 0))                \
    X(cuGraphNodeGetDependencies_v2, (0, 0, 0, 0)) X(cuGraphNodeGetType, (0, 0))                   \
    X(cuGraphKernelNodeSetParams, (0, 0)) X(cuGraphKernelNodeSetParams_v2, (0, 0))                 \
    X(cuGraphMemcpyNodeSetParams, (0, 0)) X(cuGraphMemsetNodeSetParams, (0, 0))                    \
    X(cuGraphHostNodeSetParams, (0, 0)) X(cuGraphExecKernelNodeSetParams, (0, 0, 0))               \
    X(cuGraphExecKernelNodeSetParams_v2, (0, 0, 0))                                                \
    X(cuGraphExecMemcpyNodeSetParams, (0, 0, 0, 0))                                                \
    X(cuGraphExecMemsetNodeSetParams, (0, 0, 0, 0)) X(cuGraphExecHostNodeSetParams, (0, 0, 0))     \
    X(cuGraphExecUpdate, (0, 0, 0, 0)) X(cuGraphExecUpdate_v2, (0, 0, 0))                          \
    X(cuGraphInstantiateWithParams, (0, 0, 0)) X(cuGraphUpload, (0, 0)) X(cuModuleLoad, (0, 0))    \
    X(cuModuleLoadFatBinary, (0, 0)) X(cuModuleGetLoadingMode, (0))                                \
    X(cuModuleGetFunctionCount, (0, 0)) X(cuModuleEnumerateFunctions, (0, 0, 0))                   \
    X(cuLibraryLoadFromFile, (0, 0, 0, 0, 0, 0, 0, 0)) X(cuLibraryGetGlobal, (0, 0, 0, 0))         \
    X(cuLibraryGetKernelCount, (0, 0)) X(cuLibraryEnumerateKernels, (0, 0, 0))                     \
    X(cuKernelGetName, (0, 0)) X(cuKernelGetLibrary, (0, 0)) X(cuKernelGetParamInfo, (0, 0, 0, 0)) \
    X(cuKernelSetCacheConfig, (0, 0, 0)) X(cuFuncGetModule, (0, 0)) X(cuFuncGetName, (0, 0))       \
    X(cuFuncGetParamInfo, (0, 0, 0, 0)) X(cuFuncIsLoaded, (0, 0))                                  \
    X(cuFuncSetSharedMemConfig, (0, 0)) X(cuLinkCreate_v2, (0, 0, 0, 0))                           \
    X(cuLinkAddData_v2, (0, 0, 0, 0, 0, 0, 0, 0)) X(cuLinkAddFile_v2, (0, 0, 0, 0, 0, 0))          \
    X(cuLinkComplete, (0, 0, 0)) X(cuLinkDestroy, (0))                                             \
    X(cuLaunchCooperativeKernel, (0, 0, 0, 0, 0, 0, 0, 0, 0, 0))                                   \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, (0, 0, 0, 0, 0))                       \
    X(cuOccupancyMaxPotentialBlockSize, (0, 0, 0, 0, 0, 0))                                        \
    X(cuOccupancyMaxPotentialBlockSizeWithFlags, (0, 0, 0, 0, 0, 0, 0))                            \
    X(cuOccupancyAvailableDynamicSMemPerBlock, (0, 0, 0, 0)) X(cuGetExportTable, (0, 0))
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
    X(cuTensorMapEncodeIm2col, (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))                      \
    ZERO_CALLS_OF_CLIENTS(X)
/* These do something sensible with arguments that are 0.  */
#define ZERO_CALLS_THAT_WORK(X)                                                                    \
    X(cuCtxSynchronize, ()) X(cuCtxSynchronize_v2, (0)) X(cuCtxSetCurrent, (0))                    \
    X(cuCtxPopCurrent_v2, (0)) X(cuMemFree_v2, (0)) X(cuStreamSynchronize, (0))                    \
    X(cuStreamQuery, (0)) X(cuProfilerStart, ()) X(cuProfilerStop, ())                             \
    X(cuCtxGetStreamPriorityRange, (0, 0)) X(cuCtxSetFlags, (0))

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
