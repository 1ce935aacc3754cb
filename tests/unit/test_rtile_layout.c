/* links: rtile */
/* Layouts: the padding formula, swizzles, and wavefronts against a count written independently.  */
#include "rtile/rtile.h"
#include "wavefronts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"

static void random_requests(void **state) {
    (void)state;
    Rng r = {7};
    for (int round = 0; round < 4000; round++) {
        int width = 1 << rng_below(&r, 5);
        int spread = 1 << rng_below(&r, 9), repeat = (int)rng_below(&r, 3);
        int32_t addr[32];
        for (int i = 0; i < 32; i++) {
            addr[i] = (int32_t)rng_below(&r, (uint32_t)spread + 1) * width;
            if (repeat) addr[i] = addr[i & ~repeat] = addr[i];
            if (repeat && (i & repeat)) addr[i] = addr[i ^ repeat];
        }
        uint32_t active = round % 3 ? UINT32_MAX : (uint32_t)rng_next(&r);
        assert_int_equal(rtile_wavefronts(addr, active, width),
                         slow_wavefronts(addr, active, width));
    }
}

static void known_requests(void **state) {
    (void)state;
    int32_t row[32], column[32], wide[32], same[32] = {0};
    for (int i = 0; i < 32; i++) {
        row[i] = 4 * i;
        column[i] = 128 * i;
        wide[i] = 16 * i;
    }
    assert_int_equal(rtile_wavefronts(row, UINT32_MAX, 4), 1);
    assert_int_equal(rtile_wavefronts(column, UINT32_MAX, 4), 32);
    assert_int_equal(rtile_wavefronts(wide, UINT32_MAX, 16), 4);
    assert_int_equal(rtile_wavefronts(same, UINT32_MAX, 16), 2);
    assert_int_equal(rtile_wavefronts(same, UINT32_MAX, 4), 1);
    assert_int_equal(rtile_wavefronts(row, 0, 4), 0);
}

/* The formula's row stride is the width of a read modulo all banks, so that rows follow each
 * other.  */
static void padding_formula(void **state) {
    (void)state;
    for (int elem = 4; elem <= 8; elem *= 2) {
        for (int row = 1; row <= 300; row++) {
            for (int tile = 1; tile * elem <= 16; tile *= 2) {
                int pad = rtile_pad(32, 4, elem, row, tile);
                assert_true(pad >= 0 && pad * elem < 128);
                assert_int_equal((row + pad) * elem % 128, tile * elem % 128);
            }
        }
    }
    assert_int_equal(rtile_pad(32, 4, 4, 128, 4), 4);
    assert_int_equal(rtile_pad(32, 4, 4, 128, 1), 1);
    assert_int_equal(rtile_pad(32, 4, 4, 129, 1), 0);
}

/* A padded tile can be read down a column without conflicts.  */
static void padding_works(void **state) {
    (void)state;
    for (int row = 8; row <= 256; row += 8) {
        RLayout l = {.inner = AX_M, .pad = (int16_t)rtile_pad(32, 4, 4, row, 1)};
        int32_t addr[32];
        for (int r = 0; r < 32; r++) addr[r] = rtile_at(l, row, 4, r, 3);
        assert_int_equal(rtile_wavefronts(addr, UINT32_MAX, 4), 1);
    }
}

/* Every swizzle moves the chunks of a row among themselves, and one of full width frees column
 * reads.  */
static void swizzles(void **state) {
    (void)state;
    for (int bits = 1; bits <= 3; bits++) {
        for (int shift = 0; shift <= 3; shift++) {
            for (int base = 0; base + bits <= 3; base++) {
                RLayout l = {.inner = AX_K, .bits = (uint8_t)bits, .shift = (uint8_t)shift,
                             .base = (uint8_t)base};
                for (int r = 0; r < 64; r++) {
                    uint8_t seen[128] = {0};
                    for (int e = 0; e < 32; e++) {
                        int32_t at = rtile_at(l, 32, 4, r, e) - r * 128;
                        assert_in_range(at, 0, 127);
                        assert_int_equal(at % 16, e * 4 % 16);
                        assert_int_equal(seen[at]++, 0);
                    }
                }
            }
        }
    }
    RLayout full = {.inner = AX_K, .bits = 3};
    int32_t addr[32];
    for (int r = 0; r < 32; r++) addr[r] = rtile_at(full, 32, 4, r, 4);
    assert_int_equal(rtile_wavefronts(addr, UINT32_MAX, 16), 4);
    full.bits = 0;
    for (int r = 0; r < 32; r++) addr[r] = rtile_at(full, 32, 4, r, 4);
    assert_int_equal(rtile_wavefronts(addr, UINT32_MAX, 16), 32);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_requests), cmocka_unit_test(known_requests),
        cmocka_unit_test(padding_formula), cmocka_unit_test(padding_works),
        cmocka_unit_test(swizzles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
