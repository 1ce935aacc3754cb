/* Learning from few measurements: what the times of some plans say of others.
 *
 * The logarithm of measured over predicted time is a sum of small numbers: what each term of the
 * model is off by, times its share of the predicted time (also of what the model hides: pipes
 * overlap less than they could); what the kernel is off by as a whole at its sizes; what the plan
 * is off by, at all sizes, half of it (of the variance) as others are that have its block tile, its
 * k-step, or its number of threads; and what is left.  All are believed to be around 0
 * (base/belief.h), a term by as much as the profile's figure for it may be off.  */
#ifndef ROLLER_DRIVER_DEVICE_LEARN_H
#define ROLLER_DRIVER_DEVICE_LEARN_H
#include "driver/plan/plan_set.h"

enum { LEARN_TRAITS = 3 };

typedef struct {
    double us;                /* predicted */
    double term[MP_COUNT];    /* us, as Estimate has them */
    /* Plans with equal numbers are the same one at other sizes, of the same sizes, alike.  */
    uint64_t plan, sizes, trait[LEARN_TRAITS];
} LearnPlan;
/* A whole plan with what is predicted of it, each being another.  */
LearnPlan learn_plan(const RPlan *p, const Estimate *e, int number);

typedef struct Learn Learn;
Learn *learn_new(Arena *a, const Device *dev, const LearnPlan *plan, int n);
/* Forgets what was told.  */
void learn_reset(Learn *l);
void learn_tell(Learn *l, int i, double us);
/* Expected time: the middle one; and the standard deviation of its logarithm.  */
double learn_us(const Learn *l, int i);
double learn_spread(const Learn *l, int i);
/* Plans of one kernel at its sizes, one of which is to be measured.  */
typedef struct {
    int from, to;             /* those from `from` on and before `to` */
    const bool *out;          /* per plan of all: it is not to be measured */
    double best_us;           /* of those measured; 0: none was */
} LearnField;
/* The plan that is expected to improve most on best_us, and by which share of it.  Where none was
 * measured, the plan that is expected to be the fastest, and half the share by which another one is
 * expected to improve on it, since that takes two measurements; what other sizes tell decides only
 * if it has chosen better than the model for sizes that came after them.  -1: all are out.  */
int learn_next(const Learn *l, const LearnField *f, double *gain);
/* By how many us the next measurement is expected to lower the best time; LEARN_NONE: all are
 * out.  */
enum { LEARN_NONE = -1 };
double learn_worth(const Learn *l, const LearnField *f);
/* The one whose measurement would tell most of all plans.  */
int learn_doubtful(const Learn *l, const LearnField *f);
#endif
