/* --calibrate: a measured profile gets its efficiency factors.
 *
 * Kernels are timed in processes of their own, forked from one that has not opened the driver; so
 * the device is asked for its name and measured in such a process as well.  */
#include "cli/profile.h"
#include "driver/calibrate.h"
#include "driver/child.h"

#include <math.h>

typedef struct {
    ProfileTool *t;
    ProfileMeasure measure;
    int index;
} Job;

static Status measure_in_child(Child *c, void *user, Arena *a, Diag *d, Buf *answer) {
    const Job *j = user;
    RollerProfile *p = NULL;
    (void)c;
    (void)a;
    RollerStatus s = j->measure(j->t, j->index, &p);
    if (s) {
        const RollerError *e = roller_error(j->t->ctx);
        diag_error(d, (Status)s, NULL, DIAG_NOWHERE, "%s", e ? e->message : "it failed");
        if (e && e->hint) diag_hint(d, "%s", e->hint);
        return (Status)s;
    }
    const char *text;
    size_t len;
    roller_profile_text(p, &text, &len);
    buf_add(answer, text, len);
    return ST_OK;
}

int profile_probe(ProfileTool *t, CudaDeviceInfo *info) {
    MeasurePlace place;
    MeasureOptions o = {.device = t->o.device};
    if (measure_probe(t->a, &t->diag, &o, &place)) return profile_fail_here(t);
    *info = place.info;
    return 0;
}

int profile_measure_apart(ProfileTool *t, ProfileMeasure measure, int index, const bool *stop,
                          ProfileText *out) {
    Job j = {t, measure, index};
    ChildLimits limits = {.watchdog_s = 60, .stop = stop};
    ChildResult r;
    Status s = child_run(t->a, &t->diag, measure_in_child, &j, &limits, &r);
    if (s) return profile_fail_here(t);
    if (r.end == CHILD_STOPPED) {
        diag_error(&t->diag, ST_CANCELLED, NULL, DIAG_NOWHERE, "the measurement was cancelled");
    } else if (r.end != CHILD_DONE) {
        diag_error(&t->diag, ST_DRIVER, "cuda", DIAG_NOWHERE,
                   "the process that measured the device ended (signal %d)", r.signal);
    } else if (r.status) {
        diag_error(&t->diag, r.status, NULL, DIAG_NOWHERE, "%s",
                   r.message ? r.message : status_text(r.status));
        if (r.hint) diag_hint(&t->diag, "%s", r.hint);
    } else {
        *out = (ProfileText){r.answer, r.len};
        return 0;
    }
    return profile_fail_here(t);
}

/* ---- the kernels ---- */
static double off(const Calibration *c, bool after) {
    double sum = 0;
    int n = 0;
    for (int i = 0; i < c->n; i++) {
        const CalibratedKernel *k = &c->kernel[i];
        if (k->failed) continue;
        sum += fabs((after ? k->after_us : k->before_us) / k->us - 1);
        n++;
    }
    return n ? 100 * sum / n : 0;
}

static void describe(ProfileTool *t, const Calibration *c) {
    Buf *out = &t->messages;
    if (t->o.verbosity < 0 || t->o.json) return;
    buf_printf(out, "calibrated: %d factors; predictions were off by %.0f %%, are by %.0f %%\n",
               c->dev->n_factor, off(c, false), off(c, true));
    for (int i = 0; i < c->dev->n_factor && t->o.verbosity > 0; i++) {
        const Factor *f = &c->dev->factor[i];
        buf_printf(out, "  %-24s %6.3f  residual %.3f  from %s\n", f->name, f->value, f->residual,
                   f->kernels);
    }
    for (int i = 0; i < c->n; i++) {
        const CalibratedKernel *k = &c->kernel[i];
        if (k->failed)
            buf_printf(out, "  %-14s not timed: %s\n", k->name, k->failed);
        else if (t->o.verbosity > 0)
            buf_printf(out, "  %-14s %10.2f us, predicted %.2f, with factors %.2f\n", k->name,
                       k->us, k->before_us, k->after_us);
    }
}

int profile_calibrate(ProfileTool *t, int (*progress)(void *user, const char *kernel, int done,
                      int total), void *user, const bool *stop, ProfileText *text) {
    Device *dev;
    Calibration c;
    CalibrateOptions o = {.measure = {.device = t->o.device, .seed = t->o.seed, .stop = stop},
                          .progress = progress, .user = user};
    Status s = hal_profile_read(t->a, &t->diag, "measured profile", text->text, text->len, &dev);
    if (!s) s = calibrate(t->a, &t->diag, dev, &o, &c);
    if (s) return profile_fail_here(t);
    Buf json = buf_new(t->a);
    hal_profile_write(c.dev, &json);
    *text = (ProfileText){json.text, json.len};
    describe(t, &c);
    return 0;
}
