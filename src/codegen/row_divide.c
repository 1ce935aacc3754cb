#include "codegen/row.h"

/* Division by a value of the row, as multiplications by its reciprocal (docs/numerics.md).  */

static const RowFacts *facts(const Kernel *k) { return rprog_row_facts(k->l->p, k->l->r); }

static CgDivision division_of(const Kernel *k, int i) {
    return cg_division(k->cg->te, &k->cg->te->stmt[facts(k)->group->stmt[i]]);
}

/* Does the group make the tensor, an element at a time?  */
static bool is_map(const Kernel *k, int tensor) {
    const RowGroup *g = facts(k)->group;
    int maker = row_group_maker(k->cg->te, g, tensor);
    return maker >= 0 && g->role[maker] == ROW_MAP;
}

/* The value of a row that statement i divides by in this pass: its tensor, or -1.  What is tested
 * has to be known before the element is evaluated.  */
static int divisor_of(const Kernel *k, int i, int pass) {
    const RowFacts *f = facts(k);
    CgDivision d = division_of(k, i);
    if (!d.e || f->group->role[i] != ROW_MAP || !(f->eval[i] >> pass & 1)) return -1;
    int by = d.e->args[1]->v.ref;
    if (row_group_maker(k->cg->te, f->group, by) < 0 || is_map(k, by) || !k->at.made[by])
        return -1;
    ReadList reads = access_reads(d.e->args[0]);
    for (int j = 0; j < reads.n && d.tested; j++) {
        if (is_map(k, reads.at[j]->v.ref)) return -1;
    }
    return by;
}

static bool is_tested(const Kernel *k, int i, int pass) {
    return divisor_of(k, i, pass) >= 0 && division_of(k, i).tested;
}

bool row_divides(const Kernel *k, int pass) {
    bool any = false;
    for (int i = 0; i < facts(k)->group->n; i++) any |= divisor_of(k, i, pass) >= 0;
    return any;
}

bool row_tests_dividends(const Kernel *k, int pass) {
    bool any = false;
    for (int i = 0; i < facts(k)->group->n; i++) any |= is_tested(k, i, pass);
    return any;
}

void row_test_dividends(Kernel *k, int pass) {
    for (int i = 0; i < facts(k)->group->n; i++) {
        if (!is_tested(k, i, pass)) continue;
        CgPoint p = elements_point(k, facts(k)->group->stmt[i], false);
        const char *x = text_expr(&p, division_of(k, i).e->args[0], TE_F32);
        cg_line(k->cg, "near = near && rl_divides(%s);", x);
    }
}

/* Is y between these bounds?  */
static const char *within(const Cg *cg, const char *y, double least, double most) {
    return cg_text(cg, "%s >= %s && %s <= %s", y, text_real(cg, TE_F32, least), y,
                   text_real(cg, TE_F32, most));
}

const char *row_invert(Kernel *k, int pass, Ir *inverse) {
    Cg *cg = k->cg;
    const char *test = NULL;
    for (int i = 0; i < facts(k)->group->n; i++) {
        int t = divisor_of(k, i, pass);
        if (t < 0 || inverse[t]) continue;
        const char *y = text_of(cg, k->at.made[t]);
        CgDivision d = division_of(k, i);
        inverse[t] = ir_let(cg, cg_name(cg, "inverse", t),
                            ir_div(cg, cg_real(cg, TE_F32, 1), k->at.made[t]));
        test = both(cg, test, within(cg, y, 1 / d.most, d.most));
        if (d.also) test = both(cg, test, cg_text(cg, "%s(%s)", d.also, y));
    }
    return test;
}
