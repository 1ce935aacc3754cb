#include "sim/tensormap.h"

#include "base/hash.h"

#include <string.h>

static const struct {
    int bytes;
    bool real;
} types[] = {
#define X(id, bytes, real) {bytes, real},
    SIM_TM_TYPES(X)
#undef X
};

int sim_tensormap_element(const SimTensorMap *map) { return types[map->type].bytes; }

int sim_tensormap_span(const SimTensorMap *map) { return 16 << map->swizzle; }

uint32_t sim_tensormap_row_bytes(const SimTensorMap *map) {
    uint32_t elements = map->im2col ? map->channels : map->box[0];
    return elements * (uint32_t)sim_tensormap_element(map);
}

/* Elements of a box along a dimension; the stride of dimension 0 is not used.  */
static uint32_t box_extent(const SimTensorMap *map, int i) {
    return i == 0 ? map->box[0]
                  : (map->box[i] + map->element_stride[i] - 1) / map->element_stride[i];
}

uint32_t sim_tensormap_rows(const SimTensorMap *map) {
    if (map->im2col) return map->pixels;
    uint32_t rows = 1;
    for (int i = 1; i < map->rank; i++) rows *= box_extent(map, i);
    return rows;
}

static const char *check_tensor(const SimTensorMap *map) {
    uint64_t unit = map->interleave == 2 ? 32 : 16;
    int least = map->im2col || map->interleave ? 3 : 1;
    if ((unsigned)map->type >= SIM_TM_TYPE_COUNT) return "data type";
    if (map->rank < least || map->rank > SIM_TM_RANK) return "rank";
    if ((unsigned)map->interleave > 2 || (unsigned)map->swizzle > 3 ||
        (unsigned)map->l2_promotion > 3 || (unsigned)map->fill > 1) {
        return "interleave, swizzle, L2 promotion or fill is not a value of its enumeration";
    }
    if (map->address == 0 || map->address % unit)
        return "global address is not aligned to 16 bytes";
    for (int i = 0; i < map->rank; i++) {
        if (map->dim[i] == 0 || map->dim[i] > (uint64_t)1 << 32) return "global dimension";
        if (map->element_stride[i] < 1 || map->element_stride[i] > 8) return "element stride";
    }
    for (int i = 0; i + 1 < map->rank; i++) {
        if (map->stride[i] % unit || map->stride[i] == 0 || map->stride[i] >> 40) {
            return "global stride is not a multiple of 16 below 2^40";
        }
    }
    if (map->interleave == 2 && map->swizzle != 1)
        return "interleave of 32 B needs swizzle of 32 B";
    if (map->fill == 1 && !types[map->type].real) return "NaN fill of an integer type";
    return NULL;
}

static const char *check_corners(const SimTensorMap *map) {
    int spatial = map->rank - 2, limit = 1 << (spatial == 1 ? 15 : spatial == 2 ? 7 : 4);
    for (int i = 0; i < spatial; i++) {
        if (map->lower[i] < -limit || map->lower[i] >= limit || map->upper[i] < -limit ||
            map->upper[i] >= limit) {
            return "corner of the pixel box is out of range";
        }
    }
    if (map->channels < 1 || map->channels > 256) return "channels per pixel";
    if (map->pixels < 1 || map->pixels > 1024) return "pixels per column";
    return NULL;
}

const char *sim_tensormap_check(const SimTensorMap *map) {
    const char *why = check_tensor(map);
    if (why) return why;
    if (map->im2col) {
        why = check_corners(map);
        if (why) return why;
    }
    for (int i = 0; i < map->rank && !map->im2col; i++) {
        if (map->box[i] < 1 || map->box[i] > 256) return "box dimension";
    }
    if (map->interleave) return NULL;
    uint32_t row = sim_tensormap_row_bytes(map);
    if (row % 16) return "inner box is not a multiple of 16 bytes";
    if (map->swizzle && row > (uint32_t)sim_tensormap_span(map)) {
        return "inner box is wider than the swizzle";
    }
    return NULL;
}

static void put(uint8_t **p, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) *(*p)++ = (uint8_t)(v >> (8 * i));
}

static uint64_t get(const uint8_t **p, int bytes) {
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t) * (*p)++ << (8 * i);
    return v;
}

enum { SEAL_AT = SIM_TM_BYTES - 8 };
static const uint64_t seal = 0x7438c1d05aa9be26u;

void sim_tensormap_pack(const SimTensorMap *map, uint8_t out[SIM_TM_BYTES]) {
    memset(out, 0, SIM_TM_BYTES);
    uint8_t *p = out;
    put(&p, map->address, 8);
    put(&p, map->im2col, 1);
    put(&p, (uint64_t)map->type, 1);
    put(&p, (uint64_t)map->rank, 1);
    put(&p, (uint64_t)map->interleave, 1);
    put(&p, (uint64_t)map->swizzle, 1);
    put(&p, (uint64_t)map->l2_promotion, 1);
    put(&p, (uint64_t)map->fill, 1);
    put(&p, map->channels, 2);
    put(&p, map->pixels, 2);
    for (int i = 0; i < SIM_TM_RANK; i++) {
        put(&p, map->dim[i], 5);
        put(&p, i + 1 < SIM_TM_RANK ? map->stride[i] : 0, 5);
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

const char *sim_tensormap_encode(const SimTensorMap *map, uint8_t out[SIM_TM_BYTES]) {
    const char *why = sim_tensormap_check(map);
    if (!why) sim_tensormap_pack(map, out);
    return why;
}

bool sim_tensormap_decode(const uint8_t in[SIM_TM_BYTES], SimTensorMap *out) {
    const uint8_t *p = in + SEAL_AT;
    if (get(&p, 8) != hash64(in, SEAL_AT, seal)) return false;
    p = in;
    *out = (SimTensorMap){0};
    out->address = get(&p, 8);
    out->im2col = get(&p, 1);
    out->type = (SimTmType)get(&p, 1);
    out->rank = (int)get(&p, 1);
    out->interleave = (int)get(&p, 1);
    out->swizzle = (int)get(&p, 1);
    out->l2_promotion = (int)get(&p, 1);
    out->fill = (int)get(&p, 1);
    out->channels = (uint32_t)get(&p, 2);
    out->pixels = (uint32_t)get(&p, 2);
    for (int i = 0; i < SIM_TM_RANK; i++) {
        out->dim[i] = get(&p, 5);
        uint64_t stride = get(&p, 5);
        if (i + 1 < SIM_TM_RANK) out->stride[i] = stride;
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
static void clip_row(const SimTensorMap *map, int64_t c0, uint64_t outer, bool inside,
                     SimTmRow *row) {
    int64_t element = sim_tensormap_element(map);
    int64_t bytes = sim_tensormap_row_bytes(map), size = (int64_t)map->dim[0] * element;
    int64_t begin = c0 < 0 ? -c0 * element : 0, end = size - c0 * element;
    if (end > bytes) end = bytes;
    if (!inside || begin >= end) begin = end = 0;
    row->global = outer + (uint64_t)(c0 * element);
    row->begin = (uint32_t)begin;
    row->end = (uint32_t)end;
}

static void walk_tile(const SimTensorMap *map, const int32_t *coord, SimTmRow *rows) {
    uint32_t n = sim_tensormap_rows(map), at[SIM_TM_RANK] = {0};
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
static void walk_im2col(const SimTensorMap *map, const int32_t *coord, const uint16_t *offset,
                        SimTmRow *rows) {
    int spatial = map->rank - 2;
    int64_t pixel[SIM_TM_RANK];
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

void sim_tensormap_walk(const SimTensorMap *map, const int32_t *coord, const uint16_t *offset,
                        SimTmRow *rows) {
    if (map->im2col) {
        walk_im2col(map, coord, offset, rows);
    } else {
        walk_tile(map, coord, rows);
    }
}

void sim_tensormap_fill(const SimTensorMap *map, uint8_t out[8]) {
    memset(out, 0, 8);
    if (map->fill == 0) return;
    int bytes = sim_tensormap_element(map);
    memset(out, 0xff, (size_t)bytes);
    out[bytes - 1] = 0x7f;
}
