/* links: sim */
/* Tables of positions: a launch takes the shared memory that its plan says, tables cost no block of
 * an SM but where they keep many places out of registers, and a chunk that a tile does not have
 * asks no table.  */
#include "base/hash.h"
#include "effort.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"
#include "rprogram/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool has_tables(const RProg *r) { return r->load[0].table || r->load[1].table; }

/* ---- bytes ---- */

static void same_bytes(KernelCase *c, const RProg *r) {
    RProg without = *r;
    without.load[0].table = without.load[1].table = false;
    rprog_derive(&c->plan.problem[0], c->dev, &without);
    bool needed = false;      /* places of many chunks are worth a block: they would spill */
    for (int side = 0; side < 2; side++)
        needed |= r->load[side].table && rprog_keeps_places(&c->plan.problem[0], c->dev, r, side);
    if (without.smem >= r->smem || (!needed && without.blocks_per_sm != r->blocks_per_sm))
        fail_msg("%s: %d bytes for %d blocks without tables, %d for %d with them", c->dev->name,
                 without.smem, without.blocks_per_sm, r->smem, r->blocks_per_sm);
    c->plan.prog[0] = *r;
    const char *wrong = kernel_emit(c);
    if (wrong) fail_msg("%s", kernel_report(c, "tables", wrong));
    if (c->program.kernel[0].dynamic_smem != r->smem)
        fail_msg("%s: the plan has %d bytes, the launch %lld", c->dev->name, r->smem,
                 (long long)c->program.kernel[0].dynamic_smem);
}

static void test_bytes_of_the_plan(void **state) {
    static const char *const text[] = {
        "op f(X: f16[32,28,28,174], K: f16[128,3,3,174]) -> Y: f16[32,28,28,128] {"
        " Y[n,p,q,f] = sum[r,s,c]((X[n,p+r-1,q+s-1,c] else 0) * K[f,r,s,c]); }",
        "op f(X: f32[16,16,8,8], K: f32[16,16,3,3]) -> Y: f32[16,16,8,8] {"
        " Y[n,f,p,q] = sum[c,r,s]((X[n,c,p+r-1,q+s-1] else 0) * K[f,c,r,s]); }"};
    static const char *const profile[] = {"h200", "a100"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        enum { STEP = 61 };
        Arena *a = arena_create(NULL);
        KernelCase c;
        const Device *dev = fixture_device(a, profile[i % 2]);
        const char *wrong = kernel_open(&c, a, dev, text[i / 2], NULL);
        if (wrong) fail_msg("%s", wrong);
        int found = 0;
        for (int k = 0; k < c.set[0].n; k++) {
            const RProg *r = &c.set[0].prog[k];
            if (has_tables(r) && (found++ % STEP == 0 || effort_long())) same_bytes(&c, r);
        }
        assert_true(found > STEP);
        arena_destroy(a);
    }
}

/* ---- entries ---- */

/* Some program that keeps tables for a staged load whose last turn not every thread has a chunk in;
 * NULL: there is none.  */
static const RProg *partly_loaded(const KernelCase *c, uint64_t seed) {
    Rng rng = {seed};
    const RProg *picked = NULL;
    uint32_t met = 0;
    for (int i = 0; i < c->set[0].n; i++) {
        const RProg *r = &c->set[0].prog[i];
        for (int side = 0; side < 2; side++) {
            const RLoad *l = &r->load[side];
            int64_t chunks = (int64_t)r->block.extent[side ? AX_N : AX_M] * r->block.extent[AX_K] /
                             (l->vec ? l->vec : 1);
            bool some = l->table && l->kind == LOAD_STAGED && chunks % r->threads;
            if (some && rng_below(&rng, ++met) == 0) picked = r;
        }
    }
    return picked;
}

static void test_chunks_that_are_not(void **state) {
    static const char *const profile[] = {"b200", "rtx5090"};
    static const int shape[][2] = {{3, 3}, {1, 5}, {2, 3}, {3, 5}, {1, 3}, {2, 5}};
    int shapes = effort_long() ? 6 : 3, found = 0;
    (void)state;
    for (int i = 0; i < 2 * shapes; i++) {
        Arena *a = arena_create(NULL);
        Diag d = diag_new(a);
        Nvrtc *nvrtc;
        KernelCase c;
        int channels = shape[i / 2][0], window = shape[i / 2][1];
        const Device *dev = fixture_device(a, profile[i % 2]);
        const char *text = arena_printf(
            a, "op f(X: u8[2,%d,16,16], K: u8[8,%d,%d,%d]) -> Y: i32[2,8,16,16] {"
            " Y[n,f,p,q] = sum[c,r,t]((X[n,c,p+r-1,q+t-1] else 0) * K[f,c,r,t]); }",
            channels, channels, window, window);
        assert_int_equal(nvrtc_open(a, &d, NULL, dev->arch, &nvrtc), ST_OK);
        const char *wrong = kernel_open(&c, a, dev, text, NULL);
        if (wrong) fail_msg("%s", wrong);
        for (uint64_t seed = 1; seed <= (effort_long() ? 6 : 1); seed++) {
            const RProg *r = partly_loaded(&c, seed);
            if (!r) break;
            found++;
            c.plan.prog[0] = *r;
            wrong = kernel_emit(&c);
            if (!wrong) wrong = kernel_compile(&c, nvrtc, false);
            if (!wrong) wrong = kernel_run(&c, TE_FILL_INTEGERS, seed, true);
            if (wrong) fail_msg("%s", kernel_report(&c, dev->name, wrong));
        }
        arena_destroy(a);
    }
    assert_true(found >= shapes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bytes_of_the_plan),
                                       cmocka_unit_test(test_chunks_that_are_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
