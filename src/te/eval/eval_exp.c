/* Sums of exponentials.  */
#include "te/eval/eval_impl.h"

ExpPart eval_exp_part(const TeEval *ev, const TeExpr *e, bool *direct) {
    switch (e->kind) {
    case TE_CALL: return e->v.fn == TE_FN_EXP || e->v.fn == TE_FN_EXP2 ? EXP_TERM : EXP_NONE;
    case TE_CAST:
    case TE_NEG: return eval_exp_part(ev, e->args[0], direct);
    case TE_DIV:
        return eval_exp_part(ev, e->args[0], direct) != EXP_NONE ? EXP_FACTOR : EXP_NONE;
    case TE_SELECT:
        if (eval_exp_part(ev, e->args[1], direct) != EXP_NONE) return EXP_FACTOR;
        return eval_exp_part(ev, e->args[2], direct) != EXP_NONE ? EXP_FACTOR : EXP_NONE;
    case TE_READ:
        *direct = *direct && ev->exps[e->v.ref] == EXP_NONE;
        return (ExpPart)ev->exps[e->v.ref];
    case TE_MUL:
        if (eval_exp_part(ev, e->args[1], direct) != EXP_NONE) return EXP_FACTOR;
        return eval_exp_part(ev, e->args[0], direct) != EXP_NONE ? EXP_FACTOR : EXP_NONE;
    default: return EXP_NONE;
    }
}

/* The map that makes what is read; NULL: it is none.  */
static const TeExpr *made_by(const TeEval *ev, const TeExpr *read) {
    int maker = ev->maker[read->v.ref];
    const TeExpr *e = maker >= 0 ? ev->te->stmt[maker].rhs : NULL;
    return e && e->kind != TE_REDUCE ? e : NULL;
}

enum { MAPS_DEEP = 8 };                   /* temporaries of temporaries that are looked through */

static bool has_log(const TeEval *ev, const TeExpr *e, int deep) {
    if (e->kind == TE_CALL && (e->v.fn == TE_FN_LOG || e->v.fn == TE_FN_LOG2)) return true;
    const TeExpr *made = e->kind == TE_READ && deep < MAPS_DEEP ? made_by(ev, e) : NULL;
    if (made) return has_log(ev, made, deep + 1);
    for (int i = 0; i < e->n_args && e->kind != TE_READ; i++)
        if (has_log(ev, e->args[i], deep)) return true;
    return false;
}

static bool is_divided(const TeEval *ev, const TeExpr *e, int deep) {
    const TeExpr *made;
    switch (e->kind) {
    case TE_DIV: return true;
    case TE_CALL: return e->n_args > 0 && has_log(ev, e->args[0], deep);
    case TE_READ:
        made = deep < MAPS_DEEP ? made_by(ev, e) : NULL;
        return made && is_divided(ev, made, deep + 1);
    case TE_CAST:
    case TE_NEG: return is_divided(ev, e->args[0], deep);
    case TE_MUL: return is_divided(ev, e->args[0], deep) || is_divided(ev, e->args[1], deep);
    case TE_SELECT: return is_divided(ev, e->args[1], deep) || is_divided(ev, e->args[2], deep);
    default: return false;
    }
}

bool eval_exp_divided(const TeEval *ev, const TeExpr *term) { return is_divided(ev, term, 0); }

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
        bool direct = true;
        ev->exps[s->tensor] = (uint8_t)eval_exp_part(ev, s->rhs, &direct);
        ev->sums_exps = ev->sums_exps || sums_exps(ev, s->rhs);
    }
}
