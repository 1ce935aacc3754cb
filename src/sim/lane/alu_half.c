/* Arithmetic on f16 and bf16, scalar and in pairs.  Operations are exact in f64 (or rounded to odd)
 * and rounded once.  */
#include "sim/lane/alu.h"
#include "sim/lane/half.h"
#include <math.h>

double sim_half_value(PtxType t, uint32_t bits, bool ftz) {
    uint16_t h = (uint16_t)bits;
    if (ftz && (h & (sim_is_bf16(t) ? 0x7f80 : 0x7c00)) == 0) h &= 0x8000;
    return sim_is_bf16(t) ? num_bf16_decode(h) : num_f16_decode(h);
}

uint32_t sim_half_bits(PtxType t, double v, Round r, bool ftz) {
    if (v != v) return 0x7fff;
    uint16_t h = sim_is_bf16(t) ? num_bf16_encode(v, r, false) : num_f16_encode(v, r, false);
    if (ftz && (h & (sim_is_bf16(t) ? 0x7f80 : 0x7c00)) == 0) h &= 0x8000;
    return h;
}

uint32_t sim_half_one(PtxType t) {
    return t == PTX_F32 ? 0x3f800000 : sim_is_bf16(t) ? 0x3f80 : 0x3c00;
}

/* SimInst.flags.  */
enum { HAS_FTZ = 1, HAS_SAT = 2, HAS_NAN = 4, HAS_XORSIGN = 8, HAS_ABS = 16, HAS_RELU = 32 };

static uint32_t lesser(PtxType t, bool min, uint32_t a, uint32_t b, int flags) {
    double x = sim_half_value(t, a, flags & HAS_FTZ), y = sim_half_value(t, b, flags & HAS_FTZ);
    if (flags & HAS_NAN && (x != x || y != y)) return 0x7fff;
    uint32_t sign = (a ^ b) & 0x8000;
    if (flags & HAS_ABS) {
        x = fabs(x);
        y = fabs(y);
    }
    double v;
    if (x != x || y != y) v = x != x ? y : x;
    else if (x == y) v = (signbit(x) != 0) == min ? x : y;
    else v = (x < y) == min ? x : y;
    uint32_t h = sim_half_bits(t, v, ROUND_NEAREST_EVEN, false);
    return flags & HAS_XORSIGN && v == v ? (h & 0x7fff) | sign : h;
}

static uint32_t step(const SimInst *i, PtxType t, uint32_t a, uint32_t b, uint32_t c) {
    int flags = i->flags;
    bool ftz = flags & HAS_FTZ;
    PtxOp op = i->ptx->op;
    if (op == OP_MIN || op == OP_MAX) {
        uint32_t v = lesser(t, op == OP_MIN, a, b, flags);
        return i->n_opnd > 3 ? lesser(t, op == OP_MIN, v, c, flags) : v;
    }
    double x = sim_half_value(t, a, ftz);
    if (op == OP_ABS || op == OP_NEG) {
        if (x != x) return 0x7fff;
        uint32_t h = sim_half_bits(t, x, ROUND_NEAREST_EVEN, false);
        return op == OP_ABS ? h & 0x7fff : h ^ 0x8000;
    }
    double y = sim_half_value(t, b, ftz), v;
    if (op == OP_ADD) v = sim_add_odd(x, y);
    else if (op == OP_SUB) v = sim_add_odd(x, -y);
    else if (op == OP_MUL) v = x * y;
    else v = sim_fma_odd(x, y, sim_half_value(t, c, ftz));
    if (flags & HAS_SAT) v = v >= 1 ? 1 : v > 0 ? v : 0;
    if (flags & HAS_RELU && v <= 0) v = 0;
    return sim_half_bits(t, v, (Round)i->arg, ftz);
}

static void exec_scalar(SimWarp *w, const SimInst *i, uint32_t active) {
    uint32_t *d = sim_u32(w, i->d);
    const uint32_t *x = sim_u32(w, i->a);
    const uint32_t *y = i->n_opnd > 2 ? sim_u32(w, i->b) : x;
    const uint32_t *z = i->n_opnd > 3 ? sim_u32(w, i->c) : x;
    PtxType t = i->ptx->type[0];
    SIM_EACH(l, active) d[l] = step(i, t, x[l], y[l], z[l]);
}

static void exec_pair(SimWarp *w, const SimInst *i, uint32_t active) {
    uint32_t *d = sim_u32(w, i->d);
    const uint32_t *x = sim_u32(w, i->a);
    const uint32_t *y = i->n_opnd > 2 ? sim_u32(w, i->b) : x;
    const uint32_t *z = i->n_opnd > 3 ? sim_u32(w, i->c) : x;
    PtxType t = i->ptx->type[0];
    SIM_EACH(l, active) {
        uint32_t low = step(i, t, x[l], y[l], z[l]);
        uint32_t high = step(i, t, x[l] >> 16, y[l] >> 16, z[l] >> 16);
        d[l] = low | high << 16;
    }
}

SimExec *sim_pick_half(SimPick *k, PtxType t) {
    static const struct {
        PtxMod mod;
        int flag;
    } flags[] = {{MOD_FTZ, HAS_FTZ}, {MOD_SAT, HAS_SAT}, {MOD_NAN, HAS_NAN},
                 {MOD_XORSIGN, HAS_XORSIGN}, {MOD_ABS, HAS_ABS}, {MOD_RELU, HAS_RELU}};
    SimInst *i = k->i;
    PtxOp op = k->p->op;
    bool pair = t == PTX_F16X2 || t == PTX_BF16X2;
    for (int n = 0; n < i->n_opnd; n++) {
        if (!sim_want_bits(k, n, pair ? 32 : 16)) return NULL;
    }
    for (size_t n = 0; n < sizeof flags / sizeof flags[0]; n++) {
        if (sim_take(k, flags[n].mod)) i->flags |= (uint8_t)flags[n].flag;
    }
    PtxMod rounding = sim_take_rounding(k);
    if (rounding != MOD_COUNT && rounding != MOD_RN)
        return sim_pick_fail(k, "rounds with .rn only");
    if (op == OP_DIV || op == OP_MAD) return NULL;
    bool arithmetic = op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_FMA;
    if (arithmetic) i->flops = (uint8_t)((op == OP_FMA ? 2 : 1) * (pair ? 2 : 1));
    i->pipe = SIM_PIPE_HFMA;
    i->arg = ROUND_NEAREST_EVEN;
    return pair ? exec_pair : exec_scalar;
}

/* ---- pairs of f32 in 64-bit registers ---- */

static float step32(const SimInst *i, float a, float b, float c) {
    if (i->flags & HAS_FTZ) {
        a = sim_ftz(a);
        b = sim_ftz(b);
        c = sim_ftz(c);
    }
    Round r = (Round)i->arg;
    double v;
    switch (i->ptx->op) {
    case OP_ADD: v = sim_add_odd(a, b); break;
    case OP_SUB: v = sim_add_odd(a, -(double)b); break;
    case OP_MUL: v = (double)a * b; break;
    default: v = sim_fma_odd(a, b, c); break;
    }
    float f = v != v ? sim_float(0x7fffffffu) : num_f32_encode(v, r);
    return i->flags & HAS_FTZ ? sim_ftz(f) : f;
}

static void exec_f32x2(SimWarp *w, const SimInst *i, uint32_t active) {
    uint64_t *d = sim_u64(w, i->d);
    const uint64_t *x = sim_u64(w, i->a), *y = sim_u64(w, i->b);
    const uint64_t *z = i->n_opnd > 3 ? sim_u64(w, i->c) : x;
    SIM_EACH(l, active) {
        uint64_t v = 0;
        for (int s = 0; s < 64; s += 32) {
            float f = step32(i, sim_float((uint32_t)(x[l] >> s)), sim_float((uint32_t)(y[l] >> s)),
                             sim_float((uint32_t)(z[l] >> s)));
            v |= (uint64_t)sim_bits32(f) << s;
        }
        d[l] = v;
    }
}

SimExec *sim_pick_f32x2(SimPick *k) {
    SimInst *i = k->i;
    PtxOp op = k->p->op;
    for (int n = 0; n < i->n_opnd; n++) {
        if (!sim_want_bits(k, n, 64)) return NULL;
    }
    if (op != OP_ADD && op != OP_SUB && op != OP_MUL && op != OP_FMA) return NULL;
    if (sim_take(k, MOD_FTZ)) i->flags = HAS_FTZ;
    i->arg = (uint16_t)sim_round(sim_take_rounding(k));
    i->flops = op == OP_FMA ? 4 : 2;
    i->pipe = SIM_PIPE_FFMA;
    return exec_f32x2;
}
