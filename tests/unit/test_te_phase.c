/* links: te */
/* Sums of which each s-th term counts: their text summed phase by phase, and its values.  */
#include "normal_fixture.h"
#include "te/tree/arith.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void becomes(const char *head, const char *body, const char *want) {
    normal_check_text(PHASED, head, body, want);
}

static void results_are_cut_in_place(void **state) {
    (void)state;
    becomes("X: f32[3,5], K: f32[3,2,4]) -> Y: f32[2,10]",
            "Y[f,p] = sum[c,r](((p + 1 - r) % 2 == 0 ? (X[c,(p+1-r)/2] else 0) : 0) * K[c,f,r]);",
            "  Y[f,p,p_phase] = sum[c,r]((X[c,p+p_phase-r] else 0) *"
            " K[c,f,2*r+1-p_phase]) where r in 0:2;\n");
    /* Two axes; the result is an operand of what follows it.  */
    becomes("X: i8[5,4,3], K: i8[4,4,3,2], b: i8[2], Z: i8[10,8,2]) -> Y: i32[10,8,2]",
            "t[p,q,f] = sum[r,s,c](((p + 1 - r) % 2 == 0 && (q + 1 - s) % 2 == 0"
            " ? (X[(p+1-r)/2,(q+1-s)/2,c] else 0) : 0) * K[r,s,c,f]);"
            " Y[p,q,f] = max(t[p,q,f] + b[f], 0) + Z[p,q,f];",
            "  t[p,p_phase,q,q_phase,f] = sum[r,s,c]((X[p+p_phase-r,q+q_phase-s,c] else"
            " 0) * K[2*r+1-p_phase,2*s+1-q_phase,c,f]) where p in 0:5, p_phase in 0:2, q"
            " in 0:4, q_phase in 0:2, r in 0:2, s in 0:2;\n"
            "  Y[p,p_phase,q,q_phase,f] = max(t[p,p_phase,q,q_phase,f] + b[f], 0) +"
            " Z[2*p+p_phase,2*q+q_phase,f];\n");
    /* Halves of the phases, where no one digit will do.  */
    becomes("X: f32[5], K: f32[8]) -> Y: f32[20]",
            "Y[p] = sum[r]((0 == (p + 2 - r) % 4 ? (X[(p+2-r)/4] else 0) : 0) * K[r]);",
            "  Y[p,p_phase,p_phase2] = sum[r]((X[p+p_phase-r] else 0) *"
            " K[p_phase2+4*r+2-2*p_phase]) where r in 0:2;\n");
}

/* What is made of it point by point has the points that are too many, too, and reads nothing
 * outside; outputs do not.  */
static void what_does_not_divide_is_clipped(void **state) {
    (void)state;
    becomes("X: f32[5], K: f32[4]) -> Y: f32[9]",
            "Y[p] = sum[r](((p + 1 - r) % 2 == 0 ? (X[(p+1-r)/2] else 0) : 0) * K[r]);",
            "  Y[p,p_phase] = sum[r]((X[p+p_phase-r] else 0) * K[2*r+1-p_phase]) where r in 0:2;"
            "  # 2*p + p_phase < 9\n");
    becomes("X: f32[5,5], K: f32[4,4], Z: f32[9,9]) -> (Y: f32[9,9], M: f32[9,9])",
            "t[p,q] = sum[r,s](((p+1-r) % 2 == 0 && (q+1-s) % 2 == 0"
            " ? (X[(p+1-r)/2,(q+1-s)/2] else 0) : 0) * K[r,s]);"
            " Y[p,q] = t[p,q] + Z[p,q]; M[p,q] = max(t[p,q], 0);",
            "  t[p,p_phase,q,q_phase] = sum[r,s]((X[p+p_phase-r,q+q_phase-s] else 0) *"
            " K[2*r+1-p_phase,2*s+1-q_phase]) where p in 0:5, p_phase in 0:2, q in 0:5, q_phase in"
            " 0:2, r in 0:2, s in 0:2;\n"
            "  Y[p,p_phase,q,q_phase] = t[p,p_phase,q,q_phase] + (Z[2*p+p_phase,2*q+q_phase] else"
            " 0);  # 2*p + p_phase < 9, 2*q + q_phase < 9\n"
            "  M[p,p_phase,q,q_phase] = max(t[p,p_phase,q,q_phase], 0);"
            "  # 2*p + p_phase < 9, 2*q + q_phase < 9\n");
    becomes("X: f16[5,5], K: f16[2,2]) -> Y: f16[9,9]",
            "Y[p,q] = f16(sum[r,s](((p-r) % 2 == 0 && (q-s) % 2 == 0"
            " ? (X[(p-r)/2,(q-s)/2] else 0) : 0) * K[r,s]));",
            "  Y[p,p_phase,q,q_phase] = sum[r,s]((X[p-r,q-s] else 0) *"
            " K[p_phase+2*r,q_phase+2*s]) where r in 0:1, s in 0:1;"
            "  # 2*p + p_phase < 9, 2*q + q_phase < 9\n");
}

static void what_is_read_otherwise_is_copied(void **state) {
    (void)state;
    becomes("X: f32[5], K: f32[4]) -> (Y: f32[9], M: f32)",
            "Y[p] = sum[r](((p + 1 - r) % 2 == 0 ? (X[(p+1-r)/2] else 0) : 0) * K[r]);"
            " M[] = max[p](Y[p]);",
            "  Y_phases[p,p_phase] = sum[r]((X[p+p_phase-r] else 0) * K[2*r+1-p_phase])"
            " where p in 0:5, p_phase in 0:2, r in 0:2;\n"
            "  Y[p] = Y_phases[p/2,p%2];\n  M[] = max[p](Y[p]);\n");
    becomes("X: f32[5], K: f32[3]) -> Y: f32[15]",
            "Y[p] = sum[r](((p + 1 - r) % 3 == 0 ? (X[(p+1-r)/3] else 0) : 0) * K[r]);",
            "  Y_phases[p,p_phase] = sum[r]((X[p-r] else 0) * K[p_phase+3*r]) where p in"
            " 0:6, p_phase in 0:3, r in 0:1;\n"
            "  Y[p] = Y_phases[(p+1)/3,(p+1)%3];\n");
}

/* What there is too much of is 0 in both factors; where that cannot be, there is a condition.  */
static void filters_that_do_not_divide_are_bounded(void **state) {
    (void)state;
    becomes("X: f32[5], K: f32[3]) -> Y: f32[10]",
            "Y[p] = sum[r](((p + 1 - r) % 2 == 0 ? (X[(p+1-r)/2] else 0) : 0) * K[r]);",
            "  Y[p,p_phase] = sum[r]((X[p+p_phase-r,2*r+1-p_phase] else 0) *"
            " (K[2*r+1-p_phase] else 0)) where r in 0:2;\n");
    becomes("X: f16[5], K: f16[3]) -> (Y: f32[10], Z: f16[5])",
            "Y[p] = sum[r]((p - r) % 2 == 0 ? K[2-r] * (X[(p-r)/2] else 0) : 0)"
            " where r in 0:3; Z[i] = -X[i];",
            "  Y[p,p_phase] = sum[r]((K[2-p_phase-2*r] else 0) *"
            " (X[p-r,p_phase+2*r] else 0)) where r in 0:2;\n  Z[i] = -X[i,0];\n");
    /* A temporary has no elements along what is added, nor has its maker an index there.  */
    becomes("G: f32[2,5], K: f32[3]) -> (Y: f32[10], Z: f32[5])",
            "x[i] = sum[z](G[z,i]); Z[i] = -x[i];"
            " Y[p] = sum[r](((p + 1 - r) % 2 == 0 ? (x[(p+1-r)/2] else 0) : 0) * K[r]);",
            "  x[i] = sum[z](G[z,i]);\n  Z[i] = -x[i];\n"
            "  Y[p,p_phase] = sum[r]((2 * r + 1 - p_phase < 3 ? (x[p+p_phase-r] else 0) : 0)"
            " * (K[2*r+1-p_phase] else 0)) where r in 0:2;\n");
    becomes("X: f32[5], K: f32[3], s: f32) -> Y: f32[10]",
            "Y[p] = sum[r](((p - r) % 2 == 0 ? (X[(p-r)/2] else 0) : 0) * (s + K[r]));",
            "  Y[p,p_phase] = sum[r](p_phase + 2 * r < 3 ? (X[p-r] else 0) *"
            " (s + (K[p_phase+2*r] else 0)) : 0) where r in 0:2;\n");
}

/* One axis (a filter of one element has none: the last one is b's then): extents, stride, filter,
 * shift, distance; a neighbour of the result is read, too.  */
static const char *op_of(Arena *a, int out, int s, int filter, int shift, int step) {
    return arena_printf(
        a, "param P = %d, s = %d, R = %d, c = %d, d = %d;"
        " op f(X: i16[2,4], K: i16[3,2,R]) -> (Y: i32[3,P], Z: i32[3,P], M: i32[3]) {"
        " Y[f,p] = sum[b,r](((p+c-r*d)%%s == 0 ? (X[b,(p+c-r*d)/s] else 0) : 0) * K[f,b,r]);"
        " t[f,p] = sum[b,r](K[f,b,r] * ((r*d - p - c) %% s == 0 ? (X[b,(p+c-r*d)/s] else 0) : 0));"
        " Z[f,p] = t[f,p] + 2 * (t[f,p-1] else 1); M[f] = max[p](Y[f,p]); }", out, s, filter,
        shift, step);
}

static void every_stride_and_filter_keeps_its_values(void **state) {
    (void)state;
    int cut = 0;
    for (int i = 0; i < 4 * 5 * 4 * 3; i++) {
        int s = 2 + i % 4, filter = 1 + i / 4 % 5, shift = i / 20 % 4, step = 1 + i / 80;
        Arena *a = arena_create(NULL);
        const Te *normal = normal_check(a, op_of(a, 5 + i % 6, s, filter, shift, step),
                                        PHASED);
        const TeStmt *sum = &normal->stmt[0];
        int64_t left = sum->index[sum->n_index - 1].hi.value;
        bool apart = gcd64(step, s) == 1 && filter > 1;
        if (left == (filter + s - 1) / s && left < filter) cut++;
        else assert_int_equal(left, filter > 1 ? filter : 2);
        assert_true(left < filter || !apart || (s > 2 && step % s != 1));
        arena_destroy(a);
    }
    assert_true(cut >= 100);
}

static void sizes_may_be_known_at_run_time(void **state) {
    (void)state;
    static const char *const out[] = {"2*H", "2*H-1"}, *const want[] = {
        ") -> Y: f32[2*H/2,2] {\n  Y[p,p_phase] = sum[c,r]((X[c,p+p_phase-r] else 0) *"
        " K[c,2*r+1-p_phase]) where r in 0:2;\n}",
        ") -> Y: f32[2*H-1] {\n  Y_phases[p,p_phase] = sum[c,r]((X[c,p+p_phase-r] else 0) *"
        " K[c,2*r+1-p_phase]) where p in 0:(2*H-1+1)/2, p_phase in 0:2, r in 0:2;\n"
        "  Y[p] = Y_phases[p/2,p%2];\n}"};
    for (int i = 0; i < 2; i++) {
        Arena *a = arena_create(NULL);
        Diag d = diag_new(a);
        Buf b = buf_new(a);
        const char *text = arena_printf(
            a, "param H = 1..9; op f(X: f32[3,H], K: f32[3,4]) -> Y: f32[%s] { Y[p] = sum[c,r]("
            "((p + 1 - r) %% 2 == 0 ? (X[c,(p+1-r)/2] else 0) : 0) * K[c,r]); }", out[i]);
        const Te *te = fixture_te(a, text), *normal = normal_check(a, text, PHASED);
        te_print(normal, &b);
        assert_non_null(strstr(buf_str(&b), want[i]));
        for (int64_t h = 1; h <= 9; h++) {
            const Te *x, *y;
            assert_int_equal(te_specialize(a, &d, te, &h, &x), ST_OK);
            assert_int_equal(te_specialize(a, &d, normal, &h, &y), ST_OK);
            normal_check_values(a, x, y);
        }
        arena_destroy(a);
    }
}

/* The dilation is a multiple of the stride: no r counts more than another.  */
static void results_between_are_zero(void **state) {
    (void)state;
    becomes("X: f32[5], K: f32[4]) -> Y: f32[11]",
            "Y[p] = sum[r](((p + 1 - 2*r) % 2 == 0 ? (X[(p+1-2*r)/2] else 0) : 0) * K[r]);",
            "  Y_phases[p] = sum[r]((X[p+1-r] else 0) * K[r]) where p in 0:5;\n"
            "  Y[p] = p % 2 == 1 ? (Y_phases[p/2] else 0) : 0;\n");
    becomes("X: f32[5,5], K: f32[3,3]) -> Y: f32[10,12]",
            "Y[p,q] = max(sum[r,s](((p - 2*r) % 2 == 0 && (q + 1 - 4*s) % 4 == 0"
            " ? (X[(p-2*r)/2,(q+1-4*s)/4] else 0) : 0) * K[r,s]), 1);",
            "  Y_sum_phases[p,p_phase,q] = sum[r,s]((X[p-r,q+1-s] else 0) * K[r,s]) where p in"
            " 0:5, p_phase in 0:1, q in 0:3;\n"
            "  Y[p,p_phase,q] = max(q % 4 == 3 ? p_phase % 2 == 0 ?"
            " Y_sum_phases[p,p_phase/2,q/4] : 0 : 0, 1);\n");
}

/* What a left out term would have made of an infinity is open; no term may be added.  */
static void infinities_stay_where_they_are(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    float x[5] = {1, 2, INFINITY, 4, 5}, k[3] = {1, 1, INFINITY};
    TeData in[2] = {{.data = x, .bytes = sizeof x}, {.data = k, .bytes = sizeof k}};
    Te *te = fixture_te(a, "op f(X: f32[5], K: f32[3]) -> Y: f32[10] { Y[p] +="
                           " ((p + 1 - r) % 2 == 0 ? (X[(p+1-r)/2] else 0) : 0) * K[r]; }");
    te->decisions = decide(a, PHASED);
    const TeValue *given = fixture_values(a, te, in, 2);
    const TeValue *made = fixture_values(a, fixture_normal(a, te), in, 2);
    /* Even results have the one term of K[1], odd ones those of K[0] and K[2].  */
    for (int p = 0; p < 10; p++) {
        assert_true(given[p].undecided == (p % 2 == 0));
        assert_false(made[p].undecided);
        if (p % 2 == 0) assert_true(made[p].v == x[p / 2]);
        else assert_true(isinf(made[p].v) && isinf(given[p].v));
    }
    arena_destroy(a);
}

static void other_sums_stay(void **state) {
    (void)state;
    static const char *const body[] = {
        /* no 0, no product, no sum */
        "Y[p] = sum[r](((p - r) % 2 == 0 ? (X[(p-r)/2] else 0) : 1) * K[r]);",
        "Y[p] = sum[r](((p - r) % 2 == 0 ? (X[(p-r)/2] else 0) : 0) + K[r]);",
        "Y[p] = max[r](((p - r) % 2 == 0 ? (X[(p-r)/2] else 0) : 0) * K[r]);",
        /* several indices; none of the result */
        "Y[p] = sum[r,s](((p-r-s) % 2 == 0 ? (X[(p-r-s)/2] else 0) : 0) * K[r]) where s in 0:2;",
        "Y[p] = sum[r](((p*2 + r) % 2 == 0 ? (X[(p*2-r)/2] else 0) : 0) * K[r]);",
        "Y[p] = sum[r](((p - r) % 2 < 1 ? (X[(p-r)/2] else 0) : 0) * K[r]);",
        /* a 0 of data is a value, times infinities, too */
        "Y[p] = sum[r](((p - r) % 2 == 0 && K[r] > 0 ? (X[(p-r)/2] else 0) : 0) * K[r]);",
        "Y[p] = sum[r](K[r] * (X[0] > 0 ? ((p - r) % 2 == 0 ? (X[(p-r)/2] else 0) : 0) : 0));",
        "Y[p] = sum[r](((p - r) % 2 == 0 ? (X[(p-r)/2] else 0) : -0.0) * K[r]);",
    };
    for (size_t i = 0; i < sizeof body / sizeof *body; i++) {
        Arena *a = arena_create(NULL);
        const char *text =
            arena_printf(a, "op f(X: f32[5], K: f32[4]) -> Y: f32[10] { %s }", body[i]);
        const Te *normal = normal_check(a, text, PHASED);
        Buf phased = buf_new(a), usual = buf_new(a);
        te_print(normal, &phased);
        te_print(normal_check(a, text, USUAL), &usual);
        assert_string_equal(buf_str(&phased), buf_str(&usual));
        arena_destroy(a);
    }
}

/* Of integers every 0 does, and no factor is seen where the term itself is the 0.  */
static void data_may_choose_what_no_factor_tells(void **state) {
    (void)state;
    becomes("X: i32[5], K: i32[4]) -> Y: i32[10]",
            "Y[p] = sum[r](((p+1-r) % 2 == 0 && K[r] > 0 ? (X[(p+1-r)/2] else 0) : 0) * K[r]);",
            "  Y[p,p_phase] = sum[r]((K[2*r+1-p_phase] > 0 ? (X[p+p_phase-r] else 0) : 0) *"
            " K[2*r+1-p_phase]) where r in 0:2;\n");
    becomes("X: f32[5], K: f32[4]) -> Y: f32[10]",
            "Y[p] = sum[r]((p+1-r) % 2 == 0 && K[r] > 0 ? (X[(p+1-r)/2] else 0) * K[r] : 0)"
            " where r in 4;",
            "  Y[p,p_phase] = sum[r](K[2*r+1-p_phase] > 0 ? (X[p+p_phase-r] else 0) *"
            " K[2*r+1-p_phase] : 0) where r in 0:2;\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_cut_in_place),
        cmocka_unit_test(data_may_choose_what_no_factor_tells),
        cmocka_unit_test(results_between_are_zero),
        cmocka_unit_test(what_does_not_divide_is_clipped),
        cmocka_unit_test(what_is_read_otherwise_is_copied),
        cmocka_unit_test(filters_that_do_not_divide_are_bounded),
        cmocka_unit_test(every_stride_and_filter_keeps_its_values),
        cmocka_unit_test(sizes_may_be_known_at_run_time),
        cmocka_unit_test(infinities_stay_where_they_are),
        cmocka_unit_test(other_sums_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
