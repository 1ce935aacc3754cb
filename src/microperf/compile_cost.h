/* How long a program takes to compile, where that decides between programs that are as fast.  */
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
};

/* Expected time of NVRTC for the main kernel of a `contract` program, or a `window` one with
 * unrolled rows, in ms of one core; 0 for all others, whose kernels are short.  */
int mp_compile_ms(const Problem *p, const Device *dev, const RProg *r);
#endif
