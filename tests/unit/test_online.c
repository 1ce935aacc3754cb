/* links: sim */
/* Reductions that follow another one in the same pass, along rows and down columns, on the
 * simulator against te_eval: all kinds of programs that tie them, on values that naive forms get
 * wrong.  */
#include "kernel_fixture.h"
#include "plan_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SOFTMAX(type, exp)                                                                         \
    "param R, C; op f(X: " type "[R,C]) -> (Y: " type "[R,C], Z: " type "[R]) {"                   \
    " m[n] = max[c](X[n,c]); Z[n] = sum[c](" exp "(X[n,c] - m[n]));"                               \
    " Y[n,c] = " exp "(X[n,c] - m[n]) / Z[n]; }"
#define MOMENTS(type)                                                                              \
    "param R, C; op f(X: " type "[R,C]) -> (Y: " type "[R,C], M: " type "[R], V: " type "[R]) {"   \
    " M[n] = sum[c](X[n,c]) / C; V[n] = sum[c]((X[n,c] - M[n]) * (X[n,c] - M[n])) / C;"            \
    " Y[n,c] = (X[n,c] - M[n]) * rsqrt(V[n] + 0.25); }"
/* The same over an axis that is not contiguous.  */
#define COLUMN_SOFTMAX(type, exp)                                                                  \
    "param R, C; op f(X: " type "[C,R]) -> (Y: " type "[C,R], Z: " type "[R]) {"                   \
    " m[n] = max[c](X[c,n]); Z[n] = sum[c](" exp "(X[c,n] - m[n]));"                               \
    " Y[c,n] = " exp "(X[c,n] - m[n]) / Z[n]; }"
#define COLUMN_MOMENTS(type)                                                                       \
    "param R, C; op f(X: " type "[C,R]) -> (M: " type "[R], V: " type "[R], L: " type "[R]) {"     \
    " M[n] = sum[c](X[c,n]) / C; L[n] = min[c](X[c,n]);"                                           \
    " V[n] = sum[c]((X[c,n] - M[n]) * (X[c,n] - M[n])) / C; }"

typedef enum { REALS, RISING, FALLING, FAR, OUTLIER, NOTHING, LATE, INFINITE, NAN_LAST } Data;

/* Element c of n that are reduced.  */
static double value_at(Data data, int64_t c, int64_t n) {
    double wave = (double)((c * 37 + 11) % 101) / 50 - 1;
    switch (data) {
    case RISING: return 0.05 * (double)c + wave;
    case FALLING: return -0.05 * (double)c + wave;
    case FAR: return 4096 + wave;
    case OUTLIER: return c == 0 ? 1024 : wave;
    case NOTHING: return -(double)INFINITY;
    case LATE: return c < n - 2 ? -(double)INFINITY : wave;
    case INFINITE: return c == n / 2 ? (double)INFINITY : wave;
    case NAN_LAST: return c == n - 1 ? (double)NAN : wave;
    default: return 3 * wave;
    }
}

/* Of an input in rows or, reduced along its first dimension, in columns.  */
static TeData make_input(Arena *a, const Te *te, Data data, bool columns) {
    const TeTensor *t = &te->tensor[0];
    int64_t n = te_tensor_count(t), inner = t->shape[1].value, reduced = t->shape[!columns].value;
    TeData x = {arena_alloc(a, te_tensor_bytes(t) + 16), te_tensor_bytes(t)};
    for (int64_t i = 0; i < n; i++) {
        int64_t at = columns ? i / inner : i % inner, other = columns ? i % inner : i / inner;
        double v = value_at(data, at, reduced) * (other % 2 ? 0.5 : 1);
        if (t->dtype == TE_F64) ((double *)x.data)[i] = v;
        else ((float *)x.data)[i] = (float)v;
    }
    return x;
}

static bool is_wanted_row(const RProg *r, int kind) {
    int threads = rprog_row_threads(r);
    if (r->skeleton != SK_ROW || r->keep != KEEP_ONLINE) return false;
    switch (kind) {
    case 0: return r->split == 1 && threads > 32;
    case 1: return r->split == 1 && threads <= 32 && threads > 1;
    case 2: return r->split == 1 && threads == 1;
    case 3: return r->split > 2;
    default: return false;
    }
}

/* The ways in which row groups, and slices, meet.  */
static bool is_wanted_column(const Problem *p, const RProg *r, int kind) {
    if (r->skeleton != SK_COLUMN) return false;
    int groups = rprog_threads_along(r, AX_K), lanes = rprog_column_lanes(r);
    int deep = r->thread.extent[AX_K], vec = r->thread.extent[AX_M];
    bool wide = vec == p->column.vec;
    switch (kind) {
    case 0: return r->split == 1 && groups > 1 && lanes == 1 && deep > 2;
    case 1: return r->split == 1 && groups > lanes && lanes > 1 && deep > 1 && wide;
    case 2: return r->split == 1 && groups == 1 && deep == 1;
    case 3: return r->split > 1 && groups > 1 && deep > 2;
    default: return r->split > 31 && deep > 1;
    }
}

/* Takes the last candidate of a kind: a draw as good as another, and the same each time.  */
static bool take(KernelCase *c, bool columns, int kind) {
    const Problem *p = &c->plan.problem[0];
    for (int i = c->set[0].n - 1; i >= 0; i--) {
        const RProg *r = &c->set[0].prog[i];
        if (!(columns ? is_wanted_column(p, r, kind) : is_wanted_row(r, kind))) continue;
        c->plan.prog[0] = *r;
        if (columns && kind == 4) c->plan.prog[0].lanes = 32;
        return true;
    }
    return false;
}

static const struct {
    const char *text;
    bool columns;
    Data last;                            /* of the kinds of data that it takes */
} op[] = {{SOFTMAX("f32", "exp"), false, NAN_LAST},
          {SOFTMAX("f64", "exp2"), false, NAN_LAST},
          {MOMENTS("f32"), false, OUTLIER},
          {MOMENTS("f64"), false, OUTLIER},
          {COLUMN_SOFTMAX("f32", "exp"), true, NAN_LAST},
          {COLUMN_SOFTMAX("f64", "exp2"), true, NAN_LAST},
          {COLUMN_MOMENTS("f32"), true, OUTLIER},
          {COLUMN_MOMENTS("f64"), true, OUTLIER}};
enum { OPS = sizeof op / sizeof *op, KINDS = 5, SIZES = 2 };

static bool is_online(const KernelCase *c, bool columns) {
    const Problem *p = &c->plan.problem[0];
    return columns ? p->column.followers == 1 : p->online != NULL;
}

/* Candidates of the first group by kind; the others are taken as the model does.  */
static const char *run_kind(KernelCase *c, Nvrtc *nvrtc, int o, int kind, bool *found) {
    bool columns = op[o].columns;
    if (!is_online(c, columns)) return "nothing is online";
    const char *wrong = c->plan.n > 1 ? kernel_pick(c, 0) : NULL;
    if (wrong || !take(c, columns, kind)) return wrong;
    *found = true;
    wrong = rprog_check(&c->plan.problem[0], c->dev, &c->plan.prog[0]);
    if (!wrong) wrong = kernel_emit(c);
    if (!wrong) wrong = kernel_compile(c, nvrtc, false);
    for (Data data = REALS; !wrong && data <= op[o].last; data++) {
        TeData in = make_input(c->arena, c->te, data, columns);
        c->in = &in;
        wrong = kernel_run(c, TE_FILL_REALS, 1, false);
        if (wrong) wrong = arena_printf(c->arena, "data %d: %s", (int)data, wrong);
    }
    return wrong;
}

static void test_values(void **state) {
    (void)state;
    static const int64_t reduced[SIZES] = {1000, 613};
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Device *dev = fixture_device(a, "h200");
    Nvrtc *nvrtc;
    int kinds[2][KINDS] = {{0}};
    assert_int_equal(nvrtc_open(a, &d, NULL, dev->arch, &nvrtc), ST_OK);
    for (int i = 0; i < OPS * KINDS * SIZES; i++) {
        ArenaMark mark = arena_mark(a);
        int o = i / KINDS / SIZES, kind = i / SIZES % KINDS;
        bool found = false;
        if (op[o].columns && o % 2 && i % SIZES == 0) continue;       /* f64 is slow to simulate */
        const char *text = arena_printf(a, "param R = %d, C = %d; %s",
                                        op[o].columns ? 36 : kind == 2 ? 70 : 3,
                                        (int)reduced[i % SIZES], strchr(op[o].text, ';') + 1);
        KernelCase c;
        const char *wrong = kernel_open(&c, a, dev, text, NULL);
        if (!wrong) wrong = run_kind(&c, nvrtc, o, kind, &found);
        if (wrong) fail_msg("%s", kernel_report(&c, op[o].text, wrong));
        kinds[op[o].columns][kind] += found;
        arena_reset(a, mark);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        assert_true(kinds[0][kind] >= 4 || kind == KINDS - 1);
        assert_true(kinds[1][kind] >= 4);
    }
    arena_destroy(a);
}

/* Sizes known at run time: one program at the largest of them and at fewer, down to none.  */
static const char *run_sizes(KernelCase *c, Nvrtc *nvrtc, int o, int kind, bool *found) {
    static const int64_t size[][2] = {{36, 613}, {5, 512}, {36, 97}, {3, 31}, {1, 1}, {2, 0},
                                      {0, 7}};
    bool columns = op[o].columns;
    const Te *te = c->te, *fixed;
    if (!is_online(c, columns)) return "nothing is online";
    const char *wrong = c->plan.n > 1 ? kernel_pick(c, 0) : NULL;
    if (wrong || !take(c, columns, kind)) return wrong;
    *found = true;
    wrong = kernel_emit(c);
    if (!wrong) wrong = kernel_compile(c, nvrtc, false);
    for (size_t i = 0; i < sizeof size / sizeof *size && !wrong; i++) {
        if (te_specialize(c->arena, &c->diag, te, size[i], &fixed)) return "sizes";
        c->te = (Te *)(uintptr_t)fixed;
        c->size = size[i];
        for (Data data = REALS; !wrong && data <= op[o].last; data += 3) {
            TeData in = make_input(c->arena, c->te, data, columns);
            c->in = &in;
            wrong = kernel_run(c, TE_FILL_REALS, 1, false);
            if (wrong)
                wrong = arena_printf(c->arena, "%lld by %lld, data %d: %s", (long long)size[i][0],
                                     (long long)size[i][1], (int)data, wrong);
        }
    }
    return wrong;
}

static void test_sizes(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Device *dev = fixture_device(a, "h200");
    Nvrtc *nvrtc;
    int kinds[2][KINDS] = {{0}};
    assert_int_equal(nvrtc_open(a, &d, NULL, dev->arch, &nvrtc), ST_OK);
    for (int i = 0; i < OPS * KINDS; i++) {
        ArenaMark mark = arena_mark(a);
        int o = i / KINDS, kind = i % KINDS;
        bool found = false;
        if (o % 2) continue;              /* f64 differs in nothing that sizes change */
        const char *text = arena_printf(a, "param R = 0..36, C = 0..613; %s",
                                        strchr(op[o].text, ';') + 1);
        KernelCase c;
        const char *wrong = kernel_open(&c, a, dev, text, NULL);
        if (!wrong) wrong = run_sizes(&c, nvrtc, o, kind, &found);
        if (wrong) fail_msg("%s", kernel_report(&c, op[o].text, wrong));
        kinds[op[o].columns][kind] += found;
        arena_reset(a, mark);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        assert_true(kinds[0][kind] == 2 || kind == KINDS - 1);
        assert_true(kinds[1][kind] == 2);
    }
    arena_destroy(a);
}

/* What is online however its row's length is written, and what is not.  */
static void test_lengths(void **state) {
    static const struct {
        const char *text;
        bool online;
    } table[] = {
        {"param B = 1..9, C = 8..64 % 8; op f(X: f32[B,C,40]) -> V: f32[40] {"
         " u[n] = sum[b,c](X[b,c,n]) / (C * B);"
         " V[n] = sum[b,c]((X[b,c,n] - u[n]) * (X[b,c,n] - u[n])); }", true},
        {"param B = 3, C = 8..64; let N = C * B; op f(X: f32[4,C,B]) -> V: f32[4] {"
         " u[n] = sum[b,c](X[n,b,c]) / f32(N);"
         " V[n] = sum[b,c]((X[n,b,c] - u[n]) * (X[n,b,c] - u[n])); }", true},
        {"param B = 3, C = 8..64; let N = C * B; op f(X: f32[4,N], Y: f32[C]) -> V: f32[4] {"
         " u[n] = sum[c](X[n,c]) / (3 * C) where c in N;"
         " V[n] = sum[c]((X[n,c] - u[n]) * (X[n,c] - u[n])) where c in N; }", true},
        {"param B = 8..64, C = 8..64; op f(X: f32[B,C]) -> V: f32[B] {"
         " u[n] = sum[c](X[n,c]) / B; V[n] = sum[c]((X[n,c] - u[n]) * (X[n,c] - u[n])); }", false},
        {"param C = 8..64; op f(X: f32[4,C]) -> V: f32[4] { u[n] = sum[c](X[n,c]) / (C - 1);"
         " V[n] = sum[c]((X[n,c] - u[n]) * (X[n,c] - u[n])); }", false},
        {"param C = 8..64; op f(X: f32[4,C]) -> V: f32[4] { u[n] = sum[c](X[n,c]) / (C * C);"
         " V[n] = sum[c]((X[n,c] - u[n]) * (X[n,c] - u[n])); }", false},
        {"param C = 8..64; op f(X: f32[4,C]) -> V: f32[4] { u[n] = sum[c](X[n,c]) / 64;"
         " V[n] = sum[c]((X[n,c] - u[n]) * (X[n,c] - u[n])); }", false},
    };
    (void)state;
    Arena *a = arena_create(NULL);
    Device *dev = fixture_device(a, "h200");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        KernelCase c;
        const char *wrong = kernel_open(&c, a, dev, table[i].text, NULL);
        const Problem *p = &c.plan.problem[0];
        bool online = !wrong && (p->online || p->column.followers);
        if (wrong || online != table[i].online)
            fail_msg("%s: %s", table[i].text, wrong ? wrong : "online otherwise");
    }
    arena_destroy(a);
}

/* What looks alike but must not be online.  */
static void test_not_online(void **state) {
    (void)state;
    static const char *const text[] = {
        /* another expression than the maximum's */
        "op f(X: f32[4,100]) -> Y: f32[4,100] { m[n] = max[c](X[n,c]);"
        " z[n] = sum[c](exp(X[n,c] * 2.0 - m[n])); Y[n,c] = X[n,c] / z[n]; }",
        /* the maximum is rounded when it is stored */
        "op f(X: f32[4,100]) -> (Y: f32[4,100], M: f16[4]) { M[n] = max[c](X[n,c]);"
        " z[n] = sum[c](exp(X[n,c] - M[n])); Y[n,c] = X[n,c] / z[n]; }",
        /* no mean: another divisor */
        "op f(X: f32[4,100]) -> Y: f32[4,100] { u[n] = sum[c](X[n,c]) / 99;"
        " v[n] = sum[c]((X[n,c] - u[n]) * (X[n,c] - u[n])); Y[n,c] = X[n,c] / v[n]; }",
        /* other columns */
        "op f(X: f32[4,10,10]) -> Y: f32[4,10,10] { m[n] = max[b,c](X[n,b,c]);"
        " z[n] = sum[b,c](exp(X[n,c,b] - m[n])); Y[n,b,c] = X[n,b,c] / z[n]; }",
        /* by columns: another divisor, a rounded mean, another point of it */
        "op f(X: f32[100,4]) -> Y: f32[4] { u[n] = sum[c](X[c,n]) / 99;"
        " Y[n] = sum[c]((X[c,n] - u[n]) * (X[c,n] - u[n])); }",
        "op f(X: f32[100,4]) -> (Y: f32[4], M: f16[4]) { M[n] = sum[c](X[c,n]) / 100;"
        " Y[n] = sum[c]((X[c,n] - M[n]) * (X[c,n] - M[n])); }",
        "op f(X: f32[100,4,4]) -> (Y: f32[4,4], M: f32[4,4]) { M[m,n] = sum[c](X[c,m,n]) / 100;"
        " Y[m,n] = sum[c]((X[c,m,n] - M[n,m]) * (X[c,m,n] - M[n,m])); }",
    };
    Arena *a = arena_create(NULL);
    Device *dev = fixture_device(a, "h200");
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        KernelCase c;
        const char *wrong = kernel_open(&c, a, dev, text[i], NULL);
        if (wrong) fail_msg("%s: %s", text[i], wrong);
        for (int g = 0; g < c.plan.n; g++) {
            assert_null(c.plan.problem[g].online);
            assert_int_equal(c.plan.problem[g].column.followers, 0);
        }
    }
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_sizes),
                                       cmocka_unit_test(test_lengths),
                                       cmocka_unit_test(test_not_online)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
