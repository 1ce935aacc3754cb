/* Blocks of a launch that an SM holds at once.  */
#include "sim/timing/timing.h"

#include <math.h>

/* Registers of a thread.  Those of PTX are more than machine code takes, which keeps to the bounds
 * that the kernel declares, and to what a thread may have.  */
static int registers(const SimRun *r) {
    int n = r->kernel->registers, most_of_all = (int)r->dev->limits.registers_per_thread.value;
    int declared = (int)sim_launch_registers(r), wanted = r->kernel->func->maxnreg;
    if (r->launch->registers > 0) return r->launch->registers;
    if (declared > 0 && n > declared) n = declared;
    if (wanted > 0 && n > wanted) n = wanted;
    return n < most_of_all ? n : most_of_all;
}

double sim_resident(const SimRun *r) {
    int threads = (int)(r->ntid[0] * r->ntid[1] * r->ntid[2]);
    int n = hal_blocks_per_sm(r->dev, threads, registers(r), r->smem_bytes);
    return n > 1 ? n : 1;
}

int sim_together(const SimRun *r) {
    double blocks = (double)r->grid[0] * r->grid[1] * r->grid[2];
    double most = sim_resident(r), even = ceil(blocks / r->dev->limits.sm_count.value);
    double n = even < most ? even : most;
    return n < SIM_RESIDENT ? (int)n : SIM_RESIDENT;
}
