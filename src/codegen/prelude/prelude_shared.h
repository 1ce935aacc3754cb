/* Definitions of the prelude that differ between languages by words alone, as rows, and these
 * words: unsigned and signed integers, and what ends a number of 64 bits; bits of a float as an
 * integer and back; functions of f32; to f32 and from there to i64, toward zero; f32 to the nearest
 * i32, ties to even; what stands before a loop.  Of OpenCL C where PRELUDE_OPENCL is defined.  */
#ifndef ROLLER_CODEGEN_PRELUDE_PRELUDE_SHARED_H
#define ROLLER_CODEGEN_PRELUDE_PRELUDE_SHARED_H
#include "codegen/prelude/prelude_cuda.h"

#ifdef PRELUDE_OPENCL
#undef FN
#define FN "static inline "
#define U8 "uchar"
#define U16 "ushort"
#define U32 "uint"
#define U64 "ulong"
#define I64 "long"
#define U64_END "ul"
#define AS_U32 "as_uint"
#define AS_FLOAT "as_float"
#define FABS "fabs"
#define FMIN "fmin"
#define FMA "fma"
#define F64_DOWN "convert_float_rtz"
#define I64_DOWN "convert_float_rtz"
#define UP_I64 "convert_long_sat_rtz"
#define ROUNDED "convert_int_sat_rte"
#define NOT_UNROLLED ""
#else
#define U8 "unsigned char"
#define U16 "unsigned short"
#define U32 "unsigned"
#define U64 "unsigned long long"
#define I64 "long long"
#define U64_END "ull"
#define AS_U32 "__float_as_uint"
#define AS_FLOAT "__uint_as_float"
#define FABS "fabsf"
#define FMIN "fminf"
#define FMA "fmaf"
#define F64_DOWN "__double2float_rz"
#define I64_DOWN "__ll2float_rz"
#define UP_I64 "__float2ll_rz"
#define ROUNDED "__float2int_rn"
#define NOT_UNROLLED "#pragma unroll 1\n"
#endif

/* Integers wrap; counts of shifts are taken modulo the width; division floors, and gives 0 for the
 * divisor 0.  */
#define WRAP(name, type, wide, op)                                                                 \
    {name, 0,                                                                                      \
     FN type " " name "(" type " x, " type " y) {\n"                                               \
        "    return (" type ")((" wide ")x " op " (" wide ")y);\n"                                 \
        "}\n"}
#define INTEGERS_OF(suffix, type, wide, most, zero)                                                \
    WRAP("rl_add_" suffix, type, wide, "+"),                                                       \
    WRAP("rl_sub_" suffix, type, wide, "-"),                                                       \
    WRAP("rl_mul_" suffix, type, wide, "*"),                                                       \
    {"rl_shl_" suffix, 0,                                                                          \
     FN type " rl_shl_" suffix "(" type " x, " type " n) {\n"                                      \
        "    return (" type ")((" wide ")x << (n & " most "));\n"                                  \
        "}\n"},                                                                                    \
    {"rl_shr_" suffix, 0,                                                                          \
     FN type " rl_shr_" suffix "(" type " x, " type " n) {\n"                                      \
        "    return x >> (n & " most ");\n"                                                        \
        "}\n"},                                                                                    \
    {"rl_mad_" suffix, 0,                                                                          \
     FN type " rl_mad_" suffix "(" type " x, " type " y, " type " z) {\n"                          \
        "    return (" type ")((" wide ")x * (" wide ")y + (" wide ")z);\n"                        \
        "}\n"},                                                                                    \
    {"rl_abs_" suffix, 0,                                                                          \
     FN type " rl_abs_" suffix "(" type " x) {\n"                                                  \
        "    return x < 0 ? (" type ")(" zero " - (" wide ")x) : x;\n"                             \
        "}\n"},                                                                                    \
    {"rl_div_" suffix, 0,                                                                          \
     FN type " rl_div_" suffix "(" type " x, " type " y) {\n"                                      \
        "    if (y == 0) return 0;\n"                                                              \
        "    if (y == -1) return (" type ")(" zero " - (" wide ")x);\n"                            \
        "    const " type " q = x / y, r = x % y;\n"                                               \
        "    return q - (r != 0 && (r < 0) != (y < 0));\n"                                         \
        "}\n"},                                                                                    \
    {"rl_mod_" suffix, 0,                                                                          \
     FN type " rl_mod_" suffix "(" type " x, " type " y) {\n"                                      \
        "    if (y == 0 || y == -1) return 0;\n"                                                   \
        "    const " type " r = x % y;\n"                                                          \
        "    return r != 0 && (r < 0) != (y < 0) ? r + y : r;\n"                                   \
        "}\n"}
#define INTEGERS                                                                                   \
    INTEGERS_OF("i32", "int", U32, "31", "0u"),                                                    \
    INTEGERS_OF("i64", I64, U64, "63", "0" U64_END)

/* Philox4x32-10: number n of the seed's sequence.  Its rounds stay a loop: a product's epilogue
 * has a hundred of them.  */
#define PHILOX                                                                                     \
    {"rl_philox", 0,                                                                               \
     FN I64 " rl_philox(" I64 " seed, " I64 " n) {\n"                                              \
        "    " U32 " a = (" U32 ")(n >> 2), b = (" U32 ")(n >> 34);\n"                             \
        "    " U32 " c = (" U32 ")(n >> 63), d = c;\n"                                             \
        "    " U32 " k = (" U32 ")seed, l = (" U32 ")(seed >> 32);\n"                              \
        NOT_UNROLLED                                                                               \
        "    for (int i = 0; i < 10; i++) {\n"                                                     \
        "        const " U64 " x = 0xD2511F53" U64_END " * a, y = 0xCD9E8D57" U64_END " * c;\n"    \
        "        a = (" U32 ")(y >> 32) ^ b ^ k;\n"                                                \
        "        b = (" U32 ")y;\n"                                                                \
        "        c = (" U32 ")(x >> 32) ^ d ^ l;\n"                                                \
        "        d = (" U32 ")x;\n"                                                                \
        "        k += 0x9E3779B9u;\n"                                                              \
        "        l += 0xBB67AE85u;\n"                                                              \
        "    }\n"                                                                                  \
        "    const " U32 " even = n & 2 ? c : a, odd = n & 2 ? d : b;\n"                           \
        "    return (" I64 ")(n & 1 ? odd : even);\n"                                              \
        "}\n"}

/* NaN if either is.  */
#define EXTREME(name, type, sign)                                                                  \
    {name, 0,                                                                                      \
     FN type " " name "(" type " x, " type " y) {\n"                                               \
        "    return x " sign " y || x != x ? x : y;\n"                                             \
        "}\n"}

/* x / y, correctly rounded, by r, the reciprocal of y as it is rounded; divide.c says where.  */
#define DIV_BY                                                                                     \
    {"rl_div_by", 0,                                                                               \
     FN "float rl_div_by(float x, float y, float r) {\n"                                           \
        "    const float q = x * r;\n"                                                             \
        "    return " FMA "(" FMA "(q, -y, x), r, q);\n"                                           \
        "}\n"}

/* The same where the quotient may be subnormal: the remainder is scaled by 2^56, and divided
 * with what the reciprocal was rounded by, so that the middle of two quotients is one.  It is
 * wrong for divisors whose bits are all ones.  */
#define DIV_LOW                                                                                    \
    {"rl_div_low", 0,                                                                              \
     FN "float rl_div_low(float x, float y, float r) {\n"                                          \
        "    const float many = 72057594037927936.0f, rest = " FMA "(r, -y, 1.0f) * r;\n"          \
        "    const float q = x * r, left = " FMA "(q, -y * many, x * many);\n"                     \
        "    return " FMA "(" FMA "(left, r, left * rest), 1.0f / many, q);\n"                     \
        "}\n"}
#define NOT_ONES                                                                                   \
    {"rl_not_ones", 0,                                                                             \
     FN "bool rl_not_ones(float y) {\n"                                                            \
        "    return (" AS_U32 "(y) & 0x7fffffu) != 0x7fffffu;\n"                                   \
        "}\n"}

/* Are quotients by rl_div_by normal, and remainders exact, for divisors between 2^-32 and 2^32?
 * Those of -0 would lose the sign.  */
#define DIVIDES                                                                                    \
    {"rl_divides", 0,                                                                              \
     FN "bool rl_divides(float x) {\n"                                                             \
        "    const float size = " FABS "(x);\n"                                                    \
        "    return (size >= 2.01948392e-28f && size <= 4.95176016e+27f) ||\n"                     \
        "           " AS_U32 "(x) == 0u;\n"                                                        \
        "}\n"}

/* A narrow real as the f16 with its exponent's and fraction's bits, times what their biases differ
 * by.  */
#define TINY(type, sign, up, rest, by, scale)                                                      \
    {                                                                                              \
        "rl_" type "_to_f32", 0,                                                                   \
            FN "float rl_" type "_to_f32(" U8 " x) {\n"                                            \
               "    const " U32 " u = (x & " sign ") << " up " | (x & " rest ") << " by ";\n"      \
               "    return rl_f16_to_f32((" U16 ")u) * " scale ";\n"                               \
               "}\n"                                                                               \
    }
/* f32 to a narrow real: nearest, ties to even, saturating.  Below its normal numbers, which `least`
 * begins, it counts in steps of 1/scale; from there on the bits are cut.  */
#define SMALL(type, sign, nan, most, least, scale, half, shift, bias)                              \
    {                                                                                              \
        "rl_f32_to_" type, 0,                                                                      \
            FN U8 " rl_f32_to_" type "(float x) {\n"                                               \
               "    const " U32 " sign = " AS_U32 "(x) >> " sign ";\n"                             \
               "    const float y = " FMIN "(" FABS "(x), " most ");\n"                            \
               "    const " U32 " u = " AS_U32 "(y);\n"                                            \
               "    const " U32 " low = (" U32 ")" ROUNDED "(y * " scale ");\n"                    \
               "    const " U32 " cut = (u + " half " + (u >> " shift " & 1u)) >> " shift ";\n"    \
               "    const " U32 " code = y < " least " ? low : cut - " bias ";\n"                  \
               "    return (" U8 ")(x != x ? " nan " : sign | code);\n"                            \
               "}\n"                                                                               \
    }
#define TINIES                                                                                     \
    TINY("e3m2", "0x20u", "10", "0x1fu", "8", "4096.0f"),                                          \
    TINY("e2m3", "0x20u", "10", "0x1fu", "7", "16384.0f"),                                         \
    TINY("e2m1", "0x8u", "12", "0x7u", "9", "16384.0f")
#define SMALL_E4M3                                                                                 \
    SMALL("e4m3", "24 & 0x80u", "0x7fu", "448.0f", "0.015625f", "512.0f", "0x7ffffu", "20", "960u")
#define SMALL_E5M2                                                                                 \
    SMALL("e5m2", "24 & 0x80u", "0x7fu", "57344.0f", "0.00006103515625f", "65536.0f", "0xfffffu",  \
          "21", "448u")
#define SMALLS                                                                                     \
    SMALL("e3m2", "26 & 0x20u", "0x1fu", "28.0f", "0.25f", "16.0f", "0xfffffu", "21", "496u"),     \
    SMALL("e2m3", "26 & 0x20u", "0x1fu", "7.5f", "1.0f", "8.0f", "0x7ffffu", "20", "1008u"),       \
    SMALL("e2m1", "28 & 0x8u", "0x7u", "6.0f", "1.0f", "2.0f", "0x1fffffu", "22", "252u")

/* Narrow reals to f32: exact.  */
#define BF16_TO_F32                                                                                \
    {"rl_bf16_to_f32", 0,                                                                          \
     FN "float rl_bf16_to_f32(" U16 " x) {\n"                                                      \
        "    return " AS_FLOAT "((" U32 ")x << 16);\n"                                             \
        "}\n"}
#define E4M3_TO_F32                                                                                \
    {"rl_e4m3_to_f32", 0,                                                                          \
     FN "float rl_e4m3_to_f32(" U8 " x) {\n"                                                       \
        "    const " U32 " magnitude = x & 0x7fu;\n"                                               \
        "    const float y = rl_f16_to_f32((" U16 ")((x & 0x80u) << 8 | magnitude << 7));\n"       \
        "    return magnitude == 0x7fu ? " AS_FLOAT "(0x7fc00000u) : y * 256.0f;\n"                \
        "}\n"}
#define E5M2_TO_F32                                                                                \
    {"rl_e5m2_to_f32", 0,                                                                          \
     FN "float rl_e5m2_to_f32(" U8 " x) {\n"                                                       \
        "    return rl_f16_to_f32((" U16 ")(x << 8));\n"                                           \
        "}\n"}
#define UE4M3_TO_F32                                                                               \
    {"rl_ue4m3_to_f32", 0,                                                                         \
     FN "float rl_ue4m3_to_f32(" U8 " x) {\n"                                                      \
        "    return rl_e4m3_to_f32((" U8 ")(x & 0x7fu));\n"                                        \
        "}\n"}
#define UE8M0_TO_F32                                                                               \
    {"rl_ue8m0_to_f32", 0,                                                                         \
     FN "float rl_ue8m0_to_f32(" U8 " x) {\n"                                                      \
        "    const " U32 " u = x == 0xffu ? 0x7fc00000u : (" U32 ")x << 23;\n"                     \
        "    return " AS_FLOAT "(x == 0 ? 0x400000u : u);\n"                                       \
        "}\n"}

/* To f32 by rounding to odd: the next rounding, to a narrower real, is then as from the exact
 * value (Boldo and Melquiond, 2008).  */
#define F64_TO_ODD                                                                                 \
    {"rl_f64_to_odd", 0,                                                                           \
     FN "float rl_f64_to_odd(double x) {\n"                                                        \
        "    const float y = " F64_DOWN "(x);\n"                                                   \
        "    return x == x && (double)y != x ? " AS_FLOAT "(" AS_U32 "(y) | 1u) : y;\n"            \
        "}\n"}
#define I64_TO_ODD                                                                                 \
    {"rl_i64_to_odd", 0,                                                                           \
     FN "float rl_i64_to_odd(" I64 " x) {\n"                                                       \
        "    const float y = " I64_DOWN "(x);\n"                                                   \
        "    return " UP_I64 "(y) != x ? " AS_FLOAT "(" AS_U32 "(y) | 1u) : y;\n"                  \
        "}\n"}

/* f32 to narrow reals: nearest, ties to even.  */
#define F32_TO_BF16                                                                                \
    {"rl_f32_to_bf16", 0,                                                                          \
     FN U16 " rl_f32_to_bf16(float x) {\n"                                                         \
        "    const " U32 " u = " AS_U32 "(x);\n"                                                   \
        "    return x != x ? 0x7fff : (" U16 ")((u + 0x7fffu + (u >> 16 & 1u)) >> 16);\n"          \
        "}\n"}
#define F32_TO_UE4M3                                                                               \
    {"rl_f32_to_ue4m3", 0,                                                                         \
     FN U8 " rl_f32_to_ue4m3(float x) {\n"                                                         \
        "    return rl_f32_to_e4m3(x < 0.0f ? 0.0f : " FABS "(x));\n"                              \
        "}\n"}
/* Below 2^-126 the next code is no power of two times the last one: 2^-127 is code 0.  */
#define F32_TO_UE8M0                                                                               \
    {"rl_f32_to_ue8m0", 0,                                                                         \
     FN U8 " rl_f32_to_ue8m0(float x) {\n"                                                         \
        "    const " U32 " u = " AS_U32 "(x > 0.0f ? x : 0.0f);\n"                                 \
        "    const " U32 " low = u > 0x600000u, code = (u + 0x3fffffu + (u >> 23 & 1u)) >> 23;\n"  \
        "    const " U32 " y = u < 0x800000u ? low : code < 254u ? code : 254u;\n"                 \
        "    return (" U8 ")(x != x ? 0xffu : y);\n"                                               \
        "}\n"}
#endif
