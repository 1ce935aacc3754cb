/* Ops from text, inputs and whole evaluations, for tests of what te gives.  */
#ifndef ROLLER_TESTS_TE_FIXTURE_H
#define ROLLER_TESTS_TE_FIXTURE_H
#include "te/eval/eval.h"

/* The one op of a text; the test fails with the rendered errors if there are any.  */
Te *fixture_te(Arena *a, const char *text);
Te *fixture_normal(Arena *a, const Te *te);
/* Filled inputs, one per argument.  */
TeData *fixture_inputs(Arena *a, const Te *te, TeFill kind, uint64_t seed);
/* Every element of tensor t, row-major.  */
TeValue *fixture_values(Arena *a, const Te *te, const TeData *in, int t);
/* Position `flat` (row-major) of tensor t.  */
void fixture_point(const TeTensor *t, int64_t flat, int64_t *at);
/* Values of a one-output op whose inputs are the given f32, f64, i32... elements in order.  */
TeValue *fixture_run(Arena *a, const char *text, const void *const *in);
#endif
