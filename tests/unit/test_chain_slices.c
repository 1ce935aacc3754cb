/* links: sim */
/* Chains whose turns are in slices, each a block, and what merges them: drawn programs on the
 * simulator against te_eval, at run-time sizes at small ones too.  A half of them, or those
 * whose name has CHAIN_CASE; LONG=1 takes all and draws more of each.  */
#include "base/hash.h"
#include "base/numeric.h"
#include "chain_each.h"
#include "effort.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One query of each of H heads, G of which share keys.  */
#define DECODE(b, h, g, n, d, more, mask, out, end)                                                \
    "param B = " b ", N = " n "; op f(Q: f16[B," h "," d "], K: f16[B," h "/" g ",N," d "],"       \
    " V: f16[B," h "/" g ",N," d "]" more ") -> " out " {"                                         \
    " s[b,h,j] = sum[d](Q[b,h,d] * K[b,h/" g ",j,d]) * 0.25; t[b,h,j] = " mask ";"                 \
    " m[b,h] = max[j](t[b,h,j]); z[b,h] = sum[j](exp(t[b,h,j] - m[b,h]));" end                     \
    " O[b,h,e] = sum[j](f16(exp(t[b,h,j] - m[b,h])) * V[b,h/" g ",j,e]) / z[b,h]; }"
#define O_ALONE(h, d) "O: f16[B," h "," d "]"
#define LENGTHS DECODE("3", "4", "4", "300", "32", ", len: i32[B]",                                \
                       "j < len[b] ? s[b,h,j] : -inf", O_ALONE("4", "32"), "")
/* What sums of rows have besides, so that a row without a score is 0.  */
#define SINK                                                                                       \
    "op f(Q: f16[2,5,32], K: f16[2,300,32], V: f16[2,300,32], len: i32[2], s: f32[5]) ->"          \
    " (O: f16[2,5,32], l: f32[2,5]) {"                                                             \
    " t[b,i,j] = j < len[b] ? sum[d](Q[b,i,d] * K[b,j,d]) : -inf;"                                 \
    " m[b,i] = max(max[j](t[b,i,j]), s[i]);"                                                       \
    " z[b,i] = sum[j](exp(t[b,i,j] - m[b,i])) + exp(s[i] - m[b,i]); l[b,i] = m[b,i] + log(z[b,i]);"\
    " O[b,i,e] = sum[j](f16(exp(t[b,i,j] - m[b,i])) * V[b,j,e]) / z[b,i]; }"
/* M of the last rows of N.  */
#define ROWS(m, n, d, e, type, mask)                                                               \
    "param M = " m ", N = " n "; op f(Q: " type "[M," d "], K: " type "[N," d "],"                 \
    " V: " type "[N," e "]) -> O: " type "[M," e "] { s[i,j] = sum[d](Q[i,d] * K[j,d]) * 0.125;"   \
    " t[i,j] = " mask "; m[i] = max[j](t[i,j]); z[i] = sum[j](exp(t[i,j] - m[i]));"                \
    " O[i,e] = sum[j](" type "(exp(t[i,j] - m[i])) * V[j,e]) / z[i]; }"

static const struct {
    const char *name, *profile, *text;
} op[] = {
    {"grouped heads", "a100",
     DECODE("2", "8", "4", "520", "32", "", "s[b,h,j]", O_ALONE("8", "32"), "")},
    {"one head each", "h200",
     DECODE("1", "3", "1", "333", "40", "", "s[b,h,j]", O_ALONE("3", "40"), "")},
    {"log sum", "a100",
     DECODE("2", "4", "2", "260", "16", ", w: f32[4]", "s[b,h,j] + w[h]",
            "(" O_ALONE("4", "16") ", L: f32[B,4])", " L[b,h] = m[b,h] + log(z[b,h]);")},
    {"lengths", "rtx4090", LENGTHS},
    {"last rows", "a100", ROWS("5", "400", "32", "24", "bf16", "j <= i + N - M ? s[i,j] : -inf")},
    {"window", "a10", ROWS("40", "300", "16", "16", "f16",
                           "j <= i + 260 && j > i + 60 ? s[i,j] : -inf")},
    {"odd results", "a100", ROWS("19", "200", "16", "10", "f16", "s[i,j]")},
    {"staged", "t4", ROWS("3", "250", "32", "16", "f16", "s[i,j]")},
    {"sink", "a100", SINK},
    {"pair", "a100",
     "op f(X: bf16[9,32], A: bf16[330,32], B: bf16[330,40]) -> Y: bf16[9,40] {"
     " s[i,j] = sum[d](X[i,d] * A[j,d]); Y[i,e] = sum[j](bf16(max(s[i,j], 0)) * B[j,e]); }"},
    {"any length", "a100", ROWS("1..20", "1..300", "32", "16", "f16",
                                "j <= i + N - M ? s[i,j] : -inf")},
    {"any batch", "h200",
     DECODE("1..3", "4", "2", "1..200", "16", ", len: i32[B]", "j < len[b] ? s[b,h,j] : -inf",
            O_ALONE("4", "16"), "")},
};
enum { OPS = sizeof op / sizeof *op };

/* Those in slices alone.  */
static const char *open_slices(KernelCase *c, Arena *a, const char *profile, const char *text) {
    const char *bad = kernel_open_decided(c, a, fixture_device(a, profile), text, NULL,
                                          TILED | JOINED | CHAINS);
    int n = 0;
    if (bad) return bad;
    if (c->plan.n != 1 || !c->plan.group[0].chain) return "it is no chain in one program";
    for (int i = 0; i < c->set[0].n; i++)
        if (c->set[0].prog[i].split > 1) c->set[0].prog[n++] = c->set[0].prog[i];
    c->set[0].n = n;
    return n > 0 ? NULL : "none is in slices";
}

/* The largest run-time sizes, the smallest, and drawn ones; false: no more.  */
static bool sizes_of(const KernelCase *c, int which, Rng *rng, int64_t *size) {
    bool any = false;
    for (int z = 0; z < c->te->n_size; z++) {
        const TeExtent *e = &c->te->size[z].extent;
        if (c->te->size[z].kind != TE_SIZE_RUNTIME) continue;
        int64_t drawn = e->min + rng_below(rng, (uint32_t)(e->value - e->min) + 1);
        size[z] = which == 0 ? e->value : which == 1 ? e->min : drawn;
        any = true;
    }
    return any && which < 5;
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
    }
    return wrong;
}

static bool is_static(const Te *te) {
    for (int z = 0; z < te->n_size; z++)
        if (te->size[z].kind == TE_SIZE_RUNTIME) return false;
    return true;
}

static const char *try(Arena *a, Nvrtc *nvrtc, int number) {
    const uint64_t count = effort_long() ? 16 : 2;
    KernelCase c;
    const char *bad = open_slices(&c, a, op[number].profile, op[number].text);
    for (uint64_t seed = 0; seed < count && !bad; seed++) {
        bad = kernel_pick(&c, seed ? seed + (uint64_t)number * count : 0);
        if (!bad) bad = kernel_emit(&c);
        if (!bad) bad = kernel_compile(&c, nvrtc, true);
        if (!bad) bad = is_static(c.te) ? kernel_prove(&c, seed + 1) : run_sizes(&c, seed + 1);
    }
    return bad ? kernel_report(&c, op[number].name, bad) : NULL;
}

static const char *name_of(int i) { return op[i].name; }

static void slices_are_right(void **state) {
    (void)state;
    chain_each(&(ChainCases){OPS, 2, name_of, try});
}

/* ---- hostile data ---- */

static uint16_t half(double x) { return num_f16_encode(x, ROUND_NEAREST_EVEN, false); }

static const char *run_some(KernelCase *c, Nvrtc *nvrtc) {
    const char *bad = NULL;
    for (uint64_t seed = 0; seed < 4 && !bad; seed++) {
        bad = kernel_pick(c, seed);
        if (!bad) bad = kernel_emit(c);
        if (!bad) bad = kernel_compile(c, nvrtc, true);
        if (!bad) bad = kernel_run(c, TE_FILL_REALS, 1, false);
    }
    return bad;
}

/* Scores of +-10^4 that grow from slice to slice or fall; a length of 0, one that leaves slices
 * without columns, and NaN behind each in keys and values; a row of nothing but -inf.  */
static void slices_bear_hostile_data(void **state) {
    enum { B = 3, H = 4, N = 300, D = 32 };
    static const int32_t length[B] = {300, 0, 37};
    static uint16_t q[B * H * D], k[B * N * D], v[B * N * D];
    const TeData in[] = {{q, sizeof q}, {k, sizeof k}, {v, sizeof v},
                         {(void *)(uintptr_t)length, sizeof length}};
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Rng rng = {7};
    Nvrtc *nvrtc;
    KernelCase c;
    (void)state;
    if (nvrtc_open(a, &d, NULL, NULL, &nvrtc)) skip();
    const char *bad = open_slices(&c, a, "rtx4090", LENGTHS);
    /* Heads 0, 1: the score is that of a key's first element, times so much; others: small.  */
    for (int i = 0; i < B * H * D; i++) {
        int head = i / D % H;
        double first = i % D ? 0 : head == 0 ? 133 : -133;
        q[i] = half(head < 2 ? first : head == 2 ? (i % D == 1 ? INFINITY : 0)
                                                 : rng_below(&rng, 9) - 4.0);
    }
    for (int i = 0; i < B * N * D; i++) {
        int j = i / D % N;
        bool there = j < length[i / (N * D)];
        k[i] = there ? half(i % D == 0 ? j : i % D == 1 ? -1 : 0.25) : 0x7e00;
        v[i] = there ? half(rng_below(&rng, 100) / 100.0) : 0x7e00;
    }
    c.in = in;
    if (!bad) bad = run_some(&c, nvrtc);
    if (bad) fail_msg("%s", kernel_report(&c, "hostile", bad));
    arena_destroy(a);
}

/* Sinks far above the scores and far below, beside rows without a score and with some of 10^4; keys
 * behind a length are NaN.  In slices, and not.  */
static void sinks_bear_hostile_data(void **state) {
    enum { B = 2, M = 5, N = 300, D = 32 };
    static const int32_t length[B] = {0, 290};
    static const float sink[M] = {0, 3e4F, -3e4F, -INFINITY, 0.5F};
    static uint16_t q[B * M * D], k[B * N * D], v[B * N * D];
    const TeData in[] = {{q, sizeof q}, {k, sizeof k}, {v, sizeof v},
                         {(void *)(uintptr_t)length, sizeof length},
                         {(void *)(uintptr_t)sink, sizeof sink}};
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Rng rng = {3};
    Nvrtc *nvrtc;
    KernelCase c;
    (void)state;
    if (nvrtc_open(a, &d, NULL, NULL, &nvrtc)) skip();
    for (int i = 0; i < B * M * D; i++) q[i] = half(i % D ? 0 : i / D % M == 4 ? 0.01 : 100);
    for (int i = 0; i < B * N * D; i++) {
        int j = i / D % N;
        k[i] = j < length[i / (N * D)] ? half((double)rng_below(&rng, 200) - 100) : 0x7e00;
        v[i] = half(rng_below(&rng, 100) / 100.0);
    }
    for (int whole = 0; whole < 2; whole++) {
        const char *bad = whole ? kernel_open_decided(&c, a, fixture_device(a, "a100"), SINK, NULL,
                                                      JOINED | CHAINS)
                                : open_slices(&c, a, "a100", SINK);
        c.in = in;
        if (!bad) bad = run_some(&c, nvrtc);
        if (bad) fail_msg("%s", kernel_report(&c, "sinks", bad));
    }
    arena_destroy(a);
}

/* ---- bytes ---- */

/* What slices leave is as much as rows have: results, the maximum and the sum.  */
static void the_workspace_is_that_of_the_rows(void **state) {
    enum { ROWS_ALL = 2 * 8, D = 32 };
    Arena *a = arena_create(NULL);
    KernelCase c;
    (void)state;
    const char *bad = open_slices(&c, a, "a100", op[0].text);
    if (bad) fail_msg("%s", bad);
    for (int i = 0; i < c.set[0].n; i++) {
        const RProg *r = &c.set[0].prog[i];
        assert_int_equal(rprog_workspace(&c.plan.problem[0], r), r->split * ROWS_ALL * (D + 2) * 4);
    }
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(slices_are_right),
                                       cmocka_unit_test(slices_bear_hostile_data),
                                       cmocka_unit_test(sinks_bear_hostile_data),
                                       cmocka_unit_test(the_workspace_is_that_of_the_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
