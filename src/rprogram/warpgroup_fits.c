/* Which problems units of warpgroups take.  */
#include "rprogram/build.h"
#include "rprogram/matrix.h"

bool warpgroup_usable(const ComputeUnit *u) { return u->scope == SCOPE_WARPGROUP; }

bool warpgroup_fits(const Problem *p, const ComputeUnit *u) {
    if (u->tf32 && !p->tf32) return false;
    for (int side = 0; side < 2; side++) {
        RBox box;
        const Operand *o = side ? &p->con.b : &p->con.a;
        if (o->storage != u->a || !rprog_box(p, side, &box)) return false;
        if (box.inner == AX_K ? !u->k_major : !u->mn_major) return false;
    }
    return true;
}

bool warpgroup_shares(const RProg *r, int side) {
    const RLoad *l = &r->load[side];
    int own = r->block.extent[own_axis(side)], parts = rprog_cluster(r);
    int whole = l->along == AX_K ? BOX_LINES : BOX_SPAN * l->vec / RTILE_ACCESS;
    return own % parts == 0 && own / parts % whole == 0;
}
