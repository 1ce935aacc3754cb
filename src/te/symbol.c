#include "base/hash.h"
#include "te/front.h"
#include <string.h>

static const char *const reserved[] = {
    "param", "let", "op", "where", "in", "else", "strides", "inf", "true", "false", "nan",
    "tf32", "i4", "u4", "f4",
#define X(id, name) name,
    TE_REDOPS(X)
#undef X
#define X(id, name, n, ulp) name,
    TE_INTRINSICS(X)
#undef X
};

Symbol *symbol(Symbols *s, const char *name, size_t len) {
    Symbol **bucket = &s->bucket[hash64(name, len, 0) % SYMBOL_BUCKETS];
    for (Symbol *y = *bucket; y; y = y->chain) {
        if (y->len == len && memcmp(y->name, name, len) == 0) return y;
    }
    Symbol *y = ARENA_NEW(s->arena, Symbol);
    TeDtype type;
    y->name = arena_strndup(s->arena, name, len);
    y->len = len;
    y->chain = *bucket;
    y->size = -1;
    y->op = y->stmt = -1;
    y->bad = -2;
    y->reserved = te_dtype_parse(name, len, &type);
    *bucket = y;
    return y;
}

void symbols_init(Symbols *s, Arena *a) {
    s->arena = a;
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        symbol(s, reserved[i], strlen(reserved[i]))->reserved = true;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* Insertions, deletions, substitutions and swaps of neighbours; a change of case costs nothing.  */
static int distance(const char *a, const char *b) {
    int rows[3][TE_MAX_NAME + 1];
    int n = (int)strlen(b), i;
    for (int j = 0; j <= n; j++) rows[0][j] = j;
    for (i = 0; a[i]; i++) {
        int *row = rows[(i + 1) % 3], *above = rows[i % 3], *before = rows[(i + 2) % 3];
        row[0] = i + 1;
        for (int j = 0; j < n; j++) {
            bool same = lower(a[i]) == lower(b[j]);
            int least = above[j] + !same;
            if (row[j] + 1 < least) least = row[j] + 1;
            if (above[j + 1] + 1 < least) least = above[j + 1] + 1;
            bool swapped =
                i && j && lower(a[i]) == lower(b[j - 1]) && lower(a[i - 1]) == lower(b[j]);
            if (swapped && before[j - 1] + 1 < least) least = before[j - 1] + 1;
            row[j + 1] = least;
        }
    }
    return rows[i % 3][n];
}

void nearest_offer(Nearest *n, const char *candidate) {
    size_t len = strlen(n->name), most = len < 3 ? 0 : len / 3;
    if (strcmp(n->name, candidate) == 0 || strlen(candidate) > TE_MAX_NAME) return;
    int d = distance(n->name, candidate);
    if ((size_t)d > most || (n->best && d >= n->distance)) return;
    n->best = candidate;
    n->distance = d;
}
