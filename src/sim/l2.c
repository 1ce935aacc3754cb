/* What the L2 holds: lines by the time at which they were touched last, in lines brought in.
 *
 * A line is held as long as no more than effective_capacity has been brought in since: the rule of
 * a cache that gives up what was not touched for longest.  Blocks run on several host threads, so
 * each looks at the state before the launch and at what it touched itself; the state after it takes
 * the lines in the order of their addresses.  */
#include "sim/memory_state.h"
#include "sim/timing.h"
#include <stdlib.h>

/* ---- the lines of a block ---- */

static size_t place(const SimLines *l, uint64_t line) {
    size_t at = (size_t)(line * 0x9e3779b97f4a7c15u >> 20) & (l->cap - 1);
    while (l->key[at] && l->key[at] != line) at = (at + 1) & (l->cap - 1);
    return at;
}

static void grow(Arena *a, SimLines *l) {
    SimLines old = *l;
    l->cap = old.cap ? 2 * old.cap : 256;
    l->key = ARENA_ARRAY(a, uint64_t, l->cap);
    l->at = ARENA_ARRAY(a, uint64_t, l->cap);
    for (size_t k = 0; k < old.cap; k++) {
        if (!old.key[k]) continue;
        size_t to = place(l, old.key[k]);
        l->key[to] = old.key[k];
        l->at[to] = old.at[k];
    }
}

void sim_l2_touch(SimBlock *b, uint64_t line, uint64_t last) {
    const SimRun *r = b->cluster->run;
    SimLines *l = &b->timing->lines;
    if (2 * l->n >= l->cap) grow(b->cluster->arena, l);
    size_t at = place(l, line);
    uint64_t now = r->gpu->brought + l->brought;
    if (l->key[at]) last = l->at[at];
    else l->n++;
    if (!last || now - last > r->gpu->l2_lines) {
        b->timing->missed = true;
        now++;
        l->brought++;
    }
    l->key[at] = line;
    l->at[at] = now;
}

/* ---- after a launch ---- */

static uint64_t sectors_of(const uint64_t *map, uint64_t line, unsigned per_line) {
    uint64_t at = line * per_line, mask = per_line < 64 ? ((uint64_t)1 << per_line) - 1 : ~0ull;
    return map[at / 64] >> (at % 64) & mask;
}

static uint64_t count(uint64_t v) {
    return (uint64_t)(sim_popcount((uint32_t)v) + sim_popcount((uint32_t)(v >> 32)));
}

/* Runs of set bits that begin in a word; *carry: the bit before it.  */
static uint64_t begins(uint64_t word, uint64_t *carry) {
    uint64_t n = count(word & ~(word << 1 | *carry));
    *carry = word >> 63;
    return n;
}

/* Touches line k of an allocation; true if it had to be brought in.  */
static bool bring(SimGpu *g, SimAlloc *x, uint64_t k) {
    bool cold = !x->touched[k] || g->brought - x->touched[k] > g->l2_lines;
    x->touched[k] = cold ? ++g->brought : g->brought;
    return cold;
}

static void settle(SimGpu *g, SimAlloc *x, SimFootprint *f) {
    unsigned per_line = g->line / SIM_SECTOR;
    uint64_t lines = (x->bytes + g->line - 1) / g->line, load_carry = 0, store_carry = 0;
    for (size_t n = 0; n <= x->bytes / SIM_SECTOR / 64; n++) {
        f->loaded += count(x->loaded[n]);
        f->stored += count(x->stored[n]);
        f->load_runs += begins(x->loaded[n], &load_carry);
        f->store_runs += begins(x->stored[n], &store_carry);
    }
    for (uint64_t k = 0; k < lines; k++) {
        uint64_t loads = sectors_of(x->loaded, k, per_line);
        uint64_t stores = sectors_of(x->stored, k, per_line);
        if (!(loads | stores)) continue;
        if (bring(g, x, k)) {
            f->cold_loads += count(loads);
            f->cold_stores += count(stores);
        }
        f->lines++;
    }
}

void sim_l2_settle(SimGpu *g, SimFootprint *out) {
    *out = (SimFootprint){0};
    for (size_t k = 0; k < g->n_alloc; k++) {
        if (g->alloc[k].memory.data) settle(g, &g->alloc[k], out);
    }
}

void sim_l2_pass(SimGpu *g, uint64_t at, size_t bytes) {
    const SimAlloc *found = bytes ? sim_find(g, at, bytes) : NULL;
    if (!found) return;
    SimAlloc *x = &g->alloc[found - g->alloc];
    uint64_t first = (at - x->base) / g->line, last = (at - x->base + bytes - 1) / g->line;
    for (uint64_t k = first; k <= last; k++) bring(g, x, k);
}
