/* The driver's functions and the state of an open driver.  Internal to src/hal.
 *
 * A row of CUDA_API: the name that cuGetProcAddress takes; the driver version that brought this
 * form of the function; whether roller can do without it; the parameters.  */
#ifndef ROLLER_HAL_CUDA_API_H
#define ROLLER_HAL_CUDA_API_H
#include "hal/cuda.h"

enum {
    CUDA_OLDEST_DRIVER = 11040,           /* the newest `since` of what is needed */
    CUDA_STREAM_NON_BLOCKING = 1, CUDA_CAPTURE_THREAD_LOCAL = 1, CUDA_CAPTURE_RELAXED = 2,
    CUDA_JIT_ERROR_LOG = 5, CUDA_JIT_ERROR_LOG_BYTES = 6,
    CUDA_FUNC_MAX_THREADS = 0, CUDA_FUNC_STATIC_SMEM = 1, CUDA_FUNC_LOCAL_BYTES = 3,
    CUDA_FUNC_REGISTERS = 4, CUDA_FUNC_DYNAMIC_SMEM = 8,
    CUDA_LAUNCH_CLUSTER = 4, CUDA_LAUNCH_OVERLAP = 6
};

typedef struct {
    int id;
    char pad[4];
    union {
        uint64_t words[8];
        int number;
        unsigned cluster[3];
    } value;
} CudaLaunchAttribute;
typedef struct {
    unsigned grid[3], block[3], smem;
    CudaStream stream;
    CudaLaunchAttribute *attribute;
    unsigned n_attribute;
} CudaLaunchConfig;
_Static_assert(sizeof(CudaLaunchAttribute) == 72 && sizeof(CudaLaunchConfig) == 56,
               "the driver's layout");

/*    name                       since  need      parameters */
#define CUDA_API(X)                                                                                \
    X(cuInit,                    2000,  NEEDED,   (unsigned flags))                                \
    X(cuGetErrorName,            6000,  NEEDED,   (int code, const char **name))                   \
    X(cuGetErrorString,          6000,  NEEDED,   (int code, const char **text))                   \
    X(cuDeviceGetCount,          2000,  NEEDED,   (int *count))                                    \
    X(cuDeviceGet,               2000,  NEEDED,   (int *dev, int index))                           \
    X(cuDeviceGetName,           2000,  NEEDED,   (char *name, int len, int dev))                  \
    X(cuDeviceGetUuid,           11040, NEEDED,   (unsigned char uuid[16], int dev))               \
    X(cuDeviceTotalMem,          3020,  NEEDED,   (size_t *bytes, int dev))                        \
    X(cuDeviceGetAttribute,      2000,  NEEDED,   (int *value, int attribute, int dev))            \
    X(cuDevicePrimaryCtxRetain,  7000,  NEEDED,   (void **ctx, int dev))                           \
    X(cuDevicePrimaryCtxRelease, 11000, NEEDED,   (int dev))                                       \
    X(cuCtxPushCurrent,          4000,  NEEDED,   (void *ctx))                                     \
    X(cuCtxPopCurrent,           4000,  NEEDED,   (void **ctx))                                    \
    X(cuCtxGetDevice,            2000,  NEEDED,   (int *dev))                                      \
    X(cuCtxSynchronize,          2000,  NEEDED,   (void))                                          \
    X(cuMemAlloc,                3020,  NEEDED,   (CudaAddress *at, size_t bytes))                 \
    X(cuMemFree,                 3020,  NEEDED,   (CudaAddress at))                                \
    X(cuMemGetInfo,              3020,  NEEDED,   (size_t *available, size_t *total))              \
    X(cuMemcpyHtoD,              3020,  NEEDED,                                                    \
      (CudaAddress to, const void *from, size_t bytes))                                            \
    X(cuMemcpyDtoH,              3020,  NEEDED,   (void *to, CudaAddress from, size_t bytes))      \
    X(cuMemsetD8Async,           3020,  NEEDED,                                                    \
      (CudaAddress to, unsigned char byte, size_t bytes, CudaStream s))                            \
    X(cuStreamCreate,            2000,  NEEDED,   (CudaStream *s, unsigned flags))                 \
    X(cuStreamDestroy,           4000,  NEEDED,   (CudaStream s))                                  \
    X(cuStreamSynchronize,       2000,  NEEDED,   (CudaStream s))                                  \
    X(cuStreamBeginCapture,      10010, NEEDED,   (CudaStream s, int mode))                        \
    X(cuStreamEndCapture,        10000, NEEDED,   (CudaStream s, void **graph))                    \
    X(cuThreadExchangeStreamCaptureMode, 10010, NEEDED, (int *mode))                               \
    X(cuEventCreate,             2000,  NEEDED,   (CudaEvent *e, unsigned flags))                  \
    X(cuEventDestroy,            4000,  NEEDED,   (CudaEvent e))                                   \
    X(cuEventRecord,             2000,  NEEDED,   (CudaEvent e, CudaStream s))                     \
    X(cuEventSynchronize,        2000,  NEEDED,   (CudaEvent e))                                   \
    X(cuEventElapsedTime,        2000,  NEEDED,   (float *ms, CudaEvent from, CudaEvent to))       \
    X(cuGraphInstantiateWithFlags, 11040, NEEDED,                                                  \
      (CudaGraph *exec, void *graph, unsigned long long flags))                                    \
    X(cuGraphLaunch,             10000, NEEDED,   (CudaGraph g, CudaStream s))                     \
    X(cuGraphDestroy,            10000, NEEDED,   (void *graph))                                   \
    X(cuGraphExecDestroy,        10000, NEEDED,   (CudaGraph g))                                   \
    X(cuModuleLoadDataEx,        2010,  NEEDED,                                                    \
      (void **module, const void *image, unsigned n, int *options, void **values))                 \
    X(cuModuleUnload,            2000,  NEEDED,   (void *module))                                  \
    X(cuModuleGetFunction,       2000,  NEEDED,                                                    \
      (void **function, void *module, const char *name))                                           \
    X(cuFuncGetAttribute,        2020,  NEEDED,   (int *value, int attribute, void *function))     \
    X(cuFuncSetAttribute,        9000,  NEEDED,   (void *function, int attribute, int value))      \
    X(cuLaunchKernel,            4000,  NEEDED,                                                    \
      (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,            \
       unsigned bz, unsigned smem, CudaStream s, void **params, void **extra))                     \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, NEEDED,                                   \
      (int *blocks, void *function, int threads, size_t smem))                                     \
    X(cuLaunchKernelEx,          11060, OPTIONAL,                                                  \
      (const CudaLaunchConfig *config, void *function, void **params, void **extra))               \
    X(cuOccupancyMaxActiveClusters, 11070, OPTIONAL,                                               \
      (int *clusters, void *function, const CudaLaunchConfig *config))                             \
    X(cuLibraryLoadData,         12000, OPTIONAL,                                                  \
      (void **library, const void *code, int *options, void **values, unsigned n,                  \
       int *library_options, void **library_values, unsigned n_library))                           \
    X(cuLibraryUnload,           12000, OPTIONAL, (void *library))                                 \
    X(cuLibraryGetKernel,        12000, OPTIONAL,                                                  \
      (void **kernel, void *library, const char *name))                                            \
    X(cuKernelGetFunction,       12000, OPTIONAL, (void **function, void *kernel))                 \
    X(cuKernelSetAttribute,      12000, OPTIONAL,                                                  \
      (int attribute, int value, void *kernel, int dev))                                           \
    X(cuTensorMapEncodeTiled,    12000, OPTIONAL,                                                  \
      (void *map, int type, uint32_t rank, void *address, const uint64_t *dim,                     \
       const uint64_t *stride, const uint32_t *box, const uint32_t *element_stride,                \
       int interleave, int swizzle, int promotion, int fill))                                      \
    X(cuTensorMapEncodeIm2col,   12000, OPTIONAL,                                                  \
      (void *map, int type, uint32_t rank, void *address, const uint64_t *dim,                     \
       const uint64_t *stride, const int *lower, const int *upper, uint32_t channels,              \
       uint32_t pixels, const uint32_t *element_stride, int interleave, int swizzle,               \
       int promotion, int fill))                                                                   \
    X(cuFuncLoad,                12040, OPTIONAL, (void *function))

struct Cuda {
    void *library;
    const char *file;
    int version, n_device;
    /* Of the simulated driver, else NULL: takes the PTX of a cubin; its newest message.  */
    int (*sim_ptx)(const void *cubin, size_t len, const char *ptx);
    size_t (*sim_message)(char *text, size_t len);
#define X(name, since, need, parameters) int(*name) parameters;
    CUDA_API(X)
#undef X
};

struct CudaContext {
    Cuda *cuda;
    int dev;
    void *handle;
    CudaDeviceInfo info;
};

/* The status of a call's code; an error names the call.  */
Status cuda_check(const Cuda *c, Diag *d, int code, const char *call);
#define CUDA_CALL(c, d, name, ...) cuda_check((c), (d), (c)->name(__VA_ARGS__), #name)
/* ST_DRIVER if an optional function is not there.  */
Status cuda_need(const Cuda *c, Diag *d, bool there, const char *name, const char *what);

typedef enum {
    OWN_MEMORY, OWN_STREAM, OWN_EVENT, OWN_GRAPH, OWN_MODULE, OWN_LIBRARY
} CudaOwnedKind;
typedef struct {
    CudaContext *context;
    CudaOwnedKind kind;
    void *handle;             /* NULL: nothing yet */
    CudaAddress at;           /* OWN_MEMORY; 0: nothing yet */
} CudaOwned;
/* What the arena will give back to the driver; made before the driver's object, filled after.  */
CudaOwned *cuda_owned(CudaContext *x, Arena *a, CudaOwnedKind kind);
#endif
