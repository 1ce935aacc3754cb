/* The same computation as a machine could have written it.  */
#ifndef TESTS_TE_REWRITE_H
#define TESTS_TE_REWRITE_H
#include "base/hash.h"
#include "te/te.h"

/* The text of an op of static sizes with random changes that keep its meaning: double negations,
 * casts to the type at hand, factors of 1, powers; temporaries that are copied, have axes of extent
 * 1, are turned, merged, split, or a part of a concatenation, or a slice of that; statements in
 * another order.  te is changed.  */
const char *te_rewrite(Arena *a, Te *te, Rng *rng);
#endif
