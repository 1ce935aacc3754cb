/* Subwarps, joins, quanta and the scheduler of a cluster.  */
#ifndef ROLLER_SIM_LANE_WARP_H
#define ROLLER_SIM_LANE_WARP_H
#include "sim/state/exec.h"

enum { SIM_QUANTUM = 256 };   /* most instructions of one subwarp before others run */

/* Sets up the block's warps: registers, lanes, the first subwarp.  */
void sim_warps_begin(SimBlock *b);
enum { SIM_STACK_MOST = 512 << 10 };  /* bytes of a thread */
/* The local memory of a warp: its frames of fixed place, and its stack.  */
void sim_stack_begin(SimWarp *w, const SimKernel *k);
/* Is there room for so many more bytes in the stacks of `lanes`?  Else a fault.  */
bool sim_stack_room(SimWarp *w, const SimInst *i, uint32_t lanes, uint32_t bytes);
/* Runs subwarp s of the warp for one quantum.  */
void sim_quantum(SimWarp *w, int s);
/* The running subwarp goes two ways: `taken` lanes to `target`, the others on; they meet at
 * `join`.  */
void sim_diverge(SimWarp *w, uint32_t taken, uint32_t target, uint32_t join);
/* Several ways at once: lane l goes to target[l].  */
void sim_scatter(SimWarp *w, uint32_t lanes, const uint32_t target[LANES], uint32_t join);
/* The running subwarp enters a region that ends at the join instruction `pc`.  */
void sim_enter(SimWarp *w, uint32_t pc);
/* Lanes of the running subwarp end.  */
void sim_lanes_exit(SimWarp *w, uint32_t lanes);
/* Parks the running subwarp at a barrier: it goes on after this instruction when released.  */
void sim_park(SimWarp *w, int barrier);
/* Subwarps that wait at a barrier of the block become ready.  */
void sim_wake_barrier(SimBlock *b, int barrier);

/* Lanes that have waited at a join for so many rounds go on without the others, who may be waiting
 * for them.  Whether there are any.  */
bool sim_release_joins(SimWarp *w, int rounds);

/* Up to when warps of clusters that share SMs run in the next round: those that are not much later
 * than the first one, so that pipes serve instructions in the order of time.  The least of `until`
 * and what the cluster says; UINT32_MAX: none of its warps can run, or the launch is not timed.  */
uint32_t sim_cluster_until(SimCluster *c, uint32_t until);
/* Runs a quantum of every warp that can run and is not later.  True when all threads of the cluster
 * have ended, or it stopped.  */
bool sim_cluster_run(SimCluster *c, uint32_t until);
#endif
