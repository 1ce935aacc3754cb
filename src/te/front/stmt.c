/* Statements: left side, axes, annotations, where.  */
#include "te/front/front.h"
#include "te/tree/tree.h"
#include <string.h>

static bool no_argument(Op *op, const AstAnnot *a) {
    if (!a->n_args) return true;
    return complain(op->f, "annot", a->pos, "'@%s' takes no argument", a->sym->name);
}

static bool type_argument(Op *op, const AstAnnot *a, TeDtype *out) {
    const Symbol *s = a->arg.sym;
    if (a->n_args == 1 && a->arg.kind == TOK_ID && te_dtype_parse(s->name, s->len, out))
        return true;
    return complain(op->f, "annot", a->pos, "'@%s' takes one type", a->sym->name);
}

static bool accum(Op *op, const AstAnnot *a) {
    TeDtype t;
    if (!type_argument(op, a, &t)) return false;
    op->cur->accum = t;
    if (te_dtype_compute(t) == t ? t != TE_BOOL : t == TE_F16 || t == TE_BF16) return true;
    return complain(op->f, "annot", a->pos, "'@accum' takes f64, f32, f16, bf16, i64 or i32");
}

static bool flag(Op *op, const AstAnnot *a, bool *flag_out) {
    *flag_out = true;
    return no_argument(op, a);
}

static bool annotation(Op *op, const AstAnnot *a, bool temporary) {
    TeStmt *s = op->cur;
    const char *name = a->sym->name;
    if (strcmp(name, "accum") == 0) return accum(op, a);
    if (strcmp(name, "tf32") == 0) return flag(op, a, &s->tf32);
    if (strcmp(name, "fp32x3") == 0) return flag(op, a, &s->fp32x3);
    if (strcmp(name, "fast") == 0) return flag(op, a, &s->fast);
    if (strcmp(name, "written") == 0) return flag(op, a, &s->written);
    if (strcmp(name, "type") == 0) {
        if (!temporary) return complain(op->f, "annot", a->pos, "'@type' is for temporaries");
        return type_argument(op, a, &s->temp_type);
    }
    complain(op->f, "annot", a->pos, "unknown annotation '@%s'", name);
    hint(op->f, "annotations are @accum(T) @type(T) @tf32 @fp32x3 @fast @written");
    return false;
}

static uint32_t annotation_pos(const AstStmt *ast, const char *name) {
    const AstAnnot *a = ast->annot;
    while (strcmp(a->sym->name, name) != 0) a = a->next;
    return a->pos;
}

static bool annotations(Op *op, const AstStmt *ast, bool temporary) {
    bool ok = true;
    for (const AstAnnot *a = ast->annot; a; a = a->next) {
        for (const AstAnnot *b = ast->annot; b != a; b = b->next) {
            if (b->sym == a->sym)
                return complain(op->f, "annot", a->pos, "'@%s' is given twice", a->sym->name);
        }
        ok = annotation(op, a, temporary) && ok;
    }
    return ok;
}

/* The output that is assigned, -1 for a new temporary, -2 after an error.  */
static int target(Op *op, const AstStmt *ast) {
    Front *f = op->f;
    const char *name = ast->sym->name;
    NameKind kind = name_kind(f, ast->sym);
    if (kind == NAME_FREE) return -1;
    if (kind != NAME_TENSOR) {
        complain(f, "name", ast->pos, "'%s' is %s and cannot be assigned", name,
                 kind == NAME_SIZE ? "a size" : "an index");
        return -2;
    }
    int t = ast->sym->ref;
    TeRole role = op->te->tensor[t].role;
    if (role == TE_INPUT || role == TE_VALUE)
        complain(f, "assign", ast->pos, "'%s' is an input and cannot be assigned", name);
    else if (op->tensor[t].assigned)
        complain(f, "assign", ast->pos, "'%s' is assigned twice", name);
    else
        return t;
    return -2;
}

static bool left(Op *op, const AstStmt *ast) {
    bool ok = true;
    for (const NameList *n = ast->left; n; n = n->next) {
        NameKind kind = name_kind(op->f, n->sym);
        if (kind == NAME_SIZE || kind == NAME_TENSOR) {
            ok = complain(op->f, "name", n->pos, "'%s' is %s, not an index", n->sym->name,
                          kind == NAME_SIZE ? "a size" : "a tensor");
        } else if (n->sym->stmt == op->f->stmt) {
            ok = complain(op->f, "axis", n->pos, "index '%s' is twice on the left", n->sym->name);
        } else if (index_of(op, n->sym, n->pos, true) < 0) {
            ok = false;
        }
    }
    op->cur->n_left = op->cur->n_index;
    return ok;
}

static bool rank_check(Op *op, const AstStmt *ast, const TeTensor *t) {
    int n = 0;
    for (const NameList *l = ast->left; l; l = l->next) n++;
    if (n == t->rank) return true;
    return complain(op->f, "rank", ast->pos, "'%s' has %d dimension%s, %d ind%s given", t->name,
                    t->rank, t->rank == 1 ? "" : "s", n, n == 1 ? "ex" : "ices");
}

/* T op= e is T = red[r](e); r: what is neither on the left nor bound inside.  */
static TeExpr *accumulate(Op *op, const AstStmt *ast, TeExpr *body) {
    TeExpr *e = new_expr(op, TE_REDUCE, ast->asg_pos, 1);
    e->red = (uint8_t)ast->red;
    e->args[0] = body;
    for (int i = op->cur->n_left; i < op->cur->n_index; i++) {
        const char *name = op->cur->index[i].name;
        if (symbol(&op->f->symbols, name, strlen(name))->free) e->index[e->n_index++] = (uint8_t)i;
    }
    if (!e->n_index) {
        complain(op->f, "axis", ast->asg_pos, "every index is on the left: nothing to reduce");
        hint(op->f, "write '='");
        return NULL;
    }
    return type_node(op, e) ? e : NULL;
}

static bool where(Op *op, const AstStmt *ast) {
    Front *f = op->f;
    bool ok = true;
    for (const AstRange *r = ast->where; r; r = r->next) {
        const Poly *lo = poly_const(&f->polys, 0), *hi = lo;
        TeExtent from, to;
        extent_of(f, lo, &from);
        from.written = te_expr_int(f->arena, 0, TE_I64, r->pos);
        if (r->sym->stmt != f->stmt) {
            ok = complain(f, "name", r->pos, "'%s' is no index of this statement", r->sym->name);
            continue;
        }
        TeIndex *x = &op->cur->index[r->sym->index];
        if (x->where) {
            ok = complain(f, "range", r->pos, "index '%s' has two ranges", x->name);
            continue;
        }
        if ((r->lo && !size_extent(f, r->lo, &from, &lo)) || !size_extent(f, r->hi, &to, &hi)) {
            ok = false;
            continue;
        }
        if (!poly_le(&f->polys, lo, hi))
            ok = complain(f, "range", r->pos, "the range of '%s' ends before it begins", x->name);
        x->where = true;
        x->lo = from;
        x->hi = to;
        op->info->by[r->sym->index] = BY_WHERE;
    }
    return ok;
}

static uint32_t leftmost(const Ast *a) {
    bool binary = a->kind >= TE_ADD && a->kind <= TE_SELECT;
    return binary ? leftmost(a->args) : a->pos;
}

static int new_temporary(Op *op, const AstStmt *ast, const TeExpr *rhs) {
    int t = op->te->n_tensor++;
    TeTensor *x = &op->te->tensor[t];
    TeDtype type = op->cur->temp_type;
    x->name = ast->sym->name;
    x->pos = ast->pos;
    x->role = TE_TEMP;
    x->rank = op->cur->n_left;
    x->dtype = type != TE_DTYPE_COUNT ? type : rhs ? rhs->type : TE_F32;
    if (!declare(op->f, ast->sym, ast->pos, NAME_TENSOR, t)) op->info->bad = true;
    return t;
}

static TeExpr *right(Op *op, const AstStmt *ast, int t) {
    TeExpr *e = recurrence_is(ast) ? recurrence_check(op, ast) : expr_check(op, ast->rhs);
    TeDtype to = t >= 0 ? op->te->tensor[t].dtype : op->cur->temp_type;
    if (e && ast->red >= 0) e = accumulate(op, ast, e);
    if (!e) return NULL;
    bool ok = to == TE_DTYPE_COUNT ? settle_alone(op, e) : settle(op, e, te_dtype_compute(to));
    if (!ok) return NULL;
    keep_storage(e);
    const char *name = ast->part ? ast->part->of->name : ast->sym->name;
    if (to == TE_DTYPE_COUNT || store_check(op, e, leftmost(ast->rhs), to, name)) return e;
    return NULL;
}

void stmt_check(Op *op, const AstStmt *ast, int i) {
    TeStmt *s = op->cur = &op->te->stmt[i];
    op->info = &op->stmt[i];
    op->info->part = ast->part;
    op->made = ast->sym;
    op->f->stmt++;
    s->accum = s->temp_type = TE_DTYPE_COUNT;
    s->asg = ast->red >= 0 ? TE_ACCUMULATE : TE_ASSIGN;
    s->pos = ast->pos;
    op->accumulates = ast->red >= 0;
    op->sums = false;
    int t = target(op, ast);
    bool ok = t != -2 && part_check(op, ast);
    ok = annotations(op, ast, t == -1 && !ast->part) && ok;
    if (ast->part) s->temp_type = op->te->tensor[ast->part->of->ref].dtype;
    ok = left(op, ast) && ok;
    if (t >= 0) ok = rank_check(op, ast, &op->te->tensor[t]) && ok;
    s->rhs = right(op, ast, t);
    ok = where(op, ast) && ok && s->rhs;
    if (s->rhs && s->accum != TE_DTYPE_COUNT && !op->sums)
        ok = complain(op->f, "annot", annotation_pos(ast, "accum"),
                      "'@accum' needs a sum or a product");
    if (t == -1) t = new_temporary(op, ast, s->rhs);
    if (t >= 0) {
        op->tensor[t].assigned = true;
        if (!ok && op->te->tensor[t].role == TE_TEMP) op->tensor[t].bad = true;
        s->tensor = t;
    }
    op->info->bad = op->info->bad || !ok;
}
