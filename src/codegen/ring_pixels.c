/* Operands of a ring that are copied as columns of pixels (im2col): their maps, and the copies, one
 * for each box of a step.  */
#include "codegen/blocks.h"
#include "codegen/sizes.h"

static TeExtent stride_of(Arena *a, const TeTensor *t, int dim, TeExtent elem) {
    return size_times(a, t->stride[dim], elem);
}

KernelMap pixels_map(Arena *a, const Contract *c, const Side *s) {
    enum { ANY = 16 };        /* of one point: any multiple of 16 bytes */
    const RBox *b = &s->box;
    const TeTensor *t = &c->te->tensor[s->o->access.tensor];
    TeExtent elem = size_number(s->elem);
    int last = b->rank - 1;
    KernelMap map = {.tensor = s->o->access.tensor,
                     .fixed = {.im2col = true, .type = tensor_map_type(s->o->storage, false),
                               .rank = b->rank, .swizzle = TM_SWIZZLE_NONE + s->l->layout.bits,
                               .promotion = 2, .channels = (uint32_t)(s->span / s->elem),
                               .pixels = (uint32_t)(s->extent / s->multicast)}};
    map.dim[0] = size_number(b->channels);
    for (int i = 0; i < b->pixels; i++) {
        const RPixelDim *x = &b->pixel[i];
        map.dim[i + 1] = t->shape[x->dim];
        map.stride[i] = stride_of(a, t, x->dim, elem);
        map.lower[i] = size_number(x->from);
        map.upper[i] = size_number(rprog_pixel_upper(t, x));
        map.fixed.element_stride[i + 1] = (uint32_t)x->by;
    }
    map.fixed.element_stride[0] = map.fixed.element_stride[last] = 1;
    map.dim[last] = b->image >= 0 ? t->shape[b->image] : size_number(1);
    map.stride[last - 1] = b->image >= 0
                               ? stride_of(a, t, b->image, elem)
                               : size_times(a, size_times(a, map.dim[0], elem), size_number(ANY));
    return map;
}

/* What the indices of an axis are at a position, by their numbers in the root.  */
static void decode(const Kernel *k, AxisClass axis, const char *at, const char **index) {
    const FusedAxis *x = &k->c.p->con.axis[axis];
    TeExtent count[TE_MAX_INDICES] = {{0}};
    const char *digit[TE_MAX_INDICES];
    for (int i = 0; i < x->n; i++) count[i] = k->c.root->index[x->index[i]].hi;
    text_digits(k->cg, at, count, x->n, false, digit);
    for (int i = 0; i < x->n; i++) index[x->index[i]] = digit[i];
}

static const char *moved(const Cg *cg, const char *digit, int64_t by, int64_t from) {
    const char *at = cg_text(cg, "(int)(%s)", digit);
    if (by != 1) at = cg_text(cg, "%s * %lld", at, (long long)by);
    return from == 0 ? at : cg_text(cg, "%s %c %lld", at, from < 0 ? '-' : '+',
                                    (long long)(from < 0 ? -from : from));
}

/* The channel with which a box begins that has the k of `index`, in the batch at hand: beyond all
 * of them where its k are beyond the end.  */
static const char *channel(const Kernel *k, const Side *s, int box, const char **index) {
    const Cg *cg = k->cg;
    const Access *x = &s->o->access;
    const TeTensor *t = &k->c.te->tensor[x->tensor];
    const FusedAxis *axis = &k->c.p->con.axis[AX_K], *batch = &k->c.p->con.axis[AX_B];
    const char *at = moved(cg, index[axis->index[axis->n - 1]], 1, x->sub[s->box.channel].c);
    for (int i = 0; i < batch->n; i++) {
        int64_t by = 0;
        for (int d = 0; d < t->rank; d++)
            by += x->sub[d].coef[batch->index[i]] * t->stride[d].value;
        if (by) at = cg_text(cg, "%s + %s", at, moved(cg, index[batch->index[i]], by, 0));
    }
    if (box == 0 || k->c.p->extent[AX_K] % k->c.r->block.extent[AX_K] == 0) return at;
    return cg_text(cg, "k_next + %d < K ? %s : %lld", box * s->span / s->elem, at,
                   (long long)s->box.channels);
}

/* Where the first row of the tile begins, and by how much the k of a box move all of them.  */
static void copy_column(Kernel *k, const Side *s, int box, const char *row, const char **index) {
    const Cg *cg = k->cg;
    const RBox *b = &s->box;
    const char *place = "", *image = "0", *at = "k_next";
    bool all = s->multicast > 1;
    if (box > 0) {
        at = cg_text(cg, "(k_next + %d)", box * s->span / s->elem);
        place = cg_text(cg, " + %d", box * s->box_bytes);
    }
    if (all) place = cg_text(cg, " + part * %d%s", s->box_bytes / s->multicast, place);
    decode(k, s->own, row, index);
    decode(k, AX_K, at, index);
    decode(k, AX_B, "b", index);
    cg_line(k->cg, "rl_pixels_%d%s(shared + stage * STAGE + %c_TILE%s, &map%d,", b->rank,
            all ? "_all" : "", s->id - 32, place, s->side);
    cg_line(k->cg, "          shared + BARRIERS + stage * 8,%s",
            all ? cg_text(cg, " %d,", (1 << s->multicast) - 1) : "");
    cg_line(k->cg, "          %s,", channel(k, s, box, index));
    for (int i = 0; i < b->pixels; i++) {
        const RPixelDim *d = &b->pixel[i];
        const char *first = d->own < 0 ? "0" : index[d->own];
        cg_line(k->cg, "          %s,", moved(cg, first, d->by, d->from));
    }
    const FusedAxis *own = &k->c.p->con.axis[s->own];
    for (int i = own->n - 1; i >= 0 && b->image >= 0; i--) {
        if (s->o->access.sub[b->image].coef[own->index[i]] != 0)
            image = moved(cg, index[own->index[i]], 1, 0);
    }
    cg_line(k->cg, "          %s,", image);
    for (int i = 0; i < b->pixels; i++) {
        const RPixelDim *d = &b->pixel[i];
        cg_line(k->cg, "          %s%s", d->k < 0 ? "0" : moved(cg, index[d->k], d->apart, 0),
                i + 1 < b->pixels ? "," : ");");
    }
}

void pixels_copy(Kernel *k, const Side *s) {
    const char *index[TE_MAX_INDICES], *row = s->own == AX_M ? "m0" : "n0";
    if (s->multicast > 1)
        row = cg_text(k->cg, "(%s + part * %d)", row, s->extent / s->multicast);
    for (int box = 0; box < s->boxes; box++) copy_column(k, s, box, row, index);
}
