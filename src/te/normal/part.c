/* A part of an op: some of its statements, cut off at temporaries that are stored.  The passes
 * behind te_canonical make of it what they make of it in the whole, as far from the cuts as they
 * look: so what a decision changes is known from the statements around it.  */
#include "te/normal/normalize.h"
#include "te/tree/tree.h"
#include <string.h>

static void mark_used(const TeExpr *e, bool *used) {
    if (e->kind == TE_READ || e->kind == TE_SCALAR) used[e->v.ref] = true;
    for (int i = 0; i < e->n_args; i++) mark_used(e->args[i], used);
    if (e->other) mark_used(e->other, used);
}

/* The tensors that are used; to[t]: the new number of tensor t.  */
static void keep_tensors(Arena *a, const Te *whole, const bool *used, int *to, Te *te) {
    int end[] = {whole->n_in, whole->n_in + whole->n_out, whole->n_tensor};
    int kept[3], n = 0;
    for (int t = 0; t < whole->n_tensor; t++) n += used[t];
    te->tensor = ARENA_ARRAY(a, TeTensor, n);
    n = 0;
    for (int i = 0, t = 0; i < 3; i++) {
        for (; t < end[i]; t++) {
            if (!used[t]) continue;
            to[t] = n;
            te->tensor[n++] = whole->tensor[t];
        }
        kept[i] = n;
    }
    te->n_in = kept[0];
    te->n_out = kept[1] - kept[0];
    te->n_tensor = n;
}

void te_part(Arena *a, const TeCanonical *whole, const int *stmt, const bool *held, int n,
             TeCanonical *out) {
    Te *te = ARENA_NEW(a, Te);
    bool used[TE_MAX_TENSORS] = {false}, made[TE_MAX_TENSORS] = {false};
    int to[TE_MAX_TENSORS];
    *te = *whole->te;
    *out = (TeCanonical){te, ARENA_ARRAY(a, int, n), ARENA_ARRAY(a, bool, n), whole->n_source};
    for (int i = 0; i < n; i++) {
        const TeStmt *s = &whole->te->stmt[stmt[i]];
        mark_used(s->rhs, used);
        used[s->tensor] = made[s->tensor] = true;
    }
    keep_tensors(a, whole->te, used, to, te);
    for (int t = whole->te->n_in; t < whole->te->n_tensor; t++)
        if (used[t] && whole->te->tensor[t].role == TE_TEMP) te->tensor[to[t]].held = !made[t];
    te->stmt = ARENA_ARRAY(a, TeStmt, n);
    te->n_stmt = n;
    for (int i = 0; i < n; i++) {
        TeStmt *s = &te->stmt[i];
        *s = whole->te->stmt[stmt[i]];
        s->rhs = te_expr_copy(a, s->rhs);
        normalize_retarget(s->rhs, to);
        te_expr_list_reads(a, s->rhs);
        s->tensor = to[s->tensor];
        if (held[i]) te->tensor[s->tensor].held = te->tensor[s->tensor].role == TE_TEMP;
        out->origin[i] = whole->origin[stmt[i]];
        out->changed[i] = whole->changed[stmt[i]];
    }
}
