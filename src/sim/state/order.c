#include "sim/state/order.h"
#include "base/sparse.h"
#include "sim/state/memory_state.h"
#include <inttypes.h>

/* How far each block is known to have come: segments by block, in an open hash table.  */
typedef struct {
    uint32_t block, segment;  /* block + 1, 0: free */
} Known;
typedef struct {
    Known *entry;
    uint32_t n, cap;          /* cap: a power of two */
} Clock;

typedef struct {
    uint64_t at;              /* 0: free */
    Clock published;
    uint32_t version;         /* counts releases */
} SyncPlace;

typedef SimOwner Owner;

struct SimOrderBlock {
    uint32_t segment;         /* releases so far, + 1 */
    Clock clock;
    uint64_t last;            /* the address acquired last, and its version then: most polls */
    uint32_t last_version;
    bool told;                /* a race of this block is kept already */
};

struct SimBlockOrder {
    Arena *arena;
    SimGpu *gpu;
    SyncPlace *place;
    uint32_t n_place, cap_place;
    size_t entries;           /* of all clocks */
    Owner *more;              /* from number 1 on */
    size_t n_more, cap_more;
    SimFault *race;
    size_t n_race, cap_race;
};

enum { MOST_ENTRIES = 1 << 22 };

void sim_order_forget(SimGpu *g) {
    for (size_t k = 0; k < g->n_alloc; k++) {
        SimAlloc *x = &g->alloc[k];
        sparse_free(x->owner, sim_owner_room(x));
        x->owner = NULL;
    }
}

SimBlockOrder *sim_order_new(Arena *a, SimGpu *g) {
    SimBlockOrder *o = ARENA_NEW(a, SimBlockOrder);
    o->arena = a;
    o->gpu = g;
    o->n_more = 1;
    sim_order_forget(g);                     /* of a launch that ran out of memory */
    return o;
}

/* ---- clocks ---- */

static uint32_t spread(uint64_t v) { return (uint32_t)(v * 0x9e3779b97f4a7c15ull >> 32); }

static uint32_t known(const Clock *c, uint32_t block) {
    for (uint32_t k = spread(block); c->cap > 0; k++) {
        const Known *e = &c->entry[k & (c->cap - 1)];
        if (e->block == block) return e->segment;
        if (e->block == 0) break;
    }
    return 0;
}

static void learn(SimBlockOrder *o, Clock *c, uint32_t block, uint32_t segment);

static void grow(SimBlockOrder *o, Clock *c) {
    Clock wider = {.cap = c->cap ? 2 * c->cap : 4};
    wider.entry = ARENA_ARRAY(o->arena, Known, wider.cap);
    o->entries += wider.cap;
    for (uint32_t k = 0; k < c->cap; k++) {
        if (c->entry[k].block) learn(o, &wider, c->entry[k].block, c->entry[k].segment);
    }
    *c = wider;
}

static void learn(SimBlockOrder *o, Clock *c, uint32_t block, uint32_t segment) {
    if (2 * (c->n + 1) > c->cap) grow(o, c);
    for (uint32_t k = spread(block);; k++) {
        Known *e = &c->entry[k & (c->cap - 1)];
        if (e->block != block && e->block != 0) continue;
        if (e->block == 0) c->n++;
        e->block = block;
        if (segment > e->segment) e->segment = segment;
        return;
    }
}

static void join(SimBlockOrder *o, Clock *to, const Clock *from) {
    for (uint32_t k = 0; k < from->cap; k++) {
        if (from->entry[k].block) learn(o, to, from->entry[k].block, from->entry[k].segment);
    }
}

/* ---- synchronisation ---- */

static SyncPlace *place_of(SimBlockOrder *o, uint64_t at) {
    if (2 * (o->n_place + 1) > o->cap_place) {
        SyncPlace *old = o->place;
        uint32_t cap = o->cap_place;
        o->cap_place = cap ? 2 * cap : 64;
        o->place = ARENA_ARRAY(o->arena, SyncPlace, o->cap_place);
        o->n_place = 0;
        for (uint32_t k = 0; k < cap; k++) {
            if (old[k].at) *place_of(o, old[k].at) = old[k];
        }
    }
    for (uint32_t k = spread(at);; k++) {
        SyncPlace *p = &o->place[k & (o->cap_place - 1)];
        if (p->at == at) return p;
        if (p->at) continue;
        p->at = at;
        o->n_place++;
        return p;
    }
}

static SimOrderBlock *state_of(SimBlock *b) {
    if (!b->order) {
        b->order = ARENA_NEW(b->cluster->run->order->arena, SimOrderBlock);
        b->order->segment = 1;
    }
    return b->order;
}

static uint32_t number(const SimBlock *b) { return (uint32_t)b->linear + 1; }

void sim_order_sync(SimBlock *b, uint64_t at, bool acquire, bool release) {
    SimBlockOrder *o = b->cluster->run->order;
    if (o->entries > MOST_ENTRIES) return;
    SimOrderBlock *s = state_of(b);
    SyncPlace *p = place_of(o, at);
    bool stale = s->last != at || s->last_version != p->version;
    if (acquire && stale) join(o, &s->clock, &p->published);
    if (release) {
        join(o, &p->published, &s->clock);
        learn(o, &p->published, number(b), s->segment++);
        p->version++;
    }
    if (!acquire) return;
    s->last = at;
    s->last_version = p->version;
}

/* ---- accesses ---- */

static Owner *owners(const SimBlockOrder *o, uint64_t at, uint64_t bytes) {
    const SimAlloc *found = sim_find(o->gpu, at, bytes);
    if (!found) return NULL;
    SimAlloc *x = &o->gpu->alloc[found - o->gpu->alloc];
    if (!x->owner) x->owner = sparse_new(sim_owner_room(x));
    if (!x->owner) arena_fail(o->arena);
    return x->owner + (at - x->base) / 4;
}

static void keep_race(SimBlock *b, const SimInst *i, int thread, uint64_t at, const Owner *w,
                      const char *what) {
    const SimRun *run = b->cluster->run;
    SimBlockOrder *o = run->order;
    state_of(b)->told = true;
    o->race = arena_grow(o->arena, o->race, &o->cap_race, o->n_race + 1, sizeof *o->race);
    SimFault *f = &o->race[o->n_race++];
    sim_fault_place(f, SIM_RACE_GLOBAL, b, i, thread);
    uint64_t other = w->block - 1;
    f->text = arena_printf(o->arena, "this %s 0x%" PRIx64 ", which block (%u,%u,%u) wrote at ptx "
                           "line %d, and nothing orders the two", what, at,
                           (unsigned)(other % run->grid[0]),
                           (unsigned)(other / run->grid[0] % run->grid[1]),
                           (unsigned)(other / run->grid[0] / run->grid[1]),
                           run->kernel->code[w->inst].ptx->line);
}

static Owner *next_owner(const SimBlockOrder *o, const Owner *w) {
    return w->more ? &o->more[w->more] : NULL;
}

/* Gives the bytes of `now` to it, and takes them from the others.  */
static void own(SimBlockOrder *o, Owner *first, Owner now) {
    Owner *place = NULL;
    for (Owner *w = first; w; w = next_owner(o, w)) {
        w->bytes &= ~now.bytes & 15u;
        if (w->block == now.block && w->segment == now.segment && w->inst == now.inst) {
            now.bytes |= w->bytes;
            w->bytes = 0;
        }
        if (!w->bytes && !place) place = w;
    }
    if (!place) {
        o->more = arena_grow(o->arena, o->more, &o->cap_more, o->n_more + 1, sizeof *o->more);
        place = &o->more[o->n_more];
        place->more = first->more;
        first->more = (uint32_t)o->n_more++;
    }
    now.more = place->more;
    *place = now;
}

static void access(SimBlock *b, const SimInst *i, int thread, uint64_t at, uint64_t bytes,
                   bool write) {
    SimBlockOrder *o = b->cluster->run->order;
    if (o->entries > MOST_ENTRIES) return;
    Owner *first = owners(o, at, bytes);
    SimOrderBlock *s = state_of(b);
    uint64_t end = at + bytes;
    Owner me = {.block = number(b), .segment = s->segment & 0xfffffff,
                .inst = (uint32_t)(i - b->cluster->run->kernel->code)};
    for (uint64_t word = at & ~(uint64_t)3; first && word < end; word += 4, first++) {
        unsigned mask = 15;
        if (word < at) mask &= 15u << (at - word);
        if (word + 4 > end) mask &= 15u >> (word + 4 - end);
        me.bytes = mask & 15u;
        for (const Owner *w = first; w && !s->told; w = next_owner(o, w)) {
            bool other = w->block != 0 && w->block != me.block && (w->bytes & me.bytes);
            if (!other || known(&s->clock, w->block) >= w->segment) continue;
            keep_race(b, i, thread, word < at ? at : word, w, write ? "writes" : "reads");
        }
        if (write) own(o, first, me);
    }
}

void sim_order_wrote(SimBlock *b, const SimInst *i, int thread, uint64_t at, uint64_t bytes) {
    access(b, i, thread, at, bytes, true);
}

void sim_order_read(SimBlock *b, const SimInst *i, int thread, uint64_t at, uint64_t bytes) {
    access(b, i, thread, at, bytes, false);
}

size_t sim_order_races(const SimBlockOrder *o, const SimFault **out) {
    *out = o->race;
    return o->n_race;
}
