/* On which small integers is an op exact?  */
#include "te/eval/eval_impl.h"
#include "te/eval/fill.h"
#include "te/tree/tree.h"
#include <math.h>

/* From rich to poor.  */
static const TeRecipe recipes[] = {
    {8, 1, false}, {4, 1, false}, {3, 1, false}, {2, 1, false}, {1, 1, false},
    {1, 2, false}, {1, 4, false}, {1, 8, false}, {1, 16, false}};
enum { RECIPES = sizeof recipes / sizeof recipes[0] };

/* te_eval finds sums of multiples of 2^-SUM_BITS exact; what matrix units keep of sums of f8
 * products and of TF32 factors.  */
enum { SUM_BITS = 12, F8_SUM_BITS = 13, TF32_BITS = 11 };

/* What is known of a value without looking at data.  */
typedef struct {
    double worst;             /* largest magnitude */
    double typical;           /* root mean square */
    int bits;                 /* fraction bits */
    bool exact;               /* no rounding so far */
} Reach;

typedef struct {
    const Te *te;
    Reach tensor[TE_MAX_TENSORS];
    bool sums_fit;            /* every real sum stays exact in its accumulator */
    bool multiplies;          /* there is a product over a range */
} Survey;

int te_significand(TeDtype t) {
    switch (t) {
    case TE_F64: return 53;
    case TE_F32: return 24;
    case TE_F16: return 11;
    case TE_BF16: return 8;
    case TE_F8E4M3:
    case TE_F8UE4M3: return 4;
    case TE_F6E2M3: return 4;
    case TE_F8E5M2:
    case TE_F6E3M2: return 3;
    case TE_F4E2M1: return 2;
    case TE_F8UE8M0: return 1;
    default: return 63;
    }
}

static Reach reach_of(Survey *v, const TeStmt *s, const TeExpr *e);

static int fraction_bits(double x) {
    int bits = 0;
    while (bits < 64 && x != floor(x)) {
        x *= 2;
        bits++;
    }
    return bits;
}

static bool is_power_of_two(double x) {
    int e;
    return x > 0 && frexp(x, &e) == 0.5;
}

static Reach literal(double x) {
    if (isinf(x))
        return (Reach){.exact = true};
    return (Reach){fabs(x), fabs(x), fraction_bits(x), true};
}

static Reach larger(Reach x, Reach y) {
    return (Reach){fmax(x.worst, y.worst), fmax(x.typical, y.typical),
                    x.bits > y.bits ? x.bits : y.bits, x.exact && y.exact};
}

static Reach divide(Survey *v, const TeStmt *s, const TeExpr *e, Reach x) {
    const TeExpr *by = e->args[1];
    double d = by->kind == TE_REAL ? by->v.r
               : by->kind == TE_INT ? (double)by->v.i
               : by->kind == TE_SIZE ? (double)v->te->size[by->v.ref].extent.value : 0;
    Reach y = reach_of(v, s, by);
    if (te_dtype_class(e->type) == TE_CLASS_INT)
        return e->kind == TE_MOD ? y : x;
    if (d == 0)
        return (Reach){.worst = x.worst, .typical = x.typical};
    x.exact = x.exact && is_power_of_two(fabs(d));
    x.bits += d > 1 ? ilogb(d) : 0;
    x.worst /= fabs(d);
    x.typical /= fabs(d);
    return x;
}

/* Of a packed input, the recipe's numbers, as the type has them; else any of the type.  */
static Reach of_code(Survey *v, const TeExpr *e, Reach code) {
    const TeExpr *read = e->n_reads ? e->reads[0] : NULL;
    bool packed = read && te_dtype_packed(v->te->tensor[read->v.ref].dtype) != TE_DTYPE_COUNT;
    Reach any = {6, 3, 1, code.exact};
    if (!packed || read->v.ref >= v->te->n_in) return any;
    Reach x = v->tensor[read->v.ref];
    return (Reach){fmin(x.worst, any.worst), fmin(x.typical, any.worst), 0, x.exact};
}

static Reach call(Survey *v, const TeStmt *s, const TeExpr *e) {
    Reach x = reach_of(v, s, e->args[0]);
    switch (e->v.fn) {
    case TE_FN_ABS:
        return x;
    case TE_FN_FLOOR:
    case TE_FN_CEIL:
    case TE_FN_ROUND:
        x.bits = 0;
        return x;
    case TE_FN_MAX:
    case TE_FN_MIN:
        for (int i = 1; i < e->n_args; i++)
            x = larger(x, reach_of(v, s, e->args[i]));
        return x;
    case TE_FN_E2M1:
        return of_code(v, e, x);
    case TE_FN_E2M1_CODE:
        return (Reach){15, 8, 0, x.exact};
    case TE_FN_PHILOX:
        reach_of(v, s, e->args[1]);
        return (Reach){(double)TE_PHILOX_MAX, (double)TE_PHILOX_MAX, 0, true};
    default:
        for (int i = 1; i < e->n_args; i++)
            reach_of(v, s, e->args[i]);
        return (Reach){.worst = 1, .typical = 1};
    }
}

static double terms_of(const TeStmt *s, const TeExpr *e) {
    double n = 1;
    for (int i = 0; i < e->n_index; i++)
        n *= (double)(s->index[e->index[i]].hi.value - s->index[e->index[i]].lo.value);
    return n;
}

/* Elements of narrow types among the factors of e, by name or not.  */
static int narrow_factors(const Te *te, const TeStmt *s, const TeExpr *e) {
    const TeExpr *named = access_named_product(te, s, e);
    if (named) e = named;
    if (e->kind == TE_MUL)
        return narrow_factors(te, s, e->args[0]) + narrow_factors(te, s, e->args[1]);
    bool through = e->kind == TE_CAST || e->kind == TE_NEG || e->kind == TE_DIV;
    if (through && !te_dtype_narrow(e->store)) return narrow_factors(te, s, e->args[0]);
    return te_dtype_narrow(e->store);
}

bool eval_sums_narrow(const Te *te, const TeStmt *s, const TeExpr *sum) {
    return s->accum == TE_DTYPE_COUNT && narrow_factors(te, s, sum->args[0]) >= 2;
}

static Reach reduce(Survey *v, const TeStmt *s, const TeExpr *e) {
    Reach x = reach_of(v, s, e->args[0]);
    double n = terms_of(s, e);
    bool real = te_dtype_class(e->args[0]->type) == TE_CLASS_REAL;
    int bits = te_significand(s->accum == TE_DTYPE_COUNT ? e->type : s->accum);
    if (eval_sums_narrow(v->te, s, e))
        bits = F8_SUM_BITS;
    double limit = ldexp(1, bits - (x.bits > 0 ? SUM_BITS : 0));
    switch (e->red) {
    case TE_RED_SUM:
        x.worst *= n;
        x.typical *= sqrt(n);
        break;
    case TE_RED_PROD:
        x.worst = pow(x.worst, n);
        x.typical = pow(x.typical, n);
        limit = ldexp(1, bits);
        v->multiplies = true;
        break;
    case TE_RED_ARGMAX:
    case TE_RED_ARGMIN:
        return (Reach){n, n / 2, 0, x.exact};
    default:
        return x;
    }
    bool fits = x.worst <= limit && x.bits <= (e->red == TE_RED_SUM ? SUM_BITS : 0);
    if (real && !fits) {
        x.exact = false;
        v->sums_fit = false;
    }
    return x;
}

static Reach operation(Survey *v, const TeStmt *s, const TeExpr *e) {
    Reach x = reach_of(v, s, e->args[0]);
    if (e->kind == TE_DIV || e->kind == TE_MOD)
        return divide(v, s, e, x);
    Reach y = reach_of(v, s, e->args[1]), z = larger(x, y);
    if (e->kind == TE_MUL) {
        z.worst = x.worst * y.worst;
        z.typical = x.typical * y.typical;
        z.bits = x.bits + y.bits;
        double factor = fmax(ldexp(x.worst, x.bits), ldexp(y.worst, y.bits));
        z.exact = z.exact && (!(s->tf32 || s->fp32x3) || factor <= ldexp(1, TF32_BITS));
    } else {
        z.worst = x.worst + y.worst;
        z.typical = hypot(x.typical, y.typical);
    }
    if (te_dtype_class(e->type) == TE_CLASS_REAL)
        z.exact = z.exact && ldexp(z.worst, z.bits) <= ldexp(1, te_significand(e->type));
    return z;
}

/* Below the next power of two of both, in magnitude; what is shifted up may be any number.  */
static Reach bits_reach(Survey *v, const TeStmt *s, const TeExpr *e) {
    Reach x = reach_of(v, s, e->args[0]), y = reach_of(v, s, e->args[1]), z = larger(x, y);
    z.worst = e->kind == TE_SHL ? ldexp(1, e->type == TE_I32 ? 31 : 63) : 2 * z.worst;
    if (e->kind == TE_SHR) z = (Reach){x.worst, x.typical, 0, x.exact && y.exact};
    return z;
}

static Reach read_reach(Survey *v, const TeStmt *s, const TeExpr *e) {
    Reach x = v->tensor[e->v.ref];
    for (int i = 0; i < e->n_args; i++)
        x.exact &= reach_of(v, s, e->args[i]).exact;
    return e->other ? larger(x, reach_of(v, s, e->other)) : x;
}

static Reach cast(Survey *v, const TeStmt *s, const TeExpr *e) {
    Reach x = reach_of(v, s, e->args[0]);
    if (te_dtype_class(e->store) == TE_CLASS_BOOL)
        return (Reach){1, 1, 0, x.exact};
    if (te_dtype_class(e->store) == TE_CLASS_INT)
        x.bits = 0;
    return x;
}

static Reach reach_of(Survey *v, const TeStmt *s, const TeExpr *e) {
    switch (e->kind) {
    case TE_INT:
    case TE_BOOLEAN:
        return literal((double)e->v.i);
    case TE_REAL:
        return literal(e->type == TE_F32 ? (double)(float)e->v.r : e->v.r);
    case TE_SIZE:
        return literal((double)v->te->size[e->v.ref].extent.value);
    case TE_INDEX:
        return literal((double)s->index[e->v.ref].hi.value);
    case TE_SCALAR:
    case TE_READ:
        return read_reach(v, s, e);
    case TE_NEG:
    case TE_NOT:
        return reach_of(v, s, e->args[0]);
    case TE_SELECT: {
        Reach c = reach_of(v, s, e->args[0]);
        Reach x = larger(reach_of(v, s, e->args[1]), reach_of(v, s, e->args[2]));
        x.exact &= c.exact;
        return x;
    }
    case TE_CALL:
        return call(v, s, e);
    case TE_CAST:
        return cast(v, s, e);
    case TE_REDUCE:
        return reduce(v, s, e);
    default: {
        if (te_is_bitwise(e->kind)) return bits_reach(v, s, e);
        if (te_is_arithmetic(e->kind)) return operation(v, s, e);
        bool x = reach_of(v, s, e->args[0]).exact, y = reach_of(v, s, e->args[1]).exact;
        return (Reach){1, 1, 0, x && y};
    }
    }
}

/* The whole op on inputs of one recipe: are all intermediates exact?  *snug: are the outputs, too,
 * where they are stored?  */
static bool survey(Survey *v, const Te *te, const TeRecipe *r, bool *snug) {
    v->te = te;
    v->sums_fit = true;
    v->multiplies = false;
    bool exact = true;
    *snug = true;
    for (int t = 0; t < te->n_in; t++) {
        double m = r->most, square = m * (m + 1) / 3 / r->one_in;
        v->tensor[t] = (Reach){m, sqrt(square), 0, true};
    }
    for (int i = 0; i < te->n_stmt; i++) {
        const TeStmt *s = &te->stmt[i];
        const TeTensor *t = &te->tensor[s->tensor];
        Reach x = reach_of(v, s, s->rhs);
        exact = exact && x.exact;
        if (t->role == TE_OUTPUT && te_dtype_class(t->dtype) == TE_CLASS_REAL)
            *snug = *snug && 3 * x.typical <= ldexp(1, te_significand(t->dtype));
        v->tensor[s->tensor] = x;
    }
    return exact;
}

/* Exactness counts most, then that of sums, then the outputs'; the richest of equals.  */
TeRecipe te_recipe(const Te *te) {
    Survey v;
    int chosen = RECIPES - 1, best = 0;
    for (int i = 0; i < RECIPES; i++) {
        bool snug, exact = survey(&v, te, &recipes[i], &snug);
        int score = (exact ? 4 : 0) + (v.sums_fit ? 2 : 0) + (snug ? 1 : 0);
        if (score > best) {
            best = score;
            chosen = i;
        }
    }
    TeRecipe r = recipes[chosen];
    r.no_zero = v.multiplies;
    return r;
}

bool te_exact(const Te *te) {
    Survey v;
    bool snug;
    TeRecipe r = te_recipe(te);
    return survey(&v, te, &r, &snug);
}
