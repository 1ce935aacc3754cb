/* Sectors of global memory, wavefronts of shared memory, sums: the rules of docs/simulator.md.  */
#include "sim/memory_state.h"
#include <stdatomic.h>

/* ---- global memory ---- */

static bool mark(uint64_t *map, uint64_t sector) {
    _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)&map[sector / 64];
    uint64_t bit = (uint64_t)1 << (sector % 64);
    if (atomic_load_explicit(word, memory_order_relaxed) & bit) return false;
    atomic_fetch_or_explicit(word, bit, memory_order_relaxed);
    return true;
}

static void touch(const SimBlock *b, uint64_t sector, bool store) {
    uint64_t at = sector * SIM_SECTOR;
    const SimAlloc *x = b->hot;
    if (!x || !x->host || at - x->base >= x->bytes) {
        x = sim_find(b->cluster->run->gpu, at, 1);
    }
    if (x) mark(store ? x->stored : x->loaded, (at - x->base) / SIM_SECTOR);
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
            touch(w->block, s, store);
        }
    }
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

void sim_count_global_range(SimBlock *b, uint64_t address, uint64_t bytes, bool store) {
    if (bytes == 0) return;
    uint64_t first = address / SIM_SECTOR, last = (address + bytes - 1) / SIM_SECTOR;
    for (uint64_t s = first; s <= last; s++) touch(b, s, store);
    if (store) {
        b->count.global_store_sectors += last - first + 1;
        b->count.global_store_bytes += bytes;
    } else {
        b->count.global_load_sectors += last - first + 1;
        b->count.global_load_bytes += bytes;
    }
}

/* ---- shared memory ---- */

enum { BANKS = 32 };

/* Passes over the banks, and how few they would be without conflicts.  */
typedef struct {
    int passes, least;
} Passes;

/* The general case: all distinct units of every bank.  */
static Passes conflicting(uint32_t lanes, const uint32_t address[LANES], uint32_t words) {
    uint32_t in_bank[BANKS][LANES], wide = BANKS / words;
    uint8_t n[BANKS] = {0};
    int most = 0, distinct = 0;
    SIM_EACH(l, lanes) {
        uint32_t unit = address[l] / (4 * words), bank = unit % wide;
        int k = 0;
        while (k < n[bank] && in_bank[bank][k] != unit) k++;
        if (k < n[bank]) continue;
        in_bank[bank][n[bank]++] = unit;
        distinct++;
        if (n[bank] > most) most = n[bank];
    }
    return (Passes){most, (distinct * (int)words + BANKS - 1) / BANKS};
}

/* A group of lanes served together: as many passes as one bank has distinct words.  Aligned
 * accesses of `words` words take that many neighbouring banks each: they count as one wide bank. */
static Passes group(uint32_t lanes, const uint32_t address[LANES], uint32_t words) {
    uint32_t in_bank[BANKS], wide = BANKS / words, used = 0;
    SIM_EACH(l, lanes) {
        uint32_t unit = address[l] / (4 * words), bank = unit % wide, bit = 1u << bank;
        if (!(used & bit)) in_bank[bank] = unit;
        else if (in_bank[bank] != unit) return conflicting(lanes, address, words);
        used |= bit;
    }
    int all = sim_popcount(used) * (int)words;
    return (Passes){lanes != 0, (all + BANKS - 1) / BANKS};
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
static Passes halves(uint32_t lanes, uint32_t low, const uint32_t address[LANES],
                     uint32_t words) {
    uint32_t x = lanes & low, y = lanes & ~low;
    if (!x || !y || paired(lanes, address, 1) || paired(lanes, address, 2)) {
        return group(lanes, address, words);
    }
    return sum(group(x, address, words), group(y, address, words));
}

static Passes request(uint32_t active, const uint32_t address[LANES], int bytes) {
    if (bytes <= 4) return group(active, address, 1);
    if (bytes == 8) return halves(active, 0x0000ffffu, address, 2);
    Passes all = {0, 0};
    for (int half = 0; half < 2; half++) {
        uint32_t lanes = active & (half ? 0xffff0000u : 0x0000ffffu);
        if (lanes) all = sum(all, halves(lanes, 0x00ff00ffu, address, (uint32_t)bytes / 4));
    }
    return all;
}

void sim_count_shared(SimWarp *w, uint32_t active, const uint32_t address[LANES], int bytes,
                      bool store) {
    SimCounters *c = &w->block->count;
    Passes p = request(active, address, bytes);
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
    uint64_t n = (bytes + 4 * BANKS - 1) / (4 * BANKS);
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
