/* The roofline of a device as SVG: what a kernel of a given intensity can reach at most.  Both
 * axes are logarithmic.  After Williams, Waterman, Patterson: Roofline (CACM 2009).  */
#include "hal/roofline.h"
#include "base/svg.h"
#include <math.h>
#include <string.h>

const char *hal_si(Arena *a, double v) {
    static const struct {
        double at;
        const char *prefix;
    } step[] = {{1e15, " P"}, {1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}, {0, " "}};
    int i = 0;
    while (v < step[i].at) i++;
    Buf text = buf_new(a);
    double scaled = step[i].at > 0 ? v / step[i].at : v;
    int digits = scaled >= 100 ? 0 : scaled >= 10 ? 1 : 2;
    buf_printf(&text, "%.*f%s", digits, scaled, step[i].prefix);
    return buf_str(&text);
}

double hal_unit_flops(const Device *dev, const ComputeUnit *u) {
    if (u->b == HAL_NO_DTYPE) return 0;
    return u->rate.value * dev->limits.sm_count.value * hal_clock_hz(dev);
}

double hal_level_rate(const Device *dev, LevelId level) {
    const MemoryLevel *m = &dev->memory[level];
    if (!m->present) return 0;
    if (m->read.value > 0) return m->read.value;
    return m->per_sm_max.value * dev->limits.sm_count.value * hal_clock_hz(dev);
}

enum { WIDTH = 790, HEIGHT = 500, LEFT = 70, TOP = 60, RIGHT = 230, BOTTOM = 55, MOST_ROOFS = 20,
       LETTER = 7 };

typedef struct {
    const Device *dev;
    Buf *out;
    double x0, x1, y0, y1;    /* decimal logarithms of the edges */
    const ComputeUnit *roof[MOST_ROOFS];
    int n_roof;
    const HalWork *work;
    int n_work;
} Plot;

static double at_x(const Plot *p, double intensity) {
    return LEFT + (log10(intensity) - p->x0) / (p->x1 - p->x0) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const Plot *p, double flops) {
    return HEIGHT - BOTTOM - (log10(flops) - p->y0) / (p->y1 - p->y0) * (HEIGHT - TOP - BOTTOM);
}

static void words(const Plot *p, double x, double y, const char *attributes, const char *s) {
    svg_text(p->out, x, y, attributes, s);
}

static void text(const Plot *p, double x, double y, const char *anchor, const char *s) {
    words(p, x, y, arena_printf(p->out->arena, "text-anchor=\"%s\"", anchor), s);
}

static void stroke(const Plot *p, double x0, double y0, double x1, double y1, const char *style) {
    svg_line(p->out, x0, y0, x1, y1, style);
}

/* The fastest unit of each pair of types and precision, so that no two roofs tell the same.  */
static void choose_roofs(Plot *p) {
    for (int i = 0; i < p->dev->n_unit; i++) {
        const ComputeUnit *u = &p->dev->unit[i];
        if (hal_unit_flops(p->dev, u) <= 0) continue;
        int k = 0;
        while (k < p->n_roof && (p->roof[k]->a != u->a || p->roof[k]->tf32 != u->tf32 ||
                                 (p->roof[k]->scope == SCOPE_THREAD) != (u->scope == SCOPE_THREAD)))
            k++;
        if (k == MOST_ROOFS) continue;
        if (k == p->n_roof) p->roof[p->n_roof++] = u;
        else if (u->rate.value > p->roof[k]->rate.value) p->roof[k] = u;
    }
    for (int i = 1; i < p->n_roof; i++)
        for (int k = i; k > 0 && p->roof[k]->rate.value > p->roof[k - 1]->rate.value; k--) {
            const ComputeUnit *u = p->roof[k];
            p->roof[k] = p->roof[k - 1];
            p->roof[k - 1] = u;
        }
}

static bool has_place(const HalWork *w) { return w->flops > 0 && w->bytes > 0 && w->us > 0; }

static double rate_of(const HalWork *w) { return w->flops / w->us * 1e6; }

static void choose_axes(Plot *p) {
    double most = 0, least = INFINITY;
    for (int i = 0; i < p->n_roof; i++) {
        double flops = hal_unit_flops(p->dev, p->roof[i]);
        most = fmax(most, flops);
        least = fmin(least, flops);
    }
    double dram = hal_level_rate(p->dev, LEVEL_DRAM);
    double smem = hal_level_rate(p->dev, LEVEL_SMEM);
    p->x0 = floor(log10(least / fmax(smem, dram))) - 1;
    p->x1 = ceil(log10(most / dram)) + 0.5;
    p->y1 = log10(most) + 0.3;
    p->y0 = floor(log10(least)) - 1;
    for (int i = 0; i < p->n_work; i++) {
        const HalWork *w = &p->work[i];
        if (!has_place(w)) continue;
        double x = log10(w->flops / w->bytes), y = log10(rate_of(w));
        p->x0 = fmin(p->x0, floor(x - 0.2));
        p->x1 = fmax(p->x1, ceil(x + 0.2));
        p->y0 = fmin(p->y0, floor(y - 0.2));
        p->y1 = fmax(p->y1, y + 0.2);
    }
}

static void grid(const Plot *p) {
    Arena *a = p->out->arena;
    double bottom = HEIGHT - BOTTOM, right = WIDTH - RIGHT;
    for (double d = ceil(p->x0); d <= p->x1; d++) {
        double x = at_x(p, pow(10, d));
        stroke(p, x, TOP, x, bottom, "class=\"grid\"");
        text(p, x, bottom + 18, "middle", arena_printf(a, "%g", pow(10, d)));
    }
    for (double d = ceil(p->y0); d <= p->y1; d++) {
        double y = at_y(p, pow(10, d));
        stroke(p, LEFT, y, right, y, "class=\"grid\"");
        text(p, LEFT - 8, y + 4, "end", hal_si(a, pow(10, d)));
    }
    text(p, 0.5 * (LEFT + right), HEIGHT - 14, "middle", "FLOP per byte of the level");
    text(p, LEFT - 8, TOP - 16, "end", "FLOP/s");
}

/* Labels lie along their lines, each further up than the one before, since lines may be near each
 * other: `up` pixels.  */
static void level(const Plot *p, LevelId id, const char *name, double up) {
    double rate = hal_level_rate(p->dev, id), best = 0;
    if (rate <= 0) return;
    for (int i = 0; i < p->n_roof; i++)
        best = fmax(best, hal_unit_flops(p->dev, p->roof[i]));
    double from = fmax(pow(10, p->x0), pow(10, p->y0) / rate), to = best / rate;
    stroke(p, at_x(p, from), at_y(p, from * rate), at_x(p, to), at_y(p, best), "class=\"level\"");
    Arena *a = p->out->arena;
    double x = at_x(p, from), y = at_y(p, from * rate);
    double slope = atan2(at_y(p, best) - y, at_x(p, to) - x) * 57.29577951308232;
    words(p, up, -5,
          arena_printf(a, "transform=\"translate(%.1f %.1f) rotate(%.2f)\"", x, y, slope),
          arena_printf(a, "%s %sB/s", name, hal_si(a, rate)));
    for (int i = 0; i < p->n_roof; i++) {
        double flops = hal_unit_flops(p->dev, p->roof[i]), ridge = flops / rate;
        buf_printf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>%s meets %s at %.4g "
                           "FLOP/B</title></circle>\n",
                   at_x(p, ridge), at_y(p, flops), p->roof[i]->name, name, ridge);
    }
}

/* Labels that would lie on one another move apart.  */
static void roofs(const Plot *p) {
    enum { SPACING = 15 };
    double last = -SPACING, fastest = hal_level_rate(p->dev, LEVEL_DRAM);
    for (int k = LEVEL_L2; k <= LEVEL_SMEM; k++)
        fastest = fmax(fastest, hal_level_rate(p->dev, (LevelId)k));
    for (int i = 0; i < p->n_roof; i++) {
        Arena *a = p->out->arena;
        double flops = hal_unit_flops(p->dev, p->roof[i]), y = at_y(p, flops);
        double from = fmax(flops / fastest, pow(10, p->x0)), label = fmax(y, last + SPACING);
        stroke(p, at_x(p, from), y, WIDTH - RIGHT, y, "class=\"unit\"");
        text(p, WIDTH - RIGHT + 8, label + 4, "start",
             arena_printf(a, "%s %s", p->roof[i]->name, hal_si(a, flops)));
        last = label;
    }
}

/* What each work is expected to reach, and above what it cannot get.  */
static void works(const Plot *p) {
    Arena *a = p->out->arena;
    for (int i = 0; i < p->n_work; i++) {
        const HalWork *w = &p->work[i];
        if (!has_place(w)) continue;
        double intensity = w->flops / w->bytes, x = at_x(p, intensity), y = at_y(p, rate_of(w));
        if (w->least_us > 0) {
            double most = at_y(p, w->flops / w->least_us * 1e6);
            stroke(p, x, y, x, most, "class=\"work\"");
            stroke(p, x - 6, most, x + 6, most, "class=\"work\"");
        }
        buf_printf(p->out, "<circle class=\"work\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\"><title>%.4g "
                           "FLOP per byte of inputs and outputs</title></circle>\n", x, y,
                   intensity);
        const char *label = arena_printf(a, "%s: %sFLOP/s predicted", w->name,
                                         hal_si(a, rate_of(w)));
        bool fits = x + LETTER * (double)strlen(label) < WIDTH - RIGHT;
        text(p, fits ? x + 8 : WIDTH - RIGHT, y + 20, fits ? "start" : "end", label);
    }
}

/* Text has a seam of the paper's colour, so that lines below it do not cross it out.  */
static const char *const light[] = {
    "text{fill:#222;stroke:#fff;stroke-width:3;paint-order:stroke}", ".paper{fill:#fff}",
    ".grid{stroke:#ddd}", ".level{stroke:#1660a8;stroke-width:2}",
    ".unit{stroke:#b04a16;stroke-width:2}", "circle{fill:#222}", "circle.work{fill:#0a7d33}",
    "line.work{stroke:#0a7d33;stroke-width:2;stroke-dasharray:3 3}"};
static const char *const dark[] = {
    "text{fill:#ddd;stroke:#16181c}", ".paper{fill:#16181c}", ".grid{stroke:#33363c}",
    ".level{stroke:#6db1f2}", ".unit{stroke:#f0965e}", "circle{fill:#ddd}",
    "circle.work{fill:#4fd07a}", "line.work{stroke:#4fd07a}"};

void hal_roofline(const Device *dev, const HalWork *work, int n, Buf *out) {
    Plot p = {.dev = dev, .out = out, .work = work, .n_work = n};
    svg_begin(out, (SvgFrame){"roofline", WIDTH, HEIGHT},
              (SvgStyle){light, sizeof light / sizeof *light, dark, sizeof dark / sizeof *dark});
    text(&p, LEFT, 20, "start",
         arena_printf(out->arena, "%s, %s profile of %s", dev->gpu,
                      hal_profile_origin(dev), dev->date));
    choose_roofs(&p);
    if (p.n_roof) {
        choose_axes(&p);
        grid(&p);
        level(&p, LEVEL_DRAM, "dram", 150);
        level(&p, LEVEL_L2, "l2", 80);
        level(&p, LEVEL_SMEM, "smem", 10);
        roofs(&p);
        works(&p);
    }
    svg_end(out);
}
