/* Inside of column kernels: what a thread holds of the group's reductions, and how such partial
 * results move and meet.
 *
 * Names in the text: v the column of the thread, row its row group, col its first column in the
 * block, at in the domain; more the rows behind what is added.  */
#ifndef ROLLER_CODEGEN_COLUMN_H
#define ROLLER_CODEGEN_COLUMN_H
#include "codegen/blocks.h"

static inline const ColumnView *column_view(const Kernel *k) { return &k->l->p->column; }
static inline const RowGroup *column_group(const Kernel *k) { return k->l->p->group->columns; }
static inline int column_groups(const Kernel *k) { return rprog_column_threads(k->l->r, AX_K); }

/* column_part.c: what the thread holds of the kernel's reductions, as arrays over its columns.  */
Partials column_partials(const Kernel *k, const char *lane);
/* Adds the element at hand, of a step of `deep` rows, to what `lane` holds; positions grow from
 * call to call.  */
void column_fold_element(Kernel *k, int deep, const char *lane);
/* column_tie.c: reductions that follow another one of the same pass (RowTie).  A step of `deep`
 * rows is read first, e, e1, ... being what reductions with followers take of it; then these get
 * their terms.  */
void column_tie_begin(Kernel *k, int deep);
void column_tie_take(Kernel *k, const Partial *lead, int deep, const char *lane,
                     const char *value);
void column_tie_step(Kernel *k, int deep);
#endif
