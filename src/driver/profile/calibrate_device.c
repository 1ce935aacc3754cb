/* Calibration on a device: the kernels, their times.  */
#include "base/clock.h"
#include "driver/profile/calibrate_samples.h"
#include "driver/pipeline/compile.h"

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
enum { N_KERNEL = (int)(sizeof kernels / sizeof *kernels) };

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

/* ---- planning and timing ---- */
typedef struct {
    Compiled made;
    Diag diag;                /* of its own: what fails is named, and the rest goes on */
} Kernel;

static const char *first_error(const Diag *d, Status s) {
    const DiagMessage *m = diag_first_error(d);
    return m ? m->message : status_text(s);
}

/* Errors of the environment end the calibration, others cost the kernel.  */
static bool ends(Status s) {
    return s == ST_CANCELLED || s == ST_DRIVER || s == ST_DEVICE || s == ST_NVRTC;
}

static Status build_one(Arena *a, const Device *dev, const CalibrateOptions *o, const char *text,
                        const char *name, Kernel *k) {
    CompileOptions plan = {.top = 1, .workspace_limit = -1};
    BuildOptions build = {.nvrtc = o->nvrtc};
    CompileRequest asked = {diag_text(name, text), .dev = dev, .plan = &plan, .build = &build};
    return compile(a, &k->diag, &asked, &k->made);
}

static Status time_one(Arena *a, const CalibrateOptions *o, Kernel *k, CalibrateSample *out) {
    Candidate one = {&k->made.plan, &k->made.build, NULL};
    Trial trial;
    Candidates all = {.set = &k->made.set, .c = &one, .n = 1, .trial = &trial};
    Status s = measure_candidates(a, &k->diag, &all, 1, &o->measure);
    if (s) return s;
    out->us = trial.timing.cold_us;
    out->samples = trial.timing.samples;
    return ST_OK;
}

/* The work of a call, and how far it is.  */
typedef struct {
    Arena *a;
    Diag *d;
    const CalibrateOptions *o;
    Kernel *kernel;
    CalibrateSample *sample;
    int n, done;
} Kernels;

static Status cancelled(Diag *d) {
    return diag_error(d, ST_CANCELLED, NULL, DIAG_NOWHERE, "the calibration was cancelled");
}

static Status build_all(Kernels *t, const Device *dev, bool simulated) {
    for (int i = 0; i < N_KERNEL; i++) {
        if (!wanted(t->o->only, kernels[i].name)) continue;
        if (watch_ended(t->o->measure.watch)) return cancelled(t->d);
        Kernel *k = &t->kernel[t->n];
        k->diag = diag_new(t->a);
        t->sample[t->n] = (CalibrateSample){.name = kernels[i].name, .family = kernels[i].name};
        CalibrateSample *sample = &t->sample[t->n++];
        Status s = build_one(t->a, dev, t->o, source_of(t->a, i, simulated), sample->name, k);
        if (ends(s)) *t->d = k->diag;
        if (ends(s)) return s;
        if (s) sample->failed = first_error(&k->diag, s);
        else sample->plan = &k->made.plan.rplan;
    }
    return ST_OK;
}

/* Those first that tell most of the others, while there is time.  */
static Status time_all(Kernels *t, const Device *dev) {
    double begun = clock_now_s();
    int *order = calibrate_order(t->a, dev, t->sample, t->n);
    for (int i = 0; i < t->n; i++) {
        CalibrateSample *sample = &t->sample[order[i]];
        Kernel *k = &t->kernel[order[i]];
        if (sample->failed) continue;
        bool late = t->o->limit_s > 0 && clock_now_s() - begun > t->o->limit_s;
        if (late && t->done >= CALIBRATE_FEWEST) {
            sample->failed = "the time was over";
            continue;
        }
        watch_step(t->o->measure.watch, "calibrate", t->done++, t->n, sample->name);
        if (watch_ended(t->o->measure.watch)) return cancelled(t->d);
        Status s = time_one(t->a, t->o, k, sample);
        if (ends(s)) *t->d = k->diag;
        if (ends(s)) return s;
        if (s) sample->failed = first_error(&k->diag, s);
    }
    return ST_OK;
}

Status calibrate(Arena *a, Diag *d, const Device *dev, const CalibrateOptions *o,
                 Calibration *out) {
    MeasurePlace place;
    Device plain = *dev;
    Kernels t = {.a = a, .d = d, .o = o, .kernel = ARENA_ARRAY(a, Kernel, N_KERNEL),
                 .sample = ARENA_ARRAY(a, CalibrateSample, N_KERNEL)};
    plain.n_factor = 0;
    *out = (Calibration){.kernel = NULL};
    Status s = measure_probe(a, d, &o->measure, &place);
    if (!s) s = build_all(&t, &plain, place.simulated);
    if (!s) s = time_all(&t, &plain);
    return s ? s : calibrate_samples(a, d, dev, t.sample, t.n, out);
}
