/* Programs for run-time sizes, and what each takes at which sizes.  */
#ifndef ROLLER_DRIVER_SIZES_SIZE_PRICE_H
#define ROLLER_DRIVER_SIZES_SIZE_PRICE_H
#include "driver/plan/plan_set.h"
#include "driver/sizes/size_points.h"

typedef struct {
    Ranked *ranked;           /* it, and those that may take its place */
    int n;
    const RProgSet *set;
    const int64_t *upto;      /* sizes up to which it is right, as are the others; NULL: all */
    int64_t outs;             /* points of the domain up to which its workspace is small enough */
    bool kept;                /* it is worth pricing at all points */
    double *us;               /* per point; INFINITY: it is not to be taken there */
} SizedProgram;

/* A group of a strategy, and all others of it that are the same: they get the same programs.  */
typedef struct {
    const char *text;         /* all there is to know of it */
    uint64_t hash;            /* of the text */
    int count;                /* so many of the strategy */
    const PlanSet *set;       /* where it was found first, and its number there: what follows is */
    int number;               /* said of that set's statements */
    Te *sized;                /* that set's op, whose figures are set where they are asked for */
    int *stmt, n_stmt;        /* the group's statements */
    int64_t (*extent)[AX_CLASSES];        /* per point at which programs were planned */
    int64_t outs;             /* points of its domain at the largest sizes */
    int64_t room;             /* bytes for partial results: the most that a program has at the sizes
                               * it was planned for */
    SizedProgram *program;    /* the first is right at all sizes */
    int n;
    bool apart;               /* it depends on the sizes, so others than the first may help */
    double *best;             /* per point: us of the best */
} SizedGroup;

/* A fusion strategy whose groups are planned at the largest sizes, and what it takes elsewhere.  */
typedef struct {
    PlanSet *set;
    SizedGroup *group;        /* each once */
    int n;
    int *of;                  /* per group of the set: which of them it is */
    double *us;               /* per point: of the best programs known, of all groups */
} SizedSet;

/* A round of planning: which points programs are made for, and how many all are priced at.  */
typedef struct {
    int first, end;           /* points first..end-1; first 0: there are no programs yet */
    int n;
} SizeRound;
/* Sets `out` up for the first round.  */
void size_price_open(Arena *a, PlanSet *set, const SizePoints *at, SizedSet *out);
/* Programs of a round beside those there are, and all of them priced, for all strategies: groups
 * that are the same in several are planned once.  Memory and time are those of the different
 * groups.  */
void size_price(Arena *a, const SizePoints *at, const SizeRound *round, SizedSet *strategy, int n);
#endif
