#include "cli/sim_args.h"
#include <stdlib.h>
#include <string.h>

static const size_t largest = (size_t)1 << 34;

/* ---- names ---- */

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Past a comment or string that starts at s, or s itself.  */
static const char *skip(const char *s) {
    if (s[0] == '/' && s[1] == '/') {
        while (*s && *s != '\n') s++;
    } else if (s[0] == '/' && s[1] == '*') {
        const char *end = strstr(s + 2, "*/");
        s = end ? end + 2 : s + strlen(s);
    } else if (*s == '"') {
        for (s++; *s && *s != '"' && *s != '\n'; s++) {
            if (*s == '\\' && s[1]) s++;
        }
        if (*s == '"') s++;
    }
    return s;
}

/* The '(' after the kernel's name in a declaration, or NULL.  */
static const char *declaration(const char *s, const char *kernel) {
    size_t n = strlen(kernel);
    bool global = false;
    while (*s) {
        const char *past = skip(s);
        if (past != s) {
            s = past;
            continue;
        }
        if (!is_word(*s)) {
            if (*s == ';' || *s == '{') global = false;
            s++;
            continue;
        }
        const char *end = s;
        while (is_word(*end)) end++;
        size_t len = (size_t)(end - s);
        if (len == 10 && memcmp(s, "__global__", 10) == 0) global = true;
        bool named = global && len == n && memcmp(s, kernel, n) == 0;
        for (s = end; named && (*s == ' ' || *s == '\n'); s++) continue;
        if (named && *s == '(') return s;
    }
    return NULL;
}

int simtool_param_names(Arena *a, const char *source, const char *kernel, const char ***out) {
    const char *s = declaration(source, kernel), *word = NULL;
    const char **name = ARENA_ARRAY(a, const char *, 256);
    size_t len = 0;
    int n = 0, depth = 0;
    for (; s && *s && n < 256;) {
        const char *past = skip(s);
        if (past != s) {
            s = past;
        } else if (is_word(*s)) {
            const char *end = s;
            while (is_word(*end)) end++;
            if (depth == 1) {
                word = s;
                len = (size_t)(end - s);
            }
            s = end;
        } else {
            depth += (*s == '(' || *s == '<' || *s == '[') - (*s == ')' || *s == '>' || *s == ']');
            bool ends = depth == 0 || (*s == ',' && depth == 1);
            if (ends && word) name[n++] = arena_strndup(a, word, len);
            if (ends) word = NULL;
            if (depth == 0) break;
            s++;
        }
    }
    *out = name;
    return n;
}

/* ---- values ---- */

typedef struct {
    Arena *a;
    Diag *d;
    SimGpu *g;
    SimToolArgs *args;
} Binder;

static Status usage(Binder *b, const char *fmt, const char *name) {
    return diag_error(b->d, ST_USAGE, NULL, DIAG_NOWHERE, fmt, name);
}

static int find(const Binder *b, const char *name) {
    for (int k = 0; k < b->args->n; k++) {
        const char *number = arena_printf(b->a, "%d", k);
        if (strcmp(b->args->arg[k].name, name) == 0 || strcmp(b->args->param[k].name, name) == 0 ||
            strcmp(number, name) == 0) {
            return k;
        }
    }
    return -1;
}

static Status place(Binder *b, const char *name, int *k) {
    *k = find(b, name);
    if (*k < 0) {
        Status s = usage(b, "the kernel has no parameter '%s'", name);
        Buf hint = buf_new(b->a);
        buf_puts(&hint, "it has");
        for (int p = 0; p < b->args->n; p++) buf_printf(&hint, " %s", b->args->arg[p].name);
        diag_hint(b->d, "%s", buf_str(&hint));
        return s;
    }
    if (b->args->arg[*k].given) return usage(b, "'%s' is given twice", name);
    b->args->arg[*k].given = true;
    return ST_OK;
}

static void put(Binder *b, int k, const void *value, size_t bytes) {
    memcpy(b->args->params + b->args->param[k].offset, value, bytes);
}

enum { MAP_BYTES = 128 };

static Status put_array(Binder *b, int k, const Npy *npy, const char *type, bool poison) {
    SimToolArg *x = &b->args->arg[k];
    if (b->args->param[k].bytes != 8 && b->args->param[k].bytes != MAP_BYTES) {
        return usage(b, "'%s' is neither a pointer nor a tensor map", x->name);
    }
    Status s = sim_malloc(b->g, b->d, npy->bytes, &x->at);
    if (s == ST_OK && !poison) s = sim_write(b->g, b->d, x->at, npy->data, npy->bytes);
    if (s != ST_OK) return s;
    x->array = true;
    x->type = type;
    x->npy = *npy;
    if (b->args->param[k].bytes == 8) put(b, k, &x->at, 8);
    return ST_OK;
}

static Status put_map(Binder *b, const Binding *map) {
    unsigned char bytes[MAP_BYTES];
    int k = find(b, map->name);
    if (k < 0 || !b->args->arg[k].array || b->args->param[k].bytes != MAP_BYTES) {
        return usage(b, "--tensormap: '%s' is no parameter of 128 bytes with an array", map->name);
    }
    Status s = simtool_map(b->d, map->value, &b->args->arg[k], bytes);
    if (s != ST_OK) return s;
    put(b, k, bytes, sizeof bytes);
    b->args->arg[k].mapped = true;
    return ST_OK;
}

/* A number in the type that the PTX gives the parameter.  */
static Status put_number(Binder *b, int k, const char *text) {
    const SimParam *p = &b->args->param[k];
    char *end;
    if (p->bytes > 8) return usage(b, "'%s' is an aggregate, which no number fills", text);
    if (p->type[0] == 'f') {
        double v = strtod(text, &end);
        float f = (float)v;
        if (*end || end == text) return usage(b, "'%s' is no number", text);
        if (p->bytes == 8) put(b, k, &v, 8);
        else put(b, k, &f, 4);
        return ST_OK;
    }
    bool minus = text[0] == '-';
    unsigned long long v = strtoull(text + minus, &end, 0);
    if (*end || end == text + minus) return usage(b, "'%s' is no integer", text);
    uint64_t bits = minus ? 0 - (uint64_t)v : (uint64_t)v;
    put(b, k, &bits, (size_t)p->bytes);
    return ST_OK;
}

static bool is_file(const char *value) {
    size_t n = strlen(value);
    return n > 4 && strcmp(value + n - 4, ".npy") == 0;
}

static Status give(Binder *b, const Binding *in) {
    int k;
    Npy npy;
    Status s = place(b, in->name, &k);
    if (s != ST_OK) return s;
    if (!is_file(in->value)) return put_number(b, k, in->value);
    s = npy_read(b->a, b->d, in->value, largest, &npy);
    if (s != ST_OK) return s;
    char kind = npy.descr[strlen(npy.descr) - 2];        /* as in <f4, |b1 */
    const char *type = kind == 'b' ? "bool" : arena_printf(b->a, "%c%d", kind, 8 * npy.itemsize);
    return put_array(b, k, &npy, type, false);
}

/* TYPE[N,M,..]  */
static Status shape(Binder *b, const char *text, Npy *out) {
    const char *open = strchr(text, '[');
    const NpyType *t = open ? npy_type(text, (size_t)(open - text)) : NULL;
    *out = (Npy){0};
    if (!t) return usage(b, "'%s' is no TYPE[N,M,..]", text);
    out->descr = t->descr;
    out->itemsize = t->bytes;
    size_t bytes = (size_t)out->itemsize;
    for (const char *p = open + 1; *p != ']';) {
        char *end;
        unsigned long long n = strtoull(p, &end, 10);
        bool good = end != p && (*end == ',' || *end == ']') && out->rank < NPY_RANK;
        if (!good || n == 0 || n > largest / bytes) return usage(b, "bad shape '%s'", text);
        out->shape[out->rank++] = (int64_t)n;
        bytes *= (size_t)n;
        p = *end == ',' ? end + 1 : end;
    }
    out->bytes = bytes;
    return ST_OK;
}

static Status allocate(Binder *b, const Binding *alloc) {
    int k;
    Npy npy;
    Status s = place(b, alloc->name, &k);
    if (s == ST_OK) s = shape(b, alloc->value, &npy);
    if (s != ST_OK) return s;
    const char *type = arena_strndup(b->a, alloc->value, strcspn(alloc->value, "["));
    return put_array(b, k, &npy, type, true);
}

Status simtool_args(Arena *a, Diag *d, const SimToolOptions *o, SimGpu *g, SimToolArgs *out) {
    Binder b = {a, d, g, out};
    const SimParam *param = out->param;
    int n = out->n;
    out->arg = ARENA_ARRAY(a, SimToolArg, n + 1);
    for (int k = 0; k < n; k++) {
        out->arg[k].name = out->names ? out->names[k] : param[k].name;
        size_t end = (size_t)(param[k].offset + param[k].bytes);
        if (end > out->params_bytes) out->params_bytes = end;
    }
    out->params = arena_alloc(a, out->params_bytes + 8);
    for (int k = 0; k < o->n_in; k++) {
        Status s = give(&b, &o->in[k]);
        if (s != ST_OK) return s;
    }
    for (int k = 0; k < o->n_alloc; k++) {
        Status s = allocate(&b, &o->alloc[k]);
        if (s != ST_OK) return s;
    }
    for (int k = 0; k < o->n_map; k++) {
        Status s = put_map(&b, &o->map[k]);
        if (s != ST_OK) return s;
    }
    for (int k = 0; k < n; k++) {
        if (out->arg[k].array && param[k].bytes == MAP_BYTES && !out->arg[k].mapped) {
            Status s = usage(&b, "'%s' is no pointer: a tensor map needs a box", out->arg[k].name);
            diag_hint(d, "--tensormap %s=box=64x64,swizzle=128", out->arg[k].name);
            return s;
        }
        if (out->arg[k].given) continue;
        Status s = usage(&b, "parameter '%s' is not given", out->arg[k].name);
        diag_hint(d, "--in %s=..., or --alloc %s=f32[...]", out->arg[k].name, out->arg[k].name);
        return s;
    }
    return ST_OK;
}

Status simtool_outputs(Arena *a, Diag *d, const SimToolOptions *o, SimGpu *g, SimToolArgs *args) {
    Binder b = {a, d, g, args};
    for (int k = 0; k < o->n_out; k++) {
        int p = find(&b, o->out[k].name);
        const SimToolArg *x = p < 0 ? NULL : &args->arg[p];
        if (!x || !x->array) {
            return diag_error(d, ST_USAGE, NULL, DIAG_NOWHERE, "'%s' is no array of this run",
                              o->out[k].name);
        }
        Npy npy = x->npy;
        npy.data = sim_host(g, x->at, npy.bytes);
        Status s = npy_write(a, d, o->out[k].value, &npy);
        if (s != ST_OK) return s;
    }
    return ST_OK;
}
