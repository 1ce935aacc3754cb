/* The canonical text.  */
#include "te/te.h"
#include <inttypes.h>
#include <math.h>

typedef struct {
    const Te *te;
    const TeStmt *stmt;       /* whose indices the expression has; NULL in size expressions */
    Buf *out;
    bool positional;          /* names by order of declaration */
    bool tight;               /* no spaces: inside brackets, strides and ranges */
    const int *number;        /* positional: of a size */
} Printer;

static const char *const redops[] = {
#define X(id, name) name,
    TE_REDOPS(X)
#undef X
};
static const char *const intrinsics[] = {
#define X(id, name, n, ulp) name,
    TE_INTRINSICS(X)
#undef X
};
static const char *const marks[] = {
    [TE_ADD] = "+", [TE_SUB] = "-", [TE_MUL] = "*", [TE_DIV] = "/", [TE_MOD] = "%",
    [TE_SHL] = "<<", [TE_SHR] = ">>", [TE_BITAND] = "&", [TE_BITXOR] = "^", [TE_BITOR] = "|",
    [TE_EQ] = "==", [TE_NE] = "!=", [TE_LT] = "<",  [TE_LE] = "<=", [TE_GT] = ">",
    [TE_GE] = ">=", [TE_AND] = "&&", [TE_OR] = "||",
};

/* How tightly an operator binds; an operand that binds less needs parentheses.  */
enum {
    P_SELECT = 1, P_OR, P_AND, P_CMP, P_BITOR, P_BITXOR, P_BITAND, P_SHIFT, P_ADD, P_MUL, P_UNARY,
    P_PRIM
};

static bool negative(const TeExpr *e) {
    return e->kind == TE_INT ? e->v.i < 0 : e->kind == TE_REAL && signbit(e->v.r);
}

static int precedence(const TeExpr *e) {
    switch (e->kind) {
    case TE_INT:
    case TE_REAL: return negative(e) ? P_UNARY : P_PRIM;
    case TE_NEG:
    case TE_NOT: return P_UNARY;
    case TE_ADD:
    case TE_SUB: return P_ADD;
    case TE_MUL:
    case TE_DIV:
    case TE_MOD: return P_MUL;
    case TE_SHL:
    case TE_SHR: return P_SHIFT;
    case TE_BITAND: return P_BITAND;
    case TE_BITXOR: return P_BITXOR;
    case TE_BITOR: return P_BITOR;
    case TE_AND: return P_AND;
    case TE_OR: return P_OR;
    case TE_SELECT: return P_SELECT;
    default: return e->kind >= TE_EQ && e->kind <= TE_GE ? P_CMP : P_PRIM;
    }
}

static void size_name(const Printer *p, int i) {
    if (p->positional)
        buf_printf(p->out, "s%d", p->number[i]);
    else
        buf_puts(p->out, p->te->size[i].name);
}

static void tensor_name(const Printer *p, int i) {
    if (p->positional)
        buf_printf(p->out, "t%d", i);
    else
        buf_puts(p->out, p->te->tensor[i].name);
}

static void index_name(const Printer *p, int i) {
    if (p->positional)
        buf_printf(p->out, "i%d", i);
    else
        buf_puts(p->out, p->stmt->index[i].name);
}

static void expr(const Printer *p, const TeExpr *e);

static void separate(const Printer *p, const char *mark) {
    buf_printf(p->out, p->tight ? "%s" : " %s ", mark);
}

/* An operand of an operator: a guarded read gets parentheses for the reader's sake.  */
static void operand(const Printer *p, const TeExpr *e, int least) {
    bool parens = precedence(e) < least || (e->kind == TE_READ && e->other);
    if (parens) buf_putc(p->out, '(');
    expr(p, e);
    if (parens) buf_putc(p->out, ')');
}

static void list(const Printer *p, TeExpr *const *args, int n) {
    for (int i = 0; i < n; i++) {
        if (i) buf_puts(p->out, p->tight ? "," : ", ");
        expr(p, args[i]);
    }
}

static void real(const Printer *p, const TeExpr *e) {
    if (e->whole)
        buf_printf(p->out, "%.0f", e->v.r);
    else
        buf_real(p->out, e->v.r);
}

static void element(const Printer *p, const TeExpr *e, int rank) {
    Printer inside = *p;
    inside.tight = true;
    tensor_name(p, e->v.ref);
    buf_putc(p->out, '[');
    list(&inside, e->args, rank);
    buf_putc(p->out, ']');
    if (!e->other) return;
    buf_puts(p->out, " else ");
    bool parens = precedence(e->other) < P_UNARY;
    if (parens) buf_putc(p->out, '(');
    expr(p, e->other);
    if (parens) buf_putc(p->out, ')');
}

/* Dimensions that a temporary has for tests alone are conditions: its text has no place to declare
 * them.  */
static void read(const Printer *p, const TeExpr *e) {
    const TeTensor *t = &p->te->tensor[e->v.ref];
    bool temp = t->role == TE_TEMP, any = false;
    for (int d = te_own_rank(t); d < e->n_args && temp && e->other; d++) {
        if (e->args[d]->kind == TE_INT) continue;
        if (any) separate(p, "&&");
        operand(p, e->args[d], P_CMP + 1);
        separate(p, "<");
        buf_printf(p->out, "%" PRId64, t->shape[d].value);
        any = true;
    }
    if (any) separate(p, "?");
    if (any) buf_putc(p->out, '(');
    element(p, e, temp ? te_own_rank(t) : e->n_args);
    if (!any) return;
    buf_putc(p->out, ')');
    separate(p, ":");
    operand(p, e->other, P_SELECT);
}

/* h[i-1], or h[i+1] from the end.  */
static void previous(const Printer *p, const TeExpr *order) {
    int along = order->args[1]->v.ref;
    tensor_name(p, p->stmt->tensor);
    buf_putc(p->out, '[');
    for (int i = 0; i < p->stmt->n_left; i++) {
        if (i) buf_putc(p->out, ',');
        index_name(p, i);
        if (i == along) buf_puts(p->out, order->kind == TE_LE ? "-1" : "+1");
    }
    buf_putc(p->out, ']');
}

/* As it is written: its index has the name of the left one that it runs up to.  */
static void recurrence(const Printer *p, const TeExpr *e) {
    const TeExpr *term = e->args[0], *factor = e->args[1];
    operand(p, factor->args[1], P_MUL);
    separate(p, "*");
    buf_putc(p->out, '(');
    previous(p, term->args[0]);
    buf_puts(p->out, " else 0)");
    separate(p, "+");
    operand(p, term->args[1], P_ADD + 1);
}

static void reduce(const Printer *p, const TeExpr *e) {
    if (te_is_recurrence(e)) {
        recurrence(p, e);
        return;
    }
    buf_printf(p->out, "%s[", redops[e->red]);
    for (int i = 0; i < e->n_index; i++) {
        if (i) buf_putc(p->out, ',');
        index_name(p, e->index[i]);
    }
    buf_puts(p->out, "](");
    expr(p, e->args[0]);
    buf_putc(p->out, ')');
}

static void operation(const Printer *p, const TeExpr *e) {
    int own = precedence(e);
    if (e->kind == TE_NEG || e->kind == TE_NOT) {
        buf_putc(p->out, e->kind == TE_NEG ? '-' : '!');
        operand(p, e->args[0], P_UNARY);
    } else if (e->kind == TE_SELECT) {
        operand(p, e->args[0], P_OR);
        separate(p, "?");
        operand(p, e->args[1], P_SELECT);
        separate(p, ":");
        operand(p, e->args[2], P_SELECT);
    } else {
        operand(p, e->args[0], own + (own == P_CMP));
        separate(p, marks[e->kind]);
        operand(p, e->args[1], own + 1);
    }
}

static void expr(const Printer *p, const TeExpr *e) {
    switch (e->kind) {
    case TE_INT: buf_printf(p->out, "%" PRId64, e->v.i); break;
    case TE_REAL: real(p, e); break;
    case TE_BOOLEAN: buf_puts(p->out, e->v.i ? "true" : "false"); break;
    case TE_SIZE: size_name(p, e->v.ref); break;
    case TE_INDEX: index_name(p, e->v.ref); break;
    case TE_SCALAR: tensor_name(p, e->v.ref); break;
    case TE_READ: read(p, e); break;
    case TE_REDUCE: reduce(p, e); break;
    case TE_CALL:
    case TE_CAST:
        buf_puts(p->out, e->kind == TE_CAST ? te_dtype_name(e->store) : intrinsics[e->v.fn]);
        buf_putc(p->out, '(');
        list(p, e->args, e->n_args);
        buf_putc(p->out, ')');
        break;
    default: operation(p, e);
    }
}

static void extent(const Printer *p, const TeExtent *e) {
    Printer inside = *p;
    inside.tight = true;
    if (e->written || e->expr)
        expr(&inside, e->written ? e->written : e->expr);
    else
        buf_printf(p->out, "%" PRId64, e->value);
}

static void extents(const Printer *p, const TeExtent *e, int n, char open, char close) {
    buf_putc(p->out, open);
    for (int i = 0; i < n; i++) {
        if (i) buf_putc(p->out, ',');
        extent(p, &e[i]);
    }
    buf_putc(p->out, close);
}

static void size(const Printer *p, int i) {
    const TeSize *s = &p->te->size[i];
    bool let = s->kind == TE_SIZE_LET;
    if (s->stmt >= 0) buf_puts(p->out, "  ");
    buf_puts(p->out, let ? "let " : "param ");
    size_name(p, i);
    buf_puts(p->out, " = ");
    if (let) {
        expr(p, s->expr);
    } else if (s->kind == TE_SIZE_RUNTIME) {
        buf_printf(p->out, "%" PRId64 "..%" PRId64, s->lo, s->hi);
        if (s->extent.multiple > 1) buf_printf(p->out, " %% %" PRId64, s->extent.multiple);
    } else {
        buf_printf(p->out, "%" PRId64, s->extent.value);
    }
    buf_puts(p->out, ";\n");
}

static void argument(const Printer *p, int i) {
    const TeTensor *t = &p->te->tensor[i];
    tensor_name(p, i);
    buf_printf(p->out, ": %s", te_dtype_name(t->dtype));
    if (t->rank || t->role == TE_INPUT) extents(p, t->shape, t->rank, '[', ']');
    if (!t->strided) return;
    buf_puts(p->out, " strides");
    extents(p, t->stride, t->rank, '(', ')');
}

static void arguments(const Printer *p, int first, int n) {
    for (int i = 0; i < n; i++) {
        if (i) buf_puts(p->out, ", ");
        argument(p, first + i);
    }
}

static void where(const Printer *p) {
    const char *before = " where ";
    for (int i = 0; i < p->stmt->n_index; i++) {
        const TeIndex *x = &p->stmt->index[i];
        const TeExpr *e = p->stmt->rhs;
        if (!x->where || (te_is_recurrence(e) && i == e->index[0])) continue;
        buf_puts(p->out, before);
        index_name(p, i);
        buf_puts(p->out, " in ");
        extent(p, &x->lo);
        buf_putc(p->out, ':');
        extent(p, &x->hi);
        before = ", ";
    }
}

static void annotations(const Printer *p) {
    const TeStmt *s = p->stmt;
    if (s->accum != TE_DTYPE_COUNT) buf_printf(p->out, " @accum(%s)", te_dtype_name(s->accum));
    if (s->fast) buf_puts(p->out, " @fast");
    if (s->fp32x3) buf_puts(p->out, " @fp32x3");
    if (s->tf32) buf_puts(p->out, " @tf32");
    if (s->temp_type != TE_DTYPE_COUNT)
        buf_printf(p->out, " @type(%s)", te_dtype_name(s->temp_type));
    if (s->written) buf_puts(p->out, " @written");
}

static const char *assignment(const TeStmt *s) {
    if (s->asg == TE_ASSIGN) return " = ";
    switch (s->rhs->red) {
    case TE_RED_SUM: return " += ";
    case TE_RED_PROD: return " *= ";
    case TE_RED_MAX: return " max= ";
    default: return " min= ";
    }
}

/* `# 2*p + p_phase < 9`: the other points are stored nowhere.  */
static void clips(const Printer *p) {
    const TeTensor *t = &p->te->tensor[p->stmt->tensor];
    for (int c = 0; c < t->n_clip; c++) {
        const char *sign = c ? ", " : "  # ";
        for (int d = 0; d < t->rank; d++) {
            int64_t weight = t->clip[c].weight[d];
            if (weight == 0) continue;
            buf_puts(p->out, sign);
            if (weight > 1) buf_printf(p->out, "%" PRId64 "*", weight);
            index_name(p, d);
            sign = " + ";
        }
        buf_printf(p->out, " < %" PRId64, t->clip[c].end);
    }
}

static void statement(const Printer *p) {
    const TeStmt *s = p->stmt;
    buf_puts(p->out, "  ");
    tensor_name(p, s->tensor);
    buf_putc(p->out, '[');
    for (int i = 0; i < s->n_left; i++) {
        if (i) buf_putc(p->out, ',');
        index_name(p, i);
    }
    buf_putc(p->out, ']');
    buf_puts(p->out, assignment(s));
    expr(p, s->asg == TE_ACCUMULATE ? s->rhs->args[0] : s->rhs);
    where(p);
    annotations(p);
    buf_putc(p->out, ';');
    clips(p);
    buf_putc(p->out, '\n');
}

static void op(Printer *p) {
    const Te *te = p->te;
    bool several = te->n_out > 1;
    buf_printf(p->out, "op %s(", p->positional ? "f" : te->name);
    arguments(p, 0, te->n_in);
    buf_puts(p->out, several ? ") -> (" : ") -> ");
    arguments(p, te->n_in, te->n_out);
    buf_puts(p->out, several ? ") {\n" : " {\n");
    for (int s = 0; s <= te->n_stmt; s++) {
        for (int i = 0; i < te->n_size; i++) {
            if (te->size[i].stmt == s && p->number[i] >= 0) size(p, i);
        }
        p->stmt = s < te->n_stmt ? &te->stmt[s] : NULL;
        if (p->stmt) statement(p);
        p->stmt = NULL;
    }
    buf_puts(p->out, "}\n");
}

static void print(const Te *te, Buf *out, bool positional) {
    int number[TE_MAX_SIZES], n = 0;
    Printer p = {.te = te, .out = out, .positional = positional, .number = number};
    for (int i = 0; i < te->n_size; i++) number[i] = positional && !te->size[i].used ? -1 : n++;
    for (int i = 0; i < te->n_size; i++) {
        if (te->size[i].stmt < 0 && number[i] >= 0) size(&p, i);
    }
    op(&p);
}

void te_print(const Te *te, Buf *out) { print(te, out, false); }

void te_print_positional(const Te *te, Buf *out) { print(te, out, true); }

void te_print_stmt(const Te *te, const TeStmt *s, Buf *out) {
    Printer p = {.te = te, .stmt = s, .out = out};
    statement(&p);
}

void te_print_expr(const Te *te, const TeStmt *s, const TeExpr *e, Buf *out) {
    Printer p = {.te = te, .stmt = s, .out = out, .tight = !s};
    expr(&p, e);
}
