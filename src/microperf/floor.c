/* What no program for the problem can beat.
 *
 * No plan beats the longest of what its pipes are busy for, which all work side by side, each at
 * the rate that is stated for it at the boost clock, or the highest that boards reach:
 *
 *   DRAM: bytes of all inputs that are read and of all outputs, each element once (temporaries are
 *       free: a better fusion could avoid them), at the rate of the bus
 *   matrix units, FMA: multiply-adds of products on the fastest unit that may do them
 *   FMA, MUFU, issue: other arithmetic (rtile/work.c); two operations an instruction on FMA
 *   launch
 *
 * Of calls that follow each other L2 may hold what the next one reads, and keep what it writes:
 * `warm_us` is without as many bytes as L2 has.
 * What may be faster than a unit of the profile, it does not know.  */
#include "microperf/model.h"

#include <string.h>

/* ---- of a plan ---- */

/* Statements over rows of results.  */
static double rows_ops(const Problem *p) {
    const StatFacts *f = p->stats;
    double ops = 0, points = 1;
    for (int i = 0; i < f->group->n_pass; i++) {
        ops += f->fold_ops[i] + f->emit_ops[i];
        if (f->kept >= 0 && (f->folds[f->kept] >> i & 1)) ops -= f->kept_ops;
        if (f->kept >= 0 && (f->emits[f->kept] >> i & 1)) ops -= f->kept_ops;
    }
    for (int axis = AX_B; axis <= AX_N; axis++) points *= (double)p->extent[axis];
    return ops > 0 ? ops * points : 0;
}

/* Multiply-adds on the fastest unit; beside them other work as instructions of 32 lanes.  */
static double compute_us(const Problem *p, const Model *m) {
    double lanes = m->issue * WARP * m->sms * m->clock;
    double rate = rprog_rate(p, m->dev) * m->sms * m->clock;
    double rows = p->stats ? rows_ops(p) / lanes : 0;
    return greater(p->flops / (rate > 0 ? rate : lanes), rows) * MP_US;
}

double mp_least_us(const Problem *p, const Device *dev) {
    Model m = mp_model(p, dev);
    double reads = (double)p->read_bytes / m.dram_read;
    double moved = (reads + (double)p->out_bytes / m.dram_write) * MP_US;
    double first = (m.block_start + m.dram_latency) / m.clock * MP_US;
    double compute = p->contraction ? compute_us(p, &m) : 0;
    if (p->read_bytes == 0 || p->out_bytes == 0) return 0;
    return m.launch_us + greater(greater(moved, compute), first);
}

/* ---- of an op ---- */

static double bus_rate(const Device *dev) {
    const MemoryLevel *d = &dev->memory[LEVEL_DRAM];
    if (hal_has(&d->peak)) return d->peak.value;
    return greater(d->copy.value, greater(d->read.value, d->write.value));
}

static double clocks_at(double work, double rate) { return rate > 0 ? work / rate : 0; }

void mp_floor(const Te *te, const Problem *problem, int n, const Device *dev, Floor *out) {
    const DeviceLimits *l = &dev->limits;
    double clock = greater(l->clock_sm.value, l->clock_sm_max.value);
    double matrix = 0, fma = 0, sm_us = 1 / (l->sm_count.value * clock);
    double kept = dev->memory[LEVEL_L2].capacity.value, bus = bus_rate(dev);
    RWork w;
    rtile_op_work(te, &w);
    *out = (Floor){.reads = w.reads, .writes = w.writes};
    for (int i = 0; i < n; i++) {
        int16_t unit = -1;
        out->flops += problem[i].flops;
        if (!problem[i].contraction && !problem[i].con.product) continue;
        double rate = rprog_peak(&problem[i], dev, &unit);
        double clocks = clocks_at(problem[i].flops * w.share[problem[i].group->root], rate);
        *(unit >= 0 && dev->unit[unit].scope != SCOPE_THREAD ? &matrix : &fma) += clocks;
    }
    double mufu = clocks_at(w.functions, mp_unit_rate(dev, "mufu.ex2"));
    double issue = (w.flops / 2 + w.functions) / (l->issue_per_clk.value * WARP);
    fma += clocks_at(w.flops, mp_unit_rate(dev, "ffma"));
    out->compute_us = greater(greater(matrix, fma), greater(mufu, issue)) * sm_us;
    out->dram_us = (w.reads + w.writes) / bus * MP_US;
    out->launch_us = n > 0 ? dev->overheads.kernel_floor.value * 1e-3 : 0;
    out->us = greater(greater(out->dram_us, out->compute_us), out->launch_us);
    out->warm_us = greater(greater(out->dram_us - kept / bus * MP_US, out->compute_us),
                           out->launch_us);
}
