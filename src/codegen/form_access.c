#include "codegen/form_run.h"

#include <stdarg.h>
#include <stdio.h>

/* Accesses of a form as it runs: are they ordered behind those that they meet, and do they find the
 * data that they want?  What a thread knows of others is a clock of each (vector clocks).  What is
 * under way, asynchronous copies and products, has clocks of its own.  */

void run_wrong(Run *r, const Node *n, const char *fmt, ...) {
    va_list args;
    char text[160];
    if (r->wrong) return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    r->wrong = arena_printf(r->arena, "%s: %s (with %lld steps)",
                            n ? form_kind_name(n->kind) : "kernel", text,
                            (long long)r->way.steps);
}

/* ---- clocks ---- */

static int agent_of(int clock) { return clock / (1 + QUEUES); }

void run_join(int *to, const int *from) {
    for (int i = 0; i < CLOCKS; i++) {
        if (from[i] > to[i]) to[i] = from[i];
    }
}

bool run_knows(const Agent *a, const int *clock) {
    for (int i = 0; i < CLOCKS; i++) {
        if (clock[i] > a->clock[i]) return false;
    }
    return true;
}

void run_tick(Run *r, int agent) { r->agent[agent].clock[run_clock(agent)]++; }

/* ---- accesses ---- */

static Cell *find_cell(Run *r, const Use *u, int slot, int strand) {
    bool registers = rprog_room_space(u->room) == SPACE_REGISTERS;
    if (registers) slot += strand * (r->f->stages + r->f->turns + r->f->bodies);
    for (int i = 0; i < r->n_cell; i++) {
        Cell *c = &r->cell[i];
        if (c->room == u->room && c->of == u->of && c->slot == slot) return c;
    }
    if (r->n_cell == CELLS) return NULL;
    Cell *c = &r->cell[r->n_cell++];
    c->room = u->room;
    c->of = u->of;
    c->slot = slot;
    return c;
}

/* Can two threads touch the same element, if each touches what the share says?  */
static bool may_meet(Share share, int agent, int other) {
    if (share == SHARE_THREAD) return agent == other;
    return share == SHARE_BLOCK || agent / RUN_LANES == other / RUN_LANES;
}

/* Is an access of the agent ordered behind those of a kind?  */
static bool is_ordered(const Run *r, const int *clock, const int *by, int agent, Share share) {
    const int *knows = r->agent[agent].clock;
    for (int i = 0; i < CLOCKS; i++) {
        bool before = clock[i] <= knows[i] || by[i] == r->serial;
        if (!before && i != run_clock(agent) && may_meet(share, agent, agent_of(i))) return false;
    }
    return true;
}

static const char *meets(const Run *r, const Cell *c, int agent, Share share, bool writes) {
    if (!is_ordered(r, c->write, c->write_by, agent, share)) return "is written meanwhile";
    if (writes && !is_ordered(r, c->read, c->read_by, agent, share)) return "may still be read";
    return NULL;
}

static void access(Run *r, int agent, const Event *e, int i) {
    const Use *u = &e->node->use[i];
    Cell *c = find_cell(r, u, e->use[i].slot, agent / RUN_AGENTS);
    if (!c) return;
    const char *what = meets(r, c, agent, u->share, u->writes);
    for (int x = 0; x < r->n_cell && !what; x++) {
        Cell *other = &r->cell[x];
        if (!(r->over[c->room] >> other->room & 1)) continue;
        what = meets(r, other, agent, SHARE_BLOCK, u->writes);
        if (u->writes) other->written = false;
    }
    if (what) {
        run_wrong(r, e->node, "%s %d %s", rprog_room_name(u->room), u->of, what);
        return;
    }
    int own = u->late ? run_queue_clock(agent, e->node->done) : run_clock(agent);
    int *clock = u->writes ? c->write : c->read, *by = u->writes ? c->write_by : c->read_by;
    clock[own] = u->late ? r->agent[agent].under_way[e->node->done - 1]
                         : r->agent[agent].clock[own];
    by[own] = r->serial;
}

/* Data that is read, and what the node's writes leave.  */
static void check_data(Run *r, int strand, const Event *e) {
    int64_t kept = -1;
    const Node *n = e->node;
    for (int i = 0; i < n->n_use; i++) {
        const Use *u = &n->use[i];
        Cell *c = find_cell(r, u, e->use[i].slot, strand);
        if (!c) {
            run_wrong(r, n, "more rooms than can be checked");
            return;
        }
        if (u->writes) {
            c->written = true;
            c->data = u->data == OF_KEPT ? kept : e->use[i].data;
            continue;
        }
        if (!c->written)
            run_wrong(r, n, "nothing has written %s %d", rprog_room_name(u->room), u->of);
        else if (e->use[i].data >= 0 && c->data != e->use[i].data)
            run_wrong(r, n, "%s %d is of step %lld, not %lld", rprog_room_name(u->room), u->of,
                  (long long)c->data, (long long)e->use[i].data);
        kept = c->data;
    }
}

/* ---- what is under way ---- */

Barrier *run_barrier(Run *r, int ring, int slot) {
    return &r->barrier[ring * r->f->stages + slot];
}

void run_complete(Barrier *b) {
    if (b->arrived < b->wanted || b->expected != b->brought || b->wanted == 0) return;
    if (b->phases < PHASES) {
        for (int i = 0; i < CLOCKS; i++) b->past[b->phases][i] = b->clock[i];
        b->phases++;
    }
    b->arrived = 0;
    b->expected = b->brought = 0;
    for (int i = 0; i < CLOCKS; i++) b->clock[i] = 0;
}

/* Begins what is late: a new clock of the queue, that counts on the open group or on a barrier.  */
static void begin_late(Run *r, int agent, const Event *e) {
    const Node *n = e->node;
    Agent *a = &r->agent[agent];
    a->under_way[n->done - 1]++;
    if (n->done != DONE_BARRIER) return;
    int slot = 0;
    for (int i = 0; i < n->n_use; i++) {
        if (n->use[i].late) slot = e->use[i].slot;
    }
    Barrier *b = run_barrier(r, n->barrier, slot);
    b->clock[run_queue_clock(agent, DONE_BARRIER)] = a->under_way[DONE_BARRIER - 1];
    b->brought += n->bytes;
    run_complete(b);
}

void run_node(Run *r, int strand, const Event *e) {
    r->serial++;
    for (int i = 0; i < RUN_AGENTS && !r->wrong; i++) {
        int agent = strand * RUN_AGENTS + i;
        if (!(e->mask >> i & 1)) continue;
        if (e->node->done != DONE_AT_ONCE) begin_late(r, agent, e);
        for (int x = 0; x < e->node->n_use; x++) access(r, agent, e, x);
    }
    check_data(r, strand, e);
}
