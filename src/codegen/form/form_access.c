#include "codegen/form/form_run.h"

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

int *run_clocks(const Run *r) { return ARENA_ARRAY(r->arena, int, 2 * r->clocks); }

void run_join(const Run *r, int *to, const int *from) {
    for (int i = 0; i < 2 * r->clocks; i++) {
        if (from[i] > to[i]) to[i] = from[i];
    }
}

bool run_knows(const Run *r, int agent, const int *clock) {
    for (int i = 0; i < r->clocks; i++) {
        if (clock[i] > r->agent[agent].clock[i]) return false;
    }
    return true;
}

void run_tick(Run *r, int agent) { r->agent[agent].clock[run_clock(r, agent)]++; }

void run_fence(Run *r, int agent) {
    int *knows = r->agent[agent].clock;
    for (int i = 0; i < r->clocks; i++)
        if (knows[i] > knows[r->clocks + i]) knows[r->clocks + i] = knows[i];
    run_tick(r, agent);
}

/* ---- accesses ---- */

/* Does it count on a barrier?  Boxes do, which are of all, and no thread has written.  */
static bool is_box(const Run *r, int clock) { return clock % (1 + r->queues) > FORM_QUEUES; }

static Cell *find_cell(const Run *r, const Use *u, int slot, int strand) {
    const Room *x = u->room;
    bool registers = rprog_room_space(x->kind) == SPACE_REGISTERS;
    return &r->cell[x - r->f->layout->room][registers ? strand * x->slots + slot : slot];
}

/* Can two threads touch the same element, if each touches what the share says?  */
static bool may_meet(Share share, int agent, int other) {
    if (share == SHARE_THREAD) return agent == other;
    return share == SHARE_BLOCK || agent / RUN_LANES == other / RUN_LANES;
}

/* Is an access of the agent ordered behind those of a kind?  in_order: the clock of those that
 * follow each other.  */
static bool is_ordered(const Run *r, const int *clock, const int *by, int agent, Share share,
                       int in_order) {
    const int *knows = r->agent[agent].clock;
    for (int i = 0; i < r->clocks; i++) {
        bool before = clock[i] <= knows[i] || by[i] == r->serial;
        bool own = i == run_clock(r, agent) || i == in_order;
        bool met = is_box(r, i) || may_meet(share, agent, i / (1 + r->queues));
        if (!before && !own && met) return false;
    }
    return true;
}

/* Has all that threads have written there passed a fence that the agent comes behind?  */
static bool is_fenced(const Run *r, const Cell *c, int agent, Share share) {
    const int *passed = r->agent[agent].clock + r->clocks;
    for (int i = 0; i < r->clocks; i++) {
        bool met = !is_box(r, i) && may_meet(share, agent, i / (1 + r->queues));
        if (met && c->write[i] > passed[i]) return false;
    }
    return true;
}

static const char *meets(const Run *r, const Cell *c, int agent, Share share, bool writes,
                         int in_order) {
    if (!is_ordered(r, c->write, c->write_by, agent, share, in_order))
        return "is written meanwhile";
    if (writes && !is_ordered(r, c->read, c->read_by, agent, share, in_order))
        return "may still be read";
    return NULL;
}

/* What others had where the room takes their place.  */
static const char *meets_others(const Run *r, const Room *own, int agent, bool writes) {
    const Layout *l = r->f->layout;
    const char *what = NULL;
    for (int i = 0; i < l->n_room; i++) {
        const Room *x = &l->room[i];
        if (x->kind == own->kind || !rprog_over(own, x)) continue;
        for (int k = 0; k < run_cells(x) && !what; k++) {
            Cell *c = &r->cell[i][k];
            if (c->touched) what = meets(r, c, agent, SHARE_BLOCK, writes, -1);
            if (writes) c->written = false;
        }
    }
    return what;
}

/* Where a node's late uses are counted.  */
static int queue_of(const Run *r, const Event *e) {
    const Node *n = e->node;
    int slot = 0;
    if (n->done != DONE_BARRIER) return (int)n->done - 1;
    for (int i = 0; i < n->n_use; i++) {
        if (n->use[i].late) slot = e->use[i].slot;
    }
    return FORM_QUEUES + r->slots[n->ring] + slot;
}

static void access(Run *r, int agent, const Event *e, int i) {
    const Use *u = &e->node->use[i];
    Cell *c = find_cell(r, u, e->use[i].slot, agent / RUN_AGENTS);
    int queue = u->late ? queue_of(r, e) : -1, own = run_queue_clock(r, agent, queue);
    /* Products of a thread add to accumulators one after the other (PTX ISA, "Pipelined tcgen05
     * instructions").  */
    bool in_order = rprog_room_space(u->room->kind) == SPACE_TENSOR;
    const char *what = meets(r, c, agent, u->share, u->writes, in_order ? own : -1);
    if (!what) what = meets_others(r, u->room, agent, u->writes);
    bool alone = u->late && !u->writes && rprog_room_space(u->room->kind) == SPACE_SHARED;
    if (!what && alone && !is_fenced(r, c, agent, u->share))
        what = "is read without a fence behind writes";
    if (what) {
        run_wrong(r, e->node, "%s %d %s", rprog_room_name(u->room->kind), u->room->of, what);
        return;
    }
    c->touched = true;
    int *clock = u->writes ? c->write : c->read, *by = u->writes ? c->write_by : c->read_by;
    clock[own] = u->late ? r->agent[agent].under_way[queue] : r->agent[agent].clock[own];
    by[own] = r->serial;
}

/* Data that is read, and what the node's writes leave.  */
static void check_data(Run *r, int strand, const Event *e) {
    int64_t kept = -1;
    const Node *n = e->node;
    for (int i = 0; i < n->n_use; i++) {
        const Use *u = &n->use[i];
        Cell *c = find_cell(r, u, e->use[i].slot, strand);
        const char *name = rprog_room_name(u->room->kind);
        if (u->writes) {
            c->written = true;
            c->data = u->data == OF_KEPT ? kept : e->use[i].data;
            continue;
        }
        if (!c->written)
            run_wrong(r, n, "nothing has written %s %d", name, u->room->of);
        else if (e->use[i].data >= 0 && c->data != e->use[i].data)
            run_wrong(r, n, "%s %d is of step %lld, not %lld", name, u->room->of,
                      (long long)c->data, (long long)e->use[i].data);
        kept = c->data;
    }
}

/* ---- what is under way ---- */

Barrier *run_barrier(const Run *r, int ring, int id, int slot) {
    return &r->barrier[ring][id * run_slots(&r->f->layout->ring[ring]) + slot];
}

void run_complete(const Run *r, Barrier *b) {
    if (b->arrived < b->wanted || b->expected != b->brought || b->wanted == 0) return;
    b->past = arena_grow(r->arena, b->past, &b->room, (size_t)b->phases + 1, sizeof *b->past);
    b->past[b->phases++] = b->clock;
    b->arrived = 0;
    b->expected = b->brought = 0;
    b->clock = run_clocks(r);
}

/* Begins what is late: a new clock of the queue, that counts on the open group or on a barrier.  */
static void begin_late(Run *r, int agent, const Event *e) {
    const Node *n = e->node;
    int queue = queue_of(r, e), *under_way = r->agent[agent].under_way;
    under_way[queue]++;
    if (n->done != DONE_BARRIER) return;
    Barrier *b = run_barrier(r, n->ring, RING_FULL, queue - FORM_QUEUES - r->slots[n->ring]);
    b->clock[run_queue_clock(r, agent, queue)] = under_way[queue];
    b->brought += n->bytes;
    run_complete(r, b);
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
