/* Means: sums over the number of their terms, in the spellings that there are.  */
#ifndef ROLLER_TE_ACCESS_MEAN_H
#define ROLLER_TE_ACCESS_MEAN_H
#include "te/te.h"

/* Do both compute equal expressions to the same accuracy, and sum them to that of their type?  */
bool te_same_rules(const TeStmt *x, const TeStmt *y);
/* The tensor that `s` divides by the number of points over which `sum` reduces, or multiplies by
 * one over it; -1: it does something else.  */
int te_mean_of(const Te *te, const TeStmt *s, const TeStmt *sum);
#endif
