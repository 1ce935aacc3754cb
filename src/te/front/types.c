/* Types of expressions.  */
#include "te/front/front.h"
#include "te/tree/tree.h"
#include <inttypes.h>
#include <math.h>

bool untyped(const TeExpr *e) { return e->type == TE_DTYPE_COUNT; }

static bool real(const TeExpr *e) {
    return te_dtype_class(untyped(e) ? e->store : e->type) == TE_CLASS_REAL;
}

static bool is_bool(const TeExpr *e) { return e->type == TE_BOOL; }

static const char *type_text(const TeExpr *e) {
    return untyped(e) ? "a number" : te_dtype_name(e->type);
}

static const char *op_text(const TeExpr *e) {
    static const char *const marks[] = {
        [TE_NEG] = "-", [TE_NOT] = "!", [TE_ADD] = "+", [TE_SUB] = "-", [TE_MUL] = "*",
        [TE_DIV] = "/", [TE_MOD] = "%", [TE_EQ] = "==", [TE_NE] = "!=", [TE_LT] = "<",
        [TE_SHL] = "<<", [TE_SHR] = ">>", [TE_BITAND] = "&", [TE_BITXOR] = "^", [TE_BITOR] = "|",
        [TE_LE] = "<=", [TE_GT] = ">", [TE_GE] = ">=", [TE_AND] = "&&", [TE_OR] = "||",
    };
    static const char *const functions[] = {
#define X(id, name, n, ulp) name,
        TE_INTRINSICS(X)
#undef X
    };
    static const char *const reductions[] = {
#define X(id, name) name,
        TE_REDOPS(X)
#undef X
    };
    if (e->kind == TE_CALL) return functions[e->v.fn];
    if (te_is_recurrence(e)) return "a recurrence";
    return e->kind == TE_REDUCE ? reductions[e->red] : marks[e->kind];
}

static bool wants(Op *op, const TeExpr *e, const char *what, const TeExpr *x) {
    return complain(op->f, "type", e->pos, "'%s' wants %s, not %s", op_text(e), what, type_text(x));
}

static bool settle_int(Op *op, TeExpr *e, int64_t v, TeDtype type) {
    if (te_dtype_class(type) == TE_CLASS_REAL) {
        e->kind = TE_REAL;
        e->v.r = type == TE_F32 ? (double)(float)v : (double)v;
        e->whole = fabs(e->v.r) < 0x1p63;
    } else {
        e->kind = TE_INT;
        e->v.i = v;
        if (type == TE_I32 && (v < INT32_MIN || v > INT32_MAX))
            return complain(op->f, "type", e->pos, "%" PRId64 " does not fit i32", v);
    }
    e->type = e->store = type;
    return true;
}

static bool settle_real(Op *op, TeExpr *e, TeDtype type) {
    e->type = e->store = type;
    if (type == TE_F64 || isinf(e->v.r) || isfinite((float)e->v.r)) return true;
    Buf b = buf_new(op->f->arena);
    buf_real(&b, e->v.r);
    return complain(op->f, "type", e->pos, "%s does not fit f32", buf_str(&b));
}

/* A minus before a literal that has none becomes part of it, so that -2147483648 is an i32.  */
static bool settle_neg(Op *op, TeExpr *e, TeDtype type) {
    TeExpr *x = e->args[0];
    if (x->kind == TE_INT && te_dtype_class(type) == TE_CLASS_INT) {
        e->n_args = 0;
        return settle_int(op, e, -x->v.i, type);
    }
    if (!settle(op, x, type)) return false;
    e->type = e->store = type;
    if (x->kind == TE_INT && x->v.i == 0) {
        e->n_args = 0;
        return settle_int(op, e, 0, type);
    }
    if (x->kind != TE_REAL || signbit(x->v.r)) return true;
    *e = (TeExpr){.kind = TE_REAL, .type = type, .store = type, .pos = e->pos, .whole = x->whole,
                  .args = e->args, .v.r = -x->v.r};
    return true;
}

bool settle(Op *op, TeExpr *e, TeDtype type) {
    if (!untyped(e)) return true;
    if (real(e) && te_dtype_class(type) != TE_CLASS_REAL) type = TE_F32;
    if (type == TE_BOOL) return settle_alone(op, e);
    switch (e->kind) {
    case TE_INT:
        return settle_int(op, e, e->v.i, type);
    case TE_REAL:
        return settle_real(op, e, type);
    case TE_NEG:
        return settle_neg(op, e, type);
    default:
        break;
    }
    bool ok = true;
    for (int i = 0; i < e->n_args; i++) ok = settle(op, e->args[i], type) && ok;
    e->type = e->store = type;
    return ok;
}

static bool needs_i64(const TeExpr *e) {
    if (!untyped(e)) return false;
    if (e->kind == TE_INT) return e->v.i > INT32_MAX;
    if (e->kind == TE_NEG && e->args[0]->kind == TE_INT)
        return e->args[0]->v.i > (int64_t)INT32_MAX + 1;
    for (int i = 0; i < e->n_args; i++) {
        if (needs_i64(e->args[i])) return true;
    }
    return false;
}

bool settle_alone(Op *op, TeExpr *e) {
    if (!untyped(e)) return true;
    return settle(op, e, real(e) ? TE_F32 : needs_i64(e) ? TE_I64 : TE_I32);
}

/* Operands first..n-1 of e meet in one type, which becomes that of e, or stays open.  */
static bool meet(Op *op, TeExpr *e, int first) {
    TeDtype type = TE_DTYPE_COUNT;
    bool any_real = false, any_bool = false, all_bool = true;
    for (int i = first; i < e->n_args; i++) {
        TeExpr *x = e->args[i];
        any_real = any_real || real(x);
        any_bool = any_bool || is_bool(x);
        all_bool = all_bool && is_bool(x);
        if (!untyped(x)) type = type == TE_DTYPE_COUNT ? x->type : te_meet(type, x->type);
    }
    if (any_bool && !all_bool)
        return complain(op->f, "type", e->pos, "bool mixes with no other type");
    e->type = type;
    e->store = any_real ? TE_F32 : TE_I32;
    if (type == TE_DTYPE_COUNT) return true;
    for (int i = first; i < e->n_args; i++) {
        if (!settle(op, e->args[i], type)) return false;
        e->type = te_meet(e->type, e->args[i]->type);
    }
    e->store = e->type;
    return true;
}

static bool numbers(Op *op, const TeExpr *e) {
    for (int i = 0; i < e->n_args; i++) {
        if (!is_bool(e->args[i])) continue;
        wants(op, e, "numbers", e->args[i]);
        if (e->kind == TE_MUL) hint(op->f, "write condition ? x : 0, or cast: f32(condition)");
        if (e->kind == TE_REDUCE && e->red == TE_RED_SUM)
            hint(op->f, "to count, write sum[...](i32(...))");
        return false;
    }
    return true;
}

static bool bools(Op *op, TeExpr *e) {
    for (int i = 0; i < e->n_args; i++) {
        if (!is_bool(e->args[i])) return wants(op, e, "bool", e->args[i]);
    }
    e->type = e->store = TE_BOOL;
    return true;
}

static bool integers(Op *op, const TeExpr *e) {
    for (int i = 0; i < e->n_args; i++) {
        const TeExpr *x = e->args[i];
        if (!is_bool(x) && !real(x)) continue;
        wants(op, e, "integers", x);
        if (is_bool(x) && e->kind == TE_BITAND) hint(op->f, "bools are joined by &&");
        if (is_bool(x) && e->kind == TE_BITOR) hint(op->f, "bools are joined by ||");
        if (is_bool(x) && e->kind == TE_BITXOR) hint(op->f, "bools are compared by !=");
        if (real(x) && e->kind == TE_BITXOR) hint(op->f, "a power is pow(x, y), or x * x");
        return false;
    }
    return true;
}

/* Integers whatever is around it, so `7 % 2` is an i32 beside reals too.  */
static bool type_mod(Op *op, TeExpr *e) {
    return integers(op, e) && meet(op, e, 0) && settle_alone(op, e);
}

/* A shift has the type of what is shifted, into which its count is cast: only its lowest bits
 * count.  */
static bool type_shift(Op *op, TeExpr *e) {
    TeExpr *count = e->args[1];
    if (!integers(op, e) || !settle_alone(op, e->args[0])) return false;
    e->type = e->store = e->args[0]->type;
    if (!settle(op, count, e->type) || count->type == e->type) return true;
    e->args[1] = te_expr_node(op->f->arena, TE_CAST, e->type, 1, count->pos);
    e->args[1]->args[0] = count;
    op->te->n_node++;
    return true;
}

static bool type_comparison(Op *op, TeExpr *e) {
    bool equality = e->kind == TE_EQ || e->kind == TE_NE;
    if (!(equality && is_bool(e->args[0]) && is_bool(e->args[1])) && !numbers(op, e)) return false;
    if (!meet(op, e, 0)) return false;
    if (untyped(e)) {
        TeDtype type = real(e) ? TE_F32
                       : needs_i64(e->args[0]) || needs_i64(e->args[1]) ? TE_I64 : TE_I32;
        if (!settle(op, e->args[0], type) || !settle(op, e->args[1], type)) return false;
    }
    e->type = e->store = TE_BOOL;
    return true;
}

static bool type_select(Op *op, TeExpr *e) {
    if (!is_bool(e->args[0]))
        return complain(op->f, "type", e->pos, "the condition must be bool, not %s",
                        type_text(e->args[0]));
    return meet(op, e, 1);
}

static bool type_integers(Op *op, TeExpr *e) {
    for (int i = 0; i < e->n_args; i++) {
        if (real(e->args[i])) return wants(op, e, "integers", e->args[i]);
        if (!settle(op, e->args[i], TE_I64)) return false;
    }
    e->type = e->store = TE_I64;
    return true;
}

static bool type_of_code(Op *op, TeExpr *e) {
    if (!integers(op, e)) return false;
    e->type = TE_F32;
    e->store = TE_F4E2M1;
    return settle_alone(op, e->args[0]);
}

static bool type_call(Op *op, TeExpr *e) {
    TeTakes takes = te_takes_operands(e->v.fn);
    if (!numbers(op, e)) return false;
    if (takes == TE_TAKES_INTEGERS) return type_integers(op, e);
    if (takes == TE_TAKES_CODE) return type_of_code(op, e);
    for (int i = 0; i < e->n_args && takes != TE_TAKES_NUMBERS; i++) {
        const TeExpr *x = e->args[i];
        if (untyped(x) || real(x)) continue;
        wants(op, e, "reals", x);
        hint(op->f, "write %s(f32(...))", op_text(e));
        return false;
    }
    if (takes == TE_GIVES_CODE) {
        e->type = e->store = TE_I32;
        return settle(op, e->args[0], TE_F32);
    }
    if (!meet(op, e, 0)) return false;
    if (takes == TE_TAKES_REALS && untyped(e)) e->store = TE_F32;
    return true;
}

static bool type_cast(Op *op, TeExpr *e) {
    TeDtype to = e->store;
    bool ok = to == TE_BOOL ? settle_alone(op, e->args[0])
                            : settle(op, e->args[0], te_dtype_compute(to));
    e->type = te_dtype_compute(to);
    e->store = to;
    return ok;
}

/* @accum: a wider type is an obligation and becomes the type of the sum, a narrower real one is
 * only a permission.  */
static bool type_accum(Op *op, TeExpr *e) {
    TeDtype to = op->cur->accum, body = e->args[0]->type;
    if (te_dtype_class(to) != te_dtype_class(body) || (to == TE_I32 && body == TE_I64))
        return complain(op->f, "annot", e->pos, "@accum(%s) does not fit a %s of %s",
                        te_dtype_name(to), op_text(e), te_dtype_name(body));
    if (te_dtype_compute(to) == to) e->type = te_meet(body, to);
    e->store = e->type;
    return true;
}

static bool type_reduce(Op *op, TeExpr *e) {
    TeExpr *body = e->args[0];
    bool additive = e->red == TE_RED_SUM || e->red == TE_RED_PROD;
    if (e->red == TE_RED_ANY || e->red == TE_RED_ALL) return bools(op, e);
    if (!numbers(op, e)) return false;
    if (te_is_recurrence(e)) return meet(op, e, 0);
    if (e->red == TE_RED_ARGMAX || e->red == TE_RED_ARGMIN) {
        e->type = e->store = TE_I32;
        return settle_alone(op, body);
    }
    additive = additive && e->n_index > 0;
    bool accum = additive && op->cur->accum != TE_DTYPE_COUNT;
    op->sums = op->sums || additive;
    if (accum && !settle(op, body, te_dtype_compute(op->cur->accum))) return false;
    e->type = body->type;
    e->store = untyped(body) ? body->store : body->type;
    return !accum || type_accum(op, e);
}

static bool type_read(Op *op, TeExpr *e) {
    TeDtype dtype = op->te->tensor[e->v.ref].dtype;
    e->type = te_dtype_compute(dtype);
    e->store = dtype;
    if (!e->other) return true;
    if (!settle(op, e->other, e->type)) return false;
    if (is_bool(e) != is_bool(e->other))
        return complain(op->f, "type", e->other->pos, "bool mixes with no other type");
    e->type = te_meet(e->type, e->other->type);
    return true;
}

bool type_node(Op *op, TeExpr *e) {
    switch (e->kind) {
    case TE_READ:
        return type_read(op, e);
    case TE_NOT:
    case TE_AND:
    case TE_OR:
        return bools(op, e);
    case TE_NEG:
    case TE_ADD:
    case TE_SUB:
    case TE_MUL:
    case TE_DIV:
        return numbers(op, e) && meet(op, e, 0);
    case TE_MOD:
    case TE_BITAND:
    case TE_BITXOR:
    case TE_BITOR:
        return type_mod(op, e);
    case TE_SHL:
    case TE_SHR:
        return type_shift(op, e);
    case TE_SELECT:
        return type_select(op, e);
    case TE_CALL:
        return type_call(op, e);
    case TE_CAST:
        return type_cast(op, e);
    case TE_REDUCE:
        return type_reduce(op, e);
    default:
        return type_comparison(op, e);
    }
}
