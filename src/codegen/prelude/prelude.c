#include "codegen/prelude/prelude.h"
#include <string.h>

static const struct {
    HalLanguage language;
    const PreludeRow *row;
    const int *n;
} table[] = {
#define X(language, name) {LANGUAGE_##language, prelude_##name, &prelude_##name##_rows},
    PRELUDE_TABLES(X)
#undef X
};
enum { TABLES = sizeof table / sizeof *table };

static bool is_name(char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
           ch == '_';
}

static int rows(HalLanguage language) {
    int n = 0;
    for (int t = 0; t < TABLES; t++) n += table[t].language == language ? *table[t].n : 0;
    return n;
}

static const PreludeRow *row(HalLanguage language, int i) {
    int t = 0;
    for (;; t++) {
        int n = table[t].language == language ? *table[t].n : 0;
        if (i < n) return &table[t].row[i];
        i -= n;
    }
}

static bool is_family(const PreludeRow *r) { return !r->text; }

static bool make(const PreludeRow *family, const char *name, size_t len, PreludeText *out) {
    static const struct {
        const char *stem;
        PreludeMake *make;
    } by[] = {
#define X(stem, make) {stem, make},
        PRELUDE_FAMILIES(X)
#undef X
    };
    size_t stem = strlen(family->name), i = 0;
    out->len = 0;
    out->cc = family->cc;
    while (strcmp(by[i].stem, family->name) != 0) i++;
    return len > stem && memcmp(family->name, name, stem) == 0 && by[i].make(name, len, out);
}

/* *out: the text of a name of a family.  */
static int find(HalLanguage language, const char *name, size_t len, int cc, PreludeText *out) {
    int best = -1;
    for (int i = 0; i < rows(language); i++) {
        const PreludeRow *r = row(language, i);
        bool own = strlen(r->name) == len && memcmp(r->name, name, len) == 0;
        if (is_family(r) ? make(r, name, len, out) && out->cc <= cc : own && r->cc <= cc) best = i;
    }
    return best;
}

/* A name of a family that a text uses.  */
typedef struct Made {
    struct Made *next;
    const char *name;
    size_t len;
    int row;
} Made;
/* What a text uses: rows of the table, and names of families as they were met.  */
typedef struct {
    Arena *arena;
    HalLanguage language;
    int cc;
    bool *row;
    Made *made, **last;
} Used;

/* Notes a name of a row's family; false if it is known.  */
static bool note_made(Used *used, int family, const char *name, size_t len) {
    for (const Made *m = used->made; m; m = m->next)
        if (m->len == len && memcmp(m->name, name, len) == 0) return false;
    *used->last = ARENA_NEW(used->arena, Made);
    **used->last = (Made){.row = family, .name = arena_strndup(used->arena, name, len), .len = len};
    used->last = &(*used->last)->next;
    return true;
}

/* Marks what `text` uses; returns the first name without a definition.  */
static const char *mark(const char *text, Used *used) {
    PreludeText made;
    for (const char *s = strstr(text, "rl_"); s; s = strstr(s, "rl_")) {
        size_t len = 0;
        while (is_name(s[len])) len++;
        bool whole = s == text || !is_name(s[-1]);
        int found = whole ? find(used->language, s, len, used->cc, &made) : -1;
        if (whole && found < 0) return s;
        const char *own = whole ? row(used->language, found)->text : NULL, *missing = NULL;
        if (whole && !own && note_made(used, found, s, len)) missing = mark(made.text, used);
        if (own && !used->row[found]) {
            used->row[found] = true;
            missing = mark(own, used);
        }
        if (missing) return missing;
        s += len;
    }
    return NULL;
}

static void print_family(const Used *used, int family, int *least, Buf *out) {
    PreludeText made;
    for (const Made *m = used->made; m; m = m->next) {
        if (m->row != family) continue;
        make(row(used->language, family), m->name, m->len, &made);
        if (*least < made.cc) *least = made.cc;
        buf_add(out, made.text, made.len);
        buf_putc(out, '\n');
    }
}

/* What forms of definitions are chosen by.  */
static int level(const Device *dev) {
    if (dev->language == LANGUAGE_CUDA) return dev->cc_major * 10 + dev->cc_minor;
    for (int i = 0; i < dev->n_unit; i++) {
        if (dev->unit[i].acc == TE_F64) return PRELUDE_F64;
    }
    return 0;
}

const char *prelude_print(Arena *a, const char *body, const Device *dev, int *least, Buf *out) {
    Used used = {.arena = a, .language = dev->language, .cc = level(dev),
                 .row = ARENA_ARRAY(a, bool, rows(dev->language)), .last = &used.made};
    const char *missing = mark(body, &used);
    if (missing) return arena_strndup(a, missing, strcspn(missing, "( <\n"));
    *least = 0;
    for (int i = 0; i < rows(dev->language); i++) {
        const PreludeRow *r = row(dev->language, i);
        if (is_family(r)) print_family(&used, i, least, out);
        if (!used.row[i]) continue;
        if (*least < r->cc) *least = r->cc;
        buf_puts(out, r->text);
        buf_putc(out, '\n');
    }
    return NULL;
}

/* A made definition: its name is that of the function that the text begins with.  */
static size_t match_made(const PreludeRow *r, const char *text, size_t len) {
    enum { HEAD = 160 };
    PreludeText whole;
    size_t at = 0, stem = strlen(r->name);
    while (at + stem < len && at < HEAD && memcmp(text + at, r->name, stem) != 0) at++;
    size_t end = at;
    while (end < len && is_name(text[end])) end++;
    bool made = at < HEAD && make(r, text + at, end - at, &whole);
    return made && whole.len <= len && memcmp(text, whole.text, whole.len) == 0 ? whole.len : 0;
}

size_t prelude_match(HalLanguage language, const char *text, size_t len) {
    for (int i = 0; i < rows(language) && len > 0; i++) {
        const char *own = row(language, i)->text;
        size_t n = own ? strlen(own) : match_made(row(language, i), text, len);
        if (n > 0 && n <= len && (!own || memcmp(own, text, n) == 0)) return n;
    }
    return 0;
}

bool prelude_has(HalLanguage language, const char *name, size_t len) {
    PreludeText made;
    return find(language, name, len, 1 << 30, &made) >= 0;
}
