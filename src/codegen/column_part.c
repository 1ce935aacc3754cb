#include "codegen/column.h"

/* Partial results of reductions by columns: what a thread holds, where it lies.  */

const TeExpr *column_sum(const Kernel *k, int i) {
    return k->cg->te->stmt[column_view(k)->sum[i]].rhs;
}

Partials column_partials(const Kernel *k, const char *lane) {
    const ColumnView *v = column_view(k);
    Partials p = {.n = 0};
    for (int i = 0; i < v->n_sum; i++) {
        const char *name = i > 0 ? cg_text(k->cg, "%d", i) : "";
        Partial *x = monoid_add(k->cg, &p, column_sum(k, i), "acc", name, lane);
        x->tie = v->tie[i];
        x->leader = v->leader[i];
        x->center = v->center[i];
    }
    return p;
}

void column_declare(Kernel *k, int vec) {
    Partials p = column_partials(k, "v");
    for (int i = 0; i < p.n; i++) monoid_declare(k->cg, &p.at[i], vec);
    if (monoid_counts(&p)) cg_line(k->cg, "int seen = 0;");
}

void column_fold_element(Kernel *k, int deep, const char *lane) {
    Partials p = column_partials(k, lane);
    for (int i = 0; i < p.n; i++) {
        const Partial *x = &p.at[i];
        if (x->tie) continue;
        CgPoint point = elements_point(k, column_view(k)->sum[i], false);
        const char *value = cg_expr(&point, x->e->args[0], monoid_type(x->e));
        if (monoid_leads(&p, i)) column_tie_take(k, x, deep, lane, value);
        else monoid_fold(k->cg, x, value, "k_now", true);
    }
}

void column_put(Kernel *k, int vec, const char *stem, const char *at) {
    Partials p = column_partials(k, "v");
    reduce_put_vector(k->cg, &p, vec, stem, at);
}

void column_add(Kernel *k, int vec, const char *rows, const char *stem, const char *at) {
    Cg *cg = k->cg;
    Partials p = column_partials(k, "v");
    int n = reduce_width(&p, vec);
    p = column_partials(k, cg_text(cg, "p * %d + v", n));
    if (monoid_counts(&p)) cg_line(cg, "const int more = %s;", rows);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int p = 0; p < %d; p++)", vec / n);
    reduce_add(cg, &p, n, stem, cg_text(cg, "(%s) + p * %d", at, n));
    cg_close(cg);
    if (monoid_counts(&p)) cg_line(cg, "seen += more;");
}

void column_arrays(Kernel *k, const char *stem, const char *base, int64_t results) {
    Cg *cg = k->cg;
    Partials p = column_partials(k, "v");
    for (int i = 0; i < p.n; i++) {
        int64_t at = rprog_column_part(k->l->p, results, i);
        reduce_arrays(cg, &p.at[i], stem,
                      i > 0 ? cg_text(cg, "%s + %lldll", base, (long long)at) : base, NULL,
                      rprog_column_part(k->l->p, results, i + 1) - at);
    }
}
