/* Means as they are spelled.  A count that is cast to a narrow type may be another number, and is
 * none; one over a count may be rounded as f32 is.  */
#include "te/access/mean.h"
#include "te/access/access.h"
#include "te/tree/tree.h"
#include <math.h>

static bool sums_fully(const TeStmt *s) {
    return s->accum == TE_DTYPE_COUNT || s->accum == s->rhs->type;
}

bool te_same_rules(const TeStmt *x, const TeStmt *y) {
    return sums_fully(x) && sums_fully(y) && x->fast == y->fast && x->tf32 == y->tf32 &&
           x->fp32x3 == y->fp32x3;
}

/* Does the cast keep every count, but for what a mean in f32 is rounded by?  */
static bool keeps_counts(const TeExpr *e) {
    return e->store == TE_F64 || e->store == TE_F32 || e->store == TE_I64;
}

/* Sizes as a product: a number, and factors known at run time only.  */
enum { FACTORS_MAX = 16 };
typedef struct {
    double number;
    const TeExpr *factor[FACTORS_MAX];
    int n;
} Product;

static bool multiply(const Te *te, const TeStmt *s, const TeExpr *e, Product *p) {
    Affine f;
    while (e->kind == TE_CAST && keeps_counts(e)) e = e->args[0];
    if (access_uses(e))
        return false;
    if (e->kind == TE_MUL)
        return multiply(te, s, e->args[0], p) && multiply(te, s, e->args[1], p);
    if (e->kind == TE_SIZE && te->size[e->v.ref].kind == TE_SIZE_LET &&
        te->size[e->v.ref].extent.expr)
        return multiply(te, s, te->size[e->v.ref].extent.expr, p);
    if (e->kind == TE_REAL) {
        p->number *= e->v.r;
    } else if (access_affine(te, s, e, &f)) {
        p->number *= (double)f.c;
    } else {
        if (p->n == FACTORS_MAX)
            return false;
        p->factor[p->n++] = e;
    }
    return true;
}

/* The same number and factors, in any order.  */
static bool same_product(const Product *x, const Product *y) {
    uint32_t taken = 0;
    if (x->number != y->number || x->n != y->n)
        return false;
    for (int i = 0; i < x->n; i++) {
        int j = 0;
        while (j < y->n && ((taken >> j & 1) || !te_expr_same(x->factor[i], y->factor[j]))) j++;
        if (j == y->n)
            return false;
        taken |= 1u << j;
    }
    return true;
}

/* Is it the number of points, as a number or in sizes?  */
static bool is_count(const Te *te, const TeStmt *s, const TeExpr *e, const Product *points) {
    Product count = {.number = 1};
    return multiply(te, s, e, &count) && same_product(&count, points);
}

/* Is it one over that, rounded no more than to f32?  */
static bool is_reciprocal(const Te *te, const TeStmt *s, const TeExpr *e, const Product *points) {
    static const double rounding = 1.0 / (1 << 24);
    if (e->kind == TE_DIV && e->args[0]->kind == TE_REAL && e->args[0]->v.r == 1)
        return is_count(te, s, e->args[1], points);
    return e->kind == TE_REAL && points->n == 0 && fabs(e->v.r * points->number - 1) <= rounding;
}

int te_mean_of(const Te *te, const TeStmt *s, const TeStmt *sum) {
    const TeExpr *e = s->rhs;
    Product points = {.number = 1};
    if (e->kind != TE_DIV && e->kind != TE_MUL) return -1;
    for (int j = sum->n_left; j < sum->n_index; j++) {
        const TeExtent *n = &sum->index[j].hi;
        if (!n->expr) points.number *= (double)n->value;
        else if (!multiply(te, sum, n->expr, &points)) return -1;
    }
    int read = e->args[0]->kind == TE_READ ? 0 : 1;
    const TeExpr *by = e->args[!read];
    if (e->args[read]->kind != TE_READ) return -1;
    bool mean = e->kind == TE_MUL ? is_reciprocal(te, s, by, &points)
                                  : read == 0 && is_count(te, s, by, &points);
    return mean ? e->args[read]->v.ref : -1;
}
