/* What every program says of itself, whatever its skeleton.  */
#include "rprogram/matrix.h"

int rprog_elem(const Problem *p, const Device *dev, const RProg *r, int side) {
    if (rprog_packed(dev, r)) return p->op[side].bytes;
    if (r->load[side].raw) return RTILE_ACCESS / r->load[side].vec;
    if (rprog_matrix(dev, r)) return te_dtype_bytes(rprog_tile_type(p, dev, r, side));
    return p->op[side].elem;
}

TeDtype rprog_storage(const Problem *p, const Operand *o) {
    bool read = o->expr && o->expr->kind == TE_READ && p->te;
    return read ? p->te->tensor[o->expr->v.ref].dtype : o->storage;
}

bool rprog_copyable(const Problem *p, const Device *dev, const RProg *r, int side) {
    const ROperand *op = &p->op[side];
    if (rprog_matrix(dev, r)) {
        const Operand *o = &p->con.operand[side];
        return (op->affine || op->gathered) &&
               rprog_storage(p, o) == rprog_tile_type(p, dev, r, side);
    }
    return op->copyable || (op->affine && rprog_packed(dev, r));
}

int32_t rprog_tile_bytes(const Problem *p, const Device *dev, const RProg *r, int side) {
    if (r->load[side].region) return (int32_t)rprog_region_slot(p, r, side);
    const RLayout *l = &r->load[side].layout;
    int64_t mn = r->block.extent[own_axis(side)], k = r->block.extent[AX_K];
    int64_t rows = l->inner == AX_K ? mn : k, row = l->inner == AX_K ? k : mn;
    int elem = rprog_elem(p, dev, r, side), span = rprog_box_span(l) / elem;
    RRaw raw;
    if (!rprog_load_facts(r->load[side].kind).chunks) row = ceil_div(row, span) * span;
    int64_t bytes = rows * (row + l->pad) * elem;
    if (r->load[side].raw && rprog_raw(p, side, (int)k, &raw)) bytes /= raw.pack;
    if (rprog_apart(dev, r, side)) bytes /= rprog_unit_blocks(dev, r);
    bytes = (bytes + RTILE_ACCESS - 1) / RTILE_ACCESS * RTILE_ACCESS;
    return bytes < INT32_MAX ? (int32_t)bytes : INT32_MAX;
}

const char *const rprog_no_whole_warps = "threads are no whole warps, or more than a block has";

bool rprog_may_be_ahead(const Device *dev, const RProg *r, int side) {
    if (dev->unit[r->unit].b_smem) return false;
    if (rprog_matrix(dev, r)) return count_along(&r->warp, &r->thread, AX_K) % 2 == 0;
    bool one_k = r->load[side].layout.inner != AX_K || r->thread.extent[AX_K] == 1;
    return one_k && !rprog_packed(dev, r) && r->unroll % 2 == 0;
}

bool rprog_fetched_ahead(const Device *dev, const RProg *r, int side) {
    return !r->late && rprog_may_be_ahead(dev, r, side);
}

TeDtype matrix_unit_type(const Device *dev, const RProg *r, int side) {
    const ComputeUnit *u = &dev->unit[r->unit];
    return rprog_unit_side(r, side) ? u->b : u->a;
}

TeDtype rprog_tile_type(const Problem *p, const Device *dev, const RProg *r, int side) {
    const Operand *o = &p->con.operand[side];
    RRaw raw;
    if (r->load[side].bytes) return o->storage;
    if (r->load[side].raw && rprog_raw(p, side, r->block.extent[AX_K], &raw)) return raw.storage;
    if (rprog_matrix(dev, r)) return matrix_unit_type(dev, r, side);
    return rprog_packed(dev, r) ? o->storage : o->compute;
}

int rprog_threads_along(const RProg *r, int axis) {
    return count_along(&r->block, &r->thread, axis);
}

RProg rprog_base(Skeleton skeleton) {
    RProg r = {.skeleton = skeleton, .vec_m = 1, .vec_n = 1, .stages = 1, .unroll = 1,
               .store_vec = 1, .split = 1, .lanes = 1};
    for (int axis = 0; axis < RT_AXES; axis++) {
        r.block.extent[axis] = r.warp.extent[axis] = r.thread.extent[axis] = 1;
    }
    return r;
}

bool rprog_static_axis(const Problem *p, int axis) {
    const FusedAxis *x = &p->con.axis[axis];
    return !p->te || !access_varies(&p->te->stmt[p->con.stmt], x, 0, x->n);
}

bool rprog_static(const Problem *p) {
    bool is = true;
    for (int i = AX_B; i <= AX_K; i++) is &= rprog_static_axis(p, i);
    return is;
}
