/* Addresses of operands, inside: chunk.c says which chunks a thread loads, address.c where they
 * come from, table.c the same by tables in shared memory.  */
#ifndef ROLLER_CODEGEN_OPERAND_ADDRESS_H
#define ROLLER_CODEGEN_OPERAND_ADDRESS_H
#include "codegen/operand/operand.h"
#include "codegen/expr/sizes.h"

/* What chunk i has of a quantity that is known for the chunks of one period, as a value or an
 * array, and grows by `step` (NULL: not) from period to period.  */
Ir chunk_periodic(const Kernel *k, const Side *s, Ir known, Ir step);
/* Defines positions and targets in shared memory of the thread's chunks.  */
void chunk_places(Kernel *k, const Side *s);
/* Where chunk `number` of the tile lies.  */
void chunk_split(const Kernel *k, const Side *s, Ir number, Ir *mn, Ir *kk);
/* How many chunks a turn of a loop over all of them takes that is not unrolled, so that what is
 * known for some, among these `known` for their sources, is the same in each turn; 0: there is no
 * such loop.  */
int chunk_group(const Side *s, int known);
/* A quantity of an operand that n chunks have: an array, or NULL for a constant; puts the value of
 * chunk i there, or defines the constant, and gives what now is known.  */
Ir chunk_declare(Kernel *k, const Side *s, IrBase base, const char *name, int n);
Ir chunk_put(Kernel *k, const Side *s, IrBase base, Ir all, const char *name, Ir value);
/* A loop over n chunks, if there are several.  */
void chunk_open_period(Kernel *k, int n);
void chunk_close_period(Kernel *k, int n);

/* The axis as operand s sees it.  */
const FusedAxis *address_axis(const Kernel *k, const Side *s, AxisClass axis);
bool address_axis_wide(const Kernel *k, AxisClass axis);
/* sum (or NULL) + x.  */
Ir address_plus_number(const Cg *cg, Ir sum, int64_t x);
/* Digits of position `at`; defines PREFIX0, ... where there are several.  */
void address_digits(Kernel *k, const FusedAxis *axis, const char *prefix, Ir at, bool wide,
                    Ir *digit);
/* Stands for an access's offset among its subscripts.  */
enum { OFFSET = -1 };
/* What one step of a digit adds to it; NULL: nothing.  */
Ir address_stride(const Kernel *k, const Access *x, int d, const FusedAxis *axis, int digit);
/* A position along an axis: its digits, to be computed in 64 bits or not.  */
typedef struct {
    const FusedAxis *axis;
    const Ir *digit;
    bool wide;
} AxisPlace;
/* Sum of digits times strides of the value, joined to `sum` (may be NULL).  */
Ir address_combine(const Kernel *k, const Access *x, int d, AxisPlace at, Ir sum);
/* A point of an operand that is computed: defines its places along the operand's own axis and
 * k.  */
Ir address_point_own(Kernel *k, const Side *s, Ir at);
Ir address_point_k(Kernel *k, Ir at);
/* Its indices, from these; defines them.  */
CgPoint address_indices(Kernel *k, const Side *s, Ir own, Ir kk);
/* Are subscript d and its parts (OFFSET: the offset) long longs?  */
bool address_wide(const Kernel *k, const Side *s, int d);
/* OperandAt.batch and .src: the operand's pointer, moved to the batch and by `rest` (may be NULL).
 */
void address_batch(Kernel *k, const Side *s, Ir rest);
int address_rank(const Kernel *k, const Side *s);

/* load_reads.c: `n` neighbours of a type as they travel in registers: those below four bytes in
 * whole words, so that they take no register each.  The type of all, their load, element v.  */
bool travel_in_words(TeDtype storage, int n);
IrType travel_type(TeDtype storage, int n);
Ir travel_load(const Cg *cg, TeDtype storage, int n, Ir from);
Ir travel_element(const Cg *cg, TeDtype storage, int n, Ir registers, Ir v);
/* Where a read is at a point, and the test that it is inside there (NULL: it always is).  */
Ir travel_place(const CgPoint *at, const TeExpr *read, Ir *inside);

/* region_chunks.c: all chunks of the tile at hand, to the region of all steps, or (not NULL) to a
 * slot at this address.  above: rows of the image before the tile's first, where tiles may go on in
 * the next image.  */
void region_chunks(Kernel *k, const Side *s, Ir above, Ir slot);

/* Positions by tables.  */
void table_constants(Kernel *k, const Side *s);
void table_rows(Kernel *k, const Side *s);
void table_step(Kernel *k, const Side *s);
Ir table_source(Kernel *k, const Side *s);
Ir table_test(const Kernel *k, const Side *s);
#endif
