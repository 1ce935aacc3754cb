#include "sim/async/async.h"

/* The state that an arrival returns: the phase it belongs to and the arrivals pending before it. */
static uint64_t state_token(const AsyncMbar *m) {
    return (uint64_t)m->phase << 32 | m->pending;
}

/* The block and the mbarrier of a lane's address operand; NULL after a fault.  */
static AsyncMbar *find(SimLane by, const SimOpnd *o, SimBlock **b) {
    uint32_t offset;
    *b = sim_shared(by, async_shared_at(by.w, o, by.lane), 8, 8, &offset);
    if (!*b) return NULL;
    if (*b != by.w->block) sim_touch_remote(by, *b);
    return async_mbar(by, *b, offset);
}

static void exec_init(SimWarp *w, const SimInst *i, uint32_t active) {
    enum { COUNT_MAX = (1 << 20) - 1 };
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        uint32_t offset, count = sim_u32(w, i->opnd[1].slot[0])[l];
        SimBlock *b = sim_shared(by, async_shared_at(w, &i->opnd[0], l), 8, 8, &offset);
        if (!b || !sim_shadow_write(by, b, offset, 8)) return;
        AsyncMbar *m = async_mbar_find(b, offset);
        if (count < 1 || count > COUNT_MAX || (m && m->valid) || b != w->block) {
            sim_fault(by, SIM_MBARRIER, "%s at shared address 0x%x, count %u",
                      b != w->block   ? "mbarrier.init in another block"
                      : m && m->valid ? "second mbarrier.init without mbarrier.inval"
                                      : "mbarrier.init with a bad count",
                      b->smem_base + offset, count);
            return;
        }
        AsyncBlock *s = async_block(b);
        SimCluster *c = b->cluster;
        if (!m) {
            s->mbar = arena_grow(c->arena, s->mbar, &s->cap_mbar, s->n_mbar + 1, sizeof *s->mbar);
            m = &s->mbar[s->n_mbar++];
        }
        *m = (AsyncMbar){.offset = offset,
                         .valid = true,
                         .init_thread = sim_thread(w, l),
                         .init_time = c->time,
                         .expected = count,
                         .pending = count,
                         .collect = sim_clock_new(c),
                         .done = sim_clock_new(c)};
        sim_shadow_init(b, offset, 8);
        c->time++;
    }
}

static void exec_inval(SimWarp *w, const SimInst *i, uint32_t active) {
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        SimBlock *b;
        AsyncMbar *m = find(by, &i->opnd[0], &b);
        if (!m || !sim_shadow_write(by, b, m->offset, 8)) return;
        m->valid = false;
    }
}

/* expect_tx and complete_tx: flags 1 for the latter.  */
static void exec_tx(SimWarp *w, const SimInst *i, uint32_t active) {
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        SimBlock *b;
        AsyncMbar *m = find(by, &i->opnd[0], &b);
        if (!m) return;
        int64_t bytes = sim_u32(w, i->opnd[1].slot[0])[l];
        if (!async_mbar_update(by, b, m, 0, i->flags ? -bytes : bytes)) return;
    }
}

enum { ARRIVE_DROP = 1, ARRIVE_NOCOMPLETE = 2, ARRIVE_EXPECT = 4, ARRIVE_RELAXED = 8 };

static bool arrive_lane(SimLane by) {
    SimBlock *b;
    AsyncMbar *m = find(by, &by.i->opnd[1], &b);
    if (!m) return false;
    uint32_t count = by.i->n_opnd > 2 ? sim_u32(by.w, by.i->opnd[2].slot[0])[by.lane] : 1;
    uint8_t flags = by.i->flags;
    uint32_t arrivals = flags & ARRIVE_EXPECT ? 1 : count;
    if ((flags & ARRIVE_NOCOMPLETE) && arrivals >= m->pending) {
        sim_fault(by, SIM_MBARRIER, "arrive.noComplete would complete the phase");
        return false;
    }
    if (by.i->d != SLOT_NONE) sim_u64(by.w, by.i->d)[by.lane] = state_token(m);
    if (!(flags & ARRIVE_RELAXED)) sim_release(by.w, 1u << by.lane, m->collect);
    /* A drop leaves the count of this phase to the arrival and lowers the next ones.  */
    if (flags & ARRIVE_DROP) m->expected -= arrivals;
    return async_mbar_update(by, b, m, arrivals, flags & ARRIVE_EXPECT ? count : 0);
}

static void exec_arrive(SimWarp *w, const SimInst *i, uint32_t active) {
    SIM_EACH(l, active) {
        if (!arrive_lane(sim_lane(w, i, l))) return;
    }
}

enum { WAIT_PARITY = 1, WAIT_TRY = 2, WAIT_RELAXED = 4 };

/* Whether the phase that a wait names has completed: that of a state, or the last one of a parity.
 * It is the current phase or the one before, which alone a wait may name.  False after a fault.  */
static bool completed(SimLane by, const AsyncMbar *m, bool *done) {
    if (by.i->flags & WAIT_PARITY) {
        uint32_t parity = sim_u32(by.w, by.i->opnd[2].slot[0])[by.lane];
        *done = (m->phase & 1) != parity;
        if (parity <= 1) return true;
        sim_fault(by, SIM_MBARRIER, "waits for the parity %u, which is neither 0 nor 1", parity);
        return false;
    }
    uint32_t phase = (uint32_t)(sim_u64(by.w, by.i->opnd[2].slot[0])[by.lane] >> 32);
    *done = phase != m->phase;
    if (phase == m->phase || phase + 1 == m->phase) return true;
    sim_fault(by, SIM_MBARRIER,
              "waits by a state of phase %u on an mbarrier in phase %u: it must be of this phase "
              "or of the one before",
              phase, m->phase);
    return false;
}

/* Lanes whose phase is over know of what came before its end.  */
static void come_true(SimWarp *w, const SimInst *i, uint32_t done, AsyncMbar *const of[LANES]) {
    while (done) {
        AsyncMbar *m = of[sim_first_lane(done)];
        uint32_t same = 0;
        SIM_EACH(l, done) {
            if (of[l] == m) same |= 1u << l;
        }
        m->seen = m->phase;
        if (!(i->flags & WAIT_RELAXED)) sim_acquire(w, same, m->done);
        done &= ~same;
    }
}

static void exec_wait(SimWarp *w, const SimInst *i, uint32_t active) {
    uint32_t done = 0;
    AsyncMbar *of[LANES] = {0};
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        SimBlock *b;
        of[l] = find(by, &i->opnd[1], &b);
        if (!of[l]) return;
        if (b != w->block) {
            sim_fault(by, SIM_MBARRIER, "waits on an mbarrier of another block");
            return;
        }
        bool over;
        if (!completed(by, of[l], &over)) return;
        if (over) done |= 1u << l;
        async_mbar_awaited(w, of[l], !(done >> l & 1));
    }
    /* A blocking wait usually suspends the thread until it can succeed; sometimes, in launches that
     * are not timed, its time is up.  */
    SimCluster *c = w->block->cluster;
    if (done != active && (i->flags & WAIT_TRY) && (w->timer || rng_below(&c->rng, 8))) {
        sim_retry(w);
        return;
    }
    sim_set_pred(w, i->d, active, done);
    come_true(w, i, done, of);
    if (done != active) async_poll_failed(sim_lane(w, i, sim_first_lane(active & ~done)));
}

static void exec_pending(SimWarp *w, const SimInst *i, uint32_t active) {
    uint32_t *d = sim_u32(w, i->d);
    const uint64_t *state = sim_u64(w, i->a);
    SIM_EACH(l, active) d[l] = (uint32_t)state[l] & 0xfffff;
}

static SimExec *pick_wait(SimPick *k, SimOrder order) {
    if (sim_take(k, MOD_PARITY)) k->i->flags |= WAIT_PARITY;
    if (k->p->op == OP_MBAR_TRY) k->i->flags |= WAIT_TRY;
    if (order.order == MOD_RELAXED) k->i->flags |= WAIT_RELAXED;
    char wanted[] = {'P', 'a', k->i->flags & WAIT_PARITY ? 'i' : 'l', 0, 0};
    if (k->p->op == OP_MBAR_TRY && k->p->n_opnd == 4) wanted[3] = 'i';
    return async_want(k, wanted) ? exec_wait : NULL;
}

static SimExec *pick_arrive(SimPick *k, SimOrder order) {
    if (sim_take(k, MOD_NOCOMPLETE)) k->i->flags |= ARRIVE_NOCOMPLETE;
    if (sim_take(k, MOD_EXPECT_TX)) k->i->flags |= ARRIVE_EXPECT;
    if (k->p->op == OP_MBAR_DROP) k->i->flags |= ARRIVE_DROP;
    if (order.order == MOD_RELAXED) k->i->flags |= ARRIVE_RELAXED;
    bool counted = k->i->flags & (ARRIVE_NOCOMPLETE | ARRIVE_EXPECT);
    if (!async_want(k, counted || k->i->n_opnd == 3 ? "Lai" : "La")) return NULL;
    if (ptx_has(&k->p->mods, MOD_SHARED_CLUSTER) && k->i->d != SLOT_NONE) {
        return sim_pick_fail(k, "returns no state from .shared::cluster");
    }
    return exec_arrive;
}

SimExec *sim_pick_mbarrier(SimPick *k) {
    SimOrder order = sim_take_order(k);
    PtxSpace space = k->p->op == OP_MBAR_PENDING ? SPACE_GENERIC : sim_take_space(k);
    if (space != SPACE_GENERIC && space != SPACE_SHARED && space != SPACE_SHARED_CLUSTER) {
        return sim_pick_fail(k, "is about shared memory");
    }
    PtxType type = sim_take_type(k);
    PtxOp op = k->p->op;
    bool remote = op == OP_MBAR_EXPECT || op == OP_MBAR_COMPLETE || op == OP_MBAR_ARRIVE ||
                  op == OP_MBAR_DROP;
    if (space == SPACE_SHARED_CLUSTER && !remote) return sim_pick_fail(k, "is about its own block");
    switch (op) {
    case OP_MBAR_EXPECT:
    case OP_MBAR_COMPLETE:
        k->i->flags = op == OP_MBAR_COMPLETE;
        return async_want(k, "ai") ? exec_tx : NULL;
    default: break;
    }
    if (type != PTX_B64) return sim_pick_fail(k, "needs .b64");
    switch (k->p->op) {
    case OP_MBAR_INIT: return async_want(k, "ai") ? exec_init : NULL;
    case OP_MBAR_INVAL: return async_want(k, "a") ? exec_inval : NULL;
    case OP_MBAR_TEST:
    case OP_MBAR_TRY: return pick_wait(k, order);
    case OP_MBAR_PENDING: return async_want(k, "Il") ? exec_pending : NULL;
    default: return pick_arrive(k, order);
    }
}
