/* How long a program takes to compile, where that decides: between programs that are as fast, and
 * whether ptxas works at its level 3 or, in a fraction of the time, at 2.  */
#ifndef ROLLER_MICROPERF_COMPILE_COST_H
#define ROLLER_MICROPERF_COMPILE_COST_H
#include "microperf/microperf.h"

enum {
    /* Predictions no further apart than this part say nothing of which program is faster: from
     * measured figures, from published ones.  */
    MP_AS_GOOD_MEASURED = 100,
    MP_AS_GOOD_PUBLISHED = 25,
    /* ms; expected times of compilation no further apart count as the same, and so do those that
     * are short enough: they leave the whole process below 250 ms.  */
    MP_COMPILE_GAIN = 25,
    MP_COMPILE_ENOUGH = 200,
    /* ms expected of all kernels at level 3 from which the whole process, planning and all, may
     * take more than 250.  */
    MP_COMPILE_LIMIT = 230,
    /* ms of each expected time that several kernels of one source have in common.  */
    MP_COMPILE_SHARED = 50,
};

/* Expected time of NVRTC for the main kernel of a `contract` program, or a `window` one with
 * unrolled rows, at the program's level, in ms of one core; 0 for all others, whose kernels are
 * short.  */
int mp_compile_ms(const Problem *p, const Device *dev, const RProg *r);
/* Is the program to be compiled at level 2, where the plan's other kernels take `others` ms?  Only
 * if level 3 is expected to break the limit, and level 2 to save MP_COMPILE_GAIN or more.  */
bool mp_compile_quick(const Problem *p, const Device *dev, const RProg *r, int others);
/* A line about level 2, if the program has it.  */
void mp_compile_explain(const Problem *p, const Device *dev, const RProg *r, Buf *out);
#endif
