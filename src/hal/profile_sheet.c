/* A profile as a readable sheet.  */
#include "hal/profile_text.h"
#include "hal/roofline.h"
#include <math.h>
#include <string.h>

static const char *const origins[] = {
#define X(id, name) name,
    HAL_ORIGINS(X)
#undef X
};
static const char *const levels[] = {
#define X(id, name) name,
    HAL_LEVELS(X)
#undef X
};

/* Plain counts whole, rates with a prefix.  */
static const char *value_text(Arena *a, const Figure *f) {
    const char *unit = f->unit ? f->unit : "";
    bool plain = strchr(unit, 'k') || !strcmp(unit, "%") || !strcmp(unit, "MHz") ||
                 !strcmp(unit, "ns");
    if (!strcmp(unit, "1")) return arena_printf(a, "%.0f", f->value);
    if (plain) return arena_printf(a, "%.5g %s", f->value, unit);
    return arena_printf(a, "%s%s", hal_si(a, f->value), unit);
}

static const char *origin_text(Arena *a, const Figure *f) {
    if (!hal_timed(f->origin)) return origins[f->origin];
    return arena_printf(a, "%s +-%.1f%%%s", origins[f->origin], f->spread * 100,
                        f->noisy ? " NOISY" : "");
}

static void line(Buf *out, const char *group, const char *name, const Figure *f) {
    if (!hal_has(f)) return;
    const char *label = *group ? arena_printf(out->arena, "%s.%s", group, name) : name;
    buf_printf(out, "  %-26s %16s  %s\n", label, value_text(out->arena, f),
               origin_text(out->arena, f));
}

static void curve(Buf *out, const char *group, const Curve *c) {
    if (!c->n) return;
    buf_printf(out, "  %s%s%s over %s, %s:", group, *group ? "." : "", c->of, c->x,
               origins[c->origin]);
    for (int i = 0; i < c->n; i++)
        buf_printf(out, "%s%s: %s", i % 6 ? "   " : "\n      ",
                   hal_si(out->arena, c->px[i]), hal_si(out->arena, c->py[i]));
    buf_putc(out, '\n');
}

static void head(const Device *dev, Buf *out) {
    buf_printf(out, "%s: %s (", dev->name, dev->gpu);
    if (dev->language != LANGUAGE_CUDA) buf_puts(out, hal_language_name(dev->language));
    else
        buf_printf(out, "%s, compute capability %d.%d", dev->arch, dev->cc_major, dev->cc_minor);
    buf_printf(out, "), %s profile%s\n", hal_profile_origin(dev),
               dev->calibrated ? ", calibrated" : "");
    buf_printf(out, "  made %s by roller %s, %s", dev->date, dev->tool, dev->mode);
    if (*dev->driver) buf_printf(out, ", driver %s", dev->driver);
    if (*dev->nvrtc) buf_printf(out, ", NVRTC %s", dev->nvrtc);
    if (dev->made_clock_sm_mhz > 0) buf_printf(out, ", SMs at %.0f MHz", dev->made_clock_sm_mhz);
    if (dev->made_temperature_c > 0) buf_printf(out, ", %.0f C", dev->made_temperature_c);
    buf_puts(out, "\n");
}

static void memory(const Device *dev, Buf *out) {
    for (int k = 0; k < LEVEL_COUNT; k++) {
        const MemoryLevel *m = &dev->memory[k];
        if (!m->present) continue;
#define X(name, ...) line(out, levels[k], #name, &m->name);
        HAL_MEMORY(X)
#undef X
        for (int i = 0; i < m->n_curve; i++) curve(out, levels[k], &m->curve[i]);
    }
}

/* Where a unit that gets each of its bytes from a level stops waiting for it.  */
static const char *ridge(const Device *dev, const ComputeUnit *u, LevelId level, Arena *a) {
    double flops = hal_unit_flops(dev, u), rate = hal_level_rate(dev, level);
    return flops > 0 && rate > 0 ? arena_printf(a, "%.4g", flops / rate) : "-";
}

static void units(const Device *dev, Buf *out) {
    Arena *a = out->arena;
    buf_puts(out, "\nunits: rate per clock and SM; of the device; latency; ridge points in FLOP/B "
                  "with dram, l2, smem\n");
    for (int i = 0; i < dev->n_unit; i++) {
        const ComputeUnit *u = &dev->unit[i];
        double flops = hal_unit_flops(dev, u);
        buf_printf(out, "  %-26s %8.6g %8s%-6s %6s  %6s %6s %6s  %s\n", u->name, u->rate.value,
                   flops > 0 ? hal_si(a, flops) : "", flops > 0 ? "FLOP/s" : "",
                   u->latency.value > 0 ? arena_printf(a, "%.3g clk", u->latency.value) : "",
                   ridge(dev, u, LEVEL_DRAM, a), ridge(dev, u, LEVEL_L2, a),
                   ridge(dev, u, LEVEL_SMEM, a), origin_text(a, &u->rate));
    }
    for (int i = 0; i < dev->n_family; i++) {
        line(out, dev->family[i].name, "sustained", &dev->family[i].sustained);
        curve(out, dev->family[i].name, &dev->family[i].clock);
    }
}

static void movers(const Device *dev, Buf *out) {
    buf_puts(out, "\nmovers: bytes per clock and SM; clocks to issue one\n");
    for (int i = 0; i < dev->n_mover; i++) {
        const Mover *m = &dev->mover[i];
        buf_printf(out, "  %-26s %8.5g B/clk/SM %8.4g clk  %s\n", m->name, m->rate.value,
                   m->cost.value, origin_text(out->arena, &m->rate));
    }
}

void hal_profile_sheet(const Device *dev, Buf *out) {
    head(dev, out);
    buf_puts(out, "\nlimits\n");
#define X(name, ...) line(out, "", #name, &dev->limits.name);
    HAL_LIMITS(X)
#undef X
    curve(out, "", &dev->limits.clusters_resident);
    buf_puts(out, "\nmemory\n");
    memory(dev, out);
    units(dev, out);
    movers(dev, out);
    buf_puts(out, "\noverheads\n");
#define X(name, ...) line(out, "", #name, &dev->overheads.name);
    HAL_OVERHEADS(X)
#undef X
    curve(out, "", &dev->overheads.barrier);
    if (dev->n_factor) buf_puts(out, "\nfactors\n");
    for (int i = 0; i < dev->n_factor; i++)
        buf_printf(out, "  %-26s %8.4g  residual %.3g, %d timings of %s\n", dev->factor[i].name,
                   dev->factor[i].value, dev->factor[i].residual, dev->factor[i].samples,
                   dev->factor[i].kernels);
    if (dev->n_missed) buf_puts(out, "\nnot measured, as in the profile it started from\n");
    for (int i = 0; i < dev->n_missed; i++)
        buf_printf(out, "  %-26s %s\n", dev->missed[i].name, dev->missed[i].why);
}
