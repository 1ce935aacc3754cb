/* What scales of blocks cost in a step: a lane reads those of a row, from wherever these lie.  */
#include "microperf/matrix.h"
#include "microperf/sectors.h"
#include "microperf/step.h"

enum { SCALE_ISSUE = 8 };     /* place, test, read, what it becomes */

/* Passes of a warp's read of 32 rows, each in a line of its own where more is not known.  */
static double passes_of(const Model *m, const RScales *x, int side) {
    const TeStmt *s = &m->p->te->stmt[m->p->con.stmt];
    const FusedAxis *axis = &m->p->con.axis[mp_own_axis(side)];
    int64_t place[WARP];
    bool known = rtile_row_places(m->p->te, s, x->read, axis, WARP, place);
    return known ? (double)mp_passes(place, WARP, (int64_t)x->width * x->rows) : WARP;
}

void mp_add_scales(const Model *m, const RProg *r, double warps, Step *s) {
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

/* ---- by which sums of a step are multiplied ---- */

/* Passes of a warp's read of one of its rows or columns in each lane.  */
static double sum_passes(const Model *m, const RProg *r, const RSumScales *x, int side) {
    const TeStmt *s = &m->p->te->stmt[m->p->con.stmt];
    const FusedAxis *axis = &m->p->con.axis[mp_own_axis(side)];
    const Fragment f = rprog_results(m->dev, r);
    FragDim dim = side ? FRAG_COL : FRAG_ROW;
    int at[WARP][FRAG_DIMS], bytes = te_dtype_bytes(x->read->store);
    int64_t row[WARP], place[WARP];
    if (x->share) return 1;
    if (!rtile_row_places(m->p->te, s, x->read, axis, WARP, row)) return fragment_lanes(&f, dim);
    fragment_of_lanes(&f, 0, at);
    for (int i = 0; i < WARP; i++) place[i] = row[at[i][dim] % WARP] * bytes;
    return (double)mp_passes(place, WARP, bytes);
}

double mp_scaled_sums(const Model *m, const RProg *r) {
    double n = 1;
    for (int side = 0; side < m->p->n_operand; side++) {
        RSumScales x;
        if (!rprog_sum_scales(m->p, m->dev, r, side, &x)) return 0;
        n *= x.n;
    }
    return n;
}

void mp_add_sum_scales(const Model *m, const RProg *r, Step *s) {
    for (int side = 0; side < m->p->n_operand; side++) {
        RSumScales x;
        if (!rprog_sum_scales(m->p, m->dev, r, side, &x)) continue;
        double bytes = te_dtype_bytes(x.read->store), own = r->block.extent[mp_own_axis(side)];
        s->issue += s->warps * x.n * SCALE_ISSUE;
        s->passes += s->warps * x.n * sum_passes(m, r, &x, side);
        s->sectors += own / (x.share ? x.share : 1) * bytes / SECTOR;
    }
}
