/* cp.async.bulk: contiguous copies told by an mbarrier or a bulk group, and their reductions.  */
#include "sim/async/async_target.h"
#include "sim/timing/timing.h"

typedef enum { BULK_LOAD, BULK_STORE, BULK_PEER } BulkWay;
typedef struct {
    BulkWay way;
    AsyncReduce reduce;
    int size, mbar, mask;     /* operands; -1: absent */
    bool local;               /* destination .shared::cta */
} BulkInst;

static bool check_size(SimLane by, uint32_t bytes) {
    if (bytes % 16 == 0) return true;
    sim_fault(by, SIM_MISALIGNED, "a bulk copy of %u bytes, not a multiple of 16", bytes);
    return false;
}

static AsyncOp *segment_of(SimLane by, AsyncKind kind, uint64_t global, uint32_t offset,
                           uint32_t bytes) {
    AsyncOp *op = async_new(by, kind, 1);
    op->segment[0] = (AsyncSegment){
        .global = global, .offset = offset, .bytes = bytes, .end = bytes, .lane = (uint8_t)by.lane};
    return op;
}

static bool load_lane(SimLane by, uint32_t bytes) {
    const BulkInst *x = by.i->extra;
    uint64_t from = sim_address(by.w, &by.i->opnd[1], by.lane);
    AsyncTarget t = {0};
    if (bytes && !sim_global(by, from, bytes, 16, false)) return false;
    if (!async_target(by, &by.i->opnd[0], &by.i->opnd[x->mbar], bytes, 16, &t)) return false;
    if (async_counts(by.w)) sim_count_global_range(by, from, bytes, false);
    uint64_t mask = x->mask >= 0 ? async_mask(by, &by.i->opnd[x->mask]) : 1ull << t.block->rank;
    if (mask == 0) return false;
    for (int rank = 0; rank < by.w->block->cluster->n_block; rank++) {
        SimBlock *to = &by.w->block->cluster->block[rank];
        if (!(mask >> rank & 1)) continue;
        AsyncOp *op = segment_of(by, ASYNC_LOAD, from, t.offset, bytes);
        if (!async_aim(op, &t, rank) || !async_issue(op)) return false;
        if (async_counts(by.w)) sim_count_shared_range(to, bytes, true);
    }
    return true;
}

static bool store_lane(SimLane by, uint32_t bytes) {
    const BulkInst *x = by.i->extra;
    uint64_t to = sim_address(by.w, &by.i->opnd[0], by.lane);
    uint32_t offset;
    SimBlock *b =
        sim_shared(by, async_shared_at(by.w, &by.i->opnd[1], by.lane), bytes, 16, &offset);
    if (!b || (bytes && !async_global_target(by, to, bytes, &x->reduce))) return false;
    if (async_counts(by.w)) {
        sim_count_global_range(by, to, bytes, true);
        sim_count_shared_range(by.w->block, bytes, false);
    }
    AsyncOp *op = segment_of(by, ASYNC_STORE, to, offset, bytes);
    op->block = b;
    op->reduce = x->reduce;
    async_join_bulk_group(op);
    return async_issue(op);
}

static bool peer_lane(SimLane by, uint32_t bytes) {
    const BulkInst *x = by.i->extra;
    uint32_t offset;
    SimBlock *b =
        sim_shared(by, async_shared_at(by.w, &by.i->opnd[1], by.lane), bytes, 16, &offset);
    AsyncTarget t = {0};
    if (!b || !async_target(by, &by.i->opnd[0], &by.i->opnd[x->mbar], bytes, 16, &t)) return false;
    AsyncOp *op = segment_of(by, ASYNC_PEER, 0, t.offset, bytes);
    op->source = b;
    op->from = offset;
    op->reduce = x->reduce;
    if (async_counts(by.w)) {
        sim_count_shared_range(b, bytes, false);
        sim_count_shared_range(t.block, bytes, true);
    }
    return async_aim(op, &t, t.block->rank) && async_issue(op);
}

static void exec_bulk(SimWarp *w, const SimInst *i, uint32_t active) {
    const BulkInst *x = i->extra;
    w->block->count.async_copies++;
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        uint32_t bytes = sim_u32(w, i->opnd[x->size].slot[0])[l];
        if (!check_size(by, bytes)) return;
        bool ok = x->way == BULK_LOAD    ? load_lane(by, bytes)
                  : x->way == BULK_STORE ? store_lane(by, bytes)
                                         : peer_lane(by, bytes);
        if (!ok) return;
    }
}

static void exec_commit(SimWarp *w, const SimInst *i, uint32_t active) {
    (void)i;
    SIM_EACH(l, active) async_warp(w)->bulk_group[l]++;
}

/* flags 1: only the sources need to have been read.  */
static void exec_wait(SimWarp *w, const SimInst *i, uint32_t active) {
    SimCluster *c = w->block->cluster;
    AsyncWarp *a = async_warp(w);
    uint32_t pending = *sim_u32(w, i->opnd[0].slot[0]);
    for (AsyncOp *op = async_of(c)->first, *next; op; op = next) {
        next = op->next;
        if (op->by.w != w || op->tell != TELL_BULK_GROUP || !(active >> op->by.lane & 1)) continue;
        if (op->group[op->by.lane] + (uint64_t)pending >= a->bulk_group[op->by.lane]) continue;
        uint32_t lane = 1u << op->by.lane;
        sim_learn_reads(w, lane, sim_reads_entry(w, false), lane, op->issued);
        sim_timer_tell(op->ready, &w->now);
        if (i->flags) {
            async_sample(c, op);
        } else {
            async_land(c, op);
            async_finish(c, op);
        }
    }
    SIM_EACH(l, active) {
        uint32_t read = a->bulk_group[l] > pending ? a->bulk_group[l] - pending : 0;
        if (read > a->bulk_read[l]) a->bulk_read[l] = read;
    }
}

static void exec_prefetch(SimWarp *w, const SimInst *i, uint32_t active) {
    (void)w, (void)i, (void)active;
}

/* Directions and completion as written: .dst.src.completion.  */
static SimExec *pick_copy(SimPick *k, BulkInst *x) {
    const PtxInst *p = k->p;
    bool to_global = async_to_global(p);
    bool to_cluster = sim_take(k, MOD_SHARED_CLUSTER), global = sim_take(k, MOD_GLOBAL);
    bool cta = sim_take(k, MOD_SHARED_CTA), tell_mbar = sim_take(k, MOD_COMPLETE_TX);
    bool group = sim_take(k, MOD_BULK_GROUP), multicast = sim_take(k, MOD_MULTICAST);
    bool reduce = p->op == OP_BULK_REDUCE, hint = ptx_has(&p->mods, MOD_L2_CACHE_HINT);
    sim_take_hints(k);
    x->way = to_cluster && cta ? BULK_PEER : group ? BULK_STORE : BULK_LOAD;
    x->size = 2;
    x->mbar = x->mask = -1;
    int n = 3;
    if (x->way != BULK_STORE) x->mbar = n++;
    if (multicast) x->mask = n;
    const char *wanted = arena_printf(k->arena, "aai%s%s%s", x->mbar >= 0 ? "a" : "",
                                      multicast ? "i" : "", hint ? "l" : "");
    if (!async_want(k, wanted)) return NULL;
    if (group == tell_mbar || to_global != group || (group && (!global || !cta || to_cluster))) {
        return sim_pick_fail(k, "has an unknown direction");
    }
    if (x->way == BULK_LOAD && (!global || (reduce || (multicast && !to_cluster)))) {
        return sim_pick_fail(k, "has an unknown direction");
    }
    if (multicast && x->way != BULK_LOAD) return sim_pick_fail(k, "cannot multicast");
    if (reduce && !async_take_reduce(k, &x->reduce)) return NULL;
    k->i->extra = x;
    return exec_bulk;
}

SimExec *sim_pick_bulk(SimPick *k) {
    switch (k->p->op) {
    case OP_BULK_COMMIT: return exec_commit;
    case OP_BULK_WAIT:
        k->i->flags = sim_take(k, MOD_READ);
        return async_want(k, "i") ? exec_wait : NULL;
    case OP_BULK_PREFETCH:
        sim_take(k, MOD_L2);
        sim_take(k, MOD_GLOBAL);
        sim_take_hints(k);
        return exec_prefetch;
    default: return pick_copy(k, ARENA_NEW(k->arena, BulkInst));
    }
}
