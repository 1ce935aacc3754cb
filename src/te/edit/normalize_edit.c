/* What rewrites of statements share.  */
#include "te/access/access.h"
#include "te/edit/edit.h"
#include "te/tree/tree.h"
#include <string.h>

/* At an index over a dimension that is just as long, or within the least length.  */
bool normalize_inside_along(const Te *te, const TeStmt *s, const TeExpr *read, int d) {
    const TeTensor *t = &te->tensor[read->v.ref];
    const TeExpr *sub = read->args[d];
    if (sub->kind == TE_INDEX && te_extent_same(&s->index[sub->v.ref].hi, &t->shape[d]))
        return true;
    Interval r = te_range(te, s, sub, NULL);
    return r.lo >= 0 && r.hi < t->shape[d].min;
}

bool normalize_inside(const Te *te, const TeStmt *s, const TeExpr *read) {
    for (int d = 0; d < te->tensor[read->v.ref].rank; d++)
        if (!normalize_inside_along(te, s, read, d)) return false;
    return true;
}

void normalize_list_reads(Norm *n) {
    for (int i = 0; i < n->te->n_stmt; i++)
        te_expr_list_reads(n->a, n->te->stmt[i].rhs);
}

void normalize_insert(Norm *n, int k, int origin, const TeStmt *s) {
    size_t behind = (size_t)(n->te->n_stmt - k);
    memmove(&n->te->stmt[k + 1], &n->te->stmt[k], behind * sizeof *s);
    memmove(&n->origin[k + 1], &n->origin[k], behind * sizeof n->origin[0]);
    memmove(&n->changed[k + 1], &n->changed[k], behind * sizeof n->changed[0]);
    n->te->stmt[k] = *s;
    n->origin[k] = origin;
    n->changed[k] = true;
    n->te->n_stmt++;
}

void normalize_guard_reads(Norm *n, TeExpr *e) {
    if (e->kind == TE_READ && !e->other && !te_always_inside(e)) {
        e->other = te_expr_zero(n->a, e->type, e->pos);
        e->inside = TE_INSIDE_ALWAYS;
    }
    for (int i = 0; i < e->n_args; i++)
        normalize_guard_reads(n, e->args[i]);
    if (e->other)
        normalize_guard_reads(n, e->other);
}

static void count_reads(const TeExpr *e, int *reads) {
    if (e->kind == TE_READ)
        reads[e->v.ref]++;
    for (int i = 0; i < e->n_args; i++)
        count_reads(e->args[i], reads);
    if (e->other)
        count_reads(e->other, reads);
}

void normalize_retarget(TeExpr *e, const int *to) {
    if (e->kind == TE_READ || e->kind == TE_SCALAR)
        e->v.ref = to[e->v.ref];
    for (int i = 0; i < e->n_args; i++)
        normalize_retarget(e->args[i], to);
    if (e->other)
        normalize_retarget(e->other, to);
}

/* From the last statement up, so that chains of them go at once.  */
bool normalize_dead(Norm *n) {
    Te *te = n->te;
    int had = te->n_stmt;
    int reads[TE_MAX_TENSORS] = {0}, to[TE_MAX_TENSORS];
    bool dead[TE_MAX_STMTS] = {false};
    for (int k = te->n_stmt - 1; k >= 0; k--) {
        int t = te->stmt[k].tensor;
        dead[k] = te_is_passing(&te->tensor[t]) && reads[t] == 0;
        if (!dead[k])
            count_reads(te->stmt[k].rhs, reads);
    }
    int kept = 0;
    for (int t = 0; t < te->n_tensor; t++) {
        to[t] = kept;
        if (!te_is_passing(&te->tensor[t]) || reads[t] > 0)
            te->tensor[kept++] = te->tensor[t];
    }
    te->n_tensor = kept;
    kept = 0;
    for (int k = 0; k < te->n_stmt; k++) {
        if (dead[k])
            continue;
        te->stmt[kept] = te->stmt[k];
        n->origin[kept] = n->origin[k];
        n->changed[kept] = n->changed[k];
        normalize_retarget(te->stmt[kept].rhs, to);
        te->stmt[kept].tensor = to[te->stmt[kept].tensor];
        kept++;
    }
    te->n_stmt = kept;
    return normalize_note(n, TE_MADE_DEAD, kept < had);
}
