/* Conversions from and to packed and small formats: pairs of f16 and bf16, tf32, 8, 6 and 4
 * bits.  */
#include "sim/lane/alu.h"
#include "sim/lane/convert.h"
#include "sim/lane/half.h"
#include <math.h>

/* An element of a packed type, its bits, and the bits between elements.  */
static PtxType element_of(PtxType t, int *stride) {
    *stride = 8;
    switch (t) {
    case PTX_F16X2: *stride = 16; return PTX_F16;
    case PTX_BF16X2: *stride = 16; return PTX_BF16;
    case PTX_E4M3X2: return PTX_E4M3;
    case PTX_E5M2X2: return PTX_E5M2;
    case PTX_E2M3X2: return PTX_E2M3;
    case PTX_E3M2X2: return PTX_E3M2;
    case PTX_UE8M0X2: return PTX_UE8M0;
    case PTX_E2M1X2: *stride = 4; return PTX_E2M1;
    default: return PTX_NONE;
    }
}

/* Formats without infinity and NaN: fraction bits and exponent bias.  */
typedef struct {
    int mant, bias, bits;
} Tiny;

static Tiny tiny_of(PtxType t) {
    if (t == PTX_E2M1) return (Tiny){1, 1, 4};
    return t == PTX_E2M3 ? (Tiny){3, 1, 6} : (Tiny){2, 3, 6};
}

static double tiny_value(Tiny f, unsigned code) {
    int field = (int)(code >> f.mant), fraction = (int)(code & ((1u << f.mant) - 1));
    if (field == 0) return ldexp(fraction, 1 - f.bias - f.mant);
    return ldexp(fraction + (1 << f.mant), field - f.bias - f.mant);
}

/* Nearest, ties to even; NaN and what is too large become the largest.  */
static unsigned tiny_encode(Tiny f, double v) {
    unsigned codes = 1u << (f.bits - 1), best = codes - 1;
    double a = fabs(v);
    unsigned sign = signbit(v) && v == v ? codes : 0;
    if (!(a < tiny_value(f, best))) return best | sign;
    for (unsigned c = 0; c + 1 < codes; c++) {
        double low = tiny_value(f, c), high = tiny_value(f, c + 1);
        if (a > high) continue;
        double mid = (low + high) / 2;
        best = a < mid || (a == mid && (c & 1) == 0) ? c : c + 1;
        break;
    }
    return best | sign;
}

/* A power of two, rounded towards zero or up; NaN is 0xff.  */
static unsigned ue8m0_encode(double v, Round r, bool satfinite) {
    int e;
    if (v != v) return 0xff;
    if (isinf(v)) return satfinite ? 0xfe : 0xff;
    double m = frexp(fabs(v), &e);
    if (m == 0) return 0;
    int exponent = e - 1 + (r == ROUND_UP && m > 0.5);
    if (exponent > 127) return satfinite || r == ROUND_TO_ZERO ? 0xfe : 0xff;
    return exponent < -127 ? 0 : (unsigned)(exponent + 127);
}

static double clamp_finite(PtxType t, double v) {
    double most = t == PTX_F16 ? 65504 : t == PTX_BF16 ? 0x1.fep127 : 0x1.fffffep127;
    return v > most ? most : v < -most ? -most : v;
}

static uint32_t encode_f32(const SimCvt *c, double v) {
    float f = v != v ? sim_float(0x7fffffffu) : num_f32_encode(v, c->round);
    if (c->ftz) f = sim_ftz(f);
    return sim_bits32(c->sat ? sim_sat(f) : f);
}

uint64_t sim_encode(const SimCvt *c, PtxType t, double v) {
    if (c->relu && v <= 0) v = 0;
    if (c->sat) v = v >= 1 ? 1 : v > 0 ? v : 0;
    if (c->satfinite && v == v && (t == PTX_F16 || t == PTX_BF16)) v = clamp_finite(t, v);
    switch (t) {
    case PTX_F64: return v != v ? 0x7fffffffffffffffull : sim_bits64(v);
    case PTX_F32: return encode_f32(c, v);
    case PTX_TF32: {
        if (v != v) return 0x7fffffff;
        if (c->satfinite) v = clamp_finite(t, v);
        return num_tf32((float)v, c->round);
    }
    case PTX_E4M3: return num_e4m3_encode(v, c->round);
    case PTX_E5M2: return num_e5m2_encode(v, c->round, true);
    case PTX_E2M1:
    case PTX_E2M3:
    case PTX_E3M2: return tiny_encode(tiny_of(t), v);
    case PTX_UE8M0: return ue8m0_encode(v, c->round, c->satfinite);
    default: return sim_half_bits(t, v, c->round, false);
    }
}

static double decode(PtxType t, uint32_t bits) {
    switch (t) {
    case PTX_E4M3: return num_e4m3_decode((uint8_t)bits);
    case PTX_E5M2: return num_e5m2_decode((uint8_t)bits);
    case PTX_UE8M0: return (bits & 0xff) == 0xff ? NAN : ldexp(1, (int)(bits & 0xff) - 127);
    case PTX_E2M1:
    case PTX_E2M3:
    case PTX_E3M2: {
        Tiny f = tiny_of(t);
        double v = tiny_value(f, bits & ((1u << (f.bits - 1)) - 1));
        return bits >> (f.bits - 1) & 1 ? -v : v;
    }
    default: return sim_half_value(t, bits, false);
    }
}

/* d = {a, b}: two f32 sources, a in the upper half.  */
static void exec_pair_f32(SimWarp *w, const SimInst *i, uint32_t active) {
    const SimCvt *c = i->extra;
    int stride;
    PtxType t = element_of(c->to, &stride);
    uint32_t *d = sim_u32(w, i->d);
    const float *a = sim_f32(w, i->a), *b = sim_f32(w, i->b);
    SIM_EACH(l, active) {
        uint64_t high = sim_encode(c, t, c->ftz ? sim_ftz(a[l]) : a[l]);
        uint64_t low = sim_encode(c, t, c->ftz ? sim_ftz(b[l]) : b[l]);
        d[l] = (uint32_t)(high << stride | low);
    }
}

/* Packed to packed: both elements.  */
static void exec_pair_pair(SimWarp *w, const SimInst *i, uint32_t active) {
    const SimCvt *c = i->extra;
    int to_stride, from_stride;
    PtxType to = element_of(c->to, &to_stride), from = element_of(c->from, &from_stride);
    uint32_t *d = sim_u32(w, i->d);
    const uint32_t *a = sim_u32(w, i->a);
    SIM_EACH(l, active) {
        uint64_t low = sim_encode(c, to, decode(from, a[l]));
        uint64_t high = sim_encode(c, to, decode(from, a[l] >> from_stride));
        d[l] = (uint32_t)(high << to_stride | low);
    }
}

static void exec_tf32(SimWarp *w, const SimInst *i, uint32_t active) {
    const SimCvt *c = i->extra;
    uint32_t *d = sim_u32(w, i->d);
    const float *a = sim_f32(w, i->a);
    SIM_EACH(l, active) d[l] = (uint32_t)sim_encode(c, PTX_TF32, a[l]);
}

SimExec *sim_pick_cvt_small(SimPick *k, SimCvt *c) {
    int stride;
    int n = k->i->n_opnd;
    if (c->to == PTX_TF32 && c->from == PTX_F32 && n == 2) {
        if (!c->rounded) return sim_pick_fail(k, "needs a rounding");
        return sim_want_bits(k, 0, 32) && sim_want_bits(k, 1, 32) ? exec_tf32 : NULL;
    }
    PtxType to = element_of(c->to, &stride);
    if (to == PTX_NONE) return NULL;
    if (!sim_want_bits(k, 0, sim_type_bits(c->to))) return NULL;
    if (c->from == PTX_F32) {
        if (!c->rounded || n != 3) return sim_pick_fail(k, "needs a rounding and two sources");
        return sim_want_bits(k, 1, 32) && sim_want_bits(k, 2, 32) ? exec_pair_f32 : NULL;
    }
    if (element_of(c->from, &stride) == PTX_NONE || n != 2) return NULL;
    return sim_want_bits(k, 1, sim_type_bits(c->from)) ? exec_pair_pair : NULL;
}

/* ---- cvt.pack.sat: two s32 saturate into halves (or bytes, above the low part of c) ---- */

static uint32_t clamp_int(PtxType t, int32_t v) {
    int bits = sim_type_bits(t);
    int32_t most = ptx_signed(t) ? (1 << (bits - 1)) - 1 : (int32_t)((1u << bits) - 1);
    int32_t least = ptx_signed(t) ? -most - 1 : 0;
    int32_t x = v > most ? most : v < least ? least : v;
    return (uint32_t)x & ((1u << bits) - 1);
}

static void exec_pack(SimWarp *w, const SimInst *i, uint32_t active) {
    const SimCvt *c = i->extra;
    int bits = sim_type_bits(c->to);
    uint32_t *d = sim_u32(w, i->d);
    const uint32_t *a = sim_u32(w, i->a), *b = sim_u32(w, i->b);
    const uint32_t *z = i->n_opnd > 3 ? sim_u32(w, i->c) : NULL;
    SIM_EACH(l, active) {
        uint32_t v = clamp_int(c->to, (int32_t)a[l]) << bits | clamp_int(c->to, (int32_t)b[l]);
        d[l] = z ? v | z[l] << (2 * bits) : v;
    }
}

SimExec *sim_pick_cvt_pack(SimPick *k, SimCvt *c) {
    int n = k->i->n_opnd, bits = sim_type_bits(c->to);
    if (!c->sat || c->from != PTX_S32) return sim_pick_fail(k, "needs .sat and .s32");
    if (n == 4 && sim_take_type(k) != PTX_B32) return sim_pick_fail(k, "needs .b32");
    bool good = n == 3 ? bits == 16 : bits >= 2 && bits <= 8;
    if (!good || (c->to < PTX_B4 || c->to > PTX_S16)) return NULL;
    for (int o = 0; o < n; o++) {
        if (!sim_want_bits(k, o, 32)) return NULL;
    }
    return exec_pack;
}
