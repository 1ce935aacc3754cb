/* How an op with run-time sizes parts into kernels: in one way, or up to some sizes in others.
 *
 * A strategy may be for multiples of some sizes alone (size_given.h).  Every strategy is priced at
 * the sizes that are tried.  Those that are never the fastest are left out; the others are planned
 * at all sizes, and of them programs are picked (size_pick.h).  */
#ifndef ROLLER_DRIVER_SIZES_SIZE_STRATEGIES_H
#define ROLLER_DRIVER_SIZES_SIZE_STRATEGIES_H
#include "driver/plan/plan_set.h"

/* *out: the strategy that is predicted to be the fastest at the largest sizes of those that are
 * right at all, with its programs, its other strategies, and in ->sizes how they were chosen.  */
Status size_strategies_plan(Arena *a, Diag *d, const PlanRequest *r, PlanSet *out);
/* What a launch at these sizes takes, with the numbers of ->sizes; "" where there is no choice, or
 * size is NULL.  */
const char *size_taken(Arena *a, const PlanSet *set, const int64_t *size);
#endif
