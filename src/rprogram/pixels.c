/* Operands that TMA copies as columns of pixels (im2col): rows of an implicit GEMM, each of which
 * is a place in an image where a window begins, with the channels of a pixel side by side.  So are
 * rows in general whose digits are several dimensions of a tensor.  */
#include "rprogram/extents.h"
#include "rprogram/matrix.h"
#include "te/tree/arith.h"
#include "te/tree/tree.h"

typedef struct {
    const Problem *p;
    const Access *x;
    const FusedAxis *own, *k, *batch;
    const TeStmt *root;
    int64_t bytes;            /* of an element */
} Rows;

/* The only index of an axis that moves dimension d; -1: none; -2: there are several.  */
static int moves(const Rows *r, const FusedAxis *axis, int d) {
    int found = -1;
    for (int i = 0; i < axis->n; i++) {
        int index = axis->index[i];
        if (r->x->sub[d].coef[index] == 0 || te_extent_is_one(&r->root->index[index].hi)) continue;
        if (found >= 0) return -2;
        found = index;
    }
    return found;
}

static int64_t extent(const Rows *r, int index) {
    return index < 0 ? 1 : r->root->index[index].hi.value;
}

static bool varies(const Rows *r, int index) {
    return index >= 0 && r->root->index[index].hi.expr;
}

/* Channels: neighbours in memory, in whole chunks of 16 bytes.  */
static bool is_channel(const Rows *r, int d, int own, int k) {
    const TeTensor *t = &r->p->te->tensor[r->x->tensor];
    const Affine *f = &r->x->sub[d];
    return te_extent_is_one(&t->stride[d]) && own == -1 && k == r->k->index[r->k->n - 1] &&
           f->coef[k] == 1 && f->c >= 0 && !r->x->guard[d] && !varies(r, k) &&
           !t->shape[d].expr && extent(r, k) * r->bytes % RTILE_ACCESS == 0;
}

/* Groups of channels, which the batch tells apart: more channels, at its stride.  */
static bool add_group(const Rows *r, int d, RBox *out) {
    const TeTensor *t = &r->p->te->tensor[r->x->tensor];
    if (r->x->guard[d] || t->shape[d].expr || t->stride[d].expr) return false;
    out->channels += (t->shape[d].value - 1) * t->stride[d].value;
    return true;
}

/* An image as a whole, of any number of them.  */
static bool is_image(const Rows *r, int d, int own, int k) {
    const Affine *f = &r->x->sub[d];
    return own >= 0 && k == -1 && f->coef[own] == 1 && f->c == 0 && !r->x->guard[d];
}

/* Where an index stands in its axis; -1: nowhere.  */
static int place(const FusedAxis *axis, int index) {
    int at = axis->n - 1;
    while (at >= 0 && axis->index[at] != index) at--;
    return at;
}

/* Pixels in order of the rows, those that no row moves last.  */
static bool add_pixel(const Rows *r, int d, int own, int k, RBox *out) {
    const Affine *f = &r->x->sub[d];
    RPixelDim x = {.dim = d, .own = own, .k = k, .by = own >= 0 ? f->coef[own] : 1,
                   .apart = k >= 0 ? f->coef[k] : 0, .from = f->c};
    int at = out->pixels;
    if (varies(r, k) || at == RBOX_RANK - 2) return false;
    if (x.by < 1 || x.by > BOX_STRIDE || x.apart < 0) return false;
    for (; at > 0 && place(r->own, own) > place(r->own, out->pixel[at - 1].own); at--)
        out->pixel[at] = out->pixel[at - 1];
    out->pixel[at] = x;
    out->pixels++;
    return true;
}

/* The most that an index of k is in a step, the last of which may go beyond the end.  */
static int64_t most(const Rows *r, int index) {
    int64_t below = 1, step = BOX_SPAN / r->bytes;
    int64_t last = ceil_div(r->p->extent[AX_K], step) * step - 1;
    int at = index < 0 ? -1 : r->k->n - 1;
    for (; at >= 0 && r->k->index[at] != index; at--) below *= extent(r, r->k->index[at]);
    return at > 0 ? extent(r, index) - 1 : at == 0 ? last / below : 0;
}

static TeExtent count_of(const TeStmt *root, const RPixelDim *x) {
    return x->own < 0 ? size_number(1) : root->index[x->own].hi;
}

/* Is the upper corner, whatever the sizes, from -limit on and below limit?  */
static bool corner_fits(const Rows *r, const RPixelDim *x, int64_t limit) {
    const TeExtent *shape = &r->p->te->tensor[r->x->tensor].shape[x->dim];
    TeExtent count = count_of(r->root, x);
    if (x->by == 1 && te_extent_same(&count, shape)) return true;      /* it is x->from */
    int64_t least = count.expr ? count.min : count.value, smallest = shape->expr ? shape->min
                                                                                 : shape->value;
    int64_t at = x->from + 1 - x->by;
    return at + least * x->by - shape->value >= -limit &&
           at + count.value * x->by - smallest < limit;
}

/* Corners and offsets have 16 bits for all dimensions of pixels together (CUDA driver API,
 * cuTensorMapEncodeIm2col).  */
static int64_t corner_limit(int pixels) {
    return (int64_t)1 << (pixels == 1 ? 15 : pixels == 2 ? 7 : 4);
}

static bool fits(const Rows *r, const RBox *b) {
    const TeTensor *t = &r->p->te->tensor[r->x->tensor];
    int64_t limit = corner_limit(b->pixels);
    for (int i = 0; i < b->pixels; i++) {
        const RPixelDim *x = &b->pixel[i];
        int64_t stride = te_extent_divisor(&t->stride[x->dim]);
        if (x->from < -limit || x->from >= limit || !corner_fits(r, x, limit)) return false;
        if (x->apart >= 2 * limit || x->apart * most(r, x->k) >= 2 * limit) return false;
        if (stride < b->channels) return false;       /* of another pixel */
    }
    return true;
}

/* As many bytes as lie within the channels of one place of the window, whatever begins there.  */
static int span_of(const Rows *r) {
    return (int)gcd64(extent(r, r->k->index[r->k->n - 1]) * r->bytes, BOX_SPAN);
}

TeExtent rprog_pixel_upper(Arena *a, const Problem *p, const Access *of, const RPixelDim *x) {
    const TeTensor *t = &p->te->tensor[of->tensor];
    TeExtent span = size_times(a, count_of(&p->te->stmt[p->con.stmt], x), size_number(x->by));
    TeExtent less = size_minus(a, span, t->shape[x->dim]);
    return size_plus(a, less, size_number(x->from + 1 - x->by));
}

static int moving(const Rows *r, const FusedAxis *axis) {
    int n = 0;
    for (int i = 0; i < axis->n; i++) n += !te_extent_is_one(&r->root->index[axis->index[i]].hi);
    return n;
}

/* Does each index move one dimension?  */
static bool all_move(const Rows *r, const RBox *b) {
    int own = b->image >= 0, k = b->channel >= 0;
    for (int i = 0; i < b->pixels; i++) {
        own += b->pixel[i].own >= 0;
        k += b->pixel[i].k >= 0;
    }
    return own == moving(r, r->own) && k == moving(r, r->k);
}

bool rprog_pixels(const Problem *p, int side, RBox *out) {
    const ROperand *op = &p->op[side];
    const Operand *o = &p->con.operand[side];
    Rows r = {p, &o->access, &p->con.axis[own_axis(side)], &p->con.axis[AX_K],
              &p->con.axis[AX_B], NULL, op->bytes};
    *out = (RBox){.inner = AX_K, .channel = -1, .image = -1};
    if (!p->te || r.k->n == 0 || r.own->n == 0) return false;
    if (op->vec_k * op->bytes < RTILE_ACCESS || op->stride_k != 1) return false;
    const TeTensor *t = &p->te->tensor[r.x->tensor];
    r.root = &p->te->stmt[p->con.stmt];
    int outermost = 0;
    while (outermost < r.own->n - 1 && te_extent_is_one(&r.root->index[r.own->index[outermost]].hi))
        outermost++;
    for (int d = 0; d < t->rank; d++) {
        int own = moves(&r, r.own, d), k = moves(&r, r.k, d);
        bool group = moves(&r, r.batch, d) != -1;
        if (own == -2 || k == -2) return false;
        if (out->channel < 0 && k >= 0 && is_channel(&r, d, own, k)) {
            out->channel = d;
            out->channels += t->shape[d].value;
            continue;
        }
        if (group && own == -1 && k == -1 && add_group(&r, d, out)) continue;
        if (group) return false;
        int64_t stride = te_extent_divisor(&t->stride[d]);
        if (stride < 1 || stride * op->bytes % RTILE_ACCESS) return false;
        if (own == r.own->index[outermost] && is_image(&r, d, own, k)) out->image = d;
        else if (te_extent_is_one(&t->shape[d]) && !r.x->guard[d]) continue;
        else if (!add_pixel(&r, d, own, k, out)) return false;
    }
    out->rank = out->pixels + 2;
    out->span = span_of(&r);
    return out->channel >= 0 && out->pixels > 0 && all_move(&r, out) && fits(&r, out);
}

/* Columns that the traversal has of a line, or rows that it has of an image.  */
static int64_t traversed(const RRegion *x, const Problem *p, const RPixelDim *d, bool rows) {
    if (!rows) return x->extent[d->dim];
    if (x->period > 0) return x->period;
    const TeStmt *root = &p->te->stmt[p->con.stmt];
    int64_t reach = d->k < 0 ? 0 : d->apart * (root->index[d->k].hi.value - 1);
    return (x->out - 1) * d->by + reach + 1;
}

/* Pixels of images one behind the other, in lines and rows as the region has them: the copy goes
 * through a box with the borders, by steps of one.  */
bool rprog_region_pixels(const Problem *p, int side, const RRegion *x, RBox *out, int64_t *rows) {
    enum { LINES = 2 };       /* dimensions of a pixel */
    const FusedAxis *own = &p->con.axis[own_axis(side)];
    int64_t limit = corner_limit(LINES);
    if (!rprog_pixels(p, side, out) || out->pixels != LINES || x->parts > 1) return false;
    if (out->pixel[0].dim < out->pixel[1].dim) return false;      /* down the columns */
    for (int i = 0; i < LINES; i++) {
        const RPixelDim *d = &out->pixel[i];
        int64_t shape = p->te->tensor[p->con.operand[side].access.tensor].shape[d->dim].value;
        int64_t upper = d->from + traversed(x, p, d, i == 1) - shape;
        if (upper < -limit || upper >= limit) return false;
        if (d->own != own->index[own->n - 1 - i]) return false;
    }
    if (x->period > 0 && (x->rows != out->pixel[1].dim || x->image != out->image)) return false;
    *rows = traversed(x, p, &out->pixel[1], true);
    return true;
}
