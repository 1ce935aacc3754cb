/* roller: kernels for tensor expressions by construction.
 *
 * An expression (docs/te.md) and a device profile (docs/profile.md) go in; ranked plans, CUDA C++,
 * PTX, a cubin with its launch description, and a proof that it computes the right numbers come
 * out. Nothing needs a CUDA header; only what names a device needs the driver and a GPU.
 *
 *     RollerCtx *ctx;  RollerProfile *gpu;  RollerOp *op;  RollerKernel *k;
 *     roller_ctx_create(NULL, &ctx);
 *     roller_profile_load(ctx, "h200", &gpu);
 *     roller_parse(ctx, text, len, "matmul.te", NULL, &op);
 *     roller_compile(ctx, op, gpu, NULL, &k);
 *     roller_kernel_get(k, ROLLER_CUBIN, &data, &size);
 *
 * Lifetime: each handle has one owner and holds what it needs, so any order of destruction is
 * right.  Texts and pointers handed out live as long as the handle they came from.
 * Errors: every call returns a status; the first error stays in the context until the next call.
 * The library never prints, exits, aborts or changes signal handlers or locale.
 * Threads: a context serves one thread at a time; all other handles are immutable once made.
 * ABI: options and reports begin with struct_size; zero means default; new fields at the end.  */
#ifndef ROLLER_H
#define ROLLER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#define ROLLER_VERSION "0.1.0"
#define ROLLER_VERSION_HEX 0x000100
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
 * 12 f8e5m2.  */
typedef struct {
    void *data;
    struct { int32_t type, id; } device;
    int32_t ndim;
    struct { uint8_t code, bits; uint16_t lanes; } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} RollerTensor;
#endif
typedef struct {
    RollerStatus status;
    const char *tag;          /* "syntax", "bounds", ... or "" */
    const char *file;         /* NULL: no place */
    int line, column;         /* from 1; 0: no place */
    const char *message, *hint;           /* hint may be NULL */
    const char *rendered;     /* every message of the call with source lines and carets */
} RollerError;
/* ---- context ---- */
typedef struct {
    size_t struct_size;
    const char *profile_path; /* folders of profiles, colon-separated; NULL: standard */
    const char *nvrtc;        /* absolute path of the library; NULL: search */
    int threads;              /* host threads for the simulator; 0: one per core */
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
} RollerCtxOptions;
ROLLER_API RollerStatus roller_ctx_create(const RollerCtxOptions *o, RollerCtx **out);
ROLLER_API void roller_ctx_destroy(RollerCtx *ctx);
/* The error of the last call, NULL if none; ctx NULL: of the thread's last without a context.  */
ROLLER_API const RollerError *roller_error(const RollerCtx *ctx);
/* Warnings of the last call as rendered text, "" if none.  */
ROLLER_API const char *roller_warnings(const RollerCtx *ctx);
ROLLER_API const char *roller_status_name(RollerStatus s);
ROLLER_API int roller_status_exit(RollerStatus s);        /* exit code of the command line tools */
ROLLER_API uint32_t roller_version(void);

/* ---- device profile ---- */
/* A name along the search path, or a file.  NULL: $ROLLER_PROFILE, else the name in a file
 * `default` along the path, else "h200".  */
ROLLER_API RollerStatus roller_profile_load(RollerCtx *ctx, const char *name_or_file,
                                            RollerProfile **out);
/* The first profile along the search path whose arch is `arch` ("sm_80").  */
ROLLER_API RollerStatus roller_profile_for_arch(RollerCtx *ctx, const char *arch,
                                                RollerProfile **out);
/* Names of the profiles found; they live until the context's next call.  */
ROLLER_API RollerStatus roller_profile_names(RollerCtx *ctx, const char *const **names, int *n);
/* Architectures that the newest NVRTC can target, NULL-terminated; live as the names do.  */
ROLLER_API RollerStatus roller_archs(RollerCtx *ctx, const char *const **archs,
                                     const char **nvrtc_version);
ROLLER_API RollerStatus roller_profile_text(const RollerProfile *p, const char **json, size_t *len);
ROLLER_API const char *roller_profile_name(const RollerProfile *p);
ROLLER_API const char *roller_profile_arch(const RollerProfile *p);
ROLLER_API const char *roller_profile_sha256(const RollerProfile *p);
ROLLER_API const char *roller_profile_origin(const RollerProfile *p);     /* "measured" ... */
/* Does it have factors that were fitted to timed kernels?  */
ROLLER_API int roller_profile_calibrated(const RollerProfile *p);
/* NULL: it is part of the program.  */
ROLLER_API const char *roller_profile_file(const RollerProfile *p);
ROLLER_API const char *roller_profile_gpu(const RollerProfile *p);        /* "NVIDIA H200" */
ROLLER_API const char *roller_profile_date(const RollerProfile *p);
ROLLER_API void roller_profile_destroy(RollerProfile *p);
typedef struct {
    size_t struct_size;
    int quick;                /* about 10 s, with fewer points, instead of up to 90 */
    const char *only;         /* comma-separated measurements (docs/roller-profile.md); NULL: all */
    const char *date;         /* YYYY-MM-DD; NULL: today */
    uint64_t seed;            /* of the data that is read; 0: 1 */
    const volatile bool *stop;  /* polled; may be NULL */
    /* Before each measurement; nonzero ends the run.  May be NULL.  */
    int (*progress)(void *user, const char *what, int done, int total, double eta_s);
    void *user;
    double limit_s;           /* what has not begun by then is not measured; 0: no limit */
    const char *base;         /* JSON of the profile to start from; NULL: nearest along the path */
    int skip;                 /* attempts of the first measurement that another process has made */
    /* Before each measurement, and each attempt at a figure of it: the profile so far, and how many
     * attempts are made.  So another process can go on where a kernel costs one its device, which
     * ends the call with ROLLER_DEVICE then, or hangs.  May be NULL.  */
    void (*so_far)(void *user, const char *measurement, int attempts, const char *json, size_t len);
    void *so_far_user;
} RollerMeasureOptions;
/* Measures a device by micro-benchmarks, starting from the nearest profile along the search path.
 * What cannot be measured stays as there, and is named under "not_measured" in the profile; the
 * call fails only if nothing could be.  ROLLER_CANCELLED if it was ended.  */
ROLLER_API RollerStatus roller_profile_measure(RollerCtx *ctx, int device,
                                               const RollerMeasureOptions *o,
                                               RollerProfile **out);

/* ---- expression ---- */
typedef struct {
    size_t struct_size;
    const char *op;           /* NULL: the only op of the text */
    const char *const *defines;           /* "M=64", "M=1..4096%8" */
    int n_defines;
} RollerParseOptions;
ROLLER_API RollerStatus roller_parse(RollerCtx *ctx, const char *te, size_t len, const char *file,
                                     const RollerParseOptions *o, RollerOp **out);
/* Names of the ops of a text, after a full check.  */
ROLLER_API RollerStatus roller_parse_names(RollerCtx *ctx, const char *te, size_t len,
                                           const char *file, const RollerParseOptions *o,
                                           const char *const **names, int *n);
typedef enum { ROLLER_OP_NAME, ROLLER_OP_TE, ROLLER_OP_ACCESS } RollerOpText;
ROLLER_API RollerStatus roller_op_text(const RollerOp *op, RollerOpText what, const char **text,
                                       size_t *len);
typedef enum { ROLLER_INPUT, ROLLER_SCALAR, ROLLER_OUTPUT } RollerRole;
typedef struct {
    size_t struct_size;
    const char *name, *dtype;
    RollerRole role;
    int rank;
    int64_t shape[8], strides[8];         /* the largest, where sizes are known only at run time */
} RollerArg;
ROLLER_API int roller_op_args(const RollerOp *op);        /* inputs and scalars, then outputs */
ROLLER_API RollerStatus roller_op_arg(const RollerOp *op, int i, RollerArg *out);
typedef struct {
    size_t struct_size;
    const char *name;
    int64_t value, min, multiple;         /* value: the largest; min == value when static */
    int runtime;
} RollerSize;
ROLLER_API int roller_op_sizes(const RollerOp *op);       /* the params that the op uses */
ROLLER_API RollerStatus roller_op_size(const RollerOp *op, int i, RollerSize *out);
ROLLER_API void roller_op_destroy(RollerOp *op);

/* ---- planning ---- */
typedef struct {
    size_t struct_size;
    int top;                  /* plans to keep (1) */
    int align;                /* promised alignment of every tensor, bytes (16) */
    int64_t workspace_limit;  /* bytes; 0: none is imposed */
    const char *arch;         /* compile target; NULL: the profile's */
    int check;                /* roller_compile: prove the kernel as well */
    int fast_compile;         /* level 2 of ptxas, not 3: compiled sooner, loops may be slower */
} RollerPlanOptions;
ROLLER_API RollerStatus roller_plan(RollerCtx *ctx, const RollerOp *op, const RollerProfile *p,
                                    const RollerPlanOptions *o, RollerPlans **out);
ROLLER_API size_t roller_plans_count(const RollerPlans *p);
ROLLER_API const RollerPlan *roller_plans_get(const RollerPlans *p, size_t rank);
/* Why this plan: rules, terms, limiter, runners-up, reject counts.  */
ROLLER_API RollerStatus roller_plans_explain(const RollerPlans *p, const char **text, size_t *len);
enum { ROLLER_MAX_REJECTS = 16, ROLLER_MAX_TERMS = 16 };
typedef struct {
    size_t struct_size;
    int64_t enumerated, legal;
    int n_rejects;
    const char *reject[ROLLER_MAX_REJECTS];
    int64_t rejected[ROLLER_MAX_REJECTS];
    double plan_ms;
} RollerPlanStats;
ROLLER_API RollerStatus roller_plans_stats(const RollerPlans *p, RollerPlanStats *out);
ROLLER_API void roller_plans_destroy(RollerPlans *p);
/* Reads and checks plan text instead of planning.  */
ROLLER_API RollerStatus roller_plan_read(RollerCtx *ctx, const RollerOp *op, const RollerProfile *p,
                                         const char *text, size_t len, const char *file,
                                         const RollerPlanOptions *o, RollerPlans **out);
typedef enum {
    ROLLER_PLAN, ROLLER_PLAN_SUMMARY, ROLLER_PLAN_TILES, ROLLER_PLAN_LOWERED
} RollerPlanText;
ROLLER_API RollerStatus roller_plan_text(const RollerPlan *p, RollerPlanText what,
                                         const char **text, size_t *len);
typedef struct {
    size_t struct_size;
    double us;                /* predicted */
    const char *limiter, *skeleton;       /* of the kernel that takes longest */
    int n_terms;
    const char *term[ROLLER_MAX_TERMS];
    double term_us[ROLLER_MAX_TERMS];
    int64_t workspace_bytes;
    /* What no plan beats: the largest of the bytes of inputs and outputs at the rate of DRAM, the
     * arithmetic on the fastest unit that may do it, and a launch.  */
    double floor_us;
    double floor_dram_us, floor_compute_us, floor_launch_us;
} RollerEstimate;
ROLLER_API RollerStatus roller_plan_estimate(const RollerPlan *p, RollerEstimate *out);
/* The same at values of run-time sizes, "M=64"; those not given are the largest.  */
ROLLER_API RollerStatus roller_plan_estimate_at(RollerCtx *ctx, const RollerPlan *p,
                                                const char *const *at, int n_at,
                                                RollerEstimate *out);

/* ---- kernels ---- */
/* Generates and compiles one plan (NVRTC, no GPU); arch NULL: the profile's.  When NVRTC cannot
 * target the arch (ROLLER_NVRTC) or refuses the source (ROLLER_COMPILE), *out still holds the
 * source.  */
ROLLER_API RollerStatus roller_build(RollerCtx *ctx, const RollerPlan *plan, const char *arch,
                                     RollerKernel **out);
/* Builds the first plan; one that spills registers is replaced by the next.  */
ROLLER_API RollerStatus roller_build_best(RollerCtx *ctx, const RollerPlans *plans,
                                          const char *arch, RollerKernel **out);
/* plan, build, and check if asked.  */
ROLLER_API RollerStatus roller_compile(RollerCtx *ctx, const RollerOp *op, const RollerProfile *p,
                                       const RollerPlanOptions *o, RollerKernel **out);
/* The kernel that roller_compile would make, as the cache has it; OK and NULL: it does not.  */
ROLLER_API RollerStatus roller_cached(RollerCtx *ctx, const RollerOp *op, const RollerProfile *p,
                                      const RollerPlanOptions *o, RollerKernel **out);
typedef enum {
    ROLLER_CU, ROLLER_PTX, ROLLER_CUBIN, ROLLER_JSON, ROLLER_PLAN_USED, ROLLER_LOG,
    ROLLER_C_HEADER, ROLLER_C_SOURCE, ROLLER_PYTHON       /* launchers: see below */
} RollerArtefact;
ROLLER_API RollerStatus roller_kernel_get(const RollerKernel *k, RollerArtefact what,
                                          const void **data, size_t *size);
/* A kernel from its files, without NVRTC.  The profile that it was planned for must be on the
 * search path.  Description and plan are checked against each other; the code is not: who can write
 * it can run code (docs/artefacts.md).  */
typedef struct {
    size_t struct_size;
    const char *json;         /* STEM.json */
    size_t json_len;
    const char *arch;         /* which of its targets; NULL: the only one */
    const void *cubin;
    size_t cubin_len;
    const char *ptx;          /* the text that the cubin was made from */
    size_t ptx_len;
} RollerKernelFiles;
ROLLER_API RollerStatus roller_kernel_read(RollerCtx *ctx, const RollerKernelFiles *files,
                                           RollerKernel **out);
/* ROLLER_JSON or a launcher (docs/artefacts.md) of kernels of one op for several targets, as text
 * that lives until the context's next call.  Launchers need compiled kernels.  */
ROLLER_API RollerStatus roller_artefact(RollerCtx *ctx, const RollerKernel *const *k, int n,
                                        RollerArtefact what, const void **data, size_t *size);
typedef struct {
    size_t struct_size;
    const char *symbol;
    int64_t grid[3];
    int block[3], cluster[3];
    int64_t dynamic_smem, static_smem, spill_bytes, stack_bytes;
    int registers;
    int compiled;             /* 0: only the source exists; the last five are then 0 */
    int level;                /* of ptxas, at which it was compiled, 2 or 3; 0: it was not */
} RollerLaunchInfo;
ROLLER_API int roller_kernel_launches(const RollerKernel *k);
ROLLER_API RollerStatus roller_kernel_launch_info(const RollerKernel *k, int i,
                                                  RollerLaunchInfo *out);
ROLLER_API int64_t roller_kernel_workspace(const RollerKernel *k);
ROLLER_API size_t roller_kernel_rank(const RollerKernel *k);      /* which plan it came from */
ROLLER_API const RollerPlan *roller_kernel_plan(const RollerKernel *k);
ROLLER_API void roller_kernel_times(const RollerKernel *k, double *emit_ms, double *compile_ms);
ROLLER_API void roller_kernel_destroy(RollerKernel *k);

/* ---- cache ---- */
typedef struct {
    size_t struct_size;
    const char *folder;       /* NULL: there is none */
    int hit;                  /* the last call took its kernel from it */
    const char *notes;        /* of the last call: what was not read or written, and why */
} RollerCacheReport;
ROLLER_API void roller_cache_report(const RollerCtx *ctx, RollerCacheReport *out);
typedef struct {
    size_t struct_size;
    const char *op, *arch, *sizes;        /* as they were when it was made */
    int64_t used, bytes;      /* when last, seconds since 1970 */
} RollerCacheEntry;
/* Each kernel in the cache, the one that was used last first, until `entry` returns nonzero.  */
ROLLER_API RollerStatus roller_cache_list(RollerCtx *ctx, int (*entry)(void *user,
                                          const RollerCacheEntry *e), void *user);
/* Removes roller's own files from the cache.  */
ROLLER_API RollerStatus roller_cache_clear(RollerCtx *ctx, int64_t *files, int64_t *bytes);

/* ---- proof ---- */
typedef struct {
    size_t struct_size;
    uint64_t seed;            /* 0: 1 */
    double budget_s;          /* for sampled checking (60) */
    int counters;             /* fill `counters` */
    const volatile bool *stop;  /* polled; may be NULL */
    const char *device;       /* number, UUID, NULL: simulator, "auto": device 0 or simulator */
    const char *const *at;    /* run-time sizes, "M=64": at these alone, the largest of others */
    int n_at;                 /* 0: at the ends of all ranges, between, and where programs change */
} RollerCheckOptions;
typedef struct {
    size_t struct_size;
    int ok;
    int64_t compared, outputs, undecided; /* elements; of all data and size sets */
    int size_sets, data_sets, exact;      /* exact: integer data was compared bit for bit */
    const char *where;        /* "simulator", "NVIDIA H200" */
    const char *text;         /* the line to print; on failure also the worst element or fault */
    const char *counters;     /* counted beside predicted, or "" */
    const char *counters_json;            /* the same as an object, with every block, or "" */
    const char *data;         /* the data sets: "integer, real and extreme" */
    int64_t filled;           /* elements of inputs and temporaries that were made: those read */
    int runs, left_out;       /* of sampled kernels, one per data and size set; beyond the budget */
    double needed_s;          /* the budget that has room for all */
} RollerCheckReport;
/* Runs the kernel on integer, real and extreme data and compares with the reference evaluator; a
 * device's part is done by a fork.  ROLLER_CHECK if it is wrong.  Texts live until the next
 * call.  */
ROLLER_API RollerStatus roller_check(RollerCtx *ctx, const RollerKernel *k,
                                     const RollerCheckOptions *o, RollerCheckReport *report);
/* Fills the memory of input i as a check on integer data would.  */
ROLLER_API RollerStatus roller_fill(const RollerOp *op, int i, uint64_t seed, void *data,
                                    size_t bytes);
typedef struct {
    size_t struct_size;
    const char *device;       /* as for a check */
    double watchdog_s;        /* of a wait for a kernel on a device (20) */
    const volatile bool *stop;  /* polled; may be NULL */
} RollerRunOptions;
/* Runs the whole kernel on tensors in host memory: one entry per declared input (scalars are 0-dim)
 * and output; a device's part is done by a fork.  ROLLER_CHECK if a fault ends it.  *where (may be
 * NULL): "simulator" or the device's name, until the next call.  */
ROLLER_API RollerStatus roller_run(RollerCtx *ctx, const RollerKernel *k, const RollerTensor *in,
                                   int nin, const RollerTensor *out, int nout,
                                   const RollerRunOptions *o, const char **where);
/* Fills rank, dtype and shape of each output from the inputs; out[i].shape has room for 8.  Where
 * the inputs lie does not matter.  Its errors: roller_error(NULL).  */
ROLLER_API RollerStatus roller_infer(const RollerKernel *k, const RollerTensor *in, int nin,
                                     RollerTensor *out, int nout);
/* The same as a run, always in the simulator.  */
ROLLER_API RollerStatus roller_simulate(RollerCtx *ctx, const RollerKernel *k,
                                        const RollerTensor *in, int nin,
                                        const RollerTensor *out, int nout);

/* ---- on a device ---- */
typedef struct {
    size_t struct_size;
    const char *device;       /* number or UUID; NULL: device 0 */
    double limit_s, watchdog_s;           /* of all (none); of a wait for a kernel (20) */
    uint64_t seed;            /* of the data; 0: 1 */
    double budget_s;          /* as for a check */
    const volatile bool *stop;  /* polled; may be NULL */
    const char *const *at;    /* run-time sizes to time at, "M=64"; the largest of others */
    int n_at;
} RollerTrialOptions;
typedef struct {
    double cold_us, warm_us, spread, clock_mhz;
    int samples;              /* 0: not timed */
    const char *rejected, *reason;        /* "wrong", "fault", "hang" ..., NULL; one sentence */
} RollerTrial;
/* Builds every plan, proves and times each in a child process, by fork (so the caller may not have
 * opened the driver), and gives the fastest right one.  trial: one per plan; texts live until the
 * context's next call.  ROLLER_CHECK if none is right.  */
ROLLER_API RollerStatus roller_fastest(RollerCtx *ctx, const RollerPlans *plans,
                                       const RollerTrialOptions *o, RollerTrial *trial,
                                       const char **where, RollerKernel **out);

/* Loads all of a kernel, so that launches only launch.  Their errors: roller_error(NULL).  */
ROLLER_API RollerStatus roller_load(const RollerKernel *k, int device, RollerExec **out);
/* What a launch with these shapes needs; roller_kernel_workspace is enough for all.  */
ROLLER_API RollerStatus roller_workspace(const RollerExec *e, const RollerTensor *in, int nin,
                                         const RollerTensor *out, int nout, size_t *bytes);
/* in, out on the device but for scalars.  Asynchronous in `stream` (a CUstream), also in capture;
 * takes no lock and no memory.  A context of the device is current; ws is aligned to 256 bytes.  */
ROLLER_API RollerStatus roller_launch(const RollerExec *e, const RollerTensor *in, int nin,
                                      const RollerTensor *out, int nout, void *ws, size_t ws_bytes,
                                      void *stream);
ROLLER_API void roller_exec_destroy(RollerExec *e);

#ifdef __cplusplus
}
#endif
#endif
