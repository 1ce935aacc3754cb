/* Kernels that compute something close to the op: forms that the language does not take for each
 * other, approximations where none are allowed.  A check sees each of them, whole or by a sample;
 * the same kernels are right for the op that they were made for.  */
#include "arena_fixture.h"
#include "driver/check/check.h"
#include "driver/pipeline/compile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static PlanSet set;
static WholePlan whole;
static Build build;

static void make(const char *profile, const char *text) {
    CompileOptions plan = {.top = 1, .align = 16, .workspace_limit = -1};
    BuildOptions as = {0};
    CompileRequest asked = {diag_text("case.te", text), .plan = &plan, .build = &as};
    Device *dev;
    Compiled made;
    must(hal_profile_find(arena, &diag, profile, "profiles", NULL, &dev));
    asked.dev = dev;
    must(compile(arena, &diag, &asked, &made));
    set = made.set;
    whole = made.plan;
    build = made.build;
}

static bool passes(bool sampled, const char **text) {
    CheckOptions o = {.threads = 2, .sampled = sampled};
    CheckResult r;
    Diag quiet = diag_new(arena);
    Status s = check_kernel(arena, &quiet, &(BuiltPlan){&set, &whole, &build}, &o, &r);
    if (s && s != ST_CHECK) fail_msg("%s", diag_first_error(&quiet)->message);
    *text = r.text;
    return r.ok;
}

#define OP(expr) "op f(X: f32[4096], W: f32[4096]) -> Y: f32[4096] { Y[i] = " expr "; }"
#define SOFTMAX(expr)                                                                              \
    "op f(X: f32[64,200]) -> Y: f32[64,200] { m[n] = max[c](X[n,c]); Y[n,c] = " expr "; }"

static const struct {
    const char *written, *close;
} pairs[] = {
    {OP("X[i] / W[i]"), OP("X[i] / W[i] @fast")},
    {OP("X[i] / W[i]"), OP("X[i] * (1.0 / W[i])")},
    {OP("X[i] / 3.0"), OP("X[i] * 0.33333334")},
    {OP("sqrt(abs(X[i]))"), OP("sqrt(abs(X[i])) @fast")},
    {OP("sqrt(abs(X[i]))"), OP("pow(abs(X[i]), 0.5)")},
    {OP("1.0 / sqrt(abs(X[i]))"), OP("rsqrt(abs(X[i]))")},
    {OP("exp(X[i])"), OP("exp(X[i]) @fast")},
    {OP("exp(X[i])"), OP("exp2(X[i] * 1.442695041)")},
    {OP("exp(-abs(X[i]))"), OP("exp2(-abs(X[i]) * 1.442695041)")},
    {OP("tanh(X[i])"), OP("tanh(X[i]) @fast")},
    {OP("tanh(X[i])"), OP("1.0 - 2.0 / (exp(2.0 * X[i]) + 1.0)")},
    {OP("sin(X[i])"), OP("sin(X[i]) @fast")},
    {OP("cos(X[i])"), OP("cos(X[i]) @fast")},
    {OP("exp(X[i]) / (1.0 + exp(X[i]))"), OP("1.0 / (1.0 + exp(-X[i]))")},
    {OP("(X[i] + W[i]) - X[i]"), OP("W[i]")},
    {OP("X[i] * 3.0"), OP("f32(f16(X[i])) * 3.0")},
    {SOFTMAX("exp(X[n,c] - m[n])"), SOFTMAX("exp(X[n,c]) / exp(m[n])")},
};

/* Says so where the check of a kernel ends otherwise; returns how often that was.  */
static int expect(bool right, bool sampled, const char *text) {
    const char *why;
    if (passes(sampled, &why) == right) return 0;
    print_error("%s %s: %s\n", text, right ? "is refused" : "is not seen", why);
    return 1;
}

static void what_is_close_is_wrong(void **state) {
    (void)state;
    enum { PAIRS = sizeof pairs / sizeof *pairs };
    static const char *const profile[] = {"a100", "h200", "rtx2080ti"};
    int otherwise = 0;
    for (int i = 0; i < 2 * PAIRS; i++) {
        const char *written = pairs[i % PAIRS].written, *close = pairs[i % PAIRS].close;
        bool sampled = i >= PAIRS;
        make(profile[i % 3], written);
        otherwise += expect(true, sampled, written);
        const PlanSet right = set;
        make(profile[i % 3], close);
        otherwise += expect(true, sampled, close);
        set.te = right.te;
        otherwise += expect(false, sampled, close);
    }
    assert_int_equal(otherwise, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_close_is_wrong, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
