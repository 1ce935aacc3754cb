/* Expressions of the language as typed values (ir.h): conversions between types, an expression at a
 * point, sizes, what a kernel takes and what it calls it, elements of tensors.  */
#ifndef ROLLER_CODEGEN_EXPR_EXPR_H
#define ROLLER_CODEGEN_EXPR_EXPR_H
#include "codegen/ir/cg.h"

/* -- values.c: conversions -- */
/* An element in memory as a value of its compute type.  */
Ir cg_decode(const Cg *c, TeDtype storage, Ir element);
/* A value of type `from` as an element of `storage`: one rounding.  */
Ir cg_encode(const Cg *c, TeDtype storage, TeDtype from, Ir value);
/* Vectors on their way to memory: narrow reals may wait as f32 and be rounded in `pairs` by the
 * store, all others are elements.  Can it be; type of an element, a value as one, the function that
 * stores a vector of them.  */
bool cg_pairs(TeDtype storage, int width);
IrBase cg_waiting(TeDtype storage, bool pairs);
Ir cg_wait(const Cg *c, TeDtype storage, bool pairs, TeDtype from, Ir value);
const char *cg_store(const Cg *c, TeDtype storage, bool pairs);
/* The function that makes four elements of `to` (two words) of a word with four of `from`, exactly;
 * NULL: there is none.  */
const char *cg_widen(const Cg *c, TeDtype to, TeDtype from);
/* The function that makes a register of a matrix unit's operand, with `n` elements of this type, of
 * as many values; NULL: it is the value.  */
const char *cg_register(const Cg *c, TeDtype type, int n);
/* A value as another compute type (operands that meet, accumulation).  */
Ir cg_convert(const Cg *c, TeDtype to, TeDtype from, Ir value);
/* A cast: the value `storage` can hold, in its compute type.  */
Ir cg_cast(const Cg *c, TeDtype storage, TeDtype from, Ir value);
Ir cg_real(const Cg *c, TeDtype type, double v);
Ir cg_int(const Cg *c, TeDtype type, int64_t v);
bool cg_range_of_storage(TeDtype t, int64_t *lo, int64_t *hi);      /* false: not an integer */

/* -- expr.c: expressions of one statement at one point -- */
typedef struct {
    const TeExpr *expr;       /* this expression and every one access_same to it ... */
    Ir value;                 /* ... is this; a read's, in its tensor's compute type */
} CgGiven;

typedef struct {
    Cg *cg;
    const TeStmt *stmt;
    Ir index[TE_MAX_INDICES];             /* each a name or a number */
    bool wide[TE_MAX_INDICES];            /* it is a long long */
    const Ir *made;           /* per tensor: its value here if the group makes it, or NULL */
    const Ir *inverse;        /* per tensor: its reciprocal, or NULL; NULL: of none */
    bool near;                /* where dividends are tested (TeQuotient), the test holds */
    const Ir *factor;         /* likewise, where a product with it may be the quotient */
    const CgGiven *given;
    int n_given;
} CgPoint;
/* The value of e at a point, as type `to`.  Defines shared subexpressions first, so the value is
 * good in the scope that is open now.  */
Ir cg_expr(const CgPoint *p, const TeExpr *e, TeDtype to);
/* Sizes: an extent as int if it fits, else long long.  */
Ir cg_extent(const Cg *c, const TeExtent *e);

/* -- params.c: what a kernel takes -- */
/* From here on names are those of a kernel of this group.  */
void cg_open_params(Cg *c, const KernelGroup *g);
/* What the kernel calls something of a tensor: "o3" for the stem "o".  Behind the stem is the
 * tensor's number in the kernel: groups that do the same to other tensors have the same text.  */
const char *cg_name(const Cg *c, const char *stem, int tensor);
/* The variable of a tensor (-1: of none) that a room numbers `what`, WORD and the tensor's number:
 * one for each kind of type, in all scopes that define it.  */
Ir cg_variable(const Cg *c, int what, const char *word, int tensor, IrType type);
/* Names of what the kernel takes; it takes what has been named: "t3", "s0", and "w", where the
 * group's partial results lie.  */
Ir cg_tensor(const Cg *c, int tensor);
Ir cg_size(const Cg *c, int size);
Ir cg_partials(const Cg *c);
Ir cg_map(const Cg *c, int number);       /* the address of a tensor map: "map0" */
/* Behind the wait: pointers to what kernels before have written are made anew, so that no read of
 * it is moved before or takes it for constant (ld.global.nc).  */
void cg_behind(Cg *c);
/* What has been named, and the maps: parameters with their names.  */
typedef struct {
    KernelParam *param;
    Ir *name;
    int n;
} CgTaken;
CgTaken cg_params(const Cg *c, int n_map);

/* -- tensors -- */
bool cg_tensor_wide(const Cg *c, int tensor);              /* offsets need 64 bits */
/* Offset in elements from subscripts.  */
Ir cg_offset(const Cg *c, int tensor, const Ir *sub);
/* Reads that are made only where their subscripts are tested.  For sm_100 and newer, CUDA 13.0's
 * compiler widens an offset that such a test shows not to be negative as if it had no sign, and
 * makes addresses of reads beside it from that, also where the test fails.  So what makes an offset
 * negative is no part of it: constants `by` of the subscripts go to the pointer.  */
/* Has dimension d one element?  Then a subscript that is inside is 0, and no offset has it.  */
bool cg_single(const Cg *c, int tensor, int d);
/* Subscript d of a read at a point without the constant that it adds to *by.  */
Ir cg_tested(const CgPoint *p, const TeExpr *read, int d, int64_t *by);
/* What a read of that type gives outside of its tensor: the else value, or 0 if it is NULL.  */
Ir cg_outside(const CgPoint *p, const TeExpr *other, TeDtype type);
Ir cg_offset_apart(const Cg *c, int tensor, const Ir *sub, const int64_t *by);
bool cg_apart_wide(const Cg *c, int tensor, const int64_t *by);    /* it needs 64 bits */
Ir cg_element(const Cg *c, int tensor, Ir offset, const int64_t *by);
Ir cg_pointer(const Cg *c, int tensor, Ir offset, const int64_t *by);
#endif
