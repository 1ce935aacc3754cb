/* Units of work of a launch: clusters, and what they leave behind.  */
#ifndef ROLLER_SIM_LAUNCH_LAUNCH_H
#define ROLLER_SIM_LAUNCH_LAUNCH_H
#include "sim/timing/timing.h"
#include "sim/state/writes.h"

typedef struct {
    SimRun *run;
    int64_t cluster;          /* linear number in the grid of clusters */
    bool cancelled;           /* another one has taken its place */
    SimSm *sm;                /* of each of its blocks; NULL unless the launch is timed */
    SimFault *fault;
    int n_fault, n_block;
    uint64_t faults;
    SimWrites **writes;       /* per block; NULL without race detection */
    const char *printed;      /* by its blocks, in their order */
    size_t n_printed;
    SimBlockCounters *count;  /* per block; NULL: not asked for */
} SimTask;
/* All of a launch, in ascending order.  */
typedef struct {
    SimTask *task;
    int64_t n;
} SimTasks;

/* Where the variables of a module are on a device.  */
typedef struct SimLoaded {
    const PtxModule *ptx;
    uint64_t hash, global_base, const_base;               /* 0: the module has none */
    struct SimLoaded *next;
} SimLoaded;
/* Puts them there, with their first values, if they are not.  Unwinds the device's arena without
 * memory.  */
const SimLoaded *sim_load_variables(SimGpu *g, const PtxModule *m);

/* Makes a cluster's state on `scratch`; what outlives it goes to `results`.  */
SimCluster *sim_cluster_begin(SimTask *u, Arena *scratch, Arena *results);
/* Adds to *total, and to the sums of timing.h unless `work` is NULL.  */
void sim_cluster_end(SimTask *u, SimCluster *c, SimCounters *total, SimSlices *work,
                     Arena *results);

/* Runs all tasks on up to `threads` host threads (communicating ones on one).  The arenas of the
 * workers are created on `a` and hold the results until `a` is reset.  */
Status sim_run_tasks(Arena *a, Diag *d, const SimTasks *all, const SimRun *run, SimCounters *total,
                     SimSlices *work);
#endif
