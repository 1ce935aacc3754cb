/* The sizes at which an op with run-time sizes is planned and tried, and the choice of as few
 * programs as serve all of them well.  */
#ifndef ROLLER_DRIVER_SIZE_POINTS_H
#define ROLLER_DRIVER_SIZE_POINTS_H
#include "rprogram/plan.h"

/* First the sizes that programs are planned for and taken up to, none before one that is nowhere
 * larger, the largest at the end; then one below each that no tile divides; then, of several sizes,
 * any between that are spread evenly over their orders of magnitude.  Programs are planned for the
 * last `n_tried` of these, too, to be taken up to others.  */
typedef struct {
    int64_t **value;          /* per point, per size of the op */
    int n_planned, n_tried, n;
} SizePoints;
void size_points_find(Arena *a, const Te *te, SizePoints *out);
/* Sizes that hardly differ from the smallest ones for any tile.  */
bool size_points_tiny(const Te *te, const int64_t *value);

/* What can be taken up to some sizes, in an order in which one that allows all sizes of another
 * comes after it; the last one is for all sizes.  */
typedef struct {
    const double *us;         /* per point; < 0: it is not taken there */
    int what;                 /* that is taken: other options may take the same up to other sizes */
    bool chosen;
} SizeOption;
typedef struct {
    SizeOption *option;
    int n;
    const double *best;       /* us per point, of the best there is */
    const bool *counts;       /* per point; NULL: all do */
    int *taken;               /* room for one per point */
    int n_point;
    double least_gain;        /* of the mean loss, for one more that nothing else takes; beyond 5 %
                               * losses count 4 times */
} SizeChoice;
/* Chooses the last option and as many more, `most` in all, as bring every point within 5 % of the
 * best, as long as each gains enough; returns how many.  */
int size_choose(SizeChoice *c, int most);
/* The option that a point takes.  */
int size_taken(const SizeChoice *c, int point);
/* How much more than the best the points take, as shares of it: the mean and, in *worst, the
 * most.  */
double size_loss(const SizeChoice *c, double *worst);
#endif
