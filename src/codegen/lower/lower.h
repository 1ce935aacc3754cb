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
/* Does the kernel store elements, not values of rows alone?  */
bool lower_stores(const Lowered *l, const Contract *c);
/* Passes along the columns of rows in turns; 0: there are none.  */
int lower_passes(const Problem *p, const RProg *r);
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
/* A kernel of products, in order (Layout.product).  */
typedef struct {
    FormBuilder *b;
    const Lowered *l;
    const Contract *c;
} Make;
/* lower_contract.c: the tree of a product, of its k-steps alone, how many there are;
 * lower_results.c: what becomes of its sums.  */
void lower_count_steps(Form *f, const Contract *c);
void lower_stages(const Make *m);
void lower_steps(FormBuilder *b, Lowered *l);
void lower_results(FormBuilder *b, const Lowered *l, const Contract *c);
/* Rows in turns: all passes along their columns; what makes the sums of a turn.  */
void lower_rows_in_turns(const Make *m, void (*sums)(const Make *m));

/* A use of a thread's own registers; one by what is still under way behind the node.  */
static inline Use *lower_own(Use *u) {
    u->share = SHARE_THREAD;
    return u;
}
static inline void lower_late(Use *u, DataOf data) {
    u->data = data;
    u->late = true;
}

/* lower_turn.c: a sync at a barrier of a ring; blocks of the unit's pair, 0: it has none; the loop
 * over turns of a product.  What follows is about that of FormBuilder.  */
Sync *lower_barrier(FormBuilder *b, SyncOp op, int ring, int id);
int lower_pair(const Contract *c);
Node *lower_open_turns(FormBuilder *b, const Contract *c, const char *var);
/* Chunks of an operand for the turn that is loaded next, to its slot or to registers; of these to
 * its slot.  */
void lower_load(FormBuilder *b, const Side *s, bool first);
void lower_keep(FormBuilder *b, const Side *s);
/* Turns of a ring: their count, the next one of who fills, of who uses.  */
Node *lower_slots(FormBuilder *b, int ring, bool uses);
void lower_put(FormBuilder *b, int ring);
void lower_take(FormBuilder *b, int ring);
/* Begins to copy what a slot of a ring has, boxes of the product's operands that go by it, when
 * the slot is empty.  Of the product's turns, and goes on to the next one; `free`: it is known to
 * be empty.  A ring that is filled once waits for nothing.  */
void lower_fill(FormBuilder *b, int ring);
void lower_fill_turn(FormBuilder *b, bool free);
/* Operands of the turn are there; its products begin; a slot, `lag` turns before, is free (NULL:
 * its ring is filled once).  */
void lower_wait_stage(FormBuilder *b);
Node *lower_multiply(FormBuilder *b);
Node *lower_free(FormBuilder *b, int ring, int lag);
/* A part of what is about Tensor Memory; what waits for the end of the products that are issued,
 * which is told in all blocks of the unit's pair, or of a cluster.  */
Node *lower_tensor(FormBuilder *b, int part);
void lower_commit(FormBuilder *b, int ring, int id, int blocks);
/* What others did there before they arrived comes before what follows; a lane tells of what all
 * lanes of its warp have done; sums come to registers.  */
void lower_wait_tensor(FormBuilder *b, int ring, int id);
void lower_arrive_warps(FormBuilder *b, int ring, int id);
void lower_load_sums(FormBuilder *b, DataOf data);
/* Scales by which sums of steps are multiplied: a node of step `step` (NULL: the first) + ahead;
 * those that wait in registers to the step's slot; from there to the registers of who multiplies.
 */
Node *lower_scales(FormBuilder *b, int what, int ahead, const char *step);
void lower_stage_scales(FormBuilder *b, int ahead, const char *step, DataOf data);
void lower_take_scales(FormBuilder *b, DataOf data);

/* lower_roles.c: warps that fill rings and warps that use them.  What each role does; the last has
 * the rest of the kernel, as `teams`, and is left open.  */
typedef struct {
    void (*copies)(const Make *m);
    void (*products)(const Make *m);      /* of Tensor Memory, ... */
    void (*scales)(const Make *m);        /* ... of blocks */
    void (*results)(const Make *m);
} Roles;
void lower_roles(const Make *m, const Roles *of, int teams);
/* What does not depend on the kernel before goes on until here; once.  */
void lower_wait(const Make *m);
/* The loop over the tiles of a block that stays; over columns in a pass, those of `teams` one after
 * the other.  */
void lower_open_tiles(FormBuilder *b, const Lowered *l);
void lower_open_columns(const Make *m, int pass, int teams);
/* Teams take turns: the wait for that of the one before, the end of the own one.  */
void lower_turn(FormBuilder *b, const Lowered *l, SyncOp op);
/* All warps that compute have arrived.  */
Node *lower_computing_sync(FormBuilder *b, const Contract *c);

/* lower_ring.c: up to the sums of the first product; where blocks go along columns, up to their
 * tiles of rows, and the sums of a turn.  */
void lower_ring(const Make *m);
void lower_ring_tile(const Make *m);
/* lower_chain_roles.c: from these, which are a chain's scores, to its results; all of them;
 * lower_chain_tensor.c: the same, of units whose sums lie in Tensor Memory.  */
enum { SCORES, RESULTS };                 /* the products of a chain */
static inline void lower_about(const Make *m, int product) { m->b->product = product; }
void lower_chain_behind(const Make *m);
void lower_chain_roles(const Make *m);
void lower_chain_tensor(const Make *m);
/* Reductions of the scores' rows stand between the products.  */
static inline bool lower_chain_rows(const Make *m) { return m->l->p->group->chain->rows != NULL; }
/* The loop over tiles of a block that stays, whose rings go on; `uses`: places of threads, too.  */
void lower_chain_tiles(const Make *m, bool uses);
/* What its copying warp does.  Where a mask decides on columns: rows of V of the loop's turn, or
 * (`end`) of the last one, that are none of the block's columns become zeros.  */
bool lower_chain_cuts(const Lowered *l);
void lower_chain_cut(const Make *m, bool end);
void lower_chain_copies(const Make *m);
/* Loops over the outputs of a thread in boxes; what stores a box, and ends the loops; the end of
 * the loop over tiles.  */
Node *lower_open_boxes(FormBuilder *b, const Contract *c);
void lower_close_boxes(FormBuilder *b, const Device *dev);
void lower_close_tiles(FormBuilder *b, const Lowered *l, const Contract *c);
/* Tensor Memory is given back when all threads are done with it, of all blocks of a cluster.  */
void lower_free_tensor(FormBuilder *b, const Contract *c);
void lower_part_blocks(FormBuilder *b, const Contract *c);
#endif
