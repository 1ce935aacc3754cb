/* Outputs of a kernel against the reference, row by row.  */
#ifndef TESTS_JUDGE_H
#define TESTS_JUDGE_H
#include "te/eval/eval.h"

/* Rows along the last dimension, of `last` elements; where row number `row` begins.  */
int64_t judge_rows(const TeTensor *t, int64_t *last);
void judge_row_at(const TeTensor *t, int64_t row, int64_t at[TE_MAX_RANK]);
/* NULL, or the first of a row's n elements that is not what is wanted.  `got`: the tensor.  Exact:
 * bit for bit.  */
const char *judge_row(Arena *a, const Te *te, int tensor, const int64_t *at, const TeValue *want,
                      int64_t n, const char *got, bool exact);
/* The same for all outputs, got[i] being output i, as they follow from these inputs.  */
const char *judge_outputs(Arena *a, Diag *d, const Te *te, const TeData *in, const TeData *got,
                          bool exact);
#endif
