#include "te/eval/eval_impl.h"
#include "te/tree/tree.h"
#include <float.h>
#include <math.h>
#include <string.h>

static void build_literal(Node *x, const Te *te, const TeExpr *e) {
    if (e->kind == TE_SIZE)
        x->i = te->size[e->v.ref].extent.value;
    else if (e->kind != TE_REAL)
        x->i = e->v.i;
    x->v = e->kind == TE_REAL ? e->v.r : eval_real(x->i);
    if (te_dtype_class(e->type) == TE_CLASS_REAL)
        x->v = eval_round(e->type, x->v);
}

static void build_read(TeEval *ev, Node *x, const TeStmt *s, const TeExpr *e) {
    const TeTensor *t = &ev->te->tensor[e->v.ref];
    int64_t dense = 1;
    x->sub = ARENA_ARRAY(ev->arena, Affine, t->rank);
    x->pads = te_pads(e);
    for (int d = t->rank - 1; d >= 0; d--) {
        int64_t lo, hi;
        x->affine[d] = access_affine(ev->te, s, e->args[d], &x->sub[d]);
        x->leaves[d] = true;
        if (x->affine[d]) {
            access_range(s, &x->sub[d], &lo, &hi);
            x->leaves[d] = lo < 0 || hi >= t->shape[d].value;
        }
        bool made = ev->maker[e->v.ref] >= 0 && d < te_own_rank(t);
        x->stride[d] = made ? dense : t->stride[d].value;
        if (made) dense *= t->shape[d].value;
    }
}

/* The mean of a sum of (E - mean) * (E - mean), the same for all terms: such a sum may be made of
 * those of parts and of the distances of their means.  NULL: it is none.  */
static const Node *mean_of(const TeEval *ev, const Node *sum) {
    const TeExpr *e = sum->e->args[0];
    if (e->kind != TE_MUL || e->args[0]->kind != TE_SUB || !te_expr_same(e->args[0], e->args[1]))
        return NULL;
    const Node *center = sum->args[0]->args[0]->args[1];
    int maker = center->kind == TE_READ ? ev->maker[center->e->v.ref] : -1;
    for (int i = 0; i < sum->e->n_index; i++) {
        if (center->uses >> sum->e->index[i] & 1)
            return NULL;
    }
    TeKind made = maker >= 0 ? ev->te->stmt[maker].rhs->kind : TE_READ;
    return made == TE_DIV || made == TE_MUL ? center : NULL;
}

/* What an addition to a sum may be off by, as a share of the magnitudes: one rounding (or, in a
 * matrix unit, truncated).  Rescaling adds the 2 ulps of an exponential and a rounding to one.  A
 * term that counts is rescaled no more often than there are such terms, for each time the maximum
 * grows to another one; but not where they have other factors, which may be 0.  */
static void build_steps(const TeEval *ev, Node *x, const TeStmt *s, const TeExpr *body) {
    bool kept = s->accum == TE_DTYPE_COUNT, wide = x->acc == TE_F64, direct = true;
    ExpPart part = s->written ? EXP_NONE : eval_exp_part(ev, body, &direct);
    x->written = s->written;
    x->acc_all = part == EXP_FACTOR;
    x->acc_most = part != EXP_NONE && direct ? 2 : 1;
    x->acc_each = part == EXP_TERM ? 3 : x->acc_most;
    x->acc_coarse = !wide && eval_sums_narrow(ev->te, s, x->e);     /* 13 bits of 128 terms */
    x->acc_rounds = (!kept && s->accum != x->acc) || s->fp32x3;
    if (wide && (kept || s->accum == TE_F64)) x->acc_step = 0x3p-53;
    else if (!kept && s->accum == TE_F16) x->acc_step = 0x1p-10;
    else if (!kept && s->accum == TE_BF16) x->acc_step = 0x1p-7;
    else if (wide) x->acc_step = 0x1p-22;
    else x->acc_step = (s->fp32x3 ? 3 : 1) * 0x1p-23;
}

/* Dividing a sum of exponentials as a whole, not each term: a few roundings more; where z was
 * divided by in the exponent, as log(z), what that is rounded by in it and in e^x, log(z) being
 * 89 at most, 710 in f64.  */
static void allow_division(TeEval *ev, Node *x, const TeStmt *s, const TeExpr *body) {
    bool direct = true;
    const TeExpr *z = eval_exp_part(ev, body, &direct) == EXP_NONE ? NULL
                                                                   : eval_exp_divisor(ev, body);
    uint32_t summed = 0;
    for (int i = 0; i < x->e->n_index; i++) summed |= 1u << x->e->index[i];
    if (!z || (access_uses(z) & summed)) return;
    x->acc_moved = (x->acc == TE_F64 ? 3072 : 384) * lanes_roundoff(x->acc);
    x->divisor = eval_build(ev, s, z);
}

/* Sums of products with scales of blocks (access_scaled_factors), of which a unit may sum the
 * products of elements by themselves, and multiply these sums by the scales.  The sum that results
 * is off by no more than one of terms that are made in this order: any of its additions has the
 * same share of the magnitudes, whatever they are scaled by.  But sums of elements, and products of
 * scales, may leave the range of numbers where the terms do not; and a sum of a block that is
 * scaled by an infinity has one sign, where terms may have both.  */
static TeExpr *times(Arena *a, const TeExpr *x, const TeExpr *y) {
    TeExpr *e = te_expr_node(a, TE_MUL, te_meet(x->type, y->type), 2, x->pos);
    e->args[0] = te_expr_copy(a, x);
    e->args[1] = te_expr_copy(a, y);
    return e;
}

static const Node *sum_in_order(TeEval *ev, const TeStmt *s, const TeExpr *sum, TeExpr *body) {
    TeExpr *e = ARENA_NEW(ev->arena, TeExpr);
    *e = *sum;
    e->type = e->store = body->type;
    e->args = ARENA_ARRAY(ev->arena, TeExpr *, 1);
    e->args[0] = body;
    bool before = ev->in_order;
    ev->in_order = true;
    const Node *x = eval_build(ev, s, e);
    ev->in_order = before;
    return x;
}

static void build_scaled(TeEval *ev, Node *x, const TeStmt *s, const TeExpr *sum) {
    Arena *a = ev->arena;
    ScaledFactors f;
    if (!access_scaled_factors(ev->te, s, sum, &f) || f.half[0] >= 0 || f.half[1] >= 0) return;
    TeExpr *elements = times(a, f.element[0], f.element[1]);
    TeExpr *scales = te_expr_copy(a, f.scale[0]);
    if (f.n_scale > 1) scales = times(a, scales, f.scale[1]);
    if (ev->in_order) {
        bool real = te_dtype_class(elements->type) == TE_CLASS_REAL;
        x->elements = real ? sum_in_order(ev, s, sum, elements) : NULL;
        x->scales = sum_in_order(ev, s, sum, scales);
    } else if (!x->factored) {                /* else that is one of these */
        x->factored = sum_in_order(ev, s, sum, times(a, elements, scales));
    }
}

static void build_reduce(const TeEval *ev, Node *x, const TeStmt *s, const TeExpr *e) {
    TeDtype body = e->args[0]->type;
    bool sums = e->red == TE_RED_SUM || e->red == TE_RED_PROD;
    bool real = te_dtype_class(body) == TE_CLASS_REAL;
    TeDtype accum = sums ? s->accum : TE_DTYPE_COUNT;
    int64_t longest = -1;
    x->count = 1;
    for (int i = 0; i < e->n_index; i++) {
        int64_t n = te_index_extent(&s->index[e->index[i]]);
        x->count *= n;
        if (n >= longest) {
            longest = n;
            x->sweep = e->index[i];
        }
    }
    x->acc = accum == TE_DTYPE_COUNT ? te_reduced_type(e)
                                     : te_meet(body, te_dtype_compute(accum));
    x->acc_limit = x->acc == TE_F64 ? DBL_MAX : FLT_MAX;
    x->acc_exact = x->acc == TE_F64 ? 0x1p53 : 0x1p24;
    if (!real) {
        bool narrow = accum != TE_DTYPE_COUNT && te_dtype_bytes(accum) < te_dtype_bytes(x->acc);
        x->acc_limit = narrow ? ldexp(1, 8 * te_dtype_bytes(accum) - 1) : INFINITY;
        return;
    }
    build_steps(ev, x, s, e->args[0]);
    if (sums && eval_sums_narrow(ev->te, s, e))
        x->acc_exact = 0x1p13;
    if (accum == TE_F16) {
        x->acc_limit = 65504;
        x->acc_exact = 0x1p11;
        x->acc_tiny = 0x1p-24;
    } else if (accum == TE_BF16) {
        x->acc_limit = FLT_MAX;
        x->acc_exact = 0x1p8;
        x->acc_tiny = 0x1p-133;
    } else if (accum == TE_F32 && x->acc == TE_F64) {
        x->acc_limit = FLT_MAX;
        x->acc_exact = 0x1p24;
        x->acc_tiny = 0x1p-149;
    }
}

/* Is what is rounded an exponential, or a share of it, in a term of a sum?  */
static bool is_moved(const TeEval *ev, const TeExpr *e) {
    TeDtype to = e->kind == TE_READ ? ev->te->tensor[e->v.ref].dtype : e->store;
    const TeExpr *rounded = e->kind == TE_READ ? e : e->args[0];
    bool direct = true;
    return ev->in_sum && (to == TE_F16 || to == TE_BF16) &&
           (e->kind != TE_READ || ev->maker[e->v.ref] >= 0) &&
           eval_exp_part(ev, rounded, &direct) != EXP_NONE;
}

/* Marks the multiplications that make up the terms of a sum.  */
static void mark_products(Node *x, const TeStmt *s) {
    if (x->kind != TE_MUL || x->type != TE_F32)
        return;
    x->factor_loss = s->tf32 ? 0x1p-10 : 0;
    x->product_loss = s->fp32x3 ? 0x1p-20 : 0;
    for (int i = 0; i < x->n_args; i++)
        mark_products(x->args[i], s);
}

/* A reduction of reductions of its kind is one over all their indices, which kernels take in any
 * order: what leaves the range of numbers in one of them is seen by it alone.  */
static const TeExpr *joined(TeEval *ev, const TeExpr *e) {
    while (!te_is_paired(e)) {
        const TeExpr *inner = e->args[0];
        while (inner->kind == TE_CAST && inner->type == inner->args[0]->type &&
               inner->store == inner->type)
            inner = inner->args[0];
        if (inner->kind != TE_REDUCE || inner->red != e->red || inner->type != e->type)
            break;
        TeExpr *both = ARENA_NEW(ev->arena, TeExpr);
        *both = *e;
        memcpy(both->index + e->n_index, inner->index, inner->n_index);
        both->n_index = (uint8_t)(e->n_index + inner->n_index);
        both->args = inner->args;
        e = both;
    }
    return e;
}

static bool is_centered(const TeEval *ev, const Node *exponent) {
    const TeExpr *e = exponent->e, *m = e->kind == TE_SUB ? e->args[1] : NULL;
    return m && e->type == TE_F32 &&
           (m->kind == TE_REDUCE || (m->kind == TE_READ && ev->maker[m->v.ref] >= 0));
}

/* What a sum may be made as.  */
static void build_sum(TeEval *ev, Node *x, const TeStmt *s, const TeExpr *e) {
    const TeExpr *opened = ev->in_order ? NULL : access_opened(ev->arena, ev->te, s, e);
    if (!opened) opened = e;
    const TeExpr *factored = ev->in_order ? NULL : access_factored(ev->arena, ev->te, s, opened);
    x->factored = factored ? eval_build(ev, s, factored) : NULL;
    build_scaled(ev, x, s, opened);
    mark_products(x->args[0], s);
    x->mean = mean_of(ev, x);
    if (!s->written && te_dtype_class(x->acc) == TE_CLASS_REAL)
        allow_division(ev, x, s, e->args[0]);
}

Node *eval_build(TeEval *ev, const TeStmt *s, const TeExpr *e) {
    Node *x = ARENA_NEW(ev->arena, Node);
    if (e->kind == TE_REDUCE)
        e = joined(ev, e);
    *x = (Node){.e = e, .kind = e->kind, .type = e->type, .meet = e->type, .n_args = e->n_args};
    x->args = ARENA_ARRAY(ev->arena, Node *, e->n_args);
    x->fast = s->fast;
    x->inverse = ev->multiplies_exps && e->kind == TE_DIV && e->type == TE_F32 &&
                 eval_exp_sum(ev, e->args[1]);
    x->rescaled = ev->sums_exps && e->kind == TE_CALL &&
                  (e->v.fn == TE_FN_EXP || e->v.fn == TE_FN_EXP2);
    bool was = ev->in_sum;
    ev->in_sum = was || eval_sums(s, e);
    for (int i = 0; i < e->n_args; i++) {
        x->args[i] = eval_build(ev, s, e->args[i]);
        x->uses |= x->args[i]->uses;
    }
    if (x->rescaled && ev->multiplies_exps) x->args[0]->centered = is_centered(ev, x->args[0]);
    if (e->other) {
        x->other = eval_build(ev, s, e->other);
        x->uses |= x->other->uses;
    }
    ev->in_sum = was;
    if (e->kind == TE_READ || e->kind == TE_CAST) x->moved = is_moved(ev, e);
    if (e->kind >= TE_EQ && e->kind <= TE_GE)
        x->meet = te_meet(e->args[0]->type, e->args[1]->type);
    switch (e->kind) {
    case TE_INT:
    case TE_REAL:
    case TE_BOOLEAN:
    case TE_SIZE:
        build_literal(x, ev->te, e);
        break;
    case TE_INDEX:
        x->uses = 1u << e->v.ref;
        break;
    case TE_READ:
        build_read(ev, x, s, e);
        break;
    case TE_SELECT:
        x->pads = te_pads(e);
        break;
    case TE_REDUCE:
        build_reduce(ev, x, s, e);
        for (int i = 0; i < e->n_index; i++)
            x->uses &= ~(1u << e->index[i]);
        if (e->red == TE_RED_SUM) build_sum(ev, x, s, e);
        break;
    default:
        break;
    }
    return x;
}

/* Slots above its own that evaluating x needs: an operand waits while the next is computed.  */
int eval_slots(const Node *x) {
    int most = 2;
    for (int i = 0; i < x->n_args; i++) {
        int n = eval_slots(x->args[i]) + (i < 2 ? i : 2) + 1;
        most = n > most ? n : most;
    }
    if (x->other) {
        int n = eval_slots(x->other) + 2;
        most = n > most ? n : most;
    }
    const Node *beside[] = {x->divisor, x->factored, x->elements, x->scales};
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        int n = beside[i] ? eval_slots(beside[i]) + 1 : 0;
        most = n > most ? n : most;
    }
    return most;
}
