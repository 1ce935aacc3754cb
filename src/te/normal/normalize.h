/* The passes of te_normalize.  */
#ifndef ROLLER_TE_NORMAL_NORMALIZE_H
#define ROLLER_TE_NORMAL_NORMALIZE_H
#include "te/edit/edit.h"

/* Where it is decided so: reductions become reductions of ones over the indices that lie
 * contiguously.  */
void normalize_two_step(Norm *n);
/* Where it is decided so: sums of a few terms become these terms, added up.  By prediction a batch
 * of products of n x n in f16 gains a factor of 3 at n = 8, 6 to 18 % at 16, and nothing from 24 on
 * (h200, a100): tiles are filled then.  */
enum { TE_MOST_TERMS = 16 };
void normalize_unroll(Norm *n);
/* Where it is decided so: copies operands of large products that allow only narrow accesses into
 * layouts that allow wide ones, and lets the products read the copies.  */
void normalize_relaid(Norm *n);
/* Where it is decided so: sums most of whose terms have a 0 as a factor, by a condition of
 * divisibility, become sums over the other terms.  */
void normalize_phase(Norm *n);
/* Where it is decided so: rows of convolutions become blocks of pixels.  */
void normalize_block(Norm *n);
/* Where it is decided so: sums of products with softmax or the like become second products of a
 * chain.  */
void normalize_chain(Norm *n);
/* What a read of the tensor that statement m makes, a map, stands for.  */
TeExpr *normalize_instance(Norm *n, const TeStmt *m, const TeExpr *read);
/* Substitutes element-wise temporaries that are computed again rather than stored.  */
void normalize_inline(Norm *n);
#endif
