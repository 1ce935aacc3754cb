/* links: te */
#include "base/hash.h"
#include "normal_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check_becomes(const char *head, const char *body, const char *want) {
    normal_check_text(USUAL, head, body, want);
}

/* Where it is decided so: rows first, then what strides across them.  */
static void strided_reductions_go_in_steps(void **state) {
    (void)state;
    normal_check_text(TWO_STEP, "X: f32[3,4,2,5]) -> Y: f32[4]",
                      "Y[c] = sum[n,h,w](X[n,c,h,w]) / 5.0;",
                      "  Y_sum_sum[c,n] = sum[h,w](X[n,c,h,w]);\n"
                      "  Y_sum[c] = sum[n](Y_sum_sum[c,n]);\n  Y[c] = Y_sum[c] / 5.0;\n");
    normal_check_text(TWO_STEP, "X: i8[3,4,5], w: i8[3]) -> Y: i32[4]",
                      "Y[c] = min[d,n](X[n,c,d] * w[n]);",
                      "  Y_min[c,n] = min[d](X[n,c,d] * w[n]);\n  Y[c] = min[n](Y_min[c,n]);\n");
    /* Nothing strides, nothing is contiguous, or the position counts; windows overlap.  */
    normal_check_text(TWO_STEP, "X: f32[4,5]) -> Y: f32", "Y[] = sum[i,j](X[i,j]);",
                      "  Y[] = sum[i,j](X[i,j]);\n");
    normal_check_text(TWO_STEP, "X: f32[3,4,5]) -> Y: f32[5]", "Y[k] = sum[i,j](X[i,j,k]);",
                      "  Y[k] = sum[i,j](X[i,j,k]);\n");
    normal_check_text(TWO_STEP, "X: f32[3,4,5]) -> Y: i32[4]",
                      "Y[j] = argmax[i,k](X[i,j,k]);", "  Y[j] = argmax[i,k](X[i,j,k]);\n");
    normal_check_text(TWO_STEP, "X: f32[3,4,6]) -> Y: f32[4,4]",
                      "Y[c,q] = sum[n,s](X[n,c,q+s]) where s in 3;",
                      "  Y[c,q] = sum[n,s](X[n,c,q+s]) where s in 0:3;\n");
}

/* Factors that no summed index reaches go behind a product, the others to an operand.  */
static void factors_of_sums_come_together(void **state) {
    (void)state;
    const char *head = "A: f16[3,4], B: f16[5,4], s: f32[3], t: f32[5], w: f32[4], a: f32) ->"
                       " Y: f16[3,5]";
    static const struct {
        const char *body, *sum, *rest;
    } cases[] = {
        {"A[m,k] * B[n,k] * s[m] * t[n]", "A[m,k] * B[n,k]", " * s[m] * t[n]"},
        {"s[m] * A[m,k] * (t[n] * B[n,k])", "A[m,k] * B[n,k]", " * s[m] * t[n]"},
        {"A[m,k] / s[m] * (0.5 * B[n,k]) / a", "A[m,k] * B[n,k]", " / s[m] * 0.5 / a"},
        {"A[m,k] * B[n,k] * w[k] * a", "A[m,k] * w[k] * B[n,k]", " * a"},
    };
    Arena *arena = arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_becomes(head, arena_printf(arena, "Y[m,n] = sum[k](%s);", cases[i].body),
                      arena_printf(arena, "  Y_sum[m,n] = sum[k](%s);\n  Y[m,n] = Y_sum[m,n]%s;\n",
                                   cases[i].sum, cases[i].rest));
    }
    check_becomes(head, "Y[m,n] += A[m,k] * B[n,k] * w[k];",
                  "  Y[m,n] = sum[k](A[m,k] * w[k] * B[n,k]);\n");
    check_becomes(head, "Y[m,n] += -A[m,k] * B[n,k];",
                  "  Y_sum[m,n] = sum[k](A[m,k] * B[n,k]);\n  Y[m,n] = -Y_sum[m,n];\n");
    check_becomes(head, "Y[m,n] = sum[k](A[m,k] * B[n,k] - w[k] * (A[m,k] * s[m] * B[n,k])) + a;",
                  "  Y_sum[m,n] = sum[k](A[m,k] * B[n,k]);\n"
                  "  Y_sum2[m,n] = sum[k](w[k] * A[m,k] * B[n,k]);\n"
                  "  Y[m,n] = Y_sum[m,n] - Y_sum2[m,n] * s[m] + a;\n");
    check_becomes(head, "Y[m,n] = sum[k](A[m,k] * B[n,k] + w[k]);",
                  "  Y[m,n] = sum[k](A[m,k] * B[n,k] + w[k]);\n");
    check_becomes("A: f32[2,3,4], B: f32[3,5,4], C: f32[2,5,4]) -> Y: f32[2,3,5]",
                  "Y[a,b,c] = sum[k](A[a,b,k] * B[b,c,k] * C[a,c,k]);",
                  "  Y[a,b,c] = sum[k](A[a,b,k] * (B[b,c,k] * C[a,c,k]));\n");
    /* Sums of integers that fit; those that may not, casts, sums that are no product stay.  */
    head = "A: i8[3,4], B: i8[5,4], C: i32[3,4], s: f32[3]) -> Y: f32[3,5]";
    check_becomes(head, "Y[m,n] += A[m,k] * B[n,k] * s[m];",
                  "  Y_sum[m,n] = sum[k](A[m,k] * B[n,k]);\n  Y[m,n] = Y_sum[m,n] * s[m];\n");
    check_becomes(head, "Y[m,n] += C[m,k] * B[n,k] * s[m];",
                  "  Y[m,n] += C[m,k] * B[n,k] * s[m];\n");
    check_becomes(head, "Y[m,n] += f16(A[m,k] * s[m]) * B[n,k];",
                  "  Y[m,n] += f16(A[m,k] * s[m]) * B[n,k];\n");
    check_becomes("X: f32[3,4], s: f32[3]) -> Y: f32[3]", "Y[m] += X[m,k] * s[m];",
                  "  Y[m] += X[m,k] * s[m];\n");
    check_becomes("A: f32[3,4], s: f32[3]) -> Y: f32[3]",
                  "Y[m] += A[m,k] * A[m,k] * s[m] @written;",
                  "  Y[m] += A[m,k] * A[m,k] * s[m] @written;\n");
    arena_destroy(arena);
}

/* Digits of an index that another read has whole; not where one lies in a dimension of its own.  */
static void summed_digits_are_one_index(void **state) {
    (void)state;
    check_becomes("A: f16[3,8], Q: u8[5,4], s: f16[5,2]) -> Y: f32[3,5]",
                  "Y[m,n] = sum[j,e](A[m,2*j+e] * f16(((i32(Q[n,j]) >> (4*e)) & 15) * s[n,j/2]))"
                  " where e in 0:2;",
                  "  Y[m,n] = sum[j](A[m,j] * f16((Q[n,j/2] >> i32(4 * (j % 2))) % 16 *"
                  " s[n,j/4])) where j in 0:8;\n");
    check_becomes("A: f16[3,8], B: f16[8]) -> Y: f32[3]",
                  "Y[m] = sum[j,e](A[m,2*j+e] * B[e+2*j]) where e in 0:2, j in 0:4;",
                  "  Y[m] = sum[j](A[m,j] * B[j]) where j in 0:8;\n");
    check_becomes("A: f16[3,8], B: f16[4,2]) -> Y: f32[3]",
                  "Y[m] = sum[j,e](A[m,2*j+e] * B[j,e]);",
                  "  Y[m] = sum[j,e](A[m,2*j+e] * B[j,e]);\n");
}

/* A reduction that all its readers round in one way is stored so.  */
static void reductions_are_stored_as_they_are_read(void **state) {
    (void)state;
    const char *head = "A: f16[3,4], B: f16[4,5], C: f16[5,3]) -> Y: f32[3,3]";
    check_becomes(head, "t[m,n] += A[m,k] * B[k,n]; Y[m,n] = sum[k](f16(t[m,k]) * C[k,n]);",
                  "  t[m,n] += A[m,k] * B[k,n] @type(f16);\n"
                  "  Y[m,n] = sum[k](t[m,k] * C[k,n]);\n");
    check_becomes(head, "t[m,n] += A[m,k] * B[k,n]; Y[m,n] = sum[k](f16(t[m,k]) * C[k,n])"
                        " + t[m,0];",
                  "  t[m,n] += A[m,k] * B[k,n];\n"
                  "  Y_sum[m,n] = sum[k](f16(t[m,k]) * C[k,n]);\n"
                  "  Y[m,n] = Y_sum[m,n] + t[m,0];\n");
}

/* What reads the same elements goes with it, squares of deviations by parts.  */
static void strided_statistics_make_one_pass(void **state) {
    (void)state;
    normal_check_text(TWO_STEP, "X: f32[3,4,5]) -> (Y: f32[4], Z: f32[4])",
                      "m[c] = sum[n,d](X[n,c,d]) / 15.0;"
                      " Y[c] = sum[n,d]((X[n,c,d] - m[c]) * (X[n,c,d] - m[c])); Z[c] = exp(m[c]);",
                      "  m_sum_sum[c,n] = sum[d](X[n,c,d]);\n"
                      "  m_sum[c] = sum[n](m_sum_sum[c,n]);\n"
                      "  m[c] = m_sum[c] / 15.0;\n"
                      "  m_sum_sum_mean[c,n] = m_sum_sum[c,n] / 5.0;\n"
                      "  Y_sum[c,n] = sum[d]((X[n,c,d] - m_sum_sum_mean[c,n]) *"
                      " (X[n,c,d] - m_sum_sum_mean[c,n]));\n"
                      "  Y[c] = sum[n](Y_sum[c,n] + 5.0 * ((m_sum_sum_mean[c,n] - m[c]) *"
                      " (m_sum_sum_mean[c,n] - m[c])));\n  Z[c] = exp(m[c]);\n");
    /* From what is no mean they are not.  */
    normal_check_text(TWO_STEP, "X: f32[3,4,5]) -> Y: f32[4]",
                      "m[c] = sum[n,d](X[n,c,d]) / 14.0;"
                      " Y[c] = sum[n,d]((X[n,c,d] - m[c]) * (X[n,c,d] - m[c]));",
                      "  m_sum_sum[c,n] = sum[d](X[n,c,d]);\n"
                      "  m_sum[c] = sum[n](m_sum_sum[c,n]);\n"
                      "  m[c] = m_sum[c] / 14.0;\n"
                      "  Y_sum[c,n] = sum[d]((X[n,c,d] - m[c]) * (X[n,c,d] - m[c]));\n"
                      "  Y[c] = sum[n](Y_sum[c,n]);\n");
}

/* Where it is decided so; what pads a sum, or accumulates in a type of its own, stays one.  */
static void short_sums_are_written_out(void **state) {
    (void)state;
    normal_check_text(UNROLLED, "A: f32[9,2], B: f32[2,3]) -> C: f32[9,3]",
                      "C[m,n] = max(sum[k](A[m,k] * B[k,n]), 0);",
                      "  C[m,n] = max(A[m,0] * B[0,n] + A[m,1] * B[1,n], 0);\n");
    normal_check_text(UNROLLED, "X: i64[6,2,2]) -> Y: i64[6]",
                      "Y[i] = sum[j,k](X[i,j,k] * (j + 1));",
                      "  Y[i] = X[i,0,0] + X[i,0,1] + X[i,1,0] * 2 + X[i,1,1] * 2;\n");
    static const char *const stays[] = {
        "X: f32[5,17]) -> Y: f32[5]", "Y[i] = sum[k](X[i,k]);", "  Y[i] = sum[k](X[i,k]);\n",
        "X: f32[5], K: f32[3]) -> Y: f32[5]", "Y[i] = sum[k]((X[i+k-1] else 0) * K[k]);",
        "  Y[i] = sum[k]((X[i+k-1] else 0) * K[k]);\n",
        "X: f32[5,3]) -> Y: f64[5]", "Y[i] = sum[k](X[i,k]) @accum(f64);",
        "  Y[i] = sum[k](X[i,k]) @accum(f64);\n",
        "X: f32[5,3]) -> Y: f32[5]", "Y[i] = max[k](X[i,k]);", "  Y[i] = max[k](X[i,k]);\n"};
    for (size_t i = 0; i < sizeof stays / sizeof *stays; i += 3)
        normal_check_text(UNROLLED, stays[i], stays[i + 1], stays[i + 2]);
}

/* Where it is decided so; an image that is no more than a block, or that is read without windows,
 * stays as it is.  */
static void images_are_cut_into_blocks(void **state) {
    (void)state;
    normal_check_text(BLOCKED, "X: f32[24,64,4], K: f32[3,3,4,2], b: f32[2]) -> Y: f32[24,64,2]",
                      "t[p,q,f] = sum[r,s,c]((X[p+r-1,q+s-1,c] else 0) * K[r,s,c,f]);"
                      " Y[p,q,f] = t[p,q,f] + b[f];",
                      "  t[p,p_phase,q,q_phase,f] = sum[r,s,c]((X[8*p+p_phase+r-1,16*q+q_phase+s-1,"
                      "c] else 0) * K[r,s,c,f]) where p in 0:3, p_phase in 0:8, q in 0:4, q_phase"
                      " in 0:16;\n"
                      "  Y[p,p_phase,q,q_phase,f] = t[p,p_phase,q,q_phase,f] + b[f];\n");
    static const char *const stays[] = {
        "X: f32[8,16,4], K: f32[3,3,4,2]) -> Y: f32[8,16,2]",
        "Y[p,q,f] = sum[r,s,c]((X[p+r-1,q+s-1,c] else 0) * K[r,s,c,f]);",
        "  Y[p,q,f] = sum[r,s,c]((X[p+r-1,q+s-1,c] else 0) * K[r,s,c,f]);\n",
        "X: f32[16,16,4], K: f32[4,2]) -> Y: f32[16,16,2]", "Y[p,q,f] = sum[c](X[p,q,c] * K[c,f]);",
        "  Y[p,q,f] = sum[c](X[p,q,c] * K[c,f]);\n"};
    for (size_t i = 0; i < sizeof stays / sizeof *stays; i += 3)
        normal_check_text(BLOCKED, stays[i], stays[i + 1], stays[i + 2]);
}

/* Those of a run-time range, beyond the least of them under conditions.  */
static void short_sums_of_run_time_sizes(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Te *te = fixture_te(a, "param N = 1..3, K = 0..2;\n"
                           "op f(X: f32[5,N], Z: i32[5,K,2]) -> (Y: f32[5], V: i32[5]) {\n"
                           "  Y[i] = sum[n](X[i,n] * X[i,n]); V[i] = sum[k,j](Z[i,k,j]); }");
    Buf b = buf_new(a);
    te->decisions = decide(a, UNROLLED);
    Te *normal = fixture_normal(a, te);
    normal_check_form(a, normal, te->text);
    te_print(normal, &b);
    assert_non_null(strstr(buf_str(&b),
        "  Y[i] = X[i,0] * X[i,0] + (1 < N ? X[i,1] * X[i,1] : 0) + "
        "(2 < N ? X[i,2] * X[i,2] : 0);\n"
        "  V[i] = (0 < K ? Z[i,0,0] : 0) + (0 < K ? Z[i,0,1] : 0) + (1 < K ? Z[i,1,0] : 0) + "
        "(1 < K ? Z[i,1,1] : 0);\n"));
    for (int64_t n = 1; n <= 3; n++) {
        const int64_t size[] = {n, n - 1};
        const Te *fixed, *fixed_normal;
        Diag d = diag_new(a);
        assert_int_equal(te_specialize(a, &d, te, size, &fixed), ST_OK);
        assert_int_equal(te_specialize(a, &d, normal, size, &fixed_normal), ST_OK);
        normal_check_values(a, fixed, fixed_normal);
    }
    arena_destroy(a);
}

/* Of integers a part's mean is floored, of two types one of them is coarser; rules differ.  */
static void statistics_of_integers_are_not_of_parts(void **state) {
    (void)state;
    static const char *const stays[] = {
        "op f(X: i32[3,4,5]) -> (M: i32[4], Y: i32[4]) { M[c] = sum[n,d](X[n,c,d]) / 15;"
        " Y[c] = sum[n,d]((X[n,c,d] - M[c]) * (X[n,c,d] - M[c])); }",
        "op f(X: i8[3,4,5]) -> (M: i64[4], Y: i64[4]) { M[c] = sum[n,d](i64(X[n,c,d])) / 15;"
        " Y[c] = sum[n,d]((X[n,c,d] - M[c]) * (X[n,c,d] - M[c])); }",
        "op f(X: i8[3,4,5]) -> (M: f32[4], Y: f32[4]) { M[c] = sum[n,d](X[n,c,d]) / 15.0;"
        " Y[c] = sum[n,d]((X[n,c,d] - M[c]) * (X[n,c,d] - M[c])) / 15; }",
        "op f(X: f32[3,4,5]) -> (M: f64[4], Y: f64[4]) { M[c] = sum[n,d](X[n,c,d]) / f64(15);"
        " Y[c] = sum[n,d]((X[n,c,d] - M[c]) * (X[n,c,d] - M[c])); }",
        "op f(X: f32[3,4,5]) -> (M: f32[4], Y: f32[4]) { s[c] = sum[n,d](X[n,c,d]) @accum(f16);"
        " M[c] = s[c] / 15; Y[c] = sum[n,d]((X[n,c,d] - M[c]) * (X[n,c,d] - M[c])); }",
        "op f(X: f32[3,4,5]) -> (M: f32[4], Y: f32[4]) { s[c] = sum[n,d](X[n,c,d] / 3) @fast;"
        " M[c] = s[c] / 15;"
        " Y[c] = sum[n,d]((X[n,c,d] / 3 - M[c]) * (X[n,c,d] / 3 - M[c])); }"};
    for (size_t i = 0; i < sizeof stays / sizeof *stays; i++) {
        Arena *a = arena_create(NULL);
        Buf b = buf_new(a);
        te_print(normal_check(a, stays[i], TWO_STEP), &b);
        if (strstr(buf_str(&b), "_mean") || !strstr(buf_str(&b), "_sum")) fail_msg("%s", stays[i]);
        arena_destroy(a);
    }
}

static void inner_reductions_become_temporaries(void **state) {
    (void)state;
    check_becomes("X: f32[4,5]) -> Y: f32[4]", "Y[i] = sum[k](X[i,k]) / 5.0;",
                  "  Y_sum[i] = sum[k](X[i,k]);\n  Y[i] = Y_sum[i] / 5.0;\n");
    /* Whole right sides stay.  */
    check_becomes("X: f32[4,5]) -> Y: f32[4]", "Y[i] += X[i,k];", "  Y[i] += X[i,k];\n");
    check_becomes("X: f32[4,5]) -> Y: f16[4]", "Y[i] = sum[k](X[i,k]);",
                  "  Y[i] = sum[k](X[i,k]);\n");
    /* Only the indices that matter; one value for all rows.  */
    check_becomes("X: f32[4,5]) -> Y: f32[4,5]",
                  "Y[i,k] = X[i,k] - max[j](X[i,j]) + min[a,b](X[a,b]);",
                  "  Y_max[i] = max[j](X[i,j]);\n  Y_min[] = min[a,b](X[a,b]);\n"
                  "  Y[i,k] = X[i,k] - Y_max[i] + Y_min[];\n");
    /* Of a whole right side, too, or it would be reduced again for each value of the others.  */
    check_becomes("X: f32[4,5]) -> Y: f16[4,3]", "Y[i,c] = max[j](X[i,j]) where c in 3;",
                  "  Y_max[i] = max[j](X[i,j]);\n  Y[i,c] = Y_max[i] where c in 0:3;\n");
    /* Nested ones, inner first; of one kind they join.  */
    check_becomes("X: f32[4,5]) -> Y: f32", "Y[] = sum[i](exp(max[j](X[i,j])));",
                  "  Y_max[i] = max[j](X[i,j]);\n  Y[] = sum[i](exp(Y_max[i]));\n");
    check_becomes("X: f32[4,5]) -> Y: f32", "Y[] = max[i](max[j](X[i,j]));",
                  "  Y[] = max[i,j](X[i,j]);\n");
    check_becomes("X: f32[4,5]) -> Y: f32[5]", "Y[j] = X[argmax[i](X[i,0]),j] else 0;",
                  "  Y_argmax[] = argmax[i](X[i,0]);\n"
                  "  Y[j] = X[Y_argmax[],j] else 0;\n");
}

static void equal_reductions_are_computed_once(void **state) {
    (void)state;
    check_becomes("X: f32[4,5]) -> Y: f32[4,5]",
                  "Y[i,j] = exp(X[i,j] - max[k](X[i,k])) / sum[l](exp(X[i,l] - max[k](X[i,k])));",
                  "  Y_max[i] = max[k](X[i,k]);\n"
                  "  Y_sum[i] = sum[l](exp(X[i,l] - Y_max[i]));\n"
                  "  Y[i,j] = exp(X[i,j] - Y_max[i]) / Y_sum[i];\n");
    /* Also what a statement computed before; but only under the same permissions.  */
    check_becomes("X: f32[4,5]) -> (Y: f32[4], Z: f32[4])",
                  "t[i] += X[i,k]; Y[i] = t[i] * sum[k](X[i,k]);"
                  " Z[i] = sum[k](X[i,k]) + sum[k](X[i,k] * 2) @accum(f64);",
                  "  t[i] += X[i,k];\n  Y[i] = t[i] * t[i];\n"
                  "  Z_sum[i] = sum[k](X[i,k]) @accum(f64);\n"
                  "  Z_sum2[i] = sum[k](X[i,k] * 2) @accum(f64);\n"
                  "  Z[i] = Z_sum[i] + Z_sum2[i];\n");
}

static void equal_statements_are_computed_once(void **state) {
    (void)state;
    check_becomes("X: f32[4,5]) -> (Y: f32[4], Z: f32[4])",
                  "s[i] += X[i,k]; t[j] += X[j,k]; Y[i] = s[i] * 2; Z[i] = t[i] + 1;",
                  "  s[i] += X[i,k];\n  Y[i] = s[i] * 2;\n  Z[i] = s[i] + 1;\n");
    /* An output is a copy of what was computed before it.  */
    check_becomes("X: f32[4,5]) -> (Y: f32[4], Z: f32[4])",
                  "Y[i] += X[i,k]; Z[i] = sum[k](X[i,k]);",
                  "  Y[i] += X[i,k];\n  Z[i] = Y[i];\n");
    check_becomes("X: f16[4]) -> (Y: f32[4], Z: f32[4])",
                  "Y[i] = exp(X[i]); Z[i] = exp(X[i]);", "  Y[i] = exp(X[i]);\n  Z[i] = Y[i];\n");
    /* Not where it was rounded, with other ranges, or under other permissions.  */
    check_becomes("X: f16[4]) -> (Y: f16[4], Z: f16[4])",
                  "Y[i] = exp(X[i]); Z[i] = exp(X[i]);",
                  "  Y[i] = exp(X[i]);\n  Z[i] = exp(X[i]);\n");
    check_becomes("X: f32[4,5]) -> (Y: f16[4], Z: f32[4])",
                  "Y[i] += X[i,k]; Z[i] = sum[k](X[i,k]);",
                  "  Y[i] += X[i,k];\n  Z[i] = sum[k](X[i,k]);\n");
    check_becomes("X: f32[4,5]) -> (Y: f32[4], Z: f32[4])",
                  "Y[i] += X[i,k]; Z[i] += X[i,k] where k in 3;",
                  "  Y[i] += X[i,k];\n  Z[i] += X[i,k] where k in 0:3;\n");
    check_becomes("X: f32[4]) -> (Y: f32[4], Z: f32[4])",
                  "Y[i] = exp(X[i]); Z[i] = exp(X[i]) @fast;",
                  "  Y[i] = exp(X[i]);\n  Z[i] = exp(X[i]) @fast;\n");
}

static void constants_are_folded(void **state) {
    (void)state;
    check_becomes("X: f32[4]) -> Y: f32[4]", "Y[i] = X[i] * (2 * 3) + (1 - 1);",
                  "  Y[i] = X[i] * 6.0 + 0.0;\n");
    check_becomes("X: f32[4]) -> Y: f32[4]", "Y[i] = 1 * X[i] / 1 - 0;", "  Y[i] = X[i];\n");
    check_becomes("X: i32[4]) -> Y: i32[4]", "Y[i] = (X[i] + 0) * 1 + 7 / 2 * 2;",
                  "  Y[i] = X[i] + 6;\n");
    check_becomes("X: i32[4]) -> Y: i32[4]", "Y[i] = X[i] + (0 - 7) / 2 + (0 - 7) % 3;",
                  "  Y[i] = X[i] + -4 + 2;\n");
    /* Of roots of f32 and of exact casts, with the nearest value; of what is no positive number,
     * and of f64, nothing.  */
    check_becomes("X: f32[64]) -> Y: f32[64]", "let D = 64; Y[i] = X[i] * rsqrt(f32(D));",
                  "  let D = 64;\n  Y[i] = X[i] * 0.125;\n");
    check_becomes("X: f32[4]) -> Y: f32[4]", "Y[i] = X[i] * sqrt(2.0);",
                  "  Y[i] = X[i] * 1.4142135381698608;\n");
    check_becomes("X: f32[4]) -> Y: f32[4]", "Y[i] = X[i] * rsqrt(0.0) + sqrt(-1.0);",
                  "  Y[i] = X[i] * rsqrt(0.0) + sqrt(-1.0);\n");
    check_becomes("X: f64[4]) -> Y: f64[4]", "Y[i] = X[i] * sqrt(f64(2));",
                  "  Y[i] = X[i] * sqrt(f64(2));\n");
    check_becomes("X: f32[4]) -> Y: f32[4]", "let D = 16777217; Y[i] = X[i] + f32(D);",
                  "  let D = 16777217;\n  Y[i] = X[i] + f32(D);\n");
    /* What needs rounding, wraps or may change a sign stays.  */
    check_becomes("X: f32[4]) -> Y: f32[4]", "Y[i] = X[i] * (0.1 * 0.1) + 0;",
                  "  Y[i] = X[i] * (0.1 * 0.1) + 0;\n");
    check_becomes("X: f32[4]) -> Y: f32[4]", "Y[i] = X[i] * (1.0 / 3.0) + 16777216.0 * 3;",
                  "  Y[i] = X[i] * (1.0 / 3.0) + 50331648.0;\n");
    check_becomes("X: i32[4]) -> Y: i32[4]", "Y[i] = X[i] + (2147483647 + 1) + 1 / 0;",
                  "  Y[i] = X[i] + (2147483647 + 1) + 1 / 0;\n");
    /* Conditions of sizes choose their branch.  */
    check_becomes("X: f32[4], Z: f32[4]) -> Y: f32[4]",
                  "let N = 4; Y[i] = N > 3 && X[i] > 0 ? X[i] : N % 2 == 1 ? Z[i] : 0;",
                  "  let N = 4;\n  Y[i] = X[i] > 0 ? X[i] : f32(0);\n");
    check_becomes("X: f32[4], Z: i32[4]) -> Y: f32[4]",
                  "let N = 4; Y[i] = N == 4 ? Z[i] : X[i];",
                  "  let N = 4;\n  Y[i] = f32(Z[i]);\n");
    check_becomes("X: bool[4]) -> Y: bool[4]", "Y[i] = !!X[i] || false;", "  Y[i] = X[i];\n");
}

static void sizes_stand_before_their_statement(void **state) {
    (void)state;
    check_becomes("X: f32[4,6]) -> Y: f32[4]",
                  "let H = 3; t[i] = sum[k](X[i,k]) / H;"
                  " let L = H - 1; Y[i] = t[i] + L + max[k](X[i,k]);",
                  "  let H = 3;\n  t_sum[i] = sum[k](X[i,k]);\n  t[i] = t_sum[i] / H;\n"
                  "  let L = H - 1;\n  Y_max[i] = max[k](X[i,k]);\n"
                  "  Y[i] = t[i] + L + Y_max[i];\n");
}

static void names_do_not_collide(void **state) {
    (void)state;
    check_becomes("X: f32[4,5], Y_sum: f32[4]) -> Y: f32[4]",
                  "Y[Y_sum2] = sum[k](X[Y_sum2,k]) + sum[k](X[Y_sum2,k] * 2) + Y_sum[Y_sum2];",
                  "  Y_sum3[Y_sum2] = sum[k](X[Y_sum2,k]);\n"
                  "  Y_sum4[Y_sum2] = sum[k](X[Y_sum2,k] * 2);\n"
                  "  Y[Y_sum2] = Y_sum3[Y_sum2] + Y_sum4[Y_sum2] + Y_sum[Y_sum2];\n");
}

static void a_condition_left_behind_guards_the_reads(void **state) {
    (void)state;
    check_becomes("X: f32[4,5]) -> Y: f32[5]", "Y[i] = i < 4 ? sum[k](X[i,k]) : 7;",
                  "  Y_sum[i] = sum[k](X[i,k] else 0) where i in 0:5;\n"
                  "  Y[i] = i < 4 ? Y_sum[i] : 7;\n");
    /* In a condition, or inside anyway, nothing is added.  */
    check_becomes("X: f32[4,5]) -> Y: f32[4]", "Y[i] = sum[k](X[i,k]) > 0 ? sum[k](X[i,k]) : 7;",
                  "  Y_sum[i] = sum[k](X[i,k]);\n"
                  "  Y[i] = Y_sum[i] > 0 ? Y_sum[i] : 7;\n");
}

static void ranges_start_at_zero(void **state) {
    (void)state;
    check_becomes("X: f32[9]) -> Y: f32", "Y[] += X[k] * k where k in 3:7;",
                  "  Y[] = sum[k](X[k+3] * (k + 3)) where k in 0:4;\n");
    check_becomes("X: f32[4,9]) -> Y: f32", "Y[] = sum[k](exp(max[i](X[i,k]))) where k in 2:9;",
                  "  Y_max[k] = max[i](X[i,k+2]) where k in 0:7;\n"
                  "  Y[] = sum[k](exp(Y_max[k]));\n");
}

static void annotations_stay_with_their_reduction(void **state) {
    (void)state;
    check_becomes("X: f32[4,5]) -> Y: f32[4]",
                  "Y[i] = exp(sum[k](X[i,k] * X[i,k])) @accum(f64) @fast;",
                  "  Y_sum[i] = sum[k](X[i,k] * X[i,k]) @accum(f64) @fast;\n"
                  "  Y[i] = exp(Y_sum[i]) @fast;\n");
    check_becomes("X: f32[4,5]) -> Y: f32[4]",
                  "Y[i] = max[k](X[i,k]) + sum[k](X[i,k] * X[i,k]) @tf32;",
                  "  Y_max[i] = max[k](X[i,k]);\n  Y_sum[i] = sum[k](X[i,k] * X[i,k]) @tf32;\n"
                  "  Y[i] = Y_max[i] + Y_sum[i];\n");
}

/* A scale that has a name with its element goes behind the sum like one that is written there, or
 * stands there for a unit that sums blocks; not where the name rounds, or its element is made.  */
static void names_hide_no_factors(void **state) {
    (void)state;
    const char *args = "A: f16[4,256], B: f16[5,256], s: f16[5], u: f32[4,2], v: f32[5,2])"
                       " -> Y: f32[4,5]";
    check_becomes(args, "w[j,k] = B[j,k] * s[j]; Y[i,j] = sum[k](A[i,k] * w[j,k]);",
                  "  Y_sum[i,j] = sum[k](A[i,k] * B[j,k]);\n  Y[i,j] = Y_sum[i,j] * s[j];\n");
    check_becomes(args, "w[j,k] = -B[j,k] / s[j]; Y[i,j] = sum[k](A[i,k] * w[j,k]);",
                  "  Y_sum[i,j] = sum[k](A[i,k] * B[j,k]);\n  Y[i,j] = -(Y_sum[i,j] / s[j]);\n");
    check_becomes(args, "w[j,k] = B[j,k] * v[j,k/128]; x[i,k] = A[i,k] * u[i,k/128];"
                        " Y[i,j] = sum[k](x[i,k] * w[j,k]);",
                  "  Y[i,j] = sum[k](A[i,k] * u[i,k/128] * (B[j,k] * v[j,k/128]));\n");
    check_becomes(args, "v2[j,k] = B[j,k] * 2; w[j,k] = v2[j,k] * s[j];"
                        " Y[i,j] = sum[k](A[i,k] * w[j,k]);",
                  "  Y_sum[i,j] = sum[k](A[i,k] * B[j,k]);\n  Y[i,j] = Y_sum[i,j] * 2 * s[j];\n");
    check_becomes(args, "w[j,k] = B[j,k] * s[j] @type(f16); Y[i,j] = sum[k](A[i,k] * w[j,k]);",
                  "  w[j,k] = B[j,k] * s[j] @type(f16);\n  Y[i,j] = sum[k](A[i,k] * w[j,k]);\n");
    check_becomes(args, "w[j,k] = exp(B[j,k]) * s[j]; Y[i,j] = sum[k](A[i,k] * w[j,k]);",
                  "  w[j,k] = exp(B[j,k]) * s[j];\n  Y[i,j] = sum[k](A[i,k] * w[j,k]);\n");
    check_becomes(args, "w[j,k] = B[j,k] * s[j]; Y[i,j] = sum[k](A[i,k] * w[j,k]) @written;",
                  "  w[j,k] = B[j,k] * s[j];\n  Y[i,j] = sum[k](A[i,k] * w[j,k]) @written;\n");
}

/* Not one that a product makes: it multiplies as it stores, as its neighbours do.  */
static void factors_stay_with_sums(void **state) {
    (void)state;
    check_becomes("A: f32[4,8], B: f32[8,8], C: f32[8,5]) -> Y: f32[4,5]",
                  "t[i,k] += A[i,j] * B[j,k]; u[i,k] = t[i,k] * 2; Y[i,n] += u[i,k] * C[k,n];",
                  "  t[i,k] += A[i,j] * B[j,k];\n  u[i,k] = t[i,k] * 2;\n"
                  "  Y[i,n] += u[i,k] * C[k,n];\n");
}

static void cheap_producers_are_substituted(void **state) {
    (void)state;
    /* Read as often as written, in two places: computed twice rather than stored.  */
    check_becomes("X: f32[4,5]) -> Y: f32[4,5]",
                  "m[i] = max[j](X[i,j]); e[i,j] = exp(X[i,j] - m[i]); z[i] = sum[j](e[i,j]);"
                  " Y[i,j] = e[i,j] / z[i];",
                  "  m[i] = max[j](X[i,j]);\n  z[i] = sum[j](exp(X[i,j] - m[i]));\n"
                  "  Y[i,j] = exp(X[i,j] - m[i]) / z[i];\n");
    /* Repeated for every column only where it is decided so.  */
    check_becomes("A: f32[4,6], B: f32[6,5]) -> Y: f32[4,5]",
                  "t[i,k] = A[i,k] + 2; Y[i,j] += t[i,k] * B[k,j];",
                  "  t[i,k] = A[i,k] + 2;\n  Y[i,j] += t[i,k] * B[k,j];\n");
    normal_check_text(REPEATED, "A: f32[4,6], B: f32[6,5]) -> Y: f32[4,5]",
                      "t[i,k] = exp(A[i,k]); Y[i,j] += t[i,k] * B[k,j];",
                      "  Y[i,j] = sum[k](exp(A[i,k]) * B[k,j]);\n");
    normal_check_text(STORED, "A: f32[4]) -> (Y: f32[4], Z: f32[4])",
                      "t[i] = A[i] * 2; Y[i] = t[i] + 1; Z[i] = t[3-i];",
                      "  t[i] = A[i] * 2;\n  Y[i] = t[i] + 1;\n  Z[i] = t[3-i];\n");
    /* Subscripts move into the body.  */
    normal_check_text(REPEATED, "A: f32[9]) -> Y: f32[4,3]", "t[i] = A[i] + i; Y[i,j] = t[i+2*j];",
                      "  Y[i,j] = A[i+2*j] + (i + 2 * j);\n");
    /* What an epilogue computes anyway is not repeated.  */
    check_becomes("A: f32[4,6], B: f32[6,5]) -> Y: f32[4,5]",
                  "t[i,j] += A[i,k] * B[k,j]; u[i,j] = t[i,j] + 1; Y[i,j] = u[i,j] * u[i,j];",
                  "  t[i,j] += A[i,k] * B[k,j];\n  u[i,j] = t[i,j] + 1;\n"
                  "  Y[i,j] = u[i,j] * u[i,j];\n");
}

static void substitution_changes_no_value(void **state) {
    (void)state;
    /* A rounded temporary keeps its rounding, a literal its type.  */
    check_becomes("A: f32[4,6]) -> Y: f32[4]", "t[i,k] = A[i,k] * 0.1 @type(f16); Y[i] += t[i,k];",
                  "  Y[i] = sum[k](f16(A[i,k] * 0.1));\n");
    check_becomes("D: f64[4]) -> Y: f64[4]", "t[i] = 0.1; Y[i] = D[i] + t[i];",
                  "  Y[i] = D[i] + f32(0.1);\n");
    /* Not past a guard, not into looser arithmetic.  */
    check_becomes("A: f32[4]) -> Y: f32[6]", "t[i] = A[i] + 1; Y[i] = t[i-1] else 0;",
                  "  t[i] = A[i] + 1;\n  Y[i] = t[i-1] else 0;\n");
    /* A type without a 0 keeps none.  */
    check_becomes("S: f16[4]) -> Y: f32[6]",
                  "t[i] = (S[i-1] else 0) where i in 6 @type(f16); Y[i] = t[i];",
                  "  Y[i] = S[i-1] else 0;\n");
    check_becomes("S: f8ue8m0[4]) -> Y: f32[6]",
                  "t[i] = (S[i-1] else 0) where i in 6 @type(f8ue8m0); Y[i] = t[i];",
                  "  Y[i] = f8ue8m0(S[i-1] else 0);\n");
    check_becomes("A: f32[4,6]) -> Y: f32[4]",
                  "t[i,k] = exp(A[i,k]); Y[i] = sum[k](1 / t[i,k]) @fast;",
                  "  t[i,k] = exp(A[i,k]);\n  Y[i] = sum[k](1 / t[i,k]) @fast;\n");
    /* What has nothing to approximate takes the value as it is.  */
    check_becomes("A: f32[4,6]) -> Y: f32[4]", "t[i,k] = exp(A[i,k]); Y[i] = sum[k](t[i,k]) @fast;",
                  "  Y[i] = sum[k](exp(A[i,k]));\n");
}

static void what_nobody_reads_is_dropped(void **state) {
    (void)state;
    check_becomes("A: f32[4,6]) -> Y: f32[4]",
                  "t[i] += A[i,k]; u[i] = exp(t[i]); Y[i] max= A[i,k];", "  Y[i] max= A[i,k];\n");
}

static void casts_without_effect_are_dropped(void **state) {
    (void)state;
    check_becomes("A: f16[4], B: i8[4]) -> (Y: f32[4], Z: i32[4])",
                  "Y[i] = f32(f16(A[i])) + f16(A[i] * 2); Z[i] = i32(B[i]) + i8(B[i] + 1);",
                  "  Y[i] = A[i] + f16(A[i] * 2);\n  Z[i] = B[i] + i8(B[i] + 1);\n");
    /* This one saturates infinities of its own type.  */
    check_becomes("A: f8e5m2[4]) -> Y: f32[4]", "Y[i] = f8e5m2(A[i]) + f32(A[i]);",
                  "  Y[i] = f8e5m2(A[i]) + A[i];\n");
}

static void run_time_sizes_stay(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Te *te = fixture_te(a, "param M = 1..64 % 8, K = 32;\n"
                           "op f(X: f32[M,K]) -> Y: f32[M,K] {\n"
                           "  let H = K / 2;\n"
                           "  t[m] = sum[k](X[m,k]) / H;\n"
                           "  let L = H / 2;\n"
                           "  Y[m,k] = X[m,k] - t[m] + max[j](X[m,j]) where j in L:H; }");
    Te *normal = fixture_normal(a, te);
    normal_check_form(a, normal, te->text);
    int64_t size[TE_MAX_SIZES] = {0};
    for (int i = 0; i < te->n_size; i++) {
        if (te->size[i].kind == TE_SIZE_RUNTIME) size[i] = 24;
    }
    const Te *fixed, *fixed_normal;
    Diag d = diag_new(a);
    assert_int_equal(te_specialize(a, &d, te, size, &fixed), ST_OK);
    assert_int_equal(te_specialize(a, &d, normal, size, &fixed_normal), ST_OK);
    normal_check_values(a, fixed, fixed_normal);
    arena_destroy(a);
}

static void limits_are_errors(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Te *te = fixture_te(a, "op f(X: f32[2,2,2,2,2,2,2,2], Z: f32[2,2])\n"
                           "-> Y: f32[2,2,2,2,2,2,2,2] {\n"
                           "  Y[a,b,c,d,e,f1,g,h] = sum[i](X[a,b,c,d,e,f1,g,h] * max[j](\n"
                           "    Z[i,j] * X[a,b,c,d,e,f1,g,h])); }");
    Diag d = diag_new(a);
    Te *out;
    assert_int_equal(te_normalize(a, &d, te, &out), ST_TE);
    assert_string_equal(diag_first_error(&d)->tag, "limit");
    arena_destroy(a);
}

/* -- random ops -------------------------------------------------------------------------------- */

typedef struct {
    Rng rng;
    Buf *out;
    int depth, names;          /* names: temporaries t0.. made so far, of shape [I,J] */
    const char *i, *j;         /* the indices in scope, of extents 3 and 4 */
    int fresh;
} Maker;

static void make_expr(Maker *m);

static void make_read(Maker *m) {
    switch (rng_below(&m->rng, 7)) {
    case 0: buf_printf(m->out, "A[%s,%s]", m->i, m->j); break;
    case 1: buf_printf(m->out, "B[%s]", m->j); break;
    case 2: buf_printf(m->out, "c[%s]", m->i); break;
    case 3: buf_printf(m->out, "(A[%s-1,%s+1] else B[%s])", m->i, m->j, m->j); break;
    case 4: buf_printf(m->out, "%d", (int)rng_below(&m->rng, 4)); break;
    case 5: buf_printf(m->out, "(A[3-%s,%s] else 1)", m->i, m->j); break;
    default:
        if (m->names > 0)
            buf_printf(m->out, "t%u[%s,%s]", rng_below(&m->rng, (uint32_t)m->names), m->i, m->j);
        else
            buf_printf(m->out, "A[%s,%s]", m->i, m->j);
        break;
    }
}

/* A reduction over new indices in place of one or both in scope.  */
static void make_reduction(Maker *m) {
    static const char *const red[] = {"sum", "max", "min", "prod"};
    const char *i = m->i, *j = m->j;
    bool both = rng_below(&m->rng, 3) == 0, first = both || rng_below(&m->rng, 2);
    Arena *a = m->out->arena;
    m->fresh++;
    const char *xi = arena_printf(a, "p%d", m->fresh), *yj = arena_printf(a, "q%d", m->fresh);
    const char *list = both ? arena_printf(a, "%s,%s", xi, yj) : first ? xi : yj;
    buf_printf(m->out, "%s[%s](A[%s,%s] + ", red[rng_below(&m->rng, 4)], list, first ? xi : i,
               both || !first ? yj : j);
    if (first) m->i = xi;
    if (both || !first) m->j = yj;
    make_expr(m);
    m->i = i;
    m->j = j;
    buf_puts(m->out, ")");
}

static void make_expr(Maker *m) {
    static const char *const op[] = {" + ", " - ", " * "};
    if (m->depth <= 0) {
        make_read(m);
        return;
    }
    m->depth--;
    switch (rng_below(&m->rng, 8)) {
    case 0:
    case 1:
        make_reduction(m);
        break;
    case 2:
        buf_printf(m->out, "(%s > 0 ? A[%s-1,%s] + ", m->i, m->i, m->j);
        make_expr(m);
        buf_puts(m->out, " : ");
        make_expr(m);
        buf_puts(m->out, ")");
        break;
    case 3:
        buf_puts(m->out, "max(");
        make_expr(m);
        buf_puts(m->out, ", ");
        make_expr(m);
        buf_puts(m->out, ")");
        break;
    case 4:
        make_read(m);
        break;
    default:
        buf_puts(m->out, "(");
        make_expr(m);
        buf_puts(m->out, op[rng_below(&m->rng, 3)]);
        make_expr(m);
        buf_puts(m->out, ")");
        break;
    }
    m->depth++;
}

static const char *make_op(Arena *a, uint64_t seed, const char *type) {
    Buf out = buf_new(a);
    Maker m = {.rng = {seed}, .out = &out, .i = "i", .j = "j"};
    buf_printf(&out, "op f(A: %s[3,4], B: %s[4], c: %s[3]) -> Y: %s[3,4] {\n", type, type, type,
               type);
    int temps = (int)rng_below(&m.rng, 4);
    for (int k = 0; k <= temps; k++) {
        m.depth = 1 + (int)rng_below(&m.rng, 3);
        buf_printf(&out, k < temps ? "  t%d[i,j] = A[i,j] + " : "  Y[i,j] = ", k);
        make_expr(&m);
        buf_puts(&out, ";\n");
        m.names = k + 1;
    }
    buf_puts(&out, "}\n");
    return buf_str(&out);
}

static void random_ops_keep_their_values(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) {
        Arena *a = arena_create(NULL);
        const char *type = seed % 2 ? "i32" : "f32";
        unsigned some = seed / 2 % (1u << TE_DECISION_COUNT);
        unsigned one = 1u << seed / 2 % TE_DECISION_COUNT;
        normal_check(a, make_op(a, seed, type), seed % 2 ? one : some);
        arena_destroy(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_of_integers_are_not_of_parts),
        cmocka_unit_test(inner_reductions_become_temporaries),
        cmocka_unit_test(strided_reductions_go_in_steps),
        cmocka_unit_test(short_sums_are_written_out),
        cmocka_unit_test(images_are_cut_into_blocks),
        cmocka_unit_test(short_sums_of_run_time_sizes),
        cmocka_unit_test(factors_of_sums_come_together),
        cmocka_unit_test(summed_digits_are_one_index),
        cmocka_unit_test(reductions_are_stored_as_they_are_read),
        cmocka_unit_test(strided_statistics_make_one_pass),
        cmocka_unit_test(equal_reductions_are_computed_once),
        cmocka_unit_test(equal_statements_are_computed_once),
        cmocka_unit_test(constants_are_folded),
        cmocka_unit_test(sizes_stand_before_their_statement),
        cmocka_unit_test(names_do_not_collide),
        cmocka_unit_test(a_condition_left_behind_guards_the_reads),
        cmocka_unit_test(ranges_start_at_zero),
        cmocka_unit_test(annotations_stay_with_their_reduction),
        cmocka_unit_test(names_hide_no_factors),
        cmocka_unit_test(factors_stay_with_sums),
        cmocka_unit_test(cheap_producers_are_substituted),
        cmocka_unit_test(substitution_changes_no_value),
        cmocka_unit_test(what_nobody_reads_is_dropped),
        cmocka_unit_test(casts_without_effect_are_dropped),
        cmocka_unit_test(run_time_sizes_stay),
        cmocka_unit_test(limits_are_errors),
        cmocka_unit_test(random_ops_keep_their_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
