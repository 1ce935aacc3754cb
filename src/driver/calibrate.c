/* Calibration: the kernels, their times, the factors.  */
#include "driver/calibrate.h"

#include <math.h>
#include <string.h>

/* What is timed: products on both kinds of units where they are limited by the unit, by their
 * shape and by latency; the other skeletons where memory limits them.  Sizes: of a device, and of a
 * simulated one, where each instruction costs.
 *    name           sizes, sizes of a simulated device, op */
#define KERNELS(X)                                                                                 \
    X(product_f32,   "M=4096,N=4096,K=1024", "M=256,N=256,K=256",                                  \
      "op k(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] { C[m,n] += A[m,k] * B[k,n]; }")              \
    X(deep_f32,      "M=512,N=512,K=4096", "M=64,N=128,K=512",                                     \
      "op k(A: f32[M,K], B: f32[N,K]) -> C: f32[M,N] { C[m,n] += A[m,k] * B[n,k]; }")              \
    X(product_f16,   "M=8192,N=8192,K=2048", "M=256,N=256,K=512",                                  \
      "op k(A: f16[M,K], B: f16[K,N]) -> C: f16[M,N] { C[m,n] += A[m,k] * B[k,n]; }")              \
    X(small_f16,     "M=1024,N=1024,K=1024", "M=128,N=128,K=256",                                  \
      "op k(A: f16[M,K], B: f16[N,K]) -> C: f16[M,N] { C[m,n] += A[m,k] * B[n,k]; }")              \
    X(softmax,       "M=16384,N=4096", "M=256,N=1024",                                             \
      "op k(X: f32[M,N]) -> Y: f32[M,N] { m[i] = max[j](X[i,j]);"                                  \
      " z[i] = sum[j](exp(X[i,j] - m[i])); Y[i,j] = exp(X[i,j] - m[i]) / z[i]; }")                 \
    X(column_sum,    "M=16384,N=4096", "M=1024,N=512",                                             \
      "op k(X: f32[M,N]) -> Y: f32[N] { Y[n] += X[m,n]; }")                                        \
    X(window_max,    "N=32,C=64,H=112,P=110,R=3", "N=2,C=8,H=32,P=30,R=3",                         \
      "op k(X: f32[N,C,H,H]) -> Y: f32[N,C,P,P]"                                                   \
      " { Y[n,c,i,j] max= X[n,c,i+r,j+s] where r in R, s in R; }")                                 \
    X(add,           "N=67108864,M=1", "N=1048576,M=1",                                            \
      "op k(X: f32[N], Y: f32[N]) -> Z: f32[N] { Z[n] = X[n] + Y[n]; }")                           \
    X(transpose,     "M=8192,N=8192", "M=512,N=512",                                               \
      "op k(X: f32[M,N]) -> Y: f32[N,M] { Y[n,m] = X[m,n]; }")

static const struct {
    const char *name, *sizes, *simulated, *op;
} kernels[] = {
#define X(name, sizes, simulated, op) {#name, sizes, simulated, op},
    KERNELS(X)
#undef X
};
enum { N_KERNEL = (int)(sizeof kernels / sizeof *kernels), FEWEST = 2, MOST_FACTORS = 16 };

/* Rates that the model multiplies by a factor, beside those of the units that kernels use.  */
static const char *const rates[] = {"dram.read", "dram.write", "l2.read", "smem", "issue"};
/* A factor belongs to the kernels whose time it moves by at least a tenth of its own change.  */
static const double moves = 0.1;

typedef struct {
    const char *name;
    WholePlan plan;
    Trial trial;
} Timed;

typedef struct {
    Arena *arena;
    Device model;             /* the profile, with the factors that are tried */
    Factor factor[MOST_FACTORS];
    int n_factor;
    Timed timed[N_KERNEL];
    double us[N_KERNEL];
    int n;
} Calibrating;

/* ---- kernels ---- */
static bool wanted(const char *only, const char *name) {
    size_t len = strlen(name);
    for (const char *p = only; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (!strncmp(p, name, len) && (p[len] == ',' || !p[len])) return true;
    return !only;
}

/* "M=4096,N=4096" as definitions; the op's text gets them as parameters.  */
static const char *source_of(Arena *a, int i, bool simulated) {
    return arena_printf(a, "param %s;\n%s\n", simulated ? kernels[i].simulated : kernels[i].sizes,
                        kernels[i].op);
}

static Status time_one(Calibrating *c, Diag *d, const CalibrateOptions *o, int i, bool simulated,
                       Timed *t) {
    Arena *a = c->arena;
    const char *text = source_of(a, i, simulated);
    Te *te;
    PlanSet set;
    Build build;
    int best;
    CompileOptions options = {.top = 1, .workspace_limit = -1};
    t->name = kernels[i].name;
    Status s = te_parse(a, d, diag_text(t->name, text), NULL, NULL, &te);
    if (!s) s = compile_plan(a, d, te, &c->model, &options, &set);
    if (!s) s = compile_best(a, d, &set, 0, &(BuildOptions){.nvrtc = o->nvrtc}, &t->plan, &build);
    if (s) return s;
    Candidate candidate = {&t->plan, &build, NULL};
    return measure_candidates(a, d, &set, &candidate, 1, &o->measure, &t->trial, &best);
}

/* ---- the model ---- */
static double predict(void *user, int k, const double *factor) {
    Calibrating *c = user;
    const RPlan *p = &c->timed[k].plan.rplan;
    double us = 0;
    c->model.n_factor = factor ? c->n_factor : 0;
    for (int i = 0; factor && i < c->n_factor; i++) c->factor[i].value = factor[i];
    for (int g = 0; g < rplan_groups(p); g++) {
        Estimate e;
        mp_estimate(&p->problem[g], &p->prog[g], &c->model, &e);
        us += e.us;
    }
    return us;
}

static void add_factor(Calibrating *c, const char *name) {
    for (int i = 0; i < c->n_factor; i++)
        if (!strcmp(c->factor[i].name, name)) return;
    if (c->n_factor < MOST_FACTORS) c->factor[c->n_factor++] = (Factor){.name = name, .value = 1};
}

static void choose_factors(Calibrating *c) {
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) add_factor(c, rates[i]);
    for (int k = 0; k < c->n; k++) {
        const RPlan *p = &c->timed[k].plan.rplan;
        for (int g = 0; g < rplan_groups(p); g++) {
            if (p->prog[g].skeleton != SK_CONTRACT) continue;
            add_factor(c, c->model.unit[p->prog[g].unit].name);
        }
    }
}

/* ---- the result ---- */
static double rounded(double v) { return round(v * 1e4) / 1e4; }

/* Fills a factor's residual, samples and kernels; false if none of them depends on it.  */
static bool describe(Calibrating *c, const CalibrateFit *f, const double *value, int i,
                     Factor *out) {
    double squares = 0;
    int n = 0;
    Buf names = buf_new(c->arena);
    *out = (Factor){.name = c->factor[i].name, .value = rounded(value[i])};
    for (int k = 0; k < c->n; k++) {
        if (calibrate_sensitivity(c->arena, f, value, k, i) < moves) continue;
        double off = log(predict(c, k, value) / c->us[k]);
        squares += off * off;
        out->samples += c->timed[k].trial.timing.samples;
        buf_printf(&names, "%s%s", n++ ? ", " : "", c->timed[k].name);
    }
    if (n == 0) return false;
    out->residual = rounded(sqrt(squares / n));
    out->kernels = buf_str(&names);
    return true;
}

static void finish(Calibrating *c, const Device *dev, Calibration *out) {
    double value[MOST_FACTORS];
    bool dropped[N_KERNEL];
    CalibrateFit f = {predict, c, c->us, c->n, c->n_factor};
    c->model.factor = c->factor;
    out->verdict = calibrate_fit(c->arena, &f, value, dropped);
    out->dev = ARENA_NEW(c->arena, Device);
    *out->dev = *dev;
    out->dev->factor = ARENA_ARRAY(c->arena, Factor, c->n_factor + 1);
    out->dev->n_factor = 0;
    for (int i = 0; i < c->n_factor; i++) {
        Factor one;
        if (value[i] == 1 || !describe(c, &f, value, i, &one)) continue;
        out->dev->factor[out->dev->n_factor++] = one;
    }
    out->dev->calibrated = out->dev->n_factor > 0;
    for (int k = 0, at = 0; k < c->n; at++) {
        CalibratedKernel *r = &out->kernel[at];
        if (r->failed) continue;
        *r = (CalibratedKernel){.name = c->timed[k].name, .us = c->us[k],
                                .samples = c->timed[k].trial.timing.samples,
                                .before_us = predict(c, k, NULL),
                                .after_us = predict(c, k, value),
                                .outlier = dropped[k]};
        k++;
    }
}

static const char *first_error(const Diag *d, Status s) {
    const DiagMessage *m = diag_first_error(d);
    return m ? m->message : status_text(s);
}

Status calibrate(Arena *a, Diag *d, const Device *dev, const CalibrateOptions *o,
                 Calibration *out) {
    MeasurePlace place;
    const char *failed = NULL;
    Calibrating *c = ARENA_NEW(a, Calibrating);
    *out = (Calibration){.kernel = ARENA_ARRAY(a, CalibratedKernel, N_KERNEL)};
    c->arena = a;
    c->model = *dev;
    c->model.n_factor = 0;
    Status s = measure_probe(a, d, &o->measure, &place);
    if (s) return s;
    for (int i = 0; i < N_KERNEL; i++) {
        if (!wanted(o->only, kernels[i].name)) continue;
        watch_step(o->measure.watch, "calibrate", i, N_KERNEL, kernels[i].name);
        if (watch_ended(o->measure.watch))
            return diag_error(d, ST_CANCELLED, NULL, DIAG_NOWHERE, "the calibration was cancelled");
        Diag own = diag_new(a);
        Timed *t = &c->timed[c->n];
        CalibratedKernel *r = &out->kernel[out->n++];
        *r = (CalibratedKernel){.name = kernels[i].name};
        s = time_one(c, &own, o, i, place.simulated, t);
        if (s == ST_CANCELLED || s == ST_DRIVER || s == ST_DEVICE || s == ST_NVRTC) {
            *d = own;
            return s;
        }
        if (s) failed = r->failed = first_error(&own, s);
        else c->us[c->n++] = t->trial.timing.cold_us;
    }
    if (c->n < FEWEST)
        return diag_error(d, ST_CHECK, NULL, DIAG_NOWHERE, "only %d kernel%s could be timed%s%s",
                          c->n, c->n == 1 ? "" : "s", failed ? "; one that failed: " : "",
                          failed ? failed : "");
    choose_factors(c);
    finish(c, dev, out);
    return ST_OK;
}
