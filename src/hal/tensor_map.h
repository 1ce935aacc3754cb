/* Tensor maps: what cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col take, for the copies of
 * boxes and of columns of pixels that a TMA unit does.
 *
 * A TensorMap is such a description in numbers; one function knows the rules, for all that plan,
 * encode or read maps.  Enumerations have the values of the driver's.  Nothing here encodes: the
 * driver does, and the simulator for itself.  */
#ifndef ROLLER_HAL_TENSOR_MAP_H
#define ROLLER_HAL_TENSOR_MAP_H
#include "base/dtype.h"
#include <stdint.h>

/* Element types in the order of CUtensorMapDataType: id, bytes, real.  */
#define TM_TYPES(X)                                                                                \
    X(U8, 1, false)  X(U16, 2, false) X(U32, 4, false) X(S32, 4, false) X(U64, 8, false)           \
    X(S64, 8, false) X(F16, 2, true)  X(F32, 4, true)  X(F64, 8, true)  X(BF16, 2, true)           \
    X(F32_FTZ, 4, true) X(TF32, 4, true) X(TF32_FTZ, 4, true)
typedef enum {
#define X(id, bytes, real) TM_##id,
    TM_TYPES(X)
#undef X
        TM_TYPE_COUNT
} TmType;
/* Spans of so many bytes, in which chunks of 16 bytes move, in the last one of 32.  */
typedef enum {
    TM_SWIZZLE_NONE, TM_SWIZZLE_32, TM_SWIZZLE_64, TM_SWIZZLE_128, TM_SWIZZLE_128_ATOM_32
} TmSwizzle;
typedef enum { TM_FILL_ZERO, TM_FILL_NAN } TmFill;

enum { TM_RANK = 5, TM_BYTES = 128, TM_ALIGN = 64 };
/* Dimension 0 is the innermost one; stride[i] is that of dimension i + 1, in bytes.  */
typedef struct {
    bool im2col;
    TmType type;
    int rank;
    uint64_t address;
    uint64_t dim[TM_RANK], stride[TM_RANK - 1];
    uint32_t box[TM_RANK];                /* tiled */
    uint32_t element_stride[TM_RANK];
    int interleave;                       /* 0 none, 1 16 B, 2 32 B */
    int swizzle;                          /* a TmSwizzle */
    int promotion;                        /* of L2: 0 none, 1 64 B, 2 128 B, 3 256 B */
    int fill;                             /* out of bounds: a TmFill */
    int lower[3], upper[3];               /* im2col: corners of W, H, D (rank - 2 of them) */
    uint32_t channels, pixels;            /* im2col: per pixel, per column */
} TensorMap;

/* The rule that the map breaks, in words; NULL: the driver takes it.  What is not known yet may
 * stand for all that it can be: the promised alignment for the address, a number that divides a
 * stride for the stride.  */
const char *tensor_map_wrong(const TensorMap *m);
int tensor_map_element(const TensorMap *m);               /* bytes */
int tensor_map_span(TmSwizzle swizzle);                   /* bytes; 16 without one */
int tensor_map_atom(TmSwizzle swizzle);                   /* bytes that move together */
/* The type that moves elements as they are, bit for bit; those of 8 bits as TM_U8.  With `tf32` f32
 * is rounded to it on the way.  */
TmType tensor_map_type(TeDtype storage, bool tf32);
#endif
