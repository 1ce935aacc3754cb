/* Registers as floating-point numbers and back; a NaN becomes the canonical one.  */
#ifndef TEST_FLOAT_BITS_H
#define TEST_FLOAT_BITS_H
#include <stdint.h>
#include <string.h>

typedef uint32_t u32;
typedef uint64_t u64;

static inline float f32(u64 bits) {
    u32 b = (u32)bits;
    float v;
    memcpy(&v, &b, sizeof v);
    return v;
}

static inline double f64(u64 bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline u64 b32(float v) {
    u32 b;
    if (v != v) return 0x7fffffff;
    memcpy(&b, &v, sizeof b);
    return b;
}

static inline u64 b64(double v) {
    u64 b;
    if (v != v) return 0x7fffffffffffffff;
    memcpy(&b, &v, sizeof b);
    return b;
}

/* An f32 subnormal becomes a zero of its sign.  */
static inline u64 flushed(u64 v) { return v & 0x7f800000 ? v : v & 0x80000000; }
#endif
