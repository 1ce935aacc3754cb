/* What scales of blocks cost in a step: a lane reads those of a row, from wherever these lie.  */
#include "microperf/step.h"
#include "microperf/sectors.h"

/* Passes of a warp's read of 32 rows, each in a line of its own where more is not known.  */
static double passes_of(const Model *m, const RScales *x, int side) {
    const TeStmt *s = &m->p->te->stmt[m->p->con.stmt];
    const FusedAxis *axis = &m->p->con.axis[mp_own_axis(side)];
    int64_t place[WARP];
    bool known = rtile_row_places(m->p->te, s, x->read, axis, WARP, place);
    return known ? (double)mp_passes(place, WARP, (int64_t)x->width * x->rows) : WARP;
}

void mp_add_scales(const Model *m, const RProg *r, double warps, Step *s) {
    enum { SCALE_ISSUE = 8 };             /* place, test, read, what it becomes */
    for (int side = 0; side < m->p->n_operand; side++) {
        RScales x;
        if (!rprog_scales(m->p, m->dev, r, side, &x)) continue;
        double along = r->warp.extent[AX_K] / (double)(x.block * x.width);
        double reads = warps * x.groups / x.rows * whole(along);
        double own = r->block.extent[mp_own_axis(side)], k = r->block.extent[AX_K];
        s->issue += reads * SCALE_ISSUE;
        s->passes += reads * passes_of(m, &x, side);
        s->sectors += own * k / x.block / SECTOR;
    }
}
