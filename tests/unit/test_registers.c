/* What kernels are promised of registers, and what they need: blocks of an SM are promised as far
 * as the grid has them, and what is compiled first does not spill.  */
#include "driver/compile.h"
#include "effort.h"
#include "plan_fixture.h"
#include "workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static PlanSet *plan(Arena *a, const Device *dev, const char *name, const char *text) {
    Diag d = diag_new(a);
    PlanSet *set = ARENA_ARRAY(a, PlanSet, 1);
    Te *te;
    CompileOptions o = {.workspace_limit = -1};
    Status s = te_parse(a, &d, name, text, strlen(text), NULL, NULL, 0, &te);
    if (!s) s = compile_plan(a, &d, te, dev, &o, set);
    if (s) fail_msg("%s for %s: %s", name, dev->name, d.messages[0].message);
    return set;
}

/* Blocks to an SM that the text promises for a kernel.  */
static int promised(Arena *a, const char *source, const char *symbol) {
    static const char bounds[] = "__launch_bounds__(";
    const char *last = NULL, *kernel = strstr(source, arena_printf(a, "\n%s(", symbol));
    for (const char *at = source; (at = strstr(at, bounds)) && at < kernel; at++)
        last = at + strlen(bounds);
    assert_non_null(last);
    char *end;
    strtol(last, &end, 10);
    return *end == ',' ? (int)strtol(end + 1, NULL, 10) : 0;
}

/* As many as fit, and no more than the grid of the largest sizes has for each SM.  */
static void check_promise(const Device *dev, const char *text, int64_t at_least, int64_t at_most) {
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    const PlanSet *set = plan(a, dev, "promise", text);
    WholePlan whole;
    KernelProgram out;
    CgOptions o = {.align = 16};
    compile_choose(a, set, 0, &whole);
    assert_int_equal(cg_emit(a, &d, &whole.rplan, dev, &o, &out), ST_OK);
    int64_t sms = (int64_t)dev->limits.sm_count.value, seen = 0;
    for (int i = 0; i < out.n_kernel; i++) {
        const KernelLaunch *l = &out.kernel[i];
        const RProg *r = &whole.rplan.prog[l->group];
        int64_t blocks = (int64_t)l->grid[0] * l->grid[1] * l->grid[2];
        int64_t want = (blocks + sms - 1) / sms;
        if (want > r->blocks_per_sm) want = r->blocks_per_sm;
        int64_t got = promised(a, out.source, l->symbol);
        if (got == 0) continue;
        assert_int_equal(got, want);
        seen = got;
    }
    if (seen < at_least || seen > at_most) fail_msg("%s: %d blocks to an SM", text, (int)seen);
    arena_destroy(a);
}

static void test_promise(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "h200");
    check_promise(dev, "op f(A: f32[4096,512], B: f32[512,4096]) -> C: f32[4096,4096]"
                       " { C[m,n] += A[m,k] * B[k,n]; }", 2, 32);
    check_promise(dev, "op f(A: f32[64,512], B: f32[512,64]) -> C: f32[64,64]"
                       " { C[m,n] += A[m,k] * B[k,n]; }", 1, 1);
    check_promise(dev, "op f(X: f16[64,4096]) -> Y: f16[64,4096] { m[n] = max[c](X[n,c]);"
                       " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }",
                  1, 1);
    check_promise(dev, "param M = 8..64 % 8; op f(A: f32[M,512], B: f32[512,64]) -> C: f32[M,64]"
                       " { C[m,n] += A[m,k] * B[k,n]; }", 1, 1);
    check_promise(dev, "param M = 8..16384 % 8; op f(A: f32[M,512], B: f32[512,512])"
                       " -> C: f32[M,512] { C[m,n] += A[m,k] * B[k,n]; }", 2, 32);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_promise)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
