#include "sim/state/race.h"
#include "sim/state/memory.h"
#include <string.h>

void sim_strong_begin(SimWarp *w, uint32_t lanes) {
    sim_acquire_order(w, lanes, w->block->cluster->strong_clock);
}

void sim_strong_end(SimWarp *w, uint32_t lanes) {
    sim_release(w, lanes, w->block->cluster->strong_clock);
}

/* What the checks of one access need, looked up once.  */
typedef struct {
    SimLane by;
    SimBlock *owner;
    const uint32_t *view;
    uint32_t now;
    uint32_t readers;         /* lanes that read at once */
    uint16_t me;
    uint16_t reader;          /* the entry that reads */
} Access;

static inline Access access_of(SimLane by, SimBlock *owner) {
    const SimWarp *w = by.w;
    return (Access){by, owner, w->view[by.lane], w->block->cluster->time, 1u << by.lane,
                    sim_thread(w, by.lane), (uint16_t)w->clock_id};
}

/* ---- messages ---- */

static const char *thread_name(const SimCluster *c, int thread) {
    if (thread / LANES >= sim_lane_copies_entry(c)) return "an asynchronous copy";
    int per_block = c->block[0].n_warp * LANES;
    const uint32_t *n = c->run->ntid;
    thread %= c->n_warp * LANES;
    uint32_t t = (uint32_t)(thread % per_block);
    const char *text = arena_printf(c->arena, "thread (%u,%u,%u)", t % n[0], t / n[0] % n[1],
                                    t / n[0] / n[1]);
    if (c->n_block == 1) return text;
    return arena_printf(c->arena, "%s of block %d of the cluster", text, thread / per_block);
}

static bool race(const Access *a, uint32_t offset, const char *mine, const char *theirs, int other,
                 int line) {
    const SimCluster *c = a->by.w->block->cluster;
    Buf text = buf_new(c->arena);
    buf_printf(&text, "this %s of shared address 0x%x and the %s by %s", mine,
               a->owner->smem_base + offset, theirs, thread_name(c, other));
    if (line) buf_printf(&text, " at ptx line %d", line);
    buf_puts(&text, " are not ordered by a barrier");
    sim_fault(a->by, SIM_RACE_SHARED, "%s", buf_str(&text));
    return false;
}

/* A write of what `other` has read, or may still be reading.  */
static bool overwrites(const Access *a, uint32_t offset, int other) {
    const SimCluster *c = a->by.w->block->cluster;
    if (other / LANES < c->n_warp) return race(a, offset, "write", "read", other, 0);
    bool product = other / LANES >= 2 * c->n_warp;
    sim_fault(a->by, product ? SIM_WGMMA_OPERAND : SIM_RACE_SHARED,
              "this write of shared address 0x%x does not come after the wait of %s for the %s "
              "that reads it",
              a->owner->smem_base + offset, thread_name(c, other),
              product ? "wgmma" : "asynchronous copy");
    return false;
}

/* ---- order ---- */

/* Whether what lanes of an entry did at `time` happened before this access.  */
static inline bool known(const Access *a, int entry, uint32_t lanes, uint32_t time) {
    return time <= a->view[entry] || sim_knows(a->by.w, a->by.lane, entry, lanes, time);
}

/* Bytes that are one to the checks: a word, or one byte of a word whose bytes are apart.  */
typedef struct {
    SimTouch *touch;
    uint32_t *row;            /* who read it and when, NULL: is not kept */
    uint32_t offset;
} Granule;

/* The parts that hold the bytes of `mask`; returns how many.  */
static inline int granules_of(SimBlock *owner, uint32_t word, unsigned mask, Granule out[4]) {
    SimShadow *s = &owner->shadow[word];
    size_t row = (size_t)owner->row;
    if (mask == 15 && !s->apart) {
        uint32_t *readers = owner->read_row ? owner->read_row + word * row : NULL;
        out[0] = (Granule){&s->whole, readers, word * 4};
        return 1;
    }
    SimTouch *touch = sim_shadow_apart(owner, word);
    uint32_t *readers = owner->read_row ? owner->apart->read_row + 4 * s->apart * row : NULL;
    int n = 0;
    for (uint32_t b = 0; b < 4; b++) {
        if (!(mask >> b & 1)) continue;
        out[n++] = (Granule){touch + b, readers ? readers + b * row : NULL, word * 4 + b};
    }
    return n;
}

/* Whether the last write is not ordered before this access.  */
static inline bool write_races(const Access *a, const SimTouch *t) {
    return t->writer != a->me &&
           !known(a, t->writer / LANES, 1u << t->writer % LANES, t->write_time);
}

enum { NOBODY = -1 };

/* Of readers of several entries one that is not ordered before this access.  A row has, for each
 * warp of the block, when it read last, which lanes did, and, if the kernel has that, when it let
 * copies or products (bit 0) read.  There are rows where barriers of a part of the block occur;
 * with barriers of the whole block only, every other warp's entry is the time at which the last
 * one was complete.  */
static int unknown_of_many(const Access *a, const Granule *p) {
    const SimBlock *owner = a->owner;
    int n = owner->n_warp, first = owner->rank * n;
    if (!p->row) {
        int other = a->by.w->clock_id == first ? first + 1 : first;
        return p->touch->read_time <= a->view[other] ? NOBODY : p->touch->reader * LANES;
    }
    for (int k = 0; k < n; k++) {
        if (known(a, first + k, p->row[n + k], p->row[k])) continue;
        return sim_thread_of(first + k, sim_first_lane(p->row[n + k]));
    }
    for (int k = 0; owner->row > 2 * n && k < n; k++) {
        /* Lanes that wait for their own copies are taken to wait for all of the warp's.  */
        uint32_t read = p->row[2 * n + k];
        int entry = sim_reads_entry(&owner->warp[k], read & 1);
        if (!sim_clock_covers(owner->cluster, a->view, entry, 0, read >> 1)) {
            return sim_thread_of(entry, 0);
        }
    }
    return NOBODY;
}

/* A reader that is not ordered before this access.  */
static inline int unknown_reader(const Access *a, const Granule *p) {
    const SimTouch *t = p->touch;
    if (!t->readers) return NOBODY;
    if (!known(a, t->reader, t->readers, t->read_time)) {
        return sim_thread_of(t->reader, sim_first_lane(t->readers));
    }
    return t->many ? unknown_of_many(a, p) : NOBODY;
}

static inline void note_in_row(const Access *a, uint32_t *row) {
    const SimWarp *w = a->by.w;
    int n = w->block->n_warp;
    if (a->reader != w->clock_id) {
        row[2 * n + w->id] = a->now << 1 | (a->reader >= 2 * w->block->cluster->n_warp);
        return;
    }
    bool forget = known(a, a->reader, row[n + w->id], row[w->id]);
    row[n + w->id] = (forget ? 0 : row[n + w->id]) | a->readers;
    row[w->id] = a->now;
}

/* Adds a reader.  Earlier readers are forgotten once they are ordered before this read.  */
static inline void note_read(const Access *a, const Granule *p) {
    SimTouch *t = p->touch;
    bool others = unknown_reader(a, p) != NOBODY, mine = t->reader == a->reader;
    t->many = others && (t->many || !mine);
    t->readers = a->readers | (others && mine ? t->readers : 0);
    t->reader = a->reader;
    t->read_time = a->now;
    if (p->row && a->by.w->block == a->owner) note_in_row(a, p->row);
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

static inline bool read_words(Access a, uint32_t offset, uint32_t bytes, bool strong) {
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
            if (!strong) note_read(&a, &granule[k]);
        }
    }
    return true;
}

bool sim_shadow_read_lanes(SimWarp *w, const SimInst *i, uint32_t active, SimBlock *owner,
                           const uint32_t offset[LANES], bool strong) {
    uint32_t bytes = (uint32_t)i->bytes * i->count;
    int first[LANES];                        /* the lane that reads the same place on behalf */
    uint32_t with[LANES];                    /* the lanes that it reads for */
    uint32_t own = 0;
    SIM_EACH(l, active) {
        int same = l > 0 && (active >> (l - 1) & 1) && offset[l] == offset[l - 1]       ? l - 1
                   : l >= 16 && (active >> (l - 16) & 1) && offset[l] == offset[l - 16] ? l - 16
                                                                                        : l;
        first[l] = same == l ? l : first[same];
        with[l] = 0;
        with[first[l]] |= 1u << l;
        if (same == l) own |= 1u << l;
    }
    SIM_EACH(l, own) {
        Access a = access_of(sim_lane(w, i, l), owner);
        a.readers = with[l];
        if (!read_words(a, offset[l], bytes, strong)) return false;
    }
    return true;
}

bool sim_shadow_read(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes) {
    return read_words(access_of(by, owner), offset, bytes, false);
}

bool sim_shadow_read_strong(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes) {
    return read_words(access_of(by, owner), offset, bytes, true);
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
            int reader = races ? unknown_reader(&a, &granule[k]) : NOBODY;
            if (reader != NOBODY) return overwrites(&a, granule[k].offset, reader);
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
    return write_words(access_of(by, owner), offset, bytes, true, NULL);
}

bool sim_shadow_read_async(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes) {
    const SimCluster *c = by.w->block->cluster;
    for (uint32_t word = offset / 4; word * 4 < offset + bytes; word++) {
        Granule granule[4];
        int n = granules_of(owner, word, sim_byte_mask(word, offset, bytes), granule);
        for (int k = 0; k < n; k++) {
            const SimTouch *t = granule[k].touch;
            int entry = t->writer / LANES;
            bool generic = entry != sim_copies_entry(c);
            if (!generic || sim_clock_covers(c, c->proxy_clock, entry, 1u << t->writer % LANES,
                                             t->write_time)) {
                continue;
            }
            sim_fault(by, SIM_PROXY_FENCE,
                      "shared address 0x%x was written by %s without "
                      "fence.proxy.async afterwards",
                      owner->smem_base + granule[k].offset, thread_name(c, t->writer));
            return false;
        }
    }
    Access a = access_of(by, owner);
    a.reader = (uint16_t)sim_reads_entry(by.w, sim_multiplies(by.i));
    return read_words(a, offset, bytes, false);
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
