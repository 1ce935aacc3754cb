/* links: sim */
/* Transposed convolutions summed phase by phase, on the simulator against te_eval of the op as it
 * was written, bit for bit: strides, filters, paddings, dilations, layouts, axes and types.  LONG=1
 * takes more plans of each.  */
#include "effort.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"
#include "workers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

/* The same along each of `axes` dimensions.  */
typedef struct {
    const char *device, *type, *out, *note;
    bool last;                /* channels innermost */
    int axes, n, c, f, in, filter, stride, pad, dil, more;
    bool then;                /* something follows, point by point */
    bool relaid;              /* operands are copied into another order, too */
    bool made;                /* the input is made by a statement before */
} Conv;

static const Conv conv[] = {
    {"h200", "f32", "f32", "", true, 2, 2, 8, 12, 6, 4, 2, 1, 1, 0, false, false, false},
    {"a100", "f32", "f32", "", true, 2, 1, 16, 3, 9, 4, 2, 1, 1, 0, true, false, false},
    {"h200", "f32", "f32", "", false, 2, 1, 5, 8, 7, 4, 2, 1, 1, 0, false, false, false},
    {"rtx4090", "f32", "f32", "", true, 2, 1, 6, 8, 5, 2, 2, 0, 1, 0, true, false, false},
    {"h200", "f32", "f32", "", true, 2, 1, 8, 8, 5, 3, 2, 1, 1, 0, false, false, false},
    {"h200", "f32", "f32", "", true, 2, 1, 8, 8, 5, 3, 2, 1, 1, 1, true, false, false},
    {"a100", "f32", "f32", "", false, 2, 1, 4, 8, 5, 5, 2, 2, 1, 1, false, false, false},
    {"h200", "f32", "f32", "", true, 2, 1, 8, 8, 4, 3, 3, 0, 1, 0, false, false, false},
    {"h200", "f32", "f32", "", true, 2, 1, 4, 8, 4, 5, 3, 1, 1, 0, true, false, false},
    {"h200", "f32", "f32", "", true, 1, 3, 8, 8, 11, 8, 4, 2, 1, 0, false, false, false},
    {"a100", "f32", "f32", "", true, 1, 2, 8, 8, 9, 16, 8, 4, 1, 0, false, false, false},
    {"h200", "f32", "f32", "", true, 1, 2, 8, 8, 9, 4, 2, 1, 3, 1, false, false, false},
    {"h200", "f32", "f32", "", true, 1, 2, 8, 8, 9, 1, 2, 0, 1, 1, false, false, false},
    {"h200", "f32", "f32", "", true, 3, 1, 4, 8, 3, 4, 2, 1, 1, 0, false, false, false},
    {"h200", "f32", "f32", "", true, 2, 1, 8, 8, 5, 3, 2, 1, 1, 1, false, false, true},
    {"a100", "f32", "f32", "@tf32", false, 2, 1, 8, 8, 4, 3, 2, 1, 1, 0, true, false, true},
    {"h200", "f32", "f32", "", false, 2, 1, 8, 8, 5, 3, 2, 1, 2, 1, true, false, false},
    {"a100", "f16", "f16", "", true, 2, 1, 8, 8, 5, 3, 2, 1, 2, 0, false, false, false},
    {"h200", "f32", "f32", "", true, 1, 2, 8, 8, 7, 3, 4, 1, 2, 0, true, false, false},
    {"h200", "f16", "f16", "", true, 2, 2, 16, 16, 8, 4, 2, 1, 1, 0, false, false, false},
    {"a100", "f16", "f16", "", true, 2, 1, 16, 24, 7, 3, 2, 1, 1, 1, true, false, false},
    {"h200", "f16", "f16", "", false, 2, 1, 16, 16, 8, 4, 2, 1, 1, 0, false, false, false},
    {"h200", "f16", "f16", "", false, 2, 2, 32, 32, 8, 4, 2, 1, 1, 0, false, true, false},
    {"h200", "f32", "f32", "@tf32", false, 2, 1, 16, 16, 6, 3, 2, 1, 1, 1, false, true, false},
    {"a100", "f32", "f32", "@tf32", false, 2, 1, 16, 16, 5, 3, 2, 1, 1, 0, true, true, true},
    {"rtx4090", "bf16", "f32", "", true, 2, 1, 16, 8, 6, 2, 2, 0, 1, 0, false, false, false},
    {"a100", "f32", "f32", "@tf32", true, 2, 1, 16, 16, 8, 4, 2, 1, 1, 0, false, false, false},
    {"a100", "i8", "i32", "", true, 2, 1, 32, 16, 8, 4, 2, 1, 1, 0, false, false, false},
    {"t4", "f16", "f16", "", true, 2, 1, 16, 16, 6, 4, 2, 1, 1, 1, false, false, false},
    {"h200", "f64", "f64", "", true, 2, 1, 8, 8, 5, 4, 2, 1, 1, 0, false, false, false},
};
enum { CONVS = sizeof conv / sizeof *conv, FEW = 2, MANY = 16 };

static const char *const axis[3][3] = {{"p", "r", "P"}, {"q", "s", "Q"}, {"o", "t", "O"}};

/* "test && test", subscripts of X, of the filter, of the result; shapes of X, the filter and Y.  */
typedef struct {
    Buf test, x, k, y, of_x, of_k, of_y;
} Parts;

static void spatial(Parts *t, const Conv *v) {
    int out = (v->in - 1) * v->stride - 2 * v->pad + v->dil * (v->filter - 1) + v->more + 1;
    for (int i = 0; i < v->axes; i++) {
        const char *p = axis[i][0], *r = axis[i][1];
        buf_printf(&t->test, "%s(%s + %d - %s*%d) %% %d == 0", i ? " && " : "", p, v->pad, r,
                   v->dil, v->stride);
        buf_printf(&t->x, ",(%s+%d-%s*%d)/%d", p, v->pad, r, v->dil, v->stride);
        buf_printf(&t->k, "%s,", r);
        buf_printf(&t->y, ",%s", p);
        buf_printf(&t->of_x, ",%d", v->in);
        buf_printf(&t->of_k, "%d,", v->filter);
        buf_printf(&t->of_y, ",%d", out);
    }
}

static const char *text_of(Arena *a, const Conv *v) {
    Parts t = {buf_new(a), buf_new(a), buf_new(a), buf_new(a), buf_new(a), buf_new(a), buf_new(a)};
    spatial(&t, v);
    const char *to = v->then ? "t" : "Y", *x = buf_str(&t.x), *y = buf_str(&t.y);
    const char *of_x = buf_str(&t.of_x), *of_y = buf_str(&t.of_y);
    Buf b = buf_new(a);
    const char *in = v->last ? arena_printf(a, "%d%s,%d", v->n, of_x, v->c)
                             : arena_printf(a, "%d,%d%s", v->n, v->c, of_x);
    const char *out = v->last ? arena_printf(a, "%d%s,%d", v->n, of_y, v->f)
                              : arena_printf(a, "%d,%d%s", v->n, v->f, of_y);
    const char *own = v->last ? arena_printf(a, "n%s,f", y) : arena_printf(a, "n,f%s", y);
    buf_printf(&b, "op f(%s: %s[%s%s], K: %s[%s%d,%d], b: %s[%d]) -> Y: %s[%s] {",
               v->made ? "G" : "X", v->type, v->made ? "2," : "", in, v->type, buf_str(&t.of_k),
               v->c, v->f, v->out, v->f, v->out, out);
    if (v->made) buf_puts(&b, " X[i,j,k,l] = sum[z](G[z,i,j,k,l]);");
    buf_printf(&b, " %s[%s]", to, own);
    const char *at = v->last ? arena_printf(a, "n%s,c", x) : arena_printf(a, "n,c%s", x);
    buf_printf(&b, " += (%s ? (X[%s] else 0) : 0) * K[%sc,f] %s;", buf_str(&t.test), at,
               buf_str(&t.k), v->note);
    if (v->then) buf_printf(&b, " Y[%s] = max(t[%s] + b[f], 0);", own, own);
    buf_puts(&b, " }");
    return buf_str(&b);
}

typedef struct {
    const Conv *conv;
    int plans, ran, matrix, copied;
    char wrong[2000];
} Job;

static const char *prove(KernelCase *c, Nvrtc *n, uint64_t seed) {
    const char *wrong = kernel_pick(c, seed);
    if (!wrong) wrong = kernel_emit(c);
    if (!wrong) wrong = kernel_compile(c, n, false);
    return wrong ? wrong : kernel_run(c, TE_FILL_INTEGERS, seed + 1, true);
}

static void work(void *user) {
    Job *j = user;
    Arena *a = arena_create(NULL);
    KernelCase c;
    Nvrtc *n = NULL;
    Device *dev = fixture_device(a, j->conv->device);
    const char *text = text_of(a, j->conv);
    workers_case("%s", text);
    unsigned taken = j->conv->relaid ? RELAID : PHASED;
    const char *wrong = kernel_open_decided(&c, a, dev, text, NULL, taken);
    if (!wrong && nvrtc_open(a, &c.diag, NULL, dev->arch, &n)) wrong = "no NVRTC";
    for (int i = 0; i < j->plans && !wrong; i++) {
        wrong = prove(&c, n, (uint64_t)i);
        j->ran += !wrong;
        j->matrix += !wrong && rprog_matrix(dev, &c.plan.prog[0]);
        j->copied += !wrong && c.plan.n > 1 && !j->conv->relaid;
    }
    if (wrong) snprintf(j->wrong, sizeof j->wrong, "%.1900s", kernel_report(&c, text, wrong));
    arena_destroy(a);
}

static bool run_job(void *user, int64_t i, int worker) {
    (void)worker;
    Arena *guard = arena_create(NULL);
    bool done = guard && arena_try(guard, work, (Job *)user + i);
    arena_destroy(guard);
    return done;
}

static void test_convolutions(void **state) {
    (void)state;
    static Job job[CONVS];
    Job sum = {0};
    int wrong = 0;
    for (int i = 0; i < CONVS; i++)
        job[i] = (Job){.conv = &conv[i], .plans = effort_long() ? MANY : FEW};
    assert_true(workers_for(0, CONVS, run_job, job));
    for (int i = 0; i < CONVS; i++) {
        sum.ran += job[i].ran;
        sum.matrix += job[i].matrix;
        sum.copied += job[i].copied;
        if (!job[i].wrong[0]) continue;
        wrong++;
        print_error("%s\n", job[i].wrong);
    }
    print_message("%d plans: %d with matrix units, %d with a copy\n", sum.ran, sum.matrix,
                  sum.copied);
    assert_int_equal(wrong, 0);
    assert_true(sum.matrix > 0 && sum.matrix < sum.ran);
    assert_true(sum.copied > 0 && sum.copied < sum.ran);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolutions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
