#include "rtile/facts.h"
#include "te/tree/tree.h"

/* An operand of a product: what its accesses allow, and what stands for it where it is an
 * expression.  */

static TeDtype value_type(const TeExpr *e);

/* Of one of two expressions: any type holds zero.  */
static TeDtype type_of_either(const TeExpr *x, const TeExpr *y, TeDtype otherwise) {
    if (te_is_zero(x)) return value_type(y);
    TeDtype t = value_type(x);
    return te_is_zero(y) || value_type(y) == t ? t : otherwise;
}

/* The narrowest type known to hold every value of an expression, and 0.  */
static TeDtype value_type(const TeExpr *e) {
    if (!te_dtype_zero(e->store)) return e->type;
    if (e->kind == TE_READ && e->other) return te_is_zero(e->other) ? e->store : e->type;
    if (e->kind == TE_SELECT) return type_of_either(e->args[1], e->args[2], e->type);
    if (e->kind != TE_CAST) return e->kind == TE_READ ? e->store : e->type;
    TeDtype inner = value_type(e->args[0]);
    bool byte = te_dtype_bytes(inner) == 1 && te_dtype_bytes(e->store) > 1;
    bool half = te_dtype_bytes(inner) == 2 && te_dtype_bytes(e->store) > 2;
    bool real = te_dtype_class(e->store) == TE_CLASS_REAL;
    if (inner == TE_BOOL || (te_dtype_class(inner) == TE_CLASS_REAL && !real)) return e->store;
    return inner != TE_I16 && (byte || half) ? inner : e->store;
}

bool operand_widest(const Problem *p, const TeStmt *s, const TeExpr *e, Access *out,
                    double *bytes) {
    ReadList read = access_reads(e);
    int64_t most = -1;
    *bytes = 0;
    for (int i = 0; i < read.n; i++) {
        Access a;
        bool again = false;
        for (int j = 0; j < i; j++) again |= access_same(read.at[j], read.at[i]);
        if (again) continue;
        access_read(p->te, s, read.at[i], &a);
        int width = te_dtype_bytes(p->te->tensor[a.tensor].dtype);
        int64_t unique = access_unique(p->te, s, &a);
        *bytes += (double)unique * width;
        if (unique * width > most) {
            most = unique * width;
            *out = a;
        }
    }
    return most >= 0;
}

/* Digits of an axis that an access tells apart: neighbours in memory, in no guarded subscript, are
 * one.  */
static int digits_apart(const Span *s, const FusedAxis *axis) {
    int n = 0, before = -1;               /* the index with which the last digit moves */
    for (int i = 0; i < axis->n_digit; i++) {
        const AxisDigit *d = &axis->digit[i];
        int index = axis->index[d->first + d->n - 1];
        int64_t step = s->offset.coef[index];
        bool one = before >= 0 && s->offset.coef[before] == step * d->extent;
        if (step && one)
            one = !((s->varies >> index | s->varies >> before) & 1) &&
                  !access_varies(s->stmt, axis, d->first, d->n);
        for (int g = 0; g < s->n_guard && one; g++)
            one = s->guard[g].coef[index] == 0 && s->guard[g].coef[before] == 0;
        n += !one;
        before = index;
    }
    return n;
}

/* Bytes for each point of a chunk of `vec` points along an axis; what all of its points share comes
 * once for many chunks.  */
static double chunk_bytes(const Problem *p, const TeExpr *e, const FusedAxis *axis, int vec,
                          int align) {
    const TeStmt *s = &p->te->stmt[p->group->root];
    ChunkReads x = {0};
    if (vec > 1) x = rtile_chunk_reads(p->te, s, e, axis, vec, align);
    double bytes = 0;
    for (int i = 0; i < x.n; i++) {
        int each = te_dtype_bytes(p->te->tensor[x.read[i]->v.ref].dtype);
        if (x.width[i] > 1) bytes += x.width[i] * each;
    }
    return bytes / vec;
}

/* A read that is gathered: bytes of 0 stand for it outside, of the tile's ends, too.  */
static bool is_gathered(const Te *te, const Operand *o) {
    const TeExpr *e = o->expr;
    return !o->read && e->kind == TE_READ && te_dtype_zero(te->tensor[e->v.ref].dtype) &&
           te_zero_outside(te, e);
}

/* Each point has an element of its own, as far as the tensor has so many.  */
static void describe_gathered(const Problem *p, const Operand *o, int side, int align,
                              ROperand *op) {
    const TeStmt *s = &p->te->stmt[p->group->root];
    const FusedAxis *mn = &p->con.axis[side ? AX_N : AX_M], *k = &p->con.axis[AX_K];
    int64_t points = p->con.axis[AX_B].extent * mn->extent * k->extent;
    op->vec_mn = chunk_gathered(p->te, s, o->expr, mn, align);
    op->vec_k = chunk_gathered(p->te, s, o->expr, k, align);
    op->gathered = op->vec_mn > 1 || op->vec_k > 1;
    op->copyable = op->gathered && p->te->tensor[o->expr->v.ref].dtype == o->compute;
    if (points < op->unique) op->unique = points;
}

/* Several points share an element, as of packed weights: as if each had its own, in rows.  */
static void chunk_rows(int64_t n, int64_t *run, int64_t *step, int64_t *other) {
    *run = *other = n;
    *step = 1;
}

static int64_t scale_bytes(const Problem *p, const TeStmt *s, const TeExpr *scale) {
    Access a;
    access_read(p->te, s, scale, &a);
    return access_unique(p->te, s, &a) * te_dtype_bytes(scale->store);
}

void operand_describe(const Operand *o, int side, int align, Problem *p) {
    ROperand *op = &p->op[side];
    const TeStmt *s = &p->te->stmt[p->group->root];
    const FusedAxis *mn = &p->con.axis[side ? AX_N : AX_M], *k = &p->con.axis[AX_K];
    *op = (ROperand){.vec_mn = 1, .vec_k = 1, .run_mn = 1, .run_k = 1};
    op->value = value_type(o->expr);
    op->elem = te_dtype_bytes(o->compute);
    op->bytes = op->elem;
    op->digits_mn = mn->n_digit;
    op->digits_k = k->n_digit;
    op->ops = o->read ? 0 : expr_ops(o->expr);
    Access a;
    double bytes;
    if (o->read) a = o->access;
    else if (!operand_widest(p, s, o->expr, &a, &bytes)) return;
    op->bytes = te_dtype_bytes(p->te->tensor[a.tensor].dtype);
    op->unique = o->read ? access_unique(p->te, s, &a) : (int64_t)(bytes / op->bytes);
    if (o->scale) op->unique += scale_bytes(p, s, o->scale) / op->bytes;
    op->affine = o->read != NULL;
    op->room = access_room(p->te, s, &a);
    op->copyable = op->affine && o->storage == o->compute;
    if (!o->read) {
        op->vec_mn = chunk_vector(p->te, s, o->expr, mn, align);
        op->vec_k = chunk_vector(p->te, s, o->expr, k, align);
        bool along_k = op->vec_k > op->vec_mn;
        const FusedAxis *along = along_k ? k : mn;
        int vec = along_k ? op->vec_k : op->vec_mn;
        op->ops = expr_ops_in_run(o->expr, rtile_chunk_index(s, along), vec);
        op->chunk_bytes = chunk_bytes(p, o->expr, along, vec, align);
    }
    if (is_gathered(p->te, o)) describe_gathered(p, o, side, align, op);
    if (!a.affine) {
        if (op->vec_k > 1) chunk_rows(k->extent, &op->run_k, &op->stride_k, &op->stride_mn);
        if (op->vec_mn > 1) chunk_rows(mn->extent, &op->run_mn, &op->stride_mn, &op->stride_k);
        return;
    }
    Span span = span_of_read(p->te, s, &a);
    op->guarded = span.n_guard > 0;
    if (op->affine) op->digits_mn = digits_apart(&span, mn);
    if (op->affine) op->digits_k = digits_apart(&span, k);
    op->stride_mn = span_stride(&span, mn);
    op->stride_k = span_stride(&span, k);
    op->run_mn = span_run(&span, mn);
    op->run_k = span_run(&span, k);
    if (op->affine) {
        op->vec_mn = span_vector(&span, mn, align);
        op->vec_k = span_vector(&span, k, align);
    }
}

void operand_made(const Operand *o, Problem *p) {
    p->op[0] = (ROperand){.made = true,
                          .value = value_type(o->expr),
                          .elem = te_dtype_bytes(o->compute),
                          .bytes = te_dtype_bytes(o->compute),
                          .vec_mn = 1,
                          .vec_k = 1,
                          .run_mn = 1,
                          .run_k = 1,
                          .digits_mn = 1,
                          .digits_k = 1};
}
