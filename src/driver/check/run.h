/* Run: one kernel program with its tensors in device memory, on a device or in the simulator.
 *
 * The simulator runs single blocks and names every fault with its place.  A device runs whole
 * kernels; there each tensor lies between guard zones, and a fault ends the context for good.  */
#ifndef ROLLER_DRIVER_CHECK_RUN_H
#define ROLLER_DRIVER_CHECK_RUN_H
#include "driver/build/build.h"
#include "hal/cuda.h"
#include "sim/sim.h"
#include "te/eval/eval.h"

enum { RUN_MEMORY_LIMIT_GIB = 12 };

/* Where a program runs.  */
typedef struct {
    const Device *dev;        /* the simulated one */
    CudaContext *context;     /* a real one, entered; NULL: the simulator */
    void (*waits)(void *user, bool waiting);   /* told around calls of the driver; may be NULL */
    void *user;
    const Lazy *const *inputs;            /* per input: made when it is read; NULL: all are there */
} RunPlace;

/* What the blocks of one launch did.  */
typedef struct RunBlocks {
    int program;              /* of the plan */
    int64_t n;
    const SimBlockCounters *block;
    struct RunBlocks *next;
} RunBlocks;

/* A kernel that a device has loaded.  */
typedef struct {
    CudaKernel cuda;
    int64_t resident;         /* blocks that stay: how many the device holds; 0: it does not tell */
} DeviceKernel;

typedef struct {
    /* What is run, said before run_create.  */
    const Te *te;             /* the arguments; static sizes */
    const Te *normal;
    const Build *build;
    RunPlace place;
    TeData *data;             /* host data per input, scalars included */
    const int64_t *size;      /* value per size, for run-time sizes */
    /* How it is done.  */
    SimGpu *gpu;              /* in the simulator */
    SimModule *module;
    DeviceKernel *kernel;     /* on a device: per kernel of the program */
    uint64_t *at;             /* device address per argument tensor */
    uint64_t workspace;
    KernelTaken taken;        /* at these sizes */
    const KernelStrategy *strategy; /* of it; `normal` is its op */
    SimOptions options;
    SimReport report;         /* of all launches so far: faults of the first launch that had some */
    SimCounters main;         /* of the first kernel of each group alone, which the model counts */
    int64_t main_blocks;
    RunBlocks *main_launches, **main_last;     /* with options.per_block; in order */
    const char *fault;        /* the first fault as text; NULL: none so far */
    struct RunKept *kept;     /* on a device: what run_spoil has noted */
} Run;

/* Puts inputs (data[0..n_in-1]) into the place's memory and leaves outputs and workspace
 * poisoned.  */
Status run_create(Run *r, Arena *a, Diag *d);
/* Launches kernel i of the program: all blocks, or the given ones (a device runs all).  Faults stay
 * in run->fault.  */
Status run_launch(Run *r, Arena *a, Diag *d, int i, const int64_t *blocks, int64_t n_blocks);
/* How many kernels run at these sizes.  */
int run_kernels(const Run *r);
/* The same as a launch on a device, for timing: asynchronous.  */
Status run_submit(Run *r, Diag *d, int i, CudaStream stream);
/* A workspace as before the first launch, but that it holds these temporaries, and outputs that
 * hold these values: per tensor of the normalized op, or NULL.  */
Status run_given(Run *r, Arena *a, Diag *d, const Lazy *const *given);
/* The bytes of a tensor as before the first launch.  */
Status run_poison(Run *r, Diag *d, int tensor);
/* Device address of a tensor of the normalized op: an argument or a temporary in the workspace.  */
uint64_t run_address(const Run *r, int tensor);
Status run_write(Run *r, Diag *d, uint64_t to, const void *from, size_t bytes);
/* The bytes at an address, as they are now; NULL with an error in d if they cannot be read.  */
const void *run_read(Run *r, Arena *a, Diag *d, uint64_t from, size_t bytes);
/* Has a kernel written all of these bytes?  The simulator knows.  On a device what holds the poison
 * that was there may have been; it is taken for written until run_spoil has put other bytes there
 * and the same launches were made again.  */
bool run_was_written(const Run *r, uint64_t at, size_t bytes);
/* On a device, where an element of the tensor holds poison: sets *again and fills it otherwise.  */
Status run_spoil(Run *r, Arena *a, Diag *d, int tensor, bool *again);
/* Behind the launches that were made again: what was spoiled is looked at.  */
Status run_spoiled(Run *r, Arena *a, Diag *d);
/* Elements of `size` bytes at offsets from an address.  */
typedef struct {
    const size_t *offset;
    int64_t n;
    size_t size;
} RunElements;
/* The same as run_read where only these are looked at.  */
const void *run_elements(Run *r, Arena *a, Diag *d, uint64_t from, size_t bytes,
                         const RunElements *e);

/* The image of a build for a device: the cubin, or where only the PTX fits, that.  ST_ARCH if
 * neither does.  */
Status device_image(Diag *d, const Build *b, const CudaDeviceInfo *info, CudaImage *out);
/* A kernel of loaded code, ready to be launched; what such a launch has at the largest sizes.  */
Status device_kernel(CudaModule *m, Diag *d, const KernelLaunch *k, DeviceKernel *out);
CudaLaunch device_shape(const KernelLaunch *k);
#endif
