/* Matrix units, for the files of microperf.  */
#ifndef ROLLER_MICROPERF_MATRIX_H
#define ROLLER_MICROPERF_MATRIX_H
#include "microperf/model.h"

/* Accumulators of a lane (of any unit).  */
double mp_lane_sums(const RProg *r);
/* Instructions of the unit that one warp executes for one group of fragments; what else such
 * a group takes: splitting elements in two (two instructions each), adding the partial sums
 * of a step.  */
double mp_matrix_products(const Model *m, const RProg *r);
double mp_matrix_extra(const Model *m, const RProg *r);
/* Why this warp tile.  */
void mp_matrix_explain(const Model *m, const RProg *r, Buf *out);
#endif
