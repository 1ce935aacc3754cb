#include "sim/lane/warp.h"
#include "sim/state/clock.h"
#include "sim/lane/code.h"
#include "sim/timing/timing.h"
#include <string.h>

void sim_warps_begin(SimBlock *b) {
    SimCluster *c = b->cluster;
    const SimKernel *k = c->run->kernel;
    Arena *a = c->arena;
    size_t file = k->file_bytes + 512;       /* nothing overruns the last place */
    size_t half = k->n_konst * 256;
    for (int n = 0; n < b->n_warp; n++) {
        SimWarp *w = &b->warp[n];
        unsigned char *registers = arena_alloc(a, file + 32);
        registers += (32 - (uintptr_t)registers % 32) % 32;
        *w = (SimWarp){.block = b, .id = n, .clock_id = b->rank * b->n_warp + n};
        w->base32[0] = w->base64[0] = registers;
        w->base64[1] = c->run->constants;
        w->base32[1] = c->run->constants + half;
        int threads = b->threads - n * LANES;
        w->exists = w->live = threads >= LANES ? FULL_WARP : (1u << threads) - 1;
        w->mask = w->live;
        w->subwarp[0] = (SimSubwarp){.state = SUBWARP_READY, .mask = w->live, .join = -1};
        w->subwarps = 1;
        w->join = ARENA_ARRAY(a, SimJoin, SIM_MAX_JOINS);
        w->views[w->n_views++] = sim_clock_new(c);
        for (int l = 0; l < LANES; l++) w->view[l] = w->views[0];
        sim_stack_begin(w, k);
    }
    b->n_live = b->n_warp;
}

/* ---- subwarps ---- */

/* 32 lanes never make more than 32 subwarps, so there is a free one.  */
static void add_subwarp(SimWarp *w, uint32_t mask, uint32_t pc, int join) {
    int s = sim_first_lane(~w->subwarps);
    w->subwarp[s] = (SimSubwarp){.state = SUBWARP_READY, .mask = mask, .pc = pc, .join = join};
    w->subwarps |= 1u << s;
}

static void free_subwarp(SimWarp *w, int s) {
    w->subwarp[s].state = SUBWARP_FREE;
    w->subwarps &= ~(1u << s);
}

static void end_running(SimWarp *w) {
    free_subwarp(w, w->running);
    w->running = -1;
    w->yield = true;
}

/* ---- joins ---- */

static int free_join(SimWarp *w) {
    for (int j = 0; j < SIM_MAX_JOINS; j++) {
        if (!w->join[j].used) return j;
    }
    return -1;
}

void sim_enter(SimWarp *w, uint32_t pc) {
    SimSubwarp *s = &w->subwarp[w->running];
    if (s->join >= 0 && w->join[s->join].pc == pc) return;
    int j = free_join(w);
    if (j < 0) return;                       /* lanes then stay apart, which is slow but right */
    w->join[j] = (SimJoin){.pc = pc, .expected = s->mask, .outer = s->join, .used = true};
    s->join = j;
}

/* Lanes that were expected at join j and everything around it will not come.  */
static void complete(SimWarp *w, int j) {
    SimJoin *join = &w->join[j];
    if (join->arrived != join->expected) return;
    join->used = false;
    if (join->arrived) w->waiting--;
    if (join->expected) add_subwarp(w, join->expected, join->pc + 1, join->outer);
}

static void leave(SimWarp *w, int j, uint32_t lanes) {
    w->join[j].expected &= ~lanes;
    complete(w, j);
}

void sim_exec_join(SimWarp *w, const SimInst *i, uint32_t active) {
    (void)i;
    SimSubwarp *s = &w->subwarp[w->running];
    uint32_t pc = w->pc - 1;
    int at = s->join;
    while (at >= 0 && w->join[at].pc != pc) at = w->join[at].outer;
    if (at < 0) return;
    if (s->join == at && w->join[at].expected == active) {
        w->join[at].used = false;            /* nobody else to wait for */
        s->join = w->join[at].outer;
        return;
    }
    int from = s->join;
    end_running(w);
    while (from != at) {
        int outer = w->join[from].outer;
        leave(w, from, active);
        from = outer;
    }
    if (!w->join[at].arrived) w->waiting++;
    w->join[at].arrived |= active;
    w->join[at].since = w->round;
    complete(w, at);
}

bool sim_release_joins(SimWarp *w, int rounds) {
    bool any = false;
    for (int j = 0; j < SIM_MAX_JOINS; j++) {
        SimJoin *x = &w->join[j];
        if (!x->used || !x->arrived || w->round - x->since < rounds) continue;
        any = true;
        add_subwarp(w, x->arrived, x->pc + 1, x->outer);
        x->expected &= ~x->arrived;
        x->arrived = 0;
        w->waiting--;
    }
    return any;
}

void sim_diverge(SimWarp *w, uint32_t taken, uint32_t target, uint32_t join) {
    SimSubwarp *s = &w->subwarp[w->running];
    if (join != SLOT_NONE) sim_enter(w, join);
    uint32_t rest = w->mask & ~taken;
    s->mask = rest;
    add_subwarp(w, taken, target, s->join);
    w->mask = rest;
}

void sim_scatter(SimWarp *w, uint32_t lanes, const uint32_t target[LANES], uint32_t join) {
    SimSubwarp *s = &w->subwarp[w->running];
    if (join != SLOT_NONE) sim_enter(w, join);
    uint32_t rest = w->mask & ~lanes;
    int outer = s->join;
    if (rest == 0) end_running(w);
    else s->mask = w->mask = rest;
    while (lanes) {
        uint32_t same = 0, first = SLOT_NONE;
        SIM_EACH(l, lanes) {
            if (first == SLOT_NONE) first = target[l];
            if (target[l] == first) same |= 1u << l;
        }
        add_subwarp(w, same, first, outer);
        lanes &= ~same;
    }
}

void sim_lanes_exit(SimWarp *w, uint32_t lanes) {
    SimSubwarp *s = &w->subwarp[w->running];
    int join = s->join;
    s->mask &= ~lanes;
    w->mask &= ~lanes;
    w->live &= ~lanes;
    if (s->mask == 0) end_running(w);
    while (join >= 0) {
        int outer = w->join[join].outer;
        leave(w, join, lanes);
        join = outer;
    }
    for (int n = 0; n < LANES; n++) {        /* who waits for lanes of the warp looks again */
        if (w->subwarp[n].state == SUBWARP_WARP_SYNC) w->subwarp[n].state = SUBWARP_READY;
    }
    if (w->live == 0) w->block->n_live--;
    sim_event(w->block->cluster);
}

/* ---- waiting ---- */

static void stay(SimWarp *w, SubwarpState state) {
    SimSubwarp *s = &w->subwarp[w->running];
    w->pc--;
    s->state = state;
    s->event = w->block->cluster->event;
    w->yield = true;
    w->block->pipe[w->block->cluster->run->kernel->code[w->pc].pipe]--;
}

void sim_retry(SimWarp *w) { stay(w, SUBWARP_RETRY); }

void sim_event(SimCluster *c) { c->event++; }

void sim_park(SimWarp *w, int barrier) {
    w->subwarp[w->running].state = SUBWARP_BARRIER;
    w->subwarp[w->running].barrier = barrier;
    w->yield = true;
}

void sim_wake_barrier(SimBlock *b, int barrier) {
    for (int n = 0; n < b->n_warp; n++) {
        for (int s = 0; s < LANES; s++) {
            SimSubwarp *x = &b->warp[n].subwarp[s];
            if (x->state == SUBWARP_BARRIER && x->barrier == barrier) x->state = SUBWARP_READY;
        }
    }
}

uint32_t sim_gather(SimWarp *w, uint32_t active, uint32_t members) {
    members &= w->live;
    if ((members & ~active) == 0) return active;
    uint32_t pc = w->pc - 1, all = active;
    for (int s = 0; s < LANES; s++) {
        const SimSubwarp *x = &w->subwarp[s];
        if (x->state == SUBWARP_WARP_SYNC && x->pc == pc) all |= x->mask;
    }
    if (members & ~all) {
        stay(w, SUBWARP_WARP_SYNC);
        return 0;
    }
    SimSubwarp *me = &w->subwarp[w->running];
    for (int s = 0; s < LANES; s++) {
        SimSubwarp *x = &w->subwarp[s];
        if (x->state != SUBWARP_WARP_SYNC || x->pc != pc || !(x->mask & members)) continue;
        x->state = SUBWARP_READY;
        x->pc = pc + 1;
        if (x->join != me->join) continue;
        me->mask |= x->mask;                 /* they go on together */
        w->mask |= x->mask;
        free_subwarp(w, s);
    }
    return all;
}

/* ---- running ---- */

/* Whether the instruction waits to be executed again.  */
static bool parked(const SimWarp *w, int s) {
    return w->subwarp[s].state == SUBWARP_RETRY || w->subwarp[s].state == SUBWARP_WARP_SYNC;
}

void sim_quantum(SimWarp *w, int s) {
    SimSubwarp *subwarp = &w->subwarp[s];
    SimBlock *b = w->block;
    SimCluster *c = b->cluster;
    const SimInst *code = c->run->kernel->code;
    subwarp->state = SUBWARP_READY;
    w->running = s;
    w->pc = subwarp->pc;
    w->mask = subwarp->mask;
    w->yield = false;
    uint64_t flops = 0;
    const SimCost *cost = w->timer ? w->timer->timing->cost : NULL;
    int quantum = cost ? SIM_TIMED_QUANTUM : SIM_QUANTUM, left = quantum;
    do {
        const SimInst *i = &code[w->pc];
        uint32_t active = w->mask;
        if (cost && !sim_timer_issue(w, &cost[i - code])) break;
        w->pc++;
        b->pipe[i->pipe]++;
        c->time += SIM_PIPES_TIMED >> i->pipe & 1;
        if (i->guard != SLOT_NONE) {
            active &= *sim_u32(w, i->guard) ^ i->guard_flip;
        }
        if (active && i->aligned && active != w->live) {
            active = sim_gather(w, active, w->live);
        }
        if (active) {
            if (i->flops) flops += i->flops * (uint64_t)sim_popcount(active);
            if (w->watch) w->watch(w, i, active);
            i->exec(w, i, active);
        }
        if (cost) sim_timer_done(w, i, &cost[i - code], active, parked(w, s));
    } while (!w->yield && --left && w->now <= c->until);
    b->count.flops += flops;
    b->executed += (uint64_t)(quantum - left + w->yield);
    if (w->running == s) {
        subwarp->pc = w->pc;
        subwarp->mask = w->mask;
    }
}
