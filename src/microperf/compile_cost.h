/* How long a program takes to compile, where that decides: between programs that are as fast,
 * whether ptxas works at its level 3 or, in a fraction of the time, at 2, and whether a loop loads
 * its own first step.  */
#ifndef ROLLER_MICROPERF_COMPILE_COST_H
#define ROLLER_MICROPERF_COMPILE_COST_H
#include "microperf/microperf.h"

enum {
    /* Predictions no further apart than this part say nothing of which program is faster: from
     * measured figures, from published ones.  */
    MP_AS_GOOD_MEASURED = 100,
    MP_AS_GOOD_PUBLISHED = 25,
    /* ms; expected times of compilation no further apart count as the same, and so do those below
     * the limit: they leave the whole process below 250 ms, if they are off by less than a tenth.
     * Above it level 2 is taken and text printed once, where that saves MP_LEVEL_GAIN.  */
    MP_COMPILE_GAIN = 25,
    MP_COMPILE_LIMIT = 190,
    MP_LEVEL_GAIN = 20,
};

/* Expected time of NVRTC for the main kernel of a `contract` program (of `rows parts` for each of
 * its kernels, on average), or a `window` one with unrolled rows, at the program's level, in ms of
 * one core; 0 for all others, whose kernels are short.  */
int mp_compile_ms(const Problem *p, const Device *dev, const RProg *r);
/* The same, of `rows parts` for the kernel that takes longest.  */
int mp_compile_longest_ms(const Problem *p, const Device *dev, const RProg *r);
/* Sets what makes a program that is expected to break the limit compile sooner, each only if it is
 * expected to save MP_LEVEL_GAIN or more: first level 2, then, if that is not enough, the loop that
 * loads its own first step.  Of `rows parts` the kernel counts that takes longest.  */
void mp_compile_sooner(const Problem *p, const Device *dev, RProg *r);
/* A line about them, if the program has any.  */
void mp_compile_explain(const Problem *p, const Device *dev, const RProg *r, Buf *out);
#endif
