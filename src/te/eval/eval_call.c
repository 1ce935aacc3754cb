#include "base/numeric.h"
#include "base/philox.h"
#include "te/eval/eval_impl.h"
#include <float.h>
#include <math.h>

static const double ulps[] = {
#define X(id, name, n, ulp) ulp,
    TE_INTRINSICS(X)
#undef X
};

static double apply(TeFn fn, double x) {
    switch (fn) {
    case TE_FN_EXP: return exp(x);
    case TE_FN_EXP2: return exp2(x);
    case TE_FN_LOG: return log(x);
    case TE_FN_LOG2: return log2(x);
    case TE_FN_SQRT: return sqrt(x);
    case TE_FN_RSQRT: return 1 / sqrt(x);
    case TE_FN_TANH: return tanh(x);
    case TE_FN_ERF: return erf(x);
    case TE_FN_SIN: return sin(x);
    case TE_FN_COS: return cos(x);
    case TE_FN_FLOOR: return floor(x);
    case TE_FN_CEIL: return ceil(x);
    case TE_FN_ROUND: return nearbyint(x);
    default: return fabs(x);
    }
}

/* What an implementation may add to a value of magnitude up to `mag`: the ulps of the table, in f64
 * one more for the library that computes it here.  An exponential that is a term of a sum may be
 * made of several, since the maximum moves, and of a power whose exponent was rounded twice
 * (docs/numerics.md).  */
static double own_error(const Node *node, double x, double mag) {
    TeFn fn = node->e->v.fn;
    bool f64 = node->type == TE_F64;
    if (node->fast && (fn == TE_FN_SIN || fn == TE_FN_COS))
        return 0x1p-20 * fmax(1, fabs(x));
    if (node->fast)
        return 0x1p-10 * mag + 3 * lanes_tiny(node->type);
    double k = ulps[fn] + (f64 ? 1 : 0x1p-20);
    double ulp = f64 ? mag * 0x1p-52 : lanes_lost(lanes_rounding(TE_F32), mag) * 2;
    double moved = node->rescaled && mag > 0 ? fabs(x) * mag * (f64 ? 0x3p-53 : 0x3p-24) : 0;
    return k * fmax(ulp, lanes_tiny(node->type)) + moved;
}

static bool is_jump(TeFn fn) {
    return fn == TE_FN_FLOOR || fn == TE_FN_CEIL || fn == TE_FN_ROUND;
}

static bool has_pole(TeFn fn) {
    return fn == TE_FN_LOG || fn == TE_FN_LOG2 || fn == TE_FN_SQRT || fn == TE_FN_RSQRT;
}

/* e^-inf may be left out where a condition made the exponent -inf.  */
static void unmask(TeFn fn, Lanes *x, int n, int j) {
    bool exp = fn == TE_FN_EXP || fn == TE_FN_EXP2;
    if (x->plain || !(x->f[j] & LANE_MASKED)) return;
    x->f[j] &= (uint8_t)~LANE_MASKED;
    if (exp && x->v[j] == -INFINITY) lanes_flag(x, n, j, LANE_LEFT_OUT);
}

/* One lane of a function of one real: monotonic on its domain, or of slope at most 1.  */
static void call_lane(const Node *node, Lanes *x, int n, int j) {
    TeFn fn = node->e->v.fn;
    double a = x->v[j], b = x->b[j], v = apply(fn, a), lo = v, hi = v;
    unmask(fn, x, n, j);
    bool any_zero = a == 0 && !x->plain && (x->f[j] & LANE_ANY_ZERO);
    if (b > 0) {
        if (fn == TE_FN_SIN || fn == TE_FN_COS || fn == TE_FN_ABS) {
            double move = fn == TE_FN_ABS ? b : fmin(b, 2);
            lo = v - move;
            hi = v + move;
        } else {
            double p = apply(fn, a - b), q = apply(fn, a + b);
            lo = fmin(v, fmin(p, q));
            hi = fmax(v, fmax(p, q));
        }
        if (has_pole(fn) && fabs(a) <= b)
            lanes_flag(x, n, j, LANE_UNDECIDED);
    }
    if (fn == TE_FN_RSQRT && any_zero)
        lanes_flag(x, n, j, LANE_UNDECIDED);
    lanes_hull(x, n, j, v, lo, hi);
    if (is_jump(fn) && lo < hi)
        lanes_middle(x, n, j, lo, hi);
    if (ulps[fn] == 0 || !isfinite(v))
        return;
    bool exact_root = fn == TE_FN_SQRT && b == 0 && !node->fast && v * v == a &&
                      (node->type == TE_F64 ? fma(v, v, -a) == 0 : (double)(float)v == v);
    if (!exact_root)
        x->b[j] += own_error(node, a, fmax(fabs(lo), fabs(hi)));
    if (!node->rescaled) return;
    if (v + x->b[j] < (node->type == TE_F64 ? DBL_MIN : (double)FLT_MIN))
        lanes_flag(x, n, j, LANE_FADED);
    bool faint = node->type == TE_F32 && v - x->b[j] < (double)FLT_MIN;
    if (faint && node->args[0]->centered)                           /* it may be 0 */
        x->b[j] += fmin(v, (double)FLT_MIN);
}

/* x^y for x > 0 is monotonic in each operand; elsewhere only an exact y means anything.  */
static void pow_lane(const Node *node, Lanes *x, const Lanes *y, int n, int j) {
    double a = x->v[j], c = y->v[j], ba = x->b[j], bc = y->b[j], v = pow(a, c), lo = v, hi = v;
    if (ba > 0 || bc > 0) {
        bool inside = a - ba > 0;
        bool whole = bc == 0 && c == nearbyint(c) && c >= 0;
        if (!inside && !whole)
            lanes_flag(x, n, j, LANE_UNDECIDED);
        for (int corner = 0; corner < 4; corner++) {
            double p = pow(corner & 1 ? a + ba : a - ba, corner & 2 ? c + bc : c - bc);
            lo = fmin(lo, p);
            hi = fmax(hi, p);
        }
        if (!inside && fabs(a) <= ba) {
            lo = fmin(lo, pow(0, c));
            hi = fmax(hi, pow(0, c));
        }
    }
    bool odd = fabs(fmod(c, 2)) == 1;     /* then the reciprocal of a zero has its sign */
    if (a == 0 && c < 0 && odd && !x->plain && (x->f[j] & LANE_ANY_ZERO))
        lanes_flag(x, n, j, LANE_UNDECIDED);
    lanes_hull(x, n, j, v, lo, hi);
    if (isfinite(v))
        x->b[j] += own_error(node, a, fmax(fabs(lo), fabs(hi)));
}

static void abs_int(TeDtype t, Lanes *x, int n) {
    for (int j = 0; j < n; j++) {
        if (x->i[j] < 0)
            x->i[j] = eval_wrap(t, 0 - (uint64_t)x->i[j]);
    }
}

static void value_of_codes(Lanes *x, int n) {
    for (int j = 0; j < n; j++) x->v[j] = num_e2m1_decode((uint8_t)(x->i[j] & 0xf));
    x->exact = true;
}

/* A bound that more than one code fits leaves it open.  */
static void codes_of_values(Lanes *x, int n) {
    for (int j = 0; j < n; j++) {
        double v = x->v[j], b = x->exact ? 0 : x->b[j];
        uint8_t code = num_e2m1_encode(v);
        bool same = b == 0 || (num_e2m1_encode(v - b) == code && num_e2m1_encode(v + b) == code);
        bool sign = x->plain || !(x->f[j] & LANE_ANY_ZERO) || (code & 7) != 0;
        x->i[j] = code;
        if (!same || !sign) lanes_flag(x, n, j, LANE_UNDECIDED);
    }
    x->exact = true;
}

void lanes_call(const Node *node, Lanes *x, Lanes *y, int n) {
    TeFn fn = node->e->v.fn;
    if (fn == TE_FN_MAX || fn == TE_FN_MIN) {
        lanes_extreme(fn == TE_FN_MAX, node->type, x, y, n);
        return;
    }
    if (fn == TE_FN_PHILOX) {
        for (int j = 0; j < n; j++)
            x->i[j] = philox_number(x->i[j], y->i[j]);
        return;
    }
    if (te_takes_operands(fn) >= TE_TAKES_CODE) {
        (fn == TE_FN_E2M1 ? value_of_codes : codes_of_values)(x, n);
        return;
    }
    if (te_dtype_class(node->type) != TE_CLASS_REAL) {
        abs_int(node->type, x, n);
        return;
    }
    if (!x->plain)
        lanes_join_flags(x, x, LANE_UNDECIDED | LANE_ANY_ZERO | LANE_MASKED, n);
    bool keeps_exact = x->exact && (fn == TE_FN_ABS || is_jump(fn));
    lanes_show_bounds(x, n);
    if (fn == TE_FN_POW) {
        lanes_show_bounds(y, n);
        lanes_join_flags(x, y, LANE_UNDECIDED | LANE_ANY_ZERO, n);
    }
    for (int j = 0; j < n; j++) {
        if (fn == TE_FN_POW)
            pow_lane(node, x, y, n, j);
        else
            call_lane(node, x, n, j);
    }
    x->exact = keeps_exact;
    lanes_settle(x, node->type, n);
}
