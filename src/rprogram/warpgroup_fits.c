/* Which problems units of warpgroups take.  */
#include "rprogram/build.h"
#include "rprogram/matrix.h"

/* Some operand of the unit's; matrix_takes_as knows of which side.  */
static bool is_operand(const ComputeUnit *u, TeDtype t) { return t == u->a || t == u->b; }

bool warpgroup_copies(const Problem *p, const ComputeUnit *u, int side) {
    RBox box;
    const Operand *o = &p->con.operand[side];
    if (!o->read || !is_operand(u, o->storage) || !rprog_box(p, side, &box)) return false;
    return box.inner == AX_K ? u->k_major : u->mn_major;
}

/* Results are in the order of the rows then, as no statement over rows, chain or scale expects.  */
int warpgroup_modulo(const Problem *p, const ComputeUnit *u, int side, RBox *out) {
    const Operand *o = &p->con.operand[side];
    bool alone = !p->stats && !p->chain && !rtile_scaled(p);
    return alone && u->k_major && is_operand(u, o->storage) ? rprog_box_modulo(p, side, out) : 0;
}

bool warpgroup_gathers(const Problem *p, const ComputeUnit *u, int side) {
    const ROperand *op = &p->op[side];
    bool moves = p->te && !op->made && (op->affine || op->gathered);
    if (!moves || !is_operand(u, rprog_storage(p, &p->con.operand[side]))) return false;
    if (u->blocks > 1 || u->scale_k > 0) return false;    /* no warps are left, or for one block */
    return (u->k_major && op->vec_k * op->bytes >= RTILE_ACCESS) ||
           (u->mn_major && u->mn_atom == 0 && op->vec_mn * op->bytes >= RTILE_ACCESS);
}

bool warpgroup_regions(const Problem *p, const ComputeUnit *u, int side) {
    RBox box;
    if (!u->a_reg || !is_operand(u, p->con.operand[side].storage)) return false;
    if (u->a != u->b || !p->op[side].affine) return false;
    if (p->con.red != TE_RED_SUM || !p->con.product || p->extent[AX_B] != 1 || !rprog_static(p))
        return false;
    int step = rprog_region_step(p, side);
    return step > 0 && step % u->k.from == 0 &&
           (rprog_pixels(p, side, &box) || rprog_region_shared(p, side) >= REGION_SHARED);
}

bool warpgroup_joins(const Problem *p, const ComputeUnit *u, int side) {
    if (!p->te || !warpgroup_regions(p, u, side)) return false;
    const Access *x = &p->con.operand[side].access;
    const FusedAxis *k = &p->con.axis[AX_K];
    const TeTensor *t = &p->te->tensor[x->tensor];
    bool apart = x->offset.coef[k->index[k->n - 1]] != 1, anywhere = false;
    for (int d = 0; d < t->rank - 1; d++)
        anywhere |= t->shape[d].value > 1 &&
                    t->stride[d].value * p->op[side].bytes % RTILE_ACCESS != 0;
    return apart || anywhere;
}

bool warpgroup_fits(const Problem *p, const ComputeUnit *u) {
    enum { WORD = 4 };
    int raw = 0, maps = 0, bytes = te_dtype_bytes(u->a);
    if (u->tf32 && !p->tf32) return false;
    if (u->scale_k > 0 && !rtile_scaled(p)) return false; /* ones would be copied for nothing */
    for (int side = 0; side < p->n_operand; side++) {
        RRaw x;
        RBox box;
        if (warpgroup_copies(p, u, side) || warpgroup_gathers(p, u, side) ||
            warpgroup_joins(p, u, side))
            continue;
        int modulo = warpgroup_modulo(p, u, side, &box);
        maps += modulo;
        if (modulo) continue;
        if (!u->k_major || !u->a_reg || !rprog_raw(p, side, BOX_SPAN / bytes, &x)) return false;
        if (WORD / bytes % x.pack) return false;      /* a register has all that share an element */
        raw++;
    }
    return raw < 2 && maps <= WARPGROUP_MAPS;
}

bool warpgroup_converts(const Problem *p, const ComputeUnit *u) {
    bool converts = false;
    for (int side = 0; side < CONTRACTION_OPERANDS; side++) {
        RBox box;
        converts |= !warpgroup_copies(p, u, side) && !warpgroup_modulo(p, u, side, &box);
    }
    return u->b_smem && converts;
}

/* Blocks have as many of n, each a multiple of `whole`.  */
static bool divides(const RProg *r, int n, int whole) {
    return n % (rprog_cluster(r) * whole) == 0;
}

bool warpgroup_shares_lines(const RProg *r, int side) {
    const RLoad *l = &r->load[side];
    return l->along == AX_K ||
           !divides(r, r->block.extent[own_axis(side)], BOX_SPAN * l->vec / RTILE_ACCESS);
}

bool warpgroup_shares(const RProg *r, int side) {
    const RLoad *l = &r->load[side];
    int lines = l->along == AX_K ? own_axis(side) : AX_K, whole = BOX_LINES;
    if (l->modulo) whole *= l->modulo;
    if (l->region || l->team > 0) return false;   /* threads write to their own block */
    return !warpgroup_shares_lines(r, side) || divides(r, r->block.extent[lines], whole);
}
