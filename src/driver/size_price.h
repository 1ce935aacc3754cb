/* Programs for run-time sizes, and what each takes at which sizes.  */
#ifndef ROLLER_DRIVER_SIZE_PRICE_H
#define ROLLER_DRIVER_SIZE_PRICE_H
#include "driver/compile.h"
#include "driver/size_points.h"

typedef struct {
    Ranked *ranked;           /* it, and those that may take its place */
    int n;
    const RProgSet *set;
    const int64_t *upto;      /* sizes up to which it is right, as are the others; NULL: all */
    int64_t bytes;            /* of its workspace at the sizes it was planned for */
    int64_t outs;             /* points of the domain up to which its workspace is small enough */
    double *us;               /* per point; INFINITY: it is not to be taken there */
} SizedProgram;

typedef struct {
    const PlanSet *set;       /* where it was found first, and its number there: what follows is */
    int number;               /* said of that set's statements */
    Problem *problem;         /* per point */
    int64_t *outs;            /* per point: of its domain */
    SizedProgram *program;    /* the first is right at all sizes */
    int n;
    const char *text;         /* all there is to know of it */
    bool apart;               /* it depends on the sizes, so others than the first may help */
    double *best;             /* per point: us of the best */
} SizedGroup;

/* A fusion strategy whose groups are planned at the largest sizes, and what it takes elsewhere.  */
typedef struct {
    PlanSet *set;
    SizedGroup *group;
    double *us;               /* per point: of the best programs known, of all groups */
} SizedSet;

/* A round of planning: which points programs are made for, and how many all are priced at.  */
typedef struct {
    int first, end;           /* points first..end-1; first 0: there are no programs yet */
    int n;
} SizeRound;
/* Programs of a round beside those there are, and all of them priced, for all strategies: groups
 * that are the same in several are planned once.  ->set of each is given.  */
void size_price(Arena *a, const SizePoints *at, const SizeRound *round, SizedSet *strategy, int n);
#endif
