/* links: base */
#define _DEFAULT_SOURCE       /* mincore */
#include "base/sparse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { BYTES = 24 << 20, SMALL = 1000 };

/* Pages of an array that are in memory.  */
static size_t pages_there(void *p, size_t page) {
    static unsigned char there[BYTES / 4096];
    size_t n = 0;
    assert_int_equal(mincore(p, BYTES, there), 0);
    for (size_t i = 0; i < BYTES / page; i++) n += there[i] & 1;
    return n;
}

/* The process's heap keeps a block as large, full of something else.  */
static void leave_a_block_free(void) {
    for (int i = 0; i < 2; i++) {
        char *p = malloc(BYTES);
        assert_non_null(p);
        memset(p, i + 1, BYTES);
        __asm__ volatile("" : : "r"(p) : "memory");
        free(p);
    }
}

static void untouched_pages_take_no_memory(void **state) {
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    leave_a_block_free();
    char *p = sparse_new(BYTES);
    assert_non_null(p);
    assert_int_equal(pages_there(p, page), 0);
    p[5 * page] = 1;
    assert_true(pages_there(p, page) < BYTES / page / 2);      /* pages may be large ones */
    for (size_t i = 0; i < BYTES; i += page) assert_int_equal(p[i], i == 5 * page);
    sparse_free(p, BYTES);
}

static void small_ones_are_zeros_too(void **state) {
    (void)state;
    for (int turn = 0; turn < 8; turn++) {
        char *p = sparse_new(SMALL);
        assert_non_null(p);
        for (int i = 0; i < SMALL; i++) assert_int_equal(p[i], 0);
        memset(p, 1, SMALL);
        sparse_free(p, SMALL);
    }
    sparse_free(NULL, SMALL);
    sparse_free(NULL, BYTES);
}

static void none_is_given_without_memory(void **state) {
    (void)state;
    assert_null(sparse_new(SIZE_MAX / 2));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(untouched_pages_take_no_memory),
        cmocka_unit_test(small_ones_are_zeros_too),
        cmocka_unit_test(none_is_given_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
