/* Choosing the function that executes an instruction, by families.  */
#ifndef ROLLER_SIM_LANE_PICK_H
#define ROLLER_SIM_LANE_PICK_H
#include "sim/state/exec.h"

/* What a pick function sees.  It sets i->flops, bytes, count, space, flags, arg, extra as its
 * family likes, takes every modifier and type that it understands, and returns the function to
 * execute, or sim_pick_fail(..).  A modifier or type that nobody took is an error that names it:
 * nothing is skipped.  */
typedef struct {
    Arena *arena;
    SimInst *i;
    const PtxInst *p;
    const PtxFunc *func;      /* that has the instruction */
    int sm;                   /* of .target: 90 */
    bool old_strides;         /* before PTX ISA 8.5: strides of tensor maps in units of 16 bytes */
    PtxMods left;             /* modifiers not taken so far */
    int next_type;            /* types taken so far */
    const char *why;          /* set by sim_pick_fail */
} SimPick;
typedef SimExec *SimPickFn(SimPick *k);

bool sim_take(SimPick *k, PtxMod m);                  /* true if written; counts as taken */
PtxType sim_take_type(SimPick *k);                    /* the next type, PTX_NONE at the end */
/* Takes any cache, eviction and prefetch-size hints (they do not change what is computed).  */
void sim_take_hints(SimPick *k);
/* Takes order and scope (.weak .relaxed .acquire .release .acq_rel .sc .volatile, .cta to .sys). */
typedef struct {
    PtxMod order, scope;      /* MOD_COUNT where not written */
} SimOrder;
SimOrder sim_take_order(SimPick *k);
/* Takes a space; SPACE_GENERIC if none is written.  */
PtxSpace sim_take_space(SimPick *k);
/* True if the operand is a constant, or a register of the class of `bits`: 1 (predicate), up to 32,
 * 64, 128.  Otherwise the instruction is refused.  A pick function checks every operand whose size
 * its types fix, so that no executing function runs over a slot.  */
bool sim_want_bits(SimPick *k, int operand, int bits);
/* Why the instruction cannot be executed ("needs .rn", ...); returns NULL.  */
SimExec *sim_pick_fail(SimPick *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The families of PTX_OPS.  */
SimPickFn sim_pick_video, sim_pick_stack, sim_pick_wmma;
SimPickFn sim_pick_control, sim_pick_move, sim_pick_compare, sim_pick_arith, sim_pick_integer,
    sim_pick_real, sim_pick_cvt, sim_pick_memory, sim_pick_hint, sim_pick_address, sim_pick_atom,
    sim_pick_fence, sim_pick_warp, sim_pick_barrier;
SimPickFn sim_pick_cpasync, sim_pick_mbarrier, sim_pick_bulk, sim_pick_tensor, sim_pick_tensormap,
    sim_pick_proxy, sim_pick_cluster, sim_pick_cancel, sim_pick_launch, sim_pick_matrix,
    sim_pick_mma, sim_pick_wgmma, sim_pick_tmem, sim_pick_tensor_product, sim_pick_tensor_copy,
    sim_pick_tensor_commit;
#endif
