/* Where partial results of a reduction (monoid.h) meet: the lanes of a warp by shuffles, the warps
 * of a block through shared memory, blocks and slices through the workspace.
 *
 * Those that all see what their leader has come to are made to fit that once, and then are plain
 * sums; those that come one by one are merged.
 *
 * Names in the text, beside those of a Partial: own what a leader was for a thread alone, part
 * (part_at) values (positions) of a block's threads or warps, left (left_at) those in the workspace
 * by slice or block, s the number of one.  */
#ifndef ROLLER_CODEGEN_REDUCE_H
#define ROLLER_CODEGEN_REDUCE_H
#include "codegen/monoid.h"

/* The lanes whose numbers differ in the bits of `mask`, all of them; of leaders or tied ones.  */
void reduce_lanes(Cg *cg, const Partials *p, bool tied, int mask);
/* Each `threads` neighbours of a block of `block` threads (a power of two), all of them.  `total`:
 * elements that they have seen.  */
void reduce_threads(Cg *cg, const Partials *p, int threads, int block, const char *total);

/* Arrays of what is left in memory, STEM and STEM_at, from the pointer `base` on and then element
 * `first` (NULL: 0) of them; positions lie `apart` bytes behind the values.  */
void reduce_arrays(Cg *cg, const Partial *p, const char *stem, const char *base, const char *first,
                   int64_t apart);
/* Leaves what is held there as element `at`; `only` is printed in front.  */
void reduce_put(Cg *cg, const Partials *p, bool tied, const char *only, const char *stem,
                const char *at);
/* The same for arrays of `vec` held results, and elements of one access to them.  */
void reduce_put_vector(Cg *cg, const Partials *p, int vec, const char *stem, const char *at);
int reduce_width(const Partials *p, int vec);
/* Merges n neighbours at element `at` with what is held as element v.  */
void reduce_add(Cg *cg, const Partials *p, int n, const char *stem, const char *at);

/* Parts s of the same results, dealt out to neighbouring threads of a block.  */
typedef struct {
    const char *count, *at;   /* how many, which element of the arrays is part s */
    const char *elements, *total;         /* those of part s (for means), of all */
    int threads, block;
} ReduceParts;
void reduce_parts(Cg *cg, const Partials *p, bool tied, const ReduceParts *parts);
#endif
