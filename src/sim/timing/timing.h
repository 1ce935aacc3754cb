/* Time along dependences, and the work that every pipe gets: docs/simulator.md, "Timing".
 *
 * Each warp has a time, in ticks of 1/16 clk, at which it issues its next instruction; an
 * instruction waits for its operands (a time per register), for its pipe, which warps and blocks of
 * an SM share, and for what it synchronises with.  Time between warps travels with the order that
 * race.h keeps: it goes along with every vector clock (clock.h).  What a pipe does is added up in
 * its own unit (operations, bytes) and becomes time in sim_time.  Only launches with options.timed
 * do any of this.  */
#ifndef ROLLER_SIM_TIMING_TIMING_H
#define ROLLER_SIM_TIMING_TIMING_H
#include "sim/state/exec.h"
#include "sim/state/memory_state.h"

enum { SIM_TICKS = 16 };      /* per clk */
enum { SIM_PARTS = 256 };     /* per tick */
/* Most instructions of a warp before others run: few, as who runs first finds the pipes free.  */
enum { SIM_TIMED_QUANTUM = 16, SIM_TIMED_WINDOW = SIM_TIMED_QUANTUM * SIM_TICKS };

/* What an instruction does beside computing.  */
typedef enum {
    COST_PLAIN,               /* its result is there after `latency` */
    COST_FREE,                /* a renamed register: no time at all */
    COST_GLOBAL,              /* through L2 */
    COST_SHARED,
    COST_ATOMIC,
    COST_ASYNC,               /* lands at AsyncOp.ready */
    COST_ARRIVE,              /* others learn of it after `latency`, the warp goes on */
    COST_MEET,                /* a barrier: the warp, too, goes on after `latency` */
    COST_WAIT,                /* goes on when what it waits for is there */
    COST_WGMMA, COST_WGMMA_COMMIT, COST_WGMMA_WAIT,
    COST_TENSOR,              /* moves registers to or from Tensor Memory */
    COST_SLEEP
} SimCostKind;

/* The compiler orders straight code: what is independent of a wait is issued in it.  So an
 * instruction begins when its operands and its pipe are there, from the last jump back or wait of
 * the warp on; loads stay behind stores to where they load.  What a branch jumps over is
 * predicated, and moves as the rest does.  */
enum { SIM_GLOBAL = 1, SIM_SHARED = 2, SIM_MEMORY = 3, SIM_READ_ONLY = 4 };

typedef struct {
    SimCostKind kind;
    int work;                 /* index of the sum of its pipe, -1: none */
    uint64_t ops;             /* added to it */
    uint32_t own, latency, issue;         /* ticks: the warp's share of the pipe is busy; see kind;
                               * until the warp's next instruction */
    uint32_t part;            /* of a tick that `own` leaves out, in SIM_PARTS */
    int mover;                /* of the profile, -1: none */
    bool cached;              /* loads through L1 */
    bool accesses;            /* memory, or synchronises: the block's counters may move with it */
    bool ends;                /* straight code: nothing moves across it */
    uint8_t loads, stores;    /* SIM_GLOBAL, SIM_SHARED, both, or what nobody stores to */
    const Slot *read, *write;
    int n_read, n_write;
} SimCost;

/* What is added up: operations of every unit of the profile, then instructions of every pipe that
 * no unit describes, then bytes and then instructions of every mover, then SIM_SUMS.  */
enum {
    SUM_ISSUED,               /* instructions */
    SUM_PASSES, SUM_CONFLICTS,            /* of shared memory; those beyond the fewest */
    SUM_L1,                   /* passes of requests for global memory */
    SUM_SECTORS,              /* between SM and L2 */
    SUM_HITS,                 /* sectors that L1 held */
    SUM_ATOMIC,               /* ticks */
    SUM_PATH,                 /* ticks in which a block of the SM runs, each once */
    SUM_IN_FLIGHT,            /* most bytes of global memory that its warps wait for at once */
    SIM_SUMS
};

/* Sums by slices of the time of a block, so that a time that waits and a time that works are told
 * apart.  Slices double when a block lasts longer than all of them.  */
enum { SIM_SLICES = 128, SIM_RESIDENT = 32 };
/* Ticks from the first instruction of blocks to their end, added up; of how many such.  */
typedef struct {
    uint64_t ticks, n;
} SimPaths;
typedef struct {
    uint64_t *sum;            /* SIM_SLICES times n_work */
    int n_work;
    int shift;                /* a slice is 1 << shift ticks long */
    int used;                 /* how many may hold something */
    /* By n: the time of n + 1 blocks that share an SM, and of the n + 1st of more of them.  */
    SimPaths last[SIM_RESIDENT], nth[SIM_RESIDENT];
} SimSlices;
void sim_slices_new(Arena *a, int n_work, SimSlices *out);
void sim_slices_fold(SimSlices *s);                   /* makes slices twice as long */
/* Adds work that lasts from `begin` to `end`, in ticks: to each slice its share.  */
void sim_slices_spread(SimSlices *s, uint32_t begin, uint32_t end, int work, uint64_t ops);
/* The sums of the slice of a time.  */
static inline uint64_t *sim_slices_at(SimSlices *s, uint32_t at) {
    while (at >> s->shift >= SIM_SLICES) sim_slices_fold(s);
    int k = (int)(at >> s->shift);
    if (k >= s->used) s->used = k + 1;
    return s->sum + (size_t)k * (size_t)s->n_work;
}
void sim_slices_merge(SimSlices *to, const SimSlices *from);

typedef struct SimTiming {
    const SimCost *cost;      /* per instruction of the kernel */
    int n_unit, n_mover, n_work;
    uint32_t parts, slot;     /* subpartitions; ticks of one's issue */
    uint32_t l2, dram, dsmem; /* ticks of latency */
    uint32_t smem, wavefront; /* the same; ticks of one pass over the banks */
    double port;              /* ticks of a byte between SM and L2 */
    uint32_t atomic_same, atomic_distinct;
    uint64_t l1_sectors;      /* that L1 keeps for a block */
} SimTiming;

static inline int sim_work_pipe(const SimTiming *t, int pipe) { return t->n_unit + pipe; }
static inline int sim_work_bytes(const SimTiming *t, int mover) {
    return t->n_unit + SIM_PIPE_COUNT + mover;
}
static inline int sim_work_moves(const SimTiming *t, int mover) {
    return sim_work_bytes(t, mover) + t->n_mover;
}
static inline int sim_work_sum(const SimTiming *t, int sum) {
    return t->n_unit + SIM_PIPE_COUNT + 2 * t->n_mover + sum;
}

/* What serves one instruction after another, for how much of each slot of time it is taken:
 * server.c.  */
typedef struct {
    uint32_t *slot;           /* ticks, of 1 << shift */
    uint32_t n;               /* that are in use */
    uint32_t rest;            /* parts of a tick that it is behind */
    int shift;
} SimServer;
/* To memory: the banks of shared memory and L1, the port to L2, Tensor Memory.  */
typedef enum { SIM_WAY_BANKS, SIM_WAY_PORT, SIM_WAY_TENSOR, SIM_WAYS } SimWay;
/* The pipes of an SM, for all blocks that share it.  */
typedef struct SimSm {
    Arena *arena;
    SimServer *pipe;          /* of each subpartition by SimCost.work, and its issue; then the ways
                               * of all to memory */
    int n_pipe, n_part;       /* of all; of a subpartition */
    uint32_t warps;           /* that have begun: subpartitions get them in turn */
    int blocks, ended;        /* that have begun, that have ended */
    uint32_t path;            /* when the last one did */
} SimSm;
static inline int sim_part_pipes(const SimTiming *t) { return sim_work_bytes(t, 0) + 1; }
static inline SimServer *sim_way(const SimSm *s, SimWay way) {
    return &s->pipe[s->n_pipe - SIM_WAYS + (int)way];
}
/* On `a`, its slots on `slots`.  */
void sim_sm_init(Arena *a, Arena *slots, const SimTiming *t, SimSm *s);
void sim_sm_clear(SimSm *s);
/* When a pipe begins with what is ready.  */
uint32_t sim_server_begin(SimServer *p, uint32_t ready);
/* The same of a pipe, or NULL, and of what issues to it.  */
uint32_t sim_servers_begin(SimServer *pipe, SimServer *issue, uint32_t ready);
/* Keeps it busy for `own` ticks, not before `ready`; when that ends.  */
uint32_t sim_server_take(Arena *a, SimServer *p, uint32_t ready, uint32_t own);
/* The same for what its pipe is busy with.  */
uint32_t sim_server_do(Arena *a, SimServer *p, uint32_t ready, const SimCost *x);
void sim_server_clear(SimServer *p);

/* The order in which a warp issues straight code, as a compiler makes it: issue.c.  */
enum { SIM_STAIRS = 256 };
typedef struct {
    uint32_t at, begin;       /* in the schedule; of all so far, when the latest one begins */
} SimStair;
typedef struct {
    uint32_t time, stretch;   /* known in this stretch of straight code */
} SimPlanned;
typedef struct {
    Arena *arena;
    SimServer *pipe;          /* by SimCost.work, from `from` on */
    SimPlanned *ready;        /* per 128 bytes of the register file */
    int pipes;
    uint32_t from, stretch;   /* when straight code began; its number */
    uint32_t load, stored[2]; /* as in SimTimer */
    uint32_t begin;           /* of the running instruction, in the schedule */
    SimStair stair[SIM_STAIRS];           /* rising */
    uint32_t n_stair;
} SimIssue;

/* The lines of L2, or sectors of L1, that a block has touched; `at`: when, in lines (sectors)
 * brought in since the device was made (the block began).  */
typedef struct {
    uint64_t key, at;
    uint64_t when[SIM_PIECES / 64];       /* a bit for each piece of 1 << shift instructions of a
                               * warp (SimTimer.place) in which it was touched */
} SimLine;
typedef struct {
    SimLine *line;
    size_t n, cap;
    int shift;
    uint64_t most;            /* that are held */
    uint64_t brought;         /* by this block */
    bool missed;              /* the last one was not there */
} SimLines;

/* Per block (SimBlock.timing).  */
typedef struct SimBlockTime {
    SimSm *sm;
    SimSlices work;
    SimLines lines, l1;
    uint64_t hits;            /* sectors that L1 held */
    uint64_t passes;          /* of requests for global memory through L1 */
    bool cached;              /* the running instruction loads through L1 */
    bool far;                 /* the running instruction went past L1 */
    bool missed;              /* the running instruction touched a line that L2 does not hold */
    bool same;                /* the running atomic has all its lanes on one address */
    uint32_t tensor_free, tensor_told;    /* when tcgen05's unit takes the next product, and when a
                               * commit would tell of the last one */
    uint32_t tensor_copied;   /* when the last of its copies ends */
} SimBlockTime;

enum { SIM_FLIGHTS = 32, SIM_WGMMA_GROUPS = 8 };
/* Per warp (SimWarp.timer).  */
typedef struct SimTimer {
    const SimTiming *timing;
    SimBlockTime *block;
    uint32_t *now;            /* sim_now */
    uint32_t *ready;          /* per 128 bytes of the register file */
    SimServer *pipe;          /* of its subpartition */
    struct {
        uint32_t ready;
        uint32_t bytes;
    } flight[SIM_FLIGHTS];    /* loads under way */
    int n_flight;
    uint32_t in_flight, most_in_flight;
    uint32_t straight, issued;            /* where straight code begins; ticks of what is issued
                               * since */
    uint32_t stored[2], load; /* when what was stored to global, shared memory has begun, and when
                               * the next load may be issued: loads come first */
    uint32_t before, start;   /* the running instruction: the warp's time without it; its begin */
    uint32_t served;          /* when the way to memory takes it */
    SimIssue order;
    uint32_t place;           /* how many instructions the warp has begun */
    uint64_t passes, far_passes, conflicts, sectors, hits;      /* the block's counters before it */
    uint32_t wgmma_free, wgmma_end, wgmma_group[SIM_WGMMA_GROUPS], wgmma_groups;
} SimTimer;

static inline uint32_t later(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* Operations per clk and SM of a pipe that no unit of the profile describes.  */
double sim_pipe_rate(int pipe);
/* Of a launch; on `a`.  */
const SimTiming *sim_timing_new(Arena *a, const SimRun *r);
void sim_timing_begin(SimBlock *b);                   /* after its warps */
void sim_timing_end(SimBlock *b);

/* Around each executed instruction, whose cost is `x`.  `issue` is false, and the warp's time when
 * it would begin, where that is later than SimCluster.until: who is earlier comes first.  `done`
 * puts the time back where the instruction was parked to be executed again.  */
bool sim_timer_issue(SimWarp *w, const SimCost *x);
void sim_timer_done(SimWarp *w, const SimInst *i, const SimCost *x, uint32_t active, bool parked);
/* On `a`; a new schedule of what begins at `from`.  */
void sim_issue_new(Arena *a, const SimTiming *t, uint32_t registers, SimIssue *o);
void sim_issue_clear(SimIssue *o, uint32_t from);
/* When an instruction's turn comes in the order of the warp; `done`: it has begun at t->start, and
 * its results are there so long after it has been served.  */
uint32_t sim_issue_begin(SimTimer *t, const SimCost *x);
void sim_issue_done(SimTimer *t, const SimCost *x, uint32_t latency);
void sim_issue_rename(SimTimer *t, const SimCost *x);
/* Nothing moves across: a clock is read.  */
void sim_timer_fence(const SimWarp *w);
/* When an asynchronous copy of `bytes` bytes that the running instruction issues is there.  */
uint32_t sim_timer_copy(SimWarp *w, const SimInst *i, uint64_t bytes, bool from_global);
/* A matrix product; m: rows of the unit, of one of `blocks`.  */
typedef struct {
    UnitScope scope;
    int blocks, m, n, k;
    int scales;               /* of a row; 0: none */
    PtxType a, b, acc;
} SimProduct;
/* The unit of a profile that works it out, one of the same types if the shape is not in it; -1:
 * none does.  */
int sim_product_unit(const Device *dev, const SimProduct *p);
/* tcgen05's unit takes products one after another: each lasts as the unit's rate has it, or as long
 * as shared memory gives the operands' bytes of a block.  Who waits for a commit knows of the last
 * one by what the unit's latency is longer than its widest product.  */
void sim_timer_product(SimWarp *w, const SimProduct *p, double bytes);
/* tcgen05.cp copies so many bytes, one behind the other; products wait for it.  */
void sim_timer_tensor_copy(SimWarp *w, const SimInst *i, double bytes);
uint32_t sim_timer_committed(const SimWarp *w);
/* What is there at `ready` is told to a vector clock (sim_clock_time), or to the waiting warp.  */
static inline void sim_timer_tell(uint32_t ready, uint32_t *now) {
    if (*now < ready) *now = ready;
}

/* A warp touches an address of x: notes whether L2 holds its line, and that it is in use.  */
void sim_l2_touch(SimWarp *w, const struct SimAlloc *x, uint64_t at);
/* Tells others when the block touched its lines.  */
void sim_l2_tell(SimBlock *b);
/* The running instruction loads a sector: is it in L1?  Then it is.  */
bool sim_l1_holds(SimBlock *b, uint64_t sector);

/* The memory of a launch, from what its blocks touched and what was in L2 before; in sectors, of
 * all blocks of the grid.  */
typedef struct {
    double cold_loads, cold_stores;       /* that DRAM had to deliver, or gets in the end */
    double loaded, stored;                /* distinct ones */
    double load_runs, store_runs;         /* of neighbouring sectors */
    double lines;                         /* of L2, all that was touched */
    double visits;                        /* of lines, in different pieces (SimUse) */
    double gaps;                          /* from one visit of a line to the next, added up; the
                                           * time from the first visit of all to the last is 1 */
    uint64_t when[SIM_PIECES / 64];       /* pieces in which there are visits */
    double pieces;                        /* how many these are */
} SimFootprint;
/* Blocks of the grid for each one that ran; for each from the first that ran to the last.  */
typedef struct {
    double scale, stretch;
} SimRan;
/* Looks, and then brings all that was touched into L2, in the order of addresses.  */
void sim_l2_settle(SimGpu *g, const SimRan *ran, SimFootprint *out);

/* Registers of a thread at launch where the kernel bounds its block: what the register file allows,
 * in steps of 8 (launch_control.c).  0: it does not, and the assembler ignores setmaxnreg.  */
uint32_t sim_launch_registers(const SimRun *r);
/* Blocks of a launch that an SM holds; that all hold at once.  */
double sim_resident(const SimRun *r);
double sim_slots(const SimRun *r);
/* Clusters of the same place share SMs: neighbours, in full waves and in what is left of them.  */
int64_t sim_place(const SimRun *r, int64_t cluster);
/* Microseconds: of the whole grid, of which `blocks` blocks ran.  */
double sim_time(Arena *a, const SimRun *r, const SimCounters *c, const SimSlices *work,
                const SimFootprint *f, int64_t blocks);
#endif
