/* What kernels are promised of registers, and what they need: blocks of an SM are promised as far
 * as the grid has them, and what is compiled first does not spill.  */
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

static PlanSet *plan(Arena *a, const Device *dev, const char *name, const char *text) {
    Diag d = diag_new(a);
    PlanSet *set = ARENA_ARRAY(a, PlanSet, 1);
    Te *te;
    CompileOptions o = {.workspace_limit = -1};
    Status s = te_parse(a, &d, diag_text(name, text), NULL, NULL, &te);
    if (!s) s = compile_plan(a, &d, &(PlanRequest){te, dev, &o}, set);
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
    check_promise(dev, "param M = 8..4096 % 8; op f(A: f32[M,512], B: f32[512,4096])"
                       " -> C: f32[M,4096] { C[m,n] += A[m,k] * B[k,n]; }", 2, 32);
    arena_destroy(a);
}

/* ---- what is compiled first does not spill ---- */

/* Rows whose plan is at the edge of what fits.  blocks: that many to an SM at least, so that the
 * estimate is not too careful either.  */
typedef struct {
    const char *profile, *set, *id;
    int blocks;
} Edge;

static const Edge sample[] = {
    {"h200", "llm", "deepseek-v3-o-m8192-f8e4m3", 1},     /* warpgroups, sums of a step beside */
    {"h200", "llm", "gpt-oss-lmhead-m16-f16", 1},         /* a ring in pingpong */
    {"h200", "llm", "llama3-70b-tp8-qkv-m64-f8e4m3", 2},  /* two rings to an SM */
    {"h200", "llm", "gpt-oss-o-m128-bf16", 1},            /* a ring that fills it */
    {"rtx4090", "llm", "gpt-oss-o-m2048-f16", 1},         /* segments, 80 columns to a warp */
    {"a100", "llm", "qwen3-32b-qkv-m8-f8e4m3", 1},        /* many widened chunks */
    {"a100", "bolt", "RN50-13-b256", 2},                  /* 254 of 255 registers */
    {"h200", "bolt", "RN50-9-b34", 1},                    /* a ring of columns of pixels */
    {"h200", "rowops", "softmax-023", 10},                /* columns one by one */
};

static const Edge all[] = {
    {"h200", "ansor", "TBS-0mm-b1", 1}, {"h200", "ansor", "TBS-3mm-b1", 1},
    {"h200", "bolt", "B2BT-1", 1}, {"h200", "llm", "llama3-8b-qkv-m128-f16", 1},
    {"h200", "llm", "llama3-8b-o-m128-bf16", 1}, {"h200", "llm", "llama3-70b-o-m512-f8e4m3", 1},
    {"h200", "llm", "qwen3-30b-a3b-o-m2048-f8e4m3", 1},
    {"h200", "llm", "llama3-70b-tp8-o-m32-f8e4m3", 1},
    {"h200", "llm", "deepseek-v3-qa-kva-m128-bf16", 1},
    {"h200", "llm", "deepseek-v3-gateup-m512-f8e4m3", 1},
    {"h200", "llm", "gpt-oss-expert-down-m512-f16", 1}, {"a100", "bolt", "B2BT-2", 1},
    {"a100", "ansor", "TBS-0mm-b16", 3}, {"a100", "ansor", "TBS-1mm-b16", 4},
    {"a100", "ansor", "TBS-3mm-b16", 5},
    {"a100", "ansor", "DIL-0-b16", 1}, {"a100", "rowops", "rmsnorm-022", 2},
    {"a100", "llm", "llama3-70b-gateup-m32-f8e4m3", 1},
    {"a100", "llm", "llama3-70b-tp8-qkv-m32-f8e4m3", 1},
    {"a100", "llm", "qwen3-30b-a3b-qkv-m32-f8e4m3", 1},
    {"a100", "llm", "qwen3-30b-a3b-o-m16-f8e4m3", 1},
    {"a100", "llm", "qwen3-235b-a22b-expert-gateup-m8-f8e4m3", 1},
    {"a100", "llm", "deepseek-v3-qa-kva-m8-f8e4m3", 1},
    {"a100", "llm", "deepseek-v3-expert-down-m32-f8e4m3", 1},
    {"rtx4090", "ansor", "C3D-0-b1", 2}, {"rtx4090", "rowops", "softmax-023", 8},
};

/* Of small blocks, both fragments swizzled along k, many are promised, and do not spill: this
 * program is taken, whatever the best one is.  */
static const char small_blocks[] = "roller-plan 1\nkernel 0\n  skeleton contract\n  unit ffma\n"
    "  block 1 32 32 16\n  warp 1 16 32 16\n  thread 1 4 4 4\n  vec 1 4\n  unroll 16\n  stages 2\n"
    "  a async cp.async.16 vec 4 along k inner k swizzle 1 1 0\n"
    "  b async cp.async.16 vec 4 along k inner k swizzle 2 2 0\n"
    "  store 4\n  raster row\n  split 1\n  blocks_per_sm 12\n";
static const Edge many[] = {
    {"a100", "ansor", "TBS-0mm-b16", 12},
    {"a100", "ansor", "TBS-1mm-b16", 12},
    {"a100", "ansor", "TBS-3mm-b16", 12},
};

static const Workload *find_row(Arena *a, const Edge *e) {
    Diag d = diag_new(a);
    WorkloadSet *set = ARENA_ARRAY(a, WorkloadSet, 1);
    const char *path = arena_printf(a, "benchmarks/workloads/%s.csv", e->set);
    assert_int_equal(workload_read(a, &d, path, set), ST_OK);
    for (int i = 0; i < set->n; i++) {
        if (strcmp(set->row[i].id, e->id) == 0) return &set->row[i];
    }
    fail_msg("%s has no row %s", e->set, e->id);
    return NULL;
}

/* Leaves this program alone, with what it is promised.  */
static void keep_program(Arena *a, const PlanSet *set, const char *text) {
    Diag d = diag_new(a);
    GroupPlans *g = &set->plans[set->dominant];
    WholePlan whole;
    compile_choose(a, set, 0, &whole);
    if (rprog_read(a, &d, diag_text("program", text), set->dev, &whole.rplan))
        fail_msg("line %d: %s", d.messages[0].line, d.messages[0].message);
    g->ranked[0].prog = whole.rplan.prog[set->dominant];
    rprog_derive(&g->problem, set->dev, &g->ranked[0].prog);
    g->n = 1;
}

static void check_edge(const Edge *e, const char *program) {
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Buf text = buf_new(a);
    Build build;
    WholePlan whole;
    assert_true(workload_te(find_row(a, e), NULL, &text));
    const PlanSet *set = plan(a, fixture_device(a, e->profile), e->id, buf_str(&text));
    if (program) keep_program(a, set, program);
    compile_choose(a, set, 0, &whole);
    assert_int_equal(compile_best(a, &d, set, &(BuildOptions){0}, &whole, &build), ST_OK);
    if (build.spilled) fail_msg("%s for %s: %d plans spill", e->id, e->profile, build.spilled);
    int blocks = whole.rplan.prog[set->dominant].blocks_per_sm;
    if (blocks < e->blocks) fail_msg("%s for %s: %d blocks to an SM", e->id, e->profile, blocks);
    arena_destroy(a);
}

static void test_edges(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sample / sizeof *sample; i++) check_edge(&sample[i], NULL);
    for (size_t i = 0; i < sizeof many / sizeof *many; i++)
        check_edge(&many[i], small_blocks);
    for (size_t i = 0; effort_long() && i < sizeof all / sizeof *all; i++)
        check_edge(&all[i], NULL);
}

/* A plan that the compiler refuses, here for more static shared memory than there is, gives way to
 * the next one, with a warning that says why; if all are refused, or ROLLER_REFUSED says so, that
 * is the error.  */
static void test_refused(void **state) {
    (void)state;
    enum { STATIC_MOST = 48 << 10 };
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Build build;
    WholePlan whole;
    const BuildOptions o = {.static_smem = true};
    const PlanSet *set = plan(a, fixture_device(a, "a100"), "refused",
                        "op f(A: f16[256,256], B: f16[256,256]) -> C: f16[256,256] {"
                        " C[m,n] += A[m,k] * B[n,k]; }");
    GroupPlans *g = &set->plans[0];
    int first = 0;
    while (first + 1 < g->n && g->ranked[first].prog.smem > STATIC_MOST) first++;
    Ranked large = g->ranked[first], small = large;
    for (; large.prog.smem <= STATIC_MOST; large.prog.stages++)
        rprog_derive(&g->problem, set->dev, &large.prog);
    large.prog.stages--;
    assert_true(small.prog.smem <= STATIC_MOST);
    assert_null(rprog_check(&g->problem, set->dev, &large.prog));
    g->ranked = (Ranked[]){large, small};
    g->n = 2;
    compile_choose(a, set, 0, &whole);
    setenv("ROLLER_REFUSED", "fail", 1);
    Diag strict = diag_new(a);
    assert_int_equal(compile_best(a, &strict, set, &o, &whole, &build), ST_COMPILE);
    assert_int_equal(strict.errors, 1);
    unsetenv("ROLLER_REFUSED");
    compile_choose(a, set, 0, &whole);
    assert_int_equal(compile_best(a, &d, set, &o, &whole, &build), ST_OK);
    assert_int_equal(build.spilled, 1);
    assert_int_equal(whole.rplan.prog[0].stages, small.prog.stages);
    assert_int_equal(d.count, 1);
    assert_int_equal(d.errors, 0);
    assert_non_null(strstr(d.messages[0].message, "the next plan is taken"));
    g->n = 1;
    compile_choose(a, set, 0, &whole);
    assert_int_equal(compile_best(a, &d, set, &o, &whole, &build), ST_COMPILE);
    assert_int_equal(d.errors, 1);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_promise),
                                       cmocka_unit_test(test_edges),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
