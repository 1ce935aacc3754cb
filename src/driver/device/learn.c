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
    Belief now, first;
    int *told, n_told;        /* the lessons: plans, and their times */
    double *us;
    double *held;             /* per plan: log(us) by what was told before its sizes were */
    double *apart;            /* scratch: a row */
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
    l->told = ARENA_ARRAY(a, int, n + 1);
    l->us = ARENA_ARRAY(a, double, n + 1);
    l->held = ARENA_ARRAY(a, double, n + 1);
    l->apart = ARENA_ARRAY(a, double, l->n_weight + 1);
    return l;
}

void learn_reset(Learn *l) {
    belief_copy(&l->now, &l->first);
    l->n_told = 0;
}

static double model_us(const Learn *l, int i) { return log(l->plan[i].us); }
static double log_us(const Learn *l, int i) {
    return model_us(l, i) + belief_mean(&l->now, row(l, i));
}

/* ---- sizes that nobody measured ---- */

/* Is lesson k the first one of its sizes?  */
static bool opens(const Learn *l, int k) {
    for (int j = 0; j < k; j++)
        if (l->plan[l->told[j]].sizes == l->plan[l->told[k]].sizes) return false;
    return true;
}

/* What is expected of plans of these sizes before any of them is told.  */
static void hold(Learn *l, uint64_t sizes) {
    for (int i = 0; i < l->n; i++)
        if (l->plan[i].sizes == sizes) l->held[i] = log_us(l, i);
}

void learn_tell(Learn *l, int i, double us) {
    if (l->n_told < l->n) {
        l->told[l->n_told] = i;
        l->us[l->n_told++] = us;
        if (opens(l, l->n_told - 1)) hold(l, l->plan[i].sizes);
    }
    belief_learn(&l->now, row(l, i), log(us) - model_us(l, i));
}

/* Of the lessons of these sizes, the logarithm of the time of the one that comes first: by what was
 * held of them, or as the model has them.  */
static double first_of(const Learn *l, bool held, uint64_t sizes) {
    double least = INFINITY, us = 0;
    for (int k = 0; k < l->n_told; k++) {
        int i = l->told[k];
        double expected = held ? l->held[i] : model_us(l, i);
        if (l->plan[i].sizes != sizes || expected >= least) continue;
        least = expected;
        us = l->us[k];
    }
    return log(us);
}

/* Has what some sizes tell been a better guide to those that came after them than the model alone?
 * (Dawid, "The prequential approach", J. R. Stat. Soc. A 147(2), 1984.)  */
static bool guides(const Learn *l) {
    double gain = 0;
    for (int k = 0; k < l->n_told; k++) {
        uint64_t sizes = l->plan[l->told[k]].sizes;
        if (opens(l, k)) gain += first_of(l, false, sizes) - first_of(l, true, sizes);
    }
    return gain > noise_sd;
}

double learn_us(const Learn *l, int i) { return exp(log_us(l, i)); }

/* ---- the next one ---- */

static double rest(const Learn *l) { return rest_sd * sqrt(belief_scale(&l->now)); }

double learn_spread(const Learn *l, int i) {
    return hypot(sqrt(belief_variance(&l->now, row(l, i))), rest(l));
}

/* The standard deviation of the logarithm of one time over the other.  */
static double spread_apart(const Learn *l, int i, int k) {
    for (int w = 0; w < l->n_weight; w++) l->apart[w] = row(l, i)[w] - row(l, k)[w];
    return hypot(sqrt(belief_variance(&l->now, l->apart)), sqrt(2) * rest(l));
}

/* Where nothing was measured.  */
static int first_next(const Learn *l, const LearnField *f, double *gain) {
    double (*expected)(const Learn *, int) = guides(l) ? log_us : model_us;
    int first = -1;
    for (int i = f->from; i < f->to; i++)
        if (!f->out[i] && (first < 0 || expected(l, i) < expected(l, first))) first = i;
    *gain = 0;
    for (int i = f->from; first >= 0 && i < f->to; i++) {
        if (f->out[i] || i == first) continue;
        double more = belief_improvement(expected(l, i), spread_apart(l, i, first),
                                         expected(l, first));
        *gain = fmax(*gain, more / 2);
    }
    return first;
}

int learn_next(const Learn *l, const LearnField *f, double *gain) {
    int best = -1;
    if (f->best_us == 0) return first_next(l, f, gain);
    *gain = 0;
    for (int i = f->from; i < f->to; i++) {
        if (f->out[i]) continue;
        double more = belief_improvement(log_us(l, i), learn_spread(l, i), log(f->best_us));
        if (best >= 0 && more <= *gain) continue;
        *gain = more;
        best = i;
    }
    return best;
}

double learn_worth(const Learn *l, const LearnField *f) {
    double gain;
    int i = learn_next(l, f, &gain);
    if (i < 0) return LEARN_NONE;
    return gain * (f->best_us > 0 ? f->best_us : learn_us(l, i));
}

int learn_doubtful(const Learn *l, const LearnField *f) {
    int best = -1;
    double most = -1;
    for (int i = f->from; i < f->to; i++) {
        double told = f->out[i] ? -1 : belief_lesson(&l->now, row(l, i), l->x, l->n);
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
