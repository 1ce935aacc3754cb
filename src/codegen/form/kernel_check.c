#include "codegen/form/form_run.h"

/* Runs the lists of events of a kernel's roles beside each other.  What a thread knows of others is
 * a clock of each (vector clocks): a sync joins them, and an access must know of all earlier ones
 * that it meets.  What is under way, asynchronous copies and products, has clocks of its own, of
 * which a thread learns by waiting.  */

/* ---- syncs ---- */

static void meet(Run *r, int strand, unsigned mask, int *clock, bool gives, bool takes) {
    for (int i = 0; i < RUN_AGENTS; i++) {
        int agent = strand * RUN_AGENTS + i;
        if (!(mask >> i & 1)) continue;
        if (gives) run_join(r, clock, r->agent[agent].clock);
        if (takes) run_join(r, r->agent[agent].clock, clock);
        if (gives) run_tick(r, agent);
    }
}

static void meet_warps(Run *r, int strand, const Event *e) {
    for (int w = 0; w < RUN_WARPS; w++) {
        unsigned warp = w ? 0xcu : 0x3u, mask = e->mask & warp;
        if (mask == 0) continue;
        int *clock = run_clocks(r);
        if (mask != warp) run_wrong(r, e->node, "not all threads of the warp come there");
        meet(r, strand, mask, clock, true, false);
        meet(r, strand, mask, clock, false, true);
    }
}

static void end_group(const Run *r, Agent *a, int queue) {
    int n = a->group[queue].n++;
    a->group[queue].end = arena_grow(r->arena, a->group[queue].end, &a->group[queue].room,
                                     (size_t)n + 1, sizeof(int));
    a->group[queue].end[n] = a->under_way[queue];
}

/* Groups of what is under way: all but the last `count` are complete.  */
static void sync_groups(Run *r, int strand, const Event *e) {
    const Sync *s = &e->node->sync;
    int queue = (int)s->scope - (int)SYNC_COPIES;
    for (int i = 0; i < RUN_AGENTS; i++) {
        int agent = strand * RUN_AGENTS + i;
        Agent *a = &r->agent[agent];
        int *knows = &a->clock[run_queue_clock(r, agent, queue)], n = a->group[queue].n;
        if (!(e->mask >> i & 1)) continue;
        if (s->op == SYNC_COMMIT) end_group(r, a, queue);
        else if (n > s->count && a->group[queue].end[n - s->count - 1] > *knows)
            *knows = a->group[queue].end[n - s->count - 1];
    }
}

/* Products are a warp's: what one lane has waited for is done for all, but no lane knows by that
 * what the others have read or written themselves.  */
static void meet_products(Run *r, int strand) {
    for (int i = 0; i < RUN_AGENTS; i++) {
        int agent = strand * RUN_AGENTS + i, other = strand * RUN_AGENTS + (i ^ 1);
        int clock = run_queue_clock(r, agent, DONE_PRODUCTS - 1);
        int done = r->agent[agent].clock[clock], *knows = &r->agent[other].clock[clock];
        if (done > *knows) *knows = done;
    }
}

static Meeting new_meeting(const Run *r) {
    return (Meeting){.clock = run_clocks(r), .waits = ARENA_ARRAY(r->arena, bool, r->n)};
}

/* A barrier of `wanted` threads.  False: it waits.  */
static bool sync_meeting(Run *r, int strand, const Event *e, Meeting *m, int wanted) {
    const Sync *s = &e->node->sync;
    int threads = r->strand[strand].warps * 32;
    if (!r->came[strand] && s->op != SYNC_WAIT) {
        meet(r, strand, e->mask, m->clock, true, false);
        m->arrived += threads;
        if (m->arrived > wanted) run_wrong(r, e->node, "more threads come there than it waits for");
    }
    if (s->op == SYNC_ARRIVE) return true;
    r->came[strand] = true;
    m->waits[strand] = true;
    if (m->arrived < wanted) return false;
    for (int i = 0; i < r->n; i++) {
        if (!m->waits[i]) continue;
        meet(r, i, run_all(&r->strand[i]), m->clock, false, true);
        if (i == strand) continue;
        r->at[i]++;
        r->came[i] = false;
    }
    *m = new_meeting(r);
    return true;
}

/* Blocks that do as this one does, at each barrier of the cluster or at that of a pair's first
 * block; of a pair one block commits for both.  */
static int arriving(const Sync *x) {
    int blocks = x->blocks > 0 ? x->blocks : 1;
    if (x->pair == 0) return blocks;
    return x->op == SYNC_COMMIT ? blocks / x->pair : x->pair;
}

/* Arrivals of those in the mask; one thread alone stands for itself.  */
static int arrivals(const Strand *s, const Sync *x, unsigned mask) {
    int all = mask == 1 || x->by == BY_ONE ? 1 : x->by == BY_WARPS ? s->warps : s->warps * 32;
    return all * arriving(x);
}

/* A wait for a phase of a barrier, of which the hardware sees the parity alone: the one two phases
 * before must be known to be over.  False: it waits.  */
static bool sync_phase(Run *r, int strand, const Event *e, const Barrier *b) {
    int phase = e->round - (e->node->sync.id == RING_EMPTY);
    for (int i = 0; i < RUN_AGENTS && phase > 0; i++) {
        int agent = strand * RUN_AGENTS + i;
        bool comes = e->mask >> i & 1;
        if (comes && (b->phases < phase || !run_knows(r, agent, b->past[phase - 1])))
            run_wrong(r, e->node, "the phase of barrier %d that is waited for may not have begun",
                  e->node->sync.id);
    }
    if (r->wrong || phase >= b->phases) return phase < 0;
    if (phase >= 0) meet(r, strand, e->mask, b->past[phase], false, true);
    return true;
}

/* Who learns of the arrival knows that the products, or the copies, have ended.  */
static void commit_late(const Run *r, int strand, const Event *e, Barrier *b) {
    int queue = (int)e->node->sync.after - 1;
    unsigned mask = e->mask;
    for (int i = 0; i < RUN_AGENTS; i++) {
        int agent = strand * RUN_AGENTS + i;
        int *ends = &b->clock[run_queue_clock(r, agent, queue)];
        int now = r->agent[agent].under_way[queue];
        if ((mask >> i & 1) && now > *ends) *ends = now;
    }
}

static bool sync_barrier(Run *r, int strand, const Event *e) {
    const Sync *s = &e->node->sync;
    if (s->op == SYNC_INIT) {             /* by the block's first warp */
        int slots = run_slots(&r->f->layout->ring[s->ring]);
        for (int i = 0; i < slots && r->strand[strand].first == 0; i++) {
            Barrier *b = run_barrier(r, s->ring, s->id, i);
            b->wanted = s->count;
            b->maker = run_clock(r, strand * RUN_AGENTS);
            b->made = r->agent[strand * RUN_AGENTS].clock[b->maker];
            if (!b->clock) b->clock = run_clocks(r);
        }
        return true;
    }
    if (e->at < 0) return true;
    Barrier *b = run_barrier(r, s->ring, s->id, e->at);
    for (int i = 0; i < RUN_AGENTS; i++) {
        bool comes = e->mask >> i & 1;
        bool made = b->wanted > 0 && r->agent[strand * RUN_AGENTS + i].clock[b->maker] >= b->made;
        if (comes && !made)
            run_wrong(r, e->node, "barrier %d has no count of arrivals yet", s->id);
    }
    if (r->wrong) return false;
    if (s->op == SYNC_COMMIT) commit_late(r, strand, e, b);
    if (s->op != SYNC_WAIT) {
        unsigned mask = s->by == BY_ONE ? e->mask & 1u : s->by == BY_WARPS ? e->mask & 5u : e->mask;
        meet(r, strand, mask, b->clock, true, false);
        b->arrived += arrivals(&r->strand[strand], s, e->mask);
        b->expected += s->bytes;          /* and as many bring the others of a pair */
        if (b->arrived > b->wanted)
            run_wrong(r, e->node, "more arrive at barrier %d than it waits for", s->id);
        run_complete(r, b);
        return true;
    }
    return sync_phase(r, strand, e, b);
}

static bool sync_named(Run *r, int strand, const Event *e) {
    const Strand *x = &r->strand[strand];
    const Sync *s = &e->node->sync;
    int next = (x->team + 1) % x->teams;
    int id = s->id + (s->team == TEAM_OWN ? x->team : s->team == TEAM_OTHER ? next : 0);
    if (e->mask != run_all(x)) run_wrong(r, e->node, "not all threads of the role come there");
    if (id < NAMED) return sync_meeting(r, strand, e, &r->named[id], s->count);
    run_wrong(r, e->node, "named barrier %d of a block that has %d", id, NAMED);
    return false;
}

/* True: the strand goes on.  */
static bool do_sync(Run *r, int strand, const Event *e) {
    const Sync *s = &e->node->sync;
    bool all = e->mask == run_all(&r->strand[strand]);
    switch (s->scope) {
    case SYNC_WARP: meet_warps(r, strand, e); return true;
    case SYNC_BLOCK:
    case SYNC_CLUSTER:
        if (!all) run_wrong(r, e->node, "not all threads of the block come there");
        return sync_meeting(r, strand, e, &r->block, r->f->warps * 32);
    case SYNC_NAMED: return sync_named(r, strand, e);
    case SYNC_BARRIER: return sync_barrier(r, strand, e);
    case SYNC_PROXY:
        for (int i = 0; i < RUN_AGENTS; i++)
            if (e->mask >> i & 1) run_fence(r, strand * RUN_AGENTS + i);
        return true;
    case SYNC_TENSOR:
    case SYNC_GRID: return true;
    case SYNC_PRODUCTS:
        sync_groups(r, strand, e);
        if (s->op == SYNC_WAIT) meet_products(r, strand);
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
        if (e->node->kind != NODE_SYNC) run_node(r, strand, e);
        else if (!do_sync(r, strand, e)) break;
        r->came[strand] = false;
        r->at[strand]++;
    }
    return r->at[strand] > from;
}

static void check_end(Run *r) {
    for (int i = 0; i < r->n; i++) {
        if (r->at[i] < r->list[i].n)
            run_wrong(r, r->list[i].at[r->at[i]].node, "waits for ever");
    }
    for (int x = 0; x < r->n * RUN_AGENTS; x++) {
        for (int q = 0; q < r->queues; q++) {
            int own = run_queue_clock(r, x, q), known = r->agent[x].clock[own];
            bool told = q >= FORM_QUEUES || q + 1 == DONE_COPIES;      /* by a barrier */
            for (int y = 0; told && y < r->n * RUN_AGENTS; y++) {
                if (r->agent[y].clock[own] > known) known = r->agent[y].clock[own];
            }
            if (r->agent[x].under_way[q] > known)
                run_wrong(r, NULL, "ends while %s are under way",
                          q + 1 == DONE_PRODUCTS ? "products" : "copies");
        }
    }
    for (int x = 0; x < r->f->layout->n_ring; x++) {
        int slots = run_slots(&r->f->layout->ring[x]);
        for (int i = 0; i < RING_BARRIERS * slots; i++) {
            if (r->barrier[x][i].arrived > 0)
                run_wrong(r, NULL, "ends while barrier %d waits for more to arrive", i / slots);
        }
    }
}

static Cell *new_cells(const Run *r, int n) {
    Cell *c = ARENA_ARRAY(r->arena, Cell, n);
    for (int i = 0; i < n; i++)
        c[i] = (Cell){.read = run_clocks(r), .write = run_clocks(r), .read_by = run_clocks(r),
                      .write_by = run_clocks(r)};
    return c;
}

/* Barriers of all rings, threads, cells of all rooms.  */
static void furnish(Run *r, const Layout *l) {
    r->barrier = ARENA_ARRAY(r->arena, Barrier *, l->n_ring);
    r->slots = ARENA_ARRAY(r->arena, int, l->n_ring);
    r->queues = FORM_QUEUES;
    for (int i = 0; i < l->n_ring; i++) {
        const Ring *x = &l->ring[i];
        r->slots[i] = r->queues - FORM_QUEUES;
        if (x->arrivals[RING_FULL] > 0) r->queues += x->slots;
        r->barrier[i] = ARENA_ARRAY(r->arena, Barrier, RING_BARRIERS * run_slots(x));
    }
    r->list = ARENA_ARRAY(r->arena, EventList, r->n);
    r->at = ARENA_ARRAY(r->arena, int, r->n);
    r->came = ARENA_ARRAY(r->arena, bool, r->n);
    r->clocks = r->n * RUN_AGENTS * (1 + r->queues);
    r->agent = ARENA_ARRAY(r->arena, Agent, r->n * RUN_AGENTS);
    for (int i = 0; i < r->n * RUN_AGENTS; i++)
        r->agent[i] = (Agent){.clock = run_clocks(r),
                              .under_way = ARENA_ARRAY(r->arena, int, r->queues)};
    r->block = new_meeting(r);
    for (int i = 0; i < NAMED; i++) r->named[i] = new_meeting(r);
    r->cell = ARENA_ARRAY(r->arena, Cell *, l->n_room);
    for (int i = 0; i < l->n_room; i++) {
        bool registers = rprog_room_space(l->room[i].kind) == SPACE_REGISTERS;
        r->cell[i] = new_cells(r, run_cells(&l->room[i]) * (registers ? r->n : 1));
    }
}

static const char *run(Arena *a, const Form *f, const Scenario *way) {
    Run *r = ARENA_NEW(a, Run);
    *r = (Run){.arena = a, .f = f, .way = *way};
    StrandList strands = run_strands(a, f);
    r->strand = strands.at;
    r->n = strands.n;
    furnish(r, f->layout);
    for (int i = 0; i < r->n; i++) {
        r->list[i] = run_unroll(a, f, &r->strand[i], way);
        for (int x = 0; x < RUN_AGENTS; x++) run_tick(r, i * RUN_AGENTS + x);
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

/* Do nodes only prepare what the block itself has: names, barriers, its tensor maps?  */
static bool prepares(const Node *n) {
    bool leaf = (n->kind == NODE_SYNC && n->sync.scope != SYNC_GRID) ||
                (n->kind == NODE_VALUES && (n->what == VALUES_PLACE || n->what == VALUES_MAPS ||
                                             n->what == VALUES_TENSOR));
    if (!leaf && n->kind != NODE_SEQUENCE && n->kind != NODE_IF) return false;
    for (const Node *x = n->child; x; x = x->next)
        if (!prepares(x)) return false;
    return true;
}

/* The wait for the kernel before is one of all threads; nothing before it touches memory of the
 * device or lets the next kernel begin, so that no more than two run at a time.  */
static const char *check_wait(const Form *f) {
    const Node *n = f->root->child;
    if (!f->wait) return NULL;
    while (n && n != f->wait && prepares(n)) n = n->next;
    return n == f->wait ? NULL : "what depends on the kernel before stands before the wait for it";
}

/* Slots of the deepest ring that goes round so.  */
static int deepest(const Layout *l, RingTurn turn) {
    int most = 1;
    for (int i = 0; i < l->n_ring; i++) {
        if (l->ring[i].turn == turn && l->ring[i].slots > most) most = l->ring[i].slots;
    }
    return most;
}

/* A program of known steps has that many; more than two rounds of its ring go on as these.  Tiles
 * come to a slot that one of them had, and are as many as others have turns.  */
const char *kernel_check(Arena *a, const Form *f) {
    enum { TURNS = 3 };
    int64_t s = deepest(f->layout, TURN_STEPS), last = -1;
    int64_t steps[] = {0, 1, 2, s - 1, s, s + 1, 2 * s + 2};
    int n = (int)(sizeof steps / sizeof *steps);
    int tiles = deepest(f->layout, TURN_TILES) + 1;
    const char *bad = check_places(a, f->root->child, true, true);
    if (!bad) bad = check_wait(f);
    for (int i = 0; i < n && !bad; i++) {
        int64_t now = steps[i] < f->steps ? steps[i] : f->steps;
        if (now <= last || (now < f->least && i + 1 < n)) continue;
        last = now;
        for (int turns = 1; turns <= TURNS && !bad; turns += TURNS - 1) {
            ArenaMark mark = arena_mark(a);
            int many = turns > 1 && tiles > turns ? tiles : turns;
            bad = run(a, f, &(Scenario){.steps = now, .tiles = many, .turns = turns});
            if (!bad) arena_reset(a, mark);
        }
    }
    return bad;
}
