/* Elementary functions, copysign, testp.  Approximations are computed in f64, moved as approx.h
 * says, and rounded once.  */
#include "sim/lane/alu.h"
#include "sim/lane/approx.h"
#include "sim/lane/half.h"
#include <math.h>

enum { HAS_FTZ = 1 };


static double function(PtxOp op, double x) {
    switch (op) {
    case OP_RCP: return 1 / x;
    case OP_SQRT: return sqrt(x);
    case OP_RSQRT: return 1 / sqrt(x);
    case OP_SIN: return sin(x);
    case OP_COS: return cos(x);
    case OP_LG2: return log2(x);
    case OP_EX2: return exp2(x);
    default: return tanh(x);
    }
}

static const SimRun *run_of(const SimWarp *w) { return w->block->cluster->run; }

static float approximate(const SimRun *run, PtxOp op, float x, bool ftz) {
    if (ftz) x = sim_ftz(x);
    double v = sim_approximate(run, op, PTX_F32, sim_bits32(x), x, function(op, x));
    float f = v != v ? sim_float(0x7fffffffu) : num_f32_encode(v, ROUND_NEAREST_EVEN);
    return ftz ? sim_ftz(f) : f;
}

static void exec_approx(SimWarp *w, const SimInst *i, uint32_t active) {
    float *d = sim_f32(w, i->d);
    const float *a = sim_f32(w, i->a);
    SIM_EACH(l, active) d[l] = approximate(run_of(w), i->ptx->op, a[l], i->flags & HAS_FTZ);
}

/* rcp.rn, sqrt.rn and the directed modes.  */
static void exec_exact(SimWarp *w, const SimInst *i, uint32_t active) {
    float *d = sim_f32(w, i->d);
    const float *a = sim_f32(w, i->a);
    bool ftz = i->flags & HAS_FTZ;
    SIM_EACH(l, active) {
        float x = ftz ? sim_ftz(a[l]) : a[l];
        double v = i->ptx->op == OP_RCP ? sim_div_odd(1, x) : sim_sqrt_odd(x);
        float f = v != v ? sim_float(0x7fffffffu) : num_f32_encode(v, (Round)i->arg);
        d[l] = ftz ? sim_ftz(f) : f;
    }
}

static void exec_f64(SimWarp *w, const SimInst *i, uint32_t active) {
    double *d = sim_f64(w, i->d);
    const double *a = sim_f64(w, i->a);
    SIM_EACH(l, active) {
        double v = i->ptx->op == OP_RCP    ? sim_div_f64(1, a[l], (Round)i->arg)
                   : i->ptx->op == OP_SQRT ? sim_sqrt_f64(a[l], (Round)i->arg)
                                           : 1 / sqrt(a[l]);
        d[l] = v != v ? sim_double(0x7fffffffffffffffull) : v;
    }
}

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 use the upper half of the source and give the upper
 * half of the result.  */
static void exec_f64_ftz(SimWarp *w, const SimInst *i, uint32_t active) {
    double *d = sim_f64(w, i->d);
    const double *a = sim_f64(w, i->a);
    SIM_EACH(l, active) {
        double x = sim_double(sim_bits64(a[l]) & 0xffffffff00000000ull);
        if (fabs(x) < 0x1p-1022) x = copysign(0, x);
        double v = function(i->ptx->op, x);
        v = sim_approximate(run_of(w), i->ptx->op, PTX_F64, sim_bits64(x), x, v);
        if (fabs(v) < 0x1p-1022) v = copysign(0, v);
        d[l] = v != v ? sim_double(0x7fffffff00000000ull)
                      : sim_double(sim_bits64(v) & 0xffffffff00000000ull);
    }
}

static void exec_half(SimWarp *w, const SimInst *i, uint32_t active) {
    PtxType t = i->ptx->type[0];
    bool pair = t == PTX_F16X2 || t == PTX_BF16X2, ftz = i->flags & HAS_FTZ;
    PtxType one = t == PTX_F16 || t == PTX_F16X2 ? PTX_F16 : PTX_BF16;
    uint32_t *d = sim_u32(w, i->d);
    const uint32_t *a = sim_u32(w, i->a);
    SIM_EACH(l, active) {
        uint32_t v = 0;
        for (int s = 0; s < (pair ? 32 : 16); s += 16) {
            double x = sim_half_value(t, a[l] >> s, ftz), y = function(i->ptx->op, x);
            y = sim_approximate(run_of(w), i->ptx->op, one, sim_bits64(x), x, y);
            v |= sim_half_bits(t, y, ROUND_NEAREST_EVEN, ftz) << s;
        }
        d[l] = v;
    }
}

/* ---- copysign, testp ---- */

static void copysign_32(SimWarp *w, const SimInst *i, uint32_t active) {
    uint32_t *d = sim_u32(w, i->d);
    const uint32_t *a = sim_u32(w, i->a), *b = sim_u32(w, i->b);
    SIM_EACH(l, active) d[l] = (a[l] & 0x80000000u) | (b[l] & 0x7fffffffu);
}

static void copysign_64(SimWarp *w, const SimInst *i, uint32_t active) {
    uint64_t *d = sim_u64(w, i->d);
    const uint64_t *a = sim_u64(w, i->a), *b = sim_u64(w, i->b);
    const uint64_t sign = (uint64_t)1 << 63;
    SIM_EACH(l, active) d[l] = (a[l] & sign) | (b[l] & ~sign);
}

static bool property(PtxMod m, double v, double least_normal) {
    switch (m) {
    case MOD_FINITE: return isfinite(v);
    case MOD_INFINITE: return isinf(v);
    case MOD_NUMBER: return v == v;
    case MOD_NOTANUMBER: return v != v;
    case MOD_NORMAL: return isfinite(v) && fabs(v) >= least_normal;
    default: return v != 0 && fabs(v) < least_normal;
    }
}

static void exec_testp(SimWarp *w, const SimInst *i, uint32_t active) {
    uint32_t p = 0;
    bool wide = i->ptx->type[0] == PTX_F64;
    SIM_EACH(l, active) {
        double v = wide ? sim_f64(w, i->a)[l] : (double)sim_f32(w, i->a)[l];
        if (property((PtxMod)i->arg, v, wide ? 0x1p-1022 : 0x1p-126)) p |= 1u << l;
    }
    sim_set_pred(w, i->d, active, p);
}

static SimExec *pick_testp(SimPick *k, PtxType t) {
    for (int m = MOD_FINITE; m <= MOD_SUBNORMAL; m++) {
        if (!sim_take(k, (PtxMod)m)) continue;
        k->i->arg = (uint16_t)m;
        bool real = t == PTX_F32 || t == PTX_F64;
        return real && k->i->opnd[0].bits == 1 && sim_want_bits(k, 1, sim_type_bits(t)) ? exec_testp
                                                                                        : NULL;
    }
    return sim_pick_fail(k, "needs a property");
}

static SimExec *pick_f64(SimPick *k, bool approx, bool ftz, PtxMod rounding) {
    PtxOp op = k->p->op;
    k->i->pipe = SIM_PIPE_DFMA;
    k->i->arg = (uint16_t)sim_round(rounding);
    if (approx && ftz) return op == OP_RCP || op == OP_RSQRT ? exec_f64_ftz : NULL;
    if (approx) return op == OP_RSQRT ? exec_f64 : NULL;
    return rounding != MOD_COUNT && (op == OP_RCP || op == OP_SQRT) ? exec_f64 : NULL;
}

SimExec *sim_pick_real(SimPick *k) {
    PtxOp op = k->p->op;
    PtxType t = sim_take_type(k);
    int bits = sim_type_bits(t);
    if (op == OP_TESTP) return pick_testp(k, t);
    for (int n = 0; n < k->i->n_opnd; n++) {
        if (!sim_want_bits(k, n, bits)) return NULL;
    }
    if (op == OP_COPYSIGN) return t == PTX_F32 ? copysign_32 : t == PTX_F64 ? copysign_64 : NULL;
    bool approx = sim_take(k, MOD_APPROX), ftz = sim_take(k, MOD_FTZ);
    PtxMod rounding = sim_take_rounding(k);
    if (approx == (rounding != MOD_COUNT)) return sim_pick_fail(k, "needs .approx or a rounding");
    k->i->flags = ftz ? HAS_FTZ : 0;
    switch (t) {
    case PTX_F64: return pick_f64(k, approx, ftz, rounding);
    case PTX_F32:
        if (approx) return exec_approx;
        k->i->arg = (uint16_t)sim_round(rounding);
        return op == OP_RCP || op == OP_SQRT ? exec_exact : NULL;
    case PTX_F16:
    case PTX_F16X2:
    case PTX_BF16:
    case PTX_BF16X2: return approx && (op == OP_EX2 || op == OP_TANH) ? exec_half : NULL;
    default: return NULL;
    }
}
