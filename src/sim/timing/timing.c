/* The time of a warp, instruction by instruction.  */
#include "sim/state/memory_state.h"
#include "sim/timing/timing.h"
#include <string.h>

void sim_timing_begin(SimBlock *b) {
    SimCluster *c = b->cluster;
    const SimTiming *t = c->run->timing;
    if (!t) return;
    b->timing = ARENA_NEW(c->arena, SimBlockTime);
    sim_slices_new(c->arena, t->n_work, &b->timing->work);
    SimSm *sm = b->timing->sm = &c->sm[b->rank];
    sm->blocks++;
    b->timing->lines.most = c->run->gpu->l2_lines;
    b->timing->l1.most = t->l1_sectors;
    for (int n = 0; n < b->n_warp; n++) {
        SimTimer *w = b->warp[n].timer = ARENA_NEW(c->arena, SimTimer);
        uint32_t registers = c->run->kernel->file_bytes / 128 + 4;
        w->ready = ARENA_ARRAY(c->arena, uint32_t, registers);
        sim_issue_new(c->arena, t, registers, &w->order);
        w->pipe = &sm->pipe[sm->warps++ % t->parts * (uint32_t)sim_part_pipes(t)];
        w->timing = t;
        w->block = b->timing;
        w->now = &b->warp[n].now;
    }
}

void sim_timing_end(SimBlock *b) {
    const SimTiming *t = b->cluster->run->timing;
    if (!t) return;
    SimSm *sm = b->timing->sm;
    SimSlices *work = &b->timing->work;
    uint32_t path = sm->path;
    uint64_t *sum = sim_slices_at(work, 0);
    for (int n = 0; n < b->n_warp; n++) {
        const SimTimer *w = b->warp[n].timer;
        path = later(path, *w->now);
        sum[sim_work_sum(t, SUM_IN_FLIGHT)] += w->most_in_flight;
    }
    sim_slices_spread(work, sm->path, path, sim_work_sum(t, SUM_PATH), path - sm->path);
    int nth = sm->ended++ < SIM_RESIDENT ? sm->ended - 1 : SIM_RESIDENT - 1;
    SimPaths *p = sm->ended == sm->blocks ? &work->last[nth] : &work->nth[nth];
    *p = (SimPaths){p->ticks + path, p->n + 1};
    sm->path = path;
    sim_l2_tell(b);
}

/* The sums of the slice in which the running instruction is served.  */
static uint64_t *sums(const SimTimer *t) { return sim_slices_at(&t->block->work, t->served); }

/* ---- bytes under way ---- */

static void arrivals(SimTimer *t, uint32_t now) {
    int kept = 0;
    for (int n = 0; n < t->n_flight; n++) {
        if (t->flight[n].ready > now) t->flight[kept++] = t->flight[n];
        else t->in_flight -= t->flight[n].bytes;
    }
    t->n_flight = kept;
}

/* The list is short: what finds no place counts with the last one.  */
static void take_off(SimTimer *t, uint32_t ready, uint64_t bytes) {
    arrivals(t, t->start);
    int at = t->n_flight < SIM_FLIGHTS ? t->n_flight++ : SIM_FLIGHTS - 1;
    bool shared = t->flight[at].ready > t->start && at == SIM_FLIGHTS - 1;
    t->flight[at].bytes = (shared ? t->flight[at].bytes : 0) + (uint32_t)bytes;
    t->flight[at].ready = ready;
    t->in_flight += (uint32_t)bytes;
    if (t->in_flight > t->most_in_flight) t->most_in_flight = t->in_flight;
}

/* Ticks until global memory answers.  L1 is the same memory as shared memory.  */
static uint32_t reach(const SimTimer *t) {
    if (t->block->hits > t->hits && !t->block->far) return t->timing->smem;
    return t->block->missed ? t->timing->dram : t->timing->l2;
}

uint32_t sim_timer_copy(SimWarp *w, const SimInst *i, uint64_t bytes, bool from_global) {
    const SimRun *r = w->block->cluster->run;
    SimTimer *t = w->timer;
    if (!t) return 0;
    const SimCost *x = &t->timing->cost[i - r->kernel->code];
    double rate = x->mover >= 0 ? r->dev->mover[x->mover].rate.value : 0;
    uint32_t moving = rate > 0 ? (uint32_t)((double)bytes * SIM_TICKS / rate) : 0;
    uint32_t ready = t->start + (from_global ? reach(t) : t->timing->dsmem) + moving;
    if (x->mover >= 0) sums(t)[sim_work_bytes(t->timing, x->mover)] += bytes;
    if (from_global) take_off(t, ready, bytes);
    return ready;
}

/* ---- around an instruction ---- */

static uint64_t shared_passes(const SimBlock *b) {
    return b->count.shared_load_wavefronts + b->count.shared_store_wavefronts;
}

/* Between L1 and L2.  */
static uint64_t global_sectors(const SimBlock *b) {
    return b->count.global_load_sectors + b->count.global_store_sectors - b->timing->hits;
}

/* When an instruction may begin whose operands are there.  */
static uint32_t straight(const SimTimer *t, const SimCost *x) {
    uint32_t start = t->straight;
    if (x->ends) return *t->now;
    if (x->loads) start = later(start, t->load);
    for (int k = 0; k < 2; k++) {
        if (x->loads >> k & 1) start = later(start, t->stored[k]);
    }
    return start;
}

/* The pipe of its subpartition that an instruction takes, or NULL: wgmma takes its own later.  */
static SimServer *pipe_of(const SimTimer *t, const SimCost *x) {
    return x->work >= 0 && x->kind != COST_WGMMA ? &t->pipe[x->work] : NULL;
}

static SimServer *issue_of(const SimTimer *t) { return &t->pipe[sim_work_bytes(t->timing, 0)]; }

/* That all warps come to a barrier is part of what it costs.  */
static bool queues(const SimCost *x) { return x->issue > 0 && x->kind != COST_MEET; }

/* When an instruction that is ready finds its pipe and the issue of its subpartition free.  */
static uint32_t turn(const SimTimer *t, const SimCost *x, uint32_t ready) {
    return queues(x) ? sim_servers_begin(pipe_of(t, x), issue_of(t), ready) : ready;
}

/* It begins then; when its pipe has done it.  */
static uint32_t take_turn(const SimTimer *t, const SimCost *x) {
    SimServer *pipe = pipe_of(t, x);
    if (!queues(x)) return t->start;
    sim_server_take(t->block->sm->arena, issue_of(t), t->start, t->timing->slot);
    return pipe ? sim_server_do(t->block->sm->arena, pipe, t->start, x) : t->start;
}

/* When an instruction begins: behind its operands, and in its turn.  */
static uint32_t begin(SimTimer *t, const SimCost *x) {
    uint32_t start = straight(t, x);
    for (int n = 0; n < x->n_read; n++) start = later(start, t->ready[x->read[n]]);
    if (!x->ends) start = later(start, sim_issue_begin(t, x));
    return turn(t, x, start);
}

/* What the block has counted before an instruction that accesses memory.  */
static void note_counters(SimTimer *t, const SimBlock *b) {
    t->passes = shared_passes(b);
    t->far_passes = b->timing->passes;
    t->conflicts = b->count.bank_conflicts;
    t->sectors = global_sectors(b);
    t->hits = t->block->hits;
}

bool sim_timer_issue(SimWarp *w, const SimCost *x) {
    SimTimer *t = w->timer;
    t->before = *t->now;
    if (x->kind != COST_FREE) {
        t->start = t->served = begin(t, x);
        *t->now = later(*t->now, t->start);
        if (t->start > w->block->cluster->until) return false;
    }
    t->place++;
    if (x->kind == COST_FREE || !x->accesses) return true;
    note_counters(t, w->block);
    t->block->cached = x->cached;
    t->block->far = t->block->missed = t->block->same = false;
    if (x->kind == COST_ARRIVE || x->kind == COST_MEET) *t->now += x->latency;
    return true;
}

/* Ticks until what an access to memory loads is there.  */
static uint32_t memory_latency(const SimWarp *w, const SimCost *x, const SimInst *i) {
    const SimTiming *t = w->timer->timing;
    uint64_t passes = shared_passes(w->block) - w->timer->passes;
    if (x->kind == COST_GLOBAL && passes == 0) return reach(w->timer);
    uint32_t wait = i->space == SPACE_SHARED_CLUSTER ? t->dsmem : t->smem;
    return wait + (passes > 1 ? (uint32_t)(passes - 1) * t->wavefront : 0);
}

/* Bytes that an access by a mover moves.  */
static uint64_t moved(const SimCost *x, const SimInst *i, uint32_t active) {
    bool words = i->ptx->op == OP_LDMATRIX || i->ptx->op == OP_STMATRIX || x->kind == COST_TENSOR;
    if (words) return 128 * (uint64_t)(x->n_write > x->n_read ? x->n_write : x->n_read - 1);
    return (uint64_t)sim_popcount(active) * i->bytes * i->count;
}

/* When a way to memory of the SM begins with what is ready, and takes so long.  */
static uint32_t serve(const SimTimer *t, SimWay way, uint32_t ready, double own) {
    SimSm *sm = t->block->sm;
    return sim_server_take(sm->arena, sim_way(sm, way), ready, (uint32_t)own) - (uint32_t)own;
}

/* An access to memory waits behind others of its SM: for the banks that shared memory and L1 have
 * in common, then for the port to L2.  Tensor Memory has a way of its own.  */
static void serve_access(SimWarp *w, const SimCost *x, uint64_t bytes) {
    SimTimer *t = w->timer;
    const SimBlock *b = w->block;
    const Mover *m = x->mover >= 0 ? &b->cluster->run->dev->mover[x->mover] : NULL;
    uint64_t near = shared_passes(b) - t->passes, far = b->timing->passes - t->far_passes;
    double own = (double)(near > far ? near : far) * t->timing->wavefront;
    if (x->kind == COST_TENSOR && m) own = (double)bytes * SIM_TICKS / m->rate.value;
    if (m && own < x->issue) own = x->issue;
    t->served = serve(t, x->kind == COST_TENSOR ? SIM_WAY_TENSOR : SIM_WAY_BANKS, t->start, own);
    double sectors = (double)(global_sectors(b) - t->sectors);
    t->served = serve(t, SIM_WAY_PORT, t->served, sectors * 32 * t->timing->port);
    if (m) sums(t)[sim_work_bytes(t->timing, x->mover)] += bytes;
}

/* When what an access to memory loads is there.  */
static uint32_t access(SimWarp *w, const SimCost *x, const SimInst *i) {
    SimTimer *t = w->timer;
    uint64_t sectors = global_sectors(w->block) - t->sectors;
    uint32_t ready = t->served + (x->kind == COST_TENSOR ? x->latency : memory_latency(w, x, i));
    if (sectors && x->n_write) take_off(t, ready, sectors * 32);
    return ready;
}

static bool is_access(const SimCost *x) {
    return x->kind == COST_GLOBAL || x->kind == COST_SHARED || x->kind == COST_TENSOR;
}

static void count_work(SimWarp *w, const SimCost *x) {
    const SimTimer *t = w->timer;
    uint64_t *sum = sums(t), *total = &sum[sim_work_sum(t->timing, 0)];
    total[SUM_ISSUED]++;
    if (x->work >= 0 && x->kind != COST_WGMMA) sum[x->work] += x->ops;
    if (!x->accesses) return;
    const SimBlock *b = w->block;
    /* A copy to shared memory makes one way.  */
    uint64_t near = shared_passes(b) - t->passes, far = b->timing->passes - t->far_passes;
    total[SUM_PASSES] += near;
    total[SUM_L1] += far > near ? far - near : 0;
    total[SUM_CONFLICTS] += b->count.bank_conflicts - t->conflicts;
    total[SUM_SECTORS] += global_sectors(b) - t->sectors;
    total[SUM_HITS] += b->timing->hits - t->hits;
    if (x->mover >= 0) sum[sim_work_moves(t->timing, x->mover)]++;
}

/* An atomic keeps the warp, and the SM's unit for atomics, busy.  */
static uint32_t atomic(const SimWarp *w, const SimCost *x) {
    SimTimer *t = w->timer;
    uint32_t busy = t->block->same ? t->timing->atomic_same : t->timing->atomic_distinct;
    sums(t)[sim_work_sum(t->timing, SUM_ATOMIC)] += busy;
    uint32_t far = shared_passes(w->block) > t->passes ? t->timing->smem : reach(t);
    uint32_t ready = t->start + later(far, busy);
    for (int n = 0; n < x->n_write; n++) t->ready[x->write[n]] = ready;
    return later(busy, x->issue);
}

/* Products of a warpgroup run one after another, behind the warp's back.  */
static void wgmma(SimWarp *w, const SimCost *x, const SimInst *i) {
    SimTimer *t = w->timer;
    if (x->kind == COST_WGMMA) {
        SimServer *pipe = &t->pipe[x->work];
        uint32_t begin = sim_server_begin(pipe, later(t->start, t->wgmma_free));
        t->wgmma_free = sim_server_do(t->block->sm->arena, pipe, begin, x);
        sim_slices_spread(&t->block->work, begin, t->wgmma_free, x->work, x->ops);
        t->wgmma_end = later(t->wgmma_end, later(t->wgmma_free, begin + x->latency));
    } else if (x->kind == COST_WGMMA_COMMIT) {
        t->wgmma_group[t->wgmma_groups++ % SIM_WGMMA_GROUPS] = t->wgmma_end;
    } else {
        uint32_t pending = *sim_u32(w, i->opnd[0].slot[0]);
        if (pending >= t->wgmma_groups || pending >= SIM_WGMMA_GROUPS) return;
        uint32_t group = t->wgmma_groups - 1 - pending;
        *t->now = later(*t->now, t->wgmma_group[group % SIM_WGMMA_GROUPS]);
    }
}

static void sleep(SimWarp *w, const SimInst *i) {
    enum { LONGEST = 1000000 };              /* ns, as the ISA says */
    const SimRun *r = w->block->cluster->run;
    uint32_t asked = *sim_u32(w, i->opnd[0].slot[0]);
    double ns = asked < LONGEST ? asked : LONGEST;
    *w->timer->now += (uint32_t)(ns * 1e-9 * hal_clock_hz(r->dev) * SIM_TICKS);
}

static void results(SimTimer *t, const SimCost *x, uint32_t ready) {
    for (int n = 0; n < x->n_write; n++) t->ready[x->write[n]] = ready;
}

/* A register that is only renamed is there when its source is.  */
static void rename(SimTimer *t, const SimCost *x) {
    uint32_t ready = 0;
    for (int n = 0; n < x->n_read; n++) ready = later(ready, t->ready[x->read[n]]);
    results(t, x, ready);
    sim_issue_rename(t, x);
}

void sim_timer_fence(const SimWarp *w) {
    w->timer->straight = *w->timer->now;
    w->timer->issued = 0;
    sim_issue_clear(&w->timer->order, *w->timer->now);
}

/* The warp's time behind an instruction that was issued for so long: behind all before it.  */
static void pass(const SimWarp *w, const SimCost *x, uint32_t issue) {
    SimTimer *t = w->timer;
    if (x->ends) {
        *t->now += issue;
        sim_timer_fence(w);
        return;
    }
    t->issued += issue;
    if (x->loads) t->load = later(t->load, t->straight) + issue;
    *t->now = later(later(*t->now, t->start + issue), t->straight + t->issued);
    for (int k = 0; k < 2; k++) {
        if (x->stores >> k & 1) t->stored[k] = later(t->stored[k], t->start + issue);
    }
}

void sim_timer_done(SimWarp *w, const SimInst *i, const SimCost *x, uint32_t active, bool parked) {
    SimTimer *t = w->timer;
    uint32_t *now = t->now, issue = x->issue;
    if (x->kind == COST_FREE) {
        rename(t, x);
        return;
    }
    if (parked) {
        *now = t->before;
        return;
    }
    if (active && is_access(x)) serve_access(w, x, x->mover >= 0 ? moved(x, i, active) : 0);
    count_work(w, x);
    uint32_t done = take_turn(t, x);
    if (!active) {                           /* switched off: it takes its place, and no more */
        pass(w, x, SIM_TICKS);
        return;
    }
    uint32_t ready = later(t->start + x->latency, done);
    switch (x->kind) {
    case COST_GLOBAL:
    case COST_SHARED:
    case COST_TENSOR: ready = access(w, x, i); break;
    case COST_ATOMIC: issue = atomic(w, x); break;
    case COST_ARRIVE: *now = t->start; break;
    case COST_MEET:
    case COST_WAIT: issue = 0; break;
    case COST_WGMMA:
    case COST_WGMMA_COMMIT:
    case COST_WGMMA_WAIT: wgmma(w, x, i); break;
    case COST_SLEEP: sleep(w, i); break;
    default: break;
    }
    if (!x->ends) sim_issue_done(t, x, ready - t->served);
    if (x->kind != COST_ATOMIC) results(t, x, x->kind == COST_WAIT ? *now : ready);
    pass(w, x, issue);
}
