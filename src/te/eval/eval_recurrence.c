/* Recurrences, h = a h + b, in the order of their walk.
 *
 * A kernel may compose the maps in any order: (a, b) and (c, d) behind it to (c a, c b + d).  With
 * P the product of the a behind term s of n, h is the sum of P b, and each is rounded for every
 * factor of P and for every addition that it goes through, of which there are n at most.  So h is
 * off by u (n M + L), u one rounding, M = |a| M + |b| the sum of the magnitudes, L = |a| (L + M)
 * those times the number of their factors; and by what operands are off: E = |a| E + |h| e_a + e_b.
 * Products of a that become subnormal lose an absolute part of what they multiply.
 *
 * Products of neighbouring a may leave the range of numbers where h, step by step, does not: then
 * any value is right from there on, as where an a is infinite.  NaN stays.  The first h is b, since
 * nothing is before it: an a that is no number there leaves any value open.  */
#include "te/eval/eval_impl.h"
#include <float.h>
#include <math.h>

typedef struct {
    double h, error, magnitude, late, terms;
    double most, least;       /* of products of neighbours that end here: the magnitudes, ... */
    double reach, faint;      /* ... and of all so far; the largest M so far */
    double peak;
    int64_t i;
    bool open, whole;
} Walk;

static const Walk begun = {.most = 1, .least = 1, .reach = 1, .faint = 1, .whole = true};

static bool is_whole(double v) {
    return fabs(v) <= 0x1p24 && v == rint(v);
}

static double finite(double v) {
    return isfinite(v) ? v : 0;
}

static double bound_of(const Lanes *x, int j) {
    return x->exact ? 0 : x->b[j];
}

static void step_real(const Node *x, Walk *w, const Lanes *term, const Lanes *factor, int j) {
    double a = factor->v[j], b = term->v[j], ea = bound_of(factor, j), eb = bound_of(term, j);
    double large = finite(fabs(a) + ea), small = fmax(fabs(a) - ea, 0);
    bool first = w->terms == 0;
    if (a == 1 && b == 0 && ea == 0 && eb == 0)
        return;
    w->error = large * w->error + finite(fabs(w->h)) * ea + eb;
    w->h = first ? b : a * w->h + b;
    w->late = large * (w->late + w->magnitude);
    w->magnitude = large * w->magnitude + finite(fabs(b) + eb);
    w->most = fmax(1, large * w->most);
    w->least = a == 0 && ea == 0 ? 1 : fmin(1, small * w->least);
    w->reach = fmax(w->reach, w->most);
    w->faint = fmin(w->faint, w->least);
    w->peak = fmax(w->peak, w->magnitude);
    w->terms++;
    w->whole = w->whole && ea == 0 && eb == 0 && is_whole(a) && is_whole(b);
    w->open |= isinf(a) || (first && isnan(a)) || !(w->reach <= x->acc_limit) ||
               !(w->peak <= x->acc_limit);
}

/* The map in lane j.  */
static void step(const Node *x, Walk *w, const Lanes *term, const Lanes *factor, int j) {
    w->open |= (!term->plain && (term->f[j] & LANE_UNDECIDED)) ||
               (!factor->plain && (factor->f[j] & LANE_UNDECIDED));
    if (te_dtype_class(x->acc) == TE_CLASS_REAL) {
        step_real(x, w, term, factor, j);
        return;
    }
    int64_t product = eval_wrap(x->acc, (uint64_t)factor->i[j] * (uint64_t)w->i);
    w->i = eval_wrap(x->acc, (uint64_t)product + (uint64_t)term->i[j]);
}

/* What the roundings of h come to.  */
static double rounded(const Node *x, const Walk *w) {
    double u = lanes_roundoff(x->acc), most = 2 * w->terms * u;
    if (w->whole && w->reach <= x->acc_exact && w->peak <= x->acc_exact)
        return 0;
    double share = most < 0.25 ? u / (1 - most) : INFINITY;
    return share * (w->terms * w->magnitude + w->late) +
           lanes_tiny(x->acc) * w->terms * w->reach * (1 + w->peak);
}

static void finish(const Node *x, const Walk *w, Lanes *out, int j) {
    bool real = te_dtype_class(x->acc) == TE_CLASS_REAL;
    double least = x->acc == TE_F64 ? DBL_MIN : FLT_MIN;
    bool open = w->open || (isinf(w->h) && w->faint < least);
    out->v[j] = w->h;
    out->i[j] = w->i;
    out->b[j] = real && isfinite(w->h) ? w->error + rounded(x, w) : 0;
    out->f[j] = (open && !isnan(w->h) ? LANE_UNDECIDED : 0) |
                (real && w->h == 0 ? LANE_ANY_ZERO : 0);
    out->exact &= out->b[j] == 0;
}

/* A walk: over places from the first one up, or from the last one down; result j of n is at place
 * `at` + j, or of a walk of its own at `at`.  */
typedef struct {
    const Node *term, *factor;
    int over;
    bool down;
    int64_t at, length;
} Places;

static void eval_maps(Prog *p, const Node *x, const Places *w, int k, int n) {
    eval_node(p, w->term, k + 1, n);
    lanes_convert(&p->slot[k + 1], w->term->type, x->acc, n);
    eval_node(p, w->factor, k + 2, n);
    lanes_convert(&p->slot[k + 2], w->factor->type, x->acc, n);
}

/* One walk, strips along it.  */
static void walk_along(Prog *p, const Node *x, const Places *w, int k, int n) {
    int outer = p->strip;
    int64_t end = w->down ? w->length - w->at : w->at + n;
    Walk one = begun;
    p->strip = w->over;
    for (int64_t i = 0; i < end && !eval_stopped(p->owner); i += STRIP) {
        int m = end - i < STRIP ? (int)(end - i) : STRIP;
        int64_t first = w->down ? w->length - i - m : i;
        p->at[w->over] = first;
        eval_maps(p, x, w, k, m);
        for (int q = 0; q < m; q++) {
            int lane = w->down ? m - 1 - q : q;
            int64_t j = first + lane - w->at;
            step(x, &one, &p->slot[k + 1], &p->slot[k + 2], lane);
            if (j >= 0 && j < n) finish(x, &one, &p->slot[k], (int)j);
        }
    }
    p->strip = outer;
}

/* n walks side by side.  */
static void walk_apart(Prog *p, const Node *x, const Places *w, int k, int n) {
    int64_t end = w->down ? w->length - w->at : w->at + 1;
    Walk each[STRIP];
    for (int j = 0; j < n; j++) each[j] = begun;
    for (int64_t i = 0; i < end && !eval_stopped(p->owner); i++) {
        p->at[w->over] = w->down ? w->length - 1 - i : i;
        eval_maps(p, x, w, k, n);
        for (int j = 0; j < n; j++) step(x, &each[j], &p->slot[k + 1], &p->slot[k + 2], j);
    }
    for (int j = 0; j < n; j++) finish(x, &each[j], &p->slot[k], j);
}

void eval_recurrence(Prog *p, const Node *x, int k, int n) {
    const TeExpr *order = te_recurrence_order(x->e);
    int over = x->e->index[0], to = order ? order->args[1]->v.ref : -1;
    Places w = {.term = order ? x->args[0]->args[1] : x->args[0],
                .factor = order ? x->args[1]->args[1] : x->args[1], .over = over,
                .down = order && order->kind == TE_GE, .at = order ? p->at[to] : 0,
                .length = te_index_extent(&p->s->index[over])};
    Lanes *out = &p->slot[k];
    out->exact = true;
    out->plain = false;
    (n == 1 || p->strip == to ? walk_along : walk_apart)(p, x, &w, k, n);
    if (te_dtype_class(x->acc) == TE_CLASS_REAL && !out->exact)
        lanes_settle(out, x->acc, n);
}
