#include "driver/device/learn.h"
#include "base/belief.h"
#include "base/hash.h"

#include <math.h>
#include <string.h>

/* Standard deviations of logarithms.  Of NeuSight's published times of SGEMM kernels on boards that
 * keep their clock (A100, H100, V100) means of kernels differ by 0.04 to 0.08 from each other, and
 * times of one kernel by 0.02 to 0.07 from their mean; boards are off by 0.02 to 0.08
 * (docs/measuring.md).  */
static const double plan_sd = 0.06, sizes_sd = 0.06, rest_sd = 0.05;
/* What a term may be off by, were the figures of the profile exact; and a figure that nobody
 * measured.  */
static const double term_sd = 0.05, stated_sd = 0.1;
/* A constant that ranks programs and says nothing of a device.  */
static const double ranking_sd = 1;
/* What times of the same kernel differ by (docs/measuring.md, "Samples"): a gain is more.  */
static const double noise_sd = 0.002;
/* So many measurements are needed to doubt the numbers above as much as to believe them.  */
static const double trust = 4;

typedef enum { OF_TERM, OF_SIZES, OF_PLAN, OF_TRAIT } WeightKind;         /* and those after it */
typedef struct {
    WeightKind kind;
    uint64_t key;
} Weight;

struct Learn {
    const LearnPlan *plan;
    int n, n_weight;
    double *x;                /* n x n_weight */
    Belief now, first, *part;             /* part: what some of the lessons say */
    int *told, n_told;        /* the lessons: plans, and their times */
    double *us;
};

static double doubt(const Figure *f) {
    bool seen = f->origin == ORIGIN_MEASURED || f->origin == ORIGIN_SIMULATED;
    double own = seen ? f->spread : stated_sd;
    return sqrt(own * own + term_sd * term_sd);
}

static double term_doubt(const Device *dev, MpTerm t) {
    switch (t) {
    case MP_DRAM: return doubt(&dev->memory[LEVEL_DRAM].read);
    case MP_L2: return doubt(&dev->memory[LEVEL_L2].read);
    case MP_SMEM: return doubt(&dev->memory[LEVEL_SMEM].per_sm_max);
    case MP_COMPUTE: return doubt(&dev->limits.clock_sm_sustained);
    case MP_ISSUE: return doubt(&dev->limits.issue_per_clk);
    case MP_LATENCY:
    case MP_FILL: return doubt(&dev->memory[LEVEL_DRAM].latency);
    case MP_EPILOGUE: return doubt(&dev->memory[LEVEL_DRAM].write);
    case MP_SPLIT:
    case MP_LAUNCH: return doubt(&dev->overheads.kernel_floor);
    case MP_OVERLAP:
    case MP_COUNT: break;
    }
    return ranking_sd;
}

static double sd_of(const Device *dev, const Weight *w) {
    if (w->kind == OF_TERM) return term_doubt(dev, (MpTerm)w->key);
    if (w->kind == OF_SIZES) return sizes_sd;
    double parts = w->kind == OF_PLAN ? 2 : 2 * LEARN_TRAITS;
    return plan_sd / sqrt(parts);
}

/* The number of a weight; a new one if there is none.  */
static int weight_of(Weight *w, int *n, WeightKind kind, uint64_t key) {
    for (int i = 0; i < *n; i++)
        if (w[i].kind == kind && w[i].key == key) return i;
    w[*n] = (Weight){kind, key};
    return (*n)++;
}

static double *row(const Learn *l, int i) { return l->x + (size_t)i * (size_t)l->n_weight; }

Learn *learn_new(Arena *a, const Device *dev, const LearnPlan *plan, int n) {
    enum { OWN = 2 + LEARN_TRAITS };
    Learn *l = ARENA_NEW(a, Learn);
    Weight *w = ARENA_ARRAY(a, Weight, MP_COUNT + OWN * n + 1);
    int *own = ARENA_ARRAY(a, int, OWN * n + 1);
    *l = (Learn){.plan = plan, .n = n};
    for (int t = 0; t < MP_COUNT; t++) weight_of(w, &l->n_weight, OF_TERM, (uint64_t)t);
    for (int i = 0; i < n; i++) {
        int *o = own + OWN * i;
        o[0] = weight_of(w, &l->n_weight, OF_SIZES, plan[i].sizes);
        o[1] = weight_of(w, &l->n_weight, OF_PLAN, plan[i].plan);
        for (int t = 0; t < LEARN_TRAITS; t++)
            o[2 + t] = weight_of(w, &l->n_weight, (WeightKind)(OF_TRAIT + t), plan[i].trait[t]);
    }
    double *sd = ARENA_ARRAY(a, double, l->n_weight + 1);
    for (int i = 0; i < l->n_weight; i++) sd[i] = sd_of(dev, &w[i]);
    l->x = ARENA_ARRAY(a, double, (size_t)n * (size_t)l->n_weight + 1);
    for (int i = 0; i < n; i++) {
        for (int t = 0; t < MP_COUNT; t++) row(l, i)[t] = plan[i].term[t] / plan[i].us;
        for (int k = 0; k < OWN; k++) row(l, i)[own[OWN * i + k]] = 1;
    }
    l->first = belief_new(a, l->n_weight, sd, rest_sd, trust);
    l->now = belief_new(a, l->n_weight, sd, rest_sd, trust);
    l->part = ARENA_NEW(a, Belief);
    *l->part = belief_new(a, l->n_weight, sd, rest_sd, trust);
    l->told = ARENA_ARRAY(a, int, n + 1);
    l->us = ARENA_ARRAY(a, double, n + 1);
    return l;
}

void learn_reset(Learn *l) {
    belief_copy(&l->now, &l->first);
    l->n_told = 0;
}

static void learn_one(const Learn *l, Belief *b, int i, double us) {
    belief_learn(b, row(l, i), log(us / l->plan[i].us));
}

void learn_tell(Learn *l, int i, double us) {
    learn_one(l, &l->now, i, us);
    if (l->n_told == l->n) return;
    l->told[l->n_told] = i;
    l->us[l->n_told++] = us;
}

static double log_of(const Learn *l, const Belief *b, int i) {
    return log(l->plan[i].us) + belief_mean(b, row(l, i));
}

static double log_us(const Learn *l, int i) { return log_of(l, &l->now, i); }

/* ---- sizes that nobody measured ---- */

/* Of the lessons of these sizes, the logarithm of the time of the one that comes first.  */
static double first_of(const Learn *l, const Belief *b, uint64_t sizes) {
    double least = INFINITY, us = 0;
    for (int k = 0; k < l->n_told; k++) {
        double expected = log_of(l, b, l->told[k]);
        if (l->plan[l->told[k]].sizes != sizes || expected >= least) continue;
        least = expected;
        us = l->us[k];
    }
    return log(us);
}

/* Would what the other sizes tell have been a better guide to the first plan than the model alone?
 * Each of the sizes is held out in turn.  */
static bool guides(const Learn *l) {
    double gain = 0;
    int n = 0;
    for (int k = 0; k < l->n_told; k++) {
        uint64_t sizes = l->plan[l->told[k]].sizes;
        bool counted = false;
        for (int j = 0; j < k && !counted; j++) counted = l->plan[l->told[j]].sizes == sizes;
        if (counted) continue;
        belief_copy(l->part, &l->first);
        for (int j = 0; j < l->n_told; j++)
            if (l->plan[l->told[j]].sizes != sizes) learn_one(l, l->part, l->told[j], l->us[j]);
        gain += first_of(l, &l->first, sizes) - first_of(l, l->part, sizes);
        n++;
    }
    return n > 1 && gain > noise_sd;
}

double learn_us(const Learn *l, int i) { return exp(log_us(l, i)); }

double learn_spread(const Learn *l, int i) {
    double rest = rest_sd * rest_sd * belief_scale(&l->now);
    return sqrt(belief_variance(&l->now, row(l, i)) + rest);
}

int learn_next(const Learn *l, const bool *out, double best_us, double *gain) {
    int best = -1;
    double most = -INFINITY;
    const Belief *b = best_us > 0 || guides(l) ? &l->now : &l->first;
    for (int i = 0; i < l->n; i++) {
        if (out[i]) continue;
        double us = log_of(l, b, i), value = -us;
        if (best_us > 0) value = belief_improvement(us, learn_spread(l, i), log(best_us));
        if (value <= most) continue;
        most = value;
        best = i;
    }
    *gain = best_us > 0 && best >= 0 ? most : 0;
    return best;
}

int learn_doubtful(const Learn *l, const bool *out) {
    int best = -1;
    double most = -1;
    for (int i = 0; i < l->n; i++) {
        double told = out[i] ? -1 : belief_lesson(&l->now, row(l, i), l->x, l->n);
        if (told <= most) continue;
        most = told;
        best = i;
    }
    return best;
}

/* ---- plans ---- */

static uint64_t with(uint64_t h, int64_t v) { return hash64(&v, sizeof v, h); }

LearnPlan learn_plan(const RPlan *p, const Estimate *e, int number) {
    LearnPlan out = {.us = e->us, .plan = (uint64_t)number};
    memcpy(out.term, e->term, sizeof out.term);
    for (int g = 0; g < rplan_groups(p); g++) {
        const RProg *r = &p->prog[g];
        uint64_t tile = with(with(out.trait[0], r->block.extent[AX_M]), r->block.extent[AX_N]);
        out.trait[0] = with(tile, r->unit);
        out.trait[1] = with(out.trait[1], r->block.extent[AX_K]);
        out.trait[2] = with(out.trait[2], r->threads);
    }
    return out;
}
