/* links: te */
/* Random legal programs: accepted, sound, stable under printing, the same under other names.  */
#include "base/hash.h"
#include "te_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SIZES = 5, MAX_TENSORS = 16, MAX_AXES = 6 };

typedef enum { REAL, INT, BOOLEAN } Class;

typedef struct {
    Class cls;
    int rank;
    int dim[3];               /* sizes */
} Tensor;

typedef struct {
    Rng rng;
    Buf out;
    const char *prefix;       /* of every name */
    bool noisy;               /* superfluous parentheses, white space, comments, aliases */
    Tensor tensor[MAX_TENSORS];
    int n_tensor;
    int axis[MAX_AXES];       /* size that the index runs over */
    int n_axis, n_used;       /* in scope; named so far */
    int used_size[MAX_AXES];
    bool reduces[MAX_AXES];   /* needs a `where` */
    bool *scope[1];
} Gen;

static uint32_t below(Gen *g, uint32_t n) { return rng_below(&g->rng, n); }
static bool chance(Gen *g, uint32_t n) { return below(g, n) == 0; }
static void put(Gen *g, const char *s) { buf_puts(&g->out, s); }

/* Noise is decided apart from content, so that it changes nothing else.  */
static void space(Gen *g) {
    if (!g->noisy) return;
    static const char *const spaces[] = {"", " ", "\n  ", "\t", " # a comment ; } \"\n"};
    put(g, spaces[hash64(&g->out.len, sizeof g->out.len, 1) % 5]);
}

static void name(Gen *g, char kind, int i) {
    buf_printf(&g->out, "%s%c%d", g->prefix, kind, i);
    space(g);
}

static const char *dtype(Gen *g, Class cls, uint32_t pick) {
    static const char *const plain[3][6] = {{"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2"},
                                            {"i64", "i32", "i16", "i8", "u8", "i32"},
                                            {"bool", "bool", "bool", "bool", "bool", "bool"}};
    static const char *const alias[3][6] = {
        {"double", "float", "half", "bfloat16", "float8_e4m3fn", "float8_e5m2"},
        {"int64", "int32", "int16", "int8", "uint8", "int32"},
        {"bool", "bool", "bool", "bool", "bool", "bool"}};
    return (g->noisy ? alias : plain)[cls][pick % 6];
}

static void expr(Gen *g, Class cls, int depth);

static void number_literal(Gen *g, Class cls) {
    static const char *const reals[] = {"0.5", "1.0", "3", "1e-3", "2.25e4", "0.1", "7", "0"};
    if (cls == REAL)
        put(g, reals[below(g, 8)]);
    else if (cls == INT)
        buf_printf(&g->out, "%d", (int)below(g, 100));
    else
        put(g, chance(g, 2) ? "true" : "false");
    space(g);
}

/* A subscript that is inside: an index over the same size, or 0.  */
static void inside(Gen *g, int size) {
    int fit[MAX_AXES], n = 0;
    for (int i = 0; i < g->n_axis; i++)
        if (g->axis[i] >= 0 && g->used_size[g->axis[i]] == size) fit[n++] = g->axis[i];
    if (n)
        name(g, 'i', fit[below(g, (uint32_t)n)]);
    else
        put(g, "0");
}

static bool read(Gen *g, Class cls, int depth) {
    int fit[MAX_TENSORS], n = 0;
    for (int i = 0; i < g->n_tensor; i++)
        if (g->tensor[i].cls == cls) fit[n++] = i;
    if (!n) return false;
    int t = fit[below(g, (uint32_t)n)];
    bool guarded = g->tensor[t].rank && chance(g, 3);
    if (guarded) put(g, "(");
    name(g, 'T', t);
    put(g, "[");
    for (int d = 0; d < g->tensor[t].rank; d++) {
        if (d) put(g, ",");
        if (guarded && chance(g, 2)) {
            expr(g, INT, 1);
        } else if (guarded) {
            inside(g, g->tensor[t].dim[d]);
            buf_printf(&g->out, "-%d", (int)below(g, 3));
        } else {
            inside(g, g->tensor[t].dim[d]);
        }
    }
    put(g, "]");
    if (guarded) {
        put(g, " else ");
        expr(g, cls, depth > 1 ? 1 : 0);
        put(g, ")");
    }
    return true;
}

static void leaf(Gen *g, Class cls) {
    if (cls == INT && g->n_axis && chance(g, 3)) {
        name(g, 'i', g->axis[below(g, (uint32_t)g->n_axis)]);
    } else if (cls == INT && chance(g, 3)) {
        name(g, 'S', (int)below(g, SIZES));
    } else if (chance(g, 4) || !read(g, cls, 0)) {
        number_literal(g, cls);
    }
}

static void binary(Gen *g, Class cls, const char *op, int depth) {
    put(g, "(");
    expr(g, cls, depth - 1);
    space(g);
    put(g, op);
    space(g);
    expr(g, cls, depth - 1);
    put(g, ")");
}

static void call(Gen *g, const char *f, Class cls, int args, int depth) {
    buf_printf(&g->out, "%s(", f);
    for (int i = 0; i < args; i++) {
        if (i) put(g, ",");
        expr(g, cls, depth - 1);
    }
    put(g, ")");
}

static void reduction(Gen *g, Class cls, int depth) {
    static const char *const redop[] = {"sum", "max", "min", "prod"};
    if (g->n_used == MAX_AXES || g->n_axis == MAX_AXES) {
        leaf(g, cls);
        return;
    }
    int k = g->n_used++;
    g->used_size[k] = (int)below(g, SIZES);
    g->reduces[k] = true;
    put(g, cls == BOOLEAN ? (chance(g, 2) ? "any" : "all") : redop[below(g, 4)]);
    put(g, "[");
    name(g, 'i', k);
    put(g, "](");
    g->axis[g->n_axis++] = k;
    expr(g, cls, depth - 1);
    g->n_axis--;
    put(g, ")");
}

static void boolean(Gen *g, int depth) {
    static const char *const cmp[] = {"<", "<=", ">", ">=", "==", "!="};
    switch (below(g, 4)) {
    case 0: binary(g, BOOLEAN, chance(g, 2) ? "&&" : "||", depth); break;
    case 1: put(g, "!"); expr(g, BOOLEAN, depth - 1); break;
    default: binary(g, chance(g, 2) ? REAL : INT, cmp[below(g, 6)], depth);
    }
}

static void expr(Gen *g, Class cls, int depth) {
    static const char *const arithmetic[] = {"+", "-", "*", "/"};
    static const char *const functions[] = {"exp", "sqrt", "tanh", "floor", "abs", "cos"};
    bool parens = g->noisy && hash64(&g->out.len, sizeof g->out.len, 2) % 4 == 0;
    if (parens) put(g, "(");
    uint32_t what = depth > 0 ? below(g, 10) : 0;
    if (what < 2) {
        leaf(g, cls);
    } else if (what == 2) {
        put(g, "(");
        expr(g, BOOLEAN, depth - 1);
        put(g, "?");
        expr(g, cls, depth - 1);
        put(g, ":");
        expr(g, cls, depth - 1);
        put(g, ")");
    } else if (what == 3) {
        reduction(g, cls, depth);
    } else if (cls == BOOLEAN) {
        boolean(g, depth);
    } else if (what == 4) {
        call(g, chance(g, 2) ? "max" : "min", cls, 2 + (int)below(g, 2), depth);
    } else if (what == 5) {
        Class from = (Class)below(g, 3);
        call(g, dtype(g, cls, below(g, 6)), from, 1, depth);
    } else if (what == 6) {
        put(g, "-");
        expr(g, cls, depth - 1);
    } else if (what == 7 && cls == REAL) {
        call(g, functions[below(g, 6)], REAL, 1, depth);
    } else {
        binary(g, cls, cls == INT && chance(g, 4) ? "%" : arithmetic[below(g, 4)], depth);
    }
    if (parens) put(g, ")");
}

static void sizes(Gen *g) {
    for (int i = 0; i < SIZES; i++) {
        put(g, i == SIZES - 1 ? "let " : "param ");
        name(g, 'S', i);
        put(g, "=");
        if (i == SIZES - 1) {
            name(g, 'S', 0);
            put(g, "*2+");
            name(g, 'S', 1);
        } else if (chance(g, 4)) {
            int q = 1 + (int)below(g, 3), lo = 1 + (int)below(g, 4);
            buf_printf(&g->out, "%d..%d%%%d", lo, lo + 9, q);
        } else {
            buf_printf(&g->out, "%d", 1 + (int)below(g, 9));
        }
        put(g, ";");
        space(g);
    }
}

static void shape(Gen *g, const Tensor *t) {
    if (!t->rank) return;
    put(g, "[");
    for (int d = 0; d < t->rank; d++) {
        if (d) put(g, ",");
        name(g, 'S', t->dim[d]);
    }
    put(g, "]");
}

static void add_tensor(Gen *g, Class cls, int rank) {
    Tensor *t = &g->tensor[g->n_tensor++];
    *t = (Tensor){.cls = cls, .rank = rank};
    for (int d = 0; d < rank; d++) t->dim[d] = (int)below(g, SIZES);
}

/* All run-time sizes are extents of the first two inputs.  */
static int head(Gen *g) {
    int n_out = 1 + (int)below(g, 3);
    put(g, "op ");
    name(g, 'f', 0);
    put(g, "(");
    for (int i = 0; i < 5; i++) {
        if (i) put(g, ",");
        add_tensor(g, i < 2 ? REAL : (Class)below(g, 3), i < 2 ? 2 : 1 + (int)below(g, 3));
        Tensor *t = &g->tensor[i];
        if (i < 2) t->dim[0] = 2 * i, t->dim[1] = 2 * i + 1;
        name(g, 'T', i);
        buf_printf(&g->out, ":%s", dtype(g, t->cls, below(g, 6)));
        shape(g, t);
    }
    put(g, ")->(");
    for (int i = 0; i < n_out; i++) {
        if (i) put(g, ",");
        Tensor *t = &g->tensor[5 + i];
        *t = (Tensor){.cls = (Class)below(g, 3), .rank = (int)below(g, 4)};
        for (int d = 0; d < t->rank; d++) t->dim[d] = (int)below(g, SIZES);
        name(g, 'T', 5 + i);
        buf_printf(&g->out, ":%s", t->cls == REAL ? "f16" : t->cls == INT ? "i64" : "bool");
        shape(g, t);
    }
    put(g, "){");
    return n_out;
}

static void statement(Gen *g, int t) {
    const Tensor *x = &g->tensor[t];
    g->n_axis = g->n_used = x->rank;
    name(g, 'T', t);
    put(g, "[");
    for (int d = 0; d < x->rank; d++) {
        if (d) put(g, ",");
        g->axis[d] = d;
        g->used_size[d] = x->dim[d];
        g->reduces[d] = t >= 8;
        name(g, 'i', d);
    }
    put(g, "]=");
    if (x->cls == INT) put(g, "i32(");
    expr(g, x->cls, 3);
    if (x->cls == INT) put(g, ")");
    const char *before = " where ";
    for (int k = 0; k < g->n_used; k++) {
        if (!g->reduces[k]) continue;
        put(g, before);
        name(g, 'i', k);
        put(g, g->noisy ? " in " : " in 0:");
        name(g, 'S', g->used_size[k]);
        before = ", ";
    }
    if (chance(g, 4)) put(g, " @fast");
    put(g, ";");
    space(g);
}

/* Tensors 0..4 are inputs, 5..7 outputs, 8.. temporaries that outputs may read.  */
static const char *program(Arena *a, uint64_t seed, const char *prefix, bool noisy) {
    Gen gen = {.rng = {seed}, .out = buf_new(a), .prefix = prefix, .noisy = noisy}, *g = &gen;
    sizes(g);
    int n_out = head(g), n_temp = (int)below(g, 3);
    for (int i = 0; i < n_temp; i++) {
        Tensor temp = {.cls = (Class)below(g, 3), .rank = (int)below(g, 3)};
        for (int d = 0; d < temp.rank; d++) temp.dim[d] = (int)below(g, SIZES);
        g->tensor[8 + i] = temp;
        statement(g, 8 + i);
    }
    for (int i = 0; i < n_out; i++) statement(g, 5 + i);
    put(g, "}");
    return buf_str(&g->out);
}

static Te *parse(Arena *a, const char *text) {
    Diag d = diag_new(a);
    Te *te;
    if (te_parse(a, &d, "x.te", text, strlen(text), NULL, NULL, 0, &te) != ST_OK) {
        Buf b = buf_new(a);
        case_messages(&d, &b);
        fail_msg("refused:\n%s\n%s", text, buf_str(&b));
    }
    const char *broken = te_check(te);
    if (broken) fail_msg("%s:\n%s", broken, text);
    return te;
}

static const char *print(Arena *a, const Te *te, bool positional) {
    Buf b = buf_new(a);
    if (positional)
        te_print_positional(te, &b);
    else
        te_print(te, &b);
    return buf_str(&b);
}

static void one(uint64_t seed) {
    Arena *a = arena_create(NULL);
    const char *text = program(a, seed, "x", false);
    Te *te = parse(a, text);
    const char *canonical = print(a, te, false);
    Te *again = parse(a, canonical);
    const char *differs = te_difference(te, again);
    if (differs) fail_msg("%s:\n%s\n%s", differs, text, canonical);
    assert_string_equal(print(a, again, false), canonical);
    Te *noisy = parse(a, program(a, seed, "x", true));
    assert_string_equal(print(a, noisy, false), canonical);
    Te *renamed = parse(a, program(a, seed, "another_", false));
    assert_string_equal(print(a, renamed, true), print(a, te, true));
    arena_destroy(a);
}

static void test_random_programs(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 3000; seed++) one(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
