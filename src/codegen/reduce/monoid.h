/* Reductions as monoids: identity, folding in an element, merging two partial results.  What these
 * are is said here and by the prelude's pairs alone; reduce.h says where partial results meet.
 *
 * Three kinds: plain operators; argmax and argmin, which hold a value and its position; sums that
 * follow another reduction, their leader (RowFollow), and mean something only beside its value.
 *
 * A sum of exp(E - x) that follows the maximum x of E (FOLLOW_SCALE) is scaled as x grows.  A sum
 * of (E - x)^2 that follows the sum of E, x being the mean (FOLLOW_SHIFT), is added by the identity
 * of T. F. Chan, G. H. Golub, R. J. LeVeque, Updating formulae and a pairwise algorithm for
 * computing sample variances (1979): for m and n elements with means a and b, Q = Q_a + Q_b + (a -
 * b)^2 m n / (m + n).  For that the elements behind what is held are counted, as `seen`.
 *
 * Names, each with the number of Partial.tensor behind it: acc the value that is held, where its
 * position (STEM_at with other stems), x and y another value and position, past what a leader was
 * before a step, now what it becomes, base the center that the terms of a step are made with.  */
#ifndef ROLLER_CODEGEN_REDUCE_MONOID_H
#define ROLLER_CODEGEN_REDUCE_MONOID_H
#include "codegen/expr/expr.h"

/* What one thread holds of a reduction.  */
typedef struct {
    const TeExpr *e;          /* the reduction, and */
    int number;               /* its statement in the group */
    int tensor;               /* that names which belong to it are of (cg_name); -1: none */
    Ir array;                 /* the variable that holds the value, acc3, */
    Ir value;                 /* and the value in it, acc3[v] */
    Ir where;                 /* position, of argmax and argmin; NULL */
    Ir positions;             /* the variable that holds it */
    RowFollow follow;
    int leader, center;       /* online: which of the list, and the tensor of x */
} Partial;

/* Reductions of one pass.  */
typedef struct {
    const RowGroup *group;
    IrBase count;             /* the type in which elements are counted */
    Partial at[ROW_MAX_STMTS];
    int n;
} Partials;

/* Those of pass `pass` of a group, held as STEM and the numbers of their tensors: arrays, of which
 * `lane` is at hand, or (NULL) values.  */
Partials monoid_pass(const Cg *cg, const RowGroup *g, int pass, const char *stem, Ir lane);
void monoid_at(const Cg *cg, Partial *x, Ir lane);        /* another one is at hand */
/* A reduction of no group, held in `array`.  */
Partials monoid_alone(const TeExpr *e, Ir array);
/* Those that follow, or all others, each on its own: so they are once leaders are known.  */
Partials monoid_select(const Partials *p, bool online);
const Partial *monoid_of(const Partials *p, const TeExpr *e);
bool monoid_is_leader(const Partials *p, int i);
/* Is there a FOLLOW_SCALE; a FOLLOW_SHIFT, so that elements are counted?  */
bool monoid_scales(const Partials *p);
bool monoid_counts(const Partials *p);

/* -- plain operators and pairs -- */
/* Declares what is held, an array of n elements; as the identity.  */
void monoid_room(Cg *cg, const Partial *p, int n);
void monoid_declare(Cg *cg, const Partial *p, int n);
/* The same for acc[row][column].  */
Ir monoid_declare_tile(Cg *cg, TeRedop red, TeDtype type, int rows, int columns);
Ir monoid_result(const Partial *p);       /* of the reduction, as its type */
/* Folds in an element or another value, of position `where`.  `next`: it is behind all others.  */
void monoid_fold(Cg *cg, const Partial *p, Ir value, Ir where, bool next);
const char *monoid_word(const Cg *cg, const char *stem, const Partial *p);
Ir monoid_name(const Cg *cg, IrBase base, const char *stem, const Partial *p);
/* The position of an element: row-major in the reduction's ranges.  */
Ir monoid_position(const CgPoint *p);

/* -- what follows -- */
/* Does a step make its leader anew, to be added behind it, since its mean is needed?  */
bool monoid_restarts(const Partial *leader);
/* A step of `deep` elements (0: the variable `fresh`, maybe none) moves the leader from `past` to
 * `now`.  What is held follows, and base is defined.  */
void monoid_follow(Cg *cg, const Partial *online, Ir past, Ir now, int deep);
/* The center of `count` elements whose leader is `now`.  */
Ir monoid_center(const Cg *cg, const Partial *online, Ir now, Ir count);
/* What the leader of so many elements is.  */
typedef struct {
    Ir value, count;
} PartialLeader;
/* `value` that followed one leader as a part of the whole, which has another.  */
Ir monoid_fit(Cg *cg, const Partial *online, Ir value, PartialLeader own, PartialLeader whole);
/* Merges x (and y) of reduction i and of those that follow it, of `more` elements, with what is
 * held; they are vectors, of which element `lane` is at hand, or (NULL) values.  */
void monoid_merge(Cg *cg, const Partials *p, int i, Ir lane);
/* What comes in as x (and y) is what is held.  */
void monoid_take(Cg *cg, const Partials *p, int i, Ir lane);
/* `red` of two values of one type; not for argmax and argmin  */
Ir cg_fold(const Cg *c, TeRedop red, TeDtype type, Ir acc, Ir value);
/* Behind the last merge.  `live`: a test that there are elements; NULL: there are.  */
void monoid_settle(Cg *cg, const Partials *p, Ir live);
#endif
