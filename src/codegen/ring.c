#include "codegen/blocks.h"
#include "codegen/sizes.h"

/* A ring of stages that is filled by boxes: how they lie there, the tensor maps that describe
 * them, and the copies.  */

enum { SPAN = 128, UNIT = 16, LINES = 8 };   /* bytes of a step's row; of a chunk; of an atom */

/* Boxes of an operand that registers are made of lie side by side along k.  */
static void raw_facts(const Contract *c, const Device *dev, Side *s) {
    int k = c->r->block.extent[AX_K];
    rprog_raw(c->p, s->side, k, &s->raw);
    s->box = s->raw.box;
    s->span = rprog_raw_span(c->r, s->side);
    s->boxes = k / s->raw.pack * s->elem / s->span;
    s->box_bytes = s->span * s->extent;
    s->fragment = rprog_raw_fragment(dev, c->r);
}

void ring_facts(const Contract *c, const Device *dev, Side *s) {
    int own = s->extent, k = c->r->block.extent[AX_K], tile = c->r->thread.extent[s->own];
    int each = SPAN / s->elem, slice = c->r->thread.extent[AX_K];
    s->multicast = s->side == rprog_cluster_side(c->r) ? rprog_cluster(c->r) : 1;
    if (s->l->raw) {
        raw_facts(c, dev, s);
        return;
    }
    rprog_box(c->p, s->side, &s->box);
    s->span = s->box.span;
    s->boxes = s->inner_k ? SPAN / s->span : own / each / s->multicast;
    s->box_bytes = s->inner_k ? s->span * own : SPAN * k;
    s->stride = LINES * s->span;
    if (!s->inner_k) s->leading = s->box_bytes;
    else s->leading = s->span == UNIT ? s->box_bytes : dev->unit[c->r->unit].alignment;
    s->on = s->inner_k ? slice * s->elem : slice * SPAN;
    s->down = s->inner_k ? tile * s->span : tile / each * s->box_bytes;
}

/* ---- tensor maps ---- */

/* Where the elements of a box are in memory.  */
KernelMap ring_map(Arena *a, const Problem *p, const Access *x, const RBox *box) {
    TeDtype type = p->te->tensor[x->tensor].dtype;
    TeExtent elem = size_number(te_dtype_bytes(type)), first;
    KernelMap map = {.tensor = x->tensor,
                     .offset = size_times(a, size_offset(a, p->te, x), elem),
                     .fixed = {.type = tensor_map_type(type, false), .rank = box->rank}};
    for (int i = 0; i < box->rank; i++) {
        const RBoxDim *d = &box->dim[i];
        map.dim[i] = rprog_box_extent(a, p, d);
        map.fixed.element_stride[i] = 1;
        if (i == 0) continue;
        if (d->n > 0) first = size_stride(a, p->te, x, rprog_box_index(p, d));
        else first = size_times(a, map.dim[0], size_number(UNIT));        /* of one point: any */
        map.stride[i - 1] = size_times(a, first, elem);
    }
    return map;
}

/* k that share an element of the tensor.  */
static int packed(const Side *s) { return s->l->raw ? s->raw.pack : 1; }

static KernelMap map_of(Arena *a, const Contract *c, const Side *s) {
    int inner = s->span / s->elem;
    KernelMap map = ring_map(a, c->p, s->l->raw ? &s->raw.access : &s->o->access, &s->box);
    map.fixed.swizzle = TM_SWIZZLE_NONE + s->l->layout.bits;
    map.fixed.promotion = 2;
    for (int i = 0; i < s->box.rank; i++) {
        const RBoxDim *d = &s->box.dim[i];
        int rows = d->axis == AX_B ? 1 : c->r->block.extent[d->axis];
        if (d->axis == s->own) rows /= s->multicast;
        map.fixed.box[i] = (uint32_t)(i ? rows : inner);
    }
    if (packed(s) > 1) map.dim[0] = size_number(c->p->extent[AX_K] / packed(s));
    return map;
}

void ring_maps(Arena *a, const Contract *c, KernelLaunch *out) {
    bool boxes = c->r->via == VIA_BOXES;
    KernelMap *map = ARENA_ARRAY(a, KernelMap, 3);
    out->cluster[0] = rprog_cluster(c->r);
    for (int side = 0; side < 2; side++) {
        const Side *s = &c->side[side];
        map[side] = s->box.pixels > 0 ? pixels_map(a, c, s) : map_of(a, c, s);
    }
    if (boxes) ring_store_map(a, c, &map[2]);
    out->map = map;
    out->n_map = boxes ? 3 : 2;
}

void ring_fetch(Kernel *k, const Node *n) {
    if (!n->from && rprog_cluster(k->c.r) > 1)
        cg_line(k->cg, "const int part = rl_cluster_rank();");
    for (int i = 0; i < k->l->launch.n_map && !n->to; i++) {
        const char *when = k->c.varying_k && i < 2 ? "if (steps > 0) " : "";  /* else it is none */
        cg_line(k->cg, "%srl_map_fetch(&map%d);", when, i);
    }
}

/* ---- stages ---- */

/* Counted, not divided out of the number of the step: that would be done in every one.  */
void ring_begin(Kernel *k, bool uses) {
    bool stays = k->c.stays;
    cg_line(k->cg, "unsigned stage = %s, phase = %s%s;", stays ? "from % STAGES" : "0",
            stays ? "from / STAGES & 1" : "0", uses ? ", last = 0" : "");
}

const char *ring_barrier(const Kernel *k, int id) {
    return cg_text(k->cg, "shared + BARRIERS + (%d * STAGES + stage) * 8", id);
}

void ring_next(Kernel *k, bool uses) {
    if (uses) cg_line(k->cg, "last = %s;", ring_barrier(k, RING_EMPTY));
    cg_line(k->cg, "if (++stage == STAGES) stage = 0, phase ^= 1;");
}

/* ---- copies ---- */

const char *ring_batch(const Kernel *k, const RBoxDim *d) {
    const Cg *cg = k->cg;
    if (d->axis != AX_B) return "0";
    TeExtent below = rprog_box_below(cg->arena, k->c.p, d);
    const char *b = te_extent_is_one(&below) ? "b" : cg_text(cg, "b / %s", text_number(cg, below));
    return cg_text(cg, "%s %% %s", b, text_number(cg, rprog_box_extent(cg->arena, k->c.p, d)));
}

/* Coordinate along dimension i of box number `box`.  */
static const char *coordinate(const Kernel *k, const Side *s, int i, int box) {
    const Cg *cg = k->cg;
    const RBoxDim *d = &s->box.dim[i];
    if (d->axis == AX_K) {
        const char *at = packed(s) > 1 ? cg_text(cg, "k_next / %d", packed(s)) : "k_next";
        return i == 0 && box > 0 ? cg_text(cg, "%s + %d", at, box * s->span / s->elem) : at;
    }
    if (d->axis != AX_B) {
        const char *at = s->own == AX_M ? "m0" : "n0";
        if (s->multicast > 1) at = cg_text(cg, "%s + part * %d", at, s->extent / s->multicast);
        return i == 0 && box > 0 ? cg_text(cg, "%s + %d", at, box * SPAN / s->elem) : at;
    }
    return ring_batch(k, d);
}

static void copy_box(Kernel *k, const Side *s, int box) {
    const Cg *cg = k->cg;
    const char *at = "";
    for (int i = 0; i < s->box.rank; i++)
        at = cg_text(cg, "%s, %s", at, coordinate(k, s, i, box));
    const char *place = box > 0 ? cg_text(cg, " + %d", box * s->box_bytes) : "", *to = "";
    if (s->multicast > 1) {
        int part = s->inner_k ? s->box_bytes / s->multicast : s->boxes * s->box_bytes;
        place = cg_text(cg, " + part * %d%s", part, place);
        to = "_all";
    }
    cg_line(k->cg, "rl_tile_%d%s(shared + stage * STAGE + %c_TILE%s, &map%d,", s->box.rank,
            to, s->id - 32, place, s->side);
    if (s->multicast > 1) at = cg_text(cg, ", %d%s", (1 << s->multicast) - 1, at);
    cg_line(k->cg, "          shared + BARRIERS + stage * 8%s);", at);
}

void ring_copy(Kernel *k, int side) {
    const Side *s = &k->c.side[side];
    if (s->box.pixels > 0) pixels_copy(k, s);
    else for (int box = 0; box < s->boxes; box++) copy_box(k, s, box);
}
