/* Sectors of global memory, wavefronts of shared memory, sums: the rules of docs/simulator.md.  */
#include "sim/state/memory_state.h"
#include "sim/timing/timing.h"
#include <stdatomic.h>

/* ---- global memory ---- */

static void mark(const SimAlloc *x, uint64_t *map, uint64_t sector) {
    _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)&map[sector / 64];
    uint64_t bit = (uint64_t)1 << (sector % 64);
    if (atomic_load_explicit(word, memory_order_relaxed) & bit) return;
    atomic_fetch_or_explicit(word, bit, memory_order_relaxed);
    atomic_store_explicit(&x->marked[sector / 64 / SIM_MARKED], 1, memory_order_relaxed);
}

static void touch(SimWarp *w, int lane, uint64_t sector, bool store) {
    SimBlock *b = w->block;
    uint64_t at = sector * SIM_SECTOR;
    const SimAlloc *x = b->hot;
    if (!x || !x->memory.data || at - x->base >= x->bytes) {
        x = sim_find(b->cluster->run->gpu, at, 1);
    }
    if (!x) return;
    if (b->timing && !store && sim_l1_holds(b, sector)) return;
    mark(x, store ? x->stored : x->loaded, (at - x->base) / SIM_SECTOR);
    if (x->past[PAST_STORED]) sim_overlap_touch(w, lane, x, (at - x->base) / SIM_SECTOR, store);
    if (b->timing) sim_l2_touch(w, x, at);
}

/* ---- banks of shared memory and L1 ---- */

/* Passes over the banks, and how few they would be without conflicts.  */
typedef struct {
    int passes, least;
} Passes;

/* An access of `width` bytes of each lane: it takes that many neighbouring banks, which count as
 * one wide bank, of which there are `wide`.  */
typedef struct {
    const SimBanks *banks;
    uint32_t width, wide;
    unsigned shift;           /* width is a power of two */
} Access;

static Access access_of(const SimBanks *banks, int bytes) {
    uint32_t width = (uint32_t)bytes > banks->width ? (uint32_t)bytes : banks->width;
    uint32_t wide = banks->n * banks->width / width;
    unsigned shift = 0;
    while (1u << shift < width) shift++;
    return (Access){banks, width, wide ? wide : 1, shift};
}

static Passes passes_of(const Access *a, int most, int distinct) {
    uint32_t all = (uint32_t)distinct * a->width, row = a->banks->n * a->banks->width;
    return (Passes){most, (int)((all + row - 1) / row)};
}

/* The general case: all distinct words of every bank.  */
static Passes conflicting(const Access *a, uint32_t lanes, const uint32_t address[LANES]) {
    uint32_t word[LANES], bank[LANES];
    int most = 0, distinct = 0;
    SIM_EACH(l, lanes) {
        uint32_t u = address[l] >> a->shift, in = u % a->wide;
        int known = 0, before = 0;
        for (int k = 0; k < distinct; k++) {
            known |= word[k] == u;
            before += bank[k] == in;
        }
        if (known) continue;
        word[distinct] = u;
        bank[distinct++] = in;
        if (before >= most) most = before + 1;
    }
    return passes_of(a, most, distinct);
}

/* A group of lanes served together: as many passes as one bank has distinct words.  */
static Passes group(const Access *a, uint32_t lanes, const uint32_t address[LANES]) {
    uint32_t in_bank[LANES], used = 0, mask = a->wide - 1;
    unsigned shift = a->shift;
    if (mask & a->wide || a->wide > LANES) return conflicting(a, lanes, address);
    SIM_EACH(l, lanes) {
        uint32_t word = address[l] >> shift, bank = word & mask, bit = 1u << bank;
        if (!(used & bit)) in_bank[bank] = word;
        else if (in_bank[bank] != word) return conflicting(a, lanes, address);
        used |= bit;
    }
    return passes_of(a, lanes != 0, sim_popcount(used));
}

/* Whether every active lane shares its address with the lane whose number differs in `flip`.  */
static bool paired(uint32_t lanes, const uint32_t address[LANES], int flip) {
    SIM_EACH(l, lanes) {
        if (!(lanes >> (l ^ flip) & 1) || address[l] != address[l ^ flip]) return false;
    }
    return true;
}

static Passes sum(Passes x, Passes y) {
    return (Passes){x.passes + y.passes, x.least + y.least};
}

/* Two parts of a request, merged into one group when their lanes pair up or one is idle.  */
static Passes halves(const Access *a, uint32_t lanes, uint32_t low,
                     const uint32_t address[LANES]) {
    uint32_t x = lanes & low, y = lanes & ~low;
    if (!x || !y || paired(lanes, address, 1) || paired(lanes, address, 2)) {
        return group(a, lanes, address);
    }
    return sum(group(a, x, address), group(a, y, address));
}

static Passes request(const SimBanks *banks, uint32_t active, const uint32_t address[LANES],
                      int bytes) {
    Access a = access_of(banks, bytes);
    if (bytes <= 4) return group(&a, active, address);
    if (bytes == 8) return halves(&a, active, 0x0000ffffu, address);
    Passes all = {0, 0};
    for (int half = 0; half < 2; half++) {
        uint32_t lanes = active & (half ? 0xffff0000u : 0x0000ffffu);
        if (lanes) all = sum(all, halves(&a, lanes, 0x00ff00ffu, address));
    }
    return all;
}

/* ---- requests ---- */

/* L1 has the banks of shared memory, and looks up four lines at once.  */
static uint64_t l1_passes(const SimWarp *w, uint32_t active, const uint64_t address[LANES],
                          int bytes, const uint64_t *sector, int n) {
    enum { TAGS = 4, LINE = 128 / SIM_SECTOR };
    uint32_t at[LANES];
    int lines = 0;
    SIM_EACH(l, active) at[l] = (uint32_t)address[l];
    for (int k = 0; k < n; k++) lines += k == 0 || sector[k] / LINE != sector[k - 1] / LINE;
    int passes = request(&w->block->cluster->run->gpu->banks, active, at, bytes).passes;
    int looked_up = (lines + TAGS - 1) / TAGS;
    return (uint64_t)(passes > looked_up ? passes : looked_up);
}

void sim_count_global(SimWarp *w, uint32_t active, const uint64_t address[LANES], int bytes,
                      bool store) {
    SimCounters *c = &w->block->count;
    uint64_t seen[2 * LANES];
    int n = 0;
    SIM_EACH(l, active) {
        uint64_t last = (address[l] + (uint64_t)bytes - 1) / SIM_SECTOR;
        for (uint64_t s = address[l] / SIM_SECTOR; s <= last; s++) {
            int k = n - 1;
            while (k >= 0 && seen[k] > s) k--;
            if (k >= 0 && seen[k] == s) continue;
            for (int m = n++; m > k + 1; m--) seen[m] = seen[m - 1];
            seen[k + 1] = s;
            touch(w, l, s, store);
        }
    }
    if (w->block->timing) w->block->timing->passes += l1_passes(w, active, address, bytes, seen, n);
    uint64_t all = (uint64_t)bytes * (uint64_t)sim_popcount(active);
    if (store) {
        c->global_store_requests++;
        c->global_store_sectors += (uint64_t)n;
        c->global_store_bytes += all;
    } else {
        c->global_load_requests++;
        c->global_load_sectors += (uint64_t)n;
        c->global_load_bytes += all;
    }
}

void sim_count_global_range(SimLane by, uint64_t address, uint64_t bytes, bool store) {
    SimBlock *b = by.w->block;
    if (bytes == 0) return;
    uint64_t first = address / SIM_SECTOR, last = (address + bytes - 1) / SIM_SECTOR;
    for (uint64_t s = first; s <= last; s++) touch(by.w, by.lane, s, store);
    if (store) {
        b->count.global_store_sectors += last - first + 1;
        b->count.global_store_bytes += bytes;
    } else {
        b->count.global_load_sectors += last - first + 1;
        b->count.global_load_bytes += bytes;
    }
}

void sim_count_shared(SimWarp *w, uint32_t active, const uint32_t address[LANES], int bytes,
                      bool store) {
    SimCounters *c = &w->block->count;
    Passes p = request(&w->block->cluster->run->gpu->banks, active, address, bytes);
    if (store) {
        c->shared_store_requests++;
        c->shared_store_wavefronts += (uint64_t)p.passes;
    } else {
        c->shared_load_requests++;
        c->shared_load_wavefronts += (uint64_t)p.passes;
    }
    c->bank_conflicts += (uint64_t)(p.passes - p.least);
}

void sim_count_shared_range(SimBlock *b, uint32_t bytes, bool store) {
    const SimBanks *banks = &b->cluster->run->gpu->banks;
    uint32_t row = banks->n * banks->width;
    uint64_t n = ((uint64_t)bytes + row - 1) / row;
    if (store) b->count.shared_store_wavefronts += n;
    else b->count.shared_load_wavefronts += n;
}

void sim_count_add(SimCounters *to, const SimCounters *c) {
    for (int p = 0; p < SIM_PIPE_COUNT; p++) to->pipe[p] += c->pipe[p];
#define X(name, text) to->name += c->name;
    SIM_COUNTERS(X)
#undef X
    to->flops += c->flops;
    if (c->max_bytes_in_flight > to->max_bytes_in_flight) {
        to->max_bytes_in_flight = c->max_bytes_in_flight;
    }
}
