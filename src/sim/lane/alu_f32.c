/* add, sub, mul, fma, mad, div, abs, neg, min, max on f32.
 *
 * Rounding to nearest has loops of its own, with and without .ftz, as nearly all code uses it; the
 * other modes go through one general function.  */
#include "sim/lane/alu.h"
#include "sim/lane/approx.h"
#include "sim/lane/half.h"
#include "sim/lane/lanes.h"
#include <math.h>

static inline float canonical(float v) { return v != v ? sim_float(0x7fffffffu) : v; }

SIM_BINARY(add_rn, f32, f32, f32, canonical(a + b))
SIM_BINARY(sub_rn, f32, f32, f32, canonical(a - b))
SIM_BINARY(mul_rn, f32, f32, f32, canonical(a * b))
SIM_TERNARY(fma_rn, f32, f32, f32, f32, canonical(fmaf(a, b, c)))
SIM_BINARY(add_rn_ftz, f32, f32, f32, sim_ftz(canonical(sim_ftz(a) + sim_ftz(b))))
SIM_BINARY(sub_rn_ftz, f32, f32, f32, sim_ftz(canonical(sim_ftz(a) - sim_ftz(b))))
SIM_BINARY(mul_rn_ftz, f32, f32, f32, sim_ftz(canonical(sim_ftz(a) * sim_ftz(b))))
SIM_TERNARY(fma_rn_ftz, f32, f32, f32, f32,
            sim_ftz(canonical(fmaf(sim_ftz(a), sim_ftz(b), sim_ftz(c)))))
SIM_BINARY(div_rn, f32, f32, f32, canonical(a / b))
SIM_BINARY(div_rn_ftz, f32, f32, f32, sim_ftz(canonical(sim_ftz(a) / sim_ftz(b))))
SIM_UNARY(abs_f32, u32, u32, a & 0x7fffffffu)
SIM_UNARY(neg_f32, u32, u32, a ^ 0x80000000u)

/* Minimum and maximum order -0 below +0 and return the number of a number and a NaN.  */
static inline float smaller(float a, float b) {
    if (a != a) return canonical(b);
    if (b != b) return a;
    if (a == b) return sim_float(sim_bits32(a) | sim_bits32(b));
    return a < b ? a : b;
}
static inline float larger(float a, float b) {
    if (a != a) return canonical(b);
    if (b != b) return a;
    if (a == b) return sim_float(sim_bits32(a) & sim_bits32(b));
    return a > b ? a : b;
}
SIM_BINARY(min_f32, f32, f32, f32, smaller(a, b))
SIM_BINARY(max_f32, f32, f32, f32, larger(a, b))

/* Everything else, in SimInst.flags and arg.  */
enum { HAS_FTZ = 1, HAS_SAT = 2, HAS_NAN = 4, HAS_XORSIGN = 8, HAS_ABS = 16,
       HAS_FULL = 32 };

/* div.approx and div.full: the first is a * (1 / b), and 1 / b is 0 beyond 2^126
 * (PTX ISA, 9.7.3.8).  */
static float divided(const SimRun *run, float a, float b, int flags) {
    if (flags & HAS_FTZ) {
        a = sim_ftz(a);
        b = sim_ftz(b);
    }
    if (!(flags & HAS_FULL) && fabsf(b) > 0x1p126f && !isinf(b)) return canonical(a * (0 * b));
    uint64_t both = (uint64_t)sim_bits32(a) << 32 | sim_bits32(b);
    double v = sim_approximate(run, OP_DIV, PTX_F32, both, 1, sim_div_odd(a, b));
    float f = v != v ? canonical((float)v) : num_f32_encode(v, ROUND_NEAREST_EVEN);
    return flags & HAS_FTZ ? sim_ftz(f) : f;
}

static void exec_divided(SimWarp *w, const SimInst *i, uint32_t active) {
    float *d = sim_f32(w, i->d);
    const float *a = sim_f32(w, i->a), *b = sim_f32(w, i->b);
    SIM_EACH(l, active) d[l] = divided(w->block->cluster->run, a[l], b[l], i->flags);
}

/* The sign of an exact sum of zero when rounding down: + only for two positive zeros.  */
static float zero_down(double x, double y) {
    return x == 0 && y == 0 && !signbit(x) && !signbit(y) ? 0.0f : -0.0f;
}

static float general(PtxOp op, float a, float b, float c, int flags, Round r) {
    if (flags & HAS_FTZ) {
        a = sim_ftz(a);
        b = sim_ftz(b);
        c = sim_ftz(c);
    }
    double x = a, y = op == OP_SUB ? -b : b, v;
    bool sum = op != OP_MUL && op != OP_DIV;
    if (op == OP_FMA || op == OP_MAD) {
        x = (double)a * b;
        y = c;
    }
    if (sum) v = sim_add_odd(x, y);
    else v = op == OP_MUL ? x * y : sim_div_odd(x, y);
    float f = v != v ? canonical((float)v) : num_f32_encode(v, r);
    if (sum && v == 0 && r == ROUND_DOWN) f = zero_down(x, y);
    if (flags & HAS_FTZ) f = sim_ftz(f);
    return flags & HAS_SAT ? sim_sat(f) : f;
}

static void exec_general(SimWarp *w, const SimInst *i, uint32_t active) {
    float *d = sim_f32(w, i->d);
    const float *x = sim_f32(w, i->a), *y = sim_f32(w, i->b);
    const float *z = i->n_opnd > 3 ? sim_f32(w, i->c) : x;
    SIM_EACH(l, active) d[l] = general(i->ptx->op, x[l], y[l], z[l], i->flags, (Round)i->arg);
}

/* add, sub and fma of sm_100 whose factors, or first term, are f16 or bf16.  */
static void exec_mixed(SimWarp *w, const SimInst *i, uint32_t active) {
    PtxOp op = i->ptx->op;
    PtxType half = i->ptx->type[1];
    float *d = sim_f32(w, i->d);
    const uint32_t *x = sim_u32(w, i->a), *y = sim_u32(w, i->b);
    const float *z = i->n_opnd > 3 ? sim_f32(w, i->c) : sim_f32(w, i->a);
    SIM_EACH(l, active) {
        float a = (float)sim_half_value(half, x[l], false);
        float b = op == OP_FMA ? (float)sim_half_value(half, y[l], false) : sim_float(y[l]);
        d[l] = general(op, a, b, z[l], i->flags, (Round)i->arg);
    }
}

static float extreme(bool min, float a, float b, int flags) {
    if (flags & HAS_FTZ) {
        a = sim_ftz(a);
        b = sim_ftz(b);
    }
    if (flags & HAS_NAN && (a != a || b != b)) return canonical(NAN);
    uint32_t sign = (sim_bits32(a) ^ sim_bits32(b)) & 0x80000000u;
    if (flags & HAS_ABS) {
        a = fabsf(a);
        b = fabsf(b);
    }
    float v = min ? smaller(a, b) : larger(a, b);
    if (flags & HAS_XORSIGN && v == v) v = sim_float((sim_bits32(v) & 0x7fffffffu) | sign);
    return v;
}

/* With three sources the order of the two steps does not matter, but .xorsign takes two only.  */
static void exec_extreme(SimWarp *w, const SimInst *i, uint32_t active) {
    float *d = sim_f32(w, i->d);
    const float *x = sim_f32(w, i->a), *y = sim_f32(w, i->b);
    const float *z = i->n_opnd > 3 ? sim_f32(w, i->c) : NULL;
    bool min = i->ptx->op == OP_MIN;
    SIM_EACH(l, active) {
        float v = extreme(min, x[l], y[l], i->flags);
        d[l] = z ? extreme(min, v, z[l], i->flags) : v;
    }
}

SIM_UNARY(abs_ftz, f32, f32, sim_float(sim_bits32(sim_ftz(a)) & 0x7fffffffu))
SIM_UNARY(neg_ftz, f32, f32, sim_float(sim_bits32(sim_ftz(a)) ^ 0x80000000u))

static SimExec *pick_extreme(SimPick *k) {
    if (sim_take(k, MOD_NAN)) k->i->flags |= HAS_NAN;
    if (sim_take(k, MOD_XORSIGN)) k->i->flags |= HAS_XORSIGN;
    if (sim_take(k, MOD_ABS)) k->i->flags |= HAS_ABS;
    if (k->i->flags || k->i->n_opnd > 3) return exec_extreme;
    return k->p->op == OP_MIN ? min_f32 : max_f32;
}

static SimExec *nearest(PtxOp op, bool ftz) {
    switch (op) {
    case OP_ADD: return ftz ? add_rn_ftz : add_rn;
    case OP_SUB: return ftz ? sub_rn_ftz : sub_rn;
    case OP_MUL: return ftz ? mul_rn_ftz : mul_rn;
    case OP_DIV: return ftz ? div_rn_ftz : div_rn;
    default: return ftz ? fma_rn_ftz : fma_rn;
    }
}

SimExec *sim_pick_f32(SimPick *k) {
    SimInst *i = k->i;
    PtxOp op = k->p->op;
    for (int n = 0; n < i->n_opnd; n++) {
        if (!sim_want_bits(k, n, 32)) return NULL;
    }
    bool ftz = sim_take(k, MOD_FTZ);
    i->flags = ftz ? HAS_FTZ : 0;
    if (op == OP_ABS) return ftz ? abs_ftz : abs_f32;
    if (op == OP_NEG) return ftz ? neg_ftz : neg_f32;
    if (op == OP_MIN || op == OP_MAX) return pick_extreme(k);
    bool full = op == OP_DIV && sim_take(k, MOD_FULL);
    bool approx = full || (op == OP_DIV && sim_take(k, MOD_APPROX));
    PtxMod rounding = sim_take_rounding(k);
    PtxType half = k->p->n_type == 2 ? k->p->type[1] : PTX_NONE;
    bool mixed = (half == PTX_F16 || half == PTX_BF16) && !ftz &&
                 (op == OP_ADD || op == OP_SUB || op == OP_FMA);
    if (mixed) sim_take_type(k);
    bool required = op == OP_FMA || op == OP_MAD || op == OP_DIV;
    if (required && rounding == MOD_COUNT && !approx) return sim_pick_fail(k, "needs a rounding");
    if (sim_take(k, MOD_SAT)) i->flags |= HAS_SAT;
    i->flops = op == OP_FMA || op == OP_MAD ? 2 : 1;
    i->pipe = op == OP_DIV ? SIM_PIPE_MUFU : SIM_PIPE_FFMA;
    if (approx) {
        if (full) i->flags |= HAS_FULL;
        return i->flags & HAS_SAT || rounding != MOD_COUNT ? NULL : exec_divided;
    }
    if ((rounding == MOD_RN || rounding == MOD_COUNT) && !(i->flags & HAS_SAT) && !mixed) {
        return nearest(op, ftz);
    }
    i->arg = (uint16_t)sim_round(rounding);
    return mixed ? exec_mixed : exec_general;
}
