/* The pipeline: expression and device in, proved kernel out.
 *
 * compile.c read from top to bottom is the architecture: every stage is one call, takes values and
 * gives values.  Nothing here prints, keeps state or knows a command line.  */
#ifndef ROLLER_DRIVER_COMPILE_H
#define ROLLER_DRIVER_COMPILE_H
#include "base/watch.h"
#include "codegen/kernel.h"
#include "hal/nvrtc_identity.h"
#include "microperf/microperf.h"

typedef struct {
    int top;                  /* plans to rank; 0: 1 */
    int align;                /* promised alignment of tensors, bytes; 0: 16 */
    int64_t workspace_limit;  /* bytes; < 0: none */
    bool fast_compile, static_smem;       /* of every plan, see BuildOptions */
    Watch *watch;             /* of planning; NULL: nobody's */
} CompileOptions;

/* What is to be planned.  */
typedef struct {
    const Te *te;
    const Device *dev;
    const CompileOptions *o;
} PlanRequest;

/* The candidates of one kernel group, best first.  */
typedef struct {
    Problem problem;
    RProgSet set;             /* counts only: the programs are not kept */
    Ranked *ranked;
    int n;                    /* >= 1 */
    int group;                /* its number */
} GroupPlans;

/* Every kernel group of an op with its ranked candidates.  Rank r of the whole takes candidate r
 * of the group that costs most and the best of the others.  With run-time sizes the op may be split
 * in other ways for some sizes: as in RPlan.  */
typedef struct PlanSet {
    const Te *te;             /* as parsed */
    const Te *normal;
    const Device *dev;
    KernelGroup *group;
    GroupPlans *plans;        /* per group, then those of groups with more */
    int n_group;
    int n_program;            /* of plans */
    const char *sizes;        /* how those were chosen; NULL: sizes are static */
    const char *decisions;    /* what they gain; NULL: none is taken, or sizes are not static */
    int dominant;             /* the group that costs most */
    int n_rank;               /* whole plans that were asked for and exist */
    CompileOptions options;
    const RSelector *select;  /* which are taken at which sizes; NULL: the groups' own */
    struct PlanSet *other;    /* the next one of the list of other strategies */
} PlanSet;

/* One whole plan: a candidate for each group, of other strategies the best.  */
typedef struct WholePlan {
    RPlan rplan;              /* .other: that of `other` */
    Estimate *estimate;       /* per program of the plan */
    int *choice;              /* per program: index into its ranked candidates */
    struct WholePlan *other;
} WholePlan;

typedef struct {
    const NvrtcOptions *nvrtc;            /* NULL: defaults */
    const char *arch;         /* compile target; NULL: the device's */
    bool line_info;
    bool fast_compile;        /* level 2 of ptxas, not 3: sooner, for longer loops */
    bool static_smem;         /* as CgOptions */
    const bool *only;         /* per program of all strategies: is it wanted?  NULL: all are */
    Watch *watch;             /* NULL: nobody's */
} BuildOptions;

typedef struct {
    KernelProgram program;
    const char *arch;
    bool compiled;            /* false: only the source exists */
    int level;                /* of ptxas, 2 or 3 */
    NvrtcOutput nvrtc;
    int nvrtc_major, nvrtc_minor;
    char nvrtc_files[NVRTC_FILES];        /* "": they cannot be told */
    NvrtcOptions compiler;    /* how the source is compiled, and can be once more; on its arena */
    bool line_info;
    double emit_ms, compile_ms;
    int spilled;              /* plans that were compiled and dropped: they spill, or are refused */
} Build;

/* A plan of a set, and what it was built to.  */
typedef struct {
    const PlanSet *set;
    const WholePlan *plan;
    const Build *build;
} BuiltPlan;

/* access -> tiles -> programs -> rank.  No GPU, no NVRTC.  */
Status compile_plan(Arena *a, Diag *d, const PlanRequest *r, PlanSet *out);
/* Rank `rank` of the set as one plan.  */
void compile_choose(Arena *a, const PlanSet *set, int rank, WholePlan *out);
/* Plan text instead of planning: a set of one rank.  */
Status compile_read_plan(Arena *a, Diag *d, const PlanRequest *r, DiagText text, PlanSet *out);
/* The source of a plan and what describes its launches, into a build whose arch is set.  */
Status compile_emit(Arena *a, Diag *d, const WholePlan *plan, const Device *dev,
                    const CompileOptions *o, Build *out);
/* emit -> NVRTC.  ST_NVRTC leaves the source in *out.  */
Status compile_build(Arena *a, Diag *d, const WholePlan *plan, const Device *dev,
                     const BuildOptions *o, Build *out);
NvrtcOptions compile_keep(Arena *a, const NvrtcOptions *o);       /* a copy on `a` */
/* The program of a build compiled once more, by another NVRTC.  */
Status compile_again(Arena *a, Diag *d, const Build *b, const NvrtcOptions *nvrtc, Build *out);
/* The same for a plan of the set, whose groups move to their next candidates where kernels
 * spill.  */
Status compile_best(Arena *a, Diag *d, const PlanSet *set, const BuildOptions *o, WholePlan *plan,
                    Build *out);
/* Warns of a best kernel that spills all the same.  */
void compile_warn_spills(Diag *d, const Build *b);
/* Version and sources of this build.  */
const char *build_id(void);
/* Predicted time of the whole plan and its terms.  */
void compile_estimate(const WholePlan *p, Estimate *out);
/* The same at values of all sizes, of the strategy and the programs that are taken there.  */
void compile_estimate_at(Arena *a, const PlanSet *set, const WholePlan *p, const int64_t *size,
                         Estimate *out);
#endif
