/* The skeletons but for `contract`: what a program means, and what follows from it: threads,
 * widths, steps, bytes and wavefronts.  What all programs have in common is in derived.h.
 *
 * The `stream` skeleton (maps, and reductions no other skeleton takes, or none with a program that
 * fits): the spatial domain flattened to AX_M; a thread computes thread.m consecutive elements
 * (vectors of store_vec) and reductions run as loops; block.m = threads * thread.m.  Where a grid
 * is too small for that, blocks go on with the next elements.  A map with store_vec >
 * Problem.out_vec has whole vectors only: the elements behind the last one are made one by one,
 * each by a thread of its block.
 *
 * The `row` skeleton (row groups; M rows, N columns): a block computes block.m rows, each with
 * T = block.n / thread.n neighbouring threads, a power of two.  In a step of block.n columns
 * thread i of a row takes vectors i, i + T, i + 2 T, ... of store_vec columns, thread.n
 * columns in all.
 * - Each pass of the group walks over all steps.  `keep` says where that which several passes
 *   need is in between: REGISTERS (one step is the whole row), SHARED (each thread's own
 *   elements) or MEMORY (it is read again).  ONLINE: as MEMORY, in the fewer passes of
 *   RowGroup.online: a thread folds what a step has in registers into an online reduction's leader
 *   first, corrects its own sum, and then adds the terms of the step; threads meet
 *   likewise, the leader first, slices both at once.  FLAT (RowFacts.flat): the block's rows are
 *   copied to shared memory as one range of whole 16 bytes, whatever a row's length, and read from
 *   there.
 * - RowGroup.strips: the elements of a row lie apart, those of neighbouring rows beside each other.
 *   Thread id = i * block.m + (row), store_vec == 1, keep REGISTERS, MEMORY or ONLINE, split == 1.
 *   Lanes of a warp that share a row meet by shuffles, warps through shared memory: of each
 *   max(block.m, 32) threads a part (rprog_row_parts), of which those that share a row take every
 *   so many (rprog_row_takers).
 * - store_vec > RowFacts.vec: a row's vectors begin at its first column that is a multiple of
 *   store_vec in RowFacts.peel.  The columns before that and behind the last whole vector, 2 *
 *   (store_vec - 1) at most, are its ends: thread i has columns i, i + T, ... of them, one by one,
 *   in registers as its vectors or read again by each pass (not FLAT); the first slice has them.
 * - split > 1: keep is MEMORY or ONLINE, grid y has `split` slices of ceil(steps / split) steps
 *   and each pass is a kernel of its own that leaves the slice's values in the workspace; the
 *   next one combines them. If the last pass reduces, one more kernel, of one slice, does so.
 *
 * The `column` skeleton (reductions whose neighbouring outputs read neighbouring elements;
 * Problem.column): the outputs in the order of column.out are AX_M, the reduction in the order of
 * column.red is AX_K.  A thread owns thread.m neighbouring outputs; thread id = (row group) *
 * (block.m / thread.m) + (columns).  Row group g of the block.k / thread.k groups reduces rows g, g
 * + groups, ... of its slice, thread.k of them in flight; then the groups meet, those of a warp by
 * shuffles (rprog_column_lanes), warps in shared memory (rprog_column_copies).  Slice s of `split`
 * (grid y) covers rprog_column_slice rows; with split > 1 the partial results go to the workspace
 * [split][AX_M] and a second kernel adds them in order of s, or `lanes` threads together.  All
 * reductions of the group (KernelGroup.columns) are made in the same pass.
 *
 * The `window` skeleton (reductions over windows that overlap or abut, and maps that read a tensor
 * at several shifts; Problem.window): a thread computes a patch of thread.m rows (index p) by
 * thread.n columns (index q), of vec_n neighbours along window.lane if there is one (which have
 * elements of the input each, or, window.beside, as filters do, the same ones), for thread.k
 * neighbours along window.alike, such as filters, which share what they read.  Rows of the input
 * slide through registers: each is loaded once, vec_n elements at a time (for window.along: from
 * multiples of vec_n on, of sources beside the first as wide as they allow), and adds to every
 * output row that it touches.  With thread.m == 1 the rows of a reduction's window are a loop.  A
 * map has all rows of its patch, from every source, before the first output.
 * - keep `registers`: rows come from global memory.  Patches in the order [other
 *   indices][alike][p][q][lane] are numbered through; a block takes block.m / thread.m of them,
 *   block.n == thread.n, block.k == thread.k.
 * - keep `shared`: the block computes block.m x block.n outputs of block.k / thread.k planes (a
 *   plane is a point of the other indices) for thread.k along window.alike; the inputs of the first
 *   source with the halo are in shared memory as values, what lies outside the tensor filled in.
 *   Thread id = (plane, patch down, patch across), the grid is the same with tiles.
 *
 * The `permute` skeleton (maps whose outputs are contiguous along another axis than what they
 * read; Problem.permute): a block computes a box of block.extent[a] points along axis a of the
 * view, boxes in row-major order.  Source i of the view is read in the order of its memory, in
 * vectors of load[i].vec, thread t taking vectors t, t + threads, ...; its elements lie in shared
 * memory in the order of the outputs (axes that do not move it left out), rows of
 * rprog_permute_row elements with the swizzle of load[i].layout, source 1 behind source 0.  Then
 * outputs are computed in their order in vectors of store_vec, dealt to threads in the same way.
 *
 * The `scan` skeleton (reductions that run to their own place; Problem.scan): AX_N is the index
 * that the scan walks along, in the order of the walk, AX_M all other outputs in the order of
 * scan.out. A block computes block.m of AX_M in steps of block.n along AX_N, all of them, or with
 * split > 1 those of a slice of ceil(steps / split) (grid y).  In a step a thread has thread.n
 * elements of each of its thread.m results: the terms, what they come to one after the other in
 * the thread, across the threads that share a result, and with what the steps before came to.
 * - Along (not scan.down): thread.m == 1, and T = block.n / thread.n threads, a power of two, share
 *   a result; thread id = (result) * T + (place).  A warp of them has 32 * thread.n neighbours, as
 *   rounds of 32 vectors of store_vec: lane l's vector of round u is number 32 * u + l (T < 32: as
 *   many lanes).  Lanes meet by shuffles, round by round, warps through shared memory.
 * - Down: thread.m == store_vec neighbouring results; thread id = (group) * (block.m / thread.m) +
 *   (results).  Group g of the block.n / thread.n has elements g * thread.n .. of a step; groups
 *   meet in shared memory.
 * - split > 1: a kernel before it reduces the slices: each leaves its value (down: each group of
 *   it) in the workspace, and the slices behind it begin with those of all before them.
 *
 * The `chain` skeleton (Problem.next: S[m,n] = sum[k](A[m,k] * B[n,k]) and behind it O[m,e] =
 * sum[n](P(S[m,n], row m) * V[n,e])): a block has block.m rows of one batch and all columns e, and
 * goes in turns along n, block.n columns each.  Axis AX_E of a tile is e.
 * - Two units: the one of the first product, and unit_v, whose operand a has the results' types.
 *   They are the same where one computes both.  thread is the tile of the first.
 * - block.e >= E and, where operand a is resident, block.k >= K are the least multiples of a
 *   unit's, block.n one of the first's n and of the second's k.  Warps divide the rows alone:
 *   warp.n, .k, .e are those of the block, so that a warp has whole rows, their reductions meet by
 *   shuffles, and its results of the first product are its operand of the second in the registers
 *   that have them (fragment_order).  Where these are so in another order, rows of b lie in its
 *   tile in that order: within each period of it, or of units of warpgroups within block.n, where
 *   a box brings neighbours of every few rows (fragment_spread).
 * - As products (rprog_product): the first is a program of M x N x K, the second one of M x E
 *   x N, of `contract` form with one k-step each (of k that is streamed the first has more); b of
 *   the first is LOAD_B, b of the second LOAD_V, whose axes are the second product's (along n: of
 *   e; along k: of the columns n).
 * - Each of b and V has a ring of its own of `stages` slots (ROOM_STAGE of 1 and of 3), a fill of
 *   which is a turn's tile; operand a lies in ROOM_STAGE of 0, one slot, filled before the first
 *   turn.  keep REGISTERS: its fragments are read once, for all turns; SHARED: in every turn.
 *   A turn: wait for b; barrier; begin V of turn j + stages - 1; S; wait for V; barrier; begin b of
 *   turn j + stages; maps and reductions of the row; P; O.
 * - block.k < K: both operands of the first product are streamed along k, as those of `contract`
 *   are (ROOM_STAGE of 0 and of 1, a ring of `stages`; of units of warps a may be a region).  There
 *   is one turn then, block.n >= N, that no mask cuts, and V is resident: ROOM_STAGE of 3 has one
 *   slot, filled before the first step.  keep: SHARED.
 * - Rows' reductions follow RowGroup.online: a turn folds the leader, corrects what follows it, and
 *   O likewise.  A block's turns are those from the first to the last that has a column within
 *   Chain.bounds for some of its rows.
 * - The grid's x has the tiles of M of a batch, from the last to the first where later rows have
 *   more columns (rprog_chain_grows), then batches.
 * - split > 1 (grid y): slice s of a block's turns has ceil(turns / split) from the s-th such on,
 *   one without columns where there are none left.  It leaves its results of the second product in
 *   the workspace as a split `contract` program does, [slice][B][M][E], and behind them what it
 *   holds of its rows (ChainFacts.slices), [slice][row] each (rprog_chain_left).  A second kernel
 *   merges these in order: first leaders, then what follows them, made to fit.
 * - via: results leave as those of `contract` do, of the second product.
 *
 * Units of warpgroups in the `chain` skeleton; what is not said here is as above, and as of units
 * of warpgroups in `contract`:
 * - A warpgroup has rows of one instruction.  The first product's has block.n columns, the second
 *   one's block.e: thread.n == block.n, thread.e == block.e.  Operand a of the second is in
 *   registers, each warp's rows its own (fragment_of_operand_share); K and E need not fill boxes,
 *   whose rest is zeros.
 * - Four more warps, the last, copy: a once, then tiles of b and V, turn by turn, the b of a turn
 *   before its V.  Each ring has barriers of its slots, full ones and empty ones (Ring), where each
 *   warp that computes arrives when its products have read the slot.  Operand a has a full one
 *   alone (ring 2).  keep: SHARED.  Where k is streamed V is copied when half of the steps
 *   of the block's first tile are, and has a full one alone
 *   (ring 1), and the rest is as in `contract`; overlap: NONE.  There blocks may stay (grid), with
 *   V for all of their tiles, so that there are no batches, and neighbours along M may share b
 *   (cluster, raster `column`), while each copies its own V.  Where a is a region and the stages
 *   are as many as the steps (rprog_keeps_steps), b stays, too: each step's is filled once, and no
 *   stage has an empty barrier (Ring TURN_KEPT).  A pingpong's warpgroups then have a tile each at
 *   the same time, one half of its steps ahead of the other, and up to four slots of the region,
 *   as many as fit.
 * - overlap WITHIN: a warpgroup begins the scores of turn j + 1, then the results of turn j, and
 *   makes exponentials of those scores while that is under way.  A turn before the first makes the
 *   first operand, none is begun behind the last.  NONE: it waits for each product.
 * - overlap BETWEEN: the warpgroups of a block begin their products of a turn in turn, each behind
 *   the one before it.  BOTH: as it says.
 * - Sums in Tensor Memory (rprog_tensor): columns from 0 on have results, then scores, then the
 *   terms of a turn, which are operand a of the second product (ROOM_ACCUMULATORS of 1 and of 0,
 *   ROOM_TERMS), of each warpgroup its own side by side.  Of the four warps that do not fold one
 *   copies, and a lane of the next one issues both products, warpgroup by warpgroup.  Scores and
 *   terms are rings of one slot for each warpgroup: scores are full when their products have ended,
 *   empty when all its warps have loaded them; terms are full when these have stored theirs, empty
 *   when their products have ended.  overlap: WITHIN, since scores of turn j + 1 and results of
 *   turn j are made while turn j + 1 is folded.  */
#ifndef ROLLER_RPROGRAM_SKELETONS_H
#define ROLLER_RPROGRAM_SKELETONS_H
#include "rprogram/rprog.h"

/* `stream`: is the end of the domain no whole vector, and made element by element?  */
static inline bool rprog_stream_rest(const Problem *p, const RProg *r) {
    return r->store_vec > p->out_vec;
}

/* `row`: the facts that the program goes by; is what several passes need read again by each?  */
const RowFacts *rprog_row_facts(const Problem *p, const RProg *r);
static inline bool rprog_row_rereads(const RProg *r) {
    return r->keep == KEEP_MEMORY || r->keep == KEEP_ONLINE;
}
/* Are values that several passes need (RowFacts.value) kept?  */
static inline bool rprog_row_keeps_values(const RProg *r) {
    return r->keep == KEEP_REGISTERS && r->split == 1;
}
/* Instructions of pass p for one element.  */
double rprog_row_ops(const Problem *p, const RProg *r, int pass);
/* Does the block hold the source's rows in shared memory?  */
static inline bool rprog_row_holds(const RProg *r, const RowSource *s) {
    return r->keep == KEEP_FLAT ? s->by_row : r->keep == KEEP_SHARED && s->kept;
}
/* Do vectors begin at the first aligned column of a row (RowFacts.peel), so that it has ends?  */
static inline bool rprog_row_ends(const Problem *p, const RProg *r) {
    return r->store_vec > p->row->vec;
}
/* Columns that a thread has of the ends of its row, at most; elements of an access to a source.  */
int rprog_row_end_columns(const Problem *p, const RProg *r);
int rprog_row_width(const Problem *p, const RProg *r, const RowSource *s);
/* Parts of a row that meet in shared memory, 1: none do; of strips, threads of a warp that share
 * them among each other.  */
int rprog_row_parts(const Problem *p, const RProg *r);
int rprog_row_takers(const Problem *p, const RProg *r);
static inline bool rprog_row_strips(const Problem *p) { return p->row->group->strips; }
/* Threads of a row; steps of a pass over a slice; kernels.  In the workspace the slices' values lie
 * as [row][slice].  */
int rprog_row_threads(const RProg *r);
int64_t rprog_row_steps(const Problem *p, const RProg *r);
int rprog_row_kernels(const Problem *p, const RProg *r);
/* Elements of a copy of source k to shared memory, and the mover that makes it: an asynchronous one
 * where the device has it, which needs no registers; -1: loads and stores.  */
int rprog_row_copy_width(const Problem *p, const RProg *r, int source);
int rprog_row_mover(const Device *dev, const Problem *p, const RProg *r, int source);

/* `column`, `scan`: threads of a block along an axis.  */
int rprog_threads_along(const RProg *r, int axis);

/* `column`: row groups of a warp, which meet by shuffles; partial results of the block's columns in
 * shared memory: those of all warps of a column but the first, which adds them in order; rows of a
 * slice, whole steps.  */
int rprog_column_lanes(const RProg *r);
int rprog_column_copies(const RProg *r);
/* Copies read at once.  It divides them: where a loop ends amid an unrolled step, compilers read on
 * to the step's end, where nobody wrote.  Needs copies.  */
int rprog_column_under_way(const RProg *r);
int64_t rprog_column_slice(const Problem *p, const RProg *r);

/* `scan`: elements of a step from one vector of a thread to its
 * next, and threads that meet by shuffles; threads that hand each other results through shared
 * memory, as warps or groups; steps of a slice; partial results that a slice leaves of each.  */
int rprog_scan_lanes(const Problem *p, const RProg *r);
int rprog_scan_meets(const Problem *p, const RProg *r);
int64_t rprog_scan_steps(const Problem *p, const RProg *r);
int rprog_scan_partials(const Problem *p, const RProg *r);

/* `window`: patches; neighbours along window.lane; what a thread loads of an input row of a source:
 * elements of a load, loads, elements before the first that is needed; input rows of a patch (the
 * window's where they are a loop), and whether the loop over the window's rows is unrolled.  */
int64_t rprog_window_patches(const Problem *p, const RProg *r);
static inline int rprog_window_lanes(const Problem *p, const RProg *r) {
    return p->window.lane < 0 ? 1 : r->vec_n;
}
/* Outputs of a thread; the number of the index map's axis of p (AX_M), q (AX_N) or alike (AX_K),
 * if there is one: the first one is that of the other indices.  */
static inline int rprog_window_outputs(const Problem *p, const RProg *r) {
    const int32_t *own = r->thread.extent;
    return own[AX_M] * own[AX_N] * own[AX_K] * rprog_window_lanes(p, r);
}
static inline int rprog_window_axis(const Problem *p, int axis) {
    const WindowView *v = &p->window;
    return 1 + (axis != AX_K && v->alike >= 0) + (axis == AX_N && v->p >= 0);
}
int rprog_window_width(const Problem *p, const RProg *r, int source);
int64_t rprog_window_loads(const Problem *p, const RProg *r, int source);
int rprog_window_shift(const Problem *p, const RProg *r, int source);
/* KEEP_SHARED: patches of a block down, across and over planes (points of the outer indices); rows,
 * columns and row pitch of its inputs in elements.  */
typedef struct {
    int down, across, planes;
    int64_t rows, columns, pitch;
} WindowTile;
WindowTile rprog_window_tile(const Problem *p, const RProg *r);
int64_t rprog_window_rows(const Problem *p, const RProg *r, int source);
/* Loads of a patch from a source, or elements; those that no tap needs (of a reduction's vectors,
 * elements alone) are left out: the compiler does, and narrows loads.  */
int64_t rprog_window_used(const Problem *p, const RProg *r, int source, bool loads);
/* Which subscripts of what a thread loads of a source, or a block of its tile, may lie outside of
 * the tensor at some size and so are tested; bit d: dimension d.  */
uint32_t rprog_window_tested(const Problem *p, const RProg *r, int source);
static inline bool rprog_window_tiled(const RProg *r, int source) {
    return r->keep == KEEP_SHARED && source == 0;
}
int64_t rprog_window_body(const Problem *p, const RProg *r);
bool rprog_window_unrolls(const Problem *p, const RProg *r);

/* Product `number` of a `contract` or `chain` program as a program of its own of that product's
 * problem, threads as they are.  Turns of a chain's block, at most, are rprog_chain_turns.  */
RProg rprog_product(const Device *dev, const RProg *r, int number);
/* Columns of Tensor Memory that the terms of a turn take as the second product's operand.  */
int rprog_chain_terms(const Device *dev, const RProg *r);
int64_t rprog_chain_turns(const Problem *p, const RProg *r);
/* Are both operands of the first product streamed along k?  */
static inline bool rprog_chain_streams(const Problem *p, const RProg *r) {
    return r->block.extent[AX_K] < p->extent[AX_K];
}
/* Do the stages of such a chain, whose first operand is a region, hold those of all of its steps,
 * so that a block that stays fills them once?  */
bool rprog_keeps_steps(const Problem *p, const RProg *r);
/* Do tiles of a block that stays differ in turns?  Then blocks have the rounds of tiles, the
 * longest ones of RProg.group batches first, in one order and the other by turns.  */
static inline bool rprog_chain_parted(const Problem *p, const RProg *r) {
    const ColumnBounds *b = &p->chain->chain->bounds;
    return rprog_persistent(r) && !rprog_chain_streams(p, r) && b->n_from + b->n_to > 0;
}
/* The largest sum of turns that a block has, of a few blocks; `blocks` are launched.  */
int64_t rprog_chain_longest(const Problem *p, const RProg *r, int64_t blocks);
/* Turns that the blocks of row tile `tile` visit, as far as bounds are known (Chain.bounds); of
 * these, those in which some row lacks a column.  */
int64_t rprog_chain_visited(const Problem *p, const RProg *r, int64_t tile);
int64_t rprog_chain_cut(const Problem *p, const RProg *r, int64_t tile);
/* Bytes of the workspace before what slices leave of reduction i of ChainFacts.slices (the last is
 * the second product: all).  */
int64_t rprog_chain_left(const Problem *p, const RProg *r, int i);
/* Do later rows have more columns, so that the grid begins with them?  */
bool rprog_chain_grows(const Problem *p);

/* `chain` on units of warpgroups: what overlaps.  */
static inline bool rprog_overlaps_within(const RProg *r) {
    return r->overlap == OVERLAP_WITHIN || r->overlap == OVERLAP_BOTH;
}
static inline bool rprog_overlaps_between(const RProg *r) {
    return r->overlap == OVERLAP_BETWEEN || r->overlap == OVERLAP_BOTH;
}

/* `permute`: points of a box; of source i: elements of its part of the box, elements of a row in
 * shared memory without padding; elements that lie together in memory: of source i, of the outputs
 * (source < 0).  */
int64_t rprog_permute_points(const Problem *p, const RProg *r);
int64_t rprog_permute_elements(const Problem *p, const RProg *r, int source);
int64_t rprog_permute_row(const Problem *p, const RProg *r, int source);
int64_t rprog_permute_run(const Problem *p, const RProg *r, int source);
/* Elements from point to point along each axis in source i's part, before padding; 0: not moved.
 * Elements of one access of the part by outputs.  */
void rprog_permute_steps(const Problem *p, const RProg *r, int source,
                         int32_t step[PERMUTE_AXES]);
int rprog_permute_width(const Problem *p, const RProg *r, int source);
/* Wavefronts of filling the part of source i and of reading it for the outputs, by one full box.
 * Of many requests a part is looked at and stands for the rest.  */
double rprog_permute_stores(const Problem *p, const RProg *r, int source);
double rprog_permute_loads(const Problem *p, const RProg *r, int source);
#endif
