#include "codegen/form_run.h"

#include <stdarg.h>
#include <stdio.h>

/* Runs the lists of events of a kernel's roles beside each other.  What a thread knows of others is
 * a clock of each (vector clocks): a sync joins them, and an access must know of all earlier ones
 * that it meets.  What is under way, asynchronous copies and products, has clocks of its own, of
 * which a thread learns by waiting.  */

enum {
    QUEUES = FORM_QUEUES + 1,             /* the last: what counts on barriers */
    CLOCKS = RUN_STRANDS * RUN_AGENTS * (1 + QUEUES),
    CELLS = 128, GROUPS = 64, NAMED = 17, PHASES = 64
};

/* A slot of a room.  */
typedef struct {
    Room room;
    int of, slot;
    bool written;
    int64_t data;
    int read[CLOCKS], write[CLOCKS];      /* clocks of the last ones; 0: none */
    int read_by[CLOCKS], write_by[CLOCKS];                /* by which event */
} Cell;

typedef struct {
    int clock[CLOCKS];        /* what it knows */
    int under_way[QUEUES];    /* clock of what was begun last */
    int group[QUEUES][GROUPS];            /* such clocks at the ends of its groups */
    int groups[QUEUES];
} Agent;

/* A barrier of some threads: who has come, and what they know.  */
typedef struct {
    int arrived;
    unsigned strands;         /* that wait */
    int clock[CLOCKS];
    int rounds;
} Meeting;

/* A barrier in shared memory.  */
typedef struct {
    int wanted, arrived;
    int made, maker;          /* when and by which thread its count was set */
    int64_t expected, brought;
    int clock[CLOCKS];        /* of the phase that goes on */
    int (*past)[CLOCKS];      /* of those that are complete */
    int phases;
} Barrier;

typedef struct {
    Arena *arena;
    const Form *f;
    Scenario way;
    Strand strand[RUN_STRANDS];
    EventList list[RUN_STRANDS];
    int at[RUN_STRANDS], n, serial;
    bool came[RUN_STRANDS];   /* to the sync at which it is */
    Agent *agent;             /* of strand s: s * RUN_AGENTS + i */
    Cell *cell;
    int n_cell;
    Meeting block, named[NAMED];
    Barrier *barrier;         /* ring x slot */
    const char *wrong;
} Run;

static void wrong(Run *r, const Node *n, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void wrong(Run *r, const Node *n, const char *fmt, ...) {
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

static int own_clock(int agent) { return agent * (1 + QUEUES); }
static int queue_clock(int agent, DoneBy done) { return own_clock(agent) + (int)done; }
static int agent_of(int clock) { return clock / (1 + QUEUES); }

static void join(int *to, const int *from) {
    for (int i = 0; i < CLOCKS; i++) {
        if (from[i] > to[i]) to[i] = from[i];
    }
}

static bool knows(const Agent *a, const int *clock) {
    for (int i = 0; i < CLOCKS; i++) {
        if (clock[i] > a->clock[i]) return false;
    }
    return true;
}

/* What a thread does from now on is later than what others have learnt of it.  */
static void tick(Run *r, int agent) { r->agent[agent].clock[own_clock(agent)]++; }

/* ---- accesses ---- */

static Cell *find_cell(Run *r, const Use *u, int slot, int strand) {
    bool registers = u->room == ROOM_STAGED || u->room == ROOM_FRAGMENTS;
    if (registers) slot += strand * (r->f->stages + r->f->turns);
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
        if (!before && i != own_clock(agent) && may_meet(share, agent, agent_of(i))) return false;
    }
    return true;
}

static const char *meets(const Run *r, const Cell *c, int agent, Share share, bool writes) {
    if (!is_ordered(r, c->write, c->write_by, agent, share)) return "is written meanwhile";
    if (writes && !is_ordered(r, c->read, c->read_by, agent, share)) return "may still be read";
    return NULL;
}

static bool takes_place(const Cell *c, const Cell *of) {
    bool stages = of->room <= ROOM_PARTS && c->room <= ROOM_PARTS;
    return stages && c->room != of->room &&
           (form_room_over(c->room) || form_room_over(of->room));
}

static void access(Run *r, int agent, const Event *e, int i) {
    const Use *u = &e->node->use[i];
    Cell *c = find_cell(r, u, e->use[i].slot, agent / RUN_AGENTS);
    if (!c) return;
    const char *what = meets(r, c, agent, u->share, u->writes);
    for (int x = 0; x < r->n_cell && !what; x++) {
        Cell *other = &r->cell[x];
        if (!takes_place(c, other)) continue;
        what = meets(r, other, agent, SHARE_BLOCK, u->writes);
        if (u->writes) other->written = false;
    }
    if (what) {
        wrong(r, e->node, "%s %d %s", form_room_name(u->room), u->of, what);
        return;
    }
    int own = u->late ? queue_clock(agent, e->node->done) : own_clock(agent);
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
            wrong(r, n, "more rooms than can be checked");
            return;
        }
        if (u->writes) {
            c->written = true;
            c->data = u->data == OF_KEPT ? kept : e->use[i].data;
            continue;
        }
        if (!c->written) wrong(r, n, "nothing has written %s %d", form_room_name(u->room), u->of);
        else if (e->use[i].data >= 0 && c->data != e->use[i].data)
            wrong(r, n, "%s %d is of step %lld, not %lld", form_room_name(u->room), u->of,
                  (long long)c->data, (long long)e->use[i].data);
        kept = c->data;
    }
}

/* ---- what is under way ---- */

static Barrier *barrier_of(Run *r, int ring, int slot) {
    return &r->barrier[ring * r->f->stages + slot];
}

static void complete(Barrier *b) {
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
    Barrier *b = barrier_of(r, n->barrier, slot);
    b->clock[queue_clock(agent, DONE_BARRIER)] = a->under_way[DONE_BARRIER - 1];
    b->brought += n->bytes;
    complete(b);
}

static void do_node(Run *r, int strand, const Event *e) {
    r->serial++;
    for (int i = 0; i < RUN_AGENTS && !r->wrong; i++) {
        int agent = strand * RUN_AGENTS + i;
        if (!(e->mask >> i & 1)) continue;
        if (e->node->done != DONE_AT_ONCE) begin_late(r, agent, e);
        for (int x = 0; x < e->node->n_use; x++) access(r, agent, e, x);
    }
    check_data(r, strand, e);
}

/* ---- syncs ---- */

static void meet(Run *r, int strand, unsigned mask, int *clock, bool gives, bool takes) {
    for (int i = 0; i < RUN_AGENTS; i++) {
        int agent = strand * RUN_AGENTS + i;
        if (!(mask >> i & 1)) continue;
        if (gives) join(clock, r->agent[agent].clock);
        if (takes) join(r->agent[agent].clock, clock);
        if (gives) tick(r, agent);
    }
}

static void meet_warps(Run *r, int strand, const Event *e) {
    for (int w = 0; w < RUN_WARPS; w++) {
        unsigned warp = w ? 0xcu : 0x3u, mask = e->mask & warp;
        int clock[CLOCKS] = {0};
        if (mask == 0) continue;
        if (mask != warp) wrong(r, e->node, "not all threads of the warp come there");
        meet(r, strand, mask, clock, true, false);
        meet(r, strand, mask, clock, false, true);
    }
}

/* Groups of what is under way: all but the last `count` are complete.  */
static void sync_groups(Run *r, int strand, const Event *e) {
    const Sync *s = &e->node->sync;
    int queue = (int)s->scope - (int)SYNC_COPIES;
    for (int i = 0; i < RUN_AGENTS; i++) {
        int agent = strand * RUN_AGENTS + i;
        Agent *a = &r->agent[agent];
        if (!(e->mask >> i & 1)) continue;
        int *group = a->group[queue], *n = &a->groups[queue];
        if (s->op == SYNC_COMMIT) {
            if (*n == GROUPS) {
                for (int x = 1; x < GROUPS; x++) group[x - 1] = group[x];
                --*n;
            }
            group[(*n)++] = a->under_way[queue];
        } else if (*n > s->count) {
            int *knows = &a->clock[queue_clock(agent, (DoneBy)(queue + 1))];
            if (group[*n - s->count - 1] > *knows) *knows = group[*n - s->count - 1];
        }
    }
}

/* A barrier of `wanted` threads.  False: it waits.  */
static bool sync_meeting(Run *r, int strand, const Event *e, Meeting *m, int wanted) {
    const Sync *s = &e->node->sync;
    int threads = r->strand[strand].warps * 32;
    if (!r->came[strand] && s->op != SYNC_WAIT) {
        meet(r, strand, e->mask, m->clock, true, false);
        m->arrived += threads;
        if (m->arrived > wanted) wrong(r, e->node, "more threads come there than it waits for");
    }
    if (s->op == SYNC_ARRIVE) return true;
    r->came[strand] = true;
    m->strands |= 1u << strand;
    if (m->arrived < wanted) return false;
    for (int i = 0; i < r->n; i++) {
        if (!(m->strands >> i & 1)) continue;
        meet(r, i, run_all(&r->strand[i]), m->clock, false, true);
        if (i == strand) continue;
        r->at[i]++;
        r->came[i] = false;
    }
    *m = (Meeting){0};
    return true;
}

/* Arrivals of those in the mask; one thread alone stands for itself.  */
static int arrivals(const Strand *s, const Sync *x, unsigned mask) {
    int all = mask == 1 || x->by == BY_ONE ? 1 : x->by == BY_WARPS ? s->warps : s->warps * 32;
    return x->blocks > 0 ? all * x->blocks : all;
}

/* A wait for a phase of a barrier, of which the hardware sees the parity alone: the one two phases
 * before must be known to be over.  False: it waits.  */
static bool sync_phase(Run *r, int strand, const Event *e, const Barrier *b) {
    int phase = e->round - e->node->sync.primed;
    for (int i = 0; i < RUN_AGENTS && phase > 0; i++) {
        int agent = strand * RUN_AGENTS + i;
        bool comes = e->mask >> i & 1;
        if (comes && (b->phases < phase || !knows(&r->agent[agent], b->past[phase - 1])))
            wrong(r, e->node, "the phase of barrier %d that is waited for may not have begun",
                  e->node->sync.id);
    }
    if (r->wrong || phase >= b->phases) return phase < 0;
    if (phase >= 0) meet(r, strand, e->mask, b->past[phase], false, true);
    return true;
}

static bool sync_barrier(Run *r, int strand, const Event *e) {
    const Sync *s = &e->node->sync;
    if (s->op == SYNC_INIT) {             /* by the block's first warp */
        for (int i = 0; i < r->f->stages && r->strand[strand].first == 0; i++) {
            Barrier *b = barrier_of(r, s->id, i);
            b->wanted = s->count;
            b->maker = own_clock(strand * RUN_AGENTS);
            b->made = r->agent[strand * RUN_AGENTS].clock[b->maker];
            if (!b->past) b->past = arena_alloc(r->arena, PHASES * sizeof *b->past);
        }
        return true;
    }
    if (e->at < 0) return true;
    Barrier *b = barrier_of(r, s->id, e->at);
    for (int i = 0; i < RUN_AGENTS; i++) {
        bool comes = e->mask >> i & 1;
        if (comes && (!b->past || r->agent[strand * RUN_AGENTS + i].clock[b->maker] < b->made))
            wrong(r, e->node, "barrier %d has no count of arrivals yet", s->id);
    }
    if (r->wrong) return false;
    if (s->op == SYNC_ARRIVE) {
        unsigned mask = s->by == BY_ONE ? e->mask & 1u : s->by == BY_WARPS ? e->mask & 5u : e->mask;
        meet(r, strand, mask, b->clock, true, false);
        b->arrived += arrivals(&r->strand[strand], s, e->mask);
        b->expected += s->bytes;
        if (b->arrived > b->wanted)
            wrong(r, e->node, "more arrive at barrier %d than it waits for", s->id);
        complete(b);
        return true;
    }
    return sync_phase(r, strand, e, b);
}

static int named_of(const Run *r, int strand, const Sync *s) {
    int team = r->strand[strand].team;
    return (s->id + (s->team == TEAM_OWN ? team : s->team == TEAM_OTHER ? !team : 0)) % NAMED;
}

/* True: the strand goes on.  */
static bool do_sync(Run *r, int strand, const Event *e) {
    const Sync *s = &e->node->sync;
    bool all = e->mask == run_all(&r->strand[strand]);
    switch (s->scope) {
    case SYNC_WARP: meet_warps(r, strand, e); return true;
    case SYNC_BLOCK:
    case SYNC_CLUSTER:
        if (!all) wrong(r, e->node, "not all threads of the block come there");
        return sync_meeting(r, strand, e, &r->block, r->f->warps * 32);
    case SYNC_NAMED:
        if (!all) wrong(r, e->node, "not all threads of the role come there");
        return sync_meeting(r, strand, e, &r->named[named_of(r, strand, s)], s->count);
    case SYNC_BARRIER: return sync_barrier(r, strand, e);
    case SYNC_PROXY: return true;
    case SYNC_PRODUCTS:                   /* of a warp, which waits together */
        sync_groups(r, strand, e);
        if (s->op == SYNC_WAIT) meet_warps(r, strand, e);
        return true;
    default: sync_groups(r, strand, e); return true;
    }
}

/* ---- the run ---- */

/* Lets a strand go on to where it waits; true: it has moved.  */
static bool go_on(Run *r, int strand) {
    int from = r->at[strand];
    while (r->at[strand] < r->list[strand].n && !r->wrong) {
        const Event *e = &r->list[strand].at[r->at[strand]];
        if (e->node->kind != NODE_SYNC) do_node(r, strand, e);
        else if (!do_sync(r, strand, e)) break;
        r->came[strand] = false;
        r->at[strand]++;
    }
    return r->at[strand] > from;
}

static void check_end(Run *r) {
    for (int i = 0; i < r->n; i++) {
        if (r->at[i] < r->list[i].n)
            wrong(r, r->list[i].at[r->at[i]].node, "waits for ever");
    }
    for (int x = 0; x < r->n * RUN_AGENTS; x++) {
        const Agent *a = &r->agent[x];
        for (int q = 0; q < QUEUES; q++) {
            int known = a->clock[queue_clock(x, (DoneBy)(q + 1))];
            for (int y = 0; q + 1 == DONE_BARRIER && y < r->n * RUN_AGENTS; y++) {
                int other = r->agent[y].clock[queue_clock(x, DONE_BARRIER)];
                if (other > known) known = other;
            }
            if (a->under_way[q] > known)
                wrong(r, NULL, "ends while %s are under way",
                      q + 1 == DONE_PRODUCTS ? "products" : "copies");
        }
    }
    for (int i = 0; i < FORM_BARRIERS * r->f->stages; i++) {
        if (r->barrier[i].arrived > 0)
            wrong(r, NULL, "ends while barrier %d waits for more to arrive", i / r->f->stages);
    }
}

static const char *run(Arena *a, const Form *f, const Scenario *way) {
    Run *r = ARENA_NEW(a, Run);
    *r = (Run){.arena = a, .f = f, .way = *way};
    r->n = run_strands(f, r->strand);
    r->agent = ARENA_ARRAY(a, Agent, r->n * RUN_AGENTS);
    r->cell = ARENA_ARRAY(a, Cell, CELLS);
    r->barrier = ARENA_ARRAY(a, Barrier, FORM_BARRIERS * f->stages);
    for (int i = 0; i < r->n; i++) {
        r->list[i] = run_unroll(a, f, &r->strand[i], way);
        for (int x = 0; x < RUN_AGENTS; x++) tick(r, i * RUN_AGENTS + x);
    }
    for (bool moved = true; moved && !r->wrong;) {
        moved = false;
        for (int i = 0; i < r->n; i++) moved |= go_on(r, i);
    }
    check_end(r);
    return r->wrong;
}

/* Syncs under conditions that not all of their threads share.  */
static const char *check_places(Arena *a, const Node *first, bool block, bool warp) {
    const char *bad = NULL;
    for (const Node *n = first; n && !bad; n = n->next) {
        const Sync *s = &n->sync;
        bool here = block && form_uniform(n->when, true);
        bool in_warp = warp && form_uniform(n->when, false);
        if (n->kind == NODE_SYNC && (s->scope == SYNC_BLOCK || s->scope == SYNC_CLUSTER) && !here)
            return "sync: of the block, where not all of its threads come";
        if (n->kind == NODE_SYNC && s->scope == SYNC_WARP && !in_warp)
            return "sync: of the warp, where not all of its threads come";
        if (n->kind == NODE_ROLE) here = false;
        bad = check_places(a, n->child, here, in_warp);
    }
    return bad;
}

/* A program of known steps has that many; more than two rounds of its ring go on as these.  */
const char *kernel_check(Arena *a, const Form *f) {
    int64_t s = f->stages, steps[] = {0, 1, 2, s - 1, s, s + 1, 2 * s + 2}, last = -1;
    int n = (int)(sizeof steps / sizeof *steps);
    const char *bad = check_places(a, f->root->child, true, true);
    for (int i = 0; i < n && !bad; i++) {
        int64_t now = steps[i] < f->steps ? steps[i] : f->steps;
        if (now <= last || (now < f->least && i + 1 < n)) continue;
        last = now;
        for (int turns = 1; turns <= 3 && !bad; turns += 2) {
            ArenaMark mark = arena_mark(a);
            bad = run(a, f, &(Scenario){.steps = now, .tiles = turns, .turns = turns});
            if (!bad) arena_reset(a, mark);
        }
    }
    return bad;
}
