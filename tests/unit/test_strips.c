/* links: sim */
/* Rows whose elements lie apart, in strips of neighbouring ones: when they are found, all ways in
 * which their threads meet, on the simulator against te_eval, and what they and other rows read
 * and store.  */
#include "effort.h"
#include "kernel_bench.h"
#include "microperf/microperf.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const ops[] = {
    "param N = 1..3, C = 1..200, H = 1..50; op f(X: f32[N,C,H]) -> (Y: f32[N,C,H], Z: f32[N,H]) {"
    " m[n,h] = max[c](X[n,c,h]); Z[n,h] = sum[c](exp(X[n,c,h] - m[n,h]));"
    " Y[n,c,h] = exp(X[n,c,h] - m[n,h]) / Z[n,h]; }",
    "op f(X: f16[2,150,5,9], g: f32[150]) -> (Y: f16[2,150,5,9], I: i32[2,5,9]) {"
    " u[n,h,w] = sum[c](X[n,c,h,w]) / 150; I[n,h,w] = argmax[c](X[n,c,h,w]);"
    " v[n,h,w] = sum[c]((X[n,c,h,w] - u[n,h,w]) * (X[n,c,h,w] - u[n,h,w])) / 150;"
    " Y[n,c,h,w] = (X[n,c,h,w] - u[n,h,w]) * rsqrt(v[n,h,w] + 0.25) * g[c]; }",
    ("op f(X: f32[4,11,72], W: f32[72]) -> Y: f32[72,4,11] {"
     " s[c] = sum[a,b](abs(X[a,b,c]) * W[c]); Y[c,a,b] = X[a,b,c] / (1 + s[c]); }")};
enum { OPS = sizeof ops / sizeof *ops };

/* Threads of a row in several rounds of parts, or in one; as many rows as fill warps; a thread of a
 * row.  */
enum { ROUNDS, TAKEN, WIDE, ALONE, FORMS };

static bool has_form(const Problem *p, const RProg *r, int form, RowKeep keep) {
    int rows = r->block.extent[AX_M], parts = rprog_row_parts(p, r);
    if (r->keep != keep) return false;
    switch (form) {
    case ROUNDS: return rows < 32 && rprog_row_takers(p, r) < parts;
    case TAKEN: return rows < 32 && parts > 1 && rprog_row_takers(p, r) == parts;
    case WIDE: return rows >= 32 && parts > 1;
    default: return parts == 1;
    }
}

/* One of the programs of a form, by chance; false: there is none.  */
static bool pick(KernelCase *c, int form, RowKeep keep) {
    const Problem *p = &c->plan.problem[0];
    int n = 0, at = 0;
    for (int i = 0; i < c->set[0].n; i++) n += has_form(p, &c->set[0].prog[i], form, keep);
    if (n == 0) return false;
    for (int i = 0, left = (int)(effort_seed() % (unsigned)n) + 1; left > 0; i++) {
        left -= has_form(p, &c->set[0].prog[i], form, keep);
        at = i;
    }
    c->plan.prog[0] = c->set[0].prog[at];
    return true;
}

static const char *run_sizes(KernelCase *c, uint64_t seed) {
    static const int64_t size[][3] = {{3, 200, 50}, {2, 33, 31}, {1, 1, 1}};
    const Te *te = c->te, *fixed;
    const char *wrong = NULL;
    if (!te->runtime) return kernel_prove(c, seed);
    for (size_t i = 0; i < sizeof size / sizeof *size && !wrong; i++) {
        if (te_specialize(c->arena, &c->diag, te, size[i], &fixed)) return "sizes";
        c->te = (Te *)(uintptr_t)fixed;
        c->size = size[i];
        wrong = kernel_prove(c, seed);
    }
    return wrong;
}

static void test_values(void **state) {
    static const RowKeep keeps[] = {KEEP_REGISTERS, KEEP_MEMORY, KEEP_ONLINE};
    enum { KEEPS = 3, SHARE = 6 };
    int found = 0;
    (void)state;
    KernelBench b = kernel_bench("h200");
    for (int i = 0; i < OPS * FORMS * KEEPS; i++) {
        ArenaMark mark = arena_mark(b.arena);
        KernelCase c;
        const char *text = ops[i / FORMS / KEEPS];
        if (!effort_drawn(i, SHARE)) continue;
        kernel_good(&c, text, kernel_open_decided(&c, b.arena, b.dev, text, NULL, STRIPS));
        assert_int_equal(c.plan.n, 1);
        assert_true(c.plan.problem[0].row && c.plan.problem[0].row->group->strips);
        assert_true(c.plan.problem[0].row->source[0].kept);
        if (!pick(&c, i / KEEPS % FORMS, keeps[i % KEEPS])) continue;
        kernel_good(&c, text, rprog_check(&c.plan.problem[0], c.dev, &c.plan.prog[0]));
        kernel_good(&c, text, kernel_examine(&c));
        kernel_good(&c, text, kernel_emit(&c));
        kernel_good(&c, text, kernel_compile(&c, b.nvrtc, false));
        kernel_good(&c, text, run_sizes(&c, effort_seed()));
        found++;
        arena_reset(b.arena, mark);
    }
    assert_true(found >= 3);
    arena_destroy(b.arena);
}

/* What a program reads, and what its maps store, is what the model counts, also where columns of a
 * source or an output lie otherwise than those of X.  */
static void test_traffic(void **state) {
    static const struct {
        const char *text;
        unsigned decision;
    } table[] = {
        {"op f(X: f32[2,96,64]) -> Y: f32[2,96,64] { m[n,c] = max[l](X[n,l,c]);"
         " Y[n,l,c] = exp(X[n,l,c] - m[n,c]); }", STRIPS},
        {"op f(X: f32[2,96,64]) -> Y: f32[2,64,96] { m[n,c] = max[l](X[n,l,c]);"
         " Y[n,c,l] = exp(X[n,l,c] - m[n,c]); }", STRIPS},
        {"op f(X: f32[2,96,64], Q: f32[2,64,96]) -> Y: f32[2,96,64] { m[n,c] = max[l](X[n,l,c]);"
         " Y[n,l,c] = exp(X[n,l,c] - m[n,c]) * Q[n,c,l]; }", STRIPS},
        {"op f(X: f32[2,96,64]) -> Y: f32[64,2,96] { m[n,l] = max[c](X[n,l,c]);"
         " Y[c,n,l] = X[n,l,c] - m[n,l]; }", USUAL},
        {"op f(X: f32[2,96,64], Q: f32[64,2,96]) -> S: f32[2,96] {"
         " S[n,l] = max[c](X[n,l,c] * Q[c,n,l]); }", USUAL}};
    (void)state;
    KernelBench b = kernel_bench("h200");
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        KernelCase c;
        const char *text = table[k].text;
        int i = 0;
        kernel_good(&c, text,
                    kernel_open_decided(&c, b.arena, b.dev, text, NULL, table[k].decision));
        for (const RProg *r; i < c.set[0].n; i++) {
            r = &c.set[0].prog[i];
            int lanes = table[k].decision ? r->block.extent[AX_M] : rprog_row_threads(r);
            if (r->keep == KEEP_REGISTERS && lanes == 16) break;
        }
        assert_true(i < c.set[0].n);
        c.plan.prog[0] = c.set[0].prog[i];
        kernel_good(&c, text, kernel_emit(&c));
        kernel_good(&c, text, kernel_compile(&c, b.nvrtc, false));
        kernel_good(&c, text, kernel_run(&c, TE_FILL_REALS, 1, false));
        Estimate e;
        mp_estimate(&c.plan.problem[0], &c.plan.prog[0], b.dev, &e);
        assert_int_equal(c.counted.global_load_sectors, e.load_sectors);
        if (e.store_sectors > 0) assert_int_equal(c.counted.global_store_sectors, e.store_sectors);
    }
    arena_destroy(b.arena);
}

/* Where nothing reads the columns again, or neighbouring rows lie apart, there are none.  */
static void test_found(void **state) {
    static const struct {
        const char *text;
        bool strips;
    } table[] = {
        {"op f(X: f32[9,64]) -> Y: f32[9,64] { s[c] += X[a,c]; Y[a,c] = X[a,c] / s[c]; }", true},
        {"op f(X: f32[9,64]) -> Y: f32[64] { s[c] += X[a,c]; Y[c] = 1 / s[c]; }", false},
        {"op f(X: f32[9,64]) -> Y: f32[9,32] { s[c] += X[a,2*c];"
         " Y[a,c] = X[a,2*c] / s[c] where c in 32; }", false},
        {"op f(X: f32[9,4,64]) -> Y: f32[9,4,64] { s[b] += X[a,b,c]; Y[a,b,c] = X[a,b,c] / s[b]; }",
         false},
        {"param C = 1..64; op f(X: f32[9,C]) -> Y: f32[9,C] { s[c] += X[a,c];"
         " Y[a,c] = X[a,c] / s[c]; }", true}};
    (void)state;
    KernelBench b = kernel_bench("h200");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        KernelCase c;
        const char *text = table[i].text;
        kernel_good(&c, text, kernel_open_decided(&c, b.arena, b.dev, text, NULL, STRIPS));
        const Problem *p = &c.plan.problem[0];
        assert_int_equal(c.plan.n == 1 && p->row && p->row->group->strips, table[i].strips);
    }
    arena_destroy(b.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_found), cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_traffic)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
