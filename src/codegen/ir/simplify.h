/* What is known of index values, and what they are simplified to (simplify.c).  */
#ifndef ROLLER_CODEGEN_IR_SIMPLIFY_H
#define ROLLER_CODEGEN_IR_SIMPLIFY_H
#include "codegen/ir/ir.h"

bool ir_is_scalar(IrType t);
bool ir_is_integer(IrType t);
bool ir_same_type(IrType x, IrType y);
/* Is v a number of the type?  */
bool ir_fits(IrType t, int64_t v);
/* Is x for sure not below 0?  */
bool ir_is_natural(Ir x);
/* x op y, a value of `type`, as something simpler; NULL: it is as simple as it can be.  */
Ir ir_simplify(const Cg *c, IrOp op, IrType type, Ir x, Ir y);
#endif
