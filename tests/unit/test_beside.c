/* Beside an open driver: a host that has loaded and launched kernels checks, runs, measures and
 * profiles all the same, since a worker does it; a process forked from it could not.  */
#include "hal/cuda.h"
#include "roller.h"
#include "simulated.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { M = 24, N = 16, K = 8 };
static const char text[] =
    "param M = 1..32;\n"
    "op mm(A: f32[M,8], B: f32[8,16]) -> C: f32[M,16] { C[m,n] += A[m,k] * B[k,n]; }\n";

static RollerCtx *ctx;
static RollerProfile *profile;
static RollerOp *op;
static RollerPlans *plans;
static RollerKernel *kernel;
static RollerExec *exec_;
static Arena *arena;
static CudaContext *device;

static void must(RollerStatus s) {
    const RollerError *e = roller_error(ctx);
    if (s) fail_msg("%s", e ? e->rendered : roller_status_name(s));
}

static int setup(void **state) {
    (void)state;
    simulated_setup("profiles/a100.json");
    RollerCtxOptions o = {.struct_size = sizeof o, .profile_path = "profiles", .threads = 1};
    RollerPlanOptions top = {.struct_size = sizeof top, .top = 2};
    must(roller_ctx_create(&o, &ctx));
    must(roller_profile_load(ctx, "a100", &profile));
    must(roller_parse(ctx, text, strlen(text), "mm.te", NULL, &op));
    must(roller_plan(ctx, op, profile, &top, &plans));
    must(roller_build(ctx, roller_plans_get(plans, 0), NULL, &kernel));
    /* The driver is open, and a context is current: as in a framework.  */
    arena = arena_create(NULL);
    Diag d = diag_new(arena);
    Cuda *cuda;
    if (cuda_open(arena, &d, NULL, &cuda) || cuda_context(cuda, arena, &d, 0, &device) ||
        cuda_enter(device, arena, &d))
        return -1;
    return roller_load(kernel, 0, &exec_) ? -1 : 0;
}

static int teardown(void **state) {
    (void)state;
    roller_exec_destroy(exec_);
    roller_kernel_destroy(kernel);
    roller_plans_destroy(plans);
    roller_op_destroy(op);
    roller_profile_destroy(profile);
    roller_ctx_destroy(ctx);
    arena_destroy(arena);
    return 0;
}

/* A fork of this process is refused by the driver, as a real one refuses it.  */
static void a_fork_could_not(void **state) {
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0) {
        Diag d = diag_new(arena);
        CudaAddress at;
        _exit(cuda_alloc(device, arena, &d, 16, &at) ? 7 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void checks(void **state) {
    (void)state;
    RollerCheckReport r = {.struct_size = sizeof r};
    RollerCheckOptions o = {.struct_size = sizeof o, .device = "0"};
    must(roller_check(ctx, kernel, &o, &r));
    assert_true(r.ok && r.size_sets > 1 && r.data_sets == 4);
    assert_string_equal(r.where, "NVIDIA A100-SXM4-80GB (simulated)");
}

static void runs(void **state) {
    (void)state;
    static float a[M * K], b[K * N], c[M * N];
    int64_t shape[3][2] = {{M, K}, {K, N}, {M, N}};
    RollerTensor in[2] = {{.data = a, .ndim = 2, .shape = shape[0]},
                          {.data = b, .ndim = 2, .shape = shape[1]}};
    RollerTensor out = {.data = c, .ndim = 2, .shape = shape[2]};
    in[0].dtype.code = in[1].dtype.code = out.dtype.code = 2;
    in[0].dtype.bits = in[1].dtype.bits = out.dtype.bits = 32;
    in[0].device.type = in[1].device.type = out.device.type = 1;
    for (int i = 0; i < M * K; i++) a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 5 - 2);
    RollerRunOptions o = {.struct_size = sizeof o, .device = "0"};
    const char *where;
    must(roller_run(ctx, kernel, in, 2, &out, 1, &o, &where));
    assert_string_equal(where, "NVIDIA A100-SXM4-80GB (simulated)");
    for (int m = 0; m < M; m++) {
        for (int n = 0; n < N; n++) {
            float want = 0;
            for (int k = 0; k < K; k++) want += a[m * K + k] * b[k * N + n];
            assert_true(c[m * N + n] == want);
        }
    }
}

static void measures(void **state) {
    (void)state;
    RollerTrial trial[2] = {{.struct_size = sizeof *trial}};
    RollerTrialOptions o = {.struct_size = sizeof o, .watchdog_s = 60};
    RollerKernel *best;
    must(roller_fastest(ctx, plans, &o, trial, NULL, &best));
    assert_true(trial[0].samples >= 5 && trial[0].cold_us > 0);
    assert_int_equal(trial[1].struct_size, sizeof *trial);
    roller_kernel_destroy(best);
    /* A caller of an older version, whose reports are shorter.  */
    struct {
        size_t struct_size;
        double cold_us, warm_us;
    } old[3] = {{.struct_size = sizeof *old}, {0}, {.cold_us = -1}};
    must(roller_fastest(ctx, plans, &o, (RollerTrial *)(void *)old, NULL, &best));
    assert_true(old[0].cold_us == trial[0].cold_us && old[1].cold_us == trial[1].cold_us);
    assert_true(old[2].cold_us == -1);
    roller_kernel_destroy(best);
}

static int steps;
static int step(void *user, const RollerProgress *p) {
    (void)user;
    assert_string_equal(p->stage, "profile");
    steps++;
    return 0;
}

static void profiles(void **state) {
    (void)state;
    RollerMeasureOptions o = {.struct_size = sizeof o, .quick = 1, .only = "launch"};
    RollerWatch w = {.struct_size = sizeof w, .progress = step};
    RollerProfile *p;
    roller_ctx_watch(ctx, &w);
    must(roller_profile_measure(ctx, 0, &o, &p));
    roller_ctx_watch(ctx, NULL);
    assert_int_equal(steps, 5);           /* the row, and each of its figures */
    assert_string_equal(roller_profile_origin(p), "simulated");
    roller_profile_destroy(p);
    o.only = "lunch";
    assert_int_equal(roller_profile_measure(ctx, 0, &o, &p), ROLLER_USAGE);
}

/* What the driver or the installation lacks is an error with its code or the path, and no device
 * is needed for it to be told.  */
static void errors(void **state) {
    (void)state;
    RollerCheckReport r = {.struct_size = sizeof r};
    RollerCheckOptions o = {.struct_size = sizeof o, .device = "0"};
    RollerCtxOptions c = {.struct_size = sizeof c, .profile_path = "profiles",
                          .worker = "/nowhere/roller-worker"};
    RollerCtx *other;
    must(roller_ctx_create(&c, &other));
    assert_int_equal(roller_check(other, kernel, &o, &r), ROLLER_IO);
    assert_non_null(strstr(roller_error(other)->message, "/nowhere/roller-worker"));
    roller_ctx_destroy(other);
    c.worker = NULL;
    must(roller_ctx_create(&c, &other));
    setenv("ROLLER_SIM_FAULTS", "cuInit=100", 1);
    assert_int_equal(roller_check(other, kernel, &o, &r), ROLLER_DEVICE);
    unsetenv("ROLLER_SIM_FAULTS");
    assert_int_equal(roller_error(other)->cuda, 100);
    assert_string_equal(roller_error(other)->code_name, "CUDA_ERROR_NO_DEVICE");
    roller_ctx_destroy(other);
}

/* The host's own context went through all of it.  */
static void the_host_goes_on(void **state) {
    (void)state;
    Diag d = diag_new(arena);
    CudaAddress at;
    assert_true(cuda_here(device));
    assert_int_equal(cuda_alloc(device, arena, &d, 16, &at), ST_OK);
    assert_int_equal(cuda_synchronize(device, &d), ST_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fork_could_not), cmocka_unit_test(checks),
        cmocka_unit_test(runs),             cmocka_unit_test(measures),
        cmocka_unit_test(profiles),         cmocka_unit_test(errors),
        cmocka_unit_test(the_host_goes_on),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
