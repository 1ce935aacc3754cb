#include "codegen/skeleton/row.h"

/* Division of all elements x of a row by a value y of it, with the bits of a division.
 *
 * With r = 1 / y rounded to nearest, q = x r and q' = q + (x - q y) r by two fused multiply-adds,
 * q' is x / y rounded to nearest.  Let p be 24, the bits of an f32, and x and y in [1, 2):
 * exponents do not matter as long as nothing underflows.
 * - x >= y: |x r - x / y| <= x 2^-(p+1) < ulp / 2, and its rounding adds as much, so q is within 1
 *   ulp.  The remainder x - q y is then exact, and Markstein's theorem (IBM Journal of Research
 *   and Development 34, 1990, p. 111) says that q' is right.
 * - x < y: an ulp of the quotient is 2^-p, and q is within (x + 1) / 2 ulp.  Where the remainder
 *   is exact the theorem's argument holds: for a midpoint q + h between two f32, h being half an
 *   ulp, y h is an f32, so a remainder that is larger is larger by a bit, which outweighs what r
 *   is off by.  Where it is not (more than 1 ulp off), it is off by at most 2^-(2p-1), and q' by
 *   at most 1.25 * 2^-(2p-1); but x / y is then at least (2 - x) 2^-(p+1) away from q's next
 *   midpoint but one, 1.5 ulp, which is more for every x but 2 - 2^-22.  That x has one larger y,
 *   2 - 2^-23, and for this pair the result is right.
 *
 * What remains are exponents, and signs of zeros.  What the expression says of x (te_real_range)
 * counts roundings, underflow, infinities and zeros of both signs; y is asked once for each row:
 *   x from +0 to 2^60, a result of f16 or 8 bits, y from 2^-64 to 2^64: as above.  From x = 2^-102
 *     on all steps are exact or the quotient is normal; below, quotients are less than 2^-38, 0
 *     either way.
 *   x from +0 to 2^60, any other result, y from 2^-32 to 2^32, its bits not all ones: scaled,
 *     below.
 *   any x, y from 2^-32 to 2^32: as above for vectors all of whose x are between 2^-92 and 2^92 in
 *     size, or +0; quotients are then normal, and remainders, multiples of 2^-141, exact.  Others
 *     are divided (NaN, infinities, and -0, whose sign would be lost).
 *
 * Scaled: where the quotient is subnormal, x / y may lie in the middle between two results, and r,
 * which is rounded, puts it on either side.  With S = 2^56, e = (1 - r y) r, d = x S - q (y S) and
 * t = d r + d e, all by fused multiply-adds, q + t / S is x / y rounded to nearest, also then.  d
 * is a multiple of 2^-148, however small q, and less than 1.5 y units of q, so exact.  t is d / y
 * with an error of 3 * 2^-2p relative from e and d e, then rounded once; so if d / y is the
 * middle, t is, too.  If not, y times the middle and the remainder, both multiples of half a unit
 * of q times one of y, differ by one such, 2^-p (2 / y) of the middle at least; t stays on its
 * side where that is more than half a unit of t, 2^-p, by the error: where y is less than 2 - 3 *
 * 2^-23.  Of the three significands left it is wrong for all ones, 2 - 2^-23; for the others all x
 * were tried. tests/unit/test_row_values.c compares with the host's division next to every such
 * place.  */

static const RowFacts *facts(const Kernel *k) { return rprog_row_facts(k->task->p, k->task->r); }

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
