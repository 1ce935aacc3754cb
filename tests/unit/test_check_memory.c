/* What a check holds in memory: of a sample of the blocks, what these touch, not the tensors.  */
#include "arena_fixture.h"
#include "driver/check/check.h"
#include "driver/pipeline/compile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

/* What a sanitizer notes of freed memory counts as well.  */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static Device *dev;

/* The most that the process had in memory so far.  */
static int64_t most_bytes(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (int64_t)u.ru_maxrss * 1024;
}

static void make(const char *text, Compiled *out) {
    CompileOptions plan = {.top = 1, .align = 16, .workspace_limit = -1};
    BuildOptions as = {0};
    CompileRequest asked = {diag_text("case.te", text), .plan = &plan, .build = &as, .dev = dev};
    must(compile(arena, &diag, &asked, out));
}

/* What it takes beyond the most that the process had before.  */
static int64_t bytes_of_check(const Compiled *c) {
    BuiltPlan built = {&c->set, &c->plan, &c->build};
    CheckOptions how = {.threads = 2};
    CheckResult proof;
    int64_t before = most_bytes();
    must(check_kernel(arena, &diag, &built, &how, &proof));
    if (!proof.ok) fail_msg("%s", proof.text);
    assert_true(proof.compared < proof.outputs);
    return most_bytes() - before;
}

#define MAP(n) "op f(X: f32[" n ",1024]) -> Y: f32[" n ",1024] { Y[i,j] = X[i,j] * 2; }"
#define TURNED(n) "op f(X: f32[" n ",1024]) -> Y: f32[1024," n "] { Y[j,i] = X[i,j]; }"
#define ROWS(n) "op f(X: f32[" n ",1024]) -> Y: f32[" n "] { Y[i] = sum[j](X[i,j]); }"
#define TWICE(n)                                                                                   \
    "op f(X: f32[" n ",1024], W: f32[1024,1024]) -> Y: f32[" n "] { t[i,k] += X[i,j] * W[j,k];"    \
    " m[i] = max[k](t[i,k]); Y[i] = sum[k](exp(t[i,k] - m[i])); }"

/* 2^26 elements, which are sampled, and many more: 4 GiB a tensor.  */
static const struct {
    const char *less, *more;
} ops[] = {
    {MAP("65536"), MAP("1048576")},
    {TURNED("65536"), TURNED("1048576")},
    {ROWS("65536"), ROWS("1048576")},
    {TWICE("262144"), TWICE("1048576")},
};

static void a_sample_is_not_the_tensor(void **state) {
    (void)state;
    /* Notes on every sector of the tensors took 2 GiB.  */
    enum { MIB = 1 << 20, MOST = 64 * MIB };
    if (SANITIZED) skip();
    must(hal_profile_find(arena, &diag, "h200", "profiles", NULL, &dev));
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        Compiled less, more_elements;
        make(ops[i].less, &less);
        make(ops[i].more, &more_elements);
        bytes_of_check(&less);
        int64_t more = bytes_of_check(&more_elements);
        if (more > MOST) fail_msg("%s\n%lld MiB more", ops[i].more, (long long)more / MIB);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_sample_is_not_the_tensor, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
