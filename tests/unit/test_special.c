/* Kernels for the sizes at hand behind the handle of one for run-time sizes, over the simulated
 * driver: what launches take, before and after, from several threads, and in capture.  */
#include "base/arena.h"
#include "hal/cuda.h"
#include "roller.h"
#include "simulated.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LONGEST = 96, WIDEST = 32, DEPTH = 64, ROOM = 1 << 20 };
static const char text[] =
    "param M = 0..96 % 4; param N = 8..32; op mm(A: f32[M,64], B: f32[64,N]) -> C: f32[M,N] "
    "{ C[m,n] += A[m,k] * B[k,n]; }";

static Arena *arena;
static Diag diag;
static Cuda *cuda;
static CudaContext *device;
static int (*control)(const char *rules);
static RollerCtx *ctx;
static RollerProfile *profile;
static RollerKernel *kernel;
static CudaAddress workspace;

/* ---- kernels ---- */
static RollerKernel *compile(const char *te, const RollerPlanOptions *o) {
    RollerOp *op = NULL;
    RollerKernel *k = NULL;
    RollerStatus s = roller_parse(ctx, te, strlen(te), "mm.te", NULL, &op);
    if (!s) s = roller_compile(ctx, op, profile, o, &k);
    if (s) fail_msg("%s", roller_error(ctx)->message);
    roller_op_destroy(op);
    return k;
}

static RollerKernel *specialized(int64_t m, int64_t n) {
    RollerKernel *k;
    if (roller_specialize(ctx, kernel, (const int64_t[]){m, n}, NULL, &k))
        fail_msg("%s", roller_error(ctx)->message);
    return k;
}

static RollerExec *loaded(const RollerKernel *k) {
    RollerExec *e;
    if (roller_load(k, 0, &e)) fail_msg("%s", roller_error(NULL)->message);
    return e;
}

static void adds(RollerExec *e, RollerKernel *k) {
    if (roller_exec_add(e, k)) fail_msg("%s", roller_error(NULL)->message);
    roller_kernel_destroy(k);
}

static int setup(void **state) {
    (void)state;
    simulated_setup("profiles/a100.json");
    setenv("ROLLER_PROFILE_PATH", "profiles", 1);
    control = simulated_control();
    if (!control) return -1;
    arena = arena_create(NULL);
    diag = diag_new(arena);
    if (roller_ctx_create(NULL, &ctx)) return -1;
    if (roller_profile_load(ctx, "a100", &profile)) return -1;
    kernel = compile(text, &(RollerPlanOptions){.struct_size = sizeof(RollerPlanOptions),
                                                .programs = 2});
    assert_int_equal(cuda_open(arena, &diag, NULL, &cuda), ST_OK);
    assert_int_equal(cuda_context(cuda, arena, &diag, 0, &device), ST_OK);
    assert_int_equal(cuda_enter(device, arena, &diag), ST_OK);
    return cuda_alloc(device, arena, &diag, ROOM, &workspace) ? -1 : 0;
}

static int teardown(void **state) {
    (void)state;
    control(NULL);
    roller_kernel_destroy(kernel);
    roller_profile_destroy(profile);
    roller_ctx_destroy(ctx);
    arena_destroy(arena);
    return 0;
}

/* ---- launches ---- */
typedef struct {
    float a[LONGEST * DEPTH], b[DEPTH * WIDEST], c[LONGEST * WIDEST];
    CudaAddress at[3];
    int64_t shape[3][2];
    RollerTensor in[2], out;
} Product;

static Product *product(Arena *a) {
    Product *p = ARENA_NEW(a, Product);
    Diag d = diag_new(a);
    const size_t bytes[] = {sizeof p->a, sizeof p->b, sizeof p->c};
    for (int i = 0; i < LONGEST * DEPTH; i++) p->a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < DEPTH * WIDEST; i++) p->b[i] = (float)(i % 5 - 2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cuda_alloc(device, a, &d, bytes[i], &p->at[i]), ST_OK);
    assert_int_equal(cuda_write(device, &d, p->at[0], p->a, sizeof p->a), ST_OK);
    assert_int_equal(cuda_write(device, &d, p->at[1], p->b, sizeof p->b), ST_OK);
    return p;
}

static RollerTensor tensor(CudaAddress at, int64_t *shape) {
    RollerTensor t = {.data = (void *)(uintptr_t)at, .device = {2, 0}, .ndim = 2, .shape = shape};
    t.dtype.code = 2;
    t.dtype.bits = 32;
    t.dtype.lanes = 1;
    return t;
}

/* Sets the tensors up for a product of these sizes, whose result is not there yet.  */
static void begin(Product *p, int64_t m, int64_t n) {
    const int64_t shape[3][2] = {{m, DEPTH}, {DEPTH, n}, {m, n}};
    Diag d = diag_new(arena);
    memcpy(p->shape, shape, sizeof shape);
    for (int i = 0; i < 2; i++) p->in[i] = tensor(p->at[i], p->shape[i]);
    p->out = tensor(p->at[2], p->shape[2]);
    assert_int_equal(cuda_fill(device, &d, NULL, p->at[2], 0xff, sizeof p->c), ST_OK);
    assert_int_equal(cuda_synchronize(device, &d), ST_OK);
}

static RollerStatus launch(const RollerExec *e, const Product *p, size_t bytes, CudaStream s) {
    return roller_launch(e, p->in, 2, &p->out, 1, (void *)(uintptr_t)workspace, bytes, s);
}

static void expect(Product *p) {
    int64_t m = p->shape[2][0], n = p->shape[2][1];
    Diag d = diag_new(arena);
    assert_int_equal(cuda_synchronize(device, &d), ST_OK);
    assert_int_equal(cuda_read(device, &d, p->c, p->at[2], sizeof p->c), ST_OK);
    for (int64_t i = 0; i < LONGEST * WIDEST; i++) {
        float want = 0;
        uint32_t bits;
        for (int k = 0; k < DEPTH && i < m * n; k++)
            want += p->a[i / n * DEPTH + k] * p->b[k * n + i % n];
        memcpy(&bits, &p->c[i], 4);
        if (i < m * n ? p->c[i] != want : bits != 0xffffffff)
            fail_msg("%lld x %lld: C[%lld] is %g", (long long)m, (long long)n, (long long)i,
                     (double)p->c[i]);
    }
}

static void computes(const RollerExec *e, Product *p, int64_t m, int64_t n) {
    begin(p, m, n);
    if (launch(e, p, ROOM, NULL)) fail_msg("%s", roller_error(NULL)->message);
    expect(p);
}

static int64_t launches(const RollerExec *e, int program) {
    RollerExecProgram p = {.struct_size = sizeof p};
    assert_int_equal(roller_exec_program(e, program, &p), ROLLER_OK);
    return p.launches;
}

static void refused(RollerStatus is, RollerStatus want, const RollerCtx *by, const char *what) {
    const RollerError *e = roller_error(by);
    if (is != want || !e || !strstr(e->message, what))
        fail_msg("status %d, not %d: %s", is, want, e ? e->message : "accepted");
}

/* ---- tests ---- */
/* Launches take it at its sizes and nowhere else; the last that was added comes first.  */
static void taken_at_its_sizes(void **state) {
    (void)state;
    RollerExec *e = loaded(kernel);
    Product *p = product(arena);
    computes(e, p, 64, 16);
    adds(e, specialized(64, 16));
    adds(e, specialized(-1, 20));                     /* M stays as it is */
    computes(e, p, 64, 16);
    computes(e, p, 60, 16);
    computes(e, p, 64, 20);
    computes(e, p, 4, 20);
    assert_int_equal(launches(e, 0), 2);
    assert_int_equal(launches(e, 1), 1);
    assert_int_equal(launches(e, 2), 2);
    adds(e, specialized(64, 20));
    computes(e, p, 64, 20);
    computes(e, p, 96, 20);
    assert_int_equal(launches(e, 2), 3);
    assert_int_equal(launches(e, 3), 1);
    assert_int_equal(roller_exec_program(e, 4, NULL), ROLLER_USAGE);
    begin(p, 6, 20);
    refused(launch(e, p, ROOM, NULL), ROLLER_SIZE, NULL, "M = 6 is not a multiple of 4");
    roller_exec_destroy(e);
}

static void refusals(void **state) {
    (void)state;
    RollerKernel *k = specialized(64, 16), *none = k, *other;
    RollerExec *e = loaded(kernel), *own = loaded(k);
    Product *p = product(arena);
    begin(p, 60, 16);
    refused(launch(own, p, ROOM, NULL), ROLLER_SIZE, NULL, "is 60, not 64");
    refused(roller_exec_add(own, kernel), ROLLER_ARGS, NULL, "not of the same op");
    refused(roller_specialize(ctx, kernel, (const int64_t[]){6, 16}, NULL, &none), ROLLER_SIZE, ctx,
            "not for M = 6");
    assert_null(none);
    refused(roller_specialize(ctx, kernel, (const int64_t[]){64, 33}, NULL, &none), ROLLER_SIZE,
            ctx, "not for N = 33");
    other = compile("param M = 64; param N = 16; op mm(A: f32[M,64], B: f32[64,N]) -> C: f32[M,N] "
                    "{ C[m,n] += 2 * A[m,k] * B[k,n]; }", NULL);
    refused(roller_exec_add(e, other), ROLLER_ARGS, NULL, "not of the same op");
    roller_kernel_destroy(other);
    other = compile(text, &(RollerPlanOptions){.struct_size = sizeof(RollerPlanOptions),
                                               .align = 32, .programs = 1});
    refused(roller_exec_add(e, other), ROLLER_ALIGN, NULL, "aligned to 32 bytes, not to 16");
    roller_kernel_destroy(other);
    roller_exec_destroy(own);
    for (int i = 0; i < ROLLER_MOST_ADDED; i++)
        assert_int_equal(roller_exec_add(e, k), ROLLER_OK);
    assert_int_equal(control("cuLibraryLoadData=2"), 0);    /* it is not even loaded */
    refused(roller_exec_add(e, k), ROLLER_USAGE, NULL, "no room");
    assert_int_equal(control(NULL), 0);
    roller_kernel_destroy(k);
    computes(e, p, 64, 16);
    assert_int_equal(control("cuLaunchKernel@1=999"), 0);
    refused(launch(e, p, ROOM, NULL), ROLLER_CUDA, NULL, "the launch");
    assert_int_equal(control(NULL), 0);
    assert_int_equal(launches(e, ROLLER_MOST_ADDED), 1);
    roller_exec_destroy(e);
}

/* Sizes that are known, unused or derived from others keep their places, and none is asked for.  */
static void other_sizes(void **state) {
    (void)state;
#define PRODUCT                                                                                    \
    "op mm(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] "                                              \
    "{ C[m,n] += (m < 4 * H ? A[m,k] : 0) * B[k,n]; }"
    RollerKernel *k = compile("param Z = 7; param M = 0..96 % 4; param K = 64; let H = M / 4; "
                              "param N = 8..32; " PRODUCT, NULL), *own;
    RollerExec *e = loaded(k);
    Product *p = product(arena);
    int64_t value[3];
    begin(p, 64, 16);
    assert_int_equal(roller_sizes_of(k, p->in, 2, &p->out, 1, value), ROLLER_OK);
    assert_memory_equal(value, ((int64_t[]){64, 64, 16}), sizeof value);
    value[1] = 1;
    assert_int_equal(roller_specialize(ctx, k, value, NULL, &own), ROLLER_OK);
    adds(e, own);
    computes(e, p, 64, 16);
    computes(e, p, 60, 16);
    assert_int_equal(launches(e, 1), 1);
    own = compile("param M = 64; param K = 64; let H = M / 4; param N = 8; param Z = 8; " PRODUCT,
                  NULL);
    refused(roller_exec_add(e, own), ROLLER_ARGS, NULL, "not of the same op");
#undef PRODUCT
    roller_kernel_destroy(own);
    roller_exec_destroy(e);
    roller_kernel_destroy(k);
}

/* The sizes that tensors have, and the same kernel for them, are those that were asked for.  */
static void sizes_of_tensors(void **state) {
    (void)state;
    int64_t value[2];
    Product *p = product(arena);
    begin(p, 64, 16);
    assert_int_equal(roller_sizes_of(kernel, p->in, 2, &p->out, 1, value), ROLLER_OK);
    assert_int_equal(value[0], 64);
    assert_int_equal(value[1], 16);
    p->shape[2][0] = 60;
    refused(roller_sizes_of(kernel, p->in, 2, &p->out, 1, value), ROLLER_SIZE, NULL,
            "'C' is 60, not 64");
}

static const char *takes(const RollerPlan *p, const char *const *at, int n) {
    RollerEstimate e = {.struct_size = sizeof e};
    assert_int_equal(roller_plan_estimate_at(ctx, p, at, n, &e), ROLLER_OK);
    return arena_strdup(arena, e.takes);
}

/* An estimate says which programs a launch takes at its sizes; of one there is no choice.  */
static void told(void **state) {
    (void)state;
    static const char wide[] = "param M = 1..4096; op mm(A: f16[M,1024], B: f16[1024,1024]) -> "
                               "C: f16[M,1024] { C[m,n] += A[m,k] * B[k,n]; }";
    static const char *const few[] = {"M=1"}, *const many[] = {"M=4096"};
    RollerOp *op;
    RollerPlans *plans;
    RollerKernel *k = specialized(64, 16);
    assert_int_equal(roller_parse(ctx, wide, strlen(wide), "mm.te", NULL, &op), ROLLER_OK);
    assert_int_equal(roller_plan(ctx, op, profile, NULL, &plans), ROLLER_OK);
    const RollerPlan *best = roller_plans_get(plans, 0);
    assert_non_null(strstr(takes(best, few, 1), "kernel"));
    assert_string_not_equal(takes(best, few, 1), takes(best, many, 1));
    assert_string_equal(takes(best, NULL, 0), "");
    assert_string_equal(takes(roller_kernel_plan(k), NULL, 0), "");
    roller_plans_destroy(plans);
    roller_op_destroy(op);
    roller_kernel_destroy(k);
}

/* More programs of the same sizes, made when there is time, are more of the same.  */
static void more_programs(void **state) {
    (void)state;
    RollerExec *e = loaded(kernel);
    Product *p = product(arena);
    adds(e, compile(text, NULL));
    computes(e, p, 12, 16);
    assert_int_equal(launches(e, 1), 1);
    roller_exec_destroy(e);
}

static const char deep[] = "param M = 1..16; op mm(A: f32[M,4096], B: f32[4096,16]) -> "
                           "C: f32[M,16] { C[m,n] += A[m,k] * B[k,n]; }";

/* What is made for a kernel needs no more workspace than that has.  */
static void within_workspace(void **state) {
    (void)state;
    RollerKernel *k, *bare = compile(deep, &(RollerPlanOptions){
                                               .struct_size = sizeof(RollerPlanOptions),
                                               .workspace_limit = 1, .programs = 1});
    RollerPlanOptions any = {.struct_size = sizeof any};
    const int64_t value[] = {16};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(roller_specialize(ctx, bare, value, i ? &any : NULL, &k), ROLLER_OK);
        assert_true((roller_kernel_workspace(k) > 0) == (i > 0));
        roller_kernel_destroy(k);
    }
    roller_kernel_destroy(bare);
}

/* A workspace that was enough stays enough, whatever is added.  */
static void workspaces(void **state) {
    (void)state;
    RollerKernel *bare = compile(deep, &(RollerPlanOptions){
                                           .struct_size = sizeof(RollerPlanOptions),
                                           .workspace_limit = 1, .programs = 1});
    RollerKernel *k = compile(deep, &(RollerPlanOptions){.struct_size = sizeof(RollerPlanOptions),
                                                         .programs = 1});
    int64_t shape[3][2] = {{16, 4096}, {4096, 16}, {16, 16}};
    CudaAddress at[3];
    RollerTensor t[3];
    size_t bytes;
    RollerExec *e = loaded(bare);
    for (int i = 0; i < 3; i++) {
        size_t all = (size_t)(shape[i][0] * shape[i][1] * 4);
        assert_int_equal(cuda_alloc(device, arena, &diag, all, &at[i]), ST_OK);
        assert_int_equal(cuda_fill(device, &diag, NULL, at[i], 0, all), ST_OK);
        t[i] = tensor(at[i], shape[i]);
    }
    assert_int_equal(roller_kernel_workspace(bare), 0);
    assert_true(roller_kernel_workspace(k) > 0);
    assert_int_equal(roller_workspace(e, t, 2, &t[2], 1, &bytes), ROLLER_OK);
    assert_int_equal(bytes, 0);
    adds(e, k);
    assert_int_equal(roller_launch(e, t, 2, &t[2], 1, NULL, 0, NULL), ROLLER_OK);
    assert_int_equal(launches(e, 0), 1);
    assert_int_equal(roller_workspace(e, t, 2, &t[2], 1, &bytes), ROLLER_OK);
    assert_true(bytes > 0 && bytes <= ROOM);
    assert_int_equal(roller_launch(e, t, 2, &t[2], 1, (void *)(uintptr_t)workspace, bytes, NULL),
                     ROLLER_OK);
    assert_int_equal(launches(e, 1), 1);
    assert_int_equal(cuda_synchronize(device, &diag), ST_OK);
    roller_exec_destroy(e);
    roller_kernel_destroy(bare);
}

/* ---- capture ---- */
/* A graph keeps the kernel that its capture took.  */
static void captured(void **state) {
    (void)state;
    RollerExec *e = loaded(kernel);
    Product *p = product(arena);
    CudaStream stream;
    CudaGraph graph[2];
    assert_int_equal(cuda_stream(device, arena, &diag, &stream), ST_OK);
    begin(p, 64, 16);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cuda_graph_begin(device, &diag, stream), ST_OK);
        assert_int_equal(launch(e, p, ROOM, stream), ROLLER_OK);
        if (i == 0) adds(e, specialized(64, 16));
        assert_int_equal(cuda_graph_end(device, arena, &diag, stream, &graph[i]), ST_OK);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(launches(e, i), 1);
        begin(p, 64, 16);
        assert_int_equal(cuda_graph_launch(device, &diag, graph[i], stream), ST_OK);
        assert_int_equal(cuda_stream_wait(device, &diag, stream), ST_OK);
        expect(p);
    }
    roller_exec_destroy(e);
}

static void *call_of(const char *name) {
    return dlsym(dlopen(getenv("ROLLER_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD), name);
}

/* In the mode of PyTorch's captures code that any thread loads would end them, in drivers that load
 * it into contexts.  */
static void captures_go_on(void **state) {
    (void)state;
    enum { OF_ALL_THREADS };
    int (*capture)(CudaStream stream, int mode) = NULL;
    int (*end)(CudaStream stream, void **graph) = NULL;
    int (*drop)(void *graph) = NULL;
    int (*exchange)(int *mode) = NULL;
    int mode = OF_ALL_THREADS;
    CudaStream stream;
    void *graph;
    Product *p = product(arena);
    RollerKernel *k = specialized(64, 16);
    assert_int_equal(cuda_stream(device, arena, &diag, &stream), ST_OK);
    assert_int_equal(control("missing=cuLibraryLoadData"), 0);
    RollerExec *e = loaded(kernel);
    begin(p, 64, 16);
    *(void **)&capture = call_of("cuStreamBeginCapture_v2");
    *(void **)&end = call_of("cuStreamEndCapture");
    *(void **)&drop = call_of("cuGraphDestroy");
    *(void **)&exchange = call_of("cuThreadExchangeStreamCaptureMode");
    assert_int_equal(capture(stream, OF_ALL_THREADS), 0);
    adds(e, k);
    assert_int_equal(launch(e, p, ROOM, stream), ROLLER_OK);
    assert_int_equal(end(stream, &graph), 0);
    assert_int_equal(drop(graph), 0);
    assert_int_equal(exchange(&mode), 0);
    assert_int_equal(mode, OF_ALL_THREADS);           /* as it was: nothing else is permitted */
    assert_int_equal(launches(e, 1), 1);
    roller_exec_destroy(e);
    assert_int_equal(control(NULL), 0);
}

/* ---- threads ---- */
enum { THREADS = 2, TURNS = 12 };
typedef struct {
    const RollerExec *exec;
    Arena *arena;
    Product *product;
    RollerStatus status[TURNS];
} Launcher;

static void *keep_launching(void *user) {
    Launcher *l = user;
    Diag d = diag_new(l->arena);
    Arena *own = arena_create(NULL);
    cuda_enter(device, own, &d);
    for (int i = 0; i < TURNS; i++) l->status[i] = launch(l->exec, l->product, ROOM, NULL);
    arena_destroy(own);
    return NULL;
}

/* Launches of two threads go on while a third adds.  */
static void added_meanwhile(void **state) {
    (void)state;
    RollerExec *e = loaded(kernel);
    RollerKernel *k[] = {specialized(64, 16), specialized(64, -1)};
    pthread_t thread[THREADS];
    Launcher l[THREADS];
    int64_t all = 0;
    for (int i = 0; i < THREADS; i++) {
        l[i] = (Launcher){.exec = e, .arena = arena_create(NULL)};
        l[i].product = product(l[i].arena);
        begin(l[i].product, 64, 16);
        assert_int_equal(pthread_create(&thread[i], NULL, keep_launching, &l[i]), 0);
    }
    for (int i = 0; i < TURNS; i++) assert_int_equal(roller_exec_add(e, k[i % 2]), ROLLER_OK);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        for (int n = 0; n < TURNS; n++) assert_int_equal(l[i].status[n], ROLLER_OK);
        expect(l[i].product);
        arena_destroy(l[i].arena);
    }
    for (int i = 0; i <= TURNS; i++) all += launches(e, i);
    assert_int_equal(all, THREADS * TURNS);
    for (int i = 0; i < 2; i++) roller_kernel_destroy(k[i]);
    roller_exec_destroy(e);
}

/* ---- lifetime ---- */
static RollerKernel *doomed;

static int destroy_it(void *user, const RollerProgress *p) {
    (void)user;
    (void)p;
    roller_kernel_destroy(doomed);
    doomed = NULL;
    return 0;
}

/* The kernel may go while another is made of it; what is made outlives it.  */
static void freed_meanwhile(void **state) {
    (void)state;
    RollerKernel *k;
    RollerExec *e = loaded(kernel);
    doomed = compile(text, &(RollerPlanOptions){.struct_size = sizeof(RollerPlanOptions),
                                                .programs = 2});
    RollerWatch watch = {.struct_size = sizeof watch, .progress = destroy_it};
    roller_ctx_watch(ctx, &watch);
    assert_int_equal(roller_specialize(ctx, doomed, (const int64_t[]){40, 24}, NULL, &k),
                     ROLLER_OK);
    roller_ctx_watch(ctx, NULL);
    assert_null(doomed);
    adds(e, k);
    Product *p = product(arena);
    computes(e, p, 40, 24);
    assert_int_equal(launches(e, 1), 1);
    roller_exec_destroy(e);
}

/* A call that is ended leaves nothing.  */
static void ended(void **state) {
    (void)state;
    RollerStop stop;
    RollerKernel *k = kernel;
    atomic_init(&stop, true);
    RollerWatch watch = {.struct_size = sizeof watch, .stop = &stop};
    roller_ctx_watch(ctx, &watch);
    assert_int_equal(roller_specialize(ctx, kernel, (const int64_t[]){44, 24}, NULL, &k),
                     ROLLER_CANCELLED);
    assert_null(k);
    roller_ctx_watch(ctx, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taken_at_its_sizes), cmocka_unit_test(refusals),
        cmocka_unit_test(sizes_of_tensors),   cmocka_unit_test(told),
        cmocka_unit_test(other_sizes),        cmocka_unit_test(more_programs),
        cmocka_unit_test(within_workspace),   cmocka_unit_test(workspaces),
        cmocka_unit_test(captured),           cmocka_unit_test(captures_go_on),
        cmocka_unit_test(added_meanwhile),    cmocka_unit_test(freed_meanwhile),
        cmocka_unit_test(ended),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
