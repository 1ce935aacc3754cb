/* Nodes of derivatives.  */
#include "te/grad/grad.h"

TeExpr *grad_node(Grad *g, TeKind kind, TeExpr *x, TeExpr *y) {
    bool is_bool = (kind >= TE_EQ && kind <= TE_OR) || kind == TE_NOT;
    TeDtype type = is_bool ? TE_BOOL : y ? te_meet(x->type, y->type) : x->type;
    TeExpr *e = te_expr_node(g->a, kind, type, y ? 2 : 1, 0);
    e->args[0] = x;
    if (y) e->args[1] = y;
    return e;
}

TeExpr *grad_call(Grad *g, TeFn fn, TeExpr *x, TeExpr *y) {
    TeExpr *e = grad_node(g, TE_CALL, x, y);
    e->v.fn = fn;
    return e;
}

TeExpr *grad_select(Grad *g, TeExpr *c, TeExpr *x, TeExpr *y) {
    TeExpr *e = te_expr_node(g->a, TE_SELECT, x->type, 3, 0);
    e->args[0] = c;
    e->args[1] = x;
    e->args[2] = y;
    return e;
}

TeExpr *grad_real(Grad *g, double v, TeDtype type) {
    TeExpr *e = te_expr_node(g->a, TE_REAL, type, 0, 0);
    e->v.r = v;
    return e;
}

TeExpr *grad_size(Grad *g, const TeExtent *e) {
    return e->expr ? te_expr_copy(g->a, e->expr) : te_expr_int(g->a, e->value, TE_I64, 0);
}

TeExpr *grad_read(Grad *g, int tensor, int n) {
    TeDtype type = g->tensor[tensor].t.dtype;
    TeExpr *e = te_expr_node(g->a, TE_READ, type == TE_F64 ? TE_F64 : TE_F32, n, 0);
    e->v.ref = tensor;
    e->inside = TE_INSIDE_ALWAYS;
    for (int i = 0; i < n; i++) e->args[i] = te_expr_index(g->a, i, 0);
    return e;
}

TeExpr *grad_both(Grad *g, TeExpr *x, TeExpr *y) {
    if (!x || !y) return x ? x : y;
    return grad_node(g, TE_AND, x, y);
}

static void put(Grad *g, TeExpr **slot, TeExpr *const *by) {
    TeExpr *e = *slot;
    if (e->kind == TE_INDEX && by[e->v.ref]) {
        *slot = te_expr_copy(g->a, by[e->v.ref]);
        return;
    }
    for (int i = 0; i < e->n_args; i++) put(g, &e->args[i], by);
    if (e->other) put(g, &e->other, by);
}

TeExpr *grad_put(Grad *g, const TeExpr *e, TeExpr *const *by) {
    if (!e) return NULL;
    TeExpr *copy = te_expr_copy(g->a, e);
    put(g, &copy, by);
    return copy;
}
