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

static bool race(SimWarp *w, const SimInst *i, int lane, const SimBlock *owner, uint32_t offset,
                 const char *mine, const char *theirs, uint16_t other, int line) {
    const SimCluster *c = w->block->cluster;
    Buf text = buf_new(c->arena);
    buf_printf(&text, "this %s of shared address 0x%x and the %s by %s", mine,
               owner->smem_base + offset, theirs, thread_name(c, other));
    if (line) buf_printf(&text, " at ptx line %d", line);
    buf_puts(&text, " are not ordered by a barrier");
    sim_fault(w, SIM_RACE_SHARED, i, lane, "%s", buf_str(&text));
    return false;
}

/* ---- order ---- */

/* The bytes of word number `word` that an access to offset .. offset + bytes - 1 touches.  */
static inline unsigned byte_mask(uint32_t word, uint32_t offset, uint32_t bytes) {
    uint32_t from = word * 4 > offset ? 0 : offset - word * 4;
    uint32_t to = offset + bytes - word * 4;
    if (to > 4) to = 4;
    return ((1u << to) - 1) & ~((1u << from) - 1);
}

/* What the checks of one access need, looked up once.  */
typedef struct {
    const SimWarp *w;
    SimBlock *owner;
    const uint32_t *clock;
    uint32_t now;
    uint16_t me;
    int copies;               /* the clock's entry of asynchronous copies */
} Access;

static inline Access access_of(const SimWarp *w, SimBlock *owner, int lane) {
    const SimCluster *c = w->block->cluster;
    return (Access){w, owner, w->clock, c->time, sim_thread(w, lane), c->n_clock - 1};
}

/* Whether what `thread` did at `time` happened before this access.  */
static inline bool before(const Access *a, uint16_t thread, uint32_t time) {
    if (thread == a->me) return true;
    return time <= a->clock[thread == SIM_ASYNC_THREAD ? a->copies : thread / LANES];
}

/* Whether the last write of some of these bytes is not ordered before this access; *by: whose.  */
static inline bool write_races(const Access *a, const SimShadow *s, unsigned mask, uint16_t *by) {
    mask &= s->written;
    *by = s->writer;
    if (!mask) return false;
    int warp = a->me / LANES;
    if (s->writer / LANES != warp) return !before(a, s->writer, s->write_time);
    if (s->write_time <= a->clock[warp]) return false;
    for (int b = 0; b < 4; b++) {
        *by = (uint16_t)(warp * LANES + s->lane[b]);
        if ((mask >> b & 1) && *by != a->me) return true;
    }
    return false;
}

static inline void note_lane(SimShadow *s, unsigned mask, int lane) {
    for (int b = 0; b < 4; b++)
        if (mask >> b & 1) s->lane[b] = (uint8_t)lane;
}

/* Readers of several warps: exact times per warp where barriers of a part of the block occur; with
 * barriers of the whole block only, every other warp's entry is the time at which the last one was
 * complete.  */
static bool reads_before(const Access *a, uint32_t word, const SimShadow *s) {
    const SimBlock *owner = a->owner;
    int first = owner->rank * owner->n_warp;
    if (!owner->read_clock) {
        int other = a->w->clock_id == first ? first + 1 : first;
        return s->read_time <= a->clock[other];
    }
    const uint32_t *times = owner->read_clock + (size_t)word * (size_t)owner->n_warp;
    for (int k = 0; k < owner->n_warp; k++) {
        if (first + k != a->w->clock_id && times[k] > a->clock[first + k]) return false;
    }
    return true;
}

static inline bool reader_before(const Access *a, uint32_t word, const SimShadow *s) {
    switch (s->read_kind) {
    case READ_LANE: return before(a, s->reader, s->read_time);
    case READ_WARP: return s->read_time <= a->clock[s->reader / LANES];
    case READ_MANY: return reads_before(a, word, s);
    default: return true;
    }
}

/* Adds a reader, or several lanes of its warp.  Earlier readers are forgotten once they are ordered
 * before this read.  */
static inline void note_read(const Access *a, uint32_t word, SimShadow *s, bool several) {
    SimReadKind kind = several ? READ_WARP : READ_LANE;
    if (!reader_before(a, word, s)) {
        bool mine = s->read_kind != READ_MANY && s->reader / LANES == a->me / LANES;
        kind = mine ? READ_WARP : READ_MANY;
    }
    s->read_kind = (uint8_t)(kind & 3);
    s->reader = a->me;
    s->read_time = a->now;
    if (a->owner->read_clock && a->w->block == a->owner) {
        size_t row = (size_t)word * (size_t)a->owner->n_warp;
        a->owner->read_clock[row + (size_t)a->w->id] = a->now;
    }
}

/* ---- checks ---- */

static bool unready(SimWarp *w, const SimInst *i, int lane, const SimBlock *owner, uint32_t word,
                    const SimShadow *s, unsigned mask) {
    uint32_t at = owner->smem_base + word * 4;
    if (s->flying & mask) {
        sim_fault(w, SIM_NOT_ARRIVED, i, lane, "the copy to shared address 0x%x is still under way",
                  at);
    } else {
        sim_fault(w, SIM_UNINIT_SHARED, i, lane, "nothing was written to shared address 0x%x", at);
    }
    return false;
}

static inline bool read_words(SimWarp *w, const SimInst *i, int lane, SimBlock *owner,
                              uint32_t offset, uint32_t bytes, bool strong, bool several) {
    Access a = access_of(w, owner, lane);
    bool races = !w->block->cluster->run->options->no_races;
    uint32_t unused = i->ptx->unused;
    for (uint32_t word = offset / 4; word * 4 < offset + bytes; word++) {
        SimShadow *s = &owner->shadow[word];
        unsigned mask = bytes >= 4 ? 15 : byte_mask(word, offset, bytes);
        if (unused && bytes >= 4) mask &= ~(unused >> (word * 4 - offset));
        if (mask == 0) continue;
        if ((s->flying & mask) || (s->init & mask) != mask) {
            return unready(w, i, lane, owner, word, s, mask);
        }
        if (!races) continue;
        uint16_t by;
        if (write_races(&a, s, mask, &by) && !(strong && s->atomic))
            return race(w, i, lane, owner, word * 4, "read", "write", by, s->line);
        if (!strong) note_read(&a, word, s, several);
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
        if (!read_words(w, i, l, owner, offset[l], bytes, false, several >> l & 1)) return false;
    }
    return true;
}

bool sim_shadow_read(SimWarp *w, const SimInst *i, int lane, SimBlock *owner, uint32_t offset,
                     uint32_t bytes) {
    return read_words(w, i, lane, owner, offset, bytes, false, false);
}

bool sim_shadow_read_strong(SimWarp *w, const SimInst *i, int lane, SimBlock *owner,
                            uint32_t offset, uint32_t bytes) {
    sim_acquire_order(w, w->block->cluster->strong_clock);
    return read_words(w, i, lane, owner, offset, bytes, true, false);
}

static inline void note_write(const Access *a, const SimInst *i, SimShadow *s, unsigned mask) {
    bool same = s->write_time == a->now && s->writer / LANES == a->me / LANES;
    s->written = (uint8_t)((same ? s->written | mask : mask) & 15);
    note_lane(s, mask, a->me % LANES);
    s->writer = a->me;
    s->write_time = a->now;
    s->line = (uint16_t)(i->ptx->line & 0xffff);
    s->init = (uint8_t)((s->init | mask) & 15);
}

/* value: the bytes about to be written, NULL if unknown.  Writing what is there already is no race
 * between writers.  */
static bool write_words(SimWarp *w, const SimInst *i, int lane, SimBlock *owner,
                               uint32_t offset, uint32_t bytes, bool atomic,
                               const unsigned char *value) {
    Access a = access_of(w, owner, lane);
    bool races = !w->block->cluster->run->options->no_races;
    bool same = value && memcmp(owner->smem + offset, value, bytes) == 0;
    for (uint32_t word = offset / 4; word * 4 < offset + bytes; word++) {
        SimShadow *s = &owner->shadow[word];
        unsigned mask = byte_mask(word, offset, bytes);
        if (s->flying & mask) return unready(w, i, lane, owner, word, s, mask);
        if (races) {
            uint16_t by;
            if (write_races(&a, s, mask, &by) && !same && !(atomic && s->atomic))
                return race(w, i, lane, owner, word * 4, "write", "write", by, s->line);
            if (!reader_before(&a, word, s)) {
                return race(w, i, lane, owner, word * 4, "write", "read", s->reader, 0);
            }
        }
        note_write(&a, i, s, mask);
        s->atomic = atomic;
    }
    return true;
}

bool sim_shadow_write(SimWarp *w, const SimInst *i, int lane, SimBlock *owner, uint32_t offset,
                      uint32_t bytes) {
    return write_words(w, i, lane, owner, offset, bytes, false, NULL);
}

bool sim_shadow_store(SimWarp *w, const SimInst *i, int lane, SimBlock *owner, uint32_t offset,
                      uint32_t bytes, const unsigned char *value) {
    return write_words(w, i, lane, owner, offset, bytes, false, value);
}

bool sim_shadow_atomic(SimWarp *w, const SimInst *i, int lane, SimBlock *owner, uint32_t offset,
                       uint32_t bytes) {
    sim_acquire_order(w, w->block->cluster->strong_clock);
    sim_release(w, w->block->cluster->strong_clock);
    return write_words(w, i, lane, owner, offset, bytes, true, NULL);
}

bool sim_shadow_read_async(SimWarp *w, const SimInst *i, int lane, SimBlock *owner, uint32_t offset,
                           uint32_t bytes) {
    const SimCluster *c = w->block->cluster;
    for (uint32_t word = offset / 4; word * 4 < offset + bytes; word++) {
        const SimShadow *s = &owner->shadow[word];
        bool generic = s->writer != SIM_ASYNC_THREAD;
        if (!generic || s->write_time <= c->proxy_clock[s->writer / LANES]) continue;
        sim_fault(w, SIM_PROXY_FENCE, i, lane, "shared address 0x%x was written by %s without "
                  "fence.proxy.async afterwards", owner->smem_base + word * 4,
                  thread_name(c, s->writer));
        return false;
    }
    return read_words(w, i, lane, owner, offset, bytes, false, false);
}

bool sim_shadow_fly(SimWarp *w, const SimInst *i, int lane, SimBlock *owner, uint32_t offset,
                    uint32_t bytes) {
    if (!write_words(w, i, lane, owner, offset, bytes, false, NULL)) return false;
    for (uint32_t word = offset / 4; word * 4 < offset + bytes; word++) {
        SimShadow *s = &owner->shadow[word];
        s->flying = (uint8_t)((s->flying | byte_mask(word, offset, bytes)) & 15);
    }
    return true;
}

void sim_shadow_land(SimCluster *c, SimBlock *owner, uint32_t offset, uint32_t bytes,
                     uint16_t thread) {
    for (uint32_t word = offset / 4; word * 4 < offset + bytes; word++) {
        SimShadow *s = &owner->shadow[word];
        unsigned mask = byte_mask(word, offset, bytes);
        s->flying = (uint8_t)(s->flying & ~mask & 15);
        s->init = (uint8_t)((s->init | mask) & 15);
        s->written = (uint8_t)(mask & 15);
        s->writer = thread;
        note_lane(s, mask, thread % LANES);
        s->write_time = c->time;
        s->atomic = false;
    }
}

void sim_shadow_init(SimBlock *owner, uint32_t offset, uint32_t bytes) {
    for (uint32_t word = offset / 4; word * 4 < offset + bytes; word++) {
        SimShadow *s = &owner->shadow[word];
        s->init = (uint8_t)((s->init | byte_mask(word, offset, bytes)) & 15);
    }
}
