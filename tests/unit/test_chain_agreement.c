/* links: sim */
/* Chains as they are priced and as they run in the simulator: times of the first plan; instructions
 * of the matrix unit, and exponentials, within 2 % of what the op asks for.  LIST=1 prints all.  */
#include "effort.h"
#include "kernel_fixture.h"
#include "microperf/microperf.h"
#include "arena_fixture.h"
#include "plan_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    const char *gpu;
    int heads, keys, head;
    bool causal;
} Row;

/* Without slices of turns, whose merging is a kernel of its own.  */
static void keep_whole(RProgSet *set) {
    int n = 0;
    for (int i = 0; i < set->n; i++)
        if (set->prog[i].split == 1) set->prog[n++] = set->prog[i];
    set->n = n;
}

static void open_chain(Arena *a, const char *gpu, const char *text, KernelCase *c) {
    const char *why = kernel_open_decided(c, a, fixture_device(a, gpu), text, NULL,
                                          JOINED | CHAINS);
    if (!why) keep_whole(&c->set[0]);
    if (!why) why = kernel_pick(c, 0);
    if (!why) why = kernel_emit(c);
    Nvrtc *nvrtc;
    if (nvrtc_open(a, &c->diag, NULL, c->dev->arch, &nvrtc)) skip();
    if (!why) why = kernel_compile(c, nvrtc, true);
    if (why) fail_msg("%s", why);
    assert_int_equal(c->plan.n, 1);
    assert_int_equal(c->plan.prog[0].skeleton, SK_CHAIN);
}

static void open_row(Arena *a, const Row *x, KernelCase *c) {
    const char *text = arena_printf(
        a, "param B = %d, L = %d, D = %d; op f(Q: bf16[B,L,D], T: bf16[B,L,D], V: bf16[B,L,D])"
        " -> O: bf16[B,L,D] { s[b,i,j] = sum[d](Q[b,i,d] * T[b,j,d]) * 0.125; t[b,i,j] = %s;"
        " m[b,i] = max[j](t[b,i,j]); z[b,i] = sum[j](exp(t[b,i,j] - m[b,i]));"
        " O[b,i,e] = sum[j](bf16(exp(t[b,i,j] - m[b,i])) * V[b,j,e]) / z[b,i]; }",
        x->heads, x->keys, x->head, x->causal ? "j <= i ? s[b,i,j] : -inf" : "s[b,i,j]");
    open_chain(a, x->gpu, text, c);
}

/* ---- times ---- */

/* What the matrix unit takes for all visited scores, in us.  */
static double unit_us(const KernelCase *c, const Row *x) {
    const ComputeUnit *u = &c->dev->unit[c->plan.prog[0].unit];
    double e = (double)x->heads * x->keys * x->keys / (x->causal ? 2 : 1);
    double rate = u->rate.value * c->dev->limits.sm_count.value * hal_clock_hz(c->dev) * 1e-6;
    return 4 * e * x->head / rate;
}

/* The simulator lets overlap what no dependence and no pipe keeps apart, the model what warps of
 * known kernels do: no run is faster than its unit, or far from its price.  */
static const double distance = 1.25;

static void time_row(Arena *a, const Row *x) {
    KernelCase c = {0};
    Estimate e;
    open_row(a, x, &c);
    mp_estimate(&c.plan.problem[0], &c.plan.prog[0], c.dev, &e);
    const char *why = kernel_time(&c, 1);
    if (why) fail_msg("%s", why);
    double least = unit_us(&c, x);
    if (getenv("LIST"))
        print_message("%-6s %2d heads of %3d, %4d keys%s: unit %8.2f us, simulated %8.2f us,"
                      " predicted %8.2f us: %.2f\n", x->gpu, x->heads, x->head, x->keys,
                      x->causal ? ", causal" : "", least, c.us, e.us, e.us / c.us);
    if (c.us < least || c.us > 1.05 * e.us || e.us > distance * c.us || e.us < least)
        fail_msg("%s: unit %g us, simulated %g, predicted %g", x->gpu, least, c.us, e.us);
}

static const Row timed[] = {
    {"a100", 32, 2048, 128, false},
    {"a100", 32, 1024, 64, false},
    {"a100", 32, 2048, 128, true},
    {"h200", 32, 2048, 128, false},
    {"h200", 32, 2048, 64, false},
    {"h200", 16, 2048, 256, false},
    {"h200", 32, 2048, 128, true},
};

static void times_lie_between(Arena *a) {
    for (size_t i = 0; i < sizeof timed / sizeof *timed; i++) time_row(a, &timed[i]);
}

typedef struct {
    const char *gpu, *type, *sums;
    int m, k, n, e;
} Pair;

/* Two products back to back.  */
static void time_pair(Arena *a, const Pair *x) {
    KernelCase c = {0};
    Estimate e;
    open_chain(a, x->gpu, arena_printf(
        a, "param M = %d, K = %d, N = %d, E = %d; op f(X: %s[M,K], A: %s[K,N], B: %s[N,E])"
        " -> Y: %s[M,E] { s[i,j] = sum[d](X[i,d] * A[d,j]);"
        " Y[i,e] = sum[j](%s(max(s[i,j], 0)) * B[j,e]); }", x->m, x->k, x->n, x->e, x->type,
        x->type, x->type, x->sums, x->type), &c);
    mp_estimate(&c.plan.problem[0], &c.plan.prog[0], c.dev, &e);
    const char *why = kernel_time(&c, 1);
    if (why) fail_msg("%s", why);
    if (getenv("LIST"))
        print_message("%-6s %d x %d x %d x %d: simulated %8.2f us, predicted %8.2f us: %.2f\n",
                      x->gpu, x->m, x->k, x->n, x->e, c.us, e.us, e.us / c.us);
    if (fabs(e.us / c.us - 1) > 0.12)
        fail_msg("%s, %d x %d x %d x %d: simulated %g us, predicted %g", x->gpu, x->m, x->k, x->n,
                 x->e, c.us, e.us);
}

static const Pair pairs[] = {
    {"a100", "f16", "f16", 16384, 256, 64, 16},  {"a100", "f16", "f16", 32768, 576, 128, 64},
    {"a100", "f16", "f16", 128320, 96, 32, 96},  {"a100", "f16", "f16", 81920, 576, 64, 128},
    {"h200", "f16", "f16", 16384, 256, 64, 16},  {"h200", "f16", "f16", 32768, 576, 128, 64},
    {"h200", "f16", "f16", 128320, 96, 32, 96},  {"h200", "f16", "f16", 81920, 576, 64, 128},
    {"a100", "i8", "i32", 81920, 576, 64, 128},  {"h200", "i8", "i32", 81920, 576, 64, 128},
    {"a100", "i8", "i32", 128320, 96, 32, 96},   {"t4", "i8", "i32", 32768, 576, 64, 128},
};

/* One; LIST=1: all.  */
static void times_of_pairs_agree(Arena *a) {
    enum { ALL = sizeof pairs / sizeof *pairs };
    for (int i = 0; i < ALL; i++)
        if (getenv("LIST") || effort_drawn(i, ALL)) time_pair(a, &pairs[i]);
}

/* ---- instructions ---- */

/* Of warps: products, e scores by K and by E; exponentials, one for each score; of each row, by the
 * four lanes that share it, a first and a last rescaling and a division.  */
typedef struct {
    double products, powers;
} Asked;

static Asked asked_of(const KernelCase *c, const Row *x) {
    const RProg *r = &c->plan.prog[0];
    double tile = (double)r->block.extent[AX_M] * r->block.extent[AX_N], visited = 0;
    for (int64_t i = 0; i < rprog_tiles(&c->plan.problem[0], r, AX_M); i++)
        visited += (double)rprog_chain_visited(&c->plan.problem[0], r, i);
    double e = x->heads * visited * tile, instruction[2];
    for (int i = 0; i < 2; i++) {
        RProg of = rprog_product(c->dev, r, i);
        const int32_t *t = of.thread.extent;
        instruction[i] = (double)t[AX_M] * t[AX_N] * t[AX_K] / rprog_team(c->dev, r);
    }
    double rows = (double)x->heads * (double)x->keys * 3 * 4;
    return (Asked){e * x->head * (1 / instruction[0] + 1 / instruction[1]), (e + rows) / WARP};
}

static void count_row(Arena *a, const Row *x) {
    KernelCase c = {0};
    open_row(a, x, &c);
    const char *why = kernel_run(&c, TE_FILL_REALS, 1, false);
    if (why) fail_msg("%s", why);
    Asked asked = asked_of(&c, x);
    double products = (double)c.counted.pipe[SIM_PIPE_TENSOR] / asked.products;
    double powers = (double)c.counted.pipe[SIM_PIPE_MUFU] / asked.powers;
    double far = fabs(products - 1) > fabs(powers - 1) ? fabs(products - 1) : fabs(powers - 1);
    if (getenv("LIST") || far > 0.02)
        print_message("%-6s %2d heads of %3d, %4d keys%s: %.3f of the products asked for, %.3f of "
                      "the powers\n", x->gpu, x->heads, x->head, x->keys,
                      x->causal ? ", causal" : "", products, powers);
    assert_true(far <= 0.02);
}

static const Row counted[] = {
    {"a100", 1, 1024, 64, false},  {"a100", 1, 1024, 128, true},
    {"h200", 1, 1024, 64, false},  {"h200", 1, 1024, 128, false},
    {"h200", 1, 1024, 128, true},
};
static void instructions_are_those_asked_for(Arena *a) {
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) count_row(a, &counted[i]);
}

#define TEST(name) static void test_##name(void **state) { run(state, name); }
TEST(times_lie_between)
TEST(times_of_pairs_agree)
TEST(instructions_are_those_asked_for)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_times_lie_between, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_times_of_pairs_agree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_instructions_are_those_asked_for, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
