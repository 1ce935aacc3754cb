/* Inside of column kernels: what a thread holds of the group's reductions, and how such partial
 * results move and meet.
 *
 * Names in the text: acc, acc1, ... the values of the reductions (best, where of argmax and
 * argmin), part, part1, ... (from) arrays of them in memory; v the column of the thread, row its
 * row group, col its first column in the block, at in the domain.  */
#ifndef ROLLER_CODEGEN_COLUMN_H
#define ROLLER_CODEGEN_COLUMN_H
#include "codegen/blocks.h"

static inline const ColumnView *column_view(const Kernel *k) { return &k->l->p->column; }
static inline int column_groups(const Kernel *k) { return rprog_column_threads(k->l->r, AX_K); }

/* column_part.c.  Reduction number i of the kernel, 0 is the root: its expression, the type of its
 * value, the array that holds it, and the other one that is added (`element`: of a vector).  */
const TeExpr *column_sum(const Kernel *k, int i);
TeDtype column_type(const Kernel *k, int i);
const char *column_held(const Kernel *k, int i);
const char *column_other(const Kernel *k, int i, const char *element);
void column_declare(Kernel *k, int vec);
/* Adds the element at hand, of a step of `deep` rows, to what `lane` holds; positions grow from
 * call to call.  */
void column_fold_element(Kernel *k, int deep, const char *lane);
/* Adds the other partial results to what `lane` holds.  */
void column_fold_partial(Kernel *k, const char *lane, const char *element);
/* The arrays of `results` partial results from `base` on.  */
void column_pointers(Kernel *k, const char *base, int64_t results);
/* Moves `vec` partial results to the arrays at element `at`; adds such ones to what is held.  */
void column_store(Kernel *k, int vec, const char *at);
void column_add(Kernel *k, int vec, const char *at);

/* column_tie.c: reductions that follow another one of the same pass (RowTie).  A step of `deep`
 * rows is read first, e0, e1, ... being what reductions with followers take of it; then these get
 * their terms.  Where means are followed, `seen` counts the rows that make what the thread holds
 * and `more` those behind what it adds to that.  */
bool column_leads(const Kernel *k, int i);                /* has reduction i followers? */
bool column_counts(const Kernel *k);                      /* are there seen and more? */
void column_tie_begin(Kernel *k, int deep);
void column_tie_take(Kernel *k, int i, int deep, const char *lane, const char *value);
void column_tie_step(Kernel *k, int deep);
/* Around additions of other partial results: from `rows` rows, those of reduction `lead` and its
 * followers, and then.  */
void column_tie_more(Kernel *k, const char *rows);
void column_tie_merge(Kernel *k, int lead, const char *lane, const char *element);
void column_tie_met(Kernel *k);
/* The value of reduction i in `lane` behind the last meeting.  */
const char *column_tie_result(const Kernel *k, int i, const char *lane);
#endif
