/* Matrix units, for the files of microperf.  */
#ifndef ROLLER_MICROPERF_MATRIX_H
#define ROLLER_MICROPERF_MATRIX_H
#include "microperf/step.h"

/* Accumulators of a lane (of any unit).  */
double mp_lane_sums(const Model *m, const RProg *r);
/* Instructions that convert an element of a byte, four being done at once; 0: they are not.  */
double mp_widened(const Device *dev, TeDtype from, TeDtype to);
/* FLOP of one instruction of the unit.  */
double mp_product_flops(const Model *m, const RProg *r);
/* Instructions of the unit that one warp executes for one group of fragments; those that convert
 * its bytes; these and what else such a group takes: splitting elements in two (two instructions
 * each), adding the partial sums of a step.  */
double mp_matrix_products(const Model *m, const RProg *r);
double mp_matrix_widening(const Model *m, const RProg *r);
double mp_matrix_extra(const Model *m, const RProg *r);
/* Units of warpgroups: counts of an operand's copies, a k-step, the clocks for which the unit is
 * busy with one of a block at a rate in FLOP per clock, and the plan in words.  */
OperandCounts mp_ring_counts(const Model *m, const RProg *r, int side);
enum { MP_WAVEFRONT = 128 };              /* bytes */
/* team.c: of operands that threads copy to the ring: what their warps issue in a step, and clocks
 * for which one of them is busy.  */
double mp_team_issue(const Model *m, const RProg *r, const StepCounts *c);
double mp_team_clocks(const Model *m, const RProg *r, const StepCounts *c);
/* Bytes that L2 could store in the time of so many outputs, which may leave by boxes.  */
double mp_boxes_sectors(double sectors, int row);         /* of rows of so many bytes */
double mp_boxes_asked(const Model *m, const RProg *r, double bytes);
Step mp_ring_step(const Model *m, const RProg *r, const StepCounts *c);
double mp_ring_clocks(const Model *m, const RProg *r, double rate);
/* The least that a step takes whose registers are made; 0: none are.  */
double mp_made_clocks(const Model *m, const RProg *r, const Step *s);
/* ... by the lane that copies columns of pixels.  */
double mp_copying_clocks(const Model *m, const RProg *r, const Step *s);
/* Instructions of a lane that multiply scales of rows and columns in a step, for its sums.  */
double mp_scaled_sums(const Model *m, const RProg *r);
double mp_joining_clocks(const Model *m, const RProg *r, double rate);    /* 0: sums join none */
/* From the last product of a tile until other sums may take the place of its own; 0: they lie in
 * registers.  */
double mp_sums_clocks(const Model *m, const RProg *r);
/* Loads and stores of so many columns of Tensor Memory by four warps.  */
double mp_moved_clocks(const Model *m, double loaded, double stored);
void mp_ring_explain(const Model *m, const RProg *r, const StepCounts *c, Buf *out);
/* Why this warp tile.  */
void mp_fragments_explain(const Model *m, const RProg *r, const StepCounts *c, Buf *out);
#endif
