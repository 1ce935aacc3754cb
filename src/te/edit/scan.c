/* Scans: what is possible, as a fact of a statement in the form that canon_scan gives it.  */
#include "te/access/access.h"
#include "te/edit/scan.h"
#include "te/tree/tree.h"
#include <math.h>

bool scan_is_identity(TeRedop red, const TeExpr *e) {
    int64_t i;
    double r;
    TeRedop plain = red == TE_RED_ARGMAX ? TE_RED_MAX : red == TE_RED_ARGMIN ? TE_RED_MIN : red;
    te_identity(plain, e->type, &i, &r);
    if (e->kind == TE_REAL) return e->v.r == r && !signbit(e->v.r) == !signbit(r);
    return (e->kind == TE_INT || e->kind == TE_BOOLEAN) && e->v.i == i;
}

/* A read that was inside only by the order of the indices would leave its tensor.  */
static bool stands_alone(const TeExpr *e) {
    if (e->kind == TE_READ && !e->other && !te_always_inside(e)) return false;
    for (int i = 0; i < e->n_args; i++) {
        if (!stands_alone(e->args[i])) return false;
    }
    return !e->other || stands_alone(e->other);
}

/* May the value be made at its own place: does it neither depend on i nor lean on the order?  */
static bool is_of_walk(const Scan *x, const TeExpr *value) {
    return !(access_uses(value) >> x->index & 1) && stands_alone(value);
}

/* The factors of a recurrence; NULL: it is none, or they do not run with its terms.  */
static const TeExpr *factor_of(const TeExpr *e, const TeExpr *order) {
    const TeExpr *map = te_is_recurrence(e) ? e->args[1] : NULL;
    return map && map->kind == TE_SELECT && te_expr_same(map->args[0], order) ? map->args[1] : NULL;
}

bool access_scan(const TeStmt *s, Scan *out) {
    const TeExpr *e = s->rhs, *body = e->kind == TE_REDUCE && e->n_index == 1 ? e->args[0] : NULL;
    if (!body || body->kind != TE_SELECT) return false;
    const TeExpr *order = body->args[0];
    TeKind kind = order->kind;
    if (kind < TE_LT || kind > TE_GE || order->args[0]->kind != TE_INDEX ||
        order->args[1]->kind != TE_INDEX)
        return false;
    *out = (Scan){.over = order->args[0]->v.ref, .index = order->args[1]->v.ref,
                  .term = body->args[1], .factor = factor_of(e, order),
                  .reversed = kind == TE_GT || kind == TE_GE,
                  .exclusive = kind == TE_LT || kind == TE_GT};
    /* Of positions the first one counts, and there must be an element.  */
    if (te_positional(e) && kind != TE_LE) return false;
    return out->over == e->index[0] && out->index < s->n_left &&
           te_extent_same(&s->index[out->over].hi, &s->index[out->index].hi) &&
           scan_is_identity((TeRedop)e->red, body->args[2]) &&
           is_of_walk(out, out->term) &&
           (out->factor ? is_of_walk(out, out->factor) : !te_is_recurrence(e));
}
