/* --calibrate: a measured profile gets its efficiency factors.  */
#include "cli/process.h"
#include "cli/profile.h"
#include "driver/calibrate.h"

#include <math.h>

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

int profile_calibrate(ProfileTool *t, Watch *watch, ProfileText *text) {
    Device *dev;
    Calibration c;
    CalibrateOptions o = {.measure = {.device = t->o.device, .seed = t->o.seed, .watch = watch,
                                      .worker = process_worker(t->a)}};
    Status s = hal_profile_read(t->a, &t->diag, "measured profile", text->text, text->len, &dev);
    if (!s) s = calibrate(t->a, &t->diag, dev, &o, &c);
    if (s) return profile_fail_here(t);
    Buf json = buf_new(t->a);
    hal_profile_write(c.dev, &json);
    *text = (ProfileText){json.text, json.len};
    describe(t, &c);
    return 0;
}
