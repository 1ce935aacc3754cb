/* Construction of `contract` programs: the state that scale-up and scale-out share.  */
#ifndef ROLLER_RPROGRAM_BUILD_H
#define ROLLER_RPROGRAM_BUILD_H
#include "rprogram/skeleton.h"

enum { LAYOUT_MEMO = 4096, OPTIONS = 4, SPLITS = 2, DEPTHS = STAGES_MAX };
enum { BESIDE = 4 };          /* programs with a tail: as many as this part of the others may be */

/* A layout that was decided before: everything the decision depends on, and the outcome.  */
typedef struct {
    int32_t own, k;
    uint8_t side, inner, along, vec, elem, lanes_m, lanes_n, own_vec, thread_k;
    bool fours, used, found;
    RLayout layout;
} LayoutMemo;

typedef struct {
    const SkeletonRow *of;
    Arena *arena;
    const Problem *p;
    const Device *dev;
    const RPlanOptions *options;
    RProgSet *set;
    int max;                  /* programs kept */
    double epsilon;
    bool thorough;            /* nothing fitted: also try what is dominated elsewhere */
    bool strict;              /* too many fitted: leave out what is merely unlikely */
    bool matrix;              /* some unit that fits multiplies matrices */
    int families;             /* ways to load the operands that are still to come */
    int limit;                /* programs up to which this one may add */
    bool full;                /* the limit is reached */
    double sms;
    double parallel;          /* outputs, B * M * N, times slices of K long enough to split */
    BlockBytes bytes;         /* of the block at hand */
    bool may_table[CONTRACTION_OPERANDS];
    LayoutMemo *memo;
    Samples *samples;
} Builder;

/* Counts a program that was met and dropped.  */
static inline void build_reject(const Builder *b, Reject why) {
    b->set->enumerated++;
    b->set->rejected[why]++;
}

/* Are there as many tiles of a warp with so many outputs as SMs?  The largest of these are built
 * first, the larger ones last: what comes last is left out where too many programs fit.  */
static inline bool build_occupies(const Builder *b, int64_t area) {
    return (double)area * b->sms <= b->parallel;
}

/* Ways to load an operand, best first.  */
typedef struct {
    RLoad way[OPTIONS];
    int n;
} LoadWays;
void build_load_ways(const Builder *b, int16_t unit, int side, LoadWays *out);
/* Gives the program the loads of n operands by a combination of their ways, those of the last one
 * changing fastest; false: there are not so many.  */
bool build_take_loads(const LoadWays *ways, int n, int number, RProg *r);
/* Is it worth to load a and b in these ways in one program?  Beside bytes a copy along k is, which
 * runs as many steps ahead.  */
bool build_loads_agree(const RLoad *load);
/* Narrows the load to what the block tile and the reduction allow and decides its layout.  */
bool build_fit_load(Builder *b, RProg *r, int side);
/* Scale-up for one unit and one way to load: every program from the smallest thread tile on.  */
void build_scale_up(Builder *b, const RProg *start);
/* From one warp tile on: grows the block, then its k-steps and slices.  */
void build_blocks(Builder *b, const RProg *start);
/* Does a block of `tile` times some number of warps waste little enough of the axis?  */
bool build_fits_axis(const Builder *b, const RProg *r, int axis, int32_t tile);
/* Scale-up for a unit that multiplies matrices.  Do few rows M fill its n side better than its m
 * side?  */
bool build_worth_swapping(const Builder *b, int16_t unit);
void build_matrix(Builder *b, const RProg *start);
/* Every program of a unit of warpgroups.  */
void build_warpgroups(Builder *b, const RProg *start);
/* Scale-out of one block program: split, limits; keeps what is legal.  */
void build_scale_out(Builder *b, RProg *r);
/* Stream-K: beside what there is, the same with a tail, a quarter of the limit at most.  */
void build_tails(Builder *b);
#endif
