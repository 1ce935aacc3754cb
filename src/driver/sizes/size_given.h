/* What is worth knowing of run-time sizes.
 *
 * A row of a tensor begins where a wide access may if its stride is a multiple of as many elements
 * as the access has.  With sizes in strides that is sure for multiples alone, so an op is planned
 * for these, too (te_given): for multiples of all sizes that stand in strides, and of all but one
 * each.  */
#ifndef ROLLER_DRIVER_SIZES_SIZE_GIVEN_H
#define ROLLER_DRIVER_SIZES_SIZE_GIVEN_H
#include "driver/plan/plan_set.h"

/* The ops to plan beside te, the one of which all is known first; *n: how many.  */
Te **size_given(Arena *a, const Te *te, const Device *dev, int *n);
/* Does what is known of such an op make more rows begin well, in a strategy of it, than in the same
 * one of the n usual ones?  Not where the tensors that need it never reach memory.  */
bool size_given_helps(const PlanSet *set, const PlanSet *usual, int n);
#endif
