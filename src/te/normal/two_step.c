/* Reductions in two steps: over the indices that lie contiguously first, which leaves rows, then
 * over those that stride across them, as for statistics of a channel in NCHW.
 *
 * Holds for every reduction but positions, whose order the language leaves open: integers wrap, NaN
 * wins, and what leaves the range of reals in one order only is right either way.  A sum of squared
 * deviations from a mean is made of those from the means of parts where all of it is real and of
 * one type, so that a part's mean is as exact as the terms are: one of integers is floored.  */
#include "te/access/access.h"
#include "te/access/mean.h"
#include "te/normal/normalize.h"
#include "te/tree/tree.h"
#include <string.h>

static bool is_long(const TeStmt *s, int index) { return s->index[index].hi.value > 1; }

/* Does the read take one element for each point that e's indices have, none outside?  */
static bool takes_each_once(const Te *te, const TeStmt *s, const TeExpr *e, const Access *x) {
    uint32_t needed = access_uses(e);
    if (!x->affine)
        return false;
    for (int i = 0; i < e->n_index; i++) needed |= 1u << e->index[i];
    for (int i = 0; i < s->n_index; i++) {
        if (is_long(s, i) && (needed >> i & 1) && !(x->uses >> i & 1))
            return false;
    }
    for (int d = 0; d < te->tensor[x->tensor].rank; d++) {
        int moving = 0;
        for (int i = 0; i < s->n_index; i++) moving += x->sub[d].coef[i] != 0;
        if (moving > 1 || (x->guard[d] && x->read->inside != TE_INSIDE_GIVEN))
            return false;
    }
    return true;
}

/* The index of e that is the next of a run whose outermost is `inner` (-1: it has none yet); -1:
 * the run ends.  */
static int next_of_run(const Te *te, const TeStmt *s, const TeExpr *e, const Access *x, int inner) {
    for (int i = 0; i < e->n_index; i++) {
        int index = e->index[i];
        if (!is_long(s, index) || index == inner) continue;
        if (inner < 0 ? x->offset.coef[index] == 1 && !(x->varies >> index & 1)
                      : access_as_one(te, s, x, index, inner))
            return index;
    }
    return -1;
}

/* The indices of e along which the read is contiguous at all sizes.  */
static uint32_t contiguous(const Te *te, const TeStmt *s, const TeExpr *e, const Access *x) {
    uint32_t found = 0;
    for (int at = -1; (at = next_of_run(te, s, e, x, at)) >= 0;) found |= 1u << at;
    return found;
}

/* e over the indices in `inner`, inside of one over the others.  */
static void nest(Norm *n, TeExpr *e, uint32_t inner) {
    TeExpr *step = ARENA_NEW(n->a, TeExpr);
    TeExpr *body = e->args[0];
    uint8_t index[TE_MAX_INDICES];
    int all = e->n_index;
    *step = *e;
    memcpy(index, e->index, sizeof index);
    step->args = ARENA_ARRAY(n->a, TeExpr *, 1);
    step->args[0] = body;
    e->args[0] = step;
    step->n_index = e->n_index = 0;
    for (int i = 0; i < all; i++) {
        TeExpr *to = inner >> index[i] & 1 ? step : e;
        to->index[to->n_index++] = index[i];
    }
}

/* What statement k reduces over first; 0: it is not worth two steps.  */
static uint32_t find_inner(Norm *n, int k) {
    const TeStmt *s = &n->te->stmt[k];
    const TeExpr *e = s->rhs;
    uint32_t across = 0;
    Scan scan;
    if (e->kind != TE_REDUCE || te_positional(e) || access_scan(s, &scan)) return 0;
    te_expr_list_reads(n->a, s->rhs);
    ReadList reads = access_reads(e->args[0]);
    for (int i = 0; i < e->n_index; i++)
        across |= is_long(s, e->index[i]) ? 1u << e->index[i] : 0;
    for (int i = 0; i < reads.n; i++) {
        Access x;
        access_read(n->te, s, reads.at[i], &x);
        uint32_t inner = takes_each_once(n->te, s, e, &x) ? contiguous(n->te, s, e, &x) : 0;
        if (inner && inner != across) return inner;
    }
    return 0;
}

/* ---- statements of which the first step makes one pass ---- */

/* A statement in two steps: as it was, and the read that its second step reduces, in the indices
 * of the statement as it was.  */
typedef struct TwoStep {
    TeStmt was;
    const TeExpr *partial;
    uint32_t inner;
    struct TwoStep *next;
} TwoStep;

static bool same_indices(const TeStmt *x, const TeStmt *y) {
    bool same = x->n_left == y->n_left && x->n_index == y->n_index;
    for (int i = 0; i < x->n_index && same; i++)
        same = te_extent_same(&x->index[i].hi, &y->index[i].hi);
    return same && x->rhs->n_index == y->rhs->n_index &&
           memcmp(x->rhs->index, y->rhs->index, x->rhs->n_index) == 0;
}

static bool share_read(const TeExpr *x, const TeExpr *y) {
    ReadList a = access_reads(x), b = access_reads(y);
    for (int i = 0; i < a.n; i++) {
        for (int j = 0; j < b.n; j++) {
            if (access_same(a.at[i], b.at[j])) return true;
        }
    }
    return false;
}

/* One that reduces the same elements over the same indices: decided for it, decided for all.  */
static const TwoStep *sibling(const TwoStep *x, const TeStmt *s, uint32_t inner) {
    while (x && !(x->inner == inner && same_indices(&x->was, s) && share_read(x->was.rhs, s->rhs)))
        x = x->next;
    return x;
}

/* Is it real, and of the same type in both statements, with its terms and all between?  */
static bool is_real_throughout(const TeStmt *sum, const TeStmt *s, const TeExpr *e) {
    TeDtype t = s->rhs->type;
    return te_dtype_class(t) == TE_CLASS_REAL && sum->rhs->type == t && e->type == t &&
           e->args[0]->type == t && te_same_rules(sum, s);
}

/* (E - x) * (E - x), x the mean of E that another statement in two steps made; or NULL.  */
static const TeExpr *deviation(const Te *te, const TwoStep *x, const TeStmt *s) {
    const TeExpr *body = s->rhs->args[0], *e = body->args ? body->args[0] : NULL;
    if (s->rhs->red != TE_RED_SUM || x->was.rhs->red != TE_RED_SUM || body->kind != TE_MUL ||
        !te_expr_same(e, body->args[1]) || e->kind != TE_SUB || e->args[1]->kind != TE_READ ||
        !is_real_throughout(&x->was, s, e) || !te_expr_same(e->args[0], x->was.rhs->args[0]))
        return NULL;
    const TeExpr *mean = e->args[1];
    for (int k = 0; k < te->n_stmt; k++) {
        const TeStmt *m = &te->stmt[k];
        if (m->tensor != mean->v.ref) continue;
        bool own = te_mean_of(te, m, &x->was) == x->was.tensor && m->n_left == s->n_left;
        for (int d = 0; d < mean->n_args && own; d++)
            own = mean->args[d]->kind == TE_INDEX && mean->args[d]->v.ref == d;
        return own ? mean : NULL;
    }
    return NULL;
}

/* How many terms a part has; 0: that is known at run time only.  */
static double count_of(const TeStmt *s, uint32_t inner) {
    double count = 1;
    for (int i = 0; i < s->n_index; i++) {
        if (!(inner >> i & 1)) continue;
        count *= s->index[i].hi.expr ? 0 : (double)s->index[i].hi.value;
    }
    return count;
}

static TeExpr *binary(Arena *a, TeKind kind, const TeExpr *x, const TeExpr *y) {
    TeExpr *e = te_expr_node(a, kind, x->type, 2, x->pos);
    e->args[0] = te_expr_copy(a, x);
    e->args[1] = te_expr_copy(a, y);
    return e;
}

static TeExpr *real(Arena *a, double v, const TeExpr *like) {
    TeExpr *e = te_expr_node(a, TE_REAL, like->type, 0, like->pos);
    e->v.r = v;
    return e;
}

/* A statement before statement k that makes the means of parts, from their sums; its tensor.  */
static int mean_of_partials(Norm *n, int k, int sums, double count) {
    Te *te = n->te;
    int from = 0, to = te->n_tensor++;
    while (te->stmt[from].tensor != sums) from++;
    TeStmt m = te->stmt[from];
    te->tensor[to] = te->tensor[sums];
    te->tensor[to].name = normalize_name(n, NULL, te->tensor[sums].name, "mean");
    TeExpr *sum = te_expr_node(n->a, TE_READ, te->tensor[sums].dtype, m.n_left, m.pos);
    sum->v.ref = sums;
    for (int d = 0; d < m.n_left; d++) sum->args[d] = te_expr_index(n->a, d, m.pos);
    m.tensor = to;
    m.n_index = m.n_left;
    m.asg = TE_ASSIGN;
    m.accum = TE_DTYPE_COUNT;
    m.tf32 = m.fp32x3 = false;
    m.rhs = binary(n->a, TE_DIV, sum, real(n->a, count, sum));
    normalize_insert(n, k, n->origin[k], &m);
    return to;
}

/* The first step sums squares of deviations from the mean p of a part; the second adds to them what
 * p's own deviation makes up in a part of `count`.  Returns that; *slot is E's mean m in s.  */
static TeExpr *from_partials(Norm *n, TeStmt *s, const TeExpr *mean, const TeExpr *partial_mean,
                             double count) {
    Arena *a = n->a;
    TeExpr *body = s->rhs->args[0], *apart = binary(a, TE_SUB, partial_mean, mean);
    TeExpr *square = binary(a, TE_MUL, apart, apart);
    for (int i = 0; i < 2; i++) body->args[i]->args[1] = te_expr_copy(a, partial_mean);
    return binary(a, TE_MUL, real(a, count, square), square);
}

/* Statement k in two steps.  Where it follows the mean that x made, so do its parts: theirs.  */
static bool in_two_steps(Norm *n, int *k, uint32_t inner, const TwoStep *x, TwoStep *out) {
    TeStmt s = n->te->stmt[*k];
    const TeExpr *mean = x ? deviation(n->te, x, &s) : NULL;
    double count = mean ? count_of(&s, inner) : 0;
    normalize_note(n, TE_MADE_STEPS, true);
    normalize_note(n, TE_MADE_PARTS, count > 0);
    TeExpr *more = NULL;
    *out = (TwoStep){.was = s, .inner = inner};
    out->was.rhs = te_expr_copy(n->a, s.rhs);
    te_expr_list_reads(n->a, out->was.rhs);
    if (count > 0) {
        TeExpr *partial_mean = te_expr_copy(n->a, x->partial);
        partial_mean->v.ref = mean_of_partials(n, (*k)++, x->partial->v.ref, count);
        more = from_partials(n, &s, mean, partial_mean, count);
    }
    int all = n->te->n_stmt;
    nest(n, s.rhs, inner);
    HoistFrom from = {.stmt = &s, .origin = n->origin[*k]};
    if (normalize_hoist(n, &from, *k, &s.rhs->args[0], false)) return false;
    out->partial = te_expr_copy(n->a, s.rhs->args[0]);
    if (more) s.rhs->args[0] = binary(n->a, TE_ADD, s.rhs->args[0], more);
    normalize_indices(&s);
    *k += n->te->n_stmt > all;
    n->te->stmt[*k] = s;
    n->changed[*k] = true;
    return true;
}

void normalize_two_step(Norm *n) {
    TwoStep *made = NULL;
    for (int k = 0; k < n->te->n_stmt && n->te->n_stmt < TE_MAX_STMTS - 2; k++) {
        uint32_t inner = find_inner(n, k);
        if (!inner) continue;
        const TwoStep *like = sibling(made, &n->te->stmt[k], inner);
        if (!like && !te_takes(n->te, &n->te->stmt[k], TE_TWO_STEP)) continue;
        TwoStep *now = ARENA_NEW(n->a, TwoStep);
        while (like && like->next && !deviation(n->te, like, &n->te->stmt[k]))
            like = sibling(like->next, &n->te->stmt[k], inner);
        if (!in_two_steps(n, &k, inner, like, now)) return;
        now->next = made;
        made = now;
    }
}
