/* links: microperf */
/* Sizes, footprint, traffic, reuse.  */
#include "plan_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool has(const int32_t *sizes, int n, int32_t s) {
    for (int i = 0; i < n; i++) {
        if (sizes[i] == s) return true;
    }
    return false;
}

static void aligned_sizes(void **state) {
    (void)state;
    static const struct {
        int64_t n;
        int unit, max;
        double epsilon;
        int count;
        int32_t some[6];
    } rows[] = {
        {4096, 8, 256, 0, 6, {8, 16, 32, 64, 128, 256}},
        {1000, 8, 256, 0, 3, {8, 40, 200}},
        {672, 8, 256, 0, 10, {24, 48, 56, 96, 112, 224}},
        {4096, 8, 256, 0.02, 0, {24, 40, 48, 72, 96, 112}},
        {1, 1, 64, 0, 1, {1}},
        {30522, 2, 64, 0, 2, {2, 6}},
        {97, 8, 256, 0, 0, {0}},
        {4096, 32, 256, 0.1, 0, {32, 96, 160, 192, 224}},
        {97, 8, 256, 0.08, 0, {8, 104}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int32_t got[64];
        int n = rtile_sizes(rows[i].n, rows[i].unit, rows[i].max, rows[i].epsilon, got, 64);
        int expected = 0;
        for (int32_t s = rows[i].unit; s <= rows[i].max; s += rows[i].unit) {
            int64_t padded = (rows[i].n + s - 1) / s * s;
            expected += (double)(padded - rows[i].n) <= rows[i].epsilon * (double)rows[i].n;
        }
        assert_int_equal(n, expected);
        for (int j = 1; j < n; j++) assert_true(got[j - 1] < got[j]);
        for (int j = 0; j < 6 && rows[i].some[j]; j++) assert_true(has(got, n, rows[i].some[j]));
        if (rows[i].epsilon == 0) assert_int_equal(n, rows[i].count);
    }
    int32_t few[2];
    assert_int_equal(rtile_sizes(4096, 8, 256, 0, few, 2), 2);
}

static void broken_rules(void **state) {
    (void)state;
    assert_int_equal(rtile_broken(4096, 100, 8, 1, 0), RTILE_RULE_UNIT);
    assert_int_equal(rtile_broken(4096, 8, 2, 16, 0), RTILE_RULE_MOVER);
    assert_int_equal(rtile_broken(4096, 96, 8, 4, 0), RTILE_RULE_PADDING);
    assert_int_equal(rtile_broken(4096, 96, 8, 4, 0.01), RTILE_RULE_COUNT);
    for (RTileRule r = 0; r < RTILE_RULE_COUNT; r++) assert_non_null(rtile_rule_text(r));
}

static RTile tile(int32_t m, int32_t n, int32_t k) {
    RTile t;
    for (int i = 0; i < RT_AXES; i++) t.extent[i] = 1;
    t.extent[AX_M] = m;
    t.extent[AX_N] = n;
    t.extent[AX_K] = k;
    return t;
}

static void footprint_and_traffic(void **state) {
    (void)state;
    Problem p = fixture_matmul(1, 512, 256, 128, false, false, TE_F32);
    RLayout plain[2] = {{.inner = AX_K}, {.inner = AX_N}};
    RTile t = tile(64, 32, 8), wide = tile(64, 64, 8);
    assert_int_equal(rtile_footprint(&p, &t, plain), (64 * 8 + 32 * 8) * 4);
    RLayout padded[2] = {{.inner = AX_K, .pad = 4}, {.inner = AX_N, .pad = 1}};
    /* a: 64 rows of 12; b: 8 rows of 33, rounded to 16 bytes */
    assert_int_equal(rtile_footprint(&p, &t, padded), 64 * 12 * 4 + 1056);
    double out = 512 * 256 * 4;
    assert_true(rtile_traffic(&p, &t) == 512.0 * 128 * 4 * 8 + 256.0 * 128 * 4 * 8 + out);
    assert_true(rtile_traffic(&p, &wide) == 512.0 * 128 * 4 * 4 + 256.0 * 128 * 4 * 8 + out);
    double saved = 512.0 * 128 * 4 * 4, grown = 32 * 8 * 4;
    assert_true(fabs(rtile_reuse(&p, &t, &wide) - saved / grown) < 1e-9);
    assert_true(isinf(rtile_reuse(&p, &wide, &t)));
    Problem map = fixture_map(1000, TE_F32);
    assert_int_equal(rtile_footprint(&map, &t, plain), 0);
    assert_true(rtile_traffic(&map, &t) == 8000);
}

/* The axis that saves more per byte has the better score: the short side of a tile.  */
static void reuse_prefers_the_short_side(void **state) {
    (void)state;
    Problem p = fixture_matmul(1, 4096, 4096, 4096, false, false, TE_F32);
    RTile t = tile(128, 32, 8), m = tile(256, 32, 8), n = tile(128, 64, 8);
    assert_true(rtile_reuse(&p, &t, &n) > rtile_reuse(&p, &t, &m));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligned_sizes), cmocka_unit_test(broken_rules),
        cmocka_unit_test(footprint_and_traffic), cmocka_unit_test(reuse_prefers_the_short_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
