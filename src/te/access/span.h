/* Span: how much of each tensor some elements of an op depend on.
 *
 * Bounds from above, by extents alone: along a dimension as many places as the indices of its
 * subscript take values together, and no more than it has.  */
#ifndef ROLLER_TE_ACCESS_SPAN_H
#define ROLLER_TE_ACCESS_SPAN_H
#include "te/te.h"

typedef struct {
    bool read;                /* some of it is */
    double along[TE_MAX_RANK];            /* places along each dimension */
} TeSpan;

/* One element of the tensor, more where more is wanted already.  */
void te_span_one(const TeTensor *t, TeSpan *x);
/* The same of n[d] places along each dimension.  */
void te_span_take(const TeTensor *t, const double *n, TeSpan *x);
/* span: per tensor of te, what is wanted; becomes what that depends on, too, which ends at tensors
 * t with stop[t], whose own span counts (NULL: none stops).  */
void te_spans(const Te *te, const bool *stop, TeSpan *span);
/* Terms and elements that are made, each once, for such a span.  */
double te_span_work(const Te *te, const bool *stop, const TeSpan *span);
#endif
