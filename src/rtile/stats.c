/* Rows of a contraction's results: what each pass over them evaluates and stores.  */
#include "rtile/facts.h"

int rtile_stat(const StatFacts *f, int stmt) {
    for (int i = 0; i < f->group->n; i++) {
        if (f->group->stmt[i] == stmt) return i;
    }
    return -1;
}

TeQuotient rtile_quotient(const Te *te, const RowGroup *g, int i) {
    TeQuotient q = te_quotient(te, &te->stmt[g->stmt[i]]);
    int by = q.e ? row_group_maker(te, g, q.e->args[1]->v.ref) : -1;
    if (g->role[i] != ROW_MAP || by < 0 || g->role[by] == ROW_MAP) q.e = NULL;
    return q;
}

/* The maps that map i is made of, as bits; whether it reads the root, or a value of the row.  */
static uint64_t made_of(const Te *te, const StatFacts *f, int root, int i, bool *reads_root,
                        bool *reads_row) {
    const RowGroup *g = f->group;
    const TeExpr *rhs = te->stmt[g->stmt[i]].rhs;
    uint64_t under = 0;
    *reads_root |= access_reads_tensor(rhs, root);
    for (int j = 0; j < i; j++) {
        if (!access_reads_tensor(rhs, te->stmt[g->stmt[j]].tensor)) continue;
        if (g->role[j] != ROW_MAP) *reads_row = true;
        else under |= (uint64_t)1 << j | made_of(te, f, root, j, reads_root, reads_row);
    }
    return under;
}

/* Does nobody but `held` and what it is made of need the root and those?  */
static bool is_all(const Te *te, const StatFacts *f, int root, int kept, uint64_t under) {
    const RowGroup *g = f->group;
    for (int i = 0; i < g->n; i++) {
        if (under >> i & 1 && f->stored[i]) return false;
        if (i == kept || (under >> i & 1)) continue;
        const TeExpr *rhs = te->stmt[g->stmt[i]].rhs;
        if (access_reads_tensor(rhs, root)) return false;
        for (int j = 0; j < g->n; j++) {
            if ((under >> j & 1) && access_reads_tensor(rhs, te->stmt[g->stmt[j]].tensor))
                return false;
        }
    }
    return true;
}

static void find_kept(const Te *te, StatFacts *f, const TeStmt *root, bool root_stored) {
    const RowGroup *g = f->group;
    f->kept = -1;
    for (int i = g->n - 1; i >= 0 && f->kept < 0 && !root_stored; i--) {
        const TeStmt *s = &te->stmt[g->stmt[i]];
        bool reads_root = false, reads_row = false;
        TeDtype type = te_dtype_compute(te->tensor[s->tensor].dtype);
        if (g->role[i] != ROW_MAP || type != root->rhs->type) continue;
        uint64_t under = made_of(te, f, root->tensor, i, &reads_root, &reads_row);
        if (!reads_root || reads_row || !is_all(te, f, root->tensor, i, under)) continue;
        f->kept = i;
        f->under = under;
        for (int j = 0; j <= i; j++) {
            if (j == i || (under >> j & 1))
                f->kept_ops += stmt_ops(te, &te->stmt[g->stmt[j]]);
        }
    }
}

/* What map i takes of an element when pass p stores it.  */
static void count_emitted(const Te *te, StatFacts *f, int i, int p) {
    enum { DIVISION = 10 };   /* in machine code, as those of quotient_ops */
    TeQuotient q = rtile_quotient(te, f->group, i);
    bool inverts = q.e && !q.tested && !(f->folds[i] >> p & 1);
    f->emit_ops[p] += stmt_ops(te, &te->stmt[f->group->stmt[i]]);
    if (!inverts) return;
    f->emit_ops[p] -= EXPR_CALL - quotient_ops(q);
    f->divided_ops[p] += DIVISION - quotient_ops(q);
    f->quotients[p]++;
}

StatFacts *stats_facts(Arena *a, const Te *te, const KernelGroup *kernel, const RowGroup *g,
                       const bool *stored, bool root_stored) {
    StatFacts *f = ARENA_NEW(a, StatFacts);
    const TeStmt *root = &te->stmt[kernel->root];
    int64_t points = 1;
    *f = (StatFacts){.group = g, .any_stored = root_stored};
    for (int i = 0; i < root->n_left; i++) points *= root->index[i].hi.value;
    for (int i = 0; i < g->n; i++) f->stored[i] = stored[i];
    rows_evaluated(te, g, stored, (const bool[ROW_MAX_STMTS]){false}, f->folds, f->emits);
    find_kept(te, f, root, root_stored);
    if (root_stored) f->emit_bytes[0] = points * te_dtype_bytes(te->tensor[root->tensor].dtype);
    for (int i = 0; i < g->n; i++) {
        const TeStmt *s = &te->stmt[g->stmt[i]];
        double ops = stmt_ops(te, s), functions = expr_functions(s->rhs);
        for (int p = 0; p < g->n_pass; p++) {
            if (f->folds[i] >> p & 1) f->fold_ops[p] += ops;
            if (f->emits[i] >> p & 1) count_emitted(te, f, i, p);
            if ((f->folds[i] | f->emits[i]) >> p & 1) f->functions[p] += functions;
        }
        if (g->role[i] == ROW_REDUCE) f->reduces[g->pass[i]]++;
        if (g->role[i] != ROW_MAP || !stored[i]) continue;
        f->emit_bytes[g->pass[i]] += points * te_dtype_bytes(te->tensor[s->tensor].dtype);
        f->any_stored = true;
    }
    return f;
}
