/* The executable form of a kernel and the state of its execution: private contract of src/sim.
 *
 * Code is a flat array of Inst, decoded once: every operand is resolved to a slot and the function
 * that executes the instruction is chosen by the `pick` function of its family (PTX_OPS).  A picked
 * function executes one instruction for the lanes in `active` (never 0); it may touch nothing but
 * its warp, the block, the cluster and, through sim/memory functions, global memory.
 *
 * Threads: a cluster (a single block, without clusters) runs on one host thread from start to end;
 * several clusters run at once.  State of SimBlock and SimCluster therefore needs no locks; SimRun
 * and SimGpu are shared and read-only during a launch, except through the functions of memory.h. */
#ifndef ROLLER_SIM_STATE_EXEC_H
#define ROLLER_SIM_STATE_EXEC_H
#include "base/hash.h"
#include "base/hot.h"
#include "sim/ptx/ptx.h"
#include "sim/sim.h"

enum { LANES = 32 };
#define FULL_WARP 0xffffffffu

/* A loop over lanes: iterations are independent, even where a destination is also a source.  */
#if defined(__clang__)
#define SIM_LANES(l) _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < LANES; l++)
#elif defined(__GNUC__)
#define SIM_LANES(l) _Pragma("GCC ivdep") for (int l = 0; l < LANES; l++)
#else
#define SIM_LANES(l) for (int l = 0; l < LANES; l++)
#endif
static inline int sim_popcount(uint32_t v) {
#if defined(__GNUC__)
    return __builtin_popcount(v);
#else
    v -= v >> 1 & 0x55555555u;
    v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
    return (int)(((v + (v >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24);
#endif
}
/* The lowest lane of a mask that is not empty.  */
static inline int sim_first_lane(uint32_t mask) {
#if defined(__GNUC__)
    return mask ? __builtin_ctz(mask) : LANES;
#else
    return sim_popcount((mask & (0u - mask)) - 1);
#endif
}
/* For the lanes of a mask, one by one, so that few lanes take little time; `break` ends it.  */
#define SIM_EACH(l, mask)                                                                          \
    for (uint32_t l##_rest = (mask), l##_on = 1; l##_on && l##_rest; l##_rest &= l##_rest - 1)     \
        for (int l = (l##_on = 0, sim_first_lane(l##_rest)); !l##_on; l##_on = 1)

typedef struct SimWarp SimWarp;
typedef struct SimBlock SimBlock;
typedef struct SimCluster SimCluster;
typedef struct SimRun SimRun;
typedef struct SimKernel SimKernel;
typedef struct SimInst SimInst;
typedef void SimExec(SimWarp *w, const SimInst *i, uint32_t active);

/* ---- Slots ---- */

/* A slot names a register or a constant.  Registers are structures of arrays: types up to 32 bits
 * are uint32_t[32] (8- and 16-bit values zero-extended: an executing function must keep it so), 64
 * bits uint64_t[32], 128 bits uint64_t[32][2] (low, high per lane); a predicate is one uint32_t, a
 * lane mask. Constants are broadcast the same way, in the width the reader asks for.  A written
 * slot is always a register.  Lanes outside `active` of a written slot keep their value.  */
typedef uint32_t Slot;
#define SLOT_CONST 0x80000000u
#define SLOT_NONE 0xffffffffu /* operand '_' or absent */

/* One operand after linking; kinds as in PtxOpnd, but immediates, symbols' addresses and special
 * registers have become slots.  An address operand has slot[0] the base (64-bit in the generic,
 * global, local, const and param spaces, see wide; 32-bit values otherwise) and `offset`.  For
 * [map, {c0, c1}] slot[1..] are the coordinates.  A bare OPND_NONE has n = 1 and slot[0] =
 * SLOT_NONE.  */
typedef struct {
    PtxOpndKind kind;
    bool negate;
    bool wide;                /* slot[0] is a 64-bit register, or a constant of an address */
    uint8_t bits;             /* size of the register slot[0] (1: predicate), 0: a constant */
    int n;
    int64_t offset;
    const Slot *slot;
} SimOpnd;

struct SimInst {
    SimExec *exec;
    Slot d, a, b, c;          /* slot[0] of operand 0, 1, 2, 3; SLOT_NONE where absent */
    Slot guard;               /* SLOT_NONE: none */
    uint32_t guard_flip;      /* all ones for @!p */
    bool aligned;             /* executed by all live lanes at once: the interpreter gathers them */
    uint8_t pipe;             /* SIM_PIPE_* */
    uint16_t flops;           /* per active lane */
    uint8_t bytes, count;     /* memory: bytes per element, elements per lane */
    uint8_t space;            /* PtxSpace of an access */
    uint8_t flags;            /* of the family */
    uint16_t arg;             /* of the family */
    uint32_t target, join;    /* control: next instruction, reconvergence point */
    int64_t offset;           /* of the address operand */
    const SimOpnd *opnd;      /* all operands, in the order of the text */
    int n_opnd;
    const void *extra;        /* of the family: what its pick function worked out, on the arena */
    const PtxInst *ptx;       /* the parsed form: modifiers, types, line */
};

/* Memory that it reads asynchronously is an operand of a product, or on its way there.  */
static inline bool sim_multiplies(const SimInst *i) {
    return i->ptx->op == OP_WGMMA || i->ptx->op == OP_TC_MMA || i->ptx->op == OP_TC_CP;
}

/* ---- Warps ---- */
/* Lanes that run together.  A divergent branch makes two subwarps of one; they run by quanta and
 * merge at the join (the immediate post-dominator of the branch).  */
typedef enum { SUBWARP_FREE, SUBWARP_READY, SUBWARP_RETRY, SUBWARP_BARRIER,
              SUBWARP_WARP_SYNC } SubwarpState;
typedef struct {
    SubwarpState state;
    uint32_t mask, pc;
    int join;                 /* index of a SimJoin, -1: none */
    int barrier;              /* SUBWARP_BARRIER: its number */
    uint64_t event;           /* SUBWARP_RETRY: the cluster's event count when it was parked */
} SimSubwarp;
typedef struct {
    uint32_t pc, expected, arrived;
    int outer;                /* the join around it, -1: none */
    int since;                /* the warp's round at the last arrival */
    bool used;
} SimJoin;
enum { SIM_MAX_JOINS = 128 };

struct SimWarp {
    unsigned char *base32[2], *base64[2];  /* [0] registers, [1] constants */
    SimBlock *block;
    int id;                   /* in its block */
    int clock_id;             /* in its cluster: index into vector clocks */
    uint32_t exists, live;    /* lanes of threads there are; lanes that have not exited */
    uint32_t pc;              /* of the running subwarp: the instruction after the executed one */
    uint32_t mask;            /* of the running subwarp */
    int running;              /* index of the running subwarp */
    bool yield;               /* set by an executing function: the quantum ends after it */
    SimSubwarp subwarp[LANES];
    uint32_t subwarps;        /* a bit for each that is not free */
    SimJoin *join;
    uint32_t *view[LANES];    /* clock.h: what each lane knows */
    uint32_t *views[LANES];   /* the clocks for it */
    int n_views;
    bool parted;              /* some lanes know more than others */
    unsigned char *local;     /* local memory: local_bytes for each lane */
    int64_t local_bytes;      /* kernel->local_bytes, and a stack of kernels that have one */
    uint32_t *stack;          /* where each lane's stack ends */
    Slot returned[LANES];     /* the link register of the function that each lane left last */
    uint32_t waited;          /* time behind its first wait for the launch before, 0: none; lanes */
    uint32_t waited_lanes;
    uint32_t carry;           /* condition code of add.cc and its like, a bit per lane */
    int round;                /* counts the warp's quanta */
    int waiting;              /* joins at which some lanes wait for others */
    SimExec *watch;           /* called before each instruction while registers of wgmma are in
                               * flight, else NULL */
    void *async;              /* per-warp state (cp.async groups, wgmma groups) */
    struct SimTimer *timer;   /* timing.h; NULL unless the launch is timed */
    uint32_t now;             /* timing.h: the warp's time */
};

/* A lane at an instruction: who accesses memory, and whom a fault names.  */
typedef struct {
    SimWarp *w;
    const SimInst *i;
    int lane;
} SimLane;
static inline SimLane sim_lane(SimWarp *w, const SimInst *i, int lane) {
    return (SimLane){w, i, lane};
}

static inline uint32_t *sim_u32(const SimWarp *w, Slot s) {
    return (uint32_t *)(void *)(w->base32[s >> 31] + (s & ~SLOT_CONST));
}
static inline uint64_t *sim_u64(const SimWarp *w, Slot s) {
    return (uint64_t *)(void *)(w->base64[s >> 31] + (s & ~SLOT_CONST));
}
static inline float *sim_f32(const SimWarp *w, Slot s) {
    return (float *)(void *)(w->base32[s >> 31] + (s & ~SLOT_CONST));
}
static inline double *sim_f64(const SimWarp *w, Slot s) {
    return (double *)(void *)(w->base64[s >> 31] + (s & ~SLOT_CONST));
}
/* A source predicate with its negation.  */
static inline uint32_t sim_pred_of(const SimWarp *w, const SimOpnd *o) {
    return *sim_u32(w, o->slot[0]) ^ (o->negate ? FULL_WARP : 0);
}
/* Writes the lanes of `active` and leaves the others.  */
static inline void sim_set_pred(SimWarp *w, Slot s, uint32_t active, uint32_t value) {
    uint32_t *p = sim_u32(w, s);
    *p = (*p & ~active) | (value & active);
}

enum { SIM_POISON = 0xff };   /* every byte that was never written: NaN in every format */

/* ---- Waiting ---- */

/* An instruction that cannot proceed yet calls sim_retry and changes nothing: the subwarp is parked
 * on this instruction and executes it again after something happened in its cluster (sim_event).
 * When every subwarp of a cluster is parked and nothing is pending (sim_async_force), that is a
 * deadlock.  */
void sim_retry(SimWarp *w);
/* For instructions of several lanes (.sync with a member mask).  Returns the lanes that execute it
 * now, which may be more than `active`: lanes of other subwarps that waited here; or 0 if some
 * members are still missing: then the subwarp has been parked and the caller returns.  */
uint32_t sim_gather(SimWarp *w, uint32_t active, uint32_t members);
/* Something happened that parked subwarps may wait for: an arrival, a landing, a store to shared
 * memory.  */
void sim_event(SimCluster *c);

/* ---- Blocks and clusters ---- */
/* A named barrier of bar.sync / barrier.  */
typedef struct {
    uint32_t expected;        /* threads; 0: idle */
    uint32_t arrived;
    uint32_t generation;
    uint32_t red_and, red_or, red_count;   /* of the phase being collected */
    uint32_t *clock;          /* vector clock of the arrivals */
    const SimInst *first;     /* the instruction that opened the phase, for messages */
} SimBarrier;

typedef struct SimShadow SimShadow;       /* race.h */
typedef struct SimApart SimApart;
typedef struct SimWrites SimWrites;       /* writes.h: log of global writes */
typedef struct SimOrderBlock SimOrderBlock;           /* order.h */

/* A warp's last access to the shared memory of another block, by some lanes; time 0: none.  */
typedef struct {
    uint32_t time, lanes;
    const SimInst *inst;
} SimRemote;

struct SimBlock {
    SimCluster *cluster;
    int rank;                 /* in the cluster */
    uint32_t ctaid[3];
    int64_t linear;           /* linear block number */
    SimWarp *warp;
    int n_warp, n_live;       /* warps; warps with a live lane */
    int threads;
    /* Shared memory: addresses smem_base .. smem_base + smem_bytes - 1 of the shared window; the
     * byte of address x is smem[x - smem_base].  Fresh shared memory is poison.  */
    unsigned char *smem;
    uint32_t smem_base, smem_bytes;
    SimShadow *shadow;        /* one per 4 bytes of smem */
    SimApart *apart;          /* of words whose bytes differ; NULL: there were none */
    uint32_t *read_row;       /* see race.h */
    int row;                  /* words of it for each word of memory */
    SimRemote *remote;        /* per warp of the cluster */
    SimBarrier *barrier;      /* barriers_per_block of them */
    SimWrites *writes;        /* NULL: not logged */
    SimOrderBlock *order;     /* of blocks that communicate, once they do */
    SimCounters count;
    uint64_t pipe[SIM_PIPE_COUNT + 1];    /* instructions; the last one: what the linker added */
    uint64_t executed;        /* warp instructions, for the limit */
    const struct SimAlloc *hot;           /* memory.c: the allocation used last */
    SimFault fault[SIM_MAX_FAULTS];
    int n_fault;
    uint64_t faults;
    bool stop;                /* a fault: no further instruction */
    bool waited;              /* a thread has waited for the launch before */
    Buf printed;              /* by printf */
    void *async;              /* per-block state (mbarriers, pending copies) */
    struct SimBlockTime *timing;          /* timing.h; NULL unless the launch is timed */
};

/* Blocks that run together; 1 block without clusters.  */
struct SimCluster {
    SimRun *run;
    Arena *arena;             /* lives as long as the cluster */
    SimBlock *block;
    int n_block;
    uint32_t ctaid[3];        /* of the cluster in the grid of clusters */
    uint32_t time;            /* steps of anything that synchronisation orders; see clock.h */
    uint64_t event;           /* counts sim_event */
    uint64_t polls;           /* looks at what another block may write; see sim_poll */
    int n_warp;               /* of all blocks */
    int n_clock;              /* entries of a vector clock: clock.h */
    uint32_t *strong_clock;   /* of atomics and volatile accesses to shared memory */
    uint32_t *proxy_clock;    /* what generic writes the async proxy has been made to see */
    Rng rng;                  /* seed and cluster number: adversarial timing, warp order */
    void *async;              /* per-cluster state (cluster barrier, queue) */
    struct SimSm *sm;         /* timing.h: of each block; NULL unless the launch is timed */
    uint32_t first, until;    /* timed: of its warps that can run the earliest; up to when they
                               * run */
    bool partial_sync;        /* the kernel orders by mbarriers or by barriers of some warps */
};

/* A thread touches the shared memory of another block itself: that block must learn of it before it
 * ends (sim_async_end checks).  */
static inline void sim_touch_remote(SimLane by, const SimBlock *owner) {
    SimRemote *r = &owner->remote[by.w->clock_id];
    uint32_t now = by.w->block->cluster->time, others = r->time == now ? r->lanes : 0;
    *r = (SimRemote){now, others | 1u << by.lane, by.i};
}

/* The instruction looked at global memory that another block may be about to write: the quantum
 * ends, and blocks that wait let others run soon.  */
static inline void sim_poll(SimWarp *w) {
    w->yield = true;
    w->block->cluster->polls++;
}

/* ---- Hooks of the asynchronous part (async.c) ---- */

/* The scheduler calls sim_async_tick between quanta (one is at most some hundred instructions of
 * one subwarp), so that copies land at seeded random moments; with options.benign an operation must
 * complete when issued.  */
/* Makes per-cluster, per-block and per-warp state on c->arena; all warps exist.  */
void sim_async_begin(SimCluster *c);
void sim_async_tick(SimCluster *c);
/* Nothing else can run: must complete at least one pending operation and call sim_event, or return
 * false if there is none.  */
bool sim_async_force(SimCluster *c);
/* All threads of the cluster have exited (or a fault stopped it): lands what is pending.  */
void sim_async_end(SimCluster *c);
/* One sentence for a deadlock report on what waits ("mbarrier at 0x400: phase 1, 3 of 4 arrivals
 * pending"); may be empty.  */
void sim_async_describe(SimBlock *b, Buf *out);

/* ---- Kernels and launches ---- */
struct SimKernel {
    const PtxFunc *func;
    SimInst *code;
    uint32_t n_code;
    uint32_t file_bytes;      /* of the registers of one warp */
    const struct SimConst *konst;         /* link.h; constant k is at slot SLOT_CONST | 256 * k */
    size_t n_konst;
    int64_t local_bytes;      /* per thread */
    bool stack;               /* functions may call themselves: their frames follow in a stack */
    uint32_t static_smem, dynamic_align;
    int registers;            /* estimate for timing: most live 32-bit values */
    bool partial_sync;        /* see SimCluster */
    bool reads_later;         /* memory is read asynchronously: bulk stores, wgmma */
    bool serial;              /* blocks communicate: they must run in ascending order */
    bool cancels;             /* blocks may take the place of others that have not begun */
    const PtxInst *untimed;   /* an instruction whose time is not known; NULL: there is none */
};

/* Clusters that have not begun, ascending, where others may take their place.  */
typedef struct {
    int64_t *cluster;         /* linear numbers in the grid of clusters */
    int64_t n;
} SimWaiting;

struct SimRun {
    SimGpu *gpu;
    const Device *dev;
    const PtxModule *ptx;
    const SimKernel *kernel;
    const SimLaunch *launch;
    const SimOptions *options;
    uint32_t grid[3], ntid[3], cluster[3];
    uint32_t smem_base, smem_bytes;       /* of every block */
    unsigned char *constants; /* of the kernel, with the addresses of this launch */
    SimWaiting waiting;
    struct SimBlockOrder *order;          /* order.h: of blocks that communicate, else NULL */
    const struct SimTiming *timing;       /* timing.h; NULL: the launch is not timed */
    const unsigned char *params;          /* the parameter space, padded with poison */
    size_t params_bytes;
    _Atomic int64_t waited;   /* blocks that have waited for the launch before */
};

/* ---- Addresses ---- */

/* The generic space holds windows; cvta adds or subtracts the base of one.  Shared addresses are 32
 * bits: the offset in the executing block's window, plus (rank + 1) << 24 when they name a block of
 * the cluster (mapa; 0 in the top byte means the executing block).  */
#define SIM_SHARED_WINDOW 0x0000600000000000ull
#define SIM_LOCAL_WINDOW 0x0000610000000000ull
#define SIM_PARAM_WINDOW 0x0000620000000000ull
#define SIM_CODE_WINDOW 0x0000630000000000ull             /* addresses of functions */
#define SIM_GLOBAL_BASE 0x0000700000000000ull
#define SIM_RANK_SHIFT 24

/* ---- Faults ---- */
/* Records a fault of one thread and stops the block.  `text` becomes one sentence.  */
void sim_fault(SimLane by, SimFaultKind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for what is wrong and known to work: a warning, and true; a fault, and false, if the
 * options are strict.  */
bool sim_warn(SimLane by, SimFaultKind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Fills in all of a fault but its text, for a thread of a block (linear number).  */
void sim_fault_place(SimFault *f, SimFaultKind kind, const SimBlock *b, const SimInst *i,
                     int thread);

/* ---- Counting ---- */
/* Pipes whose instructions access memory or synchronise: the time of clock.h advances with
 * them.  */
enum { SIM_PIPES_TIMED = 1 << SIM_PIPE_LSU | 1 << SIM_PIPE_TENSOR | 1 << SIM_PIPE_CONTROL };

/* Instructions, pipes and flops are counted by the interpreter.  sim_count_shared counts one
 * request to shared memory with the rule of docs/simulator.md; address[l] is the byte address in
 * shared memory. ldmatrix calls it once per 8 rows with bytes 16 and 8 active lanes.  */
void sim_count_shared(SimWarp *w, uint32_t active, const uint32_t address[LANES], int bytes,
                      bool store);
/* `requests` 0 for asynchronous copies of a block (bulk): counts traffic only.  Counts sectors
 * (distinct 32-byte pieces of one request) and bytes, and marks the sectors as touched.  */
void sim_count_global(SimWarp *w, uint32_t active, const uint64_t address[LANES], int bytes,
                      bool store);
/* The same for a contiguous range, of a bulk copy.  */
void sim_count_global_range(SimLane by, uint64_t address, uint64_t bytes, bool store);
/* A bulk copy's pass over shared memory: one wavefront per 128 bytes.  */
void sim_count_shared_range(SimBlock *b, uint32_t bytes, bool store);
void sim_count_add(SimCounters *to, const SimCounters *c);           /* sums and maxima */
#endif
