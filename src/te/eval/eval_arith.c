#include "te/eval/eval_impl.h"
#include <math.h>

/* Reals.  z = x op y computed in type t from operands within bx, by of x, y: the operands' part of
 * the bound, then one rounding of a result that large.  Exact results of exact operands keep 0.  */

HOT static void add_real(TeDtype t, Lanes *restrict x, const Lanes *restrict y, double sign,
                         int n) {
    const Rounding u = lanes_rounding(t);
    const double *other = y->exact ? NULL : y->b;
    int64_t lossy = 0;                    /* as wide as the values, for the loops */
    lanes_show_bounds(x, n);
    for (int j = 0; j < n; j++) {
        double a = x->v[j], c = sign * y->v[j], s = a + c, d = s - a;
        double lost = (a - (s - d)) + (c - d);
        double b = x->b[j] + (other ? other[j] : 0);
        bool ok = (b == 0) & (lost == 0) & (t == TE_F64 || (double)(float)s == s);
        x->v[j] = s;
        x->b[j] = ok ? 0 : b + lanes_lost(u, fabs(s) + b);
        lossy |= !ok;
    }
    x->exact = !lossy;
}

/* An exponent x = E - m may be E c - m c, fused, with c = log2(e) times what E is multiplied by: c
 * and m c are rounded, |E| being |m| + |x| at most.  */
static void subtract_center(Lanes *x, const Lanes *m, int n) {
    add_real(TE_F32, x, m, -1, n);
    lanes_show_bounds(x, n);
    for (int j = 0; j < n; j++) {
        double loss = 0x1.1p-24 * (2 * fabs(m->v[j]) + fabs(x->v[j]));
        if (isfinite(loss)) x->b[j] += loss;
    }
}

/* p = a * c in f64: is that all of it, and a value of type t?  */
static bool is_exact_product(TeDtype t, double a, double c, double p) {
    if (t == TE_F32)
        return (double)(float)p == p;
    if (p == 0)
        return a == 0 || c == 0;
    return fabs(p) > 0x1p-900 && fma(a, c, -p) == 0;
}

HOT static void mul_exact(TeDtype t, Lanes *restrict x, const Lanes *restrict y, int n) {
    const Rounding u = lanes_rounding(t);
    double tiny = lanes_tiny(t);
    int64_t lossy = 0;                    /* as wide as the values, for the loops */
    if (t == TE_F32) {
        for (int j = 0; j < n; j++) {
            double p = x->v[j] * y->v[j];
            bool ok = (double)(float)p == p;
            x->v[j] = p;
            x->b[j] = ok ? 0 : lanes_lost(u, fabs(p)) + tiny;
            lossy |= !ok;
        }
    } else {
        for (int j = 0; j < n; j++) {
            double p = x->v[j] * y->v[j];
            bool ok = is_exact_product(t, x->v[j], y->v[j], p);
            x->v[j] = p;
            x->b[j] = ok ? 0 : lanes_lost(u, fabs(p)) + tiny;
            lossy |= !ok;
        }
    }
    x->exact = !lossy;
}

/* The distance of subnormal tf32.  */
static const double tf32_tiny = 0x1p-136;

static inline bool fits_tf32(double v) {
    double big = v * (0x1p42 + 1), steps = v / tf32_tiny;
    return (big - (big - v) == v) & ((fabs(v) >= 0x1p-126) | (steps == nearbyint(steps)));
}

/* @tf32: factors lose what 10 fraction bits cannot hold.  */
HOT static void lose_bits(Lanes *x, double loss, int n) {
    lanes_show_bounds(x, n);
    for (int j = 0; j < n; j++) {
        double v = x->v[j], b = x->b[j];
        bool finite = isfinite(v), fits = fits_tf32(v);
        x->b[j] = finite & ((b != 0) | !fits) ? b + (loss * (fabs(v) + b) + tf32_tiny) : b;
    }
}

/* p = a * c is a 0 whatever the other factor, since one is 0.  */
static bool is_zero_product(double a, double ba, double c, double bc, double p) {
    return (p == 0) & (((a == 0) & (ba == 0)) | ((c == 0) & (bc == 0)));
}

/* Is it a factor within its bound of 0?  */
static bool is_near(double v, double b) { return (b > 0) & (fabs(v) <= b); }

HOT static bool any_near(const Lanes *x, int n) {
    int64_t some = 0;
    for (int j = 0; j < n; j++) some |= is_near(x->v[j], x->b[j]);
    return some;
}

/* Such a factor times 0 is a 0 of either sign.  0 times inf is NaN, nearly 0 times inf is not; what
 * is left of inf beside its first tf32 part may be NaN.  */
static void flag_products(Lanes *x, const Lanes *y, bool splits, int n) {
    for (int j = 0; j < n; j++) {
        double a = x->v[j], c = y->v[j], ba = x->b[j], bc = y->b[j], p = a * c;
        bool near = is_near(a, ba) || is_near(c, bc), split = splits && (isinf(a) || isinf(c));
        if (near && is_zero_product(a, ba, c, bc, p)) lanes_flag(x, n, j, LANE_ANY_ZERO);
        if (split || (near && !isfinite(p) && !isnan(a) && !isnan(c)))
            lanes_flag(x, n, j, LANE_UNDECIDED);
    }
}

/* loss: what splitting the factors loses, as a share; 0: they are whole.  */
static inline void multiply(TeDtype t, Rounding u, double loss, Lanes *restrict x,
                            const Lanes *restrict y, int j) {
    double a = x->v[j], c = y->v[j], ba = x->b[j], bc = y->b[j], p = a * c;
    double b = fabs(a) * bc + fabs(c) * ba + ba * bc, most = fabs(p) + b;
    bool whole = loss == 0 || (fits_tf32(a) && fits_tf32(c));
    bool exact = is_exact_product(t, a, c, p), zero = is_zero_product(a, ba, c, bc, p);
    bool ok = (whole & (ba == 0) & (bc == 0) & exact) | zero;
    if (!whole) b += loss * most + tf32_tiny * (fabs(a) + ba + fabs(c) + bc);
    x->v[j] = p;
    x->b[j] = ok ? 0 : b + lanes_lost(u, most) + lanes_tiny(t);
}

HOT static void mul_within(TeDtype t, double loss, Lanes *restrict x, const Lanes *restrict y,
                           int n) {
    const Rounding u = lanes_rounding(t);
    if (t == TE_F32 && loss == 0) {
        for (int j = 0; j < n; j++) multiply(TE_F32, u, 0, x, y, j);
    } else {
        for (int j = 0; j < n; j++) multiply(t, u, loss, x, y, j);
    }
}

static void mul_real(const Node *node, Lanes *x, Lanes *y, int n) {
    TeDtype t = node->type;
    if (node->factor_loss > 0) {
        lose_bits(x, node->factor_loss, n);
        lose_bits(y, node->factor_loss, n);
    }
    if (x->exact && y->exact && node->product_loss == 0) {
        mul_exact(t, x, y, n);
        return;
    }
    bool splits = node->product_loss > 0;
    lanes_show_bounds(x, n);
    lanes_show_bounds(y, n);
    if (splits || any_near(x, n) || any_near(y, n)) flag_products(x, y, splits, n);
    mul_within(t, node->product_loss, x, y, n);
}

/* What a product with the reciprocal, rounded, may be off by besides.  */
static double inverse_lost(const Node *node, double q, double c) {
    int power;
    return node->inverse && frexp(c, &power) != 0.5 ? fabs(q) * 0x1p-23 : 0;
}

static void div_real(const Node *node, Lanes *x, Lanes *y, int n) {
    TeDtype t = node->type;
    const Rounding u = node->fast ? (Rounding){0x1p-10, UINT64_MAX} : lanes_rounding(t);
    double tiny = (node->fast ? 3 : 1) * lanes_tiny(t);
    bool exact = true;
    lanes_show_bounds(x, n);
    lanes_show_bounds(y, n);
    for (int j = 0; j < n; j++) {
        double a = x->v[j], c = y->v[j], ba = x->b[j], bc = y->b[j], q = a / c;
        bool ok = ba == 0 && bc == 0 && !node->fast && fma(q, c, -a) == 0 && fabs(q) > 0x1p-900 &&
                  (t == TE_F64 || (double)(float)q == q);
        ok = ok || (a == 0 && ba == 0 && fabs(c) > bc);
        double lost = inverse_lost(node, q, c);
        double b = (ba + fabs(q) * bc) / (fabs(c) - bc) + lost;
        ok = ok && lost == 0;
        x->v[j] = q;
        x->b[j] = ok ? 0 : b + lanes_lost(u, fabs(q) + b) + tiny;
        exact &= ok;
        bool any_sign = c == 0 && ((!y->plain && (y->f[j] & LANE_ANY_ZERO)) ||
                                   (ba > 0 && fabs(a) <= ba));
        if ((bc > 0 && fabs(c) <= bc) || any_sign || (node->fast && fabs(c) + bc > 0x1p126))
            lanes_flag(x, n, j, LANE_UNDECIDED);
    }
    x->exact = exact;
}

/* Integers wrap; division floors; by zero gives 0.  */
static int64_t int_divide(TeDtype t, int64_t x, int64_t y, bool remainder) {
    if (y == 0)
        return 0;
    if (y == -1)
        return remainder ? 0 : eval_wrap(t, 0 - (uint64_t)x);
    int64_t q = x / y, r = x % y;
    if (r != 0 && (r < 0) != (y < 0)) {
        q--;
        r += y;
    }
    return remainder ? r : q;
}

/* The count of a shift modulo the width; down, the sign moves in.  */
static int64_t int_shift(TeDtype t, int64_t x, int64_t count, bool down) {
    int n = (int)(count & (t == TE_I32 ? 31 : 63));
    if (!down)
        return eval_wrap(t, (uint64_t)x << n);
    return x >= 0 ? x >> n : ~(~x >> n);
}

#define EACH(expr)                                                              \
    for (int j = 0; j < n; j++) {                                               \
        uint64_t a = (uint64_t)x->i[j], b = (uint64_t)y->i[j];                  \
        x->i[j] = (int64_t)(expr);                                              \
    }                                                                           \
    break

HOT static void arith_int(TeKind kind, TeDtype t, Lanes *restrict x, const Lanes *restrict y,
                          int n) {
    switch (kind) {
    case TE_ADD: EACH(a + b);
    case TE_SUB: EACH(a - b);
    case TE_MUL: EACH(a * b);
    case TE_BITAND: EACH(a & b);
    case TE_BITXOR: EACH(a ^ b);
    case TE_BITOR: EACH(a | b);
    case TE_SHL:
    case TE_SHR: EACH(int_shift(t, (int64_t)a, (int64_t)b, kind == TE_SHR));
    default: EACH(int_divide(t, (int64_t)a, (int64_t)b, kind == TE_MOD));
    }
    lanes_wrap(t, x->i, n);
}

/* What is no zero has a sign, whatever those of its operands' zeros are; a share of what may be
 * left out may be, too; what a condition masks is so while it is -inf.  Flags count while there are
 * any.  */
HOT static void drop_flags(TeKind kind, Lanes *x, int n) {
    const double *bound = x->exact ? NULL : x->b;
    uint8_t not_zero = kind == TE_DIV ? LANE_LEFT_OUT : 0, any = 0;
    for (int j = 0; j < n; j++) {
        double v = x->v[j], b = bound ? bound[j] : 0;
        uint8_t f = x->f[j];
        f &= (uint8_t)~((v != 0) & !(fabs(v) <= b) ? LANE_ANY_ZERO : 0);
        f &= (uint8_t)~(v != 0 ? not_zero : 0);
        f &= (uint8_t)~(v != -INFINITY ? LANE_MASKED : 0);
        any |= x->f[j] = f;
    }
    x->plain = !any;
}

void lanes_arith(const Node *node, Lanes *x, Lanes *y, int n) {
    uint8_t keep = LANE_UNDECIDED | LANE_ANY_ZERO | LANE_MASKED;
    if (node->kind == TE_MUL) keep |= LANE_PADDING | LANE_LEFT_OUT;
    if (node->kind == TE_DIV) keep |= LANE_LEFT_OUT;
    TeDtype t = node->type;
    if (te_dtype_class(t) == TE_CLASS_REAL) {
        if (node->kind == TE_MUL)
            mul_real(node, x, y, n);
        else if (node->kind == TE_DIV)
            div_real(node, x, y, n);
        else if (node->centered)
            subtract_center(x, y, n);
        else
            add_real(t, x, y, node->kind == TE_SUB ? -1 : 1, n);
        lanes_settle(x, t, n);
    } else {
        arith_int(node->kind, t, x, y, n);
    }
    lanes_join_flags(x, y, keep, n);
    if (!x->plain) drop_flags(node->kind, x, n);
}

void lanes_negate(TeDtype t, Lanes *x, int n) {
    bool real = te_dtype_class(t) == TE_CLASS_REAL;
    for (int j = 0; j < n; j++) {
        if (real)
            x->v[j] = -x->v[j];
        else
            x->i[j] = eval_wrap(t, 0 - (uint64_t)x->i[j]);
    }
}

static bool relation(TeKind kind, int less, int equal) {
    switch (kind) {
    case TE_EQ:
        return equal;
    case TE_NE:
        return !equal;
    case TE_LT:
        return less;
    case TE_LE:
        return less || equal;
    case TE_GT:
        return !less && !equal;
    default:
        return !less;
    }
}

void lanes_compare(TeKind kind, TeDtype t, Lanes *x, Lanes *y, int n) {
    bool real = te_dtype_class(t) == TE_CLASS_REAL;
    for (int j = 0; j < n; j++) {
        if (!real) {
            x->i[j] = relation(kind, x->i[j] < y->i[j], x->i[j] == y->i[j]);
            continue;
        }
        double a = x->v[j], c = y->v[j];
        double b = (x->exact ? 0 : x->b[j]) + (y->exact ? 0 : y->b[j]);
        if (isnan(a) || isnan(c))
            x->i[j] = kind == TE_NE;
        else
            x->i[j] = relation(kind, a < c, a == c);
        if (b > 0 && fabs(a - c) <= b * (1 + 0x1p-30))
            lanes_flag(x, n, j, LANE_UNDECIDED);
    }
    x->exact = true;
    lanes_join_flags(x, y, LANE_UNDECIDED, n);
}

/* An undecided operand does not matter beside one that decides alone.  */
void lanes_logic(TeKind kind, Lanes *x, Lanes *y, int n) {
    int64_t decides = kind == TE_OR;
    lanes_show_flags(x, n);
    lanes_show_flags(y, n);
    for (int j = 0; j < n; j++) {
        bool x_open = x->f[j] & LANE_UNDECIDED, y_open = y->f[j] & LANE_UNDECIDED;
        bool settled = (!x_open && x->i[j] == decides) || (!y_open && y->i[j] == decides);
        if (settled)
            x->i[j] = decides;
        else
            x->i[j] = kind == TE_OR ? x->i[j] || y->i[j] : x->i[j] && y->i[j];
        x->f[j] = !settled && (x_open || y_open) ? LANE_UNDECIDED : 0;
    }
}

/* Both branches are possible: reals cover both, integers stay open unless they agree.  */
static void either(TeDtype t, Lanes *out, int n, int j, const Lanes *other) {
    if (te_dtype_class(t) != TE_CLASS_REAL) {
        if (out->i[j] != other->i[j])
            lanes_flag(out, n, j, LANE_UNDECIDED);
        return;
    }
    double v = out->v[j], w = other->v[j], b = out->b[j], c = other->b[j];
    if (isfinite(v) && isfinite(w))
        lanes_middle(out, n, j, fmin(v - b, w - c), fmax(v + b, w + c));
    else if (!(v == w || (isnan(v) && isnan(w))))
        lanes_flag(out, n, j, LANE_UNDECIDED);
}

static void select_plain(Lanes *cond, const Lanes *yes, const Lanes *no, int n) {
    for (int j = 0; j < n; j++) {
        cond->v[j] = cond->i[j] ? yes->v[j] : no->v[j];
        cond->i[j] = cond->i[j] ? yes->i[j] : no->i[j];
    }
    cond->exact = true;
}

void lanes_select(TeDtype t, Lanes *cond, Lanes *yes, Lanes *no, int n) {
    if (cond->plain && yes->plain && no->plain && yes->exact && no->exact) {
        select_plain(cond, yes, no, n);
        return;
    }
    lanes_show_flags(cond, n);
    lanes_show_bounds(cond, n);
    lanes_show_bounds(yes, n);
    lanes_show_bounds(no, n);
    for (int j = 0; j < n; j++) {
        Lanes *taken = cond->i[j] ? yes : no, *other = cond->i[j] ? no : yes;
        bool open = cond->f[j] & LANE_UNDECIDED;
        lanes_copy(cond, j, taken, j, 1);
        if (open && !other->plain)
            cond->f[j] |= other->f[j];
        if (open)
            either(t, cond, n, j, other);
    }
}

/* max and min of two: NaN if one is; a zero has either sign.  */
void lanes_extreme(bool max, TeDtype t, Lanes *x, Lanes *y, int n) {
    if (te_dtype_class(t) != TE_CLASS_REAL) {
        for (int j = 0; j < n; j++) {
            bool keep = max ? x->i[j] >= y->i[j] : x->i[j] <= y->i[j];
            x->i[j] = keep ? x->i[j] : y->i[j];
        }
        lanes_join_flags(x, y, LANE_UNDECIDED, n);
        return;
    }
    lanes_join_flags(x, y, LANE_UNDECIDED, n);
    bool exact = x->exact && y->exact;
    if (!exact) {
        lanes_show_bounds(x, n);
        lanes_show_bounds(y, n);
    }
    for (int j = 0; j < n; j++) {
        double a = x->v[j], c = y->v[j];
        double v = isnan(a) || isnan(c) ? NAN : (max ? a > c : a < c) ? a : c;
        if (v == 0)
            lanes_flag(x, n, j, LANE_ANY_ZERO);
        if (exact || isnan(v)) {
            x->v[j] = v;
            if (!exact)
                x->b[j] = 0;
            continue;
        }
        double alo = a - x->b[j], ahi = a + x->b[j], clo = c - y->b[j], chi = c + y->b[j];
        if (max)
            lanes_hull(x, n, j, v, fmax(alo, clo), fmax(ahi, chi));
        else
            lanes_hull(x, n, j, v, fmin(alo, clo), fmin(ahi, chi));
    }
}
