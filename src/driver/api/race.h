/* Ops whose plans are measured together: their plans as kernels.  */
#ifndef ROLLER_DRIVER_API_RACE_H
#define ROLLER_DRIVER_API_RACE_H
#include "driver/cache/cache.h"
#include "driver/device/measure.h"
#include "driver/handle/handle.h"

/* A plan as a kernel.  */
typedef struct {
    Arena *arena, *scratch;   /* of the kernel; of its messages */
    Diag diag;
    RollerKernel *kernel;     /* NULL: not built */
    Status status;
    bool cached;              /* it was in the cache */
} Job;

/* An op that takes part.  */
typedef struct Race Race;
typedef struct {
    const Race *race;
    const RollerPlans *plans;
    RollerContender *asked;
    size_t trial_size;
    const int64_t *at;
    int same;                 /* an op before it that differs by names alone; -1: none */
    double weight;            /* also of those that are the same */
    Job *job;
    int n;
    Candidate *c;
    Trial *trial;
    int best;
} Racer;

struct Race {
    RollerCtx *ctx;
    const RollerTrialOptions *o;
    Racer *racer;             /* per op ... */
    int *of;                  /* ... and those that are measured */
    int n, n_measured;
    const MeasureOptions *how;
    MeasurePlace place;
    bool all_known;           /* nothing was compiled or timed */
    const char *where;
};

/* An op that is measured, by its number among those.  */
Racer *race_measured(const Race *r, int k);
/* Of each op all plans, or, where few are to be timed, those that other runs have left.  Kernels
 * that nobody takes end with a.  */
Status race_build(Race *r, Arena *a);
/* One plan, if it was not yet: the job says how that ended.  */
void race_build_plan(const Racer *f, int i);
/* Why none is built that was to be; ST_OK: one is.  */
Status race_none_built(const Racer *f);
const char *race_why_not(const Job *j);
/* Times that other runs have left, and those of this one (MeasureOptions); user: the Race.  */
bool race_timing_known(void *user, int k, int i, Timing *out);
void race_keep_timing(void *user, int k, int i, const Timing *t);
#endif
