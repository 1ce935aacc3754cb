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
 * of what was summed, and several of them in a row.  */
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

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(sampled_and_whole_checks_agree),
        T(a_wrong_rewrite_is_seen),
        T(what_is_not_stored_is_wrong),
        T(nor_is_it_right_on_a_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
