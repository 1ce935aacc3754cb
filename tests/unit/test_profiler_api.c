/* Devices and profiles as a host sees them, on the simulated driver.  */
#include "roller.h"
#include "simulated.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static RollerCtx *ctx;

static int setup(void **state) {
    (void)state;
    simulated_setup("profiles/tiny.json,profiles/a100.json");
    setenv("ROLLER_PROFILE_PATH", "profiles", 1);
    return roller_ctx_create(NULL, &ctx) ? -1 : 0;
}

static int teardown(void **state) {
    (void)state;
    roller_ctx_destroy(ctx);
    return 0;
}

static RollerProfile *load(const char *name) {
    RollerProfile *p;
    assert_int_equal(roller_profile_load(ctx, name, &p), ROLLER_OK);
    return p;
}

static void devices_are_told(void **state) {
    (void)state;
    RollerDevice d = {.struct_size = sizeof d};
    RollerProfile *p;
    char uuid[64];
    assert_int_equal(roller_device(ctx, "1", &d), ROLLER_OK);
    assert_int_equal(d.index, 1);
    assert_int_equal(d.count, 2);
    assert_string_equal(d.arch, "sm_80");
    assert_true(d.simulated && d.driver >= 12000);
    assert_non_null(strstr(d.profile_name, "a100"));
    assert_true(strlen(d.uuid) < sizeof uuid);
    strcpy(uuid, d.uuid);
    assert_int_equal(roller_device(ctx, uuid, &d), ROLLER_OK);
    assert_int_equal(d.index, 1);
    char *name = strdup(d.name);
    assert_int_equal(roller_profile_for_gpu(ctx, name, &p), ROLLER_OK);
    assert_string_equal(roller_profile_name(p), "a100");
    roller_profile_destroy(p);
    free(name);
    assert_int_equal(roller_device(ctx, NULL, &d), ROLLER_OK);
    assert_int_equal(d.index, 0);
    assert_int_not_equal(roller_device(ctx, "2", &d), ROLLER_OK);
    assert_null(d.name);
    assert_int_equal(roller_profile_for_gpu(ctx, "NVIDIA Nothing", &p), ROLLER_PROFILE);
    assert_null(p);
}

static void profiles_are_shown(void **state) {
    (void)state;
    RollerProfile *old = load("a100"), *now = load("h200");
    const char *text;
    size_t len;
    assert_int_equal(roller_profile_sheet(ctx, now, &text, &len), ROLLER_OK);
    assert_int_equal(strlen(text), len);
    assert_non_null(strstr(text, "h200: NVIDIA H200 (sm_90a"));
    assert_non_null(strstr(text, "sm_count"));
    assert_int_equal(roller_profile_differences(ctx, old, now, 0, &text, &len), ROLLER_OK);
    assert_non_null(strstr(text, "sm_count"));
    assert_non_null(strstr(text, "figures differ"));
    assert_int_equal(roller_profile_differences(ctx, now, now, 1, &text, &len), ROLLER_OK);
    assert_string_equal(text, "[]");
    RollerProfileReport r = {.struct_size = sizeof r};
    assert_int_equal(roller_profile_report(ctx, now, &r), ROLLER_OK);
    assert_false(r.simulated);
    assert_int_equal(r.missed, 0);
    roller_profile_destroy(old);
    roller_profile_destroy(now);
}

static void measurements_are_listed(void **state) {
    (void)state;
    RollerMeasurement m = {.struct_size = sizeof m};
    int n = 0;
    double quick = 0, full = 0;
    for (; !roller_profile_measurement(n, &m); n++) {
        assert_true(*m.name && *m.text);
        quick += m.quick_s;
        full += m.full_s;
    }
    assert_true(n > 1 && quick > 0 && quick < full);
    assert_int_equal(roller_profile_measurement(-1, &m), ROLLER_USAGE);
}

static void own_profiles_have_a_folder(void **state) {
    (void)state;
    setenv("XDG_DATA_HOME", "/somewhere", 1);
    assert_string_equal(roller_profile_home(ctx), "/somewhere/roller/profiles");
    setenv("XDG_DATA_HOME", "relative", 1);
    setenv("HOME", "", 1);
    assert_null(roller_profile_home(ctx));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_told), cmocka_unit_test(profiles_are_shown),
        cmocka_unit_test(measurements_are_listed), cmocka_unit_test(own_profiles_have_a_folder)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
