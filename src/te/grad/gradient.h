/* The derivative of an op, as an op (docs/te.md, "Derivatives").
 *
 * For an op with inputs A, B and output C the gradient takes those of A and B that it needs, then
 * d_C, the derivative of some number by C, and gives d_A and d_B, the derivatives of that number by
 * the inputs asked for.  It is made once and for all statements: sums, products, maxima, maps and
 * reads with any subscripts.  A read with subscripts that can be solved for an index (`2*p + r`)
 * costs a sum over the others, one that depends on data a sum by comparison.
 *
 * Of equal maxima of a reduction the first has all, of two operands each half; `max(x, 0)` has
 * derivative 0 at 0, as any operand beside a constant that is no less; abs has 0 at 0; what steps
 * (floor, casts to integers, comparisons, argmax) has none.  What a condition
 * excludes contributes nothing, also where the derivative there would be NaN.  Integers, bools and
 * scalars have no derivatives.  */
#ifndef ROLLER_TE_GRAD_GRADIENT_H
#define ROLLER_TE_GRAD_GRADIENT_H
#include "te/te.h"

/* Appends the text of the gradient to out, which te_parse takes.  wrt: names of inputs, n of them;
 * n 0: all that are real tensors.  ST_TE, tag "gradient": there is no such input, it has no
 * derivative, a name that begins with d_ is taken, a max or min may be over nothing, or there would
 * be too many dimensions.  */
Status te_gradient(Arena *a, Diag *d, const Te *te, const char *const *wrt, int n, Buf *out);
#endif
