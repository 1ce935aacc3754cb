/* links: profiler */
/* The profiler as a whole, and its rows of memory levels and launches in a closed loop: on each of
 * three simulated GPUs they find again what the simulator was told (closed_loop.h), within 5 %.
 * A run that is cancelled leaves no profile; a figure that noise, a fault or a call of the driver
 * that fails makes impossible stays as it was, and is named.  */
#include "arena_fixture.h"
#include "closed_loop.h"
#include "effort.h"
#include "profiler/profiler.h"
#include "simulated.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { GPUS = LOOP_HOPPER };               /* the three of them that differ most */

static Device *odd[GPUS];
static const Device *base[GPUS];
static Cuda *cuda;
static Nvrtc *nvrtc;
static int (*control)(const char *rules);
static bool slow;

static int setup(void **state) {
    (void)state;
    slow = effort_long();
    arena = arena_create(NULL);
    diag = diag_new(arena);
    for (int i = 0; i < GPUS; i++) odd[i] = loop_device(arena, &diag, i, false);
    loop_open(arena, &diag, odd, GPUS, &cuda);
    must(nvrtc_open(arena, &diag, &(NvrtcOptions){0}, "sm_90a", &nvrtc));
    control = simulated_control();
    return control ? 0 : -1;
}

static int fresh(void **state) {
    (void)state;
    control("");
    diag = diag_new(arena);
    return 0;
}

/* ---- measuring ---- */
typedef struct {
    const char *rows;
    bool quick;
    WatchCalls watch;
    double limit_s;
    int skip;                 /* attempts that another process has made */
} How;

static Status measure_from(int i, const How *how, const Device *from, Device **out) {
    CudaContext *x;
    Watch watch;
    watch_init(&watch, &how->watch);
    ProfilerOptions o = {.quick = how->quick, .seed = 7, .only = how->rows, .date = "2026-01-01",
                         .tool = "test", .watch = &watch, .limit_s = how->limit_s,
                         .skip = how->skip};
    Arena *own = arena_create(NULL);      /* the context goes, so that a fault in it does */
    Status s = cuda_context(cuda, own, &diag, i, &x);
    if (!s) s = cuda_enter(x, own, &diag);
    if (!s) s = profiler_run(arena, &diag, &(ProfilerPlace){x, nvrtc, from}, &o, out);
    arena_destroy(own);
    return s;
}

static Status measure(int i, const How *how, Device **out) {
    CudaDeviceInfo info;
    *out = NULL;
    Status s = cuda_device_info(cuda, &diag, i, &info);
    if (!s) s = profiler_base(arena, &diag, &info, "profiles", &base[i]);
    return s ? s : measure_from(i, how, base[i], out);
}

static void constants(void **state) {
    int i = *(int *)*state;
    Device *got;
    if (!effort_drawn(i, GPUS)) skip();
    must(measure(i, &(How){.rows = LOOP_MEMORY_ROWS, .quick = !slow}, &got));
    assert_string_equal(got->mode, slow ? "full" : "quick");
    assert_string_equal(got->date, "2026-01-01");
    assert_string_equal(got->gpu, arena_printf(arena, "%s (simulated)", loop_gpu[i].gpu));
    assert_true(got->simulated && !got->measured);
    assert_string_equal(hal_profile_origin(got), "simulated");
    assert_int_equal(loop_compare(arena, got, odd[i], LOOP_MEMORY_ROWS), 0);
}

/* There is no row without a loop; after all GPUs each figure of these rows was compared.  */
static void nothing_is_left_out(void **state) {
    (void)state;
    static const char *const row[] = {
#define X(name, ...) #name,
        PROFILER_BENCHES(X)
#undef X
    };
    if (slow) assert_int_equal(loop_left_out(LOOP_MEMORY_ROWS), 0);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *name = arena_printf(arena, ",%s,", row[i]);
        if (!strstr("," LOOP_MEMORY_ROWS "," LOOP_UNIT_ROWS ",", name))
            fail_msg("%s is in no loop", row[i]);
    }
}

/* ---- some rows, from what was measured before ---- */
/* All else stays with the day on which it was measured, a clock that boosted above what the driver
 * states as well.  */
static void goes_on(void **state) {
    (void)state;
    Device *old, *got;
    must(measure(1, &(How){.rows = "clock,launch", .quick = true}, &old));
    DeviceLimits *l = &old->limits;
    const Figure *launch = &old->overheads.launch_stream;
    l->clock_sm_sustained.value = 1.1 * l->clock_sm.value;
    l->clock_sm = l->clock_sm_sustained;
    old->date = "2025-12-31";
    must(measure_from(1, &(How){.rows = "latency", .quick = true}, old, &got));
    const Figure *kept = &got->limits.clock_sm_sustained, *new = &got->memory[LEVEL_L2].latency;
    assert_true(kept->value == l->clock_sm_sustained.value && kept->origin == ORIGIN_SIMULATED);
    assert_true(got->limits.clock_sm.value == kept->value);
    assert_string_equal(kept->date, "2025-12-31");
    assert_true(got->overheads.launch_stream.value == launch->value);
    assert_string_equal(got->overheads.launch_stream.date, "2025-12-31");
    assert_true(new->origin == ORIGIN_SIMULATED && !new->date);
}

/* What counts is rounded, but tells how far it was from a whole number: here by the loop around the
 * instructions.  */
static void whole_number(void **state) {
    (void)state;
    Device *got;
    must(measure(1, &(How){.rows = "clock,issue", .quick = true}, &got));
    const Figure *f = &got->limits.issue_per_clk;
    assert_true(f->value == loop_gpu[1].issue && f->spread > 0.001 && f->spread < 0.05);
}

/* ---- what is not measured ---- */
/* The reason why a figure (or anything: NULL) is not measured, that has `text` in it; or NULL.  */
static const char *missed(const Device *dev, const char *figure, const char *text) {
    for (int i = 0; i < dev->n_missed; i++) {
        const Missed *m = &dev->missed[i];
        if ((!figure || !strcmp(m->name, figure)) && strstr(m->why, text)) return m->why;
    }
    return NULL;
}

/* ---- noise ---- */
static double row_bytes(void) { return loop_gpu[1].width * loop_gpu[1].banks; }

/* The injected noise is random: the best of a few short series is calm by chance once in a while,
 * but not time after time.  */
static void noise(void **state) {
    (void)state;
    enum { TIMES = 6 };
    Device *got;
    How how = {.rows = "clock,smem", .quick = true};
    const Figure *rate = NULL;
    control("noise=90");
    for (int n = 0; n < TIMES && !(rate && rate->noisy); n++) {
        must(measure(1, &how, &got));
        rate = &got->memory[LEVEL_SMEM].per_sm_max;
        assert_true(rate->noisy == (rate->spread > 0.05));
    }
    assert_true(rate->noisy && rate->samples >= 5);
    control("noise@1-12=90");             /* a disturbance that ends */
    must(measure(1, &how, &got));
    rate = &got->memory[LEVEL_SMEM].per_sm_max;
    assert_true(!rate->noisy && rate->samples >= 2);
    assert_true(fabs(rate->value / row_bytes() - 1) <= 0.05);
}

/* Figures per clock go by the clock under load, also where its row is not asked for.  */
static void without_the_row_clock(void **state) {
    (void)state;
    Device *got;
    must(measure(1, &(How){.rows = "smem", .quick = true}, &got));
    assert_true(fabs(got->memory[LEVEL_SMEM].per_sm_max.value / row_bytes() - 1) <= 0.05);
    assert_true(got->limits.clock_sm_sustained.origin != ORIGIN_SIMULATED);
    /* Nor where another process has lost its device there.  */
    must(measure(1, &(How){.rows = "clock,smem", .quick = true, .skip = 1}, &got));
    assert_true(fabs(got->memory[LEVEL_SMEM].per_sm_max.value / row_bytes() - 1) <= 0.05);
}

/* Where it cannot be told, it is told by which clock they go: what the driver states.  */
static void without_a_clock(void **state) {
    (void)state;
    Device *got;
    const char *why = arena_printf(arena, "figures per clock go by %.0f MHz", loop_gpu[1].mhz);
    control("cuMemcpyDtoH@1=CUDA_ERROR_UNKNOWN");
    must(measure(1, &(How){.rows = "clock,smem", .quick = true}, &got));
    assert_non_null(missed(got, "clock_sm_sustained", why));
    control("cuMemcpyDtoH@1=CUDA_ERROR_UNKNOWN");
    must(measure(1, &(How){.rows = "smem", .quick = true}, &got));
    assert_non_null(missed(got, "clock_sm_sustained", why));
}

/* A driver that does not state the clock: it is measured all the same.  */
static void unstated_clock(void **state) {
    (void)state;
    Device *got;
    int first = CUDA_ATTR_CLOCK_KHZ + 1, second = CUDA_ATTR_COUNT + first;
    control(arena_printf(arena, "cuDeviceGetAttribute@%d=1;cuDeviceGetAttribute@%d=1", first,
                         second));
    must(measure(1, &(How){.rows = "clock,smem", .quick = true}, &got));
    assert_true(fabs(got->limits.clock_sm_sustained.value / loop_gpu[1].sustained - 1) <= 0.05);
    assert_true(got->limits.clock_sm.origin != ORIGIN_DRIVER);
    assert_true(fabs(got->memory[LEVEL_SMEM].per_sm_max.value / row_bytes() - 1) <= 0.05);
}

/* ---- what can go wrong ---- */
/* Of each row, and of each figure of it, which is named.  */
typedef struct {
    int done, figures;
    double left_s;
} Seen;

static bool end_at_second(void *user, const WatchStep *p) {
    Seen *seen = user;
    bool figure = strstr(p->what, "clock_sm_sustained") != NULL;
    assert_true(p->done == 0 || p->done == 1);
    assert_true(p->done >= seen->done && p->total == 3 && p->left_s >= 0);
    if (p->done == seen->done && seen->left_s > 0) assert_true(p->left_s <= seen->left_s);
    *seen = (Seen){p->done, seen->figures + figure, p->left_s};
    return p->done == 1;
}

static void cancelled(void **state) {
    (void)state;
    Device *got;
    Seen seen = {0};
    atomic_bool stop = true;
    How how = {.rows = "clock,launch,latency",
               .watch = {.progress = end_at_second, .user = &seen}};
    assert_int_equal(measure(0, &how, &got), ST_CANCELLED);
    assert_null(got);
    assert_true(seen.done == 1 && seen.figures == 1);
    how = (How){.rows = "launch", .watch = {.stop = &stop}};
    diag = diag_new(arena);
    assert_int_equal(measure(0, &how, &got), ST_CANCELLED);
    assert_null(got);
}

static void unknown_row(void **state) {
    (void)state;
    Device *got;
    assert_int_equal(measure(0, &(How){.rows = "clock,dran"}, &got), ST_USAGE);
    assert_string_equal(said(), "there is no measurement 'dran'");
}

/* What is named is as it was, and what is measured is not named.  */
static void named_or_measured(const Device *got, const Device *before) {
    const HalFigure *row, *old;
    int n = hal_figures(arena, got, true, &row), found = 0;
    assert_int_equal(hal_figures(arena, before, true, &old), n);
    for (int i = 0; i < n; i++) {
        const Figure *f = row[i].figure;
        if (!f) continue;
        bool named = missed(got, row[i].name, "") != NULL;
        found += named;
        if (!named) continue;
        assert_true(f->origin != ORIGIN_SIMULATED);
        assert_true(f->value == old[i].figure->value && f->origin == old[i].figure->origin);
    }
    assert_true(found > 0);
}

/* Every call of the driver between the context and the end, each failing always: either nothing can
 * be measured, which is an error, or what needs the call is named.  */
static void failing_calls(void **state) {
    (void)state;
    static const char *const call[] = {
        "cuStreamCreate", "cuEventCreate", "cuMemAlloc", "cuMemGetInfo", "cuMemsetD8Async",
        "cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelGetFunction", "cuFuncGetAttribute",
        "cuLaunchKernel", "cuStreamSynchronize", "cuMemcpyDtoH", "cuEventRecord",
        "cuEventSynchronize", "cuEventElapsedTime", "cuStreamBeginCapture", "cuStreamEndCapture",
        "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuMemcpyHtoD",
        "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    };
    How how = {.rows = "clock,launch,latency", .quick = true};
    int partly = 0;
    for (size_t i = 0; i < sizeof call / sizeof *call; i++) {
        Device *got;
        diag = diag_new(arena);
        control(arena_printf(arena, "%s=CUDA_ERROR_UNKNOWN", call[i]));
        Status s = measure(0, &how, &got);
        control("");
        bool told = s == ST_CUDA ? !got && strstr(said(), call[i])
                                 : s == ST_OK && missed(got, NULL, call[i]);
        if (!told) fail_msg("%s fails: %s, \"%s\"", call[i], status_name(s), said());
        partly += s == ST_OK;
    }
    assert_true(partly >= 6);
    assert_int_equal(status_exit(ST_CUDA), 3);
}

static void faulting_kernel(void **state) {
    (void)state;
    Device *got;
    How how = {.rows = "clock,launch,latency", .quick = true};
    control("kernel@4=CUDA_ERROR_ILLEGAL_ADDRESS");
    must(measure(0, &how, &got));
    assert_int_equal(diag.errors, 0);
    assert_non_null(missed(got, "launch_stream", "ILLEGAL_ADDRESS"));
    assert_non_null(missed(got, "block_start", "lost with launch_stream"));
    assert_non_null(missed(got, "latency", "lost with launch_stream"));
    assert_true(got->limits.clock_sm_sustained.origin == ORIGIN_SIMULATED);
    named_or_measured(got, base[0]);
    control("");
    must(measure(0, &how, &got));         /* in a new context */
    assert_int_equal(got->n_missed, 0);
}

/* A kernel that cannot be loaded costs its figure.  */
static void one_figure_fails(void **state) {
    (void)state;
    Device *got;
    How how = {.rows = "clock,movers,atomics", .quick = true};
    control("cuLibraryLoadData@5=CUDA_ERROR_NO_BINARY_FOR_GPU");
    must(measure(0, &how, &got));
    control("");
    assert_int_equal(got->n_missed, 1);
    assert_non_null(missed(got, NULL, "NO_BINARY_FOR_GPU"));
    named_or_measured(got, base[0]);
}

static void no_time(void **state) {
    (void)state;
    Device *got;
    How how = {.rows = "clock,launch", .limit_s = 1e-9};
    assert_int_equal(measure(0, &how, &got), ST_CUDA);
    assert_string_equal(said(), "the time for it was over");
    assert_null(got);
}

static void too_little_memory(void **state) {
    (void)state;
    Device *got;
    control("memory=65536");
    assert_int_equal(measure(0, &(How){.rows = "dram", .quick = true}, &got), ST_CUDA);
    assert_null(got);
    assert_non_null(strstr(said(), "memory"));
    /* What is left beside others is enough where it is larger than L2.  */
    control("memory=8000000");
    must(measure(0, &(How){.rows = "clock,dram", .quick = true}, &got));
    assert_null(missed(got, "dram", ""));
    assert_true(fabs(got->memory[LEVEL_DRAM].read.value / loop_gpu[0].read - 1) <= 0.05);
}

int main(void) {
    static int gpu[] = {0, 1, 2};
    const struct CMUnitTest tests[] = {
        {"an sm_80 of 5 SMs", constants, fresh, NULL, &gpu[0]},
        {"an sm_90a of 7 SMs, 48-byte ports, 16 banks", constants, fresh, NULL, &gpu[1]},
        {"an sm_89 of 4 SMs", constants, fresh, NULL, &gpu[2]},
        cmocka_unit_test_setup(nothing_is_left_out, fresh),
        cmocka_unit_test_setup(goes_on, fresh),
        cmocka_unit_test_setup(whole_number, fresh),
        cmocka_unit_test_setup(noise, fresh),
        cmocka_unit_test_setup(without_the_row_clock, fresh),
        cmocka_unit_test_setup(without_a_clock, fresh),
        cmocka_unit_test_setup(unstated_clock, fresh),
        cmocka_unit_test_setup(cancelled, fresh),
        cmocka_unit_test_setup(unknown_row, fresh),
        cmocka_unit_test_setup(failing_calls, fresh),
        cmocka_unit_test_setup(faulting_kernel, fresh),
        cmocka_unit_test_setup(one_figure_fails, fresh),
        cmocka_unit_test_setup(no_time, fresh),
        cmocka_unit_test_setup(too_little_memory, fresh),
    };
    return cmocka_run_group_tests(tests, setup, tear_down);
}
