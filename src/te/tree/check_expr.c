#include "te/tree/check.h"
#include "te/tree/tree.h"

typedef struct {
    const Te *te;
    const TeStmt *stmt;
    const bool *assigned;
    uint32_t bound;           /* reduction indices bound around the expression */
    uint32_t ever;            /* bound anywhere */
} Checker;

static const char *expr(Checker *c, const TeExpr *e);

static bool compute_type(TeDtype t) {
    return t == TE_F64 || t == TE_F32 || t == TE_I64 || t == TE_I32 || t == TE_BOOL;
}

static bool is_real(TeDtype t) { return te_dtype_class(t) == TE_CLASS_REAL; }
static bool is_int(TeDtype t) { return te_dtype_class(t) == TE_CLASS_INT; }

const char *check_size_expr(const TeExpr *e, int n_size) {
    int want = 2;
    if (!e) return "a size expression is missing";
    if (e->type != TE_I64) return "a size expression is not i64";
    switch (e->kind) {
    case TE_INT:
        want = 0;
        break;
    case TE_SIZE:
        want = 0;
        if (e->v.ref < 0 || e->v.ref >= n_size) return "a size expression names no earlier size";
        break;
    case TE_NEG:
        want = 1;
        break;
    case TE_CALL:
        if (e->v.fn != TE_FN_MIN && e->v.fn != TE_FN_MAX)
            return "a size expression calls a function";
        want = e->n_args < 2 ? 2 : e->n_args;
        break;
    case TE_ADD:
    case TE_SUB:
    case TE_MUL:
    case TE_DIV:
    case TE_MOD:
        break;
    default:
        return "a size expression has a node that is no size";
    }
    if (e->n_args != want) return "a size expression has a wrong number of operands";
    for (int i = 0; i < e->n_args; i++) {
        const char *bad = check_size_expr(e->args[i], n_size);
        if (bad) return bad;
    }
    return NULL;
}

static int arity(const TeExpr *e) {
    static const int functions[] = {
#define X(id, name, n, ulp) n,
        TE_INTRINSICS(X)
#undef X
    };
    switch (e->kind) {
    case TE_INT:
    case TE_REAL:
    case TE_BOOLEAN:
    case TE_SIZE:
    case TE_INDEX:
    case TE_SCALAR:
        return 0;
    case TE_READ:
        return -1;
    case TE_NEG:
    case TE_NOT:
    case TE_CAST:
        return 1;
    case TE_REDUCE:
        return te_is_recurrence(e) ? 2 : 1;
    case TE_SELECT:
        return 3;
    case TE_CALL:
        return functions[e->v.fn];
    default:
        return 2;
    }
}

static const char *literal(const TeExpr *e) {
    if (e->kind == TE_BOOLEAN)
        return e->type != TE_BOOL || e->v.i < 0 || e->v.i > 1 ? "a truth value is no bool" : NULL;
    if (e->kind == TE_REAL) return is_real(e->type) ? NULL : "a real literal has no real type";
    if (!is_int(e->type)) return "an integer literal has no integer type";
    if (e->type == TE_I32 && (e->v.i < INT32_MIN || e->v.i > INT32_MAX))
        return "an integer literal does not fit its type";
    return NULL;
}

static const char *name(const Checker *c, const TeExpr *e) {
    if (e->kind == TE_SCALAR) {
        if (e->v.ref < 0 || e->v.ref >= c->te->n_in || c->te->tensor[e->v.ref].role != TE_VALUE)
            return "a scalar is no scalar input";
        return e->type == c->te->tensor[e->v.ref].dtype ? NULL : "a scalar has another type";
    }
    if (e->type != TE_I64) return "a size or index is not i64";
    if (e->kind == TE_SIZE)
        return e->v.ref < 0 || e->v.ref >= c->te->n_size ? "a size does not exist" : NULL;
    if (e->v.ref < 0 || e->v.ref >= c->stmt->n_index) return "an index does not exist";
    if (e->v.ref >= c->stmt->n_left && !(c->bound >> e->v.ref & 1))
        return "an index is neither on the left nor bound";
    return NULL;
}

static const char *read(Checker *c, const TeExpr *e) {
    if (e->v.ref < 0 || e->v.ref >= c->te->n_tensor) return "a read names no tensor";
    const TeTensor *t = &c->te->tensor[e->v.ref];
    if (t->role == TE_VALUE) return "a scalar is read with subscripts";
    if (!c->assigned[e->v.ref]) return "a tensor is read before it is assigned";
    if (e->n_args != t->rank) return "a read has a wrong number of subscripts";
    if (e->inside != TE_INSIDE_ALWAYS && e->other) return "a guarded read has a condition as well";
    for (int i = 0; i < e->n_args; i++) {
        if (!is_int(e->args[i]->type)) return "a subscript is no integer";
    }
    TeDtype type = te_dtype_compute(t->dtype);
    if (e->other) {
        const char *bad = expr(c, e->other);
        if (bad) return bad;
        if ((type == TE_BOOL) != (e->other->type == TE_BOOL))
            return "an else value mixes with bool";
        type = te_meet(type, e->other->type);
    }
    return e->type == type ? NULL : "a read has another type than its tensor";
}

static TeDtype operands(const TeExpr *e, int first) {
    TeDtype type = e->args[first]->type;
    for (int i = first + 1; i < e->n_args; i++) {
        bool mixed = (type == TE_BOOL) != (e->args[i]->type == TE_BOOL);
        type = mixed ? TE_DTYPE_COUNT : te_meet(type, e->args[i]->type);
    }
    return type;
}

static const char *arithmetic(const TeExpr *e) {
    TeDtype type = operands(e, 0);
    TeTakes takes = e->kind == TE_CALL ? te_takes_operands(e->v.fn) : TE_TAKES_NUMBERS;
    if (takes == TE_TAKES_INTEGERS)
        return is_int(type) && e->type == TE_I64 ? NULL : "an intrinsic of integers has others";
    if (takes == TE_TAKES_CODE)
        return is_int(type) && e->type == TE_F32 ? NULL : "a code is no integer";
    if (takes == TE_GIVES_CODE)
        return is_real(type) && e->type == TE_I32 ? NULL : "a code of what is no real";
    if (type == TE_BOOL || type != e->type) return "arithmetic has another type than its operands";
    if (e->kind == TE_MOD && !is_int(type)) return "'%' of reals";
    if (te_is_bitwise(e->kind) && !is_int(type)) return "bits of what is no integer";
    return takes == TE_TAKES_NUMBERS || is_real(type) ? NULL : "an intrinsic of integers";
}

static const char *logic(const TeExpr *e) {
    bool comparison = e->kind >= TE_EQ && e->kind <= TE_GE;
    if (e->type != TE_BOOL) return "a truth value is no bool";
    if (!comparison) return operands(e, 0) == TE_BOOL ? NULL : "logic of what is no bool";
    TeDtype type = operands(e, 0);
    bool equality = e->kind == TE_EQ || e->kind == TE_NE;
    bool mixed = type == TE_DTYPE_COUNT || (type == TE_BOOL && !equality);
    return mixed ? "a comparison mixes types" : NULL;
}

static const char *select(const TeExpr *e) {
    if (e->args[0]->type != TE_BOOL) return "a condition is no bool";
    return operands(e, 1) == e->type ? NULL : "branches have another type than their selection";
}

static bool runs_up_to(const TeStmt *s, const TeExpr *e, const TeExpr *order) {
    return (order->kind == TE_LE || order->kind == TE_GE) && order->args[0]->kind == TE_INDEX &&
           order->args[1]->kind == TE_INDEX && order->args[0]->v.ref == e->index[0] &&
           order->args[1]->v.ref < s->n_left;
}

static const char *recurrence(const Checker *c, const TeExpr *e) {
    if (e != c->stmt->rhs || e->n_args != 2 || e->n_index != 1)
        return "a recurrence is no statement of term and factor";
    for (int i = 0; i < 2; i++) {
        const TeExpr *map = e->args[i];
        if (map->kind != TE_SELECT || map->type != e->type ||
            !runs_up_to(c->stmt, e, map->args[0]) ||
            map->args[0]->kind != e->args[0]->args[0]->kind)
            return "a recurrence does not run up to its own place";
    }
    return NULL;
}

static const char *reduce(const Checker *c, const TeExpr *e) {
    TeDtype body = e->args[0]->type;
    if (e->red > TE_RED_AFFINE) return "a reduction is none";
    if (te_is_recurrence(e)) return recurrence(c, e);
    if (e->red == TE_RED_ANY || e->red == TE_RED_ALL)
        return body == TE_BOOL && e->type == TE_BOOL ? NULL : "any or all of what is no bool";
    if (body == TE_BOOL) return "a reduction of bools";
    if (e->red == TE_RED_ARGMAX || e->red == TE_RED_ARGMIN)
        return e->type == TE_I32 ? NULL : "a position is not i32";
    TeDtype accum = c->stmt->accum;
    bool additive = e->red == TE_RED_SUM || e->red == TE_RED_PROD;
    if (additive && accum < TE_DTYPE_COUNT && compute_type(accum)) body = te_meet(body, accum);
    return e->type == body ? NULL : "a reduction has another type than its body";
}

static const char *bind(Checker *c, const TeExpr *e) {
    if (e->n_index < 1 || e->n_index > TE_MAX_INDICES) return "a reduction binds no index";
    for (int i = 0; i < e->n_index; i++) {
        int x = e->index[i];
        if (x < c->stmt->n_left || x >= c->stmt->n_index)
            return "a reduction binds no reduction axis";
        if (c->bound >> x & 1) return "an index is bound twice";
        c->bound |= 1u << x;
        c->ever |= 1u << x;
    }
    return NULL;
}

static void unbind(Checker *c, const TeExpr *e) {
    for (int i = 0; i < e->n_index; i++) c->bound &= ~(1u << e->index[i]);
}

static const char *children(Checker *c, const TeExpr *e) {
    int want = arity(e);
    if (e->kind == TE_READ ? e->n_args > TE_MAX_RANK : want < 0 ? e->n_args < 2 : e->n_args != want)
        return "a node has a wrong number of operands";
    for (int i = 0; i < e->n_args; i++) {
        const char *bad = expr(c, e->args[i]);
        if (bad) return bad;
    }
    return e->other && e->kind != TE_READ ? "only a read has an else value" : NULL;
}

static const char *node(Checker *c, const TeExpr *e) {
    switch (e->kind) {
    case TE_INT:
    case TE_REAL:
    case TE_BOOLEAN: return literal(e);
    case TE_SIZE:
    case TE_INDEX:
    case TE_SCALAR: return name(c, e);
    case TE_READ: return read(c, e);
    case TE_SELECT: return select(e);
    case TE_REDUCE: return reduce(c, e);
    case TE_CAST:
        return e->store < TE_DTYPE_COUNT && e->type == te_dtype_compute(e->store)
                   ? NULL : "a cast has another type than its target";
    case TE_NEG:
    case TE_CALL: return arithmetic(e);
    default: return te_is_arithmetic(e->kind) ? arithmetic(e) : logic(e);
    }
}

static const char *expr(Checker *c, const TeExpr *e) {
    if (!e) return "an expression is missing";
    if (e->kind > TE_REDUCE || (e->kind == TE_CALL && e->v.fn >= TE_FN_COUNT))
        return "a node is of no kind";
    if (!compute_type(e->type) || e->store >= TE_DTYPE_COUNT) return "a node has no compute type";
    const char *bad = e->kind == TE_REDUCE ? bind(c, e) : NULL;
    if (!bad) bad = children(c, e);
    if (!bad) bad = node(c, e);
    if (!bad && te_dtype_compute(e->store) != e->type)
        bad = "a node keeps a storage type of another compute type";
    if (e->kind == TE_REDUCE && !bad) unbind(c, e);
    return bad;
}

/* Does every node have the reads below it listed, from *next on?  */
static bool lists_reads(const TeExpr *e, const TeExpr *const **next) {
    const TeExpr *const *first = *next;
    if (e->kind == TE_READ && *(*next)++ != e) return false;
    for (int i = 0; i < e->n_args; i++) {
        if (!lists_reads(e->args[i], next)) return false;
    }
    if (e->other && !lists_reads(e->other, next)) return false;
    return e->reads == first && e->n_reads == *next - first;
}

const char *check_rhs(const Te *te, const TeStmt *s, const bool *assigned) {
    Checker c = {.te = te, .stmt = s, .assigned = assigned};
    const char *bad = expr(&c, s->rhs);
    if (bad) return bad;
    for (int i = s->n_left; i < s->n_index; i++) {
        if (!(c.ever >> i & 1)) return "a reduction axis is bound by no reduction";
    }
    const TeExpr *const *next = s->rhs->reads;
    if (!next || !lists_reads(s->rhs, &next)) return "the reads of a right side are not listed";
    return NULL;
}
