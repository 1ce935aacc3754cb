/* Statements over rows of a product's results are evaluated where the accumulators are, in
 * registers that no loop can count through: each pass is unrolled over all outputs of a lane, a
 * dozen instructions for each call, and a branch besides for each division.  Additions and products
 * are nothing to that.  */
#include "microperf/compile_rows.h"
#include "microperf/matrix.h"

#include <math.h>

/* Is it a number that the compiler knows?  */
static bool number_of(const Te *te, const TeExpr *e, double *out) {
    double x = 0;
    switch (e->kind) {
    case TE_INT: *out = (double)e->v.i; return true;
    case TE_REAL: *out = e->v.r; return true;
    case TE_SIZE:
        *out = (double)te->size[e->v.ref].extent.value;
        return te->size[e->v.ref].kind != TE_SIZE_RUNTIME;
    case TE_CAST: case TE_CALL: break;
    default: return false;
    }
    if (e->n_args != 1 || !number_of(te, e->args[0], &x)) return false;
    *out = e->kind == TE_CALL ? sqrt(x) : x;
    return e->kind == TE_CAST || e->v.fn == TE_FN_SQRT;
}

/* Does the compiler multiply instead of dividing by it?  */
static bool is_power_of_two(const Te *te, const TeExpr *e) {
    double x;
    int exponent;
    return number_of(te, e, &x) && frexp(fabs(x), &exponent) == 0.5;
}

static double expression_ms(const Te *te, const TeExpr *e) {
    const double call = 0.56, division = 0.75;
    double ms = 0, known;
    if (e->kind == TE_READ || number_of(te, e, &known)) return 0;
    for (int i = 0; i < e->n_args; i++) ms += expression_ms(te, e->args[i]);
    if (e->kind == TE_DIV) return ms + (is_power_of_two(te, e->args[1]) ? 0 : division);
    if (e->kind != TE_CALL) return ms;
    bool simple = e->v.fn == TE_FN_MAX || e->v.fn == TE_FN_MIN || e->v.fn == TE_FN_ABS;
    return ms + (simple ? 0 : call);
}

/* ms for what passes `from` to `to`, of one kernel, make of an element: folded while they walk over
 * the accumulators, stored where it is stored.  A map in place of the results is made once.  */
static void element_ms(const Problem *p, const StatFacts *f, int from, int to, double *folded,
                       double *stored) {
    const RowGroup *g = f->group;
    bool held = false;
    *folded = *stored = 0;
    for (int pass = from; pass <= to; pass++) {
        for (int turn = 0; turn < 2; turn++) {
            const uint64_t *of = turn ? f->emits : f->folds;
            for (int i = 0; i < g->n; i++) {
                bool made = held && (i == f->held || (f->under >> i & 1));
                if (made || !(of[i] >> pass & 1)) continue;
                *(turn ? stored : folded) += expression_ms(p->te, p->te->stmt[g->stmt[i]].rhs);
            }
            held |= f->held >= 0 && (of[f->held] >> pass & 1);
        }
    }
}

double mp_compile_rows_ms(const Problem *p, const RProg *r, double product, RowKernels of) {
    const double values = 29;
    const StatFacts *f = rprog_stats_facts(p, r);
    int n = f->group->n_pass, each = r->stats == STATS_WHOLE ? n : 1, products = 0;
    double sums = mp_lane_sums(r), stores = r->via == VIA_SHARED ? r->store_vec : sums;
    double all = 0, longest = 0;
    for (int pass = 0; pass < n; pass += each, products++) {
        double folded, stored;
        element_ms(p, f, pass, pass + each - 1, &folded, &stored);
        double ms = product + folded * sums + stored * stores;
        if (ms > longest) longest = ms;
        all += ms;
    }
    int kernels = rprog_stats_kernels(p, r);
    return of == ROW_KERNELS_LONGEST ? longest : (all + values * (kernels - products)) / kernels;
}
