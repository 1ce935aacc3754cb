/* links: sim */
/* Chains whose sizes are known at run time: the program that the model ranks first, and drawn ones,
 * at sizes of 1, odd ones, those beside their tiles and the largest, on the simulator against
 * te_eval.  A third of the ops, or those whose name has CHAIN_CASE; LONG=1 takes all and draws
 * more.  */
#include "base/hash.h"
#include "chain_each.h"
#include "effort.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* Scores, the columns that they have, and what the second product multiplies.  */
#define CHAIN(params, q, k, v, more, out, row, score, mask)                                        \
    "param " params ", D = 24; op fa(Q: f16[" q "], K: f16[" k "], V: f16[" v "]" more ")"         \
    " -> O: f16[" out "] {"                                                                        \
    " s[" row ",j] = sum[d](" score ");"                                                           \
    " t[" row ",j] = " mask ";"                                                                    \
    " m[" row "] = max[j](t[" row ",j]);"                                                          \
    " z[" row "] = sum[j](exp(t[" row ",j] - m[" row "]));"
#define ONE_HEAD(params, more, mask)                                                               \
    CHAIN(params, "M,D", "N,D", "N,D", more, "M,D", "i", "Q[i,d] * K[j,d]", mask)                  \
    " O[i,e] = sum[j](f16(exp(t[i,j] - m[i])) * V[j,e]) / z[i]; }"

static const struct {
    const char *name, *profile, *text;
    bool groups;              /* by units of warpgroups alone */
} op[] = {
    {.name = "rows", .profile = "a100", .text =
     ONE_HEAD("M = 0..90, N = 70", "", "s[i,j] / 8")},
    {.name = "columns", .profile = "h200", .text =
     ONE_HEAD("M = 33, N = 1..150", "", "s[i,j] / 8")},
    {.name = "both, last rows", .profile = "a100", .text =
     ONE_HEAD("M = 1..150, N = 1..150", "", "j <= i + N - M ? s[i,j] / 8 : -inf")},
    {.name = "window and length", .profile = "rtx4090", .text =
     ONE_HEAD("M = 1..99, N = 1..99", ", len: i32[1]",
              "j <= i && j > i - N / 4 && j < len[0] + i ? s[i,j] : -inf")},
    {.name = "staged", .profile = "t4", .text =
     ONE_HEAD("M = 1..50, N = 1..90", "", "j <= i ? s[i,j] : -inf")},
    {.name = "batches and heads", .profile = "a100", .text =
     CHAIN("B = 1..3, M = 1..70", "B,M,3,D", "B,M,3,D", "B,M,3,D", "", "B,M,3,D", "b,h,i",
           "Q[b,i,h,d] * K[b,j,h,d]", "s[b,h,i,j] / 4")
     " O[b,i,h,e] = sum[j](f16(exp(t[b,h,i,j] - m[b,h,i])) * V[b,j,h,e]) / z[b,h,i]; }"},
    {.name = "heads of one key", .profile = "a100", .text =
     CHAIN("M = 1..133", "3,M,D", "M,D", "M,D", "", "3,M,D", "h,i", "Q[h,i,d] * K[j,d]",
           "j <= i ? s[h,i,j] : -inf")
     " O[h,i,e] = sum[j](f16(exp(t[h,i,j] - m[h,i])) * V[j,e]) / z[h,i]; }"},
    {.name = "pair", .profile = "a100", .text =
     "param M = 1..70, N = 1..90; op f(X: bf16[M,32], A: bf16[N,32], B: bf16[N,40]) ->"
     " Y: bf16[M,40] { s[i,j] = sum[d](X[i,d] * A[j,d]);"
     " Y[i,e] = sum[j](bf16(max(s[i,j], 0)) * B[j,e]); }"},
    {.name = "rows of groups", .profile = "h200", .groups = true,
     .text = ONE_HEAD("M = 0..190, N = 170", "", "s[i,j] / 8")},
    {.name = "columns of groups", .profile = "h200", .groups = true,
     .text = ONE_HEAD("M = 133, N = 1..350", "", "s[i,j] / 8")},
    {.name = "both of groups, last rows", .profile = "h200", .groups = true,
     .text = ONE_HEAD("M = 1..250, N = 1..250", "", "j <= i + N - M ? s[i,j] / 8 : -inf")},
    {.name = "window and length of groups", .profile = "h200", .groups = true,
     .text = ONE_HEAD("M = 1..199, N = 1..199", ", len: i32[1]",
                      "j <= i && j > i - N / 4 && j < len[0] + i ? s[i,j] : -inf")},
    {.name = "heads of one key of groups", .profile = "h200", .groups = true,
     .text = CHAIN("M = 1..133", "3,M,D", "M,D", "M,D", "", "3,M,D", "h,i", "Q[h,i,d] * K[j,d]",
                   "j <= i ? s[h,i,j] : -inf")
             " O[h,i,e] = sum[j](f16(exp(t[h,i,j] - m[h,i])) * V[j,e]) / z[h,i]; }"},
};
enum { OPS = sizeof op / sizeof *op };

/* The largest sizes, the smallest, those beside the tiles, and drawn ones; false: no more.  */
static bool sizes_of(const KernelCase *c, int which, Rng *rng, int64_t *size) {
    const RTile *block = &c->plan.prog[0].block;
    for (int z = 0; z < c->te->n_size; z++) {
        const TeExtent *e = &c->te->size[z].extent;
        if (c->te->size[z].kind != TE_SIZE_RUNTIME) continue;
        int32_t tile = block->extent[*c->te->size[z].name == 'N' ? AX_N : AX_M];
        int64_t v = e->min + rng_below(rng, (uint32_t)(e->value - e->min) + 1);
        if (which == 0) v = e->value;
        if (which == 1) v = e->min;
        if (which > 1 && which < 5) v = tile + which - 3;
        size[z] = v < e->min ? e->min : v > e->value ? e->value : v;
    }
    return which < (effort_long() ? 12 : 7);
}

static const char *run_sizes(const KernelCase *c, uint64_t seed) {
    Rng rng = {seed};
    const char *wrong = NULL;
    int64_t size[TE_MAX_SIZES] = {0};
    for (int which = 0; !wrong && sizes_of(c, which, &rng, size); which++) {
        const Te *fixed;
        KernelCase x = *c;
        if (te_specialize(c->arena, &x.diag, c->te, size, &fixed)) return "sizes";
        x.te = (Te *)(uintptr_t)fixed;
        x.size = size;
        wrong = kernel_run(&x, TE_FILL_REALS, seed, false);
        for (int z = 0; z < c->te->n_size && wrong; z++)
            wrong = arena_printf(c->arena, "%s = %lld, %s", c->te->size[z].name,
                                 (long long)size[z], wrong);
    }
    return wrong;
}

static const char *try(Arena *a, Nvrtc *nvrtc, int number) {
    const uint64_t count = effort_long() ? 12 : 2;
    KernelCase c;
    const Device *dev = fixture_device(a, op[number].profile);
    const char *bad = kernel_open_decided(&c, a, dev, op[number].text, NULL, JOINED | CHAINS);
    if (!bad && (c.plan.n != 1 || !c.plan.group[0].chain)) bad = "it is no chain in one kernel";
    if (!bad && op[number].groups) bad = kernel_keep_groups(&c);
    for (uint64_t seed = 0; seed < count && !bad; seed++) {
        bad = kernel_pick(&c, seed ? seed + (uint64_t)number * count : 0);
        if (!bad) bad = kernel_emit(&c);
        if (!bad) bad = kernel_compile(&c, nvrtc, true);
        if (!bad) bad = run_sizes(&c, seed + 1);
    }
    return bad ? kernel_report(&c, op[number].name, bad) : NULL;
}

static const char *name_of(int i) { return op[i].name; }

static void right_at_all_sizes(void **state) {
    (void)state;
    chain_each(&(ChainCases){OPS, 3, name_of, try});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(right_at_all_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
