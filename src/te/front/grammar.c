/* Expressions: one function per rule of the grammar.  */
#include "te/front/front.h"
#include <math.h>
#include <string.h>

/* After the first error the token is END for good, so every loop ends and nothing more is said.  */
static void stop(Parser *p) {
    p->failed = true;
    p->tok = (Token){.kind = TOK_END, .pos = p->tok.pos};
}

void parse_error(Parser *p, const char *tag, uint32_t pos, const char *fmt, ...) {
    if (p->failed) return;
    va_list ap;
    va_start(ap, fmt);
    complain(p->f, tag, pos, "%s", arena_vprintf(p->f->arena, fmt, ap));
    va_end(ap);
    stop(p);
}

void advance(Parser *p) {
    if (!p->failed && !lex(p->f, &p->pos, &p->tok)) stop(p);
}

bool accept(Parser *p, TokenKind k) {
    if (p->tok.kind != k) return false;
    advance(p);
    return true;
}

void expected(Parser *p, const char *what) {
    const Token *t = &p->tok;
    if (t->kind == TOK_END)
        parse_error(p, "syntax", t->pos, "expected %s before the end of the file", what);
    else {
        bool comment = t->kind == TOK_SLASH && p->f->text[t->pos + 1] == '/';
        const char *form = comment ? "comments behind #"
                           : t->kind == TOK_ID ? idiom_operator(t->sym->name) : NULL;
        bool first = !p->failed;
        parse_error(p, "syntax", t->pos, "expected %s before '%.*s'", what, (int)t->len,
                    p->f->text + t->pos);
        if (first && form) hint(p->f, "write %s", form);
    }
}

void refuse_mark(Parser *p, uint32_t pos, const char *mark) {
    bool first = !p->failed;
    parse_error(p, "syntax", pos, "'%s' has no meaning here", mark);
    if (first) hint(p->f, "write %s", idiom_operator(mark));
}

void expect(Parser *p, TokenKind k) {
    if (!accept(p, k)) expected(p, arena_printf(p->f->arena, "'%s'", token_text(k)));
}

bool parse_is_word(const Parser *p, const char *text) {
    return p->tok.kind == TOK_ID && strcmp(p->tok.sym->name, text) == 0;
}

NameList *parse_name(Parser *p, const char *what) {
    NameList *n = ARENA_NEW(p->f->arena, NameList);
    n->sym = p->tok.sym;
    n->pos = p->tok.pos;
    if (p->tok.kind != TOK_ID)
        expected(p, what);
    else if (n->sym->reserved)
        parse_error(p, "name", n->pos, "'%s' is reserved", n->sym->name);
    advance(p);
    return n;
}

NameList *parse_names(Parser *p, const char *what, int most, const char *of) {
    NameList *first = NULL, **tail = &first;
    int n = 0;
    do {
        if (++n > most)
            parse_error(p, "limit", p->tok.pos, "more than %d %s", most, of);
        *tail = parse_name(p, what);
        tail = &(*tail)->next;
    } while (accept(p, TOK_COMMA));
    return first;
}

bool parse_type_name(Parser *p, TeDtype *out) {
    const Symbol *s = p->tok.sym;
    return p->tok.kind == TOK_ID && te_dtype_parse(s->name, s->len, out);
}

static Ast *node(Parser *p, TeKind kind, uint32_t pos) {
    Ast *a = ARENA_NEW(p->f->arena, Ast);
    a->kind = kind;
    a->pos = pos;
    a->depth = 1;
    if (++p->nodes > TE_MAX_NODES)
        parse_error(p, "limit", pos, "more than %d expression nodes", TE_MAX_NODES);
    return a;
}

/* Makes `arg`, and what is linked behind it, operands of a.  */
static void adopt(Parser *p, Ast *a, const Ast *arg) {
    for (; arg; arg = arg->next) {
        if (arg->depth >= a->depth) a->depth = (uint16_t)(arg->depth + 1);
    }
    if (a->depth > TE_MAX_TREE)
        parse_error(p, "limit", a->pos, "more than %d operators deep", TE_MAX_TREE);
}

static Ast *node1(Parser *p, TeKind kind, uint32_t pos, Ast *x) {
    Ast *a = node(p, kind, pos);
    a->args = x;
    adopt(p, a, x);
    return a;
}

static Ast *node2(Parser *p, TeKind kind, uint32_t pos, Ast *x, Ast *y) {
    x->next = y;
    return node1(p, kind, pos, x);
}

/* Everything that nests passes here, so the stack is bounded; a whole expression is level 0.  */
static bool enter(Parser *p) {
    if (++p->depth > TE_MAX_DEPTH + 1)
        parse_error(p, "limit", p->tok.pos, "nested deeper than %d", TE_MAX_DEPTH);
    return !p->failed;
}

static Ast *unary(Parser *p);

static Ast *number(Parser *p) {
    Ast *a = node(p, p->tok.kind == TOK_INT ? TE_INT : TE_REAL, p->tok.pos);
    a->i = p->tok.i;
    a->r = p->tok.r;
    advance(p);
    return a;
}

/* redop "[" [ ID {"," ID} ] "]" "(" expr ")", after redop */
static Ast *reduction(Parser *p, TeRedop red, uint32_t pos) {
    Ast *a = node(p, TE_REDUCE, pos);
    a->red = (uint8_t)red;
    advance(p);
    if (p->tok.kind != TOK_RBRACKET)
        a->names = parse_names(p, "an index", TE_MAX_INDICES, "indices");
    expect(p, TOK_RBRACKET);
    expect(p, TOK_LPAREN);
    a->args = parse_expr(p);
    adopt(p, a, a->args);
    expect(p, TOK_RPAREN);
    return a;
}

/* NAME[index](...), where NAME is no reduction.  */
static void unknown_reduction(Parser *p, const Symbol *sym, uint32_t pos) {
    if (p->failed) return;
    parse_error(p, "name", pos, "unknown reduction '%s'", sym->name);
    if (!hint_idiom(p->f, sym->name))
        hint(p->f, "reductions are sum prod max min any all argmax argmin");
}

/* "[" [ expr {"," expr} ] "]" [ "else" unary ], after the name */
static Ast *read(Parser *p, Symbol *sym, uint32_t pos) {
    Ast *a = node(p, TE_READ, pos);
    a->sym = sym;
    advance(p);
    if (p->tok.kind != TOK_RBRACKET) a->args = parse_exprs(p, TE_MAX_RANK, "subscripts");
    expect(p, TOK_RBRACKET);
    if (p->tok.kind == TOK_LPAREN) unknown_reduction(p, sym, pos);
    adopt(p, a, a->args);
    if (parse_is_word(p, "else")) {
        advance(p);
        if (enter(p)) {
            a->other = unary(p);
            adopt(p, a, a->other);
        }
        p->depth--;
    }
    return a;
}

static bool find_redop(const Symbol *s, TeRedop *out) {
    static const char *const names[] = {
#define X(id, name) name,
        TE_REDOPS(X)
#undef X
    };
    for (int i = 0; i < TE_RED_COUNT; i++) {
        if (strcmp(names[i], s->name) == 0) {
            *out = (TeRedop)i;
            return true;
        }
    }
    return false;
}

static const struct {
    const char *name;
    int n_args;
} intrinsics[] = {
#define X(id, name, n, ulp) {name, n},
    TE_INTRINSICS(X)
#undef X
};

static bool find_intrinsic(const Symbol *s, TeFn *out) {
    for (int i = 0; i < TE_FN_COUNT; i++) {
        if (strcmp(intrinsics[i].name, s->name) == 0) {
            *out = (TeFn)i;
            return true;
        }
    }
    return false;
}

static void unknown_function(Parser *p, const Symbol *sym, uint32_t pos) {
    if (p->failed) return;
    Nearest near = {.name = sym->name};
    for (int i = 0; i < TE_FN_COUNT; i++) nearest_offer(&near, intrinsics[i].name);
    TeRedop red;
    if (find_redop(sym, &red)) {
        parse_error(p, "name", pos, "'%s' is a reduction and names its indices", sym->name);
        hint(p->f, "write %s[i](X[i])", sym->name);
        return;
    }
    parse_error(p, "name", pos, "unknown function '%s'", sym->name);
    if (!hint_idiom(p->f, sym->name) && near.best) hint(p->f, "did you mean '%s'?", near.best);
}

/* "(" expr {"," expr} ")", after the name: an intrinsic, or a cast */
static Ast *call(Parser *p, const Symbol *sym, uint32_t pos) {
    Ast *a = node(p, TE_CALL, pos);
    int n = 0, want = 1;
    if (te_dtype_parse(sym->name, sym->len, &a->dtype))
        a->kind = TE_CAST;
    else if (find_intrinsic(sym, &a->fn))
        want = intrinsics[a->fn].n_args;
    else
        unknown_function(p, sym, pos);
    advance(p);
    a->args = parse_exprs(p, TE_MAX_ARGS, "operands");
    adopt(p, a, a->args);
    expect(p, TOK_RPAREN);
    for (const Ast *x = a->args; x; x = x->next) n++;
    if (want < 0 ? n < 2 : n != want)
        parse_error(p, "type", pos, "'%s' takes %s, %d given", sym->name,
                    want < 0 ? "two or more operands" : want == 1 ? "one operand" : "two operands",
                    n);
    return a;
}

static Ast *named(Parser *p) {
    Symbol *sym = p->tok.sym;
    uint32_t pos = p->tok.pos;
    TeRedop red;
    advance(p);
    if (p->tok.kind == TOK_LPAREN) return call(p, sym, pos);
    if (p->tok.kind == TOK_LBRACKET) {
        if (find_redop(sym, &red)) return reduction(p, red, pos);
        if (!sym->reserved) return read(p, sym, pos);
    }
    bool truth = strcmp(sym->name, "true") == 0;
    if (truth || strcmp(sym->name, "false") == 0) {
        Ast *a = node(p, TE_BOOLEAN, pos);
        a->i = truth;
        return a;
    }
    if (strcmp(sym->name, "inf") == 0) {
        Ast *a = node(p, TE_REAL, pos);
        a->r = INFINITY;
        return a;
    }
    if (sym->reserved) parse_error(p, "name", pos, "'%s' is reserved", sym->name);
    Ast *a = node(p, TE_INDEX, pos);
    a->sym = sym;
    return a;
}

static Ast *prim(Parser *p) {
    Ast *a;
    switch (p->tok.kind) {
    case TOK_INT:
    case TOK_REAL:
        return number(p);
    case TOK_ID:
        return named(p);
    case TOK_LPAREN:
        advance(p);
        a = parse_expr(p);
        expect(p, TOK_RPAREN);
        return a;
    default:
        expected(p, "an expression");
        return node(p, TE_INT, p->tok.pos);
    }
}

/* ~x is x ^ -1.  */
static Ast *complement(Parser *p, uint32_t pos, Ast *x) {
    Ast *one = node(p, TE_INT, pos);
    one->i = 1;
    return node2(p, TE_BITXOR, pos, x, node1(p, TE_NEG, pos, one));
}

static Ast *unary(Parser *p) {
    uint32_t pos = p->tok.pos;
    TokenKind mark = p->tok.kind;
    if (mark != TOK_NOT && mark != TOK_MINUS && mark != TOK_TILDE) return prim(p);
    advance(p);
    Ast *x = enter(p) ? unary(p) : node(p, TE_INT, pos);
    p->depth--;
    if (mark == TOK_TILDE) return complement(p, pos, x);
    return node1(p, mark == TOK_NOT ? TE_NOT : TE_NEG, pos, x);
}

/* Operators of two operands, those of a level as tightly; comparisons do not chain.  */
enum { COMPARISONS = 2, FACTORS = 8 };
static const struct {
    TokenKind mark;
    TeKind kind;
    int level;
} operators[] = {
    {TOK_OR, TE_OR, 0},         {TOK_AND, TE_AND, 1},       {TOK_EQ, TE_EQ, 2},
    {TOK_NE, TE_NE, 2},         {TOK_LT, TE_LT, 2},         {TOK_LE, TE_LE, 2},
    {TOK_GT, TE_GT, 2},         {TOK_GE, TE_GE, 2},         {TOK_BITOR, TE_BITOR, 3},
    {TOK_BITXOR, TE_BITXOR, 4}, {TOK_BITAND, TE_BITAND, 5}, {TOK_SHL, TE_SHL, 6},
    {TOK_SHR, TE_SHR, 6},       {TOK_PLUS, TE_ADD, 7},      {TOK_MINUS, TE_SUB, 7},
    {TOK_STAR, TE_MUL, 8},      {TOK_SLASH, TE_DIV, 8},     {TOK_PERCENT, TE_MOD, 8},
};

static bool operator_at(const Parser *p, int level, TeKind *kind) {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (operators[i].mark != p->tok.kind || operators[i].level != level) continue;
        *kind = operators[i].kind;
        return true;
    }
    return false;
}

/* Two marks side by side are the power, or the quotient of integers, of other languages.  */
static void refuse_two(Parser *p, TokenKind mark, uint32_t pos) {
    if (p->tok.kind != mark || p->tok.pos != pos + 1) return;
    if (mark == TOK_STAR) refuse_mark(p, pos, "**");
    if (mark == TOK_SLASH) refuse_mark(p, pos, "//");
}

static Ast *cmp(Parser *p);

static Ast *binary(Parser *p, int level) {
    if (level == COMPARISONS) return cmp(p);
    if (level > FACTORS) return unary(p);
    Ast *a = binary(p, level + 1);
    for (TeKind kind; operator_at(p, level, &kind);) {
        uint32_t pos = p->tok.pos;
        TokenKind mark = p->tok.kind;
        advance(p);
        refuse_two(p, mark, pos);
        a = node2(p, kind, pos, a, binary(p, level + 1));
    }
    return a;
}

static Ast *cmp(Parser *p) {
    Ast *a = binary(p, COMPARISONS + 1);
    TeKind kind, again;
    uint32_t pos = p->tok.pos;
    if (!operator_at(p, COMPARISONS, &kind)) return a;
    advance(p);
    a = node2(p, kind, pos, a, binary(p, COMPARISONS + 1));
    if (operator_at(p, COMPARISONS, &again)) {
        parse_error(p, "syntax", p->tok.pos, "comparisons do not chain");
        hint(p->f, "join two with &&");
    }
    return a;
}

Ast *parse_expr(Parser *p) {
    Ast *a;
    if (!enter(p)) {
        a = node(p, TE_INT, p->tok.pos);
    } else {
        a = binary(p, 0);
        uint32_t pos = p->tok.pos;
        if (accept(p, TOK_QUESTION)) {
            Ast *then = parse_expr(p);
            expect(p, TOK_COLON);
            then->next = parse_expr(p);
            a = node2(p, TE_SELECT, pos, a, then);
        }
    }
    p->depth--;
    return a;
}

Ast *parse_exprs(Parser *p, int most, const char *of) {
    Ast *first = NULL, **tail = &first;
    int n = 0;
    do {
        if (++n > most) parse_error(p, "limit", p->tok.pos, "more than %d %s", most, of);
        *tail = parse_expr(p);
        tail = &(*tail)->next;
    } while (accept(p, TOK_COMMA));
    return first;
}
