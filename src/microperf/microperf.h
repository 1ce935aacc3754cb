/* The micro-performance model: predicted time of an RProg, with every term.
 *
 * A pure function of (Problem, RProg, Device).  About a microsecond per call, no allocation.
 * docs/model.md has the ideas; each formula stands at the head of the file that computes it.  */
#ifndef ROLLER_MICROPERF_MICROPERF_H
#define ROLLER_MICROPERF_MICROPERF_H
#include "rprogram/rprog.h"

/*    id       key         text for --explain */
#define MP_TERMS(X)                                                                                \
    X(DRAM,    "dram",     "DRAM traffic after L2 hits")                                           \
    X(L2,      "l2",       "traffic between L2 and the SMs")                                       \
    X(SMEM,    "smem",     "shared-memory wavefronts")                                             \
    X(COMPUTE, "compute",  "compute unit")                                                         \
    X(ISSUE,   "issue",    "instruction issue")                                                    \
    X(LATENCY, "latency",  "load latency that the bytes in flight do not hide")                    \
    X(OVERLAP, "overlap",  "what the terms above do not overlap")                                  \
    X(FILL,    "fill",     "filling the pipeline")                                                 \
    X(EPILOGUE,"epilogue", "exposed epilogue")                                                     \
    X(SPLIT,   "split",    "adding the slices of a split reduction")                               \
    X(LAUNCH,  "launch",   "launch")
typedef enum {
#define X(id, key, text) MP_##id,
    MP_TERMS(X)
#undef X
        MP_COUNT
} MpTerm;
extern const char *const mp_term_key[MP_COUNT], *const mp_term_text[MP_COUNT];

/* A turn of the rings of a `contract` or `chain` program, and what follows the last turn of a tile:
 * of all blocks of a busy SM, in clocks.  */
typedef struct {
    double turns, tiles;      /* of a tile; of a block that stays, else 1 */
    double first, latency;    /* from asking for a copy to its first byte: of the first, later */
    double copy[2];           /* of a fill of each ring, behind the one before */
    double product[2], powers;            /* of each product; of what is done between them */
    double wait;              /* for each other */
    double end, sent;         /* of those that compute; then until L2 has the outputs */
    double apart;             /* behind its last product, until those of the next tile may begin */
} MpTurn;

typedef struct {
    double us;                /* predicted time */
    /* us each; the time is the largest of DRAM .. LATENCY and the sum of those after it */
    double term[MP_COUNT];
    MpTerm limiter;
    double clock;             /* Hz, of the SMs: what power allows for so long */
    int64_t blocks;           /* all blocks of the main kernel */
    int blocks_per_sm;
    double waves;             /* blocks / (SMs * blocks per SM) */
    double wave_efficiency;   /* busy share of the SMs over all waves */
    double padding_waste;     /* computed outputs beyond the tensor's, share */
    /* Counts of the main kernel.  For aligned tiles they equal the simulator's counters.  */
    int64_t load_sectors;     /* 32 B sectors requested from L2 by the operand loads */
    int64_t load_passes;      /* of these loads through L1; of products without regions */
    int64_t store_sectors;
    int64_t smem_load_wavefronts, smem_store_wavefronts;
    int64_t fma;              /* warp instructions of the unit, sums of real slices included */
    double dram_bytes;
    double in_flight;         /* of memory-bound skeletons: bytes that an SM has under way */
    MpTurn turn;              /* of mp_timeline alone */
} Estimate;

void mp_estimate(const Problem *p, const RProg *r, const Device *dev, Estimate *out);
/* The same for who asks again, of other programs of the problem or at other rates: what was counted
 * is kept in `memo`, of one problem at one or several sizes.  */
typedef struct CountMemo CountMemo;
CountMemo *mp_count_memo(Arena *a);
/* The problem that is asked of next has other sizes, and is otherwise the same.  */
void mp_count_resized(CountMemo *memo);
void mp_estimate_again(const Problem *p, const RProg *r, const Device *dev, CountMemo *memo,
                       Estimate *out);

/* Bounds of an op's time whatever its plan: its bytes at the rate of DRAM's bus, each once; its
 * arithmetic on the pipe that has the most to do; one launch.  */
typedef struct {
    double us;                /* the largest of the three */
    double warm_us;           /* the same where L2 holds what it can from call to call */
    double dram_us, compute_us, launch_us;
    double reads, writes;     /* bytes of inputs and outputs */
    double flops;             /* of all kernels, 2 per multiply-add */
} Floor;

/* `problem`: of the op's n kernel groups.  */
void mp_floor(const Te *te, const Problem *problem, int n, const Device *dev, Floor *out);
/* A bound of one of its kernels: of what it reads, also from others, and writes, and the latency of
 * the first load.  */
double mp_least_us(const Problem *p, const Device *dev);

typedef struct {
    RProg prog;
    Estimate estimate;
} Ranked;
/* The best `k` programs of the set by predicted time, each in the order of tiles that is the best
 * for it; ties are broken by the program's own fields, so the order is the same everywhere.
 * Near-duplicates (same tiles, other raster) count as one.  How many there are: 0 of an empty
 * set.  */
int mp_rank(Arena *a, const Problem *p, const Device *dev, const RProgSet *set, int k,
            Ranked **out);

/* Why this plan: every rule and term, the limiter, the runners-up, the reject counts, in the words
 * of a kernel engineer.  */
void mp_explain(const Problem *p, const Device *dev, const RProgSet *set, const Ranked *r, int n,
                Buf *out);
/* One line: "128x128x16, 8x8 per thread, 3 stages cp.async, ...".  */
void mp_summary(const Problem *p, const Device *dev, const RProg *r, Buf *out);
#endif
