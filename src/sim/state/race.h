/* Shadow state of shared memory: what each byte is, who touched it last and when.
 *
 * An access is a race if another thread touched the byte, one of the two writes, and the accessing
 * thread does not know of the other access (clock.h).  What is read asynchronously is read by an
 * entry of its own, which a thread knows of that has waited for the end of the reading.  */
#ifndef ROLLER_SIM_STATE_RACE_H
#define ROLLER_SIM_STATE_RACE_H
#include "sim/state/clock.h"

/* Who wrote and who read some bytes last, and when.  */
typedef struct {
    uint32_t write_time, read_time;
    uint32_t readers;         /* lanes of `reader` since the last ordered access, 0: nobody */
    uint16_t writer;          /* sim_thread_of; 0 at time 0 before the first write */
    uint16_t reader;          /* an entry of a clock: of several the last */
    uint16_t line;            /* of the last write: low bits of its PTX line */
    uint8_t many : 1;         /* other entries have read, too */
    uint8_t atomic : 1;
} SimTouch;
/* State of 4 bytes.  Byte masks have bit 0 for the lowest byte.  Most words are only ever touched
 * as a whole; one of which an access touched a part has a SimTouch for each byte, until a write of
 * the whole makes them equal again.  */
struct SimShadow {
    SimTouch whole;           /* of all four bytes, unless they are apart */
    uint32_t init : 4, flying : 4;        /* bytes ever written; under way by a copy */
    uint32_t apart : 24;      /* 0, or the number of their four in SimApart */
};
/* The words of a block whose bytes are apart.  */
struct SimApart {
    SimTouch *touch;          /* four for each number; those of 0 are not used */
    uint32_t *read_row;       /* for each touch, as SimBlock.read_row has for each word */
    size_t n, cap_touch, cap_row;
    uint32_t free;            /* a number that is not used now, 0: none; write_time has the next */
};

/* The four touches of a word's bytes, which are apart from now on.  */
SimTouch *sim_shadow_apart(SimBlock *owner, uint32_t word);
/* Puts bytes together again that were touched alike last.  */
void sim_shadow_together(SimBlock *owner, uint32_t word);
/* Whether some byte was written after `since`, or is in flight; *at: the offset of the first.  */
bool sim_shadow_written(const SimBlock *owner, uint32_t offset, uint32_t bytes, uint32_t since,
                        uint32_t *at);
/* The bytes of word number `word` that an access to offset .. offset + bytes - 1 touches.  */
static inline unsigned sim_byte_mask(uint32_t word, uint32_t offset, uint32_t bytes) {
    uint32_t from = word * 4 > offset ? 0 : offset - word * 4;
    uint32_t to = offset + bytes - word * 4;
    if (to > 4) to = 4;
    return ((1u << to) - 1) & ~((1u << from) - 1);
}
static inline uint32_t sim_first_byte(unsigned mask) { return (uint32_t)sim_first_lane(mask); }

/* Around atomics, and volatile, relaxed or acquire accesses, of some lanes: they come after all
 * such accesses before; what comes after them knows of what these lanes did.  */
void sim_strong_begin(SimWarp *w, uint32_t lanes);
void sim_strong_end(SimWarp *w, uint32_t lanes);

/* Checks and records accesses of one lane to `bytes` bytes at `offset` of the shared memory of
 * `owner` (bounds are checked already).  False after a fault.  sim_shadow_read faults on
 * uninitialised, in-flight and racing bytes; sim_shadow_write on in-flight and racing bytes.
 * Atomics race with plain accesses only.  */
bool sim_shadow_read(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes);
/* The same for a load `i` of all active lanes, each of 4 bytes and more; strong: as
 * sim_shadow_read_strong.  */
bool sim_shadow_read_lanes(SimWarp *w, const SimInst *i, uint32_t active, SimBlock *owner,
                           const uint32_t offset[LANES], bool strong);
bool sim_shadow_write(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes);
/* As sim_shadow_write, for a store whose bytes are known: writing what is there already does not
 * race with other writes.  */
bool sim_shadow_store(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes,
                      const unsigned char *value);
/* A volatile, relaxed or acquire load: does not race with atomics.  */
bool sim_shadow_read_strong(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes);
bool sim_shadow_atomic(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes);
/* Reads through the asynchronous proxy on behalf of a lane (wgmma operands, bulk and tensor
 * stores): as sim_shadow_read, but who is to write must know of sim_reads_entry, and generic writes
 * must have been fenced (SIM_PROXY_FENCE).  */
bool sim_shadow_read_async(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes);
/* An asynchronous write begins: the bytes are poisoned by the caller and flagged in flight.  Racing
 * earlier accesses are a fault, as for sim_shadow_write.  */
bool sim_shadow_fly(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes);
/* It landed.  thread: of sim_copies_entry when an mbarrier tells of it, or the thread whose wait
 * completed it (cp.async), to whom alone it is visible until it synchronises with others. atomic:
 * it was a reduction.  */
void sim_shadow_land(SimCluster *c, SimBlock *owner, uint32_t offset, uint32_t bytes,
                     uint16_t thread, bool atomic);
/* Makes bytes initialised without an access (mbarrier objects, which are not data).  */
void sim_shadow_init(SimBlock *owner, uint32_t offset, uint32_t bytes);
static inline uint16_t sim_thread(const SimWarp *w, int lane) {
    return (uint16_t)(w->clock_id * LANES + lane);
}
#endif
