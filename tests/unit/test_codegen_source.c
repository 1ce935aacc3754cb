/* links: sim */
/* What emitted sources look like and what can never be in them: golden files, the token check,
 * names by position, the kernel ABI, sizes known at run time.  */
#include "effort.h"
#include "golden_plans.h"
#include "kernel_fixture.h"

#include "base/file.h"
#include "codegen/print/source_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    void (*body)(Arena *a);
    Arena *arena;
} Guarded;

static void guarded(void *user) {
    Guarded *g = user;
    g->body(g->arena);
}

static void run(void (*body)(Arena *a)) {
    Guarded g = {body, arena_create(NULL)};
    assert_non_null(g.arena);
    assert_true(arena_try(g.arena, guarded, &g));
    arena_destroy(g.arena);
}

static Device *device(Arena *a, const char *name) {
    Diag d = diag_new(a);
    Device *dev;
    if (hal_profile_find(a, &d, name, "profiles", NULL, &dev)) fail_msg("no profile %s", name);
    return dev;
}

static void good(KernelCase *c, const char *wrong) {
    if (wrong) fail_msg("%s", kernel_report(c, "case", wrong));
}

static KernelCase emitted(Arena *a, const char *profile, const char *text) {
    KernelCase c;
    good(&c, kernel_open(&c, a, device(a, profile), text, NULL));
    good(&c, kernel_pick(&c, 0));
    good(&c, kernel_emit(&c));
    return c;
}

/* ---- golden files: plans are given, so that only code generation can change them ---- */

/* Equal to the file, which UPDATE=1 writes anew.  */
static void same_as_file(Arena *a, const char *path, const char *text) {
    Diag d = diag_new(a);
    char *want;
    size_t len;
    if (getenv("UPDATE")) assert_int_equal(file_write(&d, path, text, strlen(text)), ST_OK);
    if (file_read(a, &d, path, 1 << 20, &want, &len)) fail_msg("%s cannot be read", path);
    if (strcmp(want, text) == 0) return;
    size_t at = strspn(want, "\n"), line = 1;
    for (at = 0; want[at] && want[at] == text[at]; at++) line += want[at] == '\n';
    fail_msg("%s differs from line %zu on; UPDATE=1 rewrites it", path, line);
}

static unsigned taken_of(const char *plan) {
    RStrategy read;
    rprog_read_strategies(plan, strlen(plan), &read, 1);
    return read.decisions.taken[0];
}

static void golden_sources(Arena *a) {
    Diag d = diag_new(a);
    for (int i = 0; i < GOLDEN; i++) {
        KernelCase c;
        good(&c, kernel_open_decided(&c, a, device(a, golden[i].profile), golden[i].text, NULL,
                                   taken_of(golden[i].plan)));
        const char *plan = arena_printf(a, "roller-plan 1\n%s", golden[i].plan);
        if (rprog_read(a, &d, diag_text(golden[i].name, plan), c.dev, &c.plan))
            fail_msg("%s:%d: %s; %s", golden[i].name, d.messages[0].line, d.messages[0].message,
                     d.messages[0].hint);
        good(&c, kernel_emit(&c));
        if (!golden[i].kept) continue;
        same_as_file(a, arena_printf(a, "tests/golden/%s.cu", golden[i].name), c.program.source);
        Buf lowered = buf_new(a);
        assert_int_equal(cg_print_lowered(a, &d, &c.plan, c.dev, &lowered), ST_OK);
        same_as_file(a, arena_printf(a, "tests/golden/%s.lowered", golden[i].name),
                     buf_str(&lowered));
    }
}

/* The golden kernels are right, too; one of three is drawn.  */
static void golden_kernels(Arena *a) {
    Diag d = diag_new(a);
    for (int i = 0; i < GOLDEN; i++) {
        if (!effort_drawn(i, 3)) continue;
        KernelCase c;
        Device *dev = device(a, golden[i].profile);
        Nvrtc *n;
        good(&c, kernel_open_decided(&c, a, dev, golden[i].text, NULL,
                                   taken_of(golden[i].plan)));
        if (strcmp(dev->arch, "sm_70") == 0) dev->arch = "sm_75";
        const char *plan = arena_printf(a, "roller-plan 1\n%s", golden[i].plan);
        assert_int_equal(rprog_read(a, &d, diag_text("", plan), dev, &c.plan), ST_OK);
        assert_int_equal(nvrtc_open(a, &d, NULL, dev->arch, &n), ST_OK);
        good(&c, kernel_emit(&c));
        good(&c, kernel_compile(&c, n, true));
        for (int k = 0; k < c.code.n_kernel; k++) {
            assert_int_equal(c.code.kernel[k].spill_stores, 0);
            assert_int_equal(c.code.kernel[k].stack, 0);
        }
        if (i != 1) good(&c, kernel_run(&c, TE_FILL_INTEGERS, 1, i != 4));
    }
}

/* ---- the token check ---- */

static void check_tokens(Arena *a) {
    static const char *const bad[] = {
        "#include <cuda.h>", "#include \"x\"", "#define x 1", "#pragma once", "#pragma unroll 77\n",
        "asm(\"trap;\");", "asm volatile(\"\");", "__asm__(0);", "printf(x);", "\"text\"", "'c'",
        "int a\\\n", "/* a comment */", "// a \\ in a comment", "// a \" in a comment",
        "// #include", "goto x;", "int user_name;", "$", "`", "@", "\t", "\r", "\x80", "\x01",
        "rl_unknown(1)", "rk_0123_0", "rk_0123456789abcdeg_0", "tx", "t1x", "volatile int x;",
        "__device__ int x;", "static int x;", "struct x {};", "template <int N>", "using x = int;",
        "new int;", "malloc(1)", "__trap()", "switch (x) {}", "extern \"C++\"", ("?" "?=include"),
        "a_private", "b_", "other", "acc", "t0.w", "x.system", "a_k1x", "T[0]",
        "%:include <x>", "<% %>", "_Pragma(x)",
    };
    static const char *const name[] = {"x", "y", "i", "acc0", "t0", "t1", "a"};
    WordSet *defined = words_new(a);
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) words_add(defined, name[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *text = arena_printf(a, "const int x = 1;\n%s\n", bad[i]);
        const char *at = source_check(LANGUAGE_CUDA, defined, text, strlen(text));
        if (!at) fail_msg("allowed: %s", bad[i]);
        assert_true(at >= text && at < text + strlen(text));
    }
    static const char *const fine[] = {
        "const float t1 = 1.5e+30f * 0x7f800000;", "// a comment: t0[i] <= 3, (x + y) * 2", "",
        "#pragma unroll\nfor (int i = 0; i < 4; i++) acc0[i] = fmaf(1.0f, t0[i].v[0], acc0[i]);",
        "extern \"C\" __global__ void rk_0123456789abcdef_12(const float *__restrict__ t0) {}",
    };
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        const char *at = source_check(LANGUAGE_CUDA, defined, fine[i], strlen(fine[i]));
        if (at) fail_msg("refused: %s at %s", fine[i], at);
    }
    assert_non_null(source_check(LANGUAGE_CUDA, defined, "int x\0;", 7));
}

/* ---- names ---- */

#define HOSTILE                                                                                    \
    "# a comment: \" ' \\ #include </etc/passwd> \xe2\x80\xae\n"                                   \
    "param asm = 32, __FILE__ = 48, include = 64;\n"                                               \
    "op system(printf: f32[asm,include], rl_shared: f32[include,__FILE__], goto: f32)"             \
    " -> define: f32[asm,__FILE__] {\n"                                                            \
    "  exit[volatile,delete] += printf[volatile,switch] * rl_shared[switch,delete];\n"             \
    "  define[volatile,delete] = exit[volatile,delete] * goto;\n}\n"
#define PLAIN                                                                                      \
    "param M = 32, N = 48, K = 64; op f(A: f32[M,K], B: f32[K,N], s: f32) -> C: f32[M,N] {"        \
    " t[m,n] += A[m,k] * B[k,n]; C[m,n] = t[m,n] * s; }"

static void names_by_position(Arena *a) {
    KernelCase x = emitted(a, "h200", HOSTILE), y = emitted(a, "h200", PLAIN);
    assert_string_equal(x.program.source, y.program.source);
    static const char *const never[] = {"include", "system", "printf", "define", "exit",
                                        "__FILE__", "goto", "delete", "passwd", "switch"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strstr(x.program.source, never[i])) fail_msg("%s is in the source", never[i]);
}

static void other_op_other_symbol(Arena *a) {
    KernelCase x = emitted(a, "h200", PLAIN);
    KernelCase y = emitted(a, "h200",
                           "param M = 32, N = 48, K = 64; op f(A: f32[M,K], B: f32[K,N], s: f32) ->"
                           " C: f32[M,N] { t[m,n] += A[m,k] * B[k,n]; C[m,n] = t[m,n] + s; }");
    assert_string_not_equal(x.program.hash, y.program.hash);
    KernelCase z = emitted(a, "h200", PLAIN);
    assert_string_equal(x.program.hash, z.program.hash);
    assert_int_equal(x.program.source_len, z.program.source_len);
    assert_memory_equal(x.program.source, z.program.source, z.program.source_len);
}

/* ---- the kernel ABI ---- */

static void takes(const KernelLaunch *k, const KernelParam *want, size_t n) {
    assert_int_equal(k->n_param, n);
    for (int i = 0; i < k->n_param; i++) {
        assert_int_equal(k->param[i].kind, want[i].kind);
        assert_int_equal(k->param[i].ref, want[i].ref);
        assert_int_equal(k->param[i].bytes, want[i].bytes);
        assert_int_equal(k->param[i].offset, want[i].offset);
    }
}

/* A kernel takes what it touches: inputs, temporaries that it reads, scalars, what it writes.  */
static void abi(Arena *a) {
    KernelCase c = emitted(a, "h200",
                           "param M = 40, K = 512; op f(s: f32, A: f32[K,M], n: i64, B: f64[M], d: "
                           "f64, i: i32) -> (X: f32[M], Y: f64[M,K]) { t[m] = sum[k](A[k,m]);"
                           " X[m] = t[m] * s; Y[m,k] = A[k,m] * t[m] + B[m] + d + n; }");
    static const KernelParam sums[] = {{PARAM_INPUT, 1, 8, 0}, {PARAM_SCALAR, 0, 4, 0},
                                       {PARAM_OUTPUT, 6, 8, 0}, {PARAM_WORKSPACE, -1, 8, 0}};
    static const KernelParam map[] = {{PARAM_INPUT, 1, 8, 0},     {PARAM_INPUT, 3, 8, 0},
                                      {PARAM_WORKSPACE, -1, 8, 0}, {PARAM_SCALAR, 2, 8, 0},
                                      {PARAM_SCALAR, 4, 8, 0},    {PARAM_OUTPUT, 7, 8, 0}};
    const KernelProgram *p = &c.program;
    assert_int_equal(p->n_kernel, 2);
    takes(&p->kernel[0], sums, sizeof sums / sizeof *sums);
    takes(&p->kernel[1], map, sizeof map / sizeof *map);
    assert_true(p->workspace_bytes >= 40 * 4 && p->workspace_bytes % 256 == 0);
    assert_true(p->strategy->temp_offset[8] == 0);
    assert_int_equal(strlen(p->hash), 16);
    for (int i = 0; i < p->n_kernel; i++) {
        const KernelLaunch *k = &p->kernel[i];
        assert_string_equal(k->symbol, arena_printf(a, "rk_%s_%d", p->hash, i));
        assert_non_null(strstr(p->source, k->symbol));
        assert_true(k->grid[0] >= 1 && k->grid[1] >= 1 && k->grid[2] == 1);
        assert_true(k->block[0] >= 32 && k->block[1] == 1 && k->cluster[0] == 1);
    }
    assert_null(strstr(p->source, "#include"));
}

/* Code generation and planning agree about shared memory and the grid.  */
static void launches_as_planned(Arena *a) {
    KernelCase c;
    good(&c, kernel_open(&c, a, device(a, "h200"), PLAIN, NULL));
    const Problem *p = &c.plan.problem[0];
    for (uint64_t seed = 1; seed < 40; seed++) {
        good(&c, kernel_pick(&c, seed));
        good(&c, kernel_emit(&c));
        const RProg *r = &c.plan.prog[0];
        const KernelLaunch *k = &c.program.kernel[0];
        assert_int_equal(k->dynamic_smem, r->smem);
        assert_int_equal(k->grid[0], rprog_blocks(p, r) - r->tail + r->tail_blocks);
        assert_int_equal(k->grid[1], r->split);
        assert_int_equal(k->block[0], r->threads);
        assert_int_equal(c.program.n_kernel, r->split > 1 || r->tail > 0 ? 2 : 1);
        assert_true(c.program.workspace_bytes >= rprog_workspace(p, r));
        assert_true((k->span == 0) == (r->skeleton == SK_CONTRACT));
    }
}

/* ---- sizes known at run time: one kernel for all of them ---- */

static const struct {
    const char *text;
    int64_t size[3][2];       /* values of the first two run-time sizes */
} runtime[] = {
    {"param M = 1..100, N = 4..64 % 4; op f(X: f32[M,N], b: f32[N]) -> Y: f32[M,N] {"
     " Y[m,n] = X[m,n] * 2.0 + b[n] + (X[m,n-1] else 0); }",
     {{100, 64}, {1, 4}, {37, 20}}},
    {"param N = 1..50, C = 1..40; op f(X: f32[N,C]) -> (S: f32[N], I: i32[N], Z: f32[N,2*C]) {"
     " S[n] = sum[c](X[n,c]) + C; I[n] = argmax[c](X[n,c]); Z[n,j] = X[n,j/2] * 3.0; }",
     {{50, 40}, {1, 1}, {13, 17}}},
    {"param M = 1..40, K = 0..30; let L = M + 3; op f(A: f32[M,K], B: f32[K,12]) -> C: f32[M,12] {"
     " C[m,n] += A[m,k] * B[k,n]; }",
     {{40, 30}, {1, 0}, {7, 19}}},
    {"param M = 8..40 % 8, N = 8..48 % 8; op f(A: f16[M,32], B: f16[32,N]) -> C: f16[M,N] {"
     " C[m,n] += A[m,k] * B[k,n]; }",
     {{40, 48}, {8, 8}, {24, 40}}},
    {"param N = 1..3, H = 4..20 % 2; op f(X: f32[N,H,12]) -> Y: f32[N,H/2,6] {"
     " Y[n,p,q] max= X[n,2*p+r,2*q+s] where r in 2, s in 2; }",
     {{3, 20}, {1, 4}, {2, 14}}},
    {"param N = 1..90, C = 1..70; op f(X: f32[N,C]) -> (S: f32[C], I: i32[C]) {"
     " S[c] = sum[n](X[n,c]); I[c] = argmin[n](X[n,c]); }",
     {{90, 70}, {1, 1}, {33, 64}}},
};

static void run_at_sizes(KernelCase *c, const Te *te, const int64_t *value, uint64_t seed) {
    int64_t size[TE_MAX_SIZES] = {0};
    for (int z = 0, n = 0; z < te->n_size && n < 2; z++) {
        if (te->size[z].kind == TE_SIZE_RUNTIME) size[z] = value[n++];
    }
    const Te *fixed;
    assert_int_equal(te_specialize(c->arena, &c->diag, te, size, &fixed), ST_OK);
    c->te = (Te *)(uintptr_t)fixed;
    c->size = size;
    good(c, kernel_run(c, TE_FILL_INTEGERS, seed, true));
}

/* Planned at the largest sizes: the best program and some other.  */
static void run_time_sizes(Arena *a) {
    Diag d = diag_new(a);
    Device *dev = device(a, "h200");
    Nvrtc *nvrtc;
    assert_int_equal(nvrtc_open(a, &d, NULL, dev->arch, &nvrtc), ST_OK);
    for (size_t i = 0; i < sizeof runtime / sizeof *runtime; i++) {
        for (uint64_t seed = 0; seed < 2; seed++) {
            KernelCase c;
            good(&c, kernel_open(&c, a, dev, runtime[i].text, NULL));
            good(&c, kernel_pick(&c, seed));
            good(&c, kernel_emit(&c));
            good(&c, kernel_compile(&c, nvrtc, false));
            const Te *te = c.te;
            for (int k = 0; k < 3; k++) run_at_sizes(&c, te, runtime[i].size[k], (uint64_t)k);
        }
    }
}

#define TEST(name)                                                                                 \
    static void test_##name(void **state) {                                                        \
        (void)state;                                                                               \
        run(name);                                                                                 \
    }
TEST(golden_sources)
TEST(golden_kernels)
TEST(check_tokens)
TEST(names_by_position)
TEST(other_op_other_symbol)
TEST(abi)
TEST(launches_as_planned)
TEST(run_time_sizes)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_sources),       cmocka_unit_test(test_golden_kernels),
        cmocka_unit_test(test_check_tokens),         cmocka_unit_test(test_names_by_position),
        cmocka_unit_test(test_other_op_other_symbol), cmocka_unit_test(test_abi),
        cmocka_unit_test(test_launches_as_planned),  cmocka_unit_test(test_run_time_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
