/* Recurrences: a statement that reads its own tensor one place back (or on) along one index.
 *
 * Its right side must be linear in what it reads so, h: a sum of terms, and of h times factors,
 * maybe in branches.  It is brought to factor * h + term, which holds for real numbers; how far
 * what is computed may be from that is what the language says of recurrences.  An else value is
 * what h is where there is nothing behind; 0 where a condition says so.  */
#include "te/front/front.h"
#include "te/tree/tree.h"
#include <stdarg.h>

typedef struct {
    Op *op;
    const AstStmt *ast;
    int along, step;          /* the left index, and -1 or 1; 0: no read was seen */
    bool starts;              /* some else value is not 0 */
} Recurrence;

/* factor * h + term.  NULL: a factor of 1, a term of 0.  */
typedef struct {
    bool reads;               /* h at all */
    Ast *factor, *term;
} Linear;

static bool linear(Recurrence *r, Ast *a, Linear *out);

static Ast *operation(const Recurrence *r, const Ast *like, Ast *const *operand, int n) {
    return ast_node(r->op->f, like->kind, like->pos, (const Ast *const *)operand, n);
}

static bool reads_itself(const AstStmt *s, const Ast *a) {
    if (a->kind == TE_READ && a->sym == s->sym) return true;
    for (const Ast *x = a->args; x; x = x->next) {
        if (reads_itself(s, x)) return true;
    }
    return a->other && reads_itself(s, a->other);
}

static bool refuse(Recurrence *r, uint32_t pos, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static bool refuse(Recurrence *r, uint32_t pos, const char *fmt, ...) {
    Buf b = buf_new(r->op->f->arena);
    va_list args;
    va_start(args, fmt);
    buf_vprintf(&b, fmt, args);
    va_end(args);
    complain(r->op->f, "recurrence", pos, "%s", buf_str(&b));
    hint(r->op->f, "a recurrence is linear in one element: a[t] * (%s[t-1] else 0) + b[t], or t+1",
         r->ast->sym->name);
    return false;
}

static bool in_place(Recurrence *r, const Ast *a) {
    complain(r->op->f, "assign", a->pos, "'%s' is read before it is assigned", r->ast->sym->name);
    hint(r->op->f, "a recurrence reads what is one before or behind: (%s[i-1] else 0)",
         r->ast->sym->name);
    return false;
}

/* -1 or 1 for `name - 1` or `name + 1`, 0 for `name`; else 2.  */
static int step_of(const Ast *sub, const Symbol *name) {
    if (sub->kind == TE_INDEX) return sub->sym == name ? 0 : 2;
    if (sub->kind != TE_ADD && sub->kind != TE_SUB) return 2;
    const Ast *x = sub->args, *by = x->next;
    bool one = x->kind == TE_INDEX && x->sym == name && by->kind == TE_INT && by->i == 1;
    return !one ? 2 : sub->kind == TE_ADD ? 1 : -1;
}

static bool self(Recurrence *r, const Ast *a, Linear *out) {
    const NameList *left = r->ast->left;
    const Ast *sub = a->args;
    int along = -1, step = 0, i = 0;
    for (; left && sub; left = left->next, sub = sub->next, i++) {
        int by = step_of(sub, left->sym);
        if (by == 2 || (by && along >= 0))
            return refuse(r, sub->pos, "'%s' is read farther away than one place before or behind",
                          r->ast->sym->name);
        if (!by) continue;
        along = i;
        step = by;
    }
    if (left || sub || along < 0) return in_place(r, a);
    if (r->step && (r->along != along || r->step != step))
        return refuse(r, a->pos, "'%s' is read in two directions", r->ast->sym->name);
    if (a->other && reads_itself(r->ast, a->other))
        return refuse(r, a->other->pos, "'%s' stands in its own else value", r->ast->sym->name);
    r->along = along;
    r->step = step;
    *out = (Linear){.reads = true};
    r->starts |= a->other && !((a->other->kind == TE_INT && a->other->i == 0) ||
                               (a->other->kind == TE_REAL && a->other->r == 0));
    return true;
}

/* op of two values, of which one may be nothing: 0 + x, 0 - x.  */
static Ast *joined(const Recurrence *r, const Ast *a, Ast *x, Ast *y) {
    if (!y) return x;
    if (x) return operation(r, a, (Ast *[]){x, y}, 2);
    return a->kind == TE_ADD ? y : operation(r, &(Ast){.kind = TE_NEG, .pos = a->pos}, &y, 1);
}

/* The factor of h as a value.  */
static Ast *weight(const Recurrence *r, const Linear *x, uint32_t pos) {
    return x->factor || !x->reads ? x->factor : ast_int(r->op->f, 1, pos);
}

static bool sum(Recurrence *r, const Ast *a, Linear *out) {
    Linear x, y;
    if (!linear(r, a->args, &x) || !linear(r, a->args->next, &y)) return false;
    *out = (Linear){.reads = true, .term = joined(r, a, x.term, y.term)};
    bool alone = x.reads ? !y.reads : a->kind == TE_ADD;
    out->factor = alone ? (x.reads ? x.factor : y.factor)
                        : joined(r, a, weight(r, &x, a->pos), weight(r, &y, a->pos));
    return true;
}

static bool negation(Recurrence *r, const Ast *a, Linear *out) {
    Linear h;
    if (!linear(r, a->args, &h)) return false;
    Ast *one = weight(r, &h, a->pos);
    *out = (Linear){true, operation(r, a, &one, 1), h.term ? operation(r, a, &h.term, 1) : NULL};
    return true;
}

static bool product(Recurrence *r, const Ast *a, Linear *out) {
    Ast *x = a->args, *y = x->next;
    bool left = reads_itself(r->ast, x), both = left && reads_itself(r->ast, y);
    Linear h;
    if (both || (a->kind == TE_DIV && !left))
        return refuse(r, a->pos, "'%s' %s", r->ast->sym->name,
                      both ? "is multiplied by itself" : "is a divisor");
    if (!linear(r, left ? x : y, &h)) return false;
    Ast *by = left ? y : x, *one = h.factor ? h.factor : ast_int(r->op->f, 1, a->pos);
    out->reads = true;
    out->factor = !h.factor && a->kind == TE_MUL
                      ? by : operation(r, a, left ? (Ast *[]){one, by} : (Ast *[]){by, one}, 2);
    out->term = !h.term ? NULL
                        : operation(r, a, left ? (Ast *[]){h.term, by} : (Ast *[]){by, h.term}, 2);
    return true;
}

static bool choice(Recurrence *r, const Ast *a, Linear *out) {
    Ast *condition = a->args, *yes = condition->next, *no = yes->next;
    Linear x, y;
    if (reads_itself(r->ast, condition))
        return refuse(r, condition->pos, "'%s' decides a condition", r->ast->sym->name);
    if (!linear(r, yes, &x) || !linear(r, no, &y)) return false;
    Ast *nothing = ast_int(r->op->f, 0, a->pos);
    Ast *f = weight(r, &x, a->pos), *g = weight(r, &y, a->pos);
    out->reads = true;
    out->factor = operation(r, a, (Ast *[]){condition, f ? f : nothing, g ? g : nothing}, 3);
    out->term = !x.term && !y.term ? NULL
                : operation(r, a, (Ast *[]){condition, x.term ? x.term : nothing,
                                            y.term ? y.term : nothing}, 3);
    return true;
}

static bool linear(Recurrence *r, Ast *a, Linear *out) {
    *out = (Linear){.term = a};
    if (!reads_itself(r->ast, a)) return true;
    *out = (Linear){0};
    switch (a->kind) {
    case TE_READ: return self(r, a, out);
    case TE_ADD:
    case TE_SUB: return sum(r, a, out);
    case TE_MUL:
    case TE_DIV: return product(r, a, out);
    case TE_SELECT: return choice(r, a, out);
    case TE_NEG: return negation(r, a, out);
    default: return refuse(r, a->pos, "'%s' is not linear in its other element", r->ast->sym->name);
    }
}

/* The right side where nothing is behind: else values in place of h.  */
static Ast *start(const Recurrence *r, const Ast *a) {
    if (a->kind == TE_READ && a->sym == r->ast->sym)
        return a->other ? a->other : ast_int(r->op->f, 0, a->pos);
    Ast *e = ARENA_NEW(r->op->f->arena, Ast), **link = &e->args;
    *e = *a;
    e->next = NULL;
    for (const Ast *x = a->args; x; x = x->next) {
        Ast *put = ARENA_NEW(r->op->f->arena, Ast);
        *put = *start(r, x);
        put->next = NULL;
        *link = put;
        link = &put->next;
    }
    if (a->other) e->other = start(r, a->other);
    return e;
}

/* Reads without an else value stand in a branch.  */
static bool has_open_read(const AstStmt *s, const Ast *a, uint32_t *pos) {
    if (a->kind == TE_SELECT) return false;
    *pos = a->pos;
    if (a->kind == TE_READ && a->sym == s->sym) return !a->other;
    for (const Ast *x = a->args; x; x = x->next) {
        if (has_open_read(s, x, pos)) return true;
    }
    return false;
}

bool recurrence_is(const AstStmt *ast) {
    return ast->red < 0 && reads_itself(ast, ast->rhs);
}

TeExpr *recurrence_check(Op *op, const AstStmt *ast) {
    Recurrence r = {.op = op, .ast = ast};
    Linear x;
    uint32_t pos;
    if (!linear(&r, ast->rhs, &x)) return NULL;
    if (has_open_read(ast, ast->rhs, &pos)) {
        complain(op->f, "bounds", pos, "nothing says what is %s the first of '%s'",
                 r.step < 0 ? "before" : "behind", ast->sym->name);
        hint(op->f, "write (%s[...] else 0), or what it begins with instead of 0", ast->sym->name);
        return NULL;
    }
    const Ast *part[] = {x.term ? x.term : ast_int(op->f, 0, ast->rhs->pos),
                         x.factor ? x.factor : ast_int(op->f, 1, ast->rhs->pos),
                         r.starts ? start(&r, ast->rhs) : NULL};
    TeExpr *e = new_expr(op, TE_REDUCE, ast->rhs->pos, 2 + r.starts);
    e->red = TE_RED_AFFINE;
    e->v.ref = r.along;
    e->whole = r.step > 0;
    for (int i = 0; i < e->n_args; i++) {
        if (!(e->args[i] = expr_check(op, part[i]))) return NULL;
    }
    return type_node(op, e) ? e : NULL;
}

/* ---- once ranges are known ---- */

static void put_index(TeExpr *e, int from, int to) {
    if (e->kind == TE_INDEX && e->v.ref == from) e->v.ref = to;
    for (int i = 0; i < e->n_args; i++) put_index(e->args[i], from, to);
    if (e->other) put_index(e->other, from, to);
}

static TeExpr *node(Op *op, TeKind kind, TeDtype type, TeExpr *x, TeExpr *y) {
    TeExpr *e = new_expr(op, kind, x->pos, 2);
    e->type = e->store = type;
    e->args[0] = x;
    e->args[1] = y;
    return e;
}

static TeExpr *select(Op *op, TeDtype type, TeExpr *condition, TeExpr *yes, TeExpr *no) {
    TeExpr *e = new_expr(op, TE_SELECT, yes->pos, 3);
    e->type = e->store = type;
    e->args[0] = condition;
    e->args[1] = yes;
    e->args[2] = no;
    return e;
}

/* r == 0, or from the end r + 1 == N.  */
static TeExpr *is_first(Op *op, const TeIndex *x, TeExpr *r, bool up) {
    Arena *a = op->f->arena;
    if (!up) return node(op, TE_EQ, TE_BOOL, r, te_expr_int(a, 0, TE_I64, r->pos));
    TeExpr *next = node(op, TE_ADD, TE_I64, r, te_expr_int(a, 1, TE_I64, r->pos));
    TeExpr *end = x->hi.expr ? te_expr_copy(a, x->hi.expr)
                             : te_expr_int(a, x->hi.value, TE_I64, r->pos);
    return node(op, TE_EQ, TE_BOOL, next, end);
}

static TeExpr *until(Op *op, const TeExpr *e, int over, TeExpr *value, int64_t identity) {
    Arena *a = op->f->arena;
    TeExpr *other = te_expr_zero(a, e->type, value->pos);
    if (other->kind == TE_REAL) other->v.r = (double)identity;
    else other->v.i = identity;
    TeExpr *r = te_expr_index(a, over, value->pos), *own = te_expr_index(a, e->v.ref, value->pos);
    TeExpr *order = node(op, e->whole ? TE_GE : TE_LE, TE_BOOL, r, own);
    return select(op, e->type, order, value, other);
}

bool recurrence_finish(Op *op, TeStmt *s) {
    TeExpr *e = s->rhs;
    int over = s->n_index, at = e->v.ref;
    if (over == TE_MAX_INDICES)
        return complain(op->f, "limit", s->pos, "a recurrence has %d indices at most",
                        TE_MAX_INDICES - 1);
    s->index[s->n_index++] = (TeIndex){.name = s->index[at].name, .reduction = true,
                                       .lo = s->index[at].lo, .hi = s->index[at].hi};
    for (int i = 0; i < e->n_args; i++) put_index(e->args[i], at, over);
    if (e->n_args > 2)
        e->args[0] = select(op, e->type,
                            is_first(op, &s->index[at], te_expr_index(op->f->arena, over, e->pos),
                                     e->whole),
                            e->args[2], e->args[0]);
    for (int i = 0; i < 2; i++) e->args[i] = until(op, e, over, e->args[i], i);
    e->n_args = 2;
    e->n_index = 1;
    e->index[0] = (uint8_t)over;
    e->v.ref = 0;
    e->whole = false;
    return true;
}
