/* Inside of emission: nodes become statements by the building blocks.  */
#ifndef ROLLER_CODEGEN_EMIT_EMIT_H
#define ROLLER_CODEGEN_EMIT_EMIT_H
#include "codegen/skeleton/row.h"
#include "codegen/skeleton/skeleton.h"

/* products.c: rows of kernels of products; nodes.c: the row of a kind.  */
extern const KernelRow kernel_contract, kernel_sums, kernel_stats;
const KernelRow *kernel_row_of(KernelKind kind);
/* sync.c, nodes.c: a sync, and the kernel's tree.  */
void sync_make(Kernel *k, const Node *n);
void form_emit(Kernel *k);
/* select.c: the programs of a plan and its other splits, and their workspaces.  */
void cg_lay_out(Arena *a, const RPlan *plan, KernelProgram *out);
#endif
