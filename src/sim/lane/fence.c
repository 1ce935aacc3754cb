/* membar and fence.  Memory of the simulator is sequentially consistent among the threads of a
 * cluster, so a fence moves no data; it is a point where others may run.  */
#include "sim/lane/pick.h"

static void exec_fence(SimWarp *w, const SimInst *i, uint32_t active) {
    (void)w;
    (void)i;
    (void)active;
}

SimExec *sim_pick_fence(SimPick *k) {
    sim_take_order(k);
    sim_take(k, MOD_GL);
    sim_take(k, MOD_SYNC_RESTRICT_CTA);
    sim_take(k, MOD_SYNC_RESTRICT_CLUSTER);
    return exec_fence;
}
