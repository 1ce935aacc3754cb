/* The product of a `contract` program with one end or another, for the files of microperf.  */
#ifndef ROLLER_MICROPERF_ENDING_H
#define ROLLER_MICROPERF_ENDING_H
#include "microperf/model.h"

/* How results leave a block: those of a product, as a program of its own, with its counts.
 */
typedef struct {
    const Model *m;
    const RProg *r;
    const StepCounts *counts;
} Leaving;

/* Clocks of a block for results that pass through shared memory, of which `smem` are accesses.  */
double mp_through_clocks(const Leaving *x, double *smem);
/* Of what L2 takes for results, the clocks during which those of boxes behind are made.  */
double mp_beside_clocks(const Leaving *x, double made, double sent);

/* Instructions for each element that is stored: its place, a conversion.  */
enum { MP_STORED = 4 };

/* What a kernel does behind its k-steps: bytes that it reads and writes, 32-byte sectors of the
 * latter; elements of a block that it makes there (0: its results), operations for each, those that
 * store it among them, functions and divisions; of rows: instructions of a block, and clocks that
 * it waits for meetings of threads.  Where results of the k-steps are an operand of another
 * product: bytes of the other one, which a block loads once; clocks of the unit and wavefronts
 * of shared memory of a block; how its results leave (no program: the results of the k-steps do);
 * does a block that stays copy the second operand of the k-steps once?  The share of tiles of which
 * no results leave.  */
typedef struct {
    double reads, writes, sectors, elements, ops, functions, meeting, wait;
    bool rows, kept;
    double stays;
    double loads, unit, wavefronts;
    Leaving leaving;
} Ending;

/* One kernel with all its k-steps; SPLIT is what adds its slices.  */
void mp_estimate_product(const Model *m, const RProg *r, CountMemo *memo, const Ending *e,
                         Estimate *out);
/* All kernels of a program with statements over rows of its results.  */
void mp_estimate_stats(const Model *m, const RProg *r, CountMemo *memo, Estimate *out);
#endif
