/* links: sim */
/* Reductions that follow another one in the same pass, on the simulator against te_eval: all kinds
 * of programs that tie them, on values that naive forms get wrong.  */
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

typedef enum { REALS, RISING, FALLING, FAR, OUTLIER, NOTHING, LATE, INFINITE, NAN_LAST } Data;

/* Element c of a row of n.  */
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

static TeData make_input(Arena *a, const Te *te, Data data) {
    const TeTensor *t = &te->tensor[0];
    int64_t n = te_tensor_count(t), columns = t->shape[t->rank - 1].value;
    TeData x = {arena_alloc(a, te_tensor_bytes(t) + 16), te_tensor_bytes(t)};
    for (int64_t i = 0; i < n; i++) {
        double v = value_at(data, i % columns, columns) * (i / columns % 2 ? 0.5 : 1);
        if (t->dtype == TE_F64) ((double *)x.data)[i] = v;
        else ((float *)x.data)[i] = (float)v;
    }
    return x;
}

static bool is_wanted(const RProg *r, int kind) {
    int threads = rprog_row_threads(r);
    if (r->skeleton != SK_ROW || r->keep != KEEP_ONLINE) return false;
    switch (kind) {
    case 0: return r->split == 1 && threads > 32;
    case 1: return r->split == 1 && threads <= 32 && threads > 1;
    case 2: return r->split == 1 && threads == 1;
    default: return r->split > 2;
    }
}

/* Takes the last candidate of a kind: a draw as good as another, and the same each time.  */
static bool take(KernelCase *c, int kind) {
    for (int i = c->set[0].n - 1; i >= 0; i--) {
        if (!is_wanted(&c->set[0].prog[i], kind)) continue;
        c->plan.prog[0] = c->set[0].prog[i];
        return true;
    }
    return false;
}

static const struct {
    const char *text;
    Data last;                            /* of the kinds of data that it takes */
} op[] = {{SOFTMAX("f32", "exp"), NAN_LAST}, {SOFTMAX("f64", "exp2"), NAN_LAST},
          {MOMENTS("f32"), OUTLIER}, {MOMENTS("f64"), OUTLIER}};
enum { OPS = sizeof op / sizeof *op, KINDS = 4 };

static void test_values(void **state) {
    (void)state;
    static const int64_t columns[] = {1000, 613};
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Device *dev = fixture_device(a, "h200");
    Nvrtc *nvrtc;
    int kinds[KINDS] = {0};
    assert_int_equal(nvrtc_open(a, &d, NULL, dev->arch, &nvrtc), ST_OK);
    for (int i = 0; i < OPS * KINDS * 2; i++) {
        ArenaMark mark = arena_mark(a);
        int o = i / KINDS / 2, kind = i / 2 % KINDS;
        const char *text = arena_printf(a, "param R = %d, C = %d; %s", kind == 2 ? 70 : 3,
                                        (int)columns[i % 2], strchr(op[o].text, ';') + 1);
        KernelCase c;
        const char *wrong = kernel_open(&c, a, dev, text, NULL);
        if (!wrong && !c.plan.problem[0].online) wrong = "nothing is tied";
        if (!wrong && !take(&c, kind)) continue;
        kinds[kind]++;
        if (!wrong) wrong = rprog_check(&c.plan.problem[0], dev, &c.plan.prog[0]);
        if (!wrong) wrong = kernel_emit(&c);
        if (!wrong) wrong = kernel_compile(&c, nvrtc, false);
        for (Data data = REALS; !wrong && data <= op[o].last; data++) {
            TeData in = make_input(a, c.te, data);
            c.in = &in;
            wrong = kernel_run(&c, TE_FILL_REALS, 1, false);
            if (wrong) wrong = arena_printf(a, "data %d: %s", (int)data, wrong);
        }
        if (wrong) fail_msg("%s", kernel_report(&c, op[o].text, wrong));
        arena_reset(a, mark);
    }
    for (int kind = 0; kind < KINDS; kind++) assert_true(kinds[kind] >= 4);
    arena_destroy(a);
}

/* What looks alike but must not be tied.  */
static void test_untied(void **state) {
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
    };
    Arena *a = arena_create(NULL);
    Device *dev = fixture_device(a, "h200");
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        KernelCase c;
        const char *wrong = kernel_open(&c, a, dev, text[i], NULL);
        if (wrong) fail_msg("%s: %s", text[i], wrong);
        for (int g = 0; g < c.plan.n; g++) assert_null(c.plan.problem[g].online);
    }
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_untied)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
