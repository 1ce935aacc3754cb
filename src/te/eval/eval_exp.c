/* Sums of exponentials.  */
#include "te/eval/eval_impl.h"

ExpPart eval_exp_part(const TeEval *ev, const TeExpr *e, bool *direct) {
    switch (e->kind) {
    case TE_CALL: return e->v.fn == TE_FN_EXP || e->v.fn == TE_FN_EXP2 ? EXP_TERM : EXP_NONE;
    case TE_CAST: return eval_exp_part(ev, e->args[0], direct);
    case TE_READ:
        *direct = *direct && ev->exps[e->v.ref] == EXP_NONE;
        return (ExpPart)ev->exps[e->v.ref];
    case TE_MUL:
        if (eval_exp_part(ev, e->args[1], direct) != EXP_NONE) return EXP_FACTOR;
        return eval_exp_part(ev, e->args[0], direct) != EXP_NONE ? EXP_FACTOR : EXP_NONE;
    default: return EXP_NONE;
    }
}

/* Of what a statement makes: a share of a sum is read like the exponential in it.  */
static ExpPart part_of(const TeEval *ev, const TeExpr *e) {
    bool direct = true;
    if (e->kind != TE_DIV) return eval_exp_part(ev, e, &direct);
    return eval_exp_part(ev, e->args[0], &direct) != EXP_NONE ? EXP_FACTOR : EXP_NONE;
}

static bool sums_exps(const TeEval *ev, const TeExpr *e) {
    bool direct = true;
    if (e->kind == TE_REDUCE && e->red == TE_RED_SUM &&
        eval_exp_part(ev, e->args[0], &direct) != EXP_NONE)
        return true;
    for (int i = 0; i < e->n_args; i++)
        if (sums_exps(ev, e->args[i])) return true;
    return e->other && sums_exps(ev, e->other);
}

void eval_find_exps(TeEval *ev) {
    ev->exps = ARENA_ARRAY(ev->arena, uint8_t, ev->te->n_tensor + 1);
    for (int i = 0; i < ev->te->n_stmt; i++) {
        const TeStmt *s = &ev->te->stmt[i];
        ev->exps[s->tensor] = (uint8_t)part_of(ev, s->rhs);
        ev->sums_exps = ev->sums_exps || sums_exps(ev, s->rhs);
    }
}
