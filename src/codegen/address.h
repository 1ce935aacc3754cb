/* Addresses of operands, inside: chunk.c says which chunks a thread loads, address.c where they
 * come from, table.c the same by tables in shared memory.  */
#ifndef ROLLER_CODEGEN_ADDRESS_H
#define ROLLER_CODEGEN_ADDRESS_H
#include "codegen/blocks.h"
#include "codegen/sizes.h"

/* What chunk i has of a quantity `name` that is known for the chunks of one period and grows by
 * `step` (NULL: not) from period to period.  */
const char *chunk_periodic(const Kernel *k, const Side *s, const char *name, const char *step);
/* Defines positions and targets in shared memory of the thread's chunks.  */
void chunk_places(Kernel *k, const Side *s);
/* How many chunks a turn of a loop over all of them takes that is not unrolled, so that what is
 * known for some, among these `known` for their sources, is the same in each turn; 0: there is no
 * such loop.  */
int chunk_group(const Side *s, int known);
/* A loop over n chunks, if there are several.  */
void chunk_open_period(Kernel *k, int n);
void chunk_close_period(Kernel *k, int n);

/* The axis as operand s sees it.  */
const FusedAxis *address_axis(const Kernel *k, const Side *s, AxisClass axis);
bool address_axis_wide(const Kernel *k, AxisClass axis);
const char *address_plus(const Cg *cg, const char *sum, const char *x);
const char *address_plus_number(const Cg *cg, const char *sum, int64_t x);
/* Digits of position `at` as texts; prints definitions PREFIX0, ... where there are several.  */
void address_digits(Kernel *k, const FusedAxis *axis, const char *prefix, const char *at, bool wide,
                    const char **digit);
/* Stands for an access's offset among its subscripts.  */
enum { OFFSET = -1 };
/* What one step of a digit adds to it; NULL: nothing.  */
const char *address_stride(const Kernel *k, const Access *x, int d, const FusedAxis *axis,
                           int digit);
/* A position along an axis: its digits as texts, to be computed in 64 bits or not.  */
typedef struct {
    const FusedAxis *axis;
    const char *const *digit;
    bool wide;
} AxisPlace;
/* Sum of digits times strides of the value, joined to `sum` (may be NULL).  */
const char *address_combine(const Kernel *k, const Access *x, int d, AxisPlace at,
                            const char *sum);
/* A point of an operand that is computed: defines at_own and at_k as these texts.  */
void address_point(const Kernel *k, const Side *s, const char *own, const char *kk);
/* Its indices; defines them.  */
CgPoint address_indices(Kernel *k, const Side *s);
/* The batch's digits, defined by address_batch; NULL if there is no batch.  */
/* Are subscript d and its parts (OFFSET: the offset) long longs?  */
bool address_wide(const Kernel *k, const Side *s, int d);
const char *const *address_batch_digits(const Kernel *k, const Side *s);
/* The operand's pointer, moved to the batch and by `rest` (may be NULL).  */
void address_batch(Kernel *k, const Side *s, const char *rest);
int address_rank(const Kernel *k, const Side *s);

/* Positions by tables.  */
void table_constants(Kernel *k, const Side *s);
void table_rows(Kernel *k, const Side *s);
void table_step(Kernel *k, const Side *s);
const char *table_source(Kernel *k, const Side *s);
const char *table_test(const Kernel *k, const Side *s);
#endif
