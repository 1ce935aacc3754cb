/* Where partial results of a reduction (monoid.h) meet: the lanes of a warp by shuffles, the warps
 * of a block through shared memory, blocks and slices through the workspace.
 *
 * Threads that all see what their leader has come to make their sums fit that once, and then add
 * plain sums; parts that come one by one are merged.
 *
 * A thread holds results as arrays of `held` neighbours, or (0) one of each.  Names in the text,
 * beside those of a Partial: own what a leader was for a thread alone, part (part_at) values
 * (positions) of a block's threads or warps, left (left_at) those in the workspace by slice or
 * block, s the number of one, more its elements.  */
#ifndef ROLLER_CODEGEN_REDUCE_H
#define ROLLER_CODEGEN_REDUCE_H
#include "codegen/monoid.h"
#include "rprogram/layout.h"

/* Declares what is held, as identities.  */
void reduce_clear(Cg *cg, const Partials *p, int items);

/* Threads with elements of the same results, all of them: the lanes whose numbers differ in the
 * bits of `lanes`, then (warps > 1) so many neighbouring warps of a block of `block` threads.
 * `total`: elements that they have seen.  */
void reduce_threads(Cg *cg, const Partials *p, int lanes, int warps, int block,
                    const char *total);

/* Another lane, counted in groups of `lanes`: the one `number` below, or that of the number.  */
typedef struct {
    enum { LANE_BELOW, LANE_NUMBER } which;
    const char *number;
    int lanes;
} OtherLane;
/* Folds what another lane has of `from` into `to` where `test` holds (NULL: always).  */
void reduce_lane(Cg *cg, const Partial *to, const Partial *from, OtherLane other,
                 const char *test);
/* Gives each of `lanes` lanes what all up to it have, in their order: n neighbours, held with u;
 * `number`: the lane's.  */
void reduce_scan(Cg *cg, const Partial *p, int lanes, int n, const char *number);

/* Arrays of n partial results (rprog_partials), STEM NAME and STEM_at NAME, from the pointer `base`
 * on and then element `first` (NULL: 0) of them.  */
void reduce_arrays(Cg *cg, const Partials *p, const char *stem, const char *base, int64_t n,
                   const char *first);
/* The same as the rooms of a block have them.  */
void reduce_rooms(Cg *cg, const Partials *p, const char *stem, const Layout *layout);
/* Leaves what is held there from element `at` on; `only` is printed in front.  */
void reduce_put(Cg *cg, const Partials *p, int items, const char *only, const char *stem,
                const char *at);
/* Merges n neighbours at element `at` with what is held as element v.  */
void reduce_add(Cg *cg, const Partials *p, int n, const char *stem, const char *at);

/* A part of the results: its elements (asked for where means move), where it begins.  */
typedef struct {
    const char *stem, *elements, *at;
} ReducePartial;
/* Merges a part with what is held.  */
void reduce_partial(Cg *cg, const Partials *p, int items, const ReducePartial *partial);
/* Parts s < count, every `step`-th from `first` on.  */
typedef struct {
    const char *first, *count;
    int step;
} ReduceRange;
void reduce_gather(Cg *cg, const Partials *p, int items, const ReducePartial *partial,
                   ReduceRange parts);
#endif
