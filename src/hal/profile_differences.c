/* The figures of two profiles that differ.
 *
 * A difference is significant when it is larger than three standard errors of the two medians
 * together.  The standard error of a median of n samples from a normal distribution is 1.253 times
 * that of the mean, and the interquartile range 1.349 standard deviations.  */
#include "base/json.h"
#include "hal/profile_text.h"
#include <math.h>
#include <string.h>

typedef struct {
    Buf *out;
    bool json;
    int rows, significant, same;
} Differences;

typedef struct {
    double value, spread;
    int samples;
    Origin origin;
} Value;

static Value of_figure(const Figure *f) {
    return (Value){f->value, f->spread, f->samples, f->origin};
}

static Value of_curve(const Curve *c, double x) {
    return (Value){hal_curve(c, x), c->spread, c->samples, c->origin};
}

static double error_of(const Value *v) {
    return v->samples > 0 ? 1.253 / 1.349 * v->spread / sqrt(v->samples) : 0;
}

static const char *significance(const Value *a, const Value *b, double relative) {
    static const double errors = 3, least = 0.001;
    if (!hal_timed(a->origin) || a->origin != b->origin) return "not both measured";
    double error = sqrt(error_of(a) * error_of(a) + error_of(b) * error_of(b));
    double size = fabs(relative);
    return size > least && size > errors * error ? "significant" : "within the spread";
}

static void put(Differences *d, const char *name, double old, double now, double relative,
                const char *note) {
    if (d->json) {
        buf_printf(d->out, "%s\n  {\"figure\": ", d->rows ? "," : "");
        json_write_string(name, d->out);
        buf_printf(d->out, ", \"old\": %.6g, \"new\": %.6g, \"change\": %.4g, \"note\": \"%s\"}",
                   old, now, relative, note);
        return;
    }
    if (!d->rows)
        buf_printf(d->out, "%-48s %11s %11s %10s\n", "figure", "old", "new", "change");
    Buf change = buf_new(d->out->arena);
    if (old > 0 && now > 0) buf_printf(&change, "%+.2f %%", relative * 100);
    buf_printf(d->out, "%-48s %11.5g %11.5g %10s  %s\n", name, old, now, buf_str(&change), note);
}

/* NULL: the profile does not have it.  */
static void row(Differences *d, const char *name, const Value *a, const Value *b) {
    double old = a ? a->value : 0, now = b ? b->value : 0;
    if (old == now) {
        d->same++;
        return;
    }
    double relative = a && b && old != 0 ? now / old - 1 : 0;
    const char *note = a && b ? significance(a, b, relative) : a ? "gone" : "new";
    put(d, name, old, now, relative, note);
    d->significant += !strcmp(note, "significant");
    d->rows++;
}

/* At the points of the newer one, where the older reaches.  */
static void curves(Differences *d, const char *name, const Curve *old, const Curve *now) {
    for (int i = 0; i < now->n; i++) {
        double x = now->px[i];
        if (x < old->px[0] || x > old->px[old->n - 1]) continue;
        Value a = of_curve(old, x), b = of_curve(now, x);
        row(d, arena_printf(d->out->arena, "%s: %.6g", name, x), &a, &b);
    }
}

static void pair(Differences *d, const HalFigure *old, const HalFigure *now) {
    const HalFigure *any = old ? old : now;
    if (any->curve) {
        if (old && now) curves(d, any->name, old->curve, now->curve);
        return;
    }
    Value a = {0}, b = {0};
    if (old) a = of_figure(old->figure);
    if (now) b = of_figure(now->figure);
    row(d, any->name, old ? &a : NULL, now ? &b : NULL);
}

static const HalFigure *find(const HalFigure *all, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (!strcmp(all[i].name, name)) return &all[i];
    return NULL;
}

void hal_profile_differences(const Device *old, const Device *now, bool json, Buf *out) {
    Differences d = {.out = out, .json = json};
    const HalFigure *a, *b;
    int n_a = hal_figures(out->arena, old, false, &a);
    int n_b = hal_figures(out->arena, now, false, &b);
    if (json) buf_putc(out, '[');
    for (int i = 0; i < n_a; i++) pair(&d, &a[i], find(b, n_b, a[i].name));
    for (int i = 0; i < n_b; i++)
        if (!find(a, n_a, b[i].name)) pair(&d, NULL, &b[i]);
    if (json)
        buf_puts(out, d.rows ? "\n]" : "]");
    else
        buf_printf(out, "%d figures differ, %d of them significantly; %d are equal\n", d.rows,
                   d.significant, d.same);
}
