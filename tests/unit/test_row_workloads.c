/* Every softmax, norm and reduction over rows of the workload sets: planned as rows for three
 * devices, compiled without spills.  LONG compiles all of them for all devices.  */
#include "decide.h"
#include "driver/pipeline/compile.h"
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

static bool is_row_operator(const Workload *w) {
    static const char *const op[] = {"softmax", "layernorm", "rmsnorm", "norm"};
    for (size_t i = 0; i < sizeof op / sizeof *op; i++) {
        if (strcmp(w->op, op[i]) == 0) return true;
    }
    return strcmp(w->op, "reduce_sum") == 0 && workload_get(w, "INNER", 0) == 1;
}

static void failed(const Workload *w, const Device *dev, Diag *d, const char *what) {
    const DiagMessage *m = diag_first_error(d);
    fail_msg("%s for %s: %s: %s", w->id, dev->name, what, m ? m->message : "");
}

/* Every kernel of the plan is one of rows, unless loops or tiles are predicted to be faster; its
 * traffic no less than each tensor once and never more than the program says.  */
static void plan(Arena *a, const Workload *w, const Device *dev, bool compiles) {
    Diag d = diag_new(a);
    Buf text = buf_new(a);
    Te *te;
    PlanSet set;
    WholePlan whole;
    Build build;
    assert_true(workload_te(w, NULL, &text));
    if (te_parse(a, &d, (DiagText){w->id, buf_str(&text), text.len}, NULL, NULL, &te))
        failed(w, dev, &d, "parse");
    CompileOptions o = {.workspace_limit = -1};
    if (compile_plan(a, &d, &(PlanRequest){te, dev, &o}, &set)) failed(w, dev, &d, "plan");
    assert_int_equal(set.n_group, 1);
    const GroupPlans *p = &set.plans[0];
    if (decided(set.normal) == TILED) return;      /* a few columns, or shared by all rows */
    assert_non_null(p->problem.row);
    for (int i = 0; i < p->n; i++) {
        const char *why = rprog_check(&p->problem, dev, &p->ranked[i].prog);
        if (why) fail_msg("%s for %s: candidate %d: %s", w->id, dev->name, i, why);
    }
    const Estimate *e = &p->ranked[0].estimate;
    double once = (double)(p->problem.read_bytes + p->problem.out_bytes);
    assert_true(e->dram_bytes >= once);
    assert_true(e->us > 0 && e->us < 1e6);
    if (!rprog_row_rereads(&p->ranked[0].prog)) assert_true(e->dram_bytes <= once * 1.0001);
    if (!compiles) return;
    compile_choose(a, &set, 0, &whole);
    if (compile_best(a, &d, &set, &(BuildOptions){0}, &whole, &build))
        failed(w, dev, &d, "compile");
    for (int i = 0; i < build.nvrtc.n_kernel; i++) {
        if (build.nvrtc.kernel[i].spill_stores + build.nvrtc.kernel[i].spill_loads > 0)
            fail_msg("%s for %s spills", w->id, dev->name);
    }
}

static void test_set(const char *name) {
    static const char *const profile[] = {"h200", "a100", "rtx4090"};
    enum { PROFILES = 3, SAMPLE = 11 };
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    WorkloadSet set;
    int n = 0;
    const char *path = arena_printf(a, "benchmarks/workloads/%s.csv", name);
    assert_int_equal(workload_read(a, &d, path, &set), ST_OK);
    for (int k = 0; k < PROFILES; k++) {
        Device *dev = fixture_device(a, profile[k]);
        for (int i = 0; i < set.n; i++) {
            if (!is_row_operator(&set.row[i])) continue;
            ArenaMark mark = arena_mark(a);
            plan(a, &set.row[i], dev, effort_long() || n % SAMPLE == 0);
            arena_reset(a, mark);
            n++;
        }
    }
    assert_true(n > 30);
    arena_destroy(a);
}

static void test_rowops(void **state) {
    (void)state;
    test_set("rowops");
}

/* A short row is one thread's, in one access.  */
static void test_short(void **state) {
    (void)state;
    static const char text[] =
        "op f(X: f16[4194304,8]) -> Y: f16[4194304,8] { m[n] = max[c](X[n,c]);"
        " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }";
    static const char *const profile[] = {"h200", "a100", "rtx4090"};
    Arena *a = arena_create(NULL);
    for (int k = 0; k < 3; k++) {
        Diag d = diag_new(a);
        Te *te;
        PlanSet set;
        CompileOptions o = {.workspace_limit = -1};
        assert_int_equal(te_parse(a, &d, diag_text("", text), NULL, NULL, &te), ST_OK);
        assert_int_equal(
            compile_plan(a, &d, &(PlanRequest){te, fixture_device(a, profile[k]), &o}, &set),
            ST_OK);
        const RProg *r = &set.plans[0].ranked[0].prog;
        assert_int_equal(r->skeleton, SK_ROW);
        assert_int_equal(rprog_row_threads(r), 1);
        assert_int_equal(r->store_vec, 8);
        assert_int_equal(r->keep, KEEP_REGISTERS);
    }
    arena_destroy(a);
}

static void test_llm(void **state) {
    (void)state;
    test_set("llm");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rowops), cmocka_unit_test(test_llm),
                                       cmocka_unit_test(test_short)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
