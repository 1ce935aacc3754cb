#include "base/numeric.h"
#include "sim/matrix.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

/* Branch-free so that loops over it vectorize: the exponent is moved by a multiplication, which
 * also normalises subnormals; infinities and NaNs get their exponent back.  */
static inline double f16_double(uint32_t h) {
    uint32_t magnitude = (h & 0x7fff) << 13;
    float f = float_of(magnitude) * 0x1p112f;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    bits |= magnitude >= 0x0f800000u ? 0x7f800000u | (magnitude & 0x7fffff) : 0;
    return (double)float_of(bits | (h & 0x8000) << 16);
}

static inline double e4m3_double(uint32_t x) {
    double v = f16_double((x & 0x80) << 8 | (x & 0x7f) << 7) * 256;
    return (x & 0x7f) == 0x7f ? (double)NAN : v;
}

static void decode_16(PtxType e, const uint8_t *p, size_t n, double *out) {
    for (size_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, p + 2 * i, 2);
        out[i] = e == PTX_F16 ? f16_double(h) : (double)float_of((uint32_t)h << 16);
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

static void decode_8(PtxType e, const uint8_t *p, size_t n, double *out) {
    for (size_t i = 0; i < n; i++) {
        out[i] = e == PTX_S8     ? (double)(int8_t)p[i]
                 : e == PTX_U8   ? (double)p[i]
                 : e == PTX_E4M3 ? e4m3_double(p[i])
                                      : f16_double((uint32_t)p[i] << 8);
    }
}

void sim_elem_decode(PtxType e, const void *from, size_t n, double *out) {
    switch (sim_type_bits(e)) {
    case 8: decode_8(e, from, n, out); break;
    case 16: decode_16(e, from, n, out); break;
    case 32: decode_32(e, from, n, out); break;
    default: memcpy(out, from, n * sizeof *out); break;
    }
}

/* Eight columns at a time: the sums of a row stay in registers.  */
static void dense_strip(int m, int k, const double *a, const double *b, size_t ldb, double *d,
                        size_t ldd) {
    for (int i = 0; i < m; i++) {
        double sum[8] = {0};
        const double *row = a + (size_t)i * (size_t)k;
        for (int kk = 0; kk < k; kk++) {
            for (int j = 0; j < 8; j++) sum[j] += row[kk] * b[(size_t)kk * ldb + (size_t)j];
        }
        for (int j = 0; j < 8; j++) d[(size_t)i * ldd + (size_t)j] += sum[j];
    }
}

void sim_dense(int m, int n, int k, const double *a, const double *b, double *d) {
    assert(n % 8 == 0);
    for (int j = 0; j < n; j += 8) dense_strip(m, k, a, b + j, (size_t)n, d + j, (size_t)n);
}

static uint32_t round_s32(double v, bool sat) {
    if (sat && v > INT32_MAX) v = INT32_MAX;
    if (sat && v < INT32_MIN) v = INT32_MIN;
    return (uint32_t)(int64_t)v;
}

uint32_t sim_round_acc(PtxType e, double v, bool sat) {
    if (e == PTX_S32) return round_s32(v, sat);
    if (isnan(v)) return e == PTX_F16 ? 0x7fff : 0x7fffffff;
    if (e == PTX_F16) return num_f16_encode(v, ROUND_NEAREST_EVEN, false);
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return bits;
}
