/* Tensor Memory and what reads and writes it: tcgen05 of sm_100 (PTX ISA, "TensorCore 5th
 * Generation Family Instructions").
 *
 * A block has 128 lanes of 512 columns of 32 bits.  An access is the work of one instruction: a
 * load or store by a warp, a copy or product that the unit works out for one thread.  An access is
 * a fault if another one touched the same place, one of the two writes, and the two are not ordered
 * as the ISA's memory consistency model has it:
 * - loads and stores have ended when their warp has waited for them (wait::ld, wait::st);
 * - products and copies have ended when a thread has waited for an mbarrier that a commit behind
 *   them arrives on;
 * - other threads come after them if fence::before_thread_sync comes before what synchronises them,
 *   and fence::after_thread_sync behind it (a commit is a fence, too); compilers are known to leave
 *   these fences out, and devices to forgive it: a warning;
 * - some pairs of the unit are worked out in order, ended or not: see tmem_order.c.
 * A pair of blocks has a Tensor Memory in each: one thread issues a product for both, and what it
 * touches in either is one access.
 * So what a product reads and writes is the same whenever it is worked out, which is at a seeded
 * random moment between its issue and its commit's arrival.  */
#ifndef ROLLER_SIM_ASYNC_TMEM_H
#define ROLLER_SIM_ASYNC_TMEM_H
#include "sim/async/async.h"
#include "sim/async/tmem_product.h"

enum { TMEM_LANES = 128, TMEM_COLUMNS = 512, TMEM_UNIT = 32 };    /* the least that is allocated */
/* What is touched is noted by this many lanes of a column.  */
enum { TMEM_ROWS = 16 };

typedef enum { TMEM_LD, TMEM_ST, TMEM_CP, TMEM_MMA } TmemKind;
typedef struct {
    TmemKind kind;
    SimLane by;               /* the issuer; of loads and stores a lane of the warp */
    uint32_t issued;          /* cluster time: a commit tells of what was issued before it */
    uint32_t told;            /* time of the fence::before_thread_sync behind it; 0: none yet */
    uint32_t waited;          /* load, store: when its warp had waited for it; 0: not so far */
    uint64_t shape;           /* product: equal for those of one shape and one accumulator */
} TmemAccess;

/* Numbers of accesses, 0: none.  Of several that read the last one is kept: a race may be missed,
 * none is made up.  */
typedef struct {
    uint32_t write, warp_read, unit_read;
    bool torn;                /* copies wrote it in either order: what it holds is not known */
} TmemTouch;

/* What the unit works out, in the order of issue.  */
typedef struct TmemWork TmemWork;
struct TmemWork {
    TmemWork *next;
    SimLane by;
    void (*run)(TmemWork *k, SimBlock *b);
    uint32_t issued, ready;   /* ready: of commits, when it is told (timing.h) */
    /* Products and copies: addresses in Tensor Memory; chunks of 16 bytes of shared memory.  */
    TmemProduct product;
    bool accumulate, a_in_tmem;
    int shrink;               /* the accumulator is multiplied by 2^-shrink before */
    uint32_t d, a, scale_a, scale_b;
    uint32_t kept[4];         /* lanes of D that stay as they are, a bit each */
    int n_a, n_b;
    uint32_t a_at[SIM_MAX_CHUNKS], b_at[SIM_MAX_CHUNKS];
    int rows, images;         /* copies: rows of shared memory, and how often they are written */
    uint32_t mbar;            /* commits: its offset, in the blocks of the mask */
    uint32_t blocks;
};

/* Per cluster: accesses to all of its Tensor Memory, by number.  */
typedef struct TmemLog {
    TmemAccess *access;
    size_t n, room;
} TmemLog;

/* Per block (SimBlock.async); made when the first tcgen05 instruction is executed.  */
typedef struct TensorMemory {
    uint32_t cell[TMEM_COLUMNS][TMEM_LANES];
    TmemTouch touch[TMEM_COLUMNS][TMEM_LANES / TMEM_ROWS];
    /* Which allocation has these columns; 0: none.  */
    uint32_t owner[TMEM_COLUMNS / TMEM_UNIT], allocations;
    uint32_t last_columns;    /* of the last allocation: the next one has no more */
    const SimInst *allocator;
    SimWarp *allocated_by;
    bool relinquished;
    int group;                /* blocks that its instructions are about: 1, a pair; 0: none yet */
    /* Of a pair: columns that wait for the peer to allocate as many; 1 + where both have them.  */
    uint32_t asked, granted;
    TmemWork *first, *last, *spare;
    TmemScratch scratch;
} TensorMemory;

TensorMemory *tmem_of(SimBlock *b);
/* The other block of its pair: that whose rank in the cluster differs in the last bit; NULL: there
 * is none.  */
SimBlock *tmem_peer(SimBlock *b);
/* Takes .cta_group::1 or ::2 (then *pair); false: it has none.  */
bool tmem_take_group(SimPick *k, bool *pair);
/* Whether the lane's block can execute an instruction of a pair, or of itself: a kernel has those
 * of one group alone.  False after a fault.  */
bool tmem_group(SimLane by, bool pair);
/* One thread of a pair's even block issues for both, which are there.  False after a fault.  */
bool tmem_leads(SimLane by);

/* A part of Tensor Memory: lanes (a multiple of TMEM_ROWS) of some columns.  */
typedef struct {
    uint32_t lane, lanes, column, columns;
} TmemPart;
static inline uint32_t tmem_address(uint32_t lane, uint32_t column) { return lane << 16 | column; }
static inline uint32_t tmem_lane(uint32_t address) { return address >> 16; }
static inline uint32_t tmem_column(uint32_t address) { return address & 0xffff; }

/* The number of a new access.  */
uint32_t tmem_access(TmemKind kind, SimLane by, uint64_t shape);
/* Notes that an access reads or writes a part.  False after a fault: columns that are not
 * allocated, were never written, or an access that is not ordered with it.  */
bool tmem_read(uint32_t access, SimBlock *b, TmemPart part);
bool tmem_write(uint32_t access, SimBlock *b, TmemPart part);
/* Whether all accesses to a part come before what a lane does now.  */
bool tmem_ended(SimLane by, SimBlock *b, TmemPart part);
/* wait::ld and wait::st; the fences.  */
void tmem_wait(SimWarp *w, TmemKind kind);
void tmem_fence_before(SimWarp *w);
void tmem_fence_after(SimWarp *w, uint32_t lanes);

/* A blank piece of work, and putting it into the unit's queue.  */
TmemWork *tmem_work(SimLane by);
void tmem_issue(TmemWork *k);
/* A lane's operands: an address in Tensor Memory; a shared memory descriptor.  */
uint32_t tmem_address_of(SimLane by, int operand);
uint64_t tmem_descriptor_of(SimLane by, int operand);
/* The unit is to read these chunks of shared memory of a block, which become offsets (`at`: they
 * are addresses).  False after a fault, also where the descriptor is no good (`why`).  */
bool tmem_claim(SimLane by, uint64_t bits, const char *why, int n, uint32_t *at);
/* The same of the peer, of offsets.  */
bool tmem_claim_peer(SimLane by, SimBlock *peer, int n, const uint32_t *at);
#endif
