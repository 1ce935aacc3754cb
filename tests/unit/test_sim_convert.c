/* links: sim */
/* cvt, setp and set against conversions and comparisons worked out in another way.  */
#include "conform.h"
#include "float_bits.h"

#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef int32_t s32;
typedef int64_t s64;

/* ---- integers ---- */

WANT(low8, (int8_t)a)
WANT(low8u, (uint8_t)a)
WANT(low16, (int16_t)a)
WANT(low16u, (uint16_t)a)
WANT(low32, (s32)a)
WANT(low32u, (u32)a)
static u64 clamped(s64 v, s64 least, s64 most) {
    return (u64)(v < least ? least : v > most ? most : v);
}
WANT(sat_s8_s32, clamped((s32)a, -128, 127))
WANT(sat_u8_s32, clamped((s32)a, 0, 255))
WANT(sat_u8_u32, clamped((s64)(u32)a, 0, 255))
WANT(sat_s16_s32, clamped((s32)a, -32768, 32767))
WANT(sat_u16_s64, clamped((s64)a, 0, 65535))
WANT(sat_s32_s64, clamped((s64)a, INT32_MIN, INT32_MAX))
WANT(sat_u32_s32, clamped((s32)a, 0, UINT32_MAX))
WANT(sat_s32_u32, clamped((s64)(u32)a, 0, INT32_MAX))

static void integers(void **state) {
    (void)state;
    static const Conform rows[] = {
        {"cvt.s32.s8 d, a;", "rr", low8}, {"cvt.u32.u8 d, a;", "rr", low8u},
        {"cvt.s32.s16 d, a;", "rh", low16}, {"cvt.u32.u16 d, a;", "rh", low16u},
        {"cvt.s64.s32 d, a;", "lr", low32}, {"cvt.u64.u32 d, a;", "lr", low32u},
        {"cvt.s64.s16 d, a;", "lh", low16}, {"cvt.u64.u16 d, a;", "lh", low16u},
        {"cvt.s64.s8 d, a;", "lr", low8}, {"cvt.u64.s32 d, a;", "lr", low32},
        {"cvt.u32.u64 d, a;", "rl", low32}, {"cvt.s32.s64 d, a;", "rl", low32},
        {"cvt.u16.u32 d, a;", "hr", low16}, {"cvt.u16.u64 d, a;", "hl", low16},
        {"cvt.s16.s8 d, a;", "hr", low8}, {"cvt.u8.u32 d, a;", "rr", low8u},
        {"cvt.s8.s32 d, a;", "rr", low8}, {"cvt.sat.s8.s32 d, a;", "rr", sat_s8_s32},
        {"cvt.sat.u8.s32 d, a;", "rr", sat_u8_s32}, {"cvt.sat.u8.u32 d, a;", "rr", sat_u8_u32},
        {"cvt.sat.s16.s32 d, a;", "hr", sat_s16_s32}, {"cvt.sat.u16.s64 d, a;", "hl", sat_u16_s64},
        {"cvt.sat.s32.s64 d, a;", "rl", sat_s32_s64}, {"cvt.sat.u32.s32 d, a;", "rr", sat_u32_s32},
        {"cvt.sat.s32.u32 d, a;", "rr", sat_s32_u32},
    };
    CONFORM(rows);
}

/* ---- integers and reals ---- */

static float from_s64(volatile s64 v, int mode) {
    fesetround(mode);
    volatile float f = (float)v;
    fesetround(FE_TONEAREST);
    return f;
}
static double from_u64(volatile u64 v, int mode) {
    fesetround(mode);
    volatile double f = (double)v;
    fesetround(FE_TONEAREST);
    return f;
}
WANT(f32_s32, b32(from_s64((s32)a, FE_TONEAREST)))
WANT(f32_s32_rz, b32(from_s64((s32)a, FE_TOWARDZERO)))
WANT(f32_s32_rm, b32(from_s64((s32)a, FE_DOWNWARD)))
WANT(f32_s32_rp, b32(from_s64((s32)a, FE_UPWARD)))
WANT(f32_u32, b32(from_s64((u32)a, FE_TONEAREST)))
WANT(f32_s64, b32(from_s64((s64)a, FE_TONEAREST)))
WANT(f32_s64_rz, b32(from_s64((s64)a, FE_TOWARDZERO)))
WANT(f32_s64_rp, b32(from_s64((s64)a, FE_UPWARD)))
WANT(f32_s8, b32((int8_t)a))
WANT(f32_u8, b32((uint8_t)a))
WANT(f32_u16, b32((uint16_t)a))
WANT(f64_s32, b64((s32)a))
WANT(f64_u32, b64((u32)a))
WANT(f64_s64, b64((double)(s64)a))
WANT(f64_u64, b64(from_u64(a, FE_TONEAREST)))
WANT(f64_u64_rm, b64(from_u64(a, FE_DOWNWARD)))
WANT(f64_u64_rp, b64(from_u64(a, FE_UPWARD)))

static double integral(double v, int mode) {
    fesetround(mode);
    volatile double x = v, y = nearbyint(x);
    fesetround(FE_TONEAREST);
    return y;
}
static u64 to_signed(double v, int mode, int bits) {
    double limit = ldexp(1, bits - 1), x = integral(v, mode);
    if (v != v) return 0;
    if (x >= limit) return ((u64)1 << (bits - 1)) - 1;
    return x < -limit ? (u64)0 - ((u64)1 << (bits - 1)) : (u64)(s64)x;
}
static u64 to_unsigned(double v, int mode, int bits) {
    double limit = ldexp(1, bits), x = integral(v, mode);
    if (v != v || x <= 0) return 0;
    return x >= limit ? (bits == 64 ? UINT64_MAX : ((u64)1 << bits) - 1) : (u64)x;
}
WANT(s32_rzi, to_signed(f32(a), FE_TOWARDZERO, 32))
WANT(s32_rni, to_signed(f32(a), FE_TONEAREST, 32))
WANT(s32_rmi, to_signed(f32(a), FE_DOWNWARD, 32))
WANT(s32_rpi, to_signed(f32(a), FE_UPWARD, 32))
WANT(u32_rzi, to_unsigned(f32(a), FE_TOWARDZERO, 32))
WANT(u32_rpi_ftz, to_unsigned(f32(flushed(a)), FE_UPWARD, 32))
WANT(s64_rzi, to_signed(f32(a), FE_TOWARDZERO, 64))
WANT(u64_rzi, to_unsigned(f32(a), FE_TOWARDZERO, 64))
WANT(s8_rni, to_signed(f32(a), FE_TONEAREST, 8))
WANT(u8_rni, to_unsigned(f32(a), FE_TONEAREST, 8))
WANT(s16_rzi, to_signed(f32(a), FE_TOWARDZERO, 16))
WANT(s32_d_rzi, to_signed(f64(a), FE_TOWARDZERO, 32))
WANT(s64_d_rni, to_signed(f64(a), FE_TONEAREST, 64))
WANT(u64_d_rmi, to_unsigned(f64(a), FE_DOWNWARD, 64))
WANT(u32_d_rpi, to_unsigned(f64(a), FE_UPWARD, 32))

static void integers_and_reals(void **state) {
    (void)state;
    static const Conform rows[] = {
        {"cvt.rn.f32.s32 d, a;", "rr", f32_s32}, {"cvt.rz.f32.s32 d, a;", "rr", f32_s32_rz},
        {"cvt.rm.f32.s32 d, a;", "rr", f32_s32_rm}, {"cvt.rp.f32.s32 d, a;", "rr", f32_s32_rp},
        {"cvt.rn.f32.u32 d, a;", "rr", f32_u32}, {"cvt.rn.f32.s64 d, a;", "rl", f32_s64},
        {"cvt.rz.f32.s64 d, a;", "rl", f32_s64_rz}, {"cvt.rp.f32.s64 d, a;", "rl", f32_s64_rp},
        {"cvt.rn.f32.s8 d, a;", "rr", f32_s8}, {"cvt.rn.f32.u8 d, a;", "rr", f32_u8},
        {"cvt.rn.f32.u16 d, a;", "rh", f32_u16}, {"cvt.rn.f64.s32 d, a;", "lr", f64_s32},
        {"cvt.rn.f64.u32 d, a;", "lr", f64_u32}, {"cvt.rn.f64.s64 d, a;", "ll", f64_s64},
        {"cvt.rn.f64.u64 d, a;", "ll", f64_u64}, {"cvt.rm.f64.u64 d, a;", "ll", f64_u64_rm},
        {"cvt.rp.f64.u64 d, a;", "ll", f64_u64_rp}, {"cvt.rzi.s32.f32 d, a;", "rf", s32_rzi},
        {"cvt.rni.s32.f32 d, a;", "rf", s32_rni}, {"cvt.rmi.s32.f32 d, a;", "rf", s32_rmi},
        {"cvt.rpi.s32.f32 d, a;", "rf", s32_rpi}, {"cvt.rzi.u32.f32 d, a;", "rf", u32_rzi},
        {"cvt.rpi.ftz.u32.f32 d, a;", "rf", u32_rpi_ftz}, {"cvt.rzi.s64.f32 d, a;", "lf", s64_rzi},
        {"cvt.rzi.u64.f32 d, a;", "lf", u64_rzi}, {"cvt.rni.sat.s8.f32 d, a;", "rf", s8_rni},
        {"cvt.rni.u8.f32 d, a;", "rf", u8_rni}, {"cvt.rzi.s16.f32 d, a;", "hf", s16_rzi},
        {"cvt.rzi.s32.f64 d, a;", "rg", s32_d_rzi}, {"cvt.rni.s64.f64 d, a;", "lg", s64_d_rni},
        {"cvt.rmi.u64.f64 d, a;", "lg", u64_d_rmi}, {"cvt.rpi.u32.f64 d, a;", "rg", u32_d_rpi},
    };
    CONFORM(rows);
}

/* ---- reals ---- */

static float narrowed(volatile double v, int mode) {
    fesetround(mode);
    volatile float f = (float)v;
    fesetround(FE_TONEAREST);
    return f;
}
WANT(f32_f64_rn, b32(narrowed(f64(a), FE_TONEAREST)))
WANT(f32_f64_rz, b32(narrowed(f64(a), FE_TOWARDZERO)))
WANT(f32_f64_rm, b32(narrowed(f64(a), FE_DOWNWARD)))
WANT(f32_f64_rp, b32(narrowed(f64(a), FE_UPWARD)))
WANT(f32_f64_ftz, flushed(b32(narrowed(f64(a), FE_TONEAREST))))
WANT(f64_f32, b64(f32(a)))
static u64 saturated(u64 v) {
    float f = f32(v);
    return f != f || f <= 0 ? 0 : f > 1 ? 0x3f800000 : v;
}
WANT(f32_sat, saturated(a))
WANT(f32_rni, b32((float)integral(f32(a), FE_TONEAREST)))
WANT(f32_rzi, b32((float)integral(f32(a), FE_TOWARDZERO)))
WANT(f32_rmi, b32((float)integral(f32(a), FE_DOWNWARD)))
WANT(f64_rpi, b64(integral(f64(a), FE_UPWARD)))

/* Small formats as a list of all their magnitudes: nearest by distance, ties to the even code.  */
typedef struct {
    int mant, bias, codes;    /* codes: finite magnitudes 0 .. codes - 1 */
    u64 sign, inf, nan;       /* inf: what overflows (without satfinite) */
} Format;
static const Format half = {10, 15, 0x7c00, 0x8000, 0x7c00, 0x7fff};
static const Format brain = {7, 127, 0x7f80, 0x8000, 0x7f80, 0x7fff};
static const Format e4m3 = {3, 7, 0x7f, 0x80, 0x7e, 0x7f};
static const Format e5m2 = {2, 15, 0x7c, 0x80, 0x7b, 0x7f};
static const Format tf32 = {10, 127, 0x3fc00, 0x40000, 0x3fc00, 0x3ffff};

static double magnitude(Format f, int code) {
    int field = code >> f.mant, m = code & ((1 << f.mant) - 1);
    return field ? ldexp(m + (1 << f.mant), field - f.bias - f.mant)
                 : ldexp(m, 1 - f.bias - f.mant);
}
typedef enum { NEAREST, ZERO, AWAY } Way;
static u64 small(Format f, double v, Way way) {
    if (v != v) return f.nan;
    u64 sign = signbit(v) ? f.sign : 0;
    double x = fabs(v);
    int low = 0, high = f.codes;             /* magnitude(low) <= x; high is beyond the largest */
    while (high - low > 1) {
        int mid = (low + high) / 2;
        if (magnitude(f, mid) <= x) low = mid;
        else high = mid;
    }
    double below = magnitude(f, low), above = magnitude(f, low + 1), mid = (below + above) / 2;
    if (f.mant == 3 && low + 1 == f.codes) above = 480, mid = 464;
    bool up = way == NEAREST ? x > mid || (x == mid && low & 1) : way == AWAY && x >= mid;
    if (isinf(x)) return sign | (way == ZERO && !isinf(v) ? (u64)low : f.inf);
    if (low + (int)up >= f.codes) return sign | f.inf;
    return sign | (u64)(low + (int)up);
}
WANT(f16_f32, small(half, f32(a), NEAREST))
WANT(f16_f32_rz, small(half, f32(a), ZERO))
WANT(f16_f64, small(half, f64(a), NEAREST))
WANT(bf16_f32, small(brain, f32(a), NEAREST))
WANT(bf16_f32_rz, small(brain, f32(a), ZERO))
static u64 positive(u64 v, u64 sign) { return v & sign ? 0 : v; }
WANT(f16_relu, f32(a) != f32(a) ? 0x7fff : positive(small(half, f32(a), NEAREST), 0x8000))
WANT(f16x2, small(half, f32(a), NEAREST) << 16 | small(half, f32(b), NEAREST))
WANT(f16x2_rz, small(half, f32(a), ZERO) << 16 | small(half, f32(b), ZERO))
WANT(bf16x2, small(brain, f32(a), NEAREST) << 16 | small(brain, f32(b), NEAREST))
static u64 finite(u64 v, u64 sign, u64 inf) { return (v & ~sign) == inf ? v - 1 : v; }
WANT(f16x2_satfinite, finite(small(half, f32(a), NEAREST), 0x8000, 0x7c00) << 16 |
                          finite(small(half, f32(b), NEAREST), 0x8000, 0x7c00))
WANT(e4m3x2, small(e4m3, f32(a), NEAREST) << 8 | small(e4m3, f32(b), NEAREST))
WANT(e5m2x2, small(e5m2, f32(a), NEAREST) << 8 | small(e5m2, f32(b), NEAREST))
static double value_of(Format f, u64 bits) {
    u64 code = bits & (f.sign - 1);
    double v = code < (u64)f.codes            ? magnitude(f, (int)code)
               : code == f.inf && f.mant != 3 ? INFINITY
                                              : NAN;
    if (f.bias == 15 && f.mant == 2 && code == 0x7c) v = INFINITY;
    return bits & f.sign ? -v : v;
}
WANT(f32_f16, b32((float)value_of(half, a & 0xffff)))
WANT(f64_f16, b64(value_of(half, a & 0xffff)))
WANT(f32_bf16, b32((float)value_of(brain, a & 0xffff)))
WANT(s32_f16, to_signed(value_of(half, a & 0xffff), FE_TONEAREST, 32))
WANT(f16_s32, small(half, (s32)a, NEAREST))
WANT(f16_rni, small(half, integral(value_of(half, a & 0xffff), FE_TONEAREST), NEAREST))
WANT(e4m3x2_f16x2, small(e4m3, value_of(half, a >> 16 & 0xffff), NEAREST) << 8 |
                       small(e4m3, value_of(half, a & 0xffff), NEAREST))
WANT(f16x2_e4m3x2, small(half, value_of(e4m3, a >> 8 & 255), NEAREST) << 16 |
                       small(half, value_of(e4m3, a & 255), NEAREST))
WANT(f16x2_e5m2x2, small(half, value_of(e5m2, a >> 8 & 255), NEAREST) << 16 |
                       small(half, value_of(e5m2, a & 255), NEAREST))
static u64 tf(u64 a, Way way) {
    u64 v = small(tf32, f32(a), way);
    return f32(a) != f32(a) ? 0x7fffffff : (v & 0x40000) << 13 | (v & 0x3ffff) << 13;
}
WANT(tf32_rna, tf(a, AWAY))
WANT(tf32_rn, tf(a, NEAREST))
WANT(tf32_rz, tf(a, ZERO))
WANT(pack16,
     (clamped((s32)a, -32768, 32767) & 0xffff) << 16 | (clamped((s32)b, -32768, 32767) & 0xffff))
WANT(pack_u8, clamped((s32)a, 0, 255) << 8 | clamped((s32)b, 0, 255) | c << 16)
WANT(pack_s8,
     (clamped((s32)a, -128, 127) & 255) << 8 | (clamped((s32)b, -128, 127) & 255) | c << 16)
static u64 tiny(u64 a) {                     /* e2m1: 0 0.5 1 1.5 2 3 4 6 */
    static const double v[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    double x = fabs((double)f32(a));
    u64 best = 7;
    for (u64 k = 0; k < 7 && x == x; k++) {
        double mid = (v[k] + v[k + 1]) / 2;
        if (x > mid || (x == mid && k & 1)) continue;
        best = k;
        break;
    }
    return x == x ? best | (f32(a) < 0 || a >> 31 & 1 ? 8 : 0) : 7;
}
WANT(e2m1x2, tiny(a & UINT32_MAX) << 4 | tiny(b & UINT32_MAX))

#define FROM16 "{.reg .b16 x; mov.b32 {x, _}, a; "
#define TO16(op) "{.reg .b16 w; " op " cvt.u32.u16 d, w;}"

static void reals(void **state) {
    (void)state;
    static const Conform rows[] = {
        {"cvt.rn.f32.f64 d, a;", "rg", f32_f64_rn},
        {"cvt.rz.f32.f64 d, a;", "rg", f32_f64_rz},
        {"cvt.rm.f32.f64 d, a;", "rg", f32_f64_rm},
        {"cvt.rp.f32.f64 d, a;", "rg", f32_f64_rp},
        {"cvt.rn.ftz.f32.f64 d, a;", "rg", f32_f64_ftz},
        {"cvt.f64.f32 d, a;", "lf", f64_f32},
        {"cvt.sat.f32.f32 d, a;", "rf", f32_sat},
        {"cvt.rni.f32.f32 d, a;", "rf", f32_rni},
        {"cvt.rzi.f32.f32 d, a;", "rf", f32_rzi},
        {"cvt.rmi.f32.f32 d, a;", "rf", f32_rmi},
        {"cvt.rpi.f64.f64 d, a;", "lg", f64_rpi},
        {"cvt.rn.f16.f32 d, a;", "hf", f16_f32},
        {"cvt.rz.f16.f32 d, a;", "hf", f16_f32_rz},
        {"cvt.rn.f16.f64 d, a;", "hg", f16_f64},
        {"cvt.rn.bf16.f32 d, a;", "hf", bf16_f32},
        {"cvt.rz.bf16.f32 d, a;", "hf", bf16_f32_rz},
        {"cvt.rn.relu.f16.f32 d, a;", "hf", f16_relu},
        {"cvt.rn.f16x2.f32 d, a, b;", "rff", f16x2},
        {"cvt.rz.f16x2.f32 d, a, b;", "rff", f16x2_rz},
        {"cvt.rn.bf16x2.f32 d, a, b;", "rff", bf16x2},
        {"cvt.rn.satfinite.f16x2.f32 d, a, b;", "rff", f16x2_satfinite},
        {"cvt.rn.satfinite.e4m3x2.f32 d, a, b;", "hff", e4m3x2},
        {"cvt.rn.satfinite.e5m2x2.f32 d, a, b;", "hff", e5m2x2},
        {FROM16 "cvt.f32.f16 d, x;}", "re", f32_f16},
        {FROM16 "cvt.f64.f16 d, x;}", "le", f64_f16},
        {FROM16 "cvt.f32.bf16 d, x;}", "ru", f32_bf16},
        {FROM16 "cvt.rni.s32.f16 d, x;}", "re", s32_f16},
        {"cvt.rn.f16.s32 d, a;", "hr", f16_s32},
        {FROM16 "cvt.rni.f16.f16 x, x; cvt.u32.u16 d, x;}", "re", f16_rni},
        {TO16("cvt.rn.satfinite.e4m3x2.f16x2 w, a;"), "re", e4m3x2_f16x2},
        {FROM16 "cvt.rn.f16x2.e4m3x2 d, x;}", "rr", f16x2_e4m3x2},
        {FROM16 "cvt.rn.f16x2.e5m2x2 d, x;}", "rr", f16x2_e5m2x2},
        {"cvt.rna.tf32.f32 d, a;", "rf", tf32_rna},
        {"cvt.rn.tf32.f32 d, a;", "rf", tf32_rn},
        {"cvt.rz.tf32.f32 d, a;", "rf", tf32_rz},
        {"cvt.pack.sat.s16.s32 d, a, b;", "rrr", pack16},
        {"cvt.pack.sat.u8.s32.b32 d, a, b, c;", "rrrr", pack_u8},
        {"cvt.pack.sat.s8.s32.b32 d, a, b, c;", "rrrr", pack_s8},
        {"{.reg .b8 x; cvt.rn.satfinite.e2m1x2.f32 x, a, b; cvt.u32.u8 d, x;}", "rff", e2m1x2},
    };
    CONFORM(rows);
}

/* ---- comparisons ---- */

#define COMPARE(name, op, T, T64)                                                                  \
    WANT(name, (T)a op(T) b)
COMPARE(lt_s32, <, s32, s64)
COMPARE(le_s32, <=, s32, s64)
COMPARE(gt_s32, >, s32, s64)
COMPARE(ge_s32, >=, s32, s64)
COMPARE(eq_s32, ==, s32, s64)
COMPARE(ne_s32, !=, s32, s64)
COMPARE(lo_u32, <, u32, u64)
COMPARE(ls_u32, <=, u32, u64)
COMPARE(hi_u32, >, u32, u64)
COMPARE(hs_u32, >=, u32, u64)
COMPARE(lt_u64, <, u64, u64)
COMPARE(lt_s64, <, s64, s64)
COMPARE(ge_s16, >=, int16_t, s64)
COMPARE(lt_u16, <, uint16_t, u64)
COMPARE(eq_b64, ==, u64, u64)
#define REAL(name, f, op, unordered) \
    WANT(name, (f(a) != f(a) || f(b) != f(b)) ? unordered : f(a) op f(b))
REAL(flt, f32, <, 0)
REAL(fle, f32, <=, 0)
REAL(fgt, f32, >, 0)
REAL(fge, f32, >=, 0)
REAL(feq, f32, ==, 0)
REAL(fne, f32, !=, 0)
REAL(fltu, f32, <, 1)
REAL(fleu, f32, <=, 1)
REAL(fgtu, f32, >, 1)
REAL(fgeu, f32, >=, 1)
REAL(fequ, f32, ==, 1)
REAL(fneu, f32, !=, 1)
WANT(fnum, f32(a) == f32(a) && f32(b) == f32(b))
WANT(fnan, f32(a) != f32(a) || f32(b) != f32(b))
WANT(flt_ftz, f32(flushed(a)) < f32(flushed(b)))
REAL(dlt, f64, <, 0)
REAL(dneu, f64, !=, 1)
static double low(u64 v) { return value_of(half, v & 0xffff); }
static double up(u64 v) { return value_of(half, v >> 16 & 0xffff); }
WANT(hlt, low(a) < low(b))
WANT(hge_up, up(a) >= up(b))
WANT(hmask, (low(a) < low(b) ? 0xffff : 0) | (up(a) < up(b) ? 0xffff0000u : 0))
WANT(and_q, (s32)a < (s32)b && (c & 1))
WANT(or_q, (s32)a < (s32)b || (c & 1))
WANT(xor_q, ((s32)a < (s32)b) != (c & 1))
WANT(not_lt, !((s32)a < (s32)b))
WANT(or_not, (s32)a < (s32)b || !(c & 1))
WANT(set_mask, (s32)a < (s32)b ? UINT32_MAX : 0)
WANT(set_one, f32(a) < f32(b) ? 0x3f800000 : 0)
WANT(set_and, f32(a) > f32(b) && (c & 1) ? UINT32_MAX : 0)

static void comparisons(void **state) {
    (void)state;
    static const Conform rows[] = {
        {"setp.lt.s32 p, a, b;", "prr", lt_s32},
        {"setp.le.s32 p, a, b;", "prr", le_s32},
        {"setp.gt.s32 p, a, b;", "prr", gt_s32},
        {"setp.ge.s32 p, a, b;", "prr", ge_s32},
        {"setp.eq.s32 p, a, b;", "prr", eq_s32},
        {"setp.ne.b32 p, a, b;", "prr", ne_s32},
        {"setp.lo.u32 p, a, b;", "prr", lo_u32},
        {"setp.ls.u32 p, a, b;", "prr", ls_u32},
        {"setp.hi.u32 p, a, b;", "prr", hi_u32},
        {"setp.hs.u32 p, a, b;", "prr", hs_u32},
        {"setp.lt.u64 p, a, b;", "pll", lt_u64},
        {"setp.lt.s64 p, a, b;", "pll", lt_s64},
        {"setp.ge.s16 p, a, b;", "phh", ge_s16},
        {"setp.lt.u16 p, a, b;", "phh", lt_u16},
        {"setp.eq.b64 p, a, b;", "pll", eq_b64},
        {"setp.lt.f32 p, a, b;", "pff", flt},
        {"setp.le.f32 p, a, b;", "pff", fle},
        {"setp.gt.f32 p, a, b;", "pff", fgt},
        {"setp.ge.f32 p, a, b;", "pff", fge},
        {"setp.eq.f32 p, a, b;", "pff", feq},
        {"setp.ne.f32 p, a, b;", "pff", fne},
        {"setp.ltu.f32 p, a, b;", "pff", fltu},
        {"setp.leu.f32 p, a, b;", "pff", fleu},
        {"setp.gtu.f32 p, a, b;", "pff", fgtu},
        {"setp.geu.f32 p, a, b;", "pff", fgeu},
        {"setp.equ.f32 p, a, b;", "pff", fequ},
        {"setp.neu.f32 p, a, b;", "pff", fneu},
        {"setp.num.f32 p, a, b;", "pff", fnum},
        {"setp.nan.f32 p, a, b;", "pff", fnan},
        {"setp.lt.ftz.f32 p, a, b;", "pff", flt_ftz},
        {"setp.lt.f64 p, a, b;", "pgg", dlt},
        {"setp.neu.f64 p, a, b;", "pgg", dneu},
        {"{.reg .b16 x, y; mov.b32 {x, _}, a; mov.b32 {y, _}, b; setp.lt.f16 p, x, y;}", "pee",
         hlt},
        {"{.reg .pred z; setp.ge.f16x2 z|p, a, b;}", "pee", hge_up},
        {"set.lt.u32.f16x2 d, a, b;", "ree", hmask},
        {"setp.lt.and.s32 p, a, b, q;", "prrq", and_q},
        {"setp.lt.or.s32 p, a, b, q;", "prrq", or_q},
        {"setp.lt.xor.s32 p, a, b, q;", "prrq", xor_q},
        {"setp.lt.or.s32 p, a, b, !q;", "prrq", or_not},
        {"{.reg .pred z; setp.lt.s32 z|p, a, b;}", "prr", not_lt},
        {"set.lt.u32.s32 d, a, b;", "rrr", set_mask},
        {"set.lt.f32.f32 d, a, b;", "rff", set_one},
        {"set.gt.and.s32.f32 d, a, b, q;", "rffq", set_and},
    };
    CONFORM(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(integers_and_reals),
        cmocka_unit_test(reals),
        cmocka_unit_test(comparisons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
