/* On a device: the fastest of several plans, and kernels loaded and launched in this process.  */
#ifndef ROLLER_DEVICE_H
#define ROLLER_DEVICE_H
#include "roller/context.h"

#ifdef __cplusplus
extern "C" {
#endif
/* ---- which device ---- */
typedef struct {
    size_t struct_size;
    int index, count;         /* count: devices that the driver sees */
    const char *name, *arch, *uuid;       /* "NVIDIA H200", "sm_90a", "GPU-..." */
    const char *profile_name; /* what a profile of it is called when it is measured: "h200" */
    int driver;               /* CUDA version of the driver, 12040 for 12.4 */
    int simulated;            /* by the simulated driver (docs/simulated-driver.md) */
} RollerDevice;
/* A device by number or UUID (NULL: 0), as the driver tells a worker.  Texts live until the
 * context's next call.  */
ROLLER_API RollerStatus roller_device(RollerCtx *ctx, const char *device, RollerDevice *out);

/* ---- the fastest of several plans ---- */
typedef struct {
    size_t struct_size;
    const char *device;       /* number or UUID; NULL: device 0 */
    double limit_s, watchdog_s;           /* of all (none); of a wait for a kernel (20) */
    uint64_t seed;            /* of the data; 0: 1 */
    double budget_s;          /* as for a check */
    const char *const *at;    /* run-time sizes to time at, "M=64"; the largest of others */
    int n_at;
    int trials;               /* plans to time, those most worth it by the times of others; 0:
                               * all */
} RollerTrialOptions;
typedef struct {
    size_t struct_size;
    double cold_us, warm_us, spread, clock_mhz;
    int samples;              /* 0: not timed */
    const char *rejected, *reason;        /* "wrong", "fault", "hang" ..., NULL; one sentence */
    int by_events;            /* 0: times are those of CUPTI, without what a launch costs */
} RollerTrial;
/* Builds every plan, proves and times each in a worker (docs/worker.md), and gives the fastest that
 * is right.  trial has one entry per plan, each as large as the first's struct_size says.  Texts
 * live until the context's next call.  ROLLER_CHECK if none is right.  */
ROLLER_API RollerStatus roller_fastest(RollerCtx *ctx, const RollerPlans *plans,
                                       const RollerTrialOptions *o, RollerTrial *trial,
                                       const char **where, RollerKernel **out);

/* An op among several, and what it gets.  */
typedef struct {
    size_t struct_size;
    const RollerPlans *plans;
    const char *const *at;    /* as RollerTrialOptions has them, which count where n_at is 0 */
    int n_at;
    double weight;            /* how often it runs; 0: once */
    RollerTrial *trial;       /* as roller_fastest has it */
    RollerKernel *kernel;     /* the fastest that is right; NULL: no plan was timed, and
                               * roller_build_best makes the one predicted fastest */
} RollerContender;
/* The same for n ops, planned for one profile, that share limit_s and trials: the next plan to be
 * timed is the one that is expected to save most time.  Of ops that differ by names alone one is
 * timed, as often as they run in sum.  Each is as large as the first's struct_size says.
 * ROLLER_CHECK if an op has no right plan: others still get their kernels.  */
ROLLER_API RollerStatus roller_fastest_many(RollerCtx *ctx, RollerContender *c, size_t n,
                                            const RollerTrialOptions *o, const char **where);

/* ---- loading and launching ---- */
/* Loads a kernel, so that launches only launch.  Errors of loads and launches:
 * roller_error(NULL).  */
ROLLER_API RollerStatus roller_load(const RollerKernel *k, int device, RollerExec **out);
/* Loads n kernels, all or none; the driver and a context of the device are opened once.  */
ROLLER_API RollerStatus roller_load_many(const RollerKernel *const *k, size_t n, int device,
                                         RollerExec **out);
enum { ROLLER_MOST_ADDED = 64 };
/* From now on launches of e take k where they have its sizes, also those that run meanwhile in
 * other threads, and captures of other threads go on.  k computes the same op with some sizes of e
 * known or in narrower ranges (roller_specialize), or in more programs; ROLLER_ARGS if it does not,
 * ROLLER_ALIGN if it wants more aligned tensors.  Of several that serve a launch it takes the one
 * that was added last whose workspace is given, else e's own kernel.  They go with e.  k is not
 * held back: destroy it when you like.  ROLLER_USAGE beyond ROLLER_MOST_ADDED.  */
ROLLER_API RollerStatus roller_exec_add(RollerExec *e, const RollerKernel *k);
/* What launches took: program 0 is e's own kernel, others follow as they were added; ROLLER_USAGE
 * behind the last.  */
typedef struct {
    size_t struct_size;
    const RollerKernel *kernel;           /* lives as long as e */
    int64_t launches;         /* that took it; one in capture counts once */
} RollerExecProgram;
ROLLER_API RollerStatus roller_exec_program(const RollerExec *e, int i, RollerExecProgram *out);
/* Bytes that a launch with these shapes needs for the kernel it then takes;
 * roller_kernel_workspace of e's own kernel is enough for some kernel at all sizes.  */
ROLLER_API RollerStatus roller_workspace(const RollerExec *e, const RollerTensor *in, int nin,
                                         const RollerTensor *out, int nout, size_t *bytes);
/* Launches, asynchronously, in `stream` (a CUstream), also in capture.  in and out lie on the
 * device, except scalars.  Takes no lock and no memory.  A context of the device is current; ws is
 * aligned to 256 bytes.  */
ROLLER_API RollerStatus roller_launch(const RollerExec *e, const RollerTensor *in, int nin,
                                      const RollerTensor *out, int nout, void *ws, size_t ws_bytes,
                                      void *stream);
ROLLER_API void roller_exec_destroy(RollerExec *e);

#ifdef __cplusplus
}
#endif
#endif
