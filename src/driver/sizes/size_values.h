/* Run-time sizes that a caller names, "M=64", and what an op promises of them.  */
#ifndef ROLLER_DRIVER_SIZES_SIZE_VALUES_H
#define ROLLER_DRIVER_SIZES_SIZE_VALUES_H
#include "te/te.h"

/* Is it a param that the op uses, which roller_op_size counts?  */
bool size_is_param(const TeSize *s);
/* Is it a value that the op promises of this param?  */
bool size_promised(const TeSize *s, int64_t v);
/* ST_SIZE, and what the range is, if not.  */
Status size_check(Diag *d, const TeSize *s, int64_t v);
/* A value per size of the op: those given, of the others the largest.  NULL in *out where none is
 * given.  ST_SIZE for a name that is no run-time size of the op, or what its range forbids.  */
Status size_values(Arena *a, Diag *d, const Te *te, const char *const *at, int n, int64_t **out);
#endif
