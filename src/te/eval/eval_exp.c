/* Sums of exponentials.  */
#include "te/eval/eval_impl.h"
#include "te/tree/tree.h"

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

/* e with the subscripts of a read in place of its indices.  */
static TeExpr *at_read(const TeEval *ev, const TeExpr *e, const TeExpr *read) {
    if (e->kind == TE_INDEX) return te_expr_copy(ev->arena, read->args[e->v.ref]);
    TeExpr *x = ARENA_NEW(ev->arena, TeExpr);
    *x = *e;
    x->args = ARENA_ARRAY(ev->arena, TeExpr *, e->n_args);
    for (int i = 0; i < e->n_args; i++) x->args[i] = at_read(ev, e->args[i], read);
    x->other = e->other ? at_read(ev, e->other, read) : NULL;
    return x;
}

typedef const TeExpr *Find(const TeEval *ev, const TeExpr *e, int deep);

/* What is found in the map that is read, where it is read.  A reduction has indices of the map's
 * statement that no subscript stands for.  */
static const TeExpr *find_made(const TeEval *ev, const TeExpr *read, int deep, Find *find) {
    const TeExpr *made = deep < MAPS_DEEP ? made_by(ev, read) : NULL;
    const TeExpr *found = made ? find(ev, made, deep + 1) : NULL;
    return found && !te_has_reduction(found) ? at_read(ev, found, read) : NULL;
}

/* The z of a log(z) in an exponent.  */
static const TeExpr *find_log(const TeEval *ev, const TeExpr *e, int deep) {
    const TeExpr *found = NULL;
    if (e->kind == TE_CALL && (e->v.fn == TE_FN_LOG || e->v.fn == TE_FN_LOG2)) return e->args[0];
    if (e->kind == TE_READ) return find_made(ev, e, deep, find_log);
    for (int i = 0; i < e->n_args && !found; i++) found = find_log(ev, e->args[i], deep);
    return found;
}

static const TeExpr *find_divisor(const TeEval *ev, const TeExpr *e, int deep) {
    const TeExpr *found;
    switch (e->kind) {
    case TE_DIV: return e->args[1];
    case TE_CALL: return e->n_args > 0 ? find_log(ev, e->args[0], deep) : NULL;
    case TE_READ: return find_made(ev, e, deep, find_divisor);
    case TE_CAST:
    case TE_NEG: return find_divisor(ev, e->args[0], deep);
    case TE_MUL:
        found = find_divisor(ev, e->args[0], deep);
        return found ? found : find_divisor(ev, e->args[1], deep);
    case TE_SELECT:
        found = find_divisor(ev, e->args[1], deep);
        return found ? found : find_divisor(ev, e->args[2], deep);
    default: return NULL;
    }
}

const TeExpr *eval_exp_divisor(const TeEval *ev, const TeExpr *term) {
    return find_divisor(ev, term, 0);
}

bool eval_exp_sum(const TeEval *ev, const TeExpr *e) {
    bool direct = true;
    int maker = e->kind == TE_READ ? ev->maker[e->v.ref] : -1;
    const TeStmt *s = maker >= 0 ? &ev->te->stmt[maker] : NULL;
    return s && !s->written && s->rhs->kind == TE_REDUCE && s->rhs->red == TE_RED_SUM &&
           eval_exp_part(ev, s->rhs->args[0], &direct) == EXP_TERM;
}

/* Is e a sum of exponentials times what has left indices that they do not have: the second product
 * of a chain, whose exponents may have another base?  */
static bool multiplies_exps(const TeEval *ev, const TeStmt *s, const TeExpr *e) {
    const TeExpr *body = e->kind == TE_REDUCE && e->red == TE_RED_SUM ? e->args[0] : e;
    uint32_t left = (1u << s->n_left) - 1;
    bool direct = true;
    for (int i = 0; i < 2 && body != e && body->kind == TE_MUL; i++)
        if (eval_exp_part(ev, body->args[i], &direct) != EXP_NONE &&
            (access_uses(body->args[!i]) & ~access_uses(body->args[i]) & left))
            return true;
    for (int i = 0; i < e->n_args; i++)
        if (multiplies_exps(ev, s, e->args[i])) return true;
    return e->other && multiplies_exps(ev, s, e->other);
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

/* Drops what e reads outside of sums.  */
static void drop_others(TeEval *ev, const TeStmt *s, const TeExpr *e, bool in_sum) {
    if (e->kind == TE_READ && !in_sum) ev->in_sums[e->v.ref] = false;
    in_sum |= eval_sums(s, e);
    for (int i = 0; i < e->n_args; i++) drop_others(ev, s, e->args[i], in_sum);
    if (e->other) drop_others(ev, s, e->other, in_sum);
}

/* What a temporary of such a kind reads is in sums, too.  */
static void find_in_sums(TeEval *ev) {
    const Te *te = ev->te;
    ev->in_sums = ARENA_ARRAY(ev->arena, bool, te->n_tensor + 1);
    for (int t = 0; t < te->n_tensor; t++) ev->in_sums[t] = te->tensor[t].role == TE_TEMP;
    for (int i = te->n_stmt - 1; i >= 0; i--)
        drop_others(ev, &te->stmt[i], te->stmt[i].rhs, ev->in_sums[te->stmt[i].tensor]);
}

void eval_find_exps(TeEval *ev) {
    find_in_sums(ev);
    ev->exps = ARENA_ARRAY(ev->arena, uint8_t, ev->te->n_tensor + 1);
    for (int i = 0; i < ev->te->n_stmt; i++) {
        const TeStmt *s = &ev->te->stmt[i];
        bool direct = true;
        ev->exps[s->tensor] = (uint8_t)eval_exp_part(ev, s->rhs, &direct);
        ev->sums_exps = ev->sums_exps || sums_exps(ev, s->rhs);
        ev->multiplies_exps = ev->multiplies_exps || multiplies_exps(ev, s, s->rhs);
    }
}
