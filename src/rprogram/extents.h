/* Numbers that may be known at run time only: extents and counts of tiles as size expressions.
 * Static ones stay numbers.  */
#ifndef ROLLER_RPROGRAM_EXTENTS_H
#define ROLLER_RPROGRAM_EXTENTS_H
#include "te/access.h"

TeExtent size_number(int64_t v);
TeExtent size_plus(Arena *a, TeExtent x, TeExtent y);
TeExtent size_times(Arena *a, TeExtent x, TeExtent y);
/* The larger one, or the smaller one.  */
TeExtent size_max(Arena *a, TeExtent x, TeExtent y);
TeExtent size_min(Arena *a, TeExtent x, TeExtent y);
/* How many parts of n cover x.  */
TeExtent size_parts(Arena *a, TeExtent x, int64_t n);
/* Product of the extents of a statement's indices: of a fused axis, n of its indices from `first`
 * on, or the indices first..end-1.  */
TeExtent size_axis(Arena *a, const TeStmt *s, const FusedAxis *axis);
TeExtent size_product(Arena *a, const TeStmt *s, const FusedAxis *axis, int first, int n);
TeExtent size_indices(Arena *a, const TeStmt *s, int first, int end);
#endif
