/* Kernels from their files: without NVRTC, and only if the description is that of the plan.  */
#include "roller.h"
#include "simulated.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char text[] =
    "param M = 0..40; let H = (M + 1) / 2; op mm(A: f32[M,8], B: f32[8,16], s: f32) -> "
    "(C: f32[M,16], D: f32[H]) { C[m,n] += A[m,k] * B[k,n] * s; D[i] = A[2*i,0]; }";

static RollerCtx *ctx, *reader;
static RollerKernel *kernel;
static RollerKernelFiles files;

static void *get(RollerArtefact what, size_t *size) {
    const void *data;
    assert_int_equal(roller_kernel_get(kernel, what, &data, size), ROLLER_OK);
    return (void *)data;
}

static int setup(void **state) {
    (void)state;
    simulated_setup("profiles/a100.json");
    setenv("ROLLER_PROFILE_PATH", "profiles", 1);
    RollerCtxOptions none = {.struct_size = sizeof none, .nvrtc = "/nowhere/libnvrtc.so"};
    if (roller_ctx_create(NULL, &ctx) || roller_ctx_create(&none, &reader)) return -1;
    RollerProfile *profile;
    RollerOp *op;
    RollerPlanOptions o = {.struct_size = sizeof o, .align = 32};
    assert_int_equal(roller_profile_load(ctx, "a100", &profile), ROLLER_OK);
    assert_int_equal(roller_parse(ctx, text, strlen(text), "mm.te", NULL, &op), ROLLER_OK);
    assert_int_equal(roller_compile(ctx, op, profile, &o, &kernel), ROLLER_OK);
    roller_op_destroy(op);
    roller_profile_destroy(profile);
    files.struct_size = sizeof files;
    files.json = get(ROLLER_JSON, &files.json_len);
    files.cubin = get(ROLLER_CUBIN, &files.cubin_len);
    files.ptx = get(ROLLER_PTX, &files.ptx_len);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    roller_kernel_destroy(kernel);
    roller_ctx_destroy(reader);
    roller_ctx_destroy(ctx);
    return 0;
}

static void is_the_same(void **state) {
    (void)state;
    static const RollerArtefact all[] = {ROLLER_CU, ROLLER_PTX, ROLLER_CUBIN, ROLLER_JSON,
                                         ROLLER_PLAN_USED};
    RollerKernel *k;
    RollerStatus s = roller_kernel_read(reader, &files, &k);
    if (s) fail_msg("%s", roller_error(reader)->message);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t want_size, size;
        const void *want = get(all[i], &want_size), *has;
        assert_int_equal(roller_kernel_get(k, all[i], &has, &size), ROLLER_OK);
        assert_int_equal(size, want_size);
        assert_memory_equal(has, want, size);
    }
    RollerCheckReport report = {.struct_size = sizeof report};
    s = roller_check(reader, k, NULL, &report);
    if (s) fail_msg("%s", roller_error(reader)->message);
    assert_true(report.ok && report.compared > 0);
    RollerExec *exec;
    assert_int_equal(roller_load(k, 0, &exec), ROLLER_OK);
    roller_kernel_destroy(k);
    roller_exec_destroy(exec);
}

/* The description with `from` changed to `to`.  */
static char *with(const char *from, const char *to) {
    const char *at = strstr(files.json, from);
    assert_non_null(at);
    char *b = malloc(files.json_len + strlen(to) + 1);
    assert_non_null(b);
    size_t head = (size_t)(at - files.json);
    memcpy(b, files.json, head);
    snprintf(b + head, files.json_len + strlen(to) + 1 - head, "%s%s", to, at + strlen(from));
    return b;
}

static void refuses_others(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
        RollerStatus status;
        const char *why;
    } wrong[] = {
        {"roller-kernel\"", "roller-report\"", ROLLER_PLAN_TEXT, "is no"},
        {"schema_version\": 3", "schema_version\": 2", ROLLER_PLAN_TEXT, "another version"},
        {"(M+1)/2", "(M+3)/2", ROLLER_PLAN_TEXT, "not what follows"},
        {"\"max\": 40", "\"max\": 41", ROLLER_PLAN_TEXT, "not what follows"},
        {"\"role\": \"output\"", "\"role\": \"scalar\"", ROLLER_PLAN_TEXT, "not what follows"},
        {"\"symbol\": \"rk_", "\"symbol\": \"rj_", ROLLER_PLAN_TEXT, "not what follows"},
        {"\"dynamic_smem\": ", "\"dynamic_smem\": 1", ROLLER_PLAN_TEXT, "not what follows"},
        {"\"workspace_bytes\": ", "\"workspace_bytes\": 9", ROLLER_PLAN_TEXT, "not what follows"},
        {"\"kind\": \"scalar\"", "\"kind\": \"size\"", ROLLER_PLAN_TEXT, "not what follows"},
        {"\"align\": 32", "\"align\": -4", ROLLER_PLAN_TEXT, "lacks"},
        {"roller-plan 1", "roller-plan x", ROLLER_PLAN_TEXT, ""},
        {"op mm(", "op mm((", ROLLER_TE, ""},
        {"\"sha256\": \"", "\"sha256\": \"x", ROLLER_PROFILE, "another version"},
        {"\"name\": \"a100\"", "\"name\": \"a1000\"", ROLLER_IO, ""},
        {"{", "[", ROLLER_PLAN_TEXT, ""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        RollerKernelFiles f = files;
        char *json = with(wrong[i].from, wrong[i].to);
        f.json = json;
        f.json_len = strlen(json);
        RollerKernel *k;
        RollerStatus s = roller_kernel_read(reader, &f, &k);
        if (s != wrong[i].status || !strstr(roller_error(reader)->message, wrong[i].why))
            fail_msg("'%s': %s: %s", wrong[i].to, roller_status_name(s),
                     s ? roller_error(reader)->message : "");
        assert_null(k);
        free(json);
    }
}

/* Kernels that declare their shared memory: no launch gives any, they compute the same, and are
 * read as they are; a plan that needs more is refused.  */
static void static_memory(void **state) {
    (void)state;
    static const char te[] = "op p(A: f16[512,512], B: f16[512,512]) -> C: f32[512,512] "
                             "{ C[m,n] += f32(A[m,k]) * f32(B[k,n]); }";
    RollerProfile *profile;
    RollerOp *op;
    RollerPlans *plans;
    RollerKernel *k, *again;
    RollerPlanOptions o = {.struct_size = sizeof o, .static_smem = 1};
    assert_int_equal(roller_profile_load(ctx, "a100", &profile), ROLLER_OK);
    assert_int_equal(roller_parse(ctx, te, strlen(te), "p.te", NULL, &op), ROLLER_OK);
    assert_int_equal(roller_compile(ctx, op, profile, &o, &k), ROLLER_OK);
    for (int i = 0; i < roller_kernel_launches(k); i++) {
        RollerLaunchInfo l = {.struct_size = sizeof l};
        assert_int_equal(roller_kernel_launch_info(k, i, &l), ROLLER_OK);
        assert_int_equal(l.dynamic_smem, 0);
        assert_in_range(l.static_smem, i ? 0 : 1, 49152);
    }
    RollerCheckReport report = {.struct_size = sizeof report};
    assert_int_equal(roller_check(ctx, k, NULL, &report), ROLLER_OK);
    RollerKernelFiles f = {.struct_size = sizeof f};
    const void *json, *ptx;
    roller_kernel_get(k, ROLLER_JSON, &json, &f.json_len);
    roller_kernel_get(k, ROLLER_PTX, &ptx, &f.ptx_len);
    roller_kernel_get(k, ROLLER_CUBIN, &f.cubin, &f.cubin_len);
    f.json = json;
    f.ptx = ptx;
    assert_non_null(strstr(f.json, "\"static_smem\": true"));
    assert_int_equal(roller_kernel_read(reader, &f, &again), ROLLER_OK);
    roller_kernel_destroy(again);
    o.static_smem = 0;
    o.top = 100;
    bool refused = false;
    assert_int_equal(roller_plan(ctx, op, profile, &o, &plans), ROLLER_OK);
    o.static_smem = 1;
    for (size_t i = 0; i < roller_plans_count(plans) && !refused; i++) {
        const char *plan;
        size_t len;
        RollerPlans *read;
        roller_plan_text(roller_plans_get(plans, i), ROLLER_PLAN, &plan, &len);
        RollerStatus s = roller_plan_read(ctx, op, profile, plan, len, "plan", &o, &read);
        refused = s == ROLLER_PLAN_TEXT;
        if (refused) assert_non_null(strstr(roller_error(ctx)->hint, "49152 bytes"));
        else roller_plans_destroy(read);
    }
    assert_true(refused);
    roller_plans_destroy(plans);
    roller_kernel_destroy(k);
    roller_op_destroy(op);
    roller_profile_destroy(profile);
}

static void needs_all(void **state) {
    (void)state;
    RollerKernel *k;
    RollerKernelFiles f = files;
    f.arch = "sm_90a";
    assert_int_equal(roller_kernel_read(reader, &f, &k), ROLLER_PLAN_TEXT);
    f.arch = "sm_80";
    assert_int_equal(roller_kernel_read(reader, &f, &k), ROLLER_OK);
    roller_kernel_destroy(k);
    f.cubin_len = 0;
    assert_int_equal(roller_kernel_read(reader, &f, &k), ROLLER_USAGE);
    f = files;
    f.json_len /= 2;
    assert_int_equal(roller_kernel_read(reader, &f, &k), ROLLER_PLAN_TEXT);
    assert_null(k);
}

static void artefacts_of_kernels(void **state) {
    (void)state;
    RollerProfile *profile;
    RollerOp *op;
    RollerKernel *other;
    const void *data;
    size_t size;
    static const char te[] = "op one(A: f32[8]) -> B: f32[8] { B[i] = A[i]; }";
    assert_int_equal(roller_profile_load(ctx, "a100", &profile), ROLLER_OK);
    assert_int_equal(roller_parse(ctx, te, strlen(te), NULL, NULL, &op), ROLLER_OK);
    assert_int_equal(roller_compile(ctx, op, profile, NULL, &other), ROLLER_OK);
    const RollerKernel *both[] = {kernel, other};
    assert_int_equal(roller_artefact(ctx, both, 2, ROLLER_C_SOURCE, &data, &size), ROLLER_USAGE);
    assert_null(data);
    assert_int_equal(roller_artefact(ctx, both, 0, ROLLER_JSON, &data, &size), ROLLER_USAGE);
    assert_int_equal(roller_artefact(ctx, both, 1, ROLLER_CU, &data, &size), ROLLER_USAGE);
    assert_int_equal(roller_kernel_get(kernel, ROLLER_C_SOURCE, &data, &size), ROLLER_USAGE);
    assert_int_equal(roller_artefact(ctx, both, 1, ROLLER_JSON, &data, &size), ROLLER_OK);
    assert_int_equal(size, files.json_len);
    assert_memory_equal(data, files.json, size);
    roller_kernel_destroy(other);
    roller_op_destroy(op);
    roller_profile_destroy(profile);
}

static int left;              /* allocations that succeed */
static int alive;

static void *scarce(size_t size, void *user) {
    (void)user;
    void *p = left-- > 0 ? malloc(size) : NULL;
    alive += p != NULL;
    return p;
}

static void give(void *p, void *user) {
    (void)user;
    alive -= p != NULL;
    free(p);
}

/* Whatever allocation fails, the call says so and nothing is lost.  */
static void survives_no_memory(void **state) {
    (void)state;
    RollerCtxOptions o = {.struct_size = sizeof o, .alloc = scarce, .free = give};
    int failed = 0;
    for (bool done = false; !done; failed++) {
        RollerCtx *poor;
        RollerKernel *k;
        const void *data;
        size_t size;
        left = 1000;
        assert_int_equal(roller_ctx_create(&o, &poor), ROLLER_OK);
        left = failed;
        RollerStatus s = roller_kernel_read(poor, &files, &k);
        if (!s) {
            const RollerKernel *one[] = {k};
            s = roller_artefact(poor, one, 1, ROLLER_PYTHON, &data, &size);
        }
        done = s == ROLLER_OK;
        if (!done) assert_int_equal(s, ROLLER_NOMEM);
        roller_kernel_destroy(k);
        roller_ctx_destroy(poor);
        assert_int_equal(alive, 0);
    }
    assert_true(failed > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_the_same),
        cmocka_unit_test(refuses_others),
        cmocka_unit_test(static_memory), cmocka_unit_test(needs_all),
        cmocka_unit_test(artefacts_of_kernels),
        cmocka_unit_test(survives_no_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
