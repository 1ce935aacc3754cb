/* Libraries' kernels by our model: the board that was measured, and the tile of the kernel.  */
#ifndef ROLLER_BENCHMARKS_MEASURED_LIBRARY_H
#define ROLLER_BENCHMARKS_MEASURED_LIBRARY_H
#include "base/json.h"
#include "driver/pipeline/compile.h"
#include "measured_row.h"

/* The shipped profile of a board, with the clocks and the DRAM that are stated for it.  The share
 * of DRAM's nominal rate that can be reached is the profile's.  NULL: there is none.  */
Device *measured_device(Arena *a, Diag *d, const json_t *boards, const char *gpu);
/* The best estimate of the library's tile over all ways to arrange its operands, and the time by
 * the worst (worst: may be NULL).  False: no such plan of ours can be; *why says it where it is
 * known.  */
bool measured_library(Arena *a, const Device *dev, const PlanSet *set, const MeasuredTile *t,
                      Estimate *out, double *worst, const char **why);
#endif
