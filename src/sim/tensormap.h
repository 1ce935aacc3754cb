/* Tensor maps: the 128-byte object a TMA instruction reads, in the simulator's own encoding.
 *
 * The simulated driver encodes (cuTensorMapEncode*), the simulator decodes; a map that was not made
 * by this encoder does not decode.  Pure: no memory is touched.  */
#ifndef ROLLER_SIM_TENSORMAP_H
#define ROLLER_SIM_TENSORMAP_H
#include <stdbool.h>
#include <stdint.h>

/* Element types in the order of CUtensorMapDataType: id, bytes, real.  */
#define SIM_TM_TYPES(X)                                                                            \
    X(U8, 1, false)  X(U16, 2, false) X(U32, 4, false) X(S32, 4, false) X(U64, 8, false)           \
    X(S64, 8, false) X(F16, 2, true)  X(F32, 4, true)  X(F64, 8, true)  X(BF16, 2, true)           \
    X(F32_FTZ, 4, true) X(TF32, 4, true) X(TF32_FTZ, 4, true)
typedef enum {
#define X(id, bytes, real) SIM_TM_##id,
    SIM_TM_TYPES(X)
#undef X
        SIM_TM_TYPE_COUNT
} SimTmType;

enum { SIM_TM_RANK = 5, SIM_TM_BYTES = 128 };
/* Dimension 0 is the innermost one; stride[i] is that of dimension i + 1.  Enumerations have the
 * values of the driver's.  */
typedef struct {
    bool im2col;
    SimTmType type;
    int rank;
    uint64_t address;
    uint64_t dim[SIM_TM_RANK], stride[SIM_TM_RANK - 1];
    uint32_t box[SIM_TM_RANK];            /* tiled */
    uint32_t element_stride[SIM_TM_RANK];
    int interleave;                       /* 0 none, 1 16 B, 2 32 B */
    int swizzle;                          /* 0 none, 1 32 B, 2 64 B, 3 128 B */
    int l2_promotion;                     /* 0 none, 1 64 B, 2 128 B, 3 256 B */
    int fill;                             /* out of bounds: 0 zero, 1 NaN */
    int lower[3], upper[3];               /* im2col: corners of W, H, D (rank - 2 of them) */
    uint32_t channels, pixels;            /* im2col: per pixel, per column */
} SimTensorMap;

/* Why the driver refuses the map, or NULL and *out is filled.  */
const char *sim_tensormap_encode(const SimTensorMap *map, uint8_t out[SIM_TM_BYTES]);
/* The same in two steps, for maps that kernels change field by field: what is wrong with the map,
 * or NULL; and the encoding of a map that may be wrong.  */
const char *sim_tensormap_check(const SimTensorMap *map);
void sim_tensormap_pack(const SimTensorMap *map, uint8_t out[SIM_TM_BYTES]);
bool sim_tensormap_decode(const uint8_t in[SIM_TM_BYTES], SimTensorMap *out);

int sim_tensormap_element(const SimTensorMap *map);       /* bytes */
int sim_tensormap_span(const SimTensorMap *map);          /* swizzle: 16 (none), 32, 64, 128 */
/* The tile in shared memory: rows of row_bytes, back to back (before the swizzle).  */
uint32_t sim_tensormap_rows(const SimTensorMap *map);
uint32_t sim_tensormap_row_bytes(const SimTensorMap *map);
/* Bytes [begin, end) of a row come from (or go to) `global` + begin; the rest is out of bounds.  */
typedef struct {
    uint64_t global;
    uint32_t begin, end;
} SimTmRow;
/* Rows of the tile at `coord` (rank coordinates, innermost first); `offset` are the im2col offsets
 * of W, H, D, or NULL for none.  `rows` has sim_tensormap_rows entries.  */
void sim_tensormap_walk(const SimTensorMap *map, const int32_t *coord, const uint16_t *offset,
                        SimTmRow *rows);
/* The element that fills out-of-bounds places: `element` bytes.  */
void sim_tensormap_fill(const SimTensorMap *map, uint8_t out[8]);
#endif
