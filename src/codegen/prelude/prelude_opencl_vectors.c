/* The prelude of OpenCL C 1.2: vectors of neighbouring elements, one access each.
 *
 *   rl_vec_BASE_N             a struct of N elements `v`, aligned to all of them
 *   rl_load_BASE_N(p)         N elements of global memory
 *   rl_store_BASE_N(p, x)     N elements at x to global memory; also rl_store_global_BASE_N
 *   rl_store_TYPE_BASE_N      N f32, each rounded to f16, bf16 or less, which are BASE there
 *
 * With local_ before BASE they are of local memory; rl_store_shared_local_BASE_N(p, at, x) stores
 * at p + at.  BASE is u8 i8 u16 i16 i32 u32 i64 u64 f32 f64, N is 1, 2, 4, 8 or 16.  */
#include "codegen/prelude/prelude.h"
#include <string.h>

#define FN "static inline "

/* Elements as names have them, and as they lie in memory.  */
static const struct {
    const char *name, *type;
    int bytes;
} bases[] = {
    {"u8", "uchar", 1}, {"i8", "char", 1},  {"u16", "ushort", 2}, {"i16", "short", 2},
    {"i32", "int", 4},  {"u32", "uint", 4}, {"i64", "long", 8},   {"u64", "ulong", 8},
    {"f32", "float", 4}, {"f64", "double", 8}, {"b", "bool", 1},
};
/* What a store may do beside it.  */
static const struct {
    const char *name, *base;  /* base: the only one that elements become; NULL: they stay */
} stores[] = {
    {"f16", "u16"}, {"bf16", "u16"}, {"e4m3", "u8"}, {"e5m2", "u8"}, {"e3m2", "u8"},
    {"e2m3", "u8"}, {"e2m1", "u8"}, {"ue4m3", "u8"}, {"ue8m0", "u8"},
    {"global", NULL}, {"shared", NULL},
};
enum {
    BASES = sizeof bases / sizeof *bases,
    STORES = sizeof stores / sizeof *stores,
    SHARED = STORES - 1,
    PLAIN = STORES
};

typedef struct {
    int base, width, store;
    bool local;
    const char *space;
} Vector;

static bool take(const char **s, const char *end, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(end - *s) < n || memcmp(*s, word, n) != 0) return false;
    *s += n;
    return true;
}

/* The word and an underscore.  */
static bool take_word(const char **s, const char *end, const char *word) {
    const char *at = *s;
    if (!take(&at, end, word) || !take(&at, end, "_")) return false;
    *s = at;
    return true;
}

static bool take_width(const char *s, const char *end, int *width) {
    static const char *const text[] = {"1", "2", "4", "8", "16"};
    for (int i = 0; i < 5; i++) {
        const char *at = s;
        if (!take(&at, end, text[i]) || at != end) continue;
        *width = 1 << i;
        return true;
    }
    return false;
}

/* What stands behind the stem: [local_]BASE_N.  */
static bool read(const char *s, const char *end, Vector *v) {
    v->local = take_word(&s, end, "local");
    v->space = v->local ? "__local" : "__global";
    for (v->base = 0; v->base < BASES; v->base++) {
        if (take_word(&s, end, bases[v->base].name)) return take_width(s, end, &v->width);
    }
    return false;
}

bool prelude_make_vector(const char *name, size_t len, PreludeText *t) {
    const char *s = name, *end = name + len;
    Vector v;
    if (!take(&s, end, "rl_vec_") || !read(s, end, &v) || v.local) return false;
    prelude_put(t, "typedef struct { %s v[%d]; } __attribute__((aligned(%d))) %.*s;\n",
                bases[v.base].type, v.width, bases[v.base].bytes * v.width, (int)len, name);
    return true;
}

bool prelude_make_load(const char *name, size_t len, PreludeText *t) {
    const char *s = name, *end = name + len;
    Vector v;
    if (!take(&s, end, "rl_load_") || !read(s, end, &v)) return false;
    const char *base = bases[v.base].name;
    prelude_put(t, FN "rl_vec_%s_%d %.*s(const %s %s *p) {\n", base, v.width, (int)len, name,
                v.space, bases[v.base].type);
    prelude_put(t, "    return *(const %s rl_vec_%s_%d *)p;\n}\n", v.space, base, v.width);
    return true;
}

/* Is it a store that there is?  */
static bool read_store(const char *name, size_t len, Vector *v) {
    const char *s = name, *end = name + len;
    if (!take(&s, end, "rl_store_")) return false;
    v->store = 0;
    while (v->store < STORES && !take_word(&s, end, stores[v->store].name)) v->store++;
    if (!read(s, end, v)) return false;
    const char *only = v->store == PLAIN ? NULL : stores[v->store].base;
    return (!only || strcmp(only, bases[v->base].name) == 0) && (v->store != SHARED || v->local);
}

bool prelude_make_store(const char *name, size_t len, PreludeText *t) {
    Vector v;
    if (!read_store(name, len, &v)) return false;
    bool rounds = v.store != PLAIN && stores[v.store].base, indexed = v.store == SHARED;
    const char *type = bases[v.base].type, *base = bases[v.base].name;
    prelude_put(t, FN "void %.*s(%s %s *p, %sconst %s *x) {\n", (int)len, name, v.space, type,
                indexed ? "int at, " : "", rounds ? "float" : type);
    prelude_put(t, "    rl_vec_%s_%d y;\n    for (int i = 0; i < %d; i++) y.v[i] = ", base, v.width,
                v.width);
    if (rounds) prelude_put(t, "rl_f32_to_%s(x[i]);\n", stores[v.store].name);
    else prelude_put(t, "x[i];\n");
    prelude_put(t, "    *(%s rl_vec_%s_%d *)%s = y;\n}\n", v.space, base, v.width,
                indexed ? "(p + at)" : "p");
    return true;
}

const PreludeRow prelude_opencl_vectors[] = {
    {"rl_vec_", 0, NULL},
    {"rl_load_", 0, NULL},
    {"rl_store_", 0, NULL},
};
const int prelude_opencl_vectors_rows = sizeof prelude_opencl_vectors /
                                        sizeof *prelude_opencl_vectors;
