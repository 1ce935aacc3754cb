/* Movers and directions of loads, by rule.  */
#include "base/hash.h"
#include "rprogram/index_map.h"
#include "rprogram/build.h"
#include "rprogram/matrix.h"

#include <string.h>

/* The widest access along an axis for which the device has a mover; 0 if there is none.  */
static int widest(const Builder *b, const ROperand *op, int vec, LoadKind kind) {
    for (; vec > 0; vec /= 2) {
        if (vec * op->bytes <= RTILE_ACCESS && rprog_mover(b->dev, kind, vec * op->bytes) >= 0)
            break;
    }
    return vec;
}

/* TRANSACTION: accesses run along the axis with the longest vectors, so that a warp's request fills
 * whole sectors; without vectors along the one on which elements are closer, and where
 * neither is contiguous by far, both are tried.  */
static bool worth_along(const ROperand *op, uint8_t axis) {
    bool by_k = axis == AX_K;
    int vec = by_k ? op->vec_k : op->vec_mn, other_vec = by_k ? op->vec_mn : op->vec_k;
    if (vec != other_vec) return vec > other_vec;
    int64_t stride = by_k ? op->stride_k : op->stride_mn;
    int64_t other = by_k ? op->stride_mn : op->stride_k;
    if (stride == 0 || other == 0) return stride >= other;
    enum { NEAR = 8 };                    /* elements; beyond, each lane has a sector of its own */
    return stride <= other || stride < NEAR;
}

/* From the axis along which accesses to memory run to the one along which a tile's rows lie.  */
typedef struct {
    uint8_t along, inner;
} Way;

/* Elements that are converted to longer ones for matrix units are loaded no more at once than lie
 * next to each other in the tile: lanes that store two accesses each, one after the other, meet in
 * the banks.  */
static bool add_option(const Builder *b, const RProg *r, int side, Way way, LoadKind kind,
                       RLoad *out) {
    const ROperand *op = &b->p->op[side];
    int vec = way.along == AX_K ? op->vec_k : op->vec_mn;
    if (kind == LOAD_ASYNC) {
        if (!rprog_copyable(b->p, b->dev, r, side)) return false;
        if (way.along != way.inner) vec = 1;
    }
    int elem = rprog_elem(b->p, b->dev, r, side);
    bool straight = kind == LOAD_STAGED && way.along == way.inner && rprog_matrix(b->dev, r);
    while (straight && vec * elem > RTILE_ACCESS) vec /= 2;
    vec = widest(b, op, vec, kind);
    if (vec == 0 || (rprog_packed(b->dev, r) && vec < RPROG_PACKED)) return false;
    *out = (RLoad){.kind = kind, .mover = rprog_mover(b->dev, kind, vec * op->bytes),
                   .vec = (uint8_t)vec, .along = way.along, .layout = {.inner = way.inner}};
    return true;
}

/* A copy where the device and the types allow it, else through registers.  */
static int add_either(const Builder *b, const RProg *r, int side, Way way, RLoad *out) {
    return add_option(b, r, side, way, LOAD_ASYNC, out) ||
           add_option(b, r, side, way, LOAD_STAGED, out);
}

/* Elements of one byte as they are, to be converted in the fragments.  */
static bool add_bytes(const Builder *b, const RProg *r, int side, RLoad *out) {
    RProg x = *r;
    if (!matrix_keeps_bytes(b->p, b->dev, r, side)) return false;
    x.load[side].bytes = true;
    if (!add_option(b, &x, side, (Way){AX_K, AX_K}, LOAD_ASYNC, out)) return false;
    out->bytes = true;
    return true;
}

/* Of matrix units: as the elements lie in memory, if fragments can be read from there; transposed
 * on the way where they cannot, or where that takes several reads.  */
static int matrix_options(const Builder *b, const RProg *r, int side, RLoad out[OPTIONS]) {
    const ROperand *op = &b->p->op[side];
    uint8_t own = (uint8_t)own_axis(side);
    int elem = rprog_elem(b->p, b->dev, r, side), n = 0;
    if (worth_along(op, AX_K)) {
        n += add_bytes(b, r, side, &out[n]);
        n += add_either(b, r, side, (Way){AX_K, AX_K}, &out[n]);
    }
    if (!worth_along(op, own)) return n;
    if (elem > 1) n += add_either(b, r, side, (Way){own, own}, &out[n]);
    if (elem != 2) n += add_either(b, r, side, (Way){own, AX_K}, &out[n]);
    return n;
}

/* All that a block reads at once, where rows of the tile share most of it and either no access
 * along an axis is as wide as a copy can be, or matrices are loaded of it.  */
static int add_region(const Builder *b, const RProg *r, int side, RLoad *out) {
    const Problem *p = b->p;
    const ROperand *op = &p->op[side];
    int wide = op->vec_k > op->vec_mn ? op->vec_k : op->vec_mn;
    bool sums = p->con.red == TE_RED_SUM && p->con.product;
    if (p->extent[AX_K] > INT16_MAX / 2) return 0;
    if (op->gathered) return 0;
    if (rprog_region_shared(p, side) < REGION_SHARED || !sums || rprog_packed(b->dev, r) ||
        !rprog_copyable(p, b->dev, r, side) || !rprog_static(p))
        return 0;
    *out = (RLoad){.kind = LOAD_ASYNC, .vec = 1, .along = (uint8_t)own_axis(side), .region = true,
                   .layout = {.inner = (uint8_t)own_axis(side)}};
    RProg x = *r;
    x.load[side] = *out;
    for (int axis = 0; axis < RT_AXES; axis++) x.block.extent[axis] = 1;
    return wide * op->bytes < RTILE_ACCESS || rprog_ldmatrix(p, b->dev, &x, side);
}

/* Chunks that begin anywhere, where others are narrower, or that are turned, where matrices are
 * loaded of them.  */
static bool fit_made(const Builder *b, RProg *r, int side) {
    RRegion x;
    RLoad *l = &r->load[side], before = *l;
    l->kind = LOAD_STAGED;
    l->vec = (uint8_t)(RTILE_ACCESS / b->p->op[side].bytes);
    l->mover = rprog_mover(b->dev, l->kind, RTILE_ACCESS);
    if (l->mover >= 0 && rprog_ldmatrix(b->p, b->dev, r, side) &&
        rprog_region(b->p, r, side, &x) && (x.anywhere || x.turned))
        return true;
    *l = before;
    return false;
}

/* The widest access that the region of this tile allows.  */
static bool fit_region(const Builder *b, RProg *r, int side) {
    RLoad *l = &r->load[side];
    const ROperand *op = &b->p->op[side];
    int axis = own_axis(side);
    RRegion x;
    if (!rtile_region(b->p, side, (RRegionTile){.tile = r->block.extent[axis]}, &x)) return false;
    double tile = (double)r->block.extent[axis] * (double)b->p->extent[AX_K];
    if (tile < REGION_SHARED * x.lines * x.row) return false;
    if (fit_made(b, r, side)) return true;
    for (int vec = x.vec; vec > 0; vec /= 2) {
        l->vec = (uint8_t)vec;
        l->kind = LOAD_ASYNC;
        l->mover = rprog_mover(b->dev, l->kind, vec * op->bytes);
        if (l->mover >= 0) return true;
        l->kind = LOAD_STAGED;
        l->mover = rprog_mover(b->dev, l->kind, vec * op->bytes);
        bool turned = rprog_region(b->p, r, side, &x) && x.turned;    /* for matrices alone */
        if (l->mover >= 0 && !turned) return true;
    }
    return false;
}

static int ways_of(const Builder *b, int16_t unit, int side, RLoad out[OPTIONS]) {
    const RProg r = {.unit = unit};
    const ROperand *op = &b->p->op[side];
    uint8_t own = (uint8_t)own_axis(side);
    int n = 0;
    if (side >= b->p->n_operand) {
        out[0] = (RLoad){0};
        return 1;
    }
    if (b->dev->unit[r.unit].b_smem) {
        n = warpgroup_load(b->p, b->dev, &r, side, out);
        return n + warpgroup_region(b->p, b->dev, &r, side, &out[n]);
    }
    if (rprog_matrix(b->dev, &r)) {
        n = matrix_options(b, &r, side, out);
        return n + add_region(b, &r, side, &out[n]);
    }
    bool packed = rprog_packed(b->dev, &r);
    if (packed || worth_along(op, AX_K)) {
        n += add_either(b, &r, side, (Way){AX_K, AX_K}, &out[n]);
        if (!packed) n += add_either(b, &r, side, (Way){AX_K, own}, &out[n]);
    }
    if (!packed && worth_along(op, own)) n += add_either(b, &r, side, (Way){own, own}, &out[n]);
    return n + add_region(b, &r, side, &out[n]);
}

void build_load_ways(const Builder *b, int16_t unit, int side, LoadWays *out) {
    out->n = ways_of(b, unit, side, out->way);
}

bool build_take_loads(const LoadWays *ways, int n, int number, RProg *r) {
    for (; n > 0 && ways[n - 1].n > 0; n--) {
        r->load[n - 1] = ways[n - 1].way[number % ways[n - 1].n];
        number /= ways[n - 1].n;
    }
    return n == 0 && number == 0;
}

bool build_loads_agree(const RLoad *load) {
    const RLoad *a = &load[0], *b = &load[1];
    if (a->region && b->region) return false;
    if (a->bytes == b->bytes) return true;
    const RLoad *other = a->bytes ? b : a;
    return rprog_copies_chunks(other) && !other->region && other->layout.inner == AX_K;
}

static bool same_case(const LayoutMemo *a, const LayoutMemo *b) {
    return a->own == b->own && a->k == b->k && a->side == b->side && a->inner == b->inner &&
           a->along == b->along && a->vec == b->vec && a->elem == b->elem &&
           a->lanes_m == b->lanes_m && a->lanes_n == b->lanes_n && a->own_vec == b->own_vec &&
           a->thread_k == b->thread_k && a->fours == b->fours;
}

static size_t memo_slot(const LayoutMemo *m) {
    uint64_t h = (uint64_t)m->own * 1000003u + (uint64_t)m->k;
    const uint8_t part[] = {m->side, m->inner, m->along, m->vec, m->elem, m->lanes_m, m->lanes_n,
                            m->own_vec, m->thread_k, m->fours};
    for (size_t i = 0; i < sizeof part; i++) h = h * 31 + part[i];
    return (size_t)(hash_spread(h) >> 40) % LAYOUT_MEMO;
}

/* The layout for the load as it stands; tile bytes and conflicts depend on nothing else.  */
static bool decide_layout(Builder *b, RProg *r, int side) {
    RLoad *l = &r->load[side];
    LayoutMemo key = {
        .own = r->block.extent[own_axis(side)], .k = r->block.extent[AX_K],
        .side = (uint8_t)side, .inner = l->layout.inner, .along = l->along, .vec = l->vec,
        .elem = (uint8_t)rprog_elem(b->p, b->dev, r, side),
        .lanes_m = (uint8_t)count_along(&r->warp, &r->thread, AX_M),
        .lanes_n = (uint8_t)count_along(&r->warp, &r->thread, AX_N),
        .own_vec = side ? r->vec_n : r->vec_m, .thread_k = (uint8_t)r->thread.extent[AX_K],
        .fours = rprog_reads_fours(r, side), .used = true};
    if (rprog_matrix(b->dev, r)) {        /* beyond so many rows the patterns only repeat */
        enum { ROWS = 64 };
        int32_t *rows = l->layout.inner == AX_K ? &key.own : &key.k;
        if (l->along == l->layout.inner && *rows > ROWS) *rows = ROWS;
        key.lanes_m = key.lanes_n = key.own_vec = 0;
    }
    LayoutMemo *m = &b->memo[memo_slot(&key)];
    if (!m->used || !same_case(m, &key)) {
        key.found = rprog_choose_layout(b->p, b->dev, r, side, b->samples);
        key.layout = l->layout;
        *m = key;
    }
    l->layout = m->layout;
    return m->found;
}

bool build_fit_load(Builder *b, RProg *r, int side) {
    const Problem *p = b->p;
    RLoad *l = &r->load[side];
    if (l->region) {
        bool fits = fit_region(b, r, side);
        if (!fits) b->set->rejected[REJECT_ALIGNMENT]++;
        return fits;
    }
    int bytes = p->op[side].bytes, extent = r->block.extent[l->along];
    int vec = l->vec;
    while (extent % vec) vec /= 2;
    bool neutral = p->con.red == TE_RED_SUM && p->con.product;
    if (!neutral && rprog_ragged(p, r, AX_K)) l->kind = LOAD_STAGED;
    if (vec != l->vec || l->kind != b->dev->mover[l->mover].async) {
        l->mover = rprog_mover(b->dev, l->kind, vec * bytes);
        if (l->mover < 0 && l->kind == LOAD_ASYNC) {
            l->kind = LOAD_STAGED;
            l->mover = rprog_mover(b->dev, l->kind, vec * bytes);
        }
        l->vec = (uint8_t)vec;
    }
    if (l->mover < 0 || (rprog_packed(b->dev, r) && vec < RPROG_PACKED)) {
        b->set->rejected[REJECT_MOVER]++;
        return false;
    }
    if (!decide_layout(b, r, side)) {
        b->set->rejected[REJECT_LAYOUT]++;
        return false;
    }
    return true;
}
