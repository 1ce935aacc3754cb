/* The closed loop of the profiler: simulated GPUs whose constants no shipped profile has, and the
 * comparison of what a measurement finds with what the simulator was told.
 *
 * A table (closed_loop.c) says of each figure that a profile can hold which row of the profiler
 * finds it again, or why none does.  A figure that the table does not know is a failure, and so is
 * one that its row finds on no GPU: a new field is compared, or named with a reason.  */
#ifndef CLOSED_LOOP_H
#define CLOSED_LOOP_H
#include "profiler/profiler.h"

/* The second is the odd one: 7 SMs of 2 parts, an L2 port of 48 bytes per clock, 16 banks of 8.
 * The last two are there for what only sm_90 and sm_100 have.  */
enum { LOOP_AMPERE, LOOP_ODD, LOOP_ADA, LOOP_HOPPER, LOOP_BLACKWELL, LOOP_GPUS };
typedef struct {
    const char *base, *gpu;
    double sms, parts, issue, mhz, sustained;
    double read, write, copy, dram_latency;
    double l2, effective, line, l2_read, l2_write, port, l2_latency;
    double banks, width, smem_latency;
    double stream, graph, floor, start;
    double scale;             /* of the rates of units and movers */
    double mbarrier, cluster, same, distinct, dsmem_latency;
} LoopGpu;
extern const LoopGpu loop_gpu[LOOP_GPUS];

/* What is measured together: the rows of memory and launches want an L2 that is soon full, those of
 * units and movers one that holds all they touch.  Every row is in one of the two.  */
#define LOOP_MEMORY_ROWS "clock,launch,latency,dram,granularity,l2,smem"
#define LOOP_UNIT_ROWS   "clock,issue,simt,mma,wgmma,tcgen05,movers,tma,barriers,atomics,clusters"

/* GPU `i` for either; ends the test on failure.  */
Device *loop_device(Arena *a, Diag *d, int i, bool units);
/* The profile that a measurement starts from, with the units and movers of `want`.  */
Device *loop_base(Arena *a, Diag *d, const Device *want);
/* Opens the simulated driver with these GPUs, in this order.  */
void loop_open(Arena *a, Diag *d, Device *const *gpu, int n, Cuda **out);
/* Compares what `rows` (as in ProfilerOptions.only) measured; prints and counts what is wrong.  */
int loop_compare(Arena *a, const Device *got, const Device *want, const char *rows);
/* Of the rules of `rows`, those by which nothing was compared so far; prints and counts them.  */
int loop_left_out(const char *rows);
#endif
