/* links: te */
/* Types, storage types and literals of expressions, one by one.  */
#include "te/te.h"

#include "arena_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* One tensor per type, named after it with a leading capital; p is bool, s an f64 scalar.  */
static const char head[] =
    "op f(D: f64[9], F: f32[9], H: f16[9], B: bf16[9], E: f8e4m3[9], G: f8e5m2[9], L: i64[9], "
    "I: i32[9], S: i16[9], C: i8[9], U: u8[9], p: bool[9], s: f64, n: i32) -> Y: f32 { t[i] = ";

static const TeStmt *statement(const char *expr, const char *annot) {
    Diag d = diag_new(arena);
    Te *te;
    const char *text = arena_printf(arena, "%s%s where i in 9 %s; Y[] = 0; }", head, expr, annot);
    if (te_parse(arena, &d, diag_text("x.te", text), NULL, NULL, &te) != ST_OK)
        fail_msg("%s: %s", expr, d.messages[0].message);
    const char *broken = te_check(te);
    if (broken) fail_msg("%s: %s", expr, broken);
    return &te->stmt[0];
}

static void test_types(void **state) {
    (void)state;
    static const struct {
        const char *expr;
        TeDtype type, store;
    } table[] = {
        {"D[i]", TE_F64, TE_F64},
        {"F[i]", TE_F32, TE_F32},
        {"H[i]", TE_F32, TE_F16},
        {"B[i]", TE_F32, TE_BF16},
        {"E[i]", TE_F32, TE_F8E4M3},
        {"G[i]", TE_F32, TE_F8E5M2},
        {"L[i]", TE_I64, TE_I64},
        {"I[i]", TE_I32, TE_I32},
        {"S[i]", TE_I32, TE_I16},
        {"C[i]", TE_I32, TE_I8},
        {"U[i]", TE_I32, TE_U8},
        {"p[i]", TE_BOOL, TE_BOOL},
        {"s", TE_F64, TE_F64},
        {"n", TE_I32, TE_I32},
        {"i", TE_I64, TE_I64},
        /* operands meet at the later of i32, i64, f32, f64 */
        {"H[i] + B[i]", TE_F32, TE_F32},
        {"F[i] + D[i]", TE_F64, TE_F64},
        {"I[i] + L[i]", TE_I64, TE_I64},
        {"L[i] + H[i]", TE_F32, TE_F32},
        {"L[i] * D[i]", TE_F64, TE_F64},
        {"C[i] * U[i]", TE_I32, TE_I32},
        {"C[i] + i", TE_I64, TE_I64},
        {"F[i] / i", TE_F32, TE_F32},
        {"max(C[i], L[i], F[i])", TE_F32, TE_F32},
        {"philox(C[i], 7)", TE_I64, TE_I64},
        /* literals take the type of their company */
        {"H[i] + 1", TE_F32, TE_F32},
        {"D[i] + 1", TE_F64, TE_F64},
        {"C[i] + 1", TE_I32, TE_I32},
        {"L[i] + 1", TE_I64, TE_I64},
        {"C[i] * 0.5", TE_F32, TE_F32},
        {"L[i] * 0.5", TE_F32, TE_F32},
        {"D[i] * (1 / 3)", TE_F64, TE_F64},
        {"1", TE_I32, TE_I32},
        {"3000000000", TE_I64, TE_I64},
        {"-2147483648", TE_I32, TE_I32},
        {"-2147483649", TE_I64, TE_I64},
        {"1 + 3000000000", TE_I64, TE_I64},
        {"7 % 2", TE_I32, TE_I32},
        {"F[i] + 7 % 2", TE_F32, TE_F32},
        {"7 % 3000000000", TE_I64, TE_I64},
        {"0.5", TE_F32, TE_F32},
        {"inf", TE_F32, TE_F32},
        {"exp(1)", TE_F32, TE_F32},
        {"true", TE_BOOL, TE_BOOL},
        {"1 < 2", TE_BOOL, TE_BOOL},
        {"F[i] < 2", TE_BOOL, TE_BOOL},
        {"p[i] == false", TE_BOOL, TE_BOOL},
        /* selection, max, min and else keep a storage type when all parts have it */
        {"p[i] ? C[i] : C[i]", TE_I32, TE_I8},
        {"p[i] ? C[i] : 5", TE_I32, TE_I8},
        {"p[i] ? C[i] : 500", TE_I32, TE_I32},
        {"p[i] ? C[i] : U[i]", TE_I32, TE_I32},
        {"p[i] ? 1 : p[i] ? C[i] : -128", TE_I32, TE_I8},
        {"max(C[i], 0)", TE_I32, TE_I8},
        {"max(U[i], 255, 3)", TE_I32, TE_U8},
        {"max(U[i], -1)", TE_I32, TE_I32},
        {"min(H[i], 0.5)", TE_F32, TE_F16},
        {"min(H[i], 0.1)", TE_F32, TE_F32},
        {"min(H[i], -inf)", TE_F32, TE_F16},
        {"min(E[i], inf)", TE_F32, TE_F32},
        {"C[i-1] else 0", TE_I32, TE_I8},
        {"C[i-1] else 200", TE_I32, TE_I32},
        {"C[i-1] else C[i]", TE_I32, TE_I8},
        {"C[i-1] else 0.5", TE_F32, TE_F32},
        {"C[i-1] else L[i]", TE_I64, TE_I64},
        {"abs(C[i])", TE_I32, TE_I32},
        {"-C[i]", TE_I32, TE_I32},
        {"i8(L[i])", TE_I32, TE_I8},
        {"f16(F[i])", TE_F32, TE_F16},
        {"half(D[i])", TE_F32, TE_F16},
        {"f64(F[i])", TE_F64, TE_F64},
        {"bool(F[i])", TE_BOOL, TE_BOOL},
        {"i64(p[i])", TE_I64, TE_I64},
        {"max(i8(I[i]), C[i])", TE_I32, TE_I8},
        /* reductions */
        {"sum[k](H[k])", TE_F32, TE_F32},
        {"sum[k](C[k])", TE_I32, TE_I32},
        {"max[k](C[k])", TE_I32, TE_I8},
        {"min[k](H[k])", TE_F32, TE_F16},
        {"max[k](H[k] + 1)", TE_F32, TE_F32},
        {"any[k](p[k])", TE_BOOL, TE_BOOL},
        {"argmax[k](D[k])", TE_I32, TE_I32},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const TeExpr *e = statement(table[i].expr, "")->rhs;
        if (e->type != table[i].type || e->store != table[i].store)
            fail_msg("%s: %s kept as %s", table[i].expr, te_dtype_name(e->type),
                     te_dtype_name(e->store));
    }
}

static void test_accum(void **state) {
    (void)state;
    static const struct {
        const char *expr, *annot;
        TeDtype type;
    } table[] = {
        {"sum[k](H[k])", "@accum(f64)", TE_F64},
        {"sum[k](H[k])", "@accum(f32)", TE_F32},
        {"sum[k](H[k])", "@accum(f16)", TE_F32},
        {"sum[k](H[k])", "@accum(bf16)", TE_F32},
        {"sum[k](D[k])", "@accum(f32)", TE_F64},
        {"sum[k](C[k])", "@accum(i64)", TE_I64},
        {"prod[k](F[k])", "@accum(double)", TE_F64},
        {"sum[k](F[k]) + F[i]", "@accum(f64)", TE_F64},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const TeStmt *s = statement(table[i].expr, table[i].annot);
        if (s->rhs->type != table[i].type)
            fail_msg("%s %s: %s", table[i].expr, table[i].annot, te_dtype_name(s->rhs->type));
    }
}

/* A literal's kind agrees with its type, its value is that of the text.  */
static void test_literals(void **state) {
    (void)state;
    static const struct {
        const char *expr;
        TeKind kind;
        bool whole;
        int64_t i;
        double r;
    } table[] = {
        {"I[i] + 5", TE_INT, false, 5, 0},
        {"I[i] + -2147483648", TE_INT, false, INT32_MIN, 0},
        {"L[i] + 9223372036854775807", TE_INT, false, INT64_MAX, 0},
        {"F[i] + 5", TE_REAL, true, 0, 5},
        {"F[i] + 5.0", TE_REAL, false, 0, 5},
        {"F[i] + -3", TE_REAL, true, 0, -3},
        {"F[i] + 0.1", TE_REAL, false, 0, 0.1},
        {"F[i] + 16777217", TE_REAL, true, 0, 16777216},
        {"D[i] + 16777217", TE_REAL, true, 0, 16777217},
        {"D[i] + 9223372036854775807", TE_REAL, false, 0, 0x1p63},
        {"D[i] + 1e-320", TE_REAL, false, 0, 1e-320},
        {"F[i] + inf", TE_REAL, false, 0, INFINITY},
        {"F[i] + -inf", TE_REAL, false, 0, -INFINITY},
        {"F[i] + 00012.500e1", TE_REAL, false, 0, 125},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const TeExpr *e = statement(table[i].expr, "")->rhs->args[1];
        if (e->kind != table[i].kind || e->whole != table[i].whole ||
            (e->kind == TE_INT ? e->v.i != table[i].i : e->v.r != table[i].r))
            fail_msg("%s: kind %d whole %d", table[i].expr, (int)e->kind, e->whole);
    }
    assert_true(signbit(statement("F[i] + -0.0", "")->rhs->args[1]->v.r));
}

static void test_stores(void **state) {
    (void)state;
    static const struct {
        const char *expr, *type;
        bool fits;
    } table[] = {
        {"D[i]", "f8e4m3", true},   {"L[i]", "f16", true},     {"U[i]", "i16", true},
        {"U[i]", "i8", false},      {"C[i]", "u8", false},     {"C[i]", "i16", true},
        {"S[i]", "i8", false},      {"S[i]", "i64", true},     {"L[i]", "i32", false},
        {"I[i]", "i64", true},      {"C[i] + 1", "i8", false}, {"C[i] + 1", "i32", true},
        {"i8(C[i] + 1)", "i8", true}, {"F[i]", "i64", false},  {"p[i]", "u8", false},
        {"p[i]", "bool", true},     {"I[i]", "bool", false},   {"1", "bool", false},
        {"127", "i8", true},        {"128", "i8", false},      {"-128", "i8", true},
        {"-129", "i8", false},      {"255", "u8", true},       {"256", "u8", false},
        {"-1", "u8", false},        {"32768", "i16", false},   {"0.5", "i32", false},
        {"65504", "f16", true},     {"65519.0", "f16", true},  {"65520.0", "f16", false},
        {"448", "f8e4m3", true},    {"464", "f8e4m3", true},   {"465", "f8e4m3", false},
        {"57344", "f8e5m2", true},  {"65536", "f8e5m2", false}, {"inf", "f8e4m3", true},
        {"1e39", "f64", true},      {"1e39", "f32", false},    {"true", "bool", true},
        {"p[i] ? 1 : 0", "i8", true}, {"p[i] ? 1 : 200", "i8", false}, {"i", "i32", false},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        Diag d = diag_new(arena);
        Te *te;
        const char *text = arena_printf(arena, "%s%s where i in 9 @type(%s); Y[] = 0; }", head,
                                        table[i].expr, table[i].type);
        bool fits = te_parse(arena, &d, diag_text("x.te", text), NULL, NULL, &te) == ST_OK;
        if (fits != table[i].fits) fail_msg("%s into %s", table[i].expr, table[i].type);
        if (fits) assert_string_equal(te_dtype_name(te->tensor[15].dtype), table[i].type);
    }
}

static void test_dtypes(void **state) {
    (void)state;
    static const char *const alias[][2] = {
        {"double", "f64"}, {"float64", "f64"}, {"float", "f32"}, {"float32", "f32"},
        {"half", "f16"}, {"float16", "f16"}, {"bfloat16", "bf16"}, {"float8_e4m3fn", "f8e4m3"},
        {"float8_e5m2", "f8e5m2"},
        {"int64", "i64"}, {"int32", "i32"}, {"int16", "i16"}, {"int8", "i8"}, {"uint8", "u8"},
    };
    TeDtype t;
    for (int i = 0; i < TE_DTYPE_COUNT; i++) {
        const char *name = te_dtype_name((TeDtype)i);
        assert_true(te_dtype_parse(name, strlen(name), &t) && (int)t == i);
        assert_int_equal(te_dtype_class(te_dtype_compute(t)), te_dtype_class(t));
        assert_true(te_dtype_bytes(t) <= te_dtype_bytes(te_dtype_compute(t)));
    }
    for (size_t i = 0; i < sizeof alias / sizeof alias[0]; i++) {
        assert_true(te_dtype_parse(alias[i][0], strlen(alias[i][0]), &t));
        assert_string_equal(te_dtype_name(t), alias[i][1]);
    }
    assert_false(te_dtype_parse("f16x", 4, &t));
    assert_true(te_dtype_parse("f16x", 3, &t));
    assert_false(te_dtype_parse("tf32", 4, &t));
    assert_false(te_dtype_parse("i4", 2, &t));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_types), TEST(test_accum), TEST(test_literals), TEST(test_stores),
        TEST(test_dtypes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
