/* The grid of a `contract` program in waves, for the files of microperf.  */
#ifndef ROLLER_MICROPERF_PHASES_H
#define ROLLER_MICROPERF_PHASES_H
#include "microperf/model.h"

/* Blocks that run at the same time: `resident` on each of `active` SMs, `times` in a row, of so
 * many k-steps, in which they begin `parts` tiles and store `bytes`.  */
typedef struct {
    double times, resident, active, steps, partials, bytes;
} Phase;
enum { PHASES = 4 };
typedef struct {
    Phase at[PHASES];
    int n;
} Phases;

/* Bytes of partial sums.  */
double mp_sum_bytes(const Problem *p, const RProg *r);
/* Tiles that a block goes through: one unless it stays; else the mean.  */
double mp_tiles_of_block(const Model *m, const RProg *r);
/* SMs that clusters fill, as many as every board of the name holds: what is gained by more blocks
 * at a time is gained on each.  */
double mp_filled_sms(const Model *m, const RProg *r);
/* The blocks of the grid in the order in which they run; those of the tail behind the rest.  */
void mp_grid_phases(const Model *m, const RProg *r, double store_bytes, Phases *phases);
/* clock.c: what the SMs may have while the unit works as the estimate says.  */
double mp_allowed_clock(const Model *m, const ComputeUnit *u, const Estimate *e);
#endif
