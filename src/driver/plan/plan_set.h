/* Plans: of each kernel group of an op the ranked candidates, and whole plans made of them.  */
#ifndef ROLLER_DRIVER_PLAN_PLAN_SET_H
#define ROLLER_DRIVER_PLAN_PLAN_SET_H
#include "base/watch.h"
#include "microperf/microperf.h"
#include "rprogram/plan.h"

typedef struct {
    int top;                  /* plans to rank; 0: 1 */
    int align;                /* promised alignment of tensors, bytes; 0: 16 */
    int64_t workspace_limit;  /* bytes; < 0: none */
    bool fast_compile, static_smem;       /* of every plan, see BuildOptions */
    int programs;             /* of one thing for run-time sizes, at most; 0: RPLAN_USUAL */
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

/* Rank `rank` of the set as one plan.  */
void compile_choose(Arena *a, const PlanSet *set, int rank, WholePlan *out);
/* One program of a whole plan becomes another of its ranked candidates.  */
void compile_take(const PlanSet *set, WholePlan *p, int group, int choice);
/* Plan text instead of planning: a set of one rank.  */
Status compile_read_plan(Arena *a, Diag *d, const PlanRequest *r, DiagText text, PlanSet *out);
/* A set outlives the call that it was made in.  */
void plan_forget_watch(PlanSet *set);
/* Predicted time of the whole plan and its terms: of its own programs, whatever sizes choose.  */
void compile_estimate(const WholePlan *p, Estimate *out);
/* The same of what is taken at the largest sizes.  */
void compile_estimate_largest(const PlanSet *set, const WholePlan *p, Estimate *out);
/* The same at values of all sizes, of the strategy and the programs that are taken there.  */
void compile_estimate_at(Arena *a, const PlanSet *set, const WholePlan *p, const int64_t *size,
                         Estimate *out);
#endif
