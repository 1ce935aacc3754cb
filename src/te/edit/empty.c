/* What is empty at all sizes: nothing that is planned later has to expect it.  Reductions over
 * nothing have a value for each type (te_identity); nobody sees what a statement without elements
 * computes.  */
#include "te/front/front.h"
#include "te/edit/edit.h"
#include "te/tree/tree.h"
#include <math.h>

void te_identity(TeRedop red, TeDtype type, int64_t *i, double *r) {
    bool most = red == TE_RED_MIN || red == TE_RED_ALL;
    *i = red == TE_RED_PROD || red == TE_RED_ALL;
    *r = red == TE_RED_PROD;
    if (red != TE_RED_MAX && red != TE_RED_MIN)
        return;
    *r = most ? (double)INFINITY : -(double)INFINITY;
    if (type == TE_I64)
        *i = most ? INT64_MAX : INT64_MIN;
    else
        *i = type == TE_I32 ? (most ? INT32_MAX : INT32_MIN) : most;
}

static bool has_elements(const TeTensor *t) {
    for (int d = 0; d < t->rank; d++) {
        if (t->shape[d].value == 0)
            return false;
    }
    return true;
}

static bool has_range(const TeStmt *s, const TeExpr *reduce) {
    for (int i = 0; i < reduce->n_index; i++) {
        if (te_index_extent(&s->index[reduce->index[i]]) == 0)
            return false;
    }
    return true;
}

static TeExpr *identity(Norm *n, const TeExpr *reduce) {
    TeExpr *e = te_expr_zero(n->a, reduce->type, reduce->pos);
    int64_t i;
    double r;
    te_identity((TeRedop)reduce->red, reduce->type, &i, &r);
    if (e->kind == TE_REAL) {
        e->v.r = r;
        e->whole = isfinite(r);
    } else {
        e->v.i = i;
    }
    return e;
}

/* The same value with a type of its own, wherever it stands.  */
static TeExpr *typed(Norm *n, TeExpr *e, TeDtype type) {
    if (e->type == type && te_own_type(e))
        return e;
    TeExpr *cast = te_expr_node(n->a, TE_CAST, type, 1, e->pos);
    cast->args[0] = e;
    return cast;
}

static bool replace(Norm *n, const TeStmt *s, TeExpr **slot) {
    TeExpr *e = *slot, *value = NULL;
    bool any = false;
    if (e->kind == TE_REDUCE && !has_range(s, e))
        value = identity(n, e);
    else if (e->kind == TE_READ && !has_elements(&n->te->tensor[e->v.ref]))
        value = e->other ? e->other : te_expr_zero(n->a, e->type, e->pos);
    if (value) {
        replace(n, s, &value);
        *slot = typed(n, value, e->type);
        return true;
    }
    for (int i = 0; i < e->n_args; i++)
        any |= replace(n, s, &e->args[i]);
    return e->other ? replace(n, s, &e->other) || any : any;
}

bool normalize_empty(Norm *n, TeStmt *s) {
    for (int i = 0; i < s->n_left; i++) {
        if (te_index_extent(&s->index[i]) > 0)
            continue;
        s->rhs = te_expr_zero(n->a, s->rhs->type, s->pos);
        return true;
    }
    bool any = replace(n, s, &s->rhs);
    if (any)
        keep_storage(s->rhs);
    return any;
}
