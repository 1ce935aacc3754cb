/* cvt: a source value becomes an integer or an f64 that holds it exactly, is rounded once into the
 * destination type, and written in the width of the destination register.  */
#include "sim/lane/alu.h"
#include "sim/lane/convert.h"
#include "sim/lane/half.h"
#include "sim/lane/lanes.h"
#include <math.h>

/* ---- reading ---- */

static uint64_t raw(const SimWarp *w, const SimOpnd *o, int lane) {
    return o->wide ? sim_u64(w, o->slot[0])[lane] : sim_u32(w, o->slot[0])[lane];
}

static uint64_t extend(PtxType t, uint64_t bits) {
    int n = sim_type_bits(t);
    if (n >= 64) return bits;
    uint64_t mask = ((uint64_t)1 << n) - 1, sign = (uint64_t)1 << (n - 1);
    bits &= mask;
    return ptx_signed(t) && bits & sign ? bits | ~mask : bits;
}

static double read_real(PtxType t, uint64_t bits, bool ftz) {
    switch (t) {
    case PTX_F64: return sim_double(bits);
    case PTX_F32: {
        float v = sim_float((uint32_t)bits);
        return ftz ? sim_ftz(v) : v;
    }
    default: return sim_half_value(t, (uint32_t)bits, false);
    }
}

/* ---- integers to reals ---- */

/* 64 bits do not fit f64: the last bit becomes odd where bits are lost.  */
static double real_odd(uint64_t v) {
    if (v >> 53 == 0) return (double)v;
    int shift = 0;
    while (v >> shift >> 54) shift++;
    shift++;
    uint64_t kept = v >> shift, lost = v & (((uint64_t)1 << shift) - 1);
    return ldexp((double)(kept | (lost != 0)), shift);
}

static double directed_f64(uint64_t v, Round r, bool negative) {
    double q = (double)v;
    bool over = q >= 0x1p64 || (uint64_t)q > v, under = !over && (uint64_t)q < v;
    bool grow = r == ROUND_UP ? !negative : r == ROUND_DOWN ? negative : false;
    if (r == ROUND_NEAREST_EVEN) return q;
    if (over && !grow) return nextafter(q, 0);
    return under && grow ? nextafter(q, INFINITY) : q;
}

static double from_integer(PtxType from, PtxType to, uint64_t bits, Round r) {
    bool negative = ptx_signed(from) && (int64_t)bits < 0;
    uint64_t magnitude = negative ? 0 - bits : bits;
    double v = to == PTX_F64 ? directed_f64(magnitude, r, negative) : real_odd(magnitude);
    return negative ? -v : v;
}

/* ---- reals to integers ---- */

static double round_integral(double v, Round r) {
    double low = floor(v), rest = v - low;
    if (!isfinite(v) || rest == 0) return v;
    double up = low + 1, to;
    switch (r) {
    case ROUND_TO_ZERO: to = v < 0 ? up : low; break;
    case ROUND_DOWN: to = low; break;
    case ROUND_UP: to = up; break;
    default: to = rest > 0.5 || (rest == 0.5 && fmod(low, 2) != 0) ? up : low; break;
    }
    return copysign(to, v);
}

static uint64_t to_integer(PtxType to, double v, Round r) {
    int bits = sim_type_bits(to);
    if (v != v) return 0;
    v = round_integral(v, r);
    if (ptx_signed(to)) {
        double limit = ldexp(1, bits - 1);
        if (v >= limit) return ((uint64_t)1 << (bits - 1)) - 1;
        return v < -limit ? 0 - ((uint64_t)1 << (bits - 1)) : (uint64_t)(int64_t)v;
    }
    double limit = ldexp(1, bits);
    if (v >= limit) return bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    return v <= 0 ? 0 : (uint64_t)v;
}

/* ---- integers to integers ---- */

static uint64_t saturate(PtxType to, PtxType from, uint64_t v) {
    int bits = sim_type_bits(to);
    bool negative = ptx_signed(from) && (int64_t)v < 0;
    uint64_t most = ptx_signed(to) ? ((uint64_t)1 << (bits - 1)) - 1
                    : bits == 64   ? UINT64_MAX
                                   : ((uint64_t)1 << bits) - 1;
    if (!negative) return v > most ? most : v;
    if (!ptx_signed(to)) return 0;
    int64_t least = -(int64_t)most - 1;
    return (int64_t)v < least ? (uint64_t)least : v;
}

/* ---- one value ---- */

static uint64_t real_result(const SimCvt *c, double v) {
    if (c->integral) v = round_integral(v, c->round);
    return sim_encode(c, c->to, v);
}

static uint64_t convert(const SimCvt *c, uint64_t bits) {
    if (ptx_is_int(c->from)) {
        uint64_t v = extend(c->from, bits);
        if (!ptx_is_int(c->to)) return real_result(c, from_integer(c->from, c->to, v, c->round));
        return extend(c->to, c->sat ? saturate(c->to, c->from, v) : v);
    }
    double v = read_real(c->from, bits, c->ftz);
    return ptx_is_int(c->to) ? extend(c->to, to_integer(c->to, v, c->round)) : real_result(c, v);
}

static void exec_cvt(SimWarp *w, const SimInst *i, uint32_t active) {
    const SimCvt *c = i->extra;
    const SimOpnd *to = &i->opnd[0], *from = &i->opnd[1];
    uint32_t mask = to->bits == 16 ? 0xffff : to->bits == 8 ? 0xff : UINT32_MAX;
    SIM_EACH(l, active) {
        uint64_t v = convert(c, raw(w, from, l));
        if (to->wide) sim_u64(w, to->slot[0])[l] = v;
        else sim_u32(w, to->slot[0])[l] = (uint32_t)v & mask;
    }
}

/* ---- the usual ones ---- */

SIM_UNARY(s64_s32, u64, s32, (int64_t)a)
SIM_UNARY(u64_u32, u64, u32, (uint64_t)a)
SIM_UNARY(u32_u64, u32, u64, (uint32_t)a)
SIM_UNARY(u32_u16, u32, u16, a)
SIM_UNARY(s32_s16, u32, s16, (int32_t)a)
SIM_UNARY(u16_u32, u16, u32, a)
SIM_UNARY(f32_s32, f32, s32, (float)a)
SIM_UNARY(f32_u32, f32, u32, (float)a)
SIM_UNARY(f64_f32, f64, f32, a != a ? sim_double(0x7fffffffffffffffull) : (double)a)

typedef struct {
    PtxType to, from;
    int to_bits, from_bits;               /* of the registers */
    SimExec *exec;
} Usual;
static const Usual usual[] = {
    {PTX_S64, PTX_S32, 64, 32, s64_s32}, {PTX_U64, PTX_S32, 64, 32, s64_s32},
    {PTX_U64, PTX_U32, 64, 32, u64_u32}, {PTX_S64, PTX_U32, 64, 32, u64_u32},
    {PTX_U32, PTX_U64, 32, 64, u32_u64}, {PTX_S32, PTX_S64, 32, 64, u32_u64},
    {PTX_U32, PTX_S64, 32, 64, u32_u64}, {PTX_S32, PTX_U64, 32, 64, u32_u64},
    {PTX_U32, PTX_U16, 32, 16, u32_u16}, {PTX_S32, PTX_S16, 32, 16, s32_s16},
    {PTX_U16, PTX_U32, 16, 32, u16_u32}, {PTX_F32, PTX_S32, 32, 32, f32_s32},
    {PTX_F32, PTX_U32, 32, 32, f32_u32}, {PTX_F64, PTX_F32, 64, 32, f64_f32},
};

static SimExec *pick_usual(const SimPick *k, const SimCvt *c) {
    if (c->sat || c->ftz || c->relu || c->integral || c->round != ROUND_NEAREST_EVEN) return NULL;
    for (size_t n = 0; n < sizeof usual / sizeof usual[0]; n++) {
        const Usual *u = &usual[n];
        const SimOpnd *o = k->i->opnd;
        if (u->to == c->to && u->from == c->from && u->to_bits == o[0].bits &&
            u->from_bits == o[1].bits) {
            return u->exec;
        }
    }
    return NULL;
}

static bool is_real(PtxType t) {
    return t == PTX_F16 || t == PTX_BF16 || t == PTX_F32 || t == PTX_F64;
}

/* A register may be larger than its type here.  */
static bool fits(const SimOpnd *o, PtxType t) {
    return o->bits == 0 || (o->bits > 1 && o->bits <= 64 && o->bits >= sim_type_bits(t));
}

static void take_rounding(SimPick *k, SimCvt *c) {
    static const struct {
        PtxMod mod;
        Round round;
        bool integral;
    } modes[] = {
        {MOD_RN, ROUND_NEAREST_EVEN, false}, {MOD_RZ, ROUND_TO_ZERO, false},
        {MOD_RM, ROUND_DOWN, false},         {MOD_RP, ROUND_UP, false},
        {MOD_RNA, ROUND_NEAREST_AWAY, false}, {MOD_RNI, ROUND_NEAREST_EVEN, true},
        {MOD_RZI, ROUND_TO_ZERO, true},      {MOD_RMI, ROUND_DOWN, true},
        {MOD_RPI, ROUND_UP, true},
    };
    for (size_t n = 0; n < sizeof modes / sizeof modes[0]; n++) {
        if (!sim_take(k, modes[n].mod)) continue;
        c->round = modes[n].round;
        c->integral = modes[n].integral;
        c->rounded = true;
    }
}

SimExec *sim_pick_cvt(SimPick *k) {
    SimCvt *c = ARENA_NEW(k->arena, SimCvt);
    c->to = sim_take_type(k);
    c->from = sim_take_type(k);
    c->round = ROUND_NEAREST_EVEN;
    take_rounding(k, c);
    c->ftz = sim_take(k, MOD_FTZ);
    c->sat = sim_take(k, MOD_SAT);
    c->relu = sim_take(k, MOD_RELU);
    c->satfinite = sim_take(k, MOD_SATFINITE);
    k->i->extra = c;
    if (k->p->op == OP_CVT_PACK) return sim_pick_cvt_pack(k, c);
    bool scalar =
        (ptx_is_int(c->to) || is_real(c->to)) && (ptx_is_int(c->from) || is_real(c->from));
    if (!scalar) return sim_pick_cvt_small(k, c);
    if (k->i->n_opnd != 2) return sim_pick_fail(k, "takes one source");
    if (!fits(&k->i->opnd[0], c->to) || !fits(&k->i->opnd[1], c->from)) {
        return sim_pick_fail(k, "has a register of the wrong size");
    }
    bool needs = is_real(c->from) != is_real(c->to) ||
                 (is_real(c->from) && sim_type_bits(c->from) > sim_type_bits(c->to));
    if (needs && !c->rounded) return sim_pick_fail(k, "needs a rounding");
    SimExec *fast = pick_usual(k, c);
    return fast ? fast : exec_cvt;
}
