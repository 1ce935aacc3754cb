/* What the pipes of an SM are busy with.
 *
 * A pipe serves one instruction at a time: one begins when it is ready and the pipe is free, and a
 * pipe that had nothing to do does not make up for it.  Warps, and the blocks of an SM, do not run
 * in the order of time here.  So a pipe keeps for how much of each slot of time it is taken, and an
 * instruction gets what others have left from when it is ready.  Slots double in length when there
 * are too many.  */
#include "sim/timing/timing.h"

/* A slot of a pipe is a clock at first, one of the issue four: it may take two in a clock.  */
enum { SLOTS = 1 << 14, ISSUE_SHIFT = 6, PIPE_SHIFT = 4 };
#define FULL (1u << 31)       /* the rest is the next slot that may have room */

void sim_server_clear(SimServer *p) {
    p->n = p->rest = 0;
    p->shift = PIPE_SHIFT;
}

void sim_sm_clear(SimSm *s) {
    for (int n = 0; n < s->n_pipe; n++) {
        sim_server_clear(&s->pipe[n]);
        if ((n + 1) % s->n_part == 0) s->pipe[n].shift = ISSUE_SHIFT;
    }
    s->path = s->warps = 0;
    s->blocks = s->ended = 0;
}

void sim_sm_init(Arena *a, Arena *slots, const SimTiming *t, SimSm *s) {
    s->arena = slots;
    s->n_part = sim_part_pipes(t);
    s->n_pipe = (int)t->parts * s->n_part + SIM_WAYS;
    s->pipe = ARENA_ARRAY(a, SimServer, s->n_pipe);
    sim_sm_clear(s);
}

static uint32_t taken(const SimServer *p, uint32_t k) {
    if (k >= p->n) return 0;
    return p->slot[k] & FULL ? 1u << p->shift : p->slot[k];
}

static void fold(SimServer *p) {
    uint32_t n = (p->n + 1) / 2;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t both = taken(p, 2 * k) + taken(p, 2 * k + 1);
        p->slot[k] = both >> (p->shift + 1) ? FULL | (k + 1) : both;
    }
    p->n = n;
    p->shift++;
}

/* The first slot with room from a time on.  */
static uint32_t room(SimServer *p, uint32_t at) {
    for (;; fold(p)) {
        uint32_t k = at >> p->shift;
        while (k < p->n && p->slot[k] & FULL) {
            uint32_t next = p->slot[k] & ~FULL;
            if (next < p->n && p->slot[next] & FULL) p->slot[k] = p->slot[next];
            k = next;
        }
        if (k >= SLOTS) continue;
        while (p->n <= k) p->slot[p->n++] = 0;
        return k;
    }
}

uint32_t sim_server_begin(SimServer *p, uint32_t ready) {
    if (!p->n) return ready;
    uint32_t k = room(p, ready);
    return later(ready, (k << p->shift) + p->slot[k]);
}

uint32_t sim_servers_begin(SimServer *pipe, SimServer *issue, uint32_t ready) {
    for (uint32_t begin = ready;; ready = begin) {
        if (pipe) begin = sim_server_begin(pipe, begin);
        begin = sim_server_begin(issue, begin);
        if (begin == ready || !pipe) return begin;
    }
}

uint32_t sim_server_take(Arena *a, SimServer *p, uint32_t ready, uint32_t own) {
    uint32_t end = ready;
    if (!p->slot) p->slot = arena_room(a, SLOTS, sizeof *p->slot);
    while (own > 0) {
        uint32_t k = room(p, end), length = 1u << p->shift;
        uint32_t begin = later(end, (k << p->shift) + p->slot[k]);
        uint32_t left = ((k + 1) << p->shift) - begin, part = own < left ? own : left;
        p->slot[k] += part;
        if (p->slot[k] >= length) p->slot[k] = FULL | (k + 1);
        own -= part;
        end = begin + part;
    }
    return end;
}

uint32_t sim_server_do(Arena *a, SimServer *p, uint32_t ready, const SimCost *x) {
    uint32_t parts = p->rest + x->part;
    p->rest = parts % SIM_PARTS;
    return sim_server_take(a, p, ready, x->own + parts / SIM_PARTS);
}
