#include "te/eval/eval_impl.h"
#include <float.h>
#include <math.h>
#include <string.h>

bool acc_is_arg(int red) {
    return red == TE_RED_ARGMAX || red == TE_RED_ARGMIN;
}

void acc_start(Acc *a, const Node *x, int n) {
    int red = x->e->red;
    bool low = red == TE_RED_MAX || red == TE_RED_ARGMAX;
    TeDtype t = x->args[0]->type;
    int64_t most = t == TE_I64 ? INT64_MAX : INT32_MAX;
    memset(a->f, 0, sizeof a->f);
    a->open = LANE_PADDING | (x->written ? 0 : LANE_LEFT_OUT);
    for (int j = 0; j < n; j++) {
        bool extreme = red == TE_RED_MIN || red == TE_RED_MAX || acc_is_arg(red);
        double r = red == TE_RED_PROD ? 1 : extreme ? (low ? -INFINITY : INFINITY) : 0;
        a->v[j] = r;
        a->b[j] = a->mag[j] = a->n[j] = a->odd[j] = a->odd_fine[j] = 0;
        a->lo[j] = a->hi[j] = r;
        a->rival[j] = a->close_rival[j] = -INFINITY;
        a->i[j] = red == TE_RED_PROD || red == TE_RED_ALL ? 1 : 0;
        if (extreme)
            a->i[j] = low ? -most - 1 : most;
        a->pos[j] = 0;
        a->some[j] = false;
        a->whole[j] = a->fine[j] = true;
    }
}

static bool is_whole(double v) {
    return fabs(v) < 0x1p51 && (v + 0x3p51) - 0x3p51 == v;
}

/* How far a value is from an integer: below 2^51 to the bit; NaN of an infinity.  */
static inline double distance(double v) {
    return fabs((v + 0x3p51) - 0x3p51 - v);
}

/* What a term adds to the magnitudes: infinities and NaN decide a sum alone unless what else there
 * is leaves the accumulator's range.  */
static double magnitude(double v) {
    double m = fabs(v);
    return m <= DBL_MAX ? m : 0;
}

static void sum_one(Acc *a, const Lanes *x, int to, int from) {
    double v = x->v[from], b = x->exact ? 0 : x->b[from];
    a->v[to] += v;
    a->mag[to] += magnitude(v) + b;
    a->b[to] += b;
    bool faded = !x->plain && (x->f[from] & LANE_FADED);
    a->n[to] += !faded && (v != 0 || b > 0);
    a->b[to] += faded ? fabs(v) : 0;
    a->odd[to] += distance(v) + b;
    a->odd_fine[to] += distance(v * 4096) + b;
    if (!x->plain) {
        a->f[to] |= x->f[from] & LANE_UNDECIDED;
        if ((x->f[from] & a->open) && !isfinite(v))
            a->f[to] |= LANE_UNDECIDED;
    }
}

/* One term each, without flags; exact: without bounds.  */
HOT static void sum_across(Acc *restrict a, const Lanes *restrict x, int n) {
    const double *bound = x->exact ? NULL : x->b;
    for (int j = 0; j < n; j++) {
        double t = x->v[j], b = bound ? bound[j] : 0;
        a->v[j] += t;
        a->b[j] += b;
        a->mag[j] += magnitude(t) + b;
        a->n[j] += ((t != 0) | (b > 0)) ? 1 : 0;
        a->odd[j] += distance(t) + b;
        a->odd_fine[j] += distance(t * 4096) + b;
    }
}

/* Partial sums, so that one addition need not wait for the last.  */
enum { PARTS = 8 };

static double sum_of(const double *part) {
    double sum = 0;
    for (int k = 0; k < PARTS; k++) sum += part[k];
    return sum;
}

HOT static void sum_fold(Acc *restrict a, const double *restrict term, int n) {
    double v[PARTS] = {0}, mag[PARTS] = {0}, terms[PARTS] = {0};
    double odd[PARTS] = {0}, fine[PARTS] = {0};
    for (int j = 0; j < n; j += PARTS) {
        for (int k = 0; k < PARTS; k++) {
            double t = term[j + k];
            v[k] += t;
            mag[k] += magnitude(t);
            terms[k] += t != 0 ? 1 : 0;
            odd[k] += distance(t);
            fine[k] += distance(t * 4096);
        }
    }
    a->v[0] += sum_of(v);
    a->mag[0] += sum_of(mag);
    a->n[0] += sum_of(terms);
    a->odd[0] += sum_of(odd);
    a->odd_fine[0] += sum_of(fine);
}

static void add_terms(Acc *a, const Lanes *x, int n, bool fold) {
    int j = 0;
    if (x->plain && !fold) {
        sum_across(a, x, j = n);
    } else if (x->plain && x->exact) {
        j = n - n % PARTS;
        sum_fold(a, x->v, j);
    }
    for (; j < n; j++) sum_one(a, x, fold ? 0 : j, j);
}

/* Several terms that a matrix unit adds at once may each lose a part of their sum's last bit.  */
double acc_roundoff(const Node *x, double terms) {
    double all = (double)x->count, n = x->acc_all ? all : terms, steps, u;
    steps = fmin(n > 1 ? n * x->acc_each : 0, (all - 1) * x->acc_most);
    if (x->acc_coarse) u = fmin(n, 128) * 0x1p-13 + ceil(n / 128) * 0x1p-23;
    else u = (x->acc_rounds ? steps + 1 : steps) * x->acc_step;
    return u < 0.25 ? u / (1 - u) : 2 * u;
}

static void finish_sum(const Acc *a, const Node *x, Lanes *out, int n) {
    double most = fmin(x->acc_exact, 0x1p51);      /* `distance` can tell of terms up to this */
    for (int j = 0; j < n; j++) {
        bool exact = (a->odd[j] == 0 && a->mag[j] <= most) ||
                     (a->odd_fine[j] == 0 && a->mag[j] <= most / 4096);
        double share = acc_roundoff(x, a->n[j]) + x->acc_moved;
        out->v[j] = a->v[j];
        out->b[j] = exact && x->acc_moved == 0
                        ? 0
                        : a->b[j] + share * a->mag[j] + x->acc_tiny * a->n[j];
        out->f[j] = a->f[j] | (a->v[j] == 0 ? LANE_ANY_ZERO : 0);
        if (!(a->mag[j] <= x->acc_limit))
            out->f[j] |= LANE_UNDECIDED;
    }
}

static void mul_term(Acc *a, const Lanes *x, int to, int from) {
    double v = x->v[from], b = x->exact ? 0 : x->b[from], p = a->v[to], m = fabs(v) + b;
    a->b[to] = fabs(p) * b + fabs(v) * a->b[to] + b * a->b[to];
    a->v[to] = p * v;
    a->hi[to] *= fmax(m, 1);
    a->lo[to] *= v == 0 ? 1 : fmin(m, 1);
    a->whole[to] = a->whole[to] && b == 0 && is_whole(v);
    a->fine[to] = a->fine[to] && !(v == 0 && b == 0);
    a->some[to] = a->some[to] || isnan(v);
    a->mag[to] = fmax(a->mag[to], fabs(v));
    if (!x->plain)
        a->f[to] |= x->f[from] & (LANE_UNDECIDED | (v == 0 ? LANE_ANY_ZERO : 0));
    if (b > 0 && fabs(v) <= b)            /* either sign, which a zero beside it takes */
        a->f[to] |= LANE_ANY_ZERO;
}

/* Is the product the same in every order?  A NaN is if a factor is one, or if one is infinite and
 * one is zero; no part of any other product may leave the range of numbers.  */
static bool any_order(const Acc *a, int j, double most, double least) {
    bool infinite = isinf(a->mag[j]);
    if (a->some[j] || (infinite && !a->fine[j]))
        return true;
    return !(a->lo[j] < least) && (infinite || a->hi[j] <= most);
}

static void finish_prod(const Acc *a, const Node *x, Lanes *out, int n) {
    bool f64 = x->acc == TE_F64;
    double steps = x->count > 1 ? (double)(x->count - 1) : 0;
    double u = steps * lanes_roundoff(x->acc);
    if (x->acc_exact == 0x1p11 || x->acc_exact == 0x1p8)
        u = (steps + 1) * 2 / x->acc_exact;
    u = u < 0.25 ? u / (1 - u) : INFINITY;
    for (int j = 0; j < n; j++) {
        double v = a->v[j], b = a->b[j];
        bool exact = a->whole[j] && a->hi[j] <= x->acc_exact;
        out->v[j] = v;
        out->b[j] = exact || !isfinite(v) ? 0 : b + u * (fabs(v) + b);
        out->f[j] = a->f[j];
        if (!any_order(a, j, x->acc_limit, f64 ? DBL_MIN : FLT_MIN))
            out->f[j] |= LANE_UNDECIDED;
    }
}

static void extreme_real(Acc *a, bool max, const Lanes *x, int to, int from) {
    double v = x->v[from], b = x->exact ? 0 : x->b[from], old = a->v[to];
    if (!x->plain)
        a->f[to] |= x->f[from] & LANE_UNDECIDED;
    if (isnan(v) || isnan(old)) {
        a->v[to] = NAN;
        return;
    }
    if (max) {
        a->v[to] = v > old ? v : old;
        a->lo[to] = fmax(a->lo[to], v - b);
        a->hi[to] = fmax(a->hi[to], v + b);
    } else {
        a->v[to] = v < old ? v : old;
        a->lo[to] = fmin(a->lo[to], v - b);
        a->hi[to] = fmin(a->hi[to], v + b);
    }
}

static void note_rival(Acc *a, int to, double v, double b) {
    double *seen = b > 0 ? &a->close_rival[to] : &a->rival[to];
    *seen = fmax(*seen, v + b);
}

/* NaN counts as larger than anything; v is negated for argmin.  */
static void arg_real(Acc *a, double v, double b, int to, int64_t pos) {
    double best = a->v[to];
    bool first = !a->some[to];
    bool wins = isnan(v) ? !isnan(best) || pos < a->pos[to]
                         : !isnan(best) && (v > best || (v == best && pos < a->pos[to]));
    if (!first && !wins) {
        note_rival(a, to, v, b);
        return;
    }
    if (!first)
        note_rival(a, to, best, a->b[to]);
    a->some[to] = true;
    a->v[to] = v;
    a->b[to] = b;
    a->pos[to] = pos;
}

static void arg_int(Acc *a, bool max, int64_t v, int to, int64_t pos) {
    int64_t best = a->i[to];
    bool better = max ? v > best : v < best;
    if (a->some[to] && !better && !(v == best && pos < a->pos[to]))
        return;
    a->some[to] = true;
    a->i[to] = v;
    a->pos[to] = pos;
}

static void finish_arg(const Acc *a, bool real, Lanes *out, int n) {
    for (int j = 0; j < n; j++) {
        out->i[j] = a->pos[j];
        out->f[j] = a->f[j];
        double low = a->v[j] - a->b[j];
        bool open = a->close_rival[j] >= low || (a->b[j] > 0 && a->rival[j] >= low);
        if (real && !isnan(a->v[j]) && open)
            out->f[j] |= LANE_UNDECIDED;
    }
}

static void int_sum(Acc *a, TeDtype t, const Lanes *y, int n, bool fold) {
    for (int j = 0; j < n; j++) {
        int to = fold ? 0 : j;
        a->i[to] = (int64_t)((uint64_t)a->i[to] + (uint64_t)y->i[j]);
        a->mag[to] += fabs((double)y->i[j]);
        a->f[to] |= y->plain ? 0 : y->f[j] & LANE_UNDECIDED;
    }
    lanes_wrap(t, a->i, fold ? 1 : n);
}

static void int_term(Acc *a, const Node *x, const Lanes *y, int to, int from) {
    int64_t v = y->i[from];
    bool open = !y->plain && (y->f[from] & LANE_UNDECIDED);
    uint64_t old = (uint64_t)a->i[to];
    switch (x->e->red) {
    case TE_RED_PROD:
        a->i[to] = eval_wrap(x->acc, old * (uint64_t)v);
        a->hi[to] *= fmax(fabs((double)v), 1);
        break;
    case TE_RED_MAX:
        a->i[to] = v > a->i[to] ? v : a->i[to];
        break;
    case TE_RED_MIN:
        a->i[to] = v < a->i[to] ? v : a->i[to];
        break;
    default:
        /* any, all: `some` notes a term that decides alone.  */
        if (!open && v == (x->e->red == TE_RED_ANY)) {
            a->i[to] = v;
            a->some[to] = true;
        }
        break;
    }
    a->f[to] |= open ? LANE_UNDECIDED : 0;
}

static void finish_int(const Acc *a, const Node *x, Lanes *out, int n) {
    for (int j = 0; j < n; j++) {
        out->i[j] = a->i[j];
        out->f[j] = a->some[j] ? 0 : a->f[j];
        if (fmax(a->mag[j], x->e->red == TE_RED_PROD ? a->hi[j] : 0) >= x->acc_limit)
            out->f[j] |= LANE_UNDECIDED;
    }
}

void acc_take(Acc *a, const Node *x, const Lanes *y, int n, AccTerms t) {
    int red = x->e->red;
    bool real = te_dtype_class(x->acc) == TE_CLASS_REAL;
    if (real && red == TE_RED_SUM) {
        add_terms(a, y, n, t.fold);
        return;
    }
    if (red == TE_RED_SUM) {
        int_sum(a, x->acc, y, n, t.fold);
        return;
    }
    for (int j = 0; j < n; j++) {
        int to = t.fold ? 0 : j;
        int64_t at = t.fold ? t.pos + j * t.step : t.pos;
        double sign = red == TE_RED_ARGMIN ? -1 : 1;
        if (acc_is_arg(red) && !y->plain)
            a->f[to] |= y->f[j] & LANE_UNDECIDED;
        if (acc_is_arg(red) && real)
            arg_real(a, sign * y->v[j], y->exact ? 0 : y->b[j], to, at);
        else if (acc_is_arg(red))
            arg_int(a, red == TE_RED_ARGMAX, y->i[j], to, at);
        else if (real && red == TE_RED_PROD)
            mul_term(a, y, to, j);
        else if (real)
            extreme_real(a, red == TE_RED_MAX, y, to, j);
        else
            int_term(a, x, y, to, j);
    }
}

void acc_finish(const Acc *a, const Node *x, Lanes *out, int n) {
    int red = x->e->red;
    bool real = te_dtype_class(x->acc) == TE_CLASS_REAL;
    out->exact = false;
    out->plain = false;
    if (acc_is_arg(red)) {
        out->exact = true;
        finish_arg(a, real, out, n);
    } else if (!real) {
        out->exact = true;
        finish_int(a, x, out, n);
    } else if (red == TE_RED_SUM) {
        finish_sum(a, x, out, n);
    } else if (red == TE_RED_PROD) {
        finish_prod(a, x, out, n);
    } else {
        for (int j = 0; j < n; j++) {
            out->f[j] = a->f[j] | (a->v[j] == 0 ? LANE_ANY_ZERO : 0);
            lanes_hull(out, n, j, a->v[j], a->lo[j], a->hi[j]);
        }
    }
    if (out->exact)
        return;
    lanes_settle(out, x->acc, n);
    bool exact = true;
    for (int j = 0; j < n; j++)
        exact &= out->b[j] == 0;
    out->exact = exact;
}
