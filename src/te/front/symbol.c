#include "base/hash.h"
#include "te/front/front.h"
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

static size_t bucket_of(const char *name, size_t len) {
    return hash64(name, len, 0) % SYMBOL_BUCKETS;
}

Symbol *symbol_find(const Symbols *s, const char *name, size_t len) {
    Symbol *y = s->bucket[bucket_of(name, len)];
    while (y && !(y->len == len && memcmp(y->name, name, len) == 0)) y = y->chain;
    return y;
}

Symbol *symbol(Symbols *s, const char *name, size_t len) {
    Symbol **bucket = &s->bucket[bucket_of(name, len)], *y = symbol_find(s, name, len);
    TeDtype type;
    if (y) return y;
    y = ARENA_NEW(s->arena, Symbol);
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
