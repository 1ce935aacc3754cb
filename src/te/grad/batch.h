/* An op over arrays alone, and over a batch of them.  */
#ifndef ROLLER_TE_GRAD_BATCH_H
#define ROLLER_TE_GRAD_BATCH_H
#include "te/te.h"

/* Appends the text of the op in which scalars are tensors of rank 0, and, where extent is not
 * negative, inputs i with batched[i] have a first dimension of that extent, as all outputs have:
 * the op at each place of the batch.  ST_TE, tag "limit": a tensor or statement has too many
 * dimensions for that.  */
Status te_batch(Arena *a, Diag *d, const Te *te, const bool *batched, int64_t extent, Buf *out);
#endif
