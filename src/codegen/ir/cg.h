/* Inside of code generation: what the emitters share.
 *
 * A Cg is the state of one emission: the statements so far (ir.h) and where things lie in memory.
 * Blocks that are not made of values yet print theirs with cg_line, cg_open and cg_close.  Names in
 * the emitted text: t tensors and scalars, s run-time sizes, w partial results, i indices of a
 * statement, e values of a group's tensors at one element, v shared subexpressions, rl_ prelude
 * functions.  A name that belongs to a tensor is cg_name's.  */
#ifndef ROLLER_CODEGEN_IR_CG_H
#define ROLLER_CODEGEN_IR_CG_H
#include "codegen/ir/ir.h"
#include "codegen/kernel.h"
#include "codegen/ir/words.h"

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
    int depth;                /* levels by which a line that a block prints is indented besides */
    int texts;                /* what blocks print themselves, in all kernels so far */
    int names;                /* v0, v1, ... used in this kernel */
    WordSet *defined;           /* names that the printer has defined; NULL: nobody asks */
};

/* -- text.c -- */
const char *cg_text(const Cg *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cg_line(Cg *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cg_open(Cg *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));   /* adds " {" */
void cg_scope(Cg *c);                      /* a block of its own */
void cg_close(Cg *c);
void cg_blank(Cg *c);
/* The lines of `text` as comments; bytes that no comment may hold become '?'.  */
void cg_comment(Buf *out, const char *text);
#endif
