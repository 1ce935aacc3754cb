/* What follows from a program: which types and accesses its unit takes, where things lie in shared
 * memory and in the workspace, how many wavefronts, loads and blocks there are.
 *
 * The mapping of rprog.h and skeletons.h, as numbers: construction, the model, code generation and
 * the tests ask here, so that they cannot disagree.  */
#ifndef ROLLER_RPROGRAM_DERIVED_H
#define ROLLER_RPROGRAM_DERIVED_H
#include "hal/tensor_map.h"
#include "rprogram/rprog.h"

/* Bytes of an element of operand 0 (a) or 1 (b) in shared memory: the unit's operand type for units
 * that take narrow types (dp4a), else the problem's.  */
int rprog_elem(const Problem *p, const Device *dev, const RProg *r, int side);
/* Can operand `side` be copied unchanged into the program's shared tile?  */
bool rprog_copyable(const Problem *p, const Device *dev, const RProg *r, int side);
/* The type of an operand's elements in memory, also of a read that is gathered.  */
TeDtype rprog_storage(const Problem *p, const Operand *o);
/* What a kind of load says (RPROG_LOADS).  */
typedef struct {
    bool registers, chunks;
    const char *movers;
} LoadFacts;
static inline LoadFacts rprog_load_facts(LoadKind kind) {
    static const LoadFacts facts[LOAD_COUNT] = {
#define X(id, text, ...) {__VA_ARGS__},
        RPROG_LOADS(X)
#undef X
    };
    return facts[kind];
}
static inline bool rprog_through_registers(const RLoad *l) {
    return rprog_load_facts(l->kind).registers;
}
/* A region that boxes or a team bring, from which lanes load the unit's first operand; any operand
 * that the unit takes from registers, of what lies in shared memory.  */
static inline bool rprog_region_boxes(const RLoad *l) {
    return l->region && (l->team > 0 || !rprog_load_facts(l->kind).chunks);
}
static inline bool rprog_by_lanes(const RLoad *l) { return l->raw || rprog_region_boxes(l); }
/* Do boxes bring rows in another order, in which the results are, too?  */
static inline bool rprog_reorders(const RProg *r) { return r->load[0].modulo || r->load[1].modulo; }
/* Do elements wait in registers for their stage?  Regions have none.  */
static inline bool rprog_waits(const RLoad *l) { return rprog_through_registers(l) && !l->region; }
/* Do the threads copy chunks as they are?  */
static inline bool rprog_copies_chunks(const RLoad *l) {
    return rprog_load_facts(l->kind).chunks && !rprog_through_registers(l);
}
/* Does the unit multiply so many bytes of a register at once (PTX ISA, dp4a)?  */
enum { RPROG_PACKED = 4 };
static inline bool rprog_packed(const Device *dev, const RProg *r) {
    const ComputeUnit *u = &dev->unit[r->unit];
    return u->scope == SCOPE_THREAD && u->k.from == RPROG_PACKED;
}
/* Is the unit one that multiplies matrices, of a warp (mma) or of four (wgmma)?  The rest as in the
 * contract above.  */
static inline bool rprog_matrix(const Device *dev, const RProg *r) {
    const ComputeUnit *u = &dev->unit[r->unit];
    return u->scope != SCOPE_THREAD && u->b != HAL_NO_DTYPE;
}
/* Warps that share a warp tile; threads that fill rings alone; all others of a block compute.  */
enum { RPROG_TEAM = 4 };
/* Do the unit's results lie in Tensor Memory?  The columns of a tile of the block, and of scales of
 * an operand's blocks (TENSOR_SCALE_COLUMNS for as many rows as it has lanes); tiles that have room
 * there, two of blocks that stay if they fit, so that one is multiplied while the other is stored;
 * the columns that the block takes, a power of two from 32 to 512 (PTX ISA, tcgen05.alloc).  */
static inline bool rprog_tensor(const Device *dev, const RProg *r) {
    return dev->unit[r->unit].tmem;
}
enum { RPROG_TENSOR_LEAST = 32, RPROG_TENSOR_MOST = 512 };
enum { TENSOR_LANES = 128, TENSOR_SCALE_COLUMNS = 4 };
enum { TENSOR_CELL = 4 };     /* bytes of a lane in a column */
int rprog_tensor_tile(const RProg *r);
int rprog_tensor_scales(const Device *dev, const RProg *r, int side);
/* Words of four scales that a row has in a step; without scales 1.  */
int rprog_scale_words(const Device *dev, const RProg *r);
int rprog_tensor_slots(const Device *dev, const RProg *r);
int rprog_tensor_columns(const Device *dev, const RProg *r);
/* Columns of an instruction: of a warpgroup, or, where one thread issues for all of them, of all
 * that stand side by side, if the unit takes so many and no scales beside them.  */
int rprog_issued_columns(const Device *dev, const RProg *r);
/* Blocks that the unit's instructions are about: 1, or a pair.  */
static inline int rprog_unit_blocks(const Device *dev, const RProg *r) {
    return dev->unit[r->unit].blocks > 1 ? dev->unit[r->unit].blocks : 1;
}
static inline int rprog_team(const Device *dev, const RProg *r) {
    return dev->unit[r->unit].scope == SCOPE_WARPGROUP ? RPROG_TEAM : 1;
}
static inline int rprog_filling(const Device *dev, const RProg *r) {
    return dev->unit[r->unit].b_smem ? WARP * RPROG_TEAM : 0;
}
static inline int rprog_computing(const Device *dev, const RProg *r) {
    return r->threads - rprog_filling(dev, r);
}
/* Blocks of a cluster, 1: there is none; the operand that they share; can they, in this order of
 * tiles?  SMs that are busy where clusters are as many as fit.  */
static inline int rprog_cluster(const RProg *r) { return r->cluster > 1 ? r->cluster : 1; }
int rprog_cluster_side(const RProg *r);
/* Tiles of a product along an axis come in multiples of so many, for the blocks of a cluster: at
 * some run-time sizes the last ones are empty.  */
int rprog_together(const RProg *r, int axis);
bool rprog_cluster_fits(const Problem *p, const Device *dev, const RProg *r);
/* Takes an order of tiles in which they can; false: there is none.  */
bool rprog_cluster_order(const Problem *p, const Device *dev, RProg *r);
double rprog_cluster_sms(const Device *dev, const RProg *r);
/* Do blocks stay for several tiles?  Tiles of a block that are computed side by side; blocks that
 * there is work for at once; those of them that a launch has along x by the device's profile.  */
static inline bool rprog_persistent(const RProg *r) { return r->grid != GRID_TILES; }
static inline int rprog_in_turn(const RProg *r) { return r->grid == GRID_PINGPONG ? 2 : 1; }
int64_t rprog_wanted(const Problem *p, const RProg *r);
int64_t rprog_launched(const Problem *p, const Device *dev, const RProg *r);
/* Of `blocks` that stay, the one that has tile `tile`, and the tile that it has next.  Snakelike,
 * the last block of a round of tiles is the first one of the next (rprog_chain_parted).  */
int64_t rprog_block_with(int64_t tile, int64_t blocks, bool snake);
int64_t rprog_tile_behind(int64_t tile, int64_t blocks, bool snake);
/* The most of those that stay.  */
int64_t rprog_slots(const Device *dev, const RProg *r);
/* Registers per thread of the warps that copy and of those that compute, where the launch gives all
 * the same and that is too few to compute; false: it is enough.  */
bool rprog_ring_registers(const Problem *p, const Device *dev, const RProg *r, int *copying,
                          int *computing);
/* An operand as TMA sees it, dimension 0 first: the digit of an axis (merged as in RAddress) that
 * each one is, its extent and stride in elements at the sizes at hand.  The digit is the product of
 * `n` of the axis's indices from `first` on.  False: it cannot be copied by boxes.  */
enum { RBOX_RANK = 5 };
typedef struct {
    AxisClass axis;
    int first, n;             /* n 0: the axis has one point */
    int64_t extent, stride;
} RBoxDim;
/* A dimension of pixels of a column (im2col): rows of the tile begin at `from` and are `by` apart,
 * k moves them by `apart`.  */
typedef struct {
    int dim;                  /* of the tensor */
    int own, k;               /* indices of the root; -1: none */
    int64_t by, apart, from;
} RPixelDim;
typedef struct {
    int rank, inner, own, k;  /* own, k: dimensions of these axes; inner: AX_K or the own axis */
    RBoxDim dim[RBOX_RANK];
    /* pixels > 0: no tile but a column of pixels, the fastest dimension first; that of channels and
     * that of images (-1: there is but one), which the outermost index of the rows moves.  */
    int pixels, channel, image;
    RPixelDim pixel[RBOX_RANK - 2];
    int span;                 /* bytes of a copy along the inner dimension, at most 128 */
    int64_t channels;         /* pixels > 0: the channel's extent, with those of all batches */
} RBox;
/* The upper corner of the pixels that rows of the operand begin at, less the extent.  */
TeExtent rprog_pixel_upper(Arena *a, const Problem *p, const Access *of, const RPixelDim *x);
bool rprog_box(const Problem *p, int side, RBox *out);
/* Of an operand that is no box since its rows, which lie along k, begin anywhere: every how manieth
 * of them begins a multiple of 16 bytes further on, so that these are one.  0: none.  */
int rprog_box_modulo(const Problem *p, int side, RBox *out);
/* Of a layout in boxes: bytes of a row, and the swizzle by which they are copied.  */
static inline int rprog_box_span(const RLayout *l) { return RTILE_ACCESS << (l->bits + l->base); }
static inline TmSwizzle rprog_box_swizzle(const RLayout *l) {
    return l->base ? TM_SWIZZLE_128_ATOM_32 : (TmSwizzle)(TM_SWIZZLE_NONE + l->bits);
}
/* An operand of a load with `raw`, in k-steps of `step`: the read whose elements lie in the stages,
 * and the others, which are the same at all k of a step.  False: it is none.  */
typedef struct {
    const TeExpr *read, *other[RTILE_CHUNK_READS];
    int n;
    Access access;            /* of `read`, in its own elements along k */
    TeDtype storage;
    RBox box;
    int pack;                 /* k that share an element: nibbles of a byte */
} RRaw;
bool rprog_raw(const Problem *p, int side, int step, RRaw *out);
/* What a warp has of an instruction's operand; wavefronts by which it reads a register of
 * that.  */
Fragment rprog_raw_fragment(const Device *dev, const RProg *r);
int rprog_raw_wavefronts(const Device *dev, const RProg *r, int side, int pack);
/* As numbers or expressions of the sizes; those of the digits of its axis within it.  */
TeExtent rprog_box_extent(Arena *a, const Problem *p, const RBoxDim *d);
TeExtent rprog_box_below(Arena *a, const Problem *p, const RBoxDim *d);
/* The extent in memory: less than that of the axis where a guard stands for the rest.  */
TeExtent rprog_box_bound(Arena *a, const Problem *p, const Access *x, const RBoxDim *d);
/* The root's index that moves by one with it.  */
int rprog_box_index(const Problem *p, const RBoxDim *d);
/* The outputs of a product as TMA stores them, and where they are: of the only statement that is
 * stored, over the root's indices.  False: they are no boxes.  */
bool rprog_out_box(const Problem *p, RBox *out, Access *x);
/* Of `rows` that a box has of them, how many along dimension i.  */
int rprog_box_part(const RBox *box, int i, int rows);
/* VIA_BOXES: the mover, -1: none; bytes of a box's row (0: no such box), boxes side by side in a
 * row of instructions.  */
int rprog_box_mover(const Device *dev);
int rprog_box_row(const Problem *p, const RProg *r);
int rprog_box_count(const Problem *p, const RProg *r);
int64_t rprog_box_wavefronts(const Problem *p, const Device *dev, const RProg *r,
                             int64_t *loads);     /* of a warp's row of instructions */
/* Why no matrix unit of the device takes the sums of products, and what would let one, as a clause;
 * NULL: one does, the device has none, or there is nothing to multiply.  */
const char *rprog_refusal(Arena *a, const Problem *p, const Device *dev);
/* ... of sums whose terms multiply what no product of two operands does; NULL: they do not.  */
const char *rprog_no_product(const Problem *p);
/* Why no program computes the chain, as a clause; NULL: some does.  */
const char *rprog_chain_refusal(Arena *a, const Problem *p, const Device *dev);
/* Why no unit of warpgroups that would multiply the operands can be given them, as a clause; NULL:
 * one can, or there is none.  */
const char *rprog_ring_refusal(Arena *a, const Problem *p, const Device *dev);
/* Why no unit applies the scales of the operands' blocks, as a clause; NULL: one does, or there are
 * none.  */
const char *rprog_scales_refusal(Arena *a, const Problem *p, const Device *dev);
static inline int rprog_unit_side(const RProg *r, int side) { return r->swapped ? !side : side; }
/* Does each block of a pair have a part of the operand's tile alone, since the unit reads the rest
 * where the other one has it?  */
static inline bool rprog_apart(const Device *dev, const RProg *r, int side) {
    return rprog_unit_blocks(dev, r) > 1 && rprog_unit_side(r, side) == 1;
}
/* Type of an operand's elements in the shared tile, any unit.  */
TeDtype rprog_tile_type(const Problem *p, const Device *dev, const RProg *r, int side);
/* The scalar unit that computes type `t`, or the nearest: i64 and bool run on that of i32, and any
 * type on whatever multiplies at all; -1: none does.  */
int16_t rprog_scalar_unit(const Device *dev, TeDtype t);
int rprog_products(const Problem *p, const Device *dev, const RProg *r);       /* 1 or 3 */
bool rprog_promotes(const Problem *p, const Device *dev, const RProg *r);
bool rprog_ldmatrix(const Problem *p, const Device *dev, const RProg *r, int side);
/* Loads with `bytes`: may elements of type `from` become such of `to` in the fragments?  Does a
 * lane read four neighbouring k of operand `side` at once, because the other one has bytes?  */
bool rprog_widens(TeDtype from, TeDtype to);
bool rprog_reads_fours(const RProg *r, int side);
/* How a warp's lanes have operand `side`, rows along its own axis and columns along k, and the
 * results, rows along M and columns along N: of a unit that multiplies matrices what it deals of an
 * instruction, else all of the warp.  */
Fragment rprog_fragment(const Device *dev, const RProg *r, int side);
Fragment rprog_results(const Device *dev, const RProg *r);
/* Which row (column) of the block is at each place of an operand's tile; no digits: they are in
 * order.  */
FragOrder rprog_row_order(const Device *dev, const RProg *r, int side);
/* Registers of an instruction's operand (of 32 bits, f64: 64) and of its accumulators per lane.  */
int rprog_unit_registers(const Device *dev, const RProg *r, int side);
int rprog_unit_accumulators(const Device *dev, const RProg *r);
/* VIA_SHARED: a warp's buffer.  */
typedef struct {
    int row;                  /* elements from row to row, ... */
    int pair;                 /* ... and so many more from every second one to the next */
    int half;                 /* where vectors of a row are two accesses, elements from their first
                               * halves, which lie together, to their second ones; 0: in order */
} RStaging;
RStaging rprog_staging(const Problem *p, const Device *dev, const RProg *r);
static inline int rprog_staging_at(RStaging s, int row) { return row * s.row + row / 2 * s.pair; }
/* Columns that a lane writes to its buffer at once.  */
int rprog_staging_run(const Problem *p, const Fragment *results);
/* Rows of a buffer, those of an instruction tile that a warp has, and columns: of warpgroups a warp
 * has a part of the rows, swapped one of the columns.  */
int rprog_staging_rows(const Device *dev, const RProg *r);
int rprog_staging_columns(const Device *dev, const RProg *r);
/* Staging buffers that a warp writes in turn: 2 where other warps read them.  */
static inline int rprog_staging_buffers(const RProg *r) {
    bool shared = r->warp.extent[AX_K] < r->block.extent[AX_K];
    return shared && r->warp.extent[AX_M] > r->thread.extent[AX_M] ? 2 : 1;
}
/* Wavefronts of writing one full buffer: lanes write pairs of columns, swapped tiles element by
 * element.  *loads: of reading it back, in parts of at most 16 bytes.  */
int64_t rprog_staging_wavefronts(const Problem *p, const Device *dev, const RProg *r,
                               int64_t *loads);
/* Bytes of one stage of an operand's tile with padding, a multiple of 16; 0 if it is absent.  */
int32_t rprog_tile_bytes(const Problem *p, const Device *dev, const RProg *r, int side);

/* The region of an operand that is loaded as one; false: it is not, or no such region can be laid
 * out.  Entries of its table, elements of its zeros.  */
bool rprog_region(const Problem *p, const RProg *r, int side, RRegion *out);
bool rprog_region_of_tile(const Problem *p, const RProg *r, int side, RRegion *out);
/* Of warpgroups: bytes of the region in a slot, and slots; the channels that a k-step has, all of
 * one pixel; and how copies of columns of pixels bring it (RBox.pixels): rows of the traversal
 * from image to image.  False: they do not.  */
enum { RREGION_SHIFT = 3 };               /* address bits 7 to 9 move bits 4 to 6, ... */
int rprog_region_swizzle(const RRegion *x);       /* ... of these */
int64_t rprog_region_slot(const Problem *p, const RProg *r, int side);
int rprog_region_step(const Problem *p, int side);
bool rprog_region_pixels(const Problem *p, int side, const RRegion *x, RBox *out, int64_t *rows);
bool rprog_region_box(const Problem *p, int side, const RRegion *x, int most, RBox *out);
#define REGION_SHARED 2.0     /* elements of tiles for one that is copied: worth a region */
/* Elements of tiles for one of the operand: more than 1 where rows share what they read.  */
double rprog_region_shared(const Problem *p, int side);
int32_t rprog_region_entries(const Problem *p, const RProg *r);
int32_t rprog_region_zeros(const Problem *p, const RProg *r, const RRegion *x);
/* Instructions beside reads that a warp needs for its fragments of a step: adding places, joining
 * narrow elements.  */
int64_t rprog_region_extra(const Problem *p, const Device *dev, const RProg *r, int side);
/* Wavefronts of all of a warp's reads of it in a k-step, the mean of all steps and tiles, given
 * those of a matrix unit's reads of one block of eight rows over all of K; of matrices, of those of
 * all rows of a block at one chunk of k.  */
double rprog_region_block(const Problem *p, const Device *dev, const RProg *r, int side);
double rprog_region_traffic(const Problem *p, const Device *dev, const RProg *r, int side,
                            double block);
/* Wavefronts of storing the region and its table.  */
int64_t rprog_region_stores(const Problem *p, const Device *dev, const RProg *r, int side);

/* Scales of blocks of an operand, which a warp holds for a step: register (g, w) of a lane has
 * FRAG_SCALES neighbours along k, from block FRAG_SCALES * w of the step on, of row 32 g + the one
 * that fragment_of_scales says: of the warp's tile or, where they go on to Tensor Memory by
 * ROOM_SCALES, of the block's.  Each lane reads them from global memory while the step before is
 * computed, `width` neighbours of `rows` groups at once: part of a register, or several registers,
 * of rows of scales along k, of tiles of 128 x 4 of other groups.  False: it has none, and 1 stands
 * for them where `block` is not 0.  */
typedef struct {
    const TeExpr *read;
    int block;                /* k that share a scale; 0: the unit knows none */
    int groups, words, width, rows;
} RScales;
bool rprog_scales(const Problem *p, const Device *dev, const RProg *r, int side, RScales *out);

/* Scales of blocks of an operand that the unit does not apply (matrix_scales_sums): the products of
 * elements in a k-step are summed by themselves (rprog_promotes), and multiplied by the step's
 * scales as they join the others.  Where each row has its own they are staged: whoever fills reads
 * those of the block's rows from global memory, and puts them, as f32, into the step's slot
 * (ROOM_SCALES), a row after the other.  A ring has a warp for that.  A lane has what it needs of a
 * step in registers.  False: it has none.  */
typedef struct {
    const TeExpr *read;
    int share;                /* neighbours of the warp's tile along the operand's own axis that
                               * share one, which all lanes read; 0: each slot has its own */
    int n;                    /* that a lane has */
    bool staged;
    int loaders, each;        /* lanes that read them, rows of each, ... */
    int width, every;         /* ... of so many blocks at once, in steps that begin at such k */
} RSumScales;
bool rprog_sum_scales(const Problem *p, const Device *dev, const RProg *r, int side,
                      RSumScales *out);

/* Shared-memory traffic of the mapping above, exact: reads of a fragment by one warp in one k-step,
 * wavefronts of each (of ldmatrix: of each of its matrices, as many as there are passes), and of
 * storing one whole stage of an operand's tile.  A chunk whose direction is not the tile's inner
 * axis is stored element by element, others in accesses of at most 16 bytes.  */
int rprog_fragment_reads(const Problem *p, const Device *dev, const RProg *r, int side);
int64_t rprog_fragment_passes(const Problem *p, const Device *dev, const RProg *r, int side);
/* Are the operand's fragments fetched one k ahead?  They can be where a read gives one k and the
 * unrolled body has an even number of them; of matrix units, where a step has an even number of
 * slices.  Behind the last step of a tile nothing is fetched; by matrix units its first slice
 * again, for nobody, so that the loop over steps needs no branch.  */
bool rprog_fetched_ahead(const Device *dev, const RProg *r, int side);
/* Does the last of many steps of a matrix unit store what waits in registers like any other, to a
 * stage that nobody reads any more, so that the loop over steps needs no branch for it?  */
bool rprog_stores_always(const Problem *p, const Device *dev, const RProg *r);
/* How the accesses (chunks) that load an operand's tile are dealt out: chunk i of a thread lies at
 * the position of chunk i % period and i / period steps beyond it.  Each of a period has its own
 * position, place and table entry, kept from step to step.  */
typedef struct {
    int64_t line, all;        /* chunks side by side along their direction; of the tile */
    int64_t thread, period;   /* of a thread; how many until places come again */
    int64_t step_mn, step_k;  /* what a period adds along the operand's own axis, along k */
} RChunks;
/* Steps whose loads are under way while one is computed.  */
int rprog_steps_ahead(const Problem *p, const RProg *r);

/* How the position along k of a load's chunks becomes an address.  */
typedef enum {
    K_PLAIN,                  /* one digit: a pointer that advances */
    K_UNIFORM,                /* outer digits are the same in the whole tile: decoded once */
    K_DECODED                 /* decoded for each chunk */
} KMode;
/* The addresses of a load of elements as they lie in memory.  */
typedef struct {
    FusedAxis own_axis, k_axis;           /* with the digits that this operand tells apart */
    bool wide;                /* its offsets need 64 bits */
    bool pointer;             /* all chunks lie at constant distances from one pointer */
    KMode k_mode;
    int guard_bit[TE_MAX_RANK], bits;     /* in tables: of guarded subscripts, the first; of all */
} RAddress;
/* Do 32 bits not hold subscript d of an access of the root (d < 0: its offset), or some of its
 * terms alone, wherever a kernel computes it: at all positions of tiles, also of those that lie
 * beyond the end of an axis and are never accessed?  */
bool rprog_wide(const Problem *p, const RProg *r, const Access *x, int d);
/* What one step of a digit adds to an affine value.  */
int64_t rprog_stride(const Affine *f, const FusedAxis *axis, int digit);
/* Tables of positions (RLoad.table): entries of each of the two for the k of a step, and of that
 * for the rows, one for a chunk; no rows: these are kept in registers.  */
enum { RTABLE_ENTRY = 8 };    /* bytes */
enum { RTABLE_BITS = 30 };    /* guard values in an entry, beside two bits for the ends */
typedef struct {
    int k_entries, row_entries;
} RTable;
/* Is it a load that tables are made for?  */
bool rprog_may_table(const Problem *p, const RProg *r, int side);
int rprog_fragment_wavefronts(const Problem *p, const Device *dev, const RProg *r, int side);
int64_t rprog_store_wavefronts(const Problem *p, const Device *dev, const RProg *r, int side);

/* Statements over rows: kernels; what a program goes by.  */
int rprog_stats_kernels(const Problem *p, const RProg *r);
/* Does kernel `number` of them make values of rows, by their number over all batches, instead of
 * products?  */
bool rprog_stats_combines(const Problem *p, const RProg *r, int number);
const StatFacts *rprog_stats_facts(const Problem *p, const RProg *r);
/* Tiles of columns that a block computes for each of its tiles of rows, in all passes; else 1.  */
int64_t rprog_stats_turns(const Problem *p, const RProg *r);
/* Rows of a tile of the grid: of a block, or of both of its teams where each goes along the columns
 * of its own; tiles of so many.  */
int32_t rprog_grid_rows(const RProg *r);
int64_t rprog_row_tiles(const Problem *p, const RProg *r);
/* In the workspace parts of a statement lie as [column tile][row], values as [row], room for a
 * multiple of STATS_ROOM of each.  Before those of statement i of the group are as many bytes for
 * each part, and for each value.  */
enum { STATS_ROOM = 4 };
void rprog_stats_at(const Problem *p, const RProg *r, int i, bool value, int64_t *partials,
                    int64_t *values);
/* Lanes that hold columns of a row, as bits of the lane's number; rows of a thread.  */
int rprog_stats_lanes(const Device *dev, const RProg *r);
int rprog_stats_rows(const Device *dev, const RProg *r);
int rprog_stats_columns(const Device *dev, const RProg *r);           /* of a tile, of one row */
/* Of one row, how many a thread stores behind each other; are these enough to divide them by a
 * value of the row by its reciprocal?  */
int rprog_stats_run(const Problem *p, const Device *dev, const RProg *r);
bool rprog_stats_inverts(const Problem *p, const Device *dev, const RProg *r);

/* Are results made of partial ones in the workspace by a kernel in which `lanes` threads share one?
 * Its blocks' threads; how many threads that may be, and what plan texts meant that do not say.  */
bool rprog_meets(const RProg *r);
enum { RPROG_MEETING = 128, MEETING_LANES = 6 };
int rprog_meeting_lanes(const Problem *p, const RProg *r, uint8_t lanes[MEETING_LANES]);
uint8_t rprog_unsaid_lanes(const Problem *p, const RProg *r);
/* Elements that a thread of such a kernel, or of the one that adds slices of K, has at once.  */
int rprog_meeting_vec(const Problem *p, const RProg *r);

/* The order of a grid's tiles: tile rows that are walked together, and setting so many; the
 * choices that there are (powers of two, of which the last may be all rows).  */
enum { RASTERS = 15 };
int64_t rprog_raster_rows(const Problem *p, const RProg *r);
void rprog_set_raster(const Problem *p, int64_t rows, RProg *r);
void rprog_only_rows(RProg *r);           /* that of tiles that have all columns */
/* Of a chain: groups of batches, in each of which the batches are walked first.  */
void rprog_set_batches(int64_t batches, RProg *r);
int rprog_rasters(const Problem *p, const Device *dev, const RProg *r, int64_t rows[RASTERS]);

/* Parts that a thread reads at once: of one result, of a vector of them.  */
enum { RPROG_PARTIALS = 4, RPROG_PARTIAL_VECTORS = 8 };
/* Partial results of a group's reductions, where they wait in shared memory or in the workspace: n
 * of each as an array of values, and for argmax and argmin one of positions behind it, each from a
 * multiple of 16 bytes on.  Where those of statement i begin (i = g->n: the bytes of all); bytes of
 * a reduction's array of values, of that of positions (0: it has none); of one result with its
 * position; how many arrays there are.  */
int64_t rprog_partials(const Te *te, const RowGroup *g, int i, int64_t n);
int64_t rprog_partial_values(const TeExpr *e, int64_t n);
int64_t rprog_partial_beside(const TeExpr *e, int64_t n);
int rprog_partial_bytes(const TeExpr *e);
int rprog_partial_arrays(const Te *te, const RowGroup *g);

/* Grid and workspace of a program.  */
int64_t rprog_tiles(const Problem *p, const RProg *r, int axis);      /* ceil(extent / block) */
int64_t rprog_outer_tiles(const Problem *p, const RProg *r);          /* of a product's outputs */
int64_t rprog_blocks(const Problem *p, const RProg *r);               /* grid x, without split */
/* Of the body, for each output.  */
int64_t rprog_evaluations(const Problem *p, const RProg *r);
/* Do they differ at most in what is chosen behind a block and its k-steps: stages, slices, a tail,
 * the order of tiles, the way to store?  */
bool rprog_same_block(const RProg *a, const RProg *b);
bool rprog_same(const RProg *a, const RProg *b);      /* in all */
/* Blocks of an SM that are there at once: as many as fit, unless the grid (of the largest sizes)
 * has fewer for each.  Registers need leave room for no more.  */
int rprog_resident(const Problem *p, const Device *dev, const RProg *r);
int64_t rprog_workspace(const Problem *p, const RProg *r);            /* of partial sums, bytes */
/* Are they several arrays, which lie as at the sizes that are planned for also at smaller ones?  */
bool rprog_workspace_fixed(const Problem *p, const RProg *r);
/* tail > 0: k-steps of a block of the tail; the blocks that share its tile t, first and last.  */
int64_t rprog_tail_steps(const Problem *p, const RProg *r);
/* Partial tiles that they make; bytes of the sums of one.  */
int64_t rprog_tail_partials(const Problem *p, const RProg *r);
int64_t rprog_tail_slot(const Problem *p, const RProg *r);
/* Blocks of the adding kernel for one tile, each of `span` elements of it.  */
int64_t rprog_tail_adders(const RProg *r, int64_t span);
void rprog_tail_blocks(const Problem *p, const RProg *r, int64_t t, int64_t *first, int64_t *last);
#endif
