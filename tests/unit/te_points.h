/* Points of a statement and the values of its subscripts there, straight from the tree: the oracle
 * for affine maps.  */
#ifndef ROLLER_TESTS_TE_POINTS_H
#define ROLLER_TESTS_TE_POINTS_H
#include "te/access/access.h"

int64_t points_direct(const Te *te, const TeExpr *e, const int64_t *at);
int64_t points_apply(const Affine *f, const int64_t *at);
/* To the next point, last index fastest; false after the last one.  */
bool points_next(const TeStmt *s, int64_t *at);
#endif
