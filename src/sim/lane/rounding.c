/* Exact rounding without touching the floating-point environment.
 *
 * f32 and less: the exact result as an f64 whose last bit is odd when bits are missing ("round to
 * odd", Boldo and Melquiond, "Emulation of FMA and correctly rounded sums"); rounding that once
 * more is right because f64 has more than two bits to spare. f64: the nearest result, moved by one
 * unit when the sign of its exact error asks for it.  */
#include "sim/lane/alu.h"
#include <float.h>
#include <math.h>

static double two_sum(double a, double b, double *error) {
    double s = a + b, bb = s - a;
    *error = (a - (s - bb)) + (b - bb);
    return s;
}

/* The neighbour with an odd last bit, if v is even and the exact value lies off it.  */
static double to_odd(double v, double error) {
    if (error == 0 || !isfinite(v) || (sim_bits64(v) & 1)) return v;
    bool away = (error > 0) == (v > 0);
    if (v == 0) return error > 0 ? DBL_TRUE_MIN : -DBL_TRUE_MIN;
    return sim_double(sim_bits64(v) + (away ? 1 : UINT64_MAX));
}

double sim_add_odd(double a, double b) {
    double error, s = two_sum(a, b, &error);
    return isfinite(s) ? to_odd(s, error) : s;
}

double sim_fma_odd(double a, double b, double c) { return sim_add_odd(a * b, c); }

double sim_div_odd(double a, double b) {
    double q = a / b;
    if (!isfinite(q) || b == 0 || !isfinite(b)) return q;
    double rest = fma(-q, b, a);
    return to_odd(q, b > 0 ? rest : -rest);
}

double sim_sqrt_odd(double a) {
    double s = sqrt(a);
    return isfinite(s) && s > 0 ? to_odd(s, fma(-s, s, a)) : s;
}

/* ---- f64 ---- */

/* q is the nearest result; `error` has the sign of the exact value minus q.  */
static double directed(double q, double error, Round r) {
    if (isnan(q) || r == ROUND_NEAREST_EVEN) return q;
    if (isinf(q)) {
        bool keep = r == ROUND_UP ? q > 0 : r == ROUND_DOWN ? q < 0 : false;
        return keep ? q : q > 0 ? DBL_MAX : -DBL_MAX;
    }
    bool up = r == ROUND_UP || (r == ROUND_TO_ZERO && (q < 0 || (q == 0 && error < 0)));
    bool down = r == ROUND_DOWN || (r == ROUND_TO_ZERO && !up);
    if (error > 0 && up) return nextafter(q, INFINITY);
    if (error < 0 && down) return nextafter(q, -INFINITY);
    return q;
}

/* Sign of an exact sum: the terms are distilled until the leading one dominates.  */
static double sum_sign(double x[4]) {
    for (int pass = 0; pass < 4; pass++) {
        for (int k = 3; k > 0; k--) {
            double error;
            x[k - 1] = two_sum(x[k], x[k - 1], &error);
            x[k] = error;
        }
    }
    for (int k = 0; k < 4; k++) {
        if (x[k] != 0) return x[k];
    }
    return 0;
}

/* An exact sum of zero is +0, but -0 when rounding down; equal signs keep theirs.  */
static double zero_sum(double x, double y, double q, Round r) {
    if (q != 0 || r != ROUND_DOWN) return q;
    return signbit(x) == 0 && signbit(y) == 0 && x == 0 && y == 0 ? 0.0 : -0.0;
}

double sim_add_f64(double a, double b, Round r) {
    double q = a + b, x[4] = {a, b, -q, 0};
    if (!isfinite(a) || !isfinite(b)) return q;
    return directed(zero_sum(a, b, q, r), isinf(q) ? 0 : sum_sign(x), r);
}

double sim_fma_f64(double a, double b, double c, Round r) {
    double q = fma(a, b, c);
    if (r == ROUND_NEAREST_EVEN || !isfinite(a) || !isfinite(b) || !isfinite(c)) return q;
    if (isinf(q)) return directed(q, 0, r);
    double p = a * b, scale = 1;
    bool tiny = fabs(p) < 0x1p-900 && a != 0 && b != 0;
    if (tiny && fabs(c) > 0x1p-500) return directed(q, (a > 0) == (b > 0) ? 1 : -1, r);
    if (tiny) {
        scale = 0x1p600;                     /* on both factors: the product's error stays exact */
        p = (a * scale) * (b * scale);
    }
    if (isinf(p)) {                          /* the sum came back into range: halve everything */
        double x[4] = {a * 0.5 * b, fma(a * 0.5, b, -(a * 0.5 * b)), c * 0.5, -q * 0.5};
        return directed(q, sum_sign(x), r);
    }
    double low = fma(a * scale, b * scale, -p);
    double x[4] = {p, low, c * scale * scale, -q * scale * scale};
    double error = sum_sign(x);
    return error == 0 ? zero_sum(a == 0 || b == 0 ? a * b : 1, c, q, r) : directed(q, error, r);
}

double sim_mul_f64(double a, double b, Round r) {
    double q = a * b, zero = signbit(q) ? -0.0 : 0.0;
    if (r == ROUND_NEAREST_EVEN || !isfinite(a) || !isfinite(b) || a == 0 || b == 0) return q;
    double v = sim_fma_f64(a, b, zero, r);
    return v == 0 ? zero : v;
}

double sim_div_f64(double a, double b, Round r) {
    double q = a / b;
    if (!isfinite(a) || !isfinite(b) || b == 0 || a == 0) return q;
    if (isinf(q)) return directed(q, 0, r);
    int ea, eb;
    double ma = frexp(a, &ea), mb = frexp(b, &eb); /* the error's sign does not depend on scale */
    double rest = fma(-ldexp(q, eb - ea), mb, ma);
    return directed(q, mb > 0 ? rest : -rest, r);
}

double sim_sqrt_f64(double a, Round r) {
    double q = sqrt(a);
    if (!isfinite(q) || q == 0) return q;
    double s = a < 0x1p-900 ? 0x1p300 : 1;
    return directed(q, fma(-(q * s), q * s, a * s * s), r);
}

/* ---- modifiers ---- */

PtxMod sim_take_rounding(SimPick *k) {
    static const PtxMod modes[] = {MOD_RN, MOD_RZ, MOD_RM, MOD_RP};
    for (int n = 0; n < 4; n++) {
        if (sim_take(k, modes[n])) return modes[n];
    }
    return MOD_COUNT;
}

Round sim_round(PtxMod rounding) {
    switch (rounding) {
    case MOD_RZ:
    case MOD_RZI: return ROUND_TO_ZERO;
    case MOD_RM:
    case MOD_RMI: return ROUND_DOWN;
    case MOD_RP:
    case MOD_RPI: return ROUND_UP;
    case MOD_RNA: return ROUND_NEAREST_AWAY;
    default: return ROUND_NEAREST_EVEN;
    }
}
