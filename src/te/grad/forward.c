/* The statements of an op as derivatives take them: maps, or one reduction as the whole right side,
 * with ranges from 0.  */
#include "te/edit/edit.h"
#include "te/grad/grad.h"

#include <string.h>

static TeExtent less(Grad *g, const TeExtent *x, const TeExtent *y) {
    TeExtent e = {.value = x->value - y->value, .min = x->min - y->min, .multiple = 1};
    if (x->expr || y->expr) e.expr = grad_node(g, TE_SUB, grad_size(g, x), grad_size(g, y));
    return e;
}

/* A copy whose indices begin at 0.  */
static TeStmt *shifted(Grad *g, const TeStmt *from) {
    TeStmt *s = ARENA_NEW(g->a, TeStmt);
    TeExpr *by[TE_MAX_INDICES] = {NULL};
    *s = *from;
    for (int i = 0; i < s->n_index; i++) {
        TeIndex *x = &s->index[i];
        x->where = true;
        if (!x->lo.expr && x->lo.value == 0) continue;
        by[i] = grad_node(g, TE_ADD, te_expr_index(g->a, i, 0), grad_size(g, &x->lo));
        x->hi = less(g, &x->hi, &x->lo);
        x->lo = (TeExtent){.multiple = 1};
    }
    s->rhs = grad_put(g, from->rhs, by);
    s->asg = TE_ASSIGN;
    return s;
}

static void used(const TeExpr *e, bool *is) {
    if (e->kind == TE_INDEX) is[e->v.ref] = true;
    if (e->other) used(e->other, is);
    for (int i = 0; i < e->n_args; i++) used(e->args[i], is);
}

/* Reads that a condition kept inside are guarded, where the condition is no longer around them.  */
static void guard(Grad *g, TeExpr *e) {
    if (e->kind == TE_READ && !te_always_inside(e) && !e->other)
        e->other = te_expr_zero(g->a, e->type, 0);
    for (int i = 0; i < e->n_args; i++) guard(g, e->args[i]);
}

/* The reduction *slot of s becomes a statement of its own, and *slot a read of it.  */
static void move(Grad *g, const TeStmt *s, TeExpr **slot) {
    TeExpr *e = *slot, *to[TE_MAX_INDICES] = {NULL}, *args[TE_MAX_RANK];
    bool is[TE_MAX_INDICES] = {false}, bound[TE_MAX_INDICES] = {false};
    TeExtent shape[TE_MAX_RANK];
    int rank = 0;
    TeStmt *made = ARENA_NEW(g->a, TeStmt);
    *made = *s;
    made->temp_type = TE_DTYPE_COUNT;
    made->accum = TE_DTYPE_COUNT;
    made->n_index = 0;
    used(e->args[0], is);
    for (int i = 0; i < e->n_index; i++) bound[e->index[i]] = true;
    for (int i = 0; i < s->n_index; i++) rank += is[i] && !bound[i];
    if (rank > TE_MAX_RANK) {
        grad_refuse(g, "a reduction inside of an expression", rank, TE_MAX_RANK);
        return;
    }
    rank = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < s->n_index; i++) {
            if (pass ? !bound[i] : bound[i] || !is[i]) continue;
            if (!pass) {
                shape[rank] = s->index[i].hi;
                args[rank++] = te_expr_index(g->a, i, 0);
            }
            to[i] = te_expr_index(g->a, made->n_index, 0);
            made->index[made->n_index] = s->index[i];
            made->index[made->n_index++].reduction = pass;
        }
    made->n_left = rank;
    made->tensor = grad_tensor(g, s->tensor, e->type, rank, shape);
    made->rhs = te_expr_copy(g->a, e);
    made->rhs->args[0] = grad_put(g, e->args[0], to);
    for (int i = 0; i < e->n_index; i++)
        made->rhs->index[i] = (uint8_t)to[e->index[i]]->v.ref;
    guard(g, made->rhs->args[0]);
    grad_push(g, made);
    *slot = te_expr_node(g->a, TE_READ, e->type, rank, e->pos);
    (*slot)->v.ref = made->tensor;
    for (int i = 0; i < rank; i++) (*slot)->args[i] = args[i];
}

static void hoist(Grad *g, const TeStmt *s, TeExpr **slot, bool root) {
    TeExpr *e = *slot;
    if (e->other) hoist(g, s, &e->other, false);
    for (int i = 0; i < e->n_args; i++) hoist(g, s, &e->args[i], false);
    if (e->kind == TE_REDUCE && !root) move(g, s, slot);
}

void grad_forward(Grad *g, const TeStmt *from) {
    TeStmt *s = shifted(g, from);
    hoist(g, s, &s->rhs, true);
    if (s->rhs->kind != TE_REDUCE) s->accum = TE_DTYPE_COUNT;
    normalize_indices(s);
    grad_push(g, s);
}
