/* roller.h as a framework uses it: lifetimes, errors, options, threads, exhausted memory.  */
#include "driver/artefact/artefact.h"
#include "roller.h"
#include "workers.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char matmul[] =
    "param M = 64, N = 48, K = 32;\n"
    "op matmul(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] { C[m,n] += A[m,k] * B[k,n]; }\n";

enum { DATA_SETS = 4 };        /* of a check */

static RollerCtxOptions options(void) {
    return (RollerCtxOptions){.struct_size = sizeof(RollerCtxOptions), .profile_path = "profiles",
                              .threads = 1};
}

static RollerCtx *context(void) {
    RollerCtxOptions o = options();
    RollerCtx *ctx;
    assert_int_equal(roller_ctx_create(&o, &ctx), ROLLER_OK);
    return ctx;
}

static RollerOp *parse(RollerCtx *ctx, const char *text) {
    RollerOp *op;
    RollerStatus s = roller_parse(ctx, text, strlen(text), "test.te", NULL, &op);
    if (s) print_error("%s", roller_error(ctx)->rendered);
    assert_int_equal(s, ROLLER_OK);
    return op;
}

static RollerProfile *profile(RollerCtx *ctx, const char *name) {
    RollerProfile *p;
    assert_int_equal(roller_profile_load(ctx, name, &p), ROLLER_OK);
    return p;
}

/* Handles destroyed in every order: children keep what they need.  */
static void any_order_of_destruction(void **state) {
    (void)state;
    for (int order = 0; order < 24; order++) {
        RollerCtx *ctx = context();
        RollerProfile *p = profile(ctx, "a100");
        RollerOp *op = parse(ctx, matmul);
        RollerPlans *plans;
        RollerKernel *k;
        assert_int_equal(roller_plan(ctx, op, p, NULL, &plans), ROLLER_OK);
        assert_int_equal(roller_build(ctx, roller_plans_get(plans, 0), NULL, &k), ROLLER_OK);
        int rest = order;
        bool done[4] = {false};
        for (int left = 4; left > 0; left--) {
            int pick = rest % left, i = 0;
            rest /= left;
            for (;; i++)
                if (!done[i] && pick-- == 0) break;
            done[i] = true;
            if (i == 0) roller_profile_destroy(p);
            if (i == 1) roller_op_destroy(op);
            if (i == 2) roller_plans_destroy(plans);
            if (i == 3) {
                const void *cu;
                size_t len;
                assert_int_equal(roller_kernel_get(k, ROLLER_CU, &cu, &len), ROLLER_OK);
                assert_true(len > 100 && strlen(cu) == len);
                assert_non_null(roller_kernel_plan(k));
                roller_kernel_destroy(k);
            }
        }
        roller_ctx_destroy(ctx);
    }
}

static void null_is_destroyed(void **state) {
    (void)state;
    roller_ctx_destroy(NULL);
    roller_profile_destroy(NULL);
    roller_op_destroy(NULL);
    roller_plans_destroy(NULL);
    roller_kernel_destroy(NULL);
}

static void first_error_is_kept_until_the_next_call(void **state) {
    (void)state;
    RollerCtx *ctx = context();
    RollerOp *op;
    const char bad[] = "op f(A: f32[4]) -> C: f32[4] { C[i] = A[j]; }";
    assert_int_equal(roller_parse(ctx, bad, strlen(bad), "bad.te", NULL, &op), ROLLER_TE);
    assert_null(op);
    const RollerError *e = roller_error(ctx);
    assert_non_null(e);
    assert_int_equal(e->status, ROLLER_TE);
    assert_string_equal(e->tag, "axis");
    assert_string_equal(e->file, "bad.te");
    assert_int_equal(e->line, 1);
    assert_int_equal(e->column, 41);
    assert_non_null(e->hint);
    assert_non_null(strstr(e->rendered, "bad.te:1:41: error: "));
    assert_int_equal(roller_status_exit(e->status), 1);
    op = parse(ctx, matmul);
    assert_null(roller_error(ctx));
    roller_op_destroy(op);
    roller_ctx_destroy(ctx);
}

static void a_profile_keeps_its_name(void **state) {
    (void)state;
    RollerCtx *ctx = context();
    RollerProfile *p;
    char name[] = "profiles/h200.json";
    assert_int_equal(roller_profile_load(ctx, name, &p), ROLLER_OK);
    memset(name, 'x', sizeof name - 1);
    assert_string_equal(roller_profile_file(p), "profiles/h200.json");
    roller_profile_destroy(p);
    roller_ctx_destroy(ctx);
}

static void unknown_names_are_listed(void **state) {
    (void)state;
    RollerCtx *ctx = context();
    RollerProfile *p;
    assert_int_not_equal(roller_profile_load(ctx, "h300", &p), ROLLER_OK);
    assert_null(p);
    const RollerError *e = roller_error(ctx);
    assert_non_null(strstr(e->rendered, "h200"));
    roller_ctx_destroy(ctx);
}

static void arguments_and_sizes_are_described(void **state) {
    (void)state;
    RollerCtx *ctx = context();
    RollerOp *op = parse(ctx, "param M = 1..64 % 8, K = 16;\n"
                              "op f(X: f16[M,K], s: f32) -> Y: f32[M] {\n"
                              "  Y[m] = sum[k](X[m,k]) * s;\n}\n");
    assert_int_equal(roller_op_args(op), 3);
    RollerArg arg = {.struct_size = sizeof arg};
    assert_int_equal(roller_op_arg(op, 0, &arg), ROLLER_OK);
    assert_string_equal(arg.name, "X");
    assert_string_equal(arg.dtype, "f16");
    assert_int_equal(arg.rank, 2);
    assert_int_equal(arg.shape[0], 64);
    assert_int_equal(arg.strides[0], 16);
    assert_int_equal(arg.size[0], 0);
    assert_int_equal(arg.size[1], -1);
    assert_int_equal(arg.code, 2);
    assert_int_equal(arg.bits, 16);
    assert_int_equal(roller_op_arg_at(op, 0, (int64_t[]){24, 16}, &arg), ROLLER_OK);
    assert_int_equal(arg.shape[0], 24);
    assert_int_equal(arg.shape[1], 16);
    assert_int_equal(roller_op_arg_at(op, 3, (int64_t[]){24, 16}, &arg), ROLLER_USAGE);
    assert_int_equal(roller_op_arg(op, 1, &arg), ROLLER_OK);
    assert_int_equal(arg.role, ROLLER_SCALAR);
    assert_int_equal(roller_op_arg(op, 2, &arg), ROLLER_OK);
    assert_int_equal(arg.role, ROLLER_OUTPUT);
    assert_int_equal(roller_op_arg(op, 3, &arg), ROLLER_USAGE);
    assert_int_equal(roller_op_sizes(op), 2);
    RollerSize size = {.struct_size = sizeof size};
    assert_int_equal(roller_op_size(op, 0, &size), ROLLER_OK);
    assert_string_equal(size.name, "M");
    assert_true(size.runtime);
    assert_int_equal(size.min, 8);
    assert_int_equal(size.value, 64);
    assert_int_equal(size.multiple, 8);
    roller_op_destroy(op);
    roller_ctx_destroy(ctx);
}

/* A caller built against an older header knows fewer fields.  */
static void short_structs_are_respected(void **state) {
    (void)state;
    RollerCtx *ctx = context();
    RollerOp *op = parse(ctx, matmul);
    struct {
        RollerArg arg;
        char guard[64];
    } old;
    memset(&old, 0x5a, sizeof old);
    old.arg.struct_size = offsetof(RollerArg, rank);
    assert_int_equal(roller_op_arg(op, 0, &old.arg), ROLLER_OK);
    assert_string_equal(old.arg.name, "A");
    const unsigned char *after = (const unsigned char *)&old + offsetof(RollerArg, rank);
    for (size_t i = 0; i < sizeof old - offsetof(RollerArg, rank); i++)
        assert_int_equal(after[i], 0x5a);
    roller_op_destroy(op);
    roller_ctx_destroy(ctx);
}

static void plan_text_reads_back(void **state) {
    (void)state;
    RollerCtx *ctx = context();
    RollerProfile *p = profile(ctx, "h200");
    RollerOp *op = parse(ctx, matmul);
    RollerPlanOptions o = {.struct_size = sizeof o, .top = 5};
    RollerPlans *plans, *again;
    assert_int_equal(roller_plan(ctx, op, p, &o, &plans), ROLLER_OK);
    assert_int_equal(roller_plans_count(plans), 5);
    for (size_t i = 0; i < 5; i++) {
        const char *text, *text2;
        size_t len;
        roller_plan_text(roller_plans_get(plans, i), ROLLER_PLAN, &text, &len);
        assert_int_equal(roller_plan_read(ctx, op, p, text, len, "p.plan", NULL, &again),
                         ROLLER_OK);
        roller_plan_text(roller_plans_get(again, 0), ROLLER_PLAN, &text2, &len);
        assert_string_equal(text, text2);
        RollerEstimate a = {.struct_size = sizeof a}, b = a;
        roller_plan_estimate(roller_plans_get(plans, i), &a);
        roller_plan_estimate(roller_plans_get(again, 0), &b);
        assert_true(a.us == b.us);
        roller_plans_destroy(again);
    }
    assert_null(roller_plans_get(plans, 5));
    const char junk[] = "roller-plan 1\nkernel 0 nonsense\n";
    assert_int_equal(roller_plan_read(ctx, op, p, junk, strlen(junk), "p.plan", NULL, &again),
                     ROLLER_PLAN_TEXT);
    assert_null(again);
    roller_plans_destroy(plans);
    roller_op_destroy(op);
    roller_profile_destroy(p);
    roller_ctx_destroy(ctx);
}

/* Kernels are compiled at level 3 of ptxas, at 2 on request, from the same plan; they tell it.  */
static void fast_compile_is_a_choice(void **state) {
    (void)state;
    static const char wide[] = "op f(A: bf16[512,512], B: bf16[512,512]) -> C: bf16[512,512]"
                               " { C[m,n] += A[m,k] * B[n,k]; }";
    RollerCtx *ctx = context();
    RollerProfile *p = profile(ctx, "h200");
    RollerOp *op = parse(ctx, wide);
    const char *text[2];
    RollerPlans *plans[2];
    for (int fast = 0; fast <= 1; fast++) {
        RollerPlanOptions o = {.struct_size = sizeof o, .fast_compile = fast};
        RollerKernel *k;
        RollerLaunchInfo l = {.struct_size = sizeof l};
        size_t len;
        assert_int_equal(roller_plan(ctx, op, p, &o, &plans[fast]), ROLLER_OK);
        roller_plan_text(roller_plans_get(plans[fast], 0), ROLLER_PLAN, &text[fast], &len);
        assert_int_equal(roller_build(ctx, roller_plans_get(plans[fast], 0), NULL, &k), ROLLER_OK);
        roller_kernel_launch_info(k, 0, &l);
        assert_int_equal(l.level, fast ? 2 : 3);
        roller_kernel_destroy(k);
    }
    assert_string_equal(text[0], text[1]);
    for (int fast = 0; fast <= 1; fast++) roller_plans_destroy(plans[fast]);
    roller_op_destroy(op);
    roller_profile_destroy(p);
    roller_ctx_destroy(ctx);
}

static RollerKernel *compile(RollerCtx *ctx, const char *text, const char *name) {
    RollerProfile *p = profile(ctx, name);
    RollerOp *op = parse(ctx, text);
    RollerKernel *k;
    RollerStatus s = roller_compile(ctx, op, p, NULL, &k);
    if (s) print_error("%s", roller_error(ctx)->rendered);
    assert_int_equal(s, ROLLER_OK);
    roller_op_destroy(op);
    roller_profile_destroy(p);
    return k;
}

static void a_compiled_kernel_has_everything(void **state) {
    (void)state;
    RollerCtx *ctx = context();
    RollerKernel *k = compile(ctx, matmul, "h200");
    for (int what = ROLLER_CU; what <= ROLLER_LOG; what++) {
        const void *data;
        size_t len;
        assert_int_equal(roller_kernel_get(k, (RollerArtefact)what, &data, &len), ROLLER_OK);
        assert_non_null(data);
    }
    assert_true(roller_kernel_launches(k) >= 1);
    RollerLaunchInfo l = {.struct_size = sizeof l};
    assert_int_equal(roller_kernel_launch_info(k, 0, &l), ROLLER_OK);
    assert_true(l.compiled && l.registers > 0 && l.spill_bytes == 0);
    assert_int_equal(strncmp(l.symbol, "rk_", 3), 0);
    assert_int_equal(roller_kernel_launch_info(k, roller_kernel_launches(k), &l), ROLLER_USAGE);
    RollerCheckReport r = {.struct_size = sizeof r};
    assert_int_equal(roller_check(ctx, k, NULL, &r), ROLLER_OK);
    assert_true(r.ok && r.exact);
    assert_int_equal(r.compared, DATA_SETS * 64 * 48);
    assert_int_equal(r.outputs, r.compared);
    assert_string_equal(r.data, "integer, real, extreme and sparse");
    /* All elements, counted by whole pages.  */
    assert_int_equal(r.filled, DATA_SETS * (64 * 32 + 32 * 48));
    assert_int_equal(r.left_out, 0);
    roller_kernel_destroy(k);
    roller_ctx_destroy(ctx);
}

/* What a check of something huge makes and compares follows its budget.  */
static void a_budget_bounds_what_is_read(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t compared, filled;         /* at most, of a data set */
    } cases[] = {
        {"op f(X: f16[67108864]) -> Y: f16[67108864] { Y[i] = max(X[i], 0); }", 70000, 140000},
        {"op f(X: f32[2147483648]) -> Y: f32[2147483648] { Y[i] = X[i] + 1; }", 70000, 140000},
        {"op f(X: f16[32768,65536]) -> Y: f16[65536,32768] { Y[j,i] = X[i,j]; }", 70000, 500000},
        {"op f(A: f16[1048576,2048], B: f16[2048]) -> Y: f16[1048576,2048] {"
         " m[i] = max[j](A[i,j]); Y[i,j] = A[i,j] - m[i] + B[j]; }", 70000, 700000},
    };
    RollerCheckOptions o = {.struct_size = sizeof o, .budget_s = 2};
    RollerCtx *ctx = context();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        RollerKernel *k = compile(ctx, cases[i].text, "h200");
        RollerCheckReport r = {.struct_size = sizeof r};
        assert_int_equal(roller_check(ctx, k, &o, &r), ROLLER_OK);
        assert_true(r.ok && r.left_out == 0 && r.compared >= DATA_SETS && r.filled > 0);
        if (r.compared > DATA_SETS * cases[i].compared || r.filled > DATA_SETS * cases[i].filled)
            fail_msg("%lld compared, %lld made: %s", (long long)r.compared, (long long)r.filled,
                     cases[i].text);
        roller_kernel_destroy(k);
    }
    roller_ctx_destroy(ctx);
}

/* A sum over everything needs everything: what does not fit is left out, and said to be.  */
static void a_budget_leaves_out_what_needs_too_much(void **state) {
    (void)state;
    RollerCtx *ctx = context();
    RollerKernel *k = compile(ctx, "op f(X: f16[67108864]) -> Y: f32 { Y[] = sum[i](X[i]); }",
                              "h200");
    RollerCheckOptions o = {.struct_size = sizeof o, .budget_s = 0.1};
    RollerCheckReport r = {.struct_size = sizeof r};
    assert_int_equal(roller_check(ctx, k, &o, &r), ROLLER_CHECK);
    assert_true(!r.ok && r.compared == 0 && r.filled == 0 && r.left_out == r.runs);
    assert_int_equal(r.runs, DATA_SETS);
    assert_true(r.needed_s > o.budget_s);
    assert_non_null(strstr(r.text, "check: not done ("));
    assert_non_null(strstr(r.text, "--check-budget"));
    roller_kernel_destroy(k);
    roller_ctx_destroy(ctx);
}

static RollerTensor tensor(float *data, int64_t *shape) {
    RollerTensor t = {.data = data, .device = {1, 0}, .ndim = 2, .shape = shape};
    t.dtype.code = 2;
    t.dtype.bits = 32;
    t.dtype.lanes = 1;
    return t;
}

/* Integers: the definition's values are those of the kernel; one that is off is told.  */
static void judges_given_outputs(RollerCtx *ctx, const RollerTensor *in, const RollerTensor *out) {
    RollerOp *op;
    float *made = calloc(64 * 48, 4), *c = out->data;
    RollerTensor own = *out;
    RollerJudgement report = {.struct_size = sizeof report};
    own.data = made;
    assert_int_equal(roller_parse(ctx, matmul, strlen(matmul), NULL, NULL, &op), ROLLER_OK);
    assert_int_equal(roller_evaluate(ctx, op, in, 2, &own, 1), ROLLER_OK);
    assert_memory_equal(made, c, 64 * 48 * 4);
    made[77] += 1;
    assert_int_equal(roller_judge(ctx, op, in, 2, &own, 1, &report), ROLLER_OK);
    assert_int_equal(report.compared, 64 * 48);
    assert_int_equal(report.wrong, 1);
    assert_true(report.excess > 1);
    assert_int_equal(roller_evaluate(ctx, op, in, 1, &own, 1), ROLLER_ARGS);
    roller_op_destroy(op);
    free(made);
}

static void simulates_the_callers_data(void **state) {
    (void)state;
    RollerCtx *ctx = context();
    RollerKernel *k = compile(ctx, matmul, "a100");
    float *a = calloc(64 * 32, 4), *b = calloc(32 * 48, 4), *c = calloc(64 * 48, 4);
    for (int i = 0; i < 64 * 32; i++) a[i] = (float)(i * 7 % 11 - 5);
    for (int i = 0; i < 32 * 48; i++) b[i] = (float)(i * 5 % 13 - 6);
    int64_t sa[] = {64, 32}, sb[] = {32, 48}, sc[] = {64, 48};
    RollerTensor in[] = {tensor(a, sa), tensor(b, sb)}, out = tensor(c, sc);
    assert_int_equal(roller_simulate(ctx, k, in, 2, &out, 1), ROLLER_OK);
    for (int m = 0; m < 64; m++)
        for (int n = 0; n < 48; n++) {
            float want = 0;
            for (int x = 0; x < 32; x++) want += a[m * 32 + x] * b[x * 48 + n];
            assert_true(c[m * 48 + n] == want);
        }
    judges_given_outputs(ctx, in, &out);
    assert_int_equal(roller_simulate(ctx, k, in, 1, &out, 1), ROLLER_ARGS);
    in[1].dtype.bits = 16;
    assert_int_equal(roller_simulate(ctx, k, in, 2, &out, 1), ROLLER_DTYPE);
    in[1].dtype.bits = 32;
    sb[0] = 31;
    assert_int_equal(roller_simulate(ctx, k, in, 2, &out, 1), ROLLER_SIZE);
    sb[0] = 32;
    int64_t strides[] = {49, 1};
    out.strides = strides;
    assert_int_equal(roller_simulate(ctx, k, in, 2, &out, 1), ROLLER_STRIDE);
    out.strides = NULL;
    out.data = NULL;
    assert_int_equal(roller_simulate(ctx, k, in, 2, &out, 1), ROLLER_NULLPTR);
    free(a);
    free(b);
    free(c);
    roller_kernel_destroy(k);
    roller_ctx_destroy(ctx);
}

/* ---- independent contexts in threads give the same bytes ---- */
static bool compile_in_thread(void *user, int64_t i, int worker) {
    (void)worker;
    RollerCtx *ctx = context();
    RollerKernel *k = compile(ctx, matmul, "h200");
    const void *text;
    size_t len;
    roller_kernel_get(k, ROLLER_CU, &text, &len);
    char *copy = malloc(len + 1);
    assert_non_null(copy);
    memcpy(copy, text, len + 1);
    ((char **)user)[i] = copy;
    roller_kernel_destroy(k);
    roller_ctx_destroy(ctx);
    return true;
}

static void contexts_are_independent(void **state) {
    (void)state;
    enum { THREADS = 4 };
    char *text[THREADS];
    assert_true(workers_for(THREADS, THREADS, compile_in_thread, text));
    for (int i = 1; i < THREADS; i++) assert_string_equal(text[0], text[i]);
    for (int i = 0; i < THREADS; i++) free(text[i]);
}

/* ---- the n-th allocation fails, for every n ---- */
typedef struct {
    int64_t asked, fail, live, bytes;
} Memory;

static void *limited_alloc(size_t size, void *user) {
    Memory *m = user;
    if (++m->asked == m->fail) return NULL;
    void *p = malloc(size);
    m->live += p != NULL;
    m->bytes += (int64_t)malloc_usable_size(p);
    return p;
}

static void limited_free(void *p, void *user) {
    ((Memory *)user)->live -= p != NULL;
    ((Memory *)user)->bytes -= (int64_t)malloc_usable_size(p);
    free(p);
}

static RollerStatus whole_use(Memory *m) {
    RollerCtxOptions o = options();
    o.alloc = limited_alloc;
    o.free = limited_free;
    o.alloc_user = m;
    RollerCtx *ctx = NULL;
    RollerProfile *p = NULL;
    RollerOp *op = NULL;
    RollerPlans *plans = NULL;
    RollerKernel *k = NULL;
    RollerStatus s = roller_ctx_create(&o, &ctx);
    if (!s) s = roller_profile_load(ctx, "tiny", &p);
    if (!s) s = roller_parse(ctx, matmul, strlen(matmul), "m.te", NULL, &op);
    if (!s) s = roller_plan(ctx, op, p, NULL, &plans);
    if (!s) s = roller_build(ctx, roller_plans_get(plans, 0), NULL, &k);
    if (s && ctx)
        assert_non_null(strstr(roller_error(ctx)->rendered, "error: out of memory"));
    roller_kernel_destroy(k);
    roller_plans_destroy(plans);
    roller_op_destroy(op);
    roller_profile_destroy(p);
    roller_ctx_destroy(ctx);
    return s;
}

static void every_failed_allocation_is_reported(void **state) {
    (void)state;
    Memory all = {0};
    assert_int_equal(whole_use(&all), ROLLER_OK);
    assert_int_equal(all.live, 0);
    assert_true(all.asked > 20);
    for (int64_t n = 1; n <= all.asked; n++) {
        Memory m = {.fail = n};
        assert_int_equal(whole_use(&m), ROLLER_NOMEM);
        assert_int_equal(m.live, 0);
    }
}

/* A graph of a framework has hundreds of ops: what only parsing needs is not kept.  */
static void an_op_keeps_little(void **state) {
    (void)state;
    enum { OPS = 8 };
    Memory m = {0};
    RollerCtxOptions o = options();
    o.alloc = limited_alloc;
    o.free = limited_free;
    o.alloc_user = &m;
    RollerCtx *ctx;
    assert_int_equal(roller_ctx_create(&o, &ctx), ROLLER_OK);
    for (int i = 0; i < 3; i++) roller_op_destroy(parse(ctx, matmul));   /* memory of calls grows */
    int64_t before = m.bytes;
    RollerOp *op[OPS];
    for (int i = 0; i < OPS; i++) op[i] = parse(ctx, matmul);
    assert_in_range(m.bytes - before, 1, OPS * 32 * 1024);
    for (int i = 0; i < OPS; i++) roller_op_destroy(op[i]);
    assert_int_equal(m.bytes, before);
    roller_ctx_destroy(ctx);
}

static void the_version_is_one(void **state) {
    (void)state;
    assert_int_equal(roller_version(), ROLLER_VERSION_HEX);
    for (int s = ROLLER_OK; s <= ROLLER_CANCELLED; s++)
        assert_true(strlen(roller_status_name((RollerStatus)s)) > 1);
}

/* ---- kernel groups ---- */
static void groups_of_a_plan(void **state) {
    (void)state;
    RollerCtx *ctx = context();
    RollerOp *op = parse(ctx, "op f(A: f16[512,512], B: f16[512,512], x: f32[512,64]) -> "
                              "(C: f16[512,512], m: f32[512], s: f32[512]) {"
                              " t[i,j] += A[i,k] * B[k,j]; C[i,j] = max(t[i,j], 0);"
                              " m[i] max= x[i,r]; s[i] = sum[r](exp(x[i,r] - m[i])); }");
    RollerProfile *h200 = profile(ctx, "h200");
    RollerPlans *plans;
    assert_int_equal(roller_plan(ctx, op, h200, NULL, &plans), ROLLER_OK);
    const RollerPlan *plan = roller_plans_get(plans, 0);
    RollerEstimate all = {.struct_size = sizeof all};
    RollerGroup g = {.struct_size = sizeof g};
    assert_int_equal(roller_plan_estimate(plan, &all), ROLLER_OK);
    assert_int_equal(roller_plan_groups(plan), 2);
    double us = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(roller_plan_group(ctx, plan, i, &g), ROLLER_OK);
        bool product = strcmp(g.skeleton, "contract") == 0;
        assert_string_equal(g.makes, product ? "t C" : "m s");
        assert_null(g.refusal);
        us += g.us;
    }
    assert_true(us > 0.999 * all.us && us < 1.001 * all.us);
    const char *svg;
    size_t len;
    assert_int_equal(roller_plan_text(plan, ROLLER_PLAN_PICTURE, &svg, &len), ROLLER_OK);
    assert_true(len > 1000 && strncmp(svg, "<svg", 4) == 0);
    assert_non_null(strstr(svg, ">512 x 512</text>"));
    assert_string_equal(svg + len - 7, "</svg>\n");
    assert_int_equal(roller_plan_text(plan, ROLLER_PLAN_TIMELINE, &svg, &len), ROLLER_OK);
    assert_true(len > 1000 && strncmp(svg, "<svg", 4) == 0);
    assert_non_null(strstr(svg, ">tile 0</text>"));
    assert_string_equal(svg + len - 7, "</svg>\n");
    assert_int_equal(roller_plan_group(ctx, plan, 2, &g), ROLLER_USAGE);
    assert_int_equal(roller_plan_group(ctx, plan, -1, &g), ROLLER_USAGE);
    roller_plans_destroy(plans);
    roller_op_destroy(op);
    roller_profile_destroy(h200);
    roller_ctx_destroy(ctx);
}

/* A product that is computed in f32 is told what a matrix unit would take.  */
static void products_without_matrix_units(void **state) {
    (void)state;
    RollerCtx *ctx = context();
    RollerOp *op = parse(ctx, "op f(A: f16[512,512], B: f16[512,512]) -> C: f16[512,512] {"
                              " C[i,j] += (A[i,k] + 2) * B[k,j]; }");
    RollerProfile *h200 = profile(ctx, "h200");
    RollerPlans *plans;
    RollerGroup g = {.struct_size = sizeof g};
    assert_int_equal(roller_plan(ctx, op, h200, NULL, &plans), ROLLER_OK);
    assert_int_equal(roller_plan_group(ctx, roller_plans_get(plans, 0), 0, &g), ROLLER_OK);
    assert_non_null(g.refusal);
    assert_non_null(strstr(g.refusal, "f16(...)"));
    roller_plans_destroy(plans);
    roller_op_destroy(op);
    roller_profile_destroy(h200);
    roller_ctx_destroy(ctx);
}

/* ---- at given sizes ---- */
static void given_sizes(void **state) {
    (void)state;
    RollerCtx *ctx = context();
    RollerOp *op = parse(ctx, "param M = 8..4096 % 8; op f(A: f16[M,512], B: f16[512,256])"
                              " -> C: f16[M,256] { C[m,n] += A[m,k] * B[k,n]; }");
    RollerProfile *h200 = profile(ctx, "h200");
    RollerKernel *k;
    assert_int_equal(roller_compile(ctx, op, h200, NULL, &k), ROLLER_OK);
    const RollerPlan *plan = roller_kernel_plan(k);
    const char *most = "M=4096", *some = "M=24", *bad = "M=20", *other = "K=20";
    RollerEstimate all = {.struct_size = sizeof all}, at = all;
    assert_int_equal(roller_plan_estimate(plan, &all), ROLLER_OK);
    assert_int_equal(roller_plan_estimate_at(ctx, plan, &most, 1, &at), ROLLER_OK);
    assert_true(at.us == all.us);
    assert_int_equal(roller_plan_estimate_at(ctx, plan, NULL, 0, &at), ROLLER_OK);
    assert_true(at.us == all.us);
    assert_int_equal(roller_plan_estimate_at(ctx, plan, &some, 1, &at), ROLLER_OK);
    assert_true(at.us < all.us);
    assert_int_equal(roller_plan_estimate_at(ctx, plan, &bad, 1, &at), ROLLER_SIZE);
    assert_string_equal(roller_error(ctx)->hint, "it is for multiples of 8 in 8..4096");
    assert_int_equal(roller_plan_estimate_at(ctx, plan, &other, 1, &at), ROLLER_SIZE);
    RollerCheckOptions o = {.struct_size = sizeof o, .at = &some, .n_at = 1};
    RollerCheckReport r = {.struct_size = sizeof r};
    assert_int_equal(roller_check(ctx, k, &o, &r), ROLLER_OK);
    assert_int_equal(r.size_sets, 1);
    assert_int_equal(r.outputs, DATA_SETS * 24 * 256);
    o.at = &bad;
    assert_int_equal(roller_check(ctx, k, &o, &r), ROLLER_SIZE);
    roller_kernel_destroy(k);
    roller_op_destroy(op);
    roller_profile_destroy(h200);
    roller_ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_of_destruction),
        cmocka_unit_test(null_is_destroyed),
        cmocka_unit_test(first_error_is_kept_until_the_next_call),
        cmocka_unit_test(unknown_names_are_listed),
        cmocka_unit_test(a_profile_keeps_its_name),
        cmocka_unit_test(arguments_and_sizes_are_described),
        cmocka_unit_test(short_structs_are_respected),
        cmocka_unit_test(plan_text_reads_back),
        cmocka_unit_test(fast_compile_is_a_choice),
        cmocka_unit_test(a_compiled_kernel_has_everything),
        cmocka_unit_test(a_budget_bounds_what_is_read),
        cmocka_unit_test(a_budget_leaves_out_what_needs_too_much),
        cmocka_unit_test(simulates_the_callers_data),
        cmocka_unit_test(groups_of_a_plan),
        cmocka_unit_test(given_sizes),
        cmocka_unit_test(contexts_are_independent),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(an_op_keeps_little),
        cmocka_unit_test(the_version_is_one),
        cmocka_unit_test(products_without_matrix_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
