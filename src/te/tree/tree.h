/* Expression trees: copies, comparison, substitution, measures.
 *
 * Used by the passes that rewrite statements (te_normalize) or look for equal parts (access).
 * Trees are trees: no node has two parents, so a pass may rewrite its own copy in place.  */
#ifndef ROLLER_TE_TREE_TREE_H
#define ROLLER_TE_TREE_TREE_H
#include "te/te.h"
#include "te/tree/arith.h"

TeExpr *te_expr_copy(Arena *a, const TeExpr *e);
/* The same with index[i], an expression, in place of index i; e has no sums, whose indices are its
 * own.  */
TeExpr *te_expr_at(Arena *a, const TeExpr *e, TeExpr *const *index);
/* An op as te_parse gives it, and with it nothing of what parsing made beside it.  */
Te *te_copy(Arena *a, const Te *te);
/* Same structure, types and literals; places in the text do not count.  */
bool te_expr_same(const TeExpr *x, const TeExpr *y);
/* Fills the `reads` of e and of what is below it.  Who changes a tree lists it again before others
 * see it; a copy has none listed.  */
void te_expr_list_reads(Arena *a, TeExpr *e);
/* Would the expression keep its type wherever it is written?  Literals take their neighbours'.  */
bool te_own_type(const TeExpr *e);
bool te_has_reduction(const TeExpr *e);
int te_expr_nodes(const TeExpr *e);
int te_expr_depth(const TeExpr *e);
/* Is the same extent for every value of the run-time sizes, as far as its text tells.  */
bool te_extent_same(const TeExtent *x, const TeExtent *y);
/* Is it the literal 0, whose bytes are 0, too (-0.0 has others)?  Casts do not count.  */
bool te_is_zero(const TeExpr *e);
/* Do bytes of 0 say what the read gives outside of its tensor, if it can be there?  */
bool te_zero_outside(const Te *te, const TeExpr *read);
static inline bool te_is_literal(const TeExpr *e) {
    return e->kind == TE_INT || e->kind == TE_REAL || e->kind == TE_BOOLEAN;
}
/* A 0 that pads: terms of a sum whose factor it is may be left out, whatever their other factors
 * are, which infinities and NaN would tell.  It is the `else 0` of a read, or the 0 of a choice
 * that indices and sizes alone decide; the 0 of a choice that data decide is a value like any
 * other.  Does e give it?  (Of integers any 0 will do.)  */
bool te_pads(const TeExpr *e);
/* Has it real divisions or functions, which @fast approximates?  May those of what is made not be
 * approximated, but all around it in s?  */
bool te_approximable(const TeExpr *e);
bool te_narrows_rules(const TeStmt *made, const TeStmt *s);
/* Bits as arithmetic that has the same value: x << n as x * 2^n, x >> n as x / 2^n, and
 * x & (2^n - 1) as x % 2^n, for a literal n.  The kind, and what x is multiplied or divided by;
 * e's own kind: none has.  */
TeKind te_bits_arithmetic(const TeExpr *e, int64_t *by);
/* The integers that a type has.  */
Interval te_type_range(TeDtype t);
/* A real type has all integers from -n to n, its significand's 2^bits; 0 for those of 8 bits and
 * less, which may lack infinity, NaN, zero or a sign.  */
int64_t te_last_whole(TeDtype t);
/* What an integer operator gives of operands in these ranges (of a choice, its two values; a call
 * of several is folded); false: it may leave 64 bits.  */
bool te_operator_range(const TeExpr *e, Interval x, Interval y, Interval *r);
/* The type in which both sides of a comparison or an operation meet.  */
TeDtype te_meet(TeDtype x, TeDtype y);

/* What an integer expression of statement s can be.  `known`: what was found before of tensors of
 * integers, each within its type, or else of no meaning; NULL: nothing.  */
Interval te_range(const Te *te, const TeStmt *s, const TeExpr *e, const Interval *known);

/* What a real expression of statement s can be, as far as its form tells: e^x is not negative,
 * x - max(x) not positive.  All is counted that IEEE 754 has: roundings, overflow and underflow, in
 * f32 or f64, products that are fused with sums, infinities, zeros of either sign.  */
typedef struct {
    double lo, hi;            /* of what is no NaN; an infinite bound may be reached */
    bool minus_zero, plus_zero, nan;      /* it can be: zeros only where they are within bounds */
} TeRealRange;
TeRealRange te_real_range(const Te *te, const TeStmt *s, const TeExpr *e);

/* The division in a statement that a reciprocal of its divisor, a read, can take the place of
 * (codegen/elements/divide.c has the proof).  */
typedef struct {
    const TeExpr *e;          /* NULL: there is none */
    double most;              /* it is right for divisors between 1 / most and most, */
    bool tested;              /* only where dividends are tested, */
    bool low;                 /* with more steps, since quotients may be subnormal, and not for
                               * divisors whose bits are all ones */
} TeQuotient;
TeQuotient te_quotient(const Te *te, const TeStmt *s);

/* Is every e^x of the op a term of an f32 sum of many, or a term divided by its sum, and nothing
 * else?  Then e^x may be off by what rounding x in f32 does to it (docs/numerics.md).  */
bool te_exps_are_summed(const Te *te);

/* Index i of e becomes index to[i].  */
void te_expr_renumber(TeExpr *e, const uint8_t *to);
/* New nodes, at place `pos`.  */
TeExpr *te_expr_node(Arena *a, TeKind kind, TeDtype type, int n_args, uint32_t pos);
TeExpr *te_expr_int(Arena *a, int64_t v, TeDtype type, uint32_t pos);
TeExpr *te_expr_zero(Arena *a, TeDtype type, uint32_t pos);        /* 0, 0.0 or false */
TeExpr *te_expr_index(Arena *a, int index, uint32_t pos);
#endif
