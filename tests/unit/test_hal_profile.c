/* links: hal */
#include "base/file.h"
#include "hal/device.h"

#include "arena_fixture.h"
#include "oom.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const shipped[] = {"v100", "t4", "rtx2080ti", "a100", "a10", "rtx4090", "l4",
                                     "h100", "h200", "b200", "rtx5090", "gb10", "tiny",
                                     "pocl"};
enum { SHIPPED = sizeof shipped / sizeof *shipped };

static char *load(const char *path, size_t *len) {
    char *text = NULL;
    assert_int_equal(file_read(arena, &diag, path, 4 << 20, &text, len), ST_OK);
    return text;
}

static Device *read_text(const char *text, size_t len) {
    Device *dev = NULL;
    Status s = hal_profile_read(arena, &diag, (DiagText){"p.json", text, len}, &dev);
    if (s != ST_OK) {
        const DiagMessage *m = diag_first_error(&diag);
        fail_msg("%d:%d: %s", m->line, m->column, m->message);
    }
    return dev;
}

static Device *device(const char *name) {
    size_t len;
    char *text = load(arena_printf(arena, "profiles/%s.json", name), &len);
    return read_text(text, len);
}

static void test_shipped_files_are_canonical(void **state) {
    (void)state;
    for (int i = 0; i < SHIPPED; i++) {
        size_t len;
        char *text = load(arena_printf(arena, "profiles/%s.json", shipped[i]), &len);
        Device *dev = read_text(text, len);
        assert_string_equal(dev->name, shipped[i]);
        Buf b = buf_new(arena);
        hal_profile_write(dev, &b);
        assert_int_equal(b.len, len);
        assert_memory_equal(b.text, text, len);
        assert_false(dev->measured);
        assert_false(dev->calibrated);
        assert_int_equal(strlen(dev->sha256), 64);
    }
}

/* A profile with everything a shipped one has not: measured values, noise, dates, factors.  */
static void test_measured_round_trip(void **state) {
    (void)state;
    Device *dev = device("h200");
    Figure *read = &dev->memory[LEVEL_DRAM].read;
    *read = (Figure){.value = 3.8912345678e12, .origin = ORIGIN_MEASURED, .unit = read->unit,
                     .date = "2026-02-03", .spread = 0.0625, .samples = 31, .noisy = true};
    dev->limits.sm_count.origin = ORIGIN_DRIVER;
    dev->limits.sm_count.ref = NULL;
    Curve *c = &dev->memory[LEVEL_DRAM].curve[0];
    c->origin = ORIGIN_MEASURED;
    c->ref = NULL;
    c->spread = 0.1;
    c->samples = 5;
    c->py[0] = 1234567.0625;
    Factor f[] = {{"ffma", 0.95, 0.01, 12, "sgemm"}, {"dram.read", 1.0625, 0, 3, "copy"}};
    dev->factor = f;
    dev->n_factor = 2;
    Missed missed[] = {{"dram.copy", "a \"kernel\" failed"}, {"tma", "no time"}};
    dev->missed = missed;
    dev->n_missed = 2;
    dev->driver = "580.65.06";
    dev->made_clock_sm_mhz = 1980;
    dev->made_temperature_c = 54.5;
    dev->unit[0].warps = (Curve){.of = "rate", .x = "warps", .x_unit = "1", .unit = "FLOP/clk/SM",
                                 .origin = ORIGIN_DERIVED, .ref = "a \"quoted\" \\ formula",
                                 .n = 2, .px = (double[]){1, 16}, .py = (double[]){16, 256}};
    Buf b = buf_new(arena), again = buf_new(arena);
    hal_profile_write(dev, &b);
    Device *back = read_text(b.text, b.len);
    assert_true(back->calibrated);
    assert_float_equal(hal_factor(back, "dram.read"), 1.0625, 0);
    assert_int_equal(back->memory[LEVEL_DRAM].read.samples, 31);
    assert_true(back->memory[LEVEL_DRAM].read.noisy);
    assert_float_equal(back->memory[LEVEL_DRAM].read.value, 3.8912345678e12, 0);
    assert_float_equal(back->memory[LEVEL_DRAM].curve[0].py[0], 1234567.0625, 0);
    assert_string_equal(back->unit[0].warps.ref, "a \"quoted\" \\ formula");
    assert_int_equal(back->n_missed, 2);
    assert_string_equal(back->missed[0].why, "a \"kernel\" failed");
    assert_string_equal(back->missed[1].name, "tma");
    assert_string_equal(back->driver, "580.65.06");
    assert_float_equal(back->made_temperature_c, 54.5, 0);
    hal_profile_write(back, &again);
    assert_string_equal(buf_str(&b), buf_str(&again));
}

static void mark_measured(Figure *f) {
    if (hal_has(f))
        *f = (Figure){.value = f->value, .unit = f->unit, .origin = ORIGIN_MEASURED, .samples = 3};
}

/* The origin of a profile is "measured" when all rates are, whatever its limits are from.  */
static void test_measured_origin(void **state) {
    (void)state;
    Device *dev = device("h200");
    for (int i = 0; i < LEVEL_COUNT; i++) {
        MemoryLevel *m = &dev->memory[i];
        Figure *rates[] = {&m->read, &m->write, &m->copy, &m->per_sm_max};
        for (int k = 0; k < 4; k++)
            mark_measured(rates[k]);
        for (int k = 0; k < m->n_curve; k++) {
            m->curve[k].origin = ORIGIN_MEASURED;
            m->curve[k].ref = NULL;
            m->curve[k].samples = 3;
        }
    }
    for (int i = 0; i < dev->n_mover; i++)
        mark_measured(&dev->mover[i].rate);
    for (int i = 0; i < dev->n_unit; i++) {
        Buf b = buf_new(arena);
        hal_profile_write(dev, &b);
        assert_false(read_text(b.text, b.len)->measured);
        mark_measured(&dev->unit[i].rate);
    }
    Buf b = buf_new(arena);
    hal_profile_write(dev, &b);
    assert_true(read_text(b.text, b.len)->measured);
}

/* Peaks as vendors publish them, in TFLOP/s: what the rates, the SMs and the clock must give.  */
static void test_published_peaks(void **state) {
    (void)state;
    static const struct {
        const char *device, *unit;
        double tflops;
        bool sustained_clock;
    } peaks[] = {
        {"v100", "ffma", 15.7, false},
        {"v100", "dfma", 7.8, false},
        {"v100", "mma.m8n8k4.f16.f32", 125, false},
        {"t4", "ffma", 8.1, false},
        {"t4", "mma.m16n8k8.f16.f32", 65, false},
        {"t4", "mma.m8n8k16.i8.i32", 130, false},
        {"rtx2080ti", "ffma", 13.4, false},
        {"rtx2080ti", "mma.m16n8k8.f16.f32", 53.8, false},
        {"rtx2080ti", "mma.m8n8k16.i8.i32", 215.2, false},
        {"a100", "ffma", 19.5, false},
        {"a100", "dfma", 9.7, false},
        {"a100", "hfma2", 78, false},
        {"a100", "bfma2", 39, false},
        {"a100", "mma.m16n8k16.bf16.f32", 312, false},
        {"a100", "mma.m16n8k8.tf32.f32", 156, false},
        {"a100", "mma.m16n8k32.i8.i32", 624, false},
        {"a100", "mma.m8n8k4.f64.f64", 19.5, false},
        {"a10", "ffma", 31.2, false},
        {"a10", "mma.m16n8k16.bf16.f32", 125, false},
        {"a10", "mma.m16n8k8.tf32.f32", 62.5, false},
        {"a10", "mma.m16n8k32.i8.i32", 250, false},
        {"l4", "ffma", 30.3, false},
        {"l4", "mma.m16n8k16.bf16.f32", 121, false},
        {"l4", "mma.m16n8k32.f8e4m3.f32", 242.5, false},
        {"rtx4090", "ffma", 82.6, false},
        {"rtx4090", "hfma2", 82.6, false},
        {"rtx4090", "dfma", 1.29, false},
        {"rtx4090", "mma.m16n8k16.f16.f32", 165.2, false},
        {"rtx4090", "mma.m16n8k16.f16.f16", 330.3, false},
        {"rtx4090", "mma.m16n8k32.i8.i32", 660.6, false},
        {"h100", "ffma", 66.9, false},
        {"h100", "dfma", 33.5, false},
        {"h200", "ffma", 66.9, false},
        {"h200", "hfma2", 133.8, false},
        {"h200", "mma.m16n8k4.f64.f64", 66.9, false},
        {"h200", "wgmma.bf16.f32", 989.4, true},
        {"h200", "wgmma.tf32.f32", 494.7, true},
        {"h200", "wgmma.f8e4m3.f32", 1978.9, true},
        {"h200", "wgmma.i8.i32", 1978.9, true},
        {"b200", "ffma", 75, false},
        {"b200", "dfma", 37, false},
        {"b200", "mma.m8n8k4.f64.f64", 37, false},
        {"rtx5090", "ffma", 104.8, false},
        {"rtx5090", "dfma", 1.64, false},
        {"rtx5090", "mma.m16n8k16.f16.f32", 209.5, false},
        {"rtx5090", "mma.m16n8k32.f8e4m3.f32", 419, false},
        {"rtx5090", "mma.m16n8k32.i8.i32", 838, false},
        {"gb10", "ffma", 31, false},
    };
    for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++) {
        const Device *dev = device(peaks[i].device);
        const ComputeUnit *u = hal_unit(dev, peaks[i].unit);
        assert_non_null(u);
        double clock = (peaks[i].sustained_clock ? dev->limits.clock_sm_sustained
                                                 : dev->limits.clock_sm).value;
        double got = u->rate.value * dev->limits.sm_count.value * clock * 1e-6;
        if (fabs(got / peaks[i].tflops - 1) > 0.01)
            fail_msg("%s %s: %g TFLOP/s, published %g", peaks[i].device, peaks[i].unit, got,
                     peaks[i].tflops);
    }
}

/* The CUDA C++ Programming Guide's table of compute capabilities.  */
static void test_published_limits(void **state) {
    (void)state;
    static const struct {
        const char *device;
        int sms, threads, blocks, smem_kb, optin_kb, cluster;
        double nominal;       /* DRAM, TB/s */
    } limits[] = {
        {"v100", 80, 2048, 32, 96, 96, 1, 0.9},     {"a100", 108, 2048, 32, 164, 163, 1, 2.039},
        {"rtx4090", 128, 1536, 24, 100, 99, 1, 1.008}, {"h100", 132, 2048, 32, 228, 227, 8, 3.352},
        {"h200", 132, 2048, 32, 228, 227, 8, 4.8},  {"b200", 148, 2048, 32, 228, 227, 8, 7.7},
        {"t4", 40, 1024, 16, 64, 64, 1, 0.32},      {"rtx5090", 170, 1536, 24, 100, 99, 1, 1.792},
        {"a10", 72, 1536, 16, 100, 99, 1, 0.6},     {"l4", 58, 1536, 24, 100, 99, 1, 0.3},
        {"gb10", 48, 1536, 24, 100, 99, 1, 0.273},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const Device *dev = device(limits[i].device);
        const DeviceLimits *l = &dev->limits;
        assert_int_equal(l->sm_count.value, limits[i].sms);
        assert_int_equal(l->threads_per_sm.value, limits[i].threads);
        assert_int_equal(l->blocks_per_sm.value, limits[i].blocks);
        assert_int_equal(l->smem_per_sm.value, limits[i].smem_kb * 1024);
        assert_int_equal(l->smem_per_block_optin.value, limits[i].optin_kb * 1024);
        assert_int_equal(l->cluster_max.value, limits[i].cluster);
        assert_int_equal(l->registers_per_sm.value, 65536);
        assert_int_equal(l->threads_per_block.value, 1024);
        const MemoryLevel *dram = &dev->memory[LEVEL_DRAM];
        const Figure *rates[] = {&dram->read, &dram->write, &dram->copy};
        for (int k = 0; k < 3; k++) {
            double share = rates[k]->value / (limits[i].nominal * 1e12);
            assert_true(share > 0.7 && share < 1);
        }
    }
}

/* No curve may promise more than the level's own rate by more than measurements scatter.  */
static void test_curves_agree_with_rates(void **state) {
    (void)state;
    for (int i = 0; i < SHIPPED; i++) {
        const Device *dev = device(shipped[i]);
        const MemoryLevel *dram = &dev->memory[LEVEL_DRAM];
        for (int k = 0; k < dram->n_curve; k++) {
            const Curve *c = &dram->curve[k];
            const Figure *rate = !strcmp(c->of, "read") ? &dram->read : &dram->write;
            assert_true(fabs(c->py[c->n - 1] / rate->value - 1) < 0.02);
            for (int p = 1; p < c->n; p++)
                assert_true(c->py[p] >= c->py[p - 1]);
        }
        const MemoryLevel *l2 = &dev->memory[LEVEL_L2];
        const Curve *c = hal_level_curve(l2, "read", "footprint");
        assert_true(hal_curve(c, l2->effective_capacity.value) > 0.9 * l2->read.value);
        assert_true(hal_curve(c, 8 * l2->capacity.value) < 1.1 * dram->read.value);
    }
}

static void test_documentation_is_current(void **state) {
    (void)state;
    Buf b = buf_new(arena);
    hal_fields_doc(&b);
    if (getenv("UPDATE"))
        assert_int_equal(file_write(&diag, "docs/reference/profile.md", b.text, b.len), ST_OK);
    size_t len;
    char *text = load("docs/reference/profile.md", &len);
    assert_string_equal(text, buf_str(&b));
}

/* The lines of a diff that begin with `mark`, without it; *at moves behind them.  */
static const char *marked(const char **at, char mark) {
    Buf b = buf_new(arena);
    while (**at == mark) {
        size_t len = strcspn(*at, "\n") + 1;
        buf_add(&b, *at + 1, len - 1);
        *at += len;
    }
    return buf_str(&b);
}

/* Applies a file of hunks, `-` lines and then `+` lines.  */
static const char *follow_hunks(const char *diff, const char *text) {
    int hunks = 0;
    while (*diff) {
        const char *old = marked(&diff, '-'), *new = marked(&diff, '+');
        const char *at = strstr(text, old);
        if (!*old || !at || strstr(at + 1, old))
            fail_msg("not there exactly once: %s", old);
        text = arena_printf(arena, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
        hunks++;
    }
    assert_true(hunks > 3);
    return text;
}

static void test_guide_makes_a_device(void **state) {
    (void)state;
    size_t len;
    const char *diff = load("docs/h100pcie.diff", &len);
    const char *text = follow_hunks(diff, load("profiles/h100.json", &len));
    Device *dev = read_text(text, strlen(text));
    assert_string_equal(dev->name, "h100pcie");
    assert_string_equal(dev->gpu, "NVIDIA H100 PCIe");
    assert_string_equal(dev->arch, "sm_90a");
    double sms = dev->limits.sm_count.value * 1e-12;
    double tensor = sms * hal_clock_hz(dev) * hal_unit(dev, "wgmma.bf16.f32")->rate.value;
    double simt = sms * dev->limits.clock_sm.value * 1e6 * hal_unit(dev, "ffma")->rate.value;
    assert_true(fabs(tensor / 756 - 1) < 0.01);
    assert_true(fabs(simt / 51.2 - 1) < 0.01);
    Buf b = buf_new(arena);
    hal_profile_write(dev, &b);
    assert_string_equal(buf_str(&b), text);
}

static void read_tiny(Arena *a, void *text) {
    Diag d = diag_new(a);
    Device *dev;
    Status s = hal_profile_read(a, &d, diag_text("tiny.json", text), &dev);
    assert_int_equal(s, ST_OK);
    Buf b = buf_new(a);
    hal_profile_write(dev, &b);
    assert_string_equal(buf_str(&b), text);
}

static void test_out_of_memory(void **state) {
    (void)state;
    size_t len;
    oom_sweep(read_tiny, load("profiles/tiny.json", &len));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_shipped_files_are_canonical, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_measured_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_measured_origin, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_published_peaks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_published_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_curves_agree_with_rates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_documentation_is_current, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_guide_makes_a_device, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_out_of_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
