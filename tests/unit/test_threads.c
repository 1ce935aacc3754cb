/* libroller from eight threads at once, as a server calls it: a context for each, profiles, ops,
 * plans and kernels shared; each plans, builds, checks in the simulator and on a device, loads and
 * launches.  `make tsan` runs it under ThreadSanitizer.  */
#include "hal/cuda.h"
#include "roller.h"
#include "simulated.h"
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

/* ---- on the device that all threads share ---- */
enum { M = 24, N = 16, K = 20 };

static RollerTensor tensor(CudaAddress at, int64_t *shape) {
    RollerTensor t = {.data = (void *)(uintptr_t)at, .ndim = 2, .shape = shape};
    t.device.type = 2;
    t.dtype.code = 2;
    t.dtype.bits = 32;
    t.dtype.lanes = 1;
    return t;
}

static void good(Status s) { assert_int_equal(s, ST_OK); }

/* Small integers, different in each thread, so that the product is exact and its own.  */
static void launch(const RollerExec *e, int seed) {
    float a[M * K], b[K * N], c[M * N];
    int64_t shape[3][2] = {{M, K}, {K, N}, {M, N}};
    Arena *arena = arena_create(NULL);
    Diag d = diag_new(arena);
    Cuda *cuda;
    CudaContext *x;
    CudaAddress at[3];
    for (int i = 0; i < M * K; i++) a[i] = (float)((i + seed) % 7 - 3);
    for (int i = 0; i < K * N; i++) b[i] = (float)((i * seed) % 5 - 2);
    good(cuda_open(arena, &d, NULL, &cuda));
    good(cuda_context(cuda, arena, &d, 0, &x));
    good(cuda_enter(x, arena, &d));
    good(cuda_alloc(x, arena, &d, sizeof a, &at[0]));
    good(cuda_alloc(x, arena, &d, sizeof b, &at[1]));
    good(cuda_alloc(x, arena, &d, sizeof c, &at[2]));
    good(cuda_write(x, &d, at[0], a, sizeof a));
    good(cuda_write(x, &d, at[1], b, sizeof b));
    RollerTensor in[2] = {tensor(at[0], shape[0]), tensor(at[1], shape[1])};
    RollerTensor out = tensor(at[2], shape[2]);
    assert_int_equal(roller_launch(e, in, 2, &out, 1, NULL, 0, NULL), ROLLER_OK);
    good(cuda_synchronize(x, &d));
    good(cuda_read(x, &d, c, at[2], sizeof c));
    for (int m = 0; m < M; m++) {
        for (int n = 0; n < N; n++) {
            float want = 0;
            for (int k = 0; k < K; k++) want += a[m * K + k] * b[k * N + n];
            assert_true(c[m * N + n] == want);
        }
    }
    arena_destroy(arena);
}

static void on_device(RollerCtx *ctx, const RollerKernel *own, const RollerKernel *shared, int n) {
    const RollerKernel *const both[] = {own, shared};
    RollerCheckReport report = {.struct_size = sizeof report};
    RollerCheckOptions o = {.struct_size = sizeof o, .device = "0"};
    RollerExec *e[2];
    must(NULL, roller_load_many(both, 2, 0, e));
    launch(e[0], n + 1);
    launch(e[1], n + 2);
    if (n % 4 == 0) must(ctx, roller_check(ctx, own, &o, &report));
    roller_exec_destroy(e[0]);
    launch(e[1], n + 3);
    roller_exec_destroy(e[1]);
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
    if (i == 0) on_device(ctx, own.kernel[0], shared->kernel[0], (int)n);
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
    simulated_setup("profiles/a100.json");
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shared),
                                       cmocka_unit_test(test_dropped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
