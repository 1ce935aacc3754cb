#include "hal/device.h"

#include <math.h>
#include <string.h>

bool hal_arch(const char *arch, int *sm, char *suffix) {
    if (strncmp(arch, "sm_", 3) || arch[3] < '1' || arch[3] > '9')
        return false;
    *sm = 0;
    const char *c = arch + 3;
    for (; *c >= '0' && *c <= '9' && *sm < 1000; c++)
        *sm = *sm * 10 + *c - '0';
    *suffix = *c;
    return *sm < 1000 && (!*c || ((*c == 'a' || *c == 'f') && !c[1]));
}

/* log2 from arithmetic alone, so that plans do not depend on a machine's libm: with
 * s = (m - 1) / (m + 1), log m = 2 atanh(s); |s| < 0.172, where the series is exact to 1e-17.  */
static double log2_of(double x) {
    static const double part[] = {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                  1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1};
    int exponent;
    double m = frexp(x, &exponent);
    if (m < 0.70710678118654752440) {
        m *= 2;
        exponent--;
    }
    double s = (m - 1) / (m + 1), s2 = s * s, sum = 0;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        sum = sum * s2 + part[i];
    return exponent + s * sum * 2.88539008177792681472;    /* 2 / ln 2 */
}

double hal_curve(const Curve *c, double x) {
    if (!(x > c->px[0]))
        return c->py[0];
    int lo = 0, hi = c->n - 1;
    if (x >= c->px[hi])
        return c->py[hi];
    while (hi - lo > 1) {
        int mid = lo + (hi - lo) / 2;
        if (c->px[mid] <= x)
            lo = mid;
        else
            hi = mid;
    }
    double t = log2_of(x / c->px[lo]) / log2_of(c->px[hi] / c->px[lo]);
    return c->py[lo] + t * (c->py[hi] - c->py[lo]);
}

double hal_curve_seconds(const Curve *c, double amount) {
    int k = 0;
    if (amount <= c->px[0])
        return amount / c->py[0];
    while (k < c->n - 2 && amount > c->px[k + 1])
        k++;
    double x0 = c->px[k], x1 = c->px[k + 1], t0 = x0 / c->py[k], t1 = x1 / c->py[k + 1];
    return t0 + (amount - x0) * (t1 - t0) / (x1 - x0);
}

const Curve *hal_level_curve(const MemoryLevel *m, const char *of, const char *x) {
    for (int i = 0; i < m->n_curve; i++)
        if (!strcmp(m->curve[i].of, of) && !strcmp(m->curve[i].x, x))
            return &m->curve[i];
    return NULL;
}

bool hal_timed(Origin origin) {
    return origin == ORIGIN_MEASURED || origin == ORIGIN_SIMULATED;
}

const char *hal_profile_origin(const Device *dev) {
    return dev->simulated ? "simulated" : dev->measured ? "measured" : "datasheet";
}

static size_t model_length(const char *gpu) {
    size_t len = strlen(gpu), end = strlen(HAL_SIMULATED);
    return len > end && !strcmp(gpu + len - end, HAL_SIMULATED) ? len - end : len;
}

bool hal_gpu_simulated(const char *gpu) {
    return gpu[model_length(gpu)] != 0;
}

const char *hal_gpu_model(Arena *a, const char *gpu) {
    return arena_strndup(a, gpu, model_length(gpu));
}

bool hal_has(const Figure *f) {
    return f->unit != NULL;
}

const ComputeUnit *hal_unit(const Device *dev, const char *name) {
    for (int i = 0; i < dev->n_unit; i++)
        if (!strcmp(dev->unit[i].name, name))
            return &dev->unit[i];
    return NULL;
}

const Mover *hal_mover(const Device *dev, const char *name) {
    for (int i = 0; i < dev->n_mover; i++)
        if (!strcmp(dev->mover[i].name, name))
            return &dev->mover[i];
    return NULL;
}

double hal_factor(const Device *dev, const char *name) {
    for (int i = 0; i < dev->n_factor; i++)
        if (!strcmp(dev->factor[i].name, name))
            return dev->factor[i].value;
    return 1;
}

double hal_clock_hz(const Device *dev) {
    return dev->limits.clock_sm_sustained.value * 1e6;
}

UnitFamily *hal_family(const Device *dev, const ComputeUnit *u) {
    for (int i = 0; i < dev->n_family; i++)
        if (!strcmp(dev->family[i].name, u->family))
            return &dev->family[i];
    return NULL;
}

UnitFamily *hal_own_family(Arena *a, Device *dev, ComputeUnit *u) {
    UnitFamily *own = hal_family(dev, u);
    if (own) return own;
    UnitFamily *all = ARENA_ARRAY(a, UnitFamily, dev->n_family + 1);
    if (dev->n_family) memcpy(all, dev->family, (size_t)dev->n_family * sizeof *all);
    dev->family = all;
    own = &all[dev->n_family++];
    own->name = u->family = u->name;
    return own;
}

double hal_sustained(const Device *dev, const ComputeUnit *u) {
    const UnitFamily *f = hal_family(dev, u);
    return f && hal_has(&f->sustained) ? u->rate.value * f->sustained.value / 100 : u->rate.value;
}

bool hal_slows(const Device *dev, const ComputeUnit *u) {
    const UnitFamily *f = hal_family(dev, u);
    return f && f->clock.n > 0;
}

double hal_busy_hz(const Device *dev, const ComputeUnit *u, double us) {
    double usual = hal_clock_hz(dev);
    double hz = hal_slows(dev, u) ? hal_curve(&hal_family(dev, u)->clock, us) * 1e6 : usual;
    return hz < usual ? hz : usual;
}

static int64_t round_up(int64_t v, int64_t to) {
    return (v + to - 1) / to * to;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Registers lie in the subpartitions: a warp takes whole granules of one of them, and the check of
 * a block's registers counts its warps as spread evenly.  */
static int64_t blocks_by_registers(const DeviceLimits *l, int64_t warps, int registers) {
    int64_t parts = (int64_t)l->subpartitions.value;
    int64_t per_warp = round_up(registers * (int64_t)l->warp_size.value,
                                (int64_t)l->register_granule.value);
    if (per_warp * round_up(warps, parts) > (int64_t)l->registers_per_block.value)
        return 0;
    return (int64_t)l->registers_per_sm.value / parts / per_warp * parts / warps;
}

int hal_blocks_per_sm(const Device *dev, int threads, int registers, int64_t smem) {
    const DeviceLimits *l = &dev->limits;
    if (threads < 1 || threads > l->threads_per_block.value || registers < 0 ||
        registers > l->registers_per_thread.value || smem < 0 ||
        (double)smem > l->smem_per_block_optin.value)
        return 0;
    int64_t warp = (int64_t)l->warp_size.value, warps = (threads + warp - 1) / warp;
    int64_t blocks = least((int64_t)l->blocks_per_sm.value,
                           (int64_t)l->threads_per_sm.value / warp / warps);
    if (registers > 0)
        blocks = least(blocks, blocks_by_registers(l, warps, registers));
    int64_t taken = round_up(smem + (int64_t)l->smem_reserved.value,
                             (int64_t)l->smem_granule.value);
    if (taken > 0)
        blocks = least(blocks, (int64_t)l->smem_per_sm.value / taken);
    return (int)blocks;
}
