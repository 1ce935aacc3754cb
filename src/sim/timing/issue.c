/* The order in which a warp issues straight code.
 *
 * A compiler orders it, knowing dependences, latencies and rates of pipes, but neither other warps
 * nor how long a queue is; the warp then issues in that order, and what cannot begin yet keeps all
 * behind it from issuing (CUDA C++ Programming Guide, "Hardware Implementation": instructions "are
 * issued in order").  So an instruction has two times.  In the schedule it begins when its operands
 * are there, and its pipe and the issue are free, if the warp were alone; in fact it begins no
 * earlier than all that the schedule, and the text, have before it.  (What the text has behind it
 * has not run yet.)  How far it lies behind them in the schedule does not count: what makes it
 * wait, such as operands, has times of its own.  A schedule ends where straight code does: what is
 * under way then is there when it is.  */
#include "sim/timing/timing.h"

#include <string.h>

void sim_issue_new(Arena *a, const SimTiming *t, uint32_t registers, SimIssue *o) {
    o->arena = a;
    o->pipes = sim_part_pipes(t);
    o->pipe = ARENA_ARRAY(a, SimServer, o->pipes);
    o->ready = ARENA_ARRAY(a, SimPlanned, registers);
    sim_issue_clear(o, 0);
}

void sim_issue_clear(SimIssue *o, uint32_t from) {
    o->from = o->load = o->stored[0] = o->stored[1] = from;
    o->stretch++;
    o->n_stair = 0;
    for (int n = 0; n < o->pipes; n++) sim_server_clear(&o->pipe[n]);
}

/* When a register is there in the schedule.  */
static uint32_t planned(const SimTimer *t, Slot s) {
    const SimPlanned *p = &t->order.ready[s];
    return p->stretch == t->order.stretch ? p->time : t->ready[s];
}

/* How many stairs are not behind `at` in the schedule.  */
static uint32_t stairs_to(const SimIssue *o, uint32_t at) {
    uint32_t n = o->n_stair;
    while (n > 0 && o->stair[n - 1].at > at) n--;
    return n;
}

/* When the last of the instructions that the schedule has before `at` begins.  */
static uint32_t reached(const SimIssue *o, uint32_t at) {
    uint32_t n = stairs_to(o, at);
    return n ? o->stair[n - 1].begin : 0;
}

/* What is at `at` in the schedule begins then.  Of too many stairs the first goes.  */
static void reach(SimIssue *o, uint32_t at, uint32_t begin) {
    if (begin <= reached(o, at)) return;
    if (o->n_stair == SIM_STAIRS) memmove(o->stair, o->stair + 1, --o->n_stair * sizeof *o->stair);
    uint32_t n = stairs_to(o, at), next = n;
    while (next < o->n_stair && o->stair[next].begin <= begin) next++;
    memmove(&o->stair[n + 1], &o->stair[next], (o->n_stair - next) * sizeof *o->stair);
    o->stair[n] = (SimStair){at, begin};
    o->n_stair += n + 1 - next;
}

static SimServer *pipe_of(SimIssue *o, const SimCost *x) {
    return x->work >= 0 ? &o->pipe[x->work] : NULL;
}

static SimServer *issue_of(SimIssue *o) { return &o->pipe[o->pipes - 1]; }

uint32_t sim_issue_begin(SimTimer *t, const SimCost *x) {
    SimIssue *o = &t->order;
    uint32_t at = o->from;
    if (x->loads) at = later(at, o->load);
    for (int k = 0; k < 2; k++) {
        if (x->loads >> k & 1) at = later(at, o->stored[k]);
    }
    for (int n = 0; n < x->n_read; n++) at = later(at, planned(t, x->read[n]));
    at = o->from + sim_servers_begin(pipe_of(o, x), issue_of(o), at - o->from);
    o->begin = at;
    return later(at, reached(o, at));
}

static void plan(SimIssue *o, const SimCost *x, uint32_t ready) {
    for (int n = 0; n < x->n_write; n++) o->ready[x->write[n]] = (SimPlanned){ready, o->stretch};
}

void sim_issue_rename(SimTimer *t, const SimCost *x) {
    uint32_t ready = 0;
    for (int n = 0; n < x->n_read; n++) ready = later(ready, planned(t, x->read[n]));
    plan(&t->order, x, ready);
}

void sim_issue_done(SimTimer *t, const SimCost *x, uint32_t latency) {
    SimIssue *o = &t->order;
    reach(o, o->begin, t->start);
    uint32_t after = o->begin - o->from;
    SimServer *pipe = pipe_of(o, x);
    sim_server_take(o->arena, issue_of(o), after, t->timing->slot);
    if (pipe) sim_server_do(o->arena, pipe, after, x);
    if (x->loads) o->load += x->issue;
    for (int k = 0; k < 2; k++) {
        if (x->stores >> k & 1) o->stored[k] = later(o->stored[k], o->begin + x->issue);
    }
    plan(o, x, o->begin + latency);
}
