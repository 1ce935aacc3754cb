/* The CUDA driver behind dlopen: devices, memory, streams, kernels, graphs, tensor maps.
 *
 * Own prototypes, no CUDA header, never linked.  The library is the absolute path in `path` or
 * $ROLLER_LIBCUDA, else libcuda.so.1.  Every call of the driver is checked; an error names the
 * call, the driver's code and what helps (ST_DRIVER: no driver or one too old; ST_DEVICE: no such
 * device; ST_CUDA: a call failed).  A fault of a kernel is sticky: every later call in its context
 * fails the same way, and only the end of the process mends it.
 *
 * A CudaContext is the primary context of a device.  cuda_enter makes it current on the calling
 * thread until the arena is reset, then the caller's own is current again; what takes a CudaContext
 * needs that.  What is made on an arena (memory, streams, modules ...) goes with that arena.
 * cuda_open does not survive fork: fork first, open after.  */
#ifndef ROLLER_HAL_CUDA_H
#define ROLLER_HAL_CUDA_H
#include "hal/device.h"
#include "hal/tensor_map.h"

typedef struct Cuda Cuda;
typedef struct CudaContext CudaContext;
typedef struct CudaModule CudaModule;
typedef struct CUstream_st *CudaStream;   /* NULL: the legacy stream */
typedef struct CUevent_st *CudaEvent;
typedef struct CUgraphExec_st *CudaGraph;
typedef uint64_t CudaAddress;

/* ---- the driver and its devices ---- */
typedef struct {
    const char *path;         /* absolute path of the library; NULL: search */
    bool ignore_environment;  /* set-uid callers */
} CudaOptions;

Status cuda_open(Arena *a, Diag *d, const CudaOptions *o, Cuda **out);
/* The driver's version (12040 for 12.4), of a library that is loaded and not initialised; 0: there
 * is none, or it does not tell.  */
int cuda_version_here(const CudaOptions *o);
int cuda_driver_version(const Cuda *c);                    /* 12040 for 12.4 */
/* Is it the simulated driver (docs/simulated-driver.md), whose times are the model's?  */
bool cuda_simulated(const Cuda *c);

/*    name                         number of the attribute */
#define CUDA_ATTRIBUTES(X)                                                                         \
    X(THREADS_PER_BLOCK,           1)                                                              \
    X(GRID_X,                      5)                                                              \
    X(SMEM_PER_BLOCK,              8)                                                              \
    X(WARP_SIZE,                   10)                                                             \
    X(REGISTERS_PER_BLOCK,         12)                                                             \
    X(CLOCK_KHZ,                   13)                                                             \
    X(SM_COUNT,                    16)                                                             \
    X(MEMORY_CLOCK_KHZ,            36)                                                             \
    X(MEMORY_BUS_BITS,             37)                                                             \
    X(L2_BYTES,                    38)                                                             \
    X(THREADS_PER_SM,              39)                                                             \
    X(CC_MAJOR,                    75)                                                             \
    X(CC_MINOR,                    76)                                                             \
    X(SMEM_PER_SM,                 81)                                                             \
    X(REGISTERS_PER_SM,            82)                                                             \
    X(SMEM_PER_BLOCK_OPTIN,        97)                                                             \
    X(BLOCKS_PER_SM,               106)                                                            \
    X(SMEM_RESERVED,               111)                                                            \
    X(CLUSTER_LAUNCH,              120)                                                            \
    X(TENSOR_MAPS,                 127)
typedef enum {
#define X(name, number) CUDA_ATTR_##name,
    CUDA_ATTRIBUTES(X)
#undef X
        CUDA_ATTR_COUNT
} CudaAttribute;

typedef struct {
    int index;
    char name[128];           /* "NVIDIA H200" */
    char uuid[48];            /* "GPU-8a0f..." in nvidia-smi's form */
    char arch[16];            /* the most it can run: "sm_90a", "sm_89" */
    int cc_major, cc_minor;
    uint64_t memory_bytes;
    int attribute[CUDA_ATTR_COUNT];       /* 0 where an old driver does not know it */
} CudaDeviceInfo;

int cuda_device_count(const Cuda *c);
Status cuda_device_info(Cuda *c, Diag *d, int index, CudaDeviceInfo *out);
/* A device by number or by UUID (whole or any unique beginning).  ST_DEVICE lists those seen.  */
Status cuda_device_find(Cuda *c, Arena *a, Diag *d, const char *which, CudaDeviceInfo *out);
/* The limits that the driver tells, each with ORIGIN_DRIVER and its unit; the others have value 0
 * (subpartitions, barriers_per_block, registers_per_thread, the granules, issue_per_clk,
 * clock_sm_sustained, cluster_max where there are clusters).  */
void cuda_limits(const CudaDeviceInfo *info, DeviceLimits *out);

/* ---- contexts ---- */
Status cuda_context(Cuda *c, Arena *a, Diag *d, int index, CudaContext **out);
/* Current on this thread until `a` is reset or freed.  */
Status cuda_enter(CudaContext *x, Arena *a, Diag *d);
/* Until `a` is reset or freed nothing that this thread does ends a capture, be it of this thread or
 * of another one: loading code would.  */
Status cuda_spare_captures(Cuda *c, Arena *a, Diag *d);
/* Is the context that is current one of the same device?  */
bool cuda_here(const CudaContext *x);
/* Waits for all work of the context; reports what faulted.  */
Status cuda_synchronize(CudaContext *x, Diag *d);
const CudaDeviceInfo *cuda_context_device(const CudaContext *x);
Cuda *cuda_context_driver(const CudaContext *x);

/* ---- memory ---- */
Status cuda_alloc(CudaContext *x, Arena *a, Diag *d, size_t bytes, CudaAddress *out);
Status cuda_memory_free(CudaContext *x, Diag *d, size_t *available);
/* Between host and device, done when they return.  */
Status cuda_write(CudaContext *x, Diag *d, CudaAddress to, const void *from, size_t bytes);
Status cuda_read(CudaContext *x, Diag *d, void *to, CudaAddress from, size_t bytes);
Status cuda_fill(CudaContext *x, Diag *d, CudaStream s, CudaAddress to, uint8_t byte,
                 size_t bytes);

/* Two buffers of twice the L2 cache: writing one drives everything else out, and reading the other
 * then leaves nothing that has yet to be written to DRAM at the expense of what comes next.  */
typedef struct {
    CudaAddress written, read;
    size_t bytes;             /* of each */
    uint8_t value;            /* written last */
    struct CudaKernel *reader;            /* NULL: writing is all */
} CudaFlush;
Status cuda_flush_create(CudaContext *x, Arena *a, Diag *d, bool reads, CudaFlush *out);
Status cuda_flush(CudaContext *x, Diag *d, CudaStream s, CudaFlush *f);

/* ---- streams, events, graphs ---- */
Status cuda_stream(CudaContext *x, Arena *a, Diag *d, CudaStream *out);    /* non-blocking */
Status cuda_stream_wait(CudaContext *x, Diag *d, CudaStream s);            /* the host waits */
Status cuda_event(CudaContext *x, Arena *a, Diag *d, CudaEvent *out);
Status cuda_event_record(CudaContext *x, Diag *d, CudaEvent e, CudaStream s);
Status cuda_event_wait(CudaContext *x, Diag *d, CudaEvent e);              /* the host waits */
/* Between two events that have both happened.  */
Status cuda_elapsed_us(CudaContext *x, Diag *d, CudaEvent from, CudaEvent to, double *us);
/* What is submitted to `s` in between becomes a graph and does not run.  */
Status cuda_graph_begin(CudaContext *x, Diag *d, CudaStream s);
Status cuda_graph_end(CudaContext *x, Arena *a, Diag *d, CudaStream s, CudaGraph *out);
Status cuda_graph_launch(CudaContext *x, Diag *d, CudaGraph g, CudaStream s);

/* ---- kernels ---- */
/* A compiled image.  ptx (may be NULL) is the text the cubin was made from: a driver is given it
 * where there is no cubin, a simulated driver, which runs nothing else, in any case.  */
typedef struct {
    const void *cubin;        /* NULL: PTX, for the driver's compiler; images as of NvrtcOutput */
    size_t cubin_len;
    const char *ptx;
} CudaImage;

typedef struct CudaKernel {
    CudaContext *context;
    void *handle;             /* CUfunction, or CUkernel where the driver has libraries */
    bool library;
    int registers, max_threads;
    int64_t static_smem, local_bytes;
} CudaKernel;

/* Loads at once, so that no launch has to.  The image's bytes must live as long as the module.  */
Status cuda_load(CudaContext *x, Arena *a, Diag *d, const CudaImage *image, CudaModule **out);
/* Did that fail because the driver does not take such code: too new, or for another GPU?  */
bool cuda_refused(const CudaModule *m);
Status cuda_kernel(CudaModule *m, Diag *d, const char *symbol, CudaKernel *out);
/* Loads it into the current context too, if that is another one of the same device.  */
Status cuda_kernel_preload(const CudaKernel *k, Diag *d);
/* Permits `bytes` of dynamic shared memory (needed above 48 KB less the static part).  */
Status cuda_kernel_smem(const CudaKernel *k, Diag *d, int64_t bytes);

typedef struct {
    int64_t grid[3];
    int block[3], cluster[3];             /* cluster 0: none */
    int64_t dynamic_smem;
    bool overlap;             /* may begin before the kernel before it ends (dependent launch) */
} CudaLaunch;
/* params[i] points to the value of parameter i.  Asynchronous; legal while the stream is captured;
 * takes no lock and no memory of ours.  */
Status cuda_launch(const CudaKernel *k, Diag *d, const CudaLaunch *l, void *const *params,
                   CudaStream s);
/* The same for callers without a Diag: the driver's code, 0 for success.  */
int cuda_launch_code(const CudaKernel *k, const CudaLaunch *l, void *const *params, CudaStream s);
/* Name of a code, "CUDA_ERROR_INVALID_VALUE"; never NULL.  */
const char *cuda_code_name(const Cuda *c, int code);
/* Resident blocks per SM; resident clusters of the launch's shape on the whole device.  */
Status cuda_blocks_per_sm(const CudaKernel *k, Diag *d, int threads, int64_t smem, int *out);
Status cuda_clusters(const CudaKernel *k, Diag *d, const CudaLaunch *l, int *out);
/* Blocks of the launch's shape that the device holds at a time; 0: the driver does not tell.  */
int64_t cuda_resident(const CudaKernel *k, const CudaLaunch *l);

/* ---- tensor maps ---- */
typedef struct {
    _Alignas(TM_ALIGN) unsigned char bytes[TM_BYTES];
} CudaTensorMap;
/* ST_DRIVER if the driver makes none.  */
Status cuda_makes_maps(const Cuda *c, Diag *d);
Status cuda_tensor_map(const Cuda *c, Diag *d, const TensorMap *m, CudaTensorMap *out);
/* The driver's functions that make them.  */
typedef struct {
    int (*tiled)(void *map, int type, uint32_t rank, void *address, const uint64_t *dims,
                 const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides,
                 int interleave, int swizzle, int promotion, int fill);
    int (*im2col)(void *map, int type, uint32_t rank, void *address, const uint64_t *dims,
                  const uint64_t *strides, const int *lower, const int *upper, uint32_t channels,
                  uint32_t pixels, const uint32_t *element_strides, int interleave, int swizzle,
                  int promotion, int fill);
} CudaEncoders;
CudaEncoders cuda_encoders(const Cuda *c);
/* The same as cuda_tensor_map, for callers without a Diag: the driver's code, 0 for success.  */
int cuda_tensor_map_code(const CudaEncoders *by, const TensorMap *m, CudaTensorMap *out);
#endif
