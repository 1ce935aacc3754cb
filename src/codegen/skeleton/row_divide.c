#include "codegen/skeleton/row.h"

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

void row_test_dividends(Kernel *k, int pass, Ir near) {
    Cg *cg = k->cg;
    for (int i = 0; i < facts(k)->group->n; i++) {
        if (!is_tested(k, i, pass)) continue;
        CgPoint p = elements_point(k, facts(k)->group->stmt[i], false);
        Ir x = cg_expr(&p, division_of(k, i).e->args[0], TE_F32);
        ir_set(cg, near, ir_both(cg, near, ir_call(cg, ir_type(IR_BOOL), "rl_divides", 1, x)));
    }
}

/* Is y between these bounds?  */
static Ir within(const Cg *cg, Ir y, double least, double most) {
    return ir_both(cg, ir_binary(cg, IR_GE, y, cg_real(cg, TE_F32, least)),
                   ir_binary(cg, IR_LE, y, cg_real(cg, TE_F32, most)));
}

Ir row_invert(Kernel *k, int pass, Ir *inverse) {
    Cg *cg = k->cg;
    Ir test = NULL;
    for (int i = 0; i < facts(k)->group->n; i++) {
        int t = divisor_of(k, i, pass);
        if (t < 0 || inverse[t]) continue;
        Ir y = k->at.made[t];
        CgDivision d = division_of(k, i);
        inverse[t] = ir_let(cg, cg_name(cg, "inverse", t), ir_div(cg, cg_real(cg, TE_F32, 1), y));
        test = ir_both(cg, test, within(cg, y, 1 / d.most, d.most));
        if (d.also) test = ir_both(cg, test, ir_call(cg, ir_type(IR_BOOL), d.also, 1, y));
    }
    return test;
}
