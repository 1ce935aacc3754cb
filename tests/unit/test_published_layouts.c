/* links: rtile */
/* Layouts of shared memory that others publish for their kernels are among ours, and reads that
 * they are said to leave without bank conflicts have none by our count.
 *
 * Facts from NVIDIA/cutlass: include/cutlass/layout/tensor_op_multiplicand_sm75.h (16-bit elements,
 * rows of 32 or 64; 32-bit ones by columns), and CuTe's Swizzle<B, 4, 3> over bytes, of the tiles
 * that TMA writes for wgmma.  */
#include "rtile/rtile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CHUNK = 16, LINE = 128, LANES = 32 };

/* Bits [4, 4 + b) of an address xor its bits [7, 7 + b).  */
static int32_t cute(int b, int32_t at) { return at ^ (at >> 3 & ((1 << b) - 1) << 4); }

/* Rows of 8 / factor chunks, `factor` of them in a line of eight; a line's chunks lie in two
 * partitions of four, both permuted by its number.  */
static int32_t sm75(int factor, int row, int chunk) {
    int c = chunk + row % factor * (8 / factor), line = row / factor;
    int s = line % (factor == 1 ? 8 : 4);
    return line * LINE + ((c / 4 ^ s / 4 % 2) * 4 + (c % 4 ^ s % 4)) * CHUNK;
}

/* Rows of so many chunks.  */
static RLayout swizzled(int chunks) {
    int bits = chunks == 8 ? 3 : chunks == 4 ? 2 : 1;
    return (RLayout){.inner = AX_K, .bits = (uint8_t)bits, .shift = (uint8_t)(3 - bits)};
}

static int32_t ours(int chunks, int row, int chunk) {
    return rtile_at(swizzled(chunks), chunks * 8, 2, row, chunk * 8);
}

static void same_addresses(void **state) {
    (void)state;
    for (int chunks = 2; chunks <= 8; chunks *= 2) {
        int bits = chunks == 8 ? 3 : chunks == 4 ? 2 : 1;
        for (int row = 0; row < 64; row++) {
            for (int c = 0; c < chunks; c++) {
                int32_t at = ours(chunks, row, c);
                assert_int_equal(at, cute(bits, (row * chunks + c) * CHUNK));
                if (chunks > 2) assert_int_equal(at, sm75(8 / chunks, row, c));
            }
        }
    }
}

/* ldmatrix.x4 and chunks as 32 threads store them: rows of 8 matrices side by side or one above
 * the other.  */
static void no_conflicts(void **state) {
    (void)state;
    for (int chunks = 2; chunks <= 8; chunks *= 2) {
        int32_t down[LANES], across[LANES], plain[LANES], stored[LANES];
        for (int i = 0; i < LANES; i++) {
            down[i] = ours(chunks, i, 1);
            across[i] = ours(chunks, i % 8, i / 8 % chunks);
            plain[i] = (i * chunks + 1) * CHUNK;
            stored[i] = ours(chunks, i / chunks, i % chunks);
        }
        assert_int_equal(rtile_wavefronts(down, UINT32_MAX, CHUNK), 4);
        assert_int_equal(rtile_wavefronts(across, UINT32_MAX, CHUNK), 4);
        assert_int_equal(rtile_wavefronts(stored, UINT32_MAX, CHUNK), 4);
        assert_int_equal(rtile_wavefronts(plain, UINT32_MAX, CHUNK), 4 * chunks);
    }
}

/* Columns of f32: chunk c of row s lies at c ^ 2 (s % 4), a warp reads 4 rows of 8 elements.  */
static void columns_of_f32(void **state) {
    (void)state;
    RLayout l = {.inner = AX_M, .bits = 2, .base = 1};
    int32_t read[LANES], plain[LANES];
    for (int row = 0; row < 16; row++)
        for (int e = 0; e < 32; e++)
            assert_int_equal(rtile_at(l, 32, 4, row, e),
                             row * LINE + (e / 4 ^ 2 * (row % 4)) * CHUNK + e % 4 * 4);
    for (int i = 0; i < LANES; i++) {
        read[i] = rtile_at(l, 32, 4, i % 4, i / 4);
        plain[i] = i % 4 * LINE + i / 4 * 4;
    }
    assert_int_equal(rtile_wavefronts(read, UINT32_MAX, 4), 1);
    assert_int_equal(rtile_wavefronts(plain, UINT32_MAX, 4), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_addresses),
        cmocka_unit_test(no_conflicts),
        cmocka_unit_test(columns_of_f32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
