#include "sim/async/async_target.h"
#include "sim/async/tmem.h"

/* The mbarrier must be there, ordered before this thread, and its initialisation visible to the
 * asynchronous proxy.  */
static bool check_mbar(SimLane by, SimBlock *b, uint32_t offset) {
    AsyncMbar *m = async_mbar(by, b, offset);
    if (!m) return false;
    if (m->fenced) return true;
    m->fenced = true;
    return sim_warn(
        by, SIM_PROXY_FENCE,
        "no fence.mbarrier_init or fence.proxy.async between the initialisation of the mbarrier "
        "at 0x%x and its use by an asynchronous copy",
        b->smem_base + offset);
}

bool async_target(SimLane by, const SimOpnd *to, const SimOpnd *mbar, uint32_t bytes,
                  uint32_t align, AsyncTarget *t) {
    t->bytes = bytes;
    t->block = sim_shared(by, async_shared_at(by.w, to, by.lane), bytes, align, &t->offset);
    if (!t->block) return false;
    t->mbar_block = sim_shared(by, async_shared_at(by.w, mbar, by.lane), 8, 8, &t->mbar);
    if (!t->mbar_block) return false;
    int apart = t->block->rank ^ t->mbar_block->rank;     /* 1: in both blocks of a pair */
    if (apart <= (int)t->pair) return true;
    sim_fault(by, SIM_MBARRIER, "destination and mbarrier are in different %s (%d and %d)",
              t->pair ? "pairs of blocks" : "blocks of the cluster", t->block->rank,
              t->mbar_block->rank);
    return false;
}

bool async_aim(AsyncOp *op, const AsyncTarget *t, int rank) {
    SimBlock *to = &op->by.w->block->cluster->block[rank];
    SimBlock *b = t->mbar_block == t->block ? to : tmem_peer(to);
    if (b != to && b != op->by.w->block) sim_touch_remote(op->by, b);
    if (!check_mbar(op->by, b, t->mbar)) {
        async_drop(op);
        return false;
    }
    AsyncMbar *m = async_mbar_find(b, t->mbar);
    m->loading = m->phase + 1;
    m->load = op->by.i;
    m->loader = op->by.w;
    op->block = to;
    op->mbar_block = b;
    op->tell = TELL_MBARRIER;
    op->mbar = t->mbar;
    op->tx_bytes = t->bytes;
    return true;
}

uint64_t async_mask(SimLane by, const SimOpnd *o) {
    uint32_t mask = sim_u32(by.w, o->slot[0])[by.lane] & 0xffff;
    int n = by.w->block->cluster->n_block;
    if (mask && mask >> n == 0) return mask;
    sim_fault(by, SIM_OUT_OF_BOUNDS,
              "the multicast mask 0x%x names no block or one that a cluster of %d does not have",
              mask, n);
    return 0;
}

bool async_global_target(SimLane by, uint64_t at, uint32_t bytes, const AsyncReduce *reduce) {
    return sim_global(by, at, bytes, 16, reduce->type == PTX_NONE) != NULL;
}

bool async_to_global(const PtxInst *p) {
    for (int i = 0; i < p->n_order; i++) {
        if (p->order[i] == MOD_GLOBAL) return true;
        if (p->order[i] == MOD_SHARED_CTA || p->order[i] == MOD_SHARED_CLUSTER) return false;
    }
    return false;
}

void async_join_bulk_group(AsyncOp *op) {
    AsyncWarp *a = async_warp(op->by.w);
    op->tell = TELL_BULK_GROUP;
    op->group[op->by.lane] = a->bulk_group[op->by.lane];
    a->bulk_stored[op->by.lane] = a->bulk_group[op->by.lane] + 1;
    a->bulk_store = op->by.i;
}
