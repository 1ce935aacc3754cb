/* Several programs for an op with run-time sizes.
 *
 * The program planned at the largest sizes is right at all of them.  Where it loses at some, by
 * prediction, the group gets more programs, each taken up to smaller sizes that it is right for: as
 * few as keep every size that was tried within 5 % of the best program known for it.  */
#ifndef ROLLER_DRIVER_SIZE_SETS_H
#define ROLLER_DRIVER_SIZE_SETS_H
#include "driver/compile.h"
#include "driver/size_points.h"

typedef struct {
    GroupPlans plans;
    int point;                /* that it was planned at */
    bool *right;              /* per point: up to its sizes */
    double *us;               /* per point where it is right, or that is below such a one */
} SizedProgram;

/* What is known of a group: programs in order of the points they were planned at, the last one at
 * the largest sizes.  */
typedef struct {
    Problem *problem;         /* per point */
    SizedProgram *program;
    int n;
    bool apart;               /* it depends on the sizes, so others than the last one may help */
} SizedGroup;

/* A split of the op whose groups are planned at the largest sizes, and what it takes elsewhere.  */
typedef struct {
    PlanSet *set;
    SizedGroup *group;
    double *us;               /* per point: of the best programs known, of all groups */
} SizedSet;

/* The programs for the smallest and the largest sizes, priced at all points.  */
void size_sets_open(Arena *a, PlanSet *set, const SizePoints *at, SizedSet *out);
/* Adds those for the sizes between.  */
void size_sets_fill(Arena *a, const SizePoints *at, SizedSet *x);
/* Is there a program for every group that was planned at this point?  */
bool size_sets_has(const SizedSet *x, const SizePoints *at, int point);

/* The split as it is taken up to the sizes of `point` (the last one that is planned: all), and
 * there only at the points that count: programs for each group, at most `most`, and in `why` how
 * they were chosen.  Returns the most that a group has.  */
int size_sets_choose(Arena *a, const SizedSet *x, const SizePoints *at, int point,
                     const bool *counts, int most, PlanSet *out, Buf *why);
/* `N <= 64, C <= 8`; relation: "<= " or "".  */
void size_sets_print(const Te *te, const int64_t *value, const char *relation, Buf *out);
#endif
