/* The referee: names the first rule that a program breaks.  */
#include "rprogram/chain.h"
#include "rprogram/matrix.h"
#include "rprogram/skeleton.h"

typedef struct {
    const SkeletonRow *s;
    const Problem *p;
    const Device *dev;
    const RProg *r;
} Case;

static const char *check_extents(const Case *c) {
    const RProg *r = c->r;
    const RTile *tiles[] = {&r->block, &r->warp, &r->thread};
    for (int i = 0; i < 3; i++) {
        for (int axis = 0; axis < RT_AXES; axis++) {
            int32_t n = tiles[i]->extent[axis];
            if (n < 1 || n > 1 << 20) return "a tile extent is not in 1..2^20";
            if (i == 0 && c->s->box) continue;
            if (axis == AX_E && c->s->chains) continue;
            if (axis >= AX_CLASSES && n != 1) return "a tile extends along an unused axis";
        }
        if (i == 0 && c->s->box) continue;
        if (tiles[i]->extent[AX_B] != 1) return "tiles do not extend along the batch axis";
    }
    return NULL;
}

static const char *check_unit(const Case *c) {
    int16_t units[8];
    int n = rprog_units(c->p, c->dev, units, 8);
    if (c->s->chains)
        return chain_fits(c->p, &c->dev->unit[c->r->unit], &c->dev->unit[c->r->unit_v])
                   ? NULL
                   : "the units do not compute a chain";
    if (rprog_matrix(c->dev, c->r)) {
        if (!c->s->products) return "only `contract` programs have matrix units";
        if (matrix_fits(c->p, &c->dev->unit[c->r->unit])) return NULL;
    }
    for (int i = 0; i < n; i++) {
        if (units[i] == c->r->unit) return NULL;
    }
    return "the unit does not compute these types";
}

/* What only programs of products have.  */
static const char *check_products(const Case *c) {
    const RProg *r = c->r;
    if (!c->dev->unit[r->unit].b_smem) {
        if (r->cluster) return "only units of warpgroups have clusters";
        if (r->grid != GRID_TILES) return "only units of warpgroups stay for several tiles";
    }
    if (c->s->products) return NULL;
    return r->tail || r->tail_blocks ? "only `contract` has a tail" : NULL;
}

static const char *check_derived(const Case *c) {
    const RProg *r = c->r;
    RProg d = *r;
    skeleton_derive(c->s, c->p, c->dev, &d);
    if (d.threads != r->threads || d.smem != r->smem || d.registers != r->registers) {
        return "derived fields do not agree with the tiles";
    }
    if (d.threads < 1 || d.threads > c->dev->limits.threads_per_block.value) {
        return "more threads than a block may have";
    }
    if (d.smem > c->dev->limits.smem_per_block_optin.value) {
        return "more shared memory than a block may have";
    }
    if (d.registers > c->dev->limits.registers_per_thread.value) {
        return "more registers than a thread may have";
    }
    if (d.blocks_per_sm < 1) return "not one block fits an SM";
    if (r->blocks_per_sm < 1 || r->blocks_per_sm > d.blocks_per_sm) {
        return "more blocks per SM promised than fit";
    }
    return NULL;
}

const char *rprog_check_skeleton(const Problem *p, const RProg *r) {
    return skeleton_takes(rprog_skeleton(r->skeleton), p) ? NULL
                                                               : "the skeleton does not fit the"
                                                                 " statement";
}

const char *rprog_check(const Problem *p, const Device *dev, const RProg *r) {
    Case c = {rprog_skeleton(r->skeleton), p, dev, r};
    const char *why = rprog_check_skeleton(p, r);
    if (why) return why;
    if (r->unit < 0 || r->unit >= dev->n_unit) return "no such unit";
    if ((why = check_products(&c)) || (why = check_extents(&c)) || (why = check_unit(&c)))
        return why;
    if ((why = rprog_meeting_check(p, r)) || (why = c.s->check(p, dev, r))) return why;
    return check_derived(&c);
}
