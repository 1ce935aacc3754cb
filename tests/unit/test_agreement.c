/* The model and the simulator's timing are two descriptions of one GPU, made apart: chosen plans
 * take as long in one as in the other, on shipped GPUs and on odd ones.  SEED draws a share of the
 * small ops, which run whole, and a few rows of the workload sets, each for a GPU of its own, of
 * which some blocks run where there are many.  A tenth of all rows may be apart, none by more than
 * `far`, so that few say no more than that.  LONG=1 takes all of them.  ROWS=n draws so many rows,
 * ROW=ID and GPU=NAME take one.  What is apart is printed; LIST=1 adds its plan and all times.  */
#include "base/hash.h"
#include "driver/pipeline/compile.h"
#include "effort.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"
#include "workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A shipped GPU, or one with another number of SMs, and clocks of shared memory.  */
typedef struct {
    const char *name, *profile;
    int sms, smem_latency;    /* 0: as it is */
} Gpu;
static const Gpu gpu[] = {
    {"t4 of 5", "t4", 5, 0},         {"a100", "a100", 0, 0},
    {"h100", "h100", 0, 0},          {"rtx4090 of 7", "rtx4090", 7, 40},
    {"a100 of 12", "a100", 12, 0},   {"t4", "t4", 0, 0},
    {"a10", "a10", 0, 0},            {"l4", "l4", 0, 0},
    {"rtx4090", "rtx4090", 0, 0},    {"h200", "h200", 0, 0},
    {"b200", "b200", 0, 0},          {"h100 of 9", "h100", 9, 0},
};
enum { GPUS = sizeof gpu / sizeof *gpu, FIRST = 5 };      /* small ops take the first ones */

static const struct {
    const char *name, *text;
} op[] = {
    {"product f32", "op f(A: f32[128,128], B: f32[128,96]) -> C: f32[128,96]"
     " { C[m,n] += A[m,k] * B[k,n]; }"},
    {"convolution", "op f(X: f32[1,16,28,28], K: f32[32,16,3,3]) -> Y: f32[1,32,28,28]"
     " { Y[n,f,p,q] += (X[n, c, p + r - 1, q + s - 1] else 0) * K[f,c,r,s]; }"},
    {"convolution of 1x1", "op f(X: f32[1,64,28,28], K: f32[64,64]) -> Y: f32[1,64,28,28]"
     " { Y[n,f,p,q] += X[n,c,p,q] * K[f,c]; }"},
    {"gemv f16", "op f(A: f16[2048], B: f16[1024,2048]) -> C: f16[1024]"
     " { C[n] += A[k] * B[n,k]; }"},
    {"softmax", "op f(X: f16[256,1024]) -> Y: f16[256,1024] { m[n] = max[c](X[n,c]);"
     " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }"},
    {"product f16", "op f(A: f16[256,256], B: f16[256,256]) -> C: f16[256,256]"
     " { C[m,n] += A[m,k] * B[k,n]; }"},
    {"columns", "op f(X: f32[512,384]) -> Y: f32[384] { Y[c] += X[n,c]; }"},
    {"map", "op f(X: f32[262144], Z: f32[262144]) -> Y: f32[262144] { Y[i] = X[i] * Z[i]; }"},
};
enum { OPS = sizeof op / sizeof *op };

static const double bound = 1.25, far = 2;

static Device *device_of(Arena *a, const Gpu *g) {
    Device *dev = fixture_device(a, g->profile);
    if (g->sms) dev->limits.sm_count.value = g->sms;
    if (g->smem_latency) dev->memory[LEVEL_SMEM].latency.value = g->smem_latency;
    return dev;
}

/* The plan that is chosen and compiles, and its predicted time.  */
static const char *build(KernelCase *c, const char *name, const char *text, double *us) {
    PlanSet *plans = ARENA_NEW(c->arena, PlanSet);
    WholePlan whole;
    Build b;
    Estimate e;
    CompileOptions o = {.workspace_limit = -1};
    Status s = te_parse(c->arena, &c->diag, diag_text(name, text), NULL, NULL, &c->te);
    if (!s) s = compile_plan(c->arena, &c->diag, &(PlanRequest){c->te, c->dev, &o}, plans);
    if (s) return diag_first_error(&c->diag)->message;
    compile_choose(c->arena, plans, 0, &whole);
    s = compile_best(c->arena, &c->diag, plans, &(BuildOptions){.line_info = true}, &whole, &b);
    if (s) return diag_first_error(&c->diag)->message;
    compile_estimate(&whole, &e);
    *us = e.us;
    c->normal = (Te *)(uintptr_t)plans->normal;
    c->plan = whole.rplan;
    c->program = b.program;
    c->code = b.nvrtc;
    return NULL;
}

typedef enum { GAP_NEAR, GAP_APART, GAP_FAR, GAP_UNKNOWN } Gap;

/* Does the simulator take long?  It runs some blocks of many, but blocks that stay make all of a
 * product.  */
static bool is_long(const RPlan *plan) {
    for (int g = 0; g < plan->n; g++)
        if (plan->prog[g].grid != GRID_TILES && plan->problem[g].flops > (double)(1ll << 32))
            return true;
    return false;
}

/* How far apart are both times?  `all`: also where that takes long.  */
static Gap gap_of(const Gpu *g, const char *name, const char *text, bool all) {
    Arena *a = arena_create(NULL);
    KernelCase c = {.arena = a, .diag = diag_new(a), .dev = device_of(a, g)};
    bool list = getenv("LIST") || getenv("ROW");
    double us = 0;
    const char *wrong = build(&c, name, text, &us);
    if (!wrong && !all && is_long(&c.plan)) {
        arena_destroy(a);
        return GAP_UNKNOWN;
    }
    if (!wrong) wrong = kernel_time(&c, 1);
    double ratio = us > c.us ? us / c.us : c.us / us;
    Gap gap = wrong || !(ratio < far) ? GAP_FAR : ratio < bound ? GAP_NEAR : GAP_APART;
    bool near = gap == GAP_NEAR;
    if (list || !near)
        print_message("%-28s %-13s predicted %9.2f us, simulated %9.2f us: %5.2f%s%s\n", name,
                      g->name, us, c.us, us / c.us, near ? "" : " !", wrong ? wrong : "");
    if (list && !near) print_message("%s\n", kernel_report(&c, name, "they are apart"));
    arena_destroy(a);
    return gap;
}

static void small_ops(void **state) {
    (void)state;
    Rng r = {effort_seed()};
    int share = (int)rng_below(&r, 4), apart = 0;
    if (getenv("ROWS") || getenv("ROW")) skip();
    for (int i = 0; i < FIRST * OPS; i++) {
        if (!effort_long() && i % 4 != share) continue;
        apart += gap_of(&gpu[i % FIRST], op[i / FIRST].name, op[i / FIRST].text, true) != GAP_NEAR;
    }
    assert_int_equal(apart, 0);
}

/* ---- rows of the workload sets ---- */

static const char *const set[] = {"roller119", "ansor", "tvm21", "bolt", "llm", "rowops"};
enum { SETS = sizeof set / sizeof *set, FEW = 4, MANY = 100 };

static const Gpu *drawn_gpu(Rng *rng) {
    const char *only = getenv("GPU");
    const Gpu *g = &gpu[rng_below(rng, GPUS)];
    for (int i = 0; i < GPUS && only; i++)
        if (strcmp(gpu[i].name, only) == 0) g = &gpu[i];
    return g;
}

/* A product whose blocks have much to do.  */
static bool is_large(const Workload *w) {
    static const char *const key[] = {"M", "N", "K"};
    double points = 1;
    for (int i = 0; i < 3; i++) points *= (double)workload_get(w, key[i], 1);
    return points > (double)(1ll << 34);
}

static void workload_rows(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    const char *one = getenv("ROW"), *rows = getenv("ROWS");
    Rng rng = {effort_seed()};
    WorkloadSet all[SETS];
    bool any = one || rows || effort_long();
    int n = 0, gaps[GAP_UNKNOWN + 1] = {0};
    for (int i = 0; i < SETS; i++) {
        const char *path = arena_printf(a, "benchmarks/workloads/%s.csv", set[i]);
        assert_int_equal(workload_read(a, &d, path, &all[i]), ST_OK);
        n += all[i].n;
    }
    uint32_t wanted = rows ? (uint32_t)atoi(rows) : effort_long() ? (uint32_t)n : FEW;
    for (int i = 0; i < SETS; i++) {
        for (const Workload *w = all[i].row; w < all[i].row + all[i].n; w++) {
            const Gpu *g = drawn_gpu(&rng);
            bool drawn = rng_below(&rng, (uint32_t)n) < wanted;
            Buf text = buf_new(a);
            if (one ? strcmp(w->id, one) != 0 : !drawn) continue;
            if (!any && is_large(w)) continue;
            if (workload_te(w, NULL, &text)) gaps[gap_of(g, w->id, buf_str(&text), any)]++;
        }
    }
    int apart = gaps[GAP_APART] + gaps[GAP_FAR], taken = apart + gaps[GAP_NEAR];
    if (getenv("LIST")) print_message("%d of %d are apart\n", apart, taken);
    arena_destroy(a);
    assert_int_equal(gaps[GAP_FAR], 0);
    if (taken >= MANY) assert_in_range(gaps[GAP_APART], 0, taken / 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(small_ops),
                                       cmocka_unit_test(workload_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
