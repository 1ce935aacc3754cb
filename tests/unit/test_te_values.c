/* links: te */
#include "base/philox.h"
#include "te_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Each case: an output type, an expression over the inputs below, the value by hand.  */
typedef struct {
    const char *type, *expr;
    double want;
} Case;

static const char inputs[] =
    "op f(x: f32[1], y: f32[1], a: i32[1], b: i32[1], l: i64[1], m: i64[1], d: f64[1], t: bool[1],"
    " u: bool[1], h: f16[1], c: i8[1], v: u8[1], z: f32[1], n: f32[1], o: i32[1]) -> ";

static TeValue run(Arena *arena, const Case *k) {
    static const float x = -2.5f, y = 0.5f, z = 0.0f, n = NAN;
    static const int32_t a = -7, b = 2, o = INT32_MIN;
    static const int64_t l = -((int64_t)1 << 40) - 3, m = 1000;
    static const double d = 0.1;
    static const uint8_t t = 5, u = 0, v = 200;          /* any byte but 0 is true */
    static const uint16_t h = 0x3c01;                    /* 1 + 2^-10 */
    static const int8_t c = -100;
    const void *in[] = {&x, &y, &a, &b, &l, &m, &d, &t, &u, &h, &c, &v, &z, &n, &o};
    const char *text =
        arena_printf(arena, "%sY: %s[1] { Y[i] = %s; }", inputs, k->type, k->expr);
    return *fixture_run(arena, text, in);
}

static void check_cases(const Case *k, size_t n) {
    Arena *arena = arena_create(NULL);
    for (size_t i = 0; i < n; i++) {
        TeValue got = run(arena, &k[i]);
        TeDtype type;
        assert_true(te_dtype_parse(k[i].type, strlen(k[i].type), &type));
        bool real = te_dtype_class(type) == TE_CLASS_REAL;
        double value = real ? got.v : (double)got.i;
        bool same = isnan(k[i].want) ? isnan(value)
                                     : value == k[i].want && !signbit(value) == !signbit(k[i].want);
        if (!same || got.undecided || got.bound != 0)
            fail_msg("%s = %.17g (bound %g, undecided %d), not %.17g", k[i].expr, value, got.bound,
                     got.undecided, k[i].want);
    }
    arena_destroy(arena);
}
#define CHECK_CASES(table) check_cases(table, sizeof table / sizeof table[0])

static void arithmetic_of_reals(void **state) {
    (void)state;
    static const Case cases[] = {
        {"f32", "x[i] + y[i]", -2}, {"f32", "x[i] - y[i]", -3}, {"f32", "x[i] * y[i]", -1.25},
        {"f32", "x[i] / y[i]", -5}, {"f32", "-x[i]", 2.5}, {"f32", "x[i]", -2.5},
        {"f32", "x[i] / z[i]", -INFINITY}, {"f32", "z[i] / z[i]", NAN}, {"f32", "-z[i]", -0.0},
        {"f32", "inf - inf", NAN}, {"f32", "x[i] + n[i]", NAN}, {"f32", "inf * x[i]", -INFINITY},
        {"f32", "y[i] * 2", 1}, {"f64", "d[i]", 0.1}, {"f64", "d[i] * 2", 0.2},
        {"f64", "y[i] + 0.25", 0.75}, {"f32", "h[i]", 1.0009765625}, {"f32", "z[i] * x[i]", -0.0},
    };
    CHECK_CASES(cases);
}

static void literals_have_the_type_of_their_place(void **state) {
    (void)state;
    static const Case cases[] = {
        {"f64", "0.1", 0.1}, {"f32", "0.1", 0.1f}, {"f64", "d[i] - 0.1", 0},
        {"f32", "16777216", 16777216},
        {"f64", "f32(0.1)", 0.1f}, {"f32", "inf", INFINITY}, {"f32", "-inf", -INFINITY},
    };
    CHECK_CASES(cases);
}

static void arithmetic_of_integers(void **state) {
    (void)state;
    static const Case cases[] = {
        {"i32", "a[i] + b[i]", -5}, {"i32", "a[i] - b[i]", -9}, {"i32", "a[i] * b[i]", -14},
        /* Quotients floor; the remainder has the divisor's sign.  */
        {"i32", "a[i] / b[i]", -4}, {"i32", "a[i] % b[i]", 1}, {"i32", "-a[i] / b[i]", 3},
        {"i32", "a[i] / -b[i]", 3}, {"i32", "a[i] % -b[i]", -1}, {"i32", "-a[i] % -b[i]", -1},
        {"i32", "a[i] / (b[i] - 2)", 0}, {"i32", "a[i] % (b[i] - 2)", 0},
        {"i32", "o[i] / (b[i] - 3)", INT32_MIN}, {"i32", "o[i] % (b[i] - 3)", 0},
        /* Everything wraps.  */
        {"i32", "o[i] - 1", INT32_MAX}, {"i32", "o[i] * 2", 0}, {"i32", "-o[i]", INT32_MIN},
        {"i32", "abs(o[i])", INT32_MIN}, {"i32", "abs(a[i])", 7},
        {"i64", "o[i] - i64(1)", -2147483649.0},
        {"i64", "l[i] + m[i]", -1099511626779.0}, {"i64", "l[i] / m[i]", -1099511628.0},
        {"i64", "l[i] % m[i]", 221}, {"i64", "a[i] * m[i]", -7000},
        {"i32", "i32(l[i])", -3}, {"i8", "i8(v[i])", -56}, {"u8", "u8(c[i])", 156},
        {"i16", "i16(l[i])", -3}, {"i32", "c[i] + v[i]", 100}, {"i8", "c[i]", -100},
        {"u8", "v[i]", 200},
        {"i8", "max(c[i], 0)", 0}, {"i32", "i8(c[i] + c[i])", 56}, {"i32", "max(a[i], b[i])", 2},
        {"i32", "min(a[i], b[i], 0 - 9)", -9}, {"i64", "i", 0},
    };
    CHECK_CASES(cases);
}

static void casts_round_once_and_saturate(void **state) {
    (void)state;
    static const Case cases[] = {
        {"f32", "f16(0.1)", 0.0999755859375}, {"f32", "bf16(0.1)", 0.10009765625},
        {"f32", "f16(65519.0)", 65504}, {"f32", "f16(65520.0)", INFINITY},
        {"f32", "f16(h[i] + 0.00048828125)", 1.001953125},             /* tie to even */
        {"f32", "f8e4m3(1000.0)", 448}, {"f32", "f8e4m3(inf)", 448}, {"f32", "f8e4m3(-inf)", -448},
        {"f32", "f8e4m3(n[i])", NAN}, {"f32", "f8e5m2(1000000.0)", 57344},
        {"f32", "f8e5m2(inf)", 57344},
        {"f32", "f8e4m3(0.3)", 0.3125}, {"f32", "f8e5m2(0.3)", 0.3125}, {"f32", "f32(d[i])", 0.1f},
        {"f64", "f64(y[i])", 0.5}, {"f16", "f16(x[i])", -2.5},
        {"i32", "i32(x[i])", -2}, {"i32", "i32(-x[i])", 2}, {"i32", "i32(n[i])", 0},
        {"i32", "i32(inf)", INT32_MAX}, {"i32", "i32(-inf)", INT32_MIN},
        {"i8", "i8(x[i] * 100)", -128},
        {"u8", "u8(x[i])", 0}, {"u8", "u8(300.0)", 255}, {"i16", "i16(40000.0)", 32767},
        {"i64", "i64(1e30)", 9223372036854775807.0}, {"i64", "i64(-1e30)", -9223372036854775808.0},
        {"f32", "f32(a[i])", -7}, {"f32", "f32(l[i])", -1099511627776.0},
        {"f64", "f64(l[i])", -1099511627779.0},
        {"f32", "f32(16777217 + a[i] + 7)", 16777216}, {"f32", "f16(b[i] * 1000 + 49)", 2048},
        {"f32", "f16(b[i] * 1000 + 51)", 2052},
        {"f32", "a[i] + y[i]", -6.5}, {"f32", "a[i] / y[i]", -14},
        {"bool", "bool(x[i])", 1}, {"bool", "bool(z[i])", 0}, {"bool", "bool(n[i])", 1},
        {"bool", "bool(a[i])", 1}, {"i32", "i32(t[i])", 1}, {"f32", "f32(u[i])", 0},
        {"f16", "b[i]", 2},
    };
    CHECK_CASES(cases);
}

static void truth_values(void **state) {
    (void)state;
    static const Case cases[] = {
        {"bool", "t[i]", 1}, {"bool", "!t[i]", 0}, {"bool", "t[i] && u[i]", 0},
        {"bool", "t[i] || u[i]", 1},
        {"bool", "t[i] == true", 1}, {"bool", "t[i] != u[i]", 1}, {"bool", "x[i] < y[i]", 1},
        {"bool", "x[i] >= y[i]", 0}, {"bool", "a[i] <= -7", 1}, {"bool", "a[i] > l[i]", 1},
        {"bool", "a[i] == x[i]", 0}, {"bool", "b[i] != 2.0", 0},
        /* NaN is unequal to all, itself included, and in no order.  */
        {"bool", "n[i] == n[i]", 0}, {"bool", "n[i] != n[i]", 1}, {"bool", "n[i] < 1", 0},
        {"bool", "n[i] >= 1", 0}, {"bool", "!(n[i] < 1)", 1}, {"bool", "z[i] == -z[i]", 1},
        {"f32", "x[i] < 0 ? y[i] : x[i]", 0.5}, {"i32", "u[i] ? a[i] : b[i]", 2},
        {"f32", "n[i] > 0 ? 1.0 : 2.0", 2}, {"f64", "t[i] ? d[i] : 1", 0.1},
    };
    CHECK_CASES(cases);
}

static void extremes(void **state) {
    (void)state;
    static const Case cases[] = {
        {"f32", "max(x[i], y[i])", 0.5}, {"f32", "min(x[i], y[i], z[i])", -2.5},
        {"f32", "max(n[i], y[i])", NAN},
        {"f32", "min(y[i], n[i])", NAN}, {"f32", "max(x[i], -inf)", -2.5},
        {"f32", "abs(x[i])", 2.5},
        {"f32", "abs(-z[i])", 0}, {"f32", "floor(x[i])", -3}, {"f32", "ceil(x[i])", -2},
        {"f32", "round(x[i])", -2}, {"f32", "round(x[i] + 1)", -2}, {"f32", "round(y[i])", 0},
        {"f32", "round(y[i] + 1)", 2}, {"f32", "floor(inf)", INFINITY},
    };
    CHECK_CASES(cases);
    Arena *arena = arena_create(NULL);
    TeValue zero = run(arena, &(Case){"f32", "max(z[i], -z[i])", 0});
    assert_true(zero.v == 0 && zero.any_zero);
    arena_destroy(arena);
}

/* The table of definitions: f(0.5) and the activations at 1, to the digits printed there; and the
 * bound is the one allowed: at most ulps * 2^-23 of the value, beyond nothing else.  */
static void intrinsics_by_definition(void **state) {
    (void)state;
    static const struct {
        const char *expr;
        double want, ulps;
    } cases[] = {
        {"exp(y[i])", 1.64872127, 3.5}, {"exp2(y[i])", 1.41421356, 2.5},
        {"log(y[i])", -0.69314718, 2.5}, {"log2(y[i])", -1, 2.5},
        {"sqrt(y[i])", 0.70710678, 0.5}, {"rsqrt(y[i])", 1.41421356, 2.5},
        {"tanh(y[i])", 0.46211716, 4}, {"erf(y[i])", 0.52049988, 3},
        {"sin(y[i])", 0.47942554, 2.5}, {"cos(y[i])", 0.87758256, 2.5},
        {"pow(y[i], 3)", 0.125, 8.5}, {"sqrt(y[i] * 8)", 2, 0},
        {"exp(z[i])", 1, 3.5}, {"rsqrt(z[i])", INFINITY, 0}, {"log(z[i])", -INFINITY, 0},
        {"log(x[i])", NAN, 0}, {"sqrt(x[i])", NAN, 0}, {"pow(x[i], 2)", 6.25, 8.5},
        {"exp(-inf)", 0, 3.5}, {"tanh(inf)", 1, 4}, {"pow(x[i], y[i])", NAN, 0},
    };
    Arena *arena = arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        TeValue got = run(arena, &(Case){"f32", cases[i].expr, 0});
        double want = cases[i].want;
        bool near = isnan(want) ? isnan(got.v) : got.v == want || fabs(got.v - want) < 1e-8;
        double allowed = cases[i].ulps * fmax(fabs(got.v) * 0x1p-23, 0x1p-149) * 1.001;
        if (!near || (isfinite(got.v) && got.bound > allowed) || got.undecided)
            fail_msg("%s = %.17g, bound %g", cases[i].expr, got.v, got.bound);
        if (cases[i].ulps > 0) assert_true(got.bound > 0);
    }
    arena_destroy(arena);
}

/* Known answers of Random123 (github.com/DEShaw/random123, tests/kat_vectors, philox4x32 10).  */
static void random_numbers_are_those_of_philox(void **state) {
    (void)state;
    static const Case cases[] = {
        {"i64", "philox(0, 0)", 0x6627e8d5}, {"i64", "philox(0, 1)", 0xe169c58d},
        {"i64", "philox(0, 2)", 0xbc57ac4c}, {"i64", "philox(0, 3)", 0x9b00dbd8},
        {"i64", "philox(-1, -4)", 0x408f276d}, {"i64", "philox(-1, -3)", 0x41c83b0e},
        {"i64", "philox(-1, -2)", 0xa20bc7c6}, {"i64", "philox(-1, -1)", 0x6d5451fd},
        {"i64", "philox(i, c[i] - c[i])", 0x6627e8d5},
    };
    CHECK_CASES(cases);
    uint32_t counter[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
    philox4x32(counter, (const uint32_t[2]){0xa4093822, 0x299f31d0});
    assert_int_equal(counter[0], 0xd16cfe09);
    assert_int_equal(counter[1], 0x94fdcceb);
    assert_int_equal(counter[2], 0x5001e420);
    assert_int_equal(counter[3], 0x24126ea1);
}

static void activations_at_one(void **state) {
    (void)state;
    static const struct {
        const char *expr;
        double want;
    } cases[] = {
        {"max(e,0)", 1}, {"1/(1+exp(-e))", 0.73105858}, {"e/(1+exp(-e))", 0.73105858},
        {"0.5*e*(1+erf(e*0.70710678))", 0.84134475},
        {"0.5*e*(1+tanh(0.79788456*(e+0.044715*e*e*e)))", 0.84119199},
        {"max(e,0)+log(1+exp(-abs(e)))", 1.31326169}, {"e*min(max(e+3,0),6)/6", 0.66666667},
    };
    static const float one = 1;
    const void *in[] = {&one};
    Arena *arena = arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text =
            arena_printf(arena, "op f(e: f32) -> Y: f32 { Y[] = %s; }", cases[i].expr);
        TeValue got = *fixture_run(arena, text, in);
        if (fabs(got.v - cases[i].want) > 1e-7 || got.bound > 1e-6)
            fail_msg("%s = %.9g", cases[i].expr, got.v);
    }
    arena_destroy(arena);
}

/* Four elements reduced; is the result decided, and what is it?  */
static void infinities_in_reductions(void **state) {
    (void)state;
    static const struct {
        const char *expr;
        float in[4];
        double want;          /* if decided */
        bool open;
    } cases[] = {
        {"sum[k](A[i,k])", {INFINITY, 1, -2, 3}, INFINITY, false},
        {"sum[k](A[i,k])", {INFINITY, 1, -INFINITY, 3}, NAN, false},
        {"sum[k](A[i,k])", {1, NAN, -INFINITY, 3}, NAN, false},
        {"sum[k](A[i,k])", {3e38f, 3e38f, -INFINITY, 0}, 0, true},
        {"sum[k](A[i,k])", {3e38f, 3e38f, -3e38f, 0}, 0, true},
        {"sum[k](A[i,k] * A[i,k])", {INFINITY, 1, -2, 3}, INFINITY, false},
        {"sum[k](A[i,k] * A[i,k]) @tf32", {INFINITY, 1, -2, 3}, INFINITY, false},
        {"sum[k](A[i,k] * A[i,k]) @fp32x3", {INFINITY, 1, -2, 3}, 0, true},
        {"sum[k](A[i,k] * A[i,k]) @fp32x3", {NAN, 1, -2, 3}, NAN, false},
        {"sum[k](A[i,k]) @accum(f16)", {INFINITY, 4e4f, 4e4f, 3}, 0, true},
        {"sum[k](A[i,k]) @accum(f16)", {INFINITY, 4e3f, 4e3f, 3}, INFINITY, false},
        {"prod[k](A[i,k])", {INFINITY, 2, -3, 1}, -INFINITY, false},
        {"prod[k](A[i,k])", {INFINITY, 1e-30f, 1e-30f, 1}, 0, true},
        {"prod[k](A[i,k])", {INFINITY, 0, 2, 1}, NAN, false},
        {"max[k](A[i,k])", {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, -INFINITY, false},
        {"max[k](A[i,k])", {-INFINITY, 2, INFINITY, -3}, INFINITY, false},
        {"max[k](A[i,k])", {-INFINITY, 2, NAN, -3}, NAN, false},
        {"sum[k](exp(A[i,k]))", {-INFINITY, 0, 0, -INFINITY}, 2, false},
        {"f16(sum[k](A[i,k] * 0.1))", {655200, 0, 0, 0}, 0, true},
        {"f16(sum[k](A[i,k] * 0.1))", {656000, 0, 0, 0}, INFINITY, false},
    };
    Arena *a = arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = strchr(cases[i].expr, '@');
        int len = (int)(at ? at - cases[i].expr : (long)strlen(cases[i].expr));
        const void *in[] = {cases[i].in};
        TeValue v = *fixture_run(a, arena_printf(a, "op f(A: f32[1,4]) -> Y: f32[1] {"
                                                 " Y[i] = %.*s %s; }", len, cases[i].expr,
                                                 at ? at : ""), in);
        bool same = isnan(cases[i].want) ? isnan(v.v)
                                         : fabs(v.v - cases[i].want) <= v.bound ||
                                               v.v == cases[i].want;
        if (v.undecided != cases[i].open || (!cases[i].open && !same))
            fail_msg("case %zu, %s: %g with bound %g, undecided %d", i, cases[i].expr, v.v, v.bound,
                     v.undecided);
    }
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_of_reals),
        cmocka_unit_test(literals_have_the_type_of_their_place),
        cmocka_unit_test(arithmetic_of_integers),
        cmocka_unit_test(casts_round_once_and_saturate),
        cmocka_unit_test(truth_values),
        cmocka_unit_test(extremes),
        cmocka_unit_test(intrinsics_by_definition),
        cmocka_unit_test(random_numbers_are_those_of_philox),
        cmocka_unit_test(activations_at_one),
        cmocka_unit_test(infinities_in_reductions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
