/* Kernels of run-time sizes are compiled one by one, on any number of threads: code and errors are
 * the same for all numbers, and what NVRTC gives for parts is joined to what it would give for the
 * whole.  */
#include "arena_fixture.h"
#include "base/elf.h"
#include "driver/pipeline/compile.h"
#include "ptxrun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static PlanSet set;
static WholePlan whole;

/* ---- joined ---- */

/* f and table mean another thing in each part; twice is the same in both.  */
#define PART(name, term, a, b)                                                                     \
    "extern __shared__ float room[];\n"                                                            \
    "__device__ __constant__ float table[2] = {" a ", " b "};\n"                                   \
    "static __device__ __noinline__ float twice(float x) { return x + x; }\n"                      \
    "static __device__ __noinline__ float f(float x, int i) { return twice(x) " term               \
    " table[i & 1]; }\n"                                                                           \
    "extern \"C\" __global__ void " name "(float *p) {\n"                                          \
    "    room[threadIdx.x] = f((float)threadIdx.x, threadIdx.x);\n"                                \
    "    p[threadIdx.x] = room[threadIdx.x];\n}\n"
static const char *const part[] = {PART("first", "+", "1", "10"), PART("second", "*", "3", "0.5")};
enum { PARTS = sizeof part / sizeof *part };

static NvrtcOutput joined(void) {
    static const NvrtcRequest both = {.ptx = true, .cubin = true};
    const NvrtcOutput *from[PARTS];
    Nvrtc *nvrtc;
    NvrtcOutput one[PARTS], all;
    must(nvrtc_open(arena, &diag, NULL, "sm_90a", &nvrtc));
    for (int i = 0; i < PARTS; i++) {
        must(nvrtc_compile(nvrtc, arena, &diag, part[i], "sm_90a", &both, &one[i]));
        from[i] = &one[i];
    }
    nvrtc_join(arena, from, PARTS, &all);
    assert_int_equal(all.n_kernel, PARTS);
    for (int i = 0; i < PARTS; i++) {
        const KernelResources *r = &all.kernel[i];
        ElfSection s;
        assert_int_equal(r->image % ELF_ALIGN, 0);
        assert_memory_equal((const char *)all.cubin + r->image, one[i].cubin, one[i].cubin_len);
        assert_int_equal(elf_size((const char *)all.cubin + r->image), one[i].cubin_len);
        assert_true(elf_section(all.cubin, all.cubin_len, ".text.", r->kernel, &s));
    }
    return all;
}

/* A word of the run's dynamic shared memory for each thread.  */
static void expect(PtxRun *r, const SimModule *m, const char *kernel, bool first) {
    enum { THREADS = 32 };
    static const float poison[THREADS];
    run_memory(r, poison, sizeof poison);
    r->launch.dynamic_smem = sizeof poison;
    r->launch.params = r->arg;
    r->launch.params_bytes = (size_t)r->n_arg * sizeof *r->arg;
    if (run_parsed(r, m, kernel)) fail_msg("%s", diag_first_error(&r->diag)->message);
    const float *got = run_host(r, r->n_arg - 1);
    for (int i = 0; i < THREADS; i++) {
        float x = 2 * (float)i;
        float want = first ? x + (i % 2 ? 10 : 1) : x * (i % 2 ? 0.5F : 3);
        if (got[i] != want) fail_msg("%s: %g for %g at %d", kernel, got[i], want, i);
    }
    r->n_arg = 0;
}

static void test_joined(void **state) {
    (void)state;
    NvrtcOutput all = joined();
    PtxRun r;
    SimModule *m;
    run_open(&r);
    assert_int_equal(all.ptx_len, strlen(all.ptx));
    must(sim_parse(arena, &diag, "joined.ptx", all.ptx, all.ptx_len, &m));
    expect(&r, m, "first", true);
    expect(&r, m, "second", false);
    run_close(&r);
}

/* ---- a build ---- */

/* Of few small kernels.  */
static void plan(void) {
    static const char text[] =
        "param M = 1..4096; op f(A: f32[M,96], B: f32[96,64]) -> C: f32[M,64]"
        " { C[m,n] += A[m,k] * B[k,n]; }";
    CompileOptions o = {.top = 100, .align = 16, .workspace_limit = -1, .programs = 3};
    Device *dev;
    Te *te;
    must(hal_profile_find(arena, &diag, "h200", "profiles", NULL, &dev));
    must(te_parse(arena, &diag, diag_text("case.te", text), NULL, NULL, &te));
    must(compile_plan(arena, &diag, &(PlanRequest){te, dev, &o}, &set));
    compile_choose(arena, &set, 0, &whole);
}

static Build built(int threads) {
    Build b;
    must(compile_build(arena, &diag, &whole, set.dev, &(BuildOptions){.threads = threads}, &b));
    return b;
}

static void same(const Build *x, const Build *y) {
    assert_int_equal(x->nvrtc.cubin_len, y->nvrtc.cubin_len);
    assert_memory_equal(x->nvrtc.cubin, y->nvrtc.cubin, x->nvrtc.cubin_len);
    assert_string_equal(x->nvrtc.ptx, y->nvrtc.ptx);
    assert_string_equal(x->nvrtc.log, y->nvrtc.log);
    assert_int_equal(x->nvrtc.n_kernel, y->nvrtc.n_kernel);
    for (int i = 0; i < x->nvrtc.n_kernel; i++) {
        assert_string_equal(x->nvrtc.kernel[i].kernel, y->nvrtc.kernel[i].kernel);
        assert_int_equal(x->nvrtc.kernel[i].registers, y->nvrtc.kernel[i].registers);
        assert_int_equal(x->nvrtc.kernel[i].image, y->nvrtc.kernel[i].image);
    }
}

/* Machine code of each kernel is what NVRTC makes of all of them at once.  */
static void same_code(const Build *b) {
    static const NvrtcRequest request = {.ptx = true, .cubin = true};
    Nvrtc *nvrtc;
    NvrtcOutput all;
    must(nvrtc_open(arena, &diag, NULL, b->arch, &nvrtc));
    must(nvrtc_compile(nvrtc, arena, &diag, b->program.source, b->arch, &request, &all));
    assert_int_equal(all.n_kernel, b->nvrtc.n_kernel);
    for (int i = 0; i < all.n_kernel; i++) {
        ElfSection x, y;
        const char *name = all.kernel[i].kernel;
        assert_true(elf_section(all.cubin, all.cubin_len, ".text.", name, &x));
        assert_true(elf_section(b->nvrtc.cubin, b->nvrtc.cubin_len, ".text.", name, &y));
        assert_int_equal(x.len, y.len);
        assert_memory_equal(x.data, y.data, x.len);
    }
}

/* Those of kernels 1 and 2 are refused: the first of them is told, with its line.  */
static void test_errors(const Build *whole_build) {
    const char *first = NULL;
    for (int threads = 1; threads <= 4; threads += 3) {
        Build b = *whole_build;
        char *source = arena_strdup(arena, b.program.source), *at;
        Diag own = diag_new(arena);
        for (int i = 1; i <= 2; i++) {
            at = strchr(source + b.program.text[i], '{');
            at[1] = ']';
        }
        b.program.source = source;
        Status s = build_code(arena, &own, "f", &(BuildOptions){.threads = threads}, &b);
        assert_int_equal(s, ST_COMPILE);
        assert_false(b.compiled);
        assert_int_equal(own.count, 1);
        assert_int_equal(own.messages[0].code.of, DIAG_NVRTC);
        int line = 1;
        for (const char *c = source; c < strchr(source + b.program.text[1], ']'); c++)
            line += *c == '\n';
        const char *where = arena_printf(arena, "kernel.cu(%d)", line);
        if (!strstr(own.messages[0].message, where)) fail_msg("%s: %s", where, said());
        if (first) assert_string_equal(own.messages[0].message, first);
        first = own.messages[0].message;
    }
}

static void test_ended(const Build *whole_build) {
    const atomic_bool stop = true;
    Watch watch;
    watch_init(&watch, &(WatchCalls){.stop = &stop});
    for (int threads = 1; threads <= 4; threads += 3) {
        Build b = *whole_build;
        Diag own = diag_new(arena);
        BuildOptions o = {.threads = threads, .watch = &watch};
        assert_int_equal(build_code(arena, &own, "f", &o, &b), ST_CANCELLED);
        assert_int_equal(own.count, 1);
    }
    watch_destroy(&watch);
}

static void test_threads(void **state) {
    (void)state;
    plan();
    Build one = built(1), four = built(4);
    assert_true(one.program.n_text > 2);
    same(&one, &four);
    same_code(&one);
    test_errors(&one);
    test_ended(&one);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_joined, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
