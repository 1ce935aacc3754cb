/* Asynchronous operations in flight: what they copy, when they land, who is told.
 *
 * An AsyncOp is issued by one lane (cp.async: by the lanes of one instruction) and moves through
 * two steps, `sample` (the source is read) and `land` (the destination is written and the
 * completion is told), each at a seeded random moment between issue and the wait that orders it.
 * Until then destination bytes are poison and flagged in flight. With options.benign both happen
 * at issue.  */
#ifndef ROLLER_SIM_ASYNC_ASYNC_H
#define ROLLER_SIM_ASYNC_ASYNC_H
#include "sim/state/memory.h"
#include "sim/lane/pick.h"
#include "sim/state/race.h"
#include "sim/async/tensormap.h"

enum { ASYNC_POISON = 0xd7 };

typedef enum { ASYNC_LOAD, ASYNC_STORE, ASYNC_PEER, ASYNC_VALUE, ASYNC_ARRIVE } AsyncKind;
/* How the issuer learns of the end: a group of cp.async, a bulk group, or an mbarrier.  */
typedef enum { TELL_CPASYNC, TELL_BULK_GROUP, TELL_MBARRIER } AsyncTell;

/* A contiguous run: `bytes` bytes of shared memory at `offset`, whose part [begin, end) belongs
 * to `global` + begin (or to offset `from` of the source block, for ASYNC_PEER). The rest is
 * filled.  */
typedef struct {
    uint64_t global;
    uint32_t offset, bytes, begin, end;
    uint8_t lane;
} AsyncSegment;

/* mbarrier object: kept beside the memory; the 8 bytes in shared memory are only its name.  */
typedef struct {
    uint32_t offset;
    bool valid;               /* between init and inval */
    bool fenced;              /* its init was made visible to the async proxy and the cluster */
    uint16_t init_thread;     /* who initialised it, and when */
    uint32_t init_time;
    uint32_t expected, pending, phase;    /* phase: how many are complete */
    uint32_t loading,
        seen; /* phases up to the last one a copy tells of; up to the last waited for */
    const SimInst *load;      /* that copy, and who issued it */
    SimWarp *loader;
    uint32_t awaited;         /* by which warps of its block, a bit each */
    int64_t tx;
    uint32_t *collect, *done; /* clocks: of the phase being collected, of the phases completed */
} AsyncMbar;

/* An element-wise reduction into the destination; type PTX_NONE: plain copy.  */
typedef struct {
    PtxType type;
    PtxMod op;
} AsyncReduce;

typedef struct AsyncOp AsyncOp;
typedef struct AsyncMap AsyncMap;
struct AsyncOp {
    AsyncOp *next;
    AsyncKind kind;
    AsyncTell tell;
    SimLane by;               /* the issuer; cp.async: segments have lanes of their own */
    uint32_t mask;            /* lanes not landed yet (cp.async, arrive) */
    uint32_t group[LANES];    /* group of each lane (cp.async); of the issuer in group[lane] */
    uint32_t issued;          /* cluster time */
    uint32_t ready;           /* timing.h: when it is there */
    SimBlock *block;          /* whose shared memory the segments are in */
    SimBlock *source;         /* ASYNC_PEER */
    uint32_t from;            /* ASYNC_PEER: offset in the source's shared memory */
    SimBlock *mbar_block;
    uint32_t mbar;
    uint32_t tx_bytes;        /* told to the mbarrier */
    int span, atom;           /* swizzle of shared addresses, span 16: none */
    uint8_t fill[8];
    int fill_bytes;
    AsyncReduce reduce;
    bool sampled, landed;     /* the source has been read, the destination written */
    AsyncSegment *segment;
    size_t n_segment, cap_segment;
    unsigned char *buffer;    /* bytes sampled, in the order of the segments */
    size_t cap_buffer;
};

/* Per cluster (SimCluster.async).  */
typedef struct {
    AsyncOp *first, *last;    /* in flight, in order of issue */
    AsyncOp *spare;
    uint32_t n;
    uint32_t haste;           /* of 256: probability that a tick advances an operation */
    uint64_t idle_event;      /* event count seen by the last fruitless poll */
    uint32_t idle;            /* fruitless polls since */
    bool wgmma;               /* some warp has executed wgmma */
    struct TmemLog *tensor;   /* accesses to Tensor Memory; NULL: no warp has executed tcgen05 */
    SimTmRow *row;            /* scratch of the tensor copies */
    size_t cap_row;
    struct AsyncMap *map;     /* tensormap_proxy.c: changed by its threads */
    uint32_t generation, arrived;         /* barrier.cluster */
    uint32_t *collect, *done; /* its clocks */
} AsyncCluster;

/* Per block (SimBlock.async).  */
typedef struct {
    AsyncMbar *mbar;
    size_t n_mbar, cap_mbar;
    uint64_t in_flight;       /* bytes */
    uint32_t free_registers;  /* per lane, given up by setmaxnreg.dec */
    bool refused;             /* a thread has seen that a request to cancel was refused */
    struct TensorMemory *tensor;          /* sim/async/tmem.h; NULL: not used so far */
} AsyncBlock;

typedef struct AsyncWgmma AsyncWgmma;
/* Per warp (SimWarp.async).  */
typedef struct {
    uint32_t cp_group[LANES], bulk_group[LANES];   /* the open group of each lane */
    /* Bulk copies out of shared memory: one more than the group of the last one, and the groups
     * that have been waited for.  */
    uint32_t bulk_stored[LANES], bulk_read[LANES];
    const SimInst *bulk_store;                     /* the last one */
    /* barrier.cluster: lanes that arrived at the phase being collected, lanes between arrive and
     * wait, the phase they arrived at.  */
    uint32_t cluster_arrived, cluster_pending, cluster_generation[LANES];
    uint32_t registers;                            /* set by setmaxnreg; 0: as launched */
    AsyncWgmma *wgmma;
    /* tcgen05: what each lane knew at its last fence::after_thread_sync; the first access that no
     * fence::before_thread_sync has told of, 0: none.  */
    uint32_t *tensor_view[LANES], untold;
} AsyncWarp;

static inline AsyncCluster *async_of(const SimCluster *c) { return c->async; }
static inline AsyncWarp *async_warp(const SimWarp *w) { return w->async; }
static inline AsyncBlock *async_block(const SimBlock *b) { return b->async; }
static inline bool async_counts(const SimWarp *w) {
    return !w->block->cluster->run->options->no_counters;
}

/* Shared address of a lane's operand, which may be a generic one; of no block if it is outside the
 * window.  */
static inline uint32_t async_shared_at(const SimWarp *w, const SimOpnd *o, int lane) {
    uint64_t at = sim_address(w, o, lane), window = at >> 32;
    return window == 0 || window == SIM_SHARED_WINDOW >> 32 ? (uint32_t)at : 0xff000000u;
}

/* Checks number and kinds of the operands, one letter each: a address; i, l, p source of 32 or 64
 * bits, predicate; I, L, P destination of the same (L may be _); v, d vector of 32- or 64-bit
 * sources; V, D of destinations. False after sim_pick_fail.  */
bool async_want(SimPick *k, const char *pattern);

/* A blank operation of `w`, with room for n segments; fill it and hand it to async_issue.  */
AsyncOp *async_new(SimLane by, AsyncKind kind, size_t n_segment);
void async_drop(AsyncOp *op);             /* of an operation that was not issued */
/* Checks the shared side of every segment (in flight, races, proxy), flags and poisons what will be
 * written, and puts the operation in flight.  False after a fault (the operation is gone).  */
bool async_issue(AsyncOp *op);
/* Reads the source; writes the destination and tells. An operation that has told is freed; a
 * member of a bulk group stays until async_finish, for its wait to find it.  */
void async_sample(SimCluster *c, AsyncOp *op);
void async_land(SimCluster *c, AsyncOp *op);
void async_finish(SimCluster *c, AsyncOp *op);
/* Lands the lanes of `mask` of a cp.async: for the lanes alone, or for the waiters of an
 * mbarrier.  */
void async_land_lanes(SimCluster *c, AsyncOp *op, uint32_t mask, bool for_mbarrier);
/* A wait found nothing: makes time pass for what is asynchronous, reports a deadlock after very
 * many fruitless polls.  */
void async_poll_failed(SimLane by);

/* mbarriers. Each returns NULL or false after a fault. async_mbar is for a thread, which must
 * come after the initialisation; async_mbar_valid for operations under way.  */
AsyncMbar *async_mbar_valid(SimLane by, SimBlock *b, uint32_t offset);
AsyncMbar *async_mbar(SimLane by, SimBlock *b, uint32_t offset);
/* Whether a lane comes after its initialisation.  */
bool async_mbar_known(const SimWarp *w, int lane, const AsyncMbar *m);
/* A warp's wait for it has failed, or come true.  */
void async_mbar_awaited(const SimWarp *w, AsyncMbar *m, bool waits);
AsyncMbar *async_mbar_find(SimBlock *b, uint32_t offset);            /* no fault */
/* Adjusts pending arrivals and bytes, completes the phase when both are zero.  */
bool async_mbar_update(SimLane by, SimBlock *b, AsyncMbar *m, uint32_t arrivals, int64_t tx);
/* A thread changes the tensor map at a generic address; lanes fence it; whether a lane may use it,
 * false after a fault.  */
void async_map_changed(SimCluster *c, uint64_t at);
void async_map_fence(SimWarp *w, uint32_t lanes, uint64_t at);
bool async_map_visible(SimLane by, uint64_t at);
/* Opens the next phase of barrier.cluster if every live thread has arrived; true if it did.  */
bool async_cluster_settle(SimCluster *c);
/* Checks at the end of a block that its warpgroups issued their wgmma together.  */
void async_wgmma_end(SimBlock *b);
/* Works out the warp's oldest product, if there is one.  */
void async_wgmma_step(SimWarp *w);
/* Works out what a block's tcgen05 unit has to do first; false if there is nothing.  */
bool async_tensor_step(SimBlock *b);
/* Checks at the end of a block that its Tensor Memory was freed.  */
void async_tensor_end(SimBlock *b);
#endif
