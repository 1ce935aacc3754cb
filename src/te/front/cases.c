/* Choices within integer arithmetic: `i == 0 ? 1 : i - 1` and abs(i - 1), each two expressions, of
 * which a condition takes one.  What is read by a subscript is not looked into.  */
#include "te/front/front.h"
#include "te/tree/tree.h"

const TeExpr *case_find(const TeExpr *e) {
    bool magnitude = e->kind == TE_CALL && e->v.fn == TE_FN_ABS;
    if (te_dtype_class(e->type) != TE_CLASS_INT || e->kind == TE_READ || e->kind == TE_REDUCE)
        return NULL;
    if (e->kind == TE_SELECT || magnitude) return e;
    for (int i = 0; i < e->n_args; i++) {
        const TeExpr *found = case_find(e->args[i]);
        if (found) return found;
    }
    return NULL;
}

static TeExpr *taken(Arena *a, const TeExpr *choice, bool truth) {
    if (choice->kind == TE_SELECT) return choice->args[truth ? 1 : 2];
    if (truth) return choice->args[0];
    TeExpr *minus = te_expr_node(a, TE_NEG, choice->type, 1, choice->pos);
    minus->args[0] = choice->args[0];
    return minus;
}

TeExpr *case_take(Arena *a, const TeExpr *e, const TeExpr *choice, bool truth) {
    if (e == choice) return taken(a, choice, truth);
    TeExpr *copy = arena_alloc(a, sizeof *copy);
    *copy = *e;
    copy->args = ARENA_ARRAY(a, TeExpr *, e->n_args + 1);
    for (int i = 0; i < e->n_args; i++) copy->args[i] = case_take(a, e->args[i], choice, truth);
    return copy;
}

const TeExpr *case_condition(Arena *a, const TeExpr *choice) {
    if (choice->kind == TE_SELECT) return choice->args[0];
    TeExpr *sign = te_expr_node(a, TE_GE, TE_BOOL, 2, choice->pos);
    sign->args[0] = choice->args[0];
    sign->args[1] = te_expr_zero(a, choice->args[0]->type, choice->pos);
    return sign;
}
