/* What is worth knowing of run-time sizes.
 *
 * A row of a tensor begins where a wide access may if its stride is a multiple of as many elements
 * as the access has.  With sizes in strides that is sure for multiples alone, so an op is planned
 * for these, too (te_given): for multiples of all sizes that stand in strides, and of all but one
 * each.
 *
 * A size that is an axis of some kernel may be 1, and then there is another kind of kernel: for a
 * product by a vector, or for the statistics of one image, whose pixels are neighbours.  So an op
 * is planned for each such size of 1, with and without the multiples.
 *
 * A sum over a size may have so few terms that they are written out, as those of partial sums are,
 * where who reads the sum adds them itself: the op is planned for as few, likewise.  */
#ifndef ROLLER_DRIVER_SIZES_SIZE_GIVEN_H
#define ROLLER_DRIVER_SIZES_SIZE_GIVEN_H
#include "driver/plan/plan_set.h"

/* The ops to plan beside that of the n_usual strategies, the one of which all multiples are known
 * first; *n: how many.  axes: the measures of their kernels.  */
Te **size_given(Arena *a, const PlanSet *usual, int n_usual, const RSelector *axes, int *n);
/* May what is known of such an op help a strategy of it?  Multiples do where they make more rows
 * begin well than in the same one of the n usual ones: not where the tensors that need it never
 * reach memory.  */
bool size_given_helps(const PlanSet *set, const PlanSet *usual, int n);
#endif
