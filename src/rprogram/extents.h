/* Numbers that may be known at run time only: extents and counts of tiles as size expressions.
 * Static ones stay numbers.  */
#ifndef ROLLER_RPROGRAM_EXTENTS_H
#define ROLLER_RPROGRAM_EXTENTS_H
#include "te/access/access.h"

TeExtent size_number(int64_t v);
TeExtent size_plus(Arena *a, TeExtent x, TeExtent y);
/* x - y, which may be negative: its value and min are those at the largest and the smallest
 * sizes.  */
TeExtent size_minus(Arena *a, TeExtent x, TeExtent y);
TeExtent size_times(Arena *a, TeExtent x, TeExtent y);
/* The larger one, or the smaller one.  */
TeExtent size_max(Arena *a, TeExtent x, TeExtent y);
TeExtent size_min(Arena *a, TeExtent x, TeExtent y);
/* How many parts of n cover x.  */
TeExtent size_ceil_div(Arena *a, TeExtent x, int64_t n);
/* Product of the extents of n indices of a statement.  */
TeExtent size_product(Arena *a, const TeStmt *s, const uint8_t *index, int n);

/* Elements of an access from point to point of an index, and those that no index moves it by.  */
TeExtent size_stride(Arena *a, const Te *te, const Access *x, int index);
TeExtent size_offset(Arena *a, const Te *te, const Access *x);
#endif
