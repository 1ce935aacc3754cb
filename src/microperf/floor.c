/* What no program for the problem can beat.
 *
 * No plan beats the largest of three times : the bytes of all inputs that are read and of all
 * outputs, each element once, at the profile's DRAM rates (temporaries are free: a better fusion
 * could avoid them); the arithmetic on the fastest unit that may do it, or as warp instructions
 * where it is no product; one launch.  */
#include "microperf/model.h"

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

/* Multiply-adds on the fastest unit; other work as instructions of 32 lanes.  */
static double compute_us(const Problem *p, const Model *m) {
    double rate = p->con.body ? rprog_peak(p, m->dev) : 0, lanes = m->issue * WARP * m->sms;
    if (rate <= 0) rate = lanes * m->clock;
    double rows = p->stats ? rows_ops(p) / (lanes * m->clock) : 0;
    return (p->flops / rate + rows) * 1e6;
}

double mp_least_us(const Problem *p, const Device *dev) {
    Model m = mp_model(p, dev);
    double reads = (double)p->read_bytes / m.dram_read;
    double moved = (reads + (double)p->out_bytes / m.dram_write) * 1e6;
    double first = (m.block_start + m.dram_latency) / m.clock * 1e6;
    double compute = p->contraction ? compute_us(p, &m) : 0;
    if (p->read_bytes == 0 || p->out_bytes == 0) return 0;
    return m.launch_us + greater(greater(moved, compute), first);
}

void mp_floor(const Te *te, const Problem *problem, int n, const Device *dev, Floor *out) {
    *out = (Floor){0};
    rtile_op_bytes(te, &out->reads, &out->writes);
    for (int i = 0; i < n; i++) {
        Model m = mp_model(&problem[i], dev);
        out->compute_us += compute_us(&problem[i], &m);
        out->flops += problem[i].flops;
        out->dram_us = (out->reads / m.dram_read + out->writes / m.dram_write) * 1e6;
        out->launch_us = m.floor_us;
    }
    out->us = greater(greater(out->dram_us, out->compute_us), out->launch_us);
}
