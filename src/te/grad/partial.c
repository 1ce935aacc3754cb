/* Derivatives of expressions: from the result down to every read that matters.
 *
 * On the way go a factor, the seed, and the condition under which the place counts.  The condition
 * becomes the outermost part of a term, so that nothing that it excludes is evaluated.  */
#include "te/grad/grad.h"

#include <math.h>

typedef struct {
    Grad *g;
    const TeStmt *of;
    GradTerms *out;
} Partial;

static bool is_real(TeDtype t) { return t == TE_F32 || t == TE_F64; }

bool grad_depends(const Grad *g, const TeExpr *e) {
    if (e->kind == TE_READ && g->tensor[e->v.ref].active) return true;
    bool does = e->other && grad_depends(g, e->other);
    for (int i = 0; i < e->n_args && !does; i++) does = grad_depends(g, e->args[i]);
    return does;
}

static bool same_place(const TeExpr *x, const TeExpr *y) {
    bool same = x->v.ref == y->v.ref;
    for (int i = 0; i < x->n_args && same; i++) same = te_expr_same(x->args[i], y->args[i]);
    return same;
}

/* Terms of one element are one sum.  */
static void add(Partial *p, const TeExpr *read, TeExpr *weight, TeExpr *when) {
    GradTerms *out = p->out;
    for (size_t i = 0; i < out->n; i++) {
        GradTerm *t = &out->term[i];
        bool alike = t->when && when ? te_expr_same(t->when, when) : t->when == when;
        if (!alike || !same_place(t->read, read)) continue;
        t->weight = grad_node(p->g, TE_ADD, t->weight, weight);
        return;
    }
    out->term = arena_grow(p->g->a, out->term, &out->room, out->n + 1, sizeof *out->term);
    out->term[out->n++] = (GradTerm){read, weight, when, p->of};
}

static void visit(Partial *p, TeExpr *e, TeExpr *seed, TeExpr *when);

static TeExpr *mul(Partial *p, TeExpr *x, TeExpr *y) { return grad_node(p->g, TE_MUL, x, y); }
static TeExpr *div_by(Partial *p, TeExpr *x, TeExpr *y) { return grad_node(p->g, TE_DIV, x, y); }
static TeExpr *neg(Partial *p, TeExpr *x) { return grad_node(p->g, TE_NEG, x, NULL); }
static TeExpr *real(Partial *p, double v, const TeExpr *like) {
    return grad_real(p->g, v, like->type);
}

/* Inside its tensor, the subscripts of a guarded read.  */
static TeExpr *inside(Partial *p, const TeExpr *read) {
    const TeTensor *t = &p->g->tensor[read->v.ref].t;
    TeExpr *all = NULL;
    for (int d = 0; d < read->n_args; d++) {
        TeExpr *low = te_expr_int(p->g->a, 0, TE_I64, 0), *high = grad_size(p->g, &t->shape[d]);
        all = grad_both(p->g, all, grad_node(p->g, TE_GE, read->args[d], low));
        all = grad_both(p->g, all, grad_node(p->g, TE_LT, read->args[d], high));
    }
    return all;
}

static void visit_read(Partial *p, TeExpr *e, TeExpr *seed, TeExpr *when) {
    Grad *g = p->g;
    if (g->tensor[e->v.ref].active) add(p, e, seed, when);
    if (!e->other || !grad_depends(g, e->other)) return;
    TeExpr *out = grad_node(g, TE_NOT, inside(p, e), NULL);
    visit(p, e->other, seed, grad_both(g, when, out));
}

/* max and min of two: the larger has all, of equal ones each half; but a constant has nothing to
 * give, so nothing is left of what only equals it.  */
static void visit_extremum(Partial *p, TeExpr *e, TeExpr *seed, TeExpr *when) {
    Grad *g = p->g;
    TeExpr *x = e->args[0], *y = e->args[1];
    if (e->n_args > 2) {                  /* max(max(x, y), z) */
        TeExpr *rest = te_expr_node(g->a, TE_CALL, e->type, e->n_args - 1, 0);
        rest->v.fn = e->v.fn;
        for (int i = 0; i < e->n_args - 1; i++) rest->args[i] = e->args[i];
        x = rest;
        y = e->args[e->n_args - 1];
    }
    TeKind wins = e->v.fn == TE_FN_MAX ? TE_GT : TE_LT;
    TeExpr *const side[2] = {x, y};
    bool both = grad_depends(g, x) && grad_depends(g, y);
    for (int i = 0; i < 2; i++) {
        TeExpr *own = side[i], *other = side[1 - i];
        TeExpr *half = mul(p, seed, real(p, 0.5, e));
        TeExpr *part = both ? grad_select(g, grad_node(g, TE_EQ, own, other), half, seed) : seed;
        TeKind test = !both ? wins : wins == TE_GT ? TE_GE : TE_LE;
        visit(p, own, part, grad_both(g, when, grad_node(g, test, own, other)));
    }
}

/* The derivative of a function of one operand, times the seed; NULL: it is 0.  */
static TeExpr *of_one(Partial *p, TeExpr *e, TeExpr *s) {
    TeExpr *x = e->args[0];
    switch (e->v.fn) {
    case TE_FN_EXP: return mul(p, s, e);
    case TE_FN_EXP2: return mul(p, s, mul(p, e, real(p, log(2), e)));
    case TE_FN_LOG: return div_by(p, s, x);
    case TE_FN_LOG2: return div_by(p, s, mul(p, x, real(p, log(2), e)));
    case TE_FN_SQRT: return div_by(p, mul(p, s, real(p, 0.5, e)), e);
    case TE_FN_RSQRT: return div_by(p, mul(p, mul(p, s, real(p, -0.5, e)), e), x);
    case TE_FN_TANH:
        return mul(p, s, grad_node(p->g, TE_SUB, real(p, 1, e), mul(p, e, e)));
    case TE_FN_ERF:
        return mul(p, s, mul(p, real(p, 2 / sqrt(acos(-1)), e),
                             grad_call(p->g, TE_FN_EXP, neg(p, mul(p, x, x)), NULL)));
    case TE_FN_SIN: return mul(p, s, grad_call(p->g, TE_FN_COS, x, NULL));
    case TE_FN_COS: return neg(p, mul(p, s, grad_call(p->g, TE_FN_SIN, x, NULL)));
    case TE_FN_ABS: {
        TeExpr *zero = te_expr_zero(p->g->a, e->type, 0);
        TeExpr *below = grad_select(p->g, grad_node(p->g, TE_LT, x, zero), neg(p, s), zero);
        return grad_select(p->g, grad_node(p->g, TE_GT, x, zero), s, below);
    }
    default: return NULL;                 /* floor, ceil, round */
    }
}

static void visit_call(Partial *p, TeExpr *e, TeExpr *s, TeExpr *when) {
    Grad *g = p->g;
    TeExpr *x = e->args[0];
    if (e->v.fn == TE_FN_MAX || e->v.fn == TE_FN_MIN) {
        visit_extremum(p, e, s, when);
    } else if (e->v.fn == TE_FN_POW) {
        TeExpr *y = e->args[1], *less = grad_node(g, TE_SUB, y, real(p, 1, e));
        visit(p, x, mul(p, mul(p, s, y), grad_call(g, TE_FN_POW, x, less)), when);
        visit(p, y, mul(p, mul(p, s, e), grad_call(g, TE_FN_LOG, x, NULL)), when);
    } else {
        TeExpr *one = e->n_args == 1 ? of_one(p, e, s) : NULL;
        if (one) visit(p, x, one, when);
    }
}

static void visit_division(Partial *p, TeExpr *e, TeExpr *s, TeExpr *when) {
    TeExpr *y = e->args[1];
    visit(p, e->args[0], div_by(p, s, y), when);
    visit(p, y, neg(p, div_by(p, mul(p, s, e), y)), when);
}

static void visit(Partial *p, TeExpr *e, TeExpr *s, TeExpr *when) {
    Grad *g = p->g;
    TeExpr *const *x = e->args;
    if (!is_real(e->type) || !grad_depends(g, e)) return;
    switch (e->kind) {
    case TE_READ: visit_read(p, e, s, when); break;
    case TE_NEG: visit(p, x[0], neg(p, s), when); break;
    case TE_CAST: visit(p, x[0], s, when); break;
    case TE_CALL: visit_call(p, e, s, when); break;
    case TE_DIV: visit_division(p, e, s, when); break;
    case TE_ADD:
    case TE_SUB:
        visit(p, x[0], s, when);
        visit(p, x[1], e->kind == TE_SUB ? neg(p, s) : s, when);
        break;
    case TE_MUL:
        visit(p, x[0], mul(p, s, x[1]), when);
        visit(p, x[1], mul(p, s, x[0]), when);
        break;
    case TE_SELECT:
        visit(p, x[1], s, grad_both(g, when, x[0]));
        visit(p, x[2], s, grad_both(g, when, grad_node(g, TE_NOT, x[0], NULL)));
        break;
    default: break;
    }
}

void grad_partial(Grad *g, const TeStmt *of, TeExpr *e, TeExpr *seed, GradTerms *out) {
    Partial p = {g, of, out};
    visit(&p, e, seed, NULL);
}
