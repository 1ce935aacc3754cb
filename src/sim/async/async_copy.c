/* cp.async: copies of 4, 8 or 16 bytes per lane, told by groups or by an mbarrier.  */
#include "sim/async/async.h"

typedef struct {
    uint32_t bytes;
    int source_size;          /* operand with the bytes to read, -1: all */
    int ignore;               /* operand with the predicate that reads nothing, -1: none */
} CopyInst;

/* Bytes that a lane reads; the rest of its destination becomes zero.  */
static uint32_t source_bytes(SimLane by) {
    const CopyInst *x = by.i->extra;
    if (x->source_size >= 0) return sim_u32(by.w, by.i->opnd[x->source_size].slot[0])[by.lane];
    if (x->ignore >= 0 && sim_pred_of(by.w, &by.i->opnd[x->ignore]) >> by.lane & 1) return 0;
    return x->bytes;
}

/* Checks one lane's addresses and describes its copy.  */
static bool lane_segment(SimLane by, AsyncSegment *p) {
    const CopyInst *x = by.i->extra;
    uint32_t to = async_shared_at(by.w, &by.i->opnd[0], by.lane), size = source_bytes(by);
    *p = (AsyncSegment){.global = sim_address(by.w, &by.i->opnd[1], by.lane),
                        .bytes = x->bytes,
                        .end = size,
                        .lane = (uint8_t)by.lane};
    if (size > x->bytes) {
        sim_fault(by, SIM_OUT_OF_BOUNDS, "cp.async of %u bytes reads %u", x->bytes, size);
        return false;
    }
    if (size && !sim_global(by, p->global, size, x->bytes, false)) return false;
    SimBlock *b = sim_shared(by, to, x->bytes, x->bytes, &p->offset);
    if (!b) return false;
    if (b != by.w->block) {
        sim_fault(by, SIM_OUT_OF_BOUNDS, "cp.async writes to another block of the cluster");
        return false;
    }
    return true;
}

static void exec_copy(SimWarp *w, const SimInst *i, uint32_t active) {
    const CopyInst *x = i->extra;
    uint64_t from[LANES] = {0};
    uint32_t to[LANES] = {0}, reading = 0;
    AsyncOp *op = async_new(sim_lane(w, i, 0), ASYNC_LOAD, LANES);
    op->tell = TELL_CPASYNC;
    op->mask = active;
    op->n_segment = 0;
    SIM_EACH(l, active) {
        AsyncSegment *p = &op->segment[op->n_segment++];
        if (!lane_segment(sim_lane(w, i, l), p)) {
            async_drop(op);
            return;
        }
        from[l] = p->global;
        to[l] = w->block->smem_base + p->offset;
        if (p->end) reading |= 1u << l;
        op->group[l] = async_warp(w)->cp_group[l];
    }
    w->block->count.async_copies++;
    if (async_counts(w)) {
        if (reading) sim_count_global(w, reading, from, (int)x->bytes, false);
        sim_count_shared(w, active, to, (int)x->bytes, true);
    }
    async_issue(op);
}

static void exec_commit(SimWarp *w, const SimInst *i, uint32_t active) {
    (void)i;
    SIM_EACH(l, active) async_warp(w)->cp_group[l]++;
}

/* Lands the copies of each active lane but those of its `pending` newest closed groups (and, unless
 * `all`, of the open one).  */
static void wait(SimWarp *w, uint32_t active, uint32_t pending, bool all) {
    SimCluster *c = w->block->cluster;
    const AsyncWarp *a = async_warp(w);
    for (AsyncOp *op = async_of(c)->first, *next; op; op = next) {
        next = op->next;
        if (op->by.w != w || op->tell != TELL_CPASYNC) continue;
        uint32_t done = 0;
        SIM_EACH(l, active & op->mask) {
            if (all || op->group[l] + (uint64_t)pending < a->cp_group[l]) done |= 1u << l;
        }
        if (done) async_land_lanes(c, op, done, false);
    }
}

static void exec_wait(SimWarp *w, const SimInst *i, uint32_t active) {
    wait(w, active, *sim_u32(w, i->opnd[0].slot[0]), false);
}

static void exec_wait_all(SimWarp *w, const SimInst *i, uint32_t active) {
    (void)i;
    wait(w, active, 0, true);
}

/* The mbarrier gets an arrival of each lane when the lane's copies so far have landed.  */
static void exec_arrive(SimWarp *w, const SimInst *i, uint32_t active) {
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        uint32_t offset, at = async_shared_at(w, &i->opnd[0], l);
        SimBlock *b = sim_shared(by, at, 8, 8, &offset);
        AsyncMbar *m = b ? async_mbar(by, b, offset) : NULL;
        if (!m) return;
        if (!i->flags) m->pending++;
        sim_release(w, 1u << l, m->collect);
        AsyncOp *op = async_new(by, ASYNC_ARRIVE, 0);
        op->tell = TELL_MBARRIER;
        op->mask = 1u << l;
        op->mbar_block = b;
        op->mbar = offset;
        if (!async_issue(op)) return;
    }
}

static SimExec *pick_copy(SimPick *k) {
    const PtxInst *p = k->p;
    CopyInst *x = ARENA_NEW(k->arena, CopyInst);
    bool hint = ptx_has(&p->mods, MOD_L2_CACHE_HINT), cg = ptx_has(&p->mods, MOD_CG);
    sim_take_hints(k);
    sim_take(k, MOD_CA);
    sim_take(k, MOD_CG);
    if (!sim_take(k, MOD_SHARED) && !sim_take(k, MOD_SHARED_CTA)) {
        return sim_pick_fail(k, "needs .shared");
    }
    if (!sim_take(k, MOD_GLOBAL)) return sim_pick_fail(k, "needs .global");
    if (p->n_opnd < 3) return sim_pick_fail(k, "needs at least 3 operands");
    int64_t size = p->opnd[2].kind == OPND_INT ? p->opnd[2].offset : 0;
    if (size != 16 && (cg || (size != 4 && size != 8))) {
        return sim_pick_fail(k, "cannot copy %lld bytes", (long long)size);
    }
    x->bytes = (uint32_t)size;
    x->source_size = x->ignore = -1;
    if (p->n_opnd > 3 + hint) {
        bool predicate = p->opnd[3].kind == OPND_REG &&
                         k->func->reg[p->opnd[3].reg].type == PTX_PRED;
        *(predicate ? &x->ignore : &x->source_size) = 3;
    }
    k->i->extra = x;
    const char *wanted[2][3] = {{"aai", "aaii", "aaip"}, {"aail", "aaiil", "aaipl"}};
    int extra = x->source_size >= 0 ? 1 : x->ignore >= 0 ? 2 : 0;
    return async_want(k, wanted[hint][extra]) ? exec_copy : NULL;
}

SimExec *sim_pick_cpasync(SimPick *k) {
    switch (k->p->op) {
    case OP_CP_ASYNC: return pick_copy(k);
    case OP_CP_ASYNC_COMMIT: return exec_commit;
    case OP_CP_ASYNC_WAIT:
        return k->p->n_opnd == 1 && k->p->opnd[0].kind == OPND_INT
                   ? exec_wait
                   : sim_pick_fail(k, "needs a constant");
    case OP_CP_ASYNC_WAIT_ALL: return exec_wait_all;
    default: break;
    }
    k->i->flags = sim_take(k, MOD_NOINC);
    sim_take_space(k);
    if (sim_take_type(k) != PTX_B64) return sim_pick_fail(k, "needs .b64");
    return async_want(k, "a") ? exec_arrive : NULL;
}
