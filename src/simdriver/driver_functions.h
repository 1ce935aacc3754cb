/* The functions of the Driver API that the simulated driver simulates.  A row is the name without a
 * version, as cuGetProcAddress takes it; the exported symbol; the driver version that brought it;
 * what a call needs before it can do anything (nothing; cuInit; a current context that has not
 * failed); and the parameters.  What is exported and not simulated is in driver_unsupported.h.
 *    name, symbol, since, needs, parameters  */
#ifndef ROLLER_SIMDRIVER_DRIVER_FUNCTIONS_H
#define ROLLER_SIMDRIVER_DRIVER_FUNCTIONS_H
#include "simdriver/driver_work_functions.h"

#define SIMDRIVER_FUNCTIONS(X)                                                                     \
    SIMDRIVER_GENERAL_FUNCTIONS(X) SIMDRIVER_DEVICE_FUNCTIONS(X) SIMDRIVER_CONTEXT_FUNCTIONS(X)    \
    SIMDRIVER_MEMORY_FUNCTIONS(X) SIMDRIVER_COPY_FUNCTIONS(X) SIMDRIVER_STREAM_FUNCTIONS(X)        \
    SIMDRIVER_GRAPH_FUNCTIONS(X) SIMDRIVER_CODE_FUNCTIONS(X) SIMDRIVER_LAUNCH_FUNCTIONS(X)

#define SIMDRIVER_GENERAL_FUNCTIONS(X)                                                             \
    X(cuInit, cuInit, 2000, NOTHING, (unsigned flags))                                             \
    X(cuDriverGetVersion, cuDriverGetVersion, 2020, NOTHING, (int *version))                       \
    X(cuGetProcAddress, cuGetProcAddress, 11030, NOTHING,                                          \
      (const char *symbol, void **at, int version, uint64_t flags))                                \
    X(cuGetProcAddress, cuGetProcAddress_v2, 12000, NOTHING,                                       \
      (const char *symbol, void **at, int version, uint64_t flags, int *status))                   \
    X(cuGetErrorName, cuGetErrorName, 6000, NOTHING, (CUresult error, const char **name))          \
    X(cuGetErrorString, cuGetErrorString, 6000, NOTHING, (CUresult error, const char **text))      \
    X(cuProfilerStart, cuProfilerStart, 4000, CONTEXT, (void))                                     \
    X(cuProfilerStop, cuProfilerStop, 4000, CONTEXT, (void))                                       \
    X(cuGetExportTable, cuGetExportTable, 3000, NOTHING, (const void **table, const CUuuid *id))

#define SIMDRIVER_DEVICE_FUNCTIONS(X)                                                              \
    X(cuDeviceGetCount, cuDeviceGetCount, 2000, INIT, (int *count))                                \
    X(cuDeviceGet, cuDeviceGet, 2000, INIT, (CUdevice *dev, int ordinal))                          \
    X(cuDeviceGetName, cuDeviceGetName, 2000, INIT, (char *name, int len, CUdevice dev))           \
    X(cuDeviceGetUuid, cuDeviceGetUuid, 9020, INIT, (CUuuid *uuid, CUdevice dev))                  \
    X(cuDeviceGetUuid, cuDeviceGetUuid_v2, 11040, INIT, (CUuuid *uuid, CUdevice dev))              \
    X(cuDeviceTotalMem, cuDeviceTotalMem_v2, 3020, INIT, (size_t *bytes, CUdevice dev))            \
    X(cuDeviceGetAttribute, cuDeviceGetAttribute, 2000, INIT,                                      \
      (int *value, int attribute, CUdevice dev))                                                   \
    X(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, 4010, INIT, (char *id, int len, CUdevice dev))     \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, INIT,                              \
      (CUcontext *ctx, CUdevice dev))                                                              \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000, INIT, (CUdevice dev))        \
    X(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, 7000, INIT,                          \
      (CUdevice dev, unsigned *flags, int *active))                                                \
    X(cuDeviceComputeCapability, cuDeviceComputeCapability, 2000, INIT,                            \
      (int *major, int *minor, CUdevice dev))                                                      \
    X(cuDeviceGetByPCIBusId, cuDeviceGetByPCIBusId, 4010, INIT, (CUdevice *dev, const char *id))   \
    X(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, 4000, INIT,                                    \
      (int *can, CUdevice dev, CUdevice peer))                                                     \
    X(cuDeviceGetP2PAttribute, cuDeviceGetP2PAttribute, 8000, INIT,                                \
      (int *value, int attribute, CUdevice from, CUdevice to))                                     \
    X(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2, 11000, INIT,                      \
      (CUdevice dev, unsigned flags))                                                              \
    X(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, 11000, INIT, (CUdevice dev))            \
    X(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, 11020, INIT,                           \
      (CUmemoryPool *pool, CUdevice dev))                                                          \
    X(cuDeviceGetMemPool, cuDeviceGetMemPool, 11020, INIT, (CUmemoryPool *pool, CUdevice dev))     \
    X(cuDeviceSetMemPool, cuDeviceSetMemPool, 11020, INIT, (CUdevice dev, CUmemoryPool pool))

#define SIMDRIVER_CONTEXT_FUNCTIONS(X)                                                             \
    X(cuCtxAttach, cuCtxAttach, 2000, CONTEXT, (CUcontext *ctx, unsigned flags))                   \
    X(cuCtxDetach, cuCtxDetach, 2000, INIT, (CUcontext ctx))                                       \
    X(cuCtxCreate, cuCtxCreate_v2, 3020, INIT, (CUcontext *ctx, unsigned flags, CUdevice dev))     \
    X(cuCtxCreate, cuCtxCreate_v4, 12050, INIT,                                                    \
      (CUcontext *ctx, void *params, unsigned flags, CUdevice dev))                                \
    X(cuCtxDestroy, cuCtxDestroy_v2, 4000, INIT, (CUcontext ctx))                                  \
    X(cuCtxGetCurrent, cuCtxGetCurrent, 4000, INIT, (CUcontext *ctx))                              \
    X(cuCtxSetCurrent, cuCtxSetCurrent, 4000, INIT, (CUcontext ctx))                               \
    X(cuCtxPushCurrent, cuCtxPushCurrent_v2, 4000, INIT, (CUcontext ctx))                          \
    X(cuCtxPopCurrent, cuCtxPopCurrent_v2, 4000, INIT, (CUcontext *ctx))                           \
    X(cuCtxGetDevice, cuCtxGetDevice, 2000, INIT, (CUdevice *dev))                                 \
    X(cuCtxGetDevice, cuCtxGetDevice_v2, 13000, INIT, (CUdevice *dev, CUcontext ctx))              \
    X(cuCtxSynchronize, cuCtxSynchronize, 2000, CONTEXT, (void))                                   \
    X(cuCtxSynchronize, cuCtxSynchronize_v2, 13000, INIT, (CUcontext ctx))                         \
    X(cuCtxCreate, cuCtxCreate_v3, 11040, INIT,                                                    \
      (CUcontext *ctx, void *params, int n, unsigned flags, CUdevice dev))                         \
    X(cuCtxGetApiVersion, cuCtxGetApiVersion, 3020, INIT, (CUcontext ctx, unsigned *version))      \
    X(cuCtxGetId, cuCtxGetId, 12000, INIT, (CUcontext ctx, unsigned long long *id))                \
    X(cuCtxGetFlags, cuCtxGetFlags, 7000, CONTEXT, (unsigned *flags))                              \
    X(cuCtxSetFlags, cuCtxSetFlags, 12010, CONTEXT, (unsigned flags))                              \
    X(cuCtxGetLimit, cuCtxGetLimit, 3010, CONTEXT, (size_t *value, int limit))                     \
    X(cuCtxSetLimit, cuCtxSetLimit, 3010, CONTEXT, (int limit, size_t value))                      \
    X(cuCtxGetCacheConfig, cuCtxGetCacheConfig, 3020, CONTEXT, (int *config))                      \
    X(cuCtxSetCacheConfig, cuCtxSetCacheConfig, 3020, CONTEXT, (int config))                       \
    X(cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, 5050, CONTEXT,                     \
      (int *least, int *greatest))

#define SIMDRIVER_MEMORY_FUNCTIONS(X)                                                              \
    X(cuMemAlloc, cuMemAlloc_v2, 3020, CONTEXT, (CUdeviceptr *at, size_t bytes))                   \
    X(cuMemFree, cuMemFree_v2, 3020, CONTEXT, (CUdeviceptr at))                                    \
    X(cuMemAllocHost, cuMemAllocHost_v2, 3020, CONTEXT, (void **at, size_t bytes))                 \
    X(cuMemFreeHost, cuMemFreeHost, 2000, CONTEXT, (void *at))                                     \
    X(cuMemGetInfo, cuMemGetInfo_v2, 3020, CONTEXT, (size_t *available, size_t *total))            \
    X(cuMemAllocPitch, cuMemAllocPitch_v2, 3020, CONTEXT,                                          \
      (CUdeviceptr *at, size_t *pitch, size_t width, size_t height, unsigned element))             \
    X(cuMemAllocManaged, cuMemAllocManaged, 6000, CONTEXT,                                         \
      (CUdeviceptr *at, size_t bytes, unsigned flags))                                             \
    X(cuMemHostAlloc, cuMemHostAlloc, 2020, CONTEXT, (void **at, size_t bytes, unsigned flags))    \
    X(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2, 3020, CONTEXT,                      \
      (CUdeviceptr *at, void *host, unsigned flags))                                               \
    X(cuMemHostGetFlags, cuMemHostGetFlags, 2030, CONTEXT, (unsigned *flags, void *host))          \
    X(cuMemHostRegister, cuMemHostRegister_v2, 6050, CONTEXT,                                      \
      (void *host, size_t bytes, unsigned flags))                                                  \
    X(cuMemHostUnregister, cuMemHostUnregister, 4000, CONTEXT, (void *host))                       \
    X(cuMemGetAddressRange, cuMemGetAddressRange_v2, 3020, CONTEXT,                                \
      (CUdeviceptr *base, size_t *size, CUdeviceptr at))                                           \
    X(cuPointerGetAttribute, cuPointerGetAttribute, 4000, INIT,                                    \
      (void *value, int attribute, CUdeviceptr at))                                                \
    X(cuPointerGetAttributes, cuPointerGetAttributes, 7000, INIT,                                  \
      (unsigned n, int *attributes, void **values, CUdeviceptr at))                                \
    X(cuMemAllocAsync, cuMemAllocAsync, 11020, CONTEXT,                                            \
      (CUdeviceptr *at, size_t bytes, CUstream stream))                                            \
    X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, CONTEXT,                            \
      (CUdeviceptr *at, size_t bytes, CUmemoryPool pool, CUstream stream))                         \
    X(cuMemFreeAsync, cuMemFreeAsync, 11020, CONTEXT, (CUdeviceptr at, CUstream stream))           \
    X(cuMemPoolCreate, cuMemPoolCreate, 11020, INIT,                                               \
      (CUmemoryPool *pool, const CUmemPoolProps *props))                                           \
    X(cuMemPoolDestroy, cuMemPoolDestroy, 11020, INIT, (CUmemoryPool pool))                        \
    X(cuMemPoolGetAttribute, cuMemPoolGetAttribute, 11020, INIT,                                   \
      (CUmemoryPool pool, int attribute, void *value))                                             \
    X(cuMemPoolSetAttribute, cuMemPoolSetAttribute, 11020, INIT,                                   \
      (CUmemoryPool pool, int attribute, void *value))                                             \
    X(cuMemPoolTrimTo, cuMemPoolTrimTo, 11020, INIT, (CUmemoryPool pool, size_t keep))

#define SIMDRIVER_COPY_FUNCTIONS(X)                                                                \
    X(cuMemcpyHtoD, cuMemcpyHtoD_v2, 3020, CONTEXT,                                                \
      (CUdeviceptr to, const void *from, size_t bytes))                                            \
    X(cuMemcpyDtoH, cuMemcpyDtoH_v2, 3020, CONTEXT, (void *to, CUdeviceptr from, size_t bytes))    \
    X(cuMemcpyDtoD, cuMemcpyDtoD_v2, 3020, CONTEXT,                                                \
      (CUdeviceptr to, CUdeviceptr from, size_t bytes))                                            \
    X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, 3020, CONTEXT,                                      \
      (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                           \
    X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, 3020, CONTEXT,                                      \
      (void *to, CUdeviceptr from, size_t bytes, CUstream stream))                                 \
    X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, 3020, CONTEXT,                                      \
      (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                           \
    X(cuMemsetD8, cuMemsetD8_v2, 3020, CONTEXT, (CUdeviceptr to, unsigned char value, size_t n))   \
    X(cuMemsetD16, cuMemsetD16_v2, 3020, CONTEXT,                                                  \
      (CUdeviceptr to, unsigned short value, size_t n))                                            \
    X(cuMemsetD32, cuMemsetD32_v2, 3020, CONTEXT, (CUdeviceptr to, unsigned value, size_t n))      \
    X(cuMemsetD8Async, cuMemsetD8Async, 3020, CONTEXT,                                             \
      (CUdeviceptr to, unsigned char value, size_t n, CUstream stream))                            \
    X(cuMemsetD16Async, cuMemsetD16Async, 3020, CONTEXT,                                           \
      (CUdeviceptr to, unsigned short value, size_t n, CUstream stream))                           \
    X(cuMemsetD32Async, cuMemsetD32Async, 3020, CONTEXT,                                           \
      (CUdeviceptr to, unsigned value, size_t n, CUstream stream))                                 \
    X(cuMemcpy, cuMemcpy, 4000, CONTEXT, (CUdeviceptr to, CUdeviceptr from, size_t bytes))         \
    X(cuMemcpyAsync, cuMemcpyAsync, 4000, CONTEXT,                                                 \
      (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                           \
    X(cuMemcpyPeer, cuMemcpyPeer, 4000, CONTEXT,                                                   \
      (CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from, CUcontext from_ctx, size_t bytes))      \
    X(cuMemcpyPeerAsync, cuMemcpyPeerAsync, 4000, CONTEXT,                                         \
      (CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from, CUcontext from_ctx, size_t bytes,       \
       CUstream stream))                                                                           \
    X(cuMemcpy2D, cuMemcpy2D_v2, 3020, CONTEXT, (const CUDA_MEMCPY2D *copy))                       \
    X(cuMemcpy2DUnaligned, cuMemcpy2DUnaligned_v2, 3020, CONTEXT, (const CUDA_MEMCPY2D *copy))     \
    X(cuMemcpy2DAsync, cuMemcpy2DAsync_v2, 3020, CONTEXT,                                          \
      (const CUDA_MEMCPY2D *copy, CUstream stream))                                                \
    X(cuMemcpy3D, cuMemcpy3D_v2, 3020, CONTEXT, (const CUDA_MEMCPY3D *copy))                       \
    X(cuMemcpy3DAsync, cuMemcpy3DAsync_v2, 3020, CONTEXT,                                          \
      (const CUDA_MEMCPY3D *copy, CUstream stream))                                                \
    X(cuMemsetD2D8, cuMemsetD2D8_v2, 3020, CONTEXT,                                                \
      (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height))            \
    X(cuMemsetD2D16, cuMemsetD2D16_v2, 3020, CONTEXT,                                              \
      (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height))           \
    X(cuMemsetD2D32, cuMemsetD2D32_v2, 3020, CONTEXT,                                              \
      (CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height))                 \
    X(cuMemsetD2D8Async, cuMemsetD2D8Async, 3020, CONTEXT,                                         \
      (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,             \
       CUstream stream))                                                                           \
    X(cuMemsetD2D16Async, cuMemsetD2D16Async, 3020, CONTEXT,                                       \
      (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,            \
       CUstream stream))                                                                           \
    X(cuMemsetD2D32Async, cuMemsetD2D32Async, 3020, CONTEXT,                                       \
      (CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,                  \
       CUstream stream))

/* Where cuGetProcAddress gives, from a version on, a function of another name.  */
#define SIMDRIVER_ALIASES(X) X(cuGraphInstantiate, cuGraphInstantiateWithFlags, 12000)
#endif
