/* links: sim */
/* Attention with scores, terms and results in Tensor Memory: of every wait, fence and commit of its
 * protocol the simulator notices that it is not there.  LONG=1 tries all.  */
#include "effort.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"
#include "text_pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

/* Pieces of a kernel, and what takes their place (text_pattern.h): waits, fences, commits,
 * columns.  */
#define EMPTY "rl_barrier_wait(~1 + ~2 + (~3 + ~4) * 8, ~5 ^ 1);\n"
#define FULL "rl_barrier_wait(~1 + ~2 + ~3 * 8, ~4);\n"
#define AFTER "rl_tcgen05_after();\n"
static const struct {
    const char *piece, *other;
} mutant[] = {
    {EMPTY "                        " AFTER, AFTER},
    {FULL "                    rl_barrier_wait(~1 + ~5 + ~6 * 8, ~7);\n", FULL},
    {FULL "            " AFTER, AFTER},
    {FULL "            " AFTER, FULL},
    {EMPTY "            " AFTER, AFTER},
    {EMPTY "        " AFTER, AFTER},
    {"rl_tcgen05_before();\n            __syncwarp();\n            if (~1 == 0) {\n"
     "                rl_barrier_arrive(~2 + ~3 + (~4",
     "if (~1 == 0) {\n rl_barrier_arrive(~2 + ~3 + (~4"},
    {"rl_tcgen05_commit(~1 + ~2 + ~3 * 8);", "rl_barrier_arrive(~1 + ~2 + ~3 * 8);"},
    {"rl_tcgen05_commit(~1 + ~2 + ~3 * 8);", ""},
    {"rl_tcgen05_stored();", ""},
    {"tensor + #1u + ~1 * 2 / 4", "tensor + #1u + ~1 * 2 / 4 + 1"},
    {"rl_tcgen05_scale_n64(tensor + ", "rl_tcgen05_scale_n64(tensor + 8u + "},
    {"0 < step + kk", "0 < step"},
    {"0 < step + kk", "true"},
    {"rl_tcgen05_free<#1>(~1);", ""},
};
enum { MUTANTS = sizeof mutant / sizeof *mutant };

static const char *open_tensor(KernelCase *c, Arena *a) {
    const char *text =
        "op f(Q: bf16[130,64], K: bf16[400,64], V: bf16[400,64]) -> O: bf16[130,64] {"
        " s[i,j] = sum[d](Q[i,d] * K[j,d]) * 0.125;"
        " m[i] = max[j](s[i,j]);"
        " z[i] = sum[j](exp(s[i,j] - m[i]));"
        " O[i,e] = sum[j](bf16(exp(s[i,j] - m[i])) * V[j,e]) / z[i]; }";
    const char *bad = kernel_open_decided(c, a, fixture_device(a, "b200"), text, NULL,
                                          JOINED | CHAINS);
    if (!bad) bad = kernel_keep_groups(c);
    if (!bad) bad = kernel_pick(c, 0);
    return bad ? bad : kernel_emit(c);
}

/* Does any of some orders of events find the text wrong?  */
static bool is_caught(KernelCase *c, Nvrtc *nvrtc, const char *text) {
    enum { SEEDS = 4 };
    c->program.source = text;
    c->program.source_len = strlen(text);
    if (kernel_compile(c, nvrtc, false)) return true;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        if (kernel_prove(c, seed)) return true;
    return false;
}

static void every_wait_of_tensor_memory_is_needed(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    KernelCase c;
    if (nvrtc_open(a, &d, NULL, NULL, &nvrtc)) skip();
    const char *bad = open_tensor(&c, a);
    if (bad) fail_msg("%s", bad);
    const char *right = c.program.source;
    int failed = 0;
    assert_false(is_caught(&c, nvrtc, right));
    for (int i = 0; i < MUTANTS; i++) {
        const char *text = pattern_replaced(a, right, mutant[i].piece, mutant[i].other);
        if (!text) fail_msg("no '%s' to change", mutant[i].piece);
        bool survives = effort_drawn(i, 5) && !is_caught(&c, nvrtc, text);
        if (survives) printf("nobody notices '%s' as '%s'\n", mutant[i].piece, mutant[i].other);
        failed += survives;
    }
    assert_int_equal(failed, 0);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_wait_of_tensor_memory_is_needed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
