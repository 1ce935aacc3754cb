/* Shadow state of shared memory: what each byte is, who touched it last and when.
 *
 * Order is kept by vector clocks over warps, in units of the cluster's time, which advances with
 * every access to shared memory and every synchronisation.  clock[u] of warp w is the time up to
 * which the accesses of u happened before w's next one.  An access is a race if another warp
 * touched the byte later than that and one of the two writes.  Lanes of one warp are ordered by
 * warp-level synchronisation (bar.warp.sync, barriers): the entry of the warp itself.  The last
 * entry of a clock stands for the asynchronous copies of the cluster. Synchronising objects hold a
 * clock of their own: arriving releases into it, waiting acquires.  */
#ifndef ROLLER_SIM_RACE_H
#define ROLLER_SIM_RACE_H
#include "sim/exec.h"

enum { SIM_ASYNC_THREAD = 0xfffe };
typedef enum { READ_NONE, READ_LANE, READ_WARP, READ_MANY } SimReadKind;
/* Who wrote and who read some bytes last, and when.  Threads are clock_id * 32 + lane.  */
typedef struct {
    uint32_t write_time, read_time;
    uint16_t writer;          /* a thread or SIM_ASYNC_THREAD; 0 at time 0 before the first write */
    uint16_t reader;          /* one of the readers since the last ordered access */
    uint16_t line;            /* of the last write: low bits of its PTX line */
    uint8_t read_kind : 2, atomic : 1;
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
    uint32_t *read_clock;     /* a row for each touch, as SimBlock.read_clock has for each word */
    size_t n, cap_touch, cap_clock;
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

uint32_t *sim_clock_new(SimCluster *c);                          /* zeroed, on c->arena */
void sim_release(SimWarp *w, uint32_t *clock);                   /* clock := max(clock, w's) */
void sim_acquire(SimWarp *w, const uint32_t *clock);             /* w's := max(w's, clock) */
/* The same, but w does not wait for what it comes after: atomics, products of a warpgroup.  */
void sim_acquire_order(SimWarp *w, const uint32_t *clock);
/* A copy that completes on an mbarrier releases: everything landed so far.  */
void sim_release_async(SimCluster *c, uint32_t *clock);
/* fence.proxy.async: what w wrote or acquired so far becomes visible to the async proxy.  */
void sim_fence_proxy(SimWarp *w);

/* Checks and records accesses of one lane to `bytes` bytes at `offset` of the shared memory of
 * `owner` (bounds are checked already).  False after a fault.  sim_shadow_read faults on
 * uninitialised, in-flight and racing bytes; sim_shadow_write on in-flight and racing bytes.
 * Atomics race with plain accesses only.  */
bool sim_shadow_read(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes);
/* The same for a load of all active lanes, each of `bytes` bytes from 4 up.  */
bool sim_shadow_read_lanes(SimWarp *w, const SimInst *i, uint32_t active, SimBlock *owner,
                           const uint32_t offset[LANES], uint32_t bytes);
bool sim_shadow_write(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes);
/* As sim_shadow_write, for a store whose bytes are known: writing what is there already does not
 * race with other writes.  */
bool sim_shadow_store(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes,
                      const unsigned char *value);
/* A volatile, relaxed or acquire load: does not race with atomics and orders after them.  */
bool sim_shadow_read_strong(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes);
bool sim_shadow_atomic(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes);
/* Reads through the asynchronous proxy on behalf of a lane (wgmma operands, bulk and tensor
 * stores): as sim_shadow_read, and generic writes must have been fenced (SIM_PROXY_FENCE).  */
bool sim_shadow_read_async(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes);
/* An asynchronous write begins: the bytes are poisoned by the caller and flagged in flight.  Racing
 * earlier accesses are a fault, as for sim_shadow_write.  */
bool sim_shadow_fly(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes);
/* It landed.  thread: SIM_ASYNC_THREAD when an mbarrier tells of it, or the thread whose wait
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
