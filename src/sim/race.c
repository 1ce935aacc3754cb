#include "sim/race.h"
#include "sim/memory.h"
#include <string.h>

uint32_t *sim_clock_new(SimCluster *c) { return ARENA_ARRAY(c->arena, uint32_t, c->n_clock); }

static void raise_to(uint32_t *clock, const uint32_t *other, int n) {
    for (int k = 0; k < n; k++) clock[k] = clock[k] > other[k] ? clock[k] : other[k];
}

void sim_release(SimWarp *w, uint32_t *clock) {
    SimCluster *c = w->block->cluster;
    raise_to(clock, w->clock, c->n_clock);
    clock[w->clock_id] = c->time++;
}

void sim_acquire(SimWarp *w, const uint32_t *clock) {
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

/* Whether what `thread` did at `time` happened before the next access of lane's thread.  */
static inline bool ordered(const SimWarp *w, uint16_t me, uint16_t thread, uint32_t time) {
    if (thread == me) return true;
    int n = w->block->cluster->n_clock;
    int u = thread == SIM_ASYNC_THREAD ? n - 1 : thread / LANES;
    return time <= w->clock[u];
}

/* The bytes of word number `word` that an access to offset .. offset + bytes - 1 touches.  */
static inline unsigned byte_mask(uint32_t word, uint32_t offset, uint32_t bytes) {
    uint32_t from = word * 4 > offset ? 0 : offset - word * 4;
    uint32_t to = offset + bytes - word * 4;
    if (to > 4) to = 4;
    return ((1u << to) - 1) & ~((1u << from) - 1);
}

/* Readers of several warps: exact times per warp where barriers of a part of the block occur; with
 * barriers of the whole block only, every other warp's entry is the time at which the last one was
 * complete.  */
static bool reads_ordered(const SimWarp *w, const SimBlock *owner, uint32_t word,
                          const SimShadow *s) {
    int first = owner->rank * owner->n_warp;
    if (!owner->read_clock) {
        int other = w->clock_id == first ? first + 1 : first;
        return s->read_time <= w->clock[other];
    }
    const uint32_t *times = owner->read_clock + (size_t)word * (size_t)owner->n_warp;
    for (int k = 0; k < owner->n_warp; k++) {
        if (first + k != w->clock_id && times[k] > w->clock[first + k]) return false;
    }
    return true;
}

static inline bool reader_ordered(const SimWarp *w, uint16_t me, const SimBlock *owner,
                                  uint32_t word, const SimShadow *s) {
    switch (s->read_kind) {
    case READ_LANE: return ordered(w, me, s->reader, s->read_time);
    case READ_WARP: return s->read_time <= w->clock[s->reader / LANES];
    case READ_MANY: return reads_ordered(w, owner, word, s);
    default: return true;
    }
}

/* Adds a reader.  Earlier readers are forgotten once they are ordered before this read.  */
static inline void note_read(const SimWarp *w, uint16_t me, SimBlock *owner, uint32_t word,
                             SimShadow *s) {
    uint32_t now = w->block->cluster->time;
    if (reader_ordered(w, me, owner, word, s)) s->read_kind = READ_LANE;
    else if (s->read_kind != READ_MANY && s->reader / LANES == me / LANES) s->read_kind = READ_WARP;
    else s->read_kind = READ_MANY;
    s->reader = me;
    s->read_time = now;
    if (owner->read_clock && w->block == owner) {
        owner->read_clock[(size_t)word * (size_t)owner->n_warp + (size_t)w->id] = now;
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
                              uint32_t offset, uint32_t bytes, bool strong) {
    uint16_t me = sim_thread(w, lane);
    bool races = !w->block->cluster->run->options->no_races;
    for (uint32_t word = offset / 4; word * 4 < offset + bytes; word++) {
        SimShadow *s = &owner->shadow[word];
        unsigned mask = byte_mask(word, offset, bytes);
        if ((s->flying & mask) || (s->init & mask) != mask) {
            return unready(w, i, lane, owner, word, s, mask);
        }
        if (!races) continue;
        bool safe = s->writer == SIM_NO_THREAD || !(s->written & mask) || (strong && s->atomic) ||
                    ordered(w, me, s->writer, s->write_time);
        if (!safe) {
            return race(w, i, lane, owner, word * 4, "read", "write", s->writer, s->line);
        }
        if (!strong) note_read(w, me, owner, word, s);
    }
    return true;
}

bool sim_shadow_read(SimWarp *w, const SimInst *i, int lane, SimBlock *owner, uint32_t offset,
                     uint32_t bytes) {
    return read_words(w, i, lane, owner, offset, bytes, false);
}

bool sim_shadow_read_strong(SimWarp *w, const SimInst *i, int lane, SimBlock *owner,
                            uint32_t offset, uint32_t bytes) {
    sim_acquire(w, w->block->cluster->strong_clock);
    return read_words(w, i, lane, owner, offset, bytes, true);
}

static inline void note_write(const SimWarp *w, const SimInst *i, uint16_t me, SimShadow *s,
                              unsigned mask) {
    uint32_t now = w->block->cluster->time;
    bool same = s->write_time == now && s->writer / LANES == me / LANES;
    s->written = (uint8_t)((same ? s->written | mask : mask) & 15);
    s->writer = me;
    s->write_time = now;
    s->line = (uint16_t)(i->ptx->line & 0xffff);
    s->init = (uint8_t)((s->init | mask) & 15);
}

/* value: the bytes about to be written, NULL if unknown.  Writing what is there already is no race
 * between writers.  */
static inline bool write_words(SimWarp *w, const SimInst *i, int lane, SimBlock *owner,
                               uint32_t offset, uint32_t bytes, bool atomic,
                               const unsigned char *value) {
    uint16_t me = sim_thread(w, lane);
    bool races = !w->block->cluster->run->options->no_races;
    bool same = value && memcmp(owner->smem + offset, value, bytes) == 0;
    for (uint32_t word = offset / 4; word * 4 < offset + bytes; word++) {
        SimShadow *s = &owner->shadow[word];
        unsigned mask = byte_mask(word, offset, bytes);
        if (s->flying & mask) return unready(w, i, lane, owner, word, s, mask);
        if (races) {
            bool safe = s->writer == SIM_NO_THREAD || !(s->written & mask) || same ||
                        (atomic && s->atomic) || ordered(w, me, s->writer, s->write_time);
            if (!safe) {
                return race(w, i, lane, owner, word * 4, "write", "write", s->writer, s->line);
            }
            if (!reader_ordered(w, me, owner, word, s)) {
                return race(w, i, lane, owner, word * 4, "write", "read", s->reader, 0);
            }
        }
        note_write(w, i, me, s, mask);
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
    sim_acquire(w, w->block->cluster->strong_clock);
    sim_release(w, w->block->cluster->strong_clock);
    return write_words(w, i, lane, owner, offset, bytes, true, NULL);
}

bool sim_shadow_read_async(SimWarp *w, const SimInst *i, int lane, SimBlock *owner, uint32_t offset,
                           uint32_t bytes) {
    const SimCluster *c = w->block->cluster;
    for (uint32_t word = offset / 4; word * 4 < offset + bytes; word++) {
        const SimShadow *s = &owner->shadow[word];
        bool generic = s->writer != SIM_NO_THREAD && s->writer != SIM_ASYNC_THREAD;
        if (!generic || s->write_time <= c->proxy_clock[s->writer / LANES]) continue;
        sim_fault(w, SIM_PROXY_FENCE, i, lane, "shared address 0x%x was written by %s without "
                  "fence.proxy.async afterwards", owner->smem_base + word * 4,
                  thread_name(c, s->writer));
        return false;
    }
    return read_words(w, i, lane, owner, offset, bytes, false);
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
