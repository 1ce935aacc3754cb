/* RProg: HOW one kernel group is computed: an rTile per level, a mover per load, a compute
 * unit, stages and the scale-out.  A plain value; everything code generation needs and
 * nothing it could choose.
 *
 * rprog_candidates constructs every aligned program by scale-up and scale-out; ranking belongs
 * to microperf.  rprog_check is the referee for any RProg, also for one that came as text.
 *
 * What a program means is said here for the `contract` skeleton, in rprogram/skeletons.h for all
 * others.
 *
 * The `contract` skeleton (T[b,m,n] = red over k of body(A[b,m,k], B[b,n,k])):
 * - Grid: x = tiles of B x M x N in `raster` order (B outermost), y = `split` slices of K.
 *   Slice s covers k-steps [s*q, min((s+1)*q, steps)), q = ceil(steps / split).  With split >
 *   1 each slice stores its partial sums to the workspace [split][B][M][N] in the accumulation
 *   type and a second kernel adds them in order of s and does the epilogue.
 * - tail > 0 (stream-K): the last `tail` tiles in raster order have no block of their own; their
 *   k-steps, one tile behind the other, are dealt out to `tail_blocks` blocks behind the others
 *   in grid x, block u taking steps [u*q, min((u+1)*q, all)), q = ceil(all / tail_blocks).  A block
 *   that has all steps of a tile computes it as any other; else it stores partial sums of block.m
 *   x block.n to slot u + t of the workspace, t the tile's number in the tail (what the blocks have
 *   of the tiles is a staircase, so no two share a slot).  A second kernel adds the slots of a
 *   tile in order of u and does the epilogue.  split == 1, warp.k == block.k, and store_vec
 *   sums are at most 16 bytes.  Of GRID_PERSISTENT block u is the launch's u-th, which takes these
 *   steps behind its whole tiles, and those of u + the blocks launched, ... where the device holds
 *   fewer than tail_blocks; these are at most rprog_slots, cluster 0.
 * - raster: ROW: n fastest; COLUMN: m fastest; GROUPED g: groups of g tile rows (m), inside a
 *   group m fastest, then n (last group may be smaller).
 * - Block: threads = 32 * (block.m/warp.m) * (block.n/warp.n) * (block.k/warp.k).  Warp w: n
 *   fastest, then m, then k.  Each warp computes warp.m x warp.n outputs over warp.k of every
 *   k-step (block.k); with warp.k < block.k partial sums are added through shared memory at
 *   the end, in order of the warp's k index.
 * - Lanes: LM = warp.m / thread.m by LN = warp.n / thread.n, LM * LN == 32, both powers of
 *   two. Lane bits are dealt alternately, bit 0 to n, bit 1 to m, bit 2 to n, ... ; when one
 *   side has its bits the rest goes to the other (Z-order: neighbours broadcast).
 * - Thread: thread.m x thread.n outputs in registers.  Row i of lane lm is (i / vec_m) * (LM *
 *   vec_m) + lm * vec_m + i % vec_m within the warp tile; columns likewise with vec_n.
 * - Shared tile of an operand: inner == AX_K: rows are m (or n), elements k; else rows are k.
 *   Fragments are read vec_m (vec_n) elements at once if inner is the operand's own axis; else
 *   thread.k consecutive k at once for each row.
 * - Loads: chunk id = thread + i * threads; `along` == AX_K: row (m or n) = id /
 *   (block.k/vec), k = (id % (block.k/vec)) * vec; along == own axis: k = id / (E/vec), mn =
 *   (id % (E/vec)) * vec, E = block.m or block.n.  Elements outside the tensor or outside B,
 *   M, N, K are zero-filled (the reduction's identity for K).  `staged` loads go through
 *   registers: read for step s+1 is issued before the compute of step s and stored after it
 *   (stages == 2, or 1 with two barriers). `async` loads run stages - 1 steps ahead.  One
 *   staged load limits the program to 2 stages; an async one beside it runs one step ahead.
 * - Regions: a load with `region` has no tile in the stages.  The region of the tensor that the
 *   block reads (rtile_region) lies in shared memory behind them, each element once, that of a tile
 *   that goes on in the next image with zeros between the two: chunk id =
 *   thread + i * threads, `vec` elements of line id / (row / vec).  Behind it lie zeros, last +
 *   pair elements, if K is no multiple of block.k, and a table of the place in bytes of every k of
 *   all steps (rtile_region_k; the zeros for those beyond K).  It is loaded before the first step.
 *   Fragments gather from it: of matrix units by ldmatrix where rows of 16 bytes along k lie side
 *   by side (RRegion.chunk; one place of k for each), else as those that are read register by
 *   register, `pair` neighbouring k at once, else element by element.  One operand at most, copied
 *   unchanged; along and inner are its own axis; split == 1, no tail; the sum of a product.
 *   Where lines of matrices begin anywhere (RRegion.anywhere) a thread joins 16 bytes of the two
 *   accesses that they lie in, and puts zeros behind the end of a line.  Where chunks run along a
 *   dimension that lies apart (RRegion.turned), as channels do before pixels, it loads neighbours
 *   along the last dimension, as many for each element of a chunk, and stores a chunk for each.
 * - Tables: a load with `table` decodes its positions once: those of the tile's rows (registers if
 *   they are few) and, while the step before is loaded, those of each k of a step (rprog_table).
 *   For copies of elements as they lie in memory whose places would have to be decoded for several
 *   chunks in every step (rprog_may_table).
 * - Unit dp4a: four k are one 32-bit word; block.k, warp.k, thread.k stay in elements, both
 *   operands have inner == AX_K and along == AX_K.
 * - Shared memory: stage s begins at s * (bytes of a + bytes of b), a first, then b, each
 *   rprog_tile_bytes.  After the last step it is reused for the partial sums of the slices
 *   warp.k < block.k (VIA_DIRECT): warps of k index j > 0 store theirs into copy j - 1 of
 *   block.m * block.n elements of the accumulation type, one barrier, warps of k index 0 add
 *   copies 0, 1, ... in order. Accumulator e of thread t of a slice lies at element e * T + t of
 *   its copy, T threads per slice.
 * - thread.k == 1 unless some operand has inner == AX_K; an operand with inner on its own axis
 *   is then read thread.k times, once for each k.  vec_m, vec_n divide thread.m, thread.n.
 * - store_vec divides vec_n.  With split > 1 it is the width of the stores to the workspace
 *   and divides N; the second kernel takes Problem.out_vec.
 * - async loads zero-fill, so they need the sum of a product, or block.k that divides K.
 *
 * Matrix units (rprog_matrix: the unit's scope is a warp and it multiplies) in the `contract`
 * skeleton.  All of the above holds but for what is said here.
 * - Sides: the unit multiplies rows U (its m) by columns V (its n).  U is our a (M) and V our
 *   b (N); with `swapped` U is our b (N) and V our a (M): for few rows M, since the unit's n
 *   is small. rprog_unit_side(r, side) is 0 where operand `side` is U.  u = unit's m, v = its
 *   n, k = its k.
 * - thread is the instruction's tile in our axes: M x N x K = u x v x k, swapped v x u x k.
 *   warp is a multiple of thread along every axis, block one of warp.  unroll == warp.k: a
 *   step is straight code of warp.k / thread.k slices.  Instruction tile (i, j) of a warp has
 *   rows i * thread.m and columns j * thread.n on.
 * - Accumulators have the unit's acc.  What a lane holds of a tile is rprog_results; vec_m and
 *   vec_n are its neighbours along M and N (1, 2; swapped 2, 1).  Behind the k-loop they are
 *   converted to Contraction.acc: sums of slices, workspace and epilogue are made in that
 *   type.  Accumulator (i, j, c) is e = ((i * (warp.n / thread.n)) + j) * registers of a tile
 *   + c.
 * - Elements of the shared tile have the type rprog_tile_type: the unit's a for U, b for V.
 *   An operand whose storage is that type is copied unchanged (rprog_copyable), every other
 *   one is staged and converted when it is stored to the tile; the conversion is exact, by
 *   choice of the unit.  f32 for a tf32 unit is stored as it is, and truncated by the unit.
 * - rprog_products == 3 (@fp32x3): each fragment element x is split into hi = x with the low
 *   13 bits cleared and lo = x - hi (0 where x is infinite), and lo * hi, hi * lo, hi * hi are
 *   accumulated in that order.
 * - rprog_promotes (units of f8, K more than 128 or not known): the products of one k-step are
 *   summed in accumulators of their own, which begin at zero and are added to the real ones in f32
 *   behind the step (warp.k <= 128).  Sums in Tensor Memory stay there: that unit's are of f32.
 *   Units of any type do so where operands have scales of blocks that they do not know: the sum is
 *   multiplied by those of its row and column, the same for warp.k (rprog_sum_scales).
 * - Fragments, rprog_ldmatrix: a matrix is 8 rows of one 16-byte chunk.  A side's fragments of
 *   a slice are (warp extent / 8) x (thread.k bytes / 16) matrices: (row block, chunk).  They
 *   are ordered by instruction tile; inside a tile of U the row block changes faster than the
 *   chunk (a tile of V has one row block).  That is the order of the instruction's registers.
 *   They are read in this order by ldmatrix.x4, what is left over by .x2, then .x1.  inner ==
 *   AX_K: rows of a matrix are m (or n), its chunk is 16 bytes of k.  inner == own axis
 *   (16-bit types only): .trans; rows are 8 k, the chunk is 8 elements of the own axis, "row
 *   block" and "chunk" of the matrix order keep their meaning (8 of the own axis, 8 k).  Lane
 *   i gives the address of row i % 8 of matrix i / 8 of the group.
 * - Fragments, else (f64; f32 with inner == own axis; sm_70): a lane reads what it holds, as many
 *   neighbours at once as lie side by side, from where rprog_fragment has it.
 * - Fragments of slice s + 1 are read before the products of slice s if the slices of a step are
 *   even in number, so that buffers have constant indices, and registers hold both (else the
 *   program is `late`): the first ones of the next step behind its wait and barrier, before the
 *   products of the last slice.  Else each slice reads its fragments first (rprog_fetched_ahead).
 *   There is one barrier per k-step either way (two with stages == 1).
 * - A load with `bytes` copies elements of one byte unchanged for a unit of 16-bit ones: the shared
 *   tile has the type in memory, along and inner are AX_K, thread.k == 16, and a lane converts a
 *   slice's elements right before its products (types: rprog_widens).  A matrix, 8 rows of 16
 *   bytes, gives lane l k = 4 * (l % 4) + {0, 1, 2, 3} of a row, which take the places of 2 * (l %
 *   4) + {0, 1} and of 8 + these in the unit's registers.  The other side takes k in this order
 *   too: it has `bytes` as well, or 16-bit elements with inner == AX_K and no region, of which a
 *   lane reads those four, 8 bytes, at once for each block of 8 rows (rprog_reads_fours).
 * - Layouts: rows of the shared tile are multiples of 16 bytes; swizzle or padding as RLayout
 *   says. 8-bit types have inner == AX_K.
 * - via == VIA_DIRECT: each lane stores what it holds, store_vec divides vec_n.  VIA_SHARED:
 *   each warp passes thread.m rows of its tile at a time through its own buffer
 *   of shared memory, in Contraction.acc: thread.m rows as rprog_staging lays them, warp w's
 *   at byte w * rprog_staging_bytes (buffers take the place of stages: a barrier before the first
 *   one).  All tiles (i, *) are written at [row in tile][j * thread.n + column], __syncwarp,
 *   then vector `id` = lane + 32 * t of store_vec columns (row id / (warp.n / store_vec), column
 *   id % (warp.n / store_vec) * store_vec) is read back, gets the epilogue, and is stored;
 *   __syncwarp before the next i.  With split > 1 the vectors go to the workspace.  With warp.k <
 *   block.k partial sums meet here: the H = block.k / warp.k warps of the same outputs each write
 *   a buffer, a barrier of the block takes the place of __syncwarp, and the warp of k index h reads
 *   vectors id = lane + 32 * (h + H * t), the sum of all H buffers in order of their k index.
 *   Buffers of odd i lie behind all of even i then, so that there is one barrier for each.
 *   Where its `half` is H > 0, column c of a row lies at element c / 8 * 4 + c % 4
 *   + (c / 4 % 2) * H.
 *
 * Units of warpgroups in the `contract` skeleton read both operands from shared memory (b_smem of
 * their rows).  What is said of matrix units holds but for this:
 * - Four warps share a warp tile.  thread is the unit's tile, whose n is any of its range; warp
 *   is a multiple of it along M alone (swapped: it is one).  Warp w of four has rows 16 w .. 16 w +
 *   15 of each instruction tile, swapped columns (rprog_results, rprog_staging_rows and _columns).
 *   block.k == warp.k.
 * - LOAD_TILE: a tensor map describes the operand (rprog_box); one copy brings a box of 128 bytes
 *   of the inner axis by all rows of the tile, zeros where it lies outside, in the 128-byte swizzle
 *   (16-byte chunk c of row r at c ^ r % 8; of a unit's mn_atom, 32-byte chunk c at c ^ r % 4).
 *   inner == AX_K: block.k elements are 128 bytes.  inner == own axis: boxes lie one behind the
 *   other, and the last one may reach beyond the tile.
 * - LOAD_TILE with `modulo` n (inner == AX_K): rows begin anywhere, but every n-th one a multiple
 *   of 16 bytes further on, which a tensor map takes as a stride.  There are n maps: that of rows
 *   i * n + c begins at row c, rounded down to 16 bytes, and ends where that does.  A copy brings
 *   what one map has of the tile's rows, side by side, from the element on where the step begins.
 *   Place c * (rows / n) + i of the tile has row i * n + c (rprog_row_order), and so has the
 *   accumulators' row or column there (rprog_results).  Results leave as the lanes hold them.
 * - LOAD_PIXELS: the same of an operand whose rows are places in an image, or other digits that are
 *   several dimensions (RBox.pixels): a copy brings RBox.span bytes of channels, which never reach
 *   into the next pixel of a window, of as many pixels as the tile has rows.  Boxes of a step, each
 *   in the swizzle of its width, lie one behind the other; of one behind the end of K nothing but
 *   zeros comes.  The batch may have channels of its own, a group of them.
 * - A load with `team` (LOAD_ASYNC of 16 bytes): what is no box of memory, such as rows that data
 *   choose.  Threads of so many of the warps that fill the ring copy chunks to where boxes would
 *   bring them; chunk id = thread of these + i * their number.  Each thread's copies arrive at the
 *   full barrier when they are there, and who computes comes by a fence behind its wait, since
 *   threads have written what the unit reads by itself.  One of them issues boxes of the other
 *   operand.  Where sums lie in Tensor Memory two warps copy; blocks of a pair have no such loads,
 *   nor have operands that a cluster shares.
 * - A load with `raw` (LOAD_TILE, of U, inner == AX_K): the unit takes the operand from registers.
 *   Boxes of at most 128 bytes of k, in the swizzle of their width, lie one behind the other and
 *   hold what the operand's expression reads of one tensor as it is in memory (rprog_raw), also
 *   where the k of a register share an element, as nibbles do a byte (RRaw.pack).  Before
 *   the products of a step a lane reads what it has of their operands (rprog_raw_fragment: 16 rows
 *   of each instruction tile by thread.k), evaluates the expression slice by slice and hands
 *   registers to the unit: products of a slice are a group, and may be under way until registers of
 *   the same slice of the next step are made.  What else the expression reads is the same at all k
 *   of a step.
 * - A load with `region` (LOAD_PIXELS, else LOAD_TILE, of U): the unit takes the operand from
 *   registers, which ldmatrix loads from the region of the tile.  A copy of a column of pixels
 *   brings a plane of it, RRegion.span bytes of each pixel in the swizzle of their width: it goes
 *   through the images in a box that has their border, where it writes zeros.  Where rows are no
 *   such column the region is one box of the tensor, which ends within an image
 *   (rprog_region_box).  Regions are a ring of their own, a tile each (Ring TURN_TILES): blocks
 *   that stay have two slots, so that the next tile's is copied while this one's is read.  block.k
 *   divides the channels that a plane has of a pixel, so that a step's matrices are those of one
 *   place of the window: what the place adds to a row is added before the swizzle, which is of the
 *   sum's bits.  split == 1, no tail; blocks of a cluster share the other operand.
 *   Where lines begin anywhere or lie apart (LOAD_STAGED with `team`) threads of the warps that
 *   fill the ring make chunks, as of regions without a ring, and put them where copies would.
 * - Stages are a ring.  Beside those that compute a block has four more warps, the last, a lane of
 *   which waits for an empty stage and issues its copies; the others wait for a full one.  The four
 *   leave registers to the others where these need more (rprog_ring_registers).  A stage is empty
 *   again when all their products of it are done: those of one step are under way while those of
 *   the next are issued (stages > 1).  Full barriers, then empty ones (Ring), lie
 *   behind all data.
 * - Sums in Tensor Memory (rprog_tensor): of the four warps one copies, and a lane of the next one
 *   issues the products of all tiles of the block; it waits for a full stage and, once a tile, for
 *   accumulators that are empty.  The others load sums when the last product of a tile has ended,
 *   by which its accumulators are empty again.  These are a ring, too: of blocks that stay it has
 *   two slots where Tensor Memory holds both (rprog_tensor_slots).  An instruction has the columns
 *   of all warpgroups that stand side by side, where the unit takes so many (rprog_issued_columns).
 * - Pairs of blocks (a unit with `blocks` 2): a cluster of two, neighbours that share V.  Each has
 *   its own tile and its rows of U; of V, whose columns are one instruction's, each copies and
 *   keeps its half (rprog_apart).  The first block's thread issues the products of both: copies of
 *   both tell its full barrier, warps of both its accumulators' empty one, and its commits tell
 *   both blocks.
 *
 * - cluster c: c neighbours in the grid's order, which share b (raster `row`: a), since c divides
 *   the tile rows of a group and of the tensor (the columns); of run-time sizes the grid has as
 *   many more, which are empty.  Each copies the c-th part of the shared tile, to all of them; a
 *   stage is empty when all warps of all of them are done with it.
 * - grid: GRID_PERSISTENT launches as many blocks as the device holds at a time (rprog_launched by
 *   its profile; any number of whole clusters is right), each of which goes on with the tile so
 *   many behind its last one until there is none.  Stages and phases of the ring are counted over
 *   all tiles of the block, so that those of the next tile fill while outputs of this one are
 *   stored; what these pass through lies behind the stages.  GRID_PINGPONG: the block has two
 *   warpgroups that compute, each a tile of block.m x block.n of its own, the first one the
 *   block's even tiles; each begins the products of a tile when the other has begun all of the
 *   tile before, or half of them where a chain keeps all steps.  split == 1.
 * - via == VIA_BOXES (of blocks that stay, and of chains): each warp collects its rows of an
 *   instruction tile in boxes of rprog_box_row bytes by rprog_staging_rows rows, which lie in
 *   shared memory as the store's tensor map swizzles them, and a lane stores them by that map
 *   (rprog_out_box), with up to box_slots - 1 under way: two slots, one for a single box or where a
 *   second one for an odd number would cost a block of the SM.  store_vec == vec_n.  A box that has
 *   all columns of the tensor may be wider than these.
 *
 * Statements over rows of the results (Problem.stats) are computed from the accumulators behind the
 * k-loop; split == 1, tail == 0, warp.k == block.k, of warpgroups not swapped.  What rooms of rows
 * hold is a tile's: in blocks that stay they lie behind the stages, and threads meet before the
 * first of the next tile is written; in pingpong each warpgroup has its own, one behind the other.
 * - `rows whole`: block.n >= N.  For each pass of Problem.stats a thread folds what it holds of a
 *   row, the lanes of a row meet by shuffles (lane bits ascending), then the warps along N in
 *   order, through shared memory: value of warp w and row r at element w * block.m + r of the
 *   reduction's ROOM_PARTIALS.  Values per row are kept in ROOM_VALUES, behind what stages and
 *   staging take, and maps read them from there.
 * - `rows partial`: for each pass of Problem.stats_online a kernel computes the product; a block
 *   stores the values of its columns to the workspace as [column tile][row], and a second kernel
 *   makes of them those of the rows, [row], `lanes` threads each.  What the pass stores comes from
 *   the first kernel.  An online reduction is made with what its leader is in the block, and
 *   corrected when tiles meet.
 * - `rows turns`: the grid has the tiles of M and B.  For each pass of Problem.stats_online a block
 *   goes along the columns of its rows, block.n in a turn, and computes the product of each turn.
 *   A thread folds what it holds of a row into what it had from the turns before, online reductions
 *   relative to what the thread's leader has come to; behind the last turn lanes, then warps meet,
 *   as of whole rows.  What a pass stores leaves in its turns.  Units of warpgroups: blocks stay,
 *   and rings go on from turn to turn; in pingpong tiles of the grid have the rows of both
 *   warpgroups, which go along the same columns, each in its turn.  Raster `column`, so that a
 *   cluster shares b; no regions.  */
#ifndef ROLLER_RPROGRAM_RPROG_H
#define ROLLER_RPROGRAM_RPROG_H
#include "rtile/fragment.h"
#include "rtile/rtile.h"

#define RPROG_SKELETONS(X)                                                                         \
    X(CONTRACT, contract) /* matrix products, convolutions, and what follows from their rows */    \
    X(STREAM, stream) /* elements dealt to threads: everything else */                             \
    X(ROW, row) /* statements over the same rows: softmax, norms */                                \
    X(COLUMN, column) /* reductions over an axis that is not contiguous */                         \
    X(WINDOW, window) /* overlapping windows, maps of neighbours */                                \
    X(PERMUTE, permute) /* maps that read along another axis than they write */                    \
    X(SCAN, scan) /* cumulative sums, maxima; recurrences */                                       \
    X(CHAIN, chain) /* a product of rows of another product's results: attention */
typedef enum {
#define X(id, name) SK_##id,
    RPROG_SKELETONS(X)
#undef X
        SK_COUNT
} Skeleton;
extern const char *const rprog_skeleton_name[SK_COUNT];

typedef enum { RASTER_ROW, RASTER_COLUMN, RASTER_GROUPED } Raster;

/* How elements of operands come to shared memory, and all that the rest asks of it.  `registers`:
 * through those of the threads, where they may be converted and wait for their stage; else they are
 * copied as they are, which a later wait completes.  `chunks`: by all threads, chunk by chunk, with
 * movers that are named by their bytes behind `movers`; else by one of them, a box at once, with
 * the mover of that name.  Columns: id, text, registers, chunks, movers.  */
#define RPROG_LOADS(X)                                                                             \
    X(STAGED, "staged", true, true, NULL) /* through registers, converted there */                 \
    X(ASYNC, "async", false, true, "cp.async.") /* copied unchanged, chunk by chunk */             \
    X(TILE, "tile", false, false, "tma.tile") /* a box at a time, by a tensor map */               \
    X(PIXELS, "pixels", false, false, "tma.im2col") /* the same of places in an image */
typedef enum {
#define X(id, ...) LOAD_##id,
    RPROG_LOADS(X)
#undef X
        LOAD_COUNT
} LoadKind;

#define RPROG_KEEPS(X)                                                                             \
    X(REGISTERS, "registers") /* in those of its threads */                                        \
    X(SHARED, "shared") /* in shared memory */                                                     \
    X(MEMORY, "memory") /* nowhere: each pass reads it again */                                    \
    X(ONLINE, "online") /* nowhere; a sum below a maximum shares its pass */                       \
    X(FLAT, "flat") /* in shared memory, read as one run */
typedef enum {
#define X(id, name) KEEP_##id,
    RPROG_KEEPS(X)
#undef X
        KEEP_COUNT
} RowKeep;

typedef enum { VIA_DIRECT, VIA_SHARED, VIA_BOXES } StoreVia;
/* A block for each tile; blocks that stay and go on with the next tile, together or in turn.  */
typedef enum { GRID_TILES, GRID_PERSISTENT, GRID_PINGPONG } Grid;
extern const char *const rprog_grid_name[3];

/* What runs beside the exponentials of a warpgroup: nothing; its own products, since the scores of
 * the next turn are begun before the results of this one; those of another warpgroup, which
 * multiply in turn; both.  */
#define RPROG_OVERLAPS(X)                                                                          \
    X(NONE, "none") X(WITHIN, "within") X(BETWEEN, "between") X(BOTH, "both")
typedef enum {
#define X(id, name) OVERLAP_##id,
    RPROG_OVERLAPS(X)
#undef X
        OVERLAP_COUNT
} Overlap;

#define RPROG_STATS(X)                                                                             \
    X(NONE, "none") /* nothing: rows are another kernel's */                                       \
    X(WHOLE, "whole") /* all columns of a row */                                                   \
    X(PARTIAL, "partial") /* some; a second kernel makes the row's values of theirs */             \
    X(TURNS, "turns") /* all, some in a turn, and again for each pass */
typedef enum {
#define X(id, name) STATS_##id,
    RPROG_STATS(X)
#undef X
        STATS_COUNT
} RowStats;

typedef struct {
    LoadKind kind;
    int16_t mover;            /* index in Device.mover */
    uint8_t vec;              /* elements per access */
    uint8_t along;            /* AX_K or the operand's own axis: direction of the accesses */
    bool region;              /* `contract`: all that the block reads, before the first step */
    bool bytes;               /* matrix units of 16-bit elements: bytes until fragments are read */
    bool raw;                 /* units of warpgroups: as in memory until registers are made of it */
    uint8_t team;             /* units of warpgroups: warps that copy its chunks; else 0: all do */
    uint8_t modulo;           /* units of warpgroups: boxes of rows whose numbers are equal modulo
                               * this; 0: of neighbours */
    bool table;               /* `contract`: positions are decoded into tables in shared memory */
    RLayout layout;
} RLoad;

/* Operands that are loaded, a and b of the first product, b of the second; of tiles, the columns of
 * the second product.  */
enum { LOAD_A, LOAD_B, LOAD_V, RPROG_LOADED };
/* Which product reads it, as which of its operands.  */
static inline int rprog_load_product(int load) { return load == LOAD_V; }
static inline int rprog_load_side(int load) { return load > LOAD_A; }
enum { AX_E = AX_CLASSES };

typedef struct {
    Skeleton skeleton;
    int16_t unit;             /* index in Device.unit */
    int16_t unit_v;           /* of `chain`: that of the second product; else 0 */
    RTile block, warp, thread;
    uint8_t vec_m, vec_n;     /* consecutive rows, columns per thread */
    uint8_t stages;
    int16_t unroll;           /* k unrolled in the inner loop; divides warp.k */
    RLoad load[RPROG_LOADED];
    uint8_t store_vec;        /* elements per store along n */
    bool swapped;             /* matrix units: the unit's rows are our N */
    StoreVia via;             /* of `contract`; VIA_SHARED: matrix units, VIA_BOXES: `grid` */
    Raster raster;
    int16_t group;            /* of RASTER_GROUPED */
    uint8_t cluster;          /* of units of warpgroups: blocks that share copies; else 0 */
    Grid grid;                /* of units of warpgroups: others have GRID_TILES */
    int32_t split;
    RowStats stats;           /* of `contract` with Problem.stats: what blocks have of rows */
    uint8_t lanes;            /* rprog_meets: neighbouring threads that make one result of parts */
    int32_t tail;             /* of `contract`: tiles whose k-steps are dealt out ... */
    int32_t tail_blocks;      /* ... to so many */
    RowKeep keep;             /* of `row`; of `chain`: where operand a stays */
    Overlap overlap;          /* of `chain` on units of warpgroups; else none */
    int16_t threads;
    int16_t blocks_per_sm;    /* promised to the compiler as far as the grid has them */
    bool late;                /* derived: no registers to fetch fragments ahead of their products */
    int16_t registers;        /* expected per thread */
    int32_t smem;             /* dynamic shared memory, bytes */
    uint8_t box_slots;        /* derived, VIA_BOXES: of a warp that computes; else 0 */
    uint8_t region_slots;     /* derived: of a region, where boxes bring one */
} RProg;

/* Reasons a program is dropped; counted, shown by --explain.  */
#define RPROG_REJECTS(X)                                                                           \
    X(ALIGNMENT, "alignment", "a tile size breaks an alignment rule")                              \
    X(SMEM,      "smem",      "shared memory of one block exceeded")                               \
    X(REGISTERS, "registers", "registers per thread or block exceeded")                            \
    X(THREADS,   "threads",   "thread count or lane shape not possible")                           \
    X(MOVER,     "mover",     "no mover of the device fits the operand")                           \
    X(LAYOUT,    "layout",    "no conflict-free layout")                                           \
    X(WORKSPACE, "workspace", "workspace limit exceeded")                                          \
    X(GRID,      "grid",      "grid larger than the device allows")                                \
    X(UNROLL,    "unroll",    "unrolled body too long")                                            \
    X(DOMINATED, "dominated", "another program moves less and needs no more")
typedef enum {
#define X(id, name, text) REJECT_##id,
    RPROG_REJECTS(X)
#undef X
        REJECT_COUNT
} Reject;

typedef struct {
    RProg *prog;
    int n;
    int64_t enumerated;
    int64_t rejected[REJECT_COUNT];
    double epsilon;           /* padding waste that was allowed in the end */
} RProgSet;

typedef struct {
    int align;                /* promised alignment of tensors, bytes; 0: 16 */
    int64_t workspace_limit;  /* bytes; < 0: none */
    int max_candidates;       /* 0: 20000; of `contract`, and a quarter more with a tail */
    bool no_matrix;           /* leave matrix units out */
} RPlanOptions;

/* Every aligned program for the problem.  Never empty for a legal problem (the last resort is a
 * minimal tile, or `stream`).  */
Status rprog_candidates(Arena *a, Diag *d, const Problem *p, const Device *dev,
                        const RPlanOptions *o, RProgSet *out);
/* FLOP per clock and SM of the fastest unit that may compute the problem, under load; 0: none.  */
double rprog_rate(const Problem *p, const Device *dev);
/* The same as it is stated of the unit (at a factor above 1, by that), of those that may compute
 * it however its operands lie.  */
double rprog_peak(const Problem *p, const Device *dev, int16_t *which);
/* Names the first broken rule, NULL if it is a legal program for the problem on the device.  */
const char *rprog_check(const Problem *p, const Device *dev, const RProg *r);
/* Fills the derived fields: threads, smem, box_slots, region_slots, blocks_per_sm, registers.  */
void rprog_derive(const Problem *p, const Device *dev, RProg *r);
#endif
