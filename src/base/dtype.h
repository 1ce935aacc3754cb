/* Element types, of tensors as of registers and of what units and movers take: their names are
 * those of the language (docs/te.md).  */
#ifndef ROLLER_BASE_DTYPE_H
#define ROLLER_BASE_DTYPE_H
#include <stdbool.h>
#include <stddef.h>

/* Storage and, for the first five of `compute`, arithmetic.  f6 and f4 are the low bits of a byte,
 * as registers and tiles have them; arguments of f4e2m1 are packed in memory, f4e2m1x2: two to a
 * byte, the first in the low half, whose value is that byte.
 *        id      name      bytes  compute  class */
#define TE_DTYPES(X)                       \
    X(F64,    "f64",     8, F64,  REAL)    \
    X(F32,    "f32",     4, F32,  REAL)    \
    X(F16,    "f16",     2, F32,  REAL)    \
    X(BF16,   "bf16",    2, F32,  REAL)    \
    X(F8E4M3, "f8e4m3",  1, F32,  REAL)    \
    X(F8E5M2, "f8e5m2",  1, F32,  REAL)    \
    X(F6E3M2, "f6e3m2",  1, F32,  REAL)    \
    X(F6E2M3, "f6e2m3",  1, F32,  REAL)    \
    X(F4E2M1, "f4e2m1",  1, F32,  REAL)    \
    X(F8UE4M3, "f8ue4m3", 1, F32, REAL)    \
    X(F8UE8M0, "f8ue8m0", 1, F32, REAL)    \
    X(I64,    "i64",     8, I64,  INT)     \
    X(I32,    "i32",     4, I32,  INT)     \
    X(I16,    "i16",     2, I32,  INT)     \
    X(I8,     "i8",      1, I32,  INT)     \
    X(U8,     "u8",      1, I32,  INT)     \
    X(F4E2M1X2, "f4e2m1x2", 1, I32, INT)   \
    X(BOOL,   "bool",    1, BOOL, BOOL)

typedef enum {
#define X(id, name, bytes, compute, cls) TE_##id,
    TE_DTYPES(X)
#undef X
        TE_DTYPE_COUNT
} TeDtype;

typedef enum { TE_CLASS_REAL, TE_CLASS_INT, TE_CLASS_BOOL } TeClass;

const char *te_dtype_name(TeDtype t);
int te_dtype_bytes(TeDtype t);
TeDtype te_dtype_compute(TeDtype t);
TeClass te_dtype_class(TeDtype t);
/* A real type without a sign, for scales of blocks.  */
bool te_dtype_scale(TeDtype t);
/* A real type of a byte or less that is no scale.  */
bool te_dtype_narrow(TeDtype t);
/* Integers without a sign.  */
bool te_dtype_unsigned(TeDtype t);
/* The type whose elements are packed two to one of `t`, or the count: it has none.  */
TeDtype te_dtype_packed(TeDtype t);
/* Numbers in an element: 2 of a packed type, else 1.  */
int te_dtype_values(TeDtype t);
/* Is a value of bytes 0 the number 0?  f8ue8m0 has none: its byte 0 is 2^-127.  */
bool te_dtype_zero(TeDtype t);
/* Accepts names and aliases ("half").  Returns false if it is no type.  */
bool te_dtype_parse(const char *s, size_t len, TeDtype *out);
#endif
