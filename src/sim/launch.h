/* Units of work of a launch: clusters, and what they leave behind.  */
#ifndef ROLLER_SIM_LAUNCH_H
#define ROLLER_SIM_LAUNCH_H
#include "sim/writes.h"

typedef struct {
    SimRun *run;
    int64_t cluster;          /* linear number in the grid of clusters */
    SimFault *fault;
    int n_fault, n_block;
    uint64_t faults;
    SimWrites **writes;       /* per block; NULL without race detection */
} SimUnit;

/* Makes a cluster's state on `scratch`; what outlives it goes to `results`.  */
SimCluster *sim_cluster_begin(SimUnit *u, Arena *scratch, Arena *results);
void sim_cluster_end(SimUnit *u, SimCluster *c, SimCounters *total, Arena *results);

/* Runs all units on up to `threads` host threads (communicating ones on one).  The arenas of the workers
 * are created on `a` and hold the results until `a` is reset.  */
Status sim_run_units(Arena *a, Diag *d, SimUnit *unit, int64_t n, const SimRun *run,
                     SimCounters *total);
#endif
