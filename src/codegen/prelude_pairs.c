#include "codegen/prelude.h"

/* Rows of the prelude for vectors of narrow reals: values wait as f32 and are rounded on their way
 * to memory, two by one instruction where there is one.  Results are those of rounding each.  */

#define FN "__device__ __forceinline__ "

/* Two values as one word, the first in the low half.  */
#define PAIR(type)                                                                                 \
    {                                                                                              \
        "rl_f32x2_to_" type, 0,                                                                    \
            FN "unsigned rl_f32x2_to_" type "(float x, float y) {\n"                               \
               "    return rl_f32_to_" type "(x) | (unsigned)rl_f32_to_" type "(y) << 16;\n"       \
               "}\n"                                                                               \
    }
#define PAIR_AT_ONCE(type, cc, word, register, op)                                                 \
    {                                                                                              \
        "rl_f32x2_to_" type, cc,                                                                   \
            FN word " rl_f32x2_to_" type "(float x, float y) {\n"                                  \
               "    " word " z;\n"                                                                 \
               "    asm(\"" op " %0, %1, %2;\" : \"=" register "\"(z) : \"f\"(y), \"f\"(x));\n"    \
               "    return z;\n"                                                                   \
               "}\n"                                                                               \
    }

#define STORE_EACH(type, element)                                                                  \
    {                                                                                              \
        "rl_store_" type, 0,                                                                       \
            "template <int N> " FN "void rl_store_" type "(" element " *p, const float *x) {\n"    \
            "    rl_vec<" element ", N> y;\n"                                                      \
            "    #pragma unroll\n"                                                                 \
            "    for (int i = 0; i < N; i++) y.v[i] = rl_f32_to_" type "(x[i]);\n"                 \
            "    *reinterpret_cast<rl_vec<" element ", N> *>(p) = y;\n"                            \
            "}\n"                                                                                  \
    }
#define STORE(type, cc, element, word)                                                             \
    {                                                                                              \
        "rl_store_" type, cc,                                                                      \
            "template <int N> " FN "void rl_store_" type "(" element " *p, const float *x) {\n"    \
            "    rl_vec<" word ", N / 2> y;\n"                                                     \
            "    #pragma unroll\n"                                                                 \
            "    for (int i = 0; i < N / 2; i++)\n"                                                \
            "        y.v[i] = rl_f32x2_to_" type "(x[2 * i], x[2 * i + 1]);\n"                     \
            "    *reinterpret_cast<rl_vec<" word ", N / 2> *>(p) = y;\n"                           \
            "}\n"                                                                                  \
    }

const PreludeRow prelude_pairs[] = {
    PAIR("f16"),
    PAIR_AT_ONCE("f16", 80, "unsigned", "r", "cvt.rn.f16x2.f32"),
    PAIR("bf16"),
    PAIR_AT_ONCE("bf16", 80, "unsigned", "r", "cvt.rn.bf16x2.f32"),
    PAIR_AT_ONCE("e4m3", 89, "unsigned short", "h", "cvt.rn.satfinite.e4m3x2.f32"),
    PAIR_AT_ONCE("e5m2", 89, "unsigned short", "h", "cvt.rn.satfinite.e5m2x2.f32"),
    STORE("f16", 0, "unsigned short", "unsigned"),
    STORE("bf16", 0, "unsigned short", "unsigned"),
    STORE_EACH("e4m3", "unsigned char"),
    STORE("e4m3", 89, "unsigned char", "unsigned short"),
    STORE_EACH("e5m2", "unsigned char"),
    STORE("e5m2", 89, "unsigned char", "unsigned short"),
};
const int prelude_pairs_rows = sizeof prelude_pairs / sizeof *prelude_pairs;
