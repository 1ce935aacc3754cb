/* links: profiler */
/* The rows of units, movers, barriers, atomics and clusters in a closed loop: on each simulated GPU
 * they find again what the simulator was told (closed_loop.h), within 5 %.  Every unit and every
 * mover that a GPU has, in a full measurement; of one GPU, or, where LONG says so, of all.  */
#include "arena_fixture.h"
#include "closed_loop.h"
#include "effort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static Device *odd[LOOP_GPUS];
static Cuda *cuda;

static int setup(void **state) {
    (void)state;
    arena = arena_create(NULL);
    diag = diag_new(arena);
    for (int i = 0; i < LOOP_GPUS; i++) odd[i] = loop_device(arena, &diag, i, true);
    loop_open(arena, &diag, odd, LOOP_GPUS, &cuda);
    return 0;
}

static void constants(void **state) {
    int i = *(int *)*state;
    if (!effort_drawn(i, LOOP_GPUS)) skip();
    print_message("# SEED=%d build/tests/test_profiler_units\n", i);
    CudaDeviceInfo info;
    CudaContext *x;
    Nvrtc *n;
    Device *got;
    ProfilerOptions o = {.seed = 7, .only = LOOP_UNIT_ROWS, .date = "2026-01-01", .tool = "test"};
    must(cuda_device_info(cuda, &diag, i, &info));
    must(nvrtc_open(arena, &diag, &(NvrtcOptions){0}, info.arch, &n));
    must(cuda_context(cuda, arena, &diag, i, &x));
    must(cuda_enter(x, arena, &diag));
    must(profiler_run(arena, &diag, &(ProfilerPlace){x, n, loop_base(arena, &diag, odd[i])}, &o,
                      &got));
    assert_int_equal(loop_compare(arena, got, odd[i], LOOP_UNIT_ROWS), 0);
}

static void nothing_is_left_out(void **state) {
    (void)state;
    if (!effort_long()) skip();
    assert_int_equal(loop_left_out(LOOP_UNIT_ROWS), 0);
}

int main(void) {
    static int gpu[] = {LOOP_AMPERE, LOOP_ODD, LOOP_ADA, LOOP_HOPPER, LOOP_BLACKWELL};
    const struct CMUnitTest tests[] = {
        {"an sm_80 of 5 SMs", constants, NULL, NULL, &gpu[0]},
        {"an sm_90a of 7 SMs, 48-byte ports, 16 banks", constants, NULL, NULL, &gpu[1]},
        {"an sm_89 of 4 SMs", constants, NULL, NULL, &gpu[2]},
        {"an sm_90a of 4 SMs", constants, NULL, NULL, &gpu[3]},
        {"an sm_100a of 4 SMs", constants, NULL, NULL, &gpu[4]},
        cmocka_unit_test(nothing_is_left_out),
    };
    return cmocka_run_group_tests(tests, setup, tear_down);
}
