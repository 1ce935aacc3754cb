#include "te/eval/eval_impl.h"
#include <float.h>
#include <math.h>
#include <string.h>

void lanes_show_bounds(Lanes *x, int n) {
    if (x->exact)
        memset(x->b, 0, (size_t)n * sizeof x->b[0]);
    x->exact = false;
}

void lanes_show_flags(Lanes *x, int n) {
    if (x->plain)
        memset(x->f, 0, (size_t)n);
    x->plain = false;
}

void lanes_flag(Lanes *x, int n, int j, uint8_t flag) {
    lanes_show_flags(x, n);
    x->f[j] |= flag;
}

void lanes_join_flags(Lanes *x, const Lanes *y, uint8_t keep, int n) {
    if (x->plain && y->plain)
        return;
    lanes_show_flags(x, n);
    for (int j = 0; j < n; j++)
        x->f[j] = (uint8_t)((x->f[j] | (y->plain ? 0 : y->f[j])) & keep);
}

/* Copies n lanes from lane j on to lane i on; both know whether bounds and flags count.  */
void lanes_copy(Lanes *to, int i, const Lanes *from, int j, int n) {
    size_t count = (size_t)n;
    memcpy(to->v + i, from->v + j, count * sizeof to->v[0]);
    memcpy(to->i + i, from->i + j, count * sizeof to->i[0]);
    if (!to->exact && from->exact)
        memset(to->b + i, 0, count * sizeof to->b[0]);
    else if (!to->exact)
        memcpy(to->b + i, from->b + j, count * sizeof to->b[0]);
    if (!to->plain && from->plain)
        memset(to->f + i, 0, count);
    else if (!to->plain)
        memcpy(to->f + i, from->f + j, count);
}

double lanes_roundoff(TeDtype t) {
    return (t == TE_F64 ? 0x1p-52 : 0x1p-24) * (1 + 0x1p-20);
}

Rounding lanes_rounding(TeDtype t) {
    bool wide = t == TE_F64;
    return (Rounding){lanes_roundoff(t), wide ? UINT64_MAX : UINT64_C(0x7ff) << 52};
}

/* Are all values, with their bounds, numbers up to the limit?  */
HOT static bool within(const Lanes *x, double limit, int n) {
    int64_t beyond = 0;                   /* as wide as the values, for the loops */
    if (x->exact) {
        for (int j = 0; j < n; j++) beyond |= !(fabs(x->v[j]) <= limit);
    } else {
        for (int j = 0; j < n; j++) beyond |= !(fabs(x->v[j]) + x->b[j] <= limit);
    }
    return !beyond;
}

void lanes_settle(Lanes *x, TeDtype t, int n) {
    double limit = t == TE_F64 ? DBL_MAX : FLT_MAX;
    if (within(x, limit, n)) return;
    lanes_show_bounds(x, n);
    for (int j = 0; j < n; j++) {
        if (!isfinite(x->v[j]))
            x->b[j] = 0;
        else if (!(fabs(x->v[j]) + x->b[j] <= limit))
            lanes_flag(x, n, j, LANE_UNDECIDED);
    }
}

void lanes_hull(Lanes *x, int n, int j, double v, double lo, double hi) {
    x->v[j] = v;
    x->b[j] = fmax(hi - v, v - lo);
    if (!isfinite(v) || lo == hi)
        x->b[j] = 0;
    if (!isfinite(v) && lo < hi)
        lanes_flag(x, n, j, LANE_UNDECIDED);
}

void lanes_middle(Lanes *x, int n, int j, double lo, double hi) {
    lanes_hull(x, n, j, lo == hi ? lo : lo + (hi - lo) / 2, lo, hi);   /* -0 stays -0 */
}

static void int_to_real(Lanes *x, TeDtype to, int n) {
    for (int j = 0; j < n; j++) {
        double v = (double)x->i[j];
        if (to == TE_F32)
            v = (double)(float)x->i[j];
        else if (to != TE_F64)
            v = eval_round(to, eval_real(x->i[j]));
        x->v[j] = v;
    }
    x->exact = true;
}

void lanes_convert(Lanes *x, TeDtype from, TeDtype to, int n) {
    if (te_dtype_class(from) == TE_CLASS_INT && te_dtype_class(to) == TE_CLASS_REAL)
        int_to_real(x, to, n);
}

/* A value within its bound of where the type ends may be infinite or not, one that rounds to 0 have
 * either sign.  */
static void round_lane(Lanes *x, int n, int j, TeDtype to) {
    double v = x->v[j], lo = eval_round(to, v - x->b[j]), hi = eval_round(to, v + x->b[j]);
    lanes_hull(x, n, j, eval_round(to, v), lo, hi);
    if (lo == hi && signbit(lo) != signbit(hi)) lanes_flag(x, n, j, LANE_ANY_ZERO);
}

static void real_to_real(Lanes *x, TeDtype from, TeDtype to, int n) {
    if (to == TE_F64 || (to == TE_F32 && from == TE_F32))
        return;
    for (int j = 0; j < n; j++) {
        double v = x->v[j], b = x->exact ? 0 : x->b[j];
        if (b == 0 || !isfinite(v))
            x->v[j] = eval_round(to, v);
        else
            round_lane(x, n, j, to);
    }
    if (!x->exact)
        lanes_settle(x, te_dtype_compute(to), n);
}

/* Toward zero, saturating, NaN to 0.  */
static int64_t truncate_to(TeDtype t, double v) {
    if (isnan(v))
        return 0;
    int bits = 8 * te_dtype_bytes(t);
    bool positive = te_dtype_unsigned(t);
    double hi = positive ? 256 : ldexp(1, bits - 1), lo = positive ? 0 : -hi;
    v = trunc(v);
    if (v < lo)
        v = lo;
    if (v >= hi)
        return t == TE_I64 ? INT64_MAX : (int64_t)hi - 1;
    return (int64_t)v;
}

static void real_to_int(Lanes *x, TeDtype to, int n) {
    for (int j = 0; j < n; j++) {
        double v = x->v[j], b = x->exact ? 0 : x->b[j];
        int64_t lo, hi;
        if (to == TE_BOOL) {
            x->i[j] = v != 0;
            lo = hi = x->i[j];
            if (b > 0 && fabs(v) <= b)
                hi = !lo;
        } else {
            x->i[j] = truncate_to(to, v);
            lo = truncate_to(to, v - b);
            hi = truncate_to(to, v + b);
        }
        if (lo != hi)
            lanes_flag(x, n, j, LANE_UNDECIDED);
    }
}

/* From a compute type to storage type `to`, whose compute type the value then has.  */
void lanes_cast(Lanes *x, TeDtype from, TeDtype to, int n) {
    bool from_real = te_dtype_class(from) == TE_CLASS_REAL;
    bool to_real = te_dtype_class(to) == TE_CLASS_REAL;
    if (from_real && to_real) {
        real_to_real(x, from, to, n);
    } else if (from_real) {
        real_to_int(x, to, n);
    } else if (to_real) {
        int_to_real(x, to, n);
    } else {
        lanes_wrap(to, x->i, n);
    }
}

/* Both roundings are half a unit off at most; near 0 f16 has fewer bits for the smaller one, which
 * is this: what it is divided by is at least 1.  */
void lanes_cast_moved(Lanes *x, TeDtype from, TeDtype to, int n) {
    double share = to == TE_F16 ? 0x1p-10 : 0x1p-7, tiny = to == TE_F16 ? 0x1p-24 : 0x1p-133;
    bool some[STRIP];
    lanes_show_bounds(x, n);
    for (int j = 0; j < n; j++) some[j] = x->v[j] != 0 || x->b[j] > 0;
    lanes_cast(x, from, to, n);
    lanes_show_bounds(x, n);
    for (int j = 0; j < n; j++)
        if (some[j] && isfinite(x->v[j])) x->b[j] += share * (fabs(x->v[j]) + x->b[j]) + tiny;
}
