/* Lowering: an RProg to kernels, each a tree of nodes (form.h).
 *
 * lower_plan decides which kernels a plan needs and makes their trees.  Nothing here prints
 * code.  */
#ifndef ROLLER_CODEGEN_LOWER_LOWER_H
#define ROLLER_CODEGEN_LOWER_LOWER_H
#include "codegen/elements/elements.h"
#include "codegen/form/lowered.h"

Lowered *lower_plan(Arena *a, const RPlan *plan, const Device *dev, int *n);

/* -- inside of lowering -- */

/* lower_parts.c: is there nothing to compute, so that the kernel that the grid needs does
 * nothing?  */
bool lower_empty(const Problem *p);
/* A statement, or all of a group and their stores, at the elements of the loop that is open.  */
void lower_statement(FormBuilder *b, int stmt);
void lower_statements(FormBuilder *b, const KernelGroup *g);
/* A loop over outputs and their statements.  */
void lower_outputs(FormBuilder *b, const Lowered *l);
/* Which reductions (reduce.h) of a pass over a group.  */
typedef struct {
    const RowGroup *group;
    int pass, which;
} Reductions;
/* Reads or writes their rooms of a kind.  */
void lower_reads(FormBuilder *b, Node *n, RoomKind kind, Reductions of);
void lower_writes(FormBuilder *b, Node *n, RoomKind kind, Reductions of);
/* A node about them.  */
Node *lower_reductions(FormBuilder *b, NodeKind kind, int what, Reductions of);
/* Lanes of a result meet, and if it has several warps these: parts are stored, synced and read.
 * Leaders do before those that follow them, if all threads need results.  */
void lower_meet(FormBuilder *b, Reductions of, bool warps, const char *note);
void lower_meet_warps(FormBuilder *b, Reductions of);
/* A grid of that many blocks along x; a static one has at least one.  */
void lower_blocks(Lowered *l, TeExtent blocks);
/* Blocks of `span` elements over the flattened domain, where the grid is too small larger spans;
 * the grid that the program says.  */
void lower_domain(Arena *a, Lowered *l, int threads, int64_t items);
void lower_grid(FormBuilder *b, Lowered *l, KernelKind kind);
/* lower_product.c: the kernel that adds what slices, or blocks of a tail, have left.  */
void lower_sums(FormBuilder *b, Lowered *l);
/* lower_contract.c: the tree of a product, of its k-steps alone, how many there are;
 * lower_results.c: what becomes of its sums.  */
void lower_count_steps(Form *f, const Contract *c);
void lower_stages(FormBuilder *b, const Lowered *l, const Contract *c);
void lower_steps(FormBuilder *b, Lowered *l);
void lower_results(FormBuilder *b, const Lowered *l, const Contract *c);
/* lower_roles.c: warps that fill rings and warps that use them.  A sync at a barrier of a ring; all
 * barriers, before roles begin; the role that fills, or (it has the rest of the kernel) uses them,
 * as `teams`.  */
Sync *lower_barrier(FormBuilder *b, SyncOp op, int ring, int id);
void lower_barriers(FormBuilder *b, const Lowered *l);
/* Blocks of the unit's pair; 0: it has none.  */
int lower_pair(const Contract *c);
/* Begins to copy what a slot of a ring has: boxes of the product's operands that go by it.  */
void lower_fill(FormBuilder *b, const Contract *c, int ring);
/* The loop over the tiles of a block that stays.  */
void lower_open_tiles(FormBuilder *b, const Lowered *l);
void lower_open_filling(FormBuilder *b, const Lowered *l);
void lower_open_part(FormBuilder *b, const char *name, RingWarps of);     /* of those that fill */
void lower_open_using(FormBuilder *b, const Lowered *l, int teams);
/* Teams take turns: the wait for that of the one before, the end of the own one.  */
void lower_turn(FormBuilder *b, const Lowered *l, SyncOp op);
/* lower_ring.c: up to the sums; leaves the role open that has them.  next: the product that they
 * are an operand of, or NULL.  */
void lower_ring(FormBuilder *b, const Lowered *l, const Contract *c, const Contract *next);
/* lower_chain_roles.c: from the first product's sums, which lower_ring has made, to the
 * second's.  */
void lower_chain_behind(FormBuilder *b, const Lowered *l, const Contract *last);
/* lower_chain_roles.c: likewise, of a chain whose second product is `last`; begins: scores begin
 * with their first products.  */
void lower_chain_roles(FormBuilder *b, const Lowered *l, const Contract *last, bool begins);
/* The loop over tiles of a block that stays, whose rings go on; `uses`: places of threads, too.  */
void lower_chain_tiles(FormBuilder *b, const Lowered *l, const Contract *last, bool uses);
/* What its copying warp does.  Where a mask decides on columns: rows of V of the loop's turn, or
 * (`end`) of the last one, that are none of the block's columns become zeros.  */
bool lower_chain_cuts(const Lowered *l);
void lower_chain_cut(FormBuilder *b, const Lowered *l, const Contract *last, bool end);
void lower_chain_copies(FormBuilder *b, const Lowered *l, const Contract *last);
/* lower_chain_tensor.c: the same, of units whose sums lie in Tensor Memory.  */
void lower_chain_tensor(FormBuilder *b, const Lowered *l, const Contract *last);
/* lower_ring.c: a part of what is about Tensor Memory; what waits for the end of products.  */
Node *lower_tensor(FormBuilder *b, int part);
void lower_commit(FormBuilder *b, const Contract *c, int ring, int id, int blocks);
/* All warps that compute have arrived.  */
Node *lower_computing_sync(FormBuilder *b, const Contract *c);
/* Loops over the outputs of a thread in boxes; what stores a box, and ends the loops; the end of
 * the loop over tiles.  */
Node *lower_open_boxes(FormBuilder *b, const Contract *c);
void lower_close_boxes(FormBuilder *b, const Device *dev);
void lower_close_tiles(FormBuilder *b, const Contract *c);
/* Tensor Memory is given back when all threads are done with it, of all blocks of a cluster.  */
void lower_free_tensor(FormBuilder *b, const Contract *c);
#endif
