/* links: sim */
/* Integer instructions against plain C.  */
#include "conform.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;

/* ---- arithmetic ---- */

WANT(add, a + b)
WANT(sub, a - b)
WANT(mul, a *b)
WANT(mad, a *b + c)
static u64 mul_high(u64 a, u64 b) {          /* schoolbook, in 16-bit digits */
    u32 digit[8] = {0};
    for (int i = 0; i < 4; i++) {
        u64 carry = 0;
        for (int k = 0; k < 4; k++) {
            u64 t = (a >> 16 * i & 0xffff) * (b >> 16 * k & 0xffff) + digit[i + k] + carry;
            digit[i + k] = t & 0xffff;
            carry = t >> 16;
        }
        digit[i + 4] += (u32)carry;
    }
    return digit[4] | (u64)digit[5] << 16 | (u64)digit[6] << 32 | (u64)digit[7] << 48;
}
static u64 mul_high_signed(u64 a, u64 b) {
    bool minus = ((s64)a < 0) != ((s64)b < 0);
    u64 x = (s64)a < 0 ? 0 - a : a, y = (s64)b < 0 ? 0 - b : b, high = mul_high(x, y);
    if (!minus) return high;
    return x * y == 0 ? 0 - high : ~high;
}
static u64 sat32(s64 v) { return (u64)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v); }
WANT(mul_hi_u16, (u16)a *(u32)(u16)b >> 16)
WANT(mul_hi_s16, ((s16)a * (s16)b) >> 16)
WANT(mul_hi_u32, (a & UINT32_MAX) * (b & UINT32_MAX) >> 32)
WANT(mul_hi_s32, ((s64)(s32)a * (s32)b) >> 32)
WANT(mul_hi_u64, mul_high(a, b))
WANT(mul_hi_s64, mul_high_signed(a, b))
WANT(mul_wide_u16, (u16)a *(u32)(u16)b)
WANT(mul_wide_s16, (s16)a *(s16)b)
WANT(mul_wide_u32, (a & UINT32_MAX) * (b & UINT32_MAX))
WANT(mul_wide_s32, (s64)(s32)a *(s32)b)
WANT(mad_hi_u32, mul_hi_u32(a, b, 0) + c)
WANT(mad_hi_s32, mul_hi_s32(a, b, 0) + c)
WANT(mad_hi_sat, sat32((s32)mul_hi_s32(a, b, 0) + (s64)(s32)c))
WANT(mad_hi_u64, mul_high(a, b) + c)
WANT(mad_hi_s64, mul_high_signed(a, b) + c)
WANT(mad_hi_s16, mul_hi_s16(a, b, 0) + c)
WANT(mad_wide_u32, mul_wide_u32(a, b, 0) + c)
WANT(mad_wide_s32, mul_wide_s32(a, b, 0) + c)
WANT(mad_wide_u16, mul_wide_u16(a, b, 0) + c)
WANT(mad_wide_s16, mul_wide_s16(a, b, 0) + c)
WANT(add_sat, sat32((s64)(s32)a + (s32)b))
WANT(sub_sat, sat32((s64)(s32)a - (s32)b))
WANT(div_u16, (u16)b ? (u16)a / (u16)b : 0xffff)
WANT(div_s16, (s16)b ? (s16)a / (s16)b : -1)
WANT(div_u32, (u32)b ? (u32)a / (u32)b : UINT32_MAX)
WANT(div_s32, (s32)b ? (s64)(s32)a / (s32)b : -1)
WANT(div_u64, b ? a / b : UINT64_MAX)
WANT(div_s64, b == 0 ? (u64)-1 : b == UINT64_MAX ? 0 - a : (u64)((s64)a / (s64)b))
WANT(rem_u16, (u16)b ? (u16)a % (u16)b : (u16)a)
WANT(rem_s16, (s16)b ? (s16)a % (s16)b : (s16)a)
WANT(rem_u32, (u32)b ? (u32)a % (u32)b : (u32)a)
WANT(rem_s32, (s32)b ? (s64)(s32)a % (s32)b : (s32)a)
WANT(rem_u64, b ? a % b : a)
WANT(rem_s64, b == 0 ? a : b == UINT64_MAX ? 0 : (u64)((s64)a % (s64)b))
WANT(abs_s16, (s16)a < 0 ? -(s16)a : (s16)a)
WANT(abs_s32, (s32)a < 0 ? -(s64)(s32)a : (s32)a)
WANT(abs_s64, (s64)a < 0 ? 0 - a : a)
WANT(neg, 0 - a)
WANT(min_u16, (u16)a < (u16)b ? a : b)
WANT(min_s16, (s16)a < (s16)b ? a : b)
WANT(min_u32, (u32)a < (u32)b ? a : b)
WANT(min_s32, (s32)a < (s32)b ? a : b)
WANT(min_u64, a < b ? a : b)
WANT(min_s64, (s64)a < (s64)b ? a : b)
WANT(max_u16, (u16)a > (u16)b ? a : b)
WANT(max_s16, (s16)a > (s16)b ? a : b)
WANT(max_u32, (u32)a > (u32)b ? a : b)
WANT(max_s32, (s32)a > (s32)b ? a : b)
WANT(max_u64, a > b ? a : b)
WANT(max_s64, (s64)a > (s64)b ? a : b)
static u64 two(u64 (*f)(u64, u64, u64), u64 a, u64 b) {
    return (f(a & 0xffff, b & 0xffff, 0) & 0xffff) | f(a >> 16 & 0xffff, b >> 16 & 0xffff, 0) << 16;
}
static u64 relu16(u64 v) { return (s16)v < 0 ? 0 : v; }
WANT(add_x2, two(add, a, b))
WANT(min_u16x2, two(min_u16, a, b))
WANT(max_u16x2, two(max_u16, a, b))
WANT(min_s16x2, two(min_s16, a, b))
WANT(max_s16x2, two(max_s16, a, b))
WANT(max_relu16, relu16(max_s16(a, b, 0)))
WANT(max_s16x2_relu, two(max_relu16, a, b))
WANT(min_relu, (s32)min_s32(a, b, 0) < 0 ? 0 : min_s32(a, b, 0))
WANT(max_relu, (s32)max_s32(a, b, 0) < 0 ? 0 : max_s32(a, b, 0))
static s64 s24(u64 v) { return (s64)((v & 0xffffff) ^ 0x800000) - 0x800000; }
WANT(mul24_lo_u, (a & 0xffffff) * (b & 0xffffff))
WANT(mul24_hi_u, (a & 0xffffff) * (b & 0xffffff) >> 16)
WANT(mul24_lo_s, s24(a) * s24(b))
WANT(mul24_hi_s, (s24(a) * s24(b)) >> 16)
WANT(mad24_lo_u, mul24_lo_u(a, b, 0) + c)
WANT(mad24_lo_s, mul24_lo_s(a, b, 0) + c)
WANT(mad24_hi_u, mul24_hi_u(a, b, 0) + c)
WANT(sad_u16, c + (u64)((u16)a > (u16)b ? (u16)a - (u16)b : (u16)b - (u16)a))
WANT(sad_s16, c + (u64)((s16)a > (s16)b ? (s16)a - (s16)b : (s16)b - (s16)a))
WANT(sad_u32, c + ((u32)a > (u32)b ? (u32)a - (u32)b : (u32)b - (u32)a))
WANT(sad_s32, c + (u64)((s32)a > (s32)b ? (s64)(s32)a - (s32)b : (s64)(s32)b - (s32)a))
WANT(sad_u64, c + (a > b ? a - b : b - a))
WANT(sad_s64, c + ((s64)a > (s64)b ? a - b : b - a))

static void arithmetic(void **state) {
    (void)state;
    static const Conform rows[] = {
        {"add.u16 d, a, b;", "hhh", add},
        {"add.s32 d, a, b;", "rrr", add},
        {"add.u64 d, a, b;", "lll", add},
        {"add.sat.s32 d, a, b;", "rrr", add_sat},
        {"add.u16x2 d, a, b;", "rrr", add_x2},
        {"add.s16x2 d, a, b;", "rrr", add_x2},
        {"sub.s16 d, a, b;", "hhh", sub},
        {"sub.u32 d, a, b;", "rrr", sub},
        {"sub.s64 d, a, b;", "lll", sub},
        {"sub.sat.s32 d, a, b;", "rrr", sub_sat},
        {"mul.lo.u16 d, a, b;", "hhh", mul},
        {"mul.lo.s32 d, a, b;", "rrr", mul},
        {"mul.lo.u64 d, a, b;", "lll", mul},
        {"mul.hi.u16 d, a, b;", "hhh", mul_hi_u16},
        {"mul.hi.s16 d, a, b;", "hhh", mul_hi_s16},
        {"mul.hi.u32 d, a, b;", "rrr", mul_hi_u32},
        {"mul.hi.s32 d, a, b;", "rrr", mul_hi_s32},
        {"mul.hi.u64 d, a, b;", "lll", mul_hi_u64},
        {"mul.hi.s64 d, a, b;", "lll", mul_hi_s64},
        {"mul.wide.u16 d, a, b;", "rhh", mul_wide_u16},
        {"mul.wide.s16 d, a, b;", "rhh", mul_wide_s16},
        {"mul.wide.u32 d, a, b;", "lrr", mul_wide_u32},
        {"mul.wide.s32 d, a, b;", "lrr", mul_wide_s32},
        {"mad.lo.s16 d, a, b, c;", "hhhh", mad},
        {"mad.lo.u32 d, a, b, c;", "rrrr", mad},
        {"mad.lo.s64 d, a, b, c;", "llll", mad},
        {"mad.hi.u32 d, a, b, c;", "rrrr", mad_hi_u32},
        {"mad.hi.s32 d, a, b, c;", "rrrr", mad_hi_s32},
        {"mad.hi.sat.s32 d, a, b, c;", "rrrr", mad_hi_sat},
        {"mad.hi.u64 d, a, b, c;", "llll", mad_hi_u64},
        {"mad.hi.s64 d, a, b, c;", "llll", mad_hi_s64},
        {"mad.hi.s16 d, a, b, c;", "hhhh", mad_hi_s16},
        {"mad.wide.u32 d, a, b, c;", "lrrl", mad_wide_u32},
        {"mad.wide.s32 d, a, b, c;", "lrrl", mad_wide_s32},
        {"mad.wide.u16 d, a, b, c;", "rhhr", mad_wide_u16},
        {"mad.wide.s16 d, a, b, c;", "rhhr", mad_wide_s16},
        {"div.u16 d, a, b;", "hhh", div_u16},
        {"div.s16 d, a, b;", "hhh", div_s16},
        {"div.u32 d, a, b;", "rrr", div_u32},
        {"div.s32 d, a, b;", "rrr", div_s32},
        {"div.u64 d, a, b;", "lll", div_u64},
        {"div.s64 d, a, b;", "lll", div_s64},
        {"rem.u16 d, a, b;", "hhh", rem_u16},
        {"rem.s16 d, a, b;", "hhh", rem_s16},
        {"rem.u32 d, a, b;", "rrr", rem_u32},
        {"rem.s32 d, a, b;", "rrr", rem_s32},
        {"rem.u64 d, a, b;", "lll", rem_u64},
        {"rem.s64 d, a, b;", "lll", rem_s64},
        {"abs.s16 d, a;", "hh", abs_s16},
        {"abs.s32 d, a;", "rr", abs_s32},
        {"abs.s64 d, a;", "ll", abs_s64},
        {"neg.s16 d, a;", "hh", neg},
        {"neg.s32 d, a;", "rr", neg},
        {"neg.s64 d, a;", "ll", neg},
        {"min.u16 d, a, b;", "hhh", min_u16},
        {"min.s16 d, a, b;", "hhh", min_s16},
        {"min.u32 d, a, b;", "rrr", min_u32},
        {"min.s32 d, a, b;", "rrr", min_s32},
        {"min.u64 d, a, b;", "lll", min_u64},
        {"min.s64 d, a, b;", "lll", min_s64},
        {"max.u16 d, a, b;", "hhh", max_u16},
        {"max.s16 d, a, b;", "hhh", max_s16},
        {"max.u32 d, a, b;", "rrr", max_u32},
        {"max.s32 d, a, b;", "rrr", max_s32},
        {"max.u64 d, a, b;", "lll", max_u64},
        {"max.s64 d, a, b;", "lll", max_s64},
        {"min.u16x2 d, a, b;", "rrr", min_u16x2},
        {"max.u16x2 d, a, b;", "rrr", max_u16x2},
        {"min.s16x2 d, a, b;", "rrr", min_s16x2},
        {"max.s16x2 d, a, b;", "rrr", max_s16x2},
        {"max.s16x2.relu d, a, b;", "rrr", max_s16x2_relu},
        {"min.s32.relu d, a, b;", "rrr", min_relu},
        {"max.s32.relu d, a, b;", "rrr", max_relu},
        {"mul24.lo.u32 d, a, b;", "rrr", mul24_lo_u},
        {"mul24.hi.u32 d, a, b;", "rrr", mul24_hi_u},
        {"mul24.lo.s32 d, a, b;", "rrr", mul24_lo_s},
        {"mul24.hi.s32 d, a, b;", "rrr", mul24_hi_s},
        {"mad24.lo.u32 d, a, b, c;", "rrrr", mad24_lo_u},
        {"mad24.lo.s32 d, a, b, c;", "rrrr", mad24_lo_s},
        {"mad24.hi.u32 d, a, b, c;", "rrrr", mad24_hi_u},
        {"sad.u16 d, a, b, c;", "hhhh", sad_u16},
        {"sad.s16 d, a, b, c;", "hhhh", sad_s16},
        {"sad.u32 d, a, b, c;", "rrrr", sad_u32},
        {"sad.s32 d, a, b, c;", "rrrr", sad_s32},
        {"sad.u64 d, a, b, c;", "llll", sad_u64},
        {"sad.s64 d, a, b, c;", "llll", sad_s64},
    };
    CONFORM(rows);
}

/* ---- bits ---- */

WANT(and_, a &b)
WANT(or_, a | b)
WANT(xor_, a ^ b)
WANT(not_, ~a)
WANT(cnot_16, (u16)a == 0)
WANT(cnot_32, (u32)a == 0)
WANT(cnot_64, a == 0)
/* One step at a time; kind 0: left, 1: right, 2: right with the sign.  */
static u64 shift(u64 v, u64 by, int width, int kind) {
    u64 mask = width == 64 ? UINT64_MAX : ((u64)1 << width) - 1, n = (u32)by > 64 ? 64 : (u32)by;
    for (v &= mask; n > 0; n--) {
        u64 sign = v & (u64)1 << (width - 1);
        v = kind == 0 ? v << 1 & mask : v >> 1 | (kind == 2 ? sign : 0);
    }
    return v;
}
WANT(shl_16, shift(a, b, 16, 0))
WANT(shl_32, shift(a, b, 32, 0))
WANT(shl_64, shift(a, b, 64, 0))
WANT(shr_u16, shift(a, b, 16, 1))
WANT(shr_s16, shift(a, b, 16, 2))
WANT(shr_u32, shift(a, b, 32, 1))
WANT(shr_s32, shift(a, b, 32, 2))
WANT(shr_u64, shift(a, b, 64, 1))
WANT(shr_s64, shift(a, b, 64, 2))
static u64 funnel(u64 a, u64 b, u64 n, bool left) {
    u64 both = (u32)a | b << 32;
    return left ? shift(both, n, 64, 0) >> 32 : shift(both, n, 64, 1);
}
WANT(shf_l_wrap, funnel(a, b, c & 31, true))
WANT(shf_r_wrap, funnel(a, b, c & 31, false))
WANT(shf_l_clamp, funnel(a, b, (u32)c > 32 ? 32 : (u32)c, true))
WANT(shf_r_clamp, funnel(a, b, (u32)c > 32 ? 32 : (u32)c, false))
static u64 ones(u64 v) {
    u64 n = 0;
    for (; v; v >>= 1) n += v & 1;
    return n;
}
static u64 zeros_above(u64 v, int width) {
    u64 n = 0;
    for (int k = width - 1; k >= 0 && !(v >> k & 1); k--) n++;
    return n;
}
static u64 reversed(u64 v, int width) {
    u64 out = 0;
    for (int k = 0; k < width; k++) out |= (v >> k & 1) << (width - 1 - k);
    return out;
}
WANT(popc_32, ones((u32)a))
WANT(popc_64, ones(a))
WANT(clz_32, zeros_above((u32)a, 32))
WANT(clz_64, zeros_above(a, 64))
WANT(brev_32, reversed(a, 32))
WANT(brev_64, reversed(a, 64))
static u64 find(u64 v, int width, bool sign, bool amount) {
    u64 mask = width == 64 ? UINT64_MAX : ((u64)1 << width) - 1;
    v &= mask;
    if (sign && v >> (width - 1)) v = ~v & mask;
    if (!v) return UINT32_MAX;
    u64 above = zeros_above(v, width);
    return amount ? above : (u64)width - 1 - above;
}
WANT(bfind_u32, find(a, 32, false, false))
WANT(bfind_s32, find(a, 32, true, false))
WANT(bfind_u64, find(a, 64, false, false))
WANT(bfind_s64, find(a, 64, true, false))
WANT(bfind_amount, find(a, 32, false, true))
WANT(bfind_amount_s64, find(a, 64, true, true))
static u64 field(u64 v, u64 pos, u64 len, int width, bool sign) {   /* the ISA's loop */
    u64 msb = (u64)width - 1, d = 0;
    pos &= 255;
    len &= 255;
    u64 top = pos + len - 1 < msb ? pos + len - 1 : msb;
    u64 fill = !sign || len == 0 ? 0 : v >> top & 1;
    for (u64 k = 0; k <= msb; k++) {
        u64 bit = k < len && pos + k <= msb ? v >> (pos + k) & 1 : fill;
        d |= bit << k;
    }
    return d;
}
WANT(bfe_u32, field(a, b, c, 32, false))
WANT(bfe_s32, field(a, b, c, 32, true))
WANT(bfe_u64, field(a, b, c, 64, false))
WANT(bfe_s64, field(a, b, c, 64, true))
static u64 insert(u64 a, u64 b, u64 pos, u64 len, int width) {
    for (u64 k = 0; k < (len & 255) && (pos & 255) + k < (u64)width; k++) {
        u64 at = (pos & 255) + k;
        b = (b & ~((u64)1 << at)) | (a >> k & 1) << at;
    }
    return b;
}
WANT(bfi_32, insert(a, b, c, 11, 32))
WANT(bfi_64, insert(a, b, c, 40, 64))
static u64 byte_sum(u64 a, u64 b, u64 c, bool sa, bool sb) {
    for (int k = 0; k < 4; k++) {
        s64 x = sa ? (int8_t)(a >> 8 * k) : (uint8_t)(a >> 8 * k);
        s64 y = sb ? (int8_t)(b >> 8 * k) : (uint8_t)(b >> 8 * k);
        c += (u64)(x * y);
    }
    return c;
}
static u64 half_sum(u64 a, u64 b, u64 c, bool sa, bool sb, int high) {
    for (int k = 0; k < 2; k++) {
        s64 x = sa ? (s16)(a >> 16 * k) : (u16)(a >> 16 * k);
        int at = 8 * (k + 2 * high);
        c += (u64)(x * (sb ? (int8_t)(b >> at) : (uint8_t)(b >> at)));
    }
    return c;
}
/* Four bytes or two halves at a time; how: + - average (rounded up), distance, < >.  */
static u64 lanes_of(u64 a, u64 b, u64 c, char how, int width, bool is_signed, bool sat, bool sum) {
    u64 out = 0, mask = ((u64)1 << width) - 1;
    s64 high = is_signed ? (s64)(mask >> 1) : (s64)mask, low = is_signed ? -high - 1 : 0;
    for (int at = 0; at < 32; at += width) {
        s64 x = (s64)(a >> at & mask), y = (s64)(b >> at & mask), v;
        if (is_signed && x > high) x -= (s64)mask + 1;
        if (is_signed && y > high) y -= (s64)mask + 1;
        v = how == '+'   ? x + y
            : how == '-' ? x - y
            : how == 'd' ? llabs(x - y)
            : how == 'm' ? (s64)floor(((double)(x + y) + (x + y >= 0)) / 2)
            : how == '<' ? (x < y ? x : y)
                         : (x > y ? x : y);
        if (sat && v > high) v = high;
        if (sat && v < low) v = low;
        c += (u64)v;
        out |= ((u64)v & mask) << at;
    }
    return sum ? c : out;
}
WANT(vabsdiff4_sum, lanes_of(a, b, c, 'd', 8, false, false, true))
WANT(vabsdiff4_u, lanes_of(a, b, c, 'd', 8, false, false, false))
WANT(vadd4_s_sat, lanes_of(a, b, c, '+', 8, true, true, false))
WANT(vsub4_u, lanes_of(a, b, c, '-', 8, false, false, false))
WANT(vavrg4_s, lanes_of(a, b, c, 'm', 8, true, false, false))
WANT(vmin4_s, lanes_of(a, b, c, '<', 8, true, false, false))
WANT(vmax2_u, lanes_of(a, b, c, '>', 16, false, false, false))
WANT(vadd2_u_sat, lanes_of(a, b, c, '+', 16, false, true, false))
WANT(vsub2_s_sum, lanes_of(a, b, c, '-', 16, true, false, true))
WANT(dp4a_uu, byte_sum(a, b, c, false, false))
WANT(dp4a_us, byte_sum(a, b, c, false, true))
WANT(dp4a_su, byte_sum(a, b, c, true, false))
WANT(dp4a_ss, byte_sum(a, b, c, true, true))
WANT(dp2a_lo_ss, half_sum(a, b, c, true, true, 0))
WANT(dp2a_hi_ss, half_sum(a, b, c, true, true, 1))
WANT(dp2a_lo_uu, half_sum(a, b, c, false, false, 0))
WANT(dp2a_hi_us, half_sum(a, b, c, false, true, 1))
static u64 bytes(u64 a, u64 b, const int pick[4]) {
    u64 d = 0;
    for (int k = 0; k < 4; k++) {
        u64 from = pick[k] & 4 ? b : a, byte = from >> 8 * (pick[k] & 3) & 255;
        if (pick[k] & 8) byte = byte & 128 ? 255 : 0;
        d |= byte << 8 * k;
    }
    return d;
}
static u64 permuted(u64 a, u64 b, u64 c) {
    int pick[4];
    for (int k = 0; k < 4; k++) pick[k] = (int)(c >> 4 * k & 15);
    return bytes(a, b, pick);
}
/* Modes by their meaning: which of the 8 bytes the k-th is, for a selector 0..3.  */
static u64 mode(u64 a, u64 b, u64 c, int (*f)(int k, int s)) {
    int pick[4];
    for (int k = 0; k < 4; k++) pick[k] = f(k, (int)(c & 3));
    return bytes(a, b, pick);
}
static int forward(int k, int s) { return s + k; }
static int backward(int k, int s) { return (s - k) & 7; }
static int replicate(int k, int s) { return (void)k, s; }
static int clamp_left(int k, int s) { return k > s ? k : s; }
static int clamp_right(int k, int s) { return k < s ? k : s; }
static int replicate16(int k, int s) { return (k & 1) + 2 * (s & 1); }
WANT(prmt, permuted(a, b, c))
WANT(prmt_f4e, mode(a, b, c, forward))
WANT(prmt_b4e, mode(a, b, c, backward))
WANT(prmt_rc8, mode(a, b, c, replicate))
WANT(prmt_ecl, mode(a, b, c, clamp_left))
WANT(prmt_ecr, mode(a, b, c, clamp_right))
WANT(prmt_rc16, mode(a, b, c, replicate16))
WANT(lop3_96, a ^ b ^ c)
WANT(lop3_e8, (a & b) | (b & c) | (a & c))
WANT(lop3_ca, (a & b) | (~a & c))
static u64 table3(u64 a, u64 b, u64 c, int lut) {
    u64 d = 0;
    for (int k = 0; k < 32; k++) {
        int at = (int)((a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1));
        d |= (u64)(lut >> at & 1) << k;
    }
    return d;
}
WANT(lop3_57, table3(a, b, c, 0x57))
WANT(lop3_3c, table3(a, b, c, 0x3c))
static u64 extended(u64 v, u64 n, bool wrap, bool sign) {
    n = wrap ? n & 31 : (u32)n > 32 ? 32 : (u32)n;
    if (n == 0) return 0;
    for (u64 k = n; k < 32; k++) {
        u64 bit = sign ? v >> (n - 1) & 1 : 0;
        v = (v & ~((u64)1 << k)) | bit << k;
    }
    return v;
}
WANT(szext_wrap_s, extended(a, b, true, true))
WANT(szext_clamp_s, extended(a, b, false, true))
WANT(szext_wrap_u, extended(a, b, true, false))
WANT(szext_clamp_u, extended(a, b, false, false))
static u64 mask(u64 at, u64 n, bool wrap) {
    u64 d = 0;
    if (wrap) at &= 31, n &= 31;
    for (u64 k = 0; k < 32; k++) d |= (u64)(k >= (u32)at && k - (u32)at < (u32)n) << k;
    return d;
}
WANT(bmsk_wrap, mask(a, b, true))
WANT(bmsk_clamp, mask(a, b, false))
static u64 nth(u64 m, u64 base, s64 n) {
    if (n == 0) return m >> (base & 31) & 1 && (u32)base < 32 ? base : UINT32_MAX;
    s64 at = (s64)(base & 31);
    for (; at >= 0 && at < 32; at += n > 0 ? 1 : -1) {
        if (m >> at & 1) {
            if (n == 1 || n == -1) return (u64)at;
            n += n > 0 ? -1 : 1;
        }
    }
    return UINT32_MAX;
}
WANT(fns_3, nth(a, b, 3))
WANT(fns_minus_2, nth(a, b, -2))

static void bits(void **state) {
    (void)state;
    static const Conform rows[] = {
        {"and.b16 d, a, b;", "hhh", and_},
        {"and.b32 d, a, b;", "rrr", and_},
        {"and.b64 d, a, b;", "lll", and_},
        {"or.b16 d, a, b;", "hhh", or_},
        {"or.b32 d, a, b;", "rrr", or_},
        {"or.b64 d, a, b;", "lll", or_},
        {"xor.b16 d, a, b;", "hhh", xor_},
        {"xor.b32 d, a, b;", "rrr", xor_},
        {"xor.b64 d, a, b;", "lll", xor_},
        {"not.b16 d, a;", "hh", not_},
        {"not.b32 d, a;", "rr", not_},
        {"not.b64 d, a;", "ll", not_},
        {"cnot.b16 d, a;", "hh", cnot_16},
        {"cnot.b32 d, a;", "rr", cnot_32},
        {"cnot.b64 d, a;", "ll", cnot_64},
        {"shl.b16 d, a, b;", "hhs", shl_16},
        {"shl.b32 d, a, b;", "rrs", shl_32},
        {"shl.b64 d, a, b;", "lls", shl_64},
        {"shr.u16 d, a, b;", "hhs", shr_u16},
        {"shr.s16 d, a, b;", "hhs", shr_s16},
        {"shr.u32 d, a, b;", "rrs", shr_u32},
        {"shr.s32 d, a, b;", "rrs", shr_s32},
        {"shr.u64 d, a, b;", "lls", shr_u64},
        {"shr.s64 d, a, b;", "lls", shr_s64},
        {"shr.b32 d, a, b;", "rrs", shr_u32},
        {"shf.l.wrap.b32 d, a, b, c;", "rrrs", shf_l_wrap},
        {"shf.r.wrap.b32 d, a, b, c;", "rrrs", shf_r_wrap},
        {"shf.l.clamp.b32 d, a, b, c;", "rrrs", shf_l_clamp},
        {"shf.r.clamp.b32 d, a, b, c;", "rrrs", shf_r_clamp},
        {"popc.b32 d, a;", "rr", popc_32},
        {"popc.b64 d, a;", "rl", popc_64},
        {"clz.b32 d, a;", "rr", clz_32},
        {"clz.b64 d, a;", "rl", clz_64},
        {"brev.b32 d, a;", "rr", brev_32},
        {"brev.b64 d, a;", "ll", brev_64},
        {"bfind.u32 d, a;", "rr", bfind_u32},
        {"bfind.s32 d, a;", "rr", bfind_s32},
        {"bfind.u64 d, a;", "rl", bfind_u64},
        {"bfind.s64 d, a;", "rl", bfind_s64},
        {"bfind.shiftamt.u32 d, a;", "rr", bfind_amount},
        {"bfind.shiftamt.s64 d, a;", "rl", bfind_amount_s64},
        {"bfe.u32 d, a, b, c;", "rrss", bfe_u32},
        {"bfe.s32 d, a, b, c;", "rrss", bfe_s32},
        {"bfe.u64 d, a, b, c;", "llss", bfe_u64},
        {"bfe.s64 d, a, b, c;", "llss", bfe_s64},
        {"bfi.b32 d, a, b, c, 11;", "rrrs", bfi_32},
        {"bfi.b64 d, a, b, c, 40;", "llls", bfi_64},
        {"vabsdiff4.u32.u32.u32.add d, a, b, c;", "rrrr", vabsdiff4_sum},
        {"vabsdiff4.u32.u32.u32 d, a, b, c;", "rrrr", vabsdiff4_u},
        {"vadd4.s32.s32.s32.sat d, a, b, c;", "rrrr", vadd4_s_sat},
        {"vsub4.u32.u32.u32 d, a, b, c;", "rrrr", vsub4_u},
        {"vavrg4.s32.s32.s32 d, a, b, c;", "rrrr", vavrg4_s},
        {"vmin4.s32.s32.s32 d, a, b, c;", "rrrr", vmin4_s},
        {"vmax2.u32.u32.u32 d, a, b, c;", "rrrr", vmax2_u},
        {"vadd2.u32.u32.u32.sat d, a, b, c;", "rrrr", vadd2_u_sat},
        {"vsub2.s32.s32.s32.add d, a, b, c;", "rrrr", vsub2_s_sum},
        {"dp4a.u32.u32 d, a, b, c;", "rrrr", dp4a_uu},
        {"dp4a.u32.s32 d, a, b, c;", "rrrr", dp4a_us},
        {"dp4a.s32.u32 d, a, b, c;", "rrrr", dp4a_su},
        {"dp4a.s32.s32 d, a, b, c;", "rrrr", dp4a_ss},
        {"dp2a.lo.s32.s32 d, a, b, c;", "rrrr", dp2a_lo_ss},
        {"dp2a.hi.s32.s32 d, a, b, c;", "rrrr", dp2a_hi_ss},
        {"dp2a.lo.u32.u32 d, a, b, c;", "rrrr", dp2a_lo_uu},
        {"dp2a.hi.u32.s32 d, a, b, c;", "rrrr", dp2a_hi_us},
        {"prmt.b32 d, a, b, c;", "rrrr", prmt},
        {"prmt.b32.f4e d, a, b, c;", "rrrr", prmt_f4e},
        {"prmt.b32.b4e d, a, b, c;", "rrrr", prmt_b4e},
        {"prmt.b32.rc8 d, a, b, c;", "rrrr", prmt_rc8},
        {"prmt.b32.ecl d, a, b, c;", "rrrr", prmt_ecl},
        {"prmt.b32.ecr d, a, b, c;", "rrrr", prmt_ecr},
        {"prmt.b32.rc16 d, a, b, c;", "rrrr", prmt_rc16},
        {"lop3.b32 d, a, b, c, 0x96;", "rrrr", lop3_96},
        {"lop3.b32 d, a, b, c, 0xe8;", "rrrr", lop3_e8},
        {"lop3.b32 d, a, b, c, 0xca;", "rrrr", lop3_ca},
        {"lop3.b32 d, a, b, c, 0x57;", "rrrr", lop3_57},
        {"lop3.b32 d, a, b, c, 0x3c;", "rrrr", lop3_3c},
        {"szext.wrap.s32 d, a, b;", "rrs", szext_wrap_s},
        {"szext.clamp.s32 d, a, b;", "rrs", szext_clamp_s},
        {"szext.wrap.u32 d, a, b;", "rrs", szext_wrap_u},
        {"szext.clamp.u32 d, a, b;", "rrs", szext_clamp_u},
        {"bmsk.wrap.b32 d, a, b;", "rss", bmsk_wrap},
        {"bmsk.clamp.b32 d, a, b;", "rss", bmsk_clamp},
        {"fns.b32 d, a, b, 3;", "rrs", fns_3},
        {"fns.b32 d, a, b, -2;", "rrs", fns_minus_2},
    };
    CONFORM(rows);
}

/* ---- carries, selection, moves ---- */

static u64 wide_add(u64 a, u64 b, u64 c) {   /* three-word sum, its middle word */
    u64 low = (u32)a + (u64)(u32)b, mid = (u32)c + (u64)(u32)a + (low >> 32);
    return mid;
}
WANT(addc_chain, wide_add(a, b, c))
WANT(add64_by_halves, a + b)
WANT(sub64_by_halves, a - b)
WANT(mul64_by_halves, (a & UINT32_MAX) * (b & UINT32_MAX))
WANT(selp, c & 1 ? a : b)
WANT(slct, (s32)c >= 0 ? a : b)
static u64 slct_real(u64 a, u64 b, u64 c) {
    bool nan = (c & 0x7fffffff) > 0x7f800000, minus = c >> 31 & 1 && (c & 0x7fffffff);
    return nan || minus ? b : a;
}
WANT(same, a)
WANT(swap_halves, a << 32 | (u32)(a >> 32))
WANT(bytes_of, (a & 255) << 24 | (a >> 8 & 255) << 16 | (a >> 16 & 255) << 8 | (a >> 24 & 255))

static void others(void **state) {
    (void)state;
    static const Conform rows[] = {
        {"add.cc.u32 d, a, b; addc.u32 d, c, a;", "rrrr", addc_chain},
        {"{.reg .b32 x, y, z, w; mov.b64 {x, y}, a; mov.b64 {z, w}, b; add.cc.u32 x, x, z; "
         "addc.u32 y, y, w; mov.b64 d, {x, y};}",
         "lll", add64_by_halves},
        {"{.reg .b32 x, y, z, w; mov.b64 {x, y}, a; mov.b64 {z, w}, b; sub.cc.u32 x, x, z; "
         "subc.u32 y, y, w; mov.b64 d, {x, y};}",
         "lll", sub64_by_halves},
        {"{.reg .b32 x, y, z; mad.lo.cc.u32 x, a, b, 0; madc.hi.u32 y, a, b, 0; mov.b64 d, {x, "
         "y};}",
         "lrr", mul64_by_halves},
        {"selp.b16 d, a, b, q;", "hhhq", selp},
        {"selp.s32 d, a, b, q;", "rrrq", selp},
        {"selp.f64 d, a, b, q;", "lllq", selp},
        {"slct.u32.s32 d, a, b, c;", "rrrr", slct},
        {"slct.b64.s32 d, a, b, c;", "lllr", slct},
        {"slct.f32.f32 d, a, b, c;", "rrrf", slct_real},
        {"slct.ftz.u64.f32 d, a, b, c;", "lllf", slct_real},
        {"mov.b16 d, a;", "hh", same},
        {"mov.u32 d, a;", "rr", same},
        {"mov.f64 d, a;", "ll", same},
        {"{.reg .b32 x, y; mov.b64 {x, y}, a; mov.b64 d, {y, x};}", "ll", swap_halves},
        {"{.reg .b16 x, y, z, w; mov.b64 {x, y, z, w}, a; mov.b64 d, {z, w, x, y};}", "ll",
         swap_halves},
        {"{.reg .b8 x, y, z, w; mov.b32 {x, y, z, w}, a; mov.b32 d, {w, z, y, x};}", "rr",
         bytes_of},
        {"{.reg .b128 x; .reg .b64 y; mov.b128 x, {b, a}; mov.b128 {y, d}, x;}", "lll", same},
        {"{.reg .b32 x; mov.b64 {x, _}, a; cvt.u64.u32 d, x; mov.b64 {_, x}, a; shl.b64 d, d, 32; "
         "{.reg .b64 y; cvt.u64.u32 y, x; or.b64 d, d, y;}}",
         "ll", swap_halves},
    };
    CONFORM(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic),
        cmocka_unit_test(bits),
        cmocka_unit_test(others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
