#include "sim/async/tensormap.h"

#include "base/hash.h"

#include <string.h>

uint32_t sim_tensormap_row_bytes(const TensorMap *map) {
    uint32_t elements = map->im2col ? map->channels : map->box[0];
    return elements * (uint32_t)tensor_map_element(map);
}

/* Elements of a box along a dimension; the stride of dimension 0 is not used.  */
static uint32_t box_extent(const TensorMap *map, int i) {
    return i == 0 ? map->box[0]
                  : (map->box[i] + map->element_stride[i] - 1) / map->element_stride[i];
}

uint32_t sim_tensormap_rows(const TensorMap *map) {
    if (map->im2col) return map->pixels;
    uint32_t rows = 1;
    for (int i = 1; i < map->rank; i++) rows *= box_extent(map, i);
    return rows;
}

static void put(uint8_t **p, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) *(*p)++ = (uint8_t)(v >> (8 * i));
}

static uint64_t get(const uint8_t **p, int bytes) {
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t) * (*p)++ << (8 * i);
    return v;
}

enum { SEAL_AT = TM_BYTES - 8 };
static const uint64_t seal = 0x7438c1d05aa9be26u;

void sim_tensormap_pack(const TensorMap *map, uint8_t out[TM_BYTES]) {
    memset(out, 0, TM_BYTES);
    uint8_t *p = out;
    put(&p, map->address, 8);
    put(&p, map->im2col, 1);
    put(&p, (uint64_t)map->type, 1);
    put(&p, (uint64_t)map->rank, 1);
    put(&p, (uint64_t)map->interleave, 1);
    put(&p, (uint64_t)map->swizzle, 1);
    put(&p, (uint64_t)map->promotion, 1);
    put(&p, (uint64_t)map->fill, 1);
    put(&p, map->channels, 2);
    put(&p, map->pixels, 2);
    for (int i = 0; i < TM_RANK; i++) {
        put(&p, map->dim[i], 5);
        put(&p, i + 1 < TM_RANK ? map->stride[i] : 0, 5);
        put(&p, map->box[i], 2);
        put(&p, map->element_stride[i], 1);
    }
    for (int i = 0; i < 3; i++) {
        put(&p, (uint16_t)map->lower[i], 2);
        put(&p, (uint16_t)map->upper[i], 2);
    }
    p = out + SEAL_AT;
    put(&p, hash64(out, SEAL_AT, seal), 8);
}

const char *sim_tensormap_encode(const TensorMap *map, uint8_t out[TM_BYTES]) {
    const char *why = tensor_map_wrong(map);
    if (!why) sim_tensormap_pack(map, out);
    return why;
}

bool sim_tensormap_decode(const uint8_t in[TM_BYTES], TensorMap *out) {
    const uint8_t *p = in + SEAL_AT;
    if (get(&p, 8) != hash64(in, SEAL_AT, seal)) return false;
    p = in;
    *out = (TensorMap){0};
    out->address = get(&p, 8);
    out->im2col = get(&p, 1);
    out->type = (TmType)get(&p, 1);
    out->rank = (int)get(&p, 1);
    out->interleave = (int)get(&p, 1);
    out->swizzle = (int)get(&p, 1);
    out->promotion = (int)get(&p, 1);
    out->fill = (int)get(&p, 1);
    out->channels = (uint32_t)get(&p, 2);
    out->pixels = (uint32_t)get(&p, 2);
    for (int i = 0; i < TM_RANK; i++) {
        out->dim[i] = get(&p, 5);
        uint64_t stride = get(&p, 5);
        if (i + 1 < TM_RANK) out->stride[i] = stride;
        out->box[i] = (uint32_t)get(&p, 2);
        out->element_stride[i] = (uint32_t)get(&p, 1);
    }
    for (int i = 0; i < 3; i++) {
        out->lower[i] = (int16_t)get(&p, 2);
        out->upper[i] = (int16_t)get(&p, 2);
    }
    return true;
}

/* The part of the inner row that starts at element c0 and lies inside the tensor.  */
static void clip_row(const TensorMap *map, int64_t c0, uint64_t outer, bool inside,
                     SimTmRow *row) {
    int64_t element = tensor_map_element(map);
    int64_t bytes = sim_tensormap_row_bytes(map), size = (int64_t)map->dim[0] * element;
    int64_t begin = c0 < 0 ? -c0 * element : 0, end = size - c0 * element;
    if (end > bytes) end = bytes;
    if (!inside || begin >= end) begin = end = 0;
    row->global = outer + (uint64_t)(c0 * element);
    row->begin = (uint32_t)begin;
    row->end = (uint32_t)end;
}

static void walk_tile(const TensorMap *map, const int32_t *coord, SimTmRow *rows) {
    uint32_t n = sim_tensormap_rows(map), at[TM_RANK] = {0};
    for (uint32_t r = 0; r < n; r++) {
        uint64_t outer = map->address;
        bool inside = true;
        for (int i = 1; i < map->rank; i++) {
            int64_t c = coord[i] + (int64_t)at[i] * map->element_stride[i];
            inside &= c >= 0 && (uint64_t)c < map->dim[i];
            outer += (uint64_t)c * map->stride[i - 1];
        }
        clip_row(map, coord[0], outer, inside, &rows[r]);
        for (int i = 1; i < map->rank && ++at[i] == box_extent(map, i); i++) at[i] = 0;
    }
}

/* A column of pixels: base pixels step by the element strides through the box between the corners,
 * W fastest, then H, D and the next image; each is read at its place plus the offsets.  */
static void walk_im2col(const TensorMap *map, const int32_t *coord, const uint16_t *offset,
                        SimTmRow *rows) {
    int spatial = map->rank - 2;
    int64_t pixel[TM_RANK];
    for (int i = 0; i < map->rank; i++) pixel[i] = coord[i];
    for (uint32_t r = 0; r < map->pixels; r++) {
        uint64_t outer = map->address;
        bool inside = true;
        for (int i = 1; i < map->rank; i++) {
            int64_t c = pixel[i] + (i <= spatial && offset ? offset[i - 1] : 0);
            inside &= c >= 0 && (uint64_t)c < map->dim[i];
            outer += (uint64_t)c * map->stride[i - 1];
        }
        clip_row(map, coord[0], outer, inside, &rows[r]);
        int i = 1;
        for (; i <= spatial; i++) {
            pixel[i] += map->element_stride[i];
            if (pixel[i] < (int64_t)map->dim[i] + map->upper[i - 1]) break;
            pixel[i] = map->lower[i - 1];
        }
        if (i > spatial) pixel[map->rank - 1]++;
    }
}

void sim_tensormap_walk(const TensorMap *map, const int32_t *coord, const uint16_t *offset,
                        SimTmRow *rows) {
    if (map->im2col) {
        walk_im2col(map, coord, offset, rows);
    } else {
        walk_tile(map, coord, rows);
    }
}

void sim_tensormap_fill(const TensorMap *map, uint8_t out[8]) {
    memset(out, 0, 8);
    if (map->fill == 0) return;
    int bytes = tensor_map_element(map);
    memset(out, 0xff, (size_t)bytes);
    out[bytes - 1] = 0x7f;
}
