/* The CUDA Driver API as the simulated driver offers it: own prototypes, no CUDA header.
 *
 * SIMDRIVER_FUNCTIONS is the list of all functions.  A row is the name without a version, as
 * cuGetProcAddress takes it; the exported symbol; the driver version that brought it; what a call
 * needs; and the parameters.  Types have the layout of the vendor's header, enumerations are plain
 * ints.  docs/simulated-driver.md says how calls behave and where they differ from a real
 * driver.  */
#ifndef ROLLER_SIMDRIVER_DRIVER_API_H
#define ROLLER_SIMDRIVER_DRIVER_API_H
#include "simdriver/driver_results.h"
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SIMDRIVER_API __attribute__((visibility("default")))
#else
#define SIMDRIVER_API
#endif

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

#define CU_STREAM_LEGACY ((CUstream)(uintptr_t)1)
#define CU_STREAM_PER_THREAD ((CUstream)(uintptr_t)2)
#define CU_LAUNCH_PARAM_END ((void *)0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)(uintptr_t)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)(uintptr_t)2)

enum {
    CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_DEFAULT = 0, CU_EVENT_BLOCKING_SYNC = 1, CU_EVENT_DISABLE_TIMING = 2,
    CU_EVENT_INTERPROCESS = 4,
    CU_STREAM_CAPTURE_MODE_GLOBAL = 0, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
    CU_STREAM_CAPTURE_MODE_RELAXED = 2,
    CU_STREAM_CAPTURE_STATUS_NONE = 0, CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
    CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2,
    CU_GET_PROC_ADDRESS_SUCCESS = 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
    CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2,
    CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2,
    CU_JIT_INFO_LOG_BUFFER = 3, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
    CU_JIT_ERROR_LOG_BUFFER = 5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
};

/* Attributes of a function.  */
enum {
    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
    CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
    CU_FUNC_ATTRIBUTE_NUM_REGS = 4, CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
    CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA = 7,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
    CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET = 10, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH = 11,
    CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT = 12, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH = 13,
    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
    CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 15
};

/* Attributes of a launch.  */
enum {
    CU_LAUNCH_ATTRIBUTE_IGNORE = 0, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW = 1,
    CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY = 3,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 5,
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6, CU_LAUNCH_ATTRIBUTE_PRIORITY = 8,
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP = 9, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN = 10,
    CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION = 11,
    CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 14
};
typedef union {
    char pad[64];
    int number;               /* cooperative, programmatic serialization, carve-out, policies */
    struct {
        unsigned x, y, z;
    } cluster;
} CUlaunchAttributeValue;
typedef struct {
    int id;
    char pad[4];
    CUlaunchAttributeValue value;
} CUlaunchAttribute;
typedef struct {
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned numAttrs;
} CUlaunchConfig;

typedef struct {
    char bytes[16];
} CUuuid;
typedef struct {
    uint64_t opaque[16];      /* aligned to 64 bytes by the caller */
} CUtensorMap;

/* What a call needs before it can do anything: nothing, cuInit, a current context that has not
 * failed.
 *    name                  symbol                   since  needs    parameters */
#define SIMDRIVER_FUNCTIONS(X)                                                                     \
    X(cuInit,               cuInit,                  2000,  NOTHING, (unsigned flags))             \
    X(cuDriverGetVersion,   cuDriverGetVersion,      2020,  NOTHING, (int *version))               \
    X(cuGetProcAddress,     cuGetProcAddress,        11030, NOTHING,                               \
      (const char *symbol, void **at, int version, uint64_t flags))                                \
    X(cuGetProcAddress,     cuGetProcAddress_v2,     12000, NOTHING,                               \
      (const char *symbol, void **at, int version, uint64_t flags, int *status))                   \
    X(cuGetErrorName,       cuGetErrorName,          6000,  NOTHING,                               \
      (CUresult error, const char **name))                                                         \
    X(cuGetErrorString,     cuGetErrorString,        6000,  NOTHING,                               \
      (CUresult error, const char **text))                                                         \
    SIMDRIVER_DEVICE_FUNCTIONS(X) SIMDRIVER_CONTEXT_FUNCTIONS(X) SIMDRIVER_MEMORY_FUNCTIONS(X)     \
    SIMDRIVER_STREAM_FUNCTIONS(X) SIMDRIVER_CODE_FUNCTIONS(X) SIMDRIVER_LAUNCH_FUNCTIONS(X)

#define SIMDRIVER_DEVICE_FUNCTIONS(X)                                                              \
    X(cuDeviceGetCount,     cuDeviceGetCount,        2000,  INIT,    (int *count))                 \
    X(cuDeviceGet,          cuDeviceGet,             2000,  INIT,    (CUdevice *dev, int ordinal)) \
    X(cuDeviceGetName,      cuDeviceGetName,         2000,  INIT,                                  \
      (char *name, int len, CUdevice dev))                                                         \
    X(cuDeviceGetUuid,      cuDeviceGetUuid,         9020,  INIT,    (CUuuid *uuid, CUdevice dev)) \
    X(cuDeviceGetUuid,      cuDeviceGetUuid_v2,      11040, INIT,    (CUuuid *uuid, CUdevice dev)) \
    X(cuDeviceTotalMem,     cuDeviceTotalMem_v2,     3020,  INIT,                                  \
      (size_t *bytes, CUdevice dev))                                                               \
    X(cuDeviceGetAttribute, cuDeviceGetAttribute,    2000,  INIT,                                  \
      (int *value, int attribute, CUdevice dev))                                                   \
    X(cuDeviceGetPCIBusId,  cuDeviceGetPCIBusId,     4010,  INIT,                                  \
      (char *id, int len, CUdevice dev))                                                           \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, INIT,                              \
      (CUcontext *ctx, CUdevice dev))                                                              \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000, INIT, (CUdevice dev))        \
    X(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, 7000, INIT,                          \
      (CUdevice dev, unsigned *flags, int *active))

#define SIMDRIVER_CONTEXT_FUNCTIONS(X)                                                             \
    X(cuCtxCreate,          cuCtxCreate_v2,          3020,  INIT,                                  \
      (CUcontext *ctx, unsigned flags, CUdevice dev))                                              \
    X(cuCtxCreate,          cuCtxCreate_v4,          12050, INIT,                                  \
      (CUcontext *ctx, void *params, unsigned flags, CUdevice dev))                                \
    X(cuCtxDestroy,         cuCtxDestroy_v2,         4000,  INIT,    (CUcontext ctx))              \
    X(cuCtxGetCurrent,      cuCtxGetCurrent,         4000,  INIT,    (CUcontext *ctx))             \
    X(cuCtxSetCurrent,      cuCtxSetCurrent,         4000,  INIT,    (CUcontext ctx))              \
    X(cuCtxPushCurrent,     cuCtxPushCurrent_v2,     4000,  INIT,    (CUcontext ctx))              \
    X(cuCtxPopCurrent,      cuCtxPopCurrent_v2,      4000,  INIT,    (CUcontext *ctx))             \
    X(cuCtxGetDevice,       cuCtxGetDevice,          2000,  INIT,    (CUdevice *dev))              \
    X(cuCtxGetDevice,       cuCtxGetDevice_v2,       13000, INIT,                                  \
      (CUdevice *dev, CUcontext ctx))                                                              \
    X(cuCtxSynchronize,     cuCtxSynchronize,        2000,  CONTEXT, (void))                       \
    X(cuCtxSynchronize,     cuCtxSynchronize_v2,     13000, INIT,    (CUcontext ctx))

#define SIMDRIVER_MEMORY_FUNCTIONS(X)                                                              \
    X(cuMemAlloc,           cuMemAlloc_v2,           3020,  CONTEXT,                               \
      (CUdeviceptr *at, size_t bytes))                                                             \
    X(cuMemFree,            cuMemFree_v2,            3020,  CONTEXT, (CUdeviceptr at))             \
    X(cuMemAllocHost,       cuMemAllocHost_v2,       3020,  CONTEXT, (void **at, size_t bytes))    \
    X(cuMemFreeHost,        cuMemFreeHost,           2000,  CONTEXT, (void *at))                   \
    X(cuMemGetInfo,         cuMemGetInfo_v2,         3020,  CONTEXT,                               \
      (size_t *available, size_t *total))                                                          \
    X(cuMemcpyHtoD,         cuMemcpyHtoD_v2,         3020,  CONTEXT,                               \
      (CUdeviceptr to, const void *from, size_t bytes))                                            \
    X(cuMemcpyDtoH,         cuMemcpyDtoH_v2,         3020,  CONTEXT,                               \
      (void *to, CUdeviceptr from, size_t bytes))                                                  \
    X(cuMemcpyDtoD,         cuMemcpyDtoD_v2,         3020,  CONTEXT,                               \
      (CUdeviceptr to, CUdeviceptr from, size_t bytes))                                            \
    X(cuMemcpyHtoDAsync,    cuMemcpyHtoDAsync_v2,    3020,  CONTEXT,                               \
      (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                           \
    X(cuMemcpyDtoHAsync,    cuMemcpyDtoHAsync_v2,    3020,  CONTEXT,                               \
      (void *to, CUdeviceptr from, size_t bytes, CUstream stream))                                 \
    X(cuMemcpyDtoDAsync,    cuMemcpyDtoDAsync_v2,    3020,  CONTEXT,                               \
      (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                           \
    X(cuMemsetD8,           cuMemsetD8_v2,           3020,  CONTEXT,                               \
      (CUdeviceptr to, unsigned char value, size_t n))                                             \
    X(cuMemsetD16,          cuMemsetD16_v2,          3020,  CONTEXT,                               \
      (CUdeviceptr to, unsigned short value, size_t n))                                            \
    X(cuMemsetD32,          cuMemsetD32_v2,          3020,  CONTEXT,                               \
      (CUdeviceptr to, unsigned value, size_t n))                                                  \
    X(cuMemsetD8Async,      cuMemsetD8Async,         3020,  CONTEXT,                               \
      (CUdeviceptr to, unsigned char value, size_t n, CUstream stream))                            \
    X(cuMemsetD16Async,     cuMemsetD16Async,        3020,  CONTEXT,                               \
      (CUdeviceptr to, unsigned short value, size_t n, CUstream stream))                           \
    X(cuMemsetD32Async,     cuMemsetD32Async,        3020,  CONTEXT,                               \
      (CUdeviceptr to, unsigned value, size_t n, CUstream stream))

#define SIMDRIVER_STREAM_FUNCTIONS(X)                                                              \
    X(cuStreamCreate,       cuStreamCreate,          2000,  CONTEXT,                               \
      (CUstream *stream, unsigned flags))                                                          \
    X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, 5050, CONTEXT,                       \
      (CUstream *stream, unsigned flags, int priority))                                            \
    X(cuStreamDestroy,      cuStreamDestroy_v2,      4000,  CONTEXT, (CUstream stream))            \
    X(cuStreamSynchronize,  cuStreamSynchronize,     2000,  CONTEXT, (CUstream stream))            \
    X(cuStreamQuery,        cuStreamQuery,           2000,  CONTEXT, (CUstream stream))            \
    X(cuStreamWaitEvent,    cuStreamWaitEvent,       3020,  CONTEXT,                               \
      (CUstream stream, CUevent event, unsigned flags))                                            \
    X(cuStreamBeginCapture, cuStreamBeginCapture_v2, 10010, CONTEXT, (CUstream stream, int mode))  \
    X(cuStreamEndCapture,   cuStreamEndCapture,      10000, CONTEXT,                               \
      (CUstream stream, CUgraph *graph))                                                           \
    X(cuStreamIsCapturing,  cuStreamIsCapturing,     10000, CONTEXT,                               \
      (CUstream stream, int *status))                                                              \
    X(cuEventCreate,        cuEventCreate,           2000,  CONTEXT,                               \
      (CUevent *event, unsigned flags))                                                            \
    X(cuEventDestroy,       cuEventDestroy_v2,       4000,  CONTEXT, (CUevent event))              \
    X(cuEventRecord,        cuEventRecord,           2000,  CONTEXT,                               \
      (CUevent event, CUstream stream))                                                            \
    X(cuEventQuery,         cuEventQuery,            2000,  CONTEXT, (CUevent event))              \
    X(cuEventSynchronize,   cuEventSynchronize,      2000,  CONTEXT, (CUevent event))              \
    X(cuEventElapsedTime,   cuEventElapsedTime,      2000,  CONTEXT,                               \
      (float *ms, CUevent start, CUevent end))                                                     \
    X(cuEventElapsedTime,   cuEventElapsedTime_v2,   12080, CONTEXT,                               \
      (float *ms, CUevent start, CUevent end))                                                     \
    X(cuGraphInstantiate,   cuGraphInstantiate_v2,   11000, CONTEXT,                               \
      (CUgraphExec *exec, CUgraph graph, void *node, char *log, size_t len))                       \
    X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040, CONTEXT,                    \
      (CUgraphExec *exec, CUgraph graph, uint64_t flags))                                          \
    X(cuGraphLaunch,        cuGraphLaunch,           10000, CONTEXT,                               \
      (CUgraphExec exec, CUstream stream))                                                         \
    X(cuGraphDestroy,       cuGraphDestroy,          10000, INIT,    (CUgraph graph))              \
    X(cuGraphExecDestroy,   cuGraphExecDestroy,      10000, INIT,    (CUgraphExec exec))

#define SIMDRIVER_CODE_FUNCTIONS(X)                                                                \
    X(cuModuleLoadData,     cuModuleLoadData,        2000,  CONTEXT,                               \
      (CUmodule *module, const void *image))                                                       \
    X(cuModuleLoadDataEx,   cuModuleLoadDataEx,      2010,  CONTEXT,                               \
      (CUmodule *module, const void *image, unsigned n, int *options, void **values))              \
    X(cuModuleUnload,       cuModuleUnload,          2000,  CONTEXT, (CUmodule module))            \
    X(cuModuleGetFunction,  cuModuleGetFunction,     2000,  CONTEXT,                               \
      (CUfunction *function, CUmodule module, const char *name))                                   \
    X(cuModuleGetGlobal,    cuModuleGetGlobal_v2,    3020,  CONTEXT,                               \
      (CUdeviceptr *at, size_t *bytes, CUmodule module, const char *name))                         \
    X(cuLibraryLoadData,    cuLibraryLoadData,       12000, INIT,                                  \
      (CUlibrary *library, const void *code, int *options, void **values, unsigned n,              \
       int *library_options, void **library_values, unsigned n_library))                           \
    X(cuLibraryUnload,      cuLibraryUnload,         12000, INIT,    (CUlibrary library))          \
    X(cuLibraryGetKernel,   cuLibraryGetKernel,      12000, INIT,                                  \
      (CUkernel *kernel, CUlibrary library, const char *name))                                     \
    X(cuLibraryGetModule,   cuLibraryGetModule,      12000, CONTEXT,                               \
      (CUmodule *module, CUlibrary library))                                                       \
    X(cuKernelGetFunction,  cuKernelGetFunction,     12000, CONTEXT,                               \
      (CUfunction *function, CUkernel kernel))                                                     \
    X(cuKernelGetAttribute, cuKernelGetAttribute,    12000, INIT,                                  \
      (int *value, int attribute, CUkernel kernel, CUdevice dev))                                  \
    X(cuKernelSetAttribute, cuKernelSetAttribute,    12000, INIT,                                  \
      (int attribute, int value, CUkernel kernel, CUdevice dev))                                   \
    X(cuFuncGetAttribute,   cuFuncGetAttribute,      2020,  CONTEXT,                               \
      (int *value, int attribute, CUfunction function))                                            \
    X(cuFuncSetAttribute,   cuFuncSetAttribute,      9000,  CONTEXT,                               \
      (CUfunction function, int attribute, int value))                                             \
    X(cuFuncLoad,           cuFuncLoad,              12040, CONTEXT,                               \
      (CUfunction function))                                                                       \
    X(cuFuncSetCacheConfig, cuFuncSetCacheConfig,    3000,  CONTEXT,                               \
      (CUfunction function, int config))

#define SIMDRIVER_LAUNCH_FUNCTIONS(X)                                                              \
    X(cuLaunchKernel,       cuLaunchKernel,          4000,  CONTEXT,                               \
      (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,       \
       unsigned bz, unsigned smem, CUstream stream, void **params, void **extra))                  \
    X(cuLaunchKernelEx,     cuLaunchKernelEx,        11060, CONTEXT,                               \
      (const CUlaunchConfig *config, CUfunction function, void **params, void **extra))            \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor,    \
      6050, CONTEXT, (int *blocks, CUfunction function, int threads, size_t smem))                 \
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
       int promotion, int fill))

/* Where cuGetProcAddress gives, from a version on, a function of another name.  */
#define SIMDRIVER_ALIASES(X) X(cuGraphInstantiate, cuGraphInstantiateWithFlags, 12000)

#define X(name, symbol, since, needs, parameters) SIMDRIVER_API CUresult symbol parameters;
SIMDRIVER_FUNCTIONS(X)
#undef X

/* Control by tests, beside the environment.  `rules` has the grammar of ROLLER_SIM_FAULTS; it
 * replaces all rules, starts the counts of calls anew and lets everything that hangs go on.  NULL
 * or "": no faults.  CUDA_ERROR_INVALID_VALUE for rules that do not parse; then nothing
 * changes.  */
SIMDRIVER_API CUresult roller_sim_driver_control(const char *rules);
/* The newest message: why a profile or PTX was refused, or the fault of a kernel with its place.
 * At most len bytes with the NUL; returns the length of the whole text.  */
SIMDRIVER_API size_t roller_sim_driver_message(char *text, size_t len);
/* Has `cubin`, handed to a load function later, run as `ptx`.  */
SIMDRIVER_API CUresult roller_sim_driver_ptx(const void *cubin, size_t len, const char *ptx);
#endif
