/* links: te */
/* Sizes from outside, run-time sizes and their values, the choice of an op, the positional text,
 * and that te_check sees what is broken.  */
#include "arena_fixture.h"
#include "te_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static Te *parse(const char *text, const TeDefine *define, int n) {
    Te *te;
    if (te_parse(arena, &diag, diag_text("x.te", text), NULL, &(TeDefines){define, n},
                 &te) != ST_OK)
        fail_msg("%s", diag_first_error(&diag)->message);
    return te;
}

static void test_define_text(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t lo, hi, multiple;
    } good[] = {
        {"M=64", 64, 64, 1},
        {"M=0", 0, 0, 1},
        {"M=1..4096", 1, 4096, 1},
        {"M=1..4096%8", 1, 4096, 8},
        {"M=9223372036854775807", INT64_MAX, INT64_MAX, 1},
    };
    static const char *const bad[] = {
        "", "M", "M=", "=4", "M=x", "M=-1", "M=4..", "M=4..2", "M=1..4%", "M=1..4%0", "M=4%2",
        "M=4 ", " M=4", "4M=4", "M=1...4", "M=9223372036854775808", "M==4", "M=1.5",
    };
    TeDefine d;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(te_define_parse(arena, &diag, good[i].text, &d), ST_OK);
        assert_string_equal(d.name, "M");
        assert_true(d.lo == good[i].lo && d.hi == good[i].hi && d.multiple == good[i].multiple);
    }
    assert_int_equal(diag.count, 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(te_define_parse(arena, &diag, bad[i], &d), ST_USAGE);
    assert_int_equal(diag.errors, (int)(sizeof bad / sizeof bad[0]));
}

static const char source[] =
    "param M = 8, N = 1..64 % 4, K;\nlet P = N / 4 + K;\n"
    "op f(A: f32[M,N], B: f32[N,K]) -> C: f32[M,K,P] { C[m,k,p] += A[m,n] * B[n,k] + p; }";

static void test_defines(void **state) {
    (void)state;
    TeDefine d[] = {{"K", 3, 3, 1}, {"M", 2, 100, 6}, {"N", 16, 32, 6}, {"K", 5, 5, 1}};
    Te *te = parse(source, d, 1);
    assert_int_equal(te->size[0].kind, TE_SIZE_STATIC);
    assert_int_equal(te->size[1].kind, TE_SIZE_RUNTIME);
    assert_int_equal(te->size[1].extent.min, 4);
    assert_int_equal(te->size[1].extent.value, 64);
    assert_int_equal(te->size[1].extent.multiple, 4);
    assert_int_equal(te->size[3].extent.min, 4);
    assert_int_equal(te->size[3].extent.value, 19);
    assert_true(te->runtime && te->tensor[0].shape[1].expr && !te->tensor[0].shape[0].expr);
    /* The later of two values counts; a narrower range keeps the declared multiple.  */
    te = parse(source, d, 4);
    assert_int_equal(te->size[0].kind, TE_SIZE_RUNTIME);
    assert_int_equal(te->size[0].extent.min, 6);
    assert_int_equal(te->size[0].extent.value, 96);
    assert_int_equal(te->size[1].extent.multiple, 12);
    assert_int_equal(te->size[1].extent.min, 24);
    assert_int_equal(te->size[1].extent.value, 24);
    assert_int_equal(te->size[2].extent.value, 5);
}

static bool same_extent(const TeExtent *x, const TeExtent *y) {
    return x->value == y->value && x->min == y->min && x->multiple == y->multiple &&
           !x->expr == !y->expr;
}

/* Setting the sizes of a run-time op gives what -D would have given.  */
static void specialize(const char *text, const char *name, int64_t lo, int64_t hi, int64_t step) {
    Te *te = parse(text, NULL, 0);
    assert_null(te_check(te));
    for (int64_t v = lo; v <= hi; v += step) {
        TeDefine d = {name, v, v, 1};
        Te *want = parse(text, &d, 1);
        int64_t value[TE_MAX_SIZES] = {0};
        const Te *got;
        for (int i = 0; i < te->n_size; i++)
            if (strcmp(te->size[i].name, name) == 0) value[i] = v;
        assert_int_equal(te_specialize(arena, &diag, te, value, &got), ST_OK);
        assert_null(te_check(got));
        assert_false(got->runtime);
        for (int t = 0; t < te->n_tensor; t++) {
            for (int k = 0; k < te->tensor[t].rank; k++) {
                const TeExtent *e = &te->tensor[t].shape[k];
                assert_true(same_extent(&got->tensor[t].shape[k], &want->tensor[t].shape[k]));
                assert_true(same_extent(&got->tensor[t].stride[k], &want->tensor[t].stride[k]));
                assert_int_equal(te_extent_eval(te, e, value), want->tensor[t].shape[k].value);
                assert_true(e->min >= 0 && e->min <= want->tensor[t].shape[k].value);
                assert_true(want->tensor[t].shape[k].value <= e->value);
                assert_int_equal(want->tensor[t].shape[k].value % e->multiple, 0);
            }
        }
        for (int s = 0; s < te->n_stmt; s++) {
            for (int i = 0; i < te->stmt[s].n_index; i++) {
                assert_true(same_extent(&got->stmt[s].index[i].lo, &want->stmt[s].index[i].lo));
                assert_true(same_extent(&got->stmt[s].index[i].hi, &want->stmt[s].index[i].hi));
            }
        }
        Buf x = buf_new(arena), y = buf_new(arena);
        te_print(got, &x);
        te_print(want, &y);
        assert_string_equal(buf_str(&x), buf_str(&y));
    }
}

static void test_specialize(void **state) {
    (void)state;
    specialize("param M = 0..20, N = 6; let P = (M * N + 5) / 4 % 7 + max(M - 3, 0); let Q = P + 1;"
               "op f(A: f32[M,N], B: f32[M/2+1] strides(M+N)) -> C: f32[Q,M] {"
               " let T = min(M, 9);"
               " t[i] += A[i,n] where i in M; C[q,m] = t[m] + (B[q] else -1) + T; }",
               "M", 0, 20, 1);
    specialize("param M = 3..40 % 3;"
               "op f(A: f32[M+2], X: f32[M]) -> Y: f32[M] { Y[m] += A[m+k] * X[m]; }",
               "M", 3, 39, 3);
    specialize("param M = 9..40; op f(A: f32[M]) -> Y: f32 { Y[] += A[2*i+r] where r in 3; }",
               "M", 9, 40, 1);
}

static void test_specialize_refuses(void **state) {
    (void)state;
    TeDefine k = {"K", 3, 3, 1};
    Te *te = parse(source, &k, 1);
    const Te *got;
    int64_t value[TE_MAX_SIZES] = {0, 68};
    assert_int_equal(te_specialize(arena, &diag, te, value, &got), ST_SIZE);
    value[1] = 6;
    assert_int_equal(te_specialize(arena, &diag, te, value, &got), ST_SIZE);
    value[1] = 0;
    assert_int_equal(te_specialize(arena, &diag, te, value, &got), ST_SIZE);
    value[1] = 8;
    assert_int_equal(te_specialize(arena, &diag, te, value, &got), ST_OK);
    Te *fixed = parse("op f(A: f32[4]) -> B: f32[4] { B[i] = A[i]; }", NULL, 0);
    assert_int_equal(te_specialize(arena, &diag, fixed, value, &got), ST_OK);
    assert_ptr_equal(got, fixed);
}

static void test_choice(void **state) {
    (void)state;
    static const char two[] = "op ab(A: f32[4]) -> B: f32[4] { B[i] = A[i]; }\n"
                              "op cd(A: f32[4]) -> B: f32[4] { B[i] = A[i] + 1; }";
    Te *te, **all;
    int n;
    assert_int_equal(te_parse(arena, &diag, diag_text("x.te", two), "cd", NULL, &te), ST_OK);
    assert_string_equal(te->name, "cd");
    assert_int_equal(te_parse_all(arena, &diag, diag_text("x.te", two), NULL, &all, &n),
                     ST_OK);
    assert_int_equal(n, 2);
    assert_string_equal(all[0]->name, "ab");
    assert_int_equal(diag.count, 0);
    assert_int_equal(te_parse(arena, &diag, diag_text("x.te", two), NULL, NULL, &te), ST_TE);
    assert_string_equal(diag.messages[0].message, "x.te has 2 ops: ab, cd");
    assert_int_equal(te_parse(arena, &diag, diag_text("x.te", two), "ef", NULL, &te), ST_TE);
    assert_string_equal(diag.messages[1].message, "x.te has no op 'ef'");
}

static const char *positional(const char *text) {
    Buf b = buf_new(arena);
    te_print_positional(parse(text, NULL, 0), &b);
    return buf_str(&b);
}

/* Renaming changes nothing, nor do sizes that the op does not use.  */
static void test_positional(void **state) {
    (void)state;
    const char *a = positional("param M = 4, Z = 9, K = 2..8 % 2; let P = M * 2;"
                               "op f(A: f32[P,K], s: f32) -> B: f32[P] { let W = P + 1;"
                               " B[m] += A[m,k] * s + W where k in K; }");
    const char *b = positional("param a = 4, b = 2..8 % 2; let c = a * 2;"
                               "op g(x: f32[c,b], y: f32) -> z: f32[c] { let d = c + 1;"
                               " z[i] += x[i,j] * y + d where j in 0:b; }");
    assert_string_equal(a, b);
    assert_string_equal(a, "param s0 = 4;\nparam s1 = 2..8 % 2;\nlet s2 = s0 * 2;\n"
                           "op f(t0: f32[s2,s1], t1: f32) -> t2: f32[s2] {\n  let s3 = s2 + 1;\n"
                           "  t2[i0] += t0[i0,i1] * t1 + s3 where i1 in 0:s1;\n}\n");
    assert_string_not_equal(a, positional("param M = 4, K = 2..8 % 2; let P = M * 2;"
                                          "op f(A: f32[P,K], s: f32) -> B: f32[P] { let W = P + 2;"
                                          " B[m] += A[m,k] * s + W where k in K; }"));
}

static void test_used(void **state) {
    (void)state;
    Te *te = parse("param M = 4, N = 5, K = 6; let P = N + 1; let Q = K + 1;"
                   "op f(A: f32[M]) -> B: f32[M] { B[m] = A[m] + P; }", NULL, 0);
    static const bool want[] = {true, true, false, true, false};
    assert_int_equal(te->n_size, 5);
    for (int i = 0; i < 5; i++) assert_int_equal(te->size[i].used, want[i]);
    assert_false(te->runtime);
}

/* -- te_check ---------------------------------------------------------------------------------- */
static Te *sound(void) {
    return parse("param M = 4, N = 1..8; let P = M + 1;"
                 "op f(A: f32[M,N], p: bool[M], s: f32) -> (B: f32[M], I: i32) {"
                 " t[m] += A[m,n] * s; B[m] = p[m] ? t[m] + 1 : (A[m-1,0] else 0.5);"
                 " I[] = argmax[m](t[m]); }",
                 NULL, 0);
}

#define BREAKS(edit)                                             \
    do {                                                         \
        Te *te = sound();                                        \
        assert_null(te_check(te));                               \
        edit;                                                    \
        if (!te_check(te)) fail_msg("not noticed: %s", #edit);   \
    } while (0)

static void test_check_sees(void **state) {
    (void)state;
    BREAKS(te->n_out = 0);
    BREAKS(te->n_stmt = 2);
    BREAKS(te->n_tensor = 4);
    BREAKS(te->size[0].extent.min = 3);
    BREAKS(te->size[0].extent.multiple = 3);
    BREAKS(te->size[0].name = NULL);
    BREAKS(te->size[1].lo = 2);
    BREAKS(te->tensor[0].role = TE_TEMP);
    BREAKS(te->tensor[2].rank = 1);
    BREAKS(te->tensor[3].rank = 9);
    BREAKS(te->tensor[3].shape[0].value = 5);
    BREAKS(te->tensor[0].stride[1].value = te->tensor[0].stride[1].min = 2);
    BREAKS(te->tensor[3].dtype = TE_BOOL);
    BREAKS(te->stmt[0].tensor = 0);
    BREAKS(te->stmt[1].tensor = te->stmt[0].tensor);
    BREAKS(te->stmt[0].n_left = 0);
    BREAKS(te->stmt[0].index[0].reduction = true);
    BREAKS(te->stmt[0].index[0].lo.value = te->stmt[0].index[0].lo.min = 1);
    BREAKS(te->stmt[1].asg = TE_ACCUMULATE);
    BREAKS(te->stmt[0].rhs->n_index = 0);
    BREAKS(te->stmt[0].rhs->index[0] = 0);
    BREAKS(te->stmt[0].rhs->type = TE_F64);
    BREAKS(te->stmt[0].rhs->red = TE_RED_ANY);
    BREAKS(te->stmt[0].rhs->args[0]->kind = TE_MOD);
    BREAKS(te->stmt[0].rhs->args[0]->args[0]->n_args = 1);
    BREAKS(te->stmt[0].rhs->args[0]->args[0]->v.ref = 3);
    BREAKS(te->stmt[0].rhs->args[0]->args[0]->args[1]->v.ref = 2);
    BREAKS(te->stmt[0].rhs->args[0]->args[1]->v.ref = 1);
    BREAKS(te->stmt[1].rhs->args[0]->type = TE_I32);
    BREAKS(te->stmt[1].rhs->args[1]->args[1]->type = TE_I32);
    BREAKS(te->stmt[1].rhs->args[1]->args[1]->kind = TE_INT);
    BREAKS(te->stmt[1].rhs->args[2]->inside = TE_INSIDE_TESTED);
    BREAKS(te->stmt[1].rhs->args[2]->other->type = TE_BOOL);
    BREAKS(te->stmt[1].rhs->args[2]->other = te->stmt[1].rhs->args[0]);
    BREAKS(te->stmt[1].rhs->args[2]->args[0]->type = TE_F32);
    BREAKS(te->stmt[2].rhs->type = te->stmt[2].rhs->store = TE_I64);
    BREAKS(te->stmt[2].rhs->args[0] = NULL);
    BREAKS(te->stmt[2].rhs->store = TE_F16);
}

/* What is known of multiples of some sizes holds of every extent and stride at all of them.  */
static void holds_at(const Te *te, const Te *given, const int64_t *size) {
    for (int t = 0; t < te->n_tensor; t++) {
        for (int d = 0; d < te->tensor[t].rank; d++) {
            const TeExtent *e[] = {&given->tensor[t].shape[d], &given->tensor[t].stride[d]};
            for (int i = 0; i < 2; i++) {
                int64_t v = te_extent_eval(te, e[i], size);
                assert_int_equal(v % e[i]->multiple, 0);
                assert_in_range(v, e[i]->min, e[i]->value);
            }
        }
    }
}

static void test_given(void **state) {
    static const char text[] =
        "param N = 1..100, K = 3..50 % 2, P = 5; let Q = N * K + K / 2; let R = N / 4;\n"
        "op f(A: f32[N,K], B: f32[Q,P,max(N, K)], D: f32[R+1,N%K]) -> C: f32[N,K] {"
        " C[n,k] = A[n,k] + (B[0,0,k] else 0) + (D[n/4,k] else 0); }";
    (void)state;
    Te *te = parse(text, NULL, 0);
    const Te *given = te_given(arena, te, (TeGiven[TE_MAX_SIZES]){{8, 0}, {4, 0}});
    assert_int_equal(given->size[0].extent.min, 8);
    assert_int_equal(given->size[0].extent.value, 96);
    assert_int_equal(te_extent_divisor(&given->tensor[0].stride[0]), 4);
    assert_int_equal(te_extent_divisor(&given->tensor[1].stride[0]), 20);
    assert_int_equal(te_extent_divisor(&given->tensor[1].shape[0]), 2);
    for (int64_t n = 1; n <= 100; n++) {
        for (int64_t k = 4; k <= 50; k += 2) {
            int64_t size[TE_MAX_SIZES] = {n, k, 5};
            assert_int_equal(te_gives(given, size), n % 8 == 0 && k % 4 == 0);
            if (te_gives(given, size)) holds_at(te, given, size);
        }
    }
    assert_null(te_given(arena, te, (TeGiven[TE_MAX_SIZES]){{128, 0}}));
}

/* What one value is left of is a number, and no factor of what else is made of it.  */
static void test_given_one(void **state) {
    static const char text[] =
        "param N = 1..100, K = 3..50; let Q = N * 2 + 1;\n"
        "op f(A: f32[N,K,N,5], B: f32[Q]) -> C: f32[N,K] { C[n,k] = A[n,k,0,0] + B[0]; }";
    (void)state;
    Te *te = parse(text, NULL, 0);
    const Te *given = te_given(arena, te, (TeGiven[TE_MAX_SIZES]){{0, 1}, {0, 7}});
    const TeTensor *t = given->tensor;
    assert_true(te_extent_is_one(&t[0].shape[0]) && te_extent_is_one(&t[0].shape[2]));
    assert_true(te_extent_is_one(&given->stmt[0].index[0].hi));
    assert_true(!t[1].shape[0].expr && t[1].shape[0].value == 3);
    assert_true(!t[0].stride[1].expr && t[0].stride[1].value == 5);
    assert_int_equal(t[0].stride[0].value, 35);
    assert_int_equal(t[0].stride[0].expr->kind, TE_MUL);
    assert_int_equal(t[0].stride[0].expr->n_args, 2);
    assert_int_equal(t[0].shape[1].value, 7);
    for (int64_t n = 1; n <= 3; n++) {
        for (int64_t k = 3; k <= 9; k++) {
            int64_t size[TE_MAX_SIZES] = {n, k};
            assert_int_equal(te_gives(given, size), n == 1 && k <= 7);
            if (te_gives(given, size)) holds_at(te, given, size);
        }
    }
}

/* A strategy in which nothing more is known has the op's own plan: not a factor of 1 may go.  */
static void test_given_nothing(void **state) {
    (void)state;
    static const char text[] = "param N = 4..64 % 4, Q = 1;\n"
                               "op f(A: f32[N,Q,N*Q]) -> C: f32[N,Q,N*Q] { C[i,j,k] = A[i,j,k]; }";
    static const TeGiven nothing[][TE_MAX_SIZES] = {{{0, 0}}, {{1, 64}}, {{2, 100}}, {{4, 0}}};
    Te *te = parse(text, NULL, 0);
    for (size_t i = 0; i < sizeof nothing / sizeof nothing[0]; i++) {
        const Te *given = te_given(arena, te, nothing[i]);
        assert_ptr_equal(given->tensor, te->tensor);
        assert_ptr_equal(given->stmt, te->stmt);
    }
    assert_ptr_not_equal(te_given(arena, te, (TeGiven[TE_MAX_SIZES]){{8, 0}})->tensor, te->tensor);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_define_text), TEST(test_defines), TEST(test_specialize),
        TEST(test_specialize_refuses), TEST(test_choice), TEST(test_positional), TEST(test_used),
        TEST(test_check_sees), TEST(test_given), TEST(test_given_one),
        TEST(test_given_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
