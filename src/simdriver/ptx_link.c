/* A PTX module is a list of items: directives of a line, variables up to a semicolon, functions up
 * to a semicolon (a declaration) or to the brace that closes the body.  The output has the
 * variables, then declarations of all functions, then their bodies, so that everything is declared
 * before it is used (PTX ISA, "Linking Directives").  */
#include "simdriver/ptx_link.h"

#include "base/buf.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef enum { OTHER, VARIABLE, FUNCTION } ItemKind;
typedef enum { LOCAL, EXTERN, WEAK, VISIBLE } Linkage;
typedef struct {
    ItemKind kind;
    Linkage linkage;
    bool defines;
    const char *begin, *end;
    const char *head;         /* the end of what a declaration repeats */
    const char *name;         /* NULL: none */
    const char *renamed;      /* NULL: it keeps its name */
    int module;
    bool dropped;             /* another one stands for it */
} Item;

typedef struct {
    Arena *arena;
    Diag *diag;
    const PtxInput *in;
    Item *item;
    size_t n, cap;
    int version, sm;          /* the newest of all */
    const char *target;
} Linker;

/* ---- scanning ---- */

static const char *skip_blank(const char *s) {
    for (;;) {
        s += strspn(s, " \t\r\n");
        if (s[0] == '/' && s[1] == '/') {
            s += strcspn(s, "\n");
        } else if (s[0] == '/' && s[1] == '*') {
            const char *end = strstr(s + 2, "*/");
            s = end ? end + 2 : s + strlen(s);
        } else {
            return s;
        }
    }
}

static bool in_name(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static size_t name_length(const char *s) {
    size_t n = 0;
    while (in_name(s[n])) n++;
    return n;
}

/* One step over the text: a comment, a string or a character.  */
static const char *step(const char *s) {
    const char *next = skip_blank(s);
    if (next > s) return next;
    if (*s != '"') return s + 1;
    for (s++; *s && *s != '"'; s++) {
        if (*s == '\\' && s[1]) s++;
    }
    return *s ? s + 1 : s;
}

/* Behind the bracket that closes the one at s; the end of the text if there is none.  */
static const char *skip_bracket(const char *s) {
    int depth = 0;
    while (*s) {
        if (strchr("({[", *s)) depth++;
        if (strchr(")}]", *s) && --depth == 0) return s + 1;
        s = step(s);
    }
    return s;
}

static bool is_word(const char *s, const char *word) {
    size_t n = strlen(word);
    return !strncmp(s, word, n) && !in_name(s[n]);
}

/* The words before the name: linkage, kind, types, alignment, what is returned.  */
static const char *scan_head(const char *s, Item *out) {
    for (s = skip_blank(s); *s; s = skip_blank(s)) {
        if (is_word(s, ".extern")) out->linkage = EXTERN;
        else if (is_word(s, ".visible")) out->linkage = VISIBLE;
        else if (is_word(s, ".weak") || is_word(s, ".common")) out->linkage = WEAK;
        else if (is_word(s, ".func") || is_word(s, ".entry")) out->kind = FUNCTION;
        else if (is_word(s, ".global") || is_word(s, ".const") || is_word(s, ".shared") ||
                 is_word(s, ".tex")) out->kind = VARIABLE;
        if (*s == '.') s += 1 + name_length(s + 1);
        else if (*s == '(') s = skip_bracket(s);
        else if (isdigit((unsigned char)*s)) s += name_length(s);
        else return s;
    }
    return s;
}

/* The end of an item that has a name: behind its semicolon or its body.  */
static const char *scan_rest(const char *s, Item *out) {
    out->defines = out->kind == VARIABLE && out->linkage != EXTERN;
    while (*s && *s != ';') {
        if (*s == '{' && out->kind == FUNCTION) {
            out->defines = true;
            out->head = s;
            return skip_bracket(s);
        }
        s = strchr("({[", *s) ? skip_bracket(s) : step(s);
    }
    out->head = s;
    return *s ? s + 1 : s;
}

static bool is_line(const char *s) {
    static const char *const word[] = {".version", ".target", ".address_size", ".file", ".loc"};
    for (size_t k = 0; k < sizeof word / sizeof *word; k++) {
        if (is_word(s, word[k])) return true;
    }
    return false;
}

/* "sm_90a" is 90.  */
static void note_header(Linker *l, const char *s) {
    if (is_word(s, ".version")) {
        char *dot;
        long major = strtol(s + strlen(".version"), &dot, 10);
        long minor = *dot == '.' ? strtol(dot + 1, NULL, 10) : 0;
        if (major * 10 + minor > l->version) l->version = (int)(major * 10 + minor);
    }
    const char *sm = is_word(s, ".target") ? strstr(s, "sm_") : NULL;
    if (!sm || sm > s + strcspn(s, "\n")) return;
    int number = (int)strtol(sm + 3, NULL, 10);
    if (number < l->sm) return;
    l->sm = number;
    l->target = arena_strndup(l->arena, sm, name_length(sm));
}

static bool scan(Linker *l, int module) {
    const char *s = skip_blank(l->in[module].text);
    if (!is_word(s, ".version")) return false;
    for (; *s; s = skip_blank(s)) {
        Item x = {.begin = s, .module = module};
        if (is_line(s)) {
            note_header(l, s);
            s += strcspn(s, "\n");
            continue;
        }
        const char *name = scan_head(s, &x);
        if (x.kind != OTHER) {
            size_t len = name_length(name);
            x.name = arena_strndup(l->arena, name, len);
            s = scan_rest(name + len, &x);
        } else {
            /* Debug sections and the like say nothing of several modules.  */
            s = name + strcspn(name, ";{");
            s = *s == '{' ? skip_bracket(s) : *s ? s + 1 : s;
            continue;
        }
        x.end = s;
        l->item = arena_grow(l->arena, l->item, &l->cap, l->n + 1, sizeof *l->item);
        l->item[l->n++] = x;
    }
    return true;
}

/* ---- names ---- */

static bool same_name(const Item *a, const Item *b) { return !strcmp(a->name, b->name); }

/* Which of two items of one name stands for both; false if neither may.  */
static bool settle(Item *a, Item *b) {
    if (a->defines && b->defines) {
        if (a->linkage == VISIBLE && b->linkage == VISIBLE) return false;
        if (b->linkage == VISIBLE) a->dropped = true;
        else b->dropped = true;
    } else if (b->defines) {
        a->dropped = true;
    } else {
        b->dropped = true;
    }
    return true;
}

/* A text may declare what is its own; then it is all one name, of that module.  */
static bool owns(const Linker *l, const Item *x) {
    if (x->linkage != LOCAL) return false;
    for (size_t k = 0; k < l->n; k++) {
        const Item *y = &l->item[k];
        if (y->module == x->module && y->linkage != LOCAL && same_name(x, y)) return false;
    }
    return true;
}

static Status resolve(Linker *l) {
    for (size_t k = 0; k < l->n; k++) {
        Item *x = &l->item[k];
        bool own = owns(l, x);
        for (size_t m = 0; m < k; m++) {
            Item *y = &l->item[m];
            if (!same_name(x, y)) continue;
            if (own && x->module != y->module) {
                x->renamed = arena_printf(l->arena, "%s$%d", x->name, x->module);
            } else if (!own && !x->dropped && !y->dropped && !settle(y, x)) {
                return diag_error(l->diag, ST_SIMULATOR, "link", DIAG_NOWHERE,
                                  "%s is defined in %s and in %s", x->name,
                                  l->in[y->module].name, l->in[x->module].name);
            }
        }
    }
    return ST_OK;
}

/* ---- output ---- */

static const char *new_name(const Linker *l, int module, const char *s, size_t len) {
    for (size_t k = 0; k < l->n; k++) {
        const Item *x = &l->item[k];
        if (x->module == module && x->renamed && strlen(x->name) == len &&
            !memcmp(x->name, s, len)) {
            return x->renamed;
        }
    }
    return NULL;
}

/* The text of a module from s to end, its own names replaced.  */
static void put_text(const Linker *l, int module, const char *s, const char *end, Buf *out) {
    while (s < end) {
        const char *next = step(s);
        if (in_name(*s) && !isdigit((unsigned char)*s)) {
            size_t len = name_length(s);
            const char *name = new_name(l, module, s, len);
            next = s + len;
            if (name) {
                buf_puts(out, name);
                s = next;
                continue;
            }
        } else if (*s == '.' || isdigit((unsigned char)*s)) {
            next = s + 1 + name_length(s + 1);
        }
        buf_add(out, s, (size_t)(next - s));
        s = next;
    }
}

/* Declares a function that is defined somewhere by the head of its definition.  */
static void put_declaration(const Linker *l, const Item *x, Buf *out) {
    put_text(l, x->module, x->begin, x->head, out);
    buf_puts(out, ";\n");
}

static void put_all(const Linker *l, Buf *out) {
    buf_printf(out, ".version %d.%d\n.target %s\n.address_size 64\n", l->version / 10,
               l->version % 10, l->target);
    for (size_t k = 0; k < l->n; k++) {
        const Item *x = &l->item[k];
        if (x->kind != VARIABLE || x->dropped) continue;
        put_text(l, x->module, x->begin, x->end, out);
        buf_putc(out, '\n');
    }
    for (size_t k = 0; k < l->n; k++) {
        const Item *x = &l->item[k];
        bool entry = strstr(x->begin, ".entry") && strstr(x->begin, ".entry") < x->head;
        if (x->kind == FUNCTION && !x->dropped && !entry) put_declaration(l, x, out);
    }
    for (size_t k = 0; k < l->n; k++) {
        const Item *x = &l->item[k];
        if (x->kind != FUNCTION || x->dropped || !x->defines) continue;
        put_text(l, x->module, x->begin, x->end, out);
        buf_putc(out, '\n');
    }
}

Status ptx_link(Arena *a, Diag *d, const PtxInput *in, int n, const char **out) {
    Linker l = {.arena = a, .diag = d, .in = in};
    *out = n == 1 ? in[0].text : NULL;
    if (n == 1) return ST_OK;
    for (int k = 0; k < n; k++) {
        if (!scan(&l, k) || !l.target) {
            return diag_error(d, ST_SIMULATOR, "link", DIAG_NOWHERE, "%s is not PTX", in[k].name);
        }
    }
    if (!n) return diag_error(d, ST_SIMULATOR, "link", DIAG_NOWHERE, "nothing to link");
    Status s = resolve(&l);
    if (s != ST_OK) return s;
    Buf text = buf_new(a);
    put_all(&l, &text);
    *out = buf_str(&text);
    return ST_OK;
}
