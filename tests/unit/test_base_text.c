/* links: base */
#include "base/buf.h"
#include "base/hash.h"
#include "base/numeric.h"

#include "arena_fixture.h"
#include "oom.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static double double_of(uint64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static const char *real(double v) {
    Buf b = buf_new(arena);
    buf_real(&b, v);
    return buf_str(&b);
}

static double read_real(const char *s) {
    double v = NAN;
    if (!num_real(s, strlen(s), &v)) fail_msg("'%s' is not read", s);
    return v;
}

static void buffers_grow(void **state) {
    (void)state;
    Buf b = buf_new(arena);
    assert_string_equal(buf_str(&b), "");
    buf_add(&b, NULL, 0);
    assert_string_equal(b.text, "");
    for (int i = 0; i < 1000; i++) {
        buf_putc(&b, 'a');
        buf_puts(&b, "bc");
        buf_printf(&b, "%d", i % 10);
    }
    assert_int_equal(b.len, 4000);
    assert_int_equal(strlen(buf_str(&b)), 4000);
    assert_string_equal(buf_str(&b) + 3996, "abc9");
    buf_printf(&b, "%0700d", 5);
    assert_int_equal(b.len, 4700);
    assert_int_equal(b.text[4699], '5');
    buf_add(&b, "x\0y", 3);
    assert_int_equal(b.len, 4703);
    assert_memory_equal(b.text + 4700, "x\0y", 4);
}

static void reals_are_spelled_so(void **state) {
    (void)state;
    static const struct {
        double v;
        const char *text;
    } row[] = {
        {0, "0.0"}, {-0.0, "-0.0"}, {1, "1.0"}, {-2.5, "-2.5"}, {4096, "4096.0"}, {0.1, "0.1"},
        {1e-5, "0.00001"}, {1.25e-3, "0.00125"}, {1e-6, "1e-6"}, {1.5e-7, "1.5e-7"},
        {123456.789, "123456.789"}, {1e15, "1000000000000000.0"}, {1e16, "1e16"},
        {9007199254740993e3, "9.007199254740993e18"}, {0.79788456, "0.79788456"},
        {5e-324, "5e-324"}, {1.7976931348623157e308, "1.7976931348623157e308"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"}, {1.0 / 3, "0.3333333333333333"},
        {INFINITY, "inf"}, {-INFINITY, "-inf"}, {NAN, "nan"}, {1e23, "1e23"},
        {123456789012345680.0, "1.2345678901234568e17"}, {9e15 + 1, "9000000000000001.0"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_string_equal(real(row[i].v), row[i].text);
}

/* Digits that count in a decimal text, and the same number with one digit less.  */
static bool shorter_would_do(double v, const char *text) {
    int digits = 0;
    const char *p = text;
    while (*p == '-' || *p == '0' || *p == '.') p++;
    const char *last = p;
    for (const char *q = p; *q && *q != 'e'; q++)
        if (*q >= '1' && *q <= '9') last = q;
    for (const char *q = p; *q && q <= last; q++) digits += *q != '.';
    char less[64];
    if (digits < 2) return false;
    snprintf(less, sizeof less, "%.*e", digits - 2, v);
    return strtod(less, NULL) == v;
}

static void check_round_trip(double v) {
    const char *text = real(v);
    assert_true(strtod(text, NULL) == v);
    if (shorter_would_do(v, text)) fail_msg("%s is not the shortest text of %a", text, v);
    assert_non_null(strpbrk(text, ".e"));
}

static void reals_read_back_and_are_short(void **state) {
    (void)state;
    Rng rng = {1};
    for (int i = 0; i < 60000; i++) {
        ArenaMark m = arena_mark(arena);
        double v = double_of(rng_next(&rng));
        if (isfinite(v)) check_round_trip(v);
        check_round_trip((double)rng_below(&rng, 2000000) / 1000);
        check_round_trip((double)(float)(i * 0.37));
        arena_reset(arena, m);
    }
    for (int e = -1074; e < 1024; e++) {
        check_round_trip(ldexp(1, e));
        check_round_trip(nextafter(ldexp(1, e), 0) + 0.0);
    }
}

static void decimals_agree_with_strtod(void **state) {
    (void)state;
    Rng rng = {2};
    char text[1200];
    for (int i = 0; i < 60000; i++) {
        /* Up to 25 digits with a point anywhere, sometimes hundreds; any exponent.  */
        size_t digits = 1 + rng_below(&rng, i % 50 ? 25 : 1000), n = 0;
        size_t point = rng_below(&rng, (uint32_t)digits);
        for (size_t k = 0; k < digits; k++) {
            text[n++] = (char)('0' + rng_below(&rng, i % 3 ? 10 : 2) * (i % 3 ? 1 : 9));
            if (k == point && k + 1 < digits) text[n++] = '.';
        }
        snprintf(text + n, sizeof text - n, "%s%d", i % 2 ? "e" : "E+",
                 i % 2 ? (int)rng_below(&rng, 700) - 370 : (int)rng_below(&rng, 40));
        double got = read_real(text), want = strtod(text, NULL);
        if (got != want) fail_msg("%s read as %a, not %a", text, got, want);
    }
}

/* The exact decimal expansion of the point halfway between two doubles is a tie; one digit far
 * behind decides.  */
static void decimals_halfway(void **state) {
    (void)state;
    Rng rng = {3};
    char text[1500];
    for (int i = 0; i < 3000; i++) {
        double low = double_of(rng_next(&rng) & 0x7fdfffffffffffff);
        if (i % 3 == 0) low = double_of(rng_next(&rng) & 0x001fffffffffffff);
        if (i % 3 == 1) low = (double)(rng_next(&rng) >> 11);
        /* low * 2^60 scaled by hand: print low and its ulp exactly, add half by long double.  */
        long double middle = (long double)low + ((long double)nextafter(low, INFINITY) -
                                                 (long double)low) / 2;
        int n = snprintf(text, sizeof text, "%.1100Le", middle);
        assert_true(read_real(text) == strtod(text, NULL));
        char *e = memchr(text, 'e', (size_t)n);
        e[-1] = '1';
        assert_true(read_real(text) == strtod(text, NULL));
        assert_true(read_real(text) == nextafter(low, INFINITY));
    }
}

static void decimals_beyond_the_range(void **state) {
    (void)state;
    static const char *const big[] = {"1e309", "1.7976931348623159e308", "1e99999999999999999999",
                                      "2e308"};
    static const char *const none[] = {"1e-400", "2e-324", "0e999999999999", "0.0", "000",
                                       "1e-99999999999999999999"};
    for (size_t i = 0; i < 4; i++) assert_true(isinf(read_real(big[i])));
    for (size_t i = 0; i < 6; i++) assert_true(read_real(none[i]) == 0);
    assert_true(read_real("3e-324") == 0x1p-1074);
    assert_true(read_real("1.7976931348623158e308") == 0x1.fffffffffffffp1023);
    /* A million zeros and the exponent that undoes them.  */
    size_t n = 1000000;
    char *text = arena_alloc(arena, n + 32);
    memset(text, '0', n + 2);
    text[1] = '.';
    memcpy(text + n + 2, "125e1000001", 12);
    assert_true(read_real(text) == 1.25);
}

static void other_texts_are_not_numbers(void **state) {
    (void)state;
    static const char *const row[] = {"", ".", ".5", "5.", "1e", "1e+", "-1", "+1", " 1", "1 ",
                                      "0x10", "inf", "nan", "1,5", "1.5.2", "1e5e5", "1e5.0",
                                      "1_0"};
    double v;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (num_real(row[i], strlen(row[i]), &v)) fail_msg("'%s' is read", row[i]);
    assert_false(num_real("1\0", 2, &v));
    assert_true(num_real("12345", 3, &v) && v == 123);
}

/* A locale with a decimal comma changes nothing; skipped where none is installed.  */
static void locales_do_not_matter(void **state) {
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    const char *found = NULL;
    for (size_t i = 0; i < 4 && !found; i++) found = setlocale(LC_ALL, names[i]);
    if (!found) skip();
    char text[8];
    snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, "0,5");
    assert_string_equal(real(0.5), "0.5");
    assert_string_equal(real(1.0 / 3), "0.3333333333333333");
    assert_string_equal(real(1.5e-7), "1.5e-7");
    assert_true(read_real("0.3333333333333333") == 1.0 / 3);
    setlocale(LC_ALL, "C");
}

static void write_text(Arena *a, void *user) {
    (void)user;
    Buf b = buf_new(a);
    for (int i = 0; i < 30; i++) buf_printf(&b, "%d %0100d", i, i);
    buf_real(&b, 1.0 / 3);
    assert_string_equal(buf_str(&b) + b.len - 18, "0.3333333333333333");
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    oom_sweep(write_text, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_grow),
        cmocka_unit_test(reals_are_spelled_so),
        cmocka_unit_test(reals_read_back_and_are_short),
        cmocka_unit_test(decimals_agree_with_strtod),
        cmocka_unit_test(decimals_halfway),
        cmocka_unit_test(decimals_beyond_the_range),
        cmocka_unit_test(other_texts_are_not_numbers),
        cmocka_unit_test(locales_do_not_matter),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
