/* links: te */
/* Small texts: what the grammar takes and what it does not, and what it makes of it.  */
#include "te/te.h"

#include "arena_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The tag of the first error; "" if there is none.  */
static const char *verdict(const char *text, Te **te) {
    Diag d = diag_new(arena);
    Te *own;
    if (te_parse(arena, &d, diag_text("x.te", text), NULL, NULL, te ? te : &own) == ST_OK)
        return "";
    return diag_first_error(&d)->tag;
}

static void test_files(void **state) {
    (void)state;
    static const struct {
        const char *text, *tag;
    } table[] = {
        {"op f()->Y:f32{Y[]=1;}", ""},
        {"op f ( ) -> ( Y : f32 ) { Y [ ] = 1 ; }", ""},
        {"\t\r\nop\r\nf()\t->Y:f32{Y[]=1;}#", ""},
        {"#\n# \x80\xff any byte but NUL\nop f()->Y:f32{Y[]=1;}# last line", ""},
        {"param M=1..8;op f(A:f32[M])->Y:f32{Y[]+=A[i];}", ""},
        {"param M=1 .. 8 % 2;op f(A:f32[M])->Y:f32{Y[]+=A[i];}", ""},
        {"param M=4,N=5;let P=M;let Q=P+N;op f(A:f32[Q])->Y:f32{Y[]+=A[i];}", ""},
        {"param M=4;op f(A:f32[M])->Y:f32{Y[]+=A[i];}param N=M;", "syntax"},
        {"op f(A:f32[4],)->Y:f32{Y[]+=A[i];}", "syntax"},
        {"op f(A:f32[4])->(){Y[]+=A[i];}", "syntax"},
        {"op f(A:f32[4])->Y:f32{Y[]+=A[i];};", "syntax"},
        {"op f(A:f32[4])->Y:f32{Y[]+=A[i]}", "syntax"},
        {"param M 4;op f()->Y:f32{Y[]=1;}", "syntax"},
        {"param M=-4;op f()->Y:f32{Y[]=1;}", "syntax"},
        {"param M=4%2;op f()->Y:f32{Y[]=1;}", "syntax"},
        {"param M=4.0;op f()->Y:f32{Y[]=1;}", "syntax"},
        {"let P;op f()->Y:f32{Y[]=1;}", "syntax"},
        {"Op f()->Y:f32{Y[]=1;}", "syntax"},
        {"op op()->Y:f32{Y[]=1;}", "name"},
        {"op f()->f:f32{f[]=1;}", ""},
        {"param tf32=4;op f()->Y:f32{Y[]=1;}", "name"},
        {"param _=4;op __f9()->Y:f32[_]{Y[__]=_;}", ""},
        {"op f(A:f32[4]strides(2))->Y:f32[4]strides(3){Y[i]=A[i];}", ""},
        {"op f(A:f32 strides(2))->Y:f32{Y[]=A;}", "syntax"},
        {"op f(A:f32[4])->Y:f32{let P=3;Y[]+=A[i]where i in P;}", ""},
        {"op f(A:f32[4])->Y:f32{Y[]+=A[i];let P=3;}", ""},
        {"op f(A:f32[4])->Y:f32{let P=A[0];Y[]+=A[i];}", "size"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const char *got = verdict(table[i].text, NULL);
        if (strcmp(got, table[i].tag) != 0) fail_msg("%s: [%s]", table[i].text, got);
    }
}

static const char *statement(const char *text, Te **te) {
    const char *file = arena_printf(
        arena, "op f(A: f32[9], B: f32[9], p: bool[9], n: i32[9], s: f32) -> Y: f32 { %s }", text);
    return verdict(file, te);
}

static void test_statements(void **state) {
    (void)state;
    static const struct {
        const char *text, *tag;
    } table[] = {
        {"Y[] += A[i];", ""},
        {"Y[] +=! A[i];", ""},
        {"Y[] +=!\nA[i];", ""},
        {"Y[] max =! A[i];", ""},
        {"Y[]max=A[i];", ""},
        {"Y[] + = A[i];", "syntax"},
        {"Y[] +=!A[i];", "syntax"},
        {"Y[] +=!# x\nA[i];", "syntax"},
        {"Y[] += !p[i] ? 1 : 0;", ""},
        {"Y[] =! p[0] ? 1 : 0;", ""},
        {"Y[] =!p[0] ? 1 : 0;", ""},
        {"Y[] *= -A[i];", ""},
        {"Y[] min=--A[i];", ""},
        {"Y[] sum= A[i];", "syntax"},
        {"Y[] += A[i] where i in 3;", ""},
        {"Y[] += A[i] where i in 1:3;", ""},
        {"Y[] += A[i] where i in 1..3;", "syntax"},
        {"Y[] += A[i] where;", "syntax"},
        {"Y[] += A[i] where i in 3,;", "syntax"},
        {"Y[] += A[i] @fast where i in 3;", "syntax"},
        {"Y[] += A[i] where i in 3 @fast @tf32;", ""},
        {"Y[] += A[i] @ fast;", ""},
        {"Y[] += A[i] @fast();", "syntax"},
        {"Y[] += A[i] @accum(f64, 3);", "annot"},
        {"Y[] = A[1..2];", "syntax"},
        {"Y[] = A[];", "rank"},
        {"Y[] = s[];", "rank"},
        {"Y[] = s;", ""},
        {"Y[] = 1 < 2 < 3 ? 1 : 0;", "syntax"},
        {"Y[] = (1 < 2) == (2 < 3) ? 1 : 0;", ""},
        {"Y[] = true ? 1 : false ? 2 : 3;", ""},
        {"Y[] = true ? 1;", "syntax"},
        {"Y[] = exp();", "syntax"},
        {"Y[] = exp(1,);", "syntax"},
        {"Y[] = exp (1);", ""},
        {"Y[] = sum[](1);", ""},
        {"Y[] = sum[,](1);", "syntax"},
        {"Y[] = argmax[](A[0]);", ""},
        {"Y[] = sum[]();", "syntax"},
        {"Y[] = sum[i] (A [ i ]);", ""},
        {"Y[] = sum(A[0]);", "name"},
        {"Y[] = A(0);", "name"},
        {"Y[] = +1;", "syntax"},
        {"Y[] = 1 +;", "syntax"},
        {"Y[] = 1 1;", "syntax"},
        {"Y[] = 0x10;", "lex"},
        {"Y[] = 1e5;", ""},
        {"Y[] = 1e+5;", ""},
        {"Y[] = 1.e5;", "lex"},
        {"Y[] = 1e5.0;", "lex"},
        {"Y[] = 1_0;", "lex"},
        {"Y[] = A[0]else 1;", ""},
        {"Y[] = A[0] else;", "syntax"},
        {"Y[] = A[n[0]] else A[n[1]] else -1;", ""},
        {"Y[] = f32 (n[0]) / float(2);", ""},
        {"Y[] = f32[0];", "name"},
        {"Y[] = p[0] & p[1] ? 1 : 0;", "type"},
        {"Y[] = p[0] -= 1;", "syntax"},
        {"Y[] = A[0]; Y = 1;", "syntax"},
        {"Y[0] = 1;", "rank"},
        {"Y[] = 1;;", "syntax"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const char *got = statement(table[i].text, NULL);
        if (strcmp(got, table[i].tag) != 0) fail_msg("%s: [%s]", table[i].text, got);
    }
}

/* Each pair is one expression: the second has all its parentheses.  */
static void test_precedence(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"A[0] - A[1] - A[2]", "(A[0] - A[1]) - A[2]"},
        {"A[0] / A[1] * A[2]", "(A[0] / A[1]) * A[2]"},
        {"A[0] + A[1] * -A[2]", "A[0] + (A[1] * (-A[2]))"},
        {"-A[0] * A[1]", "(-A[0]) * A[1]"},
        {"!p[0] && p[1] || p[2] ? s : -s", "((((!p[0]) && p[1]) || p[2])) ? s : (-s)"},
        {"p[0] || p[1] && p[2] ? 1 : 2", "(p[0] || (p[1] && p[2])) ? 1 : 2"},
        {"p[0] ? 1 : p[1] ? 2 : 3", "p[0] ? 1 : (p[1] ? 2 : 3)"},
        {"p[0] ? p[1] ? 1 : 2 : 3", "p[0] ? (p[1] ? 1 : 2) : 3"},
        {"s + 1 < s * 2 && s != 0 ? 1 : 0", "(((s + 1) < (s * 2)) && (s != 0)) ? 1 : 0"},
        {"A[0] else 1 * s", "(A[0] else 1) * s"},
        {"A[0] else -1 + s", "(A[0] else (-1)) + s"},
        {"A[0] else A[1] else s", "A[0] else (A[1] else s)"},
        {"n[0] % 3 * 2", "(n[0] % 3) * 2"},
        {"f32(n[0] / 2 % 2)", "f32((n[0] / 2) % 2)"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        Buf b[2];
        for (int k = 0; k < 2; k++) {
            Te *te;
            const char *text = arena_printf(arena, "Y[] = %s;", pairs[i][k]);
            const char *tag = statement(text, &te);
            if (*tag) fail_msg("%s: [%s]", text, tag);
            b[k] = buf_new(arena);
            te_print(te, &b[k]);
        }
        assert_string_equal(buf_str(&b[0]), buf_str(&b[1]));
    }
}

/* What the tree is for `op=`: a reduction over what is not on the left, in order of appearance.  */
static void test_accumulation(void **state) {
    (void)state;
    Te *te;
    static const char text[] =
        "op f(A: f32[3,4,5,6], B: f32[5,7]) -> Y: f32[4,3] {"
        " Y[j,i] += A[i,j,l,k] * sum[q](B[l,q]) + max[m,q](B[m,q]); }";
    assert_string_equal(verdict(text, &te), "");
    const TeStmt *s = &te->stmt[0];
    static const char *const names[] = {"j", "i", "l", "k", "q", "m"};
    assert_int_equal(s->asg, TE_ACCUMULATE);
    assert_int_equal(s->n_left, 2);
    assert_int_equal(s->n_index, 6);
    for (int i = 0; i < 6; i++) {
        assert_string_equal(s->index[i].name, names[i]);
        assert_int_equal(s->index[i].reduction, i >= 2);
    }
    assert_int_equal(s->rhs->kind, TE_REDUCE);
    assert_int_equal(s->rhs->red, TE_RED_SUM);
    assert_int_equal(s->rhs->n_index, 2);
    assert_int_equal(s->rhs->index[0], 2);
    assert_int_equal(s->rhs->index[1], 3);
    const TeExpr *inner = s->rhs->args[0]->args[1];
    assert_int_equal(inner->red, TE_RED_MAX);
    assert_int_equal(inner->index[0], 5);
    assert_int_equal(inner->index[1], 4);
}

static void test_tensors(void **state) {
    (void)state;
    Te *te;
    static const char text[] = "param LD = 10;"
                               "op f(A: f16[3,4] strides(LD,2), s: f64, B: i8[2,3,4])"
                               " -> (Y: f32[3], Z: bool) { t[i] += A[i,j] * s;"
                               " Y[i] = t[i]; Z[] = any[i,j,k](B[i,j,k] > 0); }";
    static const TeRole roles[] = {TE_INPUT, TE_VALUE, TE_INPUT, TE_OUTPUT, TE_OUTPUT, TE_TEMP};
    assert_string_equal(verdict(text, &te), "");
    assert_int_equal(te->n_in, 3);
    assert_int_equal(te->n_out, 2);
    assert_int_equal(te->n_tensor, 6);
    for (int i = 0; i < 6; i++) assert_int_equal(te->tensor[i].role, roles[i]);
    assert_true(te->tensor[0].strided && !te->tensor[2].strided);
    assert_int_equal(te->tensor[0].stride[0].value, 10);
    assert_int_equal(te->tensor[0].stride[1].value, 2);
    assert_int_equal(te->tensor[2].stride[0].value, 12);
    assert_int_equal(te->tensor[2].stride[1].value, 4);
    assert_int_equal(te->tensor[2].stride[2].value, 1);
    assert_int_equal(te->tensor[4].rank, 0);
    assert_int_equal(te->tensor[5].dtype, TE_F64);
    assert_int_equal(te->tensor[5].shape[0].value, 3);
    assert_string_equal(te->tensor[5].name, "t");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

/* What is wrong with one op is no matter of another that is asked for by name.  */
static void test_one_of_them(void **state) {
    static const char *const bad[] = {"Y[i] = X[i+1];", "Y[i] = X[i] ** 2;", "Y[0] = X[0];",
                                      "Y[i] = sigmoid(X[i]);", "Y i"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Arena *a = arena_create(NULL);
        Diag d = diag_new(a);
        Te *te, **all;
        int n;
        DiagText text = diag_text(
            "t", arena_printf(a, "op bad(X: f32[4]) -> Y: f32[5] { %s }\n"
                                 "op good(X: f32[4]) -> Y: f32[4] { Y[i] = X[i]; }\n", bad[i]));
        assert_int_equal(te_parse(a, &d, text, "good", NULL, &te), ST_OK);
        assert_string_equal(te->name, "good");
        assert_int_equal(te_parse(a, &d, text, "bad", NULL, &te), ST_TE);
        assert_int_equal(te_parse(a, &d, text, "none", NULL, &te), ST_TE);
        assert_int_equal(te_parse_all(a, &d, text, NULL, &all, &n), ST_TE);
        arena_destroy(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_files), TEST(test_statements), TEST(test_precedence), TEST(test_accumulation),
        TEST(test_tensors),   TEST(test_one_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
