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

static double volume(const uint32_t n[3]) { return (double)n[0] * n[1] * n[2]; }

double sim_slots(const SimRun *r) {
    double cluster = volume(r->cluster), per_sm = sim_resident(r);
    double all = r->dev->limits.sm_count.value * per_sm;
    const Curve *c = &r->dev->limits.clusters_resident;
    if (cluster <= 1 || c->n == 0) return all;
    return fmax(fmin(all, floor(hal_curve(c, cluster)) * cluster * per_sm), cluster);
}

int64_t sim_place(const SimRun *r, int64_t cluster) {
    double slots = sim_slots(r), blocks = volume(r->grid), full = floor(blocks / slots) * slots;
    double rest = blocks - full, sms = r->dev->limits.sm_count.value;
    int64_t whole = (int64_t)(full / volume(r->cluster)), each = (int64_t)sim_resident(r);
    if (cluster < whole) return cluster / each;
    return whole + (cluster - whole) / (int64_t)ceil(rest / fmin(rest, sms));
}
