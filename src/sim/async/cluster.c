/* Clusters: their barrier, addresses in other blocks, asynchronous stores to them.  */
#include "sim/async/async_data.h"
#include "sim/async/async_target.h"

#include <string.h>

/* ---- barrier.cluster
 * -----------------------------------------------------------------------------  */
enum { BARRIER_RELAXED = 1, BARRIER_ALIGNED = 2 };

static bool aligned(SimWarp *w, const SimInst *i, uint32_t active) {
    if (!(i->flags & BARRIER_ALIGNED) || active == w->live) return true;
    sim_fault(sim_lane(w, i, sim_first_lane(active)), SIM_DIVERGENT,
              "barrier.cluster.aligned is executed by a part of the warp (lanes 0x%x of 0x%x)",
              active, w->live);
    return false;
}

static void exec_arrive(SimWarp *w, const SimInst *i, uint32_t active) {
    AsyncCluster *q = async_of(w->block->cluster);
    AsyncWarp *a = async_warp(w);
    if (!aligned(w, i, active)) return;
    if (a->cluster_pending & active) {
        sim_fault(sim_lane(w, i, sim_first_lane(a->cluster_pending & active)), SIM_DIVERGENT,
                  "arrives at the cluster barrier twice without a wait");
        return;
    }
    a->cluster_pending |= active;
    a->cluster_arrived |= active;
    SIM_EACH(l, active) {
        a->cluster_generation[l] = q->generation;
        q->arrived++;
    }
    if (!(i->flags & BARRIER_RELAXED)) sim_release(w, active, q->collect);
    w->block->count.barriers++;
    async_cluster_settle(w->block->cluster);
}

static void exec_wait(SimWarp *w, const SimInst *i, uint32_t active) {
    AsyncCluster *q = async_of(w->block->cluster);
    AsyncWarp *a = async_warp(w);
    if (!aligned(w, i, active)) return;
    if (active & ~a->cluster_pending) {
        sim_fault(sim_lane(w, i, sim_first_lane(active & ~a->cluster_pending)), SIM_DIVERGENT,
                  "waits at the cluster barrier without having arrived");
        return;
    }
    SIM_EACH(l, active) {
        if (a->cluster_generation[l] == q->generation) {
            sim_retry(w);
            return;
        }
    }
    a->cluster_pending &= ~active;
    sim_acquire(w, active, q->done);
}

/* ---- Addresses
 * -----------------------------------------------------------------------------------  */
enum { ADDRESS_WIDE = 1, ADDRESS_GENERIC = 2 };

/* A lane's source address: a 32-bit shared address, or -1 outside the shared window.  */
static int64_t shared_of(const SimWarp *w, const SimInst *i, Slot s, int lane) {
    if (!(i->flags & ADDRESS_WIDE)) return sim_u32(w, s)[lane];
    uint64_t at = sim_u64(w, s)[lane];
    if (i->flags & ADDRESS_GENERIC) at -= SIM_SHARED_WINDOW;
    return at <= UINT32_MAX ? (int64_t)at : -1;
}

static bool outside(SimLane by, int64_t at) {
    if (at >= 0) return false;
    sim_fault(by, SIM_OUT_OF_BOUNDS, "%s of an address outside the shared window",
              sim_op_name(by.i->ptx->op));
    return true;
}

static void exec_mapa(SimWarp *w, const SimInst *i, uint32_t active) {
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        int64_t at = shared_of(w, i, i->a, l);
        uint32_t rank = sim_u32(w, i->b)[l];
        if (outside(by, at)) return;
        if (rank >= (uint32_t)w->block->cluster->n_block) {
            sim_fault(by, SIM_OUT_OF_BOUNDS, "mapa to block %u of a cluster of %d", rank,
                      w->block->cluster->n_block);
            return;
        }
        uint32_t to = ((uint32_t)at & ((1u << SIM_RANK_SHIFT) - 1)) | (rank + 1) << SIM_RANK_SHIFT;
        if (!(i->flags & ADDRESS_WIDE)) {
            sim_u32(w, i->d)[l] = to;
        } else {
            sim_u64(w, i->d)[l] = to + (i->flags & ADDRESS_GENERIC ? SIM_SHARED_WINDOW : 0);
        }
    }
}

static void exec_getctarank(SimWarp *w, const SimInst *i, uint32_t active) {
    SIM_EACH(l, active) {
        int64_t at = shared_of(w, i, i->a, l);
        if (outside(sim_lane(w, i, l), at)) return;
        uint32_t rank = (uint32_t)at >> SIM_RANK_SHIFT;
        sim_u32(w, i->d)[l] = rank ? rank - 1 : (uint32_t)w->block->rank;
    }
}

/* ---- st.async, red.async
 * -------------------------------------------------------------------------  */
static void exec_store(SimWarp *w, const SimInst *i, uint32_t active) {
    const AsyncReduce *reduce = i->extra;
    const SimOpnd *value = &i->opnd[1];
    uint32_t bytes = (uint32_t)i->bytes * (uint32_t)value->n;
    w->block->count.async_copies++;
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        AsyncTarget t = {0};
        if (!async_target(by, &i->opnd[0], &i->opnd[2], bytes, bytes, &t)) return;
        AsyncOp *op = async_new(by, ASYNC_VALUE, 1);
        op->segment[0] = (AsyncSegment){.offset = t.offset, .bytes = bytes, .end = bytes,
                                        .lane = (uint8_t)l};
        op->reduce = *reduce;
        unsigned char *to = async_buffer(w->block->cluster, op);
        for (int v = 0; v < value->n; v++) {
            if (i->bytes == 8) {
                memcpy(to + 8 * v, &sim_u64(w, value->slot[v])[l], 8);
            } else {
                memcpy(to + 4 * v, &sim_u32(w, value->slot[v])[l], 4);
            }
        }
        if (!async_aim(op, &t, t.block->rank) || !async_issue(op)) return;
    }
}

static SimExec *pick_store(SimPick *k) {
    AsyncReduce *reduce = ARENA_NEW(k->arena, AsyncReduce);
    sim_take_order(k);
    sim_take(k, MOD_SHARED_CLUSTER);
    if (!sim_take(k, MOD_COMPLETE_TX))
        return sim_pick_fail(k, "needs .mbarrier::complete_tx::bytes");
    int count = sim_take(k, MOD_V4) ? 4 : sim_take(k, MOD_V2) ? 2 : 1;
    PtxType type;
    if (k->p->op == OP_RED_ASYNC) {
        if (!async_take_reduce(k, reduce)) return NULL;
        type = reduce->type;
    } else {
        type = sim_take_type(k);
    }
    int bits = sim_type_bits(type);
    if ((bits != 32 && bits != 64) || bits * count > 128 || k->i->opnd[1].n != count) {
        return sim_pick_fail(
            k, "needs values of 32 or 64 bits, as many as .v2 or .v4 says, up to 128");
    }
    k->i->bytes = (uint8_t)(bits / 8);
    k->i->extra = reduce;
    bool vector = k->p->opnd[1].kind == OPND_VECTOR;
    const char *wanted = bits == 32 ? (vector ? "ava" : "aia") : vector ? "ada" : "ala";
    return async_want(k, wanted) ? exec_store : NULL;
}

/* ---- Family
 * --------------------------------------------------------------------------------------  */
SimExec *sim_pick_cluster(SimPick *k) {
    PtxOp op = k->p->op;
    if (op == OP_ST_ASYNC || op == OP_RED_ASYNC) return pick_store(k);
    if (op == OP_MAPA || op == OP_GETCTARANK) {
        PtxSpace space = sim_take_space(k);
        PtxType type = sim_take_type(k);
        if (type != PTX_U32 && type != PTX_U64) return sim_pick_fail(k, "needs .u32 or .u64");
        if (type == PTX_U64) k->i->flags |= ADDRESS_WIDE;
        if (space == SPACE_GENERIC) k->i->flags |= ADDRESS_GENERIC;
        bool wide = type == PTX_U64;
        if (op == OP_MAPA) return async_want(k, wide ? "Lli" : "Iii") ? exec_mapa : NULL;
        return async_want(k, wide ? "Il" : "Ii") ? exec_getctarank : NULL;
    }
    bool arrive = op == OP_CLUSTER_ARRIVE;
    if (arrive && sim_take(k, MOD_RELAXED)) k->i->flags |= BARRIER_RELAXED;
    sim_take(k, arrive ? MOD_RELEASE : MOD_ACQUIRE);
    if (sim_take(k, MOD_ALIGNED)) k->i->flags |= BARRIER_ALIGNED;
    return arrive ? exec_arrive : exec_wait;
}
