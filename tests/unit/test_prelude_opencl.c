/* links: codegen */
/* What operators and functions mean in OpenCL C's prelude, on hostile values: what is exact bit for
 * bit, functions within the ulps of TE_INTRINSICS.  */
#include "base/philox.h"
#include "codegen/prelude/prelude.h"
#include "opencl_cases.h"
#include "te/te.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef OpenclCase Case;
typedef OpenclGiven Given;

/* ---- what is right ---- */

static bool low_bits(u64 r, u64 want) { return (u32)r == (u32)want; }

/* The count of a shift.  */
#define BY(type) (y & (type)(8 * sizeof(type) - 1))
#define INTEGERS(X, type)                                                                          \
    X(add, type, (u64)x + (u64)y) X(sub, type, (u64)x - (u64)y) X(mul, type, (u64)x * (u64)y)      \
    X(mad, type, (u64)x * (u64)y + (u64)z) X(abs, type, x < 0 ? 0 - (u64)x : (u64)x)               \
    X(shl, type, (u64)x << BY(type))                                                               \
    X(shr, type, (u64)(x < 0 ? ~(~x >> BY(type)) : x >> BY(type)))                                 \
    X(div, type, y == 0 ? 0 : y == -1 ? 0 - (u64)x : (u64)(x / y - (x % y != 0 && (x ^ y) < 0)))   \
    X(mod, type, y == 0 || y == -1 ? 0 : (u64)(x % y + (x % y != 0 && (x ^ y) < 0 ? y : 0)))
#define X(name, type, value)                                                                       \
    static bool name##_##type(const Case *c, const Given *g, u64 r) {                              \
        const type x = (type)g->x, y = (type)g->y, z = (type)g->z;                                 \
        (void)c, (void)x, (void)y, (void)z;                                                        \
        return (type)r == (type)(value);                                                           \
    }
INTEGERS(X, int32_t)
INTEGERS(X, int64_t)
#undef X

static bool philox(const Case *c, const Given *g, u64 r) {
    (void)c;
    return (int64_t)r == philox_number((int64_t)g->x, (int64_t)g->y);
}

#define EXTREME(name, sign)                                                                        \
    static bool name##_f32(const Case *c, const Given *g, u64 r) {                                 \
        const float x = f32(g->x), y = f32(g->y);                                                  \
        (void)c;                                                                                   \
        return isnan(x) || isnan(y) ? isnan(f32(r)) : f32(r) == (x sign y ? x : y);                \
    }                                                                                              \
    static bool name##_f64(const Case *c, const Given *g, u64 r) {                                 \
        const double x = f64(g->x), y = f64(g->y);                                                 \
        (void)c;                                                                                   \
        return isnan(x) || isnan(y) ? isnan(f64(r)) : f64(r) == (x sign y ? x : y);                \
    }
EXTREME(max, >)
EXTREME(min, <)

/* x at p % 8, y at the next three bits of p, or at 8 by _next; 7 is none yet.  A NaN is better than
 * a number, and of equals the first one is.  */
static bool better_place(const Case *c, double x, double y, const Given *g, u64 r) {
    int place = (int)(g->z & 7), other = strstr(c->body, "_next_") ? 8 : (int)(g->z >> 3 & 7);
    if (place == 7) place = INT32_MAX;
    if (strstr(c->body, "argmin")) {
        x = -x;
        y = -y;
    }
    bool stays = isnan(x) != isnan(y) ? isnan(x) : x > y || (!(x < y) && place <= other);
    return (int32_t)r == (stays && !(place == INT32_MAX && other == 8) ? place : other);
}
#define PLACE(name, as)                                                                            \
    static bool place_##name(const Case *c, const Given *g, u64 r) {                               \
        return better_place(c, (double)as(g->x), (double)as(g->y), g, r);                          \
    }
/* As many bits as an f64 has.  */
#define CUT(v) ((int64_t)((v) << 11) >> 11)
PLACE(i32, (int32_t))
PLACE(i64, CUT)
PLACE(f32, f32)
PLACE(f64, f64)

static bool real(const Case *c, const Given *g, u64 r) {
    return opencl_within(r, c->of((double)f32(g->x)), c->ulp);
}

static double exp_to_88(double x) { return exp(fmin(x, 88)); }

static bool power(const Case *c, const Given *g, u64 r) {
    return opencl_within(r, pow((double)f32(g->x), (double)f32(g->y)), c->ulp);
}

static bool ratio(const Case *c, const Given *g, u64 r) {
    return opencl_within(r, (double)f32(g->x) / (double)f32(g->y), c->ulp);
}

/* Where the case divides, as the host does.  */
static bool quotient(const Case *c, const Given *g, u64 r) {
    (void)c;
    return f32(r) == -1 || opencl_is_f32(r, (double)(f32(g->x) / f32(g->y)));
}

static bool not_ones(const Case *c, const Given *g, u64 r) {
    (void)c;
    return low_bits(r, (g->x & 0x7fffff) != 0x7fffff);
}

static bool divides(const Case *c, const Given *g, u64 r) {
    double size = fabs((double)f32(g->x));
    (void)c;
    return low_bits(r, (size >= 0x1p-92 && size <= 0x1p92) || (u32)g->x == 0);
}

static int64_t byte_of(u64 x, int i, bool sign) {
    int64_t v = (int64_t)(x >> 8 * i & 0xff);
    return sign && v > INT8_MAX ? v - 256 : v;
}

static bool four_products(const Case *c, const Given *g, u64 r) {
    const char *sign = strstr(c->body, "dp4a_") + strlen("dp4a_");
    int64_t sum = (int32_t)g->z;
    for (int i = 0; i < 4; i++)
        sum += byte_of(g->x, i, sign[0] == 's') * byte_of(g->y, i, sign[1] == 's');
    return low_bits(r, (u64)sum);
}

static bool same(const Case *c, const Given *g, u64 r) {
    (void)c;
    return low_bits(r, g->x);
}

/* ---- the list ---- */

#define EXACT(result, operand, body, right) {result, operand, "r = " body ";", right, NULL, 0}
#define INTEGER(type, suffix, c, name, operands)                                                   \
    EXACT(type, type, "rl_" #name "_" suffix "(" operands ")", name##_##c)
#define OF_INTEGERS(type, suffix, c)                                                               \
    INTEGER(type, suffix, c, add, "x, y"), INTEGER(type, suffix, c, sub, "x, y"),                  \
        INTEGER(type, suffix, c, mul, "x, y"), INTEGER(type, suffix, c, mad, "x, y, z"),           \
        INTEGER(type, suffix, c, abs, "x"), INTEGER(type, suffix, c, div, "x, y"),                 \
        INTEGER(type, suffix, c, shl, "x, y"), INTEGER(type, suffix, c, shr, "x, y"),              \
        INTEGER(type, suffix, c, mod, "x, y")
#define PLACE_BY(call, suffix, type, cut, other)                                                   \
    {"int", type, "r = (p & 7) == 7 ? 2147483647 : p & 7; " type " best = x" cut "; "              \
     call #suffix "(&best, &r, y" cut ", " other ");", place_##suffix, NULL, 0}
#define PLACES(suffix, type, cut)                                                                  \
    PLACE_BY("rl_argmax_", suffix, type, cut, "p >> 3 & 7"),                                       \
        PLACE_BY("rl_argmin_", suffix, type, cut, "p >> 3 & 7"),                                   \
        PLACE_BY("rl_argmax_next_", suffix, type, cut, "8"),                                       \
        PLACE_BY("rl_argmin_next_", suffix, type, cut, "8")
#define REAL(name, fn, ulp) {"float", "float", "r = rl_" name "(x);", real, fn, ulp}
#define IN_RANGE " && y >= 0x1p-32f && y <= 0x1p32f ? "

static const Case operators[] = {
    OF_INTEGERS("int", "i32", int32_t),
    OF_INTEGERS("long", "i64", int64_t),
    EXACT("long", "long", "rl_philox(x, y)", philox),
    EXACT("float", "float", "rl_max_f32(x, y)", max_f32),
    EXACT("float", "float", "rl_min_f32(x, y)", min_f32),
    EXACT("double", "double", "rl_max_f64(x, y)", max_f64),
    EXACT("double", "double", "rl_min_f64(x, y)", min_f64),
    PLACES(i32, "int", ""),
    PLACES(i64, "long", " << 11 >> 11"),
    PLACES(f32, "float", ""),
    PLACES(f64, "double", ""),
    EXACT("float", "float", "rl_divides(x)" IN_RANGE "rl_div_by(x, y, 1.0f / y) : -1.0f", quotient),
    EXACT("float", "float",
          "(as_uint(x) >> 31) == 0 && x <= 0x1p60f && rl_not_ones(y)" IN_RANGE
          "rl_div_low(x, y, 1.0f / y) : -1.0f", quotient),
    EXACT("int", "float", "rl_not_ones(x)", not_ones),
    EXACT("int", "float", "rl_divides(x)", divides),
    EXACT("int", "int", "rl_dp4a_ss(x, y, z)", four_products),
    EXACT("int", "int", "rl_dp4a_su(x, y, z)", four_products),
    EXACT("int", "int", "rl_dp4a_us(x, y, z)", four_products),
    EXACT("int", "int", "rl_dp4a_uu(x, y, z)", four_products),
    EXACT("int", "int", "rl_hidden(x); rl_block_sync()", same),
    /* OpenCL C's own bounds, which @fast allows.  */
    {"float", "float", "r = rl_fast_div(x, y);", ratio, NULL, 2.5},
    REAL("fast_exp2", exp2, 3), REAL("fast_exp", exp, 3), REAL("fast_sqrt", sqrt, 3),
    REAL("fast_tanh", tanh, 5), REAL("fast_sin", sin, 4), REAL("fast_cos", cos, 4),
    /* Half an ulp of a product up to 150, and what log2(e) lacks of it, move e^x by 6.7e-6, 113
     * ulps at most; exp2 adds its 3.  */
    {"float", "float", "r = rl_exp_term(fmin(x, 88.0f));", real, exp_to_88, 116},
};
enum { OPERATORS = sizeof operators / sizeof *operators };

/* Functions by intrinsic, and what OpenCL C promises of its own.  */
static const struct {
    TeFn fn;
    double plain;
    Case c;
} functions[] = {
    {TE_FN_EXP, 3, REAL("exp_f32", exp, 0)},     {TE_FN_EXP, 3, REAL("exp_low", exp, 0)},
    {TE_FN_EXP2, 3, REAL("exp2_f32", exp2, 0)},  {TE_FN_LOG, 3, REAL("log_f32", log, 0)},
    {TE_FN_LOG2, 3, REAL("log2_f32", log2, 0)},  {TE_FN_TANH, 5, REAL("tanh_f32", tanh, 0)},
    {TE_FN_ERF, 16, REAL("erf_f32", erf, 0)},    {TE_FN_SIN, 4, REAL("sin_f32", sin, 0)},
    {TE_FN_COS, 4, REAL("cos_f32", cos, 0)},
    {TE_FN_POW, 16, {"float", "float", "r = rl_pow_f32(x, y);", power, NULL, 0}},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* ---- tests ---- */

static int setup(void **state) { return (*state = arena_create(NULL)) ? 0 : -1; }

static int teardown(void **state) {
    arena_destroy(*state);
    return 0;
}

static Device a_device(bool f64) {
    static ComputeUnit unit = {.acc = TE_F64};
    return (Device){.language = LANGUAGE_OPENCL, .unit = &unit, .n_unit = f64};
}

static const double ulps[] = {
#define X(id, name, n, ulp) ulp,
    TE_INTRINSICS(X)
#undef X
};

static const char *run_functions(Arena *a, bool f64) {
    Device dev = a_device(f64);
    Case c[FUNCTIONS];
    for (int i = 0; i < FUNCTIONS; i++) {
        c[i] = functions[i].c;
        c[i].ulp = f64 ? ulps[functions[i].fn] : functions[i].plain;
    }
    return opencl_cases_run(a, &dev, c, FUNCTIONS);
}

/* Every definition is used.  */
static void operators_and_functions(void **state) {
    Device dev = a_device(true);
    opencl_need(*state);
    const char *one = opencl_cases_run(*state, &dev, operators, OPERATORS);
    const char *two = run_functions(*state, true);
    for (int i = 0; i < prelude_opencl_rows; i++) {
        const char *name = prelude_opencl[i].name;
        if (!strstr(one, name) && !strstr(two, name)) fail_msg("nothing uses %s", name);
    }
}

static void functions_without_f64(void **state) {
    opencl_need(*state);
    run_functions(*state, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(operators_and_functions, setup, teardown),
        cmocka_unit_test_setup_teardown(functions_without_f64, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
