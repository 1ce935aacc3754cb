/* tcgen05.commit, and what copies and products have in common.  */
#include "sim/async/async_target.h"
#include "sim/async/tmem.h"
#include "sim/timing/timing.h"

/* ---- operands ---- */

bool tmem_claim(SimLane by, uint64_t bits, const char *why, int n, uint32_t *at) {
    SimBlock *b = by.w->block;
    for (int c = 0; c < n && !why; c++) {
        at[c] -= b->smem_base;
        if ((uint64_t)at[c] + 16 > b->smem_bytes)
            why = "reaches outside the shared memory of the block";
        else if (!sim_shadow_read_async(by, b, at[c], 16)) return false;
    }
    if (!why) return true;
    sim_fault(by, SIM_DESCRIPTOR, "the descriptor 0x%016llx of %s %s", (unsigned long long)bits,
              sim_op_name(by.i->ptx->op), why);
    return false;
}

bool tmem_claim_peer(SimLane by, SimBlock *peer, int n, const uint32_t *at) {
    for (int c = 0; c < n; c++)
        if (!sim_shadow_read_async(by, peer, at[c], 16)) return false;
    return true;
}

bool tmem_leads(SimLane by) {
    const SimBlock *b = by.w->block;
    if (b->rank % 2 == 0 && tmem_peer(by.w->block)->n_live > 0) return true;
    sim_fault(by, SIM_TENSOR_MEMORY, b->rank % 2
              ? "block %d issues what its pair does, which the even one does"
              : "the peer of block %d has exited", b->rank);
    return false;
}

uint32_t tmem_address_of(SimLane by, int operand) {
    return (uint32_t)sim_address(by.w, &by.i->opnd[operand], by.lane);
}

uint64_t tmem_descriptor_of(SimLane by, int operand) {
    return sim_u64(by.w, by.i->opnd[operand].slot[0])[by.lane];
}

/* ---- commits ---- */

/* What the issuer had the unit do has ended.  */
static void arrive(TmemWork *k, SimBlock *own) {
    SimCluster *c = own->cluster;
    int entry = sim_reads_entry(k->by.w, true);
    for (int n = 0; n < c->n_block; n++) {
        SimBlock *b = &c->block[n];
        if (!(k->blocks >> n & 1)) continue;
        if (b != own && b->n_live == 0) {
            sim_fault(k->by, SIM_OUT_OF_BOUNDS,
                      "tcgen05.commit reaches block %d of the cluster after it has exited", n);
            return;
        }
        AsyncMbar *m = async_mbar_valid(k->by, b, k->mbar);
        if (!m) return;
        sim_timer_tell(k->ready, sim_clock_time(c, m->collect));
        /* Copies that had landed before what the unit has done.  */
        sim_release_copies(c, m->collect, sim_copies_entry(c));
        sim_release_copies(c, m->collect, sim_lane_copies_entry(c));
        sim_release_reads(c, m->collect, entry, 1u << k->by.lane, k->issued);
        if (!async_mbar_update(k->by, b, m, 1, 0)) return;
    }
}

static void exec_commit(SimWarp *w, const SimInst *i, uint32_t active) {
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        TmemWork *k = tmem_work(by);
        if (!tmem_group(by, *(const bool *)i->extra)) return;
        SimBlock *b = sim_shared(by, async_shared_at(w, &i->opnd[0], l), 8, 8, &k->mbar);
        if (!b) return;
        k->blocks = i->n_opnd > 1 ? (uint32_t)async_mask(by, &i->opnd[1]) : 1u << b->rank;
        if (!k->blocks) return;
        for (int n = 0; n < w->block->cluster->n_block; n++) {
            SimBlock *to = &w->block->cluster->block[n];
            if (!(k->blocks >> n & 1)) continue;
            if (to != w->block) sim_touch_remote(by, to);
            if (!async_mbar(by, to, k->mbar)) return;
        }
        k->run = arrive;
        k->ready = sim_timer_committed(w);
        tmem_issue(k);
    }
}

SimExec *sim_pick_tensor_commit(SimPick *k) {
    bool *pair = ARENA_NEW(k->arena, bool);
    if (!tmem_take_group(k, pair)) return NULL;
    k->i->extra = pair;
    if (!sim_take(k, MOD_ARRIVE_ONE) || sim_take_type(k) != PTX_B64)
        return sim_pick_fail(k, "needs .mbarrier::arrive::one and .b64");
    sim_take(k, MOD_SHARED_CLUSTER);
    bool multicast = sim_take(k, MOD_MULTICAST);
    return async_want(k, multicast ? "ai" : "a") ? exec_commit : NULL;
}
