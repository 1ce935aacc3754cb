/* Samples of big kernels have the points at which a wrong test of a subscript shows.  */
#include "arena_fixture.h"
#include "driver/pipeline/compile.h"
#include "driver/check/sample.h"
#include "rprogram/skeleton.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static SampleEnds ends;
static IndexMap map;

/* The best program's map and the points of its first group.  */
static void find(const char *text) {
    static const CompileOptions o = {.top = 1, .align = 16, .workspace_limit = -1};
    Device *dev;
    PlanSet set;
    Te *te;
    must(hal_profile_find(arena, &diag, "h200", "profiles", NULL, &dev));
    must(te_parse(arena, &diag, diag_text("case.te", text), NULL, NULL, &te));
    must(compile_plan(arena, &diag, &(PlanRequest){te, dev, &o}, &set));
    index_map(&set.plans[0].problem, &set.plans[0].ranked->prog, 0, &map);
    sample_ends(&set.plans[0].problem, &map, &ends);
}

/* Is a point of them at this value of the root's index, and in a sample of `want` blocks?  */
static bool has(int index, int64_t value, int want, uint64_t seed) {
    bool found = false;
    int64_t *block;
    int n = sample_blocks(arena, &map, want, seed, &ends, &block);
    for (int i = 1; i < n; i++) assert_true(block[i - 1] < block[i]);
    assert_in_range(n, 1, want);
    for (int i = 0; i < ends.n; i++) {
        int64_t at[TE_MAX_INDICES] = {0}, x = index_number(&map, ends.at[i].at) / map.each;
        index_point(&map, ends.at[i].at, at);
        for (int b = 0; b < n; b++) found |= block[b] == x && at[index] == value;
    }
    return found;
}

static void low_bits(void **state) {
    (void)state;
    find("op f(X: f32[1000], W: f32[32,64]) -> Y: f32[131072,64]"
         " { Y[i,j] = sum[k]((X[65536*i + k] else 0) * W[k,j]); }");
    assert_int_equal(ends.n_low, 1);
    for (uint64_t seed = 0; seed < 8; seed++) assert_true(has(0, 65536, 4, seed));
    find("op f(X: f32[1000], W: f32[32,64]) -> Y: f32[131072,64]"
         " { Y[i,j] = sum[k]((X[800 - 65537*i + k] else 0) * W[k,j]); }");
    assert_int_equal(ends.n_low, 1);
    assert_true(has(0, 65536, 4, 0) || has(0, 65535, 4, 0));
    find("op f(X: f32[1000], W: f32[32,64]) -> Y: f32[131072,64]"
         " { Y[i,j] = sum[k]((X[9*i + k] else 0) * W[k,j]); }");
    assert_int_equal(ends.n_low, 0);
}

/* Every end comes with some data set.  */
static void ends_of_the_inside(void **state) {
    enum { LAST = 111 };      /* 9 * 111 is inside of 1000 */
    (void)state;
    find("op f(X: f32[1000], W: f32[32,64]) -> Y: f32[131072,64]"
         " { Y[i,j] = sum[k]((X[9*i + k] else 0) * W[k,j]); }");
    bool last = false, outside = false;
    for (uint64_t seed = 0; seed < 8; seed++) {
        last |= has(0, LAST, 4, seed);
        outside |= has(0, LAST + 1, 4, seed);
    }
    assert_true(last && outside);
    find("op f(X: f32[8,3000,4096]) -> Y: f32[8,4000,4096]"
         " { Y[n,p,q] = (X[n,p-500,q] else 0) + 1; }");
    bool first = false;
    for (uint64_t seed = 0; seed < 8; seed++) first |= has(1, 500, 24, seed);
    assert_true(first);
}

/* A row whose sum is over nothing is a point, at the ends of its subscripts, too.  */
static void sums_of_nothing(void **state) {
    enum { ROWS = 8 };
    int64_t index[TE_MAX_INDICES] = {0};
    TeStmt sum = {.n_left = 1, .n_index = 2};
    IndexMap rows = {.root = &sum, .each = 1, .together = 1};
    BlockPoint *point;
    Rng rng = {1};
    (void)state;
    sum.index[0].hi.value = ROWS;
    index_add_dealt(&rows, (IndexAxis){index_all, 1, ROWS, ROWS, ROWS});
    index_add(&rows, (IndexAxis){index_all + 1, 1, 0, 0, 1});
    assert_int_equal(sample_points(arena, &rows, 0, 64, &rng, &point), ROWS);
    for (int i = 0; i < ROWS; i++) {
        index_point(&rows, point[i].at, index);
        assert_int_equal(index[0], i);
        assert_int_equal(index[1], 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(low_bits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ends_of_the_inside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sums_of_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
