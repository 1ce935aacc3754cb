/* links: base */
#include "base/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { N = 5000, THREADS = 8 };

typedef struct {
    atomic_int calls[N];
    atomic_int busy[THREADS];
    atomic_int overlaps, strangers;
    int64_t stop_at;
    int64_t order[N];
    int seen;
} Work;

static bool count(void *user, int64_t i, int worker) {
    Work *w = user;
    if (worker < 0 || worker >= THREADS) {
        atomic_fetch_add(&w->strangers, 1);
        return false;
    }
    if (atomic_fetch_add(&w->busy[worker], 1)) atomic_fetch_add(&w->overlaps, 1);
    atomic_fetch_add(&w->calls[i], 1);
    atomic_fetch_sub(&w->busy[worker], 1);
    return i != w->stop_at;
}

static bool record(void *user, int64_t i, int worker) {
    Work *w = user;
    assert_int_equal(worker, 0);
    w->order[w->seen++] = i;
    return i != w->stop_at;
}

static void every_index_once(void **state) {
    (void)state;
    static Work w;
    for (int threads = 1; threads <= THREADS; threads++) {
        memset(&w, 0, sizeof w);
        w.stop_at = -1;
        assert_true(pool_for(threads, N, count, &w));
        for (int i = 0; i < N; i++) assert_int_equal(w.calls[i], 1);
        assert_int_equal(w.overlaps, 0);
        assert_int_equal(w.strangers, 0);
    }
}

static void false_stops_the_rest(void **state) {
    (void)state;
    static Work w;
    for (int threads = 1; threads <= THREADS; threads += 3) {
        memset(&w, 0, sizeof w);
        w.stop_at = 10;
        assert_false(pool_for(threads, N, count, &w));
        int calls = 0;
        for (int i = 0; i < N; i++) {
            assert_in_range(w.calls[i], 0, 1);
            calls += w.calls[i];
        }
        for (int i = 0; i <= 10; i++) assert_int_equal(w.calls[i], 1);
        if (threads == 1) assert_int_equal(calls, 11);
    }
}

static void one_thread_goes_upward(void **state) {
    (void)state;
    static Work w;
    w.stop_at = -1;
    assert_true(pool_for(1, N, record, &w));
    assert_int_equal(w.seen, N);
    for (int i = 0; i < N; i++) assert_int_equal(w.order[i], i);
}

static void few_or_no_indices(void **state) {
    (void)state;
    static Work w;
    w.stop_at = -1;
    assert_true(pool_for(THREADS, 0, record, &w));
    assert_true(pool_for(THREADS, -5, record, &w));
    assert_int_equal(w.seen, 0);
    assert_true(pool_for(THREADS, 1, record, &w));
    assert_int_equal(w.seen, 1);
}

static bool nested(void *user, int64_t i, int worker) {
    (void)worker;
    Work *w = (Work *)user + i;
    return pool_for(2, N, count, w);
}

static void pools_nest(void **state) {
    (void)state;
    static Work w[4];
    for (int i = 0; i < 4; i++) w[i].stop_at = -1;
    assert_true(pool_for(4, 4, nested, w));
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < N; i++) assert_int_equal(w[k].calls[i], 1);
}

static void requests_resolve(void **state) {
    (void)state;
    assert_int_equal(pool_threads(3), 3);
    assert_in_range(pool_threads(0), 1, 16);
    assert_in_range(pool_threads(-1), 1, 16);
    assert_true(pool_threads(1000000) <= 1024);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_index_once),   cmocka_unit_test(false_stops_the_rest),
        cmocka_unit_test(one_thread_goes_upward), cmocka_unit_test(few_or_no_indices),
        cmocka_unit_test(pools_nest),         cmocka_unit_test(requests_resolve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
