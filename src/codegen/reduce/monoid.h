/* Reductions as monoids: identity, folding in an element, merging two partial results.  What these
 * are is said here and by the prelude's pairs alone; reduce.h says where partial results meet.
 *
 * Four kinds: plain operators; argmax and argmin, which hold a value and its position; recurrences,
 * which hold the value and the factor of a map x -> factor x + value, and are the only ones whose
 * order counts; sums that follow another reduction, their leader (RowFollow), and mean something
 * only beside its value.
 *
 * A sum of exp(E - x) that follows the maximum x of E (FOLLOW_SCALE) is scaled as x grows.  A sum
 * of (E - x)^2 that follows the sum of E, x being the mean (FOLLOW_SHIFT), is added by the identity
 * of T. F. Chan, G. H. Golub, R. J. LeVeque, Updating formulae and a pairwise algorithm for
 * computing sample variances (1979): for m and n elements with means a and b, Q = Q_a + Q_b + (a -
 * b)^2 m n / (m + n).  For that the elements behind what is held are counted, as `seen`.  */
#ifndef ROLLER_CODEGEN_REDUCE_MONOID_H
#define ROLLER_CODEGEN_REDUCE_MONOID_H
#include "codegen/expr/expr.h"

#define MONOID_VARIABLES(X)   /*  word of the value, of its position; factor: word_by */         \
    X(HELD,    "acc",   "where")      /* what a thread holds of a reduction */                     \
    X(ROWS,    "f",     "f_at")       /* the same for each of its rows of a product */             \
    X(SUMS,    "sum",   "sum_at")     /* of a vector of sums, of a vector of a scan by lane */     \
    X(CARRY,   "carry", "carry_at")   /* of a scan: what elements came to before the step, ... */  \
    X(BEFORE,  "base",  "base_at")    /* ... before the thread's, ... */                           \
    X(PRE,     "pre",   "pre_at")     /* ... before the lane's in a vector, ... */                 \
    X(OWN,     "own",   "own_at")     /* ... before the vector at hand */                          \
    X(RUN,     "run",   "run_at")     /* ... what the warp's, ... */                               \
    X(ALL,     "all",   "all_at")     /* ... and the block's elements come to */                   \
    X(PART,    "part",  "part_at")    /* values of a block's threads or warps, in memory */        \
    X(LEFT,    "left",  "left_at")    /* those in the workspace, by slice or block */              \
    X(COPIES,  "copies", "copies_at") /* those of warps that had other k */                        \
    X(VALUES,  "value", "value")      /* values of rows */                                         \
    X(CENTERS, "base",  "base")       /* what terms of rows are made with, in the block */         \
    X(PAST,    "past",  "past")       /* what a leader was before a step, */                       \
    X(ALONE,   "own",   "own")        /* for a thread alone */                                     \
    X(CENTER,  "base",  "base")       /* the center that the terms of a step are made with */      \
    X(TAKEN,   "e",     "e")          /* what a leader takes of a step's rows */                   \
    X(SEEN,    "seen",  "seen")       /* elements behind what is held, ... */                      \
    X(FRESH,   "fresh", "fresh")      /* ... of the step, ... */                                   \
    X(MORE,    "more",  "more")       /* ... of the part that joins it */
typedef enum {
#define X(id, word, position) MONOID_##id,
    MONOID_VARIABLES(X)
#undef X
        MONOID_COUNT
} MonoidVariable;

/* What one thread holds of a reduction.  */
typedef struct {
    const TeExpr *e;          /* the reduction, and */
    int number;               /* its statement in the group */
    int tensor;               /* that its variables are of; -1: none */
    Ir array;                 /* the variable that holds the value, acc3, */
    Ir value;                 /* and the value in it, acc3[v] */
    Ir beside;                /* a position, a factor (te_beside_type); NULL */
    Ir beside_array;          /* the variable that holds it */
    Ir in, in_beside;         /* what joins it: values, or vectors of them */
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

/* Those of pass `pass` of a group, held as `held`: arrays, of which `lane` is at hand, or (NULL)
 * values.  */
Partials monoid_pass(const Cg *cg, const RowGroup *g, int pass, MonoidVariable held, Ir lane);
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
Ir monoid_identity(const Cg *cg, TeRedop red, TeDtype type);
/* Declares what is held, an array of n elements; as the identity.  */
void monoid_room(Cg *cg, const Partial *p, int n);
void monoid_declare(Cg *cg, const Partial *p, int n);
Ir monoid_result(const Partial *p);       /* of the reduction, as its type */
/* Where what is folded in stands to all that is held.  ASIDE: anywhere, which a recurrence does not
 * allow.  */
typedef enum { FOLD_ASIDE, FOLD_BEHIND, FOLD_BEFORE } FoldSide;
/* Folds in an element or another value, and what it has beside it.  */
void monoid_fold(Cg *cg, const Partial *p, Ir value, Ir beside, FoldSide side);
/* A variable of a tensor; of a reduction, as a value.  */
Ir monoid_variable(const Cg *cg, MonoidVariable what, int tensor, IrType type);
/* The variable of what partial p has beside its value.  */
Ir monoid_beside(const Cg *cg, MonoidVariable what, const Partial *p, IrType type);
Ir monoid_value(const Cg *cg, MonoidVariable what, const Partial *p);
/* Those that count elements, as `count`: SEEN, FRESH, MORE.  */
Ir monoid_counted(const Cg *cg, MonoidVariable what, IrBase count);
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
/* Merges what comes in (Partial.in) of reduction i and of those that follow it, of `more` elements,
 * with what is held, behind it where order counts: element `lane` of vectors, or (NULL) values.  */
void monoid_merge(Cg *cg, const Partials *p, int i, Ir lane);
/* What comes in is what is held.  */
void monoid_take(Cg *cg, const Partials *p, int i, Ir lane);
/* `red` of two values of one type; not of pairs  */
Ir cg_fold(const Cg *c, TeRedop red, TeDtype type, Ir acc, Ir value);
/* Behind the last merge.  `live`: a test that there are elements; NULL: there are.  */
void monoid_settle(Cg *cg, const Partials *p, Ir live);
#endif
