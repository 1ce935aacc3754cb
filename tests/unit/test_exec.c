/* Loading and launching through the public API, over the simulated driver.  */
#include "base/arena.h"
#include "hal/cuda.h"
#include "roller.h"
#include "simulated.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { M = 24, N = 16, K = 8, MOST = 40 };
static const char text[] =
    "param M = 1..40; op mm(A: f32[M,8], B: f32[8,16], s: f32) -> C: f32[M,16] "
    "{ C[m,n] += A[m,k] * B[k,n] * s; }";

static Arena *arena;
static Diag diag;
static Cuda *cuda;
static CudaContext *device;
static int (*control)(const char *rules);
static RollerCtx *ctx;
static RollerKernel *kernel, *foreign;
static RollerExec *exec;
static CudaAddress at[3], workspace;

static RollerKernel *compile_text(const char *profile_name, const char *te) {
    RollerProfile *profile;
    RollerOp *op = NULL;
    RollerKernel *k = NULL;
    RollerStatus s = roller_profile_load(ctx, profile_name, &profile);
    if (!s) s = roller_parse(ctx, te, strlen(te), "mm.te", NULL, &op);
    if (!s) s = roller_compile(ctx, op, profile, NULL, &k);
    if (s) fail_msg("%s", roller_error(ctx)->message);
    roller_op_destroy(op);
    roller_profile_destroy(profile);
    return k;
}

static RollerKernel *compile(const char *profile_name) { return compile_text(profile_name, text); }

static int setup(void **state) {
    (void)state;
    simulated_setup("profiles/a100.json,profiles/a100.json");
    setenv("ROLLER_PROFILE_PATH", "profiles", 1);
    control = simulated_control();
    if (!control) return -1;
    arena = arena_create(NULL);
    diag = diag_new(arena);
    if (roller_ctx_create(NULL, &ctx)) return -1;
    kernel = compile("a100");
    foreign = compile("h200");
    assert_int_equal(roller_load(kernel, 0, &exec), ROLLER_OK);
    assert_null(roller_error(NULL));
    assert_int_equal(cuda_open(arena, &diag, NULL, &cuda), ST_OK);
    assert_int_equal(cuda_context(cuda, arena, &diag, 0, &device), ST_OK);
    assert_int_equal(cuda_enter(device, arena, &diag), ST_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cuda_alloc(device, arena, &diag, 4096, &at[i]), ST_OK);
    return cuda_alloc(device, arena, &diag, 1 << 16, &workspace) ? -1 : 0;
}

static int teardown(void **state) {
    (void)state;
    control(NULL);
    roller_kernel_destroy(kernel);
    roller_exec_destroy(exec);
    roller_kernel_destroy(foreign);
    roller_ctx_destroy(ctx);
    arena_destroy(arena);
    return 0;
}

/* A good call, which tests spoil in one place.  */
typedef struct {
    int64_t shape[4][2], stride[2];
    float s;
    RollerTensor in[3], out;
    int nin, nout;
    void *ws;
    size_t ws_bytes;
} Args;

static RollerTensor tensor(CudaAddress p, int64_t *shape, int rank) {
    RollerTensor t = {.data = (void *)(uintptr_t)p, .device = {2, 0}, .ndim = rank, .shape = shape};
    t.dtype.code = 2;
    t.dtype.bits = 32;
    t.dtype.lanes = 1;
    return t;
}

static Args *good(int64_t m) {
    Args *a = ARENA_NEW(arena, Args);
    *a = (Args){.shape = {{m, K}, {K, N}, {0}, {m, N}}, .s = 3, .nin = 3, .nout = 1,
                .ws = (void *)(uintptr_t)workspace, .ws_bytes = 1 << 16};
    a->in[0] = tensor(at[0], a->shape[0], 2);
    a->in[1] = tensor(at[1], a->shape[1], 2);
    a->in[2] = tensor(0, NULL, 0);
    a->in[2].device.type = 1;
    a->in[2].data = &a->s;
    a->out = tensor(at[2], a->shape[3], 2);
    return a;
}

static RollerStatus launch(const Args *a, CudaStream stream) {
    return roller_launch(exec, a->in, a->nin, &a->out, a->nout, a->ws, a->ws_bytes, stream);
}

static float left[MOST * K], right[K * N];

static void fill(void) {
    for (int i = 0; i < MOST * K; i++) left[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++) right[i] = (float)(i % 5 - 2);
    assert_int_equal(cuda_write(device, &diag, at[0], left, sizeof left), ST_OK);
    assert_int_equal(cuda_write(device, &diag, at[1], right, sizeof right), ST_OK);
    assert_int_equal(cuda_fill(device, &diag, NULL, at[2], 0xff, 4096), ST_OK);
    assert_int_equal(cuda_synchronize(device, &diag), ST_OK);
}

/* Rows up to m are the product, the rest is untouched.  */
static void expect(int m) {
    float got[MOST * N];
    assert_int_equal(cuda_synchronize(device, &diag), ST_OK);
    assert_int_equal(cuda_read(device, &diag, got, at[2], sizeof got), ST_OK);
    for (int i = 0; i < MOST; i++)
        for (int j = 0; j < N; j++) {
            float want = 0;
            for (int k = 0; k < K; k++) want += left[i * K + k] * right[k * N + j] * 3;
            uint32_t bits;
            memcpy(&bits, &got[i * N + j], 4);
            if (i < m ? got[i * N + j] != want : bits != 0xffffffff)
                fail_msg("C[%d,%d] is %g, not %g", i, j, (double)got[i * N + j], (double)want);
        }
}

static void computes(void **state) {
    (void)state;
    static const int rows[] = {M, 1, MOST};
    for (int i = 0; i < 3; i++) {
        fill();
        Args *a = good(rows[i]);
        size_t bytes = 1;
        assert_int_equal(roller_workspace(exec, a->in, 3, &a->out, 1, &bytes), ROLLER_OK);
        assert_int_equal(bytes, roller_kernel_workspace(kernel));
        assert_int_equal(launch(a, NULL), ROLLER_OK);
        assert_null(roller_error(NULL));
        expect(rows[i]);
    }
}

/* A captured launch runs when the graph does, as often as it does.  */
static void captured(void **state) {
    (void)state;
    CudaStream stream;
    CudaGraph graph;
    fill();
    assert_int_equal(cuda_stream(device, arena, &diag, &stream), ST_OK);
    assert_int_equal(cuda_graph_begin(device, &diag, stream), ST_OK);
    assert_int_equal(launch(good(M), stream), ROLLER_OK);
    assert_int_equal(cuda_graph_end(device, arena, &diag, stream, &graph), ST_OK);
    expect(0);
    assert_int_equal(cuda_graph_launch(device, &diag, graph, stream), ST_OK);
    assert_int_equal(cuda_stream_wait(device, &diag, stream), ST_OK);
    expect(M);
}

static void refuses(const Args *a, RollerStatus want, const char *what) {
    RollerStatus s = launch(a, NULL);
    const RollerError *e = roller_error(NULL);
    if (s != want || !e || e->status != want || !strstr(e->message, what))
        fail_msg("status %d, not %d: %s", s, want, e ? e->message : "accepted");
}

/* Each status for its fault; where two faults meet, the one that is checked first.  */
static void refusals(void **state) {
    (void)state;
    Args *a = good(M);
    int64_t zero[2] = {0, N};
    a->ws_bytes = 0;
    a->out.data = NULL;
    refuses(a, ROLLER_NULLPTR, "'C' has no data");
    a->out.data = (void *)(uintptr_t)(at[2] + 4);
    refuses(a, ROLLER_ALIGN, "'C' is not aligned to 16");
    a->stride[0] = N + 1;
    a->stride[1] = 1;
    a->out.strides = a->stride;
    refuses(a, ROLLER_STRIDE, "dimension 0 of argument 'C' has stride 17, not 16");
    a->shape[3][0] = M + 1;
    refuses(a, ROLLER_SIZE, "dimension 0 of argument 'C' is 25, not 24");
    a->out.ndim = 1;
    refuses(a, ROLLER_RANK, "'C' has rank 1, not 2");
    a->out.dtype.bits = 16;
    refuses(a, ROLLER_DTYPE, "'C' is f16, not f32");
    a->nout = 0;
    refuses(a, ROLLER_ARGS, "3 inputs and 1 outputs, not 3 and 0");
    a = good(MOST + 1);
    refuses(a, ROLLER_SIZE, "M = 41 is not in 1..40 (dimension 0 of argument 'A')");
    a = good(M);
    a->in[0].device.id = 1;
    refuses(a, ROLLER_ARGS, "'A' is on device 1");
    a = good(M);
    a->in[2].device.type = 2;
    refuses(a, ROLLER_ARGS, "'s' is on device 0 of type 2, not in host memory");
    a = good(M);
    a->in[1].byte_offset = 8;
    refuses(a, ROLLER_ALIGN, "'B'");
    a = good(M);
    a->out.shape = zero;
    refuses(a, ROLLER_SIZE, "'C' is 0, not 24");
}

static void driver_errors(void **state) {
    (void)state;
    assert_int_equal(control("cuLaunchKernel@1=999"), 0);
    assert_int_equal(launch(good(M), NULL), ROLLER_CUDA);
    assert_non_null(strstr(roller_error(NULL)->message, "CUDA_ERROR_UNKNOWN (999)"));
    assert_int_equal(roller_error(NULL)->cuda, 999);
    assert_string_equal(roller_error(NULL)->code_name, "CUDA_ERROR_UNKNOWN");
    assert_int_equal(control(NULL), 0);
    RollerExec *e = exec;
    assert_int_equal(roller_load(kernel, 9, &e), ROLLER_DEVICE);
    assert_null(e);
    assert_int_equal(roller_load(foreign, 0, &e), ROLLER_ARCH);
    assert_non_null(strstr(roller_error(NULL)->message, "sm_90a"));
    assert_int_equal(control("cuLibraryLoadData=2"), 0);
    assert_int_equal(roller_load(kernel, 0, &e), ROLLER_CUDA);
    assert_non_null(strstr(roller_error(NULL)->rendered, "hint: free memory"));
    assert_int_equal(roller_error(NULL)->cuda, 2);
    assert_string_equal(roller_error(NULL)->code_name, "CUDA_ERROR_OUT_OF_MEMORY");
    assert_int_equal(control(NULL), 0);
    assert_int_equal(roller_load(kernel, 0, &e), ROLLER_OK);
    roller_exec_destroy(e);
    assert_true(cuda_here(device));
    fill();
    assert_int_equal(launch(good(M), NULL), ROLLER_OK);
    expect(M);
}

/* A launch belongs to the device of the current context.  */
static void wrong_device(void **state) {
    (void)state;
    Arena *inner = arena_create(NULL);
    CudaContext *other;
    assert_int_equal(cuda_context(cuda, inner, &diag, 1, &other), ST_OK);
    assert_int_equal(cuda_enter(other, inner, &diag), ST_OK);
    assert_int_equal(launch(good(M), NULL), ROLLER_ARCH);
    arena_destroy(inner);
    assert_true(cuda_here(device));
    assert_int_equal(launch(good(M), NULL), ROLLER_OK);
}

/* ---- loading together, and tensors that lie otherwise ---- */
/* One driver and one context for all, which live as long as the last of them; all or none.  */
static void many(void **state) {
    (void)state;
    const RollerKernel *const three[] = {kernel, kernel, kernel}, *const bad[] = {kernel, foreign};
    RollerExec *e[3], *was = exec;
    assert_int_equal(control("cuDevicePrimaryCtxRetain@2=2"), 0);
    assert_int_equal(roller_load_many(three, 3, 0, e), ROLLER_OK);
    assert_int_equal(control(NULL), 0);
    roller_exec_destroy(e[0]);
    roller_exec_destroy(e[1]);
    exec = e[2];
    fill();
    assert_int_equal(launch(good(M), NULL), ROLLER_OK);
    expect(M);
    exec = was;
    roller_exec_destroy(e[2]);
    assert_int_equal(roller_load_many(bad, 2, 0, e), ROLLER_ARCH);
    assert_true(!e[0] && !e[1]);
    assert_int_equal(roller_load_many(three, 0, 9, e), ROLLER_OK);
    assert_int_equal(roller_load_many(three, 3, 9, e), ROLLER_DEVICE);
}

/* What is refused for its strides or alignment gets a kernel by the call that the error names.  */
static void a_kernel_of_their_own(void **state) {
    (void)state;
    enum { LD = K + 3 };
    float wide[M * LD];
    RollerOp *op = NULL;
    RollerProfile *profile = NULL;
    RollerKernel *own = NULL;
    RollerExec *was = exec, *e = NULL;
    RollerPlanOptions o = {.struct_size = sizeof o};
    Args *a = good(M);
    fill();
    for (int m = 0; m < M; m++)
        for (int k = 0; k < LD; k++) wide[m * LD + k] = k < K ? left[m * K + k] : -1e9f;
    assert_int_equal(cuda_write(device, &diag, at[0] + 4, wide, sizeof wide), ST_OK);
    a->in[0].data = (void *)(uintptr_t)(at[0] + 4);
    refuses(a, ROLLER_ALIGN, "'A' is not aligned to 16");
    assert_non_null(strstr(roller_error(NULL)->hint, "roller_op_for"));
    a->stride[0] = LD;
    a->stride[1] = 1;
    a->in[0].strides = a->stride;
    refuses(a, ROLLER_STRIDE, "dimension 0 of argument 'A' has stride 11, not 8");
    assert_non_null(strstr(roller_error(NULL)->hint, "roller_op_for"));
    assert_int_equal(roller_parse(ctx, text, strlen(text), "mm.te", NULL, &op), ROLLER_OK);
    RollerOp *theirs;
    assert_int_equal(roller_op_for(ctx, op, a->in, 3, &a->out, 1, &theirs, &o.align), ROLLER_OK);
    assert_int_equal(o.align, 4);
    assert_int_equal(roller_profile_load(ctx, "a100", &profile), ROLLER_OK);
    assert_int_equal(roller_compile(ctx, theirs, profile, &o, &own), ROLLER_OK);
    assert_int_equal(roller_load(own, 0, &e), ROLLER_OK);
    exec = e;
    assert_int_equal(launch(a, NULL), ROLLER_OK);
    expect(M);
    exec = was;
    a->stride[0] = -1;                    /* no op has such */
    RollerOp *none;
    assert_int_equal(roller_op_for(ctx, op, a->in, 3, &a->out, 1, &none, NULL), ROLLER_TE);
    assert_null(none);
    roller_exec_destroy(e);
    roller_kernel_destroy(own);
    roller_op_destroy(theirs);
    roller_op_destroy(op);
    roller_profile_destroy(profile);
}

/* ---- several programs: a launch takes the one for its sizes ---- */

enum { LONGEST = 600, WIDTH = 48, DEPTH = 64 };
static const char several[] =
    "param M = 0..600 % 4; op mm(A: f32[M,64], B: f32[64,48]) -> C: f32[M,48] "
    "{ C[m,n] += A[m,k] * B[k,n]; }";

typedef struct {
    float a[LONGEST * DEPTH], b[DEPTH * WIDTH], c[LONGEST * WIDTH];
    CudaAddress at[3];
} Product;

static RollerStatus launch_rows(RollerExec *e, const Product *p, int64_t m) {
    int64_t shape[3][2] = {{m, DEPTH}, {DEPTH, WIDTH}, {m, WIDTH}};
    RollerTensor in[2], out = tensor(p->at[2], shape[2], 2);
    for (int i = 0; i < 2; i++) in[i] = tensor(p->at[i], shape[i], 2);
    return roller_launch(e, in, 2, &out, 1, (void *)(uintptr_t)workspace, 1 << 16, NULL);
}

static void expect_product(Product *p, int m) {
    assert_int_equal(cuda_synchronize(device, &diag), ST_OK);
    assert_int_equal(cuda_read(device, &diag, p->c, p->at[2], sizeof p->c), ST_OK);
    for (int i = 0; i < LONGEST; i++)
        for (int j = 0; j < WIDTH; j++) {
            float want = 0;
            uint32_t bits;
            for (int k = 0; k < DEPTH; k++) want += p->a[i * DEPTH + k] * p->b[k * WIDTH + j];
            memcpy(&bits, &p->c[i * WIDTH + j], 4);
            if (i < m ? p->c[i * WIDTH + j] != want : bits != 0xffffffff)
                fail_msg("M = %d: C[%d,%d] is %g", m, i, j, (double)p->c[i * WIDTH + j]);
        }
}

static void takes_sizes(void **state) {
    (void)state;
    static const int rows[] = {4, 32, 36, 64, 68, 300, 596, 600, 0};
    RollerKernel *k = compile_text("a100", several);
    RollerExec *e;
    Product *p = ARENA_NEW(arena, Product);
    for (int i = 0; i < LONGEST * DEPTH; i++) p->a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < DEPTH * WIDTH; i++) p->b[i] = (float)(i % 5 - 2);
    assert_true(roller_kernel_launches(k) > 1);
    assert_int_equal(roller_load(k, 0, &e), ROLLER_OK);
    const size_t bytes[] = {sizeof p->a, sizeof p->b, sizeof p->c};
    for (int i = 0; i < 3; i++)
        assert_int_equal(cuda_alloc(device, arena, &diag, bytes[i], &p->at[i]), ST_OK);
    assert_int_equal(cuda_write(device, &diag, p->at[0], p->a, sizeof p->a), ST_OK);
    assert_int_equal(cuda_write(device, &diag, p->at[1], p->b, sizeof p->b), ST_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(cuda_fill(device, &diag, NULL, p->at[2], 0xff, sizeof p->c), ST_OK);
        assert_int_equal(launch_rows(e, p, rows[i]), ROLLER_OK);
        expect_product(p, rows[i]);
    }
    assert_int_equal(launch_rows(e, p, 6), ROLLER_SIZE);
    const RollerError *said = roller_error(NULL);
    assert_string_equal(said->message,
                        "M = 6 is not a multiple of 4 (dimension 0 of argument 'A')");
    assert_non_null(strstr(said->hint, "relies on the % 4"));
    assert_int_equal(launch_rows(e, p, 604), ROLLER_SIZE);
    assert_string_equal(roller_error(NULL)->message,
                        "M = 604 is not in 0..600 (dimension 0 of argument 'A')");
    assert_non_null(strstr(roller_error(NULL)->hint, "range"));
    roller_exec_destroy(e);
    roller_kernel_destroy(k);
}

/* What a host makes where it was given no output.  */
static void infers(void **state) {
    (void)state;
    Args *a = good(7);
    int64_t room[8] = {0};
    RollerTensor out = {.shape = room};
    assert_int_equal(roller_infer(kernel, a->in, 3, &out, 1), ROLLER_OK);
    assert_int_equal(out.ndim, 2);
    assert_int_equal(out.dtype.code, 2);
    assert_int_equal(out.dtype.bits, 32);
    assert_int_equal(room[0], 7);
    assert_int_equal(room[1], N);
    a->in[0].device.type = 1;
    assert_int_equal(roller_infer(kernel, a->in, 3, &out, 1), ROLLER_OK);
    a->shape[0][0] = MOST + 1;
    assert_int_equal(roller_infer(kernel, a->in, 3, &out, 1), ROLLER_SIZE);
    assert_int_equal(roller_infer(kernel, a->in, 2, &out, 1), ROLLER_ARGS);
    RollerKernel *fill = compile_text("a100", "param M = 1..9; op f(v: f32) -> Y: f32[M] "
                                              "{ Y[i] = v; }");
    assert_int_equal(roller_infer(fill, &a->in[2], 1, &out, 1), ROLLER_SIZE);
    assert_string_equal(roller_error(NULL)->message, "no input tells the size 'M'");
    assert_non_null(strstr(roller_error(NULL)->hint, "outputs"));
    roller_kernel_destroy(fill);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes),      cmocka_unit_test(captured),
        cmocka_unit_test(refusals),      cmocka_unit_test(driver_errors),
        cmocka_unit_test(wrong_device),  cmocka_unit_test(takes_sizes),
        cmocka_unit_test(many),          cmocka_unit_test(a_kernel_of_their_own),
        cmocka_unit_test(infers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
