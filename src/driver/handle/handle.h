/* What is behind the opaque handles of roller.h.
 *
 * A handle owns an arena and counts its references: one for its owner, one for each child.
 * Children hold their parents, so any order of destruction is right.  A context holds the
 * diagnostics of its last call on an arena that the next call resets.  */
#ifndef ROLLER_DRIVER_HANDLE_HANDLE_H
#define ROLLER_DRIVER_HANDLE_HANDLE_H
#include "driver/handle/arguments.h"
#include "driver/device/measure.h"
#include "roller.h"
#include <stdatomic.h>

enum { HANDLE_PARENTS = 3, CTX_ARCHS = 4 };
typedef struct Handle Handle;
struct Handle {
    atomic_int refs;
    Arena *arena;             /* holds the handle itself and all it owns */
    Handle *parent[HANDLE_PARENTS];
};

struct RollerCtx {
    ArenaSource source;
    bool own_source;          /* source was given by the caller */
    Arena *fixed;             /* options; as long as the context */
    Arena *call;              /* of the last call */
    RollerWatch watcher;      /* the caller's own ... */
    Watch watch;              /* ... and as the work sees them */
    Diag diag;
    Status status;
    RollerError error;
    const char *warnings;
    const char *profile_path;
    NvrtcOptions nvrtc;
    bool line_info;
    int threads;
    bool color, ignore_environment;
    const char *worker;       /* its program; NULL: search */
    const char *program;
    const char *no_memory;    /* the message of a call that has no memory for one */
    MeasurePlace place;       /* what the driver said of the device below */
    char place_device[64];    /* number or UUID; "": it was not asked */
    struct {
        const char *path, *key_file;      /* NULL: no cache; none */
        bool warned;          /* that the folder is not used */
        bool hit;             /* of the last call: the kernel was there ... */
        Buf notes;            /* ... and what was wrong, a line each */
        struct {
            char arch[16];
            int driver;
            bool jit;
            NvrtcIdentity id;
        } known[CTX_ARCHS];
        int n_known;
    } cache;
};

struct RollerProfile {
    Handle h;
    char planning[65];        /* hash of what planning reads */
    const char *file;
    Device *dev;
    const char *text;
    size_t len;
};

struct RollerOp {
    Handle h;
    Te *te;
    const char *text, *access;
};

struct RollerPlan {
    RollerPlans *plans;
    int rank;
    WholePlan whole;
    const char *text, *summary, *tiles, *lowered, *picture, *timeline;
    int64_t workspace_bytes;
};

struct RollerPlans {
    Handle h;
    RollerOp *op;
    RollerProfile *profile;
    const char *arch;
    PlanSet set;
    RollerPlan *plan;
    const char *explain;
    const char *left_out;     /* movers that a plain ABI leaves out; NULL: none */
    double plan_ms;
    RollerPlanOptions options;            /* arch: that of `arch`, or NULL as it was given */
    bool read;                /* from a text, not planned */
};

struct RollerKernel {
    Handle h;
    RollerPlans *plans;
    RollerPlan plan;          /* the one it was built from */
    Build build;
    const Timing *measured;   /* NULL: it was not */
    const char *measured_on;  /* the device's name */
    const char *json;
};

/* Where Execs that were loaded together lie.  */
typedef struct {
    Handle h;
    int device;
    Cuda *cuda;
    CudaContext *context;
} ExecPlace;

/* Of an Exec what launches change, and what is added while they run.  */
typedef struct {
    atomic_llong launches;    /* that took its own kernel */
    _Atomic(RollerExec *) added[ROLLER_MOST_ADDED];       /* the first NULL ends them */
} ExecShared;

/* A kernel loaded on a device.  */
struct RollerExec {
    Handle h;                 /* holds the kernel and the place */
    ExecPlace *place;
    ExecShared *shared;
    const RollerKernel *kernel;
    DeviceKernel *launch;     /* per kernel of the program */
};

/* Runs body(user) as one API call: diagnostics are reset, failed allocations in the context's or
 * `owned` arena become ST_NOMEM, the error is kept.  */
typedef Status (*CallBody)(RollerCtx *ctx, void *user);
RollerStatus call_run(RollerCtx *ctx, Arena *owned, CallBody body, void *user);

/* Records that a call could not even begin for lack of memory.  */
RollerStatus call_nomem(RollerCtx *ctx);
/* Keeps the outcome of a call without a context for its thread; takes no memory.  All but the
 * status may be NULL.  Returns s.  */
RollerStatus thread_keep(Status s, const char *message, const char *hint, const DiagCode *code);
const RollerError *thread_error(void);                     /* NULL: the last call did not fail */
/* A new arena from the context's source; NULL when there is no memory.  */
Arena *call_arena(RollerCtx *ctx);
void handle_init(Handle *h, Arena *a);
/* One more reference, for handle_release.  */
void handle_keep(Handle *h);
void handle_hold(Handle *child, int slot, Handle *parent);
void handle_release(Handle *h);

/* Builds the plan of a rank, or with `best` the first from there on that does not spill, as a
 * kernel on `a` that does not hold its plans yet.  With ST_NVRTC and ST_COMPILE *out has the
 * source.  */
typedef struct {
    const NvrtcOptions *nvrtc;
    const char *arch;         /* NULL: that of the plans */
    bool best, line_info;
    int threads;              /* see BuildOptions */
    Watch *watch;
} KernelOptions;
Status kernel_build(Arena *a, Diag *d, const RollerPlans *plans, int rank, const KernelOptions *o,
                    RollerKernel **out);
/* How ctx compiles, for a kernel that was not compiled now; on `a`.  */
void kernel_compiler(const RollerCtx *ctx, Arena *a, Build *b);
/* Which plan it came from: the last candidate that a group has.  */
int kernel_rank(const RollerKernel *k);

/* A call's data: the op at their sizes, and where the elements lie.  Refuses what does not fit.  */
typedef struct {
    const Te *te;
    ArgumentReport fit;
    TeData *in, *out;
} GivenData;
Status call_data(Arena *a, Diag *d, const Arguments *given, GivenData *x);

/* ST_NVRTC if it was not compiled, so that there is nothing to run.  */
Status kernel_need_ptx(Diag *d, const RollerKernel *k);
/* How this context measures, but for what its call asks.  */
MeasureOptions ctx_measure(RollerCtx *ctx);
/* Is it to run on a device (m->device, *place), or in the simulator (NULL, "sim"; *place is NULL)?
 * "auto" takes device 0 only where there is one that fits.  */
Status kernel_place(RollerCtx *ctx, Arena *scratch, const RollerKernel *k, const char *device,
                    MeasureOptions *m, const MeasurePlace **place);
BuiltPlan kernel_built(const RollerKernel *k);

/* Plans, on an arena that also holds what uses them: they hold no handles.  */
typedef struct {
    const RollerOp *op;
    const RollerProfile *profile;
    RollerPlanOptions o;
    DiagText text;            /* to read; .text NULL: it is planned */
} PlansAsked;
Status plans_make(Arena *a, Diag *d, const PlansAsked *asked, Watch *watch,
                  RollerPlans **out);

/* Fills the texts of a plan whose programs are chosen.  */
Status plan_texts(Arena *a, Diag *d, RollerPlan *plan);

/* Copies the part of a caller's options struct (first field: its size) that this version knows; the
 * rest, or all if `from` is NULL, is zero.  */
void api_options(void *to, size_t size, const void *from);
/* Copies a report into a caller's struct, as much of it as the caller knows.  */
void api_report(void *to, void *from, size_t size);
#endif
