/* Sectors of global memory, for the files of microperf that count.  */
#ifndef ROLLER_MICROPERF_SECTORS_H
#define ROLLER_MICROPERF_SECTORS_H
#include "microperf/model.h"

/* Sectors of n accesses of `width` bytes, `step` bytes apart: the mean over starts at multiples of
 * `grain`, modulo a sector.  */
double mp_mean_sectors(int64_t n, int64_t step, int64_t width, int64_t grain);
/* The largest power of two that divides so many bytes, a sector at most.  */
static inline int64_t mp_grain(int64_t bytes) {
    int64_t low = bytes & -bytes;
    return low == 0 || low > SECTOR ? SECTOR : low;
}
/* Sectors, in bytes, of stores of `bytes` in all by runs of `lanes` neighbours, `width` bytes each,
 * in rows of `row` bytes.  */
double mp_sent(double bytes, double lanes, double width, double row);
static inline int mp_own_axis(int side) { return side ? AX_N : AX_M; }
/* Passes through L1 of one request of a warp: accesses at these bytes, n of them.  */
int64_t mp_passes(const int64_t *place, int64_t n, int64_t access);
/* What moves one stage of an operand's tile: sectors; warp requests of its loads; their passes
 * through L1.  */
typedef struct {
    double sectors;
    int64_t requests, passes;
} StageTraffic;
/* Passes of stages by all that they depend on, those that were counted last: strides count modulo
 * the banks, so few sizes differ.  */
enum { PASSES_KEPT = 128 };
typedef struct {
    int64_t line, chunks, width, step, access, line_step, passes;     /* chunks 0: free */
} PassEntry;
typedef struct {
    PassEntry entry[PASSES_KEPT];
} StagePasses;
StageTraffic mp_stage_traffic(const Model *m, const RProg *r, int side, StagePasses *kept);
/* team.c: the same of an operand that threads copy to a ring.  */
OperandCounts mp_team_counts(const Model *m, const RProg *r, int side, StagePasses *kept);
/* Sectors of storing all outputs, or sums, once: `per` bytes each, `run` of them in a row that lie
 * `apart` elements from one another in memory.  */
double mp_output_sectors(const Model *m, const RProg *r, double per, int64_t run, int64_t apart);
#endif
