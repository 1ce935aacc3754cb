/* Constant folding: what literals and static sizes decide is decided here, exactly.
 *
 * Only results that every evaluation gives are taken: integers that do not overflow, reals that
 * need no rounding, neutral operands (x + 0.0 is none: it changes the sign of -0), conditions and
 * the branches that they choose; and of roots of f32, whose evaluations differ, the nearest.  Types
 * stay what the text gives them: an expression that would take another type in its new place is
 * left alone or cast.  */
#include "te/tree/arith.h"
#include "te/edit/edit.h"
#include "te/tree/tree.h"
#include <math.h>

static bool in_type(TeDtype t, int64_t v) {
    return t == TE_I64 || (v >= INT32_MIN && v <= INT32_MAX);
}

/* x op y where it neither overflows nor divides by zero.  */
static bool integer_op(TeKind kind, int64_t x, int64_t y, int64_t *out) {
    switch (kind) {
    case TE_ADD:
        return add_fits(x, y, out);
    case TE_SUB:
        return y != INT64_MIN && add_fits(x, -y, out);
    case TE_MUL:
        return mul_fits(x, y, out);
    case TE_DIV:
        if (y == 0 || y == -1)
            return false;
        *out = floor_div(x, y);
        return true;
    case TE_MOD:
        if (y == 0)
            return false;
        *out = floor_mod(x, y);
        return true;
    default:
        return false;
    }
}

/* x op y of integers of the type; 64 bits are left to who computes.  */
static bool bits_op(TeKind kind, TeDtype t, int64_t x, int64_t y, int64_t *out) {
    int n = (int)(y & 31);
    switch (kind) {
    case TE_SHL:
        *out = (int32_t)((uint32_t)x << n);
        return t == TE_I32;
    case TE_SHR:
        *out = floor_div(x, INT64_C(1) << n);
        return t == TE_I32;
    case TE_BITAND:
        *out = x & y;
        return true;
    case TE_BITXOR:
        *out = x ^ y;
        return true;
    default:
        *out = x | y;
        return true;
    }
}

/* The value of an integer expression of literals and static sizes.  */
static bool integer(const Te *te, const TeExpr *e, int64_t *out) {
    int64_t x, y;
    if (te_dtype_class(e->type) != TE_CLASS_INT)
        return false;
    switch (e->kind) {
    case TE_INT:
        *out = e->v.i;
        return true;
    case TE_SIZE:
        *out = te->size[e->v.ref].extent.value;
        return !te->size[e->v.ref].extent.expr && te->size[e->v.ref].kind != TE_SIZE_RUNTIME;
    case TE_NEG:
        return integer(te, e->args[0], &x) && integer_op(TE_SUB, 0, x, out) &&
               in_type(e->type, *out);
    default:
        if (!te_is_arithmetic(e->kind) || !integer(te, e->args[0], &x) ||
            !integer(te, e->args[1], &y))
            return false;
        if (te_is_bitwise(e->kind))
            return bits_op(e->kind, e->type, x, y, out);
        return integer_op(e->kind, x, y, out) && in_type(e->type, *out);
    }
}

static bool compare(TeKind kind, int64_t x, int64_t y) {
    switch (kind) {
    case TE_EQ: return x == y;
    case TE_NE: return x != y;
    case TE_LT: return x < y;
    case TE_LE: return x <= y;
    case TE_GT: return x > y;
    default: return x >= y;
    }
}

static TeExpr *boolean(Norm *n, bool v, uint32_t pos) {
    TeExpr *e = te_expr_node(n->a, TE_BOOLEAN, TE_BOOL, 0, pos);
    e->v.i = v;
    return e;
}

static bool is_boolean(const TeExpr *e, bool v) {
    return e->kind == TE_BOOLEAN && (e->v.i != 0) == v;
}

/* Does the condition around e keep some read inside its tensor?  */
static bool needs_condition(const TeExpr *e) {
    if (e->kind == TE_READ && e->inside != TE_INSIDE_ALWAYS)
        return true;
    for (int i = 0; i < e->n_args; i++) {
        if (needs_condition(e->args[i]))
            return true;
    }
    return e->other && needs_condition(e->other);
}

/* Conditions; NULL: nothing to fold.  */
static TeExpr *condition(Norm *n, TeExpr *e) {
    int64_t x, y;
    switch (e->kind) {
    case TE_NOT:
        if (e->args[0]->kind == TE_BOOLEAN)
            return boolean(n, !e->args[0]->v.i, e->pos);
        return e->args[0]->kind == TE_NOT ? e->args[0]->args[0] : NULL;
    case TE_AND:
    case TE_OR:
        for (int i = 0; i < 2; i++) {
            if (is_boolean(e->args[i], e->kind == TE_AND))
                return needs_condition(e->args[!i]) ? NULL : e->args[!i];
            if (is_boolean(e->args[i], e->kind == TE_OR))
                return boolean(n, e->kind == TE_OR, e->pos);
        }
        return NULL;
    case TE_EQ:
    case TE_NE:
    case TE_LT:
    case TE_LE:
    case TE_GT:
    case TE_GE:
        if (!integer(n->te, e->args[0], &x) || !integer(n->te, e->args[1], &y))
            return NULL;
        return boolean(n, compare(e->kind, x, y), e->pos);
    default:
        return NULL;
    }
}

/* ---- reals ---- */

static bool exact_in(TeDtype t, double v) {
    return isfinite(v) && (t == TE_F64 || (fabs(v) <= 3e38 && (double)(float)v == v));
}

/* x op y where the result has no rounding.  */
static bool real_op(TeKind kind, TeDtype t, double x, double y, double *out) {
    bool exact = false;
    if (!exact_in(t, x) || !exact_in(t, y))
        return false;
    if (kind == TE_SUB)
        y = -y;
    if (kind == TE_ADD || kind == TE_SUB) {
        *out = x + y;
        exact = *out - x == y && *out - y == x;
    } else if (kind == TE_MUL) {
        *out = x * y;
        exact = fma(x, y, -*out) == 0 && (*out != 0 || x == 0 || y == 0);
    } else if (kind == TE_DIV && y != 0) {
        *out = x / y;
        exact = fma(*out, y, -x) == 0 && (*out != 0 || x == 0);
    }
    return exact && exact_in(t, *out);
}

static bool is_literal(const TeExpr *e, double v) {
    if (e->kind == TE_INT)
        return e->v.i == (int64_t)v;
    return e->kind == TE_REAL && e->v.r == v && !signbit(e->v.r);
}

/* The operand that an operation with a neutral one gives back; NULL if there is none.  */
static TeExpr *neutral(const TeExpr *e) {
    TeExpr *x = e->args[0], *y = e->args[1], *left = NULL;
    bool integer = te_dtype_class(e->type) == TE_CLASS_INT;
    switch (e->kind) {
    case TE_ADD:
        if (integer)
            left = is_literal(y, 0) ? x : is_literal(x, 0) ? y : NULL;
        break;
    case TE_SUB:
        left = is_literal(y, 0) ? x : NULL;
        break;
    case TE_MUL:
        left = is_literal(y, 1) ? x : is_literal(x, 1) ? y : NULL;
        break;
    default:
        left = is_literal(y, 1) ? x : NULL;
    }
    return left && left->type == e->type && te_own_type(left) ? left : NULL;
}

static TeExpr *literal(Norm *n, const TeExpr *e, double v) {
    TeExpr *x = te_expr_node(n->a, TE_REAL, e->type, 0, e->pos);
    x->v.r = v;
    return x;
}

static TeExpr *arithmetic(Norm *n, TeExpr *e) {
    TeExpr *x = e->args[0], *y = e->args[1];
    int64_t i;
    double r;
    if (x->kind == TE_INT && y->kind == TE_INT && te_dtype_class(e->type) == TE_CLASS_INT &&
        integer(n->te, e, &i))
        return te_expr_int(n->a, i, e->type, e->pos);
    if (x->kind == TE_REAL && y->kind == TE_REAL && real_op(e->kind, e->type, x->v.r, y->v.r, &r)) {
        return literal(n, e, r);
    }
    return e->kind >= TE_ADD && e->kind <= TE_DIV ? neutral(e) : NULL;
}

/* A static integer as a real that has it.  */
static TeExpr *converted(Norm *n, const TeExpr *e) {
    int64_t i;
    bool real = e->store == TE_F32 || e->store == TE_F64;
    return real && integer(n->te, e->args[0], &i) && exact_in(e->store, (double)i)
               ? literal(n, e, (double)i)
               : NULL;
}

/* 1/sqrt(D) is how attention scales its scores: a factor that is known (rtile/chain.c).  */
static TeExpr *root(Norm *n, const TeExpr *e) {
    bool inverse = e->v.fn == TE_FN_RSQRT;
    if ((!inverse && e->v.fn != TE_FN_SQRT) || e->type != TE_F32 || e->args[0]->kind != TE_REAL)
        return NULL;
    double x = (float)e->args[0]->v.r, v = inverse ? 1 / sqrt(x) : sqrt(x);
    return x > 0 && isfinite(x) ? literal(n, e, (float)v) : NULL;
}

/* The branch that a known condition chooses, in the type in which the branches meet.  */
static TeExpr *branch(Norm *n, const TeExpr *e) {
    if (e->args[0]->kind != TE_BOOLEAN)
        return NULL;
    TeExpr *chosen = e->args[e->args[0]->v.i ? 1 : 2];
    if (needs_condition(chosen))
        return NULL;
    if (chosen->type == e->type && te_own_type(chosen))
        return chosen;
    TeExpr *cast = te_expr_node(n->a, TE_CAST, e->type, 1, e->pos);
    cast->store = e->type;
    cast->args[0] = chosen;
    return cast;
}

static bool fold(Norm *n, TeExpr **slot) {
    TeExpr *e = *slot, *folded = NULL;
    bool any = false;
    for (int i = 0; i < e->n_args; i++) {
        TeExpr *before = e->args[i];
        bool changed = fold(n, &e->args[i]);
        /* A plain index as a subscript says something about its range: `i + 0` does not.  */
        if (changed && e->kind == TE_READ && e->args[i]->kind == TE_INDEX)
            e->args[i] = before;
        else
            any |= changed;
    }
    if (e->other)
        any |= fold(n, &e->other);
    if (te_is_arithmetic(e->kind))
        folded = arithmetic(n, e);
    else if (e->kind == TE_CAST)
        folded = converted(n, e);
    else if (e->kind == TE_CALL)
        folded = root(n, e);
    else
        folded = e->kind == TE_SELECT ? branch(n, e) : condition(n, e);
    if (folded)
        *slot = folded;
    return any || folded;
}

bool normalize_fold(Norm *n, TeExpr **rhs) {
    return normalize_note(n, TE_MADE_FOLDED, fold(n, rhs));
}
