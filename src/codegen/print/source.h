/* The text of a program: a head of comments, the prelude, kernels.  */
#ifndef ROLLER_CODEGEN_PRINT_SOURCE_H
#define ROLLER_CODEGEN_PRINT_SOURCE_H
#include "codegen/ir/cg.h"

/* A kernel but for its name.  */
typedef struct {
    Buf before, behind;
} KernelText;

typedef struct {
    int threads, cluster;     /* of a block; blocks of a cluster, 1: there is none */
    int resident;             /* blocks of an SM that the compiler is told of; 0: it is not */
    const KernelParam *param;
    const Ir *name;           /* of each of n parameters */
    int n;
    const IrStmt *body;       /* its first statement, or NULL */
} KernelParts;

KernelText source_kernel(const Cg *c, const KernelParts *k);
bool source_same(const KernelText *x, const KernelText *y);
void source_add(Buf *out, const KernelText *x, const char *symbol);
/* Plan and launches, for a reader.  blocks: of each kernel along x.  */
void source_head(const Cg *c, const char *plan_text, const KernelProgram *p, const Ir *blocks,
                 Buf *out);
/* To the head, what stands behind it.  */
void source_join(Buf *head, const Buf *prelude, const Buf *kernels);
#endif
