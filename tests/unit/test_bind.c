/* Launches that a host makes itself from what roller_bind gives, on the simulated driver.  */
#include "roller.h"
#include "simulated.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 600, K = 64, N = 48, WORKSPACE = 1 << 20 };
static const char product[] =
    "param M = 0..600 % 4; op mm(A: f32[M,64], B: f32[64,48], s: f32) -> C: f32[M,48] "
    "{ t[m,n] += A[m,k] * B[k,n]; C[m,n] = t[m,n] * s; }";
/* Two launches on a device whose copies are made by tensor maps.  */
static const char mapped[] =
    "op mm(A: f16[512,256], D: f16[256,256]) -> E: f32[512,256] "
    "{ t[m,n] += A[m,k] * D[k,n] @type(f16); E[m,n] += t[m,k] * D[k,n]; }";

/* ---- the host: its own context and stream ---- */
typedef struct {
    unsigned grid[3], block[3], smem;
    void *stream;
    struct {
        int id, zero;
        union {
            unsigned cluster[3];
            int number;
            char room[64];
        } value;
    } *attribute;
    unsigned n_attribute;
} Config;

static void *library, *context, *stream;

static void (*find(const char *name))(void) {
    void *at = dlsym(library, name);
    void (*function)(void);
    assert_non_null(at);
    memcpy(&function, &at, sizeof at);
    return function;
}
#define CALL(name, types, ...) \
    assert_int_equal(((int (*) types)find(#name))(__VA_ARGS__), 0)

static RollerCtx *ctx;

static RollerKernel *compile(const char *te, const char *profile_name) {
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

static int setup(void **state) {
    (void)state;
    int device = 0;
    simulated_setup("profiles/h200.json");
    setenv("ROLLER_PROFILE_PATH", "profiles", 1);
    library = dlopen(getenv("ROLLER_LIBCUDA"), RTLD_NOW);
    if (!library || roller_ctx_create(NULL, &ctx)) return -1;
    CALL(cuInit, (unsigned), 0);
    CALL(cuDeviceGet, (int *, int), &device, 0);
    CALL(cuDevicePrimaryCtxRetain, (void **, int), &context, device);
    CALL(cuCtxSetCurrent, (void *), context);
    CALL(cuStreamCreate, (void **, unsigned), &stream, 1);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    roller_ctx_destroy(ctx);
    return 0;
}

static char *device_memory(size_t bytes, const void *data) {
    uint64_t at = 0;
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &at, bytes);
    if (data) CALL(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t), at, data, bytes);
    return (char *)(uintptr_t)at;
}

static void read_back(void *to, const char *from, size_t bytes) {
    CALL(cuStreamSynchronize, (void *), stream);
    CALL(cuMemcpyDtoH_v2, (void *, uint64_t, size_t), to, (uint64_t)(uintptr_t)from, bytes);
}

static RollerTensor tensor(char *at, int64_t *shape, int bits) {
    RollerTensor t = {.data = at, .device = {2, 0}, .ndim = 2, .shape = shape};
    t.dtype.code = 2;
    t.dtype.bits = (uint8_t)bits;
    t.dtype.lanes = 1;
    return t;
}

/* Launches what a binding has as its host would.  */
static void launch_all(const RollerBinding *b, void *module) {
    for (int i = 0; i < roller_binding_launches(b); i++) {
        RollerLaunch l = {.struct_size = sizeof l};
        void *function = NULL;
        assert_int_equal(roller_binding_launch(b, i, &l), ROLLER_OK);
        CALL(cuModuleGetFunction, (void **, void *, const char *), &function, module, l.symbol);
        if (l.dynamic_smem > 32 * 1024)
            CALL(cuFuncSetAttribute, (void *, int, int), function, 8, (int)l.dynamic_smem);
        Config c = {.smem = l.dynamic_smem, .stream = stream};
        memcpy(c.grid, l.grid, sizeof c.grid);
        memcpy(c.block, l.block, sizeof c.block);
        c.attribute = calloc(2, sizeof *c.attribute);
        assert_non_null(c.attribute);
        c.attribute[0].id = 4;
        memcpy(c.attribute[0].value.cluster, l.cluster, sizeof l.cluster);
        c.n_attribute = 1;
        if (l.overlap) {
            c.attribute[1].id = 6;
            c.attribute[1].value.number = 1;
            c.n_attribute = 2;
        }
        CALL(cuLaunchKernelEx, (const Config *, void *, void **, void **), &c, function, l.params,
             NULL);
        free(c.attribute);
    }
}

static void *load(const RollerKernel *k) {
    const void *ptx;
    size_t size;
    void *module = NULL;
    assert_int_equal(roller_kernel_get(k, ROLLER_PTX, &ptx, &size), ROLLER_OK);
    CALL(cuModuleLoadData, (void **, const void *), &module, ptx);
    return module;
}

/* ---- a program for each range of sizes ---- */
typedef struct {
    float a[MOST * K], b[K * N], c[MOST * N], s;
    char *at[3], *workspace;
    int64_t shape[3][2];
    RollerTensor in[3], out;
} Product;

static Product *product_new(void) {
    Product *p = calloc(1, sizeof *p);
    assert_non_null(p);
    for (int i = 0; i < MOST * K; i++) p->a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++) p->b[i] = (float)(i % 5 - 2);
    p->at[0] = device_memory(sizeof p->a, p->a);
    p->at[1] = device_memory(sizeof p->b, p->b);
    p->at[2] = device_memory(sizeof p->c, p->c);
    p->workspace = device_memory(WORKSPACE, NULL);
    return p;
}

static void shape_for(Product *p, int64_t m) {
    const int64_t shape[3][2] = {{m, K}, {K, N}, {m, N}};
    memcpy(p->shape, shape, sizeof shape);
    p->in[0] = tensor(p->at[0], p->shape[0], 32);
    p->in[1] = tensor(p->at[1], p->shape[1], 32);
    p->in[2] = (RollerTensor){.data = &p->s, .device = {1, 0}, .dtype = {2, 32, 1}};
    p->out = tensor(p->at[2], p->shape[2], 32);
    p->s = 2;
}

static void expect_product(Product *p, int m) {
    read_back(p->c, p->at[2], sizeof p->c);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < N; j++) {
            float want = 0;
            for (int k = 0; k < K; k++) want += p->a[i * K + k] * p->b[k * N + j];
            if (p->c[i * N + j] != 2 * want)
                fail_msg("M = %d: C[%d,%d] is %g", m, i, j, (double)p->c[i * N + j]);
        }
}

static void at_sizes(void **state) {
    (void)state;
    static const int rows[] = {4, 36, 300, 600};
    RollerKernel *k = compile(product, "a100");
    void *module = load(k);
    Product *p = product_new();
    RollerBindOptions o = {.struct_size = sizeof o, .workspace = p->workspace,
                           .workspace_bytes = WORKSPACE};
    RollerBinding *b;
    assert_true(roller_kernel_launches(k) > 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        shape_for(p, rows[i]);
        assert_int_equal(roller_bind(k, p->in, 3, &p->out, 1, &o, &b), ROLLER_OK);
        p->s = 7;                         /* taken when it was bound, as shapes were */
        memset(p->shape, 0, sizeof p->shape);
        launch_all(b, module);
        expect_product(p, rows[i]);
        roller_binding_destroy(b);
    }
    shape_for(p, 0);
    assert_int_equal(roller_bind(k, p->in, 3, &p->out, 1, &o, &b), ROLLER_OK);
    assert_int_equal(roller_binding_launches(b), 0);
    RollerLaunch none = {.struct_size = sizeof none};
    assert_int_equal(roller_binding_launch(b, 0, &none), ROLLER_USAGE);
    roller_binding_destroy(b);
    free(p);
    roller_kernel_destroy(k);
}

static void refuses(const RollerKernel *k, const Product *p, RollerStatus want, const char *why) {
    RollerBinding *b;
    assert_int_equal(roller_bind(k, p->in, 3, &p->out, 1, NULL, &b), want);
    assert_null(b);
    assert_non_null(strstr(roller_error(NULL)->message, why));
}

static void refusals(void **state) {
    (void)state;
    RollerKernel *k = compile(product, "a100");
    Product *p = product_new();
    shape_for(p, 6);
    refuses(k, p, ROLLER_SIZE, "M = 6 is not a multiple of 4");
    shape_for(p, 8);
    p->in[0].device.id = 1;
    refuses(k, p, ROLLER_ARGS, "argument 'A' is on device 1");
    p->in[0].device.id = 0;
    p->in[1].data = p->at[1] + 4;
    refuses(k, p, ROLLER_ALIGN, "argument 'B' is not aligned");
    free(p);
    roller_kernel_destroy(k);
}

/* ---- tensor maps, a workspace, a kernel from its description alone ---- */
static uint16_t half(int v) {
    static const uint16_t of[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000};     /* -2 .. 2 */
    return of[v + 2];
}

static RollerKernel *described(const RollerKernel *k) {
    RollerCtxOptions none = {.struct_size = sizeof none, .nvrtc = "/nowhere/libnvrtc.so"};
    RollerKernelFiles files = {.struct_size = sizeof files};
    const void *json;
    RollerCtx *reader;
    RollerKernel *made;
    assert_int_equal(roller_ctx_create(&none, &reader), ROLLER_OK);
    assert_int_equal(roller_kernel_get(k, ROLLER_JSON, &json, &files.json_len), ROLLER_OK);
    files.json = json;
    if (roller_kernel_read(reader, &files, &made)) fail_msg("%s", roller_error(reader)->message);
    RollerExec *exec;
    assert_int_equal(roller_load(made, 0, &exec), ROLLER_NVRTC);
    files.ptx_len = 1;
    files.ptx = "";
    RollerKernel *halves;
    assert_int_equal(roller_kernel_read(reader, &files, &halves), ROLLER_USAGE);
    roller_ctx_destroy(reader);
    return made;
}

enum { ROWS = 512, SIDE = 256 };
typedef struct {
    uint16_t a[ROWS * SIDE], d[SIDE * SIDE];
    float e[ROWS * SIDE];
} Chain;

/* (A D) D where D is -1 on its diagonal and 1 beside it.  */
static void expect_chain(const Chain *x) {
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < SIDE; j++) {
            int want = (i + j) % 5 - 2;
            if (j > 0) want -= 2 * ((i + j - 1) % 5 - 2);
            if (j > 1) want += (i + j - 2) % 5 - 2;
            if (x->e[i * SIDE + j] != (float)want)
                fail_msg("E[%d,%d] is %g, not %d", i, j, (double)x->e[i * SIDE + j], want);
        }
}

static void by_maps(void **state) {
    (void)state;
    RollerKernel *k = compile(mapped, "h200"), *own = described(k);
    void *module = load(k);
    Chain *x = calloc(1, sizeof *x);
    assert_non_null(x);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < SIDE; j++) x->a[i * SIDE + j] = half((i + j) % 5 - 2);
    for (int i = 0; i < SIDE; i++) {
        x->d[i * SIDE + i] = half(1);
        if (i + 1 < SIDE) x->d[i * SIDE + i + 1] = half(-1);
    }
    int64_t tall[2] = {ROWS, SIDE}, square[2] = {SIDE, SIDE};
    RollerTensor in[2] = {tensor(device_memory(sizeof x->a, x->a), tall, 16),
                          tensor(device_memory(sizeof x->d, x->d), square, 16)},
                 out = tensor(device_memory(sizeof x->e, x->e), tall, 32);
    size_t need = 0;
    int maps = 0;
    RollerBinding *b;
    assert_int_equal(roller_bind_workspace(own, in, 2, &out, 1, &need), ROLLER_OK);
    assert_true(need >= sizeof x->a && (int64_t)need <= roller_kernel_workspace(k));
    assert_int_equal(roller_bind(own, in, 2, &out, 1, NULL, &b), ROLLER_WORKSPACE);
    for (int host = 0; host < 2; host++) {
        int64_t resident[4] = {2, 2, 2, 2};
        RollerBindOptions o = {.struct_size = sizeof o, .workspace = device_memory(need, NULL),
                               .workspace_bytes = need};
        if (host) {
            o.encode_tiled = find("cuTensorMapEncodeTiled");
            o.encode_im2col = find("cuTensorMapEncodeIm2col");
            o.resident = resident;
            o.n_resident = 4;
        }
        assert_int_equal(roller_bind(own, in, 2, &out, 1, &o, &b), ROLLER_OK);
        assert_int_equal(roller_binding_launches(b), 2);
        for (int i = 0; i < 2; i++) {
            RollerLaunch l = {.struct_size = sizeof l};
            RollerLaunchInfo info = {.struct_size = sizeof info};
            assert_int_equal(roller_binding_launch(b, i, &l), ROLLER_OK);
            assert_int_equal(roller_kernel_launch_info(k, l.kernel, &info), ROLLER_OK);
            assert_string_equal(l.symbol, info.symbol);
            for (int p = 0; p < l.n_params; p++) maps += l.param_bytes[p] == 128;
            if (host && info.resident) assert_true(l.grid[0] <= 2);
            assert_int_equal(l.overlap, i > 0 && info.waits_for_previous);
        }
        launch_all(b, module);
        read_back(x->e, out.data, sizeof x->e);
        expect_chain(x);
        memset(x->e, 0, sizeof x->e);
        roller_binding_destroy(b);
    }
    assert_true(maps > 0);
    free(x);
    roller_kernel_destroy(own);
    roller_kernel_destroy(k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_sizes),
        cmocka_unit_test(refusals),
        cmocka_unit_test(by_maps),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
