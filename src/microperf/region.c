/* Sectors of an operand that a block loads as a region.  */
#include "microperf/sectors.h"

/* Which share of the values that subscript d takes in a tile lies inside of the tensor: the mean of
 * all tiles.  */
static double share_inside(const Problem *p, int side, int32_t tile, const RRegion *x, int d) {
    const Operand *o = side ? &p->con.b : &p->con.a;
    const FusedAxis *own = &p->con.axis[mp_own_axis(side)];
    const Affine *f = &o->access.sub[d];
    int64_t shape = p->te->tensor[o->access.tensor].shape[d].value, step[2] = {0, 0};
    int64_t count[2] = {1, 1};
    for (int i = 0; i < 2 && i < own->n_digit; i++) {
        const AxisDigit *g = &own->digit[own->n_digit - 1 - i];
        step[i] = f->coef[own->index[g->first + g->n - 1]];
        count[i] = g->extent;
    }
    double inside = 0;
    int64_t tiles = (count[0] * count[1] + tile - 1) / tile;
    for (int64_t t = 0; t < tiles; t++) {
        int64_t in = x->whole ? 0 : t * tile % count[0], out = t * tile / count[0] % count[1];
        int64_t from = f->c + in * step[0] + out * step[1], to = from + x->extent[d];
        if (from < 0) from = 0;
        if (to > shape) to = shape;
        inside += to > from ? (double)(to - from) : 0;
    }
    return inside / (double)(tiles * x->extent[d]);
}

double mp_region_sectors(const Problem *p, const RProg *r, int side, const RRegion *x) {
    int32_t tile = r->block.extent[mp_own_axis(side)];
    double bytes = p->op[side].bytes, lines = 1;
    for (int d = 0; d < x->line; d++) lines *= x->extent[d] * share_inside(p, side, tile, x, d);
    double inside = share_inside(p, side, tile, x, x->line);
    double line = inside * x->extent[x->line] * (double)x->stride * bytes, access = x->vec * bytes;
    bool whole = line + 0.5 > (double)x->bound * bytes && x->bound * (int64_t)bytes % SECTOR == 0;
    return lines * (line / SECTOR + (whole ? 0 : 1 - lesser(access, SECTOR) / SECTOR));
}
