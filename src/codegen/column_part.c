#include "codegen/column.h"

/* Partial results of reductions by columns: what a thread holds, where it lies.  */

Partials column_partials(const Kernel *k, const char *lane) {
    return monoid_pass(k->cg, column_group(k), 0, "acc", lane);
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
