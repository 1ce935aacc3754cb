/* Equal statements: the value is computed once.
 *
 * Holds for all types and data where both have the same expression, indices, types and permissions,
 * and neither is rounded when it is stored.  */
#include "te/edit/edit.h"
#include "te/tree/tree.h"

/* Is it worth a read: a reduction, or more than the read of one element?  */
static bool is_work(const TeExpr *e) {
    return e->kind == TE_REDUCE || e->kind == TE_CALL || (e->kind != TE_READ && e->n_args > 0);
}

/* The same values at the same indices under the same permissions, stored without rounding.  */
static bool same_statement(const Te *te, const TeStmt *x, const TeStmt *y) {
    const TeTensor *s = &te->tensor[x->tensor], *t = &te->tensor[y->tensor];
    bool whole = s->dtype == te_dtype_compute(s->dtype);
    bool same = whole && s->dtype == t->dtype && x->n_left == y->n_left &&
                x->n_index == y->n_index && x->accum == y->accum &&
                x->tf32 == y->tf32 && x->fp32x3 == y->fp32x3 && x->fast == y->fast &&
                x->written == y->written &&
                te_expr_same(x->rhs, y->rhs);
    for (int i = 0; i < x->n_index && same; i++)
        same = te_extent_same(&x->index[i].hi, &y->index[i].hi);
    return same;
}

static bool redirect(TeExpr *e, int from, int to) {
    bool any = e->kind == TE_READ && e->v.ref == from;
    if (any)
        e->v.ref = to;
    for (int i = 0; i < e->n_args; i++)
        any |= redirect(e->args[i], from, to);
    return any | (e->other && redirect(e->other, from, to));
}

/* Statement k becomes a read of tensor `made` at its own point.  */
static void copy_of(Norm *n, int k, int made) {
    TeStmt *s = &n->te->stmt[k];
    TeTensor *t = &n->te->tensor[made];
    TeExpr *read = te_expr_node(n->a, TE_READ, te_dtype_compute(t->dtype), s->n_left, s->rhs->pos);
    read->v.ref = made;
    read->store = t->dtype;
    for (int d = 0; d < s->n_left; d++)
        read->args[d] = te_expr_index(n->a, d, s->rhs->pos);
    s->rhs = read;
    s->n_index = s->n_left;
    s->asg = TE_ASSIGN;
    s->accum = TE_DTYPE_COUNT;
    s->tf32 = s->fp32x3 = s->written = false;
    n->changed[k] = true;
}

void normalize_share(Norm *n) {
    Te *te = n->te;
    for (int k = 1; k < te->n_stmt; k++) {
        int first = 0, own = te->stmt[k].tensor;
        if (!is_work(te->stmt[k].rhs))
            continue;
        while (first < k && !same_statement(te, &te->stmt[first], &te->stmt[k]))
            first++;
        if (first == k)
            continue;
        int made = te->stmt[first].tensor;
        normalize_note(n, TE_MADE_SHARED, true);
        for (int i = k + 1; i < te->n_stmt; i++)
            n->changed[i] |= redirect(te->stmt[i].rhs, own, made);
        if (te->tensor[own].role == TE_OUTPUT)
            copy_of(n, k, made);
    }
}
