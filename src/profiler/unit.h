/* Compute units: kernels that repeat one instruction, measured in rate, saturation and latency.
 *
 * A kernel of a unit keeps independent accumulators in every thread (or warp, or warpgroup) and is
 * compiled twice: with many of them for the rate, with one for the latency.  Its symbol is `unit`
 * and its parameters are
 *     (const unsigned *in, unsigned *out, unsigned long long *clocks, int n, unsigned never):
 * n iterations over operands read from `in`, a result that is stored only where it equals `never`,
 * which no compiler can know.  All warps have their operands before one of them begins, since one
 * that began sooner would work beside the others' loads.  Thread 0 of block 0 adds the clocks of
 * the loop to clocks[0] and its nanoseconds to clocks[1].  Internal to src/profiler.  */
#ifndef ROLLER_PROFILER_UNIT_H
#define ROLLER_PROFILER_UNIT_H
#include "profiler/bench.h"

typedef struct UnitKernel {
    const char *rate_source, *latency_source;
    const char *const *rate_macros, *const *latency_macros;    /* NULL-terminated, or NULL */
    int rate_steps, latency_steps;        /* instructions of one warp (warpgroup) per iteration */
    int copies;                           /* of the row's operation in one instruction */
    const Figure *latency_less;           /* clk of what else each of the latter waits for */
    int warps;                            /* that execute one instruction together: 1 or 4 */
    int most_warps;                       /* of a block; the curve ends there */
    int cluster;                          /* blocks that execute it together; 0: one */
    int64_t smem, smem_per_part;          /* dynamic: of a block, and for each 4 of its warps */
    int columns;                          /* of the result of one instruction; 0: the row's n */
    const struct UnitKernel *narrower;    /* the same with fewer, in ascending order */
    int n_narrower;
} UnitKernel;

/* Text that opens every kernel of a unit: bits() of a result, begin and end of the timed part.  */
extern const char unit_prelude[];

/* Four scales of 1, of the unit's type.  */
const char *unit_ones(const ComputeUnit *u);

/* Of each unit, by its kernel: replaces rate, latency and the curve over warps; in a full profile
 * also that over n and, by the first unit of a family, its share under load and, where it
 * multiplies, the clock over the time for which it is busy.  */
Status unit_measure(Bench *b, Device *dev, ComputeUnit *const *unit, const UnitKernel *k,
                    int n);
#endif
