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

static int find(const char *name, size_t len, int cc) {
    int best = -1;
    for (int i = 0; i < rows(); i++) {
        if (strlen(row(i)->name) == len && memcmp(row(i)->name, name, len) == 0 &&
            row(i)->cc <= cc)
            best = i;
    }
    return best;
}

enum { PRODUCTS = 8 };
/* What a text uses: rows of the table, and products.  */
typedef struct {
    bool *row;
    const char *product[PRODUCTS];
    size_t len[PRODUCTS];
    int n;
} Used;

static bool mark_product(const char *name, size_t len, Used *used) {
    char text[PRELUDE_TEXT];
    for (int i = 0; i < used->n; i++)
        if (used->len[i] == len && memcmp(used->product[i], name, len) == 0) return true;
    if (used->n == PRODUCTS || !prelude_product(name, len, text)) return false;
    used->product[used->n] = name;
    used->len[used->n++] = len;
    return true;
}

/* Marks what `text` uses; returns the first name without a definition.  */
static const char *mark(const char *text, int cc, Used *used) {
    for (const char *s = strstr(text, "rl_"); s; s = strstr(s, "rl_")) {
        size_t len = 0;
        while (is_name(s[len])) len++;
        bool whole = s == text || !is_name(s[-1]);
        int found = find(s, len, cc);
        if (whole && found < 0 && !mark_product(s, len, used)) return s;
        if (whole && found >= 0 && !used->row[found]) {
            used->row[found] = true;
            const char *missing = mark(row(found)->text, cc, used);
            if (missing) return missing;
        }
        s += len;
    }
    return NULL;
}

const char *prelude_print(Arena *a, const char *body, int cc, int *least, Buf *out) {
    Used used = {.row = ARENA_ARRAY(a, bool, rows())};
    const char *missing = mark(body, cc, &used);
    if (missing) return arena_strndup(a, missing, strcspn(missing, "( <\n"));
    *least = 0;
    for (int i = 0; i < rows(); i++) {
        if (!used.row[i]) continue;
        if (*least < row(i)->cc) *least = row(i)->cc;
        buf_puts(out, row(i)->text);
        buf_putc(out, '\n');
    }
    for (int i = 0; i < used.n; i++) {
        char text[PRELUDE_TEXT];
        buf_add(out, text, prelude_product(used.product[i], used.len[i], text));
        buf_putc(out, '\n');
    }
    return NULL;
}

/* A product's definition: its name is that of the function that the text begins with.  */
static size_t match_product(const char *text, size_t len) {
    enum { HEAD = 96 };
    char whole[PRELUDE_TEXT];
    size_t at = 0, end, n = 0, stem = strlen(PRELUDE_PRODUCT);
    while (at + stem < len && at < HEAD && memcmp(text + at, PRELUDE_PRODUCT, stem) != 0) at++;
    for (end = at; end < len && is_name(text[end]);) end++;
    if (at < HEAD) n = prelude_product(text + at, end - at, whole);
    return n > 0 && n <= len && memcmp(text, whole, n) == 0 ? n : 0;
}

size_t prelude_match(const char *text, size_t len) {
    for (int i = 0; i < rows() && len > 0; i++) {
        if (row(i)->text[0] != text[0]) continue;
        size_t n = strlen(row(i)->text);
        if (n <= len && memcmp(row(i)->text, text, n) == 0) return n;
    }
    return match_product(text, len);
}

bool prelude_has(const char *name, size_t len) {
    char text[PRELUDE_TEXT];
    return find(name, len, 1 << 30) >= 0 || prelude_product(name, len, text) > 0;
}
