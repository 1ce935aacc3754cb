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

/* Marks what `text` uses; returns the first name without a row.  */
static const char *mark(const char *text, int cc, bool *used) {
    for (const char *s = strstr(text, "rl_"); s; s = strstr(s, "rl_")) {
        size_t len = 0;
        while (is_name(s[len])) len++;
        bool whole = s == text || !is_name(s[-1]);
        int found = find(s, len, cc);
        if (whole && found < 0) return s;
        if (whole && !used[found]) {
            used[found] = true;
            const char *missing = mark(row(found)->text, cc, used);
            if (missing) return missing;
        }
        s += len;
    }
    return NULL;
}

const char *prelude_print(Arena *a, const char *body, int cc, int *least, Buf *out) {
    bool *used = ARENA_ARRAY(a, bool, rows());
    const char *missing = mark(body, cc, used);
    if (missing) return arena_strndup(a, missing, strcspn(missing, "( <\n"));
    *least = 0;
    for (int i = 0; i < rows(); i++) {
        if (!used[i]) continue;
        if (*least < row(i)->cc) *least = row(i)->cc;
        buf_puts(out, row(i)->text);
        buf_putc(out, '\n');
    }
    return NULL;
}

size_t prelude_match(const char *text, size_t len) {
    for (int i = 0; i < rows() && len > 0; i++) {
        if (row(i)->text[0] != text[0]) continue;
        size_t n = strlen(row(i)->text);
        if (n <= len && memcmp(row(i)->text, text, n) == 0) return n;
    }
    return 0;
}

bool prelude_has(const char *name, size_t len) { return find(name, len, 1 << 30) >= 0; }
