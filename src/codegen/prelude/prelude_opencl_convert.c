/* The prelude of OpenCL C 1.2: from one type to another.  Reals of 16 and 8 bits are integers in
 * memory and in variables; names and meanings are those of CUDA's (prelude_convert.c).  */
#define PRELUDE_OPENCL
#include "codegen/prelude/prelude_shared.h"

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
    BF16_TO_F32,
    E4M3_TO_F32,
    E5M2_TO_F32,
    TINIES,
    UE4M3_TO_F32,
    UE8M0_TO_F32,
    /* Integers below 2^22, exactly.  */
    {"rl_small_to_f32", 0,
     FN "float rl_small_to_f32(int x) {\n"
        "    return (float)x;\n"
        "}\n"},

    /* Hidden from the compiler: one that knows the truth for a bit packs a vector of bits, and LLVM
     * 15 (PoCL 3.1) reads an element of such a vector as a byte, when work-items keep it across a
     * barrier.  */
    {"rl_u8_to_bool", 0,
     FN "bool rl_u8_to_bool(uchar x) {\n"
        "    volatile uchar y = x != 0;\n"
        "    return y;\n"
        "}\n"},

    F64_TO_ODD,
    I64_TO_ODD,

    /* f32 to narrow reals: nearest, ties to even.  */
    {"rl_f32_to_f16", 0,
     FN "ushort rl_f32_to_f16(float x) {\n"
        "    ushort y;\n"
        "    vstore_half_rte(x, 0, (half *)&y);\n"
        "    return y;\n"
        "}\n"},
    F32_TO_BF16,
    SMALL_E4M3,
    SMALL_E5M2,
    SMALLS,
    F32_TO_UE4M3,
    F32_TO_UE8M0,
    PAIR("f16"),
    PAIR("bf16"),

    WHOLE("rl_f32_to_i32", "int", "float"),
    WHOLE("rl_f32_to_i64", "long", "float"),
    WHOLE("rl_f64_to_i32", "int", "double"),
    WHOLE("rl_f64_to_i64", "long", "double"),
};
const int prelude_opencl_convert_rows = sizeof prelude_opencl_convert /
                                        sizeof *prelude_opencl_convert;
