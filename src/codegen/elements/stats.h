/* Inside of statements over rows of a product's results.  */
#ifndef ROLLER_CODEGEN_ELEMENTS_STATS_H
#define ROLLER_CODEGEN_ELEMENTS_STATS_H
#include "codegen/block/product.h"
#include "codegen/elements/reduction.h"

static inline const StatFacts *facts(const Kernel *k) {
    return rprog_stats_facts(k->task->p, k->task->r);
}
static inline const TeStmt *statement(const Kernel *k, int i) {
    return &k->cg->te->stmt[facts(k)->group->stmt[i]];
}
static inline int tensor_of(const Kernel *k, int i) { return statement(k, i)->tensor; }
static inline bool is_partial(const Kernel *k) { return k->task->r->stats == STATS_PARTIAL; }
/* Does the kernel, or the loop at hand, evaluate one pass?  */
static inline bool is_turned(const Kernel *k) { return k->task->r->stats == STATS_TURNS; }
static inline int own_pass(const Kernel *k) { return is_turned(k) ? k->at.pass : k->l->pass; }
static inline int rows_of(const Kernel *k) { return k->task->r->block.extent[AX_M]; }
static inline IrBase value_base(const Kernel *k, int t) {
    return ir_compute(te_dtype_compute(k->cg->te->tensor[t].dtype));
}
/* The values of rows, or what stands for them, of a tensor.  */
static inline Ir values_of(const Kernel *k, MonoidVariable what, IrSpace space, int t) {
    return monoid_variable(k->cg, what, t, ir_pointer(value_base(k, t), space, false));
}

/* stats_rows.c: the online reduction of this pass that is made with tensor t; -1: none.  The number
 * of the row at hand over all batches.  */
int stats_online(const Kernel *k, int t, int pass);
Ir stats_row(const Kernel *k);
#endif
