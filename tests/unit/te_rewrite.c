/* links: te */
#include "te_rewrite.h"
#include "te/tree.h"
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
    uint32_t how = rng_below(x->rng, 8);
    if (how == 0) *slot = around(x, TE_NEG, around(x, TE_NEG, e));
    if (how == 1) *slot = around(x, TE_CAST, e);
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

const char *te_rewrite(Arena *a, Te *te, Rng *rng) {
    Rewrite x = {a, te, rng};
    TeTensor *tensor = ARENA_ARRAY(a, TeTensor, te->n_tensor + te->n_stmt);
    TeStmt *stmt = ARENA_ARRAY(a, TeStmt, 2 * te->n_stmt);
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
    }
    Buf out = buf_new(a);
    te_print(te, &out);
    return buf_str(&out);
}
