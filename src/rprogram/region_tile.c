/* The region of a block's tile, and slots for it where boxes bring it, whatever the unit.  */
#include "rprogram/internal.h"

bool rprog_region_of_tile(const Problem *p, const RProg *r, int side, RRegion *out) {
    const RLoad *l = &r->load[side];
    RRegionTile of = {r->block.extent[own_axis(side)], l->vec, rprog_region_boxes(l),
                      rprog_through_registers(l)};
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

/* One box of the tensor, with up to `most` values of a subscript: what a tile reads that ends
 * within its image.  The copy writes zeros for what lies outside.  */
bool rprog_region_box(const Problem *p, int side, const RRegion *x, int most, RBox *out) {
    const TeTensor *t = &p->te->tensor[p->con.operand[side].access.tensor];
    bool fits = x->period == 0 && t->rank <= RBOX_RANK && x->line == t->rank - 1;
    *out = (RBox){.rank = t->rank, .inner = AX_K, .channel = x->line, .image = -1};
    for (int d = 0; d < x->line && fits; d++)
        fits = x->extent[d] <= most && t->stride[d].value > 0 &&
               t->stride[d].value * p->op[side].bytes % RTILE_ACCESS == 0;
    return fits;
}

double rprog_region_shared(const Problem *p, int side) {
    double unique = p->op[side].unique > 0 ? (double)p->op[side].unique : 1;
    return (double)p->extent[AX_B] * (double)p->extent[own_axis(side)] * (double)p->extent[AX_K] /
           unique;
}
