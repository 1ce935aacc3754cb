/* What is done for a thread's elements of results: statements evaluated at neighbours, reads of
 * neighbours as vectors, stores, partial sums, statements over rows of a product's results.  */
#ifndef ROLLER_CODEGEN_ELEMENTS_ELEMENTS_H
#define ROLLER_CODEGEN_ELEMENTS_ELEMENTS_H
#include "codegen/multiply/multiply.h"

/* Partial sums of blocks: those in the workspace from `offset` (NULL: 0) on, by a name.  */
void sums_pointer(Kernel *k, Ir name, Ir offset);
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
/* `vec` neighbours along indices of the root, innermost last.  */
void elements_order(Kernel *k, const uint8_t *index, int n, int vec);
void elements_columns(Kernel *k, int vec);               /* ... along N */
/* The position of the first one along an axis of the map, from which its indices follow; those of
 * others do where a vector may cross the innermost index more than once.  */
void elements_along(Kernel *k, int axis, Ir at, bool wide);
bool elements_decoded(const Kernel *k);
/* outputs.c: the elements of `contract`: what the loops over the thread's vectors need, all of it
 * with the loops over rows, and the others (elements_open_row), the indices in them.  */
void elements_begin(Kernel *k);
void elements_contract(Kernel *k);
void elements_indices(Kernel *k);         /* (elements.c) */
/* Where a thread's outputs begin; loops over their rows and columns: m, n inside the tensor.  */
void elements_place_outputs(Kernel *k);
void elements_open_outputs(Kernel *k);
void elements_open_rows(Kernel *k);       /* (those over rows, and over the columns of one) */
void elements_open_columns(Kernel *k);
void elements_open_row(Kernel *k);        /* Elements.in_row: whatever loops over its columns */
void elements_end(Kernel *k);
/* elements.c: the loop over the elements of a vector; the indices at element v.  */
Ir elements_lane(const Kernel *k);        /* v; 0 where there is but one element */
void elements_open_lanes(Kernel *k);
void elements_close_lanes(Kernel *k);
/* The point of statement `stmt` at element v, or at the first one.  */
CgPoint elements_point(const Kernel *k, int stmt, bool first);
/* Gives the read of statement `stmt` this value, in all statements that run with its indices.  */
void elements_give(Kernel *k, int stmt, const TeExpr *read, Ir value);
/* Has statement `stmt` been given a read like this one?  */
bool elements_given(const Kernel *k, int stmt, const TeExpr *read);
/* flat.c: widest access to tensor t at neighbouring elements, by statement `stmt`'s subscripts.  */
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
void elements_fold(Kernel *k, const RowGroup *g, const Partial *x, Ir where, FoldSide side);
/* outputs.c: the statements of the group in `mask` (bits) at the element: maps, whose values go
 * where `out` says and are forgotten behind, and reductions, held as in `all`.  */
/* Values of maps are forgotten by elements_forget.  */
void elements_forget(Kernel *k, const RowGroup *g);
void elements_statements(Kernel *k, const RowGroup *g, uint64_t mask, const Partials *all,
                         const Output *out);
/* elements_load.c: vector loads for those reads of e, of statement `stmt`, that allow it.  */
void elements_load_vectors(Kernel *k, int stmt, const TeExpr *e);

/* divide.c: quotients by values of rows, in those statements of a group that have a bit in `mask`.
 * Are there some, does it depend on what is divided whether reciprocals make them?  */
bool divide_any(const Kernel *k, const RowGroup *g, uint64_t mask);
bool divide_tests(const Kernel *k, const RowGroup *g, uint64_t mask);
void divide_test(Kernel *k, const RowGroup *g, uint64_t mask, Ir near);   /* at an element */
/* Defines the reciprocals, by tensor, and gives the test of the row that they may be used (NULL:
 * there are none).  */
Ir divide_invert(Kernel *k, const RowGroup *g, uint64_t mask, Ir *inverse);
/* Makes the elements where that holds with the reciprocals, and else without.  */
typedef void DivideMake(Kernel *k, const void *of);
void divide_either(Kernel *k, Ir test, const Ir *inverse, DivideMake *make, const void *of);

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
/* Defines it as m or n, and opens a test that it is inside, if some are not.  */
void store_open_inside(Kernel *k, AxisClass axis, bool ragged);
/* Before the loops: pointers to the thread's elements of each tensor that is stored.  */
void store_pointers(Kernel *k);
/* Where statement `stmt` writes: a pointer, and the offset in elements.  */
Ir store_place(const Kernel *k, int stmt, const Access *x, Ir *offset);

/* store_smem.c: loops over the outputs of a matrix unit's accumulators.  */
void mma_place_outputs(Kernel *k);
void mma_open_rows_of(Kernel *k);         /* as the lanes hold them */
void mma_open_columns_of(Kernel *k);
/* Through shared memory, row by row of instruction tiles: opens the loop over these (how many
 * scopes are open), puts one down, and opens the loop over the vectors that the thread reads.  */
int mma_open_rows(Kernel *k, bool sums);
void mma_write_staging(Kernel *k);
void mma_open_vectors(Kernel *k, bool sums);
void mma_open_vector(Kernel *k);          /* (columns of one, where no sums are stored) */
/* Element v of the vector that is open.  */
Ir mma_element(const Kernel *k, Ir v);

/* stats.c: statements over rows of a contraction's results.  */
void stats_place(Kernel *k);
void stats_rows(Kernel *k);               /* values of row m, by name; defines them */
void stats_walk(Kernel *k, int pass, bool online);
void stats_finish(Kernel *k, const Node *n);
/* Rows in turns: what a thread holds of them, before a pass; a turn's columns join it.  */
void stats_clear(Kernel *k, const Node *n);
void stats_turn(Kernel *k, int pass);
/* Before any row meets: zeros behind arrays of parts and values.  */
void stats_clear_rests(Kernel *k);
bool stats_followed(const Problem *p, const RProg *r, int pass, bool online);
bool stats_known(const Kernel *k, int i); /* is statement i's value of a row? */
bool stats_any_online(const Problem *p, const RProg *r, int pass);
/* Is a statement of the group evaluated, is its tensor stored where outputs are (also where there
 * are no rows)?  */
bool stats_emits(const Kernel *k, int stmt);
bool stats_stores(const Kernel *k, int stmt);
bool stats_is_kept(const Kernel *k, int stmt);            /* is it in place of the results? */
/* chain*.c: rows of scores of a chain.  What a thread holds of each row, and (where terms are the
 * operand of a later turn's products) terms; the scores of a turn, folded, and the results so far
 * moved to their bases, if these are not; the second product's operand of the terms; values of the
 * rows behind all turns; those of the row at hand of the second product's results, by name; columns
 * of a block, where a mask decides.  */
void chain_clear(Kernel *k);
void chain_fold(Kernel *k, const Node *n);
void chain_declare(Kernel *k);
void chain_move(Kernel *k);
void chain_operand(Kernel *k);
void chain_finish(Kernel *k);
void chain_rows(Kernel *k);
void chain_columns(Kernel *k);
/* chain_cut.c: are some columns of the turn, or (to: 1) of the last one, none of the block's?
 * Zeros in their rows of V.  */
Ir chain_turn_cut(const Kernel *k, const Node *n);
void chain_clear_cut(Kernel *k, const Node *n);
void chain_leave(Kernel *k);              /* what a slice holds of its rows */
void chain_gather(Kernel *k);             /* what slices of it have left, merged */
/* stats_partial.c: parts of rows.  ROWS of all batches and room for PARTS, where known at run time;
 * a pointer to the parts, or values, of statement i in the workspace; their bytes in all.  */
void stats_count(Kernel *k);
void stats_place_left(Kernel *k, MonoidVariable what, int i, bool partial);
TeExtent stats_bytes(Arena *a, const Problem *p, const RProg *r);
/* `row`: its number over all batches; `at`: in the block.  */
void stats_leave(Kernel *k, int pass, bool online, Ir row, Ir at);
void stats_combine(Kernel *k, int pass);

/* ring_store.c: the loop over a block's tiles, of all or of a team; a kernel's tensor maps; loops
 * over the boxes of a thread's outputs, over those in a box; where an output waits there, as a
 * pointer; and the store of a box.  */
void ring_open_tiles(Kernel *k, const Node *n);
void ring_close_tiles(Kernel *k, const Node *n);
void ring_open_columns(Kernel *k, const Node *n);         /* of a tile of rows, in turns */
void ring_close_columns(Kernel *k);
void ring_maps(Arena *a, const Lowered *l, KernelLaunch *out);
void ring_open_boxes(Kernel *k);
void ring_open_box(Kernel *k);
void ring_open_row(Kernel *k);
Ir ring_box_place(const Kernel *k, IrBase base);
void ring_put(Kernel *k);

/* flat.c: the offset of an access whose subscripts are `sub`, by fewer divisions where it can.  */
Ir stream_offset(const Kernel *k, int stmt, const Access *x, const Ir *sub);
/* The same of a read at a point; constants of tested subscripts go to `by` (cg_tested).  */
Ir stream_read(const Kernel *k, int stmt, const Access *x, const CgPoint *at, int64_t *by);
/* Gives a read that is not tested, and is made element by element, its value by such an offset.  */
void stream_give(Kernel *k, int stmt, const Access *x);
#endif
