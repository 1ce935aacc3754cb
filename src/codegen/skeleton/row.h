/* The building blocks of kernels over rows.
 *
 * Walk: M results (rows) of N elements (columns); at the thread's row (m), read the one it is read
 * as (row), lane its number among the row's threads; steps first to end; step the one at hand,
 * piece the first column of the vector at hand (col).  Where rows have ends, their vectors are the
 * `body` columns from column head on, which is the first that is aligned, skip elements before the
 * row another would be.   */
#ifndef ROLLER_CODEGEN_SKELETON_ROW_H
#define ROLLER_CODEGEN_SKELETON_ROW_H
#include "codegen/elements/reduction.h"
#include "codegen/skeleton/skeleton.h"

/* Of a kernel over rows, by the number of a source or a kept value: of a row, and of its ends.  */
typedef struct RowAt {
    Ir source[ROW_MAX_SOURCES], held[ROW_MAX_SOURCES];        /* a source's row in memory, and */
                                                              /* in shared memory */
    Ir loaded[2][ROW_MAX_SOURCES], wide[2][ROW_MAX_SOURCES];  /* vectors; kept as f32 */
    Ir value[2][ROW_MAX_STMTS];
} RowAt;

/* row.c: rows of the block and what is kept of them.  */
void row_constants(Kernel *k);
void row_place(Kernel *k, const Node *n);
void row_hold(Kernel *k, const Node *n);
bool row_ragged(const Kernel *k);         /* some block has fewer rows than its threads */
bool row_ends_within(const Kernel *k);    /* a row ends within a step, at some size */
TeExtent row_columns(const Kernel *k);
bool row_loops(const Kernel *k);          /* over steps */
bool row_wide(const Kernel *k);           /* columns need 64 bits */
IrBase row_base(const Kernel *k);         /* the type that counts them */
/* What column `col` of the row is multiplied to in a source.  */
Ir row_stepped(const Kernel *k, const RowSource *s, Ir col);
bool row_ends(const Kernel *k);           /* vectors begin at the first aligned column */
/* The write of statement i of the group over the frame's indices.  */
void row_write(const Kernel *k, int i, Access *x);
/* row_load.c: sources in a step; does pass `pass` read one, is it fetched before what uses it?  */
bool row_is_read(const RowSource *s, int pass);
bool row_is_fetched(const Kernel *k, const RowSource *s, int pass);
bool row_in_registers(const Kernel *k, const RowSource *s);
bool row_in_shared(const Kernel *k, const RowSource *s);
bool row_is_array(const Kernel *k, const RowSource *s);   /* of all the thread's vectors */
int row_vectors(const Kernel *k);         /* of a thread in a step */
int row_width(const Kernel *k, const RowSource *s);       /* elements of an access, ... */
int row_accesses(const Kernel *k, const RowSource *s);    /* ... so many of them a vector */
/* The vector with element v of a source, in the registers that have it; an element of it.  */
Ir row_vector(const Kernel *k, int n);
Ir row_vector_lane(const Kernel *k, const RowSource *s, Ir vector);
/* The word of the array of value n (RowFacts.value), or of that of the ends.  */
const char *row_value(const Kernel *k, int n);
void row_declare(Kernel *k, int n);       /* registers of source n, */
void row_load(Kernel *k, int n);          /* loads into them for vector u, and element v of it */
Ir row_element(const Kernel *k, int n);
void row_widen(Kernel *k, int n, int pass);              /* what it is kept as, at its first pass */
/* row_reduce.c: values per row.  */
Partials row_partials(const Kernel *k, int pass);
bool row_makes(const Kernel *k, int tensor, int pass);
Ir row_leads(const Kernel *k);            /* the thread that leaves what its row comes to */
/* What rows are known by behind pass `pass` (-1: before all).  */
void row_known(Kernel *k, int pass, bool stores);
ThreadMap row_map(const Kernel *k, const Node *n);
void row_finish(Kernel *k, const Node *n);
#endif
