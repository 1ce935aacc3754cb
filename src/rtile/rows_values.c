/* Values that passes over a row share: what is dear to make, and made again by a later pass.  */
#include "rtile/facts.h"
#include "te/tree/tree.h"

#include <string.h>

static const TeStmt *statement(const Te *te, const RowGroup *g, int i) {
    return &te->stmt[g->stmt[i]];
}

/* Does every index of a statement's expressions mean the same element in another?  */
static bool same_indices(const Te *te, const RowGroup *g, int i, int j) {
    int n = statement(te, g, i)->n_index;
    return n == statement(te, g, j)->n_index && memcmp(g->axis[i], g->axis[j], (size_t)n) == 0;
}

/* Is child i evaluated whenever its parent is?  */
static bool always(const TeExpr *e, int i) {
    return i == 0 || (e->kind != TE_SELECT && e->kind != TE_AND && e->kind != TE_OR);
}

/* Has each column a value of its own?  */
static bool moves(const Te *te, const RowGroup *g, int i, const TeExpr *e) {
    if (e->kind == TE_INDEX) return g->axis[i][e->v.ref] >= te->stmt[g->frame].n_left;
    bool any = e->other && moves(te, g, i, e->other);
    for (int n = 0; n < e->n_args && !any; n++) any = moves(te, g, i, e->args[n]);
    return any;
}

/* Does e read what another map of the group makes?  That is there after it, in the same walk.  */
static bool reads_map(const Te *te, const RowGroup *g, const TeExpr *e) {
    int maker = e->kind == TE_READ ? row_group_maker(te, g, e->v.ref) : -1;
    bool any = maker >= 0 && g->role[maker] == ROW_MAP;
    if (e->other) any |= reads_map(te, g, e->other);
    for (int n = 0; n < e->n_args && !any; n++) any = reads_map(te, g, e->args[n]);
    return any;
}

static bool is_candidate(const Te *te, const RowGroup *g, int i, const TeExpr *e) {
    bool real = te_dtype_class(e->type) == TE_CLASS_REAL;
    return real && e->kind != TE_READ && e->kind != TE_REDUCE && moves(te, g, i, e) &&
           !reads_map(te, g, e) && expr_ops(e) >= EXPR_CALL;
}

static const TeExpr *find(const TeExpr *in, const TeExpr *e) {
    if (te_expr_same(in, e)) return in;
    const TeExpr *found = NULL;
    for (int i = 0; i < in->n_args && !found; i++) found = find(in->args[i], e);
    return found || !in->other ? found : find(in->other, e);
}

/* Where statements have e, which statement `maker` has; false: one pass alone does.  */
static bool describe(const Te *te, const RowFacts *f, int maker, const TeExpr *e, RowValue *out) {
    const RowGroup *g = f->group;
    uint64_t passes = 0;
    *out = (RowValue){.maker = maker, .ops = expr_ops(e)};
    for (int i = 0; i < g->n; i++) {
        bool fast = statement(te, g, i)->fast == statement(te, g, maker)->fast;
        if (f->eval[i] == 0 || !fast || !same_indices(te, g, i, maker)) continue;
        out->expr[i] = find(statement(te, g, i)->rhs, e);
        if (out->expr[i]) passes |= f->eval[i];
    }
    while (out->pass < g->n_pass && !(passes >> out->pass & 1)) out->pass++;
    out->later = passes & ~((uint64_t)1 << out->pass);
    return out->later != 0 && (f->eval[maker] >> out->pass & 1);
}

static void collect(const Te *te, RowFacts *f, int i, const TeExpr *e) {
    RowValue v;
    if (f->n_value == ROW_MAX_VALUES || e->kind == TE_READ) return;
    for (int k = 0; k < f->n_value; k++) {
        if (f->value[k].expr[i] == e) return;
    }
    if (is_candidate(te, f->group, i, e) && describe(te, f, i, e, &v)) {
        f->value[f->n_value++] = v;
        return;
    }
    for (int n = 0; n < e->n_args; n++) {
        if (always(e, n)) collect(te, f, i, e->args[n]);
    }
}

/* Reductions that follow a running one have other values in every step.  */
void rows_values(const Te *te, RowFacts *f) {
    const RowGroup *g = f->group;
    for (int i = 0; i < g->n; i++) {
        if (g->follow[i] != FOLLOW_NONE) return;
    }
    for (int i = 0; i < g->n; i++) {
        if (g->role[i] != ROW_SCALAR && f->eval[i]) collect(te, f, i, statement(te, g, i)->rhs);
    }
}

static bool is_below(const TeExpr *e, const TeExpr *read) {
    bool found = e == read || (e->other && is_below(e->other, read));
    for (int i = 0; i < e->n_args && !found; i++) found = is_below(e->args[i], read);
    return found;
}

uint64_t rows_bare(const RowFacts *f, int i, const TeExpr *read, uint64_t passes) {
    for (int k = 0; k < f->n_value; k++) {
        const RowValue *v = &f->value[k];
        if (v->expr[i] && is_below(v->expr[i], read)) passes &= ~v->later;
    }
    return passes;
}
