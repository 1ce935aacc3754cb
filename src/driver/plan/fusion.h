/* How the statements of an op part into kernels.
 *
 * te knows decisions that can be made at statements (TE_DECISIONS).  What is planned is the usual
 * op first; then it is tried what each decision that is possible there would change (search.h), as
 * long as some of them makes the kernels that it changes faster by more than a 50th.  Kernels are
 * planned once, by whatever decisions they come about, and their times add up: so what is decided
 * in one part of an op depends on nothing that has no kernel in common with it.  */
#ifndef ROLLER_DRIVER_PLAN_FUSION_H
#define ROLLER_DRIVER_PLAN_FUSION_H
#include "driver/plan/plan_set.h"

/* The groups of an op with these decisions, and what planning needs to know of each.  */
Status fusion_open(Arena *a, Diag *d, const PlanRequest *r, const TeDecisions *decisions,
                   PlanSet *out);
/* The op with the decisions that are predicted to be the fastest, planned.  */
Status fusion_plan(Arena *a, Diag *d, const PlanRequest *r, PlanSet *out);
/* Of an op with run-time sizes: the usual one, and those that are the fastest at some sizes, all
 * planned at the largest.  */
typedef struct {
    PlanSet *set;
    int n, best;              /* best: the fastest at the largest sizes */
} Strategies;
Status fusion_strategies(Arena *a, Diag *d, const PlanRequest *r, Strategies *out);
/* The same of an op of which more is known (te_given) than of the one whose strategies these are:
 * with what is decided in them, with what is the fastest at the largest sizes, and, where a size is
 * known to be small, with sums written out.  */
Status fusion_given(Arena *a, Diag *d, const PlanRequest *r, const Strategies *like,
                    Strategies *out);
#endif
