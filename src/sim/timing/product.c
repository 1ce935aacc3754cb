/* Which unit of a profile works out a matrix product, and when the tensor unit of an SM does.  */
#include "sim/timing/timing.h"

#include <math.h>

static TeDtype element_of(PtxType t) {
    switch (t) {
    case PTX_F16: return TE_F16;
    case PTX_BF16: return TE_BF16;
    case PTX_TF32:
    case PTX_F32: return TE_F32;
    case PTX_F64: return TE_F64;
    case PTX_E4M3: return TE_F8E4M3;
    case PTX_E5M2: return TE_F8E5M2;
    case PTX_E3M2: return TE_F6E3M2;
    case PTX_E2M3: return TE_F6E2M3;
    case PTX_E2M1: return TE_F4E2M1;
    case PTX_S8: return TE_I8;
    case PTX_U8: return TE_U8;
    default: return TE_I32;
    }
}

static bool fits(SizeRange r, int v) {
    return v >= r.from && v <= r.to && (v - r.from) % r.step == 0;
}

/* Of two numbers in a byte each counts.  */
static bool has_types(const ComputeUnit *x, const SimProduct *p) {
    bool packed = x->a == TE_F4E2M1X2 && p->a == PTX_E2M1;
    return x->scope == p->scope && (packed || x->a == element_of(p->a)) &&
           x->acc == element_of(p->acc) && x->tf32 == (p->a == PTX_TF32) &&
           x->b != HAL_NO_DTYPE && (x->blocks > 1 ? x->blocks : 1) == p->blocks &&
           (x->scale_k ? x->k.to / x->scale_k : 0) == p->scales;
}

static bool has_second(const ComputeUnit *x, const SimProduct *p) {
    return x->a == TE_F4E2M1X2 || x->b == element_of(p->b);
}

/* One of the same first operand if there is none of both: of the shape, before others.  */
int sim_product_unit(const Device *dev, const SimProduct *p) {
    int best = -1, most = 0;
    for (int u = 0; u < dev->n_unit; u++) {
        const ComputeUnit *x = &dev->unit[u];
        if (!has_types(x, p)) continue;
        int k = p->k / te_dtype_values(x->a);
        bool shape = fits(x->m, p->m) && fits(x->n, p->n) && fits(x->k, k);
        int alike = 2 * shape + has_second(x, p);
        if (alike == 3) return u;
        if (alike >= most) best = u, most = alike;
    }
    return best;
}

/* ---- tcgen05 ---- */

/* One of other types if there is none of these: all take 32 bytes of k at once, and as long.  */
static int tensor_unit(const Device *dev, const SimProduct *p) {
    int unit = sim_product_unit(dev, p);
    for (int u = 0; u < dev->n_unit && unit < 0; u++)
        if (dev->unit[u].tmem) unit = u;
    return unit;
}

static double flops(double m, double n, double k) { return 2 * m * n * k; }

void sim_timer_product(SimWarp *w, const SimProduct *p, double bytes) {
    SimTimer *t = w->timer;
    const Device *dev = w->block->cluster->run->dev;
    int unit = t ? tensor_unit(dev, p) : -1;
    if (unit < 0) return;
    const ComputeUnit *u = &dev->unit[unit];
    const Figure *smem = &dev->memory[LEVEL_SMEM].per_sm_max;
    int k = u->k.to * te_dtype_values(u->a);
    double ops = flops(p->m, p->n, k), clk = ops / u->rate.value;
    double widest = flops(u->m.to, u->n.to, k) / u->rate.value;
    if (hal_has(smem)) clk = fmax(clk, bytes / smem->value);
    SimBlockTime *b = t->block;
    uint32_t begin = later(later(b->tensor_free, b->tensor_copied), t->start);
    b->tensor_free = begin + (uint32_t)(clk * SIM_TICKS + 0.5);
    sim_slices_spread(&b->work, begin, b->tensor_free, unit, (uint64_t)(ops * p->blocks));
    b->tensor_told = b->tensor_free +
                     (uint32_t)(fmax(0, u->latency.value - widest) * SIM_TICKS + 0.5);
}

void sim_timer_tensor_copy(SimWarp *w, const SimInst *i, double bytes) {
    const SimRun *r = w->block->cluster->run;
    SimTimer *t = w->timer;
    int mover = t ? t->timing->cost[i - r->kernel->code].mover : -1;
    if (mover < 0) return;
    SimBlockTime *b = t->block;
    uint32_t begin = later(b->tensor_copied, t->start);
    double clk = bytes / r->dev->mover[mover].rate.value;
    b->tensor_copied = begin + (uint32_t)(clk * SIM_TICKS + 0.5);
    sim_slices_spread(&b->work, begin, b->tensor_copied, sim_work_bytes(t->timing, mover),
                      (uint64_t)bytes);
}

uint32_t sim_timer_committed(const SimWarp *w) {
    const SimTimer *t = w->timer;
    if (!t) return 0;
    return later(later(t->block->tensor_told, t->block->tensor_copied), t->start);
}
