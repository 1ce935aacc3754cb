/* Least squares over few parameters of a model that is a maximum of many terms: it has kinks, so
 * derivatives are of no use.  Each step moves the one factor that explains most, along its line:
 * where several could explain a time, one does.
 *
 * A factor is kept for what it says of kernels that it was not fitted to: one after the other is
 * added, each time that which lowers the error of samples left out of the fit most, while it is
 * lowered by a twentieth and by more than the standard error of what it is lowered by, sample for
 * sample: of many factors one would gain something by chance.  So what a single sample depends on
 * never comes in, and where none carries over none is left; factors that trade off against each
 * other move together.  (Cross validation by leaving one out, its standard error, and forward
 * selection by it: Hastie, Tibshirani, Friedman, "The Elements of Statistical Learning", 7.10 and
 * 3.3.)  */
#include "base/stats.h"
#include "driver/profile/calibrate.h"

#include <math.h>
#include <string.h>

enum { GRID = 17, GOLDEN = 16, STEPS = 60 };
/* Samples are left out in so many rounds at most.  */
enum { ROUNDS = 16 };
/* |log factor| at most, 1/2 to 2: what is farther off is a profile of something else, or a term of
 * the model that stands in for another.  */
static const double span = 0.7;
/* As much as a residual of 14 %: a factor that no kernel depends on stays 1.  */
static const double pull = 0.02;

typedef struct {
    const CalibrateFit *f;
    double *factor;           /* per factor: scratch, and the result */
    int *group, n_group;      /* per factor: those that cannot be told apart move together */
    double *x;                /* per group: logarithm */
    const bool *open;         /* per group: may it move? */
    const bool *out;          /* per sample: left out? */
} Search;

static double off(const Search *s, int k) {
    return log(s->f->predict(s->f->user, k, s->factor) / s->f->us[k]);
}

static double cost(const Search *s) {
    double sum = 0;
    for (int i = 0; i < s->f->n_factor; i++) s->factor[i] = exp(s->x[s->group[i]]);
    for (int g = 0; g < s->n_group; g++) sum += pull * s->x[g] * s->x[g];
    for (int k = 0; k < s->f->n_sample; k++)
        if (!s->out[k]) sum += off(s, k) * off(s, k);
    return sum;
}

static double cost_at(Search *s, int i, double x) {
    s->x[i] = x;
    return cost(s);
}

/* The best place of one factor, the others fixed, and its cost: a grid, then golden section around
 * the best of it.  The factor stays where it is.  */
static double search_line(Search *s, int i, double *place) {
    const double ratio = 0.61803398874989484820;
    double was = s->x[i], best = was, least = cost(s), step = 2 * span / (GRID - 1);
    for (int g = 0; g < GRID; g++) {
        double x = -span + g * step, c = cost_at(s, i, x);
        if (c < least) {
            least = c;
            best = x;
        }
    }
    double lo = fmax(best - step, -span), hi = fmin(best + step, span);
    double p = hi - ratio * (hi - lo), q = lo + ratio * (hi - lo);
    double at_p = cost_at(s, i, p), at_q = cost_at(s, i, q);
    for (int g = 0; g < GOLDEN; g++) {
        if (at_p < at_q) {
            hi = q;
            q = p;
            at_q = at_p;
            p = hi - ratio * (hi - lo);
            at_p = cost_at(s, i, p);
        } else {
            lo = p;
            p = q;
            at_p = at_q;
            q = lo + ratio * (hi - lo);
            at_q = cost_at(s, i, q);
        }
    }
    double middle = (lo + hi) / 2, c = cost_at(s, i, middle);
    *place = c < least ? middle : best;
    s->x[i] = was;
    return c < least ? c : least;
}

/* From all factors at 1; s->factor is the result.  */
static void search(Search *s) {
    memset(s->x, 0, (size_t)s->n_group * sizeof *s->x);
    double before = cost(s);
    for (int step = 0; step < STEPS; step++) {
        double least = before, place = 0;
        int most = -1;
        for (int i = 0; i < s->n_group; i++) {
            double at = 0, c = s->open[i] ? search_line(s, i, &at) : before;
            if (c >= least) continue;
            least = c;
            place = at;
            most = i;
        }
        if (most < 0 || before - least <= 1e-4 * before) break;
        s->x[most] = place;
        before = least;
    }
    cost(s);
}

/* ---- which factors, of which samples ---- */
typedef struct {
    Search search;
    bool *open, *out;         /* as the search has them */
    bool *dropped;            /* per sample: it is an outlier */
    double *left;             /* per sample: how far it is off when it is left out */
} Choice;

/* The mean square of how far samples are off that the fit has not seen: each in turn, of many
 * samples several at once.  */
static double left_out(Choice *c) {
    const CalibrateFit *f = c->search.f;
    double sum = 0;
    int n = 0;
    for (int round = 0; round < ROUNDS && round < f->n_sample; round++) {
        for (int k = round; k < f->n_sample; k += ROUNDS) c->out[k] = true;
        search(&c->search);
        for (int k = round; k < f->n_sample; k += ROUNDS) {
            c->out[k] = c->dropped[k];
            if (c->dropped[k]) continue;
            c->left[k] = off(&c->search, k);
            sum += c->left[k] * c->left[k];
            n++;
        }
    }
    return n ? sum / n : 0;
}

/* Are squares of c->left below those of `before` by more than chance?  */
static bool surely_less(const Choice *c, const double *before) {
    double sum = 0, squares = 0;
    int n = 0;
    for (int k = 0; k < c->search.f->n_sample; k++) {
        if (c->dropped[k]) continue;
        double less = before[k] * before[k] - c->left[k] * c->left[k];
        sum += less;
        squares += less * less;
        n++;
    }
    double variance = n > 1 ? (squares - sum * sum / n) / (n - 1) : 0;
    return n > 1 && sum / n > sqrt(fmax(variance, 0) / n);
}

/* Opens factors while what was left out gains by it; returns its error.  */
static double select_factors(Arena *a, Choice *c) {
    static const double gain = 0.95;
    const int n_group = c->search.n_group;
    const size_t bytes = (size_t)c->search.f->n_sample * sizeof *c->left;
    double *before = ARENA_ARRAY(a, double, c->search.f->n_sample + 1), *best_left;
    best_left = ARENA_ARRAY(a, double, c->search.f->n_sample + 1);
    memset(c->open, 0, (size_t)n_group * sizeof *c->open);
    double error = left_out(c);
    memcpy(before, c->left, bytes);
    for (int n = 0; n < n_group; n++) {
        double least = gain * error;
        int best = -1;
        for (int i = 0; i < n_group; i++) {
            if (c->open[i]) continue;
            c->open[i] = true;
            double now = left_out(c);
            c->open[i] = false;
            if (now >= least || !surely_less(c, before)) continue;
            least = now;
            best = i;
            memcpy(best_left, c->left, bytes);
        }
        if (best < 0) break;
        c->open[best] = true;
        error = least;
        memcpy(before, best_left, bytes);
    }
    return error;
}

/* The sample that is farthest from what the others say; -1: all are dropped.  */
static int farthest(const Choice *c) {
    int worst = -1;
    for (int k = 0; k < c->search.f->n_sample; k++)
        if (!c->dropped[k] && (worst < 0 || fabs(c->left[k]) > fabs(c->left[worst]))) worst = k;
    return worst;
}

/* Drops the farthest samples, of many one in ROUNDS, if they are outliers: off by more than three
 * and a half times the median deviation, as of a normal distribution (Iglewicz and Hoaglin, "How to
 * detect and handle outliers", 1993), and by a quarter.  */
static bool drop_outliers(Arena *a, Choice *c) {
    static const double most = 3.5, normal = 0.6745, least = 0.25;
    const CalibrateFit *f = c->search.f;
    double *size = ARENA_ARRAY(a, double, f->n_sample + 1);
    int n = 0, found = 0;
    left_out(c);
    for (int k = 0; k < f->n_sample; k++)
        if (!c->dropped[k]) size[n++] = fabs(c->left[k]);
    if (n < 4) return false;
    stats_sort(size, n);
    double middle = stats_median(size, n);
    for (int some = 1 + n / ROUNDS; found < some; found++) {
        int k = farthest(c);
        double far = k < 0 ? 0 : fabs(c->left[k]);
        if (far < least || normal * far <= most * middle) break;
        c->dropped[k] = c->out[k] = true;
    }
    return found > 0;
}

/* Groups factors that move the samples' times alike: which of them it is could not be told.  */
static void group_factors(Arena *a, Search *s) {
    static const double alike = 0.9;      /* cosine between what they do to all samples */
    const CalibrateFit *f = s->f;
    double *moves = ARENA_ARRAY(a, double, f->n_factor * f->n_sample + 1);
    for (int i = 0; i < f->n_factor; i++) s->factor[i] = 1;
    for (int i = 0; i < f->n_factor; i++)
        for (int k = 0; k < f->n_sample; k++)
            moves[i * f->n_sample + k] = calibrate_sensitivity(a, f, s->factor, k, i);
    for (int i = 0; i < f->n_factor; i++) {
        s->group[i] = -1;
        for (int j = 0; j < i && s->group[i] < 0; j++) {
            double ij = 0, ii = 0, jj = 0;
            for (int k = 0; k < f->n_sample; k++) {
                double x = moves[i * f->n_sample + k], y = moves[j * f->n_sample + k];
                ij += x * y, ii += x * x, jj += y * y;
            }
            if (ij > alike * sqrt(ii * jj)) s->group[i] = s->group[j];
        }
        if (s->group[i] < 0) s->group[i] = s->n_group++;
    }
}

CalibrateVerdict calibrate_fit(Arena *a, const CalibrateFit *f, double *factor, bool *dropped) {
    Choice c = {.open = ARENA_ARRAY(a, bool, f->n_factor + 1), .dropped = dropped,
                .out = ARENA_ARRAY(a, bool, f->n_sample + 1),
                .left = ARENA_ARRAY(a, double, f->n_sample + 1)};
    c.search = (Search){.f = f, .factor = factor, .group = ARENA_ARRAY(a, int, f->n_factor + 1),
                        .x = ARENA_ARRAY(a, double, f->n_factor + 1), .open = c.open,
                        .out = c.out};
    group_factors(a, &c.search);
    memset(dropped, 0, (size_t)f->n_sample * sizeof *dropped);
    CalibrateVerdict v;
    do {
        memset(c.open, 0, (size_t)c.search.n_group * sizeof *c.open);
        v.without = sqrt(left_out(&c));
        v.with = sqrt(select_factors(a, &c));
    } while (drop_outliers(a, &c));
    search(&c.search);
    return v;
}

double calibrate_sensitivity(Arena *a, const CalibrateFit *f, const double *factor, int k, int i) {
    static const double step = 0.05;
    double *moved = ARENA_ARRAY(a, double, f->n_factor + 1);
    memcpy(moved, factor, (size_t)f->n_factor * sizeof *moved);
    moved[i] = factor[i] * exp(step);
    double faster = f->predict(f->user, k, moved);
    moved[i] = factor[i] * exp(-step);
    return fabs(log(f->predict(f->user, k, moved) / faster)) / (2 * step);
}

bool calibrate_at_bound(double factor) { return fabs(log(factor)) > 0.99 * span; }
