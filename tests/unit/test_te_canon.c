/* links: te */
/* What the canonical form makes of one op, rule by rule, and that the op's values stay.  */
#include "normal_fixture.h"
#include "te/access/access.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void check_becomes(const char *head, const char *body, const char *want) {
    normal_check_text(USUAL, head, body, want);
}

static void axes_of_extent_1_are_left_out(void **state) {
    (void)state;
    check_becomes("X: f32[3,1,4]) -> Y: f32[1,3]",
                  "m[n,o] = max[c](X[n,o,c]) where o in 1; Y[b,n] = exp(m[n,b] - X[n,b,0]);",
                  "  m[n] = max[c](X[n,c]);\n  Y[n] = exp(m[n] - X[n,0]);\n");
    check_becomes("X: f32[4,1]) -> Y: f32[4]", "Y[i] = sum[k](X[i,k]) * 2;",
                  "  Y[i] = X[i] * 2;\n");
    check_becomes("X: f32[4,1]) -> Y: i32[4]", "Y[i] = argmax[k](X[i,k]);",
                  "  Y[i] = i32(0);\n");
    check_becomes("X: f32[4]) -> Y: f32[4]", "Y[i] = sum[k](X[i]) where k in 1 @accum(f64);",
                  "  Y[i] = f64(X[i]);\n");
    check_becomes("X: f32[4,1]) -> Y: f32[4,1]", "Y[i,j] = X[i,j] + f32(j);",
                  "  Y[i] = X[i] + f32(i64(0));\n");
    /* What a read may leave stays.  */
    check_becomes("X: f32[4,1]) -> Y: f32[4,3]", "Y[i,j] = X[i,j-1] else 7;",
                  "  Y[i,j] = X[i,j-1] else 7;\n");
}

static void divided_indices_become_two(void **state) {
    (void)state;
    /* The input that the index runs through is cut with it.  */
    check_becomes("X: f32[2,5], W: f32[6]) -> Y: f32[6]",
                  "Y[o] = sum[k](X[o/3,k]) * W[o];",
                  "  Y_sum[o,o_phase] = sum[k](X[o,k]) where o_phase in 0:3;\n"
                  "  Y[o,o_phase] = Y_sum[o,o_phase] * W[o,o_phase];\n");
    check_becomes("X: f32[2,3,5]) -> Y: f32[2,3,5]",
                  "m[g] = sum[k](X[g/3,g%3,k]) where g in 6; Y[n,c,k] = X[n,c,k] - m[n*3+c];",
                  "  m[g,g_phase] = sum[k](X[g,g_phase,k]) where g in 0:2;\n"
                  "  Y[n,c,k] = X[n,c,k] - m[n,c];\n");
    /* Three digits, the least first.  */
    check_becomes("X: f32[2,3,4], W: f32[24]) -> Y: f32",
                  "Y[] += X[k/12,k/4%3,k%4] * W[k];",
                  "  Y[] = sum[k,k_phase2,k_phase](X[k,k_phase2,k_phase] *"
                  " W[k,k_phase2,k_phase]);\n");
    /* An extent that the divisor does not divide, and a position.  */
    check_becomes("X: f32[3]) -> Y: f32[5]", "Y[i] = X[i/2];", "  Y[i] = X[i/2];\n");
    check_becomes("X: f32[3,2]) -> Y: i32", "Y[] = argmax[i](X[i/2,i%2]) where i in 6;",
                  "  Y[] = argmax[i](X[i/2,i%2]) where i in 0:6;\n");
}

static void scans_behind_one_are_exclusive(void **state) {
    (void)state;
    static const char below[] = "  t[i] = sum[r](r < i ? X[r] : 0) where i in 0:5, r in 0:5;\n";
    static const char *const spelled[] = {
        "t[i] = sum[r](r <= i ? X[r] : 0) where i in 4, r in 4; Y[i] = 2 * (i < 1 ? 0 : t[i-1]);",
        "t[i] = sum[r](r <= i ? X[r] : 0) where i in 5, r in 5; Y[i] = 2 * (t[i-1] else 0);",
        "t[i] = sum[r](r <= i ? X[r] : 0) where i in 5, r in 5; Y[i] = 2 * (0 != i ? t[i-1] : 0);",
    };
    Arena *a = arena_create(NULL);
    for (int i = 0; i < 3; i++)
        check_becomes("X: f32[5]) -> Y: f32[5]", spelled[i],
                      arena_printf(a, "%s  Y[i] = 2 * t[i];\n", below));
    /* One more than there are elements; from the end on; a product.  */
    check_becomes("X: f32[4]) -> Y: f32[5]",
                  "t[i] = sum[r](r <= i ? X[r] : 0) where i in 4, r in 4; Y[i] = t[i-1] else 0;",
                  "  Y[i] = sum[r](r < i ? (X[r] else 0) : 0) where i in 0:5, r in 0:5;\n");
    check_becomes("X: f32[5]) -> Y: f32[5]",
                  "t[i] = prod[r](r >= i ? X[r] : 1) where i in 5, r in 5;"
                  " Y[i] = i == 4 ? 1 : t[i+1];",
                  "  Y[i] = prod[r](r > i ? X[r] : 1) where i in 0:5, r in 0:5;\n");
    /* Another value in front, two places behind, both places.  */
    check_becomes("X: f32[5]) -> Y: f32[5]",
                  "t[i] = sum[r](r <= i ? X[r] : 0) where i in 5, r in 5;"
                  " Y[i] = i < 1 ? 7 : t[i-1];",
                  "  t[i] = sum[r](r < i ? X[r] : 0) where i in 0:5, r in 0:5;\n"
                  "  Y[i] = i < 1 ? 7 : t[i];\n");
    check_becomes("X: f32[5]) -> Y: f32[5]",
                  "t[i] = sum[r](r <= i ? X[r] : 0) where i in 5, r in 5; Y[i] = t[i-2] else 0;",
                  "  t[i] = sum[r](r <= i ? X[r] : 0) where i in 0:5, r in 0:5;\n"
                  "  Y[i] = t[i-2] else 0;\n");
    check_becomes("X: f32[5]) -> Y: f32[5]",
                  "t[i] = sum[r](r <= i ? X[r] : 0) where i in 5, r in 5;"
                  " Y[i] = t[i] * (t[i-1] else 0);",
                  "  t[i] = sum[r](r <= i ? X[r] : 0) where i in 0:5, r in 0:5;\n"
                  "  Y[i] = t[i] * (t[i-1] else 0);\n");
    arena_destroy(a);
}

/* A term may be left out for a 0 that pads, which data do not decide; of integers for any.  */
static void masks_of_scans(void **state) {
    (void)state;
    static const struct {
        const char *type, *term;
        bool scan;
    } op[] = {
        {"f32", "(r <= i ? 1 : 0) * X[n,r]", true},
        {"f32", "(r > i ? 0 : 1) * X[n,r]", true},
        {"f32", "(r <= i && r % 2 == 0 ? 1 : 0) * X[n,r]", true},
        {"f32", "(r <= i ? (Z[n,r] > 0 ? 1 : 0) : 0) * X[n,r]", true},
        {"f32", "r <= i && Z[n,r] > 0 ? X[n,r] : 0", true},
        {"f32", "Z[n,r] > 0 ? (r <= i ? X[n,r] * Z[n,r] : 0) : 0", true},
        {"f32", "(r <= i && Z[n,r] > 0 ? 1 : 0) * X[n,r]", false},
        {"f32", "(r > i || Z[n,r] > 0 ? 0 : 1) * X[n,r]", false},
        {"f32", "X[n,r] * (Z[n,r] > 0 ? (r <= i ? 1 : 0) : 0)", false},
        {"f32", "X[n,r] * (Z[n,r] * (r <= i && X[n,r] > 0 ? 1 : 0))", false},
        {"f32", "(r <= i ? 1 : -0.0) * X[n,r]", false},
        {"i32", "(r <= i && Z[n,r] > 0 ? 1 : 0) * X[n,r]", true},
        {"i32", "X[n,r] * (Z[n,r] > 0 ? (r <= i ? 1 : 0) : 0)", true},
    };
    for (size_t i = 0; i < sizeof op / sizeof *op; i++) {
        Arena *a = arena_create(NULL);
        const char *t = op[i].type;
        const char *text = arena_printf(a, "op f(X: %s[3,7], Z: %s[3,7]) -> Y: %s[3,7] {"
                                        " Y[n,i] = sum[r](%s) where r in 7; }", t, t, t,
                                        op[i].term);
        const Te *normal = normal_check(a, text, USUAL);
        Scan scan;
        if (access_scan(&normal->stmt[0], &scan) != op[i].scan) fail_msg("%s", text);
        arena_destroy(a);
    }
}

static void other_shapes_are_read_through(void **state) {
    (void)state;
    static const char want[] = "  t[i,j] = sum[k](X[i,j,k]);\n"
                               "  Y[i,j] = exp(t[i,j]) where j in 0:6;\n";
    static const char *const shown[] = {
        "u[j,i] = t[i,j]; Y[i,j] = exp(u[j,i]) where j in 6;",
        "u[a] = t[a/6,a%6] where a in 24; Y[i,j] = exp(u[i*6+j]) where j in 6;",
        "u[i,a,b] = t[i,a*2+b] where a in 3, b in 2; Y[i,j] = exp(u[i,j/2,j%2]) where j in 6;",
        "u[i,a] = a < 6 ? t[i,a] : t[i,a-6] where a in 9; Y[i,j] = exp(u[i,j+0]) where j in 6;",
        "u[i,a] = 2 > a ? t[i,a] : t[i,a-2] where a in 8; Y[i,j] = exp(u[i,j+2]) where j in 6;",
    };
    Arena *a = arena_create(NULL);
    for (int i = 0; i < 5; i++)
        check_becomes("X: f32[4,6,3]) -> Y: f32[4,6]",
                      arena_printf(a, "t[i,j] = sum[k](X[i,j,k]); %s", shown[i]), want);
    /* Data choose the element, within the part that it is in.  */
    check_becomes("X: f32[6,3], Z: f32[4]) -> Y: f32[4]",
                  "t[i] = sum[k](X[i,k]); u[a] = a < 6 ? t[a] : t[a-6] where a in 9;"
                  " Y[i] = exp(u[i32(min(max(Z[i], 0), 5))]);",
                  "  t[i] = sum[k](X[i,k]);\n"
                  "  Y[i] = exp(t[i32(min(max(Z[i],0),5))]);\n");
    /* Digits in another order are another element.  */
    check_becomes("X: f32[6,3]) -> Y: f32[6]",
                  "t[i] = sum[k](X[i,k]); u[a,b] = t[a*2+b] where a in 3, b in 2;"
                  " Y[i] = u[i%3,i/3];",
                  "  t[i] = sum[k](X[i,k]);\n  Y[b,a] = t[b+2*a] where b in 0:2, a in 0:3;\n");
    arena_destroy(a);
}

static void copies_are_read_through(void **state) {
    (void)state;
    check_becomes("X: f32[4,3], W: f32[5,4]) -> Y: f32[5,3]",
                  "t[j,i] = X[i,j]; Y[n,j] += W[n,i] * t[j,i];",
                  "  Y[n,j] = sum[i](W[n,i] * X[i,j]);\n");
    check_becomes("X: f16[4,3]) -> Y: f32[3,4]",
                  "t[j,i] = X[i,j]; Y[j,i] = (t[j,i-1] else 2) + (t[j,i+1] else 0);",
                  "  Y[j,i] = (X[i-1,j] else 2) + (X[i+1,j] else 0);\n");
    /* Padding is no copy.  */
    check_becomes("X: f32[4]) -> Y: f32[6]",
                  "t[i] = X[i-1] else 1 where i in 6; Y[i] = t[i-1] else 2;",
                  "  t[i] = X[i-1] else 1 where i in 0:6;\n  Y[i] = t[i-1] else 2;\n");
    check_becomes("X: f32[4,3]) -> Y: f16[3,4]", "t[i,j] = max[k](X[i,j] * k) where k in 2;"
                  " Y[j,i] = t[i,j];", "  Y[j,i] = max[k](X[i,j] * k) where k in 0:2;\n");
    /* Somebody else sees what is not rounded.  */
    check_becomes("X: f32[4]) -> (Y: f16[4], Z: f32[4])", "t[i] = sum[k](X[i] * k) where k in 2;"
                  " Y[i] = t[i]; Z[i] = t[i];",
                  "  Z[i] = sum[k](X[i] * k) where k in 0:2;\n  Y[i] = Z[i];\n");
    /* Slices of what was joined.  */
    check_becomes("X: f32[3], Z: f32[5]) -> (Y: f32[3], V: f32[5])",
                  "t[i] = i < 3 ? X[i] : Z[i-3] where i in 8; Y[i] = exp(t[i])"
                  " where i in 3; V[i] = exp(t[i+3]);", "  Y[i] = exp(X[i]) where i in 0:3;\n"
                  "  V[i] = exp(Z[i]);\n");
    /* What they stood in keeps no axis of what they show.  */
    check_becomes("X: f32[3]) -> Y: f32[3]",
                  "t[i,o] = exp(X[i]) where o in 1; u[i,j] = j < 1 ? t[i,j] : t[i,j-1]"
                  " where j in 2; v[i,o] = u[i,o+1] where o in 1; Y[i] = 2 * v[i,0];",
                  "  Y[i] = 2 * exp(X[i]);\n");
}

static void spellings_become_one(void **state) {
    (void)state;
    static const char *const head = "X: f32[4], Z: f32[4]) -> Y: f32[4]";
    check_becomes(head, "Y[i] = -(-X[i]);", "  Y[i] = X[i];\n");
    check_becomes(head, "Y[i] = X[i] + (-Z[i]);", "  Y[i] = X[i] - Z[i];\n");
    check_becomes(head, "Y[i] = -X[i] - (-Z[i]);", "  Y[i] = Z[i] - X[i];\n");
    check_becomes(head, "Y[i] = exp(-1 * X[i]);", "  Y[i] = exp(-X[i]);\n");
    check_becomes(head, "Y[i] = f32(X[i] * Z[i]);", "  Y[i] = X[i] * Z[i];\n");
    check_becomes(head, "Y[i] = pow(X[i] - Z[i], 2);",
                  "  Y[i] = (X[i] - Z[i]) * (X[i] - Z[i]);\n");
    check_becomes(head, "Y[i] = pow(2, X[i]) + pow(Z[i], 1);", "  Y[i] = exp2(X[i]) + Z[i];\n");
    check_becomes(head, "Y[i] = exp(X[i] + 0) + max(0 + Z[i], 1);",
                  "  Y[i] = exp(X[i]) + max(Z[i], 1);\n");
    check_becomes("X: f32[4]) -> Y: f32", "Y[] += 2 * (X[i] + 0.0);",
                  "  Y[] = sum[i](2 * X[i]);\n");
    check_becomes(head, "Y[i] = i >= 0 && i < 4 ? X[i] : Z[i];", "  Y[i] = X[i];\n");
    check_becomes(head, "Y[i] = X[3-i] else 5;", "  Y[i] = X[3-i];\n");
    /* -(-2^31) is -2^31 in i32, and 2^31 in i64.  */
    check_becomes("J: i32[4]) -> Y: i32[4]", "Y[i] = 7 - -J[i];", "  Y[i] = 7 + J[i];\n");
    check_becomes("J: i32[4]) -> Y: i64[4]", "Y[i] = i - -J[i];", "  Y[i] = i - -J[i];\n");
    check_becomes("J: i32[4]) -> Y: i64[4]", "Y[i] = -J[i] + i;", "  Y[i] = -J[i] + i;\n");
    /* -0 + 0 is 0; roots are no powers for -0 and -inf; a literal has no type.  */
    check_becomes(head, "Y[i] = X[i] + 0;", "  Y[i] = X[i] + 0;\n");
    check_becomes(head, "Y[i] = 1 / (X[i] + 0);", "  Y[i] = 1 / (X[i] + 0);\n");
    check_becomes(head, "Y[i] = pow(X[i], 0.5);", "  Y[i] = pow(X[i], 0.5);\n");
    check_becomes("X: f32[4]) -> Y: f64[4]", "Y[i] = f64(X[i]) * f64(3);",
                  "  Y[i] = f64(X[i]) * f64(3);\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_of_extent_1_are_left_out),
        cmocka_unit_test(divided_indices_become_two),
        cmocka_unit_test(scans_behind_one_are_exclusive),
        cmocka_unit_test(masks_of_scans),
        cmocka_unit_test(other_shapes_are_read_through),
        cmocka_unit_test(copies_are_read_through),
        cmocka_unit_test(spellings_become_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
