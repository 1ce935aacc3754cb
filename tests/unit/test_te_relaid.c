/* links: te */
/* Split `relaid`: which operands are copied into which layout.  */
#include "normal_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *head, const char *body, const char *want) {
    normal_check_text(RELAID, head, body, want);
}

/* Nothing is copied: the form is that of the usual split.  */
static void check_stays(const char *text) {
    Arena *a = arena_create(NULL);
    Buf usual = buf_new(a), relaid = buf_new(a);
    te_print(normal_check(a, text, USUAL), &usual);
    te_print(normal_check(a, text, RELAID), &relaid);
    assert_string_equal(buf_str(&relaid), buf_str(&usual));
    arena_destroy(a);
}

static void channels_come_last(void **state) {
    (void)state;
    check("X: f16[2,8,5,6], W: f16[9,8,3,3]) -> Y: f16[2,9,5,6]",
          "Y[n,f,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * W[f,c,r,s];",
          "  W_laid[f,r,s,c] = W[f,c,r,s] @type(f16);\n"
          "  X_laid[n,p,q,c] = X[n,c,p,q] @type(f16);\n"
          "  Y[n,f,p,q] = sum[c,r,s]((X_laid[n,p+r-1,q+s-1,c] else 0) * W_laid[f,r,s,c]);\n");
    /* One of them may lie so already.  */
    check("X: f16[2,8,5,6], W: f16[9,3,3,8]) -> Y: f16[2,9,5,6]",
          "Y[n,f,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * W[f,r,s,c];",
          "  X_laid[n,p,q,c] = X[n,c,p,q] @type(f16);\n"
          "  Y[n,f,p,q] = sum[c,r,s]((X_laid[n,p+r-1,q+s-1,c] else 0) * W[f,r,s,c]);\n");
    check("X: bf16[9,7], W: bf16[8,9]) -> Y: f32[8,7]", "Y[m,n] += W[m,k] * X[k,n];",
          "  W_laid[m,k] = W[m,k] else 0 where k in 0:16 @type(bf16);\n"
          "  X_laid[n,k] = X[k,n] else 0 where k in 0:16 @type(bf16);\n"
          "  Y[m,n] = sum[k](W_laid[m,k] * X_laid[n,k]);\n");
    /* Groups are part of the subscript, and of the copy's last dimension.  */
    check("X: f16[2,16,5,6], W: f16[2,4,8,3]) -> Y: f16[2,2,4,5,6]",
          "Y[n,g,f,p,q] += (X[n,g*8+c,p,q+s-1] else 0) * W[g,f,c,s];",
          "  W_laid[g,f,s,c] = W[g,f,c,s] @type(f16);\n"
          "  X_laid[n,p,q,g] = X[n,g,p,q] @type(f16);\n"
          "  Y[n,g,f,p,q] = sum[c,s]((X_laid[n,p,q+s-1,8*g+c] else 0) * W_laid[g,f,s,c]);\n");
}

static void odd_channels_get_zeros(void **state) {
    (void)state;
    check("X: f16[2,5,6,13], W: f16[9,3,13]) -> Y: f16[2,5,6,9]",
          "Y[n,p,q,f] += (X[n,p,q+s-1,c] else 0) * W[f,s,c];",
          "  X_laid[n,p,q,c] = X[n,p,q,c] else 0 where c in 0:16 @type(f16);\n"
          "  W_laid[f,s,c] = W[f,s,c] else 0 where c in 0:16 @type(f16);\n"
          "  Y[n,p,q,f] = sum[s,c]((X_laid[n,p,q+s-1,c] else 0) * W_laid[f,s,c]);\n");
    /* An operand that is read widely along its own axis is only asked whether it is inside.  */
    check("X: f16[20,13], W: f16[13,24]) -> Y: f16[20,24]", "Y[m,n] += X[m,k] * W[k,n];",
          "  X_laid[m,k] = X[m,k] else 0 where k in 0:16 @type(f16);\n"
          "  Y[m,n] = sum[k](X_laid[m,k] * (W[k,n] else 0)) where k in 0:16;\n");
    check("X: i8[9,30], W: i8[9,30]) -> Y: i32[9,9]", "Y[m,n] += i32(X[m,k]) * W[n,k];",
          "  X_laid[m,k] = X[m,k] else 0 where k in 0:32 @type(i8);\n"
          "  W_laid[n,k] = W[n,k] else 0 where k in 0:32 @type(i8);\n"
          "  Y[m,n] = sum[k](X_laid[m,k] * W_laid[n,k]);\n");
    /* Elements of two sizes: whole accesses of the smaller ones.  */
    check("X: f32[9,9], W: f16[9,9]) -> Y: f32[9,9]", "Y[m,n] += X[m,k] * W[n,k];",
          "  X_laid[m,k] = X[m,k] else 0 where k in 0:16;\n"
          "  W_laid[n,k] = W[n,k] else 0 where k in 0:16 @type(f16);\n"
          "  Y[m,n] = sum[k](X_laid[m,k] * W_laid[n,k]);\n");
}

/* A window stays where its channels lie side by side; what it meets gets zeros, too.  */
static void windows_stay(void **state) {
    (void)state;
    static const char *const head = "X: f16[2,5,6,13], W: f16[9,3,13]) -> Y: f16[2,5,6,9]",
                             *const body = "Y[n,p,q,f] += (X[n,p,q+s-1,c] else 0) * W[f,s,c];";
    normal_check_text(FILLED, head, body,
                      "  W_laid[f,s,c] = W[f,s,c] else 0 where c in 0:16 @type(f16);\n"
                      "  Y[n,p,q,f] = sum[s,c]((X[n,p,q+s-1,c] else 0) * W_laid[f,s,c])"
                      " where c in 0:16;\n");
    normal_check_text(FILLED, "X: f16[20,13], W: f16[24,13]) -> Y: f16[20,24]",
                      "Y[m,n] += X[m,k] * W[n,k];", "  Y[m,n] += X[m,k] * W[n,k];\n");
}

static void a_copy_is_made_once(void **state) {
    (void)state;
    check("X: f16[9,7]) -> Y: f32[9,9]", "Y[i,j] += X[i,k] * X[j,k];",
          "  X_laid[i,k] = X[i,k] else 0 where k in 0:8 @type(f16);\n"
          "  Y[i,j] = sum[k](X_laid[i,k] * X_laid[j,k]);\n");
    check("X: f16[9,7], A: f16[9,7], B: f16[5,7]) -> (Y: f32[9,9], Z: f32[9,5])",
          "Y[i,j] += X[i,k] * A[j,k]; Z[i,j] += X[i,k] * B[j,k];",
          "  X_laid[i,k] = X[i,k] else 0 where k in 0:8 @type(f16);\n"
          "  A_laid[j,k] = A[j,k] else 0 where k in 0:8 @type(f16);\n"
          "  Y[i,j] = sum[k](X_laid[i,k] * A_laid[j,k]);\n"
          "  B_laid[j,k] = B[j,k] else 0 where k in 0:8 @type(f16);\n"
          "  Z[i,j] = sum[k](X_laid[i,k] * B_laid[j,k]);\n");
    /* Summed over another dimension it is another copy.  */
    check("X: f16[9,7], A: f16[9,7], B: f16[5,9]) -> (Y: f32[9,9], Z: f32[7,5])",
          "Y[i,j] += X[i,k] * A[j,k]; Z[i,j] += X[k,i] * B[j,k];",
          "  X_laid[i,k] = X[i,k] else 0 where k in 0:8 @type(f16);\n"
          "  A_laid[j,k] = A[j,k] else 0 where k in 0:8 @type(f16);\n"
          "  Y[i,j] = sum[k](X_laid[i,k] * A_laid[j,k]);\n"
          "  X_laid2[i,k] = X[k,i] else 0 where k in 0:16 @type(f16);\n"
          "  B_laid[j,k] = B[j,k] else 0 where k in 0:16 @type(f16);\n"
          "  Z[i,j] = sum[k](X_laid2[i,k] * B_laid[j,k]);\n");
}

/* What another statement makes is copied behind it, an output too; names are new ones.  */
static void results_are_copied_too(void **state) {
    (void)state;
    check("A: f16[8,16], B: f16[16,8], i0: f16[8,7]) -> (A_laid: f16[8,8], Z: f32[8,7])",
          "A_laid[m,n] += A[m,k] * B[k,n]; t[m,n] = A_laid[m,n] * 2;"
          " Z[m,j] = sum[n](A_laid[m,n] * i0[n,j]) + t[m,0];",
          "  A_laid[m,n] += A[m,k] * B[k,n];\n  t[m,n] = A_laid[m,n] * 2;\n"
          "  i0_laid[j,n] = i0[n,j] @type(f16);\n"
          "  Z_sum[m,j] = sum[n](A_laid[m,n] * i0_laid[j,n]);\n"
          "  Z[m,j] = Z_sum[m,j] + t[m,0];\n");
    check("A: f16[8,16], B: f16[16,7], C: f16[9,7]) -> Z: f32[8,9]",
          "t[m,n] += A[m,k] * B[k,n] @type(f16); Z[m,j] += t[m,n] * C[j,n];",
          "  B_laid[n,k] = B[k,n] @type(f16);\n"
          "  t[m,n] = sum[k](A[m,k] * B_laid[n,k]) @type(f16);\n"
          "  t_laid[m,n] = t[m,n] else 0 where n in 0:8 @type(f16);\n"
          "  C_laid[j,n] = C[j,n] else 0 where n in 0:8 @type(f16);\n"
          "  Z[m,j] = sum[n](t_laid[m,n] * C_laid[j,n]);\n");
}

/* What the phases of a filter that does not divide are tested along is not copied.  */
static void copies_have_elements_alone(void **state) {
    (void)state;
    check("X: f16[8,6], W: f16[3,8,9]) -> Y: f16[9,12]",
          "Y[f,p] += ((p + 1 - r) % 2 == 0 ? (X[c,(p+1-r)/2] else 0) : 0) * W[r,c,f];",
          "  W_laid[p_phase,f,c] = W[p_phase,c,f] @type(f16);\n"
          "  X_laid[p,c] = X[c,p,0] @type(f16);\n"
          "  Y[f,p,p_phase] = sum[r,c]((2 * r + 1 - p_phase < 3 ? (X_laid[p+p_phase-r,c] else 0)"
          " : 0) * (W_laid[2*r+1-p_phase,f,c] else 0)) where r in 0:2;\n");
}

static void others_stay(void **state) {
    (void)state;
    /* Accesses of 16 bytes: along rows, along the channel, along merged dimensions.  */
    check_stays("op f(A: f16[8,16], B: f16[16,8]) -> Y: f16[8,8] { Y[m,n] += A[m,k] * B[k,n]; }");
    check_stays("op f(A: f16[9,16], B: f16[9,16]) -> Y: f16[9,9] { Y[m,n] += A[m,k] * B[n,k]; }");
    check_stays("op f(X: f16[2,5,6,16], W: f16[9,3,3,16]) -> Y: f16[2,5,6,9] {"
                " Y[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * W[f,r,s,c]; }");
    check_stays("op f(X: f16[2,8,2,4], W: f16[8,8,1,1]) -> Y: f16[2,8,2,4] {"
                " Y[n,f,p,q] += X[n,c,p+r,q+s] * W[f,c,r,s]; }");
    /* No channel: windows alone, an index that moves both dimensions of an operand, none that both
     * operands have for themselves.  */
    check_stays("op f(X: f16[2,9,9], W: f16[3,3]) -> Y: f16[2,7,7] {"
                " Y[n,p,q] += X[n,p+r,q+s] * W[r,s]; }");
    check_stays("op f(X: f16[9,9], W: f16[5,9]) -> Y: f16[5] { Y[m] += X[k,k] * W[m,k]; }");
    check_stays("op f(X: f16[9,17], W: f16[5,9]) -> Y: f16[9,5] {"
                " Y[m,n] += X[m,2*k] * W[n,k]; }");
    /* More zeros than channels; a part of a dimension; a tested channel.  */
    check_stays("op f(X: f16[9,3], W: f16[9,3]) -> Y: f16[9,9] { Y[m,n] += X[m,k] * W[n,k]; }");
    check_stays("op f(X: f16[9,9], W: f16[9,7]) -> Y: f16[9,9] {"
                " Y[m,n] += X[m,k] * W[n,k] where k in 0:7; }");
    check_stays("op f(X: f16[9,5], W: f16[9,7]) -> Y: f16[9,9] {"
                " Y[m,n] += (X[m,k] else 0) * W[n,k] where k in 0:7; }");
    /* Not products of elements, not sums, and what a copy would change: infinities.  */
    check_stays("op f(X: f16[9,7], W: f16[9,7]) -> Y: f16[9,9] {"
                " Y[m,n] += (X[m,k] + 1) * W[n,k]; }");
    check_stays("op f(X: f16[9,7], W: f16[9,7]) -> Y: f16[9,9] { Y[m,n] max= X[m,k] * W[n,k]; }");
    check_stays("op f(X: f8e5m2[9,15], W: f8e5m2[9,15]) -> Y: f32[9,9] {"
                " Y[m,n] += X[m,k] * W[n,k]; }");
}

static void strides_and_ranks(void **state) {
    (void)state;
    /* Rows that are apart by an odd number of elements.  */
    check("X: f16[9,8] strides(9,1), W: f16[12,8]) -> Y: f32[9,12]",
          "Y[m,n] += X[m,k] * W[n,k];",
          "  X_laid[m,k] = X[m,k] @type(f16);\n  Y[m,n] = sum[k](X_laid[m,k] * W[n,k]);\n");
    check("X: f16[2,3,2,3,8,3,2,9], W: f16[8,8]) -> Y: f16[2,3,2,3,3,2,9,8]",
          "Y[a,b,c,d,e,f,g,n] += X[a,b,c,d,k,e,f,g] * W[n,k];",
          "  X_laid[a,b,c,d,e,f,g,k] = X[a,b,c,d,k,e,f,g] @type(f16);\n"
          "  Y[a,b,c,d,e,f,g,n] = sum[k](X_laid[a,b,c,d,e,f,g,k] * W[n,k]);\n");
}

/* As many statements as there can be leave no room for copies.  */
static void statements_may_run_out(void **state) {
    (void)state;
    for (int n = TE_MAX_STMTS - 3; n <= TE_MAX_STMTS; n++) {
        Arena *a = arena_create(NULL);
        Buf b = buf_new(a);
        buf_puts(&b, "op f(X: f16[9,7], W: f16[9,7]) -> (Y: f32[9,9], Z: f32) {");
        for (int i = 0; i < n - 2; i++)
            buf_printf(&b, " t%d[] = max[i](X[i,%d] * %s%d%s);", i, i % 7, i < 8 ? "" : "t",
                       i < 8 ? i : i - 8, i < 8 ? "" : "[]");
        buf_puts(&b, " Z[] = 0");
        for (int i = n - 10; i < n - 2; i++) buf_printf(&b, " + t%d[]", i);
        buf_puts(&b, "; Y[m,n] += X[m,k] * W[n,k]; }");
        const Te *te = normal_check(a, buf_str(&b), RELAID);
        assert_int_equal(te->n_stmt, n + 2 <= TE_MAX_STMTS ? n + 2 : n);
        arena_destroy(a);
    }
}

/* At sizes that are known at run time what holds for all of them counts.  */
static void run_time_sizes(void **state) {
    (void)state;
    static const struct {
        const char *text, *copy;
    } op[] = {
        {"param N = 1..64; op f(X: f16[N,8,5,6], W: f16[9,8,3,3]) -> Y: f16[N,9,5,6] {"
         " Y[n,f,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * W[f,c,r,s]; }",
         "  X_laid[n,p,q,c] = X[n,c,p,q] @type(f16);\n"},
        {"param M = 1..64; op f(A: f16[M,13], B: f16[21,13]) -> Y: f16[M,21] {"
         " Y[m,n] += A[m,k] * B[n,k]; }",
         "  A_laid[m,k] = A[m,k] else 0 where k in 0:16 @type(f16);\n"},
        {"param N = 16..64; op f(A: f16[24,16], B: f16[16,N]) -> Y: f16[24,N] {"
         " Y[m,n] += A[m,k] * B[k,n]; }",
         "  B_laid[n,k] = B[k,n] @type(f16);\n"},
        {"param N = 16..64%8; op f(A: f16[24,16], B: f16[16,N]) -> Y: f16[24,N] {"
         " Y[m,n] += A[m,k] * B[k,n]; }", NULL},
        {"param K = 16..64; op f(A: f16[24,K], B: f16[24,K]) -> Y: f16[24,24] {"
         " Y[m,n] += A[m,k] * B[n,k]; }", NULL},
    };
    for (size_t i = 0; i < sizeof op / sizeof *op; i++) {
        Arena *a = arena_create(NULL);
        Buf b = buf_new(a);
        te_print(normal_check(a, op[i].text, RELAID), &b);
        if (op[i].copy ? !strstr(buf_str(&b), op[i].copy) : strstr(buf_str(&b), "_laid") != NULL)
            fail_msg("%s", buf_str(&b));
        arena_destroy(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_come_last),  cmocka_unit_test(odd_channels_get_zeros),
        cmocka_unit_test(windows_stay),        cmocka_unit_test(a_copy_is_made_once),
        cmocka_unit_test(results_are_copied_too),
        cmocka_unit_test(copies_have_elements_alone), cmocka_unit_test(others_stay),
        cmocka_unit_test(strides_and_ranks),
        cmocka_unit_test(statements_may_run_out), cmocka_unit_test(run_time_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
