#include "sim/async/async.h"

#include "sim/async/async_data.h"
#include "sim/timing/timing.h"

#include <string.h>

void sim_async_begin(SimCluster *c) {
    AsyncCluster *q = c->async = ARENA_NEW(c->arena, AsyncCluster);
    /* Some clusters see prompt copies, some see them land only when nothing else can run.  */
    static const uint32_t haste[] = {0, 4, 32, 128, 256};
    q->haste = haste[rng_below(&c->rng, sizeof haste / sizeof *haste)];
    q->collect = sim_clock_new(c);
    q->done = sim_clock_new(c);
    for (int b = 0; b < c->n_block; b++) {
        SimBlock *block = &c->block[b];
        block->async = ARENA_NEW(c->arena, AsyncBlock);
        block->remote = ARENA_ARRAY(c->arena, SimRemote, c->n_warp);
        for (int w = 0; w < block->n_warp; w++) {
            block->warp[w].async = ARENA_NEW(c->arena, AsyncWarp);
        }
    }
}

AsyncOp *async_new(SimLane by, AsyncKind kind, size_t n_segment) {
    SimCluster *c = by.w->block->cluster;
    AsyncCluster *q = async_of(c);
    AsyncOp *op = q->spare;
    if (op) {
        q->spare = op->next;
        AsyncOp kept = *op;
        *op = (AsyncOp){.segment = kept.segment, .cap_segment = kept.cap_segment,
                        .buffer = kept.buffer, .cap_buffer = kept.cap_buffer};
    } else {
        op = ARENA_NEW(c->arena, AsyncOp);
    }
    op->kind = kind;
    op->by = by;
    op->block = by.w->block;
    op->span = op->atom = 16;
    op->n_segment = n_segment;
    op->segment = arena_grow(c->arena, op->segment, &op->cap_segment, n_segment,
                             sizeof *op->segment);
    return op;
}

static void recycle(SimCluster *c, AsyncOp *op) {
    op->next = async_of(c)->spare;
    async_of(c)->spare = op;
}

void async_drop(AsyncOp *op) { recycle(op->by.w->block->cluster, op); }

static void unlink_op(SimCluster *c, AsyncOp *op) {
    AsyncCluster *q = async_of(c);
    AsyncOp **at = &q->first, *before = NULL;
    while (*at != op) {
        before = *at;
        at = &before->next;
    }
    *at = op->next;
    if (q->last == op) q->last = before;
    q->n--;
}

static uint64_t op_bytes(const AsyncOp *op) {
    uint64_t bytes = 0;
    for (size_t p = 0; p < op->n_segment; p++) bytes += op->segment[p].bytes;
    return bytes;
}

static bool from_shared(const AsyncOp *op) { return op->kind == ASYNC_STORE; }

/* Checks and flags the shared memory of one segment.  */
static bool claim(const AsyncOp *op, const AsyncSegment *p) {
    SimLane by = op->by;
    if (op->tell == TELL_CPASYNC) by.lane = p->lane;
    uint32_t step = async_step(op, p);
    for (uint32_t at = 0; at < p->bytes; at += step) {
        uint32_t offset = async_place(op, p, at);
        /* What lies outside of the tensor is not stored, whatever it is.  */
        if (from_shared(op) && (at + step <= p->begin || at >= p->end)) continue;
        if (from_shared(op)) {
            if (!sim_shadow_read_async(by, op->block, offset, step)) return false;
            continue;
        }
        if (op->reduce.type != PTX_NONE) {
            if (!sim_shadow_atomic(by, op->block, offset, step)) return false;
            continue;
        }
        if (!sim_shadow_fly(by, op->block, offset, step)) return false;
        if (!op->by.w->block->cluster->run->options->benign) {
            memset(op->block->smem + offset, ASYNC_POISON, step);
        }
    }
    return true;
}

bool async_issue(AsyncOp *op) {
    SimCluster *c = op->by.w->block->cluster;
    AsyncCluster *q = async_of(c);
    for (size_t p = 0; p < op->n_segment; p++) {
        if (!claim(op, &op->segment[p])) {
            recycle(c, op);
            return false;
        }
    }
    uint64_t bytes = op_bytes(op);
    if (op->kind == ASYNC_PEER &&
        !sim_shadow_read_async(op->by, op->source, op->from, (uint32_t)bytes)) {
        recycle(c, op);
        return false;
    }
    op->issued = c->time++;
    if (op->kind != ASYNC_ARRIVE) {
        bool global = op->kind == ASYNC_LOAD || op->kind == ASYNC_STORE;
        op->ready = sim_timer_copy(op->by.w, op->by.i, bytes, global);
    }
    op->next = NULL;
    if (q->last) q->last->next = op;
    if (!q->first) q->first = op;
    q->last = op;
    q->n++;
    AsyncBlock *b = async_block(op->by.w->block);
    b->in_flight += bytes;
    SimCounters *count = &op->by.w->block->count;
    if (b->in_flight > count->max_bytes_in_flight) count->max_bytes_in_flight = b->in_flight;
    if (c->run->options->benign) {
        async_sample(c, op);
        if (op->tell != TELL_CPASYNC) async_land(c, op);
    }
    return true;
}

void async_sample(SimCluster *c, AsyncOp *op) {
    if (op->sampled) return;
    op->sampled = true;
    if (op->kind != ASYNC_VALUE && op->kind != ASYNC_ARRIVE) async_read_source(c, op);
    /* A cp.async writes as it reads; who may look is decided at the wait.  */
    if (op->tell == TELL_CPASYNC && op->kind == ASYNC_LOAD) async_write(c, op);
}

static bool is_alive(const AsyncOp *op, const SimBlock *b) {
    if (b == op->by.w->block || b->n_live > 0) return true;
    sim_fault(op->by, SIM_OUT_OF_BOUNDS,
              "an asynchronous copy reaches block %d of the cluster after it has exited", b->rank);
    return false;
}

/* Whether the block that the operation writes to can still be written, and told.  */
static bool target_alive(const AsyncOp *op) {
    return is_alive(op, op->block) && (op->tell != TELL_MBARRIER || is_alive(op, op->mbar_block));
}

/* Who writes what an mbarrier tells of.  */
static uint16_t copies(int entry) { return sim_thread_of(entry, 0); }

static void flags_down(SimCluster *c, const AsyncOp *op, const AsyncSegment *p, uint16_t thread) {
    uint32_t step = async_step(op, p);
    c->time++;
    for (uint32_t at = 0; at < p->bytes; at += step) {
        uint32_t offset = async_place(op, p, at);
        sim_shadow_land(c, op->block, offset, step, thread, op->reduce.type != PTX_NONE);
    }
}

void async_finish(SimCluster *c, AsyncOp *op) {
    async_block(op->by.w->block)->in_flight -= op_bytes(op);
    unlink_op(c, op);
    recycle(c, op);
    c->time++;
    sim_event(c);
}

void async_land_lanes(SimCluster *c, AsyncOp *op, uint32_t mask, bool for_mbarrier) {
    async_sample(c, op);
    for (size_t p = 0; p < op->n_segment; p++) {
        int lane = op->segment[p].lane;
        if (!(mask >> lane & 1) || !(op->mask >> lane & 1)) continue;
        if (!for_mbarrier) sim_timer_tell(op->ready, &op->by.w->now);
        flags_down(c, op, &op->segment[p],
                   for_mbarrier ? copies(sim_lane_copies_entry(c)) : sim_thread(op->by.w, lane));
    }
    op->mask &= ~mask;
    if (op->mask == 0) async_finish(c, op);
}

/* cp.async.mbarrier.arrive: the earlier copies of its lanes, then the arrivals.  */
static void land_arrive(SimCluster *c, AsyncOp *op) {
    for (AsyncOp *o = async_of(c)->first, *next; o && o != op; o = next) {
        next = o->next;
        if (o->by.w == op->by.w && o->tell == TELL_CPASYNC && o->kind == ASYNC_LOAD) {
            if (o->ready > op->ready) op->ready = o->ready;
            async_land_lanes(c, o, op->mask & o->mask, true);
        }
    }
    AsyncMbar *m = async_mbar_valid(op->by, op->mbar_block, op->mbar);
    uint32_t arrivals = (uint32_t)sim_popcount(op->mask);
    if (m) {
        sim_release_copies(c, m->collect, sim_lane_copies_entry(c));
        sim_timer_tell(op->ready, sim_clock_time(c, m->collect));
        async_mbar_update(op->by, op->mbar_block, m, arrivals, 0);
    }
    async_finish(c, op);
}

static void tell_mbarrier(SimCluster *c, const AsyncOp *op) {
    AsyncMbar *m = async_mbar_valid(op->by, op->mbar_block, op->mbar);
    if (!m) return;
    sim_release_copies(c, m->collect, sim_copies_entry(c));
    if (op->kind == ASYNC_PEER) {
        int entry = sim_reads_entry(op->by.w, false);
        sim_release_reads(c, m->collect, entry, 1u << op->by.lane, op->issued);
    }
    sim_timer_tell(op->ready, sim_clock_time(c, m->collect));
    async_mbar_update(op->by, op->mbar_block, m, 0, -(int64_t)op->tx_bytes);
}

void async_land(SimCluster *c, AsyncOp *op) {
    if (op->kind == ASYNC_ARRIVE) {
        land_arrive(c, op);
        return;
    }
    async_sample(c, op);
    if (op->tell == TELL_CPASYNC || op->landed) return;
    op->landed = true;
    if (!op->by.w->block->stop && !op->block->stop && target_alive(op)) {
        async_write(c, op);
        for (size_t p = 0; !from_shared(op) && p < op->n_segment; p++) {
            flags_down(c, op, &op->segment[p], copies(sim_copies_entry(c)));
        }
        if (op->tell == TELL_MBARRIER) tell_mbarrier(c, op);
    }
    if (op->tell != TELL_BULK_GROUP) async_finish(c, op);
}

static AsyncOp *pick_random(SimCluster *c, bool to_land) {
    AsyncCluster *q = async_of(c);
    uint32_t n = 0;
    AsyncOp *chosen = NULL;
    for (AsyncOp *op = q->first; op; op = op->next) {
        bool candidate = !op->landed && (op->tell != TELL_CPASYNC || (!to_land && !op->sampled));
        if (candidate && rng_below(&c->rng, ++n) == 0) chosen = op;
    }
    return chosen;
}

void sim_async_tick(SimCluster *c) {
    AsyncCluster *q = async_of(c);
    if ((q->n == 0 && !q->wgmma && !q->tensor) || rng_below(&c->rng, 256) >= q->haste) return;
    if (q->wgmma) {
        SimBlock *b = &c->block[rng_below(&c->rng, (uint32_t)c->n_block)];
        async_wgmma_step(&b->warp[rng_below(&c->rng, (uint32_t)b->n_warp)]);
    }
    if (q->tensor) async_tensor_step(&c->block[rng_below(&c->rng, (uint32_t)c->n_block)]);
    AsyncOp *op = pick_random(c, false);
    if (!op) return;
    if (op->sampled || rng_below(&c->rng, 2)) {
        async_land(c, op);
    } else {
        async_sample(c, op);
    }
}

bool async_cluster_settle(SimCluster *c) {
    AsyncCluster *q = async_of(c);
    if (q->arrived == 0) return false;
    for (int b = 0; b < c->n_block; b++) {
        for (int w = 0; w < c->block[b].n_warp; w++) {
            const SimWarp *warp = &c->block[b].warp[w];
            if (warp->live & ~async_warp(warp)->cluster_arrived) return false;
        }
    }
    for (int b = 0; b < c->n_block; b++) {
        for (int w = 0; w < c->block[b].n_warp; w++) {
            async_warp(&c->block[b].warp[w])->cluster_arrived = 0;
        }
    }
    sim_clock_pass(c, q->done, q->collect);
    q->arrived = 0;
    q->generation++;
    sim_event(c);
    return true;
}

/* Some block's unit works.  */
static bool step_units(SimCluster *c) {
    uint32_t first = async_of(c)->tensor ? rng_below(&c->rng, (uint32_t)c->n_block) : 0;
    for (uint32_t b = 0; async_of(c)->tensor && b < (uint32_t)c->n_block; b++)
        if (async_tensor_step(&c->block[(first + b) % (uint32_t)c->n_block])) return true;
    return false;
}

bool sim_async_force(SimCluster *c) {
    AsyncOp *op = pick_random(c, true);
    if (!op) return step_units(c) || async_cluster_settle(c);
    async_land(c, op);
    sim_event(c);
    return true;
}

void async_poll_failed(SimLane by) {
    enum { PATIENCE = 1 << 20 };
    SimCluster *c = by.w->block->cluster;
    AsyncCluster *q = async_of(c);
    by.w->yield = true;
    if (rng_below(&c->rng, 16) == 0) {
        AsyncOp *op = pick_random(c, true);
        if (op) async_land(c, op);
        step_units(c);
    }
    if (q->idle_event != c->event) {
        q->idle_event = c->event;
        q->idle = 0;
    } else if (++q->idle > PATIENCE) {
        Buf text = buf_new(c->arena);
        sim_async_describe(by.w->block, &text);
        sim_fault(by, SIM_DEADLOCK, "polls an mbarrier that nothing will complete: %s",
                  buf_str(&text));
    }
}

/* A copy that nobody waited for may still use the shared memory of a block that is gone.  */
static void check_unwaited(SimBlock *b) {
    const AsyncBlock *s = async_block(b);
    for (size_t n = 0; n < s->n_mbar && !b->stop; n++) {
        const AsyncMbar *m = &s->mbar[n];
        if (!m->valid || m->seen >= m->loading) continue;
        sim_fault(
            sim_lane(m->loader, m->load, 0), SIM_NOT_ARRIVED,
            "block %d ends without a wait for the copy into its shared memory that the mbarrier "
            "at 0x%x tells of",
            b->rank, b->smem_base + m->offset);
        return;
    }
    for (int w = 0; w < b->n_warp && !b->stop; w++) {
        SimWarp *warp = &b->warp[w];
        AsyncWarp *a = async_warp(warp);
        for (int l = 0; l < LANES && a->bulk_store; l++) {
            if (a->bulk_stored[l] > a->bulk_read[l]) {
                sim_fault(sim_lane(warp, a->bulk_store, l), SIM_NOT_ARRIVED,
                          "the thread exits without a wait for the bulk copy that reads its "
                          "shared memory");
                break;
            }
        }
    }
}

/* A block that ends without knowing of an access from another one may have ended before it.  */
static void check_remote(SimBlock *b) {
    SimCluster *c = b->cluster;
    for (int k = 0; k < c->n_warp; k++) {
        SimRemote remote = b->remote[k];
        bool known = remote.time == 0;
        for (int w = 0; w < b->n_warp; w++) {
            SIM_EACH(l, sim_views_of(&b->warp[w], b->warp[w].exists)) {
                known |= sim_clock_covers(c, b->warp[w].view[l], k, remote.lanes, remote.time);
            }
        }
        if (known) continue;
        SimWarp *other = &c->block[k / b->n_warp].warp[k % b->n_warp];
        sim_fault(sim_lane(other, remote.inst, 0), SIM_OUT_OF_BOUNDS,
                  "accesses shared memory of block %d of the cluster, which may have ended: no "
                  "barrier comes after the access and before that block's end",
                  b->rank);
        return;
    }
}

void sim_async_end(SimCluster *c) {
    AsyncCluster *q = async_of(c);
    bool stopped = false;
    for (int b = 0; b < c->n_block; b++) stopped |= c->block[b].stop || c->block[b].n_live > 0;
    for (int b = 0; b < c->n_block && !stopped; b++) {
        check_unwaited(&c->block[b]);
        check_remote(&c->block[b]);
        async_wgmma_end(&c->block[b]);
        async_tensor_end(&c->block[b]);
    }
    for (AsyncOp *op = q->first, *next; op; op = next) {
        next = op->next;
        if (op->kind == ASYNC_STORE && !op->landed && !op->by.w->block->stop) {
            async_sample(c, op);
            async_write(c, op);
        }
    }
    q->first = q->last = NULL;
    q->n = 0;
}
