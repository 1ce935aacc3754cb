/* The region of a block's tile, and slots for it where boxes bring it, whatever the unit.  */
#include "rprogram/internal.h"

bool rprog_region_of_tile(const Problem *p, const RProg *r, int side, RRegion *out) {
    RRegionTile of = {r->block.extent[own_axis(side)], r->load[side].vec,
                      rprog_region_boxes(&r->load[side])};
    return rtile_region(p, side, of, out);
}

bool rprog_region(const Problem *p, const RProg *r, int side, RRegion *out) {
    const RLoad *l = &r->load[side];
    bool table = !rprog_region_boxes(l);  /* of all k */
    if (!l->region || (table && p->extent[AX_K] > INT16_MAX / 2)) return false;
    return rprog_region_of_tile(p, r, side, out);
}

int64_t rprog_region_slot(const Problem *p, const RProg *r, int side) {
    RRegion x;
    if (!rprog_region_boxes(&r->load[side]) || !rprog_region(p, r, side, &x)) return 0;
    return (int64_t)x.lines * x.span * x.planes;
}


int rprog_region_step(const Problem *p, int side) {
    const FusedAxis *k = &p->con.axis[AX_K];
    int64_t channels = p->te->stmt[p->con.stmt].index[k->index[k->n - 1]].hi.value;
    int64_t bytes = channels * p->op[side].bytes, span = rtile_region_span(bytes);
    return (int)((bytes < span ? bytes : span) / p->op[side].bytes);
}
