/* Factors of the terms of a sum: those that no summed index reaches go behind it, the others come
 * together by the indices that they have.
 *
 *   sum[k](A[m,k] * B[n,k] * s[m])     ->  sum[k](A[m,k] * B[n,k]) * s[m]
 *   sum[k](0.5 * A[m,k] / d * B[n,k])  ->  sum[k](A[m,k] * B[n,k]) * 0.5 / d
 *   sum[k](A[m,k] * B[n,k] * w[k])     ->  sum[k]((A[m,k] * w[k]) * B[n,k])
 *
 * Only where what stays is a product: it is summed by units that multiply, which have room for two
 * operands.  The language leaves it open (docs/te-reference.md, "Factors of a sum"): roundings
 * differ, products and the sum without its factors may leave the range of numbers, and an infinite
 * factor, or a divisor of 0, gives another infinity, or NaN.  Integers that are made real by such a
 * factor are summed as integers, where no sum of theirs leaves 32 bits.  A sum with an accumulator
 * of its own, or `@written`, stays as it is.  */
#include "te/access/access.h"
#include "te/tree/tree.h"
#include <math.h>

enum { MOST = 16 };                       /* factors of one sum; beyond it is left as it is */

typedef struct {
    Arena *a;
    TeDtype type;                         /* of the sum */
    uint32_t summed;                      /* its indices */
    const TeExpr *kept[MOST], *moved[MOST];
    bool divides[MOST];                   /* moved[i] does */
    int n_kept, n_moved;
    bool negative, full;
} Factors;

static void add_factor(Factors *f, const TeExpr *e, bool divides) {
    bool kept = access_uses(e) & f->summed;
    int *n = kept ? &f->n_kept : &f->n_moved;
    f->full |= *n == MOST;
    if (f->full) return;
    if (!kept) f->divides[*n] = divides;
    (kept ? f->kept : f->moved)[(*n)++] = e;
}

/* The factors of e, in order, through what is made in the type of the sum.  */
static void part(Factors *f, const TeExpr *e) {
    bool own = e->type == f->type;
    if (own && e->kind == TE_MUL) {
        part(f, e->args[0]);
        part(f, e->args[1]);
    } else if (own && e->kind == TE_DIV && !(access_uses(e->args[1]) & f->summed)) {
        part(f, e->args[0]);
        add_factor(f, e->args[1], true);
    } else if (own && e->kind == TE_NEG) {
        f->negative = !f->negative;
        part(f, e->args[0]);
    } else {
        add_factor(f, e, false);
    }
}

static TeExpr *two(Factors *f, TeKind kind, TeExpr *x, TeExpr *y) {
    TeExpr *e = te_expr_node(f->a, kind, f->type, 2, x->pos);
    e->args[0] = x;
    e->args[1] = y;
    return e;
}

/* A product of integers whose sums all fit the type that they are made in.  */
static bool sums_fit(const Te *te, const TeStmt *s, const TeExpr *sum, const TeExpr *product) {
    if (product->kind != TE_MUL || product->type != TE_I32) return false;
    Interval r = te_range(te, s, product, NULL), most = te_type_range(TE_I32);
    double n = 1;
    for (int i = 0; i < sum->n_index; i++) n *= (double)te_index_extent(&s->index[sum->index[i]]);
    return n * fmax(-(double)r.lo, (double)r.hi) <= (double)most.hi;
}

/* Has each operand of the product left indices that the other lacks?  */
static bool is_clean(const TeExpr *e, uint32_t left) {
    if (e->kind != TE_MUL) return false;
    uint32_t x = access_uses(e->args[0]) & left, y = access_uses(e->args[1]) & left;
    return (x & ~y) && (y & ~x);
}

/* The kept factors that have no left index but those of the factor with the most are operand 0 of
 * the product, the others operand 1.  Are there such?  */
static bool group(const Factors *f, uint32_t left, bool *second) {
    uint32_t most = 0;
    bool any = false;
    for (int i = 0; i < f->n_kept; i++) {
        uint32_t uses = access_uses(f->kept[i]) & left;
        if (__builtin_popcount(uses) > __builtin_popcount(most)) most = uses;
    }
    for (int i = 0; i < f->n_kept; i++) {
        second[i] = access_uses(f->kept[i]) & left & ~most;
        any |= second[i];
    }
    return any;
}

/* The product of the kept factors that are of the second operand, or of those that are not.  */
static TeExpr *product(Factors *f, const bool *second, bool side) {
    TeExpr *e = NULL;
    for (int i = 0; i < f->n_kept; i++) {
        if (second[i] != side) continue;
        TeExpr *x = te_expr_copy(f->a, f->kept[i]);
        e = e ? two(f, TE_MUL, e, x) : x;
    }
    return e;
}

static TeExpr *sum_of(Factors *f, const TeExpr *sum, TeExpr *body) {
    TeExpr *e = ARENA_NEW(f->a, TeExpr);
    *e = *sum;
    e->type = e->store = body->type;
    e->args = ARENA_ARRAY(f->a, TeExpr *, 1);
    e->args[0] = body;
    return e;
}

/* e with what has moved behind it.  */
static TeExpr *behind(Factors *f, TeExpr *e) {
    for (int i = 0; i < f->n_moved; i++)
        e = two(f, f->divides[i] ? TE_DIV : TE_MUL, e, te_expr_copy(f->a, f->moved[i]));
    if (!f->negative) return e;
    TeExpr *minus = te_expr_node(f->a, TE_NEG, f->type, 1, e->pos);
    minus->args[0] = e;
    return minus;
}

TeExpr *access_factored(Arena *a, const Te *te, const TeStmt *s, const TeExpr *sum) {
    Factors f = {.a = a, .type = sum->type};
    bool second[MOST], real = te_dtype_class(sum->type) == TE_CLASS_REAL;
    if (sum->red != TE_RED_SUM || !real || s->written || s->accum != TE_DTYPE_COUNT) return NULL;
    for (int i = 0; i < sum->n_index; i++) f.summed |= 1u << sum->index[i];
    part(&f, sum->args[0]);
    uint32_t left = (1u << s->n_left) - 1;
    bool groups = group(&f, left, second) && f.n_kept > 2 && !is_clean(sum->args[0], left);
    if (f.full || (f.n_moved == 0 && !f.negative && !groups)) return NULL;
    if (f.n_kept < 2 && (f.n_kept == 0 || !sums_fit(te, s, sum, f.kept[0]))) return NULL;
    TeExpr *body = product(&f, second, false), *other = product(&f, second, true);
    return behind(&f, sum_of(&f, sum, other ? two(&f, TE_MUL, body, other) : body));
}
