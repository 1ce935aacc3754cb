/* links: base */
#include "base/lazy.h"
#include "base/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES = 40 * LAZY_PAGE + 100 };

static unsigned char value(size_t at) { return (unsigned char)(at * 7 + at / LAZY_PAGE); }

/* Counts per page how often it was made.  */
static void make(void *user, size_t from, size_t bytes, unsigned char *to) {
    int *count = user;
    assert_true(from % LAZY_PAGE == 0 && from + bytes <= BYTES);
    assert_true(bytes == LAZY_PAGE || from + bytes == BYTES);
    count[from / LAZY_PAGE]++;
    for (size_t i = 0; i < bytes; i++) to[i] = value(from + i);
}

static void pages_are_made_when_asked_for(void **state) {
    (void)state;
    int count[BYTES / LAZY_PAGE + 1] = {0};
    Lazy m;
    assert_true(lazy_open(&m, BYTES, make, count));
    assert_int_equal(lazy_made(&m), 0);
    const unsigned char *x = lazy_at(&m, 3 * LAZY_PAGE - 2, 4);
    for (size_t i = 0; i < 4; i++) assert_int_equal(x[i], value(3 * LAZY_PAGE - 2 + i));
    assert_int_equal(lazy_made(&m), 2);
    assert_true(count[2] == 1 && count[3] == 1);
    lazy_at(&m, 3 * LAZY_PAGE, LAZY_PAGE);
    lazy_at(&m, BYTES - 1, 1);
    assert_int_equal(lazy_made(&m), 3);
    assert_true(count[3] == 1 && count[40] == 1);
    x = lazy_at(&m, 0, BYTES);
    for (size_t i = 0; i < BYTES; i++) assert_int_equal(x[i], value(i));
    for (size_t i = 0; i < sizeof count / sizeof *count; i++) assert_int_equal(count[i], 1);
    lazy_close(&m);
}

static void ones(void *user, size_t from, size_t bytes, unsigned char *to) {
    (void)user, (void)from;
    memset(to, 1, bytes);
}

/* What was made, and written to, is made anew; memory of the caller's is not.  */
static void all_is_made_anew(void **state) {
    (void)state;
    int count[BYTES / LAZY_PAGE + 1] = {0};
    unsigned char own[10] = {5};
    Lazy m;
    assert_true(lazy_open(&m, BYTES, make, count));
    lazy_at(&m, 0, BYTES)[LAZY_PAGE] = 9;
    assert_true(lazy_renew(&m, ones, NULL));
    assert_int_equal(lazy_made(&m), 0);
    const unsigned char *x = lazy_at(&m, 0, BYTES);
    for (size_t i = 0; i < BYTES; i++) assert_int_equal(x[i], 1);
    assert_int_equal(count[1], 1);
    lazy_close(&m);
    assert_true(lazy_over(&m, own, sizeof own));
    assert_false(lazy_renew(&m, ones, NULL));
    assert_int_equal(*lazy_at(&m, 0, 1), 5);
    lazy_close(&m);
}

static bool read_all(void *user, int64_t i, int worker) {
    (void)worker;
    const Lazy *m = user;
    size_t at = (size_t)(i * 37 % 40) * LAZY_PAGE + (size_t)i % LAZY_PAGE;
    return *lazy_at(m, at, 1) == value(at);
}

static void threads_share_what_is_made(void **state) {
    (void)state;
    int count[BYTES / LAZY_PAGE + 1] = {0};
    Lazy m;
    assert_true(lazy_open(&m, BYTES, make, count));
    assert_true(pool_for(8, 20000, read_all, &m));
    for (int i = 0; i < 40; i++) assert_int_equal(count[i], 1);
    lazy_close(&m);
}

static void what_is_huge_takes_nothing(void **state) {
    (void)state;
    int count[BYTES / LAZY_PAGE + 1] = {0};
    Lazy m;
    assert_true(lazy_open(&m, (size_t)1 << 32, make, count));
    assert_int_equal(*lazy_at(&m, 5 * LAZY_PAGE, 1), value(5 * LAZY_PAGE));
    lazy_close(&m);
    assert_false(lazy_open(&m, SIZE_MAX, make, count));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pages_are_made_when_asked_for),
                                       cmocka_unit_test(all_is_made_anew),
                                       cmocka_unit_test(threads_share_what_is_made),
                                       cmocka_unit_test(what_is_huge_takes_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
