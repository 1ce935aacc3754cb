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

/* Of f16 results, with which vectors of eight are two accesses.  */
static const int width[] = {16, 24, 40, 48, 56, 64, 80, 112};

/* The candidate with such warps whose other accesses to shared memory are the fewest.  */
static const RProg *find(const KernelCase *c, int columns) {
    const RProg *best = NULL;
    double least = 0;
    for (int i = 0; i < c->set[0].n; i++) {
        const RProg *r = &c->set[0].prog[i];
        Estimate e;
        if (r->via != VIA_SHARED || r->store_vec != 8 || r->swapped || r->split > 1) continue;
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
    for (size_t i = 0; i < sizeof width / sizeof *width; i++) {
        KernelCase c;
        const char *text = arena_printf(
            a, "op f(A: f16[96,64], B: f16[%d,64]) -> C: f16[96,%d] { C[m,n] += A[m,k] * B[n,k]; }",
            2 * width[i], 2 * width[i]);
        const char *wrong = kernel_open(&c, a, dev, text, NULL);
        if (!wrong) wrong = kernel_pick(&c, 0);
        const RProg *r = wrong ? NULL : find(&c, width[i]);
        if (!r) fail_msg("%d columns: %s", width[i], wrong ? wrong : "no such candidate");
        c.plan.prog[0] = *r;
        wrong = kernel_emit(&c);
        if (!wrong) wrong = kernel_compile(&c, nvrtc, false);
        if (!wrong) wrong = kernel_run(&c, TE_FILL_INTEGERS, 1, true);
        if (wrong) fail_msg("%d columns: %s", width[i], wrong);
        if (c.counted.bank_conflicts)
            fail_msg("%d columns: %llu conflicts", width[i],
                     (unsigned long long)c.counted.bank_conflicts);
    }
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_conflicts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
