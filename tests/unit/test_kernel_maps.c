/* Kernels that take tensor maps, by everything that launches kernels: the check, in the simulator
 * and on a device, runs on host memory, roller_launch, STEM.json and the launchers.  */
#include "driver/check/check.h"
#include "map_kernels.h"
#include "simulated.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { BOXES, WINDOWS, SUMS };

static Arena *arena;
static Diag diag;
static Cuda *cuda;
static CudaContext *device;
static RollerCtx *ctx;
static RollerKernel *kernel[MAP_KERNELS];
static void (*control)(const char *rules);

static int setup(void **state) {
    (void)state;
    simulated_setup("profiles/h200.json");
    setenv("ROLLER_PROFILE_PATH", "profiles", 1);
    void *library = dlopen(getenv("ROLLER_LIBCUDA"), RTLD_NOW | RTLD_LOCAL);
    if (!library) return -1;
    *(void **)&control = dlsym(library, "roller_sim_driver_control");
    arena = arena_create(NULL);
    diag = diag_new(arena);
    NvrtcOutput code;
    if (roller_ctx_create(NULL, &ctx)) return -1;
    if (map_kernels_compile(arena, &diag, &code)) fail_msg("%s", diag_first_error(&diag)->message);
    for (int k = 0; k < MAP_KERNELS; k++) {
        const char *why = "";
        kernel[k] = map_kernel(ctx, k, &code, &why);
        if (!kernel[k]) fail_msg("%s", why);
    }
    if (cuda_open(arena, &diag, NULL, &cuda)) return -1;
    if (cuda_context(cuda, arena, &diag, 0, &device)) return -1;
    return cuda_enter(device, arena, &diag) ? -1 : 0;
}

static int teardown(void **state) {
    (void)state;
    control(NULL);
    for (int k = 0; k < MAP_KERNELS; k++) roller_kernel_destroy(kernel[k]);
    roller_ctx_destroy(ctx);
    arena_destroy(arena);
    return 0;
}

/* ---- the check ---- */
static void right_in_the_simulator(void **state) {
    (void)state;
    for (int k = 0; k < MAP_KERNELS; k++) {
        RollerCheckReport report = {.struct_size = sizeof report};
        if (roller_check(ctx, kernel[k], NULL, &report))
            fail_msg("%s: %s", map_kernel_name[k], roller_error(ctx)->message);
        assert_true(report.compared > 0);
    }
}

static RollerKernel *compiled(const char *text) {
    RollerOp *op = NULL;
    RollerProfile *h200 = NULL;
    RollerKernel *k = NULL;
    if (roller_profile_load(ctx, "h200", &h200) ||
        roller_parse(ctx, text, strlen(text), "op.te", NULL, &op) ||
        roller_compile(ctx, op, h200, NULL, &k))
        fail_msg("%s", roller_error(ctx)->message);
    roller_op_destroy(op);
    roller_profile_destroy(h200);
    return k;
}

/* Operands that are packed first, and results that a later kernel reads: their maps are of the
 * workspace.  */
static void temporaries_are_in_the_workspace(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int maps;             /* of temporaries */
    } cases[] = {
        {"op f(A: f16[512,1023], B: f16[512,1023]) -> C: f16[512,512] {"
         " C[m,n] += A[m,k] * B[n,k]; }", 2},
        {"op f(A: bf16[4096,256], B: bf16[256,2048], D: bf16[2048,2048]) -> C: bf16[4096,2048] {"
         " t[m,n] += A[m,k] * B[k,n]; C[m,l] += bf16(t[m,n]) * D[n,l]; }", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        RollerKernel *k = compiled(cases[i].text);
        RollerCheckReport report = {.struct_size = sizeof report};
        const KernelProgram *p = &k->build.program;
        int maps = 0;
        for (int n = 0; n < p->n_kernel; n++)
            for (int m = 0; m < p->kernel[n].n_map; m++) maps += p->kernel[n].map[m].tensor < 0;
        assert_int_equal(maps, cases[i].maps);
        RollerCheckOptions o = {.struct_size = sizeof o, .budget_s = 1};
        if (roller_check(ctx, k, &o, &report)) fail_msg("%s", roller_error(ctx)->message);
        assert_true(report.compared > 0);
        roller_kernel_destroy(k);
    }
}

static void right_on_a_device(void **state) {
    (void)state;
    for (int k = 0; k < MAP_KERNELS; k++) {
        const RollerPlans *p = kernel[k]->plans;
        RunPlace place = {.dev = p->set.dev, .context = device};
        CheckOptions o = {.place = &place, .threads = 1};
        CheckResult result;
        Arena *a = arena_create(NULL);
        if (check_kernel(a, &diag, &(BuiltPlan){&p->set, &kernel[k]->plan.whole, &kernel[k]->build},
                         &o, &result))
            fail_msg("%s: %s", map_kernel_name[k], diag_first_error(&diag)->message);
        arena_destroy(a);
    }
}

/* Checks a kernel whose first launch has another first map; its error contains `words`.  */
static void wrong_map(int which, KernelMap changed, const char *words) {
    RollerCheckReport report = {.struct_size = sizeof report};
    KernelLaunch *l = &kernel[which]->build.program.kernel[0];
    const KernelMap *own = l->map;
    KernelMap *map = ARENA_ARRAY(arena, KernelMap, l->n_map);
    memcpy(map, own, (size_t)l->n_map * sizeof *map);
    map[0] = changed;
    l->map = map;
    RollerStatus s = roller_check(ctx, kernel[which], NULL, &report);
    l->map = own;
    assert_int_equal(s, ROLLER_CHECK);
    if (!strstr(roller_error(ctx)->message, words)) fail_msg("%s", roller_error(ctx)->message);
}

static void wrong_maps_are_found(void **state) {
    (void)state;
    const KernelMap boxes = kernel[BOXES]->build.program.kernel[0].map[0];
    const KernelMap windows = kernel[WINDOWS]->build.program.kernel[0].map[0];
    KernelMap m = boxes;
    m.fixed.swizzle = TM_SWIZZLE_128;
    wrong_map(BOXES, m, "expected");
    m = boxes;
    m.dim[1].value++;         /* an expression decides, not its largest value */
    m.offset = (TeExtent){.value = 16, .min = 16, .multiple = 16};
    wrong_map(BOXES, m, "outside every allocation");
    m.offset.value = 4;
    wrong_map(BOXES, m, "the tensor map of X: its address is not aligned");
    m = windows;
    m.upper[0].value = 0;
    wrong_map(WINDOWS, m, "expected");
    m.upper[0].value = 128;
    wrong_map(WINDOWS, m, "the tensor map of I: a corner");
}

/* Before a kernel is compiled: its maps at all sizes, and how many there are.  */
static void maps_are_checked_when_they_are_made(void **state) {
    enum { FILL = 31 };
    (void)state;
    Diag d = diag_new(arena);
    for (int k = 0; k < MAP_KERNELS; k++)
        assert_int_equal(cg_check_params(&d, &kernel[k]->build.program, 16), ST_OK);
    assert_int_equal(cg_check_params(&d, &kernel[BOXES]->build.program, 8), ST_INTERNAL);
    assert_non_null(strstr(diag_first_error(&d)->message, "its address is not aligned"));
    KernelLaunch many = kernel[SUMS]->build.program.kernel[0];
    KernelMap *map = ARENA_ARRAY(arena, KernelMap, FILL + 1);
    KernelParam *param = ARENA_ARRAY(arena, KernelParam, many.n_param + FILL + 1);
    int others = many.n_param - many.n_map;
    memcpy(param, many.param, (size_t)others * sizeof *param);
    for (int i = 0; i <= FILL; i++) map[i] = many.map[0];
    for (int i = 0; i <= FILL; i++) param[others + i] = (KernelParam){PARAM_MAP, i, TM_BYTES, 0};
    many.map = map;
    many.param = param;
    many.n_map = FILL;
    many.n_param = others + FILL;
    KernelProgram p = kernel[SUMS]->build.program;
    p.kernel = &many;
    assert_int_equal(cg_check_params(&d, &p, 16), ST_OK);
    many.n_map++;
    many.n_param++;
    d = diag_new(arena);
    assert_int_equal(cg_check_params(&d, &p, 16), ST_INTERNAL);
    assert_non_null(strstr(diag_first_error(&d)->message, "parameters, more than"));
}

/* ---- numbers by plain indexing ---- */
enum { MOST = 3 * 42 * 9 * 16 };
static float given[MOST], want[MOST], got[MOST];

static float at(int64_t m, int64_t k, int64_t rows, int64_t columns) {
    return m >= 0 && m < rows && k >= 0 && k < columns ? given[m * columns + k] : 0;
}

/* Elements of the input and of the output at this size; `want` has the output.  */
static void expect(int which, int64_t n, int64_t *ins, int64_t *outs) {
    enum { COLUMNS = 20 };
    int64_t o = 0;
    for (int i = 0; i < MOST; i++) given[i] = (float)(i * 7 % 31 - 15);
    memset(want, 0, sizeof want);
    if (which == BOXES)
        for (int64_t m = 0; m < n; m++)
            for (int64_t k = 0; k < COLUMNS; k++) want[o++] = at(m - 1, k + 3, n, COLUMNS);
    if (which == WINDOWS)
        for (int64_t p = 0; p < n * 42; p++)
            for (int64_t rs = 0; rs < 9; rs++)
                for (int64_t c = 0; c < 16; c++) {
                    int64_t y = p / 7 % 6 + rs / 3 - 1, x = p % 7 + rs % 3 - 1;
                    bool inside = y >= 0 && y < 6 && x >= 0 && x < 7;
                    want[o++] = inside ? given[((p / 42 * 6 + y) * 7 + x) * 16 + c] : 0;
                }
    if (which == SUMS)
        for (o = 0; o < 16; o++)
            for (int64_t j = 0; j < n; j++) want[o] += given[j * 16 + o];
    *outs = o;
    *ins = which == BOXES ? o : which == WINDOWS ? n * 42 * 16 : n * 16;
}

/* Tensors of a call at this size.  */
typedef struct {
    int64_t shape[2][6];
    RollerTensor in, out;
} Call;

static void call_of(int which, int64_t n, int device_type, void *in, void *out, Call *c) {
    static const int64_t shape[MAP_KERNELS][2][6] = {
        {{0, 20}, {0, 20}}, {{0, 6, 7, 16}, {0, 6, 7, 3, 3, 16}}, {{0, 16}, {16}}};
    static const int rank[MAP_KERNELS][2] = {{2, 2}, {4, 6}, {2, 1}};
    memcpy(c->shape, shape[which], sizeof c->shape);
    c->shape[0][0] = n;
    if (which != SUMS) c->shape[1][0] = n;
    c->in = (RollerTensor){.data = in, .device = {device_type, 0}, .dtype = {2, 32, 1},
                           .ndim = rank[which][0], .shape = c->shape[0]};
    c->out = c->in;
    c->out.data = out;
    c->out.ndim = rank[which][1];
    c->out.shape = c->shape[1];
}

static void compare(int which, int64_t n, int64_t outs, const char *where) {
    for (int64_t i = 0; i < outs; i++)
        if (got[i] != want[i])
            fail_msg("%s of %lld, %s: [%lld] is %g, not %g", map_kernel_name[which], (long long)n,
                     where, (long long)i, (double)got[i], (double)want[i]);
}

static const int64_t sizes[MAP_KERNELS][3] = {{1, 17, 70}, {1, 2, 3}, {0, 16, 37}};

static void runs_on_host_memory(void **state) {
    (void)state;
    for (int k = 0; k < MAP_KERNELS; k++)
        for (int i = 0; i < 3; i++) {
            int64_t ins, outs, n = sizes[k][i];
            Call c;
            expect(k, n, &ins, &outs);
            call_of(k, n, 1, given, got, &c);
            memset(got, 0xff, sizeof got);
            if (roller_run(ctx, kernel[k], &c.in, 1, &c.out, 1, NULL, NULL))
                fail_msg("%s", roller_error(ctx)->message);
            compare(k, n, outs, "run");
        }
}

/* Twice from one load, with tensors at other places.  */
static void launches(void **state) {
    (void)state;
    CudaAddress in, out, room;
    assert_int_equal(cuda_alloc(device, arena, &diag, sizeof given, &in), ST_OK);
    assert_int_equal(cuda_alloc(device, arena, &diag, sizeof got, &out), ST_OK);
    assert_int_equal(cuda_alloc(device, arena, &diag, 1 << 16, &room), ST_OK);
    for (int k = 0; k < MAP_KERNELS; k++) {
        RollerExec *exec;
        assert_int_equal(roller_load(kernel[k], 0, &exec), ROLLER_OK);
        for (int i = 0; i < 3; i++) {
            int64_t ins, outs, n = sizes[k][i], shift = 16 * i;
            Call c;
            size_t need;
            void *to = (void *)(uintptr_t)out, *from = (void *)(uintptr_t)(in + (size_t)shift);
            expect(k, n, &ins, &outs);
            call_of(k, n, 2, from, to, &c);
            if (ins)
                assert_int_equal(cuda_write(device, &diag, in + (size_t)shift, given,
                                            (size_t)ins * 4), ST_OK);
            assert_int_equal(cuda_fill(device, &diag, NULL, out, 0xff, sizeof got), ST_OK);
            assert_int_equal(roller_workspace(exec, &c.in, 1, &c.out, 1, &need), ROLLER_OK);
            assert_int_equal(need, k == BOXES ? 256 + outs * 4 : 0);
            if (roller_launch(exec, &c.in, 1, &c.out, 1, (void *)(uintptr_t)room, need, NULL))
                fail_msg("%s", roller_error(NULL)->message);
            assert_int_equal(cuda_synchronize(device, &diag), ST_OK);
            assert_int_equal(cuda_read(device, &diag, got, out, (size_t)outs * 4), ST_OK);
            compare(k, n, outs, "launch");
        }
        roller_exec_destroy(exec);
    }
}

static void old_drivers_are_refused(void **state) {
    (void)state;
    RollerExec *exec;
    control("missing=cuTensorMapEncodeIm2col");
    assert_int_equal(roller_load(kernel[BOXES], 0, &exec), ROLLER_DRIVER);
    assert_non_null(strstr(roller_error(NULL)->message, "cuTensorMapEncodeIm2col"));
    control(NULL);
}

/* ---- artefacts ---- */
static void write_file(const char *folder, const char *name, const char *ending, const void *data,
                       size_t size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%s", folder, name, ending);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static void write_artefacts(const char *folder, int which) {
    static const struct {
        RollerArtefact what;
        const char *ending;
    } file[] = {{ROLLER_JSON, ".json"}, {ROLLER_C_HEADER, ".h"}, {ROLLER_C_SOURCE, ".c"},
                {ROLLER_PYTHON, ".py"}};
    const void *data;
    size_t size;
    const RollerKernel *k = kernel[which];
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        assert_int_equal(roller_artefact(ctx, &k, 1, file[i].what, &data, &size), ROLLER_OK);
        write_file(folder, map_kernel_name[which], file[i].ending, data, size);
    }
    assert_int_equal(roller_kernel_get(k, ROLLER_PTX, &data, &size), ROLLER_OK);
    write_file(folder, map_kernel_name[which], ".sm_90a.ptx", data, size);
}

/* By STEM.json alone, STEM.py and STEM.so, in a process of Python's.  */
static void artefacts_launch(void **state) {
    (void)state;
    char folder[] = "/tmp/roller-maps-XXXXXX", here[2048];
    if (system("command -v python3 cc >/dev/null") != 0) skip();
    assert_non_null(mkdtemp(folder));
    assert_non_null(getcwd(here, sizeof here));
    const char *driver = getenv("ROLLER_LIBCUDA"), *name = strrchr(driver, '/');
    for (int k = 0; k < MAP_KERNELS; k++) write_artefacts(folder, k);
    int code = system(arena_printf(
        arena,
        "cd %s && for f in *.c; do cc -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow "
        "-Werror -O1 -shared -fPIC -o ${f%%.c}.so $f -ldl || exit 1; done && "
        "python3 %s/tests/artefacts/validate.py %s/schemas/kernel.schema.json *.json && "
        "ROLLER_SIM_PROFILE=%s/profiles/h200.json LD_LIBRARY_PATH=%.*s PYTHONDONTWRITEBYTECODE=1 "
        "python3 %s/tests/artefacts/compare.py boxes windows sums >out 2>&1; "
        "! grep -v '^ok' out && grep -q '^ok' out",
        folder, here, here, here, (int)(name - driver), driver, here));
    assert_int_equal(system(arena_printf(arena, "rm -r %s", folder)), 0);
    assert_int_equal(code, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_in_the_simulator), cmocka_unit_test(right_on_a_device),
        cmocka_unit_test(temporaries_are_in_the_workspace),
        cmocka_unit_test(maps_are_checked_when_they_are_made),
        cmocka_unit_test(wrong_maps_are_found),   cmocka_unit_test(runs_on_host_memory),
        cmocka_unit_test(launches),               cmocka_unit_test(artefacts_launch),
        cmocka_unit_test(old_drivers_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
