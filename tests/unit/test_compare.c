/* Stored elements against the reference evaluator: what is wrong, and a comparison that is
 * stopped.  */
#include "driver/check/compare.h"
#include "te_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { N = 40, THREADS = 3 };
static const char text[] =
    "op f(X: i32[40,40], W: i32[40,40]) -> Y: i32[40,40] { Y[m,n] += X[m,k] * W[k,n]; }";

typedef struct {
    Arena *arena;
    Diag diag;
    Reference ref;
    int32_t stored[N * N];
} Case;

static int open_case(void **state) {
    Arena *a = arena_create(NULL);
    Case *c = ARENA_NEW(a, Case);
    c->arena = a;
    c->diag = diag_new(a);
    const Te *te = fixture_te(a, text);
    c->ref = (Reference){
        .te = te, .data = fixture_inputs(a, te, TE_FILL_INTEGERS, 1), .threads = THREADS};
    const TeValue *want = fixture_values(a, te, c->ref.data, te->n_in);
    for (int i = 0; i < N * N; i++) c->stored[i] = (int32_t)want[i].i;
    *state = c;
    return 0;
}

static int close_case(void **state) {
    arena_destroy(((Case *)*state)->arena);
    return 0;
}

static Status run(Case *c, CompareResult *r) {
    *r = (CompareResult){0};
    const Stored stored = {.tensor = c->ref.te->n_in, .data = c->stored};
    return compare_all(c->arena, &c->diag, &c->ref, &stored, r);
}

static void every_element_counts(void **state) {
    Case *c = *state;
    CompareResult r;
    assert_int_equal(run(c, &r), ST_OK);
    assert_true(r.compared == N * N && r.wrong == 0);
    c->stored[7 * N + 3] += 1;
    c->stored[30 * N + 39] += 1000;
    assert_int_equal(run(c, &r), ST_OK);
    assert_true(r.compared == N * N && r.wrong == 2);
    assert_true(r.has_worst && r.worst[0] == 30 && r.worst[1] == 39);
}

static void it_stops_when_asked(void **state) {
    Case *c = *state;
    atomic_bool stop = true;
    Watch watch;
    CompareResult r;
    watch_init(&watch, &(WatchCalls){.stop = &stop});
    c->ref.watch = &watch;
    assert_int_equal(run(c, &r), ST_CANCELLED);
    assert_true(r.compared < N * N);
    atomic_store(&stop, false);
    assert_int_equal(run(c, &r), ST_OK);
    assert_int_equal(r.compared, N * N);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, open_case, close_case)
    const struct CMUnitTest tests[] = {T(every_element_counts), T(it_stops_when_asked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
