#include "te/eval/eval_impl.h"
#include <math.h>

/* Position of the current point, row-major in the listed ranges.  */
static int64_t position(const Prog *p, const TeExpr *e) {
    int64_t pos = 0;
    for (int i = 0; i < e->n_index; i++) {
        const TeIndex *x = &p->s->index[e->index[i]];
        pos = pos * (x->hi.value - x->lo.value) + p->at[e->index[i]] - x->lo.value;
    }
    return pos;
}

/* Steps the reduction's indices but `skip` like an odometer; false after the last point.  */
static bool next_point(Prog *p, const TeExpr *e, int skip) {
    for (int i = e->n_index - 1; i >= 0; i--) {
        int k = e->index[i];
        if (k == skip)
            continue;
        if (++p->at[k] < p->s->index[k].hi.value)
            return true;
        p->at[k] = p->s->index[k].lo.value;
    }
    return false;
}

static void reset_point(Prog *p, const TeExpr *e) {
    for (int i = 0; i < e->n_index; i++)
        p->at[e->index[i]] = p->s->index[e->index[i]].lo.value;
}

static void body_strip(Prog *p, const Node *x, int k, int n) {
    eval_node(p, x->args[0], k, n);
    lanes_convert(&p->slot[k], x->args[0]->type, x->acc, n);
}

/* One reduction, strips along its longest index.  */
static void sweep(Prog *p, const Node *x, Acc *a, int k) {
    const TeExpr *e = x->e;
    const TeIndex *along = &p->s->index[x->sweep];
    int outer = p->strip;
    int64_t step = 0;
    p->strip = x->sweep;
    reset_point(p, e);
    if (acc_is_arg(e->red)) {
        int64_t here = position(p, e);
        p->at[x->sweep]++;
        step = position(p, e) - here;
    }
    do {
        for (int64_t i = along->lo.value; i < along->hi.value; i += STRIP) {
            int n = along->hi.value - i < STRIP ? (int)(along->hi.value - i) : STRIP;
            p->at[x->sweep] = i;
            body_strip(p, x, k, n);
            int64_t pos = acc_is_arg(e->red) ? position(p, e) : 0;
            acc_take(a, x, &p->slot[k], n, (AccTerms){true, pos, step});
        }
    } while (!eval_stopped(p->owner) && next_point(p, e, x->sweep));
    p->strip = outer;
}

/* n reductions side by side.  */
static void march(Prog *p, const Node *x, Acc *a, int k, int n) {
    const TeExpr *e = x->e;
    reset_point(p, e);
    do {
        body_strip(p, x, k, n);
        int64_t pos = acc_is_arg(e->red) ? position(p, e) : 0;
        acc_take(a, x, &p->slot[k], n, (AccTerms){false, pos, 0});
    } while (!eval_stopped(p->owner) && next_point(p, e, -1));
}

/* A few long reductions, one after the other: the stack above slot k is free for each.  */
static void few_long(Prog *p, const Node *x, int k, int n) {
    Acc a;
    Lanes one, *out = &p->slot[k];
    int64_t first = p->at[p->strip];
    out->exact = out->plain = false;
    for (int j = 0; j < n; j++) {
        p->at[p->strip] = first + j;
        acc_start(&a, x, 1);
        sweep(p, x, &a, k + 1);
        acc_finish(&a, x, &one, 1);
        lanes_copy(out, j, &one, 0, 1);
    }
    p->at[p->strip] = first;
}

/* A sum of squared deviations may be made by parts: the mean of each is rounded, and each adds the
 * square of a distance of means, weighted.  The error of a mean is a share u of its part's mean
 * magnitude; the squares of these, weighted, are n e^2 at most with e = u (|mean| + sqrt(Q / n)),
 * so the weighted squares of n terms, Q together, are off by 2 e sqrt(n Q) + n e^2 at most
 * (Cauchy).  */
static void allow_partials(Prog *p, const Node *x, int k, int n) {
    Lanes *out = &p->slot[k], *mean = &p->slot[k + 1];
    double u = acc_roundoff(x, (double)x->count);
    eval_node(p, x->mean, k + 1, n);
    for (int j = 0; j < n; j++) {
        double q = fabs(out->v[j]), count = (double)x->count, b = out->exact ? 0 : out->b[j];
        double e = u * (fabs(mean->v[j]) + sqrt(q / count));
        out->b[j] = b + u * q + 2 * e * sqrt(count * q) + count * e * e;
        if (!isfinite(out->b[j]))
            out->b[j] = b;
    }
    out->exact = false;
}

/* The sum before it is divided is z times as large, and may leave the range of numbers.  */
static void allow_division(Prog *p, const Node *x, int k, int n) {
    Lanes *out = &p->slot[k], *z = &p->slot[k + 1];
    eval_node(p, x->divisor, k + 1, n);
    for (int j = 0; j < n; j++) {
        double magnitudes = out->exact ? 0 : out->b[j] / x->acc_moved;     /* or more */
        if (isfinite(z->v[j]) && !(fabs(z->v[j]) * magnitudes <= x->acc_limit))
            lanes_flag(out, n, j, LANE_UNDECIDED);
    }
}

static bool is_alike(double x, double y) {
    return isfinite(x) ? isfinite(y) : x == y || (isnan(x) && isnan(y));
}

/* Either value is right, each within its bound; any where one of them leaves the range of numbers
 * and the other does not, or not as it does.  */
static void allow_factored(Prog *p, const Node *x, int k, int n) {
    Lanes *out = &p->slot[k], *y = &p->slot[k + 1];
    eval_node(p, x->factored, k + 1, n);
    lanes_show_bounds(out, n);
    bool exact = true;
    for (int j = 0; j < n; j++) {
        double b = (y->exact ? 0 : y->b[j]) + fabs(out->v[j] - y->v[j]);
        bool open = !y->plain && (y->f[j] & LANE_UNDECIDED);
        if (open || !is_alike(out->v[j], y->v[j])) lanes_flag(out, n, j, LANE_UNDECIDED);
        if (b > out->b[j]) out->b[j] = b;
        exact = exact && out->b[j] == 0;
    }
    out->exact = exact;
}

/* Sums of elements and of scales that are no numbers leave the whole open.  */
static void allow_scaled(Prog *p, const Node *x, int k, int n) {
    Lanes *out = &p->slot[k], *y = &p->slot[k + 1];
    eval_node(p, x->scales, k + 1, n);
    for (int j = 0; j < n; j++)
        if (!isfinite(y->v[j])) lanes_flag(out, n, j, LANE_UNDECIDED);
    if (!x->elements) return;
    eval_node(p, x->elements, k + 1, n);
    for (int j = 0; j < n; j++)
        if (!isfinite(y->v[j]) && !isnan(out->v[j])) lanes_flag(out, n, j, LANE_UNDECIDED);
}

static void reduce(Prog *p, const Node *x, int k, int n) {
    Acc a;
    acc_start(&a, x, n);
    if (x->count > 0 && n == 1)
        sweep(p, x, &a, k + 1);
    else if (x->count > 0)
        march(p, x, &a, k + 1, n);
    acc_finish(&a, x, &p->slot[k], n);
}

void eval_reduce(Prog *p, const Node *x, int k, int n) {
    const TeIndex *along = &p->s->index[x->sweep];
    int64_t length = along->hi.value - along->lo.value;
    if (n > 1 && n < STRIP / 2 && length > 2 * n && x->count > 0)
        few_long(p, x, k, n);
    else
        reduce(p, x, k, n);
    if (x->mean)
        allow_partials(p, x, k, n);
    if (x->divisor)
        allow_division(p, x, k, n);
    if (x->factored)
        allow_factored(p, x, k, n);
    if (x->scales)
        allow_scaled(p, x, k, n);
}
