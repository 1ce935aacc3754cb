/* The integer family: bits, shifts, carries, bytes.  */
#include "sim/lane/alu.h"
#include "sim/lane/lanes.h"

SIM_BINARY(and_16, u16, u16, u16, a & b)
SIM_BINARY(and_32, u32, u32, u32, a & b)
SIM_BINARY(and_64, u64, u64, u64, a & b)
SIM_BINARY(or_16, u16, u16, u16, a | b)
SIM_BINARY(or_32, u32, u32, u32, a | b)
SIM_BINARY(or_64, u64, u64, u64, a | b)
SIM_BINARY(xor_16, u16, u16, u16, a ^ b)
SIM_BINARY(xor_32, u32, u32, u32, a ^ b)
SIM_BINARY(xor_64, u64, u64, u64, a ^ b)
SIM_UNARY(not_16, u16, u16, ~a)
SIM_UNARY(not_32, u32, u32, ~a)
SIM_UNARY(not_64, u64, u64, ~a)
SIM_UNARY(cnot_16, u16, u16, a == 0)
SIM_UNARY(cnot_32, u32, u32, a == 0)
SIM_UNARY(cnot_64, u64, u64, a == 0)

/* Shifts beyond the width clamp.  */
SIM_BINARY(shl_16, u16, u16, u32, b > 15 ? 0 : (uint32_t)a << b)
SIM_BINARY(shl_32, u32, u32, u32, b > 31 ? 0 : a << b)
SIM_BINARY(shl_64, u64, u64, u32, b > 63 ? 0 : a << b)
SIM_BINARY(shr_u16, u16, u16, u32, b > 15 ? 0 : a >> b)
SIM_BINARY(shr_s16, s16, s16, u32, a >> (b > 15 ? 15 : b))
SIM_BINARY(shr_u32, u32, u32, u32, b > 31 ? 0 : a >> b)
SIM_BINARY(shr_s32, s32, s32, u32, a >> (b > 31 ? 31 : b))
SIM_BINARY(shr_u64, u64, u64, u32, b > 63 ? 0 : a >> b)
SIM_BINARY(shr_s64, s64, s64, u32, a >> (b > 63 ? 63 : b))

static inline uint64_t join(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }
static inline uint32_t clamp32(uint32_t n) { return n > 32 ? 32 : n; }
SIM_TERNARY(shf_l_wrap, u32, u32, u32, u32, join(a, b) << (c & 31) >> 32)
SIM_TERNARY(shf_l_clamp, u32, u32, u32, u32,
            clamp32(c) == 32 ? a : (uint32_t)(join(a, b) << clamp32(c) >> 32))
SIM_TERNARY(shf_r_wrap, u32, u32, u32, u32, join(a, b) >> (c & 31))
SIM_TERNARY(shf_r_clamp, u32, u32, u32, u32, join(a, b) >> clamp32(c))

static inline uint32_t count_bits(uint32_t v) { return (uint32_t)sim_popcount(v); }
static inline uint32_t top_bit(uint32_t v) {             /* position of the highest one; v != 0 */
    v |= v >> 1;
    v |= v >> 2;
    v |= v >> 4;
    v |= v >> 8;
    v |= v >> 16;
    return count_bits(v) - 1;
}
static inline uint32_t top_bit64(uint64_t v) {
    return v >> 32 ? 32 + top_bit((uint32_t)(v >> 32)) : top_bit((uint32_t)v);
}
static inline uint32_t reverse32(uint32_t v) {
    v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
    v = (v >> 8 & 0x00ff00ffu) | (v & 0x00ff00ffu) << 8;
    return v >> 16 | v << 16;
}
SIM_UNARY(popc_32, u32, u32, count_bits(a))
SIM_UNARY(popc_64, u32, u64, count_bits((uint32_t)a) + count_bits((uint32_t)(a >> 32)))
SIM_UNARY(clz_32, u32, u32, a ? 31 - top_bit(a) : 32)
SIM_UNARY(clz_64, u32, u64, a ? 63 - top_bit64(a) : 64)
SIM_UNARY(brev_32, u32, u32, reverse32(a))
SIM_UNARY(brev_64, u64, u64, join(reverse32((uint32_t)(a >> 32)), reverse32((uint32_t)a)))

/* The highest bit that differs from the sign; .shiftamt gives the distance to the top instead.  */
static inline uint32_t find_high(uint64_t v, uint32_t width, uint32_t shiftamt) {
    if (v == 0) return UINT32_MAX;
    uint32_t at = top_bit64(v);
    return shiftamt ? width - 1 - at : at;
}
SIM_UNARY(bfind_u32, u32, u32, find_high(a, 32, i->arg))
SIM_UNARY(bfind_s32, u32, s32, find_high((uint32_t)(a < 0 ? ~a : a), 32, i->arg))
SIM_UNARY(bfind_u64, u32, u64, find_high(a, 64, i->arg))
SIM_UNARY(bfind_s64, u32, s64, find_high((uint64_t)(a < 0 ? ~a : a), 64, i->arg))

/* The n-th set bit of mask from base, upwards for n > 0, downwards for n < 0.  */
static inline uint32_t find_nth(uint32_t mask, uint32_t base, int32_t n) {
    if (n == 0) return base < 32 && mask >> base & 1 ? base : UINT32_MAX;
    int step = n > 0 ? 1 : -1, count = 0, want = n > 0 ? n : n == INT32_MIN ? INT32_MAX : -n;
    for (int at = (int)(base & 31); at >= 0 && at < 32; at += step) {
        count += (int)(mask >> at & 1);
        if (count == want) return (uint32_t)at;
    }
    return UINT32_MAX;
}
SIM_TERNARY(fns_32, u32, u32, u32, s32, find_nth(a, b, c))

/* Bit fields: position and length are 8 bits; what lies beyond the width reads as the sign (or
 * 0).  */
static inline uint64_t extract(uint64_t a, uint32_t pos, uint32_t len, uint32_t width, bool sign) {
    pos &= 255;
    len &= 255;
    if (len == 0) return 0;
    uint32_t top = pos + len - 1 < width - 1 ? pos + len - 1 : width - 1;
    uint64_t fill = sign && (a >> top & 1) ? UINT64_MAX : 0;
    uint64_t value = pos < width ? a >> pos : 0;
    uint32_t kept = pos < width ? (len < width - pos ? len : width - pos) : 0;
    uint64_t mask = kept >= 64 ? UINT64_MAX : ((uint64_t)1 << kept) - 1;
    return (value & mask) | (fill & ~mask);
}
SIM_TERNARY(bfe_u32, u32, u32, u32, u32, extract(a, b, c, 32, false))
SIM_TERNARY(bfe_s32, u32, u32, u32, u32, extract(a, b, c, 32, true))
SIM_TERNARY(bfe_u64, u64, u64, u32, u32, extract(a, b, c, 64, false))
SIM_TERNARY(bfe_s64, u64, u64, u32, u32, extract(a, b, c, 64, true))

static inline uint64_t insert(uint64_t a, uint64_t b, uint32_t pos, uint32_t len, uint32_t width) {
    pos &= 255;
    len &= 255;
    if (pos >= width || len == 0) return b;
    if (len > width - pos) len = width - pos;
    uint64_t mask = (len >= 64 ? UINT64_MAX : ((uint64_t)1 << len) - 1) << pos;
    return (b & ~mask) | (a << pos & mask);
}
static void bfi_32(SimWarp *w, const SimInst *i, uint32_t active) {
    uint32_t *d = sim_u32(w, i->d);
    const uint32_t *a = sim_u32(w, i->a), *b = sim_u32(w, i->b), *c = sim_u32(w, i->c);
    const uint32_t *len = sim_u32(w, i->opnd[4].slot[0]);
    SIM_EACH(l, active) d[l] = (uint32_t)insert(a[l], b[l], c[l], len[l], 32);
}
static void bfi_64(SimWarp *w, const SimInst *i, uint32_t active) {
    uint64_t *d = sim_u64(w, i->d);
    const uint64_t *a = sim_u64(w, i->a), *b = sim_u64(w, i->b);
    const uint32_t *c = sim_u32(w, i->c), *len = sim_u32(w, i->opnd[4].slot[0]);
    SIM_EACH(l, active) d[l] = insert(a[l], b[l], c[l], len[l], 64);
}

/* i->arg: .clamp (or .wrap).  */
static inline uint32_t sign_extend(uint32_t a, uint32_t n, bool clamp, bool sign) {
    n = clamp ? (n > 32 ? 32 : n) : n & 31;
    if (n == 0) return 0;
    if (n == 32) return a;
    uint32_t mask = (1u << n) - 1;
    return sign && (a >> (n - 1) & 1) ? a | ~mask : a & mask;
}
SIM_BINARY(szext_u32, u32, u32, u32, sign_extend(a, b, i->arg, false))
SIM_BINARY(szext_s32, u32, u32, u32, sign_extend(a, b, i->arg, true))

static inline uint32_t bit_mask(uint32_t at, uint32_t width, bool clamp) {
    if (!clamp) {
        at &= 31;
        width &= 31;
    }
    if (at > 31 || width == 0) return 0;
    uint32_t ones = width > 31 ? UINT32_MAX : (1u << width) - 1;
    return ones << at;
}
SIM_BINARY(bmsk_32, u32, u32, u32, bit_mask(a, b, i->arg))

/* ---- bytes ---- */

static inline int32_t byte_of(uint32_t v, int k, bool s) {
    uint8_t byte = (uint8_t)(v >> (8 * k));
    return s ? (int8_t)byte : byte;
}
static inline int32_t half_of(uint32_t v, int k, bool s) {
    uint16_t half = (uint16_t)(v >> (16 * k));
    return s ? (int16_t)half : half;
}
static inline uint32_t dot4(uint32_t a, uint32_t b, uint32_t c, bool sa, bool sb) {
    for (int k = 0; k < 4; k++) c += (uint32_t)(byte_of(a, k, sa) * byte_of(b, k, sb));
    return c;
}
static inline uint32_t dot2(uint32_t a, uint32_t b, uint32_t c, bool sa, bool sb, int first) {
    for (int k = 0; k < 2; k++) c += (uint32_t)(half_of(a, k, sa) * byte_of(b, first + k, sb));
    return c;
}
/* i->arg: bit 0 a signed, bit 1 b signed, bit 2 the upper bytes of b (dp2a.hi).  */
SIM_TERNARY(dp4a_any, u32, u32, u32, u32, dot4(a, b, c, i->arg & 1, i->arg & 2))
SIM_TERNARY(dp2a_any, u32, u32, u32, u32, dot2(a, b, c, i->arg & 1, i->arg & 2, i->arg >> 1 & 2))

static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t select) {
    uint64_t bytes = join(a, b);
    uint32_t d = 0;
    for (int k = 0; k < 4; k++) {
        uint32_t s = select >> (4 * k), byte = (uint32_t)(bytes >> (8 * (s & 7))) & 0xff;
        if (s & 8) byte = byte & 0x80 ? 0xff : 0;
        d |= byte << (8 * k);
    }
    return d;
}
/* The special modes as selectors of the general one: nibbles for the four values of c & 3.  */
static const uint32_t prmt_modes[6][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543},     /* f4e: forward 4 extract */
    {0x5670, 0x6701, 0x7012, 0x0123},     /* b4e: backward 4 extract */
    {0x0000, 0x1111, 0x2222, 0x3333},     /* rc8: replicate 8 */
    {0x3210, 0x3211, 0x3222, 0x3333},     /* ecl: edge clamp left */
    {0x0000, 0x1110, 0x2210, 0x3210},     /* ecr: edge clamp right */
    {0x1010, 0x3232, 0x1010, 0x3232},     /* rc16: replicate 16 */
};
SIM_TERNARY(prmt_32, u32, u32, u32, u32, permute(a, b, c))
SIM_TERNARY(prmt_mode, u32, u32, u32, u32, permute(a, b, prmt_modes[i->arg][c & 3]))

/* ---- others ---- */

static inline uint32_t logic3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
    uint32_t d = 0;
    for (uint32_t k = 0; k < 8; k++) {
        if (table >> k & 1) d |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    }
    return d;
}
SIM_TERNARY(lop3_32, u32, u32, u32, u32, logic3(a, b, c, i->arg))

/* lop3.BoolOp d|p, a, b, c, immLut, q: p is (d != 0) and or or q.  */
static void lop3_pred(SimWarp *w, const SimInst *i, uint32_t active) {
    uint32_t *d = i->opnd[0].slot[0] == SLOT_NONE ? NULL : sim_u32(w, i->opnd[0].slot[0]);
    const uint32_t *a = sim_u32(w, i->a), *b = sim_u32(w, i->b), *c = sim_u32(w, i->c);
    uint32_t q = sim_pred_of(w, &i->opnd[5]), p = 0;
    SIM_EACH(l, active) {
        uint32_t v = logic3(a[l], b[l], c[l], i->arg & 0xff);
        if (v) p |= 1u << l;
        if (d) d[l] = v;
    }
    sim_set_pred(w, i->opnd[0].slot[1], active, i->arg >> 8 ? p | q : p & q);
}

static inline uint64_t distance(bool less, uint64_t a, uint64_t b) { return less ? b - a : a - b; }
SIM_TERNARY(sad_u16, u16, u16, u16, u16, c + distance(a < b, a, b))
SIM_TERNARY(sad_s16, u16, s16, s16, u16, c + distance(a < b, (uint64_t)a, (uint64_t)b))
SIM_TERNARY(sad_u32, u32, u32, u32, u32, c + distance(a < b, a, b))
SIM_TERNARY(sad_s32, u32, s32, s32, u32, c + distance(a < b, (uint64_t)a, (uint64_t)b))
SIM_TERNARY(sad_u64, u64, u64, u64, u64, c + distance(a < b, a, b))
SIM_TERNARY(sad_s64, u64, s64, s64, u64, c + distance(a < b, (uint64_t)a, (uint64_t)b))

static inline int32_t low24(uint32_t v) { return (int32_t)(v << 8) >> 8; }
SIM_BINARY(mul24_lo_u, u32, u32, u32, (a & 0xffffff) * (b & 0xffffff))
SIM_BINARY(mul24_hi_u, u32, u32, u32, (uint64_t)(a & 0xffffff) * (b & 0xffffff) >> 16)
SIM_BINARY(mul24_lo_s, u32, u32, u32, (int64_t)low24(a) * low24(b))
SIM_BINARY(mul24_hi_s, u32, u32, u32, (int64_t)low24(a) * low24(b) >> 16)
SIM_TERNARY(mad24_lo_u, u32, u32, u32, u32, (a & 0xffffff) * (b & 0xffffff) + c)
SIM_TERNARY(mad24_hi_u, u32, u32, u32, u32, ((uint64_t)(a & 0xffffff) * (b & 0xffffff) >> 16) + c)
SIM_TERNARY(mad24_lo_s, u32, u32, u32, u32, (uint32_t)((int64_t)low24(a) * low24(b)) + c)
SIM_TERNARY(mad24_hi_s, u32, u32, u32, u32, (uint32_t)((int64_t)low24(a) * low24(b) >> 16) + c)

/* ---- choice ---- */

/* Functions by width, or by width and sign (NULL where the ISA has none).  */
typedef struct {
    PtxOp op;
    SimExec *b16, *b32, *b64;
} Bits;
static const Bits bits_rows[] = {
    {OP_AND, and_16, and_32, and_64}, {OP_OR, or_16, or_32, or_64},
    {OP_XOR, xor_16, xor_32, xor_64}, {OP_NOT, not_16, not_32, not_64},
    {OP_CNOT, cnot_16, cnot_32, cnot_64}, {OP_SHL, shl_16, shl_32, shl_64},
    {OP_POPC, NULL, popc_32, popc_64}, {OP_CLZ, NULL, clz_32, clz_64},
    {OP_BREV, NULL, brev_32, brev_64}, {OP_FNS, NULL, fns_32, NULL},
    {OP_BFI, NULL, bfi_32, bfi_64},
};
typedef struct {
    PtxOp op;
    SimExec *u16, *s16, *u32, *s32, *u64, *s64;
} Signs;
static const Signs signs_rows[] = {
    {OP_SHR, shr_u16, shr_s16, shr_u32, shr_s32, shr_u64, shr_s64},
    {OP_BFE, NULL, NULL, bfe_u32, bfe_s32, bfe_u64, bfe_s64},
    {OP_BFIND, NULL, NULL, bfind_u32, bfind_s32, bfind_u64, bfind_s64},
    {OP_SAD, sad_u16, sad_s16, sad_u32, sad_s32, sad_u64, sad_s64},
    {OP_SZEXT, NULL, NULL, szext_u32, szext_s32, NULL, NULL},
};

/* Operands that are 32 bits whatever the type: results of counts, amounts, positions.  */
static bool want_sizes(SimPick *k, int bits) {
    PtxOp op = k->p->op;
    bool count = op == OP_POPC || op == OP_CLZ || op == OP_BFIND;
    int fixed = op == OP_SHL || op == OP_SHR || op == OP_BFE ? 2 : op == OP_BFI ? 3 : 9;
    for (int n = 0; n < k->i->n_opnd; n++) {
        bool word = (n == 0 && count) || n >= fixed;
        if (!sim_want_bits(k, n, word ? 32 : bits)) return false;
    }
    return true;
}

static SimExec *pick_shf(SimPick *k) {
    bool left = sim_take(k, MOD_L), right = sim_take(k, MOD_R);
    bool clamp = sim_take(k, MOD_CLAMP), wrap = sim_take(k, MOD_WRAP);
    if (left == right || clamp == wrap) return sim_pick_fail(k, "needs a direction and a mode");
    if (left) return clamp ? shf_l_clamp : shf_l_wrap;
    return clamp ? shf_r_clamp : shf_r_wrap;
}

static SimExec *pick_prmt(SimPick *k) {
    for (int m = 0; m < 6; m++) {
        if (!sim_take(k, (PtxMod)(MOD_F4E + m))) continue;
        k->i->arg = (uint16_t)m;
        return prmt_mode;
    }
    return prmt_32;
}

static SimExec *pick_lop3(SimPick *k) {
    SimInst *i = k->i;
    bool any = sim_take(k, MOD_OR), all = sim_take(k, MOD_AND);
    if (k->p->n_opnd < 5 || k->p->opnd[4].kind != OPND_INT) {
        return sim_pick_fail(k, "needs an immediate table");
    }
    i->arg = (uint16_t)(k->p->opnd[4].offset & 0xff);
    if (!any && !all) return i->n_opnd == 5 ? lop3_32 : NULL;
    if (i->opnd[0].kind != OPND_PAIR || i->n_opnd != 6 || i->opnd[5].bits != 1 ||
        k->p->opnd[0].elem[1].kind != OPND_REG) {
        return sim_pick_fail(k, "needs d|p and a predicate");
    }
    i->arg = (uint16_t)(i->arg | (any ? 0x100 : 0));
    return lop3_pred;
}

static SimExec *pick_24(SimPick *k, PtxType t) {
    bool hi = sim_take(k, MOD_HI), s = t == PTX_S32, mad = k->p->op == OP_MAD24;
    if (!hi && !sim_take(k, MOD_LO)) return sim_pick_fail(k, "needs .lo or .hi");
    if (mad) return s ? (hi ? mad24_hi_s : mad24_lo_s) : hi ? mad24_hi_u : mad24_lo_u;
    return s ? (hi ? mul24_hi_s : mul24_lo_s) : hi ? mul24_hi_u : mul24_lo_u;
}

static SimExec *pick_dot(SimPick *k, PtxType a) {
    PtxType b = sim_take_type(k);
    bool good = (a == PTX_U32 || a == PTX_S32) && (b == PTX_U32 || b == PTX_S32);
    if (!good) return sim_pick_fail(k, "needs two types, .u32 or .s32");
    k->i->arg = (uint16_t)((a == PTX_S32 ? 1 : 0) | (b == PTX_S32 ? 2 : 0));
    if (k->p->op == OP_DP4A) return dp4a_any;
    if (sim_take(k, MOD_HI)) k->i->arg |= 4;
    else if (!sim_take(k, MOD_LO)) return sim_pick_fail(k, "needs .lo or .hi");
    return dp2a_any;
}

static SimExec *by_width(PtxOp op, PtxType t) {
    for (size_t n = 0; n < sizeof bits_rows / sizeof bits_rows[0]; n++) {
        const Bits *r = &bits_rows[n];
        if (r->op == op)
            return t == PTX_B16 ? r->b16 : t == PTX_B32 ? r->b32 : t == PTX_B64 ? r->b64 : NULL;
    }
    for (size_t n = 0; n < sizeof signs_rows / sizeof signs_rows[0]; n++) {
        const Signs *r = &signs_rows[n];
        if (r->op != op) continue;
        switch (t) {
        case PTX_U16:
        case PTX_B16: return r->u16;
        case PTX_U32:
        case PTX_B32: return r->u32;
        case PTX_U64:
        case PTX_B64: return r->u64;
        case PTX_S16: return r->s16;
        case PTX_S32: return r->s32;
        case PTX_S64: return r->s64;
        default: return NULL;
        }
    }
    return NULL;
}

SimExec *sim_pick_integer(SimPick *k) {
    PtxOp op = k->p->op;
    PtxType t = sim_take_type(k);
    if (op == OP_REM) return sim_pick_int(k, t);
    if (op == OP_ADDC || op == OP_SUBC || op == OP_MADC) return sim_pick_carry(k, t);
    if (t == PTX_PRED) return sim_pick_predicate(k);
    if (op == OP_LOP3) return pick_lop3(k);
    if (!want_sizes(k, sim_type_bits(t))) return NULL;
    if (op == OP_SHF) return pick_shf(k);
    if (op == OP_PRMT) return pick_prmt(k);
    if (op == OP_MUL24 || op == OP_MAD24) return pick_24(k, t);
    if (op == OP_DP4A || op == OP_DP2A) return pick_dot(k, t);
    if (op == OP_BFIND) k->i->arg = sim_take(k, MOD_SHIFTAMT);
    if (op == OP_SZEXT || op == OP_BMSK) {
        k->i->arg = sim_take(k, MOD_CLAMP);
        if (!k->i->arg && !sim_take(k, MOD_WRAP)) return sim_pick_fail(k, "needs .clamp or .wrap");
    }
    return op == OP_BMSK ? bmsk_32 : by_width(op, t);
}
