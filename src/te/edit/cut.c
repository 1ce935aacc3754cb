#include "te/edit/cut.h"
#include "te/tree/arith.h"
#include "te/tree/tree.h"
#include <string.h>

/* ---- what has to be cut ---- */

static bool spread_index(const Te *te, int k, int i, Cut *c);

static int count_bits(uint32_t x) {
    int n = 0;
    for (; x; x &= x - 1) n++;
    return n;
}

/* Every read of the tensor below e: plain there, and its index is cut, too.  */
static bool spread_reads(const Te *te, int k, const TeExpr *e, int tensor, int dim, Cut *c) {
    const TeStmt *s = &te->stmt[k];
    if (e->kind == TE_READ && e->v.ref == tensor) {
        const TeExpr *sub = e->args[dim];
        bool plain = te_always_inside(e) && sub->kind == TE_INDEX &&
                     te_extent_same(&s->index[sub->v.ref].hi, &te->tensor[tensor].shape[dim]);
        if (plain ? !spread_index(te, k, sub->v.ref, c) : !c->divides) return false;
    }
    for (int i = 0; i < e->n_args; i++) {
        if (!spread_reads(te, k, e->args[i], tensor, dim, c)) return false;
    }
    return !e->other || spread_reads(te, k, e->other, tensor, dim, c);
}

static bool is_read(const Te *te, int tensor) {
    for (int k = 0; k < te->n_stmt; k++)
        if (access_reads_tensor(te->stmt[k].rhs, tensor)) return true;
    return false;
}

static bool spread_tensor(const Te *te, int tensor, int dim, Cut *c) {
    const TeTensor *t = &te->tensor[tensor];
    if (c->dims[tensor] >> dim & 1) return true;
    if (t->held) return false;
    c->dims[tensor] |= (uint8_t)(1u << dim);
    if (c->clips && (t->shape[dim].expr || (t->role == TE_OUTPUT && is_read(te, tensor))))
        return false;
    if (te->tensor[tensor].rank + count_bits(c->dims[tensor]) * c->n_digit > TE_MAX_RANK)
        return false;
    for (int k = 0; k < te->n_stmt; k++) {
        if (te->stmt[k].tensor == tensor && !spread_index(te, k, dim, c)) return false;
        if (!spread_reads(te, k, te->stmt[k].rhs, tensor, dim, c)) return false;
    }
    return true;
}

/* The inputs that index i of statement k subscripts by itself.  */
static bool spread_inputs(const Te *te, int k, int i, const TeExpr *e, Cut *c) {
    bool input = e->kind == TE_READ && te->tensor[e->v.ref].role == TE_INPUT;
    for (int d = 0; d < e->n_args; d++) {
        const TeExpr *sub = e->args[d];
        if (input && sub->kind == TE_INDEX && sub->v.ref == i &&
            te_extent_same(&te->stmt[k].index[i].hi, &te->tensor[e->v.ref].shape[d]) &&
            !spread_tensor(te, e->v.ref, d, c))
            return false;
        if (!spread_inputs(te, k, i, sub, c)) return false;
    }
    return !e->other || spread_inputs(te, k, i, e->other, c);
}

/* A recurrence has one index, in one order.  */
static bool runs_up_to(const TeStmt *s, int i) {
    const TeExpr *order = te_is_recurrence(s->rhs) ? te_recurrence_order(s->rhs) : NULL;
    return order && order->args[1]->v.ref == i;
}

static bool spread_index(const Te *te, int k, int i, Cut *c) {
    const TeStmt *s = &te->stmt[k];
    if (c->index[k] >> i & 1) return true;
    if (runs_up_to(s, i)) return false;
    c->index[k] |= 1u << i;
    if (s->n_index + count_bits(c->index[k]) * c->n_digit > TE_MAX_INDICES) return false;
    if (c->divides && te_extent_divisor(&s->index[i].hi) % c->by) return false;
    if (c->inputs && !spread_inputs(te, k, i, s->rhs, c)) return false;
    if (i < s->n_left) return spread_tensor(te, s->tensor, i, c);
    return s->rhs->kind == TE_REDUCE && !te_is_paired(s->rhs) && !c->clips;
}

bool cut_spread(const Te *te, int stmt, int dim, Cut *c) {
    memset(c->dims, 0, sizeof c->dims);
    memset(c->index, 0, sizeof c->index);
    c->clips = te_extent_divisor(&te->stmt[stmt].index[dim].hi) % c->by != 0;
    return spread_tensor(te, te->stmt[stmt].tensor, dim, c);
}

bool cut_index(const Te *te, int stmt, int i, bool inputs, Cut *c) {
    memset(c->dims, 0, sizeof c->dims);
    memset(c->index, 0, sizeof c->index);
    c->divides = true;
    c->clips = false;
    c->inputs = inputs;
    return spread_index(te, stmt, i, c);
}

bool cut_alone(const Te *te, int stmt, int dim, Cut *c) {
    const TeStmt *s = &te->stmt[stmt];
    memset(c->dims, 0, sizeof c->dims);
    memset(c->index, 0, sizeof c->index);
    c->clips = false;
    c->dims[s->tensor] = (uint8_t)(1u << dim);
    c->index[stmt] = 1u << dim;
    return te->tensor[s->tensor].rank + c->n_digit <= TE_MAX_RANK &&
           s->n_index + c->n_digit <= TE_MAX_INDICES;
}

/* ---- expressions ---- */

static TeExpr *binary(Arena *a, TeKind kind, TeExpr *x, TeExpr *y) {
    TeExpr *e = te_expr_node(a, kind, TE_I64, 2, x->pos);
    e->args[0] = x;
    e->args[1] = y;
    return e;
}

static TeExpr *with_number(Arena *a, TeKind kind, TeExpr *x, int64_t v) {
    return binary(a, kind, x, te_expr_int(a, v, TE_I64, x->pos));
}

TeExpr *cut_affine(Arena *a, const Affine *f, uint32_t pos) {
    TeExpr *sum = NULL;
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int i = 0; i < TE_MAX_INDICES; i++) {
            int64_t k = sign * f->coef[i];
            if (k <= 0) continue;
            TeExpr *term = te_expr_index(a, i, pos);
            if (k > 1) term = binary(a, TE_MUL, te_expr_int(a, k, TE_I64, pos), term);
            if (!sum && sign < 0) sum = te_expr_int(a, 0, TE_I64, pos);
            sum = sum ? binary(a, sign > 0 ? TE_ADD : TE_SUB, sum, term) : term;
        }
        if (sign * f->c <= 0) continue;
        if (sum) sum = with_number(a, sign > 0 ? TE_ADD : TE_SUB, sum, sign * f->c);
        else sum = te_expr_int(a, f->c, TE_I64, pos);
    }
    return sum ? sum : te_expr_int(a, 0, TE_I64, pos);
}

void cut_tidy(Norm *n, const TeStmt *s, TeExpr *e, uint32_t indices) {
    for (int i = 0; i < e->n_args; i++) {
        Affine f;
        if (e->kind == TE_READ && e->args[i]->kind != TE_INDEX &&
            (access_uses(e->args[i]) & indices) && access_affine(n->te, s, e->args[i], &f))
            e->args[i] = cut_affine(n->a, &f, e->args[i]->pos);
        else
            cut_tidy(n, s, e->args[i], indices);
    }
    if (e->other) cut_tidy(n, s, e->other, indices);
}

/* ---- cutting ---- */

typedef struct {
    Norm *n;
    const Cut *c;
    uint32_t cut;             /* indices of the statement, as they were */
    uint8_t to[TE_MAX_INDICES];           /* their new numbers; digits follow their quotient */
} Cutter;

static void rewrite(const Cutter *x, TeExpr **slot);

/* The value of a cut index.  */
static TeExpr *value_of(const Cutter *x, int index, uint32_t pos) {
    Affine f = {.c = -x->c->shift};
    int64_t weight = 1;
    for (int d = x->c->n_digit; d >= 0; d--) {
        f.coef[x->to[index] + d] = weight;
        if (d > 0) weight *= x->c->radix[d - 1];
    }
    return cut_affine(x->n->a, &f, pos);
}

/* Subscripts of a cut dimension in place of `sub`, which is of the statement as it was.  */
static void divide(const Cutter *x, TeExpr *sub, TeExpr **out) {
    const Cut *c = x->c;
    Arena *a = x->n->a;
    if (sub->kind == TE_INDEX && (x->cut >> sub->v.ref & 1)) {
        for (int d = 0; d <= c->n_digit; d++)
            out[d] = te_expr_index(a, x->to[sub->v.ref] + d, sub->pos);
        return;
    }
    rewrite(x, &sub);
    if (c->shift) sub = with_number(a, TE_ADD, sub, c->shift);
    int64_t weight = c->by;
    for (int d = 0; d <= c->n_digit; d++) {
        TeExpr *rest = te_expr_copy(a, sub);
        if (d > 0) {
            rest = with_number(a, TE_MOD, rest, weight);
            weight /= c->radix[d - 1];
        }
        out[d] = weight > 1 ? with_number(a, TE_DIV, rest, weight) : rest;
    }
}

static void rewrite_read(const Cutter *x, TeExpr *e) {
    uint8_t dims = x->c->dims[e->v.ref];
    TeExpr **args = ARENA_ARRAY(x->n->a, TeExpr *, TE_MAX_RANK);
    int rank = 0;
    for (int d = 0; d < e->n_args; d++) {
        if (dims >> d & 1) {
            divide(x, e->args[d], &args[rank]);
            rank += 1 + x->c->n_digit;
        } else {
            rewrite(x, &e->args[d]);
            args[rank++] = e->args[d];
        }
    }
    e->args = args;
    e->n_args = rank;
}

static void rewrite(const Cutter *x, TeExpr **slot) {
    TeExpr *e = *slot;
    if (e->kind == TE_INDEX) {
        if (x->cut >> e->v.ref & 1) *slot = value_of(x, e->v.ref, e->pos);
        else e->v.ref = x->to[e->v.ref];
        return;
    }
    if (e->kind == TE_REDUCE) {
        uint8_t was[TE_MAX_INDICES], all = e->n_index;
        memcpy(was, e->index, sizeof was);
        e->n_index = 0;
        for (int i = 0; i < all; i++) {
            int more = x->cut >> was[i] & 1 ? x->c->n_digit : 0;
            for (int d = 0; d <= more; d++) e->index[e->n_index++] = (uint8_t)(x->to[was[i]] + d);
        }
    }
    if (e->other) rewrite(x, &e->other);
    if (e->kind == TE_READ) {
        rewrite_read(x, e);
        return;
    }
    for (int i = 0; i < e->n_args; i++) rewrite(x, &e->args[i]);
}

static TeExtent number(int64_t v) { return (TeExtent){.value = v, .min = v, .multiple = 1}; }

/* How many quotients the values of an extent have.  */
static TeExtent quotients(Arena *a, const TeExtent *e, const Cut *c, uint32_t pos) {
    if (!e->expr) return number(ceil_div(e->value + c->shift, c->by));
    bool whole = c->shift == 0 && e->multiple % c->by == 0;
    TeExtent out = {.value = ceil_div(e->value + c->shift, c->by),
                    .min = ceil_div(e->min + c->shift, c->by),
                    .multiple = whole ? e->multiple / c->by : 1};
    TeExpr *sum = te_expr_copy(a, e->expr);
    sum->pos = pos;
    if (!whole) sum = with_number(a, TE_ADD, sum, c->shift + c->by - 1);
    out.expr = with_number(a, TE_DIV, sum, c->by);
    return out;
}

static TeExtent scaled(Arena *a, const TeExtent *e, int64_t by) {
    TeExtent out = {.value = e->value * by, .min = e->min * by, .multiple = e->multiple * by};
    if (!e->expr) return number(out.value);
    out.expr = with_number(a, TE_MUL, te_expr_copy(a, e->expr), by);
    return out;
}

static bool has_index(const TeIndex *index, int n, const char *name) {
    for (int i = 0; i < n; i++) {
        if (strcmp(index[i].name, name) == 0) return true;
    }
    return false;
}

static const char *digit_name(Norm *n, const TeStmt *s, const TeIndex *index, int have, int from) {
    for (int i = 1;; i++) {
        const char *base = s->index[from].name;
        const char *name = i == 1 ? arena_printf(n->a, "%.40s_phase", base)
                                  : arena_printf(n->a, "%.40s_phase%d", base, i);
        bool taken = has_index(index, have, name) || has_index(s->index, s->n_index, name);
        for (int k = 0; k < n->te->n_size && !taken; k++)
            taken = strcmp(n->te->size[k].name, name) == 0;
        for (int k = 0; k < n->te->n_tensor && !taken; k++)
            taken = strcmp(n->te->tensor[k].name, name) == 0;
        if (!taken) return name;
    }
}

static void cut_statement(Norm *n, const Cut *c, int k) {
    TeStmt *s = &n->te->stmt[k];
    Cutter x = {.n = n, .c = c, .cut = c->index[k]};
    TeIndex index[TE_MAX_INDICES];
    int have = 0, left = 0;
    uint32_t touched = 0;
    for (int i = 0; i < s->n_index; i++) {
        x.to[i] = (uint8_t)have;
        index[have++] = s->index[i];
        if (x.cut >> i & 1) {
            index[have - 1].hi = quotients(n->a, &s->index[i].hi, c, s->pos);
            for (int d = 0; d < c->n_digit; d++, have++)
                index[have] = (TeIndex){.name = digit_name(n, s, index, have, i),
                                        .reduction = s->index[i].reduction,
                                        .place = c->places,
                                        .lo = number(0), .hi = number(c->radix[d])};
            touched |= ((2u << c->n_digit) - 1) << x.to[i];
        }
        if (i < s->n_left) left = have;
    }
    rewrite(&x, &s->rhs);
    memcpy(s->index, index, (size_t)have * sizeof *index);
    s->n_index = have;
    s->n_left = left;
    cut_tidy(n, s, s->rhs, touched);
    n->changed[k] = true;
}

/* The clips of a tensor by its new subscripts, those of its new digits with them.  */
static void clip_tensor(Norm *n, const Cut *c, const TeTensor *was, uint8_t dims, TeTensor *x) {
    TeClip *clip = ARENA_ARRAY(n->a, TeClip, was->n_clip + TE_MAX_RANK);
    int have = was->n_clip, rank = 0;
    bool clips = c->clips && x->role == TE_OUTPUT;
    for (int i = 0; i < was->n_clip; i++) clip[i].end = was->clip[i].end;
    for (int d = 0; d < was->rank; d++) {
        bool cut = dims >> d & 1;
        int64_t weight = cut ? c->by : 1;
        for (int j = 0; j <= (cut ? c->n_digit : 0); j++, rank++) {
            if (j > 0) weight /= c->radix[j - 1];
            for (int i = 0; i < was->n_clip; i++)
                clip[i].weight[rank] = was->clip[i].weight[d] * weight;
            if (cut && clips) clip[have].weight[rank] = weight;
        }
        if (cut && clips) clip[have++].end = was->shape[d].value;
    }
    x->clip = clip;
    x->n_clip = have;
    x->strided |= clips;
}

static void cut_tensor(Norm *n, const Cut *c, int t) {
    TeTensor *x = &n->te->tensor[t], was = *x;
    int rank = 0;
    clip_tensor(n, c, &was, c->dims[t], x);
    for (int d = 0; d < was.rank; d++) {
        x->shape[rank] = was.shape[d];
        x->stride[rank++] = was.stride[d];
        if (!(c->dims[t] >> d & 1)) continue;
        int64_t weight = c->by;
        x->shape[rank - 1] = quotients(n->a, &was.shape[d], c, was.pos);
        x->stride[rank - 1] = scaled(n->a, &was.stride[d], weight);
        for (int i = 0; i < c->n_digit; i++) {
            weight /= c->radix[i];
            x->shape[rank] = number(c->radix[i]);
            x->stride[rank++] = scaled(n->a, &was.stride[d], weight);
        }
    }
    x->rank = rank;
    if (x->role == TE_TEMP) normalize_dense(n, x);
}

static bool reads_cut(const TeExpr *e, const Cut *c) {
    if (e->kind == TE_READ && c->dims[e->v.ref]) return true;
    for (int i = 0; i < e->n_args; i++) {
        if (reads_cut(e->args[i], c)) return true;
    }
    return e->other && reads_cut(e->other, c);
}

bool cut_changes(const Te *te, const Cut *c, int stmt) {
    return c->index[stmt] || reads_cut(te->stmt[stmt].rhs, c);
}

void cut_apply(Norm *n, const Cut *c) {
    for (int k = 0; k < n->te->n_stmt; k++) {
        if (cut_changes(n->te, c, k)) cut_statement(n, c, k);
    }
    for (int t = 0; t < n->te->n_tensor; t++) {
        if (c->dims[t]) cut_tensor(n, c, t);
    }
}

bool cut_copy(Norm *n, int stmt) {
    Te *te = n->te;
    if (te->n_stmt >= TE_MAX_STMTS) return false;
    normalize_insert(n, stmt, n->origin[stmt], &(TeStmt){0});
    TeStmt *s = &te->stmt[stmt], *copy = &te->stmt[stmt + 1];
    *s = *copy;
    TeTensor *to = &te->tensor[te->n_tensor];
    *to = te->tensor[s->tensor];
    to->name = normalize_name(n, NULL, to->name, "phases");
    to->role = TE_TEMP;
    to->strided = false;
    normalize_dense(n, to);
    TeDtype type = te_dtype_compute(to->dtype);
    copy->rhs = te_expr_node(n->a, TE_READ, type, to->rank, s->pos);
    copy->rhs->store = to->dtype;
    copy->rhs->v.ref = te->n_tensor;
    for (int d = 0; d < to->rank; d++) copy->rhs->args[d] = te_expr_index(n->a, d, s->pos);
    copy->n_index = copy->n_left;
    copy->asg = TE_ASSIGN;
    copy->accum = TE_DTYPE_COUNT;
    copy->tf32 = copy->fp32x3 = copy->fast = copy->written = false;
    s->tensor = te->n_tensor++;
    s->temp_type = to->dtype == type ? TE_DTYPE_COUNT : to->dtype;
    n->changed[stmt + 1] = true;
    return true;
}
