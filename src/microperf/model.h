/* Shared by the files of microperf; nothing outside includes it.
 *
 * Times are clocks of the sustained SM clock f, terms microseconds.  Constants of the hardware come
 * from the profile.  A contract program computes T[b,m,n] = sum over k of A[b,m,k] * B[b,n,k] (or
 * another reduction and body):
 *
 *   BM, BN, BK: block tile and k-step (block)
 *   WM, WN, WK: warp tile; WK < BK: warps share a step (warp)
 *   TM, TN, TK: register tile; TK: k read at once from tiles with k inner (thread)
 *   S: stages of the ring in shared memory (stages)
 *   U: k in the unrolled body; fragments are fetched one k (slice) ahead (unroll)
 *   split: slices of K, each its own block (split)
 *   tail, its blocks: tiles whose k-steps are dealt out, and to how many blocks (contract.c) (split
 *       1 tail T blocks B)
 *   R: blocks resident on one SM (blocks_per_sm)
 *   w: warps of a block = BM/WM * BN/WN * BK/WK (threads / 32)
 *   p: products of one instruction: 1, or 4 for dp4a (unit's k)
 *
 * Tiles = B * ceil(M/BM) * ceil(N/BN). Blocks = tiles * split.  Steps of a block: n =
 * ceil(ceil(K/BK) / split).  */
#ifndef ROLLER_MICROPERF_MODEL_H
#define ROLLER_MICROPERF_MODEL_H
#include "microperf/microperf.h"
#include "rprogram/derived.h"
#include "rprogram/skeletons.h"

enum { SHUFFLE = 24 };      /* clk */
/* Conversions of a clock and SM: CUDA C++ Programming Guide, "Throughput of Native Arithmetic
 * Instructions", all other type conversions.  */
enum { CONVERSIONS = 16 };

/* What does not depend on the program.  Rates per SM and clock where SMs share nothing.  */
typedef struct {
    const Problem *p;
    const Device *dev;
    double clock;             /* Hz, sustained */
    double sms, schedulers, issue;        /* issue: warp instructions per clock and SM */
    /* In the type of the sums: warps' multiply-adds, and operations of all kinds, per clock and SM;
     * instructions of an operation.  */
    double unit, arithmetic, slots;
    double functions;         /* f32, per clock and SM; 0: not known */
    double dram_read, dram_write;         /* B/s */
    double l2_write;          /* B/s */
    double l2_rate, l2_port;  /* B/s of the device; B/clk of one SM */
    double dram_port;         /* B/s of one SM, of what comes from and goes to DRAM */
    double l2_capacity;       /* B, at full rate */
    double smem_rate;         /* wavefronts per clock and SM */
    double dram_latency, l2_latency, smem_latency;        /* clk */
    double step_tax, block_start;         /* clk */
    double floor_us, launch_us;           /* of a kernel; without the start of its first block,
                                           * which is part of FILL */
    const Curve *in_flight;   /* DRAM rate over bytes in flight per SM, or NULL */
    double turn;              /* what a copy takes longer, of the time of its reads and writes */
    bool wants_turn;          /* Estimate.turn is to be filled, too: for a picture */
    double ramp_us;           /* without DRAM at its rate, beyond the first access */
    double unique[CONTRACTION_OPERANDS];      /* bytes read from DRAM at least once, per operand */
    double total_unique, out_bytes;
} Model;

Model mp_model(const Problem *p, const Device *dev);
/* What a unit does in a clock on an SM; 0: there is none of the name.  */
double mp_unit_rate(const Device *dev, const char *name);

/* Exact counts of one block and k-step and of the whole kernel: of an operand, all.  */
typedef struct {
    int64_t reads, read_wavefronts;       /* fragment requests of one warp; wavefronts of each */
    double fragment_wavefronts;           /* of all of them */
    int64_t store_wavefronts; /* of one stage, all warps */
    int64_t requests, passes; /* warp requests of the loads of one stage; passes of these through
                               * L1 */
    double sectors;           /* of one full stage, mean over its places in the tensor */
} OperandCounts;
typedef struct {
    OperandCounts of[CONTRACTION_OPERANDS];
    int64_t staging_stores, staging_loads;    /* wavefronts of a round through staging */
    /* Of an operand that a block loads as a region, once: warp requests, wavefronts of its stores,
     * sectors; instructions of a warp and k-step beside its reads.  */
    double region_requests, region_stores, region_sectors, region_extra;
    double region_passes;     /* by registers: passes of the loads through L1; else 0 */
    double region_made;       /* ... instructions of those of whose loads threads make chunks */
    double region_rounds;     /* ... loads that a warp has under way at once are one */
} StepCounts;
/* Wavefronts of the sources of a `permute` program's box.  Those that were counted last are kept:
 * programs of the same box follow each other, and neither do stores depend on the width of the
 * accesses to outputs nor loads on that to the source.  */
enum { BOX_KEPT = 12 };
typedef struct {
    int n;                    /* counted so far */
    RProg of[BOX_KEPT];
    double stores[BOX_KEPT][2], loads[BOX_KEPT][2];
} BoxCounts;
BoxCounts *mp_box_counts(CountMemo *memo);
#define MP_US 1e6             /* microseconds of a second */
enum { MP_PRODUCTS = 2 };  /* of a chain */
/* What of it is counted of a chain's product i.  */
CountMemo *mp_count_product(CountMemo *memo, int i);
/* memo: patterns that repeat among programs; NULL: none is kept.  */
void mp_step_counts(const Model *m, const RProg *r, CountMemo *memo, StepCounts *out);
/* What threads do that make a region's chunks, of all warps: loads and stores to shared memory, the
 * loads' passes through L1, instructions (0: as many as copies take), and waits for what a warp has
 * under way.  */
typedef struct {
    double requests, stores, passes, issue, rounds;
} RegionMade;
RegionMade mp_region_made(const RRegion *x, int bytes);
/* Sectors of a block's region of an operand.  What is outside of the tensor moves nothing; a line
 * that neither begins nor ends with a sector has one more.  */
double mp_region_sectors(const Problem *p, const RProg *r, int side, const RRegion *x);
/* Sectors of all stores of the main kernel.  */
double mp_store_sectors(const Model *m, const RProg *r, CountMemo *memo);
/* Bytes read from DRAM behind L2 in the order of the grid.  */
double mp_dram_reads(const Model *m, const RProg *r);
/* The second kernel of a split reduction, which reads all slices and writes `stored` bytes of
 * outputs.  */
double mp_split_us(const Model *m, const RProg *r, double stored);
/* A kernel that makes results of partial ones in the workspace, `lanes` threads each.  */
typedef struct {
    double results, partials; /* how many, and of how many parts each */
    double width, arrays;     /* bytes of an access; arrays that are read so */
    double under_way;         /* accesses of a thread */
    double rate;              /* of reads, B/s */
} Meeting;
/* Clocks of a barrier of the program's block.  */
double mp_barrier(const Model *m, const RProg *r);
double mp_meeting_us(const Model *m, const Meeting *x, double lanes);
/* What such a kernel of the program takes.  */
double mp_stats_values_us(const Model *m, const RProg *r);
/* Chooses what depends on the model alone: the order of tiles, such lanes.  */
void mp_choose(const Model *m, RProg *r);
/* Gives the program the order of tiles that reads the fewest; of several that whose waves touch the
 * fewest bytes.  */
void mp_choose_raster(const Model *m, RProg *r);

/* Microseconds of DRAM for what a kernel reads and writes, at such rates at most.  */
double mp_dram_us(const Model *m, double reads, double read_rate, double writes, double write_rate);
/* By the program's skeleton; memo: counts that programs share, or NULL.  */
void mp_estimate_program(const Model *m, const RProg *r, CountMemo *memo, Estimate *out);
void mp_estimate_contract(const Model *m, const RProg *r, CountMemo *memo, Estimate *out);
void mp_estimate_window(const Model *m, const RProg *r, Estimate *out);
void mp_estimate_row(const Model *m, const RProg *r, Estimate *out);
/* Clocks of L2 for what one of `active` SMs gets from it, and for the sectors of its stores, in
 * bytes.  */
double mp_l2_clocks(const Model *m, double active, double loaded, double stored);
/* Sets us and limiter from the other terms.  */
void mp_finish(Estimate *e);
/* The same of a kernel whose warps go to and fro between shared memory and a unit (or issue), with
 * so many turns under way on an SM: now and then all of them are at one of the two.  Sets OVERLAP.
 * A closed queueing network of two stations (Buzen, CACM 16(9), 1973).  */
void mp_finish_turns(Estimate *e, double turns);
/* The same of a ring, where copies, products and stores are queues with `ahead` steps between them:
 * sets OVERLAP, what one waits for another.  */
void mp_finish_ring(Estimate *e, double ahead);
/* v with `decimals` digits behind the point, independent of the locale.  */
void mp_fixed(Buf *out, double v, int decimals);

static inline double greater(double a, double b) { return a > b ? a : b; }
static inline double lesser(double a, double b) { return a < b ? a : b; }
/* Rounds up.  */
static inline double whole(double v) {
    double n = (double)(int64_t)v;
    return n < v ? n + 1 : n;
}
#endif
