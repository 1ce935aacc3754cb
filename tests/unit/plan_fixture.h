/* Problems built by hand and shipped profiles, for tests of planning.  */
#ifndef ROLLER_TESTS_PLAN_FIXTURE_H
#define ROLLER_TESTS_PLAN_FIXTURE_H
#include "rprogram/derived.h"
#include "rprogram/skeletons.h"
#include "rprogram/plan.h"

/* A shipped profile, `profiles/NAME.json` below the current folder; fails the test if it is not
 * there.  */
Device *fixture_device(Arena *a, const char *name);
/* C[b,m,n] += A[b,m,k] * B[b,k,n], dense; ta: A is [b,k,m]; tb: B is [b,n,k].  */
Problem fixture_matmul(int64_t b, int64_t m, int64_t n, int64_t k, bool ta, bool tb, TeDtype type);
/* An NCHW convolution as an implicit GEMM: M = f, N = (n, p, q), K = (c, r, s).  */
Problem fixture_conv(int64_t n, int64_t c, int64_t hw, int64_t f, int64_t rs, int64_t stride,
                     int64_t pad);
/* A map over `n` elements with one read.  */
Problem fixture_map(int64_t n, TeDtype type);
#endif
