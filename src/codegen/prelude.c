#include "codegen/prelude.h"
#include <string.h>

static const struct {
    const PreludeRow *row;
    const int *n;
} table[] = {
#define X(name) {prelude_##name, &prelude_##name##_rows},
    PRELUDE_TABLES(X)
#undef X
};
enum { TABLES = sizeof table / sizeof *table };

static bool is_name(char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
           ch == '_';
}

static int rows(void) {
    int n = 0;
    for (int t = 0; t < TABLES; t++) n += *table[t].n;
    return n;
}

static const PreludeRow *row(int i) {
    int t = 0;
    for (; i >= *table[t].n; t++) i -= *table[t].n;
    return &table[t].row[i];
}

static bool is_family(const PreludeRow *r) { return !r->text; }

static bool make(const PreludeRow *family, const char *name, size_t len, PreludeText *out) {
    size_t stem = strlen(family->name);
    out->len = 0;
    out->cc = family->cc;
    if (len <= stem || memcmp(family->name, name, stem) != 0) return false;
    return strcmp(family->name, PRELUDE_MMA) == 0 ? prelude_make_mma(name, len, out)
                                                  : prelude_make_wgmma(name, len, out);
}

/* *out: the text of a name of a family.  */
static int find(const char *name, size_t len, int cc, PreludeText *out) {
    int best = -1;
    for (int i = 0; i < rows(); i++) {
        bool own = strlen(row(i)->name) == len && memcmp(row(i)->name, name, len) == 0;
        if (is_family(row(i)) ? make(row(i), name, len, out) && out->cc <= cc
                              : own && row(i)->cc <= cc)
            best = i;
    }
    return best;
}

enum { MADE = 8 };
/* What a text uses: rows of the table, and names of families.  */
typedef struct {
    bool *row;
    struct {
        int row;
        const char *name;
        size_t len;
    } made[MADE];
    int n;
} Used;

/* Notes a name of a row's family; false if there are too many.  */
static bool note_made(Used *used, int family, const char *name, size_t len) {
    for (int i = 0; i < used->n; i++)
        if (used->made[i].len == len && memcmp(used->made[i].name, name, len) == 0) return true;
    if (used->n == MADE) return false;
    used->made[used->n].row = family;
    used->made[used->n].name = name;
    used->made[used->n++].len = len;
    return true;
}

/* Marks what `text` uses; returns the first name without a definition.  */
static const char *mark(const char *text, int cc, Used *used) {
    PreludeText made;
    for (const char *s = strstr(text, "rl_"); s; s = strstr(s, "rl_")) {
        size_t len = 0;
        while (is_name(s[len])) len++;
        bool whole = s == text || !is_name(s[-1]);
        int found = whole ? find(s, len, cc, &made) : -1;
        if (whole && found < 0) return s;
        if (whole && is_family(row(found))) {
            if (!note_made(used, found, s, len)) return s;
        } else if (whole && !used->row[found]) {
            used->row[found] = true;
            const char *missing = mark(row(found)->text, cc, used);
            if (missing) return missing;
        }
        s += len;
    }
    return NULL;
}

static void print_family(const Used *used, int family, int *least, Buf *out) {
    PreludeText made;
    for (int i = 0; i < used->n; i++) {
        if (used->made[i].row != family) continue;
        make(row(family), used->made[i].name, used->made[i].len, &made);
        if (*least < made.cc) *least = made.cc;
        buf_add(out, made.text, made.len);
        buf_putc(out, '\n');
    }
}

const char *prelude_print(Arena *a, const char *body, int cc, int *least, Buf *out) {
    Used used = {.row = ARENA_ARRAY(a, bool, rows())};
    const char *missing = mark(body, cc, &used);
    if (missing) return arena_strndup(a, missing, strcspn(missing, "( <\n"));
    *least = 0;
    for (int i = 0; i < rows(); i++) {
        if (is_family(row(i))) print_family(&used, i, least, out);
        if (!used.row[i]) continue;
        if (*least < row(i)->cc) *least = row(i)->cc;
        buf_puts(out, row(i)->text);
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

size_t prelude_match(const char *text, size_t len) {
    for (int i = 0; i < rows() && len > 0; i++) {
        const char *own = row(i)->text;
        size_t n = own ? strlen(own) : match_made(row(i), text, len);
        if (n > 0 && n <= len && (!own || memcmp(own, text, n) == 0)) return n;
    }
    return 0;
}

bool prelude_has(const char *name, size_t len) {
    PreludeText made;
    return find(name, len, 1 << 30, &made) >= 0;
}
