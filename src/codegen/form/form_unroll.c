#include "codegen/form/form_run.h"

/* What the threads of a role come to, in order.  */

typedef struct {
    Arena *arena;
    const Form *f;
    const Strand *strand;
    const Scenario *way;
    EventList out;
    unsigned alive;           /* threads that have not left */
    int64_t steps, step, base;            /* of the tile; of the loop; those before it */
    int64_t *next;            /* by ring: steps loaded, ... */
    int64_t *put, *taken;     /* ... slots filled, slots used */
    int body, turn, tile, team;
    int64_t before, behind;   /* turns of teams before that at hand, behind it */
    int64_t columns, from;    /* turns along columns so far, of the team; steps before the last */
} Walk;

static void add_strand(Arena *a, StrandList *s, Strand x) {
    s->at = arena_grow(a, s->at, &s->room, (size_t)s->n + 1, sizeof x);
    s->at[s->n++] = x;
}

/* Is it a role of several?  */
static bool has_parts(const Node *role) {
    const Node *x = role->child;
    while (x && x->kind != NODE_ROLE) x = x->next;
    return x;
}

static void find_roles(Arena *a, const Node *first, StrandList *out) {
    for (const Node *x = first; x; x = x->next) {
        if (x->kind != NODE_ROLE || has_parts(x)) {
            find_roles(a, x->child, out);
            continue;
        }
        int i = 0, teams = x->role.teams > 1 ? x->role.teams : 1, each = x->role.warps / teams;
        while (i < out->n && out->at[i].first != x->role.first) i++;
        bool known = i < out->n;
        for (int t = 0; t < teams && !known; t++)
            add_strand(a, out, (Strand){x, x->role.first + t * each, each, t, teams});
    }
}

StrandList run_strands(Arena *a, const Form *f) {
    StrandList s = {0};
    int warps = 0;
    find_roles(a, f->root, &s);
    for (int i = 0; i < s.n; i++) warps += s.at[i].warps;
    if (warps < f->warps || s.n == 0)
        add_strand(a, &s, (Strand){NULL, warps, f->warps - warps, 0, 1});
    return s;
}

unsigned run_all(const Strand *s) { return s->warps > 1 ? 0xfu : 0x3u; }

/* ---- conditions ---- */

static unsigned holding(const Walk *w, const Node *n, unsigned mask) {
    unsigned last = mask & 0xcu;
    switch (n->when) {
    case WHEN_STEPS: return w->steps > 0 ? mask : 0;
    case WHEN_MORE: return w->step + n->ahead < w->steps ? mask : 0;
    case WHEN_LEFT: return (n->kind == NODE_IF && !n->name ? 0 : w->step) + n->ahead < w->steps
                               ? mask : 0;
    case WHEN_LAST: return w->body + 1 == w->f->bodies ? mask : 0;
    case WHEN_FETCH: return w->body + 1 < w->f->bodies || w->step + 1 < w->steps ? mask : 0;
    case WHEN_LATER: return w->turn > 0 ? mask : 0;
    case WHEN_HALF: return w->step == w->steps / 2 ? mask : 0;
    case WHEN_FIRST: return w->tile == 0 ? mask : 0;
    case WHEN_CUT: return w->taken[n->ring] % 2 == 0 ? mask : 0;
    case WHEN_WHOLE: return w->tile % 2 == 0 ? mask : 0;
    case WHEN_PARTIAL: return w->tile % 2 == 1 ? mask : 0;
    case WHEN_AGAIN: return w->before > 0 ? mask : 0;
    case WHEN_FOLLOWED: return w->behind > 0 ? mask : 0;
    case WHEN_UPPER: return last;
    case WHEN_ONE: return n->from == w->strand->first ? mask & 1u : 0;
    case WHEN_LOWER: return mask & ~last;
    default: return mask;
    }
}

/* Those that do what is done by one thread, or by one of each warp.  */
static unsigned doing(SyncBy by, unsigned mask) {
    return by == BY_ONE ? mask & 1u : by == BY_WARPS ? mask & 5u : mask;
}

/* ---- events ---- */

static const Ring *ring_of(const Walk *w, int ring) { return &w->f->layout->ring[ring]; }

/* The ring of steps that a room's data goes by: its own, or that of the node.  */
static int steps_ring(const Walk *w, const Node *n, const Room *x) {
    return x->ring >= 0 && ring_counts(ring_of(w, x->ring)) ? x->ring : n->ring;
}

static int64_t data_of(const Walk *w, const Node *n, const Use *u) {
    int ring = steps_ring(w, n, u->room);
    switch (u->data) {
    case OF_NEXT: return w->next[ring];
    case OF_LAST: return w->next[ring] - 1;
    case OF_STEP: return w->base + w->step;
    case OF_PUT: return w->put[ring];
    case OF_TAKEN: return w->taken[ring];
    case OF_BEFORE: return w->taken[ring] - 1;
    default: return -1;
    }
}

/* How often turns have gone on to the next slot of a ring.  */
static int64_t cursor(const Walk *w, int ring, bool fills) {
    switch (ring_of(w, ring)->turn) {
    case TURN_STEPS:
    case TURN_KEPT:
    case TURN_TILES: return fills ? w->put[ring] : w->taken[ring];
    case TURN_LOADS: return w->next[ring_of(w, ring)->of];
    case TURN_ONCE: return 0;
    case TURN_LOOP: return w->turn;
    default: return w->body;
    }
}

static int slot_of(const Walk *w, const Use *u) {
    int ring = u->room->ring;
    bool fills = u->writes && u->data != OF_TAKEN, shared = run_cells(u->room) == u->room->slots;
    int slot = ring < 0 ? 0 : (int)(cursor(w, ring, fills) % ring_of(w, ring)->slots);
    return shared ? slot : w->team * u->room->slots + slot;
}

static Event *new_event(Walk *w) {
    EventList *e = &w->out;
    e->at = arena_grow(w->arena, e->at, &e->room, (size_t)e->n + 1, sizeof *e->at);
    return &e->at[e->n++];
}

/* The slot of the barrier of a ring, and how often turns have been there before.  Full ones are
 * arrived at by who fills, empty ones waited for.  */
static void find_slot(const Walk *w, const Sync *s, Event *e) {
    if (s->scope != SYNC_BARRIER || s->op == SYNC_INIT) return;
    bool fills = (s->id == RING_FULL) == (s->op != SYNC_WAIT);
    int slots = ring_of(w, s->ring)->slots;
    int64_t at = cursor(w, s->ring, fills) - s->lag;
    int before = ring_of(w, s->ring)->shares > 1 ? w->team * slots : 0;
    e->at = at < 0 ? -1 : before + (int)(at % slots);
    e->round = (int)(at / slots);
}

static void add_event(Walk *w, const Node *n, unsigned mask) {
    if (mask == 0 || (n->kind != NODE_SYNC && n->n_use == 0)) return;
    Event *e = new_event(w);
    *e = (Event){.node = n, .mask = doing(n->by, mask)};
    if (n->kind == NODE_SYNC) find_slot(w, &n->sync, e);
    e->use = arena_alloc(w->arena, (size_t)n->n_use * sizeof *e->use);
    for (int i = 0; i < n->n_use; i++) {
        e->use[i].slot = slot_of(w, &n->use[i]);
        e->use[i].data = data_of(w, n, &n->use[i]);
    }
}

static void set_cursors(Walk *w, int64_t turns) {
    for (int i = 0; i < w->f->layout->n_ring; i++) {
        if (ring_of(w, i)->turn == TURN_TILES && turns > 0) continue;
        bool anew = ring_stays(ring_of(w, i)) || ring_of(w, i)->turn == TURN_KEPT;
        w->next[i] = w->put[i] = w->taken[i] = anew ? 0 : turns;
    }
}

/* Teams that take turns use the slots of tiles likewise.  */
static void set_taken(Walk *w, int64_t tile) {
    for (int i = 0; i < w->f->layout->n_ring; i++)
        if (ring_of(w, i)->turn == TURN_TILES) w->taken[i] = tile;
}

/* Values move the cursors.  */
static void move(Walk *w, const Node *n, unsigned mask) {
    switch ((ValuesWhat)n->what) {
    case VALUES_PLACE: set_cursors(w, 0); break;
    case VALUES_TURN: set_cursors(w, n->from ? 0 : w->from); break;
    case VALUES_NEXT_K: w->next[n->ring]++; break;
    case VALUES_PUT: w->put[n->ring]++; break;
    case VALUES_TAKE: w->taken[n->ring] += holding(w, n, mask) != 0; break;
    default: break;
    }
}

/* ---- the tree ---- */

static void walk(Walk *w, const Node *first, unsigned mask);

static int64_t turns_of(const Walk *w, const Node *n) {
    int64_t count = n->loop.count;
    if (n->what == LOOP_STEPS) return w->steps - n->loop.less;
    if (n->what == LOOP_SEGMENTS) return w->way->tiles;
    if (n->what == LOOP_COLUMNS) return w->way->turns * n->to;
    if (n->loop.of != TURNS_ANY || n->what == LOOP_TEAMS) return count;
    return count > 0 && count < w->way->turns ? count : w->way->turns;
}

/* A tile of a block that goes through several: the next one has fewer steps.  */
static void next_tile(Walk *w, int64_t tile) {
    int64_t steps = w->way->steps;
    w->tile = (int)tile;
    w->steps = tile % 2 && steps > 1 ? steps - 1 : steps;
}

/* Stages are counted over all tiles, those that other teams have, too.  What is filled once is
 * there in all of them.  */
static void walk_tiles(Walk *w, const Node *n, unsigned mask) {
    int64_t before = 0;
    for (int i = 0; i < w->way->tiles; i++, before += w->steps) {
        w->tile = i;
        if (n->from || n->to) next_tile(w, i);
        set_cursors(w, before);
        if (n->loop.in_turn) set_taken(w, i);
        w->before = i;
        w->behind = w->way->tiles - 1 - i;
        bool others = n->loop.in_turn && i % w->strand->teams != w->strand->team;
        if (!others) walk(w, n->child, mask);
    }
}

/* Teams go along columns in turn.  */
static void next_columns(Walk *w, const Node *n) {
    int64_t all = (int64_t)w->way->tiles * w->f->passes * w->way->turns * n->to;
    w->before = w->columns * w->strand->teams + w->team;
    w->from = w->before * w->steps;
    w->behind = w->team + 1 < w->strand->teams ? 1 : all - 1 - w->columns;
    w->columns++;
}

static void walk_loop(Walk *w, const Node *n, unsigned mask) {
    Walk before = *w;
    int64_t turns = turns_of(w, n);
    bool steps = n->what == LOOP_STEPS || n->loop.of == TURNS_STEPS;
    if (n->what == LOOP_STEPS && w->f->layout->n_ring > 0) w->base = cursor(w, n->ring, false);
    for (int64_t i = 0; i < turns; i++) {
        if (n->what == LOOP_SEGMENTS) next_tile(w, i);
        if (steps) w->step = i;
        w->turn = before.turn;
        add_event(w, n, mask & w->alive);
        if (n->what == LOOP_TEAMS) w->team = (int)i;
        else w->turn = (int)i;
        if (n->what == LOOP_COLUMNS) next_columns(w, n);
        if (n->loop.in_turn) {
            w->before = i * w->strand->teams + w->strand->team;
            w->behind = turns * w->strand->teams - 1 - w->before;
        }
        if (n->loop.of == TURNS_BODIES) w->body = (int)i;
        walk(w, n->child, mask);
    }
    w->turn = before.turn;
    w->step = before.step;
    w->body = before.body;
    w->team = before.team;
}

static bool has_role(const Walk *w, const Role *r) {
    const Strand *s = w->strand;
    return s->role && r->first <= s->first && s->first < r->first + r->warps;
}

static void walk(Walk *w, const Node *first, unsigned mask) {
    for (const Node *n = first; n; n = n->next) {
        unsigned now = holding(w, n, mask & w->alive);
        switch (n->kind) {
        case NODE_SEQUENCE: walk(w, n->child, mask); break;
        case NODE_LOOP:
            if (n->what == LOOP_TILES) walk_tiles(w, n, mask);
            else walk_loop(w, n, mask);
            break;
        case NODE_IF:
            if (n->leaves) w->alive &= ~now;
            else if (now) walk(w, n->child, now);
            break;
        case NODE_ROLE:
            if (has_role(w, &n->role)) walk(w, n->child, now);
            break;
        case NODE_VALUES:
            add_event(w, n, mask & w->alive);
            walk(w, n->child, mask);
            move(w, n, mask & w->alive);
            break;
        default:
            add_event(w, n, now);
            walk(w, n->child, now);
        }
    }
}

EventList run_unroll(Arena *a, const Form *f, const Strand *s, const Scenario *way) {
    Walk w = {.arena = a, .f = f, .strand = s, .way = way, .alive = run_all(s),
              .steps = way->steps, .team = s->team};
    w.next = ARENA_ARRAY(a, int64_t, f->layout->n_ring);
    w.put = ARENA_ARRAY(a, int64_t, f->layout->n_ring);
    w.taken = ARENA_ARRAY(a, int64_t, f->layout->n_ring);
    walk(&w, f->root->child, w.alive);
    return w.out;
}
