/* links: sim */
/* Chains whose keys and values lie in pages of a table, or behind offsets: drawn programs on the
 * simulator against te_eval.  A half of them, or those whose name has CHAIN_CASE;
 * LONG=1 takes all and draws more of each.  */
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
#include <stdlib.h>
#include <string.h>

enum { B = 3, M = 4, N = 150, D = 32, PAGE = 16, PAGES = 40, ROW = 10 };

/* Read at column j of sequence b: key (or value) X.  */
#define PAGED(x) "(" x "[table[b,j/16],j%16,d] else 0)"
#define BEHIND(x) "(" x "[off[b]+j,d] else 0)"
#define CHAIN(params, type, keys, more, key, value, mask)                                          \
    "param " params ", D = 32; op f(Q: " type "[B,M,D], K: " type "[" keys "], V: " type "[" keys  \
    "]" more ") -> O: " type "[B,M,D] {"                                                           \
    " t[b,i,j] = " mask " ? sum[d](Q[b,i,d] * " key ") * 0.25 : -inf where j in 0:N, b in 0:B;"    \
    " m[b,i] = max[j](t[b,i,j]); z[b,i] = sum[j](exp(t[b,i,j] - m[b,i]));"                         \
    " O[b,i,d] = sum[j](" type "(exp(t[b,i,j] - m[b,i])) * " value ") / z[b,i] where b in 0:B; }"
#define PAGES_OF(params, type, mask)                                                               \
    CHAIN(params, type, "40,16,D", ", table: i32[B,10], len: i32[B]", PAGED("K"), PAGED("V"), mask)

static const struct {
    const char *name, *profile, *text;
} op[] = {
    {"pages", "a100", PAGES_OF("B = 3, M = 4, N = 150", "f16", "j < len[b]")},
    {"whole pages", "h200", PAGES_OF("B = 2, M = 20, N = 160", "bf16", "j < len[b]")},
    {"causal pages", "rtx4090",
     PAGES_OF("B = 2, M = 33, N = 150", "f16", "j < len[b] && j <= i + len[b] - M")},
    {"any batch", "a100", PAGES_OF("B = 1..3, M = 5, N = 150", "f16", "j < len[b]")},
    {"offsets", "a100",
     CHAIN("B = 3, M = 4, N = 150", "f16", "300,D", ", off: i32[4]", BEHIND("K"), BEHIND("V"),
           "j < off[b+1] - off[b]")},
    {"one of both", "a100",
     CHAIN("B = 2, M = 9, N = 96", "bf16", "2,96,D", ", table: i32[2,96]", "K[b,j,d]",
           "(V[b,table[b,j],d] else 0)", "j <= i + 80")},
};
enum { OPS = sizeof op / sizeof *op };

static const char *open_chain(KernelCase *c, Arena *a, const char *profile, const char *text) {
    const char *bad = kernel_open_decided(c, a, fixture_device(a, profile), text, NULL,
                                          JOINED | CHAINS);
    if (bad) return bad;
    return c->plan.n == 1 && c->plan.group[0].chain ? NULL : "it is no chain in one program";
}

static const char *build(KernelCase *c, Nvrtc *nvrtc, uint64_t seed) {
    const char *bad = kernel_pick(c, seed);
    if (!bad) bad = kernel_emit(c);
    return bad ? bad : kernel_compile(c, nvrtc, true);
}

/* At the largest run-time sizes and the smallest.  */
static const char *run_sizes(const KernelCase *c, uint64_t seed) {
    const char *wrong = NULL;
    for (int least = 0; least < 2 && !wrong; least++) {
        int64_t size[TE_MAX_SIZES] = {0};
        const Te *fixed;
        KernelCase x = *c;
        for (int z = 0; z < c->te->n_size; z++) {
            const TeExtent *e = &c->te->size[z].extent;
            if (c->te->size[z].kind == TE_SIZE_RUNTIME) size[z] = least ? e->min : e->value;
        }
        if (te_specialize(c->arena, &x.diag, c->te, size, &fixed)) return "sizes";
        x.te = (Te *)(uintptr_t)fixed;
        x.size = size;
        wrong = kernel_run(&x, TE_FILL_REALS, seed, false);
    }
    return wrong;
}

static const char *try(Arena *a, Nvrtc *nvrtc, int number) {
    const uint64_t count = effort_long() ? 12 : 2;
    KernelCase c;
    bool any = strstr(op[number].name, "any") != NULL;
    const char *bad = open_chain(&c, a, op[number].profile, op[number].text);
    for (uint64_t seed = 0; seed < count && !bad; seed++) {
        bad = build(&c, nvrtc, seed ? seed + (uint64_t)number * count : 0);
        if (!bad) bad = any ? run_sizes(&c, seed + 1) : kernel_prove(&c, seed + 1);
    }
    return bad ? kernel_report(&c, op[number].name, bad) : NULL;
}

static const char *name_of(int i) { return op[i].name; }

static void pages_are_right(void **state) {
    (void)state;
    chain_each(&(ChainCases){OPS, 2, name_of, try});
}

/* ---- stale pages ---- */

static uint16_t half(double x) { return num_f16_encode(x, ROUND_NEAREST_EVEN, false); }

/* Runs the program, whose outputs go to `out`.  */
static const char *run_into(KernelCase *c, TeValue *out) {
    TeValue *got[] = {out};
    c->got = got;
    const char *bad = kernel_run(c, TE_FILL_REALS, 1, false);
    c->got = NULL;
    return bad;
}

/* Pages in any order.  Behind the lengths the table has -1 and numbers of no page; what no sequence
 * has, in pages of nobody and behind the last column of others, is NaN, and once 0: results are the
 * same to the last bit.  Scores reach 10^4.  A page that is needed and lies outside is 0.  */
static void what_no_page_has_is_not_read(void **state) {
    static TeValue stale[B * M * D], clean[B * M * D];
    static const int32_t length[B] = {N, 37, 1};
    static int32_t table[B * ROW];
    static uint16_t q[B * M * D], k[PAGES * PAGE * D], v[PAGES * PAGE * D];
    const TeData in[] = {{q, sizeof q}, {k, sizeof k}, {v, sizeof v}, {table, sizeof table},
                         {(void *)(uintptr_t)length, sizeof length}};
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Rng rng = {5};
    Nvrtc *nvrtc;
    KernelCase c;
    (void)state;
    if (nvrtc_open(a, &d, NULL, NULL, &nvrtc)) skip();
    for (int i = 0; i < PAGES * PAGE * D; i++) k[i] = v[i] = 0x7e00;
    for (int i = 0; i < B * M * D; i++) q[i] = half((double)rng_below(&rng, 121) - 60);
    for (int b = 0; b < B; b++) {
        for (int p = 0; p < ROW; p++) {
            bool needed = p * PAGE < length[b];
            int page = (7 * (p + 1) + 11 * b) % PAGES;
            table[b * ROW + p] = needed ? page : p % 2 ? -1 : INT32_MAX - p;
            for (int j = 0; j < PAGE && needed && p * PAGE + j < length[b]; j++) {
                for (int e = 0; e < D; e++) {
                    k[(page * PAGE + j) * D + e] = half((double)rng_below(&rng, 121) - 60);
                    v[(page * PAGE + j) * D + e] = half(rng_below(&rng, 100) / 100.0);
                }
            }
        }
    }
    table[3] = PAGES;                     /* of columns that are needed */
    const char *bad = open_chain(&c, a, "a100", op[0].text);
    static uint16_t k_clean[PAGES * PAGE * D], v_clean[PAGES * PAGE * D];
    for (int i = 0; i < PAGES * PAGE * D; i++) {
        k_clean[i] = k[i] == 0x7e00 ? 0 : k[i];
        v_clean[i] = v[i] == 0x7e00 ? 0 : v[i];
    }
    const TeData whole[] = {in[0], {k_clean, sizeof k}, {v_clean, sizeof v}, in[3], in[4]};
    for (uint64_t seed = 0; seed < 6 && !bad; seed++) {
        bad = build(&c, nvrtc, seed);
        c.in = whole;
        if (!bad) bad = run_into(&c, clean);
        c.in = in;
        if (!bad) bad = run_into(&c, stale);
        for (int i = 0; i < B * M * D && !bad; i++)
            if (!(stale[i].v == clean[i].v)) bad = "what a mask hides is not left out";
    }
    if (bad) fail_msg("%s", kernel_report(&c, "stale", bad));
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pages_are_right),
                                       cmocka_unit_test(what_no_page_has_is_not_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
