/* What scales of blocks cost in a step.  */
#include "microperf/step.h"
#include "microperf/sectors.h"

void mp_add_scales(const Model *m, const RProg *r, double warps, Step *s) {
    enum { SCALE_ISSUE = 8 };             /* place, test, read, what it becomes */
    for (int side = 0; side < m->p->n_operand; side++) {
        RScales x;
        if (!rprog_scales(m->p, m->dev, r, side, &x)) continue;
        double along = r->warp.extent[AX_K] / (double)(x.block * x.width);
        double reads = warps * x.groups * whole(along);
        double own = r->block.extent[mp_own_axis(side)], k = r->block.extent[AX_K];
        s->issue += reads * SCALE_ISSUE;
        s->passes += reads * WARP;
        s->sectors += own * k / x.block / SECTOR;
    }
}
