/* Names of a kernel.  Each definition has a text of its own where it can be seen: its word, or the
 * word with a number behind it where that is taken by what can be seen there, or by the language.
 * So kernels that do the same have the same text, whatever their blocks call things.  */
#include "codegen/print/ir_print.h"
#include "codegen/print/source_check.h"
#include <string.h>

enum { BUCKETS = 64 };

/* What can be seen, by its text.  */
typedef struct Seen {
    IrName *name;
    struct Seen *below, **bucket;         /* the one below it in its bucket */
    struct Seen *before;      /* defined before it */
} Seen;

typedef struct {
    const Cg *cg;
    Seen *bucket[BUCKETS], *last;
    const char *wrong;        /* a word that is used where its name cannot be seen */
} Names;

static Seen **bucket_of(Names *x, const char *text) {
    unsigned at = 0;
    for (; *text; text++) at = at * 31 + (unsigned char)*text;
    return &x->bucket[at % BUCKETS];
}

static bool is_taken(Names *x, const char *text) {
    for (const Seen *s = *bucket_of(x, text); s; s = s->below)
        if (strcmp(s->name->text, text) == 0) return true;
    return source_word(x->cg->language, text, strlen(text));
}

static void define(Names *x, IrName *n) {
    const char *text = n->word;
    if (n->open) x->wrong = n->word;
    for (int i = 2; is_taken(x, text); i++)
        text = arena_printf(x->cg->arena, "%s_%d", n->word, i);
    n->text = text;
    n->open = true;
    Seen *own = ARENA_NEW(x->cg->arena, Seen);
    *own = (Seen){n, *bucket_of(x, text), bucket_of(x, text), x->last};
    x->last = *own->bucket = own;
    if (x->cg->defined) words_add(x->cg->defined, text);
}

/* Closes the scope that began behind `last`.  */
static void close(Names *x, Seen *last) {
    for (; x->last != last; x->last = x->last->before) {
        *x->last->bucket = x->last->below;
        x->last->name->open = false;
    }
}

static void use(Names *x, const IrName *n) {
    if (!n->open) x->wrong = n->word;
}

static void value(Names *x, Ir v) {
    if (!v) return;
    if (v->op == IR_NAME) use(x, v->name);
    for (int i = 0; i < v->n; i++) value(x, v->arg[i]);
}

static void statements(Names *x, const IrStmt *first);

static void scope(Names *x, const IrStmt *first) {
    Seen *last = x->last;
    statements(x, first);
    close(x, last);
}

static bool defines(const IrStmt *s) {
    switch (s->kind) {
    case IR_STMT_LET:
    case IR_STMT_CONSTANT:
    case IR_STMT_VARIABLE:
    case IR_STMT_ROOM:
    case IR_STMT_EXCHANGE: return true;
    default: return false;
    }
}

static void loop(Names *x, const IrStmt *s) {
    Seen *last = x->last;
    if (s->value) define(x, s->name);
    else use(x, s->name);
    value(x, s->test);
    value(x, s->by);
    statements(x, s->child);
    close(x, last);
}

static void statement(Names *x, const IrStmt *s) {
    value(x, s->to);
    value(x, s->value);
    value(x, s->lane.by);
    for (int i = 0; i < s->n; i++) value(x, s->arg[i]);
    if (s->kind == IR_STMT_FOR) {
        loop(x, s);
        return;
    }
    if (defines(s)) define(x, s->name);
    else if (s->name) use(x, s->name);
    value(x, s->test);
    if (s->kind == IR_STMT_WAIT) statements(x, s->child);
    else scope(x, s->child);
    scope(x, s->other);
}

static void statements(Names *x, const IrStmt *first) {
    for (const IrStmt *s = first; s; s = s->next) statement(x, s);
}

const char *ir_make_names(const Cg *c, const Ir *parameter, int n, const IrStmt *first) {
    Names x = {.cg = c};
    for (int i = 0; i < n; i++) define(&x, parameter[i]->name);
    scope(&x, first);
    close(&x, NULL);
    return x.wrong;
}
