/* links: te */
/* Recurrences: the evaluator against the loop that they are written as, and its bounds against what
 * composing the maps in any order gives in f32.
 *
 *   SEED=n build/tests/test_te_recurrence      other data  */
#include "effort.h"
#include "te_fixture.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { T = 96 };

static uint64_t next(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static float unit(uint64_t *state) { return (float)next(state) * 0x1p-30f - 1; }

/* ---- what is written ---- */

static const TeValue *run(Arena *a, const char *body, const float *A, const float *X) {
    const void *in[] = {A, X};
    return fixture_run(a, arena_printf(a, "op f(A: f32[%d], X: f32[%d]) -> Y: f32[%d] { %s }", T, T,
                                       T, body), in);
}

/* The loop; `at` gives factor and term of place i.  */
typedef void Map(const float *A, const float *X, int i, double *factor, double *term);

static void plain(const float *A, const float *X, int i, double *factor, double *term) {
    *factor = A[i];
    *term = X[i];
}

static void gated(const float *A, const float *X, int i, double *factor, double *term) {
    *factor = i == 0 ? 0 : 1 - (double)A[i];
    *term = i == 0 ? X[0] : (double)A[i] * X[i];
}

static void halves(const float *A, const float *X, int i, double *factor, double *term) {
    (void)A;
    *factor = -0.5;
    *term = i == T - 1 ? X[i] - 0.5 * X[3] : X[i];
}

static void gives_what_the_loop_gives(void **state) {
    (void)state;
    static const struct {
        const char *body;
        Map *map;
        bool up;
    } cases[] = {
        {"Y[i] = A[i] * (Y[i-1] else 0) + X[i];", plain, true},
        {"Y[i] = X[i] - (0 - A[i]) * (Y[i+1] else 0);", plain, false},
        {"Y[i] = i == 0 ? X[0] : Y[i-1] + A[i] * (X[i] - Y[i-1]);", gated, true},
        {"Y[i] = -((Y[i+1] else X[3]) / 2) + X[i];", halves, false},
    };
    uint64_t seed = effort_seed();
    float A[T], X[T];
    for (int i = 0; i < T; i++) {
        A[i] = 0.45f * (1 + unit(&seed));
        X[i] = unit(&seed);
    }
    Arena *arena = arena_create(NULL);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const TeValue *got = run(arena, cases[c].body, A, X);
        double h = 0;
        for (int n = 0; n < T; n++) {
            double factor, term;
            int i = cases[c].up ? n : T - 1 - n;
            cases[c].map(A, X, i, &factor, &term);
            h = factor * h + term;
            if (!(fabs(got[i].v - h) < 1e-12) || !(got[i].bound < 1e-4) || got[i].undecided)
                fail_msg("%s: [%d] = %g, not %g (bound %g)", cases[c].body, i, got[i].v, h,
                         got[i].bound);
        }
    }
    arena_destroy(arena);
}

/* ---- any order ---- */

typedef struct {
    float factor, term;
} Affine32;

/* The maps of places from..to-1, composed as chance has it.  */
static Affine32 composed(const float *A, const float *X, int from, int to, uint64_t *state) {
    if (to - from == 1) return (Affine32){A[from], X[from]};
    int cut = from + 1 + (int)(next(state) % (uint64_t)(to - from - 1));
    Affine32 x = composed(A, X, from, cut, state), y = composed(A, X, cut, to, state);
    volatile float product = y.factor * x.term;
    return (Affine32){y.factor * x.factor, product + y.term};
}

static void bounds_hold_in_any_order(void **state) {
    (void)state;
    static const float scale[] = {0.5f, 1, 1.2f, 1e-20f};
    uint64_t seed = effort_seed();
    Arena *arena = arena_create(NULL);
    for (int round = 0; round < 40; round++) {
        float A[T], X[T];
        for (int i = 0; i < T; i++) {
            A[i] = scale[round % 4] * unit(&seed);
            X[i] = (next(&seed) % 4 ? 1.0f : 1e6f) * unit(&seed);
        }
        const TeValue *got = run(arena, "Y[i] = A[i] * (Y[i-1] else 0) + X[i];", A, X);
        for (int i = 0; i < T; i++) {
            double h = (double)composed(A, X, 0, i + 1, &seed).term;
            if (got[i].undecided || !(fabs(h - got[i].v) <= got[i].bound))
                fail_msg("round %d, place %d: %.9g is off %.9g by more than %g", round, i, h,
                         got[i].v, got[i].bound);
        }
    }
    arena_destroy(arena);
}

/* ---- hostile data ---- */

static void data_decides_what_is_open(void **state) {
    (void)state;
    static const struct {
        float a, x;               /* at place 10; elsewhere 0.5 and 1 */
        double value;             /* what Y[10] is, from there on likewise */
        bool open;                /* any value is right */
    } cases[] = {
        {NAN, 1, (double)NAN, false}, {0.5f, NAN, (double)NAN, false},
        {0.5f, INFINITY, (double)INFINITY, false}, {INFINITY, 1, 0, true}, {0, 1, 1, false},
    };
    Arena *arena = arena_create(NULL);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        float A[T], X[T];
        for (int i = 0; i < T; i++) {
            A[i] = i == 10 ? cases[c].a : 0.5f;
            X[i] = i == 10 ? cases[c].x : 1;
        }
        const TeValue *got = run(arena, "Y[i] = A[i] * (Y[i-1] else 0) + X[i];", A, X);
        assert_true(got[9].bound < 1e-4 && !got[9].undecided);
        assert_int_equal(got[10].undecided, cases[c].open);
        assert_int_equal(got[20].undecided, cases[c].open);
        if (isnan(cases[c].value)) assert_true(isnan(got[10].v) && isnan(got[20].v));
        else if (!cases[c].open) assert_true(got[10].v == cases[c].value);
    }
    arena_destroy(arena);
}

/* The first value is its term, whatever its factor is: one that is no number leaves all open.  */
static void nothing_is_before_the_first(void **state) {
    (void)state;
    static const struct {
        float a, x;
        bool open, nan;
    } cases[] = {{3, 2, false, false}, {INFINITY, 2, true, false}, {NAN, 2, true, false},
                 {INFINITY, NAN, false, true}, {0, INFINITY, false, false}};
    Arena *arena = arena_create(NULL);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        float A[T], X[T];
        for (int i = 0; i < T; i++) A[i] = i ? 0.5f : cases[c].a, X[i] = i ? 1 : cases[c].x;
        const TeValue *got = run(arena, "Y[i] = A[i] * (Y[i-1] else 0) + X[i];", A, X);
        assert_int_equal(got[0].undecided, cases[c].open);
        assert_int_equal(got[1].undecided, cases[c].open);
        assert_int_equal(isnan(got[1].v) != 0, cases[c].nan);
        if (!cases[c].nan) assert_true(got[0].v == cases[c].x);
    }
    arena_destroy(arena);
}

/* Products of factors overflow where step by step all is 0; integers stay exact.  */
static void products_may_leave_the_range(void **state) {
    (void)state;
    float A[T], X[T] = {0};
    for (int i = 0; i < T; i++) A[i] = 100;
    Arena *arena = arena_create(NULL);
    const TeValue *got = run(arena, "Y[i] = A[i] * (Y[i-1] else 0) + X[i];", A, X);
    assert_false(got[18].undecided);      /* 100^19 is 1e38 */
    assert_true(got[20].undecided);
    for (int i = 0; i < T; i++) A[i] = -1, X[i] = (float)(i % 3);
    got = run(arena, "Y[i] = A[i] * (Y[i-1] else 2) + X[i];", A, X);
    for (int i = 0, h = 2; i < T; i++) {
        h = i % 3 - h;
        assert_true(got[i].v == h && got[i].bound == 0);
    }
    arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_what_the_loop_gives),
        cmocka_unit_test(bounds_hold_in_any_order),
        cmocka_unit_test(data_decides_what_is_open),
        cmocka_unit_test(nothing_is_before_the_first),
        cmocka_unit_test(products_may_leave_the_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
