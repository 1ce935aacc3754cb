/* Special registers.  */
#include "sim/lane/alu.h"
#include "sim/lane/code.h"
#include "sim/state/memory_state.h"
#include "sim/timing/timing.h"

static uint32_t thread_component(const SimRun *r, uint32_t t, int k) {
    if (k == 0) return t % r->ntid[0];
    if (k == 1) return t / r->ntid[0] % r->ntid[1];
    return t / r->ntid[0] / r->ntid[1];
}

static uint32_t mask_of(PtxSreg s, int lane) {
    uint32_t bit = 1u << lane, below = bit - 1;
    switch (s) {
    case SREG_LANEMASK_EQ: return bit;
    case SREG_LANEMASK_LE: return bit | below;
    case SREG_LANEMASK_LT: return below;
    case SREG_LANEMASK_GE: return ~below;
    default: return ~(bit | below);
    }
}

/* Clocks of a timed launch tell the time since the block's begin; others count executed
 * instructions: they rise, and that is all they promise.  */
static uint64_t clock_of(const SimWarp *w, PtxSreg s) {
    bool ns = s >= SREG_GLOBALTIMER && s <= SREG_GLOBALTIMER_HI;
    if (!w->timer) return w->block->executed;
    double clk = (double)w->now / SIM_TICKS;
    if (ns || s == SREG_CLOCK || s == SREG_CLOCK_HI || s == SREG_CLOCK64) sim_timer_fence(w);
    return (uint64_t)(ns ? clk / hal_clock_hz(w->block->cluster->run->dev) * 1e9 : clk);
}

/* Registers that are the same for all lanes, as 64 bits.  */
static uint64_t uniform(const SimWarp *w, PtxSreg s) {
    const SimBlock *b = w->block;
    const SimCluster *c = b->cluster;
    const SimRun *r = c->run;
    uint32_t rank = (uint32_t)b->rank, n = r->cluster[0] * r->cluster[1] * r->cluster[2];
    uint64_t clock = clock_of(w, s);
    switch (s) {
    case SREG_NTID_X:
    case SREG_NTID_Y:
    case SREG_NTID_Z: return r->ntid[s - SREG_NTID_X];
    case SREG_CTAID_X:
    case SREG_CTAID_Y:
    case SREG_CTAID_Z: return b->ctaid[s - SREG_CTAID_X];
    case SREG_NCTAID_X:
    case SREG_NCTAID_Y:
    case SREG_NCTAID_Z: return r->grid[s - SREG_NCTAID_X];
    case SREG_WARPID: return (uint64_t)w->id;
    case SREG_NWARPID: return (uint64_t)r->dev->limits.threads_per_sm.value / LANES;
    case SREG_SMID: return (uint64_t)b->linear % (uint64_t)r->dev->limits.sm_count.value;
    case SREG_NSMID: return (uint64_t)r->dev->limits.sm_count.value;
    case SREG_CLOCK:
    case SREG_CLOCK64:
    case SREG_GLOBALTIMER:
    case SREG_GLOBALTIMER_LO: return clock;
    case SREG_CLOCK_HI:
    case SREG_GLOBALTIMER_HI: return clock >> 32;
    case SREG_CLUSTERID_X:
    case SREG_CLUSTERID_Y:
    case SREG_CLUSTERID_Z: return c->ctaid[s - SREG_CLUSTERID_X];
    case SREG_NCLUSTERID_X:
    case SREG_NCLUSTERID_Y:
    case SREG_NCLUSTERID_Z:
        return r->grid[s - SREG_NCLUSTERID_X] / r->cluster[s - SREG_NCLUSTERID_X];
    case SREG_CLUSTER_CTAID_X: return rank % r->cluster[0];
    case SREG_CLUSTER_CTAID_Y: return rank / r->cluster[0] % r->cluster[1];
    case SREG_CLUSTER_CTAID_Z: return rank / r->cluster[0] / r->cluster[1];
    case SREG_CLUSTER_NCTAID_X:
    case SREG_CLUSTER_NCTAID_Y:
    case SREG_CLUSTER_NCTAID_Z: return r->cluster[s - SREG_CLUSTER_NCTAID_X];
    case SREG_CLUSTER_CTARANK: return rank;
    case SREG_CLUSTER_NCTARANK: return n;
    case SREG_IS_EXPLICIT_CLUSTER: return r->kernel->func->explicit_cluster || n > 1;
    case SREG_DYNAMIC_SMEM: return r->launch->dynamic_smem;
    case SREG_TOTAL_SMEM: return b->smem_bytes;
    case SREG_AGGR_SMEM: return b->smem_base + b->smem_bytes;
    case SREG_RESERVED_SMEM_END:
    case SREG_RESERVED_SMEM_CAP: return b->smem_base;
    default: return 0;
    }
}

static uint64_t lane_value(const SimWarp *w, PtxSreg s, int lane, uint64_t same) {
    const SimRun *r = w->block->cluster->run;
    if (s <= SREG_TID_Z) {
        return thread_component(r, (uint32_t)(w->id * LANES + lane), (int)s - SREG_TID_X);
    }
    if (s == SREG_LANEID) return (uint64_t)lane;
    if (s >= SREG_LANEMASK_EQ && s <= SREG_LANEMASK_GT) return mask_of(s, lane);
    return same;
}

void sim_exec_sreg32(SimWarp *w, const SimInst *i, uint32_t active) {
    PtxSreg s = (PtxSreg)i->arg;
    uint64_t same = uniform(w, s);
    if (s == SREG_IS_EXPLICIT_CLUSTER) {
        sim_set_pred(w, i->d, active, same ? FULL_WARP : 0);
        return;
    }
    uint32_t *d = sim_u32(w, i->d);
    SIM_EACH(l, active) d[l] = (uint32_t)lane_value(w, s, l, same);
}

void sim_exec_sreg64(SimWarp *w, const SimInst *i, uint32_t active) {
    PtxSreg s = (PtxSreg)i->arg;
    uint64_t same = uniform(w, s), *d = sim_u64(w, i->d);
    SIM_EACH(l, active) d[l] = lane_value(w, s, l, same);
}

void sim_exec_read_sreg(SimWarp *w, const SimInst *i, uint32_t active) {
    sim_exec_sreg32(w, i, active);
}
