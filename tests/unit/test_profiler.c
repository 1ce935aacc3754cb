/* links: profiler */
/* The profiler as a whole, and its rows of memory levels and launches: on simulated GPUs whose
 * constants no shipped profile has, each row finds again what the simulator was told, within 5 %.
 * A run that is cancelled, and every call of the driver that fails, leave no profile.
 *
 * What the simulator models of these rows (docs/simulator.md, "What can be measured") and is not
 * compared here: `line` and `bank_width`, which nothing measures.  */
#include "base/file.h"
#include "profiler/profiler.h"

#include <dlfcn.h>
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

/* The constants, by base profile; the second is the one with 7 SMs, a port of 48 bytes and 16
 * banks.  */
static const struct {
    const char *base, *gpu;
    double sms, mhz, sustained;
    double read, write, copy, dram_latency;
    double l2, effective, l2_read, l2_write, port, l2_latency;
    double banks, smem_latency;
    double stream, graph, floor, start;
} told[] = {
    {"a100", "NVIDIA A5-1GB", 5, 1400, 1250, 2.4e10, 2.1e10, 2.0e10, 370, 131072, 114688, 1.7e11,
     9e10, 40, 210, 32, 23, 2600, 1450, 1900, 610},
    {"h200", "NVIDIA Odd 7", 7, 1100, 1000, 3e10, 2.6e10, 2.5e10, 320, 262144, 196608, 2.4e11,
     1.2e11, 48, 230, 16, 26, 3100, 1700, 2100, 430},
    {"rtx4090", "NVIDIA GeForce RTX 4", 4, 2100, 1900, 1.8e10, 1.7e10, 1.55e10, 520, 131072, 98304,
     2.2e11, 1e11, 56, 290, 32, 31, 4200, 2300, 3300, 520},
};
enum { GPUS = sizeof told / sizeof *told };
static const double tolerance = 0.05;
static const char memory_rows[] = "clock,launch,latency,dram,granularity,l2,smem";

static Arena *arena;
static Diag diag;
static Device *odd[GPUS];
static const Device *base[GPUS];
static Cuda *cuda;
static Nvrtc *nvrtc;
static int (*control)(const char *rules);
static bool slow;

static const char *said(void) {
    const DiagMessage *m = diag_first_error(&diag);
    return m ? m->message : "";
}

static void must(Status s) {
    if (s) fail_msg("%d: %s", s, said());
}

/* ---- the GPUs ---- */
static void set(Figure *f, double v) {
    f->value = v;
    f->origin = ORIGIN_DERIVED;
    f->ref = "made up";
}

static Curve *level_curve(MemoryLevel *m, const char *of, const char *x) {
    for (int i = 0; i < m->n_curve; i++)
        if (!strcmp(m->curve[i].of, of) && !strcmp(m->curve[i].x, x)) return &m->curve[i];
    fail_msg("no curve of %s over %s", of, x);
    return NULL;
}

typedef struct {
    double x, y;
} Point;

static void points(Curve *c, const Point *p, int n) {
    c->n = n;
    c->origin = ORIGIN_DERIVED;
    c->ref = "made up";
    c->px = ARENA_ARRAY(arena, double, n);
    c->py = ARENA_ARRAY(arena, double, n);
    for (int i = 0; i < n; i++) {
        c->px[i] = p[i].x;
        c->py[i] = p[i].y;
    }
}
#define POINTS(c, ...) \
    points(c, (const Point[]){__VA_ARGS__}, (int)(sizeof(Point[]){__VA_ARGS__} / sizeof(Point)))

/* Rates below what latency, ports and the level beyond allow.  */
static void dram(int i, MemoryLevel *m) {
    double hz = told[i].sustained * 1e6, sms = told[i].sms, r = told[i].read, w = told[i].write;
    double slope = 0.7 * sms * hz / told[i].dram_latency;
    set(&m->capacity, 1 << 30);
    set(&m->read, r);
    set(&m->write, w);
    set(&m->copy, told[i].copy);
    set(&m->latency, told[i].dram_latency);
    set(&m->per_sm_max, 0.4 * r / hz);
    double knee = r / slope;
    POINTS(level_curve(m, "read", "bytes_in_flight_per_sm"), {knee / 8, r / 8}, {knee / 4, r / 4},
           {knee / 2, r / 2}, {knee, r});
    POINTS(level_curve(m, "read", "run_length"), {4, .05 * r}, {8, .1 * r}, {16, .19 * r},
           {32, .4 * r}, {64, .8 * r}, {128, .9 * r}, {256, .96 * r}, {512, r});
    POINTS(level_curve(m, "write", "run_length"), {4, .03 * w}, {8, .06 * w}, {16, .11 * w},
           {32, .3 * w}, {64, .6 * w}, {128, .88 * w}, {256, .95 * w}, {512, w});
    POINTS(level_curve(m, "read", "active_sms"), {1, .4 * r}, {2, .6 * r}, {sms, r});
    Point p[8];
    for (int k = 0; k < 8; k++) {
        double bytes = ldexp(16384, 2 * k);
        p[k] = (Point){bytes, bytes / (2e-6 + bytes / r)};
    }
    points(level_curve(m, "read", "total_bytes"), p, 8);
}

static void l2(int i, MemoryLevel *m) {
    double r = told[i].l2_read, hz = told[i].sustained * 1e6, c = told[i].l2;
    set(&m->capacity, c);
    set(&m->effective_capacity, told[i].effective);
    set(&m->read, r);
    set(&m->write, told[i].l2_write);
    set(&m->per_sm_max, told[i].port);
    set(&m->latency, told[i].l2_latency);
    POINTS(level_curve(m, "read", "footprint"), {c / 16, r}, {told[i].effective, r},
           {told[i].effective * 1.03, .6 * r}, {1.1 * c, .4 * r}, {2 * c, .25 * r},
           {4 * c, told[i].read});
    POINTS(level_curve(m, "read", "active_sms"), {1, told[i].port * hz},
           {told[i].sms, told[i].sms * told[i].port * hz});
}

static void smem(int i, MemoryLevel *m) {
    double r = 4 * told[i].banks;
    set(&m->banks, told[i].banks);
    set(&m->per_sm_max, r);
    set(&m->latency, told[i].smem_latency);
    POINTS(level_curve(m, "read", "conflict_ways"), {1, r}, {2, r / 2}, {4, r / 4}, {8, r / 8},
           {16, r / 16}, {32, r / 32});
}

static void make(int i) {
    Device *d;
    must(hal_profile_find(arena, &diag, told[i].base, "profiles", NULL, &d));
    d->gpu = told[i].gpu;
    set(&d->limits.sm_count, told[i].sms);
    set(&d->limits.clock_sm, told[i].mhz);
    set(&d->limits.clock_sm_sustained, told[i].sustained);
    Curve *c = &d->limits.clusters_resident;
    for (int k = 0; k < c->n; k++) c->py[k] = fmax(1, floor(told[i].sms / c->px[k]));
    dram(i, &d->memory[LEVEL_DRAM]);
    l2(i, &d->memory[LEVEL_L2]);
    smem(i, &d->memory[LEVEL_SMEM]);
    set(&d->overheads.launch_stream, told[i].stream);
    set(&d->overheads.launch_graph, told[i].graph);
    set(&d->overheads.kernel_floor, told[i].floor);
    set(&d->overheads.block_start, told[i].start);
    odd[i] = d;
}

static int setup(void **state) {
    (void)state;
    const char *build = getenv("BUILD"), *all = getenv("LONG");
    char here[2048];
    if (!getcwd(here, sizeof here)) return -1;
    if (!build) build = "build";
    slow = all && *all;
    arena = arena_create(NULL);
    diag = diag_new(arena);
    const char *root = *build == '/' ? build : arena_printf(arena, "%s/%s", here, build);
    Buf list = buf_new(arena);
    const char *file[GPUS];
    for (int i = 0; i < GPUS; i++) {
        Buf text = buf_new(arena);
        make(i);
        file[i] = arena_printf(arena, "%s/told-%s-%ld.json", root, told[i].base, (long)getpid());
        hal_profile_write(odd[i], &text);
        must(file_write(&diag, file[i], text.text, text.len));
        buf_printf(&list, "%s%s", i ? "," : "", file[i]);
    }
    const char *driver = arena_printf(arena, "%s/simdriver/libcuda.so.1", root);
    setenv("ROLLER_SIM_PROFILE", buf_str(&list), 1);
    setenv("ROLLER_SIM_RACES", slow ? "1" : "0", 1);
    setenv("ROLLER_LIBCUDA", driver, 1);
    must(cuda_open(arena, &diag, NULL, &cuda));
    must(nvrtc_open(arena, &diag, &(NvrtcOptions){0}, "sm_90a", &nvrtc));
    for (int i = 0; i < GPUS; i++) unlink(file[i]);
    void *library = dlopen(driver, RTLD_NOW | RTLD_LOCAL);
    if (!library) return -1;
    *(void **)&control = dlsym(library, "roller_sim_driver_control");
    dlclose(library);                     /* the one of cuda_open stays */
    return control ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    arena_destroy(arena);
    return 0;
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
    int (*progress)(void *user, const ProfilerProgress *p);
    void *user;
    const bool *stop;
} How;

static Status measure(int i, const How *how, Device **out) {
    CudaDeviceInfo info;
    CudaContext *x;
    ProfilerOptions o = {.quick = how->quick, .seed = 7, .only = how->rows, .date = "2026-01-01",
                         .tool = "test", .progress = how->progress, .user = how->user,
                         .stop = how->stop};
    Arena *own = arena_create(NULL);      /* the context goes, so that a fault in it does */
    *out = NULL;
    Status s = cuda_device_info(cuda, &diag, i, &info);
    if (!s) s = profiler_base(arena, &diag, &info, "profiles", &base[i]);
    if (!s) s = cuda_context(cuda, own, &diag, i, &x);
    if (!s) s = cuda_enter(x, own, &diag);
    if (!s) s = profiler_run(arena, &diag, x, nvrtc, base[i], &o, out);
    arena_destroy(own);
    return s;
}

static int wrong;

static void near_to(double got, double want, const char *gpu, const char *what) {
    if (fabs(got / want - 1) <= tolerance) return;
    fprintf(stderr, "%s %s: %g, not %g\n", gpu, what, got, want);
    wrong++;
}

static void figure(const Figure *got, const Figure *want, const char *gpu, const char *what) {
    near_to(got->value, want->value, gpu, what);
    if (got->origin == ORIGIN_MEASURED && got->samples > 0 && !got->noisy) return;
    fprintf(stderr, "%s %s: not measured\n", gpu, what);
    wrong++;
}

static void curve(const Device *got, const Device *want, LevelId level, const char *of,
                  const char *x) {
    const Curve *g = hal_level_curve(&got->memory[level], of, x);
    const Curve *w = hal_level_curve(&want->memory[level], of, x);
    assert_non_null(g);
    assert_int_equal(g->origin, ORIGIN_MEASURED);
    for (int i = 0; i < g->n; i++)
        near_to(g->py[i], hal_curve(w, g->px[i]), want->gpu,
                arena_printf(arena, "%s over %s at %g", of, x, g->px[i]));
}

/* Away from the edge of the capacity, where the footprint's curve falls within a few lines.  */
static void footprints(const Device *got, const Device *want) {
    const Curve *g = hal_level_curve(&got->memory[LEVEL_L2], "read", "footprint");
    const Curve *w = hal_level_curve(&want->memory[LEVEL_L2], "read", "footprint");
    double edge = want->memory[LEVEL_L2].effective_capacity.value;
    assert_non_null(g);
    for (int i = 0; i < g->n; i++)
        if (g->px[i] <= edge * 0.98 || g->px[i] > edge * 1.2)
            near_to(g->py[i], hal_curve(w, g->px[i]), want->gpu,
                    arena_printf(arena, "footprint %g", g->px[i]));
}

static void compare(const Device *got, const Device *want) {
#define NEAR(member) figure(&got->member, &want->member, want->gpu, #member)
    NEAR(limits.clock_sm_sustained);
    NEAR(overheads.launch_stream);
    NEAR(overheads.launch_graph);
    NEAR(overheads.kernel_floor);
    NEAR(overheads.block_start);
    NEAR(memory[LEVEL_DRAM].latency);
    NEAR(memory[LEVEL_DRAM].read);
    NEAR(memory[LEVEL_DRAM].write);
    NEAR(memory[LEVEL_DRAM].copy);
    NEAR(memory[LEVEL_DRAM].per_sm_max);
    NEAR(memory[LEVEL_L2].latency);
    NEAR(memory[LEVEL_L2].read);
    NEAR(memory[LEVEL_L2].write);
    NEAR(memory[LEVEL_L2].per_sm_max);
    NEAR(memory[LEVEL_L2].effective_capacity);
    NEAR(memory[LEVEL_SMEM].latency);
    NEAR(memory[LEVEL_SMEM].per_sm_max);
    NEAR(memory[LEVEL_SMEM].banks);
#undef NEAR
    curve(got, want, LEVEL_DRAM, "read", "bytes_in_flight_per_sm");
    curve(got, want, LEVEL_DRAM, "read", "active_sms");
    curve(got, want, LEVEL_DRAM, "read", "total_bytes");
    curve(got, want, LEVEL_DRAM, "read", "run_length");
    curve(got, want, LEVEL_DRAM, "write", "run_length");
    curve(got, want, LEVEL_SMEM, "read", "conflict_ways");
    footprints(got, want);
}

static void constants(void **state) {
    int i = *(int *)*state;
    Device *got;
    must(measure(i, &(How){.rows = memory_rows, .quick = !slow}, &got));
    compare(got, odd[i]);
    assert_int_equal(got->limits.sm_count.value, told[i].sms);
    assert_int_equal(got->limits.sm_count.origin, ORIGIN_DRIVER);
    assert_int_equal(got->memory[LEVEL_L2].capacity.value, told[i].l2);
    assert_string_equal(got->mode, slow ? "full" : "quick");
    assert_string_equal(got->date, "2026-01-01");
    assert_string_equal(got->gpu, told[i].gpu);
    int n = wrong;
    wrong = 0;
    assert_int_equal(n, 0);
}

/* ---- noise ---- */
static void noise(void **state) {
    (void)state;
    Device *got;
    How how = {.rows = "clock,smem", .quick = true};
    const Figure *rate;
    control("noise=90");
    must(measure(1, &how, &got));
    rate = &got->memory[LEVEL_SMEM].per_sm_max;
    assert_true(rate->noisy && rate->spread > 0.05 && rate->samples >= 5);
    control("noise@1-12=90");             /* a disturbance that ends */
    must(measure(1, &how, &got));
    rate = &got->memory[LEVEL_SMEM].per_sm_max;
    assert_true(!rate->noisy && rate->samples >= 2);
    assert_true(fabs(rate->value / (4 * told[1].banks) - 1) <= tolerance);
}

/* ---- what can go wrong ---- */
static int end_at_second(void *user, const ProfilerProgress *p) {
    int *calls = user;
    assert_true(p->done == *calls && p->total == 3 && p->eta_s >= 0);
    return ++*calls == 2;
}

static void cancelled(void **state) {
    (void)state;
    Device *got;
    int calls = 0;
    bool stop = true;
    How how = {.rows = "clock,launch,latency", .progress = end_at_second, .user = &calls};
    assert_int_equal(measure(0, &how, &got), ST_CANCELLED);
    assert_null(got);
    assert_int_equal(calls, 2);
    how = (How){.rows = "launch", .stop = &stop};
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

/* Every call of the driver between the context and the end, each failing once.  */
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
    for (size_t i = 0; i < sizeof call / sizeof *call; i++) {
        Device *got;
        diag = diag_new(arena);
        control(arena_printf(arena, "%s=CUDA_ERROR_UNKNOWN", call[i]));
        Status s = measure(0, &how, &got);
        control("");
        if (s != ST_CUDA || got || !strstr(said(), call[i]))
            fail_msg("%s fails: %s, \"%s\"", call[i], status_name(s), said());
        assert_int_equal(status_exit(s), 3);
    }
}

static void faulting_kernel(void **state) {
    (void)state;
    Device *got;
    How how = {.rows = "clock,launch,latency", .quick = true};
    control("kernel@4=CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_int_equal(measure(0, &how, &got), ST_CUDA);
    assert_null(got);
    assert_non_null(strstr(said(), "ILLEGAL_ADDRESS"));
    control("");
    diag = diag_new(arena);
    must(measure(0, &how, &got));         /* in a new context */
}

static void too_little_memory(void **state) {
    (void)state;
    Device *got;
    control("memory=65536");
    assert_int_equal(measure(0, &(How){.rows = "dram", .quick = true}, &got), ST_CUDA);
    assert_null(got);
    assert_non_null(strstr(said(), "memory"));
}

/* ---- where it starts ---- */
static void names(void **state) {
    (void)state;
    static const char *const pair[][2] = {
        {"NVIDIA H200", "h200"}, {"NVIDIA GeForce RTX 4090", "rtx4090"},
        {"Tesla V100-SXM2-16GB", "v100sxm216gb"}, {"NVIDIA A100-SXM4-80GB", "a100sxm480gb"},
        {"", "gpu"}, {"../../Evil \"GPU\"", "evil"},
    };
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        assert_string_equal(profiler_name(arena, pair[i][0]), pair[i][1]);
}

static void bases(void **state) {
    (void)state;
    const Device *dev;
    CudaDeviceInfo info = {.name = "NVIDIA H200", .arch = "sm_90a", .cc_major = 9};
    must(profiler_base(arena, &diag, &info, "profiles", &dev));
    assert_string_equal(dev->name, "h200");
    info = (CudaDeviceInfo){.name = "NVIDIA A10", .arch = "sm_86", .cc_major = 8, .cc_minor = 6};
    must(profiler_base(arena, &diag, &info, "profiles", &dev));
    assert_string_equal(dev->name, "a100");
    assert_string_equal(dev->arch, "sm_86");
    info = (CudaDeviceInfo){.name = "NVIDIA GeForce GTX 1630", .arch = "sm_75", .cc_major = 7,
                            .cc_minor = 5};
    info.attribute[CUDA_ATTR_SM_COUNT] = 8;
    info.attribute[CUDA_ATTR_THREADS_PER_BLOCK] = 1024;
    must(profiler_base(arena, &diag, &info, "profiles", &dev));
    assert_string_equal(dev->name, "t4");
    info = (CudaDeviceInfo){.name = "NVIDIA B9", .arch = "sm_120a", .cc_major = 12};
    must(profiler_base(arena, &diag, &info, "profiles", &dev));
    assert_null(hal_unit(dev, "wgmma.bf16.f32"));
    info = (CudaDeviceInfo){.name = "Tesla K80", .arch = "sm_37", .cc_major = 3, .cc_minor = 7};
    assert_int_equal(profiler_base(arena, &diag, &info, "profiles", &dev), ST_PROFILE);
    assert_null(dev);
}

int main(void) {
    static int gpu[] = {0, 1, 2};
    const struct CMUnitTest tests[] = {
        {"an sm_80 of 5 SMs", constants, fresh, NULL, &gpu[0]},
        {"an sm_90a of 7 SMs, 48-byte ports, 16 banks", constants, fresh, NULL, &gpu[1]},
        {"an sm_89 of 4 SMs", constants, fresh, NULL, &gpu[2]},
        cmocka_unit_test_setup(noise, fresh),
        cmocka_unit_test_setup(cancelled, fresh),
        cmocka_unit_test_setup(unknown_row, fresh),
        cmocka_unit_test_setup(failing_calls, fresh),
        cmocka_unit_test_setup(faulting_kernel, fresh),
        cmocka_unit_test_setup(too_little_memory, fresh),
        cmocka_unit_test_setup(names, fresh),
        cmocka_unit_test_setup(bases, fresh),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
