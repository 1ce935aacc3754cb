/* links: sim */
#include "kernel_bench.h"

#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

KernelBench kernel_bench(const char *profile) {
    KernelBench b = {.arena = arena_create(NULL)};
    Diag d = diag_new(b.arena);
    b.dev = fixture_device(b.arena, profile);
    assert_int_equal(nvrtc_open(b.arena, &d, NULL, b.dev->arch, &b.nvrtc), ST_OK);
    return b;
}

void kernel_good(KernelCase *c, const char *what, const char *wrong) {
    if (wrong) fail_msg("%s", kernel_report(c, what, wrong));
}
