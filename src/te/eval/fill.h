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
#endif
