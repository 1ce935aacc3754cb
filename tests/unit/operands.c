/* links: sim */
#include "operands.h"

#include "base/numeric.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

const OperandType operand_types[] = {
    {"f16", 2, 3}, {"bf16", 2, 9}, {"tf32", 4, 50}, {"e4m3", 1, 3}, {"e5m2", 1, 3},
    {"s8", 1, 127}, {"u8", 1, 255}, {"f32", 4, 99},  {"s32", 4, 99},
};

Lay operand_lay(int span, bool mn, int extent, int bytes, bool wide) {
    Lay l = {.span = span, .mn = mn, .lines = mn && bytes == 4 ? 4 : 8};
    uint32_t rows = (uint32_t)extent, row_bytes = rows * (uint32_t)bytes;
    uint32_t groups = 32 / (uint32_t)bytes / l.lines;        /* of lines of k, MN-major */
    if (!mn && span == 16) {
        l.stride = wide ? 256 : 128;
        l.leading = wide ? 128 : rows / 8 * 128;
    } else if (!mn) {
        l.leading = 16;
        l.stride = 8 * (uint32_t)span + (wide && span == 128 ? 1024 : 0);
    } else if (span == 16) {
        l.stride = wide ? groups * 128 : 128;
        l.leading = wide ? 128 : row_bytes / 16 * 128;
    } else {
        uint32_t atoms = (row_bytes + (uint32_t)span - 1) / (uint32_t)span;
        l.leading = l.lines * (uint32_t)span * (wide ? groups : 1);
        l.stride = l.lines * (uint32_t)span * (wide ? 1 : atoms);
    }
    return l;
}

/* Before the swizzle.  */
static uint32_t place(const Lay *l, uint32_t mn, uint32_t k, uint32_t bytes) {
    uint32_t span = (uint32_t)l->span;
    if (!l->mn) {
        uint32_t byte = k * bytes, row = mn % 8, group = mn / 8;
        if (span == 16) {
            return group * l->stride + row * 16 + byte / 16 * l->leading + byte % 16;
        }
        return group * l->stride + row * span + byte;
    }
    uint32_t byte = mn * bytes, row = k % l->lines, group = k / l->lines;
    if (span == 16) return byte / 16 * l->stride + byte % 16 + row * 16 + group * l->leading;
    return byte / span * l->leading + byte % span + row * span + group * l->stride;
}

static uint32_t swizzle(uint32_t at, const Lay *l) {
    int atom = l->lines == 4 ? 5 : 4;
    for (int bit = 0; 1 << (atom + bit) < l->span; bit++)
        at ^= (at >> (7 + bit) & 1) << (atom + bit);
    return at;
}

void operand_put(unsigned char *smem, size_t size, uint32_t base, const Lay *l, T t, int mn, int k,
                 double v) {
    uint32_t bits = operand_encode(t, v), bytes = (uint32_t)operand_types[t].bytes;
    uint32_t at = base + place(l, (uint32_t)mn, (uint32_t)k, bytes);
    for (uint32_t i = 0; i < bytes; i++) {
        uint32_t to = swizzle(at + i, l);
        assert_true(to < size);
        smem[to] = (unsigned char)(bits >> (8 * i));
    }
}

uint64_t operand_descriptor(const Lay *l, uint32_t at) {
    uint64_t mode = l->span == 128 ? 1 : l->span == 64 ? 2 : l->span == 32 ? 3 : 0;
    return (uint64_t)at >> 4 | (uint64_t)(l->leading >> 4) << 16 |
           (uint64_t)(l->stride >> 4) << 32 | (l->lines == 4 ? (uint64_t)1 << 61 : mode << 62);
}

uint32_t operand_encode(T t, double v) {
    float f = (float)v;
    uint32_t w;
    memcpy(&w, &f, 4);
    switch (t) {
    case T_F16: return num_f16_encode(v, ROUND_NEAREST_EVEN, false);
    case T_BF16: return num_bf16_encode(v, ROUND_NEAREST_EVEN, false);
    case T_E4M3: return num_e4m3_encode(v, ROUND_NEAREST_EVEN);
    case T_E5M2: return num_e5m2_encode(v, ROUND_NEAREST_EVEN, false);
    case T_S8:
    case T_U8: return (uint8_t)(int)v;
    case T_S32: return (uint32_t)(int32_t)v;
    default: return w;
    }
}

double operand_decode(T t, uint32_t bits) {
    float f;
    memcpy(&f, &bits, 4);
    return t == T_F16   ? num_f16_decode((uint16_t)bits)
           : t == T_S32 ? (double)(int32_t)bits
                        : (double)f;
}

double operand_draw(Rng *r, T t) {
    int most = operand_types[t].most;
    if (t == T_U8) return rng_below(r, 256);
    return (double)(int)rng_below(r, (uint32_t)(2 * most + 1)) - most;
}
