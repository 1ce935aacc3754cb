/* What instructions that approximate may be off by.
 *
 * A result is computed in f64, moved by an error within the bound that the ISA documents for the
 * instruction, and rounded.  The error is a function of SimOptions.errors and of the operands, as
 * on a device, where the same operands give the same result everywhere; a fourth of them are as
 * far off as allowed.  Without a seed nothing is moved.  What the ISA lists for zeros, infinities
 * and NaN holds always.  */
#ifndef ROLLER_SIM_LANE_APPROX_H
#define ROLLER_SIM_LANE_APPROX_H
#include "sim/state/exec.h"

/* `exact` as a device may compute it before it rounds; operands: their bits.  */
double sim_approximate(const SimRun *run, PtxOp op, PtxType t, uint64_t operands, double x,
                       double exact);
#endif
