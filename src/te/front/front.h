/* The front end's own types: names, tokens, syntax trees, and the op under construction.
 *
 * Text becomes tokens (lex.c), tokens a syntax tree (parse.c, grammar.c), and each item of the
 * tree is checked in order: sizes (sizes.c), arguments (args.c), statements (stmt.c, expr.c,
 * types.c), then for the op as a whole ranges (range.c) and bounds (bounds.c).  Private to the
 * module.  */
#ifndef ROLLER_TE_FRONT_FRONT_H
#define ROLLER_TE_FRONT_FRONT_H
#include "base/nearest.h"
#include "te/prove/poly.h"
#include "te/te.h"

/* -- names ------------------------------------------------------------------------------------- */
typedef enum { NAME_FREE, NAME_SIZE, NAME_TENSOR, NAME_INDEX } NameKind;

typedef struct Symbol Symbol;
struct Symbol {
    const char *name;
    size_t len;
    Symbol *chain;            /* of the hash bucket */
    bool reserved;
    bool op_name;             /* an op has it */
    int size;                 /* declared for the whole file: that size, else -1 */
    int op;                   /* the op (by number) in which kind and ref hold */
    NameKind kind;
    int ref;
    int bad;                  /* the op (-1: the file) in which its declaration failed */
    bool target;              /* some statement of that op assigns it */
    int stmt;                 /* the statement (by number) in which the rest holds */
    int index;                /* of the statement */
    bool left, free;          /* index: on the left; used outside every reduction that binds it */
    int bound;                /* reductions around the current place that bind it */
    bool was_bound;
};

enum { SYMBOL_BUCKETS = 8192 };
typedef struct {
    Arena *arena;
    Symbol *bucket[SYMBOL_BUCKETS];
} Symbols;

void symbols_init(Symbols *s, Arena *a);                   /* with the reserved words */
Symbol *symbol(Symbols *s, const char *name, size_t len);  /* a new one, if there is none */
Symbol *symbol_find(const Symbols *s, const char *name, size_t len);     /* or NULL */

/* -- tokens ------------------------------------------------------------------------------------ */
/* Marks, longest first.  */
#define TOKEN_MARKS(X)                                                                      \
    X(ARROW, "->") X(DOTS, "..") X(PLUS_ASSIGN, "+=") X(STAR_ASSIGN, "*=") X(EQ, "==")      \
    X(NE, "!=") X(LE, "<=") X(GE, ">=") X(AND, "&&") X(OR, "||") X(SHL, "<<")               \
    X(SHR, ">>") X(BITAND, "&") X(BITOR, "|") X(BITXOR, "^") X(TILDE, "~") X(PLUS, "+")     \
    X(MINUS, "-") X(STAR, "*") X(SLASH, "/") X(PERCENT, "%") X(LT, "<") X(GT, ">")          \
    X(ASSIGN, "=") X(NOT, "!") X(QUESTION, "?") X(COLON, ":") X(SEMICOLON, ";")             \
    X(COMMA, ",") X(LPAREN, "(") X(RPAREN, ")") X(LBRACKET, "[") X(RBRACKET, "]")           \
    X(LBRACE, "{") X(RBRACE, "}") X(AT, "@")

typedef enum {
    TOK_END, TOK_ID, TOK_INT, TOK_REAL,
#define X(id, text) TOK_##id,
    TOKEN_MARKS(X)
#undef X
        TOK_COUNT
} TokenKind;

typedef struct {
    TokenKind kind;
    uint32_t pos, len;
    Symbol *sym;              /* ID */
    int64_t i;                /* INT */
    double r;                 /* REAL */
} Token;

/* -- syntax trees ------------------------------------------------------------------------------ */
typedef struct NameList NameList;
struct NameList {
    Symbol *sym;
    uint32_t pos;
    NameList *next;
};

/* Kinds as in TeExpr, but TE_INDEX is any bare name, and there is no TE_SCALAR.  */
typedef struct Ast Ast;
struct Ast {
    TeKind kind;
    uint8_t red;
    uint16_t depth;
    uint32_t pos;
    TeFn fn;
    TeDtype dtype;            /* CAST */
    Symbol *sym;              /* name, tensor */
    int64_t i;
    double r;
    Ast *args, *next;         /* operands, linked by next */
    Ast *other;               /* READ: the else value */
    NameList *names;          /* REDUCE: the indices bound */
};

typedef struct AstArg AstArg;
struct AstArg {
    Symbol *sym;
    uint32_t pos;
    TeDtype dtype;
    bool shaped, strided;
    Ast *shape, *stride;
    AstArg *next;
};

typedef struct AstRange AstRange;
struct AstRange {
    Symbol *sym;
    uint32_t pos;
    const Ast *lo, *hi;       /* lo NULL: 0 */
    AstRange *next;
};

typedef struct AstAnnot AstAnnot;
struct AstAnnot {
    Symbol *sym;
    uint32_t pos;
    int n_args;
    Token arg;                /* the first */
    AstAnnot *next;
};

/* Of an output that is assigned in parts (parts.c).  */
typedef struct {
    const Symbol *of;         /* the output */
    int along;                /* the dimension in which its parts follow each other */
    Symbol *index;            /* of this part; NULL: it is a single place */
    const Ast *at, *end;      /* where it begins, and the next one, or the output ends */
    bool first, inferred;     /* its index has the range that follows */
} AstPart;

typedef struct AstStmt AstStmt;
struct AstStmt {
    bool let;
    Symbol *sym;              /* tensor, or the size of a let */
    uint32_t pos, asg_pos;
    NameList *left;           /* sym NULL: a place (below) */
    Ast *place;               /* where a part of an output begins, as it is written; or NULL */
    const AstPart *part;      /* NULL: it is none */
    int red;                  /* TeRedop of `op=`, -1 for `=` */
    Ast *rhs;
    AstRange *where;
    AstAnnot *annot;
    AstStmt *next;
};

typedef enum { ITEM_PARAM, ITEM_LET, ITEM_OP } ItemKind;
typedef struct AstItem AstItem;
struct AstItem {
    ItemKind kind;
    Symbol *sym;
    uint32_t pos;
    bool has_value, range;    /* PARAM: a value; LO..HI */
    int64_t lo, hi, multiple;
    Ast *expr;                /* LET */
    AstArg *in, *out;         /* OP */
    int n_args, n_stmt;
    bool bad;                 /* a type in the head is unknown */
    AstStmt *stmt;
    AstItem *next;
};

/* -- the file ---------------------------------------------------------------------------------- */
typedef struct {
    Arena *arena;
    Diag *diag;
    const char *file, *text;
    size_t len;
    Symbols symbols;
    TeDefines define;
    TeSize size[TE_MAX_SIZES];            /* of the file, then of the op at hand */
    const Poly *value[TE_MAX_SIZES];
    int n_size;
    Polys polys;
    Te *te;                   /* the op at hand; of the file: sizes alone */
    int errors;               /* reported before this file */
    int op, stmt;             /* numbers of the op and the statement at hand; unique in the file */
} Front;

/* names.c */
DiagPlace place(const Front *f, uint32_t pos);
/* An error of the expression at `pos`.  Returns false.  */
bool complain(Front *f, const char *tag, uint32_t pos, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void hint(Front *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool too_many_errors(const Front *f);                      /* more than can be kept */

/* The next token from *pos on; END lies where the last token ends.  False after reporting an
 * error.  */
bool lex(Front *f, size_t *pos, Token *out);
const char *token_text(TokenKind k);                       /* of a mark */
/* ast.c: syntax trees that no text has.  Operands are copied, and may stand elsewhere, too.  */
Ast *ast_int(Front *f, int64_t v, uint32_t pos);
Ast *ast_name(Front *f, Symbol *sym, uint32_t pos);
Ast *ast_node(Front *f, TeKind kind, uint32_t pos, const Ast *const *operand, int n);

/* The items of the file in order; NULL after reporting an error.  `only`: the op that is read, of
 * others their names; NULL: all are.  */
AstItem *parse_file(Front *f, const char *only);

/* What expressions need of the parser (grammar.c).  */
typedef struct {
    Front *f;
    Token tok;
    size_t pos;
    bool failed;              /* an error was reported: tok is END for good */
    int depth, nodes;
} Parser;
void advance(Parser *p);
bool accept(Parser *p, TokenKind k);
void expect(Parser *p, TokenKind k);
void expected(Parser *p, const char *what);
/* One of other languages that has an idiom.  */
void refuse_mark(Parser *p, uint32_t pos, const char *mark);
void parse_error(Parser *p, const char *tag, uint32_t pos, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool parse_type_name(Parser *p, TeDtype *out);
bool parse_is_word(const Parser *p, const char *text);
NameList *parse_name(Parser *p, const char *what);
/* NAME {, NAME}; `most` is the limit, `of` what it limits.  */
NameList *parse_names(Parser *p, const char *what, int most, const char *of);
Ast *parse_expr(Parser *p);
Ast *parse_exprs(Parser *p, int most, const char *of);     /* EXPR {, EXPR} */

/* idiom.c: how to say here what other languages call `name`; false, or NULL, if that is not
 * known.  */
const char *idiom_operator(const char *name);
bool hint_idiom(Front *f, const char *name);

/* -- the op at hand ---------------------------------------------------------------------------- */
typedef struct {
    const TeExpr *read;
    const TeExpr *sub;
    int dim;
    int plain;                /* the index that the subscript is, else -1 */
    uint32_t uses;            /* indices in it, a bit each */
    uint32_t excluded;        /* indices that the conditions around it mention */
    bool guarded;
} Subscript;

/* How the range of an index was found.  */
typedef enum { BY_NOTHING, BY_WHERE, BY_OUTPUT, BY_EXTENT, BY_WINDOW, BY_READER } RangeBy;

typedef struct {
    bool bad;                 /* an error was reported: spare the reader what follows from it */
    const AstPart *part;
    uint32_t index_pos[TE_MAX_INDICES];   /* first occurrence */
    uint32_t right_pos[TE_MAX_INDICES];   /* first occurrence right of the assignment, or 0 */
    RangeBy by[TE_MAX_INDICES];
    const char *from[TE_MAX_INDICES];     /* the tensor that gave it */
    Subscript *sub;
    int n_sub;
} StmtInfo;

typedef struct {
    bool bad;
    bool assigned, read;
    bool known[TE_MAX_RANK];              /* shape[d] is */
    /* A temporary whose statement was checked: what its elements can be, in sizes, where they are
     * no NaN; NULL: no more than its range tells.  */
    const Poly *least, *most;
} TensorInfo;

typedef struct {
    Front *f;
    Te *te;
    TensorInfo *tensor;
    Interval *range;          /* of tensors of integers, as te_range takes them */
    StmtInfo *stmt;
    TeStmt *cur;              /* statement being checked */
    StmtInfo *info;
    const Symbol *made;       /* its left side */
    bool accumulates;         /* `op=` */
    bool sums;                /* a sum or prod was met: @accum has a meaning */
    int n_atom;               /* atoms of the sizes: those of a statement come behind */
} Op;

/* sizes.c */
bool size_param(Front *f, const AstItem *item);
bool size_let(Front *f, Symbol *sym, uint32_t pos, const Ast *expr, int stmt);
/* A size expression: its extent and value.  False after reporting an error.  */
bool size_extent(Front *f, const Ast *a, TeExtent *out, const Poly **poly);
bool size_not_negative(Front *f, uint32_t pos, const char *what, TeExtent *e, const Poly *p);
void extent_clamp(TeExtent *e);                            /* known not to be negative */
/* The extent of a value that was computed and not written.  False if it can pass 2^63.  */
bool extent_of(Front *f, const Poly *p, TeExtent *out);

/* op.c */
bool op_check(Front *f, AstItem *item, Te **out);

/* parts.c.  Statements that assign parts of an output become temporaries, with one that joins them.
 * Once sizes are known: do the parts follow each other?  */
bool parts_join(Front *f, AstItem *op);
bool part_check(Op *op, const AstStmt *ast);

/* names.c */
/* "K = 64", "64", "M"  */
const char *extent_text(Front *f, const TeExtent *e);
const char *expr_text(Front *f, const TeStmt *s, const TeExpr *e);
bool size_find(const Front *f, const Symbol *sym, int *ref);
/* Gives `sym` a meaning in the op; reports a clash.  */
bool declare(Front *f, Symbol *sym, uint32_t pos, NameKind kind, int ref);
NameKind name_kind(const Front *f, const Symbol *sym);
const char *kind_text(NameKind k);        /* "a size" */
bool hint_nearest(Op *op, const char *name, bool tensors_only);

bool args_check(Op *op, const AstItem *item);              /* args.c */
bool tensor_measure(Op *op, int t);                        /* strides and bytes of a known shape */
void stmt_check(Op *op, const AstStmt *ast, int i);        /* stmt.c */
/* expr.c: NULL, or -1, after an error.  */
TeExpr *expr_check(Op *op, const Ast *a);
int index_of(Op *op, Symbol *sym, uint32_t pos, bool left);
TeExpr *new_expr(Op *op, TeKind kind, uint32_t pos, int n_args);

/* recurrence.c.  Does the statement read what it makes?  Its right side then, of args term, factor
 * and (or not) what it begins with, v.ref the left index along which it goes, `whole`: down.  It
 * becomes a reduction once ranges are known.  */
bool recurrence_is(const AstStmt *ast);
TeExpr *recurrence_check(Op *op, const AstStmt *ast);
bool recurrence_finish(Op *op, TeStmt *s);

/* types.c.  An expression made of literals alone has no type (TE_DTYPE_COUNT) until it meets one;
 * store says then whether it is real or integer.  */
bool untyped(const TeExpr *e);
bool settle(Op *op, TeExpr *e, TeDtype type);
bool settle_alone(Op *op, TeExpr *e);                      /* where nothing decides */
bool type_node(Op *op, TeExpr *e);                         /* from its operands */

/* stores.c */
bool store_check(Op *op, TeExpr *rhs, uint32_t pos, TeDtype to, const char *name);
void keep_storage(TeExpr *e);                              /* fills `store` throughout */

/* packed.c.  Once all is checked: packed arguments as tensors of pairs.  */
bool packed_expand(Op *op);

bool ranges_check(Op *op);                                 /* range.c */
void subscripts_collect(Op *op, int stmt);                 /* subscripts.c */
/* value.c: polynomials of the statement at hand, which polys_enter chooses; NULL: unknown.  */
void polys_enter(Op *op, int stmt);
const Poly *expr_poly(Op *op, const TeExpr *e);            /* of an integer expression */
const Poly *extent_poly(Op *op, const TeExtent *e);
Interval expr_range(const Op *op, const TeExpr *e);        /* of its values */
void value_bounds(Op *op, const TeExpr *e, const Poly **least, const Poly **most);
/* Of what a read gives, by what was noted of its tensor; NULL: nothing was.  */
void read_bounds(const Op *op, const TeExpr *read, const Poly **least, const Poly **most);
/* real_value.c: bounds in sizes of a real expression that is stored as `to`, where it is no NaN,
 * and of a cast of one to an integer type; NULL: unknown.  */
void real_bounds(Op *op, const TeExpr *e, TeDtype to, const Poly **least, const Poly **most);
void truncated_bounds(Op *op, const TeExpr *cast, const Poly **least, const Poly **most);
/* The first integer in e that becomes a real of a type, *as, that does not hold all its values;
 * NULL: there is none.  */
const TeExpr *real_inexact(const Op *op, const TeExpr *e, TeDtype *as);
bool bounds_check(Op *op, int stmt);                       /* bounds.c */
/* cases.c: the choices that a subscript makes.  The first one of e, NULL: there is none; e where
 * the condition of that one holds or not.  */
const TeExpr *case_find(const TeExpr *e);
TeExpr *case_take(Arena *a, const TeExpr *e, const TeExpr *choice, bool truth);
const TeExpr *case_condition(Arena *a, const TeExpr *choice);
uint32_t indices_in(const TeExpr *e);                      /* a bit each */
#endif
