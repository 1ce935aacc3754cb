/* Where partial results of a reduction (monoid.h) meet: the lanes of a warp by shuffles, the warps
 * of a block through shared memory, blocks and slices through the workspace.
 *
 * Threads that all see what their leader has come to make their sums fit that once, and then add
 * plain sums; parts that come one by one are merged.
 *
 * A thread holds results as arrays of `held` neighbours, or (0) one of each.  */
#ifndef ROLLER_CODEGEN_REDUCE_REDUCE_H
#define ROLLER_CODEGEN_REDUCE_REDUCE_H
#include "codegen/reduce/monoid.h"
#include "rprogram/layout.h"

/* Declares what is held, as identities.  */
void reduce_clear(Cg *cg, const Partials *p, int items);

/* Which reductions of a pass meet: those that follow no other one, those that do (online), which
 * all threads must know the leaders' results for, or all; EACH: a thread gets what comes before its
 * own part, too.  */
enum { MEET_LEADERS, MEET_ONLINE, MEET_ALL, MEET_EACH };
/* Lanes with elements of the same results: those whose numbers differ in the bits of `lanes`.
 * `total`: elements that all that meet have seen (NULL: nothing asks).  */
void reduce_threads(Cg *cg, const Partials *p, int which, int lanes, Ir total);

/* What another lane has, and where that stands to what this one has.  */
typedef struct {
    IrOther lane;
    FoldSide side;
} ReduceOther;
/* Folds what another lane has of `from` into `to` where `test` holds (NULL: always).  */
void reduce_lane(Cg *cg, const Partial *to, const Partial *from, ReduceOther other, Ir test);
/* Gives each of `lanes` lanes what all up to it have, in their order: n neighbours, of which u is
 * at hand; `number`: the lane's.  */
void reduce_scan(Cg *cg, const Partial *p, int lanes, Ir u, int n, Ir number);

/* Arrays of partial results.  */
typedef struct {
    MonoidVariable what;
    IrSpace space;
    int apart;                /* accesses of so many threads lie between two of one; 0: none do */
} ReduceArrays;
/* Where n of each (rprog_partials) lie from the pointer `base` on, and then element `first` (NULL:
 * 0) of them.  */
void reduce_arrays(Cg *cg, const Partials *p, ReduceArrays to, Ir base, int64_t n, Ir first);
/* Those of a block's threads or warps, in its rooms.  */
extern const ReduceArrays reduce_block;
void reduce_rooms(Cg *cg, const Partials *p, const Layout *layout, Ir smem);
/* The array of a reduction's values, and that of what is beside them.  */
Ir reduce_array(const Cg *cg, const Partial *p, ReduceArrays of, bool beside);
/* Leaves what is held there from element `at` on.  */
void reduce_put(Cg *cg, const Partials *p, int items, ReduceArrays to, Ir at);
/* What is held, as values, becomes what is there.  */
void reduce_get(Cg *cg, const Partials *p, ReduceArrays from, Ir at);
/* Merges n neighbours at a pointer with what is held as element v of one reduction.  */
void reduce_add(Cg *cg, const Partial *p, Ir v, int n, Ir from);

/* A part of the results: its elements (asked for where means move), where it begins.  */
typedef struct {
    ReduceArrays of;
    Ir elements, at;
} ReducePartial;
/* Merges a part with what is held; declares that as a part.  */
void reduce_partial(Cg *cg, const Partials *p, int items, const ReducePartial *partial);
void reduce_begin(Cg *cg, const Partials *p, int items, const ReducePartial *partial);
/* Parts `part` < count, every `step`-th from `first` on, so many under way.  `moves`: the arrays
 * are pointers that move by so much to each; NULL: they stay.  */
typedef struct {
    Ir part, first, count;
    int step, under_way;
    Ir moves;
} ReduceRange;
void reduce_gather(Cg *cg, const Partials *p, int items, const ReducePartial *partial,
                   ReduceRange parts);
#endif
