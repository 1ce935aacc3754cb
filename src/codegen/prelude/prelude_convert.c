/* The prelude: vectors of elements, and from one type to another.  */
#include "codegen/prelude/prelude.h"

#define FN "__device__ __forceinline__ "

/* A narrow real as the f16 with its exponent's and fraction's bits, times what their biases differ
 * by.  */
#define TINY(type, sign, up, rest, by, scale)                                                      \
    {                                                                                              \
        "rl_" type "_to_f32", 0,                                                                   \
            FN "float rl_" type "_to_f32(unsigned char x) {\n"                                     \
               "    const unsigned u = (x & " sign ") << " up " | (x & " rest ") << " by ";\n"     \
               "    return rl_f16_to_f32((unsigned short)u) * " scale ";\n"                        \
               "}\n"                                                                               \
    }
/* f32 to a narrow real: nearest, ties to even, saturating.  Below its normal numbers, which `least`
 * begins, it counts in steps of 1/scale; from there on the bits are cut.  */
#define SMALL(type, sign, nan, most, least, scale, half, shift, bias)                              \
    {                                                                                              \
        "rl_f32_to_" type, 0,                                                                      \
            FN "unsigned char rl_f32_to_" type "(float x) {\n"                                     \
               "    const unsigned sign = __float_as_uint(x) >> " sign ";\n"                       \
               "    const float y = fminf(fabsf(x), " most ");\n"                                  \
               "    const unsigned u = __float_as_uint(y);\n"                                      \
               "    const unsigned low = (unsigned)__float2int_rn(y * " scale ");\n"               \
               "    const unsigned cut = (u + " half " + (u >> " shift " & 1u)) >> " shift ";\n"   \
               "    const unsigned code = y < " least " ? low : cut - " bias ";\n"                 \
               "    return (unsigned char)(x != x ? " nan " : sign | code);\n"                     \
               "}\n"                                                                               \
    }

const PreludeRow prelude_convert[] = {
    /* Vectors of elements: one access each.  */
    {"rl_vec", 0,
     "template <typename T, int N> struct __align__(sizeof(T) * N) rl_vec { T v[N]; };\n"},
    {"rl_load", 0,
     "template <int N, typename T> " FN "rl_vec<T, N> rl_load(const T *p) {\n"
     "    return *reinterpret_cast<const rl_vec<T, N> *>(p);\n"
     "}\n"},

    /* Narrow reals to f32: exact.  */
    {"rl_f16_to_f32", 0,
     FN "float rl_f16_to_f32(unsigned short x) {\n"
        "    float y;\n"
        "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(y) : \"h\"(x));\n"
        "    return y;\n"
        "}\n"},
    {"rl_bf16_to_f32", 0,
     FN "float rl_bf16_to_f32(unsigned short x) {\n"
        "    return __uint_as_float((unsigned)x << 16);\n"
        "}\n"},
    {"rl_e4m3_to_f32", 0,
     FN "float rl_e4m3_to_f32(unsigned char x) {\n"
        "    const unsigned magnitude = x & 0x7fu;\n"
        "    const float y = rl_f16_to_f32((unsigned short)((x & 0x80u) << 8 | magnitude << 7));\n"
        "    return magnitude == 0x7fu ? __uint_as_float(0x7fc00000u) : y * 256.0f;\n"
        "}\n"},
    {"rl_e4m3_to_f32", 89,
     FN "float rl_e4m3_to_f32(unsigned char x) {\n"
        "    unsigned pair;\n"
        "    asm(\"cvt.rn.f16x2.e4m3x2 %0, %1;\" : \"=r\"(pair) : \"h\"((unsigned short)x));\n"
        "    return rl_f16_to_f32((unsigned short)pair);\n"
        "}\n"},
    {"rl_e5m2_to_f32", 0,
     FN "float rl_e5m2_to_f32(unsigned char x) {\n"
        "    return rl_f16_to_f32((unsigned short)(x << 8));\n"
        "}\n"},
    TINY("e3m2", "0x20u", "10", "0x1fu", "8", "4096.0f"),
    TINY("e2m3", "0x20u", "10", "0x1fu", "7", "16384.0f"),
    TINY("e2m1", "0x8u", "12", "0x7u", "9", "16384.0f"),
    {"rl_ue4m3_to_f32", 0,
     FN "float rl_ue4m3_to_f32(unsigned char x) {\n"
        "    return rl_e4m3_to_f32((unsigned char)(x & 0x7fu));\n"
        "}\n"},
    {"rl_ue8m0_to_f32", 0,
     FN "float rl_ue8m0_to_f32(unsigned char x) {\n"
        "    const unsigned u = x == 0xffu ? 0x7fc00000u : (unsigned)x << 23;\n"
        "    return __uint_as_float(x == 0 ? 0x400000u : u);\n"
        "}\n"},

    /* Integers below 2^22 to f32 through the mantissa of 1.5 * 2^23: exact, and two instructions
     * of the usual rate where a conversion has a quarter of it or less.  */
    {"rl_small_to_f32", 0,
     FN "float rl_small_to_f32(int x) {\n"
        "    return __int_as_float(x + 0x4b400000) - 12582912.0f;\n"
        "}\n"},

    /* To f32 by rounding to odd: the next rounding, to a narrower real, is then as from the exact
     * value (Boldo and Melquiond, 2008).  */
    {"rl_f64_to_odd", 0,
     FN "float rl_f64_to_odd(double x) {\n"
        "    const float y = __double2float_rz(x);\n"
        "    return x == x && (double)y != x ? __uint_as_float(__float_as_uint(y) | 1u) : y;\n"
        "}\n"},
    {"rl_i64_to_odd", 0,
     FN "float rl_i64_to_odd(long long x) {\n"
        "    const float y = __ll2float_rz(x);\n"
        "    return __float2ll_rz(y) != x ? __uint_as_float(__float_as_uint(y) | 1u) : y;\n"
        "}\n"},

    /* f32 to narrow reals: nearest, ties to even.  */
    {"rl_f32_to_f16", 0,
     FN "unsigned short rl_f32_to_f16(float x) {\n"
        "    unsigned short y;\n"
        "    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(y) : \"f\"(x));\n"
        "    return y;\n"
        "}\n"},
    {"rl_f32_to_bf16", 0,
     FN "unsigned short rl_f32_to_bf16(float x) {\n"
        "    const unsigned u = __float_as_uint(x);\n"
        "    return x != x ? 0x7fff : (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);\n"
        "}\n"},
    {"rl_f32_to_bf16", 80,
     FN "unsigned short rl_f32_to_bf16(float x) {\n"
        "    unsigned short y;\n"
        "    asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(y) : \"f\"(x));\n"
        "    return y;\n"
        "}\n"},
    SMALL("e4m3", "24 & 0x80u", "0x7fu", "448.0f", "0.015625f", "512.0f", "0x7ffffu", "20", "960u"),
    {"rl_f32_to_e4m3", 89,
     FN "unsigned char rl_f32_to_e4m3(float x) {\n"
        "    unsigned short pair;\n"
        "    asm(\"cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;\" : \"=h\"(pair) : \"f\"(0.0f), "
        "\"f\"(x));\n"
        "    return (unsigned char)pair;\n"
        "}\n"},
    SMALL("e5m2", "24 & 0x80u", "0x7fu", "57344.0f", "0.00006103515625f", "65536.0f", "0xfffffu",
          "21", "448u"),
    {"rl_f32_to_e5m2", 89,
     FN "unsigned char rl_f32_to_e5m2(float x) {\n"
        "    unsigned short pair;\n"
        "    asm(\"cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;\" : \"=h\"(pair) : \"f\"(0.0f), "
        "\"f\"(x));\n"
        "    return (unsigned char)pair;\n"
        "}\n"},
    SMALL("e3m2", "26 & 0x20u", "0x1fu", "28.0f", "0.25f", "16.0f", "0xfffffu", "21", "496u"),
    SMALL("e2m3", "26 & 0x20u", "0x1fu", "7.5f", "1.0f", "8.0f", "0x7ffffu", "20", "1008u"),
    SMALL("e2m1", "28 & 0x8u", "0x7u", "6.0f", "1.0f", "2.0f", "0x1fffffu", "22", "252u"),
    {"rl_f32_to_ue4m3", 0,
     FN "unsigned char rl_f32_to_ue4m3(float x) {\n"
        "    return rl_f32_to_e4m3(x < 0.0f ? 0.0f : fabsf(x));\n"
        "}\n"},
    /* Below 2^-126 the next code is no power of two times the last one: 2^-127 is code 0.  */
    {"rl_f32_to_ue8m0", 0,
     FN "unsigned char rl_f32_to_ue8m0(float x) {\n"
        "    const unsigned u = __float_as_uint(x > 0.0f ? x : 0.0f);\n"
        "    const unsigned low = u > 0x600000u, code = (u + 0x3fffffu + (u >> 23 & 1u)) >> 23;\n"
        "    const unsigned y = u < 0x800000u ? low : code < 254u ? code : 254u;\n"
        "    return (unsigned char)(x != x ? 0xffu : y);\n"
        "}\n"},

    /* Reals to integers: toward zero, saturating, NaN to 0.  */
    {"rl_f32_to_i32", 0,
     FN "int rl_f32_to_i32(float x) {\n"
        "    return __float2int_rz(x);\n"
        "}\n"},
    {"rl_f32_to_i64", 0,
     FN "long long rl_f32_to_i64(float x) {\n"
        "    return x != x ? 0 : __float2ll_rz(x);\n"
        "}\n"},
    {"rl_f64_to_i32", 0,
     FN "int rl_f64_to_i32(double x) {\n"
        "    return x != x ? 0 : __double2int_rz(x);\n"
        "}\n"},
    {"rl_f64_to_i64", 0,
     FN "long long rl_f64_to_i64(double x) {\n"
        "    return x != x ? 0 : __double2ll_rz(x);\n"
        "}\n"},
};
const int prelude_convert_rows = sizeof prelude_convert / sizeof *prelude_convert;
