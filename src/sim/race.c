#include "sim/race.h"
#include "sim/memory.h"
#include <string.h>

uint32_t *sim_clock_new(SimCluster *c) { return ARENA_ARRAY(c->arena, uint32_t, c->n_entry); }

static void raise_to(uint32_t *clock, const uint32_t *other, int n) {
    for (int k = 0; k < n; k++) clock[k] = clock[k] > other[k] ? clock[k] : other[k];
}

void sim_release(SimWarp *w, uint32_t *clock) {
    SimCluster *c = w->block->cluster;
    raise_to(clock, w->clock, c->n_entry);
    clock[w->clock_id] = c->time++;
}

void sim_acquire(SimWarp *w, const uint32_t *clock) {
    raise_to(w->clock, clock, w->block->cluster->n_entry);
}

void sim_acquire_order(SimWarp *w, const uint32_t *clock) {
    raise_to(w->clock, clock, w->block->cluster->n_clock);
}

void sim_release_async(SimCluster *c, uint32_t *clock) { clock[c->n_clock - 1] = c->time++; }

void sim_fence_proxy(SimWarp *w) { sim_release(w, w->block->cluster->proxy_clock); }

/* What the checks of one access need, looked up once.  */
typedef struct {
    SimLane by;
    SimBlock *owner;
    const uint32_t *clock;
    uint32_t now;
    uint16_t me;
    int copies;               /* the clock's entry of asynchronous copies */
} Access;

static inline Access access_of(SimLane by, SimBlock *owner) {
    const SimCluster *c = by.w->block->cluster;
    return (Access){by, owner, by.w->clock, c->time, sim_thread(by.w, by.lane), c->n_clock - 1};
}

/* ---- messages ---- */

static const char *thread_name(const SimCluster *c, uint16_t thread) {
    if (thread == SIM_ASYNC_THREAD) return "an asynchronous copy";
    int per_block = c->block[0].n_warp * LANES;
    const uint32_t *n = c->run->ntid;
    uint32_t t = (uint32_t)(thread % per_block);
    const char *text = arena_printf(c->arena, "thread (%u,%u,%u)", t % n[0], t / n[0] % n[1],
                                    t / n[0] / n[1]);
    if (c->n_block == 1) return text;
    return arena_printf(c->arena, "%s of block %d of the cluster", text, thread / per_block);
}

static bool race(const Access *a, uint32_t offset, const char *mine, const char *theirs,
                 uint16_t other, int line) {
    const SimCluster *c = a->by.w->block->cluster;
    Buf text = buf_new(c->arena);
    buf_printf(&text, "this %s of shared address 0x%x and the %s by %s", mine,
               a->owner->smem_base + offset, theirs, thread_name(c, other));
    if (line) buf_printf(&text, " at ptx line %d", line);
    buf_puts(&text, " are not ordered by a barrier");
    sim_fault(a->by, SIM_RACE_SHARED, "%s", buf_str(&text));
    return false;
}

/* ---- order ---- */

/* Whether what `thread` did at `time` happened before this access.  */
static inline bool before(const Access *a, uint16_t thread, uint32_t time) {
    if (thread == a->me) return true;
    return time <= a->clock[thread == SIM_ASYNC_THREAD ? a->copies : thread / LANES];
}

/* Bytes that are one to the checks: a word, or one byte of a word whose bytes are apart.  */
typedef struct {
    SimTouch *touch;
    uint32_t *times;          /* its row of read times, NULL: none are kept */
    uint32_t offset;
} Granule;

/* The parts that hold the bytes of `mask`; returns how many.  */
static inline int granules_of(SimBlock *owner, uint32_t word, unsigned mask, Granule out[4]) {
    SimShadow *s = &owner->shadow[word];
    size_t row = (size_t)owner->n_warp;
    if (mask == 15 && !s->apart) {
        uint32_t *times = owner->read_clock ? owner->read_clock + word * row : NULL;
        out[0] = (Granule){&s->whole, times, word * 4};
        return 1;
    }
    SimTouch *touch = sim_shadow_apart(owner, word);
    uint32_t *times = owner->read_clock ? owner->apart->read_clock + 4 * s->apart * row : NULL;
    int n = 0;
    for (uint32_t b = 0; b < 4; b++) {
        if (!(mask >> b & 1)) continue;
        out[n++] = (Granule){touch + b, times ? times + b * row : NULL, word * 4 + b};
    }
    return n;
}

/* Whether the last write is not ordered before this access.  */
static inline bool write_races(const Access *a, const SimTouch *t) {
    return !before(a, t->writer, t->write_time);
}

/* Readers of several warps: exact times per warp where barriers of a part of the block occur; with
 * barriers of the whole block only, every other warp's entry is the time at which the last one was
 * complete.  */
static bool reads_before(const Access *a, const Granule *p) {
    const SimBlock *owner = a->owner;
    int first = owner->rank * owner->n_warp;
    if (!p->times) {
        int other = a->by.w->clock_id == first ? first + 1 : first;
        return p->touch->read_time <= a->clock[other];
    }
    for (int k = 0; k < owner->n_warp; k++) {
        if (first + k != a->by.w->clock_id && p->times[k] > a->clock[first + k]) return false;
    }
    return true;
}

static inline bool reader_before(const Access *a, const Granule *p) {
    const SimTouch *t = p->touch;
    switch (t->read_kind) {
    case READ_LANE: return before(a, t->reader, t->read_time);
    case READ_WARP: return t->read_time <= a->clock[t->reader / LANES];
    case READ_MANY: return reads_before(a, p);
    default: return true;
    }
}

/* Adds a reader, or several lanes of its warp.  Earlier readers are forgotten once they are ordered
 * before this read.  */
static inline void note_read(const Access *a, const Granule *p, bool several) {
    SimTouch *t = p->touch;
    SimReadKind kind = several ? READ_WARP : READ_LANE;
    if (!reader_before(a, p)) {
        bool mine = t->read_kind != READ_MANY && t->reader / LANES == a->me / LANES;
        kind = mine ? READ_WARP : READ_MANY;
    }
    t->read_kind = (uint8_t)(kind & 3);
    t->reader = a->me;
    t->read_time = a->now;
    if (p->times && a->by.w->block == a->owner) p->times[a->by.w->id] = a->now;
}

/* ---- checks ---- */

static bool unready(const Access *a, uint32_t word, const SimShadow *s, unsigned mask) {
    bool flying = s->flying & mask;
    uint32_t byte = sim_first_byte(flying ? s->flying & mask : ~s->init & mask);
    uint32_t at = a->owner->smem_base + word * 4 + byte;
    if (flying) {
        sim_fault(a->by, SIM_NOT_ARRIVED, "the copy to shared address 0x%x is still under way", at);
    } else {
        sim_fault(a->by, SIM_UNINIT_SHARED, "nothing was written to shared address 0x%x", at);
    }
    return false;
}

static inline bool read_words(Access a, uint32_t offset, uint32_t bytes, bool strong,
                              bool several) {
    SimBlock *owner = a.owner;
    bool races = !a.by.w->block->cluster->run->options->no_races;
    uint32_t unused = a.by.i->ptx->unused;
    for (uint32_t word = offset / 4; word * 4 < offset + bytes; word++) {
        SimShadow *s = &owner->shadow[word];
        unsigned mask = bytes >= 4 ? 15 : sim_byte_mask(word, offset, bytes);
        if (unused) mask &= ~(bytes >= 4 ? unused >> (word * 4 - offset) : unused << offset % 4);
        if (mask == 0) continue;
        if ((s->flying & mask) || (s->init & mask) != mask) {
            return unready(&a, word, s, mask);
        }
        if (!races) continue;
        Granule granule[4];
        int n = granules_of(owner, word, mask, granule);
        for (int k = 0; k < n; k++) {
            const SimTouch *t = granule[k].touch;
            if (write_races(&a, t) && !(strong && t->atomic)) {
                return race(&a, granule[k].offset, "read", "write", t->writer, t->line);
            }
            if (!strong) note_read(&a, &granule[k], several);
        }
    }
    return true;
}

bool sim_shadow_read_lanes(SimWarp *w, const SimInst *i, uint32_t active, SimBlock *owner,
                           const uint32_t offset[LANES], uint32_t bytes) {
    int first[LANES];                        /* the lane that reads the same place on behalf */
    uint32_t several = 0, own = 0;
    SIM_EACH(l, active) {
        int same = l > 0 && (active >> (l - 1) & 1) && offset[l] == offset[l - 1]       ? l - 1
                   : l >= 16 && (active >> (l - 16) & 1) && offset[l] == offset[l - 16] ? l - 16
                                                                                        : l;
        first[l] = same == l ? l : first[same];
        if (same == l) own |= 1u << l;
        else several |= 1u << first[l];
    }
    SIM_EACH(l, own) {
        Access a = access_of(sim_lane(w, i, l), owner);
        if (!read_words(a, offset[l], bytes, false, several >> l & 1)) return false;
    }
    return true;
}

bool sim_shadow_read(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes) {
    return read_words(access_of(by, owner), offset, bytes, false, false);
}

bool sim_shadow_read_strong(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes) {
    sim_acquire_order(by.w, by.w->block->cluster->strong_clock);
    return read_words(access_of(by, owner), offset, bytes, true, false);
}

/* value: the bytes about to be written, NULL if unknown.  Writing what is there already is no race
 * between writers.  */
static bool write_words(Access a, uint32_t offset, uint32_t bytes, bool atomic,
                        const unsigned char *value) {
    SimBlock *owner = a.owner;
    bool races = !a.by.w->block->cluster->run->options->no_races;
    bool same = value && memcmp(owner->smem + offset, value, bytes) == 0;
    for (uint32_t word = offset / 4; word * 4 < offset + bytes; word++) {
        SimShadow *s = &owner->shadow[word];
        unsigned mask = sim_byte_mask(word, offset, bytes);
        if (s->flying & mask) return unready(&a, word, s, mask);
        Granule granule[4];
        int n = granules_of(owner, word, mask, granule);
        for (int k = 0; k < n; k++) {
            SimTouch *t = granule[k].touch;
            if (races && write_races(&a, t) && !same && !(atomic && t->atomic)) {
                return race(&a, granule[k].offset, "write", "write", t->writer, t->line);
            }
            if (races && !reader_before(&a, &granule[k])) {
                return race(&a, granule[k].offset, "write", "read", t->reader, 0);
            }
            t->writer = a.me;
            t->write_time = a.now;
            t->line = (uint16_t)(a.by.i->ptx->line & 0xffff);
            t->atomic = atomic;
        }
        s->init |= mask & 15;
        if (mask == 15 && s->apart) sim_shadow_together(owner, word);
    }
    return true;
}

bool sim_shadow_write(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes) {
    return write_words(access_of(by, owner), offset, bytes, false, NULL);
}

bool sim_shadow_store(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes,
                      const unsigned char *value) {
    return write_words(access_of(by, owner), offset, bytes, false, value);
}

bool sim_shadow_atomic(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes) {
    sim_acquire_order(by.w, by.w->block->cluster->strong_clock);
    sim_release(by.w, by.w->block->cluster->strong_clock);
    return write_words(access_of(by, owner), offset, bytes, true, NULL);
}

bool sim_shadow_read_async(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes) {
    const SimCluster *c = by.w->block->cluster;
    for (uint32_t word = offset / 4; word * 4 < offset + bytes; word++) {
        Granule granule[4];
        int n = granules_of(owner, word, sim_byte_mask(word, offset, bytes), granule);
        for (int k = 0; k < n; k++) {
            const SimTouch *t = granule[k].touch;
            bool generic = t->writer != SIM_ASYNC_THREAD;
            if (!generic || t->write_time <= c->proxy_clock[t->writer / LANES]) continue;
            sim_fault(by, SIM_PROXY_FENCE,
                      "shared address 0x%x was written by %s without "
                      "fence.proxy.async afterwards",
                      owner->smem_base + granule[k].offset, thread_name(c, t->writer));
            return false;
        }
    }
    return read_words(access_of(by, owner), offset, bytes, false, false);
}

bool sim_shadow_fly(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes) {
    if (!write_words(access_of(by, owner), offset, bytes, false, NULL)) return false;
    for (uint32_t word = offset / 4; word * 4 < offset + bytes; word++) {
        owner->shadow[word].flying |= sim_byte_mask(word, offset, bytes) & 15;
    }
    return true;
}

void sim_shadow_land(SimCluster *c, SimBlock *owner, uint32_t offset, uint32_t bytes,
                     uint16_t thread, bool atomic) {
    for (uint32_t word = offset / 4; word * 4 < offset + bytes; word++) {
        SimShadow *s = &owner->shadow[word];
        unsigned mask = sim_byte_mask(word, offset, bytes);
        s->flying &= ~mask & 15;
        s->init |= mask & 15;
        Granule granule[4];
        int n = granules_of(owner, word, mask, granule);
        for (int k = 0; k < n; k++) {
            SimTouch *t = granule[k].touch;
            t->writer = thread;
            t->write_time = c->time;
            t->atomic = atomic;
        }
        if (mask == 15 && s->apart) sim_shadow_together(owner, word);
    }
}

void sim_shadow_init(SimBlock *owner, uint32_t offset, uint32_t bytes) {
    for (uint32_t word = offset / 4; word * 4 < offset + bytes; word++) {
        owner->shadow[word].init |= sim_byte_mask(word, offset, bytes) & 15;
    }
}
