/* How the chunks of a load find their places in memory, and tables that keep them.  */
#include "rprogram/extents.h"
#include "rprogram/matrix.h"
#include "rprogram/skeleton.h"
#include "te/tree/arith.h"
#include "te/tree/tree.h"

int64_t rprog_stride(const Affine *f, const FusedAxis *axis, int digit) {
    const AxisDigit *d = &axis->digit[digit];
    return f->coef[axis->index[d->first + d->n - 1]];
}

static const TeStmt *root_of(const Problem *p) { return &p->te->stmt[p->con.stmt]; }

/* Are a digit and the one before neighbours in memory at all sizes?  */
static bool are_neighbours(const Problem *p, const Access *x, const FusedAxis *axis, int digit,
                           const AxisDigit *before) {
    int outer = axis->index[before->first + before->n - 1];
    return access_as_one(p->te, root_of(p), x, outer, axis->index[axis->digit[digit].first]);
}

/* The axis with digits merged that this access need not tell apart: neighbours in memory, in no
 * guarded subscript.  */
static void merge(const Problem *p, const Access *x, const FusedAxis *axis, FusedAxis *out) {
    *out = *axis;
    out->n_digit = 0;
    for (int i = 0; i < axis->n_digit; i++) {
        AxisDigit *last = out->n_digit > 0 ? &out->digit[out->n_digit - 1] : NULL;
        bool one = last && are_neighbours(p, x, axis, i, last);
        for (int d = 0; d < p->te->tensor[x->tensor].rank && one; d++) {
            one = !x->guard[d] || (rprog_stride(&x->sub[d], axis, i) == 0 &&
                                   rprog_stride(&x->sub[d], out, out->n_digit - 1) == 0);
        }
        if (!one) {
            out->digit[out->n_digit++] = axis->digit[i];
            continue;
        }
        last->n += axis->digit[i].n;
        last->extent *= axis->digit[i].extent;
    }
}

/* Dimensions stand in order of their strides, as a tensor map wants them.  */
bool rprog_box_rows(const Problem *p, const Access *x, RBox *out) {
    enum { WHOLE = 64 };      /* rows: what warps store of an instruction is a part of so many */
    FusedAxis f;
    merge(p, x, &p->con.axis[AX_M], &f);
    int64_t whole = 1;
    if (f.n_digit <= 1 || access_varies(root_of(p), &f, 0, f.n))
        return rprog_box_dims(p, x, AX_M, out);
    for (int i = f.n_digit - 1; i > 0 && power_of_two(f.digit[i].extent); i--)
        whole *= f.digit[i].extent;
    for (int i = f.n_digit - 1; i >= 0; i--) {
        const AxisDigit *d = &f.digit[i];
        int64_t stride = rprog_stride(&x->offset, &f, i);
        int at = out->rank++;
        if (stride < 1 || at == RBOX_RANK) return false;
        for (; at > 0 && out->dim[at - 1].axis == AX_M && out->dim[at - 1].stride > stride; at--)
            out->dim[at] = out->dim[at - 1];
        out->dim[at] = (RBoxDim){AX_M, d->first, d->n, d->extent, stride};
    }
    return whole % WHOLE == 0;
}

int rprog_box_part(const RBox *box, int i, int rows) {
    int64_t below = 1;
    bool outer = true;
    for (int j = 0; j < box->rank; j++) {
        const RBoxDim *d = &box->dim[j];
        if (d->axis == AX_M && d->first > box->dim[i].first) below *= d->extent;
        outer &= d->axis != AX_M || d->first >= box->dim[i].first;
    }
    int64_t n = rows > below ? rows / below : 1;
    return (int)(outer || n < box->dim[i].extent ? n : box->dim[i].extent);
}

bool rprog_box_dims(const Problem *p, const Access *x, AxisClass axis, RBox *out) {
    FusedAxis f;
    merge(p, x, &p->con.axis[axis], &f);
    if (axis != AX_B && f.n_digit > 1) return false;
    if (axis != AX_B && f.n_digit == 0) {
        out->dim[out->rank++] = (RBoxDim){axis, 0, 0, 1, 0};
        return true;
    }
    for (int i = f.n_digit - 1; i >= 0; i--) {
        int64_t stride = rprog_stride(&x->offset, &f, i);
        if (axis == AX_B && stride == 0) continue;
        if (stride < 1 || out->rank == RBOX_RANK) return false;
        const AxisDigit *d = &f.digit[i];
        out->dim[out->rank++] = (RBoxDim){axis, d->first, d->n, d->extent, stride};
    }
    return true;
}

bool rprog_box_aligned(const Problem *p, const Access *x, const RBox *box) {
    int64_t divisor = x->c_divisor;
    for (int i = 1; i < box->rank; i++) {
        const RBoxDim *d = &box->dim[i];
        if (d->n > 0) divisor = gcd64(divisor, x->divisor[rprog_box_index(p, d)]);
    }
    return divisor * te_dtype_bytes(p->te->tensor[x->tensor].dtype) % RTILE_ACCESS == 0;
}

TeExtent rprog_box_extent(Arena *a, const Problem *p, const RBoxDim *d) {
    return size_product(a, root_of(p), p->con.axis[d->axis].index + d->first, d->n);
}

int rprog_box_index(const Problem *p, const RBoxDim *d) {
    return p->con.axis[d->axis].index[d->first + d->n - 1];
}

TeExtent rprog_box_below(Arena *a, const Problem *p, const RBoxDim *d) {
    const FusedAxis *axis = &p->con.axis[d->axis];
    int first = d->first + d->n;
    return size_product(a, root_of(p), axis->index + first, axis->n - first);
}

/* Is dimension `dim` of the tensor the index of d and nothing else?  What leaves it then leaves a
 * box of the tensor, for which a copy writes zeros, as the guard does.  Of static sizes: others
 * might have a tensor that goes on behind the axis.  */
static bool is_alone(const Problem *p, const Access *x, int dim, const RBoxDim *d) {
    const TeTensor *t = &p->te->tensor[x->tensor];
    int index = rprog_box_index(p, d);
    bool alone = d->n == 1 && x->sub[dim].coef[index] == 1 && x->sub[dim].c == 0 &&
                 !t->shape[dim].expr && !root_of(p)->index[index].hi.expr;
    for (int i = 0; i < root_of(p)->n_index && alone; i++)
        alone = i == index || x->sub[dim].coef[i] == 0;
    for (int e = 0; e < t->rank && alone; e++) alone = e == dim || x->sub[e].coef[index] == 0;
    return alone;
}

TeExtent rprog_box_bound(Arena *a, const Problem *p, const Access *x, const RBoxDim *d) {
    const TeTensor *t = &p->te->tensor[x->tensor];
    for (int dim = 0; dim < t->rank; dim++) {
        if (x->guard[dim] && is_alone(p, x, dim, d)) return t->shape[dim];
    }
    return rprog_box_extent(a, p, d);
}

/* Do the ends of the box test what the guards do?  */
static bool bounds_guards(const Problem *p, const Access *x, const RBox *box) {
    bool bounded = true;
    for (int dim = 0; dim < p->te->tensor[x->tensor].rank && bounded; dim++) {
        bounded = !x->guard[dim];
        for (int i = 0; i < box->rank && !bounded; i++)
            bounded = is_alone(p, x, dim, &box->dim[i]);
    }
    return bounded;
}

static bool tile_box(const Problem *p, int side, RBox *out) {
    const ROperand *op = &p->op[side];
    const Access *x = &p->con.operand[side].access;
    AxisClass own = side ? AX_N : AX_M;
    *out = (RBox){.span = BOX_SPAN};
    if (!op->affine) return false;
    bool along_k = op->vec_k * op->bytes >= RTILE_ACCESS;
    if (!along_k && op->vec_mn * op->bytes < RTILE_ACCESS) return false;
    if ((along_k ? op->stride_k : op->stride_mn) != 1) return false;
    out->inner = along_k ? AX_K : (int)own;
    out->k = !along_k;
    out->own = along_k;
    return rprog_box_dims(p, x, along_k ? AX_K : own, out) && out->dim[0].n > 0 &&
           rprog_box_dims(p, x, along_k ? own : AX_K, out) && rprog_box_dims(p, x, AX_B, out) &&
           bounds_guards(p, x, out);
}

bool rprog_box(const Problem *p, int side, RBox *out) {
    return tile_box(p, side, out) || (p->op[side].affine && rprog_pixels(p, side, out));
}

/* How many values the k digits of a guarded subscript take together.  */
static int guard_values(const Problem *p, const Access *x, const FusedAxis *axis, int d) {
    int64_t n = 1;
    for (int i = 0; i < axis->n_digit && n <= RTABLE_BITS; i++) {
        const AxisDigit *g = &axis->digit[i];
        if (rprog_stride(&x->sub[d], axis, i) == 0) continue;
        if (access_varies(root_of(p), axis, g->first, g->n)) return RTABLE_BITS + 1;
        n *= g->extent;
    }
    return n <= RTABLE_BITS ? (int)n : RTABLE_BITS + 1;
}

static void assign_bits(const Problem *p, const Access *x, RAddress *out) {
    for (int d = 0; d < p->te->tensor[x->tensor].rank && out->bits <= RTABLE_BITS; d++) {
        out->guard_bit[d] = out->bits;
        if (x->guard[d]) out->bits += guard_values(p, x, &out->k_axis, d);
    }
}

void rprog_address(const Problem *p, const RProg *r, int side, RAddress *out) {
    const Access *x = &p->con.operand[side].access;
    *out = (RAddress){.wide = rprog_wide_product(p, r, x, -1)};
    merge(p, x, &p->con.axis[own_axis(side)], &out->own_axis);
    merge(p, x, &p->con.axis[AX_K], &out->k_axis);
    const FusedAxis *k = &out->k_axis;
    const AxisDigit *d = k->n_digit > 0 ? &k->digit[k->n_digit - 1] : NULL;
    int64_t inner = d ? access_divisor(root_of(p), k, d->first, d->n) : 1;
    out->k_mode = k->n_digit <= 1                      ? K_PLAIN
                  : inner % r->block.extent[AX_K] == 0 ? K_UNIFORM
                                                       : K_DECODED;
    out->pointer = out->k_mode == K_PLAIN && rprog_chunks(r, side).period == 1 &&
                   out->own_axis.n_digit <= 1 && !access_guarded(p->te, x);
    assign_bits(p, x, out);
}

/* ---- tables ---- */

/* Do chunks behind the first period lie in other rows of the tile than those of it?  */
static bool moves_rows(const RProg *r, int side) {
    return rprog_chunks(r, side).step_mn != 0;
}

/* Decoding pays where it would be done for several chunks in every step.  */
bool rprog_may_table(const Problem *p, const RProg *r, int side) {
    enum { FEW = 3 };         /* chunks: of fewer, a table saves little */
    const ROperand *op = &p->op[side];
    RAddress x;
    const RLoad *l = &r->load[side];
    bool chunks = rprog_load_facts(l->kind).chunks && !l->region && !l->team;
    if (!op->affine || !chunks || !p->te || rprog_chunks(r, side).thread < FEW ||
        (p->con.axis[AX_K].n_digit <= 1 && !op->guarded))
        return false;
    rprog_address(p, r, side, &x);
    bool rows = moves_rows(r, side) && x.own_axis.n_digit > 1;
    bool tested = access_guarded(p->te, &p->con.operand[side].access);
    return (x.k_mode == K_DECODED || (rows && tested)) && !x.pointer && !x.wide &&
           x.bits <= RTABLE_BITS;
}

RTable rprog_table(const RProg *r, int side) {
    enum { IN_REGISTERS = 2 };            /* rows of a thread */
    const RLoad *l = &r->load[side];
    bool along_k = l->along == AX_K;
    int64_t period = rprog_chunks(r, side).period;
    bool in_registers = period <= IN_REGISTERS && !moves_rows(r, side);
    RTable t = {.k_entries = r->block.extent[AX_K] / (along_k ? l->vec : 1)};
    if (!in_registers) t.row_entries = r->block.extent[own_axis(side)] / (along_k ? 1 : l->vec);
    return t;
}

