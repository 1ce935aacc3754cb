/* Sums of a few terms, written out where it is decided so.  What is left is a map, each element of
 * which a thread makes alone: products of many small matrices fill no tile, but make streams.
 *
 * Holds for integers, which wrap, and for reals in the type of their terms: a sum may take these in
 * any order.  A sum of terms that are all -0 is 0 of either sign, so it does not matter that this
 * one begins with its first term and others with +0.  A term with a 0 that pads (te_pads) may be
 * left out of a sum only, so those stay.
 *
 * Of a range of a run-time size all terms of the largest one are written, those beyond the smallest
 * under a condition: a 0 is added for a term that is not there, which changes the sign of a 0 at
 * most, and nothing is read for it.  */
#include "te/normal/normalize.h"
#include "te/tree/tree.h"

/* The terms of a sum at most; 0: its ranges do not start at 0.  */
static int64_t terms_of(const TeStmt *s) {
    const TeExpr *e = s->rhs;
    int64_t n = 1;
    for (int i = 0; i < e->n_index; i++) {
        const TeIndex *x = &s->index[e->index[i]];
        if (x->lo.expr || x->lo.value != 0 || !mul_fits(n, x->hi.value, &n)) return 0;
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
    return n > 1 && n <= TE_MOST_TERMS && e->args[0]->type == e->type && !pads(e->args[0]);
}

/* The term's place along each range, the last index fastest.  */
static void places(const TeStmt *s, int64_t at, int64_t *place) {
    const TeExpr *e = s->rhs;
    for (int i = e->n_index - 1; i >= 0; i--) {
        int64_t extent = s->index[e->index[i]].hi.value;
        place[e->index[i]] = at % extent;
        at /= extent;
    }
}

/* Is the term there?  NULL: at all sizes.  */
static TeExpr *condition(Arena *a, const TeStmt *s, const int64_t *place) {
    const TeExpr *e = s->rhs;
    TeExpr *all = NULL;
    for (int i = 0; i < e->n_index; i++) {
        int k = e->index[i];
        const TeExtent *hi = &s->index[k].hi;
        if (!hi->expr || place[k] < hi->min) continue;
        TeExpr *own = te_expr_node(a, TE_LT, TE_BOOL, 2, e->pos);
        own->args[0] = te_expr_int(a, place[k], TE_I64, e->pos);
        own->args[1] = te_expr_copy(a, hi->expr);
        if (all) {
            TeExpr *both = te_expr_node(a, TE_AND, TE_BOOL, 2, e->pos);
            both->args[0] = all;
            both->args[1] = own;
            own = both;
        }
        all = own;
    }
    return all;
}

/* What is outside where the term is not there is inside by its condition.  */
static void give_condition(const Te *te, const TeStmt *s, TeExpr *e) {
    for (int i = 0; i < e->n_args; i++) give_condition(te, s, e->args[i]);
    if (e->other) give_condition(te, s, e->other);
    if (e->kind == TE_READ && te_always_inside(e) && !normalize_inside(te, s, e))
        e->inside = TE_INSIDE_GIVEN;
}

static TeExpr *term(const Norm *n, const TeStmt *s, int64_t at) {
    const TeExpr *e = s->rhs;
    TeExpr *index[TE_MAX_INDICES];
    int64_t place[TE_MAX_INDICES];
    places(s, at, place);
    for (int i = 0; i < s->n_index; i++) index[i] = te_expr_index(n->a, i, e->pos);
    for (int i = 0; i < e->n_index; i++)
        index[e->index[i]] = te_expr_int(n->a, place[e->index[i]], TE_I64, e->pos);
    TeExpr *own = te_expr_at(n->a, e->args[0], index), *there = condition(n->a, s, place);
    if (!there) return own;
    give_condition(n->te, s, own);
    TeExpr *select = te_expr_node(n->a, TE_SELECT, own->type, 3, e->pos);
    select->args[0] = there;
    select->args[1] = own;
    select->args[2] = te_expr_zero(n->a, own->type, e->pos);
    return select;
}

static TeExpr *written_out(const Norm *n, const TeStmt *s) {
    TeExpr *sum = term(n, s, 0);
    for (int64_t i = 1; i < terms_of(s); i++) {
        TeExpr *add = te_expr_node(n->a, TE_ADD, s->rhs->type, 2, s->rhs->pos);
        add->args[0] = sum;
        add->args[1] = term(n, s, i);
        sum = add;
    }
    return sum;
}

void normalize_unroll(Norm *n) {
    for (int k = 0; k < n->te->n_stmt; k++) {
        TeStmt *s = &n->te->stmt[k];
        if (!is_short_sum(s) || !te_takes(n->te, s, TE_UNROLLED)) continue;
        s->rhs = written_out(n, s);
        s->n_index = s->n_left;
        s->tf32 = s->fp32x3 = false;
        te_expr_list_reads(n->a, s->rhs);
        n->changed[k] = normalize_note(n, TE_MADE_UNROLLED, true);
    }
}
