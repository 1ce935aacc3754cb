/* links: rprogram */
/* The workspace: parts that live at the same time never overlap, those that do not share places,
 * and little more is needed than what lives at one time.  */
#include "base/hash.h"
#include "plan_fixture.h"
#include "te/eval/eval.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void check_places(const Workspace *w) {
    for (int i = 0; i < w->n; i++) {
        const WorkspaceBuffer *x = &w->buffer[i];
        assert_true(x->at >= 0 && x->at % WORKSPACE_STEP == 0);
        assert_true(x->at + x->bytes <= w->bytes);
        for (int j = 0; j < i; j++) {
            const WorkspaceBuffer *y = &w->buffer[j];
            bool together = x->first <= y->last && y->first <= x->last;
            bool overlap = x->at < y->at + y->bytes && y->at < x->at + x->bytes;
            assert_false(together && overlap);
        }
    }
}

/* What lives at each time, counted again.  */
static int64_t most_alive(const Workspace *w, int times) {
    int64_t most = 0;
    for (int t = 0; t < times; t++) {
        int64_t sum = 0;
        for (int i = 0; i < w->n; i++) {
            if (w->buffer[i].first <= t && t <= w->buffer[i].last) sum += w->buffer[i].bytes;
        }
        if (sum > most) most = sum;
    }
    return most;
}

/* Lifetimes as programs have them: most values are used soon, some late.  */
static void random_lives_fit(void **state) {
    (void)state;
    enum { CASES = 1000, TIMES = 40, PARTS = 48 };
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        Arena *a = arena_create(NULL);
        Rng rng = {seed};
        Workspace w = {.buffer = ARENA_ARRAY(a, WorkspaceBuffer, PARTS)};
        int n = 1 + (int)rng_below(&rng, PARTS);
        for (int i = 0; i < n; i++) {
            int first = (int)rng_below(&rng, TIMES), life = 1 + (int)rng_below(&rng, 4);
            if (rng_below(&rng, 5) == 0) life = (int)rng_below(&rng, TIMES);
            int64_t bytes = 1 + rng_below(&rng, rng_below(&rng, 3) ? 8 : 400);
            w.buffer[w.n++] = (WorkspaceBuffer){.first = first, .bytes = bytes * WORKSPACE_STEP,
                                            .last = first + life < TIMES ? first + life : TIMES};
        }
        rprog_place_buffers(a, &w);
        check_places(&w);
        assert_int_equal(w.bound, most_alive(&w, TIMES + 1));
        if ((double)w.bytes > 1.05 * (double)w.bound)
            fail_msg("seed %d: %lld bytes where %lld live at one time", (int)seed,
                     (long long)w.bytes, (long long)w.bound);
        arena_destroy(a);
    }
}

static void nothing_needs_nothing(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Workspace w = {0};
    rprog_place_buffers(a, &w);
    assert_int_equal(w.bytes, 0);
    assert_int_equal(rprog_partial_at(&w, 0), -1);
    arena_destroy(a);
}

/* A chain of products: each temporary lies where the one before the last did.  */
static void chains_alternate(void **state) {
    (void)state;
    static const char text[] = "op f(A: f32[64,64]) -> E: f32[64,64] { B[i,j] += A[i,k] * A[k,j];"
                               " C[i,j] += B[i,k] * A[k,j]; D[i,j] += C[i,k] * A[k,j];"
                               " F[i,j] += D[i,k] * A[k,j]; E[i,j] += F[i,k] * A[k,j]; }";
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Te *te, *normal;
    assert_int_equal(te_parse(a, &d, (DiagText){"t", text, sizeof text - 1}, NULL, NULL,
                              &te), ST_OK);
    assert_int_equal(te_normalize(a, &d, te, &normal), ST_OK);
    RPlan plan = {.te = normal};
    plan.n = access_groups(a, normal, &plan.group);
    assert_int_equal(plan.n, 5);
    plan.problem = ARENA_ARRAY(a, Problem, plan.n);
    plan.prog = ARENA_ARRAY(a, RProg, plan.n);
    for (int g = 0; g < plan.n; g++) plan.prog[g].split = 1;
    Workspace w;
    rprog_plan_workspace(a, &plan, &w);
    assert_int_equal(w.n, 4);
    check_places(&w);
    assert_int_equal(w.bytes, 2 * 64 * 64 * 4);
    assert_int_equal(w.bound, w.bytes);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_lives_fit),
        cmocka_unit_test(nothing_needs_nothing),
        cmocka_unit_test(chains_alternate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
