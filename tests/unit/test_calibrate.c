/* Calibration over the simulated driver: a GPU whose rates differ from the profile's by a factor is
 * described by that factor.  */
#include "arena_fixture.h"
#include "base/file.h"
#include "driver/profile/calibrate.h"
#include "driver/pipeline/compile.h"
#include "simulated.h"
#include "effort.h"

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

enum { SMS = 4 };

static Device *dev;
static char root[4096];      /* of $BUILD, with the slash behind it */

/* Rates of a level and of its curves.  */
static void scale_level(MemoryLevel *m, double by) {
    Curve *curve = ARENA_ARRAY(arena, Curve, m->n_curve + 1);
    int n = 0;
    m->read.value *= by;
    m->write.value *= by;
    m->copy.value *= by;
    for (int i = 0; i < m->n_curve; i++) {
        Curve c = m->curve[i];
        if (!strcmp(c.x, "active_sms")) continue;
        c.py = ARENA_ARRAY(arena, double, c.n);
        for (int k = 0; k < c.n; k++) c.py[k] = m->curve[i].py[k] * by;
        bool amounts = !strcmp(c.x, "total_bytes");       /* the ramp takes as long */
        if (amounts) c.px = ARENA_ARRAY(arena, double, c.n);
        for (int k = 0; k < c.n && amounts; k++) c.px[k] = m->curve[i].px[k] * by;
        curve[n++] = c;
    }
    m->curve = curve;
    m->n_curve = n;
}

/* A GPU with few SMs and what memory rates they leave, so that small kernels fill it.  */
static int setup(void **state) {
    (void)state;
    arena = arena_create(NULL);
    diag = diag_new(arena);
    simulated_path("", root, sizeof root);
    simulated_setup("profiles/a100.json");
    setenv("ROLLER_SIM_RACES", "0", 1);
    must(hal_profile_find(arena, &diag, "a100", "profiles", NULL, &dev));
    double share = SMS / dev->limits.sm_count.value;
    dev->limits.sm_count.value = SMS;
    scale_level(&dev->memory[LEVEL_DRAM], share);
    scale_level(&dev->memory[LEVEL_L2], share);
    return 0;
}

static int fresh(void **state) {
    (void)state;
    diag = diag_new(arena);
    return 0;
}

/* ---- the fit ---- */
/* A machine of three rates: times are the larger of two terms and a constant.  */
static double machine(void *user, int k, const double *factor) {
    const double(*work)[3] = user;
    double a = work[k][0] / factor[0], b = work[k][1] / factor[1];
    return (a > b ? a : b) + work[k][2];
}

enum { SAMPLES = 6 };
static double work[SAMPLES][3] = {{10, 1, 1}, {1, 10, 1}, {6, 5, 2}, {20, 1, 1}, {5, 9, 0.5},
                                  {2, 15, 1}};

static void factors_of_a_known_machine(void **state) {
    (void)state;
    static const double real[3] = {0.6, 1.3, 1};
    double us[SAMPLES], found[3];
    bool dropped[SAMPLES];
    for (int k = 0; k < SAMPLES; k++) us[k] = machine(work, k, real);
    CalibrateFit f = {machine, work, us, SAMPLES, 3};
    CalibrateVerdict v = calibrate_fit(arena, &f, found, dropped);
    assert_true(v.with < 0.1 * v.without);
    for (int k = 0; k < SAMPLES; k++) assert_false(dropped[k]);
    assert_true(fabs(found[0] / 0.6 - 1) < 0.02);
    assert_true(fabs(found[1] / 1.3 - 1) < 0.02);
    assert_true(found[2] == 1);           /* nothing depends on it */
    assert_true(calibrate_sensitivity(arena, &f, found, 0, 0) > 0.5);
    assert_true(calibrate_sensitivity(arena, &f, found, 0, 2) == 0);
}

/* Noise that no factor explains leaves the model alone; one sample far off is left out.  */
static void what_does_not_carry_over(void **state) {
    (void)state;
    static const double one[3] = {1, 1, 1}, real[3] = {0.6, 1, 1};
    static const double noise[SAMPLES] = {1.3, 0.8, 0.9, 0.75, 1.25, 1.1};
    double us[SAMPLES], found[3];
    bool dropped[SAMPLES];
    for (int k = 0; k < SAMPLES; k++) us[k] = machine(work, k, one) * noise[k];
    CalibrateFit f = {machine, work, us, SAMPLES, 3};
    CalibrateVerdict v = calibrate_fit(arena, &f, found, dropped);
    for (int i = 0; i < 3; i++) assert_true(found[i] == 1);
    assert_true(v.with == v.without);
    for (int k = 0; k < SAMPLES; k++) us[k] = machine(work, k, real) * (k == 1 ? 3 : 1);
    calibrate_fit(arena, &f, found, dropped);
    for (int k = 0; k < SAMPLES; k++) assert_int_equal(dropped[k], k == 1);
    assert_true(fabs(found[0] / 0.6 - 1) < 0.02 && found[1] == 1);
}

/* Of many factors one gains something by chance: that is nothing to go by.  */
static double many_rates(void *user, int k, const double *factor) {
    const int *limit = user;
    return 1 / factor[limit[k]] + 0.2 / factor[(limit[k] + 1) % 6];
}

static void what_gains_by_chance(void **state) {
    (void)state;
    enum { N = 18, RATES = 6, DRAWS = 60 };
    static int limit[N];
    uint64_t seed = 5;
    int fitted = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        double us[N], found[RATES], one[RATES] = {1, 1, 1, 1, 1, 1};
        bool dropped[N];
        for (int k = 0; k < N; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            limit[k] = k % RATES;
            us[k] = many_rates(limit, k, one) * exp(((double)(seed >> 33) / 0x1p31 - 0.5) * 1.2);
        }
        CalibrateFit f = {many_rates, limit, us, N, RATES};
        calibrate_fit(arena, &f, found, dropped);
        for (int i = 0; i < RATES; i++)
            if (found[i] != 1) fitted++;
    }
    assert_true(fitted <= DRAWS * RATES / 6);   /* as often as one standard error is exceeded */
}

/* Two rates that every sample is limited by in the same proportion move together.  */
static double both(void *user, int k, const double *factor) {
    const double *size = user;
    return size[k] / factor[0] + size[k] / factor[1];
}

static void what_cannot_be_told_apart(void **state) {
    (void)state;
    static double size[4] = {1, 2, 5, 9};
    double us[4], found[2];
    bool dropped[4];
    for (int k = 0; k < 4; k++) us[k] = 2 * size[k] / 0.7;
    CalibrateFit f = {both, size, us, 4, 2};
    calibrate_fit(arena, &f, found, dropped);
    assert_true(found[0] == found[1] && fabs(found[0] / 0.7 - 1) < 0.02);
}

/* ---- a simulated GPU ---- */
typedef struct {
    double ffma, dram;        /* of the GPU's rates, in those of the profile */
} Slower;

static Calibration calibrated(Slower by, const char *only) {
    Device gpu = *dev;
    Calibration out;
    gpu.unit = ARENA_ARRAY(arena, ComputeUnit, dev->n_unit);
    memcpy(gpu.unit, dev->unit, (size_t)dev->n_unit * sizeof *gpu.unit);
    for (int i = 0; i < gpu.n_unit; i++)
        if (!strcmp(gpu.unit[i].name, "ffma")) gpu.unit[i].rate.value *= by.ffma;
    scale_level(&gpu.memory[LEVEL_DRAM], by.dram);
    const char *file = arena_printf(arena, "%scalibrate-%ld.json", root, (long)getpid());
    Buf text = buf_new(arena);
    hal_profile_write(&gpu, &text);
    must(file_write(&diag, file, text.text, text.len));
    setenv("ROLLER_SIM_PROFILE", file, 1);
    CalibrateOptions o = {.measure = {.threads = 2, .budget_s = 2}, .only = only};
    must(calibrate(arena, &diag, dev, &o, &out));
    unlink(file);
    return out;
}

static const Factor *factor_of(const Calibration *c, const char *name) {
    for (int i = 0; i < c->dev->n_factor; i++)
        if (!strcmp(c->dev->factor[i].name, name)) return &c->dev->factor[i];
    return NULL;
}

/* How far predictions are off, on average.  */
static double off(const Calibration *c, bool after) {
    double sum = 0;
    for (int i = 0; i < c->n; i++) {
        const CalibratedKernel *k = &c->kernel[i];
        if (k->failed) fail_msg("%s: %s", k->name, k->failed);
        assert_true(k->us > 0 && k->samples > 0);
        sum += fabs(log((after ? k->after_us : k->before_us) / k->us));
    }
    return sum / c->n;
}

static void within(double v, double lo, double hi, const char *what) {
    if (v < lo || v > hi) fail_msg("%s: %g is outside %g .. %g", what, v, lo, hi);
}

/* Half the rate of multiply-adds and 0.6 of that of DRAM: two kernels that multiply, and three that
 * read and write in different proportions.  */
static void a_slower_gpu(void **state) {
    (void)state;
    const char *only = "product_f32,deep_f32,transpose,add,column_sum";
    Calibration slow = calibrated((Slower){0.5, 0.6}, only);
    assert_int_equal(slow.n, 5);
    within(off(&slow, true), 0, 0.05, "off after calibration");
    within(off(&slow, false), 0.4, 2, "off before it");
    const Factor *ffma = factor_of(&slow, "ffma"), *read = factor_of(&slow, "dram.read");
    assert_true(ffma && read && slow.dev->calibrated);
    within(ffma->value, 0.4, 0.6, "ffma");
    within(read->value, 0.45, 0.72, "dram.read");
    assert_string_equal(ffma->kernels, "product_f32, deep_f32");
    assert_true(slow.verdict.with < 0.5 * slow.verdict.without);
    assert_non_null(strstr(read->kernels, "add"));
    assert_true(ffma->samples >= 5);
    const CalibratedKernel *product = &slow.kernel[0];
    assert_string_equal(product->name, "product_f32");
    within(fabs(log(product->after_us / product->us)), 0, 0.05, "what is left of product_f32");
    within(ffma->residual, 0, 0.1, "residual of ffma, that of deep_f32 included");
    Calibration same = calibrated((Slower){1, 1}, "product_f32,add");
    const Factor *was = factor_of(&same, "ffma");
    within(was ? was->value : 1, 1.2 * ffma->value, 1.1, "ffma of the GPU as described");
    was = factor_of(&same, "dram.read");
    within(was ? was->value : 1, 0.9, 1.1, "dram.read of the GPU as described");
}

/* The factors are read back, and plans of the calibrated profile are priced by them.  */
static void stored_and_used(void **state) {
    (void)state;
    Factor own[] = {{.name = "ffma", .value = 0.5, .residual = 0.01, .samples = 5,
                     .kernels = "product_f32"},
                    {.name = "issue", .value = 0.9, .residual = 0.02, .samples = 10,
                     .kernels = "product_f32, softmax"}};
    Device with = *dev;
    Device *back;
    Buf text = buf_new(arena);
    with.factor = own;
    with.n_factor = 2;
    hal_profile_write(&with, &text);
    must(hal_profile_read(arena, &diag, (DiagText){"calibrated", text.text, text.len}, &back));
    assert_true(back->calibrated && back->n_factor == 2);
    assert_float_equal(hal_factor(back, "ffma"), 0.5, 0);
    static const char op[] = "op k(A: f32[512,512], B: f32[512,512]) -> C: f32[512,512]"
                             " { C[m,n] += A[m,k] * B[k,n]; }";
    Te *te;
    PlanSet set;
    Estimate slow, fast;
    CompileOptions o = {.top = 1, .workspace_limit = -1};
    must(te_parse(arena, &diag, diag_text("k.te", op), NULL, NULL, &te));
    must(compile_plan(arena, &diag, &(PlanRequest){te, dev, &o}, &set));
    mp_estimate(&set.plans[0].problem, &set.plans[0].ranked->prog, dev, &fast);
    mp_estimate(&set.plans[0].problem, &set.plans[0].ranked->prog, back, &slow);
    within(slow.us / fast.us, 1.5, 2, "time at half the rate");
}

static void what_cannot_be_timed(void **state) {
    (void)state;
    CalibrateOptions o = {.measure = {.threads = 1}, .only = "nothing"};
    Calibration out;
    setenv("ROLLER_SIM_PROFILE", "profiles/a100.json", 1);
    assert_int_equal(calibrate(arena, &diag, dev, &o, &out), ST_CHECK);
    assert_string_equal(diag_first_error(&diag)->message, "only 0 kernels could be timed");
    fresh(NULL);
    setenv("ROLLER_SIM_PROFILE", "none", 1);
    assert_int_equal(calibrate(arena, &diag, dev, &o, &out), ST_DEVICE);
}

/* LONG=1: every kernel is right, is timed, and is predicted no worse than before.  */
static void every_kernel(void **state) {
    (void)state;
    if (!effort_long()) skip();
    Calibration c = calibrated((Slower){0.7, 0.8}, NULL);
    assert_true(off(&c, true) < off(&c, false));
    assert_true(c.n >= 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(factors_of_a_known_machine, fresh),
        cmocka_unit_test_setup(what_does_not_carry_over, fresh),
        cmocka_unit_test_setup(what_gains_by_chance, fresh),
        cmocka_unit_test_setup(what_cannot_be_told_apart, fresh),
        cmocka_unit_test_setup(a_slower_gpu, fresh),
        cmocka_unit_test_setup(stored_and_used, fresh),
        cmocka_unit_test_setup(what_cannot_be_timed, fresh),
        cmocka_unit_test_setup(every_kernel, fresh),
    };
    return cmocka_run_group_tests(tests, setup, tear_down);
}
