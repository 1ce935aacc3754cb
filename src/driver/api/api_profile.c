/* roller.h: a device profile, measured and calibrated.  */
#include "driver/cache/cache.h"
#include "driver/profile/calibrate.h"
#include "driver/profile/profile_apart.h"
#include "profiler/profiler.h"

#include <math.h>
#include <time.h>

typedef struct {
    int device;
    RollerMeasureOptions o;
    Arena *arena;
    RollerProfile *out;
} MeasureCall;

static const char *today(Arena *a) {
    time_t now = time(NULL);  /* lint: a measurement is dated */
    struct tm t;
    if (!gmtime_r(&now, &t)) return "1970-01-01";
    return arena_printf(a, "%04d-%02d-%02d", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday);
}

/* A profile of what was found.  */
static Status made(RollerCtx *ctx, Arena *a, const char *json, size_t len, RollerProfile **out) {
    RollerProfile *p = ARENA_NEW(a, RollerProfile);
    handle_init(&p->h, a);
    p->text = arena_strndup(a, json, len);
    p->len = len;
    p->file = "measured";
    Status s = hal_profile_read(a, &ctx->diag, (DiagText){p->file, p->text, p->len}, &p->dev);
    if (s) return s;
    cache_profile(ctx->call, p->dev, p->planning);
    *out = p;
    return ST_OK;
}

static Status measure_profile(RollerCtx *ctx, void *user) {
    MeasureCall *c = user;
    const char *json;
    size_t len;
    if (!c->o.date) c->o.date = today(ctx->call);
    Status s = profiler_known(&ctx->diag, c->o.only);
    if (!s) s = profile_measure_apart(ctx, c->device, &c->o, &json, &len);
    if (s) return s;
    return made(ctx, c->arena, json, len, &c->out);
}

RollerStatus roller_profile_measure(RollerCtx *ctx, int device, const RollerMeasureOptions *o,
                                    RollerProfile **out) {
    MeasureCall c = {.device = device, .arena = call_arena(ctx)};
    *out = NULL;
    api_options(&c.o, sizeof c.o, o);
    if (!c.arena) return call_nomem(ctx);
    RollerStatus s = call_run(ctx, c.arena, measure_profile, &c);
    if (s) arena_destroy(c.arena);
    else *out = c.out;
    return s;
}

RollerStatus roller_profile_measurement(int i, RollerMeasurement *out) {
    static const RollerMeasurement row[] = {
#define X(name, quick, full, text) {0, #name, text, quick, full},
        PROFILER_BENCHES(X)
#undef X
    };
    if (i < 0 || (size_t)i >= sizeof row / sizeof *row) return ROLLER_USAGE;
    RollerMeasurement own = row[i];
    api_report(out, &own, sizeof own);
    return ROLLER_OK;
}

/* ---- calibrating ---- */
typedef struct {
    const RollerProfile *p;
    RollerCalibrateOptions o;
    RollerCalibration report;
    Arena *arena;
    RollerProfile *out;
} CalibrateCall;

static double off(const Calibration *c, bool after) {
    double sum = 0;
    int n = 0;
    for (int i = 0; i < c->n; i++) {
        const CalibratedKernel *k = &c->kernel[i];
        if (k->failed) continue;
        sum += fabs((after ? k->after_us : k->before_us) / k->us - 1);
        n++;
    }
    return n ? sum / n : 0;
}

static void describe(Arena *a, const Calibration *c, RollerCalibration *r) {
    Buf text = buf_new(a), details = buf_new(a);
    r->before = off(c, false);
    r->after = off(c, true);
    r->left_out_before = exp(c->verdict.without) - 1;
    r->left_out_after = exp(c->verdict.with) - 1;
    if (c->dev->n_factor)
        buf_printf(&text, "calibrated: %d factors; predictions were off by %.0f %%, are by "
                          "%.0f %%; of kernels left out of the fit by %.0f and %.0f %%\n",
                   c->dev->n_factor, 100 * r->before, 100 * r->after, 100 * r->left_out_before,
                   100 * r->left_out_after);
    else
        buf_printf(&text, "not calibrated: predictions are off by %.0f %%, and no factor that is "
                          "fitted to some kernels brings those of the others nearer\n",
                   100 * r->before);
    for (int i = 0; i < c->dev->n_factor; i++) {
        const Factor *f = &c->dev->factor[i];
        buf_printf(&details, "  %-24s %6.3f  residual %.3f  from %s\n", f->name, f->value,
                   f->residual, f->kernels);
        if (calibrate_at_bound(f->value))
            buf_printf(&text, "  %s is as far from 1 as a factor may be: is the profile of this "
                              "GPU?\n", f->name);
    }
    for (int i = 0; i < c->n; i++) {
        const CalibratedKernel *k = &c->kernel[i];
        if (k->failed)
            buf_printf(&text, "  %-14s not timed: %s\n", k->name, k->failed);
        else
            buf_printf(&details, "  %-14s %10.2f us, predicted %.2f, with factors %.2f%s\n",
                       k->name, k->us, k->before_us, k->after_us,
                       k->outlier ? ": an outlier, not fitted to" : "");
        r->failed += k->failed != NULL;
        r->kernels += !k->failed;
    }
    r->text = buf_str(&text);
    r->details = buf_str(&details);
}

static Status calibrate_profile(RollerCtx *ctx, void *user) {
    CalibrateCall *c = user;
    Calibration found;
    CalibrateOptions o = {.measure = ctx_measure(ctx), .nvrtc = &ctx->nvrtc};
    o.measure.device = c->o.device;
    o.measure.seed = c->o.seed;
    o.limit_s = c->o.limit_s;
    const Device *dev = c->p->dev;
    Status s = c->o.from ? calibrate_times(ctx->call, &ctx->diag, dev, c->o.from, &found)
                         : calibrate(ctx->call, &ctx->diag, dev, &o, &found);
    if (s) return s;
    Buf json = buf_new(ctx->call);
    hal_profile_write(found.dev, &json);
    describe(ctx->call, &found, &c->report);
    return made(ctx, c->arena, buf_str(&json), json.len, &c->out);
}

RollerStatus roller_profile_calibrate(RollerCtx *ctx, const RollerProfile *p,
                                      const RollerCalibrateOptions *o, RollerCalibration *report,
                                      RollerProfile **out) {
    CalibrateCall c = {.p = p, .arena = call_arena(ctx)};
    *out = NULL;
    api_options(&c.o, sizeof c.o, o);
    if (!c.arena) return call_nomem(ctx);
    RollerStatus s = call_run(ctx, c.arena, calibrate_profile, &c);
    if (report) api_report(report, &c.report, sizeof c.report);
    if (s) arena_destroy(c.arena);
    else *out = c.out;
    return s;
}
