/* add, sub, mul, mad, div, abs, neg, min, max on integers.  Sums wrap.  */
#include "sim/lane/alu.h"
#include "sim/lane/lanes.h"

static inline uint64_t high_u64(uint64_t a, uint64_t b) {
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t low = al * bl, mid = ah * bl + (low >> 32), other = al * bh + (uint32_t)mid;
    return ah * bh + (mid >> 32) + (other >> 32);
}
static inline uint64_t high_s64(int64_t a, int64_t b) {
    uint64_t h = high_u64((uint64_t)a, (uint64_t)b);
    if (a < 0) h -= (uint64_t)b;
    if (b < 0) h -= (uint64_t)a;
    return h;
}
uint64_t sim_high64(uint64_t a, uint64_t b, bool is_signed) {
    return is_signed ? high_s64((int64_t)a, (int64_t)b) : high_u64(a, b);
}
static inline int32_t sum_sat(int64_t v) {
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}
static inline int64_t div_s64(int64_t a, int64_t b) {
    if (b == 0) return -1;
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

SIM_BINARY(add_u16, u16, u16, u16, a + b)
SIM_BINARY(add_u32, u32, u32, u32, a + b)
SIM_BINARY(add_u64, u64, u64, u64, a + b)
SIM_BINARY(add_sat, s32, s32, s32, sum_sat((int64_t)a + b))
SIM_BINARY(sub_u16, u16, u16, u16, a - b)
SIM_BINARY(sub_u32, u32, u32, u32, a - b)
SIM_BINARY(sub_u64, u64, u64, u64, a - b)
SIM_BINARY(sub_sat, s32, s32, s32, sum_sat((int64_t)a - b))

SIM_BINARY(mul_lo_16, u16, u16, u16, (uint32_t)a * b)
SIM_BINARY(mul_lo_32, u32, u32, u32, a * b)
SIM_BINARY(mul_lo_64, u64, u64, u64, a * b)
SIM_BINARY(mul_hi_u16, u16, u16, u16, (uint32_t)a * b >> 16)
SIM_BINARY(mul_hi_s16, u16, s16, s16, (uint32_t)((int32_t)a * b) >> 16)
SIM_BINARY(mul_hi_u32, u32, u32, u32, (uint64_t)a * b >> 32)
SIM_BINARY(mul_hi_s32, u32, s32, s32, (uint64_t)((int64_t)a * b) >> 32)
SIM_BINARY(mul_hi_u64, u64, u64, u64, high_u64(a, b))
SIM_BINARY(mul_hi_s64, u64, s64, s64, high_s64(a, b))
SIM_BINARY(mul_wide_u16, u32, u16, u16, (uint32_t)a * b)
SIM_BINARY(mul_wide_s16, u32, s16, s16, (int32_t)a * b)
SIM_BINARY(mul_wide_u32, u64, u32, u32, (uint64_t)a * b)
SIM_BINARY(mul_wide_s32, u64, s32, s32, (int64_t)a * b)

SIM_TERNARY(mad_lo_16, u16, u16, u16, u16, (uint32_t)a * b + c)
SIM_TERNARY(mad_lo_32, u32, u32, u32, u32, a * b + c)
SIM_TERNARY(mad_lo_64, u64, u64, u64, u64, a * b + c)
SIM_TERNARY(mad_hi_u16, u16, u16, u16, u16, ((uint32_t)a * b >> 16) + c)
SIM_TERNARY(mad_hi_s16, u16, s16, s16, u16, ((uint32_t)((int32_t)a * b) >> 16) + c)
SIM_TERNARY(mad_hi_u32, u32, u32, u32, u32, ((uint64_t)a * b >> 32) + c)
SIM_TERNARY(mad_hi_s32, u32, s32, s32, u32, ((uint64_t)((int64_t)a * b) >> 32) + c)
SIM_TERNARY(mad_hi_sat, s32, s32, s32, s32, sum_sat((((int64_t)a * b) >> 32) + c))
SIM_TERNARY(mad_hi_u64, u64, u64, u64, u64, high_u64(a, b) + c)
SIM_TERNARY(mad_hi_s64, u64, s64, s64, u64, high_s64(a, b) + c)
SIM_TERNARY(mad_wide_u16, u32, u16, u16, u32, (uint32_t)a * b + c)
SIM_TERNARY(mad_wide_s16, u32, s16, s16, u32, (uint32_t)((int32_t)a * b) + c)
SIM_TERNARY(mad_wide_u32, u64, u32, u32, u64, (uint64_t)a * b + c)
SIM_TERNARY(mad_wide_s32, u64, s32, s32, u64, (uint64_t)((int64_t)a * b) + c)

/* Division by zero gives all ones, which the ISA leaves open.  */
SIM_BINARY(div_u16, u16, u16, u16, b ? a / b : 0xffff)
SIM_BINARY(div_s16, s16, s16, s16, div_s64(a, b))
SIM_BINARY(div_u32, u32, u32, u32, b ? a / b : UINT32_MAX)
SIM_BINARY(div_s32, s32, s32, s32, div_s64(a, b))
SIM_BINARY(div_u64, u64, u64, u64, b ? a / b : UINT64_MAX)
SIM_BINARY(div_s64_lanes, s64, s64, s64, div_s64(a, b))
SIM_BINARY(rem_u16, u16, u16, u16, b ? a % b : a)
SIM_BINARY(rem_s16, s16, s16, s16, b ? a - div_s64(a, b) * b : a)
SIM_BINARY(rem_u32, u32, u32, u32, b ? a % b : a)
SIM_BINARY(rem_s32, s32, s32, s32, b ? a - div_s64(a, b) * b : a)
SIM_BINARY(rem_u64, u64, u64, u64, b ? a % b : a)
SIM_BINARY(rem_s64, s64, s64, s64,
           b ? (int64_t)((uint64_t)a - (uint64_t)div_s64(a, b) * (uint64_t)b) : a)

SIM_UNARY(abs_s16, u16, s16, a < 0 ? -a : a)
SIM_UNARY(abs_s32, u32, s32, a < 0 ? 0u - (uint32_t)a : (uint32_t)a)
SIM_UNARY(abs_s64, u64, s64, a < 0 ? 0u - (uint64_t)a : (uint64_t)a)
SIM_UNARY(neg_s16, u16, u16, 0u - a)
SIM_UNARY(neg_s32, u32, u32, 0u - a)
SIM_UNARY(neg_s64, u64, u64, 0u - a)

SIM_BINARY(min_u16, u16, u16, u16, a < b ? a : b)
SIM_BINARY(min_s16, s16, s16, s16, a < b ? a : b)
SIM_BINARY(min_u32, u32, u32, u32, a < b ? a : b)
SIM_BINARY(min_s32, s32, s32, s32, a < b ? a : b)
SIM_BINARY(min_u64, u64, u64, u64, a < b ? a : b)
SIM_BINARY(min_s64, s64, s64, s64, a < b ? a : b)
SIM_BINARY(max_u16, u16, u16, u16, a > b ? a : b)
SIM_BINARY(max_s16, s16, s16, s16, a > b ? a : b)
SIM_BINARY(max_u32, u32, u32, u32, a > b ? a : b)
SIM_BINARY(max_s32, s32, s32, s32, a > b ? a : b)
SIM_BINARY(max_u64, u64, u64, u64, a > b ? a : b)
SIM_BINARY(max_s64, s64, s64, s64, a > b ? a : b)
SIM_BINARY(min_relu, s32, s32, s32, a < b ? (a > 0 ? a : 0) : (b > 0 ? b : 0))
SIM_BINARY(max_relu, s32, s32, s32, a > b ? (a > 0 ? a : 0) : (b > 0 ? b : 0))

/* Two 16-bit values in a word.  */
static inline uint32_t pack(uint32_t low, uint32_t high) { return (low & 0xffff) | high << 16; }
static inline int32_t low_s(uint32_t v) { return (int16_t)(uint16_t)v; }
static inline int32_t high_s(uint32_t v) { return (int16_t)(uint16_t)(v >> 16); }
static inline uint32_t min_u(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t max_u(uint32_t a, uint32_t b) { return a > b ? a : b; }
static inline uint32_t min_s(int32_t a, int32_t b) { return (uint32_t)(a < b ? a : b); }
static inline uint32_t max_s(int32_t a, int32_t b) { return (uint32_t)(a > b ? a : b); }
static inline uint32_t relu_s(uint32_t v) { return (int32_t)v > 0 ? v : 0; }
SIM_BINARY(add_x2, u32, u32, u32, pack(a + b, (a >> 16) + (b >> 16)))
SIM_BINARY(min_u16x2, u32, u32, u32, pack(min_u(a & 0xffff, b & 0xffff), min_u(a >> 16, b >> 16)))
SIM_BINARY(max_u16x2, u32, u32, u32, pack(max_u(a & 0xffff, b & 0xffff), max_u(a >> 16, b >> 16)))
SIM_BINARY(min_s16x2, u32, u32, u32,
           pack(min_s(low_s(a), low_s(b)), min_s(high_s(a), high_s(b))))
SIM_BINARY(max_s16x2, u32, u32, u32,
           pack(max_s(low_s(a), low_s(b)), max_s(high_s(a), high_s(b))))
SIM_BINARY(min_s16x2_relu, u32, u32, u32,
           pack(relu_s(min_s(low_s(a), low_s(b))), relu_s(min_s(high_s(a), high_s(b)))))
SIM_BINARY(max_s16x2_relu, u32, u32, u32,
           pack(relu_s(max_s(low_s(a), low_s(b))), relu_s(max_s(high_s(a), high_s(b)))))

/* Instruction, part of the product (or MOD_COUNT), then the function per type.  */
typedef struct {
    PtxOp op;
    PtxMod part;
    SimExec *u16, *s16, *u32, *s32, *u64, *s64;
} Row;
static const Row rows[] = {
    {OP_ADD, MOD_COUNT, add_u16, add_u16, add_u32, add_u32, add_u64, add_u64},
    {OP_SUB, MOD_COUNT, sub_u16, sub_u16, sub_u32, sub_u32, sub_u64, sub_u64},
    {OP_MUL, MOD_LO, mul_lo_16, mul_lo_16, mul_lo_32, mul_lo_32, mul_lo_64, mul_lo_64},
    {OP_MUL, MOD_HI, mul_hi_u16, mul_hi_s16, mul_hi_u32, mul_hi_s32, mul_hi_u64, mul_hi_s64},
    {OP_MUL, MOD_WIDE, mul_wide_u16, mul_wide_s16, mul_wide_u32, mul_wide_s32, NULL, NULL},
    {OP_MAD, MOD_LO, mad_lo_16, mad_lo_16, mad_lo_32, mad_lo_32, mad_lo_64, mad_lo_64},
    {OP_MAD, MOD_HI, mad_hi_u16, mad_hi_s16, mad_hi_u32, mad_hi_s32, mad_hi_u64, mad_hi_s64},
    {OP_MAD, MOD_WIDE, mad_wide_u16, mad_wide_s16, mad_wide_u32, mad_wide_s32, NULL, NULL},
    {OP_DIV, MOD_COUNT, div_u16, div_s16, div_u32, div_s32, div_u64, div_s64_lanes},
    {OP_REM, MOD_COUNT, rem_u16, rem_s16, rem_u32, rem_s32, rem_u64, rem_s64},
    {OP_ABS, MOD_COUNT, NULL, abs_s16, NULL, abs_s32, NULL, abs_s64},
    {OP_NEG, MOD_COUNT, NULL, neg_s16, NULL, neg_s32, NULL, neg_s64},
    {OP_MIN, MOD_COUNT, min_u16, min_s16, min_u32, min_s32, min_u64, min_s64},
    {OP_MAX, MOD_COUNT, max_u16, max_s16, max_u32, max_s32, max_u64, max_s64},
};

static SimExec *by_type(const Row *r, PtxType t) {
    switch (t) {
    case PTX_U16: return r->u16;
    case PTX_S16: return r->s16;
    case PTX_U32: return r->u32;
    case PTX_S32: return r->s32;
    case PTX_U64: return r->u64;
    case PTX_S64: return r->s64;
    default: return NULL;
    }
}

static SimExec *pick_x2(SimPick *k, PtxType t) {
    bool s = t == PTX_S16X2, relu = s && sim_take(k, MOD_RELU);
    switch (k->p->op) {
    case OP_ADD: return add_x2;
    case OP_MIN: return relu ? min_s16x2_relu : s ? min_s16x2 : min_u16x2;
    case OP_MAX: return relu ? max_s16x2_relu : s ? max_s16x2 : max_u16x2;
    default: return NULL;
    }
}

static SimExec *saturating(SimPick *k, PtxType t, PtxMod part) {
    PtxOp op = k->p->op;
    if (t != PTX_S32) return NULL;
    if (op == OP_ADD && sim_take(k, MOD_SAT)) return add_sat;
    if (op == OP_SUB && sim_take(k, MOD_SAT)) return sub_sat;
    if (op == OP_MAD && part == MOD_HI && sim_take(k, MOD_SAT)) return mad_hi_sat;
    if (op == OP_MIN && sim_take(k, MOD_RELU)) return min_relu;
    if (op == OP_MAX && sim_take(k, MOD_RELU)) return max_relu;
    return NULL;
}

SimExec *sim_pick_int(SimPick *k, PtxType t) {
    PtxMod part = sim_take(k, MOD_LO)     ? MOD_LO
                  : sim_take(k, MOD_HI)   ? MOD_HI
                  : sim_take(k, MOD_WIDE) ? MOD_WIDE
                                          : MOD_COUNT;
    int bits = sim_type_bits(t), to = part == MOD_WIDE ? 2 * bits : bits;
    if (!sim_want_bits(k, 0, to) || !sim_want_bits(k, 1, bits)) return NULL;
    for (int n = 2; n < k->i->n_opnd; n++) {
        if (!sim_want_bits(k, n, n == 3 ? to : bits)) return NULL;
    }
    if (t == PTX_U16X2 || t == PTX_S16X2) return pick_x2(k, t);
    SimExec *sat = saturating(k, t, part);
    if (sat) return sat;
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        if (rows[n].op == k->p->op && rows[n].part == part) return by_type(&rows[n], t);
    }
    return NULL;
}
