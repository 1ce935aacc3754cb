/* Inside of column kernels.
 *
 * Walk: TOTAL columns of K rows, row the thread's row group, col its first column in the block, at
 * in the domain, rows from first to end.  v is the column of the thread that is at hand.  */
#ifndef ROLLER_CODEGEN_SKELETON_COLUMN_H
#define ROLLER_CODEGEN_SKELETON_COLUMN_H
#include "codegen/skeleton/skeleton.h"

static inline const ColumnView *column_view(const Kernel *k) { return &k->task->p->column; }
static inline const RowGroup *column_group(const Kernel *k) { return k->task->p->group->columns; }
static inline int column_groups(const Kernel *k) { return rprog_threads_along(k->task->r, AX_K); }
/* Of the thread's columns the one at hand.  */
static inline Ir column_lane(const Kernel *k) { return elements_lane(k); }
static inline Ir column_any(const Kernel *k) { return k->at.v; }
/* What it holds of them, as arrays.  */
static inline Partials column_partials(const Kernel *k, Ir lane) {
    return monoid_pass(k->cg, column_group(k), 0, MONOID_HELD, lane);
}
/* column_fold.c */
void column_fold(Kernel *k);
#endif
