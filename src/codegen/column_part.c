#include "codegen/column.h"

/* Partial results of reductions by columns: what a thread holds, where it lies.  */

Partials column_partials(const Kernel *k, const char *lane) {
    return monoid_pass(k->cg, column_group(k), 0, "acc", lane);
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
        CgPoint point = elements_point(k, column_group(k)->stmt[x->number], false);
        const char *value = cg_expr(&point, x->e->args[0], te_reduced_type(x->e));
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
        int64_t at = rprog_partials(cg->te, column_group(k), p.at[i].number, results);
        reduce_arrays(cg, &p.at[i], stem,
                      at > 0 ? cg_text(cg, "%s + %lldll", base, (long long)at) : base, NULL,
                      rprog_partial_values(p.at[i].e, results));
    }
}
