/* Decisions of an op, or of a part of it, tried one after the other.  Inside of fusion.c.  */
#ifndef ROLLER_DRIVER_PLAN_DECIDE_H
#define ROLLER_DRIVER_PLAN_DECIDE_H
#include "driver/plan/parting.h"

enum { DECIDE_NEAR = 50 };    /* a gain is more than its part of what was there */

/* A decision that was no gain, and the kernels that it would replace (NULL: not tried yet).  */
typedef struct {
    const Kernel **gone;
    int n;
    double lost;              /* at least, us */
    double spare;             /* that it might lose less together with others, us */
} Tried;

typedef struct {
    Planner plan;
    Parting best;
    Tried *tried;             /* per decision of each site */
} Decider;

static inline const TeDecisions *decisions_of(const Parting *p) { return p->set.normal->decisions; }

/* Is `now` faster than the best one by what it changes?  Then it is the best one; else *had and *us
 * are what the kernels take that the best one and it have alone.  */
bool decide_better(Decider *x, Diag *d, const Parting *now, double *had, double *us);
/* Tries these: true if that is the best one now, else what is possible then is in *seen.  */
bool decide_as(Decider *x, const TeDecisions *taken, TeDecisions *seen, Tried *tried);
/* Tries decision d of a site the other way, with one more that it opens if it is no gain alone.  */
bool decide_one(Decider *x, int site, int d);
/* Tries two decisions (numbered as in `tried`) at once.  */
bool decide_pair(Decider *x, int one, int other, Tried *tried);
/* Tries sums of a few terms of which one kernel makes several, all written out at once, each by
 * what reads it: with one of them left the kernel would stay.  */
bool decide_written(Decider *x);
#endif
