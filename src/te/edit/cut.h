/* Dimensions cut into digits, inside of te_normalize: an index i becomes a quotient and the digits
 * of a remainder, `by` being the product of the radices: i = by * q + radix[1] * d0 + d1 - shift
 * (with one digit: by * q + d0 - shift).
 *
 * Without a shift, and where `by` divides the extent, a tensor that is cut lies in memory as it did
 * before: so outputs can be cut, too.  */
#ifndef ROLLER_TE_EDIT_CUT_H
#define ROLLER_TE_EDIT_CUT_H
#include "te/access/access.h"
#include "te/edit/edit.h"

enum { CUT_DIGITS = 2 };

typedef struct {
    int n_digit;
    int64_t radix[CUT_DIGITS], by, shift;
    bool divides, inputs;     /* as cut_index was asked */
    bool places;              /* the digits are places in a block (TeIndex.place) */
    bool clips;               /* what is cut has elements too many, which outputs clip */
    uint8_t dims[TE_MAX_TENSORS];         /* bit d: dimension d of the tensor */
    uint32_t index[TE_MAX_STMTS];         /* bit i: index i of the statement */
} Cut;

/* Marks dimension `dim` of what statement `stmt` assigns, and all that has to be cut with it in the
 * op.  False: some read of it is not by a plain index, or there are too many dimensions.  If `by`
 * does not divide the extent, there are elements that nobody needs: false as well where one is
 * summed over, an output is read, or the extent is not known.  */
bool cut_spread(const Te *te, int stmt, int dim, Cut *c);
/* Marks index `i` of statement `stmt` and what runs with it: what it assigns and who reads that by
 * an index as long; who reads it otherwise will divide.  `inputs`: those that it reads, too.  False
 * where some extent is no multiple of `by`, or there are too many dimensions.  */
bool cut_index(const Te *te, int stmt, int i, bool inputs, Cut *c);
/* Marks it alone; whoever reads the tensor divides.  The tensor is a temporary, and is read without
 * conditions.  */
bool cut_alone(const Te *te, int stmt, int dim, Cut *c);
/* Would it change the statement?  */
bool cut_changes(const Te *te, const Cut *c, int stmt);
/* Cuts what is marked.  */
void cut_apply(Norm *n, const Cut *c);
/* A new temporary takes the place of what statement `stmt` assigns, and a statement behind it
 * copies that.  False: there are too many statements.  */
bool cut_copy(Norm *n, int stmt);

/* The affine value as text.  */
TeExpr *cut_affine(Arena *a, const Affine *f, uint32_t pos);
/* Writes subscripts below e that use some of the indices, and are affine, anew.  */
void cut_tidy(Norm *n, const TeStmt *s, TeExpr *e, uint32_t indices);
#endif
