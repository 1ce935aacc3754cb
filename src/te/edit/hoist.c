/* Statements of their own for reductions inside of expressions, ranges from 0, nested reductions of
 * one kind as one.
 *
 * Holds for all types and data: a reduction has no effect, so it may be made where a condition
 * would have left it out, and reads that the condition kept inside are guarded then.  What a
 * reduction inside of another makes is of its type, so joining them rounds less; positions are not
 * joined.  A cast that changes no value goes; one to f8e5m2 saturates infinities.  */
#include "te/access/access.h"
#include "te/tree/arith.h"
#include "te/edit/edit.h"
#include "te/tree/tree.h"
#include <string.h>

static const char *redop_name(TeRedop red) {
    static const char *const name[] = {
#define X(id, text) text,
        TE_REDOPS(X)
#undef X
    };
    return name[red];
}

static TeExpr *extent_expr(Norm *n, const TeExtent *e, uint32_t pos) {
    return e->expr ? te_expr_copy(n->a, e->expr) : te_expr_int(n->a, e->value, TE_I64, pos);
}

static TeExtent extent_between(Norm *n, const TeExtent *lo, const TeExtent *hi, uint32_t pos) {
    TeExtent e = {.value = hi->value - lo->min, .min = hi->min - lo->value, .multiple = 1};
    e.min = e.min > 0 ? e.min : 0;
    if (!lo->expr && !hi->expr)
        return e;
    TeExpr *sub = te_expr_node(n->a, TE_SUB, TE_I64, 2, pos);
    sub->args[0] = extent_expr(n, hi, pos);
    sub->args[1] = extent_expr(n, lo, pos);
    e.expr = sub;
    return e;
}

static void shift_index(Norm *n, TeExpr **slot, int index, const TeExtent *by) {
    TeExpr *e = *slot;
    if (e->kind == TE_INDEX && e->v.ref == index) {
        TeExpr *sum = te_expr_node(n->a, TE_ADD, TE_I64, 2, e->pos);
        sum->args[0] = e;
        sum->args[1] = extent_expr(n, by, e->pos);
        *slot = sum;
        return;
    }
    for (int i = 0; i < e->n_args; i++)
        shift_index(n, &e->args[i], index, by);
    if (e->other)
        shift_index(n, &e->other, index, by);
}

static bool start_at_zero(Norm *n, TeStmt *s) {
    bool any = false;
    for (int i = 0; i < s->n_index; i++) {
        TeIndex *x = &s->index[i];
        if (x->lo.value == 0 && !x->lo.expr)
            continue;
        shift_index(n, &s->rhs, i, &x->lo);
        x->hi = extent_between(n, &x->lo, &x->hi, s->pos);
        x->lo = (TeExtent){.multiple = 1};
        x->where = false;
        any = true;
    }
    return any;
}

/* Has a type of its own, so that it may stand without the cast around it.  */
static bool is_typed_leaf(const TeExpr *e) {
    return e->kind == TE_READ || e->kind == TE_SCALAR || e->kind == TE_CAST || e->kind == TE_REDUCE;
}

/* Drops casts that change nothing and joins nested reductions of one kind.  (A cast to f8e5m2 may
 * change an infinity of that type: it saturates.)  */
static bool simplify(Norm *n, TeExpr **slot) {
    TeExpr *e = *slot;
    bool any = false;
    for (int i = 0; i < e->n_args; i++)
        any |= simplify(n, &e->args[i]);
    if (e->other)
        any |= simplify(n, &e->other);
    if (e->kind == TE_CAST && is_typed_leaf(e->args[0]) && e->type == e->args[0]->type &&
        (e->store == e->type ||
         (e->store == e->args[0]->store && e->store != TE_F8E5M2))) {
        *slot = e->args[0];
        return true;
    }
    const TeExpr *inner = e->kind == TE_REDUCE ? e->args[0] : e;
    if (inner == e || inner->kind != TE_REDUCE || inner->red != e->red || inner->type != e->type ||
        te_is_paired(e))
        return any;
    memcpy(e->index + e->n_index, inner->index, inner->n_index);
    e->n_index = (uint8_t)(e->n_index + inner->n_index);
    e->args[0] = inner->args[0];
    return true;
}

static TeExtent extent_product(Norm *n, const TeExtent *x, const TeExtent *y, uint32_t pos) {
    TeExtent e = {.min = x->min * y->min};
    if (!mul_fits(x->value, y->value, &e.value))
        e.value = INT64_MAX;
    if (!mul_fits(x->multiple, y->multiple, &e.multiple) || e.value == INT64_MAX)
        e.multiple = 1;
    if (x->expr || y->expr) {
        TeExpr *mul = te_expr_node(n->a, TE_MUL, TE_I64, 2, pos);
        mul->args[0] = extent_expr(n, x, pos);
        mul->args[1] = extent_expr(n, y, pos);
        e.expr = mul;
    }
    return e;
}

void normalize_dense(Norm *n, TeTensor *t) {
    TeExtent stride = {.value = 1, .min = 1, .multiple = 1};
    for (int d = te_own_rank(t) - 1; d >= 0; d--) {
        t->stride[d] = stride;
        stride = extent_product(n, &stride, &t->shape[d], t->pos);
    }
}

static TeExpr *read_of(Norm *n, int tensor, const TeExpr *reduce, const uint8_t *at, int rank) {
    TeExpr *r = te_expr_node(n->a, TE_READ, reduce->type, rank, reduce->pos);
    r->v.ref = tensor;
    for (int d = 0; d < rank; d++)
        r->args[d] = te_expr_index(n->a, at[d], reduce->pos);
    return r;
}

/* Does the body of a sum multiply?  A sum without factors has none to shorten.  */
static bool has_factors(const TeExpr *e) {
    if (e->kind == TE_MUL) return true;
    for (int i = 0; i < e->n_args && e->kind != TE_READ; i++) {
        if (has_factors(e->args[i])) return true;
    }
    return false;
}

/* The statement T[free] = reduce, whose indices are renumbered for it.  */
static TeStmt statement_of(Norm *n, const TeStmt *s, int tensor, TeExpr *reduce,
                           const uint8_t *free, int rank) {
    TeTensor *t = &n->te->tensor[tensor];
    uint8_t to[TE_MAX_INDICES] = {0};
    bool sum = reduce->red == TE_RED_SUM;
    TeStmt h = {.tensor = tensor, .n_left = rank, .n_index = rank, .accum = TE_DTYPE_COUNT,
                 .temp_type = TE_DTYPE_COUNT, .fast = s->fast, .pos = reduce->pos, .site = s->site};
    for (int d = 0; d < rank; d++) {
        h.index[d] = s->index[free[d]];
        h.index[d].reduction = false;
        to[free[d]] = (uint8_t)d;
        t->shape[d] = h.index[d].hi;
    }
    normalize_dense(n, t);
    for (int i = 0; i < reduce->n_index; i++) {
        to[reduce->index[i]] = (uint8_t)h.n_index;
        h.index[h.n_index++] = s->index[reduce->index[i]];
    }
    if (sum || reduce->red == TE_RED_PROD)
        h.accum = s->accum;
    h.tf32 = s->tf32 && sum && has_factors(reduce->args[0]);
    h.fp32x3 = s->fp32x3 && sum && has_factors(reduce->args[0]);
    h.written = s->written && sum;
    te_expr_renumber(reduce, to);
    h.rhs = reduce;
    return h;
}

static DiagPlace place_of(const Norm *n, uint32_t pos) {
    return (DiagPlace){.file = n->te->file, .text = n->te->text, .len = n->te->text_len,
                       .pos = pos};
}

static Status too_many(Norm *n, uint32_t pos) {
    return diag_error(n->d, ST_TE, "limit", place_of(n, pos),
                      "more than %d statements after splitting reductions", TE_MAX_STMTS);
}

/* A temporary that has the value of h before statement `end`; -1 if there is none.  */
static int same_temporary(const Te *te, const TeStmt *h, int end) {
    for (int k = 0; k < end; k++) {
        const TeStmt *s = &te->stmt[k];
        bool same = te->tensor[s->tensor].role == TE_TEMP && s->temp_type == TE_DTYPE_COUNT &&
                    s->n_left == h->n_left && s->n_index == h->n_index && s->accum == h->accum &&
                    s->tf32 == h->tf32 && s->fp32x3 == h->fp32x3 && s->fast == h->fast &&
                    s->written == h->written &&
                    te_expr_same(s->rhs, h->rhs);
        for (int i = 0; i < h->n_index && same; i++)
            same = te_extent_same(&s->index[i].hi, &h->index[i].hi);
        if (same)
            return s->tensor;
    }
    return -1;
}

Status normalize_hoist(Norm *n, const HoistFrom *from, int k, TeExpr **slot, bool branch) {
    const TeStmt *s = from->stmt;
    TeExpr *reduce = *slot;
    uint8_t order[TE_MAX_INDICES];
    uint32_t free = access_uses(reduce);
    int rank = 0, tensor = n->te->n_tensor;
    for (int i = 0; i < reduce->n_index; i++)
        free &= ~(1u << reduce->index[i]);
    for (int i = 0; i < s->n_index; i++) {
        if (free >> i & 1)
            order[rank++] = (uint8_t)i;
    }
    if (rank > TE_MAX_RANK)
        return diag_error(n->d, ST_TE, "limit", place_of(n, reduce->pos),
                          "a reduction inside an expression depends on more than %d indices",
                          TE_MAX_RANK);
    if (n->te->n_stmt >= TE_MAX_STMTS - 1)
        return too_many(n, reduce->pos);
    if (branch)
        normalize_guard_reads(n, reduce);

    n->te->tensor[tensor] = (TeTensor){.role = TE_TEMP, .dtype = reduce->type, .rank = rank,
                                        .pos = reduce->pos};
    n->te->tensor[tensor].name = normalize_name(n, from->in, n->te->tensor[s->tensor].name,
                                                redop_name((TeRedop)reduce->red));
    TeStmt h = statement_of(n, s, tensor, reduce, order, rank);
    int known = same_temporary(n->te, &h, k);
    if (known < 0) {
        n->te->n_tensor++;
        normalize_insert(n, k, from->origin, &h);
    }
    normalize_note(n, known < 0 ? TE_MADE_HOISTED : TE_MADE_KNOWN, true);
    *slot = read_of(n, known < 0 ? tensor : known, reduce, order, rank);
    return ST_OK;
}

/* Does it depend on all indices on the left?  Else it would be made for each value of one.  */
static bool uses_all(const TeStmt *s, const TeExpr *reduce) {
    uint32_t used = access_uses(reduce);
    for (int i = 0; i < s->n_left; i++)
        if (!(used >> i & 1) && s->index[i].hi.value > 1) return false;
    return true;
}

/* Hoists every reduction below *slot, innermost first.  `branch`: some condition decides whether
 * *slot is evaluated.  */
static Status hoist_below(Norm *n, const HoistFrom *from, TeExpr **slot, bool branch, bool root) {
    TeExpr *e = *slot;
    for (int i = 0; i < e->n_args; i++) {
        bool decided = i > 0 && (e->kind == TE_SELECT || e->kind == TE_AND || e->kind == TE_OR);
        Status st = hoist_below(n, from, &e->args[i], branch || decided, false);
        if (st != ST_OK)
            return st;
    }
    if (e->other) {
        Status st = hoist_below(n, from, &e->other, true, false);
        if (st != ST_OK)
            return st;
    }
    if (e->kind != TE_REDUCE || (root && uses_all(from->stmt, e)))
        return ST_OK;
    return normalize_hoist(n, from, n->te->n_stmt, slot, branch);
}

void normalize_indices(TeStmt *s) {
    uint8_t to[TE_MAX_INDICES] = {0};
    TeIndex kept[TE_MAX_INDICES];
    int n = s->n_left;
    for (int i = 0; i < n; i++) {
        to[i] = (uint8_t)i;
        kept[i] = s->index[i];
    }
    for (int i = 0; s->rhs->kind == TE_REDUCE && i < s->rhs->n_index; i++) {
        to[s->rhs->index[i]] = (uint8_t)n;
        kept[n++] = s->index[s->rhs->index[i]];
    }
    te_expr_renumber(s->rhs, to);
    memcpy(s->index, kept, (size_t)n * sizeof kept[0]);
    s->n_index = n;
}

/* The sum made anew: factors that all terms share go behind it, and those that neighbours share
 * have no name.  NULL: it stays.  */
static TeExpr *made_anew(Norm *n, const TeStmt *s, const TeExpr *sum) {
    ScaledFactors f;
    TeExpr *opened = access_opened(n->a, n->te, s, sum);
    TeExpr *factored = access_factored(n->a, n->te, s, opened ? opened : sum);
    if (factored || !opened) return factored;
    return access_scaled_factors(n->te, s, opened, &f) ? opened : NULL;
}

/* Factors of sums.  */
static bool move_factors(Norm *n, const TeStmt *s, TeExpr **slot) {
    TeExpr *e = *slot;
    bool any = false;
    for (int i = 0; i < e->n_args; i++) any |= move_factors(n, s, &e->args[i]);
    if (e->other) any |= move_factors(n, s, &e->other);
    TeExpr *anew = e->kind == TE_REDUCE ? made_anew(n, s, e) : NULL;
    if (anew) *slot = anew;
    return any || anew;
}

static bool has_inner_reduction(const TeExpr *e, bool root) {
    if (e->kind == TE_REDUCE && !root)
        return true;
    for (int i = 0; i < e->n_args; i++) {
        if (has_inner_reduction(e->args[i], false))
            return true;
    }
    return e->other && has_inner_reduction(e->other, false);
}

Status normalize_append(Norm *n, const Te *in, int stmt) {
    TeStmt s = in->stmt[stmt];
    s.rhs = te_expr_copy(n->a, s.rhs);
    bool changed = normalize_note(n, TE_MADE_RANGES, start_at_zero(n, &s));
    changed |= normalize_note(n, TE_MADE_EMPTY, normalize_empty(n, &s));
    changed |= normalize_note(n, TE_MADE_NESTED, simplify(n, &s.rhs));
    changed |= normalize_fold(n, &s.rhs);
    if (n->te->n_stmt + in->n_stmt - stmt < TE_MAX_STMTS / 2)       /* room for what it hoists */
        changed |= normalize_note(n, TE_MADE_FACTORS, move_factors(n, &s, &s.rhs));
    changed |= has_inner_reduction(s.rhs, true);
    HoistFrom from = {in, &s, stmt};
    Status st = hoist_below(n, &from, &s.rhs, false, true);
    if (st != ST_OK)
        return st;
    if (n->te->n_stmt >= TE_MAX_STMTS)
        return too_many(n, s.pos);
    normalize_indices(&s);
    if (s.rhs->kind != TE_REDUCE) {
        s.accum = TE_DTYPE_COUNT;
        s.written = false;
    }
    if (s.rhs->kind != TE_REDUCE || !has_factors(s.rhs->args[0])) s.tf32 = s.fp32x3 = false;
    normalize_insert(n, n->te->n_stmt, stmt, &s);
    n->changed[n->te->n_stmt - 1] = changed;
    return ST_OK;
}
