/* From a read at all points of a statement to a sum at each element of what is read.
 *
 * A subscript that is linear in an index says what that index is at an element: the index goes, and
 * its range becomes a condition.  Of several the longest goes.  What no index solves is compared
 * with the element's place, which is right for any subscript.  */
#include "te/grad/grad.h"

/* Indices while this is worked out: the dimensions of the tensor first, then the statement's.  */
enum { MOST = TE_MAX_RANK + TE_MAX_INDICES };

typedef struct {
    Grad *g;
    const TeStmt *s;
    const TeTensor *x;        /* what is read */
    int rank, n;              /* of x; indices in all */
    TeExpr *is[MOST];         /* what an index was solved to be */
    TeExpr *range, *equal;    /* conditions; NULL: none */
} Solve;

static bool mentions(const TeExpr *e, int index) {
    if (e->kind == TE_INDEX) return e->v.ref == index;
    bool does = e->other && mentions(e->other, index);
    for (int i = 0; i < e->n_args && !does; i++) does = mentions(e->args[i], index);
    return does;
}

static bool reads(const TeExpr *e) {
    bool does = e->kind == TE_READ || (e->other && reads(e->other));
    for (int i = 0; i < e->n_args && !does; i++) does = reads(e->args[i]);
    return does;
}

/* A number that is known now.  */
static bool constant(const Grad *g, const TeExpr *e, int64_t *v) {
    if (e->kind == TE_INT) *v = e->v.i;
    else if (e->kind == TE_SIZE && g->in->size[e->v.ref].kind != TE_SIZE_RUNTIME &&
             !g->in->size[e->v.ref].extent.expr)
        *v = g->in->size[e->v.ref].extent.value;
    else return false;
    return true;
}

/* e = c * index + rest, where NULL is a rest of 0.  False: it is not of this form.  */
static bool linear(Grad *g, TeExpr *e, int index, int64_t *c, TeExpr **rest) {
    int64_t by;
    *c = 0;
    *rest = e;
    if (!mentions(e, index)) return true;
    *rest = NULL;
    if (e->kind == TE_INDEX) return *c = 1, true;
    if (e->kind == TE_NEG) {
        if (!linear(g, e->args[0], index, c, rest)) return false;
        *c = -*c;
        if (*rest) *rest = grad_node(g, TE_NEG, *rest, NULL);
        return true;
    }
    if (e->kind == TE_MUL) {
        int known = constant(g, e->args[1], &by) ? 1 : 0;
        if (!known && !constant(g, e->args[0], &by)) return false;
        if (by > INT32_MAX || by < -INT32_MAX) return false;
        if (!linear(g, e->args[1 - known], index, c, rest)) return false;
        *c *= by;
        if (*rest) *rest = grad_node(g, TE_MUL, *rest, e->args[known]);
        return *c < INT32_MAX && *c > -INT32_MAX;
    }
    if (e->kind != TE_ADD && e->kind != TE_SUB) return false;
    int64_t d;
    TeExpr *other;
    if (!linear(g, e->args[0], index, c, rest) || !linear(g, e->args[1], index, &d, &other))
        return false;
    *c += e->kind == TE_SUB ? -d : d;
    if (other && *rest) *rest = grad_node(g, e->kind, *rest, other);
    else if (other) *rest = e->kind == TE_SUB ? grad_node(g, TE_NEG, other, NULL) : other;
    return true;
}

/* The longest index that a subscript can be solved for; -1: there is none.  */
static int pick(Solve *x, TeExpr *e) {
    int best = -1;
    int64_t longest = -1, c;
    TeExpr *rest;
    for (int k = x->rank; k < x->n; k++) {
        int64_t extent = te_index_extent(&x->s->index[k - x->rank]);
        if (x->is[k] || extent <= longest || !linear(x->g, e, k, &c, &rest) || c == 0) continue;
        best = k;
        longest = extent;
    }
    return best;
}

/* Both, the first in front: a condition on what is read stands behind those that say where.  */
static TeExpr *in_order(Grad *g, TeExpr *x, TeExpr *own, const TeExpr *is) {
    bool before = x && reads(x) && !reads(is);
    return before ? grad_both(g, own, x) : grad_both(g, x, own);
}

/* Index k is what makes subscript e the place along dimension d.  */
static void solve(Solve *x, int d, int k, TeExpr *e) {
    Grad *g = x->g;
    const TeIndex *range = &x->s->index[k - x->rank];
    TeExpr *at = te_expr_index(g->a, d, 0), *rest, *own = NULL, *alone[MOST] = {NULL};
    int64_t c;
    (void)linear(g, e, k, &c, &rest);
    TeExpr *is = !rest ? at : grad_node(g, TE_SUB, at, rest);
    if (c < 0) is = rest ? grad_node(g, TE_SUB, rest, at) : grad_node(g, TE_NEG, at, NULL);
    if (c < 0) c = -c;
    if (c > 1) {
        TeExpr *by = te_expr_int(g->a, c, TE_I64, 0);
        own = grad_node(g, TE_EQ, grad_node(g, TE_MOD, is, by),
                        te_expr_zero(g->a, TE_I64, 0));
        is = grad_node(g, TE_DIV, is, by);
    }
    if (is != at || !te_extent_same(&range->hi, &x->x->shape[d])) {
        own = grad_both(g, own, grad_node(g, TE_GE, is, te_expr_zero(g->a, TE_I64, 0)));
        own = grad_both(g, own, grad_node(g, TE_LT, is, grad_size(g, &range->hi)));
    }
    alone[k] = is;
    for (int i = 0; i < x->n; i++)
        if (x->is[i]) x->is[i] = grad_put(g, x->is[i], alone);
    x->is[k] = is;
    if (x->range) x->range = grad_put(g, x->range, alone);
    if (x->equal) x->equal = grad_put(g, x->equal, alone);
    if (own) x->range = in_order(g, x->range, own, is);
}

static void solve_all(Solve *x, const TeExpr *read, TeExpr *const *renumbered) {
    Grad *g = x->g;
    for (int d = 0; d < x->rank; d++) {
        TeExpr *e = grad_put(g, grad_put(g, read->args[d], renumbered), x->is);
        int k = pick(x, e);
        if (k >= 0) solve(x, d, k, e);
        else
            x->equal = grad_both(g, x->equal,
                                 grad_node(g, TE_EQ, e, te_expr_index(g->a, d, 0)));
    }
}

/* The statement's indices that are left, behind those of the element; `to`: what each index is. */
static void number(Solve *x, TeStmt *s, TeExpr **to) {
    Grad *g = x->g;
    for (int k = x->rank; k < x->n; k++) {
        if (x->is[k]) continue;
        to[k] = te_expr_index(g->a, s->n_index, 0);
        s->index[s->n_index] = x->s->index[k - x->rank];
        s->index[s->n_index].where = s->index[s->n_index].reduction = true;
        s->n_index++;
    }
}

static int left(const Solve *x) {
    int n = x->rank;
    for (int k = x->rank; k < x->n; k++) n += !x->is[k];
    return n;
}

int grad_collect(Grad *g, const GradTerm *t) {
    Solve x = {.g = g, .s = t->of, .x = &g->tensor[t->read->v.ref].t, .rank = t->read->n_args,
               .n = t->read->n_args + t->of->n_index};
    TeExpr *renumbered[MOST] = {NULL}, *to[MOST] = {NULL};
    for (int i = 0; i < t->of->n_index; i++)
        renumbered[i] = te_expr_index(g->a, x.rank + i, 0);
    solve_all(&x, t->read, renumbered);
    if (left(&x) > TE_MAX_INDICES) {
        grad_refuse(g, "a read", left(&x), TE_MAX_INDICES);
        return -1;
    }
    TeExpr *weight = grad_put(g, grad_put(g, t->weight, renumbered), x.is);
    TeExpr *when = grad_put(g, grad_put(g, t->when, renumbered), x.is);
    when = grad_both(g, grad_both(g, x.range, when), x.equal);
    int made = grad_tensor(g, t->read->v.ref, weight->type, x.rank, x.x->shape);
    TeStmt *s = grad_assign(g, made, t->of);
    number(&x, s, to);
    TeExpr *body = grad_put(g, weight, to);
    if (when)
        body = grad_select(g, grad_put(g, when, to), body, te_expr_zero(g->a, body->type, 0));
    s->rhs = body;
    if (s->n_index > s->n_left) {
        s->rhs = grad_node(g, TE_REDUCE, body, NULL);
        s->rhs->red = TE_RED_SUM;
        for (int i = s->n_left; i < s->n_index; i++) s->rhs->index[s->rhs->n_index++] = (uint8_t)i;
    }
    grad_push(g, s);
    return made;
}
