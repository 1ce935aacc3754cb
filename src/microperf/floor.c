/* What no program for the problem can beat.  */
#include "microperf/model.h"

/* Multiply-adds on the fastest unit; other work as instructions of 32 lanes.  */
static double compute_us(const Problem *p, const Model *m) {
    double rate = p->con.body ? rprog_peak(p, m->dev) : 0;
    if (rate <= 0) rate = m->issue * WARP * m->sms * m->clock;
    return p->flops / rate * 1e6;
}

void mp_floor(const Te *te, const Problem *problem, int n, const Device *dev, Floor *out) {
    *out = (Floor){0};
    rtile_op_bytes(te, &out->reads, &out->writes);
    for (int i = 0; i < n; i++) {
        Model m = mp_model(&problem[i], dev);
        out->compute_us += compute_us(&problem[i], &m);
        out->dram_us = (out->reads / m.dram_read + out->writes / m.dram_write) * 1e6;
        out->launch_us = m.floor_us;
    }
    out->us = greater(greater(out->dram_us, out->compute_us), out->launch_us);
}
