/* Products of an operand's tiles: registers that a unit takes, the units' instructions, where a
 * thread is, and what slices of warps add.  */
#ifndef ROLLER_CODEGEN_MULTIPLY_MULTIPLY_H
#define ROLLER_CODEGEN_MULTIPLY_MULTIPLY_H
#include "codegen/operand/operand.h"
#include "codegen/reduce/reduce.h"

/* place.c */
void place_constants(Kernel *k);
void place_thread(Kernel *k);
Ir place_warp(const Kernel *k, int axis); /* of the warp, or its warpgroup, among the block's */
void place_tile(Kernel *k, Ir number);    /* m0, n0, b of that tile */
void place_team(Kernel *k);               /* the thread's, of a role that has several */
/* The tile that a block has come to; places of its threads in it, too, anew: what the compiler
 * makes of these it would else keep in registers over all turns.  */
void place_next(Kernel *k, bool anew);
void place_turn(Kernel *k, bool anew);    /* n0 of a turn along columns; stages begin anew */
void clear_accumulators(Kernel *k, const Node *n);
void place_k_now(Kernel *k);              /* first k of the step */
/* `at` for a loop over parts in the workspace, by a name of its own.  The compiler must not know
 * that they are the same: it would take the pointers that the loop has moved for places that are
 * written behind it, and one (NVRTC 13.0) then forgets a part of the way.  */
Ir place_taken(Kernel *k, IrBase base, Ir at);

/* fragment.c: shared memory to registers.  */
void fragment_declare(Kernel *k);
/* Fetches an operand's registers `buffer` for k = dynamic + fixed of the warp's part of the stage;
 * `fixed` is known when the text is compiled, `dynamic` may be NULL.  */
void fragment_fetch(Kernel *k, const Side *s, Ir dynamic, Ir fixed, Ir buffer);
void fragment_first(Kernel *k);
/* Does the product take the unit's multiply-add (else the body is evaluated as it stands)?  */
bool fragment_multiplies(const Kernel *k);

/* fragment_mma.c: fragments of matrix units, as register arrays a_frag[buffer], b_frag[buffer].  */
void fragment_mma_declare(Kernel *k);
/* Is the operand in registers for all slices, by their number: made there, or kept?  Fetches those
 * of one that is kept.  */
bool fragment_mma_stays(const Kernel *k, const Side *s);
void fragment_mma_keep(Kernel *k);
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
void compute_wgmma(Kernel *k, const Node *n);
void wgmma_tiles(Kernel *k);              /* descriptors of the first stage */
void wgmma_settle(Kernel *k, bool operand);
void wgmma_stage(Kernel *k, bool stay);   /* descriptors of the stage at hand, or of what stays */
/* wgmma_operand.c: does the operand come from registers, which are those of slice and instruction?
 * Before the first product; sums of an instruction; products of the slice at kk.  Sums that begin
 * with it begin with its first slice.  Products of zeros can make -0 of them where 0 + -0 were +0,
 * which must be the same to what they join or become.  */
bool wgmma_has_registers(const Side *s);
Ir made_registers(const Kernel *k, const Side *s, Ir kk, Ir i);
void wgmma_begin(Kernel *k);
Ir wgmma_sums(const Kernel *k, Ir i, Ir j);
void wgmma_multiply(Kernel *k, Ir kk, bool begins);
/* The address of a room of Tensor Memory, of the team at hand; of that tile of the block's, or the
 * team's.  */
Ir tensor_room(const Kernel *k, RoomKind kind, int of);
Ir tensor_tile(const Kernel *k, Ir row, Ir column);
/* compute_tensor.c: a part of what is about Tensor Memory (TENSOR_TAKE ..).  */
void tensor_make(Kernel *k, int part);
/* The name of what the prelude has for a block and, with an ending, for both of a pair.  */
static inline const char *tensor_function(const Kernel *k, const char *name) {
    return arena_printf(k->cg->arena, "%s%s", name, k->c->matrix.blocks > 1 ? "_pair" : "");
}
/* scales.c: scales of blocks, for a unit that applies them.  Those of the first step (else: of the
 * next one), which are used from `scales_turn` on; what an instruction takes for tiles (i, j) of
 * slice `slice`.  */
void scales_load(Kernel *k, bool first);
/* The first k of the warp's part of a step of the block, of that at hand or a later one.  */
Ir scales_first(const Kernel *k, Ir step);
Ir scales_step(const Kernel *k, int ahead);
void scales_turn(Kernel *k);
void scales_of(const Kernel *k, Ir i, Ir j, Ir slice, Ir out[IR_SCALES]);
Ir scales_ones(const Kernel *k);          /* a register of such that change nothing */
/* sum_scales.c: scales by which the sums of a step are multiplied, those that are not staged; these
 * join the others.  sum_scales_stage.c: what is done with scales that are (SCALES_*).  */
void sum_scales_load(Kernel *k);
Ir sum_scales_place(const Kernel *k, const Side *s, Ir tile, Ir slot);
Ir sum_scales_inside(const Kernel *k, const Side *s, Ir own, Ir kk);
void sum_scales_staged(Kernel *k, const Node *n);
void sum_scales_join(Kernel *k);
/* tensor_scales.c: those of a step to a slot of the ring, by a warp; from the slot at hand to
 * Tensor Memory, by the thread that issues products; what one of these takes.  */
void tensor_scales_stage(Kernel *k, int ring);
void tensor_scales_copy(Kernel *k);
void tensor_scales_of(const Kernel *k, Ir i, Ir j, Ir slice, Ir out[IR_TENSOR_SCALES]);
/* compute_made.c: a first operand that is made in registers; where a lane begins in its tile; what
 * the expression reads beside, of all steps or of one; what the registers of a step are made of;
 * those of the slice at kk, and its products.  */
void made_declare(Kernel *k, const Side *s);
void made_tile(Kernel *k, const Side *s);
void made_beside(Kernel *k, bool of_step);
void made_read(Kernel *k);
void made_make(Kernel *k);
void made_products(Kernel *k);
/* Sums of one step join the others.  */
void mma_promote(Kernel *k);
void mma_clear(Kernel *k, bool begun);    /* begun: the first products begin them */
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
#endif
