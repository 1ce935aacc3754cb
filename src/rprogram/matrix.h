/* Matrix units, shared by the files that construct and check programs for them.  */
#ifndef ROLLER_RPROGRAM_MATRIX_H
#define ROLLER_RPROGRAM_MATRIX_H
#include "rprogram/internal.h"

/* Do the unit's operands hold every value of type `t` exactly?  */
bool matrix_holds(const ComputeUnit *u, TeDtype t);
/* May the unit compute the problem: types, exact products, an accumulator the expression allows?  */
bool matrix_fits(const Problem *p, const ComputeUnit *u);
#endif
