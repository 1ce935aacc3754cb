/* Number formats of docs/te-reference.md, "Values", and of PTX: conversions, each rounding once.
 * `sat` selects saturation to the largest finite value instead of infinity (f8: the language
 * always saturates; PTX .satfinite).  Encodings are raw bits in the low end of the result.  A NaN
 * becomes the canonical one: all bits set but the sign.  */
#ifndef ROLLER_BASE_NUMERIC_H
#define ROLLER_BASE_NUMERIC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum { ROUND_NEAREST_EVEN, ROUND_TO_ZERO, ROUND_DOWN, ROUND_UP, ROUND_NEAREST_AWAY } Round;

static inline double num_bf16_decode(uint16_t bits) {
    uint32_t word = (uint32_t)bits << 16;
    float f;
    memcpy(&f, &word, sizeof f);
    return (double)f;
}

/* Free of branches, so that loops over it vectorize: a multiplication moves the exponent, which
 * also normalises subnormals; infinities and NaNs get theirs back.  */
static inline double num_f16_decode(uint16_t bits) {
    uint32_t word = (uint32_t)(bits & 0x7fff) << 13;
    float f;
    memcpy(&f, &word, sizeof f);
    f *= 0x1p112f;
    uint32_t finite;
    memcpy(&finite, &f, sizeof finite);
    word = finite | (word >= 0x0f800000 ? 0x7f800000 | word : 0) | (uint32_t)(bits & 0x8000) << 16;
    memcpy(&f, &word, sizeof f);
    return (double)f;
}

/* The exponents of e5m2 are those of f16; those of e4m3 are 8 less, and it has no infinity.  */
static inline double num_e5m2_decode(uint8_t bits) { return num_f16_decode((uint16_t)(bits << 8)); }

static inline double num_e4m3_decode(uint8_t bits) {
    uint16_t nan = (bits & 0x7f) == 0x7f ? 0x7c00 : 0;
    return num_f16_decode((uint16_t)((bits & 0x80) << 8 | (bits & 0x7f) << 7 | nan)) * 256;
}

/* Scales of blocks (OCP Microscaling Formats, 2023): e4m3 without a sign, and an exponent alone,
 * 2^(bits - 127), whose 255 is NaN.  */
static inline double num_ue4m3_decode(uint8_t bits) { return num_e4m3_decode(bits & 0x7f); }

static inline double num_ue8m0_decode(uint8_t bits) {
    uint32_t word = bits == 0 ? 0x400000 : bits == 255 ? 0x7fffffff : (uint32_t)bits << 23;
    float f;
    memcpy(&f, &word, sizeof f);
    return (double)f;
}

/* OCP Microscaling Formats, 5.3.2 and 5.3.3: no infinity and no NaN.  Bits above those of the type
 * count for nothing.  */
static inline double num_small_decode(uint8_t bits, int width, int mant, double scale) {
    int magnitude = bits & ((1 << (width - 1)) - 1);
    int half = (bits >> (width - 1) & 1) << 15 | magnitude << (10 - mant);
    return num_f16_decode((uint16_t)half) * scale;
}
static inline double num_e3m2_decode(uint8_t bits) { return num_small_decode(bits, 6, 2, 0x1p12); }
static inline double num_e2m3_decode(uint8_t bits) { return num_small_decode(bits, 6, 3, 0x1p14); }
static inline double num_e2m1_decode(uint8_t bits) { return num_small_decode(bits, 4, 1, 0x1p14); }

/* From f64 (exact for every f32 and every i32), one rounding.  */
uint16_t num_f16_encode(double v, Round r, bool sat);
uint16_t num_bf16_encode(double v, Round r, bool sat);
uint8_t num_e4m3_encode(double v, Round r);                /* saturates to 448; NaN is 0x7f */
uint8_t num_e5m2_encode(double v, Round r, bool sat);
/* Saturate at both ends: what is less than the smallest value of the type, 0 of ue4m3 and 2^-127 of
 * ue8m0, becomes that.  To nearest, ties to even codes.  */
uint8_t num_ue4m3_encode(double v);
uint8_t num_ue8m0_encode(double v);
/* To nearest, ties to even codes; they saturate, to 28, 7.5 and 6, and NaN becomes the largest
 * value, as PTX's conversions have it.  */
uint8_t num_e3m2_encode(double v);
uint8_t num_e2m3_encode(double v);
uint8_t num_e2m1_encode(double v);
float num_f32_encode(double v, Round r);
uint32_t num_tf32(float v, Round r);                       /* f32 bits with 13 low bits cleared */
/* The unit in the last place of |v| in a format with `mant` stored fraction bits and minimal normal
 * exponent `emin` (f16: 10, -14; bf16: 7, -126; f32: 23, -126; f64: 52, -1022).  */
double num_ulp(double v, int mant, int emin);

/* Reads `len` bytes that are one unsigned decimal number, DIGITS[.DIGITS][(e|E)[+-]DIGITS], and
 * nothing else, whatever the locale: the nearest double, ties to even, infinity beyond the largest.
 * False if they are not one.  */
bool num_real(const char *s, size_t len, double *out);
#endif
