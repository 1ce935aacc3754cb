/* elect, setmaxnreg, griddepcontrol, and the fences between proxies.  */
#include "sim/async/async.h"
#include "sim/timing/timing.h"
#include <stdatomic.h>

/* griddepcontrol.wait: launches before have ended, which others know that come behind this.  */
static void exec_wait_launch(SimWarp *w, const SimInst *i, uint32_t active) {
    (void)i;
    SimBlock *b = w->block;
    if (!w->waited) w->waited = ++b->cluster->time;
    w->waited_lanes |= active;
    if (!b->waited) atomic_fetch_add(&b->cluster->run->waited, 1);
    b->waited = true;
}

static void exec_nothing(SimWarp *w, const SimInst *i, uint32_t active) {
    (void)w, (void)i, (void)active;
}

static void exec_elect(SimWarp *w, const SimInst *i, uint32_t active) {
    const SimOpnd *pair = &i->opnd[0];
    uint32_t members = sim_u32(w, i->opnd[1].slot[0])[sim_first_lane(active)];
    if (active & ~members) {
        sim_fault(sim_lane(w, i, sim_first_lane(active & ~members)), SIM_DIVERGENT,
                  "elect.sync by a thread outside its member mask 0x%x", members);
        return;
    }
    uint32_t leader = (uint32_t)sim_first_lane(members);
    if (pair->slot[0] != SLOT_NONE) {
        uint32_t *d = sim_u32(w, pair->slot[0]);
        SIM_EACH(l, active) d[l] = leader;
    }
    sim_set_pred(w, pair->slot[1], active, 1u << leader);
}

uint32_t sim_launch_registers(const SimRun *run) {
    const PtxFunc *f = run->kernel->func;
    const int *bound = f->reqntid[0] ? f->reqntid : f->maxntid;
    if (bound[0] == 0) return 0;
    uint32_t threads = 1;
    for (int d = 0; d < 3; d++) threads *= bound[d] ? (uint32_t)bound[d] : 1;
    uint32_t blocks = f->minnctapersm ? (uint32_t)f->minnctapersm : 1;
    uint32_t n = (uint32_t)run->dev->limits.registers_per_sm.value / (threads * blocks) / 8 * 8;
    return n > 256 ? 256 : n;
}

/* setmaxnreg: registers move between the warps and a pool of the block; taking more than the pool
 * holds waits for others to give.  flags 1: .inc.  */
static void exec_setmaxnreg(SimWarp *w, const SimInst *i, uint32_t active) {
    AsyncBlock *s = async_block(w->block);
    AsyncWarp *a = async_warp(w);
    uint32_t want = *sim_u32(w, i->opnd[0].slot[0]);
    uint32_t now = a->registers ? a->registers : sim_launch_registers(w->block->cluster->run);
    if (active != FULL_WARP) {
        sim_fault(sim_lane(w, i, sim_first_lane(active)), SIM_DIVERGENT,
                  "setmaxnreg by a part of the warp");
        return;
    }
    if (now == 0) return;
    if (!i->flags && want > now) {
        sim_fault(sim_lane(w, i, 0), SIM_LIMIT, "setmaxnreg.dec to %u from %u registers", want,
                  now);
        return;
    }
    if (i->flags && want <= now) return;
    if (i->flags && want - now > s->free_registers) {
        sim_retry(w);
        return;
    }
    s->free_registers += now - want;
    a->registers = want;
    if (!i->flags) sim_event(w->block->cluster);
}

SimExec *sim_pick_launch(SimPick *k) {
    switch (k->p->op) {
    case OP_ELECT: {
        const SimOpnd *pair = &k->i->opnd[0];
        if (pair->kind != OPND_PAIR || pair->n != 2) return sim_pick_fail(k, "needs d|p");
        const PtxOpnd *d = &k->p->opnd[0].elem[0], *p = &k->p->opnd[0].elem[1];
        const PtxReg *reg = k->func->reg;
        bool fits = (d->kind == OPND_NONE || sim_type_bits(reg[d->reg].type) == 32) &&
                    p->kind == OPND_REG && reg[p->reg].type == PTX_PRED && sim_want_bits(k, 1, 32);
        return fits ? exec_elect : sim_pick_fail(k, "has a wrong operand");
    }
    case OP_SETMAXNREG: {
        bool inc = sim_take(k, MOD_INC), dec = sim_take(k, MOD_DEC);
        const PtxOpnd *o = &k->p->opnd[0];
        if (inc == dec || !sim_take(k, MOD_SYNC) || !sim_take(k, MOD_ALIGNED) ||
            sim_take_type(k) != PTX_U32) {
            return sim_pick_fail(k, "needs .inc or .dec, .sync.aligned and .u32");
        }
        if (o->kind != OPND_INT || o->offset < 24 || o->offset > 256 || o->offset % 8) {
            return sim_pick_fail(k, "needs a multiple of 8 from 24 to 256");
        }
        k->i->flags = inc;
        return exec_setmaxnreg;
    }
    default:
        if (k->p->op != OP_GRIDDEP) return exec_nothing;
        return sim_take(k, MOD_WAIT) ? exec_wait_launch : sim_pick_fail(k, "needs .wait");
    }
}

/* The initialisations of mbarriers that a lane comes after become visible to the async proxy.  */
static void fence_mbarriers(SimWarp *w, uint32_t lanes) {
    SimCluster *c = w->block->cluster;
    for (int b = 0; b < c->n_block; b++) {
        AsyncBlock *s = async_block(&c->block[b]);
        for (size_t m = 0; m < s->n_mbar; m++) {
            AsyncMbar *bar = &s->mbar[m];
            SIM_EACH(l, bar->fenced ? 0 : lanes) bar->fenced |= async_mbar_known(w, l, bar);
        }
    }
}

static void exec_fence_async(SimWarp *w, const SimInst *i, uint32_t active) {
    (void)i;
    sim_release(w, active, w->block->cluster->proxy_clock);
    fence_mbarriers(w, active);
}

static void exec_fence_mbarrier(SimWarp *w, const SimInst *i, uint32_t active) {
    (void)i;
    fence_mbarriers(w, active);
}

static void exec_fence_map(SimWarp *w, const SimInst *i, uint32_t active) {
    for (uint32_t rest = active; rest;) {
        uint64_t at = sim_address(w, &i->opnd[0], sim_first_lane(rest));
        uint32_t same = 0;
        SIM_EACH(l, rest) {
            if (sim_address(w, &i->opnd[0], l) == at) same |= 1u << l;
        }
        async_map_fence(w, same, at);
        rest &= ~same;
    }
}

SimExec *sim_pick_proxy(SimPick *k) {
    SimOrder order = sim_take_order(k);
    if (k->p->op == OP_FENCE_MBAR) {
        if (order.order != MOD_RELEASE || order.scope != MOD_CLUSTER) {
            return sim_pick_fail(k, "needs .release.cluster");
        }
        return exec_fence_mbarrier;
    }
    /* Only .async fences order shared memory; the others are about constants and tensor maps.  */
    bool async = sim_take(k, MOD_ASYNC), global = sim_take(k, MOD_GLOBAL);
    async = sim_take(k, MOD_GENERIC_ASYNC) || sim_take(k, MOD_ASYNC_GENERIC) || async;
    if (sim_take(k, MOD_SHARED_CTA) || sim_take(k, MOD_SHARED_CLUSTER) ||
        sim_take(k, MOD_SYNC_RESTRICT_CTA) || sim_take(k, MOD_SYNC_RESTRICT_CLUSTER)) {
        async = true;
    }
    bool map = sim_take(k, MOD_TENSORMAP_GENERIC), other = sim_take(k, MOD_ALIAS) || map;
    if (!async && !other) return sim_pick_fail(k, "is no known proxy");
    if (map && order.order == MOD_ACQUIRE) {
        bool fits = k->p->n_opnd == 2 && k->p->opnd[0].kind == OPND_ADDRESS;
        return fits ? exec_fence_map : sim_pick_fail(k, "needs an address and a size");
    }
    return async && !global ? exec_fence_async : exec_nothing;
}
