/* links: sim */
/* Outputs of matrix units on their way through shared memory: of warps that are no power of two
 * wide neither writes nor reads meet in a bank, as the simulator counts them.  */
#include "kernel_fixture.h"
#include "microperf/microperf.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Of f16 results vectors of eight are two accesses, of f32 ones of four are one.  */
static const struct {
    const char *results;
    int vec, columns;
} staged[] = {
    {"f16", 8, 16}, {"f16", 8, 24}, {"f16", 8, 32}, {"f16", 8, 40}, {"f16", 8, 48}, {"f16", 8, 56},
    {"f16", 8, 64}, {"f16", 8, 80}, {"f16", 8, 96}, {"f16", 8, 112},
    {"f32", 4, 16}, {"f32", 4, 32}, {"f32", 4, 48}, {"f32", 4, 64}, {"f32", 4, 80}, {"f32", 4, 112},
};

/* The candidate with such warps whose other accesses to shared memory are the fewest.  */
static const RProg *find(const KernelCase *c, int columns, int vec) {
    const RProg *best = NULL;
    double least = 0;
    for (int i = 0; i < c->set[0].n; i++) {
        const RProg *r = &c->set[0].prog[i];
        Estimate e;
        if (r->via != VIA_SHARED || r->store_vec != vec || r->swapped || r->split > 1) continue;
        if (r->warp.extent[AX_N] != columns || r->block.extent[AX_K] != r->warp.extent[AX_K])
            continue;
        mp_estimate(&c->plan.problem[0], r, c->dev, &e);
        if (best && e.term[MP_SMEM] >= least) continue;
        least = e.term[MP_SMEM];
        best = r;
    }
    return best;
}

static void no_conflicts(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Nvrtc *nvrtc;
    Diag d = diag_new(a);
    const Device *dev = fixture_device(a, "a100");
    if (nvrtc_open(a, &d, NULL, dev->arch, &nvrtc)) fail_msg("%s", d.messages[0].message);
    for (size_t i = 0; i < sizeof staged / sizeof *staged; i++) {
        int columns = staged[i].columns;
        KernelCase c;
        const char *text = arena_printf(
            a, "op f(A: f16[96,64], B: f16[%d,64]) -> C: %s[96,%d] { C[m,n] += A[m,k] * B[n,k]; }",
            2 * columns, staged[i].results, 2 * columns);
        const char *wrong = kernel_open(&c, a, dev, text, NULL);
        if (!wrong) wrong = kernel_pick(&c, 0);
        const RProg *r = wrong ? NULL : find(&c, columns, staged[i].vec);
        if (!r)
            fail_msg("%s, %d columns: %s", staged[i].results, columns,
                     wrong ? wrong : "no such candidate");
        c.plan.prog[0] = *r;
        wrong = kernel_emit(&c);
        if (!wrong) wrong = kernel_compile(&c, nvrtc, false);
        if (!wrong) wrong = kernel_run(&c, TE_FILL_INTEGERS, 1, true);
        if (wrong) fail_msg("%s, %d columns: %s", staged[i].results, columns, wrong);
        if (c.counted.bank_conflicts)
            fail_msg("%s, %d columns: %llu conflicts", staged[i].results, columns,
                     (unsigned long long)c.counted.bank_conflicts);
    }
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_conflicts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
