/* Extents, strides and counts of tiles as texts of a kernel's size arguments.  */
#ifndef ROLLER_CODEGEN_SIZES_H
#define ROLLER_CODEGEN_SIZES_H
#include "codegen/cg.h"
#include "rprogram/extents.h"

/* As a text: a number, or an expression in parentheses.  */
const char *size_text(const Cg *c, TeExtent e);
/* As an unsigned divisor or bound.  */
const char *size_divisor(const Cg *c, TeExtent e, bool wide);
/* The test that a number, maybe below 0, is one of 0 .. e-1.  */
const char *size_inside(const Cg *c, const char *at, TeExtent e, bool wide);
/* Elements of an access from point to point of an index.  */
const char *size_stride_text(const Cg *c, const Access *x, int index);
/* What no index moves of an access's offset, added to `sum` (NULL: to nothing); bit d of `without`:
 * the part of dimension d is left out.  NULL: nothing at all.  */
const char *size_offset_text(const Cg *c, const Access *x, uint32_t without, const char *sum);
#endif
