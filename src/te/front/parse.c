/* The file: params, lets, ops and statements.  */
#include "base/nearest.h"
#include "te/front/front.h"
#include <string.h>

static int64_t integer(Parser *p) {
    int64_t v = p->tok.i;
    if (p->tok.kind == TOK_REAL) {
        parse_error(p, "syntax", p->tok.pos, "a param is a size, an integer");
        hint(p->f, "a real number is written where it is used, or is an argument of the op, "
                   "eps: f32");
    }
    if (p->tok.kind != TOK_INT) expected(p, "an integer");
    advance(p);
    return v;
}

/* bind = ID [ "=" INT [ ".." INT [ "%" INT ] ] ] */
static AstItem *bind(Parser *p) {
    NameList *name = parse_name(p, "a name");
    AstItem *item = ARENA_NEW(p->f->arena, AstItem);
    item->kind = ITEM_PARAM;
    item->sym = name->sym;
    item->pos = name->pos;
    item->multiple = 1;
    if (!accept(p, TOK_ASSIGN)) return item;
    item->has_value = true;
    item->lo = item->hi = integer(p);
    if (!accept(p, TOK_DOTS)) return item;
    item->range = true;
    item->hi = integer(p);
    if (accept(p, TOK_PERCENT)) item->multiple = integer(p);
    return item;
}

static AstItem **params(Parser *p, AstItem **tail) {
    do {
        *tail = bind(p);
        tail = &(*tail)->next;
    } while (accept(p, TOK_COMMA));
    expect(p, TOK_SEMICOLON);
    return tail;
}

/* ID "=" expr ";" */
static Ast *definition(Parser *p, Symbol **sym, uint32_t *pos) {
    NameList *name = parse_name(p, "a name");
    *sym = name->sym;
    *pos = name->pos;
    expect(p, TOK_ASSIGN);
    Ast *a = parse_expr(p);
    expect(p, TOK_SEMICOLON);
    return a;
}

static void dtype(Parser *p, AstArg *arg, bool *bad) {
    if (parse_type_name(p, &arg->dtype)) {
        advance(p);
    } else if (p->tok.kind != TOK_ID) {
        expected(p, "a type");
    } else {
        *bad = true;
        complain(p->f, "type", p->tok.pos, "unknown type '%s'", p->tok.sym->name);
#define X(id, name, bytes, compute, cls) " " name
        hint(p->f, "types are" TE_DTYPES(X));
#undef X
        advance(p);
    }
}

/* arg = ID ":" dtype [ "[" [ expr {"," expr} ] "]" [ "strides" "(" expr {"," expr} ")" ] ] */
static AstArg *arg(Parser *p, bool *bad) {
    NameList *name = parse_name(p, "a name");
    AstArg *a = ARENA_NEW(p->f->arena, AstArg);
    a->sym = name->sym;
    a->pos = name->pos;
    if (p->tok.kind == TOK_ASSIGN) {
        parse_error(p, "syntax", p->tok.pos, "an argument has a type and no value");
        hint(p->f, "a scalar is an argument like others: %s: f32", a->sym->name);
    }
    expect(p, TOK_COLON);
    dtype(p, a, bad);
    if (!accept(p, TOK_LBRACKET)) return a;
    a->shaped = true;
    if (p->tok.kind != TOK_RBRACKET) a->shape = parse_exprs(p, TE_MAX_RANK, "dimensions");
    expect(p, TOK_RBRACKET);
    if (parse_is_word(p, "strides")) {
        advance(p);
        a->strided = true;
        expect(p, TOK_LPAREN);
        a->stride = parse_exprs(p, TE_MAX_RANK, "strides");
        expect(p, TOK_RPAREN);
    }
    return a;
}

static AstArg *args(Parser *p, AstItem *op) {
    AstArg *first = NULL, **tail = &first;
    do {
        if (++op->n_args > TE_MAX_ARGS)
            parse_error(p, "limit", p->tok.pos, "more than %d arguments", TE_MAX_ARGS);
        *tail = arg(p, &op->bad);
        tail = &(*tail)->next;
    } while (accept(p, TOK_COMMA));
    return first;
}

/* A '!' after `+= *= max= min=` means nothing, but must not be taken for "not".  */
static void exclamation(Parser *p, uint32_t end) {
    if (p->tok.kind != TOK_NOT || p->tok.pos != end) return;
    char after = p->f->text[p->tok.pos + 1];
    if (after != ' ' && after != '\t' && after != '\n' && after != '\r') {
        parse_error(p, "syntax", p->tok.pos, "white space must follow this '!'");
        hint(p->f, "write '= !x' with a space before '!' if 'not' is meant");
        return;
    }
    advance(p);
}

/* asg = "=" | ( "+=" | "*=" | ("max"|"min") "=" ) [ "!" ] */
static void assignment(Parser *p, AstStmt *s) {
    s->asg_pos = p->tok.pos;
    s->red = -1;
    if (accept(p, TOK_ASSIGN)) return;
    uint32_t end = p->tok.pos + p->tok.len;
    if (parse_is_word(p, "max") || parse_is_word(p, "min")) {
        s->red = parse_is_word(p, "max") ? TE_RED_MAX : TE_RED_MIN;
        advance(p);
        end = p->tok.pos + p->tok.len;
        expect(p, TOK_ASSIGN);
    } else if (accept(p, TOK_PLUS_ASSIGN)) {
        s->red = TE_RED_SUM;
    } else if (accept(p, TOK_STAR_ASSIGN)) {
        s->red = TE_RED_PROD;
    } else if (p->tok.kind == TOK_MINUS && p->f->text[end] == '=') {
        refuse_mark(p, p->tok.pos, "-=");
    } else if (p->tok.kind == TOK_SLASH && p->f->text[end] == '=') {
        refuse_mark(p, p->tok.pos, "/=");
    } else {
        expected(p, "an assignment");
    }
    exclamation(p, end);
}

/* range = ID "in" expr [ ":" expr ] */
static AstRange *range(Parser *p) {
    NameList *name = parse_name(p, "an index");
    AstRange *r = ARENA_NEW(p->f->arena, AstRange);
    r->sym = name->sym;
    r->pos = name->pos;
    if (!parse_is_word(p, "in")) expected(p, "'in'");
    advance(p);
    r->hi = parse_expr(p);
    if (accept(p, TOK_COLON)) {
        r->lo = r->hi;
        r->hi = parse_expr(p);
    }
    return r;
}

static AstRange *ranges(Parser *p) {
    AstRange *first = NULL, **tail = &first;
    int n = 0;
    do {
        if (++n > TE_MAX_INDICES)
            parse_error(p, "limit", p->tok.pos, "more than %d ranges", TE_MAX_INDICES);
        *tail = range(p);
        tail = &(*tail)->next;
    } while (accept(p, TOK_COMMA));
    return first;
}

/* annot = "@" ID [ "(" ( ID | INT ) {"," ( ID | INT )} ")" ] */
static AstAnnot *annotation(Parser *p) {
    AstAnnot *a = ARENA_NEW(p->f->arena, AstAnnot);
    a->pos = p->tok.pos;
    advance(p);
    a->sym = p->tok.sym;
    if (p->tok.kind != TOK_ID) expected(p, "a name");
    advance(p);
    if (!accept(p, TOK_LPAREN)) return a;
    do {
        if (a->n_args++ == 0) a->arg = p->tok;
        if (p->tok.kind != TOK_ID && p->tok.kind != TOK_INT) expected(p, "a name or an integer");
        advance(p);
    } while (accept(p, TOK_COMMA));
    expect(p, TOK_RPAREN);
    return a;
}

/* left = place {"," place}; place = NAME | expr, which says where a part of an output begins */
static NameList *left_place(Parser *p, AstStmt *s) {
    Parser before = *p;
    NameList *n = ARENA_NEW(p->f->arena, NameList);
    n->pos = p->tok.pos;
    if (p->tok.kind == TOK_ID) {
        n = parse_name(p, "an index");
        if (p->failed || p->tok.kind == TOK_COMMA || p->tok.kind == TOK_RBRACKET) return n;
        if (p->tok.kind == TOK_LBRACKET) {
            parse_error(p, "syntax", p->tok.pos, "what is assigned has plain indices");
            hint(p->f, "no statement scatters: sum what belongs to each element, "
                       "V[j] = sum[i](I[i] == j ? X[i] : 0)");
            return n;
        }
        *p = before;
        n->sym = NULL;
    }
    if (s->place)
        parse_error(p, "syntax", n->pos, "parts of an output follow each other in one dimension");
    s->place = parse_expr(p);
    return n;
}

static NameList *left(Parser *p, AstStmt *s) {
    NameList *first = NULL, **tail = &first;
    int n = 0;
    do {
        if (++n > TE_MAX_RANK)
            parse_error(p, "limit", p->tok.pos, "more than %d dimensions", TE_MAX_RANK);
        *tail = left_place(p, s);
        tail = &(*tail)->next;
    } while (accept(p, TOK_COMMA));
    return first;
}

static AstStmt *stmt(Parser *p) {
    AstStmt *s = ARENA_NEW(p->f->arena, AstStmt);
    if (parse_is_word(p, "let")) {
        advance(p);
        s->let = true;
        s->rhs = definition(p, &s->sym, &s->pos);
        return s;
    }
    NameList *name = parse_name(p, "a statement");
    s->sym = name->sym;
    s->pos = name->pos;
    expect(p, TOK_LBRACKET);
    if (p->tok.kind != TOK_RBRACKET) s->left = left(p, s);
    expect(p, TOK_RBRACKET);
    assignment(p, s);
    s->rhs = parse_expr(p);
    if (parse_is_word(p, "where")) {
        advance(p);
        s->where = ranges(p);
    }
    AstAnnot **tail = &s->annot;
    while (p->tok.kind == TOK_AT) {
        *tail = annotation(p);
        tail = &(*tail)->next;
    }
    expect(p, TOK_SEMICOLON);
    return s;
}

static void body(Parser *p, AstItem *op) {
    AstStmt **tail = &op->stmt;
    int n = 0;
    expect(p, TOK_LBRACE);
    do {
        uint32_t pos = p->tok.pos;
        *tail = stmt(p);
        op->n_stmt += !(*tail)->let;
        if (op->n_stmt > TE_MAX_STMTS || ++n > TE_MAX_STMTS + TE_MAX_SIZES)
            parse_error(p, "limit", pos, "more than %d statements", TE_MAX_STMTS);
        tail = &(*tail)->next;
    } while (!p->failed && p->tok.kind != TOK_RBRACE);
    expect(p, TOK_RBRACE);
}

/* Whatever an op says that nobody asked for, up to the brace that ends its body.  */
static void skip_op(Parser *p) {
    while (!p->failed && p->tok.kind != TOK_END && p->tok.kind != TOK_RBRACE) advance(p);
    expect(p, TOK_RBRACE);
}

/* op = "op" ID "(" [ args ] ")" "->" ( arg | "(" args ")" ) "{" stmt {stmt} "}" */
static AstItem *op(Parser *p, const char *only) {
    NameList *name = parse_name(p, "a name");
    AstItem *item = ARENA_NEW(p->f->arena, AstItem);
    item->kind = ITEM_OP;
    item->sym = name->sym;
    item->pos = name->pos;
    p->nodes = 0;
    if (only && strcmp(item->sym->name, only) != 0) {
        skip_op(p);
        return item;
    }
    expect(p, TOK_LPAREN);
    if (p->tok.kind != TOK_RPAREN) item->in = args(p, item);
    expect(p, TOK_RPAREN);
    expect(p, TOK_ARROW);
    if (accept(p, TOK_LPAREN)) {
        item->out = args(p, item);
        expect(p, TOK_RPAREN);
    } else {
        if (++item->n_args > TE_MAX_ARGS)
            parse_error(p, "limit", p->tok.pos, "more than %d arguments", TE_MAX_ARGS);
        item->out = arg(p, &item->bad);
    }
    body(p, item);
    return item;
}

static AstItem *let(Parser *p) {
    AstItem *item = ARENA_NEW(p->f->arena, AstItem);
    item->kind = ITEM_LET;
    p->nodes = 0;
    item->expr = definition(p, &item->sym, &item->pos);
    return item;
}

static void expected_item(Parser *p) {
    Nearest near = {.name = p->tok.kind == TOK_ID ? p->tok.sym->name : ""};
    nearest_offer(&near, "param");
    nearest_offer(&near, "let");
    nearest_offer(&near, "op");
    expected(p, "'param', 'let' or 'op'");
    if (near.best)
        hint(p->f, "did you mean '%s'?", near.best);
    else
        hint(p->f, "statements stand in an op: op NAME(ARGUMENTS) -> RESULTS { ... }");
}

AstItem *parse_file(Front *f, const char *only) {
    Parser parser = {.f = f}, *p = &parser;
    AstItem *first = NULL, **tail = &first;
    int n_op = 0;
    advance(p);
    while (!p->failed && p->tok.kind != TOK_END) {
        uint32_t pos = p->tok.pos;
        if (parse_is_word(p, "param")) {
            advance(p);
            tail = params(p, tail);
        } else if (parse_is_word(p, "let")) {
            advance(p);
            *tail = let(p);
            tail = &(*tail)->next;
        } else if (parse_is_word(p, "op")) {
            if (++n_op > TE_MAX_OPS)
                parse_error(p, "limit", pos, "more than %d ops", TE_MAX_OPS);
            advance(p);
            *tail = op(p, only);
            tail = &(*tail)->next;
        } else {
            expected_item(p);
        }
    }
    if (!p->failed && !n_op) parse_error(p, "syntax", p->tok.pos, "the file has no op");
    return p->failed ? NULL : first;
}
