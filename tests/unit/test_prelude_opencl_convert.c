/* links: codegen */
/* Conversions and accesses of OpenCL C's prelude: conversions bit for bit as base/numeric.h has
 * them, on all codes of 16 and 8 bits and next to every place where these round; vectors of all
 * elements and widths in both kinds of memory.  */
#include "base/numeric.h"
#include "codegen/prelude/prelude.h"
#include "opencl_cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef OpenclCase Case;
typedef OpenclGiven Given;

static ComputeUnit f64_unit = {.acc = TE_F64};
static const Device device = {.language = LANGUAGE_OPENCL, .unit = &f64_unit, .n_unit = 1};

static int setup(void **state) { return (*state = arena_create(NULL)) ? 0 : -1; }

static int teardown(void **state) {
    arena_destroy(*state);
    return 0;
}

/* ---- one value ---- */

/* Bits of a narrow real that the language stores.  */
#define NARROW(type, bits, encoded)                                                                \
    static bool is_##type(u64 r, double v) {                                                       \
        bits want = (bits)(encoded);                                                               \
        bool nan = isnan(num_##type##_decode(want));                                               \
        return nan ? isnan(num_##type##_decode((bits)r)) : (bits)r == want;                        \
    }                                                                                              \
    static bool from_##type(const Case *c, const Given *g, u64 r) {                                \
        (void)c;                                                                                   \
        return opencl_is_f32(r, num_##type##_decode((bits)g->x));                                  \
    }                                                                                              \
    static bool to_##type(const Case *c, const Given *g, u64 r) {                                  \
        (void)c;                                                                                   \
        return is_##type(r, (double)f32(g->x));                                                    \
    }
NARROW(f16, uint16_t, num_f16_encode(v, ROUND_NEAREST_EVEN, false))
NARROW(bf16, uint16_t, num_bf16_encode(v, ROUND_NEAREST_EVEN, false))
NARROW(e4m3, uint8_t, num_e4m3_encode(v, ROUND_NEAREST_EVEN))
NARROW(e5m2, uint8_t, num_e5m2_encode(v, ROUND_NEAREST_EVEN, true))
NARROW(e3m2, uint8_t, num_e3m2_encode(v))
NARROW(e2m3, uint8_t, num_e2m3_encode(v))
NARROW(e2m1, uint8_t, num_e2m1_encode(v))
NARROW(ue4m3, uint8_t, num_ue4m3_encode(v))
NARROW(ue8m0, uint8_t, num_ue8m0_encode(v))

#define PAIR(type)                                                                                 \
    static bool two_##type(const Case *c, const Given *g, u64 r) {                                 \
        (void)c;                                                                                   \
        return is_##type(r & UINT16_MAX, (double)f32(g->x)) &&                                     \
               is_##type(r >> 16, (double)f32(g->y));                                              \
    }
PAIR(f16)
PAIR(bf16)

static bool small(const Case *c, const Given *g, u64 r) {
    int32_t x = (int32_t)g->x;
    (void)c;
    return x <= -(1 << 22) || x >= 1 << 22 || opencl_is_f32(r, x);
}

static bool truth(const Case *c, const Given *g, u64 r) {
    (void)c;
    return r == ((uint8_t)g->x != 0);
}

static bool by_odd_f64(const Case *c, const Given *g, u64 r) {
    (void)c;
    return is_f16(r, f64(g->x));
}

/* What no f64 holds lies between what bf16 has and its middles, as does a number beside it.  */
static bool by_odd_i64(const Case *c, const Given *g, u64 r) {
    int64_t x = (int64_t)g->x, high = x >> 40;
    (void)c;
    return is_bf16(r, (x & ((INT64_C(1) << 40) - 1)) == 0 || llabs(x / 2) < INT64_C(1) << 51
                          ? (double)x : ldexp((double)high, 40) + 0x1p30);
}

static int64_t whole(double v, double most, int64_t lo, int64_t hi) {
    return isnan(v) ? 0 : v >= most ? hi : v < -most ? lo : (int64_t)v;
}
#define WHOLE(from, to, most, lo, hi)                                                              \
    static bool from##_to_##to(const Case *c, const Given *g, u64 r) {                             \
        (void)c;                                                                                   \
        return (int64_t)r == whole((double)from(g->x), most, lo, hi);                              \
    }
WHOLE(f32, i32, 0x1p31, INT32_MIN, INT32_MAX)
WHOLE(f32, i64, 0x1p63, INT64_MIN, INT64_MAX)
WHOLE(f64, i32, 0x1p31, INT32_MIN, INT32_MAX)
WHOLE(f64, i64, 0x1p63, INT64_MIN, INT64_MAX)

#define CASE(result, operand, body, right) {result, operand, "r = " body ";", right, NULL, 0}
static const Case conversions[] = {
    CASE("float", "ushort", "rl_f16_to_f32(x)", from_f16),
    CASE("float", "ushort", "rl_bf16_to_f32(x)", from_bf16),
    CASE("float", "ushort", "rl_e4m3_to_f32((uchar)x)", from_e4m3),
    CASE("float", "ushort", "rl_e5m2_to_f32((uchar)x)", from_e5m2),
    CASE("float", "ushort", "rl_e3m2_to_f32((uchar)x)", from_e3m2),
    CASE("float", "ushort", "rl_e2m3_to_f32((uchar)x)", from_e2m3),
    CASE("float", "ushort", "rl_e2m1_to_f32((uchar)x)", from_e2m1),
    CASE("float", "ushort", "rl_ue4m3_to_f32((uchar)x)", from_ue4m3),
    CASE("float", "ushort", "rl_ue8m0_to_f32((uchar)x)", from_ue8m0),
    CASE("float", "int", "rl_small_to_f32(x)", small),
    CASE("ushort", "float", "rl_f32_to_f16(x)", to_f16),
    CASE("ushort", "float", "rl_f32_to_bf16(x)", to_bf16),
    CASE("ushort", "float", "rl_f32_to_e4m3(x)", to_e4m3),
    CASE("ushort", "float", "rl_f32_to_e5m2(x)", to_e5m2),
    CASE("ushort", "float", "rl_f32_to_e3m2(x)", to_e3m2),
    CASE("ushort", "float", "rl_f32_to_e2m3(x)", to_e2m3),
    CASE("ushort", "float", "rl_f32_to_e2m1(x)", to_e2m1),
    CASE("ushort", "float", "rl_f32_to_ue4m3(x)", to_ue4m3),
    CASE("ushort", "float", "rl_f32_to_ue8m0(x)", to_ue8m0),
    CASE("ushort", "double", "rl_f32_to_f16(rl_f64_to_odd(x))", by_odd_f64),
    CASE("ushort", "long", "rl_f32_to_bf16(rl_i64_to_odd(x))", by_odd_i64),
    CASE("uint", "float", "rl_f32x2_to_f16(x, y)", two_f16),
    CASE("uint", "float", "rl_f32x2_to_bf16(x, y)", two_bf16),
    CASE("uint", "ushort", "rl_u8_to_bool((uchar)x)", truth),
    CASE("int", "float", "rl_f32_to_i32(x)", f32_to_i32),
    CASE("long", "float", "rl_f32_to_i64(x)", f32_to_i64),
    CASE("int", "double", "rl_f64_to_i32(x)", f64_to_i32),
    CASE("long", "double", "rl_f64_to_i64(x)", f64_to_i64),
};
enum { CONVERSIONS = sizeof conversions / sizeof *conversions };

/* Every definition is used.  */
static void hostile_values(void **state) {
    opencl_need(*state);
    const char *source = opencl_cases_run(*state, &device, conversions, CONVERSIONS);
    for (int i = 0; i < prelude_opencl_convert_rows; i++) {
        const char *name = prelude_opencl_convert[i].name;
        if (!strstr(source, name)) fail_msg("nothing uses %s", name);
    }
}

/* ---- all codes, and all places where f32 are rounded to them ---- */

enum { CODES = 1 << 16, TYPES = 9, BESIDE = 6 };
static const char *const narrow[TYPES] = {"f16", "bf16", "e4m3", "e5m2",
                                          "ue4m3", "e3m2", "e2m3", "e2m1", "ue8m0"};

static double value_of(int type, unsigned code) {
    switch (type) {
    case 0: return num_f16_decode((uint16_t)code);
    case 1: return num_bf16_decode((uint16_t)code);
    case 2: return num_e4m3_decode((uint8_t)code);
    case 3: return num_e5m2_decode((uint8_t)code);
    case 4: return num_ue4m3_decode((uint8_t)code);
    case 5: return num_e3m2_decode((uint8_t)code);
    case 6: return num_e2m3_decode((uint8_t)code);
    case 7: return num_e2m1_decode((uint8_t)code);
    default: return num_ue8m0_decode((uint8_t)code);
    }
}

static bool is_code(int type, u64 r, double v) {
    static bool (*const is[TYPES])(u64, double) = {is_f16,  is_bf16,  is_e4m3,
                                                   is_e5m2, is_ue4m3, is_e3m2,
                                                   is_e2m3, is_e2m1,  is_ue8m0};
    return is[type](r, v);
}

/* A code's value, the middle to the next one, and what lies beside both.  */
static void fill_beside(int type, float *x) {
    for (unsigned code = 0; code < CODES; code++) {
        float v = (float)value_of(type, code), next = (float)value_of(type, code + 1);
        float middle = (float)(((double)v + (double)next) / 2);
        float own[BESIDE] = {v, nextafterf(v, INFINITY), nextafterf(v, -INFINITY), middle,
                             nextafterf(middle, INFINITY), nextafterf(middle, -INFINITY)};
        memcpy(x + code * BESIDE, own, sizeof own);
    }
}

static void codes_of(Arena *a, int type) {
    enum { N = CODES * BESIDE };
    const char *name = narrow[type];
    float *x = arena_calloc(a, N, sizeof *x), *back = arena_calloc(a, CODES, sizeof *back);
    uint16_t *code = arena_calloc(a, N, sizeof *code);
    Buf source = buf_new(a);
    int least;
    const char *body = arena_printf(
        a, "__kernel void f(__global const float *x, __global ushort *code,\n"
           "                __global float *back) {\n"
           "    const int i = get_global_id(0);\n"
           "    code[i] = rl_f32_to_%s(x[i]);\n"
           "    if (i < %d) back[i] = rl_%s_to_f32(i);\n"
           "}\n", name, CODES, name);
    assert_null(prelude_print(a, body, &device, &least, &source));
    buf_puts(&source, body);
    fill_beside(type, x);
    OpenclBuffer buffer[] = {{x, N * sizeof *x}, {code, N * sizeof *code},
                             {back, CODES * sizeof *back}};
    OpenclArg arg[] = {{.buffer = 0}, {.buffer = 1}, {.buffer = 2}};
    OpenclLaunch launch = {"f", {N / 64}, {64}, arg, 3};
    const char *wrong = opencl_run(a, &(OpenclJob){buf_str(&source), buffer, 3, &launch, 1, 0});
    if (wrong) fail_msg("%s", wrong);
    for (int i = 0; i < N; i++)
        if (!is_code(type, code[i], (double)x[i])) fail_msg("%s of %a: %x", name, x[i], code[i]);
    for (unsigned i = 0; i < CODES; i++)
        if (!opencl_is_f32(b32(back[i]), value_of(type, i)))
            fail_msg("%s %x: %a", name, i, back[i]);
}

static void all_codes(void **state) {
    opencl_need(*state);
    for (int type = 0; type < TYPES; type++) codes_of(*state, type);
}

/* ---- vectors ---- */

enum { BASES = 10, WIDTHS = 5, WIDEST = 16, STEP = WIDEST * 8 };
static const struct {
    const char *name, *type;
    int bytes;
} base[BASES] = {
    {"u8", "uchar", 1}, {"i8", "char", 1},  {"u16", "ushort", 2}, {"i16", "short", 2},
    {"i32", "int", 4},  {"u32", "uint", 4}, {"i64", "long", 8},   {"u64", "ulong", 8},
    {"f32", "float", 4}, {"f64", "double", 8},
};

/* From global memory by way of both ends of local memory, turned around once.  */
static void print_way(Buf *b, int t, int width, int at) {
    const char *n = base[t].name, *type = base[t].type;
    buf_printf(b, "    {\n        __global const %s *p = (__global const %s *)(in + %d);\n", type,
               type, at);
    buf_printf(b, "        __global %s *q = (__global %s *)(out + %d);\n", type, type, at);
    buf_printf(b, "        __local %s *s = (__local %s *)room;\n        %s x[%d];\n", type, type,
               type, width);
    buf_printf(b, "        const rl_vec_%s_%d v = rl_load_%s_%d(p);\n", n, width, n, width);
    buf_printf(b, "        for (int i = 0; i < %d; i++) x[i] = v.v[%d - i];\n", width, width - 1);
    buf_printf(b, "        rl_store_local_%s_%d(s, x);\n", n, width);
    buf_printf(b, "        const rl_vec_%s_%d w = rl_load_local_%s_%d(s);\n", n, width, n, width);
    buf_printf(b, "        rl_store_shared_local_%s_%d(s, %d, w.v);\n", n, width, width);
    buf_printf(b, "        const rl_vec_%s_%d z = rl_load_local_%s_%d(s + %d);\n", n, width, n,
               width, width);
    buf_printf(b, "        rl_store%s_%s_%d(q, z.v);\n    }\n", width % 2 ? "_global" : "", n,
               width);
}

/* f32 rounded on their way to global memory, and to local memory and from there.  */
static void print_rounded(Buf *b, int t, int width, int at) {
    const char *n = narrow[t], *type = t < 2 ? "ushort" : "uchar", *in = t < 2 ? "u16" : "u8";
    buf_printf(b, "    {\n        __global const float *p = (__global const float *)(in + %d);\n",
               at);
    buf_printf(b, "        __global %s *q = (__global %s *)(out + %d);\n", type, type, at);
    buf_printf(b, "        __local %s *s = (__local %s *)room;\n", type, type);
    buf_printf(b, "        const rl_vec_f32_%d v = rl_load_f32_%d(p);\n", width, width);
    buf_printf(b, "        rl_store_%s_%s_%d(q, v.v);\n", n, in, width);
    buf_printf(b, "        rl_store_%s_local_%s_%d(s, v.v);\n", n, in, width);
    buf_printf(b, "        const rl_vec_%s_%d w = rl_load_local_%s_%d(s);\n", in, width, in, width);
    buf_printf(b, "        rl_store_%s_%d(q + %d, w.v);\n    }\n", in, width, WIDEST);
}

static const char *print_ways(Arena *a) {
    Buf body = buf_new(a), whole = buf_new(a);
    int least;
    buf_puts(&body, "__kernel void f(__global const uchar *in, __global uchar *out) {\n"
                    "    __local ulong room[32];\n");
    for (int w = 0; w < WIDTHS; w++) {
        for (int t = 0; t < BASES; t++) print_way(&body, t, 1 << w, (w * BASES + t) * STEP);
        for (int t = 0; t < TYPES; t++)
            print_rounded(&body, t, 1 << w, (WIDTHS * BASES + w * TYPES + t) * STEP);
    }
    buf_puts(&body, "}\n");
    const char *missing = prelude_print(a, buf_str(&body), &device, &least, &whole);
    if (missing) fail_msg("the prelude has no %s", missing);
    buf_puts(&whole, buf_str(&body));
    return buf_str(&whole);
}

static void check_way(const uint8_t *in, const uint8_t *out, int t, int width) {
    size_t n = (size_t)base[t].bytes;
    for (int i = 0; i < width; i++) {
        if (memcmp(out + (size_t)i * n, in + (size_t)(width - 1 - i) * n, n) != 0)
            fail_msg("%s x %d: element %d", base[t].name, width, i);
    }
    for (size_t i = n * (size_t)width; i < STEP; i++) assert_int_equal(out[i], 0xEE);
}

static u64 stored(const uint8_t *out, int t, int i) {
    return t < 2 ? (u64)(out[2 * i] | out[2 * i + 1] << 8) : (u64)out[i];
}

static void check_rounded(const uint8_t *in, const uint8_t *out, int t, int width) {
    for (int i = 0; i < width; i++) {
        float v;
        memcpy(&v, in + 4 * i, sizeof v);
        if (!is_code(t, stored(out, t, i), (double)v) ||
            stored(out, t, WIDEST + i) != stored(out, t, i))
            fail_msg("%s x %d: element %d", narrow[t], width, i);
    }
}

static void vectors(void **state) {
    enum { BYTES = WIDTHS * (BASES + TYPES) * STEP };
    static _Alignas(STEP) uint8_t in[BYTES], out[BYTES];
    opencl_need(*state);
    for (int i = 0; i < BYTES; i++) in[i] = (uint8_t)(i * 37 + i / 256);
    for (int i = WIDTHS * BASES * STEP; i < BYTES; i += 4)
        memcpy(in + i, &(float){1.0f + (float)(i % 1000) / 700}, sizeof(float));
    memset(out, 0xEE, BYTES);
    OpenclBuffer buffer[] = {{in, BYTES}, {out, BYTES}};
    OpenclArg arg[] = {{.buffer = 0}, {.buffer = 1}};
    OpenclLaunch launch = {"f", {1}, {1}, arg, 2};
    const char *wrong = opencl_run(*state, &(OpenclJob){print_ways(*state), buffer, 2, &launch, 1,
                                                        0});
    if (wrong) fail_msg("%s", wrong);
    for (int w = 0; w < WIDTHS; w++) {
        for (int t = 0; t < BASES; t++) {
            int at = (w * BASES + t) * STEP;
            check_way(in + at, out + at, t, 1 << w);
        }
        for (int t = 0; t < TYPES; t++) {
            int at = (WIDTHS * BASES + w * TYPES + t) * STEP;
            check_rounded(in + at, out + at, t, 1 << w);
        }
    }
}

/* A text is the prelude's as a whole or not at all, and names that look like its own are none.  */
static void names(void **state) {
    static const char *const none[] = {
        "rl_vec_f32", "rl_vec_f32_3", "rl_vec_local_f32_4", "rl_load_f16_2", "rl_load_f32_32",
        "rl_store_f16_f32_2", "rl_store_shared_f32_4", "rl_store_f32_4x", "rl_load<4>", "rl_vec",
    };
    Buf text = buf_new(*state);
    int least;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(prelude_has(LANGUAGE_OPENCL, none[i], strlen(none[i])));
    assert_null(prelude_print(*state, "rl_store_f16_u16_4", &device, &least, &text));
    size_t at = 0;
    for (size_t n; at < text.len; at += n + 1) {
        n = prelude_match(LANGUAGE_OPENCL, text.text + at, text.len - at);
        assert_true(n > 0);
        assert_int_equal(prelude_match(LANGUAGE_CUDA, text.text + at, text.len - at), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(hostile_values, setup, teardown),
        cmocka_unit_test_setup_teardown(all_codes, setup, teardown),
        cmocka_unit_test_setup_teardown(vectors, setup, teardown),
        cmocka_unit_test_setup_teardown(names, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
