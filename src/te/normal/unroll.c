/* Sums of a few terms, written out where it is decided so.  What is left is a map, each element of
 * which a thread makes alone: products of many small matrices fill no tile, but make streams.
 *
 * Holds for integers, which wrap, and for reals in the type of their terms: a sum may take these in
 * any order.  A sum of terms that are all -0 is 0 of either sign, so it does not matter that this
 * one begins with its first term and others with +0.  A term with a 0 that pads (te_pads) may be
 * left out of a sum only, so those stay.  */
#include "te/normal/normalize.h"
#include "te/tree/tree.h"

/* By prediction a batch of products of n x n in f16 gains a factor of 3 at n = 8, 6 to 18 % at 16,
 * and nothing from 24 on (h200, a100): tiles are filled then.  */
enum { TERMS = 16 };

/* The terms of a sum over ranges that are known; 0: they are not.  */
static int64_t terms_of(const TeStmt *s) {
    const TeExpr *e = s->rhs;
    int64_t n = 1;
    for (int i = 0; i < e->n_index; i++) {
        const TeIndex *x = &s->index[e->index[i]];
        if (x->hi.expr || x->lo.expr || x->lo.value != 0 || !mul_fits(n, x->hi.value, &n)) return 0;
    }
    return n;
}

static bool pads(const TeExpr *e) {
    if (te_pads(e) || (e->other && pads(e->other))) return true;
    for (int i = 0; i < e->n_args; i++)
        if (pads(e->args[i])) return true;
    return false;
}

static bool is_short_sum(const TeStmt *s) {
    const TeExpr *e = s->rhs;
    if (e->kind != TE_REDUCE || e->red != TE_RED_SUM || s->accum != TE_DTYPE_COUNT) return false;
    int64_t n = terms_of(s);
    return n > 1 && n <= TERMS && e->args[0]->type == e->type && !pads(e->args[0]);
}

/* The term at place `at` of the ranges, the last index fastest.  */
static TeExpr *term(Arena *a, const TeStmt *s, int64_t at) {
    const TeExpr *e = s->rhs;
    TeExpr *index[TE_MAX_INDICES];
    for (int i = 0; i < s->n_index; i++) index[i] = te_expr_index(a, i, e->pos);
    for (int i = e->n_index - 1; i >= 0; i--) {
        int64_t extent = s->index[e->index[i]].hi.value;
        index[e->index[i]] = te_expr_int(a, at % extent, TE_I64, e->pos);
        at /= extent;
    }
    return normalize_at(a, e->args[0], index);
}

static TeExpr *written_out(Arena *a, const TeStmt *s) {
    TeExpr *sum = term(a, s, 0);
    for (int64_t i = 1; i < terms_of(s); i++) {
        TeExpr *add = te_expr_node(a, TE_ADD, s->rhs->type, 2, s->rhs->pos);
        add->args[0] = sum;
        add->args[1] = term(a, s, i);
        sum = add;
    }
    return sum;
}

void normalize_unroll(Norm *n) {
    for (int k = 0; k < n->te->n_stmt; k++) {
        TeStmt *s = &n->te->stmt[k];
        if (!is_short_sum(s) || !te_takes(n->te, s, TE_UNROLLED)) continue;
        s->rhs = written_out(n->a, s);
        s->n_index = s->n_left;
        s->tf32 = s->fp32x3 = false;
        te_expr_list_reads(n->a, s->rhs);
        n->changed[k] = normalize_note(n, TE_MADE_UNROLLED, true);
    }
}
