/* Contexts: where calls are made, how they are followed and ended, and what went wrong.  */
#ifndef ROLLER_CONTEXT_H
#define ROLLER_CONTEXT_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#include <atomic>
#else
#include <stdatomic.h>
#include <stdbool.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#define ROLLER_API __attribute__((visibility("default")))
#else
#define ROLLER_API
#endif

typedef enum {
    ROLLER_OK, ROLLER_TE, ROLLER_PROFILE, ROLLER_PLAN_TEXT, ROLLER_USAGE, ROLLER_DEVICE,
    ROLLER_DRIVER, ROLLER_NVRTC, ROLLER_CUDA, ROLLER_IO, ROLLER_NOMEM, ROLLER_NO_PLAN,
    ROLLER_COMPILE, ROLLER_SIMULATOR, ROLLER_INTERNAL, ROLLER_CHECK, ROLLER_ARCH, ROLLER_ARGS,
    ROLLER_DTYPE, ROLLER_RANK, ROLLER_SIZE, ROLLER_STRIDE, ROLLER_ALIGN, ROLLER_NULLPTR,
    ROLLER_WORKSPACE, ROLLER_CANCELLED
} RollerStatus;
typedef struct RollerCtx RollerCtx;
typedef struct RollerProfile RollerProfile;
typedef struct RollerOp RollerOp;
typedef struct RollerPlans RollerPlans;
typedef struct RollerPlan RollerPlan;
typedef struct RollerKernel RollerKernel;
typedef struct RollerExec RollerExec;
#ifndef ROLLER_TENSOR         /* launchers that roller makes declare it, too */
#define ROLLER_TENSOR
/* A tensor in memory, field for field DLPack's DLTensor.  Strides in elements; NULL: dense.
 * device.type 1 is the CPU.  dtype.code: 0 int, 1 unsigned, 2 real, 4 bf16, 6 bool, 10 f8e4m3,
 * 12 f8e5m2, 14 f8ue8m0.  Elements of 6 bits and pairs of 4 are bytes, code 1; pairs
 * may have code 17, too, 4 bits and 2 lanes.  */
typedef struct {
    void *data;
    struct { int32_t type, id; } device;
    int32_t ndim;
    struct { uint8_t code, bits; uint16_t lanes; } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} RollerTensor;
#endif

/* ---- errors ---- */
typedef struct {
    size_t struct_size;       /* as the library has it */
    RollerStatus status;
    const char *tag;          /* "syntax", "bounds", ... or "" */
    const char *file;         /* NULL: no place */
    int line, column;         /* from 1; 0: no place */
    const char *message, *hint;           /* hint may be NULL */
    const char *rendered;     /* every message of the call with source lines and carets */
    int cuda, nvrtc;          /* what a call of the CUDA driver or NVRTC returned; 0: none failed */
    const char *code_name;    /* of that code: "CUDA_ERROR_INVALID_VALUE"; "" */
} RollerError;

/* ---- how calls are followed and ended ---- */
/* Set by any thread, or a signal handler, to end calls soon.  */
#ifdef __cplusplus
typedef std::atomic<bool> RollerStop;
#else
typedef atomic_bool RollerStop;
#endif
typedef enum { ROLLER_SAY_ERROR, ROLLER_SAY_WARNING, ROLLER_SAY_NOTE } RollerSay;
typedef struct {
    size_t struct_size;
    const char *stage;        /* "plan", "build", "check", "measure", "profile", "calibrate" */
    const char *what;         /* that begins now: a fusion strategy, a plan, a data set ... */
    int done, total;          /* steps of the stage; total may grow */
    double left_s;            /* until its end; < 0: nobody knows */
} RollerProgress;
/* Each may be NULL.  Callbacks come one at a time while a call of the context runs, from its thread
 * or one of the library's, and must not use the context.  A call that is ended returns
 * ROLLER_CANCELLED soon, and leaves nothing behind.  */
typedef struct {
    size_t struct_size;
    void (*log)(void *user, RollerSay what, const char *text);
    int (*progress)(void *user, const RollerProgress *p);       /* nonzero ends the call */
    int (*cancel)(void *user);            /* asked 100 times a second at most; nonzero ends it */
    void *user;
    const RollerStop *stop;   /* true ends the call */
} RollerWatch;

/* ---- contexts ---- */
enum { ROLLER_DRIVER_HERE = -1 };
typedef struct {
    size_t struct_size;
    const char *profile_path; /* folders of profiles, colon-separated; NULL: standard */
    const char *nvrtc;        /* absolute path of the library; NULL: search */
    int threads;              /* of the host, to simulate and to compile; 0: one per core */
    int ignore_environment;   /* for set-uid programs */
    int line_info;            /* line information in PTX and cubin */
    const char *program;      /* name before rendered messages that have no place ("roller") */
    int color;                /* rendered messages use terminal colours */
    void *(*alloc)(size_t size, void *user);              /* NULL: malloc and free */
    void (*free)(void *p, void *user);
    void *alloc_user;
    int cache;                /* keep kernels in the cache, and take them from there */
    const char *cache_dir;    /* its folder; NULL: the standard one (docs/cache.md) */
    const char *cache_key_file;           /* entries bear a tag by this secret; NULL: none */
    const char *nvrtc_folders;            /* searched for NVRTC, too; colon-separated */
    int driver;               /* CUDA version of the driver that kernels are compiled for (12040 for
                               * 12.4), or that of this machine; 0: any (docs/nvrtc.md) */
    const RollerWatch *watch; /* copied; NULL: nobody watches */
    const char *worker;       /* absolute path of roller-worker; NULL: search (docs/worker.md) */
} RollerCtxOptions;
ROLLER_API RollerStatus roller_ctx_create(const RollerCtxOptions *o, RollerCtx **out);
ROLLER_API void roller_ctx_destroy(RollerCtx *ctx);
/* Sets who watches from the next call on; NULL: nobody.  *w is copied.  */
ROLLER_API void roller_ctx_watch(RollerCtx *ctx, const RollerWatch *w);
/* The error of the last call, or NULL.  ctx NULL: that of the thread's last call without a
 * context.  */
ROLLER_API const RollerError *roller_error(const RollerCtx *ctx);
/* Warnings of the last call as rendered text, "" if none.  */
ROLLER_API const char *roller_warnings(const RollerCtx *ctx);
ROLLER_API const char *roller_status_name(RollerStatus s);
ROLLER_API int roller_status_exit(RollerStatus s);        /* exit code of the command line tools */
ROLLER_API uint32_t roller_version(void);
/* The first line of main() in a program that is its own `worker`.  If the arguments are a worker's,
 * it does that work and ends the process; otherwise it does nothing.  */
ROLLER_API void roller_worker(int argc, char *const *argv);

#ifdef __cplusplus
}
#endif
#endif
