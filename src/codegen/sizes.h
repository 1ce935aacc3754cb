/* Numbers that may be known at run time only: extents, strides and counts of tiles as size
 * expressions and as texts of a kernel's size arguments.  Static ones stay numbers.  */
#ifndef ROLLER_CODEGEN_SIZES_H
#define ROLLER_CODEGEN_SIZES_H
#include "codegen/cg.h"

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
/* As a text: a number, or an expression in parentheses.  */
const char *size_text(const Cg *c, TeExtent e);
/* As an unsigned divisor or bound.  */
const char *size_divisor(const Cg *c, TeExtent e, bool wide);
/* Elements of an access from point to point of an index.  */
const char *size_stride(const Cg *c, const Access *x, int index);
/* What no index moves of an access's offset, added to `sum` (NULL: to nothing); bit d of `without`:
 * the part of dimension d is left out.  NULL: nothing at all.  */
const char *size_offset(const Cg *c, const Access *x, uint32_t without, const char *sum);
#endif
