/* Which subwarp runs next, and what it means when none can.  */
#include "sim/lane/warp.h"
#include "sim/timing/timing.h"

enum { PATIENCE = 16 };       /* rounds that lanes wait at a join while others run */

/* Bit n is that of lane first + n, and those behind the last lane follow.  */
static uint32_t turned(uint32_t lanes, int first) {
    return first ? lanes >> first | lanes << (LANES - first) : lanes;
}

static bool can_run(const SimWarp *w, int s) {
    const SimSubwarp *x = &w->subwarp[s];
    return x->state == SUBWARP_READY ||
           (x->state == SUBWARP_RETRY && x->event != w->block->cluster->event);
}

/* Runs every subwarp of the warp that can run, once; those that come to be meanwhile, too, if their
 * turn has not been.  */
static bool run_warp(SimWarp *w) {
    SimCluster *c = w->block->cluster;
    bool ran = false;
    int first = w->round++ % LANES;
    if (w->waiting > 0) sim_release_joins(w, PATIENCE);
    for (uint32_t turns = FULL_WARP, left; (left = turns & turned(w->subwarps, first));) {
        int n = sim_first_lane(left), s = (first + n) % LANES;
        turns = n + 1 < LANES ? FULL_WARP << (n + 1) : 0;
        if (!can_run(w, s)) continue;
        sim_quantum(w, s);
        sim_async_tick(c);
        ran = true;
        if (w->block->stop) return true;
    }
    return ran;
}

static SimWarp *warp_of(SimCluster *c, int n) {
    int per_block = c->block[0].n_warp;
    return &c->block[n / per_block].warp[n % per_block];
}

static bool stopped(const SimCluster *c) {
    for (int b = 0; b < c->n_block; b++) {
        if (c->block[b].stop) return true;
    }
    return false;
}

static bool finished(const SimCluster *c) {
    for (int b = 0; b < c->n_block; b++) {
        if (c->block[b].n_live > 0) return false;
    }
    return true;
}

/* Do some lanes of the warp wait where all of them have to come together?  */
static bool waits_for_all(const SimWarp *w) {
    const SimInst *code = w->block->cluster->run->kernel->code;
    for (int s = 0; s < LANES; s++) {
        const SimSubwarp *x = &w->subwarp[s];
        if (x->state == SUBWARP_WARP_SYNC && code[x->pc].aligned) return true;
    }
    return false;
}

/* Nothing runs: whoever waits at a join goes on, since the others may wait for them; but not past
 * an instruction that the whole warp has to execute.  */
static bool release_all(SimCluster *c) {
    bool any = false;
    for (int n = 0; n < c->n_block * c->block[0].n_warp; n++) {
        SimWarp *w = warp_of(c, n);
        if (!w->live || w->waiting == 0 || waits_for_all(w)) continue;
        if (sim_release_joins(w, 0)) any = true;
    }
    return any;
}

/* A waiting subwarp to tell of: barriers before everything else.  */
static SimWarp *first_waiting(SimCluster *c, const SimSubwarp **subwarp) {
    static const SubwarpState order[] = {SUBWARP_BARRIER, SUBWARP_WARP_SYNC, SUBWARP_RETRY};
    for (int kind = 0; kind < 3; kind++) {
        for (int n = 0; n < c->n_block * c->block[0].n_warp; n++) {
            SimWarp *w = warp_of(c, n);
            for (int s = 0; s < LANES; s++) {
                *subwarp = &w->subwarp[s];
                if (w->subwarp[s].state == order[kind]) return w;
            }
        }
    }
    return NULL;
}

/* Nothing runs and nothing is under way.  A barrier that threads have left behind is told apart
 * from threads that wait for each other.  */
static void report_deadlock(SimCluster *c) {
    const SimSubwarp *s;
    SimWarp *w = first_waiting(c, &s);
    if (!w) return;
    const SimInst *code = c->run->kernel->code;
    const SimInst *i = &code[s->state == SUBWARP_BARRIER ? s->pc - 1 : s->pc];
    SimLane by = sim_lane(w, i, sim_first_lane(s->mask));
    int live = 0;
    for (int n = 0; n < w->block->n_warp; n++) live += sim_popcount(w->block->warp[n].live);
    if (s->state == SUBWARP_BARRIER) {
        const SimBarrier *b = &w->block->barrier[s->barrier];
        bool left = live < w->block->threads;
        sim_fault(by, left ? SIM_DIVERGENT : SIM_DEADLOCK,
                  "barrier %d has %u of %u threads and no other can come; %d of %d threads of the "
                  "block have ended",
                  s->barrier, b->arrived, b->expected, w->block->threads - live, w->block->threads);
    } else if (s->state == SUBWARP_WARP_SYNC) {
        sim_fault(by, SIM_DIVERGENT,
                  "lanes 0x%08x of the warp wait here for lanes of the "
                  "member mask that never come",
                  s->mask);
    } else {
        Buf text = buf_new(c->arena);
        sim_async_describe(w->block, &text);
        sim_fault(by, SIM_DEADLOCK, "waits for ever%s%s", text.len ? ": " : "", buf_str(&text));
    }
}

static void check_limit(SimCluster *c) {
    uint64_t limit = c->run->options->max_instructions;
    if (limit == 0) limit = (uint64_t)1 << 32;
    for (int b = 0; b < c->n_block; b++) {
        SimBlock *block = &c->block[b];
        if (block->executed <= limit || block->n_live == 0) continue;
        SimWarp *w = block->warp;
        while (w->live == 0) w++;
        const SimSubwarp *s = w->subwarp;
        while (s->state == SUBWARP_FREE) s++;
        sim_fault(sim_lane(w, &c->run->kernel->code[s->pc], sim_first_lane(s->mask)), SIM_RUNAWAY,
                  "the block has executed %llu warp instructions",
                  (unsigned long long)block->executed);
    }
}

uint32_t sim_cluster_until(SimCluster *c, uint32_t until) {
    uint32_t first = UINT32_MAX - SIM_TIMED_WINDOW;
    for (int n = 0; n < c->n_warp && c->run->timing; n++) {
        const SimWarp *w = warp_of(c, n);
        if (!w->live || w->now >= first) continue;
        SIM_EACH(s, w->subwarps) if (can_run(w, s)) first = w->now;
    }
    c->first = first;
    return first + SIM_TIMED_WINDOW < until ? first + SIM_TIMED_WINDOW : until;
}

bool sim_cluster_run(SimCluster *c, uint32_t until) {
    uint32_t first = rng_below(&c->rng, (uint32_t)c->n_warp);
    bool ran = false;
    c->until = until;
    if (c->first > until && c->first < UINT32_MAX - SIM_TIMED_WINDOW) return false;
    for (int n = 0; n < c->n_warp; n++) {
        SimWarp *w = warp_of(c, (int)((first + (uint32_t)n) % (uint32_t)c->n_warp));
        if (w->live && w->now <= until && run_warp(w)) ran = true;
        if (w->block->stop) return true;
    }
    if (finished(c)) return true;
    if (watch_ended(c->run->options->watch)) return true;
    check_limit(c);
    if (!ran && !sim_async_force(c) && !release_all(c)) report_deadlock(c);
    return stopped(c);
}
