/* Rules of programs whose unit multiplies matrices.  */
#include "rprogram/matrix.h"

enum { BODY_MAX = 2048 }; /* instructions of the unit in a step */

RTile matrix_tile(const ComputeUnit *u, bool swapped) {
    RTile t;
    for (int axis = 0; axis < RT_AXES; axis++) t.extent[axis] = 1;
    FragShape s = fragment_shape(u);
    t.extent[AX_M] = swapped ? s.n : s.m;
    t.extent[AX_N] = swapped ? s.m : s.n;
    t.extent[AX_K] = s.k;
    return t;
}

static const char *check_bytes(const Problem *p, const Device *dev, const RProg *r, int side) {
    const RLoad *l = &r->load[side], *other = &r->load[!side];
    if (!l->bytes) return NULL;
    if (!matrix_keeps_bytes(p, dev, r, side)) {
        return "the unit's fragments are not converted from such bytes";
    }
    if (l->region || l->along != AX_K || l->layout.inner != AX_K) {
        return "bytes that fragments convert lie along k";
    }
    if (other->bytes) return NULL;
    if (other->region || other->layout.inner != AX_K) {
        return "the operand beside bytes lies along k";
    }
    return NULL;
}

static const char *check_fragments(const Problem *p, const Device *dev, const RProg *r) {
    for (int side = 0; side < p->n_operand; side++) {
        int elem = rprog_elem(p, dev, r, side);
        const char *why = check_bytes(p, dev, r, side);
        if (why) return why;
        if (r->load[side].region || rprog_ldmatrix(p, dev, r, side)) continue;
        if (rprog_reads_fours(r, side)) continue;
        if (elem == 1) return "fragments of bytes are read along k";
        if (fragment_access(dev, r, side) * elem < 4) {
            return "the device cannot read these fragments";
        }
    }
    return NULL;
}

const char *matrix_check(const Problem *p, const Device *dev, const RProg *r) {
    const ComputeUnit *u = &dev->unit[r->unit];
    RTile t = matrix_tile(u, r->swapped);
    if (!matrix_takes_as(p, u, r->swapped)) return "the unit takes the operands in the other order";
    int64_t body = rprog_products(p, dev, r);
    for (int axis = AX_M; axis <= AX_K; axis++) {
        if (r->thread.extent[axis] != t.extent[axis]) return "thread is not the unit's tile";
        int along = count_along(&r->warp, &r->thread, axis);
        if (!along) return "the warp tile is not a multiple of the unit's";
        body *= along < BODY_MAX ? along : BODY_MAX;
    }
    if (body > BODY_MAX) return "the unrolled body is too long";
    if (r->unroll != r->warp.extent[AX_K]) return "unroll is not warp.k";
    Fragment f = rprog_results(dev, r);
    if (r->vec_m != fragment_run(&f, FRAG_ROW) || r->vec_n != fragment_run(&f, FRAG_COL)) {
        return "vec is not what a lane of the unit holds";
    }
    if (r->via != VIA_DIRECT && r->via != VIA_SHARED &&
        (r->via != VIA_BOXES || !dev->unit[r->unit].b_smem)) {
        return "unknown way to store";
    }
    int most = matrix_promoted_most(&dev->unit[r->unit]);
    if (rprog_promotes(p, dev, r) && r->warp.extent[AX_K] > most)
        return "partial sums of more than 128 terms";
    const char *why = matrix_check_scales(p, dev, r);
    if (why) return why;
    return check_fragments(p, dev, r);
}
