/* Least squares over few parameters of a model that is a maximum of many terms: it has kinks, so
 * derivatives are of no use.  Each step moves the one factor that explains most, along its line:
 * where several could explain a time, one does.  */
#include "driver/calibrate.h"

#include <math.h>
#include <string.h>

enum { GRID = 33, GOLDEN = 24, STEPS = 60 };
static const double span = 1.4;           /* |log factor| at most: 1/4 to 4 */
/* As much as a residual of 14 %: a factor that no kernel depends on stays 1.  */
static const double pull = 0.02;

typedef struct {
    const CalibrateFit *f;
    double *x, *factor;       /* logarithms; scratch */
} Search;

static double cost(const Search *s) {
    double sum = 0;
    for (int i = 0; i < s->f->n_factor; i++) {
        s->factor[i] = exp(s->x[i]);
        sum += pull * s->x[i] * s->x[i];
    }
    for (int k = 0; k < s->f->n_sample; k++) {
        double off = log(s->f->predict(s->f->user, k, s->factor) / s->f->us[k]);
        sum += off * off;
    }
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
    double lo = best - step, hi = best + step;
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

void calibrate_fit(Arena *a, const CalibrateFit *f, double *factor) {
    Search s = {f, ARENA_ARRAY(a, double, f->n_factor + 1), factor};
    double before = cost(&s);
    for (int step = 0; step < STEPS; step++) {
        double least = before, place = 0;
        int most = -1;
        for (int i = 0; i < f->n_factor; i++) {
            double at, c = search_line(&s, i, &at);
            if (c >= least) continue;
            least = c;
            place = at;
            most = i;
        }
        if (most < 0 || before - least <= 1e-6 * before) break;
        s.x[most] = place;
        before = least;
    }
    cost(&s);
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
