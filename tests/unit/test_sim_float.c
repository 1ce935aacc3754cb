/* links: sim */
/* Floating-point instructions against the host's own arithmetic in the same rounding mode.  */
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

/* ---- f32 ---- */

typedef enum { ADD, SUB, MUL, DIV, FMA, SQRT, RCP } Op;

static float single(Op op, int mode, volatile float a, volatile float b, volatile float c) {
    volatile float d;
    fesetround(mode);
    switch (op) {
    case ADD: d = a + b; break;
    case SUB: d = a - b; break;
    case MUL: d = a * b; break;
    case DIV: d = a / b; break;
    case FMA: d = fmaf(a, b, c); break;
    case SQRT: d = sqrtf(a); break;
    default: d = 1 / a; break;
    }
    fesetround(FE_TONEAREST);
    return d;
}
#define F32(name, op, mode) WANT(name, b32(single(op, mode, f32(a), f32(b), f32(c))))
#define F32_FTZ(name, op, mode)                                                                    \
    WANT(name, flushed(b32(single(op, mode, f32(flushed(a)), f32(flushed(b)), f32(flushed(c))))))
static u64 saturated(u64 v) {
    float f = f32(v);
    return f != f || f <= 0 ? 0 : f > 1 ? 0x3f800000 : v;
}
#define F32_SAT(name, op, mode) WANT(name, saturated(b32(single(op, mode, f32(a), f32(b), f32(c)))))

F32(add_rn, ADD, FE_TONEAREST)
F32(add_rz, ADD, FE_TOWARDZERO)
F32(add_rm, ADD, FE_DOWNWARD)
F32(add_rp, ADD, FE_UPWARD)
F32(sub_rn, SUB, FE_TONEAREST)
F32(sub_rz, SUB, FE_TOWARDZERO)
F32(sub_rm, SUB, FE_DOWNWARD)
F32(sub_rp, SUB, FE_UPWARD)
F32(mul_rn, MUL, FE_TONEAREST)
F32(mul_rz, MUL, FE_TOWARDZERO)
F32(mul_rm, MUL, FE_DOWNWARD)
F32(mul_rp, MUL, FE_UPWARD)
F32(div_rn, DIV, FE_TONEAREST)
F32(div_rz, DIV, FE_TOWARDZERO)
F32(div_rm, DIV, FE_DOWNWARD)
F32(div_rp, DIV, FE_UPWARD)
F32(fma_rn, FMA, FE_TONEAREST)
F32(fma_rz, FMA, FE_TOWARDZERO)
F32(fma_rm, FMA, FE_DOWNWARD)
F32(fma_rp, FMA, FE_UPWARD)
F32(sqrt_rn, SQRT, FE_TONEAREST)
F32(sqrt_rz, SQRT, FE_TOWARDZERO)
F32(sqrt_rm, SQRT, FE_DOWNWARD)
F32(sqrt_rp, SQRT, FE_UPWARD)
F32(rcp_rn, RCP, FE_TONEAREST)
F32(rcp_rz, RCP, FE_TOWARDZERO)
F32(rcp_rm, RCP, FE_DOWNWARD)
F32(rcp_rp, RCP, FE_UPWARD)
F32_FTZ(add_ftz, ADD, FE_TONEAREST)
F32_FTZ(sub_ftz, SUB, FE_TONEAREST)
F32_FTZ(mul_ftz, MUL, FE_TONEAREST)
F32_FTZ(fma_ftz, FMA, FE_TONEAREST)
F32_FTZ(div_ftz, DIV, FE_TONEAREST)
F32_FTZ(fma_rz_ftz, FMA, FE_TOWARDZERO)
F32_FTZ(sqrt_ftz, SQRT, FE_TONEAREST)
F32_SAT(add_sat, ADD, FE_TONEAREST)
F32_SAT(mul_sat, MUL, FE_TONEAREST)
F32_SAT(fma_sat, FMA, FE_TONEAREST)
F32_SAT(fma_rp_sat, FMA, FE_UPWARD)
WANT(abs32, a & 0x7fffffff)
WANT(neg32, a ^ 0x80000000)

/* Keys that order bit patterns like the numbers, -0 below +0.  */
static int64_t key32(u64 v) { return v >> 31 & 1 ? -(int64_t)(v & 0x7fffffff) - 1 : (int64_t)v; }
static bool nan32(u64 v) { return (v & 0x7fffffff) > 0x7f800000; }
static u64 extreme32(u64 a, u64 b, bool min, bool keep_nan) {
    if (nan32(a) || nan32(b)) {
        if (keep_nan || (nan32(a) && nan32(b))) return 0x7fffffff;
        return nan32(a) ? b : a;
    }
    return (key32(a) < key32(b)) == min ? a : b;
}
WANT(min32, extreme32((u32)a, (u32)b, true, false))
WANT(max32, extreme32((u32)a, (u32)b, false, false))
WANT(min32_nan, extreme32((u32)a, (u32)b, true, true))
WANT(max32_ftz, extreme32(flushed((u32)a), flushed((u32)b), false, false))
static u64 xorsign(u64 a, u64 b, bool min) {
    u64 v = extreme32(a & 0x7fffffff, b & 0x7fffffff, min, false);
    return nan32(v) ? v : v | ((a ^ b) & 0x80000000);
}
WANT(min32_xorsign, xorsign((u32)a, (u32)b, true))
WANT(max32_xorsign, xorsign((u32)a, (u32)b, false))
WANT(min32_three, extreme32(extreme32((u32)a, (u32)b, true, false), (u32)c, true, false))
WANT(copysign32, (b & 0x7fffffff) | (a & 0x80000000))
static int class32(u64 v) {                  /* 0 zero, 1 subnormal, 2 normal, 3 infinite, 4 NaN */
    u32 e = v >> 23 & 255, m = v & 0x7fffff;
    return e == 255 ? (m ? 4 : 3) : e ? 2 : m ? 1 : 0;
}
WANT(is_finite, class32(a) < 3)
WANT(is_infinite, class32(a) == 3)
WANT(is_number, class32(a) < 4)
WANT(is_nan, class32(a) == 4)
WANT(is_normal, class32(a) == 2)
WANT(is_subnormal, class32(a) == 1)

static void single_precision(void **state) {
    (void)state;
    static const Conform rows[] = {
        {"add.f32 d, a, b;", "fff", add_rn},
        {"add.rn.f32 d, a, b;", "fff", add_rn},
        {"add.rz.f32 d, a, b;", "fff", add_rz},
        {"add.rm.f32 d, a, b;", "fff", add_rm},
        {"add.rp.f32 d, a, b;", "fff", add_rp},
        {"sub.rn.f32 d, a, b;", "fff", sub_rn},
        {"sub.rz.f32 d, a, b;", "fff", sub_rz},
        {"sub.rm.f32 d, a, b;", "fff", sub_rm},
        {"sub.rp.f32 d, a, b;", "fff", sub_rp},
        {"mul.rn.f32 d, a, b;", "fff", mul_rn},
        {"mul.rz.f32 d, a, b;", "fff", mul_rz},
        {"mul.rm.f32 d, a, b;", "fff", mul_rm},
        {"mul.rp.f32 d, a, b;", "fff", mul_rp},
        {"div.rn.f32 d, a, b;", "fff", div_rn},
        {"div.rz.f32 d, a, b;", "fff", div_rz},
        {"div.rm.f32 d, a, b;", "fff", div_rm},
        {"div.rp.f32 d, a, b;", "fff", div_rp},
        {"fma.rn.f32 d, a, b, c;", "ffff", fma_rn},
        {"fma.rz.f32 d, a, b, c;", "ffff", fma_rz},
        {"fma.rm.f32 d, a, b, c;", "ffff", fma_rm},
        {"fma.rp.f32 d, a, b, c;", "ffff", fma_rp},
        {"mad.rn.f32 d, a, b, c;", "ffff", fma_rn},
        {"sqrt.rn.f32 d, a;", "ff", sqrt_rn},
        {"sqrt.rz.f32 d, a;", "ff", sqrt_rz},
        {"sqrt.rm.f32 d, a;", "ff", sqrt_rm},
        {"sqrt.rp.f32 d, a;", "ff", sqrt_rp},
        {"rcp.rn.f32 d, a;", "ff", rcp_rn},
        {"rcp.rz.f32 d, a;", "ff", rcp_rz},
        {"rcp.rm.f32 d, a;", "ff", rcp_rm},
        {"rcp.rp.f32 d, a;", "ff", rcp_rp},
        {"add.ftz.f32 d, a, b;", "fff", add_ftz},
        {"sub.ftz.f32 d, a, b;", "fff", sub_ftz},
        {"mul.ftz.f32 d, a, b;", "fff", mul_ftz},
        {"fma.rn.ftz.f32 d, a, b, c;", "ffff", fma_ftz},
        {"fma.rz.ftz.f32 d, a, b, c;", "ffff", fma_rz_ftz},
        {"div.rn.ftz.f32 d, a, b;", "fff", div_ftz},
        {"sqrt.rn.ftz.f32 d, a;", "ff", sqrt_ftz},
        {"add.sat.f32 d, a, b;", "fff", add_sat},
        {"mul.sat.f32 d, a, b;", "fff", mul_sat},
        {"fma.rn.sat.f32 d, a, b, c;", "ffff", fma_sat},
        {"fma.rp.sat.f32 d, a, b, c;", "ffff", fma_rp_sat},
        {"abs.f32 d, a;", "ff", abs32},
        {"neg.f32 d, a;", "ff", neg32},
        {"min.f32 d, a, b;", "fff", min32},
        {"max.f32 d, a, b;", "fff", max32},
        {"min.NaN.f32 d, a, b;", "fff", min32_nan},
        {"max.ftz.f32 d, a, b;", "fff", max32_ftz},
        {"min.xorsign.abs.f32 d, a, b;", "fff", min32_xorsign},
        {"max.xorsign.abs.f32 d, a, b;", "fff", max32_xorsign},
        {"min.f32 d, a, b, c;", "ffff", min32_three},
        {"copysign.f32 d, a, b;", "fff", copysign32},
        {"testp.finite.f32 p, a;", "pf", is_finite},
        {"testp.infinite.f32 p, a;", "pf", is_infinite},
        {"testp.number.f32 p, a;", "pf", is_number},
        {"testp.notanumber.f32 p, a;", "pf", is_nan},
        {"testp.normal.f32 p, a;", "pf", is_normal},
        {"testp.subnormal.f32 p, a;", "pf", is_subnormal},
    };
    CONFORM(rows);
}

/* ---- f64 ---- */

static double twice(Op op, int mode, volatile double a, volatile double b, volatile double c) {
    volatile double d;
    fesetround(mode);
    switch (op) {
    case ADD: d = a + b; break;
    case SUB: d = a - b; break;
    case MUL: d = a * b; break;
    case DIV: d = a / b; break;
    case FMA: d = fma(a, b, c); break;
    case SQRT: d = sqrt(a); break;
    default: d = 1 / a; break;
    }
    fesetround(FE_TONEAREST);
    return d;
}
#define F64(name, op, mode) WANT(name, b64(twice(op, mode, f64(a), f64(b), f64(c))))
F64(dadd_rn, ADD, FE_TONEAREST)
F64(dadd_rz, ADD, FE_TOWARDZERO)
F64(dadd_rm, ADD, FE_DOWNWARD)
F64(dadd_rp, ADD, FE_UPWARD)
F64(dsub_rn, SUB, FE_TONEAREST)
F64(dsub_rm, SUB, FE_DOWNWARD)
F64(dmul_rn, MUL, FE_TONEAREST)
F64(dmul_rz, MUL, FE_TOWARDZERO)
F64(dmul_rm, MUL, FE_DOWNWARD)
F64(dmul_rp, MUL, FE_UPWARD)
F64(ddiv_rn, DIV, FE_TONEAREST)
F64(ddiv_rz, DIV, FE_TOWARDZERO)
F64(ddiv_rm, DIV, FE_DOWNWARD)
F64(ddiv_rp, DIV, FE_UPWARD)
F64(dfma_rn, FMA, FE_TONEAREST)
F64(dfma_rz, FMA, FE_TOWARDZERO)
F64(dfma_rm, FMA, FE_DOWNWARD)
F64(dfma_rp, FMA, FE_UPWARD)
F64(dsqrt_rn, SQRT, FE_TONEAREST)
F64(dsqrt_rz, SQRT, FE_TOWARDZERO)
F64(dsqrt_rm, SQRT, FE_DOWNWARD)
F64(dsqrt_rp, SQRT, FE_UPWARD)
F64(drcp_rn, RCP, FE_TONEAREST)
F64(drcp_rm, RCP, FE_DOWNWARD)
WANT(abs64, a & 0x7fffffffffffffff)
WANT(neg64, a ^ 0x8000000000000000)
static bool nan64(u64 v) { return (v & 0x7fffffffffffffff) > 0x7ff0000000000000; }
static int64_t key64(u64 v) {
    return v >> 63 ? -(int64_t)(v & 0x7fffffffffffffff) - 1 : (int64_t)v;
}
static u64 extreme64(u64 a, u64 b, bool min) {
    if (nan64(a) || nan64(b)) return nan64(a) && nan64(b) ? 0x7fffffffffffffff : nan64(a) ? b : a;
    return (key64(a) < key64(b)) == min ? a : b;
}
WANT(min64, extreme64(a, b, true))
WANT(max64, extreme64(a, b, false))
WANT(copysign64, (b & 0x7fffffffffffffff) | (a & 0x8000000000000000))

static void double_precision(void **state) {
    (void)state;
    static const Conform rows[] = {
        {"add.f64 d, a, b;", "ggg", dadd_rn}, {"add.rz.f64 d, a, b;", "ggg", dadd_rz},
        {"add.rm.f64 d, a, b;", "ggg", dadd_rm}, {"add.rp.f64 d, a, b;", "ggg", dadd_rp},
        {"sub.rn.f64 d, a, b;", "ggg", dsub_rn}, {"sub.rm.f64 d, a, b;", "ggg", dsub_rm},
        {"mul.f64 d, a, b;", "ggg", dmul_rn}, {"mul.rz.f64 d, a, b;", "ggg", dmul_rz},
        {"mul.rm.f64 d, a, b;", "ggg", dmul_rm}, {"mul.rp.f64 d, a, b;", "ggg", dmul_rp},
        {"div.rn.f64 d, a, b;", "ggg", ddiv_rn}, {"div.rz.f64 d, a, b;", "ggg", ddiv_rz},
        {"div.rm.f64 d, a, b;", "ggg", ddiv_rm}, {"div.rp.f64 d, a, b;", "ggg", ddiv_rp},
        {"fma.rn.f64 d, a, b, c;", "gggg", dfma_rn}, {"fma.rz.f64 d, a, b, c;", "gggg", dfma_rz},
        {"fma.rm.f64 d, a, b, c;", "gggg", dfma_rm}, {"fma.rp.f64 d, a, b, c;", "gggg", dfma_rp},
        {"mad.rn.f64 d, a, b, c;", "gggg", dfma_rn}, {"sqrt.rn.f64 d, a;", "gg", dsqrt_rn},
        {"sqrt.rz.f64 d, a;", "gg", dsqrt_rz}, {"sqrt.rm.f64 d, a;", "gg", dsqrt_rm},
        {"sqrt.rp.f64 d, a;", "gg", dsqrt_rp}, {"rcp.rn.f64 d, a;", "gg", drcp_rn},
        {"rcp.rm.f64 d, a;", "gg", drcp_rm}, {"abs.f64 d, a;", "gg", abs64},
        {"neg.f64 d, a;", "gg", neg64}, {"min.f64 d, a, b;", "ggg", min64},
        {"max.f64 d, a, b;", "ggg", max64}, {"copysign.f64 d, a, b;", "ggg", copysign64},
    };
    CONFORM(rows);
}

/* ---- halves, by a table of all values: the nearest entry, ties to the even one ---- */

typedef struct {
    int mant, bias;
} Format;
static const Format half = {10, 15}, brain = {7, 127};

static double decode(Format f, u64 bits) {
    int field = (int)(bits >> f.mant & (u64)(f.bias * 2 + 1)), e = field ? field : 1;
    double m = (double)(bits & ((1u << f.mant) - 1)) + (field ? 1 << f.mant : 0);
    if (field == f.bias * 2 + 1) m = bits & ((1u << f.mant) - 1) ? NAN : INFINITY;
    double v = ldexp(m, e - f.bias - f.mant);
    return bits & 0x8000 ? -v : v;
}

/* By bisection over the codes; `exact` may be an unevaluated sum hi + lo.  */
static u64 encode(Format f, double hi, double lo) {
    if (hi != hi) return 0x7fff;
    u64 sign = signbit(hi) ? 0x8000 : 0, top = (u64)(f.bias * 2 + 1) << f.mant;
    double x = fabs(hi), rest = signbit(hi) ? -lo : lo;
    u64 low = 0, high = top; /* value(low) <= x < value(high), infinity at the top */
    if (isinf(x)) return sign | top;
    while (high - low > 1) {
        u64 mid = (low + high) / 2;
        double v = decode(f, mid);
        if (v < x || (v == x && rest >= 0)) low = mid;
        else high = mid;
    }
    double below = decode(f, low);
    double above = high == top ? ldexp(1, f.bias + 1) : decode(f, high),
           mid = below / 2 + above / 2;
    bool up = x > mid || (x == mid && (rest > 0 || (rest == 0 && low & 1)));
    return sign | (up ? high : low);
}
/* hi + lo = a + b exactly.  */
static u64 rounded_sum(Format f, double a, double b) {
    double s = a + b, bb = s - a, e = (a - (s - bb)) + (b - bb);
    return encode(f, s, isfinite(s) ? e : 0);
}
typedef u64 Half(Format f, u64 a, u64 b, u64 c);
static u64 h_add(Format f, u64 a, u64 b, u64 c) {
    return (void)c, rounded_sum(f, decode(f, a), decode(f, b));
}
static u64 h_sub(Format f, u64 a, u64 b, u64 c) {
    return (void)c, rounded_sum(f, decode(f, a), -decode(f, b));
}
static u64 h_mul(Format f, u64 a, u64 b, u64 c) {
    return (void)c, encode(f, decode(f, a) * decode(f, b), 0);
}
static u64 h_fma(Format f, u64 a, u64 b, u64 c) {
    return rounded_sum(f, decode(f, a) * decode(f, b), decode(f, c));
}
static u64 h_relu(Format f, u64 a, u64 b, u64 c) {
    u64 v = h_fma(f, a, b, c);
    return v & 0x8000 ? 0 : v;
}
static u64 h_sat(Format f, u64 a, u64 b, u64 c) {
    u64 v = h_fma(f, a, b, c), one = (u64)f.bias << f.mant;
    return v & 0x8000 || (v & 0x7fff) > (u64)(f.bias * 2 + 1) << f.mant ? 0 : v > one ? one : v;
}
static u64 h_extreme(Format f, u64 a, u64 b, bool min, bool keep) {
    u64 top = (u64)(f.bias * 2 + 1) << f.mant;
    bool na = (a & 0x7fff) > top, nb = (b & 0x7fff) > top;
    if (na || nb) return keep || (na && nb) ? 0x7fff : na ? b : a;
    int64_t ka = a & 0x8000 ? -(int64_t)(a & 0x7fff) - 1 : (int64_t)a;
    int64_t kb = b & 0x8000 ? -(int64_t)(b & 0x7fff) - 1 : (int64_t)b;
    return (ka < kb) == min ? a : b;
}
static u64 h_min(Format f, u64 a, u64 b, u64 c) { return (void)c, h_extreme(f, a, b, true, false); }
static u64 h_max(Format f, u64 a, u64 b, u64 c) {
    return (void)c, h_extreme(f, a, b, false, false);
}
static u64 h_max_nan(Format f, u64 a, u64 b, u64 c) {
    return (void)c, h_extreme(f, a, b, false, true);
}
static bool h_is_nan(Format f, u64 a) { return (a & 0x7fff) > (u64)(f.bias * 2 + 1) << f.mant; }
static u64 h_neg(Format f, u64 a, u64 b, u64 c) {
    return (void)b, (void)c, h_is_nan(f, a) ? 0x7fff : a ^ 0x8000;
}
static u64 h_abs(Format f, u64 a, u64 b, u64 c) {
    return (void)b, (void)c, h_is_nan(f, a) ? 0x7fff : a & 0x7fff;
}

static u64 scalar(Half *h, Format f, u64 a, u64 b, u64 c) {
    return h(f, a & 0xffff, b & 0xffff, c & 0xffff);
}
static u64 pair(Half *h, Format f, u64 a, u64 b, u64 c) {
    return scalar(h, f, a, b, c) | scalar(h, f, a >> 16, b >> 16, c >> 16) << 16;
}
#define HALF(name, h) WANT(name, scalar(h, half, a, b, c)) WANT(name##_x2, pair(h, half, a, b, c))
#define BRAIN(name, h) \
    WANT(name, scalar(h, brain, a, b, c)) WANT(name##_x2, pair(h, brain, a, b, c))
HALF(f16_add, h_add)
HALF(f16_sub, h_sub)
HALF(f16_mul, h_mul)
HALF(f16_fma, h_fma)
HALF(f16_relu, h_relu)
HALF(f16_sat, h_sat)
HALF(f16_min, h_min)
HALF(f16_max, h_max)
HALF(f16_max_nan, h_max_nan)
HALF(f16_neg, h_neg)
HALF(f16_abs, h_abs)
BRAIN(bf16_add, h_add)
BRAIN(bf16_sub, h_sub)
BRAIN(bf16_mul, h_mul)
BRAIN(bf16_fma, h_fma)
BRAIN(bf16_relu, h_relu)
BRAIN(bf16_min, h_min)
BRAIN(bf16_max, h_max)
BRAIN(bf16_neg, h_neg)
BRAIN(bf16_abs, h_abs)

#define S16(op) \
    "{.reg .b16 x, y, z, w; mov.b32 {x, _}, a; mov.b32 {y, _}, b; mov.b32 {z, _}, c; " op \
    " cvt.u32.u16 d, w;}"

static void half_precision(void **state) {
    (void)state;
    static const Conform rows[] = {
        {S16("add.f16 w, x, y;"), "reee", f16_add}, {"add.rn.f16x2 d, a, b;", "reee", f16_add_x2},
        {S16("sub.f16 w, x, y;"), "reee", f16_sub}, {"sub.f16x2 d, a, b;", "reee", f16_sub_x2},
        {S16("mul.f16 w, x, y;"), "reee", f16_mul}, {"mul.f16x2 d, a, b;", "reee", f16_mul_x2},
        {S16("fma.rn.f16 w, x, y, z;"), "reee", f16_fma},
        {"fma.rn.f16x2 d, a, b, c;", "reee", f16_fma_x2},
        {S16("fma.rn.relu.f16 w, x, y, z;"), "reee", f16_relu},
        {"fma.rn.relu.f16x2 d, a, b, c;", "reee", f16_relu_x2},
        {S16("fma.rn.sat.f16 w, x, y, z;"), "reee", f16_sat},
        {"fma.rn.sat.f16x2 d, a, b, c;", "reee", f16_sat_x2},
        {S16("min.f16 w, x, y;"), "reee", f16_min}, {"min.f16x2 d, a, b;", "reee", f16_min_x2},
        {S16("max.f16 w, x, y;"), "reee", f16_max}, {"max.f16x2 d, a, b;", "reee", f16_max_x2},
        {S16("max.NaN.f16 w, x, y;"), "reee", f16_max_nan},
        {"max.NaN.f16x2 d, a, b;", "reee", f16_max_nan_x2},
        {S16("neg.f16 w, x;"), "reee", f16_neg}, {"neg.f16x2 d, a;", "ree", f16_neg_x2},
        {S16("abs.f16 w, x;"), "reee", f16_abs}, {"abs.f16x2 d, a;", "ree", f16_abs_x2},
        {S16("add.bf16 w, x, y;"), "ruuu", bf16_add}, {"add.bf16x2 d, a, b;", "ruuu", bf16_add_x2},
        {S16("sub.bf16 w, x, y;"), "ruuu", bf16_sub}, {"sub.bf16x2 d, a, b;", "ruuu", bf16_sub_x2},
        {S16("mul.bf16 w, x, y;"), "ruuu", bf16_mul}, {"mul.bf16x2 d, a, b;", "ruuu", bf16_mul_x2},
        {S16("fma.rn.bf16 w, x, y, z;"), "ruuu", bf16_fma},
        {"fma.rn.bf16x2 d, a, b, c;", "ruuu", bf16_fma_x2},
        {S16("fma.rn.relu.bf16 w, x, y, z;"), "ruuu", bf16_relu},
        {"fma.rn.relu.bf16x2 d, a, b, c;", "ruuu", bf16_relu_x2},
        {S16("min.bf16 w, x, y;"), "ruuu", bf16_min}, {"min.bf16x2 d, a, b;", "ruuu", bf16_min_x2},
        {S16("max.bf16 w, x, y;"), "ruuu", bf16_max}, {"max.bf16x2 d, a, b;", "ruuu", bf16_max_x2},
        {S16("neg.bf16 w, x;"), "ruuu", bf16_neg}, {"neg.bf16x2 d, a;", "ruu", bf16_neg_x2},
        {S16("abs.bf16 w, x;"), "ruuu", bf16_abs}, {"abs.bf16x2 d, a;", "ruu", bf16_abs_x2},
    };
    CONFORM(rows);
}

/* Sums in f32 of sm_100 whose factors, or first term, are narrow.  */
#define MIXED(name, format, op, mode, second)                                                      \
    WANT(name, b32(single(op, mode, (float)decode(format, a & 0xffff), second,                     \
                          f32(op == FMA ? c : b))))
#define NARROW(format) (float)decode(format, b & 0xffff)
MIXED(f16_f32_add, half, ADD, FE_TONEAREST, f32(b))
MIXED(f16_f32_sub, half, SUB, FE_UPWARD, f32(b))
MIXED(f16_f32_fma, half, FMA, FE_TONEAREST, NARROW(half))
MIXED(bf16_f32_add, brain, ADD, FE_DOWNWARD, f32(b))
MIXED(bf16_f32_sub, brain, SUB, FE_TONEAREST, f32(b))
MIXED(bf16_f32_fma, brain, FMA, FE_TOWARDZERO, NARROW(brain))
#define FIRST(op) "{.reg .b16 x, y; mov.b32 {x, _}, a; mov.b32 {y, _}, b; " op "}"

static void mixed_precision(void **state) {
    (void)state;
    static const Conform rows[] = {
        {FIRST("add.f32.f16 d, x, b;"), "fef", f16_f32_add},
        {FIRST("sub.rp.f32.f16 d, x, b;"), "fef", f16_f32_sub},
        {FIRST("fma.rn.f32.f16 d, x, y, c;"), "feef", f16_f32_fma},
        {FIRST("add.rm.f32.bf16 d, x, b;"), "fuf", bf16_f32_add},
        {FIRST("sub.rn.f32.bf16 d, x, b;"), "fuf", bf16_f32_sub},
        {FIRST("fma.rz.f32.bf16 d, x, y, c;"), "fuuf", bf16_f32_fma},
    };
    CONFORM(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_precision),
        cmocka_unit_test(double_precision),
        cmocka_unit_test(half_precision),
        cmocka_unit_test(mixed_precision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
