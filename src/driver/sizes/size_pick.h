/* Which programs of those known an op gets.
 *
 * What a program is worth is counted in losses: how much more than the best plan known for its
 * sizes each point takes.  Up to 5 % a loss counts as it is, beyond that 4 times, beyond 25 % 16
 * times.  What gains most is added while some point loses more than 5 %: another program of a
 * strategy that is taken, or a strategy, with a program of each of its groups, if every kernel of
 * it gains enough on average.  Each is then taken out again, to see whether something else is worth
 * more in its place.  No more programs than the caller wants compute one thing, over all
 * strategies.  */
#ifndef ROLLER_DRIVER_SIZES_SIZE_PICK_H
#define ROLLER_DRIVER_SIZES_SIZE_PICK_H
#include "driver/sizes/size_price.h"

/* The groups of a strategy at a point: of some no pick may be right there.  */
typedef struct {
    double us;                /* of the others */
    int never;
} SizeSum;

typedef struct {
    Arena *a;
    const SizedSet *strategy; /* those that compete; the first one is taken where no other is */
    int n_strategy;
    const SizePoints *at;
    double *best;             /* per point: us of the best strategy known */
    bool *open;               /* per strategy: it is taken for some sizes */
    int **picked;             /* per strategy, per different group: programs, the first of the first
                               * strategy right at all sizes, */
    int *n_picked;            /* and how many: [strategy * groups + group] */
    int groups;               /* most of any strategy */
    int most;                 /* programs of one thing, over all strategies */
    double least_gain;        /* of a kernel: of weighed losses, on average */
    bool all;                 /* what gains is added however little is lost, and none taken out: few
                               * programs may then be chosen of these */
    SizeSum **sum;            /* per strategy, per point: of what is picked */
    double **own;             /* [strategy * groups + group], per point: us of the group's best
                               * pick, of all groups that are the same */
} SizePick;

double size_weight(double loss);
/* Picks of these strategies at these points; the caller may set other figures before size_pick.  */
SizePick size_pick_new(Arena *a, const SizedSet *strategy, int n, const SizePoints *at);
void size_pick(SizePick *x);
static inline int size_slot(const SizePick *x, int strategy, int group) {
    return strategy * x->groups + group;
}
/* How much more than the best a point takes at best with what is picked, as a share.  */
double size_loss(const SizePick *x, int point);
#endif
