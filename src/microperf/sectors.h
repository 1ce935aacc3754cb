/* Sectors of global memory, for the files of microperf that count.  */
#ifndef ROLLER_MICROPERF_SECTORS_H
#define ROLLER_MICROPERF_SECTORS_H
#include "microperf/model.h"

static inline int mp_own_axis(int side) { return side ? AX_N : AX_M; }
/* Sectors of one stage of an operand's tile, and the warp requests of its loads.  */
double mp_stage_sectors(const Model *m, const RProg *r, int side, int64_t *requests);
/* Sectors of storing all outputs, or sums, once: `per` bytes each, `run` of them side by side in
 * memory.  */
double mp_output_sectors(const Model *m, const RProg *r, double per, int64_t run);
#endif
