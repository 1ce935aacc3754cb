/* links: hal */
#include "base/file.h"
#include "hal/device.h"

#include "arena_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static Device *shipped(const char *name) {
    Device *dev = NULL;
    Status s = hal_profile_find(arena, &diag, name, "profiles", NULL, &dev);
    assert_int_equal(s, ST_OK);
    return dev;
}

/* What the occupancy calculator of the CUDA toolkit 13.0 (cuda_occupancy.h) answers.  */
static void test_blocks_per_sm(void **state) {
    (void)state;
    static const char *const names[] = {"v100", "a100", "rtx4090", "h200"};
    static const struct {
        int threads, registers;
        int64_t smem;
        int blocks[4];
    } cases[] = {
        {32, 16, 0, {32, 32, 24, 32}},
        {64, 32, 0, {32, 32, 24, 32}},
        {96, 40, 1000, {16, 16, 16, 16}},
        {128, 64, 0, {8, 8, 8, 8}},
        {128, 128, 16384, {4, 4, 4, 4}},
        {128, 255, 0, {2, 2, 2, 2}},
        {160, 33, 5000, {9, 9, 9, 9}},
        {192, 96, 30000, {3, 3, 3, 3}},
        {224, 72, 0, {4, 4, 4, 4}},
        {256, 32, 0, {8, 8, 6, 8}},
        {256, 64, 32768, {3, 4, 3, 4}},
        {256, 128, 49152, {2, 2, 2, 2}},
        {256, 168, 65536, {1, 1, 1, 1}},
        {256, 255, 1024, {1, 1, 1, 1}},
        {288, 100, 0, {1, 1, 1, 1}},
        {320, 90, 20000, {2, 2, 2, 2}},
        {384, 168, 100000, {0, 1, 1, 1}},
        {512, 64, 0, {2, 2, 2, 2}},
        {512, 128, 0, {1, 1, 1, 1}},
        {512, 129, 0, {0, 0, 0, 0}},
        {768, 80, 0, {1, 1, 1, 1}},
        {1024, 64, 0, {1, 1, 1, 1}},
        {1024, 65, 0, {0, 0, 0, 0}},
        {1024, 32, 90000, {1, 1, 1, 2}},
        {100, 50, 777, {9, 9, 9, 9}},
        {257, 41, 12345, {4, 4, 4, 4}},
    };
    for (int i = 0; i < 4; i++) {
        const Device *dev = shipped(names[i]);
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            int got = hal_blocks_per_sm(dev, cases[k].threads, cases[k].registers, cases[k].smem);
            if (got != cases[k].blocks[i])
                fail_msg("%s: %d threads, %d registers, %d bytes: %d, expected %d", names[i],
                         cases[k].threads, cases[k].registers, (int)cases[k].smem, got,
                         cases[k].blocks[i]);
        }
    }
}

static void test_blocks_out_of_range(void **state) {
    (void)state;
    const Device *dev = shipped("h200");
    assert_int_equal(hal_blocks_per_sm(dev, 0, 32, 0), 0);
    assert_int_equal(hal_blocks_per_sm(dev, -5, 32, 0), 0);
    assert_int_equal(hal_blocks_per_sm(dev, 1025, 32, 0), 0);
    assert_int_equal(hal_blocks_per_sm(dev, 128, 256, 0), 0);
    assert_int_equal(hal_blocks_per_sm(dev, 128, -1, 0), 0);
    assert_int_equal(hal_blocks_per_sm(dev, 128, 32, -1), 0);
    assert_int_equal(hal_blocks_per_sm(dev, 128, 32, 232448), 1);
    assert_int_equal(hal_blocks_per_sm(dev, 128, 32, 232449), 0);
    assert_int_equal(hal_blocks_per_sm(dev, 128, 32, INT64_MAX), 0);
    assert_int_equal(hal_blocks_per_sm(dev, 64, 0, 0), 32);
}

static void test_tiny_runs(void **state) {
    (void)state;
    const Device *dev = shipped("tiny");
    assert_true(hal_blocks_per_sm(dev, 32, 64, 1024) >= 1);
    assert_int_equal(hal_blocks_per_sm(dev, 128, 64, 4096), 1);
    assert_int_equal(hal_blocks_per_sm(dev, 160, 32, 0), 0);
    assert_int_equal(hal_blocks_per_sm(dev, 32, 65, 0), 0);
    assert_int_equal(hal_blocks_per_sm(dev, 32, 32, 4097), 0);
    assert_null(hal_mover(dev, "cp.async.16"));
    assert_non_null(hal_mover(dev, "ldg_sts.16"));
    assert_non_null(hal_unit(dev, "ffma"));
}

static void test_curve(void **state) {
    (void)state;
    double x[] = {1, 4, 64, 65536}, y[] = {10, 20, 50, 18};
    Curve c = {.n = 4, .px = x, .py = y};
    assert_float_equal(hal_curve(&c, 0.001), 10, 0);
    assert_float_equal(hal_curve(&c, -3), 10, 0);
    assert_float_equal(hal_curve(&c, NAN), 10, 0);
    assert_float_equal(hal_curve(&c, 1e300), 18, 0);
    assert_float_equal(hal_curve(&c, INFINITY), 18, 0);
    for (int i = 0; i < 4; i++)
        assert_float_equal(hal_curve(&c, x[i]), y[i], 1e-12);
    assert_float_equal(hal_curve(&c, 2), 15, 1e-12);
    assert_float_equal(hal_curve(&c, 16), 35, 1e-12);
    assert_float_equal(hal_curve(&c, 2048), 34, 1e-12);
    for (double at = 1; at < 70000; at *= 1.0173) {
        int i = at >= 64 ? 2 : at >= 4 ? 1 : 0;
        double t = log2(at / x[i]) / log2(x[i + 1] / x[i]);
        double want = at >= 65536 ? 18 : y[i] + t * (y[i + 1] - y[i]);
        assert_float_equal(hal_curve(&c, at), want, 1e-12);
    }
}

static void test_lookups(void **state) {
    (void)state;
    const Device *dev = shipped("h200");
    const ComputeUnit *u = hal_unit(dev, "wgmma.bf16.f32");
    assert_non_null(u);
    assert_int_equal(u->scope, SCOPE_WARPGROUP);
    assert_int_equal(u->n.from, 8);
    assert_int_equal(u->n.to, 256);
    assert_int_equal(u->n.step, 8);
    assert_int_equal(u->swizzles, 15);
    assert_true(u->a_reg && u->a_smem && !u->b_reg && u->b_smem);
    assert_int_equal(hal_unit(dev, "mufu.ex2")->b, HAL_NO_DTYPE);
    assert_null(hal_unit(dev, "wgmma"));
    assert_null(hal_unit(dev, ""));
    assert_null(hal_mover(dev, "ffma"));
    assert_int_equal(hal_mover(dev, "tma.tile")->box_max, 256);
    assert_float_equal(hal_factor(dev, "ffma"), 1, 0);
    assert_float_equal(hal_clock_hz(dev), 1830e6, 0);
    const MemoryLevel *dram = &dev->memory[LEVEL_DRAM];
    assert_non_null(hal_level_curve(dram, "read", "bytes_in_flight_per_sm"));
    assert_null(hal_level_curve(dram, "read", "footprint"));
    assert_null(hal_level_curve(dram, "copy", "total_bytes"));
    assert_true(hal_has(&dram->read));
    assert_false(hal_has(&dram->banks));
    assert_float_equal(dram->banks.value, 0, 0);
}

static void test_arch(void **state) {
    (void)state;
    int sm;
    char suffix;
    assert_true(hal_arch("sm_90a", &sm, &suffix) && sm == 90 && suffix == 'a');
    assert_true(hal_arch("sm_120f", &sm, &suffix) && sm == 120 && suffix == 'f');
    assert_true(hal_arch("sm_75", &sm, &suffix) && sm == 75 && suffix == 0);
    static const char *const bad[] = {"", "sm_", "sm_a", "sm_9x", "sm_90aa", "sm_90b", "compute_80",
                                      "SM_80", "sm_080", "sm_-80", "sm_99999999999", " sm_80"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(hal_arch(bad[i], &sm, &suffix));
}

/* Without what needs tensor maps, and nothing else.  */
static void test_device_plain(void **state) {
    (void)state;
    const Device *h200 = shipped("h200"), *dev = hal_device_plain(arena, h200);
    int maps = 0;
    for (int i = 0; i < h200->n_mover; i++) {
        const Mover *m = &h200->mover[i];
        bool tma = strncmp(m->name, "tma.", 4) == 0;
        maps += tma;
        assert_int_equal(hal_moves_by_map(m), tma);
        assert_int_equal(hal_mover(dev, m->name) == NULL, tma);
    }
    assert_true(maps > 0);
    assert_int_equal(dev->n_mover, h200->n_mover - maps);
}

/* Scales of blocks are of a family of architectures, whose name the target has to have.  */
static void test_family(void **state) {
    (void)state;
    const Device *rtx5090 = shipped("rtx5090"), *gb10 = shipped("gb10");
    Device *dev;
    static const char unit[] = "mma.m16n8k32.mxf8f6f4.f8e4m3.f32";
    assert_non_null(hal_unit(rtx5090, unit));
    assert_int_equal(hal_device_for_arch(arena, &diag, rtx5090, "sm_120f", &dev), ST_OK);
    assert_non_null(hal_unit(dev, unit));
    assert_int_equal(hal_device_for_arch(arena, &diag, gb10, "sm_120f", &dev), ST_OK);
    assert_non_null(hal_unit(dev, unit));
    assert_int_equal(hal_device_for_arch(arena, &diag, rtx5090, "sm_120", &dev), ST_OK);
    assert_null(hal_unit(dev, unit));
    assert_non_null(hal_unit(dev, "mma.m16n8k32.f8e4m3.f32"));
}

static void test_device_for_arch(void **state) {
    (void)state;
    const Device *h200 = shipped("h200");
    Device *dev;
    assert_int_equal(hal_device_for_arch(arena, &diag, h200, "sm_80", &dev), ST_OK);
    assert_string_equal(dev->arch, "sm_80");
    assert_non_null(hal_unit(dev, "mma.m16n8k16.f16.f32"));
    assert_null(hal_unit(dev, "wgmma.f16.f32"));
    assert_null(hal_unit(dev, "mma.m16n8k32.f8e4m3.f32"));
    assert_non_null(hal_mover(dev, "cp.async.16"));
    static const char *const newer[] = {"cp.async.bulk", "tma.tile", "tma.reduce", "stmatrix",
                                        "dsmem"};
    for (size_t i = 0; i < sizeof newer / sizeof *newer; i++) {
        assert_non_null(hal_mover(h200, newer[i]));
        assert_null(hal_mover(dev, newer[i]));
    }
    assert_false(dev->memory[LEVEL_DSMEM].present);
    assert_float_equal(dev->limits.cluster_max.value, 1, 0);
    assert_float_equal(dev->limits.sm_count.value, 132, 0);
    assert_int_equal(hal_device_for_arch(arena, &diag, h200, "sm_90", &dev), ST_OK);
    assert_null(hal_unit(dev, "wgmma.f16.f32"));
    assert_non_null(hal_mover(dev, "tma.tile"));
    assert_int_equal(hal_device_for_arch(arena, &diag, h200, "sm_90a", &dev), ST_OK);
    assert_int_equal(dev->n_unit, h200->n_unit);
    assert_int_equal(dev->n_mover, h200->n_mover);
    assert_int_equal(hal_device_for_arch(arena, &diag, h200, "sm_70", &dev), ST_OK);
    assert_null(hal_mover(dev, "cp.async.4"));
    assert_null(hal_mover(dev, "ldmatrix"));
    assert_null(hal_unit(dev, "mufu.tanh"));
    assert_non_null(hal_unit(dev, "mufu.ex2"));
    assert_int_equal(diag.errors, 0);
}

static void test_device_for_wrong_arch(void **state) {
    (void)state;
    const Device *a100 = shipped("a100");
    Device *dev;
    static const char *const bad[] = {"sm_90", "sm_86", "sm_90a", "sm_75a", "sm_75f", "sm", "x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(hal_device_for_arch(arena, &diag, a100, bad[i], &dev), ST_USAGE);
        assert_null(dev);
    }
    assert_string_equal(diag.messages[0].message,
                        "code for sm_90 does not run on a100, which is sm_80");
    assert_string_equal(diag.messages[5].message, "\"sm\" is no architecture");
}

/* What exists for an arch is what the shipped profile of that arch lists.  */
static void test_arch_table_agrees_with_profiles(void **state) {
    (void)state;
    static const char *const names[] = {"v100", "t4", "rtx2080ti", "a100", "a10", "rtx4090", "l4",
                                        "h100", "h200", "b200", "rtx5090", "gb10", "tiny",
                                     "pocl"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const Device *own = shipped(names[i]);
        Device *dev;
        assert_int_equal(hal_device_for_arch(arena, &diag, own, own->arch, &dev), ST_OK);
        for (int k = 0; k < own->n_unit; k++)
            if (!hal_unit(dev, own->unit[k].name))
                fail_msg("%s: %s", names[i], own->unit[k].name);
        for (int k = 0; k < own->n_mover; k++)
            if (!hal_mover(dev, own->mover[k].name))
                fail_msg("%s: %s", names[i], own->mover[k].name);
    }
}

/* Kernels that CUDA does not know are for no architecture of it, and for no simulator.  */
static void test_language(void **state) {
    (void)state;
    const Device *cpu = shipped("pocl");
    Device *dev;
    assert_int_equal(cpu->language, LANGUAGE_OPENCL);
    assert_int_equal(shipped("h200")->language, LANGUAGE_CUDA);
    assert_int_equal(hal_need_cuda(&diag, shipped("h200")), ST_OK);
    assert_int_equal(hal_need_cuda(&diag, cpu), ST_USAGE);
    assert_int_equal(hal_device_for_arch(arena, &diag, cpu, "sm_80", &dev), ST_USAGE);
    assert_string_equal(diag.messages[1].message,
                        "code for sm_80 does not run on pocl, which is cl1.2");
    assert_false(hal_overlaps(cpu));
    assert_int_equal(hal_device_plain(arena, cpu)->n_mover, cpu->n_mover);
}

static void write_text(const char *path, const char *text) {
    assert_int_equal(file_write(&diag, path, text, strlen(text)), ST_OK);
}

static void test_find(void **state) {
    (void)state;
    char root[] = "/tmp/test_hal_XXXXXX";
    assert_non_null(mkdtemp(root));
    const char *one = arena_printf(arena, "%s/one", root);
    const char *two = arena_printf(arena, "%s/two", root);
    assert_int_equal(mkdir(one, 0700) | mkdir(two, 0700), 0);
    char *tiny;
    size_t len;
    assert_int_equal(file_read(arena, &diag, "profiles/tiny.json", 1 << 20, &tiny, &len), ST_OK);
    const char *files[] = {arena_printf(arena, "%s/zeta.json", one),
                           arena_printf(arena, "%s/beta.json", two),
                           arena_printf(arena, "%s/zeta.json", two),
                           arena_printf(arena, "%s/default", two),
                           arena_printf(arena, "%s/notes.txt", two)};
    write_text(files[0], tiny);
    write_text(files[1], tiny);
    write_text(files[2], "{}");
    write_text(files[3], "zeta\n");
    write_text(files[4], "");
    const char *path = arena_printf(arena, "%s/none::%s:%s", root, one, two);
    const char *file, *const *names;
    Device *dev;
    assert_int_equal(hal_profile_find(arena, &diag, "zeta", path, &file, &dev), ST_OK);
    assert_string_equal(file, files[0]);
    assert_string_equal(dev->name, "tiny");
    assert_int_equal(hal_profile_find(arena, &diag, files[1], "", &file, &dev), ST_OK);
    assert_int_equal(hal_profile_list(arena, path, &names), 2);
    assert_string_equal(names[0], "zeta");
    assert_string_equal(names[1], "beta");
    assert_string_equal(hal_profile_default(arena, path), files[2]);      /* the one beside */
    write_text(files[3], "gamma\n");
    assert_string_equal(hal_profile_default(arena, path), "gamma");       /* there is none */
    setenv("ROLLER_PROFILE", "beta", 1);
    assert_string_equal(hal_profile_chosen(arena, path, false), "beta");
    assert_string_equal(hal_profile_chosen(arena, path, true), "gamma");
    setenv("ROLLER_PROFILE", "", 1);
    assert_string_equal(hal_profile_chosen(arena, path, false), "gamma");
    assert_string_equal(hal_profile_chosen(arena, one, false), "h200");
    unsetenv("ROLLER_PROFILE");
    assert_null(hal_profile_default(arena, one));
    assert_int_equal(diag.errors, 0);
    assert_int_equal(hal_profile_find(arena, &diag, "gamma", path, &file, &dev), ST_IO);
    assert_null(dev);
    assert_non_null(strstr(diag.messages[0].message, "there is no profile \"gamma\""));
    assert_string_equal(diag.messages[0].hint, "there are zeta, beta");
    assert_int_equal(hal_profile_find(arena, &diag, "gamma", one + 1, NULL, &dev), ST_IO);
    assert_non_null(strstr(diag.messages[1].hint, "none at all"));
    assert_int_equal(hal_profile_find(arena, &diag, "no/such.json", path, &file, &dev), ST_IO);
    assert_int_equal(hal_profile_find(arena, &diag, "", path, &file, &dev), ST_IO);
    assert_int_equal(hal_profile_find(arena, &diag, "..", path, &file, &dev), ST_IO);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(files[i]);
    assert_int_equal(rmdir(one) | rmdir(two) | rmdir(root), 0);
}

static void test_path(void **state) {
    (void)state;
    setenv("ROLLER_PROFILE_PATH", "/a:/b", 1);
    setenv("XDG_DATA_HOME", "/data", 1);
    setenv("HOME", "/home/u", 1);
    const char *path = hal_profile_path(arena, false);
    assert_memory_equal(path, "/a:/b:./profiles:/data/roller/profiles:/", 40);
    assert_memory_equal(hal_profile_path(arena, true), "./profiles:/", 12);
    assert_null(strstr(hal_profile_path(arena, true), "/data"));
    setenv("XDG_DATA_HOME", "relative", 1);
    unsetenv("ROLLER_PROFILE_PATH");
    path = hal_profile_path(arena, false);
    assert_memory_equal(path, "./profiles:/home/u/.local/share/roller/profiles:/", 49);
    assert_string_equal(hal_profile_home(arena), "/home/u/.local/share/roller/profiles");
    setenv("HOME", "u", 1);
    assert_null(hal_profile_home(arena));
    setenv("HOME", "/home/a:b", 1);
    assert_null(hal_profile_home(arena));
    assert_null(strstr(hal_profile_path(arena, false), "a:b"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_blocks_per_sm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_blocks_out_of_range, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tiny_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_curve, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lookups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_arch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_device_for_arch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_device_plain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_family, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_device_for_wrong_arch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_arch_table_agrees_with_profiles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_language, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_find, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_path, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
