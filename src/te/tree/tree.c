#include "te/tree/tree.h"
#include <math.h>
#include <string.h>

TeExpr *te_expr_copy(Arena *a, const TeExpr *e) {
    TeExpr *c = ARENA_NEW(a, TeExpr);
    *c = *e;
    c->reads = NULL;
    c->n_reads = 0;
    c->args = ARENA_ARRAY(a, TeExpr *, e->n_args);
    for (int i = 0; i < e->n_args; i++)
        c->args[i] = te_expr_copy(a, e->args[i]);
    c->other = e->other ? te_expr_copy(a, e->other) : NULL;
    return c;
}

TeExpr *te_expr_at(Arena *a, const TeExpr *e, TeExpr *const *index) {
    if (e->kind == TE_INDEX) return te_expr_copy(a, index[e->v.ref]);
    TeExpr *at = ARENA_NEW(a, TeExpr);
    *at = *e;
    at->reads = NULL;
    at->n_reads = 0;
    at->args = ARENA_ARRAY(a, TeExpr *, e->n_args);
    for (int i = 0; i < e->n_args; i++) at->args[i] = te_expr_at(a, e->args[i], index);
    at->other = e->other ? te_expr_at(a, e->other, index) : NULL;
    return at;
}

static bool same_value(const TeExpr *x, const TeExpr *y) {
    switch (x->kind) {
    case TE_INT:
    case TE_BOOLEAN:
        return x->v.i == y->v.i;
    case TE_REAL:
        return memcmp(&x->v.r, &y->v.r, sizeof x->v.r) == 0;
    case TE_SIZE:
    case TE_INDEX:
    case TE_SCALAR:
    case TE_READ:
        return x->v.ref == y->v.ref && x->inside == y->inside;
    case TE_CALL:
        return x->v.fn == y->v.fn;
    case TE_CAST:
        return x->store == y->store;
    case TE_REDUCE:
        return x->red == y->red && x->n_index == y->n_index &&
               memcmp(x->index, y->index, x->n_index) == 0;
    default:
        return true;
    }
}

bool te_expr_same(const TeExpr *x, const TeExpr *y) {
    if (x == y)
        return true;
    if (x->kind != y->kind || x->type != y->type || x->n_args != y->n_args ||
        !x->other != !y->other)
        return false;
    if (!same_value(x, y) || (x->other && !te_expr_same(x->other, y->other)))
        return false;
    for (int i = 0; i < x->n_args; i++) {
        if (!te_expr_same(x->args[i], y->args[i]))
            return false;
    }
    return true;
}

bool te_is_zero(const TeExpr *e) {
    while (e->kind == TE_CAST) e = e->args[0];
    if (e->kind == TE_REAL) return e->v.r == 0 && !signbit(e->v.r);
    return (e->kind == TE_INT || e->kind == TE_BOOLEAN) && e->v.i == 0;
}

bool te_zero_outside(const Te *te, const TeExpr *read) {
    bool zero = !read->other || te_is_zero(read->other);
    return te_always_inside(read) || (zero && te_dtype_zero(te->tensor[read->v.ref].dtype));
}

/* Does it take neither elements nor scalars to decide e?  */
static bool is_of_indices(const TeExpr *e) {
    for (int i = 0; i < e->n_args; i++) {
        if (!is_of_indices(e->args[i])) return false;
    }
    return e->kind != TE_READ && e->kind != TE_SCALAR;
}

bool te_pads(const TeExpr *e) {
    if (e->kind == TE_READ) return e->other && te_is_zero(e->other);
    return e->kind == TE_SELECT && (te_is_zero(e->args[1]) || te_is_zero(e->args[2])) &&
           is_of_indices(e->args[0]);
}

bool te_approximable(const TeExpr *e) {
    bool real = te_dtype_class(e->type) == TE_CLASS_REAL;
    if (real && (e->kind == TE_DIV || e->kind == TE_CALL)) return true;
    for (int i = 0; i < e->n_args; i++)
        if (te_approximable(e->args[i])) return true;
    return e->other && te_approximable(e->other);
}

bool te_narrows_rules(const TeStmt *made, const TeStmt *s) {
    return s->fast && !made->fast && te_approximable(made->rhs);
}

void te_expr_renumber(TeExpr *e, const uint8_t *to) {
    if (e->kind == TE_INDEX)
        e->v.ref = to[e->v.ref];
    for (int i = 0; e->kind == TE_REDUCE && i < e->n_index; i++)
        e->index[i] = to[e->index[i]];
    for (int i = 0; i < e->n_args; i++)
        te_expr_renumber(e->args[i], to);
    if (e->other)
        te_expr_renumber(e->other, to);
}

bool te_has_reduction(const TeExpr *e) {
    bool any = e->kind == TE_REDUCE || (e->other && te_has_reduction(e->other));
    for (int i = 0; i < e->n_args && !any; i++) any = te_has_reduction(e->args[i]);
    return any;
}

bool te_own_type(const TeExpr *e) {
    switch (e->kind) {
    case TE_INT:
    case TE_REAL:
        return false;
    case TE_SELECT:
        return te_own_type(e->args[1]) || te_own_type(e->args[2]);
    case TE_NEG:
    case TE_ADD:
    case TE_SUB:
    case TE_MUL:
    case TE_DIV:
    case TE_MOD:
    case TE_BITAND:
    case TE_BITXOR:
    case TE_BITOR:
    case TE_CALL:
        if (e->kind == TE_CALL && te_takes_operands(e->v.fn) >= TE_TAKES_INTEGERS)
            return true;
        for (int i = 0; i < e->n_args; i++) {
            if (te_own_type(e->args[i]))
                return true;
        }
        return false;
    default:
        return true;
    }
}

static int count_reads(const TeExpr *e) {
    int n = (e->kind == TE_READ) + (e->other ? count_reads(e->other) : 0);
    for (int i = 0; i < e->n_args; i++)
        n += count_reads(e->args[i]);
    return n;
}

/* The lists of all nodes are parts of the root's.  */
static const TeExpr **list_reads(TeExpr *e, const TeExpr **next) {
    e->reads = next;
    if (e->kind == TE_READ)
        *next++ = e;
    for (int i = 0; i < e->n_args; i++)
        next = list_reads(e->args[i], next);
    if (e->other)
        next = list_reads(e->other, next);
    e->n_reads = (int)(next - e->reads);
    return next;
}

void te_expr_list_reads(Arena *a, TeExpr *e) {
    list_reads(e, ARENA_ARRAY(a, const TeExpr *, count_reads(e)));
}

int te_expr_nodes(const TeExpr *e) {
    int n = 1 + (e->other ? te_expr_nodes(e->other) : 0);
    for (int i = 0; i < e->n_args; i++)
        n += te_expr_nodes(e->args[i]);
    return n;
}

int te_expr_depth(const TeExpr *e) {
    int deepest = e->other ? te_expr_depth(e->other) : 0;
    for (int i = 0; i < e->n_args; i++) {
        int d = te_expr_depth(e->args[i]);
        deepest = d > deepest ? d : deepest;
    }
    return deepest + 1;
}

bool te_extent_same(const TeExtent *x, const TeExtent *y) {
    if (x->value != y->value || x->min != y->min || !x->expr != !y->expr)
        return false;
    return !x->expr || te_expr_same(x->expr, y->expr);
}

TeDtype te_meet(TeDtype x, TeDtype y) {
    static const TeDtype order[] = {TE_F64, TE_F32, TE_I64, TE_I32};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        if (x == order[i] || y == order[i])
            return order[i];
    }
    return x;
}

TeExpr *te_expr_node(Arena *a, TeKind kind, TeDtype type, int n_args, uint32_t pos) {
    TeExpr *e = ARENA_NEW(a, TeExpr);
    e->kind = kind;
    e->type = e->store = type;
    e->pos = pos;
    e->n_args = n_args;
    e->args = ARENA_ARRAY(a, TeExpr *, n_args);
    return e;
}

TeExpr *te_expr_int(Arena *a, int64_t v, TeDtype type, uint32_t pos) {
    TeExpr *e = te_expr_node(a, TE_INT, type, 0, pos);
    e->v.i = v;
    return e;
}

TeExpr *te_expr_zero(Arena *a, TeDtype type, uint32_t pos) {
    TeExpr *e = te_expr_int(a, 0, type, pos);
    if (te_dtype_class(type) == TE_CLASS_BOOL) {
        e->kind = TE_BOOLEAN;
    } else if (te_dtype_class(type) == TE_CLASS_REAL) {
        e->kind = TE_REAL;
        e->v.r = 0;
        e->whole = true;
    }
    return e;
}

TeExpr *te_expr_index(Arena *a, int index, uint32_t pos) {
    TeExpr *e = te_expr_node(a, TE_INDEX, TE_I64, 0, pos);
    e->v.ref = index;
    return e;
}

TeKind te_bits_arithmetic(const TeExpr *e, int64_t *by) {
    const TeExpr *y = e->args[1];
    int width = e->type == TE_I32 ? 31 : 63;
    *by = 0;
    if (y->kind != TE_INT) return e->kind;
    int64_t n = y->v.i & width;
    if (e->kind == TE_BITAND) {
        if (y->v.i < 0 || y->v.i >= INT64_C(1) << (width - 1) || (y->v.i & (y->v.i + 1)))
            return e->kind;
        *by = y->v.i + 1;
        return TE_MOD;
    }
    if ((e->kind != TE_SHL && e->kind != TE_SHR) || n == width) return e->kind;
    *by = INT64_C(1) << n;
    return e->kind == TE_SHL ? TE_MUL : TE_DIV;
}
