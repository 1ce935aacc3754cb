/* The prelude: vectors of elements, and from one type to another.  */
#include "codegen/prelude/prelude_shared.h"

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
    BF16_TO_F32,
    E4M3_TO_F32,
    {"rl_e4m3_to_f32", 89,
     FN "float rl_e4m3_to_f32(unsigned char x) {\n"
        "    unsigned pair;\n"
        "    asm(\"cvt.rn.f16x2.e4m3x2 %0, %1;\" : \"=r\"(pair) : \"h\"((unsigned short)x));\n"
        "    return rl_f16_to_f32((unsigned short)pair);\n"
        "}\n"},
    E5M2_TO_F32,
    TINIES,
    UE4M3_TO_F32,
    UE8M0_TO_F32,

    /* Integers below 2^22 to f32 through the mantissa of 1.5 * 2^23: exact, and two instructions
     * of the usual rate where a conversion has a quarter of it or less.  */
    {"rl_small_to_f32", 0,
     FN "float rl_small_to_f32(int x) {\n"
        "    return __int_as_float(x + 0x4b400000) - 12582912.0f;\n"
        "}\n"},

    {"rl_u8_to_bool", 0,
     FN "bool rl_u8_to_bool(unsigned char x) {\n"
        "    return x != 0;\n"
        "}\n"},

    F64_TO_ODD,
    I64_TO_ODD,

    /* f32 to narrow reals: nearest, ties to even.  */
    {"rl_f32_to_f16", 0,
     FN "unsigned short rl_f32_to_f16(float x) {\n"
        "    unsigned short y;\n"
        "    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(y) : \"f\"(x));\n"
        "    return y;\n"
        "}\n"},
    F32_TO_BF16,
    {"rl_f32_to_bf16", 80,
     FN "unsigned short rl_f32_to_bf16(float x) {\n"
        "    unsigned short y;\n"
        "    asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(y) : \"f\"(x));\n"
        "    return y;\n"
        "}\n"},
    SMALL_E4M3,
    {"rl_f32_to_e4m3", 89,
     FN "unsigned char rl_f32_to_e4m3(float x) {\n"
        "    unsigned short pair;\n"
        "    asm(\"cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;\" : \"=h\"(pair) : \"f\"(0.0f), "
        "\"f\"(x));\n"
        "    return (unsigned char)pair;\n"
        "}\n"},
    SMALL_E5M2,
    {"rl_f32_to_e5m2", 89,
     FN "unsigned char rl_f32_to_e5m2(float x) {\n"
        "    unsigned short pair;\n"
        "    asm(\"cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;\" : \"=h\"(pair) : \"f\"(0.0f), "
        "\"f\"(x));\n"
        "    return (unsigned char)pair;\n"
        "}\n"},
    SMALLS,
    F32_TO_UE4M3,
    F32_TO_UE8M0,

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
