/* Tensor maps: the 128-byte object a TMA instruction reads, in the simulator's own encoding.
 *
 * The simulated driver encodes (cuTensorMapEncode*), the simulator decodes; a map that was not made
 * by this encoder does not decode.  Pure: no memory is touched.  */
#ifndef ROLLER_SIM_ASYNC_TENSORMAP_H
#define ROLLER_SIM_ASYNC_TENSORMAP_H
#include "hal/tensor_map.h"

/* Why the driver refuses the map, or NULL and *out is filled.  */
const char *sim_tensormap_encode(const TensorMap *map, uint8_t out[TM_BYTES]);
/* The encoding of a map that may be wrong, for maps that kernels change field by field.  */
void sim_tensormap_pack(const TensorMap *map, uint8_t out[TM_BYTES]);
bool sim_tensormap_decode(const uint8_t in[TM_BYTES], TensorMap *out);

/* The tile in shared memory: rows of row_bytes, back to back (before the swizzle).  */
uint32_t sim_tensormap_rows(const TensorMap *map);
uint32_t sim_tensormap_row_bytes(const TensorMap *map);
/* Bytes [begin, end) of a row come from (or go to) `global` + begin; the rest is out of bounds.  */
typedef struct {
    uint64_t global;
    uint32_t begin, end;
} SimTmRow;
/* Rows of the tile at `coord` (rank coordinates, innermost first); `offset` are the im2col offsets
 * of W, H, D, or NULL for none.  `rows` has sim_tensormap_rows entries.  */
void sim_tensormap_walk(const TensorMap *map, const int32_t *coord, const uint16_t *offset,
                        SimTmRow *rows);
/* The element that fills out-of-bounds places: `element` bytes.  */
void sim_tensormap_fill(const TensorMap *map, uint8_t out[8]);
#endif
