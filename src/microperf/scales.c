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

/* Passes of a warp's read of scales of these of 32 rows.  */
static double places_passes(const Model *m, const TeExpr *read, int side, int width,
                            const int *of) {
    const TeStmt *s = &m->p->te->stmt[m->p->con.stmt];
    const FusedAxis *axis = &m->p->con.axis[mp_own_axis(side)];
    int64_t row[WARP], place[WARP], bytes = te_dtype_bytes(read->store);
    if (!rtile_row_places(m->p->te, s, read, axis, WARP, row)) return 0;
    for (int i = 0; i < WARP; i++) place[i] = row[of[i] % WARP] * bytes;
    return (double)mp_passes(place, WARP, bytes * width);
}

/* ... of one of its rows or columns in each lane.  */
static double sum_passes(const Model *m, const RProg *r, const RSumScales *x, int side) {
    const Fragment f = rprog_results(m->dev, r);
    FragDim dim = side ? FRAG_COL : FRAG_ROW;
    int at[WARP][FRAG_DIMS], of[WARP];
    if (x->share) return 1;
    fragment_of_lanes(&f, 0, at);
    for (int i = 0; i < WARP; i++) of[i] = at[i][dim];
    double passes = places_passes(m, x->read, side, 1, of);
    return passes > 0 ? passes : fragment_lanes(&f, dim);
}

/* Those who fill read a row in each lane, which takes the step's for its slot; those who compute
 * read neighbours at once.  */
static void add_staged(const Model *m, const RProg *r, const RSumScales *x, int side, Step *s) {
    /* Three choices among four blocks and a store; a load and what becomes of it.  */
    enum { PUT_ISSUE = 4, TAKE_ISSUE = 2 };
    const Fragment f = rprog_results(m->dev, r);
    double puts = x->loaders / (double)WARP * x->each;
    double reads = puts * r->block.extent[AX_K] / x->every;
    double takes = s->warps * x->n / fragment_run(&f, side ? FRAG_COL : FRAG_ROW);
    int of[WARP];
    for (int i = 0; i < WARP; i++) of[i] = i;
    double passes = places_passes(m, x->read, side, x->width, of);
    s->issue += reads * SCALE_ISSUE + puts * PUT_ISSUE + takes * TAKE_ISSUE;
    s->passes += reads * (passes > 0 ? passes : WARP);
    s->wavefronts += puts + takes;
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
        s->sectors += own / (x.share ? x.share : 1) * bytes / SECTOR;
        if (x.staged) {
            add_staged(m, r, &x, side, s);
            continue;
        }
        s->issue += s->warps * x.n * SCALE_ISSUE;
        s->passes += s->warps * x.n * sum_passes(m, r, &x, side);
    }
}
