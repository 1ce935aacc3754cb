/* Inside of values: how they are made, and what is asked of their types.  */
#ifndef ROLLER_CODEGEN_IR_VALUE_H
#define ROLLER_CODEGEN_IR_VALUE_H
#include "codegen/ir/cg.h"

/* value.c */
Ir ir_make(const Cg *c, IrValue v, int n, const Ir *arg);
IrName *ir_new_name(const Cg *c, IrType type, const char *word);
/* The type that C computes with: of one value, of two.  */
IrBase ir_rank(IrBase b);
IrBase ir_meet(IrBase x, IrBase y);
bool ir_is_integer(IrType t);
bool ir_same_type(IrType x, IrType y);
/* Is v a number of the type?  */
bool ir_fits(IrType t, int64_t v);
/* arith.c: is x for sure not below 0?  */
bool ir_is_natural(Ir x);
#endif
