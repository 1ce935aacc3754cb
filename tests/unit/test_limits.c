/* Properties of plans that hold whatever their times are, of the operators of benchmarks/limits and
 * of the workload sets: none is predicted to be faster than its floor, what gives the planner more
 * freedom makes none slower, and what means the same takes as long.  */
#include "base/file.h"
#include "effort.h"
#include "roller.h"
#include "workload.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const files[] = {"convolution", "gather", "product", "rows"};
enum { FILES = sizeof files / sizeof *files };

static RollerEstimate estimate_of(RollerCtx *ctx, const RollerProfile *profile, const char *text,
                                  const char *op) {
    RollerParseOptions o = {.struct_size = sizeof o, .op = op};
    RollerEstimate e = {.struct_size = sizeof e};
    RollerOp *parsed;
    RollerPlans *plans = NULL;
    if (roller_parse(ctx, text, strlen(text), "t", &o, &parsed) ||
        roller_plan(ctx, parsed, profile, NULL, &plans))
        fail_msg("%s: %s", op ? op : text, roller_error(ctx)->message);
    roller_plan_estimate(roller_plans_get(plans, 0), &e);
    roller_plans_destroy(plans);
    roller_op_destroy(parsed);
    return e;
}

static void none_is_below_its_floor(void **state) {
    static const char *const profiles[] = {"h200", "a100", "rtx4090", "v100"};
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    RollerCtx *ctx;
    (void)state;
    assert_int_equal(roller_ctx_create(NULL, &ctx), ROLLER_OK);
    for (int f = 0; f < FILES; f++) {
        const char *const *op;
        char *text;
        size_t len;
        int n;
        assert_int_equal(file_read(a, &d, arena_printf(a, "benchmarks/limits/%s.te", files[f]),
                                   1 << 20, &text, &len), ST_OK);
        assert_int_equal(roller_parse_names(ctx, text, len, "t", NULL, &op, &n), ROLLER_OK);
        const char **name = ARENA_ARRAY(a, const char *, n);
        for (int i = 0; i < n; i++) name[i] = arena_strdup(a, op[i]);
        for (int k = 0; k < 4; k++) {
            RollerProfile *profile;
            assert_int_equal(roller_profile_load(ctx, profiles[k], &profile), ROLLER_OK);
            for (int i = 0; i < n; i++) {
                RollerEstimate e = estimate_of(ctx, profile, text, name[i]);
                if (e.us < e.floor_us)
                    fail_msg("%s on %s: %g us, floor %g", name[i], profiles[k], e.us, e.floor_us);
            }
            roller_profile_destroy(profile);
        }
    }
    roller_ctx_destroy(ctx);
    arena_destroy(a);
}

/* The text with `freedom` behind each statement, or each that sums.  */
static const char *freed(Arena *a, const char *text, const char *freedom, bool all) {
    Buf out = buf_new(a);
    const char *from = strchr(text, '{');
    buf_printf(&out, "%.*s", (int)(from - text), text);
    for (const char *end; (end = strchr(from, ';')); from = end + 1) {
        const char *sum = strstr(from, "+="), *named = strstr(from, "sum[");
        bool sums = (sum && sum < end) || (named && named < end);
        buf_printf(&out, "%.*s%s;", (int)(end - from), from, all || sums ? freedom : "");
    }
    buf_puts(&out, from);
    return buf_str(&out);
}

/* Programs are ranked by predicted time and a hundredth of what pipes are asked for (rank.c).  */
static double ranked_us(const RollerEstimate *e) {
    double work = 0, issue = 0;
    for (int i = 0; i < e->n_terms; i++) {
        const char *term = e->term[i];
        bool pipe = !strcmp(term, "dram") || !strcmp(term, "l2") || !strcmp(term, "smem");
        if (pipe) work += e->term_us[i];
        if (!strcmp(term, "compute") || !strcmp(term, "issue")) issue = fmax(issue, e->term_us[i]);
    }
    return e->us + (work + issue) / 100;
}

/* With a freedom a plan is faster, or as fast as far as the model can tell and asks for less.  */
static void assert_no_slower(RollerCtx *ctx, Arena *a, const RollerProfile *profile,
                             const char *name, const char *text) {
    static const char *const freedom[] = {" @tf32", " @fp32x3", " @fast"};
    RollerEstimate e = estimate_of(ctx, profile, text, NULL);
    for (int i = 0; i < 3; i++) {
        RollerEstimate f = estimate_of(ctx, profile, freed(a, text, freedom[i], i == 2), NULL);
        if (f.us > e.us * 1.0001 && ranked_us(&f) > ranked_us(&e) * 1.0001)
            fail_msg("%s: %g us, with%s %g\n%s", name, e.us, freedom[i], f.us, text);
    }
}

/* A map before a product, and a pooling behind it: with a freedom they once were kernels of their
 * own.  */
static const char scaled[] =
    "op scaled(X: f32[128,32,256,256], s: f32[32], W: f32[64,32]) -> Y: f32[128,64,128,128] {\n"
    "  t[n,c,h,w] = max(X[n,c,h,w] * s[c], 0);\n"
    "  y[n,f,h,w] += t[n,c,h,w] * W[f,c];\n"
    "  Y[n,f,p,q] = sum[i,j](y[n,f,2*p+i,2*q+j]) / 4 where i in 2, j in 2;\n}\n";

static void no_freedom_makes_a_plan_slower(void **state) {
    static const char *const sets[] = {"roller119", "ansor", "bolt", "rowops"};
    enum { EVERY = 9 };
    (void)state;
    for (int k = 0; k < 2; k++) {
        Arena *a = arena_create(NULL);
        Diag d = diag_new(a);
        RollerCtx *ctx;
        RollerProfile *profile;
        assert_int_equal(roller_ctx_create(NULL, &ctx), ROLLER_OK);
        assert_int_equal(roller_profile_load(ctx, k ? "a100" : "h100", &profile), ROLLER_OK);
        assert_no_slower(ctx, a, profile, "scaled", scaled);
        for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
            WorkloadSet set;
            assert_int_equal(workload_read(a, &d, arena_printf(a, "benchmarks/workloads/%s.csv",
                                                               sets[s]), &set), ST_OK);
            for (int i = 0; i < set.n; i += effort_long() ? 1 : EVERY) {
                Buf te = buf_new(a);
                if (strcmp(set.row[i].dtype, "f32") == 0 && workload_te(&set.row[i], NULL, &te))
                    assert_no_slower(ctx, a, profile, set.row[i].id, buf_str(&te));
            }
        }
        roller_profile_destroy(profile);
        roller_ctx_destroy(ctx);
        arena_destroy(a);
    }
}

/* A softmax whose exponential has a name, and one that writes it twice.  */
static void one_meaning_takes_one_time(void **state) {
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    RollerCtx *ctx;
    RollerProfile *profile;
    char *text;
    size_t len;
    (void)state;
    assert_int_equal(roller_ctx_create(NULL, &ctx), ROLLER_OK);
    assert_int_equal(roller_profile_load(ctx, "a100", &profile), ROLLER_OK);
    assert_int_equal(file_read(a, &d, "benchmarks/limits/rows.te", 1 << 20, &text, &len), ST_OK);
    double named = estimate_of(ctx, profile, text, "softmax_named").us;
    assert_true(named == estimate_of(ctx, profile, text, "softmax_twice").us);
    roller_profile_destroy(profile);
    roller_ctx_destroy(ctx);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(none_is_below_its_floor),
                                       cmocka_unit_test(no_freedom_makes_a_plan_slower),
                                       cmocka_unit_test(one_meaning_takes_one_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
