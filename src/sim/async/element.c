#include "base/numeric.h"
#include "sim/state/exec.h"
#include "sim/async/matrix.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

HOT
static void decode_16(PtxType e, const uint8_t *p, size_t n, double *out) {
    for (size_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, p + 2 * i, 2);
        out[i] = e == PTX_F16 ? num_f16_decode(h) : num_bf16_decode(h);
    }
}

static void decode_32(PtxType e, const uint8_t *p, size_t n, double *out) {
    for (size_t i = 0; i < n; i++) {
        uint32_t w;
        memcpy(&w, p + 4 * i, 4);
        out[i] = e == PTX_S32    ? (double)(int32_t)w
                 : e == PTX_TF32 ? (double)float_of(w & 0xffffe000u)
                                      : (double)float_of(w);
    }
}

static double decode_byte(PtxType e, uint8_t p) {
    enum { MIDDLE = 2 };      /* e2m1 has the middle four bits of its byte */
    switch (e) {
    case PTX_S8: return (double)(int8_t)p;
    case PTX_U8: return (double)p;
    case PTX_E4M3: return num_e4m3_decode(p);
    case PTX_E5M2: return num_e5m2_decode(p);
    case PTX_E2M3: return num_e2m3_decode(p);
    case PTX_E3M2: return num_e3m2_decode(p);
    default: return num_e2m1_decode((uint8_t)(p >> MIDDLE));
    }
}

HOT
static void decode_8(PtxType e, const uint8_t *p, size_t n, double *out) {
    for (size_t i = 0; i < n; i++) {
        out[i] = decode_byte(e, p[i]);
    }
}

/* Two e2m1 in a byte, the first in the low half.  */
void sim_pairs_decode(const void *from, size_t n, double *out) {
    const uint8_t *p = from;
    for (size_t i = 0; i < n; i++) out[i] = num_e2m1_decode((uint8_t)(p[i / 2] >> i % 2 * 4));
}

void sim_elem_decode(PtxType e, const void *from, size_t n, double *out) {
    switch (sim_type_bits(e)) {
    case 4:
    case 6:
    case 8: decode_8(e, from, n, out); break;
    case 16: decode_16(e, from, n, out); break;
    case 32: decode_32(e, from, n, out); break;
    default: memcpy(out, from, n * sizeof *out); break;
    }
}

/* Eight columns of b and d, which have n: the sums of a row stay in registers.  */
HOT
static void dense_strip(int m, size_t n, int k, const double *a, const double *b, double *d) {
    for (int i = 0; i < m; i++) {
        double sum[8] = {0};
        const double *row = a + (size_t)i * (size_t)k;
        for (int kk = 0; kk < k; kk++) {
            for (int j = 0; j < 8; j++) sum[j] += row[kk] * b[(size_t)kk * n + (size_t)j];
        }
        for (int j = 0; j < 8; j++) d[(size_t)i * n + (size_t)j] += sum[j];
    }
}

void sim_dense(int m, int n, int k, const double *a, const double *b, double *d) {
    assert(n % 8 == 0);
    for (int j = 0; j < n; j += 8) dense_strip(m, (size_t)n, k, a, b + j, d + j);
}

void sim_acc_load(PtxType e, const SimReg *regs, int i, double v[32]) {
    uint16_t half[32];
    switch (e) {
    case PTX_F16:
        for (int l = 0; l < 32; l++) half[l] = (uint16_t)(regs[i / 2].lane[l] >> (i % 2 * 16));
        decode_16(PTX_F16, (const uint8_t *)half, 32, v);
        break;
    case PTX_F64:
        for (int l = 0; l < 32; l++) {
            uint64_t bits = regs[2 * i].lane[l] | (uint64_t)regs[2 * i + 1].lane[l] << 32;
            memcpy(&v[l], &bits, 8);
        }
        break;
    default: decode_32(e, (const uint8_t *)regs[i].lane, 32, v);
    }
}

static uint32_t round_s32(double v, bool sat) {
    if (sat && v > INT32_MAX) v = INT32_MAX;
    if (sat && v < INT32_MIN) v = INT32_MIN;
    return (uint32_t)(int64_t)v;
}

static void store_f16(const double v[32], SimReg *reg, int shift) {
    for (int l = 0; l < 32; l++) {
        uint32_t bits = isnan(v[l]) ? 0x7fff : num_f16_encode(v[l], ROUND_NEAREST_EVEN, false);
        reg->lane[l] = (reg->lane[l] & ~(0xffffu << shift)) | bits << shift;
    }
}

static void store_f32(const double v[32], SimReg *reg) {
    for (int l = 0; l < 32; l++) {
        float f = (float)v[l];
        uint32_t bits;
        memcpy(&bits, &f, 4);
        reg->lane[l] = isnan(f) ? 0x7fffffff : bits;
    }
}

void sim_acc_store(PtxType e, bool sat, const double v[32], SimReg *regs, int i) {
    switch (e) {
    case PTX_F16: store_f16(v, &regs[i / 2], i % 2 * 16); break;
    case PTX_F32: store_f32(v, &regs[i]); break;
    case PTX_S32:
        for (int l = 0; l < 32; l++) regs[i].lane[l] = round_s32(v[l], sat);
        break;
    default:
        for (int l = 0; l < 32; l++) {
            uint64_t bits;
            memcpy(&bits, &v[l], 8);
            regs[2 * i].lane[l] = (uint32_t)bits;
            regs[2 * i + 1].lane[l] = (uint32_t)(bits >> 32);
        }
    }
}
