#include "codegen/elements/elements.h"

/* Division of elements x of a row by a value y of it, with the bits of a division.
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

/* The division of statement i, one of those in `mask`, by a value that is known; e NULL: it has
 * none.  What is tested has to be known before the element is evaluated.  */
static TeQuotient quotient(const Kernel *k, const RowGroup *g, uint64_t mask, int i) {
    const Te *te = k->cg->te;
    TeQuotient q = mask >> i & 1 ? rtile_quotient(te, g, i) : (TeQuotient){0};
    if (q.e && !k->at.made[q.e->args[1]->v.ref]) q.e = NULL;
    ReadList reads = q.e && q.tested ? access_reads(q.e->args[0]) : (ReadList){0};
    for (int j = 0; j < reads.n; j++) {
        int maker = row_group_maker(te, g, reads.at[j]->v.ref);
        if (maker >= 0 && g->role[maker] == ROW_MAP) q.e = NULL;
    }
    return q;
}

bool divide_any(const Kernel *k, const RowGroup *g, uint64_t mask) {
    bool any = false;
    for (int i = 0; i < g->n; i++) any |= quotient(k, g, mask, i).e != NULL;
    return any;
}

bool divide_tests(const Kernel *k, const RowGroup *g, uint64_t mask) {
    bool any = false;
    for (int i = 0; i < g->n; i++) {
        TeQuotient q = quotient(k, g, mask, i);
        any |= q.e && q.tested;
    }
    return any;
}

void divide_test(Kernel *k, const RowGroup *g, uint64_t mask, Ir near) {
    Cg *cg = k->cg;
    for (int i = 0; i < g->n; i++) {
        TeQuotient q = quotient(k, g, mask, i);
        if (!q.e || !q.tested) continue;
        CgPoint p = elements_point(k, g->stmt[i], false);
        Ir x = cg_expr(&p, q.e->args[0], TE_F32);
        ir_set(cg, near, ir_both(cg, near, ir_call(cg, ir_type(IR_BOOL), "rl_divides", 1, x)));
    }
}

/* Is y between these bounds?  */
static Ir within(const Cg *cg, Ir y, double least, double most) {
    return ir_both(cg, ir_binary(cg, IR_GE, y, cg_real(cg, TE_F32, least)),
                   ir_binary(cg, IR_LE, y, cg_real(cg, TE_F32, most)));
}

Ir divide_invert(Kernel *k, const RowGroup *g, uint64_t mask, Ir *inverse) {
    Cg *cg = k->cg;
    Ir test = NULL;
    for (int i = 0; i < g->n; i++) {
        TeQuotient q = quotient(k, g, mask, i);
        int t = q.e ? q.e->args[1]->v.ref : 0;
        Ir y = k->at.made[t];
        if (!q.e) continue;
        if (!inverse[t])
            inverse[t] =
                ir_let(cg, cg_name(cg, "inverse", t), ir_div(cg, cg_real(cg, TE_F32, 1), y));
        test = ir_both(cg, test, within(cg, y, 1 / q.most, q.most));
        if (q.low) test = ir_both(cg, test, ir_call(cg, ir_type(IR_BOOL), "rl_not_ones", 1, y));
    }
    return test;
}

void divide_either(Kernel *k, Ir test, const Ir *inverse, DivideMake *make, const void *of) {
    Cg *cg = k->cg;
    int given = k->at.n_vector;
    if (test) {
        ir_if(cg, test);
        k->at.inverse = inverse;
        make(k, of);
        k->at.inverse = NULL;
        k->at.n_vector = given;
        ir_else(cg);
    }
    make(k, of);
    k->at.n_vector = given;
    if (test) ir_close(cg);
}
