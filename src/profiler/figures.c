/* Results: from samples to figures and curves.  */
#include "profiler/harness.h"

#include <math.h>
#include <string.h>

enum { DIGITS = 5, SPREAD_DIGITS = 2 };
#define NOISY 0.05            /* as the profile reader has it */

/* To so many significant digits, which is more than any measurement holds.  */
static double rounded(double v, int digits) {
    if (!(v > 0) || isinf(v)) return v;
    double last = pow(10, floor(log10(v)) - digits + 1);
    return last < 1 ? round(v * (1 / last)) / (1 / last) : round(v / last) * last;
}

Sample sample_times(const Sample *s, double factor) {
    Sample out = *s;
    out.value *= factor;
    return out;
}

Sample sample_over(double factor, const Sample *s) {
    Sample out = *s;
    out.value = factor / s->value;
    return out;
}

/* Bytes and plain numbers count things.  */
static bool counts(const char *unit) { return unit && (!strcmp(unit, "1") || !strcmp(unit, "B")); }

static Origin origin_of(const Bench *b) {
    return bench_simulated(b) ? ORIGIN_SIMULATED : ORIGIN_MEASURED;
}

/* What is rounded to a whole number tells how far it was from that.  */
static void put(const Bench *b, Figure *f, const Sample *s) {
    double whole = round(s->value), off = whole > 0 ? fabs(s->value / whole - 1) : 0;
    f->value = counts(f->unit) ? whole : rounded(s->value, DIGITS);
    f->origin = origin_of(b);
    f->spread = rounded(counts(f->unit) ? fmax(s->spread, off) : s->spread, SPREAD_DIGITS);
    f->samples = s->samples;
    f->noisy = f->spread > NOISY;
    f->ref = f->date = NULL;
}

void bench_figure(const Bench *b, Figure *f, const Sample *s, double factor) {
    Sample out = sample_times(s, factor);
    put(b, f, &out);
}

void bench_rate(const Bench *b, Figure *f, const Sample *s, double factor) {
    Sample out = sample_over(factor, s);
    put(b, f, &out);
}

/* ---- curves ---- */
static Curve curve(Bench *b, const BenchPoints *points, const char *unit) {
    const Sample *y = points->y;
    int n = points->n;
    Curve c = {.unit = unit, .origin = origin_of(b), .n = n, .samples = y[0].samples};
    c.px = ARENA_ARRAY(b->result, double, n);
    c.py = ARENA_ARRAY(b->result, double, n);
    for (int i = 0; i < n; i++) {
        c.px[i] = points->x[i];
        c.py[i] = counts(unit) ? round(y[i].value) : rounded(y[i].value, DIGITS);
        if (y[i].spread > c.spread) c.spread = rounded(y[i].spread, SPREAD_DIGITS);
        if (y[i].samples < c.samples) c.samples = y[i].samples;
    }
    return c;
}

void bench_level_curve(Bench *b, MemoryLevel *m, LevelId level, const char *of, const char *x,
                       const BenchPoints *points) {
    static const struct {
        LevelId level;
        const char *of, *x, *x_unit, *unit;
    } kind[] = {
#define X(id, of, x, x_unit, unit, ...) {LEVEL_##id, of, x, x_unit, unit},
        HAL_CURVES(X)
#undef X
    };
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        if (kind[i].level != level || strcmp(kind[i].of, of) || strcmp(kind[i].x, x)) continue;
        Curve c = curve(b, points, kind[i].unit);
        c.of = kind[i].of;
        c.x = kind[i].x;
        c.x_unit = kind[i].x_unit;
        int at = 0;
        while (at < m->n_curve && (strcmp(m->curve[at].of, of) || strcmp(m->curve[at].x, x))) at++;
        if (at == m->n_curve) {
            Curve *more = ARENA_ARRAY(b->result, Curve, at + 1);
            if (at) memcpy(more, m->curve, (size_t)at * sizeof *more);
            m->curve = more;
            m->n_curve++;
        }
        m->curve[at] = c;
        return;
    }
}

void bench_member_curve(Bench *b, Curve *c, const char *member, const char *unit,
                        const BenchPoints *points) {
    static const struct {
        const char *member, *of, *x, *x_unit;
    } kind[] = {
#define X(name, of, x, x_unit, unit) {#name, of, x, x_unit},
        HAL_MEMBER_CURVES(X)
#undef X
    };
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        if (strcmp(kind[i].member, member)) continue;
        *c = curve(b, points, unit);
        c->of = kind[i].of;
        c->x = kind[i].x;
        c->x_unit = kind[i].x_unit;
    }
}
