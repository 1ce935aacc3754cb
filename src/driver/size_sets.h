/* Several programs for an op with run-time sizes.
 *
 * The program planned at the largest sizes is right at all of them.  Where it loses at some, by
 * prediction, the group gets more programs, each planned at smaller sizes and taken up to those:
 * as few as keep every size that was tried within 5 % of the best program known for it, and at most
 * RPLAN_SET with the one for all.  */
#ifndef ROLLER_DRIVER_SIZE_SETS_H
#define ROLLER_DRIVER_SIZE_SETS_H
#include "driver/compile.h"

/* Adds the programs of all groups to a set whose groups are planned, and says in set->sizes how
 * they were chosen.  */
Status size_sets_plan(Arena *a, Diag *d, PlanSet *set);
#endif
