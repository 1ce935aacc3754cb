/* From an expression (docs/te.md) to ranked plans, and from a plan to a compiled kernel with its
 * artefacts.  No GPU and no driver.  */
#ifndef ROLLER_PLAN_H
#define ROLLER_PLAN_H
#include "roller/context.h"

#ifdef __cplusplus
extern "C" {
#endif
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
/* The text of an op for einsum notation, "bmk,bkn->bmn" or "mk:f16,kn:f16->mn:f32" (docs/te.md).
 * Every letter is a size that defines give.  types are those of its n operands ("f16"), where the
 * notation does not say them; n 0: f32.  The text lives until the context's next call.  */
ROLLER_API RollerStatus roller_einsum(RollerCtx *ctx, const char *spec, const char *const *types,
                                      int n, const char **te, size_t *len);
/* The text of the derivative of an op (docs/te.md, "Derivatives").  Its arguments are the inputs
 * that it needs, by their names, and "d_C" for each real output C.  Its outputs are "d_A" for each
 * input A of wrt, n names in any order; n 0: for all real tensors.  The text lives until the
 * context's next call.  */
ROLLER_API RollerStatus roller_gradient(RollerCtx *ctx, const RollerOp *op,
                                        const char *const *wrt, int n, const char **te,
                                        size_t *len);
/* The text of an op over arrays alone: scalars become tensors of rank 0.  If extent is not
 * negative, each input i (scalars count) with batched[i] gets a first dimension of that extent, and
 * so do all outputs.  The text lives until the context's next call.  */
ROLLER_API RollerStatus roller_batch(RollerCtx *ctx, const RollerOp *op, const int *batched,
                                     int64_t extent, const char **te, size_t *len);
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
    int size[8];              /* the run-time size (of roller_op_size) that a dimension is; -1 */
    uint8_t code, bits;       /* of its type, as in RollerTensor */
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
/* An argument at these values of the sizes, one per roller_op_size; none is checked.  */
ROLLER_API RollerStatus roller_op_arg_at(const RollerOp *op, int i, const int64_t *value,
                                         RollerArg *out);
/* The same op with the strides of these tensors declared, so that its kernels take them.  *align
 * (may be NULL) is what their addresses allow, at most 16, for RollerPlanOptions.  */
ROLLER_API RollerStatus roller_op_for(RollerCtx *ctx, const RollerOp *op, const RollerTensor *in,
                                      int nin, const RollerTensor *out, int nout, RollerOp **made,
                                      int *align);
ROLLER_API void roller_op_destroy(RollerOp *op);

/* ---- planning ---- */
enum { ROLLER_MAX_PROGRAMS = 64, ROLLER_PROGRAMS = 12 };
typedef struct {
    size_t struct_size;
    int top;                  /* plans to keep (1) */
    int align;                /* promised alignment of every tensor, bytes (16) */
    int64_t workspace_limit;  /* bytes; 0: none is imposed */
    const char *arch;         /* compile target; NULL: the profile's */
    int check;                /* roller_compile: prove the kernel as well */
    int fast_compile;         /* level 2 of ptxas, not 3: compiled sooner, loops may be slower */
    int static_smem;          /* kernels declare their shared memory, at most 48 KB: launches give
                               * none */
    int plain_abi;            /* parameters of kernels are pointers and scalars: no tensor maps */
    int programs;             /* of one thing for run-time sizes, at most: up to
                               * ROLLER_MAX_PROGRAMS (ROLLER_PROGRAMS) */
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
/* Reads and checks a plan's text instead of planning.  */
ROLLER_API RollerStatus roller_plan_read(RollerCtx *ctx, const RollerOp *op, const RollerProfile *p,
                                         const char *text, size_t len, const char *file,
                                         const RollerPlanOptions *o, RollerPlans **out);
typedef enum {
    ROLLER_PLAN, ROLLER_PLAN_SUMMARY, ROLLER_PLAN_TILES, ROLLER_PLAN_LOWERED,
    ROLLER_PLAN_PICTURE,      /* the tiles of the first product, SVG; "" if there is none */
    ROLLER_PLAN_TIMELINE      /* what a block of it does over time, by the model, likewise */
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
    /* What no plan beats, at the boost clock: the largest of the bytes of inputs and outputs at the
     * rate of DRAM's bus, the arithmetic on the pipe that has the most to do, and a launch.  */
    double floor_us;
    double floor_dram_us, floor_compute_us, floor_launch_us;
    double flops, bytes;      /* arithmetic, 2 per multiply-add; of all inputs and outputs */
    const char *takes;        /* at given sizes: kernels that a launch takes, by their numbers in
                               * roller_plans_explain, "strategy usual, kernel 2"; "" where there
                               * is no choice.  Lives until the context's next call */
} RollerEstimate;
ROLLER_API RollerStatus roller_plan_estimate(const RollerPlan *p, RollerEstimate *out);
/* The same at values of run-time sizes, "M=64"; those not given are the largest.  */
ROLLER_API RollerStatus roller_plan_estimate_at(RollerCtx *ctx, const RollerPlan *p,
                                                const char *const *at, int n_at,
                                                RollerEstimate *out);
/* The kernel groups of a plan, in the order of their launches; a split group has two kernels.  */
typedef struct {
    size_t struct_size;
    double us;                /* predicted, at the largest sizes */
    const char *limiter, *skeleton;
    const char *makes;        /* tensors of the op that it computes, in order, separated by blanks;
                               * statements that became part of others are not told.  Lives until
                               * the context's next call */
    const char *refusal;      /* of a product that is not made by a matrix unit of the device: why,
                               * and what would let one; NULL: nothing.  Lives likewise */
} RollerGroup;
ROLLER_API int roller_plan_groups(const RollerPlan *p);
ROLLER_API RollerStatus roller_plan_group(RollerCtx *ctx, const RollerPlan *p, int i,
                                          RollerGroup *out);

/* ---- kernels ---- */
/* Generates and compiles one plan (NVRTC, no GPU); arch NULL: the profile's.  If NVRTC cannot
 * target the arch (ROLLER_NVRTC) or refuses the source (ROLLER_COMPILE), *out still holds the
 * source.  For a profile whose language is not CUDA only the source is made, and calls that run a
 * kernel refuse it (ROLLER_USAGE).  */
ROLLER_API RollerStatus roller_build(RollerCtx *ctx, const RollerPlan *plan, const char *arch,
                                     RollerKernel **out);
/* Builds the first plan; one that spills registers is replaced by the next.  */
ROLLER_API RollerStatus roller_build_best(RollerCtx *ctx, const RollerPlans *plans,
                                          const char *arch, RollerKernel **out);
/* Plans, builds, and checks if asked.  */
ROLLER_API RollerStatus roller_compile(RollerCtx *ctx, const RollerOp *op, const RollerProfile *p,
                                       const RollerPlanOptions *o, RollerKernel **out);
/* The kernel for these values of run-time sizes alone, one per roller_op_size of the kernel's op:
 * where a value is negative the size stays as it is, where it is not known at run time the value
 * does not matter.  It is planned for k's profile with these options, NULL: with k's and no more
 * workspace than k needs at its sizes, proved if they say so, and kept in the cache like others.
 * It may add in another order, as any plan may.  roller_exec_add has launches take it.  k may be
 * destroyed meanwhile.  ROLLER_SIZE: k is not for such a size.  */
ROLLER_API RollerStatus roller_specialize(RollerCtx *ctx, const RollerKernel *k,
                                          const int64_t *value, const RollerPlanOptions *o,
                                          RollerKernel **out);
/* The values of all sizes that these tensors have, one per roller_op_size; data is not looked at.
 * ROLLER_SIZE and others as roller_launch has them.  Its errors: roller_error(NULL).  */
ROLLER_API RollerStatus roller_sizes_of(const RollerKernel *k, const RollerTensor *in, int nin,
                                        const RollerTensor *out, int nout, int64_t *value);
/* The kernel that roller_compile would make, from the cache.  OK and NULL: it is not there.  */
ROLLER_API RollerStatus roller_cached(RollerCtx *ctx, const RollerOp *op, const RollerProfile *p,
                                      const RollerPlanOptions *o, RollerKernel **out);
typedef enum {
    ROLLER_CU, ROLLER_PTX, ROLLER_CUBIN, ROLLER_JSON, ROLLER_PLAN_USED, ROLLER_LOG,
    ROLLER_C_HEADER, ROLLER_C_SOURCE, ROLLER_PYTHON,      /* launchers: see below */
    ROLLER_CL,                /* the source, where the profile's language is OpenCL C */
    ROLLER_TVM_FFI            /* a module of TVM-FFI, in C */
} RollerArtefact;
ROLLER_API RollerStatus roller_kernel_get(const RollerKernel *k, RollerArtefact what,
                                          const void **data, size_t *size);
/* A kernel from its files, without NVRTC.  The profile that it was planned for must be on the
 * search path.  Description and plan are checked against each other.  The code is not checked: who
 * can write it can run code (docs/artefacts.md).  */
typedef struct {
    size_t struct_size;
    const char *json;         /* STEM.json */
    size_t json_len;
    const char *arch;         /* which of its targets; NULL: the only one */
    const void *cubin;
    size_t cubin_len;
    const char *ptx;          /* the text that the cubin was made from */
    size_t ptx_len;           /* cubin and PTX both left out: good for roller_bind alone */
} RollerKernelFiles;
ROLLER_API RollerStatus roller_kernel_read(RollerCtx *ctx, const RollerKernelFiles *files,
                                           RollerKernel **out);
/* ROLLER_JSON or a launcher (docs/artefacts.md) of kernels of one op for several targets, as text
 * that lives until the context's next call.  Launchers need compiled kernels.  */
ROLLER_API RollerStatus roller_artefact(RollerCtx *ctx, const RollerKernel *const *k, int n,
                                        RollerArtefact what, const void **data, size_t *size);
typedef struct {
    size_t struct_size;
    const char *symbol;       /* several launches may be of one kernel, with other arguments */
    int64_t grid[3];
    int block[3], cluster[3];
    int64_t dynamic_smem, static_smem, spill_bytes, stack_bytes;
    int registers;
    int compiled;             /* 0: only the source exists; the last five are then 0 */
    int level;                /* of ptxas, at which it was compiled, 2 or 3; 0: it was not */
    int tensor_maps;          /* that it takes, behind its other parameters */
    int waits_for_previous;   /* for the kernel before: unless it is the first of a launch, it may
                               * be launched by programmatic stream serialization */
    int resident;             /* its blocks stay for several tiles: grid[0] is as many as the
                               * profile's device holds, launches have as many as theirs does */
    size_t image;             /* where the image that has it begins in the cubin, bytes: with
                               * run-time sizes there may be several, one behind the other */
} RollerLaunchInfo;
/* What it computes; lives as long as the kernel.  */
ROLLER_API const RollerOp *roller_kernel_op(const RollerKernel *k);
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
/* Gives `entry` each kernel in the cache, most recently used first, until it returns nonzero.  */
ROLLER_API RollerStatus roller_cache_list(RollerCtx *ctx, int (*entry)(void *user,
                                          const RollerCacheEntry *e), void *user);
/* Removes roller's own files from the cache.  */
ROLLER_API RollerStatus roller_cache_clear(RollerCtx *ctx, int64_t *files, int64_t *bytes);
/* The roofline of a device as SVG, with a point for each of n kernels planned for it (n may be 0).
 * Lives until the context's next call.  */
ROLLER_API RollerStatus roller_roofline(RollerCtx *ctx, const RollerProfile *p,
                                        const RollerKernel *const *k, int n, const char **svg,
                                        size_t *len);

#ifdef __cplusplus
}
#endif
#endif
