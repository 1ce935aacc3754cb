/* What the L1 of a block and the L2 hold: lines by the time at which they were touched last, in
 * lines brought in.
 *
 * A line is held as long as no more than effective_capacity has been brought in since: the rule of
 * a cache that gives up what was not touched for longest.  Blocks run on several host threads, so
 * each looks at the state before the launch and at what it touched itself; the state after it takes
 * the lines in the order of their addresses.  L1 is a block's share of its SM's, by the same rule,
 * of sectors; what one block brings in does not serve another.
 * When a warp touches a line is how many instructions it has begun: blocks that share an SM run one
 * after another here, and in hardware they are at the same instruction at about the same time.  */
#include "sim/state/memory_state.h"
#include "sim/timing/timing.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- the lines of a block ---- */

static SimLine *place(const SimLines *l, uint64_t key) {
    size_t at = (size_t)(key * 0x9e3779b97f4a7c15u >> 20) & (l->cap - 1);
    while (l->line[at].key && l->line[at].key != key) at = (at + 1) & (l->cap - 1);
    return &l->line[at];
}

static void grow(Arena *a, SimLines *l) {
    SimLines old = *l;
    l->cap = old.cap ? 2 * old.cap : 256;
    l->line = ARENA_ARRAY(a, SimLine, l->cap);
    for (size_t k = 0; k < old.cap; k++)
        if (old.line[k].key) *place(l, old.line[k].key) = old.line[k];
}

/* What is touched at `now` things brought in; `last`: when it was, as others know.  */
static SimLine *touch(Arena *a, SimLines *l, uint64_t key, uint64_t last, uint64_t now) {
    if (2 * l->n >= l->cap) grow(a, l);
    SimLine *x = place(l, key);
    if (x->key) last = x->at;
    else l->n++;
    l->missed = !last || now - last > l->most;
    l->brought += l->missed;
    x->key = key;
    x->at = now + l->missed;
    return x;
}

/* Bits of pairs, one for each.  */
static uint64_t pairs(uint64_t v) {
    v = (v | v >> 1) & 0x5555555555555555u;
    v = (v | v >> 1) & 0x3333333333333333u;
    v = (v | v >> 2) & 0x0f0f0f0f0f0f0f0fu;
    v = (v | v >> 4) & 0x00ff00ff00ff00ffu;
    v = (v | v >> 8) & 0x0000ffff0000ffffu;
    return (v | v >> 16) & 0x00000000ffffffffu;
}

static void halve(uint64_t when[2]) {
    when[0] = pairs(when[0]) | pairs(when[1]) << 32;
    when[1] = 0;
}

static void mark(uint64_t when[2], uint64_t at) { when[at / 64] |= (uint64_t)1 << at % 64; }

static uint32_t piece(SimLines *l, uint32_t at) {
    while (at >> l->shift >= SIM_PIECES) {
        for (size_t k = 0; k < l->cap; k++) halve(l->line[k].when);
        l->shift++;
    }
    return at >> l->shift;
}

void sim_l2_touch(SimWarp *w, const SimAlloc *x, uint64_t at) {
    SimBlock *b = w->block;
    const SimGpu *g = b->cluster->run->gpu;
    SimLines *l = &b->timing->lines;
    uint64_t last = x->touched[(at - x->base) / g->line], now = g->brought + l->brought;
    uint32_t k = piece(l, w->timer->place);
    mark(touch(b->cluster->arena, l, at / g->line, last, now)->when, k);
    b->timing->missed |= l->missed;
    b->timing->far = true;
}

/* Which of SIM_PIECES of the longest warp's instructions each piece is.  */
static void stretch(const SimBlock *b, uint8_t out[SIM_PIECES]) {
    const SimLines *l = &b->timing->lines;
    uint64_t last = 1, half = (1u << l->shift) / 2;
    for (int n = 0; n < b->n_warp; n++) last = later((uint32_t)last, b->warp[n].timer->place);
    for (uint64_t k = 0; k < SIM_PIECES; k++) {
        uint64_t at = (k << l->shift) + half;
        out[k] = (uint8_t)(at < last ? at * SIM_PIECES / last : SIM_PIECES - 1);
    }
}

static void tell(SimUse *use, const uint64_t when[2], const uint8_t stretched[SIM_PIECES]) {
    uint64_t all[2] = {0, 0};
    for (int i = 0; i < 2; i++)
        for (uint64_t left = when[i]; left; left &= left - 1)
            mark(all, stretched[64 * i + __builtin_ctzll(left)]);
    for (int i = 0; i < 2; i++)
        if (all[i]) atomic_fetch_or_explicit(&use->when[i], all[i], memory_order_relaxed);
}

void sim_l2_tell(SimBlock *b) {
    const SimGpu *g = b->cluster->run->gpu;
    const SimLines *l = &b->timing->lines;
    uint8_t stretched[SIM_PIECES];
    stretch(b, stretched);
    for (size_t k = 0; k < l->cap; k++) {
        const SimLine *x = &l->line[k];
        const SimAlloc *of = x->key ? sim_find(g, x->key * g->line, 1) : NULL;
        if (of) tell(&of->use[x->key - of->base / g->line], x->when, stretched);
    }
}

bool sim_l1_holds(SimBlock *b, uint64_t sector) {
    SimBlockTime *t = b->timing;
    if (!t->cached) return false;
    touch(b->cluster->arena, &t->l1, sector, 0, 1 + t->l1.brought);
    t->hits += !t->l1.missed;
    return !t->l1.missed;
}

/* ---- after a launch ---- */

static uint64_t sectors_of(const uint64_t *map, uint64_t line, unsigned per_line) {
    uint64_t at = line * per_line, mask = per_line < 64 ? ((uint64_t)1 << per_line) - 1 : ~0ull;
    return map[at / 64] >> (at % 64) & mask;
}

static uint64_t count(uint64_t v) {
    return (uint64_t)(sim_popcount((uint32_t)v) + sim_popcount((uint32_t)(v >> 32)));
}

/* Touches line k of an allocation; true if it had to be brought in.  */
static bool bring(SimGpu *g, SimAlloc *x, uint64_t k) {
    bool cold = !x->touched[k] || g->brought - x->touched[k] > g->l2_lines;
    x->touched[k] = cold ? ++g->brought : g->brought;
    return cold;
}

/* Sectors of an allocation that were loaded, or stored.  */
typedef struct {
    const uint64_t *map;
    uint64_t n, runs, first, last;
    double scale;             /* sectors of the whole grid for each of them */
} Touched;

/* What blocks that did not run touch: as much as those that did, and nothing outside of what these
 * have touched, or would have had they been spread over the whole grid.  */
static Touched touched_of(const SimAlloc *x, const uint64_t *map, const SimRan *ran) {
    Touched t = {.map = map, .first = UINT64_MAX, .scale = 1};
    uint64_t carry = 0;
    for (uint64_t n = 0; n < sim_sector_words(x); n++) {
        if (n % SIM_MARKED == 0 && !sim_is_marked(x, n)) {
            n += SIM_MARKED - 1;
            carry = 0;
            continue;
        }
        uint64_t word = map[n];
        if (word) {
            if (t.n == 0) t.first = n * 64 + (uint64_t)__builtin_ctzll(word);
            t.last = n * 64 + 63 - (uint64_t)__builtin_clzll(word);
        }
        t.n += count(word);
        t.runs += count(word & ~(word << 1 | carry));
        carry = word >> 63;
    }
    if (t.n == 0) return t;
    double most = (double)(t.last - t.first + 1) * ran->stretch;
    if (most * SIM_SECTOR > (double)x->bytes) most = (double)x->bytes / SIM_SECTOR;
    most = most > (double)t.n ? most / (double)t.n : 1;
    t.scale = ran->scale < most ? ran->scale : most;
    if (ran->scale > most) t.runs = 1;
    return t;
}

/* Do all blocks together touch all lines from the first to the last?  */
static bool gapless(const Touched *t, const SimRan *ran) {
    return t->n > 0 && t->scale < ran->scale;
}

static bool within(const Touched *t, const SimRan *ran, uint64_t line, unsigned per_line) {
    return gapless(t, ran) && line >= t->first / per_line && line <= t->last / per_line;
}

static double both(const uint64_t v[2]) { return (double)(count(v[0]) + count(v[1])); }

/* From the first bit to the last.  */
static double span(const uint64_t v[2]) {
    if (!(v[0] | v[1])) return 0;
    int first = v[0] ? __builtin_ctzll(v[0]) : 64 + __builtin_ctzll(v[1]);
    return (v[1] ? 128 - __builtin_clzll(v[1]) : 64 - __builtin_clzll(v[0])) - first;
}

/* A line's visits, `each` times.  */
static void add_visits(SimUse *use, double each, SimFootprint *f) {
    uint64_t when[2] = {use->when[0], use->when[1]};
    if (!(when[0] | when[1])) return;
    for (int i = 0; i < 2; i++) f->when[i] |= when[i];
    f->visits += each * both(when);
    f->gaps += each * (span(when) - 1);
}

static void settle(SimGpu *g, SimAlloc *x, const SimRan *ran, SimFootprint *f) {
    unsigned per_line = g->line / SIM_SECTOR;
    Touched load = touched_of(x, x->loaded, ran), store = touched_of(x, x->stored, ran);
    uint64_t lines = (x->bytes + g->line - 1) / g->line, marked = SIM_MARKED * 64 / per_line;
    double each = load.scale > store.scale ? load.scale : store.scale;
    bool sparse = !gapless(&load, ran) && !gapless(&store, ran);
    f->loaded += (double)load.n * load.scale;
    f->stored += (double)store.n * store.scale;
    f->load_runs += (double)load.runs * (load.runs > 1 ? load.scale : 1);
    f->store_runs += (double)store.runs * (store.runs > 1 ? store.scale : 1);
    for (uint64_t k = 0; k < lines; k++) {
        if (sparse && k % marked == 0 && !sim_is_marked(x, k * per_line / 64)) {
            k += marked - 1;
            continue;
        }
        uint64_t loads = sectors_of(load.map, k, per_line);
        uint64_t stores = sectors_of(store.map, k, per_line);
        bool whole = within(&load, ran, k, per_line) || within(&store, ran, k, per_line);
        if (!(loads | stores | (uint64_t)whole)) continue;
        bool cold = bring(g, x, k);
        if (!(loads | stores)) continue;
        if (cold) {
            f->cold_loads += (double)count(loads) * load.scale;
            f->cold_stores += (double)count(stores) * store.scale;
        }
        f->lines += each;
        add_visits(&x->use[k], each, f);
    }
}

void sim_l2_settle(SimGpu *g, const SimRan *ran, SimFootprint *out) {
    *out = (SimFootprint){0};
    for (size_t k = 0; k < g->n_alloc; k++) {
        if (g->alloc[k].memory.data) settle(g, &g->alloc[k], ran, out);
    }
    out->pieces = both(out->when);
    if (out->pieces > 0) out->gaps /= span(out->when);
}

void sim_l2_pass(SimGpu *g, uint64_t at, size_t bytes) {
    const SimAlloc *found = bytes ? sim_find(g, at, bytes) : NULL;
    if (!found) return;
    SimAlloc *x = &g->alloc[found - g->alloc];
    uint64_t first = (at - x->base) / g->line, last = (at - x->base + bytes - 1) / g->line;
    for (uint64_t k = first; k <= last; k++) bring(g, x, k);
}
