/* The functions around work: streams, events, graphs, code, launches; rows as in
 * driver_functions.h.  */
#ifndef ROLLER_SIMDRIVER_DRIVER_WORK_FUNCTIONS_H
#define ROLLER_SIMDRIVER_DRIVER_WORK_FUNCTIONS_H

#define SIMDRIVER_STREAM_FUNCTIONS(X)                                                              \
    X(cuStreamCreate, cuStreamCreate, 2000, CONTEXT, (CUstream *stream, unsigned flags))           \
    X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, 5050, CONTEXT,                       \
      (CUstream *stream, unsigned flags, int priority))                                            \
    X(cuStreamDestroy, cuStreamDestroy_v2, 4000, CONTEXT, (CUstream stream))                       \
    X(cuStreamSynchronize, cuStreamSynchronize, 2000, CONTEXT, (CUstream stream))                  \
    X(cuStreamQuery, cuStreamQuery, 2000, CONTEXT, (CUstream stream))                              \
    X(cuStreamWaitEvent, cuStreamWaitEvent, 3020, CONTEXT,                                         \
      (CUstream stream, CUevent event, unsigned flags))                                            \
    X(cuStreamBeginCapture, cuStreamBeginCapture_v2, 10010, CONTEXT, (CUstream stream, int mode))  \
    X(cuStreamEndCapture, cuStreamEndCapture, 10000, CONTEXT, (CUstream stream, CUgraph *graph))   \
    X(cuStreamIsCapturing, cuStreamIsCapturing, 10000, CONTEXT, (CUstream stream, int *status))    \
    X(cuEventCreate, cuEventCreate, 2000, CONTEXT, (CUevent *event, unsigned flags))               \
    X(cuEventDestroy, cuEventDestroy_v2, 4000, CONTEXT, (CUevent event))                           \
    X(cuEventRecord, cuEventRecord, 2000, CONTEXT, (CUevent event, CUstream stream))               \
    X(cuEventQuery, cuEventQuery, 2000, CONTEXT, (CUevent event))                                  \
    X(cuEventSynchronize, cuEventSynchronize, 2000, CONTEXT, (CUevent event))                      \
    X(cuEventElapsedTime, cuEventElapsedTime, 2000, CONTEXT,                                       \
      (float *ms, CUevent start, CUevent end))                                                     \
    X(cuEventElapsedTime, cuEventElapsedTime_v2, 12080, CONTEXT,                                   \
      (float *ms, CUevent start, CUevent end))                                                     \
    X(cuStreamGetPriority, cuStreamGetPriority, 5050, CONTEXT, (CUstream stream, int *priority))   \
    X(cuStreamGetFlags, cuStreamGetFlags, 5050, CONTEXT, (CUstream stream, unsigned *flags))       \
    X(cuStreamGetId, cuStreamGetId, 12000, CONTEXT, (CUstream stream, unsigned long long *id))     \
    X(cuStreamGetCtx, cuStreamGetCtx, 9020, CONTEXT, (CUstream stream, CUcontext *ctx))            \
    X(cuStreamGetDevice, cuStreamGetDevice, 12080, CONTEXT, (CUstream stream, CUdevice *dev))      \
    X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2, 11030, CONTEXT,                           \
      (CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **needs,      \
       size_t *n))                                                                                 \
    X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v3, 12030, CONTEXT,                           \
      (CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **needs,      \
       const void **edges, size_t *n))                                                             \
    X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, 10010, INIT,           \
      (int *mode))                                                                                 \
    X(cuStreamAddCallback, cuStreamAddCallback, 5000, CONTEXT,                                     \
      (CUstream stream, CUstreamCallback callback, void *user, unsigned flags))                    \
    X(cuLaunchHostFunc, cuLaunchHostFunc, 10000, CONTEXT,                                          \
      (CUstream stream, CUhostFn fn, void *user))                                                  \
    X(cuEventRecordWithFlags, cuEventRecordWithFlags, 11010, CONTEXT,                              \
      (CUevent event, CUstream stream, unsigned flags))

#define SIMDRIVER_GRAPH_FUNCTIONS(X)                                                               \
    X(cuUserObjectCreate, cuUserObjectCreate, 11030, INIT,                                         \
      (CUuserObject *object, void *pointer, CUhostFn destroy, unsigned refs, unsigned flags))      \
    X(cuUserObjectRetain, cuUserObjectRetain, 11030, INIT, (CUuserObject object, unsigned n))      \
    X(cuUserObjectRelease, cuUserObjectRelease, 11030, INIT, (CUuserObject object, unsigned n))    \
    X(cuGraphRetainUserObject, cuGraphRetainUserObject, 11030, INIT,                               \
      (CUgraph graph, CUuserObject object, unsigned n, unsigned flags))                            \
    X(cuGraphReleaseUserObject, cuGraphReleaseUserObject, 11030, INIT,                             \
      (CUgraph graph, CUuserObject object, unsigned n))                                            \
    X(cuGraphInstantiate, cuGraphInstantiate_v2, 11000, CONTEXT,                                   \
      (CUgraphExec *exec, CUgraph graph, void *node, char *log, size_t len))                       \
    X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040, CONTEXT,                    \
      (CUgraphExec *exec, CUgraph graph, uint64_t flags))                                          \
    X(cuGraphLaunch, cuGraphLaunch, 10000, CONTEXT, (CUgraphExec exec, CUstream stream))           \
    X(cuGraphDestroy, cuGraphDestroy, 10000, INIT, (CUgraph graph))                                \
    X(cuGraphExecDestroy, cuGraphExecDestroy, 10000, INIT, (CUgraphExec exec))                     \
    X(cuGraphCreate, cuGraphCreate, 10000, INIT, (CUgraph *graph, unsigned flags))                 \
    X(cuGraphClone, cuGraphClone, 10000, INIT, (CUgraph *clone, CUgraph graph))                    \
    X(cuGraphAddKernelNode, cuGraphAddKernelNode, 10000, CONTEXT,                                  \
      (CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t n,                       \
       const CUDA_KERNEL_NODE_PARAMS_v1 *params))                                                  \
    X(cuGraphAddKernelNode, cuGraphAddKernelNode_v2, 12000, CONTEXT,                               \
      (CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t n,                       \
       const CUDA_KERNEL_NODE_PARAMS *params))                                                     \
    X(cuGraphAddMemcpyNode, cuGraphAddMemcpyNode, 10000, CONTEXT,                                  \
      (CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t n,                       \
       const CUDA_MEMCPY3D *params, CUcontext ctx))                                                \
    X(cuGraphAddMemsetNode, cuGraphAddMemsetNode, 10000, CONTEXT,                                  \
      (CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t n,                       \
       const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx))                                      \
    X(cuGraphAddHostNode, cuGraphAddHostNode, 10000, INIT,                                         \
      (CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t n,                       \
       const CUDA_HOST_NODE_PARAMS *params))                                                       \
    X(cuGraphAddChildGraphNode, cuGraphAddChildGraphNode, 10000, INIT,                             \
      (CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t n, CUgraph child))       \
    X(cuGraphAddEmptyNode, cuGraphAddEmptyNode, 10000, INIT,                                       \
      (CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t n))                      \
    X(cuGraphAddDependencies, cuGraphAddDependencies, 10000, INIT,                                 \
      (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n))                   \
    X(cuGraphAddDependencies, cuGraphAddDependencies_v2, 12030, INIT,                              \
      (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const void *edges,           \
       size_t n))                                                                                  \
    X(cuGraphGetNodes, cuGraphGetNodes, 10000, INIT,                                               \
      (CUgraph graph, CUgraphNode *nodes, size_t *n))                                              \
    X(cuGraphGetRootNodes, cuGraphGetRootNodes, 10000, INIT,                                       \
      (CUgraph graph, CUgraphNode *nodes, size_t *n))                                              \
    X(cuGraphGetEdges, cuGraphGetEdges, 10000, INIT,                                               \
      (CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *n))                              \
    X(cuGraphGetEdges, cuGraphGetEdges_v2, 12030, INIT,                                            \
      (CUgraph graph, CUgraphNode *from, CUgraphNode *to, void *edges, size_t *n))                 \
    X(cuGraphNodeGetDependencies, cuGraphNodeGetDependencies, 10000, INIT,                         \
      (CUgraphNode node, CUgraphNode *needs, size_t *n))                                           \
    X(cuGraphNodeGetDependencies, cuGraphNodeGetDependencies_v2, 12030, INIT,                      \
      (CUgraphNode node, CUgraphNode *needs, void *edges, size_t *n))                              \
    X(cuGraphNodeGetType, cuGraphNodeGetType, 10000, INIT, (CUgraphNode node, int *type))          \
    X(cuGraphKernelNodeSetParams, cuGraphKernelNodeSetParams, 10000, CONTEXT,                      \
      (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params))                                \
    X(cuGraphKernelNodeSetParams, cuGraphKernelNodeSetParams_v2, 12000, CONTEXT,                   \
      (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params))                                   \
    X(cuGraphMemcpyNodeSetParams, cuGraphMemcpyNodeSetParams, 10000, CONTEXT,                      \
      (CUgraphNode node, const CUDA_MEMCPY3D *params))                                             \
    X(cuGraphMemsetNodeSetParams, cuGraphMemsetNodeSetParams, 10000, CONTEXT,                      \
      (CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params))                                   \
    X(cuGraphHostNodeSetParams, cuGraphHostNodeSetParams, 10000, INIT,                             \
      (CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params))                                     \
    X(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams, 10010, CONTEXT,              \
      (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params))              \
    X(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams_v2, 12000, CONTEXT,           \
      (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params))                 \
    X(cuGraphExecMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams, 10020, CONTEXT,              \
      (CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *params, CUcontext ctx))            \
    X(cuGraphExecMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams, 10020, CONTEXT,              \
      (CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx))  \
    X(cuGraphExecHostNodeSetParams, cuGraphExecHostNodeSetParams, 10020, INIT,                     \
      (CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params))                   \
    X(cuGraphExecUpdate, cuGraphExecUpdate, 10020, INIT,                                           \
      (CUgraphExec exec, CUgraph graph, CUgraphNode *node, int *result))                           \
    X(cuGraphExecUpdate, cuGraphExecUpdate_v2, 12000, INIT,                                        \
      (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info))                        \
    X(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams, 12000, CONTEXT,                  \
      (CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params))                   \
    X(cuGraphUpload, cuGraphUpload, 11010, CONTEXT, (CUgraphExec exec, CUstream stream))

#define SIMDRIVER_CODE_FUNCTIONS(X)                                                                \
    X(cuFuncSetBlockShape, cuFuncSetBlockShape, 2000, CONTEXT,                                     \
      (CUfunction function, int x, int y, int z))                                                  \
    X(cuFuncSetSharedSize, cuFuncSetSharedSize, 2000, CONTEXT,                                     \
      (CUfunction function, unsigned bytes))                                                       \
    X(cuModuleLoadData, cuModuleLoadData, 2000, CONTEXT, (CUmodule *module, const void *image))    \
    X(cuModuleLoadDataEx, cuModuleLoadDataEx, 2010, CONTEXT,                                       \
      (CUmodule *module, const void *image, unsigned n, int *options, void **values))              \
    X(cuModuleUnload, cuModuleUnload, 2000, CONTEXT, (CUmodule module))                            \
    X(cuModuleGetFunction, cuModuleGetFunction, 2000, CONTEXT,                                     \
      (CUfunction *function, CUmodule module, const char *name))                                   \
    X(cuModuleGetGlobal, cuModuleGetGlobal_v2, 3020, CONTEXT,                                      \
      (CUdeviceptr *at, size_t *bytes, CUmodule module, const char *name))                         \
    X(cuLibraryLoadData, cuLibraryLoadData, 12000, INIT,                                           \
      (CUlibrary *library, const void *code, int *options, void **values, unsigned n,              \
       int *library_options, void **library_values, unsigned n_library))                           \
    X(cuLibraryUnload, cuLibraryUnload, 12000, INIT, (CUlibrary library))                          \
    X(cuLibraryGetKernel, cuLibraryGetKernel, 12000, INIT,                                         \
      (CUkernel *kernel, CUlibrary library, const char *name))                                     \
    X(cuLibraryGetModule, cuLibraryGetModule, 12000, CONTEXT,                                      \
      (CUmodule *module, CUlibrary library))                                                       \
    X(cuKernelGetFunction, cuKernelGetFunction, 12000, CONTEXT,                                    \
      (CUfunction *function, CUkernel kernel))                                                     \
    X(cuKernelGetAttribute, cuKernelGetAttribute, 12000, INIT,                                     \
      (int *value, int attribute, CUkernel kernel, CUdevice dev))                                  \
    X(cuKernelSetAttribute, cuKernelSetAttribute, 12000, INIT,                                     \
      (int attribute, int value, CUkernel kernel, CUdevice dev))                                   \
    X(cuFuncGetAttribute, cuFuncGetAttribute, 2020, CONTEXT,                                       \
      (int *value, int attribute, CUfunction function))                                            \
    X(cuFuncSetAttribute, cuFuncSetAttribute, 9000, CONTEXT,                                       \
      (CUfunction function, int attribute, int value))                                             \
    X(cuFuncLoad, cuFuncLoad, 12040, CONTEXT, (CUfunction function))                               \
    X(cuFuncSetCacheConfig, cuFuncSetCacheConfig, 3000, CONTEXT,                                   \
      (CUfunction function, int config))                                                           \
    X(cuModuleLoad, cuModuleLoad, 2000, CONTEXT, (CUmodule *module, const char *file))             \
    X(cuModuleLoadFatBinary, cuModuleLoadFatBinary, 2000, CONTEXT,                                 \
      (CUmodule *module, const void *image))                                                       \
    X(cuModuleGetLoadingMode, cuModuleGetLoadingMode, 11070, NOTHING, (int *mode))                 \
    X(cuModuleGetFunctionCount, cuModuleGetFunctionCount, 12040, CONTEXT,                          \
      (unsigned *n, CUmodule module))                                                              \
    X(cuModuleEnumerateFunctions, cuModuleEnumerateFunctions, 12040, CONTEXT,                      \
      (CUfunction *functions, unsigned n, CUmodule module))                                        \
    X(cuLibraryLoadFromFile, cuLibraryLoadFromFile, 12000, INIT,                                   \
      (CUlibrary *library, const char *file, int *options, void **values, unsigned n,              \
       int *library_options, void **library_values, unsigned n_library))                           \
    X(cuLibraryGetGlobal, cuLibraryGetGlobal, 12000, CONTEXT,                                      \
      (CUdeviceptr *at, size_t *bytes, CUlibrary library, const char *name))                       \
    X(cuLibraryGetKernelCount, cuLibraryGetKernelCount, 12040, INIT,                               \
      (unsigned *n, CUlibrary library))                                                            \
    X(cuLibraryEnumerateKernels, cuLibraryEnumerateKernels, 12040, INIT,                           \
      (CUkernel *kernels, unsigned n, CUlibrary library))                                          \
    X(cuKernelGetName, cuKernelGetName, 12030, INIT, (const char **name, CUkernel kernel))         \
    X(cuKernelGetLibrary, cuKernelGetLibrary, 12050, INIT, (CUlibrary *library, CUkernel kernel))  \
    X(cuKernelGetParamInfo, cuKernelGetParamInfo, 12040, INIT,                                     \
      (CUkernel kernel, size_t index, size_t *offset, size_t *size))                               \
    X(cuKernelSetCacheConfig, cuKernelSetCacheConfig, 12000, INIT,                                 \
      (CUkernel kernel, int config, CUdevice dev))                                                 \
    X(cuFuncGetModule, cuFuncGetModule, 11000, CONTEXT, (CUmodule *module, CUfunction function))   \
    X(cuFuncGetName, cuFuncGetName, 12030, CONTEXT, (const char **name, CUfunction function))      \
    X(cuFuncGetParamInfo, cuFuncGetParamInfo, 12040, CONTEXT,                                      \
      (CUfunction function, size_t index, size_t *offset, size_t *size))                           \
    X(cuFuncIsLoaded, cuFuncIsLoaded, 12040, CONTEXT, (int *state, CUfunction function))           \
    X(cuFuncSetSharedMemConfig, cuFuncSetSharedMemConfig, 4020, CONTEXT,                           \
      (CUfunction function, int config))                                                           \
    X(cuLinkCreate, cuLinkCreate_v2, 6050, CONTEXT,                                                \
      (unsigned n, int *options, void **values, CUlinkState *state))                               \
    X(cuLinkAddData, cuLinkAddData_v2, 6050, INIT,                                                 \
      (CUlinkState state, int type, void *data, size_t size, const char *name, unsigned n,         \
       int *options, void **values))                                                               \
    X(cuLinkAddFile, cuLinkAddFile_v2, 6050, INIT,                                                 \
      (CUlinkState state, int type, const char *file, unsigned n, int *options, void **values))    \
    X(cuLinkComplete, cuLinkComplete, 5050, INIT, (CUlinkState state, void **image, size_t *size)) \
    X(cuLinkDestroy, cuLinkDestroy, 5050, INIT, (CUlinkState state))

#define SIMDRIVER_LAUNCH_FUNCTIONS(X)                                                              \
    X(cuLaunchKernel, cuLaunchKernel, 4000, CONTEXT,                                               \
      (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,       \
       unsigned bz, unsigned smem, CUstream stream, void **params, void **extra))                  \
    X(cuLaunchKernelEx, cuLaunchKernelEx, 11060, CONTEXT,                                          \
      (const CUlaunchConfig *config, CUfunction function, void **params, void **extra))            \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                 \
      cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, CONTEXT,                                  \
      (int *blocks, CUfunction function, int threads, size_t smem))                                \
    X(cuOccupancyMaxActiveClusters, cuOccupancyMaxActiveClusters, 11070, CONTEXT,                  \
      (int *clusters, CUfunction function, const CUlaunchConfig *config))                          \
    X(cuTensorMapEncodeTiled, cuTensorMapEncodeTiled, 12000, INIT,                                 \
      (CUtensorMap *map, int type, uint32_t rank, void *address, const uint64_t *dim,              \
       const uint64_t *stride, const uint32_t *box, const uint32_t *element_stride,                \
       int interleave, int swizzle, int promotion, int fill))                                      \
    X(cuTensorMapEncodeIm2col, cuTensorMapEncodeIm2col, 12000, INIT,                               \
      (CUtensorMap *map, int type, uint32_t rank, void *address, const uint64_t *dim,              \
       const uint64_t *stride, const int *lower, const int *upper, uint32_t channels,              \
       uint32_t pixels, const uint32_t *element_stride, int interleave, int swizzle,               \
       int promotion, int fill))                                                                   \
    X(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, 9000, CONTEXT,                         \
      (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,       \
       unsigned bz, unsigned smem, CUstream stream, void **params))                                \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,                                        \
      cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000, CONTEXT,                         \
      (int *blocks, CUfunction function, int threads, size_t smem, unsigned flags))                \
    X(cuOccupancyMaxPotentialBlockSize, cuOccupancyMaxPotentialBlockSize, 6050, CONTEXT,           \
      (int *grid, int *block, CUfunction function, CUoccupancyB2DSize smem_of, size_t smem,        \
       int limit))                                                                                 \
    X(cuOccupancyMaxPotentialBlockSizeWithFlags,                                                   \
      cuOccupancyMaxPotentialBlockSizeWithFlags, 7000, CONTEXT,                                    \
      (int *grid, int *block, CUfunction function, CUoccupancyB2DSize smem_of, size_t smem,        \
       int limit, unsigned flags))                                                                 \
    X(cuOccupancyAvailableDynamicSMemPerBlock,                                                     \
      cuOccupancyAvailableDynamicSMemPerBlock, 10020, CONTEXT,                                     \
      (size_t *bytes, CUfunction function, int blocks, int threads))
#endif
