/* Extents, strides and counts of tiles as values of a kernel's size arguments.  */
#ifndef ROLLER_CODEGEN_EXPR_SIZES_H
#define ROLLER_CODEGEN_EXPR_SIZES_H
#include "codegen/expr/expr.h"
#include "rprogram/extents.h"

Ir size_value(const Cg *c, TeExtent e);
/* Defines it as a constant of that name.  */
Ir size_named(Cg *c, const char *name, IrBase base, TeExtent e);
/* As an unsigned divisor or bound.  */
Ir size_divisor(const Cg *c, TeExtent e, bool wide);
/* The test that a number, maybe below 0, is one of 0 .. e-1.  */
Ir size_inside(const Cg *c, Ir at, TeExtent e, bool wide);
/* Elements of an access from point to point of an index.  */
Ir size_of_stride(const Cg *c, const Access *x, int index);
/* What no index moves of an access's offset, added to `sum` (NULL: to nothing); bit d of `without`:
 * the part of dimension d is left out.  NULL: nothing at all.  */
Ir size_add_offset(const Cg *c, const Access *x, uint32_t without, Ir sum);
#endif
