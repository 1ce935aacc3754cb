/* Inside of code generation: what the emitters share.
 *
 * A Cg is the state of one emission: the statements so far (ir.h) and where things lie in memory.
 * Names in the emitted text: t tensors and scalars, s run-time sizes, w partial results, i indices
 * of a statement, e values of a group's tensors at one element, v shared subexpressions, rl_
 * functions of the prelude.  A name that belongs to a tensor is cg_name's.  */
#ifndef ROLLER_CODEGEN_IR_CG_H
#define ROLLER_CODEGEN_IR_CG_H
#include "codegen/ir/ir.h"
#include "codegen/ir/words.h"
#include "codegen/kernel.h"

typedef struct CgParams CgParams;
struct Cg {
    Arena *arena;
    Diag *diag;
    const RPlan *plan;
    const Te *te;
    const Device *dev;
    int align;                /* bytes, promised for every tensor */
    HalLanguage language;
    bool static_smem;         /* shared memory is declared, not given by the launch (which OpenCL C
                               * takes as it is declared) */
    CgParams *params;         /* of the kernel at hand; NULL: there is none */
    const int64_t *temp_at;   /* per tensor: bytes into the workspace, -1: not there */
    int64_t sums_at;          /* the kernel's partial results in the workspace, bytes */
    IrStmt *open;             /* where the next statement goes */
    IrStmt *wait;             /* for the kernel before; NULL: there is none */
    int names;                /* v0, v1, ... used in this kernel */
    WordSet *defined;         /* names that the printer has made; NULL: nobody asks */
    const char *unseen;       /* a word that is used where its name cannot be seen, or NULL */
};
#endif
