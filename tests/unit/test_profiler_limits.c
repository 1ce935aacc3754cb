/* links: profiler */
/* What takes too long costs its row, or what is left of the run: it is named with the reason and
 * stays as it was, and all else is measured.  The device is a simulated one whose kernels take more
 * time in one row than the limit, by a clock that stands still elsewhere.  */
#include "arena_fixture.h"
#include "closed_loop.h"
#include "profiler/profiler.h"
#include "simulated.h"
#include "still_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static Device *gpu;
static const Device *base;
static Cuda *cuda;
static Nvrtc *nvrtc;
static int (*control)(const char *rules);
static const double limit_s = 2;

/* ---- a device that is slow in one row ---- */
typedef struct {
    const char *row;          /* what its text says; NULL: none */
    double by_s;
} Slow;

static bool slow_down(void *user, const WatchStep *p) {
    const Slow *s = user;
    if (!s->row || !strstr(p->what, s->row)) return control("");
    return control(arena_printf(arena, "kernel=%dms", (int)(s->by_s * 1e3)));
}

static void measure(Slow slow, double row_s, double run_s, Device **out) {
    CudaContext *x;
    Watch watch;
    watch_init(&watch, &(WatchCalls){.progress = slow_down, .user = &slow});
    ProfilerOptions o = {.quick = true, .seed = 7, .only = "clock,launch,latency,smem",
                         .date = "2026-01-01", .tool = "test", .watch = &watch,
                         .row_s = row_s, .limit_s = run_s};
    Arena *own = arena_create(NULL);
    must(cuda_context(cuda, own, &diag, 0, &x));
    must(cuda_enter(x, own, &diag));
    must(profiler_run(arena, &diag, &(ProfilerPlace){x, nvrtc, base}, &o, out));
    arena_destroy(own);
    assert_int_equal(control(""), 0);
}

static int setup(void **state) {
    (void)state;
    CudaDeviceInfo info;
    Device *all;
    arena = arena_create(NULL);
    diag = diag_new(arena);
    gpu = loop_device(arena, &diag, LOOP_AMPERE, false);
    loop_open(arena, &diag, &gpu, 1, &cuda);
    must(nvrtc_open(arena, &diag, &(NvrtcOptions){0}, "sm_80", &nvrtc));
    must(cuda_device_info(cuda, &diag, 0, &info));
    must(profiler_base(arena, &diag, &info, "profiles", &base));
    control = simulated_control();
    if (!control) return -1;
    still_clock_start();
    measure((Slow){0}, limit_s / 100, limit_s / 100, &all);       /* which no time passes in */
    return all->n_missed;
}

/* ---- what is there ---- */
static const char *why(const Device *dev, const char *name) {
    for (int i = 0; i < dev->n_missed; i++)
        if (!strcmp(dev->missed[i].name, name)) return dev->missed[i].why;
    return NULL;
}

static bool measured(const Figure *f) { return f->origin == ORIGIN_SIMULATED; }

static bool as_before(const Figure *f, const Figure *before) {
    return f->origin == before->origin && f->value == before->value;
}

/* A profile like any other, which says what it lacks.  */
static void is_whole(const Device *dev) {
    Buf text = buf_new(arena);
    Device *back;
    hal_profile_write(dev, &text);
    must(hal_profile_read(arena, &diag, (DiagText){"written", buf_str(&text), text.len}, &back));
    assert_int_equal(back->n_missed, dev->n_missed);
}

/* The row `latency` was cut: its figures are named, and those before it measured.  */
static void latency_was_cut(const Device *got) {
    static const char *const name[] = {"dram.latency", "l2.latency", "smem.latency"};
    static const LevelId level[] = {LEVEL_DRAM, LEVEL_L2, LEVEL_SMEM};
    for (int i = 0; i < 3; i++) {
        assert_non_null(why(got, name[i]));
        assert_string_equal(why(got, name[i]), "the time for it was over");
        assert_true(as_before(&got->memory[level[i]].latency, &base->memory[level[i]].latency));
    }
    assert_true(measured(&got->limits.clock_sm_sustained));
    assert_true(measured(&got->overheads.launch_stream));
    assert_true(measured(&got->overheads.block_start));
    is_whole(got);
}

static void row_is_cut(void **state) {
    (void)state;
    Device *got;
    measure((Slow){"load-to-use", limit_s + 0.1}, limit_s, 0, &got);
    latency_was_cut(got);
    assert_int_equal(got->n_missed, 3);
    assert_true(measured(&got->memory[LEVEL_SMEM].per_sm_max));
    assert_true(measured(&got->memory[LEVEL_SMEM].banks));
}

/* The shorter of the two limits holds.  */
static void run_is_cut(void **state) {
    (void)state;
    Device *got;
    measure((Slow){"load-to-use", limit_s + 0.1}, 100 * limit_s, limit_s, &got);
    latency_was_cut(got);
    assert_int_equal(got->n_missed, 4);
    assert_string_equal(why(got, "smem"), "the time for it was over");
    assert_true(as_before(&got->memory[LEVEL_SMEM].banks, &base->memory[LEVEL_SMEM].banks));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_is_cut),
        cmocka_unit_test(run_is_cut),
    };
    return cmocka_run_group_tests(tests, setup, tear_down);
}
