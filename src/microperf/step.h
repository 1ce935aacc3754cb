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
    double region;            /* of `bytes`, what a block loads once, times its steps */
} Step;

Step mp_step(const Model *m, const RProg *r, const StepCounts *c);
#endif
