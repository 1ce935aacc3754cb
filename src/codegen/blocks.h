/* The building blocks: each prints the text of what one kind of node is about.
 *
 * Names in the text of a `contract` kernel: m0 n0 first row and column of the block's tile, row col
 * those of the thread in it, first steps the slice's k-steps, k_next first k of the next load, put
 * take byte offsets of the stage written and read; a_ and b_ begin what belongs to an operand.  */
#ifndef ROLLER_CODEGEN_BLOCKS_H
#define ROLLER_CODEGEN_BLOCKS_H
#include "codegen/printing.h"
#include "codegen/reduce.h"

/* digits.c: what a number says of its digits, outermost first; 0 where there is but one value.  Of
 * blocks and of threads they are those of the map.  */
/* Of which `n` elements is a number one?  */
Ir place_part(const Cg *cg, Ir number, int64_t n, bool wide);
void place_digits(const Cg *cg, Ir number, const TeExtent *count, int n, bool wide, Ir *digit);
void place_grid(const Kernel *k, Ir number, Ir *digit);
void place_thread_digits(const Kernel *k, Ir number, Ir *digit);
/* Defines the root's indices from `at`, the position along an axis of the map, in the flattened
 * domain, or a box's number in the grid (then by boxes).  `wide`: which are long long.  */
void place_axis(const Kernel *k, int axis, Ir at, bool wide_at, Ir *index, bool *wide);
void place_domain(const Kernel *k, Ir at, bool wide_at, Ir *index, bool *wide);
void place_boxes(const Kernel *k, Ir at, bool wide_at, Ir *index, bool *wide);
/* Do positions along an axis need 64 bits, with `slack` beyond its extent?  Their type.  */
bool place_wide(int64_t extent, int64_t slack);
IrBase place_base(bool wide);
/* What positions of a `contract` program need along an axis, also beyond its end in a tile.  */
IrBase place_along_base(const Kernel *k, AxisClass axis);

/* smem.c: declares the kernel's shared memory, `smem`; elements that begin at a byte of it.  */
Ir kernel_smem(Kernel *k, int align);
Ir kernel_room(const Kernel *k, Ir smem, IrBase base, int64_t at);
/* Its address, for instructions that take one: `shared`.  */
void smem_address(Kernel *k);
/* The prelude's function of an operand's mover: its name, with rl_ before it.  */
const char *load_function(const Kernel *k, const Side *s);

/* place.c */
void place_constants(Kernel *k);
void place_thread(Kernel *k);
void place_tile(Kernel *k, Ir number);    /* m0, n0, b of that tile */
void place_next(Kernel *k);               /* the tile that a block has come to */
Ir place_tiles(const Kernel *k);          /* of the grid */
void clear_accumulators(Kernel *k);
void place_k_now(Kernel *k);              /* first k of the step */
/* `at` for a loop over parts in the workspace, by a name of its own.  The compiler must not know
 * that they are the same: it would take the pointers that the loop has moved for places that are
 * written behind it, and one (NVRTC 13.0) then forgets a part of the way.  */
Ir place_taken(Kernel *k, IrBase base, Ir at);

/* address.c: where the chunks of a load come from and go to; i is the number of the chunk.  */
void address_thread(Kernel *k, const Side *s);
void address_step(Kernel *k, const Side *s);              /* once a step, before the chunks */
Ir address_source(Kernel *k, const Side *s);              /* pointer; defines what it needs */
Ir address_live(const Kernel *k, const Side *s);          /* is there a chunk i? NULL: always */
Ir address_test(Kernel *k, const Side *s);                /* is it inside? NULL: always */
int address_group(const Kernel *k, const Side *s);        /* chunks of a turn of a loop, or 0 */
Ir address_mn(const Kernel *k, const Side *s);            /* position in the tile */
Ir address_k(const Kernel *k, const Side *s);
Ir address_own(const Kernel *k, const Side *s);           /* row or column of the whole */
/* Index of element (mn, kk) in an operand's shared tile, in elements.  */
Ir address_tile(const Kernel *k, const Side *s, Ir mn, Ir kk);
/* The same for the thread's chunk i.  */
Ir address_chunk(const Kernel *k, const Side *s);

/* table.c: entries of the load that begins at k_next.  */
void table_next(Kernel *k);

/* load.c: the pipeline around the loads.  A copy node of an operand; those of a compute node behind
 * row `row` of the products, one of `rows`; whether there is a step to load; on to the
 * next one (and the pointers of loads between products, too), to the next stage to put to, and to
 * take from: `stays` if that is the last one.  */
void load_copy(Kernel *k, const Node *n);
void load_row(Kernel *k, const Node *copies, Ir row, int rows);
void load_more(Kernel *k);
void load_next(Kernel *k, bool spread);
void load_put(Kernel *k);
void load_take(Kernel *k, bool stays);
/* load_async.c, load_staged.c */
void load_async(Kernel *k, const Side *s, bool first);
void load_async_row(Kernel *k, const Side *s, Ir row, int rows);
void load_staged_declare(Kernel *k, const Side *s);
void load_staged(Kernel *k, const Side *s);
void load_staged_keep(Kernel *k, const Side *s);
/* load_reads.c: staged chunks of an expression whose reads are made for a whole chunk at once:
 * registers, loads of chunk i, and its elements as an array x: as they are stored, or to be
 * rounded in `pairs` by the store.  */
void load_reads_declare(Kernel *k, const Side *s);
void load_reads(Kernel *k, const Side *s);
Ir load_reads_evaluate(Kernel *k, const Side *s, bool pairs);

/* ring.c: a ring of stages, which some warps fill by boxes; what they copy, as tensor maps; the
 * copies of operand `side` in a step.  */
KernelMap ring_map(Arena *a, const Problem *p, const Access *x, const RBox *box);
void ring_maps(Arena *a, const Contract *c, KernelLaunch *out);
void ring_fetch(Kernel *k, const Node *n);                /* of the maps */
/* Around the k-steps of a role, and at the end of each: the stage at hand, the parity of its round
 * and, where stages are used, the barrier that says the stage before is free.  */
Ir ring_barrier(const Kernel *k, int id);
Ir ring_barrier_at(const Kernel *k, int id, Ir stage);
void ring_begin(Kernel *k, bool uses);
void ring_next(Kernel *k, bool uses);
void ring_copy(Kernel *k, int side);
Ir ring_batch(const Kernel *k, const RBoxDim *d);         /* its coordinate there */
/* ring_pixels.c: the same of columns of pixels.  Where a box begins: its first row and k, and
 * whether it is the first one of the step.  */
typedef struct {
    Ir row, k;
    bool first;
} PixelsAt;
KernelMap pixels_map(Arena *a, const Contract *c, const Side *s);
void pixels_box(const Kernel *k, const Side *s, const PixelsAt *at, IrBox *x);
/* ring_store.c: the loop over a block's tiles, of all or `in_turn`; the map of the outputs; loops
 * over the boxes of a thread's outputs, over those in a box; where an output waits there, as a
 * pointer; and the store of a box.  */
void ring_open_tiles(Kernel *k, bool in_turn);
void ring_close_tiles(Kernel *k, bool in_turn);
void ring_store_map(Arena *a, const Contract *c, KernelMap *map);
void ring_open_boxes(Kernel *k);
void ring_open_box(Kernel *k);
Ir ring_box_place(const Kernel *k, IrBase base);
void ring_put(Kernel *k);
/* lower_ring.c: up to the sums; leaves the role open that has them.  */
void lower_ring(FormBuilder *b, Lowered *l);
/* All warps that compute have arrived.  */
Node *lower_computing_sync(FormBuilder *b, const Lowered *l);
/* Loops over the outputs of a thread in boxes; what stores a box, and ends the loops; the end of
 * the loop over tiles.  */
Node *lower_open_boxes(FormBuilder *b, Lowered *l);
void lower_close_boxes(FormBuilder *b, const Lowered *l);
void lower_close_tiles(FormBuilder *b, const Lowered *l);

/* region.c: an operand that is loaded before the first step.  */
void region_constants(Kernel *k, const Side *s);
void region_load(Kernel *k, const Side *s);
void region_advance(Kernel *k, const Side *s);            /* to the next step's k */
void region_fetch_mma(Kernel *k, const Side *s, const char *kk, const char *buffer);
/* Row i of the thread at the place `from`.  */
const char *region_element(const Kernel *k, const Side *s);

/* fragment.c: shared memory to registers.  */
void fragment_declare(Kernel *k);
/* Fetches an operand's registers `buffer` for k = dynamic + fixed of the warp's part of the stage;
 * `fixed` is known when the text is compiled, `dynamic` may be NULL.  */
void fragment_fetch(Kernel *k, const Side *s, Ir dynamic, Ir fixed, Ir buffer);
void fragment_first(Kernel *k);
/* Does the product take the unit's multiply-add (else the body is evaluated as it stands)?  */
bool fragment_multiplies(const Kernel *k);

/* fragment_place.c: places in fragments.  What the lane adds along a side, times `scale`; what the
 * x-th slot along it adds; the slot that is the row-th and col-th along the sides.  */
Ir fragment_lane_place(const Cg *cg, const Fragment *f, FragDim dim, int scale);
Ir fragment_slot_place(const Cg *cg, const Fragment *f, FragDim dim, Ir x);
Ir fragment_slot_number(const Cg *cg, const Fragment *f, Ir row, Ir col);
/* What slot `x` adds along a side, times `scale`, x being a multiple of `multiple`, the extent of
 * the fastest digits; NULL: nothing.  */
Ir fragment_place_of(const Cg *cg, const Fragment *f, FragDim dim, Ir x, int multiple, int scale);

/* fragment_mma.c: fragments of matrix units, as register arrays a_frag[buffer], b_frag[buffer].  */
void fragment_mma_declare(Kernel *k);
/* Both operands' fragments of the slice at `kk` into `buffer`.  */
void fragment_mma_fetch(Kernel *k, Ir kk, Ir buffer);
/* Of an operand that is fetched as bytes: instruction tile `tile` of `buffer` as the unit takes it,
 * in the registers `to`.  */
void fragment_mma_widen(Kernel *k, const Side *s, Ir tile, Ir buffer, Ir to);

/* compute_simt.c, compute_dp4a.c, compute_mma.c: k from..to of a body.  */
void compute_simt(Kernel *k, const Node *n);
void compute_dp4a(Kernel *k, const Node *n);
void compute_mma(Kernel *k, const Node *n);
/* compute_wgmma.c: the products of a step, and what they begin with and end in.  */
void compute_wgmma(Kernel *k);
void wgmma_tiles(Kernel *k);              /* descriptors of the first stage */
void wgmma_settle(Kernel *k);
void wgmma_stage(Kernel *k);  /* the descriptors of the stage at hand */
/* wgmma_operand.c: before the first product; sums of an instruction; the descriptor of an operand's
 * part at kk; the instruction at kk, whose form is put down in `form`.  */
enum { WGMMA_FORMS = 4 };
void wgmma_begin(Kernel *k);
Ir wgmma_sums(const Kernel *k, Ir i, Ir j);
Ir wgmma_slice(const Kernel *k, const Side *s, Ir kk);
IrUnit wgmma_unit(const Kernel *k, const Side *a, const Side *b, Ir kk,   /* a NULL: made */
                  int form[WGMMA_FORMS]);
/* compute_made.c: a first operand that is made in registers: where a lane begins in its tile; what
 * the expression reads beside, of all steps or of one; what the registers of a step are made of;
 * those of the slice at kk, and its products.  */
void made_tile(Kernel *k, const Side *s);
void made_beside(Kernel *k, bool of_step);
void made_read(Kernel *k);
void made_make(Kernel *k);
void made_products(Kernel *k);
/* Sums of one step join the others.  */
void mma_promote(Kernel *k);
void mma_clear(Kernel *k);
void mma_partial(Kernel *k);  /* sums of one step, which join the others at its end */
/* Behind the k-loop: accumulators as values acc[i][j][...] of Contraction.acc.  */
void mma_finish(Kernel *k);

/* reduce_slices.c, reduce_split.c.  Adds n neighbours at a pointer to what is `acc` at v.  */
void contract_add(Kernel *k, Ir acc, int n, Ir from);
/* Sums of slices of warps: where they lie, those of a later slice, and what the first one makes of
 * all.  */
void reduce_slices_place(Kernel *k);
void reduce_slices_put(Kernel *k);
void reduce_slices(Kernel *k);
/* Partial sums of blocks: those in the workspace from `offset` (NULL: 0) on, by a name.  */
void sums_pointer(Kernel *k, const char *name, Ir offset);
/* Pointers to the thread's; loops over them, and the store of an element.  */
void sums_pointers(Kernel *k);
void sums_open(Kernel *k);
void sums_store(Kernel *k);
/* The kernel that adds them: indices at b, m, n.  */
void sums_elements(Kernel *k, const Ir at[AX_K]);
void reduce_split_sums(Kernel *k);
void reduce_split_elements(Kernel *k);
void reduce_split_gather(Kernel *k);
/* reduce_tail.c: tiles whose k-steps are dealt out.  */
void reduce_tail_segments(Kernel *k);
void reduce_tail_stays(Kernel *k);        /* of a block that has whole tiles before */
void reduce_tail_sums(Kernel *k);
void reduce_tail_elements(Kernel *k);
void reduce_tail_gather(Kernel *k);

/* elements.c: what is done for `vec` neighbouring elements.  */
void elements_order(Kernel *k, int vec);  /* `vec` neighbours along N */
/* The elements of `contract`: what the loops over the thread's vectors need, all of it with these
 * loops, the indices in them.  */
void elements_begin(Kernel *k);
void elements_contract(Kernel *k);
void elements_indices(Kernel *k);
/* Where a thread's outputs begin; loops over their rows and columns: m, n inside the tensor.  */
void elements_place_outputs(Kernel *k);
void elements_open_outputs(Kernel *k);
void elements_end(Kernel *k);
/* The loop over the elements of a vector; the indices at element v.  */
Ir elements_lane(const Kernel *k);        /* v; 0 where there is but one element */
void elements_open_lanes(Kernel *k);
void elements_close_lanes(Kernel *k);
/* The point of statement `stmt` at element v, or at the first one.  */
CgPoint elements_point(const Kernel *k, int stmt, bool first);
/* Gives the read of statement `stmt` this value, in all statements that run with its indices.  */
void elements_give(Kernel *k, int stmt, const TeExpr *read, Ir value);
/* Has statement `stmt` been given a read like this one?  */
bool elements_given(const Kernel *k, int stmt, const TeExpr *read);
/* Widest access to tensor t at neighbouring elements, by statement `stmt`'s subscripts.  */
int elements_width(const Kernel *k, int stmt, const Access *x);
/* The root's index with which left index j of statement `stmt` runs.  */
int elements_root_index(const Kernel *k, int stmt, int j);
/* Defines tensor t's value at the element, of `type`, for later statements.  */
void elements_define(Kernel *k, int t, TeDtype type, Ir value);
/* Does the kernel itself make tensor t?  */
bool elements_makes(const Kernel *k, int tensor);
/* Is tensor t in memory after the kernel?  */
bool elements_in_memory(const Kernel *k, int tensor);
/* Folds the element at hand into a reduction of the group; `where` (NULL: to be computed) is its
 * position, and `next` whether it is behind all others.  */
void elements_fold(Kernel *k, const RowGroup *g, const Partial *x, Ir where, bool next);
/* The statements of the group in `mask` (bits) at the element: maps, whose values go where `out`
 * says and are forgotten behind, and reductions, held as in `all`.  */
void elements_statements(Kernel *k, const RowGroup *g, uint64_t mask, const Partials *all,
                         const Output *out);
/* elements_load.c: vector loads for those reads of e, of statement `stmt`, that allow it.  */
void elements_load_vectors(Kernel *k, int stmt, const TeExpr *e);

/* store_direct.c: statements at one element, and the stores of a vector of them.  */
void store_statement(Kernel *k, int stmt);
void store_direct(Kernel *k);
/* Declares the vector o<tensor> of what is stored; defines the value at the element, of `type`;
 * stores the vector by `put` (NULL: an element) at TO[OFFSET], false: its elements lie apart.  */
void store_declare(Kernel *k, int stmt, const Output *o);
void store_define(Kernel *k, int stmt, TeDtype type, Ir value, const Output *o);
bool store_vector(Kernel *k, int stmt, const Output *o, const char *put, Ir to, Ir offset);

/* store_place.c: positions and places of a thread's outputs.  */
/* Says where the thread is along M or N, and what its loops will add to that.  */
void store_position(Kernel *k, AxisClass axis, Ir own, Ir step);
void store_turns(Kernel *k, const Turns *turns);
Ir store_at(const Kernel *k, AxisClass axis);             /* both, in the loops */
/* Defines it as m or n, and opens a test that it is inside, if some are not.  */
void store_open_inside(Kernel *k, AxisClass axis, bool ragged);
/* Before the loops: pointers to the thread's elements of each tensor that is stored.  */
void store_pointers(Kernel *k);
/* The same for partial sums, in rows of `stride`: (m, n) lies at row `row` + m, column `column` + n
 * (NULL: n).  Elements.sums is the place of an element in the loops.  */
void store_sums(Kernel *k, Ir row, Ir column, Ir stride);
/* Where statement `stmt` writes: a pointer, and the offset in elements.  */
Ir store_place(const Kernel *k, int stmt, const Access *x, Ir *offset);

/* store_smem.c: loops over the outputs of a matrix unit's accumulators.  */
void mma_place_outputs(Kernel *k);
void mma_open_outputs(Kernel *k);         /* as the lanes hold them */
/* Through shared memory, row by row of instruction tiles: opens the loop over these (how many
 * scopes are open), puts one down, and opens the loop over the vectors that the thread reads.  */
int mma_open_rows(Kernel *k, bool sums);
void mma_write_staging(Kernel *k);
void mma_open_vectors(Kernel *k, bool sums);
/* Element v of the vector that is open.  */
Ir mma_element(const Kernel *k, Ir v);

/* stats.c: statements over rows of a contraction's results.  */
void stats_place(Kernel *k);
void stats_rows(Kernel *k);               /* values of row m, by name; prints them */
void stats_walk(Kernel *k, int pass, bool online);
void stats_lanes(Kernel *k, int pass, bool online);
void stats_put(Kernel *k, int pass, bool online);         /* what warps made of their columns */
void stats_finish(Kernel *k, int pass, bool online);
bool stats_followed(const Problem *p, const RProg *r, int pass, bool online);
bool stats_meets(const Kernel *k, int i, int pass, bool online);
bool stats_known(const Kernel *k, int i); /* is statement i's value of a row? */
bool stats_any_online(const Problem *p, const RProg *r, int pass);
/* Is a statement of the group evaluated, is its tensor stored where outputs are (also where there
 * are no rows)?  */
bool stats_emits(const Kernel *k, int stmt);
bool stats_stores(const Kernel *k, int stmt);
bool stats_is_kept(const Kernel *k, int stmt);            /* is it in place of the results? */
/* stats_partial.c: parts of rows.  ROWS of all batches and room for PARTS, where known at run time;
 * a pointer to the parts, or values, of statement i in the workspace; their bytes in all.  */
void stats_count(Kernel *k);
void stats_place_left(Kernel *k, const char *name, int i, bool partial);
TeExtent stats_bytes(Arena *a, const Problem *p, const RProg *r);
/* `row`: its number over all batches; `at`: in the block.  */
void stats_leave(Kernel *k, int pass, bool online, Ir row, Ir at);
void stats_combine(Kernel *k, int pass);

/* column.c, column_fold.c */
void column_place(Kernel *k);
void column_fold(Kernel *k);
void column_groups_place(Kernel *k);
void column_groups_halves(Kernel *k);
Ir column_groups_give(const Kernel *k, bool half);        /* does the thread's group, or take? */
Ir column_groups_take(const Kernel *k);
void column_groups_put(Kernel *k, bool half);
void column_groups_add(Kernel *k, bool half);
void column_partial(Kernel *k);
void column_elements(Kernel *k);
/* A reduction beside the root at element v.  */
Ir column_result(const Kernel *k, int stmt);
void column_sums_elements(Kernel *k);
void column_sums_gather(Kernel *k);

/* scan.c, scan_meet.c */
void scan_place(Kernel *k);
void scan_clear(Kernel *k);
void scan_open_steps(Kernel *k);
void scan_fold(Kernel *k);
void scan_meet(Kernel *k);
void scan_elements(Kernel *k);
void scan_meet_slice(Kernel *k);          /* the threads of a result */
void scan_leave(Kernel *k);
void scan_combine(Kernel *k);             /* what the slices before come to */

/* window.c */
void window_place(Kernel *k);
void window_clear(Kernel *k);
int window_open_outer(Kernel *k);         /* how many loops */
void window_fold(Kernel *k);
void window_tile_fill(Kernel *k);
void window_elements(Kernel *k);

/* permute.c */
void permute_place(Kernel *k);
void permute_fill(Kernel *k, int source);
void permute_elements(Kernel *k);

/* sync.c, nodes.c: a sync, and the kernel's tree.  */
void sync_print(Kernel *k, const Node *n);
void form_emit(Kernel *k);

/* stream.c */
/* The thread's vectors; those of a map that are none, at the end of the domain: `rest`.  */
void stream_elements(Kernel *k, bool rest);
void stream_fold(Kernel *k);
/* flat.c: does an access of a map lie as the domain does?  */
bool stream_is_flat(const Kernel *k, int stmt, const Access *x);
/* The offset of an access whose subscripts are `sub`, by fewer divisions where it can.  */
Ir stream_offset(const Kernel *k, int stmt, const Access *x, const Ir *sub);
/* The same of a read at a point; constants of tested subscripts go to `by` (cg_tested).  */
Ir stream_read(const Kernel *k, int stmt, const Access *x, const CgPoint *at, int64_t *by);
/* Gives a read that is not tested, and is made element by element, its value by such an offset.  */
void stream_give(Kernel *k, int stmt, const Access *x);
#endif
