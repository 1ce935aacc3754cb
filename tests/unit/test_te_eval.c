/* links: te */
#include "te_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* -- reductions -------------------------------------------------------------------------------- */

static void reductions_of_everything(void **state) {
    (void)state;
    static const float r[6] = {3, -1, 4, -1, 5, -9};
    static const int32_t k[6] = {3, -1, 4, -1, 5, -9};
    static const uint8_t p[6] = {0, 0, 1, 0, 0, 0};
    static const struct {
        const char *type, *expr;
        double want;
    } cases[] = {
        {"f32", "sum[i](r[i])", 1}, {"f32", "prod[i](r[i])", -540}, {"f32", "max[i](r[i])", 5},
        {"f32", "min[i](r[i])", -9}, {"i32", "argmax[i](r[i])", 4}, {"i32", "argmin[i](r[i])", 5},
        {"i32", "sum[i](k[i])", 1}, {"i32", "prod[i](k[i])", -540}, {"i32", "max[i](k[i])", 5},
        {"i32", "min[i](k[i])", -9}, {"i32", "argmax[i](k[i])", 4}, {"i32", "argmin[i](k[i])", 5},
        {"bool", "any[i](p[i])", 1}, {"bool", "all[i](p[i])", 0}, {"bool", "all[i](r[i] < 9)", 1},
        {"bool", "any[i](r[i] == 9)", 0},
        /* The lowest position wins a tie; positions count row-major in the order listed.  */
        {"i32", "argmin[i](abs(r[i]))", 1}, {"i32", "argmax[i](-abs(k[i]))", 1},
        {"i32", "argmax[i,j](r[i] - r[j])", 29}, {"i32", "argmax[j,i](r[i] - r[j])", 34},
        {"i32", "argmin[j,i](k[i] * k[j])", 29},
        {"f32", "sum[i,j](r[i] * r[j])", 1}, {"f32", "sum[i](max[j](r[i] * r[j]))", 159},
        {"f32", "max[i](sum[j](r[j] * r[i]) + r[i])", 10},
        {"i32", "sum[i](k[i] * argmax[j](k[i] * k[j]))", -7}, {"f32", "r[2] + r[5]", -5},
        {"f32", "r[2] * sum[i](r[i] * r[5-i])", 4 * 2 * (-27 - 5 - 4)},
    };
    const void *in[] = {r, k, p};
    Arena *arena = arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = arena_printf(
            arena, "op f(r: f32[6], k: i32[6], p: bool[6]) -> Y: %s { Y[] = %s; }", cases[i].type,
            cases[i].expr);
        TeValue got = *fixture_run(arena, text, in);
        double value = cases[i].type[0] == 'f' ? got.v : (double)got.i;
        if (value != cases[i].want || got.bound != 0 || got.undecided)
            fail_msg("%s = %g (bound %g), not %g", cases[i].expr, value, got.bound, cases[i].want);
    }
    arena_destroy(arena);
}

static void reductions_of_nothing(void **state) {
    (void)state;
    static const struct {
        const char *type, *expr;
        double want;
    } cases[] = {
        {"f32", "sum[i](r[i])", 0}, {"f32", "prod[i](r[i])", 1}, {"f32", "max[i](r[i])", -INFINITY},
        {"f32", "min[i](r[i])", INFINITY}, {"i32", "max[i](k[i])", INT32_MIN},
        {"i32", "min[i](k[i])", INT32_MAX}, {"i64", "max[i](i64(k[i]))", (double)INT64_MIN},
        {"bool", "any[i](k[i] == 0)", 0}, {"bool", "all[i](k[i] == 0)", 1},
    };
    const void *in[] = {"", ""};
    Arena *arena = arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = arena_printf(arena, "op f(r: f32[0], k: i32[0]) -> Y: %s { Y[] = %s; }",
                                        cases[i].type, cases[i].expr);
        TeValue got = *fixture_run(arena, text, in);
        double value = cases[i].type[0] == 'f' ? got.v : (double)got.i;
        if (value != cases[i].want) fail_msg("%s = %g", cases[i].expr, value);
    }
    arena_destroy(arena);
}

static void nan_wins(void **state) {
    (void)state;
    const float r[4] = {1, NAN, 7, NAN};
    const void *in[] = {r};
    Arena *arena = arena_create(NULL);
    static const char *const real[] = {"max[i](r[i])", "min[i](r[i])", "sum[i](r[i])",
                                       "prod[i](r[i])"};
    for (int i = 0; i < 4; i++) {
        const char *text = arena_printf(arena, "op f(r: f32[4]) -> Y: f32 { Y[] = %s; }", real[i]);
        assert_true(isnan(fixture_run(arena, text, in)->v));
    }
    static const char *const arg[] = {"argmax[i](r[i])", "argmin[i](r[i])"};
    for (int i = 0; i < 2; i++) {
        const char *text = arena_printf(arena, "op f(r: f32[4]) -> Y: i32 { Y[] = %s; }", arg[i]);
        TeValue got = *fixture_run(arena, text, in);
        assert_int_equal(got.i, 1);
        assert_false(got.undecided);
    }
    arena_destroy(arena);
}

/* Either of two makings of a sum is right where its factors may go behind it; as it is written,
 * one is.  */
static void factors_behind_a_sum(void **state) {
    (void)state;
    static const struct {
        float r[2], s;
        double want;
        bool decided;
    } cases[] = {
        {{3, 4}, 0.5f, 12.5, true},
        {{3, 4}, -INFINITY, -INFINITY, true},              /* both terms are, and their sum */
        {{3, 0}, INFINITY, NAN, false},                    /* 9 inf; or 9 inf + 0 inf */
        {{3, 4}, NAN, NAN, true},
        {{1e25f, 1}, 0, NAN, false},                       /* inf 0; or 0 */
        {{2e19f, 1}, 1e-30f, 4e8, false},                  /* inf; or 4e38 1e-30 */
        {{1e-30f, 1e-30f}, 1e38f, 0, true},                /* both lose 1e-60 */
        {{INFINITY, 1}, 2, INFINITY, true},
    };
    Arena *arena = arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const void *in[] = {cases[i].r, &cases[i].s};
        TeValue got = *fixture_run(arena, "op f(r: f32[2], s: f32[1]) -> Y: f32 {"
                                          " Y[] = sum[i](r[i] * s[0] * r[i]); }", in);
        if (got.undecided == cases[i].decided) fail_msg("case %zu: undecided %d", i, got.undecided);
        if (!cases[i].decided) continue;
        bool same = isnan(cases[i].want) ? isnan(got.v) : got.v == cases[i].want;
        if (!same && !(fabs(got.v - cases[i].want) <= got.bound))
            fail_msg("case %zu: %g", i, got.v);
    }
    /* Three factors, each of which shares a left index with both others.  */
    const void *three[] = {cases[0].r, cases[0].r, cases[0].r};
    TeValue all = *fixture_run(arena, "op f(A: f32[1,1,2], B: f32[1,1,2], C: f32[1,1,2]) ->"
                                      " Y: f32[1,1,1] { Y[a,b,c] = sum[k](A[a,b,k] * (B[b,c,k] *"
                                      " C[a,c,k])); }", three);
    assert_true(all.v == 91);
    const float r[2] = {2e19f, 1}, s = 1e-30f;
    const void *in[] = {r, &s};
    TeValue got = *fixture_run(arena, "op f(r: f32[2], s: f32[1]) -> Y: f32 {"
                                      " Y[] = sum[i](r[i] * s[0] * r[i]) @written; }", in);
    assert_false(got.undecided);
    assert_true(fabs(got.v - 4e8) < 1e3);
    arena_destroy(arena);
}

/* A product is decided where every order of its factors gives it: found by trying them all.  */
static void products_of_any_order(void **state) {
    (void)state;
    static const double pool[] = {0, 1, -3, 1e-200, 1e200, INFINITY, NAN};
    enum { POOL = sizeof pool / sizeof *pool, ALL = POOL * POOL * POOL };
    static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1},
                                    {2, 1, 0}};
    Arena *arena = arena_create(NULL);
    int decided = 0;
    for (int n = 0; n < ALL; n++) {
        const double r[3] = {pool[n % POOL], pool[n / POOL % POOL], pool[n / POOL / POOL]};
        const void *in[] = {r};
        TeValue got = *fixture_run(arena, "op f(r: f64[3]) -> Y: f64 { Y[] = prod[i](r[i]); }", in);
        if (got.undecided) continue;
        decided++;
        for (int i = 0; i < 6; i++) {
            double v = r[order[i][0]] * r[order[i][1]] * r[order[i][2]];
            bool right = isnan(v) ? isnan(got.v)
                                  : v == got.v || fabs(v - got.v) <= got.bound + 1e-15 * fabs(v);
            if (!right) fail_msg("%g %g %g: %g or %g", r[0], r[1], r[2], v, got.v);
        }
    }
    assert_true(decided > ALL / 2);
    arena_destroy(arena);
}

/* A zero whose sign is open leaves that of a product open, also beside other zeros.  */
static void products_of_open_signs(void **state) {
    (void)state;
    static const float open[4] = {0, -0.0f, 0, 3}, plain[4] = {0, 2, 0, 3};
    const void *one[] = {open}, *other[] = {plain};
    const char *text = "op f(r: f32[2,2]) -> Y: f32 {"
                       " t[i] = min[j](r[i,j]); Y[] = prod[i](t[i]); }";
    Arena *arena = arena_create(NULL);
    TeValue got = *fixture_run(arena, text, one);
    assert_true(got.v == 0 && got.bound == 0 && got.any_zero);
    text = "op f(r: f32[4]) -> Y: f32 { Y[] = prod[i](r[i]); }";
    got = *fixture_run(arena, text, other);
    assert_true(got.v == 0 && !got.any_zero && !got.undecided);
    arena_destroy(arena);
}

/* Powers are undecided where what may be computed instead of an operand gives another infinity, or
 * none: e^-1000 is 0 or a little more in f32, and the least of two zeros has either sign.  */
static void powers_beside_infinities(void **state) {
    (void)state;
    static const struct {
        const char *expr;
        double want;
        bool undecided;
    } cases[] = {
        {"pow(r[0], exp(r[1]))", 0, true},        {"pow(r[0], r[2])", INFINITY, false},
        {"pow(min(r[3], r[4]), -r[2])", 0, true}, {"pow(min(r[3], r[4]), -2)", INFINITY, false},
        {"pow(r[4], -r[2])", -INFINITY, false},
    };
    static const float r[5] = {INFINITY, -1000, 3, 0, -0.0f};
    const void *in[] = {r};
    Arena *arena = arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = arena_printf(arena, "op f(r: f32[5]) -> Y: f32 { Y[] = %s; }",
                                        cases[i].expr);
        TeValue got = *fixture_run(arena, text, in);
        bool right = got.undecided == cases[i].undecided;
        right = right && (got.undecided || got.v == cases[i].want);
        if (!right) fail_msg("%s = %g, undecided %d", cases[i].expr, got.v, got.undecided);
    }
    arena_destroy(arena);
}

/* Nested reductions of one kind are one, whose terms meet in any order: four times the large one
 * first is beyond what f32 holds.  Of another kind, or of less, they are decided.  */
static void reductions_of_reductions(void **state) {
    (void)state;
    static const float r[2] = {0, 1e30f}, s[2] = {1.5e38f, -1.5e38f};
    const void *in[] = {r, s};
    static const struct {
        const char *stmt;
        bool undecided;
        double want;
    } cases[] = {
        {"prod[i](prod[j](r[j])) where i in 4", true, 0},
        {"prod[i](f32(prod[j](r[j]))) where i in 4", true, 0},
        {"prod[j](r[j])", false, 0},
        {"max[i](prod[j](r[j])) where i in 4", false, 0},
        {"sum[i](sum[j](s[j])) where i in 4", true, 0},
        {"max[i](sum[j](s[j])) where i in 4", false, 0},
    };
    Arena *arena = arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = arena_printf(arena, "op f(r: f32[2], s: f32[2]) -> Y: f32 { Y[] = %s; }",
                                        cases[i].stmt);
        TeValue got = *fixture_run(arena, text, in);
        if (got.undecided != cases[i].undecided) fail_msg("%s", cases[i].stmt);
        if (!got.undecided) assert_true(got.v == cases[i].want);
    }
    arena_destroy(arena);
}

/* What divides a sum of exponentials may lie, with its own sum, in a map that is read.  */
static void divisors_with_sums_of_their_own(void **state) {
    static const float x[4] = {1, 2, 3, 4}, v[4] = {5, 5, 5, 5};
    const void *in[] = {x, v};
    Arena *arena = arena_create(NULL);
    (void)state;
    TeValue got = *fixture_run(arena,
                               "op f(x: f32[4], v: f32[4]) -> Y: f32 { m[] = max[j](x[j]); "
                               "l[] = m[] + log(sum[j](exp(x[j] - m[]))); "
                               "Y[] = sum[j](f16(exp(x[j] - l[])) * v[j]); }", in);
    assert_true(fabs(got.v - 5) < 0.01);
    arena_destroy(arena);
}

static void integer_sums_wrap(void **state) {
    (void)state;
    static const int32_t k[3] = {INT32_MAX, 1, 1};
    static const int8_t c[3] = {127, 127, 127};
    const void *in[] = {k, c};
    static const struct {
        const char *stmt;
        int64_t want;
    } cases[] = {
        {"i32 { Y[] = sum[i](k[i]); }", -2147483647}, {"i64 { Y[] = sum[i](k[i]); }", -2147483647},
        {"i64 { Y[] = sum[i](k[i]) @accum(i64); }", 2147483649},
        {"i32 { Y[] += c[i] * c[i]; }", 48387},
        {"i32 { Y[] = prod[i](k[i] - 5); }", (int32_t)((2147483642LL * 16) & 0xffffffff)},
    };
    Arena *arena = arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text =
            arena_printf(arena, "op f(k: i32[3], c: i8[3]) -> Y: %s", cases[i].stmt);
        assert_int_equal(fixture_run(arena, text, in)->i, cases[i].want);
    }
    arena_destroy(arena);
}

/* -- statements -------------------------------------------------------------------------------- */

static void guards_and_checks(void **state) {
    (void)state;
    static const float r[4] = {1, 2, 3, 4};
    static const int32_t k[4] = {3, -1, 4, 0};
    const void *in[] = {r, k};
    Arena *arena = arena_create(NULL);
    TeValue *y = fixture_run(arena, "op f(r: f32[4], k: i32[4]) -> Y: f32[6] {"
                                    " Y[i] = r[i-1] else 9 * i; }", in);
    static const float shifted[6] = {0, 1, 4, 9, 16, 45};      /* (r[i-1] else 9) * i */
    for (int i = 0; i < 6; i++) assert_true(y[i].v == shifted[i]);
    y = fixture_run(arena, "op f(r: f32[4], k: i32[4]) -> Y: f32[4] {"
                           " Y[i] = (r[k[i]] else -7) + (r[k[i]*k[i]-9] else 100); }", in);
    static const float gathered[4] = {4 + 1, -7 + 100, -7 + 100, 1 + 100};
    for (int i = 0; i < 4; i++) assert_true(y[i].v == gathered[i]);
    /* A read that a branch keeps inside is never made outside of it.  */
    y = fixture_run(arena, "op f(r: f32[4], k: i32[4]) -> Y: f32[8] {"
                           " Y[i] = i < 4 ? r[i] : r[i-4] * 10; }", in);
    for (int i = 0; i < 8; i++) assert_true(y[i].v == (i < 4 ? r[i] : r[i - 4] * 10));
    y = fixture_run(arena, "op f(r: f32[4], k: i32[4]) -> Y: f32[4] {"
                           " Y[i] = k[i] >= 0 ? r[k[i]] : 5; }", in);
    static const float checked[4] = {4, 5, 0, 1};
    for (int i = 0; i < 4; i++) assert_true(y[i].v == checked[i]);
    arena_destroy(arena);
}

static void statements_read_what_was_stored(void **state) {
    (void)state;
    static const float r[2] = {0.1f, 3.0f};
    const void *in[] = {r};
    Arena *arena = arena_create(NULL);
    /* A temporary keeps its compute type, an output and an @type round.  */
    TeValue *y = fixture_run(arena, "op f(r: f32[2]) -> Y: f32[2] {"
                                    " t[i] = r[i]; Y[i] = t[i]; }", in);
    assert_true(y[0].v == (double)0.1f);
    y = fixture_run(arena, "op f(r: f32[2]) -> Y: f32[2] {"
                           " t[i] = r[i] @type(f16); Y[i] = t[i]; }", in);
    assert_true(y[0].v == 0.0999755859375 && y[1].v == 3);
    Te *te = fixture_te(arena, "op f(r: f32[2]) -> (Y: f16[2], Z: f32[2]) {"
                               " Y[i] = r[i]; Z[i] = Y[1-i] + 1; }");
    TeData data = {(void *)(uintptr_t)r, sizeof r};
    y = fixture_values(arena, te, &data, 2);
    assert_true(y[1].v == 1.0999755859375 && y[0].v == 4);
    arena_destroy(arena);
}

static void strides_place_elements(void **state) {
    (void)state;
    static const float r[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    Arena *arena = arena_create(NULL);
    Te *te = fixture_te(arena, "op f(r: f32[2,3] strides(1,4)) -> Y: f32[2,3] strides(4,1) {"
                               " Y[i,j] = r[i,j]; }");
    assert_int_equal(te_tensor_bytes(&te->tensor[0]), 10 * 4);
    assert_int_equal(te_tensor_bytes(&te->tensor[1]), 7 * 4);
    assert_int_equal(te_tensor_count(&te->tensor[1]), 6);
    TeData in = {(void *)(uintptr_t)r, sizeof r};
    TeValue *v = fixture_values(arena, te, &in, 1);
    float y[7] = {[3] = -5};
    for (int i = 0; i < 6; i++) {
        int64_t at[2] = {i / 3, i % 3};
        te_store(TE_F32, &v[i], &y[te_tensor_offset(&te->tensor[1], at)]);
    }
    static const float want[7] = {0, 4, 8, -5, 1, 5, 9};
    for (int i = 0; i < 7; i++) assert_true(y[i] == want[i]);
    arena_destroy(arena);
}

static void give(void *user, size_t from, size_t bytes, unsigned char *to) {
    memcpy(to, (const unsigned char *)user + from, bytes);
}

static void a_bound_temporary_is_not_computed(void **state) {
    (void)state;
    static const float r[3] = {1, 2, 3};
    static const float given[3] = {10, 20, 30};
    Arena *arena = arena_create(NULL);
    Te *te = fixture_te(arena, "op f(r: f32[3]) -> Y: f32[3] {"
                               " t[i] = exp(r[i]); Y[i] = t[i] + 1; }");
    TeData in = {(void *)(uintptr_t)r, sizeof r};
    Diag diag = diag_new(arena);
    TeEval *ev;
    int64_t at[1] = {0};
    TeValue y[3];
    assert_int_equal(te_eval_create(arena, &diag, te, &in, &ev), ST_OK);
    Lazy values;
    assert_true(lazy_open(&values, sizeof given, give, (void *)(uintptr_t)given));
    te_eval_bind(ev, 2, &values);
    assert_int_equal(te_eval_row(ev, 1, at, 3, y), ST_OK);
    for (int i = 0; i < 3; i++) assert_true(y[i].v == given[i] + 1 && y[i].bound == 0);
    /* The temporary itself can be asked for, and is computed then.  */
    assert_int_equal(te_eval_row(ev, 2, at, 3, y), ST_OK);
    assert_true(fabs(y[2].v - exp(3)) < 1e-12);
    lazy_close(&values);
    arena_destroy(arena);
}

static void a_stopped_evaluation_says_so(void **state) {
    (void)state;
    static const float r[3] = {1, 2, 3};
    Arena *arena = arena_create(NULL);
    Te *te = fixture_te(arena, "op f(r: f32[3]) -> Y: f32 { t[] += r[i] * r[j]; Y[] = t[] - 30; }");
    TeData in = {(void *)(uintptr_t)r, sizeof r};
    Diag diag = diag_new(arena);
    TeEval *ev;
    TeValue y;
    int64_t at[1] = {0};
    atomic_bool stop = true;
    Watch watch;
    watch_init(&watch, &(WatchCalls){.stop = &stop});
    assert_int_equal(te_eval_create(arena, &diag, te, &in, &ev), ST_OK);
    te_eval_watch(ev, &watch);
    assert_int_equal(te_eval_row(ev, 1, at, 1, &y), ST_CANCELLED);
    atomic_store(&stop, false);
    assert_int_equal(te_eval_row(ev, 1, at, 1, &y), ST_OK);
    assert_true(y.v == 6);
    arena_destroy(arena);
}

/* Each statement reads all of the one before it: by more calls than a stack has room for.  */
static void chains_of_any_length(void **state) {
    enum { LENGTH = 2000 };
    const float zeros[4] = {0, 0, 0, 0};
    const char *const form[] = {"sum[k](t%d[k]) - 3 * t%d[3 - m] + 1",
                                "-(-(-(-(t%d[m])))) + t%d[m] * 0 + 1"};
    (void)state;
    for (int f = 0; f < 2; f++) {
        Arena *a = arena_create(NULL);
        Buf b = buf_new(a);
        buf_puts(&b, "op f(A: f32[4]) -> C: f32[4] { t0[m] = A[m]; ");
        for (int i = 1; i < LENGTH; i++) {
            buf_printf(&b, "t%d[m] = ", i);
            buf_printf(&b, form[f], i - 1, i - 1);
            buf_puts(&b, " where m in 4; ");
        }
        buf_printf(&b, "C[m] = t%d[m]; }", LENGTH - 1);
        TeValue *v = fixture_run(a, b.text, (const void *const[]){zeros});
        for (int m = 0; m < 4; m++) {
            assert_true(v[m].v == LENGTH - 1);
            assert_true(v[m].bound == 0);
        }
        arena_destroy(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_of_everything),
        cmocka_unit_test(reductions_of_nothing),
        cmocka_unit_test(nan_wins),
        cmocka_unit_test(factors_behind_a_sum),
        cmocka_unit_test(products_of_any_order),
        cmocka_unit_test(products_of_open_signs),
        cmocka_unit_test(powers_beside_infinities),
        cmocka_unit_test(reductions_of_reductions),
        cmocka_unit_test(divisors_with_sums_of_their_own),
        cmocka_unit_test(integer_sums_wrap),
        cmocka_unit_test(guards_and_checks),
        cmocka_unit_test(statements_read_what_was_stored),
        cmocka_unit_test(strides_place_elements),
        cmocka_unit_test(a_bound_temporary_is_not_computed),
        cmocka_unit_test(a_stopped_evaluation_says_so),
        cmocka_unit_test(chains_of_any_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
