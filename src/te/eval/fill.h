/* What te_fill and te_exact share.  */
#ifndef ROLLER_TE_EVAL_FILL_H
#define ROLLER_TE_EVAL_FILL_H
#include "te/eval/eval.h"

/* Integer data: uniform in -most..most, but 0 with probability 1 - density.  */
typedef struct {
    int most, one_in;         /* density 1 / one_in */
    bool no_zero;             /* for products of many */
} TeRecipe;

/* The richest on which as much of the op as possible is exact.  */
TeRecipe te_recipe(const Te *te);

/* Sparse data: the share of a tensor's elements that are not 0, so that sums have about one term;
 * 1 where no sum is over it.  */
double te_density(const Te *te, int tensor);

/* Bits of a significand.  */
int te_significand(TeDtype t);
#endif
