/* Arithmetic on f64, and the choice by type for what all types share.  */
#include "sim/lane/alu.h"
#include "sim/lane/lanes.h"
#include <math.h>

static inline double canonical(double v) {
    return v != v ? sim_double(0x7fffffffffffffffull) : v;
}

SIM_BINARY(add_f64, f64, f64, f64, canonical(a + b))
SIM_BINARY(sub_f64, f64, f64, f64, canonical(a - b))
SIM_BINARY(mul_f64, f64, f64, f64, canonical(a * b))
SIM_BINARY(div_f64, f64, f64, f64, canonical(a / b))
SIM_TERNARY(fma_f64, f64, f64, f64, f64, canonical(fma(a, b, c)))
SIM_UNARY(abs_f64, u64, u64, a & 0x7fffffffffffffffull)
SIM_UNARY(neg_f64, u64, u64, a ^ 0x8000000000000000ull)

static inline double smaller(double a, double b) {
    if (a != a) return canonical(b);
    if (b != b) return a;
    if (a == b) return sim_double(sim_bits64(a) | sim_bits64(b));
    return a < b ? a : b;
}
static inline double larger(double a, double b) {
    if (a != a) return canonical(b);
    if (b != b) return a;
    if (a == b) return sim_double(sim_bits64(a) & sim_bits64(b));
    return a > b ? a : b;
}
SIM_BINARY(min_f64, f64, f64, f64, smaller(a, b))
SIM_BINARY(max_f64, f64, f64, f64, larger(a, b))

/* A directed rounding, in SimInst.arg.  */
static void exec_directed(SimWarp *w, const SimInst *i, uint32_t active) {
    double *d = sim_f64(w, i->d);
    const double *x = sim_f64(w, i->a), *y = sim_f64(w, i->b);
    const double *z = i->n_opnd > 3 ? sim_f64(w, i->c) : x;
    Round r = (Round)i->arg;
    SIM_EACH(l, active) {
        double v;
        switch (i->ptx->op) {
        case OP_ADD: v = sim_add_f64(x[l], y[l], r); break;
        case OP_SUB: v = sim_add_f64(x[l], -y[l], r); break;
        case OP_MUL: v = sim_mul_f64(x[l], y[l], r); break;
        case OP_DIV: v = sim_div_f64(x[l], y[l], r); break;
        default: v = sim_fma_f64(x[l], y[l], z[l], r); break;
        }
        d[l] = canonical(v);
    }
}

SimExec *sim_pick_f64(SimPick *k) {
    SimInst *i = k->i;
    PtxOp op = k->p->op;
    for (int n = 0; n < i->n_opnd; n++) {
        if (!sim_want_bits(k, n, 64)) return NULL;
    }
    if (op == OP_ABS) return abs_f64;
    if (op == OP_NEG) return neg_f64;
    if (op == OP_MIN) return min_f64;
    if (op == OP_MAX) return max_f64;
    PtxMod rounding = sim_take_rounding(k);
    bool required = op == OP_FMA || op == OP_MAD || op == OP_DIV;
    if (required && rounding == MOD_COUNT) return sim_pick_fail(k, "needs a rounding");
    i->flops = op == OP_FMA || op == OP_MAD ? 2 : 1;
    i->pipe = SIM_PIPE_DFMA;
    i->arg = (uint16_t)sim_round(rounding);
    if (i->arg != ROUND_NEAREST_EVEN) return exec_directed;
    switch (op) {
    case OP_ADD: return add_f64;
    case OP_SUB: return sub_f64;
    case OP_MUL: return mul_f64;
    case OP_DIV: return div_f64;
    default: return fma_f64;
    }
}

SimExec *sim_pick_arith(SimPick *k) {
    PtxType t = sim_take_type(k);
    switch (t) {
    case PTX_F32: return sim_pick_f32(k);
    case PTX_F64: return sim_pick_f64(k);
    case PTX_F16:
    case PTX_F16X2:
    case PTX_BF16:
    case PTX_BF16X2: return sim_pick_half(k, t);
    case PTX_F32X2: return sim_pick_f32x2(k);
    default: break;
    }
    if (sim_take(k, MOD_CC)) return sim_pick_carry(k, t);
    return sim_pick_int(k, t);
}
