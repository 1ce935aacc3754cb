/* Rules for expressions.  A literal takes its type from what is beside it, so only what has a type
 * of its own takes the place of another expression.
 *
 * All hold for every value, NaN, infinities and zeros of both signs: a - b for a + -b, x for - -x
 * and -x for -1 * x to the bit, but integers of the types that they wrap in alone; x for |x| of
 * an integer that is never negative; x * x for pow(x, 2) and 2^x for pow(2, x), which are right
 * more closely; x * 2^n, x / 2^n and x % 2^n for integers x << n, x >> n and x & (2^n - 1), since /
 * and % floor.  x + 0.0 is x where nobody sees the sign of a zero.  */
#include "te/access/access.h"
#include "te/tree/arith.h"
#include "te/canon/canon.h"
#include "te/edit/cut.h"
#include "te/tree/tree.h"

enum { SQUARE_NODES = 32 };               /* of a factor that is written twice */

typedef struct {
    Norm *n;
    const TeStmt *s;
} Spelling;

/* What e is as well; NULL: the rule does not apply.  */
typedef TeExpr *(*SpellingRule)(const Spelling *x, TeExpr *e);

static bool is_number(const TeExpr *e, double v) {
    return (e->kind == TE_REAL && e->v.r == v) || (e->kind == TE_INT && (double)e->v.i == v);
}

static TeExpr *binary(const Spelling *x, TeKind kind, const TeExpr *like, TeExpr *a, TeExpr *b) {
    TeExpr *e = te_expr_node(x->n->a, kind, like->type, 2, like->pos);
    e->args[0] = a;
    e->args[1] = b;
    return e;
}

/* Is e a negation whose operand may be used in an expression of this type instead?  That of the
 * least i32 is itself, but not in i64.  */
static bool negates(const TeExpr *e, TeDtype type) {
    return e->kind == TE_NEG && (e->type == type || te_dtype_class(e->type) == TE_CLASS_REAL);
}

/* Of an integer that is never negative.  */
static bool is_own_magnitude(const Spelling *x, const TeExpr *e) {
    return e->kind == TE_CALL && e->v.fn == TE_FN_ABS && e->args[0]->type == e->type &&
           te_dtype_class(e->type) != TE_CLASS_REAL && te_own_type(e->args[0]) &&
           te_range(x->n->te, x->s, e->args[0], NULL).lo >= 0;
}

/* a + -b, a - -b, - -a, -1 * a, |a|.  */
static TeExpr *signs(const Spelling *x, TeExpr *e) {
    TeExpr *a = e->n_args > 0 ? e->args[0] : NULL, *b = e->n_args > 1 ? e->args[1] : NULL;
    if (is_own_magnitude(x, e)) return a;
    if (e->kind == TE_NEG && a->kind == TE_NEG && te_own_type(a->args[0]))
        return a->args[0];
    if (e->kind == TE_ADD && negates(b, e->type))
        return binary(x, TE_SUB, e, a, b->args[0]);
    if (e->kind == TE_ADD && negates(a, e->type))
        return binary(x, TE_SUB, e, b, a->args[0]);
    if (e->kind == TE_SUB && negates(b, e->type))
        return binary(x, TE_ADD, e, a, b->args[0]);
    if (e->kind != TE_MUL || !(is_number(a, -1) || is_number(b, -1))) return NULL;
    TeExpr *other = is_number(b, -1) ? a : b, *minus;
    if (other->type != e->type || !te_own_type(other)) return NULL;
    minus = te_expr_node(x->n->a, TE_NEG, e->type, 1, e->pos);
    minus->args[0] = other;
    return minus;
}

/* To the type that the value has: more precision than that is free.  */
static TeExpr *casts(const Spelling *x, TeExpr *e) {
    (void)x;
    bool same = e->kind == TE_CAST && e->store == e->type && e->args[0]->type == e->type;
    return same && te_own_type(e->args[0]) ? e->args[0] : NULL;
}

/* Powers have the wider bound.  (The root of -0 and of -inf is not their power by a half.)  */
static TeExpr *powers(const Spelling *x, TeExpr *e) {
    if (e->kind != TE_CALL || e->v.fn != TE_FN_POW) return NULL;
    TeExpr *base = e->args[0], *exponent = e->args[1];
    bool own = base->type == e->type && te_own_type(base);
    if (is_number(exponent, 1) && own) return base;
    if (is_number(exponent, 2) && own && te_expr_nodes(base) <= SQUARE_NODES)
        return binary(x, TE_MUL, e, base, te_expr_copy(x->n->a, base));
    if (!is_number(base, 2) || exponent->type != e->type || !te_own_type(exponent))
        return NULL;
    TeExpr *call = te_expr_node(x->n->a, TE_CALL, e->type, 1, e->pos);
    call->v.fn = TE_FN_EXP2;
    call->args[0] = exponent;
    return call;
}

/* Arithmetic, of which all else knows more.  */
static TeExpr *bits(const Spelling *x, TeExpr *e) {
    int64_t by;
    if (!te_is_bitwise(e->kind) || e->args[0]->type != e->type ||
        !te_own_type(e->args[0]))
        return NULL;
    TeKind kind = te_bits_arithmetic(e, &by);
    return kind == e->kind ? NULL
                           : binary(x, kind, e, e->args[0],
                                    te_expr_int(x->n->a, by, e->type, e->pos));
}

/* Inside of its tensor without a condition around it, or the value that it would have outside.  */
static TeExpr *reads(const Spelling *x, TeExpr *e) {
    const Te *te = x->n->te;
    if (e->kind != TE_READ || te_always_inside(e) || !normalize_inside(te, x->s, e)) return NULL;
    if (e->other && e->type != te_dtype_compute(te->tensor[e->v.ref].dtype)) return NULL;
    TeExpr *read = te_expr_copy(x->n->a, e);
    read->other = NULL;
    read->inside = TE_INSIDE_ALWAYS;
    return read;
}

/* What the ranges of indices say about a comparison, in *out.  */
static bool decided(TeKind kind, int64_t lo, int64_t hi, bool *out) {
    bool always, never;
    switch (kind) {
    case TE_EQ: always = lo == 0 && hi == 0; never = lo > 0 || hi < 0; break;
    case TE_NE: always = lo > 0 || hi < 0; never = lo == 0 && hi == 0; break;
    case TE_LT: always = hi < 0; never = lo >= 0; break;
    case TE_LE: always = hi <= 0; never = lo > 0; break;
    case TE_GT: always = lo > 0; never = hi <= 0; break;
    case TE_GE: always = lo >= 0; never = hi < 0; break;
    default: return false;
    }
    *out = always;
    return always || never;
}

static bool is_static(const TeStmt *s, const Affine *f) {
    for (int i = 0; i < s->n_index; i++) {
        if (f->coef[i] && s->index[i].hi.expr) return false;
    }
    return true;
}

static TeExpr *conditions(const Spelling *x, TeExpr *e) {
    Affine f;
    int64_t lo, hi;
    bool value;
    if (e->kind < TE_EQ || e->kind > TE_GE || te_dtype_class(e->args[0]->type) != TE_CLASS_INT ||
        te_dtype_class(e->args[1]->type) != TE_CLASS_INT)
        return NULL;
    TeExpr difference = {.kind = TE_SUB, .type = TE_I64, .n_args = 2, .args = e->args};
    if (!access_affine(x->n->te, x->s, &difference, &f) || !is_static(x->s, &f)) return NULL;
    access_range(x->s, &f, &lo, &hi);
    if (lo > hi || !decided(e->kind, lo, hi, &value)) return NULL;
    TeExpr *constant = te_expr_node(x->n->a, TE_BOOLEAN, TE_BOOL, 0, e->pos);
    constant->v.i = value;
    return constant;
}

/* ---- subscripts ---- */

/* The part of f that d does not divide: f = d * whole + rest.  False: rest is not in 0..d-1.  */
static bool divide(const TeStmt *s, const Affine *f, int64_t d, Affine *whole) {
    Affine rest = {.c = floor_mod(f->c, d)};
    int64_t lo, hi;
    *whole = (Affine){.c = floor_div(f->c, d)};
    for (int i = 0; i < TE_MAX_INDICES; i++) {
        whole->coef[i] = f->coef[i] / d;
        rest.coef[i] = f->coef[i] % d;
    }
    access_range(s, &rest, &lo, &hi);
    return lo >= 0 && hi < d;
}

int64_t canon_divisor(const Te *te, const TeStmt *s, const TeExpr *e) {
    Affine f;
    bool divides = e->kind == TE_DIV || e->kind == TE_MOD;
    if (!divides || access_uses(e->args[1]) || !access_affine(te, s, e->args[1], &f)) return 0;
    return f.c > 1 ? f.c : 0;
}

/* f / d, as a quotient by less: what is below a divisor of d cannot change it.  */
static TeExpr *quotient(const Spelling *x, TeExpr *e) {
    Affine f, whole;
    int64_t best = 1;
    int64_t d = canon_divisor(x->n->te, x->s, e);
    if (e->kind != TE_DIV || e->type != TE_I64 || !d || access_affine(x->n->te, x->s, e, &f) ||
        !access_affine(x->n->te, x->s, e->args[0], &f))
        return NULL;
    for (int i = 0; i < x->s->n_index; i++) {
        int64_t g = gcd64(d, f.coef[i]);
        if (g > best && g < d && divide(x->s, &f, g, &whole)) best = g;
    }
    if (best == 1) return NULL;
    divide(x->s, &f, best, &whole);
    return binary(x, TE_DIV, e, cut_affine(x->n->a, &whole, e->pos),
                  te_expr_int(x->n->a, d / best, TE_I64, e->pos));
}

/* Sums of indices in one order, plain indices where that is what they are.  */
static TeExpr *subscripts(const Spelling *x, TeExpr *e) {
    TeExpr *changed = NULL;
    for (int i = 0; e->kind == TE_READ && i < e->n_args; i++) {
        Affine f;
        if (e->args[i]->kind == TE_INDEX || !access_affine(x->n->te, x->s, e->args[i], &f))
            continue;
        TeExpr *sum = cut_affine(x->n->a, &f, e->args[i]->pos);
        if (te_expr_same(sum, e->args[i])) continue;
        if (!changed) changed = te_expr_copy(x->n->a, e);
        changed->args[i] = sum;
    }
    return changed;
}

/* ---- all of it ---- */

static bool respell(const Spelling *x, TeExpr **slot) {
    static const struct {
        SpellingRule apply;
        TeRewrite made;
    } rule[] = {{signs, TE_MADE_SIGNS},           {casts, TE_MADE_CASTS},
                {powers, TE_MADE_POWERS},         {bits, TE_MADE_BITS},
                {quotient, TE_MADE_QUOTIENTS},    {subscripts, TE_MADE_SUBSCRIPTS},
                {reads, TE_MADE_READS},           {conditions, TE_MADE_CONDITIONS}};
    bool any = false;
    for (int i = 0; i < (*slot)->n_args; i++) any |= respell(x, &(*slot)->args[i]);
    if ((*slot)->other) any |= respell(x, &(*slot)->other);
    for (size_t r = 0; r < sizeof rule / sizeof *rule; r++) {
        TeExpr *e = rule[r].apply(x, *slot);
        if (!normalize_note(x->n, rule[r].made, e != NULL)) continue;
        *slot = e;
        any = true;
    }
    return any;
}

/* Would the sign of a zero that argument i of e is be seen in e's value, if that of e's is not?  */
static bool tells_zeros(const TeExpr *e, int i) {
    switch (e->kind) {
    case TE_DIV:
        return i == 1;
    case TE_CALL:
        return e->v.fn == TE_FN_RSQRT || e->v.fn == TE_FN_POW || e->v.fn == TE_FN_E2M1_CODE;
    default:
        return false;
    }
}

/* Does e have the same value for zeros of both signs, or (max, min) may it have that of either?  */
static bool hides_zeros(const TeExpr *e) {
    switch (e->kind) {
    case TE_CALL:
        return e->v.fn == TE_FN_EXP || e->v.fn == TE_FN_EXP2 || e->v.fn == TE_FN_COS ||
               e->v.fn == TE_FN_ABS || e->v.fn == TE_FN_MAX || e->v.fn == TE_FN_MIN;
    case TE_REDUCE:
        return e->red != TE_RED_PROD;
    default:
        return e->kind >= TE_EQ && e->kind <= TE_GE;
    }
}

/* x + 0.0 is x but for the sign of a zero.  `open`: nobody sees that of *slot.  */
static bool drop_zeros(TeExpr **slot, bool open) {
    TeExpr *e = *slot;
    bool any = false;
    if (e->kind == TE_ADD && open && te_dtype_class(e->type) == TE_CLASS_REAL) {
        int zero = is_number(e->args[1], 0) ? 1 : 0;
        TeExpr *kept = e->args[!zero];
        if (is_number(e->args[zero], 0) && kept->type == e->type && te_own_type(kept)) {
            *slot = e = kept;
            any = true;
        }
    }
    for (int i = 0; i < e->n_args; i++)
        any |= drop_zeros(&e->args[i], hides_zeros(e) || (open && !tells_zeros(e, i)));
    return any | (e->other && drop_zeros(&e->other, open));
}

bool canon_spell(Norm *n, int stmt) {
    TeStmt *s = &n->te->stmt[stmt];
    Spelling x = {n, s};
    bool changed = normalize_note(n, TE_MADE_ZEROS, drop_zeros(&s->rhs, false));
    changed |= respell(&x, &s->rhs);
    changed |= normalize_fold(n, &s->rhs);
    n->changed[stmt] |= changed;
    if (changed) te_expr_list_reads(n->a, s->rhs);
    return changed;
}

bool canon_spelling(Norm *n) {
    bool any = false;
    for (int k = 0; k < n->te->n_stmt; k++) any |= canon_spell(n, k);
    return any;
}
