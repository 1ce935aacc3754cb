#include "base/numeric.h"

#include <math.h>
#include <string.h>

/* A binary format: stored fraction bits, exponent of the smallest normal number, encoding of the
 * largest finite number.  The encoding after that is infinity, except in e4m3 and what is smaller,
 * which have none.  */
typedef struct {
    int mant, emin;
    uint32_t max, nan;
} Format;

static const Format f32 = {23, -126, 0x7f7fffff, 0x7fffffff};
static const Format tf32 = {10, -126, 0x3fbff, 0x3ffff};
static const Format f16 = {10, -14, 0x7bff, 0x7fff};
static const Format bf16 = {7, -126, 0x7f7f, 0x7fff};
static const Format e4m3 = {3, -6, 0x7e, 0x7f};
static const Format e5m2 = {2, -14, 0x7b, 0x7f};
static const Format e3m2 = {2, -2, 0x1f, 0x1f};
static const Format e2m3 = {3, 0, 0x1f, 0x1f};
static const Format e2m1 = {1, 0, 0x7, 0x7};

static uint64_t bits_of(double v) {
    uint64_t b;
    memcpy(&b, &v, sizeof b);
    return b;
}

/* Encoding of |v|, which is finite, rounded once; above f.max where it overflows.  The exponent
 * field counts up when the fraction carries, so subnormal, normal and overflow need no cases.  */
static inline uint64_t encode_finite(double v, Format f, Round r) {
    uint64_t bits = bits_of(v);
    bool negative = bits >> 63;
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    uint64_t m = bits & 0xfffffffffffff;
    if (exponent < -1022) exponent = -1022;   /* subnormal or zero: no implicit bit */
    else m |= (uint64_t)1 << 52;
    int quantum = (exponent > f.emin ? exponent : f.emin) - f.mant;
    int drop = quantum - (exponent - 52);
    if (drop > 60) drop = 60;   /* m < 2^53: less than half, whatever is above */
    uint64_t n = m >> drop, rest = m - (n << drop), half = (uint64_t)1 << (drop - 1);
    bool up = false;
    switch (r) {
    case ROUND_NEAREST_EVEN: up = rest > half || (rest == half && (n & 1)); break;
    case ROUND_NEAREST_AWAY: up = rest >= half; break;
    case ROUND_TO_ZERO: break;
    case ROUND_DOWN: up = negative && rest; break;
    case ROUND_UP: up = !negative && rest; break;
    }
    return ((uint64_t)(quantum + f.mant - f.emin) << f.mant) + n + up;
}

/* The whole encoding; its sign bit is bit `width` - 1.  */
static inline uint32_t encode(double v, Format f, int width, Round r, bool sat) {
    if (isnan(v)) return f.nan;
    bool negative = signbit(v);
    uint32_t sign = (uint32_t)negative << (width - 1);
    uint64_t code = isinf(v) ? UINT64_MAX : encode_finite(v, f, r);
    if (code <= f.max) return sign | (uint32_t)code;
    bool inward = r == ROUND_TO_ZERO || r == (negative ? ROUND_UP : ROUND_DOWN);
    return sign | (sat || (inward && !isinf(v)) ? f.max : f.max + 1);
}

uint16_t num_f16_encode(double v, Round r, bool sat) {
    return (uint16_t)encode(v, f16, 16, r, sat);
}

uint16_t num_bf16_encode(double v, Round r, bool sat) {
    return (uint16_t)encode(v, bf16, 16, r, sat);
}

uint8_t num_e4m3_encode(double v, Round r) { return (uint8_t)encode(v, e4m3, 8, r, true); }

uint8_t num_e5m2_encode(double v, Round r, bool sat) {
    return (uint8_t)encode(v, e5m2, 8, r, sat);
}

uint8_t num_ue4m3_encode(double v) {
    return num_e4m3_encode(v < 0 ? 0 : v, ROUND_NEAREST_EVEN) & 0x7f;
}

uint8_t num_ue8m0_encode(double v) {
    int e;
    if (isnan(v)) return 255;
    if (v <= 0x1p-127) return 0;
    if (v >= 0x1p127) return 254;
    double half = frexp(v, &e);           /* v = half * 2^e, 0.5 <= half < 1 */
    int code = e - 1 + 127;
    return (uint8_t)(code + (half > 0.75 || (half == 0.75 && code % 2 == 1)));
}

uint8_t num_e3m2_encode(double v) {
    return (uint8_t)encode(v, e3m2, 6, ROUND_NEAREST_EVEN, true);
}

uint8_t num_e2m3_encode(double v) {
    return (uint8_t)encode(v, e2m3, 6, ROUND_NEAREST_EVEN, true);
}

uint8_t num_e2m1_encode(double v) {
    return (uint8_t)encode(v, e2m1, 4, ROUND_NEAREST_EVEN, true);
}

float num_f32_encode(double v, Round r) {
    /* The processor's own conversion, in the rounding mode every C program starts with.  */
    if (r == ROUND_NEAREST_EVEN && v == v) return (float)v;
    uint32_t code = encode(v, f32, 32, r, false);
    float out;
    memcpy(&out, &code, sizeof out);
    return out;
}

uint32_t num_tf32(float v, Round r) { return encode((double)v, tf32, 19, r, false) << 13; }

double num_ulp(double v, int mant, int emin) {
    if (!isfinite(v)) return fabs(v);
    int exponent;
    frexp(v, &exponent);
    exponent = v == 0 || exponent - 1 < emin ? emin : exponent - 1;
    return ldexp(1, exponent - mant);
}
