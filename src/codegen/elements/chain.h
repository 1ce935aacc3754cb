/* Inside of the blocks of a chain: chain_places.c says where a thread has rows and columns,
 * chain_columns.c which columns there are, chain.c folds scores, of which chain_operand.c makes the
 * second product's operand, and chain_values.c makes values of rows behind all turns;
 * chain_slices.c merges those of slices.  */
#ifndef ROLLER_CODEGEN_ELEMENTS_CHAIN_H
#define ROLLER_CODEGEN_ELEMENTS_CHAIN_H
#include "codegen/block/product.h"
#include "codegen/elements/reduction.h"

const Chain *chain_of(const Kernel *k);
const TeStmt *chain_statement(const Kernel *k, int i);    /* statement i of its rows */

/* -- chain_places.c -- */
/* Rows of a thread; f of the product's tile i is row x of them.  Loops over all, over the columns g
 * of tiles j; so many loops to close.  */
int chain_thread_rows(const Kernel *k);
Ir chain_thread_row(const Kernel *k);
enum { ROW_LOOPS = 2, COLUMN_LOOPS = 2 };
void chain_open_rows(Kernel *k);
void chain_open_columns(Kernel *k);
void chain_close(Kernel *k, int loops);
/* The element of an array of the product's results at row f and column g of tile (i, j).  */
Ir chain_result(const Kernel *k, Ir all);
/* Defines where it is along an axis, m or n, and the indices of the root there; `inside`: those
 * behind the end are the last one.  */
void chain_place(Kernel *k, AxisClass axis, bool inside);
/* Opens a test that the position at hand is inside; true: some are not.  Is it the one lane of
 * those that share the row?  */
bool chain_open_inside(Kernel *k, AxisClass axis);
Ir chain_row_leads(const Kernel *k);

/* -- chain.c -- */
/* What a thread holds of the reductions of its rows, at row x.  */
Partials chain_held(const Kernel *k);
/* What is held becomes relative to the tops of the rows.  The leader, as scores are held, and a
 * score as exponents have them.  */
void chain_rescale(Kernel *k, const Partials *p);
Ir chain_top(const Kernel *k, const Partial *leader);
Ir chain_exponent(const Kernel *k, Ir score);

/* -- chain_values.c -- */
/* What the terms of the row at hand are relative to in the end: the leader, or what it is raised
 * to.  */
Ir chain_center(Kernel *k, const Partials *p);
/* Values of the row at hand, of its reductions; one thread, where `only` holds, stores them.  */
void chain_define(Kernel *k, const Partials *p, Ir only);

/* -- chain_columns.c -- */
/* The test that some columns of a turn are none of some row (NULL: never); ends of the row at hand,
 * and the test that the column at hand is outside of them.  */
Ir chain_cut(const Kernel *k);
void chain_row_ends(Kernel *k);
Ir chain_outside(const Kernel *k);
#endif
