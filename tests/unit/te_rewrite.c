/* links: te */
#include "te_rewrite.h"
#include "te/tree/tree.h"
#include <string.h>

typedef struct {
    Arena *a;
    Te *te;
    Rng *rng;
} Rewrite;

static TeExpr *around(Rewrite *x, TeKind kind, TeExpr *e) {
    TeExpr *out = te_expr_node(x->a, kind, e->type, 1, e->pos);
    out->args[0] = e;
    return out;
}

static TeExpr *binary(Rewrite *x, TeKind kind, TeExpr *e, TeExpr *by) {
    TeExpr *out = te_expr_node(x->a, kind, e->type, 2, e->pos);
    out->args[0] = e;
    out->args[1] = by;
    return out;
}

static TeExpr *real(Rewrite *x, const TeExpr *like, double value) {
    TeExpr *out = te_expr_node(x->a, TE_REAL, like->type, 0, like->pos);
    out->v.r = value;
    return out;
}

static TeExpr *number(Rewrite *x, int64_t value) { return te_expr_int(x->a, value, TE_I64, 0); }

/* pow(e, 2) for e * e.  */
static void power(Rewrite *x, TeExpr **slot) {
    TeExpr *e = *slot;
    if (e->kind != TE_MUL || !te_expr_same(e->args[0], e->args[1])) return;
    TeExpr *out = binary(x, TE_CALL, e->args[0], real(x, e, 2));
    out->v.fn = TE_FN_POW;
    *slot = out;
}

/* What has a type whatever is beside it.  */
static bool is_typed(const TeExpr *e) {
    return e->kind == TE_READ || e->kind == TE_SCALAR || e->kind == TE_CAST ||
           ((e->kind == TE_ADD || e->kind == TE_SUB || e->kind == TE_MUL || e->kind == TE_NEG) &&
            is_typed(e->args[0]));
}

/* Subscripts and guarded reads' values elsewhere stay.  */
static void disguise(Rewrite *x, TeExpr **slot) {
    TeExpr *e = *slot;
    for (int i = 0; e->kind != TE_READ && i < e->n_args; i++) disguise(x, &e->args[i]);
    if (te_dtype_class(e->type) != TE_CLASS_REAL || !is_typed(e)) return;
    switch (rng_below(x->rng, 16)) {
    case 0:
    case 1: *slot = around(x, TE_NEG, around(x, TE_NEG, e)); break;
    case 2:
    case 3: *slot = around(x, TE_CAST, e); break;
    case 4: *slot = binary(x, TE_MUL, e, real(x, e, 1)); break;
    case 5: *slot = binary(x, TE_SUB, e, real(x, e, 0)); break;
    case 6: *slot = binary(x, TE_MUL, real(x, e, -1), around(x, TE_NEG, e)); break;
    default: power(x, slot); break;
    }
}

static bool is_read_at_all(const Te *te, const TeExpr *e, int tensor) {
    bool any = e->kind == TE_READ && e->v.ref == tensor;
    for (int i = 0; i < e->n_args; i++) any |= is_read_at_all(te, e->args[i], tensor);
    return any || (e->other && is_read_at_all(te, e->other, tensor));
}

/* Output k of type `compute` is a copy of a temporary.  */
static void copy_output(Rewrite *x, int k) {
    Te *te = x->te;
    TeStmt *s = &te->stmt[k];
    const TeTensor *to = &te->tensor[s->tensor];
    if (to->role != TE_OUTPUT || to->dtype != s->rhs->type || s->rhs->store != s->rhs->type) return;
    for (int i = 0; i < te->n_stmt; i++) {
        if (is_read_at_all(te, te->stmt[i].rhs, s->tensor)) return;
    }
    memmove(&te->stmt[k + 1], s, (size_t)(te->n_stmt++ - k) * sizeof *s);
    int temp = te->n_tensor++;
    te->tensor[temp] = *to;
    te->tensor[temp].role = TE_TEMP;
    te->tensor[temp].strided = false;
    te->tensor[temp].name = arena_printf(x->a, "copied%d", k);
    TeStmt *copy = &te->stmt[k + 1];
    s->tensor = temp;
    for (int i = 0; i < s->n_left; i++) s->index[i].where = true;
    copy->rhs = te_expr_node(x->a, TE_READ, to->dtype, to->rank, s->pos);
    copy->rhs->v.ref = temp;
    for (int i = 0; i < to->rank; i++) copy->rhs->args[i] = te_expr_index(x->a, i, s->pos);
    copy->n_index = copy->n_left;
    copy->asg = TE_ASSIGN;
    copy->accum = TE_DTYPE_COUNT;
    copy->tf32 = copy->fp32x3 = copy->fast = false;
}

static void add_zero(Rewrite *x, TeExpr *e, int tensor) {
    for (int i = 0; i < e->n_args; i++) add_zero(x, e->args[i], tensor);
    if (e->other) add_zero(x, e->other, tensor);
    if (e->kind != TE_READ || e->v.ref != tensor) return;
    TeExpr **args = ARENA_ARRAY(x->a, TeExpr *, e->n_args + 1);
    memcpy(args, e->args, (size_t)e->n_args * sizeof *args);
    args[e->n_args++] = te_expr_int(x->a, 0, TE_I64, e->pos);
    e->args = args;
}

/* Temporary k gets a last axis of extent 1.  */
static void keep_axis(Rewrite *x, int k) {
    Te *te = x->te;
    TeStmt *s = &te->stmt[k];
    TeTensor *t = &te->tensor[s->tensor];
    if (t->role != TE_TEMP || t->rank == TE_MAX_RANK || s->n_index != s->n_left) return;
    TeExtent one = {.value = 1, .min = 1, .multiple = 1};
    t->shape[t->rank++] = one;
    s->index[s->n_index++] = (TeIndex){.name = "kept_axis", .where = true, .hi = one,
                                       .lo = {.multiple = 1}};
    s->n_left++;
    for (int i = 0; i < te->n_stmt; i++) add_zero(x, te->stmt[i].rhs, s->tensor);
}

/* ---- temporaries in another shape ---- */

/* Tensor `from` is copied into `to` behind its statement and read from there: with dimensions d and
 * d + 1 turned or as one, with d as two, the inner one of c, twice along d, one behind the other,
 * of which `part` is read, or from such a one that part.  */
typedef enum { TURNED, MERGED, SPLIT, JOINED, VIEWS, PART } ViewKind;
typedef struct {
    ViewKind kind;
    int from, to, d;
    int64_t c, part;
} View;

static TeExpr *sum(Rewrite *x, TeExpr *e, TeExpr *by) { return binary(x, TE_ADD, e, by); }
static TeExpr *times(Rewrite *x, TeExpr *e, int64_t by) {
    return by == 1 ? e : binary(x, TE_MUL, e, number(x, by));
}

/* Subscripts of `to` that mean the same element as these of `from`; how many there are.  */
static int subscripts(Rewrite *x, const View *v, TeExpr *const *from, int rank, TeExpr **to) {
    int n = 0;
    for (int d = 0; d < rank; d++) {
        if (d != v->d) {
            to[n++] = from[d];
        } else if (v->kind == SPLIT) {
            to[n++] = binary(x, TE_DIV, te_expr_copy(x->a, from[d]), number(x, v->c));
            to[n++] = binary(x, TE_MOD, from[d], number(x, v->c));
        } else if (v->kind == MERGED) {
            to[n++] = sum(x, times(x, from[d], v->c), from[d + 1]);
            d++;
        } else if (v->kind == JOINED) {
            to[n++] = v->part ? sum(x, from[d], number(x, v->part)) : from[d];
        } else if (v->kind == PART) {
            to[n++] = v->part ? binary(x, TE_SUB, from[d], number(x, v->part)) : from[d];
        } else {
            to[n++] = from[d + 1];
            to[n++] = from[d++];
        }
    }
    return n;
}

static void read_view(Rewrite *x, const View *v, TeExpr *e) {
    for (int i = 0; i < e->n_args; i++) read_view(x, v, e->args[i]);
    if (e->other) read_view(x, v, e->other);
    if (e->kind != TE_READ || e->v.ref != v->from) return;
    TeExpr **args = ARENA_ARRAY(x->a, TeExpr *, TE_MAX_RANK + 1);
    e->n_args = subscripts(x, v, e->args, e->n_args, args);
    e->args = args;
    e->v.ref = v->to;
}

/* Are all reads of the tensor inside it whatever surrounds them?  */
static bool is_read_inside(const TeExpr *e, int tensor) {
    for (int i = 0; i < e->n_args; i++) {
        if (!is_read_inside(e->args[i], tensor)) return false;
    }
    if (e->other && !is_read_inside(e->other, tensor)) return false;
    return e->kind != TE_READ || e->v.ref != tensor || te_always_inside(e);
}

/* The element below n along dimension d, or the one that it is again.  */
static TeExpr *joined(Rewrite *x, const View *v, TeExpr *e) {
    TeExpr *again = te_expr_copy(x->a, e), *out = te_expr_node(x->a, TE_SELECT, e->type, 3, 0);
    out->args[0] = binary(x, TE_LT, te_expr_index(x->a, v->d, 0), number(x, v->c));
    again->args[v->d] = binary(x, TE_SUB, again->args[v->d], number(x, v->c));
    out->args[1] = e;
    out->args[2] = again;
    return out;
}

/* The element of `from` that subscripts 0, 1, ... of `to` mean.  */
static TeExpr *element(Rewrite *x, const View *v, const TeTensor *from) {
    TeExpr *e = te_expr_node(x->a, TE_READ, from->dtype, from->rank, 0);
    e->v.ref = v->from;
    for (int d = 0, n = 0; d < from->rank; d++) {
        TeExpr *at = te_expr_index(x->a, n++, 0);
        if (d == v->d && v->kind == SPLIT) {
            at = sum(x, times(x, at, v->c), te_expr_index(x->a, n++, 0));
        } else if (d == v->d && v->kind == MERGED) {
            e->args[d++] = binary(x, TE_DIV, at, number(x, v->c));
            at = binary(x, TE_MOD, te_expr_index(x->a, n - 1, 0), number(x, v->c));
        } else if (d == v->d && v->kind == TURNED) {
            e->args[d++] = te_expr_index(x->a, n++, 0);
        } else if (d == v->d && v->kind == PART && v->part) {
            at = sum(x, at, number(x, v->part));
        }
        e->args[d] = at;
    }
    return v->kind == JOINED ? joined(x, v, e) : e;
}

static TeExtent extent(int64_t n) { return (TeExtent){.value = n, .min = n, .multiple = n}; }

/* The shape of `to`; false if there is none.  */
static bool shape_view(const TeTensor *from, View *v, TeTensor *to) {
    const TeExtent *n = &from->shape[v->d];
    bool two = v->d + 1 < from->rank;
    if ((v->kind == TURNED || v->kind == MERGED) && !two) return false;
    if (v->kind == SPLIT && (n->value < 4 || n->value % 2 || from->rank == TE_MAX_RANK))
        return false;
    v->c = v->kind == MERGED                        ? n[1].value
           : v->kind == JOINED                      ? n->value
           : v->kind == SPLIT && n->value % 8 == 0 ? 4
                                                    : 2;
    to->rank = 0;
    for (int d = 0; d < from->rank; d++) {
        if (d == v->d && v->kind == SPLIT) to->shape[to->rank++] = extent(n->value / v->c);
        if (d == v->d && v->kind == TURNED) to->shape[to->rank++] = from->shape[++d];
        to->shape[to->rank++] = d == v->d && v->kind == SPLIT    ? extent(v->c)
                                : d == v->d && v->kind == MERGED ? extent(n->value * v->c)
                                : d == v->d && v->kind == JOINED ? extent(n->value * 2)
                                : d == v->d && v->kind == PART   ? extent(n->value / 2)
                                : v->kind == TURNED && d == v->d + 1 ? *n
                                                                     : from->shape[d];
        d += d == v->d && v->kind == MERGED;
    }
    return true;
}

/* Behind statement k, whose readers read the view.  */
static void add_view(Rewrite *x, int k, View v) {
    Te *te = x->te;
    const TeTensor *from = &te->tensor[te->stmt[k].tensor];
    TeTensor *to = &te->tensor[v.to = te->n_tensor];
    v.from = te->stmt[k].tensor;
    *to = *from;
    to->name = arena_printf(x->a, "seen%d", v.to);
    if (!shape_view(from, &v, to)) return;
    for (int i = 0; i < te->n_stmt; i++) {
        if (!is_read_inside(te->stmt[i].rhs, v.from)) return;
    }
    for (int i = k + 1; i < te->n_stmt; i++) {
        bool reads = is_read_at_all(te, te->stmt[i].rhs, v.from);
        for (int j = 0; reads && j < te->stmt[i].n_index; j++) te->stmt[i].index[j].where = true;
        read_view(x, &v, te->stmt[i].rhs);
    }
    te->n_tensor++;                       /* the view does not give it its extents */
    for (int j = 0; j < te->stmt[k].n_index; j++) te->stmt[k].index[j].where = true;
    memmove(&te->stmt[k + 2], &te->stmt[k + 1], (size_t)(te->n_stmt++ - k - 1) * sizeof *te->stmt);
    TeStmt *s = &te->stmt[k + 1];
    *s = (TeStmt){.tensor = v.to, .asg = TE_ASSIGN, .accum = TE_DTYPE_COUNT,
                  .temp_type = te->stmt[k].temp_type, .n_left = to->rank, .n_index = to->rank,
                  .rhs = element(x, &v, from)};
    for (int d = 0; d < to->rank; d++)
        s->index[d] = (TeIndex){.name = arena_printf(x->a, "seen_at%d", d), .where = true,
                                .hi = to->shape[d], .lo = {.multiple = 1}};
    if (v.kind == JOINED && rng_below(x->rng, 2))
        add_view(x, k + 1, (View){.kind = PART, .d = v.d, .part = v.part});
}

static void add_some_view(Rewrite *x, int k) {
    const TeTensor *from = &x->te->tensor[x->te->stmt[k].tensor];
    if (from->role != TE_TEMP || from->rank == 0) return;
    View v = {.kind = rng_below(x->rng, VIEWS)};
    v.d = (int)rng_below(x->rng, (uint32_t)from->rank);
    if (v.kind == JOINED && rng_below(x->rng, 2)) v.part = from->shape[v.d].value;
    add_view(x, k, v);
}

/* ---- the order of statements ---- */

static void swap_statements(Rewrite *x, int k) {
    TeStmt *s = &x->te->stmt[k], first = s[0];
    if (is_read_at_all(x->te, s[1].rhs, first.tensor)) return;
    s[0] = s[1];
    s[1] = first;
}

const char *te_rewrite(Arena *a, Te *te, Rng *rng) {
    Rewrite x = {a, te, rng};
    TeTensor *tensor = ARENA_ARRAY(a, TeTensor, te->n_tensor + 4 * te->n_stmt);
    TeStmt *stmt = ARENA_ARRAY(a, TeStmt, 6 * te->n_stmt);
    memcpy(tensor, te->tensor, (size_t)te->n_tensor * sizeof *tensor);
    memcpy(stmt, te->stmt, (size_t)te->n_stmt * sizeof *stmt);
    te->tensor = tensor;
    te->stmt = stmt;
    for (int k = 0; k < te->n_stmt; k++) {
        stmt[k].rhs = te_expr_copy(a, stmt[k].rhs);
        disguise(&x, stmt[k].rhs->kind == TE_REDUCE ? &stmt[k].rhs->args[0] : &stmt[k].rhs);
    }
    for (int k = te->n_stmt - 1; k >= 0; k--) {
        if (rng_below(rng, 2)) copy_output(&x, k);
        if (rng_below(rng, 2)) keep_axis(&x, k);
        if (rng_below(rng, 2)) add_some_view(&x, k);
    }
    for (int k = 0; k + 1 < te->n_stmt; k++) {
        if (rng_below(rng, 4) == 0) swap_statements(&x, k);
    }
    Buf out = buf_new(a);
    te_print(te, &out);
    return buf_str(&out);
}
