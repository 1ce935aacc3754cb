/* Expressions: what the names mean, and the axes they make.  */
#include "te/front/front.h"
#include "te/tree/tree.h"

TeExpr *new_expr(Op *op, TeKind kind, uint32_t pos, int n_args) {
    op->te->n_node++;
    return te_expr_node(op->f->arena, kind, TE_DTYPE_COUNT, n_args, pos);
}

/* The statement's index `sym`, made at its first occurrence; -1 after an error.  */
int index_of(Op *op, Symbol *sym, uint32_t pos, bool left) {
    Front *f = op->f;
    TeStmt *s = op->cur;
    if (sym->stmt == f->stmt) {
        if (!left && !op->info->right_pos[sym->index]) op->info->right_pos[sym->index] = pos;
        return sym->index;
    }
    if (!declare(f, sym, pos, NAME_INDEX, 0)) return -1;
    if (s->n_index == TE_MAX_INDICES) {
        complain(f, "limit", pos, "more than %d indices in a statement", TE_MAX_INDICES);
        return -1;
    }
    sym->stmt = f->stmt;
    sym->index = s->n_index;
    sym->left = left;
    sym->free = sym->was_bound = false;
    sym->bound = 0;
    s->index[s->n_index] = (TeIndex){.name = sym->name, .reduction = !left};
    op->info->index_pos[s->n_index] = pos;
    op->info->right_pos[s->n_index] = left ? 0 : pos;
    return s->n_index++;
}

/* An index in an expression: on the left, bound here, or else one that `op=` reduces.  */
static TeExpr *index_use(Op *op, const Ast *a) {
    Symbol *sym = a->sym;
    int i = index_of(op, sym, a->pos, false);
    if (i < 0) return NULL;
    if (!sym->left && !sym->bound && !sym->free) {
        sym->free = true;
        if (sym->was_bound) {
            complain(op->f, "axis", a->pos,
                     "index '%s' is used outside the reduction that binds it", sym->name);
            return NULL;
        }
        if (!op->accumulates) {
            complain(op->f, "axis", a->pos, "index '%s' is only on the right of '='", sym->name);
            hint(op->f, "write sum[%s](...), or += to sum the whole right side", sym->name);
            return NULL;
        }
    }
    TeExpr *e = new_expr(op, TE_INDEX, a->pos, 0);
    e->v.ref = i;
    e->type = e->store = TE_I64;
    return e;
}

static TeExpr *name(Op *op, const Ast *a) {
    int ref;
    if (a->sym->bad == op->f->op) return NULL;
    if (size_find(op->f, a->sym, &ref)) {
        TeExpr *e = new_expr(op, TE_SIZE, a->pos, 0);
        e->v.ref = ref;
        e->type = e->store = TE_I64;
        return e;
    }
    if (name_kind(op->f, a->sym) != NAME_TENSOR) return index_use(op, a);
    ref = a->sym->ref;
    const TeTensor *t = &op->te->tensor[ref];
    if (op->tensor[ref].bad) return NULL;
    if (t->role != TE_VALUE) {
        complain(op->f, "rank", a->pos, "'%s' is a tensor and needs subscripts", t->name);
        return NULL;
    }
    op->tensor[ref].read = true;
    TeExpr *e = new_expr(op, TE_SCALAR, a->pos, 0);
    e->v.ref = ref;
    e->type = e->store = t->dtype;
    return e;
}

/* The tensor that is read; -1 after an error.  */
static int tensor_of(Op *op, const Ast *a) {
    Front *f = op->f;
    NameKind kind = name_kind(f, a->sym);
    const char *text = a->sym->name;
    bool later = a->sym->op == f->op && a->sym->target;
    if (a->sym->bad == f->op) return -1;
    if (kind == NAME_TENSOR && op->tensor[a->sym->ref].assigned) {
        if (op->te->tensor[a->sym->ref].role != TE_VALUE) return a->sym->ref;
        complain(f, "rank", a->pos, "'%s' is a scalar and has no elements", text);
    } else if (kind == NAME_TENSOR || (kind == NAME_FREE && later)) {
        complain(f, "assign", a->pos, "'%s' is read before it is assigned", text);
        if (a->sym == op->made)
            hint(f, "a recurrence is written with '=': a[i] * (%s[i-1] else 0) + b[i]", text);
    } else if (kind != NAME_FREE) {
        complain(f, "name", a->pos, "'%s' is %s, not a tensor", text, kind_text(kind));
    } else {
        complain(f, "name", a->pos, "'%s' is not declared", text);
        hint_nearest(op, text, true);
    }
    return -1;
}

static bool subscript_check(Op *op, TeExpr *e) {
    if (!settle(op, e, TE_I64)) return false;
    if (te_dtype_class(e->type) == TE_CLASS_INT) return true;
    return complain(op->f, "type", e->pos, "a subscript must be an integer, not %s",
                    te_dtype_name(e->type));
}

static TeExpr *read(Op *op, const Ast *a) {
    int n = 0, t = tensor_of(op, a);
    bool ok = t >= 0 && !op->tensor[t].bad;
    for (const Ast *x = a->args; x; x = x->next) n++;
    if (t >= 0) op->tensor[t].read = true;
    if (ok && n != op->te->tensor[t].rank) {
        int rank = op->te->tensor[t].rank;
        ok = complain(op->f, "rank", a->pos, "'%s' has %d dimension%s, %d ind%s given",
                      a->sym->name, rank, rank == 1 ? "" : "s", n, n == 1 ? "ex" : "ices");
    }
    TeExpr *e = new_expr(op, TE_READ, a->pos, n);
    n = 0;
    for (const Ast *x = a->args; x; x = x->next) {
        TeExpr *sub = expr_check(op, x);
        ok = sub && subscript_check(op, sub) && ok;
        e->args[n++] = sub;
    }
    if (a->other && !(e->other = expr_check(op, a->other))) ok = false;
    if (!ok) return NULL;
    e->v.ref = t;
    return type_node(op, e) ? e : NULL;
}

/* A reduction over no index: its one value, or that one's position.  */
static TeExpr *of_one(Op *op, const TeExpr *reduce) {
    if (!te_positional(reduce)) return reduce->args[0];
    TeExpr *e = new_expr(op, TE_INT, reduce->pos, 0);
    e->store = TE_I32;
    return e;
}

/* redop[k,...](body): binds the indices, unless they mean something else already.  */
static TeExpr *reduction(Op *op, const Ast *a) {
    TeExpr *e = new_expr(op, TE_REDUCE, a->pos, 1);
    bool ok = true;
    e->red = a->red;
    for (const NameList *n = a->names; n; n = n->next) {
        int i = index_of(op, n->sym, n->pos, false);
        const char *clash = i < 0 ? NULL
                            : n->sym->left ? "on the left"
                            : n->sym->bound ? "bound already"
                            : n->sym->free ? "used outside this reduction" : NULL;
        if (clash) complain(op->f, "axis", n->pos, "index '%s' is %s", n->sym->name, clash);
        ok = ok && i >= 0 && !clash;
        if (i >= 0) {
            e->index[e->n_index++] = (uint8_t)i;
            n->sym->bound++;
        }
    }
    e->args[0] = expr_check(op, a->args);
    for (const NameList *n = a->names; n; n = n->next) {
        if (n->sym->stmt != op->f->stmt || !n->sym->bound) continue;
        n->sym->bound--;
        n->sym->was_bound = true;
    }
    if (!ok || !e->args[0] || !type_node(op, e)) return NULL;
    return a->names ? e : of_one(op, e);
}

static TeExpr *operation(Op *op, const Ast *a) {
    int n = 0;
    bool ok = true;
    for (const Ast *x = a->args; x; x = x->next) n++;
    TeExpr *e = new_expr(op, a->kind, a->pos, n);
    if (a->kind == TE_CALL) e->v.fn = a->fn;
    if (a->kind == TE_CAST) e->store = a->dtype;
    n = 0;
    for (const Ast *x = a->args; x; x = x->next) ok = (e->args[n++] = expr_check(op, x)) && ok;
    return ok && type_node(op, e) ? e : NULL;
}

static TeExpr *literal(Op *op, const Ast *a) {
    TeExpr *e = new_expr(op, a->kind, a->pos, 0);
    if (a->kind == TE_REAL)
        e->v.r = a->r;
    else
        e->v.i = a->i;
    if (a->kind == TE_BOOLEAN)
        e->type = e->store = TE_BOOL;
    else
        e->store = a->kind == TE_REAL ? TE_F32 : TE_I32;
    return e;
}

TeExpr *expr_check(Op *op, const Ast *a) {
    switch (a->kind) {
    case TE_INT:
    case TE_REAL:
    case TE_BOOLEAN:
        return literal(op, a);
    case TE_INDEX:
        return name(op, a);
    case TE_READ:
        return read(op, a);
    case TE_REDUCE:
        return reduction(op, a);
    default:
        return operation(op, a);
    }
}
