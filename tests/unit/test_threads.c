/* libroller from eight threads at once, as a server calls it: a context for each, profiles, ops,
 * plans and kernels shared.  `make tsan` runs it under ThreadSanitizer.  */
#include "roller.h"
#include "workers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 8 };

static const char *const ops[] = {
    "op mm(A: f32[24,20], B: f32[20,16]) -> C: f32[24,16] { C[m,n] = sum[k](A[m,k] * B[k,n]); }",
    "param n = 1..64;\nop sm(X: f32[n,32]) -> Y: f32[n,32] {\n"
    "    M[i] = max[j](X[i,j]);\n    S[i] = sum[j](exp(X[i,j] - M[i]));\n"
    "    Y[i,j] = exp(X[i,j] - M[i]) / S[i];\n}",
};
enum { OPS = sizeof ops / sizeof *ops };
static const char wrong[] = "op f(A: f32[4]) -> C: f32[4] { C[i] = A[j]; }";

/* What threads share; made by one of them.  */
typedef struct {
    RollerProfile *profile;
    RollerOp *op[OPS];
    RollerPlans *plans[OPS];
    RollerKernel *kernel[OPS];
} Shared;

static void must(const RollerCtx *ctx, RollerStatus s) {
    if (s) print_error("%s", roller_error(ctx)->rendered);
    assert_int_equal(s, ROLLER_OK);
}

static RollerCtx *context(void) {
    RollerCtxOptions o = {.struct_size = sizeof o, .profile_path = "profiles", .threads = 2};
    RollerCtx *ctx;
    must(NULL, roller_ctx_create(&o, &ctx));
    return ctx;
}

static void make(RollerCtx *ctx, const RollerProfile *p, int i, Shared *out) {
    must(ctx, roller_parse(ctx, ops[i], strlen(ops[i]), "test.te", NULL, &out->op[i]));
    must(ctx, roller_plan(ctx, out->op[i], p, NULL, &out->plans[i]));
    must(ctx, roller_build(ctx, roller_plans_get(out->plans[i], 0), NULL, &out->kernel[i]));
}

static void destroy(Shared *s, int i) {
    roller_op_destroy(s->op[i]);
    roller_kernel_destroy(s->kernel[i]);
    roller_plans_destroy(s->plans[i]);
}

static void same_artefact(const RollerKernel *a, const RollerKernel *b, RollerArtefact what) {
    const void *x, *y;
    size_t n, m;
    assert_int_equal(roller_kernel_get(a, what, &x, &n), ROLLER_OK);
    assert_int_equal(roller_kernel_get(b, what, &y, &m), ROLLER_OK);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
}

/* Everything of its own, then everything from what is shared: the same comes out.  */
static bool serve(void *user, int64_t n, int worker) {
    (void)worker;
    const Shared *shared = user;
    Shared own;
    RollerCtx *ctx = context();
    RollerOp *bad;
    RollerPlans *again;
    RollerCheckReport report = {.struct_size = sizeof report};
    int i = (int)n % OPS;
    const char *text, *back;
    size_t len, length;
    must(ctx, roller_profile_load(ctx, "a100", &own.profile));
    make(ctx, n & 2 ? own.profile : shared->profile, i, &own);
    same_artefact(own.kernel[i], shared->kernel[i], ROLLER_CU);
    same_artefact(own.kernel[i], shared->kernel[i], ROLLER_PTX);
    assert_int_equal(roller_parse(ctx, wrong, strlen(wrong), "wrong.te", NULL, &bad), ROLLER_TE);
    assert_string_equal(roller_error(ctx)->tag, "axis");
    roller_profile_destroy(own.profile);
    const RollerPlan *plan = roller_plans_get(shared->plans[i], 0);
    must(ctx, roller_plan_text(plan, ROLLER_PLAN, &text, &len));
    must(ctx, roller_plan_read(ctx, shared->op[i], shared->profile, text, len, "plan", NULL,
                               &again));
    must(ctx, roller_plan_text(roller_plans_get(again, 0), ROLLER_PLAN, &back, &length));
    assert_string_equal(text, back);
    roller_plans_destroy(again);
    RollerCheckOptions o = {.struct_size = sizeof o, .seed = (uint64_t)n + 1};
    must(ctx, roller_check(ctx, n & 1 ? shared->kernel[i] : own.kernel[i], &o, &report));
    assert_true(report.ok);
    destroy(&own, i);
    roller_ctx_destroy(ctx);
    return true;
}

static void test_shared(void **state) {
    (void)state;
    Shared s;
    RollerCtx *ctx = context();
    must(ctx, roller_profile_load(ctx, "a100", &s.profile));
    for (int i = 0; i < OPS; i++) make(ctx, s.profile, i, &s);
    assert_true(workers_for(THREADS, THREADS, serve, &s));
    for (int i = 0; i < OPS; i++) destroy(&s, i);
    roller_profile_destroy(s.profile);
    roller_ctx_destroy(ctx);
}

/* A handle may go in another thread than it came from, and before what it was made of.  */
static bool drop(void *user, int64_t i, int worker) {
    (void)worker;
    Shared *s = user;
    if (i == 0) roller_profile_destroy(s->profile);
    else if (i % 3 == 0) roller_op_destroy(s->op[(i - 1) / 3]);
    else if (i % 3 == 1) roller_plans_destroy(s->plans[(i - 1) / 3]);
    else roller_kernel_destroy(s->kernel[(i - 1) / 3]);
    return true;
}

static void test_dropped(void **state) {
    (void)state;
    Shared s;
    RollerCtx *ctx = context();
    must(ctx, roller_profile_load(ctx, "a100", &s.profile));
    for (int i = 0; i < OPS; i++) make(ctx, s.profile, i, &s);
    roller_ctx_destroy(ctx);
    assert_true(workers_for(THREADS, 1 + 3 * OPS, drop, &s));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shared),
                                       cmocka_unit_test(test_dropped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
