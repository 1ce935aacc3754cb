#include "driver/sizes/size_values.h"

#include <inttypes.h>
#include <string.h>

static Status unknown(Diag *d, const Te *te, const char *name, int len) {
    diag_error(d, ST_SIZE, "size", DIAG_NOWHERE, "the op has no run-time size '%.*s'", len, name);
    Buf names = buf_new(d->arena);
    for (int i = 0; i < te->n_size; i++) {
        if (te->size[i].kind != TE_SIZE_RUNTIME || !te->size[i].used) continue;
        buf_printf(&names, "%s%s", names.len ? ", " : "", te->size[i].name);
    }
    if (names.len) diag_hint(d, "it has %s", buf_str(&names));
    else diag_hint(d, "all its sizes are known: -D sets them");
    return ST_SIZE;
}

static bool number(const char *s, int64_t *out) {
    int64_t v = 0;
    const char *p = s;
    for (; *p >= '0' && *p <= '9' && v <= INT32_MAX; p++) v = v * 10 + (*p - '0');
    *out = v;
    return p > s && !*p;
}

bool size_is_param(const TeSize *s) { return s->used && s->kind != TE_SIZE_LET; }

bool size_promised(const TeSize *s, int64_t v) {
    if (s->kind != TE_SIZE_RUNTIME) return v == s->extent.value;
    return v >= s->lo && v <= s->hi && v % s->extent.multiple == 0;
}

Status size_check(Diag *d, const TeSize *s, int64_t v) {
    if (size_promised(s, v)) return ST_OK;
    diag_error(d, ST_SIZE, "size", DIAG_NOWHERE, "the kernel is not for %s = %" PRId64, s->name, v);
    if (s->extent.multiple > 1)
        diag_hint(d, "it is for multiples of %" PRId64 " in %" PRId64 "..%" PRId64,
                  s->extent.multiple, s->lo, s->hi);
    else diag_hint(d, "it is for %" PRId64 "..%" PRId64, s->lo, s->hi);
    return ST_SIZE;
}

static Status one(Diag *d, const Te *te, const char *text, int64_t *value) {
    int len = (int)strcspn(text, "=");
    int64_t v;
    if (len == 0 || !text[len] || !number(text + len + 1, &v)) {
        diag_error(d, ST_SIZE, "size", DIAG_NOWHERE, "'%s' gives no size a value", text);
        diag_hint(d, "write NAME=N with a decimal integer");
        return ST_SIZE;
    }
    for (int i = 0; i < te->n_size; i++) {
        const TeSize *s = &te->size[i];
        if (s->kind != TE_SIZE_RUNTIME || !s->used || strncmp(s->name, text, (size_t)len) ||
            s->name[len])
            continue;
        value[i] = v;
        return size_check(d, s, v);
    }
    return unknown(d, te, text, len);
}

Status size_values(Arena *a, Diag *d, const Te *te, const char *const *at, int n, int64_t **out) {
    Status s = ST_OK;
    *out = NULL;
    if (n <= 0) return ST_OK;
    int64_t *value = ARENA_ARRAY(a, int64_t, te->n_size + 1);
    for (int i = 0; i < te->n_size; i++) value[i] = te->size[i].extent.value;
    for (int i = 0; i < n && !s; i++) s = one(d, te, at[i], value);
    *out = value;
    return s;
}
