/* links: hal */
#include "base/file.h"
#include "base/hash.h"
#include "hal/nvrtc_library.h"
#include "sass.h"
#include "workers.h"

#include "oom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Two kernels: 64 dependent multiply-adds; 4 KiB of static shared memory and a barrier.  */
static const char two_kernels[] =
    "extern \"C\" __global__ void chain(float *p, float a, float b) {\n"
    "    float x = *p;\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < 64; i++) x = __fmaf_rn(x, a, b);\n"
    "    *p = x;\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(256) swap(float *p) {\n"
    "    __shared__ float s[1024];\n"
    "    s[threadIdx.x * 4] = p[threadIdx.x];\n"
    "    __syncthreads();\n"
    "    p[threadIdx.x] = s[(255 - threadIdx.x) * 4];\n"
    "}\n";

/* 64 values that are all alive at once.  */
static const char many_values[] =
    "extern \"C\" __global__ void many(float *p, int n) {\n"
    "    float x[64];\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < 64; i++) x[i] = p[i * 128 + threadIdx.x];\n"
    "    for (int k = 0; k < n; k++)\n"
    "#pragma unroll\n"
    "        for (int i = 0; i < 64; i++) x[i] = x[i] * x[(i + 7) & 63] + p[k];\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < 64; i++) p[i * 128 + threadIdx.x] = x[i];\n"
    "}\n";

/* Opcodes in the low 12 bits, the same on every architecture since sm_70.  */
enum {
    OP_FFMA_REGISTERS = 0x223,
    OP_FFMA_CONSTANT = 0x623,
    OP_FFMA_UNIFORM = 0xc23,
    OP_BAR = 0xb1d,
    OP_LDL = 0x983,
    OP_STL = 0x387,
    OP_EXIT = 0x94d
};

static const NvrtcRequest both = {.ptx = true, .cubin = true};
static Arena *arena;
static Diag diag;
static Nvrtc *nvrtc;

static int set_up(void **state) {
    (void)state;
    arena = arena_create(NULL);
    diag = diag_new(arena);
    if (nvrtc_open(arena, &diag, NULL, NULL, &nvrtc) != ST_OK)
        fail_msg("%s", diag.messages[0].message);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    arena_destroy(arena);
    return 0;
}

static const KernelResources *resources(const NvrtcOutput *o, const char *kernel) {
    for (int i = 0; i < o->n_kernel; i++)
        if (!strcmp(o->kernel[i].kernel, kernel))
            return &o->kernel[i];
    fail_msg("no resources of %s", kernel);
    return NULL;
}

static NvrtcOutput compile(const char *source, const char *arch, NvrtcRequest request) {
    NvrtcOutput o;
    if (nvrtc_compile(nvrtc, arena, &diag, source, arch, &request, &o) != ST_OK)
        fail_msg("%s: %s", arch, diag_first_error(&diag)->message);
    return o;
}

static bool targets(const char *arch) {
    for (const char *const *a = nvrtc_archs(nvrtc); *a; a++)
        if (!strcmp(*a, arch))
            return true;
    return false;
}

static void test_version_and_archs(void **state) {
    (void)state;
    int major = 0, minor = -1;
    nvrtc_version(nvrtc, &major, &minor);
    assert_true(major >= 12 && minor >= 0);
    assert_non_null(strstr(nvrtc_file(nvrtc), "libnvrtc.so."));
    int before = 0;
    for (const char *const *a = nvrtc_archs(nvrtc); *a; a++) {
        assert_int_equal(strncmp(*a, "sm_", 3), 0);
        assert_true(atoi(*a + 3) >= before);
        before = atoi(*a + 3);
    }
    static const char *const must[] = {"sm_75", "sm_80", "sm_89", "sm_90", "sm_90a"};
    for (size_t i = 0; i < sizeof must / sizeof *must; i++)
        assert_true(targets(must[i]));
    assert_false(targets("sm_90f"));
}

static void check_opcodes(const NvrtcOutput *o) {
    uint32_t count[4096];
    assert_true(sass_opcodes(o->cubin, o->cubin_len, "chain", count));
    assert_true(count[OP_FFMA_REGISTERS] + count[OP_FFMA_CONSTANT] + count[OP_FFMA_UNIFORM] >= 64);
    assert_int_equal(count[OP_BAR], 0);
    assert_true(count[OP_EXIT] >= 1);
    assert_true(sass_opcodes(o->cubin, o->cubin_len, "swap", count));
    assert_int_equal(count[OP_BAR], 1);
    assert_false(sass_opcodes(o->cubin, o->cubin_len, "swa", count));
    assert_false(sass_opcodes(o->cubin, o->cubin_len, "swaps", count));
}

/* Every listed arch compiles in one go to PTX and cubin, with resources and opcodes.  */
static void test_every_arch(void **state) {
    (void)state;
    for (const char *const *a = nvrtc_archs(nvrtc); *a; a++) {
        ArenaMark mark = arena_mark(arena);
        NvrtcOutput o = compile(two_kernels, *a, both);
        assert_non_null(strstr(o.ptx, arena_printf(arena, ".target %s", *a)));
        assert_non_null(strstr(o.ptx, ".visible .entry chain("));
        assert_int_equal(strlen(o.ptx), o.ptx_len);
        assert_memory_equal(o.cubin, "\177ELF", 4);
        assert_int_equal(o.n_kernel, 2);
        const KernelResources *chain = resources(&o, "chain"), *swap = resources(&o, "swap");
        assert_true(chain->registers >= 4 && chain->registers <= 32);
        assert_int_equal(chain->static_smem + chain->barriers + chain->stack, 0);
        assert_int_equal(swap->static_smem, 4096);
        assert_int_equal(swap->barriers, 1);
        assert_int_equal(swap->spill_loads + swap->spill_stores + swap->stack, 0);
        assert_true(o.ms > 0);
        if (atoi(*a + 3) >= 70)
            check_opcodes(&o);
        arena_reset(arena, mark);
    }
}

static void test_same_source_same_bytes(void **state) {
    (void)state;
    NvrtcOutput a = compile(two_kernels, "sm_80", both), b = compile(two_kernels, "sm_80", both);
    assert_string_equal(a.ptx, b.ptx);
    assert_string_equal(a.log, b.log);
    assert_int_equal(a.cubin_len, b.cubin_len);
    assert_memory_equal(a.cubin, b.cubin, a.cubin_len);
    assert_null(strstr(a.log, "Compile time"));
    assert_non_null(strstr(a.log, "registers"));
}

static void test_what_is_asked(void **state) {
    (void)state;
    NvrtcOutput o = compile(two_kernels, "sm_90a", (NvrtcRequest){.ptx = true});
    assert_non_null(strstr(o.ptx, ".target sm_90a"));
    assert_null(o.cubin);
    assert_int_equal(o.n_kernel, 0);
    NvrtcOutput same = compile(two_kernels, "sm_90a", both);
    assert_string_equal(o.ptx, same.ptx);
    o = compile(two_kernels, "sm_80", (NvrtcRequest){.cubin = true});
    assert_int_equal(o.ptx_len, 0);
    assert_string_equal(o.ptx, "");
    assert_int_equal(o.n_kernel, 2);
    o = compile(two_kernels, "sm_80", (NvrtcRequest){.ptx = true, .line_info = true});
    assert_non_null(strstr(o.ptx, ".loc"));
    assert_null(strstr(same.ptx, ".loc"));
}

static void test_spills(void **state) {
    (void)state;
    NvrtcOutput o = compile(many_values, "sm_80", both);
    const KernelResources *k = resources(&o, "many");
    assert_true(k->registers > 64);
    assert_int_equal(k->spill_stores + k->spill_loads, 0);
    o = compile(many_values, "sm_80", (NvrtcRequest){.cubin = true, .max_registers = 32});
    k = resources(&o, "many");
    assert_true(k->registers <= 32);
    assert_true(k->spill_stores > 0 && k->spill_loads > 0 && k->stack > 0);
    uint32_t count[4096];
    assert_true(sass_opcodes(o.cubin, o.cubin_len, "many", count));
    assert_true(count[OP_LDL] > 0 && count[OP_STL] > 0);
}

/* Levels say how much ptxas does, and nothing of what comes before it.  */
static void test_levels(void **state) {
    (void)state;
    NvrtcOutput own = compile(many_values, "sm_80", both), at[4];
    for (int level = 1; level <= 3; level++) {
        NvrtcRequest request = both;
        request.level = level;
        at[level] = compile(many_values, "sm_80", request);
        const KernelResources *k = resources(&at[level], "many");
        assert_true(k->registers > 64);
        assert_int_equal(k->spill_stores + k->spill_loads, 0);
        assert_string_equal(at[level].ptx, own.ptx);
    }
    assert_int_equal(at[3].cubin_len, own.cubin_len);
    assert_memory_equal(at[3].cubin, own.cubin, own.cubin_len);
    for (int level = 1; level <= 2; level++) {
        bool same_size = at[level].cubin_len == own.cubin_len;
        assert_false(same_size && !memcmp(at[level].cubin, own.cubin, own.cubin_len));
    }
    uint32_t least[4096], all[4096];
    assert_true(sass_opcodes(at[1].cubin, at[1].cubin_len, "many", least));
    assert_true(sass_opcodes(at[3].cubin, at[3].cubin_len, "many", all));
    assert_memory_not_equal(least, all, sizeof all);
    NvrtcRequest request = {.ptx = true, .level = 2};       /* nothing for ptxas to do */
    assert_string_equal(compile(many_values, "sm_80", request).ptx, own.ptx);
}

static void test_refused_source(void **state) {
    (void)state;
    NvrtcOutput o;
    static const struct {
        const char *source, *said;
    } cases[] = {
        {"__global__ void k() { unknown_name(); }", "unknown_name"},
        {"#include <no_such_header.h>\n", "no_such_header.h"},
        {"__global__ void k() { asm volatile(\"no.such.instruction;\"); }", "no"},
        {"}", "error"},
        {"extern \"C\" __global__ void many(float *p) { __shared__ float s[70000];"
         " s[threadIdx.x] = p[0]; __syncthreads(); p[1] = s[threadIdx.x ^ 1]; }",
         "kernel many declares 280000 bytes of shared memory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        diag = diag_new(arena);
        assert_int_equal(nvrtc_compile(nvrtc, arena, &diag, cases[i].source, "sm_80", &both, &o),
                         ST_COMPILE);
        assert_int_equal(diag.errors, 1);
        assert_non_null(strstr(diag.messages[0].message, "refused the source for sm_80"));
        assert_non_null(strstr(diag.messages[0].message, cases[i].said));
        assert_true(diag.messages[0].code.of == DIAG_NVRTC && diag.messages[0].code.number == 6);
        assert_string_equal(diag.messages[0].code.name, "NVRTC_ERROR_COMPILATION");
        assert_int_equal(o.n_kernel, 0);
        assert_null(o.cubin);
    }
}

/* setmaxnreg without launch bounds is ignored by ptxas, and wgmma whose accumulators are read in
 * flight is serialised; both are only remarks in its log.  */
static void test_unsound_code(void **state) {
    (void)state;
    NvrtcOutput o;
    static const char ignored[] =
        "extern \"C\" __global__ void k(int *p) {\n"
        "    asm volatile(\"setmaxnreg.inc.sync.aligned.u32 232;\");\n"
        "    *p = 1;\n"
        "}\n";
    assert_int_equal(nvrtc_compile(nvrtc, arena, &diag, ignored, "sm_90a", &both, &o), ST_COMPILE);
    assert_non_null(strstr(diag.messages[0].message, "unsound"));
    assert_non_null(strstr(diag.messages[0].message, "C7508"));
    static const char serialised[] =
        "extern \"C\" __global__ void __launch_bounds__(128) k(float *p, unsigned long long a) {\n"
        "    float x = 0, y = 0, z = 0, w = 0;\n"
        "    asm volatile(\"wgmma.fence.sync.aligned;\");\n"
        "    for (int i = 0; i < 2; i++) {\n"
        "        asm volatile(\"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 \"\n"
        "                     \"{%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0;\"\n"
        "                     : \"+f\"(x), \"+f\"(y), \"+f\"(z), \"+f\"(w) : \"l\"(a + i));\n"
        "        x += 1.0f;\n"
        "        asm volatile(\"wgmma.commit_group.sync.aligned;\");\n"
        "    }\n"
        "    asm volatile(\"wgmma.wait_group.sync.aligned 0;\");\n"
        "    p[threadIdx.x] = x + y + z + w;\n"
        "}\n";
    diag = diag_new(arena);
    assert_int_equal(nvrtc_compile(nvrtc, arena, &diag, serialised, "sm_90a", &both, &o),
                     ST_COMPILE);
    assert_non_null(strstr(diag.messages[0].message, "unsound: ptxas info"));
}

static void test_arch_it_does_not_target(void **state) {
    (void)state;
    NvrtcOutput o;
    int major, minor;
    nvrtc_version(nvrtc, &major, &minor);
    static const struct {
        const char *arch, *message;
    } cases[] = {
        {"sm_70", "sm_70 needs NVRTC 12.9 or older; "},
        {"sm_72", "sm_72 needs NVRTC 12.9 or older; "},
        {"sm_101", "sm_101 needs NVRTC 12.9 or older; "},
        {"sm_90f", "sm_90f needs NVRTC 12.9 or newer; "},
        {"sm_999", "no known version of NVRTC targets sm_999; "},
        {"compute_80", "\"compute_80\" is no architecture; "},
        {"sm_80 -G", "\"sm_80 -G\" is no architecture; "},
    };
    for (size_t i = major >= 13 ? 0 : 3; i < sizeof cases / sizeof *cases; i++) {
        diag = diag_new(arena);
        assert_int_equal(
            nvrtc_compile(nvrtc, arena, &diag, two_kernels, cases[i].arch, &both, &o), ST_NVRTC);
        if (strncmp(diag.messages[0].message, cases[i].message, strlen(cases[i].message)))
            fail_msg("%s", diag.messages[0].message);
        assert_non_null(strstr(diag.messages[0].message, nvrtc_file(nvrtc)));
    }
    Nvrtc *other;
    diag = diag_new(arena);
    assert_int_equal(nvrtc_open(arena, &diag, NULL, "sm_999", &other), ST_NVRTC);
    assert_null(other);
    assert_true(strstr(diag.messages[0].message, "found ") ||
                strstr(diag.messages[0].message, nvrtc_file(nvrtc)));
    assert_int_equal(nvrtc_open(arena, &diag, NULL, "sm_90a", &other), ST_OK);
}

static void test_where_it_is_looked_for(void **state) {
    (void)state;
    char name[] = "/tmp/test_nvrtc_XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "no library", 10), 10);
    close(fd);
    const struct {
        const char *path, *said;
    } bad[] = {
        {"libnvrtc.so.13", "must be absolute"},
        {"./libnvrtc.so", "must be absolute"},
        {"/no/such/libnvrtc.so.13", "cannot be loaded"},
        {name, "cannot be loaded"},
    };
    Nvrtc *other;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        NvrtcOptions options = {.path = bad[i].path};
        diag = diag_new(arena);
        assert_int_equal(nvrtc_open(arena, &diag, &options, "sm_80", &other), ST_NVRTC);
        assert_null(other);
        assert_non_null(strstr(diag.messages[0].message, bad[i].said));
    }
    setenv("ROLLER_NVRTC", name, 1);
    assert_int_equal(nvrtc_open(arena, &diag, NULL, "sm_80", &other), ST_NVRTC);
    NvrtcOptions alone = {.ignore_environment = true};
    assert_int_equal(nvrtc_open(arena, &diag, &alone, "sm_80", &other), ST_OK);
    unsetenv("ROLLER_NVRTC");
    unlink(name);
    if (*nvrtc_file(other) == '/') {
        NvrtcOptions given = {.path = nvrtc_file(other)};
        assert_int_equal(nvrtc_open(arena, &diag, &given, "sm_80", &other), ST_OK);
    }
}

/* NVIDIA, "CUDA Compatibility": cubins within a major version and from older ones, PTX from
 * versions that are no newer.  */
static void test_what_drivers_load(void **state) {
    (void)state;
    static const int version[] = {1104, 1108, 1200, 1204, 1209, 1300, 1305};
    static const struct {
        int driver;
        const char *cubin, *ptx;          /* of which of the versions */
    } row[] = {
        {11040, "yynnnnn", "ynnnnnn"}, {11080, "yynnnnn", "yynnnnn"}, {12000, "yyyyynn", "yyynnnn"},
        {12020, "yyyyynn", "yyynnnn"}, {12040, "yyyyynn", "yyyynnn"}, {12080, "yyyyynn", "yyyynnn"},
        {12090, "yyyyynn", "yyyyynn"}, {13000, "yyyyyyy", "yyyyyyn"}, {13050, "yyyyyyy", "yyyyyyy"},
        {0, "yyyyyyy", "yyyyyyy"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        for (size_t k = 0; k < sizeof version / sizeof *version; k++) {
            NvrtcOptions o = {.driver = row[i].driver};
            int major = version[k] / 100, minor = version[k] % 100;
            assert_int_equal(nvrtc_loads(&o, major, minor), row[i].cubin[k] == 'y');
            o.jit = true;
            assert_int_equal(nvrtc_loads(&o, major, minor), row[i].ptx[k] == 'y');
            o.below = version[k];
            assert_false(nvrtc_loads(&o, major, minor));
        }
    }
}

static void test_what_is_advised(void **state) {
    (void)state;
    static const struct {
        int driver;
        bool jit;
        const char *arch, *said;
    } row[] = {
        {12040, false, "sm_90a", "nvidia-cuda-nvrtc-cu12==12.9.*"},
        {12040, true, "sm_80", "nvidia-cuda-nvrtc-cu12==12.4.*"},
        {11040, false, "sm_80", "nvidia-cuda-nvrtc-cu11==11.8.*"},
        {11040, true, "sm_80", "nvidia-cuda-nvrtc-cu11==11.4.*"},
        {13000, false, "sm_90", "nvidia-cuda-nvrtc==13.0.*"},
        {13020, true, "sm_90", "nvidia-cuda-nvrtc==13.2.*"},
        {13000, false, "sm_70", "nvidia-cuda-nvrtc-cu12==12.9.*"},
        {0, false, "sm_70", "nvidia-cuda-nvrtc-cu12==12.9.*"},
        {12020, false, "sm_110", "update the driver to one for CUDA 13.0 or newer"},
        {12040, true, "sm_100", "update the driver to one for CUDA 12.8 or newer"},
        {12040, false, "sm_999", "ROLLER_NVRTC"},
        {0, false, NULL, "nvidia-cuda-nvrtc==13.0.*"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        NvrtcOptions o = {.driver = row[i].driver, .jit = row[i].jit};
        diag = diag_new(arena);
        diag_error(&diag, ST_NVRTC, NULL, DIAG_NOWHERE, "none");
        nvrtc_advise(&diag, &o, row[i].arch);
        if (!strstr(diag_first_error(&diag)->hint, row[i].said))
            fail_msg("%d %s: %s", row[i].driver, row[i].arch, diag_first_error(&diag)->hint);
    }
}

enum { JOBS = 8 };
typedef struct {
    const char *want;
    bool good[JOBS];
} Jobs;

static bool compile_job(void *user, int64_t i, int worker) {
    (void)worker;
    Jobs *jobs = user;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    NvrtcOutput o;
    bool broken = i % 4 == 3;
    Status s = nvrtc_compile(nvrtc, a, &d, broken ? "}" : two_kernels, "sm_80", &both, &o);
    jobs->good[i] = broken ? s == ST_COMPILE : s == ST_OK && !strcmp(o.ptx, jobs->want);
    arena_destroy(a);
    return true;
}

static void test_threads(void **state) {
    (void)state;
    NvrtcOutput o = compile(two_kernels, "sm_80", both);
    Jobs jobs = {.want = o.ptx};
    assert_true(workers_for(4, JOBS, compile_job, &jobs));
    for (int i = 0; i < JOBS; i++)
        assert_true(jobs.good[i]);
}

static void compile_with_little_memory(Arena *a, void *user) {
    (void)user;
    Diag d = diag_new(a);
    NvrtcOutput o;
    assert_int_equal(nvrtc_compile(nvrtc, a, &d, two_kernels, "sm_80", &both, &o), ST_OK);
}

static void test_out_of_memory(void **state) {
    (void)state;
    oom_sweep(compile_with_little_memory, NULL);
}

/* Damaged images are refused or counted, and nothing outside them is read.  */
static void test_hostile_cubins(void **state) {
    (void)state;
    NvrtcOutput o = compile(two_kernels, "sm_80", both);
    uint32_t count[4096];
    Rng rng = {3};
    for (size_t n = 0; n < o.cubin_len; n += n < 128 ? 1 : 53) {
        uint8_t *part = malloc(n + 1);
        assert_non_null(part);
        memcpy(part, o.cubin, n);
        sass_opcodes(part, n, "chain", count);
        free(part);
    }
    uint8_t *copy = malloc(o.cubin_len);
    assert_non_null(copy);
    for (int i = 0; i < 20000; i++) {
        memcpy(copy, o.cubin, o.cubin_len);
        for (int k = 0; k < 3; k++) {
            /* Mostly where the offsets are: in the header and the table of sections at the end. */
            uint32_t zone = rng_below(&rng, 2) ? 64 : 1000;
            size_t at = rng_below(&rng, 2) ? rng_below(&rng, zone)
                                           : o.cubin_len - 1 - rng_below(&rng, zone);
            copy[at] = (uint8_t)rng_next(&rng);
        }
        sass_opcodes(copy, o.cubin_len, "chain", count);
    }
    free(copy);
    assert_false(sass_opcodes("", 0, "chain", count));
    assert_true(sass_opcodes(o.cubin, o.cubin_len, "chain", count));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_version_and_archs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_arch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_same_source_same_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_spills, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_levels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused_source, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unsound_code, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_arch_it_does_not_target, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_where_it_is_looked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_drivers_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_advised, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_out_of_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hostile_cubins, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
