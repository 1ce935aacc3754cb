/* Factors of the terms of a sum: those that no summed index reaches go behind it, the others come
 * together by the indices that they have.  Terms that are several products have a sum each.
 *
 *   sum[k](A[m,k] * B[n,k] * s[m])     ->  sum[k](A[m,k] * B[n,k]) * s[m]
 *   sum[k](0.5 * A[m,k] / d * B[n,k])  ->  sum[k](A[m,k] * B[n,k]) * 0.5 / d
 *   sum[k](A[m,k] * B[n,k] * w[k])     ->  sum[k]((A[m,k] * w[k]) * B[n,k])
 *   sum[k](A[m,k] * B[n,k] - C[m,k] * D[n,k])
 *                                      ->  sum[k](A[m,k] * B[n,k]) - sum[k](C[m,k] * D[n,k])
 *
 * A factor may have a name: a temporary of the type of the sum that is a product of reads is taken
 * as it is written where neighbours in the sum share one of its factors,
 *
 *   w[n,k] = W[n,k] * s[n];  sum[k](A[m,k] * w[n,k])  ->  sum[k](A[m,k] * (W[n,k] * s[n]))
 *
 * unless one of these is a temporary of that type, too: what makes it multiplies as it stores.  Nor
 * where a subscript in it sums: the index of that sum is none of the statement at hand.
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

enum { MOST = 16 };       /* factors of a term, terms of a sum: with more it stays as it is */

typedef struct {
    Arena *a;
    const Te *te;
    const TeStmt *s;
    const TeExpr *sum;
    uint32_t summed, left;                /* indices */
    const TeExpr *kept[MOST], *moved[MOST];
    bool second[MOST], divides[MOST];     /* kept[i] is of operand 1; moved[i] divides */
    int n_kept, n_moved;
    bool negative, full;
    bool two;                 /* operand 1 has factors */
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
    bool own = e->type == f->sum->type;
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

static TeExpr *both(const Factors *f, TeKind kind, TeExpr *x, TeExpr *y) {
    TeExpr *e = te_expr_node(f->a, kind, f->sum->type, 2, x->pos);
    e->args[0] = x;
    e->args[1] = y;
    return e;
}

/* A product of integers whose sums all fit the type that they are made in.  */
static bool sums_fit(const Factors *f, const TeExpr *product) {
    if (product->kind != TE_MUL || product->type != TE_I32) return false;
    Interval r = te_range(f->te, f->s, product, NULL), most = te_type_range(TE_I32);
    double n = 1;
    for (int i = 0; i < f->sum->n_index; i++)
        n *= (double)te_index_extent(&f->s->index[f->sum->index[i]]);
    return n * fmax(-(double)r.lo, (double)r.hi) <= (double)most.hi;
}

bool access_is_product(const TeExpr *e, uint32_t left) {
    if (e->kind != TE_MUL) return false;
    uint32_t x = access_uses(e->args[0]) & left, y = access_uses(e->args[1]) & left;
    return (x & ~y) && (y & ~x);
}

/* The kept factors that have no left index but those of the factor with the most are operand 0 of
 * the product, the others operand 1.  */
static void group(Factors *f) {
    uint32_t most = 0;
    for (int i = 0; i < f->n_kept; i++) {
        uint32_t uses = access_uses(f->kept[i]) & f->left;
        if (__builtin_popcount(uses) > __builtin_popcount(most)) most = uses;
    }
    for (int i = 0; i < f->n_kept; i++) {
        f->second[i] = access_uses(f->kept[i]) & f->left & ~most;
        f->two |= f->second[i];
    }
}

/* A factor that is an operand alone keeps the type that it was multiplied in.  */
static TeExpr *factor(const Factors *f, const TeExpr *e) {
    TeExpr *x = te_expr_copy(f->a, e);
    if (f->n_kept < 2 || x->type == f->sum->type || x->kind == TE_READ) return x;
    TeExpr *cast = te_expr_node(f->a, TE_CAST, f->sum->type, 1, x->pos);
    cast->args[0] = x;
    return cast;
}

/* The product of the factors of operand `side`.  */
static TeExpr *operand(const Factors *f, bool side) {
    TeExpr *e = NULL;
    for (int i = 0; i < f->n_kept; i++) {
        if (f->second[i] != side) continue;
        TeExpr *x = factor(f, f->kept[i]);
        e = e ? both(f, TE_MUL, e, x) : x;
    }
    return e;
}

/* The sum of the product of what is kept, and behind it what has moved.  */
static TeExpr *sum_of(const Factors *f) {
    TeExpr *body = operand(f, false), *e = ARENA_NEW(f->a, TeExpr);
    if (f->two) body = both(f, TE_MUL, body, operand(f, true));
    *e = *f->sum;
    e->type = e->store = body->type;
    e->args = ARENA_ARRAY(f->a, TeExpr *, 1);
    e->args[0] = body;
    for (int i = 0; i < f->n_moved; i++)
        e = both(f, f->divides[i] ? TE_DIV : TE_MUL, e, te_expr_copy(f->a, f->moved[i]));
    if (!f->negative) return e;
    TeExpr *minus = te_expr_node(f->a, TE_NEG, f->sum->type, 1, e->pos);
    minus->args[0] = e;
    return minus;
}

/* A sum of `body` alone.  */
static Factors factors_of(const Factors *empty, const TeExpr *body) {
    Factors f = *empty;
    part(&f, body);
    group(&f);
    return f;
}

/* The sum of one product; NULL: it stays as it is.  */
static TeExpr *of_product(const Factors *empty, const TeExpr *body) {
    Factors f = factors_of(empty, body);
    bool groups = f.two && f.n_kept > 2 && !access_is_product(body, f.left);
    if (f.full || (f.n_moved == 0 && !f.negative && !groups)) return NULL;
    if (f.n_kept < 2 && (f.n_kept == 0 || !sums_fit(&f, f.kept[0]))) return NULL;
    TeExpr *made = sum_of(&f);
    return made->kind == TE_REDUCE && te_expr_same(made->args[0], body) ? NULL : made;
}

/* One sum for each term, all of which are products; NULL: some term is none.  */
static TeExpr *of_terms(const Factors *empty, const TeExpr *e, int *n) {
    bool adds = e->kind == TE_ADD || e->kind == TE_SUB;
    if (!adds || e->type != empty->sum->type) {
        Factors f = factors_of(empty, e);
        return ++*n <= MOST && !f.full && f.two ? sum_of(&f) : NULL;
    }
    TeExpr *x = of_terms(empty, e->args[0], n), *y = x ? of_terms(empty, e->args[1], n) : NULL;
    return y ? both(empty, e->kind, x, y) : NULL;
}

/* ---- names of factors ---- */

static bool is_read(const TeExpr *e) {
    while (e->kind == TE_CAST) e = e->args[0];
    return e->kind == TE_READ || e->kind == TE_SCALAR || e->kind == TE_REAL || e->kind == TE_INT;
}

static bool is_own_temporary(const Te *te, const TeExpr *e, TeDtype type) {
    if (e->kind != TE_READ) return false;
    const TeTensor *t = &te->tensor[e->v.ref];
    return t->role == TE_TEMP && t->dtype == type;
}

/* Is e, of that type, made of reads by factors and divisors alone?  */
static bool multiplies_reads(const Te *te, const TeStmt *s, const TeExpr *e, TeDtype type) {
    if (is_own_temporary(te, e, type)) return access_named_product(te, s, e);
    if (e->type != type || e->kind == TE_CAST || is_read(e)) return is_read(e);
    if (e->kind == TE_NEG) return multiplies_reads(te, s, e->args[0], type);
    bool divides = e->kind == TE_DIV && is_read(e->args[1]);
    return (divides || e->kind == TE_MUL) && multiplies_reads(te, s, e->args[0], type) &&
           multiplies_reads(te, s, e->args[1], type);
}

const TeExpr *access_named_product(const Te *te, const TeStmt *s, const TeExpr *read) {
    const TeStmt *made = te->stmt, *end = te->stmt + te->n_stmt;
    bool own = is_own_temporary(te, read, read->type) && te_always_inside(read);
    while (own && made < end && made->tensor != read->v.ref) made++;
    bool named = own && made < end && !te_narrows_rules(made, s) && !is_read(made->rhs);
    named = named && !te_has_reduction(made->rhs);
    return named && multiplies_reads(te, made, made->rhs, read->type) ? made->rhs : NULL;
}

/* Do neighbours in the sum share a factor of the product of reads?  */
static bool shares_factor(const TeExpr *e, uint32_t summed) {
    if (is_read(e)) return summed & ~access_moving(e);
    for (int i = 0; i < e->n_args; i++)
        if (shares_factor(e->args[i], summed)) return true;
    return false;
}

/* Factors of e that have a name, as they are written.  */
static TeExpr *open_names(const Factors *f, TeExpr *e, bool *any) {
    bool own = e->type == f->sum->type;
    const TeExpr *product = own ? access_named_product(f->te, f->s, e) : NULL;
    if (product) {
        TeExpr *at = te_expr_at(f->a, product, e->args);
        bool shares = shares_factor(at, f->summed);
        *any |= shares;
        return shares ? open_names(f, at, any) : e;
    }
    bool factors = own && (e->kind == TE_MUL || e->kind == TE_DIV || e->kind == TE_NEG ||
                           e->kind == TE_ADD || e->kind == TE_SUB);
    for (int i = 0; i < e->n_args && factors; i++) e->args[i] = open_names(f, e->args[i], any);
    return e;
}

TeExpr *access_opened(Arena *a, const Te *te, const TeStmt *s, const TeExpr *sum) {
    Factors f = {.a = a, .te = te, .s = s, .sum = sum};
    bool any = false;
    if (sum->red != TE_RED_SUM || s->written || s->accum != TE_DTYPE_COUNT) return NULL;
    for (int i = 0; i < sum->n_index; i++) f.summed |= 1u << sum->index[i];
    TeExpr *opened = te_expr_copy(a, sum);
    opened->args[0] = open_names(&f, opened->args[0], &any);
    return any ? opened : NULL;
}

TeExpr *access_factored(Arena *a, const Te *te, const TeStmt *s, const TeExpr *sum) {
    Factors f = {.a = a, .te = te, .s = s, .sum = sum, .left = (1u << s->n_left) - 1};
    bool real = te_dtype_class(sum->type) == TE_CLASS_REAL;
    const TeExpr *body = sum->args[0];
    int n = 0;
    if (sum->red != TE_RED_SUM || !real || s->written || s->accum != TE_DTYPE_COUNT) return NULL;
    for (int i = 0; i < sum->n_index; i++) f.summed |= 1u << sum->index[i];
    bool adds = (body->kind == TE_ADD || body->kind == TE_SUB) && body->type == sum->type;
    return adds ? of_terms(&f, body, &n) : of_product(&f, body);
}
