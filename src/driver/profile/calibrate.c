/* Calibration: which factors there are, what they are fitted to, and what is said of them.  */
#include "base/belief.h"
#include "driver/profile/calibrate_samples.h"

#include <math.h>
#include <string.h>

enum { MOST_FACTORS = 16 };

/* Rates that the model multiplies by a factor, beside those of the units that kernels use.  */
static const char *const rates[] = {"dram.read", "dram.write", "l2.read", "smem", "issue"};
/* A factor belongs to the kernels whose time it moves by at least a tenth of its own change.  */
static const double moves = 0.1;

typedef struct {
    Arena *arena;
    Device model;             /* the profile, with the factors that are tried */
    Factor factor[MOST_FACTORS];
    int n_factor;
    const CalibrateSample **timed;
    CountMemo ***memo;        /* of each kernel of each */
    double *us;
    int n;
} Calibrating;

/* ---- the model ---- */
static double predict(void *user, int k, const double *factor) {
    Calibrating *c = user;
    const RPlan *p = c->timed[k]->plan;
    double us = 0;
    c->model.n_factor = factor ? c->n_factor : 0;
    for (int i = 0; factor && i < c->n_factor; i++) c->factor[i].value = factor[i];
    for (int g = 0; g < rplan_groups(p); g++) {
        Estimate e;
        mp_estimate_again(&p->problem[g], &p->prog[g], &c->model, c->memo[k][g], &e);
        us += e.us;
    }
    return us;
}

/* Samples of the same problem share what was counted.  */
static void keep_counts(Calibrating *c) {
    c->memo = ARENA_ARRAY(c->arena, CountMemo **, c->n + 1);
    for (int k = 0; k < c->n; k++) {
        const RPlan *p = c->timed[k]->plan;
        c->memo[k] = ARENA_ARRAY(c->arena, CountMemo *, rplan_groups(p));
        if (k > 0 && c->timed[k - 1]->plan->problem == p->problem) {
            c->memo[k] = c->memo[k - 1];
            continue;
        }
        for (int g = 0; g < rplan_groups(p); g++) c->memo[k][g] = mp_count_memo(c->arena);
    }
}

static void add_factor(Calibrating *c, const char *name) {
    for (int i = 0; i < c->n_factor; i++)
        if (!strcmp(c->factor[i].name, name)) return;
    if (c->n_factor < MOST_FACTORS) c->factor[c->n_factor++] = (Factor){.name = name, .value = 1};
}

static void choose_factors(Calibrating *c) {
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) add_factor(c, rates[i]);
    for (int k = 0; k < c->n; k++) {
        const RPlan *p = c->timed[k]->plan;
        for (int g = 0; g < rplan_groups(p); g++) {
            if (p->prog[g].skeleton != SK_CONTRACT) continue;
            add_factor(c, c->model.unit[p->prog[g].unit].name);
        }
    }
}

/* ---- the result ---- */
static double rounded(double v) { return round(v * 1e4) / 1e4; }

/* Is it among the first n, as someone's family?  */
static bool named(const Calibrating *c, const bool *counts, int n) {
    for (int k = 0; k < n; k++)
        if (counts[k] && !strcmp(c->timed[k]->family, c->timed[n]->family)) return true;
    return false;
}

/* Fills a factor's residual, samples and kernels; false if none of them depends on it.  */
static bool describe(Calibrating *c, const CalibrateFit *f, const double *value, int i,
                     Factor *out) {
    double squares = 0;
    int n = 0;
    bool *counts = ARENA_ARRAY(c->arena, bool, c->n + 1);
    Buf names = buf_new(c->arena);
    *out = (Factor){.name = c->factor[i].name, .value = rounded(value[i])};
    for (int k = 0; k < c->n; k++) {
        if (calibrate_sensitivity(c->arena, f, value, k, i) < moves) continue;
        double off = log(predict(c, k, value) / c->us[k]);
        squares += off * off;
        out->samples += c->timed[k]->samples;
        if (!named(c, counts, k)) buf_printf(&names, "%s%s", n ? ", " : "", c->timed[k]->family);
        counts[k] = true;
        n++;
    }
    if (n == 0) return false;
    out->residual = rounded(sqrt(squares / n));
    out->kernels = buf_str(&names);
    return true;
}

static void keep_factors(Calibrating *c, const CalibrateFit *f, const Device *dev,
                         const double *value, Calibration *out) {
    out->dev = ARENA_NEW(c->arena, Device);
    *out->dev = *dev;
    out->dev->factor = ARENA_ARRAY(c->arena, Factor, c->n_factor + 1);
    out->dev->n_factor = 0;
    for (int i = 0; i < c->n_factor; i++) {
        Factor one;
        if (value[i] == 1 || !describe(c, f, value, i, &one)) continue;
        out->dev->factor[out->dev->n_factor++] = one;
    }
    out->dev->calibrated = out->dev->n_factor > 0;
}

static void tell_kernels(Calibrating *c, const CalibrateSample *s, int n, const double *value,
                         const bool *dropped, Calibration *out) {
    out->kernel = ARENA_ARRAY(c->arena, CalibratedKernel, n + 1);
    out->n = n;
    for (int i = 0, k = 0; i < n; i++) {
        CalibratedKernel *r = &out->kernel[i];
        *r = (CalibratedKernel){.name = s[i].name, .failed = s[i].failed};
        if (r->failed) continue;
        r->us = c->us[k];
        r->samples = s[i].samples;
        r->before_us = predict(c, k, NULL);
        r->after_us = predict(c, k, value);
        r->outlier = dropped[k++];
    }
}

/* Those that have a plan, or a time.  */
static Calibrating *begin(Arena *a, const Device *dev, const CalibrateSample *s, int n,
                          bool timed) {
    Calibrating *c = ARENA_NEW(a, Calibrating);
    c->arena = a;
    c->model = *dev;
    c->model.n_factor = 0;
    c->model.factor = c->factor;
    c->timed = ARENA_ARRAY(a, const CalibrateSample *, n + 1);
    c->us = ARENA_ARRAY(a, double, n + 1);
    for (int i = 0; i < n; i++) {
        if (s[i].failed) continue;
        c->timed[c->n] = &s[i];
        c->us[c->n++] = timed ? s[i].us : 1;
    }
    keep_counts(c);
    choose_factors(c);
    return c;
}

int *calibrate_order(Arena *a, const Device *dev, const CalibrateSample *s, int n) {
    /* As far as factors may well be off, and what else is: the ratio is that of the fit.  */
    static const double factor_sd = 0.35, noise = 0.05;
    Calibrating *c = begin(a, dev, s, n, false);
    CalibrateFit f = {predict, c, c->us, c->n, c->n_factor};
    double *one = ARENA_ARRAY(a, double, c->n_factor + 1), *sd = one;
    double *x = ARENA_ARRAY(a, double, c->n * c->n_factor + 1);
    int *order = ARENA_ARRAY(a, int, n + 1), done = 0;
    bool *taken = ARENA_ARRAY(a, bool, c->n + 1);
    for (int i = 0; i < c->n_factor; i++) one[i] = 1;
    for (int k = 0; k < c->n; k++)
        for (int i = 0; i < c->n_factor; i++)
            x[k * c->n_factor + i] = calibrate_sensitivity(a, &f, one, k, i);
    for (int i = 0; i < c->n_factor; i++) sd[i] = factor_sd;
    Belief b = belief_new(a, c->n_factor, sd, noise, 1);
    for (; done < c->n; done++) {
        int best = -1;
        double most = -1;
        for (int k = 0; k < c->n; k++) {
            double told = belief_lesson(&b, x + k * c->n_factor, x, c->n);
            if (taken[k] || told <= most) continue;
            most = told;
            best = k;
        }
        taken[best] = true;
        order[done] = (int)(c->timed[best] - s);
        belief_learn(&b, x + best * c->n_factor, 0);
    }
    for (int i = 0; i < n; i++)
        if (s[i].failed) order[done++] = i;
    return order;
}

Status calibrate_samples(Arena *a, Diag *d, const Device *dev, const CalibrateSample *s, int n,
                         Calibration *out) {
    double value[MOST_FACTORS];
    const char *failed = NULL;
    Calibrating *c = begin(a, dev, s, n, true);
    bool *dropped = ARENA_ARRAY(a, bool, c->n + 1);
    for (int i = 0; i < n && !failed; i++) failed = s[i].failed;
    if (c->n < CALIBRATE_FEWEST)
        return diag_error(d, ST_CHECK, NULL, DIAG_NOWHERE, "only %d kernel%s could be timed%s%s",
                          c->n, c->n == 1 ? "" : "s", failed ? "; one that failed: " : "",
                          failed ? failed : "");
    CalibrateFit f = {predict, c, c->us, c->n, c->n_factor};
    out->verdict = calibrate_fit(a, &f, value, dropped);
    keep_factors(c, &f, dev, value, out);
    tell_kernels(c, s, n, value, dropped, out);
    return ST_OK;
}
