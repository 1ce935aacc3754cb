/* How statements part into kernels: the split is chosen by predicted time, and a plan text says
 * which one it is for.  */
#include "driver/compile.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    Arena *a;
    Diag d;
    const Device *dev;
    Te *te;
    CompileOptions o;
    PlanSet set;
    WholePlan plan;
    Buf text;
} Case;

/* The op for sizes N, planned; the best plan as text.  */
static void plan(Case *c, const char *op, int64_t n) {
    c->a = arena_create(NULL);
    assert_non_null(c->a);
    c->d = diag_new(c->a);
    c->dev = fixture_device(c->a, "h200");
    c->o = (CompileOptions){.top = 1, .align = 16, .workspace_limit = -1};
    const char *text = arena_printf(c->a, "param N = %lld; %s", (long long)n, op);
    assert_int_equal(te_parse(c->a, &c->d, "t.te", text, strlen(text), NULL, NULL, 0, &c->te),
                     ST_OK);
    assert_int_equal(compile_plan(c->a, &c->d, c->te, c->dev, &c->o, &c->set), ST_OK);
    compile_choose(c->a, &c->set, 0, &c->plan);
    c->text = buf_new(c->a);
    rprog_print(&c->plan.rplan, c->dev, &c->text);
}

static Status read_back(Case *c, const char *text, PlanSet *set) {
    return compile_read_plan(c->a, &c->d, c->te, c->dev, &c->o, "plan", text, strlen(text), set);
}

/* A statement that needs another one transposed: fused, it would write or read across rows.  */
static const char turned[] = "op f(X: f32[N,N]) -> (Y: f32[N,N], Z: f32[N,N]) {"
                             " Y[i,j] = exp(X[i,j]); Z[i,j] = X[i,j] + Y[j,i]; }";

static void large_transposes_part(void **state) {
    (void)state;
    Case c;
    PlanSet again;
    plan(&c, turned, 2048);
    assert_int_equal(c.set.normal->split, TE_SPLIT_STRAIGHT);
    assert_int_equal(c.set.n_group, 2);
    assert_int_equal(c.plan.rplan.prog[1].skeleton, SK_PERMUTE);
    assert_non_null(strstr(buf_str(&c.text), "\nsplit straight\n"));
    assert_int_equal(read_back(&c, buf_str(&c.text), &again), ST_OK);
    WholePlan other;
    Buf text = buf_new(c.a);
    compile_choose(c.a, &again, 0, &other);
    rprog_print(&other.rplan, c.dev, &text);
    assert_string_equal(buf_str(&text), buf_str(&c.text));
    arena_destroy(c.a);
}

static void small_ones_stay_together(void **state) {
    (void)state;
    Case c;
    plan(&c, turned, 32);
    assert_int_equal(c.set.normal->split, TE_SPLIT_USUAL);
    assert_int_equal(c.set.n_group, 1);
    assert_null(strstr(buf_str(&c.text), "split"));
    arena_destroy(c.a);
}

/* Computing a producer in each of many readers costs more than storing it, or less, as it is large
 * or small beside them; the model decides.  */
static void producers_are_stored_or_repeated(void **state) {
    (void)state;
    static const char op[] = "op f(X: f32[N], W: f32[N,4096]) -> Y: f32[N,4096] {"
                             " t[i] = exp(X[i]) / (1.0 + X[i]); Y[i,j] = W[i,j] * t[i]; }";
    for (int64_t n = 64; n <= 65536; n *= 1024) {
        Case c;
        plan(&c, op, n);
        assert_int_equal(c.set.n_group, c.set.normal->split == TE_SPLIT_REPEATED ? 1 : 2);
        if (n == 64) assert_int_equal(c.set.normal->split, TE_SPLIT_REPEATED);
        arena_destroy(c.a);
    }
}

/* Sums of very short rows compete as loops of a thread with rows of a block, matrix-vector products
 * as tiles; longer rows do not.  */
static void short_rows_need_no_rows(void **state) {
    (void)state;
    static const char op[] = "let K = N; op f(X: f32[1000000,K]) -> Y: f32[1000000] {"
                             " Y[m] = sqrt(sum[k](X[m,k] * X[m,k])); }";
    for (int64_t n = 3; n < 2000; n *= 500) {
        Case c;
        PlanSet again;
        plan(&c, op, n);
        bool tiled = c.set.normal->split == TE_SPLIT_TILED;
        assert_int_equal(tiled, n == 3);
        assert_int_equal(c.plan.rplan.prog[0].skeleton, tiled ? SK_STREAM : SK_ROW);
        assert_int_equal(read_back(&c, buf_str(&c.text), &again), ST_OK);
        arena_destroy(c.a);
    }
}

/* Channels in the middle: rows are reduced first, by a kernel that reads the input once, then what
 * is left of each image.  */
static void strided_rows_go_in_steps(void **state) {
    (void)state;
    Case c;
    PlanSet again;
    plan(&c, "op f(X: f16[N,64,56,56]) -> (S: f32[64], Q: f32[64]) {"
             " S[c] = sum[n,h,w](X[n,c,h,w]);"
             " Q[c] = sum[n,h,w](f32(X[n,c,h,w]) * X[n,c,h,w]); }", 32);
    const RPlan *p = &c.plan.rplan;
    assert_int_equal(c.set.normal->split, TE_SPLIT_STAGED);
    assert_int_equal(c.set.n_group, 2);
    assert_int_equal(p->prog[0].skeleton, SK_ROW);
    assert_int_equal(p->problem[0].extent[AX_M], 32 * 64);
    assert_int_equal(p->problem[0].read_bytes, 32 * 64 * 56 * 56 * 2);
    assert_int_equal(p->problem[1].extent[AX_N], 32);
    assert_int_equal(read_back(&c, buf_str(&c.text), &again), ST_OK);
    assert_int_equal(again.n_group, 2);
    arena_destroy(c.a);
}

static void wrong_splits_are_errors(void **state) {
    (void)state;
    Case c;
    PlanSet set;
    plan(&c, turned, 2048);
    const char *kernels = strstr(buf_str(&c.text), "kernel 0");
    assert_int_equal(read_back(&c, arena_printf(c.a, "roller-plan 1\n%s", kernels), &set),
                     ST_PLAN_TEXT);
    assert_int_equal(
        read_back(&c, arena_printf(c.a, "roller-plan 1\nsplit sideways\n%s", kernels), &set),
        ST_PLAN_TEXT);
    assert_int_equal(
        read_back(&c, arena_printf(c.a, "roller-plan 1\nsplit apart\nsplit usual\n%s", kernels),
                  &set),
        ST_PLAN_TEXT);
    arena_destroy(c.a);
}

/* Three quarters of the products of such a convolution are with 0: fewer are worth a plan of their
 * own, which is one kernel as before where the stride divides the result.  */
static void transposed_convolutions_go_by_phases(void **state) {
    (void)state;
    Case c;
    PlanSet again;
    plan(&c, "op f(X: f16[4,N,N,64], K: f16[4,4,64,64], b: f16[64]) -> Y: f16[4,2*N,2*N,64] {"
             " t[n,p,q,f] += ((p + 1 - r) % 2 == 0 && (q + 1 - s) % 2 == 0"
             " ? (X[n,(p+1-r)/2,(q+1-s)/2,c] else 0) : 0) * K[r,s,c,f];"
             " Y[n,p,q,f] = max(t[n,p,q,f] + b[f], 0); }", 32);
    assert_int_equal(c.set.normal->split, TE_SPLIT_PHASED);
    assert_int_equal(c.set.n_group, 1);
    const RProg *r = &c.plan.rplan.prog[0];
    assert_int_equal(r->skeleton, SK_CONTRACT);
    assert_true(rprog_matrix(c.dev, r));
    assert_non_null(strstr(buf_str(&c.text), "\n  a async cp.async.16 "));
    assert_non_null(strstr(buf_str(&c.text), "\n  b async cp.async.16 "));
    assert_int_equal(read_back(&c, buf_str(&c.text), &again), ST_OK);
    assert_int_equal(again.normal->split, TE_SPLIT_PHASED);
    arena_destroy(c.a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_transposes_part),
        cmocka_unit_test(small_ones_stay_together),
        cmocka_unit_test(producers_are_stored_or_repeated),
        cmocka_unit_test(strided_rows_go_in_steps),
        cmocka_unit_test(short_rows_need_no_rows),
        cmocka_unit_test(wrong_splits_are_errors),
        cmocka_unit_test(transposed_convolutions_go_by_phases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
