/* The prelude of OpenCL C 1.2: from one type to another.  Reals of 16 and 8 bits are integers in
 * memory and in variables; names and meanings are those of CUDA's (prelude_convert.c).  */
#include "codegen/prelude/prelude.h"

#define FN "static inline "

/* A narrow real as the f16 with its exponent's and fraction's bits, times what their biases differ
 * by.  */
#define TINY(type, sign, up, rest, by, scale)                                                      \
    {                                                                                              \
        "rl_" type "_to_f32", 0,                                                                   \
            FN "float rl_" type "_to_f32(uchar x) {\n"                                             \
               "    const uint u = (x & " sign ") << " up " | (x & " rest ") << " by ";\n"         \
               "    return rl_f16_to_f32((ushort)u) * " scale ";\n"                                \
               "}\n"                                                                               \
    }

/* f32 to a real of a byte or less: nearest, ties to even, saturating.  `least` is the first normal
 * number, `scale` makes a subnormal a whole number of steps; `cut` is the bits that go, and `bias`
 * what the exponents differ by, in steps.  */
#define SMALL(type, sign, nan, most, least, scale, half, cut, bias)                                \
    {                                                                                              \
        "rl_f32_to_" type, 0,                                                                      \
            FN "uchar rl_f32_to_" type "(float x) {\n"                                             \
               "    const uint sign = as_uint(x) >> " sign ";\n"                                   \
               "    const float y = fmin(fabs(x), " most ");\n"                                    \
               "    const uint u = as_uint(y);\n"                                                  \
               "    const uint code = y < " least " ? (uint)convert_int_rte(y * " scale ")\n"      \
               "                      : ((u + " half " + (u >> " cut " & 1u)) >> " cut ") - " bias \
               ";\n"                                                                               \
               "    return (uchar)(x != x ? " nan " : sign | code);\n"                             \
               "}\n"                                                                               \
    }

/* Reals to integers: toward zero, saturating, NaN to 0.  */
#define WHOLE(name, type, from)                                                                    \
    {                                                                                              \
        name, 0,                                                                                   \
            FN type " " name "(" from " x) {\n"                                                    \
               "    return x != x ? 0 : convert_" type "_sat_rtz(x);\n"                            \
               "}\n"                                                                               \
    }

/* Two values as one word, the first in the low half.  */
#define PAIR(type)                                                                                 \
    {                                                                                              \
        "rl_f32x2_to_" type, 0,                                                                    \
            FN "uint rl_f32x2_to_" type "(float x, float y) {\n"                                   \
               "    return rl_f32_to_" type "(x) | (uint)rl_f32_to_" type "(y) << 16;\n"           \
               "}\n"                                                                               \
    }

const PreludeRow prelude_opencl_convert[] = {
    /* Narrow reals to f32: exact.  */
    {"rl_f16_to_f32", 0,
     FN "float rl_f16_to_f32(ushort x) {\n"
        "    return vload_half(0, (const half *)&x);\n"
        "}\n"},
    {"rl_bf16_to_f32", 0,
     FN "float rl_bf16_to_f32(ushort x) {\n"
        "    return as_float((uint)x << 16);\n"
        "}\n"},
    {"rl_e4m3_to_f32", 0,
     FN "float rl_e4m3_to_f32(uchar x) {\n"
        "    const uint magnitude = x & 0x7fu;\n"
        "    const float y = rl_f16_to_f32((ushort)((x & 0x80u) << 8 | magnitude << 7));\n"
        "    return magnitude == 0x7fu ? as_float(0x7fc00000u) : y * 256.0f;\n"
        "}\n"},
    {"rl_e5m2_to_f32", 0,
     FN "float rl_e5m2_to_f32(uchar x) {\n"
        "    return rl_f16_to_f32((ushort)(x << 8));\n"
        "}\n"},
    TINY("e3m2", "0x20u", "10", "0x1fu", "8", "4096.0f"),
    TINY("e2m3", "0x20u", "10", "0x1fu", "7", "16384.0f"),
    TINY("e2m1", "0x8u", "12", "0x7u", "9", "16384.0f"),
    {"rl_ue4m3_to_f32", 0,
     FN "float rl_ue4m3_to_f32(uchar x) {\n"
        "    return rl_e4m3_to_f32((uchar)(x & 0x7fu));\n"
        "}\n"},
    {"rl_ue8m0_to_f32", 0,
     FN "float rl_ue8m0_to_f32(uchar x) {\n"
        "    const uint u = x == 0xffu ? 0x7fc00000u : (uint)x << 23;\n"
        "    return as_float(x == 0 ? 0x400000u : u);\n"
        "}\n"},
    /* Integers below 2^22, exactly.  */
    {"rl_small_to_f32", 0,
     FN "float rl_small_to_f32(int x) {\n"
        "    return (float)x;\n"
        "}\n"},

    /* To f32 by rounding to odd: the next rounding, to a narrower real, is then as from the exact
     * value.  */
    {"rl_f64_to_odd", 0,
     FN "float rl_f64_to_odd(double x) {\n"
        "    const float y = convert_float_rtz(x);\n"
        "    return x == x && (double)y != x ? as_float(as_uint(y) | 1u) : y;\n"
        "}\n"},
    {"rl_i64_to_odd", 0,
     FN "float rl_i64_to_odd(long x) {\n"
        "    const float y = convert_float_rtz(x);\n"
        "    return convert_long_sat_rtz(y) != x ? as_float(as_uint(y) | 1u) : y;\n"
        "}\n"},

    /* f32 to narrow reals: nearest, ties to even.  */
    {"rl_f32_to_f16", 0,
     FN "ushort rl_f32_to_f16(float x) {\n"
        "    ushort y;\n"
        "    vstore_half_rte(x, 0, (half *)&y);\n"
        "    return y;\n"
        "}\n"},
    {"rl_f32_to_bf16", 0,
     FN "ushort rl_f32_to_bf16(float x) {\n"
        "    const uint u = as_uint(x);\n"
        "    return x != x ? 0x7fff : (ushort)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);\n"
        "}\n"},
    SMALL("e4m3", "24 & 0x80u", "0x7fu", "448.0f", "0.015625f", "512.0f", "0x7ffffu", "20", "960u"),
    SMALL("e5m2", "24 & 0x80u", "0x7fu", "57344.0f", "0.00006103515625f", "65536.0f", "0xfffffu",
          "21", "448u"),
    SMALL("e3m2", "26 & 0x20u", "0x1fu", "28.0f", "0.25f", "16.0f", "0xfffffu", "21", "496u"),
    SMALL("e2m3", "26 & 0x20u", "0x1fu", "7.5f", "1.0f", "8.0f", "0x7ffffu", "20", "1008u"),
    SMALL("e2m1", "28 & 0x8u", "0x7u", "6.0f", "1.0f", "2.0f", "0x1fffffu", "22", "252u"),
    {"rl_f32_to_ue4m3", 0,
     FN "uchar rl_f32_to_ue4m3(float x) {\n"
        "    return rl_f32_to_e4m3(x < 0.0f ? 0.0f : fabs(x));\n"
        "}\n"},
    /* Below 2^-126 the next code is no power of two times the last one: 2^-127 is code 0.  */
    {"rl_f32_to_ue8m0", 0,
     FN "uchar rl_f32_to_ue8m0(float x) {\n"
        "    const uint u = as_uint(x > 0.0f ? x : 0.0f);\n"
        "    const uint low = u > 0x600000u, code = (u + 0x3fffffu + (u >> 23 & 1u)) >> 23;\n"
        "    const uint y = u < 0x800000u ? low : code < 254u ? code : 254u;\n"
        "    return (uchar)(x != x ? 0xffu : y);\n"
        "}\n"},
    PAIR("f16"),
    PAIR("bf16"),

    WHOLE("rl_f32_to_i32", "int", "float"),
    WHOLE("rl_f32_to_i64", "long", "float"),
    WHOLE("rl_f64_to_i32", "int", "double"),
    WHOLE("rl_f64_to_i64", "long", "double"),
};
const int prelude_opencl_convert_rows = sizeof prelude_opencl_convert /
                                        sizeof *prelude_opencl_convert;
