/* Data that tells rewrites apart from what they rewrite: zeros of both signs, infinities, NaN,
 * subnormals, values next to where types end, integers that overflow; and a comparison that lets
 * nothing through but what the language leaves open.  */
#ifndef ROLLER_TESTS_TE_ADVERSE_H
#define ROLLER_TESTS_TE_ADVERSE_H
#include "te/eval/eval.h"

/* Inputs of the op.  How many of them are how unusual depends on the seed: where most are NaN,
 * nothing else is seen.  */
TeData *adverse_inputs(Arena *a, const Te *te, uint64_t seed);
/* Evaluates both on `in` and compares all outputs: every value that the op as written decides has
 * to be decided the same by the other one, to the sign of a zero.  NULL, or what differs.  */
const char *adverse_difference(Arena *a, const Te *te, const Te *other, const TeData *in);
#endif
