/* What a check says of right kernels and of planted mistakes, on small and big problems.  */
#include "arena_fixture.h"
#include "driver/check/check.h"
#include "driver/pipeline/compile.h"
#include "ptx_edit.h"
#include "simulated.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static PlanSet set;
static WholePlan whole;
static Build build;

static Te *parse(const char *text) {
    Te *te;
    must(te_parse(arena, &diag, diag_text("case.te", text), NULL, NULL, &te));
    return te;
}

/* The whole pipeline; how: it ends with this check.  */
static CheckResult prove(const char *profile, const char *text, const CheckOptions *how) {
    CompileOptions plan = {.top = 1, .align = 16, .workspace_limit = -1};
    BuildOptions as = {0};
    CompileRequest asked = {diag_text("case.te", text), .plan = &plan, .build = &as, .check = how};
    Device *dev;
    Compiled made;
    must(hal_profile_find(arena, &diag, profile, "profiles", NULL, &dev));
    asked.dev = dev;
    must(compile(arena, &diag, &asked, &made));
    set = made.set;
    whole = made.plan;
    build = made.build;
    return made.proof;
}

static void make(const char *profile, const char *text) { prove(profile, text, NULL); }

static CheckResult check(const CheckOptions *o) {
    CheckResult r;
    Diag quiet = diag_new(arena);
    Status s = check_kernel(arena, &quiet, &(BuiltPlan){&set, &whole, &build}, o, &r);
    if (s && s != ST_CHECK) fail_msg("%s", diag_first_error(&quiet)->message);
    return r;
}

/* ---- right kernels ---- */

/* Kernels that read what others stored: outputs, outputs with gaps, rows' values, positions, sums
 * of what was summed, several of them in a row; and an output that is a copy as written, of which
 * the kernels make what it copies.  */
static const char *const handing[] = {
    "param M = 96, N = 100; op f(X: f16[M,N]) -> (Y: bf16[M,N], Z: f32[M,N]) {"
    " Y[a,b] = sum[r](r <= b ? X[a,r] : 0) where r in N;"
    " Z[a,b] = b < 20 ? X[a,b] : (Y[a,b-20] else 0); }",
    "param M = 64, K = 96; op f(X: i32[M,K]) -> (Y: i32[K,M], Z: i32[M,K]) {"
    " Y[a,b] = X[b,a] * 3; Z[a,b] = max[r](r < b ? Y[r,a] : -100) where r in K; }",
    "param M = 40, N = 72; op f(X: f32[M,N]) -> (Y: f32[N,M] strides(45,1), Z: f32[M,N]) {"
    " Y[n,m] = exp(X[m,n]); Z[m,n] = sum[r](Y[r,m] * X[m,r]) + Y[n,m]; }",
    "param M = 64, N = 80, K = 48; op f(A: f32[M,K], B: f32[K,N], C: f32[N,K]) -> (T: f32[M,N],"
    " U: f16[K,M]) { T[m,n] += A[m,k] * B[k,n]; U[k,m] = sum[n](T[m,n] * C[n,k]); }",
    "param M = 48, N = 64; op f(X: f32[M,N], E: f32[N,M]) -> (I: i32[N], Y: f32[N,M]) {"
    " I[n] = argmax[m](X[m,n]); Y[n,m] = E[max(min(I[n] + n, N - 1), 0),m]; }",
    "param M = 32, N = 96; op f(X: f32[M,N], W: f32[N,N]) -> Y: f32[M,N] {"
    " t[m,n] += X[m,k] * W[k,n]; e[m] = max[n](t[m,n]); s[m] = sum[n](exp(t[m,n] - e[m]));"
    " p[m,n] = exp(t[m,n] - e[m]) / s[m]; Y[m,n] += p[m,k] * W[n,k]; }",
    "param M = 64, N = 64; op f(X: f32[M,N]) -> (A: f32[N,M], B: f32[M,N], C: f32[N,M]) {"
    " A[n,m] = X[m,n] + 1; B[m,n] = A[m,n] * 2 + sum[r](A[r,n]); C[n,m] = B[n,m] - A[m,n]; }",
    "param N = 31, K = 99; op f(X: f32[K,N], W: f32[K]) -> (Y: f32[1,N,1], Z: f32[1]) {"
    " t[i,n,j] = sum[k](X[K-1-k,n] * W[k]) where i in 1, j in 1; s[i,n] = max[j](t[i,n,j]);"
    " Y[i,n,j] = s[i,n]; Z[i] = -(s[i-1,0-1] else 1); }",
};

/* The normal form has other dimensions than the op as written; an element is a place in memory.  */
static const char *const reshaped[] = {
    "param K = 12; op f(X: i32[1,K,K]) -> Y: i64[1,K,K] { Y[a,b,c] = i64(X[a,b,b]); }",
    "param M = 6, N = 8; op f(X: f32[M,N,4]) -> Y: f32[M,4*N] { t[m,n,k] = X[m,n,k] + m;"
    " Y[m,j] = t[m,j/4,j%4]; }",
};

static void sampled_and_whole_checks_agree(void **state) {
    (void)state;
    static const char *const profile[] = {"a100", "h200", "rtx2080ti"};
    for (size_t i = 0; i < sizeof handing / sizeof *handing; i++) {
        CheckResult all = prove(profile[i % 3], handing[i], &(CheckOptions){.threads = 2});
        CheckResult some = check(&(CheckOptions){.threads = 2, .sampled = true});
        if (!all.ok || !some.ok || some.left_out)
            fail_msg("%s\n%s\n%s", handing[i], all.text, some.text);
        assert_true(all.compared == all.outputs && some.compared > 0);
        assert_true(all.exact == some.exact);
    }
    for (size_t i = 0; i < sizeof reshaped / sizeof *reshaped; i++) {
        make("a100", reshaped[i]);
        CheckResult r = check(&(CheckOptions){.sampled = true});
        if (!r.ok || r.by_normal) fail_msg("%s\n%s", reshaped[i], r.text);
    }
}

/* ---- the op as written ---- */

/* Ops, and what a rewrite might take them for: the same, but for another value somewhere.  */
static const struct {
    const char *written, *same, *other;
} rewrites[] = {
    {"param N = 40, C = 64; op f(X: f32[N,C], Z: f32[N,C]) -> Y: f32[N,C] {"
     " Y[n,i] = sum[r]((r <= i && Z[n,r] > 0 ? 1 : 0) * X[n,r]) where r in C; }",
     "param N = 40, C = 64; op f(X: f32[N,C], Z: f32[N,C]) -> Y: f32[N,C] {"
     " Y[n,i] = sum[r](X[n,r] * (r <= i && Z[n,r] > 0 ? 1 : 0)) where r in C; }",
     "param N = 40, C = 64; op f(X: f32[N,C], Z: f32[N,C]) -> Y: f32[N,C] {"
     " t[n,r] = Z[n,r] > 0 ? X[n,r] : 0; Y[n,i] = sum[r](r <= i ? t[n,r] : 0) where r in C; }"},
    {"param M = 48, N = 64; op f(A: f16[M,N], B: f16[N,N], C: f16[N,N]) -> Y: f32[M,N] {"
     " t[m,n] += A[m,k] * B[k,n]; Y[m,n] = sum[k](f16(max(t[m,k], 0)) * C[k,n]); }",
     "param M = 48, N = 64; op f(A: f16[M,N], B: f16[N,N], C: f16[N,N]) -> Y: f32[M,N] {"
     " t[m,n] += A[m,k] * B[k,n]; u[m,n] = f16(max(t[m,n], 0)) @type(f16);"
     " Y[m,n] += u[m,k] * C[k,n]; }",
     "param M = 48, N = 64; op f(A: f16[M,N], B: f16[N,N], C: f16[N,N]) -> Y: f32[M,N] {"
     " t[m,n] += A[m,k] * B[k,n]; Y[m,n] = sum[k](f16(t[m,k]) * C[k,n]); }"},
    {"param N = 32, C = 100; op f(X: f32[N,C]) -> Y: f32[N,C] {"
     " Y[n,c] = (X[n,c] - sum[k](X[n,k]) / 100) * sum[k](X[n,k] * X[n,k]); }",
     "param N = 32, C = 100; op f(X: f32[N,C]) -> Y: f32[N,C] { q[n] = sum[k](X[n,k] * X[n,k]);"
     " m[n] = sum[k](X[n,k]) / 100; Y[n,c] = (X[n,c] - m[n]) * q[n]; }",
     "param N = 32, C = 100; op f(X: f32[N,C]) -> Y: f32[N,C] { q[n] = sum[k](X[n,k] * X[n,k]);"
     " m[n] = sum[k](X[n,k]) / 99; Y[n,c] = (X[n,c] - m[n]) * q[n]; }"},
};

/* Sampled kernels are compared with the op as written, not with what it was rewritten to.  */
static void a_wrong_rewrite_is_seen(void **state) {
    (void)state;
    CheckOptions o = {.threads = 2, .sampled = true};
    for (size_t i = 0; i < sizeof rewrites / sizeof *rewrites; i++) {
        make("a100", rewrites[i].same);
        set.te = parse(rewrites[i].written);
        CheckResult r = check(&o);
        if (!r.ok || r.by_normal) fail_msg("%s\n%s", rewrites[i].written, r.text);
        make("a100", rewrites[i].other);
        assert_true(check(&o).ok);
        set.te = parse(rewrites[i].written);
        r = check(&o);
        if (r.ok) fail_msg("%s\n%s", rewrites[i].written, r.text);
    }
}

/* ---- what is not stored ---- */

/* The same kernel, but each element that it stores is stored only if it is `test`.  */
static void skip_stores(const char *op, const char *type, const char *test) {
    int n;
    Buf b = buf_new(arena);
    buf_printf(&b, "{ .reg .pred %%skip; setp.%s.%s %%skip, $1%s; @%%skip $i }", test, type,
               strcmp(test, "num") == 0 ? ", $1" : ", -1");
    build.nvrtc.ptx = ptx_edit(arena, build.nvrtc.ptx, op, buf_str(&b), &n);
    build.nvrtc.ptx_len = strlen(build.nvrtc.ptx);
    assert_true(n > 0);
}

static const char not_a_number[] =
    "op f(X: f32[999,3]) -> Y: f32[3,999] { Y[j,i] = X[i,j] * 2; }";
static const char minus_one[] =
    "op f(X: i32[999,3]) -> Y: i32[3,999] { Y[j,i] = X[i,j] - 1; }";

static void what_is_not_stored_is_wrong(void **state) {
    (void)state;
    for (int sampled = 0; sampled < 2; sampled++) {
        CheckOptions o = {.threads = 1, .sampled = sampled};
        make("a100", not_a_number);
        assert_true(check(&o).ok);
        skip_stores("st.global.f32", "f32", "num");
        CheckResult r = check(&o);
        assert_false(r.ok);
        assert_non_null(strstr(r.text, "] was not stored, expected nan (extreme data"));
        make("a100", minus_one);
        assert_true(check(&o).ok);
        skip_stores("st.global.u32", "s32", "ne");
        r = check(&o);
        assert_false(r.ok);
        assert_non_null(strstr(r.text, "] was not stored, expected -1 (integer data"));
    }
}

static RunPlace open_device(void) {
    Cuda *cuda;
    CudaDeviceInfo info;
    CudaContext *x;
    simulated_setup("profiles/a100.json");
    must(cuda_open(arena, &diag, NULL, &cuda));
    must(cuda_device_find(cuda, arena, &diag, "0", &info));
    must(cuda_context(cuda, arena, &diag, 0, &x));
    must(cuda_enter(x, arena, &diag));
    return (RunPlace){.context = x};
}

/* A device does not say what was stored: what is in doubt is launched twice.  */
static void nor_is_it_right_on_a_device(void **state) {
    (void)state;
    RunPlace place = open_device();
    for (int sampled = 0; sampled < 2; sampled++) {
        CheckOptions o = {.threads = 1, .sampled = sampled, .place = &place};
        make("a100", minus_one);
        build.nvrtc.cubin = NULL;
        CheckResult r = check(&o);
        if (!r.ok) fail_msg("%s", r.text);
        skip_stores("st.global.u32", "s32", "ne");
        r = check(&o);
        assert_false(r.ok);
        assert_non_null(strstr(r.text, "] was not stored, expected -1 (integer data"));
    }
}

/* ---- lost precision ---- */

static void put_ptx(const char *ptx, int n) {
    if (n == 0) fail_msg("nothing to spoil in\n%s", build.nvrtc.ptx);
    build.nvrtc.ptx = ptx;
    build.nvrtc.ptx_len = strlen(ptx);
}

static void edit(const char *op, const char *with) {
    int n;
    const char *ptx = ptx_edit(arena, build.nvrtc.ptx, op, with, &n);
    put_ptx(ptx, n);
}

#define CUT(x, to, mask)                                                                           \
    "mov.b32 %cut, " x "; and.b32 %cut, %cut, " mask "; mov.b32 " to ", %cut; "
#define PRODUCT_OF(a, b) "{ .reg .b32 %cut; .reg .f32 %fa, %fb; " a b                              \
                         "fma.rn.f32 $0, %fa, %fb, $3; }"
#define TF32 "-8192"
#define BF16 "-65536"
#define ALL "-1"

static void left_as_tf32(void) {
    edit("fma.rn.f32", PRODUCT_OF(CUT("$1", "%fa", TF32), CUT("$2", "%fb", ALL)));
}
static void right_as_tf32(void) {
    edit("fma.rn.f32", PRODUCT_OF(CUT("$1", "%fa", ALL), CUT("$2", "%fb", TF32)));
}
static void both_as_bf16(void) {
    edit("fma.rn.f32", PRODUCT_OF(CUT("$1", "%fa", BF16), CUT("$2", "%fb", BF16)));
}

#define AS_F16(x) "cvt.rn.f16.f32 %h, " x "; cvt.f32.f16 " x ", %h; "
static void sums_in_f16(void) {
    edit("mma.sync", "{ .reg .b16 %h; $i " AS_F16("$0") AS_F16("$1") AS_F16("$2") AS_F16("$3") "}");
}

static void no_epsilon(void) {
    int n;
    const char *ptx = ptx_replace(arena, build.nvrtc.ptx, "0f3727C5AC", "0f00000000", &n);
    put_ptx(ptx, n);
}

static void quotients_cut(void) { edit("div.rn.f32", "div.rz.f32 $0, $1, $2;"); }
static void roots_cut(void) { edit("sqrt.rn.f32", "sqrt.rz.f32 $0, $1;"); }
static void quotients_near(void) { edit("div.rn.f32", "div.approx.f32 $0, $1, $2;"); }
static void roots_near(void) { edit("sqrt.rn.f32", "sqrt.approx.f32 $0, $1;"); }

/* Every other exponential is off by 2^-16.  */
static void noise_in_exp(void) {
    edit("ex2.approx", "{ .reg .b32 %odd; .reg .f32 %n; mov.b32 %odd, $1; and.b32 %odd, %odd, 1;"
                           " cvt.rn.f32.u32 %n, %odd; mul.f32 %n, %n, 0f37800000; $i"
                           " fma.rn.f32 $0, $0, %n, $0; }");
}

static void flushed(void) {
    static const char *const op[] = {"mul", "add", "fma.rn"};
    int all = 0;
    for (int i = 0; i < 3; i++) {
        int n;
        build.nvrtc.ptx =
            ptx_replace(arena, build.nvrtc.ptx, arena_printf(arena, "%s.f32", op[i]),
                        arena_printf(arena, "%s.ftz.f32", op[i]), &n);
        all += n;
    }
    put_ptx(build.nvrtc.ptx, all);
}

#define PRODUCT(t, k)                                                                              \
    "op f(A: " t "[32," #k "], B: " t "[" #k ",32]) -> C: f32[32,32] { C[m,n] += A[m,k] * B[k,n]; }"
#define SOFTMAX(n)                                                                                 \
    "op f(X: f32[16," #n "]) -> Y: f32[16," #n "] { m[n] = max[c](X[n,c]); e[n,c] = exp(X[n,c] - " \
    "m[n]); s[n] = sum[c](e[n,c]); Y[n,c] = e[n,c] / s[n]; }"
#define NORM                                                                                       \
    "op f(X: f32[32,1000], g: f32[1000], b: f32[1000]) -> Y: f32[32,1000] { m[n] = sum[c](X[n,c])" \
    " / 1000; v[n] = sum[c]((X[n,c] - m[n]) * (X[n,c] - m[n])) / 1000; Y[n,c] = (X[n,c] - m[n])"   \
    " / sqrt(v[n] + 0.00001) * g[c] + b[c]; }"

#define QUOTIENTS                                                                                  \
    "op f(X: f32[4096], W: f32[4096]) -> Y: f32[4096] { Y[i] = X[i] / W[i]; }"
#define ROOTS "op f(X: f32[4096]) -> Y: f32[4096] { Y[i] = sqrt(abs(X[i])); }"

static const struct {
    const char *name, *text;
    void (*plant)(void);
} mistakes[] = {
    {"left factors of 11 bits", PRODUCT("f32", 2048), left_as_tf32},
    {"right factors of 11 bits", PRODUCT("f32", 4096), right_as_tf32},
    {"factors of 8 bits", PRODUCT("f32", 4096), both_as_bf16},
    {"sums in f16", PRODUCT("f16", 4096), sums_in_f16},
    {"sums in f16 of bf16", PRODUCT("bf16", 512), sums_in_f16},
    {"no epsilon", NORM, no_epsilon},
    {"quotients cut", QUOTIENTS, quotients_cut},
    {"quotients approximate", QUOTIENTS, quotients_near},
    {"roots cut", ROOTS, roots_cut},
    {"roots approximate", ROOTS, roots_near},
    {"noise", "op f(X: f32[4096]) -> Y: f32[4096] { Y[i] = exp(X[i]); }", noise_in_exp},
    {"noise in a softmax", SOFTMAX(256), noise_in_exp},
    {"noise in a long softmax", SOFTMAX(3000), noise_in_exp},
    {"subnormals flushed", "op f(X: f32[4096]) -> Y: f32[4096] { Y[i] = X[i] * 3; }", flushed},
    {"subnormals flushed in a product", PRODUCT("f32", 512), flushed},
    {"subnormals flushed in a sum", "op f(X: f32[512,300]) -> Y: f32[512] { Y[i] += X[i,j]; }",
     flushed},
};

static void lost_precision_is_seen(void **state) {
    (void)state;
    enum { MISTAKES = sizeof mistakes / sizeof *mistakes };
    int unseen = 0;
    for (int i = 0; i < 2 * MISTAKES; i++) {
        CheckOptions o = {.threads = 2, .sampled = i >= MISTAKES};
        const char *name = mistakes[i % MISTAKES].name;
        make("a100", mistakes[i % MISTAKES].text);
        CheckResult right = check(&o);
        mistakes[i % MISTAKES].plant();
        CheckResult wrong = check(&o);
        if (!right.ok) print_error("%s: a right kernel: %s\n", name, right.text);
        if (wrong.ok) print_error("%s: not seen%s\n", name, o.sampled ? " on a sample" : "");
        unseen += !right.ok || wrong.ok;
    }
    assert_int_equal(unseen, 0);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(sampled_and_whole_checks_agree),
        T(a_wrong_rewrite_is_seen),
        T(what_is_not_stored_is_wrong),
        T(nor_is_it_right_on_a_device),
        T(lost_precision_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
