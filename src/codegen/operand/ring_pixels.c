/* Operands of a ring that are copied as columns of pixels (im2col): their maps, and where a box of
 * a step is in them: the pixel of the tile's first row, and by how much the box's k move all rows.
 * Regions that are copied as such columns, or as boxes of the tensor.  */
#include "codegen/operand/operand.h"
#include "codegen/block/product.h"
#include "codegen/expr/sizes.h"

static TeExtent stride_of(Arena *a, const TeTensor *t, int dim, TeExtent elem) {
    return size_times(a, t->stride[dim], elem);
}

static int swizzle_of(int span) {
    int at = TM_SWIZZLE_NONE;
    while (RTILE_ACCESS << at < span) at++;
    return at;
}

/* The upper corner along dimension i: of pixels that rows begin at, or of all of a region.  */
static TeExtent upper_of(Arena *a, const Contract *c, const Side *s, int i) {
    const RPixelDim *x = &s->box.pixel[i];
    if (!s->l->region) return rprog_pixel_upper(a, c->p, &s->o->access, x);
    int64_t n = i ? s->region_traversed : s->region.extent[x->dim];
    return size_number(x->from + n - c->te->tensor[s->o->access.tensor].shape[x->dim].value);
}

KernelMap pixels_map(Arena *a, const Contract *c, const Side *s) {
    enum { ANY = 16 };        /* of one point: any multiple of 16 bytes */
    const RBox *b = &s->box;
    const TeTensor *t = &c->te->tensor[s->o->access.tensor];
    TeExtent elem = size_number(s->elem);
    int last = b->rank - 1;
    KernelMap map = {.tensor = s->o->access.tensor,
                     .fixed = {.im2col = true, .type = tensor_map_type(s->o->storage, false),
                               .rank = b->rank, .swizzle = (int)rprog_box_swizzle(&s->l->layout),
                               .promotion = 2, .channels = (uint32_t)(s->span / s->elem),
                               .pixels = (uint32_t)(s->extent / s->parts)}};
    if (s->l->region) {
        map.fixed.swizzle = swizzle_of(s->span);
        map.fixed.pixels = (uint32_t)s->region.lines;
    }
    map.dim[0] = size_number(b->channels);
    for (int i = 0; i < b->pixels; i++) {
        const RPixelDim *x = &b->pixel[i];
        map.dim[i + 1] = t->shape[x->dim];
        map.stride[i] = stride_of(a, t, x->dim, elem);
        map.lower[i] = size_number(x->from);
        map.upper[i] = upper_of(a, c, s, i);
        map.fixed.element_stride[i + 1] = s->l->region ? 1 : (uint32_t)x->by;
    }
    map.fixed.element_stride[0] = map.fixed.element_stride[last] = 1;
    map.dim[last] = b->image >= 0 ? t->shape[b->image] : size_number(1);
    map.stride[last - 1] = b->image >= 0
                               ? stride_of(a, t, b->image, elem)
                               : size_times(a, size_times(a, map.dim[0], elem), size_number(ANY));
    return map;
}

/* What the indices of an axis are at a position, by their numbers in the root.  */
static void decode(const Kernel *k, AxisClass axis, Ir at, Ir *index) {
    const FusedAxis *x = &k->c->p->con.axis[axis];
    TeExtent count[TE_MAX_INDICES] = {{0}};
    Ir digit[TE_MAX_INDICES];
    for (int i = 0; i < x->n; i++) count[i] = k->c->root->index[x->index[i]].hi;
    place_digits(k->cg, at, count, x->n, false, digit);
    for (int i = 0; i < x->n; i++) index[x->index[i]] = ir_as(k->cg, IR_I32, digit[i]);
}

static Ir moved(const Cg *cg, Ir digit, int64_t by, int64_t from) {
    return ir_add_n(cg, ir_mul_n(cg, digit, by), from);
}

/* The channel with which a box begins that has the k of `index`, in the batch at hand: beyond all
 * of them where its k are beyond the end.  */
static Ir channel(const Kernel *k, const Side *s, const PixelsAt *at, const Ir *index) {
    const Cg *cg = k->cg;
    const Access *x = &s->o->access;
    const TeTensor *t = &k->c->te->tensor[x->tensor];
    const FusedAxis *axis = &k->c->p->con.axis[AX_K], *batch = &k->c->p->con.axis[AX_B];
    Ir first = ir_add_n(cg, index[axis->index[axis->n - 1]], x->sub[s->box.channel].c);
    for (int i = 0; i < batch->n; i++) {
        int64_t by = 0;
        for (int d = 0; d < t->rank; d++)
            by += x->sub[d].coef[batch->index[i]] * t->stride[d].value;
        if (by) first = ir_add(cg, first, ir_mul_n(cg, index[batch->index[i]], by));
    }
    if (at->first || k->c->p->extent[AX_K] % k->c->r->block.extent[AX_K] == 0) return first;
    Ir inside = ir_lt(cg, at->k, product_extent(k, AX_K));
    return ir_select(cg, inside, first, ir_int(cg, s->box.channels));
}

/* The image that the tile's first row is of.  */
static Ir image_of(const Kernel *k, const Side *s, const Ir *index) {
    const FusedAxis *own = &k->c->p->con.axis[s->own];
    for (int i = 0; i < own->n && s->box.image >= 0; i++) {
        if (s->o->access.sub[s->box.image].coef[own->index[i]] != 0) return index[own->index[i]];
    }
    return ir_int(k->cg, 0);
}

void pixels_box(const Kernel *k, const Side *s, const PixelsAt *at, IrBox *x) {
    const Cg *cg = k->cg;
    const RBox *b = &s->box;
    Ir index[TE_MAX_INDICES];
    decode(k, s->own, at->row, index);
    decode(k, AX_K, at->k, index);
    decode(k, AX_B, k->var.b, index);
    x->at[0] = channel(k, s, at, index);
    x->at[b->rank - 1] = image_of(k, s, index);
    x->offsets = b->pixels;
    for (int i = 0; i < b->pixels; i++) {
        const RPixelDim *d = &b->pixel[i];
        Ir zero = ir_int(cg, 0);
        x->at[i + 1] = moved(cg, d->own < 0 ? zero : index[d->own], d->by, d->from);
        x->offset[i] = d->k < 0 ? zero : moved(cg, index[d->k], d->apart, 0);
    }
}

void pixels_plane(const Kernel *k, const Side *s, int plane, IrBox *x) {
    const Cg *cg = k->cg;
    const RBox *b = &s->box;
    Ir index[TE_MAX_INDICES];
    decode(k, s->own, product_loads_from(k, s), index);
    x->at[0] = ir_int(cg, plane * s->span / s->elem);
    x->at[b->rank - 1] = image_of(k, s, index);
    x->offsets = b->pixels;
    for (int i = 0; i < b->pixels; i++) {
        const RPixelDim *d = &b->pixel[i];
        x->at[i + 1] = i ? moved(cg, index[d->own], d->by, d->from) : ir_int(cg, d->from);
        x->offset[i] = ir_int(cg, 0);
    }
}

KernelMap region_map(Arena *a, const Contract *c, const Side *s) {
    const TeTensor *t = &c->te->tensor[s->o->access.tensor];
    TeExtent elem = size_number(s->elem);
    KernelMap map = {.tensor = s->o->access.tensor,
                     .fixed = {.type = tensor_map_type(s->o->storage, false), .rank = t->rank,
                               .swizzle = swizzle_of(s->span), .promotion = 2}};
    for (int i = 0; i < t->rank; i++) {
        int d = t->rank - 1 - i;
        map.dim[i] = t->shape[d];
        map.fixed.element_stride[i] = 1;
        map.fixed.box[i] = (uint32_t)(i ? s->region.extent[d] : s->span / s->elem);
        if (i > 0) map.stride[i - 1] = stride_of(a, t, d, elem);
    }
    return map;
}

void region_plane(const Kernel *k, const Side *s, int number, IrBox *x) {
    const Cg *cg = k->cg;
    const FusedAxis *own = &k->c->p->con.axis[s->own];
    const AxisDigit *last = &own->digit[own->n_digit - 1];
    int parts = s->region.parts, plane = number / parts, rows = s->extent / parts;
    Ir index[TE_MAX_INDICES];
    decode(k, s->own, ir_add_n(cg, product_loads_from(k, s), number % parts * rows), index);
    for (int i = 0; i < last->n; i++)     /* of which a tile has all values */
        index[own->index[last->first + i]] = ir_int(cg, 0);
    x->at[0] = ir_int(cg, plane * s->span / s->elem);
    for (int i = 1; i < x->rank; i++) {
        const Affine *f = &s->o->access.sub[x->rank - 1 - i];
        x->at[i] = ir_int(cg, 0);
        for (int j = 0; j < own->n; j++)
            x->at[i] = ir_add(cg, x->at[i], ir_mul_n(cg, index[own->index[j]],
                                                    f->coef[own->index[j]]));
        x->at[i] = ir_add_n(cg, x->at[i], f->c);
    }
}
