/* The two halves of te_check.  Private to the module.  */
#ifndef ROLLER_TE_TREE_CHECK_H
#define ROLLER_TE_TREE_CHECK_H
#include "te/te.h"

/* First broken rule of a size expression whose sizes are below `n_size`; NULL if there is none.  */
const char *check_size_expr(const TeExpr *e, int n_size);
/* First broken rule of the statement's right side; tensors below `te->n_tensor` with `assigned`
 * set may be read.  */
const char *check_rhs(const Te *te, const TeStmt *s, const bool *assigned);
#endif
