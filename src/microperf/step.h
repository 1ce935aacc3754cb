/* One k-step of a `contract` program, for the files of microperf.  */
#ifndef ROLLER_MICROPERF_STEP_H
#define ROLLER_MICROPERF_STEP_H
#include "microperf/model.h"

/* Work of one block in one k-step, in warp instructions, wavefronts, sectors and bytes.  */
typedef struct {
    const StepCounts *counts; /* of which it is made */
    double warps, fma, loads;             /* of the inner loop: unit and LDS instructions */
    double issue;                         /* everything issued */
    double wavefronts, stored, sectors, bytes;            /* stored: of the wavefronts */
    double passes;            /* of loads through L1, which has the banks of shared memory */
    double groups, group_fma, group_issue;/* per warp: fragments fetched together */
    double own_issue;         /* of warpgroups: what they issue themselves */
    double region;            /* of `bytes`, what a block loads once, times its steps */
    double filling;           /* clocks of a block's threads for that, where it goes by registers */
    double trips;             /* ... in which so many times nothing else is under way */
    double behind;            /* bytes that a block loads half way, for what follows its steps */
    double teams;             /* warpgroups that multiply tiles of their own at the same time */
} Step;

/* Loads of a region by registers that a warp has under way.  */
enum { MP_AT_ONCE = 8 };

Step mp_step(const Model *m, const RProg *r, const StepCounts *c);
/* team.c: instructions to make one chunk's address and move it.  Passes of a stage's loads beside
 * its stores to shared memory.  */
double mp_chunk_issue(const Model *m, const RProg *r, int side);
double mp_load_passes(const RLoad *l, double passes, double stores);
/* Scales of blocks, of which each of so many warps reads those of its rows.  */
void mp_add_scales(const Model *m, const RProg *r, double warps, Step *s);
/* Those by which sums of a step are multiplied.  */
void mp_add_sum_scales(const Model *m, const RProg *r, Step *s);
/* Clocks of one SM for one step of each of `resident` blocks, were the unit the only limit: a warp
 * computes one group of fragments while the next is fetched.  */
double mp_unit_clocks(const Model *m, const RProg *r, const Step *s, double resident);
/* Clocks in such a step for which nobody has anything for shared memory; for the unit or to issue.
 * Shared memory has a queue, which other blocks fill while one waits; the schedulers have none.  */
double mp_queue_waits(const Model *m, const RProg *r, const Step *s);
double mp_step_waits(const Model *m, const RProg *r, const Step *s, double resident);
#endif
